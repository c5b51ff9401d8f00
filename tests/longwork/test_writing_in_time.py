"""What is written beside an answer: within the budget, or left out, which is said."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import numba
import numpy as np
import pytest

import cellbounds as cb
from cellbounds.cli import audits, outputs
from cellbounds.disclosure import auditing
from cellbounds.disclosure.policies import Outcome, attacker
from cellbounds.report.audit_text import render
from cellbounds.report.ledger_page import ledger_page
from cellbounds.results import Attainable
from cellbounds.runtime import compilation
from cellbounds.runtime.budget import Budget
from cellbounds.runtime.interrupts import Alarm, Late, uninterrupted
from cellbounds.synthetic.synthetic_tables import Synthetic

TABLE = cb.datasets.read("delinquent")
UNSAFE = cb.publish(TABLE, "[education|county]@2")
SPENT = 1e-9
"""Seconds that are over before anything is done."""


@pytest.fixture
def delinquent(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    assert run("example", "delinquent")[0] == 0
    return tmp_path


def spent():
    return Budget.until(time.monotonic() - 60)


# --- reports ------------------------------------------------------------------------------------


def test_a_report_without_time_says_what_is_not_worked_out():
    content = cb.audit(TABLE, UNSAFE).report(seconds=SPENT).to_dict()
    internal = content["internal"]
    assert internal["verdict"]["outcome"] == "unsafe"
    assert len(internal["cells"]) == 16
    assert content["public"]["posteriors"]["said"] == "not worked out within the budget"
    assert internal["blame"] == {
        "said": "the time was spent; 6 findings more not worked out",
        "findings": [],
    }


def test_posteriors_end_with_the_budget(monkeypatch):
    """Those that are not plotted by then are left out, and that is said."""
    release = cb.publish(TABLE, "[education|county]@1")
    budget, clock = Budget.of(600), iter([False] * 3)
    monkeypatch.setattr(Budget, "spent", property(lambda _: next(clock, True)))
    posteriors = cb.audit(TABLE, release).report(budget=budget).to_dict()["public"]["posteriors"]
    assert posteriors["said"].endswith("the others are not worked out: the budget is spent")
    assert len(posteriors["cells"]) < 12


def test_the_page_of_a_ledger_without_time_has_its_entries(tmp_path):
    ledger = cb.Ledger.create(tmp_path / "delinquent.ledger", TABLE, who="ann")
    ledger.commit("[education|county]@1", table=TABLE, who="ann", why="yearbook")
    page = ledger_page(ledger, budget=spent())
    assert "yearbook" in page
    assert "not worked out: the budget is spent" in page
    assert "not worked out" not in ledger_page(ledger)


# --- certificates -------------------------------------------------------------------------------


@pytest.mark.parametrize("ask", [cb.bounds, cb.attainable])
def test_a_certificate_without_time_has_the_bounds_and_can_be_verified(ask):
    answer = ask(UNSAFE)
    whole, hasty = answer.certificate(), answer.certificate(seconds=SPENT)
    for cell, its in zip(whole["cells"], hasty["cells"], strict=True):
        for complete, bare in ((cell[side], its[side]) for side in ("lower", "upper")):
            assert (bare["proven"], bare["attained"]) == (complete["proven"], complete["attained"])
            assert bare["witness"] is None
            assert complete["witness"] is not None
    assert hasty["witnesses"] == []
    assert cb.verify_certificate(hasty).ok


def test_a_certificate_that_is_stopped_keeps_what_was_found(monkeypatch):
    answer = cb.bounds(UNSAFE)
    budget, clock = Budget.of(600), iter([False] * 5)
    monkeypatch.setattr(Budget, "spent", property(lambda _: next(clock, True)))
    certificate = answer.certificate(budget=budget)
    known = [cell[side]["witness"] for cell in certificate["cells"] for side in ("lower", "upper")]
    found = [witness is not None for witness in known]
    assert found == sorted(found, reverse=True)
    assert 0 < sum(found) <= 5
    monkeypatch.undo()
    assert cb.verify_certificate(certificate).ok


def test_a_verdict_stands_without_its_certificate(delinquent, run, monkeypatch):
    def late(*_, **__):
        raise cb.Unsettled("the budget was spent")

    monkeypatch.setattr(audits, "bounds", late)
    words = ["audit", "delinquent.csv", "[education|county]@2"]
    plain = run(*words)
    with_it = run(*words, "--certificate", "proof.json", "--public")
    assert (with_it[0], with_it[1].splitlines()[:3]) == (plain[0], plain[1].splitlines()[:3])
    assert with_it[2] == "proof.json was not written: the budget was spent\n"
    assert not (delinquent / "proof.json").exists()


# --- charts, comparisons ------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["svg", "png", "html"])
@pytest.mark.parametrize(
    "words",
    [
        ["posterior", "delinquent.csv", "[education|county]@1"],
        ["explore", "delinquent.csv", "--response", "education", "--digits", "1"],
    ],
)
def test_a_chart_that_takes_too_long_is_not_drawn(delinquent, run, monkeypatch, words, suffix):
    monkeypatch.setitem(outputs.DRAWING, f".{suffix}", 1e6)
    code, out, err = run(*words, "--seconds", "60", "--plot", f"chart.{suffix}")
    assert (code, bool(out)) == (0, True)
    assert err == f"chart.{suffix} was not written: the budget is spent; give more seconds\n"
    assert not (delinquent / f"chart.{suffix}").exists()


def test_what_a_budget_affords():
    budget = Budget.of(10)  # it may end after 1.1 times as long and a second
    assert budget.affords(11)
    assert not budget.affords(13)
    assert Budget().affords(1e9)
    assert not spent().affords(0)


def test_synthetic_tables_are_written_without_their_comparison(delinquent, run, monkeypatch):
    def late(*_, **__):
        raise cb.Unsettled("the budget was spent")

    monkeypatch.setattr(Synthetic, "compare", late)
    words = ["synthesize", "delinquent.csv", "[county]", "[education]", "-o", "made", "--compare"]
    code, out, err = run(*words)
    assert (code, bool(out)) == (0, True)
    assert err.startswith("the comparison was not written: the budget was spent\n")
    assert (delinquent / "made" / "synthetic-1.csv").exists()


# --- audits -------------------------------------------------------------------------------------


def test_an_audit_that_is_late_says_so_in_its_verdict(monkeypatch):
    def late(*_, **__):
        raise cb.Unsettled("the budget was spent")

    for module in (auditing, attacker):
        monkeypatch.setattr(module, "attainable", late)
    found = cb.audit(TABLE, UNSAFE, seconds=60)
    assert found.verdict.outcome is Outcome.UNDECIDED
    assert found.cells == ()
    assert found.verdict.notes[-1] == "16 of 16 cells are not listed: they were not worked out"
    assert found.answer["Alpha", "Low"].text() == "perhaps 0-"
    assert found.answer.ends()[0][1][0, 0] is cb.UNBOUNDED
    with pytest.raises(cb.Unsettled, match="nothing was worked out"):
        found.answer.certificate()
    monkeypatch.undo()
    report = found.report()
    assert report.to_dict()["internal"]["verdict"]["outcome"] == "undecided"
    assert "not listed" in report.to_html()
    assert found.to_dict()["cells"] == []
    assert "no cell was worked out" in render(found, "table")


def test_cells_that_were_listed_in_time_stay():
    def progress(done, total):
        if (done, total) == (3, 16):
            raise Late

    found = cb.audit(TABLE, UNSAFE, budget=cb.Budget(progress=progress))
    assert [cell.labels for cell in found.cells] == list(TABLE.domain.cells())[:3]
    assert found.verdict.notes[-1] == "13 of 16 cells are not listed: they were not worked out"
    content = found.report().to_dict()
    assert len(content["public"]["cells"]) == len(content["internal"]["cells"]) == 3
    assert "13 cells not listed: not worked out" in content["public"]["method"]["said"]
    assert "posterior_mean_hellinger" not in json.dumps(content).replace(
        '"posterior_mean_hellinger": null', ""
    )
    assert "<html" in found.report().to_html()


# --- the alarm and compiled functions -----------------------------------------------------------


def test_the_alarm_rings_between_compiled_calls():
    """Though it always rings within one, where nothing may be raised."""
    with pytest.raises(cb.Unsettled, match="late"), Alarm(time.monotonic() + 0.05, "late"):
        for _ in range(200):
            uninterrupted(time.sleep, 0.06)


def test_an_alarm_that_nothing_can_raise_rings_again_without_a_word(monkeypatch):
    """As in the midst of removing an object, from which nothing is raised."""
    told = []
    monkeypatch.setattr(sys, "unraisablehook", told.append)

    class Removed:
        def __del__(self):
            signal.raise_signal(signal.SIGALRM)

    with pytest.raises(cb.Unsettled, match="late"), Alarm(time.monotonic() + 60, "late"):
        Removed()
        time.sleep(60)
    assert told == []


def test_compiling_can_be_stopped(monkeypatch, tmp_path):
    """It takes seconds, and goes on in another process."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))

    class Endless:
        def __init__(self, maker):
            pass

        def ask(self, *_):
            time.sleep(60)

    @compilation.compiled
    def doubled(number):
        return 2 * number

    monkeypatch.setattr(compilation, "Isolated", Endless)
    with pytest.raises(cb.Unsettled, match="late"), Alarm(time.monotonic() + 0.1, "late"):
        doubled(np.int64(3))
    assert doubled(np.int64(3)) == 6  # nobody waits: it is compiled here


