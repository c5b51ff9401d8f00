"""The journal of a ledger: where its entries leave it, and adding to them, with who and when."""

from __future__ import annotations

import getpass
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from cellbounds.data.domain import Domain
from cellbounds.disclosure.policies import Outcome, Policy
from cellbounds.errors import InvalidInput
from cellbounds.ledger.chain import (
    CLOSING,
    ChainHead,
    Entry,
    StoredEntry,
    body_of,
    checked,
    sealed,
    understood,
)
from cellbounds.ledger.errors import LedgerError
from cellbounds.ledger.locations import Place
from cellbounds.ledger.serialization import read_layout, read_plain_policy
from cellbounds.runtime.arrays import BoolArray
from cellbounds.runtime.budget import Budget, stopped_late

if TYPE_CHECKING:
    from cellbounds.ledger.database import Rows, Store, WaitingRequest
    from cellbounds.ledger.judgement import LedgerAnswer

PASSING = ("asked", "refused", "requested", "closed", "person")
"""Kinds of entries that change nothing about what may follow."""


@dataclass(frozen=True, slots=True)
class Revision:
    """A version for which records were removed, added, or moved to other cells.

    Attributes
    ----------
    version
        The version that came of it.
    removed, added
        Between which numbers an intruder knows the removed and the added records to be (None: no
        end); a record that moved is removed from one cell and added to another.
    """

    version: int
    removed: tuple[int, int | None]
    added: tuple[int, int | None]


@dataclass(frozen=True, slots=True, eq=False)
class LedgerState:
    """Where a ledger stands.

    Attributes
    ----------
    domain, structural
        The variables of the confidential table, and the cells that cannot hold anybody.
    digests
        The digest of the table, for each version of it.
    kept
        Whether the tables are kept in the ledger.
    policy, independent
        What releases are judged by, and whether that must hold against whoever reruns it.
    protected
        The margins whose cells must be safe: the whole table, and those that were asked for.
    released
        The entries of what is out, in order.
    standing
        The last verdict on everything that is out.
    revisions
        The versions, from 2, before which records may have been removed too, with what an intruder
        knows about how many were removed and added.
    mark
        The hash of the last entry that changed any of this: questions and refusals do not.
    source
        The entry that brought the newest table.
    """

    domain: Domain
    structural: BoolArray
    digests: tuple[str, ...]
    kept: bool
    policy: Policy
    independent: bool
    protected: tuple[tuple[str, ...], ...]
    released: tuple[Entry, ...] = ()
    standing: Outcome = Outcome.SAFE
    revisions: tuple[Revision, ...] = ()
    mark: str = ""
    source: Entry | None = None

    @property
    def versions(self) -> int:
        """How many versions of the table there are."""
        return len(self.digests)

    @property
    def unseen(self) -> bool:
        """Whether searches judge without the true counts: else verdicts tell nothing of them."""
        return self.independent and self.policy.tells()

    def about(self, version: int | None) -> int:
        """A version that there is; the newest unless given."""
        if version is None:
            return self.versions
        if isinstance(version, bool) or version not in range(1, self.versions + 1):
            raise InvalidInput(
                f"version={version!r}; the ledger has the versions 1 to {self.versions}"
            )
        return version


def state_of(entries: Iterable[Entry]) -> LedgerState:
    """Read entries in order."""
    state: LedgerState | None = None
    for entry in entries:
        state = _opened(entry) if state is None else _after(state, entry)
    if state is None:
        raise LedgerError("the ledger has no entry, not even the first; make a new one")
    return state


def _opened(entry: Entry) -> LedgerState:
    content = entry.content
    if entry.kind != "opened":
        raise LedgerError(f"the first entry is {entry.kind!r}, not 'opened'; restore a copy")
    return LedgerState(
        **_layout(content),
        **_rules(content),
        digests=(content["digest"],),
        kept=content["kept"],
        mark=entry.hash,
        source=entry,
    )


def _layout(content: dict[str, Any]) -> dict[str, Any]:
    domain, structural = read_layout(content)
    return {"domain": domain, "structural": structural}


def _rules(content: dict[str, Any]) -> dict[str, Any]:
    return {
        "policy": read_plain_policy(content["policy"]),
        "independent": content["independent"],
        "protected": tuple(map(tuple, content["protected"])),
    }


