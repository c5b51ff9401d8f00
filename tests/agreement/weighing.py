"""The posterior of a small release the slow, obvious way: weigh every consistent table.

Nothing here uses the library's weights. What a prior says of a table is written down a second
time, as a probability in fractions; only factors that all tables share are left out.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property

import numpy as np

import cellbounds as cb
from bruteforce import likelihood

Flat = tuple[int, ...]


@dataclass(frozen=True)
class Law:
    """A prior twice: as the library takes it, and as the probability of a table (flat)."""

    name: str
    prior: object
    weight: Callable[[Flat], Fraction]

    def __repr__(self) -> str:
        return self.name

    def given(self, release: cb.Release) -> Law:
        """The same, times how likely the figures that were made by chance are."""
        return Law(
            self.name,
            self.prior,
            lambda table: (
                self.weight(table)
                * likelihood(release, np.array(table, dtype=object).reshape(release.domain.shape))
            ),
        )


@dataclass(frozen=True)
class Weighing:
    """Consistent tables in lexicographic order, and whole numbers in the ratio of their weights."""

    tables: list[Flat]
    weights: list[int]

    @cached_property
    def mass(self) -> int:
        return sum(self.weights)

    @cached_property
    def probabilities(self) -> dict[Flat, Fraction]:
        """Of every table that has any."""
        pairs = zip(self.tables, self.weights, strict=True)
        return {table: Fraction(weight, self.mass) for table, weight in pairs if weight}

    @cached_property
    def joint_modes(self) -> list[Flat]:
        """All tables of the largest weight."""
        top = max(self.weights)
        return [t for t, weight in zip(self.tables, self.weights, strict=True) if weight == top]

    @cached_property
    def _distributions(self) -> list[dict[int, Fraction]]:
        found = []
        for counts in zip(*self.tables, strict=True):
            sums = dict.fromkeys(sorted(set(counts)), 0)
            for count, weight in zip(counts, self.weights, strict=True):
                sums[count] += weight
            found.append({n: Fraction(sums[n], self.mass) for n in sums if sums[n]})
        return found

    def distribution(self, cell: int) -> dict[int, Fraction]:
        """The probability of each count of a cell that has any, in increasing order."""
        return self._distributions[cell]

    def mean(self, cell: int) -> Fraction:
        pairs = self.distribution(cell).items()
        return sum((value * probability for value, probability in pairs), Fraction(0))

    def variance(self, cell: int) -> Fraction:
        pairs = self.distribution(cell).items()
        square = sum((value**2 * probability for value, probability in pairs), Fraction(0))
        return square - self.mean(cell) ** 2

    def modes(self, cell: int) -> list[int]:
        """All counts of the largest probability."""
        found = self.distribution(cell)
        top = max(found.values())
        return [value for value, probability in found.items() if probability == top]

    def at_most(self, cell: int, count: int) -> Fraction:
        pairs = self.distribution(cell).items()
        return sum((p for value, p in pairs if value <= count), Fraction(0))

    def quantile(self, cell: int, probability: Fraction) -> int:
        """The smallest count with at least this probability at or below it."""
        return next(v for v in self.distribution(cell) if self.at_most(cell, v) >= probability)


def weigh(tables: np.ndarray | Iterable[Sequence[int]], law: Law) -> Weighing:
    """Weigh tables that are listed flat, one in each row."""
    ordered = sorted(tuple(int(count) for count in table) for table in tables)
    weights = [law.weight(table) for table in ordered]
    unit = math.lcm(*(weight.denominator for weight in weights))
    return Weighing(ordered, [int(weight * unit) for weight in weights])


def uniform() -> Law:
    return Law("uniform", cb.priors.Uniform(), lambda _: Fraction(1))


def poisson(means: Sequence[Fraction], shape: tuple[int, ...]) -> Law:
    """Without exp(-mean), which all tables share."""

    @cache
    def factor(mean: Fraction, n: int) -> Fraction:
        return mean**n / math.factorial(n)

    def weight(table: Flat) -> Fraction:
        return product(map(factor, means, table))

    return Law(f"Poisson {named(means)}", cb.priors.Poisson(shaped(means, shape)), weight)


def multinomial(chances: Sequence[Fraction], shape: tuple[int, ...]) -> Law:
    """The chance that N records fall so; `chances` need not add up to one."""
    whole = sum(chances, Fraction(0))

    def weight(table: Flat) -> Fraction:
        ways, left = 1, sum(table)
        for count in table:
            ways *= math.comb(left, count)
            left -= count
        return ways * product((p / whole) ** n for p, n in zip(chances, table, strict=True))

    return Law(
        f"multinomial {named(chances)}", cb.priors.Multinomial(shaped(chances, shape)), weight
    )


def gamma_poisson(
    shapes: Sequence[Fraction], scales: Sequence[Fraction], shape: tuple[int, ...]
) -> Law:
    """Negative binomials: failures before the a-th success, each with chance 1 / (1 + scale).

    The factor (1 / (1 + scale)) ** a, which all tables share, is left out: with a that is no
    whole number it is no fraction.
    """

    @cache
    def factor(a: Fraction, s: Fraction, n: int) -> Fraction:
        return choices(a, n) * (s / (1 + s)) ** n

    def weight(table: Flat) -> Fraction:
        return product(map(factor, shapes, scales, table))

    prior = cb.priors.GammaPoisson(shaped(shapes, shape), shaped(scales, shape))
    return Law(f"Gamma-Poisson {named(shapes)} {named(scales)}", prior, weight)


def choices(a: Fraction, n: int) -> Fraction:
    """The binomial coefficient of a + n - 1 over n, for any a."""
    if a.denominator == 1:
        return Fraction(math.comb(int(a) + n - 1, n))
    rising = product(a + k for k in range(n))
    return rising / math.factorial(n)


def product(numbers: Iterable[Fraction]) -> Fraction:
    return math.prod(numbers, start=Fraction(1))


def shaped(numbers: Sequence[Fraction], shape: tuple[int, ...]) -> np.ndarray:
    array = np.empty(len(numbers), dtype=object)
    array[:] = list(numbers)
    return array.reshape(shape)


def named(numbers: Sequence[Fraction]) -> str:
    return "[" + " ".join(map(str, numbers)) + "]"


def goodness_of_fit(draws: np.ndarray, weighing: Weighing) -> float:
    """The chance that Pearson's statistic comes out so large, if draws follow the weights.

    Draws are flat tables, one in each row. Tables that are expected fewer than five times are
    counted together. A table that cannot be drawn at all: no chance.
    """
    from scipy.stats import chi2

    seen = Counter(map(tuple, draws.tolist()))
    if set(seen) - set(weighing.probabilities):
        return 0.0
    pooled_seen, pooled_expected = 0.0, 0.0
    terms = []
    for table, probability in weighing.probabilities.items():
        expected = float(probability * len(draws))
        if expected < 5:
            pooled_seen += seen[table]
            pooled_expected += expected
        else:
            terms.append((seen[table] - expected) ** 2 / expected)
    if pooled_expected >= 1:
        terms.append((pooled_seen - pooled_expected) ** 2 / pooled_expected)
    return float(chi2.sf(sum(terms), len(terms) - 1)) if len(terms) > 1 else 1.0
