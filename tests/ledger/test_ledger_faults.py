"""Faults: locks, damage, other schemas, servers that go away. Nothing is lost.

Killed processes, races and full disks are in tests/reliability.
"""

from __future__ import annotations

import contextlib
import os
import random
import sqlite3
import tempfile
from pathlib import Path

import pytest
from databases import raw, unprivileged

import cellbounds as cb
from cellbounds.ledger import BrokenChain, Ledger, LedgerBusy, LedgerError
from cellbounds.ledger.database import VERSION_TABLE, Store, migrate
from cellbounds.ledger.locations import Place
from strategies import LONG

TABLE = cb.Table(
    cb.Domain({"county": ["Alpha", "Beta"], "education": ["Low", "High"]}), [[1, 9], [20, 30]]
)
RATES, ROWS = "[education|county]@1", "[county]"


@pytest.fixture
def ledger(own_place):
    made = Ledger.create(own_place, TABLE, who="ann", wait=0.2)
    made.commit(RATES, table=TABLE, who="ann", why="x")
    return made


def without_triggers(connection, ledger):
    if ledger.book.place.file is not None:
        for what in ("update", "delete", "replace"):
            connection.execute(f"DROP TRIGGER entries_no_{what}")
    else:
        connection.execute("DROP TRIGGER entries_no_change ON entries")


def test_the_database_refuses_to_change_or_remove_entries(ledger):
    with raw(ledger) as connection:
        for statement in ("UPDATE entries SET body = ''", "DELETE FROM entries"):
            with pytest.raises(Exception, match="never changed or removed"):
                connection.execute(statement)
    assert ledger.verify().intact


HARM = {
    "edited": ("UPDATE entries SET body = replace(body, 'ann', 'bob') WHERE number = 2", 2),
    "removed": ("DELETE FROM entries WHERE number = 1", 1),
    "cut off": ("DELETE FROM entries WHERE number = 2", 2),
    "renumbered": ("UPDATE entries SET number = 7 WHERE number = 2", 2),
    "other head": ("UPDATE ledgers SET head = 'abc'", 2),
}


@pytest.mark.parametrize("harm", HARM)
def test_a_row_that_was_touched_stops_everything_and_is_named(ledger, harm):
    statement, number = HARM[harm]
    with raw(ledger) as connection:
        without_triggers(connection, ledger)
        connection.execute(statement)
    again = Ledger.open(address_of(ledger))
    for act in (
        again.history,
        lambda: again.ask(ROWS, table=TABLE),
        lambda: again.commit(ROWS, table=TABLE, why="x"),
        lambda: again.export(public=True),
    ):
        with pytest.raises(BrokenChain, match="chain of hashes is broken") as broken:
            act()
        assert broken.value.number == number
    found = again.verify()
    assert not found.intact
    assert found.broken == number


def address_of(ledger):
    place = ledger.book.place
    return place.url if place.file is None else str(place.file)


def test_a_kept_table_that_was_touched_is_noticed(own_place):
    ledger = Ledger.create(own_place, TABLE, keep_table=True, who="ann")
    with raw(ledger) as connection:
        connection.execute("UPDATE kept_tables SET body = replace(body, '[1,9,', '[2,9,')")
    with pytest.raises(LedgerError, match="kept in the ledger was changed"):
        ledger.ask(RATES)
    assert ledger.verify().broken == 1
    assert ledger.ask(RATES, table=TABLE).safe


def test_a_locked_ledger_says_so_and_can_be_read(ledger):
    with raw(ledger) as connection:
        if ledger.book.place.file is not None:
            connection.execute("BEGIN IMMEDIATE")
        else:
            connection.execute("BEGIN")
            connection.execute("SELECT * FROM ledgers FOR UPDATE")
        with pytest.raises(LedgerBusy, match=r"somebody else is committing\. Nothing was written"):
            ledger.commit("[education]", table=TABLE, why="x")
        assert len(ledger.history()) == 2
        assert not ledger.ask(ROWS, table=TABLE).safe
        connection.execute("ROLLBACK")
    assert ledger.commit("[education]", table=TABLE, why="x").number == 3


