"""Sharing a search out: parts in waves, the same whoever works on them.

The parts of one wave all begin from the same state, and what they find is brought home in their
order; the next wave begins from what the last one left. How the work is cut depends on the work
alone. So the outcome is the same without helpers, with some, and with others: which of them was
faster makes no difference.
"""

from __future__ import annotations

import multiprocessing
import pickle
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from cellbounds.model.effort import Effort
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.workers import Until, shared
from cellbounds.solvers.general.pool import Excerpt
from cellbounds.solvers.general.search import Search, Standing

__all__ = ["Item", "Settled", "in_waves"]

LEAST_WAVE, SHARE = 16, 16
"""Items of a wave: at least so many, or one of so many of those that are left. What one part finds
helps the others only a wave later, so that large waves waste work, and small ones workers."""

Item = tuple[int, int]
"""The place of a sum, and what is to be done about it (of bounds: the side)."""

Result = TypeVar("Result")
Work = Callable[[Search, Sequence[Item], Effort], Result]


@dataclass(frozen=True, slots=True, eq=False)
class Settled:
    """What a part brings home: proven bounds, how they were proven, and new tables."""

    places: IntArray
    low: IntArray
    high: IntArray
    proofs: IntArray
    tables: list[IntArray]


def in_waves(
    search: Search,
    items: Sequence[Item],
    work: Work[Result],
    effort: Effort,
    *,
    width: int,
    wanted: Callable[[Item], bool],
) -> Iterator[tuple[Sequence[Item], Result]]:
    """Do some work for each item, and bring home what was proven, found and made of it.

    Parameters
    ----------
    search
        The state of the whole, which changes as parts come home.
    items
        What is to be done, the most urgent first.
    work
        A function of a module: does it for some items, and gives what belongs to them.
    effort
        Budget, helpers, listener.
    width
        Items of one part.
    wanted
        Whether an item still needs work when its turn comes.
    """
    recipe = pickle.dumps(search.recipe)
    left = list(items)
    with _at_hand(recipe, search):
        while left and not effort.spent:
            size = max(LEAST_WAVE, -(-len(left) // SHARE))
            wave, left = _first(left, size, wanted)
            parts = [wave[k : k + width] for k in range(0, len(wave), width)]
            until, standing = Until.of(effort.left), search.standing()
            arguments = [
                (recipe, standing, search.pool.excerpt(p for p, _ in part), search.next_number(),
                 work, part, until)
                for part in parts
            ]  # fmt: skip
            done = len(items) - len(left) - len(wave)
            for k, (found, made) in shared(effort.executor, _worker, arguments):
                bring_home(search, found)
                search.keep()
                done += len(parts[k])
                effort.say(done, len(items))
                yield parts[k], made


def _first(
    items: list[Item], size: int, wanted: Callable[[Item], bool]
) -> tuple[list[Item], list[Item]]:
    """The first items that need work, and those that come after them."""
    wave: list[Item] = []
    for seen, item in enumerate(items):
        if len(wave) == size:
            return wave, items[seen:]
        if wanted(item):
            wave.append(item)
    return wave, []


def _worker(
    recipe: bytes,
    standing: Standing,
    excerpt: Excerpt,
    number: int,
    work: Work[Result],
    items: Sequence[Item],
    until: Until,
) -> tuple[Settled, Result]:
    """Run by a helper, or here: one part."""
    search = _made(recipe).apart(standing, excerpt, number)
    known = len(search.pool)
    owner = multiprocessing.parent_process()
    alive = owner is None or owner.is_alive()
    effort = Effort(until.deadline if alive else 0.0)
    made = work(search, items, effort)
    places = np.unique([place for place, _ in items])
    return Settled(
        places,
        search.low[places],
        search.high[places],
        search.proofs[:, places],
        [search.pool.at(place) for place in range(known, len(search.pool))],
    ), made


def bring_home(search: Search, found: Settled) -> None:
    """Take over what a part has found; tables are checked again."""
    for table in found.tables:
        search.pool.add(table)
    for k, place in enumerate(found.places.tolist()):
        search.prove(place, 0, int(found.low[k]), int(found.proofs[0, k]))
        search.prove(place, 1, int(found.high[k]), int(found.proofs[1, k]))


class _Made(threading.local):
    """The last search that was made in this thread: solvers do not go between threads."""

    recipe: bytes = b""
    search: Search | None = None


_LAST = _Made()


def _made(recipe: bytes) -> Search:
    """The search of a recipe; making it costs as much as many parts do, so the last is kept."""
    if _LAST.search is None or _LAST.recipe != recipe:
        _LAST.search, _LAST.recipe = Search(*pickle.loads(recipe)), recipe
    return _LAST.search


@contextmanager
def _at_hand(recipe: bytes, search: Search) -> Iterator[None]:
    """What is done here needs no search of its own."""
    before = _LAST.recipe, _LAST.search
    _LAST.recipe, _LAST.search = recipe, search
    try:
        yield
    finally:
        _LAST.recipe, _LAST.search = before
