"""Document 002: Lee and Slavković (2009), the posterior of cells given conditionals."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import cellbounds as cb
from cellbounds.papers import document002
from cellbounds.papers.printed_figures import PrintedFigure, printed_figures
from cellbounds.papers.reproduction import reproduce_papers
from cellbounds.results import Posterior
from cellbounds.utility import odds_ratios
from counting import Rule, list_tables
from figures import EXPECTED, printed
from weighing import gamma_poisson, multinomial, uniform, weigh

EXPECTED_002 = EXPECTED["document_002"]
TWO_WAY = EXPECTED_002["two_way"]
OTHER_PRIORS = EXPECTED_002["two_way_other_priors"]
THREE_WAY = EXPECTED_002["three_way"]
ODDS = EXPECTED_002["odds_ratios_with_90_percent_intervals"]

TRIAL = cb.datasets.read("analgesic")
SMALL = TRIAL.margin(["treatment", "response"])
LINE = "true + t(1,4,-2,-3)"
ROUNDED = [["0.2", "0.8"], ["0.4", "0.6"]]
GAMMA_4 = cb.priors.GammaPoisson(193, "1/4")
GAMMA_8 = cb.priors.GammaPoisson(193, "1/8")
OPTIONS = {
    "within 0.05": {"eps": "0.05"},
    "within 0.05, strict": {"eps": "0.05", "strict": True},
    "within 0.1": {"eps": "0.1"},
}


def line() -> list[cb.Linear]:
    """4 n11 - n12 = 8, 2 n11 + n21 = 76, 3 n11 + n22 = 125: the tables true + t(1,4,-2,-3)."""
    names = ("treatment", "response")
    return [
        cb.Linear(names, [[4, -1], [0, 0]], equals=8),
        cb.Linear(names, [[2, 0], [1, 0]], equals=76),
        cb.Linear(names, [[3, 0], [0, 1]], equals=125),
    ]


def two_way_release(name: str) -> cb.Release:
    if name == "both margins":
        return cb.publish(SMALL, "[treatment]", "[response]")
    if name == LINE:
        return cb.Release(SMALL.domain, line())
    return cb.publish(SMALL, "[response|treatment]@1", rule="interval", **OPTIONS[name])


def three_way_release(name: str) -> cb.Release:
    if name == "exact rates":
        return cb.publish(TRIAL, "[response|treatment]")
    if name == LINE:
        return cb.Release(TRIAL.domain, line())
    return cb.publish(TRIAL, "[response|treatment]@1", rule="interval", **OPTIONS[name])


def listed_tables(name: str) -> list[list[int]]:
    """The 2x2 tables of a set, flat, from the definitions."""
    if name == "both margins":
        return [[n, 97 - n, 55 - n, 41 + n] for n in range(56)]
    if name == LINE:
        tables = [[21 + t, 76 + 4 * t, 34 - 2 * t, 62 - 3 * t] for t in range(-193, 194)]
        return [table for table in tables if min(table) >= 0]
    if name == "exact rates":
        return [[21, 76, 34, 62]]
    options = OPTIONS[name]
    rule = Rule(Fraction(options["eps"]), options.get("strict", False))
    return [first + second for first, second in list_tables(ROUNDED, 193, rule)]


def check_cell(found, expected: dict) -> None:
    assert found.mean == pytest.approx(expected["mean"], abs=1e-9)
    assert found.sd == pytest.approx(expected["sd"], abs=1e-9)
    assert found.median == expected["median"]
    # Of several, the smallest; those that differ by less than rounding are one as good as another.
    assert found.mode in expected["modes"]
    assert [found.quantile("0.025"), found.quantile("0.975")] == expected["quantiles"]
    assert list(found.interval("0.95")) == expected["quantiles"]
    low, high, size = expected["bounds_and_size"]
    assert (found.values[0], found.values[-1], len(found.values)) == (low, high, size)
    assert found.probabilities.sum() == pytest.approx(1, abs=1e-12)


def check_cells(posterior: Posterior, expected: list[dict]) -> None:
    assert posterior.exact
    assert posterior.error < 1e-9
    for (_, found), one in zip(posterior.items(), expected, strict=True):
        check_cell(found, one)


# The tables as printed.


def test_the_tables():
    assert TRIAL.counts.tolist() == [[[15, 37], [22, 32]], [[6, 39], [12, 30]]]
    assert SMALL.counts.tolist() == [[21, 76], [34, 62]]
    assert SMALL.margin(["treatment"]).counts.tolist() == [97, 96]
    assert TRIAL.total == 193
    rates = SMALL.conditional(["response"], given=["treatment"])
    assert [printed(rate, 7) for rate in rates.flat] == [
        "0.2164948",
        "0.7835052",
        "0.3541667",
        "0.6458333",
    ]


def test_the_total_of_the_collapsed_table_is_misprinted():
    assert SMALL.margin(["response"]).counts.tolist() == [55, 138]
    assert 55 + 128 != 193 == 55 + 138


# Counts and cells given margins, and given conditionals in every reading.


@pytest.mark.parametrize("name", TWO_WAY)
def test_two_way_counts(name):
    tables = listed_tables(name)
    release = two_way_release(name)
    assert cb.count_tables(release) == len(tables) == TWO_WAY[name]["count"]
    if len(tables) < 20_000:
        found = [table.counts.ravel().tolist() for table in cb.tables(release)]
        assert sorted(found) == sorted(tables)


@pytest.mark.parametrize("name", TWO_WAY)
def test_two_way_posterior(name):
    posterior = cb.posterior(two_way_release(name), prior=GAMMA_4)
    check_cells(posterior, TWO_WAY[name]["cells"])
    assert posterior.joint_mode.counts.ravel().tolist() in TWO_WAY[name]["joint_modes"]


@pytest.mark.parametrize("name", ["both margins", LINE, "within 0.05"])
def test_two_way_posterior_in_fractions(name):
    """Every probability of every cell, from the definitions."""
    law = gamma_poisson([Fraction(193)] * 4, [Fraction(1, 4)] * 4, (2, 2))
    exact = weigh(listed_tables(name), law)
    posterior = cb.posterior(two_way_release(name), prior=law.prior)
    assert [list(table) for table in exact.joint_modes] == TWO_WAY[name]["joint_modes"]
    for cell, (_, found) in enumerate(posterior.items()):
        expected = exact.distribution(cell)
        assert found.values.tolist() == list(expected)
        for probability, right in zip(found.probabilities, expected.values(), strict=True):
            assert probability == pytest.approx(float(right), rel=1e-11)


def test_the_scale_of_the_prior_does_not_matter_if_n_is_known():
    """Its part in the weight of a table is the same for all tables with N records."""
    release = two_way_release("within 0.05")
    one, other = (cb.posterior(release, cb.priors.GammaPoisson(193, s)) for s in ("1/4", "7"))
    assert np.allclose(one.mean, other.mean, rtol=1e-12)


def test_hypergeometric():
    """Multinomial with equal probabilities; the same law by scipy."""
    from scipy.stats import hypergeom

    release = two_way_release("both margins")
    expected = OTHER_PRIORS["both margins, hypergeometric, cell 11"]
    for prior in ("hypergeometric", "multinomial", cb.priors.Multinomial(), cb.priors.Poisson(3)):
        found = cb.posterior(release, prior=prior)["1", "poor"]
        check_cell(found, expected)
        law = hypergeom(193, 55, 97)
        assert found.probabilities == pytest.approx(law.pmf(found.values), rel=1e-9)


@pytest.mark.parametrize(
    ("prior", "law"),
    [
        ("multinomial", multinomial([Fraction(1)] * 4, (2, 2))),
        ("uniform", uniform()),
    ],
)
def test_other_priors_on_the_37_tables(prior, law):
    statements = [*line(), cb.Total(193)]
    posterior = cb.posterior(cb.Release(SMALL.domain, statements), prior=prior)
    expected = OTHER_PRIORS[f"{LINE}, {prior}"]
    check_cells(posterior, expected)
    exact = weigh(listed_tables(LINE), law)
    for cell, one in enumerate(expected):
        assert exact.modes(cell) == one["modes"]
        assert float(exact.mean(cell)) == pytest.approx(one["mean"], abs=1e-9)


def test_the_37_tables_are_not_those_with_the_published_rates():
    """Moves of the rounded rates from the true table: most tables that fit are not reached."""
    tables = listed_tables(LINE)
    assert len(tables) == 37
    release = two_way_release("within 0.05")
    fitting = [
        table
        for table in tables
        if not cb.violations(cb.Table(SMALL.domain, np.reshape(table, (2, 2))), release)
    ]
    assert len(fitting) == 15
    assert cb.count_tables(release) == 12_331


# The posterior summaries as printed: means, medians, modes, quantiles, Monte Carlo errors.

PRINTED = {
    LINE: {
        "mean": ["19.3", "72.1", "36.4", "65.2"],
        "median": [19, 72, 36, 65],
        "mode": [19, 72, 36, 65],
        "quantiles": [[16, 22], [56, 80], [32, 44], [59, 77]],
        "error": ["0.0400", "0.1601", "0.0800", "0.1201"],
    },
    "both margins": {
        "mean": ["27.5", "69.5", "27.5", "68.5"],
        "median": [28, 69, 27, 69],
        "mode": [28, 69, 27, 69],
        "quantiles": [[21, 34], [63, 76], [21, 34], [62, 75]],
        "error": ["0.0689"] * 4,
    },
}


@pytest.mark.parametrize("name", PRINTED)
def test_printed_quantiles(name):
    posterior = cb.posterior(two_way_release(name), prior=GAMMA_4)
    ends = zip(posterior.quantile("0.025").flat, posterior.quantile("0.975").flat, strict=True)
    assert [list(pair) for pair in ends] == PRINTED[name]["quantiles"]


def test_printed_summaries_given_margins():
    posterior = cb.posterior(two_way_release("both margins"), prior=GAMMA_4)
    shown = PRINTED["both margins"]
    assert posterior.median.ravel().tolist() == shown["median"]
    assert posterior.mode.ravel().tolist() == shown["mode"]
    for mean, text, error in zip(posterior.mean.flat, shown["mean"], shown["error"], strict=True):
        assert abs(mean - float(text)) < 4 * float(error) + 0.05


def test_printed_summaries_given_conditionals_break_the_identities_of_the_set():
    """Whatever the draws: the mean of n12 is 4 mean(n11) - 8, and so on."""
    posterior = cb.posterior(two_way_release(LINE), prior=GAMMA_4)
    shown = PRINTED[LINE]
    first, *others = map(float, shown["mean"])
    assert abs(posterior.mean[0, 0] - first) < 4 * 0.04 + 0.05
    # Three cells follow from the first; a printed mean may be off by 0.05 through rounding.
    slopes, starts = (4, -2, -3), (-8, 76, 125)
    for mean, slope, start in zip(others, slopes, starts, strict=True):
        assert abs(mean - (start + slope * first)) > 0.05 * (1 + abs(slope))
    follow = [[start + slope * 19 for slope, start in zip(slopes, starts, strict=True)]]
    assert follow == [[68, 38, 68]]
    for what in ("median", "mode"):
        assert getattr(posterior, what).ravel().tolist() == [19, 68, 38, 68]
        assert shown[what] == [19, 72, 36, 65]
    # The quantiles and errors that are printed do keep them.
    for ends, slope, start in zip(shown["quantiles"][1:], slopes, starts, strict=True):
        assert ends == sorted(start + slope * end for end in shown["quantiles"][0])
    for error, slope in zip(shown["error"][1:], slopes, strict=True):
        assert abs(float(error) - abs(slope) * 0.04) < 0.00005 * (1 + abs(slope))


def test_exact_means_as_written():
    means = {name: cb.posterior(two_way_release(name), GAMMA_4).mean.ravel() for name in TWO_WAY}
    assert np.round(means["both margins"], 2).tolist() == [27.63, 69.37, 27.37, 68.63]
    assert np.round(means[LINE], 2).tolist() == [19.36, 69.44, 37.28, 66.92]
    assert np.round(means["within 0.05"], 2).tolist() == [21.92, 69.32, 42.9, 58.86]


def test_conditionals_estimate_better_only_if_the_set_starts_from_the_true_table():
    """Claimed of all: nearer to the true counts than given margins."""
    true = SMALL.counts
    away = {
        name: np.abs(cb.posterior(two_way_release(name), GAMMA_4).mean - true) for name in TWO_WAY
    }
    assert (away[LINE] < away["both margins"]).all()
    nearer = away["within 0.05"] < away["both margins"]
    assert nearer.ravel().tolist() == [True, False, False, True]


# The Poisson means behind the counts.


@pytest.mark.parametrize("name", TWO_WAY)
def test_poisson_means(name):
    posterior = cb.posterior(two_way_release(name), prior=GAMMA_4)
    for (labels, cell), expected in zip(posterior.items(), TWO_WAY[name]["cells"], strict=True):
        rate = posterior.rates[labels]
        assert rate.mean == pytest.approx((expected["mean"] + 193) / 5, abs=1e-9)
        spread = math.sqrt(cell.sd**2 + cell.mean + 193) / 5
        assert rate.sd == pytest.approx(spread, rel=1e-9)
        low, middle, high = map(rate.quantile, ("0.025", "0.5", "0.975"))
        assert low < middle < high
        assert abs(middle - rate.mean) < 0.1
        assert abs(high - low - 3.92 * spread) < 0.1 * spread
    assert posterior.rates.mean.shape == (2, 2)


def test_poisson_means_add_up():
    """All N and all prior means, shrunk alike: (193 + 4 * 193) / 5 = 193."""
    posterior = cb.posterior(two_way_release("within 0.05"), prior=GAMMA_4)
    assert posterior.rates.mean.sum() == pytest.approx(193, rel=1e-12)


# The 2x2x2 table.


@pytest.mark.parametrize("name", THREE_WAY)
def test_three_way(name):
    expected = THREE_WAY[name]
    release = three_way_release(name)
    summed = listed_tables(name)
    assert len(summed) == expected["summed_tables"]
    # A summed count of m is split over the two levels of status in m + 1 ways.
    count = sum(math.prod(m + 1 for m in table) for table in summed)
    assert cb.count_tables(release) == count == expected["count"]
    posterior = cb.posterior(release, prior=GAMMA_8)
    check_cells(posterior, [*expected["cells"], *expected["cells"]])
    assert not cb.violations(posterior.joint_mode, release)


def test_three_way_counts_as_written():
    assert THREE_WAY["within 0.05"]["count"] == 31_529_550_048
    assert THREE_WAY["exact rates"]["count"] == 3_735_270


def test_three_way_poisson_means():
    posterior = cb.posterior(three_way_release(LINE), prior=GAMMA_8)
    for (labels, _), expected in zip(
        posterior.items(), [*THREE_WAY[LINE]["cells"]] * 2, strict=True
    ):
        assert posterior.rates[labels].mean == pytest.approx((expected["mean"] + 193) / 9)


def test_the_summed_table_has_the_two_way_posterior_of_twice_the_shape():
    """Two cells with shape 193 add up to one with shape 386."""
    release = three_way_release("within 0.05")
    whole = cb.posterior(release, prior=GAMMA_8).mean.sum(axis=0)
    summed = cb.posterior(two_way_release("within 0.05"), cb.priors.GammaPoisson(386, "1/8")).mean
    assert np.allclose(whole, summed, rtol=1e-12)


def test_levels_of_status_are_alike():
    """Status is nowhere in what is published: each level holds half of N on average.

    The printed means of the ordinary chain add to 93.8: that far it was off.
    """
    for name in THREE_WAY:
        mean = cb.posterior(three_way_release(name), prior=GAMMA_8).mean
        assert mean[0].sum() == pytest.approx(193 / 2)
    means = [figure.printed for figure in ordinary_figures("mean")]
    assert sum(map(Fraction, means)) == Fraction("93.8")


def ordinary_figures(what: str) -> list[PrintedFigure]:
    """What the document prints for its ordinary chain: means, medians or quantiles."""
    return [
        figure
        for figure in printed_figures("002")
        if figure.place == "2x2x2 posterior, ordinary" and f": {what} " in figure.item
    ]


def spread(what: str) -> list[float]:
    """The standard deviation over runs that the figures' tolerance is three of, and rounding."""
    return [(figure.tolerance - 0.05) / 3 for figure in ordinary_figures(what)]


