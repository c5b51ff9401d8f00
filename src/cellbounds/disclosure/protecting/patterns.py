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

Support = frozenset[int]
"""The cells that a move moves."""


@dataclass(frozen=True, slots=True)
class Unprotectable(Exception):
    """No pattern keeps a level: even with everything hidden the attacker knows too much."""

    level: Level


def cheapest(paths: Paths, level: Level) -> tuple[float, FloatArray] | None:
    """The cheapest way to keep a level: its cost, and which cells move."""
    found = []
    for way in alternatives(level):
        moves = [paths.path(level.cell, sign, amount) for sign, amount in way]
        if all(move is not None for move in moves):
            known = [move for move in moves if move is not None]
            moved = np.max([np.abs(move) for _, move in known], axis=0)
            found.append((sum(cost for cost, _ in known), moved))
    return min(found, key=lambda one: one[0], default=None)


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
    for level in levels:
        found = cheapest(paths, level)
        if found is None:
            raise Unprotectable(level)
        new = (found[1] > NEAR) & ~hidden
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
    used: dict[Level, Support] = {}
    for level in problem.levels:
        found = cheapest(paths, level)
        if found is None:
            raise Unprotectable(level)
        used[level] = _support(found[1])
    tries = np.flatnonzero(hidden & ~problem.forced)
    for cell in sorted(tries.tolist(), key=lambda one: -problem.costs[one]):
        if effort.spent:
            break
        paths.bar(cell, True)
        others = {}
        for level in (one for one, support in used.items() if cell in support):
            found = cheapest(paths, level)
            if found is None:
                paths.bar(cell, False)
                break
            others[level] = _support(found[1])
        else:
            hidden[cell] = False
            used.update(others)
    return hidden


def _support(moved: FloatArray) -> Support:
    return frozenset(np.flatnonzero(moved > NEAR).tolist())


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
