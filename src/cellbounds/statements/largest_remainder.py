"""What the rates of a row say together that were rounded so that they add to one.

Shares of a row are rounded down to units of the last decimal, and the units that are then missing
go to the largest remainders, earlier columns first. With U = 10^d units in one, counts x_j that add
to n and printed units P_j that add to U, let E_j = U x_j - n P_j. The rule prints P exactly if for
all columns a and b

    E_a - E_b <= n      (a after b),        E_a - E_b <= n - 1      (a before b):

all errors of a row lie in one window of one unit, wherever it lies. With F_j = J E_j - j, which are
all different, that is max F - min F <= J n - 1 (docs/theory/largest-remainder.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from cellbounds.data.cell_groups import CellGroups
from cellbounds.errors import TooMuchWork
from cellbounds.runtime.arrays import SAFE, BoolArray, IntArray, whole_array
from cellbounds.statements.inequalities import NO_LOWER, LinearRows, impossible

MOST_TERMS = 1 << 23
"""Coefficients of the inequalities between all pairs of columns, at most."""


@dataclass(frozen=True, slots=True, eq=False)
class LargestRemainder:
    """Printed figures in units of the last decimal, rows (givens) by columns (responses).

    `unit` is how many of them make one. The rule holds for `rows`; of the others nothing is said.
    """

    unit: int
    figures: IntArray
    rows: BoolArray

    @property
    def width(self) -> int:
        """The number of columns."""
        return int(self.figures.shape[1])

    @property
    def adds_up(self) -> BoolArray:
        """Which rows may have been printed: their figures add to one."""
        return np.asarray(self.figures.sum(axis=1) == self.unit, dtype=bool)

    def without(self, rows: BoolArray) -> LargestRemainder:
        """The same without what it says of some rows."""
        return replace(self, rows=self.rows & ~rows)

    def hull(self) -> tuple[IntArray, IntArray, int]:
        """Between which shares each rate lies by itself, and their denominator.

        A little wider than need be where figures are zero, so that the denominator stays small.
        A row that was not printed by the rule has no shares: its ends cross.
        """
        width, unit, figures = self.width, self.unit, self.figures
        scale = unit * width
        if scale * width >= SAFE // 4:
            figures = figures.astype(object)
        some = np.asarray(figures > 0)
        positive = np.maximum(some.sum(axis=1), 1)[:, None]
        low = np.where(some, width * figures - (width - 1), 0)
        # Of a unit at most 1 - 1/k more, if k figures (this one among them) are not zero.
        above = np.where(some, width - width // positive, width - width // (positive + 1))
        high = np.minimum(width * figures + above, scale)
        wrong = (self.rows & ~self.adds_up)[:, None]
        low, high = np.where(wrong, scale, low), np.where(wrong, 0, high)
        shown = self.rows[:, None]
        return np.where(shown, low, 0), np.where(shown, high, scale), scale

    def shares(self, row: int) -> list[tuple[Fraction, Fraction]]:
        """The smallest and largest share of each column among rows of real numbers."""
        width, figures = self.width, [int(figure) for figure in self.figures[row]]
        positive = sum(figure > 0 for figure in figures)
        ends = []
        for figure in figures:
            # The others all go up by as much as this one goes down, less one unit; or the reverse,
            # but for those that are zero and cannot go down.
            down = Fraction(width - 1, width) if figure else Fraction(0)
            beside = positive + (figure == 0)
            ends.append((figure - down, figure + Fraction(beside - 1, beside)))
        return [(low / self.unit, high / self.unit) for low, high in ends]

    def missed(self, counts: IntArray) -> tuple[int, int] | None:
        """The first row with somebody that would be printed otherwise, and a column of it."""
        columns = np.arange(self.width)
        sums = counts.sum(axis=1, dtype=object)[:, None]
        if self.unit * self.width * int(sums.max(initial=0)) >= SAFE:
            counts = counts.astype(object)
        else:
            sums = sums.astype(np.int64)
        errors = self.width * (self.unit * counts - sums * self.figures) - columns
        wide = errors.max(axis=1) - errors.min(axis=1) >= self.width * sums[:, 0]
        wrong = self.rows & np.asarray(sums[:, 0] > 0) & (np.asarray(wide) | ~self.adds_up)
        if not wrong.any():
            return None
        row = int(np.argmax(wrong))
        return row, int(np.argmax(np.abs(errors[row])))

    def inequalities(self, groups: CellGroups, *, closed: bool) -> Iterator[LinearRows]:
        """One for each two columns of a row, in either order; what says nothing is left out.

        The figure of an inequality numbers it after the figures themselves: row, a and b.
        """
        width, unit = self.width, self.unit
        starts = groups.starts
        terms = (
            (width - 1)
            * width
            * sum(
                int(starts[(row + 1) * width] - starts[row * width])
                for row in np.flatnonzero(self.rows)
            )
        )
        if terms > MOST_TERMS:
            raise TooMuchWork(
                f"rates rounded so that rows of {width} columns add to one, beside other "
                f"statements, take {terms} coefficients, more than {MOST_TERMS}; merge levels, or "
                "give rule='interval'"
            )
        for row in np.flatnonzero(self.rows).tolist():
            if not self.adds_up[row]:
                yield impossible(row * width)
                continue
            first, last = int(starts[row * width]), int(starts[(row + 1) * width])
            column = np.repeat(
                np.arange(width), np.diff(starts[row * width : (row + 1) * width + 1])
            )
            yield from self._pairs(row, groups.cells[first:last], column, unit, closed=closed)

    def _pairs(
        self, row: int, cells: IntArray, column: IntArray, unit: int, *, closed: bool
    ) -> Iterator[LinearRows]:
        width, figures = self.width, [int(figure) for figure in self.figures[row]]
        size, lines = self.figures.size, list[tuple[IntArray, IntArray, int, int]]()
        for a in range(width):
            for b in range(width):
                if a == b:
                    continue
                # U (x_a - x_b) - (P_a - P_b + 1) n is at most 0, or less than that.
                shared = figures[a] - figures[b] + 1
                weights = whole_array([-shared] * width, (width,))
                if unit + abs(shared) >= SAFE:
                    weights = weights.astype(object)
                weights[a] += unit
                weights[b] -= unit
                weights = weights[column]
                upper = 0 if closed or a > b else -1
                held = np.flatnonzero(weights)
                if upper == 0 and not (weights > 0).any():
                    continue
                number = size + (row * width + a) * width + b
                if not len(held):
                    yield impossible(number)
                    continue
                divisor = int(np.gcd.reduce(weights[held]))
                lines.append((cells[held], weights[held] // divisor, upper // divisor, number))
        if lines:
            yield LinearRows(
                np.array([len(held) for held, *_ in lines]),
                np.concatenate([held for held, *_ in lines]),
                np.concatenate([weights for _, weights, *_ in lines]),
                np.full(len(lines), NO_LOWER),
                np.array([upper for *_, upper, _ in lines]),
                np.array([number for *_, number in lines]),
            )
