"""Bounds that a dual vector proves, in exact integers.

For any multipliers y of the rows, ``c x = y (A x) + (c - y A) x``; replacing every row and every
cell by whichever of its limits makes the sum smallest gives a number that no table can go below.
The multipliers come from a solver in floating point and are rounded to fractions first, so the
number is right whatever the solver did; a poor vector only proves less.
"""

from __future__ import annotations

import numpy as np

from cellbounds.model.constraints import NO_LOWER, NO_UPPER
from cellbounds.model.problem import Problem
from cellbounds.runtime.arrays import SAFE, IntArray

__all__ = ["Duals"]

DENOMINATORS = (1, 2, 12, 1 << 20)
"""Denominators tried in turn; vertices of table problems have small ones."""


class Duals:
    """Evaluates dual vectors for one problem."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._order, self._begins, self._found = problem.by_cell()
        self._rows = problem.rows[self._order]
        self._factors = problem.coefficients[self._order]

    def least(self, weights: IntArray, duals: IntArray, hoped: int) -> int | None:
        """A number that ``weights @ cells`` is never below; stops trying once it is `hoped`.

        None if the vector proves nothing (a cell without upper limit).
        """
        best: int | None = None
        for denominator in DENOMINATORS:
            multipliers = np.rint(duals * denominator)
            if not np.isfinite(multipliers).all() or np.abs(multipliers).max(initial=0) > 2**40:
                break
            total = self.evaluated(weights, multipliers.astype(np.int64), denominator)
            if total is not None and (best is None or -(-total // denominator) > best):
                best = -(-total // denominator)
                if best >= hoped:
                    break
        return best

    def evaluated(self, weights: IntArray, multipliers: IntArray, denominator: int) -> int | None:
        """What multipliers over a denominator prove of the sum, times the denominator."""
        problem = self._problem
        limits = np.where(multipliers > 0, problem.row_lower, problem.row_upper)
        useless = (limits == NO_LOWER) | (limits == NO_UPPER)
        multipliers = np.where(useless, 0, multipliers)
        limits = np.where(useless, 0, limits)
        rest = denominator * weights
        if len(self._factors):
            terms = self._factors * multipliers[self._rows]
            if float(np.abs(terms).max()) * max(1, len(terms)) >= SAFE:
                return None
            rest[self._found] -= np.add.reduceat(terms, self._begins)
        ends = np.where(rest > 0, problem.lower, problem.upper)
        endless = (rest < 0) & (ends == NO_UPPER)
        if endless.any():
            return None
        size = float(np.abs(multipliers.astype(float)) @ np.abs(limits.astype(float)))
        size += float(np.abs(rest.astype(float)) @ ends.astype(float))
        if size >= SAFE:
            total = sum(int(a) * int(b) for a, b in zip(multipliers, limits, strict=True))
            total += sum(int(a) * int(b) for a, b in zip(rest, ends, strict=True))
        else:
            total = int(multipliers @ limits) + int(rest @ ends)
        return total
