"""A release as independent parts; sums that follow from others."""

from __future__ import annotations

import numpy as np
import pytest

import cellbounds as cb
from cellbounds.inference.decision_diagram.components import (
    MOST_ENTRIES,
    LinearSum,
    components_of,
    implied,
    merged,
    needed,
)

CENSUS = cb.datasets.read("census3")
TWO = ("0", "1")


def plain(cells, lower, upper=None, **known):
    ones = np.ones(len(cells), dtype=np.int64)
    return LinearSum(np.array(cells), ones, lower, lower if upper is None else upper, **known)


def weighted(cells, factors, value):
    return LinearSum(np.array(cells), np.array(factors), value, value)


def test_two_cliques_fall_apart_though_n_is_published():
    release = cb.publish(CENSUS, "[race,income]", "[race,gender]")
    parts = components_of(release)
    race = np.unravel_index(np.arange(18), CENSUS.domain.shape)[1]
    assert [set(race[part.cells].tolist()) for part in parts.components] == [{0}, {1}, {2}]
    free = np.concatenate([part.cells for part in parts.components])
    assert len(np.unique(free)) == len(free)
    assert not parts.fixed[free].any()


def test_fixed_cells_are_left_out():
    domain = cb.Domain({"r": TWO, "c": ("0", "1", "2")})
    release = cb.Release(domain, [cb.Margin(["r"], [0, 3]), cb.Margin(["c"], [1, 1, 1])])
    parts = components_of(release)
    assert parts.fixed.tolist() == [0, 0, 0, 1, 1, 1]
    assert parts.components == ()


def test_a_cell_alone_between_bounds_is_a_part():
    domain = cb.Domain({"x": ("0", "1", "2")})
    release = cb.Release(domain, [cb.Known(["x"], lower={"0": 2}, upper={"0": 5, "1": 3, "2": 0})])
    parts = components_of(release)
    assert [part.cells.tolist() for part in parts.components] == [[0], [1]]
    assert [len(part.sums) for part in parts.components] == [0, 0]


def test_value_lists_connect_their_cells():
    domain = cb.Domain({"a": TWO, "b": TWO})
    release = cb.Release(
        domain, [cb.Known(["a", "b"], upper=3), cb.Known(["a"], values={"0": [0, 2, 5]})]
    )
    parts = components_of(release)
    assert [part.cells.tolist() for part in parts.components] == [[0, 1], [2], [3]]
    assert parts.components[0].sums[-1].values == {0, 2, 5}


def test_lists_without_gaps_are_limits():
    domain = cb.Domain({"a": TWO, "b": TWO})
    release = cb.Release(
        domain, [cb.Known(["a", "b"], upper=3), cb.Known(["a"], values={"0": [1, 2, 3, 4, 5]})]
    )
    (only,) = components_of(release).components[0].sums
    assert (only.values, only.lower, only.upper) == (None, 1, 5)


def test_cells_without_limit_are_refused():
    with pytest.raises(cb.UnsupportedRelease, match="no end of tables"):
        components_of(cb.Release(cb.Domain({"a": TWO}), [cb.Total(lower=3)]))


@pytest.mark.parametrize("said", [("[race,income]", "[gender]"), ("[race]", "[gender]")])
def test_the_total_follows_from_a_margin(said):
    with_total = components_of(cb.publish(CENSUS, *said))
    without = components_of(cb.publish(CENSUS, *said, total=False))
    found, expected = (
        [(one.cells.tolist(), len(one.sums)) for one in parts.components]
        for parts in (with_total, without)
    )
    assert [cells for cells, _ in found] == [cells for cells, _ in expected]


def test_a_margin_of_a_margin_follows_in_large_systems():
    """Too large for elimination: only unions of published sums are found, which is enough."""
    levels = [f"{k}" for k in range(60)]
    domain = cb.Domain({"a": levels, "b": levels, "c": TWO})
    table = cb.Table(domain, np.arange(7200).reshape(60, 60, 2) % 5)
    said = cb.publish(table, "[a,b]", "[a]", "[b]")
    assert len(said.statements) == 4
    assert domain.size * (3600 + 121) > MOST_ENTRIES
    parts = components_of(said).components
    assert {len(part.cells) for part in parts} == {2}


@pytest.mark.parametrize("wrong", ["[a]", "N"])
def test_sums_that_contradict_what_they_follow_from(wrong):
    domain = cb.Domain({"a": TWO, "b": ("0", "1", "2")})
    said = [cb.Margin(["a", "b"], [["1-3", 4, 5], [3, "0-2", 2]]), cb.Margin(["b"], [5, 5, 7])]
    extra = cb.Total(18) if wrong == "N" else cb.Margin(["a"], [9, 9])
    with pytest.raises(cb.InconsistentRelease):
        components_of(cb.Release(domain, [*said, extra]))


def test_short_sums_stay_and_long_ones_follow():
    sums = [plain([0, 1, 2, 3], 9), plain([0, 1], 4), plain([2, 3], 5)]
    assert implied(sums, 4) == [True, False, False]


def test_combinations_with_fractions():
    sums = [
        weighted([0, 1], [2, 1], 6),
        weighted([0, 1], [1, 2], 6),
        weighted([0], [3], 6),
        plain([0], 0, 3),
        plain([1], 0, 9, values=frozenset({0, 2, 9})),
    ]
    # 3 x0 is kept as the shortest; both cells are then fixed, whatever says so.
    assert implied(sums, 2) == [False, True, False, True, True]


@pytest.mark.parametrize(
    "last",
    [
        weighted([0, 1], [1, 2], 7),
        plain([0, 1], 5, 9),
        plain([1], 0, 9, values=frozenset({0, 3, 9})),
    ],
)
def test_contradictions_among_combinations(last):
    sums = [weighted([0, 1], [2, 1], 6), weighted([0], [1], 2), last]
    with pytest.raises(cb.InconsistentRelease):
        implied(sums, 2)


def test_a_combination_that_is_no_whole_number_is_a_contradiction():
    sums = [weighted([0, 1], [2, 4], 6), weighted([0, 1], [3, 6], 10)]
    with pytest.raises(cb.InconsistentRelease):
        implied(sums, 2)


def test_inequalities_do_not_make_anything_follow():
    sums = [plain([0, 1], 2, 5), plain([2], 1, 3), plain([0, 1, 2], 6)]
    assert implied(sums, 3) == [False, False, False]


def test_sums_over_the_same_cells_become_one():
    found = merged(
        [
            weighted([1, 0], [-4, 2], 8),
            LinearSum(np.array([0, 1]), np.array([-1, 2]), -5, 0),
            plain([2, 3], 1, 9),
            plain([3, 2], 0, 4, values=frozenset({0, 3, 4})),
        ]
    )
    assert [(one.factors.tolist(), one.lower, one.upper) for one in found] == [
        ([1, -2], 4, 4),
        ([1, 1], 3, 4),
    ]
    assert found[1].values is None
    with pytest.raises(cb.InconsistentRelease):
        merged([plain([0], 3), plain([0], 4, 5)])
    with pytest.raises(cb.InconsistentRelease):
        merged([weighted([0, 1], [2, 4], 7)])


def test_sums_that_cannot_be_broken_are_not_needed():
    lower, upper = np.array([0, 1]), np.array([2, 3])
    always, sometimes = plain([0, 1], 1, 5), plain([0, 1], 1, 4)
    assert needed([always, sometimes], lower, upper) == [sometimes]
    with pytest.raises(cb.InconsistentRelease):
        needed([plain([0, 1], 6)], lower, upper)
