"""Three ways to hold the sums that several rows can make, one interface.

`Window` keeps bits below a width beyond which nothing is asked; `Residues` keeps the smallest sum
in each residue class of a step (for exact rates, whatever N); `Sparse` keeps the sums themselves
(for few large steps). Each starts from the empty sum, adds rows, and answers membership.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol, TypeVar

import numpy as np

from cellbounds.errors import TooMuchWork
from cellbounds.runtime.arrays import IntArray
from cellbounds.solvers.conditional.offsets import OffsetSet, runs_of

__all__ = [
    "Bits",
    "Residues",
    "SetAlgebra",
    "Sparse",
    "Window",
    "leave_one_out",
    "spread",
    "sum_of_all",
]

Held = TypeVar("Held")

SPARSE_LIMIT = 1 << 22
"""Sums that `Sparse` keeps at most."""


class SetAlgebra(Protocol[Held]):
    """Sets of sums that can take in one more row."""

    def nothing(self) -> Held:
        """The set with the empty sum alone."""
        ...

    def plus(self, held: Held, row: OffsetSet, copies: int) -> Held:
        """All sums of a member and `copies` members of the row."""
        ...

    def holds(self, held: Held, offset: int) -> bool:
        """Whether a sum can be made."""
        ...

    def full(self, held: Held) -> bool:
        """Whether no row can add anything."""
        ...


def leave_one_out(
    algebra: SetAlgebra[Held], rows: Sequence[OffsetSet], copies: Sequence[int]
) -> list[Held]:
    """For each row, the sums of all rows but one copy of it.

    Document 004's divide and conquer: rows outside a half are added before descending into it,
    so that only about log2 of the number of rows sets exist at any time. Rows that fill their
    window soonest come first, and both halves have some: once a set is full, nothing is left to do.
    """
    results: list[Held | None] = [None] * len(rows)
    order = sorted(range(len(rows)), key=lambda place: rows[place].size)
    pending = [(order, algebra.nothing())] if rows else []
    while pending:
        inside, held = pending.pop()
        if len(inside) == 1:
            place = inside[0]
            results[place] = algebra.plus(held, rows[place], copies[place] - 1)
            continue
        halves = inside[::2], inside[1::2]
        for inner, outer in (halves, halves[::-1]):
            made = held
            for place in outer:
                made = algebra.plus(made, rows[place], copies[place])
                if algebra.full(made):
                    break
            else:
                pending.append((inner, made))
                continue
            for place in inner:
                results[place] = made
    return [held for held in results if held is not None]


def sum_of_all(algebra: SetAlgebra[Held], rows: Sequence[OffsetSet], copies: Sequence[int]) -> Held:
    """The sums of all rows."""
    held = algebra.nothing()
    for row, times in zip(rows, copies, strict=True):
        held = algebra.plus(held, row, times)
    return held


Bits = tuple[int, int]
"""Bits below a limit; from the limit up to the window's width every bit is set."""


