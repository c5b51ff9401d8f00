"""Diagrams: published counts, limits of effort and memory, draws, laziness."""

from __future__ import annotations

import itertools
import math
import re
import sys

import numpy as np
import pytest

import cellbounds as cb
from cellbounds.inference.decision_diagram.components import LinearSum, components_of
from cellbounds.inference.decision_diagram.construction import MEMORY, Construction, construct
from cellbounds.inference.decision_diagram.diagram_fibre import diagram_fibre
from cellbounds.inference.decision_diagram.layers import transitions_of
from cellbounds.inference.decision_diagram.ordering import best_order
from cellbounds.inference.protocol import DEFAULT_EFFORT
from cellbounds.inference.solver_enumeration import searched_tables
from cellbounds.model.priors import GammaPoisson, Multinomial, Uniform
from cellbounds.model.structure import gather
from cellbounds.papers import document001
from cellbounds.runtime.interrupts import uninterrupted
from cellbounds.solvers.general.cp_sat import Found, IntegerProgram

CENSUS = cb.datasets.read("census3")
PAIRS = ("[race,gender]", "[race,income]", "[gender,income]")
TWO = ("0", "1")


def fibre_of(release, effort=DEFAULT_EFFORT, memory=MEMORY):
    return diagram_fibre(gather(release), effort, memory)


def layers(release):
    part = components_of(release).components[0]
    positions = np.unravel_index(part.cells, release.domain.shape)
    order = best_order(part.sums, part.lower, part.upper, positions)
    return transitions_of(order.cells, part.sums, part.lower, part.upper)


def two_way(rows, columns):
    domain = cb.Domain(
        {"r": [f"r{k}" for k in range(len(rows))], "c": [f"c{k}" for k in range(len(columns))]}
    )
    return cb.Release(domain, [cb.Margin(["r"], rows), cb.Margin(["c"], columns)])


@pytest.mark.parametrize(
    ("table", "said", "expected"),
    [
        (CENSUS, PAIRS, 441),
        (CENSUS, ("[race,income]", "[race,gender]"), 16_788_429),
        (CENSUS, ("[race,gender]", "[gender,income]"), 3_415_500),
        (document001.collapsed(), PAIRS, 23),
    ],
)
def test_counts_of_document_001(table, said, expected):
    """Recomputed from the lecture's tables by listing them; N is published too."""
    assert fibre_of(cb.publish(table, *said)).count() == expected


def test_a_count_of_more_words():
    """10 records in each of 12 rows of 6 cells that nothing else connects: far beyond 64 bits."""
    domain = cb.Domain({"r": [f"{k}" for k in range(12)], "c": [f"{k}" for k in range(6)]})
    release = cb.Release(domain, [cb.Margin(["r"], [10] * 12)])
    assert fibre_of(release).count() == math.comb(15, 5) ** 12
    # The same as one diagram: all rows are connected by a limit that does not bind below 121.
    joined = [LinearSum(np.arange(12), np.ones(12, dtype=np.int64), 0, 12 * 10**7 - 1)]
    lower, upper = np.zeros(12, dtype=np.int64), np.full(12, 10**7, dtype=np.int64)
    with pytest.raises(cb.TooMuchWork, match="memory"):
        construct(transitions_of(np.arange(12), joined, lower, upper), 1e12, 10**9)
    upper[:] = 1000
    joined = [LinearSum(np.arange(12), np.ones(12, dtype=np.int64), 0, 11_999)]
    assert construct(transitions_of(np.arange(12), joined, lower, upper), 1e9).paths == 1001**12 - 1


DOSES = cb.Domain({"treatment": TWO, "response": TWO})
MARGINS = cb.Release(
    DOSES, [cb.Margin(["treatment"], [97, 96]), cb.Margin(["response"], [55, 138])]
)
COSET = cb.Release(
    DOSES,
    [
        cb.Linear(["treatment", "response"], [[4, -1], [0, 0]], equals=8),
        cb.Linear(["treatment", "response"], [[2, 0], [1, 0]], equals=76),
        cb.Linear(["treatment", "response"], [[3, 0], [0, 1]], equals=125),
    ],
)


