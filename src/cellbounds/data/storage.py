"""How the counts of a table are kept: every cell in an array, or the cells that hold somebody.

Of the latter nothing of the size of the domain is made.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cellbounds.data.domain import Domain
from cellbounds.errors import TooMuchWork
from cellbounds.runtime.arrays import SAFE, BoolArray, IntArray, summable

DENSE_LIMIT = 2**27
"""Cells above which a table is not listed cell by cell."""

Places = npt.NDArray[np.int64]

_MOST_AXES = 32
"""Variables in one block: numpy's functions for positions take no more in all its versions."""

_EXACT_FLOAT = 2**53
_SCATTERED = 2**16
"""So many numbers are added up in place, however few cells there are."""


@dataclass(frozen=True, slots=True, eq=False)
class Dense:
    """Counts and structural zeros as arrays in the domain's shape."""

    counts: IntArray
    structural: BoolArray

    def __post_init__(self) -> None:
        self.counts.flags.writeable = False
        self.structural.flags.writeable = False

    def __reduce__(self) -> tuple[type[Dense], tuple[Any, ...]]:
        # Arrays come back from a pickle as writeable; made anew they are not.
        return Dense, (self.counts, self.structural)

    def at(self, index: tuple[int, ...]) -> int:
        """The count of one cell."""
        return int(self.counts[index])

    def margin(self, domain: Domain, kept: Sequence[str]) -> Dense:
        """Sums over all other variables; an empty sum is a structural zero."""
        base = [domain.base(name) for name in kept]
        axes = [domain.names.index(name) for name in dict.fromkeys(base)]
        dropped = tuple(axis for axis in range(len(domain.shape)) if axis not in axes)
        order = [sorted(axes).index(axis) for axis in axes]
        sums = []
        for whole in (self.counts, ~self.structural):
            summed = np.transpose(whole.sum(axis=dropped) if dropped else whole, order)
            if base != list(kept):
                summed = _regrouped(summed, domain, kept, base)
            sums.append(np.array(summed, order="C"))
        return Dense(summable(sums[0]), sums[1] == 0)

    def reshaped(self, shape: tuple[int, ...]) -> Dense:
        """The same cells in the same order in another shape."""
        return Dense(self.counts.reshape(shape), self.structural.reshape(shape))

    def same(self, other: Dense) -> bool:
        """Whether counts and structural zeros are the same."""
        return bool(
            np.array_equal(self.counts, other.counts)
            and np.array_equal(self.structural, other.structural)
        )


