"""Utility: odds ratios, tests, log-linear fits and distances, against scipy and by hand."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

import cellbounds as cb
from cellbounds.errors import InvalidInput
from cellbounds.utility import (
    compare,
    compare_loglinear,
    fit_loglinear,
    hellinger,
    independence,
    odds_ratios,
    total_variation,
)
from cellbounds.utility.loglinear import count_parameters

AWKWARD = cb.Domain(
    {"âge, années": [1, 2.5, "3, ou plus"], "b|c": ["é", ("x", 1)], "ratio": ["no", "yes"]}
)


def table_of(counts, structural=None):
    counts = np.array(counts)
    names = "ABCDE"[: counts.ndim]
    domain = cb.Domain({n: list(range(k)) for n, k in zip(names, counts.shape, strict=True)})
    return cb.Table(domain, counts, structural=structural)


def awkward(seed=1):
    rng = np.random.default_rng(seed)
    return cb.Table(AWKWARD, rng.integers(1, 30, AWKWARD.shape))


def small_counts(low=0, high=12, shapes=((2, 2), (3, 2), (1, 3), (2, 4), (3, 1))):
    def filled(shape):
        cells = st.lists(
            st.integers(low, high), min_size=math.prod(shape), max_size=math.prod(shape)
        )
        return cells.map(lambda values: np.array(values).reshape(shape))

    return st.sampled_from(shapes).flatmap(filled)


# --- odds ratios ---------------------------------------------------------------------------


@given(small_counts(low=1, high=200), st.sampled_from(["0.5", "0.9", "0.95", "0.999"]))
def test_odds_ratios_are_those_of_scipy(counts, level):
    found = odds_ratios(table_of(counts), "A", "B", level=level)
    assert found.ratios.shape == (counts.shape[0] - 1, counts.shape[1] - 1)
    assert found.notes == ()
    for i, j in itertools.product(range(1, counts.shape[0]), range(1, counts.shape[1])):
        corner = [[counts[0, 0], counts[0, j]], [counts[i, 0], counts[i, j]]]
        theirs = stats.contingency.odds_ratio(corner, kind="sample")
        ends = theirs.confidence_interval(float(level))
        assert found[i, j] == pytest.approx((theirs.statistic, ends.low, ends.high), rel=1e-12)


@pytest.mark.parametrize(
    ("counts", "ratio"),
    [
        ([[0, 3], [4, 5]], 0.0),
        ([[3, 4], [5, 0]], 0.0),
        ([[0, 3], [4, 0]], 0.0),
        ([[3, 0], [4, 5]], math.inf),
        ([[3, 4], [0, 5]], math.inf),
        ([[0, 0], [4, 5]], math.nan),
        ([[0, 4], [0, 5]], math.nan),
        ([[0, 0], [0, 0]], math.nan),
    ],
)
def test_zero_counts(counts, ratio):
    found = odds_ratios(table_of(counts), "A", "B")
    assert found.ratio == pytest.approx(ratio, nan_ok=True)
    assert stats.contingency.odds_ratio(counts, kind="sample").statistic == pytest.approx(
        ratio, nan_ok=True
    )
    assert found.interval == (0, math.inf)
    assert "count of zero" in found.notes[0]
    text = "undefined" if math.isnan(ratio) else f"{ratio:g}"
    assert f"{text}      (0, inf)" in str(found)
    entry = json.loads(json.dumps(found.to_dict(), allow_nan=False))["odds_ratios"][0]
    assert entry["ratio"] == {0.0: 0.0, math.inf: "inf"}.get(ratio)
    assert (entry["lower"], entry["upper"]) == (0, "inf")


def test_adding_a_half_by_hand():
    found = odds_ratios(table_of([[0, 3], [4, 5]]), "A", "B", add="0.5", level="0.95")
    assert found.ratio == pytest.approx(0.5 * 5.5 / (3.5 * 4.5))
    error = math.sqrt(1 / 0.5 + 1 / 3.5 + 1 / 4.5 + 1 / 5.5)
    reach = stats.norm.ppf(0.975) * error
    assert found.interval == pytest.approx(
        [found.ratio * math.exp(-reach), found.ratio * math.exp(reach)]
    )
    assert found.add == Fraction(1, 2)
    assert "0.5 added to every count" in str(found)
    assert found.to_dict()["add"] == "1/2"
    assert found.notes == ()


def test_strata_and_sums():
    trial = cb.datasets.read("koch4")
    found = odds_ratios(trial, "treatment", "recovery", given=["status", "center"])
    assert found.given == ("status", "center")
    assert found.ratios.shape == (2, 2, 1, 2)
    part = trial.margin(["status", "center", "treatment", "recovery"])
    two = part.counts[1, 0]
    assert found["2", "1", "2", "excellent"][0] == pytest.approx(
        two[0, 0] * two[1, 2] / (two[0, 2] * two[1, 0])
    )
    summed = odds_ratios(trial, "treatment", "recovery")
    over = trial.margin(["treatment", "recovery"]).counts
    assert summed["2", "modest"][0] == pytest.approx(
        over[0, 0] * over[1, 1] / (over[0, 1] * over[1, 0])
    )


def test_impossible_cells_leave_ratios_undefined():
    table = table_of([[1, 2, 3], [4, 0, 6]], structural=[[0, 0, 0], [0, 1, 0]])
    found = odds_ratios(table, "A", "B", add="0.5")
    assert math.isnan(found.ratios[0, 0])
    assert (found.lower[0, 0], found.upper[0, 0]) == (0, math.inf)
    assert found.ratios[0, 1] == pytest.approx(1.5 * 6.5 / (3.5 * 4.5))
    assert "cannot hold anybody" in found.notes[0]


def test_tables_with_one_row_have_no_odds_ratio():
    found = odds_ratios(table_of([[1, 2, 3]]), "A", "B")
    assert found.ratios.shape == (0, 2)
    assert found.cells() == []
    assert found.to_dict()["odds_ratios"] == []
    assert "odds ratio" in str(found)
    assert len(found.to_frame()) == 0
    with pytest.raises(InvalidInput, match="0 odds ratios, not one"):
        _ = found.ratio


def test_very_large_counts():
    found = odds_ratios(table_of(np.array([[10**200, 1], [1, 10**200]], dtype=object)), "A", "B")
    assert found.ratio == math.inf
    exact = odds_ratios(
        table_of(np.array([[10**25, 10**24], [10**24, 10**25]], dtype=object)), "A", "B"
    )
    assert exact.ratio == pytest.approx(100)
    with pytest.raises(InvalidInput, match=r"10\*\*308"):
        odds_ratios(table_of(np.array([[10**400, 1], [1, 1]], dtype=object)), "A", "B")


def test_odds_ratios_of_awkward_labels():
    table = awkward()
    found = odds_ratios(table, "âge, années", "b|c", given=["ratio"])
    assert found.cells()[0] == ("no", 2.5, ("x", 1))
    frame = found.to_frame(backend="pandas")
    assert list(frame.columns) == [
        "ratio_",
        "âge, années",
        "b|c",
        "ratio",
        "lower",
        "upper",
        "level",
    ]
    assert frame["ratio"].tolist() == found.ratios.ravel().tolist()
    assert "3, ou plus" in str(found)
    assert "<table>" in found._repr_html_()
    json.dumps(found.to_dict(), allow_nan=False)


def test_what_is_printed_by_accident_shows_no_statistic():
    table = table_of([[21, 76], [34, 62]])
    results = [
        odds_ratios(table, "A", "B"),
        independence(table, "A", "B"),
        compare_loglinear(table, table, "[A][B]"),
        compare(table, table),
    ]
    for found in results:
        assert not any(figure in repr(found) for figure in ("0.50", "0.503", "4.4", "4.5"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"level": "1"}, "between 0 and 1"),
        ({"level": 0}, "between 0 and 1"),
        ({"level": "95%"}, "0 to 1"),
        ({"add": 0.5}, "float"),
        ({"add": "-1"}, "below 0"),
        ({"given": "C"}, "give a list"),
        ({"given": ["Z"]}, "unknown variable 'Z'"),
        ({"given": ["A"]}, "named twice"),
        ({"rows": "B"}, "named twice"),
        ({"rows": ["A"]}, "name one variable"),
    ],
)
def test_bad_questions_about_odds(arguments, message):
    table = table_of(np.ones((2, 2, 2), dtype=int))
    with pytest.raises(InvalidInput, match=message):
        odds_ratios(table, **{"rows": "A", "columns": "B", **arguments})


def test_groups_that_share_out_everybody_may_be_asked_about():
    children = cb.datasets.read("delinquent").grouped(
        "region", of="county", levels={"w": ["Alpha", "Beta"], "e": ["Gamma", "Delta"]}
    )
    two = children.margin(["region", "education"]).counts
    found = odds_ratios(children, "region", "education")
    assert found["e", "High"][0] == pytest.approx(two[0, 0] * two[1, 2] / (two[0, 2] * two[1, 0]))
    overlapping = children.grouped(
        "both", of="county", levels={"w": ["Alpha", "Beta"], "e": ["Beta", "Gamma", "Delta"]}
    )
    with pytest.raises(InvalidInput, match="overlap"):
        odds_ratios(overlapping, "both", "education")


# --- tests of independence -----------------------------------------------------------------


@given(small_counts(), st.booleans())
def test_independence_is_that_of_scipy(counts, correction):
    if not counts.any():
        return
    found = independence(table_of(counts), "A", "B", correction=correction)
    left = counts[counts.any(axis=1)][:, counts.any(axis=0)]
    for lambda_, value, p in (
        ("pearson", found.chi_squared, found.chi_squared_p),
        ("log-likelihood", found.g, found.g_p),
    ):
        theirs = stats.chi2_contingency(left, correction=correction, lambda_=lambda_)
        assert value == pytest.approx(theirs.statistic, rel=1e-9, abs=1e-9)
        assert p == pytest.approx(theirs.pvalue, rel=1e-7, abs=1e-12)
        assert found.degrees == theirs.dof
        assert found.smallest_expected == pytest.approx(theirs.expected_freq.min())
    dropped = left.shape != counts.shape
    assert any("left out" in note for note in found.notes) is dropped
    assert any("nothing to test" in note for note in found.notes) is (found.degrees == 0)


@given(small_counts(shapes=((2, 2, 2), (3, 2, 3), (2, 3, 2))))
def test_strata_add_up(counts):
    if not counts.any():
        return
    found = independence(table_of(counts), "B", "C", given=["A"])
    parts = [independence(table_of(part), "A", "B") for part in counts if part.any()]
    assert found.chi_squared == pytest.approx(sum(part.chi_squared for part in parts), abs=1e-9)
    assert found.g == pytest.approx(sum(part.g for part in parts), abs=1e-9)
    assert found.degrees == sum(part.degrees for part in parts)
    if found.degrees:
        assert found.g_p == pytest.approx(stats.chi2.sf(found.g, found.degrees))
    # Conditional independence is the model [A,B][A,C].
    fit = fit_loglinear(table_of(counts), "[A,B][A,C]")
    assert found.chi_squared == pytest.approx(fit.chi_squared, abs=1e-9)
    assert found.degrees == fit.degrees


def test_levels_nobody_has_are_named():
    found = independence(table_of([[1, 0, 2], [0, 0, 0], [3, 0, 4]]), "A", "B")
    assert found.notes[:2] == ("nobody has A 1: left out", "nobody has B 1: left out")
    assert found.degrees == 1


def test_quasi_independence_by_hand():
    # A product but for the impossible diagonal: rows 1, 2, 3 times columns 4, 5, 6.
    counts = np.outer([1, 2, 3], [4, 5, 6]) * (1 - np.eye(3, dtype=int))
    table = table_of(counts, structural=np.eye(3))
    found = independence(table, "A", "B")
    assert found.chi_squared == pytest.approx(0, abs=1e-12)
    assert found.degrees == 6 - 5
    assert any("quasi-independence" in note for note in found.notes)
    with pytest.raises(InvalidInput, match="structural zeros"):
        independence(table, "A", "B", correction=True)


def test_a_table_of_nobody_has_no_test():
    with pytest.raises(InvalidInput, match="holds nobody"):
        independence(table_of([[0, 0], [0, 0]]), "A", "B")


def test_how_independence_looks():
    found = independence(awkward(), "âge, années", "ratio", given=["b|c"])
    assert "independence of âge, années and ratio given b|c" in str(found)
    assert found.to_frame(backend="polars")["statistic"].to_list() == ["chi-squared", "G"]
    assert found.to_dict()["format"] == "cellbounds-utility/1"
    json.dumps(found.to_dict(), allow_nan=False)
    assert "with continuity correction" in str(
        independence(awkward(), "b|c", "ratio", correction=True)
    )


# --- log-linear models ---------------------------------------------------------------------


def margin_of(counts, axes):
    others = tuple(axis for axis in range(counts.ndim) if axis not in axes)
    return counts.sum(axis=others, keepdims=True).astype(float)


SHAPES = ((2, 2, 2), (2, 3, 2), (3, 2, 4), (1, 3, 2))


@given(small_counts(low=0, high=9, shapes=SHAPES))
def test_decomposable_models_have_closed_forms(counts):
    if not counts.any():
        return
    closed = {
        "[A][B][C]": margin_of(counts, [0])
        * margin_of(counts, [1])
        * margin_of(counts, [2])
        / counts.sum() ** 2,
        "[A,B][C]": margin_of(counts, [0, 1]) * margin_of(counts, [2]) / counts.sum(),
        "[A,B][B,C]": margin_of(counts, [0, 1])
        * margin_of(counts, [1, 2])
        / np.where(margin_of(counts, [1]) > 0, margin_of(counts, [1]), 1),
        "[A,B,C]": counts.astype(float),
    }
    for model, expected in closed.items():
        fit = fit_loglinear(table_of(counts), model)
        np.testing.assert_allclose(fit.fitted, expected, rtol=1e-10, atol=1e-12)
        assert fit.converged
        assert fit.passes <= 2
        positive = expected > 0
        seen, expected = counts[positive], expected[positive]
        assert fit.chi_squared == pytest.approx(((seen - expected) ** 2 / expected).sum(), abs=1e-9)
        filled = seen > 0
        g = 2 * (seen[filled] * np.log(seen[filled] / expected[filled])).sum()
        assert fit.g == pytest.approx(g, abs=1e-8)


def design_of(shape, model):
    """Indicators of every margin cell: too many columns, the right rank."""
    cells = list(itertools.product(*map(range, shape)))
    columns = [
        [
            all(cell[axis] == level for axis, level in zip(axes, levels, strict=True))
            for cell in cells
        ]
        for axes in model
        for levels in itertools.product(*(range(shape[axis]) for axis in axes))
    ]
    return np.array(columns, dtype=float).T


MODELS = (
    [(0,), (1,), (2,)],
    [(0, 1), (2,)],
    [(0, 1), (1, 2)],
    [(0, 1), (1, 2), (0, 2)],
    [(0, 1, 2)],
    [(0, 1), (1,), (2,)],
)


@given(small_counts(high=2, shapes=SHAPES), st.sampled_from(MODELS), st.integers(0, 2**24 - 1))
def test_degrees_of_freedom_are_cells_less_rank(counts, model, bits):
    # Impossible cells among the empty ones, taken from the bits of a number.
    mask = np.array([bits >> k & 1 for k in range(counts.size)], dtype=bool).reshape(counts.shape)
    structural = mask & (counts == 0)
    if not counts.any():
        return
    names = [["ABC"[axis] for axis in axes] for axes in model]
    fit = fit_loglinear(table_of(counts, structural), names, passes=5)
    kept = ~structural
    for axes in model:
        kept = kept & (margin_of(counts, axes) > 0)
    rank = np.linalg.matrix_rank(design_of(counts.shape, model)[kept.ravel()])
    assert fit.parameters == rank
    assert fit.degrees == kept.sum() - rank
    assert (fit.fitted[~kept] == 0).all()
    if kept.all():
        assert rank == count_parameters(table_of(counts).domain, names)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("model", ["[A,B][B,C][A,C]", "[A,B][C]", "[A,B][B,C][C,D][A,D]"])
def test_fits_maximise_the_poisson_likelihood(seed, model):
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 40, (2, 3, 2, 2) if "D" in model else (2, 3, 2))
    fit = fit_loglinear(table_of(counts), model)
    axes = [
        ["ABCD".index(name) for name in part if name in "ABCD"] for part in model.split("]")[:-1]
    ]
    design = design_of(counts.shape, axes)
    seen = counts.ravel()

    def loss(beta):
        eta = design @ beta
        return float(np.exp(eta).sum() - seen @ eta)

    def slope(beta):
        return design.T @ (np.exp(design @ beta) - seen)

    start = np.full(design.shape[1], math.log(seen.mean()) / len(axes))
    best = optimize.minimize(loss, start, jac=slope, method="BFGS", options={"gtol": 1e-7})
    np.testing.assert_allclose(fit.fitted.ravel(), np.exp(design @ best.x), rtol=1e-5)
    assert (
        loss(np.linalg.lstsq(design, np.log(fit.fitted.ravel()), rcond=None)[0]) <= best.fun + 1e-8
    )


def test_criteria_and_p_values():
    trial = cb.datasets.read("koch4")
    fit = fit_loglinear(trial, "[center,recovery][status,recovery][treatment]")
    assert (fit.degrees, fit.parameters) == (14, 24 - 14)
    assert fit.g_p == pytest.approx(stats.chi2.sf(fit.g, 14))
    assert fit.chi_squared_p == pytest.approx(stats.chi2.sf(fit.chi_squared, 14))

    # Up to a constant, AIC and BIC are those of the Poisson likelihood.
    def likelihood(fitted):
        return stats.poisson.logpmf(trial.counts, fitted).sum()

    other = fit_loglinear(trial, "[center][status][treatment][recovery]")
    assert fit.aic - other.aic == pytest.approx(
        2 * (fit.parameters - other.parameters)
        - 2 * (likelihood(fit.fitted) - likelihood(other.fitted))
    )
    assert fit.bic - fit.aic == pytest.approx(-14 * (math.log(193) - 2))
    saturated = fit_loglinear(trial, [trial.domain.names])
    assert (saturated.degrees, saturated.g, saturated.g_p) == (0, 0, 1)


def test_variables_outside_the_model_are_summed_over():
    trial = cb.datasets.read("analgesic")
    fit = fit_loglinear(trial, "[response][treatment]")
    assert fit.domain.names == ("treatment", "response")
    same = independence(trial, "treatment", "response")
    assert fit.chi_squared == pytest.approx(same.chi_squared)
    assert fit.g == pytest.approx(same.g)


def test_terms_are_log_odds_ratios():
    trial = cb.datasets.read("analgesic").margin(["treatment", "response"])
    terms = fit_loglinear(trial, "[treatment,response]").terms
    assert terms[1, 1] == pytest.approx(math.log(21 * 62 / (76 * 34)))
    assert terms[0, 0] == pytest.approx(math.log(21))
    assert terms[1, 0] == pytest.approx(math.log(34 / 21))
    assert fit_loglinear(trial, "[treatment][response]").terms[1, 1] == pytest.approx(0, abs=1e-12)
    assert math.isnan(fit_loglinear(table_of([[0, 1], [2, 3]]), "[A,B]").terms[1, 1])


def test_an_estimate_on_the_boundary_is_said_not_to_converge():
    # No two-way margin is zero, but only the table itself fits them (Haberman's example).
    counts = np.full((2, 2, 2), 5)
    counts[0, 0, 0] = counts[1, 1, 1] = 0
    fit = fit_loglinear(table_of(counts), "[A,B][B,C][A,C]", passes=50)
    assert not fit.converged
    assert fit.passes == 50
    assert fit.error > 1e-9
    assert "not converged" in str(fit)


def test_too_many_parameters_are_not_counted_one_by_one():
    def levels_of(size):
        counts = np.ones((size, 2, size), dtype=int)
        counts[:, 0, 0] = 0  # no person there, so that a margin of the model is zero
        return fit_loglinear(table_of(counts.tolist()), "[A,B][B,C][A,C]")

    exact, rough = levels_of(5), levels_of(40)
    assert not any("at most the true ones" in note for note in exact.notes)
    assert any("at most the true ones" in note for note in rough.notes)
    # Without the cells behind the margin: a row and a column less of one of the two layers.
    assert exact.degrees == (5 - 1) * (5 - 2)
    assert rough.degrees <= (40 - 1) * (40 - 2)


def test_a_table_of_sixty_five_thousand_cells():
    rng = np.random.default_rng(3)
    names = [f"v{k}" for k in range(16)]
    domain = cb.Domain(dict.fromkeys(names, ("n", "y")))
    table = cb.Table(domain, rng.poisson(0.3, domain.shape))
    fit = fit_loglinear(table, [names[k : k + 2] for k in range(15)])
    assert fit.converged
    assert fit.passes <= 3
    assert fit.degrees == 2**16 - 1 - 16 - 15
    assert fit.fitted.sum() == pytest.approx(table.total)


@pytest.mark.parametrize(
    "margins",
    [
        '["âge, années","b|c"]["b|c",ratio]',
        '["âge, années","b|c"] ["b|c",ratio] [ratio]',
        ['["âge, années","b|c"]', ["b|c", "ratio"]],
        [["âge, années", "b|c"], ("b|c", "ratio"), ["ratio", "b|c"]],
    ],
)
def test_ways_to_write_a_model(margins):
    fit = fit_loglinear(awkward(), margins)
    assert fit.margins == (("âge, années", "b|c"), ("b|c", "ratio"))
    assert fit.to_dict()["model"] == '["âge, années","b|c"]["b|c",ratio]'
    assert fit_loglinear(awkward(), fit.to_dict()["model"]).g == fit.g


@pytest.mark.parametrize(
    ("margins", "message"),
    [
        ("", "names no margin"),
        ([], "names no margin"),
        ("[]", "names no variable"),
        ([[]], "no variables"),
        ("[A][Z]", "unknown variable 'Z'"),
        ("[A|B]", "not a margin of a model"),
        ("[A]~5", "does not begin"),
        (["[A]~5"], "not a margin of a model"),
        ("N", "not a margin of a model"),
        (["A", "B"], "does not begin"),
        ("[A,A]", "named twice"),
        ("[A][B", "missing"),
        (5, "the model is 5; write it like"),
        (None, "the model is None"),
        ([5], r"the model is \[5\]"),
    ],
)
def test_bad_models(margins, message):
    with pytest.raises(InvalidInput, match=message):
        fit_loglinear(table_of([[1, 2], [3, 4]]), margins)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"tolerance": 0}, "tolerance"), ({"tolerance": "1"}, "tolerance"), ({"passes": 0}, "passes")],
)
def test_bad_options_of_fits(options, message):
    with pytest.raises(InvalidInput, match=message):
        fit_loglinear(table_of([[1, 2], [3, 4]]), "[A][B]", **options)
    with pytest.raises(InvalidInput, match="holds nobody"):
        fit_loglinear(table_of([[0, 0], [0, 0]]), "[A][B]")


def test_how_a_fit_looks():
    fit = fit_loglinear(awkward(), '["âge, années"][ratio]')
    assert 'log-linear model ["âge, années"][ratio]' in str(fit)
    frame = fit.to_frame(backend="pandas")
    assert list(frame.columns) == ["âge, années", "ratio", "fitted"]
    assert frame["fitted"].sum() == pytest.approx(awkward().total)
    json.dumps(fit.to_dict(), allow_nan=False)
    assert "âge" in fit._repr_html_()


def test_comparing_models_by_hand():
    true, other = table_of([[10, 20], [30, 40]]), table_of([[15, 15], [35, 35]])
    found = compare_loglinear(true, other, "[A,B]")
    assert found.g_difference == 0
    logs = np.log(other.counts) - np.log(true.counts)
    assert found.largest_log_ratio == pytest.approx(np.abs(logs).max())
    terms = [
        abs(logs[1, 0] - logs[0, 0]),
        abs(logs[0, 1] - logs[0, 0]),
        abs(logs[1, 1] - logs[1, 0] - logs[0, 1] + logs[0, 0]),
    ]
    assert found.largest_term_difference == pytest.approx(max(terms))
    assert found.term == [{"A": 1}, {"B": 1}, {"A": 1, "B": 1}][int(np.argmax(terms))]
    assert found.hellinger == pytest.approx(hellinger(true, other))
    # Shares are compared, so ten times the people are no difference.
    tenfold = compare_loglinear(true, table_of(10 * true.counts), "[A,B]")
    assert tenfold.largest_log_ratio == pytest.approx(0, abs=1e-12)
    assert tenfold.largest_term_difference == pytest.approx(0, abs=1e-12)
    independent = compare_loglinear(true, other, "[A][B]")
    assert independent.g_difference == pytest.approx(
        independence(other, "A", "B").g - independence(true, "A", "B").g
    )
    emptied = compare_loglinear(true, table_of([[0, 30], [35, 35]]), "[A,B]")
    assert emptied.largest_log_ratio == math.inf
    assert emptied.largest_term_difference is None
    assert emptied.to_dict()["largest_log_ratio"] == "inf"
    json.dumps(emptied.to_dict(), allow_nan=False)
    assert len(emptied.to_frame()) == 7


def test_what_cannot_be_in_the_true_table_cannot_be_in_the_copy():
    structural = np.eye(3, dtype=bool)
    counts = np.outer([1, 2, 3], [4, 5, 6]) * ~structural
    true = table_of(counts, structural=structural)
    found = compare_loglinear(true, table_of(counts), "[A][B]")
    assert (found.other.fitted[structural] == 0).all()
    assert found.hellinger == 0
    wrong = table_of(np.where(np.eye(3, dtype=bool), [1, 0, 0], counts))
    notes = compare(true, wrong).notes
    assert any("cannot hold anybody in the true table" in note for note in notes)


# --- distances -----------------------------------------------------------------------------


@given(small_counts(), st.data())
def test_distances_by_definition(counts, data):
    other = data.draw(small_counts(shapes=(counts.shape,)))
    if not counts.any() or not other.any():
        for distance in (hellinger, total_variation):
            with pytest.raises(InvalidInput, match="holds nobody"):
                distance(table_of(counts), table_of(other))
        return
    p = [Fraction(int(n), int(counts.sum())) for n in counts.flat]
    q = [Fraction(int(n), int(other.sum())) for n in other.flat]
    moved = total_variation(table_of(counts), table_of(other))
    assert isinstance(moved, Fraction)
    assert moved == sum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2
    shared = math.fsum(math.sqrt(a * b) for a, b in zip(p, q, strict=True))
    distance = hellinger(table_of(counts), table_of(other))
    assert distance**2 == pytest.approx(1 - shared, abs=1e-12)
    assert distance == pytest.approx(hellinger(table_of(other), table_of(counts)))
    assert 0 <= distance**2 <= moved + 1e-12 <= distance * math.sqrt(2) + 2e-12
    assert (moved == 0) is (distance < 1e-12)


def test_the_ends_of_the_distances():
    assert hellinger(table_of([3, 0]), table_of([0, 7])) == 1
    assert total_variation(table_of([3, 0]), table_of([0, 7])) == 1
    assert hellinger(table_of([3, 6]), table_of([1, 2])) < 1e-8
    assert total_variation(table_of([3, 6]), table_of([1, 2])) == 0
    large = table_of(np.array([2**62, 2**61], dtype=object))
    assert total_variation(large, table_of([1, 1])) == Fraction(1, 6)


def test_variables_and_levels_in_any_order():
    table = awkward()
    turned = cb.Domain(
        {
            "ratio": ["yes", "no"],
            "âge, années": ["3, ou plus", 1, 2.5],
            "b|c": [("x", 1), "é"],
        }
    )
    counts = np.empty(turned.shape, dtype=int)
    for labels in turned.cells():
        ratio, age, b = labels
        counts[turned.index(labels)] = table[age, b, ratio]
    same = cb.Table(turned, counts)
    assert total_variation(table, same) == 0
    assert hellinger(table, same) == 0
    found = compare(table, same, margins="[ratio]")
    assert found.overlap == (1,)
    assert found.loglinear[0].g_difference == 0


@pytest.mark.parametrize(
    ("domain", "message"),
    [
        ({"A": [0, 1], "C": [0, 1]}, "has the variables 'A', 'C'"),
        ({"A": [0, 1]}, "has the variables 'A'"),
        ({"A": [0, 1], "B": [0, 2]}, "the level 1 of 'B' is in one table only"),
        ({"A": [0, 1], "B": ["0", "1"]}, "types int, str"),
        ({"A": [0, 1], "B": [0, 1, 2]}, "the level 2 of 'B'"),
    ],
)
def test_tables_over_other_cells_are_refused(domain, message):
    true = table_of([[1, 2], [3, 4]])
    wanted = cb.Domain(domain)
    other = cb.Table(wanted, np.ones(wanted.shape, dtype=int))
    for distance in (hellinger, total_variation, compare):
        with pytest.raises(InvalidInput, match=message):
            distance(true, other)
    with pytest.raises(InvalidInput, match="give a Table"):
        hellinger(true, true.counts)


# --- everything side by side ---------------------------------------------------------------


TRUE = [[21, 76], [34, 62]]


def test_one_copy_beside_the_true_table():
    true, other = table_of(TRUE), table_of([[19, 68], [38, 68]])
    found = compare(true, other, margins="[A][B]", level="0.9")
    assert found.copies == ("other",)
    (pair,) = found.pairs
    assert pair.true_odds.ratio == odds_ratios(true, "A", "B").ratio
    assert pair.odds[0].interval == odds_ratios(other, "A", "B", level="0.9").interval
    assert pair.tests[0].g == independence(other, "A", "B").g
    assert found.hellinger == (hellinger(true, other),)
    assert found.total_variation == (total_variation(true, other),)
    assert found.loglinear[0].true.g == pytest.approx(pair.true_test.g)
    (low, high), (other_low, other_high) = (
        np.log(odds_ratios(table, "A", "B", level="0.9").interval) for table in (true, other)
    )
    shared = min(high, other_high) - max(low, other_low)
    assert found.overlap[0] == pytest.approx(
        (shared / (high - low) + shared / (other_high - other_low)) / 2
    )
    mean, spread = found.summary["Hellinger"]
    assert mean == found.hellinger[0]
    assert math.isnan(spread)
    text = str(found)
    for part in ("compared with the true table", "90% interval", "chi-squared", "[A][B]"):
        assert part in text


def test_several_copies_have_a_mean_and_a_spread():
    copies = [table_of([[19, 68], [38, 68]]), table_of([[28, 69], [27, 69]]), table_of(TRUE)]
    found = compare(table_of(TRUE), copies)
    assert found.copies == ("copy 1", "copy 2", "copy 3")
    distances = [hellinger(table_of(TRUE), copy) for copy in copies]
    assert found.summary["Hellinger"] == pytest.approx(
        (np.mean(distances), np.std(distances, ddof=1))
    )
    assert found.overlap[2] == 1
    assert found.hellinger[2] == 0
    logs = found.pairs[0].log_ratios[:, 0]
    lines = str(found).splitlines()
    shown = next(line for line in lines if line.startswith("A, B") and "(" in line)
    for value in (math.exp(logs.mean()), logs.std(ddof=1), found.pairs[0].overlaps.mean()):
        assert f"{value:.4g}" in shown.split()
    assert [line.split()[0] for line in lines[2:4]] == ["mean", "spread"]


def test_named_copies_and_plain_values():
    named = {"a <b>": table_of([[0, 68], [38, 68]]), 2: table_of(TRUE)}
    found = compare(table_of(TRUE), named, margins="[A,B]")
    assert found.copies == ("a <b>", "2")
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["format"] == "cellbounds-utility/1"
    assert plain["level"] == 0.95
    assert plain["distances"][1] == {"copy": "2", "hellinger": 0.0, "total_variation": "0"}
    assert plain["pairs"][0]["copies"][0]["odds"]["odds_ratios"][0]["ratio"] == 0
    assert plain["pairs"][0]["copies"][0]["overlap"] == [0.5]
    assert plain["loglinear"][0]["copy"] == "a <b>"
    assert plain["loglinear"][0]["largest_log_ratio"] == "inf"
    html = found._repr_html_()
    assert "a &lt;b&gt;" in html
    assert "<b>" not in html
    for backend in ("pandas", "polars", "pyarrow"):
        frame = found.to_frame(backend=backend)
        assert frame.shape[1] == 7
    frame = found.to_frame(backend="pandas")
    assert set(frame["level"]) == {0.95}
    ratio = frame[(frame["measure"] == "odds ratio") & (frame["copy"] == "2")]
    assert ratio["true"].tolist() == ratio["other"].tolist() == [found.pairs[0].true_odds.ratio]
    assert any("count of zero" in note for note in found.notes)


def test_overlaps_of_intervals_without_ends():
    open_ended, closed = table_of([[0, 3], [4, 5]]), table_of(TRUE)
    assert compare(closed, open_ended).overlap == (0.5,)
    assert compare(open_ended, closed).overlap == (0.5,)
    both = compare(open_ended, open_ended)
    assert math.isnan(both.overlap[0])
    assert both.to_dict()["summary"][2] == {
        "measure": "interval overlap",
        "mean": None,
        "spread": None,
    }
    assert "undefined" in str(both)
    apart = compare(table_of([[900, 10], [10, 900]]), table_of([[10, 900], [900, 10]]))
    assert apart.overlap == (0,)


def test_intervals_too_short_for_doubles():
    huge = table_of(np.array([[10**40, 10**40], [10**40, 3 * 10**40]], dtype=object))
    assert compare(huge, huge).overlap == (1,)
    other = table_of(np.array([[10**40, 10**40], [10**40, 2 * 10**40]], dtype=object))
    assert compare(huge, other).overlap == (0,)


def test_pairs_of_variables():
    table = awkward()
    every = compare(table, table)
    assert [(pair.rows, pair.columns) for pair in every.pairs] == list(
        itertools.combinations(AWKWARD.names, 2)
    )
    one = compare(table, table, pairs=[["ratio", "b|c"]])
    assert [(pair.rows, pair.columns) for pair in one.pairs] == [("ratio", "b|c")]
    none = compare(table, table, pairs=[])
    assert none.pairs == ()
    assert "interval overlap" not in none.measures
    assert math.isnan(none.overlap[0])
    for pairs in (["ab"], [("ratio",)], [("ratio", "b|c", "ratio")]):
        with pytest.raises(InvalidInput, match="give pairs of variables"):
            compare(table, table, pairs=pairs)
    with pytest.raises(InvalidInput, match="unknown variable"):
        compare(table, table, pairs=[("ratio", "z")])
    with pytest.raises(InvalidInput, match="named twice"):
        compare(table, table, pairs=[("ratio", "ratio")])


def test_too_many_pairs_are_said():
    domain = cb.Domain({f"v{number}": ["no", "yes"] for number in range(11)})
    table = cb.Table(domain, np.arange(2**11).reshape(domain.shape))
    found = compare(table, table)
    assert len(found.pairs) == 45
    assert any("the first 45 of 55 pairs" in note for note in found.notes)


def test_variables_of_one_level_are_no_pair():
    one = table_of([[1, 2, 3]])
    found = compare(one, one)
    assert found.pairs == ()
    asked = compare(one, one, pairs=[("A", "B")])
    assert asked.pairs[0].true_test.degrees == 0
    assert math.isnan(asked.overlap[0])
    str(asked), asked.to_frame(), asked.to_dict()
    single = table_of([4, 5])
    assert compare(single, table_of([5, 4])).total_variation == (Fraction(1, 9),)


def test_levels_lost_in_a_copy_are_said():
    true, lost = table_of([[1, 2], [3, 4], [5, 6]]), table_of([[1, 2], [0, 0], [8, 10]])
    found = compare(true, lost)
    assert (found.pairs[0].true_test.degrees, found.pairs[0].tests[0].degrees) == (2, 1)
    assert any("fewer degrees of freedom" in note for note in found.notes)


@pytest.mark.parametrize(
    ("others", "message"),
    [
        ([], "at least one"),
        ({}, "at least one"),
        ("table", "others is a str"),
        (3, "others is a int"),
        ([[1, 2]], "'copy 1' is a list"),
        ({1: None, "1": None}, "same name"),
    ],
)
def test_bad_copies(others, message):
    with pytest.raises(InvalidInput, match=message):
        compare(table_of(TRUE), others)


def test_tables_of_nobody_are_refused():
    nobody = table_of([[0, 0], [0, 0]])
    with pytest.raises(InvalidInput, match="the true table holds nobody"):
        compare(nobody, table_of(TRUE))
    with pytest.raises(InvalidInput, match="the table 'copy 2' holds nobody"):
        compare(table_of(TRUE), [table_of(TRUE), nobody])


def test_a_bad_level_is_refused_without_pairs_too():
    with pytest.raises(InvalidInput, match="level"):
        compare(table_of(TRUE), table_of(TRUE), pairs=[], level="1.0")


def test_many_lines_are_cut_short():
    rng = np.random.default_rng(0)
    table = table_of(rng.integers(1, 9, (20, 20)))
    found = odds_ratios(table, "A", "B")
    assert "... 321 more lines: to_frame() has them all" in str(found)
    assert "... 301 more lines" in found._repr_html_()
    assert len(found.to_frame()) == 361
