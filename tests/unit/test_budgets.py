"""Budgets: what is proven encloses, what is attained is shown, and the rest is said to be open."""

from __future__ import annotations

import csv
import gc
import io
import json
import os
import pickle
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from importlib import resources

import jsonschema
import numpy as np
import pytest

import cellbounds as cb
from cellbounds.cli.outputs import write_certificate
from cellbounds.disclosure import Audit, CellRisk, audit
from cellbounds.disclosure.policies import judging
from cellbounds.ledger import NotSafe
from cellbounds.report.audit_text import render
from cellbounds.report.filing import build_report
from cellbounds.report.pages.content import ReportLimits
from cellbounds.runtime.budget import UNLIMITED, Budget, budgeted, running
from cellbounds.runtime.interrupts import Alarm, Late, uninterrupted, watched
from cellbounds.runtime.workers import Until
from cellbounds.solvers.general import solutions, strategy
from cellbounds.solvers.general.pool import TablePool
from cellbounds.solvers.general.search import Search

DOMAIN = cb.Domain({"a": ["a0", "a1", "a2"], "b": ["b0", "b1", "b2"], "c": ["c0", "c1", "c2"]})
TABLE = cb.Table(DOMAIN, np.random.default_rng(8).integers(0, 5, size=(3, 3, 3)))
RELEASE = cb.publish(TABLE, "[a,b]", "[b,c]", "[a,c]")
TABLE_ITSELF = cb.publish(TABLE, "[a,b,c]")


def always(value):
    def answer(*_, **__):
        return value

    return answer


@pytest.fixture
def spent(monkeypatch):
    """Every budget is spent as soon as there is one table."""
    monkeypatch.setattr(Budget, "spent", property(always(True)))
    monkeypatch.setattr(Search, "by_pushing", always(0))


def test_a_part_sets_an_alarm_where_none_is_set():
    with running(Budget.of(60), stops=True):
        assert not watched()
    with running(Budget.of(60), parts=True):
        assert watched()
    assert not watched()


def enclosed(answer, truth):
    low, high = answer.settled
    assert (answer.lower <= truth.lower).all()
    assert (answer.upper >= truth.upper).all()
    assert (answer.attained_lower >= truth.lower).all()
    assert (answer.attained_upper <= truth.upper).all()
    assert (answer.attained_lower <= answer.attained_upper).all()
    assert np.array_equal(low, answer.lower == answer.attained_lower)
    assert np.array_equal(high, answer.upper == answer.attained_upper)
    everything = low.all() and high.all()
    assert answer.evidence is (cb.Evidence.EXACT if everything else cb.Evidence.OUTER)


# Bounds ------------------------------------------------------------------------------------------


def test_a_spent_budget_leaves_outer_and_inner_bounds(spent):
    answer = cb.bounds(RELEASE, seconds=5)
    assert answer.evidence is cb.Evidence.OUTER
    low, high = answer.settled
    assert not low.all()
    assert not high.all()
    for labels in DOMAIN.cells():
        for at, attained in (("lower", answer.attained_lower), ("upper", answer.attained_upper)):
            witness = answer.witness(*labels, at=at)
            assert not cb.violations(witness, RELEASE)
            assert witness[labels] == attained[DOMAIN.index(labels)]
    text = str(answer)
    assert "attained_lower" in text
    assert answer.to_frame()["attained_upper"].tolist() == answer.attained_upper.ravel().tolist()
    said = answer.to_dict()
    assert said["evidence"] == "outer"
    assert said["cells"][0]["attained_upper"] == answer.attained_upper[0, 0, 0]


def test_a_spent_budget_encloses_the_truth(monkeypatch):
    truth = cb.bounds(RELEASE)
    assert truth.evidence is cb.Evidence.EXACT
    assert "attained_lower" not in str(truth)
    with monkeypatch.context() as patched:
        patched.setattr(Budget, "spent", property(always(True)))
        patched.setattr(Search, "by_pushing", always(0))
        enclosed(cb.bounds(RELEASE, seconds=5), truth)
        enclosed(cb.bounds(RELEASE, seconds=5, start=TABLE), truth)
    for seconds in (1e-6, 1e-3, 0.02):
        answer = cb.bounds(RELEASE, seconds=seconds, start=TABLE)
        enclosed(answer, truth)
        assert (answer.attained_lower <= TABLE.counts).all()
        assert (answer.attained_upper >= TABLE.counts).all()


