"""One HiGHS mixed-integer programme per bound: formulation (1)-(6) of document 004.

The model is built once; from bound to bound only the objective changes. All coefficients are
integers (the rate inequalities are multiplied by the scale), so that only the solver's own
tolerances stand between its answers and exact ones. They do stand there: HiGHS 1.14 has
called a table optimal, with no gap left, that was not, on as few as 20 x 10 cells, on a fresh
model too, and depending on its random seed; tolerances of 1e-9 instead of the defaults made a
case worse. Its table is therefore checked in integers here, and its optimum wherever the
answers are compared.
"""

from __future__ import annotations

from collections.abc import Callable

import highspy
import numpy as np
import scipy.sparse

from benchmarks.arrays import IntArray
from benchmarks.peers.per_bound import SolverAnswer, is_consistent, solve_each

# What is not named here is left at the solver's default.
SETTINGS: dict[str, bool | float] = {"output_flag": False, "mip_rel_gap": 0.0}


def bounds(
    rates: IntArray,
    scale: int,
    total: int,
    *,
    max_bounds: int | None = None,
    seconds: float = 60.0,
    seed: int = 0,
) -> SolverAnswer:
    """Bound every cell, or a random sample of `max_bounds` bounds, by HiGHS.

    Parameters
    ----------
    rates : IntArray
        Numerators of the rates over `scale`; each is within one unit, weak.
    scale, total : int
        Common denominator of the rates, and the sum of all counts.
    max_bounds : int, optional
        Solve only that many bounds, chosen at random.
    seconds : float, optional
        Time limit for each bound.
    seed : int, optional
        Chooses the sample.
    """
    rows, columns = rates.shape

    def build() -> Callable[[int, int, bool], int | None]:
        solver = build_model(rates, scale, total)
        solver.setOptionValue("time_limit", seconds)  # counts from the start of each solve
        previous = 0

        def solve(row: int, column: int, maximize: bool) -> int | None:
            nonlocal previous
            cell = row * columns + column
            solver.changeColCost(previous, 0.0)
            solver.changeColCost(cell, 1.0)
            previous = cell
            sense = highspy.ObjSense.kMaximize if maximize else highspy.ObjSense.kMinimize
            solver.changeObjectiveSense(sense)
            solver.run()
            # Changing the objective invalidates the result: read it before the next bound.
            if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
                return None
            variables = np.rint(solver.getSolution().col_value).astype(np.int64)
            table = variables[: rows * columns].reshape(rows, columns)
            # An "optimal" table that fails in exact arithmetic proves nothing.
            if not is_consistent(table, rates, scale, total):
                return None
            return int(table[row, column])

        return solve

    return solve_each((rows, columns), build, max_bounds=max_bounds, seed=seed)


def build_model(rates: IntArray, scale: int, total: int) -> highspy.Highs:
    """Build the constraints: cells first, row by row, then the row sums."""
    rows, columns = rates.shape
    cells = rows * columns
    constraints = constraint_matrix(rates, scale)
    equal, unlimited = np.zeros(rows), np.full(cells, highspy.kHighsInf)
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = cells + rows, constraints.shape[0]
    model.col_cost_ = np.zeros(cells + rows)
    model.col_lower_ = np.concatenate([np.zeros(cells), np.ones(rows)])
    model.col_upper_ = np.full(cells + rows, float(total))
    model.row_lower_ = np.concatenate([[total], equal, np.zeros(cells), -unlimited])
    model.row_upper_ = np.concatenate([[total], equal, unlimited, np.zeros(cells)])
    model.integrality_ = [highspy.HighsVarType.kInteger] * (cells + rows)
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = constraints.indptr
    model.a_matrix_.index_ = constraints.indices
    model.a_matrix_.value_ = constraints.data
    solver = highspy.Highs()
    for name, value in SETTINGS.items():
        solver.setOptionValue(name, value)
    solver.passModel(model)
    return solver


def constraint_matrix(rates: IntArray, scale: int) -> scipy.sparse.csr_array:
    """Return the coefficients of (2), of (4) row by row, and of both sides of (5) cell by cell."""
    rows, columns = rates.shape
    cells = rows * columns
    cell, row_of_cell = np.arange(cells), np.repeat(np.arange(rows), columns)
    row_sum = cells + np.arange(rows)  # columns of the matrix, after those of the cells
    row_sum_of_cell, rate = cells + row_of_cell, rates.ravel()
    first_left, first_right = 1 + rows, 1 + rows + cells
    entries = [  # constraint, variable, coefficient
        (np.zeros(rows), row_sum, np.ones(rows)),  # (2): the row sums add to the total
        (1 + row_of_cell, cell, np.ones(cells)),  # (4): the cells of a row add ...
        (1 + np.arange(rows), row_sum, -np.ones(rows)),  # ... to its sum
        (first_left + cell, cell, np.full(cells, scale)),  # (5): scale * cell - (rate - 1) * sum
        (first_left + cell, row_sum_of_cell, 1 - rate),
        (first_right + cell, cell, np.full(cells, scale)),  # (5): scale * cell - (rate + 1) * sum
        (first_right + cell, row_sum_of_cell, -1 - rate),
    ]
    constraint, variable, coefficient = (
        np.concatenate(parts) for parts in zip(*entries, strict=True)
    )
    matrix = scipy.sparse.csr_array(
        (coefficient.astype(float), (constraint.astype(np.int32), variable.astype(np.int32))),
        shape=(1 + rows + 2 * cells, cells + rows),
    )
    matrix.eliminate_zeros()
    return matrix
