"""One CP-SAT search per bound: formulation (1)-(6) of document 004 in 64-bit integers.

The model is built once; from bound to bound only the objective changes, and every search
starts afresh.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from ortools.sat.python import cp_model

from benchmarks.arrays import IntArray
from benchmarks.peers.per_bound import SolverAnswer, solve_each

# What is not named here is left at the solver's default. One worker stalls on large counts.
SETTINGS = {"num_workers": 2}
LARGEST_TERM = 2**62


def bounds(
    rates: IntArray,
    scale: int,
    total: int,
    *,
    max_bounds: int | None = None,
    seconds: float = 60.0,
    seed: int = 0,
) -> SolverAnswer:
    """Bound every cell, or a random sample of `max_bounds` bounds, by CP-SAT.

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

    Raises
    ------
    ValueError
        If a coefficient times a count would pass 64-bit integers.
    """
    rows, columns = rates.shape
    if (scale + 1) * total >= LARGEST_TERM:
        msg = f"scale {scale} times total {total} does not fit CP-SAT's 64-bit integers"
        raise ValueError(msg)

    def build() -> Callable[[int, int, bool], int | None]:
        model, cells = build_model(rates, scale, total)
        solver = new_solver(seconds)

        def solve(row: int, column: int, maximize: bool) -> int | None:
            if maximize:
                model.maximize(cells[row][column])
            else:
                model.minimize(cells[row][column])
            if solver.solve(model) != cp_model.OPTIMAL:
                return None
            return int(solver.value(cells[row][column]))

        return solve

    return solve_each((rows, columns), build, max_bounds=max_bounds, seed=seed)


def find_table(
    rates: IntArray, scale: int, total: int, *, cell: tuple[int, int], value: int, seconds: float
) -> IntArray | None:
    """Search for a consistent table that holds `value` in `cell`; None if time runs out."""
    model, cells = build_model(rates, scale, total)
    row, column = cell
    model.add(cells[row][column] == value)
    solver = new_solver(seconds)
    if solver.solve(model) not in {cp_model.OPTIMAL, cp_model.FEASIBLE}:
        return None
    return np.array([[solver.value(variable) for variable in line] for line in cells])


def new_solver(seconds: float) -> cp_model.CpSolver:
    """Return a solver with the printed settings and a time limit for each search."""
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = SETTINGS["num_workers"]
    solver.parameters.max_time_in_seconds = seconds
    return solver


def build_model(
    rates: IntArray, scale: int, total: int
) -> tuple[cp_model.CpModel, list[list[cp_model.IntVar]]]:
    """Build the constraints; returns the model and its cells by row and column."""
    model = cp_model.CpModel()
    cells: list[list[cp_model.IntVar]] = []
    row_sums: list[cp_model.IntVar] = []
    for i, row in enumerate(rates.tolist()):
        row_sum = model.new_int_var(1, total, f"N{i}")
        row_cells = [model.new_int_var(0, total, f"n{i},{j}") for j in range(len(row))]
        model.add(cp_model.LinearExpr.sum(row_cells) == row_sum)
        for cell, rate in zip(row_cells, row, strict=True):
            model.add(scale * cell >= (rate - 1) * row_sum)
            model.add(scale * cell <= (rate + 1) * row_sum)
        cells.append(row_cells)
        row_sums.append(row_sum)
    model.add(cp_model.LinearExpr.sum(row_sums) == total)
    return model, cells
