"""Products of polynomials with coefficients of any magnitude, compiled."""

from __future__ import annotations

import numpy as np

from cellbounds.arrays import IntArray
from cellbounds.fibre.rows.compiled import (
    BLOCK,
    DEEPEST,
    EMPTY,
    FAINT,
    POWERS,
    compiled,
    dot,
    normal,
)
from cellbounds.wide import FloatArray

__all__ = ["correlate", "multiply"]


@compiled
def _tops(exponents: IntArray) -> IntArray:
    """The largest exponent of each block."""
    tops = np.full(len(exponents) // BLOCK + 1, EMPTY)
    for t in range(len(exponents)):
        tops[t // BLOCK] = max(tops[t // BLOCK], exponents[t])
    return tops


@compiled
def multiply(
    m1: FloatArray, e1: IntArray, m2: FloatArray, e2: IntArray, places: IntArray
) -> tuple[FloatArray, IntArray]:
    """Coefficients of a product of polynomials at some places; blocks too faint are skipped."""
    size = len(m2)
    found, exponents = np.zeros(len(places)), np.full(len(places), EMPTY)
    back_m, back_e = m2[::-1].copy(), e2[::-1].copy()
    tops1, tops2 = _tops(e1), _tops(back_e)
    bounds = np.zeros(len(tops1), dtype=np.int64)
    for k in range(len(places)):
        y = places[k]
        first, stop = max(0, y - size + 1), min(len(m1), y + 1)
        if first >= stop:
            continue
        # Entry v meets entry size - 1 - y + v of what is turned round.
        shift = size - 1 - y
        begin, end = first // BLOCK, (stop - 1) // BLOCK + 1
        best, ahead = 4 * EMPTY, begin
        for b in range(begin, end):
            low = max(b * BLOCK, first) + shift
            high = min((b + 1) * BLOCK, stop) - 1 + shift
            bounds[b] = tops1[b] + max(tops2[low // BLOCK], tops2[high // BLOCK])
            if bounds[b] > best:
                best, ahead = bounds[b], b
        total, carry, scale = 0.0, 0.0, 4 * EMPTY
        for turn in range(begin - 1, end):
            b = ahead if turn < begin else turn
            if (turn == ahead) or bounds[b] < scale - FAINT or bounds[b] < EMPTY:
                continue
            low, high = max(b * BLOCK, first), min((b + 1) * BLOCK, stop)
            m, e = dot(
                m1[low:high], e1[low:high], back_m[low + shift : high + shift],
                back_e[low + shift : high + shift],
            )  # fmt: skip
            if m == 0.0:
                continue
            rise = e - scale
            if rise > 200 or scale < EMPTY:
                factor = 0.0 if rise > DEEPEST else POWERS[DEEPEST - rise]
                total, carry, scale, rise = total * factor, carry * factor, e, 0
            if rise > -DEEPEST:
                more = m * POWERS[rise + DEEPEST] - carry
                summed = total + more
                carry = (summed - total) - more
                total = summed
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
