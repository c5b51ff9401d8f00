"""What is counted, and how many there are in each cell that occurs, added up a part at a time.

A part is some lines of a source. It is counted by itself, with numbers of its own for the labels
that it has, so that several threads may count; parts are then put together in the order of their
lines. What is kept in memory grows with the cells that occur, not with the lines.

A count is a whole number. So is a frequency weight; other weights are decimals, which are added
up exactly. A number that a file holds in binary stands for the shortest decimal that gives it: the
0.1 that somebody wrote, not the fraction next to it that a computer can hold.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from cellbounds.data.formats.kinds import Coded, SourceColumns
from cellbounds.data.storage import Cells
from cellbounds.errors import InvalidInput, TooMuchWork
from cellbounds.runtime.arrays import BoolArray, IntArray, whole_array
from cellbounds.runtime.memory import free_share
from cellbounds.text import column_names

MISSING = "(missing)"
"""The label of missing values where they are a level of their own."""

_POLICIES = ("error", "drop", "level")


@dataclass(frozen=True, slots=True)
class Selection:
    """Which columns make cells, and what is added up in them.

    Parameters
    ----------
    names
        The variables of the table, in order.
    used
        The columns that make cells. Those of a file of counts are all of its columns, whatever
        `names` says: only so is it seen whether a cell is listed twice.
    amount
        The column of counts or weights; None if every line counts one.
    weighted
        Whether that column is one of weights.
    rounded
        Whether weights may be fractions, which are added up exactly and rounded in each cell.
    uncounted
        Whether counts may be missing.
    missing
        What to do with missing labels: ``"error"``, ``"drop"`` or ``"level"``.
    """

    names: tuple[str, ...]
    used: tuple[str, ...]
    amount: str | None = None
    weighted: bool = False
    rounded: bool = False
    uncounted: bool = False
    missing: str = "error"

    @property
    def columns(self) -> list[str]:
        """All columns that are read."""
        return [*self.used, *([] if self.amount is None else [self.amount])]


def selection_of(
    where: str,
    header: Sequence[str],
    *,
    count: str | None,
    variables: Sequence[str] | None,
    weight: str | None,
    rounded: bool,
    missing: str,
    uncounted: bool,
) -> Selection:
    """Check the arguments of a reading against the columns that there are."""
    if missing not in _POLICIES:
        raise InvalidInput(
            f"missing={missing!r}; give one of {', '.join(map(repr, _POLICIES))} (--missing)"
        )
    if missing == "drop" and count is not None:
        raise InvalidInput(
            "missing='drop' leaves out records, but a line here is a cell with its count, and "
            "everybody in it would be lost; give missing='level' to keep such cells, or count=None "
            "(--records) if lines are records"
        )
    if rounded or weight is not None:
        _check_weight(where, header, weight, count)
    if count is not None and count not in header:
        raise InvalidInput(
            f"{where}: no column {count!r} among {column_names(header)}; name the column "
            "of counts with count=... (--count), or count=None (--records) if lines are records"
        )
    amount = weight if count is None else count
    names = [name for name in header if name != amount]
    if variables is None and not names:
        raise InvalidInput(f"{where}: there is no column besides the counts; add variables")
    chosen = names if variables is None else _chosen(where, names, variables)
    return Selection(
        tuple(chosen),
        tuple(chosen if count is None else names),
        amount,
        weighted=weight is not None,
        rounded=rounded,
        uncounted=uncounted,
        missing=missing,
    )


def _chosen(where: str, names: list[str], variables: Sequence[str]) -> list[str]:
    if isinstance(variables, str):
        raise InvalidInput(
            f"variables are given as the text {variables!r}; give a list, such as [{variables!r}]"
        )
    for name in variables:
        if name not in names:
            raise InvalidInput(
                f"{where}: unknown variable {name!r}; the columns are {column_names(names)}"
            )
        if list(variables).count(name) > 1:
            raise InvalidInput(f"variable {name!r} is named twice; name it once")
    if not variables:
        raise InvalidInput("variables=[] names no variable; name at least one, or leave it out")
    return list(variables)


def _check_weight(where: str, header: Sequence[str], weight: str | None, count: str | None) -> None:
    if weight is None:
        raise InvalidInput(
            "round_weight=True without a column of weights; name it with weight=... (--weight)"
        )
    if count is not None:
        raise InvalidInput(
            f"weight={weight!r} goes with records, but lines here are cells with counts; give "
            "count=None (--records), or leave the weight out"
        )
    if weight not in header:
        raise InvalidInput(
            f"{where}: no column {weight!r} among {column_names(header)}; name the column of "
            "weights with weight=... (--weight)"
        )


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
    products = [(number or 0) * unit for number in exact]
    packed = np.empty(len(exact), dtype=object)
    packed[:] = [int(number) if number.denominator == 1 else number for number in products]
    return packed[column.codes], ~np.array(skipped, dtype=bool)[column.codes]


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


_WAITING = 2**19
"""Cells that wait to be added up: few enough not to be felt in memory."""

CELL_BYTES = 48
"""Memory for a cell while cells are added up: its number and its count, sorted and unsorted."""

_LITTLE = 2**28
"""Bytes that are taken without looking how many are free."""

MOST_LEVELS = 2**22
"""Labels of one variable at most: more of them take gigabytes, and no table of counts has them."""


@dataclass(frozen=True, slots=True)
class Tally:
    """The cells that occur.

    Parameters
    ----------
    where
        What was read, for messages.
    levels
        The labels of each column in order; None is the missing label, where there is one.
    sums
        What was added up in the cells that hold somebody.
    lines
        The cells that occur, with the number of their lines: `sums` if that was added up.
    counted
        Where counts may be missing: the cells that have one.
    """

    where: str
    levels: dict[str, list[Any]]
    sums: Cells
    lines: Cells
    counted: Cells | None = None


_Moved = tuple[Tally, Sequence[IntArray] | None]


def joined_tally(where: str, levels: dict[str, list[Any]], parts: Sequence[_Moved]) -> Tally:
    """Parts as one tally over these levels: where each position of each variable moves."""
    if len(parts) == 1 and parts[0][0].levels == levels:
        return parts[0][0]
    shape = tuple(map(len, levels.values()))

    def joined(kind: str) -> Any:
        listed = [(getattr(part, kind), moves) for part, moves in parts]
        return None if listed[0][0] is None else Cells.joined(shape, listed)

    sums = joined("sums")
    lines = sums if parts[0][0].lines is parts[0][0].sums else joined("lines")
    return Tally(where, levels, sums, lines, joined("counted"))


def counted_lines(
    where: str,
    columns: SourceColumns,
    selection: Selection,
    known: Mapping[str, Mapping[Any, int]],
) -> Tally:
    """Count some lines; their labels stand in order of appearance, unless all are `known`."""
    amounts, counted = None, None
    if selection.amount is not None:
        amounts, counted = amounts_of(columns, selection)
    levels: dict[str, list[Any]] = {}
    codes: list[IntArray] = []
    for name in selection.used:
        levels[name], column = _coded(columns, name, known.get(name, {}))
        if selection.missing == "error" and None in levels[name]:
            missing = [label is None for label in levels[name]]
            line = int(np.argmax(np.array(missing)[column]))
            place, note = columns.place(name, line), columns.note(name, line)
            raise no_label(place, name, note, merged=bool(columns.letters))
        codes.append(column)
    shape = tuple(map(len, levels.values()))
    sums = Cells.gathered(shape, codes, amounts)
    if amounts is None:
        return Tally(where, levels, sums, sums)
    lines = Cells.gathered(shape, codes)
    if selection.weighted or not selection.uncounted:
        return Tally(where, levels, sums, lines)
    with_count = Cells.gathered(shape, [column[counted] for column in codes])
    return Tally(where, levels, sums, lines, with_count)


def check_size(tally: Tally, memory: int | None, most_levels: int = MOST_LEVELS) -> None:
    """Refuse more labels than a variable has, and more cells than fit so many bytes of memory."""
    for name, labels in tally.levels.items():
        if len(labels) > most_levels:
            raise InvalidInput(
                f"{tally.where}: {name!r} has more than {most_levels} labels, as an identifier or "
                "an amount has; choose the columns that are variables with variables=[...] "
                "(--variables), or group its values first"
            )
    needed = len(tally.lines.counts) * CELL_BYTES
    if memory is None and needed > _LITTLE:
        memory = free_share()
    if memory is not None and needed > memory:
        raise TooMuchWork(
            "the cells that occur do not fit the memory allowed; allow more with memory=..., "
            "or choose fewer columns with variables=[...]"
        )


def rounded(tally: Tally) -> Tally:
    """Weights that were fractions, added up and then rounded in each cell."""
    sums = [half_up(Fraction(number) / UNIT) for number in tally.sums.counts.tolist()]
    counts = whole_array(sums, (len(sums),))
    cells = Cells(tally.sums.shape, tally.sums.keys, counts)
    return replace(tally, sums=cells.chosen(np.asarray(counts != 0, dtype=bool)))


class Tabulation:
    """Lines that are being added up, within so many bytes of memory."""

    def __init__(
        self,
        where: str,
        selection: Selection,
        memory: int | None,
        *,
        most_levels: int = MOST_LEVELS,
    ) -> None:
        self.where = where
        self.selection = selection
        self.memory = memory
        self.most_levels = most_levels
        self.positions: dict[str, dict[Any, int]] = {name: {} for name in selection.used}
        self._parts: list[_Moved] = []
        self._added = self._waiting = 0

    def part(self, columns: SourceColumns) -> Tally:
        """Count some lines; several threads may do so.

        A label that is known already may be looked at by one thread before and by another after it
        got to be known: that makes no difference to the answer.
        """
        return counted_lines(self.where, columns, self.selection, self.positions)

    def add(self, part: Tally) -> None:
        """Take the next part: its labels get the next positions."""
        moves = []
        for name, labels in part.levels.items():
            known = self.positions[name]
            moves.append(np.array([known.setdefault(label, len(known)) for label in labels], int))
        self._parts.append((part, moves))
        self._waiting += len(part.lines)
        if self._waiting > max(_WAITING, self._added):
            self._parts = [(self.tally(), None)]
            self._added, self._waiting = len(self._parts[0][0].lines), 0

    def tally(self) -> Tally:
        """What was added up until now."""
        levels = {name: list(known) for name, known in self.positions.items()}
        if not self._parts:
            nothing = Cells.gathered((1,), [np.zeros(0, dtype=np.int64)])
            return Tally(self.where, levels, nothing, nothing)
        tally = joined_tally(self.where, levels, self._parts)
        check_size(tally, self.memory, self.most_levels)
        return tally


def tally_of(tabulation: Tabulation, parts: Iterable[Tally]) -> Tally:
    """Put all parts together."""
    for part in parts:
        tabulation.add(part)
    tally = tabulation.tally()
    return rounded(tally) if tabulation.selection.rounded else tally


def _coded(
    columns: SourceColumns, name: str, known: Mapping[Any, int]
) -> tuple[list[Any], IntArray]:
    """The labels of a column, missing ones None, and the number of the label of each line.

    Labels stand in the order in which they appear, after those that the column declares, unless
    all of them are `known`.
    """
    column = columns.values[name]
    declared = columns.categories.get(name, ())
    if isinstance(column, Coded):
        labels, codes = list(column.labels), column.codes
        if all(map(known.__contains__, labels)):
            return labels, codes
    else:
        try:
            # Labels are numbered in order of appearance: who asks for a new one gets the next.
            numbers: defaultdict[Any, int] = defaultdict(itertools.count().__next__)
            for label in declared:
                numbers[label]
            codes = np.fromiter(map(numbers.__getitem__, column), np.int64, len(column))
        except TypeError:
            raise no_labels_at_all(columns.where, name) from None
        labels = list(numbers)
    # Written from the last line to the first, so that the first one stays.
    first = np.full(len(labels), len(codes))
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    levels = [None if is_missing(label) else label for label in labels]
    order = range(len(labels)) if declared else np.argsort(first, kind="stable").tolist()
    order = [k for k in order if first[k] < len(codes) or (declared and levels[k] is not None)]
    # A column may have several marks for what is missing.
    absent = [k for k in order if levels[k] is None]
    again = absent[1:]
    order = [k for k in order if k not in again]
    rank = np.zeros(len(labels), dtype=np.int64)
    rank[order] = np.arange(len(order))
    rank[absent] = rank[absent[:1]]
    return [levels[place] for place in order], rank[codes]


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
