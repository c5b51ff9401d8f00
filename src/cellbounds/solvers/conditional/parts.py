"""Cells of the whole table when the cells of the conditional are sums of them.

It may leave variables out, or merge levels. A summed cell is split into parts in every way that
prior knowledge about the parts allows.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cellbounds.data.cell_groups import CellGroups
from cellbounds.errors import TooMuchWork
from cellbounds.results.values import Unbounded, ValueSet
from cellbounds.runtime.arrays import SAFE, IntArray
from cellbounds.solvers.conditional.sums import Window
from cellbounds.statements.margin_bounds import NO_LIMIT, MarginBounds

__all__ = ["Parts"]

PARTS_EFFORT = 1 << 22
"""Counts of a summed cell that may be split one by one."""


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Prior knowledge about the parts of each summed cell, flat in the order of `behind`.

    No summed cell is without parts. `values` are by the place of a part.
    """

    lower: IntArray
    upper: IntArray
    values: dict[int, tuple[int, ...]]
    behind: CellGroups
    _ends: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    _found: dict[tuple[int, int, int], tuple[ValueSet, ValueSet]] = field(default_factory=dict)

    @classmethod
    def from_known(cls, known: MarginBounds, behind: CellGroups) -> Parts:
        """Lay knowledge about all cells of the table out by summed cell."""
        lower, upper = known.lower.ravel()[behind.cells], known.upper.ravel()[behind.cells]
        if max(int(lower.max()), int(upper.max())) * int(behind.widths.max()) >= SAFE:
            lower, upper = lower.astype(object), upper.astype(object)
        places = behind.places()
        values = {int(places[flat]): one for flat, one in known.values.items()}
        return cls(lower, upper, values, behind)

    def places(self, cell: int) -> range:
        """The places of the parts of a summed cell."""
        return range(int(self.behind.starts[cell]), int(self.behind.starts[cell + 1]))

    def listed(self) -> set[int]:
        """The summed cells with a list of values for some part."""
        starts = self.behind.starts
        return {int(np.searchsorted(starts, place, side="right")) - 1 for place in self.values}

    def _added(self, numbers: IntArray) -> IntArray:
        """Sum numbers of parts to summed cells."""
        return np.asarray(np.add.reduceat(numbers, self.behind.starts[:-1]))

    def summed(self, *, lists: bool = True) -> MarginBounds:
        """What this says about the summed cells, `lists` of parts included."""
        lower = self._added(self.lower)
        unlimited = np.asarray(self.upper < 0, dtype=np.int64)
        open_ended = self._added(unlimited) > 0
        upper = np.where(open_ended, NO_LIMIT, self._added(np.where(unlimited, 0, self.upper)))
        listed = self.listed() if lists else ()
        values = {cell: self._sums(cell) for cell in listed if not open_ended[cell]}
        return MarginBounds(lower, upper, values)

    def _sums(self, cell: int) -> tuple[int, ...]:
        """The sums that the parts of a cell can make, all of them being bounded."""
        places = self.places(cell)
        most = sum(int(self.upper[place]) for place in places)
        if most >= PARTS_EFFORT:
            raise TooMuchWork("the lists of values for parts of a cell reach too far to combine")
        window, base = Window(most + 1), 0
        held = window.nothing()
        for place in places:
            low, bits = self._bits(place)
            base += low
            held = window.plus_bits(held, bits)
        return tuple(base + o for o in range(most - base + 1) if window.holds(held, o))

    def _bits(self, place: int) -> tuple[int, int]:
        listed = self.values.get(place)
        low, high = int(self.lower[place]), int(self.upper[place])
        if listed is None:
            return low, (1 << (high - low + 1)) - 1
        bits = 0
        for value in listed:
            bits |= 1 << (value - listed[0])
        return listed[0], bits

    def extremes(self, low: IntArray, high: IntArray) -> tuple[IntArray, IntArray]:
        """Smallest and largest count of every part, from those of the summed cells (no lists)."""
        widths = self.behind.widths
        lower, upper = self.lower.astype(object), self.upper.astype(object)
        least_others = np.repeat(self._added(lower), widths) - lower
        unlimited = np.asarray(upper < 0, dtype=np.int64)
        finite = np.where(unlimited, 0, upper)
        most_others = np.repeat(self._added(finite), widths) - finite
        others_unlimited = np.repeat(self._added(unlimited), widths) > unlimited
        raised = np.maximum(lower, np.repeat(low, widths) - most_others)
        smallest = np.where(others_unlimited, lower, raised)
        largest = np.empty(len(lower), dtype=object)
        for place, top in enumerate(np.repeat(high, widths)):
            if not isinstance(top, Unbounded):
                top = top - least_others[place]
            largest[place] = top if unlimited[place] else min(top, upper[place])
        return smallest, largest

    def part_values(self, cell: int, part: int, sums: ValueSet) -> ValueSet:
        """Attainable counts of one part, from those of its summed cell."""
        places = self.places(cell)
        if self.values and any(place in self.values for place in places):
            return self._listed_values(cell, part, sums)
        # Of a summed cell there may be very many parts, most of them with the same knowledge.
        low, high = int(self.lower[places[part]]), int(self.upper[places[part]])
        key = (cell, low, high)
        if key not in self._found or self._found[key][0] is not sums:
            self._found[key] = sums, self._values_between(cell, low, high, sums)
        return self._found[key][1]

    def _ends_of(self, cell: int) -> tuple[int, int, int]:
        """The sum of the parts' lower bounds, of their upper bounds, and how many have none."""
        if cell not in self._ends:
            lower, upper = (
                side[self.behind.starts[cell] : self.behind.starts[cell + 1]].tolist()
                for side in (self.lower, self.upper)
            )
            limits = [one for one in upper if one >= 0]
            self._ends[cell] = sum(lower), sum(limits), len(upper) - len(limits)
        return self._ends[cell]

    def _values_between(self, cell: int, low: int, high: int, sums: ValueSet) -> ValueSet:
        """Attainable counts of a part between two bounds of its own (no lists)."""
        least, most, endless = self._ends_of(cell)
        least -= low
        if endless > (high < 0):
            top = sums.largest
            end = None if isinstance(top, Unbounded) else top - least
            if high >= 0:
                end = high if end is None else min(end, high)
            return ValueSet([(low, end, 1)])
        most -= max(high, 0)
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
            for value in self._candidates(self.places(cell)[part], total):
                if value not in found and self.split(cell, total, part, value) is not None:
                    found.add(value)
        return ValueSet.from_values(found)

    def _candidates(self, place: int, total: int) -> range | tuple[int, ...]:
        listed = self.values.get(place)
        if listed is not None:
            return listed
        high = int(self.upper[place])
        return range(int(self.lower[place]), (min(high, total) if high >= 0 else total) + 1)

    def split(self, cell: int, total: int, part: int | None, value: int | None) -> list[int] | None:
        """Counts of all parts that add to `total`, one part being fixed; None if impossible."""
        places = self.places(cell)
        fixed = None if part is None else places[part]
        chosen = {}
        for place in places:
            listed = self.values.get(place)
            # the others at their least
            chosen[place] = listed[0] if listed else int(self.lower[place])
        if fixed is not None and value is not None:
            chosen[fixed] = value
        missing = total - sum(chosen.values())
        if missing < 0:
            return None
        loose = [place for place in places if place != fixed]
        plain = [place for place in loose if place not in self.values]
        found = self._raise_to(chosen, plain, [p for p in loose if p in self.values], missing)
        return None if found is None else [found[place] for place in places]

    def _raise_to(
        self, chosen: dict[int, int], plain: list[int], listed: list[int], missing: int
    ) -> dict[int, int] | None:
        """Raise listed parts by search, then plain parts greedily, by `missing` in all."""
        if listed:
            first, *others = listed
            base = chosen[first]
            for value in self.values[first]:
                if value - base > missing:
                    break
                trial = {**chosen}
                trial[first] = value
                found = self._raise_to(trial, plain, others, missing - (value - base))
                if found is not None:
                    return found
            return None
        raised = {**chosen}
        for place in plain:
            high = int(self.upper[place])
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
