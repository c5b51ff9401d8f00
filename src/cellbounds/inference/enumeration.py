"""Choices one after another, all of them in order, each made only when it is asked for.

Tables that are few enough to be held in a list: everything is a sum over it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from cellbounds.errors import InconsistentRelease, InvalidInput
from cellbounds.inference.protocol import NO_WEIGHT
from cellbounds.model.likelihoods import Factor
from cellbounds.model.priors import Weights, law_weights
from cellbounds.results.distribution import Distribution
from cellbounds.runtime.arrays import IntArray, summable
from cellbounds.runtime.scaled_floats import UNIT, FloatArray, ScaledFloats, normalised

Choice = TypeVar("Choice")

Options = range | tuple[int, ...]


def odometer(
    levels: int, opened: Callable[[Sequence[Choice]], Iterator[Choice]]
) -> Iterator[list[Choice]]:
    """All sequences of choices, in order; `opened` gives those that follow what was chosen before.

    The list that is yielded changes when the next one is asked for.

    Examples
    --------
    >>> [tuple(found) for found in odometer(2, lambda chosen: iter("ab"[len(chosen) :]))]
    [('a', 'b'), ('b', 'b')]
    """
    chosen: list[Choice] = []
    if levels == 0:
        yield chosen
        return
    waiting = [opened(chosen)]
    while waiting:
        for choice in waiting[-1]:
            chosen.append(choice)
            break
        else:
            waiting.pop()
            del chosen[-1:]
            continue
        if len(chosen) < levels:
            waiting.append(opened(chosen))
        else:
            yield chosen
            chosen.pop()


def adding_to(options: Sequence[Options], total: int) -> Iterator[list[int]]:
    """All choices of one option each that add to the total, in order.

    Examples
    --------
    >>> [tuple(found) for found in adding_to([range(3), (0, 2)], 2)]
    [(0, 2), (2, 0)]
    """
    after = _sums_after(options, total)

    def opened(chosen: Sequence[int]) -> Iterator[int]:
        place, left = len(chosen), total - sum(chosen)
        rest, here = after[place + 1], options[place]
        if isinstance(rest, range) and isinstance(here, range):
            # What follows makes every sum from its least to its most.
            yield from range(
                max(here.start, left - rest.stop + 1), min(here.stop, left - rest.start + 1)
            )
            return
        for value in here:
            if left - value in rest:
                yield value

    return odometer(len(options), opened)


def _sums_after(options: Sequence[Options], total: int) -> list[range | frozenset[int]]:
    """The sums that all options from each place on can make, up to a total."""
    after: list[range | frozenset[int]] = [range(1)]
    for here in reversed(options):
        rest = after[-1]
        if isinstance(here, range) and isinstance(rest, range) and here and rest:
            after.append(range(here.start + rest.start, here.stop + rest.stop - 1))
        else:
            bits = 0
            for value in rest:
                bits |= 1 << value
            shifted = 0
            for value in here:
                shifted |= bits << value
            shifted &= (1 << (total + 1)) - 1
            after.append(frozenset(n for n in range(shifted.bit_length()) if shifted >> n & 1))
    return after[::-1]


class ListedFibre:
    """The tables themselves, in lexicographic order."""

    name = "all tables, found one by one"

    def __init__(self, tables: IntArray, factors: Sequence[Factor] = ()) -> None:
        self._tables, self._factors = tables, factors

    def count(self) -> int:
        """How many there are."""
        return len(self._tables)

    def listed(self) -> Iterator[IntArray]:
        """All of them."""
        return iter(self._tables)

    def weighted(self, weights: Weights) -> WeightedList:
        """Sum their weights (see `Fibre`).

        Few tables may hold counts of any size: only the weights of those that occur are made, as
        multiples of the weight of the smallest.
        """
        tables = self._tables
        if not len(tables):
            raise InconsistentRelease("no table of counts fits all the published figures")
        masses, logs = normalised(np.ones(len(tables))), []
        for cell in range(tables.shape[1]):
            counts, places = np.unique(tables[:, cell], return_inverse=True)
            scattered = weights.scattered(weights.kinds[cell], counts.tolist())
            logs.append(weights.log_weight(cell, int(counts[0])) if scattered.mantissa[0] else 0.0)
            masses = masses.times(scattered.at(places))
        for factor in self._factors:
            sums = summable(tables[:, factor.cells]).sum(axis=1)
            counts, places = np.unique(sums, return_inverse=True)
            masses = masses.times(law_weights(factor.law, counts.tolist()).at(places))
        error = 2 * (2 * (tables.shape[1] + len(self._factors)) + len(tables)) * UNIT
        return WeightedList(tables, masses, math.fsum(logs), error)


class WeightedList:
    """Sums of the weights of listed tables: `masses`, multiples of one with a logarithm."""

    def __init__(
        self, tables: IntArray, masses: ScaledFloats, log_unit: float, error: float
    ) -> None:
        if not masses.mantissa.any():
            raise InvalidInput(NO_WEIGHT)
        self._tables = tables
        self._chances: FloatArray = masses.shares()
        self._best = int(np.argmax(self._chances))
        self.log_mass = log_unit + masses.log_at(self._best) - math.log(self._chances[self._best])
        self.error = error

    def distribution(self, cell: int) -> Distribution:
        """The distribution of the count of one cell."""
        return self.sums(np.array([cell]))

    def sums(self, cells: IntArray) -> Distribution:
        """The distribution of the sum of some cells."""
        weighing = self._chances > 0
        chosen = self._tables[np.flatnonzero(weighing)[:, None], cells]
        sums = chosen[:, 0] if len(cells) == 1 else summable(chosen).sum(axis=1)
        values, places = np.unique(sums, return_inverse=True)
        chances = np.bincount(places, weights=self._chances[weighing])
        return Distribution(values, chances.astype(np.float64))

    def mode(self) -> IntArray:
        """The first table of largest weight."""
        return np.asarray(self._tables[self._best])

    def draw(self, size: int, rng: np.random.Generator) -> IntArray:
        """Independent tables."""
        return np.asarray(self._tables[rng.choice(len(self._tables), size=size, p=self._chances)])
