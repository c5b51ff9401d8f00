"""Proofs for rates, row by row: which sums a row may have, and why none of them breaks a bound.

If a row has the sum n, each of its counts lies between two whole numbers, worked out from the
interval of its rate and from what else is said of it. The sum is *admissible* only if the least
counts add up to n or less and the most to n or more. A bound is *broken* at the admissible sums at
which the cell could still lie beyond it. It holds if, at each of these, what is left of N is no sum
of admissible sums of the other rows. A row that was rounded so that it adds to one says more: a sum
up to one unit leaves at most one vector, and for a larger one the other columns have to make up the
rest within one window.

Statements that say nothing of a row or of its parts are left aside, and sets of sums, which are
arithmetic progressions, are only ever made larger: beyond the window every sum counts as reachable.
Both allow more tables, so that a proof stays a proof; it may fail for a bound that is true.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial, reduce
from itertools import zip_longest

import numpy as np

from cellbounds.certificates.verifying.inequalities import Statement
from cellbounds.certificates.verifying.plain import SAFE, IntArray, packed
from cellbounds.certificates.verifying.rates import RateStatement
from cellbounds.certificates.verifying.space import Space
from cellbounds.certificates.verifying.statements import SumStatement

WORK = 1 << 24
"""Numbers that are tried at most, and bits of a set of sums."""

Progression = tuple[int, int | None, int]
"""First, last (None: no end) and step of some whole numbers."""

Limits = tuple[int, int | None]
"""The least and the most (None: no limit) of a sum."""


def progressions(
    flags: IntArray, first: int, step: int, *, endless: bool
) -> tuple[Progression, ...]:
    """The numbers ``first + k * step`` with a flag at k, and all later ones if `endless`."""
    padded = np.concatenate([[False], flags, [endless]]).astype(np.int8)
    edges = np.flatnonzero(np.diff(padded)).tolist()
    return tuple(
        (first + start * step, None if end is None else first + (end - 1) * step, step)
        for start, end in zip_longest(edges[::2], edges[1::2])
    )


def inside(numbers: IntArray, parts: Sequence[Progression]) -> IntArray:
    """Which of some numbers are in one of the progressions, which ascend and do not overlap."""
    if not parts or not len(numbers):
        return np.zeros(len(numbers), dtype=bool)
    firsts = packed([first for first, _, _ in parts])
    lasts = packed([-1 if last is None else last for _, last, _ in parts])
    steps = packed([step for _, _, step in parts])
    at = np.maximum(np.searchsorted(firsts, numbers, side="right") - 1, 0)
    beyond = numbers - firsts[at]
    within = (beyond >= 0) & (beyond % steps[at] == 0)
    return np.asarray((within & ((lasts[at] < 0) | (numbers <= lasts[at]))).astype(bool))


def covers(parts: Sequence[Progression], part: Progression) -> bool:
    """Whether one of some ascending progressions holds all of another."""
    first, last, step = part
    at = bisect.bisect_right(parts, first, key=lambda claimed: claimed[0]) - 1
    if at < 0:
        return False
    start, end, by = parts[at]
    if (first - start) % by or (step % by and first != last):
        return False
    return end is None or (last is not None and last <= end)


def numbers_of(parts: Sequence[Progression]) -> IntArray | None:
    """All numbers of some progressions; None if they have no end or are too many."""
    spans = []
    for first, last, step in parts:
        if last is None:
            return None
        spans.append(range(first, last + 1, step))
    if sum((span.stop - 1 - span.start) // span.step + 1 for span in spans) > WORK:
        return None
    return np.concatenate([np.zeros(0, dtype=np.int64), *map(_listed, spans)])


def _listed(numbers: range) -> IntArray:
    """Ascending numbers as an array; of Python integers if one needs it."""
    if numbers.stop < SAFE:
        return np.arange(numbers.start, numbers.stop, numbers.step, dtype=np.int64)
    return np.array(list(numbers), dtype=object)


def leaving_one_out(sets: Sequence[Sequence[Progression]], window: int) -> list[int]:
    """For each set the sums of one member of every other, as bits 0 to `window`.

    Every set contains 0. Halves are left out in turn, so that each set is added about log2 times.
    """
    others = [0] * len(sets)
    add = partial(_added, window=window)

    def descend(start: int, stop: int, bits: int) -> None:
        if stop - start == 1:
            others[start] = bits
            return
        middle = (start + stop) // 2
        descend(start, middle, reduce(add, sets[middle:stop], bits))
        descend(middle, stop, reduce(add, sets[start:middle], bits))

    if sets:
        descend(0, len(sets), 1)
    return others


def _added(bits: int, parts: Sequence[Progression], window: int) -> int:
    """Every sum of a member of `bits` and a member of `parts`, up to `window`."""
    full = (1 << (window + 1)) - 1
    if bits == full:
        return full
    sums = 0
    for first, last, step in parts:
        most = window if last is None else min(last, window)
        if first > most:
            continue
        spread, reached, wanted = bits, 0, (most - first) // step
        while reached < wanted:
            more = min(reached + 1, wanted - reached)
            spread |= spread << (more * step)
            reached += more
        sums |= spread << first
    return sums & full


def some_between(bits: int, window: int, lows: IntArray, highs: IntArray) -> IntArray:
    """Whether some member of a set, from 0 to `window`, lies between each two numbers."""
    raw = np.frombuffer(bits.to_bytes(window // 8 + 1, "little"), dtype=np.uint8)
    top = np.clip(highs, -1, window).astype(np.int64)
    bottom = np.clip(lows, 0, window + 1).astype(np.int64)
    if (bottom >= top).all():
        return np.asarray((bottom == top) & (raw[top >> 3] >> (top & 7) & 1 == 1))
    before = np.concatenate([[0], np.cumsum(np.unpackbits(raw, bitorder="little"))])
    return np.asarray(before[top + 1] > before[bottom])


class SumLimits:
    """What totals, margins and known bounds say of the sum of any cells, each by itself."""

    def __init__(self, space: Space, statements: Sequence[Statement]) -> None:
        self._additive: list[tuple[SumStatement, IntArray, IntArray]] = []
        for statement in statements:
            if not isinstance(statement, SumStatement):
                continue
            behind = space.behind(statement.names)
            if len(np.unique(behind.cells)) < len(behind.cells):
                continue  # its figures overlap, so that they cannot be added up
            figure_of = np.full(space.size, -1)
            figure_of[behind.cells] = behind.figures
            self._additive.append((statement, figure_of, np.diff(behind.starts)))

    def of(self, cells: IntArray) -> Limits:
        """What some cells add up to."""
        least, most = 0, None if len(cells) else 0
        for statement, figure_of, sizes in self._additive:
            figures, counts = np.unique(figure_of[cells], return_counts=True)
            whole = figures[(figures >= 0) & (counts == sizes[figures])].tolist()
            least = max(least, sum(statement.least[figure] for figure in whole))
            tops = [statement.most[figure] for figure in whole]
            if len(whole) == len(figures) and None not in tops:
                limit = sum(top for top in tops if top is not None)
                most = limit if most is None else min(most, limit)
        return least, most


@dataclass(frozen=True, slots=True, eq=False)
class _ColumnLimits:
    """The least and the most of each column, -1 where there is no most; one entry a column."""

    least: IntArray
    most: IntArray

    @classmethod
    def of(cls, limits: Sequence[Limits]) -> _ColumnLimits:
        tops = [-1 if most is None else most for _, most in limits]
        return cls(packed([least for least, _ in limits])[:, None], packed(tops)[:, None])

    def most_of(self, sums: IntArray) -> IntArray:
        """The most of each column in a row with some sum, which no column exceeds."""
        return np.where(self.most < 0, sums, np.minimum(self.most, sums))


class RateRow:
    """A row of a statement of rates: its cells by column, its intervals, what else is known."""

    def __init__(self, statement: RateStatement, row: int, limits: SumLimits) -> None:
        figures = range(row * statement.columns, (row + 1) * statement.columns)
        self.columns = [statement.behind.of(figure) for figure in figures]
        self.cells = np.concatenate(self.columns)
        self.empty = statement.empty[row]
        self._limits = limits
        self._known = [limits.of(cells) for cells in self.columns]
        self._ends = _ColumnLimits.of(self._known)
        intervals = (statement.intervals[figure] for figure in figures)
        lows, highs, low_open, high_open = zip(*intervals, strict=True)
        self._low_open, self._high_open = np.array(low_open)[:, None], np.array(high_open)[:, None]
        ratios = [rate.as_integer_ratio() for rate in (*lows, *highs)]
        self._largest: int = max(abs(part) for ratio in ratios for part in ratio)
        self._shared = None if statement.shared is None else statement.shared[row]
        if self._shared is not None:
            self._largest = max(self._largest, 4 * len(self.columns) * self._shared.unit)
        over, under = (packed(parts)[:, None] for parts in zip(*ratios, strict=True))
        self._low, self._high = zip(np.split(over, 2), np.split(under, 2), strict=True)
        least, most = limits.of(self.cells)
        self.step = self._step(lows, highs)
        self.least = -(-max(least, 0 if self.empty else 1) // self.step) * self.step
        self.most = 0 if self.empty else most

    def _step(self, lows: Sequence[Fraction], highs: Sequence[Fraction]) -> int:
        """A divisor of every sum: whole counts at fixed rates need one.

        Rates are fixed where their interval is one number, and all of them are where the closed
        upper ends, or the closed lower ones, add up to 1.
        """
        floors = [max(low, Fraction(0)) for low in lows]
        if sum(highs) == 1 and not self._high_open.any():
            fixed = list(highs)
        elif sum(floors) == 1 and not self._low_open.any():
            fixed = floors
        else:
            fixed = [low for low, high in zip(lows, highs, strict=True) if low == high]
        return math.lcm(*(rate.denominator for rate in fixed))

    def is_wide(self, largest: int) -> bool:
        """Whether sums up to some number need Python integers."""
        return (largest + 1) * self._largest * len(self.columns) >= SAFE

    def ends(self, sums: IntArray) -> tuple[IntArray, IntArray]:
        """The least and the most of each column (first axis) for each sum of the row."""
        wide = self._wide(sums)
        over, under = (wide * numerator for numerator, _ in (self._low, self._high))
        # An open end leaves out a count that would lie on it.
        low = np.where(self._low_open, over // self._low[1] + 1, -(-over // self._low[1]))
        high = np.where(self._high_open, -(-under // self._high[1]) - 1, under // self._high[1])
        return np.maximum(low, self._ends.least), np.minimum(high, self._ends.most_of(wide))

    def admissible(self, sums: IntArray) -> IntArray:
        """Which sums the row may have, by its own figures."""
        if self.empty:
            return np.asarray(sums == 0)
        low, high = self.ends(sums)
        fits = (sums >= self.least) & (low.sum(axis=0) <= sums) & (sums <= high.sum(axis=0))
        if self.most is not None:
            fits &= sums <= self.most
        fits = np.asarray((fits & (low <= high).all(axis=0)).astype(bool))
        if self._shared is not None and self._shared.adds_up:
            few = np.flatnonzero(fits & (sums <= self._shared.unit))
            counts, printed = self._shared.single(self._wide(sums[few]))
            inside = (low[:, few] <= counts) & (counts <= high[:, few])
            fits[few] = printed & inside.all(axis=0)
        return fits

    def _wide(self, sums: IntArray) -> IntArray:
        return sums.astype(object) if self.is_wide(int(sums.max(initial=0))) else sums

    def _closer(
        self, low: IntArray, high: IntArray, columns: IntArray, sums: IntArray
    ) -> tuple[IntArray, IntArray]:
        """The same ends, in some columns as close as the whole row makes them."""
        shared = self._shared
        if shared is None or not shared.adds_up or not len(sums):
            return low, high
        low, high, wide = low.copy(), high.copy(), self._wide(sums)
        few, many = np.flatnonzero(sums <= shared.unit), np.flatnonzero(sums > shared.unit)
        counts, _ = shared.single(wide[few])
        low[:, few], high[:, few] = (
            np.maximum(low[:, few], counts),
            np.minimum(high[:, few], counts),
        )
        for column in columns.tolist() if len(many) else ():
            least, most = shared.least(column, wide[many]), shared.most(column, wide[many])
            low[column, many] = np.maximum(low[column, many], least)
            high[column, many] = np.minimum(high[column, many], most)
        return low, high

    def split(self, cells: IntArray) -> tuple[_ColumnLimits, _ColumnLimits]:
        """The limits of each column's cells that are asked about, and of the rest."""
        pairs: list[tuple[Limits, Limits]] = []
        nobody: Limits = (0, 0)
        chosen = np.split(np.isin(self.cells, cells), np.cumsum(list(map(len, self.columns)))[:-1])
        for column, here, known in zip(self.columns, chosen, self._known, strict=True):
            if here.any() and not here.all():
                pairs.append((self._limits.of(column[here]), self._limits.of(column[~here])))
            else:
                pairs.append((known, nobody) if here.any() else (nobody, known))
        asked, rest = zip(*pairs, strict=True)
        return _ColumnLimits.of(asked), _ColumnLimits.of(rest)

    def extremes(
        self, asked: _ColumnLimits, rest: _ColumnLimits, sums: IntArray, *, closer: bool = False
    ) -> tuple[IntArray, ...]:
        """Least and most of what is asked about, and of the rest, by the columns alone.

        `closer`: by what the whole row says of a column, which need not grow with the sum.
        """
        low, high = self.ends(sums)
        if closer:
            low, high = self._closer(low, high, np.flatnonzero(asked.most[:, 0] != 0), sums)
        asked_most, rest_most = asked.most_of(sums), rest.most_of(sums)
        return (
            np.maximum(low - rest_most, asked.least).sum(axis=0),
            np.minimum(high - rest.least, asked_most).sum(axis=0),
            np.maximum(low - asked_most, rest.least).sum(axis=0),
            np.minimum(high - asked.least, rest_most).sum(axis=0),
        )


