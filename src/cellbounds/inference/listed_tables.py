"""Tables that are few enough to be held in a list: everything is a sum over it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from cellbounds.errors import InconsistentRelease, InvalidInput
from cellbounds.inference.solver_enumeration import searched_tables
from cellbounds.model.priors import Weights
from cellbounds.results.distribution import Distribution
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.scaled_floats import (
    UNIT,
    FloatArray,
    ScaledFloats,
    log_of,
    probabilities,
    total_of,
    widened,
)
from cellbounds.statements import Release

__all__ = ["ListedFibre", "few_tables"]

MOST = 5_000
"""Tables that are searched for one by one."""


def few_tables(release: Release) -> ListedFibre | None:
    """All tables of a release as a solver finds them, or None if there are more than a few."""
    found = list(itertools.islice(searched_tables(release), MOST + 1))
    if len(found) > MOST:
        return None
    return ListedFibre(np.array(found, dtype=np.int64).reshape(-1, release.domain.size))


class ListedFibre:
    """The tables themselves, in lexicographic order."""

    name = "all tables, found one by one"

    def __init__(self, tables: IntArray) -> None:
        self._tables = tables

    def count(self) -> int:
        """How many there are."""
        return len(self._tables)

    def listed(self) -> Iterator[IntArray]:
        """All of them."""
        return iter(self._tables)

    def weighed(self, weights: Weights) -> WeighedList:
        """Sum their weights (see `Fibre`)."""
        if not len(self._tables):
            raise InconsistentRelease("no table of counts fits all the published figures")
        return WeighedList(self._tables, *_masses(self._tables, weights))


def _masses(tables: IntArray, weights: Weights) -> tuple[ScaledFloats, float]:
    """The weights of all tables as multiples of one, and the logarithm of that.

    Few tables may hold counts of any size: only the weights of those that occur are made.
    """
    found, logs = widened(np.ones(len(tables))), []
    for cell in range(tables.shape[1]):
        counts, places = np.unique(tables[:, cell], return_inverse=True)
        made = weights.scattered(weights.kinds[cell], counts.tolist())
        one = ScaledFloats(made.mantissa[places], made.exponent[places])
        logs.append(weights.log_weight(cell, int(counts[0])) if made.mantissa[0] else 0.0)
        nothing = (found.mantissa == 0) | (one.mantissa == 0)
        exponent = np.where(nothing, 0, found.exponent + one.exponent)
        found = widened(found.mantissa * one.mantissa, exponent)
    return found, math.fsum(logs)


class WeighedList:
    """Sums of the weights of listed tables."""

    def __init__(self, tables: IntArray, masses: ScaledFloats, log_unit: float) -> None:
        if not masses.mantissa.any():
            raise InvalidInput(
                "the prior gives no weight to any consistent table; give positive probabilities "
                "or means to cells that must hold somebody"
            )
        self._tables = tables
        self._chances: FloatArray = probabilities(masses)
        total = total_of([masses])
        self.log_mass = log_unit + log_of(float(total.mantissa), int(total.exponent))
        self.error = 2 * (2 * tables.shape[1] + len(tables)) * UNIT

    def distribution(self, cell: int) -> Distribution:
        """The distribution of the count of one cell."""
        weighing = self._chances > 0
        values, places = np.unique(self._tables[weighing, cell], return_inverse=True)
        chances = np.bincount(places, weights=self._chances[weighing])
        return Distribution(values, chances.astype(np.float64))

    def mode(self) -> IntArray:
        """The first table of largest weight."""
        return np.asarray(self._tables[int(np.argmax(self._chances))])

    def draw(self, size: int, rng: np.random.Generator) -> IntArray:
        """Independent tables."""
        return np.asarray(self._tables[rng.choice(len(self._tables), size=size, p=self._chances)])
