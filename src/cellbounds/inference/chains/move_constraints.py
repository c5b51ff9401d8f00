"""What a chain must know of a release: the limits that its moves can break."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cellbounds.errors import InvalidInput, TooMuchWork
from cellbounds.inference.chains.moves import KEEPS, VARIES, Moves
from cellbounds.model.problem import Problem
from cellbounds.runtime.arrays import SAFE, BoolArray, IntArray

__all__ = ["Book", "Limits", "book_of", "limits_of", "list_rows", "usable"]

ENTRIES_AT_ONCE = 2_000_000
"""Entries of moves times rows that are laid out at once."""


class Limits(NamedTuple):
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


class Book(NamedTuple):
    """Moves in a form that can be compiled; `varying` and `keeping` are the two families."""

    starts: IntArray
    cells: IntArray
    changes: IntArray
    varying: IntArray
    keeping: IntArray


class _Rows(NamedTuple):
    """Entries of rows sorted by cell, the lists of values behind the rows of the problem."""

    starts: IntArray
    rows: IntArray
    coefficients: IntArray
    lower: IntArray
    upper: IntArray
    lists: tuple[IntArray, ...]


def list_rows(problem: Problem) -> _Rows:
    """All rows of a problem and its lists, by cell."""
    count = len(problem.row_lower)
    cells, rows, factors = [problem.cells], [problem.rows], [problem.coefficients]
    lower, upper = problem.row_lower.tolist(), problem.row_upper.tolist()
    lists: list[IntArray] = [np.zeros(0, dtype=np.int64)] * count
    for members, values in problem.lists:
        cells.append(members)
        rows.append(np.full(len(members), len(lower)))
        factors.append(np.ones(len(members), dtype=np.int64))
        lower.append(min(values))
        upper.append(max(values))
        lists.append(np.array(sorted(values), dtype=np.int64))
    where = np.concatenate(cells)
    order = np.argsort(where, kind="stable")
    widths = np.bincount(where, minlength=len(problem.lower))
    return _Rows(
        np.concatenate([[0], np.cumsum(widths)]),
        np.concatenate(rows)[order],
        np.concatenate(factors)[order],
        np.array(lower, dtype=np.int64),
        np.array(upper, dtype=np.int64),
        tuple(lists),
    )


def usable(problem: Problem, rows: _Rows, moves: Moves) -> tuple[Moves, BoolArray]:
    """The moves that could be made from some table, and the rows that they change.

    A move that breaks an equation, or changes a cell by more than its limits are apart, only
    costs time. (In the two-step proposal another move could mend it; but families of moves are
    such that each keeps what was said.)
    """
    wide = problem.upper - problem.lower
    kept = np.ones(len(moves), dtype=bool)
    kept[moves.lines[np.abs(moves.changes) > wide[moves.cells]]] = False
    moves = moves.only(kept)
    kept = np.ones(len(moves), dtype=bool)
    equal = rows.lower == rows.upper
    changed = np.zeros(len(equal), dtype=bool)
    costs = np.concatenate([[0], np.cumsum(np.diff(rows.starts)[moves.cells])])[moves.starts]
    first = 0
    while first < len(moves):
        last = int(np.searchsorted(costs, costs[first] + ENTRIES_AT_ONCE, side="right")) - 1
        last = max(last, first + 1)
        lines, where, effect = _effects(rows, moves, first, last)
        kept[lines[equal[where] & (effect != 0)]] = False
        changed[where[kept[lines] & (effect != 0)]] = True
        first = last
    return moves.only(kept), changed


def _effects(
    rows: _Rows, moves: Moves, first: int, last: int
) -> tuple[IntArray, IntArray, IntArray]:
    """Moves, rows, and what those moves do to those rows, for some of the moves."""
    inside = slice(int(moves.starts[first]), int(moves.starts[last]))
    cells, changes = moves.cells[inside], moves.changes[inside]
    lines = np.repeat(np.arange(first, last), np.diff(moves.starts[first : last + 1]))
    deep = np.diff(rows.starts)[cells]
    ends = np.cumsum(deep)
    entry = np.repeat(rows.starts[cells] - (ends - deep), deep) + np.arange(deep.sum())
    largest = np.abs(rows.coefficients).max(initial=0).astype(float) * np.abs(changes).max(
        initial=0
    )
    if largest * max(int(np.diff(moves.starts).max(initial=0)), 1) >= SAFE / 4:
        raise TooMuchWork(
            "moves times coefficients pass 64-bit integers; give rates with fewer decimals"
        )
    effect = rows.coefficients[entry] * np.repeat(changes, deep)
    key = np.repeat(lines, deep) * len(rows.lower) + rows.rows[entry]
    found, back = np.unique(key, return_inverse=True)
    summed = np.zeros(len(found), dtype=np.int64)
    np.add.at(summed, back, effect)
    return found // max(len(rows.lower), 1), found % max(len(rows.lower), 1), summed


def limits_of(problem: Problem, rows: _Rows, changed: BoolArray) -> Limits:
    """The limits of cells, and of the rows that moves change.

    Rows that no move changes hold for ever once they hold for the first table.
    """
    number = np.cumsum(changed) - 1
    inside = changed[rows.rows]
    owner = np.repeat(np.arange(len(problem.lower)), np.diff(rows.starts))[inside]
    widths = np.bincount(owner, minlength=len(problem.lower))
    lists = [one for one, kept in zip(rows.lists, changed, strict=True) if kept]
    return Limits(
        problem.lower,
        problem.upper,
        np.concatenate([[0], np.cumsum(widths)]),
        number[rows.rows[inside]],
        rows.coefficients[inside],
        rows.lower[changed],
        rows.upper[changed],
        np.concatenate([[0], np.cumsum([len(one) for one in lists])]).astype(np.int64),
        np.concatenate([*lists, np.zeros(0, dtype=np.int64)]),
    )


def book_of(moves: Moves) -> Book:
    """Listed moves as the compiled chain reads them."""
    if moves.sampler is not None:
        raise InvalidInput(f"the {moves.name} are not listed")
    return Book(
        moves.starts,
        moves.cells.astype(np.int64),
        moves.changes.astype(np.int64),
        np.flatnonzero(moves.families == VARIES),
        np.flatnonzero(moves.families == KEEPS),
    )
