"""Which hypercube moves keep every statement, and walks with them.

A move takes a set of axes that no statement covers as a whole, two levels on each of them, and one
setting of the others; it adds to the even corners of this cube and takes as much from the odd ones.
Every statement misses one of the axes, so along that axis what is added is taken away again: no
published sum changes. Walks therefore stay among the consistent tables as long as the cells stay in
bounds.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from cellbounds.model.problem import Problem
from cellbounds.model.targets import Targets
from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.runtime.budget import UNLIMITED, Budget
from cellbounds.solvers.general.pool import TablePool
from cellbounds.statements import Release

MOST_AXES = 6
"""Larger hypercubes have more than 64 corners, and hardly ever all of them are free."""

SNAPSHOTS, MOST_KEPT = 64, 500_000
"""Tables that a walk brings home at once, and cells of all of them together."""

AIMED, AIMED_BLINDLY = 15, 30
"""Proposals of 100 that go through the target, with and without a guide."""

AT_ONCE = 500_000
"""Proposals between two looks at the clock: about a tenth of a second."""

SWEEP = 200
"""Proposals for each cell that should move, between two tables that are looked at."""

IDLE_SWEEPS = 5
"""Tables in a row that may bring nothing new before a walk is given up."""

REPAIRING, REPAIRING_ONE = 0.24, 0.4
"""Temperatures of repairs: how readily more may be out of limits for a while. Where much is out it
would not get less when it is warm; where one cell is, what shuts it in would stay when it is cold.
"""

SWAPS = 20_000
"""Pairs of cells that are tried for a swap through a cell: about a millisecond."""

RUN_STARTS = 8
"""Cells of a sum through which a run is looked for."""

OUT_OF_REACH = 2**62
"""A goal that no sum meets."""


def moves_of(release: Release) -> tuple[tuple[int, ...], ...]:
    """The smallest sets of axes that no statement covers: moves along them change no sum.

    Knowledge of single cells bounds them and covers nothing.
    """
    domain = release.domain
    faces = [frozenset[int]()]
    for statement in release.statements:
        limits = statement.bounds_counts and not statement.published
        single = frozenset(statement.variables) == frozenset(domain.names)
        if statement.variables and not (limits and single and not statement.lists_values):
            faces.append(frozenset(domain.axes(sorted(statement.base_variables(domain)))))
    wide = [axis for axis, levels in enumerate(domain.shape) if levels > 1]
    smallest: list[frozenset[int]] = []
    for size in range(1, min(MOST_AXES, len(wide)) + 1):
        for axes in map(frozenset, itertools.combinations(wide, size)):
            covered = any(axes <= face for face in faces)
            if not covered and not any(smaller <= axes for smaller in smallest):
                smallest.append(axes)
    return tuple(tuple(sorted(axes)) for axes in smallest)


class Hypercubes(NamedTuple):
    """The moves over the tables of one problem, in a form that can be compiled.

    Cells lie between `lower` and `upper` and belong to the sums `target`. A move takes one line of
    `axes`, of which the first `sizes` count.
    """

    lower: IntArray
    upper: IntArray
    shape: IntArray
    strides: IntArray
    axes: IntArray
    sizes: IntArray
    target: IntArray


def hypercubes(
    shape: tuple[int, ...],
    moves: tuple[tuple[int, ...], ...],
    *,
    lower: IntArray,
    upper: IntArray,
    target: IntArray,
) -> Hypercubes:
    """Lay moves out for compiled code."""
    lengths = np.array(shape, dtype=np.int64)
    strides = np.append(np.cumprod(lengths[:0:-1])[::-1], 1).astype(np.int64)
    axes = np.zeros((len(moves), MOST_AXES), dtype=np.int64)
    for row, chosen in enumerate(moves):
        axes[row, : len(chosen)] = chosen
    sizes = np.array([len(chosen) for chosen in moves], dtype=np.int64)
    return Hypercubes(
        lower=lower,
        upper=upper,
        shape=lengths,
        strides=strides,
        axes=axes,
        sizes=sizes,
        target=target,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Guide:
    """A table of real numbers to stay near, and how loosely."""

    table: IntArray
    temperature: float


class Walker:
    """Walks from table to table of one problem, feeding a pool."""

    def __init__(
        self,
        problem: Problem,
        asked: Targets,
        shape: tuple[int, ...],
        moves: tuple[tuple[int, ...], ...],
        *,
        at_once: int = AT_ONCE,
    ) -> None:
        self.problem, self.asked, self.shape, self.moves = problem, asked, shape, moves
        self._state, self._at_once = _random_state(0), at_once

    def branch(self, number: int) -> Walker:
        """The same walker with other random numbers, which depend on `number` alone."""
        other = copy(self)
        other._state = _random_state(number)
        return other

    @property
    def possible(self) -> bool:
        """Whether there are moves, and sums that they can be counted for."""
        return bool(self.moves) and self.asked.of is not None

    @cached_property
    def cubes(self) -> Hypercubes:
        """What the compiled walks need."""
        # Compiled walks draw a move without looking whether there is one.
        assert self.moves
        assert self.asked.of is not None
        problem = self.problem
        return hypercubes(
            self.shape, self.moves, lower=problem.lower, upper=problem.upper, target=self.asked.of
        )

    def longest_run(self, counts: IntArray, place: int) -> tuple[IntArray, int] | None:
        """A direction that raises one sum by one a step, and how many steps it can be followed."""
        from cellbounds.solvers.general.walk_kernel import SIGNS, longest_move

        corners = np.zeros(len(SIGNS), dtype=np.int64)
        longest: tuple[IntArray, int] | None = None
        for base in self.asked.members(place)[:RUN_STARTS].tolist():
            many, steps = longest_move(self.cubes, counts, place, base, corners)
            if steps and (longest is None or steps > longest[1]):
                direction = np.zeros(len(counts), dtype=np.int64)
                direction[corners[:many]] = SIGNS[:many]
                longest = direction, int(steps)
        return longest

    def around(self, counts: IntArray, wanted: Callable[[], BoolArray]) -> Iterator[IntArray]:
        """Tables that differ from each other in many cells, as long as they help.

        `wanted` says which cells should still move; the walk ends when there are none, or when
        they have not become fewer for a while. `counts` changes in place.
        """
        from cellbounds.solvers.general.walk_kernel import wander

        least, most = counts.copy(), counts.copy()
        left, idle = wanted(), 0
        while left.any() and idle < IDLE_SWEEPS:
            proposals = max(SWEEP * int(left.sum()), len(counts))
            wander(self.cubes, counts, least, most, np.flatnonzero(left), proposals, self._state)
            yield counts.copy()
            now = wanted()
            idle = 0 if 100 * int(now.sum()) < 99 * int(left.sum()) else idle + 1
            left = now

    def push(
        self,
        pool: TablePool,
        counts: IntArray,
        bounds: Sequence[tuple[int, int]],
        goals: IntArray,
        proposals: int,
        guide: Guide | None = None,
        effort: Budget = UNLIMITED,
    ) -> None:
        """Walk from a table towards the goals of some sums, one after the other.

        `bounds` are the places of the sums and the sides; `goals` are the proven bounds of all
        sums, and every one that is met on the way is kept; `counts` changes in place. A guide is
        for one sum. What the effort leaves no time for is left out.
        """
        from cellbounds.solvers.general.walk_kernel import walk_each

        targets, sides = np.array(bounds, dtype=np.int64).T.copy()
        # Goals that no table has met yet, or that are to be met once more.
        least = np.where(pool.ends[0] > goals[0], goals[0], -1)
        most = np.where(pool.ends[1] < goals[1], goals[1], OUT_OF_REACH)
        for side, unmet in enumerate((least, most)):
            aimed = targets[sides == side]
            unmet[aimed] = goals[side, aimed]
        behind, sums = self.asked.behind, self.asked.sums(counts).copy()
        near, weights, temperature = _guidance(guide, len(counts), self.asked.members(targets[0]))
        room = max(2, min(SNAPSHOTS, MOST_KEPT // len(counts)))
        snapshots = np.empty((room, len(counts)), dtype=np.int64)
        left = proposals
        while len(targets) and not effort.spent:
            done, left, met = walk_each(
                self.cubes, counts, sums, behind.starts, behind.cells, targets, sides, goals,
                least, most, near, weights, temperature, left, proposals,
                self._at_once, AIMED if guide else AIMED_BLINDLY, self._state, snapshots,
            )  # fmt: skip
            for table in snapshots[:met]:
                pool.add(table)
            targets, sides = targets[done:], sides[done:]
        pool.add(counts)

    @cached_property
    def _free(self) -> BoolArray:
        """Which sets of three axes no statement covers."""
        axes = range(len(self.shape))
        free = np.zeros((len(axes),) * 3, dtype=bool)
        short = [set(move) for move in self.moves if len(move) <= free.ndim]
        for chosen in itertools.product(axes, repeat=free.ndim) if short else ():
            free[chosen] = any(move <= set(chosen) for move in short)
        return free

    def swapped(self, counts: IntArray, cell: int) -> bool:
        """Take one from a cell, in place, by a cube along three sets of axes; whether it can be.

        Cubes along single axes hardly ever fit where a table is sparse; these are drawn from the
        cells that hold somebody.
        """
        from cellbounds.solvers.general.walk_kernel import swap

        if not self._free.any() or counts[cell] == self.problem.lower[cell]:
            return False
        occupied = np.flatnonzero(counts > self.problem.lower)
        return bool(swap(self.cubes, counts, self._free, occupied, cell, SWAPS, self._state))

    def repaired(
        self,
        counts: IntArray,
        lower: IntArray,
        upper: IntArray,
        proposals: int,
        effort: Budget = UNLIMITED,
        temperature: float = REPAIRING,
    ) -> bool:
        """Lead counts with the right sums, in place, into limits of the cells; whether they are."""
        from cellbounds.solvers.general.walk_kernel import repair

        while proposals > 0 and not effort.spent:
            now = min(proposals, self._at_once)
            if not repair(self.cubes, counts, lower, upper, now, temperature, self._state):
                return True
            proposals -= now
        return False


def _random_state(number: int) -> IntArray:
    """Where the random numbers of a walker begin.

    Mixed: states that are a step of the generator apart would give the same numbers.
    """
    mixed = (number + 1) * 0x9E3779B97F4A7C15 % 2**64
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    return np.array([mixed ^ (mixed >> 31)], dtype=np.uint64)


def _guidance(
    guide: Guide | None, size: int, members: IntArray
) -> tuple[IntArray, IntArray, float]:
    if guide is None:
        return np.zeros(size), np.zeros(size), 0.0
    # A count may stray from the guide like a Poisson one; the target itself goes its own way.
    weights = 1 / (guide.table + 0.5)
    weights[members] = 0
    return guide.table, weights, guide.temperature
