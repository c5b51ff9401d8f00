"""The loop that all general solvers share: one optimisation per bound, or a sample of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import TypeAlias

import numpy as np

from benchmarks.arrays import IntArray

UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class Claim:
    """What a solver says of one bound.

    Parameters
    ----------
    optimum : int or None
        The optimum that it calls proven; None if time ran out or its table fails in integers.
    best : int or None
        The count in the best table found, checked in integers.
    limit : float
        What it has proven of the optimum; not a number if that is not known.
    seconds : float
        What it took.
    """

    optimum: int | None
    best: int | None
    limit: float
    seconds: float


Ask: TypeAlias = Callable[[int, bool], Claim]
"""A cell by its number, and whether to maximize it."""


@dataclass(frozen=True, slots=True, eq=False)
class SolverAnswer:
    """The bounds a solver proved, and what it took.

    Parameters
    ----------
    lower, upper : IntArray
        Proven optima by cell; `UNKNOWN` where a bound was not asked for, or not proven in time.
    seconds_building, seconds_solving : float
        Time to build the model once, and to solve all the bounds that were asked for.
    asked, possible, unsolved : int
        How many bounds were asked for, how many there are, and how many of those asked for
        ran into the time limit.
    """

    lower: IntArray
    upper: IntArray
    seconds_building: float
    seconds_solving: float
    asked: int
    possible: int
    unsolved: int

    @property
    def seconds(self) -> float:
        """Time for all bounds, in proportion to the sample; too low if any is unsolved."""
        return self.seconds_building + self.seconds_solving * self.possible / self.asked


def solve_each(
    cells: int, build: Callable[[], Ask], *, max_bounds: int | None, seed: int
) -> SolverAnswer:
    """Solve for the bounds of every cell, or of a random sample of cells and directions.

    Parameters
    ----------
    cells : int
        The number of cells.
    build : callable
        Builds the model and returns what can be asked of it.
    max_bounds : int or None
        Size of the sample; None for every bound.
    seed : int
        Chooses the sample.
    """
    started = perf_counter()
    ask = build()
    built = perf_counter()
    possible = 2 * cells
    asked = possible if max_bounds is None else min(max_bounds, possible)
    sample = np.arange(possible)
    if asked < possible:
        sample = np.sort(np.random.default_rng(seed).choice(possible, size=asked, replace=False))
    optima = np.full((cells, 2), UNKNOWN, dtype=np.int64)
    unsolved = 0
    for index in sample.tolist():
        cell, maximize = divmod(index, 2)
        optimum = ask(cell, bool(maximize)).optimum
        if optimum is None:
            unsolved += 1
        else:
            optima[cell, maximize] = optimum
    solving = perf_counter() - built
    return SolverAnswer(
        optima[:, 0], optima[:, 1], built - started, solving, asked, possible, unsolved
    )
