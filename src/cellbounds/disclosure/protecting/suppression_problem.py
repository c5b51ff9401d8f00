"""Cell suppression as a problem: published counts, the sums that tie them, what must stay possible.

A pattern hides some cells. The attacker sees the others, knows the equations and limits of hidden
counts, and so knows that the true table is moved by some *move*: whole numbers d with E d = 0, zero
where a cell is shown, and within the room that limits leave where it is hidden. A cell is protected
if there are moves that take its count far enough up and down.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cellbounds.errors import InvalidInput
from cellbounds.runtime.arrays import BoolArray, IntArray

Equation = tuple[int, Sequence[int]]
"""A cell, and the cells that add up to it."""


@dataclass(frozen=True, slots=True)
class Level:
    """How uncertain a cell must stay: what moves have to reach.

    Attributes
    ----------
    cell
        The cell, hidden in every pattern.
    above, below
        Some move raises, some other lowers its count by so much at least.
    width
        Moves raise and lower it by so much together: 1 if it must not be exactly known.
    """

    cell: int
    above: int = 0
    below: int = 0
    width: int = 0

    def wider(self, more: int) -> Level:
        """The same with so much more asked of whatever is asked."""
        up, down, wide = (one + more if one else 0 for one in (self.above, self.below, self.width))
        return Level(self.cell, up, down, wide)

    @property
    def amounts(self) -> tuple[int, int]:
        """The largest moves up and down that make a difference."""
        return max(self.above, self.width), max(self.below, self.width)

    def kept(self, up: float, down: float) -> bool:
        """Whether moves of so much up and down are enough; a width of 1 takes one whole unit."""
        wide = max(up, down) if self.width == 1 else up + down
        return up >= self.above and down >= self.below and wide >= self.width


@dataclass(frozen=True, slots=True, eq=False)
class Move:
    """How far some cells go, up or down: all others stay where they are.

    Attributes
    ----------
    cells, amounts
        The cells that move, in order, and by how much.
    """

    cells: IntArray
    amounts: Any

    @classmethod
    def of(cls, moved: Any) -> Move:
        """A move from an amount for every cell."""
        cells = np.flatnonzero(moved)
        return cls(cells, moved[cells])

    def __getitem__(self, cell: int) -> Any:
        place = int(np.searchsorted(self.cells, cell))
        found = place < len(self.cells) and self.cells[place] == cell
        return self.amounts[place] if found else self.amounts.dtype.type(0)


@dataclass(frozen=True, eq=False)
class SuppressionProblem:
    """What is published, and how it must be protected.

    Attributes
    ----------
    counts
        The true counts of all cells.
    equations
        Each cell that others add up to, with those.
    least, most
        What the attacker knows of a hidden count beforehand.
    costs
        What hiding a cell costs, in whole numbers.
    forced
        Cells that are hidden in every pattern: those to be protected, and sums that are not
        published.
    fixed
        Cells that are shown in every pattern.
    levels
        How uncertain the protected cells must stay.
    """

    counts: IntArray
    equations: tuple[Equation, ...]
    least: IntArray
    most: IntArray
    costs: IntArray
    forced: BoolArray
    fixed: BoolArray
    levels: tuple[Level, ...]

    def __post_init__(self) -> None:
        size = len(self.counts)
        for name in ("least", "most", "costs", "forced", "fixed"):
            if len(getattr(self, name)) != size:
                raise InvalidInput(
                    f"{name} has {len(getattr(self, name))} entries for {size} cells; give one each"
                )
        if (self.forced & self.fixed).any():
            cell = int(np.argmax(self.forced & self.fixed))
            raise InvalidInput(f"cell {cell} must be hidden and must be shown; choose one")
        if (self.costs < 0).any():
            raise InvalidInput("a cost is negative; give 0 or more for each cell")
        outside = (self.counts < self.least) | (self.counts > self.most)
        if (outside & ~self.fixed).any():
            cell = int(np.argmax(outside & ~self.fixed))
            raise InvalidInput(
                f"the count of cell {cell} is not within what an attacker knows of it"
            )
        for level in self.levels:
            if not self.forced[level.cell]:
                raise InvalidInput(f"cell {level.cell} is to be protected but not hidden; force it")

    @cached_property
    def matrix(self) -> Any:
        """The equations as a sparse matrix of -1, 0 and 1: a sum less its parts."""
        from scipy.sparse import csr_matrix

        rows, cells, signs = [], [], []
        for row, (total, parts) in enumerate(self.equations):
            rows += [row] * (1 + len(parts))
            cells += [total, *parts]
            signs += [1] + [-1] * len(parts)
        shape = (len(self.equations), len(self.counts))
        return csr_matrix((np.array(signs, dtype=np.int64), (rows, cells)), shape=shape)

    @cached_property
    def columns(self) -> Any:
        """The same matrix, column by column."""
        return self.matrix.tocsc()

    @cached_property
    def room_below(self) -> IntArray:
        """How far a hidden count can go down at most, for all that the attacker knows."""
        return np.asarray(np.where(self.fixed, 0, self.counts - self.least))

    @cached_property
    def room_above(self) -> IntArray:
        """How far it can go up."""
        return np.asarray(np.where(self.fixed, 0, self.most - self.counts))

    def cost(self, hidden: BoolArray) -> int:
        """What a pattern costs beyond what is hidden in every pattern."""
        return int(self.costs[hidden & ~self.forced].sum())

    def is_move(self, move: Move, hidden: BoolArray) -> bool:
        """Whether whole numbers are a move under a pattern: exactly, in integers."""
        cells, amounts = move.cells, move.amounts
        if amounts.dtype != np.int64 or not hidden[cells].all():
            return False
        below, above = self.room_below[cells], self.room_above[cells]
        inside = (amounts >= -below) & (amounts <= above)
        return bool(inside.all() and not (self.columns[:, cells] @ amounts).any())


def of_tables(
    counts: IntArray, equations: Iterable[Equation], *, small: BoolArray, total: int, **chosen: Any
) -> SuppressionProblem:
    """The usual problem: zeros are shown, small counts are hidden and must not be exactly known.

    `small` marks the counts to hide, `total` is the number of records, which everybody knows. The
    attacker sees zeros, so that a hidden count is at least 1. `chosen` replaces what is said here.
    """
    zero = counts == 0
    levels = tuple(Level(int(cell), width=1) for cell in np.flatnonzero(small))
    usual: dict[str, Any] = {
        "least": np.where(zero, 0, 1),
        "most": np.full(len(counts), total),
        "costs": counts,
        "forced": small,
        "fixed": zero,
        "levels": levels,
    }
    return SuppressionProblem(counts=counts, equations=tuple(equations), **{**usual, **chosen})