def test_without_any_table_nothing_is_attained(monkeypatch):
    monkeypatch.setattr(Search, "first_table", always(False))
    monkeypatch.setattr(Search, "_add_if_near", always(False))
    answer = cb.bounds(RELEASE, seconds=1)
    truth = np.minimum(
        np.minimum(TABLE.margin(["a", "b"]).counts[:, :, None], TABLE.margin(["b", "c"]).counts),
        TABLE.margin(["a", "c"]).counts[:, None, :],
    )
    assert answer.evidence is cb.Evidence.OUTER
    assert all(one is None for one in answer.attained_lower.flat)
    assert all(one is None for one in answer.attained_upper.flat)
    assert not answer.settled[0].any()
    assert (answer.upper <= truth).all()
    assert (answer.upper >= TABLE.counts).all()
    assert "?" in str(answer)
    with pytest.raises(cb.Unsettled, match="more seconds"):
        answer.witness("a0", "b0", "c0")
    with pytest.raises(cb.Unsettled, match="more seconds"):
        answer.explain("a0", "b0", "c0")
    values = cb.attainable(RELEASE, seconds=1)["a0", "b0", "c0"]
    assert not values.known
    assert values.possible.size > 1


def test_parts_that_are_not_settled_make_the_whole_unsettled(spent):
    """A pendant margin is glued to a triangle that stays open."""
    domain = cb.Domain(
        {**{name: DOMAIN.levels(name) for name in "abc"}, "d": ["d0", "d1"]},
    )
    counts = np.stack([TABLE.counts, TABLE.counts + 1], axis=-1)
    table = cb.Table(domain, counts)
    release = cb.publish(table, "[a,b]", "[b,c]", "[a,c]", "[c,d]")
    answer = cb.bounds(release, seconds=5)
    assert answer.method == "parts glued at exact margins"
    assert answer.evidence is cb.Evidence.OUTER
    assert (answer.lower <= counts).all()
    assert (answer.upper >= counts).all()
    found = cb.attainable(release, seconds=5)
    for labels, values in found.items():
        assert int(table[labels]) in values.possible
        if not values.settled:
            for value in values.known:
                assert found.witness(*labels, value=value)[labels] == value
    assert not all(values.settled for _, values in found.items())
    free = cb.Release(
        cb.Domain({**{name: domain.levels(name) for name in "abcd"}, "e": ["e0", "e1"]}),
        release.statements,
    )
    loose = cb.attainable(free, seconds=5)
    for labels, values in loose.items():
        whole = found[labels[:4]]
        assert values.smallest == 0
        assert values.possible.largest == whole.possible.largest
        assert values.known == set(range(whole.known.largest + 1))


def test_a_budget_is_kept():
    began = time.monotonic()
    domain = cb.Domain({name: [str(k) for k in range(5)] for name in "abcd"})
    table = cb.Table(domain, np.random.default_rng(1).integers(0, 4, size=domain.shape))
    release = cb.publish(table, "[a,b,c]", "[b,c,d]", "[a,c,d]", "[a,b,d]")
    answer = cb.bounds(release, seconds=0.3)
    assert time.monotonic() - began < 20
    assert (answer.lower <= table.counts).all()
    assert (answer.upper >= table.counts).all()


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), True, "3"])
def test_budgets_are_numbers_above_zero(seconds):
    for ask in (cb.bounds, cb.attainable):
        with pytest.raises(cb.InvalidInput, match="seconds="):
            ask(RELEASE, seconds=seconds)


def test_a_running_budget_and_its_shares():
    endless = Budget.of(None)
    assert endless.left is None
    assert not endless.spent
    assert endless.share(0.5).left is None
    assert 4 < endless.share(most=5).left <= 5
    budget = Budget.of(100)
    assert 99 < budget.left <= 100
    assert 49 < budget.share(0.5).left <= 50
    assert budget.share(0.5, most=7).left <= 7
    assert 199 < budget.share(0.5, least=200).left <= 200
    past = Budget.until(time.monotonic() - 1)
    assert past.spent
    assert past.left == 0
    # What 500,000 cells take to be written, 20 seconds, is left; but the answer gets a part.
    assert 79 < budget.before_writing(500_000).left <= 80
    assert 54 < budget.before_writing(500_000, 0.75).left <= 55
    assert 29 < budget.before_writing(10**9).left <= 30
    assert endless.before_writing(10**9).left is None
    assert past.before_writing(10).left == 0


def test_a_certificate_leaves_time_to_be_written(tmp_path):
    class Answer:
        size = 10**9

        def certificate(self, *, budget):
            assert budget.left <= 30
            return {"made": True}

    write_certificate(Answer(), str(tmp_path / "c.json"), Budget.of(100), private=False)
    assert json.loads((tmp_path / "c.json").read_text()) == {"made": True}


# Helpers, listeners, tables to start from --------------------------------------------------------


class Counted(ThreadPoolExecutor):
    def __init__(self):
        super().__init__(2)
        self.asked = 0

    def submit(self, *arguments, **options):
        self.asked += 1
        return super().submit(*arguments, **options)


def test_threads_share_the_work(monkeypatch):
    truth = cb.bounds(RELEASE)
    monkeypatch.setattr(strategy, "QUICK_WALK", 0)
    monkeypatch.setattr(Search, "by_pushing", always(0))
    steps = []
    with Counted() as executor:
        answer = cb.bounds(
            RELEASE,
            budget=cb.Budget(
                workers=executor, progress=lambda done, total: steps.append((done, total))
            ),
        )
    assert executor.asked > 1
    assert answer.evidence is cb.Evidence.EXACT
    assert np.array_equal(answer.lower, truth.lower)
    assert np.array_equal(answer.upper, truth.upper)
    assert (executor.asked, executor.asked) in steps or any(d == t for d, t in steps)


