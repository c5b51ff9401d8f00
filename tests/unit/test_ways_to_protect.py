"""Ranges, controlled rounding and `compare`: what is published, files, refusals."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import cellbounds as cb
from cellbounds.cli import commands
from cellbounds.disclosure.published_cells import work_out

ALL = "[county+,education+]"


@pytest.fixture
def table():
    return cb.datasets.read("delinquent")


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cb.datasets.read("delinquent").write("t.csv")

    def run(*words: object):
        return CliRunner().invoke(commands, [str(word) for word in words], standalone_mode=False)

    return run


def test_rounded_figures_are_what_the_release_says(table):
    done = cb.protect(table, ALL, method="round", base=3)
    assert (done.cost, done.bound, done.reach, done.method) == (22, 22, 1, "round")
    assert not cb.violations(table, done.release)
    assert done.release.statements[0].rounding == "controlled"
    figures = np.array(done.table()["count"])
    assert (figures % 3 == 0).all()
    assert figures[:16].sum() == figures[-1]
    assert done.changed == sum(one["count"] != one["figure"] for one in done.to_dict()["figures"])


def test_the_base_is_the_smallest_that_is_safe(table):
    assert cb.protect(table, ALL, method="round").base == 5
    rule = cb.policies.SmallCounts(below=5, zeros=False, values=7)
    policy = cb.policies.Policy("wide", rules=[rule])
    assert not cb.protect(table, ALL, method="round", base=3, policy=policy).safe
    chosen = cb.protect(table, ALL, method="round", policy=policy)
    assert chosen.safe
    assert chosen.base > 5


def test_linked_tables_agree_in_sums_that_nobody_publishes():
    counts = np.random.default_rng(5).integers(0, 9, size=(3, 3, 3))
    table = cb.Table(cb.Domain({name: ["x", "y", "z"] for name in "abc"}), counts)
    done = cb.protect(table, "[a,b]", "[a,c]", "[b,c]", method="round", base=5)
    one, two, three = (said.entries.astype(int) for said in done.release.statements[:3])
    assert (one.sum(axis=1) == two.sum(axis=1)).all()
    assert (one.sum(axis=0) == three.sum(axis=1)).all()
    assert (two.sum(axis=0) == three.sum(axis=0)).all()


def test_totals_of_hierarchies_add_up():
    counts = np.random.default_rng(6).integers(0, 12, size=(4, 3))
    domain = cb.Domain({"mun": ["m1", "m2", "m3", "m4"], "age": ["y", "m", "o"]})
    table = cb.Table(domain, counts).grouped(
        "county", of="mun", levels={"A": ["m1", "m2"], "B": ["m3", "m4"]}
    )
    done = cb.protect(table, "[mun,age]", "[county,age]", "[county]", "[age]", method="round")
    inner, middle, outer, ages = (said.entries.astype(int) for said in done.release.statements[:4])
    assert (middle[0] == inner[0] + inner[1]).all()
    assert (outer == middle.sum(axis=1)).all()
    assert (ages == inner.sum(axis=0)).all()


def test_nobody_at_all_is_rounded_to_zero():
    table = cb.Table(cb.Domain({"a": ["x", "y"]}), [0, 0])
    assert cb.protect(table, "[a]", method="round", base=5).cost == 0
    assert cb.protect(table, "[a]", method="intervals").changed == 0


def test_ranges_hold_their_counts_and_nest(table):
    done = cb.protect(table, ALL, method="intervals")
    assert done.safe
    assert done.optimal
    assert not cb.violations(table, done.release)
    for one in done.ranges:
        width = one.high - one.low + 1
        assert width in done.widths
        assert one.low % width == 1
        assert one.low <= one.count <= one.high
    assert all(one.primary == (one.count <= 3) for one in done.ranges)
    internal = done.table(internal=True)
    assert internal["status"].count("primary") == 6
    assert done.proven == (6, 6)


def test_wider_ranges_where_a_count_must_not_be_known_to_be_small(table):
    rule = cb.policies.SmallCounts(below=5, zeros=False, above_threshold=True)
    policy = cb.policies.Policy("house", rules=[rule])
    done = cb.protect(table, ALL, method="intervals", widths=[4, 8, 160], policy=policy)
    assert done.safe
    assert min(one.high for one in done.ranges if one.primary) >= 8


def test_ranges_that_are_too_narrow_are_named(table):
    rule = cb.policies.SmallCounts(below=4, zeros=False, above_threshold=True)
    policy = cb.policies.Policy("house", rules=[rule])
    done = cb.protect(table, ALL, method="intervals", widths=[3], policy=policy)
    assert not done.safe
    assert len(done.unprotected) == 6


def test_printed_ranges_and_rounded_figures_are_read_back(run, table, tmp_path):
    assert (
        run("protect", "t.csv", ALL, "--method", "intervals", "--public", "i.csv").return_value == 0
    )
    risk = work_out(cb.read_published(tmp_path / "i.csv")).tables[0]
    done = cb.protect(table, ALL, method="intervals")
    bounds = cb.bounds(done.release)
    assert len(risk.cells) == len(done.ranges)
    for cell in (one for one in risk.cells if "Total" not in one.labels):
        values = cell.values
        assert (values.smallest, values.largest) == bounds[cell.labels]
    words = "--method", "round", "--base", 3, "--public", "r.xlsx", "--internal", "ri.csv"
    assert run("protect", "t.csv", ALL, *words).return_value == 0
    rounded = cb.read_published(tmp_path / "r.xlsx", base=3, rounding="controlled")
    cells = {one.labels: one.values for one in work_out(rounded).tables[0].cells}
    assert cells["Alpha", "Very High"] == cb.ValueSet.from_values([0, 1, 2])
    assert "rounded up" in (tmp_path / "ri.csv").read_text()
    ran = run("attack", "r.xlsx", "--base", 3, "--base-rounding", "controlled")
    assert ran.return_value == 0


def test_ways_side_by_side(table):
    found = cb.compare(table, ALL)
    assert {way.method for way in found} == {"suppress", "intervals", "round", "recode"}
    assert found.outcome is cb.Outcome.SAFE
    assert found.best is found[0]
    assert list(found.columns()["kept"]) == sorted(found.columns()["kept"], reverse=True)
    assert len(found[:2]) == 2
    assert "NOT SAFE" not in str(found)


def test_what_is_not_safe_comes_last_and_is_said(table):
    rule = cb.policies.SmallCounts(below=5, zeros=False, values=7)
    policy = cb.policies.Policy("wide", rules=[rule])
    found = cb.compare(table, ALL, policy=policy, base=3, methods=["round", "suppress"])
    assert [way.method for way in found] == ["suppress", "round"]
    assert "NOT SAFE: round" in str(found)
    worst = cb.compare(table, ALL, policy=policy, base=3, methods=["round"])
    assert worst.outcome is cb.Outcome.UNSAFE
    assert worst.best is None


def test_a_late_way_is_undecided(table):
    found = cb.compare(table, ALL, methods=["round", "intervals"], seconds=0.001)
    assert found.outcome is not cb.Outcome.UNSAFE


def test_a_spent_budget_hides_all_that_may_be(table):
    done = cb.protect(table, ALL, seconds=1e-9)
    assert done.stopped
    assert done.changed == done.asked - 1  # N is shown
    ranged = cb.protect(table, ALL, method="intervals", seconds=1e-9)
    assert not ranged.unprotected  # what was not looked at is not said to be lost


def test_ways_that_were_not_tried_are_said(table):
    late = cb.compare(table, ALL, seconds=1e-9)
    assert [way.result for way in late] == [None] * 4
    assert {way.why for way in late} == {"not tried: the budget was spent on other ways"}


def test_titles_count_what_was_done():
    domain = cb.Domain({"sex": ["f", "m"], "place": ["N", "S"]})
    easy = cb.Table(domain, [[10, 20], [30, 40]])
    for method in ("suppress", "intervals", "recode"):
        shown = str(cb.protect(easy, "[sex,place]", method=method))
        first = shown.splitlines()[0]
        assert first.endswith("all 5 figures are shown as they are"), shown
        assert "stay" not in shown
    one = str(cb.protect(cb.Table(domain, [[1, 20], [30, 40]]), "[sex+,place+]"))
    assert "1 of 1 small count stays uncertain" in " ".join(one.split())


def test_compare_as_a_command(run, tmp_path):
    ran = run("compare", "t.csv", ALL, "--method", "round", "--base", 3, "--format", "json")
    assert ran.return_value == 0
    result = json.loads(ran.output)
    assert result["best"] == "round"
    assert [way["method"] for way in result["ways"]] == ["round"]
    assert run("compare", "t.csv", ALL, "--format", "csv", "-o", "c.csv").return_value == 0
    assert (tmp_path / "c.csv").read_text().count("\n") == 5


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"method": "hide"}, "method='hide'; choose one of suppress"),
        ({"method": "round", "base": 1}, "base=1; give a whole number from 2"),
        ({"method": "round", "base": True}, "base=True"),
        ({"base": 5}, "base goes with the method round, not with suppress"),
        ({"method": "round", "keep": ["[county]"]}, "keep goes with the method suppress"),
        ({"method": "intervals", "widths": [5, 12]}, "12 after 5; each must be a multiple"),
        ({"method": "intervals", "widths": []}, "give whole numbers"),
        ({"method": "intervals", "widths": [1]}, "2 or more"),
    ],
)
def test_refusals(table, how, message):
    with pytest.raises(cb.InvalidInput, match=message.replace("(", r"\(")):
        cb.protect(table, ALL, **how)


def test_more_refusals(table, run):
    with pytest.raises(cb.UnsupportedRelease, match="shows something else than exact counts"):
        cb.compare(table, "[education|county]@2")
    with pytest.raises(cb.InvalidInput, match="methods is empty"):
        cb.compare(table, ALL, methods=[])
    with pytest.raises(cb.InvalidInput, match="methods: 'x'"):
        cb.compare(table, ALL, methods="x")
    with pytest.raises(cb.InvalidInput, match="takes all counts of a table together"):
        cb.publish(table, "[county]~5", count_rounding="controlled")
    ran = run("protect", "t.csv", ALL, "--method", "intervals", "--widths", "5,x")
    assert "--widths '5,x'; give whole numbers" in str(ran.exception)


def test_suggestions_for_margins_are_made_by_these_methods(table):
    release = cb.publish(table, "[county,education]", "[county]", "[education]")
    found = cb.suggest(table, release, changes=1, most=40, independent=False)
    by_kind = {change.kind: one for one in found for change in one.changes}
    assert {"suppress", "intervals", "controlled-rounding"} <= set(by_kind)
    for kind in ("suppress", "intervals", "controlled-rounding"):
        assert cb.judge(table, by_kind[kind].release).safe
        assert not cb.violations(table, by_kind[kind].release)
    # The same figures as protect hides, and no more.
    hidden = by_kind["suppress"].release.statements[0].hidden
    assert int(hidden.sum()) == cb.protect(table, ALL).changed
    assert by_kind["controlled-rounding"].changes[0].details["base"] == 5


def test_recoded_tables_are_written_and_said(table, run, tmp_path):
    done = cb.protect(table, ALL, method="recode")
    assert (done.cost, done.bound, done.changed) == (2, 2, 10)
    assert done.merges == (("education", (("Low", "Medium"), ("High", "Very High"))),)
    assert done.to_dict()["merges"][0]["variable"] == "education"
    assert "Low + Medium" in str(done)
    words = "--method", "recode", "--public", "m.csv", "--release", "m.toml"
    assert run("protect", "t.csv", ALL, *words).return_value == 0
    assert "Low+Medium" in (tmp_path / "m.csv").read_text()
    assert cb.judge(table.with_domain(done.release.domain), done.release).safe
