"""Compiled constraints hold for a table exactly where the statements do, taken one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import cellbounds as cb
from bruteforce import holds
from cellbounds.model.constraints import compile_release, violations
from mixtures import cases
from strategies import few


def others(draw, case):
    """The table, tables one record away, and some that have nothing to do with it."""
    size = case.counts.size
    yield case.counts
    for _ in range(4):
        moved = case.counts.ravel().copy()
        moved[draw(st.integers(0, size - 1))] += 1
        taken = draw(st.integers(0, size - 1))
        moved[taken] = max(0, moved[taken] - draw(st.integers(0, 2)))
        yield moved.reshape(case.counts.shape)
    for _ in range(2):
        flat = draw(st.lists(st.integers(0, 5), min_size=size, max_size=size))
        yield np.array(flat).reshape(case.counts.shape)


@few(5, least=20)
@given(st.data())
def test_a_table_breaks_the_same_statements(data):
    case = data.draw(cases())
    release = case.release
    system = compile_release(release)
    for counts in others(data.draw, case):
        table = cb.Table(release.domain, counts)
        broken = [one.notation for one in release.statements if not holds(one, release, counts)]
        assert violations(table, release) == broken
        assert violations(table, release, system) == broken
