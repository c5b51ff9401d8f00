"""The database of a ledger: its schema and triggers, reading it, and adding to it under a lock.

SQLite keeps a rollback journal and flushes it, the file and the folder before a commit returns; a
writer begins with ``BEGIN IMMEDIATE``, so that there is one at a time and readers go on. On
PostgreSQL a writer locks the row of its ledger's head. Both wait a stated time for each other.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    NullPool,
    column,
    create_engine,
    delete,
    event,
    exc,
    insert,
    inspect,
    select,
    table,
    text,
    update,
)

from cellbounds.errors import InvalidInput
from cellbounds.ledger.chain import ChainHead, StoredEntry
from cellbounds.ledger.errors import LedgerBusy, LedgerError, ReadOnly
from cellbounds.ledger.locations import Place
from cellbounds.ledger.migrations.versions.guards_0003 import POSTGRES, SQLITE
from cellbounds.runtime.files import library
from cellbounds.runtime.interrupts import UNSTOPPED

# A connection that is half closed keeps its lock.
UNSTOPPED.add(__file__)

T = TypeVar("T")

READABLE, GUARDED, PEOPLED = "0002", "0003", "0004"
HEAD = PEOPLED
"""The oldest schema that can be read as it is, the first with today's triggers and with people,
and the one that this version writes; they sort as they follow each other."""

ledgers = table("ledgers", column("name"), column("entries"), column("head"))
"""The head of each chain. Whoever commits holds its row locked."""

entries = table("entries", *map(column, ("ledger", "number", "body", "hash")))
"""The chain. Triggers refuse to change, replace or remove what is in it."""

kept_tables = table("kept_tables", column("ledger"), column("digest"), column("body"))
"""Confidential tables, where their owner asked to keep them here."""

people = table(
    "people",
    *map(column, ("ledger", "name", "roles", "secret", "active", "failures", "locked_until")),
)
"""Who may use a ledger, with hashes of passwords and how often one was wrong in a row."""

sessions = table("sessions", *map(column, ("ledger", "digest", "name", "expires")))
"""Digests of the tokens by which people are known until a time."""

waiting = table("waiting", *map(column, ("ledger", "number", "figures", "judged", "mark")))
"""Of requests that wait: the figures that came with them, and how they were last judged."""

VERSION_TABLE = "ledger_schema"
"""Where Alembic keeps the revision; a name of its own, as a team's database has other tenants."""


def revision_of(connection: Connection) -> str | None:
    """The revision of the schema in a database; None if it holds no ledger."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    revision = connection.execute(
        text(f"SELECT version_num FROM {VERSION_TABLE}")
    ).scalar_one_or_none()
    return None if revision is None else str(revision)


def migrate(connection: Connection, shown: str, to: str = HEAD) -> None:
    """Run the migrations that are missing, inside the transaction that is open.

    Raises
    ------
    LedgerError
        If the schema is not one that this version knows.
    """
    from alembic.config import Config
    from alembic.runtime.environment import EnvironmentContext
    from alembic.script import ScriptDirectory

    present = revision_of(connection)
    if present == to:
        return
    config = Config()
    folder = resources.files("cellbounds.ledger") / "migrations"
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    script = ScriptDirectory.from_config(config)
    known = {step.revision for step in script.walk_revisions()}
    if present is not None and present not in known:
        raise LedgerError(
            f"the ledger {shown} has the schema {present}, which this version does not know (it "
            f"knows {', '.join(sorted(known))}); install a newer version of cellbounds. Nothing "
            "was written"
        )

    def steps(revision: Any, _: Any) -> Any:
        return script._upgrade_revs(to, revision)  # as in Alembic's own documentation

    with EnvironmentContext(config, script, fn=steps, destination_rev=to) as environment:
        environment.configure(connection=connection, version_table=VERSION_TABLE)
        with environment.begin_transaction():
            environment.run_migrations()


EVENTS = 2 | 8 | 16 | 32
"""PostgreSQL's number for a trigger that comes before each UPDATE, DELETE and TRUNCATE."""

_TRIGGERS_OF_SQLITE = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"

_TRIGGERS_OF_POSTGRES = """
SELECT t.tgname,
       t.tgenabled = 'A' AND t.tgtype = :events AND t.tgqual IS NULL AND t.tgattr = ''
       AND p.prosrc = :body AND l.lanname = 'plpgsql' AND p.proconfig IS NULL
FROM pg_trigger t
JOIN pg_proc p ON p.oid = t.tgfoid
JOIN pg_language l ON l.oid = p.prolang
WHERE t.tgrelid = to_regclass('entries') AND NOT t.tgisinternal
"""

_RULES_OF_POSTGRES = "SELECT rulename FROM pg_rewrite WHERE ev_class = to_regclass('entries')"


