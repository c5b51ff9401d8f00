"""Linear programs in exact fractions: a solver proposes, and whole numbers decide.

*Dual bounds.* For any multipliers y of the rows, ``c x = y (A x) + (c - y A) x``; replacing every
row and every cell by whichever of its limits makes the sum smallest gives a number that no table
can go below. The multipliers come from a solver in floating point and are rounded to fractions
first, so the number is right whatever the solver did; a poor vector only proves less.

*Optima.* Most are found at a table and multipliers of small denominators. Rounded to these, the
table is checked against every limit and the multipliers are evaluated; if both give the same
number, it is the optimum, whatever the solver rounded. Otherwise there is the basis in which the
simplex method ends: some cells and row sums are free to follow, all others stand at one of their
limits. It is solved again in rationals, and is optimal if the cells keep their limits and the
multipliers have their signs.

*Cells without limit.* If a table with the value v is known, only tables with less (or more) are of
interest. With that as one more row, most cells that nothing limits are limited after all, which
exact programs find out; then an integer program without arbitrary caps can decide.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from cellbounds.errors import InconsistentRelease, TooMuchWork
from cellbounds.model.linear_programs import LinearProgram, LinearProposal
from cellbounds.model.problem import Problem
from cellbounds.runtime.arrays import SAFE, BoolArray, IntArray
from cellbounds.statements.inequalities import NO_LOWER, NO_UPPER

DENOMINATORS = (1, 2, 12, 1 << 20)
"""Denominators tried in turn; vertices of table problems have small ones."""


def dual_bound(problem: Problem, weights: IntArray, duals: IntArray, hoped: int) -> int | None:
    """A number that ``weights @ cells`` is never below; stops trying once it is `hoped`.

    None if the vector proves nothing (a cell without upper limit).
    """
    best: int | None = None
    for denominator in DENOMINATORS:
        multipliers = np.rint(duals * denominator)
        if not np.isfinite(multipliers).all() or np.abs(multipliers).max(initial=0) > 2**40:
            break
        total = evaluated(problem, weights, multipliers.astype(np.int64), denominator)
        if total is not None and (best is None or -(-total // denominator) > best):
            best = -(-total // denominator)
            if best >= hoped:
                break
    return best


def evaluated(
    problem: Problem, weights: IntArray, multipliers: IntArray, denominator: int
) -> int | None:
    """What multipliers over a denominator prove of the sum, times the denominator."""
    limits = np.where(multipliers > 0, problem.row_lower, problem.row_upper)
    useless = (limits == NO_LOWER) | (limits == NO_UPPER)
    multipliers = np.where(useless, 0, multipliers)
    limits = np.where(useless, 0, limits)
    rest = denominator * weights
    terms = problem.coefficients * np.repeat(multipliers, np.diff(problem.starts))
    if float(np.abs(terms).max(initial=0)) * len(terms) >= SAFE:
        return None
    np.subtract.at(rest, problem.cells, terms)
    ends = np.where(rest > 0, problem.lower, problem.upper)
    if ((rest < 0) & (ends == NO_UPPER)).any():
        return None
    size = float(np.abs(multipliers.astype(float)) @ np.abs(limits.astype(float)))
    size += float(np.abs(rest.astype(float)) @ ends.astype(float))
    if size >= SAFE:
        multipliers, rest = multipliers.astype(object), rest.astype(object)
    return int(multipliers @ limits) + int(rest @ ends)


MOST_BASIC = 1500
"""Basic cells that are solved in rationals; beyond, it takes minutes."""

SMALL = 1000
"""Denominators of single numbers that are looked for in a solver's answer."""

ROUNDED = 2**52
"""Numerators below this are whole in floating point, so that rounding may find them."""


