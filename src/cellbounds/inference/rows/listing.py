"""Every consistent table, one after the other, without ever running into a dead end.

The order: row by row; within a row first its sum, then its cells column by column, then the
parts of each cell; smaller numbers come first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

import numpy as np

from cellbounds.errors import TooMuchWork
from cellbounds.inference.enumeration import Options, adding_to, odometer
from cellbounds.inference.rows.lines import Ground, Line
from cellbounds.model.rates.offset_sets import Bits, Window
from cellbounds.runtime.arrays import IntArray
from cellbounds.solvers.conditional.feasible import range_row

__all__ = ["tables_of"]

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
