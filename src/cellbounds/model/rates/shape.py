"""What the rates of a row force: exact cells, the step of its sums, where sums saturate.

Proofs: docs/theory/rounded-conditionals.md. In short, for a row whose rates leave some room,
every sum beyond a *reach* that does not depend on N is admissible; a row without room is a
conditional with exact rates, whose sums are the multiples of a *step*; a row may be both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from cellbounds.model.rates.problem import RowProblem
from cellbounds.runtime.arrays import BoolArray, IntArray

__all__ = ["RowShapes", "row_shapes"]


@dataclass(frozen=True, eq=False)
class RowShapes:
    """Facts about each row; numerators are over the row's scale.

    Attributes
    ----------
    impossible
        Rows whose rates cannot come from any counts.
    low, high, low_open, high_open
        Rates clipped to 0..1, and which of these ends are not included.
    exact, share
        Cells that are a fixed share of the row sum, and that share.
    step
        Every admissible sum is a multiple of this.
    """

    scale: IntArray
    impossible: BoolArray
    low: IntArray
    high: IntArray
    low_open: BoolArray
    high_open: BoolArray
    exact: BoolArray
    share: IntArray
    step: IntArray

    @cached_property
    def reach(self) -> IntArray:
        """Multiples of the step larger than (where the row can begin) + reach are admissible."""
        reach = self._reach_of_all
        if self._room.no_low.any():
            reach = np.minimum(reach, self._room.reach_over(self._room.free & ~self._room.no_low))
            reach = np.where(self._room.alone(), 0, reach)
        return np.where(self._room.free.any(axis=1), reach, 0)

    def touch(self, row: int, stride: int) -> int:
        """Beyond (where the row can begin) + touch, counts under neighbouring sums meet.

        For sums `stride` apart, a multiple of the step: the counts of a cell under one overlap or
        touch those under the next, so that a run of sums gives a run of counts.
        """
        free = np.flatnonzero(~self.exact[row])
        scale, reach = int(self.scale[row]), int(self._reach_of_all[row])
        overlap = 0
        for column in free.tolist():
            low, high = int(self.tight_low[row, column]), int(self.tight_high[row, column])
            overlap = max(overlap, -(-(scale + low * stride) // (high - low)))
        return reach + 1 + overlap if len(free) else 0

    @cached_property
    def tight_low(self) -> IntArray:
        """The smallest share of each cell among real-valued rows."""
        forced = np.maximum(self.low, self.high - self._excess_high)
        return np.where(self.exact, self.share, forced)

    @cached_property
    def tight_high(self) -> IntArray:
        """The largest share of each cell among real-valued rows."""
        forced = np.minimum(self.high, self.low + self._excess_low)
        return np.where(self.exact, self.share, forced)

    @cached_property
    def tight_low_open(self) -> BoolArray:
        """Whether the smallest share is not attained."""
        if not self.high_open.any() and not self.low_open.any():
            return np.zeros(self.low.shape, dtype=bool)
        others = (self.high_open.sum(axis=1)[:, None] - self.high_open) > 0
        own = (self.tight_low == self.low) & self.low_open
        forced = (self.tight_low == self.high - self._excess_high) & others
        return np.asarray(~self.exact & (own | forced), dtype=bool)

    @cached_property
    def tight_high_open(self) -> BoolArray:
        """Whether the largest share is not attained."""
        if not self.high_open.any() and not self.low_open.any():
            return np.zeros(self.low.shape, dtype=bool)
        others = (self.low_open.sum(axis=1)[:, None] - self.low_open) > 0
        own = (self.tight_high == self.high) & self.high_open
        forced = (self.tight_high == self.low + self._excess_low) & others
        return np.asarray(~self.exact & (own | forced), dtype=bool)

    @cached_property
    def _excess_high(self) -> IntArray:
        return np.asarray((self.high.sum(axis=1) - self.scale)[:, None])

    @cached_property
    def _excess_low(self) -> IntArray:
        return np.asarray((self.scale - self.low.sum(axis=1))[:, None])

    @cached_property
    def _reach_of_all(self) -> IntArray:
        return self._room.reach_over(self._room.free)

    @cached_property
    def _room(self) -> _Room:
        free = ~self.exact
        no_low = free & (self.low == 0) & ~self.low_open
        no_high = free & (self.high == self.scale[:, None]) & ~self.high_open
        rest = self.scale - self.share.sum(axis=1)
        return _Room(self.low, self.high, free, no_low, no_high, rest, self.scale)


def row_shapes(problem: RowProblem) -> RowShapes:
    """Work out the facts for all rows at once; what only some questions need, when asked."""
    if problem.needs_objects:
        # Products of numerators would leave int64.
        problem = replace(
            problem,
            low=problem.low.astype(object),
            high=problem.high.astype(object),
            scale=problem.scale.astype(object),
        )
    scale = problem.scale[:, None]
    low, high = np.maximum(problem.low, 0), np.minimum(problem.high, scale)
    low_open, high_open = problem.low_open, problem.high_open
    if low_open.any():
        low_open = low_open & (problem.low >= 0)
    if high_open.any():
        high_open = high_open & (problem.high <= scale)
    if not problem.bare:
        empty = problem.cell_upper == 0
        high, high_open = np.where(empty, np.minimum(high, 0), high), high_open & ~empty
    fixed = low >= high
    under, over = problem.scale - low.sum(axis=1), high.sum(axis=1) - problem.scale
    impossible = ((under < 0) | (over < 0)) | (
        ((under == 0) & low_open.any(axis=1)) | ((over == 0) & high_open.any(axis=1))
    )
    share, step = np.zeros_like(low), np.ones_like(problem.scale)
    if not fixed.any() and (under > 0).all() and (over > 0).all() and low.shape[1] > 1:
        return RowShapes(
            problem.scale, impossible, low, high, low_open, high_open, fixed, share, step
        )
    impossible = impossible | ((low > high) | (fixed & (low_open | high_open))).any(axis=1)
    at_low, at_high = (under == 0)[:, None], (over == 0)[:, None]
    exact = fixed | at_low | at_high
    share = np.where(at_high & ~at_low, high, np.where(exact, low, 0))
    lone = ~exact & ((~exact).sum(axis=1) == 1)[:, None]
    share = np.where(lone, (problem.scale - share.sum(axis=1))[:, None], share)
    exact = exact | lone
    step = _steps(exact, share, problem.scale)
    return RowShapes(problem.scale, impossible, low, high, low_open, high_open, exact, share, step)


@dataclass(frozen=True, slots=True, eq=False)
class _Room:
    """How much room the free cells of each row leave around a share vector."""

    low: IntArray
    high: IntArray
    free: BoolArray
    no_low: BoolArray
    no_high: BoolArray
    rest: IntArray
    scale: IntArray

    def reach_over(self, cells: BoolArray) -> IntArray:
        """Reach if only `cells` carry the free mass and the other free cells stay empty.

        With k cells, rounding a real row to integers of the same sum moves a cell by at most
        (k-1)/k; a margin of d around the shares absorbs that from sums of (k-1)/(k d) on. Here
        d = margin / (parts * scale) for the narrowest of three margins.
        """
        count = np.maximum(cells.sum(axis=1), 1).astype(self.scale.dtype)
        moved = (count - 1) * self.scale
        far = 2 * self.scale[:, None]
        # Between both ends half the width is margin, below an upper end alone all of it.
        room = np.where(self.no_low, 2 * self.high, self.high - self.low)
        narrowest = np.where(cells & ~self.no_high, room, far).min(axis=1)
        reach = 2 * moved // (count * np.maximum(narrowest, 1))
        # Lower ends that are not zero, all raised by d, must leave room for themselves.
        lowered = (cells & ~self.no_low).sum(axis=1)
        below = self.rest - np.where(self.free, self.low, 0).sum(axis=1)
        reach = np.maximum(reach, moved * lowered // (count * np.maximum(below, 1)))
        # Upper ends, all lowered by d, must still hold everything, unless one may hold all.
        over = np.where(cells, self.high, 0).sum(axis=1) - self.rest
        held = (cells & self.no_high).any(axis=1)
        reach = np.maximum(reach, np.where(held, 0, moved // np.maximum(over, 1)))
        possible = cells.any(axis=1) & (narrowest > 0) & (below > 0) & (held | (over > 0))
        return np.where(possible, reach, _NEVER)

    def alone(self) -> BoolArray:
        """Rows in which one free cell may hold all the free mass by itself."""
        return np.asarray(
            self.no_high.any(axis=1) & ~(self.free & ~self.no_low).any(axis=1), dtype=bool
        )


_NEVER = 2**61
"""Larger than any reach: the option does not apply."""


def _steps(exact: BoolArray, share: IntArray, scale: IntArray) -> IntArray:
    """Least common denominator of the exact shares of each row."""
    wide = np.broadcast_to(scale[:, None], share.shape)
    divisor = np.gcd(np.where(exact, share, 0), wide)
    return np.asarray(np.lcm.reduce(np.where(exact, wide // np.maximum(divisor, 1), 1), axis=1))
