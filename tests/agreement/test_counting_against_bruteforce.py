"""Counts, lists, posteriors and draws against the list of all consistent tables."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, currently_in_test_context, given, note
from hypothesis import strategies as st

import cellbounds as cb
from listing import listed
from margin_tables import tables_with_margins
from mixtures import cases, margin_cases
from strategies import LARGEST, few, releases
from weighing import (
    Law,
    Weighing,
    gamma_poisson,
    goodness_of_fit,
    multinomial,
    poisson,
    uniform,
    weigh,
)

ROUNDING = Fraction(1, 2**50)
"""Relative error of what is made of exact probabilities in doubles."""

MANY = 1000
"""Tables that are listed more than once."""

NUMBERS = [Fraction(text) for text in ("1/7", "1/3", "1/2", "1", "3/2", "2", "5", "12", "193")]


def flat(table: cb.Table) -> tuple[int, ...]:
    return tuple(table.counts.ravel().tolist())


def fixes_total(release: cb.Release) -> bool:
    """Whether a statement says N itself."""
    totals = [one for one in release.statements if isinstance(one, cb.Total)]
    return any(one.lower == one.upper for one in totals)


@st.composite
def laws(draw, release: cb.Release, *, zeros: bool = False):
    """A prior of any kind, its parameters differing by cell."""
    size, shape = release.domain.size, release.domain.shape
    kinds = ["uniform", "poisson", "gamma"]
    if fixes_total(release):
        kinds.append("multinomial")
    kind = "poisson" if zeros else draw(st.sampled_from(kinds))
    pool = [*NUMBERS, Fraction(0)] if zeros else NUMBERS
    numbers = st.lists(st.sampled_from(pool), min_size=size, max_size=size)
    if kind == "uniform":
        return uniform()
    if kind == "gamma":
        scales = [draw(st.sampled_from(NUMBERS))] * size if draw(st.booleans()) else draw(numbers)
        return gamma_poisson(draw(numbers), scales, shape)
    made = multinomial if kind == "multinomial" or (zeros and fixes_total(release)) else poisson
    values = draw(numbers)
    assume(any(values))
    return made(values, shape)


@st.composite
def listed_releases(draw, kind: str):
    """A release and all its tables."""
    if kind == "conditional":
        release, largest = draw(releases()), LARGEST
    else:
        case = draw(margin_cases() if kind == "margins" else cases())
        release, largest = case.release, case.largest
    return release, listed(release, largest)


@st.composite
def weighed_releases(draw, kind: str):
    """A release, all its tables, and a prior."""
    release, tables = draw(listed_releases(kind))
    return release, tables, draw(laws(release)).given(release)


EITHER = st.one_of(listed_releases("conditional"), listed_releases("mixture"))


# What must hold of any release.


def check_list(release: cb.Release, expected: list[tuple[int, ...]]) -> None:
    """The count, and the tables themselves: each once, in the same order every time, lazily."""
    assert cb.count_tables(release) == len(expected)
    found = [flat(table) for table in cb.tables(release)]
    assert len(found) == len(set(found))
    assert sorted(found) == expected
    again = len(expected) if len(expected) <= MANY else MANY
    for limit in (0, 1, again, again + 3):
        assert [flat(table) for table in cb.tables(release, limit=limit)] == found[:limit]
    assert [flat(table) for table in itertools.islice(cb.tables(release), 2)] == found[:2]


def check_nothing_fits(release: cb.Release, prior: object) -> None:
    assert cb.count_tables(release) == 0
    assert list(cb.tables(release)) == []
    assert list(cb.tables(release, limit=3)) == []
    with pytest.raises(cb.InconsistentRelease):
        cb.posterior(release, prior=prior)
    with pytest.raises(cb.InconsistentRelease):
        cb.sample(release, 3, rng=1, prior=prior)


def near(found: float, exact: Fraction, error: Fraction) -> bool:
    return abs(Fraction(found) - exact) <= error * abs(exact)


def check_posterior(release: cb.Release, law: Law, expected: Weighing) -> None:
    post = cb.posterior(release, prior=law.prior)
    assert post.exact
    assert 0 <= post.error < 1e-9
    error = Fraction(post.error) + ROUNDING
    domain = release.domain
    for cell, (labels, index) in enumerate(
        zip(domain.cells(), np.ndindex(domain.shape), strict=True)
    ):
        check_distribution(post[labels], expected, cell, error)
        one = post[labels]
        assert post.mean[index] == one.mean
        assert post.sd[index] == one.sd
        assert post.median[index] == one.median
        assert post.mode[index] == one.mode
        assert post.quantile("0.9")[index] == one.quantile("0.9")
        assert post.at_most(3)[index] == one.at_most(3)
    best = flat(post.joint_mode)
    assert best in expected.tables
    if best not in expected.joint_modes:
        # Two tables that doubles cannot tell apart.
        weight = expected.probabilities[best]
        assert weight >= max(expected.probabilities.values()) * (1 - error)


def check_distribution(found, expected: Weighing, cell: int, error: Fraction) -> None:
    exact = expected.distribution(cell)
    values = found.values.tolist()
    assert values == sorted(set(values))
    for value, probability in zip(values, found.probabilities.tolist(), strict=True):
        assert near(probability, exact.get(value, Fraction(0)), error)
        assert found[value] == probability
    assert set(exact) <= set(values)
    assert near(found.mean, expected.mean(cell), 2 * error)
    variance = expected.variance(cell)
    # The spread is a sum of squares around a rounded mean.
    assert math.isclose(found.sd, math.sqrt(variance), rel_tol=1e-9, abs_tol=1e-9)
    for level in ("0.025", "0.5", "0.8", "1"):
        reached = Fraction(level) - Fraction("1e-12")
        assert found.quantile(level) == expected.quantile(cell, reached)
    assert found.median == found.quantile("0.5")
    top = max(exact.values())
    assert exact[found.mode] >= top * (1 - 2 * error)
    assert near(found.at_most(3), expected.at_most(cell, 3), 2 * error)


def check_draws(release: cb.Release, law: Law, expected: Weighing) -> None:
    draws = cb.sample(release, 12, rng=5, prior=law.prior, method="exact")
    assert draws.counts.shape == (12, *release.domain.shape)
    drawn = [flat(table) for table in draws]
    assert drawn == [tuple(one) for one in draws.counts.reshape(12, -1).tolist()]
    assert set(drawn) <= set(expected.probabilities)
    again = cb.sample(release, 12, rng=5, prior=law.prior, method="exact")
    assert np.array_equal(draws.counts, again.counts)


def check(release: cb.Release, tables: np.ndarray, law: Law) -> None:
    if currently_in_test_context():
        note(f"{release.to_dict()}")
    if not len(tables):
        check_nothing_fits(release, law.prior)
        return
    expected = weigh(tables, law)
    check_list(release, expected.tables)
    check_posterior(release, law, expected)
    check_draws(release, law, expected)


# Random releases.


@given(weighed_releases("conditional"))
def test_one_conditional(weighed):
    check(*weighed)


@few(2)
@given(weighed_releases("margins"))
def test_exact_margins(weighed):
    check(*weighed)


@few(2)
@given(weighed_releases("mixture"))
def test_mixtures(weighed):
    check(*weighed)


@few(3)
@given(data=st.data())
def test_cells_that_a_prior_rules_out(data):
    """With probability 0 a cell is empty; if every table needs it, no table has any mass."""
    release, tables = data.draw(EITHER)
    law = data.draw(laws(release, zeros=True))
    assume(len(tables))
    expected = weigh(tables, law)
    if expected.mass:
        check_posterior(release, law, expected)
        check_draws(release, law, expected)
        return
    assert cb.count_tables(release) == len(tables)
    with pytest.raises(cb.InvalidInput):
        cb.posterior(release, prior=law.prior)
    with pytest.raises(cb.InvalidInput):
        cb.sample(release, 2, rng=1, prior=law.prior)


@few(4)
@given(data=st.data())
def test_the_poisson_means(data):
    """Given a table, a mean is Gamma(shape + count, scale / (1 + scale)); tables are mixed."""
    from scipy.special import gammainc

    release, tables = data.draw(EITHER)
    size, shape = release.domain.size, release.domain.shape
    numbers = st.lists(st.sampled_from(NUMBERS), min_size=size, max_size=size)
    shapes, scales = data.draw(numbers), data.draw(numbers)
    assume(len(tables))
    law = gamma_poisson(shapes, scales, shape)
    expected = weigh(tables, law)
    rates = cb.posterior(release, prior=law.prior).rates
    for cell, labels in enumerate(release.domain.cells()):
        shrunk = scales[cell] / (1 + scales[cell])
        mean = expected.mean(cell) + shapes[cell]
        found, exact = rates[labels], expected.distribution(cell)
        assert math.isclose(found.mean, mean * shrunk, rel_tol=1e-9)
        spread = math.sqrt(expected.variance(cell) + mean) * shrunk
        assert math.isclose(found.sd, spread, rel_tol=1e-9)
        counts, chances = (np.array([*map(float, one)]) for one in zip(*exact.items(), strict=True))
        for level in (0.025, 0.5, 0.9):
            at = found.quantile(level) / float(shrunk)
            below = gammainc(counts + float(shapes[cell]), at) @ chances
            assert math.isclose(below, level, abs_tol=1e-6)


# Shapes at the edge.

ONE = cb.Domain({"a": ["x"], "b": ["y"]})
ROW = cb.Domain({"a": ["x"], "b": ["y", "z", "w"]})
COLUMN = cb.Domain({"a": ["x", "y", "z"], "b": ["w"]})
SQUARE = cb.Domain({"a": ["x", "y"], "b": ["z", "w"]})


def rates(domain: cb.Domain, figures: list, **options) -> cb.Conditional:
    return cb.Conditional(["b"], given=["a"], rates=figures, **options)


EDGES = {
    "one cell": cb.Release(ONE, [cb.Total(4)]),
    "one cell of any count": cb.Release(ONE, [cb.Total(lower=2, upper=6)]),
    "nobody": cb.Release(SQUARE, [cb.Total(0)]),
    "nobody at most": cb.Release(SQUARE, [cb.Total(upper=0)]),
    "a margin of nobody": cb.Release(SQUARE, [cb.Margin(["a"], [0, 0])]),
    "one row": cb.Release(ROW, [cb.Total(7), rates(ROW, [["0.3", "0.3", "0.4"]], eps="0.1")]),
    "one column": cb.Release(COLUMN, [cb.Total(5), rates(COLUMN, [["1"], ["1"], ["1"]])]),
    "a row of zeros": cb.Release(
        COLUMN, [cb.Total(5), rates(COLUMN, [["1"], [None], ["1"]], missing="zero")]
    ),
    "fewer records than rows": cb.Release(
        SQUARE, [cb.Total(1), rates(SQUARE, [["0.5", "0.5"]] * 2, eps="0.5")]
    ),
    "fewer records than the rows' denominators": cb.Release(
        SQUARE, [cb.Total(9), rates(SQUARE, [["1/5", "4/5"], ["2/5", "3/5"]])]
    ),
    "as many records as denominators": cb.Release(
        SQUARE, [cb.Total(10), rates(SQUARE, [["1/5", "4/5"], ["2/5", "3/5"]])]
    ),
    "a range of totals": cb.Release(
        SQUARE, [cb.Total(lower=3, upper=8), rates(SQUARE, [["1/2", "1/2"], ["1/3", "2/3"]])]
    ),
    "at most so many": cb.Release(
        SQUARE, [cb.Total(upper=6), rates(SQUARE, [["0.5", "0.5"], ["0.2", "0.8"]], eps="0.2")]
    ),
    "strict at the border": cb.Release(
        SQUARE,
        [cb.Total(8), rates(SQUARE, [["0.5", "0.5"], ["0.5", "0.5"]], eps="0.25", strict=True)],
    ),
    "margins that do not add up alike": cb.Release(
        SQUARE, [cb.Margin(["a"], [3, 4]), cb.Margin(["b"], [2, 4])]
    ),
    "all counts told": cb.Release(SQUARE, [cb.Margin(["a", "b"], [[1, 2], [0, 3]])]),
    "rates of everything": cb.Release(
        SQUARE,
        [cb.Total(8), cb.Conditional(["a", "b"], rates=[["1/4", "1/4"], ["1/2", "0"]], eps="1/8")],
    ),
    "linear statements without a total": cb.Release(
        SQUARE, [cb.Linear(["a", "b"], [[1, 2], [3, 1]], upper=7)]
    ),
    "a list of sums": cb.Release(SQUARE, [cb.Total(7), cb.Known(["a"], values={"x": [1, 5, 6]})]),
}


@pytest.mark.parametrize("name", EDGES)
def test_edges(name):
    release = EDGES[name]
    size, shape = release.domain.size, release.domain.shape
    tables = listed(release, 10)
    check(release, tables, uniform())
    check(release, tables, gamma_poisson(NUMBERS[2 : 2 + size], NUMBERS[:size], shape))
    check(release, tables, poisson(NUMBERS[-size:], shape))


def test_edges_cover_both_answers():
    counts = {name: len(listed(release, 10)) for name, release in EDGES.items()}
    assert {name for name, count in counts.items() if not count} == {
        "fewer records than rows",
        "fewer records than the rows' denominators",
        "margins that do not add up alike",
    }
    assert counts["as many records as denominators"] == counts["all counts told"] == 1


def test_five_rounded_shares_beside_a_margin():
    """Found at random: limits with large coefficients, of which few tables are left."""
    domain = cb.Domain({"a": list("vwxyz"), "b": ["0", "1"]})
    shares = cb.Conditional(["a"], rates=["0.43", *["0.14"] * 4], digits=2, rounding="half-even")
    release = cb.Release(domain, [shares, cb.Margin(["b"], [None, 2]), cb.Total(upper=7)])
    tables = listed(release, 7)
    assert len(tables) == 11
    check(release, tables, uniform())


@pytest.mark.parametrize(
    "statements",
    [
        [],
        [cb.Total(lower=3)],
        [cb.Margin(["a"], [3, ">=2"])],
        [rates(SQUARE, [["1/2", "1/2"]] * 2)],
        [cb.Linear(["a"], [1, -1], equals=0)],
    ],
    ids=str,
)
def test_tables_without_end_are_not_counted(statements):
    release = cb.Release(SQUARE, statements)
    with pytest.raises(cb.UnsupportedRelease):
        cb.count_tables(release)


# Draws of whole tables.

CUBE = cb.Domain(dict.fromkeys("str", ("0", "1")))
GRID = cb.Domain({"a": ["0", "1", "2"], "b": ["0", "1", "2"]})
CHAIN = cb.Domain(dict.fromkeys("wxyz", ("0", "1")))
PAIRS = [list(pair) for pair in itertools.combinations("str", 2)]
OF_CUBE = np.array([[[2, 1], [0, 3]], [[1, 2], [2, 1]]])
OF_CHAIN = np.array([1, 0, 2, 1, 0, 1, 1, 0, 1, 1, 0, 2, 1, 0, 1, 1]).reshape(2, 2, 2, 2)


def margins_of(domain: cb.Domain, counts: np.ndarray, *names: list[str]) -> cb.Release:
    table = cb.Table(domain, counts)
    margins = [cb.Margin(one, table.margin(one).counts) for one in names]
    return cb.Release(domain, [cb.Total(table.total), *margins])


SPREAD = [Fraction(text) for text in ["3/2", "1/2", "1", "2", "1/3", "5/2", "1", "3"]]


def given_treatment(eps: str) -> cb.Release:
    """A variable is left out of the rates: summed tables are drawn first, then split."""
    figures = [["0.25", "0.75"], ["0.5", "0.5"]]
    return cb.Release(CUBE, [cb.Total(8), cb.Conditional(["r"], ["t"], rates=figures, eps=eps)])


FIXED = {
    "exact rates, rows": (
        cb.publish(cb.datasets.read("mp3"), "[mp3|gender]"),
        gamma_poisson(NUMBERS[4:8], NUMBERS[1:5], (2, 2)),
    ),
    "rounded rates": (
        cb.Release(
            GRID,
            [
                cb.Total(9),
                cb.Conditional(
                    ["b"],
                    ["a"],
                    rates=[["0.3", "0.3", "0.4"]] * 2 + [["0.5", "0.5", "0"]],
                    eps="0.2",
                ),
            ],
        ),
        poisson([*SPREAD, Fraction(1)], (3, 3)),
    ),
    "rates of a variable given another, uniform": (given_treatment("0"), uniform()),
    "rates of a variable given another": (
        given_treatment("0"),
        gamma_poisson(SPREAD, [Fraction(1, 8)] * 8, (2, 2, 2)),
    ),
    "rates of a variable given another, rounded": (
        given_treatment("0.1"),
        gamma_poisson(SPREAD, SPREAD[::-1], (2, 2, 2)),
    ),
    "two-way margins": (
        margins_of(GRID, np.array([[2, 0, 1], [1, 2, 0], [0, 1, 2]]), ["a"], ["b"]),
        uniform(),
    ),
    "two-way margins, hypergeometric": (
        margins_of(GRID, np.array([[2, 0, 1], [1, 2, 0], [0, 1, 2]]), ["a"], ["b"]),
        multinomial([Fraction(1)] * 9, (3, 3)),
    ),
    "two cliques": (
        margins_of(CUBE, OF_CUBE, ["s", "t"], ["t", "r"]),
        gamma_poisson(SPREAD, SPREAD[::-1], (2, 2, 2)),
    ),
    "three cliques, hypergeometric": (
        margins_of(CHAIN, OF_CHAIN, ["w", "x"], ["x", "y"], ["y", "z"]),
        multinomial([Fraction(1)] * 16, (2, 2, 2, 2)),
    ),
    "three cliques, uniform": (
        margins_of(CHAIN, OF_CHAIN, ["w", "x"], ["x", "y"], ["y", "z"]),
        uniform(),
    ),
    "all pairs": (margins_of(CUBE, 3 * OF_CUBE, *PAIRS), poisson(SPREAD, (2, 2, 2))),
    "a line of tables": (
        cb.Release(
            SQUARE,
            [
                cb.Linear(["a", "b"], [[4, -1], [0, 0]], equals=8),
                cb.Linear(["a", "b"], [[2, 0], [1, 0]], equals=24),
                cb.Linear(["a", "b"], [[3, 0], [0, 1]], equals=40),
            ],
        ),
        gamma_poisson([Fraction(9)] * 4, [Fraction(1, 4)] * 4, (2, 2)),
    ),
    "a range of totals, and a list": (
        cb.Release(
            SQUARE,
            [
                cb.Total(lower=5, upper=8),
                rates(SQUARE, [["0.5", "0.5"], ["0.3", "0.7"]], eps="0.2"),
                cb.Known(["a"], values={"x": [1, 2, 5]}),
            ],
        ),
        poisson(SPREAD[:4], (2, 2)),
    ),
    "rates and a margin": (
        cb.Release(
            CUBE,
            [
                cb.Margin(["s", "t"], OF_CUBE.sum(axis=2)),
                cb.Conditional(["r"], ["t"], rates=[["0.5", "0.5"], ["0.3", "0.7"]], eps="0.2"),
            ],
        ),
        uniform(),
    ),
}
SIZE = 20_000
LEVEL = 1e-6


def all_tables_of(release: cb.Release) -> np.ndarray:
    """Every consistent table, listed from the definitions; the library says only where to stop."""
    rest = [one for one in release.statements if not isinstance(one, cb.Total)]
    if all(isinstance(one, cb.Margin) for one in rest):
        axes = [tuple(map(release.domain.axis, one.variables)) for one in rest]
        counts = next(iter(cb.tables(release))).counts
        return tables_with_margins(counts, axes).reshape(-1, release.domain.size)
    return listed(release, max(table.total for table in cb.tables(release)))


@pytest.mark.parametrize("name", FIXED)
def test_exact_draws_follow_the_exact_distribution(name):
    release, law = FIXED[name]
    expected = weigh(all_tables_of(release), law)
    assert len(expected.tables) > 5
    draws = cb.sample(release, SIZE, rng=20090226, prior=law.prior, method="exact")
    assert goodness_of_fit(draws.counts.reshape(SIZE, -1), expected) > LEVEL
    mean = draws.counts.reshape(SIZE, -1).mean(axis=0)
    for cell, found in enumerate(mean):
        spread = math.sqrt(expected.variance(cell) / SIZE)
        assert abs(found - expected.mean(cell)) <= 6 * spread + 1e-12


def test_the_test_of_draws_can_fail():
    """Draws under one prior are not taken for draws under another, nor are repeated ones."""
    release, law = FIXED["two-way margins, hypergeometric"]
    tables = all_tables_of(release)
    even = cb.sample(release, SIZE, rng=3, prior="uniform", method="exact").counts
    assert goodness_of_fit(even.reshape(SIZE, -1), weigh(tables, law)) < LEVEL
    assert goodness_of_fit(even.reshape(SIZE, -1), weigh(tables, uniform())) > LEVEL
    repeated = np.repeat(even.reshape(SIZE, -1)[: SIZE // 40], 40, axis=0)
    assert goodness_of_fit(repeated, weigh(tables, uniform())) < LEVEL


def test_draws_of_different_seeds_differ():
    release, law = FIXED["all pairs"]
    one, two = (cb.sample(release, 50, rng=seed, prior=law.prior).counts for seed in (1, 2))
    assert not np.array_equal(one, two)
