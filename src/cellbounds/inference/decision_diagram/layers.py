"""The numbers that the compiled parts need to place one cell after the other.

A node is known by the partial sums of the open sums. Equations that depend on each other have
partial sums that do so too; those that follow from the others are not written into its key.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from cellbounds.inference.decision_diagram.dependence import relations
from cellbounds.inference.decision_diagram.grouping import completed, placed_together
from cellbounds.inference.decision_diagram.partial import (
    Derived,
    derived_from,
    formulas_of,
    relations_up_to,
)
from cellbounds.inference.decision_diagram.stages import Stages, stages_of
from cellbounds.inference.decision_diagram.sums import Sum
from cellbounds.runtime.arrays import SAFE, BoolArray, IntArray

__all__ = ["BITS", "Layer", "layers_of"]


BITS = 62
"""Numbers of ways are written in words of so many bits."""


class Layer(NamedTuple):
    """Placing one cell: from the key of a node to the partial sums, and from these to new keys.

    Cells whose counts follow from an equation that they complete are placed along with it.

    There is one entry for each sum that is open before or after; the first `touched` are those
    that the cell belongs to, and the first `moving` of them still matter afterwards. A code is
    the number of a partial sum among those told apart: up to `same` it counts from `low`, beyond
    it leaves `more` out (see `Stages`).

    Attributes
    ----------
    lower, upper
        The bounds of the cell.
    factor
        What one more in the cell adds to each touched sum, through the others placed too.
    other_row, other_sign, other_limit
        The equation that each of the other cells completes, its factor there (1 or -1), and the
        value of the equation.
    other_lower, other_upper, other_slope
        The bounds of the other cells, and what one more in the first cell adds to each.
    gain
        Factors of the other cells in each touched sum.
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
    other_row: IntArray
    other_sign: IntArray
    other_limit: IntArray
    other_lower: IntArray
    other_upper: IntArray
    other_slope: IntArray
    gain: IntArray
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
        others = self.other_upper - self.other_lower
        return int(max(self.upper - self.lower, *spans.tolist(), *others.tolist(), 0)) + 4


MOST_RELATED = 200
"""Cells up to which relations are looked for after each of them, where keys do not fit."""

MOST_LISTED = 50_000_000
"""Partial sums of listed values, over all layers, that may be written down."""


def layers_of(
    sums: Sequence[Sum], cells: IntArray, lower: IntArray, upper: IntArray
) -> list[Layer] | None:
    """The layers for an order of the cells; None if keys do not fit 64-bit integers."""
    rank = np.empty_like(cells)
    rank[cells] = np.arange(len(cells))
    bounds = lower[cells], upper[cells]
    stages = [stages_of(one, rank, lower, upper) for one in sums]
    written = sum(
        int((one.high - one.low + 1).sum())
        for one, said in zip(stages, sums, strict=True)
        if said.values is not None
    )
    if written > MOST_LISTED:
        return None
    everywhere = relations(sums, len(cells))
    for groups in (completed(sums, stages, len(cells)), [[at] for at in range(len(cells))]):
        made = _layers(sums, stages, bounds, groups, lambda _: everywhere)
        if made is not None:
            return made
    if len(cells) > MOST_RELATED:
        return None
    # Many sums of few cells: told apart, they are all combinations of a few.
    stages = [stages_of(one, rank, lower, upper, apart=True) for one in sums]
    return _layers(sums, stages, bounds, groups, lambda at: relations_up_to(sums, rank, at))


