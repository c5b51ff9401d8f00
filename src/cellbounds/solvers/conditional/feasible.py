"""Phase 2: which row sums are feasible: those that leave the other rows what they can make.

Feasible sums are bits near both ends, with a progression between, listed on demand.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from cellbounds.errors import InconsistentRelease, TooMuchWork
from cellbounds.model.rates.offset_sets import (
    Bits,
    ListedSums,
    OffsetSet,
    Residues,
    SumAlgebra,
    Window,
    leave_one_out,
    positions,
    run_ends,
    runs_in,
    runs_of,
    spread,
    sum_of_all,
)
from cellbounds.model.rates.row_problem import RowProblem, RowShapes, row_shapes
from cellbounds.results.values import Progression, ValueSet
from cellbounds.runtime.arrays import SAFE, IntArray, whole_array
from cellbounds.solvers.conditional.admissible import (
    Evaluator,
    RowSums,
    admissible_sums,
    unreachable,
)
from cellbounds.solvers.conditional.whole_rows import make_evaluator

Segment = tuple[int, int] | Progression
"""Bits above a base, or first, last (None: without end) and step of a progression."""


class SumSet:
    """A set of row sums as segments; sets with few hundred members or many millions alike.

    The segments follow each other in increasing order unless `mixed`.
    """

    def __init__(self, segments: Sequence[Segment], *, mixed: bool = False) -> None:
        self._segments: list[Any] = [
            segment for segment in segments if len(segment) == 3 or segment[1]
        ]
        self.mixed = mixed

    def __bool__(self) -> bool:
        return bool(self._segments)

    @property
    def unbounded(self) -> bool:
        """Whether there is no largest sum."""
        return any(segment[1] is None for segment in self._segments)

    @cached_property
    def values(self) -> ValueSet:
        """The same as a set of values, neighbouring runs as one."""
        joined: list[Progression] = []
        for segment in self._segments:
            pieces = [segment]
            if len(segment) == 2:
                base, bits = segment
                pieces = [(base + a, base + a + n - 1, 1) for a, n in runs_of(bits)]
            for first, last, step in pieces:
                if joined and step == joined[-1][2] == 1 and joined[-1][1] == first - 1:
                    first = joined.pop()[0]
                joined.append((first, last, step))
        return ValueSet(joined)

    @cached_property
    def runs(self) -> tuple[IntArray, IntArray, IntArray]:
        """First, last (-1: without end) and step of each progression; neighbours are joined.

        The arrays are of Python integers where int64 would not do.
        """
        if not self._segments:
            return (np.zeros(0, dtype=np.int64),) * 3
        pieces: list[tuple[IntArray, ...]] = []
        for progressions, alike in itertools.groupby(self._segments, lambda one: len(one) == 3):
            if progressions:
                ends = zip(
                    *((a, -1 if b is None else b, step) for a, b, step in alike), strict=True
                )
                pieces.append(tuple(whole_array(end, (len(end),)) for end in ends))
                continue
            for base, bits in alike:
                places = positions(bits)
                large = base + bits.bit_length() >= SAFE
                firsts, lasts = run_ends((places.astype(object) if large else places) + base)
                pieces.append((firsts, lasts, np.ones_like(firsts)))
        firsts, lasts, steps = (np.concatenate(ends) for ends in zip(*pieces, strict=True))
        edges = np.ones(len(firsts) + 1, dtype=bool)
        edges[1:-1] = (steps[1:] > 1) | (steps[:-1] > 1) | (firsts[1:] != lasts[:-1] + 1)
        return firsts[edges[:-1]], lasts[edges[1:]], steps[edges[:-1]]

    def ends(self, count: int, *, downwards: bool = False) -> list[int]:
        """The smallest members, at most so many; the largest, in decreasing order, if downwards."""
        if self.mixed:
            members = reversed(self.values) if downwards else iter(self.values)
        else:
            segments = self._segments[::-1] if downwards else self._segments
            members = itertools.chain.from_iterable(
                _members(segment, downwards) for segment in segments
            )
        return list(itertools.islice(members, count))

    def without_middle(self, count: int) -> list[int]:
        """All members, but only the first and last so many of each long progression."""
        if self.mixed:
            if self.values.size > 2 * count:
                raise TooMuchWork(
                    f"more than {2 * count} feasible row sums in no simple order; publish fewer "
                    "decimals or ask for kind='linear' bounds"
                )
            return list(self.values)
        members: list[int] = []
        for segment in self._segments:
            if len(segment) == 2:
                members += _members(segment)
                continue
            first, last, step = segment
            every = range(first, first + count * step if last is None else last + 1, step)
            long = (every.stop - 1 - first) // step > 2 * count
            members += [*every[:count], *every[-count:]] if long else every
        return members


def _members(segment: Segment, downwards: bool = False) -> Iterator[int]:
    """The members of a segment in order, from one end of it."""
    if len(segment) == 3:
        first, last, step = segment
        if last is None:
            yield from itertools.count(first, step)
        else:
            yield from range(first, last + 1, step)[:: -1 if downwards else 1]
        return
    base, bits = segment
    while bits:
        place = (bits if downwards else bits & -bits).bit_length() - 1
        yield base + place
        bits ^= 1 << place


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
    # Sums that include a broad row have no gaps from its size on, up to their largest: its run of
    # consecutive offsets is at least as long as any gap of the others.
    broad = sorted(
        (row.size, place)
        for place, row in enumerate(rows)
        if row.step == 1
        and (row.last is None or row.last - row.size >= max(other.largest_gap for other in rows))
    )
    sizes = [size for size, place in broad for _ in range(copies[place])][:2]
    if not sizes:
        return _without_saturation(rows, copies, slack)
    beside = leave_one_out(Window(min(slack + 1, sizes[-1])), rows, copies)
    least = [0] * len(rows)
    endless = [row.step > 0 and row.last is None for row in rows]
    if sum(itertools.compress(copies, endless)) < 2:
        least = _least_beside_others([row.largest for row in rows], copies, slack)
    sums = [
        _fitting(row, held, slack, low) for row, held, low in zip(rows, beside, least, strict=True)
    ]
    if len(sizes) == 1:
        place = broad[0][1]
        sums[place] = _of_one_row(place, rows, copies, slack)
    return sums


def sum_algebra(rows: Sequence[OffsetSet], slack: int) -> tuple[SumAlgebra, int]:
    """A way to hold sums of some of the rows up to a slack, and the row to begin with.

    Every set that includes that row is exact: it saturates the window, or its step is the modulus.
    """
    saturated = [(row.size, place) for place, row in enumerate(rows) if row.saturated]
    if saturated:
        size, place = min(saturated)
        return Window(min(slack + 1, size)), place
    algebra, key = _algebra(rows, [1] * len(rows), slack)
    return algebra, len(rows) - 1 if key is None else key


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


def _of_one_row(place: int, rows: Sequence[OffsetSet], copies: Sequence[int], slack: int) -> SumSet:
    """Feasible sums of one row, of which there is one copy."""
    others = [row for other, row in enumerate(rows) if other != place]
    counts = [count for other, count in enumerate(copies) if other != place]
    unit = _unit(others)
    others = [_divided(other, unit) for other in others]
    algebra, _ = _algebra(others, counts, slack // unit)
    return _fitting_in(algebra, sum_of_all(algebra, others, counts), rows[place], slack, unit)


def _without_saturation(
    rows: Sequence[OffsetSet], copies: Sequence[int], slack: int
) -> list[SumSet]:
    unit = _unit(rows)
    if slack % unit:
        return [SumSet([]) for _ in rows]
    small = [_divided(row, unit) for row in rows]
    algebra, key = _algebra(small, copies, slack // unit)
    # Residues are modulo the step of the key, which is in every set; by itself it needs another
    # modulus.
    places = [place for place in range(len(rows)) if place != key]
    others, counts = [small[place] for place in places], [copies[place] for place in places]
    held = dict(zip(places, leave_one_out(algebra, others, counts), strict=True))
    if key is not None and copies[key] > 1:
        held[key] = sum_of_all(algebra, others, counts)
    return [
        _fitting_in(algebra, held[place], row, slack, unit)
        if place in held
        else _of_one_row(place, rows, copies, slack)
        for place, row in enumerate(rows)
    ]


def _algebra(
    rows: Sequence[OffsetSet], copies: Sequence[int], slack: int
) -> tuple[SumAlgebra, int | None]:
    """The cheapest way to hold the sums of rows none of which is saturated.

    Beside it the row whose step is the modulus, if sums are held by their residues.
    """
    tops = [row.largest for row in rows]
    if None not in tops:
        slack = min(slack, sum((top or 0) * times for top, times in zip(tops, copies, strict=True)))
    if slack < SMALL_WINDOW:
        return Window(slack + 1), None
    # How many sums there are at most, as a logarithm.
    members = [row.bits.bit_count() + (slack // row.step + 1 if row.step else 0) for row in rows]
    many = sum(times * math.log(count) for count, times in zip(members, copies, strict=True))
    if math.exp(min(many, 99)) <= FEW:
        return ListedSums(slack), None
    pure = [(row.step, place) for place, row in enumerate(rows) if row.pure]
    smallest, key = min(pure, default=(RESIDUE_LIMIT + 1, 0))
    by_residues = smallest <= RESIDUE_LIMIT
    if slack < LARGE_WINDOW and not (by_residues and smallest * RESIDUE_GAIN <= slack):
        return Window(slack + 1), None
    return (Residues(smallest, slack), key) if by_residues else (ListedSums(slack), None)


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
    if unit == 1:
        return row
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
    reached = offsets[row.members(offsets)] + row.start
    return SumSet([(first, last, 1) for first, last in runs_in(reached)])


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
class DistinctRows:
    """The distinct rows of a problem, and facts about each.

    Rows with equal rates and known bounds share everything: `kind` maps each row of the problem to
    its distinct row, `copies` counts them.
    """

    problem: RowProblem
    shapes: RowShapes
    kind: IntArray
    copies: Sequence[int]


@dataclass(frozen=True, slots=True, eq=False)
class FeasibleRows(DistinctRows):
    """Feasible row sums of the distinct rows of a problem."""

    evaluator: Evaluator
    sums: RowSums
    feasible: Sequence[SumSet]
    slack: int | None


def distinct_rows(whole: RowProblem) -> DistinctRows:
    """Take rows together that are alike in everything."""
    kind, firsts, copies = _distinct_rows(whole)
    problem = whole if len(firsts) == whole.height else whole.chosen(firsts)
    return DistinctRows(problem, row_shapes(problem), kind, copies)


def solve_rows(rows: DistinctRows) -> FeasibleRows:
    """Phases 1 and 2: admissible sums of every row, then those that N allows together.

    Raises
    ------
    InconsistentRelease
        Naming the row that no counts can make, or saying that N cannot be reached.
    """
    problem, shapes, copies = rows.problem, rows.shapes, rows.copies
    evaluator = make_evaluator(problem)
    sums = admissible_sums(problem, shapes, evaluator, copies)
    sets, slack = sums.sets, None
    if problem.height == 0:
        feasible: list[SumSet] = []
        if problem.total_lower > 0:
            raise InconsistentRelease(
                f"every row of {problem.facts.conditional.notation} is said to hold nobody, but "
                f"{problem.facts.total.notation}"
            )
    elif problem.total_upper is None:
        # Only a lower limit of N, or none: a row must make up what the others cannot.
        tops = [None if row.largest is None else row.start + row.largest for row in sets]
        least = _least_beside_others(tops, copies, problem.total_lower)
        feasible = [_members_from(row, low) for row, low in zip(sets, least, strict=True)]
    else:
        needed = sum(row.start * times for row, times in zip(sets, copies, strict=True))
        slack = problem.total_upper - needed
        if slack < 0:
            raise InconsistentRelease(
                f"N={problem.total_upper} is smaller than the rows of "
                f"{problem.facts.conditional.notation} need: at least {needed}"
            )
        give = problem.total_upper - problem.total_lower
        short = [range_row(give)] if give else []
        feasible = feasible_sums([*sets, *short], [*copies, *(1 for _ in short)], slack)
        feasible = feasible[: len(sets)]
    if not all(feasible):
        raise unreachable(problem)
    return FeasibleRows(
        problem=problem,
        shapes=shapes,
        kind=rows.kind,
        copies=copies,
        evaluator=evaluator,
        sums=sums,
        feasible=feasible,
        slack=slack,
    )


def range_row(give: int) -> OffsetSet:
    """What N may fall short of its upper limit, as if it were the sum of one more row."""
    return OffsetSet(0, 0, 0, 1, give)


def _members_from(row: OffsetSet, least: int) -> SumSet:
    sums: list[Progression] = []
    for first, length in row.runs:
        begin, end = max(row.start + first, least), row.start + first + length - 1
        if begin <= end:
            sums.append((begin, end, 1))
    offset = row.next_member(max(least - row.start, row.size))
    if offset is not None:
        last = None if row.largest is None else row.start + row.largest
        sums.append((row.start + offset, last, row.step))
    return SumSet(sums)


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
    table = np.hstack(columns)
    packed = table.dtype != object
    keys: list[object] = [line.tobytes() if packed else tuple(line) for line in table]
    for row in listed:
        keys[row] = row, keys[row]  # rows with value lists are not compared
    firsts: dict[object, int] = {}
    for row, key in enumerate(keys):
        firsts.setdefault(key, row)
    places = {key: place for place, key in enumerate(firsts)}
    kind = np.array([places[key] for key in keys], dtype=np.int64)
    return kind, list(firsts.values()), np.bincount(kind).tolist()
