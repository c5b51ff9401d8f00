"""Phase 3: from feasible row sums to the counts of cells, and to whole tables that attain them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from cellbounds.errors import CellboundsError, TooMuchWork
from cellbounds.model.rates.offset_sets import OffsetSet, runs_of
from cellbounds.results.values import UNBOUNDED, Progression, ValueSet
from cellbounds.runtime.arrays import SAFE, BoolArray, IntArray
from cellbounds.solvers.conditional.admissible import ListedRow
from cellbounds.solvers.conditional.feasible import FeasibleRows, range_row, sum_algebra
from cellbounds.solvers.conditional.sum_sets import SumSet

__all__ = ["CellCounts", "row_sum_for", "table_with"]

VALUES_EFFORT = 1 << 28
"""Sums times columns that may be evaluated one by one for the attainable counts of a row."""

_FIRST = 4
_SHORT = 64


class CellCounts:
    """Extreme and attainable counts of every cell of the distinct rows of a solution."""

    def __init__(self, solution: FeasibleRows) -> None:
        self._solution = solution
        self._listed = {row for row, _ in solution.problem.cell_values}
        self._values: dict[int, list[ValueSet]] = {}

    def bounds(self, rows: Sequence[int] | None = None) -> tuple[IntArray, IntArray]:
        """Smallest and largest count of every cell, distinct rows by columns.

        If some rows are named, the others are left at 0.
        """
        solution = self._solution
        wanted = range(solution.problem.height) if rows is None else rows
        plain = [row for row in wanted if row not in self._listed]
        feasible = [solution.feasible[row] for row in plain]
        found = self._extremes(np.array(plain, dtype=np.int64), feasible)
        if len(plain) == solution.problem.height:
            return found
        shape = (solution.problem.height, solution.problem.width)
        lower, upper = np.zeros(shape, dtype=object), np.zeros(shape, dtype=object)
        lower[plain], upper[plain] = found
        for row in self._listed.intersection(wanted):
            for column, values in enumerate(self.row_values(row)):
                lower[row, column], upper[row, column] = values.smallest, values.largest
        return lower, upper

    def row_values(self, row: int) -> list[ValueSet]:
        """Every attainable count of each cell of a distinct row."""
        if row not in self._values:
            listed = row in self._listed
            self._values[row] = self._by_lists(row) if listed else self._by_intervals(row)
        return self._values[row]

    def _extremes(self, rows: IntArray, sums: Sequence[SumSet]) -> tuple[IntArray, IntArray]:
        """Smallest and largest counts over given sums of each row.

        Counts under a sum n are at least tight_low * n: with sums in increasing order the search
        for the smallest count ends once that floor reaches the best found; likewise downwards.
        """
        if not len(rows):
            empty = np.zeros((0, self._solution.problem.width), dtype=np.int64)
            return empty, empty
        endless = np.zeros(len(rows), dtype=bool)
        if self._solution.problem.total_upper is None:
            endless = np.array([one.unbounded for one in sums])
        heads = [one.head(_FIRST) for one in sums]
        tails = [
            head if without_end else one.tail(_FIRST)
            for head, one, without_end in zip(heads, sums, endless.tolist(), strict=True)
        ]
        looks = self._first_look(rows, heads, tails)
        found = []
        for downwards, (best, settled), ends in zip(
            (False, True), looks, (heads, tails), strict=True
        ):
            # A row with fewer sums than were looked at is settled too.
            long = [len(one) == _FIRST for one in ends]
            waiting = np.flatnonzero(~settled & ~(endless & downwards) & long)
            if len(waiting):
                last = [[ends[place][-1]] for place in waiting.tolist()]
                sure = self._settled(
                    rows[waiting], best[waiting], np.array(last, dtype=best.dtype), downwards
                )
                for place in waiting[~sure].tolist():
                    best[place] = self._searched(rows[place], sums[place], downwards)
            found.append(best)
        if endless.any():
            found[1] = found[1].astype(object)
            shares = self._solution.shapes.tight_high[rows]
            found[1][endless[:, None] & (shares > 0)] = UNBOUNDED
            found[1][endless[:, None] & (shares == 0)] = 0
        return found[0], found[1]

    def _first_look(
        self, rows: IntArray, heads: list[list[int]], tails: list[list[int]]
    ) -> list[tuple[IntArray, BoolArray]]:
        """Extremes over the first and last few sums of each row, and whether they are final.

        They are if they do not pass l_j (u_j) at the last sum looked at, which bounds what comes.
        """
        evaluator = self._solution.evaluator
        ends = [_padded(h, _FIRST) + _padded(t, _FIRST) for h, t in zip(heads, tails, strict=True)]
        values = evaluator.sums_array(ends, max(map(max, ends)))
        block = max(1, (1 << 18) // (values.shape[1] * self._solution.problem.width))
        parts = []
        for start in range(0, len(rows), block):
            sums = values[start : start + block]
            lower, upper = evaluator.limits(rows[start : start + block], sums)
            smallest, largest = evaluator.ranges(lower, upper, sums)
            least, most = smallest.min(axis=2), largest.max(axis=2)
            low_done = (least <= lower[:, :, _FIRST - 1]).all(axis=0)
            high_done = (most >= np.minimum(upper[:, :, -1], sums[:, -1])).all(axis=0)
            parts.append((least.T, low_done, most.T, high_done))
        least, low_done, most, high_done = (
            side[0] if len(side) == 1 else np.concatenate(side) for side in zip(*parts, strict=True)
        )
        return [(least, np.asarray(low_done, bool)), (most, np.asarray(high_done, bool))]

    def _searched(self, row: int, sums: SumSet, downwards: bool) -> IntArray:
        """The extreme counts of one row, taking in more and more sums from one end."""
        rows = np.array([row])
        taken, enough = 8 * _FIRST, self._enough(row)
        while taken < enough:
            ends = sums.tail(taken) if downwards else sums.head(taken)
            best = self._best(rows, ends, downwards)
            last = np.array([[ends[-1]]], dtype=best.dtype)
            if len(ends) < taken or self._settled(rows, best[None, :], last, downwards)[0]:
                return best
            taken *= 8
        return self._best(rows, sums.without_middle(enough), downwards)

    def _best(self, rows: IntArray, sums: list[int], downwards: bool) -> IntArray:
        """The extreme counts of one row over some sums."""
        self._check_effort(int(rows[0]), len(sums))
        best: IntArray | None = None
        evaluator, largest = self._solution.evaluator, max(sums)
        block = max(1, (1 << 18) // self._solution.problem.width)
        for start in range(0, len(sums), block):
            values = evaluator.sums_array([sums[start : start + block]], largest)
            lower, upper = evaluator.cell_ranges(rows, values)
            found = upper.max(axis=2)[:, 0] if downwards else lower.min(axis=2)[:, 0]
            if best is not None:
                found = np.maximum(best, found) if downwards else np.minimum(best, found)
            best = found
        assert best is not None
        return best

    def _check_effort(self, row: int, count: int) -> None:
        if count * self._solution.problem.width > VALUES_EFFORT:
            raise TooMuchWork(
                f"the row {self._solution.problem.name(row)} has {count} feasible sums to "
                "evaluate one by one; publish fewer decimals or leave priors out"
            )

    def _settled(
        self, rows: IntArray, best: IntArray, last: IntArray, downwards: bool
    ) -> BoolArray:
        """Whether no sum beyond `last` can improve on the best counts of a row."""
        if downwards:
            return np.asarray((best >= self._ceiling(rows, last)).all(axis=1), dtype=bool)
        return np.asarray((best <= self._floor(rows, last)).all(axis=1), dtype=bool)

    def _floor(self, rows: IntArray, sums: IntArray) -> IntArray:
        shapes, problem = self._solution.shapes, self._solution.problem
        scale = problem.scale[rows][:, None]
        closed = np.where(shapes.tight_low_open[rows], 0, 1)
        share = shapes.tight_low[rows]
        whole, rest = sums // scale, sums % scale
        least = share * whole + (share * rest - closed) // scale + 1
        return np.asarray(np.maximum(least, problem.cell_lower[rows]))

    def _ceiling(self, rows: IntArray, sums: IntArray) -> IntArray:
        shapes, problem = self._solution.shapes, self._solution.problem
        scale = problem.scale[rows][:, None]
        opened = np.where(shapes.tight_high_open[rows], 1, 0)
        share = shapes.tight_high[rows]
        whole, rest = sums // scale, sums % scale
        most = share * whole + (share * rest - opened) // scale
        cap = problem.cell_upper[rows]
        return np.where((cap >= 0) & (cap < most), cap, most)

    def _enough(self, row: int) -> int:
        """So many sums at each end of a long run contain the extremes of the whole run.

        In a row without upper bounds the extremes repeat with the period of the scale, shifted
        the right way, once (columns - 1) * scale is passed. Other rows are searched to the end.
        """
        solution = self._solution
        if solution.sums.begin[row] is None or solution.feasible[row].mixed:
            return VALUES_EFFORT // solution.problem.width
        periods = (solution.problem.width + 1) * int(solution.problem.scale[row])
        return solution.shapes.touch(row, int(solution.shapes.step[row])) + periods

    def _by_lists(self, row: int) -> list[ValueSet]:
        solution = self._solution
        listed = ListedRow(solution.problem, solution.evaluator, row)
        held: list[set[tuple[int, int]]] = [set() for _ in range(solution.problem.width)]
        for total in solution.feasible[row].values:
            for intervals, (first, bits) in zip(held, listed.counts(total), strict=True):
                for start, length in runs_of(bits):
                    intervals.add((first + start, first + start + length - 1))
        return [ValueSet.from_intervals(intervals) for intervals in held]

    def _by_intervals(self, row: int) -> list[ValueSet]:
        solution = self._solution
        exact = solution.shapes.exact[row]
        sums = solution.feasible[row]
        scale = int(solution.problem.scale[row])
        results: list[ValueSet | None] = [None] * solution.problem.width
        for column in np.flatnonzero(exact).tolist():
            share = int(solution.shapes.share[row, column])
            results[column] = _scaled(sums.values, share, scale)
        if not exact.all():
            singles, runs = self._split(row, sums)
            lows, highs = self._intervals(row, singles)
            # A long run gives one interval.
            ends = [self._extremes(np.array([row]), [SumSet([run])]) for run in runs]
            for column in np.flatnonzero(~exact).tolist():
                found = lows[column], highs[column]
                more = [(low[0, column], high[0, column]) for low, high in ends]
                results[column] = _collected(*found, more)
        return [one for one in results if one is not None]

    def _split(self, row: int, sums: SumSet) -> tuple[IntArray, list[Progression]]:
        """Sums to evaluate one by one, and long runs of which the ends tell everything."""
        solution = self._solution
        begin = solution.sums.begin[row]
        step = int(solution.shapes.step[row])
        firsts, lasts, progressions = sums.runs()
        singles: list[IntArray] = []
        runs: list[Progression] = []
        borders: dict[int, int] = {}  # few strides, but perhaps very many progressions

        def border_of(begin: int, stride: int) -> int:
            if stride not in borders:
                borders[stride] = begin + solution.shapes.touch(row, stride)
            return borders[stride]

        count = 0
        if len(firsts):
            cuts = lasts
            if begin is not None and step == 1 and (firsts != lasts).any():
                starts = np.maximum(firsts, border_of(begin, 1))
                long = np.asarray(lasts - starts > _SHORT, dtype=bool)
                runs += zip(
                    starts[long].tolist(), lasts[long].tolist(), itertools.repeat(1), strict=False
                )
                cuts = np.where(long, starts - 1, lasts)
            count += int((cuts - firsts + 1).sum())
            self._check_effort(row, count)
            singles.append(_ranges(firsts, cuts - firsts + 1))
        for first, last, stride in progressions:
            cut = last
            if begin is not None and stride % step == 0 and first != last:
                border = border_of(begin, stride)
                start = first + max(0, -(-(border - first) // stride)) * stride
                if last is None or last - start > _SHORT * stride:
                    runs.append((start, last, stride))
                    cut = start - stride
            if cut is not None and cut >= first:
                count += (cut - first) // stride + 1
                self._check_effort(row, count)
                singles.append(_numbers(first, cut, stride))
        return np.concatenate(singles) if singles else np.zeros(0, dtype=np.int64), runs

    def _intervals(self, row: int, sums: IntArray) -> tuple[list[IntArray], list[IntArray]]:
        """The counts of each cell over some sums, as disjoint intervals in increasing order."""
        solution = self._solution
        width = solution.problem.width
        block = max(1, (1 << 20) // width)
        parts: list[list[tuple[IntArray, IntArray]]] = [[] for _ in range(width)]
        for start in range(0, len(sums), block):
            part = sums[start : start + block]
            values = solution.evaluator.sums_array(part, int(part.max()))
            smallest, largest = solution.evaluator.cell_ranges(
                np.array([row]), solution.evaluator.shortened(values[None, :])
            )
            for column in range(width):
                parts[column].append(_united(smallest[column, 0], largest[column, 0]))
        none = np.zeros(0, dtype=np.int64)
        found = [
            (none, none)
            if not pieces
            else pieces[0]
            if len(pieces) == 1
            else _united(*(np.concatenate(ends) for ends in zip(*pieces, strict=True)))
            for pieces in parts
        ]
        return [low for low, _ in found], [high for _, high in found]


def _padded(values: list[int], length: int) -> list[int]:
    return values + values[-1:] * (length - len(values))


def _collected(lows: IntArray, highs: IntArray, more: list[tuple[Any, Any]]) -> ValueSet:
    """Disjoint intervals in order and some more, of which the last may have no end, as one set."""
    if any(high is UNBOUNDED for _, high in more):
        found: list[tuple[int, int | None]] = [*zip(lows.tolist(), highs.tolist(), strict=True)]
        found += [(int(low), None if high is UNBOUNDED else int(high)) for low, high in more]
        return ValueSet.from_intervals(found)
    if more:
        ends = (np.array(side) for side in zip(*more, strict=True))
        lows, highs = _united(
            *(np.concatenate(both) for both in zip((lows, highs), ends, strict=True))
        )
    return ValueSet(zip(lows.tolist(), highs.tolist(), itertools.repeat(1), strict=False))


def _ranges(firsts: IntArray, lengths: IntArray) -> IntArray:
    """So many whole numbers from each first one on, one range after the other."""
    ends = np.cumsum(lengths.astype(np.int64))
    lengths = lengths.astype(np.int64)
    return np.asarray(np.repeat(firsts - ends + lengths, lengths) + np.arange(int(ends[-1])))


def _numbers(first: int, last: int, step: int) -> IntArray:
    """A progression as an array, of Python integers where int64 would not do."""
    if last < SAFE:
        return np.arange(first, last + 1, step)
    return np.array(range(first, last + 1, step), dtype=object)


def _united(lows: IntArray, highs: IntArray) -> tuple[IntArray, IntArray]:
    """Unite many intervals into disjoint ones: the first and last of each, in order."""
    if (lows[1:] < lows[:-1]).any():
        order = np.argsort(lows, kind="stable")
        lows, highs = lows[order], highs[order]
    reach = np.maximum.accumulate(highs)
    gaps = np.flatnonzero(lows[1:] > reach[:-1] + 1)
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
    low, high = int(shapes.tight_low[row, column]), int(shapes.tight_high[row, column])
    least = value * scale // high if high else sums.smallest
    most = None if low == 0 else -(-value * scale // low)
    listed = any(i == row for i, _ in problem.cell_values)
    lists = ListedRow(problem, solution.evaluator, row) if listed else None
    for batch in _batches(sums.between(least, most)):
        if lists is not None:
            for total in batch:
                if value in lists.cell_values(total, column):
                    return total
            continue
        totals = solution.evaluator.sums_array(batch, max(batch))
        smallest, largest = solution.evaluator.cell_ranges(np.array([row]), totals[None, :])
        fits = np.flatnonzero((smallest[column, 0] <= value) & (value <= largest[column, 0]))
        if len(fits):
            return batch[int(fits[0])]
    raise CellboundsError("a count that was found attainable has no row sum; please report this")


def _batches(sums: ValueSet) -> Iterator[list[int]]:
    batch: list[int] = []
    size = 16
    for total in sums:
        batch.append(total)
        if len(batch) == size:
            yield batch
            batch, size = [], min(size * 4, 1 << 16)
    if batch:
        yield batch


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
    rows = [
        _fill(solution, kinds[i], sums[i], *((column, value) if i == place else (None, None)))
        for i in range(len(kinds))
    ]
    table = np.zeros((len(kinds), solution.problem.width), dtype=object)
    for i, row in enumerate(rows):
        table[i] = row
    return table


def _complete_sums(solution: FeasibleRows, kinds: list[int], chosen: dict[int, int]) -> list[int]:
    """Sums for the rows that have none yet, so that all add to an allowed N."""
    sets = solution.sums.sets
    problem = solution.problem
    loose = [i for i in range(len(kinds)) if i not in chosen]
    sums = {i: sets[kinds[i]].start for i in loose} | chosen
    if problem.total_upper is None:
        deficit = problem.total_lower - sum(sums.values())
        for i in loose:
            one = sets[kinds[i]]
            if deficit > 0:
                step = one.next_member(deficit) if one.largest is None else one.largest
                sums[i] += step or 0
                deficit -= step or 0
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
        while offset is not None and not (offset <= rest and algebra.holds(suffix, rest - offset)):
            if offset > rest:
                raise CellboundsError("row sums found feasible do not add to N; please report this")
            offset = rows[place].next_member(offset + 1)
        if offset is None:
            raise CellboundsError("row sums found feasible do not add to N; please report this")
        parts[place] = offset
        rest -= offset
    parts[last] = rest
    return parts


def _fill(
    solution: FeasibleRows, row: int, total: int, column: int | None, value: int | None
) -> list[int]:
    """Counts of one row by the construction in Theorem 2.1 of document 004."""
    problem, evaluator = solution.problem, solution.evaluator
    if any(i == row for i, _ in problem.cell_values):
        return ListedRow(problem, evaluator, row).fill(total, column, value)
    sums = evaluator.sums_array([total], total).reshape(1, 1)
    counts, room = [], []
    lowers, uppers = evaluator.limits(np.array([row]), sums)
    for place in range(problem.width):
        lower, upper = int(lowers[place, 0, 0]), int(uppers[place, 0, 0])
        if place == column and value is not None:
            lower = upper = value
        counts.append(lower)
        room.append(upper - lower)
    missing = total - sum(counts)
    for place, spare in enumerate(room):
        added = min(spare, missing)
        counts[place] += added
        missing -= added
    return counts
