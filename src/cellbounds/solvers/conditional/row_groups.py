"""Sums of cells within a row, at the cost of the cells (document 004, section 5).

Under a row sum n the cells of a row are whole numbers between l_j(n) and u_j(n) that add to n. So
the sum over some columns S is every whole number from max(l_S, n - u_rest) to min(u_S, n - l_rest),
where l_S and u_S are sums over S: Theorem 2.1 with the columns of a group merged after rounding,
not before. All that is known of cells then holds for groups, but for three numbers: how far the
merged limits may be from the merged rates (one for each column), from which sum on the counts
under neighbouring sums meet, and from where extremes repeat
(``docs/theory/rounded-conditionals.md``).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from cellbounds.data.cell_groups import cells_behind
from cellbounds.data.table import Table
from cellbounds.model.rates.layout import make_layout
from cellbounds.model.rates.row_problem import RowShapes
from cellbounds.model.structure import ConditionalFacts, Facts
from cellbounds.results.evidence import checked
from cellbounds.results.solution import Arrays, Query
from cellbounds.results.values import ValueSet
from cellbounds.runtime.arrays import BoolArray, IntArray, narrowest
from cellbounds.solvers.conditional.admissible import Evaluator
from cellbounds.solvers.conditional.cells import CellCounts, row_sum_for, table_with
from cellbounds.solvers.conditional.feasible import FeasibleRows, distinct_rows, solve_rows
from cellbounds.solvers.conditional.sharp import ConditionalSolution
from cellbounds.statements.inequalities import NO_LIMIT, combined_bounds

_ZERO = ValueSet([(0, 0, 1)])


class GroupedConditional:
    """Sums of cells within the rows of one conditional: derived responses, or some of several."""

    name = "sums within rows of one conditional"

    def refusal(self, facts: Facts, query: Query) -> str | None:
        """Needs one conditional, its givens and groups of its responses in the question."""
        if query.kind != "sharp":
            return "gives sharp bounds only"
        held = facts.conditional
        if held is None:
            return facts.not_conditional
        if held.on_parts:
            return "something is known of parts of the cells"
        if held.conditional.intervals.remainders is not None:
            return "rows that share out remainders tie their cells to each other"
        if combined_bounds(held.on_cells, held.domain, held.conditional.variables).values:
            return "counts of some cells are listed"
        if _column_groups(held, query.over) is None:
            return "the question is not about sums within rows"
        return None

    def solve(self, facts: Facts, query: Query) -> GroupedSolution:
        """Find the feasible row sums, then merge columns."""
        held = facts.conditional
        assert held is not None
        groups = _column_groups(held, query.over)
        assert groups is not None
        layout = make_layout(held, held.conditional.variables)
        rows = solve_rows(distinct_rows(layout.problem))
        places = query.places(facts.release.domain)
        return GroupedSolution(
            _release=facts.release,
            _layout=layout,
            places=places,
            _distinct=rows,
            _ends=None,
            _over=query.over,
            _groups=groups,
        )


def _asked_columns(facts: ConditionalFacts, over: tuple[str, ...]) -> list[str]:
    return [name for name in over if name not in facts.conditional.given]


def _column_groups(facts: ConditionalFacts, over: tuple[str, ...]) -> BoolArray | None:
    """Which columns each sum within a row is over; None if that is not what is asked."""
    conditional, domain = facts.conditional, facts.domain
    responses = [name for name in conditional.variables if name not in conditional.given]
    wanted = _asked_columns(facts, over)
    if not set(conditional.given) <= set(over) or not wanted:
        return None
    if any(name not in domain for name in responses):
        return None  # rates of derived variables tell nothing apart within their groups
    if any(domain.base(name) not in responses for name in wanted):
        return None
    groupings = {
        name: grouping for name, grouping in domain.groupings.items() if grouping.of in responses
    }
    ground = domain.project(responses).with_groupings(groupings)
    behind = cells_behind(ground, tuple(wanted))
    groups = np.zeros((behind.size, ground.size), dtype=bool)
    for group in range(behind.size):
        groups[group, behind.cells_of(group)] = True
    return groups


class MergedEvaluator(Evaluator):
    """Evaluates l_S(n) and u_S(n) of groups of columns that share them out."""

    __slots__ = ("_groups", "_inner")

    def __init__(self, inner: Evaluator, groups: BoolArray) -> None:
        self._inner, self._groups = inner, groups

    def limits(self, rows: IntArray, sums: IntArray) -> tuple[IntArray, IntArray]:
        """Sums of l_j(n) and of u_j(n) over each group."""
        lower, upper = self._inner.limits(rows, sums)
        return _merged(self._groups, lower), _merged(self._groups, upper)

    def sums_array(self, sums: Any, largest: int, *, short: bool = False) -> IntArray:
        """As for the columns, of which there are more."""
        return self._inner.sums_array(sums, largest, short=short)


def _merged(groups: BoolArray, numbers: IntArray) -> IntArray:
    """Sums over groups of the first axis."""
    return np.stack([numbers[own].sum(axis=0, dtype=numbers.dtype) for own in groups])


@dataclass(frozen=True, eq=False, kw_only=True)
class MergedShapes(RowShapes):
    """Facts about each row with merged columns.

    `jitter` is how many columns each group or the rest of its row has, whichever are more; `lifted`
    what is known that the cells of the row hold at least; `settled` from where no such limit binds.
    """

    jitter: IntArray
    lifted: IntArray
    settled: IntArray
    columns: int

    def touch(self, row: int, stride: int) -> int:
        """Beyond this, sums over a group under row sums `stride` apart meet.

        l_S is at most one for each column above its rate, and above what is known; u_S likewise
        below.
        """
        free = ~self.exact[row]
        if not free.any():
            return 0
        scale, known = int(self.scale[row]), int(self.lifted[row])
        lows, highs = (ends[row, free].tolist() for ends in self.tight[:2])
        meet = [
            -(-(low * stride + 2 * scale * (wide + known)) // (high - low))
            for low, high, wide in zip(lows, highs, self.jitter[free].tolist(), strict=True)
        ]
        return int(max(meet))


def merged_rows(rows: FeasibleRows, groups: BoolArray) -> FeasibleRows:
    """The same rows with columns merged into groups that share them out."""
    problem, shapes = rows.problem, rows.shapes
    low, high = (_merged(groups, ends.T).T for ends in (shapes.low, shapes.high))
    low_open, high_open = (
        np.stack([ends[:, own].any(axis=1) for own in groups], axis=1)
        for ends in (shapes.low_open, shapes.high_open)
    )
    scale = shapes.scale[:, None]
    least = np.maximum(low, high - high.sum(axis=1)[:, None] + scale)
    most = np.minimum(high, low - low.sum(axis=1)[:, None] + scale)
    lower, upper = problem.cell_lower, problem.cell_upper
    widths = groups.sum(axis=1)
    binds = np.where(
        shapes.low > 0, -(-lower.astype(object) * scale // np.maximum(shapes.low, 1)), 0
    )
    facts = {field.name: getattr(shapes, field.name) for field in fields(RowShapes)}
    ends: dict[str, Any] = {
        "low": low, "high": high, "low_open": low_open, "high_open": high_open,
        "exact": np.asarray(least == most), "share": least,
    }  # fmt: skip
    merged_shapes = MergedShapes(
        **(facts | ends),
        jitter=np.maximum(widths, groups.shape[1] - widths),
        lifted=lower.astype(object).sum(axis=1),
        settled=binds.max(axis=1, initial=0),
        columns=groups.shape[1],
    )
    limited = np.stack([(upper[:, own] != NO_LIMIT).all(axis=1) for own in groups], axis=1)
    merged_problem = replace(
        problem,
        low=low,
        high=high,
        low_open=low_open,
        high_open=high_open,
        cell_lower=_merged(groups, lower.T).T,
        cell_upper=np.where(limited, _merged(groups, upper.T).T, NO_LIMIT),
        width=len(groups),
    )
    evaluator = MergedEvaluator(rows.evaluator, groups)
    return replace(rows, problem=merged_problem, shapes=merged_shapes, evaluator=evaluator)


class GroupCounts(CellCounts):
    """Extreme and attainable sums over every group of columns."""

    def _enough(self, row: int) -> int:
        """As for cells; the limits of all columns behind a group have to have settled."""
        shapes = self._solution.shapes
        assert isinstance(shapes, MergedShapes)
        periods = (shapes.columns + 1) * int(shapes.scale[row])
        return super()._enough(row) + periods + int(shapes.settled[row])

    def row_sum_for(self, row: int, group: int, value: int) -> int:
        """A feasible sum of a distinct row under which a group can hold `value`."""
        return row_sum_for(self._solution, row, group, value)


@dataclass(eq=False)
class GroupedSolution(ConditionalSolution):
    """Answers about sums over groups of columns, from the feasible row sums."""

    method = GroupedConditional.name

    _over: tuple[str, ...]
    _groups: BoolArray

    @cached_property
    def _merged(self) -> list[GroupCounts]:
        """One for all groups if they share the columns out, else one for each and its rest."""
        if (self._groups.sum(axis=0) == 1).all():
            return [GroupCounts(merged_rows(self._rows, self._groups))]
        return [GroupCounts(merged_rows(self._rows, np.stack([own, ~own]))) for own in self._groups]

    def _spot(self, group: int) -> tuple[GroupCounts, int]:
        """Where the counts of a group stand."""
        shared = len(self._merged) == 1 and len(self._groups) > 1
        return (self._merged[0], group) if shared else (self._merged[group], 0)

    def _place(self, index: tuple[int, ...]) -> tuple[int, int]:
        """Row and group behind an index of the margin asked for."""
        facts = self._layout.facts
        at = dict(zip(self._over, index, strict=True))
        row = group = 0
        for name in facts.conditional.given:
            row = row * len(facts.domain.levels(name)) + at[name]
        for name in _asked_columns(facts, self._over):
            group = group * len(facts.domain.levels(name)) + at[name]
        return row, group

    def bounds(self) -> Arrays:
        """Lower and upper bounds in the shape of the sums asked for."""
        facts, layout = self._layout.facts, self._layout
        needed = None
        if self.places.chosen is not None:
            rows = {self._place(position)[0] for position in self.places}
            needed = sorted({self._kind[row] for row in rows if row in self._kind})
        merged_bounds = [counts.bounds(needed) for counts in self._merged]
        given, wanted = list(facts.conditional.given), _asked_columns(facts, self._over)
        shape = [len(facts.domain.levels(name)) for name in (*given, *wanted)]
        order = [(given + wanted).index(name) for name in self._over]
        both = []
        for side in (0, 1):
            if len(merged_bounds) == 1 and len(self._groups) > 1:
                values = merged_bounds[0][side]
            else:
                values = np.stack([ends[side][:, 0] for ends in merged_bounds], axis=1)
            spread = np.zeros((layout.row_count, len(self._groups)), dtype=values.dtype)
            spread[layout.problem.rows] = values[self._rows.kind]
            shaped = np.array(spread.reshape(shape).transpose(order), order="C")
            both.append(self.places.picked(narrowest(shaped)))
        return both[0], both[1]

    def values(self, index: tuple[int, ...]) -> ValueSet:
        """Every attainable sum."""
        row, group = self._place(index)
        if row not in self._kind:
            return _ZERO
        counts, column = self._spot(group)
        return counts.row_values(self._kind[row])[column]

    def witness(self, index: tuple[int, ...], value: int) -> Table:
        """A consistent table in which the sum is `value`, checked in exact arithmetic."""
        layout, problem = self._layout, self._layout.problem
        row, group = self._place(index)
        cells = np.zeros((layout.row_count, layout.column_count), dtype=object)
        if row in self._kind:
            counts, column = self._spot(group)
            total = counts.row_sum_for(self._kind[row], column, value)
            place = int(np.searchsorted(problem.rows, row))
            cells[problem.rows] = table_with(self._rows, place, total, None, None)
            cells[row] = self._filled(self._kind[row], total, self._groups[group], value)
        else:
            cells[problem.rows] = table_with(self._rows, None, None, None, None)
        table = layout.table_counts(self._split(cells, (0, 0, 0, 0)))
        whole = Table(self._release.domain, narrowest(table))
        return checked(self._release, whole, self._over, index, value, self._system)

    def _filled(self, kind: int, total: int, own: BoolArray, value: int) -> IntArray:
        """Counts of a row with this sum, those of a group adding to `value`."""
        evaluator = self._rows.evaluator
        sums = evaluator.sums_array([[total]], total)
        lower, upper = (
            ends[:, 0, 0].astype(object) for ends in evaluator.limits(np.array([kind]), sums)
        )
        for columns, goal in ((own, value), (~own, total - value)):
            missing = goal - lower[columns].sum()
            for column in np.flatnonzero(columns):
                added = min(upper[column] - lower[column], missing)
                lower[column] += added
                missing -= added
        return np.asarray(lower)
