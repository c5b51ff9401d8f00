"""Sums of products of weights, compiled; imported only where they are computed.

All numbers are at least zero, held as mantissa (0, or in [0.5, 1)) times 2**exponent, so that
nothing cancels and nothing overflows. A sum of products has a relative error of at most 26 units
(`row_vectors.CHAIN`): blocks of 64 terms in four running sums, then compensated summation over the
blocks.

Products of polynomials with coefficients of any magnitude, compiled.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cellbounds.inference.rows.row_vectors import RowVectors
from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.runtime.compilation import compiled, compiled_above
from cellbounds.runtime.scaled_floats import NOTHING, FloatArray, ScaledFloats

FEW = 2000
"""Numbers up to which sums are made in plain Python: some tenths of a second."""

BLOCK = 64
"""Terms that are summed without compensation."""

FAINT = 80
"""Blocks below 2**-FAINT of a sum are left out of it."""

DEEPEST = 1000
"""Numbers below 2**-DEEPEST of another do not matter beside it."""

POWERS = np.ldexp(1.0, np.arange(-DEEPEST, 301))
POWERS[0] = 0.0
"""Powers of two from -DEEPEST (taken for zero) on."""


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
def _spans(total: int, lower: IntArray, upper: IntArray, low: IntArray, high: IntArray) -> None:
    """What the columns before each can add up to, those from it on making up the rest."""
    columns = len(lower)
    before_low, before_high = 0, 0
    after_low, after_high = lower.sum(), upper.sum()
    for j in range(columns + 1):
        low[j] = max(before_low, total - after_high)
        high[j] = min(before_high, total - after_low)
        if j < columns:
            before_low += lower[j]
            before_high += upper[j]
            after_low -= lower[j]
            after_high -= upper[j]


@compiled
def _tables(row: RowVectors) -> Any:
    """Ends of partial sums, and room for a number at each: mantissas and exponents."""
    count = len(row.starts)
    low, high = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    return low, high, np.zeros((count, row.span)), np.zeros((count, row.span), dtype=np.int64)


@compiled
def _fill_tails(
    row: RowVectors, k: int, low: IntArray, high: IntArray, gm: FloatArray, ge: IntArray,
    largest: bool,
) -> None:  # fmt: skip
    """Sums (or largest) over the columns from each on, for every sum of those before it."""
    lower, upper, starts = row.lower[k], row.upper[k], row.starts
    m, e = row.weights
    columns = len(lower)
    _spans(row.sums[k], lower, upper, low, high)
    gm[columns, 0], ge[columns, 0] = 0.5, 1
    # The last column makes up what is missing: there is nothing to sum.
    last = columns - 1
    for p in range(low[last], high[last] + 1):
        at = starts[last] + low[columns] - p
        gm[last, p - low[last]], ge[last, p - low[last]] = m[at], e[at]
    for j in range(columns - 2, -1, -1):
        for p in range(low[j], high[j] + 1):
            first = max(lower[j], low[j + 1] - p)
            count = min(upper[j], high[j + 1] - p) - first + 1
            at = p - low[j]
            if count <= 0:
                gm[j, at], ge[j, at] = 0.0, NOTHING
                continue
            a, b = starts[j] + first, first + p - low[j + 1]
            if largest:
                gm[j, at], ge[j, at] = _most(
                    m[a : a + count], e[a : a + count], gm[j + 1, b : b + count],
                    ge[j + 1, b : b + count],
                )  # fmt: skip
            else:
                gm[j, at], ge[j, at] = dot(
                    m[a : a + count], e[a : a + count], gm[j + 1, b : b + count],
                    ge[j + 1, b : b + count],
                )  # fmt: skip


@compiled_above(FEW)
def totals(row: RowVectors, largest: bool) -> Any:
    """For each row sum the sum (or the largest) of the weights of all row vectors."""
    low, high, gm, ge = _tables(row)
    mantissas, exponents = np.zeros(len(row.sums)), np.zeros(len(row.sums), dtype=np.int64)
    for k in range(len(row.sums)):
        _fill_tails(row, k, low, high, gm, ge, largest)
        mantissas[k], exponents[k] = gm[0, 0], ge[0, 0]
    return ScaledFloats(mantissas, exponents)


@compiled_above(FEW)
def tails(row: RowVectors, k: int, largest: bool) -> Any:
    """For one row sum, the sums over the columns from each on.

    Least and largest sums of the columns before it, then mantissas and exponents above the least.
    """
    low, high, gm, ge = _tables(row)
    _fill_tails(row, k, low, high, gm, ge, largest)
    return low, high, gm, ge


@compiled
def _fill_heads(
    row: RowVectors, k: int, turned: ScaledFloats, low: IntArray, high: IntArray, fm: FloatArray,
    fe: IntArray,
) -> None:  # fmt: skip
    """Sums over the columns before each, for every sum of theirs.

    Weights are turned round, so that both factors of a sum of products run the same way.
    """
    lower, upper, starts = row.lower[k], row.upper[k], row.starts
    rm, re = turned
    fm[0, 0], fe[0, 0] = 0.5, 1
    if len(lower) > 1:
        for q in range(low[1], high[1] + 1):
            at = starts[1] - 1 - q
            fm[1, q - low[1]], fe[1, q - low[1]] = rm[at], re[at]
    for j in range(1, len(lower) - 1):
        for q in range(low[j + 1], high[j + 1] + 1):
            first = max(low[j], q - upper[j])
            count = min(high[j], q - lower[j]) - first + 1
            at = q - low[j + 1]
            if count <= 0:
                fm[j + 1, at], fe[j + 1, at] = 0.0, NOTHING
                continue
            a, b = first - low[j], starts[j + 1] - 1 - (q - first)
            fm[j + 1, at], fe[j + 1, at] = dot(
                fm[j, a : a + count], fe[j, a : a + count], rm[b : b + count], re[b : b + count]
            )


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
def masses(row: RowVectors, turned: ScaledFloats, outer: ScaledFloats, chosen: IntArray) -> Any:
    """For each column and count the weights of all row vectors, those of a sum times `outer`.

    Laid out as the weights of the row; `turned` are the weights of each column turned round. Only
    the sums at the chosen places are looked at.
    """
    low, high, gm, ge = _tables(row)
    fm, fe = np.zeros(gm.shape), np.zeros(gm.shape, dtype=np.int64)
    lower, upper, starts = row.lower, row.upper, row.starts
    m, e = row.weights
    om, oe = outer
    sums, carries = np.zeros(len(m)), np.zeros(len(m))
    exponents = np.full(len(m), NOTHING)
    for k in chosen:
        if om[k] == 0.0:
            continue
        # A vector in which column j holds v: what is before it, v itself, what comes after it.
        _fill_tails(row, k, low, high, gm, ge, False)
        _fill_heads(row, k, turned, low, high, fm, fe)
        for j in range(lower.shape[1]):
            for v in range(lower[k, j], upper[k, j] + 1):
                first = max(low[j], low[j + 1] - v)
                count = min(high[j], high[j + 1] - v) - first + 1
                at = starts[j] + v
                if count <= 0 or m[at] == 0.0:
                    continue
                a, b = first - low[j], first + v - low[j + 1]
                if count == 1:
                    weight = m[at] * fm[j, a] * gm[j + 1, b] * om[k]
                    if weight > 0.0:
                        exponent = e[at] + fe[j, a] + ge[j + 1, b] + oe[k]
                        _add(sums, carries, exponents, at, weight, exponent)
                    continue
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


SPREAD = 480
"""Within blocks of no more binary orders of magnitude plain doubles can be multiplied."""


@compiled
def _blocks(m: FloatArray, e: IntArray) -> tuple[IntArray, FloatArray, BoolArray]:
    """For each block its largest exponent, its numbers over that power of two, and if all fit."""
    count = len(m) // BLOCK + 1
    tops, fits = np.full(count, 4 * NOTHING), np.ones(count, dtype=np.bool_)
    scaled = np.zeros(len(m))
    for t in range(len(m)):
        if m[t] > 0.0:
            tops[t // BLOCK] = max(tops[t // BLOCK], e[t])
    for t in range(len(m)):
        if m[t] > 0.0:
            fall = e[t] - tops[t // BLOCK]
            if fall < -SPREAD:
                fits[t // BLOCK] = False
            else:
                scaled[t] = m[t] * POWERS[fall + DEEPEST]
    return tops, scaled, fits


@compiled
def _plain_dot(left: FloatArray, right: FloatArray) -> float:
    """The sum of products of a block of doubles, in four running sums."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    whole = len(left) // 4
    for t in range(whole):
        a += left[4 * t] * right[4 * t]
        b += left[4 * t + 1] * right[4 * t + 1]
        c += left[4 * t + 2] * right[4 * t + 2]
        d += left[4 * t + 3] * right[4 * t + 3]
    for t in range(4 * whole, len(left)):
        a += left[t] * right[t]
    return (a + b) + (c + d)