def chain_runs(count: int, steps: int, rng: np.random.Generator) -> np.ndarray:
    """The document's chain for the 2x2x2 table, many runs at once: (steps, runs, first 4 cells).

    Means are drawn given the table; then one of five moves, with either sign, is tried.
    """
    moves = np.array([*document002.MOVES[:-1], [0, 0, 0, 0, 1, 4, -2, -3]])
    tables = np.tile(TRIAL.counts.ravel(), (count, 1))
    log_factorial = np.array([math.lgamma(n + 1) for n in range(400)])
    seen = np.empty((steps, count, 4))
    for place in range(steps):
        logs = np.log(rng.gamma(tables + 193, 1 / 9))
        step = moves[rng.integers(5, size=count)] * rng.choice([-1, 1], size=count)[:, None]
        tried = tables + step
        change = log_factorial[np.maximum(tried, 0)] - log_factorial[tables]
        chance = (step * logs - change).sum(axis=1)
        moved = (tried >= 0).all(axis=1) & (np.log(rng.random(count)) < chance)
        tables[moved] = tried[moved]
        seen[place] = tables[:, :4]
    return seen


def test_spread_of_the_documents_chain():
    """What the printed figures of the 2x2x2 table may be off by, and that nothing else is."""
    runs = np.sort(chain_runs(100, 10_000, np.random.default_rng(7)), axis=0)
    found = {"mean": runs.mean(axis=0), "median": runs[4999]}
    low, high = runs[249], runs[9749]
    for what, figures in found.items():
        assert figures.std(axis=0, ddof=1) == pytest.approx(spread(what), rel=0.3)
    widest = np.maximum(low.std(axis=0, ddof=1), high.std(axis=0, ddof=1))
    assert widest == pytest.approx(spread("quantiles"), rel=0.3)
    exact = [cell["mean"] for cell in THREE_WAY[LINE]["cells"]]
    away = np.abs(found["mean"].mean(axis=0) - exact)
    # A run starts from the true table, far out in the set: some of that is left in its mean.
    assert (away < 0.5 * np.array(spread("mean"))).all()


