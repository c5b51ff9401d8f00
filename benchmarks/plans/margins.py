"""How much is measured of published margins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MarginsPlan:
    """The size of each part.

    Parameters
    ----------
    cubes : tuple of int
        How many random 4 x 4 x 4 tables, uniform and skewed.
    bounds : int or None
        How many bounds of each of these and of czech6 a general solver is asked for; None for all.
    solver_seconds : float
        Time limit of a general solver for each bound.
    repeat_seconds : float
        Budget for repeating short calls.
    decomposable, others : int or None
        How many decomposable models (None: all) and how many other hierarchical ones.
    budgets : mapping
        Seconds for each size of the margins of cps8.
    """

    cubes: tuple[int, int]
    bounds: int | None
    solver_seconds: float
    repeat_seconds: float
    decomposable: int | None
    others: int
    budgets: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class HourPlan:
    """What takes long: large tables with all margins of one size, under budgets.

    Parameters
    ----------
    budgets : mapping
        Seconds for each size of the margins of cps8.
    nltcs16_budget : float or None
        Seconds for the two-way margins of nltcs16; None for leaving them out.
    peer_ways : int
        The size of the margins of cps8 that the general solvers are asked about.
    solver_seconds : float
        Time limit of a general solver for each bound.
    """

    budgets: Mapping[int, float]
    nltcs16_budget: float | None
    peer_ways: int
    solver_seconds: float


@dataclass(frozen=True, slots=True)
class CellsPlan:
    """How tables grow whose margins are published.

    Parameters
    ----------
    variables : sequence of int
        Binary variables of the decomposable chain: so many powers of two of cells.
    cubes : sequence of int
        Levels of the three variables of cubes with all two-way margins.
    powers : sequence of int
        Powers of ten of the cells of sparse tables.
    occupied : int
        Cells of the sparse tables that hold somebody.
    asked : int
        Cells of them whose bounds are asked for.
    repeat_seconds : float
        Budget for repeating short calls.
    limit : float
        Seconds after which the process with one question is ended.
    """

    variables: tuple[int, ...]
    cubes: tuple[int, ...]
    powers: tuple[int, ...]
    occupied: int
    asked: int
    repeat_seconds: float
    limit: float


FULL = MarginsPlan(
    cubes=(5, 5),
    bounds=None,
    solver_seconds=60.0,
    repeat_seconds=0.5,
    decomposable=4000,
    others=200,
    budgets={2: 10.0, 3: 30.0, 4: 10.0, 5: 10.0},
)
QUICK = MarginsPlan(
    cubes=(1, 1),
    bounds=24,
    solver_seconds=0.5,
    repeat_seconds=0.1,
    decomposable=50,
    others=5,
    budgets={5: 2.0},
)
HOUR_FULL = HourPlan(
    budgets={2: 120.0, 3: 1200.0, 4: 120.0, 5: 120.0},
    nltcs16_budget=300.0,
    peer_ways=3,
    solver_seconds=20.0,
)
HOUR_QUICK = HourPlan(budgets={3: 2.0}, nltcs16_budget=None, peer_ways=5, solver_seconds=0.2)
CELLS_FULL = CellsPlan(
    variables=(6, 8, 10, 12, 14, 16, 18, 20),
    cubes=(2, 3, 4, 5, 6, 8, 10),
    powers=(6, 7, 8, 9, 10, 11, 12),
    occupied=100_000,
    asked=100,
    repeat_seconds=0.5,
    limit=60.0,
)
CELLS_QUICK = CellsPlan(
    variables=(6, 10, 14),
    cubes=(2, 4),
    powers=(6, 9, 12),
    occupied=2000,
    asked=10,
    repeat_seconds=0.1,
    limit=10.0,
)
