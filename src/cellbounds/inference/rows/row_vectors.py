"""Weights of a summed cell from the weights of its parts, and of the parts given their sum.

How many tables: row vectors counted for every row sum, then multiplied as polynomials.

The number of row vectors with cells between l_j and u_j and sum n is the coefficient of x**s,
s = n - sum l_j, in the product of 1 + x + ... + x**w_j, w_j = u_j - l_j; that is, in the product
of 1 - x**(w_j + 1), a polynomial with few terms when few widths are distinct, divided by
(1 - x)**J. All of it is in integers.

Sums over the vectors of one row, for all its feasible sums.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from cellbounds.inference.protocol import check_room, check_work
from cellbounds.inference.rows.polynomials import (
    ROUNDINGS,
    kernel_ready,
    masked,
    one_alone,
    product,
    product_steps,
)
from cellbounds.inference.rows.row_types import Ground, Line, PartRange
from cellbounds.model.priors import DIGITS, MOST_WEIGHTS, Kind, Weights
from cellbounds.runtime.arrays import SAFE, BoolArray, IntArray
from cellbounds.runtime.scaled_floats import FloatArray, ScaledFloats, wide_of

__all__ = ["SummedCell", "WeightedRow", "count_of", "row_counts"]


@dataclass(frozen=True, eq=False)
class SummedCell:
    """One cell of the statement: the cells of the table behind it, and what is known of them.

    Sequences are over the counts 0 to `most` and count the parts in every way that adds up.
    """

    weights: Weights
    cells: tuple[int, ...]
    ranges: tuple[PartRange, ...] | None
    effort: float
    _made: dict[object, ScaledFloats] = field(default_factory=dict)

    @property
    def key(self) -> tuple[tuple[Kind, ...], tuple[PartRange, ...] | None]:
        """What tells summed cells apart."""
        return tuple(self.weights.kinds[cell] for cell in self.cells), self.ranges

    @property
    def uniform(self) -> bool:
        """Whether all its parts weigh 1 whatever they hold."""
        return all(one == (Fraction(1), Fraction(1)) for one in self.key[0])

    @property
    def sequences(self) -> int:
        """How many sequences its own is made of."""
        closed = len(self.cells) == 1 or self._kind(self.cells) is not None
        return 1 if closed else 2 * len(self.cells)

    @property
    def roundings(self) -> int:
        """The relative error of its sequences, in units."""
        if len(self.cells) == 1 or self._kind(self.cells) is not None:
            return 1
        return len(self.cells) * (ROUNDINGS + 1)

    def _kind(self, cells: tuple[int, ...]) -> Kind | None:
        """The kind of the sum of some parts, if it is of one kind and nothing limits them."""
        return None if self.ranges is not None or not cells else self.weights.merged(cells)

    def _closed(self, kind: Kind, most: int) -> ScaledFloats:
        """The weights of one kind; rounding lengths up makes cells share their sequences."""
        found = self.weights.sequence_of(kind, _rounded_up(most))
        return kernel_ready(ScaledFloats(found.mantissa[: most + 1], found.exponent[: most + 1]))

    def sequence(self, most: int) -> ScaledFloats:
        """The weights of the summed cell."""
        return self.after(-1, most)

    def part(self, place: int, most: int) -> ScaledFloats:
        """The weights of one part."""
        found = self._closed(self.weights.kinds[self.cells[place]], most)
        if self.ranges is None:
            return found
        return masked(found, self.ranges[place].mask(most))

    def after(self, place: int, most: int) -> ScaledFloats:
        """The weights of the sum of all parts after one."""
        return self._combined("after", place, most)

    def rest(self, place: int, most: int) -> ScaledFloats:
        """The weights of the sum of all parts but one."""
        kind = self._kind(self.cells[:place] + self.cells[place + 1 :])
        if kind is not None:
            return self._closed(kind, most)
        return _convolved(
            self._combined("before", place, most), self.after(place, most), self.effort
        )

    def best_after(self, place: int, most: int) -> ScaledFloats:
        """The largest weight of all parts after one, for every sum of theirs."""
        return self._combined("best", place, most)

    def _combined(self, how: str, place: int, most: int) -> ScaledFloats:
        """Sums (or the largest) over the parts before or after one, one part more at a time."""
        chosen = self.cells[:place] if how == "before" else self.cells[place + 1 :]
        kind = None if how == "best" else self._kind(chosen)
        if kind is not None:
            return self._closed(kind, most)
        step = 1 if how == "before" else -1
        far = 0 if how == "before" else len(self.cells) - 1
        found = self._made.setdefault((how, far, most), one_alone(most))
        for at in range(far, place, step):
            key = (how, at + step, most)
            if key not in self._made:
                one = self.part(at, most)
                if at != far:
                    one = (_largest if how == "best" else _convolved)(one, found, self.effort)
                self._made[key] = one
            found = self._made[key]
        return found


def _rounded_up(most: int) -> int:
    """The next length that cells share, unless there is no room for it."""
    return max(most, min((1 << most.bit_length()) - 1, MOST_WEIGHTS - 1))


def _convolved(left: ScaledFloats, right: ScaledFloats, effort: float) -> ScaledFloats:
    check_work(product_steps(len(left.mantissa)), effort, "summing over the parts of a cell")
    return product(left, right)


def _largest(left: ScaledFloats, right: ScaledFloats, effort: float) -> ScaledFloats:
    from cellbounds.inference.rows.choice_kernel import best_pairs

    size = len(left.mantissa)
    check_work(size**2 / 2, effort, "splitting a cell in the most likely way")
    return ScaledFloats(*best_pairs(np.arange(size), *left, *right))


SUBSETS = 1 << 6
"""Sets of columns that are gone through for all row sums at once."""

INTERPRETED = 64
"""Steps that one operation on Python's integers counts for."""

