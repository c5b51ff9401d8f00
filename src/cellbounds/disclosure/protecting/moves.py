"""Moves under a pattern, by linear programs: how far a count can go, and the cheapest way there.

A program only proposes, in floating point. What hiding must achieve follows from its multipliers in
whole numbers (`cut`), and a move that counts is checked in whole numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cellbounds.disclosure.protecting.suppression_problem import SuppressionProblem
from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.runtime.scaled_floats import FloatArray

NEAR = 1e-6
"""Rounding errors of the programs."""

DENOMINATORS = (1, 2, 3, 4, 6, 12, 60, 2520)
"""Multipliers are rounded to fractions of these, the first that is near enough."""


def solver_of(costs: FloatArray, lower: FloatArray, upper: FloatArray, matrix: Any) -> Any:
    """A linear program of equations with right-hand sides of zero."""
    import highspy

    rows, columns = matrix.shape
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = columns, rows
    model.col_cost_, model.col_lower_, model.col_upper_ = costs, lower, upper
    model.row_lower_ = model.row_upper_ = np.zeros(rows)
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = matrix.indptr
    model.a_matrix_.index_ = matrix.indices
    model.a_matrix_.value_ = matrix.data.astype(float)
    solver = highspy.Highs()
    for option, value in (("output_flag", False), ("threads", 1)):
        solver.setOptionValue(option, value)
    solver.passModel(model)
    return solver


@dataclass(frozen=True, slots=True, eq=False)
class Reached:
    """How far a count can go in one direction, the move, and the multipliers that prove it."""

    amount: float
    move: FloatArray
    multipliers: FloatArray


class Attack:
    """How far counts can go under a pattern, or under one that hides cells by halves."""

    def __init__(self, problem: SuppressionProblem) -> None:
        size = len(problem.counts)
        self._problem, self._cells = problem, np.arange(size, dtype=np.int32)
        self._columns = problem.matrix.T.tocsr()
        self._lower, self._upper = np.zeros(size), np.zeros(size)
        self._solver = solver_of(np.zeros(size), self._lower, self._upper, problem.matrix)

    def weigh(self, weights: FloatArray, most: int | None = None) -> None:
        """Allow moves of each cell up to its room, or to `most`, times its weight."""
        below, above = self._problem.room_below, self._problem.room_above
        if most is not None:
            below, above = np.minimum(below, most), np.minimum(above, most)
        self._lower, self._upper = -below * weights, above * weights
        self._solver.changeColsBounds(len(weights), self._cells, self._lower, self._upper)

    def reach(self, cell: int, sign: int, most: int) -> Reached:
        """Move a cell up (sign 1) or down (-1) as far as it goes, up to `most`."""
        solver, lower, upper = self._solver, self._lower[cell], self._upper[cell]
        solver.changeColBounds(cell, max(lower, -most), min(upper, most))
        solver.changeColCost(cell, -float(sign))
        solver.run()
        solution = solver.getSolution()
        move, multipliers = np.array(solution.col_value), np.array(solution.row_dual)
        solver.changeColCost(cell, 0.0)
        solver.changeColBounds(cell, lower, upper)
        return Reached(sign * float(move[cell]), move, multipliers)

    def cut(self, cell: int, sign: int, need: int, multipliers: FloatArray) -> tuple[IntArray, int]:
        """What hiding has to provide for a move of `need`: ``weights[hidden].sum() >= rest``.

        For any multipliers u the move d of the cell c is ``sign d_c = (sign e_c + u E) d``, as E d
        is 0; each term is at most its coefficient times the room of that cell, and nothing where
        the cell is shown. In whole numbers; no cell counts for more than is needed.
        """
        scale, rounded = _rounded(multipliers)
        reduced = self._columns @ rounded
        reduced[cell] += sign * scale
        rest = need * scale
        # Clipped first: products of large rooms would leave 64 bits, and count as `rest` anyway.
        below, above = self._problem.room_below, self._problem.room_above
        weights = np.where(
            reduced > 0, reduced * np.minimum(above, rest), -reduced * np.minimum(below, rest)
        )
        return np.minimum(weights, rest), rest

    def never(self, cell: int, sign: int, need: int) -> bool:
        """Whether a move of `need` is impossible with all hidden that may be: exactly."""
        reached = self.reach(cell, sign, need)
        weights, rest = self.cut(cell, sign, need, reached.multipliers)
        return int(weights.sum()) < rest


def _rounded(multipliers: FloatArray) -> tuple[int, IntArray]:
    """Multipliers as whole numbers over a common denominator."""
    for scale in DENOMINATORS:
        rounded = np.rint(multipliers * scale)
        if np.abs(rounded - multipliers * scale).max(initial=0) < NEAR * scale:
            break
    return scale, rounded.astype(np.int64)


class Paths:
    """The cheapest cells to hide so that a count can move.

    A move costs what hiding its cells costs, times how far it moves them: the linear programs that
    are nearest to the true cost. Hidden cells cost next to nothing.
    """

    def __init__(self, problem: SuppressionProblem, cells: BoolArray | None = None) -> None:
        """Take a problem; moves leave all but some cells where they are."""
        from scipy.sparse import hstack

        size = len(problem.counts)
        free = ~problem.fixed if cells is None else cells
        self._cells = np.flatnonzero(free)
        self._place = np.full(size, -1)
        self._place[self._cells] = np.arange(len(self._cells))
        part = problem.matrix[:, self._cells]
        part = part[np.diff(part.indptr) > 0]
        matrix = hstack([part, -part]).tocsr()
        rooms = [problem.room_above, problem.room_below]
        self._upper = np.concatenate([room[self._cells] for room in rooms]).astype(float)
        self._columns = np.arange(len(self._upper), dtype=np.int32)
        zero = np.zeros(len(self._upper))
        self._solver = solver_of(zero, zero, self._upper, matrix)
        self._size, self._zero = size, zero

    def charge(self, costs: FloatArray) -> None:
        """Say what moving each cell by one costs; infinite: it must not move."""
        chosen = np.tile(costs[self._cells], 2)
        barred = np.isinf(chosen)
        upper = np.where(barred, 0.0, self._upper)
        self._solver.changeColsBounds(len(upper), self._columns, self._zero, upper)
        self._solver.changeColsCost(len(upper), self._columns, np.where(barred, 0.0, chosen))

    def bar(self, cell: int, barred: bool) -> None:
        """Forbid moves of a cell, or allow them again."""
        for column in (self._place[cell], self._place[cell] + len(self._cells)):
            self._solver.changeColBounds(column, 0.0, 0.0 if barred else self._upper[column])

    def path(self, cell: int, sign: int, need: int) -> tuple[float, FloatArray] | None:
        """The cheapest move of a cell by `need`, and what it costs; None if there is none."""
        import highspy

        place = int(self._place[cell])
        moved, other = place, place + len(self._cells)
        if sign < 0:
            moved, other = other, moved
        if self._upper[moved] < need:
            return None
        solver = self._solver
        solver.changeColBounds(moved, float(need), float(need))
        solver.changeColBounds(other, 0.0, 0.0)
        solver.run()
        optimal = solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
        values = np.array(solver.getSolution().col_value) if optimal else None
        cost = float(solver.getInfo().objective_function_value) if optimal else 0.0
        for column in (moved, other):
            solver.changeColBounds(column, 0.0, self._upper[column])
        if values is None:
            return None
        move = np.zeros(self._size)
        up, down = np.split(values, 2)
        move[self._cells] = up - down
        return cost, move
