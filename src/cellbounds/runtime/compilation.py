"""Compiling functions when they are first called, and random numbers for them.

Import it only where compiled code is needed: numba takes a while to load.
"""

from __future__ import annotations

from functools import update_wrapper
from typing import Any

import numpy as np
from numba import njit

from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.interrupts import uninterrupted

__all__ = ["compiled", "random_below", "random_state", "random_unit"]


_COMPILED: list[Compiled] = []


class Compiled:
    """A compiled function, for Python and for other compiled functions.

    Signals that came while it was working raise when it has returned: numba does not expect them
    before. While it works, other threads can: that of a progress line, for one.
    """

    def __init__(self, function: Any) -> None:
        update_wrapper(self, function)
        _COMPILED.append(self)
        self._dispatcher: Any
        try:
            self._dispatcher = njit(cache=True, nogil=True)(function)
        except RuntimeError:  # neither the package's folder nor the user's cache can be written
            self._dispatcher = njit(nogil=True)(function)

    def __call__(self, *given: Any) -> Any:
        """Compile when first called, and keep the result on disk if there is a place for it."""
        try:
            return uninterrupted(self._dispatcher, *given)
        except (ImportError, AttributeError):
            # Kept by another version: its types lie in modules that are no longer there, and
            # numba reads them before it sees that the source has changed.
            for one in _COMPILED:
                one.forget()
            return uninterrupted(self._dispatcher, *given)

    def forget(self) -> None:
        """Leave out what is kept on disk."""
        self._dispatcher._cache.flush()

    @property
    def _numba_type_(self) -> Any:
        """What numba looks at where other compiled functions call this one."""
        return self._dispatcher._numba_type_


def compiled(function: Any) -> Any:
    """Compile a function when it is first called."""
    return Compiled(function)


@compiled
def _mixed(z: Any) -> Any:
    """Splitmix64's mixing function: every bit of the result depends on every bit of the counter."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@compiled
def _random_bits(state: IntArray) -> Any:
    """64 random bits (splitmix64: a counter and a mixing function).

    The state changes in place, so that what is drawn depends on nothing else. numba's own
    generator is three times slower.
    """
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    return _mixed(state[0])


@compiled
def random_state(seed: Any, number: Any) -> Any:
    """The state from which the draw with this number starts, never zero."""
    counter = np.uint64(seed) + np.uint64(number + 1) * np.uint64(0x9E3779B97F4A7C15)
    return _mixed(counter) | np.uint64(1)


@compiled
def random_unit(state: IntArray) -> Any:
    """A number in [0, 1) with 53 random bits."""
    return np.float64(_random_bits(state) >> np.uint64(11)) * 2.0**-53


@compiled
def random_below(state: IntArray, limit: Any) -> Any:
    """A whole number from 0 to below `limit`, a little uneven if the limit is above 2**31."""
    if limit <= 1 << 31:
        # The high bits of a product: no division, which would take longer than all the rest.
        return (np.int64(_random_bits(state) >> np.uint64(33)) * limit) >> 31
    return min(np.int64(random_unit(state) * limit), limit - 1)
