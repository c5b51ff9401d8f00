"""What statements say in integers: sums of cells with whole coefficients, between two limits.

Open ends need no special treatment: over the integers ``a x > 0`` is ``a x >= 1``. What is said of
the counts of a margin, each by itself, are limits and lists, from one statement or from several.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cellbounds.data.cell_groups import CellGroups
from cellbounds.data.domain import Domain
from cellbounds.errors import InconsistentRelease
from cellbounds.runtime.arrays import SAFE, BoolArray, IntArray, whole_array

if TYPE_CHECKING:
    from cellbounds.statements.statement import Statement


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


NO_LIMIT = -1
"""Stands in upper bounds for: nothing known."""


@dataclass(frozen=True, slots=True, eq=False)
class MarginBounds:
    """What is said of the counts of a margin: bounds for each, and lists of values.

    `upper` holds -1 where nothing is known. `values` maps a flat index to the possible counts.
    """

    lower: IntArray
    upper: IntArray
    values: Mapping[int, tuple[int, ...]]

    def limits(self) -> tuple[IntArray, IntArray]:
        """Flat lower and upper bounds (-1: none), the ends of the lists among them."""
        if not self.values and object not in (self.lower.dtype, self.upper.dtype):
            return self.lower.ravel(), self.upper.ravel()
        lower, upper = self.lower.ravel().tolist(), self.upper.ravel().tolist()
        for place, possible in self.values.items():
            lower[place] = max(lower[place], min(possible))
            high = max(possible)
            upper[place] = high if upper[place] < 0 else min(upper[place], high)
        return whole_array(lower, (len(lower),)), whole_array(upper, (len(upper),))

    def met(self, other: MarginBounds) -> MarginBounds:
        """What both say together of the same cells, axes in the same order."""
        a, b = self.upper, other.upper
        values = dict(self.values)
        for place, possible in other.values.items():
            before = values.get(place)
            values[place] = (
                possible if before is None else tuple(v for v in possible if v in before)
            )
        return MarginBounds(
            np.maximum(self.lower, other.lower),
            np.where(a < 0, b, np.where(b < 0, a, np.minimum(a, b))),
            values,
        )

    def agreed(self, source: str) -> MarginBounds:
        """Fold bounds into the lists of values, and the lists' ends into the bounds.

        Raises
        ------
        InconsistentRelease
            If nothing is left for some cell; `source` says where the bounds are from.
        """
        lower, upper = self.lower.copy(), self.upper.copy()
        if any(possible and possible[-1] >= SAFE for possible in self.values.values()):
            lower, upper = lower.astype(object), upper.astype(object)
        values: dict[int, tuple[int, ...]] = {}
        for place, possible in self.values.items():
            low, high = int(lower.flat[place]), int(upper.flat[place])
            left = tuple(v for v in possible if v >= low and (high < 0 or v <= high))
            values[place] = left
            lower.flat[place], upper.flat[place] = (left[0], left[-1]) if left else (1, 0)
        if ((upper >= 0) & (upper < lower)).any():
            raise InconsistentRelease(f"side information contradicts itself: {source}; correct it")
        return MarginBounds(lower, upper, values)

    def within(self, total: int | None) -> MarginBounds:
        """Cut upper bounds and lists at N: nothing can hold more."""
        if total is None:
            return self
        above = self.upper > total
        # N may be too large for the array, but then nothing in it is above N.
        upper = np.where(above, total, self.upper) if above.any() else self.upper
        values = {k: tuple(v for v in listed if v <= total) for k, listed in self.values.items()}
        cut = MarginBounds(self.lower, upper, values)
        return cut.agreed(f"it leaves nothing within N={total}")


def combined_bounds(
    statements: Sequence[Statement], domain: Domain, names: Sequence[str]
) -> MarginBounds:
    """What statements that bound counts of one margin say together, axes as in `names`."""
    shape = tuple(len(domain.levels(name)) for name in names)
    nothing = np.zeros(shape, dtype=np.int64)
    known = MarginBounds(nothing, nothing + NO_LIMIT, {})
    if not statements:
        return known
    for statement in statements:
        own = statement.known(domain)
        order = [statement.variables.index(name) for name in names]
        values = {}
        for flat, possible in own.values.items():
            index = np.unravel_index(flat, own.lower.shape)
            values[int(np.ravel_multi_index([int(index[k]) for k in order], shape))] = possible
        lower, upper = np.transpose(own.lower, order), np.transpose(own.upper, order)
        known = known.met(MarginBounds(lower, upper, values))
    return known.agreed(", ".join(statement.notation for statement in statements))
