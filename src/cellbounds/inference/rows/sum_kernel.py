"""Sums over the vectors of one row, for all its feasible sums: products of weights, compiled.

All numbers are at least zero, held as mantissa (0, or in [0.5, 1)) times 2**exponent, so that
nothing cancels and nothing overflows. A sum of products has a relative error of at most 26 units
(`CHAIN`): blocks of 64 terms in four running sums, then compensated summation over the blocks.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.runtime.compilation import compiled, compiled_above
from cellbounds.runtime.scaled_floats import NOTHING, FloatArray, ScaledFloats

FEW = 2000
"""Numbers up to which sums are made in plain Python: some tenths of a second."""

CHAIN = 26
"""Roundings of a sum of products, what is too faint to be added included."""

TIE = 1e-12
"""Weights that are as close as this part of themselves count as equal."""

BLOCK = 64
"""Terms that are summed without compensation."""

FAINT = 80
"""Blocks below 2**-FAINT of a sum are left out of it."""

DEEPEST = 1000
"""Numbers below 2**-DEEPEST of another do not matter beside it."""

POWERS = np.ldexp(1.0, np.arange(-DEEPEST, 301))
POWERS[0] = 0.0
"""Powers of two from -DEEPEST (taken for zero) on."""


class RowVectors(NamedTuple):
    """A row laid out for the compiled sums: ranges of cells for each sum, weights by column.

    `lower` and `upper` have one line for each sum; `low` and `high`, what the columns before each
    (and all) can add up to, those from it on making up the rest. The weights of column j, for the
    counts from 0, begin at ``starts[j]``. `span` is the number of sums that some columns can make,
    at most.
    """

    sums: IntArray
    lower: IntArray
    upper: IntArray
    low: IntArray
    high: IntArray
    starts: IntArray
    weights: ScaledFloats
    span: int
    steps: float

    @classmethod
    def of(
        cls, sums: IntArray, weights: Sequence[ScaledFloats], lower: IntArray, upper: IntArray
    ) -> RowVectors:
        """Lay a row out, given the weights of each column; ranges have the columns first."""
        before_low = np.vstack([np.zeros_like(sums), np.cumsum(lower, axis=0)])
        before_high = np.vstack([np.zeros_like(sums), np.cumsum(upper, axis=0)])
        low = np.maximum(before_low, sums - (before_high[-1] - before_high))
        high = np.minimum(before_high, sums - (before_low[-1] - before_low))
        spans, widths = np.maximum(high - low + 1, 1), upper - lower + 1
        steps = float((spans[:-1].astype(float) * np.minimum(widths, spans[1:])).sum())
        starts = np.cumsum([0, *(len(own.mantissa) for own in weights)])
        every = ScaledFloats(*(np.concatenate(parts) for parts in zip(*weights, strict=True)))
        lower, upper, low, high = map(np.ascontiguousarray, (lower.T, upper.T, low.T, high.T))
        return cls(sums, lower, upper, low, high, starts, every, int(spans.max(initial=1)), steps)

    def totals(self, *, largest: bool = False) -> ScaledFloats:
        """The sum (or the largest) of the weights of all vectors, for each row sum."""
        return ScaledFloats(*totals(self, largest))

    def masses(self, outer: ScaledFloats, chosen: IntArray) -> list[ScaledFloats]:
        """For each column the weights of all vectors by its count; `outer` weighs the row sums.

        Only the sums at the chosen places are looked at.
        """
        columns = [slice(a, b) for a, b in itertools.pairwise(self.starts.tolist())]
        weights = [self.weights.at(own) for own in columns[::-1]]
        back = RowVectors.of(self.sums, weights, self.lower.T[::-1], self.upper.T[::-1])
        by_count = ScaledFloats(*masses(self, back, outer, chosen))
        return [by_count.at(own) for own in columns]

    def possible(self) -> list[BoolArray]:
        """For each column the counts in its range under some sum, all weights being positive."""
        masks = []
        for column, size in enumerate(np.diff(self.starts).tolist()):
            changes = np.zeros(size + 1, dtype=np.int64)
            np.add.at(changes, self.lower[:, column], 1)
            np.add.at(changes, self.upper[:, column] + 1, -1)
            masks.append(np.cumsum(changes[:-1]) > 0)
        return masks

    def draw(self, place: int, uniforms: FloatArray) -> IntArray:
        """Vectors of the row sum at a place, one for each line of uniform numbers."""
        return np.asarray(choose_vectors(self, place, uniforms, False))

    def best(self, place: int) -> list[int]:
        """The first vector of largest weight for the row sum at a place."""
        nearly_all = np.full((1, self.lower.shape[1]), 1 - TIE)
        return [int(count) for count in choose_vectors(self, place, nearly_all, True)[0]]


@compiled
def normal(value: float, exponent: int) -> tuple[float, int]:
    """A number with its mantissa brought into range."""
    if value == 0.0:
        return 0.0, NOTHING
    mantissa, shift = math.frexp(value)
    return mantissa, exponent + shift


@compiled
def dot(m1: FloatArray, e1: IntArray, m2: FloatArray, e2: IntArray) -> Any:
    """The sum of products of two runs of the same length."""
    length = len(m1)
    if length == 1:
        return normal(m1[0] * m2[0], e1[0] + e2[0])
    # All terms are written as multiples of the largest power of two among them, so that one
    # exponent does for the whole sum and nothing overflows.
    best = 4 * NOTHING
    for t in range(length):
        best = max(best, e1[t] + e2[t])
    if best < NOTHING:
        return 0.0, NOTHING
    total, carry = 0.0, 0.0
    for begin in range(0, length, BLOCK):
        end = min(begin + BLOCK, length)
        top = 4 * NOTHING
        for t in range(begin, end):
            top = max(top, e1[t] + e2[t])
        # 64 terms below 2**-80 of the largest are lost in the rounding of the sum anyway.
        if top < best - FAINT:
            continue
        # Four sums side by side: an addition need not wait for the one before it, and each has
        # a quarter of the roundings.
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        t = begin
        while t + 3 < end:
            a += m1[t] * m2[t] * POWERS[max(e1[t] + e2[t] - best, -DEEPEST) + DEEPEST]
            t += 1
            b += m1[t] * m2[t] * POWERS[max(e1[t] + e2[t] - best, -DEEPEST) + DEEPEST]
            t += 1
            c += m1[t] * m2[t] * POWERS[max(e1[t] + e2[t] - best, -DEEPEST) + DEEPEST]
            t += 1
            d += m1[t] * m2[t] * POWERS[max(e1[t] + e2[t] - best, -DEEPEST) + DEEPEST]
            t += 1
        while t < end:
            a += m1[t] * m2[t] * POWERS[max(e1[t] + e2[t] - best, -DEEPEST) + DEEPEST]
            t += 1
        # Kahan's compensation: what this addition loses is taken along to the next.
        more = ((a + b) + (c + d)) - carry
        summed = total + more
        carry = (summed - total) - more
        total = summed
    return normal(total, best)


@compiled
def _most(m1: FloatArray, e1: IntArray, m2: FloatArray, e2: IntArray) -> tuple[float, int]:
    """The largest product of two runs of the same length."""
    largest, place = 0.0, NOTHING
    for t in range(len(m1)):
        exponent = e1[t] + e2[t]
        # Mantissas are from 1/2 to 1: two powers of two further down nothing can be larger.
        if exponent < place - 1 or m1[t] == 0.0 or m2[t] == 0.0:
            continue
        mantissa, exponent = normal(m1[t] * m2[t], exponent)
        if exponent > place or (exponent == place and mantissa > largest):
            largest, place = mantissa, exponent
    return largest, place


@compiled
def _tables(row: RowVectors) -> Any:
    """Room for a number at each partial sum: mantissas and exponents."""
    shape = len(row.starts), row.span
    return np.zeros(shape), np.zeros(shape, dtype=np.int64)


@compiled
def _fill_tails(
    row: RowVectors, k: int, first_column: int, largest: bool, gm: FloatArray, ge: IntArray
) -> None:
    """Sums (or largest) over the columns from each on, for every sum of those before it."""
    lower, upper, low, high = row.lower[k], row.upper[k], row.low[k], row.high[k]
    starts = row.starts
    m, e = row.weights
    columns = len(lower)
    gm[columns, 0], ge[columns, 0] = 0.5, 1
    # The last column makes up what is missing: there is nothing to sum.
    last = columns - 1
    for p in range(low[last], high[last] + 1):
        at = starts[last] + low[columns] - p
        gm[last, p - low[last]], ge[last, p - low[last]] = m[at], e[at]
    for j in range(columns - 2, first_column - 1, -1):
        for p in range(low[j], high[j] + 1):
            first = max(lower[j], low[j + 1] - p)
            count = min(upper[j], high[j + 1] - p) - first + 1
            at = p - low[j]
            if count <= 0:
                gm[j, at], ge[j, at] = 0.0, NOTHING
                continue
            a, b = starts[j] + first, first + p - low[j + 1]
            m1, e1 = m[a : a + count], e[a : a + count]
            m2, e2 = gm[j + 1, b : b + count], ge[j + 1, b : b + count]
            gm[j, at], ge[j, at] = _most(m1, e1, m2, e2) if largest else dot(m1, e1, m2, e2)


@compiled_above(FEW)
def totals(row: RowVectors, largest: bool) -> Any:
    """For each row sum the sum (or the largest) of the weights of all row vectors."""
    gm, ge = _tables(row)
    mantissas, exponents = np.zeros(len(row.sums)), np.zeros(len(row.sums), dtype=np.int64)
    for k in range(len(row.sums)):
        _fill_tails(row, k, 0, largest, gm, ge)
        mantissas[k], exponents[k] = gm[0, 0], ge[0, 0]
    return ScaledFloats(mantissas, exponents)


@compiled
def _add(
    sums: FloatArray, carries: FloatArray, exponents: IntArray, at: int, m: float, e: int
) -> None:
    """Add to one of many compensated sums."""
    if sums[at] == 0.0:
        sums[at], carries[at], exponents[at] = m, 0.0, e
        return
    rise = e - exponents[at]
    # The sum is written anew only when a term is far above it: doubles have room to 2**300.
    if rise > 200:
        scale = POWERS[max(-rise, -DEEPEST) + DEEPEST]
        sums[at] *= scale
        carries[at] *= scale
        exponents[at] = e
        rise = 0
    elif rise < -200:
        return
    more = m * POWERS[rise + DEEPEST] - carries[at]
    summed = sums[at] + more
    carries[at] = (summed - sums[at]) - more
    sums[at] = summed


@compiled_above(FEW)
def masses(row: RowVectors, back: RowVectors, outer: ScaledFloats, chosen: IntArray) -> Any:
    """For each column and count the weights of all row vectors, those of a sum times `outer`.

    Laid out as the weights of the row; `back` is the row with its columns turned round. Only the
    sums at the chosen places are looked at.
    """
    gm, ge = _tables(row)
    hm, he = _tables(row)
    fm, fe = _tables(row)
    starts, columns = row.starts, row.lower.shape[1]
    m, e = row.weights
    om, oe = outer
    sums, carries = np.zeros(len(m)), np.zeros(len(m))
    exponents = np.full(len(m), NOTHING)
    for k in chosen:
        if om[k] == 0.0:
            continue
        lower, upper, low, high = row.lower[k], row.upper[k], row.low[k], row.high[k]
        # A vector in which column j holds v: what is before it, v itself, what comes after it.
        # What is before it comes after it in the row turned round, the largest sum first.
        _fill_tails(row, k, 1, False, gm, ge)
        _fill_tails(back, k, 1, False, hm, he)
        for j in range(columns):
            for at in range(high[j] - low[j] + 1):
                fm[j, at] = hm[columns - j, high[j] - low[j] - at]
                fe[j, at] = he[columns - j, high[j] - low[j] - at]
        for j in range(columns):
            for v in range(lower[j], upper[j] + 1):
                first = max(low[j], low[j + 1] - v)
                count = min(high[j], high[j + 1] - v) - first + 1
                at = starts[j] + v
                if count <= 0 or m[at] == 0.0:
                    continue
                a, b = first - low[j], first + v - low[j + 1]
                if count == 1:
                    rest, exponent = fm[j, a] * gm[j + 1, b], fe[j, a] + ge[j + 1, b]
                else:
                    rest, exponent = dot(
                        fm[j, a : a + count], fe[j, a : a + count], gm[j + 1, b : b + count],
                        ge[j + 1, b : b + count],
                    )  # fmt: skip
                if rest > 0.0:
                    weight = m[at] * rest * om[k]
                    _add(sums, carries, exponents, at, weight, e[at] + exponent + oe[k])
    for at in range(len(sums)):
        sums[at], exponents[at] = normal(sums[at], exponents[at])
    return ScaledFloats(sums, exponents)


@compiled_above(FEW)
def choose_vectors(row: RowVectors, place: int, uniforms: FloatArray, largest: bool) -> IntArray:
    """Row vectors of one row sum, one line for each line of numbers from 0 to 1.

    Drawn in the ratio of their weights if the numbers are; or, of the largest weight, the first
    that has at least this part of it.
    """
    gm, ge = _tables(row)
    _fill_tails(row, place, 0, largest, gm, ge)
    lower, upper, low, high = row.lower[place], row.upper[place], row.low[place], row.high[place]
    starts = row.starts
    m, e = row.weights
    vectors = np.zeros(uniforms.shape, dtype=np.int64)
    for line in range(len(uniforms)):
        before = 0
        for j in range(len(lower)):
            # The tail after what was chosen so far is the sum, or the largest, of these terms.
            at = before - low[j]
            goal, scale = uniforms[line, j] * gm[j, at], ge[j, at]
            run, chosen = 0.0, max(lower[j], low[j + 1] - before)
            for v in range(chosen, min(upper[j], high[j + 1] - before) + 1):
                after = before + v - low[j + 1]
                rise = max(e[starts[j] + v] + ge[j + 1, after] - scale, -DEEPEST)
                term = m[starts[j] + v] * gm[j + 1, after] * POWERS[rise + DEEPEST]
                if term > 0.0:
                    run = term if largest else run + term
                    chosen = v
                    if run > goal:
                        break
            vectors[line, j] = chosen
            before += chosen
    return vectors
