"""The interval that each published rate stands for, with open or closed ends, in integers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from cellbounds.data.cell_groups import CellGroups
from cellbounds.runtime.arrays import SAFE, BoolArray, IntArray
from cellbounds.statements.inequalities import NO_LOWER, NO_UPPER, LinearRows, impossible, narrowed
from cellbounds.statements.largest_remainder import LargestRemainder


@dataclass(frozen=True, slots=True, eq=False)
class RateIntervals:
    """Intervals for the rates of a statement, laid out as rows (givens) by columns (responses).

    The rate in row i, column j lies between ``low[i, j] / scale[i]`` and ``high[i, j] / scale[i]``,
    ends included unless open. `zero` marks rows that are said to hold nobody. `remainders` is what
    the rates of a row say together, if they were rounded so that they add to one; the intervals
    then only enclose them.
    """

    low: IntArray
    high: IntArray
    scale: IntArray
    low_open: BoolArray
    high_open: BoolArray
    zero: BoolArray
    remainders: LargestRemainder | None = None

    def interval(self, row: int, column: int) -> tuple[Fraction, Fraction, bool, bool]:
        """Both ends of one rate's interval, and whether each is open."""
        scale = int(self.scale[row])
        return (
            Fraction(int(self.low[row, column]), scale),
            Fraction(int(self.high[row, column]), scale),
            bool(self.low_open[row, column]),
            bool(self.high_open[row, column]),
        )

    def texts(self) -> list[list[str] | None]:
        """Each interval in the usual brackets, rows of them; None for a row that holds nobody."""
        rows: list[list[str] | None] = []
        for row, nobody in enumerate(self.zero):
            ends = [self.interval(row, column) for column in range(self.low.shape[1])]
            texts = [
                f"{'(' if low_open else '['}{low},{high}{')' if high_open else ']'}"
                for low, high, low_open, high_open in ends
            ]
            rows.append(None if nobody else texts)
        return rows

    def withheld(self, hidden: BoolArray) -> RateIntervals:
        """The same with some rates unknown."""
        return replace(
            self,
            low=np.where(hidden, 0, self.low),
            high=np.where(hidden, self.scale[:, None], self.high),
            low_open=self.low_open & ~hidden,
            high_open=self.high_open & ~hidden,
        )

    def met(self, other: RateIntervals) -> RateIntervals:
        """What both say of the same rates."""
        scale: IntArray = np.lcm(self.scale.astype(object), other.scale.astype(object))
        ours, theirs = scale // self.scale, scale // other.scale
        lows = [self.low * ours[:, None], other.low * theirs[:, None]]
        highs = [self.high * ours[:, None], other.high * theirs[:, None]]
        low, high = np.maximum(*lows), np.minimum(*highs)
        pairs = zip((self, other), lows, highs, strict=True)
        open_ends = [
            (one.low_open & np.asarray(first == low), one.high_open & np.asarray(last == high))
            for one, first, last in pairs
        ]
        lows_open, highs_open = (a | b for a, b in zip(*open_ends, strict=True))
        if int(scale.max()) < SAFE // 4:
            low, high, scale = (ends.astype(np.int64) for ends in (low, high, scale))
        return replace(
            self, low=low, high=high, scale=scale, low_open=lows_open, high_open=highs_open
        )

    def missed(self, counts: IntArray) -> tuple[int, int] | None:
        """Row and column of the first true rate outside of its interval; rows of counts."""
        if self.remainders is not None and (missed := self.remainders.missed(counts)) is not None:
            return missed
        most = max(int(np.abs(ends).max()) for ends in (self.low, self.high, self.scale))
        if counts.dtype != object and most * int(counts.sum(dtype=object)) >= SAFE:
            counts = counts.astype(object)
        sums = counts.sum(axis=1)[:, None]
        # Rates are compared as whole numbers: times the scale and the sum of the row.
        shares, low, high = counts * self.scale[:, None], self.low * sums, self.high * sums
        beyond = (shares < low) | (shares > high)
        beyond |= (self.low_open & (shares == low)) | (self.high_open & (shares == high))
        places = np.argwhere(np.asarray(beyond & (sums > 0), dtype=bool))
        return (int(places[0, 0]), int(places[0, 1])) if len(places) else None


