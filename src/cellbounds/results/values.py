"""Sets of attainable counts, gaps included."""

from __future__ import annotations

import functools
import heapq
import itertools
import math
import operator
from collections.abc import Iterable, Iterator
from enum import Enum
from numbers import Integral
from typing import Any, Final

import numpy as np

from cellbounds.errors import InvalidInput, Unsettled


@functools.total_ordering
class Unbounded(Enum):
    """The upper bound of a count that nothing limits; larger than every number."""

    UNBOUNDED = "unbounded"

    def __lt__(self, other: object) -> bool:
        return False

    def __repr__(self) -> str:
        return "UNBOUNDED"

    __str__ = __repr__


UNBOUNDED: Final = Unbounded.UNBOUNDED

Progression = tuple[int, int | None, int]
"""First, last (None: without end) and step of an arithmetic progression."""

DENSE, BLOCKS = 64, (1 << 10, 1 << 20)
"""Steps up to which members are marked in blocks of numbers, and the sizes of the first and of the
largest blocks."""


class ValueSet:
    """A set of whole numbers: runs of consecutive numbers and arithmetic progressions.

    Iterates in increasing order; supports ``in`` and, when finite, ``len()``. Two sets are equal
    if they hold the same numbers; a set also compares equal to a Python set.

    Examples
    --------
    >>> values = ValueSet.from_values([3, 4, 5, 9])
    >>> values
    ValueSet(3-5, 9)
    >>> len(values), 4 in values, 6 in values
    (4, True, False)
    >>> list(values.runs)
    [(3, 5), (9, 9)]
    """

    __slots__ = ("progressions", "settled", "unknown")

    def __init__(
        self, progressions: Iterable[Progression], *, unknown: Iterable[Progression] = ()
    ) -> None:
        """Take disjoint progressions; runs of consecutive numbers have step 1.

        `unknown` are numbers of which it is not settled whether they belong: what needs them
        (``in``, ``len()``, iteration, equality) raises Unsettled. Without any, it is `settled`.
        """
        self.progressions: tuple[Progression, ...] = _anchored(progressions)
        self.unknown: tuple[Progression, ...] = _anchored(unknown)
        self.settled = not self.unknown

    @classmethod
    def from_values(cls, values: Iterable[int]) -> ValueSet:
        """Collect numbers into runs."""
        return cls.from_intervals((value, value) for value in values)

    @classmethod
    def from_intervals(cls, intervals: Iterable[tuple[int, int | None]]) -> ValueSet:
        """Unite intervals; those that touch become one run."""
        runs: list[list[Any]] = []
        for first, last in sorted(intervals, key=_first):
            if runs and (runs[-1][1] is None or first <= runs[-1][1] + 1):
                if runs[-1][1] is not None and (last is None or last > runs[-1][1]):
                    runs[-1][1] = last
            else:
                runs.append([first, last])
        return cls((first, last, 1) for first, last in runs)

    @property
    def known(self) -> ValueSet:
        """The numbers that are known to belong."""
        return ValueSet(self.progressions) if self.unknown else self

    @property
    def possible(self) -> ValueSet:
        """The numbers that belong or may belong."""
        return ValueSet([*self.progressions, *self.unknown]) if self.unknown else self

    def between(self, least: int, most: int | None) -> ValueSet:
        """The members known to belong from `least` to `most` (None: without end)."""
        inside: list[Progression] = []
        for first, last, step in self.progressions:
            begin = first if first >= least else first + -(-(least - first) // step) * step
            end = last if most is None else most if last is None else min(last, most)
            if end is None or begin <= end:
                inside.append((begin, end, step))
        return ValueSet(inside)

    @property
    def smallest(self) -> int:
        """The smallest member."""
        if self.unknown and (not self.progressions or self.unknown[0][0] < self.progressions[0][0]):
            raise _unsettled()
        return self.progressions[0][0]

    @property
    def largest(self) -> int | Unbounded:
        """The largest member, or UNBOUNDED."""
        lasts = [UNBOUNDED if last is None else last for _, last, _ in self.progressions]
        largest = max(lasts, default=-1)
        if any(last is None or last > largest for _, last, _ in self.unknown) and (
            largest is not UNBOUNDED
        ):
            raise _unsettled()
        return largest

    @property
    def _endless(self) -> bool:
        return any(last is None for _, last, _ in self.progressions)

    @property
    def unbounded(self) -> bool:
        """Whether the set has no largest member."""
        if self._endless:
            return True
        if any(last is None for _, last, _ in self.unknown):
            raise _unsettled()
        return False

    @property
    def size(self) -> int | Unbounded:
        """How many members, of any magnitude."""
        if self.unknown:
            raise _unsettled()
        size = 0
        for first, last, step in self.progressions:
            if last is None:
                return UNBOUNDED
            size += (last - first) // step + 1
        return size

    @property
    def runs(self) -> Iterator[tuple[int, int | None]]:
        """Maximal runs of consecutive members in increasing order, lazily; last None: endless."""
        first: int | None = None
        previous = -1
        for start, end in self._pieces():
            if first is None:
                first, previous = start, start
            elif start > previous + 1:
                yield first, previous
                first = start
            if end is None:
                yield first, None
                return
            previous = max(previous, end) if start <= previous + 1 else end
        if first is not None:
            yield first, previous

    def _pieces(self) -> Iterator[tuple[int, int | None]]:
        """Runs and single members in increasing order of their first."""
        if all(step == 1 or first == last for first, last, step in self.progressions):
            return ((first, last) for first, last, _ in self.progressions)

        def spread(progression: Progression) -> Iterator[tuple[int, int | None]]:
            first, last, step = progression
            if step == 1:
                yield first, last
                return
            ends = itertools.count(first, step) if last is None else range(first, last + 1, step)
            for value in ends:
                yield value, value

        several = len(self.progressions) > 1 and not self._endless
        if several and any(step <= DENSE for _, _, step in self.progressions):
            return self._marked()
        return heapq.merge(*map(spread, self.progressions), key=_first)

    def _marked(self) -> Iterator[tuple[int, int]]:
        """The same block by block, all members marked: dense ones need not be put in order."""
        begin, width = self.progressions[0][0], BLOCKS[0]
        while True:
            rest = [
                (max(first, begin + (first - begin) % step), last, step)
                for first, last, step in self.progressions
                if last is not None and begin <= last
            ]
            if not rest:
                return
            begin = min(map(_first, rest))
            member = np.zeros(width + 2, dtype=np.int8)  # with a gap at either end
            for start, last, step in rest:
                member[start - begin + 1 : min(last - begin, width - 1) + 2 : step] = 1
            edges = [begin + edge for edge in np.flatnonzero(np.diff(member)).tolist()]
            yield from zip(edges[::2], (edge - 1 for edge in edges[1::2]), strict=True)
            begin, width = begin + width, min(2 * width, BLOCKS[1])

    def __iter__(self) -> Iterator[int]:
        if self.unknown:
            raise _unsettled()
        for first, last in self.runs:
            yield from itertools.count(first) if last is None else range(first, last + 1)

    def __reversed__(self) -> Iterator[int]:
        if self.unknown:
            raise _unsettled()
        if self.unbounded:
            raise InvalidInput("the set has no largest member; iterate upwards")
        down = [
            range(last, first - 1, -step)
            for first, last, step in self.progressions
            if last is not None
        ]
        return heapq.merge(*down, reverse=True)

    def __contains__(self, value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, Integral):
            return False
        value = int(value)
        if _among(self.progressions, value):
            return True
        if _among(self.unknown, value):
            raise _unsettled()
        return False

    def __len__(self) -> int:
        size = self.size
        if isinstance(size, Unbounded):
            raise InvalidInput("the set has no end, so it has no length; see .unbounded and .runs")
        return size

    def __bool__(self) -> bool:
        if not self.progressions and self.unknown:
            raise _unsettled()
        return bool(self.progressions)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, set | frozenset):
            return self.size == len(other) and all(value in self for value in other)
        if not isinstance(other, ValueSet):
            return NotImplemented
        if self.unknown or other.unknown:
            raise _unsettled()
        if self.progressions == other.progressions:
            return True
        if self.size != other.size:
            return False
        # Beyond all ends and one common period of what has no end, nothing new comes.
        both = (*self.progressions, *other.progressions)
        period = math.lcm(*(step for _, last, step in both if last is None))
        border = max(first if last is None else last for first, last, _ in both)
        mine, theirs = (own._runs_up_to(border + period) for own in (self, other))
        return all(own == other_run for own, other_run in itertools.zip_longest(mine, theirs))

    def _runs_up_to(self, border: int) -> Iterator[tuple[int, int]]:
        for first, last in itertools.takewhile(lambda run: run[0] <= border, self.runs):
            yield first, border if last is None else min(last, border)

    # Equal to plain sets, which have no hash; types have no way to take one away.
    __hash__ = None  # type: ignore[assignment]  # Python's own way to say: no hash

    def text(self, most: int = 12) -> str:
        """The members as text, at most so many runs of them."""
        shown = [
            str(first) if first == last else f"{first}-{'' if last is None else last}"
            for first, last in itertools.islice(self.runs, most + 1)
        ]
        text = ", ".join(shown[:most]) + (", ..." if len(shown) > most else "")
        if not self.unknown:
            return text
        perhaps = ValueSet(self.unknown).text(most)
        return f"{text}; perhaps {perhaps}" if text else f"perhaps {perhaps}"

    def to_list(self) -> list[list[int | None]]:
        """Progressions as ``[first, last, step]``; last None: without end."""
        return [[first, last, step] for first, last, step in self.progressions]

    def __repr__(self) -> str:
        return f"ValueSet({self.text()})"


