"""Every statement as sums with integer coefficients over integer cells, between two limits.

Open ends need no special treatment: over the integers ``a x > 0`` is ``a x >= 1``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cellbounds.arrays import SAFE, BoolArray, IntArray
from cellbounds.constraints.behind import Behind, cells_behind
from cellbounds.domain import Domain
from cellbounds.releases import Conditional, Linear, Margin, Prior, Release, Statement, Total

__all__ = ["NO_LOWER", "NO_UPPER", "Row", "System", "ValueList", "compile_release"]

NO_LOWER, NO_UPPER = -SAFE, SAFE
"""Limits that do not limit."""


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One sum of coefficients times cells between `lower` and `upper`; where it is from."""

    cells: IntArray
    coefficients: IntArray
    lower: int
    upper: int
    statement: int
    figure: int
    about_sum: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class ValueList:
    """The sum of some cells is one of the listed numbers."""

    cells: IntArray
    values: frozenset[int]
    statement: int
    figure: int

    def holds(self, counts: IntArray) -> bool:
        """Whether counts (flat, over the domain) satisfy it."""
        return int(counts[self.cells].sum()) in self.values


@dataclass(frozen=True, slots=True, eq=False)
class System:
    """All constraints of a release; cells are numbered over the domain, all at least zero.

    Row k is the sum of ``coefficients * counts[cells]`` over ``starts[k]:starts[k + 1]``, between
    ``lower[k]`` and ``upper[k]`` (NO_LOWER, NO_UPPER: no limit). `statement` and `figure` say
    where a row is from; `about_sum` marks rows about the sum of a row of rates (it holds somebody,
    or nobody). Arrays are of Python integers where int64 would not do.
    """

    release: Release
    starts: IntArray
    cells: IntArray
    coefficients: IntArray
    lower: IntArray
    upper: IntArray
    statement: IntArray
    figure: IntArray
    about_sum: BoolArray
    lists: tuple[ValueList, ...]

    @property
    def row_count(self) -> int:
        """How many rows there are."""
        return len(self.lower)

    def sums(self, counts: IntArray) -> IntArray:
        """The sum of each row for counts (flat, over the domain)."""
        if not len(self.cells):
            return np.zeros(self.row_count, dtype=np.int64)
        if self._may_overflow(counts):
            counts = counts.astype(object)
        terms = self.coefficients * counts[self.cells]
        # No row is empty, so each slice is as it seems.
        return np.asarray(np.add.reduceat(terms, self.starts[:-1]))

    def _may_overflow(self, counts: IntArray) -> bool:
        if counts.dtype == object or self.coefficients.dtype == object:
            return True
        widest = int(np.abs(self.coefficients).max(initial=0))
        return widest * int(counts.sum(dtype=object)) >= SAFE


def compile_release(release: Release, *, closed: bool = False) -> System:
    """Compile every statement of a release.

    `closed` takes open ends for closed ones: the relaxation to real numbers, whose extremes need
    not be attained.
    """
    blocks: list[_Block] = []
    lists: list[ValueList] = []
    for place, statement in enumerate(release.statements):
        for made in _compile(statement, release.domain, place, closed):
            if isinstance(made, ValueList):
                lists.append(made)
            else:
                blocks.append(made)
    return _joined(release, blocks, lists)


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    """Rows of one statement, not empty."""

    widths: IntArray
    cells: IntArray
    coefficients: IntArray
    lower: IntArray
    upper: IntArray
    statement: int
    figure: IntArray
    about_sum: BoolArray | None = None


def _joined(release: Release, blocks: list[_Block], lists: list[ValueList]) -> System:
    def column(parts: list[IntArray]) -> IntArray:
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)

    widths = column([one.widths for one in blocks])
    return System(
        release,
        np.concatenate([[0], np.cumsum(widths)]).astype(np.int64),
        column([one.cells for one in blocks]),
        column([one.coefficients for one in blocks]),
        column([one.lower for one in blocks]),
        column([one.upper for one in blocks]),
        column([np.full(len(one.widths), one.statement) for one in blocks]),
        column([one.figure for one in blocks]),
        column(
            [
                np.zeros(len(one.widths), dtype=bool) if one.about_sum is None else one.about_sum
                for one in blocks
            ]
        ).astype(bool),
        tuple(lists),
    )


