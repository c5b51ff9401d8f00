"""Phase 1 for rows that were rounded so that they add to one (largest remainder).

Such a row with sum n, J columns and printed units P_j, U in all, is any vector whose F_j =
J (U x_j - n P_j) - j lie within J n - 1 of each other. Let F0 be the least of them: each column
then has its counts between two ends that grow with F0, one of them by one at each step.

- From n = U on, every window holds a count of each column. So the starts F0 at which the least
  counts add to n or less, and the most to n or more, are an interval, and the counts of a column
  at them leave no gap. Both ends of these counts follow from the starts at which a sum of floors
  passes a number: with the residues sorted, it is one of them.
- Up to n = U a window holds at most one count of each column, and there is at most one vector: n
  shared out in the ratio of P by the largest remainder, which the window may or may not hold.

Proofs: docs/theory/largest-remainder.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from cellbounds.errors import CellboundsError
from cellbounds.model.rates.row_problem import RowProblem
from cellbounds.runtime.arrays import SAFE, BoolArray, IntArray
from cellbounds.solvers.conditional.admissible import Evaluator, ranges_within

_PIECE = 1 << 20
"""Counts that are worked out at a time."""

_FIRST = 8
"""Columns that are looked at before all are."""


class WholeRows(Evaluator):
    """Evaluates rows whose figures speak together; rows without figures as their rates say.

    Nothing may be known of single cells.
    """

    __slots__ = ("_columns", "_figures", "_unit", "_width")

    def __init__(self, problem: RowProblem) -> None:
        super().__init__(problem)
        assert problem.figures is not None
        self._figures, self._unit, self._width = problem.figures, problem.unit, problem.width
        self._columns = np.arange(problem.width)[:, None]
        if 8 * (problem.unit * problem.width) ** 2 >= SAFE:
            self._figures, self._columns = (
                self._figures.astype(object),
                self._columns.astype(object),
            )

    @property
    def modulus(self) -> int:
        """J U."""
        return self._width * self._unit

    def starts(self, figures: IntArray, sums: IntArray) -> IntArray:
        """J n P_j + j, for figures of each column and sums."""
        return np.asarray(self._width * sums * figures + self._columns)

    def speaks(self, row: int) -> bool:
        """Whether a row has figures."""
        return bool(self._figures[row, 0] >= 0)

    def admissible(self, rows: IntArray, sums: IntArray) -> BoolArray:
        """Which sums are possible for the row, taken alone."""
        possible = sums >= self._unit
        shown = self._figures[rows, 0] >= 0
        if not shown.all():
            possible[~shown] = super().admissible(rows[~shown], sums[~shown])
        small = np.argwhere(~possible & shown[:, None])
        piece = max(1, _PIECE // self._width)
        for start in range(0, len(small), piece):
            line, place = small[start : start + piece].T
            # Most sums are seen to fail by their first columns.
            likely = self._leaves_gap(rows[line], sums[line, place])
            line, place = line[likely], place[likely]
            _, fits = self._only(rows[line], sums[line, place])
            possible[line, place] = fits
        return np.asarray(possible, dtype=bool)

    def _leaves_gap(self, rows: IntArray, sums: IntArray) -> BoolArray:
        """Whether the remainders of the first columns leave room between those that go up or not.

        They lie between 0 and a unit, and none within ``unit - n`` below the first to go up.
        """
        rest = np.sort(self._rests(rows, sums, _FIRST), axis=0)
        gap = np.maximum(np.diff(rest, axis=0).max(axis=0, initial=0), rest[0])
        return np.asarray(np.maximum(gap, self._unit - rest[-1]) >= self._unit - sums, dtype=bool)

    def _rests(self, rows: IntArray, sums: IntArray, columns: int | None = None) -> IntArray:
        """What sums times figures leave beside whole units, for sums of one unit at most."""
        figures = self._figures[rows, :columns].T
        if self._unit**2 < 2**31:  # division is several times faster in 32 bits
            return figures.astype(np.int32) * sums.astype(np.int32) % np.int32(self._unit)
        return np.asarray(figures * sums % self._unit)

    def limits(self, rows: IntArray, sums: IntArray) -> tuple[IntArray, IntArray]:
        """What the smallest and the largest share of each cell make of the sums."""
        shown = np.asarray(self._figures[rows, 0] >= 0)
        if not shown.all():
            lower, upper = super().limits(rows, sums)
            if shown.any():
                lower[:, shown], upper[:, shown] = self.limits(rows[shown], sums[shown])
            return lower, upper
        figures = self._figures[rows].T[:, :, None]
        some, width = figures > 0, self._width
        beside = some.sum(axis=0) + ~some
        lower = self._share(np.where(some, width * (figures - 1) + 1, 0), width, sums, up=True)
        return lower, self._share(beside * (figures + 1) - 1, beside, sums, up=False)

    def _share(
        self, share: IntArray, parts: IntArray | int, sums: IntArray, *, up: bool
    ) -> IntArray:
        """``share / (parts * unit)`` of each sum, rounded up or down."""
        period = parts * self._unit
        # In whole periods and what is left of them, so that no product leaves int64.
        whole = sums // period if int(sums.max(initial=0)) * self._lift >= SAFE else 0 * sums
        rest = share * (sums - whole * period)
        return np.asarray(share * whole + (-(-rest // period) if up else rest // period))

    def ranges(self, rows: IntArray, sums: IntArray) -> tuple[IntArray, ...]:
        """Smallest and largest count of every cell for admissible sums; l_j(n), u_j(n) beside."""
        lower, upper = self.limits(rows, sums)
        shown = np.broadcast_to((self._figures[rows, 0] >= 0)[:, None], sums.shape)
        large = np.asarray(sums > self._unit, dtype=bool)
        if shown.all() and large.all():
            ends = self._between(np.repeat(rows, sums.shape[1]), sums.ravel())
            return *(side.reshape(lower.shape) for side in ends), lower, upper
        smallest, largest = ranges_within(lower, upper, sums)
        for chosen, method in ((shown & ~large, self._single), (shown & large, self._between)):
            line, place = np.nonzero(chosen)
            if len(line):
                ends = method(rows[line], sums[line, place])
                smallest[:, line, place], largest[:, line, place] = ends
        return smallest, largest, lower, upper

    def _only(self, rows: IntArray, sums: IntArray) -> tuple[IntArray, BoolArray]:
        """The nearest row to the printed one for each sum, and whether the rule prints it so."""
        width, unit = self._width, self._unit
        shares = sums * self._figures[rows].T
        whole = shares // unit
        rest = shares - unit * whole
        keys = width * rest + self._columns
        order = np.sort(keys, axis=0)
        up = rest.sum(axis=0) // unit
        # So many go up: the first of them, and the last that does not.
        first = np.minimum(width - up, width - 1).astype(np.int64)[None, :]
        least = np.take_along_axis(order, first, axis=0)
        below = np.take_along_axis(order, np.maximum(first - 1, 0), axis=0)
        fits = (up == 0) | (least - below > width * (unit - sums))[0]
        return whole + ((keys >= least) & (up > 0)), np.asarray(fits, dtype=bool)

    def _single(self, rows: IntArray, sums: IntArray) -> tuple[IntArray, IntArray]:
        counts, _ = self._only(rows, self._narrow(sums))
        return counts, counts

    def _between(self, rows: IntArray, sums: IntArray) -> tuple[IntArray, IntArray]:
        """Smallest and largest counts of rows with more than a unit of people."""
        figures = self._figures[rows].T
        starts = _Starts(self, figures, sums) if self._is_short(sums) else None
        return self._smallest(figures, sums, starts), self._largest(figures, sums, starts)

    def best(self, row: int, sums: Sequence[int], downwards: bool) -> IntArray:
        """The smallest counts of a row over some sums; the largest if `downwards`."""
        best: IntArray | None = None
        piece = max(1, _PIECE // self._width)
        for start in range(0, len(sums), piece):
            part = self.sums_array(sums[start : start + piece], max(sums))
            small, large = part[part <= self._unit], part[part > self._unit]
            counts = [self._only(np.full(len(small), row), self._narrow(small))[0]]
            if len(large):
                method = self._largest if downwards else self._smallest
                counts.append(method(self._figures[[row]].T, large, None))
            ends = np.concatenate(counts, axis=1)
            ends = ends.max(axis=1) if downwards else ends.min(axis=1)
            if best is not None:
                ends = np.maximum(best, ends) if downwards else np.minimum(best, ends)
            best = ends
        assert best is not None
        return best

    def _smallest(self, figures: IntArray, sums: IntArray, starts: _Starts | None) -> IntArray:
        """With the column at the start of the window, the others must be able to make the rest."""
        width, unit = self._width, self._unit
        few, times = self._reduced(sums, width * unit)
        starts = starts or _Starts(self, figures, few)
        top = starts.passes(None, width, few + (few - 1) // unit)
        least = starts.over(top - width * few) + 1 + times * (width * (figures - 1) + 1)
        return np.asarray(least if (figures > 0).all() else np.where(figures > 0, least, 0))

    def _largest(self, figures: IntArray, sums: IntArray, known: _Starts | None) -> IntArray:
        """With the column at the end of the window, the others must not need more than the rest."""
        width, unit, some = self._width, self._unit, np.asarray(figures > 0)
        positive = np.asarray(some.sum(axis=0))
        few, times = self._reduced(sums, positive * unit)
        starts = known or _Starts(self, figures, few)
        need = few - (few - 1) // unit - positive + 1
        begin = starts.passes(None if some.all() else some, positive, need)
        largest = starts.over(begin + width * few - 1) + times * (positive * (figures + 1) - 1)
        if some.all():
            return np.asarray(largest)
        # Of a column printed as 0 each count leaves the others less.
        few, times = self._reduced(sums, (positive + 1) * unit)
        starts = starts if self._is_short(sums) else _Starts(self, figures, few)
        needed = np.where(some, starts.over(-width * few) + 1, 0).sum(axis=0)
        # From one column to the next the window begins one earlier, which one end may notice.
        falls = some & (starts.rests == (width * few + self._columns) % (width * unit))
        needed = needed - (np.cumsum(falls, axis=0) - falls)
        most = (few - needed) // (positive + 1) + times * positive
        return np.asarray(np.where(some, largest, most))

    def _is_short(self, sums: IntArray) -> bool:
        """Whether no product with these sums leaves int64."""
        return sums.dtype != object and int(sums.max(initial=0)) * self._lift * 4 < SAFE

    def _narrow(self, sums: IntArray) -> IntArray:
        return sums if self._figures.dtype == object else sums.astype(np.int64)

    def _reduced(self, sums: IntArray, period: int | IntArray) -> tuple[IntArray, IntArray]:
        """Sums less some periods, still one unit at least, and how many: numbers stay small."""
        if self._is_short(sums):
            return sums, np.zeros(1, dtype=np.int64)
        times = (sums - self._unit) // period
        return self._narrow(sums - times * period), times

    def boxes(self, row: int, sums: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """The vectors of a row by the column that comes first in the window, and its count."""
        large = np.flatnonzero(sums > self._unit) if self.speaks(row) else sums[:0]
        place, lower, upper = super().boxes(row, np.delete(sums, large))
        pieces = [(np.delete(np.arange(len(sums)), large)[place], lower, upper)]
        pieces += self._boxes_of(row, sums, large) if len(large) else []
        places, lows, highs = (np.concatenate(ends, axis=-1) for ends in zip(*pieces, strict=True))
        order = np.argsort(places, kind="stable")
        return places[order], lows[:, order], highs[:, order]

    def _boxes_of(
        self, row: int, sums: IntArray, large: IntArray
    ) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
        width, modulus = self._width, self._width * self._unit
        figures = self._figures[[row]].T
        least, _ = self._between(np.full(len(large), row), sums[large])
        starts = self.starts(figures, sums[large])
        for column in range(width):
            # The first in the window is none of those that got more than their share.
            many = np.maximum(starts[column] // modulus - least[column] + 1, 0).astype(np.int64)
            places = np.repeat(np.arange(len(large)), many)
            begins = np.repeat(np.cumsum(many) - many, many)
            value = least[column][places] + np.arange(len(places)) - begins
            total, own = sums[large][places], starts[:, places]
            first = modulus * value - own[column]
            lower = np.maximum(-(-(first + 1 + own) // modulus), 0)
            upper = (first + width * total - 1 + own) // modulus
            lower[column] = upper[column] = value
            held = (lower <= upper).all(axis=0) & (lower.sum(axis=0) <= total)
            held &= upper.sum(axis=0) >= total
            held = np.flatnonzero(np.asarray(held, dtype=bool))
            ends = ranges_within(lower[:, held], upper[:, held], total[held])
            yield large[places[held]], *ends

    def filled(self, row: int, total: int, column: int | None, value: int | None) -> list[int]:
        """Counts of one row with this sum, the cell in `column` being `value`."""
        figures = [int(figure) for figure in self._figures[row]]
        width, unit = self._width, self._unit
        if column is None or value is None or total <= unit:
            nearest, _ = self._only(np.array([row]), np.array([total], dtype=object))
            return [int(count) for count in nearest[:, 0]]
        starts = [width * total * figure + j for j, figure in enumerate(figures)]
        modulus = width * unit

        def box(start: int) -> list[tuple[int, int]]:
            last = start + width * total - 1
            ends = [(max(0, -(-(start + s) // modulus)), (last + s) // modulus) for s in starts]
            ends[column] = (value, value)
            return ends

        # The smallest window with this count whose columns can make the sum.
        high = modulus * value - starts[column]
        low = high - width * total + 1
        while low < high:
            middle = (low + high) // 2
            if sum(most for _, most in box(middle)) >= total:
                high = middle
            else:
                low = middle + 1
        ends = box(low)
        counts, missing = [least for least, _ in ends], total - sum(least for least, _ in ends)
        for j, (least, most) in enumerate(ends):
            added = min(most - least, missing)
            counts[j] += added
            missing -= added
        if missing or min(counts) < 0:
            raise CellboundsError("no row holds a count found attainable; please report this")
        return counts


class _Starts:
    """J n P_j + j of each column, over J U: what takes a count of a column to its place F_j.

    Sums of one J U and the other are told by comparing remainders: division is what costs.
    """

    __slots__ = ("_modulus", "floors", "rests")

    def __init__(self, rows: WholeRows, figures: IntArray, sums: IntArray) -> None:
        self._modulus = rows.modulus
        starts = rows.starts(figures, sums)
        self.floors = starts // self._modulus
        self.rests = starts - self.floors * self._modulus

    def over(self, more: IntArray) -> IntArray:
        """The floors of (start + more) / J U."""
        whole = more // self._modulus
        rest = more - whole * self._modulus
        return np.asarray(self.floors + whole + (self.rests >= self._modulus - rest))

    def passes(self, counted: BoolArray | None, many: int | IntArray, need: IntArray) -> IntArray:
        """The least t at which the floors of (t + start) / J U of some columns add to `need`."""
        floors, steps = self.floors, self._modulus - self.rests
        if counted is not None:
            floors = np.where(counted, floors, 0)
            steps = np.where(counted, steps, 2 * self._modulus)
        steps = np.sort(steps, axis=0)
        short = need - floors.sum(axis=0) - 1
        turns = short // many
        at = (short - turns * many).astype(np.int64)[None, :]
        return np.asarray(np.take_along_axis(steps, at, axis=0)[0] + self._modulus * turns)


def make_evaluator(problem: RowProblem) -> Evaluator:
    """What evaluates the rows of a problem."""
    return Evaluator(problem) if problem.figures is None else WholeRows(problem)
