"""Moves: tables of integers that lead from one consistent table to another when added to it.

Whether moves connect a set of tables: checked on all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
import numpy.typing as npt

from cellbounds.errors import InvalidInput, TooMuchWork
from cellbounds.runtime.arrays import SAFE, IntArray
from cellbounds.runtime.scaled_floats import FloatArray

__all__ = [
    "KEEPS",
    "VARIES",
    "Connection",
    "Connectivity",
    "Moves",
    "Sampler",
    "connectivity",
    "distinct",
    "families_of",
    "starts_of",
]

KEEPS, VARIES = 0, 1
"""The two families of moves: those that keep the table summed to a statement's variables (the
second family of document 002), and those that change it (its first)."""

MOST_GAPS = 8
"""Multiples of moves that are made to pass the gaps of lists."""


class Connection(Enum):
    """Whether moves lead from every consistent table to every other, through consistent ones."""

    PROVEN = "proven"
    UNPROVEN = "unproven"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Connectivity:
    """What is known of it, and why.

    Examples
    --------
    >>> print(Connectivity(Connection.BROKEN, "the moves split the set into 2 parts"))
    broken: the moves split the set into 2 parts
    """

    kind: Connection
    reason: str

    def __str__(self) -> str:
        return f"{self.kind.value}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Sampler:
    """Moves that are drawn when needed, because there are too many to list.

    `draw` turns numbers between 0 and 1, one line of `numbers` for each move, into the cells of
    each move and their changes (both with one line a move). Nothing else may be random, so that
    what is drawn does not depend on how many are drawn at once. A move must be as likely as the
    one with all signs turned, and must keep every statement but for the limits of single cells.
    """

    numbers: int
    draw: Callable[[FloatArray], tuple[IntArray, IntArray]]


@dataclass(frozen=True, slots=True, eq=False)
class Moves:
    """Moves over the cells of a domain (flat), each standing for itself and for its negative.

    Move k adds ``changes[starts[k]:starts[k + 1]]`` to the cells at the same places of `cells`.

    Attributes
    ----------
    name
        Where they are from.
    size
        The number of cells of a table.
    families
        For each move: `KEEPS` or `VARIES`.
    connected
        Whether they are proven to connect the consistent tables.
    sampler
        If they are too many to list; then none is listed.
    """

    name: str
    size: int
    starts: IntArray
    cells: IntArray
    changes: IntArray
    families: IntArray
    connected: Connectivity
    sampler: Sampler | None = None

    @classmethod
    def of_array(
        cls,
        name: str,
        array: IntArray,
        connected: Connectivity,
        families: IntArray | None = None,
    ) -> Moves:
        """Moves given as the rows of an array; those of zeros are left out."""
        if array.dtype == object:
            if any(abs(change) >= SAFE for change in array.flat):
                raise TooMuchWork("a move changes a cell by more than 64-bit integers can hold")
            array = array.astype(np.int64)
        some = array.any(axis=1)
        family = KEEPS if families is None else families[some]
        cells = np.broadcast_to(np.arange(array.shape[1]), array[some].shape)
        return cls.of_lines(name, array.shape[1], [(cells, array[some], family)], connected)

    @classmethod
    def of_lines(
        cls,
        name: str,
        size: int,
        blocks: Sequence[tuple[IntArray, IntArray, int | IntArray]],
        connected: Connectivity,
    ) -> Moves:
        """Moves given in blocks: cells and changes, one line a move, and their families.

        Changes of zero may fill up short moves.
        """
        cells = [np.zeros(0, dtype=np.int64)]
        changes, widths, families = list(cells), list(cells), list(cells)
        for places, by, family in blocks:
            by = np.broadcast_to(by, places.shape)
            some = by != 0
            cells.append(places[some])
            changes.append(by[some])
            widths.append(some.sum(axis=1))
            families.append(np.broadcast_to(family, len(places)))
        return cls(
            name,
            size,
            starts_of(np.concatenate(widths)),
            np.concatenate(cells),
            np.concatenate(changes),
            np.concatenate(families),
            connected,
        )

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lines(self) -> IntArray:
        """The move of each entry."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    @property
    def array(self) -> IntArray:
        """The listed moves as the rows of an array (moves, cells)."""
        if self.sampler is not None:
            raise InvalidInput(
                f"the {self.name} are too many to list and are drawn one by one; ask for `sampler`"
            )
        dense = np.zeros((len(self), self.size), dtype=np.int64)
        np.add.at(dense, (self.lines, self.cells), self.changes)
        return dense

    def only(self, chosen: IntArray) -> Moves:
        """Some of the listed moves."""
        entries = chosen[self.lines]
        return replace(
            self,
            starts=starts_of(np.diff(self.starts)[chosen]),
            cells=self.cells[entries],
            changes=self.changes[entries],
            families=self.families[chosen],
        )

    def across(self, lists: Iterable[frozenset[int]]) -> Moves:
        """These moves and multiples of them that can pass the gaps of some lists of values."""
        gaps: set[int] = set()
        for values in lists:
            gaps |= set(np.diff(sorted(values)).tolist())
        chosen = sorted(gap for gap in gaps if 1 < gap < SAFE >> 32)[:MOST_GAPS]
        times = np.array([1, *chosen], dtype=np.int64)
        if len(times) == 1 or np.abs(self.changes).max(initial=0) >= 2**31:
            return self
        return replace(
            self,
            starts=starts_of(np.tile(np.diff(self.starts), len(times))),
            cells=np.tile(self.cells, len(times)),
            changes=np.outer(times, self.changes).ravel(),
            families=np.tile(self.families, len(times)),
        )

    def __repr__(self) -> str:
        many = "drawn when needed" if self.sampler else f"{len(self)} listed"
        return f"<{self.name}: {many}, {self.connected.kind.value} to connect>"


