"""A release as independent parts: cells that no statement connects are summed over by themselves.

Statements become sums of cells between limits, or among listed values, each written in one way
only. Cells that the release fixes are left out, and so are sums that follow from others: the number
of records, published beside a margin, connects all cells of a table without saying anything new.
A sum is left out only if it is, in whole numbers, a combination of sums that stay.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from cellbounds.errors import InconsistentRelease, TooMuchWork, UnsupportedRelease
from cellbounds.model.constraints import System, compile_release
from cellbounds.model.problem import Problem, make_problem, narrowed, presolve
from cellbounds.runtime.arrays import SAFE, IntArray
from cellbounds.solvers.general.exact_linear import exact_bound
from cellbounds.statements import Release
from cellbounds.statements.inequalities import NO_LOWER, NO_UPPER


@dataclass(frozen=True, slots=True, eq=False)
class LinearSum:
    """``factors @ counts[cells]`` between two limits; one of `values` if there are any.

    Cells ascend, factors have no common divisor and the first is positive. `sources` are the
    statements that say so.
    """

    cells: IntArray
    factors: IntArray
    lower: int
    upper: int
    values: frozenset[int] | None = None
    sources: frozenset[int] = frozenset()

    @property
    def fixed(self) -> bool:
        """Whether it is an equation."""
        return self.lower == self.upper

    @property
    def plain(self) -> bool:
        """Whether every factor is one."""
        return bool((self.factors == 1).all())

    def ends(self, lower: IntArray, upper: IntArray) -> tuple[int, int]:
        """The least and the most that cells between bounds give."""
        rising = self.factors > 0
        low, high = lower[self.cells], upper[self.cells]
        least = int((self.factors * np.where(rising, low, high)).sum())
        return least, int((self.factors * np.where(rising, high, low)).sum())

    def allows(self, value: int) -> bool:
        """Whether the sum may have this value."""
        listed = self.values is None or value in self.values
        return self.lower <= value <= self.upper and listed


def sums_of(problem: Problem, statements: IntArray) -> list[LinearSum]:
    """The rows and lists of a problem; `statements` says where the system's rows are from."""
    sums = []
    for row in range(len(problem.row_lower)):
        inside = slice(problem.starts[row], problem.starts[row + 1])
        source = int(statements[problem.origin[row]])
        limits = int(problem.row_lower[row]), int(problem.row_upper[row])
        entries = problem.cells[inside], problem.coefficients[inside]
        sums.append(LinearSum(*entries, *limits, sources=frozenset([source])))
    for cells, values in problem.lists:
        ones = np.ones(len(cells), dtype=np.int64)
        sums.append(LinearSum(cells, ones, min(values), max(values), values))
    return sums


def merged(sums: Iterable[LinearSum]) -> list[LinearSum]:
    """Sums over the same cells as one.

    Raises
    ------
    InconsistentRelease
        If nothing is left for a sum.
    """
    by_cells: dict[bytes, LinearSum] = {}
    for total in map(_normal, sums):
        key = total.cells.tobytes() + total.factors.tobytes()
        by_cells[key] = _checked(_both(by_cells[key], total) if key in by_cells else total)
    return list(by_cells.values())


