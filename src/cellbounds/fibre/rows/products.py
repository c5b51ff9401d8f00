"""Products of the rows' polynomials: coefficients of any magnitude, errors by real balls."""

from __future__ import annotations

from typing import Any

import numpy as np

from cellbounds.arrays import IntArray
from cellbounds.fibre.rows.splitting import kernel_ready
from cellbounds.wide import Wide, wide_of

__all__ = ["ROUNDINGS", "polynomial", "product"]

ROUNDINGS = 2
"""Units of error that a product adds."""

FIRST_PRECISION = 80
ACCURATE = 60
"""Bits of every coefficient that must be right before it is rounded to a double."""


def polynomial(offsets: IntArray, numbers: Wide, size: int) -> Any:
    """A polynomial with these coefficients at these powers, as far as they are below `size`."""
    from flint import arb, arb_poly, ctx

    before, ctx.prec = ctx.prec, FIRST_PRECISION
    try:
        zero = arb(0)
        dense = [zero] * min(size, int(offsets.max(initial=-1)) + 1)
        whole = np.ldexp(numbers.mantissa, 53).astype(np.int64)
        for offset, mantissa, exponent in zip(
            offsets.tolist(), whole.tolist(), (numbers.exponent - 53).tolist(), strict=True
        ):
            if mantissa and offset < size:
                dense[offset] = arb((mantissa, exponent))
        return arb_poly(dense)
    finally:
        ctx.prec = before


def product(left: Any, right: Any, size: int) -> Wide:
    """All coefficients below `size` of a product, each within two units."""
    from flint import ctx

    before = ctx.prec
    precision = FIRST_PRECISION
    try:
        while True:
            ctx.prec = precision
            found = (left * right).coeffs()[:size]
            # A coefficient without terms is exactly zero, and exact in every precision.
            if all(one.rel_accuracy_bits() >= ACCURATE or one.is_zero() for one in found):
                break
            precision *= 2
    finally:
        ctx.prec = before
    made = kernel_ready(wide_of(found))
    missing = size - len(found)
    if not missing:
        return made
    return Wide(
        np.pad(made.mantissa, (0, missing)),
        np.pad(made.exponent, (0, missing), constant_values=-(2**60)),
    )
