"""Counts and weights as exact numbers.

A count is a whole number. So is a frequency weight; other weights are decimals, which are added
up exactly. A number that a file holds in binary stands for the shortest decimal that gives it: the
0.1 that somebody wrote, not the fraction next to it that a computer can hold.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from cellbounds.data.formats import Columns
from cellbounds.data.microdata.asking import Asked
from cellbounds.errors import InvalidInput

__all__ = ["DECIMAL", "WHOLE", "amounts_of", "half_up", "is_missing", "refusal"]

WHOLE = r"\s*\+?([0-9]{1,1000})(?:\.0*)?\s*"
DECIMAL = r"\s*\+?([0-9]{1,1000}(?:\.[0-9]{0,1000})?|\.[0-9]{1,1000})\s*"

_WHOLE = re.compile(WHOLE)
_DECIMAL = re.compile(DECIMAL)


def amounts_of(columns: Columns, asked: Asked) -> list[int | Fraction | None]:
    """The numbers of the column of counts or weights; None where a count is missing and may be."""
    assert asked.amount is not None  # records without weights have no such column
    name = asked.amount
    found: list[int | Fraction | None] = []
    for line, value in enumerate(columns.values[name]):
        missing = is_missing(value) and not columns.note(name, line)
        if missing and asked.uncounted:
            found.append(None)
            continue
        number = _exact(value, fractions=asked.rounded)
        if number is None or number < 0:
            # The value itself may be confidential: name the line only.
            place, note = columns.place(name, line), columns.note(name, line)
            raise refusal(place, asked, note=note, missing=missing)
        found.append(number)
    return found


def refusal(place: str, asked: Asked, *, note: str = "", missing: bool = False) -> InvalidInput:
    """Why the count or weight at a place cannot be used."""
    if not asked.weighted:
        or_else = " or, for structural zeros, give structural='missing' (--structural)"
        return InvalidInput(
            f"{place}: the count is not a whole number of 0 or more{note}; write plain digits "
            f"(weighted or rounded figures are not counts){or_else if missing else ''}"
        )
    if asked.rounded:
        return InvalidInput(
            f"{place}: the weight is missing, negative or no finite number{note}; write plain "
            "digits, and leave out records that stand for nobody"
        )
    return InvalidInput(
        f"{place}: the weight is not a whole number of 0 or more{note}; a weight says how many "
        "persons a record stands for, and bounds speak of whole persons. Give round_weight=True "
        "(--round-weight) to add fractions up exactly and round each cell"
    )


def half_up(number: int | Fraction) -> int:
    """The nearest whole number, the larger of two.

    Examples
    --------
    >>> [half_up(Fraction(tenths, 10)) for tenths in (4, 5, 14, 15, 25)]
    [0, 1, 1, 2, 3]
    """
    return math.floor(number + Fraction(1, 2))


def is_missing(label: Any) -> bool:
    """Whether a value is no value: nothing, an empty text, not a number."""
    # pandas has markers of its own; comparing them with anything gives no truth value.
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    return bool(label == "" or (isinstance(label, float | Decimal) and math.isnan(label)))


def _exact(value: Any, *, fractions: bool) -> int | Fraction | None:
    if isinstance(value, str):
        match = _WHOLE.fullmatch(value)
        if match:
            return int(match[1])
        match = _DECIMAL.fullmatch(value) if fractions else None
        return Fraction(match[1]) if match else None
    if isinstance(value, bool | np.bool_):
        return None
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        if not math.isfinite(value):
            return None
        exact = Fraction(Decimal(repr(float(value))))
    elif isinstance(value, Decimal):
        if not value.is_finite():
            return None
        exact = Fraction(value)
    elif isinstance(value, Fraction):
        exact = value
    else:
        return None
    if exact.denominator == 1:
        return int(exact)
    return exact if fractions else None
