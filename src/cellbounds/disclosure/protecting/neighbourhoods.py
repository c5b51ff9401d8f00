"""Better patterns, one neighbourhood after another: each is searched to the end, the rest stays.

Around a secondary cell some cells are let go, hidden or shown; all others stay as they are. What a
search of so few finds protects the whole table, and costs no more than what was there. The cells
are taken in an order that does not depend on time, so that the same table gives the same pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from cellbounds.disclosure.protecting.moves import Pieces
from cellbounds.disclosure.protecting.suppression_problem import SuppressionProblem
from cellbounds.runtime.arrays import BoolArray, IntArray

FREE = 60
"""Cells of a neighbourhood that may be hidden or shown."""

SEARCH = 40
"""Rounds of attacks that a neighbourhood is searched for."""


Searched = Callable[[SuppressionProblem, BoolArray, int], tuple[BoolArray, int]]
"""A search from a pattern, for so many steps: the best pattern, and the steps that were taken."""


def improved(
    problem: SuppressionProblem,
    hidden: BoolArray,
    search: Searched,
    *,
    steps: int,
    over: Callable[[], bool] = lambda: False,
    tried: Iterable[int] = (),
    spent: int = 0,
    keep: Callable[[BoolArray, set[int], int], None] = lambda _, __, ___: None,
) -> tuple[BoolArray, int]:
    """A pattern that costs no more, and the steps that it took.

    It ends when every secondary cell has been the middle of a neighbourhood in vain, when the steps
    are spent, or when it is `over`. `keep` is told after each which cells were tried, and the steps
    that were spent, for another one to go on from.
    """
    around, tried = Neighbours(problem), set(tried)
    while spent < steps and not over():
        secondary = np.flatnonzero(hidden & ~problem.forced)
        left = [cell for cell in secondary.tolist() if cell not in tried]
        if not left:
            break
        middle = max(left, key=lambda cell: (problem.costs[cell], -cell))
        tried.add(middle)
        part = around.part(middle, hidden)
        most = SEARCH * max(len(part.levels), 1) * len(problem.counts)
        found, taken = search(part, hidden, min(most, steps - spent))
        spent += max(taken, 1)
        if problem.cost(found) < problem.cost(hidden):
            tried -= set(around.touching(np.flatnonzero(found != hidden)).tolist())
            hidden = found
        keep(hidden, tried, spent)
    return hidden, spent


class Neighbours:
    """Cells that stand in sums together."""

    def __init__(self, problem: SuppressionProblem) -> None:
        self._problem = problem
        self._may = ~problem.forced & ~problem.fixed

    def part(self, middle: int, hidden: BoolArray) -> SuppressionProblem:
        """The problem with all cells as they are but for those around one.

        Levels that no cell let go can move with are kept as before.
        """
        problem, free = self._problem, self.around(middle, hidden)
        pieces = Pieces(problem, (hidden | free) & ~problem.fixed).of
        moving = np.unique(pieces[free])
        return replace(
            problem,
            forced=problem.forced | (hidden & ~free),
            fixed=problem.fixed | (~hidden & ~free),
            levels=tuple(one for one in problem.levels if pieces[one.cell] in moving),
        )

    def touching(self, cells: IntArray) -> IntArray:
        """The cells in sums with some others, these included."""
        rows = np.unique(self._problem.columns[:, cells].indices)
        return np.union1d(cells, self._problem.matrix[rows].indices)

    def around(self, middle: int, hidden: BoolArray) -> BoolArray:
        """The neighbourhood of a cell: the nearest that may be hidden or shown.

        Of the last ring not all have room: the dearest that are hidden, the cheapest that are not.
        """
        chosen = np.zeros(len(hidden), dtype=bool)
        near = np.array([middle])
        while True:
            wider = self.touching(near)
            may = wider[self._may[wider] & ~chosen[wider]]
            room = FREE - int(chosen.sum())
            if len(may) >= room:
                gone, come = may[hidden[may]], may[~hidden[may]]
                gone = gone[np.argsort(-self._problem.costs[gone], kind="stable")][: room // 2]
                come = come[np.argsort(self._problem.costs[come], kind="stable")]
                chosen[gone] = True
                chosen[come[: room - len(gone)]] = True
                return chosen
            chosen[may] = True
            if len(wider) == len(near):
                return chosen
            near = wider
