"""How far the draws of chains can be trusted, cell by cell."""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from cellbounds.arrays import BoolArray, IntArray
from cellbounds.errors import InvalidInput
from cellbounds.wide import FloatArray

__all__ = ["Diagnosis", "batch_errors", "diagnose"]

FEWEST = 4
"""Draws from each chain that R-hat needs: two in each half."""

AGREED = 1.01
"""R-hat up to which chains are said to agree (Vehtari and others 2021)."""


@dataclass(frozen=True, slots=True, eq=False)
class Diagnosis:
    """Diagnostics of draws, one number for each cell.

    Attributes
    ----------
    mean
        The mean over all draws.
    fixed
        Cells that held the same count in all draws of all chains. They have no R-hat, effective
        size or error: nan, or 0 for the errors.
    rhat
        Rank-normalised split R-hat; infinite for cells that no chain moved but chains started at
        different counts.
    ess
        Bulk effective sample size.
    error
        Monte Carlo standard error of the mean.
    batch_error
        The same by batch means, as in document 002.
    """

    mean: FloatArray
    fixed: BoolArray
    rhat: FloatArray
    ess: FloatArray
    error: FloatArray
    batch_error: FloatArray

    @property
    def agreed(self) -> bool:
        """Whether no cell that varies has an R-hat above 1.01."""
        return bool((self.rhat[~self.fixed] <= AGREED).all())

    @property
    def worst(self) -> float:
        """The largest R-hat; 1 if every cell is fixed."""
        varying = self.rhat[~self.fixed]
        return float(varying.max()) if varying.size else 1.0


def diagnose(draws: IntArray | FloatArray) -> Diagnosis:
    """Diagnose draws laid out as (chains, draws, cells).

    R-hat, effective size and standard error are arviz-stats' own.

    Examples
    --------
    >>> draws = np.random.default_rng(1).poisson(20, size=(4, 500, 2))
    >>> draws[:, :, 1] = 7
    >>> found = diagnose(draws)
    >>> found.agreed, found.fixed.tolist(), bool(found.ess[0] > 1500)
    (True, [False, True], True)
    """
    if draws.ndim != 3 or draws.shape[0] < 1 or draws.shape[1] < FEWEST:
        raise InvalidInput(
            f"draws of shape {draws.shape}; give (chains, draws, cells) with at least {FEWEST} "
            "draws from each chain"
        )
    # Its functions carry no types.
    array_stats: Any = import_module("arviz_stats.base").array_stats

    by_cell = np.moveaxis(draws, 2, 0).astype(np.float64)
    fixed = np.asarray((by_cell == by_cell[:, :1, :1]).all(axis=(1, 2)))
    # Chains that never moved have no spread within: arviz would divide by zero.
    stuck = (by_cell == by_cell[:, :, :1]).all(axis=(1, 2)) & ~fixed
    moved = ~fixed & ~stuck
    rhat, ess = np.full(len(by_cell), np.nan), np.full(len(by_cell), np.nan)
    error = np.zeros(len(by_cell))
    rhat[stuck], ess[stuck], error[stuck] = np.inf, float(draws.shape[0]), np.inf
    if moved.any():
        rhat[moved] = array_stats.rhat(by_cell[moved])
        ess[moved] = array_stats.ess(by_cell[moved])
        error[moved] = array_stats.mcse(by_cell[moved])
    return Diagnosis(by_cell.mean(axis=(1, 2)), fixed, rhat, ess, error, batch_errors(draws))


def batch_errors(draws: IntArray | FloatArray) -> FloatArray:
    """The Monte Carlo standard error of each cell's mean, by batch means.

    Each chain is cut into batches of the square root of its length (what is left over at the
    beginning is not used). The means of the batches of all chains are taken for independent.
    """
    chains, length, cells = draws.shape
    size = max(math.isqrt(length), 1)
    batches = length // size
    used = draws[:, length - batches * size :].astype(np.float64)
    means = used.reshape(chains * batches, size, cells).mean(axis=1)
    if len(means) < 2:
        return np.full(cells, np.nan)
    return np.asarray(means.std(axis=0, ddof=1) / math.sqrt(len(means)))
