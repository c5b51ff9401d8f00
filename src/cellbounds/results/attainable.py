"""Every attainable count of each cell."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

from cellbounds.data.domain import Label
from cellbounds.data.frames import frame_of
from cellbounds.data.table import Table
from cellbounds.errors import InvalidInput
from cellbounds.results.answers import HTML_LINES, LINES, RUNS, CellAnswer, notations
from cellbounds.results.cell_index import ChosenCells, Position
from cellbounds.results.plain import cell_value, label_columns, labelled, shown, value_entries
from cellbounds.results.values import ValueSet

__all__ = ["Attainable"]

Ends = tuple[npt.NDArray[Any], npt.NDArray[Any]]
"""The smallest and the largest count of every cell."""


@dataclass(frozen=True, slots=True, eq=False)
class Attainable(CellAnswer):
    """Every attainable count of each cell; look cells up by their labels."""

    _certify: Callable[[bool | None, float | None], dict[str, Any]] = field(repr=False)

    def __getitem__(self, labels: Label | tuple[Label, ...]) -> ValueSet:
        """The attainable counts of the cell with these labels (see ValueSet for unsettled ones)."""
        return self._values(self._index(labels if isinstance(labels, tuple) else (labels,)))

    def at(self, index: tuple[int, ...]) -> ValueSet:
        """The attainable counts of the cell at an index of the answer, such as (0, 2)."""
        return self._values(self._places.position(index))

    def _values(self, position: Position) -> ValueSet:
        assert self._source is not None
        return self._source.values(position)

    def ends(self) -> tuple[Ends, Ends]:
        """Proven bounds of every cell, and the counts nearest to them that tables are known for.

        The work behind attainable counts starts with these: nothing is asked for again.
        """
        assert self._source is not None
        proven = self._source.bounds()
        return proven, self._source.attained() or proven

    def items(self) -> Iterator[tuple[tuple[Label, ...], ValueSet]]:
        """Labels and attainable counts of every cell asked about, in order."""
        for labels, position in zip(self.cells(), self._places, strict=True):
            yield labels, self._values(position)

    def gather(self) -> None:
        """Find the attainable counts of every cell asked about, with whoever helps.

        Otherwise they are found one by one as they are looked at.
        """
        gather = getattr(self._source, "gather", None)
        if gather is not None:
            gather(self._places)

    def witness(self, *labels: Label, value: int) -> Table:
        """A consistent table in which the cell holds `value`, built and checked now."""
        index = self._index(labels)
        values = self._values(index)
        if value not in values.known:
            how = "not attainable" if values.settled else "not known to be attainable"
            raise InvalidInput(f"{value} is {how} in the cell {labels}; see attainable(release)")
        assert self._source is not None
        return self._source.witness(index, value)

    def certificate(
        self, *, public: bool | None = None, seconds: float | None = None
    ) -> dict[str, Any]:
        """The bounds behind these counts with witnesses and proofs, as :meth:`Bounds.certificate`.

        Nothing is solved again.
        """
        return self._certify(public, seconds)

    def to_frame(self, backend: str | None = None) -> Any:
        """A tidy data frame: labels, lower, upper, the number of values, and the values as text."""
        self.gather()
        columns = label_columns(self.domain, cells=self.cells())
        sets = [values for _, values in self.items()]
        columns["lower"] = [values.possible.smallest for values in sets]
        columns["upper"] = [cell_value(values.possible.largest) for values in sets]
        columns["size"] = [cell_value(values.size) if values.settled else None for values in sets]
        columns["values"] = [values.text(most=1000) for values in sets]
        return frame_of(columns, backend)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, versioned; values as progressions [first, last, step]."""
        self.gather()
        cells = [
            {**labelled(self.domain, labels), **value_entries(values)}
            for labels, values in self.items()
        ]
        return {**self._head(), "cells": cells}

    def _rows(self, most: int) -> list[list[str]]:
        return [
            [*map(str, labels), shown(values.size) if values.settled else "?", values.text(RUNS)]
            for labels, values in itertools.islice(self.items(), most)
        ]

    def _title(self) -> str:
        some = f" of {self.size} cells" if isinstance(self._places, ChosenCells) else ""
        return f"attainable counts{some} given {', '.join(notations(self.release))}"

    def __str__(self) -> str:
        return self._text(self._title(), ["size", "values"], {"size"}, self._rows(LINES))

    def __repr__(self) -> str:
        return f"<{self._title()}: {self.size} cells>"

    def _repr_html_(self) -> str:
        rows = self._rows(HTML_LINES)
        return self._html(self._title(), ["size", "values"], {"size"}, rows)