def _regrouped(
    summed: npt.NDArray[Any], domain: Domain, kept: Sequence[str], base: Sequence[str]
) -> IntArray:
    """Turn each axis of `summed` (the variables in `base`) into those of the names based on it."""
    order: list[int] = []
    shape: list[int] = []
    for axis, variable in enumerate(dict.fromkeys(base)):
        places = [place for place, group in enumerate(base) if group == variable]
        # The people of several groups at once are those behind all of them.
        behind = [
            np.array(sorted(frozenset.intersection(*groups)), dtype=np.intp)
            for groups in itertools.product(*(domain.level_sets(kept[place]) for place in places))
        ]
        # The axis is kept: sums that are lone Python numbers would become doubles side by side.
        summed = np.concatenate(
            [summed.take(group, axis=axis).sum(axis=axis, keepdims=True) for group in behind],
            axis=axis,
        )
        order += places
        shape += [len(domain.levels(kept[place])) for place in places]
    apart = summed.reshape(shape)
    return np.asarray(np.transpose(apart, [order.index(place) for place in range(len(kept))]))


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Some cells of an array of this shape, in its order, each once and with a count above 0."""

    shape: tuple[int, ...]
    keys: tuple[Places, ...]
    counts: IntArray

    def __post_init__(self) -> None:
        for array in (*self.keys, self.counts):
            array.flags.writeable = False

    def __reduce__(self) -> tuple[type[Cells], tuple[Any, ...]]:
        # Arrays come back from a pickle as writeable; made anew they are not.
        return Cells, (self.shape, self.keys, self.counts)

    @classmethod
    def gathered(
        cls, shape: tuple[int, ...], columns: Iterable[IntArray], counts: IntArray | None = None
    ) -> Cells:
        """Cells listed in any order by one column of positions for each variable.

        Those listed more than once add up; those that add up to 0 are left out. Without counts,
        each counts as often as it is listed.
        """
        return cls._added_up(shape, _keys_of(shape, columns), counts)

    @classmethod
    def joined(
        cls, shape: tuple[int, ...], parts: Sequence[tuple[Cells, Sequence[IntArray] | None]]
    ) -> Cells:
        """Parts added up in another shape; where the positions on each axis move, if they do."""
        listed = []
        for cells, moves in parts:
            columns: Iterable[IntArray] = map(cells.column, range(len(shape)))
            if moves is not None:
                columns = (move[column] for move, column in zip(moves, columns, strict=True))
            same = moves is None and shape == cells.shape
            listed.append(cells.keys if same else _keys_of(shape, columns))
        keys = tuple(np.concatenate(blocks) for blocks in zip(*listed, strict=True))
        return cls._added_up(shape, keys, np.concatenate([cells.counts for cells, _ in parts]))

    @classmethod
    def _added_up(
        cls, shape: tuple[int, ...], keys: tuple[Places, ...], counts: IntArray | None
    ) -> Cells:
        size = math.prod(shape)
        counts = None if counts is None else summable(counts)
        if len(keys) == 1 and size <= max(_SCATTERED, 4 * len(keys[0])):
            if counts is None:
                whole = np.bincount(keys[0], minlength=size)
            elif counts.dtype != object and int(counts.sum()) < _EXACT_FLOAT:
                # Weights are doubles, which hold each of these sums exactly.
                whole = np.bincount(keys[0], counts, minlength=size).astype(np.int64)
            else:
                whole = np.zeros(size, dtype=counts.dtype)
                np.add.at(whole, keys[0], counts)
            places = np.flatnonzero(whole)
            return cls(shape, (places,), summable(whole[places]))
        keys = tuple(key.astype(np.int64, copy=False) for key in keys)
        if counts is None and len(keys) == 1:
            numbers, times = np.unique(keys[0], return_counts=True)
            return cls(shape, (numbers,), times)
        if counts is None:
            counts = np.ones(len(keys[0]), dtype=np.int64)
        if not len(counts):
            return cls(shape, keys, counts)
        order = np.argsort(keys[0]) if len(keys) == 1 else np.lexsort(keys[::-1])
        ordered = [key[order] for key in keys]
        new = np.ones(len(order), dtype=bool)
        new[1:] = np.any([key[1:] != key[:-1] for key in ordered], axis=0)
        sums = np.add.reduceat(counts[order], np.flatnonzero(new))
        positive = np.asarray(sums != 0, dtype=bool)
        firsts = [key[new][positive] for key in ordered]
        return cls(shape, tuple(firsts), summable(sums[positive]))

    @classmethod
    def listed(cls, shape: tuple[int, ...], columns: Sequence[IntArray]) -> Cells:
        """Cells without counts of their own: each has a 1, however often it is listed."""
        some = cls.gathered(shape, columns)
        return cls(shape, some.keys, np.ones(len(some), dtype=np.int64))

    @classmethod
    def of_array(cls, whole: IntArray) -> Cells:
        """The cells of an array that are not 0."""
        nonzero = np.nonzero(whole)
        counts = whole[nonzero]
        if whole.dtype == bool:
            counts = counts.astype(np.int64)
        keys = _keys_of(whole.shape, nonzero)
        return cls(whole.shape, tuple(key.astype(np.int64) for key in keys), counts)

    def __len__(self) -> int:
        return len(self.counts)

    def column(self, axis: int) -> Places:
        """The position of each cell on one axis."""
        for key, (first, last) in zip(self.keys, _blocks(self.shape), strict=True):
            if first <= axis < last:
                step = math.prod(self.shape[axis + 1 : last])
                return (key // step) % self.shape[axis]
        raise IndexError(axis)

    def columns(self) -> list[Places]:
        """The positions of each cell, one array for each axis."""
        return [self.column(axis) for axis in range(len(self.shape))]

    def numbers(self) -> list[int]:
        """The place of each cell in the order of the array, of any magnitude."""
        places: list[int] = self.keys[0].tolist()
        for key, (first, last) in zip(self.keys[1:], _blocks(self.shape)[1:], strict=True):
            size = math.prod(self.shape[first:last])
            places = [place * size + more for place, more in zip(places, key.tolist(), strict=True)]
        return places

    def find(self, index: Sequence[int]) -> int:
        """The place of a cell in this list, or -1."""
        low, high = 0, len(self)
        for key, (first, last) in zip(self.keys, _blocks(self.shape), strict=True):
            wanted = 0
            for place, size in zip(index[first:last], self.shape[first:last], strict=True):
                wanted = wanted * size + int(place)
            part = key[low:high]
            low, high = (
                low + int(np.searchsorted(part, wanted, side="left")),
                low + int(np.searchsorted(part, wanted, side="right")),
            )
        return low if high > low else -1

    def reshaped(self, shape: tuple[int, ...]) -> Cells:
        """The same cells of an array of another shape with as many cells, in the same order."""
        if len(_blocks(shape)) == len(self.keys) == 1:
            return Cells(shape, self.keys, self.counts)
        numbers = np.array(self.numbers(), dtype=object)
        columns = []
        for axis, size in enumerate(shape):
            column = numbers // math.prod(shape[axis + 1 :]) % size
            columns.append(column.astype(np.int64))
        return Cells.gathered(shape, columns, self.counts)

    def chosen(self, which: npt.NDArray[np.bool_]) -> Cells:
        """Some of these cells."""
        return Cells(self.shape, tuple(key[which] for key in self.keys), self.counts[which])

    def to_array(self, dtype: npt.DTypeLike) -> IntArray:
        """An array that is 0 everywhere else."""
        whole = np.zeros(self.shape, dtype=dtype)
        if len(self.keys) == 1:
            whole.reshape(-1)[self.keys[0]] = self.counts
        else:
            whole[tuple(self.columns())] = self.counts
        return whole

    def same(self, other: Cells) -> bool:
        """Whether the cells and counts are the same."""
        return (
            self.shape == other.shape
            and len(self) == len(other)
            and all(map(np.array_equal, self.keys, other.keys))
            and bool(np.array_equal(self.counts, other.counts))
        )


@functools.lru_cache(maxsize=256)
def _blocks(shape: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """First and last axis (not included) of each block of variables."""
    starts = [0]
    size = 1
    for axis, levels in enumerate(shape):
        if size * levels >= SAFE or axis - starts[-1] >= _MOST_AXES:
            starts.append(axis)
            size = 1
        size *= levels
    return tuple(zip(starts, [*starts[1:], len(shape)], strict=True))


def _keys_of(shape: tuple[int, ...], columns: Iterable[IntArray]) -> tuple[Places, ...]:
    """Columns of positions as numbers of cells, one for each block of variables."""
    given = iter(columns)
    keys = []
    for first, last in _blocks(shape):
        # Narrow numbers are added up in half the time, and there may be one for each record.
        narrow = np.int32 if math.prod(shape[first:last]) < 2**31 else np.int64
        numbers: IntArray = next(given).astype(narrow)
        for size, column in zip(shape[first + 1 : last], given, strict=False):
            numbers *= size
            numbers += column.astype(narrow, copy=False)
        keys.append(numbers)
    return tuple(keys)


@dataclass(frozen=True, slots=True, eq=False)
class Sparse:
    """The occupied cells with their counts, and the structural zeros (each with a 1)."""

    occupied: Cells
    closed: Cells

    def to_dense(self) -> Dense:
        """The same table with every cell listed."""
        counts = self.occupied.to_array(self.occupied.counts.dtype)
        return Dense(counts, self.closed.to_array(bool))

    def at(self, index: tuple[int, ...]) -> int:
        """The count of one cell."""
        place = self.occupied.find(index)
        return 0 if place < 0 else int(self.occupied.counts[place])

    def margin(self, domain: Domain, kept: Sequence[str]) -> Sparse:
        """Sums over all other variables; an empty sum is a structural zero."""
        occupied = _summed(self.occupied, domain, kept)
        closed, rooms = _summed(self.closed, domain, kept), _rooms(domain, kept)
        columns = closed.columns()
        room = np.ones(len(closed), dtype=object)
        for places, sizes in rooms:
            room = room * sizes[tuple(columns[place] for place in places)]
        closed = closed.chosen(np.asarray(closed.counts == room, dtype=bool))
        nowhere = _nowhere(kept, occupied.shape, rooms)
        if nowhere is None:
            ones = np.ones(len(closed), dtype=np.int64)
            return Sparse(occupied, Cells(closed.shape, closed.keys, ones))
        both = [np.concatenate(pair) for pair in zip(closed.columns(), nowhere, strict=True)]
        return Sparse(occupied, Cells.listed(closed.shape, both))

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
        grouping = domain.grouping(name)
        column = cells.column(domain.axis(domain.base(name)))
        if rows is not None:
            column = column[rows]
        if grouping is not None:
            copies, column = _into_groups(column, grouping[1], len(domain.levels(grouping[0])))
            columns = [earlier[copies] for earlier in columns]
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
        behind.setdefault(domain.base(name), []).append(place)
    rooms = []
    for places in behind.values():
        if len(places) == 1 and domain.grouping(kept[places[0]]) is None:
            continue
        groups = [domain.level_sets(kept[place]) for place in places]
        sizes = [len(frozenset.intersection(*members)) for members in itertools.product(*groups)]
        rooms.append((places, np.array(sizes).reshape([len(group) for group in groups])))
    others = math.prod(len(domain.levels(name)) for name in domain.names if name not in behind)
    return [*rooms, ([], np.array(min(others, SAFE)))]


def _nowhere(
    kept: Sequence[str], shape: tuple[int, ...], all_rooms: list[tuple[list[int], IntArray]]
) -> list[IntArray] | None:
    """The cells of a margin that no cell is behind: groups of a variable that share no level."""
    rooms = [(places, sizes) for places, sizes in all_rooms if places and not sizes.all()]
    if not rooms:
        return None
    size = math.prod(shape)
    if size > DENSE_LIMIT:
        names = [kept[place] for place in rooms[0][0]]
        raise TooMuchWork(
            f"a margin of {size} cells that names {' and '.join(map(repr, names))} together has "
            "too many cells that nobody can be in; name only one of them, or fewer variables"
        )
    empty = np.zeros(shape, dtype=bool)
    for places, sizes in rooms:
        along = [levels if axis in places else 1 for axis, levels in enumerate(shape)]
        empty |= (sizes == 0).reshape(along)
    return list(np.nonzero(empty))
