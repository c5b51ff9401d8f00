"""One measured cost, and how short calls are timed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import TypeVar

from benchmarks.peers.per_bound import SolverAnswer
from benchmarks.problems.instances import Instance

KERNEL, WHOLE_CALL = "kernel", "whole call"
PAPER = "document 004"
MOST_REPEATS = 200
LONG_CALL = 20.0  # seconds; anything shorter runs at least twice

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Measurement:
    """What one method cost on one instance.

    Parameters
    ----------
    section, instance, method : str
        Where the measurement belongs in the report.
    rows, columns, total, digits : int
        Size of the instance: I, J, N, and decimals of its rates.
    seconds : float
        Time for the bounds of all cells.
    asked, possible, unsolved, wrong : int
        For a solver with one optimisation per bound: how many of the possible bounds it was
        asked for, how many of these ran into the time limit or ended with a table that fails
        in integers, and how many it claimed to have proven although an exactly checked table
        refutes it.
    peak_bytes, call_bytes : int or None
        Highest memory of a process of its own, and how much of it came with the call.
    """

    section: str
    instance: str
    method: str
    rows: int
    columns: int
    total: int
    digits: int
    seconds: float
    asked: int = 0
    possible: int = 0
    unsolved: int = 0
    wrong: int = 0
    peak_bytes: int | None = None
    call_bytes: int | None = None

    @property
    def extrapolated(self) -> bool:
        """Whether `seconds` was computed from a sample of the bounds."""
        return self.asked < self.possible


def measured(section: str, instance: Instance, method: str, seconds: float) -> Measurement:
    """Record the time of a method that bounds all cells at once."""
    return Measurement(
        section=section,
        instance=instance.name,
        method=method,
        rows=instance.rows,
        columns=instance.columns,
        total=instance.total,
        digits=instance.digits,
        seconds=seconds,
    )


def best_of(call: Callable[[], Result], *, budget: float) -> tuple[Result, float]:
    """Call again and again until `budget` seconds are used; keep the shortest time.

    The shortest of many is the least disturbed by whatever else the machine does. Whatever the
    budget, a call runs twice unless it is long: the first one pays for fresh memory.
    """
    started = perf_counter()
    result = call()
    shortest = perf_counter() - started
    repeats = 1
    fewest = 1 if shortest > LONG_CALL else 2
    while repeats < fewest or (perf_counter() - started < budget and repeats < MOST_REPEATS):
        before = perf_counter()
        result = call()
        shortest = min(shortest, perf_counter() - before)
        repeats += 1
    return result, shortest


def measured_solver(
    section: str, instance: Instance, method: str, answer: SolverAnswer, wrong: int
) -> Measurement:
    """Record the time of a solver that bounds cell by cell."""
    return Measurement(
        section=section,
        instance=instance.name,
        method=method,
        rows=instance.rows,
        columns=instance.columns,
        total=instance.total,
        digits=instance.digits,
        seconds=answer.seconds,
        asked=answer.asked,
        possible=answer.possible,
        unsolved=answer.unsolved,
        wrong=wrong,
    )
