"""What every protecting pattern satisfies: inequalities over hide-or-show variables, from attacks.

An attack that fails proves, by its multipliers, that more has to be hidden (`Attack.cut`). For a
count that must not be exactly known it must be able to go up *or* down by one: either the
inequality for up holds or that for down, so the larger of both weights counts for each cell; and
with a further variable for the direction, each holds by itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from cellbounds.disclosure.protecting.halves import halves, matrix_of
from cellbounds.disclosure.protecting.moves import NEAR, Attack, Reached
from cellbounds.disclosure.protecting.suppression_problem import Level, SuppressionProblem
from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.runtime.scaled_floats import FloatArray

VIOLATED = 1e-3
"""By how much a fractional pattern must miss an inequality for it to be worth adding."""


class Covers:
    """The inequalities found so far, as rows over cells that may be hidden, then directions.

    Attributes
    ----------
    cells
        The cells that a pattern may hide or show.
    directions
        The levels that hold by a move up or down, by the number of their variable: 1 is up.
    """

    def __init__(self, problem: SuppressionProblem) -> None:
        self.problem, self.attack = problem, Attack(problem)
        self.cells = np.flatnonzero(~problem.forced & ~problem.fixed)
        either = [one for one in problem.levels if one.width == 1 and not one.above + one.below]
        falling = [one for one in either if problem.room_below[one.cell] >= 1]
        self.directions = {level: len(self.cells) + n for n, level in enumerate(falling)}
        self.size = len(self.cells) + len(falling)
        self.rows: list[tuple[IntArray, IntArray, int]] = []
        self._seen: set[bytes] = set()

    def whole(self, shares: FloatArray) -> FloatArray:
        """How much of each cell of the problem is hidden."""
        weights = self.problem.forced.astype(float)
        weights[self.cells] = np.clip(shares[: len(self.cells)], 0, 1)
        return weights

    def pattern(self, shares: FloatArray) -> BoolArray:
        """The pattern of variables that are 0 or 1."""
        return self.whole(shares) > 0.5

    def separate(self, shares: FloatArray) -> int:
        """Add inequalities that a fractional pattern misses; how many.

        Cells move by at most what is needed, times their share: what a single cell can contribute
        to an inequality whose weights are all 0 or what is needed, as most are.
        """
        hidden, before = self.whole(shares), len(self.rows)
        for most in sorted({max(level.amounts) for level in self.problem.levels}):
            self.attack.weigh(hidden, most)
            for level in self.problem.levels:
                if max(level.amounts) == most:
                    self._cut(level, hidden, shares, VIOLATED)
        return len(self.rows) - before

    def combine(self, shares: FloatArray) -> int:
        """Add halves of sums of inequalities that a fractional pattern misses; the work of it."""
        found, work = halves(self.rows, shares)
        self.take(found)
        return work

    def refute(self, shares: FloatArray, levels: list[Level]) -> None:
        """Add inequalities that a pattern misses which does not keep some levels."""
        hidden, before = self.whole(shares), len(self.rows)
        self.attack.weigh(hidden)
        for level in levels:
            self._cut(level, hidden, shares, NEAR)
        if len(self.rows) == before:
            # Nothing better was found: some cell that is shown has to be hidden.
            shown = hidden[self.cells] < 0.5
            self._add(np.flatnonzero(shown), np.ones(int(shown.sum()), dtype=np.int64), 1)

    def _cut(self, level: Level, hidden: FloatArray, shares: FloatArray, least: float) -> None:
        up, down = level.amounts
        attack, cell = self.attack, level.cell
        if self._satisfied(level, shares, least):
            return
        above = attack.reach(cell, 1, up) if up else None
        below = attack.reach(cell, -1, down) if down else None
        if above is not None and above.amount < level.above - least:
            self._missed(*attack.cut(cell, 1, level.above, above.multipliers), hidden, least)
        if below is not None and below.amount < level.below - least:
            self._missed(*attack.cut(cell, -1, level.below, below.multipliers), hidden, least)
        if above is None or below is None or not level.width:
            return
        if level.width == 1:
            self._either(level, above, below, hidden, shares, least)
        elif above.amount + below.amount < level.width - least:
            first, rest = attack.cut(cell, 1, level.width, above.multipliers)
            other, other_rest = attack.cut(cell, -1, level.width, below.multipliers)
            common = int(np.lcm(rest, other_rest))
            weights = first * (common // rest) + other * (common // other_rest)
            self._missed(np.minimum(weights, common), common, hidden, least)

    def _satisfied(self, level: Level, shares: FloatArray, least: float) -> bool:
        """Whether moves that were found for others show that no inequality is missed."""
        up = float(self.attack.up[level.cell]) + least
        down = float(self.attack.down[level.cell]) + least
        variable = self.directions.get(level)
        if variable is None:
            return level.kept(up, down)
        share = float(shares[variable])
        return max(up, down) >= 1 and up >= share and down >= 1 - share

    def _either(
        self,
        level: Level,
        above: Reached,
        below: Reached,
        hidden: FloatArray,
        shares: FloatArray,
        least: float,
    ) -> None:
        """Inequalities for a count that has to go up or down by one."""
        attack, cell = self.attack, level.cell
        variable = self.directions.get(level)
        up, up_rest = attack.cut(cell, 1, 1, above.multipliers)
        if variable is None:
            # It cannot go down: it has to go up.
            if above.amount < 1 - least:
                self._missed(up, up_rest, hidden, least)
            return
        down, down_rest = attack.cut(cell, -1, 1, below.multipliers)
        if max(above.amount, below.amount) < 1 - least:
            # The proof of one direction, turned round, is one of the other: often with the same
            # cells, so that both together ask for no more than each.
            turned = attack.cut(cell, -1, 1, -above.multipliers)[0]
            turned_up = attack.cut(cell, 1, 1, -below.multipliers)[0]
            common = int(np.lcm(up_rest, down_rest))
            up_scale, down_scale = common // up_rest, common // down_rest
            joined = [
                np.maximum(up * up_scale, down * down_scale),
                np.maximum(up, turned) * up_scale,
                np.maximum(turned_up, down) * down_scale,
            ]
            best = min(joined, key=lambda weights: float(weights @ hidden))
            self._missed(best, common, hidden, least)
        share = float(shares[variable])
        self._switched(up, up_rest, variable, True, hidden, share, least)
        self._switched(down, down_rest, variable, False, hidden, 1 - share, least)

    def _missed(self, weights: IntArray, rest: int, hidden: FloatArray, least: float) -> None:
        """Add ``weights[hidden].sum() >= rest`` if a fractional pattern misses it."""
        if float(weights @ hidden) < rest * (1 - least):
            own, left = self._own(weights, rest)
            used = np.flatnonzero(own)
            self._add(used, own[used], left)

    def _switched(
        self,
        weights: IntArray,
        rest: int,
        variable: int,
        up: bool,
        hidden: FloatArray,
        share: float,
        least: float,
    ) -> None:
        """Add the inequality of one direction, which holds if the variable says so."""
        own, left = self._own(weights, rest)
        if left <= 0 or float(own @ hidden[self.cells]) >= left * share - rest * least:
            return
        used = np.flatnonzero(own)
        columns = np.append(used, variable)
        values = np.append(own[used], -left if up else left)
        self._add(columns, values, 0 if up else left)

    def _own(self, weights: IntArray, rest: int) -> tuple[IntArray, int]:
        """Weights of the cells that may be hidden, and what those that always are leave to do."""
        left = rest - int(weights[self.problem.forced].sum())
        return np.minimum(weights[self.cells], max(left, 0)), left

    def _add(self, columns: IntArray, values: IntArray, least: int) -> None:
        # Of multiples of one inequality one is enough.
        shared = max(int(np.gcd.reduce(np.append(values, least))), 1)
        self.take([(columns, values // shared, least // shared)])

    def take(self, rows: Iterable[tuple[IntArray, IntArray, int]]) -> None:
        """Take inequalities, those that are not there already."""
        for columns, values, least in rows:
            self._take(columns, values, least)

    def _take(self, columns: IntArray, values: IntArray, least: int) -> None:
        key = b"|".join([columns.tobytes(), values.tobytes(), str(least).encode()])
        if key not in self._seen:
            self._seen.add(key)
            self.rows.append((columns, values, least))

    def matrix(self) -> Any:
        """All inequalities as a sparse matrix."""
        return matrix_of(self.rows, self.size)
