"""Integer programs for what is left: CP-SAT works in 64-bit integers, so its proofs count."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from cellbounds.errors import CellboundsError
from cellbounds.model.problem import Problem
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.isolation import Ended, Isolated
from cellbounds.statements.inequalities import NO_LOWER, NO_UPPER

LARGEST = 2**59
"""Sums of coefficients times bounds stay below this; the solver itself allows twice as much."""

MOST_ENTRIES = 3_000_000
"""Models with more entries are not sent: they take longer to build than anybody waits."""


@dataclass(frozen=True, slots=True)
class Efforts:
    """How long is searched, in the solver's own count of steps: it is the same on every machine.

    Attributes
    ----------
    quick
        Of a quick search; about a tenth of a second.
    steady
        Of searches that find the same table every time: by one strategy, which is the best for
        most questions, then by all of them in turns; about 1 and 8 seconds.
    """

    quick: float = 0.05
    steady: tuple[tuple[bool, float], ...] = ((False, 0.5), (True, 4.0))


USUAL = Efforts()


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What a search says: a table if it found one, and whether its answer is final.

    `bound` is what the search proved of the objective, if it got to the end.
    """

    cells: IntArray | None
    final: bool
    bound: int | None = None


def fits_solver(problem: Problem) -> bool:
    """Whether the problem may be sent to the solver."""
    if (problem.upper == NO_UPPER).any() or len(problem.cells) > MOST_ENTRIES:
        return False
    if not len(problem.cells):
        return True
    sizes = np.abs(problem.coefficients.astype(float)) * problem.upper[problem.cells]
    return float(np.add.reduceat(sizes, problem.starts[:-1]).max()) < LARGEST


class IntegerProgram:
    """A problem for CP-SAT, which may end its process and therefore works in another one.

    A question whose process ended is not settled, like one that took too long.
    """

    def __init__(self, problem: Problem, efforts: Efforts = USUAL) -> None:
        self._model = Isolated(_Model, problem, efforts)

    def any_table(self, seconds: float | None) -> Found:
        """Some table, or a proof that there is none."""
        answer = self._ask(seconds, _Question(quick=True))
        if answer.cells is not None or answer.final:
            return answer
        return self._ask(seconds, _Question())

    def with_sum(
        self,
        cells: IntArray,
        low: int,
        high: int,
        seconds: float | None,
        *,
        residues: tuple[int, list[int]] | None = None,
        quick: bool = False,
    ) -> Found:
        """A table in which the sum of some cells lies between `low` and `high`.

        `residues` is a modulus and the residues that the sum may have. `quick` searches for a
        moment only, without preparation: on small problems that takes a third of the time.
        """
        within = (low, high)
        return self._ask(seconds, _Question(cells, within=within, residues=residues, quick=quick))

    def minimize(
        self,
        cells: IntArray,
        weights: IntArray,
        hint: IntArray | None,
        seconds: float | None,
        *,
        brief: bool = False,
    ) -> Found:
        """The table with the least weighted sum; `brief` gives up after the first steady search."""
        return self._ask(seconds, _Question(cells, weights, hint=hint, brief=brief))

    def _ask(self, seconds: float | None, question: _Question) -> Found:
        try:
            answer: Found = self._model.ask("answer", seconds, question, seconds=seconds)
        except Ended as ended:
            if not ended.late:
                warnings.warn(
                    f"CP-SAT failed: {ended}; what it was asked is not settled",
                    RuntimeWarning,
                    stacklevel=2,
                )
            return Found(None, final=False)
        return answer


class _Question(NamedTuple):
    """A table in which the sum of some cells lies `within` limits, or is the least if weighted."""

    cells: IntArray | None = None
    weights: IntArray | None = None
    within: tuple[int, int] | None = None
    residues: tuple[int, list[int]] | None = None
    hint: IntArray | None = None
    quick: bool = False
    brief: bool = False


