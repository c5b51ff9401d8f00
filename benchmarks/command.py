"""Measure this library beside its peers and write one report, with plots.

Figures are kept under build/benchmarks as they come; a run that was interrupted goes on with
--resume. The exit code is 1 if a measurement failed or two methods disagreed, and 0 otherwise:
a target that is not met is reported, never an error.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import running
from benchmarks.problems.instances import DATA, REPOSITORY
from benchmarks.profiles import SEED, full_profile, quick_profile
from benchmarks.results import Results
from benchmarks.sections.registry import HOUR, SECTIONS

BUILD = REPOSITORY / "build" / "benchmarks"
DOCS = REPOSITORY / "docs"
PLOTS = "benchmarks"
INTERRUPTED = 130


def main(
    arguments: Sequence[str] | None = None, sections: Sequence[running.Section] = SECTIONS
) -> int:
    """Run the benchmarks from the command line; returns the exit code."""
    options = parsed(arguments, [section.name for section in sections])
    make = quick_profile if options.quick else full_profile
    profile = make(options.data, options.seed)
    beside = options.output / PLOTS
    figures = options.figures or BUILD / profile.name
    results = Results(figures, earlier=None if options.quick else beside)
    chosen = [section for section in sections if section.name in options.only]
    if options.skip_hour:
        chosen = [section for section in chosen if section.name != HOUR]
    whole = True
    if not options.render:
        try:
            whole = running.run(profile, results, chosen, resume=options.resume)
        except KeyboardInterrupt:
            print("interrupted; --resume goes on from here", file=sys.stderr)
            return INTERRUPTED
        measured = any(section.name == HOUR for section in chosen)
        if measured and not options.quick and not results.failed(HOUR):
            results.keep(HOUR, beside)
    # Imported here, so that what is measured is not charged for plotting.
    from benchmarks.report.document import write_report

    path = write_report(profile, results, sections, options.output, PLOTS)
    print(path)
    return 0 if whole else 1


def parsed(arguments: Sequence[str] | None, names: list[str]) -> argparse.Namespace:
    """Read the command line; sections have these names."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, epilog=f"Sections: {', '.join(names)}."
    )

    def sections(text: str) -> list[str]:
        wanted = [name.strip() for name in text.split(",") if name.strip()]
        for name in wanted:
            if name not in names:
                problem = f"{name!r} is no section; there are {', '.join(names)}"
                raise argparse.ArgumentTypeError(problem)
        return wanted or names

    parser.add_argument("--quick", action="store_true", help="a little of all: under two minutes")
    parser.add_argument(
        "--only", metavar="A,B", type=sections, default=names, help="measure these sections"
    )
    parser.add_argument("--skip-hour", action="store_true", help=f"all but the section {HOUR!r}")
    parser.add_argument(
        "--resume", action="store_true", help="keep what the same versions have measured already"
    )
    parser.add_argument("--render", action="store_true", help="measure nothing: write the report")
    parser.add_argument("--seed", type=int, default=SEED, help="for random tables and samples")
    parser.add_argument(
        "--data", metavar="FOLDER", type=Path, default=DATA, help="real tables, or look-alikes"
    )
    parser.add_argument(
        "--figures", metavar="FOLDER", type=Path, help="of the JSON files (build/benchmarks/...)"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FOLDER",
        type=Path,
        help="of the report (docs, or with --quick build/benchmarks)",
    )
    options = parser.parse_args(arguments)
    options.output = options.output or (BUILD if options.quick else DOCS)
    return options
