"""How many there are in each cell that occurs.

Counts and weights as exact numbers.

A count is a whole number. So is a frequency weight; other weights are decimals, which are added
up exactly. A number that a file holds in binary stands for the shortest decimal that gives it: the
0.1 that somebody wrote, not the fraction next to it that a computer can hold.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from cellbounds.data.formats.kinds import SourceColumns
from cellbounds.data.microdata.selection import Selection
from cellbounds.errors import InvalidInput
from cellbounds.runtime.arrays import SAFE, BoolArray, IntArray, whole_array

__all__ = [
    "Tally",
    "check_levels",
    "distinct_rows",
    "gathered",
    "half_up",
    "is_missing",
    "no_label",
    "no_labels_at_all",
    "refusal",
    "tally_of",
]

WHOLE = r"\s*\+?([0-9]{1,1000})(?:\.0*)?\s*"
DECIMAL = r"\s*\+?([0-9]{1,1000}(?:\.[0-9]{0,1000})?|\.[0-9]{1,1000})\s*"

_WHOLE = re.compile(WHOLE)
_DECIMAL = re.compile(DECIMAL)


def amounts_of(columns: SourceColumns, selection: Selection) -> list[int | Fraction | None]:
    """The numbers of the column of counts or weights; None where a count is missing and may be."""
    assert selection.amount is not None  # records without weights have no such column
    name = selection.amount
    numbers: list[int | Fraction | None] = []
    for line, value in enumerate(columns.values[name]):
        missing = is_missing(value) and not columns.note(name, line)
        if missing and selection.uncounted:
            numbers.append(None)
            continue
        number = _exact(value, fractions=selection.rounded)
        if number is None or number < 0:
            # The value itself may be confidential: name the line only.
            place, note = columns.place(name, line), columns.note(name, line)
            raise refusal(place, selection, note=note, missing=missing)
        numbers.append(number)
    return numbers


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


_BATCH = 2**19
"""Cells that wait to be added up: few enough not to be felt in memory."""

_KEYS = 2**62
"""Cells are numbered in 64 bits while their number stays below this."""


MOST_LEVELS = 2**22
"""Labels of one variable at most: more of them take gigabytes, and no table of counts has them."""


@dataclass(frozen=True, slots=True)
class Tally:
    """The cells that occur, in any order, each once.

    Parameters
    ----------
    where
        What was read, for messages.
    levels
        The labels of each column in order, without missing ones.
    places
        Positions of labels, one line for each cell and one column for each variable; -1 where the
        label is missing.
    amounts
        What was added up in each cell: whole numbers.
    lines
        How many lines of a file of counts name the cell; None for records.
    counted
        Whether one of them had a count; None for records.
    """

    where: str
    levels: Mapping[str, Sequence[Any]]
    places: IntArray
    amounts: IntArray
    lines: IntArray | None = None
    counted: BoolArray | None = None


class _Positions(dict[Any, int]):
    """The position of each label, given out in order of appearance; -1 for missing ones."""

    def __missing__(self, label: Any) -> int:
        if is_missing(label):
            return -1
        self[label] = position = len(self)
        return position


@dataclass(frozen=True, slots=True)
class _CellSums:
    """Some distinct cells, with what was added up in them."""

    places: IntArray
    sums: IntArray
    lines: IntArray
    counted: BoolArray

    def __len__(self) -> int:
        return len(self.sums)


def tally_of(where: str, chunks: Iterable[SourceColumns], selection: Selection) -> Tally:
    """Add up lines, chunk by chunk: what is kept in mind grows with the cells, not the lines."""
    positions = {name: _Positions() for name in selection.used}
    done: list[_CellSums] = []
    waiting: list[_CellSums] = []
    for columns in chunks:
        waiting.append(_added_up(*_lines(columns, positions, selection)))
        if sum(map(len, waiting)) > max(_BATCH, *map(len, done), 0):
            done, waiting = [_together([*done, *waiting])], []
    cells = _together([*done, *waiting])
    sums = cells.sums
    if selection.rounded:
        sums = whole_array([half_up(number) for number in sums.tolist()], sums.shape)
    levels = {name: list(found) for name, found in positions.items()}
    if selection.amount is None or selection.weighted:
        return Tally(where, levels, cells.places, sums)
    return Tally(where, levels, cells.places, sums, cells.lines, cells.counted)


def gathered(
    where: str,
    levels: Mapping[str, Sequence[Any]],
    columns: Sequence[IntArray],
    amounts: IntArray,
    *,
    lines: IntArray | None = None,
    counted: BoolArray | None = None,
) -> Tally:
    """A tally from columns of places, where only cells with missing labels may stand twice."""
    if any(column.min(initial=0) < 0 for column in columns):
        # What an engine keeps apart, such as an empty text and no text, may be the same here.
        ones = np.ones(len(amounts), dtype=np.int64)
        given = ones if lines is None else lines
        some = ones.astype(bool) if counted is None else counted
        cells = _added_up([column.astype(np.int64) for column in columns], amounts, given, some)
        columns, amounts = list(cells.places.T), cells.sums
        lines = None if lines is None else cells.lines
        counted = None if counted is None else cells.counted
    return Tally(where, levels, np.column_stack(columns), amounts, lines, counted)


def check_levels(where: str, name: str, number: int) -> None:
    """Refuse a column with so many labels that it cannot be meant as a variable."""
    if number > MOST_LEVELS:
        raise InvalidInput(
            f"{where}: {name!r} has more than {MOST_LEVELS} labels, as an identifier or an amount "
            "has; choose the columns that are variables with variables=[...] (--variables), or "
            "group its values first"
        )


def no_label(place: str, name: str, note: str = "", *, merged: bool = False) -> InvalidInput:
    """Why a missing label at a place is refused."""
    return InvalidInput(
        f"{place}: no label for {name!r}{note}; give missing values a label of their own, such as "
        "'unknown', or say what they mean with missing='level' or, for records, missing='drop' "
        f"(--missing){' (and take merged cells apart)' if merged else ''}"
    )


def no_labels_at_all(where: str, name: str) -> InvalidInput:
    """Why a column of lists is refused."""
    return InvalidInput(
        f"{where}: {name!r} holds lists or other things that are no labels; give "
        "texts, numbers or dates, or choose other columns with variables=[...]"
    )


def distinct_rows(columns: Sequence[IntArray]) -> tuple[IntArray, IntArray]:
    """Where each distinct line of some columns (-1 or more) first stands; which one each line is.

    Examples
    --------
    >>> first, which = distinct_rows([np.array([5, 5, 2, 5]), np.array([0, -1, 0, 0])])
    >>> first.tolist(), which.tolist()
    ([2, 1, 0], [2, 1, 0, 2])
    """
    keys = np.zeros(len(columns[0]), dtype=np.int64)
    size = 1
    for column in columns:
        width = int(column.max(initial=-1)) + 2
        if size * width >= _KEYS:
            numbers, keys = np.unique(keys, return_inverse=True)
            size = len(numbers)
        keys = keys * width + (column + 1)
        size *= width
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    return first, which


def _lines(
    columns: SourceColumns, positions: Mapping[str, _Positions], selection: Selection
) -> tuple[list[IntArray], IntArray, IntArray, BoolArray]:
    """The places of each line, what it adds, that it is one line, and whether it has a count."""
    numbers = amounts_of(columns, selection) if selection.amount is not None else None
    places = [_places(columns, name, positions[name], selection) for name in selection.used]
    ones = np.ones(len(places[0]), dtype=np.int64)
    if numbers is None:
        return places, ones, ones, ones.astype(bool)
    counted = np.array([number is not None for number in numbers], dtype=bool)
    return places, _packed([number or 0 for number in numbers]), ones, counted


def _places(
    columns: SourceColumns, name: str, positions: _Positions, selection: Selection
) -> IntArray:
    column = columns.values[name]
    try:
        list(map(positions.__getitem__, columns.categories.get(name, ())))
        positions_found = np.fromiter(map(positions.__getitem__, column), np.int64, len(column))
    except TypeError:
        raise no_labels_at_all(columns.where, name) from None
    if selection.missing == "error" and positions_found.min(initial=0) < 0:
        line = int(np.argmax(positions_found < 0))
        place, note = columns.place(name, line), columns.note(name, line)
        raise no_label(place, name, note, merged=bool(columns.letters))
    return positions_found


def _packed(numbers: Sequence[int | Fraction]) -> IntArray:
    """Numbers in an array that holds their sum, too."""
    if all(isinstance(number, int) for number in numbers) and sum(numbers) < SAFE:
        return np.array(numbers, dtype=np.int64)
    packed = np.empty(len(numbers), dtype=object)
    packed[:] = numbers
    return packed


def _added_up(
    columns: Sequence[IntArray], sums: IntArray, lines: IntArray, counted: BoolArray
) -> _CellSums:
    first, which = distinct_rows(columns)
    places = np.column_stack([column[first] for column in columns])
    added = np.zeros(len(first), dtype=sums.dtype)
    np.add.at(added, which, sums)
    times = np.bincount(which, weights=lines, minlength=len(first)).astype(np.int64)
    any_counted = np.zeros(len(first), dtype=bool)
    np.logical_or.at(any_counted, which, counted)
    return _CellSums(places, added, times, any_counted)


def _together(parts: Sequence[_CellSums]) -> _CellSums:
    if len(parts) == 1:
        return parts[0]
    if not parts:
        none = np.zeros(0, dtype=np.int64)
        return _CellSums(none.reshape(0, 1), none, none, none.astype(bool))
    places = np.concatenate([part.places for part in parts])
    sums = np.concatenate([part.sums for part in parts])
    if sums.dtype != object and sum(int(part.sums.sum()) for part in parts) >= SAFE:
        sums = sums.astype(object)
    lines = np.concatenate([part.lines for part in parts])
    counted = np.concatenate([part.counted for part in parts])
    return _added_up(list(places.T), sums, lines, counted)
