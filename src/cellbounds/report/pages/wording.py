"""Labels, attainable counts and statements in plain values and words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from cellbounds.data.domain import Domain, Label
from cellbounds.results import Unbounded, ValueSet
from cellbounds.results.plain import json_number
from cellbounds.statements import Conditional, Linear, Margin, Prior, Release, Total
from cellbounds.statements.release import Statement
from cellbounds.statements.rounding import COUNT_ROUNDINGS, ROUNDINGS, Ends

__all__ = [
    "interval_text",
    "label_text",
    "labels_text",
    "plain_label",
    "plain_values",
    "published",
    "read_values",
    "responses_of",
    "values_text",
]

RUNS = 8
"""Runs of attainable counts that a page names for a cell; the other formats have them all."""


def plain_label(label: Label) -> Any:
    """A label for JSON: texts, numbers and truth values as they are, everything else as text."""
    return label if isinstance(label, str | int | float | None) else label_text(label)


def label_text(label: Any) -> str:
    """A label for people; combined ones part by part.

    Examples
    --------
    >>> label_text("Alpha"), label_text((1, "b"))
    ('Alpha', '1, b')
    """
    return labels_text(label) if isinstance(label, tuple) else str(label)


def labels_text(labels: Iterable[Any]) -> str:
    """The labels of a cell or a row for people."""
    return ", ".join(map(label_text, labels))


def plain_values(values: ValueSet) -> dict[str, Any]:
    """Attainable counts: ends, number, and all of them as progressions ``[first, last, step]``."""
    possible = values.possible
    said: dict[str, Any] = {
        "lower": possible.smallest,
        "upper": json_number(possible.largest),
        "size": json_number(values.size) if values.settled else None,
        "settled": values.settled,
        "runs": values.to_list(),
    }
    if not values.settled:
        said["unknown"] = ValueSet(values.unknown).to_list()
    return said


def read_values(said: Mapping[str, Any]) -> ValueSet:
    """The attainable counts behind :func:`plain_values`."""
    return ValueSet(map(tuple, said["runs"]), unknown=map(tuple, said.get("unknown", ())))


def interval_text(said: Mapping[str, Any]) -> str:
    """The smallest and the largest count of a cell, as a page shows them.

    Examples
    --------
    >>> [interval_text({"lower": 3, "upper": upper}) for upper in (3, 27, None)]
    ['3', '3–27', '3+']
    """
    lower, upper = said["lower"], said["upper"]
    if upper is None:
        return f"{lower}+"
    return str(lower) if lower == upper else f"{lower}–{upper}"


def values_text(values: ValueSet) -> str:
    """The attainable counts in one short sentence.

    Examples
    --------
    >>> values_text(ValueSet([(3, 9, 3)])), values_text(ValueSet([(4, None, 1)]))
    ('3 attainable counts: 3, 6, 9', 'endlessly many attainable counts: 4-')
    """
    if not values.settled:
        return f"not settled: {values.text(RUNS)}"
    size = values.size
    if size == 1:
        return f"only {values.smallest} is attainable"
    many = "endlessly many" if isinstance(size, Unbounded) else f"{size:,}"
    return f"{many} attainable counts: {values.text(RUNS)}"


HOW = {
    "nearest": "rounded to the nearest, halves up",
    "half-even": "rounded to the nearest, halves to even",
    "down": "rounded down",
    "up": "rounded up",
    "consistent": "rounded so that rows add to one",
    "random": "rounded at random to a multiple beside it",
}


def published(release: Release) -> dict[str, Any]:
    """The statements in the notation with their meaning, and the derived variables they name.

    Examples
    --------
    >>> import cellbounds as cb
    >>> said = published(cb.publish(cb.example_table("mp3"), "[mp3|gender]@2"))
    >>> for statement in said["statements"]:
    ...     print(statement["notation"], "-", statement["meaning"])
    [mp3|gender]@2 - rates of mp3 among those who share gender; 2 decimals, rounded to the
    nearest, halves up: a figure p stands for p - 0.005 <= rate < p + 0.005
    N=50 - the number of people in the table
    """
    domain = release.domain
    said: dict[str, Any] = {
        "digest": release.digest,
        "statements": [
            {"notation": one.notation, "meaning": _meaning(one, domain)}
            for one in release.statements
        ],
        "derived": [
            {
                "name": name,
                "of": grouping.of,
                "levels": [
                    [plain_label(level), [plain_label(part) for part in parts]]
                    for level, parts in grouping.groups
                ],
            }
            for name, grouping in domain.groupings.items()
            if name in _named(release)
        ],
    }
    if release.total.upper is None:
        said["statements"].append({"notation": "no N", "meaning": "no upper limit of N is said"})
    return said


def responses_of(release: Release) -> tuple[str, ...]:
    """The responses that all published rates share; none if they differ or there are no rates."""
    found = {one.responses for one in release.statements if isinstance(one, Conditional)}
    return found.pop() if len(found) == 1 else ()


def _named(release: Release) -> set[str]:
    return {
        name for one in release.statements if not isinstance(one, Total) for name in one.variables
    }


def _meaning(statement: Statement, domain: Domain) -> str:
    match statement:
        case Total():
            if statement.exact is not None:
                return "the number of people in the table"
            return "what is said of the number of people in the table"
        case Conditional():
            return _rates_meaning(statement) + _left_out(statement.variables, domain)
        case Margin():
            return _counts_meaning(statement) + _left_out(statement.variables, domain)
        case Linear():
            names = ", ".join(statement.variables)
            return f"a sum of the counts over {names} with stated weights: {statement.rule}"
        case Prior():
            return f"what is known beforehand of the counts over {', '.join(statement.variables)}"


def _left_out(named: Sequence[str], domain: Domain) -> str:
    """The variables that a statement sums over."""
    behind = {found[0] if (found := domain.grouping(name)) else name for name in named}
    rest = [name for name in domain.names if name not in behind]
    return f"; summed over {', '.join(rest)}" if rest else ""


def _rates_meaning(statement: Conditional) -> str:
    among = f" among those who share {', '.join(statement.given)}" if statement.given else ""
    said = f"rates of {', '.join(statement.responses)}{among}; "
    if statement.rounding is not None and statement.digits is not None:
        unit = Fraction(1, 10**statement.digits)
        stands = _stands_for(ROUNDINGS[statement.rounding], unit, "rate")
        said += f"{_decimals(statement.digits)}, {HOW[statement.rounding]}: {stands}"
    else:
        said += "exact fractions" if statement.exact else statement.rule
    rates = statement.rates
    hidden = sum(rate is None for rate in rates.flat)
    if hidden:
        why = "suppressed" if statement.missing == "suppressed" else "rows that hold nobody"
        said += f"; {hidden} of {rates.size} figures are not shown ({why})"
    return said


def _counts_meaning(statement: Margin) -> str:
    said = f"counts of {', '.join(statement.variables)}; {statement.rule}"
    if statement.base is not None and statement.rounding is not None:
        ends = COUNT_ROUNDINGS[statement.rounding]
        said += f": {_stands_for(ends, Fraction(statement.base), 'count')}"
    return said


def _decimals(digits: int) -> str:
    return f"{digits} decimal{'' if digits == 1 else 's'}"


def _stands_for(ends: Ends, unit: Fraction, what: str) -> str:
    low = f"p - {_number(ends.below * unit)}" if ends.below else "p"
    high = f"p + {_number(ends.above * unit)}" if ends.above else "p"
    left, right = ("<" if one else "<=" for one in (ends.low_open, ends.high_open))
    return f"a figure p stands for {low} {left} {what} {right} {high}"


def _number(value: Fraction) -> str:
    """A decimal that ends, as it is written."""
    scale = 0
    while (value * 10**scale).denominator != 1:
        scale += 1
    digits = str(int(value * 10**scale)).rjust(scale + 1, "0")
    return f"{digits[:-scale]}.{digits[-scale:]}" if scale else digits
