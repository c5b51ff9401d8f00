"""``python -m reliability.budgets``: each question in a process of its own, and what was late."""

from __future__ import annotations

import argparse
import gc
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before anything is imported: forks follow

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
from reliability.fuzz.case import Case
from reliability.fuzz.running import run, scratch, warm
from reliability.waiting import Watch

HUNG = 120.0
"""Seconds after which a process is given up."""

PAUSE = 0.01
"""Seconds between two looks at a process."""

MEMORY = 16 << 30
"""Bytes that a command may take: how many it takes is not asked here."""

ALONE = [sys.executable, "-m", "reliability.budgets"]


class Answered(NamedTuple):
    """How long a question took, the same without waiting for a processor, and what came of it.

    Waiting counts until the budget is spent (see `reliability.waiting`).
    """

    took: float
    seconds: float
    came: str


def ask(case: str, question: str) -> None:
    """Ask one question; print when that began, and then how long it took."""
    asked = QUESTIONS[question](*hard_input(case))
    begun = time.monotonic()
    print(begun, flush=True)
    try:
        result: object = asked()
    except cb.CellboundsError as problem:
        result = problem
    print(f"{time.monotonic() - begun:.2f} {outcome(result)}", flush=True)
    os._exit(0)  # what was made of a large table goes with the process


def answered(case: str, question: str) -> Answered:
    """Ask one question of a function."""
    process = subprocess.Popen(
        [*ALONE, "--one", case, question], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stderr is not None
    begun = process.stdout.readline()
    if not begun:
        return Answered(0.0, 0.0, f"not asked: {process.stderr.read().strip()[-200:]}")
    watch = Watch(process.pid, float(begun) + HARD[case][2])
    while process.poll() is None:
        watch.look()
        if time.monotonic() > float(begun) + HUNG:
            process.kill()
        time.sleep(PAUSE)
    took, _, came = process.stdout.read().strip().partition(" ")
    if not took:
        return Answered(HUNG, HUNG, "given up")
    return Answered(float(took), float(took) - watch.waited, came)


def commanded(case: str, names: list[str]) -> Iterator[tuple[str, Answered]]:
    """Give commands, each in a process in which everything is imported already."""
    with scratch() as folder:
        # Elsewhere: nothing of the program may run in a process that is forked.
        made = subprocess.run(
            [*ALONE, "--files", case, str(folder)], capture_output=True, check=True
        )
        files = json.loads(made.stdout)
        for number, name in enumerate(names):
            words = [word.format(**files) for word in COMMANDS[name].split()]
            words += ["--seconds", f"{HARD[case][2]:g}"]
            ((_, done),) = run([Case(0, number, name, words)], 1, MEMORY)
            said = [*done.stdout.splitlines(), *done.stderr.splitlines()][-1:]
            last = b"".join(said).decode("utf-8", "replace").strip()[:60]
            came = f"stopped: {done.stopped}" if done.stopped else f"{done.status}: {last}"
            yield name, Answered(done.elapsed, done.seconds, came)


def all_answers(only: str) -> Iterator[tuple[str, str, Answered]]:
    """Every question and every command, of every input."""
    for case in HARD:
        for name in (name for name in QUESTIONS if re.search(only, f"{case}: {name}")):
            yield case, name, answered(case, name)
    warm()
    for case in HARD:
        chosen = [name for name in COMMANDS if re.search(only, f"{case}: cellbounds {name}")]
        for name, answer in commanded(case, chosen) if chosen else ():
            yield case, f"cellbounds {name}", answer


def write_files(case: str, folder: Path) -> None:
    """Write the files of an input, and print their names."""
    table = HARD[case][0]()
    print(json.dumps(written(table, HARD[case][1](table), folder)), flush=True)


def main() -> int:
    """Ask every question about every input; 1 if one was late."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=2, metavar=("CASE", "QUESTION"), help="ask one here")
    parser.add_argument(
        "--only", default="", help="those in whose 'CASE: QUESTION' this pattern is found"
    )
    parser.add_argument("--files", nargs=2, metavar=("CASE", "FOLDER"), help="write its files")
    given = parser.parse_args()
    if given.one:
        ask(*given.one)
    if given.files:
        write_files(given.files[0], Path(given.files[1]))
        return 0
    late = count = 0
    for case, question, (took, counted, came) in all_answers(given.only):
        seconds = HARD[case][2]
        is_late = counted > allowed(seconds)
        late, count = late + is_late, count + 1
        mark = "LATE" if is_late else ""
        print(
            f"{case:24}{question:28}{seconds:5.1f}{took:8.2f}{counted:8.2f} {mark:5}{came}",
            flush=True,
        )
    print(f"{late} of {count} late: more than 1.1 times their budget and a second")
    gc.unfreeze()  # so that libraries do not complain of what is left at the end
    return int(late > 0)


if __name__ == "__main__":
    sys.exit(main())
