"""Statements of rates, read from JSON into what they mean, row by row."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from cellbounds.certificates.verifying import plain
from cellbounds.certificates.verifying.inequalities import (
    Inequality,
    Statement,
    reduced,
    sum_at_least,
    sum_at_most,
)
from cellbounds.certificates.verifying.plain import IntArray
from cellbounds.certificates.verifying.rounding import NONE, ONE, RATES, SharedOut, reading
from cellbounds.certificates.verifying.space import Space
from cellbounds.errors import InvalidInput


class Interval(NamedTuple):
    """Between which fractions a rate lies; an end belongs to it unless it is open."""

    low: Fraction
    high: Fraction
    low_open: bool = False
    high_open: bool = False

    def met(self, other: Interval) -> Interval:
        """What is in both."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        low_open = any(one.low_open for one in (self, other) if one.low == low)
        high_open = any(one.high_open for one in (self, other) if one.high == high)
        return Interval(low, high, low_open, high_open)

    def __str__(self) -> str:
        begin, end = "[("[self.low_open], "])"[self.high_open]
        return f"{begin}{self.low},{self.high}{end}"


@dataclass(frozen=True, eq=False)
class RateStatement(Statement):
    """Conditionals: cell of a row over the sum of the row, between two fractions.

    `intervals` are those of the rates, row after row. A row that is `empty` holds nobody; every
    other row holds somebody. Rows that were `shared` out say more than their intervals.
    """

    columns: int
    intervals: Sequence[Interval]
    empty: Sequence[bool]
    shared: Sequence[SharedOut | None] | None = None

    def broken(self, counts: IntArray, *, ray: bool = False) -> int | None:
        """The first rate that a table contradicts, or that a ray leaves in the long run."""
        cells = self.behind.sums(counts).reshape(len(self.empty), self.columns)
        for row, values in enumerate(cells.tolist()):
            held, first = sum(values), row * self.columns
            wrong = held != 0 if self.empty[row] else held < 1 and not ray
            if wrong:
                return first
            for figure, value in enumerate([] if self.empty[row] else values, first):
                low, high, *is_open = self.intervals[figure]
                above = low.denominator * value - low.numerator * held
                below = high.numerator * held - high.denominator * value
                least = (0, 0) if ray else map(int, is_open)
                if any(gap < needed for gap, needed in zip((above, below), least, strict=True)):
                    return figure
            shared = None if self.shared is None or not held else self.shared[row]
            if shared is not None and not (
                _stays(shared, values) if ray else shared.prints(values)
            ):
                return first
        return None

    def inequality(self, figure: int, end: str) -> Inequality | None:
        """What one end of one rate, or a row as such, says; None if it says nothing."""
        if figure >= len(self.intervals) and end == "upper":
            return self._of_pair(figure - len(self.intervals))
        if not 0 <= figure < len(self.intervals):
            return None
        behind = self.behind
        row, column = divmod(figure, self.columns)
        first = row * self.columns
        cells = behind.cells[behind.starts[first] : behind.starts[first + self.columns]]
        if end in ("row", "empty"):
            if column or self.empty[row] != (end == "empty"):
                return None
            return sum_at_least(cells, 1) if end == "row" else sum_at_most(cells, 0)
        if self.empty[row] or end not in ("lower", "upper"):
            return None
        low, high, low_open, high_open = self.intervals[figure]
        sign, rate, is_open = (1, low, low_open) if end == "lower" else (-1, high, high_open)
        inside = behind.starts[figure : figure + 2] - behind.starts[first]
        factors = [-sign * rate.numerator] * len(cells)
        for place in range(int(inside[0]), int(inside[1])):
            factors[place] += sign * rate.denominator
        return reduced(cells, factors, int(is_open))

    def _of_pair(self, number: int) -> Inequality | None:
        """What two columns of a row that was shared out say together, by their number."""
        first, b = divmod(number, self.columns)
        row, a = divmod(first, self.columns)
        shared = self.shared[row] if self.shared is not None and row < len(self.empty) else None
        if shared is None or a == b or not shared.adds_up:
            return None
        starts = self.behind.starts[row * self.columns : (row + 1) * self.columns + 1]
        factors, bound = shared.pair(a, b)
        cells = self.behind.cells[starts[0] : starts[-1]]
        return reduced(cells, np.repeat(plain.packed(factors), np.diff(starts)).tolist(), bound)

    def inequalities(self) -> Iterator[Inequality]:
        """Those of single rates and of pairs of columns."""
        yield from super().inequalities()
        pairs = 0 if self.shared is None else len(self.intervals) * self.columns
        made = (self._of_pair(number) for number in range(pairs))
        yield from (one for one in made if one is not None and len(one.cells))


