"""Independent re-proof of a claim: a model of the statements, given to CP-SAT.

The solver's no is a proof. Its yes is believed only if the table it found is consistent with
every statement when checked here in exact integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cellbounds.certificates.verifying.plain import SAFE, IntArray
from cellbounds.certificates.verifying.proofs import table_fault
from cellbounds.certificates.verifying.statements import Inequality, Statement
from cellbounds.runtime.isolation import Ended, Isolated

__all__ = ["Solver", "sum_at_least", "sum_at_most"]

MOST_ROUNDS = 50
"""Rounds of working out limits of cells from those of others."""

WORKERS = 8


def sum_at_least(cells: IntArray, value: int) -> Inequality:
    """The sum of some cells is `value` or more."""
    return Inequality(cells, np.ones(len(cells), dtype=np.int64), value)


def sum_at_most(cells: IntArray, value: int) -> Inequality:
    """The sum of some cells is `value` or less."""
    return Inequality(cells, -np.ones(len(cells), dtype=np.int64), -value)


class _Row:
    """An inequality in Python integers."""

    __slots__ = ("bound", "terms")

    def __init__(self, given: Inequality) -> None:
        pairs = zip(given.cells.tolist(), given.coefficients.tolist(), strict=True)
        self.terms: list[tuple[int, int]] = list(pairs)
        self.bound = given.bound


class Solver:
    """Asks whether a table with some property is consistent with the statements."""

    def __init__(
        self,
        size: int,
        statements: Sequence[Statement],
        known: IntArray | None,
    ) -> None:
        self._size, self._statements, self._known = size, statements, known
        made = (one.inequality(*end) for one in statements for end in one.ends())
        self._rows = [_Row(one) for one in made if one is not None]
        self._lists = [
            (cells.tolist(), values) for one in statements for cells, values in one.lists()
        ]
        self._limits: list[int | None] = [None] * size
        self._possible = _limit(self._rows, self._limits)

    def settle(self, *asked: Inequality, seconds: float) -> tuple[bool | None, str]:
        """Whether a table is consistent and as asked; None, and why, if that is not settled."""
        if not self._possible:
            return False, ""
        extra = [_Row(one) for one in asked]
        limits = list(self._limits)
        rows = self._rows if None in limits else []
        if not _limit([*extra, *rows], limits):
            return False, ""
        rows = [*self._rows, *extra]
        # A cell that nothing limits is left out with all that is said of it: what is left is
        # weaker, so that a no is still a proof.
        kept = [row for row in rows if all(limits[cell] is not None for cell, _ in row.terms)]
        tops = [0 if limit is None else limit for limit in limits]
        if any(_width(row, tops) >= SAFE for row in kept):
            return None, "its numbers are too large for CP-SAT"
        lists = []
        for listed, values in self._lists:
            if any(limits[cell] is None for cell in listed) or not listed:
                continue
            most = sum(tops[cell] for cell in listed)
            within = [one for one in sorted(values) if one <= most]
            if not within:
                return False, ""
            lists.append((listed, within))
        # CP-SAT may end the process that it works in.
        model = Isolated(_Model, [(row.terms, row.bound) for row in kept], lists, tops)
        try:
            status, found = model.ask("solve", seconds, not self._lists, seconds=seconds)
        except ImportError:
            return None, "CP-SAT is not installed (pip install ortools)"
        except Ended as ended:
            if not ended.late:
                return None, f"CP-SAT failed: {ended}"
            status, found = "UNKNOWN", {}
        if status == "INFEASIBLE":
            return False, ""
        if status in ("OPTIMAL", "FEASIBLE"):
            return self._believed(found, extra)
        if status == "MODEL_INVALID":
            return None, "CP-SAT refused the model"
        return None, f"CP-SAT did not settle it in {seconds:.3g} s"

    def _believed(self, found: dict[int, int], extra: Sequence[_Row]) -> tuple[bool | None, str]:
        table = np.zeros(self._size, dtype=object) if self._known is None else self._known.copy()
        table = table.astype(object)
        table[list(found)] = list(found.values())
        asked = all(sum(f * table[c] for c, f in row.terms) >= row.bound for row in extra)
        if asked and table_fault(table, self._statements) is None:
            return True, ""
        return None, "it has cells that nothing limits"


class _Model:
    """A model in the process that CP-SAT works in."""

    def __init__(
        self,
        rows: Sequence[tuple[list[tuple[int, int]], int]],
        lists: Sequence[tuple[list[int], list[int]]],
        tops: Sequence[int],
    ) -> None:
        from ortools.sat.python import cp_model

        self._cp, self._tops = cp_model, tops
        self._model: Any = cp_model.CpModel()
        self._cells: dict[int, Any] = {}
        for terms, bound in rows:
            variables = [self._count(cell) for cell, _ in terms]
            factors = [factor for _, factor in terms]
            self._model.add(cp_model.LinearExpr.weighted_sum(variables, factors) >= bound)
        for listed, within in lists:
            total = cp_model.LinearExpr.sum([self._count(cell) for cell in listed])
            domain = cp_model.Domain.from_values(within)
            self._model.add_linear_expression_in_domain(total, domain)

    def _count(self, cell: int) -> Any:
        if cell not in self._cells:
            self._cells[cell] = self._model.new_int_var(0, self._tops[cell], "")
        return self._cells[cell]

    def solve(self, seconds: float, presolve: bool) -> tuple[str, dict[int, int]]:
        """The solver's status, and the counts that it found."""
        solver = self._cp.CpSolver()
        # A precaution: ortools 9.15 was seen to call a feasible model with lists infeasible while
        # preparing it. That one had an objective, which there is none of here.
        solver.parameters.cp_model_presolve = presolve
        solver.parameters.max_time_in_seconds = seconds
        solver.parameters.num_workers = WORKERS
        # Else Ctrl-C would stop it, which is the owner's to hear.
        solver.parameters.catch_sigint_signal = False
        status = solver.status_name(solver.solve(self._model))
        if status not in ("OPTIMAL", "FEASIBLE"):
            return status, {}
        return status, {at: solver.value(one) for at, one in self._cells.items()}


def _width(row: _Row, tops: Sequence[int]) -> int:
    """How large a row may get on the way."""
    return abs(row.bound) + sum(abs(factor) * max(1, tops[cell]) for cell, factor in row.terms)


def _limit(rows: Sequence[_Row], limits: list[int | None]) -> bool:
    """Work out upper limits of cells, in place; False if that shows that no table exists.

    In ``a x >= b`` the cells with negative coefficients are limited as soon as those with
    positive ones are.
    """
    for _ in range(MOST_ROUNDS):
        grown = False
        for row in rows:
            reach = -row.bound
            for cell, factor in row.terms:
                limit = limits[cell] if factor > 0 else 0
                if limit is None:
                    break
                reach += max(0, factor) * limit
            else:
                if reach < 0:
                    return False
                for cell, factor in row.terms:
                    if factor < 0:
                        limit, most = limits[cell], reach // -factor
                        grown |= limit is None
                        limits[cell] = most if limit is None else min(limit, most)
        if not grown:
            return True
    return True
