"""Sharp bounds and attainable counts from one conditional, rounded or exact."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cellbounds.data.table import Table
from cellbounds.errors import CellboundsError
from cellbounds.model.constraints import System, compile_release
from cellbounds.model.rates.layout import About, Layout, make_layout, refusal_of
from cellbounds.model.structure import Facts
from cellbounds.results.cell_index import CellIndex
from cellbounds.results.evidence import Evidence, checked
from cellbounds.results.solution import Arrays, Query, Solution
from cellbounds.results.values import UNBOUNDED, Unbounded, ValueSet
from cellbounds.runtime.arrays import IntArray, narrowest
from cellbounds.runtime.compilation import uncompiled
from cellbounds.solvers.conditional import small_tables
from cellbounds.solvers.conditional.cells import CellCounts, row_sum_for, table_at, table_with
from cellbounds.solvers.conditional.feasible import (
    DistinctRows,
    FeasibleRows,
    distinct_rows,
    solve_rows,
)
from cellbounds.solvers.conditional.parts import PartCounts, part_bounds
from cellbounds.statements import Release

_ZERO = ValueSet([(0, 0, 1)])


class SharpConditional:
    """Document 004's three phases with saturation, boundary rows and windows (DESIGN 4.1)."""

    name = "rows of one conditional"

    def refusal(self, facts: Facts, query: Query) -> str | None:
        """Needs one conditional; margins and side information over its rows or cells only."""
        if query.kind != "sharp":
            return "gives sharp bounds only"
        return refusal_of(facts, query.over, sharp=True)

    def solve(self, facts: Facts, query: Query) -> ConditionalSolution:
        """Find the feasible row sums; the rest follows when asked for."""
        assert facts.conditional is not None
        layout = make_layout(facts.conditional, query.over)
        rows, ends = distinct_rows(layout.problem), None
        small = layout.about is not About.ROWS and small_tables.fits(rows)
        if small and small_tables.sharp_ends.pays:
            ends = small_tables.ends(rows)
        if ends is None:
            with uncompiled() if small else nullcontext():
                rows = solve_rows(rows)
        places = query.places(facts.release.domain)
        return ConditionalSolution(facts.release, layout, places, rows, ends)


