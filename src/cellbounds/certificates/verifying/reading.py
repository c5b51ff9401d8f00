"""The statements of a certificate, read from JSON into what they mean.

The rounding rules, u being one unit of the last decimal, or the base of rounded counts:

==============  ===========================
rule            what the figure p stands for
==============  ===========================
``nearest``     [p - u/2, p + u/2)
``half-even``   [p - u/2, p + u/2]
``down``        [p, p + u)
``up``          (p - u, p]
``consistent``  [p - u, p + u]      (rates only)
``random``      (p - u, p + u)      (counts only)
==============  ===========================
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from cellbounds.certificates.verifying.plain import (
    choice,
    entries,
    flag,
    nested,
    number,
    object_with,
    whole,
)
from cellbounds.certificates.verifying.space import Space
from cellbounds.certificates.verifying.statements import Rates, Statement, Sums, Weighted
from cellbounds.errors import InvalidInput

__all__ = ["read_statement"]

_HALF, _ONE, _NONE = Fraction(1, 2), Fraction(1), Fraction(0)
_SHARED = {
    "nearest": (_HALF, _HALF, False, True),
    "half-even": (_HALF, _HALF, False, False),
    "down": (_NONE, _ONE, False, True),
    "up": (_ONE, _NONE, True, False),
}
_RATES = {**_SHARED, "consistent": (_ONE, _ONE, False, False)}
_COUNTS = {**_SHARED, "random": (_ONE, _ONE, True, True)}
"""Each rule: how far below and above in units, and whether the lower and upper end are open."""

_RANGE = re.compile(r"(?:(<=|<|>=|>)([0-9]+)|([0-9]+)-([0-9]+))")
_KINDS = ("total", "margin", "prior", "linear", "conditional")
_LIMITS = ("lower", "upper")


def read_statement(given: object, place: int, space: Space) -> Statement:
    """One statement of a release."""
    where = f"statement {place}"
    said = object_with(given, where, [])
    kind = next(iter(said), "")
    if len(said) != 1 or kind not in _KINDS:
        raise InvalidInput(f"{where} must have one key, one of {', '.join(_KINDS)}")
    readers: dict[str, Callable[[object, str, Space], Statement]] = {
        "total": _total,
        "margin": _margin,
        "prior": _prior,
        "linear": _linear,
        "conditional": _conditional,
    }
    return readers[kind](said[kind], f"{where} ({kind})", space)


def _names(content: dict[str, Any], key: str, where: str, space: Space) -> tuple[str, ...]:
    return space.checked_names(content[key], f"{where}: {key}")


def _titled(where: str, names: tuple[str, ...]) -> str:
    return f"{where} [{','.join(names)}]"


def _total(given: object, where: str, space: Space) -> Sums:
    content = object_with(given, where, ["lower", "upper"], only=[])
    upper = content["upper"]
    least = whole(content["lower"], f"{where}: lower")
    most = None if upper is None else whole(upper, f"{where}: upper")
    meaning = {"total": {"lower": least, "upper": most}}
    return Sums(where, meaning, space, (), [least], [most], {})


def _margin(given: object, where: str, space: Space) -> Sums:
    content = object_with(given, where, ["variables", "counts"], only=["base", "rounding"])
    names = _names(content, "variables", where, space)
    base = rule = None
    if content.get("base") is not None:
        base = whole(content["base"], f"{where}: base", 2)
        rule = choice(content.get("rounding"), f"{where}: rounding", _COUNTS)
    elif content.get("rounding") is not None:
        raise InvalidInput(f"{where} has a rounding rule without a base; give both or none")
    shown = nested(content["counts"], space.shape_of(names), f"{where}: counts")
    spans = [_span(entry, base, rule, f"{where}: a count") for entry in shown]
    least, most = [low for low, _ in spans], [top for _, top in spans]
    meaning = _limits_meant("Margin", names, least, most, {}, space)
    return Sums(_titled(where, names), meaning, space, names, least, most, {})


def _limits_meant(
    kind: str,
    names: tuple[str, ...],
    least: list[int],
    most: list[int | None],
    values: dict[int, frozenset[int]],
    space: Space,
) -> dict[str, Any]:
    """What the digest of a release takes of limits: laid out in the shape of the margin."""
    tops = [-1 if limit is None else limit for limit in most]
    shape = space.shape_of(names)
    return {
        kind: list(names),
        "lower": np.array(least, dtype=object).reshape(shape).tolist(),
        "upper": np.array(tops, dtype=object).reshape(shape).tolist(),
        "values": [[figure, sorted(listed)] for figure, listed in sorted(values.items())],
    }


def _span(entry: object, base: int | None, rule: str | None, where: str) -> tuple[int, int | None]:
    """The least and the most that a published count stands for."""
    if entry is None:
        return 0, None
    if isinstance(entry, str):
        found = _RANGE.fullmatch(entry) if len(entry) <= 1000 else None
        if found is None:
            raise InvalidInput(f"{where} is a text that is no range; write '<5', '>=11' or '3-7'")
        least, most = _range(found)
        if most is not None and most < least:
            raise InvalidInput(f"{where} is a range that no count fits; its ends must ascend")
        return least, most
    figure = whole(entry, where)
    if base is None or rule is None:
        return figure, figure
    if figure % base:
        raise InvalidInput(f"{where} is no multiple of the base {base}")
    below, above, low_open, high_open = _COUNTS[rule]
    low, high = figure - below * base, figure + above * base
    least = math.floor(low) + 1 if low_open else math.ceil(low)
    most = math.ceil(high) - 1 if high_open else math.floor(high)
    return max(0, least), most


def _range(found: re.Match[str]) -> tuple[int, int | None]:
    """The ends of a range that is written as text."""
    if found[3] is not None:
        return int(found[3]), int(found[4])
    limit = int(found[2])
    return {
        "<": (0, limit - 1),
        "<=": (0, limit),
        ">": (limit + 1, None),
        ">=": (limit, None),
    }[found[1]]


def _prior(given: object, where: str, space: Space) -> Sums:
    keys = ["variables", "lower", "upper", "values", "keyed"]
    content = object_with(given, where, keys, only=[])
    names = _names(content, "variables", where, space)
    keyed = entries(content["keyed"], f"{where}: keyed")
    known = {
        key: _laid_out(content[key], key in keyed, names, f"{where}: {key}", space)
        for key in ("lower", "upper", "values")
    }
    least = [0 if one is None else _count(one, f"{where}: lower") for one in known["lower"]]
    most = [None if one is None else _count(one, f"{where}: upper") for one in known["upper"]]
    values: dict[int, frozenset[int]] = {}
    for figure, given_list in enumerate(known["values"]):
        if given_list is None:
            continue
        listed = frozenset(_count(one, f"{where}: a value") for one in entries(given_list, where))
        if not listed:
            raise InvalidInput(f"{where} has an empty list of values; give at least one")
        values[figure] = listed
    meaning = _limits_meant("Prior", names, least, most, values, space)
    for figure, listed in values.items():
        least[figure] = max(least[figure], min(listed))
        limit = most[figure]
        most[figure] = max(listed) if limit is None else min(limit, max(listed))
    return Sums(_titled(where, names), meaning, space, names, least, most, values)


def _laid_out(
    given: object, keyed: bool, names: tuple[str, ...], where: str, space: Space
) -> list[Any]:
    """One entry for each figure of a margin, None where nothing is said."""
    size = math.prod(space.shape_of(names))
    if keyed:
        laid: list[Any] = [None] * size
        seen: set[int] = set()
        for pair in entries(given, where):
            labels, value = entries(pair, f"{where}: a pair of labels and value", 2)
            figure = _figure(labels, names, where, space)
            if figure in seen:
                raise InvalidInput(f"{where} names a cell twice; name it once")
            seen.add(figure)
            laid[figure] = value
        return laid
    if isinstance(given, list):
        return nested(given, space.shape_of(names), where)
    return [given] * size


def _figure(labels: object, names: tuple[str, ...], where: str, space: Space) -> int:
    """A cell named by its labels; a level that is itself a list may stand for them."""
    if len(names) == 1 and space.is_level(names[0], labels):
        alone = entries(labels, where)
        if len(alone) == 1 and space.is_level(names[0], alone[0]):
            raise InvalidInput(f"{where}: {labels!r} may be either of two levels; rename one")
        return space.place(names[0], labels, where)
    return space.figure(names, labels, where)


def _count(given: object, where: str) -> int:
    if isinstance(given, str) and len(given) <= 1000 and given.strip().isdecimal():
        return int(given)
    return whole(given, where)


def _linear(given: object, where: str, space: Space) -> Weighted:
    keys = ["variables", "coefficients", "lower", "upper"]
    content = object_with(given, where, keys, only=[])
    names = _names(content, "variables", where, space)
    written = entries(content["coefficients"], f"{where}: coefficients")
    # Pairs of labels and a number; numbers in lists are written as text.
    keyed = bool(written) and all(
        isinstance(one, list) and len(one) == 2 and isinstance(one[0], list) for one in written
    )
    keyed = keyed and all(isinstance(one[1], str) for one in written)
    laid = _laid_out(written, keyed, names, f"{where}: coefficients", space)
    numbers = [_NONE if one is None else number(one, f"{where}: a coefficient") for one in laid]
    weights = [_NONE] * space.size
    behind = space.behind(names)
    for cell, figure in zip(behind.cells.tolist(), behind.figures.tolist(), strict=True):
        weights[cell] += numbers[figure]
    scale = math.lcm(*(one.denominator for one in weights))
    lower, upper = (
        None if content[key] is None else number(content[key], f"{where}: {key}") * scale
        for key in _LIMITS
    )
    whole_weights = [int(one * scale) for one in weights]
    ends = [None if content[key] is None else number(content[key], where) for key in _LIMITS]
    meaning = _weights_meant(names, numbers, ends)
    return Weighted(_titled(where, names), meaning, names, whole_weights, lower, upper)


def _weights_meant(
    names: tuple[str, ...], numbers: list[Fraction], ends: list[Fraction | None]
) -> dict[str, Any]:
    """What the digest takes of a sum: no common divisor, the first coefficient above 0."""
    scale = math.lcm(*(one.denominator for one in numbers))
    weights = [int(one * scale) for one in numbers]
    shared = math.gcd(*weights) or 1
    lower, upper = (None if end is None else end * scale / shared for end in ends)
    least = None if lower is None else math.ceil(lower)
    most = None if upper is None else math.floor(upper)
    weights = [one // shared for one in weights]
    if next((one for one in weights if one), 1) < 0:
        weights = [-one for one in weights]
        least, most = (None if end is None else -end for end in (most, least))
    return {"Linear": list(names), "coefficients": weights, "lower": least, "upper": most}


def _conditional(given: object, where: str, space: Space) -> Rates:
    keys = ["responses", "given", "rates", "digits", "rounding", "eps", "strict", "missing"]
    content = object_with(given, where, keys, only=[])
    responses = _names(content, "responses", where, space)
    givens = _names(content, "given", where, space)
    names = (*givens, *responses)
    axes = [space.axis_of(name) for name in names]
    if not responses or len(set(axes)) < len(axes):
        raise InvalidInput(f"{where} needs responses, and may speak of each variable once")
    if not all(space.shares_out(name) for name in responses):
        raise InvalidInput(f"{where}: groups of a response overlap or leave out a level")
    rows = math.prod(space.shape_of(givens))
    columns = math.prod(space.shape_of(responses))
    shown = nested(content["rates"], (rows, columns), f"{where}: rates")
    rates = [None if one is None else number(one, f"{where}: a rate") for one in shown]
    missing = content["missing"]
    if missing is not None:
        choice(missing, f"{where}: missing", ("zero", "suppressed"))
    elif None in rates:
        raise InvalidInput(f"{where} lacks rates and does not say why; 'missing' must say it")
    absent = [
        [one is None for one in rates[at * columns : (at + 1) * columns]] for at in range(rows)
    ]
    if missing == "zero" and any(any(row) and not all(row) for row in absent):
        raise InvalidInput(f"{where}: a row lacks some rates, so it is no row that holds nobody")
    rules = _rate_rules(content, rows * columns, where)
    spans = [
        (_NONE, _ONE, False, False)
        if rate is None
        else (rate - below, rate + above, low_open, high_open)
        for rate, (below, above, low_open, high_open) in zip(rates, rules, strict=True)
    ]
    empty = [missing == "zero" and all(row) for row in absent]
    shown = [f"{'(' if a else '['}{low},{high}{')' if b else ']'}" for low, high, a, b in spans]
    by_row = [shown[at * columns : (at + 1) * columns] for at in range(rows)]
    meaning = {
        "rates": [list(responses), list(givens)],
        "intervals": [None if nobody else row for row, nobody in zip(by_row, empty, strict=True)],
    }
    return Rates(
        f"{where} [{','.join(responses)}|{','.join(givens)}]",
        meaning,
        space,
        names,
        columns,
        [one[0] for one in spans],
        [one[1] for one in spans],
        [one[2] for one in spans],
        [one[3] for one in spans],
        empty,
    )


def _rate_rules(
    content: dict[str, Any], size: int, where: str
) -> list[tuple[Fraction, Fraction, bool, bool]]:
    """For each rate: how far its interval reaches below and above, and which ends are open."""
    strict = flag(content["strict"], f"{where}: strict")
    digits, rounding, eps = content["digits"], content["rounding"], content["eps"]
    if eps is not None:
        if rounding is not None:
            raise InvalidInput(f"{where} has both eps and a rounding rule; it may have one")
        spread = [eps] * size if not isinstance(eps, list) else entries(eps, f"{where}: eps", size)
        reach = [number(one, f"{where}: eps") for one in spread]
        if min(reach) < 0:
            raise InvalidInput(f"{where}: eps is negative; it must be 0 or more")
        return [(one, one, strict, strict) for one in reach]
    if rounding is None:
        return [(_NONE, _NONE, False, False)] * size
    choice(rounding, f"{where}: rounding", _RATES)
    decimals = whole(digits, f"{where}: digits")
    if decimals > 1000:
        raise InvalidInput(f"{where}: digits is above 1000")
    unit = Fraction(1, 10**decimals)
    below, above, low_open, high_open = _RATES[rounding]
    return [(below * unit, above * unit, low_open, high_open)] * size
