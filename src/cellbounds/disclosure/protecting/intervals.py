"""Protect a table by publishing ranges: choose them, judge them, say what they are."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from cellbounds.data.table import Table
from cellbounds.disclosure.policies import Policy, judge
from cellbounds.disclosure.protecting.finished import (
    COLUMNS,
    Finished,
    NamedCell,
    cell_words,
    staying,
)
from cellbounds.disclosure.protecting.policy_levels import Asked, asked_by
from cellbounds.disclosure.protecting.published_cells import (
    PublishedCells,
    Where,
    published_cells,
)
from cellbounds.disclosure.protecting.ranges import RangeProblem, grid, narrowest
from cellbounds.errors import InvalidInput
from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.runtime.budget import UNLIMITED, Budget
from cellbounds.statements import Margin, Release, publish
from cellbounds.statements.notation import names_text
from cellbounds.text import counted, label_keys
from cellbounds.utility.display import columns_of, more_lines

WIDTHS = (5, 10)
"""The widths of ranges unless said; wider ones follow, 5 and 2 times as wide in turns."""

SEARCH_SHARE = 0.6
"""The part of a budget for choosing; the rest is for attacking what was chosen."""


@dataclass(frozen=True, slots=True)
class RangeCell(NamedCell):
    """A figure that is shown as a range.

    Attributes
    ----------
    low, high
        The ends of the range.
    primary
        Whether the policy does not let its count be shown.
    count
        The true count, for the owner.
    """

    low: int
    high: int
    primary: bool
    count: int

    @property
    def shown(self) -> str:
        """The range as it is printed."""
        return f"{self.low}-{self.high}"

    @property
    def status(self) -> str:
        """Why it is a range."""
        return "primary" if self.primary else "secondary"


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Ranged(Finished):
    """What to publish of a table: some figures as ranges, so that a policy is kept.

    Attributes
    ----------
    cost, bound
        How many counts the ranges leave open beside the true ones, all added up; and what that is
        at least for any choice of ranges of these widths that does as much.
    widths
        The widths that ranges may have; ranges of a width lie side by side.
    ranges
        The figures that are shown as ranges, primary ones first.
    unprotected
        Cells for which no ranges are wide enough, in words.
    proven
        How many cells that must stay uncertain there are, and how many of these have tables, all
        checked in whole numbers, that show that they do.
    """

    method: ClassVar[str] = "intervals"
    claims: ClassVar[tuple[str, str, str]] = (
        "cost",
        "no ranges of these widths cost less",
        "none cost less than",
    )
    depends: ClassVar[str] = (
        "which figures are ranges for their own sake (primary) is confidential, and so is all of "
        "this but the public table (--public, write())"
    )
    numbers: ClassVar[frozenset[str]] = frozenset({"count"})

    widths: tuple[int, ...]
    ranges: tuple[RangeCell, ...]
    unprotected: tuple[str, ...]
    proven: tuple[int, int]
    low: IntArray
    high: IntArray

    @property
    def changed(self) -> int:
        """How many figures are shown as ranges."""
        return len(self.ranges)

    def columns(self) -> dict[str, list[Any]]:
        """The ranges column by column."""
        names = tuple(dict.fromkeys(name for one in self.ranges for name in one.variables))
        keys = label_keys(names, (*COLUMNS, "shown"))
        rows = []
        for one in self.ranges:
            place = dict(zip(one.variables, map(str, one.labels), strict=True))
            margin = f"[{names_text(one.variables)}]"
            rows.append([margin, *map(place.get, names), one.shown, one.count, one.status])
        return columns_of(["margin", *keys.values(), "shown", "count", "status"], rows)

    def _details(self) -> dict[str, Any]:
        return {
            "widths": list(self.widths),
            "proven": {"cells": self.proven[0], "by_tables": self.proven[1]},
            "unprotected": list(self.unprotected),
            "ranges": [
                {
                    "margin": list(one.variables),
                    "cell": dict(zip(one.variables, one.labels, strict=True)),
                    "low": one.low,
                    "high": one.high,
                    "status": one.status,
                    "count": one.count,
                }
                for one in self.ranges
            ],
        }

    def _shown(self, cell: int, _: str) -> int | str:
        low, high = int(self.low[cell]), int(self.high[cell])
        return low if low == high else f"{low}-{high}"

    def _statuses(self) -> dict[Where, str]:
        return {(one.variables, one.labels): one.status for one in self.ranges}

    def _done(self) -> str:
        primary = sum(one.primary for one in self.ranges)
        secondary = counted(len(self.ranges) - primary, "secondary figure")
        return f"{primary} primary and {secondary} of {self.asked} shown as ranges"

    def _said(self) -> list[str]:
        widths = ", ".join(map(str, self.widths))
        return [
            f"ranges are {widths} counts wide and lie side by side, so that ends tell nothing more",
            *staying(*self.proven),
            *(f"no ranges are wide enough for {one}" for one in self.unprotected),
        ]

    def _table(self, most: int) -> tuple[list[str], list[list[str]], str]:
        rows = [
            [one.status, f"[{names_text(one.variables)}]", one.where, one.shown, str(one.count)]
            for one in self.ranges[:most]
        ]
        left = more_lines(len(self.ranges) - most)
        return ["status", "margin", "cell", "shown", "count"], rows, left


def ranged(
    table: Table,
    statements: tuple[str, ...],
    policy: Policy,
    *,
    widths: Sequence[int] | None = None,
    total: bool = True,
    budget: Budget = UNLIMITED,
) -> Ranged:
    """Publish the narrowest ranges that keep a policy, and judge that.

    Raises
    ------
    InvalidInput
        If the widths are none.
    """
    begun = time.perf_counter()
    release = publish(table, *statements, total=total)
    cells = published_cells(table, release, known_total=policy.against.total == "known")
    asked = asked_by(policy, cells)
    largest = int(cells.counts.max(initial=0))
    # Without N nobody knows how large a count can be: far larger than any move that is needed.
    most = largest if cells.total is not None else 4 * largest + 1000
    chosen = _widths(widths, most)
    problem = range_problem(cells, asked, chosen, most)
    effort = budget.share(SEARCH_SHARE)
    best = narrowest(problem, effort)
    grid_low, grid_high, _ = grid(cells.counts, chosen, zeros=asked.zeros)
    every = np.arange(len(cells.counts))
    option = np.where(cells.published, best.choice, 0)
    low, high = grid_low[every, option], grid_high[every, option]
    published = _release(cells, low, high)
    verdict = judge(table, published, policy, budget=budget)
    lost = tuple(dict.fromkeys(cell_words(*cells.where(level.cell)) for level in best.open))
    return Ranged(
        policy=policy,
        verdict=verdict,
        release=published,
        cost=best.cost,
        bound=best.bound,
        costing="the counts that ranges leave open besides the true ones",
        stopped=best.stopped,
        seconds=time.perf_counter() - begun,
        cells=cells,
        notes=_notes(asked, known_total=cells.total is not None),
        widths=chosen,
        ranges=_range_cells(cells, asked, low, high),
        unprotected=lost,
        proven=(len(problem.levels), best.shown),
        low=low,
        high=high,
    )


def range_problem(
    cells: PublishedCells, asked: Asked, widths: Sequence[int], most: int
) -> RangeProblem:
    """The problem of choosing ranges: what an intruder knows, what costs how much."""
    counts, published = cells.counts, cells.published
    fixed = cells.closed | ((counts == 0) & published & (not asked.zeros))
    if cells.total is not None:
        fixed[cells.total] = True
    low, high, costs = grid(counts, widths, zeros=asked.zeros)
    widest = len(widths)
    low = np.maximum(low, asked.least[:, None])
    high = np.minimum(high, np.maximum(most, counts)[:, None])
    free = ~published & ~fixed  # nothing is said of these
    low[free], high[free] = asked.least[free, None], most
    costs[free] = 0
    first = np.where(asked.primary, 1, 0)
    first[free] = widest
    last = np.where(fixed, 0, widest)
    low[fixed], high[fixed] = counts[fixed, None], counts[fixed, None]
    return RangeProblem(
        counts=counts,
        equations=cells.equations,
        low=low,
        high=high,
        costs=costs,
        first=np.minimum(first, last),
        last=last,
        levels=tuple(one for one in asked.levels if not fixed[one.cell]),
    )


def _widths(widths: Sequence[int] | None, most: int) -> tuple[int, ...]:
    """The widths that ranges may have: those given, or usual ones up to one that holds all counts.

    Each must hold the ones before it a whole number of times, so that ranges hold each other.
    """
    if widths is None:
        chosen = list(WIDTHS)
        while chosen[-1] < most:
            chosen.append(chosen[-1] * (5 if len(chosen) % 2 == 0 else 2))
        return tuple(chosen)
    chosen = list(widths)
    whole = all(isinstance(one, int) and not isinstance(one, bool) for one in chosen)
    if not chosen or not whole or min(chosen) < 2:
        raise InvalidInput(f"widths={widths!r}; give whole numbers, 2 or more, such as [5, 10, 50]")
    for narrow, wide in pairwise(chosen):
        if wide <= narrow or wide % narrow:
            raise InvalidInput(
                f"widths: {wide} after {narrow}; each must be a multiple of the one before it, so "
                "that ranges lie within each other"
            )
    return tuple(chosen)


def _release(cells: PublishedCells, low: IntArray, high: IntArray) -> Release:
    statements = list(cells.release.statements)
    for sheet in (one for one in cells.sheets if one.place is not None):
        shape = cells.domain.project(sheet.names).shape
        entries = [
            0 if cell < 0 else int(low[cell]) if low[cell] == high[cell] else _text(low, high, cell)
            for cell in sheet.numbers.tolist()
        ]
        if any(isinstance(entry, str) for entry in entries):
            laid = np.array(entries, dtype=object).reshape(shape)
            assert sheet.place is not None
            statements[sheet.place] = Margin(sheet.names, laid)
    return Release(cells.release.domain, statements)


def _text(low: IntArray, high: IntArray, cell: int) -> str:
    return f"{low[cell]}-{high[cell]}"


def _range_cells(
    cells: PublishedCells, asked: Asked, low: IntArray, high: IntArray
) -> tuple[RangeCell, ...]:
    wide: BoolArray = (low < high) & cells.published
    found = [
        RangeCell(
            *cells.where(cell),
            int(low[cell]),
            int(high[cell]),
            bool(asked.primary[cell]),
            int(cells.counts[cell]),
        )
        for cell in np.flatnonzero(wide).tolist()
    ]
    return tuple(sorted(found, key=lambda one: not one.primary))


def _notes(asked: Asked, *, known_total: bool) -> tuple[str, ...]:
    notes = []
    if asked.left:
        rules = ", ".join(asked.left)
        notes.append(f"the ranges were not chosen for these rules, which were judged: {rules}")
    known = ["the policy", "the widths of ranges", *(["N"] if known_total else [])]
    return (*notes, f"the intruder knows {', '.join(known)}")
