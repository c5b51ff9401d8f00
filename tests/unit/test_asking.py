"""`posterior` and `sample` as their users call them: choices, refusals, what answers say."""

from __future__ import annotations

import math

import numpy as np
import pytest

import cellbounds as cb
from cellbounds.results.evidence import Evidence

MP3 = cb.datasets.read("mp3")
RATES = cb.publish(MP3, "[mp3|gender]")
MARGINS = cb.publish(MP3, "[gender]", "[mp3]")


def latin_squares() -> cb.Release:
    """All two-way margins of one latin square: twelve tables that no simple move connects."""
    square = np.zeros((3, 3, 3), dtype=int)
    for i, j in np.ndindex(3, 3):
        square[i, j, (i + j) % 3] = 1
    domain = cb.Domain({name: [0, 1, 2] for name in "abc"})
    return cb.publish(cb.Table(domain, square), "[a,b]", "[a,c]", "[b,c]")


def wide() -> cb.Release:
    domain = cb.Domain({"a": list(range(9)), "b": list(range(9))})
    table = cb.Table(domain, np.arange(81).reshape(9, 9) + 20)
    return cb.publish(table, "[a]", "[b]")


def test_a_chain_that_cannot_reach_every_table_says_so():
    drawn = cb.sample(latin_squares(), 200, method="chain", moves="lattice")
    assert drawn.connected.startswith("broken: the moves split the 12 tables into ")
    assert any("cannot reach every table" in note for note in drawn.notes)
    assert "cannot reach every table" in str(drawn)
    assert drawn.monte_carlo.worst_rhat > 1.05


def test_moves_without_a_theorem_are_checked_on_all_tables_if_these_are_few():
    release = cb.publish(MP3, "[mp3|gender]@1")
    drawn = cb.sample(release, 40, method="chain", moves="conditional")
    assert drawn.connected.startswith("proven: checked on all ")


def test_an_estimated_posterior_says_so_and_how_far_it_is_off():
    post = cb.posterior(wide(), "multinomial", draws=400)
    exact = cb.posterior(wide(), "multinomial")
    assert exact.exact  # the hypergeometric law has a closed form
    estimated = cb.posterior(wide(), "uniform", draws=400)
    assert post.exact
    assert not estimated.exact
    assert estimated.evidence is Evidence.ESTIMATED
    assert estimated.error is None
    assert estimated.monte_carlo.rhat.shape == (9, 9)
    assert "estimated by Monte Carlo" in str(estimated)
    assert any(note.startswith("not exact: ") for note in estimated.notes)
    assert "connected: proven" in str(estimated)
    assert {"mc_error", "effective_size", "rhat"} <= set(estimated.columns())
    again = cb.posterior(wide(), "uniform", draws=400)
    assert (again.mean == estimated.mean).all()
    assert cb.violations(estimated.joint_mode, wide()) == []


@pytest.mark.parametrize("method", ["exact", "chain", "importance"])
@pytest.mark.parametrize("size", [1, 3, 10])
def test_as_many_tables_as_asked_for(method, size):
    drawn = cb.sample(MARGINS, size, method=method)
    assert len(drawn) == size
    assert all(cb.violations(table, MARGINS) == [] for table in drawn)
    assert len(drawn.columns()["count"]) == 4 * size
    assert drawn.independent == (method != "chain")


@pytest.mark.parametrize("method", ["exact", "chain", "importance"])
def test_a_seed_settles_everything(method):
    one, other = (cb.sample(MARGINS, 30, method=method, rng=5).counts for _ in range(2))
    assert (one == other).all()
    third = cb.sample(MARGINS, 30, method=method, rng=6).counts
    assert (one != third).any()


def test_weighted_draws_can_be_made_to_count_the_same():
    drawn = cb.sample(MARGINS, 500, method="importance", prior=cb.priors.GammaPoisson(20, 1))
    assert math.isclose(drawn.weights.sum(), 1.0)
    again = drawn.resampled(100, np.random.default_rng(1))
    assert again.shape == (100, 2, 2)
    with pytest.raises(cb.InvalidInput, match="size=0"):
        drawn.resampled(0, np.random.default_rng(1))


def test_means_are_drawn_along_if_asked_for():
    drawn = cb.sample(
        MARGINS, 4000, prior=cb.priors.GammaPoisson(50, "1/4"), method="chain", latent=True, thin=20
    )
    exact = cb.posterior(MARGINS, cb.priors.GammaPoisson(50, "1/4")).rates.mean
    assert drawn.rates.shape == drawn.counts.shape
    assert np.allclose(drawn.rates.mean(axis=0), exact, rtol=0.05)
    with pytest.raises(cb.InvalidInput, match="latent"):
        cb.sample(MARGINS, 4, method="chain", latent=True)


