"""The benchmarks as a product: targets, resuming, failures, peers that agree. No time is asserted.

The figures in `recorded_benchmarks` come from a run of the quick profile.
"""

from __future__ import annotations

import doctest
import importlib
import json
import shutil
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
from benchmarks import command, exactly_known, machine, printed, running
from benchmarks.errors import Mismatch, NotThere
from benchmarks.measuring.apart import apart
from benchmarks.measuring.measurement import KERNEL, PAPER, WHOLE_CALL, Measurement
from benchmarks.peers import listing, programs
from benchmarks.peers.per_bound import UNKNOWN, SolverAnswer
from benchmarks.peers.solvers import CPSAT, HIGHS, SOLVERS
from benchmarks.problems import publications, sparse
from benchmarks.problems.instances import Instance
from benchmarks.problems.microdata import records_file
from benchmarks.problems.owned import all_margins
from benchmarks.profiles import full_profile, quick_profile
from benchmarks.report import document, targets_of_bounds, targets_of_scale
from benchmarks.report.judging import NOT_MEASURED
from benchmarks.report.plots import Plots
from benchmarks.results import Results
from benchmarks.running import Section, part
from benchmarks.sections.margins import small
from benchmarks.sections.rates import comparing, growing
from benchmarks.sections.rates import tasks as rate_tasks
from benchmarks.sections.registry import SECTIONS

import cellbounds as cb

RECORDED = Path(__file__).with_name("recorded_benchmarks")
NOWHERE = Path("nowhere")
STAMP = {"profile": "quick", "seed": 4, "machine": ["a machine"], "versions": {"cellbounds": "1"}}
STARTS = {
    "python -c pass": 0.01,
    "import numpy": 0.1,
    "import cellbounds": 0.2,
    "cellbounds --help": 0.3,
    "cellbounds audit": 0.5,
}


@pytest.fixture(scope="module")
def plotting():
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")


def results_with(folder, section, records):
    """Make results of one section up."""
    results = Results(folder)
    results.begin(section, list(records), STAMP)
    for name, record in records.items():
        results.put(section, name, record, 1.0, STAMP)
    return results


# The report


def test_the_report_is_written_from_recorded_figures(tmp_path, plotting):
    profile = quick_profile(NOWHERE)
    written = []
    for number in (1, 2):
        folder = tmp_path / str(number)
        path = document.write_report(profile, Results(RECORDED), SECTIONS, folder, "benchmarks")
        written.append(path.read_text(encoding="utf-8"))
        for image in (folder / "benchmarks").glob("*.svg"):
            ElementTree.parse(image)
            assert f"](benchmarks/{image.name})" in written[0]
    text = written[0]
    assert written[0] == written[1]
    for section in SECTIONS:
        assert f"\n## {section.title}\n" in text
    for target in document.TARGETS:
        assert f"| {target.work} |" in text
    for solver in SOLVERS:
        assert f"| {solver.name} (" in text
    assert "Nothing was measured here." not in text
    for number in ("growth-people", "growth-rows", "growth-columns", "growth-precision"):
        assert f"(benchmarks/{number}.svg)" in text
    for name in ("growth-cells", "rates-table-9", "counting-growth"):
        assert (tmp_path / "1" / "benchmarks" / f"{name}.svg").exists()


def test_a_report_of_nothing_says_so(tmp_path, plotting):
    path = document.write_report(
        quick_profile(NOWHERE), Results(tmp_path / "none"), SECTIONS, tmp_path, "benchmarks"
    )
    text = path.read_text(encoding="utf-8")
    assert f"0 of {len(document.TARGETS)} targets are met, 0 are not" in text
    assert text.count("Nothing was measured here.") == len(SECTIONS)


