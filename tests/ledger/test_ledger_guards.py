"""What the database itself refuses, whether that is still in force, and ledgers of before."""

from __future__ import annotations

import contextlib
import sqlite3
import tempfile
from pathlib import Path

import pytest
from databases import raw, unprivileged

import cellbounds as cb
from cellbounds.ledger import Ledger
from cellbounds.ledger.database import Store, migrate
from cellbounds.ledger.locations import Place

TABLE = cb.Table(
    cb.Domain({"county": ["Alpha", "Beta"], "education": ["Low", "High"]}), [[1, 9], [20, 30]]
)
RATES = "[education|county]@1"

OLD = Path(__file__).with_name("ledger-0002.sql")
"""A ledger of every kind of entry, as it was written before entries could not be replaced."""

OLD_HEAD = "9dc6e9b5cdd8ca3dd9ac74f1fbac0445a4819269e3b8cbb16084355d509a572f"


@pytest.fixture
def ledger(own_place):
    made = Ledger.create(own_place, TABLE, who="ann", wait=0.2)
    made.commit(RATES, table=TABLE, who="ann", why="x")
    return made


def is_file(ledger):
    return ledger.book.place.file is not None


VALUES = "(ledger, number, body, hash) VALUES ('main', 2, 'other', 'other')"
REPLACED = {
    "sqlite": [
        f"INSERT OR REPLACE INTO entries {VALUES}",
        f"REPLACE INTO entries {VALUES}",
        "INSERT OR REPLACE INTO entries (rowid, ledger, number, body, hash) "
        "SELECT rowid, 'main', 99, 'other', 'other' FROM entries WHERE number = 2",
        "UPDATE OR REPLACE entries SET number = 1 WHERE number = 2",
        f"INSERT INTO entries {VALUES} ON CONFLICT (ledger, number) DO UPDATE SET body = 'x'",
    ],
    "postgres": [
        f"INSERT INTO entries {VALUES} ON CONFLICT (ledger, number) DO UPDATE SET body = 'x'",
        "TRUNCATE entries",
        "TRUNCATE ledgers, entries CASCADE",
        "MERGE INTO entries e USING (VALUES (2)) v (n) ON e.number = v.n WHEN MATCHED THEN DELETE",
        "WITH gone AS (DELETE FROM entries RETURNING number) SELECT * FROM gone",
    ],
}


def test_entries_cannot_be_replaced_in_any_way(ledger):
    before = ledger.history()
    with raw(ledger) as connection:
        for statement in REPLACED["sqlite" if is_file(ledger) else "postgres"]:
            with pytest.raises(Exception, match="never changed or removed"):
                connection.execute(statement)
    assert ledger.history() == before
    assert ledger.verify().intact


def test_an_ordinary_trigger_would_sleep_where_this_one_does_not(server):
    ledger = Ledger.create(server.url(), TABLE, who="ann")
    with raw(ledger) as connection:
        connection.execute("SET session_replication_role = replica")
        with pytest.raises(Exception, match="never changed or removed"):
            connection.execute("DELETE FROM entries")
    assert ledger.verify().intact


def test_entries_of_one_ledger_do_not_stand_in_the_way_of_anothers(tmp_path):
    places = [f"sqlite:///{tmp_path / 'two.ledger'}?ledger={name}" for name in "ab"]
    for place in places:
        Ledger.create(place, TABLE, who="ann")
    for place in places:
        assert Ledger.open(place).commit(RATES, table=TABLE, who="ann", why="x").number == 2


EMPTY = "AS $$ BEGIN RETURN NULL; END $$"
WEAKENED = {
    "sqlite": {
        "update dropped": ["DROP TRIGGER entries_no_update"],
        "delete dropped": ["DROP TRIGGER entries_no_delete"],
        "replace dropped": ["DROP TRIGGER entries_no_replace"],
        "altered": [
            "DROP TRIGGER entries_no_update",
            "CREATE TRIGGER entries_no_update BEFORE UPDATE ON entries WHEN 1 = 2 "
            "BEGIN SELECT RAISE(ABORT, 'entries of a ledger are never changed or removed'); END",
        ],
        "added": [
            "CREATE TRIGGER other AFTER INSERT ON entries BEGIN DELETE FROM kept_tables; END"
        ],
    },
    "postgres": {
        "dropped": ["DROP TRIGGER entries_no_change ON entries"],
        "disabled": ["ALTER TABLE entries DISABLE TRIGGER entries_no_change"],
        "all disabled": ["ALTER TABLE entries DISABLE TRIGGER ALL"],
        "only for sessions": ["ALTER TABLE entries ENABLE TRIGGER entries_no_change"],
        "only for copies": ["ALTER TABLE entries ENABLE REPLICA TRIGGER entries_no_change"],
        "other function": [
            f"CREATE OR REPLACE FUNCTION entries_append_only() RETURNS trigger LANGUAGE plpgsql "
            f"{EMPTY}"
        ],
        "for less": [
            "DROP TRIGGER entries_no_change ON entries",
            "CREATE TRIGGER entries_no_change BEFORE UPDATE OR TRUNCATE ON entries "
            "FOR EACH STATEMENT EXECUTE FUNCTION entries_append_only()",
            "ALTER TABLE entries ENABLE ALWAYS TRIGGER entries_no_change",
        ],
        "for one column": [
            "DROP TRIGGER entries_no_change ON entries",
            "CREATE TRIGGER entries_no_change BEFORE UPDATE OF hash OR DELETE OR TRUNCATE "
            "ON entries FOR EACH STATEMENT EXECUTE FUNCTION entries_append_only()",
            "ALTER TABLE entries ENABLE ALWAYS TRIGGER entries_no_change",
        ],
        "rule": ["CREATE RULE quiet AS ON DELETE TO entries DO INSTEAD NOTHING"],
        "added": [
            f"CREATE FUNCTION other() RETURNS trigger LANGUAGE plpgsql {EMPTY}",
            "CREATE TRIGGER other BEFORE INSERT ON entries EXECUTE FUNCTION other()",
        ],
    },
}


