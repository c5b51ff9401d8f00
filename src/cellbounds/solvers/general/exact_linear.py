"""Linear programs in exact fractions: a solver proposes, and whole numbers decide.

Most optima are found at a table and multipliers of small denominators. Rounded to these, the table
is checked against every limit and the multipliers are evaluated (duals.py); if both give the same
number, it is the optimum, whatever the solver rounded. Otherwise there is the basis in which the
simplex method ends: some cells and row sums are free to follow, all others stand at one of their
limits. It is solved again in rationals, and is optimal if the cells keep their limits and the
multipliers have their signs.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from cellbounds.errors import InconsistentRelease, TooMuchWork
from cellbounds.model.constraints import NO_LOWER, NO_UPPER
from cellbounds.model.linear_programs import LinearProgram, Proposal
from cellbounds.model.problem import Problem
from cellbounds.runtime.arrays import SAFE, BoolArray, IntArray
from cellbounds.solvers.general.duals import Duals

__all__ = ["ExactProgram"]

MOST_BASIC = 1500
"""Basic cells that are solved in rationals; beyond, it takes minutes."""

SMALL = 1000
"""Denominators of single numbers that are looked for in a solver's answer."""

ROUNDED = 2**52
"""Numerators below this are whole in floating point, so that rounding may find them."""


@dataclass(frozen=True, slots=True, eq=False)
class _Basis:
    """Which cells and rows are basic, and where the others stand."""

    cells: BoolArray
    rows: BoolArray
    at: IntArray
    row_at: IntArray


