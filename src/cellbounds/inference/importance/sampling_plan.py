"""What is placed, and in which order: the free cells of a release, and sums worth placing first.

A sum of cells is a variable of its own where placing it first makes the rest easy: the sum of a
row of rates (given it, each rate is an interval for its cell), a sum that must be one of a list
of values, a sum that is only known to lie in a range. The sums follow from the cells, so tables
with these sums correspond to tables one to one, and nothing is counted twice.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from cellbounds.data.cell_groups import cells_behind
from cellbounds.errors import TooMuchWork
from cellbounds.inference.decision_diagram.components import limited_problem
from cellbounds.model.constraints import System
from cellbounds.model.problem import Problem, presolve
from cellbounds.runtime.arrays import SAFE, IntArray
from cellbounds.statements import Conditional, Release

Row = tuple[dict[int, int], int, int]
"""Factors by variable, and the limits of their sum."""


def _rows_of(problem: Problem) -> list[Row]:
    """The rows of a problem one by one."""
    variables, factors = problem.cells.tolist(), problem.coefficients.tolist()
    limits = zip(problem.row_lower.tolist(), problem.row_upper.tolist(), strict=True)
    return [
        (dict(zip(variables[a:b], factors[a:b], strict=True)), low, high)
        for (a, b), (low, high) in zip(pairwise(problem.starts.tolist()), limits, strict=True)
    ]


def _with_sums(rows: list[Row], groups: list[IntArray], first: int) -> list[Row]:
    """Rewrite rows in terms of sums where that makes them no longer, and define the sums.

    What is added to a row is a multiple of the definition of a sum, which is zero.
    """
    touching: defaultdict[int, set[int]] = defaultdict(set)
    for row, (terms, _, _) in enumerate(rows):
        for variable in terms:
            touching[variable].add(row)
    part_of: defaultdict[int, list[int]] = defaultdict(list)
    for k, group in enumerate(groups):
        definition = dict.fromkeys(group.tolist(), 1)
        # Smaller sums inside this one have been defined by now; they may stand for their cells.
        for earlier in sorted({sum_ for cell in definition for sum_ in part_of[cell]}):
            inside = groups[earlier].tolist()
            if all(cell in definition for cell in inside):
                for cell in inside:
                    del definition[cell]
                definition[first + earlier] = 1
        for cell in group.tolist():
            part_of[cell].append(k)
        variable = first + k
        for row in sorted(set().union(*(touching[term] for term in definition))):
            _rewrite(rows[row][0], definition, variable)
            for term in (*definition, variable):
                (touching[term].add if term in rows[row][0] else touching[term].discard)(row)
        rows.append(({**definition, variable: -1}, 0, 0))
        for term in rows[-1][0]:
            touching[term].add(len(rows) - 1)
    return rows


def _rewrite(terms: dict[int, int], definition: dict[int, int], variable: int) -> None:
    factors = [terms.get(term, 0) for term in definition]
    common = max(set(factors), key=lambda factor: (factors.count(factor), -abs(factor)))
    longer = 1 - factors.count(common) + factors.count(0)
    if common == 0 or longer > 0:
        return
    for term, factor in zip(definition, factors, strict=True):
        if factor == common:
            del terms[term]
        else:
            terms[term] = factor - common
    terms[variable] = terms.get(variable, 0) + common


class ConstraintMatrix(NamedTuple):
    """Variables and rows in a form that can be compiled.

    Row r is the sum of ``factors * values[variables]`` over ``starts[r]:starts[r + 1]``, between
    ``lower[r]`` and ``upper[r]``; ``rows`` and ``row_factors`` are the same by variable. Variables
    with listed values may have those alone: ``values[lists[v]:lists[v + 1]]``, ascending.
    """

    starts: IntArray
    variables: IntArray
    factors: IntArray
    lower: IntArray
    upper: IntArray
    row_starts: IntArray
    rows: IntArray
    row_factors: IntArray
    lists: IntArray
    values: IntArray


class VariableBounds(NamedTuple):
    """Bounds of all variables, and the least and most that each row can be within them."""

    lower: IntArray
    upper: IntArray
    least: IntArray
    most: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class SamplingPlan:
    """The free cells of a release and the sums placed beside them.

    Attributes
    ----------
    fixed
        The counts of all cells; those of free cells mean nothing.
    free
        The free cells, numbered as in the domain: the first variables.
    problem
        Rows over the free cells alone.
    matrix
        Rows over cells and sums.
    members
        The cells of each sum, as numbers of variables; sums follow the free cells.
    lower, upper
        Bounds of all variables.
    order
        The variables in the order in which they are placed.
    """

    fixed: IntArray
    free: IntArray
    problem: Problem
    matrix: ConstraintMatrix
    members: tuple[IntArray, ...]
    lower: IntArray
    upper: IntArray
    order: IntArray


def make_plan(release: Release) -> SamplingPlan:
    """Compile and propagate a release, choose the sums and the order.

    Raises
    ------
    InconsistentRelease
        If propagation leaves a cell without any value.
    UnsupportedRelease
        If a cell has no upper limit.
    TooMuchWork
        If counts times coefficients could leave 64-bit integers.
    """
    system, problem = limited_problem(release)
    presolved = presolve(problem)
    small, free = presolved.problem, presolved.cells
    number = np.full(len(problem.lower), -1)
    number[free] = np.arange(len(free))
    lists = [(np.sort(cells), values) for cells, values in small.lists]
    groups = _groups(release, system, number, [cells for cells, _ in lists])
    rows = _with_sums(_rows_of(small), groups, len(free))
    lower, upper = (
        np.concatenate([ends, [int(ends[group].sum()) for group in groups]]).astype(np.int64)
        for ends in (small.lower, small.upper)
    )
    place = {group.tobytes(): len(free) + k for k, group in enumerate(groups)}
    allowed: dict[int, IntArray] = {}
    for cells, values in lists:
        variable = int(cells[0]) if len(cells) == 1 else place[cells.tobytes()]
        allowed[variable] = np.array(sorted(values.intersection(allowed.get(variable, values))))
    matrix = _constraint_matrix(rows, upper, allowed)
    # Sums first, narrow ranges before wide ones: what is narrow has few values to get wrong, and
    # what is left to the end is determined by the rest.
    order = np.lexsort((upper - lower, np.arange(len(lower)) < len(free)))
    return SamplingPlan(
        fixed=presolved.fixed,
        free=free,
        problem=small,
        matrix=matrix,
        members=tuple(groups),
        lower=lower,
        upper=upper,
        order=order,
    )


def _groups(
    release: Release, system: System, number: IntArray, listed: list[IntArray]
) -> list[IntArray]:
    """Sums worth a variable, small ones first, each once."""
    wanted = []
    for statement in release.statements:
        if isinstance(statement, Conditional):
            behind = cells_behind(release.domain, statement.variables)
            columns = statement.intervals.low.shape[1]
            edges = [*pairwise(behind.starts), *pairwise(behind.starts[::columns])]
            wanted += [behind.cells[a:b] for a, b in edges]
    ranged = (system.lower != system.upper) & ~system.about_sum
    for row in np.flatnonzero(ranged):
        inside = slice(system.starts[row], system.starts[row + 1])
        if (system.coefficients[inside] == 1).all():
            wanted.append(system.cells[inside])
    free = [np.sort(number[cells][number[cells] >= 0]) for cells in wanted]
    groups = [group for group in [*listed, *free] if len(group) > 1]
    return sorted({group.tobytes(): group for group in groups}.values(), key=len)


def _constraint_matrix(
    rows: list[Row], upper: IntArray, allowed: dict[int, IntArray]
) -> ConstraintMatrix:
    terms, low, high = zip(*rows, strict=True) if rows else ((), (), ())
    starts = np.cumsum([0, *map(len, terms)])
    variables = np.array([v for row in terms for v in row], dtype=np.int64)
    factors = np.array([f for row in terms for f in row.values()], dtype=np.int64)
    by_row = csr_array((factors, variables, starts), shape=(len(rows), len(upper)))
    if (abs(by_row).astype(float) @ upper).max(initial=0) >= SAFE / 4:
        raise TooMuchWork(
            "counts times coefficients pass 64-bit integers, which tables are drawn in; give "
            "rates with fewer decimals, or a smaller upper limit of N"
        )
    by_variable = by_row.tocsc()
    return ConstraintMatrix(
        starts,
        variables,
        factors,
        np.array(low, dtype=np.int64),
        np.array(high, dtype=np.int64),
        by_variable.indptr.astype(np.int64),
        by_variable.indices.astype(np.int64),
        by_variable.data,
        *_listed(allowed, len(upper)),
    )


def _listed(allowed: dict[int, IntArray], count: int) -> tuple[IntArray, IntArray]:
    """Where the values of each variable begin, and the values."""
    lists = [allowed.get(variable, np.zeros(0, dtype=np.int64)) for variable in range(count)]
    return np.cumsum([0, *map(len, lists)]), np.concatenate([*lists, np.zeros(0, dtype=np.int64)])


def with_values(plan: SamplingPlan, limited: dict[int, IntArray]) -> SamplingPlan:
    """The same plan with some variables limited to some of the values they had."""
    matrix = plan.matrix
    before = dict(enumerate(np.split(matrix.values, matrix.lists[1:-1])))
    lists, values = _listed(before | limited, len(plan.lower))
    return replace(plan, matrix=matrix._replace(lists=lists, values=values))
