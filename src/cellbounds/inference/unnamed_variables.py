"""Releases that sum over some variables: summed tables first, then the parts of each summed cell.

No statement tells the parts of one summed cell apart, so they share out its count in every way,
independently of everything else: C(y + k - 1, k - 1) ways for k parts and a count of y. Weights of
one kind add up to a weight of the same kind (``Weights.merged``), so that given the sum every part
has a closed form: binomial for Poisson and multinomial weights, beta-binomial for those with a
shape (the uniform one included).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache

import numpy as np

from cellbounds.data.cell_groups import cells_behind
from cellbounds.errors import TooMuchWork
from cellbounds.inference.enumeration import WeightedList, adding_to, odometer
from cellbounds.inference.protocol import Fibre, WeightedFibre
from cellbounds.model.priors import Kind, Weights
from cellbounds.results.distribution import Distribution
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.scaled_floats import UNIT, FloatArray
from cellbounds.statements import Release, Total

MOST_LISTED = 200_000
"""Summed tables that are listed one by one to count the ways to split them."""

STEPS = 200
"""Elementary steps that one weight of a part costs, made in many digits."""

Direct = Callable[[], Fibre]
"""The same tables without summing first: for what sums do not tell."""


def part_chances(weights: Weights, own: Kind, rest: Kind, count: int) -> FloatArray:
    """The chances of a part to hold 0, 1, ... of a count that it shares with the rest."""
    others = weights.sequence_of(rest, count).at(slice(None, None, -1))
    return weights.sequence_of(own, count).times(others).shares()


def split_tables(
    weights: Weights, grid: IntArray, sums: IntArray, rng: np.random.Generator
) -> IntArray:
    """Split summed tables (one in each row) into tables, each at random.

    `grid` are the cells behind each summed cell, one line a summed cell.
    """
    tables = np.zeros((len(sums), grid.size), dtype=np.int64)
    for place, cells in enumerate(grid.tolist()):
        kinds = [weights.kinds[cell] for cell in cells]
        tables[:, cells] = drawn_parts(kinds, sums[:, place], rng)
    return tables


def drawn_parts(kinds: Sequence[Kind], counts: IntArray, rng: np.random.Generator) -> IntArray:
    """Share out counts at random, one line of parts for each."""
    parts = np.zeros((len(counts), len(kinds)), dtype=np.int64)
    left = counts.copy()
    for place in range(len(kinds) - 1):
        parts[:, place] = rng.binomial(left, _shares(kinds[place:], len(left), rng))
        left -= parts[:, place]
    parts[:, -1] = left
    return parts


def _shares(kinds: Sequence[Kind], size: int, rng: np.random.Generator) -> FloatArray:
    """The share of the first of some parts, in what is left for all of them."""
    shape, factor = kinds[0]
    if shape is None:
        total = sum((value for _, value in kinds), Fraction(0))
        return np.full(size, float(factor / total) if total else 0.0)
    others = sum((value or Fraction(0) for value, _ in kinds[1:]), Fraction(0))
    return rng.beta(float(shape), float(others), size=size)


def best_split(kinds: Sequence[Kind], count: int, most: float) -> tuple[int, ...] | None:
    """The first split of largest weight, or None if no closed form tells.

    That is where parts with shapes below and above 1 meet, or below 1 with different factors.

    Raises
    ------
    TooMuchWork
        If more than `most` records would be shared out one by one.
    """
    shapes = [shape for shape, _ in kinds]
    alike = len({factor for _, factor in kinds}) == 1
    if count == 0 or (alike and all(shape == 1 for shape in shapes)):
        return (*(0 for _ in kinds[1:]), count)
    if all(shape is None or shape >= 1 for shape in shapes):
        if count > most:
            raise TooMuchWork(
                f"the most probable table shares out about {float(count):.1e} records one by one, "
                f"and the effort allows {most:.1e}; raise effort=, or draw a sample instead"
            )
        return _one_by_one(kinds, count)
    if alike and all(shape is not None and shape <= 1 for shape in shapes):
        # Weights curve the other way: everything goes to the part with the largest shape.
        best = max(range(len(kinds)), key=lambda place: (shapes[place] or 0, place))
        return tuple(count if place == best else 0 for place in range(len(kinds)))
    return None


def _one_by_one(kinds: Sequence[Kind], count: int) -> tuple[int, ...]:
    """Each record goes where it gains most: right because gains only fall.

    Equal gains go to the last part first, so that the first split in order comes out.
    """
    counts = [0] * len(kinds)
    heap = [(-_gain(kind, 0), -place) for place, kind in enumerate(kinds)]
    heapq.heapify(heap)
    for _ in range(count):
        place = -heap[0][1]
        counts[place] += 1
        heapq.heapreplace(heap, (-_gain(kinds[place], counts[place]), -place))
    return tuple(counts)


def _gain(kind: Kind, count: int) -> Fraction:
    """The weight of one record more over the weight of these."""
    shape, factor = kind
    return factor * (1 if shape is None else shape + count) / (count + 1)


def merged_weights(weights: Weights, grid: IntArray) -> Weights | None:
    """The weights of summed cells, by the cells behind each; None if some are of neither kind."""
    kinds = [weights.merged(members) for members in grid.tolist()]
    known = tuple(kind for kind in kinds if kind is not None)
    return Weights(known, weights.needs_total) if len(known) == len(kinds) else None


class TotalFibre:
    """The numbers of records that a release allows: what is left when everything is summed over."""

    name = "N"

    def __init__(self, total: Total, effort: float) -> None:
        assert total.upper is not None
        self._effort = effort
        self._values = range(total.lower, total.upper + 1)

    def count(self) -> int:
        """How many totals there are."""
        return len(self._values)

    def listed(self) -> Iterator[IntArray]:
        """Every total."""
        return (np.array([value]) for value in self._values)

    def weighted(self, weights: Weights) -> WeightedList:
        """Sum their weights."""
        low, high = self._values[0], self._values[-1]
        masses = weights.between(weights.kinds[0], low, high, self._effort)
        totals = np.arange(low, high + 1)[:, None]
        return WeightedList(totals, masses, weights.log_weight(0, low), 4 * UNIT)


class SummedFibre:
    """The tables of a release: every summed table, split in every way.

    Tables are listed by summed table, then by the parts of each summed cell. `direct` gives the
    same tables without summing first.
    """

    def __init__(
        self, release: Release, names: tuple[str, ...], sums: Fibre, direct: Direct, effort: float
    ) -> None:
        behind = cells_behind(release.domain, names)
        self.grid = behind.cells.reshape(behind.size, -1)
        self.sums, self.effort, self._direct = sums, effort, direct
        self.name = f"{sums.name}, then parts of summed cells"

    def directly(self, refusal: str) -> Fibre:
        """The same tables without summing first.

        Raises
        ------
        TooMuchWork
            If that cannot be done either: the refusal, with the reason put in.
        """
        try:
            return self._direct()
        except TooMuchWork as problem:
            raise TooMuchWork(refusal.format(problem)) from None

    def count(self) -> int:
        """How many there are.

        Raises
        ------
        TooMuchWork
            If there are many summed tables, and the tables cannot be counted directly either.
        """
        summed, others = self.sums.count(), self.grid.shape[1] - 1
        if summed > MOST_LISTED:
            why = f"{summed:,} summed tables are too many to split one by one, and {{}}"
            return self.directly(why).count()
        ways = cache(lambda count: math.comb(count + others, others))
        return sum(math.prod(map(ways, table.tolist())) for table in self.sums.listed())

    def listed(self) -> Iterator[IntArray]:
        """All of them, lazily."""
        parts = self.grid.shape[1]
        for table in self.sums.listed():

            def opened(
                chosen: Sequence[tuple[int, ...]], table: IntArray = table
            ) -> Iterator[tuple[int, ...]]:
                count = int(table[len(chosen)])
                return map(tuple, adding_to([range(count + 1)] * parts, count))

            for split in odometer(len(table), opened):
                counts = np.zeros(self.grid.size, dtype=np.int64)
                counts[self.grid] = split
                yield counts

    def weighted(self, weights: Weights) -> WeightedFibre:
        """Sum their weights (see `Fibre`)."""
        merged = merged_weights(weights, self.grid)
        if merged is None:
            return self.directly(
                "the parts of a summed cell have different factors, so that their sum has no "
                "closed form, and {}"
            ).weighted(weights)
        return WeightedSplits(self, weights, self.sums.weighted(merged))


class WeightedSplits:
    """Sums of the weights of all tables, by summed table and then by parts."""

    def __init__(self, fibre: SummedFibre, weights: Weights, sums: WeightedFibre) -> None:
        self._fibre, self._weights, self._sums = fibre, weights, sums
        self._place = {int(cell): place for place, line in enumerate(fibre.grid) for cell in line}
        self.log_mass = sums.log_mass
        # A part adds the product of two weights, a sum of such and a mean over sums.
        self.error = sums.error + 40 * UNIT

    def distribution(self, cell: int) -> Distribution:
        """A part of a summed cell, over all counts of that."""
        place = self._place[cell]
        sums = self._sums.distribution(place)
        others = [other for other in self._fibre.grid[place].tolist() if other != cell]
        if not others:
            return sums
        steps, effort = STEPS * float(sums.values.sum(dtype=np.float64)), self._fibre.effort
        if steps > effort:
            raise TooMuchWork(
                f"the distribution of a part of a summed cell takes {steps:.2g} steps, above the "
                f"effort of {effort:.2g}; raise effort=, or draw a sample"
            )
        own, rest = self._weights.merged([cell]), self._weights.merged(others)
        assert own is not None
        assert rest is not None
        chances = np.zeros(int(sums.values[-1]) + 1)
        for count, chance in zip(sums.values.tolist(), sums.probabilities.tolist(), strict=True):
            if chance:
                chances[: count + 1] += chance * part_chances(self._weights, own, rest, count)
        possible = np.flatnonzero(chances)
        return Distribution(possible, chances[possible])

    def mode(self) -> IntArray:
        """A table of largest weight."""
        fibre, counts = self._fibre, np.zeros(self._fibre.grid.size, dtype=np.int64)
        # The likeliest of several summed tables need not be that of the likeliest table.
        if fibre.sums.count() == 1:
            for count, cells in zip(self._sums.mode().tolist(), fibre.grid.tolist(), strict=True):
                kinds = [self._weights.kinds[cell] for cell in cells]
                split = best_split(kinds, count, fibre.effort / STEPS)
                if split is None:
                    break
                counts[cells] = split
            else:
                return counts
        why = "the most probable table is not known: {}; the cells' own modes are"
        return fibre.directly(why).weighted(self._weights).mode()

    def draw(self, size: int, rng: np.random.Generator) -> IntArray:
        """Independent tables: summed ones, then their parts."""
        return split_tables(self._weights, self._fibre.grid, self._sums.draw(size, rng), rng)
