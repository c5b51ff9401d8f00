"""Rows in which single cells may only take listed counts.

Lists break the interval form of Theorem 2.1, so the sums that a row's cells can make are found
as sets, one row sum at a time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cellbounds.model.rates.problem import RowProblem
from cellbounds.solvers.conditional.evaluate import Evaluator
from cellbounds.solvers.conditional.offsets import runs_of
from cellbounds.solvers.conditional.sums import Window

__all__ = ["ListedRow"]


class ListedRow:
    """One row with value lists: admissible sums and attainable counts, sum by sum."""

    __slots__ = ("_evaluator", "_lists", "_row", "_width")

    def __init__(self, problem: RowProblem, evaluator: Evaluator, row: int) -> None:
        self._evaluator, self._row, self._width = evaluator, row, problem.width
        self._lists: dict[int, Sequence[int]] = {
            column: values for (i, column), values in problem.cell_values.items() if i == row
        }

    def cell_sets(self, total: int) -> list[tuple[int, int]] | None:
        """For each column its counts as (smallest, bits above it), None if one has none."""
        sums = self._evaluator.sums_array([total], total).reshape(1, 1)
        rows = np.array([self._row])
        sets = []
        lowers, uppers = self._evaluator.limits(rows, sums)
        for column in range(self._width):
            lower, upper = int(lowers[column, 0, 0]), int(uppers[column, 0, 0])
            bits = (1 << max(upper - lower + 1, 0)) - 1
            if column in self._lists:
                bits = 0
                for value in self._lists[column]:
                    if lower <= value <= upper:
                        bits |= 1 << (value - lower)
            if not bits:
                return None
            shift = (bits & -bits).bit_length() - 1
            sets.append((lower + shift, bits >> shift))
        return sets

    def admissible(self, total: int) -> bool:
        """Whether the row can have this sum."""
        sets = self.cell_sets(total)
        if sets is None:
            return False
        slack = total - sum(first for first, _ in sets)
        if slack < 0:
            return False
        window = Window(slack + 1)
        made = window.nothing()
        for _, bits in sets:
            made = window.plus_bits(made, bits)
        return window.holds(made, slack)

    def counts(self, total: int) -> list[tuple[int, int]]:
        """For each column its attainable counts as (smallest, bits above it), given a sum."""
        sets = self.cell_sets(total)
        slack = -1 if sets is None else total - sum(first for first, _ in sets)
        if sets is None or slack < 0:
            return [(0, 0)] * self._width
        window = Window(slack + 1)
        found = []
        for column, (first, bits) in enumerate(sets):
            others = window.nothing()
            for place, (_, more) in enumerate(sets):
                if place != column:
                    others = window.plus_bits(others, more)
            made, limit = others
            made |= (1 << (slack + 1)) - (1 << limit)
            # An offset goes with what is left of the slack: the bits of the others turned round.
            found.append((first, bits & int(f"{made:0{slack + 1}b}"[::-1], 2)))
        return found

    def cell_values(self, total: int, column: int) -> list[int]:
        """The attainable counts of one cell, given an admissible sum."""
        first, bits = self.counts(total)[column]
        return [
            value
            for start, length in runs_of(bits)
            for value in range(first + start, first + start + length)
        ]

    def fill(self, total: int, column: int | None, value: int | None) -> list[int]:
        """Counts of the whole row with this sum, the cell in `column` being `value`."""
        fixed: dict[int, int] = {} if column is None or value is None else {column: value}
        for place in range(self._width):
            if place in fixed:
                continue
            for candidate in self.cell_values(total, place):
                if self._completes(total, {**fixed, place: candidate}):
                    fixed[place] = candidate
                    break
        return [fixed[place] for place in range(self._width)]

    def _completes(self, total: int, fixed: dict[int, int]) -> bool:
        sets = self.cell_sets(total)
        if sets is None:
            return False
        rest = total - sum(fixed.values())
        loose = [one for place, one in enumerate(sets) if place not in fixed]
        slack = rest - sum(first for first, _ in loose)
        if slack < 0:
            return False
        window = Window(slack + 1)
        made = window.nothing()
        for _, bits in loose:
            made = window.plus_bits(made, bits)
        return window.holds(made, slack)
