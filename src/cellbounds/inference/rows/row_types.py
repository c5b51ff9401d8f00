"""The rows of one conditional as sums over tables see them: feasible sums, ranges of cells, parts.

A *line* is a row up to what tells rows apart: rates, priors, and what is known of the parts of
its cells. Rows with the same line have the same counts of tables, and the same weights if their
cells have.

Every consistent table, one after the other, without ever running into a dead end.

The order: row by row; within a row first its sum, then its cells column by column, then the
parts of each cell; smaller numbers come first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from cellbounds.errors import TooMuchWork
from cellbounds.inference.enumeration import Options, adding_to, odometer
from cellbounds.model.rates.layout import Layout
from cellbounds.model.rates.offset_sets import Bits, Window
from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.solvers.conditional.feasible import FeasibleRows, range_row, solve_rows

__all__ = ["Ground", "Line", "PartRange", "make_ground", "tables_of"]

SUM = 64
"""Steps that one feasible sum counts for, for each column."""


@dataclass(frozen=True, slots=True)
class PartRange:
    """Which counts one part of a summed cell may have."""

    lower: int
    upper: int | None
    values: tuple[int, ...] | None

    def options(self, total: int) -> range | tuple[int, ...]:
        """The counts up to a total, ascending."""
        if self.values is not None:
            return tuple(value for value in self.values if value <= total)
        return range(self.lower, (total if self.upper is None else min(total, self.upper)) + 1)

    def mask(self, most: int) -> BoolArray:
        """Which of the counts 0 to `most` are allowed."""
        return _mask_of(self.options(most), most)


def _mask_of(values: range | tuple[int, ...], most: int) -> BoolArray:
    mask = np.zeros(most + 1, dtype=bool)
    mask[[value for value in values if value <= most]] = True
    return mask


@dataclass(frozen=True, eq=False)
class Line:
    """A distinct row: `kind` is its place in the solution.

    `part_counts` and `parts` are by column: how many parts a cell has, and what is known of them
    (None: nothing).
    """

    solution: FeasibleRows
    kind: int
    part_counts: tuple[int, ...]
    parts: tuple[tuple[PartRange, ...] | None, ...]

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.solution.problem.width

    @cached_property
    def sums(self) -> IntArray:
        """The feasible sums, ascending."""
        pieces = [
            np.arange(first, (first if last is None else last) + 1, step, dtype=np.int64)
            for first, last, step in self.solution.feasible[self.kind].values.progressions
        ]
        return np.unique(np.concatenate(pieces))

    @property
    def sum_count(self) -> int:
        """How many feasible sums there are at most, without listing them."""
        found = self.solution.feasible[self.kind].values.progressions
        return sum(1 if last is None else (last - first) // step + 1 for first, last, step in found)

    @cached_property
    def listed(self) -> dict[int, tuple[int, ...]]:
        """Lists of possible counts, by column."""
        cells = self.solution.problem.cell_values
        return {column: values for (row, column), values in cells.items() if row == self.kind}

    @property
    def plain(self) -> bool:
        """Whether every cell is whole and takes all counts in its range."""
        return max(self.part_counts) == 1 and not self.listed

    def ranges(self, sums: IntArray) -> tuple[IntArray, IntArray]:
        """Smallest and largest count of every column (first axis) under these sums.

        With the other columns inside their own ranges; lists of values are not looked at.
        """
        evaluator = self.solution.evaluator
        asked = evaluator.sums_array(sums.tolist(), int(sums.max(initial=0)))[None, :]
        lower, upper = evaluator.cell_ranges(np.array([self.kind]), asked)
        return lower[:, 0].astype(np.int64), upper[:, 0].astype(np.int64)

    def mask(self, column: int, most: int) -> BoolArray | None:
        """Which of the counts 0 to `most` a cell's list allows; None without a list."""
        values = self.listed.get(column)
        return None if values is None else _mask_of(values, most)


