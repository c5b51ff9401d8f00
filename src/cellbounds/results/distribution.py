"""The distribution of a count."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from numbers import Real

import numpy as np

from cellbounds.errors import InvalidInput
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.scaled_floats import FloatArray

__all__ = ["Distribution", "checked_probability"]


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
    >>> release = cb.publish(cb.example_table("mp3"), "[mp3|gender]")
    >>> cell = cb.posterior(release)["Male", "yes"]
    >>> cell.mean, cell.median, cell.interval("0.9")
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
        found = place < len(self.values) and int(self.values[place]) == value
        return float(self.probabilities[place]) if found else 0.0

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
        asked = checked_probability(probability)
        # A step that falls short by rounding alone counts as reached.
        place = int(np.searchsorted(self._cumulated, asked - 1e-12))
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
        found = float(probability) if isinstance(probability, Real | str) else math.nan
    except ValueError:
        found = math.nan
    if isinstance(probability, bool) or not 0 <= found <= 1:
        raise InvalidInput(f"probability {probability!r}; give a number from 0 to 1, such as 0.95")
    return found
