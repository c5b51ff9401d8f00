"""Which hypercube moves keep every statement, and walks with them."""

from __future__ import annotations

import itertools
from copy import copy
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from cellbounds.model.problem import Problem
from cellbounds.model.targets import Targets
from cellbounds.runtime.arrays import IntArray
from cellbounds.solvers.general.pool import Pool
from cellbounds.statements import Release

__all__ = ["Ground", "Guide", "Walker", "moves_of"]

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
    everything = frozenset(domain.names)
    faces = []
    for statement in release.statements:
        if not statement.variables:
            continue
        about = statement.base_variables(domain)
        limits = statement.bounds_counts and not statement.published
        if limits and not statement.lists_values and frozenset(statement.variables) == everything:
            continue
        faces.append(frozenset(domain.axes(sorted(about))))
    faces.append(frozenset())
    wide = [axis for axis, levels in enumerate(domain.shape) if levels > 1]
    found: list[frozenset[int]] = []
    for size in range(1, min(MOST_AXES, len(wide)) + 1):
        for axes in itertools.combinations(wide, size):
            chosen = frozenset(axes)
            if any(chosen <= face for face in faces) or any(one <= chosen for one in found):
                continue
            found.append(chosen)
    return tuple(tuple(sorted(one)) for one in found)


@dataclass(frozen=True, slots=True, eq=False)
class Guide:
    """A table of real numbers to stay near, and how loosely."""

    table: IntArray
    temperature: float


class Ground(NamedTuple):
    """What every walk over the tables of one problem needs, in a form that can be compiled.

    Cells lie between `lower` and `upper` and belong to the sums `asked`. A move takes one line of
    `axes`, of which the first `sizes` count.
    """

    lower: IntArray
    upper: IntArray
    shape: IntArray
    strides: IntArray
    axes: IntArray
    sizes: IntArray
    asked: IntArray


@dataclass(slots=True, eq=False)
class Walker:
    """Walks from table to table of one problem, feeding a pool."""

    problem: Problem
    asked: Targets
    shape: tuple[int, ...]
    moves: tuple[tuple[int, ...], ...]
    seed: int = 1
    _state: IntArray = field(init=False)
    _ground: Ground | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._state = np.array([self.seed * 0x9E3779B97F4A7C15 % 2**64 or 1], dtype=np.uint64)

    def branch(self, number: int) -> Walker:
        """The same walker with other random numbers, which depend on `number` alone."""
        other = copy(self)
        mixed = (number + 1) * 0x9E3779B97F4A7C15 % 2**64
        mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        other._state = np.array([(mixed ^ (mixed >> 31)) or 1], dtype=np.uint64)
        return other

    @property
    def possible(self) -> bool:
        """Whether there are moves, and sums that they can be counted for."""
        return bool(self.moves) and self.asked.of is not None

    @property
    def ground(self) -> Ground:
        """What the compiled walks need, made when first asked for."""
        if self._ground is None:
            assert self.asked.of is not None
            shape = np.array(self.shape, dtype=np.int64)
            strides = np.ones(len(shape), dtype=np.int64)
            strides[:-1] = np.cumprod(shape[:0:-1])[::-1]
            axes = np.zeros((len(self.moves), MOST_AXES), dtype=np.int64)
            for row, chosen in enumerate(self.moves):
                axes[row, : len(chosen)] = chosen
            sizes = np.array([len(chosen) for chosen in self.moves], dtype=np.int64)
            lower, upper = self.problem.lower, self.problem.upper
            self._ground = Ground(lower, upper, shape, strides, axes, sizes, self.asked.of)
        return self._ground

    def longest_run(self, counts: IntArray, place: int) -> tuple[IntArray, int] | None:
        """A direction that raises one sum by one a step, and how many steps it can be followed."""
        from cellbounds.solvers.general.walk_kernel import longest_move

        best = np.zeros(65, dtype=np.int64)
        found: tuple[IntArray, int] | None = None
        for base in self.asked.members(place)[:RUN_STARTS].tolist():
            steps = longest_move(self.ground, counts, place, base, best)
            if steps and (found is None or steps > found[1]):
                direction = np.zeros(len(counts), dtype=np.int64)
                corners = best[1 : 1 + best[0]]
                parity = np.array([bin(k).count("1") % 2 for k in range(len(corners))])
                direction[corners] = 1 - 2 * parity
                found = direction, int(steps)
        return found

    def push(
        self,
        pool: Pool,
        counts: IntArray,
        bound: tuple[int, int],
        goals: tuple[IntArray, IntArray],
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
            left, kept = walk(
                self.ground, counts, sums, members, place, 1 if side else -1,
                int(goals[side][place]), least, most, near, weights, temperature, left,
                AIMED if guide else AIMED_BLINDLY, self._state, snapshots,
            )  # fmt: skip
            for table in snapshots[:kept]:
                pool.add(table)
            if kept < len(snapshots):
                break
        pool.add(counts)

    def push_each(
        self,
        pool: Pool,
        counts: IntArray,
        bounds: list[tuple[int, int]],
        goals: tuple[IntArray, IntArray],
        proposals: int,
    ) -> None:
        """Blind walks towards several goals, one after the other, from a table on.

        `counts` changes in place; every goal met on the way is kept.
        """
        from cellbounds.solvers.general.walk_kernel import walk_each

        sums, least, most, snapshots = self._buffers(pool, counts, goals)
        unguided = np.zeros(len(counts))
        targets, sides = np.array(bounds, dtype=np.int64).T.copy()
        aims = np.where(sides == 0, goals[0][targets], goals[1][targets])
        behind = self.asked.behind
        while len(targets):
            done, kept = walk_each(
                self.ground, counts, sums, behind.starts, behind.cells, targets, sides, aims,
                least, most, unguided, proposals, AIMED_BLINDLY, self._state, snapshots,
            )  # fmt: skip
            for table in snapshots[:kept]:
                pool.add(table)
            targets, sides, aims = targets[done:], sides[done:], aims[done:]
        pool.add(counts)

    def _buffers(
        self, pool: Pool, counts: IntArray, goals: tuple[IntArray, IntArray]
    ) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Sums, goals that no table has met yet, and room for the tables that will."""
        room = max(2, min(SNAPSHOTS, MOST_KEPT // len(counts)))
        return (
            self.asked.sums(counts).copy(),
            np.where(pool.least > goals[0], goals[0], -1),
            np.where(pool.most < goals[1], goals[1], OUT_OF_REACH),
            np.empty((room, len(counts)), dtype=np.int64),
        )


def _guidance(
    guide: Guide | None, size: int, members: IntArray
) -> tuple[IntArray, IntArray, float]:
    if guide is None:
        return np.zeros(size), np.zeros(size), 0.0
    # A count may stray from the guide like a Poisson one; the target itself goes its own way.
    weights = 1 / (guide.table + 0.5)
    weights[members] = 0
    return guide.table, weights, guide.temperature
