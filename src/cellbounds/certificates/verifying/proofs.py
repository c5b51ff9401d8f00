"""Witnesses, dual proofs, proofs by rows and rays, checked in exact integers.

A dual proof adds up inequalities ``a x >= b`` that the statements make, with multipliers m >= 0:
if ``D q - sum m a`` has no negative coefficient, then ``D q >= sum m b`` for every table, because
counts are not negative; and as q is whole, ``q >= ceil(sum m b / D)``. Upper bounds are lower
bounds of -q. Proofs by rows are explained in `rows.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cellbounds.certificates.verifying.certificate import Bound, Cell, Proof, Sparse
from cellbounds.certificates.verifying.plain import SAFE, IntArray, packed
from cellbounds.certificates.verifying.reach import Progression, covers, inside, numbers_of
from cellbounds.certificates.verifying.rows import BLOCK, RowProofs, proofs_by_rows
from cellbounds.certificates.verifying.space import Space
from cellbounds.certificates.verifying.statements import Inequality, Statement

__all__ = ["Proofs", "laid_out", "table_fault"]


def laid_out(sparse: Sparse, size: int) -> IntArray:
    """Numbers over the whole domain; of Python integers if their sum needs it."""
    amounts = packed([amount for _, amount in sparse])
    wide = amounts.dtype == object or sum(abs(one) for _, one in sparse) >= SAFE
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
        self._known: dict[tuple[int, int, str], Inequality | None] = {}
        self._rays: dict[Sparse, str | None] = {}
        self._rows: dict[int, RowProofs] = proofs_by_rows(space, statements)

    def sums_fault(self, place: int, shown: Sequence[Sequence[Progression]]) -> str | None:
        """Why rows may have other sums than those shown for a statement; None if they may not."""
        found = self._rows.get(place)
        if found is None:
            return f"statement {place} has no rates"
        if len(shown) != len(found.rows):
            return f"it has sums for {len(shown)} rows instead of {len(found.rows)}"
        for row, (parts, claimed) in enumerate(zip(found.admitted, shown, strict=True)):
            if not all(covers(claimed, part) for part in parts):
                return f"row {row} of statement {place} may have a sum that is not listed"
        return None

    def row_fault(self, cell: Cell, bound: Bound) -> str | None:
        """Why a proof by rows does not prove its bound; None if it does."""
        proof, found = bound.proof, self._rows.get(bound.proof.statement)
        if bound.proven is None:
            return "a proof by rows of no bound"
        if found is None or proof.row != found.row_of(cell.behind):
            return f"it does not lie in row {proof.row} of statement {proof.statement}"
        breaking = found.breaking(cell.behind, bound.side, bound.proven)
        if breaking is None:
            return "too many sums of the row could break it"
        if not inside(breaking, proof.sums).all():
            return "the row may have another sum that breaks it"
        listed = numbers_of(proof.sums)
        if listed is None:
            return "the sums that could break it are too many to try"
        blocks = np.array_split(listed, len(listed) // BLOCK + 1)
        admitted = found.admitted[proof.row]
        if any(found.reachable(proof.row, one[inside(one, admitted)]).any() for one in blocks):
            return "the other rows can make up the rest of N at a sum that breaks it"
        return None

    def holds_by_rows(self, cell: Cell, bound: Bound) -> bool:
        """Whether rows prove a bound that comes without a proof."""
        assert bound.proven is not None
        return any(
            found.proves(cell.behind, bound.side, bound.proven) for found in self._rows.values()
        )

    def inequality(self, place: int, figure: int, end: str) -> Inequality | None:
        """The inequality that a multiplier names, if the statements make it."""
        key = (place, figure, end)
        if key not in self._known:
            there = place < len(self._statements)
            self._known[key] = self._statements[place].inequality(figure, end) if there else None
        return self._known[key]

    def dual_fault(self, cell: Cell, bound: Bound) -> str | None:
        """Why a dual proof does not prove its bound; None if it does."""
        proof = bound.proof
        if bound.proven is None:
            return "a dual proof of no bound"
        used: list[tuple[Inequality, int]] = []
        for place, figure, end, factor in proof.multipliers:
            found = self.inequality(place, figure, end)
            if found is None:
                return (
                    f"it names figure {figure}, {end}, of statement {place}, which says no such "
                    "thing"
                )
            used.append((found, factor))
        rest = self._rest(cell, bound.sign, proof, used)
        negative = np.flatnonzero((rest < 0).astype(bool))
        if len(negative):
            left = self._space.words(self._space.names, int(negative[0]))
            return f"the dual proof leaves a negative coefficient at {left}"
        total = sum(found.bound * factor for found, factor in used)
        proves = -(-total // proof.denominator)
        return None if proves >= bound.sign * bound.proven else "the dual proof proves less"

    def _rest(
        self, cell: Cell, sign: int, proof: Proof, used: Sequence[tuple[Inequality, int]]
    ) -> IntArray:
        """The coefficients of ``sign * D q - sum m a``."""
        size = proof.denominator + sum(
            factor * max((abs(int(one)) for one in (a.max(), a.min())), default=0)
            for found, factor in used
            if len(a := found.coefficients)
        )
        rest = np.zeros(self._space.size, dtype=np.int64 if size < SAFE else object)
        rest[cell.behind] += sign * proof.denominator
        for found, factor in used:
            # A figure's cells are distinct, so each is subtracted once.
            rest[found.cells] -= factor * found.coefficients.astype(rest.dtype)
        return rest

    def ray_fault(self, cell: Cell, proof: Proof) -> str | None:
        """Why a ray does not show that a cell has no upper bound; None if it does."""
        if proof.ray not in self._rays:
            self._rays[proof.ray] = self._leaves(laid_out(proof.ray, self._space.size))
        fault = self._rays[proof.ray]
        if fault is None:
            inside = set(cell.behind.tolist())
            if not any(amount for flat, amount in proof.ray if flat in inside):
                fault = "the ray does not increase the cell"
        return fault

    def _leaves(self, ray: IntArray) -> str | None:
        for statement in self._statements:
            figure = statement.broken(ray, ray=True)
            if figure is not None:
                return f"the ray contradicts {statement.words(figure)}"
        return None