def test_older_figures_stand_in_and_are_called_so(tmp_path, plotting):
    beside = tmp_path / "benchmarks"
    beside.mkdir()
    older = json.loads((RECORDED / "hour.json").read_text(encoding="utf-8"))
    for kept in older["records"].values():
        kept["stamp"]["versions"]["cellbounds"] = "0.0.9"
    (beside / "hour.json").write_text(json.dumps(older), encoding="utf-8")
    figures = tmp_path / "figures"
    shutil.copytree(RECORDED, figures)
    (figures / "hour.json").unlink()
    results = Results(figures, earlier=beside)
    path = document.write_report(full_profile(NOWHERE), results, SECTIONS, tmp_path, "benchmarks")
    text = path.read_text(encoding="utf-8")
    before, _, hour = text.partition("## Long runs on large tables")
    assert "Measured earlier, with cellbounds 0.0.9." in hour
    assert "Measured earlier" not in before
    assert "given 2.00 s in this profile" in before


def test_figures_of_another_version_do_not_keep_the_rest_from_being_written(tmp_path, plotting):
    figures = tmp_path / "figures"
    shutil.copytree(RECORDED, figures)
    older = json.loads((figures / "margins.json").read_text(encoding="utf-8"))
    for kept in older["records"].values():
        del kept["record"]["seconds"]
    (figures / "margins.json").write_text(json.dumps(older), encoding="utf-8")
    path = document.write_report(
        quick_profile(NOWHERE), Results(figures), SECTIONS, tmp_path, "benchmarks"
    )
    text = path.read_text(encoding="utf-8")
    assert "kept by another version of the benchmarks (KeyError: 'seconds')" in text
    assert "### Growth with N" in text
    (figures / "start.json").write_text('{"format": 0}', encoding="utf-8")
    assert Results(figures).of("start") == {}


# Targets


def rate_records(title, size, seconds):
    """Measurements of one instance, by method."""
    rows = [
        Measurement(title, "made up", method, *size, digits=2, seconds=took)
        for method, took in seconds.items()
    ]
    return {title: rate_tasks.recorded(rows)}


@pytest.mark.parametrize(("theirs", "met"), [(1.01, True), (0.99, False)])
def test_table_9_is_met_from_a_thousand_times_on(tmp_path, theirs, met):
    seconds = {KERNEL: 0.0005, WHOLE_CALL: 0.001, HIGHS.name: theirs, CPSAT.name: 5.0}
    records = rate_records(rate_tasks.TABLE9, (9, 3, 1000), seconds)
    found = targets_of_bounds.table9(results_with(tmp_path, "rates", records))
    assert found.met is met
    assert bool(found.why) is not met


@pytest.mark.parametrize(
    ("size", "theirs", "met"),
    [((100, 50, 10**6), 1.01, True), ((100, 50, 10**6), 0.9, False), ((20, 20, 10**5), 9.0, None)],
)
def test_table_11_is_judged_at_its_largest_size_only(tmp_path, size, theirs, met):
    seconds = {KERNEL: 0.0005, WHOLE_CALL: 0.001, PAPER: theirs}
    records = rate_records(rate_tasks.TABLE11, size, seconds)
    assert targets_of_bounds.table11(results_with(tmp_path, "rates", records)).met is met


@pytest.mark.parametrize(("longer", "met"), [(1.49, True), (1.51, False)])
def test_more_people_may_take_half_as_long_again(tmp_path, longer, met):
    rows = [
        Measurement(growing.IN_PEOPLE, f"{n}", method, 20, 10, n, 2, took, call_bytes=10**6)
        for n, took in ((10**6, 0.001), (10**12, 0.001 * longer))
        for method in (KERNEL, WHOLE_CALL)
    ]
    results = results_with(tmp_path, "growth", {"all": rate_tasks.recorded(rows)})
    assert targets_of_bounds.more_people(results).met is met


def small_record(ways, theirs, asked=128):
    return {
        "part": "small",
        "ways": ways,
        "cells": 64,
        "seconds": 0.01,
        "peers": {CPSAT.name: {"seconds": theirs, "asked": asked, "possible": 128}},
        "steps": [["propagation", 0.001, 3], ["programs", 0.009, 0]],
    }


