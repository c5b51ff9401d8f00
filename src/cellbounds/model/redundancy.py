"""Equations that follow from others: left out of very large linear programs.

The rank is taken modulo a large prime and over a random sample of the cells. Rows that are
independent there are independent; should a row be left out wrongly, the program only becomes a
little weaker, and what it proves stays proven.
"""

from __future__ import annotations

import numpy as np

from cellbounds.model.problem import Problem
from cellbounds.runtime.arrays import BoolArray

__all__ = ["independent_rows"]

PRIME = 2**31 - 1

CELLS_PER_ROW = 4
"""Cells of the sample for each row."""


def independent_rows(problem: Problem) -> BoolArray:
    """Rows that the other equations follow from; inequalities are all kept."""
    from flint import nmod_mat

    equal = problem.row_lower == problem.row_upper
    numbers = np.flatnonzero(equal)
    size = len(problem.lower)
    sample = np.arange(size)
    if CELLS_PER_ROW * len(numbers) < size:
        chosen = np.random.default_rng(1).choice(size, CELLS_PER_ROW * len(numbers), replace=False)
        sample = np.sort(chosen)
    line, column = np.full(size, -1), np.full(len(equal), -1)
    line[sample], column[numbers] = np.arange(len(sample)), np.arange(len(numbers))
    rows = problem.rows
    inside = (line[problem.cells] >= 0) & (column[rows] >= 0)
    dense = np.zeros((len(sample), len(numbers)), dtype=np.int64)
    dense[line[problem.cells[inside]], column[rows[inside]]] = problem.coefficients[inside] % PRIME
    echelon, rank = nmod_mat(len(sample), len(numbers), dense.ravel().tolist(), PRIME).rref()
    pivots, place = [], 0
    for k in range(rank):
        while int(echelon[k, place]) == 0:
            place += 1
        pivots.append(place)
        place += 1
    kept = ~equal
    kept[numbers[pivots]] = True
    return np.asarray(kept)
