"""The cells and rows of a system in 64-bit integers, narrowed by propagation."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cellbounds.errors import InconsistentRelease, TooMuchWork
from cellbounds.model.constraints import System
from cellbounds.runtime.arrays import SAFE, BoolArray, IntArray, rows_of_entries
from cellbounds.statements.inequalities import NO_LOWER, NO_UPPER

PASSES = 60
"""Propagation ends after so many passes even if something still moves; all it found is valid."""


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Cells between bounds, and rows over them between limits, all int64.

    `upper` is NO_UPPER where nothing limits a cell. `origin` numbers the rows as the system does.
    `lists` are the sums that must be one of a list of values.
    """

    lower: IntArray
    upper: IntArray
    starts: IntArray
    cells: IntArray
    coefficients: IntArray
    row_lower: IntArray
    row_upper: IntArray
    origin: IntArray
    lists: tuple[tuple[IntArray, frozenset[int]], ...]

    @property
    def rows(self) -> IntArray:
        """The row of each entry."""
        return rows_of_entries(self.starts)

    def by_cell(self) -> tuple[IntArray, IntArray, IntArray]:
        """Entries sorted by cell: their order, where each cell begins, and which cell that is."""
        order = np.argsort(self.cells, kind="stable")
        found, begins = np.unique(self.cells[order], return_index=True)
        return order, begins, found

    def sums(self, counts: IntArray) -> IntArray:
        """The sum of each row."""
        if not len(self.cells):
            return np.zeros(0, dtype=np.int64)
        return np.asarray(np.add.reduceat(self.coefficients * counts[self.cells], self.starts[:-1]))

    def with_rows(self, kept: BoolArray) -> Problem:
        """The same cells with some of the rows."""
        widths = np.diff(self.starts)
        entries = np.repeat(kept, widths)
        return replace(
            self,
            starts=np.concatenate([[0], np.cumsum(widths[kept])]),
            cells=self.cells[entries],
            coefficients=self.coefficients[entries],
            row_lower=self.row_lower[kept],
            row_upper=self.row_upper[kept],
            origin=self.origin[kept],
        )

    def restricted(self, kept: BoolArray) -> Problem:
        """Some of the cells, renumbered, with what is about them; no row or list may be cut."""
        number = np.cumsum(kept) - 1
        rows = np.minimum.reduceat(kept[self.cells], self.starts[:-1])
        fewer = self.with_rows(rows)
        return replace(
            fewer,
            lower=self.lower[kept],
            upper=self.upper[kept],
            cells=number[fewer.cells],
            lists=tuple((number[cells], values) for cells, values in self.lists if kept[cells[0]]),
        )

    def components(self) -> IntArray:
        """The smallest cell that each cell is connected with, through rows and lists."""
        labels = np.arange(len(self.lower))
        before = labels - 1
        while not np.array_equal(before, labels):
            before = labels.copy()
            if len(self.cells):
                least = np.minimum.reduceat(labels[self.cells], self.starts[:-1])
                np.minimum.at(labels, self.cells, least[self.rows])
            for listed, _ in self.lists:
                labels[listed] = labels[listed].min()
            labels = labels[labels]
        return labels

    def room(self, counts: IntArray, way: IntArray) -> int:
        """How often a direction can be followed from a table (rows and bounds; not lists)."""
        rows, change = self.sums(counts), self.sums(way)
        steps = [
            _steps(counts, way, self.lower, self.upper),
            _steps(rows, change, self.row_lower, self.row_upper),
        ]
        return min(steps)

    def grows_alone(self, cell: int) -> bool:
        """Whether a cell may grow without end while all others stay as they are."""
        here = self.cells == cell
        rows, factors = self.rows[here], self.coefficients[here]
        blocked = np.where(factors > 0, self.row_upper[rows], -self.row_lower[rows])
        listed = any(cell in cells for cells, _ in self.lists)
        return not listed and bool(self.upper[cell] == NO_UPPER and (blocked == NO_UPPER).all())

    def holds(self, counts: IntArray) -> bool:
        """Whether counts keep every bound, limit and list."""
        if (counts < self.lower).any() or (counts > self.upper).any():
            return False
        sums = self.sums(counts)
        if (sums < self.row_lower).any() or (sums > self.row_upper).any():
            return False
        return all(int(counts[cells].sum()) in values for cells, values in self.lists)


