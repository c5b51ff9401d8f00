"""What DuckDB adds up in each cell, and its results as a tally.

Sums are exact: whole numbers in 128 bits, decimals with 18 digits behind the point. A number that
does not fit these, or is written in another way, counts as odd: whoever asked then reads the files
line by line, in Python, where every number is exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP
from typing import Any

import numpy as np

from cellbounds.data.microdata.amounts import is_missing
from cellbounds.data.microdata.asking import Asked
from cellbounds.data.microdata.tally import Tally, gathered
from cellbounds.runtime.arrays import SAFE, IntArray, whole_array

__all__ = ["Result", "added_integers", "added_numbers", "positions_in"]

_WHOLE = r"\s*\+?[0-9]{1,18}(\.0*)?\s*"
_DECIMAL = r"\s*\+?([0-9]{1,12}(\.[0-9]{0,18})?|\.[0-9]{1,18})\s*"
"""Numbers whose sum over a hundred billion lines stays within 38 digits, 18 of them behind the
point."""


def added_integers(column: str, asked: Asked) -> list[str]:
    """What to select about a column of integers: its sum, odd ones, and how many are there."""
    odd = f"{column} < 0" if asked.uncounted else f"{column} IS NULL OR {column} < 0"
    return [f"sum({column})", f"count(*) FILTER (WHERE {odd})", f"count({column})"]


def added_numbers(text: str, asked: Asked) -> list[str]:
    """The same about a column of text."""
    pattern = _DECIMAL if asked.rounded else _WHOLE
    fine = f"regexp_full_match({text}, '{pattern}')"
    there = f"nullif({text}, '')"
    number = f"CAST(split_part(trim({text}), '.', 1) AS UBIGINT)"
    if asked.rounded:
        number = f"CAST(trim({text}) AS DECIMAL(38, 18))"
    # A cast that may fail is not asked about texts that are no numbers.
    value = f"CASE WHEN {fine} THEN {number} END"
    odd = f"{there} IS NOT NULL AND NOT {fine}" if asked.uncounted else f"({fine}) IS NOT TRUE"
    return [f"sum({value})", f"count(*) FILTER (WHERE {odd})", f"count({there})"]


@dataclass(slots=True)
class Result:
    """Cells as they come from a query: labels, lines, and sums, odd ones and counted ones."""

    asked: Asked
    positions: Mapping[str, dict[Any, int]]
    codes: list[list[IntArray]] = field(default_factory=list)
    lines: list[IntArray] = field(default_factory=list)
    sums: list[IntArray] = field(default_factory=list)
    counted: list[IntArray] = field(default_factory=list)
    odd: int = 0

    def read(self, batches: Iterable[Any]) -> None:
        """Take batches of Arrow data; labels that no position was given yet get the next ones."""
        for batch in batches:
            self.codes.append(
                [
                    positions_in(batch.column(place), self.positions[name])
                    for place, name in enumerate(self.asked.used)
                ]
            )
            further = batch.columns[len(self.asked.used) :]
            self.lines.append(_filled(further[0]))
            if self.asked.amount is not None:
                self.sums.append(_whole(further[1]))
                self.odd += int(_filled(further[2]).sum())
                self.counted.append(_filled(further[3]) > 0)

    def tally(self, where: str, order: Mapping[str, Sequence[Any]]) -> Tally:
        """The cells, their labels in the order given."""
        columns = []
        for place, name in enumerate(self.asked.used):
            turned = {label: position for position, label in enumerate(order[name])}
            moved = np.array([turned[label] for label in self.positions[name]] + [-1])
            narrow = moved.astype(_narrowest(len(moved)))
            parts = [narrow[codes[place]] for codes in self.codes]
            columns.append(np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64))
        lines = _joined(self.lines)
        is_file = self.asked.amount is not None and not self.asked.weighted
        return gathered(
            where,
            order,
            columns,
            lines if self.asked.amount is None else _joined(self.sums),
            lines=lines if is_file else None,
            counted=_joined(self.counted).astype(bool) if is_file else None,
        )


def positions_in(column: Any, positions: dict[Any, int]) -> IntArray:
    """The position of each label of an Arrow column, missing ones -1; new labels join them."""
    import pyarrow

    if not pyarrow.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    labels = column.dictionary.to_pylist()
    used = _filled(column.indices.cast(pyarrow.int32()), len(labels))
    moved = np.full(len(labels) + 1, -1, dtype=np.int32)
    # An engine may declare labels that do not occur: they are no business of this column.
    for place in np.flatnonzero(np.bincount(used, minlength=len(labels) + 1)).tolist():
        if place < len(labels) and not is_missing(labels[place]):
            moved[place] = positions.setdefault(labels[place], len(positions))
    return np.asarray(moved[used])


def _filled(column: Any, instead: int = 0) -> IntArray:
    """Integers of an Arrow column, with something instead of missing ones.

    Arrow's own way loads pandas first, which takes as long as counting ten million lines.
    """
    validity, values = column.buffers()
    if not len(column):
        return np.zeros(0, dtype=np.int64)
    span = slice(column.offset, column.offset + len(column))
    numbers = np.frombuffer(values, dtype=np.dtype(str(column.type)))[span]
    if not column.null_count:
        return numbers
    there = np.unpackbits(np.frombuffer(validity, dtype=np.uint8), bitorder="little")[span]
    return np.where(there, numbers, numbers.dtype.type(instead))


def _whole(column: Any) -> IntArray:
    """Sums as whole numbers; decimals are rounded, half up. The sum of nothing is 0."""
    import pyarrow

    if pyarrow.types.is_integer(column.type):
        return _filled(column, 0)
    numbers = [
        0 if number is None else int(number.to_integral_value(rounding=ROUND_HALF_UP))
        for number in column.to_pylist()
    ]
    return whole_array(numbers, (len(numbers),))


def _joined(parts: Sequence[IntArray]) -> IntArray:
    if not parts:
        return np.zeros(0, dtype=np.int64)
    joined = np.concatenate(parts)
    if joined.dtype.kind == "i" and int(joined.max(initial=0)) * len(joined) >= SAFE:
        return joined.astype(object)
    return joined


def _narrowest(size: int) -> Any:
    """The smallest type for positions: there may be millions of cells."""
    return np.int8 if size < 2**7 else np.int16 if size < 2**15 else np.int64
