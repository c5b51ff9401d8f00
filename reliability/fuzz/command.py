"""Run malformed inputs against every command, and say what broke the contract.

The exit code is 0 if every run kept it, 1 if one did not, and 130 after Ctrl-C, which shows what
was found until then.
"""

from __future__ import annotations

import argparse
import gc
import shlex
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from reliability.fuzz.case import Case
from reliability.fuzz.corpus import Document, build
from reliability.fuzz.judging import Violation, lateness, over_budget, violations
from reliability.fuzz.making import make
from reliability.fuzz.running import PATIENCE, Outcome, run, run_once, scratch, warm

RETRIES = 2
"""Times that a run beyond its budget is repeated, alone: a busy machine is no fault of it."""

INTERRUPTED = 130

SHOWN = 5
"""Cases that are listed for each kind of violation and cause."""


@dataclass(slots=True)
class Tally:
    """What was seen so far."""

    statuses: Counter[int] = field(default_factory=Counter)
    commands: dict[str, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    broken: dict[Violation, list[int]] = field(default_factory=lambda: defaultdict(list))
    refused: list[int] = field(default_factory=list)
    untouched: int = 0
    slow: list[tuple[float, int]] = field(default_factory=list)
    memory: int = 0
    longest: float = 0.0

    def add(self, case: Case, outcome: Outcome, found: Sequence[Violation]) -> None:
        """Count a run."""
        self.statuses[outcome.status] += 1
        self.commands[case.command or "(none)"][outcome.status] += 1
        for violation in found:
            self.broken[violation].append(case.number)
        if not case.mutations:
            self.untouched += 1
            if outcome.status == 2:
                self.refused.append(case.number)
        if case.budget is None and (outcome.stopped == "time" or outcome.seconds > PATIENCE / 2):
            self.slow.append((outcome.seconds, case.number))
        self.memory = max(self.memory, outcome.memory)
        self.longest = max(self.longest, outcome.seconds)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    try:
        return _run(_parsed(arguments))
    finally:
        gc.unfreeze()  # so that libraries do not complain of what is left at the end


def _run(options: argparse.Namespace) -> int:
    warm()
    begun = time.monotonic()
    with scratch() as folder:
        corpus = _corpus(folder)
    numbers = options.only or range(options.first, options.first + options.inputs)
    if options.only:
        return _show(options.seed, options.only, corpus)
    tally = Tally()
    interrupted = False
    try:
        _try_all(options, numbers, corpus, tally)
    except KeyboardInterrupt:
        interrupted = True
    _print(tally, options.seed, time.monotonic() - begun)
    return INTERRUPTED if interrupted else 1 if tally.broken else 0


def _try_all(
    options: argparse.Namespace, numbers: Sequence[int], corpus: Sequence[Document], tally: Tally
) -> None:
    begun = time.monotonic()
    late: list[int] = []
    for case, outcome in run((make(options.seed, n, corpus) for n in numbers), options.jobs):
        found = violations(case, outcome)
        if over_budget(case, outcome) or (outcome.stopped == "time" and case.budget is not None):
            late.append(case.number)
            found = [one for one in found if one.kind != "time"]
        tally.add(case, outcome, found)
        for violation in found:
            _note(options.seed, case.number, violation)
        done = sum(tally.statuses.values())
        if done % 500 == 0:
            print(f"{done} inputs, {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
    for number in () if options.untimed else late:
        lateness_again = _still_late(options.seed, number, corpus)
        if lateness_again is not None:
            _note(options.seed, number, lateness_again)
            tally.broken[lateness_again].append(number)


def _note(seed: int, number: int, violation: Violation) -> None:
    """Say at once what is broken: the run may be long, and end early."""
    said = f"{violation.kind}: {violation.detail!r}: --seed {seed} --only {number}"
    print(said, file=sys.stderr, flush=True)


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m reliability.fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=10_000, help="how many; 10,000 unless given")
    parser.add_argument("--first", type=int, default=0, help="number of the first")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    parser.add_argument("--untimed", action="store_true", help="judge everything but the time")
    parser.add_argument(
        "--only", type=int, nargs="+", metavar="NUMBER", help="run these again and show everything"
    )
    return parser.parse_args(arguments)


def _corpus(folder: Path) -> list[Document]:
    number = 0

    def made(case: Case) -> tuple[int, Path]:
        nonlocal number
        number += 1
        outcome = run_once(case, folder / str(number))
        return outcome.status, folder / str(number) / "work"

    return build(made)


def _still_late(seed: int, number: int, corpus: Sequence[Document]) -> Violation | None:
    """Whether a run is late again and again while nothing else runs."""
    fastest: tuple[Case, Outcome] | None = None
    for _ in range(RETRIES):
        ((case, outcome),) = run([make(seed, number, corpus)], 1)
        if not over_budget(case, outcome):
            return None
        if fastest is None or outcome.seconds < fastest[1].seconds:
            fastest = case, outcome
    assert fastest is not None
    return lateness(*fastest)


def _print(tally: Tally, seed: int, seconds: float) -> None:
    number = sum(tally.statuses.values())
    print(f"{number} inputs with seed {seed} in {seconds:.0f} s")
    print("status    " + "  ".join(f"{s}: {n}" for s, n in sorted(tally.statuses.items())))
    print(f"memory    {tally.memory / 2**20:.0f} MiB at most")
    print(f"longest   {tally.longest:.1f} s")
    print(f"refused   {len(tally.refused)} of {tally.untouched} to which nothing was done", end="")
    print(f": --only {' '.join(map(str, sorted(tally.refused)[:20]))}" if tally.refused else "")
    for name, statuses in sorted(tally.commands.items()):
        counts = "  ".join(f"{s}: {n}" for s, n in sorted(statuses.items()))
        print(f"  {name:<16} {counts}")
    for took, case in sorted(tally.slow, reverse=True):
        print(f"slow      {took:.0f} s without a budget: --only {case}")
    kinds: Counter[str] = Counter()
    for violation, numbers in tally.broken.items():
        kinds[violation.kind] += len(numbers)
    print(f"broken    {sum(kinds.values())}")
    for kind, times in kinds.most_common():
        print(f"\n{kind}: {times}")
        causes = [(v.detail, n) for v, n in tally.broken.items() if v.kind == kind]
        for detail, numbers in sorted(causes, key=lambda cause: -len(cause[1])):
            again = " ".join(map(str, sorted(numbers)[:SHOWN]))
            print(f"  {len(numbers)} x {detail!r}: --seed {seed} --only {again}")


def _show(seed: int, numbers: Sequence[int], corpus: Sequence[Document]) -> int:
    """Run cases again and print everything about them."""
    broken = False
    for case, outcome in run((make(seed, n, corpus) for n in numbers), 1):
        found = violations(case, outcome)
        broken = broken or bool(found)
        print(f"case      {case.number} of seed {case.seed}: {case.command}")
        print(f"done      {'; '.join(case.mutations) or 'nothing'}")
        print(f"words     {ascii(shlex.join(case.words))[1:-1]}")
        around = [f"{name}={value!a}" for name, value in case.environment.items()]
        around += [f"{name} {how}" for name, how in _streams(case) if how != "file"]
        print(f"around    {', '.join(around)}")
        for file in case.files:
            print(f"file      {file.name!a} {file.kind} {file.target} ({len(file.content)} bytes)")
            print(f"          {file.content[:1500]!a}")
        print(f"status    {outcome.status} {outcome.stopped and 'stopped: ' + outcome.stopped}")
        print(f"took      {outcome.seconds:.2f} s ({outcome.elapsed:.2f} s by the clock)")
        print(f"memory    {outcome.memory / 2**20:.0f} MiB")
        print(f"stdout    {outcome.stdout[:600]!a}")
        print(f"stderr    {outcome.stderr[:3000]!a}")
        print(f"made      {outcome.made}")
        if outcome.cause:
            print(outcome.cause)
        for one in found:
            print(f"BROKEN    {one.kind}: {one.detail}")
        print()
    return 1 if broken else 0


def _streams(case: Case) -> list[tuple[str, str]]:
    interrupt = "file" if case.interrupt is None else f"after {case.interrupt:.3f} s"
    return [("stdout", case.stdout), ("stderr", case.stderr), ("interrupted", interrupt)]
