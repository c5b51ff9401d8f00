"""Compiling functions when they are first called, and random numbers for them.

Import it only where compiled code is needed: numba takes a while to load.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from cellbounds.arrays import IntArray

__all__ = ["compiled", "random_unit"]


def compiled(function: Any) -> Any:
    """Compile when first called, and keep the result on disk if there is a place for it."""
    try:
        return njit(cache=True)(function)
    except RuntimeError:  # neither the package's folder nor the user's cache can be written
        return njit(function)


@compiled
def random_unit(state: IntArray) -> Any:
    """A number in [0, 1) with 53 random bits (splitmix64: a counter and a mixing function).

    The state changes in place, so that what is drawn depends on nothing else.
    """
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.float64(z >> np.uint64(11)) * 2.0**-53
