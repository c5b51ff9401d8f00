"""How far averages over draws can be trusted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellbounds.wide import FloatArray

__all__ = ["MonteCarlo"]


@dataclass(frozen=True, slots=True, eq=False)
class MonteCarlo:
    """Diagnostics of draws, cell by cell in the shape of the table.

    Attributes
    ----------
    error
        The standard error of each mean.
    effective_size
        How many independent draws would give the same error.
    rhat
        Potential scale reduction over several chains (rank-normalised, split): near 1 if they
        agree. None without chains. NaN where a cell never moved.
    batch_error
        The standard error of each mean by batch means, as document 002 has it. None without chains.
    """

    error: FloatArray
    effective_size: FloatArray
    rhat: FloatArray | None = None
    batch_error: FloatArray | None = None

    @property
    def worst_rhat(self) -> float:
        """The largest R-hat, leaving out cells that never moved; NaN if there is none."""
        if self.rhat is None or np.isnan(self.rhat).all():
            return float("nan")
        return float(np.nanmax(self.rhat))

    @property
    def smallest_effective_size(self) -> float:
        """The smallest effective size among the cells that moved; NaN if none did."""
        if np.isnan(self.effective_size).all():
            return float("nan")
        return float(np.nanmin(self.effective_size))
