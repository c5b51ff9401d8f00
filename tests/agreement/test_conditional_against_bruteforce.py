"""Every answer about one conditional against the list of all consistent tables."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cellbounds as cb
from bruteforce import consistent_tables, summed
from cellbounds.solvers.conditional import feasible, small_tables
from strategies import LARGEST, releases


@pytest.fixture(scope="module", autouse=True)
def in_three_phases():
    """The ends of small tables may come from one compiled call, which is compared with this way."""
    with patch.object(small_tables, "fits", lambda _: False):
        yield


def asked_margins(release):
    conditional = next(s for s in release.statements if isinstance(s, cb.Conditional))
    yield release.domain.names
    yield tuple(reversed(conditional.variables))
    if conditional.given:
        yield conditional.given


@given(releases())
def test_bounds_values_and_witnesses(release):
    tables = list(consistent_tables(release, LARGEST))
    for names in asked_margins(release):
        if not tables:
            with pytest.raises(cb.InconsistentRelease):
                cb.bounds(release, over=names)
            with pytest.raises(cb.InconsistentRelease):
                cb.attainable(release, over=names)
            continue
        margins = [summed(release, table, names) for table in tables]
        answer, values = cb.bounds(release, over=names), cb.attainable(release, over=names)
        stacked = np.stack(margins)
        assert np.array_equal(answer.lower, stacked.min(axis=0))
        assert np.array_equal(answer.upper, stacked.max(axis=0))
        domain = release.domain.project(names)
        for labels, index in zip(domain.cells(), np.ndindex(domain.shape), strict=True):
            expected = {int(margin[index]) for margin in margins}
            assert values[labels] == expected
            assert list(values[labels]) == sorted(expected)
        # A witness of every value of one cell, rebuilt and checked by the brute force's own rules.
        last = tuple(level[-1] for level in map(domain.levels, domain.names))
        for value in values[last]:
            table = values.witness(*last, value=value)
            assert any(np.array_equal(table.counts, known) for known in tables)
            assert table.margin(names)[last] == value


@given(
    rows=st.lists(st.tuples(*[st.integers(0, 30)] * 3), min_size=2, max_size=5),
    digits=st.integers(0, 2),
    ends=st.tuples(st.integers(0, 60), st.one_of(st.none(), st.integers(0, 60))),
)
def test_further_tables_are_consistent(rows, digits, ends):
    """Tables that margins are looked up in: what they show to be attained is attained."""
    counts = np.array([[1, 1, 1], *rows])
    names = {"A": list(range(len(counts))), "B": ["x", "y", "z"]}
    table = cb.Table(cb.Domain(names), counts)
    rates = cb.publish(table, f"[B|A]@{digits}").statements
    size = int(counts.sum())
    total = cb.Total(
        lower=max(0, size - ends[0]), upper=None if ends[1] is None else size + ends[1]
    )
    kept = [one for one in rates if not isinstance(one, cb.Total)]
    release = cb.Release(table.domain, [*kept, total])
    values = cb.attainable(release)
    for level in range(7):
        further = values.another(level)
        assert further is None or not cb.violations(further, release)


@pytest.mark.parametrize("total", [cb.Total(300), cb.Total(lower=250, upper=300), None])
def test_further_tables_differ_in_many_cells(total):
    """Rows move to multiples of their smallest sums together, as far as N leaves room."""
    domain = cb.Domain({"A": list("abcdef"), "B": ["x", "y"]})
    table = cb.Table(domain, [[1, 0], [0, 2], [3, 1], [2, 2], [40, 9], [0, 0]])
    rates = cb.publish(table, "[B|A]@1").statements
    kept = [one for one in rates if not isinstance(one, cb.Total)]
    release = cb.Release(table.domain, [*kept, *([] if total is None else [total])])
    values = cb.attainable(release)
    tables = [one for one in map(values.another, range(1, 5)) if one is not None]
    assert len(tables) == 4
    assert not any(cb.violations(one, release) for one in tables)
    rows = np.stack([one.margin(["A"]).counts for one in tables])
    smallest = cb.bounds(release, over=["A"]).lower
    assert (rows.max(axis=0) >= 3 * smallest)[:5].all()
    assert ((rows.max(axis=0) > rows.min(axis=0))[:5]).all()


@pytest.mark.parametrize("held", ["residues", "sparse"])
@given(release=releases())
def test_other_ways_to_hold_sums(held, release):
    """Sums of rows without saturation, held as residues or one by one as for very large N."""
    limits = {"SMALL_WINDOW": 0, "LARGE_WINDOW": 0, "FEW": 0, "RESIDUE_GAIN": 0}
    if held == "sparse":
        limits["RESIDUE_LIMIT"] = 0
    tables = list(consistent_tables(release, LARGEST))
    with patch.multiple(feasible, **limits):
        if not tables:
            with pytest.raises(cb.InconsistentRelease):
                cb.bounds(release)
            return
        stacked = np.stack(tables)
        answer, values = cb.bounds(release), cb.attainable(release)
        assert np.array_equal(answer.lower, stacked.min(axis=0))
        assert np.array_equal(answer.upper, stacked.max(axis=0))
        for labels, index in zip(
            release.domain.cells(), np.ndindex(release.domain.shape), strict=True
        ):
            assert values[labels] == {int(table[index]) for table in tables}
        first = next(release.domain.cells())
        witness = answer.witness(*first, at="upper")
        assert any(np.array_equal(witness.counts, known) for known in tables)


@given(releases())
def test_linear_bounds_enclose_and_need_real_tables(release):
    tables = list(consistent_tables(release, LARGEST))
    if not tables:
        return
    names = release.domain.names
    stacked = np.stack(tables)
    answer = cb.bounds(release, kind="linear")
    assert (answer.lower <= stacked.min(axis=0)).all()
    assert (answer.upper >= stacked.max(axis=0)).all()
    assert answer.over == names
