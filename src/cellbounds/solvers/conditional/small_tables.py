"""All sharp bounds of a small table of rates in one compiled call.

The three phases of :mod:`admissible`, :mod:`feasible` and :mod:`cells`, sum by sum, for rows whose
rates all leave room and of which nothing else is known; from the *reach* of a row on all its sums
are admissible, so that sets of sums are bytes below a limit. A call is over within a tenth of a
second. What does not fit, or fits no table, is left to the general way, which can say why.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cellbounds.runtime.arrays import SAFE, IntArray
from cellbounds.runtime.compilation import compiled
from cellbounds.solvers.conditional.feasible import DistinctRows

EFFORT = 1 << 23
"""Sums times columns that are tested at most: two hundredths of a second."""

WIDEST = 1 << 13
"""The widest window of sums."""

SCANNED = 1 << 12
"""Feasible sums of a row that are looked at from either end."""


def fits(rows: DistinctRows) -> bool:
    """Whether rows are few, all leave room, and nothing but N is known of them."""
    problem, shapes = rows.problem, rows.shapes
    total = problem.total_upper
    if not problem.bare or problem.height < 2 or total is None or total != problem.total_lower:
        return False
    if problem.needs_objects or problem.figures is not None:
        return False
    if (int(problem.scale.max()) + problem.width) * total >= SAFE:
        return False
    tested = np.minimum(shapes.reach, min(total, EFFORT))
    if (int(tested.sum()) + problem.height) * problem.width > EFFORT:
        return False
    return not (shapes.exact.any() or shapes.impossible.any())


def ends(rows: DistinctRows) -> tuple[IntArray, IntArray] | None:
    """Smallest and largest count of every cell of rows that fit; None if that is not found here."""
    shapes = rows.shapes
    feasible, lower, upper = sharp_ends(
        (shapes.low, shapes.high, shapes.low_open, shapes.high_open, shapes.scale, shapes.reach),
        np.array(rows.copies),
        rows.problem.total_upper,
    )
    return (lower, upper) if feasible else None


@compiled
def _together(left: IntArray, most: int, right: IntArray, limit: int, made: IntArray) -> Any:
    """The sums of two sets that hold 0, each full from its limit on; returns the limit of these.

    Small members come first: as gaps fill, the limit falls and larger members drop out.
    """
    limit = min(most, limit)
    fewer = np.int64(0)
    for k in range(limit):
        fewer += np.int64(left[k]) - np.int64(right[k])
        made[k] = 0
    if fewer > 0:
        left, right = right, left
    taken = 0
    for first in range(limit):
        if first >= limit:
            break
        if left[first]:
            for k in range(limit - first):
                made[first + k] |= right[k]
            taken += 1
            if taken % 8 == 0:
                while limit > 0 and made[limit - 1]:
                    limit -= 1
    while limit > 0 and made[limit - 1]:
        limit -= 1
    return limit


@compiled
def _admissible(rates: Any, tested: IntArray, sums: IntArray) -> None:
    """Mark the sums that each row can have by itself, up to those to be tested."""
    low, high, low_open, high_open, scale, _ = rates
    height, width = low.shape
    least, below = np.zeros(width, np.int64), np.zeros(width, np.int64)
    most, above = np.zeros(width, np.int64), np.zeros(width, np.int64)
    for i in range(height):
        unit = scale[i]
        for j in range(width):
            least[j] = below[j] = most[j] = above[j] = 0
        for n in range(1, tested[i] + 1):
            lower, upper, possible = 0, 0, True
            for j in range(width):
                # rate * n = least * unit + below, one sum after the other: no division
                below[j] += low[i, j]
                if below[j] >= unit:
                    below[j] -= unit
                    least[j] += 1
                above[j] += high[i, j]
                if above[j] >= unit:
                    above[j] -= unit
                    most[j] += 1
                first, last = least[j], most[j]
                if below[j] > 0 or low_open[i, j]:
                    first += 1
                if above[j] == 0 and high_open[i, j]:
                    last -= 1
                possible = possible and first <= last
                lower += first
                upper += last
            if possible and lower <= n <= upper:
                sums[i, n] = 1


@compiled
def _held_beside(
    sums: IntArray, sizes: IntArray, copies: IntArray, width: int, held: IntArray
) -> IntArray:
    """For each row the offsets that all others can make together, and from where on all."""
    height = len(sizes)
    order = np.argsort(sizes, kind="mergesort")  # rows that fill their window soonest come first
    before = np.zeros((height + 1, width), np.uint8)
    after = np.zeros((height + 1, width), np.uint8)
    until, since = np.full(height + 1, width), np.full(height + 1, width)
    before[0, 0] = after[height, 0] = 1
    spare = np.zeros((2, width), np.uint8)
    for place in range(height):
        for back in range(2):
            at = height - 1 - place if back else place
            row = order[at]
            limit = since[at + 1] if back else until[at]
            spare[0, :limit] = after[at + 1, :limit] if back else before[at, :limit]
            now = 0
            for _ in range(copies[row]):
                if limit == 0:
                    break
                size = min(sizes[row], width)
                limit = _together(spare[now], limit, sums[row], size, spare[1 - now])
                now = 1 - now
            if back:
                after[at, :limit], since[at] = spare[now, :limit], limit
            else:
                before[at + 1, :limit], until[at + 1] = spare[now, :limit], limit
    limits = np.zeros(height, np.int64)
    for at in range(height):
        row, now = order[at], 0
        limit = _together(before[at], until[at], after[at + 1], since[at + 1], spare[0])
        for _ in range(copies[row] - 1):
            if limit == 0:
                break
            size = min(sizes[row], width)
            limit = _together(spare[now], limit, sums[row], size, spare[1 - now])
            now = 1 - now
        held[row, :limit], limits[row] = spare[now, :limit], limit
    return limits


@compiled
def sharp_ends(rates: Any, copies: IntArray, total: int) -> Any:
    """Smallest and largest count of every cell, and whether they were found."""
    low, high, low_open, high_open, scale, reach = rates
    height, width = low.shape
    lower, upper = np.full((height, width), total), np.full((height, width), -1)
    tested = np.zeros(height, np.int64)
    for i in range(height):
        tested[i] = min(reach[i], total)
    longest = tested.max() + 2
    sums = np.zeros((height, longest), np.uint8)
    _admissible(rates, tested, sums)
    starts, sizes = np.zeros(height, np.int64), np.zeros(height, np.int64)
    slack = total
    for i in range(height):
        start = 1
        while start <= tested[i] and not sums[i, start]:
            start += 1
        end = tested[i]
        while end > start and sums[i, end]:
            end -= 1
        starts[i] = start
        sizes[i] = max(end - start, 0) + 1  # from this offset on all are members
        for k in range(sizes[i]):
            sums[i, k] = sums[i, start + k] if start + k <= tested[i] else 1
        if copies[i] > slack // start:
            return False, lower, upper
        slack -= copies[i] * start
    # Sums that include a row are full from its size on; beside each row is one of these two.
    first: Any = np.int64(WIDEST + 1)
    second: Any = first
    for i in range(height):
        for _ in range(min(copies[i], 2)):
            if sizes[i] < first:
                first, second = sizes[i], first
            else:
                second = min(second, sizes[i])
    window = min(slack + 1, second)
    if window > WIDEST:
        return False, lower, upper
    held = np.zeros((height, window), np.uint8)
    limits = _held_beside(sums, sizes, copies, window, held)
    for i in range(height):
        unit, lows, highs = scale[i], low[i].sum(), high[i].sum()
        for downwards in range(2):
            seen, place, settled = 0, np.int64(0), False
            while place <= slack and not settled:
                offset = slack - place if downwards else place
                rest = slack - offset
                place += 1
                if offset < sizes[i] and not sums[i, offset]:
                    continue
                if rest < limits[i] and not held[i, rest]:
                    continue
                seen += 1
                if seen > SCANNED:
                    return False, lower, upper
                n = starts[i] + offset
                least, most = 0, 0
                for j in range(width):
                    least += _least(low[i, j], low_open[i, j], n, unit)
                    most += _most(high[i, j], high_open[i, j], n, unit)
                # No sum beyond this one passes the smallest or the largest share of it.
                settled = True
                for j in range(width):
                    fewest = _least(low[i, j], low_open[i, j], n, unit)
                    largest = _most(high[i, j], high_open[i, j], n, unit)
                    lower[i, j] = min(lower[i, j], max(fewest, n - most + largest))
                    upper[i, j] = max(upper[i, j], min(largest, n - least + fewest))
                    if downwards:
                        share = min(high[i, j], unit - lows + low[i, j])
                        settled = settled and share * n // unit <= upper[i, j]
                    else:
                        share = max(low[i, j], unit - highs + high[i, j])
                        settled = settled and -(-share * n // unit) >= lower[i, j]
            if seen == 0:
                return False, lower, upper
    return True, lower, upper


@compiled
def _least(low: Any, is_open: Any, n: Any, unit: Any) -> Any:
    """The least count that a sum and the lower end of a rate allow."""
    return low * n // unit + 1 if is_open else -(-low * n // unit)


@compiled
def _most(high: Any, is_open: Any, n: Any, unit: Any) -> Any:
    """The largest count that a sum and the upper end of a rate allow."""
    return (high * n - 1) // unit if is_open else high * n // unit
