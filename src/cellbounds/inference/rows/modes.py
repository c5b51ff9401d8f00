"""A table of largest weight: the best vectors of each row sum, then the best row sums.

Row sums are found by dynamic programming over those that can belong to a best table. Whatever
the price of one record, a table falls short of the sum of every row's best (weight less price) by
what its rows fall short together; so once a table is found that falls short by no more than some
limit, row sums that fall short by more than the limit alone were rightly left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cellbounds.inference.rows.lines import Ground
from cellbounds.inference.rows.magnitudes import logarithms
from cellbounds.inference.rows.splitting import SummedCell
from cellbounds.inference.rows.vectors import WeighedRow
from cellbounds.inference.rows.work import check_work
from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.runtime.scaled_floats import FloatArray, ScaledFloats

__all__ = ["likeliest_table"]

DOING = "finding the most likely table"

MARGIN = 1e-6
"""Logarithms are further from the truth than this only beyond 2**40."""


def likeliest_table(ground: Ground, rows: Sequence[WeighedRow], effort: float) -> IntArray:
    """The first table of largest weight, flat."""
    distinct = {id(row): row for row in rows}
    # Most products are seen to be too small before they are made.
    check_work(sum(row.best_vectors.steps / 2 for row in distinct.values()), effort, DOING)
    best = {key: row.best_vectors.totals(largest=True) for key, row in distinct.items()}
    chosen = _best_sums(ground, rows, [best[id(row)] for row in rows], effort)
    table = np.zeros(ground.size, dtype=np.int64)
    for place, (row, at) in enumerate(zip(rows, chosen, strict=True)):
        for column, count in enumerate(row.best_vectors.best(at)):
            table[ground.numbers(place, column)] = _best_split(row.cells[column], count)
    return table


def _best_sums(
    ground: Ground, rows: Sequence[WeighedRow], weights: Sequence[ScaledFloats], effort: float
) -> list[int]:
    """For each row the place of its sum in a best table."""
    if not rows:
        return []
    logs = [logarithms(one) for one in weights]
    price = _price(ground, rows, logs)
    short = [_shortfall(one - price * row.offsets) for row, one in zip(rows, logs, strict=True)]
    loose = _shortfall(-price * np.arange(ground.give + 1))
    limit = 1.0
    while True:
        kept = [np.flatnonzero(one <= limit + MARGIN) for one in short]
        check_work(sum(map(len, kept)) * (ground.spare + 1.0), effort, DOING)
        chosen = _among(ground, rows, weights, kept, loose <= limit + MARGIN)
        if chosen is not None:
            used = sum(int(row.offsets[at]) for row, at in zip(rows, chosen, strict=True))
            missed = sum(float(one[at]) for one, at in zip(short, chosen, strict=True))
            if missed + float(loose[ground.spare - used]) <= limit:
                return chosen
        limit *= 4


def _shortfall(values: npt.NDArray[np.floating[Any]]) -> FloatArray:
    return np.asarray(values.max() - values, dtype=np.float64)


def _price(ground: Ground, rows: Sequence[WeighedRow], logs: Sequence[FloatArray]) -> float:
    """The price of a record at which the best row sums add up to N, or nearly."""
    pairs = list(zip(rows, logs, strict=True))

    def used(price: float) -> int:
        places = [int(np.argmax(one - price * row.offsets)) for row, one in pairs]
        spent = sum(int(row.offsets[at]) for row, at in zip(rows, places, strict=True))
        return spent + (ground.give if price < 0 else 0)

    low, high = -1.0, 1.0
    while used(low) < ground.spare and low > -1e9:
        low *= 2
    while used(high) > ground.spare and high < 1e9:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        if used(middle) > ground.spare:
            low = middle
        else:
            high = middle
    return high


def _among(
    ground: Ground,
    rows: Sequence[WeighedRow],
    weights: Sequence[ScaledFloats],
    kept: Sequence[IntArray],
    loose: BoolArray,
) -> list[int] | None:
    """The first best table whose row sums are all among those kept, None if there is none."""
    from cellbounds.inference.rows.choice_kernel import best_pairs, first_best
    from cellbounds.inference.rows.sum_kernel import EMPTY

    size = ground.spare + 1
    mantissa, exponent = np.zeros(size), np.full(size, EMPTY)
    open_end = np.flatnonzero(loose)
    mantissa[open_end], exponent[open_end] = 0.5, 1
    after = [ScaledFloats(mantissa, exponent)]
    few = [
        (row.offsets[at], one.mantissa[at], one.exponent[at])
        for row, one, at in zip(rows, weights, kept, strict=True)
    ]
    for one in reversed(few):
        after.append(ScaledFloats(*best_pairs(*one, *after[-1])))
    after.reverse()
    left, chosen = ground.spare, []
    if after[0].mantissa[left] == 0:
        return None
    for row, one, at, rest in zip(rows, few, kept, after[1:], strict=True):
        place = int(at[first_best(left, *one, *rest)])
        chosen.append(place)
        left -= int(row.offsets[place])
    return chosen


def _best_split(cell: SummedCell, count: int) -> list[int]:
    """The first best way to split a count into the parts of a cell."""
    from cellbounds.inference.rows.choice_kernel import first_best

    parts, left = [], count
    for place in range(len(cell.cells) - 1):
        after = cell.best_after(place, count)
        parts.append(first_best(left, np.arange(count + 1), *cell.part(place, count), *after))
        left -= parts[-1]
    return [*parts, left]