@compiled_above(FEW)
def multiply(left: ScaledFloats, right: ScaledFloats, places: IntArray) -> Any:
    """Coefficients of a product of polynomials at some places; blocks too faint are skipped."""
    m1, e1 = left
    m2, e2 = right
    size = len(m2)
    mantissas, exponents = np.zeros(len(places)), np.full(len(places), NOTHING)
    back_m, back_e = m2[::-1].copy(), e2[::-1].copy()
    tops1, scaled1, fits1 = _blocks(m1, e1)
    tops2, scaled2, fits2 = _blocks(back_m, back_e)
    for k in range(len(places)):
        first, stop = max(0, places[k] - size + 1), min(len(m1), places[k] + 1)
        # Entry v of the first meets entry v + shift of the second, which is turned round.
        shift = size - 1 - places[k]
        total, carry, scale = 0.0, 0.0, 4 * NOTHING
        # Where both factors stay within one block each, their tops bound all products.
        begin = first
        best, ahead = 8 * NOTHING, first
        while begin < stop:
            bound = tops1[begin // BLOCK] + tops2[(begin + shift) // BLOCK]
            if bound > best:
                best, ahead = bound, begin
            begin += min(BLOCK - begin % BLOCK, BLOCK - (begin + shift) % BLOCK)
        # What is likely to be largest comes first: the rest is then known to be faint.
        begin, early = ahead, True
        while begin < stop:
            b1, b2 = begin // BLOCK, (begin + shift) // BLOCK
            end = min(stop, begin + min(BLOCK - begin % BLOCK, BLOCK - (begin + shift) % BLOCK))
            bound = tops1[b1] + tops2[b2]
            if (early or begin != ahead) and bound >= max(scale - FAINT, NOTHING):
                # Plain doubles, without exponents to look at, where nothing leaves their range.
                if fits1[b1] and fits2[b2]:
                    m, e = normal(
                        _plain_dot(scaled1[begin:end], scaled2[begin + shift : end + shift]), bound
                    )
                else:
                    m, e = dot(
                        m1[begin:end], e1[begin:end], back_m[begin + shift : end + shift],
                        back_e[begin + shift : end + shift],
                    )  # fmt: skip
                if m > 0.0:
                    rise = e - scale
                    if rise > 200:
                        factor = 0.0 if rise > DEEPEST else POWERS[DEEPEST - rise]
                        total, carry, scale, rise = total * factor, carry * factor, e, 0
                    more = m * POWERS[max(rise, -DEEPEST) + DEEPEST] - carry
                    summed = total + more
                    carry = (summed - total) - more
                    total = summed
            begin = first if early else end
            early = False
        mantissas[k], exponents[k] = normal(total, scale)
    return ScaledFloats(mantissas, exponents)
