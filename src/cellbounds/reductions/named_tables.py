"""Tables by name: arrays with named axes, lists of cells, and gluing those that agree.

Two tables that have the same sums over the variables they share are the margins of a table over
all their variables. Nothing of the size of all its cells is ever made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from cellbounds.results.cell_index import CellIndex, Position
from cellbounds.runtime.arrays import BoolArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class NamedArray:
    """An array with a name for each axis."""

    names: tuple[str, ...]
    array: IntArray

    def summed(self, names: Sequence[str]) -> NamedArray:
        """Sum to some of the axes, in the order given."""
        gone = tuple(axis for axis, name in enumerate(self.names) if name not in names)
        left = [name for name in self.names if name in names]
        # The type is kept: numpy would take a lone Python number beyond 63 bits for unsigned.
        array = np.asarray(self.array.sum(axis=gone), dtype=self.array.dtype)
        return NamedArray(tuple(names), np.transpose(array, [left.index(name) for name in names]))

    def cells(self) -> CellList:
        """The occupied cells."""
        array = np.atleast_1d(self.array)
        where = np.nonzero(array)
        return CellList(self.names, where if self.names else (), array[where])


@dataclass(frozen=True, slots=True, eq=False)
class CellList:
    """A table by its occupied cells: a column of positions for each name, and the counts."""

    names: tuple[str, ...]
    columns: tuple[IntArray, ...]
    counts: IntArray

    def positions(self, names: Sequence[str]) -> list[IntArray]:
        """The positions on several names."""
        return [self.columns[self.names.index(name)] for name in names]

    def lines(self, which: npt.NDArray[Any], counts: IntArray) -> CellList:
        """Some of the cells, in the order given, with other counts."""
        return CellList(self.names, tuple(column[which] for column in self.columns), counts)


@dataclass(frozen=True, slots=True)
class CellTarget:
    """One cell of a margin, by the position on each named axis, and the count it should have."""

    at: dict[str, int]
    value: int


@dataclass(frozen=True, slots=True, eq=False)
class Lookup:
    """Where a query looks: the positions of its cells on each of its variables.

    They broadcast against each other. All cells of a margin are an open grid, so that arrays have
    all its axes, of length one where they do not differ; chosen cells are a list.
    """

    columns: dict[str, IntArray]
    chosen: bool
    _distinct: dict[tuple[str, ...], tuple[IntArray, IntArray]] = field(default_factory=dict)

    def laid_out(self, values: NamedArray) -> IntArray:
        """Values over some of the names, at the cells."""
        at = values.array[tuple(self.columns[name] for name in values.names)]
        return np.asarray(at, dtype=values.array.dtype)

    def cells(self, names: tuple[str, ...]) -> tuple[Position, ...] | None:
        """The cells of a smaller margin that are needed, each once; None: all of them."""
        if not self.chosen or not names:
            return None
        return tuple(map(tuple, self._needed(names)[0].tolist()))

    def back(self, values: IntArray, names: tuple[str, ...], *, chosen: bool) -> IntArray:
        """Values over some names, of all their cells or of those `chosen` as needed, laid out."""
        if chosen:
            return values[self._needed(names)[1]]
        return self.laid_out(NamedArray(names, values))

    def _needed(self, names: tuple[str, ...]) -> tuple[IntArray, IntArray]:
        if names not in self._distinct:
            lines = np.column_stack([self.columns[name] for name in names])
            needed, back = np.unique(lines, axis=0, return_inverse=True)
            self._distinct[names] = needed, back.ravel()
        return self._distinct[names]


def lookup_of(over: tuple[str, ...], places: CellIndex) -> Lookup:
    """Where a query over some variables looks."""
    if places.chosen is not None:
        return Lookup(dict(zip(over, places.columns(), strict=True)), chosen=True)
    grid = np.ogrid[tuple(map(slice, places.shape))]
    return Lookup(dict(zip(over, grid, strict=True)), chosen=False)


def glued(
    left: CellList, right: CellList, order: Sequence[str], target: CellTarget | None = None
) -> CellList:
    """A table over both sets of names whose sums over each are the two tables.

    Both must have the same sums over the names they share. For each combination of these the
    counts of one side are matched with those of the other as in the north-west corner rule, which
    keeps whole numbers whole. With a target, the sum of the cells at its position is its value,
    which must lie between what the two sides allow.
    """
    border = [name for name in left.names if name in right.names]
    rows = _ordered(left, border, np.zeros(len(left.counts), dtype=np.int64))
    if target is None:
        columns = _ordered(right, border, np.zeros(len(right.counts), dtype=np.int64))
    else:
        rows, columns = _aimed(rows, right, border, target)
    # People stand in the same order on both sides, and each stretch of them that is in one cell
    # here and in one cell there is a cell of the whole.
    mine, theirs = np.cumsum(rows.counts), np.cumsum(columns.counts)
    ends = np.union1d(mine, theirs)
    ours = rows.lines(np.searchsorted(mine, ends), ends)
    others = columns.lines(np.searchsorted(theirs, ends), ends)
    both = dict(zip(others.names, others.columns, strict=True))
    both |= dict(zip(ours.names, ours.columns, strict=True))
    counts = np.diff(ends, prepend=np.zeros(1, dtype=ends.dtype))
    return CellList(tuple(order), tuple(both[name] for name in order), counts)


def _ordered(table: CellList, border: Sequence[str], phase: IntArray) -> CellList:
    """Sort by the shared names, then by a phase, then by all others."""
    private = [name for name in table.names if name not in border]
    keys = [*table.positions(border), phase, *table.positions(private)]
    order = np.lexsort(keys[::-1])
    return table.lines(order, table.counts[order])


def _aimed(
    rows: CellList, right: CellList, border: Sequence[str], target: CellTarget
) -> tuple[CellList, CellList]:
    """Both sides in an order in which the corner rule puts `value` where the target is.

    Where the border is the target's, the rows at the target come first. The first `value` people
    of the columns are at the target too, so many meet; then come people of other columns, for the
    rest of the rows at the target; then what is left of the columns at it; then everybody else.
    """
    here = _at(rows, border, target)
    ours = here & _at(rows, rows.names, target)
    rows = _ordered(rows, border, np.where(ours | ~here, 0, 1))
    meant = int(rows.counts[_at(rows, rows.names, target)].sum())
    columns = _ordered(right, border, np.zeros(len(right.counts), dtype=np.int64))
    there = _at(columns, border, target)
    theirs = there & _at(columns, columns.names, target)
    others = there & ~theirs
    first = np.where(there, 0, columns.counts)
    first[theirs] = first_of(columns.counts[theirs], target.value)
    first[others] = first_of(columns.counts[others], meant - target.value)
    pieces = [(first, np.where(others, 1, 0)), (columns.counts - first, np.where(theirs, 2, 3))]
    which = np.concatenate([np.flatnonzero(counts) for counts, _ in pieces])
    counts = np.concatenate([counts[np.flatnonzero(counts)] for counts, _ in pieces])
    phase = np.concatenate([phases[np.flatnonzero(counts)] for counts, phases in pieces])
    return rows, _ordered(columns.lines(which, counts), border, phase)


def _at(table: CellList, names: Sequence[str], target: CellTarget) -> BoolArray:
    """Which cells are at the target's position, as far as it is about these names."""
    held = np.ones(len(table.counts), dtype=bool)
    for name in names:
        if name in target.at:
            held &= table.positions([name])[0] == target.at[name]
    return held


def first_of(amounts: IntArray, total: int) -> IntArray:
    """The first of some amounts, up to a total."""
    reached = np.minimum(np.cumsum(amounts), total)
    return np.diff(reached, prepend=np.zeros(1, dtype=reached.dtype))
