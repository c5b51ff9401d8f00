"""Between a release's margins and the rows, columns and parts of its conditional."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cellbounds.data.cell_groups import CellGroups, cells_behind, group_of_levels
from cellbounds.data.domain import Domain
from cellbounds.errors import UnsupportedRelease
from cellbounds.model.rates.problem import RowProblem, build_problem
from cellbounds.model.structure import ConditionalFacts, Facts
from cellbounds.results.solution import Query
from cellbounds.results.values import Unbounded
from cellbounds.runtime.arrays import SAFE, IntArray
from cellbounds.solvers.conditional.parts import Parts
from cellbounds.statements.margin_bounds import MarginBounds, combined_bounds

__all__ = ["About", "Layout", "about", "layout_of", "make_layout", "narrowed", "refusal_of"]


class About(Enum):
    """What a margin is to a conditional."""

    ROWS = "row sums"
    CELLS = "cells of the statement"
    PARTS = "parts of such cells"


@dataclass(frozen=True, eq=False)
class Layout:
    """One conditional laid out as rows by columns, each cell a sum of parts.

    The *parts* of a cell of the statement are the cells of `ground` behind it: of the margin asked
    for if it tells the cells of the statement apart, else of the table. There are several if the
    statement leaves variables out or merges levels, and not equally many everywhere. Arrays over
    all parts are flat, in the order of `behind`.
    """

    facts: ConditionalFacts
    problem: RowProblem
    parts: Parts | None
    about: About
    over: tuple[str, ...]
    ground: Domain

    @property
    def row_count(self) -> int:
        """Rows of the statement, those that hold nobody included."""
        return int(self.facts.conditional.intervals.low.shape[0])

    @property
    def column_count(self) -> int:
        """Columns of the statement."""
        return int(self.facts.conditional.intervals.low.shape[1])

    @cached_property
    def behind(self) -> CellGroups:
        """The parts of each cell of the statement."""
        if self.parts is not None:
            return self.parts.behind
        return cells_behind(self.ground, self.facts.conditional.variables)

    @cached_property
    def _place_of(self) -> IntArray:
        return self.behind.places()

    def part_count(self, cell: int) -> int:
        """How many parts a cell of the statement has."""
        return int(self.behind.starts[cell + 1] - self.behind.starts[cell])

    def shaped(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Turn values of all rows, cells or parts to the variables asked for."""
        if self.about is About.PARTS:
            return values[self._place_of].reshape(self.ground.shape)
        domain, conditional = self.facts.domain, self.facts.conditional
        order = conditional.given if self.about is About.ROWS else conditional.variables
        shape = [len(domain.levels(name)) for name in order]
        turned = values.reshape(shape).transpose([order.index(name) for name in self.over])
        return np.array(turned, order="C")

    def place(self, index: Sequence[int]) -> tuple[int, int, int]:
        """Row, column and part behind an index of the margin asked for."""
        domain, conditional = self.facts.domain, self.facts.conditional
        at = dict(zip(self.over, index, strict=True))

        def flat(names: Sequence[str]) -> int:
            place = 0
            for name in names:
                place = place * len(domain.levels(name)) + at[name]
            return place

        if self.about is About.ROWS:
            return flat(conditional.given), 0, 0
        if self.about is About.CELLS:
            return flat(conditional.given), flat(conditional.responses), 0
        place = int(self._place_of[flat(self.ground.names)])
        cell = int(np.searchsorted(self.behind.starts, place, side="right")) - 1
        return *divmod(cell, self.column_count), place - int(self.behind.starts[cell])

    def table_counts(self, parts: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """A table with these counts of all parts: each in the first of the cells behind it."""
        domain = self.facts.domain
        behind = cells_behind(domain, self.ground.names)
        counts = np.zeros(domain.size, dtype=parts.dtype)
        counts[behind.cells[behind.starts[:-1]]] = parts[self._place_of]
        return counts.reshape(domain.shape)


def refusal_of(facts: Facts, over: tuple[str, ...]) -> str | None:
    """Why a release and a margin asked for do not fit one conditional, or None if they do."""
    if facts.conditional is None:
        return facts.not_conditional
    try:
        about(facts.conditional, over)
    except UnsupportedRelease as problem:
        return str(problem)
    return None


def layout_of(facts: Facts, question: Query) -> Layout:
    """Lay out a release that was not refused."""
    assert facts.conditional is not None
    return make_layout(facts.conditional, question.over, relaxed=question.kind == "linear")


def about(facts: ConditionalFacts, over: tuple[str, ...]) -> About:
    """What the margin asked for is to the conditional."""
    conditional, asked = facts.conditional, set(over)
    if asked == set(conditional.variables):
        return About.CELLS
    if asked == set(conditional.given):
        return About.ROWS
    if asked == set(facts.domain.names) or (_tells_apart(facts, over) and not facts.on_parts):
        return About.PARTS
    raise UnsupportedRelease(
        f"over={list(over)}: beside one statement of rates, ask about its givens "
        f"({', '.join(conditional.given) or 'none'}), about all its variables "
        f"({', '.join(conditional.variables)}), about the whole table, or, if nothing is known of "
        "its single cells, about any margin that tells the cells of the statement apart"
    )


def _tells_apart(facts: ConditionalFacts, over: tuple[str, ...]) -> bool:
    """Whether every cell of a margin lies in one cell of the statement, and they share it out."""
    domain = facts.domain
    behind = [_behind(domain, name) for name in over]
    once = len(set(behind)) == len(behind)
    return (
        once
        and all(group_of_levels(domain, name) is not None for name in over)
        and all(
            name in over or _behind(domain, name) in over for name in facts.conditional.variables
        )
    )


def _behind(domain: Domain, name: str) -> str:
    """The variable of the table that a name stands for."""
    derived = domain.grouping(name)
    return name if derived is None else derived[0]


def _ground(domain: Domain, over: tuple[str, ...]) -> Domain:
    """The margin asked for as a domain of its own, with the groupings that it can tell."""
    kept = {
        name: one for name, one in domain.groupings.items() if one.of in over and name not in over
    }
    return domain.project(over).with_groupings(kept)


def make_layout(facts: ConditionalFacts, over: tuple[str, ...], *, relaxed: bool = False) -> Layout:
    """Lay a release out for a question about the margin `over`.

    `relaxed` keeps to the relaxation: lists of parts say nothing of sums but their ends.
    """
    conditional = facts.conditional
    what = about(facts, over)
    ground = _ground(facts.domain, over) if what is About.PARTS else facts.domain
    cells = combined_bounds(facts.on_cells, facts.domain, conditional.variables)
    rows = combined_bounds(facts.on_rows, facts.domain, conditional.given)
    if cells.values or rows.values:
        cells, rows = (one.within(facts.total.upper) for one in (cells, rows))
    parts = None
    if facts.on_parts:
        known = combined_bounds(facts.on_parts, facts.domain, ground.names)
        behind = cells_behind(ground, conditional.variables)
        parts = Parts.from_known(known.within(facts.total.upper), behind)
        cells = _both(cells, parts.summed(lists=not relaxed))
    problem = build_problem(facts, cells, rows)
    return Layout(facts, problem, parts, what, over, ground)


def _both(left: MarginBounds, right: MarginBounds) -> MarginBounds:
    """Combine knowledge about the same cells."""
    lower = np.maximum(left.lower.ravel(), right.lower)
    a, b = left.upper.ravel(), right.upper
    upper = np.where(a < 0, b, np.where(b < 0, a, np.minimum(a, b)))
    values = dict(left.values)
    for place, listed in right.values.items():
        before = values.get(place)
        values[place] = listed if before is None else tuple(v for v in listed if v in before)
    return MarginBounds(lower, upper, values).agreed("on summed cells and on their parts")


def narrowed(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """An object array as int64 where every value fits."""
    if values.dtype != object:
        return values
    if all(not isinstance(v, Unbounded) and -SAFE < v < SAFE for v in values.flat):
        return values.astype(np.int64)
    return values
