"""One row of rates over the reals, and rows without a limit of N, worked out by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

import cellbounds as cb
from cellbounds.model.rates.offset_sets import OffsetSet
from cellbounds.model.rates.row_problem import RealRow
from cellbounds.solvers.conditional.feasible import SumSet, feasible_sums

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)


def row(low, high, *, low_open=(), high_open=(), lower=(), upper=(), least=0, most=None):
    width = len(low)
    return RealRow(
        tuple(map(Fraction, low)),
        tuple(map(Fraction, high)),
        tuple(low_open) or (False,) * width,
        tuple(high_open) or (False,) * width,
        tuple(lower) or (0,) * width,
        tuple(upper) or (None,) * width,
        least,
        most,
    )


@pytest.mark.parametrize(
    ("made", "total", "allowed"),
    [
        (row([0, 0], [1, 1], least=3), 2, False),
        (row([0, 0], [1, 1], least=3), 3, True),
        (row([0, 0], [1, 1], most=3), 4, False),
        (row([0, 0], [1, 1], lower=[3, 3]), 5, False),
        (row([0, 0], [1, 1], lower=[3, 3]), 6, True),
        (row([0, 0], [1, 1], upper=[2, 2]), 5, False),
        (row([0, 0], [1, 1], upper=[2, 2]), 4, True),
        (row([HALF, HALF], [1, 1]), 4, True),
        (row([HALF, HALF], [1, 1], low_open=[True, False]), 4, False),
        (row([HALF, HALF], [1, 1], low_open=[False, True]), 4, False),
        (row([0, 0], [HALF, HALF], high_open=[True, False]), 4, False),
        (row([0, 0], [HALF, HALF], high_open=[False, True]), 4, False),
        (row([0, 0], [HALF, HALF]), 4, True),
        (row([THIRD, 0], [THIRD, 1]), 4, True),
        (row([THIRD, 0], [THIRD, 1], low_open=[True, False]), 4, False),
        # A limit in counts is attained where the rate's end is not.
        (row([HALF, HALF], [1, 1], low_open=[True, True], lower=[2, 2]), 4, False),
        (row([0, HALF], [1, 1], low_open=[False, True], lower=[2, 3]), 5, True),
    ],
)
def test_sums_that_reals_allow(made, total, allowed):
    assert made.allows(Fraction(total)) is allowed


def test_smallest_and_largest_sums():
    assert row([0, 0], [HALF, 1], lower=[3, 0]).smallest_sum() == 6
    assert row([0, 0], [0, 1], lower=[1, 0]).smallest_sum() is None
    assert row([HALF, 0], [1, 1], lower=[0, 4]).smallest_sum() == 8
    assert row([0, 0], [1, 1], least=5).smallest_sum() == 5
    assert row([HALF, 0], [1, 1], upper=[3, None]).largest_sum() == 6
    assert row([0, 0], [1, HALF], upper=[3, None]).largest_sum() == 6
    assert row([0, 0], [1, 1], upper=[3, None]).largest_sum() is None
    assert row([0, 0], [1, 1], upper=[3, 4]).largest_sum() == 7
    assert row([0, 0], [1, 1], most=5).largest_sum() == 5


DOMAIN = cb.Domain({"row": ["a", "b"], "col": ["x", "y"]})
WIDE = cb.Conditional(["col"], ["row"], rates=[["0.5", "0.5"], ["0.5", "0.5"]], eps="0.4")


def test_a_lower_limit_of_n_and_rows_that_end():
    limits = cb.Known(["row"], upper={"a": 3, "b": 8})
    rows = cb.attainable(cb.Release(DOMAIN, [WIDE, cb.Total(lower=10), limits]), over=["row"])
    assert rows["a"] == {2, 3}
    assert rows["b"] == {7, 8}


def test_a_row_that_ends_beside_one_that_does_not():
    limits = cb.Known(["row"], upper={"a": 3})
    found = cb.bounds(cb.Release(DOMAIN, [WIDE, limits]))
    assert found["a", "x"] == (1, 2)
    assert found["b", "x"][1] is cb.UNBOUNDED
    empty = cb.Conditional(["col"], ["row"], rates=[[1, 0], [1, 0]], eps="0")
    found = cb.bounds(cb.Release(DOMAIN, [empty, limits]))
    assert found["a", "x"] == (1, 3)
    assert (found["a", "y"], found["b", "y"]) == ((0, 0), (0, 0))
    assert found["b", "x"] == (1, cb.UNBOUNDED)


def test_sums_that_end_with_a_run_are_kept_short():
    made = OffsetSet.make(0, 0b1110011, 7, 0)
    assert made == OffsetSet(0, 0b11, 4, 1, 6)
    assert OffsetSet.make(0, 0b1010011, 7, 0) == OffsetSet(0, 0b1010011, 7, 0)
    assert OffsetSet.make(4, 0b1010000, 7, 0) == OffsetSet(8, 0b101, 3, 0)


def test_the_next_sum_of_a_row():
    row = OffsetSet(0, 0b1100101, 8, 4)
    members = [0, 2, 5, 6, 8, 12]
    for offset in range(13):
        assert row.next_member(offset) == next(one for one in members if one >= offset)
    assert OffsetSet(0, 0b101, 3, 0).next_member(3) is None


def test_neighbouring_runs_are_joined_and_nothing_else():
    runs = SumSet([(0, 0b11), (2, 9, 1), (10, 0b101), (40, 50, 5), (51, 0b1)]).runs
    assert list(zip(*(ends.tolist() for ends in runs), strict=True)) == [
        (0, 10, 1),
        (12, 12, 1),
        (40, 50, 5),
        (51, 51, 1),
    ]


def test_runs_have_no_common_divisor():
    rows = [OffsetSet(0, 0b110011, 6, 0), OffsetSet(0, 0b10001, 5, 0)]
    for slack, sums in [(5, ({1, 5}, {0, 4})), (4, ({0, 4}, {0, 4})), (9, ({5}, {4}))]:
        found = feasible_sums(rows, [1, 1], slack)
        assert tuple(set(one.values) for one in found) == sums


def test_listed_sums_of_a_row_below_its_first():
    nearest = cb.Conditional(
        ["col"], ["row"], rates=[["0.3", "0.7"], ["0.5", "0.5"]], rounding="nearest"
    )
    listed = cb.Known(["row"], values={"a": [0, 1, 2, 3, 4, 7]})
    rows = cb.attainable(cb.Release(DOMAIN, [nearest, cb.Total(17), listed]), over=["row"])
    assert rows["a"] == {3, 7}
    assert rows["b"] == {14, 10}
