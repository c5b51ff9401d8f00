"""Ours and the peers on the same instance, with equal answers as the condition.

Document 004's algorithm and CP-SAT compute in integers (the transforms' rounding is far below
one half), so any difference from them is an error: :class:`~benchmarks.errors.Mismatch`. HiGHS,
SCIP and scipy compute in floating point and are sometimes wrong. A difference from them is an
error too, unless a table checked in integers reaches further than the optimum they claim; then it
is counted as wrong.
"""

from __future__ import annotations

import numpy as np

from benchmarks.arrays import IntArray
from benchmarks.errors import Mismatch
from benchmarks.measuring.measurement import (
    KERNEL,
    PAPER,
    WHOLE_CALL,
    Measurement,
    best_of,
    measured,
    measured_solver,
)
from benchmarks.peers import cpsat, paper, programs
from benchmarks.peers.per_bound import UNKNOWN, SolverAnswer
from benchmarks.peers.programs import Program
from benchmarks.peers.solvers import SOLVERS, Solver
from benchmarks.plans.rates import Budget
from benchmarks.problems import publications
from benchmarks.problems.instances import Instance

EVERY_VALUE_UP_TO = 2000  # people; larger tables are compared by their bounds only
REFUTATION_SECONDS = 120.0


def compare(section: str, instance: Instance, effort: Budget, seed: int) -> list[Measurement]:
    """Measure every method on an instance and check that the answers are equal.

    Raises
    ------
    Mismatch
        If two methods disagree and the disagreement is not a refuted claim in floating point.
    """
    publications.warm_up()
    publication = publications.publish(instance)
    release = publications.build_release(publication)
    rates, scale, total = instance.rates, instance.scale, instance.total
    budget = effort.repeat_seconds
    mine, kernel_seconds = best_of(lambda: publications.kernel(release), budget=budget)
    whole, whole_seconds = best_of(lambda: publications.whole_call(publication), budget=budget)
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
    program = programs.of_rates(instance)
    for solver in SOLVERS:
        if not solver.installed:
            continue
        answer = solver.bounds(
            program, max_bounds=effort.bounds, seconds=effort.solver_seconds, seed=seed
        )
        wrong = count_wrong(instance, program, solver, mine, answer)
        rows.append(measured_solver(section, instance, solver.name, answer, wrong))
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


def require_equal_values(instance: Instance, publication: publications.Publication) -> None:
    """Raise `Mismatch` at the first cell whose attainable values differ, holes included."""
    answer = paper.bounds(instance.rates, instance.scale, instance.total, every_value=True)
    assert answer.attainable is not None
    for i, row in enumerate(publications.attainable(publication)):
        for j, values in enumerate(row):
            if not np.array_equal(values, np.flatnonzero(answer.attainable[i, j])):
                msg = (
                    f"{instance.name}, {instance.digits} digits, cell {(i, j)}: "
                    f"the attainable values differ from those of {PAPER}"
                )
                raise Mismatch(msg)


def count_wrong(
    instance: Instance,
    program: Program,
    solver: Solver,
    mine: tuple[IntArray, IntArray],
    answer: SolverAnswer,
) -> int:
    """Count the refuted claims of a solver; raise `Mismatch` for any other difference."""
    wrong = 0
    for side, own, other in (("lower", mine[0], answer.lower), ("upper", mine[1], answer.upper)):
        cells = np.asarray(own).ravel()
        for cell in np.flatnonzero((other != UNKNOWN) & (cells != other)).tolist():
            ours, theirs = int(cells[cell]), int(other[cell])
            falls_short = theirs > ours if side == "lower" else theirs < ours
            if not solver.exact and falls_short and is_attained(program, cell, ours):
                wrong += 1
            else:
                place = divmod(cell, instance.columns)
                raise mismatch(instance, solver.name, side, place, ours, theirs)
    return wrong


def is_attained(program: Program, cell: int, value: int) -> bool:
    """Whether a table, found by search and checked in integers, holds that value."""
    table = cpsat.find_table(program, cell, value, REFUTATION_SECONDS)
    return table is not None and program.holds_for(table) and int(table[cell]) == value


def mismatch(
    instance: Instance, method: str, side: str, cell: tuple[int, int], own: int, other: int
) -> Mismatch:
    """Say where two methods disagree, and what about."""
    return Mismatch(
        f"{instance.name}, {instance.digits} digits, cell {cell}: "
        f"our {side} bound is {own}, {method} gives {other}"
    )
