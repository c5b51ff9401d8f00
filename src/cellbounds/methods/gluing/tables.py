"""Gluing two tables that agree on what they share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cellbounds.arrays import IntArray

__all__ = ["Named", "Target", "glued", "spread", "summed"]


@dataclass(frozen=True, slots=True, eq=False)
class Named:
    """An array with a name for each axis."""

    names: tuple[str, ...]
    array: IntArray


@dataclass(frozen=True, slots=True)
class Target:
    """One cell of a margin, by the position on each named axis, and the count it should have."""

    at: dict[str, int]
    value: int


def summed(table: Named, names: Sequence[str]) -> Named:
    """Sum a table to some of its axes, in the order given."""
    gone = tuple(axis for axis, name in enumerate(table.names) if name not in names)
    left = [name for name in table.names if name in names]
    array = table.array.sum(axis=gone) if gone else table.array
    return Named(tuple(names), np.transpose(array, [left.index(name) for name in names]))


def spread(table: Named, names: Sequence[str]) -> IntArray:
    """Lay a table out for broadcasting against arrays over `names`."""
    turned = np.transpose(
        table.array, [table.names.index(name) for name in names if name in table.names]
    )
    shape = iter(turned.shape)
    return turned.reshape([next(shape) if name in table.names else 1 for name in names])


def glued(left: Named, right: Named, order: Sequence[str], target: Target | None = None) -> Named:
    """A table over both sets of axes whose sums over each are the two tables.

    Both must have the same sums over the axes they share. For each combination of these the
    counts of one side are matched with those of the other as in the north-west corner rule, which
    keeps whole numbers whole. With a target, the sum of the cells at its position is its value,
    which must lie between what the two sides allow.
    """
    border = [name for name in left.names if name in right.names]
    ours = [name for name in left.names if name not in border]
    theirs = [name for name in right.names if name not in border]
    levels = dict(zip(left.names, left.array.shape, strict=True))
    levels |= dict(zip(right.names, right.array.shape, strict=True))

    def flat(table: Named, private: Sequence[str]) -> IntArray:
        turned = summed(table, [*border, *private]).array
        return turned.reshape(math.prod(levels[n] for n in border), -1)

    rows, columns = flat(left, ours), flat(right, theirs)
    joined = _corner(rows, columns)
    if target is not None:
        place = _flat_place(border, levels, target)
        joined[place] = _with_block(
            rows[place],
            columns[place],
            _chosen(ours, levels, target),
            _chosen(theirs, levels, target),
            target.value,
        )
    names = [*border, *ours, *theirs]
    table = Named(tuple(names), joined.reshape([levels[name] for name in names]))
    return summed(table, order)


def _flat_place(names: Sequence[str], levels: dict[str, int], target: Target) -> int:
    place = 0
    for name in names:
        place = place * levels[name] + target.at[name]
    return place


def _chosen(names: Sequence[str], levels: dict[str, int], target: Target) -> Any:
    """Which flat places over some axes lie at the target's position."""
    chosen = np.ones([levels[name] for name in names], dtype=bool)
    for axis, name in enumerate(names):
        if name in target.at:
            keep = np.zeros(levels[name], dtype=bool)
            keep[target.at[name]] = True
            shape = [1] * len(names)
            shape[axis] = levels[name]
            chosen &= keep.reshape(shape)
    return chosen.ravel()


def _corner(rows: IntArray, columns: IntArray) -> IntArray:
    """Tables with these row and column sums, one for each line: the north-west corner rule."""
    right, below = np.cumsum(rows, axis=1), np.cumsum(columns, axis=1)
    left, above = right - rows, below - columns
    ends = np.minimum(right[:, :, None], below[:, None, :])
    begins = np.maximum(left[:, :, None], above[:, None, :])
    return np.asarray(np.maximum(ends - begins, 0))


def _with_block(rows: IntArray, columns: IntArray, ours: Any, theirs: Any, value: int) -> IntArray:
    """A table with these sums in which the block of chosen rows and columns holds `value`."""
    inside, inside_columns = (
        _first(np.where(ours, rows, 0), value),
        _first(np.where(theirs, columns, 0), value),
    )
    beside = np.where(ours, rows, 0) - inside
    beside_columns = _first(np.where(theirs, 0, columns), int(beside.sum()))
    below_columns = np.where(theirs, columns, 0) - inside_columns
    below = _first(np.where(ours, 0, rows), int(below_columns.sum()))
    rest = np.where(ours, 0, rows) - below
    rest_columns = np.where(theirs, 0, columns) - beside_columns
    pairs = [
        (inside, inside_columns),
        (beside, beside_columns),
        (below, below_columns),
        (rest, rest_columns),
    ]
    blocks = [_corner(a[None, :], b[None, :])[0] for a, b in pairs]
    return np.asarray(sum(blocks[1:], start=blocks[0]))


def _first(amounts: IntArray, total: int) -> IntArray:
    """The first of some amounts, up to a total."""
    reached = np.minimum(np.cumsum(amounts), total)
    return np.diff(reached, prepend=0)