def test_a_read_only_file_can_be_read_and_says_so():
    with tempfile.TemporaryDirectory() as folder:  # one that nobody can get to, too
        file = Path(folder) / "l.ledger"
        ledger = Ledger.create(file, TABLE, who="ann")
        file.chmod(0o444)
        Path(folder).chmod(0o555)
        policy = cb.policies.read("small-counts")  # nobody may not even read our own files
        with unprivileged():
            assert len(ledger.history()) == 1
            assert ledger.ask(RATES, table=TABLE).safe
            with pytest.raises(LedgerError, match="is read-only"):
                ledger.commit(RATES, table=TABLE, who="ann", why="x")
            with pytest.raises(LedgerError, match="cannot be made"):
                Ledger.create(file.parent / "new.ledger", TABLE, policy, who="ann")
        assert ledger.verify().intact
        Path(folder).chmod(0o755)


def test_a_new_file_is_its_makers_own(tmp_path):
    Ledger.create(tmp_path / "l.ledger", TABLE, keep_table=True, who="ann")
    assert (tmp_path / "l.ledger").stat().st_mode & 0o077 == 0


def test_an_empty_file_becomes_a_ledger(tmp_path):
    (tmp_path / "empty").touch()  # as a creation that was killed at once leaves it
    assert Ledger.create(tmp_path / "empty", TABLE, who="ann").verify().intact


def test_a_read_only_server_says_so(server):
    ledger = Ledger.create(server.url(), TABLE, who="ann")
    with raw(ledger) as connection:
        name = connection.info.dbname
        connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    assert len(ledger.history()) == 1
    with pytest.raises(LedgerError, match="is read-only"):
        ledger.commit(RATES, table=TABLE, who="ann", why="x")


@pytest.mark.parametrize(
    ("state", "says"),
    [("53100", "no room left"), ("42501", "ask for the right"), ("XX000", "XX000")],
)
def test_errors_of_the_server_are_explained(server, state, says):
    ledger = Ledger.create(server.url(), TABLE, who="ann")
    with raw(ledger) as connection:
        connection.execute(
            "CREATE FUNCTION fails() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN RAISE EXCEPTION 'a secret' USING ERRCODE = '{state}'; END $$"
        )
        connection.execute("CREATE TRIGGER fails BEFORE INSERT ON entries EXECUTE FUNCTION fails()")
    with pytest.raises(LedgerError, match=says) as problem:
        ledger.commit(RATES, table=TABLE, who="ann", why="x")
    assert "secret" not in str(problem.value)
    assert len(ledger.history()) == 1


def test_a_server_that_goes_away_says_so(server):
    ledger = Ledger.create(server.url(), TABLE, who="ann")
    server.stop()
    try:
        with pytest.raises(LedgerError, match="does not answer") as problem:
            ledger.history()
        assert "secret" not in str(problem.value)
    finally:
        server.start()
    assert ledger.commit(RATES, table=TABLE, who="ann", why="x").number == 2


def test_a_connection_that_is_cut_in_the_middle_writes_nothing(server):
    ledger = Ledger.create(server.url(), TABLE, who="ann")
    with pytest.raises(LedgerError, match=r"shut down|broke off"), ledger.book.writing() as page:
        page.append("asked", "ann", "x", {})
        with raw(ledger) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
    assert len(ledger.history()) == 1


@pytest.mark.parametrize("content", [b"", b"county,count\nAlpha,3\n" * 100, os.urandom(5000)])
def test_what_is_no_ledger_is_left_as_it_is(tmp_path, content):
    file = tmp_path / "other.csv"
    file.write_bytes(content)
    with pytest.raises(LedgerError, match=r"no ledger at|not a ledger"):
        Ledger.open(file)
    if content:
        with pytest.raises(LedgerError, match="not a ledger"):
            Ledger.create(file, TABLE, who="ann")
    assert file.read_bytes() == content


def test_places_that_are_not_there(tmp_path, server):
    with pytest.raises(LedgerError, match="no ledger at"):
        Ledger.open(tmp_path / "none.ledger")
    assert not (tmp_path / "none.ledger").exists()
    with pytest.raises(cb.InvalidInput, match="folder is not there"):
        Ledger.create(tmp_path / "no" / "where.ledger", TABLE, who="ann")
    with pytest.raises(LedgerError):
        Ledger.open(tmp_path)
    with pytest.raises(LedgerError, match="no ledger at"):
        Ledger.open(server.url())
    wrong = server.url().replace("/t", "/x", 1)
    with pytest.raises(LedgerError, match=r"no such database|does not answer") as problem:
        Ledger.open(wrong)
    assert "secret" not in str(problem.value)