BLOCK = 1 << 20
"""Counts that are worked out at once, at most."""

ROOM, TIME = 1 << 30, 1 << 41
"""Bits of all sets of sums together, and bits that are moved to make them, at most."""


@dataclass(frozen=True, slots=True)
class RowWork:
    """How many sums of a row are tried, after which every sum counts as possible.

    Attributes
    ----------
    tried
        Sums at most, shared out among the columns.
    chunk, block
        Sums that are tried at first, twice as many each time after that, and counts that are
        worked out at once, at most.
    wide
        How much longer Python integers take than those of a machine word.
    """

    tried: int = WORK
    chunk: int = 1 << 10
    block: int = BLOCK
    wide: int = 32

    def most(self, row: RateRow, largest: int) -> int:
        """How many sums of a row, up to some number, are tried at most."""
        return self.tried // len(row.columns) // (self.wide if row.is_wide(largest) else 1)


def proofs_by_rows(
    space: Space, statements: Sequence[Statement], work: RowWork | None = None
) -> dict[int, RowProofs]:
    """What each statement of rates proves by its rows, by its place."""
    limits = SumLimits(space, statements)
    return {
        place: RowProofs(space, statement, limits, work or RowWork())
        for place, statement in enumerate(statements)
        if isinstance(statement, RateStatement)
    }