def guards_fault(connection: Connection) -> str:
    """What is wrong with the triggers that keep entries as they are; empty if nothing is."""
    if connection.dialect.name == "sqlite":
        # The triggers of every table of the file: no other is needed there.
        triggers = connection.execute(text(_TRIGGERS_OF_SQLITE))
        intact = {str(name): sql == SQLITE.get(name) for name, sql in triggers}
        expected = set(SQLITE)
    else:
        name, body = POSTGRES
        query = text(_TRIGGERS_OF_POSTGRES)
        values = {"events": EVENTS, "body": body}
        intact = {trigger: bool(right) for trigger, right in connection.execute(query, values)}
        intact |= {rule: False for (rule,) in connection.execute(text(_RULES_OF_POSTGRES))}
        expected = {name}
    for name in sorted(expected | set(intact)):
        if name not in intact:
            return f"the trigger {name!r} was dropped"
        if not intact[name]:
            was = "altered or put out of force" if name in expected else "added by somebody else"
            return f"the trigger or rule {name!r} was {was}"
    return ""


_CAUSES = {
    "READONLY": "is read-only; give yourself the right to write to the file and its folder",
    "PERM": "may not be opened; give yourself the right to read it",
    "AUTH": "may not be opened; give yourself the right to read it",
    "FULL": "has no room left on its disk; make room, and try again",
    "IOERR": "cannot be read or written (no room left, or a broken disk); make room or look at the "
    "disk, and try again",
    "CANTOPEN": "cannot be opened; check that the file and its folder are there and yours to use, "
    "and that the disk has room",
    "NOTADB": "is not a ledger, nor any SQLite database; check the name",
    "25006": "is read-only; connect to the primary server",
    "42501": "does not let this user read or write; ask for the right to use its tables",
    "53100": "has no room left on its disk; make room, and try again",
    "53300": "has no connection free; try again later",
    "3D000": "has no such database; create it, or correct the URL",
    "28P01": "does not accept this user or password; correct the URL",
    "28000": "does not accept this user or password; correct the URL",
    "3F000": "has no schema to put tables in; ask for one",
    "57P01": "was shut down; try again later",
    "57P03": "is starting up or shutting down; try again later",
}
"""What SQLite's kinds of errors, and PostgreSQL's states, mean."""

_READ_ONLY = {"READONLY", "25006", "42501"}
"""What both say to somebody who may read and not write."""

_BUSY = {"BUSY", "LOCKED", "55P03", "40P01", "40001"}


@contextmanager
def explained(place: Place) -> Iterator[None]:
    """Turn the database's errors into ours, without the statement and its values."""
    try:
        yield
    except (exc.DBAPIError, sqlite3.Error) as problem:
        raise _explained(problem, place) from None
    except exc.SQLAlchemyError as problem:
        # Its text may hold the URL with the password: only its kind is shown.
        raise LedgerError(
            f"the ledger {place.shown} cannot be used ({type(problem).__name__}); check the URL"
        ) from None


def _explained(problem: exc.DBAPIError | sqlite3.Error, place: Place) -> LedgerError:
    origin = problem.orig if isinstance(problem, exc.DBAPIError) else problem
    if isinstance(origin, sqlite3.Error):
        name = getattr(origin, "sqlite_errorname", None) or ""
        code = name.removeprefix("SQLITE_").partition("_")[0]
        what = f"the ledger {place.shown}"
        unknown = f"cannot be used ({name or type(origin).__name__})"
    else:
        code = getattr(origin, "sqlstate", None) or "08"  # no state: there was no server
        what = f"the server of the ledger {place.shown}"
        unknown = f"reports the error {code}; look at the server's log"
    if code in _BUSY:
        return LedgerBusy(
            f"the ledger {place.shown} is locked: somebody else is committing. Nothing was "
            "written; try again, or wait longer (wait=, --wait)"
        )
    if code == "CORRUPT":
        return damaged(place)
    if code.startswith("08"):
        return LedgerError(
            f"{what} does not answer or broke off; if it broke off while committing, look at the "
            "history before you try again"
        )
    kind = ReadOnly if code in _READ_ONLY else LedgerError
    return kind(f"{what} {_CAUSES.get(code, unknown)}. Nothing was written")


def damaged(place: Place) -> LedgerError:
    """A file whose content is no longer what SQLite wrote."""
    return LedgerError(
        f"the ledger {place.shown} is damaged; restore it from a copy. Nothing was written"
    )


CONNECT_SECONDS = 10