@dataclass(eq=False)
class ConditionalSolution(Solution):
    """Answers from the feasible row sums of one conditional."""

    method = SharpConditional.name
    evidence = Evidence.EXACT
    _proof = "feasible row sums"

    _release: Release
    _layout: Layout
    places: CellIndex
    _distinct: DistinctRows
    _ends: Arrays | None
    """Smallest and largest counts of the distinct rows, if those are known without their sums."""

    @cached_property
    def _rows(self) -> FeasibleRows:
        rows = self._distinct
        return rows if isinstance(rows, FeasibleRows) else solve_rows(rows)

    @cached_property
    def _counts(self) -> CellCounts:
        return CellCounts(self._rows)

    @cached_property
    def _part_counts(self) -> PartCounts | None:
        return None if self._layout.parts is None else PartCounts(self._layout.parts)

    @cached_property
    def _kind(self) -> dict[int, int]:
        """The distinct row of each row of the statement that holds somebody."""
        places, kinds = self._layout.problem.rows.tolist(), self._distinct.kind.tolist()
        return dict(zip(places, kinds, strict=True))

    def bounds(self) -> Arrays:
        """Lower and upper bounds in the shape of the cells asked for."""
        layout = self._layout
        if layout.about is About.ROWS:
            rows = self._rows
            smallest = np.array([sums.ends(1)[0] for sums in rows.feasible], dtype=object)
            largest = np.empty(len(rows.feasible), dtype=object)
            largest[:] = [
                UNBOUNDED if sums.unbounded else sums.ends(1, downwards=True)[0]
                for sums in rows.feasible
            ]
            width = 1
        else:
            smallest, largest = self._ends or self._counts.bounds(
                None if self.places.chosen is None else self._needed_rows()
            )
            width = layout.column_count
        both = []
        for values in (smallest, largest):
            spread = np.zeros((layout.row_count, width), dtype=values.dtype)
            spread[layout.problem.rows] = values.reshape(-1, width)[self._distinct.kind]
            both.append(spread)
        lower, upper = both
        if layout.about is About.PARTS:
            lower, upper = part_bounds(layout, lower, upper)
            for cell in layout.parts.listed() if layout.parts is not None else ():
                first = int(layout.behind.starts[cell])
                for part in range(layout.part_count(cell)):
                    values_of = self._part_values(*divmod(cell, layout.column_count), part)
                    lower[first + part] = values_of.smallest
                    upper[first + part] = values_of.largest
        lower, upper = (self.places.picked(layout.shaped(narrowest(v))) for v in (lower, upper))
        return lower, upper

    def _needed_rows(self) -> list[int]:
        """The distinct rows that the cells asked about are in."""
        rows = {self._layout.place(position)[0] for position in self.places}
        return sorted({self._kind[row] for row in rows if row in self._kind})

    def values(self, index: tuple[int, ...]) -> ValueSet:
        """Every attainable count of one cell."""
        row, column, part = self._layout.place(index)
        if row not in self._kind:
            return _ZERO
        if self._layout.about is About.ROWS:
            return self._rows.feasible[self._kind[row]].values
        if self._layout.about is About.CELLS:
            return self._counts.row_values(self._kind[row])[column]
        return self._part_values(row, column, part)

    def _cell_values(self, row: int, column: int) -> ValueSet:
        if row not in self._kind:
            return _ZERO
        return self._counts.row_values(self._kind[row])[column]

    def _part_values(self, row: int, column: int, part: int) -> ValueSet:
        sums = self._cell_values(row, column)
        cell = row * self._layout.column_count + column
        if row not in self._kind or self._layout.part_count(cell) == 1:
            return sums
        if self._part_counts is None:
            top = sums.largest
            return ValueSet([(0, None if isinstance(top, Unbounded) else top, 1)])
        return self._part_counts.values(cell, part, sums)

    def witness(self, index: tuple[int, ...], value: int) -> Table:
        """A consistent table in which the cell holds `value`, checked in exact arithmetic."""
        layout, problem = self._layout, self._layout.problem
        row, column, part = layout.place(index)
        place = total = at = summed = None
        if row in self._kind:
            place = int(np.searchsorted(problem.rows, row))
            if layout.about is About.ROWS:
                total = value
            else:
                at, summed = column, value
                if layout.about is About.PARTS:
                    summed = self._sum_for(row, column, part, value)
                total = row_sum_for(self._rows, self._kind[row], column, summed)
        cells = np.zeros((layout.row_count, layout.column_count), dtype=object)
        cells[problem.rows] = table_with(self._rows, place, total, at, summed)
        counts = narrowest(layout.table_counts(self._split(cells, (row, column, part, value))))
        table = Table(self._release.domain, counts)
        return checked(self._release, table, layout.over, index, value, self._system)

    def another(self, level: int, /) -> Table | None:
        """A table whose rows have about their `level`-th smallest sum."""
        layout = self._layout
        rows = table_at(self._rows, level) if layout.about is About.CELLS else None
        if rows is None:
            return None
        cells = np.zeros((layout.row_count, layout.column_count), dtype=object)
        cells[layout.problem.rows] = rows
        split = self._split(cells, (0, 0, 0, 0))
        return Table(self._release.domain, narrowest(layout.table_counts(split)))

    @cached_property
    def _system(self) -> System | None:
        # Rows that add to one by their rule take an inequality for each two columns.
        wide = self._layout.facts.conditional.intervals.remainders is not None
        return None if wide else compile_release(self._release)

    def _sum_for(self, row: int, column: int, part: int, value: int) -> int:
        """A count of the summed cell of which a part may be `value`."""
        parts, cell = self._layout.parts, row * self._layout.column_count + column
        for total in self._cell_values(row, column).between(value, None):
            if parts is None:
                if total == value or self._layout.part_count(cell) > 1:
                    return total
            elif parts.split(cell, total, part, value) is not None:
                return total
        raise CellboundsError("a part that was found attainable has no sum; please report this")

    def _split(self, cells: IntArray, fixed: tuple[int, int, int, int]) -> IntArray:
        """Split summed cells into parts, one part being fixed."""
        layout = self._layout
        starts, parts, width = layout.behind.starts, layout.parts, layout.column_count
        split = np.zeros(len(layout.behind.cells), dtype=object)
        row, column, part, value = fixed
        split_cell = row * width + column if layout.about is About.PARTS else None
        if parts is None:
            split[starts[:-1]] = cells.ravel()
            if split_cell is not None:
                first, last = int(starts[split_cell]), int(starts[split_cell + 1])
                split[first] = 0
                split[first if part else last - 1] = cells[row, column] - value
                split[first + part] += value
            return split
        for cell in (k * width + j for k in self._kind for j in range(width)):
            here = (part, value) if cell == split_cell else (None, None)
            split[starts[cell] : starts[cell + 1]] = parts.split(cell, cells.flat[cell], *here)
        return split