class ExactProgram:
    """The relaxation of a problem; answers are fractions."""

    def __init__(self, problem: Problem, *, bounded: bool = False) -> None:
        """Take a problem; `bounded`: it has tables, and an end in every direction asked."""
        # Lists of values are no part of the relaxation.
        self._problem = problem = replace(problem, lists=())
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

    def _certified(self, weights: IntArray, proposal: LinearProposal) -> Fraction | None:
        """The optimum if the table and the multipliers, as small fractions, prove each other."""
        table, multipliers = _small_fractions(proposal.cells), _small_fractions(proposal.duals)
        if table is None or multipliers is None or not self._holds(*table):
            return None
        cells, denominator = table
        value = Fraction(int(weights.astype(object) @ cells), denominator)
        proven = evaluated(self._problem, weights, *multipliers)
        if proven is None or Fraction(proven, multipliers[1]) != value:
            return None
        ends = self._problem.lower, self._problem.upper
        for side, limits in enumerate(ends):
            self._reached[side] |= cells == _times(limits, denominator)
        return value

    def _holds(self, cells: IntArray, denominator: int) -> bool:
        """Whether cells, over a denominator, keep every limit."""
        problem = self._problem
        limits = (problem.lower, problem.upper, problem.row_lower, problem.row_upper)
        if max(map(_widest, limits)) * denominator >= SAFE:
            return False
        sizes = np.abs(problem.coefficients.astype(float) * cells[problem.cells])
        if len(sizes) and float(np.add.reduceat(sizes, problem.starts[:-1]).max()) >= SAFE:
            return False
        low, high, row_low, row_high = (_times(ends, denominator) for ends in limits)
        scaled = replace(problem, lower=low, upper=high, row_lower=row_low, row_upper=row_high)
        return scaled.holds(cells)

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
        problem = self._problem
        basic, at, row_basic, row_at = self._basis()
        columns, tight = np.flatnonzero(basic), np.flatnonzero(~row_basic)
        if len(columns) != len(tight):
            return None
        if len(columns) > MOST_BASIC:
            raise TooMuchWork(
                f"exact linear bounds of a release with {len(columns)} basic cells; at most "
                f"{MOST_BASIC} are solved in fractions, ask for kind='sharp'"
            )
        rows, exact = self._dense[tight], weights.astype(object)
        counts, slopes = at.copy(), exact.copy()
        if len(columns):
            counts[columns] = 0
            square = rows[:, columns]
            solved = _solve(square, row_at[tight] - rows.dot(counts))
            multipliers = _solve(square.T, exact[columns])
            if solved is None or multipliers is None:
                return None
            counts[columns] = solved
            prices = np.zeros(len(problem.row_lower), dtype=object)
            prices[tight] = multipliers
            terms = prices[problem.rows] * problem.coefficients
            np.subtract.at(slopes, problem.cells, terms)
            if not _signed(prices, row_at, problem.row_lower, problem.row_upper, ~row_basic):
                return None
        if not _signed(slopes, at, problem.lower, problem.upper, ~basic):
            return None
        return Fraction(exact.dot(counts)) if problem.holds(counts) else None

    def _basis(self) -> tuple[BoolArray, IntArray, BoolArray, IntArray]:
        """Which cells are basic, where the others stand; the same of the rows."""
        from highspy import HighsBasisStatus as Status

        basis, problem = self._program.basis(), self._problem

        def which(statuses: Any, status: Any) -> BoolArray:
            return np.array([each == status for each in statuses], dtype=bool)

        at = np.where(which(basis.col_status, Status.kUpper), problem.upper, problem.lower)
        row_upper = which(basis.row_status, Status.kUpper)
        row_upper |= problem.row_lower == NO_LOWER
        row_upper &= problem.row_upper != NO_UPPER
        row_at = np.where(row_upper, problem.row_upper, problem.row_lower)
        basic = which(basis.col_status, Status.kBasic)
        return (
            basic,
            at.astype(object),
            which(basis.row_status, Status.kBasic),
            row_at.astype(object),
        )


def _signed(
    slopes: IntArray, at: IntArray, lower: IntArray, upper: IntArray, standing: BoolArray
) -> bool:
    """Whether nothing is gained by leaving the limit that a cell or a row sum stands at."""
    fitting = np.where(at == lower, slopes >= 0, slopes <= 0) | (lower == upper)
    return bool(fitting[standing].all())


def _small_fractions(values: IntArray) -> tuple[IntArray, int] | None:
    """Numbers in floating point as whole ones over one denominator, if that is small."""
    if not np.isfinite(values).all():
        return None
    broken = values[np.abs(values - np.rint(values)) > 1e-7]
    singles = {Fraction(value).limit_denominator(SMALL).denominator for value in broken.tolist()}
    denominator = math.lcm(*singles)
    if float(np.abs(values).max(initial=0)) * denominator >= ROUNDED:
        return None
    return np.rint(values * denominator).astype(np.int64), denominator


