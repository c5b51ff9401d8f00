"""Numbers of any magnitude in double precision: a mantissa and an exponent each.

Sums of products of weights over many tables leave the range of doubles long before they lose
precision. All these numbers are at least zero, so that no sum cancels: every operation has a
relative error of at most 2**-53, and errors only add up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cellbounds.runtime.arrays import BoolArray, IntArray

FloatArray = npt.NDArray[np.float64]

UNIT = 2.0**-53
"""The relative error of one operation."""

NOTHING = -(2**60)
"""The exponent that goes with a mantissa of zero; several of them may be added."""

SMALLEST = 1e-290
"""Doubles above this have their full precision."""


class ScaledFloats(NamedTuple):
    """Numbers ``mantissa * 2**exponent``, mantissa 0 or in [0.5, 1)."""

    mantissa: FloatArray
    exponent: IntArray

    def at(self, places: IntArray | slice) -> ScaledFloats:
        """Some of the numbers."""
        return ScaledFloats(self.mantissa[places], self.exponent[places])

    def where(self, mask: BoolArray) -> ScaledFloats:
        """The numbers with zeros where the mask has them."""
        return ScaledFloats(
            np.where(mask, self.mantissa, 0.0), np.where(mask, self.exponent, NOTHING)
        )

    def times(self, other: ScaledFloats) -> ScaledFloats:
        """Products, one by one."""
        return normalised(self.mantissa * other.mantissa, self.exponent + other.exponent)

    def over(self, other: ScaledFloats) -> ScaledFloats:
        """Quotients, one by one; 0 / 0 is 0."""
        safe = np.where(other.mantissa > 0, other.mantissa, 1.0)
        exponent = np.where(other.mantissa > 0, other.exponent, 0)
        return normalised(self.mantissa / safe, self.exponent - exponent)

    def log2(self) -> FloatArray:
        """Logarithms to base 2; minus infinity for zero."""
        with np.errstate(divide="ignore"):
            logs: FloatArray = np.log2(self.mantissa) + self.exponent
        return logs

    def log_at(self, place: int) -> float:
        """The natural logarithm of one number; minus infinity for zero."""
        mantissa, exponent = float(self.mantissa[place]), int(self.exponent[place])
        return math.log(mantissa) + exponent * math.log(2) if mantissa else -math.inf

    def shares(self) -> FloatArray:
        """The numbers divided by their sum; those below 2**-1000 of the largest become zero."""
        fall = self.exponent - int(self.exponent.max(initial=NOTHING))
        scaled = np.ldexp(self.mantissa, np.maximum(fall, -1000))
        scaled[fall < -1000] = 0.0
        return np.asarray(scaled / scaled.sum())


def normalised(values: npt.ArrayLike, exponent: npt.ArrayLike = 0) -> ScaledFloats:
    """Numbers ``values * 2**exponent`` with their mantissas brought into range."""
    mantissa, shift = np.frexp(np.asarray(values, dtype=np.float64))
    moved = shift.astype(np.int64) + np.asarray(exponent, dtype=np.int64)
    return ScaledFloats(mantissa, np.where(mantissa == 0, NOTHING, moved))


def rounded(numbers: Iterable[Any]) -> ScaledFloats:
    """The midpoints of flint's real balls (``arb``), or exact Python integers."""
    numbers = list(numbers)
    if not any(isinstance(number, int) for number in numbers):
        # Most sequences stay within the range of doubles, and are converted at once.
        floats = np.array([float(number) for number in numbers])
        if np.isfinite(floats).all() and (floats > SMALLEST).all():
            return normalised(floats)
    mantissas, exponents = [], []
    for number in numbers:
        whole, exponent = (number, 0) if isinstance(number, int) else number.mid().man_exp()
        whole, exponent = int(whole), int(exponent)
        # Cut to 64 bits first: a wider integer may not fit a double at all.
        surplus = max(whole.bit_length() - 64, 0)
        mantissa, shift = math.frexp(float(whole >> surplus))
        mantissas.append(mantissa)
        exponents.append(shift + exponent + surplus if mantissa else NOTHING)
    return ScaledFloats(np.array(mantissas, dtype=np.float64), np.array(exponents, dtype=np.int64))
