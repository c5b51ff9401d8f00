"""Answers: bounds and attainable counts that know how they were found."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from cellbounds.data.domain import Domain, Label
from cellbounds.data.frames import frame_of
from cellbounds.data.table import Table
from cellbounds.errors import InvalidInput, Unsettled
from cellbounds.results.cell_index import CellIndex, ChosenCells, Position, WholeMargin
from cellbounds.results.evidence import Evidence
from cellbounds.results.explanation import Explanation
from cellbounds.results.plain import (
    cell_value,
    json_number,
    label_columns,
    labelled,
    plain_number,
    shown,
)
from cellbounds.results.values import Unbounded, ValueSet
from cellbounds.statements import Release
from cellbounds.text import aligned, html_table

__all__ = ["Answer", "Bounds", "CellAnswer", "Source", "notations"]

FORMAT = "cellbounds-answer/1"

LINES, HTML_LINES, RUNS = 200, 60, 8
"""Cells that are printed in a terminal and in a notebook, and runs of values for each."""


class Source(Protocol):
    """What an answer asks its method for, when somebody looks closer."""

    def bounds(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Proven lower and upper bounds of every cell."""
        ...

    def attained(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]] | None:
        """The nearest counts that tables are known for; None if they are the bounds."""
        ...

    def values(self, index: tuple[int, ...]) -> ValueSet:
        """Every attainable count of one cell."""
        ...

    def witness(self, index: tuple[int, ...], value: int) -> Table:
        """A consistent table in which the cell holds `value`, checked."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What every answer knows about itself."""

    release: Release
    over: tuple[str, ...]
    method: str
    evidence: Evidence
    seconds: float
    _source: Source | None = field(repr=False)

    @property
    def domain(self) -> Domain:
        """The cells that the answer speaks of."""
        return self.release.domain.project(self.over)

    @property
    def digest(self) -> str:
        """Digest of the release that was answered."""
        return self.release.digest

    @property
    def size(self) -> int:
        """How many cells the answer speaks of."""
        return self.domain.size

    def _index(self, labels: tuple[Label, ...]) -> tuple[int, ...]:
        return self.domain.index(labels)

    def _more(self, shown: int) -> str:
        left = self.size - shown
        return f"... {left} more cells: to_frame() has them all" if left else ""

    def _text(
        self, title: str, columns: list[str], numbers: set[str], rows: list[list[str]]
    ) -> str:
        lines = [title, aligned([*self.over, *columns], rows, numbers), self._more(len(rows))]
        return "\n".join(filter(None, lines))

    def _html(
        self, title: str, columns: list[str], numbers: set[str], rows: list[list[str]]
    ) -> str:
        return html_table(title, [*self.over, *columns], rows, numbers, self._more(len(rows)))

    def _head(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "release": {"digest": self.digest, "statements": notations(self.release)},
            "over": list(self.over),
            "method": self.method,
            "evidence": self.evidence.value,
            "seconds": round(self.seconds, 6),
        }


@dataclass(frozen=True, slots=True, eq=False)
class CellAnswer(Answer):
    """An answer about all cells of a margin (`domain`), or about those that were chosen."""

    _places: CellIndex = field(repr=False)

    @property
    def size(self) -> int:
        """How many cells were asked about."""
        return self._places.size

    def cells(self) -> Iterator[tuple[Label, ...]]:
        """The labels of the cells asked about, in the order of the answer."""
        domain = self.domain
        if isinstance(self._places, WholeMargin):
            return domain.cells()
        return (domain.labels(position) for position in self._places)

    def _index(self, labels: tuple[Label, ...]) -> Position:
        """The position of a cell that was asked about."""
        position = self.domain.index(labels)
        if position not in self._places:
            raise InvalidInput(
                f"the cell {labels} is not among those that were asked about; ask with "
                "cells=[...] that hold it, or without cells="
            )
        return position

    def _about(self) -> str:
        """What was asked about, if that is not the whole table."""
        some = ""
        if isinstance(self._places, ChosenCells):
            some = f" of {self.size} cell{'s' if self.size > 1 else ''}"
        if set(self.over) == set(self.release.domain.names):
            return some
        return f"{some} over {list(self.over)}"


