"""Settling bounds: what is proven meets what is attained, by the cheapest means first."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from cellbounds.errors import CellboundsError, InconsistentRelease, InvalidInput, TooMuchWork
from cellbounds.model.constraints import compile_release
from cellbounds.model.linear_programs import INTERIOR, LinearProgram
from cellbounds.model.problem import TOO_WIDE, WIDEST, make_problem, presolve
from cellbounds.model.splitting import SplitBound, SumBound
from cellbounds.model.targets import asked_about
from cellbounds.results.solution import Undecided
from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.runtime.budget import Budget
from cellbounds.runtime.devices import device_of
from cellbounds.solvers.general.constant_sums import (
    ConstantSums,
    connected,
    constant_sums,
    dependent_rows,
)
from cellbounds.solvers.general.cp_sat import Found, IntegerProgram
from cellbounds.solvers.general.exact_linear import dual_bound, exact_bound, exactly_feasible
from cellbounds.solvers.general.hypercubes import Guide, Walker, moves_of
from cellbounds.solvers.general.null_walk import tables_around
from cellbounds.solvers.general.pool import Excerpt, TablePool
from cellbounds.solvers.general.repairs import moved_cells
from cellbounds.solvers.general.single_questions import Solvers
from cellbounds.statements import Release
from cellbounds.statements.inequalities import NO_UPPER

SIGNS = (1, -1)
"""A lower bound (side 0) is the least of a sum, an upper one (side 1) that of its negative."""


ABOVE_ALL = 20_000
"""Weight of one bound when all are pushed; the others have 1 to 97."""


MANY = 300
"""Cells left from which on all of them at once are cheaper than one by one."""


PART = 1_000
"""Cells of a part of a first table, if there are several."""


class Proof:
    """What proved a bound, as small numbers for arrays."""

    PROPAGATION, DUAL, SOLVER, ELIMINATION = 0, 1, 2, 3
    NAMES = ("propagation", "dual", "solver", "elimination")


class Narrowing(NamedTuple):
    """What elimination found of a presolved problem: cells that are constant, and needless rows."""

    cells: IntArray
    counts: IntArray
    needless: BoolArray


class Standing(NamedTuple):
    """What is proven of all sums, and what is attained, at some moment."""

    proven: IntArray
    proofs: IntArray
    endless: BoolArray
    ends: IntArray


class Search:
    """The state of work on one question about one release.

    Attributes
    ----------
    full, small, numbers, expand
        The problem, the same presolved, the cells of it that are left, and the way back to tables.
    proven
        The lower (first line) and upper bounds of the sums asked for; NO_UPPER where there is none.
    proofs
        What proved each of them.
    endless
        Sums that are proven to have no upper bound.
    pool
        What is attained.
    history
        The steps taken: name, seconds since the step before, bounds left open.
    write
        Writes down what a search found, at once (True) or if the last time was long ago.
    undecided
        Says which sums need more, if it is not all of them that are open.
    """

    def __init__(
        self,
        release: Release,
        over: tuple[str, ...],
        cells: tuple[tuple[int, ...], ...] | None = None,
        narrowings: tuple[Narrowing, ...] = (),
    ) -> None:
        domain = release.domain
        self.release = release
        self.recipe = release, over, cells, narrowings
        self.full = make_problem(compile_release(release), domain.size)
        presolved = presolve(self.full)
        self.small, self.numbers = presolved.problem, presolved.cells
        self.expand = presolved.invert
        self.solvers = Solvers(self.full, self.small)
        self.asked = asked_about(domain, over, cells)
        self.pool = TablePool(self.full, self.asked)
        self.walker = Walker(self.full, self.asked, domain.shape, moves_of(release))
        if float(self.full.lower.sum(dtype=float)) >= WIDEST:
            raise TooMuchWork(TOO_WIDE)
        # A sum of limits that leaves 64 bits says nothing: what limits the sum is a row's to say.
        open_top = self.asked.sums(self.full.upper.astype(float)) >= WIDEST
        ends = np.where(self.full.upper == NO_UPPER, 0, self.full.upper)
        high = np.where(open_top, NO_UPPER, self.asked.sums(ends))
        self.proven = np.stack([self.asked.sums(self.full.lower), high])
        self.proofs = np.zeros((2, self.asked.size), dtype=np.int8)
        self.endless = np.zeros(self.asked.size, dtype=bool)
        self.history: list[tuple[str, float, int]] = []
        self.write: Callable[[Search, bool], None] | None = None
        self.undecided: Undecided | None = None
        self._needed: tuple[tuple[int, int], BoolArray, bool] | None = None
        self._program: LinearProgram | None = None
        self._rounds = self._numbered = self._improved = 0
        self._clock = time.monotonic()
        for narrowing in narrowings:
            self._narrow(narrowing)

    # Copies: for parts of the work that are done apart.

    def standing(self) -> Standing:
        """What is proven and attained now."""
        return Standing(self.proven.copy(), self.proofs.copy(), self.endless.copy(), self.pool.ends)

    def apart(self, standing: Standing, excerpt: Excerpt, number: int) -> Search:
        """A search of its own for a part of the work, from a given state of the whole.

        What it does depends on the arguments alone: solvers are shared only if they do not
        remember what they were asked. Walks are as different as the `number` is.
        """
        other = copy(self)
        other.proven, other.proofs = standing.proven.copy(), standing.proofs.copy()
        other.endless = standing.endless.copy()
        other.pool = self.pool.cut_down(standing.ends, excerpt)
        other.walker = self.walker.branch(number)
        other.write, other.history, other.undecided = None, [], None
        other._program, other._rounds = None, number
        return other

    def next_number(self) -> int:
        """A number for the next part."""
        self._numbered += 1
        return self._numbered

    def keep(self, *, now: bool = False) -> None:
        """Have what was found written down where that is wanted; `now`, or if it is time."""
        if self.write is not None:
            self.write(self, now)

    def note(self, step: str) -> None:
        """Write a step into the history."""
        now = time.monotonic()
        self.history.append((step, now - self._clock, int(self.open_bounds().sum())))
        self._clock = now
        self.keep()

    # What is settled.

    def settled(self, place: int, side: int) -> bool:
        """Whether a table attains what is proven."""
        if not len(self.pool):
            return False
        endless = side == 1 and self.endless[place]
        return bool(endless or self.pool.ends[side, place] == self.proven[side, place])

    def open_bounds(self) -> BoolArray:
        """Which lower (first line) and which upper bounds are not settled."""
        if not len(self.pool):
            return np.ones_like(self.proven, dtype=bool)
        unsettled: BoolArray = self.pool.ends != self.proven
        unsettled[1] &= ~self.endless
        return unsettled

    def needed(self) -> BoolArray:
        """Which sums need more; all of them unless somebody said what is enough."""
        if self.undecided is None or not len(self.pool):
            return np.ones(self.asked.size, dtype=bool)
        return self._decided()[0]

    @property
    def decided(self) -> bool:
        """Whether what was asked for hangs on nothing that is open."""
        return self.undecided is not None and len(self.pool) > 0 and self._decided()[1]

    def _decided(self) -> tuple[BoolArray, bool]:
        assert self.undecided is not None
        state = len(self.pool), self._improved
        if self._needed is None or self._needed[0] != state:
            self._needed = (state, *self.undecided(self.proven, self.pool.ends))
        return self._needed[1:]

    def prove(self, place: int, side: int, value: int, proof: int) -> None:
        """Note a bound that was proven, if it is better than what was known."""
        if (value > self.proven[0, place]) if side == 0 else (value < self.proven[1, place]):
            self.proven[side, place], self.proofs[side, place] = value, proof
            self._improved += 1
        low, high = self.proven[:, place]
        if low > high:
            raise InconsistentRelease("the published figures contradict each other")
        if len(self.pool):
            least, most = self.pool.ends[:, place]
            if least < low or most > high:
                raise CellboundsError(
                    "a bound was proven that a table goes beyond; please report this with the "
                    "release"
                )

    # Tables.

    def start_from(self, counts: IntArray) -> None:
        """Use a known table, such as the owner's, as the first one."""
        if not self.full.holds(counts):
            raise InvalidInput(
                "the table to start from contradicts the release; give one that the release was "
                "made from"
            )
        self.pool.add(counts)

    def take(self, answer: Found) -> bool:
        """Keep the table that the integer solver found; says whether there is one."""
        if answer.cells is not None:
            self.pool.add(self.expand(answer.cells))
        return answer.cells is not None

    def first_table(self, seconds: float | None) -> bool:
        """Find some consistent table; says whether there is one in the pool.

        Raises
        ------
        InconsistentRelease
            If it is proven that there is none.
        """
        if len(self.pool):
            return True
        if not len(self.numbers):
            if not self.full.holds(self.full.lower):
                raise InconsistentRelease("no table fits all the published figures")
            return self.pool.add(self.full.lower)
        began = time.monotonic()
        if self._first_by_parts(seconds):
            return True
        proposal = self.program.minimize(np.array([0]), np.array([1]), seconds)
        if proposal is not None and self._add_if_near(proposal.cells):
            return True
        if proposal is None and self.capped and not exactly_feasible(self.small):
            raise InconsistentRelease("not even real numbers fit all the published figures")
        if seconds is not None:
            seconds = max(0.01, seconds - (time.monotonic() - began))
        if not self.solvers.sendable:
            return False
        answer = self.solvers.integers.any_table(seconds)
        if self.take(answer):
            return True
        if answer.final and not (self.capped and self._limited_part_fits(seconds)):
            raise InconsistentRelease("no table of counts fits all the published figures")
        return False

    def _first_by_parts(self, seconds: float | None) -> bool:
        """Put a first table together from parts that nothing connects but rows that follow."""
        if len(self.numbers) < MANY or self.small.lists or not self.solvers.sendable:
            return False
        left = Budget.until(None if seconds is None else time.monotonic() + seconds)
        fewer = self.small.with_rows(~dependent_rows(self.small))
        labels = fewer.components()
        _, part, widths = np.unique(labels, return_inverse=True, return_counts=True)
        shares = (np.cumsum(widths) // PART)[part]
        if shares.min() == shares.max():
            return False
        cells = np.zeros(len(labels), dtype=np.int64)
        for share in np.unique(shares):
            inside = shares == share
            answer = IntegerProgram(fewer.restricted(inside)).any_table(left.left)
            if answer.cells is None:
                return False
            cells[inside] = answer.cells
        return self.pool.add_if_it_fits(self.expand(cells))

    def _limited_part_fits(self, seconds: float | None) -> bool:
        """Whether nothing speaks against a table of the cells that all have to do with limits."""
        labels = self.solvers.components
        endless = np.isin(labels, labels[self.small.upper == NO_UPPER])
        if endless.all():
            return True
        answer = IntegerProgram(self.small.restricted(~endless)).any_table(seconds)
        return answer.cells is not None or not answer.final

    def _add_if_near(self, cells: IntArray) -> bool:
        """Keep a solver's table if it is one of whole numbers (checked exactly).

        Of a large one the parts that are whole are enough: the others stay as in another table.
        """
        whole = np.rint(cells).astype(np.int64)
        broken = np.abs(cells - whole) > 1e-6
        if broken.any():
            if not len(self.pool) or len(cells) < MANY:
                return False
            base = self.pool.at(0)[self.numbers]
            moved = broken | (whole != base)
            linked = moved[self.small.cells]
            rows, places = self.small.rows[linked], self.small.cells[linked]
            part = connected(rows, places, len(cells))
            failed = np.bincount(part[broken], minlength=len(cells)) > 0
            whole = np.where(failed[part], base, whole)
        counts = self.expand(whole)
        if not self.full.holds(counts):
            return False
        self.pool.add(counts)
        return True

    # All sums at once.

    def by_elimination(self, effort: Budget) -> None:
        """Prove which sums are constant, for all of them at once.

        The cells that are constant need no program any more, nor do rows that follow from others.
        """
        if not len(self.pool) or len(self.numbers) < MANY:
            return
        size, wanted = len(self.numbers), np.flatnonzero(self.unmoved())
        if self.undecided is not None and not len(wanted):
            return
        starts, members = np.arange(size + 1), np.arange(size)
        if not self.asked.plain:
            more, inside = self._lines(wanted)
            starts, members = np.append(starts, size + more[1:]), np.append(members, inside)
        tables = (self.pool.at(k)[self.numbers] for k in range(len(self.pool)))
        constants = constant_sums(self.small, tables, starts, members, effort.left)
        fixed = np.zeros(len(self.full.lower), dtype=bool)
        fixed[self.numbers[constants.sums[:size]]] = True
        places = wanted[fixed[wanted] if self.asked.plain else constants.sums[size:]]
        for place in places.tolist():
            value = int(self.pool.ends[0, place])
            for side in (0, 1):
                self.prove(place, side, value, Proof.ELIMINATION)
        self._note_constants(constants)

    def unmoved(self) -> BoolArray:
        """Sums that need more, and that all tables so far agree on though nothing proves it."""
        low, high = self.pool.ends
        open_still = self.open_bounds().any(axis=0) & self.needed()
        return np.asarray(open_still & (low == high))

    def _lines(self, places: IntArray) -> tuple[IntArray, IntArray]:
        """The cells left behind some sums."""
        lines = [self.objective(place)[0] for place in places.tolist()]
        widths = np.array([0, *map(len, lines)], dtype=np.int64)
        none = np.zeros(0, dtype=np.int64)
        return np.cumsum(widths), np.concatenate([none, *lines])

    def _note_constants(self, found: ConstantSums) -> None:
        """Leave out of all programs what is constant or needless."""
        cells = np.flatnonzero(found.sums[: len(self.numbers)])
        if len(cells) or found.dependent.any():
            counts = self.pool.at(0)[self.numbers[cells]]
            narrowing = Narrowing(cells, counts, found.dependent)
            self._narrow(narrowing)
            self.recipe = *self.recipe[:3], (*self.recipe[3], narrowing)

    def _narrow(self, narrowing: Narrowing) -> None:
        lower, upper = self.small.lower.copy(), self.small.upper.copy()
        lower[narrowing.cells] = upper[narrowing.cells] = narrowing.counts
        fewer = replace(self.small, lower=lower, upper=upper).with_rows(~narrowing.needless)
        presolved, outer = presolve(fewer), self.expand
        low, high = self.full.lower.copy(), self.full.upper.copy()
        low[self.numbers], high[self.numbers] = lower, upper
        self.full = replace(self.full, lower=low, upper=high)
        self.expand = lambda counts: outer(presolved.invert(counts))
        self.small, self.numbers = presolved.problem, self.numbers[presolved.cells]
        self.solvers, self._program = Solvers(self.full, self.small), None

    def by_wandering(self, effort: Budget) -> None:
        """Walk along hypercubes until every sum that needs it has moved, or none gets further."""
        if len(self.pool) and self.walker.possible and len(self.numbers) >= MANY:
            self._take_all(self.walker.around(self.pool.at(0), self._aims), effort)

    def by_wandering_on(self, effort: Budget) -> None:
        """The same for what has not moved, by repairs and along other directions."""
        if not len(self.pool) or len(self.numbers) < MANY:
            return
        if self.walker.possible:
            self._take_all(moved_cells(self, effort), effort)
        if effort.spent or self.solvers.splits(self.release):
            return  # between complete margins hypercubes are the shortest directions there are
        start = self.pool.at(0)[self.numbers]
        around = tables_around(self.small, start, lambda: self._aims()[self.numbers])
        self._take_all(map(self.expand, around), effort)

    def _take_all(self, tables: Iterable[IntArray], effort: Budget) -> None:
        for counts in tables:
            self.pool.add_if_it_fits(counts)  # lists of values are not known to walks
            if effort.spent:
                return

    def _aims(self) -> BoolArray:
        """The cells of sums that walks should still move."""
        aimed = self.needed() & self.open_bounds().any(axis=0)
        if self.undecided is None:
            aimed = self.unmoved()
        cells = np.zeros(len(self.full.lower), dtype=bool)
        behind = self.asked.behind
        cells[behind.cells[np.repeat(aimed, np.diff(behind.starts))]] = True
        return cells

    # The steps, from cheap to dear; each may be asked for one bound.

    def by_splitting(
        self, bounds: Sequence[tuple[int, int]], effort: Budget, *, tables: bool = False
    ) -> list[SplitBound]:
        """Bounds proven by splitting, many at once; none if that is not for this release."""
        device, splitting = device_of(effort.device), None
        if len(self.pool) and self.solvers.splits(self.release):
            splitting = self.solvers.splitting(self.release, self.pool.at(0), device)
        if splitting is None:
            return []
        questions = [
            SumBound(self.asked.members(p), side, SIGNS[side] * int(self.pool.ends[side, p]))
            for p, side in bounds
        ]
        answers = splitting.solve(questions, spent=lambda: effort.spent, tables=tables)
        for (place, side), answer in zip(bounds, answers, strict=True):
            if answer.proven is not None:
                self.prove(place, side, SIGNS[side] * answer.proven, Proof.DUAL)
        return answers

    def by_program(self, place: int, side: int, effort: Budget) -> IntArray | None:
        """A bound proven by a dual vector, perhaps a table; gives the table of real numbers."""
        cells, constant = self.objective(place)
        if not len(cells):
            return None
        for split in self.by_splitting([(place, side)], effort, tables=True):
            if split.converged or self.settled(place, side):
                return split.table
        sign = SIGNS[side]
        proposal = self.program.minimize(cells, np.full(len(cells), sign), effort.left)
        if proposal is None:
            return None
        weights = np.zeros(len(self.numbers), dtype=np.int64)
        weights[cells] = sign
        hoped = int(np.ceil(proposal.value - 1e-6))
        proven = dual_bound(self.small, weights, proposal.duals, hoped)
        if proven is None and self.capped:
            proven = exact_bound(self.small, weights)
        if proven is not None:
            self.prove(place, side, sign * proven + constant, Proof.DUAL)
        if not self.program.interior:
            self._add_if_near(proposal.cells)
        return self.expand(proposal.cells)

    def by_pushing(self, seconds: float | None, place: int | None = None, side: int = 0) -> int:
        """A program that pushes every open bound at once, one of them above all; its table.

        Says how many bounds it settled. The weights differ so that ties are broken and rounds
        are not alike: of many optimal corners, some are tables of whole numbers.
        """
        unsettled = self.open_bounds()
        before = int(unsettled.sum())
        if not self.asked.plain or not before:
            return 0
        self._rounds += 1
        stir = (np.arange(self.asked.size) * 2654435761 * self._rounds >> 7) % 97 + 1
        weights = (unsettled[0].astype(np.int64) - unsettled[1]) * stir
        if place is not None:
            weights[place] = SIGNS[side] * ABOVE_ALL
        left = weights[self.numbers]
        cells = np.flatnonzero(left)
        proposal = self.program.minimize(cells, left[cells], seconds)
        if proposal is None or not self._add_if_near(proposal.cells):
            return 0
        return before - int(self.open_bounds().sum())

    def by_walking(
        self,
        place: int,
        side: int,
        proposals: int,
        effort: Budget,
        guide: Guide | None = None,
    ) -> None:
        """Walk from the best table so far towards the proven bound."""
        if self.walker.possible and len(self.pool):
            counts, bounds = self.pool.nearest(place, side), [(place, side)]
            self.walker.push(self.pool, counts, bounds, self.proven, proposals, guide, effort)

    def by_walking_on(self, bounds: list[tuple[int, int]], proposals: int, effort: Budget) -> None:
        """Blind walks towards several bounds, one after the other."""
        if self.walker.possible and len(self.pool) and bounds:
            counts = self.pool.at(0)
            self.walker.push(self.pool, counts, bounds, self.proven, proposals, effort=effort)

    @property
    def reach(self) -> int:
        """More than any sum that the integer solver looks at."""
        return int(self.solvers.cut_off.upper.sum()) + int(self.full.lower.sum())

    def objective(self, place: int) -> tuple[IntArray, int]:
        """The cells left behind one sum, and what its fixed cells add."""
        members = self.asked.members(place)
        free = self.full.lower[members] < self.full.upper[members]
        constant = int(self.full.lower[members[~free]].sum())
        return np.searchsorted(self.numbers, members[free]), constant

    @property
    def program(self) -> LinearProgram:
        """The linear relaxation."""
        if self._program is None:
            self._program = self.solvers.program()
        return self._program

    @property
    def program_is_dear(self) -> bool:
        """Whether a walk costs less than a linear program."""
        return len(self.small.cells) >= INTERIOR or self.solvers.splits(self.release)

    @property
    def capped(self) -> bool:
        """Whether some cell has no upper limit."""
        return bool((self.small.upper == NO_UPPER).any())

    def capped_for(self, place: int) -> bool:
        """Whether a cell without upper limit has to do with one sum.

        If not, what the integer solver proves of the sum holds, though it looks at a part only:
        the cells that the sum has to do with are all there, and the others have a table.
        """
        if not self.capped:
            return False
        cut = self.solvers.cut_off.upper
        within = len(self.pool) and bool((self.pool.at(0)[self.numbers] <= cut).all())
        return not within or bool((self.small.upper[self.near(place)] == NO_UPPER).any())

    def near(self, place: int) -> BoolArray:
        """Which of the cells left have to do with one sum."""
        labels = self.solvers.components
        cells, _ = self.objective(place)
        return np.isin(labels, labels[cells])
