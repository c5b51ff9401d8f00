"""Small decisions of a ledger, one fault at a time."""

from __future__ import annotations

import contextlib
import sqlite3

import numpy as np
import pytest

import cellbounds as cb
from cellbounds.ledger import Ledger, LedgerError
from cellbounds.ledger.locations import Place

DOMAIN = cb.Domain({"a": ["x", "y"], "b": ["u", "v"]})
TABLE = cb.Table(DOMAIN, [[12, 9], [14, 10]])
FEWER = cb.Table(DOMAIN, [[12, 9], [13, 12]])


@pytest.mark.parametrize("where", ["sqlite://", "sqlite:///", "sqlite:///:memory:"])
def test_a_file_without_a_name_is_refused(where):
    with pytest.raises(cb.InvalidInput, match="sqlite:///relative or sqlite:////absolute"):
        Ledger.create(where, TABLE, who="ann")


def test_unknown_options_of_a_file_are_refused(tmp_path):
    where = f"sqlite:///{tmp_path / 'x.ledger'}?colour=red"
    with pytest.raises(cb.InvalidInput, match="sqlite:///relative or sqlite:////absolute"):
        Ledger.create(where, TABLE, who="ann")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["%20", "a" * 201, "a%07b"], ids=["blank", "long", "unprintable"])
def test_names_have_1_to_200_printable_characters(tmp_path, name):
    with pytest.raises(cb.InvalidInput, match="1 to 200 printable characters"):
        Ledger.create(f"sqlite:///{tmp_path / 'x.ledger'}?ledger={name}", TABLE, who="ann")
    longest = "a" * 200
    where = f"sqlite:///{tmp_path / 'y.ledger'}?ledger={longest}"
    assert Ledger.create(where, TABLE, who="ann").verify().intact


def test_a_file_holds_several_ledgers_each_with_a_chain_of_its_own(tmp_path):
    file = tmp_path / "x.ledger"
    first = Ledger.create(f"sqlite:///{file}", TABLE, who="ann")
    second = Ledger.create(f"sqlite:///{file}?ledger=two", FEWER, who="ann")
    first.commit("[a]", table=TABLE, why="spring")
    assert [len(one.history()) for one in (first, second)] == [2, 1]
    assert first.verify().intact
    assert second.verify().intact


def test_a_ledger_whose_entries_are_gone_says_so(tmp_path):
    file = tmp_path / "x.ledger"
    ledger = Ledger.create(file, TABLE, who="ann")
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        triggers = connection.execute("select name from sqlite_master where type = 'trigger'")
        for (name,) in triggers.fetchall():
            connection.execute(f'drop trigger "{name}"')
        connection.execute("delete from entries")
    with pytest.raises(LedgerError):
        ledger.ask("[a]", table=TABLE)
    assert not ledger.verify().intact


@pytest.mark.parametrize(
    ("removed", "added", "words"),
    [
        (None, None, "removed: not known, added: not known"),
        ((1, None), 2, "removed: 1 or more, added: 2"),
        ((0, 1), (2, 3), "removed: 0 to 1, added: 2 to 3"),
    ],
)
def test_the_history_says_what_is_known_of_a_revision(tmp_path, run, removed, added, words):
    file = tmp_path / "x.ledger"
    ledger = Ledger.create(file, TABLE, keep_table=True, who="ann")
    ledger.revise(FEWER, removed=removed, added=added, why="corrections")
    code, out, _ = run("ledger", "history", file)
    assert code == 0
    assert words in out


@pytest.mark.parametrize(("what", "sign"), [("added", 1), ("removed", -1)])
def test_one_record_at_least_is_knowledge(tmp_path, what, sign):
    """That something was added or removed is known, even if nobody knows how much."""
    later = cb.Table(DOMAIN, TABLE.counts + sign * np.array([[1, 0], [0, 0]]))
    known = []
    for place, number in enumerate([None, (1, None)]):
        ledger = Ledger.create(tmp_path / f"{place}.ledger", TABLE, keep_table=True, who="ann")
        ledger.commit("[b]", why="spring")
        ledger.revise(later, **{"removed": 0, "added": 0, what: number}, why="a late form")
        known.append(ledger.ask("[b]").judged[-1][1].knows)
    assert [len(knows) for knows in known] == [0, 1]


