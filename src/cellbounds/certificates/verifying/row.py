"""One row of published rates: what is known of it, and which counts it may hold at each sum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from cellbounds.certificates.verifying.plain import SAFE, IntArray, packed
from cellbounds.certificates.verifying.space import Space
from cellbounds.certificates.verifying.statements import Rates, Statement, Sums

__all__ = ["Limits", "Row", "Split"]


class Limits:
    """What totals, margins and priors say of the sum of any cells, each statement by itself."""

    def __init__(self, space: Space, statements: Sequence[Statement]) -> None:
        self._said: list[tuple[Sums, IntArray, IntArray]] = []
        for statement in statements:
            if not isinstance(statement, Sums):
                continue
            behind = space.behind(statement.names)
            if len(np.unique(behind.cells)) < len(behind.cells):
                continue  # its figures overlap, so that they cannot be added up
            figure_of = np.full(space.size, -1)
            figure_of[behind.cells] = behind.figures
            self._said.append((statement, figure_of, np.diff(behind.starts)))

    def of(self, cells: IntArray) -> tuple[int, int | None]:
        """The least and the most (None: no limit) that some cells add up to."""
        least, most = 0, None if len(cells) else 0
        for statement, figure_of, sizes in self._said:
            figures, counts = np.unique(figure_of[cells], return_counts=True)
            whole = [
                figure
                for figure, count in zip(figures.tolist(), counts.tolist(), strict=True)
                if figure >= 0 and count == sizes[figure]
            ]
            least = max(least, sum(statement.least[figure] for figure in whole))
            tops = [statement.most[figure] for figure in whole]
            if len(whole) == len(figures) and None not in tops:
                limit = sum(top for top in tops if top is not None)
                most = limit if most is None else min(most, limit)
        return least, most


@dataclass(frozen=True, slots=True, eq=False)
class _Ends:
    """The least and the most of each column, -1 where there is no most; one entry a column."""

    least: IntArray
    most: IntArray

    @classmethod
    def of(cls, limits: Sequence[tuple[int, int | None]]) -> _Ends:
        tops = [-1 if most is None else most for _, most in limits]
        return cls(packed([least for least, _ in limits])[:, None], packed(tops)[:, None])

    def most_of(self, sums: IntArray) -> IntArray:
        """The most of each column in a row with some sum, which no column exceeds."""
        return np.where(self.most < 0, sums, np.minimum(self.most, sums))


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """The columns of a row cut in two: what is asked about, and the rest."""

    asked: _Ends
    rest: _Ends


class Row:
    """A row of a statement of rates: its cells by column, its intervals, what else is known."""

    def __init__(self, statement: Rates, row: int, columns: list[IntArray], limits: Limits) -> None:
        inside_row = slice(row * statement.columns, (row + 1) * statement.columns)
        self.columns = columns
        self.cells = np.concatenate(columns)
        self.empty = statement.empty[row]
        self._limits = limits
        self._known = [limits.of(cells) for cells in columns]
        self._ends = _Ends.of(self._known)
        lows, highs = statement.lows[inside_row], statement.highs[inside_row]
        self._low_open = np.array(statement.low_open[inside_row])[:, None]
        self._high_open = np.array(statement.high_open[inside_row])[:, None]
        self._low, self._high = _ratios(lows), _ratios(highs)
        self._largest = max(
            abs(part) for rate in (*lows, *highs) for part in rate.as_integer_ratio()
        )
        least, most = limits.of(self.cells)
        self.step = self._step(lows, highs)
        self.least = -(-max(least, 0 if self.empty else 1) // self.step) * self.step
        self.most = 0 if self.empty else most

    def _step(self, lows: Sequence[Fraction], highs: Sequence[Fraction]) -> int:
        """A divisor of every sum: whole counts at fixed rates need one.

        Rates are fixed where their interval is one number, and all of them are where the closed
        upper ends, or the closed lower ones, add up to 1.
        """
        floors = [max(low, Fraction(0)) for low in lows]
        if sum(highs) == 1 and not self._high_open.any():
            fixed = list(highs)
        elif sum(floors) == 1 and not self._low_open.any():
            fixed = floors
        else:
            fixed = [low for low, high in zip(lows, highs, strict=True) if low == high]
        return math.lcm(*(rate.denominator for rate in fixed))

    def is_wide(self, largest: int) -> bool:
        """Whether sums up to some number need Python integers."""
        return (largest + 1) * self._largest * len(self.columns) >= SAFE

    def ends(self, sums: IntArray) -> tuple[IntArray, IntArray]:
        """The least and the most of each column (first axis) for each sum of the row."""
        wide = sums.astype(object) if self.is_wide(int(sums.max(initial=0))) else sums
        over, under = (wide * numerator for numerator, _ in (self._low, self._high))
        # An open end leaves out a count that would lie on it.
        low = np.where(self._low_open, over // self._low[1] + 1, -(-over // self._low[1]))
        high = np.where(self._high_open, -(-under // self._high[1]) - 1, under // self._high[1])
        return (
            np.maximum(low, self._ends.least),
            np.minimum(high, self._ends.most_of(wide)),
        )

    def admissible(self, sums: IntArray) -> IntArray:
        """Which sums the row may have, by its own figures."""
        if self.empty:
            return np.asarray(sums == 0)
        low, high = self.ends(sums)
        fits = (sums >= self.least) & (low.sum(axis=0) <= sums) & (sums <= high.sum(axis=0))
        if self.most is not None:
            fits &= sums <= self.most
        return np.asarray((fits & (low <= high).all(axis=0)).astype(bool))

    def split(self, cells: IntArray) -> Split:
        """Each column cut into the cells that are asked about and the rest."""
        asked, rest = [], []
        chosen = np.isin(self.cells, cells)
        ends = np.cumsum([len(column) for column in self.columns])
        for column, end, known in zip(self.columns, ends, self._known, strict=True):
            here = chosen[end - len(column) : end]
            if here.all() or not here.any():
                asked.append(known if here.any() else (0, 0))
                rest.append((0, 0) if here.any() else known)
            else:
                asked.append(self._limits.of(column[here]))
                rest.append(self._limits.of(column[~here]))
        return Split(_Ends.of(asked), _Ends.of(rest))

    def extremes(self, split: Split, sums: IntArray) -> tuple[IntArray, ...]:
        """Least and most of what is asked about, and of the rest, by the columns alone."""
        low, high = self.ends(sums)
        asked, rest = split.asked, split.rest
        asked_most, rest_most = asked.most_of(sums), rest.most_of(sums)
        return (
            np.maximum(low - rest_most, asked.least).sum(axis=0),
            np.minimum(high - rest.least, asked_most).sum(axis=0),
            np.maximum(low - asked_most, rest.least).sum(axis=0),
            np.minimum(high - asked.least, rest_most).sum(axis=0),
        )


def _ratios(rates: Sequence[Fraction]) -> tuple[IntArray, IntArray]:
    """Numerators and denominators, one entry a column."""
    return (
        packed([rate.numerator for rate in rates])[:, None],
        packed([rate.denominator for rate in rates])[:, None],
    )
