"""The rows of one conditional as sums over tables see them: feasible sums, ranges of cells, parts.

Rows of the same *type* agree in rates, and in what is known of them and of the parts of their
cells: they have the same counts of tables, and the same weights if their cells have.

Tables are listed one after the other, without ever running into a dead end: row by row; within a
row first its sum, then its cells column by column, then the parts of each cell; smaller numbers
come first.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from cellbounds.errors import TooMuchWork
from cellbounds.inference.enumeration import Options, adding_to, odometer
from cellbounds.model.rates.layout import Layout
from cellbounds.model.rates.offset_sets import Bits, Window
from cellbounds.results.values import Unbounded
from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.solvers.conditional.feasible import (
    FeasibleRows,
    distinct_rows,
    range_row,
    solve_rows,
)

SUM = 64
"""Steps that one feasible sum counts for, for each column."""

MOST_BITS = 1 << 32
"""Reachable sums that are held at most, all rows together."""

REMEMBERED = 1 << 12
"""Row sums whose ranges of cells are kept."""


@dataclass(frozen=True, slots=True)
class PartRange:
    """Which counts one part of a summed cell may have."""

    lower: int
    upper: int | None
    values: tuple[int, ...] | None

    def options(self, total: int) -> Options:
        """The counts up to a total, ascending."""
        if self.values is not None:
            return tuple(value for value in self.values if value <= total)
        return range(self.lower, (total if self.upper is None else min(total, self.upper)) + 1)

    def mask(self, most: int) -> BoolArray:
        """Which of the counts 0 to `most` are allowed."""
        return mask_of(self.options(most), most)


def mask_of(values: Options, most: int) -> BoolArray:
    """Which of the counts 0 to `most` are among some values."""
    mask = np.zeros(most + 1, dtype=bool)
    mask[[value for value in values if value <= most]] = True
    return mask


@dataclass(frozen=True, eq=False)
class RowType:
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
        progressions = self.solution.feasible[self.kind].values.progressions
        return sum(
            1 if last is None else (last - first) // step + 1 for first, last, step in progressions
        )

    @cached_property
    def listed(self) -> dict[int, tuple[int, ...]]:
        """Lists of possible counts, by column."""
        cells = self.solution.problem.cell_values
        return {column: values for (row, column), values in cells.items() if row == self.kind}

    @property
    def plain(self) -> bool:
        """Whether every cell is whole and takes all counts in its range."""
        return max(self.part_counts) == 1 and not self.listed

    @property
    def box_count(self) -> float:
        """How many boxes there are at most, without making them."""
        problem = self.solution.problem
        if problem.figures is None:
            return self.sum_count
        largest = self.solution.feasible[self.kind].values.largest
        most = 0 if isinstance(largest, Unbounded) else largest
        return self.sum_count * (1 + self.width * (most / problem.unit + 1))

    @cached_property
    def boxes(self) -> tuple[IntArray, IntArray, IntArray]:
        """The vectors of all feasible sums in boxes (see `boxes_of`), by the place of their sum."""
        return self.boxes_of(self.sums)

    def boxes_of(self, sums: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """The place of its sum, smallest and largest count of every column (first axis) of a box.

        With the other columns inside their own ranges; lists of values are not looked at. Most rows
        have one box for each sum.
        """
        evaluator = self.solution.evaluator
        rows = evaluator.sums_array(sums.tolist(), int(sums.max(initial=0)))
        places, lower, upper = evaluator.boxes(self.kind, rows)
        return places, lower.astype(np.int64), upper.astype(np.int64)


@dataclass(frozen=True, eq=False)
class RowSystem:
    """All rows that hold somebody, and the total that they share.

    Attributes
    ----------
    type_of
        The type of each row, by number.
    size
        Cells of the table.
    """

    layout: Layout
    solution: FeasibleRows
    types: tuple[RowType, ...]
    type_of: IntArray
    size: int

    def numbers(self, row: int, column: int) -> IntArray:
        """The cells of the table (flat) behind one cell of a row: its parts."""
        behind = self.layout.behind
        cell = int(self.layout.problem.rows[row]) * self.layout.column_count + column
        return behind.cells[behind.starts[cell] : behind.starts[cell + 1]]

    @cached_property
    def copies(self) -> list[int]:
        """How many rows there are of each type."""
        return [int(n) for n in np.bincount(self.type_of, minlength=len(self.types))]

    @property
    def layout_steps(self) -> float:
        """What it costs to lay out the feasible sums of all types and their ranges of cells."""
        return SUM * sum((row_type.width + 1.0) * row_type.box_count for row_type in self.types)

    @cached_property
    def unit(self) -> int:
        """What divides all differences between feasible sums of a row."""
        steps = [int(np.gcd.reduce(row_type.sums - row_type.sums[0])) for row_type in self.types]
        return math.gcd(*steps) or 1

    @cached_property
    def surplus(self) -> int:
        """What N leaves above the least feasible sums, in units, as far as rows can use it."""
        reach = self._over_rows(int(self.offsets(row_type)[-1]) for row_type in self.types)
        return min(self._above // self.unit, reach)

    @cached_property
    def slack(self) -> int:
        """By how many units the sums may fall short of the surplus: 0 if N is known."""
        problem = self.solution.problem
        missing = max(0, self._above - ((problem.total_upper or 0) - problem.total_lower))
        return self.surplus - -(-missing // self.unit)

    @property
    def _above(self) -> int:
        least = self._over_rows(int(row_type.sums[0]) for row_type in self.types)
        return (self.solution.problem.total_upper or 0) - least

    def _over_rows(self, by_type: Iterable[int]) -> int:
        return sum(number * n for number, n in zip(by_type, self.copies, strict=True))

    def offsets(self, row_type: RowType) -> IntArray:
        """The feasible sums of a type as units above the least."""
        return np.asarray((row_type.sums - row_type.sums[0]) // self.unit)


def make_row_system(layout: Layout) -> RowSystem:
    """Solve for feasible row sums, and find which rows are alike.

    Raises
    ------
    InconsistentRelease
        If no table fits.
    """
    solution = solve_rows(distinct_rows(layout.problem))
    widths = layout.behind.widths.reshape(layout.row_count, layout.column_count).tolist()
    rows = zip(solution.kind.tolist(), layout.problem.rows.tolist(), strict=True)
    keys = [(kind, tuple(widths[row]), _part_ranges(layout, row)) for kind, row in rows]
    distinct = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    types = tuple(RowType(solution, *key) for key in distinct)
    type_of = np.array([distinct[key] for key in keys], dtype=np.int64)
    return RowSystem(layout, solution, types, type_of, layout.facts.domain.size)


def _part_ranges(layout: Layout, row: int) -> tuple[tuple[PartRange, ...] | None, ...]:
    known = layout.parts
    if known is None:
        return (None,) * layout.column_count

    def part_range(place: int) -> PartRange:
        upper = None if known.upper[place] < 0 else int(known.upper[place])
        return PartRange(int(known.lower[place]), upper, known.values.get(place))

    def ranges(cell: int) -> tuple[PartRange, ...] | None:
        # A single part is the cell itself.
        places = known.places(cell)
        return None if len(places) == 1 else tuple(map(part_range, places))

    return tuple(map(ranges, range(row * layout.column_count, (row + 1) * layout.column_count)))


def tables_of(system: RowSystem) -> Iterator[IntArray]:
    """All tables, flat."""
    reachable = _reachable(system)
    vectors = [_vectors_of(row_type) for row_type in system.types]
    count, width = len(system.type_of), system.solution.problem.width
    behind = [system.numbers(row, column) for row in range(count) for column in range(width)]
    places = np.concatenate([np.zeros(0, dtype=np.int64), *behind])
    top = system.solution.problem.total_upper or 0

    def rows(chosen: Sequence[tuple[int, list[int]]]) -> Iterator[tuple[int, list[int]]]:
        row = len(chosen)
        left = top - sum(total for total, _ in chosen)
        number = int(system.type_of[row])
        for total in system.solution.feasible[system.types[number].kind].values:
            if total > left:
                break
            if reachable[row + 1].holds(left - total):
                for cells in vectors[number](total):
                    yield total, cells

    for chosen_rows in odometer(count, rows):
        table = np.zeros(system.size, dtype=np.int64)
        if chosen_rows:
            table[places] = np.concatenate([cells for _, cells in chosen_rows])
        yield table


def _vectors_of(row_type: RowType) -> Callable[[int], Iterator[list[int]]]:
    """Ways to fill a row, its sum being given: counts of all cells of the table behind it."""

    @lru_cache(maxsize=REMEMBERED)
    def boxes(total: int) -> list[list[Options]]:
        _, lowers, uppers = row_type.boxes_of(np.array([total]))
        made = []
        for lower, upper in zip(lowers.T.tolist(), uppers.T.tolist(), strict=True):
            options: list[Options] = [range(a, b + 1) for a, b in zip(lower, upper, strict=True)]
            for column, values in row_type.listed.items():
                options[column] = tuple(value for value in values if value in options[column])
            made.append(options)
        return made

    def split(cells: Sequence[int]) -> Callable[[Sequence[list[int]]], Iterator[list[int]]]:
        def parts(chosen: Sequence[list[int]]) -> Iterator[list[int]]:
            count, known = cells[len(chosen)], row_type.parts[len(chosen)]
            options: list[Options] = [range(count + 1)] * row_type.part_counts[len(chosen)]
            if known is not None:
                options = [part.options(count) for part in known]
            return map(list, adding_to(options, count))

        return parts

    def vectors(total: int) -> Iterator[list[int]]:
        # Each box in order, and all of them together.
        for cells in heapq.merge(*(adding_to(options, total) for options in boxes(total))):
            if max(row_type.part_counts) == 1:
                yield cells
                continue
            for parts in odometer(len(cells), split(tuple(cells))):
                yield [count for counts in parts for count in counts]

    return vectors


class _ReachableSums:
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


def _reachable(system: RowSystem) -> list[_ReachableSums]:
    """For each row the sums that it and the rows after it can make, and what N leaves open."""
    problem, sets = system.solution.problem, system.solution.sums.sets
    width, count = (system.solution.slack or 0) + 1, len(system.type_of)
    if width * (count + 1) > MOST_BITS:
        raise TooMuchWork(
            f"listing tables needs the sums that rows can make together, {width} of them for "
            f"each of {count} rows; the limit is {MOST_BITS} in all: draw a sample instead"
        )
    window = Window(width)
    held, least = window.nothing(), 0
    open_end = (problem.total_upper or 0) - problem.total_lower
    if open_end:
        held = window.plus(held, range_row(open_end), 1)
    reachable = [_ReachableSums(held, least, width)]
    for row in reversed(range(count)):
        own = sets[system.types[int(system.type_of[row])].kind]
        held, least = window.plus(held, own, 1), least + own.start
        reachable.append(_ReachableSums(held, least, width))
    return reachable[::-1]