class WaitingRequest(NamedTuple):
    """What is noted of a request until it is decided, as JSON texts; the state it was judged in."""

    figures: str
    judged: str
    mark: str


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of one ledger, in a transaction that is open."""

    connection: Connection
    place: Place

    def head(self) -> ChainHead | None:
        """The head of the chain; None if there is no ledger of that name."""
        query = select(ledgers.c.entries, ledgers.c.head).where(ledgers.c.name == self.place.name)
        head = self.connection.execute(query).one_or_none()
        return None if head is None else ChainHead(*head)

    def chain(self) -> tuple[list[StoredEntry], ChainHead]:
        """All entries and the head, as they stood at one moment."""
        head = self.head()
        if head is None:
            raise _absent(self.place)
        query = select(entries.c.number, entries.c.body, entries.c.hash)
        query = query.where(entries.c.ledger == self.place.name).order_by(entries.c.number)
        return [StoredEntry(*row) for row in self.connection.execute(query)], head

    def kept(self, digest: str) -> str | None:
        """A confidential table that is kept here, as JSON text."""
        chosen = kept_tables.c.ledger == self.place.name, kept_tables.c.digest == digest
        query = select(kept_tables.c.body).where(*chosen)
        body: str | None = self.connection.execute(query).scalar()
        return body

    def guards(self) -> str:
        """What is wrong with the triggers that keep entries as they are; empty if nothing is.

        A file of the schema before, which may not be written, has the triggers that it has.
        """
        revision = revision_of(self.connection)
        return guards_fault(self.connection) if revision and revision >= GUARDED else ""

    def append(self, row: StoredEntry) -> None:
        """Add an entry and move the head."""
        values = {"ledger": self.place.name, **asdict(row)}
        self.connection.execute(insert(entries).values(values))
        moved = update(ledgers).where(ledgers.c.name == self.place.name)
        self.connection.execute(moved.values(entries=row.number, head=row.hash))

    def keep(self, digest: str, body: str) -> None:
        """Keep a confidential table, once."""
        if self.kept(digest) is None:
            row = {"ledger": self.place.name, "digest": digest, "body": body}
            self.connection.execute(insert(kept_tables).values(row))

    def wait(self, request: int, figures: str) -> None:
        """Note that a request waits, with the figures that came with it."""
        row = {"ledger": self.place.name, "number": request, "figures": figures}
        self.connection.execute(insert(waiting).values(**row, judged="", mark=""))

    def waiting(self) -> dict[int, WaitingRequest]:
        """What is noted of requests that wait, by their numbers."""
        query = select(*(waiting.c[name] for name in ("number", *WaitingRequest._fields)))
        rows = self.connection.execute(query.where(waiting.c.ledger == self.place.name))
        return {number: WaitingRequest(*values) for number, *values in rows}

    def note(self, request: int, judged: str, mark: str) -> None:
        """Note how a request that waits was judged, and in which state of the ledger."""
        noted = update(waiting).where(*self._waits(request)).values(judged=judged, mark=mark)
        self.connection.execute(noted)

    def forget(self, request: int) -> None:
        """Remove what is noted of a request: it was decided."""
        self.connection.execute(delete(waiting).where(*self._waits(request)))

    def _waits(self, request: int) -> tuple[ColumnElement[bool], ...]:
        return waiting.c.ledger == self.place.name, waiting.c.number == request


@dataclass(frozen=True, slots=True)
class Store:
    """Where the rows of a ledger are, and the seconds to wait for somebody else's commit."""

    place: Place
    wait: float

    def prepare(self) -> None:
        """Check that a ledger is there, and bring an older schema up to date.

        Raises
        ------
        LedgerError
            If there is none, or a newer version wrote it.
        """
        if self.place.file is not None and not self.place.file.exists():
            raise _absent(self.place)
        with self.connected() as connection:
            revision = revision_of(connection)
        if revision is None:
            raise _absent(self.place)
        if revision != HEAD:
            try:
                with self.connected(writing=True) as connection:
                    migrate(connection, self.place.shown)
            except ReadOnly:
                if revision < READABLE:
                    raise
        if self.read(Rows.head) is None:
            raise _absent(self.place)

    def read(self, question: Callable[[Rows], T]) -> T:
        """What the rows say, as they stand at one moment; nobody waits while it is thought over."""
        with self.connected() as connection:
            return question(Rows(connection, self.place))

    @contextmanager
    def creating(self) -> Iterator[Rows]:
        """The rows of a new ledger; the database is made, or brought up to date, as needed."""
        if self.place.file is not None and not self.place.file.parent.is_dir():
            raise InvalidInput(
                f"the ledger {self.place.shown}: its folder is not there; create it first"
            )
        is_new = self.place.file is not None and _make_private(self.place, self.place.file)
        identity, done = self._identity(), False
        try:
            with self.connected(writing=True, new=True) as connection:
                self._check_identity(identity)
                migrate(connection, self.place.shown)
                rows = Rows(connection, self.place)
                if rows.head() is not None:
                    raise LedgerError(
                        f"there is a ledger already at {self.place.shown}; choose another place "
                        "(or ?ledger=NAME in a URL)"
                    )
                row = {"name": self.place.name, "entries": 0, "head": ""}
                connection.execute(insert(ledgers).values(row))
                yield rows
            self._check_identity(identity)
            done = True
        finally:
            if is_new and not done:
                self._remove_empty()

    def _remove_empty(self) -> None:
        """Remove the file that was made for a ledger, unless somebody else uses it by now.

        It is removed under the lock, and whoever gets the lock afterwards looks whether the file
        is still the one that they opened.
        """
        file = self.place.file
        assert file is not None  # only files are made
        try:
            with self.connected(writing=True):
                _unlink_empty(file)
        except LedgerBusy:
            return  # it is somebody else's now
        except LedgerError:  # on a full disk there is no room for a lock either
            _unlink_empty(file)

    def _identity(self) -> tuple[int, int] | None:
        """Which file it is that has this name, if one has."""
        with suppress(OSError):
            if self.place.file is not None:
                status = self.place.file.stat()
                return status.st_dev, status.st_ino
        return None

    def _check_identity(self, expected: tuple[int, int] | None) -> None:
        if self._identity() != expected:
            raise LedgerError(
                f"the file {self.place.shown} was removed meanwhile, perhaps by somebody who could "
                "not make a ledger in it; try again. Nothing was written"
            )

    @contextmanager
    def writing(self) -> Iterator[Rows]:
        """The rows, which nobody else changes; what is written is there whole or not at all."""
        with self.connected(writing=True) as connection:
            if revision_of(connection) != HEAD:
                raise LedgerError(
                    f"the schema of the ledger {self.place.shown} was changed meanwhile; open the "
                    "ledger again. Nothing was written"
                )
            yield Rows(connection, self.place)

    @contextmanager
    def connected(self, *, writing: bool = False, new: bool = False) -> Iterator[Connection]:
        """A transaction: of a reader, or of a writer that nobody comes before."""
        with explained(self.place), _engine(self.place, self.wait).connect() as opened:
            how: dict[str, Any] = {"ledger_writes": writing}
            if self.place.file is None:
                # A writer sees what was committed while it waited; a reader sees one moment.
                how["isolation_level"] = "READ COMMITTED" if writing else "REPEATABLE READ"
            connection = opened.execution_options(**how)
            with connection.begin():
                if writing and self.place.file is None:
                    self._lock(connection, new)
                yield connection

    def _lock(self, connection: Connection, new: bool) -> None:
        """PostgreSQL: hold this ledger's head, or everything while its tables may be made."""
        milliseconds = max(1, int(self.wait * 1000))
        connection.execute(text(f"SET LOCAL lock_timeout = {milliseconds}"))
        connection.execute(text("SET LOCAL synchronous_commit = on"))
        if new or revision_of(connection) != HEAD:
            connection.execute(text("SELECT pg_advisory_xact_lock(hashtext('cellbounds-ledger'))"))
            return
        query = select(ledgers.c.name).where(ledgers.c.name == self.place.name).with_for_update()
        connection.execute(query)


