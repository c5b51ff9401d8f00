"""What solvers and reductions look like to the chooser, and what every solution can be asked."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn, Protocol

import numpy as np
import numpy.typing as npt

from cellbounds.data.domain import Domain
from cellbounds.data.table import Table
from cellbounds.errors import InvalidInput
from cellbounds.model.structure import Facts
from cellbounds.results.cell_index import CellIndex, Position
from cellbounds.results.evidence import Evidence
from cellbounds.results.values import UNBOUNDED, ValueSet
from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.runtime.budget import Budget
from cellbounds.statements import Release

Undecided = Callable[[IntArray, IntArray], tuple[BoolArray, bool]]
"""Which of the cells asked about, in their order, need more than is proven and attained of them;
and whether the whole is decided anyway, so that nothing dear need be done for them.

Both arguments have a line for lower and one for upper ends; NO_UPPER stands for no end.
"""


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked about a release: which kind of bounds, over which variables.

    `cells` are the positions of some cells of that margin; None if all are asked about. `start` is
    a consistent table that is known already, such as the owner's. Bounds should be ready by the
    time `early`, so that something of the budget is left for what follows. `undecided` says which
    cells need more, if bounds that decide something are enough.
    """

    kind: str
    over: tuple[str, ...]
    budget: Budget = field(default_factory=Budget)
    cells: tuple[Position, ...] | None = None
    start: Table | None = None
    early: float | None = None
    undecided: Undecided | None = None

    def about(
        self, domain: Domain, over: tuple[str, ...], cells: tuple[Position, ...] | None
    ) -> Query:
        """The query for a part of the table, over the variables of a smaller domain."""
        start = None if self.start is None else self.start.margin(domain.names)
        return replace(self, over=over, cells=cells, start=start, undecided=None)

    def places(self, domain: Domain) -> CellIndex:
        """The cells asked about."""
        if self.cells is not None:
            return CellIndex(chosen=self.cells)
        return CellIndex(tuple(len(domain.levels(name)) for name in self.over))

    def figures(self, domain: Domain) -> IntArray:
        """The same as places in the margin, laid out flat."""
        shape = tuple(len(domain.levels(name)) for name in self.over)
        if self.cells is None:
            return np.arange(math.prod(shape))
        chosen = tuple(np.array(self.cells, dtype=np.int64).reshape(-1, len(shape)).T)
        return np.asarray(np.ravel_multi_index(chosen, shape))