def test_all_versions_need_the_levels_of_the_finer_table(tmp_path):
    """The first two agree; the third does not."""
    tables = [TABLE, cb.Table(DOMAIN, TABLE.counts + 3), cb.Table(DOMAIN, TABLE.counts + 9)]
    ledger = Ledger.create(tmp_path / "x.ledger", TABLE, keep_table=True, who="ann")
    for later in tables[1:]:
        ledger.grow(later, why="more")
    finer = [_split(one, ["m", "f"]) for one in tables]
    with pytest.raises(cb.InvalidInput, match="different variables or levels"):
        ledger.refine([*finer[:2], _split(tables[2], ["m", "w"])], why="sex")
    assert ledger.refine(finer, why="sex").outcome is not None


def test_an_entry_has_the_release_that_went_out_with_it(tmp_path):
    ledger = Ledger.create(tmp_path / "x.ledger", TABLE, keep_table=True, who="ann")
    ledger.commit("[a]", why="spring")
    opened, released = ledger.history()
    assert opened.release is None
    assert released.release.digest == cb.publish(TABLE, "[a]").digest
    assert [len(ledger.together(until=end).statements) for end in (1, 2)] == [0, 2]
    with pytest.raises(cb.InvalidInput, match="entries 1 to 2"):
        ledger.together(until=0)


def test_a_ledger_of_one_entry_continues_its_own_head(tmp_path):
    ledger = Ledger.create(tmp_path / "x.ledger", TABLE, who="ann")
    (opened,) = ledger.history()
    assert ledger.verify(head=opened.hash, entries=1).intact
    with pytest.raises(cb.InvalidInput, match="entries=0"):
        ledger.verify(head=opened.hash, entries=0)


def test_a_ledger_that_was_emptied_with_its_head_says_so(tmp_path):
    file = tmp_path / "x.ledger"
    ledger = Ledger.create(file, TABLE, who="ann")
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        triggers = connection.execute("select name from sqlite_master where type = 'trigger'")
        for (name,) in triggers.fetchall():
            connection.execute(f'drop trigger "{name}"')
        connection.execute("delete from entries")
        connection.execute("update ledgers set entries = 0, head = ''")
    with pytest.raises(LedgerError, match="no entry, not even the first"):
        ledger.ask("[a]", table=TABLE)


@pytest.mark.parametrize("wait", [0, 0.5])
def test_waiting_may_be_short(tmp_path, wait):
    Ledger.create(tmp_path / "x.ledger", TABLE, who="ann", wait=wait)
    ledger = Ledger.open(tmp_path / "x.ledger", wait=wait)
    assert ledger.commit("[a]", table=TABLE, who="ann", why="spring").number == 2


def test_options_of_a_server_are_kept_as_they_are():
    url = Place.of("postgresql://db/team?ledger=census&options=&sslmode=require").url
    assert url == "postgresql+psycopg://db/team?options=&sslmode=require"


def test_a_file_that_was_there_stays_if_no_ledger_can_be_made_in_it(tmp_path):
    for file in (tmp_path / "empty", tmp_path / "new"):
        if file.name == "empty":
            file.touch()
        with pytest.raises(cb.InvalidInput, match="why=3"):
            Ledger.create(file, TABLE, who="ann", why=3)
    assert [file.name for file in tmp_path.iterdir()] == ["empty"]


def test_a_missing_table_is_named_by_its_version(tmp_path):
    ledger = Ledger.create(tmp_path / "x.ledger", TABLE, who="ann", independent=False)
    with pytest.raises(cb.InvalidInput, match="not the table; supply it again"):
        ledger.ask("[a]")
    more = cb.Table(DOMAIN, TABLE.counts + 5)
    ledger.grow(more, earlier=TABLE, why="more")
    with pytest.raises(cb.InvalidInput, match=r"not the table \(version 1 of 2\); supply it again"):
        ledger.ask("[a]", table=more)
    with pytest.raises(cb.InvalidInput, match=r"not the table \(version 2 of 2\); supply it again"):
        ledger.ask("[a]", table=TABLE)


