"""What it takes to start: Python, numpy, this library, its command, and a small audit."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

from benchmarks.problems.instances import REPOSITORY
from benchmarks.profiles import Profile
from benchmarks.results import Record
from benchmarks.running import Tasks

BARE, NUMPY, IMPORT = "python -c pass", "import numpy", "import cellbounds"
HELP, AUDIT = "cellbounds --help", "cellbounds audit"
EXAMPLE = REPOSITORY / "src" / "cellbounds" / "datasets" / "delinquent.csv"
NOTATION = "[education|county]@2"
VERDICTS = {0, 1, 3}  # exit codes of an audit that was carried out


def start(profile: Profile) -> Tasks:
    """All in turn, again and again."""
    return {"processes": lambda _: measure(profile.start.rounds)}


def command() -> list[str]:
    """Return what runs the command: the script beside this Python, or the module."""
    script = Path(sys.executable).with_name("cellbounds")
    if script.exists():
        return [str(script)]
    return [sys.executable, "-c", "from cellbounds.cli import main; main()"]


def measure(rounds: int) -> Record:
    """Start each so many times, in turn, and keep the shortest time."""
    python = sys.executable
    calls = {
        BARE: [python, "-c", "pass"],
        NUMPY: [python, "-c", NUMPY],
        IMPORT: [python, "-c", IMPORT],
        HELP: [*command(), "--help"],
        AUDIT: [*command(), "audit", str(EXAMPLE), NOTATION, "--rounding", "consistent"],
    }
    for call in calls.values():  # once before the clock runs: compiled files, cached disks
        timed(call)
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            taken[name].append(timed(call))
    return {
        "rounds": rounds,
        "audited": f"{EXAMPLE.stem}, {NOTATION}",
        "seconds": {name: min(times) for name, times in taken.items()},
    }


def timed(call: Sequence[str]) -> float:
    """Run a command and return how long it took.

    Raises
    ------
    RuntimeError
        If it fails.
    """
    started = perf_counter()
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    seconds = perf_counter() - started
    if done.returncode not in VERDICTS or "Traceback" in done.stderr:
        msg = f"{call} ended with status {done.returncode}: {done.stderr.strip()}"
        raise RuntimeError(msg)
    return seconds
