"""Rows in terms of sums of cells, where that makes them shorter.

What is placed, and in which order: the free cells of a release, and sums worth placing first.

A sum of cells is a variable of its own where placing it first makes the rest easy: the sum of a
row of rates (given it, each rate is an interval for its cell), a sum that must be one of a list
of values, a sum that is only known to lie in a range. The sums follow from the cells, so tables
with these sums correspond to tables one to one, and nothing is counted twice.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from cellbounds.data.cell_groups import cells_behind
from cellbounds.errors import InconsistentRelease, TooMuchWork, UnsupportedRelease
from cellbounds.model.constraints import NO_UPPER, System, compile_release
from cellbounds.model.problem import Problem, make_problem, presolve
from cellbounds.results.values import UNBOUNDED
from cellbounds.runtime.arrays import SAFE, BoolArray, IntArray
from cellbounds.solvers.solve import bounds
from cellbounds.statements import Conditional, Release

__all__ = ["ConstraintMatrix", "SamplingPlan", "make_plan", "with_values"]

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


@dataclass(frozen=True, slots=True, eq=False)
class SamplingPlan:
    """The free cells of a release and the sums placed beside them.

    Attributes
    ----------
    fixed
        The counts of all cells, those of free cells zero.
    free
        The free cells, numbered as in the domain: the first variables.
    problem
        Rows over the free cells alone.
    matrix
        Rows over cells and sums.
    members
        The cells of each sum, as numbers of variables; sums follow the free cells.
    lower, upper
        VariableBounds of all variables.
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


def make_plan(release: Release, nobody: BoolArray | None = None) -> SamplingPlan:
    """Compile and propagate a release, choose the sums and the order.

    `nobody` marks cells that are to hold nobody, whatever the release says.

    Raises
    ------
    InconsistentRelease
        If propagation leaves a cell without any value.
    UnsupportedRelease
        If a cell has no upper limit.
    TooMuchWork
        If counts times coefficients could leave 64-bit integers.
    """
    system = compile_release(release)
    problem = _limited(release, make_problem(system, release.domain.size))
    if nobody is not None and nobody.any():
        if (problem.lower[nobody] > 0).any():
            raise InconsistentRelease("a cell that holds somebody is to hold nobody")
        problem = replace(problem, upper=np.where(nobody, 0, problem.upper))
    presolved = presolve(problem)
    small, free = presolved.problem, presolved.cells
    fixed = np.where(problem.lower == problem.upper, problem.lower, 0)
    number = np.full(len(fixed), -1)
    number[free] = np.arange(len(free))
    lists = _lists(problem.lists, fixed, number)
    groups = _groups(release, system, number, lists)
    rows = _with_sums(_rows_of(small), groups, len(free))
    lower, upper = (
        np.concatenate([ends, [int(ends[group].sum()) for group in groups]]).astype(np.int64)
        for ends in (small.lower, small.upper)
    )
    place = {group.tobytes(): len(free) + k for k, group in enumerate(groups)}
    allowed: dict[int, set[int]] = {}
    for cells, values in lists:
        variable = int(cells[0]) if len(cells) == 1 else place[cells.tobytes()]
        allowed[variable] = allowed.get(variable, values) & values
    matrix = _constraint_matrix(rows, lower, upper, allowed)
    order = _order(matrix, len(free), lower, upper)
    return SamplingPlan(fixed, free, small, matrix, tuple(groups), lower, upper, order)


def _limited(release: Release, problem: Problem) -> Problem:
    """Upper limits for all cells, from sharp bounds where propagation finds none."""
    if (problem.upper != NO_UPPER).all():
        return problem
    answer = bounds(release)
    for flat, value in enumerate(answer.upper.ravel()):
        if value is UNBOUNDED:
            index = [int(k) for k in np.unravel_index(flat, release.domain.shape)]
            named = ", ".join(map(str, release.domain.labels(index)))
            raise UnsupportedRelease(
                f"the cell {named} has no upper limit, so there is no end to the tables; give N "
                "or an upper limit of it, Total(upper=...)"
            )
    upper = answer.upper.ravel().astype(np.int64)
    return replace(problem, upper=np.minimum(problem.upper, upper))


def _lists(
    lists: Iterable[tuple[IntArray, frozenset[int]]], fixed: IntArray, number: IntArray
) -> list[tuple[IntArray, set[int]]]:
    """The value lists over free cells.

    Raises
    ------
    InconsistentRelease
        If a list about fixed cells alone does not hold.
    """
    free_lists = []
    for cells, values in lists:
        left = np.sort(number[cells][number[cells] >= 0])
        shifted = {value - int(fixed[cells].sum()) for value in values}
        if len(left):
            free_lists.append((left, shifted))
        elif 0 not in shifted:
            raise InconsistentRelease("the published figures contradict each other")
    return free_lists


