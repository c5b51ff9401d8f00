"""Every statement as sums with integer coefficients over integer cells, between two limits.

Open ends need no special treatment: over the integers ``a x > 0`` is ``a x >= 1``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cellbounds.data.domain import Domain
from cellbounds.model.constraints.behind import Behind, cells_behind
from cellbounds.runtime.arrays import SAFE, BoolArray, IntArray, whole_array
from cellbounds.statements import Conditional, Linear, Margin, Prior, Release, Statement, Total
from cellbounds.statements.knowledge import laid_out, within

__all__ = ["NO_LOWER", "NO_UPPER", "System", "ValueList", "compile_release"]

NO_LOWER, NO_UPPER = -SAFE, SAFE
"""Limits that do not limit. A real limit never looks like them: its row is doubled instead."""


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
    not be attained. A list of values stands for all that lies between the smallest and the largest
    of those that the other bounds and lists of the same count, and N, allow.

    Raises
    ------
    InconsistentRelease
        If `closed` and a list is left without any value.
    """
    blocks: list[_Block] = []
    lists: list[ValueList] = []
    if closed:
        blocks += _list_ends(release)
    for place, statement in enumerate(release.statements):
        for made in _compile(statement, release.domain, place, closed):
            if isinstance(made, ValueList):
                lists.append(made)
            else:
                blocks.append(made)
    return _joined(release, blocks, lists)


def _list_ends(release: Release) -> Iterator[_Block]:
    """The ends of lists of values, after all that is said of the same counts."""
    said: dict[frozenset[str], list[tuple[int, Prior | Margin]]] = {}
    for place, statement in enumerate(release.statements):
        if isinstance(statement, Prior | Margin):
            said.setdefault(frozenset(statement.variables), []).append((place, statement))
    for about in said.values():
        if any(isinstance(one, Prior) and one.values is not None for _, one in about):
            place, first = about[0]
            known = laid_out([one for _, one in about], release.domain, first.variables)
            known = within(known, release.total.upper)
            behind = cells_behind(release.domain, first.variables)
            yield from _sums(behind, known.lower.ravel(), known.upper.ravel(), place)


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
            most = -1 if statement.upper is None else statement.upper
            whole = Behind(np.array([0, domain.size]), np.arange(domain.size))
            lower, upper = (whole_array([one], (1,)) for one in (statement.lower, most))
            yield from _sums(whole, lower, upper, place)
        case Margin() | Prior():
            known = statement.known(domain)
            behind = cells_behind(domain, statement.variables)
            lower, upper = known.limits()
            yield from _sums(behind, lower, upper, place)
            for flat, values in known.values.items() if not closed else ():
                cells = behind.cells[behind.starts[flat] : behind.starts[flat + 1]]
                yield ValueList(cells, frozenset(values), place, flat)
        case Linear():
            yield from _linear(statement, domain, place, closed)
        case Conditional():
            yield from _rates(statement, domain, place, closed)


