"""Which row sums are feasible together: A_i intersected with N minus the sums of the others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cellbounds.arrays import SAFE, IntArray
from cellbounds.methods.conditional.offsets import OffsetSet, positions, runs_in, runs_of
from cellbounds.methods.conditional.sums import (
    Bits,
    Residues,
    SetAlgebra,
    Sparse,
    Window,
    leave_one_out,
    sum_of_all,
)
from cellbounds.results.values import Progression

__all__ = ["feasible_offsets", "sum_algebra"]

SMALL_WINDOW = 1 << 24
LARGE_WINDOW = 1 << 30
RESIDUE_LIMIT = 1 << 20


def feasible_offsets(
    rows: Sequence[OffsetSet], copies: Sequence[int], slack: int
) -> list[list[Progression]]:
    """For each row the offsets o such that the others can make ``slack - o``.

    Saturated rows keep all of this in windows whose width does not depend on the slack: sums of
    rows that include saturated row k hold everything from k's size on.
    """
    saturated = sorted(
        (row.size, place) for place, row in enumerate(rows) if row.saturated
    )
    sizes = [size for size, place in saturated for _ in range(copies[place])][:2]
    if len(sizes) == 2:
        return _by_window(rows, copies, slack, min(slack + 1, sizes[1]))
    if len(sizes) == 1:
        place = saturated[0][1]
        found = _by_window(rows, copies, slack, min(slack + 1, sizes[0]))
        others = [row for other, row in enumerate(rows) if other != place]
        counts = [count for other, count in enumerate(copies) if other != place]
        found[place] = _of_one_row(rows[place], others, counts, slack)
        return found
    return _without_saturation(rows, copies, slack)


def sum_algebra(rows: Sequence[OffsetSet], slack: int) -> tuple[SetAlgebra[Any], int]:
    """A way to hold sums of some of the rows up to a slack, and the row to begin with.

    Every set that includes that row is exact: it saturates the window, or its step is the modulus.
    """
    saturated = [(row.size, place) for place, row in enumerate(rows) if row.saturated]
    if saturated:
        size, place = min(saturated)
        return Window(min(slack + 1, size)), place
    algebra = _algebra(rows, slack)
    if isinstance(algebra, Residues):
        return algebra, next(
            place for place, row in enumerate(rows) if _pure(row) and row.step == algebra.modulus
        )
    return algebra, len(rows) - 1


def _by_window(
    rows: Sequence[OffsetSet], copies: Sequence[int], slack: int, width: int
) -> list[list[Progression]]:
    window = Window(width)
    others = leave_one_out(window, rows, copies)
    return [_fitting(row, held, slack) for row, held in zip(rows, others, strict=True)]


def _fitting(row: OffsetSet, held: Bits, slack: int) -> list[Progression]:
    """Offsets of the row whose complement to the slack is held, as progressions."""
    bits, limit = held
    found: list[Progression] = []
    # Complements from the limit on are all held: everything in the row up to `free`.
    free = slack - limit
    if free >= 0:
        kept = row.bits & ((1 << min(row.size, free + 1)) - 1)
        found += [(first, first + length - 1, 1) for first, length in runs_of(kept)]
        if row.step:
            end = free if row.last is None else min(free, row.last)
            begin = row.first_in_tail()
            if begin <= end:
                found.append((begin, begin + (end - begin) // row.step * row.step, row.step))
    if bits:
        places = positions(bits)[::-1]
        offsets = slack - (places if slack < SAFE else places.astype(object))
        found += _steps_of_one(offsets[row.members(offsets)])
    return _joined(found)


def _steps_of_one(values: IntArray) -> list[Progression]:
    return [(first, last, 1) for first, last in runs_in(values)]


def _joined(runs: list[Progression]) -> list[Progression]:
    """Join neighbouring runs of step 1 where the parts of a set met."""
    joined: list[Progression] = []
    for first, last, step in runs:
        if joined and step == 1 and joined[-1][2] == 1 and joined[-1][1] == first - 1:
            joined[-1] = (joined[-1][0], last, 1)
        else:
            joined.append((first, last, step))
    return joined


def _of_one_row(
    row: OffsetSet, others: Sequence[OffsetSet], copies: Sequence[int], slack: int
) -> list[Progression]:
    """Feasible offsets of one row, the others being given."""
    unit = _unit(others)
    if unit > 1:
        others = [_divided(other, unit) for other in others]
    algebra = _algebra(others, slack // unit)
    held = sum_of_all(algebra, others, copies)
    return _fitting_in(algebra, held, row, slack, unit)


def _without_saturation(
    rows: Sequence[OffsetSet], copies: Sequence[int], slack: int
) -> list[list[Progression]]:
    unit = _unit(rows)
    if slack % unit:
        return [[] for _ in rows]
    if unit > 1:
        rows, slack = [_divided(row, unit) for row in rows], slack // unit
    algebra = _algebra(rows, slack)
    if isinstance(algebra, Residues):
        found = _by_residues(algebra, rows, copies, slack)
    else:
        others = leave_one_out(algebra, rows, copies)
        found = [
            _fitting_in(algebra, held, row, slack, 1)
            for row, held in zip(rows, others, strict=True)
        ]
    return [[(a * unit, b * unit, c * unit) for a, b, c in one if b is not None] for one in found]


def _by_residues(
    algebra: Residues, rows: Sequence[OffsetSet], copies: Sequence[int], slack: int
) -> list[list[Progression]]:
    """Leave-one-out sums modulo the smallest step; that row itself needs another modulus."""
    key = next(
        place for place, row in enumerate(rows) if _pure(row) and row.step == algebra.modulus
    )
    places = [place for place in range(len(rows)) if place != key]
    others = [rows[place] for place in places]
    counts = [copies[place] for place in places]
    found: list[list[Progression]] = [[] for _ in rows]
    if copies[key] > 1:
        held = sum_of_all(algebra, others, counts)
        found[key] = _fitting_in(algebra, held, rows[key], slack, 1)
    else:
        found[key] = _of_one_row(rows[key], others, counts, slack)
    for place, held in zip(places, leave_one_out(algebra, others, counts), strict=True):
        found[place] = _fitting_in(algebra, held, rows[place], slack, 1)
    return found


def _algebra(rows: Sequence[OffsetSet], slack: int) -> Any:
    """The cheapest way to hold the sums of rows none of which is saturated."""
    largest = [row.largest for row in rows]
    if None not in largest:
        slack = min(slack, sum(top for top in largest if top is not None))
    steps = [row.step for row in rows if _pure(row)]
    if slack < SMALL_WINDOW:
        return Window(slack + 1)
    if steps and min(steps) <= RESIDUE_LIMIT:
        return Residues(min(steps), slack)
    if slack < LARGE_WINDOW:
        return Window(slack + 1)
    return Sparse(slack)


def _pure(row: OffsetSet) -> bool:
    """Whether the row's offsets are just the multiples of its step."""
    return row.bits == 1 and row.step > 0 and row.last is None and row.size <= row.step