@pytest.mark.parametrize(("theirs", "met"), [(0.101, True), (0.099, False)])
def test_czech6_is_met_from_ten_times_on(tmp_path, theirs, met):
    results = results_with(tmp_path, "margins", {"small: czech6": small_record(3, theirs)})
    found = targets_of_bounds.czech6(results)
    assert found.met is met
    assert ("programs" in found.why) is not met
    assert targets_of_bounds.cubes(results) == NOT_MEASURED


@pytest.mark.parametrize(("theirs", "met"), [((0.5, 2.01), True), ((0.5, 1.9), False)])
def test_cubes_are_met_in_the_geometric_mean(tmp_path, theirs, met):
    records = {f"small: {k}": small_record(2, took) for k, took in enumerate(theirs)}
    assert targets_of_bounds.cubes(results_with(tmp_path, "margins", records)).met is met


def test_samples_of_bounds_are_not_judged(tmp_path):
    records = {f"small: {k}": small_record(2 + k, 50.0, asked=24) for k in (0, 1)}
    results = results_with(tmp_path, "margins", records)
    assert targets_of_bounds.cubes(results).met is None
    assert targets_of_bounds.czech6(results).met is None
    rows = [
        Measurement(rate_tasks.TABLE9, "made up", method, 9, 3, 1000, 2, 9.0, asked=4, possible=54)
        for method in (KERNEL, WHOLE_CALL, HIGHS.name)
    ]
    results = results_with(tmp_path, "rates", {"all": rate_tasks.recorded(rows)})
    assert targets_of_bounds.table9(results).met is None


@pytest.mark.parametrize(("seconds", "met"), [(0.02, True), (0.021, False)])
def test_decomposable_margins_are_met_within_twenty_times(tmp_path, seconds, met):
    row = {"part": "chain", "cells": 8, "seconds": seconds}
    row |= {"numpy_seconds": 0.001, "formula_seconds": 0.004}
    results = results_with(tmp_path, "margins", {"chain: made up": row})
    found = targets_of_bounds.decomposable(results)
    assert found.met is met
    assert bool(found.why) is not met


@pytest.mark.parametrize(
    ("change", "met"),
    [
        ({}, True),
        ({"settled": 5471}, False),
        ({"memory_worker": 2**30}, False),
        ({"steps": [["walks", 1.0, 5], ["splitting", 9.0, 5]]}, False),
        ({"steps": [["walks", 52.0, 5], ["splitting", 9.0, 5], ["tables", 9.0, 4]]}, False),
        ({"budget": 2.0}, None),
    ],
)
def test_the_long_run_is_met_if_everything_is(tmp_path, change, met):
    row = {
        "part": "budgeted",
        "budget": 1200.0,
        "seconds": 1201.0,
        "workers": 2,
        "bounds": 5760,
        "settled": 5472,
        "small_cells": 10,
        "small_undecided": 1,
        "open_gap": [2, 9],
        "memory_self": 2**30,
        "memory_worker": 2**29,
        "steps": [["walks", 1.0, 5], ["splitting", 9.0, 5], ["tables", 9.0, 4]],
        **change,
    }
    results = results_with(tmp_path, "hour", {"budgeted: cps8, 3-way": row})
    assert targets_of_bounds.cps8(results).met is met


@pytest.mark.parametrize(("figures", "met"), [(0.011, True), (0.009, False)])
def test_the_posterior_is_compared_with_the_chain_and_its_figures(tmp_path, figures, met):
    run = {"run": "document's own", "alone": 0.005, "figures": figures, "seconds": 0.05}
    row = {"case": "2x2", "seconds": 0.01, "runs": [{**run, "largest_stated": 0.2}]}
    results = results_with(tmp_path, "posterior", {"2x2": row})
    found = targets_of_bounds.posterior(results)
    assert found.met is met
    assert bool(found.why) is not met


