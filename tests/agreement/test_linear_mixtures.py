"""Exact linear bounds of mixtures against linear programs solved in floating point."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from scipy.optimize import linprog

import cellbounds as cb
from bruteforce import count_fits, looked_up
from listing import belongs, listed, sums, weights_of
from mixtures import MARGIN_SHAPES, cases

FAR = 60
"""Beyond every count that an entry of a small margin can stand for."""


class Rows:
    """Rows a and limits b with ``a x <= b`` for real cells x >= 0; open ends are closed."""

    def __init__(self, release: cb.Release) -> None:
        self._release = release
        self.a: list[np.ndarray] = []
        self.b: list[float] = []
        for statement in release.statements:
            self._add(statement)

    def between(self, row, low, high) -> None:
        if low is not None:
            self.a.append(-np.asarray(row, dtype=float))
            self.b.append(-float(low))
        if high is not None:
            self.a.append(np.asarray(row, dtype=float))
            self.b.append(float(high))

    def _add(self, statement) -> None:
        if isinstance(statement, cb.Total):
            ones = np.ones(self._release.domain.size)
            self.between(ones, statement.lower, statement.upper)
            return
        inside = belongs(self._release, statement.variables)
        match statement:
            case cb.Margin():
                for place, entry in enumerate(statement.entries.flat):
                    fits = [n for n in range(FAR) if count_fits(statement, entry, n)]
                    high = None if fits[-1] == FAR - 1 else fits[-1]
                    self.between(inside[:, place], fits[0], high)
            case cb.Prior():
                self._add_prior(statement, inside)
            case cb.Linear():
                row = inside @ np.array([float(w) for w in weights_of(statement, self._release)])
                self.between(row, statement.lower, statement.upper)
            case cb.Conditional():
                self._add_rates(statement, inside)

    def _add_prior(self, statement, inside) -> None:
        domain = self._release.domain.project(statement.variables)
        cells = zip(np.ndindex(domain.shape), domain.cells(), strict=True)
        for place, (index, labels) in enumerate(cells):
            low = looked_up(statement.lower, index, labels)
            high = looked_up(statement.upper, index, labels)
            values = looked_up(statement.values, index, labels)
            self.between(inside[:, place], low, high)
            if values is not None:
                self.between(inside[:, place], min(values), max(values))

    def _add_rates(self, statement, inside) -> None:
        ends = statement.intervals
        rows, columns = ends.low.shape
        inside = inside.reshape(-1, rows, columns)
        for i in range(rows):
            total = inside[:, i].sum(axis=1)
            if ends.zero[i]:
                self.between(total, None, 0)
                continue
            self.between(total, 1, None)
            for j in range(columns):
                low, high, _, _ = ends.interval(i, j)
                self.between(inside[:, i, j] - float(low) * total, 0, None)
                self.between(inside[:, i, j] - float(high) * total, None, 0)

    def least(self, goal):
        """Status and value of the smallest ``goal @ x``."""
        limits = {"A_ub": np.array(self.a), "b_ub": np.array(self.b)} if self.a else {}
        return linprog(goal, method="highs", **limits)


def few(share: int):
    return settings(max_examples=max(20, settings.default.max_examples // share))


def check(case):
    release, over = case.release, case.over
    rows = Rows(release)
    goals = belongs(release, over).T
    feasible = rows.least(np.zeros(release.domain.size)).status == 0
    if not feasible:
        with pytest.raises(cb.InconsistentRelease):
            cb.bounds(release, over=over, kind="linear")
        return
    answer = cb.bounds(release, over=over, kind="linear")
    for goal, low, high in zip(goals, answer.lower.flat, answer.upper.flat, strict=True):
        assert isinstance(low, Fraction)
        assert float(low) == pytest.approx(rows.least(goal).fun, abs=1e-6)
        most = rows.least(-goal)
        if high is cb.UNBOUNDED:
            assert most.status != 0
        else:
            assert isinstance(high, Fraction)
            assert float(high) == pytest.approx(-most.fun, abs=1e-6)


def crossed(release) -> bool:
    """Open ends that leave nothing, or knowledge that a method may narrow beforehand.

    Such a release may be called inconsistent, or be narrowed, where closed ends are not.
    """
    conditionals = [s for s in release.statements if isinstance(s, cb.Conditional)]
    opened = any(s.intervals.low_open.any() or s.intervals.high_open.any() for s in conditionals)
    lists = any(isinstance(s, cb.Prior) and s.values for s in release.statements)
    return opened or (lists and len(conditionals) == 1)


@few(4)
@given(cases(closed=False))
def test_mixtures(case):
    assume(not crossed(case.release))
    check(case)


@few(8)
@given(cases(closed=False, kinds=("linear", "loose", "prior", "zeros")))
def test_without_rates(case):
    check(case)


@few(8)
@given(cases(kinds=("margin",), shapes=MARGIN_SHAPES))
def test_margins(case):
    check(case)


@few(5)
@given(cases())
def test_linear_bounds_enclose_the_sharp_ones(case):
    tables = listed(case.release, case.largest)
    assume(len(tables))
    margins = sums(case.release, tables, case.over)
    answer = cb.bounds(case.release, over=case.over, kind="linear")
    assert (answer.lower.ravel() <= margins.min(axis=0)).all()
    assert (answer.upper.ravel() >= margins.max(axis=0)).all()
