"""Sequential importance sampling: estimates in words, early stops, refusals, known counts."""

from __future__ import annotations

import itertools
import math
import re
import time

import numpy as np
import pytest

import cellbounds as cb
from cellbounds.inference.importance.importance_sampling import (
    LAWS,
    Estimate,
    ImportanceDraws,
    estimate_count,
    importance_draws,
    make_proposal,
)
from cellbounds.model.priors import GammaPoisson, Multinomial, Uniform
from cellbounds.runtime.budget import Budget

TWO = ["0", "1"]
SQUARE = cb.Domain({"a": TWO, "b": TWO})
MARGINS = cb.Release(SQUARE, [cb.Margin(["a"], [6, 5]), cb.Margin(["b"], [4, 7])])


def seeded(seed=1):
    return np.random.default_rng(seed)


def uniform(release):
    return Uniform().weights(release.domain)


def within(estimate, true, errors=5):
    return abs(estimate.value / true - 1) <= errors * estimate.relative_error + 1e-9


def test_two_way_margins_of_a_known_table():
    rows, columns = [108, 286, 71, 127], [220, 215, 93, 64]
    levels = [str(k) for k in range(4)]
    domain = cb.Domain({"hair": levels, "eye": levels})
    release = cb.Release(domain, [cb.Margin(["hair"], rows), cb.Margin(["eye"], columns)])
    estimate = estimate_count(release, rng=seeded())
    assert within(estimate, 1_225_914_276_768_514)
    assert estimate.effective_size > 400
    assert re.match(
        r"about 1\.[123]e15 tables \(standard error \d\.?\d?%, 1,000 draws\)", str(estimate)
    )


def test_all_two_way_margins_of_a_known_table():
    table = cb.datasets.read("census3")
    pairs = itertools.combinations(table.domain.names, 2)
    estimate = estimate_count(cb.publish(table, *(f"[{a},{b}]" for a, b in pairs)), rng=seeded())
    assert within(estimate, 441)
    assert estimate.effective_size > 500


def test_rounded_rates_of_a_known_table():
    levels = [str(k) for k in range(4)]
    rates = [
        ["0.7", "0.1", "0.1", "0.1"],
        ["0.3", "0.2", "0.2", "0.3"],
        ["0.1", "0.4", "0.4", "0.1"],
        ["0.3", "0.4", "0.2", "0.1"],
    ]
    release = cb.Release(
        cb.Domain({"county": levels, "education": levels}),
        [cb.Conditional(["education"], ["county"], rates=rates, eps="1/10"), cb.Total(135)],
    )
    estimate = estimate_count(release, rng=seeded())
    assert within(estimate, 157_496_402_139_342)
    assert estimate.effective_size > 100


def test_exact_rates_are_multiples():
    table = cb.datasets.read("mp3")
    assert within(estimate_count(cb.publish(table, "[mp3|gender]"), rng=seeded()), 9)


def test_ranges_wider_than_what_is_weighed_one_by_one():
    release = cb.Release(SQUARE, [cb.Margin(["a"], [5000, 6000]), cb.Margin(["b"], [5500, 5500])])
    first = np.arange(5001)
    tables = np.column_stack([first, 5000 - first, 5500 - first, 500 + first])
    for belief in (Uniform(), Multinomial()):
        proposal = make_proposal(release, belief.weights(SQUARE), 1)
        chances = np.exp(proposal.log_chances(tables))
        assert math.fsum(chances) == pytest.approx(1, abs=1e-9)
    drawn = importance_draws(release, uniform(release), draws=500, rng=seeded())
    assert within(drawn.estimate, 5001)
    assert {int(one) for one in drawn.counts[:, 0] + drawn.counts[:, 1]} == {5000}


def test_laws_are_not_tried_when_the_time_is_over():
    spent = Budget.until(time.monotonic() - 1)
    release = cb.Release(SQUARE, [cb.Margin(["a"], [60, 50]), cb.Margin(["b"], [40, 70])])
    assert make_proposal(release, uniform(release), 1, spent).law == LAWS[-1]


def test_the_same_seed_gives_the_same_draws_in_blocks_of_any_size():
    once = importance_draws(MARGINS, uniform(MARGINS), draws=150, rng=seeded())
    again = importance_draws(MARGINS, uniform(MARGINS), draws=150, rng=seeded(), largest_block=7)
    assert np.array_equal(once.counts, again.counts)
    assert np.array_equal(once.log_weights, again.log_weights)
    other = importance_draws(MARGINS, uniform(MARGINS), draws=150, rng=seeded(2))
    assert not np.array_equal(once.counts, other.counts)


