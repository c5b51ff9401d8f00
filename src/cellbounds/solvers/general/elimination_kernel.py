"""Sparse elimination in whole numbers, compiled: import it only where it is needed.

Rows are taken one after the other. Each is reduced by the rows before it until none of their pivots
is left in it, and what is left, if anything, is a new row with a pivot of its own. Rows before it
are not touched, so that they may hold later pivots: a vector is reduced by going through the rows
in their order. Numbers stay below LARGEST; a row that would pass it is given up, so that the others
span less, and never anything wrong.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np

from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.compilation import compiled_above, random_below

LARGEST = 2**30
"""Numbers in rows stay below this, so that sums of two products fit into 64 bits."""

PRIME = 2**31 - 1
"""A null vector is drawn modulo this."""

SAFE_TOTAL = 2**60
"""Sums stay below this: one more product still fits into 64 bits."""

NOT_ONE = 2**40
"""What a column loses in rank if its number is not 1, so that rows would have to be multiplied."""

DEPENDENT, KEPT, GIVEN_UP = 0, 1, 2
"""What became of a row."""

FEW = 300
"""Numbers in arrays up to which interpreting takes less than compiling."""


class Echelon(NamedTuple):
    """Rows in the order of their making: each begins with its pivot.

    `row_of` is the row whose pivot a column is, -1 if there is none; `fate` says of each row that
    was given what became of it.
    """

    starts: IntArray
    columns: IntArray
    factors: IntArray
    row_of: IntArray
    fate: IntArray


@compiled_above(FEW)
def _gcd(a: Any, b: Any) -> Any:
    a, b = abs(a), abs(b)
    while b:
        a, b = b, a % b
    return a


@compiled_above(FEW)
def _reduced(
    starts: IntArray,
    columns: IntArray,
    factors: IntArray,
    row_of: IntArray,
    dead: IntArray,
    work: IntArray,
    marked: IntArray,
    support: IntArray,
    count: int,
) -> tuple[int, int]:
    """Reduce the vector in `work`, which is not zero in some of the columns `support[:count]`.

    Returns how many columns it has now, and how many steps that took; -1 columns if numbers grew
    too large. Columns that are dead count as zero.
    """
    waiting = [np.int64(0) for _ in range(0)]
    steps: Any = count
    for k in range(count):
        if row_of[support[k]] >= 0:
            heappush(waiting, row_of[support[k]])
    last: Any = -1
    while len(waiting) > 0:
        row = heappop(waiting)
        if row == last:
            continue
        last = row
        begin, end = starts[row], starts[row + 1]
        own = work[columns[begin]]
        if own == 0:
            continue
        pivot = factors[begin]
        shared = _gcd(pivot, own)
        times, less = pivot // shared, own // shared
        if times < 0:
            times, less = -times, -less
        if times >= LARGEST or abs(less) >= LARGEST:
            return -1, steps
        if times != 1:
            for k in range(count):
                value = work[support[k]] * times
                if abs(value) >= LARGEST:
                    return -1, steps
                work[support[k]] = value
            steps += count
        for k in range(begin, end):
            column = columns[k]
            if dead[column]:
                continue
            value = work[column] - less * factors[k]
            if abs(value) >= LARGEST:
                return -1, steps
            work[column] = value
            if not marked[column]:
                marked[column] = 1
                support[count] = column
                count += 1
            if row_of[column] > row:
                heappush(waiting, row_of[column])
        steps += end - begin
    return count, steps


@compiled_above(FEW)
def echelon_form(
    starts: IntArray,
    columns: IntArray,
    factors: IntArray,
    order: IntArray,
    rank_of: IntArray,
    work_limit: int,
) -> tuple[IntArray, IntArray, IntArray, IntArray, IntArray]:
    """The echelon of the rows in an order; pivots are the columns that rank first.

    Of columns in the same group (ranks differ by less than NOT_ONE) those with a 1 come first.

    After `work_limit` steps the rows that are left are given up. The result is an `Echelon`.
    """
    size = len(rank_of)
    row_of = np.full(size, -1, dtype=np.int64)
    fate = np.full(len(order), GIVEN_UP, dtype=np.int64)
    made = np.zeros(len(order) + 1, dtype=np.int64)
    kept_columns = np.zeros(max(16, 2 * len(columns)), dtype=np.int64)
    kept_factors = np.zeros(max(16, 2 * len(columns)), dtype=np.int64)
    dead = np.zeros(size, dtype=np.int64)
    work = np.zeros(size, dtype=np.int64)
    marked = np.zeros(size, dtype=np.int64)
    support = np.zeros(size, dtype=np.int64)
    rank = 0
    spent: Any = 0
    for row in order:
        if spent > work_limit:
            break
        count = 0
        for k in range(starts[row], starts[row + 1]):
            if not marked[columns[k]]:
                marked[columns[k]] = 1
                support[count] = columns[k]
                count += 1
            work[columns[k]] += factors[k]
        held, steps = _reduced(
            made, kept_columns, kept_factors, row_of, dead, work, marked, support, count
        )
        spent += steps
        many = 0
        shared: Any = 0
        best = -1
        least: Any = 0
        if held >= 0:
            for k in range(held):
                column = support[k]
                if work[column] != 0:
                    shared = _gcd(work[column], shared)
                    many += 1
            for k in range(held):
                column = support[k]
                if work[column] != 0:
                    cost = rank_of[column] + (abs(work[column]) != shared) * NOT_ONE
                    if best < 0 or cost < least:
                        best, least = column, cost
            fate[row] = KEPT if many > 0 else DEPENDENT
        if many > 0:
            first = made[rank]
            if first + many > len(kept_columns):
                more_columns = np.zeros(2 * (first + many), dtype=np.int64)
                more_factors = np.zeros(2 * (first + many), dtype=np.int64)
                more_columns[:first] = kept_columns[:first]
                more_factors[:first] = kept_factors[:first]
                kept_columns, kept_factors = more_columns, more_factors
            kept_columns[first] = best
            kept_factors[first] = work[best] // shared
            at = first + 1
            for k in range(held):
                column = support[k]
                if work[column] != 0 and column != best:
                    kept_columns[at] = column
                    kept_factors[at] = work[column] // shared
                    at += 1
            row_of[best] = rank
            rank += 1
            made[rank] = at
        # Marks tell which columns were touched, also where the reduction ended early.
        if held >= 0:
            for k in range(held):
                work[support[k]] = 0
                marked[support[k]] = 0
        else:
            work[:] = 0
            marked[:] = 0
    used = made[rank]
    return made[: rank + 1], kept_columns[:used], kept_factors[:used], row_of, fate


@compiled_above(FEW)
def null_vector(echelon: Echelon, values: IntArray, dead: IntArray) -> None:
    """Complete random values of the columns without pivot to a null vector, modulo PRIME.

    `values` changes in place; dead columns are zero. If a pivot is a multiple of the prime, its
    column is given a random value, too: whoever finds it not zero has proven nothing by it.
    """
    for column in range(len(values)):
        if dead[column]:
            values[column] = 0
    for row in range(len(echelon.starts) - 2, -1, -1):
        begin, end = echelon.starts[row], echelon.starts[row + 1]
        total: Any = 0
        for k in range(begin + 1, end):
            column = echelon.columns[k]
            if not dead[column]:
                total = (total + echelon.factors[k] * values[column]) % PRIME
        pivot = echelon.factors[begin] % PRIME
        # The inverse, by Fermat's little theorem.
        inverse: Any = 1
        power: Any = PRIME - 2
        base: Any = pivot
        while power > 0:
            if power & 1:
                inverse = inverse * base % PRIME
            base = base * base % PRIME
            power >>= 1
        values[echelon.columns[begin]] = (PRIME - total) * inverse % PRIME


@compiled_above(FEW)
def in_span(
    echelon: Echelon,
    starts: IntArray,
    columns: IntArray,
    candidates: IntArray,
    dead: IntArray,
    work_limit: int,
) -> IntArray:
    """Whether sums of columns (lines of `starts` and `columns`) are combinations of the rows.

    1 if so, of the candidates; dead columns count as zero. After `work_limit` steps no more is
    tried.
    """
    size = len(echelon.row_of)
    work = np.zeros(size, dtype=np.int64)
    marked = np.zeros(size, dtype=np.int64)
    support = np.zeros(size, dtype=np.int64)
    spanned = np.zeros(len(candidates), dtype=np.int64)
    spent: Any = 0
    for number in range(len(candidates)):
        if spent > work_limit:
            break
        line = candidates[number]
        count = 0
        for k in range(starts[line], starts[line + 1]):
            column = columns[k]
            if not dead[column]:
                if not marked[column]:
                    marked[column] = 1
                    support[count] = column
                    count += 1
                work[column] += 1
        held, steps = _reduced(
            echelon.starts, echelon.columns, echelon.factors, echelon.row_of, dead, work, marked,
            support, count,
        )  # fmt: skip
        spent += steps
        if held >= 0:
            spanned[number] = 1
            for k in range(held):
                if work[support[k]] != 0:
                    spanned[number] = 0
                work[support[k]] = 0
                marked[support[k]] = 0
        else:
            work[:] = 0
            marked[:] = 0
    return spanned


@compiled_above(FEW)
def combinations(
    echelon: Echelon, cells: IntArray, dead: IntArray, first: int, work_limit: int
) -> tuple[IntArray, IntArray, IntArray]:
    """Which rows add up to a multiple of one column each, and how often each is taken.

    Columns from `first` on say which rows a row was made of. Gives `starts`, `rows` and `times`;
    nothing for a column that the rows do not determine, dead columns counting as zero.
    """
    size = len(echelon.row_of)
    work = np.zeros(size, dtype=np.int64)
    marked = np.zeros(size, dtype=np.int64)
    support = np.zeros(size, dtype=np.int64)
    starts = np.zeros(len(cells) + 1, dtype=np.int64)
    rows = np.zeros(1024, dtype=np.int64)
    times = np.zeros(1024, dtype=np.int64)
    spent: Any = 0
    for number in range(len(cells)):
        at = starts[number]
        starts[number + 1] = at
        if spent > work_limit:
            continue
        support[0], work[cells[number]], marked[cells[number]] = cells[number], 1, 1
        held, steps = _reduced(
            echelon.starts, echelon.columns, echelon.factors, echelon.row_of, dead, work, marked,
            support, 1,
        )  # fmt: skip
        spent += steps
        if held < 0:
            work[:] = 0
            marked[:] = 0
            continue
        reduced = True
        for k in range(held):
            if support[k] < first and work[support[k]] != 0:
                reduced = False
        if reduced and at + held > len(rows):
            more_rows = np.zeros(2 * (at + held), dtype=np.int64)
            more_times = np.zeros(2 * (at + held), dtype=np.int64)
            more_rows[:at] = rows[:at]
            more_times[:at] = times[:at]
            rows, times = more_rows, more_times
        for k in range(held):
            column = support[k]
            if reduced and work[column] != 0:
                rows[at], times[at] = column - first, -work[column]
                at += 1
            work[column] = 0
            marked[column] = 0
        starts[number + 1] = at
    return starts, rows[: starts[-1]], times[: starts[-1]]


@compiled_above(FEW)
def null_moves(
    echelon: Echelon,
    row_starts: IntArray,
    rows: IntArray,
    entries: IntArray,
    chosen: IntArray,
    longest: int,
    room: int,
) -> tuple[IntArray, IntArray, IntArray]:
    """Null vectors of whole numbers, one for each of some columns without pivot: 1 there.

    `rows` and `entries` say for each column which rows hold it besides their pivots, and at which
    entries. Vectors of more than `longest` columns, of fractions or of large
    numbers are left out. Gives
    `starts`, `columns` and `steps`; not more than `room` numbers in all.
    """
    size = len(echelon.row_of)
    count = len(echelon.starts) - 1
    value = np.zeros(size, dtype=np.int64)
    total = np.zeros(count, dtype=np.int64)
    support = np.zeros(longest + 1, dtype=np.int64)
    touched = np.zeros(count, dtype=np.int64)
    starts = np.zeros(len(chosen) + 1, dtype=np.int64)
    columns = np.zeros(room, dtype=np.int64)
    steps = np.zeros(room, dtype=np.int64)
    made = 0
    for free in chosen:
        waiting = [np.int64(0) for _ in range(0)]
        held, looked = 1, 0
        support[0], value[free] = free, 1
        fits = True
        column = free
        last: Any = -1
        while fits:
            # What a column adds to the rows that hold it; those are settled last row first.
            for k in range(row_starts[column], row_starts[column + 1]):
                row = rows[k]
                total[row] += echelon.factors[entries[k]] * value[column]
                heappush(waiting, -row)
                if looked < count:
                    touched[looked] = row
                looked += 1
            column = -1
            while len(waiting) > 0 and column < 0:
                row = -heappop(waiting)
                pivot = echelon.columns[echelon.starts[row]]
                if row == last or total[row] == 0:
                    continue
                last = row
                factor = echelon.factors[echelon.starts[row]]
                value[pivot] = -total[row] // factor
                if (
                    total[row] % factor != 0
                    or abs(value[pivot]) >= LARGEST
                    or held >= longest
                    or abs(total[row]) >= SAFE_TOTAL
                ):
                    value[pivot] = 0
                    fits = False
                    break
                support[held] = pivot
                held += 1
                column = pivot
            if column < 0:
                break
        if fits and starts[made] + held <= room:
            at = starts[made]
            for k in range(held):
                columns[at + k] = support[k]
                steps[at + k] = value[support[k]]
            made += 1
            starts[made] = at + held
        for k in range(held):
            value[support[k]] = 0
        if looked <= count:
            for k in range(looked):
                total[touched[k]] = 0
        else:
            total[:] = 0
    return starts[: made + 1], columns[: starts[made]], steps[: starts[made]]


@compiled_above(FEW)
def wander_along(
    starts: IntArray,
    columns: IntArray,
    steps: IntArray,
    order: IntArray,
    counts: IntArray,
    lower: IntArray,
    upper: IntArray,
    state: IntArray,
) -> int:
    """Take a random step along each of some moves that stays within the limits; how many moved."""
    moved = 0
    for move in order:
        up: Any = np.int64(1) << 20
        down: Any = up
        for k in range(starts[move], starts[move + 1]):
            column, step = columns[k], steps[k]
            above, below = upper[column] - counts[column], counts[column] - lower[column]
            if step < 0:
                step, above, below = -step, below, above
            up, down = min(up, above // step), min(down, below // step)
            if up + down == 0:
                break
        if up + down == 0:
            continue
        # Any of the steps but none.
        taken = random_below(state, up + down) - down
        if taken >= 0:
            taken += 1
        moved += 1
        for k in range(starts[move], starts[move + 1]):
            counts[columns[k]] += taken * steps[k]
    return moved
