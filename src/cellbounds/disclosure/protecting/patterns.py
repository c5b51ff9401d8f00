"""Patterns that protect, found quickly: cheapest paths one after another, then a clean-up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from cellbounds.disclosure.protecting.moves import NEAR, Attack, Paths
from cellbounds.disclosure.protecting.suppression_problem import Level, SuppressionProblem
from cellbounds.runtime.arrays import BoolArray
from cellbounds.runtime.budget import UNLIMITED, Budget
from cellbounds.runtime.scaled_floats import FloatArray

FREE = 1e-3
"""What a hidden cell costs beside shown ones: of two ways the one through fewer cells is taken."""


@dataclass(frozen=True, slots=True)
class Unprotectable(Exception):
    """No pattern keeps a level: even with everything hidden the attacker knows too much."""

    level: Level


@dataclass(frozen=True, slots=True, eq=False)
class Way:
    """Moves that keep a level: how far each cell goes up and down in them, and what they cost."""

    cost: float
    up: FloatArray
    down: FloatArray

    @property
    def moved(self) -> BoolArray:
        """The cells that move."""
        return np.asarray((self.up > NEAR) | (self.down > NEAR))

    def keeps(self, level: Level) -> bool:
        """Whether the same moves keep another level."""
        return level.kept(self.up[level.cell] + NEAR, self.down[level.cell] + NEAR)


def cheapest(paths: Paths, level: Level) -> Way | None:
    """The cheapest way to keep a level."""
    found = []
    for way in alternatives(level):
        moves = [paths.path(level.cell, sign, amount) for sign, amount in way]
        known = [move for move in moves if move is not None]
        if len(known) == len(moves):
            up = np.maximum.reduce([np.maximum(move, 0) for _, move in known])
            down = np.maximum.reduce([np.maximum(-move, 0) for _, move in known])
            found.append(Way(sum(cost for cost, _ in known), up, down))
    return min(found, key=lambda one: one.cost, default=None)


def alternatives(level: Level) -> list[tuple[tuple[int, int], ...]]:
    """The sets of moves, as sign and amount, each of which keeps a level."""
    least = max(level.width - level.above - level.below, 0)
    splits = [(level.above + least - down, level.below + down) for down in range(least + 1)]
    return [tuple(one for one in ((1, up), (-1, down)) if one[1]) for up, down in splits]


def pattern_of(
    problem: SuppressionProblem,
    levels: Sequence[Level],
    start: BoolArray,
    costs: FloatArray,
) -> BoolArray:
    """Hide, level by level, the cheapest cells that keep it, beside a pattern to start from.

    Raises
    ------
    Unprotectable
        If a level cannot be kept at all.
    """
    paths, hidden = Paths(problem), start | problem.forced
    charged = np.where(hidden, FREE, np.maximum(costs, FREE))
    paths.charge(charged)
    ways: list[Way] = []
    for level in levels:
        if any(way.keeps(level) for way in ways):
            continue  # what is hidden already keeps it
        found = cheapest(paths, level)
        if found is None:
            raise Unprotectable(level)
        ways.append(found)
        new = found.moved & ~hidden
        if new.any():
            hidden |= new
            charged[new] = FREE
            paths.charge(charged)
    return hidden


def unprotected(attack: Attack, levels: Iterable[Level], hidden: BoolArray) -> list[Level]:
    """The levels that a pattern does not keep."""
    attack.weigh(hidden.astype(float))
    return [level for level in levels if not _kept(attack, level)]


def _kept(attack: Attack, level: Level) -> bool:
    if level.kept(attack.up[level.cell] + NEAR, attack.down[level.cell] + NEAR):
        return True  # by moves that were found for others
    up, down = level.amounts
    reached = [
        attack.reach(level.cell, sign, most).amount + NEAR if most else 0.0
        for sign, most in ((1, up), (-1, down))
    ]
    return level.kept(*reached)


def cleaned(
    problem: SuppressionProblem, hidden: BoolArray, effort: Budget = UNLIMITED
) -> BoolArray:
    """Show again what need not be hidden, the dearest first.

    For each level the cells are kept that its moves use: showing another cell changes nothing for
    it.
    """
    hidden = hidden.copy()
    paths = Paths(problem, hidden)
    paths.charge(np.where(hidden, 1.0, np.inf))
    pool: list[Way] = []
    used: dict[Level, Way] = {}
    for level in problem.levels:
        used[level] = _known(pool, level, hidden) or _found(paths, level, pool)
    tries = np.flatnonzero(hidden & ~problem.forced)
    for cell in sorted(tries.tolist(), key=lambda one: -problem.costs[one]):
        if effort.spent:
            break
        hidden[cell] = False
        paths.bar(cell, True)
        try:
            used |= {
                level: _known(pool, level, hidden) or _found(paths, level, pool)
                for level, way in used.items()
                if way.moved[cell]
            }
        except Unprotectable:
            paths.bar(cell, False)
            hidden[cell] = True
    return hidden


def _known(pool: list[Way], level: Level, hidden: BoolArray) -> Way | None:
    """A way that was found for another level, keeps this one, and moves hidden cells only."""
    fitting = (way for way in reversed(pool) if way.keeps(level) and not way.moved[~hidden].any())
    return next(fitting, None)


def _found(paths: Paths, level: Level, pool: list[Way]) -> Way:
    found = cheapest(paths, level)
    if found is None:
        raise Unprotectable(level)
    pool.append(found)
    return found


def hopeless(problem: SuppressionProblem) -> tuple[Level, ...]:
    """The levels that no pattern keeps: proven in whole numbers with everything hidden."""
    attack = Attack(problem)
    attack.weigh((~problem.fixed).astype(float))
    return tuple(one for one in problem.levels if not _kept(attack, one) and _refuted(attack, one))


def _refuted(attack: Attack, level: Level) -> bool:
    """Whether multipliers prove that no way to keep a level exists, whatever is hidden."""
    return all(
        any(attack.never(level.cell, sign, amount) for sign, amount in way)
        for way in alternatives(level)
    )
