"""The order of the steps: which bounds are tried by what, alone or by several workers.

Work is shared out in rounds. The tasks of one round all begin from the same state, and what they
find is brought home in their order; the next round begins from what the last one left. How the work
is cut depends on the work alone. So the outcome is the same without helpers, with some, and with
others: which of them was faster makes no difference.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from operator import length_hint
from typing import NamedTuple, TypeVar, cast

import numpy as np

from cellbounds.errors import InconsistentRelease
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.budget import Budget
from cellbounds.runtime.devices import CPU
from cellbounds.runtime.workers import Until, shared
from cellbounds.solvers.general.cp_sat import IntegerProgram, fits_solver
from cellbounds.solvers.general.exact_linear import closed_beyond, grows_without_end
from cellbounds.solvers.general.hypercubes import Guide
from cellbounds.solvers.general.pool import Excerpt
from cellbounds.solvers.general.repairs import attain_by_repairs, attain_by_rounding
from cellbounds.solvers.general.search import SIGNS, Proof, Search, Standing
from cellbounds.statements.inequalities import NO_UPPER


def by_integers(
    search: Search, place: int, side: int, seconds: float | None, *, brief: bool = False
) -> None:
    """Settle a bound by an integer program, or look for a moment only whether one does."""
    if not search.solvers.sendable:
        return
    cells, constant = search.objective(place)
    weights = np.full(len(cells), SIGNS[side])
    hint = search.pool.nearest(place, side)[search.numbers] if len(search.pool) else None
    if len(search.pool) and search.capped_for(place):
        reached = int(search.pool.ends[side, place])
        if _by_closing(search, place, side, reached, seconds):
            return
    elif _at_the_bound(search, place, side, None if seconds is None else seconds / 2, brief):
        return
    answer = search.solvers.integers.minimize(cells, weights, hint, seconds, brief=brief)
    if not search.take(answer) and answer.final and not search.capped:
        raise InconsistentRelease("no table of counts fits all the published figures")
    if answer.bound is not None and not search.capped_for(place):
        search.prove(place, side, SIGNS[side] * answer.bound + constant, Proof.SOLVER)


def _at_the_bound(
    search: Search, place: int, side: int, seconds: float | None, brief: bool
) -> bool:
    """Look for a table exactly where the proof ends; says whether that settled the bound.

    Mostly there is one, and finding it takes half the time of an optimum.
    """
    goal = int(search.proven[side, place])
    if goal == NO_UPPER:
        return False
    cells, constant = search.objective(place)
    at = goal - constant
    answer = search.solvers.integers.with_sum(cells, at, at, seconds, quick=True)
    if answer.cells is None and not answer.final and not brief:
        answer = search.solvers.integers.with_sum(cells, at, at, seconds)
    if not search.take(answer) and answer.final and not search.capped_for(place):
        search.prove(place, side, goal + SIGNS[side], Proof.SOLVER)
    return search.settled(place, side)


def _by_closing(search: Search, place: int, side: int, value: int, seconds: float | None) -> bool:
    """Go beyond a value though some cells have no limit; says whether that was decided."""
    cells, constant = search.objective(place)
    near = search.near(place)
    part = search.small if near.all() else search.small.restricted(near)
    cells = np.searchsorted(np.flatnonzero(near), cells)
    try:
        beyond = closed_beyond(part, cells, value - constant, side)
    except InconsistentRelease:
        search.prove(place, side, value, Proof.DUAL)
        return True
    if beyond is None or not fits_solver(beyond):
        return False
    answer = IntegerProgram(beyond).minimize(cells, np.full(len(cells), SIGNS[side]), None, seconds)
    if answer.cells is not None:
        if not len(search.pool) and not near.all():
            return False  # a part of a table, and nothing to put the rest from
        # What has nothing to do with the sum may stay as in any table.
        counts = search.pool.at(0) if len(search.pool) else search.full.lower.copy()
        counts[search.numbers[near]] = answer.cells
        search.pool.add(counts)
        if answer.bound is not None:
            search.prove(place, side, SIGNS[side] * answer.bound + constant, Proof.SOLVER)
    elif answer.final:
        search.prove(place, side, value, Proof.SOLVER)
    return answer.final


def by_crossing(search: Search, place: int, side: int, value: int, seconds: float | None) -> None:
    """Find a table beyond a value, or prove that there is none."""
    if not search.solvers.sendable:
        return
    if search.capped_for(place) and _by_closing(search, place, side, value, seconds):
        return
    cells, constant = search.objective(place)
    low, high = (0, value - 1) if side == 0 else (value + 1, search.reach)
    # Beyond what the solver looks at there is nothing to ask it.
    none_beyond = low > high
    if not none_beyond:
        answer = search.solvers.integers.with_sum(cells, low - constant, high - constant, seconds)
        none_beyond = not search.take(answer) and answer.final
    if none_beyond and not search.capped_for(place):
        search.prove(place, side, value, Proof.SOLVER)


MOVING = 2.0
"""Seconds for a table in which a sum has another value."""


def by_moving(search: Search, place: int, effort: Budget) -> None:
    """Find a table in which a sum has another value than in all so far, or prove there is none.

    Only cells that have to do with the sum are looked at.
    """
    if search.capped or not search.solvers.sendable:
        return
    cells, constant = search.objective(place)
    near = search.near(place)
    program = search.solvers.part(near)
    inside = np.searchsorted(np.flatnonzero(near), cells)
    value = int(search.pool.ends[0, place])
    ends = (0, value - 1), (value + 1, int(search.proven[1, place]))
    for side in (1, 0):
        if effort.spent or search.pool.ends[0, place] < search.pool.ends[1, place]:
            return
        if search.proven[side, place] == value:
            continue
        low, high = (end - constant for end in ends[side])
        seconds = min(MOVING, MOVING if effort.left is None else effort.left)
        answer = program.with_sum(inside, low, high, seconds)
        if answer.cells is not None:
            counts = search.pool.at(0)
            counts[search.numbers[near]] = answer.cells
            search.pool.add(counts)
        elif answer.final:
            search.prove(place, side, value, Proof.SOLVER)


IN_VAIN = 8
"""Sums in a row that may stay as they are before the others are left to other steps."""

MOST_MOVED = 200
"""Sums that are looked at one by one although the whole is decided."""


def _move_each(search: Search, effort: Budget) -> None:
    """Look for tables in which sums have other values, as long as that is not in vain."""
    in_vain = tried = 0
    for place in np.flatnonzero(search.unmoved()).tolist():
        if effort.spent or in_vain >= IN_VAIN or (search.decided and tried >= MOST_MOVED):
            return
        if search.unmoved()[place]:
            tried += 1
            by_moving(search, place, effort)
            in_vain = in_vain + 1 if search.unmoved()[place] else 0


LEAST_ROUND, SHARE = 16, 16
"""Items of a round: at least so many, or one of so many of those that are left. What one task finds
helps the others only a round later, so that large rounds waste work, and small ones workers."""

Item = tuple[int, int]
"""The place of a sum, and what is to be done about it (of bounds: the side)."""

Result = TypeVar("Result")
Work = Callable[[Search, Sequence[Item], Budget], Result]


class Gains(NamedTuple):
    """What a task brings home: proven bounds, how they were proven, and new tables."""

    places: IntArray
    proven: IntArray
    proofs: IntArray
    tables: list[IntArray]

    def bring_home(self, search: Search) -> None:
        """Take over what was found; tables are checked again."""
        for table in self.tables:
            search.pool.add(table)
        for k, place in enumerate(self.places.tolist()):
            for side in (0, 1):
                search.prove(place, side, int(self.proven[side, k]), int(self.proofs[side, k]))


class SearchHandle:
    """A search for tasks: itself for its owner, and what it is made from for everybody else.

    Solvers do not go between threads, so another thread makes a search of its own. Making one costs
    as much as many tasks do: each thread keeps its last. Nothing is pickled unless it is sent.
    """

    _last = threading.local()

    def __init__(self, search: Search) -> None:
        self._search: Search | None = search
        self._owner = threading.get_ident()
        self._recipe = b""

    def __getstate__(self) -> bytes:
        """What the same search can be made from elsewhere, pickled once."""
        if self._search is not None and not self._recipe:
            self._recipe = pickle.dumps(self._search.recipe)
        return self._recipe

    def __setstate__(self, recipe: bytes) -> None:
        self._search, self._owner, self._recipe = None, 0, recipe

    def search(self) -> Search:
        """The search of this thread."""
        if self._search is not None and self._owner == threading.get_ident():
            return self._search
        recipe, last = self.__getstate__(), self._last
        if getattr(last, "recipe", None) != recipe:
            last.search, last.recipe = Search(*pickle.loads(recipe)), recipe
        return cast(Search, last.search)


def in_rounds(
    search: Search,
    items: Sequence[Item],
    work: Work[Result],
    effort: Budget,
    *,
    width: int,
    wanted: Callable[[Item], bool],
) -> Iterator[tuple[Sequence[Item], Result]]:
    """Do some work for each item, and bring home what was proven, found and made of it.

    Parameters
    ----------
    search
        The state of the whole, which changes as tasks come home.
    items
        What is to be done, the most urgent first.
    work
        A function of a module: does it for some items, and gives what belongs to them.
    effort
        Budget, helpers, listener.
    width
        Items of one task.
    wanted
        Whether an item still needs work when its turn comes.
    """
    handle, waiting = SearchHandle(search), iter(list(items))
    while (left := length_hint(waiting)) and not effort.spent:
        chosen = list(islice(filter(wanted, waiting), max(LEAST_ROUND, -(-left // SHARE))))
        tasks = [chosen[k : k + width] for k in range(0, len(chosen), width)]
        until, standing = Until.of(effort.left), search.standing()
        arguments = [
            (handle, standing, search.pool.excerpt(p for p, _ in task), search.next_number(),
             work, task, until)
            for task in tasks
        ]  # fmt: skip
        done = len(items) - length_hint(waiting) - len(chosen)
        for k, (gains, result) in shared(effort.executor, run_task, arguments):
            gains.bring_home(search)
            search.keep()
            done += len(tasks[k])
            effort.say(done, len(items))
            yield tasks[k], result


def run_task(
    handle: SearchHandle,
    standing: Standing,
    excerpt: Excerpt,
    number: int,
    work: Work[Result],
    items: Sequence[Item],
    until: Until,
) -> tuple[Gains, Result]:
    """One task, run by a helper or here."""
    import multiprocessing

    search = handle.search().apart(standing, excerpt, number)
    known = len(search.pool)
    owner = multiprocessing.parent_process()
    alive = owner is None or owner.is_alive()
    result = work(search, items, Budget.until(until.deadline if alive else 0.0))
    places = np.unique([place for place, _ in items])
    tables = [search.pool.at(number) for number in range(known, len(search.pool))]
    return Gains(places, search.proven[:, places], search.proofs[:, places], tables), result


QUICK_WALK = 2_000
"""Proposals of a first walk, before anything is proven."""

WALKS = "walks"
"""The name of that step, which is too short to be shared with other workers."""

INTEGERS = "integer programs"
"""The name of the last step."""

SHORT_WALKS = ((8.0, 15_000),)
LONG_WALKS = ((8.0, 1_000_000), (4.0, 1_000_000), (2.0, 1_000_000))
"""Temperatures and proposals of walks near the solution of a program: in small problems less
than an integer program takes, in large ones about as long as the program took."""

ROUNDINGS, SHORT_REPAIR = 3, 5_000
"""Roundings of one solution in small problems, and proposals of repairs: as long as a walk."""

SPLIT_AT_ONCE = 64
"""Bounds of one part of the work by splitting."""

REPAIRS = (500_000, 2_000_000, 8_000_000)
"""Proposals of repairs of a table that is out of limits: about 0.05 seconds at first."""

SHORT_REPAIRS = 20_000
"""The same of a table that splitting has just given: less than that took."""

TRIED, TOO_FEW = 32, 16
"""In small problems: bounds that a step is tried on at least, and the part of them (one of
so many) that it must settle, or the others are left to later steps first."""

LONGER = 6
"""How much longer walks are that are tried again in large problems."""

DECIDING = 20.0
"""Seconds for deciding whether some statements force a bound."""

CORNERS = 3
"""Corners of the relaxation that are tried for one bound."""

WORTH_A_ROUND = 3
"""Bounds that a program for all of them must settle to be asked again."""

WIDTH = 8
"""Bounds of one part of the work, where each takes a moment only."""


def settle_one(search: Search, place: int, side: int, effort: Budget) -> None:
    """Settle one bound as far as the effort allows."""
    if not begun(search, effort):
        search.by_program(place, side, effort)
        return
    for _, step in _steps(search):
        if search.settled(place, side) or effort.spent:
            return
        step(search, place, side, effort, 1)


def settle_all(search: Search, effort: Budget) -> None:
    """Settle every bound asked for as far as the effort allows."""
    if not begun(search, effort):
        _each(search, _by_program, effort)
        return
    search.note("propagation and the first table")
    if effort.spent:
        return
    # What moves needs no proof: walks first, unless everything is wanted, which must be proven.
    search.by_wandering(effort)
    search.note("walks around the tables")
    if not effort.spent:
        search.by_elimination(effort)
        search.note("elimination")
    if not effort.spent:
        search.by_wandering_on(effort)
        search.note("repairs and walks along other directions")
    if effort.spent or not _open(search):
        return
    if search.undecided is not None:
        _move_each(search, effort)
        search.note("tables that differ")
        if search.decided:
            return
    if not search.program_is_dear:
        search.by_walking_on(_open(search), QUICK_WALK, effort)
        search.note(WALKS)
        effort.say(2 * search.asked.size - search.history[-1][2], 2 * search.asked.size)
        while search.by_pushing(effort.left) >= WORTH_A_ROUND and not effort.spent:
            pass
        search.note("programs for all bounds at once")
    else:
        _each(search, _by_walking, effort)
        search.note(WALKS)
        _by_splitting(search, effort)
        search.note("splitting")
    steps = _steps(search)
    hurried = _hurried(search)
    while steps and not effort.spent and _open(search):
        (name, step), *steps = steps
        alone, hurried = search.program_is_dear or name == INTEGERS, hurried and name != INTEGERS
        if not _shared(search, step, effort, 1 if alone else WIDTH, in_full=not hurried):
            steps.append((name, step))
        search.note(name)


def _hurried(search: Search) -> bool:
    """Whether steps that settle little give way to others, since any may be the quick one."""
    return search.solvers.splits(search.release) and search.solvers.integers_are_quick


def passes(search: Search, bound: Item, value: int) -> bool | None:
    """Whether a bound is at least as far in as a value; None if not decided in time."""
    place, side = bound
    effort, sign = Budget.of(DECIDING), SIGNS[side]

    def decided() -> bool | None:
        if sign * search.proven[side, place] >= sign * value:
            return True
        beyond = len(search.pool) and sign * search.pool.ends[side, place] < sign * value
        return False if beyond else None

    search.by_program(place, side, effort)
    if decided() is None and search.first_table(effort.left) and decided() is None:
        search.by_walking(place, side, QUICK_WALK, effort)
    if decided() is None:
        by_crossing(search, place, side, value, effort.left)
    return decided()


def begun(search: Search, effort: Budget) -> bool:
    """Have a first table, and know which sums have no end."""
    left = effort.left
    if effort.overdue and not len(search.pool):
        return False
    if not search.first_table(None if left is None else left / 2):
        return False
    for place in np.flatnonzero((search.proven[1] == NO_UPPER) & ~search.endless):
        search.endless[place] = grows_without_end(search.small, search.objective(int(place))[0])
    return True


Step = Callable[[Search, int, int, Budget, int], None]
"""Works on the bound of a sum at one side, as one of some number that share the effort."""


def _steps(search: Search) -> list[tuple[str, Step]]:
    """Cheap first: on small problems programs give tables too, on large ones walks do."""
    programs = ("programs and guided walks", _by_program)
    if search.solvers.splits(search.release):
        rounds = [(f"tables at the bound, {n} proposals", partial(_by_repairs, n)) for n in REPAIRS]
        brief = ("integer programs for a moment", partial(_by_integers, brief=True))
        return [*[brief] * _hurried(search), *rounds, (INTEGERS, _by_integers)]
    if search.program_is_dear:
        longer = ("longer guided walks", partial(_by_program, times=LONGER))
        return [programs, longer, (INTEGERS, _by_integers)]
    return [programs, ("corners of programs", _by_corners), (INTEGERS, _by_integers)]


def _by_program(
    search: Search, place: int, side: int, effort: Budget, _share: int, times: int = 1
) -> None:
    """Prove by a linear program, then round its solution and walk near it to where that ends."""
    real = search.by_program(place, side, effort)
    for turn in range(0 if search.program_is_dear else ROUNDINGS):
        if real is None or search.settled(place, side) or effort.spent:
            return
        attain_by_rounding(search, place, side, real, SHORT_REPAIR, effort, turn)
    for temperature, proposals in LONG_WALKS if search.program_is_dear else SHORT_WALKS:
        if real is None or search.settled(place, side) or effort.spent:
            return
        search.by_walking(place, side, times * proposals, effort, Guide(real, temperature))


def _by_splitting(search: Search, effort: Budget) -> None:
    """Prove all open bounds; an accelerator has them all at once, processors share them."""
    if effort.device != CPU.name:
        search.by_splitting(_open(search), effort)
    elif search.solvers.splits(search.release):
        _in_parts(search, _split, effort, SPLIT_AT_ONCE)


def _split(search: Search, bounds: Sequence[Item], effort: Budget) -> None:
    """Prove some bounds; tables of small problems are rounded while they are there."""
    hurried = _hurried(search)
    answers = search.by_splitting(bounds, effort, tables=hurried)
    if not hurried:
        return
    for (place, side), answer in zip(bounds, answers, strict=False):
        if effort.spent:
            return
        if not search.settled(place, side):
            attain_by_rounding(search, place, side, answer.table, SHORT_REPAIRS, effort)


def _by_repairs(
    proposals: int, search: Search, place: int, side: int, effort: Budget, _share: int
) -> None:
    real = search.by_program(place, side, effort)
    if not search.settled(place, side):
        attain_by_repairs(search, place, side, proposals, effort)
    if real is not None and not search.settled(place, side):
        attain_by_rounding(search, place, side, real, proposals, effort)


def _by_corners(search: Search, place: int, side: int, effort: Budget, _share: int) -> None:
    for _ in range(CORNERS):
        search.by_pushing(effort.left, place, side)
        if search.settled(place, side) or effort.spent:
            return


def _by_walking(search: Search, place: int, side: int, effort: Budget, _share: int) -> None:
    search.by_walking(place, side, QUICK_WALK, effort)


def _by_integers(
    search: Search,
    place: int,
    side: int,
    effort: Budget,
    share: int,
    brief: bool = False,
) -> None:
    left = effort.left
    if left is not None:
        # Twice an equal share: many need less.
        left = max(min(left, 1.0), 2 * left / share)
    by_integers(search, place, side, left, brief=brief)


def _open(search: Search) -> list[Item]:
    """Open bounds; small sums first, since they are what somebody has to protect."""
    order = np.argsort(search.proven[1], kind="stable")
    unsettled = search.open_bounds() & search.needed()
    return [(int(place), side) for side in (0, 1) for place in order if unsettled[side, place]]


def _each(search: Search, step: Step, effort: Budget) -> None:
    """One step for all open bounds, one after the other."""
    bounds = _open(search)
    for done, bound in enumerate(bounds, 1):
        if effort.spent:
            return
        if search.needed()[bound[0]]:
            _stepped(step, len(bounds), search, [bound], effort)
        effort.say(done, len(bounds))


def _shared(search: Search, step: Step, effort: Budget, width: int, *, in_full: bool) -> bool:
    """One step for all open bounds; says whether it was not given up because it settles too few."""
    work = partial(_stepped, step, len(_open(search)))
    return _in_parts(search, work, effort, width, in_full=in_full)


def _in_parts(
    search: Search, work: Work[object], effort: Budget, width: int, *, in_full: bool = True
) -> bool:
    """Some work for all open bounds, in parts of some width that anybody may do.

    Unless it is to be done in full, it ends where too few of them are settled, and says so.
    """
    bounds, tried, settled = _open(search), 0, 0

    def wanted(item: Item) -> bool:
        return not search.settled(*item) and bool(search.needed()[item[0]])

    for items, _ in in_rounds(search, bounds, work, effort, width=width, wanted=wanted):
        tried += len(items)
        settled += sum(search.settled(*item) for item in items)
        if not in_full and tried >= TRIED and settled * TOO_FEW < tried:
            return False
    return True


def _stepped(
    step: Step, share: int, search: Search, bounds: Sequence[Item], effort: Budget
) -> None:
    """One step for some bounds."""
    for place, side in bounds:
        if effort.spent:
            return
        if not search.settled(place, side):
            step(search, place, side, effort, share)
