"""Sets of row sums: bits above the smallest member with an eventual period, and their sums.

The members of one set are ``start + o`` for the offsets o. Offsets below `size` are the bits of
`bits` (offset 0 is always a member); from `size` on every multiple of `step` is one, up to `last`
if that is given. Step 0: nothing from `size` on.

The sums that several rows can make are held in one of three ways, with one interface. `Window`
keeps bits below a width beyond which nothing is asked; `Residues` keeps the smallest sum in each
residue class of a step (for exact rates, whatever N); `ListedSums` keeps the sums themselves (for
few large steps). Each starts from the empty sum, adds rows, and answers membership.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from cellbounds.errors import TooMuchWork
from cellbounds.runtime.arrays import BoolArray, IntArray


def positions(bits: int) -> IntArray:
    """The places of the bits that are set, in increasing order."""
    raw = np.frombuffer(bits.to_bytes((bits.bit_length() + 7) // 8, "little"), dtype=np.uint8)
    return np.flatnonzero(np.unpackbits(raw, bitorder="little"))


def run_ends(values: IntArray) -> tuple[IntArray, IntArray]:
    """First and last of each run of consecutive numbers, from numbers in increasing order."""
    breaks = np.flatnonzero(values[1:] - values[:-1] != 1)
    firsts = np.concatenate((values[:1], values[breaks + 1]))
    return firsts, np.concatenate((values[breaks], values[-1:]))


def runs_in(values: IntArray) -> list[tuple[int, int]]:
    """The same as pairs (first, last)."""
    firsts, lasts = run_ends(values)
    return list(zip(firsts.tolist(), lasts.tolist(), strict=True))


def runs_of(bits: int) -> Iterator[tuple[int, int]]:
    """Runs of set bits as (first, length), in increasing order, lazily."""
    text = bin(bits)[:1:-1]
    end = 0
    while (first := text.find("1", end)) >= 0:
        end = text.find("0", first)
        if end < 0:
            end = len(text)
        yield first, end - first


@dataclass(frozen=True)
class OffsetSet:
    """One set of admissible row sums; see the module's text."""

    start: int
    bits: int
    size: int
    step: int
    last: int | None = None

    @classmethod
    def make(
        cls, start: int, bits: int, size: int, step: int, last: int | None = None, *, apart: int = 1
    ) -> OffsetSet:
        """Build from bits above `start`, moving the start to the first member and trimming.

        `start` and all members must be multiples of the step if that is not zero. If the offsets
        that bits stand for are `apart` from each other, so many times as large are they.
        """
        size *= apart
        if apart > 1 and bits > 1:
            bits = int(("0" * (apart - 1)).join(f"{bits:b}"), 2)
        shift = (bits & -bits).bit_length() - 1 if bits else _first_multiple(size, step)
        start, bits, size = start + shift, bits >> shift, max(size - shift, 0)
        if last is not None:
            last -= shift
        bits |= 1
        size = max(size, 1)
        if step == 0:
            # A run that ends the set is kept as such: long runs need no bits.
            top = bits.bit_length()
            run = top - (((1 << top) - 1) & ~bits).bit_length()
            if run > 1:
                bits, size, step, last = bits & ((1 << (top - run)) - 1), top - run, 1, top - 1
        if step == 1:
            # The saturated part may begin earlier than was known.
            size = (((1 << size) - 1) & ~bits).bit_length()
            bits &= (1 << size) - 1
        return cls(start, bits, size, step, last)

    @property
    def saturated(self) -> bool:
        """Whether every large number is a member."""
        return self.step == 1 and self.last is None

    @property
    def pure(self) -> bool:
        """Whether the offsets are just the multiples of the step."""
        return self.step > 0 and self.last is None and self.bits <= 1 and self.size <= self.step

    @property
    def largest_gap(self) -> int:
        """No two neighbouring offsets are further apart than this."""
        if self.step == 0:
            return self.bits.bit_length() - 1
        return max(self.size, self.step)

    @property
    def largest(self) -> int | None:
        """The largest offset, None if there is none."""
        if self.step == 0:
            return self.bits.bit_length() - 1
        if self.last is None:
            return None
        tail = self.last // self.step * self.step
        return tail if tail >= self.size else max(self.bits.bit_length() - 1, 0)

    @cached_property
    def runs(self) -> list[tuple[int, int]]:
        """Runs of the finite part as (first offset, length)."""
        return list(runs_of(self.bits))

    def within(self, most: int) -> OffsetSet:
        """The same as far as offsets up to `most` go: an end that is not reached is no end."""
        return replace(self, last=None) if self.last is not None and self.last >= most else self

    def tail(self, least: int, most: int) -> range:
        """The offsets of the periodic part from `least` to `most`."""
        if not self.step:
            return range(0)
        first = max(least, self.size)
        first += -first % self.step
        return range(first, (most if self.last is None else min(most, self.last)) + 1, self.step)

    def members(self, offsets: IntArray) -> BoolArray:
        """Which of many offsets (none negative) are members."""
        if self.step:
            inside = offsets % self.step == 0
            if self.last is not None:
                inside &= offsets <= self.last
        else:
            inside = np.zeros(len(offsets), dtype=bool)
        early = np.flatnonzero(offsets < self.size)
        if len(early):
            table = np.zeros(self.size, dtype=bool)
            table[positions(self.bits)] = True
            inside[early] = table[offsets[early].astype(np.int64)]
        return np.asarray(inside, dtype=bool)

    def next_member(self, offset: int) -> int | None:
        """The smallest offset that is a member and not below `offset`."""
        if offset < self.size:
            above = self.bits >> offset
            if above:
                return offset + (above & -above).bit_length() - 1
        if self.step == 0:
            return None
        multiple = _first_multiple(max(offset, self.size), self.step)
        return multiple if self.last is None or multiple <= self.last else None


