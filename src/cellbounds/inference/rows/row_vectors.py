"""Sums over the vectors of one row, for all its feasible sums: how many there are, what they weigh.

The number of row vectors with cells between l_j and u_j and sum n is the coefficient of x**s,
s = n - sum l_j, in the product of 1 + x + ... + x**w_j, w_j = u_j - l_j; that is, in the product
of 1 - x**(w_j + 1), divided by (1 - x)**J. All of it is in integers. Weights of a cell that is a
sum come from those of its parts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np

from cellbounds.inference.protocol import check_room, check_work
from cellbounds.inference.rows.polynomials import ROUNDINGS, product, product_steps
from cellbounds.inference.rows.row_choices import best_pairs
from cellbounds.inference.rows.row_types import PartRange, RowType, mask_of
from cellbounds.inference.rows.sum_kernel import CHAIN, RowVectors
from cellbounds.model.priors import DIGITS, MOST_WEIGHTS, Kind, Weights
from cellbounds.runtime.arrays import SAFE, IntArray
from cellbounds.runtime.scaled_floats import ScaledFloats, normalised, rounded

SUBSETS = 1 << 10
"""Sets of columns up to which all are gone through, for all row sums at once."""

INTERPRETED = 64
"""Steps that one operation on Python's integers counts for."""


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
        return all(kind == (Fraction(1), Fraction(1)) for kind in self.key[0])

    @property
    def closed(self) -> bool:
        """Whether its weights are of one kind, or those of a single part."""
        return len(self.cells) == 1 or self._kind(self.cells) is not None

    @property
    def roundings(self) -> int:
        """The relative error of its sequences, in units."""
        return 1 if self.closed else len(self.cells) * (ROUNDINGS + 1)

    def _kind(self, cells: tuple[int, ...]) -> Kind | None:
        """The kind of the sum of some parts, if it is of one kind and nothing limits them."""
        return None if self.ranges is not None or not cells else self.weights.merged(cells)

    def _of_kind(self, kind: Kind, most: int) -> ScaledFloats:
        """The weights of one kind; lengths rounded up, if there is room, are shared by cells."""
        longest = max(most, min((1 << most.bit_length()) - 1, MOST_WEIGHTS - 1))
        return self.weights.sequence_of(kind, longest).at(slice(most + 1))

    def part(self, place: int, most: int) -> ScaledFloats:
        """The weights of one part."""
        weights = self._of_kind(self.weights.kinds[self.cells[place]], most)
        return weights if self.ranges is None else weights.where(self.ranges[place].mask(most))

    def rest(self, place: int, most: int) -> ScaledFloats:
        """The weights of the sum of all parts but one."""
        kind = self._kind(self.cells[:place] + self.cells[place + 1 :])
        if kind is not None:
            return self._of_kind(kind, most)
        return self._joined(self.after(place, most, "before"), self.after(place, most))

    def after(self, place: int, most: int, how: str = "after") -> ScaledFloats:
        """The weights of the sum of all parts after one (all parts: after -1), or before it.

        Or, "best" of all, the largest weight of the parts after it, for every sum of theirs.
        """
        parts = range(place) if how == "before" else range(len(self.cells) - 1, place, -1)
        kind = None if how == "best" else self._kind(tuple(self.cells[k] for k in parts))
        if kind is not None:
            return self._of_kind(kind, most)
        weights = None
        for k in parts:
            if (how, k, most) not in self._made:
                part = self.part(k, most)
                joined = part if weights is None else self._joined(part, weights, how == "best")
                self._made[how, k, most] = joined
            weights = self._made[how, k, most]
        return normalised(np.arange(most + 1) == 0) if weights is None else weights

    def _joined(
        self, left: ScaledFloats, right: ScaledFloats, largest: bool = False
    ) -> ScaledFloats:
        """The sums (or the largest) of products of two sequences, for each sum of the places."""
        size = len(left.mantissa)
        if largest:
            check_work(size**2 / 2, self.effort, "splitting a cell in the most likely way")
            return ScaledFloats(*best_pairs(np.arange(size), left, right))
        check_work(product_steps(size), self.effort, "summing over the parts of a cell")
        return product(left, right)


