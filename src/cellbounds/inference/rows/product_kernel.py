"""Products of polynomials with coefficients of any magnitude, compiled."""

from __future__ import annotations

import numpy as np

from cellbounds.inference.rows.sum_kernel import (
    BLOCK,
    DEEPEST,
    EMPTY,
    FAINT,
    POWERS,
    dot,
    normal,
)
from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.runtime.compilation import compiled
from cellbounds.runtime.scaled_floats import FloatArray

__all__ = ["correlate", "multiply"]


SPREAD = 480
"""Within blocks of no more binary orders of magnitude plain doubles can be multiplied."""


@compiled
def _blocks(m: FloatArray, e: IntArray) -> tuple[IntArray, FloatArray, BoolArray]:
    """For each block its largest exponent, its numbers over that power of two, and if all fit."""
    count = len(m) // BLOCK + 1
    tops, fits = np.full(count, 4 * EMPTY), np.ones(count, dtype=np.bool_)
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


@compiled
def multiply(
    m1: FloatArray, e1: IntArray, m2: FloatArray, e2: IntArray, places: IntArray
) -> tuple[FloatArray, IntArray]:
    """Coefficients of a product of polynomials at some places; blocks too faint are skipped."""
    size = len(m2)
    found, exponents = np.zeros(len(places)), np.full(len(places), EMPTY)
    back_m, back_e = m2[::-1].copy(), e2[::-1].copy()
    tops1, scaled1, fits1 = _blocks(m1, e1)
    tops2, scaled2, fits2 = _blocks(back_m, back_e)
    for k in range(len(places)):
        first, stop = max(0, places[k] - size + 1), min(len(m1), places[k] + 1)
        # Entry v of the first meets entry v + shift of the second, which is turned round.
        shift = size - 1 - places[k]
        total, carry, scale = 0.0, 0.0, 4 * EMPTY
        begin = first
        best, ahead = 8 * EMPTY, first
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
            if (early or begin != ahead) and bound >= max(scale - FAINT, EMPTY):
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
        found[k], exponents[k] = normal(total, scale)
    return found, exponents


@compiled
def correlate(
    hm: FloatArray, he: IntArray, m: FloatArray, e: IntArray
) -> tuple[FloatArray, IntArray]:
    """For each v the sum over y of h(y) times w(y - v)."""
    size = len(hm)
    found, exponents = np.zeros(size), np.zeros(size, dtype=np.int64)
    for v in range(size):
        count = min(size - v, len(m))
        found[v], exponents[v] = dot(hm[v : v + count], he[v : v + count], m[:count], e[:count])
    return found, exponents
