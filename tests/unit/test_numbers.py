"""Figures as exact numbers."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import cellbounds as cb
from cellbounds.runtime.arrays import whole_array
from cellbounds.statements.numbers import exact_number, read_figures, whole_number
from cellbounds.text import aligned, label_keys


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("0.21", Fraction(21, 100)),
        ("0.1", Fraction(1, 10)),
        (" 3/8 ", Fraction(3, 8)),
        ("3 / 8", Fraction(3, 8)),
        (".5", Fraction(1, 2)),
        ("5.", Fraction(5)),
        ("+0.5", Fraction(1, 2)),
        ("-0.25", Fraction(-1, 4)),
        ("-1/4", Fraction(-1, 4)),
        ("007", Fraction(7)),
        (3, Fraction(3)),
        (np.int32(3), Fraction(3)),
        (Decimal("0.30"), Fraction(3, 10)),
        (Fraction(2, 6), Fraction(1, 3)),
    ],
)
def test_exact_numbers(given, meant):
    assert exact_number(given, "x") == meant


@pytest.mark.parametrize("given", [0.1, 1.0, np.float64(0.1), np.float32(0.5), True])
def test_floats_and_truth_values_are_refused_with_a_remedy(given):
    with pytest.raises(cb.InvalidInput, match=r"pass text such as|Decimal or a Fraction"):
        exact_number(given, "eps")


@pytest.mark.parametrize(
    "given",
    ["", ".", "x", "1e-3", "1/0", "0.5.1", "1/2/3", "--1", "inf", "nan", None, [], "١", "1_000"],
)
def test_what_is_no_number(given):
    with pytest.raises(cb.InvalidInput, match="eps is"):
        exact_number(given, "eps")


@pytest.mark.parametrize("given", [Decimal("NaN"), Decimal("Infinity")])
def test_decimals_without_a_value(given):
    with pytest.raises(cb.InvalidInput):
        exact_number(given, "eps")


def test_a_decimal_comma_is_pointed_out():
    with pytest.raises(cb.InvalidInput, match="decimal point, not a comma"):
        exact_number("0,21", "the rate")


@pytest.mark.parametrize(("given", "meant"), [(0, 0), ("12", 12), (np.uint8(7), 7), (2**80, 2**80)])
def test_whole_numbers(given, meant):
    assert whole_number(given, "n") == meant
    assert type(whole_number(given, "n")) is int


@pytest.mark.parametrize("given", [-1, 1.0, "1.0", "-1", "", None, True, Fraction(2), "x"])
def test_what_is_no_whole_number(given):
    with pytest.raises(cb.InvalidInput, match="whole number, 0 or more"):
        whole_number(given, "n")


def fractions_of(figures):
    return [
        [Fraction(int(top), int(bottom)) for top in row]
        for row, bottom in zip(figures.numerators, figures.denominators, strict=True)
    ]


def test_decimals_of_text_are_counted():
    figures = read_figures([["0.50", "0.50"]], 1, "proportion", "x")
    assert (figures.decimals, figures.most_decimals) == (2, 2)
    assert fractions_of(figures) == [[Fraction(1, 2), Fraction(1, 2)]]


def test_mixed_decimals_are_marked():
    figures = read_figures([["0.5", "0.25"], ["0", "1.000"]], 2, "proportion", "x")
    assert (figures.decimals, figures.most_decimals) == (-1, 3)
    assert fractions_of(figures) == [[Fraction(1, 2), Fraction(1, 4)], [0, 1]]


def test_fractions_are_not_decimals():
    figures = read_figures([["1/3", Fraction(2, 3)], [0, 1]], 2, "proportion", "x")
    assert figures.decimals is None
    assert fractions_of(figures) == [[Fraction(1, 3), Fraction(2, 3)], [0, 1]]


def test_a_fraction_among_decimals_is_mixed():
    figures = read_figures([["1/3", "0.67"]], 1, "proportion", "x")
    assert figures.decimals == -1
    assert fractions_of(figures) == [[Fraction(1, 3), Fraction(67, 100)]]


@pytest.mark.parametrize(
    ("unit", "texts", "decimals"),
    [
        ("percent", ["37.5", "62.5"], 3),
        ("per-mille", ["375", "625"], 3),
        ("proportion", ["37.5%", "62.5 %"], 3),
        ("percent", ["37.5%", "62.5%"], 3),
        ("proportion", ["0.375", ".625"], 3),
    ],
)
def test_units_shift_the_point(unit, texts, decimals):
    figures = read_figures([texts], 1, unit, "x")
    assert figures.decimals == decimals
    assert fractions_of(figures) == [[Fraction(3, 8), Fraction(5, 8)]]


def test_units_hold_for_decimals_and_fractions_too():
    figures = read_figures([[Decimal("37.50"), Decimal("62.50")]], 1, "percent", "x")
    assert figures.decimals == 4
    assert fractions_of(figures) == [[Fraction(3, 8), Fraction(5, 8)]]
    exact = read_figures([["75/2", Fraction(125, 2)]], 1, "percent", "x")
    assert fractions_of(exact) == [[Fraction(3, 8), Fraction(5, 8)]]


def test_decimals_with_an_exponent():
    figures = read_figures(
        [[Decimal("1E-2"), Decimal("9.9E-1"), Decimal("0E+1")]], 1, "percent", "x"
    )
    assert fractions_of(figures) == [[Fraction(1, 10**4), Fraction(99, 10**4), 0]]


@pytest.mark.parametrize("mark", [None, "", " ", "NA", " NA "])
def test_missing_marks(mark):
    figures = read_figures([["0.5", mark]], 1, "proportion", "x")
    assert figures.missing.tolist() == [[False, True]]
    assert figures.decimals == 1


@pytest.mark.parametrize("bad", ["-0.1", Decimal("-0.1"), Fraction(-1, 10), -1])
def test_negative_rates(bad):
    with pytest.raises(cb.InvalidInput, match=r"below 0|is .*-0\.1"):
        read_figures([["0.5", bad]], 1, "proportion", "[a|b]")


def test_unknown_unit_and_percent_sign_in_another_unit():
    with pytest.raises(cb.InvalidInput, match=r"'furlong'.*percent, per-mille"):
        read_figures([["0.5"]], 1, "furlong", "[a|b]")
    with pytest.raises(cb.InvalidInput, match="percent sign"):
        read_figures([["5%"]], 1, "per-mille", "[a|b]")


def test_many_decimals_stay_exact():
    text = "0." + "3" * 40
    figures = read_figures([[text, "0." + "6" * 39 + "7"]], 1, "proportion", "x")
    assert fractions_of(figures)[0][0] == Fraction(int("3" * 40), 10**40)
    assert sum(fractions_of(figures)[0]) == 1


@pytest.mark.parametrize(
    ("values", "wide"),
    [([1, 2], False), ([2**62, 1], True), ([2**63, 1], True), ([-(2**62), 1], True), ([], False)],
)
def test_arrays_widen_before_they_overflow(values, wide):
    packed = whole_array(values, (len(values),))
    assert (packed.dtype == object) is wide
    assert packed.tolist() == values


def test_columns_named_like_fixed_ones_get_an_underscore():
    assert label_keys(["lower", "x", "lower_"], {"lower"}) == {
        "lower": "lower__",
        "x": "x",
        "lower_": "lower_",
    }


def test_aligned_columns():
    text = aligned(["a", "n"], [["x", "5"], ["long", "12"]], {"n"})
    assert text == "a      n\nx      5\nlong  12"