def test_workers_that_begin_after_the_end_do_nothing():
    search = Search(RELEASE, DOMAIN.names)
    search.first_table(None)
    work = partial(strategy._stepped, strategy._by_integers, 2)
    bounds = [(0, 0), (5, 1)]
    handle = pickle.loads(pickle.dumps(strategy.SearchHandle(search)))
    known = handle, search.standing(), search.pool.excerpt([0, 5]), 1
    late, _ = strategy.run_task(*known, work, bounds, Until(1.0, time.time() - 2, "here"))
    assert not late.tables
    assert np.array_equal(late.proven, search.proven[:, [0, 5]])
    in_time, _ = strategy.run_task(*known, work, bounds, Until.of(None))
    truth = cb.bounds(RELEASE)
    assert in_time.proven[0, 0] == truth.lower.flat[0]
    assert in_time.proven[1, 1] == truth.upper.flat[5]
    in_time.bring_home(search)
    assert search.settled(0, 0)
    assert search.settled(5, 1)


@pytest.mark.parametrize("ask", [cb.bounds, cb.attainable])
def test_listeners_hear_how_far_the_work_is(ask):
    heard = []
    ask(RELEASE, budget=cb.Budget(progress=lambda done, total: heard.append((done, total))))
    assert heard
    assert all(0 < done <= total for done, total in heard)
    assert any(done == total for done, total in heard)


def test_listeners_of_linear_bounds_and_audits():
    heard = []
    cb.bounds(
        RELEASE,
        kind="linear",
        budget=cb.Budget(progress=lambda done, total: heard.append((done, total))),
    )
    assert heard == [(k + 1, 27) for k in range(27)]
    heard.clear()
    audit(
        TABLE, RELEASE, budget=cb.Budget(progress=lambda done, total: heard.append((done, total)))
    )
    assert (26, 27) in heard


def test_the_owners_table_is_the_first_witness(monkeypatch):
    seen = []
    original = Search.start_from

    def start_from(self, counts):
        seen.append(counts.copy())
        original(self, counts)

    monkeypatch.setattr(Search, "start_from", start_from)
    cb.bounds(RELEASE, start=TABLE)
    assert np.array_equal(seen[0], TABLE.counts.ravel())


def test_tables_that_cannot_be_started_from():
    counts = TABLE.counts.copy()
    counts[0, 0, 0] += 1
    with pytest.raises(cb.InvalidInput, match=r"contradicts \[a,b\], \[b,c\], \[a,c\]") as caught:
        cb.bounds(RELEASE, start=cb.Table(DOMAIN, counts))
    assert not any(c.isdigit() for c in str(caught.value).partition("N=")[0])
    with pytest.raises(cb.InvalidInput, match="same variables and levels"):
        cb.bounds(RELEASE, start=TABLE.margin(["a", "b"]))
    for wrong in (3, TABLE.counts, "table"):
        with pytest.raises(cb.InvalidInput, match="start="):
            cb.attainable(RELEASE, start=wrong)
    with pytest.raises(cb.InvalidInput, match="contradicts the release"):
        Search(RELEASE, DOMAIN.names).start_from(counts.ravel())


def test_workers_are_a_number_or_an_executor():
    for wrong in (0, -1, True, 2.0, 10**6, "processes", ThreadPoolExecutor):
        with pytest.raises(cb.InvalidInput, match="workers="):
            cb.Budget(workers=wrong)


@pytest.mark.parametrize("wrong", [0, -1, 0.0, float("nan"), float("inf"), "3", True, 1j])
def test_seconds_are_above_zero_and_finite(wrong):
    with pytest.raises(cb.InvalidInput, match="seconds="):
        cb.Budget(seconds=wrong)
    with pytest.raises(cb.InvalidInput, match="seconds="):
        cb.bounds(RELEASE, seconds=wrong)


def test_a_budget_may_be_longer_than_any_timer():
    assert cb.bounds(RELEASE, seconds=1e300).settled


def test_a_budget_is_given_once():
    with pytest.raises(cb.InvalidInput, match="seconds=3 beside a budget"):
        cb.bounds(RELEASE, budget=cb.Budget(), seconds=3)
    with pytest.raises(cb.InvalidInput, match="budget=3"):
        cb.bounds(RELEASE, budget=3)


def test_work_that_cannot_be_resumed_keeps_no_checkpoint(tmp_path):
    with pytest.raises(cb.InvalidInput, match="cannot be resumed"):
        cb.posterior(RELEASE, budget=cb.Budget(checkpoint=tmp_path / "x"))
    assert not (tmp_path / "x").exists()


