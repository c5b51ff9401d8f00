"""Priors over tables: their weights, and numbers of any magnitude."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cellbounds as cb
from cellbounds.model.priors import Weights, belief_of
from cellbounds.runtime.scaled_floats import normalised, rounded

TWO = cb.Domain({"sex": ["f", "m"]})

numbers = st.fractions(Fraction(1, 50), 300, max_denominator=50)


def value(wide, place) -> Fraction:
    mantissa = Fraction(float(wide.mantissa[place]))
    return mantissa * Fraction(2) ** int(wide.exponent[place]) if mantissa else mantissa


@given(shape=st.none() | numbers, factor=numbers, most=st.integers(0, 60))
def test_weights_of_a_cell_are_the_formula_to_one_rounding(shape, factor, most):
    weights = Weights(((shape, factor),))
    made = weights.sequence(0, most)
    expected = Fraction(1)
    for count in range(most + 1):
        assert weights.exact(0, count) == expected
        assert abs(value(made, count) - expected) <= expected * Fraction(1, 2**52)
        rising = 1 if shape is None else shape + count
        expected = expected * factor * rising / (count + 1)


def test_weights_far_beyond_doubles_keep_their_precision():
    made = Weights(((Fraction(193), Fraction(1, 5)),)).sequence(0, 5000)
    exact = Fraction(math.comb(5000 + 192, 5000), 5**5000)
    assert abs(value(made, 5000) - exact) <= exact * Fraction(1, 2**52)


def test_a_probability_of_zero_allows_only_zero():
    made = cb.priors.Multinomial([0, 1]).weights(TWO).sequence(0, 3)
    assert [value(made, count) for count in range(4)] == [1, 0, 0, 0]


@given(shapes=st.lists(numbers, min_size=2, max_size=4), factor=numbers, most=st.integers(0, 12))
def test_merged_cells_weigh_as_much_as_all_their_splits(shapes, factor, most):
    weights = Weights(tuple((shape, factor) for shape in shapes))
    kind = weights.merged(range(len(shapes)))
    assert kind is not None
    whole = Weights((kind,))
    sums = {0: Fraction(1)}
    for cell in range(len(shapes)):
        new: dict[int, Fraction] = {}
        for before, weight in sums.items():
            for count in range(most - before + 1):
                new[before + count] = new.get(before + count, Fraction(0)) + weight * weights.exact(
                    cell, count
                )
        sums = new
    assert all(whole.exact(0, count) == sums[count] for count in range(most + 1))


def test_merged_poisson_cells_add_their_means_and_mixed_ones_have_no_kind():
    poisson = cb.priors.Poisson(["1/2", "3/2"]).weights(TWO)
    assert poisson.merged([0, 1]) == (None, 2)
    assert cb.priors.GammaPoisson(2, [1, 2]).weights(TWO).merged([0, 1]) is None


@given(shape=st.none() | numbers, factor=numbers, count=st.integers(0, 40))
def test_the_logarithm_of_one_weight(shape, factor, count):
    weights = Weights(((shape, factor),))
    assert weights.log_weight(0, count) == pytest.approx(
        math.log(weights.exact(0, count)), abs=1e-12, rel=1e-13
    )


def test_the_logarithm_of_the_weight_of_a_huge_count():
    weights = Weights(((None, Fraction(1, 2)), (None, Fraction(0)), (Fraction(3), Fraction(1))))
    count = 10**12
    assert weights.log_weight(0, count) == pytest.approx(
        count * math.log(0.5) - math.lgamma(count + 1), rel=1e-13
    )
    assert (weights.log_weight(1, count), weights.log_weight(1, 0)) == (-math.inf, 0.0)
    assert weights.log_weight(2, count) == pytest.approx(math.log(math.comb(count + 2, 2)))


def test_logarithms_of_weights_of_whole_tables():
    weights = cb.priors.GammaPoisson([2, "1/2"], [1, "1/4"]).weights(TWO)
    tables = np.array([[0, 0], [3, 4], [10, 1]])
    exact = [float(weights.exact(0, int(a)) * weights.exact(1, int(b))) for a, b in tables]
    assert np.allclose(np.exp(weights.logs(tables)), exact, rtol=1e-12)


@pytest.mark.parametrize("name", ["uniform", "multinomial", "hypergeometric"])
def test_priors_by_name(name):
    assert belief_of(name).weights(TWO).kinds[0][1] == 1


@pytest.mark.parametrize("prior", ["jeffreys", "", None, 3, cb.priors.Poisson])
def test_an_unknown_prior_is_refused_by_name(prior):
    with pytest.raises(cb.InvalidInput, match="not known; give one of 'uniform'"):
        belief_of(prior)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: cb.priors.GammaPoisson(0, 1), "shape contain 0; give numbers above 0"),
        (lambda: cb.priors.GammaPoisson(1, "-1/2"), "scale contain -1/2; give numbers above 0"),
        (lambda: cb.priors.GammaPoisson(1.5, 1), "float is not the figure"),
        (lambda: cb.priors.Poisson([1, 2, 3]), r"shape \(3,\); give one number, or an array"),
        (lambda: cb.priors.Poisson(-1), "means contain -1; give numbers at least 0"),
        (lambda: cb.priors.Multinomial([0, 0]), "are all 0"),
    ],
)
def test_impossible_parameters_are_refused(make, said):
    with pytest.raises(cb.InvalidInput, match=said):
        make().weights(TWO)


whole = st.integers(0, 2**2000)


@given(st.lists(whole, min_size=1, max_size=6))
def test_wide_numbers_hold_any_magnitude(given_numbers):
    made = rounded(given_numbers)
    for place, number in enumerate(given_numbers):
        assert abs(value(made, place) - number) <= number * Fraction(1, 2**52)
    exact = sum(given_numbers)
    if exact:
        shares = made.shares()
        best = int(np.argmax(shares))
        assert made.log_at(best) - math.log(shares[best]) == pytest.approx(math.log(exact))
        for share, number in zip(shares, given_numbers, strict=True):
            assert share == pytest.approx(float(Fraction(number, exact)), rel=1e-12, abs=1e-290)


def test_widened_brings_mantissas_into_range():
    made = normalised([0.0, 3.0, 2.0**-1074], 10)
    assert made.mantissa.tolist() == [0.0, 0.75, 0.5]
    assert made.exponent[1:].tolist() == [12, -1063]
    assert normalised([0.0], 5).log_at(0) == -math.inf
