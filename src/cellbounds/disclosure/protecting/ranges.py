"""The narrowest ranges: how roughly each figure is shown, so that small counts stay uncertain.

Each cell has options from narrow to wide, each of which holds the one before it. The attacker knows
that every count lies in its range, and how counts add up; a cell is protected if there are moves
that take its count far enough up and down (`suppression_problem`). If the options chosen do not
allow that, multipliers of a linear program give an inequality that every choice satisfies which
does, exactly, for any multipliers (`docs/theory/rounding-and-ranges.md`). A program over choices is
solved again and again with the inequalities found so far.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np

from cellbounds.disclosure.protecting.moves import NEAR, solver_of
from cellbounds.disclosure.protecting.patterns import alternatives
from cellbounds.disclosure.protecting.suppression_problem import (
    Equation,
    Level,
    SuppressionProblem,
)
from cellbounds.disclosure.protecting.whole_moves import whole_moves
from cellbounds.model.problem import Problem
from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.runtime.budget import UNLIMITED, Budget
from cellbounds.runtime.scaled_floats import FloatArray
from cellbounds.solvers.general.cp_sat import LARGEST, IntegerProgram
from cellbounds.statements.inequalities import NO_UPPER

SCALE = 5040
"""Multipliers are rounded to fractions of this: most are whole, or have small denominators."""

VIOLATED = 1e-3
"""By how much a fractional choice must miss an inequality for it to be worth adding."""

ROUNDS, SEARCHES = 60, 400
"""Rounds of inequalities for fractional choices; and for whole ones, each a program of its own."""

PROVING = 60.0
"""Seconds for a proof by CP-SAT where no budget says otherwise."""


@dataclass(frozen=True, eq=False)
class RangeProblem:
    """Counts, how they add up, and the options of each cell.

    Attributes
    ----------
    counts, equations
        The true counts, and each cell that others add up to, with those.
    low, high
        For each cell (rows) and option (columns) the smallest and the largest count that an
        attacker takes for possible: options hold those before them.
    costs
        What each option costs, not less than those before it.
    first, last
        The options that a cell may have.
    levels
        How uncertain counts must stay.
    """

    counts: IntArray
    equations: tuple[Equation, ...]
    low: IntArray
    high: IntArray
    costs: IntArray
    first: IntArray
    last: IntArray
    levels: tuple[Level, ...]

    @cached_property
    def matrix(self) -> Any:
        """The equations: a sum less its parts."""
        return self.under(self.last).matrix

    @cached_property
    def rooms(self) -> tuple[IntArray, IntArray]:
        """How far each count can go up and down under each option."""
        return self.high - self.counts[:, None], self.counts[:, None] - self.low

    def cost(self, choice: IntArray) -> int:
        """What a choice of options costs."""
        return int(self.costs[np.arange(len(choice)), choice].sum())

    def under(self, choice: IntArray) -> SuppressionProblem:
        """What is left open by a choice, as a problem whose cells all are hidden or all shown."""
        cells = np.arange(len(choice))
        least, most = self.low[cells, choice], self.high[cells, choice]
        shown = least == most
        levels = tuple(one for one in self.levels if not shown[one.cell])
        zero = np.zeros(len(choice), dtype=np.int64)
        return SuppressionProblem(
            self.counts, self.equations, least, most, zero, ~shown, shown, levels
        )


@dataclass(frozen=True, slots=True, eq=False)
class Ranges:
    """Options that protect, and how good they are.

    Attributes
    ----------
    choice
        The option of each cell.
    cost, bound
        What they cost, and what no choice costs less than that protects as much.
    shown
        How many levels have moves, checked in whole numbers, to show that they are kept.
    open
        Levels that no choice keeps, or that none was found for.
    stopped
        Whether time ended the search.
    """

    choice: IntArray
    cost: int
    bound: int
    shown: int
    open: tuple[Level, ...]
    stopped: bool


class _Attack:
    """How far counts can go within ranges, by a linear program, and the multipliers for that."""

    def __init__(self, problem: RangeProblem) -> None:
        self._problem = problem
        size = len(problem.counts)
        zero = np.zeros(size)
        self._solver = solver_of(zero, zero, zero, problem.matrix)
        self._columns = np.arange(size, dtype=np.int32)
        self._up, self._down = zero, zero

    def within(self, up: FloatArray, down: FloatArray) -> None:
        """Allow moves so far up and down."""
        self._up, self._down = up, down
        self._solver.changeColsBounds(len(up), self._columns, -down, up)
        self.reached_up, self.reached_down = np.zeros(len(up)), np.zeros(len(up))

    def choose(self, choice: IntArray) -> None:
        """Allow the moves that options allow."""
        cells = np.arange(len(choice))
        above, below = self._problem.rooms
        self.within(above[cells, choice].astype(float), below[cells, choice].astype(float))

    def reach(self, cell: int, sign: int) -> tuple[float, FloatArray]:
        """How far a count goes, and multipliers of the equations that prove it."""
        import highspy

        self._solver.changeColCost(cell, -float(sign))
        self._solver.run()
        optimal = self._solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
        solution = self._solver.getSolution()
        move, duals = np.array(solution.col_value), -np.array(solution.row_dual)
        self._solver.changeColCost(cell, 0.0)
        if not optimal:
            return 0.0, np.zeros(self._problem.matrix.shape[0])
        self.reached_up = np.maximum(self.reached_up, move)
        self.reached_down = np.maximum(self.reached_down, -move)
        return sign * float(move[cell]), duals

    def keeps(self, level: Level) -> bool:
        """Whether moves were found that keep a level, or are found now."""
        cell = level.cell
        if not self._near(level):
            for sign, most in zip((1, -1), level.amounts, strict=True):
                if most:
                    self.reach(cell, sign)
        return self._near(level)

    def moves(self, level: Level) -> tuple[FloatArray, FloatArray]:
        """How far each cell goes up and down in all moves since ranges were set, for a level."""
        self.keeps(level)
        return self.reached_up, self.reached_down

    def _near(self, level: Level) -> bool:
        cell = level.cell
        return level.kept(self.reached_up[cell] + NEAR, self.reached_down[cell] + NEAR)


@dataclass(frozen=True, slots=True, eq=False)
class _Row:
    """An inequality over choices: the columns, whole coefficients, and the least sum."""

    columns: IntArray
    values: IntArray
    least: int


class _Master:
    """The program over choices: a variable for each further option of a cell, 1 if it is taken.

    Variables of wider options are no larger than those of narrower ones. Levels that several sets
    of moves keep have a variable for each set, one of which is 1.
    """

    def __init__(self, problem: RangeProblem) -> None:
        self.problem = problem
        steps = problem.last - problem.first
        self.cell = np.repeat(np.arange(len(steps)), steps)
        begins = np.cumsum(steps) - steps
        self.option = np.arange(len(self.cell)) - begins[self.cell] + problem.first[self.cell] + 1
        self._begins = begins
        self.ways = {
            (level, place): way
            for level in problem.levels
            for place, way in enumerate(alternatives(level))
        }
        self.way_at = {key: len(self.cell) + place for place, key in enumerate(self.ways)}
        self.size = len(self.cell) + len(self.ways)
        before = problem.costs[self.cell, self.option - 1]
        self.costs = np.zeros(self.size, dtype=np.int64)
        self.costs[: len(self.cell)] = problem.costs[self.cell, self.option] - before
        self.start = problem.cost(problem.first)
        follows = np.flatnonzero(self.option > problem.first[self.cell] + 1)
        self.rows = [_Row(np.array([one - 1, one]), np.array([1, -1]), 0) for one in follows]
        for _, keys in groupby(self.ways, key=lambda key: key[0]):
            own = np.array([self.way_at[key] for key in keys])
            self.rows.append(_Row(own, np.ones(len(own), dtype=np.int64), 1))

    def choice(self, values: FloatArray) -> IntArray:
        """The options of whole values."""
        taken = np.rint(values[: len(self.cell)]).astype(np.int64)
        return self.problem.first + np.bincount(
            self.cell, taken, minlength=len(self.problem.first)
        ).astype(np.int64)

    def rooms(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """How far counts can go up and down if options are taken by halves."""
        cells, share = np.arange(len(self.problem.first)), values[: len(self.cell)]
        rooms = []
        for room in self.problem.rooms:
            more = room[self.cell, self.option] - room[self.cell, self.option - 1]
            base = room[cells, self.problem.first].astype(float)
            rooms.append(base + np.bincount(self.cell, more * share, minlength=len(cells)))
        return np.asarray(rooms[0], dtype=float), np.asarray(rooms[1], dtype=float)

    def inequality(self, level: Level, place: int, sign: int, need: int, dual: FloatArray) -> _Row:
        """What must hold if one set of moves keeps a level: from multipliers, for any of them."""
        whole = np.rint(dual * SCALE).astype(np.int64)
        weights = -(self.problem.matrix.T @ whole)
        weights[level.cell] += sign * SCALE
        above, below = self.problem.rooms
        reach = np.maximum(weights, 0)[:, None] * above + np.maximum(-weights, 0)[:, None] * below
        cells = np.arange(len(weights))
        least = need * SCALE - int(reach[cells, self.problem.first].sum())
        # No cell counts for more than is missing in all.
        more = np.minimum(reach - reach[cells, self.problem.first][:, None], max(least, 0))
        values = more[self.cell, self.option] - more[self.cell, self.option - 1]
        kept = np.flatnonzero(values)
        columns = np.append(kept, self.way_at[level, place])
        values = np.append(values[kept], -max(least, 0))
        return _Row(columns, values // max(int(np.gcd.reduce(values)), 1), 0)

    def wider(self, choice: IntArray) -> _Row:
        """Some cell must be shown more roughly than in a choice that does not protect."""
        columns = np.flatnonzero(self.option > choice[self.cell])
        return _Row(columns, np.ones(len(columns), dtype=np.int64), 1)

    def solver(self) -> Any:
        """The program for HiGHS, with the rows that are there now."""
        import highspy

        solver = highspy.Highs()
        for option, value in (("output_flag", False), ("threads", 1), ("mip_rel_gap", 0.0)):
            solver.setOptionValue(option, value)
        solver.addVars(self.size, np.zeros(self.size), np.ones(self.size))
        every = np.arange(self.size, dtype=np.int32)
        solver.changeColsCost(self.size, every, self.costs.astype(float))
        for row in self.rows:
            add_row(solver, row)
        return solver

    def sparse(self) -> Any:
        """The rows as a matrix of whole numbers."""
        from scipy.sparse import csr_matrix

        starts = np.cumsum([0, *(len(row.columns) for row in self.rows)])
        none = np.zeros(0, dtype=np.int64)
        columns = np.concatenate([none, *(row.columns for row in self.rows)])
        values = np.concatenate([none, *(row.values for row in self.rows)])
        return csr_matrix((values, columns, starts), shape=(len(self.rows), self.size))

    def bound(self, duals: Any) -> int:
        """A lower bound on any choice's cost from multipliers of the rows: in whole numbers."""
        scale, matrix = 1 << 20, self.sparse()
        multipliers = np.maximum(np.rint(np.array(duals) * scale), 0).astype(np.int64)
        if float((abs(matrix).T @ multipliers.astype(float)).max(initial=0.0)) > LARGEST:
            return self.start  # too large for 64 bits: nothing is proven
        reduced = self.costs * scale - matrix.T @ multipliers
        least = [row.least for row in self.rows]
        total = sum(m * one for m, one in zip(multipliers.tolist(), least, strict=True))
        total += sum(np.minimum(reduced, 0).tolist())
        return self.start - int(-total // scale)

    def proven(self, hint: IntArray, seconds: float) -> int | None:
        """What no choice costs less than, if CP-SAT gets to the end."""
        matrix = self.sparse()
        ones, rows = np.ones(self.size, dtype=np.int64), len(self.rows)
        program = IntegerProgram(
            Problem(
                lower=0 * ones,
                upper=ones,
                starts=matrix.indptr.astype(np.int64),
                cells=matrix.indices.astype(np.int64),
                coefficients=matrix.data.astype(np.int64),
                row_lower=np.array([row.least for row in self.rows], dtype=np.int64),
                row_upper=np.full(rows, NO_UPPER),
                origin=np.arange(rows),
                lists=(),
            )
        )
        found = program.minimize(np.arange(self.size), self.costs, hint, seconds)
        return None if found.bound is None else self.start + found.bound


def add_row(solver: Any, row: _Row) -> None:
    """Add an inequality to a program."""
    import highspy

    columns, values = row.columns.astype(np.int32), row.values.astype(float)
    solver.addRow(float(row.least), highspy.kHighsInf, len(columns), columns, values)


def narrowest(
    problem: RangeProblem, effort: Budget = UNLIMITED, *, start: BoolArray | None = None
) -> Ranges:
    """The cheapest options that keep all levels, with a proven lower bound on any choice's cost.

    Levels that even the widest options do not keep are left out, and named, as far as the effort
    goes. `start` are cells to begin with, such as those that suppression would hide.
    """
    attack = _Attack(problem)
    attack.choose(problem.last)
    kept: list[Level] = []
    lost: list[Level] = []
    for level in problem.levels:
        (kept if effort.spent or attack.keeps(level) else lost).append(level)
    return _Search(problem, kept, lost, attack, effort, start).run()


class _Search:
    """The cheapest choice so far, and what no choice costs less than."""

    def __init__(
        self,
        problem: RangeProblem,
        levels: Sequence[Level],
        lost: Sequence[Level],
        attack: _Attack,
        effort: Budget,
        start: BoolArray | None,
    ) -> None:
        self.problem = replace(problem, levels=tuple(levels))
        self.lost, self.attack, self.effort, self.start = lost, attack, effort, start
        self.master = _Master(self.problem)
        self.best = self.problem.last
        self.bound = self.master.start

    def run(self) -> Ranges:
        """Narrow the widest options first; then search, and prove."""
        narrowed = self._narrowed(self._started())
        under = self.problem.under(narrowed)
        if not whole_moves(under, under.forced, self.effort).open:
            self._take(narrowed)
        self._fractional()
        final = self._whole()
        seconds = PROVING if self.effort.left is None else self.effort.left
        if self.bound < self.problem.cost(self.best) and final and seconds > 0:
            proven = self.master.proven(self._hint(self.best), seconds)
            self.bound = max(self.bound, proven or 0)
        problem = self.problem.under(self.best)
        shown = whole_moves(problem, problem.forced, self.effort)
        cost = self.problem.cost(self.best)
        return Ranges(
            self.best,
            cost,
            min(self.bound, cost),
            len(shown.moves),
            (*self.lost, *(() if self.effort.spent else shown.open)),
            self.effort.spent and self.bound < cost,
        )

    def _take(self, choice: IntArray) -> None:
        if self.problem.cost(choice) < self.problem.cost(self.best):
            self.best = choice

    def _started(self) -> IntArray:
        """What to narrow first: the widest options of the cells given, or of all."""
        if self.start is None:
            return self.problem.last
        choice = np.where(self.start, self.problem.last, self.problem.first)
        self.attack.choose(choice)
        kept = all(self.attack.keeps(level) for level in self.problem.levels)
        return choice if kept else self.problem.last

    def _narrowed(self, choice: IntArray) -> IntArray:
        """Narrow cells one after another, the dearest first, as far as all levels are kept.

        Levels whose moves stay within the narrower range are kept without a new attack.
        """
        choice, costs = choice.copy(), self.problem.costs
        above, below = self.problem.rooms
        self.attack.choose(choice)
        moves: dict[Level, tuple[FloatArray, FloatArray]] = {}
        for level in self.problem.levels:
            if self.effort.spent:
                return self.problem.last
            moves[level] = self.attack.moves(level)
        free = np.flatnonzero(choice > self.problem.first).tolist()
        for cell in sorted(free, key=lambda one: -int(costs[one, choice[one]])):
            for option in range(int(self.problem.first[cell]), int(choice[cell])):
                if self.effort.spent:
                    return choice
                before, choice[cell] = choice[cell], option
                up, down = above[cell, option] + NEAR, below[cell, option] + NEAR
                touched = [
                    level
                    for level, (raised, lowered) in moves.items()
                    if raised[cell] > up or lowered[cell] > down
                ]
                self.attack.choose(choice)
                if all(self.attack.keeps(level) for level in touched):
                    moves |= {level: self.attack.moves(level) for level in touched}
                    break
                choice[cell] = before
        return choice

    def _fractional(self) -> None:
        """Inequalities that the relaxation misses, and the bound that it gives."""
        import highspy

        solver = self.master.solver()
        for _ in range(ROUNDS):
            if self.effort.spent:
                return
            solver.run()
            if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
                return
            solution = solver.getSolution()
            values = np.array(solution.col_value)
            self.bound = max(self.bound, self.master.bound(solution.row_dual))
            self.attack.within(*self.master.rooms(values))
            if not self._add(values, solver):
                return

    def _add(self, values: FloatArray, solver: Any | None) -> bool:
        """Add the inequalities that values miss, where they say that a set of moves is there."""
        added = False
        for (level, place), way in self.master.ways.items():
            share = float(values[self.master.way_at[level, place]])
            if share < NEAR or self.effort.spent:
                continue
            for sign, need in way:
                reached, dual = self.attack.reach(level.cell, sign)
                if reached >= need * share - VIOLATED:
                    continue
                row = self.master.inequality(level, place, sign, need, dual)
                missed = row.least - float(row.values @ values[row.columns])
                if missed > VIOLATED * max(int(np.abs(row.values).max()), 1):
                    self.master.rows.append(row)
                    added = True
                    if solver is not None:
                        add_row(solver, row)
        return added

    def _whole(self) -> bool:
        """Solve the program in whole numbers until what it chooses protects; False if it did not.

        A choice that keeps all levels but by fractions of people is left out by itself; that
        nothing narrower does is then not proven.
        """
        import highspy

        solver = self.master.solver()
        every = np.arange(self.master.size, dtype=np.int32)
        whole = np.full(self.master.size, highspy.HighsVarType.kInteger)
        solver.changeColsIntegrality(self.master.size, every, whole)
        proving = True
        for _ in range(SEARCHES):
            if self.effort.spent:
                return False
            if self.effort.left is not None:
                solver.setOptionValue("time_limit", solver.getRunTime() + self.effort.left)
            solver.run()
            if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
                return False
            values = np.rint(np.array(solver.getSolution().col_value))
            choice = self.master.choice(values)
            if self.problem.cost(choice) >= self.problem.cost(self.best):
                return proving
            self.attack.choose(choice)
            if self._add(values, solver):
                continue
            under = self.problem.under(choice)
            if not whole_moves(under, under.forced, self.effort).open:
                self._take(choice)
                return proving
            if proving:
                # What is proven holds without the row that follows.
                self.bound = max(self.bound, self._proven_so_far())
            proving = False
            self.master.rows.append(self.master.wider(choice))
            add_row(solver, self.master.rows[-1])
        return False

    def _proven_so_far(self) -> int:
        seconds = PROVING if self.effort.left is None else self.effort.left / 2
        return self.master.proven(self._hint(self.best), seconds) or 0

    def _hint(self, choice: IntArray) -> IntArray:
        """A choice as values of the variables; which moves keep levels is left to the solver."""
        values = np.ones(self.master.size, dtype=np.int64)
        taken = choice[self.master.cell] >= self.master.option
        values[: len(self.master.cell)] = taken
        return values


def grid(
    counts: IntArray, widths: Sequence[int], *, zeros: bool
) -> tuple[IntArray, IntArray, IntArray]:
    """The options of counts: exact, then ranges of public widths; ends and costs.

    Ranges of a width lie side by side from 1 on, or from 0 if `zeros` are not shown apart: which of
    them a count lies in tells no more than the range itself.

    Examples
    --------
    >>> import numpy as np
    >>> low, high, costs = grid(np.array([3, 17]), [5, 10], zeros=False)
    >>> low.tolist(), high.tolist(), costs.tolist()
    ([[3, 1, 1], [17, 16, 11]], [[3, 5, 10], [17, 20, 20]], [[0, 4, 9], [0, 4, 9]])
    """
    start = 0 if zeros else 1
    low = [counts, *((counts - start) // width * width + start for width in widths)]
    ends = [(1, low[0]), *zip(widths, low[1:], strict=True)]
    high = [first + width - 1 for width, first in ends]
    costs = np.tile([0, *(width - 1 for width in widths)], (len(counts), 1))
    return np.stack(low, axis=1), np.stack(high, axis=1), costs
