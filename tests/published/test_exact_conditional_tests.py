"""Document 001: margins are enough for tests. p-values as printed elsewhere, or by peers."""

from __future__ import annotations

import itertools
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import cellbounds as cb

SHARED = Path(__file__).parents[3] / "shared" / "data"


def two_way(counts) -> cb.Table:
    rows, columns = np.shape(counts)
    return cb.Table(cb.Domain({"row": range(rows), "column": range(columns)}), counts)


def by_independence(counts, statistic, **how):
    return cb.utility.exact_test(two_way(counts), "[row][column]", statistic, **how)


def test_the_lady_tasting_tea():
    """Fisher 1935: 17/70 one-sided, 34/70 two-sided."""
    assert by_independence(
        [[3, 1], [1, 3]], lambda table: int(table.counts[0, 0])
    ).exact == Fraction(17, 70)
    assert by_independence([[3, 1], [1, 3]], "probability").exact == Fraction(34, 70)


def test_two_by_two_tables_as_scipy_has_them():
    """scipy's two-sided test takes tables as tied within 1e-14, ours exactly."""
    rng = np.random.default_rng(22)
    for _ in range(100):
        counts = rng.poisson(6, size=(2, 2))
        if not (counts.sum(axis=0).all() and counts.sum(axis=1).all()):
            continue
        assert by_independence(counts, "probability").p == pytest.approx(
            stats.fisher_exact(counts).pvalue
        )
        greater = stats.fisher_exact(counts, alternative="greater").pvalue
        assert by_independence(counts, lambda table: int(table.counts[0, 0])).p == pytest.approx(
            greater
        )
        chi_squared = stats.chi2_contingency(counts, correction=False).statistic
        assert by_independence(counts, "chi-squared").value == pytest.approx(chi_squared)


def test_aoki_2016_table_1():
    """arXiv 1607.07600, scores of 40 students: 2,366 tables."""
    test = by_independence([[11, 5, 2], [4, 9, 1], [2, 3, 3]], "chi-squared")
    assert test.tables == 2366
    assert f"{test.value:.4f} {test.p:.8f}" == "8.6687 0.07035480"


def test_job_satisfaction_as_r_has_it():
    """Agresti 2002, page 57: fisher.test gives 0.7827; 90 million tables, so ours are drawn."""
    counts = np.reshape([1, 2, 1, 0, 3, 3, 6, 1, 10, 10, 14, 9, 6, 7, 12, 11], (4, 4))
    test = by_independence(counts, "probability", draws=200_000, rng=1)
    assert test.draws == 200_000 and test.error < 0.001
    assert abs(test.p - 0.7827) < 4 * test.error


def test_a_table_of_2_3_4_under_every_kind_of_model_in_seconds():
    counts = np.random.default_rng(3).poisson(4, (2, 3, 4))
    table = cb.Table(cb.Domain({"a": range(2), "b": range(3), "c": range(4)}), counts)
    begun = time.perf_counter()
    for model, listed in (("[a,b][b,c][a,c]", True), ("[a,b][b,c]", False), ("[a][b][c]", False)):
        test = cb.utility.exact_test(table, model, "G")
        assert (test.exact is not None) == listed
        assert 0.2 < test.p < 0.8
    assert time.perf_counter() - begun < 60


def six_way() -> cb.Table:
    """czech6 if it is at hand; a table like it otherwise."""
    if (SHARED / "czech6.csv").exists():
        return cb.read_table(SHARED / "czech6.csv")
    rng = np.random.default_rng(6)
    levels = np.indices((2,) * 6).reshape(6, -1)
    pairs = itertools.combinations_with_replacement(levels, 2)
    weights = np.exp(sum(rng.normal(0, 0.4) * first * second for first, second in pairs))
    counts = rng.multinomial(1841, weights / weights.sum()).reshape((2,) * 6)
    return cb.Table(cb.Domain({name: ["n", "y"] for name in "abcdef"}), counts)


def test_six_two_level_variables_in_seconds():
    table = six_way()
    a, b, c, d, e, f = table.domain.names
    begun = time.perf_counter()
    drawn = cb.utility.exact_test(table, [[a, c, e], [a, d, e], [b, c], [f]], draws=5000)
    assert "decomposable" in drawn.method and drawn.tolerance == 0
    pairs = list(itertools.combinations(table.domain.names, 2))
    chain = cb.utility.exact_test(table, pairs, "G", draws=5000)
    assert chain.method == "Markov chain" and 0 < chain.error < 0.05
    # Given the margins, the statistic is nearly chi-squared with as many people.
    fit = cb.utility.fit_loglinear(table, pairs)
    assert abs(chain.p - fit.g_p) < 0.1
    assert time.perf_counter() - begun < 60


@pytest.mark.parametrize(
    ("given", "statistic", "message"),
    [
        ("[row][column]", "t", "chi-squared"),
        ("[row][column]", lambda _: "far", "gives a str"),
        ("[row][colour]", "G", "colour"),
    ],
)
def test_what_makes_no_sense_is_refused(given, statistic, message):
    with pytest.raises(cb.InvalidInput, match=message):
        cb.utility.exact_test(two_way([[3, 1], [1, 3]]), given, statistic)


def test_releases_that_make_no_model_or_do_not_fit():
    table = two_way([[3, 1], [1, 3]])
    rates = cb.publish(table, "[column|row]@1")
    with pytest.raises(cb.InvalidInput, match="probability"):
        cb.utility.exact_test(table, rates, "chi-squared")
    with pytest.raises(cb.InvalidInput, match="does not fit"):
        cb.utility.exact_test(two_way([[4, 0], [1, 3]]), rates, "probability")
    noisy = cb.publish(table, "[row]~5", count_rounding="random", rng=1)
    with pytest.raises(cb.UnsupportedRelease, match="by chance"):
        cb.utility.exact_test(table, noisy, "probability")
    margins = cb.publish(table, "[row]", "[column]")
    as_model = cb.utility.exact_test(table, "[row][column]")
    assert cb.utility.exact_test(table, margins).exact == as_model.exact
    plain = as_model.to_dict()
    assert (plain["exact"], plain["evidence"]) == ("17/35", "EXACT")
    assert "17" not in repr(as_model)
