"""Every statement as inequalities with integer coefficients over integer cells.

Open ends need no special treatment: over the integers ``a x > 0`` is ``a x >= 1``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cellbounds.arrays import SAFE, IntArray
from cellbounds.domain import Domain
from cellbounds.releases import Conditional, Margin, Prior, Release, Statement, Total

__all__ = ["Inequality", "System", "ValueList", "compile_release"]


@dataclass(frozen=True, slots=True, eq=False)
class Inequality:
    """Sum of coefficients times cells is at least `bound`; `statement` says where it is from."""

    cells: IntArray
    coefficients: IntArray
    bound: int
    statement: int

    def holds(self, counts: IntArray) -> bool:
        """Whether counts (flat, over the domain) satisfy it."""
        return int((self.coefficients * counts[self.cells]).sum()) >= self.bound


@dataclass(frozen=True, slots=True, eq=False)
class ValueList:
    """The sum of some cells is one of the listed numbers."""

    cells: IntArray
    values: frozenset[int]
    statement: int

    def holds(self, counts: IntArray) -> bool:
        """Whether counts (flat, over the domain) satisfy it."""
        return int(counts[self.cells].sum()) in self.values


@dataclass(frozen=True, slots=True, eq=False)
class System:
    """All constraints of a release; cells are numbered over the domain, all at least zero."""

    release: Release
    inequalities: tuple[Inequality, ...]
    lists: tuple[ValueList, ...]


def compile_release(release: Release) -> System:
    """Compile every statement of a release."""
    inequalities: list[Inequality] = []
    lists: list[ValueList] = []
    for place, statement in enumerate(release.statements):
        for constraint in _compile(statement, release.domain, place):
            if isinstance(constraint, ValueList):
                lists.append(constraint)
            else:
                inequalities.append(constraint)
    return System(release, tuple(inequalities), tuple(lists))


def _compile(statement: Statement, domain: Domain, place: int) -> Iterator[Inequality | ValueList]:
    match statement:
        case Total():
            yield from _between(np.arange(domain.size), statement.lower, statement.upper, place)
        case Margin() | Prior():
            known = statement.known(domain)
            groups = margin_cells(domain, statement.variables)
            for flat, cells in enumerate(groups):
                upper = int(known.upper.flat[flat])
                yield from _between(
                    cells, int(known.lower.flat[flat]), None if upper < 0 else upper, place
                )
                if flat in known.values:
                    yield ValueList(cells, frozenset(known.values[flat]), place)
        case Conditional():
            yield from _rates(statement, domain, place)


def _between(cells: IntArray, lower: int, upper: int | None, place: int) -> Iterator[Inequality]:
    ones = np.ones(len(cells), dtype=np.int64)
    if lower > 0:
        yield Inequality(cells, ones, lower, place)
    if upper is not None:
        yield Inequality(cells, -ones, -upper, place)


def _rates(statement: Conditional, domain: Domain, place: int) -> Iterator[Inequality]:
    ends = statement.intervals
    rows, columns = ends.low.shape
    groups = margin_cells(domain, statement.variables).reshape(rows, columns, -1)
    wide = ends.low.dtype == object or int(ends.scale.max()) >= 2**31
    for i in range(rows):
        cells = groups[i].ravel()
        ones = np.ones(len(cells), dtype=np.int64)
        if ends.zero[i]:
            yield Inequality(cells, -ones, 0, place)
            continue
        yield Inequality(cells, ones, 1, place)
        ones = ones.astype(object) if wide else ones
        scale, parts = int(ends.scale[i]), groups.shape[2]
        for j in range(columns):
            inside = slice(j * parts, (j + 1) * parts)
            above = ones * -int(ends.low[i, j])
            above[inside] += scale
            yield Inequality(cells, above, int(ends.low_open[i, j]), place)
            below = ones * int(ends.high[i, j])
            below[inside] -= scale
            yield Inequality(cells, below, int(ends.high_open[i, j]), place)


def margin_cells(domain: Domain, names: tuple[str, ...]) -> IntArray:
    """The cells (numbered over the domain) behind each cell of a margin, one line each."""
    assert domain.size < SAFE
    axes = list(domain.axes(names))
    rest = [axis for axis in range(len(domain.shape)) if axis not in axes]
    numbered = np.arange(domain.size).reshape(domain.shape).transpose([*axes, *rest])
    lines = int(np.prod([domain.shape[axis] for axis in axes], dtype=np.int64))
    return np.asarray(numbered.reshape(lines, -1))
