"""Rounding rules: what the owner publishes, and what a figure then stands for."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import cellbounds as cb
from cellbounds.statements.rounding import ROUNDINGS, ends_of, round_rows

# Worked out by hand, in units of the last decimal.
BY_HAND = [
    # 5/8 = .625 and 3/8 = .375: halves at two decimals
    ([5, 3], 2, "nearest", [63, 38]),
    ([5, 3], 2, "half-even", [62, 38]),
    ([5, 3], 2, "down", [62, 37]),
    ([5, 3], 2, "up", [63, 38]),
    ([5, 3], 2, "consistent", [63, 37]),
    # 1/3, 2/3
    ([1, 2], 2, "nearest", [33, 67]),
    ([1, 2], 2, "half-even", [33, 67]),
    ([1, 2], 2, "down", [33, 66]),
    ([1, 2], 2, "up", [34, 67]),
    ([1, 2], 2, "consistent", [33, 67]),
    # sevenths: 14.28.. each, two units are left for the largest remainders, the first ones
    ([1] * 7, 2, "nearest", [14] * 7),
    ([1] * 7, 2, "consistent", [15, 15, 14, 14, 14, 14, 14]),
    # no decimals: halves go to 1, to the even 0, down, up
    ([1, 1], 0, "nearest", [1, 1]),
    ([1, 1], 0, "half-even", [0, 0]),
    ([1, 1], 0, "down", [0, 0]),
    ([1, 1], 0, "up", [1, 1]),
    ([1, 1], 0, "consistent", [1, 0]),
    # zeros and ones are exact under every rule
    ([0, 4], 3, "nearest", [0, 1000]),
    ([0, 4], 3, "up", [0, 1000]),
    ([0, 4], 3, "down", [0, 1000]),
    ([0, 4], 3, "consistent", [0, 1000]),
    # document 004, county Beta
    ([20, 10, 10, 15], 2, "nearest", [36, 18, 18, 27]),
    ([20, 10, 10, 15], 2, "consistent", [37, 18, 18, 27]),
    # 1/200 = .005: half a unit at two decimals
    ([1, 199], 2, "nearest", [1, 100]),
    ([1, 199], 2, "half-even", [0, 100]),
]


@pytest.mark.parametrize(("counts", "digits", "rule", "units"), BY_HAND)
def test_rates_by_hand(counts, digits, rule, units):
    assert round_rows(np.array([counts]), digits, rule).tolist() == [units]


@pytest.mark.parametrize(("counts", "digits", "rule", "units"), BY_HAND)
def test_published_rates_by_hand(counts, digits, rule, units):
    domain = cb.Domain({"row": ["r"], "col": range(len(counts))})
    release = cb.publish(cb.Table(domain, [counts]), f"[col|row]@{digits}", rounding=rule)
    rates = release.statements[0].rates
    assert rates[0].tolist() == [Fraction(unit, 10**digits) for unit in units]
    assert release.statements[0].rounding == rule
    assert release.statements[0].digits == digits


def test_huge_counts_round_exactly():
    third = 10**30
    assert round_rows(np.array([[third, 2 * third]], dtype=object), 3, "nearest").tolist() == [
        [333, 667]
    ]
    # One more or less than a half decides.
    half = 5 * 10**30
    rows = np.array([[half - 1, half + 1], [half, half]], dtype=object)
    assert round_rows(rows, 0, "nearest").tolist() == [[0, 1], [1, 1]]


def test_consistent_rates_add_to_one():
    rng = np.random.default_rng(4)
    counts = rng.integers(0, 30, size=(200, 6)) + np.array([1, 0, 0, 0, 0, 0])
    for digits in (0, 1, 2, 3):
        rounded = round_rows(counts, digits, "consistent")
        assert (rounded.sum(axis=1) == 10**digits).all()


def test_unknown_rule():
    with pytest.raises(cb.InvalidInput, match=r"'bankers'.*half-even"):
        ends_of("bankers")
    with pytest.raises(cb.InvalidInput, match="rounding"):
        cb.publish(cb.datasets.read("mp3"), "[mp3|gender]@2", rounding="bankers")


HALF = Fraction(1, 200)
UNIT = Fraction(1, 100)
INTERVALS = {
    "nearest": (-HALF, HALF, False, True),
    "half-even": (-HALF, HALF, False, False),
    "down": (0, UNIT, False, True),
    "up": (-UNIT, 0, True, False),
    "consistent": (-UNIT, UNIT, False, False),
}


def test_every_rule_is_covered():
    assert set(INTERVALS) == set(ROUNDINGS)


@pytest.mark.parametrize("rule", INTERVALS)
def test_what_a_figure_stands_for(rule):
    below, above, low_open, high_open = INTERVALS[rule]
    rates = cb.Conditional(["c"], ["r"], rates=[["0.37", "0.63"]], rounding=rule, rule="interval")
    figure = Fraction(37, 100)
    expected = (figure + below, figure + above, low_open, high_open)
    assert rates.intervals.interval(0, 0) == expected
    by_rule = cb.Conditional(["c"], ["r"], rates=[["0.37", "0.63"]], rounding=rule)
    # Both figures are odd; and rows that add to one are read together.
    if rule == "half-even":
        expected = (figure + below, figure + above, True, True)
    if rule != "consistent":
        assert by_rule.intervals.interval(0, 0) == expected
    assert (by_rule.intervals.remainders is not None) is (rule == "consistent")


@pytest.mark.parametrize("strict", [False, True])
def test_eps_is_closed_unless_strict(strict):
    rates = cb.Conditional(["c"], ["r"], rates=[["0.37", "0.63"]], eps="0.02", strict=strict)
    expected = (Fraction(35, 100), Fraction(39, 100), strict, strict)
    assert rates.intervals.interval(0, 0) == expected


# One row (true rate 1/2 exactly, n = 2): ends decide whether a boundary table counts.
@pytest.mark.parametrize(
    ("rule", "figure", "consistent"),
    [
        ("nearest", "0.45", False),  # [.445, .455)
        ("nearest", "0.5", True),
        ("half-even", "0.5", True),
        ("down", "0.5", True),
        ("down", "0.4", False),  # [.4, .5): open above
        ("up", "0.5", True),
        ("up", "0.6", False),  # (.5, .6]: open below
        ("consistent", "0.5", True),
        ("consistent", "0.4", False),  # a rate that is a whole number of units prints itself
        ("consistent", "0.6", False),
    ],
)
def test_ends_decide_boundary_tables(rule, figure, consistent):
    domain = cb.Domain({"c": ["x", "y"]})
    other = {"0.45": "0.55", "0.4": "0.6", "0.6": "0.4", "0.5": "0.5"}[figure]
    rates = cb.Conditional(["c"], rates=[figure, other], rounding=rule)
    release = cb.Release(domain, [rates, cb.Total(2)])
    table = cb.Table(domain, [1, 1])
    assert (cb.violations(table, release) == []) is consistent


@pytest.mark.parametrize(
    ("figures", "consistent"),
    [(("0.5", "0.6"), True), (("0.4", "0.6"), False), (("0.5", "0.5"), False)],
)
def test_nearest_rounds_halves_up(figures, consistent):
    # 9/20 = .45 is published as .5, not .4; 11/20 = .55 as .6, not .5.
    domain = cb.Domain({"c": ["x", "y"]})
    release = cb.Release(domain, [cb.Conditional(["c"], rates=list(figures)), cb.Total(20)])
    assert (cb.violations(cb.Table(domain, [9, 11]), release) == []) is consistent