def _unsettled() -> Unsettled:
    return Unsettled(
        "not every value could be settled (the budget was spent, or nothing limits cells that this "
        "one has to do with); see .known, .possible and .unknown"
    )


def _anchored(progressions: Iterable[Progression]) -> tuple[Progression, ...]:
    """Progressions in order, each ending in its last member."""
    exact = [
        (first, last if last is None or step == 1 else last - (last - first) % step, step)
        for first, last, step in progressions
    ]
    exact.sort(key=_first)
    return tuple(exact)


def _among(progressions: tuple[Progression, ...], value: int) -> bool:
    return any(
        first <= value and (last is None or value <= last) and (value - first) % step == 0
        for first, last, step in progressions
    )


_first = operator.itemgetter(0)


@functools.lru_cache(maxsize=10_000)
def open_between(low: int, high: int | None, inside: frozenset[int]) -> ValueSet:
    """A set of which some members are known and the others between two ends are open."""
    edges = [low - 1, *sorted(inside)]
    gaps: list[tuple[int, int | None]] = [(a + 1, b - 1) for a, b in itertools.pairwise(edges)]
    gaps.append((edges[-1] + 1, high))
    unknown = [(first, last, 1) for first, last in gaps if last is None or first <= last]
    return ValueSet([(member, member, 1) for member in inside], unknown=unknown)