APART = """import time
import numpy as np
from cellbounds.runtime.compilation import random_unit
from cellbounds.runtime.interrupts import Alarm
with Alarm(time.monotonic() + 600, "late"):
    print(random_unit(np.zeros(1, dtype=np.uint64)))
stats = random_unit._dispatcher.stats
print(len(stats.cache_hits), len(stats.cache_misses))
"""


def test_functions_are_compiled_apart_and_kept(tmp_path):
    """By another process: this one finds them on disk."""
    done = subprocess.run(
        [sys.executable, "-c", APART],
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    number, counts = done.stdout.splitlines()
    assert 0 <= float(number) < 1
    assert counts == "1 0"


def test_bounds_of_many_cells_are_listed_before_all_is_worked_out(monkeypatch):
    gathered = []

    def progress(done, total):
        if gathered and (done, total) == (150, 512):
            raise Late

    monkeypatch.setattr(auditing, "MOST_LATE", 100)
    monkeypatch.setattr(attacker, "LARGE", 100)
    monkeypatch.setattr(Attainable, "gather", lambda _: gathered.append(True))
    counts = np.random.default_rng(1).poisson(4, size=(8, 8, 8))
    table = cb.Table(cb.Domain({name: range(8) for name in "ABC"}), counts)
    release = cb.publish(table, "[A,B]", "[A,C]", "[B,C]")
    found = cb.audit(table, release, budget=cb.Budget(seconds=60, progress=progress))
    assert [cell.labels for cell in found.cells] == list(table.domain.cells())
    assert not any("not listed" in note for note in found.verdict.notes)
    assert all(cell.disclosed is not None for cell in found.cells if 1 <= cell.count <= 3)
