"""Listing tables by search, where no diagram is small enough.

Cells are given counts one after the other, in the order of the domain; an integer solver says
whether what has been given can be completed. Every table that it finds on the way is kept as the
answer to the next question, so that each call either finds a table that has not been listed yet or
proves that a whole range of counts leads nowhere.

Tables that are few enough to be held in a list: everything is a sum over it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from cellbounds.errors import (
    CellboundsError,
    InconsistentRelease,
    InvalidInput,
    TooMuchWork,
    Unsettled,
    UnsupportedRelease,
)
from cellbounds.inference.decision_diagram.components import with_upper_limits
from cellbounds.model.constraints import NO_LOWER, NO_UPPER, compile_release
from cellbounds.model.priors import Weights
from cellbounds.model.problem import Problem, make_problem, reduced
from cellbounds.results.distribution import Distribution
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.scaled_floats import (
    UNIT,
    FloatArray,
    ScaledFloats,
    log_of,
    probabilities,
    total_of,
    widened,
)
from cellbounds.solvers.general.cp_sat import IntegerProgram, fits_solver
from cellbounds.statements import Release

__all__ = ["ListedFibre", "few_tables", "searched_tables"]

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


MOST = 5_000
"""Tables that are searched for one by one."""


def few_tables(release: Release) -> ListedFibre | None:
    """All tables of a release as a solver finds them, or None if there are more than a few."""
    found = list(itertools.islice(searched_tables(release), MOST + 1))
    if len(found) > MOST:
        return None
    return ListedFibre(np.array(found, dtype=np.int64).reshape(-1, release.domain.size))


class ListedFibre:
    """The tables themselves, in lexicographic order."""

    name = "all tables, found one by one"

    def __init__(self, tables: IntArray) -> None:
        self._tables = tables

    def count(self) -> int:
        """How many there are."""
        return len(self._tables)

    def listed(self) -> Iterator[IntArray]:
        """All of them."""
        return iter(self._tables)

    def weighted(self, weights: Weights) -> WeightedList:
        """Sum their weights (see `Fibre`)."""
        if not len(self._tables):
            raise InconsistentRelease("no table of counts fits all the published figures")
        return WeightedList(self._tables, *_masses(self._tables, weights))


def _masses(tables: IntArray, weights: Weights) -> tuple[ScaledFloats, float]:
    """The weights of all tables as multiples of one, and the logarithm of that.

    Few tables may hold counts of any size: only the weights of those that occur are made.
    """
    found, logs = widened(np.ones(len(tables))), []
    for cell in range(tables.shape[1]):
        counts, places = np.unique(tables[:, cell], return_inverse=True)
        made = weights.scattered(weights.kinds[cell], counts.tolist())
        one = ScaledFloats(made.mantissa[places], made.exponent[places])
        logs.append(weights.log_weight(cell, int(counts[0])) if made.mantissa[0] else 0.0)
        nothing = (found.mantissa == 0) | (one.mantissa == 0)
        exponent = np.where(nothing, 0, found.exponent + one.exponent)
        found = widened(found.mantissa * one.mantissa, exponent)
    return found, math.fsum(logs)


class WeightedList:
    """Sums of the weights of listed tables."""

    def __init__(self, tables: IntArray, masses: ScaledFloats, log_unit: float) -> None:
        if not masses.mantissa.any():
            raise InvalidInput(
                "the prior gives no weight to any consistent table; give positive probabilities "
                "or means to cells that must hold somebody"
            )
        self._tables = tables
        self._chances: FloatArray = probabilities(masses)
        total = total_of([masses])
        self.log_mass = log_unit + log_of(float(total.mantissa), int(total.exponent))
        self.error = 2 * (2 * tables.shape[1] + len(tables)) * UNIT

    def distribution(self, cell: int) -> Distribution:
        """The distribution of the count of one cell."""
        weighing = self._chances > 0
        values, places = np.unique(self._tables[weighing, cell], return_inverse=True)
        chances = np.bincount(places, weights=self._chances[weighing])
        return Distribution(values, chances.astype(np.float64))

    def mode(self) -> IntArray:
        """The first table of largest weight."""
        return np.asarray(self._tables[int(np.argmax(self._chances))])

    def draw(self, size: int, rng: np.random.Generator) -> IntArray:
        """Independent tables."""
        return np.asarray(self._tables[rng.choice(len(self._tables), size=size, p=self._chances)])