def test_memory_is_limited():
    with pytest.raises(cb.InvalidInput, match="too little"):
        cb.Budget(memory="1MB")
    with pytest.raises(cb.InvalidInput, match="memory="):
        cb.Budget(memory=True)
    assert cb.bounds(RELEASE, budget=cb.Budget(memory="4GiB")).evidence is cb.Evidence.EXACT


def test_a_number_of_workers_is_processes_of_this_machine():
    alone = cb.attainable(RELEASE)
    answer = cb.attainable(RELEASE, budget=cb.Budget(workers=2))
    # The processes have ended with the call; what is asked for later is worked out here.
    assert dict(answer.items()) == dict(alone.items())


def test_the_clock_starts_with_each_call():
    budget = cb.Budget(seconds=60)
    assert budget.deadline is None
    for _ in range(2):
        assert cb.bounds(RELEASE, budget=budget).evidence is cb.Evidence.EXACT


def test_listeners_must_be_callable():
    for ask in (cb.bounds, cb.attainable):
        with pytest.raises(cb.InvalidInput, match="progress="):
            ask(RELEASE, budget=cb.Budget(progress=3))


# Sets with unknown numbers -----------------------------------------------------------------------

SOME = cb.ValueSet([(3, 5, 1)], unknown=[(7, 9, 2)])
NONE = cb.ValueSet([], unknown=[(2, 4, 1)])
ENDLESS = cb.ValueSet([(3, 3, 1)], unknown=[(4, None, 1)])


def test_membership_needs_only_the_number_asked_for():
    assert 4 in SOME
    assert 6 not in SOME
    assert 8 not in SOME
    assert "4" not in SOME
    for value in (7, 9):
        with pytest.raises(cb.Unsettled):
            assert value in SOME
    with pytest.raises(cb.Unsettled):
        assert 10**9 in ENDLESS
    assert 2 not in ENDLESS


@pytest.mark.parametrize(
    "use", [len, list, set, lambda s: s.size, lambda s: s == {3, 4, 5}, lambda s: list(reversed(s))]
)
def test_what_needs_every_number(use):
    for values in (SOME, NONE, ENDLESS):
        with pytest.raises(cb.Unsettled, match=r"known, \.possible and \.unknown"):
            use(values)


def test_equality_needs_both_sides():
    settled = cb.ValueSet([(3, 5, 1)])
    for one, other in ((SOME, settled), (settled, SOME), (SOME, SOME)):
        with pytest.raises(cb.Unsettled):
            assert one == other
    assert SOME != "text"


def test_ends():
    assert SOME.smallest == 3
    with pytest.raises(cb.Unsettled):
        assert SOME.largest
    below = cb.ValueSet([(3, 5, 1)], unknown=[(1, 2, 1)])
    assert below.largest == 5
    with pytest.raises(cb.Unsettled):
        assert below.smallest
    inside = cb.ValueSet([(3, 9, 3)], unknown=[(4, 4, 1)])
    assert (inside.smallest, inside.largest) == (3, 9)
    with pytest.raises(cb.Unsettled):
        assert NONE.smallest
    with pytest.raises(cb.Unsettled):
        assert ENDLESS.largest


def test_known_and_possible():
    assert not SOME.settled
    assert SOME.known == {3, 4, 5}
    assert SOME.known.settled
    assert SOME.possible == {3, 4, 5, 7, 9}
    assert SOME.unknown == ((7, 9, 2),)
    assert NONE.possible == {2, 3, 4}
    assert ENDLESS.possible.unbounded
    assert not ENDLESS.known.unbounded
    settled = cb.ValueSet([(3, 5, 1)])
    assert settled.settled
    assert settled.possible is settled


def test_unknown_numbers_as_text_and_lists():
    assert SOME.text() == "3-5; perhaps 7, 9"
    assert NONE.text() == "perhaps 2-4"
    assert ENDLESS.text() == "3; perhaps 4-"
    assert repr(SOME) == "ValueSet(3-5; perhaps 7, 9)"
    assert cb.ValueSet([(0, 8, 2)], unknown=[(1, 7, 2)]).text(2) == "0, 2, ...; perhaps 1, 3, ..."
    assert SOME.to_list() == [[3, 5, 1]]
    assert cb.ValueSet([], unknown=[(2, 8, 4)]).unknown == ((2, 6, 4),)


def test_attainable_values_under_a_spent_budget(spent):
    found = cb.attainable(RELEASE, seconds=5)
    open_cells = [(labels, v) for labels, v in found.items() if not v.settled]
    assert open_cells
    labels, values = open_cells[0]
    assert values.known
    unknown = values.unknown[0][0]
    with pytest.raises(cb.InvalidInput, match="not known to be attainable"):
        found.witness(*labels, value=unknown)
    frame = found.to_frame()
    row = list(DOMAIN.cells()).index(labels)
    assert frame["lower"][row] == values.possible.smallest
    assert frame["upper"][row] == values.possible.largest
    assert frame["size"].isna()[row]
    assert "perhaps" in frame["values"][row]
    assert "perhaps" in str(found)
    entry = found.to_dict()["cells"][row]
    assert entry["size"] is None
    assert entry["values"] is None
    assert entry["unknown"] == [list(one) for one in values.unknown]
    json.dumps(found.to_dict())