class RowProofs:
    """What one statement of rates proves together with N, by its rows."""

    def __init__(
        self, space: Space, statement: RateStatement, limits: SumLimits, work: RowWork
    ) -> None:
        self._space, self._statement, self._limits, self._work = space, statement, limits, work

    @cached_property
    def rows(self) -> list[RateRow]:
        """The rows in the order of the statement."""
        count = range(len(self._statement.empty))
        return [RateRow(self._statement, row, self._limits) for row in count]

    @cached_property
    def _row_of(self) -> IntArray | None:
        """The row of each cell, -1 for none; None if rows share cells."""
        rows = np.full(self._space.size, -1)
        held = np.concatenate([row.cells for row in self.rows])
        if len(np.unique(held)) < len(held):
            return None
        for place, row in enumerate(self.rows):
            rows[row.cells] = place
        return rows

    @cached_property
    def _total(self) -> Limits:
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

    def _admitted(self, row: RateRow) -> tuple[Progression, ...]:
        others = sum(other.least for other in self.rows) - row.least
        most, total = row.most, self._total[1]
        if total is not None:
            most = total - others if most is None else min(most, total - others)
        if most is not None and most < 0:
            return ()
        first = start = row.least // row.step
        flags = np.zeros(0, dtype=bool)
        work = self._work
        end = start + work.tried
        if most is not None:
            end = min(end, most // row.step + 1)
        end = min(end, start + work.most(row, end * row.step))
        size, largest = work.chunk, max(work.chunk, work.block // len(row.columns))
        while first < end:
            last = min(end, first + size)
            flags = np.concatenate([flags, row.admissible(_multiples(first, last, row.step))])
            settled = flags[first - start :].all() and first > start
            first, size = last, min(size * 2, largest)
            if settled:
                break
        complete = most is not None and first > most // row.step
        admitted = progressions(flags, start * row.step, row.step, endless=not complete)
        if admitted and admitted[-1][1] is None and most is not None:
            admitted = (*admitted[:-1], (admitted[-1][0], most // row.step * row.step, row.step))
        return admitted

    def row_of(self, cells: IntArray) -> int | None:
        """The row that some cells lie in; None if that is not one row."""
        if not len(cells):
            return None
        if self._row_of is not None:
            places = np.unique(self._row_of[cells])
            return int(places[0]) if len(places) == 1 and places[0] >= 0 else None
        holding = (at for at, row in enumerate(self.rows) if np.isin(cells, row.cells).all())
        return next(holding, None)

    @cached_property
    def _others(self) -> tuple[int, list[int]] | None:
        """The window, and for each row what the others reach above their least sums."""
        leasts, total = self._leasts, self._total[1]
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
        room = min(self._work.tried, ROOM // rows, TIME // (parts * rows.bit_length()))
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
        row, parts = self.rows[place], self.admitted[place]
        if not parts:
            return np.zeros(0, dtype=np.int64)
        asked, rest = row.split(cells)

        def keeps_or_breaks(multiple: int) -> bool:
            """Whether from this multiple of the step on the columns alone keep, or break, it.

            Both ends of what the columns allow only grow with the sum of the row, from its least
            sum on: below it, a column that needs more than the row holds would leave the less to
            the rest the smaller the row.
            """
            sums = _multiples(multiple, multiple + 1, row.step)
            low, high, *_ = row.extremes(asked, rest, sums)
            return bool(low[0] >= proven if side == "lower" else high[0] > proven)

        def beyond(first: int, last: int) -> IntArray:
            """Which of some multiples of the step are admissible and could break the bound."""
            sums = _multiples(first, last, row.step)
            sums = sums[inside(sums, parts)]
            sums = sums[row.admissible(sums)]
            ends = row.extremes(asked, rest, sums, closer=True)
            asked_low, asked_high, rest_low, rest_high = ends
            if side == "lower":
                breaks = np.maximum(asked_low, sums - rest_high) < proven
            else:
                breaks = np.minimum(asked_high, sums - rest_low) > proven
            return np.asarray(sums[breaks.astype(bool)])

        start, most = parts[0][0] // row.step, parts[-1][1]
        stop = None if most is None else most // row.step + 1
        cut = _first_from(keeps_or_breaks, start, stop)
        if side == "lower":
            stop = cut
        else:
            start = cut if cut is not None else (stop or start)
        if stop is None or stop - start > self._work.most(row, stop * row.step):
            return None
        size = max(1, self._work.block // len(row.columns))
        blocks = [beyond(first, min(stop, first + size)) for first in range(start, stop, size)]
        return np.concatenate(blocks) if blocks else np.zeros(0, dtype=np.int64)

    def proof(
        self, cells: IntArray, side: str, proven: int
    ) -> tuple[int, tuple[Progression, ...]] | None:
        """Why a bound holds: the row of the cell, and its sums that would break it.

        None if that is no proof: the other rows can make up the rest of N at one of them.
        """
        place, sums = self.row_of(cells), self.breaking(cells, side, proven)
        if place is None or sums is None or self.reachable(place, sums).any():
            return None
        if not len(sums):
            return place, ()
        step, first = self.rows[place].step, int(sums[0])
        flags = np.zeros((int(sums[-1]) - first) // step + 1, dtype=bool)
        flags[((sums - first) // step).astype(np.int64)] = True
        return place, progressions(flags, first, step, endless=False)


def _multiples(start: int, stop: int, step: int) -> IntArray:
    """``step`` times every number from `start` to before `stop`."""
    return _listed(range(start * step, stop * step, step))


def _first_from(holds: Callable[[int], bool], start: int, stop: int | None) -> int | None:
    """The first number from `start` on at which something holds that goes on to; else `stop`."""
    below, above = start, start + 1
    while not holds(above):
        if above >= stop if stop is not None else above - start > SAFE:
            return stop
        below, above = above, start + 2 * (above - start)
    if holds(start):
        return start
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (below, middle) if holds(middle) else (middle, above)
    return above
