"""General solvers on published margins: one optimisation per bound.

The constraints are the same for both: counts from zero to the smallest margin above them, and
one equation for every published figure.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from time import perf_counter

import highspy
import numpy as np
from ortools.sat.python import cp_model

import cellbounds as cb
from benchmarks.arrays import IntArray
from benchmarks.peers import cpsat, highs
from benchmarks.peers.per_bound import SolverAnswer, solve_each

CPSAT_SETTINGS, HIGHS_SETTINGS = cpsat.SETTINGS, highs.SETTINGS


@dataclass(frozen=True, slots=True, eq=False)
class Equations:
    """Published sums of cells, by the numbers of the cells.

    Parameters
    ----------
    members : list of IntArray
        The cells behind each figure.
    figures : list of int
        The figures.
    upper : IntArray
        The smallest figure above each cell.
    """

    members: list[IntArray]
    figures: list[int]
    upper: IntArray

    def hold_for(self, counts: IntArray) -> bool:
        """Check in integers that a table has the published margins."""
        sums = [int(counts[cells].sum()) for cells in self.members]
        return bool(counts.min() >= 0) and sums == self.figures


@dataclass(frozen=True, slots=True)
class Claim:
    """What a solver says of one bound.

    Parameters
    ----------
    optimum : int or None
        The proven optimum; None if time ran out.
    best : int or None
        The count in the best table found, checked in integers.
    limit : float
        What is proven of the optimum; not a number if that is not known.
    seconds : float
        What it took.
    """

    optimum: int | None
    best: int | None
    limit: float
    seconds: float


def equations_of(release: cb.Release) -> Equations:
    """Lay out the exact margins of a release as equations between cells."""
    domain = release.domain
    numbers = np.arange(domain.size).reshape(domain.shape)
    members: list[IntArray] = []
    figures: list[int] = []
    upper = np.full(domain.size, np.iinfo(np.int64).max)
    for statement in release.statements:
        if not isinstance(statement, cb.Margin):
            continue
        kept = domain.axes(statement.variables)
        rest = [axis for axis in range(len(domain.shape)) if axis not in kept]
        counts = np.asarray(statement.counts).ravel()
        cells = numbers.transpose([*kept, *rest]).reshape(counts.size, -1)
        members += list(cells)
        figures += counts.tolist()
        upper[cells] = np.minimum(upper[cells], counts[:, None])
    return Equations(members, figures, upper)


def cpsat_bounds(equations: Equations, *, seconds: float) -> SolverAnswer:
    """Bound every cell by CP-SAT; cells are the rows of the answer, which has one column."""

    def build() -> Callable[[int, int, bool], int | None]:
        ask = cpsat_asked(equations, seconds)
        return lambda cell, _, maximize: ask(cell, maximize).optimum

    return solve_each((len(equations.upper), 1), build, max_bounds=None, seed=0)


def cpsat_asked(equations: Equations, seconds: float) -> Callable[[int, bool], Claim]:
    """Build the model once; every bound is a search of its own."""
    model = cp_model.CpModel()
    cells = [model.new_int_var(0, int(most), "") for most in equations.upper]
    for members, figure in zip(equations.members, equations.figures, strict=True):
        model.add(cp_model.LinearExpr.sum([cells[cell] for cell in members.tolist()]) == figure)
    solver = cpsat.new_solver(seconds)

    def ask(cell: int, maximize: bool) -> Claim:
        started = perf_counter()
        if maximize:
            model.maximize(cells[cell])
        else:
            model.minimize(cells[cell])
        status = solver.solve(model)
        took = perf_counter() - started
        found = status in {cp_model.OPTIMAL, cp_model.FEASIBLE}
        best = int(solver.value(cells[cell])) if found else None
        # Without a table the solver may report the initial value of its bound, proven or not.
        limit = float(solver.best_objective_bound) if found else math.nan
        return Claim(best if status == cp_model.OPTIMAL else None, best, limit, took)

    return ask


def highs_asked(equations: Equations, seconds: float) -> Callable[[int, bool], Claim]:
    """Lay the model out once; every bound is solved afresh, as its clock runs on otherwise."""
    size = len(equations.upper)
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = size, len(equations.figures)
    model.col_lower_ = np.zeros(size)
    model.col_upper_ = equations.upper.astype(float)
    model.row_lower_ = model.row_upper_ = np.array(equations.figures, dtype=float)
    model.integrality_ = [highspy.HighsVarType.kInteger] * size
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lengths = [0, *(len(cells) for cells in equations.members)]
    model.a_matrix_.start_ = np.cumsum(lengths).astype(np.int32)
    model.a_matrix_.index_ = np.array(list(chain(*equations.members)), dtype=np.int32)
    model.a_matrix_.value_ = np.ones(int(np.sum(lengths)))

    def ask(cell: int, maximize: bool) -> Claim:
        started = perf_counter()
        model.col_cost_ = (np.arange(size) == cell).astype(float)
        model.sense_ = highspy.ObjSense.kMaximize if maximize else highspy.ObjSense.kMinimize
        solver = highspy.Highs()
        for name, value in {**HIGHS_SETTINGS, "time_limit": seconds}.items():
            solver.setOptionValue(name, value)
        solver.passModel(model)
        solver.run()
        took = perf_counter() - started
        best = None
        values = solver.getSolution().col_value
        if len(values) == size:
            counts = np.rint(values).astype(np.int64)
            # A table that fails in exact arithmetic proves nothing.
            best = int(counts[cell]) if equations.hold_for(counts) else None
        optimal = solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
        return Claim(best if optimal else None, best, float(solver.getInfo().mip_dual_bound), took)

    return ask
