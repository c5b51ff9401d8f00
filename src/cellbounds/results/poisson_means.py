"""The posterior of the Poisson means behind the counts (document 002's lambda).

Given its count n, a mean with a Gamma(shape, scale) prior is Gamma(shape + n, scale / (1 + scale)).
So its posterior is a mixture of such distributions, in the proportions of the count's own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cellbounds.results.distribution import Distribution, checked_probability
from cellbounds.runtime.scaled_floats import FloatArray

__all__ = ["Rate"]

STEPS = 200
"""Halvings of the interval in which a quantile lies; doubles are exhausted long before."""


@dataclass(frozen=True, slots=True, eq=False)
class Rate:
    """The posterior of one cell's Poisson mean, given the distribution of its count.

    Examples
    --------
    >>> import cellbounds as cb
    >>> release = cb.publish(cb.example_table("mp3"), "[mp3|gender]")
    >>> rate = cb.posterior(release, prior=cb.GammaPoisson(10, 1)).rates["Male", "yes"]
    >>> round(rate.mean, 3), round(rate.quantile("0.975"), 3)
    (12.859, 19.319)
    """

    counts: Distribution
    shape: float
    scale: float

    @property
    def _narrowed(self) -> float:
        return self.scale / (1 + self.scale)

    @property
    def mean(self) -> float:
        """The expected mean."""
        return (self.counts.mean + self.shape) * self._narrowed

    @property
    def sd(self) -> float:
        """The standard deviation."""
        counts = self.counts
        return self._narrowed * math.sqrt(counts.sd**2 + counts.mean + self.shape)

    @property
    def median(self) -> float:
        """Half of the probability lies below it."""
        return self.quantile("0.5")

    def density(self, at: npt.ArrayLike) -> FloatArray:
        """The density at some points."""
        from scipy.stats import gamma

        points = np.asarray(at, dtype=np.float64)
        each = gamma.pdf(points[..., None], self.counts.values + self.shape, scale=self._narrowed)
        return np.asarray(each @ self.counts.probabilities)

    def below(self, point: float) -> float:
        """The probability of a mean up to this one."""
        from scipy.special import gammainc

        if point <= 0:
            return 0.0
        each = gammainc(self.counts.values + self.shape, point / self._narrowed)
        return float(each @ self.counts.probabilities)

    def quantile(self, probability: object) -> float:
        """The point below which a mean lies with this probability."""
        asked = checked_probability(probability)
        if asked in (0, 1):
            return math.inf if asked else 0.0
        low, high = 0.0, self.mean + self.sd
        while self.below(high) < asked:
            low, high = high, 2 * high
        for _ in range(STEPS):
            middle = (low + high) / 2
            if not low < middle < high:
                break
            low, high = (middle, high) if self.below(middle) < asked else (low, middle)
        return high

    def interval(self, level: object = "0.95") -> tuple[float, float]:
        """The quantiles that leave half of the rest on either side."""
        rest = (1 - checked_probability(level)) / 2
        return self.quantile(rest), self.quantile(1 - rest)

    def __repr__(self) -> str:
        return f"<posterior of a Poisson mean: mean {self.mean:.4g}, sd {self.sd:.3g}>"
