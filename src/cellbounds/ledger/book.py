"""Reading a ledger's entries and adding to them, with who and when."""

from __future__ import annotations

import getpass
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from cellbounds.errors import InvalidInput
from cellbounds.ledger.chain import Entry, Head, body_of, checked, sealed
from cellbounds.ledger.contents import understood
from cellbounds.ledger.errors import LedgerError
from cellbounds.ledger.locations import Place
from cellbounds.ledger.state import PASSING, State, state_of
from cellbounds.runtime.files import library

if TYPE_CHECKING:
    from cellbounds.ledger.store import Store, Writer

__all__ = ["WAIT", "Book", "Draft", "Page", "Said", "now", "user_name"]

WAIT = 60.0
"""Seconds to wait for somebody else's commit."""

TRIES = 3
"""How often something is judged before others have to wait for it: each time something came in."""

Said = tuple[str | None, str]
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


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """What is to be recorded.

    Attributes
    ----------
    kind, content
        The entry; no kind if nothing is to be recorded.
    tables
        Confidential tables to keep with it, by their digests.
    earlier
        The entry that says the same already.
    """

    kind: str = ""
    content: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, str] = field(default_factory=dict)
    earlier: Entry | None = None

    @property
    def known(self) -> Entry | None:
        """The earlier entry as an answer to a repeated request."""
        return None if self.earlier is None else replace(self.earlier, repeated=True)


@dataclass(frozen=True, slots=True)
class Book:
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
        library("sqlalchemy", needed_for="ledgers", extra="ledger")
        library("alembic", needed_for="ledgers", extra="ledger")
        from cellbounds.ledger.store import Store

        return Store(self.place, self.wait)

    def entries(self) -> tuple[Entry, ...]:
        """Every entry, the chain checked."""
        rows, head = self.store.rows()
        return understood(checked(rows, head, self.place.name))

    def record(self, drafted: Callable[[State], Draft], said: Said) -> Entry | None:
        """Judge, and record it if nothing that matters came in meanwhile; judge anew if it did.

        Nobody has to wait while something is judged, unless others were faster several times.
        """
        who, why = said
        person = self.person(who)
        for _ in range(TRIES):
            state = state_of(self.entries())
            draft = drafted(state)
            if not draft.kind:
                return draft.known
            with self.writing() as page:
                if page.state.mark == state.mark:
                    return page.record(draft, person, why)
        with self.writing() as page:
            draft = drafted(page.state)
            return page.record(draft, person, why) if draft.kind else draft.known

    def person(self, who: str | None) -> str:
        """Who does it: the user unless somebody is named."""
        person = self.user() if who is None else who
        if not isinstance(person, str) or not person.strip():
            raise InvalidInput(f"who={person!r}; name the person, so that the entry says who")
        return person

    @contextmanager
    def creating(self) -> Iterator[Page]:
        """The first page of a new ledger."""
        with self.store.creating() as writer:
            yield Page(self, writer, ())

    @contextmanager
    def writing(self) -> Iterator[Page]:
        """The last page, under a lock; what is added is there when this ends, whole or not."""
        with self.store.writing() as writer:
            yield Page(self, writer, understood(checked(*writer.rows(), self.place.name)))


@dataclass(frozen=True, slots=True)
class Page:
    """Where one entry can be added, while nobody else can."""

    _book: Book
    _writer: Writer
    _entries: tuple[Entry, ...]

    @property
    def state(self) -> State:
        """Where the ledger stands."""
        return state_of(self._entries)

    def record(self, draft: Draft, who: str, why: str) -> Entry:
        """Add what was judged, unless the same was recorded since the ledger last changed."""
        for entry in reversed(self._entries):
            said = entry.kind, entry.who, entry.why, entry.content
            if said == (draft.kind, who, why, json.loads(body_of(draft.content))):
                return replace(entry, repeated=True)
            if entry.kind not in PASSING:
                break
        for digest, body in draft.tables.items():
            self.keep(digest, body)
        return self.append(draft.kind, who, why, draft.content)

    def append(self, kind: str, who: str, why: str, content: dict[str, Any]) -> Entry:
        """Add an entry."""
        if not isinstance(why, str):
            raise InvalidInput(f"why={why!r}; give a text")
        last = self._entries[-1] if self._entries else None
        row, entry = sealed(
            None if last is None else Head(last.number, last.hash),
            ledger=self._book.place.name,
            kind=kind,
            at=self._time(last).isoformat(timespec="seconds"),
            who=who,
            why=why,
            content=content,
        )
        self._writer.append(row)
        return entry

    def keep(self, digest: str, body: str) -> None:
        """Keep a confidential table."""
        self._writer.keep(digest, body)

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
