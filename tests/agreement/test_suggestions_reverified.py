"""Every suggestion is safe: judged again, and by listing all consistent tables."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cellbounds as cb
from bruteforce import compositions, holds, summed
from cellbounds.disclosure.suggesting import suggest
from strategies import few

SMALL, VALUES = 3, 2
"""The rule of the default policy: a count of 1 to 3 keeps 2 attainable counts."""


SHAPES = ((2, 2), (1, 3), (3, 1), (2, 3), (3, 2), (2, 2, 2))

STATEMENTS = {
    2: (
        ["[b|a]@1"],
        ["[b|a]@2"],
        ["[b|a]"],
        ["[a,b|]@2"],
        ["[a,b]"],
        ["[a,b]", "[a]"],
        ["[a]", "[b]"],
        ["[b|a]@2", "[a]"],
        ["[a,b]~3", "[b]"],
    ),
    3: (["[c|a,b]@2"], ["[c|a]"], ["[a,b]", "[b,c]"], ["[a,b]"], ["[b,c|a]@1"]),
}


@st.composite
def published(draw):
    shape = draw(st.sampled_from(SHAPES))
    size = int(np.prod(shape))
    largest = {4: 12, 3: 12, 6: 9, 8: 7}[size]
    cells = draw(
        st.lists(st.integers(0, 6), min_size=size, max_size=size).filter(
            lambda found: 0 < sum(found) <= largest
        )
    )
    domain = cb.Domain(
        {name: list(range(width)) for name, width in zip("abc", shape, strict=False)}
    )
    table = cb.Table(domain, np.array(cells).reshape(shape))
    statements = draw(st.sampled_from(STATEMENTS[len(shape)]))
    return table, cb.publish(table, *statements)


def said_empty(release, names, labels):
    """Whether rates say of a row that it is empty, and the cell is in it."""
    person = dict(zip(names, labels, strict=True))
    for statement in release.statements:
        if not isinstance(statement, cb.Conditional) or statement.missing != "zero":
            continue
        if not set(statement.given) <= set(names):
            continue
        domain = release.domain
        place = tuple(domain.levels(name).index(person[name]) for name in statement.given)
        if all(rate is None for rate in np.array(statement.rates[place], dtype=object).ravel()):
            return True
    return False


def disclosed(release, tables, names, truth):
    """Cells of a margin that are small and keep too few counts, one by one."""
    margin = release.domain.project(names)
    seen = [summed(release, counts, names) for counts in tables]
    true = summed(release, truth, names)
    return [
        labels
        for labels, index in zip(margin.cells(), np.ndindex(margin.shape), strict=True)
        if 0 < true[index] <= SMALL
        and len({int(one[index]) for one in seen}) < VALUES
        and not said_empty(release, names, labels)
    ]


def named(release):
    """Variables of the figures, in the order of the domain."""
    found = {
        name
        for one in release.statements
        if isinstance(one, cb.Margin | cb.Conditional)
        for name in one.variables
    }
    behind = {}
    for name in (*release.domain.names, *release.domain.groupings):
        if name in found:
            grouping = release.domain.grouping(name)
            behind.setdefault(name if grouping is None else grouping[0], name)
    return tuple(behind[name] for name in release.domain.names if name in behind)


@few(10)
@given(published())
def test_suggestions_are_safe_in_the_list_of_all_tables(case):
    table, release = case
    found = suggest(table, release, most=5, changes=2, independent=False)
    everything = [
        np.array(flat).reshape(table.domain.shape)
        for flat in compositions(table.total, table.domain.size)
    ]
    for suggestion in found:
        other = suggestion.release
        if not any(isinstance(one, cb.Total) for one in other.statements):
            continue  # without N there are endlessly many tables: judged again below
        consistent = [x for x in everything if all(holds(s, other, x) for s in other.statements)]
        assert any(np.array_equal(x, table.counts) for x in consistent)
        for names in {other.domain.names, named(other)}:
            assert disclosed(other, consistent, names, table.counts) == []


@few(10)
@given(published(), st.booleans())
def test_suggestions_are_judged_safe_again(case, independent):
    table, release = case
    found = suggest(table, release, most=4, changes=1, independent=independent)
    owned = None if independent else table
    for suggestion in found:
        for over in {None, named(suggestion.release)}:
            assert cb.judge(table, suggestion.release, over=over).safe
            # Without N and without a table to begin with, that may stay open.
            again = cb.judge(owned, suggestion.release, over=over, independent=independent)
            assert again.safe or (independent and again.outcome is cb.Outcome.UNDECIDED)
        assert not cb.violations(table, suggestion.release)
    shares = [one.kept.share for one in found]
    # Against whoever reruns it, the order must not depend on the counts.
    assert independent or shares == sorted(shares, reverse=True)
    if found.safe_already:
        assert cb.judge(owned, release, independent=independent).safe


@pytest.mark.parametrize(
    ("name", "statements"),
    [
        ("delinquent", ["[education|county]@2"]),
        ("delinquent", ["[education|county]@3"]),
        ("koch4", ["[recovery|center,status,treatment]@2"]),
        ("koch4", ["[center,treatment,recovery]"]),
        ("census3", ["[gender,race,income]", "[race]"]),
    ],
)
def test_the_papers_tables(name, statements):
    table = cb.datasets.read(name)
    found = suggest(table, cb.publish(table, *statements), most=6, independent=False)
    assert found.outcome is cb.Outcome.UNSAFE
    assert len(found) == 6
    assert len({one.release.digest for one in found}) == 6
    for suggestion in found:
        assert suggestion.changes
        for over in (None, named(suggestion.release)):
            assert cb.judge(table, suggestion.release, over=over).safe


def test_sets_of_changes_hold_no_smaller_safe_set():
    table = cb.datasets.read("delinquent")
    found = suggest(
        table, cb.publish(table, "[education|county]@3"), most=30, changes=2, independent=False
    )
    plain = [set(one.changes) for one in found if all(c.kind != "suppress" for c in one.changes)]
    assert any(len(changes) == 2 for changes in plain)
    assert not any(one < other for one, other in itertools.permutations(plain, 2))
