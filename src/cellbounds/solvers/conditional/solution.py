"""The answer for one conditional: feasible row sums, from which everything else follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cellbounds.errors import InconsistentRelease
from cellbounds.model.rates.problem import RowProblem
from cellbounds.model.rates.shape import RowShapes, row_shapes
from cellbounds.results.values import Progression
from cellbounds.runtime.arrays import IntArray
from cellbounds.solvers.conditional.admissible import RowSums, admissible_sums, unreachable
from cellbounds.solvers.conditional.evaluate import Evaluator
from cellbounds.solvers.conditional.feasible import feasible_sums
from cellbounds.solvers.conditional.offsets import OffsetSet
from cellbounds.solvers.conditional.sumset import SumSet

__all__ = ["FeasibleRows", "solve_rows"]


@dataclass(frozen=True, slots=True, eq=False)
class FeasibleRows:
    """Feasible row sums of the distinct rows of a problem.

    Rows with equal rates and priors share everything: `kind` maps each row of the problem to its
    distinct row, `copies` counts them.
    """

    problem: RowProblem
    shapes: RowShapes
    evaluator: Evaluator
    sums: RowSums
    feasible: Sequence[SumSet]
    kind: IntArray
    copies: Sequence[int]
    slack: int | None


def solve_rows(whole: RowProblem) -> FeasibleRows:
    """Phases 1 and 2: admissible sums of every row, then those that N allows together.

    Raises
    ------
    InconsistentRelease
        Naming the row that no counts can make, or saying that N cannot be reached.
    """
    kind, firsts, copies = _distinct_rows(whole)
    problem = _chosen(whole, firsts)
    evaluator = Evaluator(problem)
    shapes = row_shapes(problem)
    sums = admissible_sums(problem, shapes, evaluator, copies)
    slack = None
    if problem.height == 0:
        feasible: list[SumSet] = []
        _check_empty(problem)
    elif problem.total_upper is None:
        feasible = _without_total(problem, sums.sets, copies)
    else:
        needed = sum(one.start * times for one, times in zip(sums.sets, copies, strict=True))
        slack = problem.total_upper - needed
        if slack < 0:
            raise InconsistentRelease(
                f"N={problem.total_upper} is smaller than the rows of "
                f"{problem.facts.conditional.notation} need: at least {needed}"
            )
        feasible = _with_total(problem, sums.sets, copies, slack)
    return FeasibleRows(problem, shapes, evaluator, sums, feasible, kind, copies, slack)


def _with_total(
    problem: RowProblem, sets: Sequence[OffsetSet], copies: Sequence[int], slack: int
) -> list[SumSet]:
    rows, counts = list(sets), list(copies)
    give = (problem.total_upper or 0) - problem.total_lower
    if give:
        rows.append(range_row(give))
        counts.append(1)
    feasible = feasible_sums(rows, counts, slack)[: len(sets)]
    if not all(feasible):
        raise unreachable(problem)
    return feasible


def range_row(give: int) -> OffsetSet:
    """What N may fall short of its upper limit, as if it were the sum of one more row."""
    return OffsetSet(0, 0, 0, 1, give)


def _without_total(
    problem: RowProblem, sets: Sequence[OffsetSet], copies: Sequence[int]
) -> list[SumSet]:
    """Only a lower limit of N, or none: a row must make up what the others cannot."""
    tops = [None if one.largest is None else one.start + one.largest for one in sets]
    feasible = []
    for place, one in enumerate(sets):
        others: int | None = 0
        for other, (top, times) in enumerate(zip(tops, copies, strict=True)):
            times -= other == place
            if times and others is not None:
                others = None if top is None else others + top * times
        least = 0 if others is None else max(problem.total_lower - others, 0)
        found = _members_from(one, least)
        if not found:
            raise unreachable(problem)
        feasible.append(SumSet(found))
    return feasible


def _members_from(one: OffsetSet, least: int) -> list[Progression]:
    found: list[Progression] = []
    for first, length in one.runs:
        begin, end = max(one.start + first, least), one.start + first + length - 1
        if begin <= end:
            found.append((begin, end, 1))
    if one.step:
        offset = one.next_member(max(least - one.start, one.size))
        if offset is not None:
            last = None if one.largest is None else one.start + one.largest
            found.append((one.start + offset, last, one.step))
    return found


def _check_empty(problem: RowProblem) -> None:
    """Every row holds nobody, so N must be 0."""
    if problem.total_lower > 0:
        raise InconsistentRelease(
            f"every row of {problem.facts.conditional.notation} is said to hold nobody, but "
            f"{problem.facts.total.notation}"
        )


def _distinct_rows(problem: RowProblem) -> tuple[IntArray, list[int], list[int]]:
    listed = {row for row, _ in problem.cell_values} | set(problem.row_values)
    columns = [
        problem.low,
        problem.high,
        problem.low_open,
        problem.high_open,
        problem.scale[:, None],
    ]
    if not problem.bare:
        columns += [problem.cell_lower, problem.cell_upper]
        columns += [problem.row_lower[:, None], problem.row_upper[:, None]]
    packed = any(column.dtype == object for column in columns)
    table = np.hstack([c.astype(object if packed else np.int64) for c in columns])
    seen: dict[object, int] = {}
    kind: list[int] = []
    firsts: list[int] = []
    copies: list[int] = []
    for row in range(problem.height):
        line = table[row]
        key: object = tuple(line.tolist()) if packed else line.tobytes()
        if row in listed:
            key = (row, key)  # rows with value lists are not compared
        place = seen.setdefault(key, len(firsts))
        if place == len(firsts):
            firsts.append(row)
            copies.append(0)
        copies[place] += 1
        kind.append(place)
    return np.array(kind, dtype=np.int64), firsts, copies


def _chosen(problem: RowProblem, rows: list[int]) -> RowProblem:
    if len(rows) == problem.height:
        return problem
    place = {row: new for new, row in enumerate(rows)}
    return replace(
        problem,
        low=problem.low[rows],
        high=problem.high[rows],
        scale=problem.scale[rows],
        low_open=problem.low_open[rows],
        high_open=problem.high_open[rows],
        cell_lower=problem.cell_lower[rows],
        cell_upper=problem.cell_upper[rows],
        cell_values={(place[i], j): v for (i, j), v in problem.cell_values.items()},
        row_lower=problem.row_lower[rows],
        row_upper=problem.row_upper[rows],
        row_values={place[i]: v for i, v in problem.row_values.items()},
        rows=problem.rows[rows],
    )
