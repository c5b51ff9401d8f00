"""How well small counts of a published table can be guessed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cellbounds.data.table import Table
from cellbounds.disclosure.policies import Policy, PosteriorChance, SmallCounts
from cellbounds.disclosure.policies.attainable_cache import AttainableCache
from cellbounds.disclosure.policies.scenarios import empty_rows
from cellbounds.errors import TooMuchWork, Unsettled, UnsupportedRelease
from cellbounds.model.effort import Effort
from cellbounds.results import Unbounded, ValueSet
from cellbounds.runtime.arrays import BoolArray
from cellbounds.statements import Release

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
    release: Release,
    margin: Table,
    policy: Policy,
    independent: bool,
    seconds: float | None,
    known: AttainableCache | None = None,
) -> Guessing:
    """Look at the attainable counts of a margin; structural zeros and empty rows are left out.

    `known` is what a verdict on the same question rests on, if it asked for the counts. They are
    asked for again only if something was left open: the verdict had a budget of its own, and the
    true table to begin with.
    """
    over = margin.domain.names
    spoken = ~(margin.structural | empty_rows(release, over))
    small = spoken if independent else spoken & _small(margin, policy)
    if known is not None and known.settled:
        found = _looked_at(known, spoken, small)
        if found.settled:
            return found
    return _looked_at(AttainableCache(release, over, Effort.of(seconds)), spoken, small)


def _looked_at(reach: AttainableCache, spoken: BoolArray, small: BoolArray) -> Guessing:
    number = int(small.sum())
    try:
        ends = reach.ends
    except (TooMuchWork, Unsettled, UnsupportedRelease):
        ends = None
    if ends is None:
        return Guessing(number, 0, 1 if number else None, 1.0 if number else 0.0, False)
    lower, upper = ends[0]
    sets = [reach.values(tuple(index)) for index in np.argwhere(small).tolist()]
    limited = [size for size in map(_certain, sets) if size is not None]
    return Guessing(
        number,
        int(((lower == upper) & spoken).sum()),
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


def _certain(values: ValueSet) -> int | None:
    """How many counts are certainly attainable, at least one; None without end."""
    size = values.known.size
    return None if isinstance(size, Unbounded) else max(1, size)
