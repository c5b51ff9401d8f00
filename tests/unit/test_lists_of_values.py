"""Lists of possible counts beside bounds: sharp without N, and relaxed in one way."""

from __future__ import annotations

from fractions import Fraction

import pytest

import cellbounds as cb
from cellbounds import Conditional, Domain, Known, Linear, Release, Total

PAIR = Domain({"a": ["x"], "b": ["x", "y"]})
SQUARE = Domain({"a": ["x", "y"], "b": ["x", "y"]})
NONE = cb.UNBOUNDED

ROW = {("x", "x"): [1, 5, 9], ("x", "y"): [0, 3]}

SHARP = {
    "one bound": (PAIR, [Known(["b"], values={"x": [1, 5, 9]}, upper={"x": 7})], [1, 5, 0, NONE]),
    "a bound of the row": (
        SQUARE,
        [Known(["a", "b"], values=ROW), Known(["a"], upper={"x": 6})],
        [1, 5, 0, 3, 0, NONE, 0, NONE],
    ),
    "a bound of the column": (
        SQUARE,
        [Known(["a", "b"], values={("x", "x"): [1, 5, 9]}), Known(["b"], upper={"x": 7})],
        [1, 5, 0, NONE, 0, 6, 0, NONE],
    ),
    "far beyond the bound": (
        PAIR,
        [Known(["b"], values={"x": [1, 5, 10**30]}, upper={"x": 7})],
        [1, 5, 0, NONE],
    ),
}


@pytest.mark.parametrize("case", SHARP)
def test_sharp_without_a_total(case):
    domain, statements, ends = SHARP[case]
    found = cb.bounds(Release(domain, statements), seconds=30)
    assert found.evidence is cb.Evidence.EXACT
    both = zip(found.lower.ravel().tolist(), found.upper.ravel().tolist(), strict=True)
    assert [end for pair in both for end in pair] == ends


def test_a_list_relaxes_to_what_its_bounds_leave_of_it():
    """Of 1, 6, 9 and 12 only 6 and 9 are possible: all between is, in real numbers."""
    said = [
        Conditional(["b"], given=["a"], rates=[["1/3", "2/3"], ["1/2", "1/2"]]),
        Known(["a"], values={"x": [1, 6, 9, 12]}, lower={"x": 2}, upper={"x": 10}),
    ]
    idle = Linear(["a"], {"x": 1, "y": 1}, lower=0)
    for statements in (said, [*said, idle]):
        found = cb.bounds(Release(SQUARE, statements), kind="linear")
        assert found["x", "x"] == (Fraction(2), Fraction(3))
        assert found["x", "y"] == (Fraction(4), Fraction(6))


def test_a_list_relaxes_to_what_the_total_leaves_of_it():
    said = [Known(["b"], values={"x": [0, 5, 20]}), Total(10)]
    found = cb.bounds(Release(PAIR, said), kind="linear")
    assert found["x", "x"] == (0, 5)


@pytest.mark.parametrize("total", [999_999_937, 10**9, 10**12, 10**30])
def test_proportions_of_everybody_with_many_decimals(total):
    counts = [total // 3, total // 7, total - total // 3 - total // 7]
    table = cb.Table(Domain({"y": ["p", "q", "r"]}), counts)
    found = cb.bounds(cb.publish(table, "[y|]@9"))
    assert found.evidence is cb.Evidence.EXACT
    unit = 2 * 10**9
    for place, count in enumerate(counts):
        # Rounded halves up: p - u/2 <= count / N < p + u/2.
        rate = (unit * count + total) // (2 * total)
        low, high = -(-(2 * rate - 1) * total // unit), -(-(2 * rate + 1) * total // unit) - 1
        assert low <= found.lower[place] <= count <= found.upper[place] <= high
    if total <= 10**9:
        assert found.lower.tolist() == found.upper.tolist() == counts
