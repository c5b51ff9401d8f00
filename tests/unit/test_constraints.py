"""Statements as rows of integer coefficients: the cases that random releases seldom hold."""

from __future__ import annotations

import numpy as np
import pytest

import cellbounds as cb
from cellbounds.data.cell_groups import cells_behind
from cellbounds.model.constraints import compile_release, violations
from cellbounds.statements.inequalities import NO_LOWER

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
    assert violations(ones(COUNTIES), possible) == []
    assert cb.bounds(possible)["A", "m"] == (0, 2)
    for place in [(0, 1), (1, 0), (2, 1)]:
        figures = [[2, 0], [0, 2], [2, 0]]
        figures[place[0]][place[1]] = 1
        release = cb.Release(COUNTIES, [cb.Total(6), cb.Margin(["county", "region"], figures)])
        assert violations(ones(COUNTIES), release) == ["[county,region]"]
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
    assert (violations(ones(TWICE), release) == []) is possible
    if possible:
        assert cb.bounds(release)["a"] == (0, 2)
    else:
        with pytest.raises(cb.InconsistentRelease):
            cb.bounds(release)


def test_what_says_nothing_is_left_out():
    domain = cb.Domain({"x": ["a", "b", "c"]})
    release = cb.Release(domain, [cb.Margin(["x"], [2, None, 0])])
    system = compile_release(release)
    assert system.figure.tolist() == [0, 2]
    assert (system.lower.tolist(), system.upper.tolist()) == ([2, NO_LOWER], [2, 0])


def test_the_figure_that_cannot_be_is_named():
    figures = [[2, 0], [1, 2], [2, 0]]
    release = cb.Release(COUNTIES, [cb.Margin(["county", "region"], figures)])
    system = compile_release(release)
    impossible = system.lower > system.upper
    assert system.figure[impossible].tolist() == [2]


def test_an_exact_rate_without_its_ends_is_impossible():
    domain = cb.Domain({"x": ["a", "b"], "one": ["whole"]})
    release = cb.Release(
        domain, [cb.Conditional(["one"], ["x"], rates=[["1"], ["1"]], eps="0", strict=True)]
    )
    system = compile_release(release)
    assert system.figure[system.lower > system.upper].tolist() == [0, 1]
    assert violations(ones(domain), release) == ["[one|x]@0"]


@pytest.mark.parametrize("digits", [5, 9, 10, 15, 18, 19, 20, 30])
def test_rates_of_many_digits_are_compiled_exactly(digits):
    domain = cb.Domain({"x": ["a", "b"]})
    text = "0." + "3" * digits, "0." + "6" * (digits - 1) + "7"
    release = cb.Release(domain, [cb.Conditional(["x"], rates=list(text), rounding="nearest")])
    assert violations(cb.Table(domain, [1, 2]), release) == []
    assert violations(cb.Table(domain, [1000, 2000]), release) == []
    near = [10**4 + 1, 2 * 10**4]
    assert violations(cb.Table(domain, near), release) == [release.statements[0].notation]


def test_limits_of_sums_that_count_people_twice_are_rounded_inwards():
    # Whoever is counted in both groups counts twice: 2 (a + b) is even.
    release = cb.Release(TWICE, [cb.Linear(["all"], [1, 1], lower=3, upper=7)])
    system = compile_release(release)
    assert (system.lower.tolist(), system.upper.tolist()) == ([2], [3])
    assert system.coefficients.tolist() == [1, 1]
    assert system.figure.tolist() == [0]
    for counts, broken in [([0, 1], True), ([1, 1], False), ([3, 0], False), ([2, 2], True)]:
        assert (violations(cb.Table(TWICE, counts), release) != []) is broken
    closed = compile_release(release, closed=True)
    assert (closed.lower.tolist(), closed.upper.tolist()) == ([3], [7])
    assert closed.coefficients.tolist() == [2, 2]


