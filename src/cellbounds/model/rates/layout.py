"""Between a release's margins and the rows, columns and parts of its conditional.

A conditional may leave variables out, or merge levels: its cells then are sums of parts, and
what is known of the parts says something of the sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, reduce
from operator import or_
from typing import Any

import numpy as np
import numpy.typing as npt

from cellbounds.data.cell_groups import CellGroups, cells_behind, group_of_levels
from cellbounds.data.domain import Domain
from cellbounds.errors import TooMuchWork, UnsupportedRelease
from cellbounds.model.rates.offset_sets import positions, spread
from cellbounds.model.rates.row_problem import RowProblem, build_problem
from cellbounds.model.structure import ConditionalFacts, Facts
from cellbounds.runtime.arrays import SAFE, IntArray
from cellbounds.statements.inequalities import NO_LIMIT, MarginBounds, combined_bounds


class About(Enum):
    """What a margin is to a conditional."""

    ROWS = "row sums"
    CELLS = "cells of the statement"
    PARTS = "parts of such cells"


@dataclass(frozen=True, eq=False)
class Layout:
    """One conditional laid out as rows by columns, each cell a sum of parts.

    The *parts* of a cell of the statement are the cells of `ground` behind it: of the margin asked
    for if it tells the cells of the statement apart, else of the table. `order` are the variables
    of `over` as rows, cells or parts have them. There are several if the
    statement leaves variables out or merges levels, and not equally many everywhere. Arrays over
    all parts are flat, in the order of `behind`. Rows that hold nobody count among the rows.
    """

    facts: ConditionalFacts
    problem: RowProblem
    parts: Parts | None
    about: About
    over: tuple[str, ...]
    order: tuple[str, ...]
    ground: Domain
    row_count: int
    column_count: int

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
        shape = [len(self.facts.domain.levels(name)) for name in self.order]
        turned = values.reshape(shape).transpose([self.order.index(name) for name in self.over])
        return np.array(turned, order="C")

    def place(self, index: Sequence[int]) -> tuple[int, int, int]:
        """Row, column and part behind an index of the margin asked for."""
        domain, at = self.facts.domain, dict(zip(self.over, index, strict=True))
        flat = 0
        for name in self.order:
            flat = flat * len(domain.levels(name)) + at[name]
        if self.about is About.ROWS:
            return flat, 0, 0
        if self.about is About.CELLS:
            return *divmod(flat, self.column_count), 0
        place = int(self._place_of[flat])
        cell = int(np.searchsorted(self.behind.starts, place, side="right")) - 1
        return *divmod(cell, self.column_count), place - int(self.behind.starts[cell])

    def table_counts(self, parts: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """A table with these counts of all parts: each in the first of the cells behind it."""
        domain = self.facts.domain
        behind = cells_behind(domain, self.ground.names)
        counts = np.zeros(domain.size, dtype=parts.dtype)
        counts[behind.cells[behind.starts[:-1]]] = parts[self._place_of]
        return counts.reshape(domain.shape)


def refusal_of(facts: Facts, over: tuple[str, ...], *, sharp: bool = False) -> str | None:
    """Why a release and a margin asked for do not fit one conditional, or None if they do."""
    held = facts.conditional
    if held is None:
        return facts.not_conditional
    if sharp and held.on_parts and held.total.upper is None:
        return "knowledge about parts of summed cells needs an upper limit of N here"
    try:
        about(held, over)
    except UnsupportedRelease as problem:
        return str(problem)
    return None


def about(facts: ConditionalFacts, over: tuple[str, ...]) -> About:
    """What the margin asked for is to the conditional."""
    conditional, wanted = facts.conditional, set(over)
    if wanted == set(conditional.variables):
        return About.CELLS
    if wanted == set(conditional.given):
        return About.ROWS
    if wanted == set(facts.domain.names) or (_tells_apart(facts, over) and not facts.on_parts):
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
    behind = [domain.base(name) for name in over]
    once = len(set(behind)) == len(behind)
    return (
        once
        and all(group_of_levels(domain, name) is not None for name in over)
        and all(name in over or domain.base(name) in over for name in facts.conditional.variables)
    )


def _ground(domain: Domain, over: tuple[str, ...]) -> Domain:
    """The margin asked for as a domain of its own, with the groupings that it can tell."""
    groupings = {
        name: grouping
        for name, grouping in domain.groupings.items()
        if grouping.of in over and name not in over
    }
    return domain.project(over).with_groupings(groupings)


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
        cells, rows = (bounds.within(facts.total.upper) for bounds in (cells, rows))
    parts = None
    if facts.on_parts:
        known = combined_bounds(facts.on_parts, facts.domain, ground.names)
        behind = cells_behind(ground, conditional.variables)
        parts = Parts.from_known(known.within(facts.total.upper), behind)
        flat = MarginBounds(cells.lower.ravel(), cells.upper.ravel(), cells.values)
        sums = flat.met(parts.summed(lists=not relaxed))
        cells = sums.agreed("on summed cells and on their parts")
    problem = build_problem(facts, cells, rows)
    orders = {About.ROWS: conditional.given, About.CELLS: conditional.variables}
    order, shape = orders.get(what, ground.names), conditional.intervals.low.shape
    return Layout(facts, problem, parts, what, over, order, ground, *map(int, shape))


PARTS_EFFORT = 1 << 22
"""Counts of a summed cell that may be split one by one."""


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """What is known about the parts of each summed cell, flat in the order of `behind`.

    No summed cell is without parts. `values` are by the place of a part.
    """

    lower: IntArray
    upper: IntArray
    values: dict[int, tuple[int, ...]]
    behind: CellGroups

    @classmethod
    def from_known(cls, known: MarginBounds, behind: CellGroups) -> Parts:
        """Lay knowledge about all cells of the table out by summed cell."""
        lower, upper = known.lower.ravel()[behind.cells], known.upper.ravel()[behind.cells]
        if max(int(lower.max()), int(upper.max())) * int(behind.widths.max()) >= SAFE:
            lower, upper = lower.astype(object), upper.astype(object)
        places = behind.places()
        values = {int(places[flat]): listed for flat, listed in known.values.items()}
        return cls(lower, upper, values, behind)

    def places(self, cell: int) -> range:
        """The places of the parts of a summed cell."""
        return range(int(self.behind.starts[cell]), int(self.behind.starts[cell + 1]))

    def listed(self) -> set[int]:
        """The summed cells with a list of values for some part."""
        starts = self.behind.starts
        return {int(np.searchsorted(starts, place, side="right")) - 1 for place in self.values}

    def added(self, numbers: IntArray) -> IntArray:
        """Sum numbers of parts to summed cells."""
        return np.asarray(np.add.reduceat(numbers, self.behind.starts[:-1]))

    def summed(self, *, lists: bool = True) -> MarginBounds:
        """What this says about the summed cells, `lists` of parts included."""
        lower = self.added(self.lower)
        unlimited = np.asarray(self.upper < 0, dtype=np.int64)
        open_ended = self.added(unlimited) > 0
        upper = np.where(open_ended, NO_LIMIT, self.added(np.where(unlimited, 0, self.upper)))
        listed = self.listed() if lists else ()
        values = {cell: self._sums(cell) for cell in listed if not open_ended[cell]}
        return MarginBounds(lower, upper, values)

    def _sums(self, cell: int) -> tuple[int, ...]:
        """The sums that the parts of a cell can make, all of them being bounded."""
        places = self.places(cell)
        most = sum(int(self.upper[place]) for place in places)
        if most >= PARTS_EFFORT:
            raise TooMuchWork("the lists of values for parts of a cell reach too far to combine")
        sums, base = 1, 0  # bits above the base
        for place in places:
            listed = self.values.get(place)
            low, high = int(self.lower[place]), int(self.upper[place])
            base += low if listed is None else listed[0]
            if listed is None:
                sums = spread(sums, high - low + 1, 1, most + 1)
            else:
                sums = reduce(or_, (sums << (value - listed[0]) for value in listed))
        return tuple((base + positions(sums)).tolist())

    def split(self, cell: int, total: int, part: int | None, value: int | None) -> list[int] | None:
        """Counts of all parts that add to `total`, one part being fixed; None if impossible."""
        places = self.places(cell)
        fixed = None if part is None else places[part]
        chosen = {}
        for place in places:
            listed = self.values.get(place)
            # the others at their least
            chosen[place] = listed[0] if listed else int(self.lower[place])
        if fixed is not None and value is not None:
            chosen[fixed] = value
        missing = total - sum(chosen.values())
        if missing < 0:
            return None
        loose = [place for place in places if place != fixed]
        plain = [place for place in loose if place not in self.values]
        counts = self._raise_to(chosen, plain, [p for p in loose if p in self.values], missing)
        return None if counts is None else [counts[place] for place in places]

    def _raise_to(
        self, chosen: dict[int, int], plain: list[int], listed: list[int], missing: int
    ) -> dict[int, int] | None:
        """Raise listed parts by search, then plain parts greedily, by `missing` in all."""
        if listed:
            first, *others = listed
            base = chosen[first]
            for value in self.values[first]:
                if value - base > missing:
                    break
                trial = {**chosen}
                trial[first] = value
                raised_rest = self._raise_to(trial, plain, others, missing - (value - base))
                if raised_rest is not None:
                    return raised_rest
            return None
        raised = {**chosen}
        for place in plain:
            high = int(self.upper[place])
            add = missing if high < 0 else min(missing, high - raised[place])
            raised[place] += add
            missing -= add
        return raised if missing == 0 else None