@pytest.mark.parametrize(
    ("release", "prior", "count", "means", "sds"),
    [
        (
            MARGINS,
            GammaPoisson(193, "1/4"),
            56,
            [27.625217789, 69.374782211, 27.374782211, 68.625217789],
            [3.4371753043] * 4,
        ),
        (MARGINS, Multinomial(), 56, [27.6424870466], [3.1436518863]),
        (
            COSET,
            GammaPoisson(193, "1/4"),
            37,
            [19.3612041739, 69.4448166955, 37.2775916523, 66.9163874784],
            [1.5731483935, 6.292593574, 3.146296787, 4.7194451805],
        ),
        (
            COSET,
            Multinomial(),
            37,
            [19.2085794809, 68.8343179234, 37.5828410383, 67.3742615574],
            [1.3842444207, 5.5369776828, 2.7684888414, 4.1527332621],
        ),
        (COSET, Uniform(), 37, [20.0], [10.677078252]),
    ],
)
def test_posteriors_of_document_002(release, prior, count, means, sds):
    """Recomputed in exact fractions from the weights of all tables, to ten decimals."""
    fibre = fibre_of(release)
    assert fibre.count() == count
    weighed = fibre.weighted(prior.weights(DOSES))
    found = [weighed.distribution(cell) for cell in range(4)]
    assert [one.mean for one in found][: len(means)] == pytest.approx(means, abs=2e-9)
    assert [one.sd for one in found][: len(sds)] == pytest.approx(sds, abs=2e-9)


def test_joint_modes_of_document_002():
    weights = GammaPoisson(193, "1/4").weights(DOSES)
    assert fibre_of(MARGINS).weighted(weights).mode().tolist() == [28, 69, 27, 69]
    assert fibre_of(COSET).weighted(weights).mode().tolist() == [19, 68, 38, 68]


def test_the_order_of_listing_is_lexicographic_in_the_cells_placed():
    release = cb.publish(CENSUS, *PAIRS)
    part = components_of(release).components[0]
    order = best_order(
        part.sums,
        part.lower,
        part.upper,
        np.unravel_index(part.cells, release.domain.shape),
    )
    cells = part.cells[order.cells]
    tables = [tuple(one[cells].tolist()) for one in fibre_of(release).listed()]
    assert tables == sorted(set(tables))
    assert len(tables) == 441


def test_listing_is_lazy():
    release = cb.publish(CENSUS, "[race,income]", "[race,gender]")
    first = list(itertools.islice(fibre_of(release).listed(), 5))
    assert len({one.tobytes() for one in first}) == 5
    for one in first:
        table = cb.Table(release.domain, one.reshape(release.domain.shape))
        assert not cb.violations(table, release)


def test_tables_listed_are_not_changed_afterwards():
    tables = list(fibre_of(MARGINS).listed())
    assert [one.sum() for one in tables] == [193] * 56
    assert len({one.tobytes() for one in tables}) == 56


def test_effort_is_kept():
    release = two_way([9, 9, 9, 9], [12, 12, 12])
    assert fibre_of(release).count() > 0
    with pytest.raises(cb.TooMuchWork, match=r"10\^4 steps, above the effort of 100"):
        fibre_of(release, effort=100)
    with pytest.raises(cb.TooMuchWork, match="above the effort") as hopeless:
        fibre_of(two_way([500] * 8, [400] * 10))
    assert 10 ** int(re.search(r"10\^(\d+) steps", str(hopeless.value))[1]) > DEFAULT_EFFORT


def built(make, *given):
    """What is made, or None if it takes too much."""
    try:
        return make(*given)
    except cb.TooMuchWork:
        return None


def test_without_room_for_the_diagram_paths_are_still_counted():
    made = layers(two_way([9, 9, 9, 9], [12, 12, 12]))
    whole = construct(made, 1e9)
    assert isinstance(whole, Construction)
    assert whole.layers is not None
    with pytest.raises(cb.TooMuchWork, match="memory"):
        construct(made, 1e9, 1000)
    outcomes = [built(construct, made, 1e9, memory) for memory in range(1000, 200_000, 1000)]
    counted = [one for one in outcomes if one is not None and one.layers is None]
    assert counted
    assert {one.paths for one in counted} == {whole.paths}


def test_a_diagram_that_was_not_kept_refuses_to_list_and_to_weigh():
    release = two_way([9, 9, 9, 9], [12, 12, 12])
    expected = fibre_of(release).count()
    efforts = [(release, DEFAULT_EFFORT, memory) for memory in range(1000, 200_000, 500)]
    tried = (built(fibre_of, *effort) for effort in efforts)
    # The first one that there is room for at all has none left for its layers.
    fibre = next(one for one in tried if one is not None)
    assert fibre.count() == expected
    with pytest.raises(cb.TooMuchWork, match="memory"):
        next(fibre.listed())
    with pytest.raises(cb.TooMuchWork, match="memory"):
        fibre.weighted(Uniform().weights(release.domain))