def test_a_list_of_values_limits_its_sum_too():
    domain = cb.Domain({"x": ["a", "b"]})
    known = cb.Known(["x"], values={"a": [2, 5, 7]})
    system = compile_release(cb.Release(domain, [known]))
    assert (system.lower.tolist(), system.upper.tolist()) == ([2], [7])
    assert [(one.values, one.figure) for one in system.lists] == [({2, 5, 7}, 0)]
    assert [system.lists[0].holds(np.array([k, 3])) for k in (2, 3, 7)] == [True, False, True]


def test_large_counts_times_large_coefficients_do_not_wrap():
    domain = cb.Domain({"x": ["a", "b"]})
    table = cb.Table(domain, np.array([2**34, 1]))
    release = cb.Release(domain, [cb.Linear(["x"], [2**30, 1], upper=2**40)])
    assert violations(table, release) == ["linear on [x]"]
    assert compile_release(release).sums(table.counts).tolist() == [2**64 + 1]


def test_open_and_closed_ends_of_rates():
    domain = cb.Domain({"x": ["a", "b"]})
    rates = cb.Conditional(["x"], rates=["0.5", "0.5"], eps="0.25", strict=True)
    release = cb.Release(domain, [rates])
    at_the_end, inside = [[1, 3], [3, 1], [2, 6]], [[1, 1], [1, 2], [3, 2]]
    opened, closed = compile_release(release), compile_release(release, closed=True)
    for counts in (*at_the_end, *inside, [1, 4]):
        sums = closed.sums(np.array(counts))
        fits = bool(((sums >= closed.lower) & (sums <= closed.upper)).all())
        assert fits is (counts != [1, 4])
        broken = violations(cb.Table(domain, counts), release, opened) != []
        assert broken is (counts not in inside)
    assert opened.about_sum.tolist() == [True, False, False, False, False]


def test_coefficients_are_python_integers_where_they_are_large():
    domain = cb.Domain({"x": ["a", "b"]})
    for largest, kind in [(2**30, np.int64), (2**31 - 1, np.int64), (2**31, object)]:
        release = cb.Release(domain, [cb.Linear(["x"], [largest, 1], lower=1)])
        assert compile_release(release).coefficients.dtype == kind, largest
    for digits, kind in [(2, np.int64), (8, np.int64), (10, object), (12, object)]:
        text = ["0." + "3" * digits, "0." + "6" * (digits - 1) + "7"]
        release = cb.Release(domain, [cb.Conditional(["x"], rates=text, rounding="nearest")])
        assert compile_release(release).coefficients.dtype == kind, digits


def test_groups_that_overlap_and_leave_levels_out():
    groups = cb.Grouping("x", {"p": ["a", "b"], "q": ["b"]})  # as many members as levels
    domain = cb.Domain({"x": ["a", "b", "c"]}, groupings={"some": groups})
    behind = cells_behind(domain, ("some",))
    assert behind.starts.tolist() == [0, 2, 3]
    assert behind.cells.tolist() == [0, 1, 1]
    assert behind.sums(np.array([5, 7, 100])).tolist() == [12, 7]
    release = cb.Release(domain, [cb.Margin(["some"], [12, 7])])
    assert violations(cb.Table(domain, [5, 7, 100]), release) == []
    assert violations(cb.Table(domain, [5, 6, 1]), release) == ["[some]"]


def test_sums_over_groups_of_different_sizes():
    groups = cb.Grouping("x", {"p": ["a"], "q": ["b", "c"], "r": ["d"]})
    domain = cb.Domain({"x": list("abcd")}, groupings={"some": groups})
    behind = cells_behind(domain, ("some",))
    assert behind.sums(np.array([1, 2, 3, 4])).tolist() == [1, 5, 4]
    assert behind.size == 3


def test_a_sum_that_cancels_is_named():
    release = cb.Release(TWICE, [cb.Total(2), cb.Linear(["all"], [1, -1], equals=1)])
    system = compile_release(release)
    impossible = system.lower > system.upper
    assert system.figure[impossible].tolist() == [0]
    assert system.statement[impossible].tolist() == [1]
