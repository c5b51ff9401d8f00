"""Arrays of numbers of any magnitude, as the compiled sums take them."""

from __future__ import annotations

import numpy as np

from cellbounds.runtime.arrays import BoolArray
from cellbounds.runtime.scaled_floats import FloatArray, ScaledFloats, widened

__all__ = ["divided", "kernel_ready", "logarithms", "masked", "one_alone", "times"]


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
