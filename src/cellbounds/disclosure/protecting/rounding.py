"""Protect a table by controlled rounding: choose the figures, judge them, say what they are."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cellbounds.data.table import Table
from cellbounds.disclosure.policies import Policy, judge
from cellbounds.disclosure.protecting.controlled_rounding import (
    controlled_rounding,
    published_sums,
)
from cellbounds.disclosure.protecting.finished import COLUMNS, Finished, cell_words
from cellbounds.disclosure.protecting.published_cells import (
    PublishedCells,
    Where,
    published_cells,
)
from cellbounds.errors import InvalidInput, Unsettled
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.budget import UNLIMITED, Budget
from cellbounds.statements import Margin, Release, Total, publish
from cellbounds.statements.notation import names_text
from cellbounds.statements.rounding import CONTROLLED, count_ends
from cellbounds.statements.statement import Statement
from cellbounds.text import counted, label_keys
from cellbounds.utility.display import columns_of, more_lines

BASES = (3, 5, 10, 20, 50, 100)
"""Bases that are tried, one after another, where none is given."""

LARGEST_BASE = 10**9

SEARCH_SHARE = 0.5
"""The part of a budget for choosing figures; the rest is for attacking them."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Rounded(Finished):
    """What to publish of a table: every figure a multiple of a base, and totals that add up.

    Attributes
    ----------
    cost, bound
        What the figures differ from the counts by, all added up; and what that is at least for any
        other rounding that adds up and is as near figure by figure.
    base, reach
        The base; figures are less than `reach` times the base from their counts.
    nearer
        Whether it is proven that no rounding of a smaller reach adds up.
    figures
        The figure of each cell.
    """

    method: ClassVar[str] = "round"
    claims: ClassVar[tuple[str, str, str]] = (
        "distance",
        "no such rounding is nearer",
        "none is nearer than",
    )
    depends: ClassVar[str] = (
        "the true counts are confidential, and so is all of this but the public table (--public, "
        "write())"
    )
    numbers: ClassVar[frozenset[str]] = frozenset({"count", "figure"})

    base: int
    reach: int
    nearer: bool
    figures: IntArray

    @property
    def changed(self) -> int:
        """How many figures are not the counts themselves."""
        return int((self.figures != self.cells.counts)[self.cells.published].sum())

    def columns(self) -> dict[str, list[Any]]:
        """All figures column by column, with their counts."""
        names = self.cells.domain.names
        keys = label_keys(names, (*COLUMNS, "figure"))
        rows = []
        for (variables, labels), count, figure in self._lines():
            bases = map(self.cells.domain.base, variables)
            place = dict(zip(bases, map(str, labels), strict=True))
            rows.append([_margin(variables), *map(place.get, names), count, figure])
        return columns_of(["margin", *keys.values(), "count", "figure"], rows)

    def _lines(self) -> list[tuple[Where, int, int]]:
        """Where each figure stands, once, its count, and the figure."""
        lines, done = [], set()
        domain, counts = self.cells.domain, self.cells.counts
        for sheet in (one for one in self.cells.sheets if one.place is not None):
            places = domain.project(sheet.names).cells()
            for labels, cell in zip(places, sheet.numbers.tolist(), strict=True):
                if cell >= 0 and cell not in done:
                    done.add(cell)
                    lines.append(
                        ((sheet.names, labels), int(counts[cell]), int(self.figures[cell]))
                    )
        if self.cells.total is not None:
            total = self.cells.total
            lines.append((((), ()), int(counts[total]), int(self.figures[total])))
        return lines

    def _details(self) -> dict[str, Any]:
        return {
            "base": self.base,
            "reach": self.reach,
            "smaller_reach_excluded": self.nearer,
            "figures": [
                {
                    "margin": list(variables),
                    "cell": dict(zip(variables, labels, strict=True)),
                    "count": count,
                    "figure": figure,
                }
                for (variables, labels), count, figure in self._lines()
            ],
        }

    def _shown(self, cell: int, _: str) -> int:
        return int(self.figures[cell])

    def _statuses(self) -> dict[Where, str]:
        return {
            where: "rounded up" if figure > count else "rounded down"
            for where, count, figure in self._lines()
            if figure != count
        }

    def _title(self) -> str:
        return (
            f"{self.outcome} under the policy {self.policy.name}: "
            f"{counted(int(self.cells.published.sum()), 'figure')} rounded to multiples of "
            f"{self.base}, so that totals add up"
        )

    def _said(self) -> list[str]:
        if self.reach == 1:
            return ["each figure is a multiple beside its count; a count that is one stays"]
        proof = "proven" if self.nearer else "as far as was searched"
        return [
            f"no figures beside the counts add up ({proof}): each is less than "
            f"{self.reach * self.base} from its count"
        ]

    def _table(self, most: int) -> tuple[list[str], list[list[str]], str]:
        lines = self._lines()
        rows = []
        for (variables, labels), count, figure in lines[:most]:
            cell = cell_words(variables, labels)
            rows.append([_margin(variables), cell, str(count), str(figure)])
        return ["margin", "cell", "count", "figure"], rows, more_lines(len(lines) - most)


