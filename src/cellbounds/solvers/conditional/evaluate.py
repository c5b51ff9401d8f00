"""Closed forms of document 004 for one row: which counts a row sum allows.

For a row sum n the cell in column j lies between l_j(n) and u_j(n); the sum is admissible if
these do not cross and sum l <= n <= sum u, and then the attainable counts of the cell are all
from max(l_j, n - sum of the other u) to min(u_j, n - sum of the other l) (Theorem 2.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cellbounds.model.rates.problem import RowProblem
from cellbounds.runtime.arrays import SAFE, BoolArray, IntArray

__all__ = ["Evaluator"]

_BLOCK = 1 << 15
"""Entries of an array evaluated at a time: a few arrays of this size stay in the cache."""

_ALONG = 1 << 11
"""Sums of one row evaluated at a time."""


class Evaluator:
    """Evaluates l_j(n), u_j(n) and what follows, for many rows and sums at once.

    Arrays of sums have one line for each row; results have the columns first.
    """

    __slots__ = ("_capped", "_common", "_lift", "_problem", "_raised", "_tables")

    def __init__(self, problem: RowProblem) -> None:
        self._problem = problem
        scales = set(problem.scale.tolist())
        # Division by one number is several times faster than by an array.
        self._common = next(iter(scales)) if len(scales) == 1 else None
        self._capped = not problem.bare and bool((problem.cell_upper >= 0).any())
        self._raised = not problem.bare and bool((problem.cell_lower > 0).any())
        self._lift = max(scales, default=1)
        # ceil(x/s) = (x-1)//s + 1, and the smallest integer above x/s is x//s + 1; likewise below.
        whole = [problem.low, ~problem.low_open + 0, problem.high, problem.high_open + 0]
        whole += [problem.cell_lower, problem.cell_upper]
        self._tables: dict[Any, list[IntArray]] = {np.int64: [one.T[:, :, None] for one in whole]}

    def limits(self, rows: IntArray, sums: IntArray) -> tuple[IntArray, IntArray]:
        """l_j(n) and u_j(n) of every column."""
        tables = self._tables[np.int32 if sums.dtype == np.int32 else np.int64]
        chosen: Any = rows
        if int(rows[-1]) - int(rows[0]) + 1 == len(rows):
            chosen = slice(int(rows[0]), int(rows[-1]) + 1)  # neighbours need no copies
        low, low_shift, high, high_shift = (one[:, chosen] for one in tables[:4])
        scale = self._common if self._common is not None else self._problem.scale[rows][:, None]
        if sums.dtype == np.int64 and sums.size and int(sums.max()) * self._lift >= SAFE:
            # l(n) = low * (n // scale) + l(n mod scale): no product leaves int64.
            whole = sums // scale
            rest = sums - whole * scale
            lower = (low * rest - low_shift) // scale + 1 + low * whole
            upper = (high * rest - high_shift) // scale + high * whole
        else:
            lower = (low * sums - low_shift) // scale + 1
            upper = (high * sums - high_shift) // scale
        lower = np.maximum(lower, tables[4][:, chosen] if self._raised else 0)
        if self._capped:
            known = tables[5][:, chosen]
            upper = np.where(known >= 0, np.minimum(upper, known), upper)
        return lower, upper

    def shortened(self, sums: IntArray) -> IntArray:
        """Sums in 32 bits, where division is several times faster, if all products fit."""
        if sums.dtype != np.int64 or self._problem.needs_objects or self._common is None:
            return sums
        wide = self._problem.width * (self._lift + 1)
        most = 2 * int(sums.max(initial=0))
        if self._raised or self._capped:
            most = max(
                most, int(self._problem.cell_lower.max()), int(self._problem.cell_upper.max())
            )
        if most * wide >= 2**31:
            return sums
        if np.int32 not in self._tables:
            self._tables[np.int32] = [one.astype(np.int32) for one in self._tables[np.int64]]
        return sums.astype(np.int32)

    def admissible(self, rows: IntArray, sums: IntArray) -> BoolArray:
        """Which sums are possible for the row, taken alone and without value lists."""
        sums = self.shortened(sums)
        possible = np.empty(sums.shape, dtype=bool)
        along = min(sums.shape[1], _ALONG)
        down = max(1, _BLOCK // max(1, along * self._problem.width))
        for top in range(0, len(rows), down):
            chosen = rows[top : top + down]
            for start in range(0, sums.shape[1], along):
                part = sums[top : top + down, start : start + along]
                lower, upper = self.limits(chosen, part)
                fits = (lower <= upper).all(axis=0)
                fits &= lower.sum(axis=0, dtype=sums.dtype) <= part
                fits &= part <= upper.sum(axis=0, dtype=sums.dtype)
                possible[top : top + down, start : start + along] = fits
        return possible

    def cell_ranges(self, rows: IntArray, sums: IntArray) -> tuple[IntArray, IntArray]:
        """Smallest and largest count of every cell for admissible sums."""
        return self.ranges(*self.limits(rows, sums), sums)

    @staticmethod
    def ranges(lower: IntArray, upper: IntArray, sums: IntArray) -> tuple[IntArray, IntArray]:
        """The same from l_j and u_j: what the other columns leave, at most and at least."""
        short = sums - upper.sum(axis=0)
        long = sums - lower.sum(axis=0)
        return np.maximum(lower, short + upper), np.minimum(upper, long + lower)

    def sums_array(self, sums: Sequence[Any] | IntArray, largest: int) -> IntArray:
        """Row sums as an array that is safe to compute with."""
        small = largest < SAFE // 4 and not self._problem.needs_objects
        return np.array(sums, dtype=np.int64 if small else object)
