"""p-values of conditional tests against sums over all tables, from the definitions."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

import cellbounds as cb
from bruteforce import compositions, consistent_tables
from strategies import examples

DIGITS = 60

MODELS = {
    (2, 2): ["[a][b]"],
    (2, 3): ["[a][b]"],
    (3, 2): ["[a][b]", "[a,b]"],
    (2, 2, 2): ["[a][b][c]", "[a,b][c]", "[a,b][b,c]", "[a,b][a,c][b,c]"],
}


def margin(counts: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    others = tuple(axis for axis in range(counts.ndim) if axis not in axes)
    return counts.sum(axis=others)


def same_margins(counts: np.ndarray, model: str) -> list[np.ndarray]:
    """Every table with the model's margins, found among all tables with as many records."""
    sets = [tuple("abc".index(name) for name in part.split(",")) for part in parts(model)]
    wanted = [margin(counts, axes) for axes in sets]
    return [
        table
        for flat in compositions(int(counts.sum()), counts.size)
        for table in [np.array(flat).reshape(counts.shape)]
        if all((margin(table, a) == w).all() for a, w in zip(sets, wanted, strict=True))
    ]


def parts(model: str) -> list[str]:
    return model.strip("[]").split("][")


def expected(counts: np.ndarray, model: str) -> list[Fraction]:
    """The mean over the fibre, which decomposable models expect."""
    whole, sums = Fraction(0), [Fraction(0)] * counts.size
    for table in same_margins(counts, model):
        weight = Fraction(1, math.prod(math.factorial(int(n)) for n in table.flat))
        whole += weight
        sums = [s + weight * int(n) for s, n in zip(sums, table.flat, strict=True)]
    return [s / whole for s in sums]


def pearson(table: np.ndarray, means: list[Fraction]) -> Fraction:
    return sum(
        ((int(n) - m) ** 2 / m for n, m in zip(table.flat, means, strict=True) if m), Fraction(0)
    )


def deviance(table: np.ndarray, means: list[Fraction]) -> Decimal:
    with localcontext() as context:
        context.prec = DIGITS
        return sum(
            (
                2 * int(n) * (Decimal(int(n)) * m.denominator / m.numerator).ln()
                for n, m in zip(table.flat, means, strict=True)
                if n
            ),
            Decimal(0),
        )


def p_value(counts: np.ndarray, model: str, statistic) -> Fraction:
    here, whole, further = statistic(counts), Fraction(0), Fraction(0)
    for table in same_margins(counts, model):
        weight = Fraction(1, math.prod(math.factorial(int(n)) for n in table.flat))
        value = statistic(table)
        whole += weight
        close = isinstance(value, Decimal) and abs(value - here) < Decimal(10) ** (20 - DIGITS)
        further += weight if value >= here or close else 0
    return further / whole


@st.composite
def small_tables(draw):
    shape = draw(st.sampled_from(sorted(MODELS)))
    flat = [0] * math.prod(shape)
    for _ in range(draw(st.integers(1, 7 if len(flat) > 6 else 10))):
        flat[draw(st.integers(0, len(flat) - 1))] += 1
    return np.array(flat).reshape(shape), draw(st.sampled_from(MODELS[shape]))


def as_table(counts: np.ndarray) -> cb.Table:
    names = dict(zip("abc", map(range, counts.shape), strict=False))
    return cb.Table(cb.Domain(names), counts)


@examples(60, 1000)
@given(small_tables())
def test_p_values_are_sums_over_all_tables(case):
    counts, model = case
    table = as_table(counts)

    def improbability(other: np.ndarray) -> int:
        return math.prod(math.factorial(int(n)) for n in other.flat)

    found = cb.utility.exact_test(table, model, "probability")
    assert found.exact == p_value(counts, model, improbability)
    assert found.tables == len(same_margins(counts, model))
    assert found.evidence is cb.Evidence.EXACT and found.error == 0 and found.draws == 0
    first = cb.utility.exact_test(table, model, lambda other: int(other.counts.flat[0]))
    assert first.exact == p_value(counts, model, lambda other: int(other.flat[0]))
    if model == "[a,b][a,c][b,c]":
        return  # what it expects is no mean over the fibre, and no fraction
    means = expected(counts, model)
    for statistic, meaning in (("chi-squared", pearson), ("G", deviance)):
        test = cb.utility.exact_test(table, model, statistic)
        value = meaning(counts, means)
        assert math.isclose(test.value, float(value), abs_tol=1e-9)
        assert test.tolerance == 0
        assert test.exact == p_value(counts, model, partial(meaning, means=means))


@examples(20, 300)
@given(small_tables())
def test_without_a_closed_form_the_deviance_orders_tables_by_products(case):
    """Given the margins, 2 sum n log(n/m) differs from 2 sum n log n by a constant."""
    counts, _ = case
    assume(counts.ndim == 3)
    model = "[a,b][a,c][b,c]"

    def powers(table: np.ndarray) -> int:
        return math.prod(int(n) ** int(n) for n in table.flat)

    test = cb.utility.exact_test(as_table(counts), model, "G")
    assert test.exact == p_value(counts, model, powers)
    fit = cb.utility.fit_loglinear(as_table(counts), model)
    if fit.converged:
        assert math.isclose(test.value, fit.g, abs_tol=1e-4)
        pearson_test = cb.utility.exact_test(as_table(counts), model)
        assert pearson_test.tolerance > 0
        assert math.isclose(pearson_test.value, fit.chi_squared, abs_tol=1e-4)
        # In 2x2x2 tables with all pairs one number moves all cells: further in it is further.
        assert pearson_test.p >= pearson_test.tied > 0


@examples(20, 300)
@given(small_tables(), st.integers(1, 2))
def test_given_a_release_of_rates(case, digits):
    counts, _ = case
    assume(counts.ndim == 2)
    table = as_table(counts)
    release = cb.publish(table, f"[b|a]@{digits}")
    found = cb.utility.exact_test(table, release, lambda other: int(other.counts.flat[-1]))
    whole = further = Fraction(0)
    for other in consistent_tables(release, int(counts.sum())):
        weight = Fraction(1, math.prod(math.factorial(int(n)) for n in other.flat))
        whole += weight
        further += weight if other.flat[-1] >= counts.flat[-1] else 0
    assert found.exact == further / whole


@examples(12, 100)
@given(small_tables(), st.integers(0, 1000))
def test_draws_agree_with_sums(case, seed):
    """Within five standard errors, and never 0 or above 1."""
    counts, model = case
    table, how = as_table(counts), {"draws": 2000, "rng": seed, "most_tables": 0}
    for statistic in ("G", "probability"):
        sums = cb.utility.exact_test(table, model, statistic)
        drawn = cb.utility.exact_test(table, model, statistic, **how)
        assert drawn.exact is None and drawn.evidence is cb.Evidence.ESTIMATED
        assert 0 < drawn.p <= 1
        if math.isfinite(drawn.error):
            assert abs(drawn.p - sums.p) <= 5 * drawn.error + 0.01
