"""Rates over derived variables, as rows of one conditional, against the list of all tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

import cellbounds as cb
from cellbounds.model.structure import gather
from cellbounds.reductions.decomposition import Decomposition
from cellbounds.results.solution import Query
from cellbounds.solvers.solve import SOLVERS, UNNAMED, solve
from listing import belongs, listed, sums
from mixtures import Case
from strategies import LARGEST, conditionals, domains, few, priors, tables, totals

ROWS = "rows of one conditional"
ONE_CONDITIONAL = {ROWS, "linear relaxation of one conditional"}


@st.composite
def partitions(draw, of: str, levels: tuple):
    """Groups of levels in any order: single ones, all in one, or anything between."""
    group = [draw(st.integers(0, len(levels) - 1)) for _ in levels]
    kinds = draw(st.permutations(sorted(set(group))))
    groups = {
        f"{of}-{k}": [level for level, g in zip(levels, group, strict=True) if g == k]
        for k in kinds
    }
    return cb.Grouping(of, groups)


@st.composite
def grouped_releases(draw, largest: int = LARGEST, finer: bool = False):
    """One conditional that names derived variables; what is beside it may be over its own names.

    The statements are made for the table whose levels are merged, and said of the other one.
    """
    plain = draw(domains())
    groupings = {
        f"{name}'": draw(partitions(name, plain.levels(name)))
        for name in draw(st.sets(st.sampled_from(plain.names), min_size=1))
    }
    domain = plain.with_groupings(groupings)
    counts = draw(tables(domain, largest))
    names = tuple(f"{name}'" if f"{name}'" in groupings else name for name in domain.names)
    merged, small = domain.project(names), merged_counts(domain, names, counts)
    conditional = draw(conditionals(merged, small))
    assume(any(name in groupings for name in conditional.variables))
    statements: list = [conditional, draw(totals(int(counts.sum())))]
    choices = [(merged, conditional.variables, small)]
    if not finer:
        choices.append((domain, domain.names, counts))
    if conditional.given:
        choices.append((merged, conditional.given, small))
    chosen = draw(st.lists(st.sampled_from(choices), max_size=2))
    statements += [draw(priors(*one)) for one in chosen]
    return cb.Release(domain, draw(st.permutations(statements)))


def merged_counts(domain: cb.Domain, names: tuple[str, ...], counts: np.ndarray) -> np.ndarray:
    shape = [len(domain.levels(name)) for name in names]
    inside = belongs(cb.Release(domain, []), names)
    return (counts.ravel() @ inside).reshape(shape)


def conditional_of(release: cb.Release) -> cb.Conditional:
    return next(s for s in release.statements if isinstance(s, cb.Conditional))


def by_pairs(release: cb.Release) -> bool:
    """Whether rows add to one by their rule beside knowledge of cells: pairs are compiled."""
    return gather(release).conditional is None


def check(case: Case) -> None:
    """Bounds, every attainable value, and witnesses of every value of every cell."""
    release, over = case.release, case.over
    found = listed(release, case.largest)
    if not len(found):
        with pytest.raises(cb.InconsistentRelease):
            cb.bounds(release, over=over)
        return
    margins = sums(release, found, over)
    answer, values = cb.bounds(release, over=over), cb.attainable(release, over=over)
    assert answer.method == values.method
    assert answer.method == ROWS or by_pairs(release)
    assert np.array_equal(answer.lower.ravel(), margins.min(axis=0))
    assert np.array_equal(answer.upper.ravel(), margins.max(axis=0))
    held = {table.tobytes() for table in found}
    for place, labels in enumerate(release.domain.project(over).cells()):
        expected = set(margins[:, place].tolist())
        assert values[labels] == expected
        for value in expected:
            table = values.witness(*labels, value=value).counts.astype(np.int64).ravel()
            assert table.tobytes() in held
            assert sums(release, table[None], over)[0, place] == value


@given(grouped_releases(), st.randoms(use_true_random=False))
def test_table_statement_and_rows(release, random):
    conditional = conditional_of(release)
    event(f"priors: {len(release.statements) - 2}")
    for names in (release.domain.names, conditional.variables, conditional.given):
        if names:
            over = tuple(random.sample(names, len(names)))
            check(Case(release, np.zeros(0), LARGEST, over))


@st.composite
def finer_questions(draw):
    """A release, and a margin that tells the cells of its conditional apart."""
    release = draw(grouped_releases(finer=True))
    domain, named = release.domain, conditional_of(release).variables
    over = []
    for name in domain.names:
        derived = f"{name}'"
        if name in named:
            over.append(name)
        elif derived in named:
            over.append(draw(st.sampled_from([name, derived])))
        elif draw(st.booleans()):
            over.append(derived if derived in domain.groupings and draw(st.booleans()) else name)
    return Case(release, np.zeros(0), LARGEST, tuple(draw(st.permutations(over))))


@few(2)
@given(finer_questions())
def test_margins_that_tell_the_cells_apart(case):
    check(case)


@few(2)
@given(grouped_releases())
def test_counts_and_lists(release):
    found = {tuple(table) for table in listed(release, LARGEST).tolist()}
    assert cb.count_tables(release) == len(found)
    made = [tuple(table.counts.ravel().tolist()) for table in cb.tables(release)]
    assert len(made) == len(found)
    assert set(made) == found


@few(6)
@given(grouped_releases(), st.integers(0, 1))
def test_posteriors(release, kind):
    found = listed(release, LARGEST)
    assume(0 < len(found) < 2000)
    shape = release.domain.shape
    means = np.arange(1, release.domain.size + 1).reshape(shape)
    prior = ["uniform", cb.priors.Poisson(means)][kind]
    factorials = np.cumprod([1, *range(1, LARGEST + 1)])
    weights = np.ones(len(found))
    if kind:
        weights = (means.ravel() ** found / factorials[found]).prod(axis=1)
    post = cb.posterior(release, prior)
    assert post.exact
    expected = (weights @ found / weights.sum()).reshape(shape)
    assert np.allclose(post.mean, expected, rtol=1e-9)
    best = tuple(post.joint_mode.counts.ravel().tolist())
    place = [tuple(table) for table in found.tolist()].index(best)
    assert weights[place] == pytest.approx(weights.max(), rel=1e-12)
    held = {tuple(table) for table in found.tolist()}
    for table in cb.sample(release, 5, prior=prior, rng=1):
        assert tuple(table.counts.ravel().tolist()) in held


OTHERS = tuple(one for one in SOLVERS if one.name not in ONE_CONDITIONAL)
SPLITTING = (UNNAMED, Decomposition(rates=True))


def without_rows(release: cb.Release, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """The bounds of the general methods."""
    question = Query(kind, release.domain.names)
    solution = solve(release, question, reductions=SPLITTING, solvers=OTHERS)
    solution.settle()
    assert solution.method not in ONE_CONDITIONAL
    return solution.bounds()


@few(5)
@given(grouped_releases(largest=6))
def test_the_general_search_says_the_same(release):
    try:
        answer = cb.bounds(release)
    except cb.InconsistentRelease:
        with pytest.raises(cb.InconsistentRelease):
            without_rows(release, "sharp")
        return
    lower, upper = without_rows(release, "sharp")
    assert answer.method in ONE_CONDITIONAL or by_pairs(release)
    assert np.array_equal(answer.lower, lower)
    assert np.array_equal(answer.upper, upper)


@few(3)
@given(grouped_releases(largest=6))
def test_the_general_relaxation_says_the_same(release):
    """Or less, where lists of values are about sums and about parts."""
    found = listed(release, LARGEST)
    assume(len(found))
    answer = cb.bounds(release, kind="linear")
    lower, upper = without_rows(release, "linear")
    assert answer.method in ONE_CONDITIONAL or by_pairs(release)
    assert (lower <= answer.lower).all()
    assert (answer.lower.ravel() <= found.min(axis=0)).all()
    assert (answer.upper.ravel() >= found.max(axis=0)).all()
    assert (upper >= answer.upper).all()
    if not any(isinstance(one, cb.Known) and one.values for one in release.statements):
        assert np.array_equal(answer.lower, lower)
        assert np.array_equal(answer.upper, upper)
