"""Data that live in an engine: DuckDB relations, Ibis expressions, lazy frames.

The engine is asked one question, how many lines and what sum each cell has, and only the answer
comes here. An engine keeps no order of lines, so levels stand in the order of their values.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from cellbounds.data.frames import frame_columns
from cellbounds.data.microdata.tally import (
    Selection,
    Tally,
    half_up,
    is_missing,
    no_label,
    no_labels_at_all,
    refusal,
)
from cellbounds.data.storage import Cells
from cellbounds.errors import InvalidInput
from cellbounds.runtime.arrays import IntArray, whole_array

_HALF = 2**32
"""Whole numbers are added up in two halves: few engines notice when a sum leaves 64 bits."""


class LazyFrame:
    """A lazy frame of any library that narwhals knows."""

    def __init__(self, lazy: Any, where: str) -> None:
        self.lazy = lazy
        self.where = where
        self.schema = dict(lazy.collect_schema().items())

    @property
    def header(self) -> list[str]:
        """The names of the columns."""
        return list(self.schema)

    def tally(self, selection: Selection, memory: int | None) -> Tally:
        """Let the engine count, and take the counts of the cells that occur."""
        del memory  # the engine has limits of its own
        self._check_types(selection)
        lazy, sums = self._sums(selection)
        wanted = [expression.alias(name) for name, expression in sums.items()]
        grouped = lazy.group_by(list(selection.used)).agg(*wanted)
        values, categories = frame_columns(grouped.collect().to_native())
        names = list(sums)
        if not values[names[0]]:
            raise InvalidInput(f"{self.where} has no lines; there is nothing to count")
        levels = {
            name: self._levels(name, values[name], categories, selection) for name in selection.used
        }
        columns: list[IntArray] = []
        for name in selection.used:
            places = {label: place for place, label in enumerate(levels[name])}
            codes = (places[None if is_missing(label) else label] for label in values[name])
            columns.append(np.fromiter(codes, np.int64, len(values[name])))

        def cells(numbers: Sequence[int]) -> Cells:
            shape = tuple(map(len, levels.values()))
            return Cells.gathered(shape, columns, whole_array(numbers, (len(numbers),)))

        lines = cells(values[names[0]])
        if selection.amount is None:
            return Tally(self.where, levels, lines, lines)
        amounts = cells(self._amounts(selection, names, values))
        counted = (
            cells(values[names[1]]) if selection.uncounted and not selection.weighted else None
        )
        return Tally(self.where, levels, amounts, lines, counted)

    def _sums(self, selection: Selection) -> tuple[Any, dict[str, Any]]:
        """What is asked about each cell: lines and, of an amount, its lines, least and sums."""
        import narwhals

        wanted = (f"sum_{number}" for number in range(len(self.header) + 8))
        free = [name for name in wanted if name not in self.schema]
        lazy = self.lazy
        expressions = [narwhals.len()]
        if selection.amount is not None:
            column = narwhals.col(selection.amount)
            expressions += [column.count(), column.min()]
            if self._is_wide(selection.amount):
                # Two halves are a whole, but not two whole weights.
                expressions += [column.sum(), (column % 1).max()]
            else:
                lazy, high, low = self._halves(selection.amount, free[-2:])
                expressions += [high.sum(), low.sum()]
        return lazy, dict(zip(free, expressions, strict=False))

    def _is_wide(self, name: str) -> bool:
        """Whether an engine adds numbers of this type up in 128 bits, or refuses to."""
        return self.schema[name].is_decimal() or "128" in str(self.schema[name])

    def _halves(self, name: str, free: Sequence[str]) -> tuple[Any, Any, Any]:
        """The engine, and both halves of the digits of a column of integers."""
        import narwhals

        native = self.lazy.to_native()
        if type(native).__module__.startswith("ibis."):
            # Some of its backends divide in doubles, but all of them shift bits.
            column = native[name]
            if self.schema[name] != narwhals.UInt64:
                column = column.cast("int64")
            halves = {free[0]: column >> 32, free[1]: column & (_HALF - 1)}
            shifted = narwhals.from_native(native.mutate(**halves))
            return shifted, narwhals.col(free[0]), narwhals.col(free[1])
        wide = "Int64" not in str(self.schema[name])
        column = narwhals.col(name).cast(narwhals.Int64) if wide else narwhals.col(name)
        return self.lazy, column // _HALF, column % _HALF

    def _check_types(self, selection: Selection) -> None:
        """Refuse columns that are no labels, and numbers that cannot be added up exactly."""
        for name in selection.used:
            if self.schema[name].is_nested():
                raise no_labels_at_all(self.where, name)
        if selection.amount is None or self.schema[selection.amount].is_integer():
            return
        if not self.schema[selection.amount].is_decimal():
            what = "weights" if selection.weighted else "counts"
            raise InvalidInput(
                f"{self.where}: the {what} {selection.amount!r} are of type "
                f"{self.schema[selection.amount]}, which an engine does not add up exactly; turn "
                "them into integers or decimals there"
            )

    def _amounts(
        self, selection: Selection, names: Sequence[str], values: dict[str, list[Any]]
    ) -> list[int]:
        """The sums of each cell."""
        whole: list[int] = []
        is_wide = self._is_wide(selection.amount or "")
        for lines, counted, least, *parts in zip(*(values[name] for name in names), strict=True):
            first, second = (Fraction(part or 0) for part in parts)
            total = first if is_wide else first * _HALF + second
            missing = counted < lines and not selection.uncounted
            fraction = is_wide and second != 0 and not selection.rounded
            if missing or fraction or (least is not None and least < 0):
                # An engine numbers no lines, and the labels may be those of one person.
                place = f"{self.where}, column {selection.amount!r}, in some lines"
                raise refusal(place, selection, missing=missing)
            whole.append(half_up(total))
        return whole

    def _levels(
        self,
        name: str,
        labels: list[Any],
        categories: dict[str, list[Any]],
        selection: Selection,
    ) -> list[Any]:
        missing = [None] if any(map(is_missing, labels)) else []
        if missing and selection.missing == "error":
            raise no_label(self.where, name)
        declared = dict.fromkeys(categories.get(name, ()))
        try:
            levels = list(declared) or sorted({x for x in labels if not is_missing(x)})
        except TypeError:
            raise no_labels_at_all(self.where, name) from None
        return [label for label in levels if not is_missing(label)] + missing


def engine_of(source: Any) -> LazyFrame | None:
    """The engine behind a source; None if it is none."""
    import narwhals

    try:
        lazy = narwhals.from_native(source)
    except TypeError:
        return None
    if not isinstance(lazy, narwhals.LazyFrame):
        return None
    return LazyFrame(lazy, f"the {type(source).__name__}")
