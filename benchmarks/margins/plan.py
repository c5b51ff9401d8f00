"""What a run measures and how hard it tries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

SEED = 4
ALL_WAYS = (2, 3, 4, 5)


@dataclass(frozen=True, slots=True)
class Plan:
    """The size of every section.

    Parameters
    ----------
    data : Path
        Folder of the real tables; look-alikes stand in for those that are not there.
    seed : int
        For random tables, models and samples.
    cubes : tuple of int
        How many random 4 x 4 x 4 tables, uniform and skewed.
    solver_seconds : float
        Time limit of a general solver for each bound.
    repeat_seconds : float
        Budget for repeating short calls.
    decomposable, others : int or None
        How many decomposable models (None: all) and how many other hierarchical ones.
    ways : tuple of int
        Sizes of the margins of cps8.
    peer_ways : tuple of int
        Sizes for which the general solvers are asked too.
    budgets : mapping
        Seconds for each size of the margins of cps8.
    nltcs16_budget : float
        Seconds for the two-way margins of nltcs16.
    """

    data: Path
    seed: int
    cubes: tuple[int, int]
    solver_seconds: float
    repeat_seconds: float
    decomposable: int | None
    others: int
    ways: tuple[int, ...]
    peer_ways: tuple[int, ...]
    budgets: Mapping[int, float]
    nltcs16_budget: float


def full_plan(data: Path, seed: int, ways: tuple[int, ...] | None, seconds: float | None) -> Plan:
    """Everything."""
    usual = {2: 600.0, 3: 3600.0, 4: 600.0, 5: 600.0}
    return Plan(
        data=data,
        seed=seed,
        cubes=(5, 5),
        solver_seconds=60.0,
        repeat_seconds=1.0,
        decomposable=None,
        others=200,
        ways=ways or ALL_WAYS,
        peer_ways=ways or (3,),
        budgets={k: seconds or usual.get(k, 600.0) for k in ways or ALL_WAYS},
        nltcs16_budget=seconds or 600.0,
    )


def quick_plan(data: Path, seed: int, ways: tuple[int, ...] | None, seconds: float | None) -> Plan:
    """A little of everything: within a minute."""
    few = ways or (5,)
    return Plan(
        data=data,
        seed=seed,
        cubes=(1, 1),
        solver_seconds=0.5,
        repeat_seconds=0.3,
        decomposable=100,
        others=5,
        ways=few,
        peer_ways=few,
        budgets=dict.fromkeys(few, seconds or 2.0),
        nltcs16_budget=seconds or 2.0,
    )