TRANSFORM = 4
"""Steps that one word of a product of polynomials counts for, for each doubling of its length."""


def count_of(ground: Ground, effort: float) -> int:
    """The number of consistent tables.

    Raises
    ------
    TooMuchWork
        If counting would take more steps than the effort.
    """
    from flint import fmpz_poly

    doing = "counting the tables"
    check_work(ground.layout_steps, effort, doing)
    found = [row_counts(line, effort) for line in ground.lines]
    size = ground.spare + 1
    check_work(_product_steps(ground, found), effort, doing)
    factors: list[Any] = [fmpz_poly([1] * (ground.give + 1))]
    for line, counts, copies in zip(ground.lines, found, ground.copies, strict=True):
        dense = [0] * size
        for offset, count in zip(ground.offsets(line).tolist(), counts, strict=True):
            if offset < size:
                dense[offset] = count
        factors.append(fmpz_poly(dense).pow_trunc(copies, size))
    # Short coefficients first, so that long ones are few.
    while len(factors) > 2:
        factors.sort(key=lambda one: -int(one.height_bits()))
        factors.append(factors.pop().mul_low(factors.pop(), size))
    return _coefficient(factors, ground.spare)


def _coefficient(factors: Sequence[Any], place: int) -> int:
    """One coefficient of the product of at most two polynomials."""
    if len(factors) == 1:
        return int(factors[0][place])
    left, right = factors
    first = max(0, place - int(right.degree()))
    terms = (left[i] * right[place - i] for i in range(first, min(int(left.degree()), place) + 1))
    return int(sum(terms))


def _product_steps(ground: Ground, found: Sequence[Sequence[int]]) -> float:
    bits = [max(counts).bit_length() * n for counts, n in zip(found, ground.copies, strict=True)]
    words = sum(bits) / 64 + len(ground.line_of)
    doublings = math.log2(ground.spare + 2) * math.log2(len(ground.line_of) + 2)
    return TRANSFORM * (ground.spare + 1) * words * doublings


