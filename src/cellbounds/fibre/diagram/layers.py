"""The numbers that the compiled parts need to place one cell after the other.

A node is known by the partial sums of the open sums. Equations that depend on each other have
partial sums that do so too; those that follow from the others are not written into its key.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from cellbounds.arrays import SAFE, BoolArray, IntArray
from cellbounds.fibre.diagram.dependence import relations
from cellbounds.fibre.diagram.stages import Stages, stages_of
from cellbounds.fibre.diagram.sums import Sum

__all__ = ["BITS", "Layer", "layers_of"]


BITS = 62
"""Numbers of ways are written in words of so many bits."""


class Layer(NamedTuple):
    """Placing one cell: from the key of a node to the partial sums, and from these to new keys.

    There is one entry for each sum that is open before or after; the first `touched` are those
    that the cell belongs to, and the first `moving` of them still matter afterwards. A code is the number of a partial sum among those told apart: up to
    `same` it counts from `low`, beyond it leaves `more` out (see `Stages`).

    Attributes
    ----------
    lower, upper
        The bounds of the cell.
    factor
        The factor of the cell in each touched sum.
    stride, width, low, same, more
        Before the cell is placed; stride 0: not in the key.
    derived
        The sums that are open before but not in the key.
    constant, times, divisor
        Such a partial sum is (constant + times @ partial sums) / divisor.
    new_stride, new_low, new_high, new_same, new_more
        Afterwards.
    line_stride, line_width
        How the line that a node moves along is written as one number: the codes of sums that do
        not move, the remainder of the first that does, and what stays the same of the others,
    along, across, across_low
        which is ``along * partial - across * first`` above `across_low`.
    listed
        Where the values allowed to a moving sum begin in `allowed`; -1: all.
    place_low
        Places on lines are counted from here.
    merging
        Whether different places may become one node.
    """

    lower: int
    upper: int
    touched: int
    moving: int
    merging: bool
    place_low: int
    factor: IntArray
    stride: IntArray
    width: IntArray
    low: IntArray
    same: IntArray
    more: IntArray
    derived: IntArray
    constant: IntArray
    times: IntArray
    divisor: IntArray
    new_stride: IntArray
    new_low: IntArray
    new_high: IntArray
    new_same: IntArray
    new_more: IntArray
    listed: IntArray
    allowed: BoolArray
    line_stride: IntArray
    line_width: IntArray
    along: IntArray
    across: IntArray
    across_low: IntArray

    @property
    def places(self) -> int:
        """No line is longer, and no cell has more values."""
        spans = (self.new_high - self.new_low)[: self.moving]
        return int(max(self.upper - self.lower, *spans.tolist(), 0)) + 4


MOST_LISTED = 50_000_000
"""Partial sums of listed values, over all layers, that may be written down."""

Derived = dict[int, tuple[Fraction, dict[int, Fraction]]]
"""Partial sums that follow from others: a constant, and factors of the others."""


def layers_of(
    sums: Sequence[Sum], cells: IntArray, lower: IntArray, upper: IntArray
) -> list[Layer] | None:
    """The layers for an order of the cells; None if keys do not fit 64-bit integers."""
    rank = np.empty_like(cells)
    rank[cells] = np.arange(len(cells))
    stages = [stages_of(one, rank, lower, upper) for one in sums]
    written = sum(
        int((one.high - one.low + 1).sum())
        for one, said in zip(stages, sums, strict=True)
        if said.values is not None
    )
    if written > MOST_LISTED:
        return None
    related = relations(sums, len(cells))
    stage = [0] * len(sums)
    active: list[int] = []
    strides: dict[int, int] = {}
    derived: Derived = {}
    made = []
    for at, cell in enumerate(cells.tolist()):
        active += [k for k, one in enumerate(stages) if int(one.places[0]) == at]
        touched = [k for k in active if int(stages[k].places[stage[k]]) == at]
        for k in touched:
            stage[k] += 1
        left = [k for k in active if stage[k] < len(stages[k].places)]
        new_derived = _derived(related, touched, left, stage, sums)
        widths = {k: 1 if k in new_derived else _entry(stages[k], stage[k]).width for k in active}
        moving = [k for k in touched if widths[k] > 1 or sums[k].values is not None]
        rows = [*moving, *(k for k in touched if k not in moving)]
        rows += [k for k in active if k not in touched]
        before = [_entry(stages[k], stage[k] - (k in touched)) for k in rows]
        after = [_entry(stages[k], stage[k]) for k in rows]
        new_strides = _strides(rows, [widths[k] for k in rows])
        factors = [int(stages[k].factors[stage[k] - 1]) for k in rows[: len(touched)]]
        lines = _lines(factors[: len(moving)], after, [widths[k] for k in rows], len(touched))
        if new_strides is None or lines is None:
            return None
        made.append(
            Layer(
                int(lower[cell]),
                int(upper[cell]),
                len(touched),
                len(moving),
                any(one.more > 0 for one in after[: len(moving)]),
                _first_place(factors[0], after[0]) if moving else 0,
                _whole(factors),
                _whole([strides.get(k, 0) for k in rows]),
                _whole([one.width for one in before]),
                _whole([one.low for one in before]),
                _whole([one.same for one in before]),
                _whole([one.more for one in before]),
                *_formulas(derived, rows),
                _whole([new_strides[k] for k in rows]),
                _whole([one.low for one in after]),
                _whole([one.high for one in after]),
                _whole([one.same for one in after]),
                _whole([one.more for one in after]),
                *_allowed([(sums[k], stages[k], stage[k]) for k in moving]),
                *lines,
            )
        )
        active, strides, derived = left, new_strides, new_derived
    return made


def _first_place(factor: int, after: _Entry) -> int:
    """No place on a line is before this one (see `nodes.follow`)."""
    return min(after.low // factor, after.high // factor) - 1


def _lines(
    factors: Sequence[int], after: Sequence[_Entry], widths: Sequence[int], touched: int
) -> tuple[IntArray, ...] | None:
    """How lines are written (see `Layer`); None if that takes more than 64-bit integers."""
    rows = len(after)
    along, across, low, kinds = [0] * rows, [0] * rows, [0] * rows, [1] * rows
    for r, factor in enumerate(factors):
        if r == 0:
            kinds[0] = abs(factor)
            continue
        shared = math.gcd(factors[0], factor)
        along[r], across[r] = factors[0] // shared, factor // shared
        ends = [
            along[r] * own - across[r] * first
            for own in (after[r].low, after[r].high)
            for first in (after[0].low, after[0].high)
        ]
        low[r], kinds[r] = min(ends), max(ends) - min(ends) + 1
    kinds[touched:] = widths[touched:]
    if math.prod(kinds) >= SAFE:
        return None
    strides = [math.prod(kinds[:r]) if kinds[r] > 1 else 0 for r in range(rows)]
    return _whole(strides), _whole(kinds), _whole(along), _whole(across), _whole(low)


class _Entry(NamedTuple):
    width: int
    low: int
    high: int
    same: int
    more: int


def _entry(stages: Stages, stage: int) -> _Entry:
    low, high = int(stages.low[stage]), int(stages.high[stage])
    same, more = int(stages.same[stage]), int(stages.more[stage])
    return _Entry(max(high - low + 1 - more, 1), low, high, same, more)


def _strides(rows: Sequence[int], widths: Sequence[int]) -> dict[int, int] | None:
    """Mixed radix; a sum of which nothing is told apart has stride 0."""
    if math.prod(widths) >= SAFE:
        return None
    return {
        k: math.prod(widths[:place]) if widths[place] > 1 else 0 for place, k in enumerate(rows)
    }


def _derived(
    related: Sequence[dict[int, Fraction]],
    touched: Sequence[int],
    left: Sequence[int],
    stage: Sequence[int],
    sums: Sequence[Sum],
) -> Derived:
    """Open equations whose partial sums follow from those of others.

    Touched ones are preferred: the fewer sums move, the less a line has to tell.
    """
    if not related or not left:
        return {}
    from flint import fmpq, fmpq_mat

    open_rows = sorted(left, key=lambda k: (k not in touched, k))
    column = {k: place for place, k in enumerate(open_rows)}
    entries = []
    for relation in related:
        line = [Fraction(0)] * (len(open_rows) + 1)
        for k, times in relation.items():
            if k in column:
                line[column[k]] = times
            elif stage[k] > 0:
                line[-1] += times * sums[k].lower
        if any(line[:-1]):
            entries.append(line)
    if not entries:
        return {}
    dense = [fmpq(one.numerator, one.denominator) for line in entries for one in line]
    echelon, rank = fmpq_mat(len(entries), len(open_rows) + 1, dense).rref()
    found: Derived = {}
    for line in range(rank):
        exact = [
            Fraction(int(echelon[line, c].p), int(echelon[line, c].q))
            for c in range(len(open_rows) + 1)
        ]
        pivot = next((c for c, one in enumerate(exact[:-1]) if one), None)
        if pivot is None:
            continue
        others = {open_rows[c]: -exact[c] for c in range(pivot + 1, len(open_rows)) if exact[c]}
        found[open_rows[pivot]] = (-exact[-1], others)
    return found


def _formulas(derived: Derived, rows: Sequence[int]) -> tuple[IntArray, ...]:
    places, constants, times, divisors = [], [], np.zeros((len(derived), len(rows)), np.int64), []
    for line, (k, (constant, others)) in enumerate(derived.items()):
        divisor = math.lcm(constant.denominator, *(one.denominator for one in others.values()))
        places.append(rows.index(k))
        constants.append(int(constant * divisor))
        divisors.append(divisor)
        for other, factor in others.items():
            times[line, rows.index(other)] = int(factor * divisor)
    return _whole(places), _whole(constants), times, _whole(divisors)


def _whole(values: Sequence[int]) -> IntArray:
    return np.array(values, dtype=np.int64)


def _allowed(touched: Sequence[tuple[Sum, Stages, int]]) -> tuple[IntArray, BoolArray]:
    starts, tables, filled = [], [np.zeros(0, dtype=bool)], 0
    for one, stages, stage in touched:
        if one.values is None:
            starts.append(-1)
            continue
        starts.append(filled)
        tables.append(stages.allowed(stage, one.values))
        filled += len(tables[-1])
    return _whole(starts), np.concatenate(tables)