def _compile(
    statement: Statement, domain: Domain, place: int, closed: bool
) -> Iterator[_Block | ValueList]:
    match statement:
        case Total():
            most = NO_UPPER if statement.upper is None else statement.upper
            whole = Behind(np.array([0, domain.size]), np.arange(domain.size))
            yield from _sums(whole, _limits([statement.lower]), _limits([most]), place)
        case Margin() | Prior():
            known = statement.known(domain)
            behind = cells_behind(domain, statement.variables)
            lower, upper = known.lower.ravel().copy(), known.upper.ravel()
            upper = np.where(upper < 0, NO_UPPER, upper)
            for flat, values in known.values.items():
                lower[flat] = max(lower[flat], min(values))
                upper[flat] = min(upper[flat], max(values))
            yield from _sums(behind, lower, upper, place)
            for flat, values in known.values.items():
                cells = behind.cells[behind.starts[flat] : behind.starts[flat + 1]]
                yield ValueList(cells, frozenset(values), place, flat)
        case Linear():
            yield from _linear(statement, domain, place, closed)
        case Conditional():
            yield from _block_of(list(_rates(statement, domain, place, closed)), place)


def _limits(values: list[int]) -> IntArray:
    wide = any(abs(value) > SAFE for value in values)
    return np.array(values, dtype=object if wide else np.int64)


def _sums(behind: Behind, lower: IntArray, upper: IntArray, place: int) -> Iterator[_Block]:
    """Plain sums over margin cells; those that say nothing are left out."""
    widths = np.diff(behind.starts)
    says = np.asarray((lower > 0) | (upper != NO_UPPER), dtype=bool)
    empty = widths == 0
    if (says & empty & (lower > 0)).any():
        # Nobody can be where no cell is: an impossible row, kept as one that cannot hold.
        flat = int(np.flatnonzero(says & empty & (lower > 0))[0])
        yield _impossible(place, flat)
    says &= ~empty
    if not says.any():
        return
    chosen = np.repeat(says, widths)
    cells = behind.cells[chosen]
    yield _Block(
        widths[says],
        cells,
        np.ones(len(cells), dtype=np.int64),
        np.where(lower[says] > 0, lower[says], NO_LOWER),
        upper[says],
        place,
        np.flatnonzero(says),
    )


def _impossible(place: int, figure: int) -> _Block:
    one, zero = np.array([1]), np.array([0])
    return _Block(one, zero, one, one, -one, place, np.array([figure]))


def _linear(statement: Linear, domain: Domain, place: int, closed: bool) -> Iterator[_Block]:
    coefficients, lower, upper = (
        _unrounded(statement, domain) if closed else statement.terms(domain)
    )
    behind = cells_behind(domain, statement.variables)
    spread = np.repeat(coefficients, np.diff(behind.starts))
    # Derived variables may overlap: a cell behind several groups adds their coefficients.
    cells, back = np.unique(behind.cells, return_inverse=True)
    summed = np.zeros(len(cells), dtype=object)
    np.add.at(summed, back, spread.astype(object))
    kept = np.asarray(summed != 0, dtype=bool)
    low = NO_LOWER if lower is None else lower
    high = NO_UPPER if upper is None else upper
    if not kept.any():
        if not low <= 0 <= high:
            yield _impossible(place, 0)
        return
    row = Row(cells[kept], summed[kept], low, high, place, 0)
    yield from _block_of([row if closed else _lowest_terms(row)], place)