# Verdicts ----------------------------------------------------------------------------------------


def risk(values, count=2, **known):
    return CellRisk(("x",), values, count, **known)


def test_cells_that_are_not_settled():
    two = cb.ValueSet([(2, 3, 1)], unknown=[(4, 9, 1)])
    assert risk(two).disclosed is False
    one = cb.ValueSet([(2, 2, 1)], unknown=[(4, 9, 1)])
    assert risk(one).disclosed is None
    assert risk(NONE).disclosed is None
    only = cb.ValueSet([], unknown=[(2, 2, 1)])
    assert risk(only).disclosed is True


def test_narrow_cells_that_are_not_settled():
    assert risk(cb.ValueSet([(2, 3, 1)], unknown=[(4, 4, 1)])).narrow
    assert not risk(cb.ValueSet([(2, 3, 1)], unknown=[(4, 5, 1)])).narrow
    assert not risk(cb.ValueSet([(2, 2, 1)], unknown=[(3, 3, 1)])).narrow


# Reports and the command line --------------------------------------------------------------------


def validated(text):
    file = resources.files("cellbounds.report") / "schemas" / "audit-2.schema.json"
    schema = json.loads(file.read_text("utf-8"))
    content = json.loads(text)
    jsonschema.Draft202012Validator(schema).validate(content)
    return content


@pytest.fixture
def table(tmp_path):
    lines = [",".join([*map(str, labels), str(int(TABLE[labels]))]) for labels in DOMAIN.cells()]
    path = tmp_path / "table.csv"
    path.write_text("a,b,c,count\n" + "\n".join(lines) + "\n", "utf-8")
    return path


MARGINS = ("[a,b]", "[b,c]", "[a,c]")
CELLS = ("--over", "a,b,c")  # the margins show small counts


def test_an_undecided_audit_is_3(run, table, spent):
    code, out, err = run("audit", table, *MARGINS, *CELLS)
    assert (code, err) == (3, "")
    assert out.startswith("UNDECIDED under the policy small-counts: no rule is broken for certain")
    assert "but 17\n  findings could not be decided" in out
    assert "cells are not settled" in out
    assert "perhaps" in out
    assert " ? " in out
    listed = out.partition("\nCells that could not be decided, the most exposed first\n")[2]
    assert listed.partition("\n\n")[0].count("perhaps") == 17  # as many as the first line says


def test_json_of_an_undecided_audit_fits_its_schema(run, table, spent):
    code, out, _ = run("audit", table, *MARGINS, *CELLS, "--format", "json")
    content = validated(out)
    assert code == 3
    assert content["verdict"] == "undecided"
    assert content["evidence"] == "outer"
    open_cells = [one for one in content["cells"] if "unknown" in one]
    assert content["summary"]["unsettled"] == len(open_cells) > 0
    undecided = [one for one in content["cells"] if one["outcome"] == "undecided"]
    assert content["summary"]["undecided"] == len(undecided) > 0
    for one in open_cells:
        assert one["size"] is None
        assert one["values"] is None
        assert one["lower"] <= one["count"] <= one["upper"]
        assert any(first <= one["count"] <= last for first, last, _ in one["runs"])
    for one in undecided:
        assert one["disclosed"] is None
        assert one["count"] <= 3
    settled = [one for one in content["cells"] if "unknown" not in one]
    assert all(one["size"] == len(one["values"]) for one in settled)


