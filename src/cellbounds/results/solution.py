"""What every method looks like to the chooser."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol

import numpy.typing as npt

from cellbounds.data.domain import Domain
from cellbounds.data.table import Table
from cellbounds.errors import InvalidInput
from cellbounds.model.effort import Effort
from cellbounds.model.structure import Facts
from cellbounds.results.cell_index import CellIndex, Position, cell_index_of
from cellbounds.results.evidence import Evidence
from cellbounds.results.values import ValueSet
from cellbounds.statements import Release

__all__ = ["Arrays", "Ask", "ExactSolution", "Method", "Query", "RelaxedSolution", "Solution"]


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked about a release: which kind of bounds, over which variables.

    `cells` are the positions of some cells of that margin; None if all are asked about.
    """

    kind: str
    over: tuple[str, ...]
    effort: Effort = field(default_factory=Effort)
    cells: tuple[Position, ...] | None = None

    def places(self, domain: Domain) -> CellIndex:
        """The cells asked about."""
        return cell_index_of(tuple(len(domain.levels(name)) for name in self.over), self.cells)


Arrays = tuple[npt.NDArray[Any], npt.NDArray[Any]]


class Solution(Protocol):
    """A method at work on one release and question.

    Bounds are arrays with a spot for each cell asked about; single cells are named by their
    position in the margin (see :mod:`cellbounds.results.cell_index`).
    """

    @property
    def evidence(self) -> Evidence:
        """What stands behind the bounds: EXACT if all are attained, else OUTER."""
        ...

    def settle(self) -> None:
        """Do the work that all cells share, as far as the effort allows."""
        ...

    def bounds(self) -> Arrays:
        """Proven lower and upper bounds in the shape of the cells asked for."""
        ...

    def attained(self) -> Arrays | None:
        """The smallest and largest counts that a table attains (None: no table known).

        None instead of arrays if all bounds are attained, or none can be.
        """
        ...

    def bound(self, index: tuple[int, ...], side: int) -> Any:
        """One bound (side 0: lower, 1: upper), or None if it could not be settled."""
        ...

    def possible(self) -> bool | None:
        """Whether there is a consistent table; None if that was not settled.

        Raises InconsistentRelease if there is none.
        """
        ...

    def forces(self, index: tuple[int, ...], side: int, value: int) -> bool | None:
        """Whether nothing below (side 0) or above (side 1) a value is attainable.

        None if that was not decided in reasonable time.
        """
        ...

    def values(self, index: tuple[int, ...]) -> ValueSet:
        """Every attainable count of one cell."""
        ...

    def witness(self, index: tuple[int, ...], value: int) -> Table:
        """A consistent table in which the cell holds `value`."""
        ...

    def proof(self, index: tuple[int, ...], side: int, /) -> str:
        """What proved a bound: a closed form, a dual vector, a solver."""
        ...


class ExactSolution:
    """What methods share that settle every bound at once."""

    evidence = Evidence.EXACT
    _proof = "closed form"
    _found: Arrays | None = None
    _places: CellIndex

    def settle(self) -> None:
        """It was done at once."""

    def bounds(self) -> Arrays:
        """Lower and upper bounds in the shape of the cells asked for."""
        raise NotImplementedError

    def attained(self) -> Arrays | None:
        """None: every bound is attained, or none can be."""
        return None

    def possible(self) -> bool:
        """There is a table: these methods find out at once."""
        return True

    def bound(self, index: tuple[int, ...], side: int) -> Any:
        """One bound."""
        if self._found is None:
            self._found = self.bounds()
        return self._found[side][self._places.spot(index)]

    def forces(self, index: tuple[int, ...], side: int, value: int) -> bool:
        """Compare with the bound."""
        bound = self.bound(index, side)
        return bool(bound >= value if side == 0 else bound <= value)

    def proof(self, _index: tuple[int, ...], _side: int, /) -> str:
        """The method's own argument: one proves every bound, so it does not matter which."""
        return self._proof


class RelaxedSolution(ExactSolution):
    """What methods share whose bounds are not of whole numbers: OUTER for tables of counts."""

    evidence = Evidence.OUTER

    def values(self, index: tuple[int, ...]) -> NoReturn:
        """The relaxation has no attainable counts."""
        raise InvalidInput(f"every count of the cell at {index}: {NO_TABLES}")

    def witness(self, index: tuple[int, ...], value: int) -> NoReturn:
        """The relaxation has no tables of counts."""
        raise InvalidInput(f"a table with {value} in the cell at {index}: {NO_TABLES}")


NO_TABLES = "these bounds need not be attained by tables of counts; ask for kind='sharp'"

Ask = Callable[[Release, Query], Solution]
"""Answers a question about a part of a release, by whichever method fits."""


class Method(Protocol):
    """One mathematics: answers the releases and questions that fit it."""

    name: str

    def refusal(self, facts: Facts, question: Query) -> str | None:
        """Why the method does not apply, or None if it does."""
        ...

    def work(self, facts: Facts, question: Query) -> Solution:
        """Set to work on a question that was not refused."""
        ...