def test_equal_average_needs_a_divisor():
    """Printed: the sum of one draw of each set. With 37 sets of one table it is always the same."""
    tables = np.array(listed_tables(LINE))
    assert tables.sum(axis=0).tolist() == [740, 2664, 1332, 2405]
    assert tables.mean(axis=0).tolist() == [20, 72, 36, 65]
    # Neither the mean of the posterior, nor that of the prior on the tables: only the middle.
    assert abs(20 - TWO_WAY[LINE]["cells"][0]["mean"]) > 0.6


@pytest.mark.parametrize(
    ("rates", "move"),
    [
        ([["21/97", "76/97"], ["34/96", "62/96"]], [1008, 3648, -1649, -3007]),
        (ROUNDED, [1, 4, -2, -3]),
    ],
)
def test_the_move_that_changes_the_summed_table(rates, move):
    """Rows in lowest terms, as often as their sums are equal: document002 computes it."""
    assert document002.changing_move(rates) == move
    rows = [[Fraction(rate) for rate in row] for row in rates]
    for row, part in zip(rows, (move[:2], move[2:]), strict=True):
        assert [Fraction(n, sum(part)) for n in part] == row
    assert sum(move) == 0 and math.gcd(*move) == 1


# Odds ratios.

PRINTED_ODDS = {
    "original": ["0.5079", ("0.2947", "0.8614"), "-0.6854", ("-1.2218", "-0.1491")],
    "mode_given_conditionals": ["0.5000", ("0.2910", "0.8593"), "-0.6931", ("-1.2346", "-0.1517")],
    "mode_given_margins": ["1.0370", ("0.6137", "1.7524"), "0.0364", ("-0.4883", "0.5610")],
}


