"""Phase 1: which sums each row may have, and which counts a sum allows (document 004).

For a row sum n the cell in column j lies between l_j(n) and u_j(n); the sum is admissible if
these do not cross and sum l <= n <= sum u, and then the attainable counts of the cell are all
from max(l_j, n - sum of the other u) to min(u_j, n - sum of the other l) (Theorem 2.1). Lists of
possible counts break that interval form: the sums that the cells of such a row can make are found
as sets, one row sum at a time.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cellbounds.errors import InconsistentRelease, TooMuchWork, UnsupportedRelease
from cellbounds.model.rates.offset_sets import OffsetSet, Window, positions
from cellbounds.model.rates.row_problem import RowProblem, RowShapes, real_row
from cellbounds.runtime.arrays import SAFE, BoolArray, IntArray

_BLOCK = 1 << 15
"""Entries of an array evaluated at a time: a few arrays of this size stay in the cache."""

_ALONG = 1 << 11
"""Sums of one row evaluated at a time."""


class Evaluator:
    """Evaluates l_j(n), u_j(n) and what follows, for many rows and sums at once.

    Arrays of sums have one line for each row; results have the columns first.
    """

    __slots__ = ("_capped", "_common", "_lift", "_problem", "_raised", "_tables")

    def __init__(self, problem: RowProblem) -> None:
        self._problem = problem
        scales = set(problem.scale.tolist())
        # Division by one number is several times faster than by an array.
        self._common = next(iter(scales)) if len(scales) == 1 else None
        self._capped = not problem.bare and bool((problem.cell_upper >= 0).any())
        self._raised = not problem.bare and bool((problem.cell_lower > 0).any())
        self._lift = max(scales, default=1)
        # ceil(x/s) = (x-1)//s + 1, and the smallest integer above x/s is x//s + 1; likewise below.
        whole = [problem.low, ~problem.low_open + 0, problem.high, problem.high_open + 0]
        whole += [problem.cell_lower, problem.cell_upper]
        self._tables: dict[Any, list[IntArray]] = {np.int64: [ends.T[:, :, None] for ends in whole]}

    def limits(self, rows: IntArray, sums: IntArray) -> tuple[IntArray, IntArray]:
        """l_j(n) and u_j(n) of every column."""
        tables = self._tables[np.int32 if sums.dtype == np.int32 else np.int64]
        chosen: Any = rows
        if int(rows[-1]) - int(rows[0]) + 1 == len(rows) and (rows[1:] > rows[:-1]).all():
            chosen = slice(int(rows[0]), int(rows[-1]) + 1)  # neighbours need no copies
        low, low_shift, high, high_shift = (table[:, chosen] for table in tables[:4])
        scale = self._common if self._common is not None else self._problem.scale[rows][:, None]
        if sums.dtype == np.int64 and sums.size and int(sums.max()) * self._lift >= SAFE:
            # l(n) = low * (n // scale) + l(n mod scale): no product leaves int64.
            whole = sums // scale
            rest = sums - whole * scale
            lower = (low * rest - low_shift) // scale + 1 + low * whole
            upper = (high * rest - high_shift) // scale + high * whole
        else:
            lower = (low * sums - low_shift) // scale + 1
            upper = (high * sums - high_shift) // scale
        lower = np.maximum(lower, tables[4][:, chosen] if self._raised else 0)
        if self._capped:
            known = tables[5][:, chosen]
            upper = np.where(known >= 0, np.minimum(upper, known), upper)
        return lower, upper

    def admissible(self, rows: IntArray, sums: IntArray) -> BoolArray:
        """Which sums are possible for the row, taken alone and without value lists."""
        sums = self.sums_array(sums, int(sums.max(initial=0)), short=True)
        possible = np.empty(sums.shape, dtype=bool)
        along = min(sums.shape[1], _ALONG)
        down = max(1, _BLOCK // max(1, along * self._problem.width))
        for top in range(0, len(rows), down):
            chosen = rows[top : top + down]
            for start in range(0, sums.shape[1], along):
                part = sums[top : top + down, start : start + along]
                lower, upper = self.limits(chosen, part)
                fits = (lower <= upper).all(axis=0)
                fits &= lower.sum(axis=0, dtype=sums.dtype) <= part
                fits &= part <= upper.sum(axis=0, dtype=sums.dtype)
                possible[top : top + down, start : start + along] = fits
        return possible

    def ranges(self, rows: IntArray, sums: IntArray) -> tuple[IntArray, ...]:
        """Smallest and largest count of every cell for admissible sums; l_j(n), u_j(n) beside."""
        lower, upper = self.limits(rows, sums)
        return *ranges_within(lower, upper, sums), lower, upper

    def boxes(self, row: int, sums: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """The vectors of a row with each of some sums, in boxes without common members.

        That is the place of its sum, and the smallest and largest count of every cell (columns
        first), for each box: one for each sum here.
        """
        smallest, largest, *_ = self.ranges(np.array([row]), sums[None, :])
        return np.arange(len(sums)), smallest[:, 0], largest[:, 0]

    def sums_array(
        self, sums: Sequence[Any] | IntArray, largest: int, *, short: bool = False
    ) -> IntArray:
        """Row sums as an array that is safe to compute with.

        If `short`, in 32 bits, where division is several times faster, if all products fit.
        """
        problem = self._problem
        if problem.needs_objects or largest >= SAFE // 4:
            return np.array(sums, dtype=object)
        if not short or self._common is None:
            return np.array(sums, dtype=np.int64)
        most = 2 * largest
        if self._raised or self._capped:
            most = max(most, int(problem.cell_lower.max()), int(problem.cell_upper.max()))
        if most * problem.width * (self._lift + 1) >= 2**31:
            return np.array(sums, dtype=np.int64)
        if np.int32 not in self._tables:
            self._tables[np.int32] = [ends.astype(np.int32) for ends in self._tables[np.int64]]
        return np.array(sums, dtype=np.int32)


def ranges_within(lower: IntArray, upper: IntArray, sums: IntArray) -> tuple[IntArray, IntArray]:
    """Smallest and largest count of every cell for admissible sums, from l_j and u_j.

    They are what the other columns leave, at most and at least.
    """
    short, long = sums - upper.sum(axis=0), sums - lower.sum(axis=0)
    return np.maximum(lower, short + upper), np.minimum(upper, long + lower)


class ListedRow:
    """One row with value lists: admissible sums and attainable counts, sum by sum."""

    __slots__ = ("_evaluator", "_lists", "_row", "_width")

    def __init__(self, problem: RowProblem, evaluator: Evaluator, row: int) -> None:
        self._evaluator, self._row, self._width = evaluator, row, problem.width
        self._lists = problem.lists(row)

    def _cell_sets(self, total: int, fixed: Mapping[int, int]) -> tuple[list[tuple[int, int]], int]:
        """For each column its counts as (smallest, bits above it), and what these leave of a sum.

        Less than nothing is left if some column has no count. Some counts are fixed.
        """
        sums = self._evaluator.sums_array([[total]], total)
        limits = self._evaluator.limits(np.array([self._row]), sums)
        sets = []
        ends = zip(*(side[:, 0, 0].tolist() for side in limits), strict=True)
        for column, (lower, upper) in enumerate(ends):
            bits = (1 << max(upper - lower + 1, 0)) - 1
            listed = [fixed[column]] if column in fixed else self._lists.get(column)
            if listed is not None:
                bits = sum(1 << (value - lower) for value in listed if lower <= value <= upper)
            if not bits:
                return [], -1
            shift = (bits & -bits).bit_length() - 1
            sets.append((lower + shift, bits >> shift))
        return sets, total - sum(first for first, _ in sets)

    def admissible(self, total: int) -> bool:
        """Whether the row can have this sum."""
        sets, slack = self._cell_sets(total, {})
        if slack < 0:
            return False
        window = Window(slack + 1)
        held = window.nothing()
        for _, bits in sets:
            held = window.plus_bits(held, bits)
        return window.holds(held, slack)

    def counts(self, total: int, fixed: Mapping[int, int] | None = None) -> list[tuple[int, int]]:
        """For each column its attainable counts as (smallest, bits above it), given a sum."""
        sets, slack = self._cell_sets(total, fixed or {})
        if slack < 0:
            return [(0, 0)] * self._width
        window = Window(slack + 1)
        attainable = []
        for column, (first, bits) in enumerate(sets):
            held = window.nothing()
            for place, (_, more) in enumerate(sets):
                if place != column:
                    held = window.plus_bits(held, more)
            others, limit = held
            others |= (1 << (slack + 1)) - (1 << limit)
            # An offset goes with what is left of the slack: the bits of the others turned round.
            attainable.append((first, bits & int(f"{others:0{slack + 1}b}"[::-1], 2)))
        return attainable

    def cell_values(self, total: int, column: int) -> list[int]:
        """The attainable counts of one cell, given an admissible sum."""
        first, bits = self.counts(total)[column]
        return [first + place for place in positions(bits).tolist()]

    def fill(self, total: int, column: int | None, value: int | None) -> list[int]:
        """Counts of the whole row with this sum, the cell in `column` being `value`."""
        fixed: dict[int, int] = {} if column is None or value is None else {column: value}
        for place in range(self._width):
            first, bits = self.counts(total, fixed)[place]
            fixed[place] = first + (bits & -bits).bit_length() - 1
        return [fixed[place] for place in range(self._width)]


EFFORT = 1 << 30
"""Sums times columns that may be tested one by one."""

LISTED_EFFORT = 1 << 20
"""Sums of rows with value lists that may be tested one by one."""

LARGEST_OFFSET = 1 << 32
"""How far the listed sums of one row may spread."""

_SHORTEST, _LONGEST = 1 << 8, 1 << 14
"""Sums tested at a time, at first and in the end; whole bytes of bits."""


@dataclass(frozen=True, slots=True)
class RowSums:
    """Admissible sums of each row, and from where its theory holds.

    `begin` is where the real-valued row can begin (None for rows with upper bounds on cells, for
    which nothing is claimed about large sums).
    """

    sets: Sequence[OffsetSet]
    begin: Sequence[int | None]


def admissible_sums(
    problem: RowProblem, shapes: RowShapes, evaluator: Evaluator, copies: Sequence[int]
) -> RowSums:
    """Find the admissible sums of every row; `copies` counts how often each row occurs.

    Raises
    ------
    InconsistentRelease
        Naming the first row that no counts can make.
    """
    wrong = np.flatnonzero(shapes.impossible)
    if len(wrong):
        raise _impossible(problem, int(wrong[0]))
    plain, special = np.arange(problem.height), np.arange(0)
    if not problem.bare or problem.height == 1:
        # An upper bound of zero is part of the row's shape, not of its side information.
        bounded = (problem.cell_lower > 0) | (problem.cell_upper > 0)
        informed = bounded.any(axis=1) | (problem.row_lower > 1) | (problem.row_upper >= 0)
        informed[[*problem.row_values, *(row for row, _ in problem.cell_values)]] = True
        plain, special = np.flatnonzero(~informed), np.flatnonzero(informed)
    sets: dict[int, OffsetSet] = dict(
        zip(plain.tolist(), _plain_rows(plain, shapes, evaluator, problem, copies), strict=True)
    )
    begin: list[int | None] = [0] * problem.height
    starts = [sets[row].start if row in sets else 1 for row in range(problem.height)]
    for row in special.tolist():
        room = None
        if problem.total_upper is not None:
            room = problem.total_upper - (sum(map(operator.mul, starts, copies)) - starts[row])
        sets[row], begin[row] = _special_row(problem, shapes, evaluator, row, room)
        starts[row] = sets[row].start
    return RowSums([sets[row] for row in range(problem.height)], begin)


def _plain_rows(
    rows: IntArray,
    shapes: RowShapes,
    evaluator: Evaluator,
    problem: RowProblem,
    copies: Sequence[int],
) -> list[OffsetSet]:
    """Rows of which nothing is known: sums 1 to reach are tested, all multiples beyond admissible.

    Sums that leave the other rows less than they need are never asked for: what is known of the
    rows' smallest sums, chunk by chunk, limits how far the others are tested.
    """
    steps, reaches = shapes.step[rows].tolist(), shapes.reach[rows].tolist()
    exact: list[bool] = np.asarray(shapes.exact[rows].all(axis=1)).tolist()
    times = [copies[row] for row in rows.tolist()]
    tested = [
        0 if sure else reach // step
        for sure, step, reach in zip(exact, steps, reaches, strict=True)
    ]
    least, seen = list(steps), [False] * len(steps)
    waiting = [place for place, count in enumerate(tested) if count]
    pieces: list[list[bytes]] = [[] for _ in tested]
    done, length = 0, _SHORTEST
    while waiting:
        if problem.total_upper is not None:
            room = problem.total_upper - sum(map(operator.mul, least, times))
            for place in waiting:
                most = max(room + least[place], done * steps[place]) // steps[place]
                tested[place] = min(tested[place], most)
            waiting = [place for place in waiting if tested[place] > done]
            if not waiting:
                break
        if sum(tested[place] for place in waiting) * problem.width > EFFORT:
            raise TooMuchWork(
                f"more than {EFFORT} sums to test: so many decimals leave room only for very "
                "large counts; publish fewer decimals"
            )
        # Rows that need more sums than others stay in the loop longer.
        longest = max(tested[place] for place in waiting) - done
        length = longest if longest < 2 * length else length
        sums = np.arange(done + 1, done + length + 1) * shapes.step[rows[waiting]][:, None]
        mask = evaluator.admissible(rows[waiting], sums)
        packed = np.packbits(mask, axis=1, bitorder="little")
        firsts: list[int] = np.where(mask.any(axis=1), mask.argmax(axis=1), length).tolist()
        for line, place, first in zip(packed, waiting, firsts, strict=True):
            if not seen[place]:
                least[place] = (done + first + 1) * steps[place]
                seen[place] = first < length
            pieces[place].append(line.tobytes())
        done += length
        length = min(2 * length, _LONGEST)
        waiting = [place for place in waiting if tested[place] > done]
    sets = []
    for count, step, parts in zip(tested, steps, pieces, strict=True):
        # Bit k stands for the sum (k+1) * step.
        bits = int.from_bytes(b"".join(parts), "little") & ((1 << count) - 1)
        sets.append(OffsetSet.make(step, bits, count, step, apart=step))
    return sets


def _special_row(
    problem: RowProblem, shapes: RowShapes, evaluator: Evaluator, row: int, room: int | None
) -> tuple[OffsetSet, int | None]:
    """A row with known bounds: sums from where it can begin to where it saturates or must end."""
    step = int(shapes.step[row])
    real = real_row(problem, row)
    least = real.smallest_sum()
    if least is None or any(
        cap is not None and cap < low for cap, low in zip(real.upper, real.lower, strict=True)
    ):
        raise _impossible(problem, row)
    begin = -(-least.numerator // least.denominator)
    capped = bool((problem.cell_upper[row] > 0).any() or problem.lists(row))
    most = real.largest_sum()
    ends = [bound for bound in (room, None if most is None else int(most)) if bound is not None]
    end = min(ends) if ends else None
    first = -(-max(begin, 1) // step) * step
    saturates = None if capped else -(-(begin + int(shapes.reach[row]) + 1) // step) * step
    if not capped and shapes.exact[row].all():
        saturates = first
    stop = saturates if end is None else end + 1 if saturates is None else min(saturates, end + 1)
    if stop is None:
        raise UnsupportedRelease(
            f"the row {problem.name(row)} has upper bounds on some cells and the total is not "
            "published, so its sums have no end to test; give Total(upper=...)"
        )
    count = max(0, -(-(stop - first) // step))
    bits = _tested_bits(problem, evaluator, row, first, step, count)
    tail = saturates is not None and (end is None or saturates <= end)
    last = real.sum_upper - first if tail and real.sum_upper is not None else None
    sums: OffsetSet | None = None
    if bits or tail:
        sums = OffsetSet.make(first, bits, count, step if tail else 0, last, apart=step)
        if row in problem.row_values:
            sums = _listed_sums(sums, problem.row_values[row], first, end)
    if sums is None and problem.bare:
        raise unreachable(problem)
    if sums is None:
        raise _impossible(problem, row, room is not None and most is None)
    return sums, None if capped else begin


def _tested_bits(
    problem: RowProblem, evaluator: Evaluator, row: int, first: int, step: int, count: int
) -> int:
    listed = ListedRow(problem, evaluator, row) if problem.lists(row) else None
    if count * problem.width > EFFORT or (listed is not None and count > LISTED_EFFORT):
        raise TooMuchWork(
            f"the row {problem.name(row)} has {count} sums to test one by one because of known "
            "bounds on its cells; tighten them or leave them out"
        )
    bits = 0
    rows = np.array([row])
    for done in range(0, count, 1 << 20):
        length = min(1 << 20, count - done)
        sums = evaluator.sums_array(
            range(first + done * step, first + (done + length) * step, step),
            first + (done + length) * step,
        )
        mask = evaluator.admissible(rows, sums[None, :])[0]
        if listed is not None:
            for place in np.flatnonzero(mask):
                mask[place] = listed.admissible(int(sums[place]))
        packed = np.packbits(mask, bitorder="little").tobytes()
        bits |= int.from_bytes(packed, "little") << done
    return bits


def _listed_sums(
    sums: OffsetSet, values: Sequence[int], first: int, end: int | None
) -> OffsetSet | None:
    """The admissible sums, from `first` to `end`, that are listed; None if there are none."""
    within = [v for v in values if v >= sums.start and (end is None or v <= end)]
    inside = sums.members(np.array([v - sums.start for v in within], dtype=object))
    listed = [value for value, member in zip(within, inside.tolist(), strict=True) if member]
    far = next((value for value in listed if value - first > LARGEST_OFFSET), None)
    if far is not None:
        raise TooMuchWork(
            f"the list of possible row sums reaches from {first} to {far}; lists may not "
            f"spread over more than {LARGEST_OFFSET}: give bounds instead"
        )
    bits = sum(1 << (value - sums.start) for value in listed)
    return OffsetSet.make(sums.start, bits, bits.bit_length(), 0) if bits else None


def unreachable(problem: RowProblem) -> InconsistentRelease:
    """What to say if the row sums that agree with the rates do not add to N."""
    total = problem.facts.total.notation
    return InconsistentRelease(
        f"{total} cannot be reached: no combination of row sums that agree with "
        f"{problem.facts.conditional.notation} adds to it"
    )


def _impossible(problem: RowProblem, row: int, by_total: bool = False) -> InconsistentRelease:
    statement = problem.facts.conditional.notation
    if by_total:
        return InconsistentRelease(
            f"the row {problem.name(row)} of {statement}: no sum that leaves enough of N for the "
            "other rows agrees with its rates and known bounds"
        )
    bounded = (
        (problem.cell_lower[row] > 0).any()
        or (problem.cell_upper[row] >= 0).any()
        or problem.row_upper[row] >= 0
    )
    cause = (
        "its rates and known bounds agree with no counts"
        if bounded
        else ("its rates cannot come from any counts (they do not add to one within the rounding)")
    )
    return InconsistentRelease(f"the row {problem.name(row)} of {statement}: {cause}")
