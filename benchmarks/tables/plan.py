"""What a run measures and how hard it tries."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

SEED = 4


@dataclass(frozen=True, slots=True)
class Plan:
    """The size of every section.

    Parameters
    ----------
    data : Path
        Folder of czech6 and of hair and eye colour; look-alikes stand in for those that are not
        there.
    seed : int
        For random tables, models and draws.
    repeat_seconds : float
        Budget for repeating short calls.
    limit : float
        Seconds after which a process with one question is ended.
    documents_draws : int
        Draws of document 002's chain.
    reshapes : tuple of str
        The beginnings of the names of the tables of Table 9 that are counted.
    digits : tuple of int
        Decimals of their rates.
    exact_draws : int
        Exact draws that are timed after counting.
    models : int
        Decomposable models of czech6.
    model_limit : float
        Seconds after which the process with one of them is ended.
    shapes : tuple of pairs
        Two-way tables that grow.
    doublings : int
        How often N is doubled, at most, when two-way tables grow.
    compared_draws : int
        Draws by each method, when methods are compared.
    estimate_draws : int
        Draws for each estimated count.
    compared, estimated : tuple of str or None
        Names of the releases on which draws and estimates are compared; None for all.
    """

    data: Path
    seed: int
    repeat_seconds: float
    limit: float
    documents_draws: int
    reshapes: tuple[str, ...]
    digits: tuple[int, ...]
    exact_draws: int
    models: int
    model_limit: float
    shapes: tuple[tuple[int, int], ...]
    doublings: int
    compared_draws: int
    estimate_draws: int
    compared: tuple[str, ...] | None
    estimated: tuple[str, ...] | None


def full_plan(data: Path, seed: int) -> Plan:
    """Everything."""
    return Plan(
        data=data,
        seed=seed,
        repeat_seconds=1.0,
        limit=300.0,
        documents_draws=10_000,
        reshapes=("haberman3", "koch4", "czech6", "cps8", "nltcs16"),
        digits=(1, 2, 3),
        exact_draws=1000,
        models=12,
        model_limit=30.0,
        shapes=((3, 3), (3, 4), (4, 4), (5, 5)),
        doublings=14,
        compared_draws=10_000,
        estimate_draws=10_000,
        compared=None,
        estimated=None,
    )


def quick_plan(data: Path, seed: int) -> Plan:
    """A little of everything: within a minute."""
    return Plan(
        data=data,
        seed=seed,
        repeat_seconds=0.1,
        limit=30.0,
        documents_draws=10_000,
        reshapes=("haberman3",),
        digits=(2,),
        exact_draws=1000,
        models=1,
        model_limit=5.0,
        shapes=((3, 3),),
        doublings=1,
        compared_draws=1000,
        estimate_draws=1000,
        compared=("2x2 margins", "census3 all 2-way"),
        estimated=("2x2 margins", "census3 all 2-way"),
    )
