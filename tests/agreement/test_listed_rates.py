"""Rates beside lists of values, and parts of their cells, against every table."""

from __future__ import annotations

import itertools

import pytest

import cellbounds as cb
from bruteforce import consistent_tables

ROWS = cb.Domain({"row": ["a", "b"], "col": ["x", "y", "z"]})


def attained(release, most):
    """Attainable counts of every cell by listing tables of up to `most` people."""
    tables = list(consistent_tables(release, most))
    return [{int(one.flat[k]) for one in tables} for k in range(release.domain.size)]


@pytest.mark.parametrize(
    "values",
    [
        {("a", "x"): [0, 3], ("a", "y"): [1, 4]},
        {("a", "x"): [2, 5], ("a", "y"): [2, 5], ("a", "z"): [0, 1, 7]},
        {("a", "x"): [1, 2, 4], ("b", "z"): [0, 2]},
        {("b", "x"): [0, 2], ("b", "y"): [0, 2], ("b", "z"): [1]},
    ],
)
@pytest.mark.parametrize("total", [7, 8, 9])
def test_lists_that_do_not_add_up_to_every_sum(values, total):
    wide = cb.Conditional(
        ["col"], ["row"], rates=[["0.3", "0.3", "0.4"], ["0.3", "0.4", "0.3"]], eps="0.4"
    )
    release = cb.Release(ROWS, [wide, cb.Total(total), cb.Known(["row", "col"], values=values)])
    expected = attained(release, total)
    if not expected[0]:
        with pytest.raises(cb.InconsistentRelease):
            cb.attainable(release)
        return
    found = cb.attainable(release)
    for labels, counts in zip(ROWS.cells(), expected, strict=True):
        assert found[labels] == counts
        for value in counts:
            table = found.witness(*labels, value=value)
            assert table[labels] == value


@pytest.mark.parametrize("listed", [[0, 3], [1, 4, 6], [2]])
@pytest.mark.parametrize("upper", [0, 1, 2])
def test_a_list_for_one_part_of_a_cell_and_limits_for_the_other(listed, upper):
    domain = cb.Domain({"sex": ["m", "f"], "col": ["x", "y"]})
    rates = cb.Conditional(["col"], rates=["0.5", "0.5"], eps="0.3")
    known = cb.Known(
        ["sex", "col"],
        upper={("f", "x"): upper, ("m", "y"): 9, ("f", "y"): 9},
        values={("m", "x"): listed},
    )
    release = cb.Release(domain, [rates, cb.Total(8), known])
    found = cb.attainable(release)
    for labels, counts in zip(domain.cells(), attained(release, 8), strict=True):
        assert found[labels] == counts, labels
    sums = {a + b for a, b in itertools.product(listed, range(upper + 1)) if 2 <= a + b <= 6}
    assert cb.attainable(release, over=["col"])["x"] == sums


@pytest.mark.parametrize(
    "limits",
    [
        {"lower": {("m", "x"): 1}, "upper": {("f", "x"): 2, ("m", "x"): 3}},
        {"upper": {("f", "x"): 2}},
        {"upper": {("f", "x"): 0, ("m", "y"): 1}},
        {"lower": {("f", "x"): 1, ("m", "y"): 2}},
        {"upper": {("f", "x"): 2, ("m", "x"): 1, ("f", "y"): 2, ("m", "y"): 3}},
    ],
)
@pytest.mark.parametrize("total", [7, 8])
def test_limits_of_parts_of_cells(limits, total):
    domain = cb.Domain({"sex": ["m", "f"], "col": ["x", "y"]})
    exact = cb.Conditional(["col"], rates=["0.4", "0.6"], eps="0.2")
    release = cb.Release(domain, [exact, cb.Total(total), cb.Known(["sex", "col"], **limits)])
    expected = attained(release, total)
    found, ends = cb.attainable(release), cb.bounds(release)
    for labels, counts in zip(domain.cells(), expected, strict=True):
        assert found[labels] == counts, labels
        assert ends[labels] == (min(counts), max(counts))


@pytest.mark.parametrize("lower", [0, 1, 2])
def test_a_list_for_one_part_and_a_range_for_the_other(lower):
    domain = cb.Domain({"sex": ["m", "f"], "col": ["x", "y"]})
    rates = cb.Conditional(["col"], rates=["0.5", "0.5"], eps="0.3")
    known = cb.Known(
        ["sex", "col"],
        lower={("f", "x"): lower},
        upper={("f", "x"): lower + 1, ("m", "y"): 9, ("f", "y"): 9},
        values={("m", "x"): [0, 3]},
    )
    release = cb.Release(domain, [rates, cb.Total(8), known])
    found = cb.attainable(release)
    for labels, counts in zip(domain.cells(), attained(release, 8), strict=True):
        assert found[labels] == counts, labels
    sums = {a + b for a in (0, 3) for b in (lower, lower + 1) if 2 <= a + b <= 6}
    assert cb.attainable(release, over=["col"])["x"] == sums
