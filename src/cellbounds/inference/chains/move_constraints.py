"""What a chain must know of a release: the constraints that its moves can break."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cellbounds.errors import TooMuchWork
from cellbounds.inference.chains.moves import KEEPS, VARIES, Moves, starts_of
from cellbounds.model.problem import Problem
from cellbounds.runtime.arrays import SAFE, BoolArray, IntArray
from cellbounds.runtime.scaled_floats import FloatArray

__all__ = ["CellConstraints", "CellWeights", "MoveTable", "cell_constraints", "usable_moves"]

ENTRIES_AT_ONCE = 2_000_000
"""Entries of moves times rows that are laid out at once."""


class CellConstraints(NamedTuple):
    """Cells and rows with their limits, in a form that can be compiled.

    The rows of cell k are ``rows[starts[k]:starts[k + 1]]``, with `coefficients` at the same
    places. The sum of row r must lie between ``row_lower[r]`` and ``row_upper[r]``, and must be
    one of ``listed[list_starts[r]:list_starts[r + 1]]`` (ascending) if there are any.
    """

    lower: IntArray
    upper: IntArray
    starts: IntArray
    rows: IntArray
    coefficients: IntArray
    row_lower: IntArray
    row_upper: IntArray
    list_starts: IntArray
    listed: IntArray

    def only(self, changed: BoolArray) -> CellConstraints:
        """Without the rows that no move changes: they hold for ever once they hold at first."""
        inside, sizes = changed[self.rows], np.diff(self.list_starts)
        owner = np.repeat(np.arange(len(self.lower)), np.diff(self.starts))[inside]
        return self._replace(
            starts=starts_of(np.bincount(owner, minlength=len(self.lower))),
            rows=(np.cumsum(changed) - 1)[self.rows[inside]],
            coefficients=self.coefficients[inside],
            row_lower=self.row_lower[changed],
            row_upper=self.row_upper[changed],
            list_starts=starts_of(sizes[changed]),
            listed=self.listed[np.repeat(changed, sizes)],
        )


class MoveTable(NamedTuple):
    """Moves in a form that can be compiled; `varying` and `keeping` are the two families."""

    starts: IntArray
    cells: IntArray
    changes: IntArray
    varying: IntArray
    keeping: IntArray

    @classmethod
    def of(cls, moves: Moves) -> MoveTable:
        """Listed moves as the compiled chain reads them."""
        families = (np.flatnonzero(moves.families == family) for family in (VARIES, KEEPS))
        cells, changes = moves.cells.astype(np.int64), moves.changes.astype(np.int64)
        return cls(moves.starts, cells, changes, *families)


class CellWeights(NamedTuple):
    """The weights of the cells: shape (-1: none) and factor with its logarithm.

    If `latent`, the means of the cells are drawn in each step, Gamma(count + shape, factor), and
    the table is weighed as Poisson given them.
    """

    shapes: FloatArray
    factors: FloatArray
    logarithms: FloatArray
    latent: bool


def cell_constraints(problem: Problem) -> CellConstraints:
    """All rows of a problem, then its lists of values, by cell."""
    members = [cells for cells, _ in problem.lists]
    lists = [np.array(sorted(values), dtype=np.int64) for _, values in problem.lists]
    widths = np.array([len(cells) for cells in members], dtype=np.int64)
    count = len(problem.row_lower)
    cells = np.concatenate([problem.cells, *members])
    rows = np.concatenate([problem.rows, np.repeat(count + np.arange(len(widths)), widths)])
    factors = np.concatenate([problem.coefficients, np.ones(widths.sum(), dtype=np.int64)])
    order = np.argsort(cells, kind="stable")
    ends = np.array([(values[0], values[-1]) for values in lists], dtype=np.int64).reshape(-1, 2)
    return CellConstraints(
        problem.lower,
        problem.upper,
        starts_of(np.bincount(cells, minlength=len(problem.lower))),
        rows[order],
        factors[order],
        np.concatenate([problem.row_lower, ends[:, 0]]),
        np.concatenate([problem.row_upper, ends[:, 1]]),
        starts_of([0] * count + [len(values) for values in lists]),
        np.concatenate([*lists, np.zeros(0, dtype=np.int64)]),
    )


def usable_moves(limits: CellConstraints, moves: Moves) -> tuple[Moves, BoolArray]:
    """The moves that could be made from some table, and the rows that they change.

    A move that breaks an equation, or changes a cell by more than its limits are apart, only
    costs time. (In the two-step proposal another move could mend it; but families of moves are
    such that each keeps what was said.)
    """
    usable = np.ones(len(moves), dtype=bool)
    usable[moves.lines[np.abs(moves.changes) > (limits.upper - limits.lower)[moves.cells]]] = False
    moves = moves.only(usable)
    usable = np.ones(len(moves), dtype=bool)
    equal = limits.row_lower == limits.row_upper
    changed = np.zeros(len(equal), dtype=bool)
    costs = starts_of(np.diff(limits.starts)[moves.cells])[moves.starts]
    first = 0
    while first < len(moves):
        last = int(np.searchsorted(costs, costs[first] + ENTRIES_AT_ONCE, side="right")) - 1
        last = max(last, first + 1)
        lines, rows, effect = _effects(limits, moves, first, last)
        usable[lines[equal[rows] & (effect != 0)]] = False
        changed[rows[usable[lines] & (effect != 0)]] = True
        first = last
    return moves.only(usable), changed


def _effects(
    limits: CellConstraints, moves: Moves, first: int, last: int
) -> tuple[IntArray, IntArray, IntArray]:
    """Moves, rows, and what those moves do to those rows, for some of the moves."""
    inside = slice(int(moves.starts[first]), int(moves.starts[last]))
    cells, changes = moves.cells[inside], moves.changes[inside]
    lines = np.repeat(np.arange(first, last), np.diff(moves.starts[first : last + 1]))
    deep = np.diff(limits.starts)[cells]
    entry = np.repeat(limits.starts[cells] - (np.cumsum(deep) - deep), deep) + np.arange(deep.sum())
    largest = float(np.abs(limits.coefficients).max(initial=0)) * np.abs(changes).max(initial=0)
    if largest * max(int(np.diff(moves.starts).max(initial=0)), 1) >= SAFE / 4:
        raise TooMuchWork(
            "moves times coefficients pass 64-bit integers; give rates with fewer decimals"
        )
    count = max(len(limits.row_lower), 1)
    key = np.repeat(lines, deep) * count + limits.rows[entry]
    pairs, back = np.unique(key, return_inverse=True)
    summed = np.zeros(len(pairs), dtype=np.int64)
    np.add.at(summed, back, limits.coefficients[entry] * np.repeat(changes, deep))
    return pairs // count, pairs % count, summed
