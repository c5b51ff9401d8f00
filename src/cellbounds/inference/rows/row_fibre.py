"""The consistent tables of one conditional: their number, their weights and the likeliest one.

Given the row sums, rows are independent of each other: sums over each row's vectors are multiplied
over the rows, as polynomials in the row sums.

The likeliest table has the best vectors of each row sum. Row sums are found by dynamic programming
over those that can belong to a best table. Whatever the price of one record, a table falls short of
the sum of every row's best (weight less price) by what its rows fall short together; so once a
table is found that falls short by no more than some limit, row sums that fall short by more than
the limit alone were rightly left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cellbounds.data.cell_groups import cells_behind
from cellbounds.errors import InconsistentRelease, InvalidInput, UnsupportedRelease
from cellbounds.inference.protocol import NO_WEIGHT, check_records, check_room, check_work
from cellbounds.inference.rows.polynomials import (
    ROUNDINGS,
    coefficient,
    correlation,
    dense,
    product,
    product_steps,
)
from cellbounds.inference.rows.row_choices import best_pairs, first_best, selected
from cellbounds.inference.rows.row_types import RowSystem, make_row_system, tables_of
from cellbounds.inference.rows.row_vectors import SummedCell, WeightedRow, row_counts
from cellbounds.inference.rows.sum_kernel import CHAIN
from cellbounds.model.priors import Weights
from cellbounds.model.rates.layout import make_layout
from cellbounds.model.structure import ConditionalFacts, Facts
from cellbounds.results.distribution import Distribution
from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.runtime.scaled_floats import UNIT, FloatArray, ScaledFloats, normalised
from cellbounds.statements import Total
from cellbounds.statements.inequalities import combined_bounds

WEIGHING = "summing the weights of all tables"
FINDING = "finding the most likely table"
CELL = "the distribution of a cell"

TRANSFORM = 4
"""Steps that one word of a product of polynomials counts for, for each doubling of its length."""

FAR = 1100
"""Row sums below 2**-FAR of the likeliest add nothing to a probability that is shown."""

LONG = 1 << 11
"""Polynomials from this length on are made level before they are multiplied."""

MARGIN = 1e-6
"""Logarithms are further from the truth than this only beyond 2**40."""


@dataclass(frozen=True, slots=True, eq=False)
class RowFibre:
    """Tables row by row: given the row sums, rows are independent of each other."""

    system: RowSystem
    effort: float
    level_from: int = LONG
    name = "generating functions of the rows of one conditional"

    def count(self) -> int:
        """How many tables there are, exactly: one coefficient of a product of polynomials."""
        from flint import fmpz_poly

        system, effort, doing = self.system, self.effort, "counting the tables"
        check_work(system.layout_steps, effort, doing)
        size = system.surplus + 1
        counted = [row_counts(row_type, effort) for row_type in system.types]
        rows = len(system.type_of)
        copies = system.copies
        bits = [max(counts).bit_length() * n for counts, n in zip(counted, copies, strict=True)]
        doublings = math.log2(size + 1) * math.log2(rows + 2)
        check_work(TRANSFORM * size * (sum(bits) / 64 + rows) * doublings, effort, doing)
        factors: list[Any] = [fmpz_poly([1] * (system.slack + 1))]
        for row_type, counts, times in zip(system.types, counted, copies, strict=True):
            coefficients = [0] * size
            for offset, count in zip(system.offsets(row_type).tolist(), counts, strict=True):
                if offset < size:
                    coefficients[offset] = count
            factors.append(fmpz_poly(coefficients).pow_trunc(times, size))
        # Short coefficients first, so that long ones are few.
        while len(factors) > 2:
            factors.sort(key=lambda factor: -int(factor.height_bits()))
            factors.append(factors.pop().mul_low(factors.pop(), size))
        # Of the last product one coefficient is enough.
        left, right = factors if len(factors) == 2 else (fmpz_poly([1]), factors[0])
        ends = range(max(0, size - 1 - int(right.degree())), min(int(left.degree()), size - 1) + 1)
        return int(sum(left[i] * right[size - 1 - i] for i in ends))

    def listed(self) -> Iterator[IntArray]:
        """All of them; by row, its sum first, then its cells, then their parts."""
        return tables_of(self.system)

    def weighted(self, weights: Weights) -> WeightedRowFibre:
        """Sum their weights (see `Fibre`); rows that are alike are one."""
        system, effort = self.system, self.effort
        check_work(system.layout_steps, effort, WEIGHING)
        distinct: dict[object, WeightedRow] = {}
        rows = []
        for place, number in enumerate(system.type_of.tolist()):
            row_type = system.types[number]
            cells = tuple(
                SummedCell(weights, tuple(system.numbers(place, column).tolist()), parts, effort)
                for column, parts in enumerate(row_type.parts)
            )
            key = (number, *(cell.key for cell in cells))
            if key not in distinct:
                offsets = system.offsets(row_type)[row_type.boxes[0]]
                distinct[key] = WeightedRow(row_type, cells, offsets, effort)
            rows.append(distinct[key])
        check_room(sum(row.numbers for row in distinct.values()), WEIGHING)
        check_work(sum(row.making for row in distinct.values()), effort, WEIGHING)
        check_room(len(rows) * (system.surplus + 1.0), WEIGHING)
        products = len(rows) * product_steps(system.surplus + 1)
        check_work(sum(row.steps for row in distinct.values()) + products, effort, WEIGHING)
        return WeightedRowFibre(self, rows, weights)


def rows_fibre(facts: Facts, effort: float, *, level_from: int = LONG) -> RowFibre:
    """The fibre of a release that is one conditional and what fits its rows.

    Polynomials from the length `level_from` on are made level before they are multiplied.

    Raises
    ------
    InconsistentRelease
        If no table fits.
    UnsupportedRelease
        If it is another release, or nothing limits N.
    """
    conditional = facts.conditional
    if conditional is None:
        raise UnsupportedRelease(facts.not_conditional)
    total = conditional.total
    if total.upper is None:
        most = _most_records(conditional)
        if most is None:
            raise UnsupportedRelease(
                "N has no upper limit, so that infinitely many tables may fit; publish N, or give "
                "Total(upper=...)"
            )
        if most < total.lower:
            raise InconsistentRelease(
                f"{total.notation}, but what is known leaves room for {most} records at most"
            )
        conditional = replace(conditional, total=Total(lower=total.lower, upper=most))
    check_records(conditional.total.upper or 0)
    layout = make_layout(conditional, facts.release.domain.names)
    return RowFibre(make_row_system(layout), effort, level_from)


def _most_records(facts: ConditionalFacts) -> int | None:
    """What upper bounds on all rows, cells or parts together leave; None if some have none."""
    domain, conditional = facts.domain, facts.conditional
    rows = ~conditional.intervals.zero
    cells = np.repeat(rows, conditional.intervals.low.shape[1])
    known = [
        (facts.on_rows, conditional.given, rows),
        (facts.on_cells, conditional.variables, cells),
    ]
    if facts.on_parts:
        behind = cells_behind(domain, conditional.variables)
        parts = np.repeat(cells, behind.widths)[behind.places()]
        known.append((facts.on_parts, domain.names, parts))
    sums = []
    for statements, names, held in known:
        upper = combined_bounds(statements, domain, names).upper.ravel()[held]
        if not np.any(upper < 0):
            sums.append(int(upper.sum(dtype=object)))
    return min(sums, default=None)


class WeightedRowFibre:
    """Sums of the weights of all tables of one conditional.

    The weights of row sums are multiplied by a power of one number, the same for all rows, so
    that products of long polynomials are level; N being given, no probability changes.
    """

    def __init__(self, fibre: RowFibre, rows: Sequence[WeightedRow], weights: Weights) -> None:
        system = fibre.system
        self._system, self._rows, self._effort = system, rows, fibre.effort
        self._uniform = weights.uniform
        self._size = system.surplus + 1
        self._tilt = _level(system, rows) if self._size >= fibre.level_from else Fraction(1)
        self._powers = weights.sequence_of((Fraction(1), self._tilt), system.surplus)
        self._tilted = {row: row.totals.times(self._powers.at(row.offsets)) for row in set(rows)}
        # Products of the polynomials after each row, last the totals that N leaves open.
        self._suffixes = self._products(self._rows[:0:-1], system.slack)[::-1]
        in_rows = sum(row.roundings + 3 for row in rows)
        in_products = (len(rows) + 3) * ROUNDINGS
        in_cells = 3 * max((row.roundings for row in rows), default=0) + CHAIN + 20
        self.error = 2.02 * UNIT * (in_rows + in_products + in_cells)
        at = system.surplus
        first = self._polynomial(rows[0]) if rows else self._products((), 0)[0]
        self.log_mass = coefficient(first, self._suffixes[0], at).log_at(0)
        if self.log_mass == -math.inf:
            raise InvalidInput(NO_WEIGHT)
        self.log_mass -= at * math.log(self._tilt)
        self._row_masses: dict[WeightedRow, list[ScaledFloats]] = {}
        self._places = {
            cell: (place, column, part)
            for place, row in enumerate(rows)
            for column in range(len(row.cells))
            for part, cell in enumerate(system.numbers(place, column).tolist())
        }

    def _polynomial(self, row: WeightedRow) -> ScaledFloats:
        return dense(row.offsets, self._tilted[row], self._size)

    def _products(self, rows: Sequence[WeightedRow], slack: int) -> list[ScaledFloats]:
        """The powers up to some slack, multiplied by the polynomial of one row after another."""
        products = [self._powers.where(np.arange(self._size) <= slack)]
        for row in rows:
            products.append(product(self._polynomial(row), products[-1]))
        return products

    @cached_property
    def _prefixes(self) -> list[ScaledFloats]:
        """Products of the polynomials of the rows before each."""
        return self._products(self._rows[:-1], 0)

    def distribution(self, cell: int) -> Distribution:
        """The distribution of the count of one cell (flat)."""
        if cell not in self._places:
            return Distribution(np.zeros(1, dtype=np.int64), np.ones(1))
        place, column, part = self._places[cell]
        row = self._rows[place]
        masses = self._masses(place)[column]
        if len(row.cells[column].cells) > 1:
            masses = self._part_masses(row.cells[column], part, masses)
        values = np.flatnonzero(masses.mantissa > 0)
        return Distribution(values, masses.at(values).shares())

    def _masses(self, place: int) -> list[ScaledFloats]:
        """The weights of all tables by the count of each column of a row."""
        row = self._rows[place]
        masses = self._row_masses.get(row)
        if masses is None:
            steps = 2 * product_steps(self._size) * len(self._rows)
            check_work(steps, self._effort, CELL)
            others = product(self._prefixes[place], self._suffixes[place])
            outer = others.at(self._system.surplus - row.offsets)
            outer = outer.times(self._powers.at(row.offsets))
            masses = self._row_masses[row] = self._by_count(row, outer)
        return masses

    def _by_count(self, row: WeightedRow, outer: ScaledFloats) -> list[ScaledFloats]:
        """The same from what the other rows weigh for each sum of this one.

        Sums that are next to impossible are passed over; counts that need them stay possible.
        """
        vectors, chosen = row.vectors, np.arange(len(row.offsets))
        if (vectors.weights.mantissa > 0).all():
            logs = outer.times(row.totals).log2()
            chosen = np.flatnonzero(logs >= logs.max() - FAR)
        steps = 4 * vectors.steps * len(chosen) / len(row.offsets)
        check_work(steps, self._effort, CELL)
        masses = vectors.masses(outer, chosen)
        if len(chosen) == len(row.offsets):
            return masses
        return [_with_possible(*pair) for pair in zip(masses, vectors.possible(), strict=True)]

    def _part_masses(self, cell: SummedCell, part: int, masses: ScaledFloats) -> ScaledFloats:
        """The same for one part: what remains of each sum is shared out among the others."""
        most = len(masses.mantissa) - 1
        check_work(most**2 / 2, self._effort, "the distribution of a part of a cell")
        share = masses.over(cell.after(-1, most))
        others = correlation(share, cell.rest(part, most))
        return cell.part(part, most).times(others)

    def mode(self) -> IntArray:
        """The first table of largest weight (flat)."""
        system, rows = self._system, self._rows
        if self._uniform:
            return next(tables_of(system))
        # Most products are seen to be too small before they are made.
        check_work(sum(row.best_vectors.steps / 2 for row in set(rows)), self._effort, FINDING)
        best = {row: row.best_vectors.totals(largest=True) for row in set(rows)}
        chosen = _best_sums(system, rows, [best[row] for row in rows], self._effort)
        table = np.zeros(system.size, dtype=np.int64)
        for place, (row, at) in enumerate(zip(rows, chosen, strict=True)):
            for column, count in enumerate(row.best_vectors.best(at)):
                table[system.numbers(place, column)] = _best_split(row.cells[column], count)
        return table

    def draw(self, size: int, rng: np.random.Generator) -> IntArray:
        """Independent tables, one in each line: row sums one after another, rows, then parts."""
        system, rows = self._system, self._rows
        steps = sum(row.vectors.steps / len(row.offsets) for row in rows)
        check_work(size * steps, self._effort, f"drawing {size} tables")
        left, places = np.full(size, system.surplus, dtype=np.int64), []
        wholes = [None, *self._suffixes]
        for row, after, whole in zip(rows, self._suffixes, wholes, strict=False):
            products = row.offsets, self._tilted[row], after, whole
            places.append(selected(left, *products, rng, row.effort))
            left = left - row.offsets[places[-1]]
        drawn = np.zeros((size, system.size), dtype=np.int64)
        for number, (row, chosen) in enumerate(zip(rows, places, strict=True)):
            cells = _draw_cells(row, chosen, rng)
            for column, cell in enumerate(row.cells):
                numbers = system.numbers(number, column)
                drawn[:, numbers] = _draw_parts(cell, cells[:, column], rng)
        return drawn


def _with_possible(masses: ScaledFloats, possible: BoolArray) -> ScaledFloats:
    """Give counts that are possible, but have no mass, one that no probability shows."""
    least = int(masses.exponent.max()) - 2 * FAR
    missing = possible & (masses.mantissa == 0)
    return ScaledFloats(
        np.where(missing, 0.5, masses.mantissa), np.where(missing, least, masses.exponent)
    )


def _level(system: RowSystem, rows: Sequence[WeightedRow]) -> Fraction:
    """A number whose powers make the expected sums of all rows add up to N."""
    weights = [(np.arange(system.slack + 1), np.zeros(system.slack + 1))]
    for row in rows:
        logs = row.totals.log2()
        positive = np.flatnonzero(np.isfinite(logs))
        if not len(positive):
            return Fraction(1)  # no table has any weight
        few = positive[:: len(positive) // LONG + 1]
        weights.append((row.offsets[few], logs[few]))

    def expected(slope: float) -> float:
        total = 0.0
        for offsets, logs in weights:
            tilted = logs + slope * offsets
            shares = np.exp2(np.maximum(tilted - tilted.max(), -100.0))
            total += float((shares * offsets).sum() / shares.sum())
        return total

    price = _balanced(lambda price: expected(-price), system.surplus)
    return Fraction(2.0 ** min(max(-price, -64.0), 64.0))


def _balanced(used: Callable[[float], float], whole: float) -> float:
    """The price at which what is used, the less the higher it is, adds up to a whole, or nearly."""
    low, high = -1.0, 1.0
    while used(low) < whole and low > -1e9:
        low *= 2
    while used(high) > whole and high < 1e9:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if used(middle) > whole else (low, middle)
    return high


def _best_sums(
    system: RowSystem, rows: Sequence[WeightedRow], weights: Sequence[ScaledFloats], effort: float
) -> list[int]:
    """For each row the place of its sum in a best table."""
    if not rows:
        return []
    logs = [own.log2() for own in weights]

    def spent(price: float) -> int:
        """What the best row sums are together if a record has this price."""
        pairs = zip(rows, logs, strict=True)
        best = (row.offsets[np.argmax(own - price * row.offsets)] for row, own in pairs)
        return int(sum(best)) + (system.slack if price < 0 else 0)

    price = _balanced(spent, system.surplus)
    short = [_shortfall(own - price * row.offsets) for row, own in zip(rows, logs, strict=True)]
    loose = _shortfall(-price * np.arange(system.slack + 1))
    limit = 1.0
    while True:
        near = [np.flatnonzero(own <= limit + MARGIN) for own in short]
        check_work(sum(map(len, near)) * (system.surplus + 1.0), effort, FINDING)
        chosen = _best_among(system, rows, weights, near, loose <= limit + MARGIN)
        if chosen is not None:
            used = sum(int(row.offsets[at]) for row, at in zip(rows, chosen, strict=True))
            missed = sum(float(own[at]) for own, at in zip(short, chosen, strict=True))
            if missed + float(loose[system.surplus - used]) <= limit:
                return chosen
        limit *= 4


def _shortfall(values: npt.NDArray[np.floating[Any]]) -> FloatArray:
    return np.asarray(values.max() - values, dtype=np.float64)


def _best_among(
    system: RowSystem,
    rows: Sequence[WeightedRow],
    weights: Sequence[ScaledFloats],
    near: Sequence[IntArray],
    loose: BoolArray,
) -> list[int] | None:
    """The first best table whose row sums are all among those near, None if there is none."""
    open_end = np.zeros(system.surplus + 1)
    open_end[np.flatnonzero(loose)] = 1.0
    after = [normalised(open_end)]
    few = [(row.offsets[at], own.at(at)) for row, own, at in zip(rows, weights, near, strict=True)]
    for offsets, own in reversed(few):
        after.append(ScaledFloats(*best_pairs(offsets, own, after[-1])))
    after.reverse()
    left, chosen = system.surplus, []
    if after[0].mantissa[left] == 0:
        return None
    for (offsets, own), at, rest in zip(few, near, after[1:], strict=True):
        place = first_best(left, offsets, own, rest)
        chosen.append(int(at[place]))
        left -= int(offsets[place])
    return chosen


def _best_split(cell: SummedCell, count: int) -> list[int]:
    """The first best way to split a count into the parts of a cell."""
    parts, left, every = [], count, np.arange(count + 1)
    for place in range(len(cell.cells) - 1):
        after = cell.after(place, count, "best")
        parts.append(first_best(left, every, cell.part(place, count), after))
        left -= parts[-1]
    return [*parts, left]


def _draw_cells(row: WeightedRow, places: IntArray, rng: np.random.Generator) -> IntArray:
    """Counts of all columns, one line for each draw; draws with the same sum share the work."""
    uniforms = rng.random((len(places), len(row.cells)))
    cells = np.empty(uniforms.shape, dtype=np.int64)
    order = np.argsort(places, kind="stable")
    ends = np.flatnonzero(np.diff(places[order], append=-1)) + 1
    begins = np.concatenate([[0], ends])[:-1]
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        same = order[begin:end]
        cells[same] = row.vectors.draw(int(places[same[0]]), uniforms[same])
    return cells


def _draw_parts(cell: SummedCell, counts: IntArray, rng: np.random.Generator) -> IntArray:
    """Split drawn counts of one cell into its parts, one part after the other."""
    parts = np.empty((len(counts), len(cell.cells)), dtype=np.int64)
    left, most = counts, int(counts.max(initial=0))
    every = np.arange(most + 1)
    for place in range(len(cell.cells) - 1):
        part, after = cell.part(place, most), cell.after(place, most)
        whole = cell.after(place - 1, most)
        parts[:, place] = selected(left, every, part, after, whole, rng, cell.effort)
        left = left - parts[:, place]
    parts[:, -1] = left
    return parts
