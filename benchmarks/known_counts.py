"""Who is exactly known given all margins of one size: python -m benchmarks.known_counts [FOLDER].

FOLDER holds cps8.csv and nltcs16.csv (../shared/data unless given); look-alikes stand in for what
is not there.
Printed is computing time, of this process and those it started.
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path

import cellbounds as cb
from benchmarks.problems.owned import all_margins, owned

CASES = (("cps8", 2), ("cps8", 3), ("cps8", 4), ("cps8", 5), ("nltcs16", 2))
SMALL = range(1, 4)


def computing_seconds() -> float:
    """Seconds of this process and of those that it started and that have ended."""
    times = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in times)


def main(data: Path) -> None:
    """Audit each case, and say of how many small counts it is decided whether they are known."""
    for name, ways in CASES:
        source = owned(name, data)
        release = all_margins(source.table, ways)
        before = computing_seconds()
        found = cb.audit(source.table, release, over=source.table.domain.names)
        seconds = computing_seconds() - before
        small = [cell.disclosed for cell in found.cells if cell.count in SMALL]
        print(
            f"{source.label}, {ways}-way: {seconds:.1f} s, {found.verdict.outcome}; of "
            f"{len(small):,} counts of 1 to 3: {small.count(True):,} known, "
            f"{small.count(False):,} not, {small.count(None):,} open",
            flush=True,
        )


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "../shared/data"))