def _normal(total: LinearSum) -> LinearSum:
    """Cells ascending, factors in lowest terms, the first one positive."""
    order = np.argsort(total.cells, kind="stable")
    cells, factors = total.cells[order].astype(np.int64), total.factors[order].astype(np.int64)
    lower, upper = total.lower, total.upper
    if int(factors[0]) < 0:
        assert total.values is None
        factors, lower, upper = -factors, -upper, -lower
    shared = math.gcd(*factors.tolist())
    if shared > 1:
        factors //= shared
        lower = lower if lower == NO_LOWER else -(-lower // shared)
        upper = upper if upper == NO_UPPER else upper // shared
    return replace(total, cells=cells, factors=factors, lower=lower, upper=upper)


def _both(total: LinearSum, other: LinearSum) -> LinearSum:
    values = total.values if other.values is None else other.values
    if total.values is not None and other.values is not None:
        values = total.values & other.values
    return replace(
        total,
        lower=max(total.lower, other.lower),
        upper=min(total.upper, other.upper),
        values=values,
        sources=total.sources | other.sources,
    )


def _checked(total: LinearSum) -> LinearSum:
    """Limits and listed values brought together."""
    lower, upper, values = total.lower, total.upper, total.values
    if values is not None:
        values = frozenset(value for value in values if lower <= value <= upper)
        lower, upper = min(values, default=1), max(values, default=0)
        if len(values) == upper - lower + 1:
            values = None
    if lower > upper:
        raise InconsistentRelease("the published figures contradict each other")
    return replace(total, lower=lower, upper=upper, values=values)


def needed(sums: Iterable[LinearSum], lower: IntArray, upper: IntArray) -> list[LinearSum]:
    """The sums that cells between these bounds could break.

    Raises
    ------
    InconsistentRelease
        If a sum cannot hold.
    """
    needed_sums = []
    for total in sums:
        least, most = total.ends(lower, upper)
        if least > total.upper or most < total.lower:
            raise InconsistentRelease("the published figures contradict each other")
        if least < total.lower or total.upper < most or total.values is not None:
            needed_sums.append(total)
    return needed_sums


PRIME = 2**61 - 1

MOST_ENTRIES = 3_000_000
"""Larger systems are only searched for sums that are unions of others."""

LARGEST_FRACTION = 2**30
"""Numerators and denominators of a combination stay below this: its residue then fixes it."""


def implied(sums: Sequence[LinearSum], size: int) -> list[bool]:
    """Which sums are combinations of equations that are not marked, and hold therefore.

    Raises
    ------
    InconsistentRelease
        If a sum is such a combination but its limits do not allow what follows.
    """
    follows = [False] * len(sums)
    _mark_unions(sums, size, follows)
    left = [place for place, done in enumerate(follows) if not done]
    # Short sums first: they are kept, and the long ones follow from them.
    left.sort(key=lambda place: (not sums[place].fixed, len(sums[place].cells)))
    equations = sum(sums[place].fixed for place in left)
    if equations and len(left) * size <= MOST_ENTRIES:
        ordered = [sums[place] for place in left]
        for column, used in _combinations(ordered, equations, size):
            value = sum((times * ordered[k].lower for k, times in used.items()), Fraction(0))
            _check(ordered[column], value)
            follows[left[column]] = True
    return follows


def _mark_unions(sums: Sequence[LinearSum], size: int, follows: list[bool]) -> None:
    """Plain sums that are put together of the equations of one statement.

    Only equations over fewer cells count, so that nothing follows from itself in a circle.
    """
    families: dict[int, list[int]] = {}
    for place, total in enumerate(sums):
        if total.fixed and total.plain:
            for source in total.sources:
                families.setdefault(source, []).append(place)
    for places in families.values():
        label = np.full(size, -1, dtype=np.int64)
        for place in places:
            label[sums[place].cells] = place
        if (label >= 0).sum() < sum(len(sums[place].cells) for place in places):
            continue  # some of them overlap
        for place, total in enumerate(sums):
            if follows[place] or not total.plain or label[total.cells[0]] in (-1, place):
                continue
            members = np.unique(label[total.cells])
            if members[0] < 0 or len(members) < 2:
                continue
            if sum(len(sums[k].cells) for k in members.tolist()) == len(total.cells):
                _check(total, sum(sums[k].lower for k in members.tolist()))
                follows[place] = True


def _combinations(
    ordered: Sequence[LinearSum], equations: int, size: int
) -> Iterator[tuple[int, dict[int, Fraction]]]:
    """Sums that are combinations of the first `equations`, and which.

    Elimination modulo a prime proposes them; whole numbers decide.
    """
    from flint import nmod_mat

    dense = np.zeros((size, len(ordered)), dtype=np.int64)
    for column, total in enumerate(ordered):
        dense[total.cells, column] = total.factors % PRIME
    echelon, rank = nmod_mat(size, len(ordered), dense.ravel().tolist(), PRIME).rref()
    pivots: list[int] = []
    for column, total in enumerate(ordered):
        if len(pivots) < rank and int(echelon[len(pivots), column]) != 0:
            pivots.append(column)
            continue
        used = {pivot: _fraction(int(echelon[k, column])) for k, pivot in enumerate(pivots)}
        exact = {pivot: times for pivot, times in used.items() if times}
        if None in used.values() or any(pivot >= equations for pivot in exact):
            continue
        if _is_combination(total, [(ordered[k], times) for k, times in exact.items()]):
            yield column, exact


def _is_combination(target: LinearSum, used: Sequence[tuple[LinearSum, Fraction]]) -> bool:
    left: defaultdict[int, Fraction] = defaultdict(Fraction)
    for total, times in [(target, Fraction(1)), *((total, -times) for total, times in used)]:
        for cell, factor in zip(total.cells.tolist(), total.factors.tolist(), strict=True):
            left[cell] += times * factor
    return not any(left.values())


def _fraction(residue: int) -> Fraction | None:
    """The small fraction with this residue, if there is one (half of Euclid's algorithm)."""
    before, here = (PRIME, 0), (residue, 1)
    while here[0] >= LARGEST_FRACTION:
        times = before[0] // here[0]
        before, here = here, (before[0] - times * here[0], before[1] - times * here[1])
    if abs(here[1]) >= LARGEST_FRACTION:
        return None
    return Fraction(here[0], here[1])


def _check(total: LinearSum, value: Fraction | int) -> None:
    if Fraction(value).denominator != 1 or not total.allows(int(value)):
        raise InconsistentRelease("the published figures contradict each other")


@dataclass(frozen=True, slots=True, eq=False)
class Component:
    """Cells that hang together.

    Attributes
    ----------
    cells
        Their numbers in the domain (flat), ascending.
    lower, upper
        Their bounds.
    sums
        What is said of them, with cells numbered within the part; lists of values come last.
        Sums that follow from others are there too: they say nothing new, but show early that
        something cannot be completed.
    """

    cells: IntArray
    lower: IntArray
    upper: IntArray
    sums: tuple[LinearSum, ...]

    @property
    def signature(self) -> bytes:
        """The same for parts that differ only in which cells they are about."""
        arrays = [self.lower, self.upper]
        limits = []
        for total in self.sums:
            arrays += [total.cells, total.factors]
            limits.append((total.lower, total.upper, total.values and sorted(total.values)))
        return b"|".join([*(array.tobytes() for array in arrays), repr(limits).encode()])


@dataclass(frozen=True, slots=True, eq=False)
class Components:
    """The counts of cells that the release fixes (0 elsewhere), and the parts of the others."""

    fixed: IntArray
    components: tuple[Component, ...]


def components_of(release: Release, groups: Sequence[IntArray] = ()) -> Components:
    """Split a release into parts that have nothing to do with each other.

    The sums of some groups of cells are numbered as cells after those of the domain.

    Raises
    ------
    InconsistentRelease
        If the figures are seen to contradict each other. (They may still do so if they are not.)
    UnsupportedRelease
        If some cell has no upper limit.
    TooMuchWork
        If counts times coefficients could leave 64-bit integers.
    """
    system, full = limited_problem(release)
    full = _with_sums(full, groups) if groups else full
    origins = np.concatenate([system.statement, np.full(len(groups), -1, dtype=np.int64)])
    presolved = presolve(full)
    small, numbers = presolved.problem, presolved.cells
    counts = np.where(full.lower == full.upper, full.lower, 0)
    # Limits that exact programs found may be wider than those that propagation checked.
    widest = np.abs(small.coefficients.astype(float)) * small.upper[small.cells]
    if np.bincount(small.rows, widest, minlength=1).max() >= SAFE / 4:
        raise TooMuchWork(
            "counts times coefficients pass 64-bit integers; give a smaller upper limit of N"
        )
    sums = needed(merged(sums_of(small, origins)), small.lower, small.upper)
    return Components(counts, tuple(_split(sums, implied(sums, len(numbers)), small, numbers)))


def limited_problem(release: Release) -> tuple[System, Problem]:
    """The inequalities of a release, and its problem with an upper limit of every cell.

    Limits that follow from several rows together are found where propagation found none.

    Raises
    ------
    UnsupportedRelease
        If a cell has none.
    """
    system = compile_release(release)
    problem = make_problem(system, release.domain.size)
    # Lists say nothing here that rows do not say too.
    rows, upper = replace(problem, lists=()), problem.upper.copy()
    for cell in np.flatnonzero(upper == NO_UPPER).tolist():
        weights = np.zeros(len(upper), dtype=np.int64)
        weights[cell] = -1
        least = None if rows.grows_alone(cell) else exact_bound(rows, weights)
        if least is None:
            place = [int(level) for level in np.unravel_index(cell, release.domain.shape)]
            named = ", ".join(map(str, release.domain.labels(place)))
            raise UnsupportedRelease(
                f"the cell {named} has no upper limit, so there is no end of tables; give N or an "
                "upper limit of it, Total(upper=...)"
            )
        upper[cell] = -least
    if (upper < problem.lower).any():
        raise InconsistentRelease("the published figures leave a cell without any count")
    return system, replace(problem, upper=upper)


def _with_sums(problem: Problem, groups: Sequence[IntArray]) -> Problem:
    """The same with the sums of some groups as further cells, each with its equation."""
    size, nothing = len(problem.lower), np.zeros(len(groups), dtype=np.int64)
    members = [np.append(cells, size + place) for place, cells in enumerate(groups)]
    signs = [np.append(np.ones(len(cells), dtype=np.int64), -1) for cells in groups]
    ends = problem.starts[-1] + np.cumsum([len(each) for each in members])
    wider = replace(
        problem,
        lower=np.concatenate([problem.lower, nothing]),
        upper=np.concatenate([problem.upper, nothing + NO_UPPER]),
        starts=np.concatenate([problem.starts, ends]),
        cells=np.concatenate([problem.cells, *members]),
        coefficients=np.concatenate([problem.coefficients, *signs]),
        row_lower=np.concatenate([problem.row_lower, nothing]),
        row_upper=np.concatenate([problem.row_upper, nothing]),
        origin=np.concatenate([problem.origin, len(problem.origin) + np.arange(len(groups))]),
    )
    return narrowed(wider)


def _split(
    sums: list[LinearSum], follows: list[bool], small: Problem, numbers: IntArray
) -> list[Component]:
    """The parts, in the order of their first cells."""
    if not len(numbers):
        return []
    pairs = list(zip(sums, follows, strict=True))
    linking = [total.cells for total, implied_by in pairs if not implied_by]
    # Lists connect their cells like rows do.
    labels = replace(
        small,
        starts=np.cumsum([0, *map(len, linking)]),
        cells=np.concatenate([np.zeros(0, dtype=np.int64), *linking]),
        row_lower=np.zeros(len(linking), dtype=np.int64),
        lists=(),
    ).components()
    inside: dict[int, list[LinearSum]] = {}
    for total, implied_by in sorted(pairs, key=lambda pair: pair[0].values is not None):
        touched = labels[total.cells]
        if (touched == touched[0]).all() and (total.values is None or not implied_by):
            inside.setdefault(int(touched[0]), []).append(total)
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order])) + 1
    components = []
    for cells in np.split(order, starts):
        own = inside.get(int(cells[0]), [])
        about = (replace(total, cells=np.searchsorted(cells, total.cells)) for total in own)
        bounds = small.lower[cells], small.upper[cells]
        components.append(Component(numbers[cells], *bounds, tuple(about)))
    return components
