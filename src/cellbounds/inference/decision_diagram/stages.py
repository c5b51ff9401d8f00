"""What a sum has to remember while its cells are placed one after the other.

After some of its cells a sum is known in part: s. What matters of s is which totals of the other
cells would still do. If no total can fall short any more and none can be too large, all such s are
the same, and are written as one. Values of s that cannot be completed are left out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cellbounds.inference.decision_diagram.sums import Sum
from cellbounds.model.constraints import NO_LOWER, NO_UPPER
from cellbounds.runtime.arrays import BoolArray, IntArray

__all__ = ["Stages", "stages_of"]


class Stages(NamedTuple):
    """One sum after 0, 1, ... of its cells, in the order in which they are placed.

    Attributes
    ----------
    places
        When its cells are placed, ascending.
    factors
        Their factors.
    low, high
        Partial sums that can be reached and completed; a stage with low > high has none.
    same, more
        Partial sums from ``low + same`` to ``low + same + more`` are all alike.
    rest_least, rest_most
        The least and the most that the cells not placed yet give.
    """

    places: IntArray
    factors: IntArray
    low: IntArray
    high: IntArray
    same: IntArray
    more: IntArray
    rest_least: IntArray
    rest_most: IntArray

    @property
    def width(self) -> IntArray:
        """How many partial sums are told apart."""
        return np.asarray(self.high - self.low + 1 - self.more)

    def allowed(self, stage: int, values: frozenset[int]) -> BoolArray:
        """Which partial sums leave one of the listed values within reach of the other cells."""
        partial = np.arange(int(self.low[stage]), int(self.high[stage]) + 1)
        listed = np.array(sorted(values), dtype=np.int64)
        after = np.searchsorted(listed, partial + self.rest_least[stage])
        nearest = listed[np.minimum(after, len(listed) - 1)]
        return np.asarray((after < len(listed)) & (nearest <= partial + self.rest_most[stage]))


def stages_of(
    one: Sum, rank: IntArray, lower: IntArray, upper: IntArray, *, apart: bool = False
) -> Stages:
    """The stages of a sum whose cells are placed in the order of `rank`.

    `apart` tells all partial sums apart until the sum is complete.
    """
    order = np.argsort(rank[one.cells], kind="stable")
    factors, cells = one.factors[order], one.cells[order]
    places = rank[cells]
    first, second = factors * lower[cells], factors * upper[cells]
    least = np.concatenate([[0], np.cumsum(np.minimum(first, second))])
    most = np.concatenate([[0], np.cumsum(np.maximum(first, second))])
    rest_least, rest_most = least[-1] - least, most[-1] - most
    low = least if one.lower == NO_LOWER else np.maximum(least, one.lower - rest_most)
    high = most if one.upper == NO_UPPER else np.minimum(most, one.upper - rest_least)
    safe_low = low if one.lower == NO_LOWER else np.maximum(low, one.lower - rest_least)
    safe_high = high if one.upper == NO_UPPER else np.minimum(high, one.upper - rest_most)
    alike = safe_low <= safe_high
    if apart or one.values is not None:
        alike[:-1] = False
    same = np.where(alike, safe_low - low, 0)
    more = np.where(alike, safe_high - safe_low, 0)
    return Stages(places, factors, low, high, same, more, rest_least, rest_most)
