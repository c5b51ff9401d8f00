"""How far averages over draws can be trusted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellbounds.runtime.arrays import BoolArray
from cellbounds.runtime.scaled_floats import FloatArray

__all__ = ["AGREED", "MonteCarlo"]

AGREED = 1.01
"""R-hat up to which chains are said to agree (Vehtari and others 2021)."""


@dataclass(frozen=True, slots=True, eq=False)
class MonteCarlo:
    """How far draws can be trusted, cell by cell.

    Attributes
    ----------
    error
        The standard error of each mean; 0 for cells that never moved.
    effective_size
        How many independent draws would give the same error; NaN for cells that never moved.
    rhat
        Potential scale reduction over several chains (rank-normalised, split): near 1 if they
        agree, NaN for cells that never moved, infinite for those that no chain moved but chains
        started at different counts. None without chains.
    batch_error
        The standard error of each mean by batch means, as document 002 has it. None without chains.
    """

    error: FloatArray
    effective_size: FloatArray
    rhat: FloatArray | None = None
    batch_error: FloatArray | None = None

    @property
    def fixed(self) -> BoolArray:
        """Cells that held the same count in all draws of all chains."""
        return np.isnan(self.effective_size)

    @property
    def worst_rhat(self) -> float:
        """The largest R-hat; 1 if no cell moved, NaN without chains."""
        if self.rhat is None:
            return float("nan")
        return float(np.nanmax(self.rhat, initial=1.0))

    @property
    def agreed(self) -> bool:
        """Whether chains agree about every cell."""
        return self.worst_rhat <= AGREED

    def shaped(self, shape: tuple[int, ...]) -> MonteCarlo:
        """The same in the shape of a table."""
        return MonteCarlo(
            self.error.reshape(shape),
            self.effective_size.reshape(shape),
            None if self.rhat is None else self.rhat.reshape(shape),
            None if self.batch_error is None else self.batch_error.reshape(shape),
        )