def test_weighing_takes_more_steps_than_counting():
    release = two_way([90, 90, 90], [100, 100, 70])
    fibre = fibre_of(release, effort=2_000_000)
    assert fibre.count() == fibre_of(release).count()
    with pytest.raises(cb.TooMuchWork, match="allow more"):
        fibre.weighted(Uniform().weights(release.domain))
    assert fibre_of(release).weighted(Uniform().weights(release.domain)).error < 1e-11


def test_without_a_limit_there_is_no_end_of_tables():
    domain = cb.Domain({"a": TWO})
    with pytest.raises(cb.UnsupportedRelease, match=r"Total\(upper="):
        fibre_of(cb.Release(domain, []))
    with pytest.raises(cb.UnsupportedRelease, match=r"Total\(upper="):
        next(searched_tables(cb.Release(domain, [])))


def test_limits_that_only_several_rows_give():
    """2a - b <= 3 and b - a <= 1 limit both cells, though neither row does alone."""
    domain = cb.Domain({"x": TWO})
    said = [cb.Linear(["x"], [2, -1], upper=3), cb.Linear(["x"], [-1, 1], upper=1)]
    release = cb.Release(domain, said)
    expected = [(a, b) for a in range(9) for b in range(9) if 2 * a - b <= 3 and b - a <= 1]
    assert sorted(tuple(one.tolist()) for one in fibre_of(release).listed()) == expected
    assert [tuple(one.tolist()) for one in searched_tables(release)] == expected


def test_a_contradiction_has_no_tables():
    release = two_way([1, 2], [2, 2])
    fibre = fibre_of(release)
    assert fibre.count() == 0
    assert list(fibre.listed()) == []
    assert list(searched_tables(release)) == []
    with pytest.raises(cb.InconsistentRelease):
        fibre.weighted(Uniform().weights(release.domain))


def test_a_contradiction_that_only_the_diagram_finds():
    """Twice a plus twice b is odd beside a loose limit: rows alone do not show it."""
    domain = cb.Domain({"x": ("0", "1", "2")})
    said = [
        cb.Linear(["x"], [2, 3, 0], equals=7),
        cb.Linear(["x"], [0, 3, 2], equals=4),
        cb.Known(["x"], upper={"1": 1}, lower={"1": 1}),
    ]
    assert fibre_of(cb.Release(domain, said)).count() == 0


def test_no_weight_at_all_is_refused():
    release = two_way([1, 2], [2, 1])
    weights = Multinomial([[0, 0], [1, 1]]).weights(release.domain)
    with pytest.raises(cb.InvalidInput, match="no weight"):
        fibre_of(release).weighted(weights)


def test_fixed_cells_have_one_value():
    release = cb.Release(DOSES, [cb.Margin(["treatment", "response"], [[1, 2], [3, 4]])])
    fibre = fibre_of(release)
    assert [one.tolist() for one in fibre.listed()] == [[1, 2, 3, 4]]
    weighed = fibre.weighted(Multinomial().weights(DOSES))
    assert (weighed.error, weighed.log_mass) == (0.0, pytest.approx(-math.log(2 * 6 * 24)))
    assert weighed.distribution(3)[4] == 1.0
    assert weighed.mode().tolist() == [1, 2, 3, 4]
    assert weighed.draw(2, np.random.default_rng(1)).tolist() == [[1, 2, 3, 4]] * 2


def expected_shares(fibre, weights):
    tables = list(fibre.listed())
    masses = [
        math.prod(weights.exact(cell, count) for cell, count in enumerate(one.tolist()))
        for one in tables
    ]
    return {
        one.tobytes(): float(mass / sum(masses)) for one, mass in zip(tables, masses, strict=True)
    }


