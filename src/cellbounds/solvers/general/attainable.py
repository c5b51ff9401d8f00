"""Every attainable value of one sum: runs between tables, and proofs for what lies between."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cellbounds.errors import TooMuchWork
from cellbounds.results.values import ValueSet
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.budget import Budget
from cellbounds.solvers.general.search import Search
from cellbounds.solvers.general.strategy import Item, in_rounds, settle_one
from cellbounds.statements.inequalities import NO_UPPER

LONG_GAP = 16
"""In a gap longer than this the next value is asked for first."""

NEXT_VALUE = 5_000
"""Proposals of a walk to the next value."""

MOST_TABLES = 20
"""Tables that are kept to find the way to others."""

WIDTH = 4
"""Sums of one part of the work, where each takes a moment only."""

MOST_RESIDUES = 1000
"""The largest step of a run whose other residues are asked for."""

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
        """A table of the runs in which the sum has this value."""
        return next((run.table_at(value) for run in self.runs if run.holds(value)), None)


def values_of(search: Search, place: int, effort: Budget) -> SumValues:
    """Find every value of one sum, or what is known of them when the effort is spent."""
    if not effort.spent:
        for side in (0, 1):
            settle_one(search, place, side, effort)
    if not len(search.pool):
        high = int(search.proven[1, place])
        nothing = [(int(search.proven[0, place]), None if high == NO_UPPER else high, 1)]
        return SumValues(ValueSet([], unknown=nothing), ())
    if search.endless[place]:
        return _without_end(search, place)
    ends = search.settled(place, 0) and search.settled(place, 1)
    if ends and search.solvers.nested.unbroken(search.asked.members(place)):
        return _unbroken(search, place)
    if effort.spent:
        return _as_it_stands(search, place)
    gaps = _Gaps(search, place, effort)
    gaps.fill()
    return SumValues(gaps.values(), tuple(gaps.runs))


def _as_it_stands(search: Search, place: int) -> SumValues:
    """What is known without any work: the ends that tables attain."""
    low, high = int(search.proven[0, place]), int(search.proven[1, place])
    least, most = int(search.pool.ends[0, place]), int(search.pool.ends[1, place])
    between = [(low, least - 1, 1), (least + 1, most - 1, 1), (most + 1, high, 1)]
    known = [(value, value, 1) for value in sorted({least, most})]
    return SumValues(ValueSet(known, unknown=[gap for gap in between if gap[0] <= gap[1]]), ())


def _unbroken(search: Search, place: int) -> SumValues:
    """Values of a sum without gaps; a table for one of them is looked for when it is wanted."""
    least, most = int(search.proven[0, place]), int(search.proven[1, place])
    runs = [
        Run(value, 1, 0, search.pool.nearest(place, side), None)
        for side, value in enumerate((least, most))
    ]
    return SumValues(ValueSet([(least, most, 1)]), tuple(runs))


def table_with(search: Search, place: int, value: int, seconds: float | None) -> IntArray | None:
    """A table in which one sum has a value that it is known to take."""
    if not search.solvers.sendable:
        return None
    cells, constant = search.objective(place)
    rest = value - constant
    left = search.solvers.integers.with_sum(cells, rest, rest, seconds).cells
    return None if left is None else search.expand(left)


def values_of_each(
    search: Search, places: Sequence[int], effort: Budget
) -> Iterator[tuple[int, SumValues]]:
    """The same for many sums, by whoever helps; the tables of one show the way to others.

    Sums whose turn does not come before the effort is spent are left out.
    """
    items = [(place, 0) for place in places]
    width = 1 if search.program_is_dear else WIDTH
    for part, values_in_part in in_rounds(
        search, items, _values_in_part, effort, width=width, wanted=lambda _: True
    ):
        for (place, _), values in zip(part, values_in_part, strict=True):
            yield place, values


def _values_in_part(search: Search, items: Sequence[Item], effort: Budget) -> list[SumValues]:
    return [values_of(search, place, effort) for place, _ in items]


def _without_end(search: Search, place: int) -> SumValues:
    """Values of a sum that nothing limits: all from the least on if a single cell may grow."""
    least = int(search.pool.ends[0, place])
    table = search.pool.nearest(place, 0)
    low = int(search.proven[0, place])
    below = [(low, least - 1, 1)] if low < least else []
    for cell in search.asked.members(place).tolist():
        if search.full.grows_alone(cell):
            direction = np.zeros(len(table), dtype=np.int64)
            direction[cell] = 1
            values = ValueSet([(least, None, 1)], unknown=below)
            return SumValues(values, (Run(least, 1, None, table, direction),))
    values = ValueSet([(least, least, 1)], unknown=[*below, (least + 1, None, 1)])
    return SumValues(values, (Run(least, 1, 0, table, None),))


@dataclass(frozen=True, slots=True)
class _Gap:
    """Values from `low` to `high` of which nothing is known; of some residues only if `by` > 1.

    `next_first` says that the lowest value is worth a question of its own.
    """

    low: int
    high: int
    by: int = 1
    residues: frozenset[int] = frozenset([0])
    next_first: bool = False

    def part(self, low: int, high: int, without: int | None = None) -> _Gap:
        """The same for a part of the range, perhaps without one residue."""
        left = self.residues if without is None else self.residues - {without}
        return _Gap(low, high, self.by, left)

    def progressions(self) -> list[tuple[int, int, int]]:
        """The values as progressions."""
        firsts = (self.low + (residue - self.low) % self.by for residue in self.residues)
        return [(first, self.high, self.by) for first in firsts if first <= self.high]


class _Gaps:
    """The values of one sum while they are being found."""

    def __init__(self, search: Search, place: int, effort: Budget) -> None:
        self._search, self._place, self._effort = search, place, effort
        self._members = search.asked.members(place)
        self._cells, self._constant = search.objective(place)
        self.runs: list[Run] = []
        self._known: list[tuple[int, int, int]] = []
        self._unknown: list[tuple[int, int, int]] = []
        self._tables: dict[int, IntArray] = {}

    def fill(self) -> None:
        """Runs from the extremes first, then a question for each gap."""
        search, place = self._search, self._place
        for number in search.pool.extremes(place):
            self._keep(search.pool.at(number))
        for value in sorted(self._tables):
            self._climb(value)
        covered = ValueSet.from_intervals((run.first, run.last) for run in self.runs)
        self._known = [(first, last, 1) for first, last in covered.runs if last is not None]
        low, high = int(search.proven[0, place]), int(search.proven[1, place])
        ends = [low - 1, *(e for first, last, _ in self._known for e in (first, last)), high + 1]
        gaps = [
            _Gap(left + 1, right - 1, next_first=True)
            for left, right in zip(ends[::2], ends[1::2], strict=True)
            if right - left > 1
        ]
        while gaps:
            if len(self.runs) > MOST_RUNS:
                raise TooMuchWork(
                    f"a sum has more than {MOST_RUNS} runs of attainable values to look at; ask "
                    "for bounds instead"
                )
            gaps += self._examined(gaps.pop())

    def _keep(self, counts: IntArray) -> int:
        value = int(counts[self._members].sum())
        if value not in self._tables:
            if len(self._tables) < MOST_TABLES:
                self._tables[value] = counts
            self.runs.append(Run(value, 1, 0, counts, None))
        return value

    def _climb(self, value: int) -> None:
        """Follow moves that raise the sum by one until there is none, or what follows is known."""
        search = self._search
        counts = self._tables[value]
        top = int(search.proven[1, self._place])
        while search.walker.possible and value < top and not self._effort.spent:
            if any(run.first <= value + 1 <= run.last for run in self.runs):
                return
            longest = search.walker.longest_run(counts, self._place)
            if longest is None:
                return
            direction, steps = longest
            self.runs.append(Run(value, 1, steps, counts, direction))
            counts, value = counts + steps * direction, value + steps

    def _examined(self, gap: _Gap) -> list[_Gap]:
        """Find a table in a gap or prove that there is none; gives the gaps that are left."""
        if gap.low > gap.high or not gap.residues:
            return []
        if gap.next_first:
            counts = self._walked(gap.low)
            if counts is not None:
                return self._grown(gap, counts)
        # In a long gap the next value, if there is one, shows the way to many more.
        next_only = gap.next_first and gap.high - gap.low > LONG_GAP
        settled, counts = self._ask(gap.part(gap.low, gap.low) if next_only else gap)
        if counts is not None:
            return self._grown(gap, counts)
        if not settled:
            self._unknown += gap.progressions()
            return []
        return [gap.part(gap.low + 1, gap.high)] if next_only else []

    def _walked(self, value: int) -> IntArray | None:
        """A table with a value, by a short walk from one with a little less."""
        search, place = self._search, self._place
        start = next((run.table_at(value - 1) for run in self.runs if run.holds(value - 1)), None)
        if start is None or not search.walker.possible or self._effort.spent:
            return None
        counts, goals = start.copy(), search.proven.copy()
        goals[1, place] = value
        bounds, effort = [(place, 1)], self._effort
        search.walker.push(search.pool, counts, bounds, goals, NEXT_VALUE, effort=effort)
        return counts if int(counts[self._members].sum()) == value else None

    def _ask(self, gap: _Gap) -> tuple[bool, IntArray | None]:
        """A table with a value in a gap; whether it is settled that there is none."""
        search, effort = self._search, self._effort
        if effort.spent or not search.solvers.sendable:
            return False, None
        answer = search.solvers.integers.with_sum(
            self._cells,
            gap.low - self._constant,
            gap.high - self._constant,
            effort.left,
            residues=None
            if gap.by == 1
            else (gap.by, [(r - self._constant) % gap.by for r in gap.residues]),
        )
        if answer.cells is None:
            return answer.final and not search.capped_for(self._place), None
        search.take(answer)
        return True, search.expand(answer.cells)

    def _grown(self, gap: _Gap, counts: IntArray) -> list[_Gap]:
        """Follow the way from a known table to a new one as far as it goes, within the gap."""
        value = int(counts[self._members].sum())
        run = self._run_through(gap, value, counts)
        self._keep(counts)
        self.runs.append(run)
        first, last, by = run.first, run.last, max(run.by, 1)
        self._known.append((first, last, by))
        above = gap.part(last + 1, gap.high)
        # Beside a gap of some residues the next value may be known already.
        plain = by == 1 and gap.by == 1
        outside = [gap.part(gap.low, first - 1), replace(above, next_first=plain)]
        if by == 1 or first == last:
            return outside
        inside = _Gap(first, last, by, frozenset(range(by))) if gap.by == 1 else gap
        return [*outside, inside.part(first, last, value % by)]

    def _run_through(self, gap: _Gap, value: int, counts: IntArray) -> Run:
        """The longest useful run through a new table: of step 1, or of the gap's own step."""
        best = Run(value, 1, 0, counts, None)
        if gap.by == 1 and self._search.walker.possible:
            longest = self._search.walker.longest_run(counts, self._place)
            if longest is not None:
                best = Run(value, 1, min(longest[1], gap.high - value), counts, longest[0])
        if self._search.full.lists:
            return best
        for start, table in self._tables.items():
            if start == value:
                continue
            way = counts - table
            shared = math.gcd(*way[way != 0].tolist()) * (1 if value > start else -1)
            way, by = way // shared, (value - start) // shared
            if by > MOST_RESIDUES or (gap.by > 1 and by not in (1, gap.by)):
                continue
            up = min(self._search.full.room(counts, way), (gap.high - value) // by)
            down = min(self._search.full.room(counts, -way), (value - gap.low) // by)
            if gap.by > 1 and by == 1 and up + down:
                continue  # a run of step 1 would meet values that are known already
            if up + down == 0 or (best.steps and (by, -(up + down)) >= (best.by, -best.steps)):
                continue
            best = Run(value - down * by, by, up + down, counts - down * way, way)
        return best

    def values(self) -> ValueSet:
        """The set found, neighbouring runs as one, and what is not settled."""
        runs = ValueSet.from_intervals((first, last) for first, last, by in self._known if by == 1)
        steps = [progression for progression in self._known if progression[2] > 1]
        return ValueSet([*runs.progressions, *steps], unknown=self._unknown)
