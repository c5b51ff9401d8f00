"""Arrays of numbers of any magnitude, as the compiled sums take them.

Products of polynomials whose coefficients have any magnitude.

Long and level ones by flint's real balls, which transform; short or steep ones by compiled sums
that leave out what is too faint to matter, which balls cannot.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.runtime.scaled_floats import FloatArray, ScaledFloats, wide_of, widened

__all__ = [
    "ROUNDINGS",
    "coefficient",
    "dense",
    "divided",
    "kernel_ready",
    "logarithms",
    "masked",
    "one_alone",
    "product",
    "product_steps",
    "times",
]


def kernel_ready(numbers: ScaledFloats) -> ScaledFloats:
    """Numbers as the compiled sums take them: exponents of zero that can be added."""
    from cellbounds.inference.rows.sum_kernel import EMPTY

    return ScaledFloats(
        np.ascontiguousarray(numbers.mantissa, dtype=np.float64),
        np.maximum(numbers.exponent, EMPTY).astype(np.int64),
    )


def masked(numbers: ScaledFloats, mask: BoolArray) -> ScaledFloats:
    """Numbers with zeros where the mask has them."""
    from cellbounds.inference.rows.sum_kernel import EMPTY

    return ScaledFloats(
        np.where(mask, numbers.mantissa, 0.0), np.where(mask, numbers.exponent, EMPTY)
    )


def times(left: ScaledFloats, right: ScaledFloats) -> ScaledFloats:
    """Products, one by one."""
    return kernel_ready(widened(left.mantissa * right.mantissa, left.exponent + right.exponent))


def divided(left: ScaledFloats, right: ScaledFloats) -> ScaledFloats:
    """Quotients, one by one; 0 / 0 is 0."""
    safe = np.where(right.mantissa > 0, right.mantissa, 1.0)
    exponent = left.exponent - np.where(right.mantissa > 0, right.exponent, 0)
    return kernel_ready(widened(left.mantissa / safe, exponent))


def one_alone(most: int) -> ScaledFloats:
    """One for the count 0, zero for the others."""
    from cellbounds.inference.rows.sum_kernel import EMPTY

    mantissa, exponent = np.zeros(most + 1), np.full(most + 1, EMPTY)
    mantissa[0], exponent[0] = 0.5, 1
    return ScaledFloats(mantissa, exponent)


def logarithms(numbers: ScaledFloats) -> FloatArray:
    """Logarithms to base 2; minus infinity for zero."""
    positive = numbers.mantissa > 0
    found = np.full(len(numbers.mantissa), -np.inf)
    found[positive] = np.log2(numbers.mantissa[positive]) + numbers.exponent[positive]
    return found


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
    from cellbounds.inference.rows.sum_kernel import EMPTY

    inside = offsets < size
    mantissa, exponent = np.zeros(size), np.full(size, EMPTY)
    mantissa[offsets[inside]] = numbers.mantissa[inside]
    exponent[offsets[inside]] = numbers.exponent[inside]
    return ScaledFloats(mantissa, exponent)


def product(left: ScaledFloats, right: ScaledFloats) -> ScaledFloats:
    """The coefficients of a product, as many as the factors have."""
    if len(left.mantissa) > SHORT and _steepness(left) + _steepness(right) < STEEP:
        return _by_balls(left, right)
    from cellbounds.inference.rows.sum_kernel import multiply

    return ScaledFloats(*multiply(*left, *right, np.arange(len(left.mantissa))))


def coefficient(left: ScaledFloats, right: ScaledFloats, place: int) -> tuple[float, int]:
    """One coefficient of a product: mantissa and exponent."""
    from cellbounds.inference.rows.sum_kernel import multiply

    mantissa, exponent = multiply(*left, *right, np.array([place]))
    return float(mantissa[0]), int(exponent[0])


def _steepness(numbers: ScaledFloats) -> int:
    """The binary orders of magnitude between the largest and the smallest coefficient."""
    exponents = numbers.exponent[numbers.mantissa > 0]
    return int(exponents.max() - exponents.min()) if len(exponents) else 0


def _by_balls(left: ScaledFloats, right: ScaledFloats) -> ScaledFloats:
    from flint import ctx

    size = len(left.mantissa)
    before, precision = ctx.prec, PRECISION
    try:
        while True:
            ctx.prec = precision
            found = (_polynomial(left) * _polynomial(right)).coeffs()[:size]
            # A coefficient without terms is exactly zero, in every precision.
            if all(one.rel_accuracy_bits() >= ACCURATE or one.is_zero() for one in found):
                break
            precision *= 2
    finally:
        ctx.prec = before
    return dense(np.arange(len(found)), kernel_ready(wide_of(found)), size)


def _polynomial(numbers: ScaledFloats) -> Any:
    from flint import arb, arb_poly

    whole = np.ldexp(numbers.mantissa, 53).astype(np.int64).tolist()
    zero = arb(0)
    return arb_poly(
        [
            arb((mantissa, exponent)) if mantissa else zero
            for mantissa, exponent in zip(whole, (numbers.exponent - 53).tolist(), strict=True)
        ]
    )
