"""The cells of a table that hold somebody; nothing of the size of the domain is made."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cellbounds.data.domain import Domain
from cellbounds.data.storage.dense import DENSE_LIMIT, Dense, levels_behind
from cellbounds.data.storage.packing import Cells
from cellbounds.errors import TooMuchWork
from cellbounds.runtime.arrays import SAFE, IntArray

__all__ = ["Sparse"]


@dataclass(frozen=True, slots=True, eq=False)
class Sparse:
    """The occupied cells with their counts, and the structural zeros (each with a 1)."""

    occupied: Cells
    closed: Cells

    @classmethod
    def of(cls, dense: Dense) -> Sparse:
        """The same table without its zeros."""
        return cls(Cells.of_array(dense.counts), Cells.of_array(dense.structural))

    def to_dense(self) -> Dense:
        """The same table with every cell listed."""
        counts = self.occupied.to_array(self.occupied.counts.dtype)
        return Dense(counts, self.closed.to_array(bool))

    @property
    def total(self) -> int:
        """The sum of the counts."""
        return self.occupied.total

    @property
    def has_structural(self) -> bool:
        """Whether there are structural zeros."""
        return len(self.closed) > 0

    def at(self, index: tuple[int, ...]) -> int:
        """The count of one cell."""
        place = self.occupied.find(index)
        return 0 if place < 0 else int(self.occupied.counts[place])

    def margin(self, domain: Domain, kept: Sequence[str]) -> Sparse:
        """Sums over all other variables; an empty sum is a structural zero."""
        occupied = _summed(self.occupied, domain, kept)
        return Sparse(occupied, self._closed_margin(domain, kept, occupied.shape))

    def _closed_margin(self, domain: Domain, kept: Sequence[str], shape: tuple[int, ...]) -> Cells:
        """The cells of a margin that hold nothing but structural zeros."""
        found = Cells.listed(shape, [np.zeros(0, dtype=np.int64)] * len(shape))
        if len(self.closed):
            found = _summed(self.closed, domain, kept)
            room = _room_at(_rooms(domain, kept), found.columns())
            found = found.chosen(np.asarray(found.counts == room, dtype=bool))
        nowhere = _nowhere(domain, kept)
        if nowhere is None:
            return Cells(shape, found.keys, np.ones(len(found), dtype=np.int64))
        both = zip(found.columns(), nowhere, strict=True)
        return Cells.listed(shape, [np.concatenate(columns) for columns in both])

    def reshaped(self, shape: tuple[int, ...]) -> Sparse:
        """The same cells in the same order in another shape."""
        return Sparse(self.occupied.reshaped(shape), self.closed.reshaped(shape))

    def same(self, other: Sparse) -> bool:
        """Whether counts and structural zeros are the same."""
        return self.occupied.same(other.occupied) and self.closed.same(other.closed)


def _summed(cells: Cells, domain: Domain, kept: Sequence[str]) -> Cells:
    shape = tuple(len(domain.levels(name)) for name in kept)
    rows: npt.NDArray[np.intp] | None = None
    columns: list[IntArray] = []
    for name in kept:
        found = domain.grouping(name)
        column = cells.column(domain.axis(name if found is None else found[0]))
        if rows is not None:
            column = column[rows]
        if found is not None:
            copies, column = _into_groups(column, found[1], len(domain.levels(found[0])))
            columns = [one[copies] for one in columns]
            rows = copies if rows is None else rows[copies]
        columns.append(column)
    counts = cells.counts if rows is None else cells.counts[rows]
    return Cells.gathered(shape, columns, counts)


def _into_groups(
    column: IntArray, groups: tuple[tuple[int, ...], ...], levels: int
) -> tuple[npt.NDArray[np.intp], IntArray]:
    """Each line once for each group that its level is in: which line, and which group."""
    pairs = sorted((level, group) for group, members in enumerate(groups) for level in members)
    members = np.array([group for _, group in pairs], dtype=np.int64)
    times = np.bincount([level for level, _ in pairs], minlength=levels)
    firsts = np.cumsum(times) - times
    repeated = times[column]
    copies = np.repeat(np.arange(len(column)), repeated)
    nth = np.arange(len(copies)) - np.repeat(np.cumsum(repeated) - repeated, repeated)
    return copies, members[firsts[column[copies]] + nth]


def _rooms(domain: Domain, kept: Sequence[str]) -> list[tuple[list[int], IntArray]]:
    """How many levels of each variable are behind the cells of a margin.

    Each variable that a derived name is based on: the places of the names based on it, and the
    number of levels behind every combination of their levels. Then, with no places, the number
    of cells that the others add; numbers beyond any list of cells are all the same.
    """
    behind: dict[str, list[int]] = {}
    for place, name in enumerate(kept):
        found = domain.grouping(name)
        behind.setdefault(found[0] if found else name, []).append(place)
    rooms = []
    for places in behind.values():
        if len(places) == 1 and domain.grouping(kept[places[0]]) is None:
            continue
        groups = [levels_behind(domain, kept[place]) for place in places]
        sizes = [len(frozenset.intersection(*one)) for one in itertools.product(*groups)]
        rooms.append((places, np.array(sizes).reshape([len(one) for one in groups])))
    others = math.prod(len(domain.levels(name)) for name in domain.names if name not in behind)
    return [*rooms, ([], np.array(min(others, SAFE)))]


def _room_at(rooms: list[tuple[list[int], IntArray]], columns: list[IntArray]) -> IntArray:
    """The number of cells behind some cells of a margin."""
    product = np.ones(len(columns[0]), dtype=object)
    for places, sizes in rooms:
        product = product * sizes[tuple(columns[place] for place in places)]
    return product


def _nowhere(domain: Domain, kept: Sequence[str]) -> list[IntArray] | None:
    """The cells of a margin that no cell is behind: groups of a variable that share no level."""
    if all(domain.grouping(name) is None for name in kept):
        return None
    found = []
    for places, sizes in _rooms(domain, kept):
        if places and not sizes.all():
            found.append((places, np.argwhere(sizes == 0)))
    if not found:
        return None
    shape = [len(domain.levels(name)) for name in kept]
    size = math.prod(shape)
    if size > DENSE_LIMIT:
        names = [kept[place] for place in found[0][0]]
        raise TooMuchWork(
            f"a margin of {size} cells that names {' and '.join(map(repr, names))} together has "
            "too many cells that nobody can be in; name only one of them, or fewer variables"
        )
    empty = np.zeros(shape, dtype=bool)
    for places, combinations in found:
        for combination in combinations.tolist():
            where: list[slice | int] = [slice(None)] * len(shape)
            for place, level in zip(places, combination, strict=True):
                where[place] = level
            empty[tuple(where)] = True
    return list(np.nonzero(empty))
