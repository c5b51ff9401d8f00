"""Any release: sharp bounds as far as the effort goes, exact linear ones, and checkpoints of both.

Bounds are kept in a checkpoint with what proved them, and are taken for proven when they are read.
Tables are checked in exact arithmetic, as tables of any origin are.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from cellbounds.data.table import Table
from cellbounds.errors import CellboundsError, TooMuchWork
from cellbounds.model.constraints import NO_UPPER, System, compile_release
from cellbounds.model.problem import make_problem, presolve
from cellbounds.model.structure import Facts
from cellbounds.model.targets import Targets, asked_about
from cellbounds.results.evidence import Evidence, checked
from cellbounds.results.solution import Arrays, Query, RelaxedSolution, Solution
from cellbounds.results.values import UNBOUNDED, ValueSet
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.budget import Budget
from cellbounds.runtime.checkpoints import Checkpoint, damaged
from cellbounds.solvers.general.attainable import SumValues, table_with, values_of, values_of_each
from cellbounds.solvers.general.exact_linear import ExactProgram
from cellbounds.solvers.general.search import Proof, Search
from cellbounds.solvers.general.strategy import begun, passes, settle_all, settle_one
from cellbounds.statements import Release

__all__ = ["GeneralLinear", "GeneralSharp", "part_of"]

EVERY = 1.0
"""Seconds between two lines, unless there is a reason to write at once."""


def part_of(release: Release, asked: Targets, kind: str) -> str:
    """A name for one question about one release, which parts of a larger one have too."""
    known = hashlib.sha256(json.dumps([kind, release.digest]).encode())
    for one in (asked.behind.starts, asked.behind.cells):
        known.update(np.ascontiguousarray(one, dtype=np.int64).tobytes())
    return known.hexdigest()[:24]


class SearchCheckpoint:
    """The lines of a checkpoint that are about one search."""

    def __init__(self, checkpoint: Checkpoint, search: Search) -> None:
        """Read what there is into the search.

        Raises
        ------
        InvalidInput
            If the file holds something that cannot be about this search.
        """
        # The search is not kept: it holds this, and the file would stay open in a circle.
        self._checkpoint = checkpoint
        self._part = part_of(search.release, search.asked, "sharp")
        self._new: list[tuple[int, ValueSet]] = []
        self.values: dict[int, ValueSet] = {}
        for entry in checkpoint.entries(self._part):
            try:
                self._take(search, entry)
            except (CellboundsError, KeyError, IndexError, TypeError, ValueError, OverflowError):
                raise damaged(checkpoint.path, "a line") from None
        self._note(search)

    def _note(self, search: Search) -> None:
        """Remember what is written, so that only what is new will be."""
        self._tables, self._last = len(search.pool), time.monotonic()
        self._low, self._high = search.low.copy(), search.high.copy()
        self._endless = search.endless.copy()

    def _take(self, search: Search, entry: dict[str, Any]) -> None:
        """Take over one line: tables first, since bounds are compared with them."""
        size = search.asked.size
        for where, counts in entry["tables"]:
            table = np.zeros(len(search.full.lower), dtype=np.int64)
            at = slice(None) if where is None else np.array(where, dtype=np.int64)
            table[at] = np.array(counts, dtype=np.int64)
            search.start_from(table)
        for place, side, value, proof in entry["bounds"]:
            if not (0 <= place < size and side in (0, 1) and 0 <= proof < len(Proof.NAMES)):
                raise IndexError
            search.prove(place, side, value, proof)
        search.endless[np.array(entry["endless"], dtype=np.int64)] = True
        for place, progressions in entry["values"]:
            if not 0 <= place < size:
                raise IndexError
            self.values[place] = ValueSet([tuple(one) for one in progressions])

    def found(self, place: int, values: ValueSet) -> None:
        """Keep the values of one sum, if nothing about them is open."""
        if values.settled and place not in self.values:
            self.values[place] = values
            self._new.append((place, values))

    def write(self, search: Search, now: bool) -> None:
        """Write what is new, at once or if the last time was long ago."""
        if not now and time.monotonic() - self._last < EVERY:
            return
        pool = search.pool
        bounds = [
            [int(place), side, int(proven[place]), int(search.proofs[side, place])]
            for side, proven, known in ((0, search.low, self._low), (1, search.high, self._high))
            for place in np.flatnonzero(proven != known)
        ]
        entry = {
            "tables": [_plain(pool.packed(k)) for k in range(self._tables, len(pool))],
            "bounds": bounds,
            "endless": np.flatnonzero(search.endless & ~self._endless).tolist(),
            "values": [[place, values.to_list()] for place, values in self._new],
        }
        if any(entry.values()):
            self._checkpoint.add(self._part, entry)
        self._new = []
        self._note(search)


class FractionCheckpoint:
    """The lines of a checkpoint that are about exact linear bounds."""

    def __init__(self, checkpoint: Checkpoint, release: Release, asked: Targets) -> None:
        """Read what there is: the ends of each sum, None for one without end."""
        self._checkpoint = checkpoint
        self._part = part_of(release, asked, "linear")
        self._last = time.monotonic()
        self._new: list[list[Any]] = []
        self.found: dict[int, tuple[Fraction, Fraction | None]] = {}
        for entry in checkpoint.entries(self._part):
            try:
                for place, low, high in entry["ends"]:
                    end = None if high is None else Fraction(high)
                    self.found[place] = Fraction(low), end
            except (KeyError, TypeError, ValueError, ZeroDivisionError):
                raise damaged(checkpoint.path, "a line") from None

    def add(self, place: int, ends: tuple[Fraction, Fraction | None]) -> None:
        """Keep the ends of one sum."""
        self.found[place] = ends
        low, high = ends
        self._new.append([place, str(low), None if high is None else str(high)])
        self.write(now=False)

    def write(self, *, now: bool) -> None:
        """Write what is new, at once or if the last time was long ago."""
        if self._new and (now or time.monotonic() - self._last >= EVERY):
            self._checkpoint.add(self._part, {"ends": self._new})
            self._new, self._last = [], time.monotonic()


def _plain(packed: tuple[IntArray | None, IntArray]) -> list[Any]:
    where, counts = packed
    return [None if where is None else where.tolist(), counts.tolist()]


MOST_CELLS = 5_000_000
"""Cells of the largest domain that is laid out in full."""


def _too_large(facts: Facts) -> str | None:
    size = facts.release.domain.size
    if size > MOST_CELLS:
        return f"the domain has {size} cells; this method lays out at most {MOST_CELLS}"
    return None


class GeneralSharp:
    """Propagation, linear programs with safe dual bounds, integer walks, integer programs."""

    name = "integer search"

    def refusal(self, facts: Facts, query: Query) -> str | None:
        """Takes every release that fits into memory."""
        if query.kind != "sharp":
            return "gives sharp bounds only"
        return _too_large(facts)

    def solve(self, facts: Facts, query: Query) -> GeneralSolution:
        """Compile and propagate; the rest follows when asked for."""
        return GeneralSolution(facts.release, query)


class GeneralSolution(Solution):
    """Answers of a search that goes on as more is asked for."""

    method = GeneralSharp.name

    def __init__(self, release: Release, query: Query) -> None:
        self._release = release
        self._query = query
        self.places = query.places(release.domain)
        self._search = Search(release, query.over, query.cells)
        self._all = False
        self._values: dict[int, SumValues] = {}
        # For checking witnesses, of which a certificate has thousands.
        self._system: System | None = None
        state = query.budget.checkpoint
        self._checkpoint = (
            SearchCheckpoint(state, self._search) if isinstance(state, Checkpoint) else None
        )
        if self._checkpoint is not None:
            self._search.write = self._checkpoint.write
            self._values = {k: SumValues(one, ()) for k, one in self._checkpoint.values.items()}
        if query.start is not None and not len(self._search.pool):
            self._search.start_from(query.start.counts.ravel().astype(np.int64))

    @property
    def search(self) -> Search:
        """The search, for those who want to know how it went."""
        return self._search

    def settle(self) -> None:
        """Settle every bound as far as the effort goes."""
        if not self._all:
            with self._writing():
                settle_all(self._search, self._bounds_budget())
            self._all = True

    def _bounds_budget(self) -> Budget:
        early = self._query.early
        if early is None:
            return self._query.budget
        return self._query.budget.share(most=max(0.0, early - time.monotonic()))

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Whatever happens, what was found is kept if that is wanted."""
        try:
            yield
        finally:
            self._search.keep(now=True)

    def bounds(self) -> Arrays:
        """Proven bounds in the shape of the cells asked for."""
        self.settle()
        search = self._search
        high = self._plain(np.where(search.endless, NO_UPPER, search.high))
        return self.places.laid_out(search.low).copy(), high

    def _plain(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        open_top = values == NO_UPPER
        if open_top.any():
            values = values.astype(object)
            values[open_top] = UNBOUNDED
        return self.places.laid_out(values).copy()

    @property
    def evidence(self) -> Evidence:
        """EXACT once every bound is attained."""
        low, high = self._search.open_bounds()
        return Evidence.OUTER if low.any() or high.any() else Evidence.EXACT

    def attained(self) -> Arrays | None:
        """What the tables found attain."""
        self.bounds()
        search = self._search
        if self.evidence is Evidence.EXACT:
            return None
        if not len(search.pool):
            nothing = np.full(self.places.shape, None, dtype=object)
            return nothing, nothing.copy()
        high = self._plain(np.where(search.endless, NO_UPPER, search.pool.most))
        return self.places.laid_out(search.pool.least).copy(), high

    def _place(self, index: tuple[int, ...]) -> int:
        return self.places.number(index)

    def bound(self, index: tuple[int, ...], side: int) -> Any:
        """One bound, or None if the effort did not settle it."""
        place = self._place(index)
        if not self._search.settled(place, side):
            with self._writing():
                settle_one(self._search, place, side, self._query.budget)
        if not self._search.settled(place, side):
            return None
        if side == 1 and self._search.endless[place]:
            return UNBOUNDED
        return int((self._search.high if side else self._search.low)[place])

    def possible(self) -> bool | None:
        """Whether a table was found."""
        return begun(self._search, self._query.budget) or None

    def forces(self, index: tuple[int, ...], side: int, value: int) -> bool | None:
        """Whether nothing beyond a value is attainable, by the cheapest proof or table."""
        return passes(self._search, (self._place(index), side), value)

    def values(self, index: tuple[int, ...]) -> ValueSet:
        """Every attainable count of one cell."""
        return self._sum_values(self._place(index)).values

    def gather(self, indices: Iterable[tuple[int, ...]]) -> None:
        """Find the values of many cells at once, with whoever helps, for `values` to give."""
        self.settle()
        places = dict.fromkeys(self._place(index) for index in indices)
        wanted = [place for place in places if place not in self._values]
        with self._writing():
            for place, found in values_of_each(self._search, wanted, self._query.budget):
                self._found(place, found)

    def _found(self, place: int, values: SumValues) -> None:
        self._values[place] = values
        if self._checkpoint is not None:
            self._checkpoint.found(place, values.values)

    def _sum_values(self, place: int) -> SumValues:
        if place not in self._values:
            with self._writing():
                self._found(place, values_of(self._search, place, self._query.budget))
        return self._values[place]

    def witness(self, index: tuple[int, ...], value: int) -> Table:
        """A consistent table in which the cell holds `value`, checked in exact arithmetic."""
        place = self._place(index)
        counts = self._counts_with(place, value)
        table = Table(self._release.domain, counts.reshape(self._release.domain.shape))
        if self._system is None:
            self._system = compile_release(self._release)
        return checked(self._release, table, self._query.over, index, value, self._system)

    def _counts_with(self, place: int, value: int) -> npt.NDArray[Any]:
        search = self._search
        if len(search.pool):
            for side, reached in ((0, search.pool.least), (1, search.pool.most)):
                if reached[place] == value:
                    return search.pool.nearest(place, side)
        known = self._sum_values(place)
        counts = known.table_with(value)
        if counts is None and value in known.values.known:
            counts = table_with(search, place, value, self._query.budget.left)
        if counts is None:
            raise TooMuchWork(
                "no table with this count was found within the budget; give more seconds"
            )
        return counts

    def proof(self, index: tuple[int, ...], side: int) -> str:
        """What proved the bound."""
        return Proof.NAMES[int(self._search.proofs[side, self._place(index)])]


class GeneralLinear:
    """The linear relaxation of any release, in exact fractions."""

    name = "exact linear programs"

    def refusal(self, facts: Facts, query: Query) -> str | None:
        """Takes every release that fits into memory."""
        if query.kind != "linear":
            return "gives linear bounds only"
        return _too_large(facts)

    def solve(self, facts: Facts, query: Query) -> GeneralLinearSolution:
        """Set up the relaxation."""
        return GeneralLinearSolution(facts.release, query)


class GeneralLinearSolution(RelaxedSolution):
    """Exact optima of the relaxation, as far as the effort goes."""

    method = GeneralLinear.name

    def __init__(self, release: Release, query: Query) -> None:
        self.places = query.places(release.domain)
        self._asked = asked_about(release.domain, query.over, query.cells)
        self._budget = query.budget
        size = release.domain.size
        self._full = make_problem(compile_release(release, closed=True), size, real=True)
        presolved = presolve(self._full)
        small, self._numbers = presolved.problem, presolved.cells
        # Cells that have nothing to do with each other have programs of their own.
        labels = small.components()
        self._programs: dict[int, tuple[IntArray, ExactProgram]] = {}
        for label in np.unique(labels).tolist():
            near = labels == label
            part = ExactProgram(small.restricted(near))
            self._programs[label] = np.flatnonzero(near), part
        self._labels = labels
        self._settled = np.zeros(self.places.size, dtype=bool)
        state = query.budget.checkpoint
        self._checkpoint = (
            FractionCheckpoint(state, release, self._asked)
            if isinstance(state, Checkpoint)
            else None
        )

    def bounds(self) -> Arrays:
        """Lower and upper bounds as fractions: optima, or what propagation proves."""
        if self._bounds is None:
            try:
                self._bounds = self._optima()
            finally:
                if self._checkpoint is not None:
                    self._checkpoint.write(now=True)
        return self._bounds

    def attained(self) -> Arrays | None:
        """The optima where there are some; None instead if all are."""
        proven = self.bounds()
        if self._settled.all():
            return None
        known = self.places.laid_out(self._settled)
        low, high = (np.where(known, side, np.full(known.shape, None)) for side in proven)
        return low, high

    def _optima(self) -> Arrays:
        size = self.places.size
        lower, upper = np.empty(size, dtype=object), np.empty(size, dtype=object)
        self._check_feasible()
        for place in range(size):
            ends = self._ends(place)
            self._settled[place] = ends is not None
            low, high = self._outer(place) if ends is None else ends
            lower[place], upper[place] = low, UNBOUNDED if high is None else high
            self._budget.say(place + 1, size)
        return self.places.laid_out(lower), self.places.laid_out(upper)

    def _check_feasible(self) -> None:
        """Every part must have a table of real numbers, whether it is asked about or not."""
        for cells, program in self._programs.values():
            if self._budget.spent:
                return
            with suppress(TooMuchWork):
                program.least(np.zeros(len(cells), dtype=np.int64), self._budget.deadline)

    def _ends(self, place: int) -> tuple[Fraction, Fraction | None] | None:
        """The least and the most of one sum (None: no end); None if the effort was spent."""
        if self._checkpoint is not None and place in self._checkpoint.found:
            return self._checkpoint.found[place]
        if self._budget.spent:
            return None
        try:
            low, high = self._least(place, 1), self._least(place, -1)
        except TooMuchWork:
            return None
        ends = Fraction(0) if low is None else low, None if high is None else -high
        if self._checkpoint is not None:
            self._checkpoint.add(place, ends)
        return ends

    def _least(self, place: int, sign: int) -> Fraction | None:
        """The least of a sum times a sign, program by program."""
        members = self._asked.members(place)
        free = self._full.lower[members] < self._full.upper[members]
        total = Fraction(sign * int(self._full.lower[members[~free]].sum()))
        weights = np.zeros(len(self._numbers), dtype=np.int64)
        np.add.at(weights, np.searchsorted(self._numbers, members[free]), sign)
        for label in np.unique(self._labels[weights != 0]).tolist():
            cells, program = self._programs[label]
            least = program.least(weights[cells], self._budget.deadline)
            if least is None:
                return None
            total += least
        return total

    def _outer(self, place: int) -> tuple[Fraction, Fraction | None]:
        """What is proven of a sum without any program."""
        members = self._asked.members(place)
        tops = self._full.upper[members].tolist()
        high = None if NO_UPPER in tops else Fraction(sum(tops))
        return Fraction(sum(self._full.lower[members].tolist())), high
