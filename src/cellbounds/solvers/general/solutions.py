"""Any release: sharp bounds as far as the effort goes, exact linear ones, and checkpoints of both.

Bounds are kept in a checkpoint with what proved them, and are taken for proven when they are read.
Tables are checked in exact arithmetic, as tables of any origin are.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np

from cellbounds.data.table import Table
from cellbounds.errors import CellboundsError, TooMuchWork
from cellbounds.model.constraints import System, compile_release
from cellbounds.model.problem import make_problem, presolve
from cellbounds.model.structure import Facts
from cellbounds.model.targets import Targets, asked_about
from cellbounds.results.cell_index import Position
from cellbounds.results.evidence import Evidence, checked
from cellbounds.results.solution import Arrays, Constants, Query, RelaxedSolution, Solution
from cellbounds.results.values import UNBOUNDED, ValueSet
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.budget import Budget
from cellbounds.runtime.checkpoints import Checkpoint, damaged
from cellbounds.runtime.interrupts import Late
from cellbounds.solvers.general.attainable import SumValues, table_with, values_of, values_of_each
from cellbounds.solvers.general.constant_proofs import constant_steps, stated_sums
from cellbounds.solvers.general.exact_linear import ExactProgram
from cellbounds.solvers.general.search import Proof, Search
from cellbounds.solvers.general.strategy import begun, passes, settle_all, settle_one
from cellbounds.statements import Release
from cellbounds.statements.inequalities import NO_UPPER

Ends = tuple[Fraction, Fraction | None]
"""The least and the most of a sum; None: no end."""

EVERY = 1.0
"""Seconds between two lines, unless there is a reason to write at once."""


def part_of(release: Release, asked: Targets, kind: str) -> str:
    """A name for one question about one release, which parts of a larger one have too."""
    known = hashlib.sha256(json.dumps([kind, release.digest]).encode())
    for array in (asked.behind.starts, asked.behind.cells):
        known.update(np.ascontiguousarray(array, dtype=np.int64).tobytes())
    return known.hexdigest()[:24]


class _Lines:
    """The lines of a checkpoint that are about one question, each written after a while."""

    def __init__(self, checkpoint: Checkpoint, part: str) -> None:
        self._checkpoint, self._part = checkpoint, part
        self._last = time.monotonic()

    def read(self, take: Callable[[dict[str, Any]], None]) -> None:
        """Take over every line.

        Raises
        ------
        InvalidInput
            If the file holds something that cannot be about this question.
        """
        for entry in self._checkpoint.entries(self._part):
            try:
                take(entry)
            except (CellboundsError, LookupError, TypeError, ValueError, ArithmeticError):
                raise damaged(self._checkpoint.path, "a line") from None

    def due(self) -> bool:
        """Whether the last line was written long ago."""
        return time.monotonic() - self._last >= EVERY

    def write(self, entry: dict[str, list[Any]]) -> None:
        """Write a line, unless there is nothing in it."""
        if any(entry.values()):
            self._checkpoint.add(self._part, entry)
        self._last = time.monotonic()


class SearchCheckpoint:
    """What is written of one search: tables, bounds, and values that are settled."""

    def __init__(self, checkpoint: Checkpoint, search: Search) -> None:
        # The search is not kept: it holds this, and the file would stay open in a circle.
        self._lines = _Lines(checkpoint, part_of(search.release, search.asked, "sharp"))
        self._new: list[tuple[int, ValueSet]] = []
        self.values: dict[int, ValueSet] = {}
        self._lines.read(partial(self._take, search))
        self._note(search)

    def _note(self, search: Search) -> None:
        """Remember what is written, so that only what is new will be."""
        self._tables, self._new = len(search.pool), []
        self._proven, self._endless = search.proven.copy(), search.endless.copy()

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
            self.values[place] = ValueSet([tuple(progression) for progression in progressions])

    def keep(self, place: int, values: ValueSet) -> None:
        """Keep the values of one sum, if nothing about them is open."""
        if values.settled:
            self._new.append((place, values))

    def write(self, search: Search, now: bool) -> None:
        """Write what is new, at once or if the last time was long ago."""
        if not now and not self._lines.due():
            return
        pool, improved = search.pool, np.argwhere(search.proven != self._proven).tolist()
        tables = [pool.packed(k) for k in range(self._tables, len(pool))]
        self._lines.write({
            "tables": [[where if where is None else where.tolist(), counts.tolist()]
                       for where, counts in tables],
            "bounds": [[place, side, int(search.proven[side, place]),
                        int(search.proofs[side, place])] for side, place in improved],
            "endless": np.flatnonzero(search.endless & ~self._endless).tolist(),
            "values": [[place, values.to_list()] for place, values in self._new],
        })  # fmt: skip
        self._note(search)


MOST_CELLS = 5_000_000
"""Cells of the largest domain that is laid out in full."""


MANY_CELLS = 2_000
"""Cells from which on it is proven for all of them at once which are known exactly."""


class GeneralSharp:
    """Propagation, linear programs with safe dual bounds, integer walks, integer programs."""

    name = "integer search"
    kind = "sharp"

    def refusal(self, facts: Facts, query: Query) -> str | None:
        """Takes every release that fits into memory."""
        if query.kind != self.kind:
            return f"gives {self.kind} bounds only"
        size = facts.release.domain.size
        if size > MOST_CELLS:
            return f"the domain has {size} cells; this method lays out at most {MOST_CELLS}"
        return None

    def solve(self, facts: Facts, query: Query) -> Solution:
        """Compile and propagate; the rest follows when asked for."""
        return GeneralSolution(facts.release, query)


class GeneralLinear(GeneralSharp):
    """The linear relaxation of any release, in exact fractions."""

    name = "exact linear programs"
    kind = "linear"

    def solve(self, facts: Facts, query: Query) -> Solution:
        """Set up the relaxation."""
        return GeneralLinearSolution(facts.release, query)


class GeneralSolution(Solution):
    """Answers of a search that goes on as more is asked for."""

    method = GeneralSharp.name

    def __init__(self, release: Release, query: Query) -> None:
        self._release = release
        self._query = query
        self.places = query.places(release.domain)
        self.search = Search(release, query.over, query.cells)
        self._all = False
        self.search.undecided = query.undecided
        self._values: dict[int, SumValues] = {}
        self._checkpoint: SearchCheckpoint | None = None
        if isinstance(query.budget.checkpoint, Checkpoint):
            self._checkpoint = SearchCheckpoint(query.budget.checkpoint, self.search)
            self.search.write = self._checkpoint.write
            self._values = {k: SumValues(v, ()) for k, v in self._checkpoint.values.items()}
        if query.start is not None and not len(self.search.pool):
            self.search.start_from(query.start.counts.ravel().astype(np.int64))

    @cached_property
    def _system(self) -> System:
        """For checking witnesses, of which a certificate has thousands."""
        return compile_release(self._release)

    def settle(self) -> None:
        """Settle every bound as far as the effort goes."""
        if not self._all:
            # What was proven and attained so far holds, wherever the search was stopped.
            with suppress(Late), self._writing():
                settle_all(self.search, self._bounds_budget())
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
            self.search.keep(now=True)

    def bounds(self) -> Arrays:
        """Proven bounds in the shape of the cells asked for."""
        self.settle()
        return self._laid_out(self.search.proven)

    def _laid_out(self, ends: IntArray) -> Arrays:
        """Lower and upper ends in the shape of the cells asked for."""
        low, high = ends
        open_top = self.search.endless | (high == NO_UPPER)
        if open_top.any():
            high = high.astype(object)
            high[open_top] = UNBOUNDED
        return self.places.laid_out(low).copy(), self.places.laid_out(high).copy()

    @property
    def evidence(self) -> Evidence:
        """EXACT once every bound is attained."""
        return Evidence.OUTER if self.search.open_bounds().any() else Evidence.EXACT

    def attained(self) -> Arrays | None:
        """What the tables found attain."""
        self.settle()
        if self.evidence is Evidence.EXACT:
            return None
        if not len(self.search.pool):
            nothing = np.full(self.places.shape, None, dtype=object)
            return nothing, nothing.copy()
        return self._laid_out(self.search.pool.ends)

    def bound(self, index: Position, side: int) -> Any:
        """One bound, or None if the effort did not settle it."""
        place, search = self.places.number(index), self.search
        if not search.settled(place, side):
            with self._writing():
                settle_one(search, place, side, self._query.budget)
        if not search.settled(place, side):
            return None
        endless = side == 1 and search.endless[place]
        return UNBOUNDED if endless else int(search.proven[side, place])

    def possible(self) -> bool | None:
        """Whether a table was found."""
        with suppress(Late):  # the whole may have an answer without
            return begun(self.search, self._query.budget) or None
        return None

    def forces(self, index: Position, side: int, value: int) -> bool | None:
        """Whether nothing beyond a value is attainable, by the cheapest proof or table."""
        return passes(self.search, (self.places.number(index), side), value)

    def values(self, index: Position) -> ValueSet:
        """Every attainable count of one cell."""
        return self._sum_values(self.places.number(index)).values

    def gather(self, indices: Iterable[Position]) -> None:
        """Find the values of many cells at once, with whoever helps, for `values` to give."""
        if self.search.undecided is not None:
            # Whoever asks for values wants more than what was enough to decide something.
            self.search.undecided, self._all = None, False
        self.settle()
        places = dict.fromkeys(map(self.places.number, indices))
        wanted = [place for place in places if place not in self._values]
        with self._writing():
            for place, values in values_of_each(self.search, wanted, self._query.budget):
                self._keep(place, values)

    def _keep(self, place: int, values: SumValues) -> None:
        self._values[place] = values
        if self._checkpoint is not None:
            self._checkpoint.keep(place, values.values)

    def _sum_values(self, place: int) -> SumValues:
        if place not in self._values:
            with self._writing():
                self._keep(place, values_of(self.search, place, self._query.budget))
        return self._values[place]

    def witness(self, index: Position, value: int) -> Table:
        """A consistent table in which the cell holds `value`, checked in exact arithmetic."""
        counts = self._counts_with(self.places.number(index), value)
        table = Table(self._release.domain, counts.reshape(self._release.domain.shape))
        return checked(self._release, table, self._query.over, index, value, self._system)

    def _counts_with(self, place: int, value: int) -> IntArray:
        pool = self.search.pool
        for side in (0, 1):
            if len(pool) and pool.ends[side, place] == value:
                return pool.nearest(place, side)
        known = self._sum_values(place)
        counts = known.table_with(value)
        if counts is None and value in known.values.known:
            counts = table_with(self.search, place, value, self._query.budget.left)
        if counts is None:
            raise TooMuchWork(
                "no table with this count was found within the budget; give more seconds"
            )
        return counts

    def constants(self, budget: Budget) -> Constants | None:
        """Which of many single cells are known exactly, with steps that prove it."""
        search, count = self.search, self.places.size
        cells = search.asked.behind
        if count < MANY_CELLS or self.evidence is Evidence.EXACT or not len(search.pool):
            return None
        problem = stated_sums(self._system, self._release.domain.size)
        if problem is None or (cells.widths[:count] != 1).any():
            return None
        members = cells.cells[cells.starts[:count]]
        same = (search.proven[0] == search.proven[1])[:count]
        moving = (search.pool.ends[0] != search.pool.ends[1])[:count]
        first, tables = search.pool.at(0), list[IntArray]()
        left = moving.copy()
        for number in range(1, len(search.pool)):
            table = search.pool.at(number)
            differs = table[members] != first[members]
            if (left & differs).any():
                tables.append(table)
                left &= ~differs
        claimed = np.zeros(len(first), dtype=bool)
        claimed[members[same]] = True
        steps, proven = constant_steps(problem, first, claimed, budget.left)
        known = same & proven[members]
        origin = np.stack([self._system.statement, self._system.figure], axis=1)
        return Constants(
            known=np.flatnonzero(known),
            told=np.flatnonzero(same & ~known),
            moving=np.flatnonzero(moving),
            tables=(first, *tables),
            starts=steps.starts,
            figures=origin[steps.rows],
            times=steps.times,
        )

    def proof(self, index: Position, side: int) -> str:
        """What proved the bound."""
        return Proof.NAMES[int(self.search.proofs[side, self.places.number(index)])]


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
        self._labels = small.components()
        self._programs = {
            label: (np.flatnonzero(near), ExactProgram(small.restricted(near)))
            for label in np.unique(self._labels).tolist()
            for near in [self._labels == label]
        }
        # The ends of each sum that are known, and those of them that are not written yet.
        self._ends: dict[int, Ends] = {}
        self._new: list[list[Any]] = []
        self._lines: _Lines | None = None
        if isinstance(query.budget.checkpoint, Checkpoint):
            part = part_of(release, self._asked, "linear")
            self._lines = _Lines(query.budget.checkpoint, part)
            self._lines.read(self._take)

    def _take(self, entry: dict[str, Any]) -> None:
        """Take over a line of a checkpoint: None stands for no end."""
        for place, low, high in entry["ends"]:
            self._ends[place] = Fraction(low), None if high is None else Fraction(high)

    def _write(self, *, now: bool) -> None:
        if self._lines is not None and self._new and (now or self._lines.due()):
            self._lines.write({"ends": self._new})
            self._new = []

    def bounds(self) -> Arrays:
        """Lower and upper bounds as fractions: optima, or what propagation proves."""
        if self._bounds is None:
            try:
                self._bounds = self._optima()
            finally:
                self._write(now=True)
        return self._bounds

    def attained(self) -> Arrays | None:
        """The optima where there are some; None instead if all are."""
        proven = self.bounds()
        settled = np.array([place in self._ends for place in range(self.places.size)])
        if settled.all():
            return None
        known = self.places.laid_out(settled)
        low, high = (np.where(known, side, np.full(known.shape, None)) for side in proven)
        return low, high

    def _optima(self) -> Arrays:
        self._check_feasible()
        size = self.places.size
        ends = np.empty((2, size), dtype=object)
        for place in range(size):
            low, high = self._optimum(place) or self._outer(place)
            ends[:, place] = low, UNBOUNDED if high is None else high
            self._budget.say(place + 1, size)
        return self.places.laid_out(ends[0]), self.places.laid_out(ends[1])

    def _check_feasible(self) -> None:
        """Every part must have a table of real numbers, whether it is asked about or not."""
        for cells, program in self._programs.values():
            if self._budget.spent:
                return
            with suppress(TooMuchWork):
                program.least(np.zeros(len(cells), dtype=np.int64), self._budget.deadline)

    def _optimum(self, place: int) -> Ends | None:
        """The least and the most of one sum; None if the effort was spent."""
        if place not in self._ends and not self._budget.spent:
            with suppress(TooMuchWork):
                low, high = self._least(place, 1), self._least(place, -1)
                ends = Fraction(0) if low is None else low, None if high is None else -high
                self._ends[place] = ends
                self._new.append([place, *(end if end is None else str(end) for end in ends)])
                self._write(now=False)
        return self._ends.get(place)

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

    def _outer(self, place: int) -> Ends:
        """What is proven of a sum without any program."""
        members = self._asked.members(place)
        tops = self._full.upper[members].tolist()
        high = None if NO_UPPER in tops else Fraction(sum(tops))
        return Fraction(sum(self._full.lower[members].tolist())), high
