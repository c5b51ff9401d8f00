"""The distribution of a count, and of the Poisson mean behind it."""

from __future__ import annotations

import numpy as np
import pytest

import cellbounds as cb

DICE = cb.results.Distribution(np.arange(1, 7), np.full(6, 1 / 6))
GAPS = cb.results.Distribution(np.array([0, 5, 9]), np.array([0.2, 0.3, 0.5]))


def test_summaries_of_a_die():
    assert DICE.mean == pytest.approx(3.5)
    assert DICE.sd == pytest.approx((35 / 12) ** 0.5)
    assert DICE.median == 3
    assert DICE.mode == 1
    assert DICE.interval("0.9") == (1, 6)


def test_quantiles_are_the_smallest_counts_that_reach_them():
    assert [GAPS.quantile(p) for p in ("0", "0.2", "0.2001", "0.5", "0.51", "1")] == [
        0, 0, 5, 5, 9, 9,
    ]  # fmt: skip


def test_single_counts_and_sums_from_below():
    assert GAPS[5] == 0.3
    assert GAPS[4] == 0.0
    assert GAPS[10] == 0.0
    assert GAPS.at_most(-1) == 0.0
    assert GAPS.at_most(4) == pytest.approx(0.2)
    assert GAPS.at_most(100) == pytest.approx(1.0)


@pytest.mark.parametrize("probability", [1.1, -0.1, "much", None, True, float("nan")])
def test_what_is_no_probability_is_refused(probability):
    with pytest.raises(cb.InvalidInput, match="give a number from 0 to 1"):
        GAPS.quantile(probability)


def test_a_distribution_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        GAPS.probabilities[0] = 1.0


def test_the_mean_of_a_fixed_count_is_a_gamma():
    from scipy.stats import gamma

    fixed = cb.results.Distribution(np.array([7]), np.array([1.0]))
    rate = cb.results.Rate(fixed, 2.0, 3.0)
    exact = gamma(9, scale=0.75)
    assert rate.mean == pytest.approx(exact.mean())
    assert rate.sd == pytest.approx(exact.std())
    assert rate.median == pytest.approx(exact.median())
    assert rate.interval("0.95") == pytest.approx(exact.interval(0.95))
    assert rate.density([1.0, 5.0]) == pytest.approx(exact.pdf([1.0, 5.0]))
    assert (rate.quantile(0), rate.quantile(1)) == (0.0, float("inf"))


def test_the_mean_of_an_uncertain_count_is_a_mixture():
    from scipy.integrate import quad

    rate = cb.results.Rate(GAPS, 1.5, 0.5)
    assert quad(rate.density, 0, 60)[0] == pytest.approx(1.0)
    assert quad(lambda x: x * rate.density(x), 0, 60)[0] == pytest.approx(rate.mean)
    variance = quad(lambda x: (x - rate.mean) ** 2 * rate.density(x), 0, 60)[0]
    assert variance**0.5 == pytest.approx(rate.sd)
    for probability in (0.01, 0.3, 0.9, 0.999):
        assert rate.below(rate.quantile(probability)) == pytest.approx(probability)