def test_csv_of_an_undecided_audit(run, table, spent):
    code, out, _ = run("audit", table, *MARGINS, *CELLS, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == 3
    marks = {row["mark"] for row in rows}
    assert "undecided" in marks
    for row in rows:
        if row["mark"] == "undecided":
            assert row["size"] == "?"
            assert "perhaps" in row["values"]
            assert int(row["lower"]) <= int(row["count"]) <= int(row["upper"])


def test_an_attack_that_settled_nothing(run, tmp_path, monkeypatch):
    monkeypatch.setattr(Search, "first_table", always(False))
    monkeypatch.setattr(Search, "_add_if_near", always(False))
    path = tmp_path / "release.toml"
    RELEASE.write(path)
    code, out, _ = run("attack", path, "--format", "json", "--seconds", "1")
    content = validated(out)
    assert code == 1  # the margins show small counts, for all to see
    assert content["summary"]["unsettled"] == 27
    assert all(one["runs"] == [] and one["unknown"] for one in content["cells"])
    assert run("attack", path, "--seconds", "1", "--over", "a,b,c")[0] == 3


def test_undecided_cells_come_first_when_there_are_many():
    domain = cb.Domain({"a": [f"x{k}" for k in range(80)]})
    settled, open_set = cb.ValueSet([(0, 9, 1)]), cb.ValueSet([(2, 2, 1)], unknown=[(3, 9, 1)])
    release = cb.Release(domain, [cb.Total(200)])
    answer = cb.attainable(release)
    table = cb.Table(domain, [2] * 79 + [42])
    verdict = cb.judge(table, release)
    cells = tuple(
        CellRisk((f"x{k}",), open_set, 2, outcome=cb.Outcome.UNDECIDED)
        if k == 77
        else CellRisk((f"x{k}",), settled, 2)
        for k in range(80)
    )
    text = render(Audit(release, answer, verdict, cells, table, True), "table")
    first = text[: text.index("\nx0 ")].splitlines()
    assert first[-1].startswith("x77")
    assert "... 40 more cells" in text


@pytest.mark.parametrize("command", ["audit", "attack"])
def test_seconds_reach_the_search(run, table, tmp_path, monkeypatch, command):
    given = []
    settle = strategy.settle_all

    def settled(search, budget):
        given.append(budget.left)
        return settle(search, budget)

    monkeypatch.setattr(solutions, "settle_all", settled)
    path = tmp_path / "release.toml"
    RELEASE.write(path)
    arguments = ("audit", table, *MARGINS) if command == "audit" else ("attack", path)
    run(*arguments, "--seconds", "77")
    assert 77 / 2 < given[0] < 77
    given.clear()
    run(*arguments)
    assert 300 < given[0] < 600


def test_jobs_change_nothing(run, table, tmp_path, monkeypatch):
    alone = run("audit", table, *MARGINS, "--format", "csv")
    used = []
    original = strategy.shared

    def shared(executor, work, arguments):
        used.append(type(executor).__name__)
        return original(executor, work, arguments)

    monkeypatch.setattr(strategy, "QUICK_WALK", 0)
    monkeypatch.setattr(strategy, "shared", shared)
    monkeypatch.setattr(Search, "by_pushing", always(0))
    shared_out = run("audit", table, *MARGINS, "--format", "csv", "--jobs", "2")
    assert shared_out[:2] == alone[:2]
    assert "Processes" in used


@pytest.mark.parametrize("jobs", ["0", "-2", "many"])
def test_jobs_are_one_or_more(run, table, jobs):
    code, out, err = run("audit", table, *MARGINS, "--jobs", jobs)
    assert (code, out) == (2, "")
    assert "--jobs" in err


# Work that does not look at the clock ------------------------------------------------------------


def test_work_that_is_late_is_stopped():
    @budgeted
    def dream(budget=UNLIMITED, seconds=None):
        time.sleep(60)

    begun = time.monotonic()
    with pytest.raises(cb.Unsettled, match=r"the budget of 0\.1 seconds was spent"):
        dream(seconds=0.1)
    assert time.monotonic() - begun < 60
    # Nothing rings later on, and the next one is watched as well.
    with pytest.raises(cb.Unsettled):
        dream(seconds=0.1)
    assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL


def test_who_uses_the_alarm_keeps_it():
    rung = []
    before = signal.signal(signal.SIGALRM, lambda *_: rung.append(1))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        assert cb.bounds(RELEASE, seconds=60).evidence is cb.Evidence.EXACT
        while not rung:
            time.sleep(0.01)
    finally:
        signal.signal(signal.SIGALRM, before)


def test_other_threads_keep_budgets_without_an_alarm():
    with ThreadPoolExecutor(1) as executor:
        answer = executor.submit(cb.bounds, RELEASE, seconds=60).result()
    assert answer.evidence is cb.Evidence.EXACT


def test_the_alarm_never_escapes():
    """Work that ends just when it rings."""
    for late in np.linspace(-0.0005, 0.0005, 41).tolist():
        try:
            with Alarm(time.monotonic() + 0.06, "late"):
                ends = time.monotonic() + 0.06 + late
                while time.monotonic() < ends:
                    pass
        except cb.Unsettled as problem:
            assert str(problem) == "late"
        assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
        assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_a_watchdog_of_the_program_is_left_alone():
    signal.setitimer(signal.ITIMER_REAL, 100)
    try:
        assert cb.bounds(RELEASE, seconds=5).evidence is cb.Evidence.EXACT
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 50
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def test_work_that_a_module_asks_for_when_it_is_imported_is_stopped(tmp_path):
    (tmp_path / "late_module.py").write_text(
        "import time, cellbounds as cb\n"
        "from cellbounds.runtime.interrupts import Alarm\n"
        "try:\n"
        "    with Alarm(time.monotonic() + 0.1, 'late'):\n"
        "        time.sleep(60)\n"
        "except cb.Unsettled as problem:\n"
        "    print(problem)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", "import late_module"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )
    assert (done.stdout, done.stderr) == ("late\n", "")


def test_ctrl_c_is_not_lost_beside_the_alarm():
    def both():
        signal.raise_signal(signal.SIGALRM)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt), Alarm(time.monotonic() + 60, "late"):
        uninterrupted(both)


