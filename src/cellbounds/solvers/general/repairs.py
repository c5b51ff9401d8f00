"""Tables in which single cells have other counts, or stand where a proof ends: made and repaired.

Counts with the right sums, of which some are out of their limits, are led back by hypercube moves.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.budget import Budget
from cellbounds.solvers.general.hypercubes import REPAIRING, REPAIRING_ONE
from cellbounds.statements.inequalities import NO_UPPER

if TYPE_CHECKING:
    from cellbounds.solvers.general.search import Search

REPAIRS, IN_VAIN = (
    ((REPAIRING, 300_000), (REPAIRING_ONE, 4_000_000), (REPAIRING_ONE, 16_000_000)),
    20,
)
"""Temperatures and proposals for a table in which one cell has another count, about 0.05, 0.5 and 2
seconds; and cells in a row that may stay as they are before no more are tried."""


def moved_cells(search: Search, effort: Budget) -> Iterator[IntArray]:
    """Tables in which sums of one cell have other values than in all so far.

    What can be proven is proven before much is tried; if nothing can, that is not worth it.
    """
    # Where every bound is wanted, tables at the bounds are looked for anyway.
    long = search.solvers.splits(search.release) and search.undecided is not None
    for attempt, (temperature, proposals) in enumerate(REPAIRS if long else REPAIRS[:1]):
        places, in_vain = np.flatnonzero(search.unmoved()).tolist(), 0
        if attempt == 1:
            search.by_splitting([(place, side) for place in places for side in (0, 1)], effort)
        for place in places:
            if effort.spent or in_vain >= IN_VAIN:
                break
            for counts in _moved(search, place, temperature, proposals, effort):
                yield counts
                in_vain = -1
            in_vain += int(search.unmoved()[place])


def _moved(
    search: Search, place: int, temperature: float, proposals: int, effort: Budget
) -> Iterator[IntArray]:
    """Tables in which a cell has other counts than in all so far, until there is one."""
    members = search.asked.members(place)
    if len(members) > 1 or not search.unmoved()[place]:
        return
    counts, value = search.pool.at(len(search.pool) - 1), int(search.pool.ends[0, place])
    if search.walker.swapped(counts, int(members[0])):
        yield counts
    for there in (value + 1, value - 1):
        possible = search.proven[0, place] <= there <= search.proven[1, place]
        if possible and search.unmoved()[place]:
            counts = search.pool.at(len(search.pool) - 1)
            if _repaired(
                search=search,
                counts=counts,
                place=place,
                value=there,
                proposals=proposals,
                effort=effort,
                temperature=temperature,
            ):
                yield counts


def _repaired(
    search: Search,
    counts: IntArray,
    place: int,
    value: int,
    proposals: int,
    effort: Budget,
    temperature: float = REPAIRING,
) -> bool:
    """Lead counts with the right sums to a table with a value in one cell, if that succeeds.

    Cells that were found to be constant may be something else on the way: that was seen to
    make it far shorter.
    """
    limits = search.walker.problem
    lower, upper = limits.lower.copy(), limits.upper.copy()
    lower[search.asked.members(place)] = upper[search.asked.members(place)] = value
    return search.walker.repaired(counts, lower, upper, proposals, effort, temperature)


def attain_by_repairs(
    search: Search, place: int, side: int, proposals: int, effort: Budget
) -> None:
    """Put what lacks to where the proof ends into a cell of the nearest table, and repair it.

    Whether that or rounding is better depends on the release.
    """
    goal = int(search.proven[side, place])
    if len(search.asked.members(place)) > 1 or goal == NO_UPPER or not search.walker.possible:
        return
    counts = search.pool.nearest(place, side)
    if _repaired(search, counts, place, goal, proposals, effort):
        search.pool.add(counts)


def attain_by_rounding(
    search: Search,
    place: int,
    side: int,
    real: IntArray,
    proposals: int,
    effort: Budget,
    turn: int = 0,
) -> None:
    """Look for a table where the proof ends: round real numbers, and repair what is out."""
    members, goal = search.asked.members(place), int(search.proven[side, place])
    if not (search.walker.possible and len(search.pool)) or len(members) > 1 or goal == NO_UPPER:
        return
    if (splitting := search.solvers.splitting(search.release, search.pool.at(0))) is None:
        return
    real = np.clip(real, search.full.lower, search.full.upper)
    real[members] = goal
    counts = splitting.rounded(real, np.random.default_rng([place, side, proposals, turn]))
    if _repaired(search, counts, place, goal, proposals, effort):
        search.pool.add(counts)
