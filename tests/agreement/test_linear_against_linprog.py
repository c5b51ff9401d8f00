"""Linear bounds in exact fractions against a linear program solved in floating point."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import cellbounds as cb
from bruteforce import looked_up, summed
from strategies import releases


def program(release: cb.Release):
    """Rows a and bounds b with a x <= b, for real cells x >= 0; open ends are closed."""
    domain = release.domain
    rows: list[np.ndarray] = []
    limits: list[float] = []
    unit = np.eye(domain.size).reshape(domain.size, *domain.shape)

    def margin(names):
        return np.stack([summed(release, cell, names) for cell in unit])

    def at_most(coefficients, bound):
        rows.append(np.asarray(coefficients, dtype=float))
        limits.append(float(bound))

    for statement in release.statements:
        if isinstance(statement, cb.Total):
            at_most(-np.ones(domain.size), -statement.lower)
            if statement.upper is not None:
                at_most(np.ones(domain.size), statement.upper)
        elif isinstance(statement, cb.Conditional):
            cells = margin(statement.variables)
            flat = cells.reshape(domain.size, *statement.intervals.low.shape)
            for i in range(flat.shape[1]):
                total = flat[:, i].sum(axis=1)
                if statement.intervals.zero[i]:
                    at_most(total, 0)
                    continue
                at_most(-total, -1)
                for j in range(flat.shape[2]):
                    low, high, _, _ = statement.intervals.interval(i, j)
                    at_most(float(low) * total - flat[:, i, j], 0)
                    at_most(flat[:, i, j] - float(high) * total, 0)
        else:
            cells = margin(statement.variables)
            names = domain.project(statement.variables)
            for index, labels in zip(np.ndindex(names.shape), names.cells(), strict=True):
                column = cells[(slice(None), *index)]
                if isinstance(statement, cb.Margin):
                    low = high = int(statement.counts[index])
                else:
                    low = looked_up(statement.lower, index, labels)
                    high = looked_up(statement.upper, index, labels)
                    listed = looked_up(statement.values, index, labels)
                    if listed is not None:
                        low = max(low or 0, min(listed))
                        high = max(listed) if high is None else min(high, max(listed))
                if low is not None:
                    at_most(-column, -low)
                if high is not None:
                    at_most(column, high)
    return np.array(rows), np.array(limits)


@given(releases(), st.booleans())
def test_linear_bounds(release, with_total):
    if not with_total:
        kept = [s for s in release.statements if not isinstance(s, cb.Total)]
        release = cb.Release(release.domain, kept)
    lists = [s for s in release.statements if isinstance(s, cb.Known) and s.values is not None]
    if lists and len(release.statements) > 2 + with_total:
        return  # lists met by other knowledge are narrowed before their hull is taken
    a, b = program(release)
    size = release.domain.size
    feasible = linprog(np.zeros(size), A_ub=a, b_ub=b, method="highs").status == 0
    try:
        answer = cb.bounds(release, kind="linear")
    except cb.InconsistentRelease:
        # The program closes open ends, so it may have solutions where there are none.
        conditional = next(s for s in release.statements if isinstance(s, cb.Conditional))
        ends = conditional.intervals
        assert not feasible or ends.low_open.any() or ends.high_open.any()
        return
    assert feasible
    for cell, (low, high) in enumerate(zip(answer.lower.flat, answer.upper.flat, strict=True)):
        goal = np.zeros(size)
        goal[cell] = 1
        least = linprog(goal, A_ub=a, b_ub=b, method="highs")
        most = linprog(-goal, A_ub=a, b_ub=b, method="highs")
        assert isinstance(low, Fraction)
        assert float(low) == pytest.approx(least.fun, abs=1e-6)
        if high is cb.UNBOUNDED:
            assert most.status != 0
        else:
            assert float(high) == pytest.approx(-most.fun, abs=1e-6)
