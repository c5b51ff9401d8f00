"""Reading a ledger's entries and adding to them, with who and when."""

from __future__ import annotations

import getpass
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from cellbounds.errors import InvalidInput
from cellbounds.files import library
from cellbounds.ledger.chain import Entry, Head, checked, sealed
from cellbounds.ledger.contents import understood
from cellbounds.ledger.places import Place
from cellbounds.ledger.state import State, state_of

if TYPE_CHECKING:
    from cellbounds.ledger.store import Store, Writer

__all__ = ["WAIT", "Book", "Page", "now", "user_name"]

WAIT = 60.0
"""Seconds to wait for somebody else's commit."""


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


@dataclass(frozen=True, slots=True)
class Book:
    """Where a ledger is, how long to wait for others, and where times and users come from."""

    place: Place
    wait: float = WAIT
    clock: Callable[[], datetime] = now
    user: Callable[[], str] = user_name

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

    @contextmanager
    def creating(self) -> Iterator[Page]:
        """The first page of a new ledger."""
        with self.store.creating() as writer:
            yield Page(self, writer, None, None)

    @contextmanager
    def writing(self) -> Iterator[Page]:
        """The last page, under a lock; what is added is there when this ends, whole or not."""
        with self.store.writing() as writer:
            rows, head = writer.rows()
            state = state_of(understood(checked(rows, head, self.place.name)))
            yield Page(self, writer, head, state)


@dataclass(frozen=True, slots=True)
class Page:
    """Where one entry can be added, while nobody else can."""

    _book: Book
    _writer: Writer
    _head: Head | None
    _state: State | None

    @property
    def state(self) -> State:
        """Where the ledger stands."""
        assert self._state is not None  # a new ledger has no state; it is not asked for one
        return self._state

    def append(self, kind: str, who: str | None, why: str, content: dict[str, Any]) -> Entry:
        """Add an entry."""
        person = self._book.user() if who is None else who
        if not isinstance(person, str) or not person.strip():
            raise InvalidInput(f"who={person!r}; name the person, so that the entry says who")
        if not isinstance(why, str):
            raise InvalidInput(f"why={why!r}; give a text")
        row, entry = sealed(
            self._head,
            ledger=self._book.place.name,
            kind=kind,
            at=self._book.clock().astimezone(UTC).isoformat(timespec="seconds"),
            who=person,
            why=why,
            content=content,
        )
        self._writer.append(row)
        return entry

    def keep(self, digest: str, body: str) -> None:
        """Keep a confidential table."""
        self._writer.keep(digest, body)
