"""A table that everybody can make, to rank what could be published without the true counts."""

from __future__ import annotations

import numpy as np

from cellbounds.data.domain import Domain
from cellbounds.data.table import Table
from cellbounds.runtime.arrays import BoolArray

TYPICAL = 20
"""People in each cell, if nobody knows how many there are."""


TABLES = 6
"""Tables over which what a release keeps is averaged: none of them is typical by itself."""


def typical_total(total: int | None) -> int | None:
    """A round number like N, the next power of two below: tables of about N are ranked alike.

    Examples
    --------
    >>> typical_total(135), typical_total(0), typical_total(None)
    (128, 0, None)
    """
    return None if total is None else 1 << (total.bit_length() - 1) if total > 0 else 0


def typical_tables(domain: Domain, structural: BoolArray, total: int | None) -> list[Table]:
    """Some typical tables of about as many people, different ones."""
    number = typical_total(total)
    return [typical_table(domain, structural, number, seed) for seed in range(TABLES)]


def typical_table(domain: Domain, structural: BoolArray, total: int | None, seed: int = 0) -> Table:
    """A table with uneven counts that depends on the variables, the empty cells and N only.

    What comes first in a list is then known to everybody, and tells nothing about the true table.

    Examples
    --------
    >>> domain = Domain({"a": ["x", "y"], "b": ["p", "q"]})
    >>> typical_table(domain, np.zeros((2, 2), dtype=bool), 100).counts
    array([[40, 59],
           [ 1,  0]])
    """
    shares = np.random.default_rng(seed).exponential(size=domain.shape)
    shares[structural] = 0.0
    if not shares.any():
        return Table(domain, np.zeros(domain.shape, dtype=np.int64), structural=structural)
    number = TYPICAL * int((~structural).sum()) if total is None else total
    exact = number * shares / shares.sum()
    counts = exact.astype(np.int64)
    # The largest remainders get the people that are left.
    most = np.argsort((counts - exact).ravel(), kind="stable")
    counts.ravel()[most[: number - int(counts.sum())]] += 1
    return Table(domain, counts, structural=structural)