@cache
def _engine(place: Place, wait: float) -> Engine:
    """How to connect. Nothing stays open between uses, so that processes may be forked."""
    if place.url is not None:
        library("psycopg", needed_for="ledgers on PostgreSQL", extra="postgres")
        return create_engine(
            place.url,
            poolclass=NullPool,
            hide_parameters=True,
            use_native_hstore=False,
            connect_args={"connect_timeout": CONNECT_SECONDS},
        )
    assert place.file is not None  # a place is a file or a URL
    address = f"{place.file.as_uri()}?mode=rw"  # never makes a file by itself

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(address, uri=True, timeout=wait, isolation_level=None)
        try:
            connection.execute("PRAGMA synchronous = EXTRA")
        except UnicodeDecodeError:  # from a damaged schema, whose text is in SQLite's message
            connection.close()
            raise damaged(place) from None
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    engine = create_engine("sqlite://", creator=connect, poolclass=NullPool, hide_parameters=True)
    event.listen(engine, "begin", _begin)
    return engine


def _make_private(place: Place, file: Path) -> bool:
    """Make an empty file that only its maker can read, until they give others the right.

    False if there is a file.
    """
    try:
        file.touch(mode=0o600, exist_ok=False)
        return True
    except FileExistsError:
        return False
    except OSError as problem:
        raise LedgerError(
            f"the ledger {place.shown} cannot be made: {problem.strerror}; check its folder"
        ) from None


def _unlink_empty(file: Path) -> None:
    with suppress(OSError):
        if file.stat().st_size == 0:
            file.unlink()


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("ledger_writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _absent(place: Place) -> LedgerError:
    return LedgerError(
        f"there is no ledger at {place.shown}; check the name, or make one (`cellbounds ledger "
        "init`, Ledger.create)"
    )
