"""Sets of sums as arithmetic progressions, and which totals some of them can reach together.

A set is only ever made larger: beyond the window every sum counts as reachable. So what is not
reachable here is not reachable at all.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence

import numpy as np

from cellbounds.certificates.verifying.plain import SAFE, IntArray, packed

__all__ = [
    "WORK",
    "Progression",
    "covers",
    "inside",
    "leaving_one_out",
    "numbers_of",
    "progressions",
    "some_between",
]

WORK = 1 << 24
"""Numbers that are tried at most, and bits of a set of sums."""

Progression = tuple[int, int | None, int]
"""First, last (None: no end) and step of some whole numbers."""


def progressions(
    flags: IntArray, first: int, step: int, *, endless: bool
) -> tuple[Progression, ...]:
    """The numbers ``first + k * step`` with a flag at k, and all later ones if `endless`."""
    padded = np.concatenate([[False], flags, [endless]]).astype(np.int8)
    edges = np.flatnonzero(np.diff(padded))
    starts, ends = edges[::2].tolist(), edges[1::2].tolist()
    made: list[Progression] = []
    for place, start in enumerate(starts):
        last = None
        if place < len(ends):
            last = first + (ends[place] - 1) * step
        made.append((first + start * step, last, step))
    return tuple(made)


def inside(numbers: IntArray, parts: Sequence[Progression]) -> IntArray:
    """Which of some numbers are in one of the progressions, which ascend and do not overlap."""
    if not parts or not len(numbers):
        return np.zeros(len(numbers), dtype=bool)
    firsts = packed([first for first, _, _ in parts])
    lasts = packed([-1 if last is None else last for _, last, _ in parts])
    steps = packed([step for _, _, step in parts])
    at = np.maximum(np.searchsorted(firsts, numbers, side="right") - 1, 0)
    beyond = numbers - firsts[at]
    within = (beyond >= 0) & (beyond % steps[at] == 0)
    return np.asarray((within & ((lasts[at] < 0) | (numbers <= lasts[at]))).astype(bool))


def covers(parts: Sequence[Progression], part: Progression) -> bool:
    """Whether one of some ascending progressions holds all of another."""
    first, last, step = part
    at = bisect.bisect_right(parts, first, key=lambda one: one[0]) - 1
    if at < 0:
        return False
    start, end, by = parts[at]
    if (first - start) % by or (step % by and first != last):
        return False
    return end is None or (last is not None and last <= end)


def numbers_of(parts: Sequence[Progression]) -> IntArray | None:
    """All numbers of some progressions; None if they have no end or are too many."""
    lists = []
    for first, last, step in parts:
        if last is None or (last - first) // step >= WORK:
            return None
        lists.append(range(first, last + 1, step))
    if sum(map(len, lists)) > WORK:
        return None
    if lists and lists[-1][-1] < SAFE:
        return np.concatenate([np.arange(one.start, one.stop, one.step) for one in lists])
    return packed([number for listed in lists for number in listed])


def leaving_one_out(sets: Sequence[Sequence[Progression]], window: int) -> list[int]:
    """For each set the sums of one member of every other, as bits 0 to `window`.

    Every set contains 0. Halves are left out in turn, so that each set is added about log2 times.
    """
    found = [0] * len(sets)

    def descend(start: int, stop: int, bits: int) -> None:
        if stop - start == 1:
            found[start] = bits
            return
        middle = (start + stop) // 2
        with_left = with_right = bits
        for place in range(start, middle):
            with_left = _added(with_left, sets[place], window)
        for place in range(middle, stop):
            with_right = _added(with_right, sets[place], window)
        descend(start, middle, with_right)
        descend(middle, stop, with_left)

    if sets:
        descend(0, len(sets), 1)
    return found


def _added(bits: int, parts: Sequence[Progression], window: int) -> int:
    """Every sum of a member of `bits` and a member of `parts`, up to `window`."""
    full = (1 << (window + 1)) - 1
    if bits == full:
        return full
    sums = 0
    for first, last, step in parts:
        most = window if last is None else min(last, window)
        if first > most:
            continue
        spread, reached, wanted = bits, 0, (most - first) // step
        while reached < wanted:
            more = min(reached + 1, wanted - reached)
            spread |= spread << (more * step)
            reached += more
        sums |= spread << first
    return sums & full


def some_between(bits: int, window: int, lows: IntArray, highs: IntArray) -> IntArray:
    """Whether some member of a set, from 0 to `window`, lies between each two numbers."""
    raw = np.frombuffer(bits.to_bytes(window // 8 + 1, "little"), dtype=np.uint8)
    top = np.clip(highs, -1, window).astype(np.int64)
    bottom = np.clip(lows, 0, window + 1).astype(np.int64)
    if (bottom >= top).all():
        return np.asarray((bottom == top) & (raw[top >> 3] >> (top & 7) & 1 == 1))
    before = np.concatenate([[0], np.cumsum(np.unpackbits(raw, bitorder="little"))])
    return np.asarray(before[top + 1] > before[np.minimum(bottom, top + 1)])
