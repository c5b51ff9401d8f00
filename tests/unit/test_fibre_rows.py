"""Sums over the tables of one conditional: published figures, edges, refusals."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import cellbounds as cb
from cellbounds import Conditional, Domain, Known, Margin, Release, Table, Total
from cellbounds.errors import InconsistentRelease, InvalidInput, TooMuchWork, UnsupportedRelease
from cellbounds.inference.rows.row_choices import _Proposals, _through_all
from cellbounds.inference.rows.row_fibre import rows_fibre
from cellbounds.inference.rows.row_vectors import (
    _by_exclusion,
    _by_products,
    _sum_of_products,
    row_counts,
)
from cellbounds.model.constraints import violations
from cellbounds.model.priors import GammaPoisson, Multinomial, Poisson, Uniform
from cellbounds.model.structure import gather
from cellbounds.runtime.scaled_floats import normalised


def fibre_of(release: Release, effort: float = 1e9):
    return rows_fibre(gather(release), effort)


def table_of(rates, *others, **options):
    shape = np.array(rates, dtype=object).shape
    domain = Domain({"r": list(range(shape[0])), "c": list(range(shape[1]))})
    return Release(domain, [Conditional(["c"], ["r"], rates=rates, **options), *others])


RATES = [["0.2", "0.8"], ["0.4", "0.6"]]


def test_exact_conditionals_of_the_papers():
    mp3, delinquent, koch = map(cb.datasets.read, ("mp3", "delinquent", "koch4"))

    def count(table, notation):
        return fibre_of(cb.publish(table, notation)).count()

    assert count(mp3, "[mp3|gender]") == 9
    assert count(mp3, "[gender|mp3]") == 4
    assert count(delinquent, "[education|county]") == 1
    assert count(Table(delinquent.domain, delinquent.counts * 10), "[education|county]") == 1825
    assert count(koch, "[recovery|center,status,treatment]") == 15


@pytest.mark.parametrize(
    ("first", "eps", "strict", "without", "at_least_one"),
    [
        (["0.7", "0.1", "0.1", "0.1"], "0.1", False, 157496402139342, 63167039741158),
        (["0.7", "0.1", "0.1", "0.1"], "0.1", True, 33047538752291, 33047538752291),
        (["0.7", "0.1", "0.1", "0.1"], "0.05", False, 29404619407, 29404619407),
        (["0.7", "0.1", "0.1", "0.1"], "0.05", True, 12367835571, 12367835571),
    ],
)
def test_rounded_conditionals_of_the_papers(first, eps, strict, without, at_least_one):
    rates = [
        first,
        ["0.3", "0.2", "0.2", "0.3"],
        ["0.1", "0.4", "0.4", "0.1"],
        ["0.3", "0.4", "0.2", "0.1"],
    ]
    assert fibre_of(table_of(rates, Total(135), eps=eps, strict=strict)).count() == without
    known = Known(["r", "c"], lower=1)
    release = table_of(rates, Total(135), known, eps=eps, strict=strict)
    assert fibre_of(release).count() == at_least_one


@pytest.mark.parametrize(
    ("eps", "strict", "count", "mode", "cell"),
    [
        ("0.05", False, 12331, [23, 69, 45, 56], (21.9176254285, 2.162724145, 18, 26, 1, 47)),
        ("0.05", True, 11609, [22, 67, 46, 58], (21.6807690551, 2.1667940061, 17, 26, 1, 46)),
        ("0.1", False, 49362, [27, 63, 51, 52], (26.6755169025, 2.6090430076, 21, 32, 1, 57)),
    ],
)
def test_document_002_two_way(eps, strict, count, mode, cell):
    release = table_of(RATES, Total(193), eps=eps, strict=strict)
    fibre = fibre_of(release)
    assert fibre.count() == count
    weighed = fibre.weighted(GammaPoisson(193, "1/4").weights(release.domain))
    assert weighed.mode().tolist() == mode
    assert described(weighed.distribution(0)) == pytest.approx(cell, abs=1e-9)


def described(found) -> tuple[float, ...]:
    ends = int(found.values[0]), int(found.values[-1])
    return (found.mean, found.sd, found.quantile("0.025"), found.quantile("0.975"), *ends)


@pytest.mark.parametrize(
    ("eps", "strict", "count", "cell"),
    [
        ("0.05", False, 31529550048, (10.945512023, 2.6095615042, 6, 16, 0, 47)),
        ("0.05", True, 29881698624, (10.8244148086, 2.5981872395, 6, 16, 0, 46)),
        ("0.1", False, 122759448134, (13.3423412277, 2.9387147702, 8, 19, 0, 57)),
    ],
)
def test_document_002_with_a_variable_omitted(eps, strict, count, cell):
    domain = Domain({"t": [0, 1], "r": [0, 1], "s": [0, 1]})
    statement = Conditional(["r"], ["t"], rates=RATES, eps=eps, strict=strict)
    fibre = fibre_of(Release(domain, [Total(193), statement]))
    assert fibre.count() == count
    weighed = fibre.weighted(GammaPoisson(193, "1/4").weights(domain))
    for part in (0, 1):
        assert described(weighed.distribution(part)) == pytest.approx(cell, abs=1e-9)


def test_a_release_of_other_statements_is_refused():
    domain = Domain({"r": [0, 1], "c": [0, 1]})
    with pytest.raises(UnsupportedRelease, match="0 statements of rates"):
        rows_fibre(gather(Release(domain, [Total(5)])), 1e9)


def test_without_an_upper_limit_of_n_there_may_be_infinitely_many():
    with pytest.raises(UnsupportedRelease, match="infinitely many"):
        rows_fibre(gather(table_of(RATES, Total(lower=4))), 1e9)


def test_published_row_sums_limit_n():
    release = table_of(RATES, Margin(["r"], [10, 20]))
    assert [table.tolist() for table in fibre_of(release).listed()] == [[2, 8, 8, 12]]
    bounded = table_of([["1/5", "4/5"], ["2/5", "3/5"]], Known(["r", "c"], upper=8))
    tables = [table.tolist() for table in fibre_of(bounded).listed()]
    assert tables == [[1, 4, 2, 3], [1, 4, 4, 6], [2, 8, 2, 3], [2, 8, 4, 6]]


def test_row_sums_that_leave_too_little_for_n():
    release = table_of(RATES, Margin(["r"], [10, 20]), Total(lower=31))
    with pytest.raises(InconsistentRelease):
        rows_fibre(gather(release), 1e9)


def test_nobody_at_all():
    release = table_of([[None, None], [None, None]], Total(upper=10**15), missing="zero")
    fibre = fibre_of(release)
    assert fibre.count() == 1
    assert [table.tolist() for table in fibre.listed()] == [[0, 0, 0, 0]]
    weighed = fibre.weighted(Poisson(2).weights(release.domain))
    assert weighed.log_mass == 0
    assert weighed.mode().tolist() == [0, 0, 0, 0]
    assert weighed.draw(2, np.random.default_rng(0)).tolist() == [[0] * 4] * 2
    assert weighed.distribution(3).values.tolist() == [0]


def test_one_column_holds_the_row_sums():
    release = table_of([["1"], ["1"]], Total(5))
    fibre = fibre_of(release)
    assert [table.tolist() for table in fibre.listed()] == [[1, 4], [2, 3], [3, 2], [4, 1]]
    found = fibre.weighted(Multinomial().weights(release.domain)).distribution(0)
    assert found.probabilities == pytest.approx(np.array([5, 10, 10, 5]) / 30)


def test_a_row_of_suppressed_rates_holds_anything():
    release = table_of([[None] * 4], Total(30), missing="suppressed")
    assert fibre_of(release).count() == math.comb(33, 3)


def test_many_columns_are_counted_alike_in_all_ways():
    rates = [["0.02", "0.03", "0.05", "0.1", "0.1", "0.15", "0.25", "0.3"]]
    line = fibre_of(table_of(rates, Total(upper=160), eps="0.04")).system.types[0]
    _, lower, upper = line.boxes
    rest = line.sums - lower.sum(axis=0)
    by_exclusion = _by_exclusion(upper - lower, [1] * 8, rest)
    assert row_counts(line, 1e9) == by_exclusion
    assert _by_products(line, line.sums, lower, upper, 1e9) == by_exclusion
    running = [
        _sum_of_products([[1] * (width + 1) for width in widths], left)
        for widths, left in zip((upper - lower).T.tolist(), rest.tolist(), strict=True)
    ]
    assert running == by_exclusion
    assert max(by_exclusion) > 10**6


def test_the_first_of_very_many_tables_comes_at_once():
    rates = [["0.1", "0.2", "0.3", "0.4"]] * 12
    release = table_of(rates, Total(5000), eps="0.05")
    fibre = fibre_of(release)
    assert fibre.count() > 10**40
    for table in itertools.islice(fibre.listed(), 20):
        assert not violations(Table(release.domain, table.reshape(12, 4)), release)


def test_of_equally_likely_tables_the_first_is_the_mode():
    release = table_of(RATES, Total(60), eps="0.2")
    fibre = fibre_of(release)
    first = next(fibre.listed())
    assert fibre.weighted(Uniform().weights(release.domain)).mode().tolist() == first.tolist()


def test_draws_are_those_of_the_seed():
    release = table_of(RATES, Total(60), eps="0.1")
    weighed = fibre_of(release).weighted(Poisson(3).weights(release.domain))
    drawn = [weighed.draw(50, np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert (drawn[0] == drawn[1]).all()
    assert (drawn[0] != drawn[2]).any()
    assert drawn[0].dtype == np.int64
    assert weighed.draw(0, np.random.default_rng(1)).shape == (0, 4)


def test_a_prior_without_weight_on_any_table():
    release = table_of(RATES, Total(60), eps="0.1")
    weights = Multinomial([["0", "1"], ["1", "1"]]).weights(release.domain)
    with pytest.raises(InvalidInput, match="no weight to any consistent table"):
        fibre_of(release).weighted(weights)


@pytest.mark.parametrize("doing", ["count", "weighed"])
def test_more_work_than_the_effort_is_refused(doing):
    release = table_of(RATES, Total(10**12), eps="0.1")
    fibre = fibre_of(release)
    with pytest.raises(TooMuchWork, match="raise effort="):
        if doing == "count":
            fibre.count()
        else:
            fibre.weighted(Uniform().weights(release.domain))


def test_drawing_keeps_to_the_effort():
    release = table_of(RATES, Total(3000), eps="0.1")
    weighed = fibre_of(release, 1e7).weighted(GammaPoisson(2, 1).weights(release.domain))
    with pytest.raises(TooMuchWork, match="drawing 1000000 tables"):
        weighed.draw(1_000_000, np.random.default_rng(0))


def test_exact_rates_of_very_large_tables():
    release = table_of([["1/3", "2/3"], ["2/5", "3/5"]], Total(30_000_000_000_000_001))
    with pytest.raises(TooMuchWork):
        fibre_of(release).count()


@pytest.mark.parametrize("way", ["through all", "rejection"])
def test_both_ways_to_draw_from_products_agree_with_the_products(way):
    from scipy.stats import chi2

    rng = np.random.default_rng(7)
    offsets = np.array([0, 1, 2, 3, 5, 8, 13])
    weights = normalised([3.0, 1.0, 0.0, 2.0, 5.0, 1.0, 9.0], 40)
    after = normalised(rng.random(12), -700)
    left, size = 9, 20_000
    whole = rng.integers(left, left + 1, size=size)
    if way == "rejection":
        drawn = _Proposals(offsets, weights, after).drawn(whole, rng)
    else:
        drawn = _through_all(whole, offsets, weights, after, rng)
    products = [
        math.ldexp(weights.mantissa[k], int(weights.exponent[k]) - 40)
        * math.ldexp(after.mantissa[left - o], int(after.exponent[left - o]) + 700)
        if o <= left
        else 0.0
        for k, o in enumerate(offsets.tolist())
    ]
    expected = np.array(products) / sum(products) * size
    seen = np.bincount(drawn, minlength=len(offsets))
    assert not seen[expected == 0].any()
    possible = expected > 0
    statistic = ((seen - expected)[possible] ** 2 / expected[possible]).sum()
    assert chi2.sf(statistic, possible.sum() - 1) > 1e-4


def test_long_level_products_by_balls_are_those_summed_term_by_term():
    from cellbounds.inference.rows import polynomials as products
    from cellbounds.inference.rows.polynomials import multiply

    rng = np.random.default_rng(4)
    size = products.SHORT + 500
    left, right = (normalised(rng.random(size), rng.integers(-100, 100, size)) for _ in range(2))
    by_balls = products.product(left, right)
    summed = multiply(left, right, np.arange(size))
    assert (by_balls.exponent == summed.exponent).mean() > 0.999
    ratio = by_balls.mantissa / summed.mantissa
    assert np.allclose(np.ldexp(ratio, by_balls.exponent - summed.exponent), 1, rtol=1e-14)