def families_of(array: IntArray, summed: IntArray | None) -> IntArray:
    """The family of each row of an array of moves.

    `summed` gives the cell of the summed table behind each cell; without it nothing is summed,
    and every move counts as one that keeps the (trivial) summed table.
    """
    if summed is None:
        return np.full(len(array), KEEPS)
    margin = np.zeros((len(array), int(summed.max()) + 1), dtype=array.dtype)
    np.add.at(margin.T, summed, array.T)
    return np.where((margin != 0).any(axis=1), VARIES, KEEPS)


def distinct(array: IntArray) -> IntArray:
    """Rows of an array, those that differ in sign alone only once, rows of zeros left out."""
    array = array[(array != 0).any(axis=1)]
    if not len(array):
        return array
    first = np.argmax(array != 0, axis=1)
    signs = np.where(array[np.arange(len(array)), first] < 0, -1, 1)
    rows: dict[tuple[int, ...], None] = {tuple(row): None for row in (array * signs[:, None])}
    return np.array(list(rows), dtype=array.dtype).reshape(-1, array.shape[1])


def starts_of(widths: npt.ArrayLike) -> IntArray:
    """Where each of some runs of these lengths begins, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)


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
    sizes = np.sort(np.bincount(_parts(moves, tables)))[::-1]
    if len(sizes) <= 1:
        return Connectivity(Connection.PROVEN, f"checked on all {len(tables)} tables")
    shown = ", ".join(map(str, sizes[:SHOWN])) + (", ..." if len(sizes) > SHOWN else "")
    return Connectivity(
        Connection.BROKEN,
        f"the moves split the {len(tables)} tables into {len(sizes)} parts (of {shown} tables)",
    )


def _parts(moves: Moves, tables: IntArray) -> IntArray:
    """The number of the part that each table is in."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    tables = np.ascontiguousarray(tables, dtype=np.int64)
    if tables.ndim != 2 or tables.shape[1] != moves.size:
        raise InvalidInput(
            f"tables of shape {tables.shape}; give one table in each row, with {moves.size} cells"
        )
    if moves.sampler is not None:
        raise InvalidInput(f"the {moves.name} are not listed, so that they cannot be checked")
    marks, weights = _marks(tables)
    order = np.argsort(marks)
    ranked = marks[order]
    labels, parts = np.arange(len(tables)), len(tables)
    move = np.zeros(moves.size, dtype=np.int64)
    for number in range(len(moves)):
        inside = slice(int(moves.starts[number]), int(moves.starts[number + 1]))
        move[:] = 0
        np.add.at(move, moves.cells[inside], moves.changes[inside])
        # Two tables that a move leads between have marks that differ by the mark of the move.
        wanted = marks + _mark(move[None, :], weights)[0]
        place = np.minimum(np.searchsorted(ranked, wanted), len(ranked) - 1)
        source = np.flatnonzero(ranked[place] == wanted)
        target = order[place[source]]
        met = (tables[source] + move == tables[target]).all(axis=1)
        if met.any():
            edges = (labels[source[met]], labels[target[met]])
            graph = coo_matrix((np.ones(met.sum()), edges), shape=(parts, parts))
            parts, joined = connected_components(graph, directed=False)
            labels = joined[labels]
        if parts <= 1:
            break
    return labels


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
