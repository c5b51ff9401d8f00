"""The interval that each published rate stands for, with open or closed ends, in integers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from cellbounds.runtime.arrays import SAFE, BoolArray, IntArray

__all__ = ["RateIntervals"]


@dataclass(frozen=True, slots=True, eq=False)
class RateIntervals:
    """Intervals for the rates of a statement, laid out as rows (givens) by columns (responses).

    The rate in row i, column j lies between ``low[i, j] / scale[i]`` and ``high[i, j] / scale[i]``,
    ends included unless open. `zero` marks rows that are said to hold nobody.
    """

    low: IntArray
    high: IntArray
    scale: IntArray
    low_open: BoolArray
    high_open: BoolArray
    zero: BoolArray

    @classmethod
    def around(
        cls,
        numerators: IntArray,
        denominators: IntArray,
        below: IntArray,
        above: IntArray,
        step: IntArray,
        *,
        low_open: bool,
        high_open: bool,
        missing: BoolArray,
        zero: BoolArray,
    ) -> RateIntervals:
        """Intervals from ``rate - below/step`` to ``rate + above/step``, step by row.

        A missing rate that does not mark a row of zeros was suppressed: anything from 0 to 1.
        """
        scale = _lcm(denominators, step)
        stretch, unit = scale // denominators, scale // step
        low = numerators * stretch[:, None] - below * unit[:, None]
        high = numerators * stretch[:, None] + above * unit[:, None]
        low_ends = np.full(low.shape, low_open)
        high_ends = np.full(low.shape, high_open)
        if missing.any():
            low = np.where(missing, 0, low)
            high = np.where(missing, scale[:, None], high)
            low_ends[missing] = False
            high_ends[missing] = False
        return cls(low, high, scale, low_ends, high_ends, zero)

    def interval(self, row: int, column: int) -> tuple[Fraction, Fraction, bool, bool]:
        """Both ends of one rate's interval, and whether each is open."""
        scale = int(self.scale[row])
        return (
            Fraction(int(self.low[row, column]), scale),
            Fraction(int(self.high[row, column]), scale),
            bool(self.low_open[row, column]),
            bool(self.high_open[row, column]),
        )


def _lcm(left: IntArray, right: IntArray) -> IntArray:
    """Least common multiples as Python integers where int64 could not hold the products."""
    plain = left.dtype != object and right.dtype != object and left.size
    if plain and int(left.max()) * int(right.max()) < SAFE // 4:
        return np.asarray(np.lcm(left, right))
    common: IntArray = np.lcm(left.astype(object), right.astype(object))
    return common.astype(np.int64) if max(common, default=0) < SAFE // 4 else common
