"""Bounds where some cells have no upper limit: what lies beyond a known table has limits.

If a table with the value v is known, only tables with less (or more) are of interest. With that
as one more row, most cells that nothing limits are limited after all, which exact linear programs
find out; then an integer program without arbitrary caps can decide.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from cellbounds.errors import TooMuchWork
from cellbounds.model.constraints import NO_LOWER, NO_UPPER
from cellbounds.model.problem import Problem
from cellbounds.runtime.arrays import IntArray
from cellbounds.solvers.general.exact_linear import ExactProgram

__all__ = ["closed_beyond", "exact_bound", "exactly_feasible"]

MOST_CELLS = 400
"""Exact programs, one for each cell, are worth it up to here."""


def exact_bound(problem: Problem, weights: IntArray) -> int | None:
    """The least whole number that ``weights @ cells`` can be in the relaxation."""
    if len(problem.lower) > MOST_CELLS:
        return None
    try:
        least = ExactProgram(problem).least(weights)
    except TooMuchWork:
        return None
    return None if least is None else math.ceil(least)


def exactly_feasible(problem: Problem) -> bool:
    """Whether real numbers fit; yes if the problem is too large to be sure."""
    if len(problem.lower) > MOST_CELLS:
        return True
    try:
        return ExactProgram(problem).feasible
    except TooMuchWork:
        return True


def closed_beyond(problem: Problem, cells: IntArray, value: int, side: int) -> Problem | None:
    """The tables whose sum over `cells` is below (side 0) or above (side 1) a value.

    None if some cell still has no limit.

    Raises
    ------
    InconsistentRelease
        If there are none, not even of real numbers.
    """
    if len(problem.lower) > MOST_CELLS:
        return None
    beyond = replace(
        problem,
        starts=np.append(problem.starts, len(problem.cells) + len(cells)),
        cells=np.concatenate([problem.cells, cells]),
        coefficients=np.concatenate([problem.coefficients, np.ones(len(cells), dtype=np.int64)]),
        row_lower=np.append(problem.row_lower, NO_LOWER if side == 0 else value + 1),
        row_upper=np.append(problem.row_upper, value - 1 if side == 0 else NO_UPPER),
        origin=np.append(problem.origin, -1),
    )
    program = ExactProgram(beyond)
    upper = problem.upper.copy()
    for cell in np.flatnonzero(problem.upper == NO_UPPER):
        weights = np.zeros(len(upper), dtype=np.int64)
        weights[cell] = -1
        try:
            least = program.least(weights)
        except TooMuchWork:
            return None
        if least is None:
            return None
        upper[cell] = math.floor(-least)
    return replace(beyond, upper=upper)