def row_counts(row_type: RowType, effort: float) -> list[int]:
    """For each feasible sum, how many ways there are to fill the row, parts included."""
    places, *_ = row_type.boxes
    counts = box_counts(row_type, effort)
    if len(places) == len(row_type.sums):
        return counts
    sums = [0] * len(row_type.sums)
    for place, count in zip(places.tolist(), counts, strict=True):
        sums[place] += count
    return sums


def box_counts(row_type: RowType, effort: float) -> list[int]:
    """The same for each box of vectors."""
    places, lower, upper = row_type.boxes
    sums = row_type.sums[places]
    if row_type.plain:
        # Columns of equal widths, whatever the sum, are taken together.
        times = Counter(widths.tobytes() for widths in upper - lower)
        if math.prod(n + 1 for n in times.values()) <= SUBSETS:
            distinct = [np.frombuffer(widths, dtype=np.int64) for widths in times]
            rest = sums - lower.sum(axis=0)
            return _by_exclusion(np.array(distinct), list(times.values()), rest)
    return _by_products(row_type, sums, lower, upper, effort)


def _by_exclusion(widths: IntArray, times: Sequence[int], rest: IntArray) -> list[int]:
    """Inclusion and exclusion over the sets of columns that exceed their width.

    `widths` have the columns first, each of which is there several times; `rest` is what they add
    up to: all sums at once.
    """
    # As many vectors reach the rest from below as from above.
    rest = np.minimum(rest, np.array(times) @ widths - rest)
    columns, longest = sum(times), int(rest.max())
    check_room(float(longest), "counting the ways to fill the rows")
    most = math.comb(longest + columns - 1, columns - 1)
    kind = np.int64 if most << columns < SAFE else object
    fillings = np.ones(longest + 1, dtype=kind)
    for _ in range(columns - 1):
        fillings = np.cumsum(fillings)
    counts = np.zeros(len(rest), dtype=kind)

    def exclude(column: int, left: IntArray, sign: int) -> None:
        """Let columns from this one on exceed their width as often as something is left."""
        if column == len(widths):
            counts[:] += sign * np.where(left >= 0, fillings[np.maximum(left, 0)], 0)
            return
        for exceeding in range(times[column] + 1):
            if (left < 0).all():
                break
            ways = math.comb(times[column], exceeding)
            exclude(column + 1, left, sign * (-1) ** exceeding * ways)
            left = left - widths[column] - 1

    exclude(0, rest, 1)
    return [int(count) for count in counts]


def _by_products(
    row_type: RowType, sums: IntArray, lower: IntArray, upper: IntArray, effort: float
) -> list[int]:
    """Rows whose cells have lists of values, or parts; or of many columns."""
    widths = upper - lower + 1
    steps = float(widths.min(axis=0).sum() if row_type.width == 2 else widths.sum())
    if not row_type.plain and row_type.width > 2:
        steps *= 8
    steps += float(upper.max(axis=1).sum(dtype=float))
    check_work(INTERPRETED * steps, effort, "counting the ways to fill the rows and their parts")
    ways = [_ways(row_type, column, int(upper[column].max())) for column in range(row_type.width)]
    # As many plain vectors reach a rest from below as from above.
    rest = sums - lower.sum(axis=0)
    rest = np.minimum(rest, upper.sum(axis=0) - sums) if row_type.plain else rest
    ends = zip(lower.T.tolist(), upper.T.tolist(), strict=True)
    return [
        _sum_of_products((own[a : b + 1] for own, a, b in zip(ways, low, high, strict=True)), left)
        for left, (low, high) in zip(rest.tolist(), ends, strict=True)
    ]


