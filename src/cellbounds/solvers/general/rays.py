"""Sums that nothing limits: decided exactly, from directions in which tables go on for ever."""

from __future__ import annotations

import numpy as np

from cellbounds.model.problem import Problem
from cellbounds.runtime.arrays import IntArray
from cellbounds.solvers.general.exact_linear import ExactProgram

__all__ = ["grows_without_end"]


def grows_without_end(problem: Problem, cells: IntArray) -> bool:
    """Whether the sum of some cells has no upper bound, given that a table exists.

    A rational direction has a multiple in whole numbers, and a table plus any number of those is
    a table; so the whole numbers have no bound exactly if the relaxation has none. Sums that must
    be in a list of values are bounded by rows as well.
    """
    if any(problem.grows_alone(cell) for cell in cells.tolist()):
        return True  # the commonest direction, without a program
    weights = np.zeros(len(problem.lower), dtype=np.int64)
    weights[cells] = -1
    return ExactProgram(problem).least(weights) is None
