"""Integer tables that were found and checked, shared by all sums asked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from cellbounds.errors import CellboundsError, TooMuchWork
from cellbounds.model.problem import TOO_WIDE, WIDEST, Problem
from cellbounds.model.targets import Targets
from cellbounds.runtime.arrays import IntArray

Packed = tuple[IntArray | None, IntArray]


class Excerpt(NamedTuple):
    """What somebody who works on a few sums needs of a pool.

    `packed` are the first table and those that go furthest in these sums; `places` and `furthest`
    say which goes furthest in which.
    """

    packed: list[Packed]
    places: IntArray
    furthest: IntArray


class TablePool:
    """Consistent tables, and the smallest and largest value of each sum among them (`ends`).

    A table is kept if it goes further than the others in some sum. Sparse tables are packed.
    """

    def __init__(self, problem: Problem, asked: Targets) -> None:
        self._problem, self._asked = problem, asked
        self._packed: list[Packed] = []
        self._count = 0
        # One line for the smallest values, one for the largest; never changed, but replaced.
        self.ends = np.zeros((2, asked.size), dtype=np.int64)
        self._furthest = np.zeros((2, asked.size), dtype=np.int64)

    def __len__(self) -> int:
        return self._count

    def add(self, counts: IntArray) -> bool:
        """Check a table and keep it if it goes further somewhere; says whether it was kept."""
        if not self._problem.holds(counts):
            raise CellboundsError("a table that a method built is inconsistent; please report this")
        return self._add(counts)

    def add_if_it_fits(self, counts: IntArray) -> bool:
        """The same for a table that may not keep everything."""
        return self._problem.holds(counts) and self._add(counts)

    def _add(self, counts: IntArray) -> bool:
        if float(counts.sum(dtype=float)) >= WIDEST:
            raise TooMuchWork(TOO_WIDE)
        sums = self._asked.sums(counts)
        further = np.stack([sums < self.ends[0], sums > self.ends[1]]) | (not self._count)
        if not further.any():
            return False
        ends = np.where(further, sums, self.ends)
        number = self._count
        furthest = np.where(further, number, self._furthest)
        self._packed[number:] = [_packed(counts)]  # in place of what was left by an interruption
        # All or nothing: whoever interrupts the search may go on with what it has found.
        self.ends, self._furthest, self._count = ends, furthest, number + 1
        return True

    def at(self, place: int) -> IntArray:
        """One table, as a copy."""
        where, counts = self._packed[place]
        if where is None:
            return counts.astype(np.int64)
        table = np.zeros(len(self._problem.lower), dtype=np.int64)
        table[where] = counts
        return table

    def nearest(self, place: int, side: int) -> IntArray:
        """The table that goes furthest in one sum: down (side 0) or up (side 1)."""
        return self.at(int(self._furthest[side, place]))

    def extremes(self, place: int) -> list[int]:
        """The numbers of the tables that go furthest in one sum."""
        return sorted(set(self._furthest[:, place].tolist()))

    def excerpt(self, places: Iterable[int]) -> Excerpt:
        """The tables that matter for some sums."""
        chosen = np.array(sorted(set(places)), dtype=np.int64)
        # The first table is always there: it stands for what has nothing to do with a sum.
        numbers = np.append(self._furthest[:, chosen], 0)
        distinct, furthest = np.unique(numbers, return_inverse=True)
        packed = [self._packed[k] for k in distinct] if self._count else []
        return Excerpt(packed, chosen, furthest[:-1].reshape(2, -1))

    def cut_down(self, ends: IntArray, excerpt: Excerpt) -> TablePool:
        """Another pool that has attained as much, with the tables of an excerpt.

        In sums that the excerpt is not about, the first table stands for the one that goes
        furthest.
        """
        other = TablePool(self._problem, self._asked)
        other._packed, other._count, other.ends = list(excerpt.packed), len(excerpt.packed), ends
        other._furthest[:, excerpt.places] = excerpt.furthest
        return other

    def packed(self, place: int) -> Packed:
        """One table as it is kept: where it is not zero (None: everywhere), and its counts."""
        return self._packed[place]


def _packed(counts: IntArray) -> Packed:
    small = counts.astype(np.int32 if counts.max(initial=0) < 2**31 else np.int64)
    where = np.flatnonzero(counts)
    if 4 * len(where) >= len(counts):
        return None, small
    return where.astype(np.int32 if len(counts) < 2**31 else np.int64), small[where]