def row_counts(line: Line, effort: float) -> list[int]:
    """For each feasible sum, how many ways there are to fill the row, parts included."""
    lower, upper = line.ranges(line.sums)
    if not line.plain:
        return _by_products(line, lower, upper, effort)
    widths = upper - lower
    rest = line.sums - lower.sum(axis=0)
    # As many vectors reach the rest from below as from above.
    rest = np.minimum(rest, widths.sum(axis=0) - rest)
    if line.width == 1:
        return [1] * len(line.sums)
    if line.width == 2:
        return [int(n) + 1 for n in widths.min(axis=0)]
    check_room(float(rest.max()), "counting the ways to fill the rows")
    most = math.comb(int(rest.max()) + line.width - 1, line.width - 1)
    if 1 << line.width <= SUBSETS and most << line.width < SAFE:
        return _all_at_once(widths, rest)
    return _one_by_one(widths, rest, effort)


def _all_at_once(widths: IntArray, rest: IntArray) -> list[int]:
    """Inclusion and exclusion over all sets of columns that exceed their width."""
    fillings = np.ones(int(rest.max()) + 1, dtype=np.int64)
    for _ in range(len(widths) - 1):
        fillings = np.cumsum(fillings)
    counts = np.zeros(len(rest), dtype=np.int64)
    for chosen in itertools.product((0, 1), repeat=len(widths)):
        left = rest - np.array(chosen) @ (widths + 1)
        sign = -1 if sum(chosen) % 2 else 1
        counts += sign * np.where(left >= 0, fillings[np.maximum(left, 0)], 0)
    return [int(count) for count in counts]


