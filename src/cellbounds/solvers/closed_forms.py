"""A 2x2x2 table with all its two-way margins: one free number, so everything has a closed form.

Knowing the cell x at (1,1,1) fixes all others: each of the eight cells is x plus a constant, or a
constant minus x, by the parity of its place. None may be negative, which bounds x; every whole
number between is attained.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt

from cellbounds.data.table import Table
from cellbounds.errors import InconsistentRelease
from cellbounds.model.structure import Facts
from cellbounds.results.solution import Arrays, Query, Solution
from cellbounds.results.values import ValueSet
from cellbounds.statements import Margin, Release, Total


class TwoCubed:
    """The closed form that document 001 gives with wrong signs, put right."""

    name = "2x2x2 with all two-way margins"

    def refusal(self, facts: Facts, query: Query) -> str | None:
        """Needs exactly the three margins, exact, and a query about the cells."""
        if query.kind != "sharp":
            return "gives sharp bounds only"
        release = facts.release
        domain = release.domain
        if domain.shape != (2, 2, 2) or set(query.over) != set(domain.names):
            return "the table is not 2x2x2, or the question is not about its cells"
        pairs = {frozenset(pair) for pair in itertools.combinations(domain.names, 2)}
        margins = [s for s in release.statements if not isinstance(s, Total)]
        exact = all(
            isinstance(s, Margin) and s.exact and frozenset(s.variables) in pairs for s in margins
        )
        if not exact or {frozenset(s.variables) for s in margins} != pairs:
            return "the release is not just the three exact two-way margins"
        return None

    def solve(self, facts: Facts, query: Query) -> CubeSolution:
        """Find the range of the one free number."""
        return CubeSolution(facts.release, query)


class CubeSolution(Solution):
    """Cells as a constant plus or minus one free number."""

    method = TwoCubed.name

    def __init__(self, release: Release, query: Query) -> None:
        self._domain = domain = release.domain
        self.places = query.places(domain)
        faces = {}
        for statement in release.statements:
            if isinstance(statement, Margin):
                turned = sorted(statement.variables, key=domain.names.index)
                order = [statement.variables.index(name) for name in turned]
                faces[tuple(turned)] = np.transpose(statement.counts, order).astype(object)
        ab, ac, bc = (faces[pair] for pair in itertools.combinations(domain.names, 2))
        # The table with 0 in its first cell; entries may be negative.
        base = np.zeros((2, 2, 2), dtype=object)
        base[0, 0, 1], base[0, 1, 0], base[1, 0, 0] = ab[0, 0], ac[0, 0], bc[0, 0]
        base[0, 1, 1] = ab[0, 1] - base[0, 1, 0]
        base[1, 0, 1] = ab[1, 0] - base[1, 0, 0]
        base[1, 1, 0] = ac[1, 0] - base[1, 0, 0]
        base[1, 1, 1] = ab[1, 1] - base[1, 1, 0]
        signs = [(-1) ** sum(i) for i in np.ndindex(2, 2, 2)]
        self._sign = np.array(signs, dtype=object).reshape(2, 2, 2)
        self._base = base
        low = max(0, *(-int(n) for n in base[self._sign > 0]))
        high = min(int(n) for n in base[self._sign < 0])
        if low > high:
            raise InconsistentRelease("no table of counts has these three two-way margins")
        # Margins that disagree where they overlap, or with N: no table has all of them.
        table = self._cells(low)
        agree = all((table.sum(axis=2 - k) == face).all() for k, face in enumerate((ab, ac, bc)))
        if not agree or not release.total.allows(int(table.sum())):
            raise InconsistentRelease("the three two-way margins, or N, contradict each other")
        self._range = low, high
        self._axes = [domain.names.index(name) for name in query.over]

    def _cells(self, value: int) -> npt.NDArray[Any]:
        return np.asarray(self._base + self._sign * value)

    def bounds(self) -> Arrays:
        """Lower and upper bounds in the shape of the cells asked for."""
        ends = [
            self.places.picked(np.transpose(self._cells(value), self._axes))
            for value in self._range
        ]
        lower, upper = np.minimum(*ends), np.maximum(*ends)
        if max(upper.flat) < 2**62:
            return lower.astype(np.int64), upper.astype(np.int64)
        return lower, upper

    def values(self, index: tuple[int, ...]) -> ValueSet:
        """Every number between the bounds."""
        return ValueSet([(int(self.bound(index, 0)), int(self.bound(index, 1)), 1)])

    def witness(self, index: tuple[int, ...], value: int) -> Table:
        """The one table in which the cell holds `value`."""
        place = tuple(index[self._axes.index(axis)] for axis in range(3))
        free = self._sign[place] * (value - self._base[place])
        return Table(self._domain, self._cells(int(free)))
