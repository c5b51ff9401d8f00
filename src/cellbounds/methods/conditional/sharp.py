"""Sharp bounds and attainable counts from one conditional, rounded or exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cellbounds.constraints import System, compile_release
from cellbounds.errors import CellboundsError
from cellbounds.methods.conditional.cells import CellCounts
from cellbounds.methods.conditional.layout import (
    About,
    Layout,
    layout_of,
    narrowed,
    refusal_of,
)
from cellbounds.methods.conditional.solution import solve_rows
from cellbounds.methods.conditional.witness import row_sum_for, table_with
from cellbounds.methods.protocol import ExactWork, Question
from cellbounds.methods.witnessing import checked
from cellbounds.releases import Release
from cellbounds.results.values import UNBOUNDED, Unbounded, ValueSet
from cellbounds.structure import Facts
from cellbounds.table import Table

__all__ = ["SharpConditional"]

_ZERO = ValueSet([(0, 0, 1)])


class SharpConditional:
    """Document 004's three phases with saturation, boundary rows and windows (DESIGN 4.1)."""

    name = "rows of one conditional"

    def refusal(self, facts: Facts, question: Question) -> str | None:
        """Needs one conditional; margins and priors over its rows or cells only."""
        if question.kind != "sharp":
            return "gives sharp bounds only"
        one = facts.conditional
        if one is not None and one.on_parts and one.omitted and one.total.upper is None:
            return "knowledge about parts of summed cells needs an upper limit of N here"
        return refusal_of(facts, question.over)

    def work(self, facts: Facts, question: Question) -> SharpAnswers:
        """Find the feasible row sums; the rest follows when asked for."""
        return SharpAnswers(facts.release, layout_of(facts, question))


class SharpAnswers(ExactWork):
    """Answers from the feasible row sums of one conditional."""

    _proof = "feasible row sums"

    def __init__(self, release: Release, layout: Layout) -> None:
        self._release = release
        self._layout = layout
        self._solution = solve_rows(layout.problem)
        self._counts = CellCounts(self._solution)
        self._kind: dict[int, int] = dict(
            zip(layout.problem.rows.tolist(), self._solution.kind.tolist(), strict=True)
        )
        self._system: System | None = None

    def bounds(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Lower and upper bounds in the shape of the cells asked for."""
        layout, solution = self._layout, self._solution
        if layout.about is About.ROWS:
            smallest = np.array([one.head(1)[0] for one in solution.feasible], dtype=object)
            largest = np.empty(len(solution.feasible), dtype=object)
            largest[:] = [
                UNBOUNDED if one.unbounded else one.tail(1)[0] for one in solution.feasible
            ]
            width = 1
        else:
            smallest, largest = self._counts.bounds()
            width = layout.column_count
        both = []
        for values in (smallest, largest):
            spread = np.zeros((layout.row_count, width), dtype=values.dtype)
            spread[layout.problem.rows] = values.reshape(-1, width)[solution.kind]
            both.append(spread)
        if layout.about is About.PARTS:
            both = list(self._part_bounds(*both))
        lower, upper = (layout.shaped(narrowed(values)) for values in both)
        return lower, upper

    def _part_bounds(
        self, low: npt.NDArray[Any], high: npt.NDArray[Any]
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        layout = self._layout
        count, parts = layout.part_count, layout.parts
        flat_low, flat_high = low.ravel(), high.ravel()
        if parts is None:
            # A part may be empty unless it is alone, and may hold all of its summed cell.
            least = flat_low if count == 1 else np.zeros_like(flat_low)
            return np.repeat(least, count), np.repeat(flat_high, count)
        smallest, largest = parts.extremes(flat_low, flat_high, np.arange(len(flat_low)))
        for row in range(layout.row_count):
            if row not in self._kind:
                columns = slice(row * layout.column_count, (row + 1) * layout.column_count)
                smallest[columns], largest[columns] = 0, 0
        for cell in {cell for cell, _ in parts.values}:
            for part in range(count):
                values = self._part_values(*divmod(cell, layout.column_count), part)
                smallest[cell, part], largest[cell, part] = values.smallest, values.largest
        return smallest.ravel(), largest.ravel()

    def values(self, index: tuple[int, ...]) -> ValueSet:
        """Every attainable count of one cell."""
        row, column, part = self._layout.place(index)
        if self._layout.about is About.ROWS:
            return self._solution.feasible[self._kind[row]].values if row in self._kind else _ZERO
        if self._layout.about is About.CELLS:
            return self._cell_values(row, column)
        return self._part_values(row, column, part)

    def _cell_values(self, row: int, column: int) -> ValueSet:
        if row not in self._kind:
            return _ZERO
        return self._counts.row_values(self._kind[row])[column]

    def _part_values(self, row: int, column: int, part: int) -> ValueSet:
        sums, parts = self._cell_values(row, column), self._layout.parts
        if row not in self._kind or self._layout.part_count == 1:
            return sums
        if parts is None:
            top = sums.largest
            return ValueSet([(0, None if isinstance(top, Unbounded) else top, 1)])
        return parts.part_values(row * self._layout.column_count + column, part, sums)

    def witness(self, index: tuple[int, ...], value: int) -> Table:
        """A consistent table in which the cell holds `value`, checked in exact arithmetic."""
        layout, problem = self._layout, self._layout.problem
        row, column, part = layout.place(index)
        place: int | None = None
        total: int | None = None
        at: int | None = None
        summed: int | None = None
        if row in self._kind:
            place = int(np.searchsorted(problem.rows, row))
            if layout.about is About.ROWS:
                total = value
            else:
                at, summed = column, value
                if layout.about is About.PARTS:
                    summed = self._sum_for(row, column, part, value)
                total = row_sum_for(self._solution, self._kind[row], column, summed)
        cells = np.zeros((layout.row_count, layout.column_count), dtype=object)
        cells[problem.rows] = table_with(self._solution, place, total, at, summed)
        table = self._split(cells, (row, column, part, value))
        return checked(self._release, table, layout.over, index, value, self._compiled())

    def _compiled(self) -> System:
        if self._system is None:
            self._system = compile_release(self._release)
        return self._system

    def _sum_for(self, row: int, column: int, part: int, value: int) -> int:
        """A count of the summed cell of which a part may be `value`."""
        sums, parts = self._cell_values(row, column), self._layout.parts
        cell = row * self._layout.column_count + column
        for total in sums:
            if total < value:
                continue
            if parts is None:
                if total == value or self._layout.part_count > 1:
                    return total
            elif parts.split(cell, total, part, value) is not None:
                return total
        raise CellboundsError("a part that was found attainable has no sum; please report this")

    def _split(self, cells: npt.NDArray[Any], fixed: tuple[int, int, int, int]) -> Table:
        """Split summed cells into parts, one part being fixed."""
        layout = self._layout
        count, parts = layout.part_count, layout.parts
        split = np.zeros((*cells.shape, count), dtype=object)
        asked = fixed[:3] if layout.about is About.PARTS else None
        for row, column in np.ndindex(cells.shape):
            total = int(cells[row, column])
            here = asked is not None and asked[:2] == (row, column)
            part, value = (fixed[2], fixed[3]) if here else (None, None)
            if parts is not None and row in self._kind:
                cell = row * layout.column_count + column
                split[row, column] = parts.split(cell, total, part, value)
            elif part is None or value is None:
                split[row, column, 0] = total
            else:
                split[row, column, 0 if part else count - 1] = total - value
                split[row, column, part] += value
        counts = layout.table_counts(split)
        return Table(self._release.domain, narrowed(counts))