@pytest.mark.parametrize(
    ("records", "seconds", "memory", "met"),
    [
        (50_000_000, 13.0, 2**31, True),
        (50_000_000, 13.1, 2**30, False),
        (50_000_000, 10.0, 2**31 + 1, False),
        (1_000_000, 1.0, 2**30, None),
    ],
)
def test_records_are_judged_by_time_and_memory(tmp_path, records, seconds, memory, met):
    def run(took):
        return {"seconds": took, "memory_before": 1, "memory_after": memory}

    row = {"records": records, "runs": {"read_table": [run(seconds)], "DuckDB GROUP BY": [run(10)]}}
    assert targets_of_scale.microdata(results_with(tmp_path, "microdata", {"all": row})).met is met


@pytest.mark.parametrize(
    ("seconds", "all_subsets", "met"), [(10.0, True, True), (10.1, True, False), (9.0, False, None)]
)
def test_two_processes_are_judged_on_the_whole_study(tmp_path, seconds, all_subsets, met):
    row = {
        "workers": 2,
        "designs": 512,
        "digits": [1, 2, 3, 4],
        "all_subsets": all_subsets,
        "seconds": {"1": 17.0, "2": seconds},
    }
    assert (
        targets_of_scale.parallel(results_with(tmp_path, "parallel", {"executor=": row})).met is met
    )


@pytest.mark.parametrize(
    ("changed", "verdicts"),
    [
        ({}, [True, True, True]),
        ({"import cellbounds": 0.32}, [False, True, True]),
        ({"cellbounds --help": 0.52}, [True, False, True]),
        ({"cellbounds audit": 0.61}, [True, True, False]),
    ],
)
def test_starts_are_judged_by_what_is_above_python(tmp_path, changed, verdicts):
    results = results_with(tmp_path, "start", {"processes": {"seconds": {**STARTS, **changed}}})
    judges = [t.judge for t in targets_of_scale.TARGETS if t.work.startswith("`")]
    assert [judge(results).met for judge in judges] == verdicts


@pytest.mark.parametrize(("traced", "met"), [(524_287, True), (524_288, False)])
def test_few_variables_must_allocate_less_than_the_dense_table(tmp_path, traced, met):
    row = {"cells": 65_536, "occupied": 3, "variables": 16, "traced": traced}
    row |= {"table": 1.0, "publish": 1.0, "bounds": 1.0}
    results = results_with(tmp_path, "sparse", {"nltcs16 as records": row})
    assert targets_of_scale.nltcs16(results).met is met


# Running, resuming, failing


class Sections:
    """Sections made up; remembers what was measured."""

    def __init__(self):
        self.measured = []
        self.raised = {}

    def of(self, name, title, *tasks):
        def task(key):
            def measure(results):
                if key in self.raised:
                    raise self.raised[key]
                self.measured.append(f"{name}/{key}")
                return {"seconds": STARTS, "rounds": 1, "audited": "nothing", "key": key}

            return measure

        return Section(name, title, lambda _: {key: task(key) for key in tasks})

    def run_in(self, folder, *arguments):
        places = ["--figures", str(folder / "figures"), "-o", str(folder)]
        return command.main(["--quick", *places, *arguments], self.all)


@pytest.fixture
def sections(monkeypatch):
    made = Sections()
    monkeypatch.setattr(machine, "versions", lambda: {"cellbounds": "1"})
    made.all = [made.of("start", "Starting", "a", "b"), made.of("microdata", "Records")]
    return made


def test_what_was_measured_is_not_measured_again(tmp_path, sections, monkeypatch, plotting):
    assert sections.run_in(tmp_path) == 0
    assert sections.measured == ["start/a", "start/b"]
    assert sections.run_in(tmp_path, "--resume") == 0
    assert sections.run_in(tmp_path, "--render") == 0
    assert sections.measured == ["start/a", "start/b"]
    monkeypatch.setattr(machine, "versions", lambda: {"cellbounds": "2"})
    assert sections.run_in(tmp_path, "--resume") == 0
    assert sections.measured == ["start/a", "start/b"] * 2
    assert sections.run_in(tmp_path, "--resume", "--seed", "5") == 0
    assert sections.run_in(tmp_path) == 0
    assert sections.measured == ["start/a", "start/b"] * 4


