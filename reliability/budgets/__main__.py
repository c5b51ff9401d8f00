"""``python -m reliability.budgets``: each question in a process of its own, and what was late."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import cellbounds as cb
from reliability.budgets.hard_inputs import (
    COMMANDS,
    HARD,
    QUESTIONS,
    allowed,
    hard_input,
    outcome,
    written,
)

HUNG = 120.0
"""Seconds after which a process is given up."""

COMMAND = [sys.executable, "-X", "importtime", "-m", "cellbounds.cli"]


class Answered(NamedTuple):
    """How long a question took, by the clock and of the processor, and what came of it.

    Where the clock says far more than the processor, others were using the machine.
    """

    took: float
    worked: float
    came: str


def ask(case: str, question: str) -> None:
    """Ask one question, and print how long it took."""
    asked = QUESTIONS[question](*hard_input(case))
    begun, worked = time.perf_counter(), time.process_time()
    try:
        result: object = asked()
    except cb.CellboundsError as problem:
        result = problem
    took, worked = time.perf_counter() - begun, time.process_time() - worked
    print(f"{took:.2f} {worked:.2f} {outcome(result)}", flush=True)
    os._exit(0)  # what was made of a large table goes with the process


def answered(case: str, question: str) -> Answered:
    """Ask one question of a function."""
    command = [sys.executable, "-m", "reliability.budgets", "--one", case, question]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=HUNG + 60, check=False
        )
    except subprocess.TimeoutExpired:
        return Answered(HUNG, HUNG, "given up")
    if not done.stdout:
        return Answered(0.0, 0.0, f"not asked: {done.stderr.strip()[-200:]}")
    took, worked, came = done.stdout.strip().split(" ", 2)
    return Answered(float(took), float(worked), came)


def commanded(command: list[str], seconds: float) -> Answered:
    """Give one command, less the time that its imports take."""
    before, begun = os.times(), time.perf_counter()
    try:
        done = subprocess.run(
            [*COMMAND, *command, "--seconds", f"{seconds:g}"],
            capture_output=True,
            text=True,
            timeout=HUNG,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Answered(HUNG, HUNG, "given up")
    took, after = time.perf_counter() - begun, os.times()
    imports: dict[str, float] = {}
    said = []
    for line in done.stderr.splitlines():
        if line.startswith("import time:"):
            alone, _, module = line.removeprefix("import time:").split("|")
            # Other processes import the same at the same time: each module counts once.
            if alone.strip().isdecimal():
                imports.setdefault(module.strip(), int(alone) / 1e6)
        else:
            said.append(line)
    loading = sum(imports.values())
    worked = sum(after[2:4]) - sum(before[2:4])
    last = (said or done.stdout.splitlines() or [""])[-1]
    return Answered(took - loading, worked, f"{done.returncode}: {last.strip()[:60]}")


def all_answers(only: str) -> Iterator[tuple[str, str, Answered]]:
    """Every question and every command, of every input."""
    wanted = [(case, name) for case in HARD for name in QUESTIONS if only in f"{case}: {name}"]
    for case, name in wanted:
        yield case, name, answered(case, name)
    for case, (_, _, seconds) in HARD.items():
        chosen = [name for name in COMMANDS if only in f"{case}: cellbounds {name}"]
        if not chosen:
            continue
        with tempfile.TemporaryDirectory() as folder:
            table = HARD[case][0]()
            files = written(table, HARD[case][1](table), Path(folder))
            for name in chosen:
                command = [word.format(**files) for word in COMMANDS[name].split()]
                yield case, f"cellbounds {name}", commanded(command, seconds)


def main() -> int:
    """Ask every question about every input; 1 if one was late."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=2, metavar=("CASE", "QUESTION"), help="ask one here")
    parser.add_argument("--only", default="", help="those with this in 'CASE: QUESTION'")
    given = parser.parse_args()
    if given.one:
        ask(*given.one)
    late = count = 0
    for case, question, (took, worked, came) in all_answers(given.only):
        seconds = HARD[case][2]
        is_late = took > allowed(seconds)
        late, count = late + is_late, count + 1
        mark = "LATE" if is_late else ""
        print(
            f"{case:24}{question:28}{seconds:5.1f}{took:8.2f}{worked:8.2f} {mark:5}{came}",
            flush=True,
        )
    print(f"{late} of {count} late: more than 1.1 times their budget and a second")
    return int(late > 0)


if __name__ == "__main__":
    sys.exit(main())
