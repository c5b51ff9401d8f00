"""The cheapest pattern: branch and cut over hide-or-show, with lower bounds in whole numbers.

The relaxation lets cells be hidden by halves under the inequalities found so far (`covers`). Its
multipliers, rounded, give a lower bound on the cost of every pattern below a node in integer
arithmetic: no float decides that a branch is left out.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cellbounds.disclosure.protecting.covers import Covers
from cellbounds.disclosure.protecting.neighbourhoods import improved
from cellbounds.disclosure.protecting.patterns import (
    cleaned,
    pattern_of,
    unprotected,
)
from cellbounds.disclosure.protecting.search_state import Node, Row, Searched, SearchState
from cellbounds.disclosure.protecting.suppression_problem import SuppressionProblem
from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.runtime.budget import UNLIMITED, Budget
from cellbounds.runtime.scaled_floats import FloatArray

WHOLE = 1e-6
"""How far from 0 and 1 a variable of the relaxation counts as fractional."""

ROUNDS, ROUNDS_BELOW = 200, 3
"""Rounds of inequalities at the root, and at each further node."""

STARTS, CHEAP = 4, 100_000
"""Quick patterns before the search, where levels times cells are no more than this; else one."""

STEPS = 200_000_000
"""How much is searched unless said."""

SAVED = 20_000_000
"""Steps after which a search goes on from what can be written down: where it starts afresh."""

FEW, COMBINED = 20, 256
"""Where attacks give fewer inequalities than this, those at hand are combined; attacks on one cell
take as long as so many parities."""

MOST_COMBINED = 2_000
"""Figures up to which that pays: with more, patterns are made better for longer instead."""

STALLED, GAIN = 20, 1000
"""Rounds at the root in which the bound must rise by this part of it, or they end."""

RELAXED = 8
"""The relaxation takes as long as attacks of so many cells for each inequality."""

REPAIRED, REPAIR = 10, 10
"""Every so many nodes the relaxation is rounded to a pattern and repaired, which takes as long as
so many rounds of attacks."""


@dataclass(frozen=True, slots=True, eq=False)
class Best:
    """The cheapest pattern that was found, and what no pattern costs less than.

    Attributes
    ----------
    hidden
        The pattern.
    cost, bound
        Its cost, and a proven lower bound on that of any pattern that keeps all levels.
    nodes, cuts, steps
        How much was searched; steps are attacks on single counts, times cells.
    stopped
        Whether time ended the search.
    """

    hidden: BoolArray
    cost: int
    bound: int
    nodes: int
    cuts: int
    steps: int
    stopped: bool = False

    @property
    def optimal(self) -> bool:
        """Whether no pattern is cheaper: proven."""
        return self.bound >= self.cost

    @property
    def gap(self) -> float:
        """The share of the cost that is perhaps not necessary."""
        return (self.cost - self.bound) / max(self.cost, 1)


class Relaxation:
    """The linear program over hide-or-show, which grows with the inequalities."""

    def __init__(self, covers: Covers) -> None:
        import highspy

        self._covers, self._highspy = covers, highspy
        problem, size = covers.problem, covers.size
        self.costs = np.zeros(size, dtype=np.int64)
        self.costs[: len(covers.cells)] = problem.costs[covers.cells]
        self._columns = np.arange(size, dtype=np.int32)
        self._solver = highspy.Highs()
        for option, value in (("output_flag", False), ("threads", 1)):
            self._solver.setOptionValue(option, value)
        self._solver.addVars(size, np.zeros(size), np.ones(size))
        self._solver.changeColsCost(size, self._columns, self.costs.astype(float))
        self._rows, self._matrix = 0, covers.matrix()
        # Products of costs and rounded multipliers stay within 62 bits.
        most = max(int(self.costs.sum()), 1)
        self._scale = 1 << max(4, min(24, 60 - most.bit_length()))

    def solve(self, lower: IntArray, upper: IntArray) -> tuple[FloatArray, int] | None:
        """Variables at the optimum between limits, and an exact lower bound; None if there is none.

        Where the program has no solution no bound is needed: the caller learns it from None only if
        a proof in whole numbers shows it, and goes on to branch otherwise.
        """
        for columns, values, least in self._covers.rows[self._rows :]:
            self._solver.addRow(
                float(least), self._highspy.kHighsInf, len(columns),
                columns.astype(np.int32), values.astype(float),
            )  # fmt: skip
        if self._rows < len(self._covers.rows):
            self._rows, self._matrix = len(self._covers.rows), self._covers.matrix()
        self._solver.changeColsBounds(
            len(lower), self._columns, lower.astype(float), upper.astype(float)
        )
        self._solver.run()
        if self._solver.getModelStatus() != self._highspy.HighsModelStatus.kOptimal:
            return None
        solution = self._solver.getSolution()
        return np.array(solution.col_value), self._bound(solution.row_dual, lower, upper)

    def _bound(self, duals: Any, lower: IntArray, upper: IntArray) -> int:
        """The bound by weak duality, for multipliers rounded to whole numbers of a unit."""
        multipliers = np.maximum(np.rint(np.array(duals) * self._scale), 0).astype(np.int64)
        reduced = self.costs * self._scale - self._matrix.T @ multipliers
        least = np.array([row[2] for row in self._covers.rows], dtype=np.int64)
        total = int(multipliers @ least) + int(np.where(reduced > 0, lower, upper) @ reduced)
        return -(-total // self._scale)  # costs are whole numbers

    def impossible(self, lower: IntArray, upper: IntArray) -> bool:
        """Whether some inequality cannot hold between limits: exactly."""
        matrix = self._matrix
        positive, negative = matrix.maximum(0), matrix.minimum(0)
        most = positive @ upper + negative @ lower
        least = np.array([row[2] for row in self._covers.rows], dtype=np.int64)
        return bool((most < least).any())


class Search:
    """Branch and cut: the best pattern so far, and the nodes that are left.

    `keep` is told from time to time what the search has come to; from there another one goes on
    (`resumed`, with the inequalities `rows`) as this one does.
    """

    def __init__(
        self,
        problem: SuppressionProblem,
        hidden: BoolArray,
        keep: Callable[[Searched, list[Row]], None] = lambda _, __: None,
    ) -> None:
        self.problem, self.covers = problem, Covers(problem)
        self.relaxation = Relaxation(self.covers)
        self.hidden, self.cost = hidden, problem.cost(hidden)
        self.nodes, self.steps, self._order, self._saved = 0, 0, 0, SAVED
        self._round = len(problem.levels) * len(problem.counts)
        self._heap: list[tuple[int, int, dict[int, int]]] = [(0, 0, {})]
        self._keep, self._phase, self._told = keep, 0, 0
        self._at: tuple[int, dict[int, int], int] | None = None

    def resume(self, searched: Searched, rows: list[Row]) -> None:
        """Go on from what another search had come to."""
        self.covers.take(rows)
        self.nodes, self.steps, self._order = searched.nodes, searched.steps, searched.order
        self._saved, self._heap = searched.saved, list(searched.heap)
        self._phase, self._told = searched.phase, searched.spent
        if searched.at is not None:
            self._at = *searched.at, searched.rounds

    @property
    def bound(self) -> int:
        """What no pattern costs less than, as far as it is proven."""
        return min([self.cost, *(node[0] for node in self._heap)])

    def run(self, steps: int, effort: Budget = UNLIMITED) -> Best:
        """Search until nothing is left that could be cheaper, or the effort is spent."""
        self._most = steps
        if self._at is not None:
            at, self._at = self._at, None
            self._plunge(at[0], at[1], effort, at[2])
        while self._heap and not self._over(effort):
            bound, _, chosen = heapq.heappop(self._heap)
            if bound >= self.cost:
                self._heap.clear()  # the best of those that are left: none is cheaper
                break
            self._plunge(bound, chosen, effort)
        bound, cuts = self.bound, len(self.covers.rows)
        stopped = bound < self.cost and self.steps < steps
        return Best(self.hidden, self.cost, bound, self.nodes, cuts, self.steps, stopped)

    def begin(
        self, phase: int, *, tried: Iterable[int] = (), spent: int = 0, effort: Budget
    ) -> None:
        """Begin another phase, or go on in it: with a linear program that is made anew."""
        self._phase = phase
        self._renew(Searched(phase, self.hidden, tried=tuple(sorted(tried)), spent=spent), effort)

    def _renew(self, searched: Searched, effort: Budget) -> None:
        """Make the linear program anew, and tell what the search has come to.

        A search that was hurried by the clock is not what another one should go on from.
        """
        self._saved = self.steps + SAVED
        self.relaxation = Relaxation(self.covers)
        if not effort.spent:
            told = replace(
                searched,
                nodes=self.nodes,
                steps=self.steps,
                order=self._order,
                saved=self._saved,
                heap=tuple(self._heap),
            )
            self._keep(told, self.covers.rows)

    def _over(self, effort: Budget) -> bool:
        return self.steps >= self._most or effort.spent

    def _plunge(
        self, bound: int, chosen: dict[int, int], effort: Budget, done: int | None = None
    ) -> None:
        """Go down from a node, the likelier branch first; the others wait.

        Of the first one so many rounds are `done` already, if it is gone on with.
        """
        while True:
            if done is None:
                if self._over(effort):
                    self._wait(bound, chosen)
                    return
                self.nodes += 1
                self.steps += self.covers.size
            lower = np.zeros(self.covers.size, dtype=np.int64)
            upper = np.ones(self.covers.size, dtype=np.int64)
            for variable, value in chosen.items():
                lower[variable] = upper[variable] = value
            found = self._tightened(lower, upper, effort, (bound, chosen), done or 0)
            done = None
            if found is None:
                if not self.relaxation.impossible(lower, upper):
                    self._branch_blindly(bound, chosen)
                return
            shares, own = found
            bound = max(bound, own)
            if bound >= self.cost:
                return
            if self.nodes % REPAIRED == 1 and not self._over(effort):
                self._repair(shares, effort)
            fractional = np.minimum(shares, 1 - shares)
            if fractional.max(initial=0.0) < WHOLE:
                if not self._leaf(shares):
                    return
                continue
            variable = self._branching(fractional)
            first = int(shares[variable] >= 0.4)  # what is nearly hidden is worth hiding
            self._wait(bound, {**chosen, variable: 1 - first})
            chosen = {**chosen, variable: first}

    def _tightened(
        self, lower: IntArray, upper: IntArray, effort: Budget, at: Node, done: int
    ) -> tuple[FloatArray, int] | None:
        """The relaxation at a node, with the inequalities that its optimum missed."""
        rounds = ROUNDS if (lower < upper).all() else ROUNDS_BELOW
        found = self._relaxed(lower, upper)
        bounds: list[int] = []
        for number in range(done, rounds):
            if found is not None and self.steps >= self._saved and not self._over(effort):
                here = Searched(self._phase, self.hidden, at=at, rounds=number)
                self._renew(here, effort)
                found, bounds = self._relaxed(lower, upper), []
            if found is None or found[1] >= self.cost or self._over(effort):
                break
            bounds.append(found[1])
            if len(bounds) > STALLED and bounds[-1] - bounds[-1 - STALLED] <= bounds[-1] // GAIN:
                break
            if not self._more(found[0]):
                break
            found = self._relaxed(lower, upper)
        return found

    def _more(self, shares: FloatArray) -> bool:
        """Add inequalities that a fractional pattern misses; whether there are any."""
        before = len(self.covers.rows)
        self.steps += self._round
        if self.covers.separate(shares) < FEW and self.covers.size <= MOST_COMBINED:
            self.steps += self.covers.combine(shares) // COMBINED
        return len(self.covers.rows) > before

    def _relaxed(self, lower: IntArray, upper: IntArray) -> tuple[FloatArray, int] | None:
        self.steps += len(self.covers.rows) * self.covers.size // RELAXED
        return self.relaxation.solve(lower, upper)

    def _leaf(self, shares: FloatArray) -> bool:
        """Take a pattern of the relaxation if it protects; else True: it was refuted, go on."""
        self.steps += self._round
        hidden = self.covers.pattern(shares)
        exposed = unprotected(self.covers.attack, self.problem.levels, hidden)
        if exposed:
            self.covers.refute(shares, exposed)
            return True
        self.take(hidden)
        return False

    def _branching(self, fractional: FloatArray) -> int:
        """The variable to branch on: a dear cell that is far from decided, else a direction."""
        cells = len(self.covers.cells)
        scores = fractional[:cells] * np.sqrt(np.maximum(self.relaxation.costs[:cells], 1))
        if scores.max(initial=0.0) > WHOLE:
            return int(scores.argmax())
        return cells + int(fractional[cells:].argmax())

    def _branch_blindly(self, bound: int, chosen: dict[int, int]) -> None:
        """Branch where the program gave no answer and nothing is proven."""
        free = next((v for v in range(self.covers.size) if v not in chosen), None)
        for value in (0, 1) if free is not None else ():
            assert free is not None
            self._wait(bound, {**chosen, free: value})

    def _wait(self, bound: int, chosen: dict[int, int]) -> None:
        self._order += 1
        heapq.heappush(self._heap, (bound, self._order, chosen))

    def _repair(self, shares: FloatArray, effort: Budget) -> None:
        """Round a fractional pattern, hide what is missing, and show again what need not be."""
        self.steps += REPAIR * self._round
        weights = self.covers.whole(shares)
        costs = self.problem.costs * (1 - 0.9 * weights)
        start = self.covers.pattern(shares)
        exposed = unprotected(self.covers.attack, self.problem.levels, start)
        pattern = pattern_of(self.problem, exposed, start, costs, effort)
        self.take(cleaned(self.problem, pattern, effort))

    def around(self, hidden: BoolArray, tried: Iterable[int], spent: int, effort: Budget) -> None:
        """Take what was found in neighbourhoods, and tell it from time to time."""
        if spent >= self._told + SAVED:
            self._told = spent
            self.take(hidden)
            self.begin(1, tried=tried, spent=spent, effort=effort)

    def take(self, hidden: BoolArray) -> None:
        """Take a pattern that protects, if it is cheaper."""
        cost = self.problem.cost(hidden)
        if cost < self.cost:
            self.hidden, self.cost = hidden, cost


def best_pattern(
    problem: SuppressionProblem,
    *,
    steps: int = STEPS,
    effort: Budget = UNLIMITED,
    state: SearchState | None = None,
) -> Best:
    """The cheapest pattern that keeps all levels, with a proven lower bound on any pattern's cost.

    The linear attacker is meant: moves in whole numbers are checked elsewhere. With a `state` it
    goes on from there.

    Raises
    ------
    Unprotectable
        If a level cannot be kept even with everything hidden.
    """
    last = None if state is None else state.last
    start = first_pattern(problem, effort) if last is None else last.hidden
    search = Search(problem, start) if state is None else Search(problem, start, state.keep)
    if state is None or last is None:
        last = Searched(0, start)
        search.begin(0, effort=effort)
    else:
        search.resume(last, state.rows)
    if last.phase == 0:
        best = search.run(steps // 2, effort)
        if best.optimal:
            return best
        search.begin(1, effort=effort)
    if last.phase <= 1:
        around = last if last.phase == 1 else Searched(1, search.hidden)
        hidden, taken = improved(
            problem,
            search.hidden,
            lambda part, start, most: _searched(part, start, most, effort),
            steps=steps // 4,
            over=lambda: effort.spent,
            tried=around.tried,
            spent=around.spent,
            keep=lambda hidden, tried, spent: search.around(hidden, tried, spent, effort),
        )
        search.take(hidden)
        search.steps += taken
        search.begin(2, effort=effort)
    return search.run(steps, effort)


def _searched(
    problem: SuppressionProblem, hidden: BoolArray, steps: int, effort: Budget
) -> tuple[BoolArray, int]:
    best = Search(problem, hidden).run(steps, effort)
    return best.hidden, best.steps


def first_pattern(problem: SuppressionProblem, effort: Budget = UNLIMITED) -> BoolArray:
    """A quick pattern: the cheapest of a few, which differ in the order of what is protected."""
    best: BoolArray | None = None
    levels = sorted(problem.levels, key=lambda level: -int(problem.counts[level.cell]))
    costs = problem.costs.astype(float)
    cheap = len(levels) * len(costs) <= CHEAP
    for start in range(STARTS if cheap else 1):
        if start and effort.spent:
            break
        if start:
            shuffled = np.random.default_rng(start).permutation(len(levels))
            levels = [levels[place] for place in shuffled]
        hidden = pattern_of(problem, levels, problem.forced, costs, effort)
        hidden = cleaned(problem, hidden, effort)
        if best is None or problem.cost(hidden) < problem.cost(best):
            best = hidden
    assert best is not None
    return best
