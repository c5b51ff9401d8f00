"""Proofs for rates, row by row: which sums a row may have, and why none of them breaks a bound.

If a row has the sum n, each of its counts lies between two whole numbers, worked out from the
interval of its rate and from what else is said of it. The sum is *admissible* only if the least
counts add up to n or less and the most to n or more. A bound is *broken* at the admissible sums at
which the cell could still lie beyond it. It holds if, at each of these, what is left of N is no sum
of admissible sums of the other rows.

Statements that say nothing of a row or of its parts are left aside, and sets of sums are only ever
made larger. Both allow more tables, so that a proof stays a proof; it may fail for a bound that is
true.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from cellbounds.certificates.verifying.plain import SAFE, IntArray
from cellbounds.certificates.verifying.reach import (
    WORK,
    Progression,
    inside,
    leaving_one_out,
    progressions,
    some_between,
)
from cellbounds.certificates.verifying.row import Limits, Row, Split
from cellbounds.certificates.verifying.space import Space
from cellbounds.certificates.verifying.statements import Rates, Statement

__all__ = ["BLOCK", "RowProofs", "proofs_by_rows"]

CHUNK = 1 << 10
"""Sums of a row that are tried at first, and twice as many each time after that."""

BLOCK = 1 << 20
"""Counts that are worked out at once, at most."""

ROOM, TIME = 1 << 30, 1 << 41
"""Bits of all sets of sums together, and bits that are moved to make them, at most."""

WIDE = 32
"""How much longer Python integers take than those of a machine word."""


def proofs_by_rows(space: Space, statements: Sequence[Statement]) -> dict[int, RowProofs]:
    """What each statement of rates proves by its rows, by its place."""
    limits = Limits(space, statements)
    return {
        place: RowProofs(space, statement, limits)
        for place, statement in enumerate(statements)
        if isinstance(statement, Rates)
    }


class RowProofs:
    """What one statement of rates proves together with N, by its rows."""

    def __init__(self, space: Space, statement: Rates, limits: Limits) -> None:
        self._space, self._statement, self._limits = space, statement, limits

    @cached_property
    def rows(self) -> list[Row]:
        """The rows in the order of the statement."""
        behind = self._space.behind(self._statement.names)
        count = self._statement.columns
        return [
            Row(
                self._statement,
                row,
                [behind.of(row * count + column) for column in range(count)],
                self._limits,
            )
            for row in range(len(self._statement.empty))
        ]

    @cached_property
    def _row_of(self) -> IntArray | None:
        """The row of each cell, -1 for none; None if rows share cells."""
        found = np.full(self._space.size, -1)
        held = np.concatenate([row.cells for row in self.rows])
        if len(np.unique(held)) < len(held):
            return None
        for place, row in enumerate(self.rows):
            found[row.cells] = place
        return found

    @cached_property
    def _total(self) -> tuple[int, int | None]:
        """The least and the most that the rows add up to; rows that share cells add to nothing."""
        if self._row_of is None:
            return 0, None
        everything = np.arange(self._space.size)
        least, most = self._limits.of(everything)
        beside = np.flatnonzero(self._row_of < 0)
        if not len(beside):
            return least, most
        beside_least, beside_most = self._limits.of(beside)
        return (
            0 if beside_most is None else max(0, least - beside_most),
            None if most is None else most - beside_least,
        )

    @cached_property
    def admitted(self) -> list[tuple[Progression, ...]]:
        """For each row the sums that it may have, found by trying one after another."""
        return [self._admitted(row) for row in self.rows]

    def _admitted(self, row: Row) -> tuple[Progression, ...]:
        others = sum(one.least for one in self.rows) - row.least
        most, total = row.most, self._total[1]
        if total is not None:
            most = total - others if most is None else min(most, total - others)
        if most is not None and most < 0:
            return ()
        first = start = row.least // row.step
        flags = np.zeros(0, dtype=bool)
        end = start + WORK if most is None else min(start + WORK, most // row.step + 1)
        end = min(end, start + _most_tried(row, end * row.step))
        size, largest = CHUNK, max(CHUNK, BLOCK // len(row.columns))
        while first < end:
            last = min(end, first + size)
            flags = np.concatenate([flags, row.admissible(_multiples(first, last, row.step))])
            settled = flags[first - start :].all() and first > start
            first, size = last, min(size * 2, largest)
            if settled:
                break
        complete = most is not None and first > most // row.step
        made = progressions(flags, start * row.step, row.step, endless=not complete)
        if made and made[-1][1] is None and most is not None:
            made = (*made[:-1], (made[-1][0], most // row.step * row.step, row.step))
        return made

    def row_of(self, cells: IntArray) -> int | None:
        """The row that some cells lie in; None if that is not one row."""
        if not len(cells):
            return None
        if self._row_of is not None:
            places = np.unique(self._row_of[cells])
            return int(places[0]) if len(places) == 1 and places[0] >= 0 else None
        found = (at for at, row in enumerate(self.rows) if np.isin(cells, row.cells).all())
        return next(found, None)

    @cached_property
    def _others(self) -> tuple[int, list[int]] | None:
        """The window, and for each row what the others reach above their least sums."""
        leasts = self._leasts
        total = self._total[1]
        if total is None or leasts is None:
            return None
        slack = total - sum(leasts)
        if slack < 0:
            return 0, [0] * len(leasts)
        # From where a row may have any sum, the others' least sums are enough: all is reached.
        reaches = sorted(
            parts[-1][0] - least
            for parts, least in zip(self.admitted, leasts, strict=True)
            if parts[-1][2] == 1 and (parts[-1][1] is None or parts[-1][1] - least >= slack)
        )
        # Sets of all rows together take so much memory, and so much time to add up.
        rows, parts = len(leasts), sum(map(len, self.admitted))
        room = min(WORK, ROOM // rows, TIME // (parts * rows.bit_length()))
        window = min([slack, room, *reaches[1:2]])
        shifted = [
            [
                (first - least, None if last is None else last - least, step)
                for first, last, step in parts
            ]
            for parts, least in zip(self.admitted, leasts, strict=True)
        ]
        return window, leaving_one_out(shifted, window)

    @cached_property
    def _leasts(self) -> list[int] | None:
        """The smallest admissible sum of each row; None if some row has none."""
        return [parts[0][0] for parts in self.admitted] if all(self.admitted) else None

    def reachable(self, row: int, sums: IntArray) -> IntArray:
        """Which sums of a row may leave the others with what N needs."""
        if self._leasts is None:
            return np.zeros(len(sums), dtype=bool)  # no table at all
        if self._others is None:
            return np.ones(len(sums), dtype=bool)
        least, most = self._total
        assert most is not None
        window, sets = self._others
        taken = sum(self._leasts) - self._leasts[row]
        if max(least, most, taken) >= SAFE:
            sums = sums.astype(object)
        top = most - taken - sums
        bottom = np.maximum(least - taken - sums, 0)
        some = some_between(sets[row], window, bottom, top)
        return np.asarray((top >= 0) & (some | (top > window)).astype(bool))

    def breaking(self, cells: IntArray, side: str, proven: int) -> IntArray | None:
        """The sums of its row at which a cell could lie beyond a bound; None: too many to try."""
        place = self.row_of(cells)
        if place is None:
            return None
        row = self.rows[place]
        split = row.split(cells)
        parts = self.admitted[place]
        if not parts:
            return np.zeros(0, dtype=np.int64)
        least, most = parts[0][0], parts[-1][1]
        start, stop = least // row.step, None if most is None else most // row.step + 1
        cut = self._crossing(row, split, side, proven, start, stop)
        if side == "lower":
            stop = cut
        else:
            start = cut if cut is not None else (stop or start)
        if stop is None or stop - start > _most_tried(row, stop * row.step):
            return None
        size = max(1, BLOCK // len(row.columns))
        found = [
            self._beyond(row, split, side, proven, first, min(stop, first + size), parts)
            for first in range(start, stop, size)
        ]
        return np.concatenate(found) if found else np.zeros(0, dtype=np.int64)

    @staticmethod
    def _beyond(
        row: Row,
        split: Split,
        side: str,
        proven: int,
        start: int,
        stop: int,
        parts: Sequence[Progression],
    ) -> IntArray:
        """Which of some multiples of the step are admissible and could break a bound."""
        sums = _multiples(start, stop, row.step)
        sums = sums[inside(sums, parts)]
        sums = sums[row.admissible(sums)]
        asked_low, asked_high, rest_low, rest_high = row.extremes(split, sums)
        if side == "lower":
            beyond = np.maximum(asked_low, sums - rest_high) < proven
        else:
            beyond = np.minimum(asked_high, sums - rest_low) > proven
        return np.asarray(sums[beyond.astype(bool)])

    @staticmethod
    def _crossing(
        row: Row, split: Split, side: str, proven: int, start: int, stop: int | None
    ) -> int | None:
        """The first multiple of the step from which on the columns alone keep, or break, a bound.

        Both ends of what the columns allow only grow with the sum of the row, from its least sum
        on: below it, a column that needs more than the row holds would leave the less to the rest
        the smaller the row.
        """

        def crossed(multiple: int) -> bool:
            low, high, *_ = row.extremes(split, _multiples(multiple, multiple + 1, row.step))
            return bool(low[0] >= proven if side == "lower" else high[0] > proven)

        below, above = start, start + 1
        while not crossed(above):
            if above >= stop if stop is not None else above - start > SAFE:
                return stop
            below, above = above, start + 2 * (above - start)
        if crossed(start):
            return start
        while above - below > 1:
            middle = (below + above) // 2
            below, above = (below, middle) if crossed(middle) else (middle, above)
        return above

    def as_progressions(self, cells: IntArray, sums: IntArray) -> tuple[Progression, ...]:
        """Some sums of the row of a cell, written as progressions."""
        place = self.row_of(cells)
        if place is None or not len(sums):
            return ()
        step, first = self.rows[place].step, int(sums[0])
        flags = np.zeros((int(sums[-1]) - first) // step + 1, dtype=bool)
        flags[((sums - first) // step).astype(np.int64)] = True
        return progressions(flags, first, step, endless=False)

    def proves(self, cells: IntArray, side: str, proven: int) -> bool:
        """Whether no admissible sum of the row breaks a bound."""
        place, sums = self.row_of(cells), self.breaking(cells, side, proven)
        if place is None or sums is None:
            return False
        return not self.reachable(place, sums).any()


def _multiples(start: int, stop: int, step: int) -> IntArray:
    """``step`` times every number from `start` to before `stop`."""
    if stop * step < SAFE:
        return np.arange(start, stop, dtype=np.int64) * step
    return np.array([number * step for number in range(start, stop)], dtype=object)


def _most_tried(row: Row, largest: int) -> int:
    """How many sums of a row, up to some number, are tried at most."""
    return WORK // len(row.columns) // (WIDE if row.is_wide(largest) else 1)
