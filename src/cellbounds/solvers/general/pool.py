"""Integer tables that were found and checked, shared by all sums asked for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from cellbounds.errors import CellboundsError, TooMuchWork
from cellbounds.model.problem import TOO_WIDE, WIDEST, Problem
from cellbounds.model.targets import Targets
from cellbounds.runtime.arrays import IntArray

__all__ = ["Excerpt", "TablePool"]

Packed = tuple[IntArray | None, IntArray]


@dataclass(frozen=True, slots=True, eq=False)
class Excerpt:
    """What somebody who works on a few sums needs of a pool.

    `packed` are the first table and those that go furthest in these sums; `places`, `least_at`
    and `most_at` say which goes furthest in which.
    """

    packed: tuple[Packed, ...]
    places: IntArray
    least_at: IntArray
    most_at: IntArray


class TablePool:
    """Consistent tables, and the smallest and largest value of each sum among them.

    A table is kept if it goes further than the others in some sum. Sparse tables are packed.
    """

    def __init__(self, problem: Problem, asked: Targets) -> None:
        self._problem = problem
        self._asked = asked
        self._packed: list[Packed] = []
        self.least = np.zeros(0, dtype=np.int64)
        self.most = np.zeros(0, dtype=np.int64)
        self._least_at = np.zeros(asked.size, dtype=np.int64)
        self._most_at = np.zeros(asked.size, dtype=np.int64)

    def __len__(self) -> int:
        return len(self._packed)

    def add(self, counts: IntArray) -> bool:
        """Check a table and keep it if it goes further somewhere; says whether it was kept."""
        if not self._problem.holds(counts):
            raise CellboundsError("a table that a method built is inconsistent; please report this")
        if float(counts.sum(dtype=float)) >= WIDEST:
            raise TooMuchWork(TOO_WIDE)
        sums = self._asked.sums(counts)
        place = len(self._packed)
        if not place:
            self.least, self.most = sums.copy(), sums.copy()
        else:
            lower, higher = sums < self.least, sums > self.most
            if not (lower.any() or higher.any()):
                return False
            self.least = np.where(lower, sums, self.least)
            self.most = np.where(higher, sums, self.most)
            self._least_at[lower] = place
            self._most_at[higher] = place
        self._packed.append(_packed(counts))
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
        return self.at(self.number(place, side))

    def number(self, place: int, side: int) -> int:
        """The number of the table that goes furthest in one sum."""
        return int((self._least_at if side == 0 else self._most_at)[place])

    def extremes(self, place: int) -> list[int]:
        """The numbers of the tables that go furthest in one sum."""
        return sorted({self.number(place, 0), self.number(place, 1)})

    def excerpt(self, places: Iterable[int]) -> Excerpt:
        """The tables that matter for some sums."""
        chosen = np.array(sorted(set(places)), dtype=np.int64)
        sides = self._least_at[chosen], self._most_at[chosen]
        # The first table is always there: it stands for what has nothing to do with a sum.
        kept, numbers = np.unique(np.concatenate([[0], *sides]), return_inverse=True)
        cut = 1 + len(chosen)
        packed = tuple(self._packed[k] for k in kept) if self._packed else ()
        return Excerpt(packed, chosen, numbers[1:cut], numbers[cut:])

    def cut_down(self, least: IntArray, most: IntArray, excerpt: Excerpt) -> TablePool:
        """Another pool that has attained as much, with the tables of an excerpt.

        In sums that the excerpt is not about, the first table stands for the one that goes
        furthest.
        """
        other = TablePool(self._problem, self._asked)
        other._packed = list(excerpt.packed)
        other.least, other.most = least.copy(), most.copy()
        other._least_at[excerpt.places] = excerpt.least_at
        other._most_at[excerpt.places] = excerpt.most_at
        return other

    def packed(self, place: int) -> Packed:
        """One table as it is kept: where it is not zero (None: everywhere), and its counts."""
        return self._packed[place]

    def tables(self) -> list[IntArray]:
        """Every table that was kept."""
        return [self.at(place) for place in range(len(self))]


def _packed(counts: IntArray) -> Packed:
    largest = int(counts.max(initial=0))
    kind = np.int32 if largest < 2**31 else np.int64
    where = np.flatnonzero(counts)
    if 4 * len(where) < len(counts):
        return where.astype(np.int32 if len(counts) < 2**31 else np.int64), counts[where].astype(
            kind
        )
    return None, counts.astype(kind)
