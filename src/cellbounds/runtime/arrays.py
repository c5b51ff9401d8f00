"""Integer arrays that never overflow silently.

Arrays are int64 while every value they may hold fits, and arrays of Python integers beyond.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[Any]
"""An array of int64, or of Python integers (dtype object) where int64 would not do."""

BoolArray = npt.NDArray[np.bool_]

SAFE = 2**62
"""Magnitudes below this can be added once more without leaving int64."""


def whole_array(values: Sequence[int], shape: tuple[int, ...]) -> IntArray:
    """Pack Python integers into the narrowest array type that no sum of some of them leaves."""
    try:
        packed: IntArray = np.array(values, dtype=np.int64)
        # Floats only choose: what comes near the limit is kept as Python integers.
        fits = float(np.abs(packed.astype(np.float64)).sum()) < SAFE / 2
    except OverflowError:
        fits = False
    if not fits:
        packed = np.empty(len(values), dtype=object)
        packed[:] = [int(value) for value in values]
    return packed.reshape(shape)


def summable(values: IntArray) -> IntArray:
    """Numbers of 0 or more in the narrowest type that no sum of them leaves."""
    if values.dtype.kind in "iu" and float(values.sum(dtype=np.float64)) < SAFE / 2:
        return values.astype(np.int64, copy=False)
    numbers = values.ravel().tolist()
    if all(isinstance(number, int) for number in numbers) and sum(numbers) < SAFE:
        return values.astype(np.int64)
    return values.astype(object)


def narrowest(values: IntArray) -> IntArray:
    """An object array as int64 where every value fits, which what has no end does not."""
    if values.dtype != object or not all(-SAFE < value < SAFE for value in values.flat):
        return values
    return values.astype(np.int64)


def rows_of_entries(starts: IntArray) -> IntArray:
    """The row of each entry, if row k has the entries ``starts[k]:starts[k + 1]``.

    Examples
    --------
    >>> rows_of_entries(np.array([0, 2, 2, 3]))
    array([0, 0, 2])
    """
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))
