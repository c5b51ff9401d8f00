"""Cells of the whole table when the conditional sums over omitted variables.

A summed cell is split into parts in every way that prior knowledge about the parts allows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellbounds.arrays import SAFE, IntArray
from cellbounds.errors import TooMuchWork
from cellbounds.methods.conditional.problem import NO_LIMIT
from cellbounds.methods.conditional.sums import Window
from cellbounds.releases.statements import Known
from cellbounds.results.values import Unbounded, ValueSet

__all__ = ["Parts"]

PARTS_EFFORT = 1 << 22
"""Counts of a summed cell that may be split one by one."""


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Prior knowledge about the parts of each summed cell: arrays of (summed cells, parts)."""

    lower: IntArray
    upper: IntArray
    values: dict[tuple[int, int], tuple[int, ...]]

    @classmethod
    def from_known(cls, known: Known, count: int) -> Parts:
        """Lay knowledge over all variables (omitted ones last) out by summed cell."""
        lower, upper = known.lower.reshape(-1, count), known.upper.reshape(-1, count)
        if max(int(lower.max()), int(upper.max())) * count >= SAFE:
            lower, upper = lower.astype(object), upper.astype(object)
        values = {(flat // count, flat % count): one for flat, one in known.values.items()}
        return cls(lower, upper, values)

    def summed(self) -> Known:
        """What this says about the summed cells."""
        lower = self.lower.sum(axis=1)
        open_ended = np.asarray((self.upper < 0).any(axis=1))
        upper = np.where(open_ended, NO_LIMIT, np.where(self.upper < 0, 0, self.upper).sum(axis=1))
        values: dict[int, tuple[int, ...]] = {}
        for cell in {cell for cell, _ in self.values}:
            if not open_ended[cell]:
                values[cell] = self._sums(cell)
        return Known(lower, upper, values)

    def _sums(self, cell: int) -> tuple[int, ...]:
        """The sums that the parts of a cell can make, all of them being bounded."""
        most = int(self.upper[cell].sum())
        if most >= PARTS_EFFORT:
            raise TooMuchWork("the lists of values for parts of a cell reach too far to combine")
        window, base = Window(most + 1), 0
        held = window.nothing()
        for part in range(self.lower.shape[1]):
            low, bits = self._bits(cell, part)
            base += low
            held = window.plus_bits(held, bits)
        return tuple(base + o for o in range(most - base + 1) if window.holds(held, o))

    def _bits(self, cell: int, part: int) -> tuple[int, int]:
        listed = self.values.get((cell, part))
        low, high = int(self.lower[cell, part]), int(self.upper[cell, part])
        if listed is None:
            return low, (1 << (high - low + 1)) - 1
        bits = 0
        for value in listed:
            bits |= 1 << (value - listed[0])
        return listed[0], bits

    def extremes(self, low: IntArray, high: IntArray, cells: IntArray) -> tuple[IntArray, IntArray]:
        """Smallest and largest count of every part, from those of the summed cells (no lists)."""
        lower, upper = self.lower[cells].astype(object), self.upper[cells].astype(object)
        least_others = lower.sum(axis=1)[:, None] - lower
        unlimited = upper < 0
        finite = np.where(unlimited, 0, upper)
        most_others = finite.sum(axis=1)[:, None] - finite
        others_unlimited = (unlimited.sum(axis=1)[:, None] - unlimited) > 0
        smallest = np.where(others_unlimited, lower, np.maximum(lower, low[:, None] - most_others))
        largest = np.empty(lower.shape, dtype=object)
        for index in np.ndindex(lower.shape):
            top = high[index[0]]
            if not isinstance(top, Unbounded):
                top = top - least_others[index]
            largest[index] = top if unlimited[index] else min(top, upper[index])
        return smallest, largest

    def part_values(self, cell: int, part: int, sums: ValueSet) -> ValueSet:
        """Attainable counts of one part, from those of its summed cell."""
        if any(c == cell for c, _ in self.values):
            return self._listed_values(cell, part, sums)
        low, high = int(self.lower[cell, part]), int(self.upper[cell, part])
        least = int(self.lower[cell].sum()) - low
        others = np.delete(self.upper[cell], part)
        if (others < 0).any():
            top = sums.largest
            end = None if isinstance(top, Unbounded) else top - least
            if high >= 0:
                end = high if end is None else min(end, high)
            return ValueSet([(low, end, 1)])
        most = int(others.sum())
        if any(step > 1 for _, _, step in sums.progressions):
            _check_effort(sums)
        intervals = []
        for first, last in sums.runs:
            begin = max(low, first - most)
            end = None if last is None else last - least
            if high >= 0:
                end = high if end is None else min(end, high)
            if end is None or begin <= end:
                intervals.append((begin, end))
        return ValueSet.from_intervals(intervals)

    def _listed_values(self, cell: int, part: int, sums: ValueSet) -> ValueSet:
        _check_effort(sums)
        found: set[int] = set()
        for total in sums:
            for value in self._candidates(cell, part, total):
                if value not in found and self.split(cell, total, part, value) is not None:
                    found.add(value)
        return ValueSet.from_values(found)

    def _candidates(self, cell: int, part: int, total: int) -> range | tuple[int, ...]:
        listed = self.values.get((cell, part))
        if listed is not None:
            return listed
        high = int(self.upper[cell, part])
        return range(int(self.lower[cell, part]), (min(high, total) if high >= 0 else total) + 1)

    def split(self, cell: int, total: int, part: int | None, value: int | None) -> list[int] | None:
        """Counts of all parts that add to `total`, one part being fixed; None if impossible."""
        chosen: list[int] = []
        for place in range(self.lower.shape[1]):
            fixed = place == part and value is not None
            listed = self.values.get((cell, place))
            chosen.append(
                value
                if fixed and value is not None
                # the others at their least
                else (listed[0] if listed else int(self.lower[cell, place]))
            )
        missing = total - sum(chosen)
        if missing < 0:
            return None
        loose = [place for place in range(len(chosen)) if place != part]
        plain = [place for place in loose if (cell, place) not in self.values]
        listed_places = [place for place in loose if (cell, place) in self.values]
        return self._raise_to(cell, chosen, plain, listed_places, missing)

    def _raise_to(
        self, cell: int, chosen: list[int], plain: list[int], listed: list[int], missing: int
    ) -> list[int] | None:
        """Raise listed parts by search, then plain parts greedily, by `missing` in all."""
        if listed:
            first, *others = listed
            base = chosen[first]
            for value in self.values[cell, first]:
                if value - base > missing:
                    break
                trial = [*chosen]
                trial[first] = value
                found = self._raise_to(cell, trial, plain, others, missing - (value - base))
                if found is not None:
                    return found
            return None
        raised = [*chosen]
        for place in plain:
            high = int(self.upper[cell, place])
            add = missing if high < 0 else min(missing, high - raised[place])
            raised[place] += add
            missing -= add
        return raised if missing == 0 else None


def _check_effort(sums: ValueSet) -> None:
    size = sums.size
    if isinstance(size, Unbounded) or size > PARTS_EFFORT:
        raise TooMuchWork(
            "prior knowledge about parts of a summed cell needs its counts split one by one, and "
            "there are too many; leave the prior out or publish the total"
        )
