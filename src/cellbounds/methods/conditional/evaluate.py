"""Closed forms of document 004 for one row: which counts a row sum allows.

For a row sum n the cell in column j lies between l_j(n) and u_j(n); the sum is admissible if
these do not cross and sum l <= n <= sum u, and then the attainable counts of the cell are all
from max(l_j, n - sum of the other u) to min(u_j, n - sum of the other l) (Theorem 2.1).
"""

from __future__ import annotations

import numpy as np

from cellbounds.arrays import SAFE, BoolArray, IntArray
from cellbounds.methods.conditional.problem import RowProblem

__all__ = ["Evaluator"]

_BLOCK = 1 << 17
"""Sums evaluated at a time: a few arrays of this size stay in the cache."""


class Evaluator:
    """Evaluates l_j(n), u_j(n) and what follows, for many rows and sums at once."""

    __slots__ = ("_common", "_lift", "_lower_shift", "_problem", "_upper_shift")

    def __init__(self, problem: RowProblem) -> None:
        self._problem = problem
        scales = set(problem.scale.tolist())
        # Division by one number is several times faster than by an array.
        self._common = scales.pop() if len(scales) == 1 else None
        # ceil(x/s) = (x-1)//s + 1, and the smallest integer above x/s is x//s + 1; likewise below.
        self._lower_shift = np.where(problem.low_open, 0, 1)
        self._upper_shift = np.where(problem.high_open, 1, 0)
        self._lift = int(problem.scale.max(initial=1))

    def limits(self, rows: IntArray, sums: IntArray, column: int) -> tuple[IntArray, IntArray]:
        """l_j and u_j of one column; `sums` has one line for each of `rows`."""
        problem = self._problem
        scale = self._common if self._common is not None else problem.scale[rows][:, None]
        low, high = problem.low[rows, column][:, None], problem.high[rows, column][:, None]
        remainder, base_low, base_high = sums, 0, 0
        if sums.dtype != object and sums.size and int(sums.max()) * self._lift >= SAFE:
            # l(n) = low * (n // scale) + l(n mod scale): no product leaves int64.
            whole = sums // scale
            remainder = sums - whole * scale
            base_low, base_high = low * whole, high * whole
        lower = (low * remainder - self._lower_shift[rows, column][:, None]) // scale + 1
        upper = (high * remainder - self._upper_shift[rows, column][:, None]) // scale
        lower = np.maximum(lower + base_low, problem.cell_lower[rows, column][:, None])
        known = problem.cell_upper[rows, column][:, None]
        upper = upper + base_high
        if (known >= 0).any():
            upper = np.where(known >= 0, np.minimum(upper, known), upper)
        return lower, upper

    def admissible(self, rows: IntArray, sums: IntArray) -> BoolArray:
        """Which sums are possible for the row, taken alone and without value lists."""
        possible = np.ones(sums.shape, dtype=bool)
        height = max(1, len(rows))
        block = max(1, _BLOCK // height)
        for start in range(0, sums.shape[1], block):
            part = sums[:, start : start + block]
            low_sum = np.zeros_like(part)
            high_sum = np.zeros_like(part)
            fits = possible[:, start : start + block]
            for column in range(self._problem.width):
                lower, upper = self.limits(rows, part, column)
                fits &= lower <= upper
                low_sum += lower
                high_sum += upper
            fits &= (low_sum <= part) & (part <= high_sum)
        return possible

    def cell_ranges(self, rows: IntArray, sums: IntArray) -> tuple[IntArray, IntArray]:
        """Smallest and largest count of every cell for admissible sums.

        Returns arrays of shape (columns, rows, sums).
        """
        each = [self.limits(rows, sums, column) for column in range(self._problem.width)]
        lower = np.stack([one for one, _ in each])
        upper = np.stack([one for _, one in each])
        low_sum, high_sum = lower.sum(axis=0), upper.sum(axis=0)
        smallest = np.maximum(lower, sums - (high_sum - upper))
        largest = np.minimum(upper, sums - (low_sum - lower))
        return smallest, largest

    def sums_array(self, sums: list[int] | range | IntArray, largest: int) -> IntArray:
        """Row sums as an array that is safe to compute with."""
        small = largest < SAFE // 4 and not self._problem.needs_objects
        return np.array(sums, dtype=np.int64 if small else object)
