"""Random rounding and noise: every table weighs as much as it is likely to show the figures."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.agreement.bruteforce import consistent_tables, likelihood, summed

import cellbounds as cb
from cellbounds import Domain, Known, Margin, Release, Total
from cellbounds.errors import InconsistentRelease, InvalidInput
from cellbounds.inference.enumeration import ListedFibre
from cellbounds.model.likelihoods import factors_of

PRIORS = [
    cb.priors.Uniform(),
    cb.priors.Poisson("3/2"),
    cb.priors.GammaPoisson("1/2", "2"),
    cb.priors.GammaPoisson(3, "1/4"),
]

LAWS = [
    {"laplace": "1/3"},
    {"laplace": "3/4"},
    {"differences": {"-2": "1/4", "0": "1/2", "1": "1/8", "2": "1/8"}},
    {"differences": {"-1": "1/3", "2": "2/3"}},
    {
        "chances": {
            str(n): ({"0": "3/4", "3": "1/4"} if n % 2 else {"0": "1/7", "1": "2/7", "3": "4/7"})
            for n in range(9)
        }
    },
    {
        "cell key": {
            "0": {"0": "1"},
            "1": {"0": "3/4", "3": "1/4"},
            "2": {"0": "2/5", "3": "2/5", "4": "1/5"},
            "3": {"0": "1/9", "3": "2/3", "5": "2/9"},
        }
    },
]


@st.composite
def releases(draw: st.DrawFn) -> Release:
    shape = draw(st.sampled_from([(2,), (3,), (2, 2), (2, 2), (1, 3), (2, 1, 2)]))
    names = "abc"[: len(shape)]
    domain = Domain(
        {name: [str(k) for k in range(size)] for name, size in zip(names, shape, strict=True)}
    )
    most = 6 if domain.size <= 3 else 5
    statements: list[object] = [Total(lower=draw(st.integers(0, 2)), upper=most)]
    subsets = [s for k in range(1, len(names) + 1) for s in itertools.combinations(names, k)]
    for variables in draw(st.lists(st.sampled_from(subsets), min_size=1, max_size=4)):
        size = tuple(shape[names.index(name)] for name in variables)
        base = draw(st.sampled_from([None, 2, 3, 5]))
        how = {"noise": draw(st.sampled_from(LAWS))} if base is None else {}
        if base is not None:
            how = {"base": base, "rounding": "random"}
            figures = st.integers(0, 1).map(lambda k, base=base: k * base)
        elif "chances" in how["noise"] or "cell key" in how["noise"]:
            figures = st.sampled_from([0, 3])
        else:
            figures = st.integers(0 if "differences" in how["noise"] else -2, 5)
        entry = st.one_of(figures, figures, figures, st.none(), st.just("<4"))
        entries = [draw(entry) for _ in range(math.prod(size))]
        statement = Margin(variables, np.array(entries, dtype=object).reshape(size), **how)
        statements += [statement] * draw(st.sampled_from([1, 1, 2]))
    if draw(st.booleans()):
        statements.append(Known([names[0]], upper={("0",): draw(st.integers(1, 4))}))
    return Release(domain, statements)


def truth(release: Release, prior: object) -> dict[tuple[int, ...], Fraction]:
    """Every table with its posterior probability, in fractions."""
    weights = prior.weights(release.domain)
    masses = {}
    for counts in consistent_tables(release, 6):
        flat = tuple(int(count) for count in counts.flat)
        exact = math.prod((weights.exact(k, n) for k, n in enumerate(flat)), start=Fraction(1))
        masses[flat] = exact * likelihood(release, counts)
    whole = sum(masses.values())
    return {table: mass / whole for table, mass in masses.items()} if whole else {}


def assert_same(found: object, expected: dict[int, Fraction]) -> None:
    got = dict(zip(found.values.tolist(), found.probabilities.tolist(), strict=True))
    assert set(got) == {count for count, chance in expected.items() if chance}
    for count, chance in got.items():
        assert chance == pytest.approx(float(expected[count]), rel=1e-11)


def marginals(masses: dict[tuple[int, ...], Fraction], of: object) -> dict[int, Fraction]:
    chances: dict[int, Fraction] = {}
    for table, mass in masses.items():
        chances[of(table)] = chances.get(of(table), Fraction(0)) + mass
    return chances


@given(releases(), st.sampled_from(PRIORS))
def test_posteriors_are_the_sums_over_all_tables(release: Release, prior: object) -> None:
    masses = truth(release, prior)
    if not masses:
        with pytest.raises((InconsistentRelease, InvalidInput)):
            cb.posterior(release, prior)
        return
    assert cb.count_tables(release) == len(masses)  # the support, however unlikely
    answer = cb.posterior(release, prior)
    for cell, labels in enumerate(release.domain.cells()):
        assert_same(answer[labels], marginals(masses, lambda table, k=cell: table[k]))
    best = max(masses.values())
    assert masses[tuple(answer.joint_mode.counts.ravel().tolist())] == best
    # Tables that are listed, and sums of a margin.
    listed = np.array(list(masses), dtype=np.int64)
    weighed = ListedFibre(listed, factors_of(release)).weighted(prior.weights(release.domain))
    assert_same(weighed.distribution(0), marginals(masses, lambda table: table[0]))
    first = release.domain.names[:1]
    over = cb.posterior(release, prior, over=first)
    for place, level in enumerate(release.domain.levels(first[0])):

        def at(table: tuple[int, ...], place: int = place) -> int:
            counts = np.array(table).reshape(release.domain.shape)
            return int(summed(release, counts, first)[place])

        assert_same(over[level], marginals(masses, at))


@settings(max_examples=12)
@given(releases(), st.sampled_from(PRIORS), st.sampled_from(["exact", "chain", "importance"]))
def test_draws_of_every_method_follow_it(release: Release, prior: object, method: str) -> None:
    masses = truth(release, prior)
    assume(len(masses) > 1)
    options = {"thin": 20} if method == "chain" else {}
    drawn = cb.sample(release, 6000, prior=prior, method=method, rng=5, **options)
    if drawn.connected is not None:
        assume("not" not in drawn.connected)
    shares = np.full(len(drawn), 1 / len(drawn)) if drawn.weights is None else drawn.weights
    flat = drawn.counts.reshape(len(drawn), -1)
    found: dict[tuple[int, ...], float] = {}
    for table, share in zip(map(tuple, flat.tolist()), shares, strict=True):
        found[table] = found.get(table, 0.0) + share
    distance = sum(abs(found.get(t, 0.0) - float(mass)) for t, mass in masses.items()) / 2
    effective = 1 / float((shares**2).sum()) / (1 if drawn.independent else 10)
    assert set(found) <= set(masses)
    assert distance < 3 * math.sqrt(len(masses) / effective)


def test_a_zero_at_base_5_is_at_most_3_with_probability_14_of_15() -> None:
    domain = Domain({"a": ["x", "y"]})
    release = Release(domain, [Margin(["a"], [0, 5], base=5, rounding="random")])
    assert cb.posterior(release)["x"].at_most(3) == pytest.approx(14 / 15)
    assert cb.bounds(release)["x"] == (0, 4)
    again = Release(domain, release.statements * 2)
    # Weights 25, 16, 9, 4, 1.
    assert cb.posterior(again)["x"].at_most(3) == pytest.approx(54 / 55)


def test_unnamed_variables_and_conditionals_weigh_too() -> None:
    domain = Domain({"a": ["x", "y"], "b": ["0", "1"], "c": ["0", "1"]})
    noisy = Margin(["a"], [0, 5], base=5, rounding="random")
    release = Release(domain, [noisy, Total(4)])
    masses = truth(release, cb.priors.Uniform())
    answer = cb.posterior(release)
    assert_same(answer[("x", "0", "0")], marginals(masses, lambda table: table[0]))
    rates = cb.Conditional(["b"], ["a"], rates=[["1/2", "1/2"], ["1/2", "1/2"]])
    release = Release(domain.project(["a", "b"]), [rates, noisy, Total(6)])
    masses = truth(release, cb.priors.Uniform())
    assert_same(cb.posterior(release)[("x", "0")], marginals(masses, lambda table: table[0]))