def _sum_of_products(pieces: Iterable[list[int]], rest: int) -> int:
    """Choose one entry of each list, places adding to `rest`; sum the products of entries."""
    from flint import fmpz_poly

    product_of = fmpz_poly([1])
    for piece, times in Counter(tuple(piece[: rest + 1]) for piece in pieces).items():
        power = fmpz_poly(list(piece)).pow_trunc(times, rest + 1)
        product_of = product_of.mul_low(power, rest + 1)
    return int(product_of[rest])


def _ways(row_type: RowType, column: int, most: int) -> list[int]:
    """In how many ways the parts of a cell make each count to `most`: none if its list lacks it."""
    parts, ways = row_type.parts[column], [1]
    if parts is None:
        for n in range(1, most + 1):
            ways.append(ways[-1] * (n + row_type.part_counts[column] - 1) // n)
    else:
        from flint import fmpz_poly

        product_of = fmpz_poly([1])
        for part in parts:
            allowed = fmpz_poly(part.mask(most).astype(int).tolist())
            product_of = product_of.mul_low(allowed, most + 1)
        ways = [int(product_of[n]) for n in range(most + 1)]
    if column in row_type.listed:
        mask = mask_of(row_type.listed[column], most).tolist()
        return [number * allowed for number, allowed in zip(ways, mask, strict=True)]
    return ways


@dataclass(frozen=True, eq=False)
class WeightedRow:
    """A type of row with weights for its cells; rows that agree in both share one.

    `offsets` and what follows are by boxes of vectors: several may have the same sum.
    """

    row_type: RowType
    cells: tuple[SummedCell, ...]
    offsets: IntArray
    effort: float

    @cached_property
    def _ranges(self) -> tuple[IntArray, IntArray]:
        return self.row_type.boxes[1:]

    @property
    def _most(self) -> list[int]:
        """The largest count of each column."""
        return [int(most) for most in self._ranges[1].max(axis=1)]

    @property
    def numbers(self) -> float:
        """How many weights its columns and their parts have in all, before any is made."""
        sequences = [1 if cell.closed else 2 * len(cell.cells) for cell in self.cells]
        return float(sum((most + 1) * n for most, n in zip(self._most, sequences, strict=True)))

    @property
    def making(self) -> float:
        """Steps that it takes to make them."""
        return self.numbers * (1 if all(cell.uniform for cell in self.cells) else DIGITS)

    @cached_property
    def vectors(self) -> RowVectors:
        """For sums over its vectors."""
        return self._laid_out("after")

    @cached_property
    def best_vectors(self) -> RowVectors:
        """For the largest weight of its vectors: each cell split in the best way."""
        return self._laid_out("best")

    def _laid_out(self, how: str) -> RowVectors:
        pairs = zip(self.cells, self._most, strict=True)
        sequences = [cell.after(-1, most, how) for cell, most in pairs]
        for column, values in self.row_type.listed.items():
            allowed = mask_of(values, self._most[column])
            sequences[column] = sequences[column].where(allowed)
        return RowVectors.of(self.row_type.sums[self.row_type.boxes[0]], sequences, *self._ranges)

    @property
    def steps(self) -> float:
        """What the sums over its vectors cost; most terms are too faint to be added."""
        return 0.0 if self._counted else self.vectors.steps / 4

    @property
    def _counted(self) -> bool:
        """Whether all vectors weigh the same, so that counting them is enough."""
        return self.row_type.plain and all(cell.uniform for cell in self.cells)

    @cached_property
    def totals(self) -> ScaledFloats:
        """The weights of all vectors, for each feasible sum."""
        if self._counted:
            return rounded(box_counts(self.row_type, self.effort))
        return self.vectors.totals()

    @property
    def roundings(self) -> int:
        """The relative error of the totals, in units."""
        together = int(np.bincount(self.row_type.boxes[0]).max()) - 1
        return together + sum(cell.roundings + CHAIN + 2 for cell in self.cells)
