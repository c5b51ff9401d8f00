"""How many there are in each cell that occurs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from cellbounds.data.formats import Columns
from cellbounds.data.microdata.amounts import amounts_of, half_up, is_missing
from cellbounds.data.microdata.asking import Asked
from cellbounds.errors import InvalidInput
from cellbounds.runtime.arrays import SAFE, BoolArray, IntArray, whole_array

__all__ = [
    "Tally",
    "check_levels",
    "distinct_rows",
    "gathered",
    "no_label",
    "no_labels_at_all",
    "tally_of",
]

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
class _Cells:
    """Some distinct cells, with what was added up in them."""

    places: IntArray
    sums: IntArray
    lines: IntArray
    counted: BoolArray

    def __len__(self) -> int:
        return len(self.sums)


def tally_of(where: str, chunks: Iterable[Columns], asked: Asked) -> Tally:
    """Add up lines, chunk by chunk: what is kept in mind grows with the cells, not the lines."""
    positions = {name: _Positions() for name in asked.used}
    done: list[_Cells] = []
    waiting: list[_Cells] = []
    for columns in chunks:
        waiting.append(_added_up(*_lines(columns, positions, asked)))
        if sum(map(len, waiting)) > max(_BATCH, *map(len, done), 0):
            done, waiting = [_together([*done, *waiting])], []
    cells = _together([*done, *waiting])
    sums = cells.sums
    if asked.rounded:
        sums = whole_array([half_up(number) for number in sums.tolist()], sums.shape)
    levels = {name: list(found) for name, found in positions.items()}
    if asked.amount is None or asked.weighted:
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
    columns: Columns, positions: Mapping[str, _Positions], asked: Asked
) -> tuple[list[IntArray], IntArray, IntArray, BoolArray]:
    """The places of each line, what it adds, that it is one line, and whether it has a count."""
    numbers = amounts_of(columns, asked) if asked.amount is not None else None
    places = [_places(columns, name, positions[name], asked) for name in asked.used]
    ones = np.ones(len(places[0]), dtype=np.int64)
    if numbers is None:
        return places, ones, ones, ones.astype(bool)
    counted = np.array([number is not None for number in numbers], dtype=bool)
    return places, _packed([number or 0 for number in numbers]), ones, counted


def _places(columns: Columns, name: str, positions: _Positions, asked: Asked) -> IntArray:
    column = columns.values[name]
    try:
        list(map(positions.__getitem__, columns.categories.get(name, ())))
        found = np.fromiter(map(positions.__getitem__, column), np.int64, len(column))
    except TypeError:
        raise no_labels_at_all(columns.where, name) from None
    if asked.missing == "error" and found.min(initial=0) < 0:
        line = int(np.argmax(found < 0))
        place, note = columns.place(name, line), columns.note(name, line)
        raise no_label(place, name, note, merged=bool(columns.letters))
    return found


def _packed(numbers: Sequence[int | Fraction]) -> IntArray:
    """Numbers in an array that holds their sum, too."""
    if all(isinstance(number, int) for number in numbers) and sum(numbers) < SAFE:
        return np.array(numbers, dtype=np.int64)
    packed = np.empty(len(numbers), dtype=object)
    packed[:] = numbers
    return packed


def _added_up(
    columns: Sequence[IntArray], sums: IntArray, lines: IntArray, counted: BoolArray
) -> _Cells:
    first, which = distinct_rows(columns)
    places = np.column_stack([column[first] for column in columns])
    added = np.zeros(len(first), dtype=sums.dtype)
    np.add.at(added, which, sums)
    times = np.bincount(which, weights=lines, minlength=len(first)).astype(np.int64)
    any_counted = np.zeros(len(first), dtype=bool)
    np.logical_or.at(any_counted, which, counted)
    return _Cells(places, added, times, any_counted)


def _together(some: Sequence[_Cells]) -> _Cells:
    if len(some) == 1:
        return some[0]
    if not some:
        none = np.zeros(0, dtype=np.int64)
        return _Cells(none.reshape(0, 1), none, none, none.astype(bool))
    places = np.concatenate([one.places for one in some])
    sums = np.concatenate([one.sums for one in some])
    if sums.dtype != object and sum(int(one.sums.sum()) for one in some) >= SAFE:
        sums = sums.astype(object)
    lines = np.concatenate([one.lines for one in some])
    counted = np.concatenate([one.counted for one in some])
    return _added_up(list(places.T), sums, lines, counted)