@dataclass(frozen=True, eq=False)
class Ground:
    """All rows that hold somebody, and the total that they share.

    Attributes
    ----------
    line_of
        The line of each row.
    size
        Cells of the table.
    """

    layout: Layout
    solution: FeasibleRows
    lines: tuple[Line, ...]
    line_of: IntArray
    size: int

    @property
    def rows(self) -> range:
        """The rows that hold somebody."""
        return range(len(self.line_of))

    def line(self, row: int) -> Line:
        """The line of a row."""
        return self.lines[int(self.line_of[row])]

    def numbers(self, row: int, column: int) -> IntArray:
        """The cells of the table (flat) behind one cell of a row: its parts."""
        behind = self.layout.behind
        cell = int(self.layout.problem.rows[row]) * self.layout.column_count + column
        return behind.cells[behind.starts[cell] : behind.starts[cell + 1]]

    @cached_property
    def copies(self) -> list[int]:
        """How many rows each line has."""
        return [int(n) for n in np.bincount(self.line_of, minlength=len(self.lines))]

    @property
    def layout_steps(self) -> float:
        """What it costs to lay out the feasible sums of all lines and their ranges of cells."""
        return SUM * sum((line.width + 1.0) * line.sum_count for line in self.lines)

    @cached_property
    def unit(self) -> int:
        """What divides all differences between feasible sums of a row."""
        steps = [int(np.gcd.reduce(line.sums - line.sums[0])) for line in self.lines]
        return math.gcd(*steps) or 1

    @cached_property
    def spare(self) -> int:
        """What N leaves above the least feasible sums, in units, as far as rows can use it."""
        return min(self._above // self.unit, self._reach)

    @cached_property
    def give(self) -> int:
        """By how many units the sums may fall short of `spare`: 0 if N is known."""
        problem = self.solution.problem
        missing = max(0, self._above - ((problem.total_upper or 0) - problem.total_lower))
        return self.spare - -(-missing // self.unit)

    @property
    def _above(self) -> int:
        least = [int(line.sums[0]) * n for line, n in zip(self.lines, self.copies, strict=True)]
        return (self.solution.problem.total_upper or 0) - sum(least)

    @property
    def _reach(self) -> int:
        most = [
            int(self.offsets(line)[-1]) * n for line, n in zip(self.lines, self.copies, strict=True)
        ]
        return sum(most)

    def offsets(self, line: Line) -> IntArray:
        """The feasible sums of a line as units above the least."""
        return np.asarray((line.sums - line.sums[0]) // self.unit)


def make_ground(layout: Layout) -> Ground:
    """Solve for feasible row sums, and find which rows are alike.

    Raises
    ------
    InconsistentRelease
        If no table fits.
    """
    solution = solve_rows(layout.problem)
    widths = layout.behind.widths.reshape(layout.row_count, layout.column_count).tolist()
    seen: dict[object, int] = {}
    lines: list[Line] = []
    line_of = []
    for kind, row in zip(solution.kind.tolist(), layout.problem.rows.tolist(), strict=True):
        key = (kind, tuple(widths[row]), _parts_of(layout, row))
        place = seen.setdefault(key, len(lines))
        if place == len(lines):
            lines.append(Line(solution, *key))
        line_of.append(place)
    return Ground(
        layout,
        solution,
        tuple(lines),
        np.array(line_of, dtype=np.int64),
        layout.facts.domain.size,
    )


def _parts_of(layout: Layout, row: int) -> tuple[tuple[PartRange, ...] | None, ...]:
    known = layout.parts
    columns: list[tuple[PartRange, ...] | None] = []
    for cell in range(row * layout.column_count, (row + 1) * layout.column_count):
        places = () if known is None else known.places(cell)
        if known is None or len(places) == 1:
            columns.append(None)  # a single part is the cell itself
            continue
        columns.append(
            tuple(
                PartRange(
                    int(known.lower[place]),
                    None if known.upper[place] < 0 else int(known.upper[place]),
                    known.values.get(place),
                )
                for place in places
            )
        )
    return tuple(columns)


MOST_BITS = 1 << 32
"""Reachable sums that are held at most, all rows together."""

REMEMBERED = 1 << 12
"""Row sums whose ranges of cells are kept."""


def tables_of(ground: Ground) -> Iterator[IntArray]:
    """All tables, flat."""
    reachable = _reachable(ground)
    fillings = [_Filling(line) for line in ground.lines]
    width = ground.solution.problem.width
    behind = [ground.numbers(row, column) for row in ground.rows for column in range(width)]
    places = np.concatenate(behind) if behind else np.zeros(0, dtype=np.int64)

    def rows(chosen: Sequence[tuple[int, list[int]]]) -> Iterator[tuple[int, list[int]]]:
        row = len(chosen)
        left = top - sum(total for total, _ in chosen)
        line = int(ground.line_of[row])
        for total in ground.lines[line].solution.feasible[ground.lines[line].kind].values:
            if total > left:
                break
            if reachable[row + 1].holds(left - total):
                for cells in fillings[line].vectors(total):
                    yield total, cells

    top = ground.solution.problem.total_upper or 0
    for found in odometer(len(ground.line_of), rows):
        table = np.zeros(ground.size, dtype=np.int64)
        if found:
            table[places] = np.concatenate([cells for _, cells in found])
        yield table


class _Filling:
    """Ways to fill a row, its sum being given."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._columns = lru_cache(maxsize=REMEMBERED)(self._made_columns)

    def _made_columns(self, total: int) -> list[Options]:
        lower, upper = self._line.ranges(np.array([total]))
        options: list[Options] = []
        for column in range(self._line.width):
            low, high = int(lower[column, 0]), int(upper[column, 0])
            values = self._line.listed.get(column)
            options.append(
                range(low, high + 1)
                if values is None
                else tuple(value for value in values if low <= value <= high)
            )
        return options

    def vectors(self, total: int) -> Iterator[list[int]]:
        """Counts of all cells of the table behind the row, column by column."""
        for cells in adding_to(self._columns(total), total):
            if max(self._line.part_counts) == 1:
                yield cells
                continue
            for split in odometer(len(cells), self._parts_of(tuple(cells))):
                yield [count for parts in split for count in parts]

    def _parts_of(
        self, cells: tuple[int, ...]
    ) -> Callable[[Sequence[list[int]]], Iterator[list[int]]]:
        line = self._line

        def opened(chosen: Sequence[list[int]]) -> Iterator[list[int]]:
            column = len(chosen)
            count = cells[column]
            options: list[Options] = [range(count + 1)] * line.part_counts[column]
            known = line.parts[column]
            if known is not None:
                options = [part.options(count) for part in known]
            for parts in adding_to(options, count):
                yield [*parts]

        return opened


class _Sums:
    """Sums that some rows can make together, above the least one."""

    def __init__(self, held: Bits, least: int, width: int) -> None:
        bits, self._limit = held
        self._least, self._width = least, width
        self._bytes = bits.to_bytes((self._limit + 7) // 8, "little")

    def holds(self, total: int) -> bool:
        """Whether the rows can make this sum."""
        offset = total - self._least
        if not 0 <= offset < self._width:
            return False
        return offset >= self._limit or bool(self._bytes[offset >> 3] >> (offset & 7) & 1)


def _reachable(ground: Ground) -> list[_Sums]:
    """For each row the sums that it and the rows after it can make, and what N leaves open."""
    problem, sets = ground.solution.problem, ground.solution.sums.sets
    width = (ground.solution.slack or 0) + 1
    if width * (len(ground.line_of) + 1) > MOST_BITS:
        raise TooMuchWork(
            f"listing tables needs the sums that rows can make together, {width} of them for "
            f"each of {len(ground.line_of)} rows; the limit is {MOST_BITS} in all: draw a sample "
            "instead"
        )
    window = Window(width)
    held, least = window.nothing(), 0
    open_end = (problem.total_upper or 0) - problem.total_lower
    if open_end:
        held = window.plus(held, range_row(open_end), 1)
    found = [_Sums(held, least, width)]
    for row in reversed(ground.rows):
        one = sets[ground.line(row).kind]
        held, least = window.plus(held, one, 1), least + one.start
        found.append(_Sums(held, least, width))
    return found[::-1]