class _Model:
    """The same in the other process: a model, to which questions add an objective or a limit."""

    def __init__(self, problem: Problem, efforts: Efforts) -> None:
        from ortools.sat.python import cp_model

        self._efforts = efforts
        self._cp = cp_model
        self._model: Any = cp_model.CpModel()
        for low, high in zip(problem.lower, problem.upper, strict=True):
            self._model.new_int_var(int(low), int(high), "")
        self._size = len(problem.lower)
        for row in range(len(problem.row_lower)):
            inside = slice(problem.starts[row], problem.starts[row + 1])
            low, high = int(problem.row_lower[row]), int(problem.row_upper[row])
            self._model.add_linear_constraint(
                self._sum(self._model, problem.cells[inside], problem.coefficients[inside]),
                -LARGEST * 2 if low == NO_LOWER else low,
                LARGEST * 2 if high == NO_UPPER else high,
            )
        self._listed = bool(problem.lists)
        for cells, values in problem.lists:
            domain = cp_model.Domain.from_values(sorted(values))
            self._model.add_linear_expression_in_domain(self._sum(self._model, cells), domain)

    def _sum(self, model: Any, cells: IntArray, weights: IntArray | None = None) -> Any:
        variables = [model.get_int_var_from_proto_index(cell) for cell in cells.tolist()]
        if weights is None:
            return self._cp.LinearExpr.sum(variables)
        return self._cp.LinearExpr.weighted_sum(variables, weights.tolist())

    def answer(self, seconds: float | None, question: _Question) -> Found:
        """A table as asked for, or a proof that there is none."""
        cells, weights, within, residues, hint, quick, brief = question
        model = self._model.clone()
        total = None if cells is None else self._sum(model, cells, weights)
        if weights is not None:
            model.minimize(total)
        if within is not None:
            model.add_linear_constraint(total, *within)
        if within is not None and residues is not None:
            modulus, allowed = residues
            turns = model.new_int_var(*(end // modulus for end in within), "")
            domain = self._cp.Domain.from_values(sorted(allowed))
            rest = model.new_int_var_from_domain(domain, "")
            model.add(total == modulus * turns + rest)
        if hint is not None:
            for k, value in enumerate(hint.tolist()):
                model.add_hint(model.get_int_var_from_proto_index(k), value)
        return self._solve(model, seconds, quick=quick, brief=brief)

    def _solve(self, model: Any, seconds: float | None, *, quick: bool, brief: bool) -> Found:
        """Search steadily, and if that does not settle it, by all means.

        Steady searches run in a single thread and count their steps instead of seconds. What is
        too hard for them is left to threads that help each other: faster in the end, and right,
        but which table they find is a matter of luck.
        """
        if quick:
            return self._searched(model, seconds, most=self._efforts.quick, quick=True)
        end = None if seconds is None else time.monotonic() + seconds
        best = Found(None, final=False)
        steady = self._efforts.steady
        for turns, most in steady[:1] if brief else (*steady, (False, None)):
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                break
            answer = self._searched(model, left, most=most, turns=turns)
            if answer.final:
                return answer
            if answer.cells is not None:
                best = answer
        return best

    def _searched(
        self,
        model: Any,
        seconds: float | None,
        *,
        most: float | None,
        turns: bool = False,
        quick: bool = False,
    ) -> Found:
        solver = self._cp.CpSolver()
        # The preparation of models with lists was seen to call a feasible one infeasible, where a
        # list holds a value out of reach (ortools 9.15).
        solver.parameters.cp_model_presolve = not quick and not self._listed
        # One strategy alone stalls on large counts.
        solver.parameters.num_workers = 2 if most is None else 1
        solver.parameters.interleave_search = turns
        if most is not None:
            solver.parameters.max_deterministic_time = most
        if seconds is not None:
            solver.parameters.max_time_in_seconds = max(seconds, 0.001)
        # Else Ctrl-C would stop it, which is the owner's to hear.
        solver.parameters.catch_sigint_signal = False
        status = solver.solve(model)
        if status == self._cp.MODEL_INVALID:
            raise CellboundsError("the integer solver refused a model; please report this")
        if status in (self._cp.OPTIMAL, self._cp.FEASIBLE):
            answer = solver.response_proto
            cells = np.array(list(answer.solution), dtype=np.int64)[: self._size]
            best = status == self._cp.OPTIMAL
            # A search that was stopped may report the default 0 for what it proved.
            proven = best and model.has_objective()
            return Found(cells, best, int(answer.inner_objective_lower_bound) if proven else None)
        return Found(None, final=status == self._cp.INFEASIBLE)
