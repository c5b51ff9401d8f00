"""What weighted draws say: how many tables there are, and how the counts are distributed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cellbounds.errors import Unsettled
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.scaled_floats import FloatArray

METHOD = "sequential importance sampling"

NEGLIGIBLE = 1e-9
"""A relative error that only rounding made: all draws have the same weight."""

RELIABLE = 50
"""Effective draws below which an estimate, and its own error, are not to be relied on."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """About how many tables there are (or how much weight they have together).

    Attributes
    ----------
    value, log_value
        The estimate (infinite beyond 1e308) and its natural logarithm; zero and minus infinity if
        no table was drawn, which does not mean that there is none.
    relative_error
        Its standard error, as a part of it; not a number if no table was drawn.
    draws
        How many tables were attempted.
    dead_ends
        How many of these attempts led to no table.
    effective_size
        How many equally weighted draws the weighted ones are worth.
    counted
        What is counted.

    Examples
    --------
    >>> print(Estimate(441.2, 6.0895, 0.011, 1000, 0, 892.0))
    about 441 tables (standard error 1.1%, 1,000 draws)
    """

    value: float
    log_value: float
    relative_error: float
    draws: int
    dead_ends: int
    effective_size: float
    counted: str = "tables"
    method: str = METHOD

    @property
    def note(self) -> str:
        """Why not to rely on it; empty if there is no reason."""
        if self.dead_ends == self.draws:
            return f"none of {self.draws:,} attempts found a table, so there is no estimate"
        equal = self.relative_error < NEGLIGIBLE and self.effective_size >= RELIABLE / 5
        if self.effective_size < RELIABLE and not equal:
            return (
                f"unreliable: the draws are worth only {self.effective_size:.0f} equally weighted "
                "ones; make more"
            )
        return ""

    @property
    def _error(self) -> str:
        if self.relative_error < NEGLIGIBLE:
            return "negligible"
        return f"{100 * self.relative_error:.2g}%" if self.relative_error < 10 else "above 1000%"

    def __str__(self) -> str:
        if self.dead_ends == self.draws:
            return f"no table was drawn: {self.note}"
        written, counted = _written(self.log_value), self.counted
        if written == "1":
            counted = counted.replace("tables", "table")
        text = f"about {written} {counted} (standard error {self._error}, {self.draws:,} draws)"
        return f"{text}; {self.note}" if self.note else text


def _written(log_value: float) -> str:
    power = log_value / math.log(10)
    if 2 <= power < 6:
        return f"{round(math.exp(log_value)):,}"
    if -4 < power < 2:
        return f"{math.exp(log_value):.3g}"
    digits, exponent = 10 ** (power % 1), math.floor(power)
    if digits >= 9.95:
        digits, exponent = 1.0, exponent + 1
    return f"{digits:.1f}e{exponent}"


@dataclass(frozen=True, eq=False)
class ImportanceDraws:
    """Independent tables with weights that make up for how they were drawn.

    Attributes
    ----------
    counts
        The tables, one in each line (flat); all are consistent.
    log_weights
        The logarithm of the weight that each table should have, less that of the probability with
        which it was drawn.
    attempts
        How many draws were begun; those that led to no table are not among `counts`.
    stopped_early
        Whether the work was stopped before all draws were made.
    counted
        What the weights add up to on average: tables, or weight.
    """

    counts: IntArray
    log_weights: FloatArray
    attempts: int
    stopped_early: bool = False
    counted: str = "tables"

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def shares(self) -> FloatArray:
        """The weights of the draws, adding up to one.

        Raises
        ------
        Unsettled
            If no table (with a positive weight) was drawn.
        """
        top = self.log_weights.max(initial=-np.inf)
        if top == -np.inf:
            raise Unsettled(
                f"none of {self.attempts:,} attempts found a table; make more draws, or use a "
                "Markov chain from a known table"
            )
        weights = np.exp(self.log_weights - top)
        return np.asarray(weights / math.fsum(weights))

    @property
    def effective_size(self) -> float:
        """How many equally weighted draws these are worth; 0 if no table was drawn."""
        if self.log_weights.max(initial=-np.inf) == -np.inf:
            return 0.0
        return 1 / math.fsum(self.shares**2)

    @property
    def estimate(self) -> Estimate:
        """The sum over all tables of what they should weigh: the number of tables, if 1 each."""
        dead, draws = self.attempts - len(self.counts), self.attempts
        top = float(self.log_weights.max(initial=-np.inf))
        if top == -np.inf:
            return Estimate(0.0, -math.inf, math.nan, draws, draws, 0.0, self.counted)
        weights = np.exp(self.log_weights - top)
        mean = math.fsum(weights) / draws
        # Dead ends are draws of weight zero.
        squares = math.fsum((weights - mean) ** 2) + dead * mean**2
        error = math.sqrt(squares / max(draws - 1, 1) / draws) / mean if draws > 1 else math.inf
        log_value = math.log(mean) + top
        value = math.exp(log_value) if log_value < 709 else math.inf
        return Estimate(value, log_value, error, draws, dead, self.effective_size, self.counted)
