"""Chains against the exact posterior, by listing every table."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cellbounds import Conditional, Domain, Known, Linear, Margin, Release, Table, Total, publish
from cellbounds.inference.chains.basic_moves import basic_moves
from cellbounds.inference.chains.chain_sampling import diagnose
from cellbounds.inference.chains.conditional_moves import conditional_moves
from cellbounds.inference.chains.lattice_moves import lattice_moves, markov_basis, markov_program
from cellbounds.inference.chains.metropolis import choose_moves, run_chain
from cellbounds.inference.chains.moves import Connection, Connectivity, Moves, connectivity
from cellbounds.inference.combined_sets import combine, summed_sets
from cellbounds.model.priors import GammaPoisson, Multinomial, Poisson, Uniform, Weights
from listing import listed
from mixtures import cases, margin_cases
from strategies import LARGEST, few, releases

needs_4ti2 = pytest.mark.skipif(markov_program() is None, reason="4ti2 is not installed")

CLOSE = 5
"""Monte Carlo errors that a mean may be off."""


def logarithms(tables: np.ndarray, weights: Weights) -> np.ndarray:
    total = np.zeros(len(tables))
    for cell in range(tables.shape[1]):
        mantissa, exponent = weights.sequence(cell, int(tables.max()))
        total += (np.log(mantissa) + exponent * np.log(2))[tables[:, cell]]
    return total


def probabilities(tables: np.ndarray, weights: Weights) -> np.ndarray:
    logs = logarithms(tables, weights)
    shares = np.exp(logs - logs.max())
    return shares / shares.sum()


def assert_agrees(draws, means) -> None:
    found = diagnose(draws.counts)
    average = draws.counts.mean(axis=(0, 1))
    off = np.abs(average - means)
    assert (off[found.fixed] < 1e-9).all()
    assert found.worst_rhat < 1.02
    assert (off <= CLOSE * found.error + 1e-9).all(), (average, means, found.error)
    # The two estimates of the error should tell the same story.
    ratio = found.batch_error[~found.fixed] / found.error[~found.fixed]
    assert ((ratio > 0.5) & (ratio < 2)).all()


PEOPLE = Domain({"treatment": [1, 2], "response": ["poor", "good"]})
TRIAL = Table(PEOPLE, np.array([[21, 76], [34, 62]]))
TRIALS = Domain({"status": [1, 2], "treatment": [1, 2], "response": ["poor", "good"]})
GAMMA = GammaPoisson(193, "1/4")

ROUNDED = Conditional(
    ["response"], ["treatment"], rates=[["0.2", "0.8"], ["0.4", "0.6"]], eps="0.05"
)


def coset(domain: Domain = PEOPLE) -> Release:
    said = [
        ({(1, "poor"): 4, (1, "good"): -1}, 8),
        ({(1, "poor"): 2, (2, "poor"): 1}, 76),
        ({(1, "poor"): 3, (2, "good"): 1}, 125),
    ]
    names = ["treatment", "response"]
    return Release(domain, [Linear(names, left, equals=right) for left, right in said])


@pytest.mark.parametrize("latent", [False, True])
def test_the_document_given_margins(latent):
    release = publish(TRIAL, "[treatment]", "[response]")
    drawn = run_chain(release, GAMMA.weights(PEOPLE), draws=5000, thin=100, rng=1, latent=latent)
    assert drawn.moves.connected.kind is Connection.PROVEN
    assert_agrees(drawn, [27.625217789, 69.374782211, 27.374782211, 68.625217789])


@pytest.mark.parametrize(
    ("prior", "means"),
    [
        (GAMMA, [19.3612041739, 69.4448166955, 37.2775916523, 66.9163874784]),
        (Multinomial(), [19.2085794809, 68.8343179234, 37.5828410383, 67.3742615574]),
        (Uniform(), [20, 72, 36, 65]),
    ],
    ids=["gamma", "multinomial", "uniform"],
)
def test_the_document_given_its_37_tables(prior, means):
    moves = lattice_moves(coset())
    assert moves.array.tolist() == [[1, 4, -2, -3]]
    assert moves.connected.kind is Connection.PROVEN
    drawn = run_chain(coset(), prior.weights(PEOPLE), moves=moves, draws=5000, thin=200, rng=2)
    assert_agrees(drawn, means)
    low, high = np.quantile(drawn.counts[..., 0], [0.025, 0.975], method="inverted_cdf")
    if prior is GAMMA:
        assert (low, high) == (16, 22)


@pytest.mark.parametrize("proposal", ["ordinary", "two-step"])
def test_the_document_given_its_37_summed_tables(proposal):
    moves = lattice_moves(coset(TRIALS))
    assert set(moves.families.tolist()) == {0, 1}
    weights = GammaPoisson(193, "1/8").weights(TRIALS)
    drawn = run_chain(
        coset(TRIALS), weights, moves=moves, draws=3000, thin=400, rng=17, proposal=proposal
    )
    assert_agrees(drawn, [9.6449562041, 34.5798248163, 18.7100875918, 33.5651313878] * 2)


@pytest.mark.parametrize("proposal", ["ordinary", "two-step"])
def test_the_document_given_rounded_rates(proposal):
    release = Release(PEOPLE, [Total(193), ROUNDED])
    drawn = run_chain(
        release, GAMMA.weights(PEOPLE), draws=4000, thin=100, rng=3, proposal=proposal
    )
    assert_agrees(drawn, [21.9176254285, 69.3197601577, 42.9009428351, 58.8616715786])


@pytest.mark.parametrize("proposal", ["ordinary", "two-step"])
@pytest.mark.parametrize("latent", [False, True])
def test_the_document_with_status_summed_over(proposal, latent):
    release = Release(TRIALS, [Total(193), ROUNDED])
    drawn = run_chain(
        release,
        GammaPoisson(193, "1/8").weights(TRIALS),
        draws=4000,
        thin=200,
        rng=4,
        proposal=proposal,
        latent=latent,
    )
    half = [10.945512023, 34.4584869764, 21.6286945551, 29.4673064456]
    assert_agrees(drawn, half * 2)
    if latent:
        # The mean of a cell's rate, given its count, is (count + shape) * scale / (1 + scale).
        expected = (np.array(half * 2) + 193) / 9
        found = diagnose(drawn.means)
        average = drawn.means.mean(axis=(0, 1))
        assert (np.abs(average - expected) <= CLOSE * found.error).all()


def small_releases() -> dict[str, tuple[Release, int]]:
    two = Domain({"a": range(3), "b": range(3)})
    three = Domain({"a": range(2), "b": range(2), "c": range(3)})
    counts = np.array([[[2, 0, 1], [1, 1, 0]], [[0, 1, 1], [1, 0, 2]]])
    exact = Conditional(["c"], ["a"], rates=[["1/2", "0", "1/2"], ["1/4", "1/4", "1/2"]])
    rows = Conditional(
        ["b"], ["a"], rates=[["1/2", "1/2", "0"], ["2/3", "0", "1/3"], ["1", "0", "0"]]
    )
    square = Table(two, [[2, 1, 1], [0, 2, 1], [1, 1, 2]])
    cube = Table(three, counts)
    return {
        "two-way": (publish(square, "[a]", "[b]"), 11),
        "decomposable": (publish(cube, "[a,c]", "[b,c]"), 10),
        "three one-way": (publish(cube, "[a]", "[b]", "[c]"), 10),
        "one margin known": (
            Release(two, [Total(11), Known(["a"], values={0: [1, 4], 1: [2, 3]})]), 11
        ),
        "exact rates": (Release(three, [Total(10), exact]), 10),
        "exact rates of three rows": (Release(two, [Total(11), rows]), 11),
        "rounded rates": (publish(square, "[b|a]@1"), 11),
        "rounded rates, N unknown": (
            Release(two, [Total(lower=9, upper=11), *publish(square, "[b|a]@0").statements[:1]]),
            11,
        ),
        "all two-way": (publish(cube, "[a,b]", "[a,c]", "[b,c]"), 10),
    }  # fmt: skip


PRIORS = {
    "gamma": GammaPoisson("3/2", 2),
    "uniform": Uniform(),
    "poisson": Poisson("1/3"),
}


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("name", small_releases())
def test_chains_draw_from_the_posterior(name, prior):
    release, largest = small_releases()[name]
    tables = listed(release, largest)
    weights = PRIORS[prior].weights(release.domain)
    proposal = "two-step" if prior == "uniform" else "ordinary"
    drawn = run_chain(release, weights, draws=4000, thin=60, rng=5, proposal=proposal)
    assert connectivity(drawn.moves, tables).kind is Connection.PROVEN
    shares = probabilities(tables, weights)
    assert_agrees(drawn, shares @ tables)
    # Not only the means: how often each table is met.
    met = {tuple(table): k for k, table in enumerate(tables)}
    counts = np.bincount(
        [met[tuple(t)] for t in drawn.counts.reshape(-1, tables.shape[1])], minlength=len(tables)
    )
    likely = shares > 0.02
    sizes = counts.sum() * shares[likely]
    assert (np.abs(counts[likely] - sizes) < 12 * np.sqrt(sizes)).all()


@pytest.mark.parametrize("proposal", ["ordinary", "two-step"])
def test_moves_that_are_drawn_give_the_same_posterior(proposal):
    release, largest = small_releases()["decomposable"]
    weights = PRIORS["gamma"].weights(release.domain)
    moves = basic_moves(release, most=0)
    drawn = run_chain(release, weights, moves=moves, draws=4000, thin=60, rng=15, proposal=proposal)
    tables = listed(release, largest)
    assert_agrees(drawn, probabilities(tables, weights) @ tables)


@pytest.mark.parametrize(("digits", "count"), [(2, 122), (3, 2)])
def test_tight_rates_need_exchanges_of_several_counts(digits, count):
    """One count more or less fits hardly any row here, so that transfers alone do not connect."""
    release = publish(TRIAL, f"[response|treatment]@{digits}", rounding="half-even")
    rates, eps = release.statements[0].rates, Fraction(1, 2 * 10**digits)
    rows = [
        [
            (x, n - x)
            for n in range(1, 193)
            for x in range(n + 1)
            if all(
                abs(Fraction(y, n) - rate) <= eps for y, rate in zip((x, n - x), row, strict=True)
            )
        ]
        for row in rates.tolist()
    ]
    tables = np.array(
        [(*one, *other) for one in rows[0] for other in rows[1] if sum(one) + sum(other) == 193]
    )
    assert len(tables) == count
    moves = conditional_moves(release)
    single = moves.only(np.abs(moves.array).sum(axis=1) == 2)
    assert connectivity(single, tables).kind is Connection.BROKEN
    assert connectivity(moves, tables).kind is Connection.PROVEN
    weights = GAMMA.weights(PEOPLE)
    drawn = run_chain(release, weights, draws=2000, thin=800, rng=16)
    assert_agrees(drawn, probabilities(tables, weights) @ tables)


def test_a_prior_of_zero_for_a_cell_keeps_it_empty():
    domain = Domain({"a": range(2), "b": range(3)})
    release = publish(Table(domain, [[2, 1, 1], [1, 1, 3]]), "[a]", "[b]")
    weights = Poisson([[0, 1, 1], [2, 1, 1]]).weights(domain)
    tables = listed(release, 9)
    tables = tables[tables[:, 0] == 0]
    drawn = run_chain(release, weights, draws=3000, rng=6)
    assert not drawn.counts[..., 0].any()
    given = run_chain(release, weights, moves=basic_moves(release), draws=8, rng=6)
    assert given.moves.connected.kind is Connection.UNPROVEN
    keeping = Weights(tuple((shape, factor or 1) for shape, factor in weights.kinds))
    assert_agrees(drawn, probabilities(tables, keeping) @ tables)


def same_tables(drawn, tables) -> bool:
    known = {tuple(table) for table in tables.tolist()}
    return {tuple(t) for t in drawn.counts.reshape(-1, tables.shape[1]).tolist()} <= known


@few(8)
@given(st.one_of(cases(spoil=False), margin_cases()), st.sampled_from(["ordinary", "two-step"]))
def test_chains_stay_among_the_consistent_tables(case, proposal):
    tables = listed(case.release, case.largest)
    assume(len(tables))
    moves = choose_moves(case.release)
    if moves.connected.kind is Connection.PROVEN:
        assert connectivity(moves, tables).kind is Connection.PROVEN
    drawn = run_chain(
        case.release, Uniform().weights(case.release.domain), moves=moves, proposal=proposal,
        chains=2, draws=200, thin=3, rng=7, start=tables[[0, -1]],
    )  # fmt: skip
    assert same_tables(drawn, tables)


@few(8)
@given(releases(), st.sampled_from(["ordinary", "two-step"]))
def test_the_two_families_keep_what_they_say(release, proposal):
    # Rows that share out remainders have no such moves.
    read = [one.as_intervals() or one for one in release.statements]
    release = Release(release.domain, read)
    tables = listed(release, LARGEST)
    assume(len(tables))
    moves = conditional_moves(release)
    if moves.connected.kind is Connection.PROVEN:
        assert connectivity(moves, tables).kind is Connection.PROVEN
    conditional = next(s for s in release.statements if isinstance(s, Conditional))
    for move, family in zip(moves.array, moves.families, strict=True):
        shaped = move.reshape(release.domain.shape)
        axes = tuple(
            axis
            for axis, name in enumerate(release.domain.names)
            if name not in conditional.variables
        )
        assert bool(shaped.sum(axis=axes).any()) == (family == 1)
    drawn = run_chain(
        release, Uniform().weights(release.domain), moves=moves, proposal=proposal,
        chains=2, draws=200, thin=3, rng=8, start=tables[[0, -1]],
    )  # fmt: skip
    assert same_tables(drawn, tables)


@needs_4ti2
@few(8)
@given(cases(spoil=False, kinds=("margin", "loose", "rates", "linear", "prior", "zeros")))
def test_a_markov_basis_connects(case):
    tables = listed(case.release, case.largest)
    assume(len(tables) > 1 and case.release.domain.size <= 9)
    moves = markov_basis(case.release)
    if moves.connected.kind is Connection.PROVEN:
        assert connectivity(moves, tables).kind is Connection.PROVEN


CUBE = Domain({"a": range(3), "b": range(3), "c": range(3)})
PAIRS = [("a", "b"), ("a", "c"), ("b", "c")]
LATIN = Release(CUBE, [Margin(pair, np.ones((3, 3), dtype=int)) for pair in PAIRS])
"""Latin squares of order 3: no two of them differ in fewer than 6 of the 9 places."""


def latin_squares() -> np.ndarray:
    found = []
    for rows in itertools.permutations(itertools.permutations(range(3)), 3):
        if all(len(set(column)) == 3 for column in zip(*rows, strict=True)):
            table = np.zeros((3, 3, 3), dtype=np.int64)
            for a, b in itertools.product(range(3), range(3)):
                table[a, b, rows[a][b]] = 1
            found.append(table.ravel())
    return np.array(found)


def test_moves_that_do_not_connect_are_reported():
    moves = lattice_moves(LATIN, paired=False)
    squares = latin_squares()
    assert len(squares) == 12
    assert len(moves) == 8
    assert moves.connected.kind is Connection.UNPROVEN
    found = connectivity(moves, squares)
    assert found.kind is Connection.BROKEN
    assert "12 parts" in found.reason
    drawn = run_chain(LATIN, Uniform().weights(CUBE), moves=moves, draws=500, rng=12)
    assert drawn.acceptance.max() == 0
    health = diagnose(drawn.counts)
    assert not health.agreed
    assert health.worst_rhat == np.inf


@needs_4ti2
def test_a_markov_basis_connects_where_a_lattice_basis_does_not():
    moves = markov_basis(LATIN)
    assert len(moves) == 81
    assert connectivity(moves, latin_squares()).kind is Connection.PROVEN
    drawn = run_chain(LATIN, Uniform().weights(CUBE), draws=2000, thin=500, rng=13)
    assert drawn.moves.connected.kind is Connection.PROVEN
    assert_agrees(drawn, np.full(27, 1 / 3))


def test_parts_that_are_connected_within_are_told_apart():
    """Steps of two reach every second table only; chains started in both disagree."""
    domain = Domain({"a": range(2)})
    release = Release(domain, [Total(9)])
    guess = Connectivity(Connection.UNPROVEN, "steps of two")
    moves = Moves.of_array("steps of two", np.array([[2, -2]]), guess)
    tables = listed(release, 9)
    assert "2 parts (of 5, 5 tables)" in str(connectivity(moves, tables))
    weights = Poisson(["1/9", "9"]).weights(domain)
    drawn = run_chain(release, weights, moves=moves, rng=14, start=np.array([[0, 9], [1, 8]]))
    assert diagnose(drawn.counts).worst_rhat > 1.5


def test_the_document_averages_do_not_follow_the_posterior():
    tables = np.array([[2 + t, 4 * t, 72 - 2 * t, 119 - 3 * t] for t in range(37)])
    weights = GAMMA.weights(PEOPLE)
    sets = summed_sets(coset(), PEOPLE.names, tables, weights)
    rng = np.random.default_rng(9)
    equal = combine(sets, "equal", 5, rng)
    assert np.allclose(equal.values[:, 0], 20)
    assert not equal.targets_posterior
    drawn = combine(sets, "posterior", 40_000, rng)
    assert drawn.targets_posterior
    exact = probabilities(tables, weights)
    assert np.allclose(drawn.shares, exact, atol=1e-12)
    error = np.sqrt(exact @ (tables - exact @ tables) ** 2 / 40_000)
    assert (np.abs(drawn.values.mean(axis=0) - exact @ tables) < CLOSE * error).all()


@pytest.mark.parametrize("prior", [GammaPoisson(193, "1/8"), Uniform(), Multinomial()])
def test_combined_sets_split_as_the_prior_says(prior):
    """Against all tables of a small release with a variable summed over."""
    domain = Domain({"s": range(3), "t": range(2), "r": range(2)})
    rates = Conditional(["r"], ["t"], rates=[["1/2", "1/2"], ["1/3", "2/3"]])
    release = Release(domain, [Total(7), rates])
    tables = listed(release, 7)
    weights = prior.weights(domain)
    exact = probabilities(tables, weights)
    flat = tables.reshape(-1, 3, 4).sum(axis=1)
    sets = summed_sets(release, ["t", "r"], np.unique(flat, axis=0), weights)
    size = 20_000
    drawn = combine(sets, "posterior", size, np.random.default_rng(10)).values
    for power in (1, 2):
        mean = exact @ tables**power
        error = np.sqrt(exact @ (tables**power - mean) ** 2 / size)
        assert (np.abs((drawn**power).mean(axis=0) - mean) <= CLOSE * error + 1e-12).all()
    weighted = combine(sets, "moves", 2000, np.random.default_rng(11))
    assert weighted.shares.tolist() == (sets.moves / sets.moves.sum()).tolist()
    assert np.allclose(weighted.values.sum(axis=1), 7)
