"""The parts of summed cells: their bounds and attainable counts, from those of the sums."""

from __future__ import annotations

import numpy as np

from cellbounds.errors import TooMuchWork
from cellbounds.model.rates.layout import PARTS_EFFORT, Layout, Parts
from cellbounds.results.values import Unbounded, ValueSet
from cellbounds.runtime.arrays import IntArray


def part_bounds(layout: Layout, lower: IntArray, upper: IntArray) -> tuple[IntArray, IntArray]:
    """Bounds of every part from those of the summed cells; lists of values are not looked at."""
    low, high, widths = lower.ravel(), upper.ravel(), layout.behind.widths
    if layout.parts is None:
        # A part may be empty unless it is alone, and may hold all of its summed cell.
        return np.repeat(np.where(widths == 1, low, 0), widths), np.repeat(high, widths)
    smallest, largest = _extremes(layout.parts, low, high)
    empty = np.repeat(layout.facts.conditional.intervals.zero, layout.column_count)
    smallest[np.repeat(empty, widths)] = largest[np.repeat(empty, widths)] = 0
    return smallest, largest


def _extremes(parts: Parts, low: IntArray, high: IntArray) -> tuple[IntArray, IntArray]:
    widths = parts.behind.widths
    lower, upper = parts.lower.astype(object), parts.upper.astype(object)
    least_others = np.repeat(parts.added(lower), widths) - lower
    unlimited = np.asarray(upper < 0, dtype=np.int64)
    finite = np.where(unlimited, 0, upper)
    most_others = np.repeat(parts.added(finite), widths) - finite
    others_unlimited = np.repeat(parts.added(unlimited), widths) > unlimited
    raised = np.maximum(lower, np.repeat(low, widths) - most_others)
    largest = np.empty(len(lower), dtype=object)
    for place, top in enumerate(np.repeat(high, widths)):
        if not isinstance(top, Unbounded):
            top = top - least_others[place]
        largest[place] = top if unlimited[place] else min(top, upper[place])
    return np.where(others_unlimited, lower, raised), largest


class PartCounts:
    """Attainable counts of parts, from those of their summed cells."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._ends: dict[int, tuple[int, int, int]] = {}
        self._known: dict[tuple[int, int, int], tuple[ValueSet, ValueSet]] = {}

    def values(self, cell: int, part: int, sums: ValueSet) -> ValueSet:
        """Attainable counts of one part of a cell that can hold `sums`."""
        parts = self._parts
        places = parts.places(cell)
        if parts.values and any(place in parts.values for place in places):
            return self._listed_values(cell, part, sums)
        # Of a summed cell there may be very many parts, most of them with the same knowledge.
        low, high = int(parts.lower[places[part]]), int(parts.upper[places[part]])
        key = (cell, low, high)
        if key not in self._known or self._known[key][0] is not sums:
            self._known[key] = sums, self._values_between(cell, low, high, sums)
        return self._known[key][1]

    def _ends_of(self, cell: int) -> tuple[int, int, int]:
        """The sum of the parts' lower bounds, of their upper bounds, and how many have none."""
        if cell not in self._ends:
            places = self._parts.places(cell)
            inside = slice(places.start, places.stop)
            upper = self._parts.upper[inside].tolist()
            limits = [limit for limit in upper if limit >= 0]
            least = sum(self._parts.lower[inside].tolist())
            self._ends[cell] = least, sum(limits), len(upper) - len(limits)
        return self._ends[cell]

    def _values_between(self, cell: int, low: int, high: int, sums: ValueSet) -> ValueSet:
        """Attainable counts of a part between two bounds of its own (no lists)."""
        least, most, endless = self._ends_of(cell)
        least -= low

        def top(last: int | None) -> int | None:
            if last is None:
                return high if high >= 0 else None
            return min(last - least, high) if high >= 0 else last - least

        if endless > (high < 0):
            largest = sums.largest
            return ValueSet([(low, top(None if isinstance(largest, Unbounded) else largest), 1)])
        most -= max(high, 0)
        if any(step > 1 for _, _, step in sums.progressions):
            _check_effort(sums)
        intervals = ((max(low, first - most), top(last)) for first, last in sums.runs)
        return ValueSet.from_intervals(
            (begin, end) for begin, end in intervals if end is None or begin <= end
        )

    def _listed_values(self, cell: int, part: int, sums: ValueSet) -> ValueSet:
        _check_effort(sums)
        attainable: set[int] = set()
        place = self._parts.places(cell)[part]
        for total in sums:
            for value in self._candidates(place, total):
                if value not in attainable and self._parts.split(cell, total, part, value):
                    attainable.add(value)
        return ValueSet.from_values(attainable)

    def _candidates(self, place: int, total: int) -> range | tuple[int, ...]:
        listed = self._parts.values.get(place)
        if listed is not None:
            return listed
        high = int(self._parts.upper[place])
        return range(int(self._parts.lower[place]), (min(high, total) if high >= 0 else total) + 1)


def _check_effort(sums: ValueSet) -> None:
    size = sums.size
    if isinstance(size, Unbounded) or size > PARTS_EFFORT:
        raise TooMuchWork(
            "side information about parts of a summed cell needs its counts split one by one, and "
            "there are too many; leave it out or publish the total"
        )