def _groups(
    release: Release, system: System, number: IntArray, lists: list[tuple[IntArray, set[int]]]
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
    groups = [group for group in [*(cells for cells, _ in lists), *free] if len(group) > 1]
    return sorted({group.tobytes(): group for group in groups}.values(), key=len)


def _constraint_matrix(
    rows: list[Row], lower: IntArray, upper: IntArray, allowed: dict[int, set[int]]
) -> ConstraintMatrix:
    widths = [len(terms) for terms, _, _ in rows]
    variables = np.array([v for terms, _, _ in rows for v in terms], dtype=np.int64)
    factors = np.array([f for terms, _, _ in rows for f in terms.values()], dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
    owner = np.repeat(np.arange(len(rows)), widths)
    by_variable = np.argsort(variables, kind="stable")
    widest = np.abs(factors).astype(float) * upper[variables]
    if float(np.bincount(owner, widest, minlength=1).max()) >= SAFE / 4:
        raise TooMuchWork(
            "counts times coefficients pass 64-bit integers, which tables are drawn in; give "
            "rates with fewer decimals, or a smaller upper limit of N"
        )
    lists, values = _listed(
        {v: np.array(sorted(values_of)) for v, values_of in allowed.items()}, len(lower)
    )
    return ConstraintMatrix(
        starts,
        variables,
        factors,
        np.array([low for _, low, _ in rows], dtype=np.int64),
        np.array([high for _, _, high in rows], dtype=np.int64),
        np.concatenate([[0], np.cumsum(np.bincount(variables, minlength=len(lower)))]),
        owner[by_variable],
        factors[by_variable],
        lists,
        values,
    )


def _listed(allowed: Mapping[int, IntArray], count: int) -> tuple[IntArray, IntArray]:
    """Where the values of each variable begin, and the values."""
    sizes = [len(allowed.get(variable, ())) for variable in range(count)]
    values = [np.zeros(0, dtype=np.int64), *(allowed[variable] for variable in sorted(allowed))]
    return np.cumsum([0, *sizes]), np.concatenate(values).astype(np.int64)


def with_values(plan: SamplingPlan, limited: Mapping[int, IntArray]) -> SamplingPlan:
    """The same plan with some variables limited to some of the values they had."""
    matrix = plan.matrix
    before = {
        variable: matrix.values[matrix.lists[variable] : matrix.lists[variable + 1]]
        for variable in np.flatnonzero(np.diff(matrix.lists)).tolist()
    }
    lists, values = _listed({**before, **limited}, len(plan.lower))
    return replace(plan, matrix=matrix._replace(lists=lists, values=values))


def _order(matrix: ConstraintMatrix, cells: int, lower: IntArray, upper: IntArray) -> IntArray:
    """Sums first, then cells, ending the shortest rows first; narrow ranges before wide ones.

    What is narrow has few values to get wrong; what is left to the end is determined by the rest.
    """
    width = upper - lower
    left = np.diff(matrix.starts)
    room = np.add.reduceat(width[matrix.variables], matrix.starts[:-1]) if len(left) else left
    placed = np.zeros(len(lower), dtype=bool)
    order: list[int] = []

    def place(variable: int) -> None:
        placed[variable] = True
        order.append(variable)
        touched = matrix.rows[matrix.row_starts[variable] : matrix.row_starts[variable + 1]]
        left[touched] -= 1
        room[touched] -= width[variable]
        for row in touched.tolist():
            if left[row] > 0:
                heapq.heappush(rows, (int(left[row]), int(room[row]), row))

    rows: list[tuple[int, int, int]] = []
    for own in sorted(range(cells, len(lower)), key=lambda v: (width[v], v)):
        place(own)
    rows = [(int(left[row]), int(room[row]), row) for row in np.flatnonzero(left > 0).tolist()]
    heapq.heapify(rows)
    while rows:
        count, _, row = heapq.heappop(rows)
        if count != left[row]:
            continue  # it has become shorter, and is in the heap again
        inside = matrix.variables[matrix.starts[row] : matrix.starts[row + 1]]
        for own in sorted(inside[~placed[inside]].tolist(), key=lambda v: (width[v], v)):
            place(own)
    return np.array(order + np.flatnonzero(~placed).tolist(), dtype=np.int64)
