"""``python -m reliability.budgets``: each question in a process of its own, and what was late."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

import cellbounds as cb
from reliability.budgets.hard_inputs import HARD, QUESTIONS, allowed, hard_input, outcome

HUNG = 120.0
"""Seconds after which a process is given up."""


def ask(case: str, question: str) -> None:
    """Ask one question, and print how long it took."""
    table, release, seconds = hard_input(case)
    begun = time.perf_counter()
    try:
        result: object = QUESTIONS[question](table, release, seconds)
    except cb.CellboundsError as problem:
        result = problem
    print(f"{time.perf_counter() - begun:.2f} {outcome(result)}")


def main() -> int:
    """Ask every question about every input; 1 if one was late."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=2, metavar=("CASE", "QUESTION"), help="ask one here")
    parser.add_argument("--only", default="", help="cases or questions with this in their name")
    given = parser.parse_args()
    if given.one:
        ask(*given.one)
        return 0
    late = count = 0
    for case, (_, _, seconds) in HARD.items():
        for question in QUESTIONS:
            if given.only not in case and given.only not in question:
                continue
            command = [sys.executable, "-m", "reliability.budgets", "--one", case, question]
            try:
                done = subprocess.run(
                    command, capture_output=True, text=True, timeout=HUNG, check=False
                )
                took, _, came = (done.stdout or f"{HUNG} {done.stderr[-300:]}").partition(" ")
            except subprocess.TimeoutExpired:
                took, came = str(HUNG), "given up"
            is_late = float(took) > allowed(seconds)
            late, count = late + is_late, count + 1
            mark = "LATE" if is_late else ""
            print(f"{case:24}{question:22}{seconds:6.1f}{float(took):8.2f} {mark:5}{came.strip()}")
    print(f"{late} of {count} late: more than 1.1 times their budget and a second")
    return int(late > 0)


if __name__ == "__main__":
    sys.exit(main())
