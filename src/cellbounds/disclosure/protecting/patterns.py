"""Patterns that protect, found quickly: cheapest paths one after another, then a clean-up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from cellbounds.disclosure.protecting.local_paths import LocalPaths, paths_in
from cellbounds.disclosure.protecting.moves import NEAR, Attack, Paths
from cellbounds.disclosure.protecting.suppression_problem import Level, Move, SuppressionProblem
from cellbounds.runtime.arrays import BoolArray, IntArray
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
    """Moves that keep a level: how far cells go up and down in them, and what they cost."""

    cost: float
    up: Move
    down: Move

    @property
    def moved(self) -> IntArray:
        """The cells that move."""
        return np.union1d(self.up.cells, self.down.cells)

    def keeps(self, level: Level) -> bool:
        """Whether the same moves keep another level."""
        return level.kept(self.up[level.cell] + NEAR, self.down[level.cell] + NEAR)


class Ways:
    """The ways found so far, by the cells that they move."""

    def __init__(self) -> None:
        self._by_cell: dict[int, list[Way]] = {}

    def add(self, way: Way) -> None:
        """Remember a way."""
        for cell in way.moved.tolist():
            self._by_cell.setdefault(cell, []).append(way)

    def keeping(self, level: Level, hidden: BoolArray) -> Way | None:
        """The last one that keeps a level and moves hidden cells only."""
        for way in reversed(self._by_cell.get(level.cell, ())):
            if way.keeps(level) and hidden[way.moved].all():
                return way
        return None


def cheapest(paths: Paths | LocalPaths, level: Level) -> Way | None:
    """The cheapest way to keep a level."""
    found = []
    for way in alternatives(level):
        moves = [paths.path(level.cell, sign, amount) for sign, amount in way]
        known = [move for move in moves if move is not None]
        if len(known) == len(moves):
            sides = (_farthest([move for _, move in known], sign) for sign in (1, -1))
            found.append(Way(sum(cost for cost, _ in known), *sides))
    return min(found, key=lambda one: one.cost, default=None)


def _farthest(moves: Sequence[Move], sign: int) -> Move:
    """How far cells go in one direction in any of some moves."""
    far: dict[int, float] = {}
    for move in moves:
        ahead = sign * move.amounts
        for place in np.flatnonzero(ahead > NEAR).tolist():
            cell = int(move.cells[place])
            far[cell] = max(far.get(cell, 0.0), float(ahead[place]))
    cells = sorted(far)
    return Move(np.array(cells, dtype=np.int64), np.array([far[one] for one in cells]))


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
    effort: Budget = UNLIMITED,
) -> BoolArray:
    """Hide, level by level, the cheapest cells that keep it, beside a pattern to start from.

    Everything that may be hidden is, if the effort is spent before all levels are kept.

    Raises
    ------
    Unprotectable
        If a level cannot be kept at all.
    """
    paths, hidden = paths_in(problem), start | problem.forced
    charged = np.where(hidden, FREE, np.maximum(costs, FREE))
    paths.charge(charged)
    ways = Ways()
    for level in levels:
        if ways.keeping(level, hidden) is not None:
            continue  # what is hidden already keeps it
        if effort.spent:
            return hidden | ~problem.fixed
        found = cheapest(paths, level)
        if found is None:
            raise Unprotectable(level)
        ways.add(found)
        new = found.moved[~hidden[found.moved]]
        if len(new):
            hidden[new] = True
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
    paths = paths_in(problem, hidden)
    paths.charge(np.where(hidden, 1.0, np.inf))
    ways = Ways()
    used: dict[Level, Way] = {}
    users: dict[int, set[Level]] = {}

    def use(level: Level, way: Way) -> None:
        used[level] = way
        for cell in way.moved.tolist():
            users.setdefault(cell, set()).add(level)

    for level in problem.levels:
        if effort.spent:
            return hidden
        use(level, _kept_by(paths, level, hidden, ways))
    tries = np.flatnonzero(hidden & ~problem.forced)
    for cell in sorted(tries.tolist(), key=lambda one: -problem.costs[one]):
        if effort.spent:
            break
        hidden[cell] = False
        paths.bar(cell, True)
        asking = [one for one in users.get(cell, ()) if cell in used[one].moved]
        asking.sort(key=lambda one: (one.cell, one.above, one.below, one.width))
        try:
            found = [(level, _kept_by(paths, level, hidden, ways)) for level in asking]
        except Unprotectable:
            paths.bar(cell, False)
            hidden[cell] = True
            continue
        for level, way in found:
            use(level, way)
    return hidden


def _kept_by(paths: Paths | LocalPaths, level: Level, hidden: BoolArray, ways: Ways) -> Way:
    """A way that keeps a level: one that was found for another, or a new one."""
    found = ways.keeping(level, hidden)
    if found is None:
        found = cheapest(paths, level)
        if found is None:
            raise Unprotectable(level)
        ways.add(found)
    return found


def hopeless(problem: SuppressionProblem, effort: Budget = UNLIMITED) -> tuple[Level, ...]:
    """The levels that no pattern keeps: proven in whole numbers with everything hidden.

    Those that are not looked at before the effort is spent are left out.
    """
    levels: Sequence[Level] = problem.levels
    paths = paths_in(problem)
    if isinstance(paths, LocalPaths):
        # What has a way nearby is not hopeless; the whole table is looked at for the others.
        everything, ways = ~problem.fixed, Ways()
        levels = [
            one for one in levels if not effort.spent and not _found(paths, one, everything, ways)
        ]
    attack = Attack(problem)
    attack.weigh((~problem.fixed).astype(float))
    return tuple(
        one
        for one in levels
        if not effort.spent and not _kept(attack, one) and _refuted(attack, one)
    )


def _found(paths: LocalPaths, level: Level, hidden: BoolArray, ways: Ways) -> bool:
    try:
        return bool(_kept_by(paths, level, hidden, ways))
    except Unprotectable:
        return False


def _refuted(attack: Attack, level: Level) -> bool:
    """Whether multipliers prove that no way to keep a level exists, whatever is hidden."""
    return all(
        any(attack.never(level.cell, sign, amount) for sign, amount in way)
        for way in alternatives(level)
    )