@pytest.mark.parametrize(
    ("kind", "how"), [(kind, how) for kind, ways in WEAKENED.items() for how in ways]
)
def test_triggers_that_were_dropped_altered_or_disabled_are_noticed(kind, how, tmp_path, request):
    place = tmp_path / "l.ledger" if kind == "sqlite" else request.getfixturevalue("server").url()
    ledger = Ledger.create(place, TABLE, who="ann")
    head = ledger.verify().head
    with raw(ledger) as connection:
        for statement in WEAKENED[kind][how]:
            connection.execute(statement)
    for found in (ledger.verify(), ledger.verify(head=head)):
        assert not found.intact
        assert "every link of 1 entry holds, but" in found.problem
        assert "trigger" in found.problem
        assert found.broken is None


def test_the_command_says_so_by_its_status(run, tmp_path):
    ledger = Ledger.create(tmp_path / "l.ledger", TABLE, who="ann")
    with raw(ledger) as connection:
        connection.execute("DROP TRIGGER entries_no_delete")
    code, out, _ = run("ledger", "verify", tmp_path / "l.ledger")
    assert code == 1
    assert "'entries_no_delete' was dropped" in out


# Ledgers of before.


def old_ledger(place):
    """The old ledger in a file, or on a server."""
    script = OLD.read_text("utf-8")
    if "://" not in place:
        with contextlib.closing(sqlite3.connect(place)) as connection:
            connection.executescript(script)
        return
    store = Store(Place.of(place), 5)
    with store.connected(writing=True, new=True) as connection:
        migrate(connection, "here", "0002")
        for line in script.splitlines():
            if line.startswith("INSERT") and "ledger_schema" not in line:
                connection.exec_driver_sql(line.rstrip(";").replace("%", "%%"))


def test_a_ledger_of_before_is_read_verified_and_continued(own_place):
    old_ledger(own_place)
    ledger = Ledger.open(own_place)
    entries = ledger.history()
    assert [one.kind for one in entries] == [
        *("opened", "released", "asked", "released", "refused", "policy", "grown"),
        *("released", "released", "refined", "released"),
    ]
    assert ledger.verify(head=OLD_HEAD, entries=11).intact
    assert ledger.state().versions == 2
    assert ledger.state().protected[-1] == ("education",)
    assert ledger.table(version=1).total == 64
    again = ledger.commit("[sex]~10", who="ann", why="again")
    assert (again.number, again.repeated) == (11, True)
    assert ledger.commit("[sex]~5", version=1, who="ann", why="new").number == 12
    assert ledger.verify(head=OLD_HEAD).intact


def test_its_answers_are_those_of_before(tmp_path):
    old_ledger(str(tmp_path / "old.ledger"))
    ledger = Ledger.open(tmp_path / "old.ledger")
    answer = ledger.ask("[county,education,sex]")
    assert [target.said for target, _ in answer.judged[:3]] == [
        "the cells of the table in version 1",
        "the cells of the table in version 2",
        "the cells of the table in the records added from version 1 to version 2",
    ]
    assert answer.judged[2][0].over == ("added_2", "county", "education", "sex")


def test_a_file_of_before_that_may_not_be_written_can_be_read():
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "old.ledger"
        old_ledger(str(file))
        file.chmod(0o444)
        Path(folder).chmod(0o555)
        with unprivileged():
            ledger = Ledger.open(file)
            assert len(ledger.history()) == 11
            assert ledger.verify(head=OLD_HEAD).intact
        Path(folder).chmod(0o755)
