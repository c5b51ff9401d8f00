"""What statements say in integers: sums of cells with whole coefficients, between two limits.

Open ends need no special treatment: over the integers ``a x > 0`` is ``a x >= 1``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cellbounds.data.cell_groups import CellGroups
from cellbounds.runtime.arrays import SAFE, BoolArray, IntArray

NO_LOWER, NO_UPPER = -SAFE, SAFE
"""Limits that do not limit. A real limit never looks like them: its row is doubled instead."""


@dataclass(frozen=True, slots=True, eq=False)
class ValueList:
    """The sum of some cells is one of the listed numbers.

    `statement` is the place of the statement in its release, `figure` that of the figure in it.
    """

    cells: IntArray
    values: frozenset[int]
    figure: int
    statement: int = 0

    def holds(self, counts: IntArray) -> bool:
        """Whether counts (flat, over the domain) satisfy it."""
        return int(counts[self.cells].sum()) in self.values


@dataclass(frozen=True, slots=True, eq=False)
class LinearRows:
    """Rows of one statement, none of them empty; `about_sum`: about the sum of a row of rates."""

    widths: IntArray
    cells: IntArray
    coefficients: IntArray
    lower: IntArray
    upper: IntArray
    figure: IntArray
    about_sum: BoolArray | None = None

    def holds(self, counts: IntArray) -> bool:
        """Whether counts (flat, over the domain) satisfy every row."""
        starts = np.cumsum(self.widths) - self.widths
        sums = row_sums(self.coefficients, self.cells, starts, counts)
        return not outside(sums, self.lower, self.upper).any()


def row_sums(
    coefficients: IntArray, cells: IntArray, starts: IntArray, counts: IntArray
) -> IntArray:
    """The sum of each row for counts (flat, over the domain); no row is empty."""
    if not len(cells):
        return np.zeros(len(starts), dtype=np.int64)
    if counts.dtype != object and coefficients.dtype != object:
        widest = int(np.abs(coefficients).max())
        if widest * int(counts.sum(dtype=object)) >= SAFE:
            counts = counts.astype(object)
    return np.asarray(np.add.reduceat(coefficients * counts[cells], starts))


def outside(sums: IntArray, lower: IntArray, upper: IntArray) -> BoolArray:
    """Which sums lie beyond a limit."""
    below = (sums < lower) & (lower != NO_LOWER)
    above = (sums > upper) & (upper != NO_UPPER)
    return np.asarray(below | above, dtype=bool)


def bounded_sums(groups: CellGroups, lower: IntArray, upper: IntArray) -> Iterator[LinearRows]:
    """Plain sums over margin cells (`upper` is -1: no limit); what says nothing is left out."""
    widths = groups.widths
    says = np.asarray((lower > 0) | (upper >= 0), dtype=bool)
    empty = widths == 0
    unmet = np.flatnonzero(says & empty & (lower > 0))
    if len(unmet):
        # Nobody can be where no cell is: an impossible row, kept as one that cannot hold.
        yield impossible(int(unmet[0]))
    says &= ~empty
    if not says.any():
        return
    cells = groups.cells[np.repeat(says, widths)]
    widths, lower, upper = widths[says], lower[says], upper[says]
    factor = np.where(upper == NO_UPPER, 2, 1)
    yield LinearRows(
        widths,
        cells,
        np.repeat(factor, widths),
        np.where(lower > 0, factor * lower, NO_LOWER),
        np.where(upper < 0, NO_UPPER, factor * upper),
        np.flatnonzero(says),
    )


def impossible(figure: int) -> LinearRows:
    """A row that no table satisfies."""
    unit, zero = np.array([1]), np.array([0])
    return LinearRows(unit, zero, unit, unit, -unit, np.array([figure]))


def narrowed(coefficients: IntArray) -> IntArray:
    """Coefficients in 64 bits if they are small."""
    if coefficients.dtype == object and np.abs(coefficients).max(initial=0) < 2**31:
        return coefficients.astype(np.int64)
    return coefficients
