"""Where large arrays are worked on: numpy on the processor, torch on an accelerator.

The two have most names in common. What differs is here, so that a method is written once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cellbounds.runtime.arrays import IntArray


class Device:
    """Arrays of numpy, on the processor."""

    xp: Any = np
    is_cpu = True

    def real(self, values: IntArray) -> Any:
        """Numbers in double precision."""
        return np.ascontiguousarray(values, dtype=np.float64)

    def whole(self, values: IntArray) -> Any:
        """Numbers of 64 bits."""
        return np.ascontiguousarray(values, dtype=np.int64)

    def flags(self, values: IntArray) -> Any:
        """Yes or no."""
        return np.ascontiguousarray(values, dtype=bool)

    def as_real(self, values: Any) -> Any:
        """Whole numbers that are here already in double precision."""
        return values.astype(np.float64)

    def as_whole(self, values: Any) -> Any:
        """Whole numbers in double precision, here already, as numbers of 64 bits."""
        return values.astype(np.int64)

    def copied(self, values: Any) -> Any:
        """Another array that holds the same."""
        return values.copy()

    def where(self, condition: Any, yes: Any, no: Any) -> Any:
        """One or the other."""
        return np.where(condition, yes, no)

    def numpy(self, values: Any) -> IntArray:
        """The same in numpy."""
        return np.asarray(values)


CPU = Device()