def rate_inequalities(
    ends: RateIntervals, groups: CellGroups, *, closed: bool
) -> Iterator[LinearRows]:
    """For each rate ``scale * cell - end * row sum`` between two limits, one line for each end.

    First comes, for each row of rates, that it holds somebody, or nobody.
    """
    if ends.remainders is not None:
        yield from ends.remainders.inequalities(groups, closed=closed)
        ends = ends.withheld(np.ones(ends.low.shape, dtype=bool))
    row, column, scale, end, lower, upper, about_sum = _lines_of(ends, closed)
    columns = ends.low.shape[1]
    # Every line speaks of all cells of its row: those behind its own rate, and the others.
    begin = groups.starts[row * columns]
    widths = groups.starts[(row + 1) * columns] - begin
    rate = row * columns + column
    first = groups.starts[rate]
    inside = groups.starts[rate + 1] - first
    kind: type = object if max(np.abs(scale).max(), np.abs(end).max()) >= 2**31 else np.int64
    own: IntArray = np.where(inside > 0, scale - end, 0).astype(kind)
    other: IntArray = np.where(widths > inside, -end, 0).astype(kind)
    shared = np.maximum(np.gcd(own, other), 1)
    own, other = own // shared, other // shared
    # Limits are rounded inwards, as sums are whole.
    lower = np.where(lower == NO_LOWER, NO_LOWER, -(-lower // shared))
    upper = np.where(upper == NO_UPPER, NO_UPPER, upper // shared)
    lower, upper = lower.astype(np.int64), upper.astype(np.int64)
    coefficients = np.repeat(other, widths)
    coefficients[_ranges(np.cumsum(widths) - widths + first - begin, inside)] = np.repeat(
        own, inside
    )
    some = np.asarray(coefficients != 0, dtype=bool)
    held = np.where(own != 0, inside, 0) + np.where(other != 0, widths - inside, 0)
    for empty in np.flatnonzero((held == 0) & ((lower > 0) | (upper < 0))):
        yield impossible(int(rate[empty]))
    says = held > 0
    if says.any():
        yield LinearRows(
            widths=held[says],
            cells=groups.cells[_ranges(begin, widths)][some],
            coefficients=narrowed(coefficients[some]),
            lower=lower[says],
            upper=upper[says],
            figure=rate[says],
            about_sum=about_sum[says],
        )


def _ranges(first: IntArray, length: IntArray) -> IntArray:
    """So many whole numbers from each first one on, one range after the other."""
    ends = np.cumsum(length)
    return np.repeat(first - ends + length, length) + np.arange(int(ends[-1]))


def _lines_of(ends: RateIntervals, closed: bool) -> tuple[IntArray, ...]:
    """Row, column, scale, end, lower and upper limit of each line, and whether it is a row's sum.

    The lines in order: the sum of a row, then the low and the high end of each of its rates.
    """
    rows, columns = ends.low.shape
    scale = ends.scale[:, None]
    none = np.zeros(ends.low.shape, dtype=np.int64)
    bottom, top = (none, none) if closed else (ends.low_open + none, ends.high_open + none)
    # An exact rate has one line for both ends. If one is open, nothing is left: the line then asks
    # for at least 1 and at most 0.
    same = ends.low == ends.high
    says_low = same | (ends.low > 0) | ((ends.low == 0) & (bottom == 1))
    says_high = ~same & ((ends.high < scale) | ((ends.high == scale) & (top == 1)))
    held = np.asarray(~ends.zero)[:, None]

    def laid(sums: IntArray, lows: IntArray, highs: IntArray) -> IntArray:
        """Three kinds of lines in one order, those that say nothing left out."""
        both = np.stack([lows, highs], axis=2).reshape(rows, 2 * columns)
        return np.concatenate([sums, both], axis=1)[says]

    says = np.ones((rows, 1 + 2 * columns), dtype=bool)
    says[:, 1::2], says[:, 2::2] = held & says_low, held & says_high
    row = np.arange(rows)[:, None]
    column = np.arange(columns) + none
    # Coefficients of one everywhere: no scale, and minus one of the row sum taken away.
    return (
        laid(row, row + none, row + none),
        laid(0 * row, column, column),
        laid(0 * row, scale + none, scale + none),
        laid(0 * row - 1, ends.low, ends.high),
        laid(np.where(held, 1, NO_LOWER), bottom, none + NO_LOWER),
        laid(np.where(held, NO_UPPER, 0), np.where(same, -top, NO_UPPER), -top),
        laid(row == row, none != none, none != none),
    )
