"""The distribution of a count, of the Poisson mean behind it, and how far averages can be trusted.

Given its count n, a mean with a Gamma(shape, scale) prior is Gamma(shape + n, scale / (1 + scale))
(document 002's lambda). So its posterior is a mixture of such distributions, in the proportions of
the count's own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from numbers import Real

import numpy as np
import numpy.typing as npt

from cellbounds.errors import InvalidInput
from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.runtime.scaled_floats import FloatArray


@dataclass(frozen=True, eq=False)
class Distribution:
    """Probabilities of the counts that one cell can have.

    Attributes
    ----------
    values
        The counts with a positive probability (or too small to be told from zero), ascending.
    probabilities
        Their probabilities; they add up to one.

    Examples
    --------
    >>> import cellbounds as cb
    >>> release = cb.publish(cb.datasets.read("mp3"), "[mp3|gender]")
    >>> cell = cb.posterior(release)["Male", "yes"]
    >>> round(cell.mean, 9), cell.median, cell.interval("0.9")
    (15.0, 15, (3, 27))
    >>> round(cell[27], 4), cell[4], round(cell.at_most(6), 4)
    (0.1111, 0.0, 0.2222)
    """

    values: IntArray
    probabilities: FloatArray

    def __post_init__(self) -> None:
        self.values.flags.writeable = self.probabilities.flags.writeable = False

    @cached_property
    def _cumulated(self) -> FloatArray:
        return np.cumsum(self.probabilities)

    def __getitem__(self, value: int) -> float:
        """The probability of one count."""
        place = int(np.searchsorted(self.values, value))
        possible = place < len(self.values) and int(self.values[place]) == value
        return float(self.probabilities[place]) if possible else 0.0

    @property
    def mean(self) -> float:
        """The expected count."""
        return float(self.probabilities @ self.values)

    @property
    def sd(self) -> float:
        """The standard deviation."""
        return math.sqrt(self.probabilities @ (self.values - self.mean) ** 2)

    @property
    def median(self) -> int:
        """The smallest count with half of the probability at or below it."""
        return self.quantile("0.5")

    @property
    def mode(self) -> int:
        """The most probable count, the smallest one if there are several."""
        return int(self.values[np.argmax(self.probabilities)])

    def quantile(self, probability: object) -> int:
        """The smallest count with at least this probability at or below it."""
        level = checked_probability(probability)
        # A step that falls short by rounding alone counts as reached.
        place = int(np.searchsorted(self._cumulated, level - 1e-12))
        return int(self.values[min(place, len(self.values) - 1)])

    def interval(self, level: object = "0.95") -> tuple[int, int]:
        """The quantiles that leave half of the rest on either side."""
        rest = (1 - checked_probability(level)) / 2
        return self.quantile(rest), self.quantile(1 - rest)

    def at_most(self, count: int) -> float:
        """The probability of a count up to this one."""
        below = int(np.searchsorted(self.values, count, side="right"))
        return float(self._cumulated[below - 1]) if below else 0.0

    def __repr__(self) -> str:
        ends = f"{int(self.values[0])} to {int(self.values[-1])}"
        return f"<distribution over {len(self.values)} counts, {ends}, mean {self.mean:.4g}>"


def checked_probability(probability: object) -> float:
    """A probability given as a number or as text."""
    try:
        number = float(probability) if isinstance(probability, Real | str) else math.nan
    except ValueError:
        number = math.nan
    if isinstance(probability, bool) or not 0 <= number <= 1:
        raise InvalidInput(f"probability {probability!r}; give a number from 0 to 1, such as 0.95")
    return number


STEPS = 200
"""Halvings of the interval in which a quantile lies; doubles are exhausted long before."""


@dataclass(frozen=True, slots=True, eq=False)
class Rate:
    """The posterior of one cell's Poisson mean, given the distribution of its count.

    Examples
    --------
    >>> import cellbounds as cb
    >>> release = cb.publish(cb.datasets.read("mp3"), "[mp3|gender]")
    >>> rate = cb.posterior(release, prior=cb.priors.GammaPoisson(10, 1)).rates["Male", "yes"]
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
        level = checked_probability(probability)
        if level in (0, 1):
            return math.inf if level else 0.0
        low, high = 0.0, self.mean + self.sd
        while self.below(high) < level:
            low, high = high, 2 * high
        for _ in range(STEPS):
            middle = (low + high) / 2
            if not low < middle < high:
                break
            low, high = (middle, high) if self.below(middle) < level else (low, middle)
        return high

    def interval(self, level: object = "0.95") -> tuple[float, float]:
        """The quantiles that leave half of the rest on either side."""
        rest = (1 - checked_probability(level)) / 2
        return self.quantile(rest), self.quantile(1 - rest)

    def __repr__(self) -> str:
        return f"<posterior of a Poisson mean: mean {self.mean:.4g}, sd {self.sd:.3g}>"


AGREED = 1.01
"""R-hat up to which chains are said to agree (Vehtari and others 2021)."""


@dataclass(frozen=True, slots=True, eq=False)
class MonteCarlo:
    """How far draws can be trusted, cell by cell.

    Attributes
    ----------
    error
        The standard error of each mean; 0 for cells that never moved.
    effective_size
        How many independent draws would give the same error; NaN for cells that never moved.
    rhat
        Potential scale reduction over several chains (rank-normalised, split): near 1 if they
        agree, NaN for cells that never moved, infinite for those that no chain moved but chains
        started at different counts. None without chains.
    batch_error
        The standard error of each mean by batch means, as document 002 has it. None without chains.
    """

    error: FloatArray
    effective_size: FloatArray
    rhat: FloatArray | None = None
    batch_error: FloatArray | None = None

    @property
    def fixed(self) -> BoolArray:
        """Cells that held the same count in all draws of all chains."""
        return np.isnan(self.effective_size)

    @property
    def worst_rhat(self) -> float:
        """The largest R-hat; 1 if no cell moved, NaN without chains."""
        if self.rhat is None:
            return float("nan")
        return float(np.nanmax(self.rhat, initial=1.0))

    @property
    def agreed(self) -> bool:
        """Whether chains agree about every cell."""
        return self.worst_rhat <= AGREED

    def shaped(self, shape: tuple[int, ...]) -> MonteCarlo:
        """The same in the shape of a table."""
        return MonteCarlo(
            self.error.reshape(shape),
            self.effective_size.reshape(shape),
            None if self.rhat is None else self.rhat.reshape(shape),
            None if self.batch_error is None else self.batch_error.reshape(shape),
        )