def _one_by_one(widths: IntArray, rest: IntArray, effort: float) -> list[int]:
    """The same for one sum at a time, equal widths taken together."""
    columns = len(widths)
    groups = [Counter(one) for one in widths.T.tolist()]
    terms = [
        math.prod(min(times, left // (width + 1)) + 1 for width, times in group.items())
        for group, left in zip(groups, rest.tolist(), strict=True)
    ]
    running = (columns * (rest + 1)).tolist()
    steps = sum(map(min, terms, running)) + int(rest.max())
    check_work(INTERPRETED * float(steps), effort, "counting the ways to fill the rows")
    fillings = [1]
    for n in range(1, int(rest.max()) + 1):
        fillings.append(fillings[-1] * (n + columns - 1) // n)
    counts = []
    for group, left, few, many in zip(groups, rest.tolist(), terms, running, strict=True):
        if few <= many:
            signs = _signs(group, left)
            counts.append(sum(sign * fillings[left - shift] for shift, sign in signs.items()))
        else:
            counts.append(_by_running_sums(group, left))
    return counts


def _signs(group: Counter[int], rest: int) -> dict[int, int]:
    """The product of (1 - x**(width + 1))**times up to x**rest, as shifts and coefficients."""
    signs = {0: 1}
    for width, times in group.items():
        powers = [
            (k * (width + 1), (-1) ** k * math.comb(times, k))
            for k in range(min(times, rest // (width + 1)) + 1)
        ]
        made: dict[int, int] = {}
        for shift, sign in signs.items():
            for more, factor in powers:
                if shift + more <= rest:
                    made[shift + more] = made.get(shift + more, 0) + sign * factor
        signs = made
    return signs


def _by_running_sums(group: Counter[int], rest: int) -> int:
    """The same column by column; cheaper when most widths are distinct."""
    counts = [1] + [0] * rest
    for width in group.elements():
        sums = list(itertools.accumulate(counts))
        counts = [*sums[: width + 1], *map(operator.sub, sums[width + 1 :], sums)]
    return counts[rest]


def _by_products(line: Line, lower: IntArray, upper: IntArray, effort: float) -> list[int]:
    """Rows whose cells have lists of values, or parts."""
    widths = upper - lower + 1
    steps = float(widths.min(axis=0).sum() if line.width == 2 else 8.0 * widths.sum())
    steps += float(upper.max(axis=1).sum(dtype=float))
    check_work(INTERPRETED * steps, effort, "counting the ways to fill the rows and their parts")
    ways = [_ways(line, column, int(upper[column].max())) for column in range(line.width)]
    counts = []
    for total, low, high in zip(
        line.sums.tolist(), lower.T.tolist(), upper.T.tolist(), strict=True
    ):
        pieces = [one[a : b + 1] for one, a, b in zip(ways, low, high, strict=True)]
        counts.append(_sum_of_products(pieces, total - sum(low)))
    return counts


def _sum_of_products(pieces: list[list[int]], rest: int) -> int:
    """Choose one entry of each list, places adding to `rest`; sum the products of entries."""
    if len(pieces) == 1:
        return pieces[0][rest]
    if len(pieces) == 2:
        left, right = pieces
        first = max(0, rest - len(right) + 1)
        last = min(rest, len(left) - 1)
        back = right[rest - last : rest - first + 1]
        return sum(map(operator.mul, left[first : last + 1], reversed(back)))
    from flint import fmpz_poly

    made = fmpz_poly(pieces[0])
    for piece in pieces[1:]:
        made = made.mul_low(fmpz_poly(piece), rest + 1)
    return int(made[rest])


def _ways(line: Line, column: int, most: int) -> list[int]:
    """In how many ways a cell can have each count from 0 to `most`: 0 if its list lacks it."""
    ways = _splits(line.parts[column], line.part_counts[column], most)
    mask = line.mask(column, most)
    return ways if mask is None else [n * bool(ok) for n, ok in zip(ways, mask, strict=True)]


def _splits(parts: tuple[PartRange, ...] | None, count: int, most: int) -> list[int]:
    """In how many ways each count from 0 to `most` splits into parts."""
    if parts is None:
        ways = [1]
        for n in range(1, most + 1):
            ways.append(ways[-1] * (n + count - 1) // n)
        return ways
    from flint import fmpz_poly

    made = fmpz_poly([1])
    for part in parts:
        made = made.mul_low(fmpz_poly([int(ok) for ok in part.mask(most)]), most + 1)
    return [int(made[n]) for n in range(most + 1)]


@dataclass(frozen=True, eq=False)
class Vectors:
    """A row laid out for the compiled sums: ranges of cells for each sum, weights by column.

    The weights of column j, for the counts from 0, begin at ``starts[j]``. `span` is the number
    of sums that some columns can make, at most.
    """

    sums: IntArray
    lower: IntArray
    upper: IntArray
    starts: IntArray
    weights: ScaledFloats
    span: int
    steps: float

    @classmethod
    def of(
        cls, line: Line, sequences: Sequence[ScaledFloats], lower: IntArray, upper: IntArray
    ) -> Vectors:
        """Lay a row out; ranges have the columns first."""
        pieces = []
        for column, sequence in enumerate(sequences):
            mask = line.mask(column, len(sequence.mantissa) - 1)
            pieces.append(sequence if mask is None else masked(sequence, mask))
        sizes = [len(one.mantissa) for one in pieces]
        spans = _spans(line.sums, lower, upper)
        widths = upper - lower + 1
        return cls(
            line.sums,
            np.ascontiguousarray(lower.T),
            np.ascontiguousarray(upper.T),
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            ScaledFloats(
                np.concatenate([one.mantissa for one in pieces]),
                np.concatenate([one.exponent for one in pieces]),
            ),
            int(spans.max(initial=1)),
            float((spans[:-1].astype(float) * np.minimum(widths, spans[1:])).sum()),
        )

    def totals(self, *, largest: bool = False) -> ScaledFloats:
        """The sum (or the largest) of the weights of all vectors, for each row sum."""
        from cellbounds.inference.rows.sum_kernel import totals

        ground = (self.sums, self.lower, self.upper, self.starts, *self.weights, self.span)
        return ScaledFloats(*totals(*ground, largest))

    def masses(self, outer: ScaledFloats, chosen: IntArray) -> list[ScaledFloats]:
        """For each column the weights of all vectors by its count; `outer` weighs the row sums.

        Only the sums at the chosen places are looked at.
        """
        from cellbounds.inference.rows.sum_kernel import masses

        ends = self._ends
        turned = [np.concatenate([one[a:b][::-1] for a, b in ends]) for one in self.weights]
        ranges = self.sums[chosen], self.lower[chosen], self.upper[chosen]
        weighed = outer.mantissa[chosen], outer.exponent[chosen]
        ground = (*ranges, self.starts, *self.weights, *turned)
        mantissa, exponent = masses(*ground, *weighed, self.span)
        return [ScaledFloats(mantissa[a:b], exponent[a:b]) for a, b in ends]

    @property
    def _ends(self) -> list[tuple[int, int]]:
        return list(zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True))

    def possible(self) -> list[BoolArray]:
        """For each column the counts in its range under some sum, all weights being positive."""
        found = []
        for column, (a, b) in enumerate(self._ends):
            changes = np.zeros(b - a + 1, dtype=np.int64)
            np.add.at(changes, self.lower[:, column], 1)
            np.add.at(changes, self.upper[:, column] + 1, -1)
            found.append(np.cumsum(changes[:-1]) > 0)
        return found

    def draw(self, place: int, uniforms: FloatArray) -> IntArray:
        """Vectors of the row sum at a place, one for each line of uniform numbers."""
        from cellbounds.inference.rows.choice_kernel import draw_vectors

        return np.asarray(draw_vectors(*self._one(place), self.span, uniforms))

    def best(self, place: int) -> list[int]:
        """The first vector of largest weight for the row sum at a place."""
        from cellbounds.inference.rows.choice_kernel import best_vector

        return [int(count) for count in best_vector(*self._one(place), self.span)]

    def _one(self, place: int) -> tuple[int, IntArray, IntArray, IntArray, FloatArray, IntArray]:
        total = int(self.sums[place])
        return total, self.lower[place], self.upper[place], self.starts, *self.weights


def _spans(sums: IntArray, lower: IntArray, upper: IntArray) -> IntArray:
    """How many sums the columns before each can make (first axis: columns, and one past them)."""
    before_low = np.vstack([np.zeros_like(sums), np.cumsum(lower, axis=0)])
    before_high = np.vstack([np.zeros_like(sums), np.cumsum(upper, axis=0)])
    low = np.maximum(before_low, sums - (before_high[-1] - before_high))
    high = np.minimum(before_high, sums - (before_low[-1] - before_low))
    return np.asarray(np.maximum(high - low + 1, 1))


@dataclass(frozen=True, eq=False)
class WeightedRow:
    """A line with weights for its cells; rows that agree in both share one."""

    line: Line
    cells: tuple[SummedCell, ...]
    offsets: IntArray
    effort: float

    @cached_property
    def _ranges(self) -> tuple[IntArray, IntArray]:
        return self.line.ranges(self.line.sums)

    @property
    def numbers(self) -> float:
        """How many weights its columns and their parts have in all, before any is made."""
        most = self._ranges[1].max(axis=1).tolist()
        return float(
            sum((top + 1) * cell.sequences for cell, top in zip(self.cells, most, strict=True))
        )

    @property
    def making(self) -> float:
        """Steps that it takes to make them."""
        return self.numbers * (1 if all(cell.uniform for cell in self.cells) else DIGITS)

    @cached_property
    def vectors(self) -> Vectors:
        """For sums over its vectors."""
        lower, upper = self._ranges
        most = upper.max(axis=1).tolist()
        sequences = [cell.sequence(top) for cell, top in zip(self.cells, most, strict=True)]
        return Vectors.of(self.line, sequences, lower, upper)

    @cached_property
    def best_vectors(self) -> Vectors:
        """For the largest weight of its vectors: each cell split in the best way."""
        lower, upper = self._ranges
        most = upper.max(axis=1).tolist()
        sequences = [cell.best_after(-1, top) for cell, top in zip(self.cells, most, strict=True)]
        return Vectors.of(self.line, sequences, lower, upper)

    @property
    def steps(self) -> float:
        """What the sums over its vectors cost; most terms are too faint to be added."""
        return 0.0 if self._counted else self.vectors.steps / 4

    @property
    def _counted(self) -> bool:
        """Whether all vectors weigh the same, so that counting them is enough."""
        return self.line.plain and all(cell.uniform for cell in self.cells)

    @cached_property
    def totals(self) -> ScaledFloats:
        """The weights of all vectors, for each feasible sum."""
        if self._counted:
            return kernel_ready(wide_of(row_counts(self.line, self.effort)))
        return self.vectors.totals()

    @property
    def roundings(self) -> int:
        """The relative error of the totals, in units."""
        from cellbounds.inference.rows.sum_kernel import CHAIN

        return sum(cell.roundings + CHAIN + 2 for cell in self.cells)
