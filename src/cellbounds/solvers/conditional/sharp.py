"""Sharp bounds and attainable counts from one conditional, rounded or exact."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from cellbounds.data.table import Table
from cellbounds.errors import CellboundsError
from cellbounds.model.constraints import System, compile_release
from cellbounds.model.structure import Facts
from cellbounds.results.cell_index import WholeMargin
from cellbounds.results.solution import ExactSolution, Query
from cellbounds.results.values import UNBOUNDED, Unbounded, ValueSet
from cellbounds.results.witnesses import checked
from cellbounds.solvers.conditional.cells import CellCounts
from cellbounds.solvers.conditional.layout import (
    About,
    Layout,
    layout_of,
    narrowed,
    refusal_of,
)
from cellbounds.solvers.conditional.solution import solve_rows
from cellbounds.solvers.conditional.witness import between, row_sum_for, table_with
from cellbounds.statements import Release

__all__ = ["SharpConditional"]

_ZERO = ValueSet([(0, 0, 1)])


class SharpConditional:
    """Document 004's three phases with saturation, boundary rows and windows (DESIGN 4.1)."""

    name = "rows of one conditional"

    def refusal(self, facts: Facts, question: Query) -> str | None:
        """Needs one conditional; margins and priors over its rows or cells only."""
        if question.kind != "sharp":
            return "gives sharp bounds only"
        one = facts.conditional
        if one is not None and one.on_parts and one.total.upper is None:
            return "knowledge about parts of summed cells needs an upper limit of N here"
        return refusal_of(facts, question.over)

    def work(self, facts: Facts, question: Query) -> SharpAnswers:
        """Find the feasible row sums; the rest follows when asked for."""
        return SharpAnswers(facts.release, layout_of(facts, question), question)


class SharpAnswers(ExactSolution):
    """Answers from the feasible row sums of one conditional."""

    _proof = "feasible row sums"

    def __init__(self, release: Release, layout: Layout, question: Query) -> None:
        self._release = release
        self._layout = layout
        self._places = question.places(release.domain)
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
            smallest, largest = self._counts.bounds(self._needed_rows())
            width = layout.column_count
        both = []
        for values in (smallest, largest):
            spread = np.zeros((layout.row_count, width), dtype=values.dtype)
            spread[layout.problem.rows] = values.reshape(-1, width)[solution.kind]
            both.append(spread)
        if layout.about is About.PARTS:
            both = list(self._part_bounds(*both))
        lower, upper = (self._places.picked(layout.shaped(narrowed(values))) for values in both)
        return lower, upper

    def _needed_rows(self) -> list[int] | None:
        """The distinct rows that the cells asked about are in; None: all of them."""
        if isinstance(self._places, WholeMargin):
            return None
        rows = {self._layout.place(position)[0] for position in self._places}
        return sorted({self._kind[row] for row in rows if row in self._kind})

    def _part_bounds(
        self, low: npt.NDArray[Any], high: npt.NDArray[Any]
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        layout = self._layout
        widths, parts = layout.behind.widths, layout.parts
        flat_low, flat_high = low.ravel(), high.ravel()
        if parts is None:
            # A part may be empty unless it is alone, and may hold all of its summed cell.
            least = np.where(widths == 1, flat_low, 0)
            return np.repeat(least, widths), np.repeat(flat_high, widths)
        smallest, largest = parts.extremes(flat_low, flat_high)
        for cell in parts.listed():
            for part, place in enumerate(parts.places(cell)):
                values = self._part_values(*divmod(cell, layout.column_count), part)
                smallest[place], largest[place] = values.smallest, values.largest
        empty = np.repeat(layout.facts.conditional.intervals.zero, layout.column_count)
        smallest[np.repeat(empty, widths)] = largest[np.repeat(empty, widths)] = 0
        return smallest, largest

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
        cell = row * self._layout.column_count + column
        if row not in self._kind or self._layout.part_count(cell) == 1:
            return sums
        if parts is None:
            top = sums.largest
            return ValueSet([(0, None if isinstance(top, Unbounded) else top, 1)])
        return parts.part_values(cell, part, sums)

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
        for total in between(sums, value, None):
            if parts is None:
                if total == value or self._layout.part_count(cell) > 1:
                    return total
            elif parts.split(cell, total, part, value) is not None:
                return total
        raise CellboundsError("a part that was found attainable has no sum; please report this")

    def _split(self, cells: npt.NDArray[Any], fixed: tuple[int, int, int, int]) -> Table:
        """Split summed cells into parts, one part being fixed."""
        layout = self._layout
        starts, parts = layout.behind.starts, layout.parts
        split = np.zeros(len(layout.behind.cells), dtype=object)
        row, column, part, value = fixed
        asked = row * layout.column_count + column if layout.about is About.PARTS else None
        if parts is None:
            split[starts[:-1]] = cells.ravel()
            if asked is not None:
                first, last = int(starts[asked]), int(starts[asked + 1])
                split[first] = 0
                split[first if part else last - 1] = cells[row, column] - value
                split[first + part] += value
        else:
            for cell in self._held_cells():
                here = (part, value) if cell == asked else (None, None)
                split[starts[cell] : starts[cell + 1]] = parts.split(cell, cells.flat[cell], *here)
        return Table(self._release.domain, narrowed(layout.table_counts(split)))

    def _held_cells(self) -> Iterator[int]:
        """The cells of rows that hold somebody."""
        width = self._layout.column_count
        for row in self._kind:
            yield from range(row * width, (row + 1) * width)