class Looks:
    """An effort that is spent after so many looks at it."""

    def __init__(self, left):
        self.left = left

    @property
    def spent(self):
        self.left -= 1
        return self.left < 0


def test_draws_cut_anywhere_are_the_same_draws_and_a_part_of_one_is_left_out():
    proposal = make_proposal(MARGINS, uniform(MARGINS), 1)
    whole, logs = proposal.drawn(3, 0, 20)
    values, cut = proposal.drawn(3, 0, 20, at_once=1)
    assert np.array_equal(whole, values)
    assert np.array_equal(logs, cut)
    for left in (0, 5, 11):
        some, few = proposal.drawn(3, 0, 20, Looks(left), at_once=1)
        assert len(few) <= left < 20
        assert np.array_equal(some, whole[: len(few)])
        assert np.array_equal(few, logs[: len(few)])
    assert len(few) > 0
    # Within its first look, a block is drawn in one go.
    assert len(proposal.drawn(3, 0, 20, Looks(0))[1]) == 20


def test_an_interruption_keeps_what_was_drawn():
    def impatient(done, total):
        assert total == 10_000
        if done > 100:
            raise KeyboardInterrupt

    whole = importance_draws(MARGINS, uniform(MARGINS), draws=10_000, rng=seeded())
    drawn = importance_draws(
        MARGINS, uniform(MARGINS), draws=10_000, rng=seeded(), budget=cb.Budget(progress=impatient)
    )
    assert drawn.stopped_early and 100 < drawn.attempts < 10_000
    assert not whole.stopped_early
    assert np.array_equal(drawn.counts, whole.counts[: len(drawn)])


def test_a_deadline_in_the_past_still_gives_something():
    past = cb.Budget.until(time.monotonic() - 1)
    drawn = importance_draws(MARGINS, uniform(MARGINS), draws=10_000, rng=seeded(), budget=past)
    assert drawn.stopped_early and 1 <= drawn.attempts < 10_000


def test_progress_reaches_the_end():
    said = []
    importance_draws(
        MARGINS,
        uniform(MARGINS),
        draws=70,
        rng=seeded(),
        budget=cb.Budget(progress=lambda done, total: said.append((done, total))),
    )
    assert said[-1] == (70, 70)
    assert [done for done, _ in said] == sorted({done for done, _ in said})


def test_contradictions_that_propagation_sees():
    release = cb.Release(SQUARE, [cb.Margin(["a"], [6, 5]), cb.Margin(["b"], [4, 8])])
    with pytest.raises(cb.InconsistentRelease):
        estimate_count(release, rng=seeded())


ODD = cb.Release(
    SQUARE,
    [
        cb.Linear(["a", "b"], [[1, -1], [0, 0]], equals=0),
        cb.Linear(["a", "b"], [[0, 0], [1, -1]], equals=0),
        cb.Total(5),
    ],
)
"""Two equal pairs cannot add up to five; no single value shows it."""


def test_when_every_draw_dies_there_is_no_estimate():
    estimate = estimate_count(ODD, draws=50, rng=seeded())
    assert estimate.dead_ends == estimate.draws == 50
    assert estimate.value == 0 and math.isnan(estimate.relative_error)
    assert str(estimate) == (
        "no table was drawn: none of 50 attempts found a table, so there is no estimate"
    )
    drawn = importance_draws(ODD, uniform(ODD), draws=50, rng=seeded())
    assert len(drawn) == 0 and drawn.effective_size == 0
    assert drawn.estimate.note == "none of 50 attempts found a table, so there is no estimate"
    with pytest.raises(cb.Unsettled, match="none of 50 attempts found a table"):
        drawn.shares  # noqa: B018  # looking it up is what is tested


def test_tables_without_end_are_refused():
    release = cb.Release(SQUARE, [cb.Margin(["a"], [6, None])])
    with pytest.raises(cb.UnsupportedRelease, match="no upper limit"):
        estimate_count(release, rng=seeded())


def test_limits_that_only_sharp_bounds_find():
    release = cb.Release(
        SQUARE,
        [
            cb.Linear(["a", "b"], [[1, -1], [0, 0]], lower=-2, upper=2),
            cb.Linear(["a", "b"], [[2, -1], [0, 0]], upper=3),
            cb.Margin(["a"], [None, 2]),
        ],
    )
    tables = [
        (x, y)
        for x, y in itertools.product(range(30), repeat=2)
        if abs(x - y) <= 2 and 2 * x - y <= 3
    ]
    assert within(estimate_count(release, rng=seeded()), 3 * len(tables))