def _times(limits: IntArray, factor: int) -> IntArray:
    """Multiples of limits; what is no limit stays none."""
    nothing = (limits == NO_LOWER) | (limits == NO_UPPER)
    return np.where(nothing, limits, factor * limits)


def _widest(limits: IntArray) -> int:
    real = limits[(limits != NO_LOWER) & (limits != NO_UPPER)]
    return int(np.abs(real).max(initial=0))


def _solve(square: IntArray, right: IntArray) -> IntArray | None:
    """Solve in rationals; None if there is no single solution."""
    from flint import fmpz_mat

    matrix = fmpz_mat([[int(value) for value in row] for row in square])
    column = fmpz_mat([[int(value)] for value in right])
    try:
        solved = matrix.solve(column)
    except ZeroDivisionError:
        return None
    values = np.empty(len(square), dtype=object)
    values[:] = [Fraction(int(entry.p), int(entry.q)) for entry in solved.entries()]
    return values


def _shortfall(problem: Problem) -> Fraction:
    """How much the rows miss their limits at least, in exact fractions."""
    count, size = len(problem.row_lower), len(problem.lower)
    # Two cells more in each row: what it has too little, and what it has too much.
    ends = np.repeat(problem.starts[1:], 2)
    slacks = size + np.stack([np.arange(count), count + np.arange(count)], axis=1).ravel()
    relaxed = replace(
        problem,
        lower=np.concatenate([problem.lower, np.zeros(2 * count, dtype=np.int64)]),
        upper=np.concatenate([problem.upper, np.full(2 * count, NO_UPPER)]),
        starts=problem.starts + 2 * np.arange(count + 1),
        cells=np.insert(problem.cells, ends, slacks),
        coefficients=np.insert(problem.coefficients, ends, np.tile([1, -1], count)),
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
    )


MOST_CELLS = 400
"""Exact programs, one for each cell, are worth it up to here."""


def exact_bound(problem: Problem, weights: IntArray) -> int | None:
    """The least whole number that ``weights @ cells`` can be in the relaxation."""
    if len(problem.lower) > MOST_CELLS:
        return None
    try:
        least = ExactProgram(problem).least(weights)
    except TooMuchWork:
        return None
    return None if least is None else math.ceil(least)


def exactly_feasible(problem: Problem) -> bool:
    """Whether real numbers fit; yes if the problem is too large to be sure."""
    if len(problem.lower) > MOST_CELLS:
        return True
    try:
        return ExactProgram(problem).feasible
    except TooMuchWork:
        return True


def closed_beyond(problem: Problem, cells: IntArray, value: int, side: int) -> Problem | None:
    """The tables whose sum over `cells` is below (side 0) or above (side 1) a value.

    None if some cell still has no limit.

    Raises
    ------
    InconsistentRelease
        If there are none, not even of real numbers.
    """
    if len(problem.lower) > MOST_CELLS:
        return None
    beyond = replace(
        problem,
        starts=np.append(problem.starts, len(problem.cells) + len(cells)),
        cells=np.concatenate([problem.cells, cells]),
        coefficients=np.concatenate([problem.coefficients, np.ones(len(cells), dtype=np.int64)]),
        row_lower=np.append(problem.row_lower, NO_LOWER if side == 0 else value + 1),
        row_upper=np.append(problem.row_upper, value - 1 if side == 0 else NO_UPPER),
        origin=np.append(problem.origin, -1),
    )
    program = ExactProgram(beyond)
    upper = problem.upper.copy()
    for cell in np.flatnonzero(problem.upper == NO_UPPER):
        weights = np.zeros(len(upper), dtype=np.int64)
        weights[cell] = -1
        try:
            least = program.least(weights)
        except TooMuchWork:
            return None
        if least is None:
            return None
        upper[cell] = math.floor(-least)
    return replace(beyond, upper=upper)


def grows_without_end(problem: Problem, cells: IntArray) -> bool:
    """Whether the sum of some cells has no upper bound, given that a table exists.

    A rational direction has a multiple in whole numbers, and a table plus any number of those is
    a table; so the whole numbers have no bound exactly if the relaxation has none. Sums that must
    be in a list of values are bounded by rows as well.
    """
    if any(problem.grows_alone(cell) for cell in cells.tolist()):
        return True  # the commonest direction, without a program
    weights = np.zeros(len(problem.lower), dtype=np.int64)
    weights[cells] = -1
    return ExactProgram(problem).least(weights) is None
