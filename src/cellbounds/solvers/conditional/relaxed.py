"""Bounds of one conditional that tables of counts need not attain.

*Linear*: the relaxation in closed form (Theorem 1 of document 003 and beyond). Counts may be any
real numbers; rows still hold at least 1 each. If nothing is known besides, the bounds are the
smallest and largest share of each cell times the smallest and largest row sum; else they are
extremes of piecewise linear functions of the row sum, found exactly.

*Improved*: closed forms for exact rates (document 000, eq. 2 and its verbal algorithm).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from cellbounds.errors import InconsistentRelease
from cellbounds.model.rates.layout import About, about, make_layout, refusal_of
from cellbounds.model.rates.row_problem import (
    RealRow,
    RowProblem,
    RowShapes,
    real_row,
    row_shapes,
)
from cellbounds.model.structure import ConditionalFacts, Facts
from cellbounds.results.solution import Arrays, Query, RelaxedSolution
from cellbounds.results.values import UNBOUNDED
from cellbounds.runtime.arrays import narrowest
from cellbounds.solvers.conditional.parts import part_bounds


class LinearConditional:
    """Exact fractions for the relaxation; OUTER evidence for tables of counts."""

    name = "linear relaxation of one conditional"

    def refusal(self, facts: Facts, query: Query) -> str | None:
        """Needs one conditional; margins and side information over its rows or cells only."""
        if query.kind != "linear":
            return "gives linear bounds only"
        return refusal_of(facts, query.over)

    def solve(self, facts: Facts, query: Query) -> LinearConditionalSolution:
        """Set up the rows of the relaxation."""
        assert facts.conditional is not None
        return LinearConditionalSolution(facts.conditional, query)


class LinearConditionalSolution(RelaxedSolution):
    """Bounds of the relaxation."""

    method = LinearConditional.name

    def __init__(self, facts: ConditionalFacts, query: Query) -> None:
        self._layout = make_layout(facts, query.over, relaxed=True)
        self.places = query.places(facts.domain)

    def bounds(self) -> Arrays:
        """Lower and upper bounds as fractions, in the shape of the cells asked for."""
        layout, problem = self._layout, self._layout.problem
        width = 1 if layout.about is About.ROWS else layout.column_count
        lower = np.full((layout.row_count, width), Fraction(0), dtype=object)
        upper = lower.copy()
        shapes = row_shapes(problem)
        for place, (row, low, high) in enumerate(self._sum_ranges()):
            target = int(problem.rows[place])
            if layout.about is About.ROWS:
                lower[target, 0], upper[target, 0] = low, UNBOUNDED if high is None else high
                continue
            bare = not any(row.lower) and all(cap is None or cap == 0 for cap in row.upper)
            shares = _real_shares(problem, shapes, place) if bare else []
            for column in range(width):
                if bare:
                    least, most = shares[column]
                    endless = high is None and most > 0
                    ends = least * low, UNBOUNDED if endless else most * (high or 0)
                else:
                    ends = _cell_range(row, column, low, high)
                lower[target, column], upper[target, column] = ends
        if layout.about is About.PARTS:
            exact = np.frompyfunc(lambda end: end if end is UNBOUNDED else Fraction(end), 1, 1)
            lower, upper = map(exact, part_bounds(layout, lower, upper))
        return self.places.picked(layout.shaped(lower)), self.places.picked(layout.shaped(upper))

    def _sum_ranges(self) -> list[tuple[RealRow, Fraction, Fraction | None]]:
        """Each row with the smallest and largest sum that it can have beside the others."""
        problem = self._layout.problem
        rows = [real_row(problem, place) for place in range(problem.height)]
        ends: list[tuple[Fraction, Fraction | None]] = []
        for place, row in enumerate(rows):
            low, high = row.smallest_sum(), row.largest_sum()
            # Open ends hold inside the range if they hold anywhere.
            if (
                low is None
                or (high is not None and low > high)
                or not row.allows(low + 1 if high is None else (low + high) / 2)
            ):
                raise InconsistentRelease(
                    f"the row {problem.name(place)} of {problem.facts.conditional.notation}: its "
                    "rates and known bounds agree with no row, not even of real numbers"
                )
            ends.append((low, high))
        least = sum((low for low, _ in ends), Fraction(0))
        tops = [high for _, high in ends if high is not None]
        bounded, endless = sum(tops, Fraction(0)), len(ends) - len(tops)
        self._check_total(rows, ends, least, None if endless else bounded)
        ranges = []
        for row, (low, high) in zip(rows, ends, strict=True):
            begin, end = low, high
            if endless == (high is None):
                # The others have a largest sum: this row makes up what they cannot.
                begin = max(begin, problem.total_lower - (bounded - (high or 0)))
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


def _real_shares(
    problem: RowProblem, shapes: RowShapes, place: int
) -> list[tuple[Fraction, Fraction]]:
    """The smallest and largest share of each cell of a row of real numbers."""
    rule = problem.facts.conditional.intervals.remainders
    if rule is not None and rule.rows[problem.rows[place]]:
        return rule.shares(int(problem.rows[place]))
    scale = int(problem.scale[place])
    low, high = (ends[place].tolist() for ends in shapes.tight[:2])
    return [(Fraction(a, scale), Fraction(b, scale)) for a, b in zip(low, high, strict=True)]


def _cell_range(
    row: RealRow, column: int, low: Fraction, high: Fraction | None
) -> tuple[Fraction, Any]:
    """Extremes of one cell over real rows whose sum lies in a range.

    Given the sum, the cell is at least the largest of three numbers and at most the smallest of
    three; as functions of the sum, all of them are linear from one kink to the next, where a bound
    on a count takes over from a rate.
    """
    others = [k for k in range(len(row.low)) if k != column]
    cap = row.upper[column]

    def floors(total: Fraction) -> list[Fraction]:
        room = sum((_capped(row.high[k] * total, row.upper[k]) for k in others), Fraction(0))
        return [row.low[column] * total, Fraction(row.lower[column]), total - room]

    def ceilings(total: Fraction) -> list[Fraction]:
        need = sum((max(row.low[k] * total, Fraction(row.lower[k])) for k in others), Fraction(0))
        return [-_capped(row.high[column] * total, cap), need - total]

    kinks = {
        bound / rate
        for k in range(len(row.low))
        for rate, bound in ((row.low[k], row.lower[k]), (row.high[k], row.upper[k]))
        if rate > 0 and bound is not None
    }
    least = _lowest_peak(floors, low, high, kinks)
    left = 1 - sum((row.low[k] for k in others), Fraction(0))
    if high is None and row.high[column] > 0 and left > 0:
        # Far out a cell grows with its share, up to its cap.
        return least, UNBOUNDED if cap is None else Fraction(cap)
    return least, -_lowest_peak(ceilings, low, high, kinks)


def _lowest_peak(
    lines: Callable[[Fraction], list[Fraction]],
    low: Fraction,
    high: Fraction | None,
    kinks: set[Fraction],
) -> Fraction:
    """The minimum over a range of the largest of some functions, each linear between kinks.

    Between two kinks it is at one of them, or where two of the lines meet. A range without end
    goes on with the lines beyond its last kink, and the minimum is attained.
    """
    points = sorted({low, *(k for k in kinks if low < k and (high is None or k < high))})
    # Two points of the last piece tell its lines, wherever it ends.
    ends = [*points[1:], points[-1] + 1 if high is None else high]
    candidates = {*points, *([] if high is None else [high])}
    for left, right in zip(points, ends, strict=True):
        if left == right:
            continue
        end = None if high is None and right == ends[-1] else right
        here, there = lines(left), lines(right)
        slopes = [(b - a) / (right - left) for a, b in zip(here, there, strict=True)]
        for i, j in itertools.combinations(range(len(here)), 2):
            if slopes[i] != slopes[j]:
                meet = left + (here[i] - here[j]) / (slopes[j] - slopes[i])
                if left < meet and (end is None or meet < end):
                    candidates.add(meet)
    return min(max(lines(point)) for point in candidates)


def _capped(value: Fraction, cap: int | None) -> Fraction:
    return value if cap is None else min(value, Fraction(cap))


class ImprovedConditional:
    """A cell of the smallest positive rate in its row holds at least one."""

    name = "improved closed form of document 000"

    def refusal(self, facts: Facts, query: Query) -> str | None:
        """Needs exact rates, an exact N, no side information, and a question about cells."""
        if query.kind not in ("improved", "improved-verbal"):
            return "gives improved bounds only"
        refused = refusal_of(facts, query.over)
        if refused is not None or facts.conditional is None:
            return refused
        held = facts.conditional
        if not held.conditional.exact or held.conditional.missing == "suppressed":
            return f"{held.conditional.notation}: the improved bounds need exact rates, all shown"
        if held.total.exact is None:
            return "the improved bounds need N"
        if held.on_rows or held.on_cells or held.on_parts:
            return "the improved bounds know no side information or margins"
        if about(held, query.over) is About.ROWS:
            return "the improved bounds are for cells, not for row sums"
        return None

    def solve(self, facts: Facts, query: Query) -> ImprovedSolution:
        """Set up the rows."""
        assert facts.conditional is not None
        return ImprovedSolution(facts.conditional, query)


class ImprovedSolution(RelaxedSolution):
    """Bounds rounded inward to whole numbers."""

    method = ImprovedConditional.name

    def __init__(self, facts: ConditionalFacts, query: Query) -> None:
        self._layout = make_layout(facts, query.over)
        self._verbal = query.kind == "improved-verbal"
        self.places = query.places(facts.domain)

    def bounds(self) -> Arrays:
        """Lower and upper bounds in the shape of the cells asked for."""
        layout, problem = self._layout, self._layout.problem
        rates = [
            [Fraction(int(top), int(scale)) for top in row]
            for row, scale in zip(problem.low, problem.scale, strict=True)
        ]
        least = [min(rate for rate in row if rate > 0) for row in rates]
        minima = [
            [math.ceil(rate / smallest) for rate in row]
            for row, smallest in zip(rates, least, strict=True)
        ]
        taken = [
            sum(row) if self._verbal else 1 / smallest
            for row, smallest in zip(minima, least, strict=True)
        ]
        everybody = sum(taken, Fraction(0))
        total = problem.total_upper or 0
        lower = np.zeros((layout.row_count, layout.column_count), dtype=object)
        upper = lower.copy()
        for place, row in enumerate(rates):
            target = int(problem.rows[place])
            room = total - (everybody - taken[place])
            lower[target] = minima[place]
            upper[target] = [math.floor(room * rate) for rate in row]
        if (lower > upper).any():
            raise InconsistentRelease(
                f"N={total} is smaller than the rows of {problem.facts.conditional.notation} need"
            )
        if layout.about is About.PARTS:
            lower, upper = part_bounds(layout, lower, upper)
        lower, upper = (self.places.picked(layout.shaped(narrowest(v))) for v in (lower, upper))
        return lower, upper