def odds(name: str, level: str):
    table = cb.Table(SMALL.domain, np.reshape(ODDS[name]["table"], (2, 2)))
    return odds_ratios(table, "treatment", "response", level=level)


@pytest.mark.parametrize("name", ODDS)
def test_odds_ratios(name):
    found, expected = odds(name, "0.9"), ODDS[name]
    assert found.ratio == pytest.approx(expected["ratio"], abs=5e-5)
    assert found.interval == pytest.approx(expected["interval"], abs=5e-5)
    assert math.log(found.ratio) == pytest.approx(expected["log"], abs=5e-5)
    assert [math.log(end) for end in found.interval] == pytest.approx(
        expected["log_interval"], abs=5e-5
    )
    a, b, c, d = ODDS[name]["table"]
    assert found.ratio == pytest.approx(a * d / (b * c), rel=1e-12)


@pytest.mark.parametrize("name", ODDS)
def test_the_95_percent_intervals_are_90_percent_ones(name):
    _, _, _, log_interval = PRINTED_ODDS[name]
    at_90, at_95 = (
        [math.log(end) for end in odds(name, level).interval] for level in ("0.9", "0.95")
    )
    assert [f"{end:.4f}" for end in at_90] == list(log_interval)
    for end, text in itertools.product(at_95, log_interval):
        assert abs(end - float(text)) > 0.09


