"""Which of many cells are known exactly: steps that leave nothing to differ, tables that do.

Let v be how another consistent table differs from the one that is shown. A figure that is published
exactly does not change: the v of its cells add up to 0. A figure that is published with limits can
only rise if the table stands at its least, and only fall if it stands at its most; the same holds
of single cells. A step takes some figures, each some times, and adds up what their changes say:

    sum over cells of w v = sum over figures of m t

Terms of cells that are known already, and of figures that do not change, are 0. If a single term is
left, it is 0. If all that are left have the same sign whatever the table, each of them is 0. The
cells of such terms are known, the figures do not change. Everything is in Python's integers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cellbounds.certificates.verifying import plain
from cellbounds.certificates.verifying.inequalities import Statement
from cellbounds.certificates.verifying.plain import SAFE, IntArray
from cellbounds.certificates.verifying.proofs import CpModel, table_fault
from cellbounds.certificates.verifying.space import Space
from cellbounds.certificates.verifying.statements import SumStatement
from cellbounds.errors import InvalidInput
from cellbounds.runtime.isolation import Ended, Isolated

FORMAT = "cellbounds-known/1"

LARGEST = 2**40
"""Counts that CP-SAT is asked about stay below this."""

RISES, FALLS = 1, 2
"""Which way something can change, as bits."""


@dataclass(frozen=True, slots=True, eq=False)
class KnownCells:
    """What is claimed of many cells of a margin, each the only one behind its figure.

    `cells` are those behind the figures that are `known`, `told` to be known and `moving`.
    """

    known: IntArray
    told: IntArray
    moving: IntArray
    table: IntArray
    changes: tuple[tuple[IntArray, IntArray], ...]
    figures: tuple[tuple[int, int], ...]
    steps: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]


def read_known_cells(content: Mapping[str, Any], space: Space, over: tuple[str, ...]) -> KnownCells:
    """Read the claims and check their structure."""
    behind = space.behind(over)
    seen: set[int] = set()
    claimed: dict[str, IntArray] = {}
    for key in ("known", "told", "moving"):
        figures = [_below(figure, behind.size, key) for figure in plain.entries(content[key], key)]
        if len(set(figures)) < len(figures) or seen & set(figures):
            raise InvalidInput(f"{key} lists a cell that was listed before; list it once")
        seen |= set(figures)
        places = np.array(figures, dtype=np.int64)
        if (np.diff(behind.starts)[places] != 1).any():
            raise InvalidInput(f"{key} lists a figure that is not a single cell of the domain")
        claimed[key] = behind.cells[behind.starts[places]]
    counts = plain.entries(content["table"], "table", space.size)
    changes = []
    for place, change in enumerate(plain.entries(content["changes"], "changes")):
        where = f"changes[{place}]"
        cells, by = plain.entries(change, where, 2)
        listed = [_below(cell, space.size, where) for cell in plain.entries(cells, where)]
        if len(set(listed)) < len(listed):
            raise InvalidInput(f"{where} lists a cell twice; list it once")
        amounts = [plain.whole(one, where, None) for one in plain.entries(by, where, len(listed))]
        changes.append((np.array(listed, dtype=np.int64), plain.packed(amounts)))
    named = []
    for place, pair in enumerate(plain.entries(content["figures"], "figures")):
        where = f"figures[{place}]"
        statement, figure = plain.entries(pair, where, 2)
        named.append((plain.whole(statement, where), plain.whole(figure, where)))
    steps = tuple(
        _step(given, f"steps[{place}]", len(named))
        for place, given in enumerate(plain.entries(content["steps"], "steps"))
    )
    numbers = [plain.whole(count, "a count of the table") for count in counts]
    # Sums of them stay within 64 bits, or they are Python's integers.
    table = plain.packed(numbers) if sum(numbers) < SAFE else np.array(numbers, dtype=object)
    return KnownCells(
        **claimed,
        table=table,
        changes=tuple(changes),
        figures=tuple(named),
        steps=steps,
    )


def _below(value: object, size: int, where: str) -> int:
    number = plain.whole(value, where)
    if number >= size:
        raise InvalidInput(f"{where}: {number} of {size}; numbers count from 0")
    return number


def _step(given: object, where: str, figures: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if not isinstance(given, list):
        return (_below(given, figures, where),), (1,)
    rows, times = plain.entries(given, where, 2)
    listed = tuple(_below(row, figures, where) for row in plain.entries(rows, where))
    amounts = plain.entries(times, where, len(listed))
    return listed, tuple(plain.whole(amount, where, None) for amount in amounts)


class Changes:
    """How tables can differ from one that is consistent, and what is known of that."""

    def __init__(self, space: Space, statements: Sequence[Statement], table: IntArray) -> None:
        self._statements = statements
        sums = [statement for statement in statements if isinstance(statement, SumStatement)]
        wide = table.dtype == object or any(one.limits[0].dtype == object for one in sums)
        self._table = table
        lower = np.zeros(space.size, dtype=object if wide else np.int64)
        ways = np.full(space.size, RISES | FALLS, dtype=np.int64)
        for statement in sums:
            behind = statement.behind
            single = np.flatnonzero(np.diff(behind.starts) == 1)
            cells = behind.cells[behind.starts[single]]
            least, most, limited = statement.limits
            np.maximum.at(lower, cells, least[single])
            stuck = limited[single] & (table[cells] == most[single])
            ways[cells[stuck.astype(bool)]] &= ~RISES
        ways[(table == lower).astype(bool)] &= ~FALLS
        self._figures: dict[tuple[int, int], int] = {}
        self._cells: dict[tuple[int, int], list[int]] = {}
        self._lower = lower
        self._open = ways.tolist()

    def is_known(self, cell: int) -> bool:
        """Whether a cell was found to be the same in every table."""
        return not self._open[cell]

    def take(self, figures: Sequence[tuple[int, int]], times: Sequence[int]) -> str | None:
        """Take one step; what is wrong with it, if anything is."""
        weights: dict[int, int] = {}
        terms: list[tuple[int, int]] = []
        moved: list[tuple[int, int]] = []
        for name, by in zip(figures, times, strict=True):
            ways = self._ways_of(name)
            if ways is None:
                return "takes a figure that is none of a sum"
            if ways and by:
                terms.append((-by, ways))
                moved.append(name)
            for cell in self._live_cells(name):
                weights[cell] = weights.get(cell, 0) + by
        left = [cell for cell, weight in weights.items() if weight]
        terms += [(weights[cell], self._open[cell]) for cell in left]
        if len(terms) > 1 and not (_one_way(terms, RISES) or _one_way(terms, FALLS)):
            return "leaves several cells that can differ"
        for cell in left:
            self._open[cell] = 0
        for name in moved:
            self._figures[name] = 0
        return None

    def _ways_of(self, name: tuple[int, int]) -> int | None:
        """Which way a figure can change; None if it is no sum."""
        if name not in self._figures:
            place, figure = name
            if place >= len(self._statements):
                return None
            statement = self._statements[place]
            if not isinstance(statement, SumStatement) or figure >= len(statement.least):
                return None
            cells = statement.behind.of(figure)
            total, most = sum(self._table[cells].tolist()), statement.most[figure]
            rises = RISES if most is None or total < most else 0
            self._figures[name] = rises | (FALLS if total > statement.least[figure] else 0)
            self._cells[name] = cells.tolist()
        return self._figures[name]

    def _live_cells(self, name: tuple[int, int]) -> list[int]:
        cells = self._cells[name]
        left = [cell for cell in cells if self._open[cell]]
        if 2 * len(left) < len(cells):
            self._cells[name] = left
        return left

    def near(self, cell: int, most: int) -> list[tuple[int, int]]:
        """Figures of at most so many cells that can differ, which connect a cell with others."""
        found: dict[tuple[int, int], None] = {}
        waiting, seen = [cell], {cell}
        while waiting:
            for name in self._figures_of(waiting.pop()):
                if name in found or self._ways_of(name) is None:
                    continue
                cells = self._live_cells(name)
                if len(cells) <= most:
                    found[name] = None
                    waiting += [one for one in cells if one not in seen]
                    seen.update(cells)
        return list(found)

    def _figures_of(self, cell: int) -> list[tuple[int, int]]:
        cells, places, figures = self._held_by
        begin, end = np.searchsorted(cells, [cell, cell + 1])
        return list(zip(places[begin:end].tolist(), figures[begin:end].tolist(), strict=True))

    @cached_property
    def _held_by(self) -> tuple[IntArray, IntArray, IntArray]:
        """Cells that can differ, and the figures that hold them."""
        live = np.array(self._open) > 0
        held = []
        for place, statement in enumerate(self._statements):
            if isinstance(statement, SumStatement):
                inside = live[statement.behind.cells]
                cells, figures = (
                    one[inside] for one in (statement.behind.cells, statement.behind.figures)
                )
                held.append(np.stack([cells, np.full(len(cells), place), figures]))
        joined = np.concatenate(held, axis=1)
        cells, places, figures = joined[:, np.argsort(joined[0], kind="stable")]
        return cells, places, figures

    def settle(self, cell: int, most: int, seconds: float) -> bool:
        """Whether CP-SAT proves from the figures near a cell that no table differs in it."""
        names = self.near(cell, most)
        held = {one: 0 for name in names for one in self._live_cells(name)}
        number = {one: k for k, one in enumerate(held)}
        if cell not in number:
            return False
        tops: list[int | None] = [None] * len(number)
        rows: list[tuple[list[tuple[int, int]], int]] = []
        for one, k in number.items():
            rows.append(([(k, 1)], int(self._lower[one])))
        for place, figure in names:
            statement = self._statements[place]
            assert isinstance(statement, SumStatement)
            live = self._live_cells((place, figure))
            # The others hold what the table has.
            total = sum(self._table[statement.behind.of(figure)].tolist())
            rest = total - sum(int(self._table[one]) for one in live)
            limit = statement.most[figure]
            rows.append(([(number[one], 1) for one in live], statement.least[figure] - rest))
            if limit is not None:
                rows.append(([(number[one], -1) for one in live], rest - limit))
                for one in live:
                    before = tops[number[one]]
                    top = limit - rest
                    tops[number[one]] = top if before is None else min(before, top)
        if any(top is None or not 0 <= top < LARGEST for top in tops):
            return False
        count = int(self._table[cell])
        for asked in (([(number[cell], 1)], count + 1), ([(number[cell], -1)], 1 - count)):
            model = Isolated(CpModel, [*rows, asked], [], tops)
            try:
                status, _ = model.ask("solve", seconds, True, seconds=seconds)
            except (Ended, ImportError):
                return False
            if status != "INFEASIBLE":
                return False
        return True


def _one_way(terms: Sequence[tuple[int, int]], up: int) -> bool:
    """Whether no term can be below 0 (up=RISES), or none above."""
    down = (RISES | FALLS) & ~up
    return all(not ways & (down if factor > 0 else up) for factor, ways in terms)


def witness_faults(
    claims: KnownCells, statements: Sequence[Statement]
) -> tuple[list[str], IntArray]:
    """What is wrong with the tables, and in which cells those that are consistent differ."""
    faults = []
    differs = np.zeros(len(claims.table), dtype=bool)
    fault = table_fault(claims.table, statements)
    if fault is not None:
        return [f"the table: {fault}"], differs
    for place, (cells, by) in enumerate(claims.changes):
        wide = sum(map(abs, by.tolist())) + int(claims.table.sum()) >= SAFE
        other = claims.table.astype(object) if wide else claims.table.copy()
        other[cells] += by
        fault = "a count below 0" if (other < 0).any() else table_fault(other, statements)
        if fault is not None:
            faults.append(f"changes {place}: {fault}")
            continue
        differs[cells[(by != 0).astype(bool)]] = True
    return faults, differs
