"""What every way of summing over the consistent tables looks like to the chooser.

What an exact sum may cost, and how a refusal says so.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Protocol

import numpy as np

from cellbounds.errors import InvalidInput, TooMuchWork, UnsupportedRelease
from cellbounds.model.priors import MOST_WEIGHTS, Weights
from cellbounds.results.distribution import Distribution
from cellbounds.results.evidence import Evidence
from cellbounds.runtime.arrays import SAFE, IntArray
from cellbounds.statements import Known, Release

DEFAULT_EFFORT = 2_000_000_000
"""Elementary steps (one product or sum of weights) that an exact answer may cost."""


MOST_RECORDS = SAFE // 4
"""Tables of more records than this are not summed over."""


NO_WEIGHT = (
    "the prior gives no weight to any consistent table; give positive probabilities or means to "
    "cells that must hold somebody"
)


class WeightedFibre(Protocol):
    """Sums of the weights of all tables of a fibre.

    Attributes
    ----------
    error
        No probability is further from the truth than this part of itself (0: exact).
    log_mass
        The natural logarithm of the sum over all tables.
    """

    error: float
    log_mass: float

    def distribution(self, cell: int) -> Distribution:
        """The distribution of the count of one cell (numbered as in the domain, flat)."""
        ...

    def mode(self) -> IntArray:
        """A table of largest weight (flat); the first in the fibre's order if there are several."""
        ...

    def draw(self, size: int, rng: np.random.Generator) -> IntArray:
        """Independent tables, drawn with probabilities in the ratio of their weights.

        Shape (size, cells), int64.
        """
        ...


class Fibre(Protocol):
    """The consistent tables of a release, which a method can sum over exactly."""

    name: str

    def count(self) -> int:
        """How many there are."""
        ...

    def listed(self) -> Iterator[IntArray]:
        """All of them (flat, int64), lazily and in a fixed order."""
        ...

    def weighted(self, weights: Weights) -> WeightedFibre:
        """Sum their weights.

        Raises
        ------
        InconsistentRelease
            If there is no table at all.
        InvalidInput
            If no table has any weight.
        TooMuchWork
            If the sums would take more steps than the effort that the fibre was made with.
        """
        ...


def check_records(most: int) -> None:
    """Refuse totals that 64-bit sums have no room for."""
    if most >= MOST_RECORDS:
        raise UnsupportedRelease(f"N may be {most}; sums over tables go up to {MOST_RECORDS}")


def supported_release(release: Release, weights: Weights) -> Release:
    """The release, with the cells that a prior gives no count to known to be empty."""
    if len(weights.kinds) != release.domain.size:
        raise InvalidInput(
            f"weights for {len(weights.kinds)} cells and a table of {release.domain.size}; make "
            "them from the release's domain"
        )
    empty = [0 if factor == 0 else None for _, factor in weights.kinds]
    if 0 not in empty:
        return release
    upper = np.array(empty, dtype=object).reshape(release.domain.shape)
    nobody = Known(release.domain.names, upper=upper)
    return Release(release.domain, [*release.statements, nobody])


def check_work(steps: float, effort: float, what: str) -> None:
    """Refuse work above the effort.

    Raises
    ------
    TooMuchWork
        Saying what it would take, the limit and the remedy.
    """
    if steps > effort:
        raise TooMuchWork(
            f"{what} would take about {steps:.1e} steps, and the limit is {effort:.1e}; raise "
            "effort=, or draw a sample instead"
        )


def check_room(numbers: float, what: str) -> None:
    """Refuse arrays that are too long, before they are made.

    Raises
    ------
    TooMuchWork
        Saying how many numbers they would have, the limit and the remedy.
    """
    if numbers > MOST_WEIGHTS:
        raise TooMuchWork(
            f"{what} would hold about {numbers:.1e} numbers, as many as cells can have counts, "
            f"and the limit is {MOST_WEIGHTS:.0e}; publish more, or draw a sample instead"
        )


def answer_head(
    release: Release,
    method: str,
    evidence: Evidence,
    begun: float,
    over: tuple[str, ...] | None = None,
) -> tuple[Release, tuple[str, ...], str, Evidence, float, None]:
    """What every answer says of itself: the question, the method, and the time it took."""
    names = release.domain.names if over is None else over
    return release, names, method, evidence, time.perf_counter() - begun, None
