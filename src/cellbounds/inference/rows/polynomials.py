"""Products of polynomials whose coefficients have any magnitude.

Long and level ones by flint's real balls, which transform; short or steep ones by compiled sums
that leave out what is too faint to matter, which balls cannot.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.scaled_floats import NOTHING, ScaledFloats, rounded

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


def product_steps(size: int) -> float:
    """What a product of two polynomials of a length may cost, roughly."""
    return min(size**2 / 2, TRANSFORM * size * math.log2(size + 1))


def dense(offsets: IntArray, numbers: ScaledFloats, size: int) -> ScaledFloats:
    """All coefficients below `size` of a polynomial given by those that are not zero."""
    inside = offsets < size
    mantissa, exponent = np.zeros(size), np.full(size, NOTHING)
    mantissa[offsets[inside]] = numbers.mantissa[inside]
    exponent[offsets[inside]] = numbers.exponent[inside]
    return ScaledFloats(mantissa, exponent)


def product(left: ScaledFloats, right: ScaledFloats) -> ScaledFloats:
    """The coefficients of a product, as many as the factors have."""
    if len(left.mantissa) > SHORT and _steepness(left) + _steepness(right) < STEEP:
        return _by_balls(left, right)
    from cellbounds.inference.rows.sum_kernel import multiply

    return ScaledFloats(*multiply(left, right, np.arange(len(left.mantissa))))


def coefficient(left: ScaledFloats, right: ScaledFloats, place: int) -> ScaledFloats:
    """One coefficient of a product."""
    from cellbounds.inference.rows.sum_kernel import multiply

    return ScaledFloats(*multiply(left, right, np.array([place])))


def correlation(left: ScaledFloats, right: ScaledFloats) -> ScaledFloats:
    """For each v the sum over y of left(y) times right(y - v); both have the same length."""
    from cellbounds.inference.rows.sum_kernel import multiply

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
