"""The targets of rates, of margins and of posteriors, and how the results stand to them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from benchmarks.measuring.measurement import KERNEL, PAPER, WHOLE_CALL, Measurement
from benchmarks.peers.solvers import CPSAT, HIGHS
from benchmarks.report.judging import NOT_MEASURED, Judgement, Target
from benchmarks.report.margins import ratios
from benchmarks.report.rates import grouped, mean_ratios, measurements
from benchmarks.report.text import (
    duration,
    geometric_mean,
    megabytes,
    share,
    significant,
    times,
)
from benchmarks.results import Record, Results
from benchmarks.sections.margins import tasks as margin_tasks
from benchmarks.sections.rates import growing
from benchmarks.sections.rates import tasks as rate_tasks

RATE_FACTOR = 1000
TABLE11_SIZE = (100, 50)
MORE_PEOPLE = 10**6
MOST_TIME, MOST_MEMORY = 1.5, 4_000_000  # bytes of a call that are within the noise
CZECH6_FACTOR, CUBE_FACTOR = 10, 100
DECOMPOSABLE_FACTOR = 20
LONG_RUN, LONG_MEMORY, LONG_SHARE, LINEAR = 1200.0, 2 * 2**30, 0.95, 60.0
OWN_CHAIN = "document's own"
SPLITTING = "splitting"
SAMPLED = "solvers were asked for a sample of the bounds in this profile"


def table11(results: Results) -> Judgement:
    """Judge Table 11 by the geometric mean over its sizes, whole calls."""
    rows = section(results, "rates", rate_tasks.TABLE11)
    if not rows:
        return NOT_MEASURED
    kernel, whole = mean_ratios(rows, PAPER)
    each = [
        (group[PAPER].instance, group[PAPER].seconds / group[WHOLE_CALL].seconds)
        for group in grouped(rows)
    ]
    least, most = min(each, key=lambda one: one[1]), max(each, key=lambda one: one[1])
    measured = (
        f"geometric mean {times(kernel)} / {times(whole)} (kernel / whole call); whole calls from "
        f"{times(least[1])} ({least[0]}) to {times(most[1])} ({most[0]})"
    )
    if not any((row.rows, row.columns) == TABLE11_SIZE for row in rows):
        return Judgement(measured, None, "the largest size was not measured in this profile")
    short = [f"{name} {times(ratio)}" for name, ratio in each if ratio < RATE_FACTOR]
    why = ""
    if short:
        why = (
            f"below {RATE_FACTOR:,}x one by one: {', '.join(short)}; document 004's time is in "
            "proportion to N, which is smallest there, and ours is not"
        )
    return Judgement(measured, whole >= RATE_FACTOR, why)


def more_people(results: Results) -> Judgement:
    """Judge the same rates with N a million times larger."""
    rows = section(results, "growth", growing.IN_PEOPLE)
    points = {(row.total, row.method): row for row in rows}
    largest = max((row.total for row in rows), default=0)
    start = largest // MORE_PEOPLE
    if (start, WHOLE_CALL) not in points:
        return NOT_MEASURED
    ratio = {
        method: points[largest, method].seconds / points[start, method].seconds
        for method in (KERNEL, WHOLE_CALL)
    }
    before, after = (points[total, WHOLE_CALL].call_bytes or 0 for total in (start, largest))
    measured = (
        f"{times(ratio[KERNEL])} / {times(ratio[WHOLE_CALL])} (kernel / whole call) from "
        f"N = {start:.0e} to {largest:.0e}; memory of the call {megabytes(before)} and "
        f"{megabytes(after)}"
    )
    met = max(ratio.values()) <= MOST_TIME and after <= before + MOST_MEMORY
    return Judgement(measured, met)


def table9(results: Results) -> Judgement:
    """Judge Table 9 by the geometric mean of whole calls, against HiGHS and against CP-SAT."""
    rows = section(results, "rates", rate_tasks.TABLE9)
    peers = [peer for peer in (HIGHS.name, CPSAT.name) if any(row.method == peer for row in rows)]
    if not peers:
        return NOT_MEASURED
    means = {peer: mean_ratios(rows, peer) for peer in peers}
    measured = "; ".join(
        f"{peer} {times(kernel)} / {times(whole)}" for peer, (kernel, whole) in means.items()
    )
    measured += " (kernel / whole call)"
    if any(row.extrapolated for row in rows):
        return Judgement(measured, None, SAMPLED)
    met = all(whole >= RATE_FACTOR for _, whole in means.values())
    return Judgement(measured, met, "" if met else fixed_cost(results))


def fixed_cost(results: Results) -> str:
    """Say how much of a call on Table 9 is there whatever is asked, and what the peers take."""
    rows = section(results, "rates", rate_tasks.TABLE9)
    smallest = section(results, "rates", rate_tasks.SMALLEST)
    calls = statistics.median(row.seconds for row in rows if row.method == KERNEL)
    per_bound = {
        peer: statistics.median(
            row.seconds / (2 * row.rows * row.columns) for row in rows if row.method == peer
        )
        for peer in (HIGHS.name, CPSAT.name)
        if any(row.method == peer for row in rows)
    }
    said = [f"the kernel takes {duration(calls)} in the median"]
    if smallest:
        fixed = smallest[0].seconds
        said.append(
            f"a table of two rows and two columns takes {duration(fixed)}, "
            f"{fixed / calls:.0%} of that, whatever is asked"
        )
    peers = ", ".join(f"{peer} {duration(took)}" for peer, took in per_bound.items())
    said.append(f"a solver needs no more than {peers} for a bound of these small tables")
    return "; ".join(said)


def czech6(results: Results) -> Judgement:
    """Judge czech6 with all three-way margins."""
    rows = [row for row in small(results) if row["ways"] == 3 and CPSAT.name in row["peers"]]
    if not rows:
        return NOT_MEASURED
    ratio = ratios(rows, CPSAT.name)[0]
    measured = f"{times(ratio)} ({duration(rows[0]['seconds'])} for all bounds)"
    if sampled(rows):
        return Judgement(measured, None, SAMPLED)
    met = ratio >= CZECH6_FACTOR
    return Judgement(measured, met, "" if met else longest_step(rows[0]))


def longest_step(row: Record) -> str:
    """Say which step of a search took longest, and what all bounds took a solver."""
    if not row["steps"]:
        return ""
    name, seconds, left = max(row["steps"], key=lambda step: step[1])
    theirs = row["peers"][CPSAT.name]["seconds"]
    return (
        f"{duration(seconds)} go into the step “{name}”, which leaves {left:,} bounds open; CP-SAT "
        f"takes {duration(theirs)} for all {2 * row['cells']:,} bounds"
    )


def sampled(rows: Sequence[Record]) -> bool:
    """Whether CP-SAT was asked for a part of the bounds only."""
    peers = [row["peers"][CPSAT.name] for row in rows]
    return any(peer["asked"] < peer["possible"] for peer in peers)


def cubes(results: Results) -> Judgement:
    """Judge random 4 x 4 x 4 tables by their geometric mean."""
    rows = [row for row in small(results) if row["ways"] == 2 and CPSAT.name in row["peers"]]
    if not rows:
        return NOT_MEASURED
    found = ratios(rows, CPSAT.name)
    mean = geometric_mean(found)
    measured = (
        f"geometric mean {times(mean)} over {len(rows)} tables, from {times(min(found))} to "
        f"{times(max(found))}"
    )
    if sampled(rows):
        return Judgement(measured, None, SAMPLED)
    met = mean >= CUBE_FACTOR
    slowest = max(rows, key=lambda row: row["seconds"])
    return Judgement(measured, met, "" if met else longest_step(slowest))


def cps8(results: Results) -> Judgement:
    """Judge the long run: bounds attained, linear bounds, verdicts, time and memory."""
    row = results.get("hour", f"{margin_tasks.BUDGETED}: cps8, 3-way")
    if row is None:
        return NOT_MEASURED
    memory = row["memory_self"] + row["workers"] * row["memory_worker"]
    decided = row["small_cells"] - row["small_undecided"]
    linear = linear_seconds(row)
    shown = "not all proven" if linear is None else f"proven after {duration(linear)}"
    measured = (
        f"{share(row['settled'], row['bounds'])} of the bounds attained; linear bounds {shown}; "
        f"verdicts on small counts decided: {share(decided, row['small_cells'])}; "
        f"{duration(row['seconds'])}, {memory / 2**30:.1f} GiB in all processes"
    )
    if row["budget"] < LONG_RUN:
        return Judgement(measured, None, f"given {duration(row['budget'])} in this profile")
    met = bool(
        row["settled"] >= LONG_SHARE * row["bounds"]
        and linear is not None
        and linear <= LINEAR
        and memory <= LONG_MEMORY
    )
    why = (
        f"open are bounds: {row['bounds'] - row['settled']:,}, verdicts: "
        f"{row['small_undecided']:,}; for open bounds what is proven and what is attained are "
        f"{row['open_gap'][0]:,} apart in the median, {row['open_gap'][1]:,} at most"
    )
    return Judgement(measured, met, "" if met else why)


def linear_seconds(row: Record) -> float | None:
    """Seconds until the linear bounds were proven, for another step followed theirs."""
    names = [step[0] for step in row["steps"]]
    if SPLITTING not in names[:-1]:
        return None
    return float(sum(step[1] for step in row["steps"][: names.index(SPLITTING) + 1]))


def decomposable(results: Results) -> Judgement:
    """Judge a chain of three-way margins of nltcs16 against numpy summing them."""
    rows = results.by_part("margins").get(margin_tasks.CHAIN, [])
    if not rows:
        return NOT_MEASURED
    worst = max(rows, key=lambda row: float(row["seconds"] / row["numpy_seconds"]))
    ratio = worst["seconds"] / worst["numpy_seconds"]
    measured = (
        f"{times(ratio)} ({duration(worst['seconds'])} and {duration(worst['numpy_seconds'])})"
    )
    met = ratio <= DECOMPOSABLE_FACTOR
    why = (
        f"numpy that goes on to the closed form of all {worst['cells']:,} cells takes "
        f"{duration(worst['formula_seconds'])}, and ours "
        f"{times(worst['seconds'] / worst['formula_seconds'])} that"
    )
    return Judgement(measured, met, "" if met else why)


def posterior(results: Results) -> Judgement:
    """Judge the exact posterior against document 002's chain with the figures that it gives."""
    rows = [row for row in results.of("posterior").values() if "runs" in row]
    if not rows:
        return NOT_MEASURED
    kinds = {"alone": "draws alone", "figures": "with its figures", "seconds": "with diagnostics"}
    found: dict[str, list[tuple[float, Record, Record]]] = {kind: [] for kind in kinds}
    for row in rows:
        for run in row["runs"]:
            if run["run"].startswith(OWN_CHAIN):
                for kind in kinds:
                    found[kind].append((run[kind] / row["seconds"], row, run))
    measured = "; ".join(
        f"{title} {times(min(one[0] for one in found[kind]))} to "
        f"{times(max(one[0] for one in found[kind]))}"
        for kind, title in kinds.items()
    )
    least, row, run = min(found["figures"], key=lambda one: one[0])
    why = ""
    if least <= 1:
        longer = (run["largest_stated"] / 0.01) ** 2 * run["alone"]
        why = (
            f"on “{row['case']}” the chain with its figures takes {times(least)} the exact "
            f"{duration(row['seconds'])}, and its means have stated errors of up to "
            f"{significant(run['largest_stated'])}; for 0.01 it would take {duration(longer)}, in "
            f"proportion {times(longer / row['seconds'])}"
        )
    return Judgement(f"its chain takes, beside the exact posterior: {measured}", least > 1, why)


