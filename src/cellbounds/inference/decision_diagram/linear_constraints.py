"""Sums of cells between limits, or among listed values, each written in one way only.

Sums that follow from equations: combinations of them, checked in whole numbers.

What a sum has to remember while its cells are placed one after the other.

After some of its cells a sum is known in part: s. What matters of s is which totals of the other
cells would still do. If no total can fall short any more and none can be too large, all such s are
the same, and are written as one. Values of s that cannot be completed are left out.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from cellbounds.errors import InconsistentRelease
from cellbounds.model.problem import Problem
from cellbounds.runtime.arrays import BoolArray, IntArray
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
        factors = -factors
        lower = NO_LOWER if upper == NO_UPPER else -upper
        upper = NO_UPPER if total.lower == NO_LOWER else -total.lower
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
        if total.lower <= least and most <= total.upper and total.values is None:
            continue
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


class PartialSums(NamedTuple):
    """One sum after 0, 1, ... of its cells, in the order in which they are placed.

    Attributes
    ----------
    places
        When its cells are placed, ascending.
    factors
        Their factors.
    low, high
        Partial sums that can be reached and completed; a stage with low > high has none.
    same, more
        Partial sums from ``low + same`` to ``low + same + more`` are all alike.
    rest_least, rest_most
        The least and the most that the cells not placed yet give.
    """

    places: IntArray
    factors: IntArray
    low: IntArray
    high: IntArray
    same: IntArray
    more: IntArray
    rest_least: IntArray
    rest_most: IntArray

    @property
    def width(self) -> IntArray:
        """How many partial sums are told apart."""
        return np.asarray(self.high - self.low + 1 - self.more)

    @property
    def limits(self) -> tuple[IntArray, ...]:
        """Low, high, same and more."""
        return self.low, self.high, self.same, self.more

    def allowed(self, stage: int, values: frozenset[int]) -> BoolArray:
        """Which partial sums leave one of the listed values within reach of the other cells."""
        partial = np.arange(int(self.low[stage]), int(self.high[stage]) + 1)
        listed = np.array(sorted(values), dtype=np.int64)
        after = np.searchsorted(listed, partial + self.rest_least[stage])
        nearest = listed[np.minimum(after, len(listed) - 1)]
        return np.asarray((after < len(listed)) & (nearest <= partial + self.rest_most[stage]))


def partial_sums(total: LinearSum, rank: IntArray, lower: IntArray, upper: IntArray) -> PartialSums:
    """The stages of a sum whose cells are placed in the order of `rank`."""
    order = np.argsort(rank[total.cells], kind="stable")
    factors, cells = total.factors[order], total.cells[order]
    places = rank[cells]
    first, second = factors * lower[cells], factors * upper[cells]
    least = np.concatenate([[0], np.cumsum(np.minimum(first, second))])
    most = np.concatenate([[0], np.cumsum(np.maximum(first, second))])
    rest_least, rest_most = least[-1] - least, most[-1] - most
    low = least if total.lower == NO_LOWER else np.maximum(least, total.lower - rest_most)
    high = most if total.upper == NO_UPPER else np.minimum(most, total.upper - rest_least)
    safe_low = low if total.lower == NO_LOWER else np.maximum(low, total.lower - rest_least)
    safe_high = high if total.upper == NO_UPPER else np.minimum(high, total.upper - rest_most)
    alike = safe_low <= safe_high
    if total.values is not None:
        alike[:-1] = False
    same = np.where(alike, safe_low - low, 0)
    more = np.where(alike, safe_high - safe_low, 0)
    return PartialSums(places, factors, low, high, same, more, rest_least, rest_most)
