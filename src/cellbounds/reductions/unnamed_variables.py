"""Variables that no statement is about are left out before any method sees a release.

Those that the question does not name either change nothing but the tables. A cell over a variable
that is only asked about holds anything from nobody to all those of the cell without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cellbounds.data.domain import Domain
from cellbounds.data.table import Table
from cellbounds.model.structure import Facts
from cellbounds.reductions.named_tables import first_of
from cellbounds.results.cell_index import Position
from cellbounds.results.evidence import Evidence, checked
from cellbounds.results.solution import Arrays, Query, Solution
from cellbounds.results.values import Unbounded, ValueSet
from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.statements import Release


class UnnamedVariables:
    """Eliminates the variables that no statement is about."""

    name = "variables that no statement names"

    def refusal(self, facts: Facts, query: Query) -> str | None:
        """Nothing to say if every variable is named."""
        domain = facts.release.domain
        return "" if len(_kept(facts.release, query)) == len(domain.names) else None

    def apply(self, facts: Facts, query: Query) -> Eliminated:
        """The same statements and query over the variables that are named."""
        release, domain = facts.release, facts.release.domain
        names = _kept(release, query)
        axes = tuple(k for k, name in enumerate(query.over) if domain.base(name) in names)
        smaller = release.restricted(names)
        cells = query.cells
        if cells is not None:
            shorter = dict.fromkeys(tuple(cell[k] for k in axes) for cell in cells)
            cells = tuple(shorter) if axes else None
        fewer = query.about(smaller.domain, tuple(query.over[k] for k in axes), cells)
        return Eliminated(release, query, smaller, fewer, axes)


def _kept(release: Release, query: Query) -> set[str]:
    """The variables that matter: a derived variable may overlap itself, so its base stays."""
    domain = release.domain
    derived = {domain.base(name) for name in query.over if name not in domain}
    # A domain has at least one variable.
    return {*release.named_variables, *derived} or {query.over[0]}


@dataclass(frozen=True, slots=True, eq=False)
class Eliminated:
    """A release and a query over fewer variables, and the way back.

    `axes` says which axes of the margin asked about are still asked about.
    """

    whole: Release
    asked: Query
    release: Release
    query: Query
    axes: tuple[int, ...]

    @property
    def parts(self) -> list[tuple[Release, Query]]:
        """The one that is left."""
        return [(self.release, self.query)]

    def invert(self, solutions: Sequence[Solution]) -> ExpandedSolution:
        """The answer to the whole query."""
        (solution,) = solutions
        return ExpandedSolution(self, solution)


class ExpandedSolution(Solution):
    """The solution of a smaller query, for those who asked the whole one."""

    def __init__(self, reduced: Eliminated, solution: Solution) -> None:
        self._reduced, self._inner = reduced, solution
        self.method = solution.method
        domain, about = reduced.whole.domain, reduced.asked
        self.places = about.places(domain)
        self._free = [name for name in domain.names if name not in reduced.release.domain]
        # Whether a cell shares its people with others that differ in free variables only.
        self._loose = any(len(domain.levels(n)) > 1 for n in about.over if n in self._free)
        self._sets: dict[Position, ValueSet] = {}  # shared by all cells of a wider cell

    @property
    def evidence(self) -> Evidence:
        """As the work on fewer variables found."""
        return self._inner.evidence

    def settle(self) -> None:
        """Settle the cells over fewer variables."""
        self._inner.settle()

    def bounds(self) -> Arrays:
        """Lower and upper bounds; a loose cell may always be empty."""
        return self._spread(self._inner.bounds())

    def attained(self) -> Arrays | None:
        """The same of what tables attain."""
        attained = self._inner.attained()
        return None if attained is None else self._spread(attained)

    def _spread(self, arrays: Arrays) -> Arrays:
        """From the cells over fewer variables to those asked about."""
        reduced = self._reduced
        low, high = arrays
        if self._loose:
            emptied = [low if low is None else type(low)(0) for low in low.ravel().tolist()]
            low = np.array(emptied, dtype=low.dtype).reshape(low.shape)
        if self.places.chosen is not None:
            numbers = [self._inner.places.number(self._inner_index(cell)) for cell in self.places]
            return np.ravel(low)[numbers], np.ravel(high)[numbers]
        lengths = [1] * len(reduced.asked.over)
        for axis, length in zip(reduced.axes, low.shape, strict=True):
            lengths[axis] = length
        lower, upper = (
            np.array(np.broadcast_to(array.reshape(lengths), self.places.shape), order="C")
            for array in (low, high)
        )
        return lower, upper

    def _inner_index(self, index: Position) -> Position:
        return tuple(index[axis] for axis in self._reduced.axes)

    def bound(self, index: Position, side: int) -> Any:
        """One bound, or None if it could not be settled."""
        if side == 0 and self._loose:
            return 0 if self.possible() else None
        return self._inner.bound(self._inner_index(index), side)

    def possible(self) -> bool | None:
        """As over fewer variables."""
        return self._inner.possible()

    def forces(self, index: Position, side: int, value: int) -> bool | None:
        """Whether nothing beyond a value is attainable."""
        if side == 0 and self._loose:
            return True if value <= 0 else False if self.possible() else None
        return self._inner.forces(self._inner_index(index), side, value)

    def values(self, index: Position) -> ValueSet:
        """Every attainable count: whoever is in the wider cell may be in this one, or not."""
        inner = self._inner_index(index)
        if inner not in self._sets:
            self._sets[inner] = self._widened(self._inner.values(inner))
        return self._sets[inner]

    def _widened(self, values: ValueSet) -> ValueSet:
        if not self._loose:
            return values
        top = values.known.largest if values.progressions else -1
        if isinstance(top, Unbounded):
            return ValueSet([(0, None, 1)])
        known = [(0, top, 1)] if top >= 0 else []
        beyond = values.possible.largest
        if beyond == top:
            return ValueSet(known)
        end = None if isinstance(beyond, Unbounded) else beyond
        return ValueSet(known, unknown=[(top + 1, end, 1)])

    def witness(self, index: Position, value: int) -> Table:
        """A consistent table in which the cell holds `value`, checked in exact arithmetic."""
        inner = self._inner_index(index)
        held = value
        if self._loose:
            # The wider cell must hold at least this many; the least such count will do.
            held = self._inner.values(inner).known.between(value, None).smallest
        table = self._completed(self._inner.witness(inner, held), index, value)
        reduced = self._reduced
        return checked(reduced.whole, table, reduced.asked.over, index, value)

    def another(self, level: int, /) -> Table | None:
        """As over fewer variables, with everybody somewhere on the free ones."""
        part = self._inner.another(level)
        first = (0,) * len(self._reduced.asked.over)
        return None if part is None else self._completed(part, first, 0)

    def _completed(self, part: Table, index: Position, value: int) -> Table:
        """Put everybody of a table over fewer variables somewhere on the free ones."""
        reduced = self._reduced
        domain = reduced.whole.domain
        places, counts = part.cells()
        at = dict(zip(reduced.asked.over, index, strict=True))
        here = {name: at.get(name, 0) for name in self._free}
        away = self._elsewhere(here) if self._loose else here
        inside = self._inside(part.domain, places, index)
        # Who is in the wider cell fills this one first; everybody else stays away from it.
        moved = np.zeros_like(counts)
        moved[inside] = first_of(counts[inside], value)
        lines = []
        for spot in (here, away):
            columns = []
            for name in domain.names:
                if name in spot:
                    columns.append(np.full(len(counts), spot[name], dtype=np.int64))
                else:
                    columns.append(places[:, part.domain.axis(name)])
            lines.append(np.column_stack(columns))
        return Table.from_cells(
            domain, np.concatenate(lines), np.concatenate([moved, counts - moved])
        )

    def _inside(self, domain: Domain, places: IntArray, index: Position) -> BoolArray:
        """Which cells of a table are in the cell over fewer variables."""
        held = np.ones(len(places), dtype=bool)
        over = self._reduced.query.over
        for name, level in zip(over, self._inner_index(index), strict=True):
            derived = domain.grouping(name)
            if derived is None:
                held &= places[:, domain.axis(name)] == level
            else:
                held &= np.isin(places[:, domain.axis(derived[0])], derived[1][level])
        return held

    def _elsewhere(self, here: dict[str, int]) -> dict[str, int]:
        """Another place on the free variables than the one asked about."""
        domain, over = self._reduced.whole.domain, self._reduced.asked.over
        name = next(n for n in self._free if n in over and len(domain.levels(n)) > 1)
        return here | {name: 1 if here[name] == 0 else 0}

    def proof(self, index: Position, side: int, /) -> str:
        """What proved the bound."""
        return self._inner.proof(self._inner_index(index), side)
