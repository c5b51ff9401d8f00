"""One CP-SAT search per bound, in 64-bit integers.

The model is built once; from bound to bound only the objective changes, and every search starts
afresh. What it calls proven is proven.
"""

from __future__ import annotations

import math
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.arrays import IntArray
from benchmarks.peers.per_bound import Ask, Claim
from benchmarks.peers.programs import NO_LIMIT, Program

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

# What is not named here is left at the solver's default. One worker stalls on large counts.
SETTINGS = {"num_workers": 2}
LARGEST_TERM = 2**62


def asked(program: Program, seconds: float) -> Ask:
    """Build the model; returns what answers for one bound after the other.

    Raises
    ------
    ValueError
        If a coefficient times a count would pass 64-bit integers.
    """
    from ortools.sat.python import cp_model

    if program.largest_term() >= LARGEST_TERM:
        msg = f"a term of {program.largest_term():.1e} does not fit CP-SAT's 64-bit integers"
        raise ValueError(msg)
    model, variables = build_model(program)
    solver = new_solver(seconds)

    def ask(cell: int, maximize: bool) -> Claim:
        started = perf_counter()
        if maximize:
            model.maximize(variables[cell])
        else:
            model.minimize(variables[cell])
        status = solver.solve(model)
        took = perf_counter() - started
        found = status in {cp_model.OPTIMAL, cp_model.FEASIBLE}
        best = int(solver.value(variables[cell])) if found else None
        # Without a table the solver may report the initial value of its bound, proven or not.
        limit = float(solver.best_objective_bound) if found else math.nan
        return Claim(best if status == cp_model.OPTIMAL else None, best, limit, took)

    return ask


def find_table(program: Program, cell: int, value: int, seconds: float) -> IntArray | None:
    """Search for values of all variables with `value` in `cell`; None if time runs out."""
    from ortools.sat.python import cp_model

    model, variables = build_model(program.with_cell(cell, value))
    solver = new_solver(seconds)
    if solver.solve(model) not in {cp_model.OPTIMAL, cp_model.FEASIBLE}:
        return None
    return np.array([solver.value(variable) for variable in variables], dtype=np.int64)


def new_solver(seconds: float) -> cp_model.CpSolver:
    """Return a solver with the printed settings and a time limit for each search."""
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    solver.parameters.num_workers = SETTINGS["num_workers"]
    solver.parameters.max_time_in_seconds = seconds
    return solver


def build_model(program: Program) -> tuple[cp_model.CpModel, list[cp_model.IntVar]]:
    """Build the constraints; returns the model and its variables."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    limits = zip(program.lower.tolist(), program.upper.tolist(), strict=True)
    variables = [model.new_int_var(low, high, "") for low, high in limits]
    for used, coefficients, low, high in program.lines:
        row = cp_model.LinearExpr.weighted_sum([variables[k] for k in used], coefficients)
        if low == high:
            model.add(row == low)
            continue
        if low != -NO_LIMIT:
            model.add(row >= low)
        if high != NO_LIMIT:
            model.add(row <= high)
    return model, variables
