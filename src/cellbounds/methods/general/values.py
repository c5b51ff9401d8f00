"""Every attainable value of one sum: runs between tables, and proofs for what lies between."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from cellbounds.arrays import IntArray
from cellbounds.constraints import NO_UPPER
from cellbounds.errors import TooMuchWork
from cellbounds.methods.effort import Effort
from cellbounds.methods.general.search import Search
from cellbounds.methods.general.settling import settle_one
from cellbounds.results.values import ValueSet

__all__ = ["Run", "SumValues", "values_of"]

LONG_GAP = 16
"""In a gap longer than this the next value is asked for first."""

MOST_RUNS = 100_000
"""Runs of values that are listed; a sum with more is refused."""


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Tables ``table + t * direction`` for t from 0 to `steps`: values from `first` by `by`.

    Without `steps` there is no end.
    """

    first: int
    by: int
    steps: int | None
    table: IntArray
    direction: IntArray | None

    @property
    def last(self) -> int:
        """The largest value."""
        assert self.steps is not None
        return self.first + self.by * self.steps

    def holds(self, value: int) -> bool:
        """Whether one of the tables has this value."""
        if value < self.first or (self.steps is not None and value > self.last):
            return False
        return (value - self.first) % max(self.by, 1) == 0

    def table_at(self, value: int) -> IntArray:
        """The table with this value."""
        if self.direction is None:
            return self.table
        return np.asarray(self.table + (value - self.first) // self.by * self.direction)


@dataclass(frozen=True, slots=True, eq=False)
class SumValues:
    """The values of one sum, and a table for each."""

    values: ValueSet
    runs: tuple[Run, ...]

    def table_with(self, value: int) -> IntArray | None:
        """A table in which the sum has this value."""
        return next((run.table_at(value) for run in self.runs if run.holds(value)), None)


def values_of(search: Search, place: int, effort: Effort) -> SumValues:
    """Find every value of one sum, or what is known of them when the effort is spent."""
    for side in (0, 1):
        settle_one(search, place, side, effort)
    if not len(search.pool):
        high = int(search.high[place])
        nothing = [(int(search.low[place]), None if high == NO_UPPER else high, 1)]
        return SumValues(ValueSet([], unknown=nothing), ())
    if search.endless[place]:
        return _without_end(search, place)
    gaps = _Gaps(search, place, effort)
    gaps.fill()
    return SumValues(gaps.values(), tuple(gaps.runs))


def _without_end(search: Search, place: int) -> SumValues:
    """Values of a sum that nothing limits: all from the least on if a single cell may grow."""
    least = int(search.pool.least[place])
    table = search.pool.nearest(place, 0)
    low = int(search.low[place])
    below = [(low, least - 1, 1)] if low < least else []
    for cell in search.asked.members(place).tolist():
        if search.full.grows_alone(cell):
            direction = np.zeros(len(table), dtype=np.int64)
            direction[cell] = 1
            values = ValueSet([(least, None, 1)], unknown=below)
            return SumValues(values, (Run(least, 1, None, table, direction),))
    values = ValueSet([(least, least, 1)], unknown=[*below, (least + 1, None, 1)])
    return SumValues(values, (Run(least, 1, 0, table, None),))


class _Gaps:
    """The values of one sum while they are being found."""

    def __init__(self, search: Search, place: int, effort: Effort) -> None:
        self._search, self._place, self._effort = search, place, effort
        self._members = search.asked.members(place)
        self._cells, self._constant = search.objective(place)
        self.runs: list[Run] = []
        self._unknown: list[tuple[int, int]] = []
        self._known: dict[int, IntArray] = {}

    def _value(self, counts: IntArray) -> int:
        return int(counts[self._members].sum())

    def fill(self) -> None:
        """Work from the lowest value up."""
        search, place = self._search, self._place
        for number in search.pool.extremes(place):
            self._keep(search.pool.at(number))
        low, high = int(search.low[place]), int(search.high[place])
        values = sorted(self._known)
        if low < values[0]:
            self._between(low - 1, values[0])
        for value in values:
            self._climb(value)
        known = sorted(self._covered())
        for left, right in itertools.pairwise(known):
            if right[0] > left[1] + 1:
                self._between(left[1], right[0])
        if high > max(last for _, last in self._covered()):
            self._between(max(last for _, last in self._covered()), high + 1)

    def _keep(self, counts: IntArray) -> int:
        value = self._value(counts)
        if value not in self._known:
            self._known[value] = counts
            self.runs.append(Run(value, 1, 0, counts, None))
        return value

    def _climb(self, value: int) -> None:
        """Follow moves that raise the sum by one until there is none, or what follows is known."""
        search = self._search
        if not search.walker.possible:
            self._straight(value)
            return
        counts = self._known[value]
        top = int(search.high[self._place])
        while value < top and not self._effort.spent:
            if any(run.first <= value + 1 <= run.last for run in self.runs if run.by == 1):
                return
            found = search.walker.longest_run(counts, self._place)
            if found is None:
                return
            direction, steps = found
            self.runs.append(Run(value, 1, steps, counts, direction))
            counts, value = counts + steps * direction, value + steps
            self._known.setdefault(value, counts)

    def _straight(self, value: int) -> None:
        """Whole points on the line to the next known table (the relaxation is convex)."""
        above = [other for other in self._known if other > value]
        if not above or self._search.full.lists:
            return
        nearest = min(above)
        difference = self._known[nearest] - self._known[value]
        shared = math.gcd(*difference[difference != 0].tolist())
        if shared > 1:
            step = (nearest - value) // shared
            self.runs.append(Run(value, step, shared, self._known[value], difference // shared))

    def _covered(self) -> list[tuple[int, int]]:
        """Runs of values known to be attainable."""
        intervals: list[tuple[int, int]] = []
        for run in self.runs:
            if run.by == 1:
                intervals.append((run.first, run.last))
            else:
                intervals += [(v, v) for v in range(run.first, run.last + 1, max(run.by, 1))]
        return [(a, b) for a, b in ValueSet.from_intervals(intervals).runs if b is not None]

    def _between(self, left: int, right: int) -> None:
        """Values strictly between two: find tables or prove that there are none."""
        waiting = [(left, right)]
        while waiting:
            left, right = waiting.pop()
            if right - left < 2:
                continue
            if len(self.runs) > MOST_RUNS:
                raise TooMuchWork(
                    f"a sum has more than {MOST_RUNS} runs of attainable values to look at; ask "
                    "for bounds instead"
                )
            # In a long gap the next value, if there is one, shows the way to many more.
            last = left + 1 if right - left > LONG_GAP else right - 1
            settled, counts = self._ask(left + 1, last)
            if counts is not None:
                waiting += self._grown(left, right, counts)
            elif not settled:
                self._unknown.append((left + 1, right - 1))
            else:
                waiting.append((last, right))

    def _ask(self, low: int, high: int) -> tuple[bool, IntArray | None]:
        """A table with a value in a range; whether it is settled that there is none."""
        search, effort = self._search, self._effort
        if effort.spent or not search.sendable:
            return False, None
        ones = np.ones(len(self._cells), dtype=np.int64)
        found = search.integers.with_sum(
            self._cells, ones, low - self._constant, high - self._constant, None, effort.left
        )
        if found.cells is None:
            return found.final and not search.capped_for(self._place), None
        counts = search.expand(found.cells)
        search.pool.add(counts)
        return True, counts

    def _grown(self, left: int, right: int, counts: IntArray) -> list[tuple[int, int]]:
        """Follow the way to a new table as far as it goes; gives the gaps that are left."""
        value = self._keep(counts)
        before = len(self.runs)
        self._climb(value)
        start = next((run.table_at(left) for run in self.runs if run.holds(left)), None)
        if start is not None and not self._search.full.lists:
            way = counts - start
            shared = math.gcd(*way[way != 0].tolist())
            way, by = way // shared, (value - left) // shared
            steps = self._search.full.room(counts, way)
            self.runs.append(Run(left, by, shared + steps, start, way))
        new = self.runs[before:]
        tops = [run.last for run in new if run.by == 1 and run.first <= value <= run.last]
        top = min(max([value, *tops]), right - 1)
        bottom = min([value, *(run.first for run in new if run.by == 1 and run.last >= value)])
        gaps = [(left, bottom), (top, right)]
        strides = [run for run in new if run.by > 1]
        if not strides:
            return gaps
        known = [v for run in strides for v in range(run.first, min(run.last, right) + 1, run.by)]
        marks = sorted({left, right, top, *(v for v in known if left < v < right)})
        return [pair for pair in itertools.pairwise(marks) if pair[1] - pair[0] > 1]

    def values(self) -> ValueSet:
        """The set found, and what is not settled."""
        known = ValueSet.from_intervals(self._covered())
        unknown = ValueSet.from_intervals(self._unknown)
        return ValueSet(known.progressions, unknown=unknown.progressions)
