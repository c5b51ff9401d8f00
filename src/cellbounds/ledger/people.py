"""Who may use a ledger, and for what: people, their roles, passwords and sessions.

A ledger without people belongs to whoever can open it. From the first person on, who asks and who
decides must be named there, nobody decides on a request of their own, and every change of a person
is an entry of the chain. Passwords (as Argon2 hashes) and sessions (as digests of their tokens)
are kept beside the chain, where they can be changed and removed.

Whoever can write to the database can do all of this without asking: see what is not promised in
``docs/reliability.md``.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING

from cellbounds.errors import InvalidInput
from cellbounds.ledger.errors import NotAllowed
from cellbounds.runtime.files import library

if TYPE_CHECKING:
    from argon2 import PasswordHasher

    from cellbounds.ledger.database import Rows
    from cellbounds.ledger.journal import Journal
    from cellbounds.ledger.ledger import Ledger
    from cellbounds.ledger.people_rows import PeopleRows, StoredPerson

ROLES = ("asks", "decides", "administers")
"""What somebody can be: submits requests, decides on those of others, looks after people."""

RIGHTS: dict[str, frozenset[str]] = {
    "asks": frozenset({"request", "explore", "history"}),
    "decides": frozenset({"decide", "explore", "history", "counts", "reasons", "uploads"}),
    "administers": frozenset({"people", "history", "reasons"}),
}
"""What each role may do and see.

``request``: submit requests, and see one's own; ``explore``: ask about public tables;
``history``: what was released; ``counts``: true counts, verdicts and what leads to them;
``reasons``: who asked for what, and why it was decided so; ``uploads``: figures that wait for a
decision; ``decide``: approve and refuse; ``people``: add people and change their roles.
"""

SHORTEST_PASSWORD, LONGEST_PASSWORD = 12, 1000
LONGEST_NAME = 200
FAILURES = 5
"""Wrong passwords in a row, after which a person has to wait: a minute, then twice as long."""
LONGEST_WAIT = timedelta(hours=1)
SESSION_HOURS = 12.0


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who may use a ledger.

    Examples
    --------
    >>> Person("ann", frozenset({"asks"})).may("decide")
    False
    """

    name: str
    roles: frozenset[str]
    active: bool = True

    def may(self, right: str) -> bool:
        """Whether one of the roles gives a right."""
        return self.active and any(right in RIGHTS[role] for role in self.roles)


OWNER_ROLES = frozenset(ROLES)


@dataclass(frozen=True, slots=True)
class People:
    """The people of one ledger.

    Examples
    --------
    >>> import tempfile, cellbounds as cb
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = cb.Ledger.create(f"{folder.name}/a.ledger", cb.datasets.read("mp3"), who="ann")
    >>> ann = ledger.people.add("ann", ["administers"], password="correct horse", who="ann")
    >>> ledger.people.entitled("ann", "wrong horse") is None
    True
    >>> token = ledger.people.begin("ann")
    >>> ledger.people.session(token).may("people")
    True
    >>> folder.cleanup()
    """

    ledger: Ledger

    @property
    def _book(self) -> Journal:
        return self.ledger.book

    def all(self) -> tuple[Person, ...]:
        """Everybody, by name; nobody if the ledger belongs to whoever can open it."""
        return tuple(map(_person, self._book.store.read(lambda rows: _rows(rows).listed())))

    def get(self, name: str) -> Person | None:
        """The person of this name, active or not."""
        return next((person for person in self.all() if person.name == name), None)

    def require(self, name: str, right: str) -> Person:
        """The person, if they have a right; in a ledger without people everybody has all.

        Raises
        ------
        NotAllowed
            If they have not.
        """
        everybody = self.all()
        if not everybody:
            return Person(name, OWNER_ROLES)
        person = next((person for person in everybody if person.name == name), None)
        if person is None or not person.may(right):
            roles = [role for role in ROLES if right in RIGHTS[role]]
            raise NotAllowed(
                f"{name!r} may not do this; it needs somebody who {' or '.join(roles)}: ask who "
                "administers the ledger"
            )
        return person

    def add(
        self,
        name: str,
        roles: Iterable[str],
        *,
        password: str | None = None,
        who: str | None = None,
        why: str = "",
    ) -> Person:
        """Add a person; without a password, for single sign-on alone.

        The first one administers, so that somebody can add the others.
        """
        name, chosen = _checked_name(name), _checked_roles(roles)
        secret = _hashed(password)

        def write(rows: Rows) -> Person:
            everybody = [_person(row) for row in _rows(rows).listed()]
            if any(person.name == name for person in everybody):
                raise InvalidInput(f"there is a person named {name!r} already; change that one")
            if not everybody and "administers" not in chosen:
                raise InvalidInput(
                    f"the first person has the roles {sorted(chosen)}; it must be one who "
                    "administers, so that others can be added"
                )
            _rows(rows).add(_stored(name, chosen, secret))
            return Person(name, chosen)

        return self._changed("added", write, who, why)

    def change(
        self,
        name: str,
        *,
        roles: Iterable[str] | None = None,
        active: bool | None = None,
        password: str | None = None,
        who: str | None = None,
        why: str = "",
    ) -> Person:
        """Give a person other roles or another password, or keep them out; their sessions end."""
        chosen = None if roles is None else _checked_roles(roles)
        secret = None if password is None else _hashed(password)
        if chosen is None and active is None and secret is None:
            raise InvalidInput(f"nothing to change about {name!r}; give roles, active or password")

        def write(rows: Rows) -> Person:
            everybody = {row.name: _person(row) for row in _rows(rows).listed()}
            if name not in everybody:
                raise InvalidInput(f"there is no person named {name!r}; add them first")
            before = everybody[name]
            after = Person(
                name,
                before.roles if chosen is None else chosen,
                before.active if active is None else active,
            )
            others = [person for person in everybody.values() if person.name != name]
            if not any(person.may("people") for person in (after, *others)):
                raise InvalidInput(
                    f"{name!r} is the last one who administers; give that role to another first"
                )
            values: dict[str, object] = {
                "roles": ",".join(_in_order(after.roles)),
                "active": after.active,
            }
            if secret is not None:
                values |= {"secret": secret, "failures": 0, "locked_until": ""}
            _rows(rows).change(name, **values)
            _rows(rows).end_sessions(name=name)
            return after

        action = "changed" if secret is None else "changed, with a new password"
        return self._changed(action, write, who, why)

    def _changed(
        self, action: str, write: Callable[[Rows], Person], who: str | None, why: str
    ) -> Person:
        """Change people and record it, both or neither."""
        by = self._book.person(who)
        self.require(by, "people")
        with self._book.writing() as page:
            person = write(page.rows)
            content = {
                "person": person.name,
                "action": action,
                "roles": _in_order(person.roles),
                "active": person.active,
            }
            page.append("person", by, why, content)
        return person

    def entitled(self, name: str, password: str) -> Person | None:
        """The active person with this name and password; None if there is none.

        A name that is not there takes as long as one that is. After several wrong passwords in a
        row nobody is let in by that name for a while, whatever the password.
        """
        listed = self._book.store.read(lambda rows: _rows(rows).listed())
        person = next((row for row in listed if row.name == name), None)
        now = self._book.clock()
        locked = person is not None and person.locked_until > _time(now)
        secret = person.secret if person and person.active and not locked else ""
        right = _matches(secret or _nobody(), password) and bool(secret)
        if person is None or locked or (right and not person.failures):
            return _person(person) if right and person else None
        failures = 0 if right else person.failures + 1
        wait = min(timedelta(minutes=2 ** max(0, failures - FAILURES)), LONGEST_WAIT)
        until = _time(now + wait) if failures >= FAILURES else ""
        with self._book.store.writing() as rows:
            _rows(rows).change(name, failures=failures, locked_until=until)
        return _person(person) if right else None

    def begin(self, name: str, *, hours: float = SESSION_HOURS) -> str:
        """A token for a session of a person who has been recognised."""
        token, now = secrets.token_urlsafe(32), self._book.clock()
        with self._book.store.writing() as rows:
            ends = {"expires": _time(now + timedelta(hours=hours)), "now": _time(now)}
            _rows(rows).open_session(_digest(token), name, **ends)
        return token

    def session(self, token: str) -> Person | None:
        """Whose session a token stands for; None if it has ended."""
        now = _time(self._book.clock())
        name = self._book.store.read(lambda rows: _rows(rows).session_of(_digest(token), now))
        person = None if name is None else self.get(name)
        return person if person is not None and person.active else None

    def end(self, token: str) -> None:
        """End a session."""
        with self._book.store.writing() as rows:
            _rows(rows).end_sessions(digest=_digest(token))


