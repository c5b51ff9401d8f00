"""A table of largest weight: the best vectors of each row sum, then the best row sums.

Row sums are found by dynamic programming over those that can belong to a best table. Whatever
the price of one record, a table falls short of the sum of every row's best (weight less price) by
what its rows fall short together; so once a table is found that falls short by no more than some
limit, row sums that fall short by more than the limit alone were rightly left out.

Weights of all tables: sums over each row's vectors, multiplied over the rows.

The consistent tables of one conditional as a fibre.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cellbounds.errors import InconsistentRelease, InvalidInput
from cellbounds.inference.protocol import (
    MOST_RECORDS,
    Refusal,
    check_room,
    check_work,
    too_many_records,
)
from cellbounds.inference.rows.polynomials import (
    ROUNDINGS,
    coefficient,
    dense,
    divided,
    kernel_ready,
    logarithms,
    masked,
    product,
    product_steps,
    times,
)
from cellbounds.inference.rows.row_sampling import draw_tables
from cellbounds.inference.rows.row_types import Ground, make_ground, tables_of
from cellbounds.inference.rows.row_vectors import SummedCell, WeightedRow, count_of
from cellbounds.model.constraints import cells_behind
from cellbounds.model.priors import Weights
from cellbounds.model.structure import ConditionalFacts, Facts
from cellbounds.results.distribution import Distribution
from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.runtime.scaled_floats import UNIT, FloatArray, ScaledFloats, log_of, probabilities
from cellbounds.solvers.conditional.layout import make_layout
from cellbounds.statements import Total
from cellbounds.statements.knowledge import laid_out

__all__ = ["rows_fibre"]

FINDING = "finding the most likely table"

MARGIN = 1e-6
"""Logarithms are further from the truth than this only beyond 2**40."""


def likeliest_table(ground: Ground, rows: Sequence[WeightedRow], effort: float) -> IntArray:
    """The first table of largest weight, flat."""
    distinct = {id(row): row for row in rows}
    # Most products are seen to be too small before they are made.
    check_work(sum(row.best_vectors.steps / 2 for row in distinct.values()), effort, FINDING)
    best = {key: row.best_vectors.totals(largest=True) for key, row in distinct.items()}
    chosen = _best_sums(ground, rows, [best[id(row)] for row in rows], effort)
    table = np.zeros(ground.size, dtype=np.int64)
    for place, (row, at) in enumerate(zip(rows, chosen, strict=True)):
        for column, count in enumerate(row.best_vectors.best(at)):
            table[ground.numbers(place, column)] = _best_split(row.cells[column], count)
    return table


def _best_sums(
    ground: Ground, rows: Sequence[WeightedRow], weights: Sequence[ScaledFloats], effort: float
) -> list[int]:
    """For each row the place of its sum in a best table."""
    if not rows:
        return []
    logs = [logarithms(one) for one in weights]
    price = _price(ground, rows, logs)
    short = [_shortfall(one - price * row.offsets) for row, one in zip(rows, logs, strict=True)]
    loose = _shortfall(-price * np.arange(ground.give + 1))
    limit = 1.0
    while True:
        kept = [np.flatnonzero(one <= limit + MARGIN) for one in short]
        check_work(sum(map(len, kept)) * (ground.spare + 1.0), effort, DOING)
        chosen = _among(ground, rows, weights, kept, loose <= limit + MARGIN)
        if chosen is not None:
            used = sum(int(row.offsets[at]) for row, at in zip(rows, chosen, strict=True))
            missed = sum(float(one[at]) for one, at in zip(short, chosen, strict=True))
            if missed + float(loose[ground.spare - used]) <= limit:
                return chosen
        limit *= 4


def _shortfall(values: npt.NDArray[np.floating[Any]]) -> FloatArray:
    return np.asarray(values.max() - values, dtype=np.float64)


def _price(ground: Ground, rows: Sequence[WeightedRow], logs: Sequence[FloatArray]) -> float:
    """The price of a record at which the best row sums add up to N, or nearly."""
    pairs = list(zip(rows, logs, strict=True))

    def used(price: float) -> int:
        places = [int(np.argmax(one - price * row.offsets)) for row, one in pairs]
        spent = sum(int(row.offsets[at]) for row, at in zip(rows, places, strict=True))
        return spent + (ground.give if price < 0 else 0)

    low, high = -1.0, 1.0
    while used(low) < ground.spare and low > -1e9:
        low *= 2
    while used(high) > ground.spare and high < 1e9:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        if used(middle) > ground.spare:
            low = middle
        else:
            high = middle
    return high


def _among(
    ground: Ground,
    rows: Sequence[WeightedRow],
    weights: Sequence[ScaledFloats],
    kept: Sequence[IntArray],
    loose: BoolArray,
) -> list[int] | None:
    """The first best table whose row sums are all among those kept, None if there is none."""
    from cellbounds.inference.rows.choice_kernel import best_pairs, first_best
    from cellbounds.inference.rows.sum_kernel import EMPTY

    size = ground.spare + 1
    mantissa, exponent = np.zeros(size), np.full(size, EMPTY)
    open_end = np.flatnonzero(loose)
    mantissa[open_end], exponent[open_end] = 0.5, 1
    after = [ScaledFloats(mantissa, exponent)]
    few = [
        (row.offsets[at], one.mantissa[at], one.exponent[at])
        for row, one, at in zip(rows, weights, kept, strict=True)
    ]
    for one in reversed(few):
        after.append(ScaledFloats(*best_pairs(*one, *after[-1])))
    after.reverse()
    left, chosen = ground.spare, []
    if after[0].mantissa[left] == 0:
        return None
    for row, one, at, rest in zip(rows, few, kept, after[1:], strict=True):
        place = int(at[first_best(left, *one, *rest)])
        chosen.append(place)
        left -= int(row.offsets[place])
    return chosen


def _best_split(cell: SummedCell, count: int) -> list[int]:
    """The first best way to split a count into the parts of a cell."""
    from cellbounds.inference.rows.choice_kernel import first_best

    parts, left = [], count
    for place in range(len(cell.cells) - 1):
        after = cell.best_after(place, count)
        parts.append(first_best(left, np.arange(count + 1), *cell.part(place, count), *after))
        left -= parts[-1]
    return [*parts, left]


DOING = "summing the weights of all tables"

FAR = 1100
"""Row sums below 2**-FAR of the likeliest add nothing to a probability that is shown."""

LONG = 1 << 11
"""Polynomials from this length on are made level before they are multiplied."""


def weigh(ground: Ground, weights: Weights, effort: float) -> WeightedRowFibre:
    """Sum the weights of all tables.

    Raises
    ------
    InvalidInput
        If no table has any weight.
    TooMuchWork
        If that would take more steps than the effort.
    """
    check_work(ground.layout_steps, effort, DOING)
    seen: dict[object, WeightedRow] = {}
    rows = []
    for place in ground.rows:
        line = ground.line(place)
        cells = tuple(
            SummedCell(
                weights,
                tuple(int(cell) for cell in ground.numbers(place, column)),
                line.parts[column],
                effort,
            )
            for column in range(line.width)
        )
        key = (int(ground.line_of[place]), *(cell.key for cell in cells))
        if key not in seen:
            seen[key] = WeightedRow(line, cells, ground.offsets(line), effort)
        rows.append(seen[key])
    check_room(sum(row.numbers for row in seen.values()), DOING)
    check_work(sum(row.making for row in seen.values()), effort, DOING)
    check_room(len(rows) * (ground.spare + 1.0), DOING)
    products = len(rows) * product_steps(ground.spare + 1)
    check_work(sum(row.steps for row in seen.values()) + products, effort, DOING)
    return WeightedRowFibre(ground, rows, weights, effort)


class WeightedRowFibre:
    """Sums of the weights of all tables of one conditional.

    The weights of row sums are multiplied by a power of one number, the same for all rows, so
    that products of long polynomials are level; N being given, no probability changes.
    """

    def __init__(
        self, ground: Ground, rows: Sequence[WeightedRow], weights: Weights, effort: float
    ) -> None:
        self._ground, self._rows, self._effort = ground, rows, effort
        self._uniform = weights.uniform
        self._size = ground.spare + 1
        self._tilt = _level(ground, rows) if self._size >= LONG else Fraction(1)
        self._powers = kernel_ready(weights.sequence_of((Fraction(1), self._tilt), ground.spare))
        distinct = {id(row): row for row in rows}
        self._tilted = {key: times(row.totals, self._at(row)) for key, row in distinct.items()}
        self._suffixes = self._multiplied()
        self.error = self._error()
        self.log_mass = self._log_mass()
        self._row_masses: dict[int, list[ScaledFloats]] = {}
        self._places = {
            cell: (place, column, part)
            for place, row in enumerate(rows)
            for column in range(row.line.width)
            for part, cell in enumerate(ground.numbers(place, column).tolist())
        }

    def _at(self, row: WeightedRow) -> ScaledFloats:
        return ScaledFloats(self._powers.mantissa[row.offsets], self._powers.exponent[row.offsets])

    def _polynomial(self, row: WeightedRow) -> ScaledFloats:
        return dense(row.offsets, self._tilted[id(row)], self._size)

    def _multiplied(self) -> list[ScaledFloats]:
        """Products of the polynomials after each row, last the totals that N leaves open."""
        found = [_first(self._powers, self._ground.give)]
        for row in reversed(self._rows[1:]):
            found.append(product(self._polynomial(row), found[-1]))
        return found[::-1]

    def _error(self) -> float:
        from cellbounds.inference.rows.sum_kernel import CHAIN

        in_rows = sum(row.roundings + 3 for row in self._rows)
        in_products = (len(self._rows) + 3) * ROUNDINGS
        in_cells = 3 * max((row.roundings for row in self._rows), default=0) + CHAIN + 20
        return 2.02 * UNIT * (in_rows + in_products + in_cells)

    def _log_mass(self) -> float:
        at = self._ground.spare
        before = self._polynomial(self._rows[0]) if self._rows else _first(self._powers, 0)
        mantissa, exponent = coefficient(before, self._suffixes[0], at)
        if mantissa == 0:
            raise InvalidInput(
                "the prior gives no weight to any consistent table; give positive probabilities "
                "or means to cells that must hold somebody"
            )
        return log_of(mantissa, exponent) - at * math.log(self._tilt)

    @cached_property
    def _prefixes(self) -> list[ScaledFloats]:
        """Products of the polynomials of the rows before each."""
        found = [_first(self._powers, 0)]
        for row in self._rows[:-1]:
            found.append(product(self._polynomial(row), found[-1]))
        return found

    def distribution(self, cell: int) -> Distribution:
        """The distribution of the count of one cell (flat)."""
        if cell not in self._places:
            return Distribution(np.zeros(1, dtype=np.int64), np.ones(1))
        place, column, part = self._places[cell]
        row = self._rows[place]
        masses = self._masses(place)[column]
        if row.line.part_counts[column] > 1:
            masses = self._part_masses(row.cells[column], part, masses)
        values = np.flatnonzero(masses.mantissa > 0)
        return Distribution(
            values, probabilities(ScaledFloats(masses.mantissa[values], masses.exponent[values]))
        )

    def _masses(self, place: int) -> list[ScaledFloats]:
        """The weights of all tables by the count of each column of a row."""
        row = self._rows[place]
        found = self._row_masses.get(id(row))
        if found is None:
            steps = 2 * product_steps(self._size) * len(self._rows)
            check_work(steps, self._effort, "the distribution of a cell")
            others = product(self._prefixes[place], self._suffixes[place])
            at = self._ground.spare - row.offsets
            outer = times(ScaledFloats(others.mantissa[at], others.exponent[at]), self._at(row))
            found = self._row_masses[id(row)] = self._by_count(row, outer)
        return found

    def _by_count(self, row: WeightedRow, outer: ScaledFloats) -> list[ScaledFloats]:
        """The same from what the other rows weigh for each sum of this one.

        Sums that are next to impossible are passed over; counts that need them stay possible.
        """
        vectors, chosen = row.vectors, np.arange(len(row.offsets))
        all_positive = bool((vectors.weights.mantissa > 0).all())
        if all_positive:
            logs = logarithms(times(outer, row.totals))
            chosen = np.flatnonzero(logs >= logs.max() - FAR)
        steps = 4 * vectors.steps * len(chosen) / len(row.offsets)
        check_work(steps, self._effort, "the distribution of a cell")
        found = vectors.masses(outer, chosen)
        if len(chosen) == len(row.offsets):
            return found
        return [
            _with_possible(masses, possible)
            for masses, possible in zip(found, vectors.possible(), strict=True)
        ]

    def _part_masses(self, cell: SummedCell, part: int, masses: ScaledFloats) -> ScaledFloats:
        """The same for one part: what remains of each sum is shared out among the others."""
        from cellbounds.inference.rows.sum_kernel import correlate

        most = len(masses.mantissa) - 1
        check_work(most**2 / 2, self._effort, "the distribution of a part of a cell")
        share = divided(masses, cell.sequence(most))
        return times(
            cell.part(part, most), ScaledFloats(*correlate(*share, *cell.rest(part, most)))
        )

    def mode(self) -> IntArray:
        """The first table of largest weight (flat)."""
        if self._uniform:
            return next(tables_of(self._ground))
        return likeliest_table(self._ground, self._rows, self._effort)

    def draw(self, size: int, rng: np.random.Generator) -> IntArray:
        """Independent tables, one in each line."""
        steps = sum(row.vectors.steps / len(row.offsets) for row in self._rows)
        check_work(size * steps, self._effort, f"drawing {size} tables")
        tilted = [self._tilted[id(row)] for row in self._rows]
        return draw_tables(self._ground, self._rows, tilted, self._suffixes, size, rng)


def _first(powers: ScaledFloats, last: int) -> ScaledFloats:
    """The powers up to the last, then zeros."""
    return masked(powers, np.arange(len(powers.mantissa)) <= last)


def _with_possible(masses: ScaledFloats, possible: BoolArray) -> ScaledFloats:
    """Give counts that are possible, but have no mass, one that no probability shows."""
    least = int(masses.exponent.max()) - 2 * FAR
    missing = possible & (masses.mantissa == 0)
    return ScaledFloats(
        np.where(missing, 0.5, masses.mantissa), np.where(missing, least, masses.exponent)
    )


def _level(ground: Ground, rows: Sequence[WeightedRow]) -> Fraction:
    """A number whose powers make the expected sums of all rows add up to N."""
    logs = [(np.arange(ground.give + 1), np.zeros(ground.give + 1))]
    for row in rows:
        found = logarithms(row.totals)
        weighing = np.flatnonzero(np.isfinite(found))
        if not len(weighing):
            return Fraction(1)  # no table has any weight
        few = weighing[:: len(weighing) // LONG + 1]
        logs.append((row.offsets[few], found[few]))

    def expected(slope: float) -> float:
        total = 0.0
        for offsets, one in logs:
            tilted = one + slope * offsets
            shares = np.exp2(np.maximum(tilted - tilted.max(), -100.0))
            total += float((shares * offsets).sum() / shares.sum())
        return total

    low, high = -64.0, 64.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if expected(middle) < ground.spare else (low, middle)
    return Fraction(2.0**high)


@dataclass(frozen=True, slots=True, eq=False)
class RowFibre:
    """Tables row by row: given the row sums, rows are independent of each other."""

    ground: Ground
    effort: float
    name = "generating functions of the rows of one conditional"

    def count(self) -> int:
        """How many tables there are, in exact integers."""
        return count_of(self.ground, self.effort)

    def listed(self) -> Iterator[IntArray]:
        """All of them; by row, its sum first, then its cells, then their parts."""
        return tables_of(self.ground)

    def weighted(self, weights: Weights) -> WeightedRowFibre:
        """Sum their weights."""
        return weigh(self.ground, weights, self.effort)


def rows_fibre(facts: Facts, effort: float) -> RowFibre | Refusal:
    """The fibre of a release that is one conditional and what fits its rows.

    Raises
    ------
    InconsistentRelease
        If no table fits.
    """
    one = facts.conditional
    if one is None:
        return Refusal(facts.not_conditional)
    if one.total.upper is None:
        most = _most_records(one)
        if most is None:
            return Refusal(
                "N has no upper limit, so that infinitely many tables may fit; publish N, or give "
                "Total(upper=...)"
            )
        if most < one.total.lower:
            raise InconsistentRelease(
                f"{one.total.notation}, but prior knowledge leaves room for {most} records at most"
            )
        one = replace(one, total=Total(lower=one.total.lower, upper=most))
    if (one.total.upper or 0) >= MOST_RECORDS:
        return too_many_records(one.total.upper or 0)
    return RowFibre(make_ground(make_layout(one, facts.release.domain.names)), effort)


def _most_records(facts: ConditionalFacts) -> int | None:
    """What upper bounds on all rows, cells or parts together leave; None if some have none."""
    domain, conditional = facts.domain, facts.conditional
    rows = ~conditional.intervals.zero
    cells = np.repeat(rows, conditional.intervals.low.shape[1])
    said = [
        (facts.on_rows, conditional.given, rows),
        (facts.on_cells, conditional.variables, cells),
    ]
    if facts.on_parts:
        behind = cells_behind(domain, conditional.variables)
        parts = np.repeat(cells, behind.widths)[behind.places()]
        said.append((facts.on_parts, domain.names, parts))
    found = []
    for statements, names, held in said:
        upper = laid_out(statements, domain, names).upper.ravel()[held]
        if not np.any(upper < 0):
            found.append(int(upper.sum(dtype=object)))
    return min(found, default=None)