class ExactProgram:
    """The relaxation of a problem; answers are fractions."""

    def __init__(self, problem: Problem, *, bounded: bool = False) -> None:
        """Take a problem; `bounded`: it has tables, and an end in every direction asked."""
        import highspy

        self._highspy = highspy
        self._problem = problem
        self._program = LinearProgram(problem, exact=True)
        self._bounded = bounded
        self._feasible: bool | None = bounded or None
        # Cells that some table has at their lower and at their upper limit.
        self._reached = np.zeros((2, len(problem.lower)), dtype=bool)

    def least(self, weights: IntArray, deadline: float | None = None) -> Fraction | None:
        """The least of ``weights @ cells``; None if there is no end downwards.

        Raises
        ------
        InconsistentRelease
            If not even real numbers fit.
        TooMuchWork
            If it could not be settled, or not by the deadline (of the monotonic clock).
        """
        places = np.flatnonzero(weights)
        if len(places) == 1:
            known = self._known(int(places[0]), int(weights[places[0]]))
            if known is not None:
                return known
        if not len(places):
            places = np.array([0])
        left = None if deadline is None else max(deadline - time.monotonic(), 0.001)
        proposal = self._program.minimize(places, weights[places], left)
        if proposal is not None:
            value = self._certified(weights, proposal)
            if value is None:
                value = self._verified(weights)
            if value is not None:
                self._feasible = True
                return value
        if deadline is not None and time.monotonic() >= deadline:
            raise TooMuchWork("the linear program was not solved in time; give more seconds")
        if not self.feasible:
            raise InconsistentRelease("not even real numbers fit the published figures")
        if not self._bounded and self._endless(weights):
            return None
        raise TooMuchWork(
            "the linear program could not be solved in exact fractions; ask for kind='sharp', or "
            "give rates with fewer decimals"
        )

    @property
    def feasible(self) -> bool:
        """Whether real numbers fit, decided exactly."""
        if self._feasible is None:
            self._feasible = _shortfall(self._problem) == 0
        return self._feasible

    def _known(self, cell: int, weight: int) -> Fraction | None:
        """The least of one cell's multiple if some table has the cell at its limit."""
        side = 0 if weight > 0 else 1
        if not self._reached[side, cell]:
            return None
        limits = self._problem.upper if side else self._problem.lower
        return Fraction(weight * int(limits[cell]))

    def _certified(self, weights: IntArray, proposal: Proposal) -> Fraction | None:
        """The optimum if the table and the multipliers, as small fractions, prove each other."""
        table, multipliers = _small_fractions(proposal.cells), _small_fractions(proposal.duals)
        if table is None or multipliers is None or not self._holds(*table):
            return None
        cells, denominator = table
        value = Fraction(int(weights.astype(object) @ cells), denominator)
        proven = self._duals.evaluated(weights, *multipliers)
        if proven is None or Fraction(proven, multipliers[1]) != value:
            return None
        ends = self._problem.lower, self._problem.upper
        for side, limits in enumerate(ends):
            self._reached[side] |= cells == _times(limits, denominator, NO_UPPER)
        return value

    def _holds(self, cells: IntArray, denominator: int) -> bool:
        """Whether cells, over a denominator, keep every limit."""
        problem = self._problem
        limits = (problem.lower, problem.upper, problem.row_lower, problem.row_upper)
        if max(map(_widest, limits)) * denominator >= SAFE:
            return False
        low, high = (_times(one, denominator, NO_UPPER) for one in limits[:2])
        if (cells < low).any() or (cells > high).any():
            return False
        if not len(problem.cells):
            return True
        sizes = np.abs(problem.coefficients.astype(float) * cells[problem.cells])
        if float(np.add.reduceat(sizes, problem.starts[:-1]).max()) >= SAFE:
            return False
        sums = problem.sums(cells)
        low, high = (
            _times(limits[2], denominator, NO_LOWER),
            _times(limits[3], denominator, NO_UPPER),
        )
        return not ((sums < low).any() or (sums > high).any())

    @cached_property
    def _duals(self) -> Duals:
        return Duals(self._problem)

    @cached_property
    def _dense(self) -> IntArray:
        problem = self._problem
        dense = np.zeros((len(problem.row_lower), len(problem.lower)), dtype=object)
        dense[problem.rows, problem.cells] = problem.coefficients
        return dense

    def _endless(self, weights: IntArray) -> bool:
        """Whether some direction that the rows allow for ever lowers the sum."""
        cone = _cone(self._problem)
        free = np.flatnonzero(cone.upper > 0)
        if not len(free):
            return False
        bounded = replace(cone, upper=np.minimum(cone.upper, 1))
        lowest = ExactProgram(bounded, bounded=True).least(weights)
        return lowest is not None and lowest < 0

    def _verified(self, weights: IntArray) -> Fraction | None:
        """The value of the proposed basis if it is optimal in exact arithmetic."""
        basis = self._basis()
        columns, tight = np.flatnonzero(basis.cells), np.flatnonzero(~basis.rows)
        if len(columns) != len(tight):
            return None
        if len(columns) > MOST_BASIC:
            raise TooMuchWork(
                f"exact linear bounds of a release with {len(columns)} basic cells; at most "
                f"{MOST_BASIC} are solved in fractions, ask for kind='sharp'"
            )
        counts: list[Any] = [Fraction(int(value)) for value in basis.at]
        others = ~basis.cells
        if len(columns):
            square = self._dense[np.ix_(tight, columns)]
            rest = basis.row_at[tight] - self._dense[np.ix_(tight, np.flatnonzero(others))].dot(
                basis.at[others]
            )
            solved = _solve(square, rest)
            multipliers = _solve(square.T, weights[columns])
            if solved is None or multipliers is None:
                return None
            for place, value in zip(columns.tolist(), solved, strict=True):
                counts[place] = value
        else:
            multipliers = []
        if not self._primal(counts) or not self._dual(weights, basis, tight, multipliers):
            return None
        return sum(
            (int(w) * counts[k] for k, w in enumerate(weights.tolist()) if w), start=Fraction(0)
        )

    def _basis(self) -> _Basis:
        statuses = self._highspy.HighsBasisStatus
        basis = self._program.basis()
        problem = self._problem

        def which(found: Any, status: Any) -> BoolArray:
            return np.array([one == status for one in found], dtype=bool)

        at = np.where(which(basis.col_status, statuses.kUpper), problem.upper, problem.lower)
        row_upper = which(basis.row_status, statuses.kUpper)
        row_upper |= problem.row_lower == NO_LOWER
        row_upper &= problem.row_upper != NO_UPPER
        return _Basis(
            which(basis.col_status, statuses.kBasic),
            which(basis.row_status, statuses.kBasic),
            at.astype(object),
            np.where(row_upper, problem.row_upper, problem.row_lower).astype(object),
        )

    def _primal(self, counts: list[Fraction]) -> bool:
        problem = self._problem
        for value, low, high in zip(
            counts, problem.lower.tolist(), problem.upper.tolist(), strict=True
        ):
            if value < low or value > high:
                return False
        for row in range(len(problem.row_lower)):
            inside = slice(problem.starts[row], problem.starts[row + 1])
            total = sum(
                (
                    int(factor) * counts[cell]
                    for cell, factor in zip(
                        problem.cells[inside].tolist(),
                        problem.coefficients[inside].tolist(),
                        strict=True,
                    )
                ),
                start=Fraction(0),
            )
            if not int(problem.row_lower[row]) <= total <= int(problem.row_upper[row]):
                return False
        return True

    def _dual(
        self, weights: IntArray, basis: _Basis, tight: IntArray, multipliers: list[Fraction]
    ) -> bool:
        problem = self._problem
        slopes = [Fraction(int(w)) for w in weights.tolist()]
        for row, multiplier in zip(tight.tolist(), multipliers, strict=True):
            low, high = int(problem.row_lower[row]), int(problem.row_upper[row])
            at = int(basis.row_at[row])
            if low != high and (multiplier < 0 if at == low else multiplier > 0):
                return False
            inside = slice(problem.starts[row], problem.starts[row + 1])
            for cell, factor in zip(
                problem.cells[inside].tolist(), problem.coefficients[inside].tolist(), strict=True
            ):
                slopes[cell] -= multiplier * factor
        for cell in np.flatnonzero(~basis.cells).tolist():
            low, high = int(problem.lower[cell]), int(problem.upper[cell])
            at = int(basis.at[cell])
            if low != high and (slopes[cell] < 0 if at == low else slopes[cell] > 0):
                return False
        return True