@pytest.mark.parametrize("prior", [Uniform(), Multinomial(), GammaPoisson("1/2", 3)])
@pytest.mark.parametrize(
    "release",
    [
        two_way([3, 2, 1], [2, 2, 2]),
        cb.Release(
            cb.Domain({"a": TWO, "b": TWO, "c": TWO}),
            [
                cb.Margin(["a"], ["<4", "2-3"]),
                cb.Known(["b"], values={"0": [1, 4]}),
                cb.Total(lower=4, upper=5),
            ],
        ),
    ],
)
def test_draws_follow_the_distribution(release, prior):
    """Pearson's statistic is near its degrees of freedom: within six standard deviations."""
    fibre, weights = fibre_of(release), prior.weights(release.domain)
    size = 40_000
    drawn = fibre.weighted(weights).draw(size, np.random.default_rng(11))
    found: dict[bytes, int] = {}
    for one in drawn:
        found[one.tobytes()] = found.get(one.tobytes(), 0) + 1
    shares = expected_shares(fibre, weights)
    assert set(found) <= set(shares)
    common = {key: share for key, share in shares.items() if share * size >= 5}
    rare = 1 - sum(common.values())
    statistic = sum((found.get(key, 0) - size * s) ** 2 / (size * s) for key, s in common.items())
    if rare * size >= 5:
        seen = size - sum(found.get(key, 0) for key in common)
        statistic += (seen - size * rare) ** 2 / (size * rare)
    freedom = len(common) - (rare * size < 5)
    assert abs(statistic - freedom) < 6 * math.sqrt(2 * freedom)


def test_draws_are_reproducible():
    weighed = fibre_of(MARGINS).weighted(Uniform().weights(DOSES))
    first, again = (weighed.draw(50, np.random.default_rng(3)) for _ in range(2))
    assert np.array_equal(first, again)


def test_draws_from_long_layers_can_be_stopped_on_the_way():
    """Signals raise between compiled calls only: each of them goes through so many values."""
    release = two_way([100_000, 100_000], [90_000, 110_000])
    weighed = fibre_of(release).weighted(Uniform().weights(release.domain), at_once=1_000_000)
    calls = []

    def count(frame, event, _):
        calls.extend([1] if event == "call" and frame.f_code is uninterrupted.__code__ else [])

    sys.setprofile(count)
    try:
        drawn = weighed.draw(200, np.random.default_rng(3))
    finally:
        sys.setprofile(None)
    assert len(calls) >= 200 * 90_001 // 1_100_000
    assert drawn.shape == (200, 4)
    assert (drawn.sum(axis=1) == 200_000).all()


def test_weights_beyond_the_range_of_doubles():
    release = two_way([900, 900], [1000, 800])
    weights = Multinomial().weights(release.domain)
    weighed = fibre_of(release).weighted(weights)
    # The hypergeometric law: its mass over all tables is known.
    logs = [math.lgamma(n + 1) for n in (1800, 900, 900, 1000, 800)]
    assert weighed.log_mass == pytest.approx(logs[0] - sum(logs[1:]), rel=1e-12)
    assert weighed.distribution(0).mean == pytest.approx(500, rel=1e-12)


def test_equal_parts_share_their_diagram():
    domain = cb.Domain({"r": [f"{k}" for k in range(400)], "c": TWO})
    release = cb.Release(domain, [cb.Margin(["r"], [7] * 400)])
    fibre = fibre_of(release)
    assert fibre.count() == 8**400
    weighed = fibre.weighted(Uniform().weights(domain))
    assert weighed.log_mass == pytest.approx(400 * math.log(8))
    assert weighed.distribution(5).mean == pytest.approx(3.5)
    assert next(fibre.listed()).reshape(400, 2)[:, 0].tolist() == [0] * 400


def test_searching_is_lazy_and_reuses_what_it_finds():
    asked = []

    def solve(problem, seconds):
        asked.append(seconds)
        return IntegerProgram(problem).any_table(seconds)

    found = searched_tables(cb.publish(CENSUS, *PAIRS), solve=solve)
    first = list(itertools.islice(found, 3))
    early = len(asked)
    assert len({one.tobytes() for one in first}) == 3
    assert first == sorted(first, key=lambda one: one.tolist())
    list(itertools.islice(found, 20))
    assert 0 < early < len(asked)


def test_an_undecided_search_says_so():
    with pytest.raises(cb.Unsettled, match="did not decide"):
        list(searched_tables(MARGINS, solve=lambda *_: Found(None, final=False)))


def test_long_and_thin_tables_are_tried_though_they_seem_hopeless():
    # Two rows: the count is a coefficient of prod (1 + x + ... + x^column).
    columns = [3 + k % 13 for k in range(256)]
    total, first = sum(columns), sum(columns) // 2
    domain = cb.Domain({"a": [0, 1], "b": list(range(256))})
    margins = [cb.Margin(["a"], [first, total - first]), cb.Margin(["b"], columns)]
    ways = [1] + [0] * first
    for count in columns:
        ways = [sum(ways[max(0, k - count) : k + 1]) for k in range(first + 1)]
    assert cb.count_tables(cb.Release(domain, [*margins, cb.Total(total)])) == ways[first]
