"""Sums that take every whole number between two that they take: no gap to ask about.

A family of sets is *nested* if any two of its members are disjoint or one holds the other. If the
cells of the rows, and of the sum asked for, make up two nested families, their matrix is totally
unimodular (Edmonds 1970). Fix the sum at a whole number between two that tables attain: the tables
of real numbers with it are a polyhedron that is not empty, as it meets the segment between the two
tables, and all its corners are whole (proof: docs/theory/margins.md).
"""

from __future__ import annotations

import numpy as np

from cellbounds.model.problem import Problem
from cellbounds.runtime.arrays import IntArray


class Nested:
    """The rows of a problem as two nested families, if they are.

    Examples
    --------
    >>> import cellbounds as cb
    >>> from cellbounds.model.constraints import compile_release
    >>> from cellbounds.model.problem import make_problem
    >>> table = cb.datasets.read("delinquent")
    >>> release = cb.publish(table, "[county]~5", "[education]~5")
    >>> nested = Nested(make_problem(compile_release(release), table.domain.size))
    >>> nested.unbroken(np.array([0])), nested.unbroken(np.array([0, 5]))
    (True, False)
    """

    def __init__(self, problem: Problem) -> None:
        self._sizes = np.diff(problem.starts)
        self._family = None if problem.lists else _families(problem, self._sizes)
        if self._family is not None:
            order = np.argsort(problem.cells, kind="stable")
            self._rows = problem.rows[order]
            self._begins = np.searchsorted(problem.cells[order], np.arange(len(problem.lower) + 1))

    def unbroken(self, members: IntArray) -> bool:
        """Whether the sum of these cells takes every value between two that it takes.

        That is so if they can be one more member of one of the families.
        """
        if self._family is None:
            return False
        if len(members) <= 1:
            return True
        if len(np.unique(members)) < len(members):
            return False
        begins, ends = self._begins[members], self._begins[members + 1]
        met = np.concatenate(
            [self._rows[a:b] for a, b in zip(begins.tolist(), ends.tolist(), strict=True)]
        )
        rows, shared = np.unique(met, return_counts=True)
        crossed = rows[(shared < self._sizes[rows]) & (shared < len(members))]
        return len(np.unique(self._family[crossed])) < 2


def _families(problem: Problem, sizes: IntArray) -> IntArray | None:
    """The family of each row, 0 or 1; None if the rows do not fit, or have other coefficients.

    Sets join from large to small. One fits into a family if all its cells have the same innermost
    set there: it lies inside that one, and nothing smaller is there yet.
    """
    if not (np.abs(problem.coefficients) == 1).all():
        return None
    starts = problem.starts.tolist()
    innermost = np.full((2, len(problem.lower)), -1, dtype=np.int64)
    family = np.zeros(len(sizes), dtype=np.int64)
    for row in np.argsort(-sizes, kind="stable").tolist():
        inside = slice(starts[row], starts[row + 1])
        cells, signs = problem.cells[inside], problem.coefficients[inside]
        if (signs != signs[0]).any() or len(np.unique(cells)) < len(cells):
            return None
        for number in (0, 1):
            around = innermost[number, cells]
            if (around == around[0]).all():
                innermost[number, cells] = row
                family[row] = number
                break
        else:
            return None
    return family