def test_a_prior_without_weight_on_any_table():
    weights = Multinomial([[1, 1], [0, 0]]).weights(SQUARE)
    with pytest.raises(cb.InvalidInput, match="no weight to any consistent table"):
        importance_draws(MARGINS, weights, draws=10, rng=seeded())


def test_cells_without_weight_stay_empty():
    weights = Multinomial([[0, 1], [1, 1]]).weights(SQUARE)
    drawn = importance_draws(MARGINS, weights, draws=10, rng=seeded())
    assert drawn.counts.tolist() == [[0, 6, 4, 1]] * 10


@pytest.mark.parametrize("draws", [0, -3])
def test_a_number_of_draws_that_makes_no_sense(draws):
    with pytest.raises(cb.InvalidInput, match="1 or more"):
        importance_draws(MARGINS, uniform(MARGINS), draws=draws, rng=seeded())


def test_one_table_only():
    release = cb.Release(SQUARE, [cb.Margin(["a", "b"], [[1, 2], [3, 4]])])
    drawn = importance_draws(release, GammaPoisson(2, 3).weights(SQUARE), draws=5, rng=seeded())
    assert drawn.counts.tolist() == [[1, 2, 3, 4]] * 5
    estimate = estimate_count(release, rng=seeded())
    assert (estimate.value, estimate.relative_error) == (1.0, 0.0)
    assert str(estimate) == "about 1 table (standard error negligible, 1,000 draws)"


DRAWN = ImportanceDraws(np.array([[0, 4], [1, 3], [1, 3], [3, 1]]), np.log([1.0, 2.0, 2.0, 5.0]), 5)


def test_what_weighted_draws_say():
    assert DRAWN.shares.tolist() == pytest.approx([0.1, 0.2, 0.2, 0.5])
    assert DRAWN.effective_size == pytest.approx(100 / 34)
    assert DRAWN.estimate.value == pytest.approx(2)
    # Weights 1, 2, 2, 5 and 0: their mean is 2, their variance 3.5.
    assert DRAWN.estimate.relative_error == pytest.approx(math.sqrt(3.5 / 5) / 2)
    assert DRAWN.estimate.dead_ends == 1
    assert DRAWN.estimate.note == (
        "unreliable: the draws are worth only 3 equally weighted ones; make more"
    )


def test_the_means_of_weighted_draws_have_the_error_of_a_ratio():
    """To first order (delta method): the shares times what is off the weighted mean."""
    weights = GammaPoisson([[1, 2], [3, 4]], "1/2")
    drawn = cb.sample(MARGINS, 200, prior=weights, method="importance", rng=3)
    counts, shares = drawn.counts.reshape(200, -1), drawn.weights
    assert math.fsum(shares) == pytest.approx(1)
    means = [math.fsum(shares * counts[:, cell]) for cell in range(4)]
    assert drawn.mean.ravel().tolist() == pytest.approx(means)
    errors = [
        math.sqrt(math.fsum((shares * (counts[:, cell] - means[cell])) ** 2)) for cell in range(4)
    ]
    assert drawn.monte_carlo.error.ravel().tolist() == pytest.approx(errors)
    found = drawn.cell(0)
    for value, chance in zip(found.values, found.probabilities, strict=True):
        assert chance == pytest.approx(math.fsum(shares[counts[:, 0] == value]))
    again = drawn.resampled(2000, seeded()).reshape(2000, -1)
    assert abs(again[:, 0].mean() - means[0]) < 5 * counts[:, 0].std() / math.sqrt(2000) + 0.1


@pytest.mark.parametrize(
    ("log_value", "text"),
    [
        (math.log(441.2), "about 441 tables"),
        (math.log(12_331), "about 12,331 tables"),
        (math.log(2.5), "about 2.5 tables"),
        (math.log(9.97e15), "about 1.0e16 tables"),
        (1000.0, "about 2.0e434 tables"),
        (-1000.0, "about 5.1e-435 tables"),
    ],
)
def test_estimates_of_any_size_in_words(log_value, text):
    value = math.exp(log_value) if log_value < 700 else math.inf
    estimate = Estimate(value, log_value, 0.0234, 1000, 3, 500.0)
    assert str(estimate) == f"{text} (standard error 2.3%, 1,000 draws)"


def test_a_few_draws_carry_all_the_weight():
    estimate = Estimate(3e45, math.log(3e45), 0.5, 1000, 0, 3.7)
    assert str(estimate) == (
        "about 3.0e45 tables (standard error 50%, 1,000 draws); unreliable: the draws are worth "
        "only 4 equally weighted ones; make more"
    )