def _time(at: datetime) -> str:
    """A time whose text sorts as it does."""
    return at.astimezone(UTC).isoformat(timespec="seconds")


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _rows(rows: Rows) -> PeopleRows:
    from cellbounds.ledger.people_rows import PeopleRows  # loads the database's library

    return PeopleRows(rows)


def _person(row: StoredPerson) -> Person:
    return Person(row.name, frozenset(row.roles.split(",")) & OWNER_ROLES, bool(row.active))


def _stored(name: str, roles: frozenset[str], secret: str) -> StoredPerson:
    from cellbounds.ledger.people_rows import StoredPerson

    return StoredPerson(name, ",".join(_in_order(roles)), secret, True, 0, "")


def _in_order(roles: frozenset[str]) -> list[str]:
    return [role for role in ROLES if role in roles]


def _checked_name(name: object) -> str:
    if (
        not isinstance(name, str)
        or not 0 < len(name) <= LONGEST_NAME
        or not name.isprintable()
        or name != name.strip()
    ):
        raise InvalidInput(
            f"a person named {name!r}; give a name of 1 to {LONGEST_NAME} printable characters, "
            "with no space before or after it"
        )
    return name


def _checked_roles(roles: Iterable[str]) -> frozenset[str]:
    chosen = frozenset([roles] if isinstance(roles, str) else roles)
    if not chosen or not chosen <= OWNER_ROLES:
        raise InvalidInput(f"the roles {sorted(map(str, chosen))}; give some of {', '.join(ROLES)}")
    return chosen


@cache
def _hasher() -> PasswordHasher:
    hasher: PasswordHasher = library(
        "argon2", needed_for="passwords of people", extra="web"
    ).PasswordHasher()
    return hasher


@cache
def _nobody() -> str:
    """The hash of a password that nobody has: unknown names take as long as known ones."""
    return _hasher().hash(secrets.token_urlsafe(32))


def _hashed(password: object) -> str:
    if password is None:
        return ""
    # The password itself is never shown.
    if not isinstance(password, str) or not (
        SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD
    ):
        raise InvalidInput(
            f"a password of another length than {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} "
            "characters; choose another"
        )
    return _hasher().hash(password)


def _matches(secret: str, password: str) -> bool:
    from argon2.exceptions import InvalidHashError, VerificationError

    try:
        return len(password) <= LONGEST_PASSWORD and _hasher().verify(secret, password)
    except (VerificationError, InvalidHashError):
        return False
