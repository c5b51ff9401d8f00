"""How far the draws of chains can be trusted, cell by cell."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

import numpy as np

from cellbounds.errors import InvalidInput
from cellbounds.results.distribution import MonteCarlo
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.scaled_floats import FloatArray

__all__ = ["batch_errors", "diagnose"]

FEWEST = 4
"""Draws from each chain that R-hat needs: two in each half."""


def diagnose(draws: IntArray | FloatArray) -> MonteCarlo:
    """Diagnose draws laid out as (chains, draws, cells).

    R-hat, effective size and standard error are arviz-stats' own.

    Examples
    --------
    >>> draws = np.random.default_rng(1).poisson(20, size=(4, 500, 2))
    >>> draws[:, :, 1] = 7
    >>> found = diagnose(draws)
    >>> found.agreed, found.fixed.tolist(), bool(found.effective_size[0] > 1500)
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
    return MonteCarlo(error, ess, rhat, batch_errors(draws))


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
