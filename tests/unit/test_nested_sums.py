"""Sums without gaps: what is skipped is what asking for every value would have found."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import cellbounds as cb
from cellbounds.model.constraints import compile_release, violations
from cellbounds.model.problem import make_problem
from cellbounds.solvers.general.nested_families import Nested
from strategies import few


def nested_of(release):
    return Nested(make_problem(compile_release(release), release.domain.size))


@st.composite
def releases(draw):
    """Rounded margins of a small table, one or several, perhaps with priors or a list."""
    shape = draw(st.sampled_from([(4,), (2, 2), (2, 3), (2, 2, 2)]))
    size = int(np.prod(shape))
    counts = np.array(draw(st.lists(st.integers(0, 4), min_size=size, max_size=size)))
    names = "abc"[: len(shape)]
    domain = cb.Domain({name: range(n) for name, n in zip(names, shape, strict=True)})
    table = cb.Table(domain, counts.reshape(shape))
    margins = [
        ",".join(one) for k in range(1, len(names) + 1) for one in itertools.combinations(names, k)
    ]
    chosen = draw(st.lists(st.sampled_from(margins), min_size=1, max_size=3, unique=True))
    base = draw(st.sampled_from([2, 3]))
    release = cb.publish(table, *(f"[{one}]~{base}" for one in chosen))
    if draw(st.integers(0, 3)) == 0:
        prior = cb.Known([names[0]], values={0: [0, int(table.margin([names[0]]).counts[0])]})
        release = cb.Release(domain, [*release.statements, prior])
    return release


def listed(answer):
    return [(labels, values.progressions, values.unknown) for labels, values in answer.items()]


@given(releases(), st.data())
@few(2)
def test_values_are_those_that_are_asked_for_one_by_one(release, data):
    names = release.domain.names
    over = data.draw(st.permutations(names))[: data.draw(st.integers(1, len(names)))]
    found = cb.attainable(release, over=over)
    quick = listed(found)
    whole = Nested.unbroken
    try:
        Nested.unbroken = lambda *_: False
        slow = listed(cb.attainable(release, over=over))
    finally:
        Nested.unbroken = whole
    assert quick == slow
    labels, values = data.draw(st.sampled_from(list(found.items())))
    for value in values:
        table = found.witness(*labels, value=value)
        assert not violations(table, release)
        assert table.margin(over)[labels] == value


def test_two_families_are_unbroken_and_three_are_not():
    table = cb.Table(cb.Domain({"a": [0, 1], "b": [0, 1], "c": [0, 1]}), np.full((2, 2, 2), 3))
    two = nested_of(cb.publish(table, "[a]~5", "[b]~5", "[a,b]~5"))
    assert two.unbroken(np.array([0]))
    assert two.unbroken(np.array([0, 1, 2, 3]))  # a whole row of [a]
    assert not two.unbroken(np.array([0, 6]))  # crosses a row of each
    three = nested_of(cb.publish(table, "[a]~5", "[b]~5", "[c]~5"))
    assert not three.unbroken(np.array([0]))


def test_a_list_of_values_or_a_coefficient_breaks_the_argument():
    table = cb.Table(cb.Domain({"a": [0, 1, 2]}), [3, 4, 5])
    release = cb.publish(table, "[a]~5")
    assert nested_of(release).unbroken(np.array([0]))
    gaps = cb.Release(release.domain, [*release.statements, cb.Known(["a"], values={1: [3, 7]})])
    assert not nested_of(gaps).unbroken(np.array([0]))
    twice = cb.Linear(["a"], {0: 2, 1: 1}, lower=9, upper=11)
    weighed = cb.Release(release.domain, [*release.statements, twice])
    assert not nested_of(weighed).unbroken(np.array([0]))


def test_a_cell_counted_twice_is_no_member():
    table = cb.Table(cb.Domain({"a": [0, 1, 2]}), [3, 4, 5])
    assert not nested_of(cb.publish(table, "[a]~5")).unbroken(np.array([0, 0]))
