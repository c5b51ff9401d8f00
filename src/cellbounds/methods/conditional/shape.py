"""What the rates of a row force: exact cells, the step of its sums, where sums saturate.

Proofs: docs/theory/rounded-conditionals.md. In short, for a row whose rates leave some room,
every sum beyond a *reach* that does not depend on N is admissible; a row without room is a
conditional with exact rates, whose sums are the multiples of a *step*; a row may be both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellbounds.arrays import BoolArray, IntArray
from cellbounds.methods.conditional.problem import RowProblem

__all__ = ["RowShapes", "row_shapes"]


@dataclass(frozen=True, slots=True, eq=False)
class RowShapes:
    """Facts about each row; numerators are over the row's scale.

    Attributes
    ----------
    impossible
        Rows whose rates cannot come from any counts.
    exact, share
        Cells that are a fixed share of the row sum, and that share.
    tight_low, tight_high, tight_low_open, tight_high_open
        The smallest and largest share of each cell among real-valued rows, and whether it is
        not attained.
    step
        Every admissible sum is a multiple of this.
    reach
        Multiples of the step larger than (where the row can begin) + reach are admissible.
    touch
        Beyond (where the row can begin) + touch the counts of a cell under neighbouring sums
        overlap or touch.
    """

    impossible: BoolArray
    exact: BoolArray
    share: IntArray
    tight_low: IntArray
    tight_high: IntArray
    tight_low_open: BoolArray
    tight_high_open: BoolArray
    step: IntArray
    reach: IntArray
    touch: IntArray


def row_shapes(problem: RowProblem) -> RowShapes:
    """Work out the facts for all rows at once."""
    scale = problem.scale[:, None]
    low = np.maximum(problem.low, 0)
    high = np.minimum(problem.high, scale)
    low_open = problem.low_open & (problem.low >= 0)
    high_open = problem.high_open & (problem.high <= scale)
    empty = problem.cell_upper == 0
    high, high_open = np.where(empty, np.minimum(high, 0), high), high_open & ~empty

    low_sum, high_sum = low.sum(axis=1), high.sum(axis=1)
    impossible = (
        ((low > high) | ((low == high) & (low_open | high_open))).any(axis=1)
        | (low_sum > problem.scale)
        | ((low_sum == problem.scale) & low_open.any(axis=1))
        | (high_sum < problem.scale)
        | ((high_sum == problem.scale) & high_open.any(axis=1))
    )
    at_low = (low_sum == problem.scale)[:, None]
    at_high = (high_sum == problem.scale)[:, None]
    exact = (low == high) | at_low | at_high
    share = np.where(at_low, low, np.where(at_high, high, np.where(exact, low, 0)))
    rest = problem.scale - share.sum(axis=1)
    lone = ~exact & ((~exact).sum(axis=1) == 1)[:, None]
    share = np.where(lone, rest[:, None], share)
    exact = exact | lone
    rest = np.where(lone.any(axis=1), 0, rest)

    free = ~exact
    tight_low = np.maximum(low, scale - (high_sum[:, None] - high))
    tight_high = np.minimum(high, scale - (low_sum[:, None] - low))
    others_high_open = (high_open.sum(axis=1)[:, None] - high_open) > 0
    others_low_open = (low_open.sum(axis=1)[:, None] - low_open) > 0
    forced_low = (tight_low > low) | ~low_open
    forced_high = (tight_high < high) | ~high_open
    low_from_others = tight_low == scale - (high_sum[:, None] - high)
    high_from_others = tight_high == scale - (low_sum[:, None] - low)
    tight_low_open = ~exact & (~forced_low | (low_from_others & others_high_open))
    tight_high_open = ~exact & (~forced_high | (high_from_others & others_low_open))
    tight_low = np.where(exact, share, tight_low)
    tight_high = np.where(exact, share, tight_high)
    step = _steps(exact, share, problem.scale)
    no_low = (problem.low < 0) | ((problem.low == 0) & ~problem.low_open)
    no_high = (high > scale) | ((high == scale) & ~high_open)
    room = _Room(low, high, free, free & no_low, free & no_high, rest, problem.scale)
    every = room.reach_over(free)
    reach = np.minimum(every, room.reach_over(free & ~no_low))
    reach = np.where(room.alone() | ~free.any(axis=1), 0, reach)
    spread = np.where(free, tight_high - tight_low, 1)
    spread = np.where(spread > 0, spread, 1)  # impossible rows only
    jump = scale + np.where(free, tight_low, 0) * step[:, None]
    overlap = np.where(free, -(-jump // spread), 0).max(axis=1, initial=0)
    touch = np.where(free.any(axis=1), every + 1 + overlap, 0)
    return RowShapes(
        impossible,
        exact,
        share,
        tight_low,
        tight_high,
        tight_low_open,
        tight_high_open,
        step,
        reach,
        touch,
    )


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
        (k-1)/k; a margin of d around the shares absorbs that from sums of (k-1)/(k d) on.
        """
        never = np.full(self.scale.shape, _NEVER, dtype=self.scale.dtype)
        count = cells.sum(axis=1).astype(self.scale.dtype)
        factor = np.maximum(count - 1, 0) * self.scale

        def bound(margin: IntArray, parts: IntArray, applies: BoolArray) -> IntArray:
            # Margin d = margin / (parts * scale); where it is not positive there is no reach.
            safe = np.where(margin > 0, margin, 1)
            value = factor * parts // (np.maximum(count, 1) * safe)
            return np.where(applies, np.where(margin > 0, value, never), 0)

        both = cells & ~self.no_low & ~self.no_high
        above = cells & self.no_low & ~self.no_high
        width = np.where(both, self.high - self.low, self.scale[:, None] * 2).min(axis=1)
        cap = np.where(above, self.high, self.scale[:, None] * 2).min(axis=1)
        lowered = cells & ~self.no_low
        low_count = lowered.sum(axis=1).astype(self.scale.dtype)
        below = self.rest - np.where(lowered, self.low, 0).sum(axis=1)
        over = np.where(cells, self.high, 0).sum(axis=1) - self.rest
        limits = [
            bound(width, np.full_like(count, 2), both.any(axis=1)),
            bound(cap, np.full_like(count, 1), above.any(axis=1)),
            bound(below, low_count, lowered.any(axis=1)),
            bound(over, count, ~(cells & self.no_high).any(axis=1)),
        ]
        reach = limits[0]
        for limit in limits[1:]:
            reach = np.maximum(reach, limit)
        return np.where(count > 0, reach, never)

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
