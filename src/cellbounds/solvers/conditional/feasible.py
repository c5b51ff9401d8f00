"""Phase 2: which row sums are feasible: those that leave the other rows what they can make."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cellbounds.errors import InconsistentRelease
from cellbounds.model.rates.offset_sets import (
    Bits,
    ListedSums,
    OffsetSet,
    Residues,
    SumAlgebra,
    Window,
    leave_one_out,
    positions,
    runs_in,
    spread,
    sum_of_all,
)
from cellbounds.model.rates.row_problem import RowProblem, RowShapes, row_shapes
from cellbounds.results.values import Progression
from cellbounds.runtime.arrays import IntArray
from cellbounds.solvers.conditional.admissible import (
    Evaluator,
    RowSums,
    admissible_sums,
    unreachable,
)
from cellbounds.solvers.conditional.sum_sets import Segment, SumSet

SMALL_WINDOW = 1 << 14
"""Up to this slack bits over all of it are cheapest."""

LARGE_WINDOW = 1 << 30
"""Up to this slack bits over all of it fit the memory."""

RESIDUE_LIMIT = 1 << 20
"""The largest modulus."""

RESIDUE_GAIN = 1 << 8
"""Residues are taken if the slack is so many times the modulus; otherwise bits are cheaper."""

FEW = 1 << 12
"""Combinations of row sums that are listed one by one rather than held in any other way."""

SINGLES = 1 << 20
"""Sums above the part that all residue classes fill, kept one by one."""


def feasible_sums(rows: Sequence[OffsetSet], copies: Sequence[int], slack: int) -> list[SumSet]:
    """For each row the sums that leave the others an offset that they can make.

    Saturated rows keep all of this in windows whose width does not depend on the slack: sums of
    rows that include saturated row k hold everything from k's size on.
    """
    rows = [row.within(slack) for row in rows]
    broad = sorted((row.size, place) for place, row in enumerate(rows) if _broad(row, rows))
    sizes = [size for size, place in broad for _ in range(copies[place])][:2]
    if len(sizes) == 2:
        return _by_window(rows, copies, slack, min(slack + 1, sizes[1]))
    if len(sizes) == 1:
        place = broad[0][1]
        found = _by_window(rows, copies, slack, min(slack + 1, sizes[0]))
        others = [row for other, row in enumerate(rows) if other != place]
        counts = [count for other, count in enumerate(copies) if other != place]
        found[place] = _of_one_row(rows[place], others, counts, slack)
        return found
    return _without_saturation(rows, copies, slack)


def _broad(row: OffsetSet, rows: Sequence[OffsetSet]) -> bool:
    """Whether sums that include the row have no gaps from its size on, up to their largest.

    That is so if its run of consecutive offsets is at least as long as any gap of the others.
    """
    if row.step != 1:
        return False
    return row.last is None or row.last - row.size >= max(one.largest_gap for one in rows)


def sum_algebra(rows: Sequence[OffsetSet], slack: int) -> tuple[SumAlgebra, int]:
    """A way to hold sums of some of the rows up to a slack, and the row to begin with.

    Every set that includes that row is exact: it saturates the window, or its step is the modulus.
    """
    saturated = [(row.size, place) for place, row in enumerate(rows) if row.saturated]
    if saturated:
        size, place = min(saturated)
        return Window(min(slack + 1, size)), place
    algebra = _algebra(rows, [1] * len(rows), slack)
    if isinstance(algebra, Residues):
        return algebra, next(
            place for place, row in enumerate(rows) if row.pure and row.step == algebra.modulus
        )
    return algebra, len(rows) - 1


def _by_window(
    rows: Sequence[OffsetSet], copies: Sequence[int], slack: int, width: int
) -> list[SumSet]:
    window = Window(width)
    others = leave_one_out(window, rows, copies)
    least = _least_beside_others([row.largest for row in rows], copies, slack)
    return [
        _fitting(row, held, slack, low) for row, held, low in zip(rows, others, least, strict=True)
    ]


def _least_beside_others(
    tops: Sequence[int | None], copies: Sequence[int], total: int
) -> list[int]:
    """What each row must make of a total at least: the others have a largest sum, or none."""
    endless = sum(times for top, times in zip(tops, copies, strict=True) if top is None)
    whole = sum((top or 0) * times for top, times in zip(tops, copies, strict=True))
    return [max(total - (whole - (top or 0)), 0) if endless == (top is None) else 0 for top in tops]


def _fitting(row: OffsetSet, held: Bits, slack: int, least: int = 0) -> SumSet:
    """Sums of the row, from offset `least` on, whose complement to the slack is held.

    The others' largest sum is beyond the window, so `least` cuts the part above it only.
    """
    bits, limit = held
    segments: list[Segment] = []
    # Complements from the limit on are all held: everything in the row up to offset `free`.
    free = slack - limit
    if free >= least:
        early = row.bits & ((1 << min(row.size, free + 1)) - 1)
        segments.append((row.start + least, early >> least))
        tail = row.tail(least, free)
        if tail:
            segments.append((row.start + tail.start, row.start + tail[-1], row.step))
    if bits:
        # Offsets free+1, ..., slack have the complements limit-1, ..., 0: the bits turned round.
        turned = int(f"{bits:0{limit}b}"[::-1], 2)
        tail = row.tail(free + 1, slack)
        late = row.bits >> (free + 1)
        if tail:
            every = (1 << len(tail)) - 1
            every = every if row.step == 1 else spread(1, len(tail), row.step, limit)
            late |= every << (tail.start - free - 1)
        segments.append((row.start + free + 1, turned & late))
    return SumSet(segments)


def _of_one_row(
    row: OffsetSet, others: Sequence[OffsetSet], copies: Sequence[int], slack: int
) -> SumSet:
    """Feasible sums of one row, the others being given."""
    unit = _unit(others)
    if unit > 1:
        others = [_divided(other, unit) for other in others]
    algebra = _algebra(others, copies, slack // unit)
    held = sum_of_all(algebra, others, copies)
    return _fitting_in(algebra, held, row, slack, unit)


def _without_saturation(
    rows: Sequence[OffsetSet], copies: Sequence[int], slack: int
) -> list[SumSet]:
    unit = _unit(rows)
    if slack % unit:
        return [SumSet([]) for _ in rows]
    small = [_divided(row, unit) for row in rows] if unit > 1 else rows
    algebra = _algebra(small, copies, slack // unit)
    if isinstance(algebra, Residues):
        return _by_residues(algebra, rows, small, copies, slack, unit)
    others = leave_one_out(algebra, small, copies)
    return [
        _fitting_in(algebra, held, row, slack, unit) for row, held in zip(rows, others, strict=True)
    ]


def _by_residues(
    algebra: Residues,
    rows: Sequence[OffsetSet],
    small: Sequence[OffsetSet],
    copies: Sequence[int],
    slack: int,
    unit: int,
) -> list[SumSet]:
    """Leave-one-out sums modulo the smallest step; that row itself needs another modulus."""
    key = next(place for place, row in enumerate(small) if row.pure and row.step == algebra.modulus)
    places = [place for place in range(len(rows)) if place != key]
    others = [small[place] for place in places]
    counts = [copies[place] for place in places]
    found: list[SumSet] = [SumSet([]) for _ in rows]
    if copies[key] > 1:
        held = sum_of_all(algebra, others, counts)
        found[key] = _fitting_in(algebra, held, rows[key], slack, unit)
    else:
        found[key] = _of_one_row(rows[key], [rows[place] for place in places], counts, slack)
    for place, held in zip(places, leave_one_out(algebra, others, counts), strict=True):
        found[place] = _fitting_in(algebra, held, rows[place], slack, unit)
    return found


def _algebra(rows: Sequence[OffsetSet], copies: Sequence[int], slack: int) -> Any:
    """The cheapest way to hold the sums of rows none of which is saturated."""
    largest = [row.largest for row in rows]
    if None not in largest:
        tops = [top * times for top, times in zip(largest, copies, strict=True) if top is not None]
        slack = min(slack, sum(tops))
    steps = [row.step for row in rows if row.pure]
    if slack < SMALL_WINDOW:
        return Window(slack + 1)
    if _combinations(rows, copies, slack) <= FEW:
        return ListedSums(slack)
    smallest = min(steps, default=RESIDUE_LIMIT + 1)
    if smallest <= RESIDUE_LIMIT and smallest * RESIDUE_GAIN <= slack:
        return Residues(smallest, slack)
    if slack < LARGE_WINDOW:
        return Window(slack + 1)
    return Residues(smallest, slack) if smallest <= RESIDUE_LIMIT else ListedSums(slack)


def _combinations(rows: Sequence[OffsetSet], copies: Sequence[int], slack: int) -> int:
    """How many sums there are at most, counted until they are more than few."""
    count = 1
    for row, times in zip(rows, copies, strict=True):
        members = row.bits.bit_count() + (slack // row.step + 1 if row.step else 0)
        for _ in range(times):
            count *= members
            if count > FEW:
                return count
    return count


def _unit(rows: Sequence[OffsetSet]) -> int:
    """The largest number that divides every offset."""
    unit = 0
    for row in rows:
        if unit == 1:
            break
        unit = math.gcd(unit, row.step)
        for first, length in row.runs:
            unit = math.gcd(unit, first, 1 if length > 1 else 0)
    return max(unit, 1)


def _divided(row: OffsetSet, unit: int) -> OffsetSet:
    bits = int(f"{row.bits:b}"[::-1][::unit][::-1], 2)
    last = None if row.last is None else row.last // unit
    return replace(row, bits=bits, size=-(-row.size // unit), step=row.step // unit, last=last)


def _fitting_in(algebra: SumAlgebra, held: Any, row: OffsetSet, slack: int, unit: int) -> SumSet:
    """Sums of the row whose complement is held; what is held is in multiples of the unit."""
    if isinstance(algebra, Window) and unit == 1 and algebra.width == slack + 1:
        return _fitting(row, held, slack)
    if isinstance(algebra, Residues):
        return _in_order(_fitting_residues(algebra, held, row, slack, unit))
    if isinstance(algebra, Window):
        bits, limit = held
        members = positions(bits | ((1 << algebra.width) - (1 << limit))).astype(object)
    else:
        members = np.array(sorted(held), dtype=object)
    offsets = slack - members[::-1] * unit
    offsets = offsets[offsets >= 0]
    kept = offsets[row.members(offsets)] + row.start
    return SumSet([(first, last, 1) for first, last in runs_in(kept)])


def _in_order(parts: list[Progression]) -> SumSet:
    """Sort residue classes out: a progression that all of them fill, then single sums.

    The classes of one row begin one after the other and run on with the same stride; they end at
    different places, so that above the first end only some go on.
    """
    classes = sorted(part for part in parts if part[2] > 1)
    singles = [part for part in parts if part[2] == 1]
    firsts = [first for first, _, _ in classes]
    strides = {stride for _, _, stride in classes}
    if len(classes) > 1 and len(strides) == 1:
        stride = strides.pop()
        step = firsts[1] - firsts[0]
        if stride % step == 0 and firsts == list(range(firsts[0], firsts[0] + stride, step)):
            end = min(last for _, last, _ in classes if last is not None)
            rest = [
                (first + (end - first) // stride * stride + stride, last, stride)
                for first, last, _ in classes
                if last is not None
            ]
            if sum((b - a) // stride + 1 for a, b, _ in rest if b >= a) <= SINGLES:
                above = sorted(n for a, b, _ in rest for n in range(a, b + 1, stride))
                runs = runs_in(np.array(above, dtype=object))
                filled = (firsts[0], end - (end - firsts[0]) % step, step)
                return SumSet([*singles, filled, *((a, b, 1) for a, b in runs)])
    return SumSet(parts, mixed=True)


def _fitting_residues(
    algebra: Residues, held: Any, row: OffsetSet, slack: int, unit: int
) -> list[Progression]:
    sums: list[Progression] = []
    for first, length in row.runs:
        for offset in range(first, first + length):
            rest = slack - offset
            if rest >= 0 and rest % unit == 0 and algebra.holds(held, rest // unit):
                sums.append((row.start + offset, row.start + offset, 1))
    tail = row.tail(0, slack)
    modulus = algebra.modulus * unit
    period = modulus // math.gcd(modulus, row.step)
    for first in tail[:period]:
        rest = slack - first
        if rest % unit:
            continue
        # Within a residue class everything from its smallest sum on is held.
        smallest = int(held[rest // unit % algebra.modulus]) * unit
        alike = range(first, min(slack - smallest, tail[-1]) + 1, row.step * period)
        if alike:
            sums.append((row.start + first, row.start + alike[-1], alike.step))
    return sums


@dataclass(frozen=True, slots=True, eq=False)
class FeasibleRows:
    """Feasible row sums of the distinct rows of a problem.

    Rows with equal rates and known bounds share everything: `kind` maps each row of the problem to
    its distinct row, `copies` counts them.
    """

    problem: RowProblem
    shapes: RowShapes
    evaluator: Evaluator
    sums: RowSums
    feasible: Sequence[SumSet]
    kind: IntArray
    copies: Sequence[int]
    slack: int | None


def solve_rows(whole: RowProblem) -> FeasibleRows:
    """Phases 1 and 2: admissible sums of every row, then those that N allows together.

    Raises
    ------
    InconsistentRelease
        Naming the row that no counts can make, or saying that N cannot be reached.
    """
    kind, firsts, copies = _distinct_rows(whole)
    problem = whole if len(firsts) == whole.height else whole.chosen(firsts)
    evaluator = Evaluator(problem)
    shapes = row_shapes(problem)
    sums = admissible_sums(problem, shapes, evaluator, copies)
    slack = None
    if problem.height == 0:
        feasible: list[SumSet] = []
        _check_empty(problem)
    elif problem.total_upper is None:
        feasible = _without_total(problem, sums.sets, copies)
    else:
        needed = sum(one.start * times for one, times in zip(sums.sets, copies, strict=True))
        slack = problem.total_upper - needed
        if slack < 0:
            raise InconsistentRelease(
                f"N={problem.total_upper} is smaller than the rows of "
                f"{problem.facts.conditional.notation} need: at least {needed}"
            )
        feasible = _with_total(problem, sums.sets, copies, slack)
    return FeasibleRows(problem, shapes, evaluator, sums, feasible, kind, copies, slack)


def _with_total(
    problem: RowProblem, sets: Sequence[OffsetSet], copies: Sequence[int], slack: int
) -> list[SumSet]:
    rows, counts = list(sets), list(copies)
    give = (problem.total_upper or 0) - problem.total_lower
    if give:
        rows.append(range_row(give))
        counts.append(1)
    feasible = feasible_sums(rows, counts, slack)[: len(sets)]
    if not all(feasible):
        raise unreachable(problem)
    return feasible


def range_row(give: int) -> OffsetSet:
    """What N may fall short of its upper limit, as if it were the sum of one more row."""
    return OffsetSet(0, 0, 0, 1, give)


def _without_total(
    problem: RowProblem, sets: Sequence[OffsetSet], copies: Sequence[int]
) -> list[SumSet]:
    """Only a lower limit of N, or none: a row must make up what the others cannot."""
    tops = [None if row.largest is None else row.start + row.largest for row in sets]
    least = _least_beside_others(tops, copies, problem.total_lower)
    sums = [_members_from(row, low) for row, low in zip(sets, least, strict=True)]
    if not all(sums):
        raise unreachable(problem)
    return [SumSet(members) for members in sums]


def _members_from(row: OffsetSet, least: int) -> list[Progression]:
    sums: list[Progression] = []
    for first, length in row.runs:
        begin, end = max(row.start + first, least), row.start + first + length - 1
        if begin <= end:
            sums.append((begin, end, 1))
    offset = row.next_member(max(least - row.start, row.size))
    if offset is not None:
        last = None if row.largest is None else row.start + row.largest
        sums.append((row.start + offset, last, row.step))
    return sums


def _check_empty(problem: RowProblem) -> None:
    """Every row holds nobody, so N must be 0."""
    if problem.total_lower > 0:
        raise InconsistentRelease(
            f"every row of {problem.facts.conditional.notation} is said to hold nobody, but "
            f"{problem.facts.total.notation}"
        )


def _distinct_rows(problem: RowProblem) -> tuple[IntArray, list[int], list[int]]:
    listed = {row for row, _ in problem.cell_values} | set(problem.row_values)
    columns = [
        problem.low,
        problem.high,
        problem.low_open,
        problem.high_open,
        problem.scale[:, None],
    ]
    if not problem.bare:
        columns += [problem.cell_lower, problem.cell_upper]
        columns += [problem.row_lower[:, None], problem.row_upper[:, None]]
    packed = any(column.dtype == object for column in columns)
    table = np.hstack([c.astype(object if packed else np.int64) for c in columns])
    keys: list[object] = [tuple(line) for line in table.tolist()] if packed else []
    keys = keys or [line.tobytes() for line in table]
    for row in listed:
        keys[row] = row, keys[row]  # rows with value lists are not compared
    firsts: dict[object, int] = {}
    for row, key in enumerate(keys):
        firsts.setdefault(key, row)
    places = {key: place for place, key in enumerate(firsts)}
    kind = np.array([places[key] for key in keys], dtype=np.int64)
    return kind, list(firsts.values()), np.bincount(kind).tolist()
