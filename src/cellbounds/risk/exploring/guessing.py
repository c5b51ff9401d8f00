"""How well small counts of a published table can be guessed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cellbounds.arrays import BoolArray
from cellbounds.domain import Label
from cellbounds.errors import TooMuchWork, Unsettled, UnsupportedRelease
from cellbounds.releases import Release
from cellbounds.results import Unbounded, ValueSet
from cellbounds.risk.policies import Policy, PosteriorChance, SmallCounts
from cellbounds.risk.policies.scenarios import empty_rows
from cellbounds.solve import attainable, bounds
from cellbounds.table import Table

__all__ = ["Guessing", "guessing"]


@dataclass(frozen=True, slots=True)
class Guessing:
    """What the attainable counts of the cells leave to guess.

    Attributes
    ----------
    small
        How many cells are small: all of them without the true counts.
    exact
        Cells, small or not, with a single attainable count.
    tightest
        The fewest attainable counts of a small cell; None if none of them has a limit.
    risk
        The average of 1 / (number of attainable counts) over the small cells, 0 if there are none.
    settled
        Whether all attainable counts are known. Otherwise those that are known count, so that the
        risk is not understated.
    """

    small: int
    exact: int
    tightest: int | None
    risk: float
    settled: bool


def guessing(
    release: Release, margin: Table, policy: Policy, independent: bool, seconds: float | None
) -> Guessing:
    """Look at the attainable counts of a margin; structural zeros and empty rows are left out."""
    over = margin.domain.names
    spoken = ~(margin.structural | empty_rows(release, over))
    small = spoken if independent else spoken & _small(margin, policy)
    number = int(small.sum())
    try:
        ends = bounds(release, over=over, seconds=seconds)
        answer = attainable(release, over=over, seconds=seconds) if number else None
    except (TooMuchWork, Unsettled, UnsupportedRelease):
        return Guessing(number, 0, 1 if number else None, 1.0 if number else 0.0, False)
    exact = int(((ends.lower == ends.upper) & spoken).sum())
    sets = [] if answer is None else [answer[labels] for labels in _labels(margin, small)]
    limited = [size for size in map(_certain, sets) if size is not None]
    return Guessing(
        number,
        exact,
        min(limited, default=None),
        math.fsum(1 / size for size in limited) / number if number else 0.0,
        all(values.settled for values in sets),
    )


def _small(table: Table, policy: Policy) -> BoolArray:
    """The counts that the rules of the policy call small."""
    least = min(
        (one.smallest for one in policy.rules if isinstance(one, SmallCounts | PosteriorChance)),
        default=0,
    )
    counts = table.counts
    return np.asarray((counts >= least) & (counts <= policy.small), dtype=bool)


def _labels(table: Table, chosen: BoolArray) -> Iterator[tuple[Label, ...]]:
    """The cells that are chosen, in order; no others are worked out."""
    for index in np.argwhere(chosen):
        yield table.domain.labels(index.tolist())


def _certain(values: ValueSet) -> int | None:
    """How many counts are certainly attainable, at least one; None without end."""
    size = values.known.size
    return None if isinstance(size, Unbounded) else max(1, size)
