"""What a release says, in words."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from cellbounds.data.domain import Domain
from cellbounds.report.pages.plain import plain_label
from cellbounds.statements import Conditional, Linear, Margin, Prior, Release, Total
from cellbounds.statements.release import Statement
from cellbounds.statements.rounding import COUNT_ROUNDINGS, ROUNDINGS, Ends

__all__ = ["published", "responses_of"]

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
