"""Cheapest paths in tables too large to be looked at as a whole: in the neighbourhood of a count.

A move in a neighbourhood is a move: only that no other is cheaper is not said. A neighbourhood has
the cheapest cells of the sums around a count, then of the sums around these, and so on, and the
cells in which such sums meet. It grows until a path is found, up to a limit.
"""

from __future__ import annotations

import numpy as np

from cellbounds.disclosure.protecting.moves import NEAR, Paths, solver_of
from cellbounds.disclosure.protecting.suppression_problem import Move, SuppressionProblem
from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.runtime.scaled_floats import FloatArray

LARGE = 6_000
"""Cells that may move, from which on paths are looked for nearby only."""

NEARBY = ((6, 300), (12, 1500), (40, 6000))
"""How many cells are taken of each sum, and how many in all: one neighbourhood after another."""


class LocalPaths:
    """Cheapest paths as :class:`~cellbounds.disclosure.protecting.moves.Paths` has them, nearby."""

    def __init__(self, problem: SuppressionProblem, cells: BoolArray | None = None) -> None:
        self._problem = problem
        self._open = ~problem.fixed if cells is None else cells & ~problem.fixed
        self._rooms = problem.room_above.astype(float), problem.room_below.astype(float)
        self._barred = np.zeros(len(problem.counts), dtype=bool)
        self._costs = np.ones(len(problem.counts))

    def charge(self, costs: FloatArray) -> None:
        """Say what moving each cell by one costs; infinite: it must not move."""
        self._barred, self._costs = np.isinf(costs), np.where(np.isinf(costs), 0.0, costs)

    def bar(self, cell: int, barred: bool) -> None:
        """Forbid moves of a cell, or allow them again."""
        self._barred[cell] = barred

    def path(self, cell: int, sign: int, need: int) -> tuple[float, Move] | None:
        """A cheap move of a cell by `need`, and what it costs; None if none was found nearby."""
        before = 0
        if self._rooms[0 if sign > 0 else 1][cell] < need:
            return None
        for each, most in NEARBY:
            cells = self._near(cell, each, most)
            if len(cells) == before:
                break  # there is nothing more around it
            before = len(cells)
            found = self._solved(cells, cell, sign, need)
            if found is not None:
                return found
        return None

    def _near(self, cell: int, each: int, most: int) -> IntArray:
        """A neighbourhood: the cheapest cells of sums, and where these sums meet."""
        matrix, columns = self._problem.matrix, self._problem.columns
        may = self._open & ~self._barred
        near = np.array([cell])
        while True:
            rows = np.unique(columns[:, near].indices)
            part = matrix[rows]
            around, row = part.indices, np.repeat(np.arange(len(rows)), np.diff(part.indptr))
            chosen = may[around]
            around, row = around[chosen], row[chosen]
            order = np.lexsort((around, self._costs[around], row))
            around, row = around[order], row[order]
            first = np.searchsorted(row, np.arange(len(rows)))
            cheap = around[np.arange(len(around)) - first[row] < each]
            wider = np.union1d(near, cheap)
            # Cells in which two sums meet close a circle.
            times = np.bincount(around, minlength=len(may))
            meeting = np.flatnonzero(times > 1)
            wider = np.union1d(wider, meeting)
            if len(wider) >= most:
                added = np.setdiff1d(wider, near)
                costs = self._costs[added]
                nearest = np.lexsort((added, costs, times[added] < 2))[: max(most - len(near), 0)]
                return np.union1d(near, added[nearest])
            if len(wider) == len(near):
                return near
            near = wider

    def _solved(
        self, cells: IntArray, cell: int, sign: int, need: int
    ) -> tuple[float, Move] | None:
        import highspy
        from scipy.sparse import hstack

        part = self._problem.columns[:, cells].tocsr()
        part = part[np.diff(part.indptr) > 0]
        limits = [np.where(self._barred[cells], 0.0, room[cells]) for room in self._rooms]
        lower, upper = np.zeros(2 * len(cells)), np.concatenate(limits)
        place, side = int(np.searchsorted(cells, cell)), 0 if sign > 0 else 1
        here, there = place + side * len(cells), place + (1 - side) * len(cells)
        lower[here] = upper[here] = need
        upper[there] = 0
        costs = np.tile(self._costs[cells], 2)
        solver = solver_of(costs, lower, upper, hstack([part, -part]).tocsr())
        solver.run()
        if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        up, down = np.split(np.array(solver.getSolution().col_value), 2)
        moved = np.where(np.abs(up - down) > NEAR, up - down, 0.0)
        move = Move.of(moved)
        cost = float(solver.getInfo().objective_function_value)
        return cost, Move(cells[move.cells], move.amounts)


def paths_in(
    problem: SuppressionProblem, cells: BoolArray | None = None, large: int = LARGE
) -> Paths | LocalPaths:
    """Cheapest paths among some cells; nearby ones where these are many."""
    movable = int((~problem.fixed if cells is None else cells & ~problem.fixed).sum())
    return Paths(problem, cells) if movable <= large else LocalPaths(problem, cells)
