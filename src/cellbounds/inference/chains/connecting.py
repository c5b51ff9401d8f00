"""Whether moves connect a set of tables: checked on all of them."""

from __future__ import annotations

import numpy as np

from cellbounds.errors import InvalidInput
from cellbounds.inference.chains.moves import Connection, Connectivity, Moves
from cellbounds.runtime.arrays import IntArray

__all__ = ["connectivity", "parts_of"]

SHOWN = 5
"""Sizes of parts that are shown."""


def connectivity(moves: Moves, tables: IntArray) -> Connectivity:
    """Check moves against every consistent table.

    Parameters
    ----------
    moves
        Listed moves.
    tables
        All consistent tables, flat, one in each row.

    Returns
    -------
    Connectivity
        PROVEN, or BROKEN with the number of parts and how large they are.

    Examples
    --------
    >>> never = Connectivity(Connection.UNPROVEN, "made up")
    >>> moves = Moves.of_array("steps of two", np.array([[2, -2]]), never)
    >>> print(connectivity(moves, np.array([[0, 3], [1, 2], [2, 1], [3, 0]])))
    broken: the moves split the 4 tables into 2 parts (of 2, 2 tables)
    """
    parts = parts_of(moves, tables)
    sizes = np.sort(np.bincount(parts))[::-1]
    sizes = sizes[sizes > 0]
    if len(sizes) <= 1:
        return Connectivity(Connection.PROVEN, f"checked on all {len(tables)} tables")
    shown = ", ".join(map(str, sizes[:SHOWN])) + (", ..." if len(sizes) > SHOWN else "")
    return Connectivity(
        Connection.BROKEN,
        f"the moves split the {len(tables)} tables into {len(sizes)} parts (of {shown} tables)",
    )


def parts_of(moves: Moves, tables: IntArray) -> IntArray:
    """The part that each table is in: the number of the first table of that part."""
    tables = np.ascontiguousarray(tables, dtype=np.int64)
    if tables.ndim != 2 or tables.shape[1] != moves.size:
        raise InvalidInput(
            f"tables of shape {tables.shape}; give one table in each row, with {moves.size} cells"
        )
    marks, weights = _marks(tables)
    order = np.argsort(marks)
    ranked = marks[order]
    parts = np.arange(len(tables))
    move = np.zeros(moves.size, dtype=np.int64)
    if moves.sampler is not None:
        raise InvalidInput(f"the {moves.name} are not listed, so that they cannot be checked")
    for number in range(len(moves)):
        inside = slice(int(moves.starts[number]), int(moves.starts[number + 1]))
        move[:] = 0
        np.add.at(move, moves.cells[inside], moves.changes[inside])
        # Two tables that a move leads between have marks that differ by the mark of the move.
        wanted = marks + _mark(move[None, :], weights)[0]
        found = np.minimum(np.searchsorted(ranked, wanted), max(len(ranked) - 1, 0))
        source = np.flatnonzero(ranked[found] == wanted)
        target = order[found[source]]
        met = (tables[source] + move == tables[target]).all(axis=1)
        _join(parts, source[met], target[met])
        if not parts.any():
            break
    return parts


def _marks(tables: IntArray) -> tuple[IntArray, IntArray]:
    """A number for each table, different for different tables, and the weights that make it."""
    rng = np.random.default_rng(1)
    count = len(np.unique(tables, axis=0))
    if count != len(tables):
        raise InvalidInput(
            f"{len(tables)} tables, of which {count} differ; give each consistent table once"
        )
    while True:
        weights: IntArray = rng.integers(0, 2**64, size=(tables.shape[1],), dtype=np.uint64)
        marks = _mark(tables, weights)
        if len(np.unique(marks)) == count:
            return marks, weights


def _mark(tables: IntArray, weights: IntArray) -> IntArray:
    # Sums wrap around: a mark is a number modulo 2**64.
    return np.asarray((tables.astype(np.uint64) * weights).sum(axis=1, dtype=np.uint64))


def _join(parts: IntArray, left: IntArray, right: IntArray) -> None:
    """Put the parts of each pair together, in place; a part is named by its smallest member."""
    while True:
        one, other = parts[left], parts[right]
        low, high = np.minimum(one, other), np.maximum(one, other)
        if (low == high).all():
            return
        np.minimum.at(parts, high, low)
        while True:
            shorter = parts[parts]
            if (shorter == parts).all():
                break
            parts[:] = shorter
