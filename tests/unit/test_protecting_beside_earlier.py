"""Suppression beside last year's pattern, and beside releases about the same people."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.protecting import look_alike, table_of

import cellbounds as cb
from cellbounds.policies import Policy, SmallCounts

POLICY = Policy("house", rules=(SmallCounts(below=3, zeros=False, values=2),))


@pytest.fixture(scope="module")
def years():
    """A table with a hierarchy, and the same places a year later."""
    table, margins = table_of(look_alike(places=(2, 2), ages=3))
    moved = np.random.default_rng(1).integers(-1, 3, table.counts.shape)
    return table, cb.Table(table.domain, np.maximum(table.counts + moved, 0)), margins


@pytest.fixture(scope="module")
def last(years):
    return cb.protect(years[0], *years[2], policy=POLICY)


def hidden_in(done):
    return {(one.variables, one.labels) for one in done.hidden}


def test_what_was_hidden_stays_hidden(years, last, tmp_path):
    """However last year's table is given; zeros are shown all the same."""
    _, table, margins = years
    alone = cb.protect(table, *margins, policy=POLICY)
    done = cb.protect(table, *margins, policy=POLICY, earlier=last.release)
    assert done.safe
    assert done.optimal
    before = hidden_in(last)
    assert not before <= hidden_in(alone)
    left = before - hidden_in(done)
    assert all(table.margin(names)[labels] == 0 for names, labels in left)
    assert done.cost == sum(one.count for one in done.secondaries) >= alone.cost
    assert any(note.startswith("hidden as before: ") for note in done.notes)
    for name in ("last.csv", "last.xlsx"):
        last.write(tmp_path / name)
        again = cb.protect(table, *margins, policy=POLICY, earlier=tmp_path / name)
        assert (again.pattern == done.pattern).all()
    last.release.write(tmp_path / "last.toml")
    again = cb.protect(table, *margins, policy=POLICY, earlier=[str(tmp_path / "last.toml")])
    assert (again.pattern == done.pattern).all()


def test_what_is_kept_is_shown_whatever_was_hidden(years, last):
    _, table, margins = years
    was = [one for one in last.hidden if one.variables == ("age", "sex")]
    assert was
    shown = cb.protect(table, *margins, policy=POLICY, earlier=last.release, keep=["[age,sex]"])
    assert shown.safe
    assert not [one for one in shown.hidden if one.variables == ("age", "sex")]
    assert "hidden before and shown now" in shown.notes[0]


def test_other_codes_are_refused(years, last):
    table = cb.datasets.read("delinquent")
    with pytest.raises(cb.InvalidInput, match="no cell has the codes"):
        cb.protect(table, "[county+,education+]", earlier=last.release)
    with pytest.raises(cb.InvalidInput, match="earlier=3"):
        cb.protect(table, "[county+,education+]", earlier=[3])
    with pytest.raises(cb.InvalidInput, match="place"):
        cb.protect(table, "[county+,education+]", released=last.release)
    with pytest.raises(cb.InvalidInput, match="released="):
        cb.protect(table, "[county+,education+]", released="[county]")


def test_two_patterns_about_the_same_people():
    """Each is safe by itself; both together show what either hides."""
    table = cb.Table(cb.Domain({"A": ["a", "b", "c", "d"]}), [1, 8, 8, 9])
    first = cb.protect(table, "[A]", policy=POLICY, prefer=[{"A": "b"}])
    other = cb.protect(table, "[A]", policy=POLICY, prefer=[{"A": "c"}])
    assert first.safe
    assert other.safe
    both = cb.Release(table.domain, [*first.release.statements, other.release.statements[0]])
    assert not cb.judge(table, both, POLICY).safe
    done = cb.protect(table, "[A]", policy=POLICY, prefer=[{"A": "c"}], released=first.release)
    assert done.safe
    assert done.pattern.tolist() == first.pattern.tolist()


def test_a_small_count_that_is_out():
    table = cb.Table(cb.Domain({"A": ["a", "b", "c"], "B": ["x", "y"]}), [[1, 8], [8, 9], [5, 5]])
    out = cb.publish(table, "[A,B]")
    done = cb.protect(table, "[A+,B+]", policy=POLICY, released=out)
    assert done.outcome is cb.Outcome.UNSAFE
    assert [one.why for one in done.unprotectable] == [
        "it is out already: a release about the same people shows it"
    ]


def test_margins_that_are_out_are_known():
    """A total that is shown in another margin cannot move."""
    table = cb.Table(
        cb.Domain({"A": ["a", "b", "c"], "B": ["x", "y", "z"]}), [[1, 8, 3], [8, 9, 7], [5, 5, 6]]
    )
    cheap = {"[A]": [1, 1, 1], "[B]": [1, 1, 1]}
    alone = cb.protect(table, "[A+,B+]", policy=POLICY, cost=cheap)
    assert any(len(one.variables) == 1 for one in alone.hidden)
    done = cb.protect(
        table, "[A+,B+]", policy=POLICY, cost=cheap, released=cb.publish(table, "[A]", "[B]")
    )
    assert done.safe
    assert all(len(one.variables) == 2 for one in done.hidden)


def test_ledgers_and_files_of_last_year(run, tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("A,count\na,1\nb,8\nc,8\nd,9\n")
    ledger, out, public = (str(tmp_path / name) for name in ("l.ledger", "o.toml", "p.csv"))
    words = ["protect", str(table), "[A]", "--prefer"]
    files = ["--release", out, "--public", public]
    assert run(*words, "A=b", *files)[0] == 0
    assert run("ledger", "init", ledger, "--table", str(table), "--keep-table")[0] == 0
    assert run("ledger", "commit", ledger, out, "--why", "first")[0] == 0
    status, said, _ = run(*words, "A=c", "--ledger", ledger)
    assert status == 0
    assert "with what is out" in " ".join(said.split())
    assert "A=b" in said
    assert "A=c" not in said
    status, said, _ = run(*words, "A=c", "--earlier", public)
    assert status == 0
    assert "hidden as before: 2 figures" in said
    assert run(*words, "A=c", "--earlier", str(tmp_path / "none.csv"))[0] == 2


def test_an_earlier_table_of_some_variables_without_a_complete_line(tmp_path):
    """Where nothing confirms its totals they are known by the word that is written for them."""
    table = cb.Table(
        cb.Domain({name: ["x", "y"] for name in "abc"}), [[[1, 0], [1, 0]], [[2, 1], [4, 1]]]
    )
    last = cb.protect(table, "[a+,b+]", policy=POLICY)
    last.write(tmp_path / "last.csv")
    again = cb.protect(table, "[a+,b+]", policy=POLICY, earlier=tmp_path / "last.csv")
    assert (again.pattern == last.pattern).all()
    assert len(last.hidden) > 4