def _stays(shared: SharedOut, ray: Sequence[int]) -> bool:
    """Whether a row may grow along a ray without end: errors within the sum of each other."""
    held = sum(ray)
    errors = [shared.unit * x - held * p for x, p in zip(ray, shared.figures, strict=True)]
    return max(errors) - min(errors) <= held


def read_rates(given: object, where: str, space: Space) -> RateStatement:
    """A statement of rates."""
    keys = ["responses", "given", "rates", "digits", "rounding", "eps", "strict", "missing"]
    content = plain.object_with(given, where, keys, only=["rule"])
    responses = space.checked_names(content["responses"], f"{where}: responses")
    givens = space.checked_names(content["given"], f"{where}: given")
    names = (*givens, *responses)
    axes = [space.axis_of(name) for name in names]
    if not responses or len(set(axes)) < len(axes):
        raise InvalidInput(f"{where} needs responses, and may speak of each variable once")
    if not all(space.shares_out(name) for name in responses):
        raise InvalidInput(f"{where}: groups of a response overlap or leave out a level")
    rows = math.prod(space.shape_of(givens))
    columns = math.prod(space.shape_of(responses))
    shown = plain.nested(content["rates"], (rows, columns), f"{where}: rates")
    rates = [None if rate is None else plain.number(rate, f"{where}: a rate") for rate in shown]
    firsts, missing = range(0, rows * columns, columns), content["missing"]
    if missing is not None:
        plain.choice(missing, f"{where}: missing", ("zero", "suppressed"))
    elif None in rates:
        raise InvalidInput(f"{where} lacks rates and does not say why; 'missing' must say it")
    shown_rates = [columns - rates[at : at + columns].count(None) for at in firsts]
    if missing == "zero" and not {0, columns}.issuperset(shown_rates):
        raise InvalidInput(f"{where}: a row lacks some rates, so it is no row that holds nobody")
    empty = [missing == "zero" and not shown for shown in shown_rates]
    title = f"{where} [{','.join(responses)}|{','.join(givens)}]"
    about = {"rates": [list(responses), list(givens)]}
    by_rule = reading(content, where) == "rounding"
    if by_rule and content["rounding"] == "consistent":
        return _shared_out(content, rates, empty, about, columns, title, space, names)
    intervals = _intervals(content, rates, by_rule, where)
    meant = [[*map(str, intervals[at : at + columns])] for at in firsts]
    said = [None if nobody else row for row, nobody in zip(meant, empty, strict=True)]
    return RateStatement(
        title,
        about | {"intervals": said},
        space,
        names,
        columns=columns,
        intervals=intervals,
        empty=empty,
    )


def _digits(content: dict[str, Any], where: str) -> int:
    digits = plain.whole(content["digits"], f"{where}: digits")
    if digits > 1000:
        raise InvalidInput(f"{where}: digits is above 1000")
    return digits