def section(results: Results, name: str, title: str) -> list[Measurement]:
    """Return the measurements under one title."""
    return [row for row in measurements(results.of(name)) if row.section == title]


def small(results: Results) -> Sequence[Record]:
    """Return the records of small tables with margins."""
    return results.by_part("margins").get(margin_tasks.SMALL, [])


TARGETS = (
    Target(
        "rounded rates, sizes of document 004's Table 11 (up to 100 x 50)",
        "the document's algorithm, same answers",
        f"{RATE_FACTOR:,} times faster",
        table11,
    ),
    Target(
        "the same rates with N a million times larger",
        "itself",
        f"at most {MOST_TIME:g} times the time, same memory",
        more_people,
    ),
    Target(
        "rounded rates, Table 9, geometric mean",
        "one MILP per bound (HiGHS), one CP-SAT per bound",
        f"{RATE_FACTOR:,} times faster",
        table9,
    ),
    Target(
        "margins: czech6, all 3-way",
        "one CP-SAT per bound",
        f"{CZECH6_FACTOR} times faster",
        czech6,
    ),
    Target(
        "margins: random 4x4x4, all 2-way",
        "one CP-SAT per bound",
        f"{CUBE_FACTOR} times faster",
        cubes,
    ),
    Target(
        "cps8, all 3-way margins, all 5,760 bounds",
        "20 minutes, 2 GiB",
        f"{LONG_SHARE:.0%} of them attained, linear bounds proven in {LINEAR:.0f} s",
        cps8,
    ),
    Target(
        "decomposable margins of nltcs16",
        "numpy summing these margins",
        f"within {DECOMPOSABLE_FACTOR} times",
        decomposable,
    ),
    Target(
        "exact posterior of document 002",
        "its 10,000-draw chain, with the figures it gives",
        "faster, no Monte Carlo error",
        posterior,
    ),
)
