"""The statements of a certificate, read from JSON into what they mean.

Every statement says which tables it allows (`broken`) and which inequalities ``a x >= b`` over the
cells follow from it (`inequality`). Both come from the same few numbers, which are worked out from
the JSON, beside the `meaning` that the digest of a release is made of.

`rounding.py` has the rounding rules.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

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
from cellbounds.certificates.verifying.rates import read_rates
from cellbounds.certificates.verifying.rounding import COUNTS, NONE, counts_behind, reading
from cellbounds.certificates.verifying.space import Space
from cellbounds.errors import InvalidInput


@dataclass(frozen=True, eq=False)
class SumStatement(Statement):
    """Totals, margins and known bounds: each figure is a sum of cells, from `least` to `most`.

    `most` is None where there is no limit; a figure with `values` must be one of them.
    """

    least: Sequence[int]
    most: Sequence[int | None]
    values: Mapping[int, frozenset[int]] = field(default_factory=dict)

    @cached_property
    def limits(self) -> tuple[IntArray, IntArray, IntArray]:
        """The least, the most, and where there is a most."""
        limited = np.array([limit is not None for limit in self.most])
        return plain.packed(self.least), plain.packed([limit or 0 for limit in self.most]), limited

    def broken(self, counts: IntArray, *, ray: bool = False) -> int | None:
        """The first figure that a table contradicts, or that a ray leaves in the long run."""
        sums = self.behind.sums(counts)
        least, most, limited = self.limits
        wrong = (sums != 0) & limited if ray else (sums < least) | (limited & (sums > most))
        places = np.flatnonzero(wrong.astype(bool))
        if len(places) or ray:
            return int(places[0]) if len(places) else None
        return next((at for at, listed in self.values.items() if sums[at] not in listed), None)

    def inequality(self, figure: int, end: str) -> Inequality | None:
        """What one end of one figure says, None if it says nothing."""
        if not 0 <= figure < len(self.least):
            return None
        cells, most = self.behind.of(figure), self.most[figure]
        if end == "lower":
            return sum_at_least(cells, self.least[figure])
        return sum_at_most(cells, most) if end == "upper" and most is not None else None

    def lists(self) -> Iterator[tuple[IntArray, frozenset[int]]]:
        """Cells whose sum is one of some values."""
        for figure, listed in self.values.items():
            yield self.behind.of(figure), listed


@dataclass(frozen=True, eq=False)
class LinearStatement(Statement):
    """Linear statements: whole coefficients of the cells, and limits of their sum."""

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
        factors = [sign * denominator * coefficient for coefficient in self.coefficients]
        return reduced(np.arange(len(factors)), factors, sign * numerator)

    def words(self, figure: int) -> str:
        """The statement for people; it has one figure."""
        return self.title if not figure else f"{self.title}, figure {figure}"


_RANGE = re.compile(r"(?:(<=|<|>=|>)([0-9]+)|([0-9]+)-([0-9]+))")


def read_statement(given: object, place: int, space: Space) -> Statement:
    """One statement of a release."""
    where = f"statement {place}"
    content = plain.object_with(given, where, [])
    kind = next(iter(content), "")
    if len(content) != 1 or kind not in _READERS:
        raise InvalidInput(f"{where} must have one key, one of {', '.join(_READERS)}")
    return _READERS[kind](content[kind], f"{where} ({kind})", space)


def _names(content: dict[str, Any], key: str, where: str, space: Space) -> tuple[str, ...]:
    return space.checked_names(content[key], f"{where}: {key}")


def _total(given: object, where: str, space: Space) -> SumStatement:
    content = plain.object_with(given, where, ["lower", "upper"], only=[])
    upper = content["upper"]
    least = plain.whole(content["lower"], f"{where}: lower")
    most = None if upper is None else plain.whole(upper, f"{where}: upper")
    meaning = {"total": {"lower": least, "upper": most}}
    return SumStatement(where, meaning, space, (), least=[least], most=[most])


def _margin(given: object, where: str, space: Space) -> SumStatement:
    content = plain.object_with(
        given, where, ["variables", "counts"], only=["base", "rounding", "below", "noise", "rule"]
    )
    names = _names(content, "variables", where, space)
    base = rule = None
    if content.get("base") is not None:
        base = plain.whole(content["base"], f"{where}: base", 2)
        rule = plain.choice(content.get("rounding"), f"{where}: rounding", COUNTS)
    elif content.get("rounding") is not None:
        raise InvalidInput(f"{where} has a rounding rule without a base; give both or none")
    shown = plain.nested(content["counts"], space.shape_of(names), f"{where}: counts")
    if content.get("noise") is not None:
        if base is not None:
            raise InvalidInput(f"{where} has both a base and noise; give one of them")
        return _noisy(content, shown, where, space, names)
    interval = reading(content, where) == "interval"
    spans = [_span(entry, base, rule, f"{where}: a count", interval) for entry in shown]
    least, most = [low for low, _ in spans], [top for _, top in spans]
    if content.get("below") is not None:
        if base is None:
            raise InvalidInput(f"{where} has below without a base; give both or none")
        # What was hidden came first: a number that was rounded is at least the threshold.
        below = plain.whole(content["below"], f"{where}: below", 2)
        number = [isinstance(entry, int) for entry in shown]
        least = [
            max(low, below) if is_number else low
            for low, is_number in zip(least, number, strict=True)
        ]
    return _limited("Margin", where, space, names, least, most, {})


def _noisy(
    content: dict[str, Any], shown: list[Any], where: str, space: Space, names: tuple[str, ...]
) -> SumStatement:
    """Figures with noise: all that is said is which counts could have led to them."""
    noise = plain.object_with(content["noise"], f"{where}: noise", [])
    kind = next(iter(noise), "")
    least, most, values = list[int](), list[int | None](), dict[int, frozenset[int]]()
    for place, entry in enumerate(shown):
        low, top = 0, None
        if isinstance(entry, str) or entry is None:
            low, top = _span(entry, None, None, f"{where}: a count")
        elif isinstance(entry, bool) or not isinstance(entry, int):
            raise InvalidInput(f"{where}: a count with noise must be a whole number")
        elif kind != "laplace" or len(noise) != 1:
            possible = _led_to(noise, entry, f"{where}: noise")
            low, top = possible[0], possible[-1]
            if top - low >= len(possible):
                values[place] = frozenset(possible)
        least.append(low)
        most.append(top)
    statement = _limited("Margin", where, space, names, least, most, values)
    statement.meaning.update(noise=content["noise"], counts=content["counts"])
    return statement


def _led_to(noise: dict[str, Any], shown: int, where: str) -> list[int]:
    """The counts that lead to a figure with some probability."""
    kind = next(iter(noise), "")
    if len(noise) != 1 or kind not in ("differences", "chances", "cell key"):
        raise InvalidInput(f"{where} must have one key: laplace, differences, chances, cell key")
    given = plain.object_with(noise[kind], where, [])
    try:
        if kind == "differences":
            counts = [shown - int(step) for step, chance in given.items() if Fraction(chance) > 0]
        else:
            counts = [
                int(count)
                for count, line in given.items()
                if Fraction(plain.object_with(line, where, []).get(str(shown), 0)) > 0
            ]
        if kind == "cell key":
            # The last line stands for all larger counts, with the same differences.
            last = max(map(int, given))
            line = plain.object_with(given[str(last)], where, [])
            steps = [int(figure) - last for figure, chance in line.items() if Fraction(chance) > 0]
            counts += [shown - step for step in steps if shown - step > last]
    except (ValueError, TypeError, KeyError, ZeroDivisionError):
        raise InvalidInput(f"{where} is no table of whole numbers and fractions") from None
    possible = sorted({count for count in counts if count >= 0})
    if not possible:
        raise InvalidInput(f"{where}: a figure that no count leads to")
    return possible


def _limited(
    kind: str,
    where: str,
    space: Space,
    names: tuple[str, ...],
    least: list[int],
    most: list[int | None],
    values: dict[int, frozenset[int]],
) -> SumStatement:
    """Limits of the figures of a margin; the digest takes them as given, in its shape."""
    shape = space.shape_of(names)
    tops = [-1 if limit is None else limit for limit in most]
    meaning = {
        kind: list(names),
        "lower": np.array(least, dtype=object).reshape(shape).tolist(),
        "upper": np.array(tops, dtype=object).reshape(shape).tolist(),
        "values": [[figure, sorted(listed)] for figure, listed in sorted(values.items())],
    }
    for figure, listed in values.items():
        least[figure] = max(least[figure], min(listed))
        limit = most[figure]
        most[figure] = max(listed) if limit is None else min(limit, max(listed))
    title = f"{where} [{','.join(names)}]"
    return SumStatement(title, meaning, space, names, least=least, most=most, values=values)


def _span(
    entry: object, base: int | None, rule: str | None, where: str, interval: bool = False
) -> tuple[int, int | None]:
    """The least and the most that a published count stands for."""
    if entry is None:
        return 0, None
    if isinstance(entry, str):
        match = _RANGE.fullmatch(entry) if len(entry) <= 1000 else None
        if match is None:
            raise InvalidInput(f"{where} is a text that is no range; write '<5', '>=11' or '3-7'")
        limit = int(match[2] or match[4])
        least, most = {
            "<": (0, limit - 1),
            "<=": (0, limit),
            ">": (limit + 1, None),
            ">=": (limit, None),
            None: (int(match[3] or 0), limit),
        }[match[1]]
        if most is not None and most < least:
            raise InvalidInput(f"{where} is a range that no count fits; its ends must ascend")
        return least, most
    figure = plain.whole(entry, where)
    if base is None or rule is None:
        return figure, figure
    if figure % base:
        raise InvalidInput(f"{where} is no multiple of the base {base}")
    return counts_behind(figure, base, rule, interval=interval)


def _prior(given: object, where: str, space: Space) -> SumStatement:
    keys = ["variables", "lower", "upper", "values", "keyed"]
    content = plain.object_with(given, where, keys, only=[])
    names = _names(content, "variables", where, space)
    keyed = plain.entries(content["keyed"], f"{where}: keyed")
    known = {
        key: _laid_out(content[key], key in keyed, names, f"{where}: {key}", space)
        for key in ("lower", "upper", "values")
    }
    least = [0 if end is None else _count(end, f"{where}: lower") for end in known["lower"]]
    most = [None if end is None else _count(end, f"{where}: upper") for end in known["upper"]]
    values: dict[int, frozenset[int]] = {}
    for figure, given_list in enumerate(known["values"]):
        if given_list is None:
            continue
        listed = plain.entries(given_list, where)
        values[figure] = frozenset(_count(value, f"{where}: a value") for value in listed)
        if not listed:
            raise InvalidInput(f"{where} has an empty list of values; give at least one")
    return _limited("Prior", where, space, names, least, most, values)


def _laid_out(
    given: object, keyed: bool, names: tuple[str, ...], where: str, space: Space
) -> list[Any]:
    """One entry for each figure of a margin, None where nothing is said."""
    size = math.prod(space.shape_of(names))
    if keyed:
        laid: list[Any] = [None] * size
        seen: set[int] = set()
        for pair in plain.entries(given, where):
            labels, value = plain.entries(pair, f"{where}: a pair of labels and value", 2)
            figure = _figure(labels, names, where, space)
            if figure in seen:
                raise InvalidInput(f"{where} names a cell twice; name it once")
            seen.add(figure)
            laid[figure] = value
        return laid
    if isinstance(given, list):
        return plain.nested(given, space.shape_of(names), where)
    return [given] * size


def _figure(labels: object, names: tuple[str, ...], where: str, space: Space) -> int:
    """A cell named by its labels; a level that is itself a list may stand for them."""
    if len(names) == 1 and space.is_level(names[0], labels):
        alone = plain.entries(labels, where)
        if len(alone) == 1 and space.is_level(names[0], alone[0]):
            raise InvalidInput(f"{where}: {labels!r} may be either of two levels; rename one")
        return space.place(names[0], labels, where)
    return space.figure(names, labels, where)


def _count(given: object, where: str) -> int:
    if isinstance(given, str) and len(given) <= 1000 and given.strip().isdecimal():
        return int(given)
    return plain.whole(given, where)


def _linear(given: object, where: str, space: Space) -> LinearStatement:
    keys = ["variables", "coefficients", "lower", "upper"]
    content = plain.object_with(given, where, keys, only=[])
    names = _names(content, "variables", where, space)
    written = plain.entries(content["coefficients"], f"{where}: coefficients")
    # Pairs of labels and a number; numbers in lists are written as text.
    keyed = bool(written) and all(
        isinstance(value, list) and [*map(type, value)] == [list, str] for value in written
    )
    laid = _laid_out(written, keyed, names, f"{where}: coefficients", space)
    numbers = [
        NONE if value is None else plain.number(value, f"{where}: a coefficient") for value in laid
    ]
    weights = [NONE] * space.size
    behind = space.behind(names)
    for cell, figure in zip(behind.cells.tolist(), behind.figures.tolist(), strict=True):
        weights[cell] += numbers[figure]
    scale = math.lcm(*(weight.denominator for weight in weights))
    ends = [
        None if content[key] is None else plain.number(content[key], f"{where}: {key}")
        for key in ("lower", "upper")
    ]
    lower, upper = (None if end is None else end * scale for end in ends)
    title, meaning = f"{where} [{','.join(names)}]", _weights_meant(names, numbers, ends)
    whole_weights = [int(weight * scale) for weight in weights]
    return LinearStatement(title, meaning, space, names, whole_weights, lower, upper)


def _weights_meant(
    names: tuple[str, ...], numbers: list[Fraction], ends: list[Fraction | None]
) -> dict[str, Any]:
    """What the digest takes of a sum: no common divisor, the first coefficient above 0."""
    scale = math.lcm(*(number.denominator for number in numbers))
    weights = [int(number * scale) for number in numbers]
    shared = math.gcd(*weights) or 1
    lower, upper = (None if end is None else end * scale / shared for end in ends)
    least = None if lower is None else math.ceil(lower)
    most = None if upper is None else math.floor(upper)
    weights = [weight // shared for weight in weights]
    if next((weight for weight in weights if weight), 1) < 0:
        weights = [-weight for weight in weights]
        least, most = (None if end is None else -end for end in (most, least))
    return {"Linear": list(names), "coefficients": weights, "lower": least, "upper": most}


_READERS: dict[str, Callable[[object, str, Space], Statement]] = {
    "total": _total,
    "margin": _margin,
    "prior": _prior,
    "linear": _linear,
    "conditional": read_rates,
}
