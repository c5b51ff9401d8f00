"""Releases that sum over variables: summed tables and their parts, against all tables."""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cellbounds as cb
from bruteforce import compositions
from cellbounds.inference.unnamed_variables import best_split, drawn_parts, part_chances
from cellbounds.model.priors import Weights, belief_of

DOMAIN = cb.Domain({"a": [0, 1], "b": [0, 1, 2], "c": [0, 1]})
PRIORS = [
    "uniform",
    "multinomial",
    cb.priors.GammaPoisson(3, "1/2"),
    cb.priors.GammaPoisson("1/2", 1),
    cb.priors.Poisson("2.5"),
    cb.priors.Poisson(np.arange(1, 13).reshape(2, 3, 2)),
    cb.priors.GammaPoisson(2, np.arange(1, 13).reshape(2, 3, 2)),
]


@functools.cache
def consistent(statements):
    """A release of a small table, and every table that fits it."""
    counts = np.array([[[1, 0], [0, 1], [0, 0]], [[0, 0], [1, 0], [0, 1]]])
    release = cb.publish(cb.Table(DOMAIN, counts), *statements)
    fitting = [
        cells
        for cells in compositions(4, DOMAIN.size)
        if not cb.violations(cb.Table(DOMAIN, np.reshape(cells, DOMAIN.shape)), release)
    ]
    return release, fitting


def brute(fitting, prior):
    """Cell distributions and weights, table by table."""
    weights = belief_of(prior).weights(DOMAIN)
    size = DOMAIN.size
    found = {
        cells: math.prod(weights.exact(k, n) for k, n in enumerate(cells)) for cells in fitting
    }
    mass = sum(found.values())
    chances = [{} for _ in range(size)]
    for cells, weight in found.items():
        for cell, count in enumerate(cells):
            chances[cell][count] = chances[cell].get(count, Fraction(0)) + weight / mass
    return found, chances


STATEMENTS = [("[a]",), ("[b]",), ("[a]", "[b]"), ("[a,b]",), ("N",), ("[b]~5",), ("[c]<5",)]


@pytest.mark.parametrize("statements", STATEMENTS, ids=str)
@pytest.mark.parametrize("prior", PRIORS, ids=str)
def test_counts_lists_and_posteriors(statements, prior):
    release, fitting = consistent(statements)
    found, chances = brute(fitting, prior)
    assert cb.count_tables(release) == len(found)
    listed = [tuple(table.counts.ravel().tolist()) for table in cb.tables(release)]
    assert len(listed) == len(found)
    assert set(listed) == set(found)
    post = cb.posterior(release, prior)
    assert post.exact
    for cell, exact in enumerate(chances):
        one = post.at(cell)
        assert one.values.tolist() == sorted(exact)
        assert np.allclose(one.probabilities, [float(exact[v]) for v in sorted(exact)], rtol=1e-9)
    best = tuple(post.joint_mode.counts.ravel().tolist())
    assert found[best] == max(found.values())
    for table in cb.sample(release, 5, prior=prior, rng=2):
        assert tuple(table.counts.ravel().tolist()) in found


def test_derived_variables_are_summed_over_too():
    grouped = cb.Domain(
        {"x": [0, 1, 2], "y": [0, 1]}, groupings={"g": cb.Grouping("x", {"p": [0, 1], "q": [2]})}
    )
    release = cb.publish(cb.Table(grouped, [[1, 2], [3, 0], [2, 2]]), "[g]")
    assert cb.count_tables(release) == math.comb(6 + 3, 3) * math.comb(4 + 1, 1)
    assert np.allclose(cb.posterior(release).mean, [[1.5, 1.5], [1.5, 1.5], [2, 2]])
    averages = cb.inference.combined_sets.combine_sets(release, 3, estimator="equal").values
    assert averages.sum(axis=1).tolist() == pytest.approx([10] * 3)


def test_a_range_of_totals():
    release = cb.Release(cb.Domain({"a": [0, 1, 2]}), [cb.Total(lower=2, upper=4)])
    assert cb.count_tables(release) == 6 + 10 + 15
    post = cb.posterior(release, cb.priors.Poisson(1))
    found = {}
    for total in (2, 3, 4):
        for cells in compositions(total, 3):
            found[cells] = Fraction(1, math.prod(map(math.factorial, cells)))
    mean = sum(cells[0] * weight for cells, weight in found.items()) / sum(found.values())
    assert post.mean[0] == pytest.approx(float(mean))
    assert {int(table.counts.sum()) for table in cb.sample(release, 50, rng=1)} == {2, 3, 4}


def test_one_margin_of_a_large_table_is_no_work():
    domain = cb.Domain({"a": list(range(5)), "b": list(range(1000))})
    rows = [10**6, 3, 0, 12, 10**9]
    release = cb.Release(domain, [cb.Margin(["a"], rows)])
    assert cb.count_tables(release) == math.prod(math.comb(n + 999, 999) for n in rows)
    assert cb.posterior(release)[1, 7].mean == pytest.approx(3 / 1000)
    drawn = cb.sample(release, 3)
    assert drawn.counts.sum(axis=2).tolist() == [rows] * 3


def test_parts_follow_their_law():
    from scipy.stats import chisquare

    one = Fraction(1)
    shaped = [(Fraction(2), one), (Fraction(1, 2), one), (one, one)]
    for kinds in (shaped, [(None, one), (None, Fraction(3)), (None, Fraction(2))]):
        weights = Weights(tuple(kinds))
        ways = list(compositions(4, 3))
        exact = [math.prod(weights.exact(k, n) for k, n in enumerate(way)) for way in ways]
        drawn = drawn_parts(kinds, np.full(30_000, 4), np.random.default_rng(5))
        seen = [int((drawn == way).all(axis=1).sum()) for way in ways]
        expected = [30_000 * float(weight / sum(exact)) for weight in exact]
        assert chisquare(seen, expected).pvalue > 1e-6


kind = st.tuples(
    st.none() | st.fractions(Fraction(1, 4), 5, max_denominator=4),
    st.fractions(Fraction(1, 4), 3, max_denominator=4),
)


@given(st.lists(kind, min_size=1, max_size=4), st.integers(0, 7))
def test_the_best_split_is_the_first_of_the_largest(kinds, count):
    weights = Weights(tuple(kinds))
    best = best_split(kinds, count, most=100)
    if best is None:
        shapes = [shape for shape, _ in kinds]
        factors = {factor for _, factor in kinds}
        assert len(factors) > 1 or any(shape is None or shape > 1 for shape in shapes)
        assert any(shape is not None and shape < 1 for shape in shapes)
        return
    exact = {way: math.prod(weights.exact(k, n) for k, n in enumerate(way))
             for way in compositions(count, len(kinds))}  # fmt: skip
    top = max(exact.values())
    assert best == next(way for way in exact if exact[way] == top)


@given(kind, kind, st.integers(0, 8))
def test_the_chances_of_a_part(own, rest, count):
    weights = Weights((own, rest))
    exact = [weights.exact(0, n) * weights.exact(1, count - n) for n in range(count + 1)]
    found = part_chances(weights, own, rest, count)
    assert np.allclose(found, [float(one / sum(exact)) for one in exact], rtol=1e-12)
