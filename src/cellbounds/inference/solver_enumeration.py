"""Listing tables by search, where no diagram is small enough.

Cells are given counts one after the other, in the order of the domain; an integer solver says
whether what has been given can be completed. Every table that it finds on the way is kept as the
answer to the next question, so that each call either finds a table that has not been listed yet or
proves that a whole range of counts leads nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from cellbounds.errors import (
    CellboundsError,
    InconsistentRelease,
    TooMuchWork,
    Unsettled,
    UnsupportedRelease,
)
from cellbounds.inference.components import with_upper_limits
from cellbounds.model.constraints import NO_LOWER, NO_UPPER, compile_release
from cellbounds.model.problem import Problem, make_problem, reduced
from cellbounds.runtime.arrays import IntArray
from cellbounds.solvers.general.cp_sat import IntegerProgram, fits_solver
from cellbounds.statements import Release

__all__ = ["SECONDS", "searched_tables"]

SECONDS = 60.0
"""Seconds that the solver may think about one question."""


def searched_tables(release: Release, *, seconds: float | None = SECONDS) -> Iterator[IntArray]:
    """Every consistent table (flat, int64), in lexicographic order, each found when asked for.

    Parameters
    ----------
    release
        What was said.
    seconds
        How long the solver may think about one question; None: without end.

    Raises
    ------
    UnsupportedRelease
        If nothing limits some of the cells.
    TooMuchWork
        If the problem is too large for the solver.
    Unsettled
        If the solver does not decide a question in time. Tables are never left out silently.

    Examples
    --------
    >>> from cellbounds import Domain, Margin
    >>> domain = Domain({"a": ["0", "1"], "b": ["0", "1"]})
    >>> release = Release(domain, [Margin(["a"], [1, 2]), Margin(["b"], [2, 1])])
    >>> for table in searched_tables(release):
    ...     print(table)
    [0 1 2 0]
    [1 0 1 1]
    """
    try:
        full = make_problem(compile_release(release), release.domain.size)
        small, numbers = reduced(full)
        # Lists say nothing here that rows do not say too.
        small = replace(small, upper=with_upper_limits(replace(small, lists=())).upper)
    except InconsistentRelease:
        return
    if (small.upper == NO_UPPER).any():
        raise UnsupportedRelease(
            "nothing limits some of the cells, so there is no end of tables; give "
            "Total(upper=...) or another upper limit"
        )
    if not fits_solver(small):
        raise TooMuchWork(
            "the release is too large for the integer solver; publish fewer figures, or figures "
            "with fewer decimals"
        )
    for found in _Tree(full, small, numbers, seconds).tables():
        if not full.holds(found):
            raise CellboundsError("the solver gave a table that does not fit; please report this")
        yield found


class _Tree:
    """The search: which counts of a cell, given those of the cells before it, are possible."""

    def __init__(
        self, full: Problem, small: Problem, numbers: IntArray, seconds: float | None
    ) -> None:
        self._full, self._small, self._numbers = full, small, numbers
        self._seconds = seconds
        self._rows_of: list[list[tuple[int, int]]] = [[] for _ in numbers]
        entries = zip(
            small.cells.tolist(), small.rows.tolist(), small.coefficients.tolist(), strict=True
        )
        for cell, row, factor in entries:
            self._rows_of[cell].append((row, factor))

    def tables(self) -> Iterator[IntArray]:
        """All tables in lexicographic order."""
        size = len(self._numbers)
        if not size:
            if self._full.holds(self._full.lower):
                yield self._full.lower.copy()
            return
        cells = self._small.lower.copy()
        # One entry for each cell given a count: tables known to begin like this, and what the
        # cell may still be.
        stack = [self._level(cells, 0, [])]
        while stack:
            depth = len(stack) - 1
            level = stack[-1]
            value = self._next(cells, depth, level)
            if value is None:
                stack.pop()
                continue
            cells[depth] = value
            known = [one for one in level.known if one[depth] == value]
            level.known = [one for one in level.known if one[depth] > value]
            level.low = value + 1
            if depth + 1 < size:
                stack.append(self._level(cells, depth + 1, known))
                continue
            found = self._full.lower.copy()
            found[self._numbers] = cells
            yield found

    def _level(self, cells: IntArray, depth: int, known: list[IntArray]) -> _Level:
        """What a cell may be by each row alone, given the cells before it."""
        least, most = self._ends(cells, depth)
        low, high = int(self._small.lower[depth]), int(self._small.upper[depth])
        for row, factor in self._rows_of[depth]:
            own = sorted((factor * low, factor * high))
            bottom, top = int(self._small.row_lower[row]), int(self._small.row_upper[row])
            rooms = []
            if top != NO_UPPER:
                rooms.append((top - (int(least[row]) - own[0]), factor > 0))
            if bottom != NO_LOWER:
                rooms.append((bottom - (int(most[row]) - own[1]), factor < 0))
            for room, limits_above in rooms:
                if limits_above:
                    high = min(high, room // factor)
                else:
                    low = max(low, -(-room // factor))
        return _Level(low, high, known)

    def _ends(self, cells: IntArray, depth: int) -> tuple[IntArray, IntArray]:
        """The least and most of each row if the cells before `depth` are given."""
        lower, upper = self._small.lower.copy(), self._small.upper.copy()
        lower[:depth] = upper[:depth] = cells[:depth]
        first = self._small.coefficients * lower[self._small.cells]
        second = self._small.coefficients * upper[self._small.cells]
        rows, count = self._small.rows, len(self._small.row_lower)
        least, most = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        np.add.at(least, rows, np.minimum(first, second))
        np.add.at(most, rows, np.maximum(first, second))
        return least, most

    def _next(self, cells: IntArray, depth: int, level: _Level) -> int | None:
        """The smallest count from `level.low` on that can be completed."""
        while level.low <= level.high:
            first = min((int(one[depth]) for one in level.known), default=level.high + 1)
            if first == level.low:
                return first
            found = self._ask(cells, depth, level.low, first - 1)
            if found is not None:
                level.known.append(found)
            elif first > level.high:
                return None
            else:
                return first
        return None

    def _ask(self, cells: IntArray, depth: int, low: int, high: int) -> IntArray | None:
        """A table that begins like `cells`, with the next cell in a range; None: there is none."""
        lower, upper = self._small.lower.copy(), self._small.upper.copy()
        lower[:depth] = upper[:depth] = cells[:depth]
        lower[depth], upper[depth] = low, high
        narrowed = replace(self._small, lower=lower, upper=upper)
        solver = IntegerProgram(narrowed)
        found = solver.any_table(self._seconds)
        if found.cells is None and not found.final:
            raise Unsettled(
                f"the solver did not decide within {self._seconds} seconds whether there are more "
                "tables; give it more time"
            )
        return found.cells


class _Level:
    """What is left to try for one cell, and tables known to begin like this."""

    __slots__ = ("high", "known", "low")

    def __init__(self, low: int, high: int, known: list[IntArray]) -> None:
        self.low, self.high, self.known = low, high, known
