"""The rows of people and of their sessions in the database of a ledger."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, delete, insert, or_, select, update

from cellbounds.ledger.database import PEOPLED, Rows, people, revision_of, sessions


class StoredPerson(NamedTuple):
    """A row of the people."""

    name: str
    roles: str
    secret: str
    active: bool
    failures: int
    locked_until: str


@dataclass(frozen=True, slots=True)
class PeopleRows:
    """The people of one ledger, in a transaction that is open."""

    rows: Rows

    @property
    def _connection(self) -> Connection:
        return self.rows.connection

    def _named(self, name: str) -> tuple[ColumnElement[bool], ...]:
        return people.c.ledger == self.rows.place.name, people.c.name == name

    def listed(self) -> list[StoredPerson]:
        """Everybody, by name. A file of an earlier schema, which may not be written, has nobody."""
        if (revision_of(self._connection) or "") < PEOPLED:
            return []
        query = select(*(people.c[name] for name in StoredPerson._fields))
        query = query.where(people.c.ledger == self.rows.place.name).order_by(people.c.name)
        return [StoredPerson(*row) for row in self._connection.execute(query)]

    def add(self, person: StoredPerson) -> None:
        """Add somebody."""
        row = {"ledger": self.rows.place.name, **person._asdict()}
        self._connection.execute(insert(people).values(row))

    def change(self, name: str, **values: Any) -> None:
        """Change somebody."""
        self._connection.execute(update(people).where(*self._named(name)).values(values))

    def open_session(self, digest: str, name: str, *, expires: str, now: str) -> None:
        """Begin a session; those that are over go."""
        own = sessions.c.ledger == self.rows.place.name
        self._connection.execute(delete(sessions).where(own, sessions.c.expires <= now))
        row = {"ledger": self.rows.place.name, "digest": digest, "name": name, "expires": expires}
        self._connection.execute(insert(sessions).values(row))

    def session_of(self, digest: str, now: str) -> str | None:
        """Whose session it is, unless it is over."""
        own = sessions.c.ledger == self.rows.place.name, sessions.c.digest == digest
        query = select(sessions.c.name).where(*own, sessions.c.expires > now)
        name: str | None = self._connection.execute(query).scalar()
        return name

    def end_sessions(self, *, digest: str = "", name: str = "") -> None:
        """End one session, or all of a person."""
        own = sessions.c.ledger == self.rows.place.name
        chosen = or_(sessions.c.digest == digest, sessions.c.name == name)
        self._connection.execute(delete(sessions).where(own, chosen))
