"""Improved closed-form bounds for exact rates (document 000, eq. 2 and its verbal algorithm)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from cellbounds.errors import InconsistentRelease
from cellbounds.model.structure import Facts
from cellbounds.results.solution import Query, RelaxedSolution
from cellbounds.solvers.conditional.layout import (
    About,
    Layout,
    about,
    layout_of,
    narrowed,
    refusal_of,
)

__all__ = ["ImprovedConditional"]


class ImprovedConditional:
    """A cell of the smallest positive rate in its row holds at least one."""

    name = "improved closed form of document 000"

    def refusal(self, facts: Facts, question: Query) -> str | None:
        """Needs exact rates, an exact N, no priors, and a question about cells."""
        if question.kind not in ("improved", "improved-verbal"):
            return "gives improved bounds only"
        refused = refusal_of(facts, question.over)
        if refused is not None or facts.conditional is None:
            return refused
        held = facts.conditional
        if not held.conditional.exact or held.conditional.missing == "suppressed":
            return f"{held.conditional.notation}: the improved bounds need exact rates, all shown"
        if held.total.exact is None:
            return "the improved bounds need N"
        if held.on_rows or held.on_cells or held.on_parts:
            return "the improved bounds know no priors or margins"
        if about(held, question.over) is About.ROWS:
            return "the improved bounds are for cells, not for row sums"
        return None

    def work(self, facts: Facts, question: Query) -> ImprovedAnswers:
        """Set up the rows."""
        return ImprovedAnswers(
            layout_of(facts, question), question, verbal=question.kind == "improved-verbal"
        )


class ImprovedAnswers(RelaxedSolution):
    """Bounds rounded inward to whole numbers."""

    def __init__(self, layout: Layout, question: Query, *, verbal: bool) -> None:
        self._layout, self._verbal = layout, verbal
        self._places = question.places(layout.facts.domain)

    def bounds(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Lower and upper bounds in the shape of the cells asked for."""
        layout, problem = self._layout, self._layout.problem
        rates = [
            [Fraction(int(top), int(scale)) for top in row]
            for row, scale in zip(problem.low, problem.scale, strict=True)
        ]
        least = [min(rate for rate in row if rate > 0) for row in rates]
        minima = [
            [math.ceil(rate / one) for rate in row] for row, one in zip(rates, least, strict=True)
        ]
        taken = [
            sum(row) if self._verbal else 1 / one for row, one in zip(minima, least, strict=True)
        ]
        everybody = sum(taken, Fraction(0))
        total = problem.total_upper or 0
        lower = np.zeros((layout.row_count, layout.column_count), dtype=object)
        upper = np.zeros((layout.row_count, layout.column_count), dtype=object)
        for place, row in enumerate(rates):
            target = int(problem.rows[place])
            room = total - (everybody - taken[place])
            lower[target] = minima[place]
            upper[target] = [math.floor(room * rate) for rate in row]
        if (lower > upper).any():
            raise InconsistentRelease(
                f"N={total} is smaller than the rows of {problem.facts.conditional.notation} need"
            )
        both: list[npt.NDArray[Any]] = [lower, upper]
        if layout.about is About.PARTS:
            widths = layout.behind.widths
            alone = np.where(widths == 1, lower.ravel(), 0)
            both = [np.repeat(alone, widths), np.repeat(upper.ravel(), widths)]
        shaped = [self._places.picked(layout.shaped(narrowed(one))) for one in both]
        return shaped[0], shaped[1]
