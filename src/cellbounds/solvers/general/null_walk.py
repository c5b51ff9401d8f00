"""Walks along null vectors of the equations: tables that differ in many cells, whatever was said.

An elimination gives a vector of whole numbers for each column without pivot: 1 there, 0 in the
other columns without pivot, and what the equations then ask for in the pivots. Adding multiples of
it to a table keeps every equation; the limits say how often it can be added. Columns that have
little room to move should have no pivot, since pivots stand in many vectors: so another elimination
from where a walk has come to gives other vectors, which go where the last ones could not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from cellbounds.model.problem import Problem
from cellbounds.runtime.arrays import BoolArray, IntArray, rows_of_entries
from cellbounds.solvers.general.constant_sums import Equations, connected, echelon_of, equations_of
from cellbounds.solvers.general.elimination_kernel import Echelon, null_moves, wander_along

LONGEST = 400
"""Columns of the longest vector that is tried: longer ones hardly ever stay within the limits."""

MOST_NUMBERS = 10_000_000
"""Numbers in all vectors of one elimination."""

SWEEPS = 10
"""Sweeps over all vectors of one elimination; a table is shown after each of the first ones."""

SHOWN = 2
"""Tables that are shown of the sweeps of one elimination."""

FAR = 2**40
"""Nothing goes further up than this."""

PATIENCE = 4
"""Eliminations after which nothing new is hoped for."""


def tables_around(
    problem: Problem, counts: IntArray, wanted: Callable[[], BoolArray], seed: int = 0
) -> Iterator[IntArray]:
    """Tables that differ from each other in many cells, as long as they help.

    Parameters
    ----------
    problem, counts
        Cells and rows, and a table that fits. Lists of values are not looked at.
    wanted
        Which cells should still move; asked again after each table. The walk ends when there are
        none, or when they have not become fewer for a while.
    """
    equations, rng = equations_of(problem), np.random.default_rng(seed)
    state = np.array([seed + 1], dtype=np.uint64)
    here = np.concatenate([counts, problem.sums(counts)[equations.ranges]])
    size, upper = len(counts), np.minimum(equations.upper, FAR)
    left, idle = wanted(), 0
    parts = connected(equations.rows, equations.columns, equations.size)
    while left.any() and idle < PATIENCE:
        idle += 1
        echelon = _echelon_at(equations, here, upper, left, rng)
        moves = _moves(echelon, left, parts, rng)
        for sweep in range(SWEEPS):
            order = rng.permutation(len(moves[0]) - 1)
            moved = wander_along(*moves, order, here, equations.lower, upper, state)
            if moved and (sweep < SHOWN - 1 or sweep == SWEEPS - 1):
                yield here[:size].copy()
        now = wanted()
        # A hundredth of what is left is worth another elimination.
        if 100 * int(now.sum()) < 99 * int(left.sum()):
            idle = 0
        left = now


def _echelon_at(
    equations: Equations, here: IntArray, upper: IntArray, left: BoolArray, rng: np.random.Generator
) -> Echelon:
    """An elimination in which columns with room are pivots, and those that should move are not."""
    room = np.minimum(np.minimum(here - equations.lower, upper - here), 3)
    still = np.concatenate([left, np.zeros(equations.size - len(left), dtype=bool)])
    # In steps of 2,000, with as much chance as half of that: rows should also stay short.
    ranks = 2_000 * (3 - room) + 1_000 * still + rng.integers(0, 1_000, equations.size)
    return echelon_of(equations, ranks)


def _moves(
    echelon: Echelon, left: BoolArray, parts: IntArray, rng: np.random.Generator
) -> tuple[IntArray, IntArray, IntArray]:
    """The null vectors of an elimination, those of columns that should move first.

    Of columns that rows do not connect with any of them there are none.
    """
    near = np.bincount(parts[: len(left)][left], minlength=len(parts)) > 0
    free = rng.permutation(np.flatnonzero((echelon.row_of < 0) & near[parts]))
    inside = free < len(left)
    first = np.zeros(len(free), dtype=bool)
    first[inside] = left[free[inside]]
    free = np.concatenate([free[first], free[~first]])
    entries = np.ones(len(echelon.columns), dtype=bool)
    entries[echelon.starts[:-1]] = False
    held = np.flatnonzero(entries)
    held = held[np.argsort(echelon.columns[held], kind="stable")]
    rows = rows_of_entries(echelon.starts)
    starts = np.searchsorted(echelon.columns[held], np.arange(len(echelon.row_of) + 1))
    room = min(MOST_NUMBERS, LONGEST * len(free))
    moves: tuple[IntArray, IntArray, IntArray]
    moves = null_moves(echelon, starts, rows[held], held, free, LONGEST, room)
    return moves
