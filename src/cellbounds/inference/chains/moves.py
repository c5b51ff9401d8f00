"""Moves: tables of integers that lead from one consistent table to another when added to it.

Whether they connect a set of tables is checked on all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array, vstack

from cellbounds.errors import InvalidInput, TooMuchWork
from cellbounds.model.problem import Problem
from cellbounds.runtime.arrays import SAFE, BoolArray, IntArray
from cellbounds.runtime.scaled_floats import FloatArray

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

    Attributes
    ----------
    name
        Where they are from.
    matrix
        What each move adds to each cell (scipy's `csr_array` of int64, moves by cells).
    families
        For each move: `KEEPS` or `VARIES`.
    connected
        Whether they are proven to connect the consistent tables.
    sampler
        If they are too many to list; then none is listed.
    """

    name: str
    matrix: Any
    families: IntArray
    connected: Connectivity
    sampler: Sampler | None = None

    @classmethod
    def of_array(cls, name: str, array: IntArray, connected: Connectivity) -> Moves:
        """Moves given as the rows of an array; those of zeros are left out. All `KEEPS`."""
        if array.dtype == object and any(abs(change) >= SAFE for change in array.flat):
            raise TooMuchWork("a move changes a cell by more than 64-bit integers can hold")
        matrix = csr_array(array[array.any(axis=1)].astype(np.int64))
        return cls(name, matrix, np.full(matrix.shape[0], KEEPS), connected)

    @classmethod
    def of_lines(
        cls,
        name: str,
        size: int,
        blocks: Iterable[tuple[IntArray, IntArray, int]],
        connected: Connectivity,
    ) -> Moves:
        """Moves given in blocks: cells and changes, one line a move, and their family.

        Changes of zero may fill up short moves.
        """
        matrices, families = [csr_array((0, size), dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        for cells, changes, family in blocks:
            starts = np.arange(len(cells) + 1) * cells.shape[1]
            entries = (np.broadcast_to(changes, cells.shape).ravel(), cells.ravel(), starts)
            matrices.append(csr_array(entries, shape=(len(cells), size)))
            families.append(np.full(len(cells), family))
        matrix = vstack(matrices, format="csr")
        matrix.eliminate_zeros()
        return cls(name, matrix, np.concatenate(families), connected)

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def size(self) -> int:
        """The number of cells of a table."""
        return int(self.matrix.shape[1])

    @property
    def array(self) -> IntArray:
        """The listed moves as the rows of an array (moves, cells)."""
        if self.sampler is not None:
            raise InvalidInput(
                f"the {self.name} are too many to list and are drawn one by one; ask for `sampler`"
            )
        return np.asarray(self.matrix.toarray())

    def only(self, chosen: BoolArray) -> Moves:
        """Some of the listed moves."""
        return replace(self, matrix=self.matrix[chosen], families=self.families[chosen])

    def across(self, lists: Iterable[frozenset[int]]) -> Moves:
        """These moves and multiples of them that can pass the gaps of some lists of values."""
        gaps = {gap for values in lists for gap in np.diff(sorted(values)).tolist()}
        times = [1, *sorted(gap for gap in gaps if 1 < gap < SAFE >> 32)[:MOST_GAPS]]
        if len(times) == 1 or np.abs(self.matrix.data).max(initial=0) >= 2**31:
            return self
        matrix = vstack([self.matrix * gap for gap in times], format="csr")
        return replace(self, matrix=matrix, families=np.tile(self.families, len(times)))

    def __repr__(self) -> str:
        many = "drawn when needed" if self.sampler else f"{len(self)} listed"
        return f"<{self.name}: {many}, {self.connected.kind.value} to connect>"


def constraint_matrix(problem: Problem) -> Any:
    """The rows of a problem as scipy's `csr_array` (rows by cells)."""
    entries = (problem.coefficients, problem.cells, problem.starts)
    return csr_array(entries, shape=(len(problem.row_lower), len(problem.lower)))


def distinct(array: IntArray) -> IntArray:
    """Rows of an array, those that differ in sign alone only once, rows of zeros left out."""
    array = array[(array != 0).any(axis=1)]
    if not len(array):
        return array
    first = np.argmax(array != 0, axis=1)
    signs = np.where(array[np.arange(len(array)), first] < 0, -1, 1)
    rows: dict[tuple[int, ...], None] = {tuple(row): None for row in (array * signs[:, None])}
    return np.array(list(rows), dtype=array.dtype).reshape(-1, array.shape[1])


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
    from scipy.sparse.csgraph import connected_components

    tables = np.ascontiguousarray(tables, dtype=np.int64)
    if tables.ndim != 2 or tables.shape[1] != moves.size:
        raise InvalidInput(
            f"tables of shape {tables.shape}; give one table in each row, with {moves.size} cells"
        )
    if moves.sampler is not None:
        raise InvalidInput(f"the {moves.name} are not listed, so that they cannot be checked")
    weights = _weights(tables)
    # Sums wrap around: a mark is a number modulo 2**64. Two tables that a move leads between have
    # marks that differ by the mark of the move.
    marks = tables.astype(np.uint64) @ weights
    order = np.argsort(marks)
    ranked = marks[order]
    labels, parts = np.arange(len(tables)), len(tables)
    for number, mark in enumerate(moves.matrix.astype(np.uint64) @ weights):
        place = np.minimum(np.searchsorted(ranked, marks + mark), len(ranked) - 1)
        source = np.flatnonzero(ranked[place] == marks + mark)
        target = order[place[source]]
        move = moves.matrix[[number]].toarray()
        met = (tables[source] + move == tables[target]).all(axis=1)
        if met.any():
            edges = (labels[source[met]], labels[target[met]])
            graph = coo_array((np.ones(met.sum()), edges), shape=(parts, parts))
            parts, joined = connected_components(graph, directed=False)
            labels = joined[labels]
        if parts <= 1:
            break
    return labels


def _weights(tables: IntArray) -> IntArray:
    """Random weights of the cells by which no two tables have the same mark."""
    rng = np.random.default_rng(1)
    count = len(np.unique(tables, axis=0))
    if count != len(tables):
        raise InvalidInput(
            f"{len(tables)} tables, of which {count} differ; give each consistent table once"
        )
    while True:
        weights: IntArray = rng.integers(0, 2**64, size=(tables.shape[1],), dtype=np.uint64)
        if len(np.unique(tables.astype(np.uint64) @ weights)) == count:
            return weights
