"""Integer programs for single bounds: a table at the proven bound, an optimum, beyond a value."""

from __future__ import annotations

import numpy as np

from cellbounds.errors import InconsistentRelease
from cellbounds.model.constraints import NO_UPPER
from cellbounds.solvers.general.cp_sat import Found, IntegerProgram, fits_solver
from cellbounds.solvers.general.search import Proof, Search
from cellbounds.solvers.general.unbounded_cells import closed_beyond

__all__ = ["by_crossing", "by_integers"]


def by_integers(search: Search, place: int, side: int, seconds: float | None) -> None:
    """Settle a bound by an integer program."""
    if not search.sendable:
        return
    cells, constant = search.objective(place)
    sign = 1 if side == 0 else -1
    weights = np.full(len(cells), sign)
    hint = search.pool.nearest(place, side)[search.numbers] if len(search.pool) else None
    if len(search.pool) and search.capped_for(place):
        reached = int((search.pool.least if side == 0 else search.pool.most)[place])
        if _by_closing(search, place, side, reached, seconds):
            return
    elif _at_the_bound(search, place, side, None if seconds is None else seconds / 2):
        return
    found: Found = search.integers.minimize(cells, weights, hint, seconds)
    if found.cells is not None:
        search.pool.add(search.expand(found.cells))
    elif found.final and not search.capped:
        raise InconsistentRelease("no table of counts fits all the published figures")
    if found.bound is not None and not search.capped_for(place):
        search.prove(place, side, sign * found.bound + constant, Proof.SOLVER)


def _at_the_bound(search: Search, place: int, side: int, seconds: float | None) -> bool:
    """Look for a table exactly where the proof ends; says whether that settled the bound.

    Mostly there is one, and finding it takes half the time of an optimum.
    """
    goal = int((search.low if side == 0 else search.high)[place])
    if goal == NO_UPPER:
        return False
    cells, constant = search.objective(place)
    ones = np.ones(len(cells), dtype=np.int64)
    at = goal - constant
    found = search.integers.with_sum(cells, ones, at, at, None, seconds, quick=True)
    if found.cells is None and not found.final:
        found = search.integers.with_sum(cells, ones, at, at, None, seconds)
    if found.cells is not None:
        search.pool.add(search.expand(found.cells))
    elif found.final and not search.capped_for(place):
        search.prove(place, side, goal + (1 if side == 0 else -1), Proof.SOLVER)
    return search.settled(place, side)


def _by_closing(search: Search, place: int, side: int, value: int, seconds: float | None) -> bool:
    """Go beyond a value though some cells have no limit; says whether that was decided."""
    cells, constant = search.objective(place)
    near = search.near(place)
    part = search.small if near.all() else search.small.restricted(near)
    cells = np.searchsorted(np.flatnonzero(near), cells)
    try:
        beyond = closed_beyond(part, cells, value - constant, side)
    except InconsistentRelease:
        search.prove(place, side, value, Proof.DUAL)
        return True
    if beyond is None or not fits_solver(beyond):
        return False
    sign = 1 if side == 0 else -1
    solver = IntegerProgram(beyond)
    found = solver.minimize(cells, np.full(len(cells), sign), None, seconds)
    if found.cells is not None:
        if not len(search.pool) and not near.all():
            return False  # a part of a table, and nothing to put the rest from
        # What has nothing to do with the sum may stay as in any table.
        counts = search.pool.at(0) if len(search.pool) else search.full.lower.copy()
        counts[search.numbers[near]] = found.cells
        search.pool.add(counts)
        if found.bound is not None:
            search.prove(place, side, sign * found.bound + constant, Proof.SOLVER)
    elif found.final:
        search.prove(place, side, value, Proof.SOLVER)
    return found.final


def by_crossing(search: Search, place: int, side: int, value: int, seconds: float | None) -> None:
    """Find a table beyond a value, or prove that there is none."""
    if not search.sendable:
        return
    if search.capped_for(place) and _by_closing(search, place, side, value, seconds):
        return
    cells, constant = search.objective(place)
    low, high = (0, value - 1) if side == 0 else (value + 1, search.reach)
    if low > high:
        # Nothing that the solver looks at goes so far, and what has no limit was not closed.
        if not search.capped_for(place):
            search.prove(place, side, value, Proof.SOLVER)
        return
    ones = np.ones(len(cells), dtype=np.int64)
    found = search.integers.with_sum(cells, ones, low - constant, high - constant, None, seconds)
    if found.cells is not None:
        search.pool.add(search.expand(found.cells))
    elif found.final and not search.capped_for(place):
        search.prove(place, side, value, Proof.SOLVER)
