"""Measure the bounds that published margins give, section by section, and write a report.

Equal answers are a condition: a mismatch is printed and the exit code is 1. Raw figures go
into one JSON file as soon as they are there, and the report is rendered from all of them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.comparison import Mismatch
from benchmarks.instances import DATA, REPOSITORY
from benchmarks.margins.plan import SEED, Plan, full_plan, quick_plan
from benchmarks.margins.records import Records
from benchmarks.margins.report import render
from benchmarks.margins.sections import SECTIONS

RAW = REPOSITORY / "build" / "benchmarks"


def run(plan: Plan, records: Records, chosen: Sequence[str], *, missing: bool) -> None:
    """Measure the chosen sections, one record after the other.

    Raises
    ------
    Mismatch
        If two methods disagree.
    """
    for section in chosen:
        for name, task in SECTIONS[section](plan).items():
            if missing and records.get(section, name) is not None:
                continue
            print(f"{section}: {name}", file=sys.stderr, flush=True)
            records.put(section, name, task(records))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks from the command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.margins.run", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="within a minute, figures apart")
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=SECTIONS, help="sections")
    parser.add_argument("--ways", nargs="+", type=int, metavar="K", help="sizes for cps8")
    parser.add_argument("--seconds", type=float, help="budget for each of cps8 and nltcs16-2way")
    parser.add_argument("--missing", action="store_true", help="measure what has no figures yet")
    parser.add_argument("--render", action="store_true", help="only write the report anew")
    parser.add_argument("--seed", type=int, default=SEED, help="for random tables and samples")
    parser.add_argument("--data", metavar="FOLDER", type=Path, default=DATA)
    parser.add_argument("--raw", metavar="FILE", type=Path, help="JSON of raw figures")
    parser.add_argument(
        "-o", "--output", metavar="FOLDER", type=Path, default=REPOSITORY / "docs" / "benchmarks"
    )
    options = parser.parse_args(arguments)
    make = quick_plan if options.quick else full_plan
    ways = tuple(options.ways) if options.ways else None
    plan = make(options.data, options.seed, ways, options.seconds)
    usual = RAW / ("margins-quick.json" if options.quick else "margins.json")
    records = Records(options.raw or usual)
    if not options.render:
        try:
            run(plan, records, options.only or list(SECTIONS), missing=options.missing)
        except Mismatch as difference:
            print(f"mismatch: {difference}", file=sys.stderr)
            return 1
    options.output.mkdir(parents=True, exist_ok=True)
    text = render(records)
    print(text)
    (options.output / "margins.md").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
