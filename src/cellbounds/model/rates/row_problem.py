"""The rows of one conditional as an integer problem, what their rates force, and their relaxation.

Proofs: docs/theory/rounded-conditionals.md. In short, for a row whose rates leave some room, every
sum beyond a *reach* that does not depend on N is admissible; a row without room is a conditional
with exact rates, whose sums are the multiples of a *step*; a row may be both.

A real-valued row with sum n has cells with lo_j n <= x_j <= hi_j n and l_j <= x_j <= u_j that add
to n. The sums n for which such reals exist form an interval, found by Newton steps on piecewise
linear convex functions, which end after finitely many exact steps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from cellbounds.errors import InconsistentRelease
from cellbounds.model.structure import ConditionalFacts
from cellbounds.runtime.arrays import BoolArray, IntArray, whole_array
from cellbounds.statements.inequalities import NO_LIMIT, MarginBounds
from cellbounds.statements.intervals import RateIntervals


@dataclass(frozen=True, slots=True, eq=False)
class RowProblem:
    """Rows i with rates between low/scale and high/scale, side information, and a total.

    Rows that hold nobody are left out; `rows` gives the place of each remaining row among all.
    Upper bounds hold -1 where nothing is known. `cell_values` and `row_values` list the possible
    counts of single cells and row sums. A problem is `bare` if nothing is known besides the rates
    and N, and `needs_objects` if products of rates and counts could leave int64. `figures` are
    given if rows were rounded so that they add to one: in units of which `unit` make one, -1 in
    rows of which nothing is shown. The rates then only enclose what rows say together.
    """

    low: IntArray
    high: IntArray
    scale: IntArray
    low_open: BoolArray
    high_open: BoolArray
    cell_lower: IntArray
    cell_upper: IntArray
    cell_values: Mapping[tuple[int, int], tuple[int, ...]]
    row_lower: IntArray
    row_upper: IntArray
    row_values: Mapping[int, tuple[int, ...]]
    total_lower: int
    total_upper: int | None
    rows: IntArray
    facts: ConditionalFacts
    height: int
    width: int
    bare: bool
    needs_objects: bool
    unit: int = 0
    figures: IntArray | None = None

    def chosen(self, rows: Sequence[int]) -> RowProblem:
        """The problem of some of the rows."""
        place = {row: new for new, row in enumerate(rows)}
        fields = {name: getattr(self, name) for name in self.__slots__}
        arrays: Any = {
            name: array[rows] for name, array in fields.items() if isinstance(array, np.ndarray)
        }
        return replace(
            self,
            cell_values={(place[i], j): v for (i, j), v in self.cell_values.items()},
            row_values={place[i]: v for i, v in self.row_values.items()},
            height=len(rows),
            **arrays,
        )

    def name(self, row: int) -> str:
        """The row's givens in words, for messages."""
        return _row_name(self.facts, int(self.rows[row]))

    def lists(self, row: int) -> dict[int, tuple[int, ...]]:
        """The possible counts of the cells of a row that have a list, by column."""
        return {column: values for (i, column), values in self.cell_values.items() if i == row}


