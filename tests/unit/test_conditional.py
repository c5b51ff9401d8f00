"""Statements of conditional rates: what is read, what is refused, what the figures stand for."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import cellbounds as cb

ROWS = [["0.70", "0.30"], ["0.25", "0.75"]]


def conditional(rates=ROWS, **options):
    return cb.Conditional(["col"], given=["row"], rates=rates, **options)


def test_digits_are_inferred_from_text():
    assert conditional().digits == 2
    assert conditional([["0.7", "0.3"]]).digits == 1
    assert conditional([[Decimal("0.700"), Decimal("0.300")]]).digits == 3
    assert conditional([["1", "0"]]).digits == 0
    assert conditional().rounding == "nearest"


def test_mixed_decimals_are_refused_unless_explained():
    mixed = [["0.70", "0.3"]]
    with pytest.raises(cb.InvalidInput, match=r"different numbers of decimals.*digits= or eps="):
        conditional(mixed)
    assert conditional(mixed, digits=2).intervals.interval(0, 1) == (
        Fraction(295, 1000),
        Fraction(305, 1000),
        False,
        True,
    )
    assert conditional(mixed, eps="0.01").intervals.interval(0, 1) == (
        Fraction(29, 100),
        Fraction(31, 100),
        False,
        False,
    )


def test_a_bare_zero_among_three_digit_rates_is_not_half_a_unit_of_one():
    bare = [["0", "1.000"], ["0.125", "0.875"]]
    with pytest.raises(cb.InvalidInput, match="different numbers of decimals"):
        conditional(bare)
    low, high, _, _ = conditional(bare, digits=3).intervals.interval(0, 0)
    assert high == Fraction(1, 2000)
    assert low <= 0


def test_digits_may_exceed_but_not_undercut_what_is_written():
    wide = conditional(digits=4)
    assert wide.intervals.interval(0, 0)[0] == Fraction(7, 10) - Fraction(1, 20000)
    with pytest.raises(cb.InvalidInput, match="digits=1, but a rate has 2"):
        conditional(digits=1)
    for bad in (-1, 2.0, "2", True):
        with pytest.raises(cb.InvalidInput, match="digits="):
            conditional(digits=bad)


def test_fractions_are_exact():
    exact = conditional([["3/5", "2/5"], [Fraction(1, 5), Fraction(4, 5)]])
    assert exact.exact
    assert exact.digits is None
    assert exact.intervals.interval(0, 0) == (Fraction(3, 5), Fraction(3, 5), False, False)
    with pytest.raises(cb.InvalidInput, match="exact fractions"):
        conditional([["3/5", "2/5"]], rounding="nearest")


def test_decimals_with_eps_zero_are_exact():
    exact = conditional(eps=0)
    assert exact.exact
    assert exact.intervals.interval(1, 0) == (Fraction(1, 4), Fraction(1, 4), False, False)


@pytest.mark.parametrize(
    "rates", [[[0.7, 0.3]], [["0.7", 0.3]], np.array([[0.7, 0.3]]), [[np.float32(0.5), "0.5"]]]
)
def test_floats_are_refused_with_the_remedy(rates):
    with pytest.raises(cb.InvalidInput, match=r"\[col\|row\].*pass text such as .*Decimal"):
        conditional(rates)


@pytest.mark.parametrize(
    ("rates", "said"),
    [
        ([["1.01", "0.00"]], "above 1.*percent"),
        ([["101/100", "0"]], "above 1"),
        ([["-0.10", "1.00"]], "-0.10"),
        ([["70", "30"]], 'unit="percent"'),
        ([["0,7", "0,3"]], "not a comma"),
        ([["x", "0.3"]], "'x'"),
        ([["0.7", "0.3"], ["0.5"]], "shape|axes"),
        (["0.7", "0.3"], "needs? 2 axes"),
        ([[["0.7", "0.3"]]], "needs? 2 axes"),
        ([], "axes"),
        ([[]], "axes"),
        ("0.7", "axes"),
        (None, "axes"),
    ],
)
def test_rates_that_are_refused(rates, said):
    with pytest.raises(cb.InvalidInput, match=said):
        conditional(rates)


def test_the_place_of_a_rate_above_one_is_named():
    with pytest.raises(cb.InvalidInput, match=r"1\.75 in row 2, column 2"):
        conditional([["0.70", "0.30"], ["0.25", "1.75"]])


def test_percent_out_of_range():
    with pytest.raises(cb.InvalidInput, match="above 1"):
        conditional([["100.5", "0.0"]], unit="percent")
    assert conditional([["100.0", "0.0"]], unit="percent").rates.tolist() == [[1, 0]]


@pytest.mark.parametrize(
    ("options", "texts", "digits"),
    [
        ({"unit": "percent"}, ["37.5", "62.5"], 3),
        ({"unit": "per-mille"}, ["375", "625"], 3),
        ({}, ["37.5%", "62.5%"], 3),
    ],
)
def test_units(options, texts, digits):
    rates = conditional([texts], **options)
    assert rates.rates.tolist() == [[Fraction(3, 8), Fraction(5, 8)]]
    assert rates.digits == digits
    half = Fraction(1, 2 * 10**digits)
    assert rates.intervals.interval(0, 0)[:2] == (Fraction(3, 8) - half, Fraction(3, 8) + half)
    assert rates.notation == f"[col|row]@{digits}"


def test_unknown_unit():
    with pytest.raises(cb.InvalidInput, match="'ppm'"):
        conditional(unit="ppm")


def test_eps_is_in_the_unit_of_the_rates():
    for unit, eps in (("percent", "0.5"), ("per-mille", "5"), ("proportion", "0.005")):
        shift = {"percent": 100, "per-mille": 1000, "proportion": 1}[unit]
        figure = str(Decimal(3) / 8 * shift)
        rest = str(Decimal(5) / 8 * shift)
        rates = conditional([[figure, rest]], unit=unit, eps=eps)
        assert rates.intervals.interval(0, 0)[:2] == (Fraction(37, 100), Fraction(38, 100))


def test_eps_by_cell():
    rates = conditional(eps=[["0.01", "0.02"], ["0", "1/3"]])
    assert [rates.intervals.interval(i, j)[:2] for i in range(2) for j in range(2)] == [
        (Fraction(69, 100), Fraction(71, 100)),
        (Fraction(28, 100), Fraction(32, 100)),
        (Fraction(1, 4), Fraction(1, 4)),
        (Fraction(5, 12), Fraction(13, 12)),
    ]
    assert not rates.exact


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"eps": 0.05}, "float 0.05"),
        ({"eps": "-0.1"}, "negative"),
        ({"eps": [["0.1", "0.1"]]}, "shape"),
        ({"eps": "x"}, "'x'"),
        ({"eps": "0.1", "rounding": "nearest", "rule": "interval"}, "give one of them"),
        ({"eps": "0.001", "rounding": "consistent"}, "at least 1/"),
        ({"rule": "intervals"}, "rule='intervals'"),
        ({"strict": True}, "strict=True goes with eps"),
        ({"rounding": "bankers"}, "'bankers'"),
        ({"missing": "dropped"}, "'dropped'"),
    ],
)
def test_options_that_are_refused(options, said):
    with pytest.raises(cb.InvalidInput, match=said):
        conditional(**options)


MISSING = [["0.70", "0.30"], [None, ""]]


def test_a_missing_rate_must_be_explained():
    with pytest.raises(cb.InvalidInput, match=r"2 rates are missing.*\"zero\".*\"suppressed\""):
        conditional(MISSING)


def test_missing_rows_of_zeros():
    rates = conditional(MISSING, missing="zero")
    assert rates.intervals.zero.tolist() == [False, True]
    assert rates.digits == 2
    assert rates.rates[1].tolist() == [None, None]


def test_missing_rates_that_were_suppressed():
    rates = conditional([["0.70", "NA"], [None, None]], missing="suppressed")
    assert not rates.intervals.zero.any()
    assert rates.intervals.interval(0, 1) == (0, 1, False, False)
    assert rates.intervals.interval(1, 0) == (0, 1, False, False)


def test_a_row_partly_missing_is_no_row_of_zeros():
    with pytest.raises(cb.InvalidInput, match=r"row 1 has some rates.*suppressed"):
        conditional([["0.70", None]], missing="zero")


def test_missing_said_without_need_says_nothing():
    assert conditional(missing="zero").missing is None


def test_axes_are_givens_then_responses():
    domain = cb.Domain({"a": ["a0", "a1", "a2"], "b": ["b0", "b1"]})
    rates = cb.Conditional(["a"], given=["b"], rates=[["1/6", "2/6", "3/6"], ["1/3", "1/3", "1/3"]])
    release = cb.Release(domain, [rates, cb.Total(9)])
    table = cb.Table(domain, [[1, 1], [2, 1], [3, 1]])
    assert cb.violations(table, release) == []
    with pytest.raises(cb.InvalidInput, match=r"shape \(2, 3\).*need \(3, 2\)"):
        cb.Release(domain, [cb.Conditional(["b"], given=["a"], rates=rates.rates.tolist())])


def test_variables_are_checked_against_the_domain():
    domain = cb.Domain({"row": ["r", "s"], "col": ["x", "y"]})
    with pytest.raises(cb.InvalidInput, match="unknown variable 'age'"):
        cb.Release(domain, [cb.Conditional(["age"], given=["row"], rates=ROWS)])
    with pytest.raises(cb.InvalidInput, match="twice"):
        cb.Release(domain, [cb.Conditional(["row"], given=["row"], rates=ROWS)])


@pytest.mark.parametrize(
    ("responses", "given"), [("col", ["row"]), (["col"], "row"), ([], ["row"]), ([], [])]
)
def test_variables_are_lists_and_responses_are_needed(responses, given):
    with pytest.raises(cb.InvalidInput, match=r"list|at least one"):
        cb.Conditional(responses, given=given, rates=ROWS)


def test_joint_proportions_have_no_givens():
    rates = cb.Conditional(["row", "col"], rates=[["0.1", "0.2"], ["0.3", "0.4"]])
    assert rates.given == ()
    assert rates.shape == (2, 2)
    assert rates.intervals.low.shape == (1, 4)


def test_repr_and_rule():
    assert repr(conditional()) == "Conditional([col|row], 2 decimals, nearest)"
    assert conditional(eps="0.05").rule == "within eps <= 1/20"
    assert conditional(eps="0.05", strict=True).rule == "within eps < 1/20"
    assert conditional([["1/2", "1/2"]]).rule == "exact"


def test_figures_as_text_are_those_published():
    rates = conditional([["0.70", "0.30"], [None, "1.00"]], missing="suppressed")
    assert [rates.figure_at(place) for place in range(4)] == [
        "0.70",
        "0.30",
        "missing",
        "1.00",
    ]
    assert conditional([["2/4", "1/2"]]).figure_at(0) == "1/2"


def test_withheld_figures_say_nothing_more():
    hidden = conditional().withheld(np.array([[True, False], [False, False]]))
    assert hidden.intervals.interval(0, 0) == (0, 1, False, False)
    assert hidden.intervals.interval(0, 1) == conditional().intervals.interval(0, 1)
    assert conditional().intervals.interval(0, 0)[0] > 0


def test_many_decimals_do_not_overflow():
    text = "0." + "3" * 30
    rates = conditional([[text, "0." + "6" * 29 + "7"]])
    unit = Fraction(1, 10**30)
    assert rates.intervals.interval(0, 0)[0] == Fraction(int("3" * 30), 10**30) - unit / 2
    fine = conditional([["0.5", "0.5"]], eps=Fraction(1, 3**50))
    assert fine.intervals.interval(0, 0)[1] == Fraction(1, 2) + Fraction(1, 3**50)


@pytest.mark.parametrize(
    "first", [["0.333333333", "0.666666667"], ["1/3", "2/3"], ["0.30", "0.70"]]
)
def test_lowest_terms_do_not_matter(first):
    rates = conditional([first, ["1/7", "6/7"]], eps="1/1000")
    assert rates.intervals.interval(1, 0)[0] == Fraction(1, 7) - Fraction(1, 1000)