def test_means_belong_to_one_prior_only():
    with pytest.raises(cb.InvalidInput, match=r"give prior=cb\.priors\.GammaPoisson"):
        _ = cb.posterior(MARGINS).rates


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"size": 0}, "size=0"),
        ({"size": -3}, "size=-3"),
        ({"size": 2.5}, "size=2.5"),
        ({"size": True}, "size=True"),
        ({"rng": "x"}, "rng='x'"),
        ({"rng": -1}, "rng=-1"),
        ({"method": "guess"}, "method 'guess'"),
        ({"method": "exact", "chains": 2}, "options of Markov chains"),
        ({"method": "chain", "chains": 0}, "chains=0"),
        ({"method": "chain", "thin": 0}, "thin=0"),
        ({"method": "chain", "burn_in": -1}, "burn_in=-1"),
        ({"method": "chain", "moves": "quick"}, "moves 'quick'"),
        ({"method": "chain", "proposal": "wild"}, "proposal 'wild'"),
        ({"prior": "jeffreys"}, "prior 'jeffreys'"),
        ({"effort": 0}, "effort=0"),
        ({"seconds": 0, "method": "chain"}, "seconds=0"),
    ],
)
def test_bad_arguments_are_named(arguments, said):
    with pytest.raises(cb.InvalidInput, match=said):
        cb.sample(MARGINS, **{"size": 4, **arguments})


def test_an_option_that_does_not_exist_is_refused():
    with pytest.raises(TypeError, match="bogus"):
        cb.sample(MARGINS, 4, bogus=1)


def test_a_prior_without_weight_on_the_set_is_refused():
    for release in (RATES, MARGINS, cb.publish(MP3, "[gender]")):
        with pytest.raises(cb.InvalidInput, match="no weight"):
            cb.posterior(release, cb.priors.Multinomial([[0, 0], [1, 1]]))


def test_a_multinomial_needs_n_unless_a_margin_gives_it():
    loose = cb.Release(MP3.domain, [cb.Total(upper=50)])
    with pytest.raises(cb.InvalidInput, match="needs N"):
        cb.posterior(loose, "multinomial")
    told = cb.publish(MP3, "[gender]", "[mp3]", total=False)
    assert cb.posterior(told, "multinomial").mean.sum() == pytest.approx(50)


def test_a_margin_over_groups_does_not_give_n():
    groups = cb.Grouping("a", {"low": [0, 1], "high": [1, 2]})
    domain = cb.Domain({"a": [0, 1, 2]}, groupings={"g": groups})
    release = cb.Release(domain, [cb.Margin(["g"], [3, 4]), cb.Total(upper=9)])
    with pytest.raises(cb.InvalidInput, match="needs N"):
        cb.posterior(release, "multinomial")


def test_moves_need_to_connect_only_tables_that_have_weight():
    # Both moves pass through the first cell, which the prior keeps empty.
    from cellbounds.inference.chains.moves import Connection, Connectivity, Moves

    release = cb.Release(cb.Domain({"a": [0, 1, 2]}), [cb.Total(1)])
    guess = Connectivity(Connection.UNPROVEN, "made up")
    moves = Moves.of_array("through the first", np.array([[1, -1, 0], [1, 0, -1]]), guess)
    told = {"method": "chain", "moves": moves}
    assert cb.sample(release, 20, **told).connected.startswith("proven: checked on all 3")
    barred = cb.sample(release, 20, prior=cb.priors.Multinomial([0, 1, 1]), **told)
    assert barred.connected.startswith("broken: the moves split the 2 tables")


def test_exact_work_is_refused_above_the_effort():
    with pytest.raises(cb.TooMuchWork, match="steps"):
        cb.sample(wide(), 5, method="exact")


def test_a_posterior_of_one_cell_is_drawn_beside_another():
    other = cb.posterior(RATES, cb.priors.GammaPoisson(3, 1))
    chart = cb.posterior(MARGINS).plot("Male", "yes", rates=other).to_dict()
    names = {point["given"] for point in chart["data"]["values"]}
    assert names == {"[gender], [mp3], N=50", "rates"}
    with pytest.raises(cb.InvalidInput, match="other cells"):
        cb.posterior(MARGINS).plot(other=cb.posterior(wide(), "multinomial"))


def test_notebooks_show_escaped_tables():
    domain = cb.Domain({"<b>": ["<i>", "&"]})
    post = cb.posterior(cb.Release(domain, [cb.Total(3)]))
    assert "<i>" not in post._repr_html_()
    assert "&lt;i&gt;" in post._repr_html_()
    assert "&lt;i&gt;" in cb.sample(post.release, 2)._repr_html_()
