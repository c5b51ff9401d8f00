"""The tables whose margins are published, and the releases of these margins."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

import cellbounds as cb
from benchmarks.arrays import IntArray
from benchmarks.problems import lookalikes

CUBE = (4, 4, 4)
UNIFORM_BELOW = 20
SKEW = 1.6  # standard deviation of the logarithms of the cells' weights
SKEWED_MEAN = 4.0  # people a cell


@dataclass(frozen=True, slots=True, eq=False)
class Owned:
    """A confidential table and what the report calls it.

    Parameters
    ----------
    label : str
        The name of the table, with "look-alike" where the real one was not at hand.
    table : cb.Table
        Its counts.
    """

    label: str
    table: cb.Table

    @property
    def counts(self) -> IntArray:
        """The counts as an array, one axis a variable."""
        counts: IntArray = np.asarray(self.table.counts, dtype=np.int64)
        return counts


def owned(name: str, data: Path) -> Owned:
    """Read a real table from the data folder, or draw its look-alike."""
    path = data / f"{name}.csv"
    if path.exists():
        return Owned(name, cb.read_table(path))
    return Owned(f"{name} look-alike", cb.read_table(lookalikes.table(name)))


def cubes(seed: int, uniform: int, skewed: int) -> list[Owned]:
    """Draw 4 x 4 x 4 tables: counts uniform on 0..19, then skewed ones with many zeros."""
    tables = []
    for number in range(uniform + skewed):
        # One stream per table, so that their number does not change them.
        kind = "uniform" if number < uniform else "skewed"
        within = number if kind == "uniform" else number - uniform
        rng = np.random.default_rng([seed, int(kind == "skewed"), within])
        if kind == "uniform":
            counts = rng.integers(0, UNIFORM_BELOW, size=CUBE)
        else:
            weights = np.exp(rng.normal(scale=SKEW, size=CUBE))
            counts = rng.poisson(SKEWED_MEAN * weights / weights.mean())
        tables.append(Owned(f"{kind} 4x4x4, no. {within + 1}", cb.read_table(counts)))
    return tables


def all_margins(table: cb.Table, ways: int) -> cb.Release:
    """Publish every margin over so many variables."""
    return publish(table, combinations(table.domain.names, ways))


def chain_of_threes(variables: int) -> list[tuple[int, ...]]:
    """Return the margins {1,2,3}, {2,3,4}, ... as axes from 0."""
    return [(k, k + 1, k + 2) for k in range(variables - 2)]


def publish(table: cb.Table, margins: Iterable[Sequence[str]]) -> cb.Release:
    """Publish some margins and the total, all exact."""
    said: list[cb.Margin | cb.Total] = [
        cb.Margin(tuple(names), table.margin(names).counts) for names in margins
    ]
    return cb.Release(table.domain, [*said, cb.Total(table.total)])
