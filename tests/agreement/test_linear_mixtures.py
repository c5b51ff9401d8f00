"""Exact linear bounds of mixtures against linear programs solved in floating point."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import linprog

import cellbounds as cb
from bruteforce import count_fits, looked_up
from listing import belongs, listed, sums, weights_of
from mixtures import MARGIN_SHAPES, Case, cases, margin_of, tables
from strategies import few

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
        self._add_lists()

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
            case cb.Known():
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
            self.between(inside[:, place], low, high)

    def _add_lists(self) -> None:
        """The hull of the counts that all statements about the same count, and N, allow."""
        release = self._release
        about = [s for s in release.statements if isinstance(s, cb.Known | cb.Margin)]
        most = next((s.upper for s in release.statements if isinstance(s, cb.Total)), None)
        for statement in about:
            if not (isinstance(statement, cb.Known) and statement.values):
                continue
            same = [s for s in about if set(s.variables) == set(statement.variables)]
            inside = belongs(release, statement.variables)
            domain = release.domain.project(statement.variables)
            cells = zip(np.ndindex(domain.shape), domain.cells(), strict=True)
            for place, (index, labels) in enumerate(cells):
                values = looked_up(statement.values, index, labels)
                if values is None:
                    continue
                named = dict(zip(statement.variables, labels, strict=True))
                left = [
                    n
                    for n in values
                    if (most is None or n <= most) and all(self._allowed(s, named, n) for s in same)
                ]
                self.between(inside[:, place], *((left[0], left[-1]) if left else (1, 0)))

    def _allowed(self, statement, named, count: int) -> bool:
        labels = tuple(named[name] for name in statement.variables)
        index = self._release.domain.project(statement.variables).index(labels)
        if isinstance(statement, cb.Margin):
            return count_fits(statement, statement.entries[index], count)
        low = looked_up(statement.lower, index, labels)
        high = looked_up(statement.upper, index, labels)
        values = looked_up(statement.values, index, labels)
        return (
            (low is None or count >= low)
            and (high is None or count <= high)
            and (values is None or count in values)
        )

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
    """Open ends that leave nothing: a release that may be called inconsistent for them."""
    conditionals = [s for s in release.statements if isinstance(s, cb.Conditional)]
    return any(s.intervals.low_open.any() or s.intervals.high_open.any() for s in conditionals)


@few(4)
@given(cases(closed=False))
def test_mixtures(case):
    assume(not crossed(case.release))
    check(case)


@st.composite
def listed_beside_rates(draw):
    """One statement of closed rates, with lists and bounds on its rows, its cells and its parts."""
    shape = draw(st.sampled_from([(2, 2), (2, 3), (2, 2, 2)]))
    names = "abc"[: len(shape)]
    domain = cb.Domain({name: list(range(n)) for name, n in zip(names, shape, strict=True)})
    counts = draw(tables(domain, 9))
    counts[..., 0] += 1
    rates = counts if len(shape) == 2 else counts.sum(axis=2)
    text = [[f"{n}/{row.sum()}" for n in row] for row in rates]
    width = draw(st.sampled_from([0, Fraction(1, 10), Fraction(1, 4)]))
    rule = {"eps": width} if width else {}
    said = [cb.Conditional(["b"], given=["a"], rates=text, **rule)]
    total = int(counts.sum())
    said += draw(st.sampled_from([[], [cb.Total(total)], [cb.Total(upper=total + 3)]]))
    for about in draw(st.lists(st.sampled_from([("a",), ("a", "b"), tuple(names)]), max_size=3)):
        said.append(draw(known_of(domain, counts, about)))
    over = draw(st.sampled_from([("a",), ("a", "b"), tuple(names)]))
    return Case(cb.Release(domain, said), counts, total, over)


@st.composite
def known_of(draw, domain, counts, names):
    known: dict = {"lower": {}, "upper": {}, "values": {}}
    for value, labels in zip(
        margin_of(domain, counts, names).flat, domain.project(names).cells(), strict=True
    ):
        key, about = labels if len(names) > 1 else labels[0], int(value)
        if draw(st.booleans()):
            known["values"][key] = sorted({about, *draw(st.lists(st.integers(0, 12), max_size=3))})
        if draw(st.booleans()):
            known["upper"][key] = about + draw(st.integers(0, 3))
        if draw(st.booleans()):
            known["lower"][key] = max(0, about - draw(st.integers(0, 3)))
    kept = {name: given for name, given in known.items() if given}
    return cb.Known(names, **(kept or {"lower": 0}))


@few(2)
@given(listed_beside_rates())
def test_lists_beside_rates(case):
    """Both methods that may be asked relax a list to the same interval."""
    check(case)
    idle = cb.Linear(["a"], dict.fromkeys(case.release.domain.levels("a"), 1), lower=0)
    other = cb.Release(case.release.domain, [*case.release.statements, idle])
    one, two = (cb.bounds(r, over=case.over, kind="linear") for r in (case.release, other))
    assert one.method != two.method
    assert (one.lower == two.lower).all()
    assert (one.upper == two.upper).all()


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