def test_a_revision_changes_something(tmp_path):
    ledger = Ledger.create(tmp_path / "x.ledger", TABLE, keep_table=True, who="ann")
    for later, words in (
        (ledger.revise, "nothing was changed"),
        (ledger.grow, "nothing was added"),
    ):
        with pytest.raises(cb.InvalidInput, match=words):
            later(TABLE, why="corrections")


@pytest.mark.parametrize(("total", "ends"), [((40, 50), (40, 50)), ((40, None), (40, None))])
def test_a_total_between_two_numbers_stays_so_when_the_table_grows(tmp_path, total, ends):
    lower, upper = total
    ledger = Ledger.create(tmp_path / "x.ledger", TABLE, keep_table=True, who="ann")
    said = cb.Release(DOMAIN, [cb.Total(lower=lower, upper=upper)])
    ledger.commit(said, why="spring")
    ledger.grow(cb.Table(DOMAIN, TABLE.counts + 5), why="more")
    found = cb.bounds(ledger.together(), over=["as_of_1"])
    assert found.lower.tolist() == [ends[0]]
    assert found.upper.tolist() == [cb.UNBOUNDED if ends[1] is None else ends[1]]


def test_cells_that_cannot_hold_anybody_are_0_in_what_is_out(tmp_path):
    table = cb.Table(DOMAIN, [[12, 0], [14, 10]], structural=[[False, True], [False, False]])
    ledger = Ledger.create(tmp_path / "x.ledger", table, keep_table=True, who="ann")
    said = cb.Release(DOMAIN, [cb.Margin(["b"], [26, 10])])  # by hand: it does not say so itself
    ledger.commit(said, already_out=True, why="spring")
    assert cb.bounds(ledger.together()).upper[0, 1] == 0


@pytest.mark.parametrize("label", [True, 1.5, None])
def test_labels_are_texts_and_whole_numbers(tmp_path, label):
    table = cb.Table(cb.Domain({"a": [label, "y"]}), [12, 9])
    with pytest.raises(cb.InvalidInput, match="texts or whole numbers"):
        Ledger.create(tmp_path / "x.ledger", table, who="ann")


def test_nobody_answers_at_a_url():
    pytest.importorskip("psycopg")
    with pytest.raises(LedgerError, match="does not answer"):
        Ledger.open("postgresql://ann@127.0.0.1:1/team")


@pytest.mark.parametrize("has", ["both", "table", "release"])
def test_derived_variables_of_the_table_or_the_release_may_be_known_about(tmp_path, has):
    """The statements do not speak of them."""
    domain = DOMAIN.with_groupings({"all": cb.Grouping("b", {"both": ["u", "v"]})})
    finer = cb.Table(domain, TABLE.counts)
    ledger = Ledger.create(tmp_path / "x.ledger", TABLE, who="ann")
    knows = [cb.Known(["all"], lower={"both": 40})]
    release = cb.publish(TABLE if has == "table" else finer, "[a]")
    answer = ledger.ask(release, table=TABLE if has == "release" else finer, knows=knows)
    assert [statement.subject for statement in answer.knowledge.statements] == [
        "knowledge of [all]"
    ]


@pytest.mark.parametrize("what", [[], [1], ["[a]", 1]])
def test_what_is_asked_for_is_a_release_or_texts(tmp_path, what):
    ledger = Ledger.create(tmp_path / "x.ledger", TABLE, keep_table=True, who="ann")
    with pytest.raises(cb.InvalidInput, match="nothing to judge in"):
        ledger.ask(what)


def _split(table, levels):
    halves = np.stack([table.counts // 2, table.counts - table.counts // 2], axis=-1)
    return cb.Table(cb.Domain({"a": ["x", "y"], "b": ["u", "v"], "sex": levels}), halves)
