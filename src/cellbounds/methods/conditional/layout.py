"""Between a release's margins and the rows, columns and parts of its conditional."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from cellbounds.arrays import SAFE
from cellbounds.errors import UnsupportedRelease
from cellbounds.methods.conditional.parts import Parts
from cellbounds.methods.conditional.problem import (
    RowProblem,
    agreed,
    build_problem,
    laid_out,
    within,
)
from cellbounds.methods.protocol import Question
from cellbounds.releases.statements import Known
from cellbounds.results.values import Unbounded
from cellbounds.structure import ConditionalFacts, Facts

__all__ = ["About", "Layout", "about", "layout_of", "make_layout", "narrowed", "refusal_of"]


class About(Enum):
    """What a margin is to a conditional."""

    ROWS = "row sums"
    CELLS = "cells of the statement"
    PARTS = "cells of the table"


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """One conditional laid out as rows by columns, each cell split into parts.

    `order` are the variables of the margin asked for as the layout has them (givens, responses,
    omitted); arrays are turned to the order asked for at the very end.
    """

    facts: ConditionalFacts
    problem: RowProblem
    parts: Parts | None
    about: About
    over: tuple[str, ...]
    order: tuple[str, ...]
    part_count: int

    @property
    def row_count(self) -> int:
        """Rows of the statement, those that hold nobody included."""
        return int(self.facts.conditional.intervals.low.shape[0])

    @property
    def column_count(self) -> int:
        """Columns of the statement."""
        return int(self.facts.conditional.intervals.low.shape[1])

    def shaped(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Turn values laid out in `order` to the variables asked for."""
        domain = self.facts.domain
        shape = [len(domain.levels(name)) for name in self.order]
        turned = values.reshape(shape).transpose([self.order.index(n) for n in self.over])
        return np.array(turned, order="C")

    def place(self, index: Sequence[int]) -> tuple[int, int, int]:
        """Row, column and part behind an index of the margin asked for."""
        domain = self.facts.domain
        at = dict(zip(self.over, index, strict=True))
        conditional = self.facts.conditional

        def flat(names: Sequence[str]) -> int:
            place = 0
            for name in names:
                place = place * len(domain.levels(name)) + at.get(name, 0)
            return place

        return flat(conditional.given), flat(conditional.responses), flat(self.facts.omitted)

    def table_counts(self, cells: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Counts laid out as (rows, columns, parts) in the shape of the domain."""
        domain = self.facts.domain
        names = (*self.facts.conditional.variables, *self.facts.omitted)
        shape = [len(domain.levels(name)) for name in names]
        return cells.reshape(shape).transpose([names.index(name) for name in domain.names])


def refusal_of(facts: Facts, over: tuple[str, ...]) -> str | None:
    """Why a release and a margin asked for do not fit one conditional, or None if they do."""
    if facts.conditional is None:
        return facts.not_conditional
    try:
        about(facts.conditional, over)
    except UnsupportedRelease as problem:
        return str(problem)
    return None


def layout_of(facts: Facts, question: Question) -> Layout:
    """Lay out a release that was not refused."""
    assert facts.conditional is not None
    return make_layout(facts.conditional, question.over)


def about(facts: ConditionalFacts, over: tuple[str, ...]) -> About:
    """What the margin asked for is to the conditional."""
    conditional, asked = facts.conditional, set(over)
    if asked == set(conditional.variables):
        return About.CELLS
    if asked == set(facts.domain.names):
        return About.PARTS
    if asked == set(conditional.given):
        return About.ROWS
    raise UnsupportedRelease(
        f"over={list(over)}: beside one statement of rates, ask about its givens "
        f"({', '.join(conditional.given) or 'none'}), about all its variables "
        f"({', '.join(conditional.variables)}) or about the whole table"
    )


def make_layout(facts: ConditionalFacts, over: tuple[str, ...]) -> Layout:
    """Lay a release out for a question about the margin `over`."""
    conditional = facts.conditional
    what = about(facts, over)
    order = {
        About.ROWS: conditional.given,
        About.CELLS: conditional.variables,
        About.PARTS: (*conditional.variables, *facts.omitted),
    }[what]
    count = math.prod(len(facts.domain.levels(name)) for name in facts.omitted)
    cells = laid_out(facts.on_cells, facts.domain, conditional.variables)
    rows = laid_out(facts.on_rows, facts.domain, conditional.given)
    parts = None
    if facts.on_parts:
        names = (*conditional.variables, *facts.omitted)
        known = within(laid_out(facts.on_parts, facts.domain, names), facts.total.upper)
        parts = Parts.from_known(known, count)
        cells = _both(cells, parts.summed())
    problem = build_problem(facts, cells, rows)
    return Layout(facts, problem, parts, what, over, order, count)


def _both(left: Known, right: Known) -> Known:
    """Combine knowledge about the same cells."""
    lower = np.maximum(left.lower.ravel(), right.lower)
    a, b = left.upper.ravel(), right.upper
    upper = np.where(a < 0, b, np.where(b < 0, a, np.minimum(a, b)))
    values = dict(left.values)
    for place, listed in right.values.items():
        before = values.get(place)
        values[place] = listed if before is None else tuple(v for v in listed if v in before)
    return agreed(Known(lower, upper, values), "on summed cells and on their parts")


def narrowed(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """An object array as int64 where every value fits."""
    if values.dtype != object:
        return values
    if all(not isinstance(v, Unbounded) and -SAFE < v < SAFE for v in values.flat):
        return values.astype(np.int64)
    return values
