"""Moves under a pattern, by linear programs: how far a count can go, and the cheapest way there.

A program only proposes, in floating point. What hiding must achieve follows from its multipliers in
whole numbers (`cut`), and a move that counts is checked in whole numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cellbounds.disclosure.protecting.suppression_problem import Move, SuppressionProblem
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


class Pieces:
    """Cells that can move together: those that equations tie, some cells being left out."""

    def __init__(self, problem: SuppressionProblem, cells: BoolArray) -> None:
        from scipy.sparse import bmat, csr_matrix
        from scipy.sparse.csgraph import connected_components

        self._cells = np.flatnonzero(cells)
        self._part = problem.matrix[:, self._cells].tocsr()
        rows = len(problem.equations)
        ties = bmat([[None, abs(self._part)], [csr_matrix((len(self._cells), rows)), None]])
        _, labels = connected_components(ties, directed=False)
        self.of = np.full(len(problem.counts), -1)
        self.of[self._cells] = labels[rows:]

    def columns(self, piece: int) -> tuple[IntArray, IntArray, Any]:
        """The cells of a piece, its equations by number, and these as a matrix."""
        inside = np.flatnonzero(self.of[self._cells] == piece)
        part = self._part[:, inside]
        rows = np.flatnonzero(np.diff(part.indptr) > 0)
        return self._cells[inside], rows, part[rows]


@dataclass(slots=True, eq=False)
class _Piece:
    """The linear program of one piece."""

    cells: IntArray
    rows: IntArray
    solver: Any
    places: dict[int, int]


class Attack:
    """How far counts can go under a pattern, or under one that hides cells by halves.

    Attributes
    ----------
    up, down
        How far each count went up and down in the moves that were found since `weigh`.
    """

    def __init__(self, problem: SuppressionProblem) -> None:
        self._problem = problem
        self._columns = problem.matrix.T.tocsr()
        self.weigh(np.zeros(len(problem.counts)))

    def weigh(self, weights: FloatArray, most: int | None = None) -> None:
        """Allow moves of each cell up to its room, or to `most`, times its weight."""
        below, above = self._problem.room_below, self._problem.room_above
        if most is not None:
            below, above = np.minimum(below, most), np.minimum(above, most)
        self._lower, self._upper = -below * weights, above * weights
        self._ties: Pieces | None = None
        self._pieces: dict[int, _Piece] = {}
        self.up, self.down = np.zeros(len(weights)), np.zeros(len(weights))

    def _piece(self, cell: int) -> _Piece | None:
        """What a cell can move with; None if it cannot move at all."""
        if self._ties is None:
            self._ties = Pieces(self._problem, (self._upper > 0) | (self._lower < 0))
        number = int(self._ties.of[cell])
        if number >= 0 and number not in self._pieces:
            cells, rows, matrix = self._ties.columns(number)
            limits = self._lower[cells], self._upper[cells]
            solver = solver_of(np.zeros(len(cells)), *limits, matrix)
            places = {int(one): place for place, one in enumerate(cells)}
            self._pieces[number] = _Piece(cells, rows, solver, places)
        return self._pieces.get(number)

    def reach(self, cell: int, sign: int, most: int) -> Reached:
        """Move a cell up (sign 1) or down (-1) as far as it goes, up to `most`."""
        piece = self._piece(cell)
        move, multipliers = np.zeros(len(self._lower)), np.zeros(len(self._problem.equations))
        if piece is None:
            return Reached(0.0, move, multipliers)
        solver, column = piece.solver, piece.places[cell]
        lower, upper = self._lower[cell], self._upper[cell]
        solver.changeColBounds(column, max(lower, -most), min(upper, most))
        solver.changeColCost(column, -float(sign))
        solver.run()
        solution = solver.getSolution()
        move[piece.cells] = solution.col_value
        multipliers[piece.rows] = solution.row_dual
        solver.changeColCost(column, 0.0)
        solver.changeColBounds(column, lower, upper)
        self._remember(move)
        return Reached(sign * float(move[cell]), move, multipliers)

    def _remember(self, move: FloatArray) -> None:
        """A move tells of all the cells that it moves; turned round too, if there is room."""
        np.maximum(self.up, move, out=self.up)
        np.maximum(self.down, -move, out=self.down)
        if (-move >= self._lower).all() and (-move <= self._upper).all():
            np.maximum(self.up, -move, out=self.up)
            np.maximum(self.down, move, out=self.down)

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
        self._ties = Pieces(problem, ~problem.fixed if cells is None else cells)
        self._rooms = problem.room_above.astype(float), problem.room_below.astype(float)
        self._barred = np.zeros(len(problem.counts), dtype=bool)
        self._costs = np.ones(len(problem.counts))
        self._pieces: dict[int, _Piece] = {}

    def charge(self, costs: FloatArray) -> None:
        """Say what moving each cell by one costs; infinite: it must not move."""
        self._barred, self._costs = np.isinf(costs), np.where(np.isinf(costs), 0.0, costs)
        for piece in self._pieces.values():
            self._set(piece)

    def _set(self, piece: _Piece) -> None:
        """Give the program of a piece its costs and limits: up, then down."""
        columns = np.arange(2 * len(piece.cells), dtype=np.int32)
        upper = np.concatenate([self._limit(piece.cells, side) for side in (0, 1)])
        costs = np.tile(self._costs[piece.cells], 2)
        piece.solver.changeColsBounds(len(columns), columns, np.zeros(len(columns)), upper)
        piece.solver.changeColsCost(len(columns), columns, costs)

    def _limit(self, cells: IntArray, side: int) -> FloatArray:
        return np.where(self._barred[cells], 0.0, self._rooms[side][cells])

    def _piece(self, cell: int) -> _Piece | None:
        from scipy.sparse import hstack

        number = int(self._ties.of[cell])
        if number >= 0 and number not in self._pieces:
            cells, rows, part = self._ties.columns(number)
            zero = np.zeros(2 * len(cells))
            solver = solver_of(zero, zero, zero, hstack([part, -part]).tocsr())
            places = {int(one): place for place, one in enumerate(cells)}
            self._pieces[number] = _Piece(cells, rows, solver, places)
            self._set(self._pieces[number])
        return self._pieces.get(number)

    def bar(self, cell: int, barred: bool) -> None:
        """Forbid moves of a cell, or allow them again."""
        self._barred[cell] = barred
        piece = self._piece(cell)
        if piece is not None:
            self._open(piece, cell)

    def _open(self, piece: _Piece, cell: int) -> None:
        for side in (0, 1):
            column = piece.places[cell] + side * len(piece.cells)
            limit = 0.0 if self._barred[cell] else self._rooms[side][cell]
            piece.solver.changeColBounds(column, 0.0, limit)

    def path(self, cell: int, sign: int, need: int) -> tuple[float, Move] | None:
        """The cheapest move of a cell by `need`, and what it costs; None if there is none."""
        import highspy

        piece, side = self._piece(cell), 0 if sign > 0 else 1
        if piece is None or self._rooms[side][cell] < need:
            return None
        solver, size = piece.solver, len(piece.cells)
        place = piece.places[cell]
        solver.changeColBounds(place + side * size, float(need), float(need))
        solver.changeColBounds(place + (1 - side) * size, 0.0, 0.0)
        solver.run()
        optimal = solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
        values = np.array(solver.getSolution().col_value) if optimal else None
        cost = float(solver.getInfo().objective_function_value) if optimal else 0.0
        self._open(piece, cell)
        if values is None:
            return None
        up, down = np.split(values, 2)
        moved = Move.of(up - down)
        return cost, Move(piece.cells[moved.cells], moved.amounts)