def test_an_interrupted_run_goes_on(tmp_path, sections, capsys, plotting):
    sections.raised["b"] = KeyboardInterrupt()
    assert sections.run_in(tmp_path) == 130
    assert "--resume" in capsys.readouterr().err
    sections.raised.clear()
    assert sections.run_in(tmp_path, "--resume") == 0
    assert sections.measured == ["start/a", "start/b"]
    assert list(Results(tmp_path / "figures").of("start")) == ["a", "b"]


@pytest.mark.parametrize(
    ("problem", "status", "said"),
    [
        (RuntimeError("no such thing"), 1, "a: RuntimeError: no such thing"),
        (Mismatch("3 and 4"), 1, "a: the answers differ: 3 and 4"),
        (NotThere("LattE is not installed"), 0, "Left out, a: LattE is not installed."),
    ],
)
def test_a_failure_is_reported_and_the_rest_goes_on(
    tmp_path, sections, plotting, problem, status, said
):
    sections.raised["a"] = problem
    assert sections.run_in(tmp_path) == status
    assert sections.measured == ["start/b"]
    text = (tmp_path / "benchmarks.md").read_text(encoding="utf-8")
    assert said in text
    assert ("Failed in this run" in text) is bool(status)
    sections.raised.clear()
    assert sections.run_in(tmp_path, "--resume") == 0
    assert sections.measured == ["start/b", "start/a"]
    assert list(Results(tmp_path / "figures").of("start")) == ["a", "b"]
    assert said not in (tmp_path / "benchmarks.md").read_text(encoding="utf-8")


def test_a_failure_takes_an_older_figure_away(tmp_path, sections, plotting):
    assert sections.run_in(tmp_path) == 0
    sections.raised["a"] = RuntimeError("broken by now")
    assert sections.run_in(tmp_path) == 1
    assert list(Results(tmp_path / "figures").of("start")) == ["b"]


def test_a_section_without_tables_does_not_lose_the_others(tmp_path, sections):
    def broken(profile):
        raise OSError("no data")

    first = Section("rates", "Rates", broken)
    results = Results(tmp_path)
    chosen = [first, *sections.all]
    assert not running.run(quick_profile(NOWHERE), results, chosen)
    assert results.failed("rates") == {"the tables to measure": "OSError: no data"}
    assert sections.measured == ["start/a", "start/b"]


def test_sections_are_chosen_by_name(tmp_path, sections, capsys, plotting):
    sections.all.append(sections.of(command.HOUR, "Long runs", "c"))
    assert sections.run_in(tmp_path, "--only", "microdata, start", "--skip-hour") == 0
    assert sections.measured == ["start/a", "start/b"]
    with pytest.raises(SystemExit) as left:
        sections.run_in(tmp_path, "--only", "star")
    assert left.value.code == 2
    assert "'star' is no section" in capsys.readouterr().err


def test_long_runs_are_kept_beside_the_report_unless_they_fail(
    tmp_path, sections, monkeypatch, plotting
):
    sections.all.append(sections.of(command.HOUR, "Long runs", "c"))
    monkeypatch.setitem(document.WRITERS, command.HOUR, lambda *_: [])
    kept = tmp_path / "benchmarks" / "hour.json"
    whole = ["--figures", str(tmp_path / "figures"), "-o", str(tmp_path)]
    assert sections.run_in(tmp_path) == 0
    assert not kept.exists()
    assert command.main(whole, sections.all) == 0
    before = kept.read_text(encoding="utf-8")
    assert list(json.loads(before)["records"]) == ["c"]
    sections.raised["c"] = RuntimeError("broken by now")
    assert command.main(whole, sections.all) == 1
    assert kept.read_text(encoding="utf-8") == before


def test_parts_are_named_in_records():
    tasks = part("small", {"czech6": lambda _: {"seconds": 1}})
    assert tasks["small: czech6"](None) == {"part": "small", "seconds": 1}


