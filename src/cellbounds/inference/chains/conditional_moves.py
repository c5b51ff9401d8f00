"""Document 002's two families of moves for one conditional.

One family keeps the table summed to the statement's variables: a count passes between two parts
of one summed cell. The other changes it, and is made of two kinds.

- Rows whose rates are exact hold multiples of a smallest row with sum r. Multiples may change by
  any d with sum d r = 0: for each two rows by the least common multiple of their sums, and by the
  vectors of a reduced basis of all such d.
- Rows whose rates leave room: a count passes from one summed cell to another; and as in the
  document, the published rates are taken for exact ones, and two rows change by multiples of them.

A change of summed cells is put on one part of each, or shared out evenly: large changes would
hardly ever fit into one part.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cellbounds.data.cell_groups import cells_behind
from cellbounds.errors import UnsupportedRelease
from cellbounds.inference.chains.lattice_moves import kernel_basis
from cellbounds.inference.chains.moves import KEEPS, VARIES, Connection, Connectivity, Moves
from cellbounds.model.rates.layout import make_layout
from cellbounds.model.rates.row_problem import row_shapes
from cellbounds.model.structure import ConditionalFacts, gather
from cellbounds.runtime.arrays import SAFE, BoolArray, IntArray
from cellbounds.statements import Release

_Line = tuple[list[int], list[int]]
"""Summed cells (flat) and how they change."""

_Block = tuple[IntArray, IntArray, int]
"""Cells and changes, one line a move, and their family."""

PASS = np.array([1, -1])
"""A count passes from one cell to another."""


@dataclass(frozen=True, slots=True, eq=False)
class RateRows:
    """The rows of a conditional that hold somebody, in Python integers.

    Attributes
    ----------
    places
        Their places among all rows.
    free
        Cells (rows, columns) that may change by themselves.
    step
        The sum of each row is a multiple of this.
    nominal
        The same if published rates are taken for exact; 0 if they do not add up to one.
    reach
        Beyond so many counts, every sum of a row is possible that its step allows.
    """

    places: list[int]
    width: int
    free: BoolArray
    share: list[list[int]]
    scale: list[int]
    weights: list[list[int]]
    step: list[int]
    nominal: list[int]
    reach: int
    total: int | None
    fixed_total: bool

    @classmethod
    def of(cls, facts: ConditionalFacts) -> RateRows:
        """Take them from the facts about a release."""
        problem = make_layout(facts, facts.conditional.variables).problem
        shapes = row_shapes(problem)
        step = shapes.step.tolist()
        exact = np.asarray(shapes.exact.all(axis=1)).tolist()
        rates = facts.conditional.rates.reshape(facts.conditional.intervals.low.shape)
        nominal = []
        for place, own_step, whole in zip(problem.rows.tolist(), step, exact, strict=True):
            figures = list(rates[place])
            known = not whole and None not in figures and sum(figures) == 1
            bottom = math.lcm(*(rate.denominator for rate in figures)) if known else 0
            nominal.append(own_step if whole else bottom)
        return cls(
            places=problem.rows.tolist(),
            width=problem.width,
            free=~shapes.exact,
            share=np.where(shapes.exact, shapes.share, 0).tolist(),
            scale=problem.scale.tolist(),
            weights=(shapes.low + shapes.high).tolist(),
            step=step,
            nominal=nominal,
            reach=max(np.where(shapes.exact.all(axis=1), 0, shapes.reach).tolist(), default=0),
            total=facts.total.upper,
            fixed_total=facts.total.exact is not None,
        )

    @property
    def loose(self) -> BoolArray:
        """Rows whose sums may change by one."""
        return np.array([step == 1 for step in self.step], dtype=bool) & self.free.any(axis=1)

    def spread(self, row: int, amount: int) -> list[int]:
        """A multiple of the row's step shared out in the ratio of its rates."""
        return next(self.roundings(row, amount))

    def roundings(self, row: int, amount: int) -> Iterator[list[int]]:
        """The ways to share it out by rounding each cell up or down, the best first; not all."""
        share, scale = self.share[row], self.scale[row]
        shares = [count * amount // scale for count in share]
        rest = amount - sum(shares)
        cells = np.flatnonzero(self.free[row]).tolist()
        if not cells:
            yield shares
            return
        weights = [self.weights[row][j] for j in cells]
        total = sum(weights)
        if total == 0:
            weights, total = [1] * len(cells), len(cells)
        for j, weight in zip(cells, weights, strict=True):
            shares[j] += rest * weight // total
        # Largest remainders first, so that rates which add up to one are met exactly.
        left = {j: rest * weight % total for j, weight in zip(cells, weights, strict=True)}
        order = sorted((j for j in cells if left[j]), key=lambda j: -left[j])
        ways = itertools.combinations(order, amount - sum(shares))
        for chosen in itertools.islice(ways, MOST_ROUNDINGS):
            yield [count + (j in chosen) for j, count in enumerate(shares)]

    def cells(self, row: int) -> range:
        """The summed cells of a row, flat over the statement."""
        return range(self.places[row] * self.width, (self.places[row] + 1) * self.width)

    def change(self, *parts: tuple[int, list[int]]) -> _Line:
        """A change of some rows: for each of them, what is added to its cells."""
        cells = [cell for row, _ in parts for cell in self.cells(row)]
        return cells, [by for _, changes in parts for by in changes]


MOST_LISTED = 1_000_000
"""Moves of one kind; beyond, only those between neighbours are listed."""

MOST_PAIRED = 100
"""Cells of a row or a column of a large statement, of which each two exchange counts."""

MOST_EXCHANGES, MOST_ROUNDINGS = 40_000, 6
"""Exchanges between rows with tight rates, and ways to round what one row takes part with."""

MOST_REDUCED = 100
"""Exact rows up to which a reduced basis is made."""


def conditional_moves(release: Release) -> Moves:
    """The two families of moves for a release that is one conditional and what fits its rows.

    Raises
    ------
    UnsupportedRelease
        If it is not.

    Examples
    --------
    >>> import cellbounds as cb
    >>> domain = cb.Domain({"treatment": [1, 2], "response": ["poor", "good"]})
    >>> rates = cb.Conditional(
    ...     ["response"], ["treatment"], rates=[["1/5", "4/5"], ["2/5", "3/5"]])
    >>> moves = conditional_moves(cb.Release(domain, [cb.Total(195), rates]))
    >>> moves.array
    array([[ 1,  4, -2, -3]])
    >>> print(moves.connected)
    proven: two rows of exact rates have one primitive move
    """
    facts = gather(release)
    if facts.conditional is None:
        raise UnsupportedRelease(f"no two families of moves: {facts.not_conditional}")
    notation = facts.conditional.conditional.notation
    if facts.conditional.conditional.intervals.remainders is not None:
        raise UnsupportedRelease(
            f"no two families of moves: rows of {notation} were rounded so that they add to one"
        )
    behind = cells_behind(release.domain, facts.conditional.conditional.variables)
    if len(set(behind.widths.tolist())) > 1:
        raise UnsupportedRelease(
            f"no two families of moves: {notation} merges unequal numbers of levels"
        )
    rows = RateRows.of(facts.conditional)
    grid = behind.cells.reshape(behind.size, -1)
    blocks = [_keeping(grid, rows), *_varying(grid, rows)]
    moves = Moves.of_lines(
        f"moves of {notation} in two families",
        release.domain.size,
        blocks,
        _connected(facts.conditional, rows),
    )
    return moves.across(frozenset(values) for values in _lists(facts.conditional))


def _connected(facts: ConditionalFacts, rows: RateRows) -> Connectivity:
    """What the families are proven to do.

    Parts of summed cells without limits of their own can be gathered in one part by the first
    family, where every change fits: so the table is connected if the summed tables are. Those of
    two exact rows lie on a line; those of exact rows with one common step are the integer points
    of a simplex within limits, which unit exchanges connect. Both need limits that are intervals.
    """
    plain = not _lists(facts) and not facts.on_parts and rows.fixed_total and not rows.free.any()
    if plain and len(rows.places) <= 1:
        return Connectivity(Connection.PROVEN, "one row of exact rates leaves one summed table")
    if plain and len(rows.places) == 2:
        return Connectivity(Connection.PROVEN, "two rows of exact rates have one primitive move")
    # Exchanges between neighbours alone pass every row on the way: it must have no upper limit.
    direct = _all_pairs(rows) or not (facts.on_rows or facts.on_cells)
    if plain and direct and len(set(rows.step)) == 1:
        return Connectivity(Connection.PROVEN, "all rows of exact rates have the same step")
    what = "rates that leave room" if rows.free.any() else "exact rates with several steps"
    return Connectivity(Connection.UNPROVEN, f"no theorem is known for {what} and what is beside")


def _lists(facts: ConditionalFacts) -> list[tuple[int, ...]]:
    """Lists of possible values of rows, cells or parts."""
    given = (*facts.on_rows, *facts.on_cells, *facts.on_parts)
    return [
        values for statement in given for values in statement.known(facts.domain).values.values()
    ]


def _keeping(grid: IntArray, rows: RateRows) -> _Block:
    """A count passes between two parts of one summed cell."""
    held = [cell for row in range(len(rows.places)) for cell in rows.cells(row)]
    parts = grid.shape[1]
    few = len(held) * math.comb(parts, 2) <= MOST_LISTED
    lines = grid[held][:, _pairs(np.arange(parts), every=few)]
    return lines.reshape(-1, 2), PASS, KEEPS


def _varying(grid: IntArray, rows: RateRows) -> Iterator[_Block]:
    yield from _transfers(grid, rows)
    # No count is as large as what is left out here.
    lines = [line for line in _row_changes(rows) if max(map(abs, line[1])) < SAFE]
    if not lines:
        return
    cells, changes = (
        np.array(list(itertools.zip_longest(*numbers, fillvalue=0)), dtype=np.int64).T
        for numbers in zip(*lines, strict=True)
    )
    parts = grid.shape[1]
    for part in range(parts if cells.size * (parts + 1) <= MOST_LISTED else 1):
        yield grid[cells, part], changes, VARIES
    if parts > 1:
        even = changes[..., None] // parts + (np.arange(parts) < changes[..., None] % parts)
        yield grid[cells].reshape(len(lines), -1), even.reshape(len(lines), -1), VARIES


def _transfers(grid: IntArray, rows: RateRows) -> Iterator[_Block]:
    """A count passes from one summed cell to another, within a row or between loose ones."""
    row, column = np.nonzero(rows.free)
    loose = rows.loose[row]
    summed = np.array(rows.places, dtype=np.int64)[row] * rows.width + column
    parts = grid.shape[1]
    if math.comb(len(summed), 2) * parts <= MOST_LISTED:
        first, second = _pairs(np.arange(len(summed))).T
        allowed = (row[first] == row[second]) | (loose[first] & loose[second])
        pairs = np.stack([summed[first[allowed]], summed[second[allowed]]], axis=1)
    else:
        groups = [summed[row == k] for k in range(len(rows.places))]
        groups += [summed[(column == k) & loose] for k in range(rows.width)]
        pairs = np.concatenate([_pairs(group, every=len(group) <= MOST_PAIRED) for group in groups])
    yield from ((grid[pairs, part], PASS, VARIES) for part in range(parts))
    if not rows.fixed_total:
        # N itself may change: counts come and go, one cell at a time.
        yield grid[summed[loose]].T.reshape(-1, 1), PASS[:1], VARIES


def _pairs(group: IntArray, *, every: bool = True) -> IntArray:
    """Two of a group: every two, or neighbours."""
    first, second = np.triu_indices(len(group), 1)
    if not every:
        first, second = np.arange(len(group) - 1), np.arange(1, len(group))
    return np.stack([group[first], group[second]], axis=1)


def _all_pairs(rows: RateRows) -> bool:
    """Whether every two rows exchange directly, or neighbours only."""
    count = len(rows.places)
    return count * (count - 1) * rows.width <= MOST_LISTED


def _exchanges(rows: RateRows) -> Iterator[_Line]:
    """Rows whose rates are tight for their size pass on several counts at once.

    A few counts more may fit the rates of such a row while one more does not.
    """
    count = len(rows.places)
    if rows.total is None or rows.reach * 2 * count < rows.total:
        return
    furthest = min(rows.reach, rows.total)
    if not rows.fixed_total:
        for row, step in enumerate(rows.step):
            for amount in range(step, furthest + 1, step):
                yield from (rows.change((row, up)) for up in rows.roundings(row, amount))
    most = MOST_EXCHANGES // max(math.comb(count, 2), 1)
    for first, second in itertools.combinations(range(count), 2):
        step = math.lcm(rows.step[first], rows.step[second])
        exchanges = (
            rows.change((first, up), (second, _negative(down)))
            for amount in range(step, furthest + 1, step)
            for up in rows.roundings(first, amount)
            for down in rows.roundings(second, amount)
        )
        yield from itertools.islice(exchanges, most)


def _negative(changes: list[int]) -> list[int]:
    return [-change for change in changes]


def _row_changes(rows: RateRows) -> Iterator[_Line]:
    """Changes of two rows by the same amount, and of exact rows along a reduced basis."""
    count, loose = len(rows.places), rows.loose
    pairs: Iterator[tuple[int, int]] = itertools.combinations(range(count), 2)
    if not _all_pairs(rows):
        pairs = itertools.pairwise(range(count))
    for first, second in pairs:
        amounts = set()
        if not (loose[first] and loose[second]):
            amounts.add(math.lcm(rows.step[first], rows.step[second]))
        if rows.nominal[first] and rows.nominal[second]:
            amounts.add(math.lcm(rows.nominal[first], rows.nominal[second]))
        for amount in sorted(amounts):
            away = _negative(rows.spread(second, amount))
            yield rows.change((first, rows.spread(first, amount)), (second, away))
    yield from _exchanges(rows)
    exact = np.flatnonzero(~rows.free.any(axis=1)).tolist()
    steps = [rows.step[row] for row in exact]
    if 3 <= len(exact) <= MOST_REDUCED and len(set(steps)) > 1:
        for multiples in kernel_basis(np.array([steps], dtype=object)).tolist():
            moved = ((row, d * rows.step[row]) for row, d in zip(exact, multiples, strict=True))
            yield rows.change(*((row, rows.spread(row, by)) for row, by in moved if by))
    if not rows.fixed_total:
        for row in np.flatnonzero(~loose).tolist():
            yield rows.change((row, rows.spread(row, rows.step[row])))