def _after(state: LedgerState, entry: Entry) -> LedgerState:
    if entry.kind in PASSING:
        return state
    if entry.kind == "released":
        state = replace(state, released=(*state.released, entry))
    elif entry.kind == "policy":
        state = changed(state, entry.kind, entry.content)
    elif entry.kind in ("refined", "grown", "revised"):
        state = replace(changed(state, entry.kind, entry.content), source=entry)
    else:
        raise LedgerError(
            f"entry {entry.number} is of the unknown kind {entry.kind!r}; install a newer "
            "version of cellbounds"
        )
    return replace(state, standing=Outcome(entry.content["judged"]["outcome"]), mark=entry.hash)


def changed(state: LedgerState, kind: str, content: dict[str, Any]) -> LedgerState:
    """The state after another policy, a finer table or a later version; without a kind, as is."""
    match kind:
        case "policy":
            return replace(state, **_rules(content))
        case "refined":
            state = replace(state, **_layout(content), digests=tuple(content["digests"]))
            return replace(state, protected=(state.domain.names, *state.protected))
        case "grown" | "revised":
            state = replace(state, digests=(*state.digests, content["digest"]))
    if kind == "revised":
        known = tuple(content["removed"]), tuple(content["added"])
        state = replace(state, revisions=(*state.revisions, Revision(state.versions, *known)))
    return state


WAIT = 60.0
"""Seconds to wait for somebody else's commit."""

TRIES = 3
"""How often something is judged before others have to wait for it: each time something came in."""

LONGEST_REASON = 2**15
"""Characters of a reason."""

Signed = tuple[str | None, str]
"""Who, and why."""


def now() -> datetime:
    """The time, in UTC."""
    return datetime.now(UTC)


