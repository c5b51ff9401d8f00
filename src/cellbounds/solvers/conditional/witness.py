"""Whole tables that attain a claimed count: row sums that add to N, then a fill of each row."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cellbounds.errors import CellboundsError
from cellbounds.results.values import ValueSet
from cellbounds.runtime.arrays import IntArray
from cellbounds.solvers.conditional.feasible import sum_algebra
from cellbounds.solvers.conditional.lists import ListedRow
from cellbounds.solvers.conditional.offsets import OffsetSet
from cellbounds.solvers.conditional.solution import FeasibleRows, range_row

__all__ = ["between", "row_sum_for", "table_with"]


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
    for batch in _batches(between(sums, least, most)):
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


def between(sums: ValueSet, least: int, most: int | None) -> ValueSet:
    """The sums from `least` to `most` (None: without end)."""
    kept = []
    for first, last, step in sums.progressions:
        begin = first if first >= least else first + -(-(least - first) // step) * step
        end = last if most is None else most if last is None else min(last, most)
        if end is None or begin <= end:
            kept.append((begin, end, step))
    return ValueSet(kept)


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
