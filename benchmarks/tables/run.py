"""Measure counting, the exact posterior and drawing of tables, section by section; write a report.

Numbers of tables that are known otherwise must come out: a mismatch is printed and the exit code
is 1. Times are measured and printed side by side, never judged. Raw figures go into one JSON file
as soon as they are there, and the report is rendered from all of them.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.comparison import Mismatch
from benchmarks.instances import DATA, REPOSITORY
from benchmarks.machine import installed_version
from benchmarks.margins.records import Records
from benchmarks.tables.plan import SEED, Plan, full_plan, quick_plan
from benchmarks.tables.sections import SECTIONS

RAW = REPOSITORY / "build" / "benchmarks"
PACKAGES = ("numba", "python-flint", "arviz-stats")
"""Beside those that every benchmark names."""


def run(plan: Plan, records: Records, chosen: Sequence[str], *, missing: bool) -> None:
    """Measure the chosen sections, one record after the other.

    Raises
    ------
    Mismatch
        If a number of tables is wrong.
    """
    versions = ", ".join(f"{package} {installed_version(package)}" for package in PACKAGES)
    for section in chosen:
        for name, task in SECTIONS[section](plan).items():
            if missing and records.get(section, name) is not None:
                continue
            print(f"{section}: {name}", file=sys.stderr, flush=True)
            record = {**task(), "versions": versions, "load": os.getloadavg()[0]}
            records.put(section, name, record)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks from the command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables.run", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="within a minute, figures apart")
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=SECTIONS, help="sections")
    parser.add_argument("--missing", action="store_true", help="measure what has no figures yet")
    parser.add_argument("--render", action="store_true", help="only write the report anew")
    parser.add_argument("--seed", type=int, default=SEED, help="for random tables and draws")
    parser.add_argument(
        "--data",
        metavar="FOLDER",
        type=Path,
        default=DATA,
        help="of czech6 and hair_eye_color where whole tables are asked about",
    )
    parser.add_argument("--raw", metavar="FILE", type=Path, help="JSON of raw figures")
    parser.add_argument(
        "-o", "--output", metavar="FOLDER", type=Path, default=REPOSITORY / "docs" / "benchmarks"
    )
    options = parser.parse_args(arguments)
    plan = (quick_plan if options.quick else full_plan)(options.data, options.seed)
    usual = RAW / ("tables-quick.json" if options.quick else "tables.json")
    records = Records(options.raw or usual)
    if not options.render:
        try:
            run(plan, records, options.only or list(SECTIONS), missing=options.missing)
        except Mismatch as difference:
            print(f"mismatch: {difference}", file=sys.stderr)
            return 1
    # Imported here, so that processes with one question are not charged for plotting.
    from benchmarks.tables.report import render

    options.output.mkdir(parents=True, exist_ok=True)
    text = render(records)
    print(text)
    (options.output / "tables.md").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