def _first_multiple(bound: int, step: int) -> int:
    return -(-bound // step) * step if step else bound


SPARSE_LIMIT = 1 << 22
"""Sums that `ListedSums` keeps at most."""


def leave_one_out(
    algebra: SumAlgebra, rows: Sequence[OffsetSet], copies: Sequence[int]
) -> list[Any]:
    """For each row, the sums of all rows but one copy of it.

    Document 004's divide and conquer: rows outside a half are added before descending into it,
    so that only about log2 of the number of rows sets exist at any time. Rows that fill their
    window soonest come first, and both halves have some: once a set is full, nothing is left to do.
    """
    results: list[Any] = [None] * len(rows)
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
            sums = held
            for place in outer:
                sums = algebra.plus(sums, rows[place], copies[place])
                if algebra.full(sums):
                    break
            else:
                pending.append((inner, sums))
                continue
            for place in inner:
                results[place] = sums
    return results


def sum_of_all(algebra: SumAlgebra, rows: Sequence[OffsetSet], copies: Sequence[int]) -> Any:
    """The sums of all rows."""
    held = algebra.nothing()
    for row, times in zip(rows, copies, strict=True):
        held = algebra.plus(held, row, times)
    return held


Bits = tuple[int, int]
"""Bits below a limit; from the limit up to the window's width every bit is set."""


@dataclass(frozen=True, slots=True)
class Window:
    """Sums below a width, as bits.

    Sums from the width on are never asked for, or are known to exist all.
    """

    width: int

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
            # One copy makes all multiples.
            multiples = spread(held[0], -(-held[1] // row.step), row.step, held[1])
            return self._trimmed(multiples, held[1])
        if row.step > 1:
            for _ in range(copies):
                held = self._plus_periodic(held, row)
            return held
        # What is held is full from its limit on: no more bits of the copies matter.
        bits, limit = row.bits, held[1]
        if row.step == 1 and (row.last is None or row.last >= limit - 1):
            limit = min(row.size, limit)
        elif row.step == 1 and row.last is not None:
            bits |= (1 << (row.last + 1)) - (1 << row.size)
        power = bits, limit
        while True:
            if copies & 1:
                held = self._sum(held, power)
            copies >>= 1
            if not copies or held[1] == 0:
                return held
            power = self._sum(power, (power[0], min(power[1], held[1])))

    def plus_bits(self, held: Bits, bits: int) -> Bits:
        """Add a finite set given as bits, the lowest one set."""
        return self._sum(held, (bits, held[1]))

    @staticmethod
    def _trimmed(bits: int, limit: int) -> Bits:
        limit = (((1 << limit) - 1) & ~bits).bit_length()
        return bits & ((1 << limit) - 1), limit

    def _sum(self, left: Bits, right: Bits) -> Bits:
        # Both hold 0, so the sum is full from the smaller limit on: bits beyond do not matter.
        limit = min(left[1], right[1])
        mask = (1 << limit) - 1
        fewer, others = left[0] & mask, right[0] & mask
        if (fewer & ~(fewer << 1)).bit_count() > (others & ~(others << 1)).bit_count():  # runs
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

    def _plus_periodic(self, held: Bits, row: OffsetSet) -> Bits:
        # The row holds 0, so sums from the limit on are all held, before and after.
        bits, limit = held
        finite, fewer = self.plus_bits(held, row.bits)
        tail = row.tail(0, limit - 1)
        if tail:
            finite |= spread(bits, len(tail), row.step, limit) << tail.start
        return self._trimmed((finite | -1 << fewer) & ((1 << limit) - 1), limit)


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
        for _ in range(min(copies, 1) if row.pure else copies):  # one copy makes all multiples
            sums = held
            for first, length in row.runs:
                for offset in range(first, first + length):
                    if offset and offset <= self._slack:
                        sums = np.minimum(sums, self._shifted(held, offset))
            tail = row.tail(0, self._slack)
            if tail:
                shifted = self._shifted(held, tail.start)
                count = (tail[-1] - tail.start) // row.step + 1  # too many for len(), perhaps
                sums = np.minimum(sums, self._plus_steps(shifted, row.step, count))
            held = sums
        return held

    def _shifted(self, held: IntArray, offset: int) -> IntArray:
        moved = np.roll(held, offset % self.modulus) + offset
        return np.asarray(np.minimum(moved, self._never))

    def _plus_steps(self, held: IntArray, step: int, count: int) -> IntArray:
        """Add less than `count` steps, by doubling; a whole round of the residues is enough."""
        count, done = min(count, self.modulus // math.gcd(self.modulus, step)), 1
        while done < count:
            more = min(done, count - done)
            held = np.minimum(held, self._shifted(held, more * step))
            done += more
        return held


class ListedSums:
    """The sums themselves, none above the slack, and no more than `most`."""

    def __init__(self, slack: int, most: int = SPARSE_LIMIT) -> None:
        self._slack, self._most = slack, most

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
                    if len(made) > self._most:
                        break
                if len(made) > self._most:
                    raise TooMuchWork(
                        f"more than {self._most} combinations of row sums fit N; publish "
                        "fewer decimals, or ask for kind='linear' bounds"
                    )
            if made == held:
                break
            held = frozenset(made)
        return held


SumAlgebra = Any
"""A window, residues or listed sums; what each of them holds is its own affair."""
