"""Counts of any size: exact where few counts are possible, refused before room is taken if not."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import cellbounds as cb
from cellbounds.disclosure.policies import Outcome, Policy, PosteriorChance
from cellbounds.errors import TooMuchWork, UnsupportedRelease
from cellbounds.inference.chooser import exact_sums
from cellbounds.inference.enumeration import ListedFibre
from cellbounds.inference.protocol import DEFAULT_EFFORT
from cellbounds.inference.unnamed_variables import best_split
from cellbounds.model.priors import MOST_WEIGHTS, Weights
from cellbounds.report.filing import build_report

SIZES = [10**8, 10**12, 10**15]

PRIORS = [
    cb.priors.Uniform(),
    cb.priors.Multinomial(),
    cb.priors.Multinomial([["1/2", "1/4"], ["1/8", "1/8"]]),
    cb.priors.Poisson([[1, 2], [3, 4]]),
    cb.priors.GammaPoisson(2, "1/4"),
]

KINDS = [(Fraction(1), Fraction(1)), (None, Fraction(3, 2)), (Fraction(5, 2), Fraction(1, 3))]


def table_of(counts):
    return cb.Table(cb.Domain({"a": ["0", "1"], "b": ["0", "1"]}), counts)


def narrow(size):
    """Four tables fit its margins."""
    return table_of([[size, 3], [size - 1, 0]])


def wide(size):
    """About as many tables as it has records fit its margins."""
    return table_of([[size, 1], [2, size]])


@pytest.mark.parametrize("prior", PRIORS, ids=lambda one: one.name)
@pytest.mark.parametrize("size", SIZES)
def test_few_tables_of_large_counts_are_summed_exactly(size, prior):
    found = cb.posterior(cb.publish(narrow(size), "[a]", "[b]"), prior)
    assert found.exact
    weights = prior.weights(found.release.domain)
    lowest = [size, 0, size - 4, 0]
    masses = [
        math.prod(
            weights.exact(cell, count, low)
            for cell, (count, low) in enumerate(
                zip([size + k, 3 - k, size - 1 - k, k], lowest, strict=True)
            )
        )
        for k in range(4)
    ]
    asked = [float(one / sum(masses)) for one in masses]
    assert found.at(3).probabilities.tolist() == pytest.approx(asked, rel=1e-12)
    assert found.at(3).values.tolist() == [0, 1, 2, 3]
    assert found.at(0).values.tolist() == [size, size + 1, size + 2, size + 3]


@pytest.mark.parametrize("size", SIZES)
def test_the_uniform_posterior_of_large_counts_is_even(size):
    found = cb.posterior(cb.publish(narrow(size), "[a]", "[b]"))
    assert found.at(1).probabilities.tolist() == pytest.approx([0.25] * 4)
    assert cb.violations(found.joint_mode, found.release) == []


@pytest.mark.parametrize("prior", PRIORS, ids=lambda one: one.name)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("said", [["[a]", "[b]"], ["[a]~5", "[b]"], ["[a]", "[b]<5"]])
def test_wide_margins_are_refused(size, prior, said):
    release = cb.publish(wide(size), *said)
    with pytest.raises(TooMuchWork):
        # Sums over one variable are few, its parts are not.
        exact_sums(release, prior.weights(release.domain), DEFAULT_EFFORT).weighted.distribution(0)


@pytest.mark.parametrize("prior", PRIORS, ids=lambda one: one.name)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("make", [narrow, wide])
def test_one_conditional_is_refused(size, prior, make):
    release = cb.publish(make(size), "[a|b]")
    weights = prior.weights(release.domain)
    with pytest.raises(TooMuchWork) as refused:
        exact_sums(release, weights, DEFAULT_EFFORT)
    assert f"{MOST_WEIGHTS:.0e}" in str(refused.value) or "steps" in str(refused.value)


@pytest.mark.parametrize("said", [["[a]", "[b|a]"], ["[a,b]~5"], ["[a]~1000000000"]])
@pytest.mark.parametrize("size", SIZES)
def test_other_releases_answer_or_refuse(size, said):
    release = cb.publish(wide(size), *said)
    try:
        found = exact_sums(release, cb.priors.Uniform().weights(release.domain), DEFAULT_EFFORT)
        assert found.weighted.distribution(0).probabilities.sum() == pytest.approx(1)
    except (TooMuchWork, UnsupportedRelease) as problem:
        assert str(problem)


@pytest.mark.parametrize("prior", PRIORS, ids=lambda one: one.name)
@pytest.mark.parametrize("size", SIZES)
def test_a_total_alone(size, prior):
    domain = wide(size).domain
    release = cb.Release(domain, [cb.Total(size)])
    weights = prior.weights(domain)
    try:
        found = exact_sums(release, weights, DEFAULT_EFFORT)
    except TooMuchWork:
        return
    with pytest.raises(TooMuchWork, match="effort="):
        found.weighted.distribution(0)
    if not weights.uniform:
        with pytest.raises(TooMuchWork, match="effort="):
            found.mode()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("said", [["[a|b]"], ["[a]", "[b]"], ["[a]~5"]])
@pytest.mark.parametrize("prior", ["uniform", "multinomial"])
def test_the_posterior_rule_is_undecided(size, said, prior):
    table = wide(size)
    policy = Policy("p", rules=[PosteriorChance(at_most=2, probability="1/10", prior=prior)])
    found = cb.judge(table, cb.publish(table, *said), policy, seconds=1)
    assert found.outcome is Outcome.UNDECIDED


def test_the_posterior_rule_decides_where_few_counts_are_possible():
    table = narrow(10**12)
    policy = Policy("p", rules=[PosteriorChance(at_most=2, probability="1/10")])
    found = cb.judge(table, cb.publish(table, "[a]", "[b]"), policy, seconds=5)
    assert found.outcome is Outcome.UNSAFE


@pytest.mark.parametrize("said", [["[a|b]"], ["[a]", "[b]"], ["[a]~5"]])
def test_a_report_says_what_was_not_worked_out(said):
    table = wide(10**8)
    report = build_report(cb.audit(table, cb.publish(table, *said)), seconds=1)
    assert "not worked out" in str(report.to_dict())


@pytest.mark.parametrize("kind", KINDS)
def test_weights_between_two_counts_are_those_from_zero_on(kind):
    weights = Weights((kind,))
    part, whole = weights.between(kind, 7, 20), weights.sequence_of(kind, 20)
    for count in range(7, 21):
        asked = math.ldexp(part.mantissa[count - 7], int(part.exponent[count - 7]))
        ratio = weights.exact(0, count) / weights.exact(0, 7)
        assert asked == pytest.approx(float(ratio), rel=1e-15)
        assert weights.exact(0, count, 7) == ratio
        full = math.ldexp(whole.mantissa[count], int(whole.exponent[count]))
        assert full == pytest.approx(float(weights.exact(0, count)), rel=1e-15)


def test_weights_in_many_pieces_go_on_where_the_last_piece_ended():
    kind = KINDS[2]
    whole = Weights((kind,)).sequence_of(kind, 50)
    for one, other in zip(whole, Weights((kind,), chunk=7).sequence_of(kind, 50), strict=True):
        assert one.tolist() == other.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_weights_that_cannot_be_held_are_refused(kind):
    weights = Weights((kind,))
    with pytest.raises(TooMuchWork, match=r"1\.0e\+15 different counts.*draw a sample"):
        weights.sequence(0, 10**15)
    with pytest.raises(TooMuchWork, match="raise effort="):
        weights.sequence(0, 1000, effort=10)


def test_weights_are_forgotten_when_there_is_no_room_for_more():
    weights = Weights((KINDS[0],), most=100)
    for most in range(60, 70):
        weights.sequence(0, most)
    assert sum(len(one.mantissa) for one in weights._made.values()) <= 100


@pytest.mark.parametrize("kind", KINDS)
def test_weights_of_listed_tables_of_large_counts(kind):
    weights = Weights((kind, kind))
    tables = np.array([[10**15, 2], [10**15 + 1, 1], [10**15 + 2, 0]])
    found = ListedFibre(tables).weighted(weights)
    ratios = [
        weights.exact(0, large, 10**15) * weights.exact(1, small)
        for large, small in tables.tolist()
    ]
    asked = [float(one / sum(ratios)) for one in ratios]
    assert found.distribution(0).probabilities.tolist() == pytest.approx(asked, rel=1e-12)


def test_sharing_out_one_by_one_has_a_limit():
    kinds = [(None, Fraction(1)), (None, Fraction(3))]
    assert best_split(kinds, 8, 10) == max(
        ((k, 8 - k) for k in range(9)),
        key=lambda one: math.prod(Weights(tuple(kinds)).exact(*pair) for pair in enumerate(one)),
    )
    with pytest.raises(TooMuchWork, match="effort="):
        best_split(kinds, 10**12, 10)


def test_matching_that_takes_too_long_is_refused():
    release = cb.publish(wide(10**4), "[a]", "[b]")
    weights = cb.priors.Multinomial().weights(release.domain)
    assert exact_sums(release, weights, 10**7).name.startswith("matching")
    with pytest.raises(TooMuchWork):
        exact_sums(release, weights, 10**3)


def test_ties_are_compared_in_fractions():
    release = cb.publish(table_of([[30, 20], [20, 30]]), "[a]", "[b]")
    found = cb.posterior(release, cb.priors.Poisson([[2, 3], [3, 2]])).joint_mode
    weights = cb.priors.Poisson([[2, 3], [3, 2]]).weights(release.domain)
    every = [np.ravel(one.counts).tolist() for one in cb.tables(release)]
    best = max(
        math.prod(itertools.starmap(weights.exact, enumerate(one)), start=Fraction(1))
        for one in every
    )
    mine = enumerate(np.ravel(found.counts).tolist())
    assert math.prod(itertools.starmap(weights.exact, mine), start=Fraction(1)) == best


@pytest.mark.parametrize("size", [10**6, 198 * 10**15, 10**30])
def test_a_table_is_compared_with_rates_exactly_however_large_its_counts(size):
    domain = cb.Domain({"all": ["everybody"], "b": ["0", "1"]})
    rates = cb.Conditional(["b"], ["all"], rates=[["0.70", "0.30"]], rounding="half-even")
    release = cb.Release(domain, [rates])
    least, most = 695 * size // 1000, 305 * size // 1000  # both ends belong to half-even rounding
    for counts, broken in (
        # In 64 bits, 200 times 7/10 of 198e15 would be less than 139 times all of it.
        ([7 * size // 10, 3 * size // 10], []),
        ([least, most], []),
        ([least - 1, most + 1], ["[b|all]@2"]),
        ([0, 0], ["[b|all]@2"]),
    ):
        assert cb.violations(cb.Table(domain, [counts]), release) == broken
