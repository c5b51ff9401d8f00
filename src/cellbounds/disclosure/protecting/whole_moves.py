"""Moves in whole numbers: the tables of counts that show that a pattern protects.

A corner of the linear program is whole in two-way tables, and mostly in others. Where it is not an
integer program is asked. Each move is checked in whole numbers (`SuppressionProblem.is_move`); the
true table plus a move is a table that the attacker cannot tell from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cellbounds.disclosure.protecting.moves import Paths
from cellbounds.disclosure.protecting.patterns import alternatives
from cellbounds.disclosure.protecting.suppression_problem import Level, SuppressionProblem
from cellbounds.model.problem import Problem
from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.runtime.budget import UNLIMITED, Budget
from cellbounds.solvers.general.cp_sat import IntegerProgram


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """What moves show of a pattern: the levels with moves that keep them, and those without."""

    moves: dict[Level, tuple[IntArray, ...]]
    open: tuple[Level, ...]


def whole_moves(
    problem: SuppressionProblem, hidden: BoolArray, effort: Budget = UNLIMITED
) -> Shown:
    """Find, for each level, moves in whole numbers that keep it under a pattern."""
    paths, integers = Paths(problem, hidden), Integers(problem, hidden)
    paths.charge(np.where(hidden, 1.0, np.inf))
    moves: dict[Level, tuple[IntArray, ...]] = {}
    known: list[IntArray] = []
    missing = []
    for level in problem.levels:
        kept = _among(level, known)
        if kept is None and not effort.spent:
            kept = _searched(problem, hidden, paths, integers, level, effort)
        if kept is None:
            missing.append(level)
        else:
            moves[level] = kept
            known.extend(kept)
    return Shown(moves, tuple(missing))


def _among(level: Level, known: list[IntArray]) -> tuple[IntArray, ...] | None:
    """Moves that were found for others and keep this level too: the largest up and down."""
    if not known:
        return None
    reached = np.array([int(move[level.cell]) for move in known])
    up, down = int(reached.argmax()), int(reached.argmin())
    chosen = tuple({place: known[place] for place in (up, down) if reached[place]}.values())
    return chosen if level.kept(max(reached[up], 0), max(-reached[down], 0)) else None


def _searched(
    problem: SuppressionProblem,
    hidden: BoolArray,
    paths: Paths,
    integers: Integers,
    level: Level,
    effort: Budget,
) -> tuple[IntArray, ...] | None:
    for way in alternatives(level):
        found = []
        for sign, amount in way:
            move = _corner(problem, hidden, paths, level, sign, amount)
            if move is None:
                move = integers.move(level.cell, sign, amount, effort)
            if move is None or not _does(problem, hidden, move, level, sign, amount):
                break
            found.append(move)
        else:
            return tuple(found)
    return None


def _corner(
    problem: SuppressionProblem,
    hidden: BoolArray,
    paths: Paths,
    level: Level,
    sign: int,
    amount: int,
) -> IntArray | None:
    """The corner of the linear program, if it is whole."""
    found = paths.path(level.cell, sign, amount)
    if found is None:
        return None
    move = np.rint(found[1]).astype(np.int64)
    return move if _does(problem, hidden, move, level, sign, amount) else None


class Integers:
    """Moves by integer programs, for a pattern; the program is made when first asked."""

    def __init__(self, problem: SuppressionProblem, hidden: BoolArray) -> None:
        self._problem, self._hidden = problem, hidden
        self._cells = np.flatnonzero(hidden)

    @cached_property
    def _program(self) -> IntegerProgram:
        problem = self._problem
        part = problem.matrix[:, self._cells]
        part = part[np.diff(part.indptr) > 0]
        sums = part @ problem.counts[self._cells]
        return IntegerProgram(
            Problem(
                lower=problem.least[self._cells],
                upper=problem.most[self._cells],
                starts=part.indptr.astype(np.int64),
                cells=part.indices.astype(np.int64),
                coefficients=part.data,
                row_lower=sums,
                row_upper=sums,
                origin=np.arange(len(sums)),
                lists=(),
            )
        )

    def move(self, cell: int, sign: int, amount: int, effort: Budget) -> IntArray | None:
        """A move of a cell by an amount or more; None if none was found in time."""
        problem, count = self._problem, int(self._problem.counts[cell])
        place = np.searchsorted(self._cells, [cell])
        low, high = count + amount, int(problem.most[cell])
        if sign < 0:
            low, high = int(problem.least[cell]), count - amount
        if low > high:
            return None
        found = self._program.with_sum(place, low, high, effort.left).cells
        if found is None:
            return None
        move = np.zeros(len(self._hidden), dtype=np.int64)
        move[self._cells] = found - problem.counts[self._cells]
        return move


def _does(
    problem: SuppressionProblem,
    hidden: BoolArray,
    move: IntArray,
    level: Level,
    sign: int,
    amount: int,
) -> bool:
    return sign * int(move[level.cell]) >= amount and problem.is_move(move, hidden)
