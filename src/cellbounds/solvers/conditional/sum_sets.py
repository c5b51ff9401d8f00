"""Feasible row sums of one row: bits near both ends, a progression between, made on demand."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from cellbounds.errors import TooMuchWork
from cellbounds.model.rates.offset_sets import positions, run_ends, runs_of
from cellbounds.results.values import Progression, ValueSet
from cellbounds.runtime.arrays import SAFE, IntArray, whole_array

Segment = tuple[int, int] | Progression
"""Bits above a base, or first, last (None: without end) and step of a progression."""


class SumSet:
    """A set of row sums as segments; sets with few hundred members or many millions alike.

    The segments follow each other in increasing order unless `mixed`.
    """

    def __init__(self, segments: Sequence[Segment], *, mixed: bool = False) -> None:
        self._segments: list[Any] = [
            segment for segment in segments if len(segment) == 3 or segment[1]
        ]
        self.mixed = mixed

    def __bool__(self) -> bool:
        return bool(self._segments)

    @property
    def unbounded(self) -> bool:
        """Whether there is no largest sum."""
        return any(segment[1] is None for segment in self._segments)

    @cached_property
    def values(self) -> ValueSet:
        """The same as a set of values."""
        joined: list[Progression] = []
        for segment in self._segments:
            pieces = [segment]
            if len(segment) == 2:
                base, bits = segment
                pieces = [(base + a, base + a + n - 1, 1) for a, n in runs_of(bits)]
            for first, last, step in pieces:
                if joined and step == joined[-1][2] == 1 and joined[-1][1] == first - 1:
                    first = joined.pop()[0]
                joined.append((first, last, step))
        return ValueSet(joined)

    @cached_property
    def runs(self) -> tuple[IntArray, IntArray, IntArray]:
        """First, last (-1: without end) and step of each progression; neighbours are joined.

        The arrays are of Python integers where int64 would not do.
        """
        if not self._segments:
            return (np.zeros(0, dtype=np.int64),) * 3
        pieces: list[tuple[IntArray, ...]] = []
        for progressions, alike in itertools.groupby(self._segments, lambda one: len(one) == 3):
            if progressions:
                ends = zip(
                    *((a, -1 if b is None else b, step) for a, b, step in alike), strict=True
                )
                pieces.append(tuple(whole_array(end, (len(end),)) for end in ends))
                continue
            for base, bits in alike:
                places = positions(bits)
                large = base + bits.bit_length() >= SAFE
                firsts, lasts = run_ends((places.astype(object) if large else places) + base)
                pieces.append((firsts, lasts, np.ones_like(firsts)))
        firsts, lasts, steps = (np.concatenate(ends) for ends in zip(*pieces, strict=True))
        edges = np.ones(len(firsts) + 1, dtype=bool)
        edges[1:-1] = (steps[1:] > 1) | (steps[:-1] > 1) | (firsts[1:] != lasts[:-1] + 1)
        return firsts[edges[:-1]], lasts[edges[1:]], steps[edges[:-1]]

    def ends(self, count: int, *, downwards: bool = False) -> list[int]:
        """The smallest members, at most so many; the largest, in decreasing order, if downwards."""
        if self.mixed:
            members = reversed(self.values) if downwards else iter(self.values)
        else:
            segments = self._segments[::-1] if downwards else self._segments
            members = itertools.chain.from_iterable(_members(one, downwards) for one in segments)
        return list(itertools.islice(members, count))

    def without_middle(self, count: int) -> list[int]:
        """All members, but only the first and last so many of each long progression."""
        if self.mixed:
            if self.values.size > 2 * count:
                raise TooMuchWork(
                    f"more than {2 * count} feasible row sums in no simple order; publish fewer "
                    "decimals or ask for kind='linear' bounds"
                )
            return list(self.values)
        members: list[int] = []
        for segment in self._segments:
            if len(segment) == 2:
                members += _members(segment)
                continue
            first, last, step = segment
            every = range(first, first + count * step if last is None else last + 1, step)
            long = (every.stop - 1 - first) // step > 2 * count
            members += [*every[:count], *every[-count:]] if long else every
        return members


def _members(segment: Segment, downwards: bool = False) -> Iterator[int]:
    """The members of a segment in order, from one end of it."""
    if len(segment) == 3:
        first, last, step = segment
        if last is None:
            yield from itertools.count(first, step)
        else:
            yield from range(first, last + 1, step)[:: -1 if downwards else 1]
        return
    base, bits = segment
    while bits:
        place = (bits if downwards else bits & -bits).bit_length() - 1
        yield base + place
        bits ^= 1 << place
