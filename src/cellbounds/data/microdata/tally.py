"""How many there are in each cell that occurs, added up a part at a time.

A part is some lines of a source. It is counted by itself, with numbers of its own for the labels
that it has, so that several threads may count; parts are then put together in the order of their
lines. What is kept in memory grows with the cells that occur, not with the lines.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from cellbounds.data.formats.kinds import Coded, SourceColumns
from cellbounds.data.microdata.amounts import UNIT, amounts_of, half_up, is_missing
from cellbounds.data.microdata.selection import Selection
from cellbounds.data.storage import Cells
from cellbounds.errors import InvalidInput, TooMuchWork
from cellbounds.runtime.arrays import IntArray, whole_array
from cellbounds.runtime.memory import free_share

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

    def moved(self, levels: dict[str, list[Any]], moves: Sequence[IntArray]) -> Tally:
        """The same cells over other levels: where each position of each variable moves."""
        return _joined(self.where, levels, [(self, moves)])


_Moved = tuple[Tally, Sequence[IntArray] | None]


def _joined(where: str, levels: dict[str, list[Any]], parts: Sequence[_Moved]) -> Tally:
    """Parts as one tally over these levels, positions moved."""
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
        tally = _joined(self.where, levels, self._parts)
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