def _steps(at: IntArray, by: IntArray, lower: IntArray, upper: IntArray) -> int:
    up, down = by > 0, by < 0
    ends = [(upper - at)[up] // by[up], (at - lower)[down] // -by[down]]
    return int(min((side.min() for side in ends if len(side)), default=NO_UPPER))


def raw_problem(system: System, size: int) -> Problem:
    """A system as it is: cells at least zero, nothing narrowed.

    Raises
    ------
    TooMuchWork
        If counts times coefficients could leave 64-bit integers.
    """
    limits = [system.lower[system.lower != NO_LOWER], system.upper[system.upper != NO_UPPER]]
    if any((np.abs(part) >= WIDEST).any() for part in (system.coefficients, *limits)):
        raise TooMuchWork(TOO_WIDE)
    return Problem(
        lower=np.zeros(size, dtype=np.int64),
        upper=np.full(size, NO_UPPER, dtype=np.int64),
        starts=system.starts,
        cells=system.cells,
        coefficients=system.coefficients.astype(np.int64),
        row_lower=system.lower.astype(np.int64),
        row_upper=system.upper.astype(np.int64),
        origin=np.arange(system.row_count),
        # Limits are rows as well: what lies beyond the widest of them is out of reach.
        lists=tuple(
            (listed.cells, frozenset(v for v in listed.values if v < WIDEST))
            for listed in system.lists
        ),
    )


def make_problem(system: System, size: int, *, real: bool = False) -> Problem:
    """Propagate a system to a fixed point.

    `real` asks for what holds of real numbers too: limits of cells are rounded outwards.

    Raises
    ------
    InconsistentRelease
        If a cell or a row is left without any value.
    TooMuchWork
        If counts times coefficients could leave 64-bit integers.
    """
    return narrowed(raw_problem(system, size), real=real)


EXACT = 2.0**52
"""Whole numbers below this are exact as floats, sums and differences of two of them too."""

WIDEST = SAFE // 4
"""Limits and sums stay below this."""

TOO_WIDE = (
    f"counts times coefficients reach {WIDEST}, beyond which the general method, which works in "
    "64-bit integers, does not go; give rates with fewer decimals, or a smaller N, counts and "
    "limits"
)


def narrowed(problem: Problem, *, real: bool = False) -> Problem:
    """The shuttle: what each row leaves for each of its cells, until nothing moves.

    Cells that are fixed are left out on the way, as soon as they are most of them. `real` and
    errors as for :func:`make_problem`.
    """
    lower, upper = problem.lower.copy(), problem.upper.copy()
    # What is said of single cells costs little, and may fix most of them.
    single = problem.with_rows(np.diff(problem.starts) == 1)
    lower, upper = _passed(single, lower, upper, real=real)
    left, active = np.arange(len(lower)), problem
    for _ in range(PASSES):
        free = lower[left] < upper[left]
        if 2 * np.count_nonzero(free) < len(free):
            active = replace(active, lower=lower[left], upper=upper[left])
            active, left = _without_fixed(active).problem, left[free]
        low, high = _passed(active, lower[left], upper[left], real=real)
        if np.array_equal(low, lower[left]) and np.array_equal(high, upper[left]):
            break
        lower[left], upper[left] = low, high
    return replace(problem, lower=lower, upper=upper)


def _passed(
    problem: Problem, lower: IntArray, upper: IntArray, *, real: bool
) -> tuple[IntArray, IntArray]:
    """What each row leaves for each of its cells, between limits."""
    if not len(problem.cells):
        return lower, upper
    order, begins, held = problem.by_cell()
    rows, factors, cells = problem.rows, problem.coefficients, problem.cells
    positive = factors > 0
    starts = problem.starts[:-1]
    below, above = (_ceil, np.floor_divide) if real else (np.floor_divide, _ceil)
    small = np.where(positive, lower[cells], upper[cells])
    large = np.where(positive, upper[cells], lower[cells])
    least = _activity(factors, small, starts)
    most = _activity(factors, large, starts)
    high = _room(problem.row_upper, least, rows, factors, small, NO_UPPER)
    low = _room(problem.row_lower, most, rows, factors, large, NO_LOWER)
    new_upper, new_lower = upper.copy(), lower.copy()
    top = np.where(positive, below(high, factors), below(low, factors))
    bottom = np.where(positive, above(low, factors), above(high, factors))
    open_top = np.where(positive, high == NO_UPPER, low == NO_LOWER)
    open_bottom = np.where(positive, low == NO_LOWER, high == NO_UPPER)
    top[open_top] = NO_UPPER
    bottom[open_bottom] = NO_LOWER
    new_upper[held] = np.minimum(upper[held], np.minimum.reduceat(top[order], begins))
    new_lower[held] = np.maximum(lower[held], np.maximum.reduceat(bottom[order], begins))
    if (new_lower > new_upper).any():
        raise InconsistentRelease("the published figures leave a cell without any count")
    return new_lower, new_upper


def _activity(factors: IntArray, ends: IntArray, starts: IntArray) -> tuple[IntArray, IntArray]:
    """The sum of each row at these ends: the finite part, and how many ends are not finite."""
    endless = ends == NO_UPPER
    if endless.any():
        finite = np.where(endless, 0, ends)
        missing = np.add.reduceat(endless.astype(np.int64), starts)
    else:
        finite, missing = ends, np.zeros(len(starts), dtype=np.int64)
    widest = np.add.reduceat(np.abs(factors).astype(float) * finite, starts)
    if float(widest.max()) >= WIDEST:
        raise TooMuchWork(TOO_WIDE)
    return np.add.reduceat(factors * finite, starts), missing


def _room(
    limit: IntArray,
    activity: tuple[IntArray, IntArray],
    rows: IntArray,
    factors: IntArray,
    ends: IntArray,
    nothing: int,
) -> IntArray:
    """What a row leaves for factor times cell, given the ends of its other cells."""
    finite, missing = activity
    endless = ends == NO_UPPER
    others = missing[rows] - endless
    own = np.where(endless, 0, factors * np.where(endless, 0, ends))
    room = limit[rows] - (finite[rows] - own)
    return np.where((limit[rows] == nothing) | (others > 0), nothing, room)


def _ceil(room: IntArray, factors: IntArray) -> IntArray:
    return -np.floor_divide(-room, factors)


@dataclass(frozen=True, slots=True, eq=False)
class Presolved:
    """A problem without its fixed cells and idle rows, and the way back.

    `cells` are the numbers of the cells that are left, `fixed` holds the counts of the others.
    """

    problem: Problem
    cells: IntArray
    fixed: IntArray

    def invert(self, counts: IntArray) -> IntArray:
        """A table of the whole from the counts of the cells that are left."""
        table = self.fixed.astype(counts.dtype)
        table[self.cells] = counts
        return table


def presolve(problem: Problem) -> Presolved:
    """Leave out fixed cells and the rows that hold anyway.

    Raises
    ------
    InconsistentRelease
        If a row cannot hold.
    """
    presolved = _without_fixed(problem)
    small = presolved.problem
    return replace(presolved, problem=_without_twins(small.with_rows(~_idle(small))))


def _without_fixed(problem: Problem) -> Presolved:
    """Leave out fixed cells, and rows over nothing else."""
    free = problem.lower < problem.upper
    left = np.flatnonzero(free)
    number = np.full(len(free), -1)
    number[left] = np.arange(len(left))
    live = free[problem.cells]
    rows, factors = problem.rows, problem.coefficients
    count = len(problem.row_lower)
    fixed = np.zeros(count, dtype=np.int64)
    np.add.at(fixed, rows[~live], factors[~live] * problem.lower[problem.cells[~live]])
    lower = _shifted(problem.row_lower, fixed, NO_LOWER)
    upper = _shifted(problem.row_upper, fixed, NO_UPPER)
    widths = np.bincount(rows[live], minlength=count)
    empty = widths == 0
    if ((lower > 0) & empty).any() or ((upper < 0) & empty).any() or (lower > upper).any():
        raise InconsistentRelease("the published figures contradict each other")
    small = Problem(
        lower=problem.lower[left],
        upper=problem.upper[left],
        starts=np.concatenate([[0], np.cumsum(widths[~empty])]),
        cells=number[problem.cells[live]],
        coefficients=factors[live],
        row_lower=lower[~empty],
        row_upper=upper[~empty],
        origin=problem.origin[~empty],
        lists=_lists_left(problem, number),
    )
    return Presolved(small, left, problem.lower)


def _lists_left(problem: Problem, number: IntArray) -> tuple[tuple[IntArray, frozenset[int]], ...]:
    """Value lists over the cells that are not fixed, by their new numbers (-1: fixed)."""
    left = []
    for cells, values in problem.lists:
        free = number[cells] >= 0
        known = int(problem.lower[cells[~free]].sum())
        if free.any():
            left.append((number[cells[free]], frozenset(value - known for value in values)))
        elif known not in values:
            raise InconsistentRelease("the published figures contradict each other")
    return tuple(left)


def _shifted(limits: IntArray, by: IntArray, nothing: int) -> IntArray:
    return np.where(limits == nothing, nothing, limits - by)


def _idle(problem: Problem) -> BoolArray:
    """Rows whose limits no choice of the cells can break."""
    factors, cells, rows = problem.coefficients, problem.cells, problem.rows
    lower, upper = problem.row_lower, problem.row_upper
    positive = factors > 0
    small = np.where(positive, problem.lower[cells], problem.upper[cells])
    large = np.where(positive, problem.upper[cells], problem.lower[cells])
    # Floats only choose what to leave out: what is left out must truly hold. Sums of whole numbers
    # are exact as long as they are not large; others need a margin.
    least, most = (factors.astype(float) * ends for ends in (small, large))
    size = np.bincount(rows, np.maximum(np.abs(least), np.abs(most)), len(lower))
    least, most = (np.bincount(rows, terms, len(lower)) for terms in (least, most))
    slack = np.where(size < EXACT, 0.0, 1 + 1e-9 * size)
    low = (lower == NO_LOWER) | (least >= lower + slack)
    high = (upper == NO_UPPER) | (most <= upper - slack)
    return np.asarray(low & high)


def _without_twins(problem: Problem) -> Problem:
    """Leave out rows that another row over the same cells makes needless."""
    seen: dict[bytes, int] = {}
    lower, upper = problem.row_lower, problem.row_upper
    live = np.ones(len(lower), dtype=bool)
    for row in range(len(lower)):
        inside = slice(problem.starts[row], problem.starts[row + 1])
        key = problem.cells[inside].tobytes() + problem.coefficients[inside].tobytes()
        first = seen.setdefault(key, row)
        if first != row and lower[row] <= lower[first] and upper[row] >= upper[first]:
            live[row] = False
    return problem if live.all() else problem.with_rows(live)
