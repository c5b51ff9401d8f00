"""Arrays with named axes, tables as lists of cells, and gluing those that agree at a border."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cellbounds.runtime.arrays import BoolArray, IntArray

__all__ = ["Listed", "Named", "Target", "glued", "listed", "spread", "summed"]


@dataclass(frozen=True, slots=True, eq=False)
class Named:
    """An array with a name for each axis."""

    names: tuple[str, ...]
    array: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Listed:
    """A table by its occupied cells: a column of positions for each name, and the counts.

    Nothing of the size of all its cells is ever made.
    """

    names: tuple[str, ...]
    columns: tuple[IntArray, ...]
    counts: IntArray

    def column(self, name: str) -> IntArray:
        """The positions on one name."""
        return self.columns[self.names.index(name)]

    def places(self, names: Sequence[str]) -> list[IntArray]:
        """The positions on several names."""
        return [self.column(name) for name in names]

    def lines(self, which: npt.NDArray[Any], counts: IntArray) -> Listed:
        """Some of the cells, in the order given, with other counts."""
        return Listed(self.names, tuple(column[which] for column in self.columns), counts)


@dataclass(frozen=True, slots=True)
class Target:
    """One cell of a margin, by the position on each named axis, and the count it should have."""

    at: dict[str, int]
    value: int


def summed(table: Named, names: Sequence[str]) -> Named:
    """Sum a table to some of its axes, in the order given."""
    gone = tuple(axis for axis, name in enumerate(table.names) if name not in names)
    left = [name for name in table.names if name in names]
    # The type is kept: numpy would take a lone Python number beyond 63 bits for an unsigned one.
    array = np.asarray(table.array.sum(axis=gone), dtype=table.array.dtype)
    return Named(tuple(names), np.transpose(array, [left.index(name) for name in names]))


def spread(table: Named, names: Sequence[str]) -> IntArray:
    """Lay a table out for broadcasting against arrays over `names`."""
    turned = np.transpose(
        table.array, [table.names.index(name) for name in names if name in table.names]
    )
    shape = iter(turned.shape)
    return turned.reshape([next(shape) if name in table.names else 1 for name in names])


def listed(table: Named) -> Listed:
    """The occupied cells of an array."""
    found = np.nonzero(np.atleast_1d(table.array))
    counts = np.atleast_1d(table.array)[found]
    return Listed(table.names, tuple(found) if table.names else (), counts)


def glued(
    left: Listed, right: Listed, order: Sequence[str], target: Target | None = None
) -> Listed:
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
    return Listed(tuple(order), tuple(both[name] for name in order), counts)


def _ordered(table: Listed, border: Sequence[str], phase: IntArray) -> Listed:
    """Sort by the shared names, then by a phase, then by all others."""
    private = [name for name in table.names if name not in border]
    keys = [*table.places(border), phase, *table.places(private)]
    order = np.lexsort(keys[::-1])
    return table.lines(order, table.counts[order])


def _aimed(
    rows: Listed, right: Listed, border: Sequence[str], target: Target
) -> tuple[Listed, Listed]:
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
    first[theirs] = _first(columns.counts[theirs], target.value)
    first[others] = _first(columns.counts[others], meant - target.value)
    pieces = [(first, np.where(others, 1, 0)), (columns.counts - first, np.where(theirs, 2, 3))]
    which = np.concatenate([np.flatnonzero(counts) for counts, _ in pieces])
    counts = np.concatenate([counts[np.flatnonzero(counts)] for counts, _ in pieces])
    phase = np.concatenate([phases[np.flatnonzero(counts)] for counts, phases in pieces])
    return rows, _ordered(columns.lines(which, counts), border, phase)


def _at(table: Listed, names: Sequence[str], target: Target) -> BoolArray:
    """Which cells are at the target's position, as far as it is about these names."""
    held = np.ones(len(table.counts), dtype=bool)
    for name in names:
        if name in target.at:
            held &= table.column(name) == target.at[name]
    return held


def _first(amounts: IntArray, total: int) -> IntArray:
    """The first of some amounts, up to a total."""
    if not len(amounts):
        return amounts
    reached = np.minimum(np.cumsum(amounts), total)
    return np.diff(reached, prepend=np.zeros(1, dtype=reached.dtype))
