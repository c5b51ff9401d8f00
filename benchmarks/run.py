"""Measure this library beside its peers in one run and write a report.

Equal answers are a condition: a mismatch is printed and the exit code is 1.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import growth, instances, machine, report
from benchmarks.comparison import Effort, Mismatch, compare
from benchmarks.instances import REPOSITORY, Instance
from benchmarks.measurement import LONG_CALL, Measurement
from benchmarks.peers import cpsat, highs

SEED = 4
TABLE9, TABLE10, TABLE11 = (
    "Table 9: real tables",
    "Table 10: counts uniform on 1..25",
    "Table 11: mostly large counts",
)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run measures, and how hard it tries.

    Parameters
    ----------
    sections : list of (title, instances, effort)
        Comparisons with the peers.
    series : growth.Series
        The points of the growth series.
    repeat_seconds : float
        Budget for repeating short calls in the growth series.
    """

    sections: list[tuple[str, list[Instance], Effort]]
    series: growth.Series
    repeat_seconds: float


def full_plan(seed: int) -> Plan:
    """Every instance; every bound of Table 9, samples of the bounds of the larger tables."""
    return Plan(
        [
            (TABLE9, instances.table9(), Effort(1.0, None, None, 60.0)),
            (TABLE10, instances.table10(seed), Effort(1.0, 40, 40, 60.0)),
            (TABLE11, instances.table11(seed), Effort(1.0, 4, 4, 60.0)),
        ],
        growth.FULL,
        repeat_seconds=1.0,
    )


def quick_plan(seed: int) -> Plan:
    """Fewer instances and small samples: under two minutes in all."""
    return Plan(
        [
            (TABLE9, instances.table9(digits=[2]), Effort(0.3, 6, 6, 2.0)),
            (TABLE10, instances.table10(seed, [(50, 2), (20, 10)]), Effort(0.3, 4, 4, 2.0)),
            (TABLE11, instances.table11(seed, [(20, 20), (50, 20)]), Effort(0.3, 2, 2, 4.0)),
        ],
        growth.QUICK,
        repeat_seconds=0.3,
    )


def run(plan: Plan, seed: int, folder: Path) -> None:
    """Measure, print section by section, and write the report.

    Raises
    ------
    Mismatch
        If two methods disagree.
    """
    folder.mkdir(parents=True, exist_ok=True)
    parts: list[str] = []

    def say(*paragraphs: str) -> None:
        for paragraph in paragraphs:
            print(paragraph, end="\n\n", flush=True)
            parts.append(paragraph)

    say("# Benchmarks", "\n".join(f"- {line}" for line in [*machine.describe(), *settings(plan)]))
    say(report.LEGEND)
    for title, tables, effort in plan.sections:
        rows: list[Measurement] = []
        for table in tables:
            print(f"{title}: {table.name}, {table.digits} digits", file=sys.stderr, flush=True)
            rows += compare(title, table, effort, seed)
        say(f"## {title}", report.comparison_table(rows))
    rows = growth.measure_growth(seed, plan.series, plan.repeat_seconds)
    for title, variable, baseline in (
        (growth.IN_PEOPLE, report.PEOPLE, growth.PAPER_UP_TO),
        (growth.IN_ROWS, report.ROWS, None),
        (growth.IN_DIGITS, report.PRECISION, None),
    ):
        points = [row for row in rows if row.section == title]
        say(f"## {title}", report.growth_table(points, variable, baseline))
        say(report.write_growth_plot(points, variable, folder))
    large = [row for row in rows if row.section == growth.LARGE]
    say(f"## {growth.LARGE}: {large[0].rows:,} x {large[0].columns}, {large[0].digits} digits")
    say(report.growth_table(large, report.ROWS))
    (folder / "benchmarks.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def settings(plan: Plan) -> list[str]:
    """Say how the peers were set and how often short calls were repeated."""
    limits = ", ".join(f"{effort.solver_seconds:g} s" for _, _, effort in plan.sections)
    return [
        f"HiGHS: one model, one solve per bound, {highs.SETTINGS}, otherwise defaults",
        f"CP-SAT: one model, one search per bound, {cpsat.SETTINGS}, otherwise defaults",
        f"time limit for each bound, section by section: {limits}",
        "document 004's algorithm: numpy and scipy.fft on one core, from the same integer rates",
        "our times and document 004's are the best of as many calls as fit "
        f"{plan.repeat_seconds:g} s, and of at least two if they take up to {LONG_CALL:g} s; "
        "solvers run once",
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks from the command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under two minutes")
    parser.add_argument("--seed", type=int, default=SEED, help="for the random tables and samples")
    parser.add_argument(
        "-o", "--output", metavar="DIR", type=Path, default=REPOSITORY / "docs" / "benchmarks"
    )
    options = parser.parse_args(arguments)
    plan = quick_plan(options.seed) if options.quick else full_plan(options.seed)
    try:
        run(plan, options.seed, options.output)
    except Mismatch as difference:
        print(f"mismatch: {difference}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
