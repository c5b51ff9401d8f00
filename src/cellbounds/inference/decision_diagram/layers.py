"""Layers of a decision diagram: the numbers that the compiled parts need to place cells in turn.

A node is known by the partial sums of the open sums. Equations that depend on each other have
partial sums that do so too; those that follow from the others are not written into its key.

The last cell of an equation has no choice. Placed together with the cell before it, it costs no
layer of its own, and the nodes in between, often the most of all, are never made.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from cellbounds.inference.decision_diagram.linear_constraints import (
    LinearSum,
    PartialSums,
    partial_sums,
    relations,
)
from cellbounds.runtime.arrays import SAFE, BoolArray, IntArray

__all__ = [
    "BITS",
    "DiagramLayer",
    "LineCodes",
    "LineTable",
    "SumCodes",
    "Transition",
    "transitions_of",
]

BITS = 62
"""Numbers of ways are written in words of so many bits."""

MOST_RELATED = 200
"""Cells up to which relations are looked for after each of them, where keys do not fit."""

MOST_LISTED = 50_000_000
"""Partial sums of listed values, over all layers, that may be written down."""


class DiagramLayer(NamedTuple):
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
        return sum(int(a.nbytes) for a in (self.firsts, self.sizes, self.goals, self.numbers))

    def values(self, node: int, turn: int) -> IntArray:
        """The counts of the cells placed when a node takes a turn."""
        return np.asarray(self.lowers + self.firsts[node] + self.slopes * turn)


class SumCodes(NamedTuple):
    """How partial sums are written into keys, one entry for each open sum.

    A code is the number of a partial sum among those told apart: up to `same` it counts from
    `low`, beyond it leaves `more` out (see `PartialSums`). Stride 0: not in the key.
    """

    stride: IntArray
    width: IntArray
    low: IntArray
    high: IntArray
    same: IntArray
    more: IntArray


class Formulas(NamedTuple):
    """Partial sums not in the key: ``(constants + times @ partial sums) / divisors``."""

    places: IntArray
    constants: IntArray
    times: IntArray
    divisors: IntArray


class LineCodes(NamedTuple):
    """How the line that a node moves along is written as one number.

    The codes of sums that do not move, the remainder of the first that does, and what stays the
    same of the others: ``along * partial - across * first`` above `low`.
    """

    stride: IntArray
    width: IntArray
    along: IntArray
    across: IntArray
    low: IntArray


class LineTable(NamedTuple):
    """The lines found so far: their keys, and the least and most places on them."""

    keys: IntArray
    least: IntArray
    most: IntArray


class CompletingCells(NamedTuple):
    """Cells placed along with the first one, each completing an equation.

    Attributes
    ----------
    row, sign, limit
        The equation that each completes, its factor there (1 or -1), and the equation's value.
    lower, upper, slope
        Their bounds, and what one more in the first cell adds to each.
    gain
        Their factors in each touched sum.
    """

    row: IntArray
    sign: IntArray
    limit: IntArray
    lower: IntArray
    upper: IntArray
    slope: IntArray
    gain: IntArray


class Transition(NamedTuple):
    """Placing one cell: from the key of a node to the partial sums, and from these to new keys.

    There is one entry for each sum that is open before or after; the first `touched` are those
    that the cell belongs to, and the first `moving` of them still matter afterwards.

    Attributes
    ----------
    lower, upper
        The bounds of the cell.
    merging
        Whether different places may become one node.
    place_low
        Places on lines are counted from here.
    factor
        What one more in the cell adds to each touched sum, through the others placed too.
    listed, allowed
        Where the values allowed to a moving sum begin in `allowed`; -1: all.
    """

    lower: int
    upper: int
    touched: int
    moving: int
    merging: bool
    place_low: int
    factor: IntArray
    others: CompletingCells
    before: SumCodes
    after: SumCodes
    formulas: Formulas
    lines: LineCodes
    listed: IntArray
    allowed: BoolArray

    @property
    def places(self) -> int:
        """No line is longer, and no cell has more values."""
        spans = (self.after.high - self.after.low)[: self.moving]
        others = self.others.upper - self.others.lower
        return int(max(self.upper - self.lower, *spans.tolist(), *others.tolist(), 0)) + 4


def transitions_of(
    sums: Sequence[LinearSum], cells: IntArray, lower: IntArray, upper: IntArray
) -> list[Transition] | None:
    """The transitions for an order of the cells; None if keys do not fit 64-bit integers."""
    rank = np.empty_like(cells)
    rank[cells] = np.arange(len(cells))
    bounds = lower[cells], upper[cells]
    partial = [partial_sums(total, rank, lower, upper) for total in sums]
    written = sum(
        int((own.high - own.low + 1).sum())
        for own, total in zip(partial, sums, strict=True)
        if total.values is not None
    )
    if written > MOST_LISTED:
        return None
    everywhere = relations(sums, len(cells))
    for groups in (_groups(sums, partial, len(cells)), [[at] for at in range(len(cells))]):
        transitions = _transitions(sums, partial, bounds, groups, lambda _: everywhere)
        if transitions is not None:
            return transitions
    if len(cells) > MOST_RELATED:
        return None
    # Many sums of few cells: told apart, they are all combinations of a few.
    partial = [partial_sums(total, rank, lower, upper, apart=True) for total in sums]
    return _transitions(sums, partial, bounds, groups, lambda at: _relations_up_to(sums, rank, at))


def _completes(total: LinearSum, own: PartialSums) -> bool:
    return total.fixed and total.values is None and abs(int(own.factors[-1])) == 1


def _groups(
    sums: Sequence[LinearSum], partial: Sequence[PartialSums], size: int
) -> list[list[int]]:
    """Groups of consecutive cells: a first one, and those that complete an equation."""
    listed: set[int] = set()
    last: set[int] = set()
    for total, own in zip(sums, partial, strict=True):
        if total.values is not None:
            listed.update(own.places.tolist())
        elif _completes(total, own):
            last.add(int(own.places[-1]))
    groups: list[list[int]] = []
    for at in range(size):
        if groups and at in last and at not in listed and groups[-1][0] not in listed:
            groups[-1].append(at)
        else:
            groups.append([at])
    return groups


class _Group(NamedTuple):
    """A group of cells placed together, and the open sums that they belong to.

    Attributes
    ----------
    factors
        For each sum, the factors of the cells (by when they are placed).
    equations
        For each cell but the first, an equation that it completes.
    slopes, rise
        What one more in the first cell adds to each of the others, and to each sum.
    """

    factors: dict[int, dict[int, int]]
    equations: dict[int, int]
    slopes: dict[int, int]
    rise: dict[int, int]


def _grouped(
    sums: Sequence[LinearSum],
    partial: Sequence[PartialSums],
    active: Sequence[int],
    group: Sequence[int],
) -> _Group:
    """What placing a group of cells does to the open sums."""
    factors: dict[int, dict[int, int]] = {}
    equations: dict[int, int] = {}
    for k in active:
        entries = zip(partial[k].places.tolist(), partial[k].factors.tolist(), strict=True)
        here = {at: factor for at, factor in entries if group[0] <= at <= group[-1]}
        if here:
            factors[k] = here
            end = int(partial[k].places[-1])
            if end in group[1:] and _completes(sums[k], partial[k]):
                equations.setdefault(end, k)
    slopes = {group[0]: 1}
    for at in group[1:]:
        own = factors[equations[at]]
        risen = sum(own.get(other, 0) * slope for other, slope in slopes.items())
        # The factor of the cell itself is 1 or -1, which is its own inverse.
        slopes[at] = -own[at] * risen
    rise = {k: sum(f * slopes[at] for at, f in here.items()) for k, here in factors.items()}
    return _Group(factors, equations, slopes, rise)


Derived = dict[int, tuple[Fraction, dict[int, Fraction]]]
"""Partial sums that follow from others: a constant, and factors of the others."""


def _relations_up_to(
    sums: Sequence[LinearSum], rank: IntArray, at: int
) -> list[dict[int, Fraction]]:
    """What holds between partial sums once cell number `at` is placed."""
    placed, numbers = [], []
    for k, total in enumerate(sums):
        there = rank[total.cells] <= at
        if there.any() and (total.fixed or not there.all()):
            part = replace(total, cells=rank[total.cells[there]], factors=total.factors[there])
            placed.append(replace(part, lower=0, upper=0, values=None))
            numbers.append(k)
    related = relations(placed, at + 1)
    return [{numbers[k]: times for k, times in relation.items()} for relation in related]


def _derived_from(
    related: Sequence[dict[int, Fraction]],
    touched: Sequence[int],
    left: Sequence[int],
    stage: Sequence[int],
    sums: Sequence[LinearSum],
) -> Derived:
    """Open equations whose partial sums follow from those of others.

    Touched ones are preferred: the fewer sums move, the less a line has to tell.
    """
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
    from flint import fmpq, fmpq_mat

    dense = [fmpq(f.numerator, f.denominator) for entry in entries for f in entry]
    echelon, rank = fmpq_mat(len(entries), len(open_rows) + 1, dense).rref()
    derived: Derived = {}
    for line in range(rank):
        row = [echelon[line, c] for c in range(len(open_rows) + 1)]
        exact = [Fraction(int(entry.p), int(entry.q)) for entry in row]
        pivot = next((c for c, factor in enumerate(exact[:-1]) if factor), None)
        if pivot is not None:
            others = {open_rows[c]: -exact[c] for c in range(pivot + 1, len(open_rows)) if exact[c]}
            derived[open_rows[pivot]] = (-exact[-1], others)
    return derived


def _formulas(derived: Derived, largest: Mapping[int, int]) -> Formulas | None:
    """The formulas in integers, None if these could leave 64 bits.

    `largest` says how far from zero each partial sum can be, in the order of their numbers here.
    """
    rows = list(largest)
    times = np.zeros((len(derived), len(rows)), np.int64)
    constants, divisors = [], []
    for line, (constant, others) in enumerate(derived.values()):
        divisor = math.lcm(constant.denominator, *(f.denominator for f in others.values()))
        whole = {k: int(factor * divisor) for k, factor in others.items()}
        constants.append(int(constant * divisor))
        divisors.append(divisor)
        reach = sum(abs(factor) * largest[k] for k, factor in whole.items())
        if reach + abs(constants[-1]) + divisor >= SAFE:
            return None
        for k, factor in whole.items():
            times[line, rows.index(k)] = factor
    places = _whole([rows.index(k) for k in derived])
    return Formulas(places, _whole(constants), times, _whole(divisors))


class _Code(NamedTuple):
    """One entry of `SumCodes`, without its stride."""

    width: int
    low: int
    high: int
    same: int
    more: int

    @classmethod
    def of(cls, partial: PartialSums, stage: int) -> _Code:
        low, high = int(partial.low[stage]), int(partial.high[stage])
        same, more = int(partial.same[stage]), int(partial.more[stage])
        return cls(max(high - low + 1 - more, 1), low, high, same, more)


def _codes(entries: Sequence[_Code], strides: Sequence[int]) -> SumCodes:
    return SumCodes(_whole(strides), *(_whole([code[k] for code in entries]) for k in range(5)))


def _transitions(
    sums: Sequence[LinearSum],
    partial: Sequence[PartialSums],
    bounds: tuple[IntArray, IntArray],
    groups: Sequence[Sequence[int]],
    related: Callable[[int], Sequence[dict[int, Fraction]]],
) -> list[Transition] | None:
    """The transitions, one for each group of cells placed together.

    `related` gives relations between the partial sums after some cells.
    """
    stage = [0] * len(sums)
    active: list[int] = []
    strides: dict[int, int] = {}
    derived: Derived = {}
    transitions = []
    for group in groups:
        active += [k for k, own in enumerate(partial) if int(own.places[0]) in group]
        placed = _grouped(sums, partial, active, group)
        touched = list(placed.factors)
        code_before = {k: _Code.of(partial[k], stage[k]) for k in active}
        for k in touched:
            stage[k] += len(placed.factors[k])
        code_after = {k: _Code.of(partial[k], stage[k]) for k in active}
        left = [k for k in active if stage[k] < len(partial[k].places)]
        new_derived = _derived_from(related(group[-1]), touched, left, stage, sums)
        width = {k: 1 if k in new_derived else code_after[k].width for k in active}
        moving = [
            k for k in touched if placed.rise[k] and (width[k] > 1 or sums[k].values is not None)
        ]
        rows = [*moving, *(k for k in touched if k not in moving)]
        rows += [k for k in active if k not in touched]
        before, after = [code_before[k] for k in rows], [code_after[k] for k in rows]
        new_strides = _strides(rows, [width[k] for k in rows])
        factors = [placed.rise[k] for k in rows[: len(touched)]]
        highest = int(bounds[1][group[0]])
        lines = _line_codes(factors[: len(moving)], after, [width[k] for k in rows], highest)
        reach = {k: max(abs(c.low), abs(c.high)) for k, c in zip(rows, before, strict=True)}
        formulas = _formulas(derived, reach)
        if new_strides is None or lines is None or formulas is None:
            return None
        transitions.append(
            Transition(
                int(bounds[0][group[0]]),
                highest,
                len(touched),
                len(moving),
                any(code.more > 0 for code in after[: len(moving)]),
                _first_place(factors[0], after[0]) if moving else 0,
                _whole(factors),
                _completing(sums, placed, group[1:], rows, bounds),
                _codes(before, [strides.get(k, 0) for k in rows]),
                _codes(after, [new_strides[k] for k in rows]),
                formulas,
                lines,
                *_allowed([(sums[k], partial[k], stage[k]) for k in moving]),
            )
        )
        active, strides, derived = left, new_strides, new_derived
    return transitions


def _completing(
    sums: Sequence[LinearSum],
    placed: _Group,
    others: Sequence[int],
    rows: Sequence[int],
    bounds: tuple[IntArray, IntArray],
) -> CompletingCells:
    equations = [placed.equations[at] for at in others]
    touched = [placed.factors[k] for k in rows if k in placed.factors]
    gain = np.array([[own.get(at, 0) for at in others] for own in touched], dtype=np.int64)
    return CompletingCells(
        _whole([rows.index(k) for k in equations]),
        _whole([placed.factors[k][at] for k, at in zip(equations, others, strict=True)]),
        _whole([sums[k].lower for k in equations]),
        bounds[0][list(others)].astype(np.int64),
        bounds[1][list(others)].astype(np.int64),
        _whole([placed.slopes[at] for at in others]),
        gain.reshape(len(touched), len(others)),
    )


def _first_place(factor: int, after: _Code) -> int:
    """No place on a line is before this one (see `expansion_kernel.follow`)."""
    return min(after.low // factor, after.high // factor) - 1


def _line_codes(
    factors: Sequence[int], after: Sequence[_Code], widths: Sequence[int], highest: int
) -> LineCodes | None:
    """How lines are written; None if that takes more than 64-bit integers."""
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
    strides = _strides(range(rows), kinds)
    if strides is None:
        return None
    return LineCodes(*map(_whole, (list(strides.values()), kinds, along, across, low)))


def _strides(rows: Sequence[int], widths: Sequence[int]) -> dict[int, int] | None:
    """Mixed radix; a sum of which nothing is told apart has stride 0."""
    if math.prod(widths) >= SAFE:
        return None
    return {
        k: math.prod(widths[:place]) if widths[place] > 1 else 0 for place, k in enumerate(rows)
    }


def _whole(values: Sequence[int]) -> IntArray:
    return np.array(values, dtype=np.int64)


def _allowed(
    moving: Sequence[tuple[LinearSum, PartialSums, int]],
) -> tuple[IntArray, BoolArray]:
    starts, tables, filled = [], [np.zeros(0, dtype=bool)], 0
    for total, partial, stage in moving:
        if total.values is None:
            starts.append(-1)
            continue
        starts.append(filled)
        tables.append(partial.allowed(stage, total.values))
        filled += len(tables[-1])
    return _whole(starts), np.concatenate(tables)
