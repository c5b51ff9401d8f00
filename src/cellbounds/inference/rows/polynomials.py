"""Products of polynomials whose coefficients have any magnitude.

Long and level ones by flint's real balls, which transform; short or steep ones by compiled sums
that leave out what is too faint to matter, which balls cannot.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cellbounds.inference.rows.sum_kernel import BLOCK, DEEPEST, FAINT, FEW, POWERS, dot, normal
from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.runtime.compilation import compiled, compiled_above
from cellbounds.runtime.scaled_floats import (
    NOTHING,
    FloatArray,
    ScaledFloats,
    normalised,
    rounded,
)

ROUNDINGS = 32
"""Units of error that a product adds at most."""

STEEP = 1 << 10
"""Binary orders of magnitude from which on products are summed term by term."""

SHORT = 1 << 11
"""Coefficients up to which products are summed term by term: balls are slow to make."""

PRECISION = 80
ACCURATE = 60
"""Bits of every coefficient that must be right before it is rounded to a double."""

TRANSFORM = 100
"""Steps that one coefficient of a product counts for, for each doubling of its length."""


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


def product_steps(size: int) -> float:
    """What a product of two polynomials of a length may cost, roughly."""
    return min(size**2 / 2, TRANSFORM * size * math.log2(size + 1))


def dense(offsets: IntArray, numbers: ScaledFloats, size: int) -> ScaledFloats:
    """All coefficients below `size` of a polynomial given by terms, those of a power together."""
    inside = offsets < size
    mantissa, exponent = np.zeros(size), np.full(size, NOTHING)
    ends = np.append(offsets[1:] != offsets[:-1], True)
    if not ends.all():
        offsets, numbers = offsets[ends], _added_up(numbers, ends)
        inside = inside[ends]
    mantissa[offsets[inside]] = numbers.mantissa[inside]
    exponent[offsets[inside]] = numbers.exponent[inside]
    return ScaledFloats(mantissa, exponent)


def _added_up(numbers: ScaledFloats, ends: BoolArray) -> ScaledFloats:
    """The sum of each group of numbers, which `ends` with one of them."""
    firsts = np.concatenate([[0], np.flatnonzero(ends)[:-1] + 1])
    top = np.maximum.reduceat(numbers.exponent, firsts)
    fall = np.maximum(numbers.exponent - np.repeat(top, np.diff([*firsts, len(ends)])), -1000)
    return normalised(np.add.reduceat(np.ldexp(numbers.mantissa, fall), firsts), top)


def product(left: ScaledFloats, right: ScaledFloats) -> ScaledFloats:
    """The coefficients of a product, as many as the factors have."""
    if len(left.mantissa) > SHORT and _steepness(left) + _steepness(right) < STEEP:
        return _by_balls(left, right)
    return ScaledFloats(*multiply(left, right, np.arange(len(left.mantissa))))


def coefficient(left: ScaledFloats, right: ScaledFloats, place: int) -> ScaledFloats:
    """One coefficient of a product."""
    return ScaledFloats(*multiply(left, right, np.array([place])))


def correlation(left: ScaledFloats, right: ScaledFloats) -> ScaledFloats:
    """For each v the sum over y of left(y) times right(y - v); both have the same length."""
    turned = ScaledFloats(*(np.ascontiguousarray(part[::-1]) for part in right))
    size = len(left.mantissa)
    return ScaledFloats(*multiply(left, turned, np.arange(size - 1, 2 * size - 1)))


def _steepness(numbers: ScaledFloats) -> int:
    """The binary orders of magnitude between the largest and the smallest coefficient."""
    exponents = numbers.exponent[numbers.mantissa > 0]
    return int(np.ptp(exponents)) if len(exponents) else 0


def _by_balls(left: ScaledFloats, right: ScaledFloats) -> ScaledFloats:
    from flint import ctx

    size = len(left.mantissa)
    before, precision = ctx.prec, PRECISION
    try:
        while True:
            ctx.prec = precision
            balls = (_polynomial(left) * _polynomial(right)).coeffs()[:size]
            # A coefficient without terms is exactly zero, in every precision.
            if all(ball.rel_accuracy_bits() >= ACCURATE or ball.is_zero() for ball in balls):
                break
            precision *= 2
    finally:
        ctx.prec = before
    return dense(np.arange(len(balls)), rounded(balls), size)


def _polynomial(numbers: ScaledFloats) -> Any:
    from flint import arb, arb_poly

    # Mantissas have 53 bits: as integers they are exact.
    whole = np.ldexp(numbers.mantissa, 53).astype(np.int64).tolist()
    pairs = zip(whole, (numbers.exponent - 53).tolist(), strict=True)
    return arb_poly([arb((m, e)) if m else arb(0) for m, e in pairs])