def _sums(behind: Behind, lower: IntArray, upper: IntArray, place: int) -> Iterator[_Block]:
    """Plain sums over margin cells (`upper` is -1: no limit); what says nothing is left out."""
    widths = np.diff(behind.starts)
    says = np.asarray((lower > 0) | (upper >= 0), dtype=bool)
    empty = widths == 0
    if (says & empty & (lower > 0)).any():
        # Nobody can be where no cell is: an impossible row, kept as one that cannot hold.
        flat = int(np.flatnonzero(says & empty & (lower > 0))[0])
        yield _impossible(place, flat)
    says &= ~empty
    if not says.any():
        return
    widths, lower, upper = widths[says], lower[says], upper[says]
    factor = np.where(upper == NO_UPPER, 2, 1)
    yield _Block(
        widths,
        behind.cells[np.repeat(says, np.diff(behind.starts))],
        np.repeat(factor, widths),
        np.where(lower > 0, factor * lower, NO_LOWER),
        np.where(upper < 0, NO_UPPER, factor * upper),
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
    if not kept.any():
        if (lower is not None and lower > 0) or (upper is not None and upper < 0):
            yield _impossible(place, 0)
        return
    shared = 1 if closed else math.gcd(*summed[kept].tolist())
    # Limits are rounded inwards, as sums are whole.
    lower = None if lower is None else -(-lower // shared)
    upper = None if upper is None else upper // shared
    factor = 2 if lower == NO_LOWER or upper == NO_UPPER else 1
    yield _Block(
        np.array([int(kept.sum())]),
        cells[kept],
        _narrowed(summed[kept] // shared * factor),
        whole_array([NO_LOWER if lower is None else lower * factor], (1,)),
        whole_array([NO_UPPER if upper is None else upper * factor], (1,)),
        place,
        np.array([0]),
    )


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


def _rates(statement: Conditional, domain: Domain, place: int, closed: bool) -> Iterator[_Block]:
    """For each rate ``scale * cell - end * row sum`` between two limits, one line for each end.

    First comes, for each row of rates, that it holds somebody, or nobody.
    """
    lines = _lines_of(statement, closed)
    behind = cells_behind(domain, statement.variables)
    columns = statement.intervals.low.shape[1]
    # Every line speaks of all cells of its row: those behind its own rate, and the others.
    begin = behind.starts[lines.row * columns]
    widths = behind.starts[(lines.row + 1) * columns] - begin
    rate = lines.row * columns + lines.column
    first = behind.starts[rate]
    inside = behind.starts[rate + 1] - first
    kind: type = object if _largest(lines.scale, lines.end) >= 2**31 else np.int64
    own: IntArray = np.where(inside > 0, lines.scale - lines.end, 0).astype(kind)
    other: IntArray = np.where(widths > inside, -lines.end, 0).astype(kind)
    shared = np.maximum(np.gcd(own, other), 1)
    own, other = own // shared, other // shared
    # Limits are rounded inwards, as sums are whole.
    lower = np.where(lines.lower == NO_LOWER, NO_LOWER, -(-lines.lower // shared))
    upper = np.where(lines.upper == NO_UPPER, NO_UPPER, lines.upper // shared)
    lower, upper = lower.astype(np.int64), upper.astype(np.int64)
    coefficients = np.repeat(other, widths)
    coefficients[_ranges(np.cumsum(widths) - widths + first - begin, inside)] = np.repeat(
        own, inside
    )
    kept = np.asarray(coefficients != 0, dtype=bool)
    held = np.where(own != 0, inside, 0) + np.where(other != 0, widths - inside, 0)
    for empty in np.flatnonzero((held == 0) & ((lower > 0) | (upper < 0))):
        yield _impossible(place, int(rate[empty]))
    says = held > 0
    if says.any():
        yield _Block(
            held[says],
            behind.cells[_ranges(begin, widths)][kept],
            _narrowed(coefficients[kept]),
            lower[says],
            upper[says],
            place,
            rate[says],
            lines.about_sum[says],
        )


def _ranges(first: IntArray, length: IntArray) -> IntArray:
    """So many whole numbers from each first one on, one range after the other."""
    ends = np.cumsum(length)
    return np.repeat(first - ends + length, length) + np.arange(int(ends[-1]))


@dataclass(frozen=True, slots=True, eq=False)
class _Lines:
    """What rates say, one entry for each end of each rate and for each row as a whole."""

    row: IntArray
    column: IntArray
    scale: IntArray
    end: IntArray
    lower: IntArray
    upper: IntArray
    about_sum: BoolArray


def _lines_of(statement: Conditional, closed: bool) -> _Lines:
    """The lines in order: the sum of a row, then the low and the high end of each of its rates."""
    ends = statement.intervals
    rows, columns = ends.low.shape
    scale = ends.scale[:, None]
    none = np.zeros(ends.low.shape, dtype=np.int64)
    bottom, top = (none, none) if closed else (ends.low_open + none, ends.high_open + none)
    # An exact rate has one line for both ends. If one is open, nothing is left: the line then asks
    # for at least 1 and at most 0.
    same = ends.low == ends.high
    says_low = same | (ends.low > 0) | ((ends.low == 0) & (bottom == 1))
    says_high = ~same & ((ends.high < scale) | ((ends.high == scale) & (top == 1)))
    held = np.asarray(~ends.zero)[:, None]

    def laid(sums: IntArray, lows: IntArray, highs: IntArray) -> IntArray:
        """Three kinds of lines in one order, those that say nothing left out."""
        both = np.stack([lows, highs], axis=2).reshape(rows, 2 * columns)
        return np.concatenate([sums, both], axis=1)[says]

    says = np.ones((rows, 1 + 2 * columns), dtype=bool)
    says[:, 1::2], says[:, 2::2] = held & says_low, held & says_high
    row = np.arange(rows)[:, None]
    column = np.arange(columns) + none
    # Coefficients of one everywhere: no scale, and minus one of the row sum taken away.
    return _Lines(
        laid(row, row + none, row + none),
        laid(0 * row, column, column),
        laid(0 * row, scale + none, scale + none),
        laid(0 * row - 1, ends.low, ends.high),
        laid(np.where(held, 1, NO_LOWER), bottom, none + NO_LOWER),
        laid(np.where(held, NO_UPPER, 0), np.where(same, -top, NO_UPPER), -top),
        laid(row == row, none != none, none != none),
    )


def _largest(*values: IntArray) -> int:
    return max(int(np.abs(one).max(initial=0)) for one in values)


def _narrowed(coefficients: IntArray) -> IntArray:
    """Coefficients in 64 bits if they are small."""
    if coefficients.dtype == object and _largest(coefficients) < 2**31:
        return coefficients.astype(np.int64)
    return coefficients
