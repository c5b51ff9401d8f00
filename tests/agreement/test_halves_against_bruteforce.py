"""Halves of sums of inequalities: no 0/1 point is lost, and some fractional ones are."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cellbounds.disclosure.protecting.halves import halves, matrix_of
from cellbounds.disclosure.protecting.search_state import Row


def row(coefficients: list[int], least: int) -> Row:
    values = np.array(coefficients)
    used = np.flatnonzero(values)
    return used, values[used], least


def held(rows: list[Row], points: np.ndarray) -> np.ndarray:
    least = np.array([one[2] for one in rows])
    return (points @ matrix_of(rows, points.shape[1]).T.toarray() >= least).all(axis=1)


@given(
    st.integers(2, 6).flatmap(
        lambda size: st.tuples(
            st.lists(
                st.tuples(
                    st.lists(st.integers(-2, 4), min_size=size, max_size=size),
                    st.integers(-2, 5),
                ),
                min_size=1,
                max_size=8,
            ),
            st.lists(
                st.sampled_from([0.0, 0.25, 1 / 3, 0.5, 0.75, 1.0]), min_size=size, max_size=size
            ),
        )
    )
)
def test_every_whole_point_stays(case: tuple[list[tuple[list[int], int]], list[float]]) -> None:
    given_rows, shares = case
    rows = [row(*one) for one in given_rows]
    found, _ = halves(rows, np.array(shares))
    points = np.array(list(itertools.product([0, 1], repeat=len(shares))))
    for one in found:
        assert one[1] @ np.array(shares)[one[0]] < one[2]  # what it is for
    assert held(found, points[held(rows, points)]).all()


def test_three_of_which_two_each() -> None:
    """One hidden of each two is two hidden of three: at no vertex that halves them."""
    rows = [row([1, 1, 0, 1], 1), row([0, 1, 1, 1], 1), row([1, 0, 1, 1], 1)]
    found, work = halves(rows, np.array([0.5, 0.5, 0.5, 0.0]))
    assert [(cells.tolist(), values.tolist(), least) for cells, values, least in found] == [
        ([0, 1, 2, 3], [1, 1, 1, 2], 2)
    ]
    assert work > 0


def test_what_is_hidden_for_certain_counts_as_such() -> None:
    """With the last cell hidden anyway, its part of the sums is no obstacle."""
    rows = [row([1, 1, 0, 1], 2), row([0, 1, 1, 0], 1), row([1, 0, 1, 0], 1)]
    found, _ = halves(rows, np.array([0.5, 0.5, 0.5, 1.0]))
    assert [(cells.tolist(), values.tolist(), least) for cells, values, least in found] == [
        ([0, 1, 2], [1, 1, 1], 2)
    ]


def test_nothing_is_found_at_whole_points() -> None:
    rows = [row([1, 1, 0], 1), row([0, 1, 1], 1), row([1, 0, 1], 1)]
    assert halves(rows, np.array([1.0, 1.0, 0.0]))[0] == []
    assert halves([], np.array([0.5]))[0] == []