@dataclass(frozen=True, slots=True, eq=False)
class Bounds(CellAnswer):
    """The smallest and largest count of every cell asked about.

    Attributes
    ----------
    lower, upper
        Arrays in the shape of the margin, or with one axis if cells were chosen: int64, or Python
        integers where they are larger or `cb.UNBOUNDED`; fractions for ``kind="linear"``.
    kind
        ``"sharp"``, ``"linear"``, ``"improved"`` or ``"improved-verbal"``.
    evidence
        EXACT for sharp bounds: every one is attained by a witness table. OUTER otherwise, and if
        a budget was spent before all were settled.
    attained_lower, attained_upper
        The counts nearest to the bounds that tables are known for, None where there is no table.
        For sharp bounds that are EXACT, the bounds themselves.
    settled
        Which bounds are attained; of linear ones, which are optima of the relaxation.
    """

    lower: npt.NDArray[Any]
    upper: npt.NDArray[Any]
    kind: str
    _explain: Callable[[tuple[Label, ...]], Explanation] | None = field(repr=False)
    _attained: tuple[npt.NDArray[Any], npt.NDArray[Any]] | None = field(repr=False, default=None)
    _certify: Callable[[bool | None, float | None], dict[str, Any]] | None = field(
        repr=False, default=None
    )

    @property
    def attained_lower(self) -> npt.NDArray[Any]:
        """The smallest count of each cell that a table is known for."""
        return self._inner()[0]

    @property
    def attained_upper(self) -> npt.NDArray[Any]:
        """The largest count of each cell that a table is known for."""
        return self._inner()[1]

    def _inner(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        if self._source is None:
            raise InvalidInput(
                f"bounds of kind {self.kind!r} are not attained by tables of counts; ask for "
                "kind='sharp'"
            )
        return self._attained or (self.lower, self.upper)

    @property
    def settled(self) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Which lower and which upper bounds are attained by a table; linear ones, by a real one.

        A linear bound that a budget left unsettled is proven, but need not be the optimum.
        """
        linear = self.kind == "linear"
        low, high = self._attained or (self.lower, self.upper) if linear else self._inner()
        return (
            np.asarray(self.lower == low, dtype=bool).reshape(self.lower.shape),
            np.asarray(self.upper == high, dtype=bool).reshape(self.upper.shape),
        )

    def __getitem__(self, labels: Label | tuple[Label, ...]) -> tuple[Any, Any]:
        """Lower and upper bound of the cell with these labels."""
        index = self._index(labels if isinstance(labels, tuple) else (labels,))
        spot = self._places.spot(index)
        return plain_number(self.lower[spot]), plain_number(self.upper[spot])

    def witness(self, *labels: Label, at: str = "lower") -> Table:
        """A consistent table that attains a bound, or comes nearest to it, built and checked now.

        Parameters
        ----------
        *labels
            The cell.
        at
            ``"lower"`` or ``"upper"``.
        """
        if at not in ("lower", "upper"):
            raise InvalidInput(f"at={at!r}; choose 'lower' or 'upper'")
        if self._source is None:
            raise InvalidInput(
                f"bounds of kind {self.kind!r} are not attained by tables of counts; ask for "
                "kind='sharp' to have witnesses"
            )
        index = self._index(labels)
        value = self._inner()[0 if at == "lower" else 1][self._places.spot(index)]
        if isinstance(value, Unbounded):
            raise InvalidInput("an unbounded count has no largest table; ask for at='lower'")
        if value is None:
            raise Unsettled("no consistent table was found within the budget; give more seconds")
        return self._source.witness(index, int(value))

    def explain(self, *labels: Label) -> Explanation:
        """Evidence, witnesses and the published figures to blame for the bounds of one cell."""
        self._index(labels)
        if self._explain is None:
            raise InvalidInput(f"bounds of kind {self.kind!r} have no explanation; ask for 'sharp'")
        return self._explain(labels)

    def certificate(
        self, *, public: bool | None = None, seconds: float | None = None
    ) -> dict[str, Any]:
        """The bounds with witnesses and proofs, as plain values for a JSON file.

        ``cellbounds verify`` checks such a file without any method of this package.

        Parameters
        ----------
        public
            Whether it may be handed on: witnesses then may not lean on the owner's table, so the
            answer must have been made without ``start=``. By default marked as what it is.
        seconds
            A budget for finding proofs that can be checked by multiplication; bounds without one
            name the method that proved them, and have to be proven again.
        """
        if self._certify is None:
            raise InvalidInput(
                f"bounds of kind {self.kind!r} have no certificate; ask for kind='sharp'"
            )
        return self._certify(public, seconds)

    def to_frame(self, backend: str | None = None) -> Any:
        """A tidy data frame: labels, lower, upper."""
        return frame_of(self._columns(), backend)

    def _columns(self) -> dict[str, list[Any]]:
        columns = label_columns(self.domain, cells=self.cells())
        for name, values in self._numbers().items():
            columns[name] = [cell_value(value) for value in values]
        return columns

    def to_dict(self) -> dict[str, Any]:
        """Plain values, versioned; fractions as text, unbounded as None."""
        names = self._numbers()
        cells = [
            {
                **labelled(self.domain, labels),
                **{name: json_number(value) for name, value in zip(names, row, strict=True)},
            }
            for labels, *row in zip(self.cells(), *names.values(), strict=True)
        ]
        return {**self._head(), "kind": self.kind, "cells": cells}

    def _numbers(self) -> dict[str, Any]:
        """The columns of numbers: what is attained beside what is proven where they differ."""
        numbers = {"lower": self.lower.flat, "upper": self.upper.flat}
        if self._attained is not None:
            numbers["attained_lower"] = self._attained[0].flat
            numbers["attained_upper"] = self._attained[1].flat
        return numbers

    def _rows(self, most: int) -> list[list[str]]:
        cells = zip(self.cells(), *self._numbers().values(), strict=True)
        return [
            [*map(str, labels), *map(shown, row)] for labels, *row in itertools.islice(cells, most)
        ]

    def __str__(self) -> str:
        names = list(self._numbers())
        return self._text(self._title(), names, set(names), self._rows(LINES))

    def __repr__(self) -> str:
        return f"<{self._title()}: {self.size} cells>"

    def _title(self) -> str:
        return f"{self.kind} bounds{self._about()} given {', '.join(notations(self.release))}"

    def _repr_html_(self) -> str:
        names = list(self._numbers())
        return self._html(self._title(), names, set(names), self._rows(HTML_LINES))


def notations(release: Release) -> list[str]:
    """The statements of a release in the notation."""
    return [statement.notation for statement in release.statements]
