"""Sums that are constant, for all at once, against exact programs and against every table.

Systems are small and random: equations and inequalities, degenerate, unbounded ones too.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cellbounds.model.problem import Problem
from cellbounds.runtime.arrays import IntArray
from cellbounds.solvers.general import constant_sums as module
from cellbounds.solvers.general.constant_sums import constant_sums, echelon_of, equations_of
from cellbounds.solvers.general.elimination_kernel import DEPENDENT
from cellbounds.solvers.general.exact_linear import ExactProgram
from cellbounds.solvers.general.null_walk import tables_around
from cellbounds.statements.inequalities import NO_LOWER, NO_UPPER


@st.composite
def systems(draw: st.DrawFn, most: int = 3) -> tuple[Problem, IntArray]:
    """A small problem, and a table that fits it."""
    size = draw(st.integers(2, 6))
    table = np.array(draw(st.lists(st.integers(0, most), min_size=size, max_size=size)))
    lower = np.array([draw(st.sampled_from([0, 0, int(x)])) for x in table])
    upper = np.array([draw(st.sampled_from([NO_UPPER, most, int(x)])) for x in table])
    starts, cells, factors, low, high = [0], [], [], [], []
    for _ in range(draw(st.integers(1, 5))):
        inside = sorted(draw(st.sets(st.integers(0, size - 1), min_size=1)))
        row = [draw(st.sampled_from([1, 1, 1, -1, 2, -3])) for _ in inside]
        total = int(np.array(row) @ table[inside])
        cells += inside
        factors += row
        starts.append(len(cells))
        low.append(draw(st.sampled_from([total, total, total - 1, NO_LOWER])))
        high.append(draw(st.sampled_from([total, total, total + 1, NO_UPPER])))
    arrays = (np.array(part, dtype=np.int64) for part in (starts, cells, factors, low, high))
    return Problem(lower, upper, *arrays, np.arange(len(low)), ()), table


def every_cell(problem: Problem) -> tuple[IntArray, IntArray]:
    size = len(problem.lower)
    return np.arange(size + 1), np.arange(size)


def exact_range(problem: Problem, cell: int) -> tuple[Fraction | None, Fraction | None]:
    """The least and the most of a cell over real tables, in fractions; None: no end."""
    weights = np.zeros(len(problem.lower), dtype=np.int64)
    weights[cell] = 1
    least = ExactProgram(problem).least(weights)
    most = ExactProgram(problem).least(-weights)
    return least, None if most is None else -most


@given(systems())
def test_cells_are_constant_exactly_if_programs_say_so(drawn: tuple[Problem, IntArray]) -> None:
    problem, table = drawn
    found = constant_sums(problem, [table], *every_cell(problem)).sums
    for cell in range(len(table)):
        least, most = exact_range(problem, cell)
        assert bool(found[cell]) == (least is not None and least == most)


@given(systems(most=2), st.data())
def test_sums_are_constant_in_every_table_that_there_is(
    drawn: tuple[Problem, IntArray], data: st.DataObject
) -> None:
    problem, table = drawn
    size = len(table)
    members = sorted(data.draw(st.sets(st.integers(0, size - 1), min_size=1)))
    lines = np.array([0, len(members)]), np.array(members)
    listed = [np.array(one) for one in itertools.product(range(4), repeat=size)]
    fitting = [one for one in listed if problem.holds(one)]
    if constant_sums(problem, [table], *lines).sums[0]:
        assert {int(one[members].sum()) for one in fitting} == {int(table[members].sum())}
    more = constant_sums(problem, fitting or [table], *lines)
    assert bool(more.sums[0]) == bool(constant_sums(problem, [table], *lines).sums[0])


@given(systems())
def test_more_tables_and_other_orders_change_nothing(drawn: tuple[Problem, IntArray]) -> None:
    problem, table = drawn
    found = constant_sums(problem, [table], *every_cell(problem)).sums
    turned = np.arange(len(table))[::-1]
    other = Problem(
        problem.lower[turned],
        problem.upper[turned],
        problem.starts,
        turned[problem.cells],
        problem.coefficients,
        *(problem.row_lower, problem.row_upper, problem.origin, ()),
    )
    again = constant_sums(other, [table[turned]], *every_cell(problem)).sums
    assert again[turned].tolist() == found.tolist()


@given(systems())
def test_dependent_rows_follow_from_the_others(drawn: tuple[Problem, IntArray]) -> None:
    problem, _ = drawn
    equations = equations_of(problem)
    dense = np.zeros((len(problem.row_lower), equations.size))
    dense[equations.rows, equations.columns] = equations.factors
    fate = echelon_of(equations, np.zeros(equations.size, dtype=np.int64)).fate
    kept = dense[fate != DEPENDENT]
    assert len(kept) == np.linalg.matrix_rank(dense)
    assert np.linalg.matrix_rank(kept) == np.linalg.matrix_rank(dense)


@given(systems(), st.integers(0, 3))
def test_walks_stay_among_the_tables(drawn: tuple[Problem, IntArray], seed: int) -> None:
    problem, table = drawn
    moved = np.zeros(len(table), dtype=bool)
    constant = constant_sums(problem, [table], *every_cell(problem)).sums
    for other in tables_around(problem, table.astype(np.int64), lambda: ~moved, seed):
        assert problem.holds(other)
        assert (other == table)[constant].all()
        np.logical_or(moved, other != table, out=moved)


def test_a_wrong_proposal_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """x + y = z from 0 on, at 0: all are tight, none is forced, whatever a program says."""
    ends = np.zeros(3, dtype=np.int64), np.full(3, NO_UPPER)
    none = np.zeros(1, dtype=np.int64)
    row = np.array([0, 3]), np.arange(3), np.array([1, 1, -1]), none, none
    problem = Problem(*ends, *row, none, ())
    monkeypatch.setattr(module, "proposed_columns", lambda *_: np.ones(3, dtype=bool))
    found = constant_sums(problem, [np.zeros(3, dtype=np.int64)], *every_cell(problem))
    assert not found.forced.any()
    assert not found.sums.any()


@pytest.mark.parametrize("least", [0, 1])
def test_hidden_cells_that_are_known(least: int) -> None:
    """Two hidden cells in each of two rows and columns: a cycle, unless each must hold somebody."""
    # x0 + x1 = 2, x2 + x3 = 2, x0 + x2 = 2, x1 + x3 = 2, and all at least 1: all are 1.
    cells = np.array([0, 1, 2, 3, 0, 2, 1, 3])
    totals = np.full(4, 2)
    ends = np.full(4, least), np.full(4, NO_UPPER)
    starts = np.arange(0, 9, 2)
    problem = Problem(*ends, starts, cells, np.ones(8, dtype=np.int64), totals, totals, starts, ())
    found = constant_sums(problem, [np.ones(4, dtype=np.int64)], *every_cell(problem))
    assert found.sums.all() == (least == 1)
    assert found.dependent.sum() == 1


@settings(max_examples=30)
@given(systems())
def test_numbers_that_grow_too_large_are_given_up(drawn: tuple[Problem, IntArray]) -> None:
    problem, table = drawn
    assume(len(problem.cells))
    large = np.where(np.arange(len(problem.cells)) % 2 == 0, 2**29 - 3, 2**29 + 11)
    sums = np.add.reduceat(large * table[problem.cells], problem.starts[:-1])
    grown = Problem(
        *(problem.lower, problem.upper, problem.starts, problem.cells, large, sums, sums),
        *(problem.origin, ()),
    )
    found = constant_sums(grown, [table], *every_cell(problem)).sums
    for cell in np.flatnonzero(found).tolist():
        least, most = exact_range(grown, cell)
        assert least == most
