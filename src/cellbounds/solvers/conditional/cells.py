"""Phase 3: from feasible row sums to the counts of cells, and to whole tables that attain them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from cellbounds.errors import CellboundsError, TooMuchWork
from cellbounds.model.rates.offset_sets import OffsetSet, runs_of
from cellbounds.results.values import UNBOUNDED, Progression, ValueSet
from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.solvers.conditional.admissible import Evaluator, ListedRow
from cellbounds.solvers.conditional.feasible import FeasibleRows, SumSet, range_row, sum_algebra
from cellbounds.solvers.conditional.whole_rows import WholeRows

VALUES_EFFORT = 1 << 28
"""Sums times columns that may be evaluated one by one for the attainable counts of a row."""

_FIRST, _MORE = 4, 32
_SHORT = 64


@dataclass(frozen=True, eq=False)
class CellCounts:
    """Extreme and attainable counts of every cell of the distinct rows of a solution."""

    _solution: FeasibleRows
    _values: dict[int, list[ValueSet]] = field(default_factory=dict)

    def bounds(self, rows: Sequence[int] | None = None) -> tuple[IntArray, IntArray]:
        """Smallest and largest count of every cell, distinct rows by columns.

        If some rows are named, the others are left at 0.
        """
        problem = self._solution.problem
        wanted = range(problem.height) if rows is None else rows
        listed = {row for row, _ in problem.cell_values}
        plain = [row for row in wanted if row not in listed]
        sums = [self._solution.feasible[row] for row in plain]
        extremes = self._extremes(np.array(plain, dtype=np.int64), sums)
        if len(plain) == problem.height:
            return extremes
        shape = (problem.height, problem.width)
        lower, upper = np.zeros(shape, dtype=object), np.zeros(shape, dtype=object)
        lower[plain], upper[plain] = extremes
        for row in listed.intersection(wanted):
            for column, values in enumerate(self.row_values(row)):
                lower[row, column], upper[row, column] = values.smallest, values.largest
        return lower, upper

    def row_values(self, row: int) -> list[ValueSet]:
        """Every attainable count of each cell of a distinct row."""
        if row not in self._values:
            listed = any(row == place for place, _ in self._solution.problem.cell_values)
            self._values[row] = self._by_lists(row) if listed else self._by_intervals(row)
        return self._values[row]

    def _extremes(self, rows: IntArray, sums: Sequence[SumSet]) -> tuple[IntArray, IntArray]:
        """Smallest and largest counts over given sums of each row.

        Counts under a sum n are at least the smallest share of n: with sums in increasing order
        the search for the smallest count ends once that floor reaches the best so far; likewise
        downwards.
        """
        if not len(rows):
            empty = np.zeros((0, self._solution.problem.width), dtype=np.int64)
            return empty, empty
        limited = self._solution.problem.total_upper is not None
        endless = np.array([not limited and row_sums.unbounded for row_sums in sums])
        heads = [row_sums.ends(_FIRST) for row_sums in sums]
        tails = [
            head if without_end else row_sums.ends(_FIRST, downwards=True)
            for head, row_sums, without_end in zip(heads, sums, endless.tolist(), strict=True)
        ]
        least, most, floor, ceiling = self._under(
            rows, [_padded(h) + _padded(t) for h, t in zip(heads, tails, strict=True)]
        )
        final = (least <= floor).all(axis=1), (most >= ceiling).all(axis=1) | endless
        for downwards, best, ends in ((False, least, heads), (True, most, tails)):
            # A row with fewer sums than were looked at is settled too.
            long = np.array([len(end) == _FIRST for end in ends])
            waiting = np.flatnonzero(long & ~final[downwards])
            if not len(waiting):
                continue
            last = [ends[place][-1] for place in waiting.tolist()]
            sure = self._settled(rows[waiting], best[waiting], last, downwards)
            waiting = waiting[~sure]
            for place in self._looked(rows, sums, best, waiting, downwards) if len(waiting) else ():
                best[place] = self._searched(rows[place], sums[place], downwards)
        if endless.any():
            most = most.astype(object)
            grows = self._solution.shapes.tight[1][rows] > 0
            most[endless[:, None] & grows] = UNBOUNDED
            most[endless[:, None] & ~grows] = 0
        return least, most

    def _under(self, rows: IntArray, sums: list[list[int]]) -> Sequence[IntArray]:
        """Smallest and largest counts of each row under equally many sums of each.

        Beside them l_j of the last of the first few sums, and u_j of the last sum: what larger
        sums than the one, and smaller ones than the other, do not pass.
        """
        evaluator = self._solution.evaluator
        values = evaluator.sums_array(sums, max(map(max, sums)))
        block = max(1, (1 << 18) // (values.shape[1] * self._solution.problem.width))
        blocks = []
        for start in range(0, len(rows), block):
            part = values[start : start + block]
            smallest, largest, lower, upper = evaluator.ranges(rows[start : start + block], part)
            ceiling = np.minimum(upper[:, :, -1], part[:, -1])
            ends = smallest.min(axis=2), largest.max(axis=2), lower[:, :, _FIRST - 1], ceiling
            blocks.append([side.T for side in ends])
        if len(blocks) == 1:
            return blocks[0]
        return [np.concatenate(sides) for sides in zip(*blocks, strict=True)]

    def _settled(
        self, rows: IntArray, best: IntArray, last: list[int], downwards: bool
    ) -> BoolArray:
        """Whether no sum beyond the `last` of a row can improve on its best counts."""
        sums = self._solution.evaluator.sums_array(last, max(last))[:, None]
        floor, ceiling = (ends[:, :, 0].T for ends in self._shares.limits(rows, sums))
        final = best >= ceiling if downwards else best <= floor
        return np.asarray(final.all(axis=1), dtype=bool)

    @cached_property
    def _shares(self) -> Evaluator:
        """Evaluates the smallest and largest share of each cell, in place of its rates."""
        if self._solution.problem.figures is not None:
            return self._solution.evaluator
        low, high, low_open, high_open = self._solution.shapes.tight
        tight: Any = {"low": low, "high": high, "low_open": low_open, "high_open": high_open}
        return Evaluator(replace(self._solution.problem, **tight))

    def _looked(
        self,
        rows: IntArray,
        sums: Sequence[SumSet],
        best: IntArray,
        waiting: IntArray,
        downwards: bool,
    ) -> list[int]:
        """Take in some more sums of all rows that wait at once; those that wait still."""
        waiting_sums = [sums[place] for place in waiting.tolist()]
        ends = [total.ends(_MORE, downwards=downwards) for total in waiting_sums]
        looked = self._under(rows[waiting], [_padded(end, _MORE) for end in ends])
        best[waiting] = looked[int(downwards)]
        last = [end[-1] for end in ends]
        sure = self._settled(rows[waiting], best[waiting], last, downwards)
        long = np.array([len(end) == _MORE for end in ends])
        still: list[int] = waiting[long & ~sure].tolist()
        return still

    def _searched(self, row: int, sums: SumSet, downwards: bool) -> IntArray:
        """The extreme counts of one row, taking in more and more sums from one end."""
        taken, enough = 0, self._enough(row)
        more, best = 4 * _MORE, None
        while taken + more < enough:
            ends = sums.ends(taken + more, downwards=downwards)
            if len(ends) > taken:
                found = self._best(row, ends[taken:], downwards)
                better = np.maximum if downwards else np.minimum
                best = found if best is None else better(best, found)
            assert best is not None
            final = self._settled(np.array([row]), best[None, :], ends[-1:], downwards)
            if len(ends) < taken + more or final[0]:
                return best
            taken += more
            more *= 2
        return self._best(row, sums.without_middle(enough), downwards)

    def _best(self, row: int, sums: list[int], downwards: bool) -> IntArray:
        """The extreme counts of one row over some sums."""
        self._check_effort(row, len(sums))
        evaluator = self._solution.evaluator
        if isinstance(evaluator, WholeRows) and evaluator.speaks(row):
            return evaluator.best(row, sums, downwards)
        width = max(_FIRST, min(len(sums), 1 << 10))
        lines = [_padded(sums[k : k + width], width) for k in range(0, len(sums), width)]
        least, most, *_ = self._under(np.full(len(lines), row), lines)
        return np.asarray(most.max(axis=0) if downwards else least.min(axis=0))

    def _check_effort(self, row: int, count: int) -> None:
        if count * self._solution.problem.width > VALUES_EFFORT:
            raise TooMuchWork(
                f"the row {self._solution.problem.name(row)} has {count} feasible sums to "
                "evaluate one by one; publish fewer decimals or leave side information out"
            )

    def _enough(self, row: int) -> int:
        """So many sums at each end of a long run contain the extremes of the whole run.

        In a row without upper bounds the extremes repeat with the period of the scale, shifted
        the right way, once (columns - 1) * scale is passed. Other rows are searched to the end.
        """
        solution = self._solution
        if solution.sums.begin[row] is None or solution.feasible[row].mixed:
            return VALUES_EFFORT // solution.problem.width
        scale = int(solution.problem.scale[row])
        if solution.problem.figures is not None:
            return 2 * scale + solution.shapes.touch(row, 1)
        periods = (solution.problem.width + 1) * scale
        return solution.shapes.touch(row, int(solution.shapes.step[row])) + periods

    def _by_lists(self, row: int) -> list[ValueSet]:
        solution = self._solution
        listed = ListedRow(solution.problem, solution.evaluator, row)
        intervals: list[set[tuple[int, int]]] = [set() for _ in range(solution.problem.width)]
        for total in solution.feasible[row].values:
            for inside, (first, bits) in zip(intervals, listed.counts(total), strict=True):
                for start, length in runs_of(bits):
                    inside.add((first + start, first + start + length - 1))
        return [ValueSet.from_intervals(inside) for inside in intervals]

    def _split(self, row: int, sums: SumSet) -> tuple[IntArray, list[Progression]]:
        """Sums to evaluate one by one, and long runs of which the ends tell everything."""
        shapes, begin = self._solution.shapes, self._solution.sums.begin[row]
        firsts, lasts, steps = sums.runs
        cuts, runs = lasts, list[Progression]()
        for stride in set(steps.tolist()):  # few strides, but perhaps very many progressions
            here = (steps == stride) & ((lasts < 0) | (lasts - firsts > _SHORT * stride))
            if begin is None or stride % int(shapes.step[row]) or not here.any():
                continue
            border = begin + shapes.touch(row, stride)
            starts = firsts + np.maximum(-((firsts - border) // stride), 0) * stride
            here &= (lasts < 0) | (lasts - starts > _SHORT * stride)
            long = np.flatnonzero(here)
            ends = [None if last < 0 else last for last in lasts[long].tolist()]
            runs += zip(starts[long].tolist(), ends, itertools.repeat(stride), strict=False)
            cuts = np.where(here, starts - stride, cuts)
        counts = np.maximum((cuts - firsts) // steps + 1, 0)
        self._check_effort(row, int(counts.sum()))
        counts = counts.astype(np.int64)
        before = np.repeat(np.cumsum(counts) - counts, counts)
        singles = np.arange(len(before)) - before
        return np.repeat(firsts, counts) + singles * np.repeat(steps, counts), runs

    def _by_intervals(self, row: int) -> list[ValueSet]:
        """From the sums one by one, or from the ends of a long run of them.

        The counts of a cell that is no fixed share of its sum are an interval under each sum, and
        one under a long run of sums.
        """
        problem, shapes = self._solution.problem, self._solution.shapes
        evaluator, sums = self._solution.evaluator, self._solution.feasible[row]
        free = np.flatnonzero(~shapes.exact[row]).tolist()
        singles, runs = self._split(row, sums) if free else (np.arange(0), [])
        block = max(1, (1 << 20) // problem.width)
        intervals: dict[int, list[tuple[IntArray, IntArray]]] = {column: [] for column in free}
        for start in range(0, len(singles), block):
            part = singles[start : start + block]
            values = evaluator.sums_array(part[None, :], int(part.max()), short=True)
            low, high, *_ = evaluator.ranges(np.array([row]), values)
            for column in free:
                intervals[column].append(_united(low[column, 0], high[column, 0]))
        for run in runs:
            low, high = self._extremes(np.array([row]), [SumSet([run])])
            for column in free:
                intervals[column].append((low[:, column], high[:, column]))
        values_of = []
        for column in range(problem.width):
            if column not in intervals:
                share, scale = int(shapes.share[row, column]), int(problem.scale[row])
                values_of.append(_scaled(sums.values, share, scale))
                continue
            pieces = intervals[column]
            lows, highs = pieces[0]
            if len(pieces) > 1:
                lows, highs = _united(*(np.concatenate(ends) for ends in zip(*pieces, strict=True)))
            lasts = highs.tolist()
            if lasts[-1] is UNBOUNDED:
                lasts[-1] = None
            values_of.append(ValueSet(zip(lows.tolist(), lasts, itertools.repeat(1), strict=False)))
        return values_of


def _padded(values: list[int], length: int = _FIRST) -> list[int]:
    return values + values[-1:] * (length - len(values))


def _united(lows: IntArray, highs: IntArray) -> tuple[IntArray, IntArray]:
    """Unite many intervals into disjoint ones: the first and last of each, in order."""
    if (lows[1:] < lows[:-1]).any():
        order = np.argsort(lows, kind="stable")
        lows, highs = lows[order], highs[order]
    reach = np.maximum.accumulate(highs)
    gaps = np.flatnonzero(lows[1:] - 1 > reach[:-1])
    return np.concatenate((lows[:1], lows[gaps + 1])), np.concatenate((reach[gaps], reach[-1:]))


def _scaled(sums: ValueSet, share: int, scale: int) -> ValueSet:
    """The fixed share of every sum."""
    if share == 0:
        return ValueSet([(0, 0, 1)])
    if share == scale:
        return sums
    scaled: list[Progression] = []
    for first, last, step in sums.progressions:
        end = None if last is None else last * share // scale
        stride = step * share // scale if first != last else 1
        scaled.append((first * share // scale, end, stride))
    return ValueSet(scaled)


def row_sum_for(solution: FeasibleRows, row: int, column: int, value: int) -> int:
    """A feasible sum of a distinct row under which the cell can hold `value`."""
    problem, shapes = solution.problem, solution.shapes
    sums = solution.feasible[row].values
    scale = int(problem.scale[row])
    low, high = (int(ends[row, column]) for ends in shapes.tight[:2])
    least = value * scale // high if high else sums.smallest
    most = None if low == 0 else -(-value * scale // low)
    listed = ListedRow(problem, solution.evaluator, row) if problem.lists(row) else None
    candidates, size = iter(sums.between(least, most)), 16
    while batch := list(itertools.islice(candidates, size)):
        if listed is None:
            totals = solution.evaluator.sums_array([batch], max(batch))
            smallest, largest, *_ = solution.evaluator.ranges(np.array([row]), totals)
            fits = np.flatnonzero((smallest[column, 0] <= value) & (value <= largest[column, 0]))
        else:
            fits = np.flatnonzero([value in listed.cell_values(n, column) for n in batch])
        if len(fits):
            return batch[int(fits[0])]
        size = min(size * 4, 1 << 16)
    raise CellboundsError("a count that was found attainable has no row sum; please report this")


def table_with(
    solution: FeasibleRows,
    place: int | None,
    total: int | None,
    column: int | None,
    value: int | None,
) -> IntArray:
    """Counts of all rows of the problem, row `place` having this sum and cell.

    Without a place, any consistent table.
    """
    kinds = solution.kind.tolist()
    chosen: dict[int, int] = {}
    if place is not None and total is not None:
        chosen[place] = total
    sums = _complete_sums(solution, kinds, chosen)
    return _filled(solution, sums, None if place is None else (place, column, value))


def table_at(solution: FeasibleRows, level: int) -> IntArray | None:
    """Counts of all rows, whose sums are about a multiple of their smallest; one takes the rest.

    Counts grow with their rows: what holds somebody holds about twice (levels 1, 3, ...) or three
    times as many (2, 4, ...) as in the smallest table. N may not leave room for all rows: then
    levels 1 and 2 begin with the smallest, 3 and 4 with the largest. The former fill rows from
    their end, the latter from their beginning. None if no row takes the rest.
    """
    kinds, sets, problem = solution.kind.tolist(), solution.sums.sets, solution.problem
    saturated = [i for i, kind in enumerate(kinds) if sets[kind].saturated]
    if not saturated:
        return None
    rounds, more = divmod(level - 1, 2)
    second = rounds % 2 == 1
    further = [row.next_member(max((1 + more) * row.start, 1)) or 0 for row in sets]
    sums = [sets[kind].start for kind in kinds]
    if problem.total_upper is None:
        sums = [total + further[kind] for kind, total in zip(kinds, sums, strict=True)]
        if sum(sums) < problem.total_lower:
            return None
    else:
        taking = min(saturated, key=lambda i: sets[kinds[i]].size)
        last = sets[kinds[taking]]
        rest = problem.total_upper - sum(sums)
        order = sorted(range(len(kinds)), key=lambda i: further[kinds[i]], reverse=second)
        for i in order:
            if i != taking and further[kinds[i]] <= rest - last.size:
                sums[i] += further[kinds[i]]
                rest -= further[kinds[i]]
        if rest < 0 or last.next_member(rest) != rest:
            return None
        sums[taking] += rest
    return _filled(solution, sums, backwards=not second)


def _complete_sums(solution: FeasibleRows, kinds: list[int], chosen: dict[int, int]) -> list[int]:
    """Sums for the rows that have none yet, so that all add to an allowed N."""
    sets = solution.sums.sets
    problem = solution.problem
    loose = [i for i in range(len(kinds)) if i not in chosen]
    sums = {i: sets[kinds[i]].start for i in loose} | chosen
    if problem.total_upper is None:
        deficit = problem.total_lower - sum(sums.values())
        for i in loose:
            offsets = sets[kinds[i]]
            if deficit > 0:
                most = offsets.largest
                added = (offsets.next_member(deficit) if most is None else most) or 0
                sums[i] += added
                deficit -= added
        return [sums[i] for i in range(len(kinds))]
    rest = problem.total_upper - sum(sums.values())
    rows: list[OffsetSet] = [sets[kinds[i]] for i in loose]
    give = problem.total_upper - problem.total_lower
    if give:
        rows.append(range_row(give))
    for i, offset in zip([*loose, -1], _parts_of(rows, rest), strict=False):
        if i >= 0:
            sums[i] += offset
    return [sums[i] for i in range(len(kinds))]


def _parts_of(rows: list[OffsetSet], rest: int) -> list[int]:
    """One offset of each row, together adding to `rest`."""
    if len(rows) < 2:
        return [rest] * len(rows)
    rows = [row.within(rest) for row in rows]
    algebra, last = sum_algebra(rows, rest)
    order = [place for place in range(len(rows)) if place != last]
    held = algebra.plus(algebra.nothing(), rows[last], 1)
    suffixes = [held]
    for place in reversed(order):
        held = algebra.plus(held, rows[place], 1)
        suffixes.append(held)
    parts = [0] * len(rows)
    for place, suffix in zip(order, reversed(suffixes[:-1]), strict=True):
        offset: int | None = 0
        while offset is not None and offset <= rest and not algebra.holds(suffix, rest - offset):
            offset = rows[place].next_member(offset + 1)
        if offset is None or offset > rest:
            raise CellboundsError("row sums found feasible do not add to N; please report this")
        parts[place] = offset
        rest -= offset
    parts[last] = rest
    return parts


def _filled(
    solution: FeasibleRows,
    sums: list[int],
    chosen: tuple[int, int | None, int | None] | None = None,
    *,
    backwards: bool = False,
) -> IntArray:
    """Counts of rows with these sums by the construction in Theorem 2.1 of document 004.

    `chosen` is the place, column and value of a cell, if one is to hold a certain count.
    """
    problem, evaluator = solution.problem, solution.evaluator
    if not sums:
        return np.zeros((0, problem.width), dtype=object)
    totals = evaluator.sums_array([[total] for total in sums], max(sums))
    lower, upper = (ends[:, :, 0] for ends in evaluator.limits(solution.kind, totals))
    place, column, value = (None, None, None) if chosen is None else chosen
    if place is not None and column is not None and value is not None:
        lower[column, place] = upper[column, place] = value
    missing = totals[:, 0] - lower.sum(axis=0)
    columns = range(problem.width)
    for j in reversed(columns) if backwards else columns:
        added = np.minimum(upper[j] - lower[j], missing)
        lower[j] += added
        missing -= added
    counts: IntArray = lower.T.astype(object)
    if isinstance(evaluator, WholeRows):
        for i, kind in enumerate(solution.kind.tolist()):
            if evaluator.speaks(kind):
                cell = (column, value) if i == place else (None, None)
                counts[i] = evaluator.filled(kind, sums[i], *cell)
    if problem.cell_values:
        listed = {row for row, _ in problem.cell_values}
        for i, kind in enumerate(solution.kind.tolist()):
            if kind in listed:
                cell = (column, value) if i == place else (None, None)
                counts[i] = ListedRow(problem, evaluator, kind).fill(sums[i], *cell)
    return counts