def build_problem(facts: ConditionalFacts, cells: MarginBounds, rows: MarginBounds) -> RowProblem:
    """Lay the problem out row by row; `cells` and `rows` are what is known of both.

    Raises
    ------
    InconsistentRelease
        If a row that is said to hold nobody is known to hold somebody.
    """
    ends = facts.conditional.intervals
    shape = ends.low.shape
    kept = np.flatnonzero(~ends.zero)
    lower, upper = cells.lower.reshape(shape), cells.upper.reshape(shape)
    row_lower, row_upper = rows.lower.reshape(shape[0]), rows.upper.reshape(shape[0])
    known = bool(facts.on_rows or facts.on_cells or facts.on_parts)
    held = ends.zero & ((lower > 0).any(axis=1) | (row_lower > 0)) if known else ends.zero[:0]
    if held.any():
        raise InconsistentRelease(
            f"the row {_row_name(facts, int(np.argmax(held)))} is said to hold nobody, but what "
            "is known puts somebody there; correct one of the two"
        )
    place_of = {row: place for place, row in enumerate(kept.tolist())}
    cell_values = {
        (place_of[flat // shape[1]], flat % shape[1]): values
        for flat, values in cells.values.items()
        if flat // shape[1] in place_of
    }
    row_values = {place_of[i]: values for i, values in rows.values.items() if i in place_of}
    # A single row holds everybody: sums below N need not be looked at.
    least = max(facts.total.lower, 1) if len(kept) == 1 else 1
    total_upper = facts.total.upper
    if total_upper is not None and known:
        # A bound of N or more says nothing.
        upper = np.where(upper >= total_upper, NO_LIMIT, upper)
        row_upper = np.where(row_upper >= total_upper, NO_LIMIT, row_upper)
    return RowProblem(
        low=ends.low[kept],
        high=ends.high[kept],
        scale=ends.scale[kept],
        low_open=ends.low_open[kept],
        high_open=ends.high_open[kept],
        cell_lower=lower[kept],
        cell_upper=upper[kept],
        cell_values=cell_values,
        row_lower=np.maximum(row_lower[kept], whole_array([least], (1,))),
        row_upper=row_upper[kept],
        row_values=row_values,
        total_lower=facts.total.lower,
        total_upper=total_upper,
        rows=kept,
        facts=facts,
        height=len(kept),
        width=shape[1],
        bare=not known,
        needs_objects=ends.low.dtype == object or int(ends.scale[kept].max(initial=1)) >= 2**31,
        **_shared_out(ends, kept),
    )


def _shared_out(ends: RateIntervals, kept: IntArray) -> dict[str, Any]:
    """The unit and the figures of rows that add to one by the rule that rounded them."""
    rule = ends.remainders
    if rule is None or rule.width == 1:
        return {}
    figures = np.where(rule.rows[:, None], rule.figures, -1)
    return {"unit": rule.unit, "figures": figures[kept]}


def _row_name(facts: ConditionalFacts, row: int) -> str:
    given = facts.conditional.given
    if not given:
        return "(all)"
    margin = facts.domain.project(given)
    labels = margin.labels([int(place) for place in np.unravel_index(row, margin.shape)])
    return ", ".join(f"{name}={label}" for name, label in zip(given, labels, strict=True))


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
    reach
        Multiples of the step larger than (where the row can begin) + reach are admissible.
    reach_of_all
        The same if every free cell is to hold somebody.
    figures, unit
        Those of the problem: rows that add to one by the rule that rounded them.
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
    reach: IntArray
    reach_of_all: IntArray
    figures: IntArray | None = None
    unit: int = 0

    def touch(self, row: int, stride: int) -> int:
        """Beyond (where the row can begin) + touch, counts under neighbouring sums meet.

        For sums `stride` apart, a multiple of the step: the counts of a cell under one overlap or
        touch those under the next, so that a run of sums gives a run of counts.
        """
        free = ~self.exact[row]
        if not free.any():
            return 0
        if self.figures is not None and self.figures[row, 0] >= 0:
            return self._touch_of_whole_row(self.figures[row].tolist(), stride)
        scale, reach = int(self.scale[row]), int(self.reach_of_all[row])
        lows, highs = (ends[row, free].tolist() for ends in self.tight[:2])
        overlaps = [
            -(-(scale + low * stride) // (high - low))
            for low, high in zip(lows, highs, strict=True)
        ]
        return reach + 1 + int(max(overlaps))

    def _touch_of_whole_row(self, figures: list[int], stride: int) -> int:
        """Counts come within 2 + 1/unit of their shares (docs/theory/largest-remainder.md)."""
        unit, width = self.unit, len(figures)
        positive = sum(figure > 0 for figure in figures)
        most = Fraction(0)
        for figure in set(figures):
            low = figure - 1 + Fraction(1, width) if figure else Fraction(0)
            beside = positive + (figure == 0)
            high = figure + 1 - Fraction(1, beside)
            most = max(most, (low * stride + 2 * unit + 2) / (high - low))
        return unit + 1 + math.ceil(most)

    @cached_property
    def tight(self) -> tuple[IntArray, IntArray, BoolArray, BoolArray]:
        """The smallest and largest share of each cell among real-valued rows.

        And which of these are not attained.
        """
        # What the highest rates of the other cells leave at least, and their lowest ones at most.
        least = self.high - (self.high.sum(axis=1) - self.scale)[:, None]
        most = self.low + (self.scale - self.low.sum(axis=1))[:, None]
        low = np.where(self.exact, self.share, np.maximum(self.low, least))
        high = np.where(self.exact, self.share, np.minimum(self.high, most))
        others_low = self.low_open.sum(axis=1)[:, None] > self.low_open
        others_high = self.high_open.sum(axis=1)[:, None] > self.high_open
        low_open = (low == self.low) & self.low_open | (low == least) & others_high
        high_open = (high == self.high) & self.high_open | (high == most) & others_low
        free = ~self.exact
        return low, high, np.asarray(free & low_open, bool), np.asarray(free & high_open, bool)


def row_shapes(problem: RowProblem) -> RowShapes:
    """Work out the facts for all rows at once; what only some questions need, when asked."""
    # Products of numerators may leave int64.
    first, last, scale = (
        array.astype(object) if problem.needs_objects else array
        for array in (problem.low, problem.high, problem.scale)
    )
    low, high = np.maximum(first, 0), np.minimum(last, scale[:, None])
    low_open = problem.low_open & (first >= 0)
    high_open = problem.high_open & (last <= scale[:, None])
    if not problem.bare:
        empty = problem.cell_upper == 0
        high, high_open = np.where(empty, np.minimum(high, 0), high), high_open & ~empty
    fixed = low >= high
    under, over = scale - low.sum(axis=1), high.sum(axis=1) - scale
    impossible = ((under < 0) | (over < 0)) | (
        ((under == 0) & low_open.any(axis=1)) | ((over == 0) & high_open.any(axis=1))
    )
    exact, share, step = fixed, np.zeros_like(low), np.ones_like(scale)
    if fixed.any() or not (under > 0).all() or not (over > 0).all() or problem.width == 1:
        impossible = impossible | ((low > high) | (fixed & (low_open | high_open))).any(axis=1)
        at_low, at_high = (under == 0)[:, None], (over == 0)[:, None]
        exact = np.asarray(fixed | at_low | at_high, dtype=bool)
        share = np.where(at_high & ~at_low, high, np.where(exact, low, 0))
        lone = ~exact & ((~exact).sum(axis=1) == 1)[:, None]
        share = np.where(lone, (scale - share.sum(axis=1))[:, None], share)
        exact = exact | lone
        # The least common denominator of the exact shares of each row.
        wide = np.broadcast_to(scale[:, None], share.shape)
        divisor = np.gcd(np.where(exact, share, 0), wide)
        parts = np.where(exact, wide // np.maximum(divisor, 1), 1)
        step = np.asarray(np.lcm.reduce(parts, axis=1))
    free = ~exact
    # Free cells that may be empty, and those that may hold the whole row.
    no_low = np.asarray(free & (low == 0) & ~low_open, dtype=bool)
    no_high = np.asarray(free & (high == scale[:, None]) & ~high_open, dtype=bool)
    rest = scale - share.sum(axis=1)
    of_all = reach = _reach(free, no_low, no_high, low=low, high=high, scale=scale, rest=rest)
    if no_low.any():
        raised = free & ~no_low
        fewer = _reach(raised, no_low, no_high, low=low, high=high, scale=scale, rest=rest)
        # One free cell may hold all the free mass by itself.
        lone_holder = no_high.any(axis=1) & ~raised.any(axis=1)
        reach = np.where(lone_holder, 0, np.minimum(reach, fewer))
    reach = np.where(free.any(axis=1), reach, 0)
    if problem.figures is not None:
        # Every sum from one unit on is possible (docs/theory/largest-remainder.md).
        reach = np.where(problem.figures[:, 0] >= 0, problem.unit - 1, reach)
    return RowShapes(
        scale=scale,
        impossible=impossible,
        low=low,
        high=high,
        low_open=low_open,
        high_open=high_open,
        exact=exact,
        share=share,
        step=step,
        reach=reach,
        reach_of_all=of_all,
        figures=problem.figures,
        unit=problem.unit,
    )


_NEVER = 2**61
"""Larger than any reach: the option does not apply."""


def _reach(
    cells: BoolArray,
    no_low: BoolArray,
    no_high: BoolArray,
    *,
    low: IntArray,
    high: IntArray,
    scale: IntArray,
    rest: IntArray,
) -> IntArray:
    """Reach if only `cells` carry the free mass, `rest`, and the other free cells stay empty.

    With k cells, rounding a real row to integers of the same sum moves a cell by at most
    (k-1)/k; a margin of d around the shares absorbs that from sums of (k-1)/(k d) on. Here
    d = margin / (parts * scale) for the narrowest of three margins.
    """
    count = np.maximum(cells.sum(axis=1), 1).astype(scale.dtype)
    moved = (count - 1) * scale
    # Between both ends half the width is margin, below an upper end alone all of it.
    room = np.where(no_low, 2 * high, high - low)
    narrowest = np.where(cells & ~no_high, room, 2 * scale[:, None]).min(axis=1)
    reach = 2 * moved // (count * np.maximum(narrowest, 1))
    # Lower ends that are not zero, all raised by d, must leave room for themselves.
    lowered = (cells & ~no_low).sum(axis=1)
    below = rest - np.where(cells, low, 0).sum(axis=1)
    reach = np.maximum(reach, moved * lowered // (count * np.maximum(below, 1)))
    # Upper ends, all lowered by d, must still hold everything, unless one may hold all.
    over = np.where(cells, high, 0).sum(axis=1) - rest
    held = (cells & no_high).any(axis=1)
    reach = np.maximum(reach, np.where(held, 0, moved // np.maximum(over, 1)))
    possible = cells.any(axis=1) & (narrowest > 0) & (below > 0) & (held | (over > 0))
    return np.where(possible, reach, _NEVER)


@dataclass(frozen=True, slots=True)
class RealRow:
    """Rates (clipped to 0..1) with open ends marked, and bounds of one row; None: no bound."""

    low: tuple[Fraction, ...]
    high: tuple[Fraction, ...]
    low_open: tuple[bool, ...]
    high_open: tuple[bool, ...]
    lower: tuple[int, ...]
    upper: tuple[int | None, ...]
    sum_lower: int
    sum_upper: int | None

    def smallest_sum(self) -> Fraction | None:
        """The smallest real sum that the closed constraints allow, None if there is none.

        Upper bounds on cells are not looked at: they never forbid a small sum that the other
        constraints allow without forbidding all of them.
        """
        least = Fraction(self.sum_lower)
        for lower, high in zip(self.lower, self.high, strict=True):
            if lower > 0 and high <= 0:
                return None
            if lower > 0:
                least = max(least, lower / high)
        while True:
            # sum max(lo n, l) <= n: solve with the pieces that are active at `least`.
            slack, fixed = Fraction(1), 0
            for low, lower in zip(self.low, self.lower, strict=True):
                if low * least >= lower:
                    slack -= low
                else:
                    fixed += lower
            if fixed <= slack * least:
                return least
            if slack <= 0:
                return None
            least = fixed / slack

    def largest_sum(self) -> Fraction | None:
        """The largest real sum that upper bounds allow; None without limit."""
        most: Fraction | None = None if self.sum_upper is None else Fraction(self.sum_upper)
        for low, upper in zip(self.low, self.upper, strict=True):
            if upper is not None and low > 0:
                most = upper / low if most is None else min(most, upper / low)
        if most is None:
            # Far out, capped cells count their cap and the others their highest rate.
            slack = 1 - sum(
                (high for high, upper in zip(self.high, self.upper, strict=True) if upper is None),
                Fraction(0),
            )
            if slack <= 0:
                return None
            most = sum(upper for upper in self.upper if upper is not None) / slack
        while True:
            # n <= sum min(hi n, u): solve with the pieces that are active at `most`.
            slack, fixed = Fraction(1), 0
            for high, upper in zip(self.high, self.upper, strict=True):
                if upper is not None and high * most > upper:
                    fixed += upper
                else:
                    slack -= high
            if slack * most <= fixed:
                return most
            most = fixed / slack

    def allows(self, total: Fraction) -> bool:
        """Whether reals with this sum satisfy all constraints, open ends included."""
        if total < self.sum_lower or (self.sum_upper is not None and total > self.sum_upper):
            return False
        least, most, low_strict, high_strict = Fraction(0), Fraction(0), False, False
        for j in range(len(self.low)):
            below, above = self.low[j] * total, self.high[j] * total
            below_open, above_open = self.low_open[j], self.high_open[j]
            if self.lower[j] > below:
                below, below_open = Fraction(self.lower[j]), False
            upper = self.upper[j]
            if upper is not None and upper < above:
                above, above_open = Fraction(upper), False
            if below > above or (below == above and (below_open or above_open)):
                return False
            least, most = least + below, most + above
            low_strict, high_strict = low_strict or below_open, high_strict or above_open
        return (
            least <= total <= most
            and not (least == total and low_strict)
            and not (most == total and high_strict)
        )


def real_row(problem: RowProblem, row: int) -> RealRow:
    """Take one row of a problem into fractions."""
    scale = int(problem.scale[row])
    lows = [int(value) for value in problem.low[row]]
    highs = [int(value) for value in problem.high[row]]
    caps = [int(value) for value in problem.cell_upper[row]]
    sum_upper = int(problem.row_upper[row])
    return RealRow(
        low=tuple(Fraction(max(value, 0), scale) for value in lows),
        high=tuple(Fraction(min(value, scale), scale) for value in highs),
        low_open=tuple(
            bool(problem.low_open[row, j]) and value >= 0 for j, value in enumerate(lows)
        ),
        high_open=tuple(
            bool(problem.high_open[row, j]) and value <= scale for j, value in enumerate(highs)
        ),
        lower=tuple(int(value) for value in problem.cell_lower[row]),
        upper=tuple(cap if cap >= 0 else None for cap in caps),
        sum_lower=int(problem.row_lower[row]),
        sum_upper=sum_upper if sum_upper >= 0 else None,
    )
