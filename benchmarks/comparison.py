"""Ours and the peers on the same instance, with equal answers as the condition.

Document 004's algorithm and CP-SAT compute in integers (the transforms' rounding is far below
one half), so any difference from them is an error: :class:`Mismatch`. HiGHS computes in
floating point and is sometimes wrong. A difference from it is an error too, unless a table
checked in integers reaches further than the optimum it claims; then it is counted as wrong.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks import ours
from benchmarks.arrays import IntArray
from benchmarks.instances import Instance
from benchmarks.measurement import (
    CPSAT,
    HIGHS,
    KERNEL,
    PAPER,
    WHOLE_CALL,
    Measurement,
    best_of,
    measured,
    measured_solver,
)
from benchmarks.peers import cpsat, highs, paper
from benchmarks.peers.per_bound import UNKNOWN, SolverAnswer, is_consistent

EVERY_VALUE_UP_TO = 2000  # people; larger tables are compared by their bounds only
REFUTATION_SECONDS = 120.0


class Mismatch(Exception):
    """Two methods disagree about an attainable count."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How long to spend on an instance.

    Parameters
    ----------
    repeat_seconds : float
        Budget for repeating short calls.
    highs_bounds, cpsat_bounds : int or None
        How many bounds to ask each solver for; None for all of them, 0 for leaving it out.
    solver_seconds : float
        Time limit for each of these bounds.
    """

    repeat_seconds: float
    highs_bounds: int | None
    cpsat_bounds: int | None
    solver_seconds: float


def compare(section: str, instance: Instance, effort: Effort, seed: int) -> list[Measurement]:
    """Measure every method on an instance and check that the answers are equal.

    Raises
    ------
    Mismatch
        If two methods disagree and the disagreement is not a refuted claim of HiGHS.
    """
    publication = ours.publish(instance)
    release = ours.build_release(publication)
    rates, scale, total = instance.rates, instance.scale, instance.total
    budget = effort.repeat_seconds
    mine, kernel_seconds = best_of(lambda: ours.kernel(release), budget=budget)
    whole, whole_seconds = best_of(lambda: ours.whole_call(publication), budget=budget)
    theirs, paper_seconds = best_of(lambda: paper.bounds(rates, scale, total), budget=budget)
    require_equal(instance, WHOLE_CALL, mine, whole)
    require_equal(instance, PAPER, mine, (theirs.lower, theirs.upper))
    if total <= EVERY_VALUE_UP_TO:
        require_equal_values(instance, publication)
    rows = [
        measured(section, instance, KERNEL, kernel_seconds),
        measured(section, instance, WHOLE_CALL, whole_seconds),
        measured(section, instance, PAPER, paper_seconds),
    ]
    for method, solver, asked in (
        (HIGHS, highs.bounds, effort.highs_bounds),
        (CPSAT, cpsat.bounds, effort.cpsat_bounds),
    ):
        if asked == 0:
            continue
        answer = solver(
            rates, scale, total, max_bounds=asked, seconds=effort.solver_seconds, seed=seed
        )
        wrong = count_wrong(instance, method, mine, answer)
        rows.append(measured_solver(section, instance, method, answer, wrong))
    return rows


def require_equal(
    instance: Instance,
    method: str,
    mine: tuple[IntArray, IntArray],
    theirs: tuple[IntArray, IntArray],
) -> None:
    """Raise `Mismatch` at the first cell whose bounds differ."""
    for side, own, other in zip(("lower", "upper"), mine, theirs, strict=True):
        for row, column in np.argwhere(np.asarray(own) != other).tolist():
            raise mismatch(
                instance,
                method,
                side,
                (row, column),
                int(own[row, column]),
                int(other[row, column]),
            )


def require_equal_values(instance: Instance, publication: ours.Publication) -> None:
    """Raise `Mismatch` at the first cell whose attainable values differ, holes included."""
    answer = paper.bounds(instance.rates, instance.scale, instance.total, every_value=True)
    assert answer.attainable is not None
    for i, row in enumerate(ours.attainable(publication)):
        for j, values in enumerate(row):
            if not np.array_equal(values, np.flatnonzero(answer.attainable[i, j])):
                msg = (
                    f"{instance.name}, {instance.digits} digits, cell {(i, j)}: "
                    f"the attainable values differ from those of {PAPER}"
                )
                raise Mismatch(msg)


def count_wrong(
    instance: Instance, method: str, mine: tuple[IntArray, IntArray], answer: SolverAnswer
) -> int:
    """Count the refuted claims of a solver; raise `Mismatch` for any other difference."""
    wrong = 0
    for side, own, other in (("lower", mine[0], answer.lower), ("upper", mine[1], answer.upper)):
        different = (other != UNKNOWN) & (np.asarray(own) != other)
        for row, column in np.argwhere(different).tolist():
            ours_, theirs = int(own[row, column]), int(other[row, column])
            falls_short = theirs > ours_ if side == "lower" else theirs < ours_
            if method == HIGHS and falls_short and is_attained(instance, (row, column), ours_):
                wrong += 1
            else:
                raise mismatch(instance, method, side, (row, column), ours_, theirs)
    return wrong


def is_attained(instance: Instance, cell: tuple[int, int], value: int) -> bool:
    """Whether a table, found by search and checked in integers, holds that value."""
    rates, scale, total = instance.rates, instance.scale, instance.total
    table = cpsat.find_table(
        rates, scale, total, cell=cell, value=value, seconds=REFUTATION_SECONDS
    )
    return table is not None and is_consistent(table, rates, scale, total)


def mismatch(
    instance: Instance, method: str, side: str, cell: tuple[int, int], own: int, other: int
) -> Mismatch:
    """Say where two methods disagree, and what about."""
    return Mismatch(
        f"{instance.name}, {instance.digits} digits, cell {cell}: "
        f"our {side} bound is {own}, {method} gives {other}"
    )
