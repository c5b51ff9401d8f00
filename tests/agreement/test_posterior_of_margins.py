"""Posteriors of margins and of chosen cells against the list of all consistent tables."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

import cellbounds as cb
from cellbounds.inference.margin_sums import MarginSums, margin_sums
from cellbounds.inference.protocol import DEFAULT_EFFORT
from cellbounds.model.priors import belief_of
from cellbounds.results.cell_index import CellIndex
from cellbounds.runtime.budget import UNLIMITED
from listing import listed
from strategies import few
from test_counting_against_bruteforce import ROUNDING, fixes_total, near, weighed_releases
from weighing import multinomial, uniform, weigh

FEW_TABLES = 3000
"""More are too slow to add up in fractions."""


def expected_sums(release, tables, law, over):
    """The distribution of each sum of a margin, in fractions, by its labels."""
    probabilities = weigh(tables, law).probabilities
    domain, margin = release.domain, release.domain.project(over)
    counts = np.array(list(probabilities), dtype=object)
    # Which sums one record in each cell belongs to.
    ones = np.eye(domain.size, dtype=np.int64).reshape(-1, *domain.shape)
    belongs = np.array([cb.Table(domain, one).margin(over).counts.ravel() for one in ones])
    found = {}
    for labels, sums in zip(margin.cells(), (counts @ belongs).T.tolist(), strict=True):
        found[labels] = dict.fromkeys(sums, Fraction(0))
        for value, probability in zip(sums, probabilities.values(), strict=True):
            found[labels][value] += probability
    return found


def check_sums(distribution, exact, error):
    values = distribution.values.tolist()
    assert values == sorted(set(values))
    assert set(exact) <= set(values)
    for value, probability in zip(values, distribution.probabilities.tolist(), strict=True):
        assert near(probability, exact.get(value, Fraction(0)), error)


@st.composite
def questions(draw, kind):
    """A release with its tables and a prior, a margin, and some of its cells or None."""
    release, tables, law = draw(weighed_releases(kind))
    assume(0 < len(tables) <= FEW_TABLES)
    if fixes_total(release) and draw(st.booleans()):
        # Equal probabilities: leaves of exact margins are left out.
        law = multinomial(
            [Fraction(1, release.domain.size)] * release.domain.size, release.domain.shape
        ).given(release)
    names = [*release.domain.names, *release.domain.groupings]
    over = draw(st.lists(st.sampled_from(names), unique=True, min_size=1, max_size=4))
    cells = list(release.domain.project(over).cells())
    chosen = draw(st.none() | st.lists(st.sampled_from(cells), unique=True, min_size=1))
    return release, tables, law, over, chosen


@pytest.mark.parametrize("kind", ["conditional", "margins", "mixture"])
@few(2)
@given(data=st.data())
def test_margins_and_cells(kind, data):
    release, tables, law, over, chosen = data.draw(questions(kind))
    assume(any(law.weight(tuple(table)) for table in np.asarray(tables).tolist()))
    exact = expected_sums(release, tables, law, over)
    found = cb.posterior(release, law.prior, over=over, cells=chosen)
    event(f"{found.evidence}, {found.method}")
    assert found.exact
    assert found.over == tuple(over)
    asked = list(exact) if chosen is None else chosen
    assert [labels for labels, _ in found.items()] == asked
    error = Fraction(found.error) + ROUNDING
    for labels, distribution in found.items():
        check_sums(distribution, exact[labels], error)
        assert found[labels] is distribution
    shape = release.domain.project(over).shape if chosen is None else (len(chosen),)
    assert found.mean.shape == found.quantile("0.9").shape == shape
    assert found.mean.ravel().tolist() == [one.mean for _, one in found.items()]
    assert len(found.to_dict()["cells"]) == found.size == len(asked)


@pytest.mark.parametrize("kind", ["conditional", "margins", "mixture"])
@few(2)
@given(data=st.data())
def test_sums_one_by_one(kind, data):
    """The same when tables are not listed: a mass for each value of each sum."""
    release, tables, law, over, _ = data.draw(questions(kind))
    assume(any(law.weight(tuple(table)) for table in np.asarray(tables).tolist()))
    exact = expected_sums(release, tables, law, over)
    places = CellIndex(release.domain.project(over).shape)
    weights = belief_of(law.prior).weights(release.domain)
    question = release, weights, tuple(over), places, DEFAULT_EFFORT, UNLIMITED
    found = margin_sums(*question, most_listed=0)
    event(type(found).__name__)
    assert isinstance(found, MarginSums)
    for distribution, known in zip(found.distributions, exact.values(), strict=True):
        check_sums(distribution, known, Fraction(found.error) + ROUNDING)


# Methods one by one, on tables that are known.

KOCH = cb.datasets.read("koch4")


def test_a_leaf_of_a_decomposable_model_is_left_out():
    """Under equal probabilities a variable of one exact margin alone changes nothing."""
    release = cb.publish(KOCH, "[status,recovery]", "[status,treatment]", "[center,status]")
    found = cb.posterior(release, "multinomial", over=["treatment", "status", "recovery"])
    alone = KOCH.margin(["status", "treatment", "recovery"])
    same = cb.posterior(cb.publish(alone, "[status,recovery]", "[status,treatment]"), "multinomial")
    assert found.method == same.method
    assert np.allclose(found.mean, np.moveaxis(same.mean, 0, 1), rtol=1e-12)
    fixed = cb.posterior(release, "multinomial", over=["status", "recovery"])
    assert np.array_equal(fixed.mean, KOCH.margin(["status", "recovery"]).counts)
    assert np.array_equal(fixed.sd, np.zeros((2, 3)))


def test_a_margin_that_is_published_is_known():
    release = cb.publish(KOCH, "[status,recovery]", "[status,treatment]")
    found = cb.posterior(release, over=["recovery"])
    assert found.exact
    assert np.array_equal(found.mean, KOCH.margin(["recovery"]).counts)


def test_variables_that_nobody_names_are_summed_over():
    """All that is asked about is a table of its own, with merged weights."""
    release = cb.publish(KOCH, "[status,recovery]~5", total=True)
    found = cb.posterior(release, over=["recovery", "status"])
    small = KOCH.margin(["status", "recovery"])
    prior = cb.priors.GammaPoisson(4, 1)  # the four cells behind each: uniform means of shape 1
    same = cb.posterior(cb.publish(small, "[status,recovery]~5"), prior)
    assert found.exact
    assert np.allclose(found.mean, same.mean.T, rtol=1e-12)


@pytest.mark.parametrize("chosen", [None, [("b",)]])
def test_estimates_of_sums_have_their_own_errors(chosen):
    """Too much exact work: sums of the tables that chains draw, near the exact answer."""
    domain = cb.Domain({"x": ["a", "b", "c"], "y": ["u", "v", "w"], "z": ["p", "q"]})
    rng = np.random.default_rng(3)
    table = cb.Table(domain, rng.integers(0, 6, domain.shape))
    release = cb.publish(table, "[x,y]~3", "[y,z]")
    exact = cb.posterior(release, over=["x"], cells=chosen)
    assert exact.exact
    rough = cb.posterior(release, over=["x"], cells=chosen, effort=10, draws=4000, rng=5)
    assert rough.evidence is cb.Evidence.ESTIMATED
    assert rough.monte_carlo.error.shape == rough.mean.shape == exact.mean.shape
    assert (rough.monte_carlo.error > 0).all()
    assert (abs(rough.mean - exact.mean) < 6 * rough.monte_carlo.error + 0.01).all()
    assert "mc_error" in rough.columns()
    assert any(note.startswith("not exact") for note in rough.notes)


def test_chosen_cells_of_an_estimate():
    release = cb.publish(KOCH, "[status,recovery]~5", "[treatment,recovery]~5", "[center]")
    options = {"effort": 10, "draws": 400, "rng": 1}
    whole = cb.posterior(release, **options)
    cells = list(itertools.islice(KOCH.domain.cells(), 3, 9, 2))
    some = cb.posterior(release, cells=cells, **options)
    assert [labels for labels, _ in some.items()] == cells
    assert some.mean.tolist() == [whole[labels].mean for labels in cells]


# What is refused, and how answers are shown.


def test_what_no_margin_has():
    release = cb.publish(KOCH, "[status,recovery]", "[status,treatment]")
    found = cb.posterior(release, cb.priors.GammaPoisson(2, 1), over=["recovery"])
    with pytest.raises(cb.InvalidInput, match="without over= and cells="):
        _ = found.joint_mode
    with pytest.raises(cb.InvalidInput, match="without over= and cells="):
        _ = found.rates
    first, second, *_ = KOCH.domain.cells()
    with pytest.raises(cb.InvalidInput, match="not among those"):
        _ = cb.posterior(release, cells=[first])[second]
    with pytest.raises(cb.InvalidInput, match=r"over=\[\] names no variable"):
        cb.posterior(release, over=[])
    with pytest.raises(cb.InvalidInput, match="cells=\\[\\]"):
        cb.posterior(release, cells=[])


def test_contradictions_are_found():
    release = cb.Release(KOCH.domain, [cb.Margin(["status"], [3, 4]), cb.Total(8)])
    for over in (["status"], ["center"], ["recovery", "status"]):
        for prior in ("uniform", "multinomial"):
            with pytest.raises(cb.InconsistentRelease):
                cb.posterior(release, prior, over=over)


def test_a_leaf_that_tells_n_is_not_forgotten():
    """N is said to be from 1 to 9; the margin that is left out says that it is 7."""
    domain = cb.Domain({"a": ["x", "y"], "b": ["u", "v"]})
    said = [cb.Margin(["a"], [3, 4]), cb.Total(lower=1, upper=9)]
    found = cb.posterior(cb.Release(domain, said), cb.priors.Poisson(2), over=["b"])
    assert found.exact
    assert found["u"].values.tolist() == found["v"].values.tolist() == list(range(8))
    assert np.allclose(found.mean, 3.5)
    other = cb.Release(domain, [cb.Margin(["a"], [3, 4]), cb.Margin(["b"], [3, 5])])
    wider = cb.Domain({"a": ["x", "y"], "b": ["u", "v"], "c": ["p", "q"]})
    with pytest.raises(cb.InconsistentRelease):
        cb.posterior(cb.Release(wider, other.statements), cb.priors.Poisson(2), over=["c"])


def test_sums_that_are_fixed_need_a_weight_too():
    """The tables are too many to list, and the prior has nobody where 200 people are."""
    domain = cb.Domain({name: ["x", "y"] for name in "abc"})
    said = [cb.Margin(["a"], [200, 200]), cb.Margin(["b", "c"], [[100, 100], [100, 100]])]
    release = cb.Release(domain, said)
    nobody = cb.priors.Multinomial([[[0, 0], [0, 0]], [["1/4", "1/4"], ["1/4", "1/4"]]])
    with pytest.raises(cb.InvalidInput, match="no weight"):
        cb.posterior(release, nobody, over=["a"])
    few = cb.priors.Multinomial([[["1/4", 0], [0, "1/4"]], [["1/8", "1/8"], ["1/8", "1/8"]]])
    assert cb.posterior(release, few, over=["a"])["x"].values.tolist() == [200]


def test_the_question_is_told():
    release = cb.publish(KOCH, "[status,recovery]", "[status,treatment]")
    found = cb.posterior(release, over=["recovery"])
    assert str(found).startswith("posterior over ['recovery'] given [status,recovery]")
    assert found.to_dict()["over"] == ["recovery"]
    assert list(found.columns())[:2] == ["recovery", "mean"]
    one = cb.posterior(release, cells=[next(iter(KOCH.domain.cells()))])
    assert repr(one).startswith("<posterior of 1 cell given")


def test_brute_force_can_tell():
    """The check fails for another prior: it is no formality."""
    release = cb.publish(cb.datasets.read("mp3"), "[mp3|gender]")
    tables = listed(release, 50)
    exact = expected_sums(release, tables, uniform(), ["gender"])
    found = cb.posterior(release, cb.priors.Poisson(3), over=["gender"])
    with pytest.raises(AssertionError):
        check_sums(found["Male"], exact[("Male",)], Fraction(1, 10**9))
