"""Peak memory of one whole call, measured in a process of its own.

``python -m benchmarks.measuring.memory`` reads an instance as JSON from standard input, bounds
its cells once, and prints what it took; :func:`peak_memory` starts that process.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.problems.instances import REPOSITORY, Instance

STATUS = Path("/proc/self/status")


@dataclass(frozen=True, slots=True)
class PeakMemory:
    """Highest resident memory, in bytes: before the call (imports, input) and in the end."""

    before: int
    after: int


def peak_memory(instance: Instance) -> PeakMemory:
    """Bound an instance in a new process and return that process' peak memory."""
    described = {"counts": instance.counts.tolist(), "digits": instance.digits}
    finished = subprocess.run(
        [sys.executable, "-m", "benchmarks.measuring.memory"],
        input=json.dumps(described),
        capture_output=True,
        text=True,
        check=True,
        cwd=REPOSITORY,
    )
    return PeakMemory(**json.loads(finished.stdout))


def highest_resident_bytes() -> int:
    """Return this process' peak so far.

    On Linux, ``ru_maxrss`` survives the start of a new program, so a child would report at
    least the memory of its parent; ``VmHWM`` starts afresh. Elsewhere ``ru_maxrss`` has to do.
    """
    if STATUS.exists():
        for line in STATUS.read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def main() -> None:
    """Bound the instance on standard input and print the peak memory before and after."""
    # The library is imported here, so that the parent needs nothing of it.
    from benchmarks.problems import publications

    described = json.load(sys.stdin)
    counts = np.array(described["counts"], dtype=np.int64)
    publication = publications.publish(Instance("standard input", counts, described["digits"]))
    before = highest_resident_bytes()
    publications.whole_call(publication)
    print(json.dumps({"before": before, "after": highest_resident_bytes()}))


if __name__ == "__main__":
    main()
