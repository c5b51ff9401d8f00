"""Feasible row sums of one row: bits near both ends, a progression between, made on demand."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from cellbounds.errors import TooMuchWork
from cellbounds.model.rates.offset_sets import positions, run_ends, runs_of
from cellbounds.results.values import Progression, ValueSet
from cellbounds.runtime.arrays import SAFE, IntArray

__all__ = ["Segment", "SumSet"]

Segment = tuple[int, int] | Progression
"""Bits above a base, or first, last (None: without end) and step of a progression."""


class SumSet:
    """A set of row sums as segments; sets with few hundred members or many millions alike.

    The segments follow each other in increasing order unless `mixed`.
    """

    def __init__(self, segments: Sequence[Segment], *, mixed: bool = False) -> None:
        self._segments = [one for one in segments if len(one) == 3 or one[1]]
        self.mixed = mixed

    def __bool__(self) -> bool:
        return bool(self._segments)

    @property
    def unbounded(self) -> bool:
        """Whether there is no largest sum."""
        return any(len(one) == 3 and one[1] is None for one in self._segments)

    @cached_property
    def values(self) -> ValueSet:
        """The same as a set of values."""
        runs: list[Progression] = []
        for one in self._segments:
            if len(one) == 3:
                pieces: list[Progression] = [one]
            else:
                base = one[0]
                pieces = [(base + a, base + a + n - 1, 1) for a, n in runs_of(one[1])]
            for first, last, step in pieces:
                previous = runs[-1] if runs else None
                if previous and step == previous[2] == 1 and previous[1] == first - 1:
                    runs[-1] = (previous[0], last, 1)
                else:
                    runs.append((first, last, step))
        return ValueSet(runs)

    def runs(self) -> tuple[IntArray, IntArray, list[Progression]]:
        """First and last of each run of bits, and the progressions; neighbours are joined.

        The arrays are of Python integers where int64 would not do.
        """
        progressions = [one for one in self._segments if len(one) == 3]
        bits = [run_ends(_members(*one)) for one in self._segments if len(one) == 2]
        if not bits:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), progressions
        firsts, lasts = (np.concatenate(ends) for ends in zip(*bits, strict=True))
        for place, (first, last, step) in enumerate(progressions):
            if step != 1:
                continue
            before = np.asarray(lasts == first - 1, dtype=bool)
            after = np.zeros_like(before)
            if last is not None:
                after = np.asarray(firsts == last + 1, dtype=bool)
            if before.any() or after.any():
                first = int(firsts[before][0]) if before.any() else first
                last = int(lasts[after][0]) if after.any() else last
                progressions[place] = (first, last, 1)
                apart = ~(before | after)
                firsts, lasts = firsts[apart], lasts[apart]
        return firsts, lasts, progressions

    def head(self, count: int) -> list[int]:
        """The smallest members, at most so many."""
        members = self.values if self.mixed else self._upwards()
        return list(itertools.islice(members, count))

    def tail(self, count: int) -> list[int]:
        """The largest members in decreasing order, at most so many."""
        members = reversed(self.values) if self.mixed else self._downwards()
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
        for one in self._segments:
            if len(one) == 2:
                members += SumSet([one])._upwards()
                continue
            first, last, step = one
            if last is None:
                members += range(first, first + count * step, step)
            elif (last - first) // step <= 2 * count:
                members += range(first, last + 1, step)
            else:
                members += range(first, first + count * step, step)
                members += range(last - (count - 1) * step, last + 1, step)
        return members

    def _upwards(self) -> Iterator[int]:
        for one in self._segments:
            if len(one) == 3:
                first, last, step = one
                yield from (
                    itertools.count(first, step) if last is None else range(first, last + 1, step)
                )
            else:
                base, bits = one
                while bits:
                    lowest = bits & -bits
                    yield base + lowest.bit_length() - 1
                    bits ^= lowest

    def _downwards(self) -> Iterator[int]:
        for one in reversed(self._segments):
            if len(one) == 3:
                first, last, step = one
                assert last is not None
                yield from range(first + (last - first) // step * step, first - 1, -step)
            else:
                base, bits = one
                while bits:
                    top = bits.bit_length() - 1
                    yield base + top
                    bits ^= 1 << top


def _members(base: int, bits: int) -> IntArray:
    """The sums that bits above a base stand for."""
    places = positions(bits)
    return (places if base + bits.bit_length() < SAFE else places.astype(object)) + base
