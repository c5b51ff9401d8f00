"""How likely what was published by chance is, given the table: factors over sums of cells.

Each figure that a mechanism made is a factor that depends on one count of a margin. Figures are
taken to be made independently of each other, so that their factors multiply: several figures about
the same sum, from one statement after another, become one factor.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from cellbounds.data.cell_groups import cells_behind
from cellbounds.runtime.arrays import IntArray
from cellbounds.statements import Release
from cellbounds.statements.mechanisms import DiscreteLaplace, Mechanism


@dataclass(frozen=True, slots=True)
class Law:
    """The weight of a count, by all figures that were made of it."""

    figures: tuple[tuple[Mechanism, int], ...]

    def chance(self, count: int) -> Fraction:
        """How likely the figures are, up to a factor that does not depend on the count."""
        powers = (mechanism.chance(count, shown) for mechanism, shown in self.figures)
        return math.prod((base**power for base, power in powers), start=Fraction(1))

    def log(self, count: int) -> float:
        """The logarithm of that; minus infinity for zero."""
        total = 0.0
        for mechanism, shown in self.figures:
            base, power = mechanism.chance(count, shown)
            if not base:
                return -math.inf
            total += power * (math.log(base.numerator) - math.log(base.denominator))
        return total

    def window(self) -> tuple[int, int, float]:
        """The counts outside of which the logarithm falls by the same at each step, and by that.

        Counts beyond have no weight at all if some mechanism reaches only so far.
        """
        low, high, fall = 0, -1, 0.0
        ends = []
        for mechanism, shown in self.figures:
            support = mechanism.support(shown)
            if support is None:
                assert isinstance(mechanism, DiscreteLaplace)
                fall += math.log(mechanism.ratio.denominator) - math.log(mechanism.ratio.numerator)
                ends += [shown, shown]
            elif len(support):
                ends += [support[0], support[-1]]
        low, high = max(0, min(ends, default=0)), max(0, *ends, 0)
        return low, high, fall


@dataclass(frozen=True, slots=True, eq=False)
class Factor:
    """The weight of the sum of some cells."""

    cells: IntArray
    law: Law

    def logs(self, tables: IntArray) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """The logarithms of the weights of whole tables (tables, cells)."""
        sums, places = np.unique(tables[:, self.cells].sum(axis=1), return_inverse=True)
        return np.array([self.law.log(int(value)) for value in sums])[places]


def factors_of(release: Release) -> tuple[Factor, ...]:
    """The factors of a release, one for each set of cells; none if chance had no part in it."""
    figures: dict[bytes, list[tuple[Mechanism, int]]] = {}
    cells_of: dict[bytes, IntArray] = {}
    for statement in release.statements:
        made = statement.figures_by_chance()
        if not made:
            continue
        groups = cells_behind(release.domain, statement.variables)
        for place, mechanism, shown in made:
            cells = np.sort(groups.cells_of(place)).astype(np.int64)
            if len(cells):
                cells_of.setdefault(cells.tobytes(), cells)
                figures.setdefault(cells.tobytes(), []).append((mechanism, shown))
    return tuple(
        Factor(cells_of[key], Law(tuple(sorted(each, key=repr)))) for key, each in figures.items()
    )
