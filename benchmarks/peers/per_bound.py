"""The loop that both general solvers share: one optimisation per bound, or a sample of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from benchmarks.arrays import IntArray

UNKNOWN = -1


@dataclass(frozen=True, slots=True, eq=False)
class SolverAnswer:
    """The bounds a solver proved, and what it took.

    Parameters
    ----------
    lower, upper : IntArray
        Proven optima; `UNKNOWN` where a bound was not asked for, or not proven in time.
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
    def extrapolated(self) -> bool:
        """Whether `seconds` stands for more bounds than were solved."""
        return self.asked < self.possible

    @property
    def seconds(self) -> float:
        """Time for all bounds, in proportion to the sample; too low if any is unsolved."""
        return self.seconds_building + self.seconds_solving * self.possible / self.asked


def solve_each(
    shape: tuple[int, int],
    build: Callable[[], Callable[[int, int, bool], int | None]],
    *,
    max_bounds: int | None,
    seed: int,
) -> SolverAnswer:
    """Solve for the bounds of every cell, or of a random sample of cells and directions.

    Parameters
    ----------
    shape : tuple of int
        Rows and columns of the table.
    build : callable
        Builds the model and returns ``solve(row, column, maximize)``, which gives the proven
        optimum or None if time ran out.
    max_bounds : int or None
        Size of the sample; None for every bound.
    seed : int
        Chooses the sample.
    """
    started = perf_counter()
    solve = build()
    built = perf_counter()
    rows, columns = shape
    possible = 2 * rows * columns
    asked = possible if max_bounds is None else min(max_bounds, possible)
    sample = np.arange(possible)
    if asked < possible:
        sample = np.sort(np.random.default_rng(seed).choice(possible, size=asked, replace=False))
    optima = np.full((rows, columns, 2), UNKNOWN, dtype=np.int64)
    unsolved = 0
    for index in sample.tolist():
        cell, maximize = divmod(index, 2)
        row, column = divmod(cell, columns)
        optimum = solve(row, column, bool(maximize))
        if optimum is None:
            unsolved += 1
        else:
            optima[row, column, maximize] = optimum
    solving = perf_counter() - built
    return SolverAnswer(
        optima[..., 0], optima[..., 1], built - started, solving, asked, possible, unsolved
    )


def is_consistent(table: IntArray, rates: IntArray, scale: int, total: int) -> bool:
    """Check in integers that a table has the published total and, within one unit, the rates."""
    row_sums = table.sum(axis=1, keepdims=True)
    return bool(
        table.min() >= 0
        and row_sums.min() >= 1
        and row_sums.sum() == total
        and np.all(np.abs(scale * table - rates * row_sums) <= row_sums)
    )
