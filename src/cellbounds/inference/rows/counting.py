"""How many tables: row vectors counted for every row sum, then multiplied as polynomials.

The number of row vectors with cells between l_j and u_j and sum n is the coefficient of x**s,
s = n - sum l_j, in the product of 1 + x + ... + x**w_j, w_j = u_j - l_j; that is, in the product
of 1 - x**(w_j + 1), a polynomial with few terms when few widths are distinct, divided by
(1 - x)**J. All of it is in integers.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from cellbounds.inference.rows.lines import Ground, Line, PartRange
from cellbounds.inference.rows.work import check_room, check_work
from cellbounds.runtime.arrays import SAFE, IntArray

__all__ = ["count_of", "row_counts"]

SUBSETS = 1 << 6
"""Sets of columns that are gone through for all row sums at once."""

INTERPRETED = 64
"""Steps that one operation on Python's integers counts for."""

TRANSFORM = 4
"""Steps that one word of a product of polynomials counts for, for each doubling of its length."""


def count_of(ground: Ground, effort: float) -> int:
    """The number of consistent tables.

    Raises
    ------
    TooMuchWork
        If counting would take more steps than the effort.
    """
    from flint import fmpz_poly

    doing = "counting the tables"
    check_work(ground.layout_steps, effort, doing)
    found = [row_counts(line, effort) for line in ground.lines]
    size = ground.spare + 1
    check_work(_product_steps(ground, found), effort, doing)
    factors: list[Any] = [fmpz_poly([1] * (ground.give + 1))]
    for line, counts, copies in zip(ground.lines, found, ground.copies, strict=True):
        dense = [0] * size
        for offset, count in zip(ground.offsets(line).tolist(), counts, strict=True):
            if offset < size:
                dense[offset] = count
        factors.append(fmpz_poly(dense).pow_trunc(copies, size))
    # Short coefficients first, so that long ones are few.
    while len(factors) > 2:
        factors.sort(key=lambda one: -int(one.height_bits()))
        factors.append(factors.pop().mul_low(factors.pop(), size))
    return _coefficient(factors, ground.spare)


def _coefficient(factors: Sequence[Any], place: int) -> int:
    """One coefficient of the product of at most two polynomials."""
    if len(factors) == 1:
        return int(factors[0][place])
    left, right = factors
    first = max(0, place - int(right.degree()))
    terms = (left[i] * right[place - i] for i in range(first, min(int(left.degree()), place) + 1))
    return int(sum(terms))


def _product_steps(ground: Ground, found: Sequence[Sequence[int]]) -> float:
    bits = [max(counts).bit_length() * n for counts, n in zip(found, ground.copies, strict=True)]
    words = sum(bits) / 64 + len(ground.line_of)
    doublings = math.log2(ground.spare + 2) * math.log2(len(ground.line_of) + 2)
    return TRANSFORM * (ground.spare + 1) * words * doublings


def row_counts(line: Line, effort: float) -> list[int]:
    """For each feasible sum, how many ways there are to fill the row, parts included."""
    lower, upper = line.ranges(line.sums)
    if not line.plain:
        return _by_products(line, lower, upper, effort)
    widths = upper - lower
    rest = line.sums - lower.sum(axis=0)
    # As many vectors reach the rest from below as from above.
    rest = np.minimum(rest, widths.sum(axis=0) - rest)
    if line.width == 1:
        return [1] * len(line.sums)
    if line.width == 2:
        return [int(n) + 1 for n in widths.min(axis=0)]
    check_room(float(rest.max()), "counting the ways to fill the rows")
    most = math.comb(int(rest.max()) + line.width - 1, line.width - 1)
    if 1 << line.width <= SUBSETS and most << line.width < SAFE:
        return _all_at_once(widths, rest)
    return _one_by_one(widths, rest, effort)


def _all_at_once(widths: IntArray, rest: IntArray) -> list[int]:
    """Inclusion and exclusion over all sets of columns that exceed their width."""
    fillings = np.ones(int(rest.max()) + 1, dtype=np.int64)
    for _ in range(len(widths) - 1):
        fillings = np.cumsum(fillings)
    counts = np.zeros(len(rest), dtype=np.int64)
    for chosen in itertools.product((0, 1), repeat=len(widths)):
        left = rest - np.array(chosen) @ (widths + 1)
        sign = -1 if sum(chosen) % 2 else 1
        counts += sign * np.where(left >= 0, fillings[np.maximum(left, 0)], 0)
    return [int(count) for count in counts]