def _margin(variables: tuple[str, ...]) -> str:
    return f"[{names_text(variables)}]" if variables else "N"


def rounded(
    table: Table,
    statements: tuple[str, ...],
    policy: Policy,
    *,
    base: int | None = None,
    total: bool = True,
    budget: Budget = UNLIMITED,
) -> Rounded:
    """Round all figures to multiples of a base so that totals add up, and judge that.

    Without a base the smallest of :data:`BASES` is taken that is larger than what the policy calls
    small, and the next ones as long as the result is not safe.

    Raises
    ------
    InvalidInput
        If the base is none.
    Unsettled
        If no figures were found in time.
    """
    begun = time.perf_counter()
    if base is not None and (
        isinstance(base, bool) or not isinstance(base, int) or not 2 <= base <= LARGEST_BASE
    ):
        raise InvalidInput(f"base={base!r}; give a whole number from 2 to {LARGEST_BASE}")
    release = publish(table, *statements, total=total)
    cells = published_cells(table, release)
    beyond = [one for one in BASES if one > policy.small] or [BASES[-1]]
    tried = beyond if base is None else [base]
    shares = [budget.share(1 / (len(tried) - place)) for place in range(len(tried))]
    for chosen, share in zip(tried, shares, strict=True):
        result = _rounded(table, cells, policy, chosen, budget if base else share, begun)
        if result.safe or budget.spent:
            break
    return result


def _rounded(
    table: Table, cells: PublishedCells, policy: Policy, base: int, budget: Budget, begun: float
) -> Rounded:
    effort = budget.share(SEARCH_SHARE)
    # Cells that nobody publishes have no figures.
    shown = np.flatnonzero(cells.published)
    number = np.cumsum(cells.published) - 1
    sums = [
        (number[list(one)].tolist(), number[list(other)].tolist())
        for one, other in published_sums(cells)
    ]
    found = controlled_rounding(
        cells.counts[shown], sums, base, closed=cells.closed[shown], effort=effort
    )
    if found is None:
        raise Unsettled(
            f"no figures that are multiples of {base} and add up were found in time; give more "
            "time, or another base"
        )
    figures = np.zeros(len(cells.counts), dtype=np.int64)
    figures[shown] = found.figures
    release = _release(cells, figures, base, CONTROLLED[found.reach - 1])
    return Rounded(
        policy=policy,
        verdict=judge(table, release, policy, budget=budget),
        release=release,
        cost=found.distance,
        bound=found.bound,
        costing="the sum of what figures differ from counts by",
        stopped=effort.spent and found.bound < found.distance,
        seconds=time.perf_counter() - begun,
        cells=cells,
        notes=(KNOWN,),
        base=base,
        reach=found.reach,
        nearer=found.nearer,
        figures=figures,
    )


KNOWN = "the intruder knows the policy, the base and how far figures are from counts at most"


def _release(cells: PublishedCells, figures: IntArray, base: int, rule: str) -> Release:
    """What the figures say: margins by the rule of controlled rounding, and N within its limits."""
    statements: list[Statement] = list(cells.release.statements)
    for place, statement in enumerate(statements):
        if statement.published and not statement.variables and cells.total is not None:
            low, high = count_ends(int(figures[cells.total]), base, rule)
            statements[place] = Total(lower=low, upper=high)
    for sheet in (one for one in cells.sheets if one.place is not None):
        shape = cells.domain.project(sheet.names).shape
        laid = np.where(sheet.numbers >= 0, figures[sheet.numbers], 0).reshape(shape)
        assert sheet.place is not None
        statements[sheet.place] = Margin(sheet.names, laid, base=base, rounding=rule)
    return Release(cells.release.domain, statements)