def test_every_section_has_tasks_and_a_writer_in_both_profiles():
    assert set(document.WRITERS) == {section.name for section in SECTIONS}
    for profile in (quick_profile(NOWHERE), full_profile(NOWHERE)):
        for section in SECTIONS:
            assert section.tasks(profile)


# Peers


def cube_release():
    counts = np.array([[[3, 0], [1, 2]], [[0, 4], [2, 1]]])
    return all_margins(cb.read_table(counts), 2)


def rates_release():
    instance = Instance("made up", np.array([[2, 1], [1, 3]]), digits=1)
    assert instance.rates.tolist() == [[7, 3], [3, 7]]
    return instance, publications.build_release(publications.publish(instance))


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)
def test_solvers_agree_on_small_tables(solver):
    if not solver.installed:
        pytest.skip(f"{solver.name} is not installed")
    release = cube_release()
    instance, rates = rates_release()
    for asked, program in (
        (release, programs.of_margins(release)),
        (rates, programs.of_rates(instance)),
    ):
        answer = cb.bounds(asked)
        found = solver.bounds(program, max_bounds=None, seconds=30.0, seed=0)
        assert found.unsolved == 0
        assert found.lower.tolist() == answer.lower.ravel().tolist()
        assert found.upper.tolist() == answer.upper.ravel().tolist()


def test_a_program_holds_for_its_tables_only():
    program = programs.of_margins(cube_release())
    counts = np.array([3, 0, 1, 2, 0, 4, 2, 1])
    assert program.holds_for(counts)
    assert not program.holds_for(counts + np.array([1, -1, 0, 0, 0, 0, 0, 0]))
    assert not program.holds_for(np.zeros(8, dtype=np.int64))


def test_4ti2_lists_the_tables():
    if listing.program_of(listing.ZSOLVE) is None:
        pytest.skip("4ti2 is not installed")
    release = cube_release()
    found = listing.zsolve(programs.of_margins(release), 60.0)
    assert found.tables == cb.count_tables(release)
    assert found.lower.tolist() == cb.bounds(release).lower.ravel().tolist()
    instance, rates = rates_release()
    assert listing.zsolve(programs.of_rates(instance), 60.0).tables == cb.count_tables(rates)


def test_a_program_that_takes_too_long_is_ended(tmp_path):
    assert not listing.ran([sys.executable, "-c", "import time; time.sleep(60)"], tmp_path, 0.2)
    assert listing.ran([sys.executable, "-c", "pass"], tmp_path, 60.0)


@pytest.mark.parametrize(
    ("name", "said"), [("true", "not LattE's"), ("no-program-of-this-name", "not installed")]
)
def test_another_program_of_that_name_is_not_latte(name, said):
    with pytest.raises(NotThere, match=said):
        listing.latte_count(programs.of_margins(cube_release()), 60.0, (name,))


def claims(lower, upper):
    return SolverAnswer(np.array(lower), np.array(upper), 0.0, 1.0, len(lower), len(lower), 0)


def test_wrong_claims_are_counted_and_other_differences_stop():
    release = cube_release()
    answer = cb.bounds(release)
    low, high = answer.lower.ravel().tolist(), answer.upper.ravel().tolist()
    assert low != high
    free = next(k for k in range(8) if low[k] < high[k])
    short = [*high[:free], high[free] - 1, *high[free + 1 :]]
    far = [*high[:free], high[free] + 1, *high[free + 1 :]]
    unknown = [UNKNOWN] * 8
    assert small.count_wrong("made up", HIGHS, answer, claims(low, high)) == 0
    assert small.count_wrong("made up", HIGHS, answer, claims(unknown, unknown)) == 0
    assert small.count_wrong("made up", HIGHS, answer, claims(low, short)) == 1
    with pytest.raises(Mismatch, match="CP-SAT gives"):
        small.count_wrong("made up", CPSAT, answer, claims(low, short))
    with pytest.raises(Mismatch, match="HiGHS gives"):
        small.count_wrong("made up", HIGHS, answer, claims(low, far))


