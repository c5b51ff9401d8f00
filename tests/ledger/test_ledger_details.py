"""Small decisions of a ledger, one fault at a time."""

from __future__ import annotations

import contextlib
import sqlite3

import numpy as np
import pytest

import cellbounds as cb
from cellbounds.ledger import Ledger, LedgerError

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


def test_one_record_at_least_is_knowledge(tmp_path):
    """That something was added is known, even if nobody knows how much."""
    more = cb.Table(DOMAIN, TABLE.counts + np.array([[1, 0], [0, 0]]))
    outcomes = []
    for place, added in enumerate([None, (1, None)]):
        ledger = Ledger.create(tmp_path / f"{place}.ledger", TABLE, keep_table=True, who="ann")
        ledger.commit("[b]", why="spring")
        ledger.revise(more, removed=0, added=added, why="a late form")
        outcomes.append(ledger.ask("[b]").judged[-1][1].knows)
    assert [len(one) for one in outcomes] == [0, 1]


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


def _split(table, levels):
    halves = np.stack([table.counts // 2, table.counts - table.counts // 2], axis=-1)
    return cb.Table(cb.Domain({"a": ["x", "y"], "b": ["u", "v"], "sex": levels}), halves)
