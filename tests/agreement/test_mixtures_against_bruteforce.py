"""Every answer about any mixture of statements against the list of all consistent tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given

import cellbounds as cb
from cellbounds.model.structure import gather
from cellbounds.reductions.decomposition import Decomposition
from cellbounds.results.solution import Query
from cellbounds.solvers.solve import SOLVERS, solve
from listing import listed, sums
from mixtures import Case, cases, margin_cases
from strategies import few


def described(case) -> str:
    return f"{case.release.to_dict()}, over {case.over}"


def is_consistent(case) -> bool:
    """Whether the table of a case is among the tables that fit its release."""
    tables = listed(case.release, case.largest)
    return bool((tables == case.counts.ravel()).all(axis=1).any())


def check(case, **options):
    """Bounds, every attainable value, and a witness for each value of one cell."""
    release, over = case.release, case.over
    tables = listed(release, case.largest)
    if not len(tables):
        with pytest.raises(cb.InconsistentRelease):
            cb.bounds(release, over=over, **options)
        with pytest.raises(cb.InconsistentRelease):
            cb.attainable(release, over=over, **options)
        return
    margins = sums(release, tables, over)
    answer = cb.bounds(release, over=over, **options)
    assert answer.evidence is cb.Evidence.EXACT
    assert np.array_equal(answer.lower.ravel(), margins.min(axis=0)), described(case)
    assert np.array_equal(answer.upper.ravel(), margins.max(axis=0)), described(case)
    check_values(case, tables, margins, cb.attainable(release, over=over, **options))
    check_ends(case, tables, margins, answer)


def check_values(case, tables, margins, values):
    domain = case.release.domain.project(case.over)
    held = {table.tobytes() for table in tables}
    for place, labels in enumerate(domain.cells()):
        expected = set(margins[:, place].tolist())
        assert values[labels] == expected, described(case)
        assert list(values[labels]) == sorted(expected)
        assert values[labels].size == len(expected), described(case)
    last = domain.size - 1
    for value in values[labels]:
        table = values.witness(*labels, value=value).counts.astype(np.int64).ravel()
        assert table.tobytes() in held, described(case)
        assert sums(case.release, table[None], case.over)[0, last] == value


def check_ends(case, tables, margins, answer):
    held = {table.tobytes() for table in tables}
    domain = case.release.domain.project(case.over)
    for place, labels in enumerate(domain.cells()):
        for at, value in (("lower", margins[:, place].min()), ("upper", margins[:, place].max())):
            table = answer.witness(*labels, at=at).counts.astype(np.int64).ravel()
            assert table.tobytes() in held
            assert sums(case.release, table[None], case.over)[0, place] == value


@few(2)
@given(cases())
def test_mixtures(case):
    check(case)


@few(2)
@given(margin_cases())
def test_exact_margins(case):
    check(case)


@few(5)
@given(cases(spoil=False))
def test_from_the_owners_table(case):
    assume(is_consistent(case))
    check(case, start=case.table)


@few(6)
@given(cases())
def test_an_inconsistent_start_is_refused(case):
    assume(not is_consistent(case))
    with pytest.raises(cb.InvalidInput):
        cb.bounds(case.release, over=case.over, start=case.table)


def answers_of_each_method(case):
    """What every method that does not refuse answers, by its name; None: inconsistent."""
    facts = gather(case.release)
    question = Query("sharp", case.over)
    domain = case.release.domain.project(case.over)
    found = {}
    for method in (*SOLVERS, Decomposition(rates=True)):
        if method.refusal(facts, question) is not None:
            continue
        try:
            if isinstance(method, Decomposition):
                reduced = method.apply(facts, question)
                worked = reduced.invert([solve(*part) for part in reduced.parts])
            else:
                worked = method.solve(facts, question)
            low, high = worked.bounds()
        except cb.InconsistentRelease:
            found[method.name] = None
            continue
        values = [list(worked.values(index)) for index in np.ndindex(domain.shape)]
        found[method.name] = low.tolist(), high.tolist(), values
    return found


@few(3)
@given(cases())
def test_methods_agree_on_mixtures(case):
    found = answers_of_each_method(case)
    assert all(one == found["integer search"] for one in found.values()), described(case)


@few(3)
@given(margin_cases())
def test_methods_agree_on_margins(case):
    found = answers_of_each_method(case)
    assert all(one == found["integer search"] for one in found.values()), described(case)


TWO = ("0", "1")
GROUPED = cb.Domain(
    {"e": ["0", "1", "2"], "a": TWO, "c": TWO},
    groupings={"g": cb.Grouping("e", {"x": ["0", "1"], "y": ["2"]})},
)
LISTS = [
    cb.Total(3),
    cb.Known(["a"], values={"0": [0, 3]}),
    cb.Known(["a", "b"], values={TWO: [0, 4], ("0", "0"): [1, 2]}),
    cb.Margin(["x"], [2, 1]),
]
ONCE_WRONG = {
    "as many sums as cells, but other ones": (
        cb.Release(GROUPED, [cb.Margin(["e"], [1, 2, 3])]),
        ("g", "e", "a"),
    ),
    "sums of no cells": (cb.Release(GROUPED, [cb.Total(upper=3)]), ("g", "e")),
    "a variable beside its groups": (cb.Release(GROUPED, [cb.Total(6)]), ("e", "a", "c", "g")),
    "a prior about groups only": (
        cb.Release(GROUPED, [cb.Margin(["a"], [3, 3]), cb.Known(["g"], lower={"x": 2, "y": 3})]),
        ("e",),
    ),
    "a loose margin over the border": (
        cb.Release(
            cb.Domain({"a": TWO, "c": TWO, "b": TWO}),
            [
                cb.Margin(["a", "c"], [[1, 0], [1, 2]]),
                cb.Margin(["a"], [None, "3-5"]),
                cb.Margin(["a", "b"], [["<1", "1-2"], ["1-2", "1-2"]]),
            ],
        ),
        ("b",),
    ),
    "a question beside every statement": (
        cb.Release(
            cb.Domain({"a": TWO, "e": TWO, "b": TWO}),
            [cb.Margin(["b"], [2, "<6"]), cb.Margin(["a"], ["4-5", "1-3"]), cb.Total(6)],
        ),
        ("e",),
    ),
    "nothing fits a part that is not asked about": (
        cb.Release(cb.Domain(dict.fromkeys("abx", TWO)), LISTS),
        ("x",),
    ),
    "nothing fits, and no statement is about the question": (
        cb.Release(cb.Domain(dict.fromkeys("abxc", TWO)), LISTS),
        ("c",),
    ),
    "lists as an array": (
        cb.Release(
            cb.Domain({"a": TWO, "b": TWO}),
            [cb.Known(["a", "b"], values=np.array([[[0, 3], [1, 2]], [[1, 2], [0, 1]]]))],
        ),
        ("a", "b"),
    ),
}


@pytest.mark.parametrize("name", ONCE_WRONG)
def test_once_wrong(name):
    release, over = ONCE_WRONG[name]
    largest = 8 if release.domain.size < 9 else 6 if release.domain.size < 13 else 3
    check(Case(release, np.zeros(release.domain.shape, dtype=np.int64), largest, over))
