"""Moves in whole numbers: the tables of counts that show that a pattern protects.

A corner of the linear program is whole in two-way tables, and mostly in others. Where it is not an
integer program is asked. Each move is checked in whole numbers (`SuppressionProblem.is_move`); the
true table plus a move is a table that the attacker cannot tell from it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cellbounds.disclosure.protecting.local_paths import LocalPaths, paths_in
from cellbounds.disclosure.protecting.moves import Paths
from cellbounds.disclosure.protecting.patterns import alternatives
from cellbounds.disclosure.protecting.suppression_problem import Level, Move, SuppressionProblem
from cellbounds.model.problem import Problem
from cellbounds.runtime.arrays import BoolArray
from cellbounds.runtime.budget import UNLIMITED, Budget
from cellbounds.solvers.general.cp_sat import IntegerProgram


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """What moves show of a pattern: the levels with moves that keep them, and those without."""

    moves: dict[Level, tuple[Move, ...]]
    open: tuple[Level, ...]


def whole_moves(
    problem: SuppressionProblem, hidden: BoolArray, effort: Budget = UNLIMITED
) -> Shown:
    """Find, for each level, moves in whole numbers that keep it under a pattern."""
    paths, integers = paths_in(problem, hidden), Integers(problem, hidden)
    paths.charge(np.where(hidden, 1.0, np.inf))
    moves: dict[Level, tuple[Move, ...]] = {}
    known = Farthest()
    missing = []
    for level in problem.levels:
        kept = known.keeping(level)
        if kept is None and not effort.spent:
            kept = _searched(problem, hidden, paths, integers, level, effort)
        if kept is None:
            missing.append(level)
        else:
            moves[level] = kept
            known.add(kept)
    return Shown(moves, tuple(missing))


class Farthest:
    """Of the moves found so far those that take each cell farthest up and down."""

    def __init__(self) -> None:
        self._far: dict[tuple[int, int], tuple[int, Move]] = {}

    def add(self, moves: Iterable[Move]) -> None:
        """Take more moves into account."""
        for move in moves:
            for cell, amount in zip(move.cells.tolist(), move.amounts.tolist(), strict=True):
                key = cell, 1 if amount > 0 else -1
                if key not in self._far or abs(amount) > self._far[key][0]:
                    self._far[key] = abs(amount), move

    def keeping(self, level: Level) -> tuple[Move, ...] | None:
        """Moves that were found for others and keep this level too."""
        ends = [self._far.get((level.cell, sign)) for sign in (1, -1)]
        up, down = (0 if end is None else end[0] for end in ends)
        if not (up or down) or not level.kept(up, down):
            return None
        return tuple({id(end[1]): end[1] for end in ends if end is not None}.values())


def _searched(
    problem: SuppressionProblem,
    hidden: BoolArray,
    paths: Paths | LocalPaths,
    integers: Integers,
    level: Level,
    effort: Budget,
) -> tuple[Move, ...] | None:
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
    paths: Paths | LocalPaths,
    level: Level,
    sign: int,
    amount: int,
) -> Move | None:
    """The corner of the linear program, if it is whole."""
    found = paths.path(level.cell, sign, amount)
    if found is None:
        return None
    move = whole(found[1])
    return move if _does(problem, hidden, move, level, sign, amount) else None


def whole(move: Move) -> Move:
    """A move rounded to whole numbers."""
    rounded = np.rint(move.amounts).astype(np.int64)
    return Move(move.cells[rounded != 0], rounded[rounded != 0])


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

    def move(self, cell: int, sign: int, amount: int, effort: Budget) -> Move | None:
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
        changed = found - problem.counts[self._cells]
        return Move(self._cells[changed != 0], changed[changed != 0].astype(np.int64))


def _does(
    problem: SuppressionProblem,
    hidden: BoolArray,
    move: Move,
    level: Level,
    sign: int,
    amount: int,
) -> bool:
    return sign * int(move[level.cell]) >= amount and problem.is_move(move, hidden)
