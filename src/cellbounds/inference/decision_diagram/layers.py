"""The layers of a finished diagram.

Partial sums that follow from other partial sums.

Cells that are placed along with the one before them.

The last cell of an equation has no choice. Placed together with the cell before it, it costs no
layer of its own, and the nodes in between, often the most of all, are never made.

The numbers that the compiled parts need to place one cell after the other.

A node is known by the partial sums of the open sums. Equations that depend on each other have
partial sums that do so too; those that follow from the others are not written into its key.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from cellbounds.inference.decision_diagram.linear_constraints import (
    Stages,
    Sum,
    relations,
    stages_of,
)
from cellbounds.runtime.arrays import SAFE, BoolArray, IntArray

__all__ = ["BITS", "Floor", "Layer", "layers_of"]


class Floor(NamedTuple):
    """One layer of a finished diagram: nodes before a cell is placed, and where its values lead.

    Attributes
    ----------
    lowers, spans
        The smallest value of the cell, and how many it has; then those of cells placed with it.
    slopes
        What one more in the cell adds to itself, and to each of the cells placed with it.
    step
        1; or 0 if all values lead to the same place.
    firsts
        The first values of each node, above the smallest ones.
    sizes
        How many values each node has; one without any does not lead to the end.
    goals
        The place that the first value leads to; the others lead to the places that follow.
    numbers
        The node of the next layer at each place (-1: none); empty if they are the same.
    """

    lowers: IntArray
    spans: IntArray
    slopes: IntArray
    step: int
    firsts: IntArray
    sizes: IntArray
    goals: IntArray
    numbers: IntArray

    @property
    def nbytes(self) -> int:
        """Bytes taken."""
        arrays = (self.firsts, self.sizes, self.goals, self.numbers)
        return sum(int(one.nbytes) for one in arrays)

    def values(self, node: int, turn: int) -> IntArray:
        """The counts of the cells placed when a node takes a turn."""
        return np.asarray(self.lowers + self.firsts[node] + self.slopes * turn)


Derived = dict[int, tuple[Fraction, dict[int, Fraction]]]
"""Partial sums that follow from others: a constant, and factors of the others."""


class Formulas(NamedTuple):
    """Some partial sums as ``(constants + times @ partial sums) / divisors``."""

    places: IntArray
    constants: IntArray
    times: IntArray
    divisors: IntArray


def relations_up_to(sums: Sequence[Sum], rank: IntArray, at: int) -> list[dict[int, Fraction]]:
    """What holds between partial sums once cell number `at` is placed."""
    placed, numbers = [], []
    for k, one in enumerate(sums):
        there = rank[one.cells] <= at
        if there.any() and (one.fixed or not there.all()):
            part = replace(one, cells=rank[one.cells[there]], factors=one.factors[there])
            placed.append(replace(part, lower=0, upper=0, values=None))
            numbers.append(k)
    found = relations(placed, at + 1)
    return [{numbers[k]: times for k, times in one.items()} for one in found]


def derived_from(
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
        entry = [Fraction(0)] * (len(open_rows) + 1)
        for k, times in relation.items():
            if k in column:
                entry[column[k]] = times
            elif stage[k] > 0:
                entry[-1] += times * sums[k].lower
        if any(entry[:-1]):
            entries.append(entry)
    if not entries:
        return {}
    dense = [fmpq(one.numerator, one.denominator) for entry in entries for one in entry]
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


def formulas_of(derived: Derived, largest: Mapping[int, int]) -> Formulas | None:
    """The formulas in integers, None if these could leave 64 bits.

    `largest` says how far from zero each partial sum can be, in the order of their numbers here.
    """
    rows = list(largest)
    times = np.zeros((len(derived), len(rows)), np.int64)
    constants, divisors = [], []
    for line, (constant, others) in enumerate(derived.values()):
        divisor = math.lcm(constant.denominator, *(one.denominator for one in others.values()))
        whole = {k: int(factor * divisor) for k, factor in others.items()}
        constants.append(int(constant * divisor))
        divisors.append(divisor)
        reach = sum(abs(factor) * largest[k] for k, factor in whole.items())
        if reach + abs(constants[-1]) + divisor >= SAFE:
            return None
        for k, factor in whole.items():
            times[line, rows.index(k)] = factor
    places = [rows.index(k) for k in derived]
    arrays = [np.array(one, dtype=np.int64) for one in (places, constants, divisors)]
    return Formulas(arrays[0], arrays[1], times, arrays[2])


def completed(sums: Sequence[Sum], stages: Sequence[Stages], size: int) -> list[list[int]]:
    """Groups of consecutive cells: a first one, and those that complete an equation."""
    listed: set[int] = set()
    last: set[int] = set()
    for said, one in zip(sums, stages, strict=True):
        if said.values is not None:
            listed.update(one.places.tolist())
        elif _completes(said, one):
            last.add(int(one.places[-1]))
    groups: list[list[int]] = []
    for at in range(size):
        if groups and at in last and at not in listed and groups[-1][0] not in listed:
            groups[-1].append(at)
        else:
            groups.append([at])
    return groups


def _completes(said: Sum, one: Stages) -> bool:
    return said.fixed and said.values is None and abs(int(one.factors[-1])) == 1


@dataclass(frozen=True, slots=True, eq=False)
class Together:
    """A group of cells and the sums that they belong to.

    Attributes
    ----------
    factors
        For each sum, the factors of the cells (by when they are placed).
    equations
        For each cell but the first, an equation that it completes.
    slopes
        What one more in the first cell adds to each of the others.
    rise
        What one more in the first cell adds to each sum.
    """

    factors: dict[int, dict[int, int]]
    equations: dict[int, int]
    slopes: dict[int, int]
    rise: dict[int, int]


def placed_together(
    sums: Sequence[Sum], stages: Sequence[Stages], active: Sequence[int], group: Sequence[int]
) -> Together:
    """What placing a group of cells does to the open sums."""
    factors: dict[int, dict[int, int]] = {}
    equations: dict[int, int] = {}
    for k in active:
        one = stages[k]
        here = {
            at: int(factor)
            for at, factor in zip(one.places.tolist(), one.factors.tolist(), strict=True)
            if group[0] <= at <= group[-1]
        }
        if here:
            factors[k] = here
            end = int(one.places[-1])
            if end in group[1:] and _completes(sums[k], one):
                equations.setdefault(end, k)
    slopes = {group[0]: 1}
    for at in group[1:]:
        own = factors[equations[at]]
        risen = sum(own.get(other, 0) * slope for other, slope in slopes.items())
        # The factor of the cell itself is 1 or -1, which is its own inverse.
        slopes[at] = -own[at] * risen
    rise = {
        k: sum(factor * slopes[at] for at, factor in here.items()) for k, here in factors.items()
    }
    return Together(factors, equations, slopes, rise)


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