class Window:
    """Sums below a width, as bits.

    Sums from the width on are never asked for, or are known to exist all.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self._cache: dict[int, Bits] = {}

    def nothing(self) -> Bits:
        """The empty sum alone."""
        return (1, self.width) if self.width > 1 else (0, 0)

    def holds(self, held: Bits, offset: int) -> bool:
        """Whether a sum can be made; everything from the limit on counts as made."""
        return offset >= held[1] or bool(held[0] >> offset & 1)

    def full(self, held: Bits) -> bool:
        """Whether every sum below the width can be made."""
        return held[1] == 0

    def plus(self, held: Bits, row: OffsetSet, copies: int) -> Bits:
        """Add copies of a row, by doubling."""
        if held[1] == 0 or copies == 0:
            return held
        if row.step > 1 and row.pure:
            return self._plus_multiples(held, row.step)  # one copy makes all multiples
        if row.step > 1:
            for _ in range(copies):
                held = self._plus_periodic(held, row)
            return held
        power = self._window_of(row)
        while True:
            if copies & 1:
                held = self._sum(held, power)
            copies >>= 1
            if not copies or held[1] == 0:
                return held
            # What is held is full from its limit on: no more bits of the copies matter.
            power = self._sum(*(_cut(power, held[1]),) * 2)

    def plus_bits(self, held: Bits, bits: int) -> Bits:
        """Add a finite set given as bits, the lowest one set."""
        return self._sum(held, (bits & ((1 << self.width) - 1), self.width))

    def _window_of(self, row: OffsetSet) -> Bits:
        known = self._cache.get(id(row))
        if known is not None:
            return known
        bits, limit = row.bits, self.width
        if row.step == 1:
            if row.last is None or row.last >= self.width - 1:
                limit = min(row.size, self.width)
            else:
                bits |= (1 << (row.last + 1)) - (1 << row.size)
        made = self._trimmed(bits & ((1 << limit) - 1), limit)
        self._cache[id(row)] = made
        return made

    @staticmethod
    def _trimmed(bits: int, limit: int) -> Bits:
        limit = (((1 << limit) - 1) & ~bits).bit_length()
        return bits & ((1 << limit) - 1), limit

    def _sum(self, left: Bits, right: Bits) -> Bits:
        # Both hold 0, so the sum is full from the smaller limit on: bits beyond do not matter.
        limit = min(left[1], right[1])
        mask = (1 << limit) - 1
        fewer, others = left[0] & mask, right[0] & mask
        if _run_count(fewer) > _run_count(others):
            fewer, others = others, fewer
        # Small members come first; as gaps fill, the limit falls and later members drop out.
        made, since = 0, 0
        for first, length in runs_of(fewer):
            if first >= limit:
                break
            piece = others if length == 1 else spread(others, length, 1, limit)
            made |= piece << first
            since += 1
            if since >= 8:
                made, limit = self._trimmed(made & mask, limit)
                mask = (1 << limit) - 1
                since = 0
        return self._trimmed(made & mask, limit)

    def _plus_multiples(self, held: Bits, step: int) -> Bits:
        bits, limit = held
        count = -(-limit // step)
        return self._trimmed(spread(bits, count, step, limit) & ((1 << limit) - 1), limit)

    def _plus_periodic(self, held: Bits, row: OffsetSet) -> Bits:
        finite = self._sum(held, (row.bits & ((1 << self.width) - 1), self.width))
        begin = row.first_in_tail()
        end = self.width - 1 if row.last is None else min(row.last, self.width - 1)
        if begin > end:
            return finite
        count = (end - begin) // row.step + 1
        bits = held[0] | ((1 << self.width) - (1 << held[1]))
        tail = spread(bits, count, row.step, self.width) << begin & ((1 << self.width) - 1)
        both = tail | finite[0] | ((1 << self.width) - (1 << finite[1]))
        return self._trimmed(both, self.width)


def _cut(held: Bits, limit: int) -> Bits:
    return held if held[1] <= limit else (held[0] & ((1 << limit) - 1), limit)


def _run_count(bits: int) -> int:
    return (bits & ~(bits << 1)).bit_count()


def spread(bits: int, count: int, step: int, width: int) -> int:
    """The union of shifts by 0, step, ..., (count-1) step, by doubling."""
    done = 1
    while done < count:
        more = min(done, count - done)
        if more * step >= width:
            break
        bits |= bits << (more * step)
        bits &= (1 << width) - 1
        done += more
    return bits


class Residues:
    """Sums of rows and of any number of `modulus`, by the smallest sum in each residue class."""

    def __init__(self, modulus: int, slack: int) -> None:
        self.modulus, self._slack = modulus, slack
        # Sums beyond the slack are never asked for, so they may all be the same "never".
        self._never = slack + 1
        self._dtype = np.int64 if slack < 2**60 and modulus < 2**40 else object

    def nothing(self) -> IntArray:
        """The empty sum and multiples of the modulus."""
        held = np.full(self.modulus, self._never, dtype=self._dtype)
        held[0] = 0
        return held

    def holds(self, held: IntArray, offset: int) -> bool:
        """Whether a sum can be made."""
        return bool(held[offset % self.modulus] <= offset)

    def full(self, held: IntArray) -> bool:
        """Whether every class begins with its residue: no sum can be smaller."""
        return int(held.max()) < self.modulus

    def plus(self, held: IntArray, row: OffsetSet, copies: int) -> IntArray:
        """Add copies of a row."""
        if row.pure:
            return self._plus_multiples(held, row.step) if copies else held
        for _ in range(copies):
            held = self._plus_once(held, row)
        return held

    def _plus_once(self, held: IntArray, row: OffsetSet) -> IntArray:
        made = held
        for first, length in row.runs:
            for offset in range(first, first + length):
                if offset and offset <= self._slack:
                    made = np.minimum(made, self._shifted(held, offset))
        if row.step:
            begin = row.first_in_tail()
            end = self._slack if row.last is None else min(row.last, self._slack)
            if begin <= end:
                tail = self._shifted(held, begin)
                if row.last is None:
                    tail = self._plus_multiples(tail, row.step)
                else:
                    tail = self._plus_few(tail, row.step, (end - begin) // row.step + 1)
                made = np.minimum(made, tail)
        return made

    def _shifted(self, held: IntArray, offset: int) -> IntArray:
        moved = np.roll(held, offset % self.modulus) + offset
        return np.asarray(np.minimum(moved, self._never))

    def _plus_multiples(self, held: IntArray, step: int) -> IntArray:
        shift, needed = 1, self.modulus // math.gcd(self.modulus, step)
        while shift < needed and shift * step <= self._slack:
            held = np.minimum(held, self._shifted(held, shift * step))
            shift *= 2
        return held

    def _plus_few(self, held: IntArray, step: int, count: int) -> IntArray:
        done = 1
        while done < count:
            more = min(done, count - done)
            held = np.minimum(held, self._shifted(held, more * step))
            done += more
        return held


class Sparse:
    """The sums themselves, none above the slack."""

    def __init__(self, slack: int) -> None:
        self._slack = slack

    def nothing(self) -> frozenset[int]:
        """The empty sum alone."""
        return frozenset({0})

    def holds(self, held: frozenset[int], offset: int) -> bool:
        """Whether a sum can be made."""
        return offset in held

    def full(self, held: frozenset[int]) -> bool:
        """Whether every sum up to the slack can be made."""
        return len(held) > self._slack

    def plus(self, held: frozenset[int], row: OffsetSet, copies: int) -> frozenset[int]:
        """Add copies of a row, one after the other."""
        for _ in range(copies):
            made: set[int] = set()
            for base in held:
                offset: int | None = 0
                while offset is not None and base + offset <= self._slack:
                    made.add(base + offset)
                    offset = row.next_member(offset + 1)
                    if len(made) > SPARSE_LIMIT:
                        break
                if len(made) > SPARSE_LIMIT:
                    raise TooMuchWork(
                        f"more than {SPARSE_LIMIT} combinations of row sums fit N; publish "
                        "fewer decimals, or ask for kind='linear' bounds"
                    )
            if made == held:
                break
            held = frozenset(made)
        return held