def test_another_database_is_no_ledger(tmp_path):
    file = tmp_path / "other.db"
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE entries_of_a_cookbook (a)")
    with pytest.raises(LedgerError, match="no ledger at"):
        Ledger.open(file)


def test_damage_anywhere_in_the_file_is_noticed_or_harmless(tmp_path):
    file = tmp_path / "l.ledger"
    ledger = Ledger.create(file, TABLE, keep_table=True, who="ann")
    ledger.commit(RATES, why="x" * 5000)
    good, whole = ledger.history(), file.read_bytes()
    chance, noticed = random.Random(3), 0
    for _ in range(1000 if LONG else 60):
        broken = bytearray(whole)
        for _ in range(chance.choice([1, 40])):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        file.write_bytes(broken)
        try:
            assert Ledger.open(file).history() == good
        except LedgerError:
            noticed += 1
    assert noticed > 10
    file.write_bytes(whole)
    assert ledger.verify().intact


# Schemas.


def old_schema(place):
    """A ledger as the first version wrote it."""
    ledger = Ledger.create(place, TABLE, who="ann")
    ledger.commit(RATES, table=TABLE, who="ann", why="x")
    with raw(ledger) as connection:
        for later in ("kept_tables", "people", "sessions", "waiting"):
            connection.execute(f"DROP TABLE {later}")
        if ledger.book.place.file is not None:
            connection.execute("DROP TRIGGER entries_no_replace")
        else:
            connection.execute("ALTER TABLE entries ENABLE TRIGGER entries_no_change")
        connection.execute(f"UPDATE {VERSION_TABLE} SET version_num = '0001'")
    return ledger


def test_an_old_schema_is_migrated_and_nothing_is_lost(own_place):
    old = old_schema(own_place)
    before = old.history()
    with pytest.raises(LedgerError, match="open the ledger again"):
        old.commit("[education]", table=TABLE, why="x")
    again = Ledger.open(own_place)
    assert again.history() == before
    assert again.commit("[education]", table=TABLE, why="y").number == 3
    assert again.verify().intact


def test_the_first_schema_is_the_one_that_was_simulated(own_place):
    store = Store(Place.of(own_place), 5)
    if store.place.file is not None:
        store.place.file.touch()
    with store.connected(writing=True, new=True) as connection:
        migrate(connection, "here", "0001")
    with pytest.raises(LedgerError, match="no ledger"):
        Ledger.open(own_place)  # migrated, but there is no ledger in it
    assert Ledger.create(own_place, TABLE, keep_table=True, who="ann").verify().intact


def test_a_newer_schema_is_refused_and_left_alone(own_place):
    ledger = Ledger.create(own_place, TABLE, who="ann")
    with raw(ledger) as connection:
        connection.execute(f"UPDATE {VERSION_TABLE} SET version_num = '9999'")
    for act in (lambda: Ledger.open(own_place), lambda: Ledger.create(own_place, TABLE, who="a")):
        with pytest.raises(LedgerError, match="schema 9999"):
            act()
    with raw(ledger) as connection:
        found = connection.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchall()
    assert found == [("9999",)]


@pytest.mark.parametrize(
    "where",
    [
        "",
        "mysql://ann:secret@host/db",
        "postgresql://ann:secret@host:port/db",
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///x.db?mode=memory",
        "postgresql://ann:secret@host/db?ledger=%20",
        7,
    ],
)
def test_places_that_cannot_be_read_are_refused_without_the_password(where):
    with pytest.raises(cb.InvalidInput) as problem:
        Place.of(where)
    assert "secret" not in str(problem.value)


def test_a_server_without_a_host_keeps_its_slashes():
    """As in postgresql:///team?host=/run/postgresql: a socket in a folder of this machine."""
    place = Place.of("postgresql:///team?host=/run/pg&ledger=census")
    assert place.url == "postgresql+psycopg:///team?host=%2Frun%2Fpg"
    assert place.shown == "postgresql:///run/pg/team (census)"


def test_a_password_is_never_shown():
    place = Place.of("postgresql://ann:secret@db:5433/team?ledger=census&password=secret")
    assert "secret" not in place.shown
    assert place.shown == "postgresql://ann@db:5433/team (census)"
    assert "secret" in place.url
    assert "secret" not in repr(place)


@pytest.mark.parametrize("wait", [-1, "long", True])
def test_waiting_is_a_number_of_seconds(tmp_path, wait):
    with pytest.raises(cb.InvalidInput, match="wait="):
        Ledger.create(tmp_path / "l", TABLE, wait=wait)
