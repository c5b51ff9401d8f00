"""Which hypercube moves keep every statement, and walks with them.

A move takes a set of axes that no statement covers as a whole, two levels on each of them, and one
setting of the others; it adds to the even corners of this cube and takes as much from the odd ones.
Every statement misses one of the axes, so along that axis what is added is taken away again: no
published sum changes. Walks therefore stay among the consistent tables as long as the cells stay in
bounds.
"""

from __future__ import annotations

import itertools
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from cellbounds.model.problem import Problem
from cellbounds.model.targets import Targets
from cellbounds.runtime.arrays import IntArray
from cellbounds.solvers.general.pool import TablePool
from cellbounds.statements import Release

__all__ = ["Guide", "Hypercubes", "Walker", "hypercubes", "moves_of"]

MOST_AXES = 6
"""Larger hypercubes have more than 64 corners, and hardly ever all of them are free."""

SNAPSHOTS, MOST_KEPT = 64, 500_000
"""Tables that a walk brings home at once, and cells of all of them together."""

AIMED, AIMED_BLINDLY = 15, 30
"""Proposals of 100 that go through the target, with and without a guide."""

RUN_STARTS = 8
"""Cells of a sum through which a run is looked for."""

OUT_OF_REACH = 2**62


def moves_of(release: Release) -> tuple[tuple[int, ...], ...]:
    """The smallest sets of axes that no statement covers: moves along them change no sum.

    A prior about single cells bounds them and covers nothing.
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
    return Hypercubes(lower, upper, lengths, strides, axes, sizes, target)


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
    ) -> None:
        self.problem, self.asked, self.shape, self.moves = problem, asked, shape, moves
        self._state = _random_state(0)

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

    def push(
        self,
        pool: TablePool,
        counts: IntArray,
        bound: tuple[int, int],
        goals: IntArray,
        proposals: int,
        guide: Guide | None = None,
    ) -> None:
        """Walk from a table towards the goal of one sum; every goal met on the way is kept.

        `bound` is the place of the sum and the side; `goals` are the proven bounds of all sums;
        `counts` changes in place.
        """
        from cellbounds.solvers.general.walk_kernel import walk

        place, side = bound
        sums, least, most, snapshots = self._buffers(pool, counts, goals)
        members = self.asked.members(place)
        near, weights, temperature = _guidance(guide, len(counts), members)
        left = proposals
        while left > 0:
            left, met = walk(
                self.cubes, counts, sums, members, place, 1 if side else -1,
                int(goals[side, place]), least, most, near, weights, temperature, left,
                AIMED if guide else AIMED_BLINDLY, self._state, snapshots,
            )  # fmt: skip
            for table in snapshots[:met]:
                pool.add(table)
            if met < len(snapshots):
                break
        pool.add(counts)

    def push_each(
        self,
        pool: TablePool,
        counts: IntArray,
        bounds: list[tuple[int, int]],
        goals: IntArray,
        proposals: int,
    ) -> None:
        """Blind walks towards several goals, one after the other, from a table on.

        `counts` changes in place; every goal met on the way is kept.
        """
        from cellbounds.solvers.general.walk_kernel import walk_each

        sums, least, most, snapshots = self._buffers(pool, counts, goals)
        unguided = np.zeros(len(counts))
        targets, sides = np.array(bounds, dtype=np.int64).T.copy()
        aims = goals[sides, targets]
        behind = self.asked.behind
        while len(targets):
            done, met = walk_each(
                self.cubes, counts, sums, behind.starts, behind.cells, targets, sides, aims,
                least, most, unguided, proposals, AIMED_BLINDLY, self._state, snapshots,
            )  # fmt: skip
            for table in snapshots[:met]:
                pool.add(table)
            targets, sides, aims = targets[done:], sides[done:], aims[done:]
        pool.add(counts)

    def _buffers(
        self, pool: TablePool, counts: IntArray, goals: IntArray
    ) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Sums, goals that no table has met yet, and room for the tables that will."""
        room = max(2, min(SNAPSHOTS, MOST_KEPT // len(counts)))
        return (
            self.asked.sums(counts).copy(),
            np.where(pool.ends[0] > goals[0], goals[0], -1),
            np.where(pool.ends[1] < goals[1], goals[1], OUT_OF_REACH),
            np.empty((room, len(counts)), dtype=np.int64),
        )


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