Arrays = tuple[npt.NDArray[Any], npt.NDArray[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Constants:
    """Which of many cells are known exactly, and why.

    Attributes
    ----------
    known, told, moving
        Places of the cells asked about that hold the same count in every table: proven by the
        steps, or by a solver; and of those that tables differ in.
    tables
        Tables that fit (flat, over the domain): every cell that moves differs among them.
    starts, figures, times
        Steps: combinations of published figures, each a statement and a figure of it (see
        `solvers.general.constant_proofs`).
    """

    known: IntArray
    told: IntArray
    moving: IntArray
    tables: tuple[IntArray, ...]
    starts: IntArray
    figures: IntArray
    times: IntArray


class Solution:
    """A solver at work on one release and query; by default one that settles every bound at once.

    Bounds are arrays with a spot for each cell asked about; single cells are named by their
    position in the margin (see :mod:`cellbounds.results.cell_index`).
    """

    method: str
    places: CellIndex
    _proof = "closed form"
    _bounds: Arrays | None = None

    @property
    def evidence(self) -> Evidence:
        """What stands behind the bounds: EXACT if all are attained, else OUTER."""
        return Evidence.EXACT if self.attained() is None else Evidence.OUTER

    def settle(self) -> None:
        """Do the work that all cells share, as far as the effort allows."""

    def bounds(self) -> Arrays:
        """Proven lower and upper bounds in the shape of the cells asked for."""
        raise NotImplementedError

    def attained(self) -> Arrays | None:
        """The smallest and largest counts that a table attains (None: no table known).

        None instead of arrays if all bounds are attained, or none can be.
        """
        return None

    def bound(self, index: Position, side: int) -> Any:
        """One bound (side 0: lower, 1: upper), or None if it could not be settled."""
        if self._bounds is None:
            self._bounds = self.bounds()
        return self._bounds[side][self.places.spot(index)]

    def possible(self) -> bool | None:
        """Whether there is a consistent table; None if that was not settled.

        Raises InconsistentRelease if there is none.
        """
        return True

    def forces(self, index: Position, side: int, value: int) -> bool | None:
        """Whether nothing below (side 0) or above (side 1) a value is attainable.

        None if that was not decided in reasonable time.
        """
        bound = self.bound(index, side)
        if bound is None:
            return None
        return bool(bound >= value if side == 0 else bound <= value)

    def values(self, index: Position) -> ValueSet:
        """Every attainable count of one cell."""
        raise NotImplementedError

    def gather(self, indices: Iterable[Position]) -> None:
        """Find the values of many cells at once, with whoever helps, where that pays."""

    def witness(self, index: Position, value: int) -> Table:
        """A consistent table in which the cell holds `value`, checked in exact arithmetic."""
        raise NotImplementedError

    def another(self, _level: int, /) -> Table | None:
        """A table that fits and differs in many cells from those of other levels, if one is known.

        Levels count from 1; whoever uses the table checks it.
        """
        return None

    def constants(self, _budget: Budget, /) -> Constants | None:
        """Which cells are known exactly, if that was asked of many; None otherwise."""
        return None

    def proof(self, _index: Position, _side: int, /) -> str:
        """What proved a bound: a closed form, a dual vector, a solver."""
        return self._proof


class RelaxedSolution(Solution):
    """What solvers share whose bounds are not of whole numbers: OUTER for tables of counts."""

    evidence = Evidence.OUTER

    def values(self, index: Position) -> NoReturn:
        """The relaxation has no attainable counts."""
        raise InvalidInput(f"every count of the cell at {index}: {NO_TABLES}")

    def witness(self, index: Position, value: int) -> NoReturn:
        """The relaxation has no tables of counts."""
        raise InvalidInput(f"a table with {value} in the cell at {index}: {NO_TABLES}")


class Unsolved(Solution):
    """What is known before anything was worked out: every count of every cell may be attainable."""

    method = "none"
    evidence = Evidence.OUTER

    def __init__(self, places: CellIndex) -> None:
        self.places = places

    def bounds(self) -> Arrays:
        """From 0 on, without end."""
        shape = self.places.shape
        return np.zeros(shape, dtype=np.int64), np.full(shape, UNBOUNDED, dtype=object)

    def attained(self) -> Arrays:
        """No table is known."""
        nothing = np.full(self.places.shape, None, dtype=object)
        return nothing, nothing.copy()

    def values(self, _index: Position, /) -> ValueSet:
        """Any count."""
        return ValueSet([], unknown=[(0, None, 1)])


NO_TABLES = "these bounds need not be attained by tables of counts; ask for kind='sharp'"


class Solver(Protocol):
    """One mathematics: answers the releases and queries that fit it."""

    name: str

    def refusal(self, facts: Facts, query: Query) -> str | None:
        """Why the solver does not apply, or None if it does."""
        ...

    def solve(self, facts: Facts, query: Query) -> Solution:
        """Set to work on a query that was not refused."""
        ...


class Reduced(Protocol):
    """What a reduction left to be solved, and the way back."""

    @property
    def parts(self) -> Sequence[tuple[Release, Query]]:
        """Smaller releases, with what is asked about them."""
        ...

    def invert(self, solutions: Sequence[Solution]) -> Solution:
        """The solution of the whole from those of the parts, in their order."""
        ...


class Reduction(Protocol):
    """Makes a release and a query smaller before any solver sees them."""

    name: str

    def refusal(self, facts: Facts, query: Query) -> str | None:
        """Why nothing can be left out, or None if something can."""
        ...

    def apply(self, facts: Facts, query: Query) -> Reduced:
        """Leave it out, of a query that was not refused."""
        ...
