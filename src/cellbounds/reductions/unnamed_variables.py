"""Variables that no statement is about are left out before any method sees a release.

Those that the question does not name either change nothing but the tables. A cell over a variable
that is only asked about holds anything from nobody to all those of the cell without it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cellbounds.data.domain import Domain
from cellbounds.data.table import Table
from cellbounds.results.cell_index import ChosenCells, Position
from cellbounds.results.evidence import Evidence
from cellbounds.results.solution import Arrays, Query, Solution
from cellbounds.results.values import Unbounded, ValueSet
from cellbounds.results.witnesses import checked
from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.statements import Release

__all__ = ["Narrowed", "narrowed_question"]


@dataclass(frozen=True, slots=True, eq=False)
class Narrowed:
    """A release and a question over fewer variables, and the way back.

    `axes` says which axes of the margin asked about are still asked about.
    """

    whole: Release
    asked: Query
    release: Release
    question: Query
    axes: tuple[int, ...]

    def widened(self, worked: Solution) -> Solution:
        """The answer to the whole question."""
        return worked if self.release is self.whole else ExpandedSolution(self, worked)


def narrowed_question(release: Release, question: Query) -> Narrowed:
    """Leave out what no statement is about; if that is nothing, all stays as it is."""
    domain = release.domain
    named = set(release.named_variables)
    # A derived variable may overlap itself: what is behind it stays.
    derived = {domain.base(name) for name in question.over if name not in domain}
    kept = named | derived
    if not kept:
        kept = {question.over[0]}  # a domain has at least one variable
    if len(kept) == len(domain.names):
        return Narrowed(release, question, release, question, tuple(range(len(question.over))))
    axes = tuple(k for k, name in enumerate(question.over) if domain.base(name) in kept)
    narrow = release.restricted(kept)
    effort = question.effort
    if effort.start is not None:
        effort = effort.for_part(effort.start.margin(*narrow.domain.names))
    cells = question.cells
    if cells is not None:
        shorter = dict.fromkeys(tuple(cell[k] for k in axes) for cell in cells)
        cells = tuple(shorter) if axes else None
    fewer = replace(
        question, over=tuple(question.over[k] for k in axes), effort=effort, cells=cells
    )
    return Narrowed(release, question, narrow, fewer, axes)


class ExpandedSolution:
    """The work on a narrowed question, for those who asked the whole one."""

    def __init__(self, narrowed: Narrowed, worked: Solution) -> None:
        self._narrowed, self._worked = narrowed, worked
        domain, asked = narrowed.whole.domain, narrowed.asked
        self._places = asked.places(domain)
        self._free = [name for name in domain.names if name not in narrowed.release.domain]
        # Whether a cell shares its people with others that differ in free variables only.
        self._loose = any(len(domain.levels(n)) > 1 for n in asked.over if n in self._free)
        self._sets: dict[Position, ValueSet] = {}  # shared by all cells of a wider cell

    @property
    def evidence(self) -> Evidence:
        """As the work on fewer variables found."""
        return self._worked.evidence

    def settle(self) -> None:
        """Settle the cells over fewer variables."""
        self._worked.settle()

    def bounds(self) -> Arrays:
        """Lower and upper bounds; a loose cell may always be empty."""
        return self._spread(self._worked.bounds())

    def attained(self) -> Arrays | None:
        """The same of what tables attain."""
        found = self._worked.attained()
        return None if found is None else self._spread(found)

    def _spread(self, arrays: Arrays) -> Arrays:
        """From the cells over fewer variables to those asked about."""
        narrowed = self._narrowed
        low, high = arrays
        if self._loose:
            emptied = [one if one is None else type(one)(0) for one in low.ravel().tolist()]
            low = np.array(emptied, dtype=low.dtype).reshape(low.shape)
        if isinstance(self._places, ChosenCells):
            inner = narrowed.question.places(narrowed.release.domain)
            numbers = [inner.number(self._inner(cell)) for cell in self._places]
            return np.ravel(low)[numbers], np.ravel(high)[numbers]
        lengths = [1] * len(narrowed.asked.over)
        for axis, length in zip(narrowed.axes, low.shape, strict=True):
            lengths[axis] = length
        lower, upper = (
            np.array(np.broadcast_to(array.reshape(lengths), self._places.shape), order="C")
            for array in (low, high)
        )
        return lower, upper

    def _inner(self, index: Position) -> Position:
        return tuple(index[axis] for axis in self._narrowed.axes)

    def bound(self, index: Position, side: int) -> Any:
        """One bound, or None if it could not be settled."""
        if side == 0 and self._loose:
            return 0 if self.possible() else None
        return self._worked.bound(self._inner(index), side)

    def possible(self) -> bool | None:
        """Whether there is a consistent table."""
        return self._worked.possible()

    def forces(self, index: Position, side: int, value: int) -> bool | None:
        """Whether nothing beyond a value is attainable."""
        if side == 0 and self._loose:
            return True if value <= 0 else False if self.possible() else None
        return self._worked.forces(self._inner(index), side, value)

    def values(self, index: Position) -> ValueSet:
        """Every attainable count: whoever is in the wider cell may be in this one, or not."""
        inner = self._inner(index)
        if inner not in self._sets:
            self._sets[inner] = self._widened(self._worked.values(inner))
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
        inner = self._inner(index)
        held = value
        if self._loose:
            # The wider cell must hold at least this many; the least such count will do.
            held = _least_from(self._worked.values(inner).known, value)
        table = self._completed(self._worked.witness(inner, held), index, value)
        narrowed = self._narrowed
        return checked(narrowed.whole, table, narrowed.asked.over, index, value)

    def _completed(self, part: Table, index: Position, value: int) -> Table:
        """Put everybody of a table over fewer variables somewhere on the free ones."""
        narrowed = self._narrowed
        domain = narrowed.whole.domain
        places, counts = part.cells()
        at = dict(zip(narrowed.asked.over, index, strict=True))
        here = {name: at.get(name, 0) for name in self._free}
        away = self._elsewhere(here) if self._loose else here
        inside = self._inside(part.domain, places, index)
        # Who is in the wider cell fills this one first; everybody else stays away from it.
        kept = np.zeros_like(counts)
        kept[inside] = _first(counts[inside], value)
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
            domain, np.concatenate(lines), np.concatenate([kept, counts - kept])
        )

    def _inside(self, domain: Domain, places: IntArray, index: Position) -> BoolArray:
        """Which cells of a table are in the cell over fewer variables."""
        held = np.ones(len(places), dtype=bool)
        over = self._narrowed.question.over
        for name, level in zip(over, self._inner(index), strict=True):
            derived = domain.grouping(name)
            if derived is None:
                held &= places[:, domain.axis(name)] == level
            else:
                held &= np.isin(places[:, domain.axis(derived[0])], derived[1][level])
        return held

    def _elsewhere(self, here: dict[str, int]) -> dict[str, int]:
        """Another place on the free variables than the one asked about."""
        domain, over = self._narrowed.whole.domain, self._narrowed.asked.over
        name = next(n for n in self._free if n in over and len(domain.levels(n)) > 1)
        return here | {name: 1 if here[name] == 0 else 0}

    def proof(self, index: Position, side: int, /) -> str:
        """What proved the bound."""
        return self._worked.proof(self._inner(index), side)


def _first(amounts: IntArray, total: int) -> npt.NDArray[Any]:
    """The first of some amounts, up to a total."""
    reached = np.minimum(np.cumsum(amounts), total)
    return np.diff(reached, prepend=np.zeros(1, dtype=amounts.dtype))


def _least_from(values: ValueSet, least: int) -> int:
    """The smallest member that is not below a number."""
    found = []
    for first, last, step in values.progressions:
        member = first if first >= least else first + -(-(least - first) // step) * step
        if last is None or member <= last:
            found.append(member)
    return min(found)