def _unrounded(statement: Linear, domain: Domain) -> tuple[IntArray, int | None, int | None]:
    """Coefficients and limits as integers, without the rounding that whole counts allow."""
    laid = statement.laid_out(domain)
    limits = [one for one in (statement.lower, statement.upper) if one is not None]
    scale = math.lcm(*(one.denominator for one in (*laid, *limits)))
    coefficients = np.array([int(one * scale) for one in laid], dtype=object)
    lower, upper = (
        None if one is None else int(one * scale) for one in (statement.lower, statement.upper)
    )
    return coefficients, lower, upper


def _rates(statement: Conditional, domain: Domain, place: int, closed: bool) -> Iterator[Row]:
    ends = statement.intervals
    rows, columns = ends.low.shape
    behind = cells_behind(domain, statement.variables)
    for i in range(rows):
        edges = behind.starts[i * columns : (i + 1) * columns + 1]
        cells = behind.cells[edges[0] : edges[-1]]
        ones = np.ones(len(cells), dtype=np.int64)
        # Figures of a row that are about its sum are numbered with its first rate.
        if ends.zero[i]:
            yield Row(cells, ones, NO_LOWER, 0, place, i * columns, about_sum=True)
            continue
        yield Row(cells, ones, 1, NO_UPPER, place, i * columns, about_sum=True)
        scale = int(ends.scale[i])
        edges = edges - edges[0]
        for j in range(columns):
            low, high = int(ends.low[i, j]), int(ends.high[i, j])
            inside = slice(int(edges[j]), int(edges[j + 1]))
            bottom, top = int(ends.low_open[i, j]), int(ends.high_open[i, j])
            if closed:
                bottom = top = 0
            figure = i * columns + j
            if low == high:
                # An open end here leaves nothing: the row then asks for at least 1 and at most 0.
                yield _rate(cells, inside, scale, low, bottom, -top, place, figure)
                continue
            if low > 0 or (low == 0 and bottom):
                yield _rate(cells, inside, scale, low, bottom, NO_UPPER, place, figure)
            if high < scale or (high == scale and top):
                yield _rate(cells, inside, scale, high, NO_LOWER, -top, place, figure)


def _rate(
    cells: IntArray,
    inside: slice,
    scale: int,
    end: int,
    lower: int,
    upper: int,
    place: int,
    figure: int,
) -> Row:
    """``scale * cell - end * row sum`` between two limits, in lowest terms."""
    wide = max(scale, abs(end)) >= 2**31
    coefficients = np.full(len(cells), -end, dtype=object if wide else np.int64)
    coefficients[inside] += scale
    kept = np.asarray(coefficients != 0, dtype=bool)
    return _lowest_terms(Row(cells[kept], coefficients[kept], lower, upper, place, figure))


def _lowest_terms(row: Row) -> Row:
    """Divide by what the coefficients share; limits are rounded inwards, as sums are whole."""
    shared = math.gcd(*set(row.coefficients.tolist())) if len(row.cells) else 1
    if shared <= 1:
        return row
    low = row.lower if row.lower == NO_LOWER else -(-row.lower // shared)
    high = row.upper if row.upper == NO_UPPER else row.upper // shared
    return Row(row.cells, row.coefficients // shared, low, high, row.statement, row.figure)


def _block_of(rows: list[Row], place: int) -> Iterator[_Block]:
    for row in rows:
        if not len(row.cells) and not row.lower <= 0 <= row.upper:
            yield _impossible(place, row.figure)
    rows = [row for row in rows if len(row.cells)]
    if not rows:
        return
    coefficients = np.concatenate([row.coefficients for row in rows])
    if coefficients.dtype == object and max(abs(int(c)) for c in coefficients) < 2**31:
        coefficients = coefficients.astype(np.int64)
    yield _Block(
        np.array([len(row.cells) for row in rows]),
        np.concatenate([row.cells for row in rows]),
        coefficients,
        _limits([row.lower for row in rows]),
        _limits([row.upper for row in rows]),
        place,
        np.array([row.figure for row in rows]),
        np.array([row.about_sum for row in rows]),
    )