def test_a_forked_process_has_its_own_alarm():
    with Alarm(time.monotonic() + 60, "late"):
        child = os.fork()
        if not child:
            os._exit(signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_parts_that_are_late_are_left_to_look_at_the_clock():
    """A share of a budget that runs, or of none at all, is no reason to stop everything."""

    @budgeted
    def part(budget=UNLIMITED, seconds=None):
        time.sleep(0.8)
        return budget.spent

    @budgeted
    def whole(budget=UNLIMITED, seconds=None):
        return part(budget=budget.share(most=0.05))

    assert whole()
    assert whole(seconds=60)


def test_who_asked_for_a_part_that_is_stopped_goes_on_with_the_rest():
    @budgeted
    def part(budget=UNLIMITED, seconds=None):
        time.sleep(60)

    @budgeted
    def whole(budget=UNLIMITED, seconds=None):
        with pytest.raises(cb.Unsettled, match="was spent"):
            part(budget=budget)
        return "the rest"

    assert whole(seconds=0.1) == "the rest"


def stuck(_done, _total):
    """A listener who does not come back, unless somebody stops him."""
    ends = time.monotonic() + 30
    while time.monotonic() < ends:
        time.sleep(0.005)
    raise AssertionError("nobody stopped it")


@pytest.fixture
def nothing_judged(monkeypatch):
    """Judging does not come back, unless somebody stops it."""

    def prepared(*_, **__):
        stuck(0, 0)

    monkeypatch.setattr(judging, "cases_of", prepared)


def test_a_verdict_that_is_late_is_undecided_everywhere(nothing_judged):
    known = cb.Known(["a"], lower=1)
    verdict = cb.judge(
        table=TABLE, release=RELEASE, policy="strict", over=["b", "a"], knows=[known], seconds=0.05
    )
    assert (verdict.outcomes == cb.Outcome.UNDECIDED).all()
    assert not verdict.safe and not verdict.broken
    assert "the budget was spent" in " ".join(str(verdict).split())
    assert (verdict.over, verdict.knows) == (("b", "a"), (known,))
    assert {finding.rule for finding in verdict.open} == {
        rule.name for rule in verdict.policy.rules
    }


def test_what_broke_a_rule_before_it_was_late_stays_broken(monkeypatch):
    whole = cb.judge(table=TABLE, release=TABLE_ITSELF)
    assert whole.broken

    def late(*_, **__):
        raise Late

    policy = cb.policies.read("strict")
    last = policy.rules[-1]
    monkeypatch.setattr(type(last), "findings", late)
    verdict = cb.judge(table=TABLE, release=TABLE_ITSELF, policy=policy, seconds=60)
    assert verdict.broken
    assert last.name in {finding.rule for finding in verdict.open}
    assert [verdict.blame(finding) for finding in verdict.open] == [()] * len(verdict.open)
    assert cb.Outcome.SAFE not in set(verdict.outcomes.flat)


@pytest.mark.parametrize("search", ["explore", "safe_margins", "suggest"])
def test_searches_that_are_late_say_what_is_open(search):
    budget = cb.Budget(0.05, progress=stuck)
    if search == "explore":
        frontier = cb.explore(TABLE, response="c", budget=budget)
        assert not frontier.complete
    elif search == "safe_margins":
        sets = cb.safe_margins(TABLE, budget=budget)
        assert not sets.complete
    else:
        suggestions = cb.suggest(table=TABLE, release=TABLE_ITSELF, budget=budget)
        assert not suggestions.searched.complete


def test_a_ledger_stops_judging_and_writes_nothing(tmp_path, nothing_judged):
    ledger = cb.Ledger.create(tmp_path / "a.ledger", TABLE, who="ann")
    answer = ledger.ask(RELEASE, table=TABLE, seconds=0.05)
    assert answer.reason.startswith("UNDECIDED")
    with pytest.raises(NotSafe, match="UNDECIDED"):
        ledger.commit(RELEASE, table=TABLE, why="late", who="ann", seconds=0.05)
    assert [entry.kind for entry in ledger.history()] == ["opened"]


def test_parts_that_are_late_before_they_have_a_table_leave_proven_bounds(monkeypatch):
    """Two parts that share b: neither comes to a table, and what is proven encloses."""
    domain = cb.Domain({name: ["0", "1", "2"] for name in "abcde"})
    counts = np.random.default_rng(3).integers(0, 4, size=(3,) * 5)
    table = cb.Table(domain, counts)
    release = cb.publish(table, "[a,b]", "[a,c]", "[b,c]", "[c,d]", "[d,e]", "[c,e]")
    truth = cb.bounds(release)
    assert "glued" in truth.method
    monkeypatch.setattr(Search, "first_table", lambda *_: stuck(0, 0))
    answer = cb.bounds(release, seconds=0.05)
    assert answer.evidence is cb.Evidence.OUTER
    assert (answer.lower <= truth.lower).all() and (answer.upper >= truth.upper).all()


def test_a_frontier_that_is_late_leaves_the_rest_undecided(tmp_path, monkeypatch):
    ledger = cb.Ledger.create(tmp_path / "a.ledger", TABLE, who="ann")
    assert ledger.frontier(["[a]", "[b]"], table=TABLE, seconds=60).judgements
    monkeypatch.setattr(Budget, "overdue", property(always(True)))
    late = ledger.frontier(["[a]", "[b]"], table=TABLE, seconds=60)
    assert (late.judgements, late.undecided) == (0, ("[a]", "[b]"))


def test_work_is_overdue_when_it_would_have_been_stopped():
    assert not UNLIMITED.overdue
    assert not Budget.of(60).overdue
    assert not Budget.until(time.monotonic() - 0.1).overdue
    assert Budget.until(time.monotonic() - 10).overdue


def test_a_report_that_is_late_says_what_was_not_worked_out():
    known = [cb.Known(["a"], lower=1)]
    limits = ReportLimits(attainable=lambda *_, **__: stuck(0, 0))
    late = build_report(audit(TABLE, RELEASE, knows=known), seconds=0.05, limits=limits)
    content = late.to_dict()
    assert "was spent" in str(content["public"])


def test_a_ledger_that_is_late_while_it_writes_has_written(tmp_path):
    cb.Ledger.create(tmp_path / "a.ledger", TABLE, who="ann")
    writing = []

    def slow():
        writing.append(time.sleep(0.8))
        return datetime.now(UTC)

    ledger = cb.Ledger.open(tmp_path / "a.ledger", clock=slow)
    entry = ledger.commit("[a]", table=TABLE, why="slow", who="ann", already_out=True, seconds=0.05)
    assert writing and entry.number == 2
    assert ledger.verify().intact


def test_the_alarm_leaves_no_lock_of_a_ledger(tmp_path):
    """It rings at many lines of what reads the database; nobody else has to wait afterwards."""
    path = tmp_path / "a.ledger"
    ledger = cb.Ledger.create(path, TABLE, who="ann")
    other = cb.Ledger.open(path, wait=0.05)

    def asked(number):
        seen = 0

        def ring(frame, event, _):
            nonlocal seen
            if event == "line" and "sqlalchemy" in frame.f_code.co_filename:
                seen += 1
                if seen == number:
                    signal.raise_signal(signal.SIGALRM)
            return ring

        sys.settrace(ring)
        try:
            ledger.ask("[a]", table=TABLE, seconds=60)
        except cb.Unsettled:
            pass
        finally:
            sys.settrace(None)
        return seen

    lines, rung = asked(0), 0
    gc.disable()  # who collects garbage closes what was forgotten, but not in time
    try:
        for number in range(1, lines, lines // 60):
            rung += asked(number) >= number
            other.set_policy("small-counts", table=TABLE, who="bob", why=str(number))
    finally:
        gc.enable()
    assert rung > 40


def test_a_ledger_records_what_was_not_decided_in_time(tmp_path):
    counts = np.random.default_rng(2).integers(0, 9, size=(40, 10, 10))
    sizes = dict(zip("abc", counts.shape, strict=True))
    domain = cb.Domain({name: [str(k) for k in range(size)] for name, size in sizes.items()})
    table = cb.Table(domain, counts)
    ledger = cb.Ledger.create(tmp_path / "a.ledger", table, who="ann")
    release = cb.publish(table, "[a,b]", "[b,c]", "[a,c]")
    ledger.commit(release, table=table, why="it is out", already_out=True, seconds=0.01)
    assert ledger.ask(release, table=table, record=True, seconds=0.01).outcome is not None
    assert [entry.kind for entry in ledger.history()] == ["opened", "released", "asked"]


def test_listing_keeps_its_budget():
    release = cb.publish(cb.datasets.read("mp3"), "[mp3|gender]")
    listed = cb.tables(release, seconds=60)
    assert len(list(listed)) == cb.count_tables(release)
    late = cb.tables(release, budget=Budget.until(time.monotonic() - 1))
    with pytest.raises(cb.Unsettled):
        list(late)


def test_a_search_stopped_anywhere_has_a_table_for_all_that_it_claims():
    """The alarm rings at each line of the function that keeps tables, once in each run."""
    code, stops = TablePool.add.__code__, []
    for number in range(1, 60):
        seen = 0

        def ring(frame, event, _, number=number):
            nonlocal seen
            if frame.f_code is not code:
                return None
            if event == "line":
                seen += 1
                if seen == number:
                    raise Late
            return ring

        sys.settrace(ring)
        try:
            answer = cb.bounds(RELEASE, seconds=60)
        finally:
            sys.settrace(None)
        stops.append(seen >= number)
        for side, at in enumerate(("lower", "upper")):
            attained = (answer.attained_lower, answer.attained_upper)[side]
            for labels in RELEASE.domain.cells():
                index = RELEASE.domain.index(labels)
                if attained[index] is not None and answer.settled[side][index]:
                    assert answer.witness(*labels, at=at)[labels] == attained[index]
    assert sum(stops) > 15
