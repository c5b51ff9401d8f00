"""Every answer about one conditional against the list of all consistent tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import cellbounds as cb
from bruteforce import consistent_tables, summed
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
            assert table.margin(*names)[last] == value


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
