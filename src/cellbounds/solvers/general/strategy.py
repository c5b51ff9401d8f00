"""The order of the steps: which bounds are tried by what, alone or by several workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from cellbounds.model.constraints import NO_UPPER
from cellbounds.model.effort import Effort
from cellbounds.solvers.general.hypercube_moves import Guide
from cellbounds.solvers.general.proving import by_crossing, by_integers
from cellbounds.solvers.general.rays import grows_without_end
from cellbounds.solvers.general.rounds import Item, in_waves
from cellbounds.solvers.general.search import Search

__all__ = ["begun", "passes", "settle_all", "settle_one"]

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


def settle_one(search: Search, place: int, side: int, effort: Effort) -> None:
    """Settle one bound as far as the effort allows."""
    if not begun(search, effort):
        search.by_program(place, side, effort.left)
        return
    for _, step in _steps(search, effort, share=1):
        if search.settled(place, side) or effort.spent:
            return
        step(search, place, side)


def settle_all(search: Search, effort: Effort) -> None:
    """Settle every bound asked for as far as the effort allows."""
    if not begun(search, effort):
        _each(search, _by_program(effort, 1), effort)
        return
    search.note("propagation and the first table")
    if effort.spent:
        return
    if not search.program_is_dear:
        search.by_walking_on(_open(search), QUICK_WALK)
        search.note(WALKS)
        effort.say(2 * search.asked.size - search.history[-1][2], 2 * search.asked.size)
        while search.by_pushing() >= WORTH_A_ROUND and not effort.spent:
            pass
        search.note("programs for all bounds at once")
    for number, (name, step) in enumerate(_steps(search, effort, share=None)):
        if effort.spent:
            return
        if name == WALKS:
            _each(search, step, effort)
        else:
            alone = search.program_is_dear or name == INTEGERS
            _shared(search, number, effort, 1 if alone else WIDTH)
        search.note(name)


def passes(search: Search, bound: Item, value: int) -> bool | None:
    """Whether a bound is at least as far in as a value; None if not decided in time."""
    place, side = bound
    effort = Effort.of(DECIDING)

    def decided() -> bool | None:
        if side == 0 and search.low[place] >= value:
            return True
        if side == 1 and search.high[place] <= value:
            return True
        if not len(search.pool):
            return None
        inside = (
            search.pool.least[place] >= value if side == 0 else search.pool.most[place] <= value
        )
        return None if inside else False

    search.by_program(place, side, effort.left)
    if decided() is None and search.first_table(effort.left) and decided() is None:
        search.by_walking(place, side, QUICK_WALK)
    if decided() is None:
        by_crossing(search, place, side, value, effort.left)
    return decided()


def begun(search: Search, effort: Effort) -> bool:
    """Have a first table, and know which sums have no end."""
    if effort.start is not None and not len(search.pool):
        search.start_from(effort.start.counts.ravel().astype(np.int64))
    left = effort.left
    if not search.first_table(None if left is None else left / 2):
        return False
    for place in np.flatnonzero((search.high == NO_UPPER) & ~search.endless):
        search.endless[place] = grows_without_end(search.small, search.objective(int(place))[0])
    return True


Step = Callable[[Search, int, int], None]


def _steps(search: Search, effort: Effort, share: int | None) -> Iterator[tuple[str, Step]]:
    """Cheap first: on small problems programs give tables too, on large ones walks do."""
    if search.program_is_dear:
        yield WALKS, _by_walking(QUICK_WALK)
    yield "programs and guided walks", _by_program(effort, 1)
    if search.program_is_dear:
        yield "longer guided walks", _by_program(effort, LONGER)
    else:
        yield "corners of programs", _by_corners
    yield INTEGERS, _by_integers(effort, share)


def _by_program(effort: Effort, times: int) -> Step:
    """Prove by a linear program, then walk near its solution to where the proof ends."""

    def step(search: Search, place: int, side: int) -> None:
        real = search.by_program(place, side, effort.left)
        rounds = LONG_WALKS if search.program_is_dear else SHORT_WALKS
        for temperature, proposals in rounds:
            if real is None or search.settled(place, side) or effort.spent:
                return
            search.by_walking(place, side, times * proposals, Guide(real, temperature))

    return step


def _by_corners(search: Search, place: int, side: int) -> None:
    for _ in range(CORNERS):
        search.by_pushing(place, side)
        if search.settled(place, side):
            return


def _by_walking(proposals: int) -> Step:
    def step(search: Search, place: int, side: int) -> None:
        search.by_walking(place, side, proposals)

    return step


def _by_integers(effort: Effort, share: int | None) -> Step:
    def step(search: Search, place: int, side: int) -> None:
        left = effort.left
        if left is not None:
            open_low, open_high = search.open_bounds()
            count = share or int(open_low.sum() + open_high.sum())
            # Twice an equal share: many need less.
            left = max(min(left, 1.0), 2 * left / max(1, count))
        by_integers(search, place, side, left)

    return step


def _open(search: Search) -> list[Item]:
    """Open bounds; small sums first, since they are what somebody has to protect."""
    low, high = search.open_bounds()
    order = np.argsort(search.high, kind="stable")
    return [(int(p), 0) for p in order if low[p]] + [(int(p), 1) for p in order if high[p]]


def _each(search: Search, step: Step, effort: Effort) -> None:
    bounds = _open(search)
    for done, (place, side) in enumerate(bounds):
        if effort.spent:
            return
        if not search.settled(place, side):
            step(search, place, side)
        effort.say(done + 1, len(bounds))


def _shared(search: Search, number: int, effort: Effort, width: int) -> None:
    """One step for all open bounds, in parts of some width that anybody may do."""
    bounds = _open(search)
    work = partial(_step_of, number, len(bounds))
    waves = in_waves(
        search, bounds, work, effort, width=width, wanted=lambda one: not search.settled(*one)
    )
    for _ in waves:
        pass


def _step_of(
    number: int, share: int, search: Search, bounds: Sequence[Item], effort: Effort
) -> None:
    """One step for some bounds."""
    _, step = list(_steps(search, effort, share))[number]
    for place, side in bounds:
        if effort.spent:
            return
        if not search.settled(place, side):
            step(search, place, side)