def user_name() -> str:
    """The name of the user who runs this."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # a user without a name, as in some containers
        raise InvalidInput(
            "the user who runs this has no name; name the person (who=, --who)"
        ) from None


def checked_reason(why: object) -> str:
    """A reason, which is a text with something in it."""
    if not isinstance(why, str) or not why.strip():
        raise InvalidInput(f"why={why!r}; give a reason, so that the entry says why")
    return checked_text("why", why, LONGEST_REASON)


def checked_text(name: str, text: object, most: int) -> str:
    """A text for the chain, where it stays: of a length that somebody can read, and writable."""
    if not isinstance(text, str) or len(text) > most:
        raise InvalidInput(f"{name} has to be a text of at most {most:,} characters; shorten it")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidInput(f"{name} has characters that are none; write it anew") from None
    return text


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """What is to be recorded.

    Attributes
    ----------
    kind, content
        The entry; no kind if nothing is to be recorded.
    tables
        Confidential tables to keep with it, by their digests.
    answer
        What was judged, if anything was.
    earlier
        The entry that says the same already; it answers a repeated request.
    request
        The request that it decides, which must still wait for that.
    """

    kind: str = ""
    content: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, str] = field(default_factory=dict)
    answer: LedgerAnswer | None = None
    earlier: Entry | None = None
    request: int | None = None


@dataclass(frozen=True, slots=True)
class Journal:
    """Where a ledger is, how long to wait for others, and where times and users come from.

    `confirm_time` says that the clock is right though it is behind the last entry.
    """

    place: Place
    wait: float = WAIT
    clock: Callable[[], datetime] = now
    user: Callable[[], str] = user_name
    confirm_time: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.wait, bool) or not isinstance(self.wait, int | float) or self.wait < 0:
            raise InvalidInput(f"wait={self.wait!r}; give a number of seconds, 0 or more")

    @property
    def store(self) -> Store:
        """The database."""
        from cellbounds.ledger.database import Store

        return Store(self.place, self.wait)

    def entries(self) -> tuple[Entry, ...]:
        """Every entry, the chain checked."""
        return self._checked(self.store.read(lambda rows: rows.chain()))

    def entries_and_waiting(self) -> tuple[tuple[Entry, ...], dict[int, WaitingRequest]]:
        """Every entry, and what is noted of requests that wait, at one moment."""
        chain, noted = self.store.read(lambda rows: (rows.chain(), rows.waiting()))
        return self._checked(chain), noted

    def _checked(self, chain: tuple[list[StoredEntry], ChainHead]) -> tuple[Entry, ...]:
        return understood(checked(*chain, self.place.name))

    def kept(self, digest: str) -> str | None:
        """A confidential table that is kept in the ledger, as JSON text."""
        return self.store.read(lambda rows: rows.kept(digest))

    def record(
        self, drafted: Callable[[LedgerState], Draft], signed: Signed, budget: Budget
    ) -> tuple[Entry | None, LedgerAnswer | None]:
        """Judge, and record it if nothing that matters came in meanwhile; judge anew if it did.

        Nobody has to wait while something is judged, unless others were faster several times.
        Returns the entry, or the one that says the same already, and what was judged.

        Judging is stopped if it is late, while nothing is written yet; writing is not.
        """
        who, why = signed
        person = self.person(who)
        for _ in range(TRIES):
            with stopped_late(budget):
                state = state_of(self.entries())
                draft = drafted(state)
            if not draft.kind:
                return draft.earlier, draft.answer
            with self.writing() as page:
                if page.state.mark == state.mark:
                    return page.record(draft, person, why), draft.answer
        with self.writing() as page:
            with stopped_late(budget):
                draft = drafted(page.state)
            entry = page.record(draft, person, why) if draft.kind else draft.earlier
            return entry, draft.answer

    def person(self, who: str | None) -> str:
        """Who does it: the user unless somebody is named."""
        person = self.user() if who is None else who
        if not isinstance(person, str) or not person.strip():
            raise InvalidInput(f"who={person!r}; name the person, so that the entry says who")
        return person

    @contextmanager
    def creating(self) -> Iterator[JournalPage]:
        """The first page of a new ledger."""
        with self.store.creating() as rows:
            yield JournalPage(self, rows, ())

    @contextmanager
    def writing(self) -> Iterator[JournalPage]:
        """The last page, under a lock; what is added is there when this ends, whole or not."""
        with self.store.writing() as rows:
            yield JournalPage(self, rows, self._checked(rows.chain()))


@dataclass(frozen=True, slots=True)
class JournalPage:
    """Where one entry can be added, while nobody else can."""

    _book: Journal
    rows: Rows
    entries: tuple[Entry, ...]

    @property
    def state(self) -> LedgerState:
        """Where the ledger stands."""
        return state_of(self.entries)

    def record(self, draft: Draft, who: str, why: str) -> Entry:
        """Add what was judged, unless the same was recorded since the ledger last changed."""
        if draft.request is not None:
            return self._decide(draft, draft.request, who, why)
        for entry in reversed(self.entries):
            recorded = entry.kind, entry.who, entry.why, entry.content
            if recorded == (draft.kind, who, why, json.loads(body_of(draft.content))):
                return replace(entry, repeated=True)
            if entry.kind not in PASSING:
                break
        for digest, body in draft.tables.items():
            self.rows.keep(digest, body)
        return self.append(draft.kind, who, why, draft.content)

    def _decide(self, draft: Draft, request: int, who: str, why: str) -> Entry:
        """Add the decision on a request, unless somebody else was faster; its figures go."""
        for entry in self.entries:
            if entry.kind in CLOSING and entry.content.get("request") == request:
                raise LedgerError(
                    f"request {request} was decided meanwhile: {entry.kind} in entry "
                    f"{entry.number} by {entry.who}. Nothing was written"
                )
        self.rows.forget(request)
        return self.append(draft.kind, who, why, {**draft.content, "request": request})

    def withdraw(self, request: int, who: str, why: str) -> Entry:
        """End a request without a decision."""
        return self._decide(Draft("closed", {"because": "withdrawn"}), request, who, why)

    def append(self, kind: str, who: str, why: str, content: dict[str, Any]) -> Entry:
        """Add an entry."""
        if not isinstance(why, str):
            raise InvalidInput(f"why={why!r}; give a text")
        last = self.entries[-1] if self.entries else None
        row, entry = sealed(
            None if last is None else ChainHead(last.number, last.hash),
            ledger=self._book.place.name,
            kind=kind,
            at=self._time(last).isoformat(timespec="seconds"),
            who=who,
            why=why,
            content=content,
        )
        self.rows.append(row)
        return entry

    def _time(self, last: Entry | None) -> datetime:
        """The time, which is not before that of the last entry unless somebody confirms it."""
        time = self._book.clock().astimezone(UTC).replace(microsecond=0)
        if last is None or self._book.confirm_time:
            return time
        try:
            earlier = time < datetime.fromisoformat(last.at)
        except (TypeError, ValueError):
            raise LedgerError(
                f"entry {last.number} has the time {last.at!r}, which is none in UTC; restore a "
                "copy. Nothing was written"
            ) from None
        if earlier:
            raise InvalidInput(
                f"the clock says {time.isoformat()}, but entry {last.number} was written at "
                f"{last.at}; correct the clock, or confirm that it is right (confirm_time=True, "
                "--confirm-time). Nothing was written"
            )
        return time
