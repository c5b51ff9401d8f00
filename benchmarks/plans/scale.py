"""How much is measured of records, processes, start-up and sparse tables."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MicrodataPlan:
    """Records in a Parquet file.

    Parameters
    ----------
    records : int
        How many.
    rounds : int
        How often each program counts them, in turn.
    limit : float
        Seconds after which a process is ended.
    """

    records: int
    rounds: int
    limit: float


@dataclass(frozen=True, slots=True)
class ParallelPlan:
    """A study of designs, by one process and by several.

    Parameters
    ----------
    digits : tuple of int
        Decimals that are tried.
    most_givens : int or None
        The largest set of predictors; None for all subsets.
    workers : int
        Processes.
    rounds : int
        How often each is run, in turn.
    """

    digits: tuple[int, ...]
    most_givens: int | None
    workers: int
    rounds: int


@dataclass(frozen=True, slots=True)
class StartPlan:
    """Starting Python, the library and the command: how often each, in turn."""

    rounds: int


@dataclass(frozen=True, slots=True)
class SparsePlan:
    """Tables whose domain is far larger than their records.

    Parameters
    ----------
    variables, levels : int
        Of the synthetic table.
    occupied : int
        Its cells that hold somebody.
    asked : int
        How many cells are asked about.
    limit : float
        Seconds after which the process with one question is ended.
    """

    variables: int
    levels: int
    occupied: int
    asked: int
    limit: float


MICRODATA_FULL = MicrodataPlan(records=50_000_000, rounds=3, limit=120.0)
MICRODATA_QUICK = MicrodataPlan(records=1_000_000, rounds=2, limit=30.0)
PARALLEL_FULL = ParallelPlan(digits=(1, 2, 3, 4), most_givens=None, workers=2, rounds=2)
PARALLEL_QUICK = ParallelPlan(digits=(1, 2), most_givens=2, workers=2, rounds=1)
START_FULL, START_QUICK = StartPlan(rounds=15), StartPlan(rounds=3)
SPARSE_FULL = SparsePlan(variables=20, levels=4, occupied=1_000_000, asked=1000, limit=120.0)
SPARSE_QUICK = SparsePlan(variables=20, levels=4, occupied=20_000, asked=100, limit=10.0)
