"""Sums of cells between limits, or among listed values, each written in one way only."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from cellbounds.errors import InconsistentRelease
from cellbounds.model.constraints import NO_LOWER, NO_UPPER
from cellbounds.model.problem import Problem
from cellbounds.runtime.arrays import IntArray

__all__ = ["Sum", "merged", "needed", "problem_of", "sums_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Sum:
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


def sums_of(problem: Problem, statements: IntArray | None = None) -> list[Sum]:
    """The rows and lists of a problem; `statements` says where the system's rows are from."""
    found = []
    for row in range(len(problem.row_lower)):
        inside = slice(problem.starts[row], problem.starts[row + 1])
        source = () if statements is None else (int(statements[problem.origin[row]]),)
        found.append(
            Sum(
                problem.cells[inside],
                problem.coefficients[inside],
                int(problem.row_lower[row]),
                int(problem.row_upper[row]),
                sources=frozenset(source),
            )
        )
    for cells, values in problem.lists:
        ones = np.ones(len(cells), dtype=np.int64)
        found.append(Sum(cells, ones, min(values), max(values), values))
    return found


def merged(sums: Iterable[Sum]) -> list[Sum]:
    """Sums over the same cells as one.

    Raises
    ------
    InconsistentRelease
        If nothing is left for a sum.
    """
    found: dict[bytes, Sum] = {}
    for one in sums:
        one = _normal(one)
        key = one.cells.tobytes() + one.factors.tobytes()
        known = found.get(key)
        found[key] = _checked(one if known is None else _both(known, one))
    return list(found.values())


def _normal(one: Sum) -> Sum:
    """Cells ascending, factors in lowest terms, the first one positive."""
    order = np.argsort(one.cells, kind="stable")
    cells, factors = one.cells[order].astype(np.int64), one.factors[order].astype(np.int64)
    lower, upper = one.lower, one.upper
    if int(factors[0]) < 0:
        assert one.values is None
        factors = -factors
        lower = NO_LOWER if upper == NO_UPPER else -upper
        upper = NO_UPPER if one.lower == NO_LOWER else -one.lower
    shared = math.gcd(*factors.tolist())
    if shared > 1:
        factors //= shared
        lower = lower if lower == NO_LOWER else -(-lower // shared)
        upper = upper if upper == NO_UPPER else upper // shared
    return replace(one, cells=cells, factors=factors, lower=lower, upper=upper)


def _both(one: Sum, other: Sum) -> Sum:
    values = one.values if other.values is None else other.values
    if one.values is not None and other.values is not None:
        values = one.values & other.values
    return replace(
        one,
        lower=max(one.lower, other.lower),
        upper=min(one.upper, other.upper),
        values=values,
        sources=one.sources | other.sources,
    )


def _checked(one: Sum) -> Sum:
    """Limits and listed values brought together."""
    lower, upper, values = one.lower, one.upper, one.values
    if values is not None:
        values = frozenset(value for value in values if lower <= value <= upper)
        lower, upper = min(values, default=1), max(values, default=0)
        if len(values) == upper - lower + 1:
            values = None
    if lower > upper:
        raise InconsistentRelease("the published figures contradict each other")
    return replace(one, lower=lower, upper=upper, values=values)


def needed(sums: Iterable[Sum], lower: IntArray, upper: IntArray) -> list[Sum]:
    """The sums that cells between these bounds could break.

    Raises
    ------
    InconsistentRelease
        If a sum cannot hold.
    """
    kept = []
    for one in sums:
        least, most = one.ends(lower, upper)
        if least > one.upper or most < one.lower:
            raise InconsistentRelease("the published figures contradict each other")
        if one.lower <= least and most <= one.upper and one.values is None:
            continue
        kept.append(one)
    return kept


def problem_of(sums: Iterable[Sum], lower: IntArray, upper: IntArray) -> Problem:
    """Cells between bounds, and sums over them, as a problem."""
    listed = [one for one in sums if one.values is not None]
    rows = [one for one in sums if one.values is None]
    empty = np.zeros(0, dtype=np.int64)
    return Problem(
        lower,
        upper,
        np.cumsum([0, *(len(one.cells) for one in rows)]),
        np.concatenate([empty, *(one.cells for one in rows)]),
        np.concatenate([empty, *(one.factors for one in rows)]),
        np.array([one.lower for one in rows], dtype=np.int64),
        np.array([one.upper for one in rows], dtype=np.int64),
        np.arange(len(rows)),
        tuple((one.cells, one.values) for one in listed if one.values is not None),
    )