def test_a_wrong_claim_about_rates_needs_a_table_against_it():
    instance, _ = rates_release()
    program = programs.of_rates(instance)
    found = HIGHS.bounds(program, max_bounds=None, seconds=30.0, seed=0)
    mine = found.lower.reshape(2, 2), found.upper.reshape(2, 2)
    short = found.upper - np.array([1, 0, 0, 0])
    theirs = claims(found.lower, short)
    assert comparing.count_wrong(instance, program, HIGHS, mine, theirs) == 1
    too_far = mine[0], mine[1] + 1
    with pytest.raises(Mismatch):
        comparing.count_wrong(instance, program, HIGHS, too_far, claims(found.lower, found.upper))


# What is asked


def asks_for_more(what):
    raise {"mismatch": Mismatch, "missing": NotThere, "other": ValueError}[what](what)


@pytest.mark.parametrize(
    ("what", "kind"), [("mismatch", Mismatch), ("missing", NotThere), ("other", RuntimeError)]
)
def test_processes_of_their_own_pass_on_what_went_wrong(what, kind, capfd):
    with pytest.raises(kind, match=what):
        apart(asks_for_more, what, limit=60.0)


def test_chains_of_sparse_margins_have_the_closed_form():
    shape = (3, 2, 4)
    places, counts = sparse.listed_cells(shape, 12, seed=1)
    dense = np.zeros(shape, dtype=np.int64)
    np.add.at(dense, tuple(places.T), counts)
    release = cb.publish(cb.read_table(dense), "[v1,v2]", "[v2,v3]")
    answer = cb.bounds(release)
    lower, upper = sparse.chain_bounds(places, counts, np.argwhere(np.ones(shape)))
    assert lower.tolist() == answer.lower.ravel().tolist()
    assert upper.tolist() == answer.upper.ravel().tolist()


def test_records_are_drawn_from_the_look_alike(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    path = records_file(1000, 4, tmp_path)
    table = pq.read_table(path)
    assert table.num_rows == 1000
    assert table.column_names == list("abcdefgh")
    before = path.stat().st_mtime_ns
    assert records_file(1000, 4, tmp_path).stat().st_mtime_ns == before


@pytest.mark.parametrize(
    "name",
    [
        "peers.listing",
        "problems.graphs",
        "problems.instances",
        "problems.lookalikes",
        "report.draws",
        "report.numbers",
        "report.plots",
    ],
)
def test_examples_hold(name):
    module = importlib.import_module(f"benchmarks.{name}")
    found = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert found.attempted and not found.failed


def test_attacks_and_programs_say_the_same_of_published_tables(tmp_path):
    lines = exactly_known.measure(2, 6)
    assert [line.least for line in lines] == [0, 1]
    assert all(0 < line.known <= line.hidden for line in lines)
    text = exactly_known.report(lines, Plots(tmp_path, "plots"))
    assert text.count("\n| 600 |") == 2
    assert (tmp_path / "growth-published.svg").exists()


def test_reshapes_are_of_the_size_that_is_printed(tmp_path):
    counts = "a,b,c,count\n0,0,0,3\n0,0,1,1\n0,1,0,2\n1,1,1,4\n1,0,0,1\n1,0,1,5\n"
    (tmp_path / "czech6.csv").write_text(counts)
    row = {"label": "X", "dataset": "6-way", "rows": "1,2", "col": "3", "zero_rows_removed": ""}
    whole = row | {"I": "4", "nonzero_rows": "4", "J": "2", "N": "16"}
    assert printed.reshaped(tmp_path, whole).tolist() == [[3, 1], [2, 0], [1, 5], [0, 4]]
    fewer = row | {"I": "2", "nonzero_rows": "2", "J": "2", "N": "10", "zero_rows_removed": "yes"}
    assert printed.reshaped(tmp_path, fewer).tolist() == [[3, 1], [1, 5]]
    with pytest.raises(Mismatch, match="X: rows"):
        printed.reshaped(tmp_path, whole | {"N": "17"})
    assert printed.numbers("1-3,7,15,16") == [1, 2, 3, 7, 15, 16]
