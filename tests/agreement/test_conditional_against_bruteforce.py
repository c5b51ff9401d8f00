"""Every answer about one conditional against the list of all consistent tables."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given

import cellbounds as cb
from bruteforce import consistent_tables, summed
from cellbounds.solvers.conditional import feasible
from strategies import LARGEST, releases


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
