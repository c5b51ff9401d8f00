"""Statements as rows of integer coefficients: the cases that random releases seldom hold."""

from __future__ import annotations

import numpy as np
import pytest

import cellbounds as cb
from cellbounds.constraints import violations

COUNTIES = cb.Domain(
    {"county": ["A", "B", "C"], "sex": ["m", "f"]},
    groupings={"region": cb.Grouping("county", {"North": ["A", "C"], "South": ["B"]})},
)
TWICE = cb.Domain(
    {"x": ["a", "b"]}, groupings={"all": cb.Grouping("x", {"p": ["a", "b"], "q": ["a", "b"]})}
)


def ones(domain):
    return cb.Table(domain, np.ones(domain.shape, dtype=int))


def test_nobody_lives_in_a_county_outside_its_region():
    possible = cb.Release(COUNTIES, [cb.Margin(["county", "region"], [[2, 0], [0, 2], [2, 0]])])
    assert violations(possible, ones(COUNTIES)) == []
    assert cb.bounds(possible)["A", "m"] == (0, 2)
    for place in [(0, 1), (1, 0), (2, 1)]:
        figures = [[2, 0], [0, 2], [2, 0]]
        figures[place[0]][place[1]] = 1
        release = cb.Release(COUNTIES, [cb.Total(6), cb.Margin(["county", "region"], figures)])
        assert violations(release, ones(COUNTIES)) == ["[county,region]"]
        with pytest.raises(cb.InconsistentRelease):
            cb.bounds(release)


@pytest.mark.parametrize(
    ("limits", "possible"),
    [
        ({"equals": 0}, True),
        ({"lower": 0}, True),
        ({"upper": 0}, True),
        ({"lower": -1, "upper": 1}, True),
        ({"lower": 1}, False),
        ({"upper": -1}, False),
        ({"equals": -1}, False),
    ],
)
def test_coefficients_that_cancel_leave_zero(limits, possible):
    release = cb.Release(TWICE, [cb.Total(2), cb.Linear(["all"], [1, -1], **limits)])
    assert (violations(release, ones(TWICE)) == []) is possible
    if possible:
        assert cb.bounds(release)["a"] == (0, 2)
    else:
        with pytest.raises(cb.InconsistentRelease):
            cb.bounds(release)