def _tolerances(content: dict[str, Any], size: int, where: str) -> list[Fraction] | None:
    """The tolerance of each rate, if there are any."""
    eps = content["eps"]
    if eps is None:
        return None
    spread = (
        [eps] * size if not isinstance(eps, list) else plain.entries(eps, f"{where}: eps", size)
    )
    reach = [plain.number(width, f"{where}: eps") for width in spread]
    if min(reach) < 0:
        raise InvalidInput(f"{where}: eps is negative; it must be 0 or more")
    return reach


def _intervals(
    content: dict[str, Any], rates: Sequence[Fraction | None], by_rule: bool, where: str
) -> list[Interval]:
    """What each rate says by itself: by its rule, and by its tolerance."""
    strict = plain.typed(content["strict"], f"{where}: strict", bool)
    rounding, eps = content["rounding"], _tolerances(content, len(rates), where)
    if eps is not None and rounding is not None and not by_rule:
        raise InvalidInput(f"{where} has both eps and a rounding rule; intervals have one of them")
    unit = 1
    if rounding is not None:
        plain.choice(rounding, f"{where}: rounding", RATES)
        unit = 10 ** _digits(content, where)
    below, above, *is_open = RATES[rounding] if rounding is not None else (NONE, NONE, False, False)
    intervals = []
    for place, rate in enumerate(rates):
        if rate is None:
            intervals.append(Interval(NONE, ONE))
            continue
        if rounding == "half-even" and by_rule:
            is_open = [_units(rate, unit, where) % 2 == 1] * 2
        around = Interval(rate - below / unit, rate + above / unit, *is_open)
        if eps is not None:
            within = Interval(rate - eps[place], rate + eps[place], strict, strict)
            around = within if rounding is None else around.met(within)
        intervals.append(around)
    return intervals


def _units(rate: Fraction, unit: int, where: str) -> int:
    units = rate * unit
    if units.denominator != 1:
        raise InvalidInput(f"{where}: a rate has more decimals than were printed")
    return units.numerator


def _shared_out(
    content: dict[str, Any],
    rates: Sequence[Fraction | None],
    empty: Sequence[bool],
    about: dict[str, Any],
    columns: int,
    where: str,
    space: Space,
    names: tuple[str, ...],
) -> RateStatement:
    """Rows that add to one by the largest remainder; one suppressed figure is what they lack."""
    unit = 10 ** _digits(content, where)
    eps = _tolerances(content, len(rates), where)
    if eps is not None and min(eps) * unit < 1:
        raise InvalidInput(f"{where}: a tolerance below one unit, beside rows that add to one")
    shared: list[SharedOut | None] = []
    for row, nobody in enumerate(empty):
        own = rates[row * columns : (row + 1) * columns]
        shown = [_units(rate, unit, where) for rate in own if rate is not None]
        if 1 < columns - len(shown) < columns:
            raise InvalidInput(f"{where}: a row that adds to one lacks some figures, but not all")
        lacking = max(0, unit - sum(shown))
        if nobody or (not shown and columns > 1):
            shared.append(None)
            continue
        figures = [lacking if rate is None else _units(rate, unit, where) for rate in own]
        shared.append(SharedOut(unit, figures))
    intervals = [interval for row in shared for interval in _enclosing(row, columns)]
    said = [
        None if nobody else "suppressed" if row is None else list(map(str, row.figures))
        for row, nobody in zip(shared, empty, strict=True)
    ]
    return RateStatement(
        where,
        about | {"unit": str(unit), "largest remainder": said},
        space,
        names,
        columns=columns,
        intervals=intervals,
        empty=empty,
        shared=shared,
    )


def _enclosing(row: SharedOut | None, columns: int) -> list[Interval]:
    """Less than a unit around each figure; nothing at all if the row does not add up."""
    if row is None:
        return [Interval(NONE, ONE)] * columns
    if not row.adds_up:
        return [Interval(ONE, NONE)] * columns
    reach = 1 - Fraction(1, columns)
    return [
        Interval(max(NONE, (p - reach) / row.unit), min(ONE, (p + reach) / row.unit))
        for p in row.figures
    ]
