"""The consistent tables of one conditional as a fibre."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from cellbounds.errors import InconsistentRelease
from cellbounds.inference.protocol import MOST_RECORDS, Refusal, too_many_records
from cellbounds.inference.rows.counting import count_of
from cellbounds.inference.rows.lines import Ground, make_ground
from cellbounds.inference.rows.listing import tables_of
from cellbounds.inference.rows.weighing import RowsWeighed, weigh
from cellbounds.model.constraints import cells_behind
from cellbounds.model.priors import Weights
from cellbounds.model.rates.layout import make_layout
from cellbounds.model.structure import ConditionalFacts, Facts
from cellbounds.runtime.arrays import IntArray
from cellbounds.statements import Total
from cellbounds.statements.knowledge import laid_out

__all__ = ["RowsFibre", "rows_fibre"]


@dataclass(frozen=True, slots=True, eq=False)
class RowsFibre:
    """Tables row by row: given the row sums, rows are independent of each other."""

    ground: Ground
    effort: float
    name = "generating functions of the rows of one conditional"

    def count(self) -> int:
        """How many tables there are, in exact integers."""
        return count_of(self.ground, self.effort)

    def listed(self) -> Iterator[IntArray]:
        """All of them; by row, its sum first, then its cells, then their parts."""
        return tables_of(self.ground)

    def weighed(self, weights: Weights) -> RowsWeighed:
        """Sum their weights."""
        return weigh(self.ground, weights, self.effort)


def rows_fibre(facts: Facts, effort: float) -> RowsFibre | Refusal:
    """The fibre of a release that is one conditional and what fits its rows.

    Raises
    ------
    InconsistentRelease
        If no table fits.
    """
    one = facts.conditional
    if one is None:
        return Refusal(facts.not_conditional)
    if one.total.upper is None:
        most = _most_records(one)
        if most is None:
            return Refusal(
                "N has no upper limit, so that infinitely many tables may fit; publish N, or give "
                "Total(upper=...)"
            )
        if most < one.total.lower:
            raise InconsistentRelease(
                f"{one.total.notation}, but prior knowledge leaves room for {most} records at most"
            )
        one = replace(one, total=Total(lower=one.total.lower, upper=most))
    if (one.total.upper or 0) >= MOST_RECORDS:
        return too_many_records(one.total.upper or 0)
    return RowsFibre(make_ground(make_layout(one, facts.release.domain.names)), effort)


def _most_records(facts: ConditionalFacts) -> int | None:
    """What upper bounds on all rows, cells or parts together leave; None if some have none."""
    domain, conditional = facts.domain, facts.conditional
    rows = ~conditional.intervals.zero
    cells = np.repeat(rows, conditional.intervals.low.shape[1])
    said = [
        (facts.on_rows, conditional.given, rows),
        (facts.on_cells, conditional.variables, cells),
    ]
    if facts.on_parts:
        behind = cells_behind(domain, conditional.variables)
        parts = np.repeat(cells, behind.widths)[behind.places()]
        said.append((facts.on_parts, domain.names, parts))
    found = []
    for statements, names, held in said:
        upper = laid_out(statements, domain, names).upper.ravel()[held]
        if not np.any(upper < 0):
            found.append(int(upper.sum(dtype=object)))
    return min(found, default=None)