def _layers(
    sums: Sequence[Sum],
    stages: Sequence[Stages],
    bounds: tuple[IntArray, IntArray],
    groups: Sequence[Sequence[int]],
    related: Callable[[int], Sequence[dict[int, Fraction]]],
) -> list[Layer] | None:
    """The layers, one for each group of cells placed together.

    `related` gives relations between the partial sums after some cells.
    """
    stage = [0] * len(sums)
    active: list[int] = []
    strides: dict[int, int] = {}
    derived: Derived = {}
    made = []
    for group in groups:
        active += [k for k, one in enumerate(stages) if int(one.places[0]) in group]
        together = placed_together(sums, stages, active, group)
        touched = list(together.factors)
        before_all = {k: _entry(stages[k], stage[k]) for k in active}
        for k in touched:
            stage[k] += len(together.factors[k])
        left = [k for k in active if stage[k] < len(stages[k].places)]
        new_derived = derived_from(related(group[-1]), touched, left, stage, sums)
        widths = {k: 1 if k in new_derived else _entry(stages[k], stage[k]).width for k in active}
        moving = [
            k for k in touched if together.rise[k] and (widths[k] > 1 or sums[k].values is not None)
        ]
        rows = [*moving, *(k for k in touched if k not in moving)]
        rows += [k for k in active if k not in touched]
        before = [before_all[k] for k in rows]
        after = [_entry(stages[k], stage[k]) for k in rows]
        new_strides = _strides(rows, [widths[k] for k in rows])
        factors = [together.rise[k] for k in rows[: len(touched)]]
        highest = int(bounds[1][group[0]])
        lines = _lines(factors[: len(moving)], after, [widths[k] for k in rows], highest)
        reach = {k: max(abs(one.low), abs(one.high)) for k, one in zip(rows, before, strict=True)}
        formulas = formulas_of(derived, reach)
        if new_strides is None or lines is None or formulas is None:
            return None
        others = [together.equations[at] for at in group[1:]]
        listed, allowed = _allowed([(sums[k], stages[k], stage[k]) for k in moving])
        old, new = _columns(before), _columns(after)
        made.append(
            Layer(
                lower=int(bounds[0][group[0]]),
                upper=highest,
                touched=len(touched),
                moving=len(moving),
                merging=any(one.more > 0 for one in after[: len(moving)]),
                place_low=_first_place(factors[0], after[0]) if moving else 0,
                factor=_whole(factors),
                other_row=_whole([rows.index(k) for k in others]),
                other_sign=_whole(
                    [together.factors[k][at] for k, at in zip(others, group[1:], strict=True)]
                ),
                other_limit=_whole([sums[k].lower for k in others]),
                other_lower=bounds[0][list(group[1:])].astype(np.int64),
                other_upper=bounds[1][list(group[1:])].astype(np.int64),
                other_slope=_whole([together.slopes[at] for at in group[1:]]),
                gain=_gains([together.factors[k] for k in rows[: len(touched)]], group[1:]),
                stride=_whole([strides.get(k, 0) for k in rows]),
                width=old.width,
                low=old.low,
                same=old.same,
                more=old.more,
                derived=formulas.places,
                constant=formulas.constants,
                times=formulas.times,
                divisor=formulas.divisors,
                new_stride=_whole([new_strides[k] for k in rows]),
                new_low=new.low,
                new_high=new.high,
                new_same=new.same,
                new_more=new.more,
                listed=listed,
                allowed=allowed,
                line_stride=lines.strides,
                line_width=lines.widths,
                along=lines.along,
                across=lines.across,
                across_low=lines.low,
            )
        )
        active, strides, derived = left, new_strides, new_derived
    return made


def _gains(factors: Sequence[Mapping[int, int]], others: Sequence[int]) -> IntArray:
    gains = np.zeros((len(factors), len(others)), dtype=np.int64)
    for row, own in enumerate(factors):
        gains[row] = [own.get(at, 0) for at in others]
    return gains


def _first_place(factor: int, after: _Entry) -> int:
    """No place on a line is before this one (see `nodes.follow`)."""
    return min(after.low // factor, after.high // factor) - 1


def _lines(
    factors: Sequence[int], after: Sequence[_Entry], widths: Sequence[int], highest: int
) -> _Lines | None:
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
        # Partial sums are written as if the cell were empty, which may be far from any end.
        away = 2 * abs(along[r] * factor) * highest
        if max(abs(end) for end in ends) + away >= SAFE:
            return None
    kinds[len(factors) :] = widths[len(factors) :]
    if math.prod(kinds) >= SAFE:
        return None
    strides = [math.prod(kinds[:r]) if kinds[r] > 1 else 0 for r in range(rows)]
    return _Lines(*(_whole(one) for one in (strides, kinds, along, across, low)))


class _Lines(NamedTuple):
    strides: IntArray
    widths: IntArray
    along: IntArray
    across: IntArray
    low: IntArray


class _Columns(NamedTuple):
    width: IntArray
    low: IntArray
    high: IntArray
    same: IntArray
    more: IntArray


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


def _columns(entries: Sequence[_Entry]) -> _Columns:
    return _Columns(*(_whole([one[k] for one in entries]) for k in range(5)))


def _strides(rows: Sequence[int], widths: Sequence[int]) -> dict[int, int] | None:
    """Mixed radix; a sum of which nothing is told apart has stride 0."""
    if math.prod(widths) >= SAFE:
        return None
    return {
        k: math.prod(widths[:place]) if widths[place] > 1 else 0 for place, k in enumerate(rows)
    }


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
