"""What the statements of a certificate mean.

Every statement says which tables it allows (`broken`) and which inequalities ``a x >= b`` over the
cells follow from it (`inequality`). Both come from the same few numbers, which `reading.py` works
out from the JSON, beside the `meaning` that the digest of a release is made of.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from cellbounds.certificates.verifying.plain import IntArray, packed
from cellbounds.certificates.verifying.space import Behind, Space

__all__ = ["Inequality", "Rates", "Statement", "Sums", "Weighted", "reduced"]


@dataclass(frozen=True, slots=True, eq=False)
class Inequality:
    """``coefficients @ x[cells] >= bound``, without a common divisor."""

    cells: IntArray
    coefficients: IntArray
    bound: int


def reduced(cells: IntArray, coefficients: Sequence[int], bound: int) -> Inequality:
    """Divide by the common divisor; counts are whole, so the bound may be rounded up."""
    kept = [place for place, one in enumerate(coefficients) if one]
    divisor = math.gcd(*coefficients) or 1
    factors = packed([coefficients[place] // divisor for place in kept])
    return Inequality(cells[kept], factors, -(-bound // divisor))


def _first(broken: IntArray) -> int | None:
    places = np.flatnonzero(broken.astype(bool))
    return int(places[0]) if len(places) else None


@dataclass(frozen=True, eq=False)
class Sums:
    """Totals, margins and priors: each figure is a sum of cells, from `least` to `most`.

    `most` is None where there is no limit; a figure with `values` must be one of them.
    """

    title: str
    meaning: Any
    space: Space
    names: tuple[str, ...]
    least: Sequence[int]
    most: Sequence[int | None]
    values: Mapping[int, frozenset[int]]

    @property
    def _behind(self) -> Behind:
        return self.space.behind(self.names)

    @cached_property
    def _limits(self) -> tuple[IntArray, IntArray, IntArray]:
        """The least, the most, and where there is a most."""
        limited = np.array([limit is not None for limit in self.most])
        return packed(self.least), packed([limit or 0 for limit in self.most]), limited

    def broken(self, counts: IntArray, *, ray: bool = False) -> int | None:
        """The first figure that a table contradicts, or that a ray leaves in the long run."""
        sums = self._behind.sums(counts)
        least, most, limited = self._limits
        if ray:
            return _first((sums != 0) & limited)
        wrong = _first((sums < least) | (limited & (sums > most)))
        if wrong is not None:
            return wrong
        return next((at for at, listed in self.values.items() if sums[at] not in listed), None)

    def inequality(self, figure: int, end: str) -> Inequality | None:
        """What one end of one figure says, None if it says nothing."""
        if not 0 <= figure < len(self.least):
            return None
        cells = self._behind.of(figure)
        most = self.most[figure]
        if end == "lower":
            return Inequality(cells, np.ones(len(cells), dtype=np.int64), self.least[figure])
        if end == "upper" and most is not None:
            return Inequality(cells, -np.ones(len(cells), dtype=np.int64), -most)
        return None

    def ends(self) -> Iterator[tuple[int, str]]:
        """Every figure and end that says more than that counts are not negative."""
        for figure, (least, most) in enumerate(zip(self.least, self.most, strict=True)):
            if least > 0:
                yield figure, "lower"
            if most is not None:
                yield figure, "upper"

    def lists(self) -> Iterator[tuple[IntArray, frozenset[int]]]:
        """Cells whose sum is one of some values."""
        for figure, listed in self.values.items():
            yield self._behind.of(figure), listed

    def words(self, figure: int) -> str:
        """A figure for people."""
        return (
            f"{self.title} at {self.space.words(self.names, figure)}" if self.names else self.title
        )


@dataclass(frozen=True, slots=True, eq=False)
class Weighted:
    """Linear statements: whole coefficients of the cells, and limits of their sum."""

    title: str
    meaning: Any
    names: tuple[str, ...]
    coefficients: Sequence[int]
    lower: Fraction | None
    upper: Fraction | None

    def broken(self, counts: IntArray, *, ray: bool = False) -> int | None:
        """0 if a table contradicts it, or a ray leaves it in the long run."""
        used = np.flatnonzero(counts).tolist()
        weighted = sum(self.coefficients[cell] * int(counts[cell]) for cell in used)
        below = self.lower is not None and weighted < (0 if ray else self.lower)
        above = self.upper is not None and weighted > (0 if ray else self.upper)
        return 0 if below or above else None

    def inequality(self, figure: int, end: str) -> Inequality | None:
        """What one limit says, None if there is none."""
        limit = {"lower": self.lower, "upper": self.upper}.get(end)
        if figure or limit is None:
            return None
        sign = 1 if end == "lower" else -1
        numerator, denominator = limit.as_integer_ratio()
        factors = [sign * denominator * one for one in self.coefficients]
        return reduced(np.arange(len(factors)), factors, sign * numerator)

    def ends(self) -> Iterator[tuple[int, str]]:
        """The limits that there are."""
        for end, limit in (("lower", self.lower), ("upper", self.upper)):
            if limit is not None:
                yield 0, end

    def lists(self) -> Iterator[tuple[IntArray, frozenset[int]]]:
        """No lists of values."""
        return iter(())

    def words(self, figure: int) -> str:
        """The statement for people; it has one figure."""
        return self.title if not figure else f"{self.title}, figure {figure}"


@dataclass(frozen=True, slots=True, eq=False)
class Rates:
    """Conditionals: cell of a row over the sum of the row, between two fractions.

    `lows` and `highs` hold, row after row, the ends of each interval, which belong to it unless
    open. A row that is `empty` holds nobody; every other row holds somebody.
    """

    title: str
    meaning: Any
    space: Space
    names: tuple[str, ...]
    columns: int
    lows: Sequence[Fraction]
    highs: Sequence[Fraction]
    low_open: Sequence[bool]
    high_open: Sequence[bool]
    empty: Sequence[bool]

    def broken(self, counts: IntArray, *, ray: bool = False) -> int | None:
        """The first rate that a table contradicts, or that a ray leaves in the long run."""
        cells = self.space.behind(self.names).sums(counts).reshape(len(self.empty), self.columns)
        for row, values in enumerate(cells.tolist()):
            held = sum(values)
            if held and self.empty[row]:
                return row * self.columns
            if self.empty[row]:
                continue
            if held < 1 and not ray:
                return row * self.columns
            for figure, value in enumerate(values, row * self.columns):
                low, high = self.lows[figure], self.highs[figure]
                above = low.denominator * value - low.numerator * held
                below = high.numerator * held - high.denominator * value
                open_ends = (self.low_open[figure], self.high_open[figure])
                least = (0, 0) if ray else map(int, open_ends)
                if any(gap < needed for gap, needed in zip((above, below), least, strict=True)):
                    return figure
        return None

    def inequality(self, figure: int, end: str) -> Inequality | None:
        """What one end of one rate, or a row as such, says; None if it says nothing."""
        if not 0 <= figure < len(self.lows):
            return None
        behind = self.space.behind(self.names)
        row, column = divmod(figure, self.columns)
        first = row * self.columns
        cells = behind.cells[behind.starts[first] : behind.starts[first + self.columns]]
        if end in ("row", "empty"):
            if column or self.empty[row] != (end == "empty"):
                return None
            sign = 1 if end == "row" else -1
            return Inequality(cells, np.full(len(cells), sign), int(end == "row"))
        if self.empty[row] or end not in ("lower", "upper"):
            return None
        rate, is_open = (
            (self.lows[figure], self.low_open[figure])
            if end == "lower"
            else (self.highs[figure], self.high_open[figure])
        )
        sign = 1 if end == "lower" else -1
        inside = behind.starts[figure : figure + 2] - behind.starts[first]
        factors = [-sign * rate.numerator] * len(cells)
        for place in range(int(inside[0]), int(inside[1])):
            factors[place] += sign * rate.denominator
        return reduced(cells, factors, int(is_open))

    def ends(self) -> Iterator[tuple[int, str]]:
        """Every rate's ends that say something, and every row."""
        for row, empty in enumerate(self.empty):
            first = row * self.columns
            yield first, "empty" if empty else "row"
            for figure in range(first, first if empty else first + self.columns):
                if self.lows[figure] > 0 or self.low_open[figure]:
                    yield figure, "lower"
                if self.highs[figure] < 1 or self.high_open[figure]:
                    yield figure, "upper"

    def lists(self) -> Iterator[tuple[IntArray, frozenset[int]]]:
        """No lists of values."""
        return iter(())

    def words(self, figure: int) -> str:
        """A rate for people."""
        return f"{self.title} at {self.space.words(self.names, figure)}"


Statement = Sums | Weighted | Rates
