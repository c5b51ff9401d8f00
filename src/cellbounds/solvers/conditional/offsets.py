"""Sets of row sums as bits above their smallest member, with an eventual period.

The members are ``start + o`` for the offsets o. Offsets below `size` are the bits of `bits`
(offset 0 is always a member); from `size` on every multiple of `step` is one, up to `last`
if that is given. Step 0: nothing from `size` on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from cellbounds.runtime.arrays import BoolArray, IntArray

__all__ = ["OffsetSet", "bits_of", "positions", "run_ends", "runs_in", "runs_of"]


def bits_of(mask: BoolArray) -> int:
    """A boolean array as the bits of one integer, the first entry lowest."""
    return int.from_bytes(np.packbits(mask, bitorder="little").tobytes(), "little")


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
        cls, start: int, bits: int, size: int, step: int, last: int | None = None
    ) -> OffsetSet:
        """Build from bits above `start`, moving the start to the first member and trimming.

        `start` and all members must be multiples of the step if that is not zero.
        """
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

    def first_in_tail(self) -> int:
        """The first offset of the periodic part."""
        return _first_multiple(self.size, self.step)

    def __contains__(self, offset: object) -> bool:
        if not isinstance(offset, int) or offset < 0:
            return False
        if offset < self.size:
            return bool(self.bits >> offset & 1)
        if self.step == 0 or (self.last is not None and offset > self.last):
            return False
        return offset % self.step == 0

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
        found = _first_multiple(max(offset, self.size), self.step)
        return found if self.last is None or found <= self.last else None


def _first_multiple(bound: int, step: int) -> int:
    return -(-bound // step) * step if step else bound
