"""Why cells hold the same count in every table, as steps that anybody can check.

A step is a combination of published figures. Figures that are exact do not change from table to
table, so that the changes of the cells in it add up to nothing; cells that are known already do not
count. If one cell is left, it is known, too. If several are, and each can only change in the
direction in which it adds something, they are all known (docs/theory/certificates.md).
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from cellbounds.model.constraints import System
from cellbounds.model.problem import Problem, raw_problem
from cellbounds.runtime.arrays import SAFE, BoolArray, IntArray, rows_of_entries
from cellbounds.solvers.general.constant_sums import (
    GROUP,
    MOST_STEPS,
    Equations,
    equations_of,
    grouped_echelon,
    inwards_of,
    positive_combination,
    proposed_columns,
    tight_columns,
)
from cellbounds.solvers.general.elimination_kernel import Echelon, combinations
from cellbounds.statements.inequalities import NO_LOWER, NO_UPPER


class Steps(NamedTuple):
    """Steps one after the other: rows ``rows[starts[k]:starts[k + 1]]``, each some `times`."""

    starts: IntArray
    rows: IntArray
    times: IntArray


def stated_sums(system: System, size: int) -> Problem | None:
    """The cells and rows of a system that states nothing but sums; None if it states more.

    What is said of single cells limits them.
    """
    if system.lists or object in (system.coefficients.dtype, system.lower.dtype):
        return None
    problem = raw_problem(system, size)
    factors = problem.coefficients[problem.starts[:-1]]
    if (factors <= 0).any() or (
        problem.coefficients != np.repeat(factors, np.diff(problem.starts))
    ).any():
        return None
    low = np.where(problem.row_lower == NO_LOWER, NO_LOWER, problem.row_lower // factors)
    high = np.where(problem.row_upper == NO_UPPER, NO_UPPER, problem.row_upper // factors)
    single = np.diff(problem.starts) == 1
    cells = problem.cells[problem.starts[:-1][single]]
    lower, upper = problem.lower.copy(), problem.upper.copy()
    np.maximum.at(lower, cells, low[single])
    np.minimum.at(upper, cells, high[single])
    return replace(
        problem,
        lower=lower,
        upper=upper,
        coefficients=np.ones_like(problem.coefficients),
        row_lower=low,
        row_upper=high,
    )


def constant_steps(
    problem: Problem, table: IntArray, claimed: BoolArray, seconds: float | None = None
) -> tuple[Steps, BoolArray]:
    """Steps that prove that cells are constant, and which cells they prove.

    Parameters
    ----------
    problem
        Cells and rows as they are stated, nothing narrowed but by single cells.
    table
        A table that fits.
    claimed
        Cells that are to be proven constant.
    seconds
        For linear programs.
    """
    peeling = _Peeling(problem, table)
    peeling.peel()
    if (claimed & peeling.live).any():
        _eliminated(peeling, claimed, seconds)
    return peeling.steps(), ~peeling.live


class _Peeling:
    """Cells that are live still, rows over them, and the steps so far."""

    def __init__(self, problem: Problem, table: IntArray) -> None:
        self.problem, self.table = problem, table
        self.live: BoolArray = problem.lower < problem.upper
        sums = problem.sums(table)
        # Which way a row can change: up from its least, down from its most, nowhere if both.
        self._may_rise = sums < problem.row_upper
        self._may_fall = sums > problem.row_lower
        self._made: list[Steps] = []

    def steps(self) -> Steps:
        none = np.zeros(0, dtype=np.int64)
        widths = [np.diff(made.starts) for made in self._made]
        return Steps(
            np.concatenate([[0], np.cumsum(np.concatenate([none, *widths]))]),
            np.concatenate([none, *(made.rows for made in self._made)]),
            np.concatenate([none, *(made.times for made in self._made)]),
        )

    def add(self, steps: Steps, known: IntArray) -> None:
        """Note steps, and the cells that they prove constant."""
        self._made.append(steps)
        self.live[known] = False

    def peel(self) -> None:
        """Take rows in which a single cell is left, or in which all can go one way only."""
        problem, table = self.problem, self.table
        low, high = table == problem.lower, table == problem.upper
        inside = self.live[problem.cells]
        cells, rows = problem.cells[inside], problem.rows[inside]
        count = len(problem.row_lower)
        while len(cells):
            widths = np.bincount(rows, minlength=count)
            all_low = np.bincount(rows, low[cells], minlength=count) == widths
            all_high = np.bincount(rows, high[cells], minlength=count) == widths
            exact = ~self._may_rise & ~self._may_fall
            told = exact & ((widths == 1) | all_low | all_high)
            told |= (all_low & ~self._may_rise) | (all_high & ~self._may_fall)
            steps = np.flatnonzero(told & (widths > 0))
            if not len(steps):
                return
            ones = np.ones(len(steps), dtype=np.int64)
            self.add(Steps(np.arange(len(steps) + 1), steps, ones), cells[told[rows]])
            left = self.live[cells]
            cells, rows = cells[left], rows[left]

    def rest(self) -> tuple[Problem, IntArray, IntArray]:
        """The live cells with the rows over them, and their numbers; counts of others are taken."""
        problem, numbers = self.problem, np.flatnonzero(self.live)
        inside = self.live[problem.cells]
        rows, cells = problem.rows[inside], problem.cells[inside]
        row_numbers, places = np.unique(rows, return_inverse=True)
        number = np.cumsum(self.live) - 1
        local = np.bincount(places, self.table[cells], len(row_numbers)).astype(np.int64)
        # Limits as far as the table is from them: what matters is at which of them it stands.
        room_below, room_above = self._may_fall[row_numbers], self._may_rise[row_numbers]
        small = Problem(
            lower=problem.lower[numbers],
            upper=problem.upper[numbers],
            starts=np.concatenate(
                [[0], np.cumsum(np.bincount(places, minlength=len(row_numbers)))]
            ),
            cells=number[cells],
            coefficients=np.ones(len(cells), dtype=np.int64),
            row_lower=local - room_below,
            row_upper=local + room_above,
            origin=np.arange(len(row_numbers)),
            lists=(),
        )
        return small, numbers, row_numbers


def _eliminated(peeling: _Peeling, claimed: BoolArray, seconds: float | None) -> None:
    """Steps by elimination: one for all cells that are forced, then one for each cell."""
    small, numbers, row_numbers = peeling.rest()
    table = peeling.table[numbers]
    equations = equations_of(small)
    tight = np.concatenate(
        [tight_columns(small, equations, [table]), np.zeros(len(row_numbers), int)]
    )
    named, first = _with_origins(equations), equations.size
    groups = np.where(tight != 0, GROUP, 0)
    groups[first:] = 5 * GROUP
    echelon = grouped_echelon(named, groups)
    inwards = inwards_of(echelon, tight != 0, tight)
    if len(inwards.columns):
        proposed = proposed_columns(inwards, named.size, seconds)
        echelon = grouped_echelon(named, groups + np.where(proposed, GROUP, 0))
        inwards = inwards_of(echelon, proposed, tight)
        multipliers = positive_combination(inwards, seconds)
        step = _origins(echelon, proposed, multipliers, first)
        if step is not None and len(step.rows):
            used = inwards.columns[np.unique(inwards.places[multipliers[inwards.rows] != 0])]
            peeling.add(
                step._replace(rows=row_numbers[step.rows]), numbers[used[used < len(numbers)]]
            )
            peeling.peel()
    wanted = np.flatnonzero((claimed & peeling.live)[numbers])
    dead = np.zeros(named.size, dtype=np.int64)
    dead[: len(numbers)] = ~peeling.live[numbers]
    starts, rows, times = combinations(echelon, wanted, dead, first, MOST_STEPS)
    proven = np.diff(starts) > 0
    starts = np.append(0, starts[1:][proven])
    peeling.add(Steps(starts, row_numbers[rows], times), numbers[wanted[proven]])


def _with_origins(equations: Equations) -> Equations:
    """The equations with a column more for each row, which tells where it went."""
    count = len(equations.starts) - 1
    ends = equations.starts[1:]
    far = np.full(count, SAFE)
    return Equations(
        equations.starts + np.arange(count + 1),
        np.insert(equations.columns, ends, equations.size + np.arange(count)),
        np.insert(equations.factors, ends, 1),
        np.concatenate([equations.lower, -far]),
        np.concatenate([equations.upper, far]),
        equations.ranges,
    )


def _origins(echelon: Echelon, last: BoolArray, multipliers: IntArray, first: int) -> Steps | None:
    """A combination of the rows with pivots in the last columns, in terms of those they are of."""
    rows = np.sort(echelon.row_of[(echelon.row_of >= 0) & last])
    times = np.zeros(len(echelon.starts) - 1, dtype=np.int64)
    times[rows] = multipliers
    row_of_entry = rows_of_entries(echelon.starts)
    inside = (times[row_of_entry] != 0) & (echelon.columns >= first)
    factors, by = echelon.factors[inside], times[row_of_entry[inside]]
    if not float(np.abs(factors).astype(float) @ np.abs(by)) < SAFE:
        return None
    totals = np.zeros(len(echelon.row_of) - first, dtype=np.int64)
    np.add.at(totals, echelon.columns[inside] - first, factors * by)
    used = np.flatnonzero(totals)
    return Steps(np.array([0, len(used)]), used, totals[used])
