"""Sequential importance sampling against the list of all tables of small releases."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

import cellbounds as cb
from cellbounds.beliefs import GammaPoisson, Poisson, Uniform
from cellbounds.constraints import compile_release
from cellbounds.fibre.importance import importance_draws
from cellbounds.fibre.importance.running import log_proposals, make_proposal
from listing import listed
from mixtures import cases, margin_cases
from strategies import releases as conditional_releases
from strategies import LARGEST

DRAWS = 400

BELIEFS = {
    "uniform": Uniform(),
    "gamma": GammaPoisson("3/2", "1/2"),
    "poisson": Poisson("5/2"),
}


def few(share: int):
    return settings(max_examples=max(20, settings.default.max_examples // share))


def check(release, largest: int, belief) -> None:
    """Every table has its chance, chances and dead ends add up, estimates are within errors."""
    tables = listed(release, largest)
    weights = belief.weights(release.domain)
    if not len(tables):
        try:
            drawn = importance_draws(release, weights, draws=20, rng=np.random.default_rng(1))
        except cb.InconsistentRelease:
            return
        assert len(drawn) == 0 and drawn.estimate.dead_ends == drawn.attempts == 20
        return
    proposal = make_proposal(release, weights, 7)
    chances = np.exp(log_proposals(proposal, tables))
    assert (chances > 0).all(), release.to_dict()
    dead = 1 - math.fsum(chances)
    assert dead > -1e-9
    drawn = importance_draws(release, weights, draws=DRAWS, rng=np.random.default_rng(3))
    held = {table.tobytes() for table in tables.astype(np.int64)}
    assert all(table.tobytes() in held for table in drawn.counts)
    system = compile_release(release)
    for counts in drawn.counts[:5]:
        table = cb.Table(release.domain, counts.reshape(release.domain.shape))
        assert cb.violations(release, table, system) == []
    check_estimates(release, tables, weights, drawn)


def check_estimates(release, tables, weights, drawn) -> None:
    exact = [weight_of(weights, table) for table in tables]
    total = sum(exact, Fraction(0))
    estimate = drawn.estimate
    if not len(drawn):
        assert "no table was drawn" in str(estimate)
        return
    if estimate.effective_size < 50:
        return  # its own error is not to be relied on, and it says so
    off = abs(estimate.value / float(total) - 1)
    assert off <= 6 * estimate.relative_error + 1e-9, release.to_dict()


def weight_of(weights, table) -> Fraction:
    found = Fraction(1)
    for cell, count in enumerate(table):
        found *= weights.exact(cell, int(count))
    return found


@few(3)
@given(cases())
def test_mixtures(case):
    check(case.release, case.largest, Uniform())


@few(4)
@given(margin_cases())
def test_margins(case):
    check(case.release, case.largest, Uniform())


@few(4)
@given(conditional_releases())
def test_conditionals(release):
    check(release, LARGEST, Uniform())


@few(6)
@given(cases())
def test_weighted_mixtures(case):
    check(case.release, case.largest, BELIEFS["gamma"])
    check(case.release, case.largest, BELIEFS["poisson"])