def _one_by_one(widths: IntArray, rest: IntArray, effort: float) -> list[int]:
    """The same for one sum at a time, equal widths taken together."""
    columns = len(widths)
    groups = [Counter(one) for one in widths.T.tolist()]
    terms = [
        math.prod(min(times, left // (width + 1)) + 1 for width, times in group.items())
        for group, left in zip(groups, rest.tolist(), strict=True)
    ]
    running = (columns * (rest + 1)).tolist()
    steps = sum(map(min, terms, running)) + int(rest.max())
    check_work(INTERPRETED * float(steps), effort, "counting the ways to fill the rows")
    fillings = [1]
    for n in range(1, int(rest.max()) + 1):
        fillings.append(fillings[-1] * (n + columns - 1) // n)
    counts = []
    for group, left, few, many in zip(groups, rest.tolist(), terms, running, strict=True):
        if few <= many:
            signs = _signs(group, left)
            counts.append(sum(sign * fillings[left - shift] for shift, sign in signs.items()))
        else:
            counts.append(_by_running_sums(group, left))
    return counts


def _signs(group: Counter[int], rest: int) -> dict[int, int]:
    """The product of (1 - x**(width + 1))**times up to x**rest, as shifts and coefficients."""
    signs = {0: 1}
    for width, times in group.items():
        powers = [
            (k * (width + 1), (-1) ** k * math.comb(times, k))
            for k in range(min(times, rest // (width + 1)) + 1)
        ]
        made: dict[int, int] = {}
        for shift, sign in signs.items():
            for more, factor in powers:
                if shift + more <= rest:
                    made[shift + more] = made.get(shift + more, 0) + sign * factor
        signs = made
    return signs


def _by_running_sums(group: Counter[int], rest: int) -> int:
    """The same column by column; cheaper when most widths are distinct."""
    counts = [1] + [0] * rest
    for width in group.elements():
        sums = list(itertools.accumulate(counts))
        counts = [*sums[: width + 1], *map(operator.sub, sums[width + 1 :], sums)]
    return counts[rest]


def _by_products(line: Line, lower: IntArray, upper: IntArray, effort: float) -> list[int]:
    """Rows whose cells have lists of values, or parts."""
    widths = upper - lower + 1
    steps = float(widths.min(axis=0).sum() if line.width == 2 else 8.0 * widths.sum())
    steps += float(upper.max(axis=1).sum(dtype=float))
    check_work(INTERPRETED * steps, effort, "counting the ways to fill the rows and their parts")
    ways = [_ways(line, column, int(upper[column].max())) for column in range(line.width)]
    counts = []
    for total, low, high in zip(
        line.sums.tolist(), lower.T.tolist(), upper.T.tolist(), strict=True
    ):
        pieces = [one[a : b + 1] for one, a, b in zip(ways, low, high, strict=True)]
        counts.append(_sum_of_products(pieces, total - sum(low)))
    return counts


def _sum_of_products(pieces: list[list[int]], rest: int) -> int:
    """Choose one entry of each list, places adding to `rest`; sum the products of entries."""
    if len(pieces) == 1:
        return pieces[0][rest]
    if len(pieces) == 2:
        left, right = pieces
        first = max(0, rest - len(right) + 1)
        last = min(rest, len(left) - 1)
        back = right[rest - last : rest - first + 1]
        return sum(map(operator.mul, left[first : last + 1], reversed(back)))
    from flint import fmpz_poly

    made = fmpz_poly(pieces[0])
    for piece in pieces[1:]:
        made = made.mul_low(fmpz_poly(piece), rest + 1)
    return int(made[rest])


def _ways(line: Line, column: int, most: int) -> list[int]:
    """In how many ways a cell can have each count from 0 to `most`: 0 if its list lacks it."""
    ways = _splits(line.parts[column], line.part_counts[column], most)
    mask = line.mask(column, most)
    return ways if mask is None else [n * bool(ok) for n, ok in zip(ways, mask, strict=True)]


def _splits(parts: tuple[PartRange, ...] | None, count: int, most: int) -> list[int]:
    """In how many ways each count from 0 to `most` splits into parts."""
    if parts is None:
        ways = [1]
        for n in range(1, most + 1):
            ways.append(ways[-1] * (n + count - 1) // n)
        return ways
    from flint import fmpz_poly

    made = fmpz_poly([1])
    for part in parts:
        made = made.mul_low(fmpz_poly([int(ok) for ok in part.mask(most)]), most + 1)
    return [int(made[n]) for n in range(most + 1)]
