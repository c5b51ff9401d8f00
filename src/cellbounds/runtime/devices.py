"""Where large arrays are worked on: numpy on the processor, torch on an accelerator.

The two have most names in common. What differs is here, so that a method is written once.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from cellbounds.errors import InvalidInput
from cellbounds.runtime.arrays import IntArray


class Device:
    """Arrays of numpy, on the processor.

    `numbers` are as many as are worked on at a time: what the cache of a processor holds.
    """

    xp: Any = np
    name = "cpu"
    numbers = 2**18

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

    def joined(self, first: Any, second: Any) -> Any:
        """One array after the other."""
        return np.concatenate([first, second])

    def where(self, condition: Any, yes: Any, no: Any) -> Any:
        """One or the other."""
        return np.where(condition, yes, no)

    def numpy(self, values: Any) -> IntArray:
        """The same in numpy."""
        return np.asarray(values)


class TorchDevice(Device):
    """Arrays of torch, wherever it says; the memory of an accelerator holds many."""

    numbers = 2**28

    def __init__(self, torch: Any, name: str) -> None:
        self.xp, self.name = torch, name

    def _there(self, values: IntArray, kind: Any) -> Any:
        return self.xp.as_tensor(np.ascontiguousarray(values), dtype=kind, device=self.name)

    def real(self, values: IntArray) -> Any:
        """Numbers in double precision."""
        return self._there(values, self.xp.float64)

    def whole(self, values: IntArray) -> Any:
        """Numbers of 64 bits."""
        return self._there(values, self.xp.int64)

    def flags(self, values: IntArray) -> Any:
        """Yes or no."""
        return self._there(values, self.xp.bool)

    def as_real(self, values: Any) -> Any:
        """Whole numbers that are here already in double precision."""
        return values.to(self.xp.float64)

    def as_whole(self, values: Any) -> Any:
        """Whole numbers in double precision, here already, as numbers of 64 bits."""
        return values.to(self.xp.int64)

    def copied(self, values: Any) -> Any:
        """Another array that holds the same."""
        return values.clone()

    def joined(self, first: Any, second: Any) -> Any:
        """One array after the other."""
        return self.xp.cat([first, second])

    def where(self, condition: Any, yes: Any, no: Any) -> Any:
        """One or the other."""
        return self.xp.where(condition, yes, no)

    def numpy(self, values: Any) -> IntArray:
        """The same in numpy."""
        return np.asarray(values.cpu())


CPU = Device()


@cache
def device_of(name: str) -> Device:
    """The device of a name: cpu, or what torch calls it, such as cuda.

    Raises
    ------
    InvalidInput
        If torch is not installed, or knows no such device here.

    Examples
    --------
    >>> device_of("cpu").name
    'cpu'
    """
    if name == CPU.name:
        return CPU
    from cellbounds.runtime.files import library

    torch = library("torch", needed_for="other devices than 'cpu'", extra="torch")
    try:
        torch.zeros(1, dtype=torch.float64, device=name)
    except (RuntimeError, AssertionError, TypeError) as problem:
        reason = str(problem).partition("\n")[0]
        raise InvalidInput(
            f"device {name!r} cannot be used here ({reason}); choose 'cpu', or a device of torch"
        ) from None
    return TorchDevice(torch, name)
