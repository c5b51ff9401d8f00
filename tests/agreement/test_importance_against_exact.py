"""Sequential importance sampling against the list of all tables of small releases."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

import cellbounds as cb
from cellbounds.inference.importance.importance_sampling import (
    importance_draws,
    make_proposal,
)
from cellbounds.model.constraints import compile_release
from cellbounds.model.priors import GammaPoisson, Multinomial, Poisson, Uniform
from listing import listed
from mixtures import cases, margin_cases
from strategies import LARGEST, few
from strategies import releases as conditional_releases

DRAWS = 400
ERRORS = 6
"""Standard errors that an estimate may be off, over hundreds of cases."""


def check(release, largest: int, belief) -> None:
    """Every table has its chance, chances and dead ends add up, estimates keep their errors."""
    tables = listed(release, largest).astype(np.int64)
    weights = belief.weights(release.domain)
    if not len(tables):
        check_nothing_drawn(release, weights)
        return
    proposal = make_proposal(release, weights, 7)
    chances = np.exp(proposal.log_chances(tables))
    assert (chances > 0).all(), release.to_dict()
    dead = 1 - math.fsum(chances)
    assert dead > -1e-9, release.to_dict()
    died = np.isinf(proposal.drawn(11, 0, DRAWS)[1]).mean()
    assert abs(died - dead) <= ERRORS * math.sqrt(max(dead, 1e-9) / DRAWS), release.to_dict()
    drawn = importance_draws(release, weights, draws=DRAWS, rng=np.random.default_rng(3))
    held = {table.tobytes() for table in tables}
    assert all(table.tobytes() in held for table in drawn.counts)
    check_violations(release, drawn.counts[:5])
    check_estimate(release, tables, weights, drawn.estimate)


def check_nothing_drawn(release, weights) -> None:
    try:
        drawn = importance_draws(release, weights, draws=20, rng=np.random.default_rng(1))
    except cb.InconsistentRelease:
        return
    assert len(drawn) == 0
    assert drawn.estimate.dead_ends == drawn.attempts == 20
    assert "no table was drawn" in str(drawn.estimate)


def check_violations(release, tables) -> None:
    system = compile_release(release)
    for counts in tables:
        table = cb.Table(release.domain, counts.reshape(release.domain.shape))
        assert cb.violations(table, release, system) == []


def check_estimate(release, tables, weights, estimate) -> None:
    if estimate.note:
        return  # its own error is not to be relied on, and it says so
    total = sum((weight_of(weights, table) for table in tables), Fraction(0))
    off = abs(estimate.value / float(total) - 1)
    assert off <= ERRORS * estimate.relative_error + 1e-9, release.to_dict()


def weight_of(weights, table) -> Fraction:
    found = Fraction(1)
    for cell, count in enumerate(table):
        found *= weights.exact(cell, int(count))
    return found


@few(6)
@given(cases())
def test_mixtures(case):
    check(case.release, case.largest, Uniform())


@few(8)
@given(margin_cases())
def test_margins(case):
    check(case.release, case.largest, Uniform())


@few(8)
@given(conditional_releases())
def test_conditionals(release):
    check(release, LARGEST, Uniform())


@few(12)
@given(cases())
def test_weighted_mixtures(case):
    check(case.release, case.largest, GammaPoisson("3/2", "1/2"))


@few(12)
@given(cases())
def test_poisson_mixtures(case):
    check(case.release, case.largest, Poisson("5/2"))


THREE = ["0", "1", "2"]
DOMAIN = cb.Domain({"a": THREE, "b": THREE})
RELEASES = {
    "two margins": cb.Release(DOMAIN, [cb.Margin(["a"], [3, 2, 4]), cb.Margin(["b"], [2, 5, 2])]),
    "rounded margins": cb.Release(
        DOMAIN,
        [
            cb.Margin(["a"], [3, 3, 3], base=3, rounding="nearest"),
            cb.Margin(["b"], [2, "<6", None]),
            cb.Total(9),
        ],
    ),
    "rounded rates": cb.Release(
        DOMAIN,
        [
            cb.Conditional(
                ["b"],
                ["a"],
                rates=[["0.5", "0.3", "0.2"], ["0.3", "0.3", "0.3"], ["0.1", "0.5", "0.4"]],
                eps="0.2",
            ),
            cb.Total(9),
        ],
    ),
    "lists of values": cb.Release(
        DOMAIN,
        [
            cb.Known(["a"], values={"0": [1, 4], "1": [0, 2, 3]}),
            cb.Known(["a", "b"], values={("2", "0"): [0, 3]}),
            cb.Margin(["b"], [3, 4, 2]),
        ],
    ),
}
BELIEFS = [
    Uniform(),
    Multinomial(),
    GammaPoisson("1/2", "3"),
    Poisson([[1, 2, 3], ["1/2", 1, 2], [4, 1, "1/3"]]),
]


def weighted_mean(drawn, numbers) -> tuple[float, float]:
    """The weighted mean of one number for each draw, and its standard error (delta method)."""
    mean = math.fsum(drawn.shares * numbers)
    return mean, math.sqrt(math.fsum((drawn.shares * (numbers - mean)) ** 2))


@pytest.mark.parametrize("name", RELEASES)
@pytest.mark.parametrize("belief", BELIEFS, ids=lambda belief: belief.name)
def test_posterior_means_and_probabilities(name, belief):
    release = RELEASES[name]
    tables = listed(release, 9)
    weights = belief.weights(DOMAIN)
    exact = [weight_of(weights, table) for table in tables]
    total = sum(exact, Fraction(0))
    drawn = importance_draws(release, weights, draws=3000, rng=np.random.default_rng(5))
    assert drawn.effective_size > 300
    assert abs(drawn.estimate.value / float(total) - 1) < 5 * drawn.estimate.relative_error
    for cell in range(DOMAIN.size):
        true = float(sum(w * int(t[cell]) for w, t in zip(exact, tables, strict=True)) / total)
        counts = drawn.counts[:, cell]
        mean, error = weighted_mean(drawn, counts)
        assert abs(mean - true) <= 5 * error
        for value in np.unique(counts):
            chance, error = weighted_mean(drawn, counts == value)
            held = sum(w for w, t in zip(exact, tables, strict=True) if t[cell] == value)
            assert abs(chance - float(held / total)) <= 5 * error + 1e-3


@pytest.mark.parametrize("name", ["two margins"])
def test_chances_add_up_to_one_where_nothing_dies(name):
    release = RELEASES[name]
    for belief in BELIEFS:
        proposal = make_proposal(release, belief.weights(DOMAIN), 1)
        chances = np.exp(proposal.log_chances(listed(release, 9).astype(np.int64)))
        assert math.fsum(chances) == pytest.approx(1, abs=1e-12)


def test_tables_that_do_not_fit_have_no_chance():
    release = RELEASES["two margins"]
    proposal = make_proposal(release, Uniform().weights(DOMAIN), 1)
    fitting = listed(release, 9).astype(np.int64)
    moved = fitting + np.eye(1, 9, dtype=np.int64)
    assert np.isinf(proposal.log_chances(moved)).all()
