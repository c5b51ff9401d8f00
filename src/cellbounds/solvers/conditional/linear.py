"""The linear relaxation of one conditional in closed form (Theorem 1 of document 003 and beyond).

Counts may be any real numbers; rows still hold at least 1 each. Without priors the bounds are
the smallest and largest share of each cell times the smallest and largest row sum; with priors
they are extremes of piecewise linear functions of the row sum, found exactly.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from cellbounds.errors import InconsistentRelease
from cellbounds.model.rates.continuous import RealRow, real_row
from cellbounds.model.rates.shape import row_shapes
from cellbounds.model.structure import Facts
from cellbounds.results.solution import Query, RelaxedSolution
from cellbounds.results.values import UNBOUNDED
from cellbounds.solvers.conditional.layout import About, Layout, layout_of, refusal_of

__all__ = ["LinearConditional"]


class LinearConditional:
    """Exact fractions for the relaxation; OUTER evidence for tables of counts."""

    name = "linear relaxation of one conditional"

    def refusal(self, facts: Facts, question: Query) -> str | None:
        """Needs one conditional; margins and priors over its rows or cells only."""
        if question.kind != "linear":
            return "gives linear bounds only"
        return refusal_of(facts, question.over)

    def work(self, facts: Facts, question: Query) -> LinearAnswers:
        """Set up the rows of the relaxation."""
        return LinearAnswers(layout_of(facts, question), question)


class LinearAnswers(RelaxedSolution):
    """Bounds of the relaxation."""

    def __init__(self, layout: Layout, question: Query) -> None:
        self._layout = layout
        self._places = question.places(layout.facts.domain)

    def bounds(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Lower and upper bounds as fractions, in the shape of the cells asked for."""
        layout = self._layout
        problem = layout.problem
        ranges = self._sum_ranges()
        width = 1 if layout.about is About.ROWS else layout.column_count
        lower = np.full((layout.row_count, width), Fraction(0), dtype=object)
        upper = np.full((layout.row_count, width), Fraction(0), dtype=object)
        shapes = row_shapes(problem)
        for place, (row, low, high) in enumerate(ranges):
            target = int(problem.rows[place])
            if layout.about is About.ROWS:
                lower[target, 0], upper[target, 0] = low, UNBOUNDED if high is None else high
                continue
            if not any(row.lower) and all(one is None or one == 0 for one in row.upper):
                scale = int(problem.scale[place])
                for column in range(width):
                    least = Fraction(int(shapes.tight_low[place, column]), scale)
                    most = Fraction(int(shapes.tight_high[place, column]), scale)
                    lower[target, column] = least * low
                    upper[target, column] = _times(most, high)
                continue
            for column in range(width):
                lower[target, column], upper[target, column] = _cell_range(row, column, low, high)
        if layout.about is About.PARTS:
            lower, upper = self._part_bounds(lower, upper)
        return self._places.picked(layout.shaped(lower)), self._places.picked(layout.shaped(upper))

    def _part_bounds(
        self, lower: npt.NDArray[Any], upper: npt.NDArray[Any]
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        layout = self._layout
        low, high, widths = lower.ravel(), upper.ravel(), layout.behind.widths
        if layout.parts is None:
            least = np.where(widths == 1, low, np.full(low.shape, Fraction(0), dtype=object))
            return np.repeat(least, widths), np.repeat(high, widths)
        smallest, largest = layout.parts.extremes(low, high)
        fractions = [
            np.array(
                [one if one is UNBOUNDED else Fraction(one) for one in side.flat], dtype=object
            )
            for side in (smallest, largest)
        ]
        empty = np.repeat(layout.facts.conditional.intervals.zero, layout.column_count)
        for side in fractions:
            side[np.repeat(empty, widths)] = Fraction(0)
        return fractions[0], fractions[1]

    def _sum_ranges(self) -> list[tuple[RealRow, Fraction, Fraction | None]]:
        """Each row with the smallest and largest sum that it can have beside the others."""
        problem = self._layout.problem
        rows = [real_row(problem, place) for place in range(problem.height)]
        ends: list[tuple[Fraction, Fraction | None]] = []
        for place, row in enumerate(rows):
            low, high = row.smallest_sum(), row.largest_sum()
            if (
                low is None
                or (high is not None and low > high)
                or not row.allows(_middle(low, high))
            ):
                raise InconsistentRelease(
                    f"the row {problem.name(place)} of {problem.facts.conditional.notation}: its "
                    "rates and prior bounds agree with no row, not even of real numbers"
                )
            ends.append((low, high))
        least = sum((low for low, _ in ends), Fraction(0))
        tops = [high for _, high in ends]
        most = None if None in tops else sum((top for top in tops if top is not None), Fraction(0))
        self._check_total(rows, ends, least, most)
        ranges = []
        for row, (low, high) in zip(rows, ends, strict=True):
            begin, end = low, high
            if most is not None and high is not None:
                begin = max(begin, problem.total_lower - (most - high))
            elif sum(top is None for top in tops) == 1 and high is None:
                others = sum((top for top in tops if top is not None), Fraction(0))
                begin = max(begin, problem.total_lower - others)
            if problem.total_upper is not None:
                room = problem.total_upper - (least - low)
                end = room if end is None else min(end, room)
            ranges.append((row, begin, end))
        return ranges

    def _check_total(
        self,
        rows: list[RealRow],
        ends: list[tuple[Fraction, Fraction | None]],
        least: Fraction,
        most: Fraction | None,
    ) -> None:
        """N must be a sum of the rows' ranges, ends that are not attained being left out."""
        problem = self._layout.problem
        low_open = any(not row.allows(low) for row, (low, _) in zip(rows, ends, strict=True))
        high_open = any(
            high is not None and not row.allows(high)
            for row, (_, high) in zip(rows, ends, strict=True)
        )
        upper = problem.total_upper
        short = upper is not None and (upper < least or (upper == least and low_open))
        over = most is not None and (
            problem.total_lower > most or (problem.total_lower == most and high_open)
        )
        if short or over:
            need = "at least" if short else "at most"
            bound = least if short else most
            raise InconsistentRelease(
                f"{problem.facts.total.notation}: the rows of "
                f"{problem.facts.conditional.notation} add to {need} {bound}"
            )


def _middle(low: Fraction, high: Fraction | None) -> Fraction:
    """A point inside the range, where open ends hold if they hold anywhere."""
    return low + 1 if high is None else (low + high) / 2


def _times(share: Fraction, total: Fraction | None) -> Any:
    if total is None:
        return UNBOUNDED if share > 0 else Fraction(0)
    return share * total


def _cell_range(
    row: RealRow, column: int, low: Fraction, high: Fraction | None
) -> tuple[Fraction, Any]:
    """Extremes of one cell over real rows whose sum lies in a range."""
    others = [k for k in range(len(row.low)) if k != column]

    def least(total: Fraction) -> Fraction:
        room = sum((_capped(row.high[k] * total, row.upper[k]) for k in others), Fraction(0))
        return max(row.low[column] * total, Fraction(row.lower[column]), total - room)

    def most(total: Fraction) -> Fraction:
        need = sum((max(row.low[k] * total, Fraction(row.lower[k])) for k in others), Fraction(0))
        return min(_capped(row.high[column] * total, row.upper[column]), total - need)

    kinks = {
        bound / rate
        for k in range(len(row.low))
        for rate, bound in ((row.low[k], row.lower[k]), (row.high[k], row.upper[k]))
        if rate > 0 and bound is not None
    }
    if high is None:
        # Far out everything is linear: a cell without a cap grows with its share, one with a cap
        # reaches it unless the others leave too little.
        far = max([low, *kinks]) + 1
        left = 1 - sum((row.low[k] for k in others), Fraction(0))
        cap = row.upper[column]
        smallest = _lowest(least, low, _beyond(least, far), kinks)
        if cap is None and row.high[column] > 0 and left > 0:
            return smallest, UNBOUNDED
        if cap is not None and row.high[column] > 0 and left > 0:
            return smallest, Fraction(cap)
        return smallest, most(far)
    return (
        _lowest(least, low, high, kinks),
        -_lowest(lambda n: -most(n), low, high, kinks),
    )


def _beyond(function: Callable[[Fraction], Fraction], far: Fraction) -> Fraction:
    """A point after which a convex function no longer falls."""
    step = Fraction(1)
    while function(far + 2 * step) < function(far + step):
        far, step = far + step, step * 2
    return far + 2 * step


def _lowest(
    function: Callable[[Fraction], Fraction], low: Fraction, high: Fraction, kinks: set[Fraction]
) -> Fraction:
    """The minimum of a convex function that is piecewise linear with at most two more kinks.

    Between neighbouring known kinks the function is the largest of three lines, so its minimum is
    at an end or where the lines of both ends' neighbourhoods meet.
    """
    points = sorted({low, high, *(kink for kink in kinks if low < kink < high)})
    best = min(map(function, points))
    for left, right in itertools.pairwise(points):
        best = min(best, _lowest_between(function, left, right))
    return best


def _lowest_between(
    function: Callable[[Fraction], Fraction], left: Fraction, right: Fraction
) -> Fraction:
    """Minimum of the largest of a few lines: cut along end slopes until nothing changes."""
    best = min(function(left), function(right))
    while True:
        # Slopes just inside the ends; pieces are linear on an interval we may shrink to.
        a, b = _slope(function, left, right), _slope(function, right, left)
        if a >= 0 or b <= 0:
            return best
        meet = (function(right) - function(left) + a * left - b * right) / (a - b)
        value = function(meet)
        best = min(best, value)
        line = function(left) + a * (meet - left)
        if value == line:
            return best
        if _slope(function, meet, right) < 0:
            left = meet
        elif _slope(function, meet, left) > 0:
            right = meet
        else:
            return best


def _slope(function: Callable[[Fraction], Fraction], at: Fraction, towards: Fraction) -> Fraction:
    """One-sided slope at a point of a piecewise linear convex function."""
    step = (towards - at) / 2
    slope = (function(at + step) - function(at)) / step
    while True:
        step /= 2
        closer = (function(at + step) - function(at)) / step
        if closer == slope:
            return slope
        slope = closer


def _capped(value: Fraction, cap: int | None) -> Fraction:
    return value if cap is None else min(value, Fraction(cap))
