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

from cellbounds.data.formats.kinds import Coded, SourceColumns
from cellbounds.data.microdata.selection import Selection
from cellbounds.errors import InvalidInput
from cellbounds.runtime.arrays import BoolArray, IntArray

UNIT = 10**6
"""Weights that may be fractions are added up in millionths: most of them are whole then."""

_DIGITS = 10**15
"""No two decimals of so many digits are the same number in binary."""

MOST_DIGITS = 1000

_WHOLE = re.compile(rf"\s*\+?([0-9]{{1,{MOST_DIGITS}}})(?:\.0*)?\s*")
_DECIMAL = re.compile(r"\s*\+?([0-9]{1,1000}(?:\.[0-9]{0,1000})?|\.[0-9]{1,1000})\s*")


def amounts_of(columns: SourceColumns, selection: Selection) -> tuple[IntArray, BoolArray]:
    """What each line adds, in millionths if it may be a fraction, and whether it says so.

    Only where a count may be missing, a line says nothing.
    """
    assert selection.amount is not None  # records without weights have no such column
    name, unit = selection.amount, UNIT if selection.rounded else 1
    column = columns.values[name]
    if isinstance(column, np.ndarray):
        numbers = _binary(column, unit)
        if numbers is not None:
            return numbers, np.ones(len(numbers), dtype=bool)
        column = column.tolist()
    if not isinstance(column, Coded):
        column = Coded(column, np.arange(len(column)))

    def is_absent(place: int) -> bool:
        return is_missing(column.labels[place]) and not columns.note(name, place)

    exact = [_exact(value, fractions=selection.rounded) for value in column.labels]
    skipped = [selection.uncounted and is_absent(place) for place in range(len(exact))]
    unfit = [number is None or number < 0 for number in exact]
    wrong = (np.array(unfit, dtype=bool) & ~np.array(skipped, dtype=bool))[column.codes]
    if wrong.any():
        # The value itself may be confidential: name the line only.
        line = int(np.argmax(wrong))
        place, note = columns.place(name, line), columns.note(name, line)
        value = str(column.labels[column.codes[line]]).strip()
        if len(value) > MOST_DIGITS and value.isdecimal():
            note = f" with at most {MOST_DIGITS} digits"
        raise refusal(place, selection, note=note, missing=is_absent(column.codes[line]))
    packed = np.empty(len(exact), dtype=object)
    packed[:] = [_times(number or 0, unit) if unit > 1 else number or 0 for number in exact]
    return packed[column.codes], ~np.array(skipped, dtype=bool)[column.codes]


def _times(number: int | Fraction, unit: int) -> int | Fraction:
    product = number * unit
    return int(product) if product.denominator == 1 else product


def _binary(column: IntArray, unit: int) -> IntArray | None:
    """Numbers as they are in a file, times `unit`; None if one of them has to be looked at."""
    if not len(column) or column.dtype.kind in "iu":
        small = not len(column) or (column.min() >= 0 and column.max() < 2**62 // unit)
        return column.astype(np.int64) * unit if small else None
    column = column.astype(np.float64)  # singles stand for what they are as doubles
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.rint(column * float(unit))
        fine = (column >= 0) & (scaled < _DIGITS) & (scaled / unit == column)
    return scaled.astype(np.int64) if fine.all() else None


def refusal(
    place: str, selection: Selection, *, note: str = "", missing: bool = False
) -> InvalidInput:
    """Why the count or weight at a place cannot be used."""
    if not selection.weighted:
        or_else = " or, for structural zeros, give structural='missing' (--structural)"
        return InvalidInput(
            f"{place}: the count is not a whole number of 0 or more{note}; write plain digits "
            f"(weighted or rounded figures are not counts){or_else if missing else ''}"
        )
    if selection.rounded:
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
