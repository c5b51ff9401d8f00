"""One linear program for all questions; it only proposes, in floating point.

Equations that follow from others are left out of very large programs. The rank is taken modulo a
large prime and over a random sample of the cells. Rows that are independent there are independent;
should a row be left out wrongly, the program only becomes a little weaker, and what it proves stays
proven.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cellbounds.model.problem import Problem
from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.statements.inequalities import NO_LOWER, NO_UPPER

PRIME = 2**31 - 1

CELLS_PER_ROW = 4
"""Cells of the sample for each row."""


def independent_rows(problem: Problem, cells_per_row: int = CELLS_PER_ROW) -> BoolArray:
    """Rows that the other equations follow from; inequalities are all kept."""
    from flint import nmod_mat

    equal = problem.row_lower == problem.row_upper
    numbers = np.flatnonzero(equal)
    size = len(problem.lower)
    sample = np.arange(size)
    wanted = cells_per_row * len(numbers)
    if wanted < size:
        sample = np.sort(np.random.default_rng(1).choice(size, wanted, replace=False))
    line, column = np.full(size, -1), np.full(len(equal), -1)
    line[sample], column[numbers] = np.arange(len(sample)), np.arange(len(numbers))
    rows = problem.rows
    inside = (line[problem.cells] >= 0) & (column[rows] >= 0)
    dense = np.zeros((len(sample), len(numbers)), dtype=np.int64)
    dense[line[problem.cells[inside]], column[rows[inside]]] = problem.coefficients[inside] % PRIME
    echelon, rank = nmod_mat(len(sample), len(numbers), dense.ravel().tolist(), PRIME).rref()
    pivots, place = [], 0
    for k in range(rank):
        while int(echelon[k, place]) == 0:
            place += 1
        pivots.append(place)
        place += 1
    chosen = ~equal
    chosen[numbers[pivots]] = True
    return np.asarray(chosen)


INTERIOR = 60_000
"""From so many entries on, interior points without crossover beat the simplex method."""


RANK_PAYS = 1_000_000
"""From so many entries on, leaving out dependent rows first gains more than it costs."""


@dataclass(frozen=True, slots=True, eq=False)
class LinearProposal:
    """What the solver found: cells, multipliers of the rows, the objective."""

    cells: IntArray
    duals: IntArray
    value: float


class LinearProgram:
    """The relaxation of a problem; only the objective changes from call to call."""

    def __init__(
        self, problem: Problem, *, exact: bool = False, rank_pays: int = RANK_PAYS
    ) -> None:
        """Take a problem; `exact` asks for a basis, which only the simplex method gives.

        From `rank_pays` entries on dependent rows are left out.
        """
        import highspy

        self._kept: BoolArray | None = None
        if len(problem.cells) >= rank_pays and not exact:
            self._kept = independent_rows(problem)
            problem = problem.with_rows(self._kept)

        self._highspy = highspy
        self._size = len(problem.lower)
        self._solver: Any = highspy.Highs()
        self._solver.setOptionValue("output_flag", False)
        self._solver.setOptionValue("threads", 1)
        self.interior = len(problem.cells) >= INTERIOR and not exact
        # Preparing anew for every objective costs more than it saves, a quarter on wide tables.
        self._solver.setOptionValue("presolve", "off")
        if self.interior:
            self._solver.setOptionValue("solver", "ipm")
            self._solver.setOptionValue("run_crossover", "off")
        self._solver.passModel(self._model(problem))
        self._costs: IntArray = np.zeros(0, dtype=np.int32)

    def _model(self, problem: Problem) -> Any:
        endless = self._highspy.kHighsInf
        model = self._highspy.HighsLp()
        model.num_col_, model.num_row_ = self._size, len(problem.row_lower)
        model.col_cost_ = np.zeros(self._size)
        model.col_lower_ = problem.lower.astype(float)
        model.col_upper_ = np.where(problem.upper == NO_UPPER, endless, problem.upper)
        model.row_lower_ = np.where(problem.row_lower == NO_LOWER, -endless, problem.row_lower)
        model.row_upper_ = np.where(problem.row_upper == NO_UPPER, endless, problem.row_upper)
        model.a_matrix_.format_ = self._highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_ = problem.starts.astype(np.int32)
        model.a_matrix_.index_ = problem.cells.astype(np.int32)
        model.a_matrix_.value_ = problem.coefficients.astype(float)
        return model

    def minimize(
        self, cells: IntArray, weights: IntArray, seconds: float | None = None
    ) -> LinearProposal | None:
        """The least of ``weights @ cells``; None if the solver did not get to the end."""
        solver = self._solver
        if len(self._costs):
            solver.changeColsCost(len(self._costs), self._costs, np.zeros(len(self._costs)))
        self._costs = cells.astype(np.int32)
        solver.changeColsCost(len(cells), self._costs, weights.astype(float))
        # The solver's clock runs on from call to call.
        limit = self._highspy.kHighsInf if seconds is None else solver.getRunTime() + seconds
        solver.setOptionValue("time_limit", limit)
        solver.run()
        if solver.getModelStatus() != self._highspy.HighsModelStatus.kOptimal:
            return None
        solution = solver.getSolution()
        duals = np.array(solution.row_dual)
        if self._kept is not None:
            spread = np.zeros(len(self._kept))
            spread[self._kept] = duals
            duals = spread
        return LinearProposal(
            np.array(solution.col_value),
            duals,
            float(solver.getInfo().objective_function_value),
        )

    def basis(self) -> Any:
        """The solver's basis after a simplex run."""
        return self._solver.getBasis()
