"""Bounds by splitting against exact linear programs, on any set of margins and limits of cells."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cellbounds as cb
from bruteforce import consistent_tables
from cellbounds.model.splitting import Splitting, SumBound, margin_axes
from cellbounds.results import Evidence
from cellbounds.solvers.general import single_questions, strategy

SIGNS = (1, -1)


@st.composite
def limited_margins(draw: st.DrawFn) -> tuple[cb.Table, cb.Release, np.ndarray, np.ndarray]:
    """A table with many zeros, some of its margins, and limits of its cells that it keeps."""
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    names = "ABCD"[: len(shape)]
    domain = cb.Domain({name: range(size) for name, size in zip(names, shape, strict=True)})
    counts = st.sampled_from([0, 0, 0, 1, 1, 2, 3, 7, 40])
    size = math.prod(shape)
    flat = np.array(draw(st.lists(counts, min_size=size, max_size=size)))
    table = cb.Table(domain, flat.reshape(shape))
    faces = draw(st.lists(st.sets(st.sampled_from(names)), max_size=5))
    margins = [f"[{','.join(draw(st.permutations(sorted(face))))}]" for face in faces if face]
    release = (
        cb.publish(table, *margins) if margins else cb.Release(domain, [cb.Total(table.total)])
    )
    room = np.array(draw(st.lists(st.sampled_from([0, 1, 5, 200]), min_size=size, max_size=size)))
    lower = np.maximum(flat - draw(st.sampled_from([1, 300])), 0)
    upper = np.minimum(flat + room, int(flat.sum()))
    return table, release, lower, np.maximum(upper, lower)


def splitting_of(release: cb.Release, table: cb.Table, *limits: np.ndarray) -> Splitting:
    axes = margin_axes(release)
    assert axes is not None
    shape = release.domain.shape
    return Splitting(shape, list(axes.values()), *limits, table.counts.ravel())


def optima(
    release: cb.Release, lower: np.ndarray, upper: np.ndarray
) -> tuple[list[Fraction], list[Fraction]]:
    """The exact linear bounds of every cell."""
    shape = release.domain.shape
    known = cb.Known(release.domain.names, lower=lower.reshape(shape), upper=upper.reshape(shape))
    exact = cb.bounds(cb.Release(release.domain, [*release.statements, known]), kind="linear")
    return exact.lower.ravel().tolist(), exact.upper.ravel().tolist()


@given(limited_margins())
def test_what_is_proven_is_true(case) -> None:
    table, release, lower, upper = case
    splitting, truth = splitting_of(release, table, lower, upper), optima(release, lower, upper)
    asked = [(cell, side) for cell in range(table.domain.size) for side in (0, 1)]
    answers = splitting.solve([SumBound(np.array([c]), s) for c, s in asked], together=7)
    for (cell, side), answer in zip(asked, answers, strict=True):
        assert answer.proven is not None
        assert answer.proven <= math.ceil(SIGNS[side] * truth[side][cell])


# When turns have come to their end is a matter of floating point: always the same cases.
@settings(derandomize=True)
@given(limited_margins())
def test_converged_bounds_are_optimal_and_most_converge(case) -> None:
    table, release, lower, upper = case
    splitting, truth = splitting_of(release, table, lower, upper), optima(release, lower, upper)
    asked = [(cell, side) for cell in range(table.domain.size) for side in (0, 1)]
    answers = splitting.solve([SumBound(np.array([c]), s) for c, s in asked], together=7)
    for (cell, side), answer in zip(asked, answers, strict=True):
        if answer.converged:
            assert answer.proven == math.ceil(SIGNS[side] * truth[side][cell])
    assert sum(answer.converged for answer in answers) >= 0.8 * len(answers)


@given(limited_margins(), st.integers(0, 2**32 - 1))
def test_any_multipliers_prove_something_true(case, seed: int) -> None:
    table, release, lower, upper = case
    splitting, (low, _) = splitting_of(release, table, lower, upper), optima(release, lower, upper)
    rng, size = np.random.default_rng(seed), table.domain.size
    weights = np.eye(size)
    noise = rng.normal(size=(size, size)) * rng.choice([0.1, 1, 30], size=(size, 1))
    for proven, optimum in zip(
        splitting.evaluated(splitting.coefficients(noise), weights), _laid_out(splitting, low),
        strict=True,
    ):  # fmt: skip
        assert proven is None or proven <= math.ceil(optimum)


def _laid_out(splitting: Splitting, values: list[Fraction]) -> list[Fraction]:
    return [values[cell] for cell in splitting.layout]


@given(limited_margins())
def test_multipliers_of_margins_add_up_to_what_was_found(case) -> None:
    table, release, lower, upper = case
    splitting = splitting_of(release, table, lower, upper)
    (answer,) = splitting.solve([SumBound(np.array([0]), 1)], together=1)
    shape, axes = table.domain.shape, margin_axes(release)
    assert axes is not None
    weights = np.zeros(shape)
    for face, shares in zip(axes.values(), splitting.multipliers(answer.multipliers), strict=True):
        order = sorted(face)
        wide = shares.transpose([face.index(axis) for axis in order])
        weights += wide.reshape([shape[a] if a in face else 1 for a in range(len(shape))])
    again = splitting.coefficients(weights.ravel()[splitting.layout][None])
    assert np.allclose(again, answer.multipliers)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.integers(0, 7), min_size=1, max_size=8),
    st.sampled_from([["[A,B]", "[A,C]", "[B,C]"], ["[A,B]", "[C]"], ["[A]", "[B]", "[C]"]]),
    st.booleans(),
)
def test_small_tables_by_splitting_alone(monkeypatch, people, margins, impatient) -> None:
    """Bounds by the steps of large tables are those of the list of all tables."""
    counts = np.bincount(people, minlength=8).reshape(2, 2, 2)
    table = cb.Table(cb.Domain({name: range(2) for name in "ABC"}), counts)
    release = cb.publish(table, *margins)
    every = np.array(list(consistent_tables(release, len(people))))
    with monkeypatch.context() as patch:
        patch.setattr(single_questions, "SPLIT", 1)
        if impatient:  # each step is put off at once, and comes again
            patch.setattr(strategy, "TRIED", 1)
            patch.setattr(strategy, "TOO_FEW", 0)
        answer = cb.bounds(release)
    assert answer.evidence == Evidence.EXACT
    np.testing.assert_array_equal(answer.lower, every.min(axis=0))
    np.testing.assert_array_equal(answer.upper, every.max(axis=0))


def test_sums_of_cells_and_bounds_that_a_table_meets() -> None:
    table = cb.datasets.read("koch4")
    names = table.domain.names
    release = cb.publish(table, *(f"[{a},{b}]" for a in names for b in names if a < b))
    upper = np.full(table.domain.size, table.total)
    splitting = splitting_of(release, table, np.zeros_like(upper), upper)
    exact = cb.bounds(release, kind="linear")
    cells = [np.array([0, 1]), np.array([5])]
    pair, single = splitting.solve([SumBound(c, 1) for c in cells], together=2)
    assert pair.proven is not None
    assert single.proven == math.ceil(-exact.upper.ravel()[5])
    assert -pair.proven <= exact.upper.ravel()[:2].sum()
    met = SumBound(cells[1], 1, -table.total)
    (answer,) = splitting.solve([met], together=2)
    assert answer.turns <= single.turns


def test_a_large_margin_whose_figures_are_hidden_has_no_moves_to_walk_along():
    levels = [str(level) for level in range(600)]
    hidden = cb.Margin(["b"], ["x"] * 600)
    shown = cb.Known(["b"], lower=[1] * 600)
    release = cb.Release(cb.Domain({"b": levels}), [hidden, shown, cb.Total(1200)])
    assert cb.bounds(release)["7"] == (1, 601)
