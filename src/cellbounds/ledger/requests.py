"""Requests that wait for somebody to decide on them.

A request is an entry of the chain, and so is its end: released, refused, or closed (withdrawn, or
out already). Figures that come with a request wait beside the chain, and go with the decision.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from cellbounds.errors import CellboundsError, InvalidInput
from cellbounds.ledger.chain import Entry, body_of
from cellbounds.ledger.errors import LedgerError, NotAllowed
from cellbounds.ledger.journal import Journal, checked_reason, checked_text
from cellbounds.ledger.serialization import plain_release, read_plain_release
from cellbounds.ledger.versions import Tables
from cellbounds.runtime.budget import UNLIMITED, Budget
from cellbounds.statements import Release
from cellbounds.statements.notation import expanded, parse
from cellbounds.statements.published import release_of

if TYPE_CHECKING:
    from cellbounds.data.domain import Domain
    from cellbounds.data.published import PublishedTable
    from cellbounds.ledger.database import WaitingRequest
    from cellbounds.ledger.ledger import Ledger

ENDS = {"released": "approved", "refused": "refused", "closed": "withdrawn"}
"""What became of a request, by the kind of the entry that ended it."""

MOST_STATEMENTS, LONGEST_STATEMENT, LONGEST_BATCH = 200, 10_000, 200
"""Statements of one request, and characters of each and of what it came in with."""


@dataclass(frozen=True, slots=True)
class Request:
    """What somebody asked for, and what became of it.

    Attributes
    ----------
    number
        The number of its entry, which names it.
    statements, total, version
        What is to be published, in the notation; whether N comes with it; of which version.
    release
        The figures that came with it, if any did; they go when it is decided.
    who, why, at
        Who asked, why and when.
    origin, batch
        Where it came from ("page", "api", "command line"), and what it came in with.
    status
        Waiting, approved, refused or withdrawn.
    judged
        The last answer of the ledger in short, without any count; after a decision what the entry
        says of it; None if it was never judged. For those who may see counts: a verdict tells of
        them.
    mark
        The state of the ledger in which it was judged (:attr:`LedgerState.mark`).
    decided_by, decided_at, reason
        Who decided, when and why; empty while it waits.
    entry
        The entry that came of it: the release, or the refusal.
    """

    number: int
    statements: tuple[str, ...]
    total: bool
    version: int
    who: str
    why: str
    at: str
    origin: str
    batch: str
    release: Release | None = None
    status: str = "waiting"
    judged: dict[str, Any] | None = None
    mark: str = ""
    decided_by: str = ""
    decided_at: str = ""
    reason: str = ""
    entry: int | None = None

    @property
    def waiting(self) -> bool:
        """Whether nobody has decided yet."""
        return self.status == "waiting"

    @property
    def what(self) -> Release | list[str]:
        """What is judged: the figures that came with it, or its notation."""
        return list(self.statements) if self.release is None else self.release

    def to_dict(self) -> dict[str, Any]:
        """Plain values, without figures and without what was judged."""
        hidden = ("release", "judged", "mark")
        values = {name: getattr(self, name) for name in self.__slots__ if name not in hidden}
        return {**values, "statements": list(self.statements)}


@dataclass(frozen=True, slots=True)
class Requests:
    """The requests of a ledger.

    Where the ledger has people, who submits must be one who asks, and who decides must be one who
    decides and did not ask.

    Examples
    --------
    >>> import tempfile, cellbounds as cb
    >>> table, folder = cb.datasets.read("delinquent"), tempfile.TemporaryDirectory()
    >>> ledger = cb.Ledger.create(f"{folder.name}/a.ledger", table, who="ann")
    >>> request = ledger.requests.submit("[county]", who="bob", why="a student")
    >>> ledger.requests.judge(request.number, table=table).judged["outcome"]
    'safe'
    >>> done = ledger.requests.approve(request.number, table=table, who="ann", why="harmless")
    >>> done.status, done.entry
    ('approved', 3)
    >>> folder.cleanup()
    """

    ledger: Ledger

    @property
    def _book(self) -> Journal:
        return self.ledger.book

    def all(self, *, status: str | None = None) -> tuple[Request, ...]:
        """Every request, or those of a status; the newest first."""
        if status not in (None, "waiting", *ENDS.values()):
            raise InvalidInput(
                f"status={status!r}; give waiting, {', '.join(ENDS.values())}, or nothing"
            )
        entries, noted = self._book.entries_and_waiting()
        ends = {end.content["request"]: end for end in entries if "request" in end.content}
        entries_asking = [entry for entry in reversed(entries) if entry.kind == "requested"]
        listed = (_request(entry, ends.get(entry.number), noted) for entry in entries_asking)
        return tuple(request for request in listed if status in (None, request.status))

    def get(self, number: int) -> Request:
        """The request with this number.

        Raises
        ------
        InvalidInput
            If there is none.
        """
        for request in self.all():
            if request.number == number:
                return request
        raise InvalidInput(f"there is no request {number!r}; list them to see their numbers")

    def before(self, request: Request) -> Request | None:
        """The last request of the same person before this one."""
        earlier = (
            waiting
            for waiting in self.all()
            if (waiting.who, waiting.number < request.number) == (request.who, True)
        )
        return next(earlier, None)

    def submit(
        self,
        what: Release | str | Sequence[str],
        *,
        why: str,
        who: str | None = None,
        total: bool = True,
        version: int | None = None,
        origin: str = "page",
        batch: str = "",
    ) -> Request:
        """Ask for a release; nothing is judged yet. The same request, while it waits, is one.

        Parameters
        ----------
        what
            Statements in the notation, or a release with its figures (they are kept until it is
            decided). Never the name of a file: the request may come from elsewhere.
        why, who, origin, batch
            Recorded.
        total
            Whether statements in the notation come with N.
        version
            The version of the table that it is about; the newest unless given.
        """
        person = self._book.person(who)
        self.ledger.people.require(person, "request")
        reason = checked_reason(why)
        batch = checked_text("batch", batch, LONGEST_BATCH)
        state = self.ledger.state()
        figures = isinstance(what, Release)
        content: dict[str, Any] = {
            "total": bool(total),
            "version": state.about(version),
            "with_figures": figures,
            "origin": origin,
            "batch": batch,
        }
        if isinstance(what, Release):
            _check_domain(what, state.domain)
            content |= {"statements": [statement.notation for statement in what.statements]}
            content |= {"digest": what.digest, "total": what.stated_total is not None}
        else:
            content["statements"] = _checked_statements(what, state.domain)
        body = body_of(plain_release(what)) if isinstance(what, Release) else ""
        with self._book.writing() as page:
            ended = {entry.content.get("request") for entry in page.entries}
            for entry in page.entries:
                same = (entry.kind, entry.who, entry.why, entry.content)
                if same == ("requested", person, reason, content) and entry.number not in ended:
                    return _request(entry, None, page.rows.waiting())
            entry = page.append("requested", person, reason, content)
            page.rows.wait(entry.number, body)
            return _request(entry, None, page.rows.waiting())

    def submit_tables(
        self,
        tables: Sequence[PublishedTable],
        *,
        why: str,
        who: str | None = None,
        origin: str = "page",
        batch: str = "",
    ) -> tuple[Request, ...]:
        """Ask for tables that another tool wrote, each by itself, as one batch.

        Their levels are those of the ledger, in whatever order; if one table has others, nothing
        is asked for.
        """
        domain = self.ledger.state().domain
        releases = [release_of([table], about=domain) for table in tables]
        return tuple(
            self.submit(release, why=why, who=who, origin=origin, batch=batch)
            for release in releases
        )

    def judge(
        self,
        number: int,
        *,
        table: Tables = None,
        budget: Budget = UNLIMITED,
        seconds: float | None = None,
    ) -> Request:
        """Judge a request together with everything that is out, and note the answer beside it."""
        request = self._waiting(number)
        mark = self.ledger.state().mark
        answer = self.ledger.ask(
            request.what,
            table=table,
            version=request.version,
            total=request.total,
            budget=budget,
            seconds=seconds,
        )
        with self._book.store.writing() as rows:
            rows.note(number, body_of({**answer.summary(), "reason": answer.reason}), mark)
        return self.get(number)

    def approve(
        self,
        number: int,
        *,
        why: str,
        who: str | None = None,
        table: Tables = None,
        alone: bool = False,
        budget: Budget = UNLIMITED,
        seconds: float | None = None,
    ) -> Request:
        """Release what was asked for, if it is safe with everything that is out by then.

        `alone` lets a person decide on their own requests, where nobody else is there to do it.

        Raises
        ------
        NotSafe
            If it is not known to be safe; the request goes on waiting.
        NotAllowed
            If this person may not decide, or asked for it.
        LedgerError
            If it was decided meanwhile.
        """
        return self._decide(
            act=self.ledger.commit,
            number=number,
            who=who,
            why=why,
            table=table,
            alone=alone,
            budget=budget,
            seconds=seconds,
        )

    def refuse(
        self,
        number: int,
        *,
        why: str,
        who: str | None = None,
        table: Tables = None,
        alone: bool = False,
        budget: Budget = UNLIMITED,
        seconds: float | None = None,
    ) -> Request:
        """Refuse what was asked for; the verdict is recorded, its figures go."""
        return self._decide(
            act=self.ledger.refuse,
            number=number,
            who=who,
            why=why,
            table=table,
            alone=alone,
            budget=budget,
            seconds=seconds,
        )

    def _decide(
        self,
        act: Callable[..., Entry],
        number: int,
        who: str | None,
        why: str,
        table: Tables,
        alone: bool,
        budget: Budget,
        seconds: float | None,
    ) -> Request:
        """Commit or refuse what was asked for, by somebody who may."""
        person = self._book.person(who)
        self.ledger.people.require(person, "decide")
        request = self.get(number)
        ended = "approved" if act == self.ledger.commit else "refused"
        if (request.status, request.decided_by, request.reason) == (ended, person, why):
            return request  # who was not told that it is done says the same again
        request = self._waiting(number)
        if request.who == person and not alone and self.ledger.people.all():
            raise NotAllowed(
                f"request {number} is one of {person!r}; somebody else has to decide on it"
            )
        act(
            request.what,
            why=why,
            who=person,
            table=table,
            version=request.version,
            total=request.total,
            request=number,
            budget=budget,
            seconds=seconds,
        )
        return self.get(number)

    def withdraw(self, number: int, *, who: str | None = None, why: str = "") -> Request:
        """Take a request back; only who asked for it can."""
        person, request = self._book.person(who), self.get(number)
        if (request.status, request.decided_by, request.reason) == ("withdrawn", person, why):
            return request
        if self._waiting(number).who != person:
            raise NotAllowed(
                f"request {number} is not one of {person!r}; who asked for it may withdraw it, who "
                "decides may refuse it"
            )
        with self._book.writing() as page:
            page.withdraw(number, person, why)
        return self.get(number)

    def _waiting(self, number: int) -> Request:
        request = self.get(number)
        if not request.waiting:
            raise LedgerError(
                f"request {number} was {request.status} by {request.decided_by} at "
                f"{request.decided_at}. Nothing was written"
            )
        return request


def _request(asked: Entry, end: Entry | None, noted: dict[int, WaitingRequest]) -> Request:
    """A request as its entry has it, with what is noted of it while it waits, or its end."""
    content = asked.content
    request = Request(
        number=asked.number,
        statements=asked.statements,
        total=content["total"],
        version=content["version"],
        who=asked.who,
        why=asked.why,
        at=asked.at,
        origin=content["origin"],
        batch=content["batch"],
    )
    if end is None:
        try:
            figures, judged, mark = noted[asked.number]
            release = read_plain_release(json.loads(figures)) if figures else None
            return replace(
                request, release=release, judged=json.loads(judged) if judged else None, mark=mark
            )
        except (KeyError, TypeError, ValueError, CellboundsError):
            raise LedgerError(
                f"what was noted of request {asked.number} is gone or damaged: another program "
                "changed the ledger; use a copy from before"
            ) from None
    out_already = end.content.get("entry")
    return replace(
        request,
        status="approved" if out_already else ENDS[end.kind],
        judged=end.content.get("judged"),
        decided_by=end.who,
        decided_at=end.at,
        reason=end.why,
        entry=out_already or (None if end.kind == "closed" else end.number),
    )


def _check_domain(release: Release, domain: Domain) -> None:
    own = {name: domain.levels(name) for name in domain.names}
    if own != {name: release.domain.levels(name) for name in release.domain.names}:
        raise InvalidInput(
            f"the release is over {release.domain!r}, the ledger over {domain!r}; they need the "
            "same variables and levels"
        )


def _checked_statements(what: str | Sequence[str], domain: Domain) -> list[str]:
    """Statements in the notation over the variables of the ledger."""
    texts = [what] if isinstance(what, str) else list(what)
    if not 0 < len(texts) <= MOST_STATEMENTS or not all(isinstance(text, str) for text in texts):
        raise InvalidInput(
            f"{len(texts)} statements; give 1 to {MOST_STATEMENTS} in the notation, such as "
            "'[Y|A,B]@2'"
        )
    for text in texts:
        checked_text("a statement", text, LONGEST_STATEMENT)
        for part in expanded(parse(text), domain):
            for name in part.names:
                domain.base(name)  # raises for a variable that is not there
    return texts
