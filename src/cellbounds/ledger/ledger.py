"""The ledger: everything that was released about a confidential table, and what may follow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from cellbounds.data.table import Table
from cellbounds.disclosure.policies import DEFAULT, Policy, policy_of
from cellbounds.disclosure.policies.rerunning import MOST_CELLS
from cellbounds.errors import InvalidInput
from cellbounds.ledger import transactions
from cellbounds.ledger.chain import Check, Entry, check
from cellbounds.ledger.errors import NotSafe
from cellbounds.ledger.frontier import LedgerFrontier, candidates_of, frontier_of, with_sets
from cellbounds.ledger.history import internal_history, public_history
from cellbounds.ledger.journal import (
    WAIT,
    Draft,
    Journal,
    LedgerState,
    Signed,
    checked_reason,
    now,
    state_of,
    user_name,
)
from cellbounds.ledger.judgement import LedgerAnswer
from cellbounds.ledger.locations import Place
from cellbounds.ledger.people import People
from cellbounds.ledger.requests import Requests
from cellbounds.ledger.serialization import plain_layout
from cellbounds.ledger.transactions import Between, ReleaseRequest, StateChange, What
from cellbounds.ledger.versions import PublishedRelease, Tables, joined, kept_text, supplied
from cellbounds.runtime.budget import UNLIMITED, Budget, budgeted, running, stopped_late
from cellbounds.statements import Release, Statement

Steps = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Ledger:
    """The releases about one confidential table, in a file or a database.

    Every operation reads the ledger again and checks its chain of hashes, so that several people
    may use it at once. Make one with :meth:`create`, use it with :meth:`open`.

    Examples
    --------
    >>> import tempfile, cellbounds as cb
    >>> from cellbounds.ledger import Ledger
    >>> table = cb.datasets.read("delinquent")
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger.create(f"{folder.name}/delinquent.ledger", table, who="ann")
    >>> ledger.commit("[education|county]@1", table=table, who="ann", why="yearbook").number
    2
    >>> answer = ledger.ask("[county]", table=table)
    >>> answer.outcome, [entry.number for entry in answer.harmful]
    (UNSAFE, [2])
    >>> ledger.verify().intact
    True
    >>> folder.cleanup()
    """

    book: Journal

    @classmethod
    def create(
        cls,
        where: str | Path,
        table: Table,
        policy: Policy | str | Path = DEFAULT,
        *,
        independent: bool | None = None,
        protect: Sequence[Sequence[str]] = (),
        keep_table: bool = False,
        who: str | None = None,
        why: str = "",
        wait: float = WAIT,
        clock: Callable[[], datetime] = now,
        user: Callable[[], str] = user_name,
    ) -> Ledger:
        """Make a new ledger for a table.

        Parameters
        ----------
        where
            A file, or a URL such as ``postgresql://user@host/database?ledger=census``.
        table
            The confidential table. Its digest is recorded, not its counts, unless asked for.
        policy, independent
            What releases are judged by, and whether what is committed must hold against an intruder
            who reruns the ledger's decisions on every table that fits: unless said it must, up to
            1,024 cells. Without the table, every table that fits must pass.
        protect
            Margins whose cells must be safe too, besides the cells of the table.
        keep_table
            Keep the table in the ledger, so that it need not be supplied again. Whoever can read
            the ledger can then read the table.
        who, why
            Recorded; by default the user who runs this.
        wait
            Seconds to wait for somebody else's commit.
        clock, user
            Where times and users come from.
        """
        if not isinstance(table, Table):
            raise InvalidInput(f"table={table!r}; give the confidential Table")
        book = Journal(Place.of(where), wait, clock, user)
        plain = transactions.bare(table)
        rules = transactions.plain_rules(
            plain.domain,
            policy_of(policy),
            independent=plain.domain.size <= MOST_CELLS if independent is None else independent,
            margins=[plain.domain.names, *protect],
        )
        digest = {"digest": plain.digest, "kept": bool(keep_table)}
        content = {**plain_layout(plain), **digest, **rules}
        person = book.person(who)
        texts = {plain.digest: kept_text(plain)} if keep_table else {}
        with book.creating() as page:
            page.record(Draft("opened", content, texts), person, why)
        return cls(book)

    @classmethod
    def open(
        cls,
        where: str | Path,
        *,
        wait: float = WAIT,
        clock: Callable[[], datetime] = now,
        user: Callable[[], str] = user_name,
        confirm_time: bool = False,
    ) -> Ledger:
        """Use a ledger that is there; the schema of an older version is brought up to date.

        Parameters
        ----------
        where, wait, clock, user
            As for :meth:`create`.
        confirm_time
            The clock is right, though it is behind the last entry: write all the same.

        Raises
        ------
        LedgerError
            If there is none, it cannot be read, or a newer version wrote it.
        """
        book = Journal(Place.of(where), wait, clock, user, confirm_time)
        book.store.prepare()
        return cls(book)

    def ask(
        self,
        what: What,
        *,
        table: Tables = None,
        version: int | None = None,
        total: bool = True,
        knows: Iterable[Statement] = (),
        intruder: Mapping[str, Any] | None = None,
        record: bool = False,
        who: str | None = None,
        why: str = "",
        budget: Budget = UNLIMITED,
        seconds: float | None = None,
    ) -> LedgerAnswer:
        """Judge a release together with everything that is out; nothing is published.

        Parameters
        ----------
        what
            A release, or statements in the notation and release files.
        table
            The confidential table, unless the ledger keeps it; a list of all versions if it grew.
        version
            The version that statements are about; the newest unless given.
        total
            Whether statements in the notation come with N.
        knows
            What an intruder knows besides about that version, such as
            ``Known(["sex"], lower={"f": 3})``; he knows what was recorded with releases anyway.
        intruder
            What he knows of hidden counts, of N and of himself, by the keys of
            :class:`policies.Intruder`, instead of what the policy of the ledger says.
        record, who, why
            Record the question and its verdict.
        budget, seconds
            As for :func:`cellbounds.judge`.
        """
        request = ReleaseRequest(what, table, version, total, knows, intruder or {})
        if record:
            return self._record("asked", request, (who, why), budget, seconds)[1]
        with running(budget, seconds, stops=False) as clocked, stopped_late(clocked):
            state = self.state()
            question = request.question(self.book, state)
            return transactions.judged(state, request, question, clocked)

    def _record(
        self,
        kind: str,
        request: ReleaseRequest,
        signed: Signed,
        budget: Budget,
        seconds: float | None,
        decides: int | None = None,
    ) -> tuple[Entry, LedgerAnswer]:
        """Judge a release, and record the question or the refusal."""

        def drafted(state: LedgerState) -> Draft:
            question = request.question(self.book, state)
            answer = transactions.judged(state, request, question, clocked)
            content = transactions.without_figures(answer)
            return Draft(kind, content, answer=answer, request=decides)

        with running(budget, seconds, stops=False) as clocked:
            entry, answer = self.book.record(drafted, signed, clocked)
        assert entry is not None and answer is not None  # such a draft is always recorded
        return entry, replace(answer, entry=entry)

    def commit(
        self,
        what: What,
        *,
        why: str,
        who: str | None = None,
        table: Tables = None,
        version: int | None = None,
        total: bool = True,
        knows: Iterable[Statement] = (),
        intruder: Mapping[str, Any] | None = None,
        already_out: bool = False,
        record: bool = False,
        request: int | None = None,
        budget: Budget = UNLIMITED,
        seconds: float | None = None,
    ) -> Entry:
        """Judge a release, and record it as released if it is safe.

        Nobody has to wait meanwhile. If others released something before it was judged, it is
        judged anew together with that, with what is left of the budget. The entry is there whole
        or not at all. What is out already with the same figures is not recorded again: its entry
        is returned, with ``repeated``.

        Parameters
        ----------
        why, who
            Recorded.
        knows
            What an intruder knows besides, as for :meth:`ask`; recorded, and known to him whatever
            is asked from then on.
        intruder
            As for :meth:`ask`; recorded.
        already_out
            Record it whatever the verdict is, because it was published before.
        record
            If it is not safe, record that it was refused.
        request
            The number of the request that this approves (:meth:`requests` sees to who may).
        what, table, version, total, budget, seconds
            As for :meth:`ask`.

        Raises
        ------
        NotSafe
            If it is not known to be safe; `answer` says why.
        """
        wanted = ReleaseRequest(what, table, version, total, knows, intruder or {})

        def drafted(state: LedgerState) -> Draft:
            question = wanted.question(self.book, state)
            earlier = transactions.released_before(state, question)
            if earlier is not None:
                closed = "" if request is None else "closed"
                content = {"because": "released", "entry": earlier.number}
                return Draft(closed, content, earlier=earlier, request=request)
            answer = transactions.judged(state, wanted, question, clocked, blame=not already_out)
            if answer.safe or already_out:
                content = transactions.with_figures(answer, already_out)
                return Draft("released", content, answer=answer, request=request)
            content = transactions.without_figures(answer)
            return Draft("refused" if record else "", content, answer=answer, request=request)

        with running(budget, seconds, stops=False) as clocked:
            entry, answer = self.book.record(drafted, (who, checked_reason(why)), clocked)
        if entry is not None and entry.kind in ("released", "closed"):
            return entry
        assert answer is not None  # what was not released earlier was judged
        answer = replace(answer, entry=entry)
        raise NotSafe(f"not committed: {answer.reason}", answer)

    def refuse(
        self,
        what: What,
        *,
        why: str,
        who: str | None = None,
        table: Tables = None,
        version: int | None = None,
        total: bool = True,
        knows: Iterable[Statement] = (),
        intruder: Mapping[str, Any] | None = None,
        request: int | None = None,
        budget: Budget = UNLIMITED,
        seconds: float | None = None,
    ) -> Entry:
        """Record that a release was refused, with the verdict on it; its figures are not kept."""
        wanted = ReleaseRequest(what, table, version, total, knows, intruder or {})
        signed = who, checked_reason(why)
        return self._record("refused", wanted, signed, budget, seconds, request)[0]

    def set_policy(
        self,
        policy: Policy | str | Path | None = None,
        *,
        why: str,
        who: str | None = None,
        independent: bool | None = None,
        protect: Sequence[Sequence[str]] = (),
        table: Tables = None,
        budget: Budget = UNLIMITED,
        seconds: float | None = None,
    ) -> LedgerAnswer:
        """Judge by another policy from now on; says whether what is out is safe under it.

        `protect` are more margins whose cells must be safe. What is not given stays as it is.
        """
        named = None if policy is None else policy_of(policy)

        def change(state: LedgerState) -> StateChange:
            content = transactions.plain_rules(
                state.domain,
                state.policy if named is None else named,
                independent=state.independent if independent is None else independent,
                margins=(*state.protected, *protect),
            )
            return StateChange("policy", content, table)

        return self._change(change, (who, why), budget, seconds)

    def _change(
        self,
        change: Callable[[LedgerState], StateChange],
        signed: Signed,
        budget: Budget,
        seconds: float | None,
    ) -> LedgerAnswer:
        """Change the ledger itself, and judge what is out."""
        who, why = signed
        with running(budget, seconds, stops=False) as clocked:
            entry, answer = self.book.record(
                lambda state: change(state).drafted(self.book, state, clocked),
                (who, checked_reason(why)),
                clocked,
            )
        assert answer is not None  # a change is always judged
        return replace(answer, entry=entry)

    def refine(
        self,
        table: Table | Sequence[Table],
        *,
        why: str,
        who: str | None = None,
        budget: Budget = UNLIMITED,
        seconds: float | None = None,
    ) -> LedgerAnswer:
        """Go on with a table that has additional variables and the ledger's table as its margin.

        The cells of the table as it was stay protected, those of the finer one are from now on.
        With several versions, give the finer table of each.
        """
        change = partial(transactions.finer_tables, tables=table)
        return self._change(change, (who, why), budget, seconds)

    def grow(
        self,
        table: Table,
        *,
        why: str,
        who: str | None = None,
        earlier: Tables = None,
        budget: Budget = UNLIMITED,
        seconds: float | None = None,
    ) -> LedgerAnswer:
        """Go on with a later version of the table, to which records were added.

        Statements are about the newest version from now on, and what two versions give away by
        their difference is judged too. `earlier` are the versions before, unless they are kept.
        """
        change = transactions.later_version(self.book, table, earlier)
        return self._change(change, (who, why), budget, seconds)

    def revise(
        self,
        table: Table,
        *,
        why: str,
        who: str | None = None,
        earlier: Tables = None,
        removed: Between = None,
        added: Between = None,
        budget: Budget = UNLIMITED,
        seconds: float | None = None,
    ) -> LedgerAnswer:
        """Go on with a later version, from which records were removed, or in which they moved.

        Statements are about the newest version from now on. What two versions give away about the
        records that were removed and added between them is judged too.

        Parameters
        ----------
        table
            The later version, over the same variables and levels.
        earlier
            The versions before, unless they are kept.
        removed, added
            How many records an intruder knows to have been removed and added, counting those that
            moved to another cell twice: a number, two between which it is known to be, or nothing.
            He takes nothing for granted unless this says so; for all he knows, everybody may have
            been exchanged.
        why, who, budget, seconds
            As for :meth:`commit`.
        """
        known = {"removed": removed, "added": added}
        change = transactions.later_version(self.book, table, earlier, known)
        return self._change(change, (who, why), budget, seconds)

    @property
    def people(self) -> People:
        """Who may use it, and for what; nobody is listed if it belongs to whoever can open it."""
        return People(self)

    @property
    def requests(self) -> Requests:
        """What people asked for, and what became of it."""
        return Requests(self)

    def history(self) -> tuple[Entry, ...]:
        """Every entry, in order."""
        return self.book.entries()

    def state(self) -> LedgerState:
        """Where the ledger stands: variables, policy, what is out."""
        return state_of(self.book.entries())

    def table(self, table: Tables = None, *, version: int | None = None) -> Table | None:
        """The confidential table as the ledger has it, from those supplied or kept.

        None if it is not at hand and the ledger judges without the counts.
        """
        state = self.state()
        tables = supplied(state, table, self.book.kept)
        about = state.about(version)
        return None if tables is None else tables[about - 1]

    def together(self, *, until: int | None = None) -> Release:
        """Everything that is out as one release, or that was out after the entry `until`."""
        entries = self.book.entries()
        if until is not None and not 1 <= until <= len(entries):
            raise InvalidInput(f"until={until}; the ledger has the entries 1 to {len(entries)}")
        state = state_of(entries[:until])
        return joined(state, map(PublishedRelease.recorded, state.released))

    @budgeted
    def frontier(
        self,
        statements: Sequence[str] | None = None,
        *,
        table: Tables = None,
        way: int | None = None,
        digits: int = 2,
        total: bool = True,
        sets: bool = False,
        budget: Budget = UNLIMITED,
        seconds: float | None = None,
    ) -> LedgerFrontier:
        """Which statements may still be released, each by itself, and which never again.

        Parameters
        ----------
        statements
            The candidates in the notation; unless given, every margin of up to `way` variables and
            the rates of each variable within it, to so many `digits`.
        sets
            Also search the largest sets of them that may be released together.
        table, total, budget, seconds
            As for :meth:`ask`.
        """
        with stopped_late(budget):  # a command's clock runs already
            state = self.state()
            tables = supplied(replace(state, independent=False), table, self.book.kept)
            assert tables is not None  # without `independent` a missing table is an error
            listed = candidates_of(state.domain, way, digits) if statements is None else statements
            alone = frontier_of(state, tables, list(listed), total, budget)
            return with_sets(alone, state, tables, total, budget) if sets else alone

    def verify(self, *, head: str | None = None, entries: int | None = None) -> Check:
        """Check every link of the chain, and the head against a copy that was kept elsewhere.

        Also the tables that are kept, and the triggers with which the database itself refuses to
        change entries.

        Parameters
        ----------
        head, entries
            The hash of the last entry and, if it was noted too, the number of entries, as they
            were then; the ledger may have grown since.
        """
        read = self.book.store.read
        return check(
            *read(lambda rows: rows.chain()),
            self.book.place.name,
            noted=head,
            count=entries,
            kept=self.book.kept,
            guards=lambda: read(lambda rows: rows.guards()),
        )

    def export(self, *, public: bool = True) -> dict[str, Any]:
        """The history as plain values.

        The public one holds what was released and when, under which policy: no refusal or
        question, nobody's name or reason, no verdict, and no digest of the table.
        """
        entries = self.book.entries()
        return public_history(entries) if public else internal_history(entries)

    def __repr__(self) -> str:
        return f"Ledger({self.book.place.shown!r})"