def test_misprints_among_the_odds_ratios():
    """0.5079 is 0.5039: its printed logarithm says so; 0.8614 was cut, not rounded."""
    found = odds("original", "0.9")
    assert f"{found.ratio:.4f}" == "0.5039"
    assert f"{math.exp(-0.6854):.4f}" == "0.5039"
    assert f"{found.interval[1]:.4f}" == "0.8615"
    assert math.floor(found.interval[1] * 10**4) == 8614


def test_the_odds_ratio_of_the_mode_is_that_of_the_exact_mode():
    """Of the joint mode (19, 68, 38, 68); the modes printed for the cells give another."""
    mode = cb.posterior(two_way_release(LINE), prior=GAMMA_4).joint_mode
    assert odds_ratios(mode, "treatment", "response").ratio == pytest.approx(0.5, rel=1e-12)
    a, b, c, d = PRINTED[LINE]["mode"]
    assert f"{a * d / (b * c):.4f}" == "0.4765"


# Everything printed beside ours.


def test_every_comparison_is_as_expected():
    compared = reproduce_papers("002").comparisons
    assert [one for one in compared if not one.as_expected] == []
    assert {one.document for one in compared} == {"002"}
    keys = [(one.place, one.item) for one in compared]
    assert len(keys) == len(set(keys))


def test_a_simulated_figure_that_is_too_far_off_shows():
    inside, outside = (
        PrintedFigure("002", "a table", "a mean", text, "19.36", tolerance=0.21)
        for text in ("19.3", "19.6")
    )
    assert inside.agrees and inside.as_expected
    assert not outside.agrees and not outside.as_expected
