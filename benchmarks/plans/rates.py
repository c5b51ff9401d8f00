"""How much is measured of rounded rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.problems.instances import TABLE9_DIGITS, TABLE10_SHAPES, TABLE11_SHAPES


@dataclass(frozen=True, slots=True)
class Budget:
    """How long to spend on an instance.

    Parameters
    ----------
    repeat_seconds : float
        Budget for repeating short calls.
    bounds : int or None
        How many bounds to ask each solver for; None for all of them.
    solver_seconds : float
        Time limit for each of these bounds.
    """

    repeat_seconds: float
    bounds: int | None
    solver_seconds: float


@dataclass(frozen=True, slots=True)
class RatesPlan:
    """Which tables of document 004 are compared, and with how much effort."""

    table9_digits: Sequence[int]
    table10_shapes: Sequence[tuple[int, int]]
    table11_shapes: Sequence[tuple[int, int]]
    table9: Budget
    table10: Budget
    table11: Budget


@dataclass(frozen=True, slots=True)
class GrowthPlan:
    """The points of each series.

    Parameters
    ----------
    factors : sequence of int
        What a table of 10^4 people is multiplied by.
    rows, columns : sequence of int
        Numbers of rows, and of columns.
    digits : sequence of int
        Numbers of digits.
    paper_up_to : int
        People up to whom document 004 goes along; its cost is proportional to N log N.
    repeat_seconds : float
        Budget for repeating short calls.
    """

    factors: Sequence[int]
    rows: Sequence[int]
    columns: Sequence[int]
    digits: Sequence[int]
    paper_up_to: int
    repeat_seconds: float


FULL = RatesPlan(
    TABLE9_DIGITS,
    TABLE10_SHAPES,
    TABLE11_SHAPES,
    table9=Budget(0.5, None, 60.0),
    table10=Budget(0.5, 8, 60.0),
    table11=Budget(0.5, 2, 30.0),
)
"""Every bound of Table 9, samples of the bounds of the larger tables."""

QUICK = RatesPlan(
    (2,),
    ((50, 2), (20, 10)),
    ((20, 20),),
    table9=Budget(0.1, 4, 1.0),
    table10=Budget(0.1, 2, 1.0),
    table11=Budget(0.1, 1, 1.5),
)

GROWTH_FULL = GrowthPlan(
    factors=[10**k for k in range(9)],
    rows=[10, 20, 50, 100, 200, 500, 1000, 2000],
    columns=[2, 5, 10, 20, 50, 100, 200, 500, 1000],
    digits=range(1, 7),
    paper_up_to=10**6,
    repeat_seconds=0.5,
)
GROWTH_QUICK = GrowthPlan(
    factors=[1, 10**2, 10**8],
    rows=[10, 100, 1000],
    columns=[2, 20, 200],
    digits=range(1, 5),
    paper_up_to=10**4,
    repeat_seconds=0.1,
)
