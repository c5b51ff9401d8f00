"""Two-way tables that grow, given both margins: the cost of counting, until it is refused."""

from __future__ import annotations

from collections.abc import Iterator

import cellbounds as cb
from benchmarks.measuring.apart import apart
from benchmarks.problems.cases import random_table
from benchmarks.problems.owned import all_margins
from benchmarks.profiles import Profile
from benchmarks.results import Record
from benchmarks.sections.counting import questions
from cellbounds.inference.chooser import exact_fibre
from cellbounds.inference.protocol import DEFAULT_EFFORT

SMALLEST = 50  # people
PEOPLE_A_CELL = 5
FEWEST_STEPS = 2**10


def wider(doublings: int) -> Iterator[tuple[tuple[int, int], int]]:
    """Tables of two rows and 2, 4, 8, ... columns, with so many people a cell."""
    for doubling in range(1, doublings + 2):
        width = 2**doubling
        yield (2, width), 2 * width * PEOPLE_A_CELL


def larger(shape: tuple[int, int], doublings: int) -> Iterator[tuple[tuple[int, int], int]]:
    """Tables of one shape, with N doubled again and again."""
    for doubling in range(doublings + 1):
        yield shape, SMALLEST * 2**doubling


def measure(title: str, points: Iterator[tuple[tuple[int, int], int]], profile: Profile) -> Record:
    """Count point after point, until one is refused."""
    plan = profile.counting
    found = []
    for shape, total in points:
        table = cb.read_table(random_table(shape, total, profile.seed))
        release = all_margins(table, 1)
        answer = apart(counted, release, plan.repeat_seconds, limit=plan.limit)
        found.append({"shape": list(shape), "total": total, **answer})
        if "count" not in answer:
            break
    return {"series": title, "seed": profile.seed, "points": found}


def counted(release: cb.Release, budget: float) -> Record:
    """Count, and find the least effort that allows it unless counting was long already."""
    found = questions.count(release, budget)
    if "refused" in found or found["seconds"] > questions.LONG:
        return found
    return {**found, "effort": least_effort(release)}


def least_effort(release: cb.Release) -> int:
    """The least power of two that suffices as an effort, starting from a small one."""
    effort = FEWEST_STEPS
    while effort < DEFAULT_EFFORT and not suffices(release, effort):
        effort *= 2
    return effort


def suffices(release: cb.Release, effort: float) -> bool:
    """Tell whether the tables are counted within an effort."""
    try:
        exact_fibre(release, effort).count()
    except (cb.TooMuchWork, cb.UnsupportedRelease):
        return False
    return True
