"""Witnesses, dual proofs, proofs by rows and rays, checked in exact integers; the rest proved anew.

A dual proof adds up inequalities ``a x >= b`` that the statements make, with multipliers m >= 0:
if ``D q - sum m a`` has no negative coefficient, then ``D q >= sum m b`` for every table, because
counts are not negative; and as q is whole, ``q >= ceil(sum m b / D)``. Upper bounds are lower
bounds of -q. Proofs by rows are explained in `row_proofs.py`.

A claim without a proof is proved anew by a model of the statements, given to CP-SAT. The solver's
no is a proof. Its yes is believed only if the table it found is consistent with every statement
when checked here in exact integers.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cache

import numpy as np

from cellbounds.certificates.verifying import row_proofs
from cellbounds.certificates.verifying.certificate import Bound, Sparse
from cellbounds.certificates.verifying.inequalities import Inequality, Statement
from cellbounds.certificates.verifying.plain import SAFE, IntArray, packed
from cellbounds.certificates.verifying.row_proofs import Progression, RowProofs, proofs_by_rows
from cellbounds.certificates.verifying.space import Space
from cellbounds.certificates.verifying.statements import SumStatement
from cellbounds.runtime.isolation import Ended, Isolated


def laid_out(sparse: Sparse, size: int) -> IntArray:
    """Numbers over the whole domain; of Python integers if their sum needs it."""
    amounts = packed([amount for _, amount in sparse])
    wide = amounts.dtype == object or sum(abs(amount) for _, amount in sparse) >= SAFE
    table = np.zeros(size, dtype=object if wide else np.int64)
    table[[flat for flat, _ in sparse]] = amounts
    return table


def table_fault(table: IntArray, statements: Sequence[Statement]) -> str | None:
    """Why a table is not consistent with the statements; None if it is."""
    if (table < 0).any():
        return "a cell is negative"
    for statement in statements:
        figure = statement.broken(table)
        if figure is not None:
            return f"it contradicts {statement.words(figure)}"
    return None


class Proofs:
    """Checks proofs against the statements of one certificate."""

    def __init__(self, space: Space, statements: Sequence[Statement]) -> None:
        self._space, self._statements = space, statements
        # Many bounds use the same inequalities, and the same ray.
        self._inequality = cache(self._stated)
        self._ray_leaves = cache(self._statement_left)
        self._rows: dict[int, RowProofs] = proofs_by_rows(space, statements)

    def sums_fault(self, place: int, shown: Sequence[Sequence[Progression]]) -> str | None:
        """Why rows may have other sums than those shown for a statement; None if they may not."""
        rows = self._rows.get(place)
        if rows is None:
            return f"statement {place} has no rates"
        if len(shown) != len(rows.rows):
            return f"it has sums for {len(shown)} rows instead of {len(rows.rows)}"
        for row, (parts, claimed) in enumerate(zip(rows.admitted, shown, strict=True)):
            if not all(row_proofs.covers(claimed, part) for part in parts):
                return f"row {row} of statement {place} may have a sum that is not listed"
        return None

    def row_fault(self, bound: Bound) -> str | None:
        """Why a proof by rows does not prove its bound; None if it does."""
        proof, rows = bound.proof, self._rows.get(bound.proof.statement)
        if bound.proven is None:
            return "a proof by rows of no bound"
        if rows is None or proof.row != rows.row_of(bound.behind):
            return f"it does not lie in row {proof.row} of statement {proof.statement}"
        breaking = rows.breaking(bound.behind, bound.side, bound.proven)
        if breaking is None:
            return "too many sums of the row could break it"
        if not row_proofs.inside(breaking, proof.sums).all():
            return "the row may have another sum that breaks it"
        listed = row_proofs.numbers_of(proof.sums)
        if listed is None:
            return "the sums that could break it are too many to try"
        blocks = np.array_split(listed, len(listed) // row_proofs.BLOCK + 1)
        admitted = rows.admitted[proof.row]
        if any(
            rows.reachable(proof.row, sums[row_proofs.inside(sums, admitted)]).any()
            for sums in blocks
        ):
            return "the other rows can make up the rest of N at a sum that breaks it"
        return None

    def holds_by_rows(self, bound: Bound) -> bool:
        """Whether rows prove a bound that comes without a proof."""
        assert bound.proven is not None
        asked = (bound.behind, bound.side, bound.proven)
        return any(rows.proof(*asked) is not None for rows in self._rows.values())

    def _stated(self, place: int, figure: int, end: str) -> Inequality | None:
        """The inequality that a multiplier names, if the statements make it."""
        there = place < len(self._statements)
        return self._statements[place].inequality(figure, end) if there else None

    def dual_fault(self, bound: Bound) -> str | None:
        """Why a dual proof does not prove its bound; None if it does."""
        if bound.proven is None:
            return "a dual proof of no bound"
        used: list[tuple[Inequality, int]] = []
        for place, figure, end, factor in bound.proof.multipliers:
            inequality = self._inequality(place, figure, end)
            if inequality is None:
                named = f"figure {figure}, {end}, of statement {place}"
                return f"it names {named}, which says no such thing"
            used.append((inequality, factor))
        # The coefficients of ``sign * D q - sum m a``.
        denominator = bound.proof.denominator
        size = denominator + sum(
            factor * int(np.abs(inequality.coefficients).max(initial=0))
            for inequality, factor in used
        )
        rest = np.zeros(self._space.size, dtype=np.int64 if size < SAFE else object)
        rest[bound.behind] += bound.sign * denominator
        for inequality, factor in used:
            # A figure's cells are distinct, so each is subtracted once.
            rest[inequality.cells] -= factor * inequality.coefficients.astype(rest.dtype)
        negative = np.flatnonzero((rest < 0).astype(bool))
        if len(negative):
            left = self._space.words(self._space.names, int(negative[0]))
            return f"the dual proof leaves a negative coefficient at {left}"
        total = sum(inequality.bound * factor for inequality, factor in used)
        proves = -(-total // denominator)
        return None if proves >= bound.sign * bound.proven else "the dual proof proves less"

    def ray_fault(self, bound: Bound) -> str | None:
        """Why a ray does not show that a cell has no upper bound; None if it does."""
        behind = set(bound.behind.tolist())
        grows = any(amount for flat, amount in bound.proof.ray if flat in behind)
        fault = self._ray_leaves(bound.proof.ray)
        return fault or (None if grows else "the ray does not increase the cell")

    def _statement_left(self, ray: Sparse) -> str | None:
        """What a ray contradicts in the long run."""
        amounts = laid_out(ray, self._space.size)
        for statement in self._statements:
            figure = statement.broken(amounts, ray=True)
            if figure is not None:
                return f"the ray contradicts {statement.words(figure)}"
        return None


MOST_ROUNDS = 50
"""Rounds of working out limits of cells from those of others."""

WORKERS = 8


Terms = tuple[list[tuple[int, int]], int]
"""An inequality in Python integers: cells with their factors, and the least of their sum."""


def _terms(given: Inequality) -> Terms:
    cells, factors = given.cells.tolist(), given.coefficients.tolist()
    return list(zip(cells, factors, strict=True)), given.bound


class Reprover:
    """Asks whether a table with some property is consistent with the statements."""

    def __init__(self, size: int, statements: Sequence[Statement], known: IntArray | None) -> None:
        self._size, self._statements, self._known = size, statements, known
        made = (statement.inequalities() for statement in statements)
        self._rows = [_terms(inequality) for inequality in itertools.chain(*made)]
        self._lists = [
            (cells.tolist(), sorted(values))
            for statement in statements
            if isinstance(statement, SumStatement)
            for cells, values in statement.lists()
        ]
        self._limits: list[int | None] = [None] * size
        self._possible = _limit(self._rows, self._limits)

    def settle(self, *asked: Inequality, seconds: float) -> tuple[bool | None, str]:
        """Whether a table is consistent and as asked; None, and why, if that is not settled."""
        if not self._possible:
            return False, ""
        extra = [_terms(inequality) for inequality in asked]
        limits = list(self._limits)
        if not _limit([*extra, *(self._rows if None in limits else [])], limits):
            return False, ""
        # A cell that nothing limits is left out with all that is said of it: what is left is
        # weaker, so that a no is still a proof.
        rows = [
            (terms, bound)
            for terms, bound in (*self._rows, *extra)
            if all(limits[cell] is not None for cell, _ in terms)
        ]
        tops = [limit or 0 for limit in limits]
        if any(_width(row, tops) >= SAFE for row in rows):
            return None, "its numbers are too large for CP-SAT"
        lists = []
        for listed, values in self._lists:
            if not listed:
                continue  # nobody is counted: 0 is in the list, or no table is possible
            most = sum(tops[cell] for cell in listed)
            within = [value for value in values if value <= most]
            if not within:
                return False, ""
            lists.append((listed, within))
        # CP-SAT may end the process that it works in.
        model = Isolated(CpModel, rows, lists, tops)
        try:
            status, counts = model.ask("solve", seconds, not self._lists, seconds=seconds)
        except ImportError:
            return None, "CP-SAT is not installed (pip install ortools)"
        except Ended as ended:
            if not ended.late:
                return None, f"CP-SAT failed: {ended}"
            status, counts = "UNKNOWN", {}
        if status == "INFEASIBLE":
            return False, ""
        if status in ("OPTIMAL", "FEASIBLE"):
            return self._believed(counts, extra)
        if status == "MODEL_INVALID":
            return None, "CP-SAT refused the model"
        return None, f"CP-SAT did not settle it in {seconds:.3g} s"

    def _believed(self, counts: dict[int, int], extra: Sequence[Terms]) -> tuple[bool | None, str]:
        known = np.zeros(self._size, dtype=np.int64) if self._known is None else self._known
        table = known.astype(object)
        table[list(counts)] = list(counts.values())
        asked = all(sum(f * table[c] for c, f in terms) >= bound for terms, bound in extra)
        if asked and table_fault(table, self._statements) is None:
            return True, ""
        return None, "it has cells that nothing limits"


Listed = tuple[list[int], list[int]]
"""Cells, and the values that their sum may have."""


class CpModel:
    """A model in the process that CP-SAT works in."""

    def __init__(self, rows: Sequence[Terms], lists: Sequence[Listed], tops: Sequence[int]) -> None:
        from ortools.sat.python import cp_model

        self._cp, self._model = cp_model, cp_model.CpModel()
        used = [cell for terms, _ in rows for cell, _ in terms]
        used += [cell for listed, _ in lists for cell in listed]
        new = self._model.new_int_var
        self._cells = {cell: new(0, tops[cell], "") for cell in dict.fromkeys(used)}
        for terms, bound in rows:
            variables = [self._cells[cell] for cell, _ in terms]
            factors = [factor for _, factor in terms]
            self._model.add(cp_model.LinearExpr.weighted_sum(variables, factors) >= bound)
        for listed, within in lists:
            total = cp_model.LinearExpr.sum([self._cells[cell] for cell in listed])
            domain = cp_model.Domain.from_values(within)
            self._model.add_linear_expression_in_domain(total, domain)

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
        return status, {at: solver.value(count) for at, count in self._cells.items()}


def _width(row: Terms, tops: Sequence[int]) -> int:
    """How large a row may get on the way."""
    terms, bound = row
    return abs(bound) + sum(abs(factor) * max(1, tops[cell]) for cell, factor in terms)


def _limit(rows: Sequence[Terms], limits: list[int | None]) -> bool:
    """Work out upper limits of cells, in place; False if that shows that no table exists.

    In ``a x >= b`` the cells with negative coefficients are limited as soon as those with
    positive ones are.
    """
    for _ in range(MOST_ROUNDS):
        grown = False
        for terms, bound in rows:
            most = [(factor, limits[cell]) for cell, factor in terms if factor > 0]
            if any(limit is None for _, limit in most):
                continue
            reach = sum(factor * (limit or 0) for factor, limit in most) - bound
            if reach < 0:
                return False
            for cell, factor in terms:
                if factor < 0:
                    limit = limits[cell]
                    grown |= limit is None
                    limits[cell] = min(reach // -factor, reach if limit is None else limit)
        if not grown:
            return True
    return True