def _unit(rows: Sequence[OffsetSet]) -> int:
    """The largest number that divides every offset."""
    unit = 0
    for row in rows:
        if unit == 1:
            break
        unit = math.gcd(unit, row.step)
        for first, length in row.runs:
            unit = math.gcd(unit, first, 1 if length > 1 else 0)
    return max(unit, 1)


def _divided(row: OffsetSet, unit: int) -> OffsetSet:
    mask = 0
    for place in positions(row.bits).tolist():
        mask |= 1 << (place // unit)
    last = None if row.last is None else row.last // unit
    return replace(row, bits=mask, size=-(-row.size // unit), step=row.step // unit, last=last)


def _fitting_in(
    algebra: SetAlgebra[Any], held: Any, row: OffsetSet, slack: int, unit: int
) -> list[Progression]:
    """Offsets of the row whose complement is held; sums held are in multiples of the unit."""
    if isinstance(algebra, Window) and unit == 1 and algebra.width == slack + 1:
        return _fitting(row, held, slack)
    if isinstance(algebra, Residues):
        return _fitting_residues(algebra, held, row, slack, unit)
    if isinstance(algebra, Window):
        bits, limit = held
        members = positions(bits | ((1 << algebra.width) - (1 << limit))).astype(object)
    else:
        members = np.array(sorted(held), dtype=object)
    offsets = slack - members[::-1] * unit
    offsets = offsets[offsets >= 0]
    return _steps_of_one(offsets[row.members(offsets)])


def _fitting_residues(
    algebra: Residues, held: Any, row: OffsetSet, slack: int, unit: int
) -> list[Progression]:
    found: list[Progression] = []
    modulus = algebra.modulus * unit
    for first, length in row.runs:
        for offset in range(first, first + length):
            rest = slack - offset
            if rest >= 0 and rest % unit == 0 and algebra.holds(held, rest // unit):
                found.append((offset, offset, 1))
    if not row.step:
        return _joined(found)
    begin = row.first_in_tail()
    end = slack if row.last is None else min(slack, row.last)
    period = modulus // math.gcd(modulus, row.step)
    for turn in range(period):
        first = begin + turn * row.step
        rest = slack - first
        if rest < 0 or first > end:
            break
        if rest % unit:
            continue
        # Within a residue class everything from its smallest sum on is held.
        smallest = int(held[rest // unit % algebra.modulus]) * unit
        last = min(slack - smallest, end)
        if last >= first:
            stride = row.step * period
            found.append((first, first + (last - first) // stride * stride, stride))
    return found