def _small_fractions(values: IntArray) -> tuple[IntArray, int] | None:
    """Numbers in floating point as whole ones over one denominator, if that is small."""
    if not np.isfinite(values).all():
        return None
    broken = values[np.abs(values - np.rint(values)) > 1e-7]
    singles = {Fraction(one).limit_denominator(SMALL).denominator for one in broken.tolist()}
    denominator = math.lcm(*singles)
    if float(np.abs(values).max(initial=0)) * denominator >= ROUNDED:
        return None
    return np.rint(values * denominator).astype(np.int64), denominator


def _times(limits: IntArray, factor: int, nothing: int) -> IntArray:
    """Multiples of limits; what is no limit stays none."""
    return np.where(limits == nothing, nothing, factor * np.where(limits == nothing, 0, limits))


def _widest(limits: IntArray) -> int:
    real = limits[(limits != NO_LOWER) & (limits != NO_UPPER)]
    return int(np.abs(real).max(initial=0))


def _solve(square: IntArray, right: IntArray) -> list[Fraction] | None:
    """Solve in rationals; None if there is no single solution."""
    from flint import fmpz_mat

    matrix = fmpz_mat([[int(value) for value in row] for row in square])
    column = fmpz_mat([[int(value)] for value in right])
    try:
        solved = matrix.solve(column)
    except ZeroDivisionError:
        return None
    return [Fraction(int(solved[k, 0].p), int(solved[k, 0].q)) for k in range(square.shape[0])]


def _shortfall(problem: Problem) -> Fraction:
    """How much the rows miss their limits at least, in exact fractions."""
    count, size = len(problem.row_lower), len(problem.lower)
    widths = np.diff(problem.starts)
    starts = np.concatenate([[0], np.cumsum(widths + 2)])
    cells = np.zeros(starts[-1], dtype=np.int64)
    factors = np.zeros(starts[-1], dtype=np.int64)
    own = np.ones(starts[-1], dtype=bool)
    own[starts[1:] - 1] = own[starts[1:] - 2] = False
    cells[own], factors[own] = problem.cells, problem.coefficients
    cells[starts[1:] - 2], factors[starts[1:] - 2] = size + np.arange(count), 1
    cells[starts[1:] - 1], factors[starts[1:] - 1] = size + count + np.arange(count), -1
    relaxed = replace(
        problem,
        lower=np.concatenate([problem.lower, np.zeros(2 * count, dtype=np.int64)]),
        upper=np.concatenate([problem.upper, np.full(2 * count, NO_UPPER)]),
        starts=starts,
        cells=cells,
        coefficients=factors,
        lists=(),
    )
    weights = np.concatenate([np.zeros(size), np.ones(2 * count)]).astype(np.int64)
    # Whatever the rows miss can be made up, and that costs 0 or more.
    value = ExactProgram(relaxed, bounded=True).least(weights)
    assert value is not None
    return value


def _cone(problem: Problem) -> Problem:
    """Directions in which every table may go for ever."""
    return replace(
        problem,
        lower=np.zeros_like(problem.lower),
        upper=np.where(problem.upper == NO_UPPER, NO_UPPER, 0),
        row_lower=np.where(problem.row_lower == NO_LOWER, NO_LOWER, 0),
        row_upper=np.where(problem.row_upper == NO_UPPER, NO_UPPER, 0),
        lists=(),
    )
