"""Answers: bounds and attainable counts that know how they were found."""

from __future__ import annotations

import html
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from cellbounds.domain import Domain, Label
from cellbounds.errors import InvalidInput, Unsettled
from cellbounds.frames import frame_of
from cellbounds.releases import Release
from cellbounds.results.evidence import Evidence
from cellbounds.results.explanation import Explanation
from cellbounds.results.values import UNBOUNDED, Unbounded, ValueSet
from cellbounds.table import Table
from cellbounds.text import aligned, label_keys

__all__ = [
    "RESERVED",
    "Attainable",
    "Bounds",
    "Source",
    "labelled",
    "plain_number",
    "value_entries",
]

FORMAT = "cellbounds-answer/1"

LINES, HTML_LINES, RUNS = 200, 60, 8
"""Cells that are printed in a terminal and in a notebook, and runs of values for each."""

LISTED = 10_000
"""Attainable counts that are listed one by one; larger sets are given as progressions only."""


class Source(Protocol):
    """What an answer asks its method for, when somebody looks closer."""

    def values(self, index: tuple[int, ...]) -> ValueSet:
        """Every attainable count of one cell."""
        ...

    def witness(self, index: tuple[int, ...], value: int) -> Table:
        """A consistent table in which the cell holds `value`, checked."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class _Answer:
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

    def _index(self, labels: tuple[Label, ...]) -> tuple[int, ...]:
        return self.domain.index(labels)

    def _more(self, shown: int) -> str:
        left = self.domain.size - shown
        return f"... {left} more cells: to_frame() has them all" if left else ""

    def _text(
        self, title: str, columns: list[str], numbers: set[str], rows: list[list[str]]
    ) -> str:
        lines = [title, aligned([*self.over, *columns], rows, numbers), self._more(len(rows))]
        return "\n".join(filter(None, lines))

    def _html(
        self, title: str, columns: list[str], numbers: set[str], rows: list[list[str]]
    ) -> str:
        header = [*self.over, *columns]
        sides = ["right" if name in numbers else "left" for name in header]

        def cells(tag: str, row: list[str]) -> str:
            return "".join(
                f'<{tag} style="text-align:{side}">{html.escape(text)}</{tag.split()[0]}>'
                for text, side in zip(row, sides, strict=True)
            )

        body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
        more = self._more(len(rows))
        foot = f'<tfoot><tr><td colspan="{len(header)}">{more}</td></tr></tfoot>' if more else ""
        head = cells('th scope="col"', header)
        return (
            f'<table><caption style="text-align:left">{html.escape(title)}</caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>{foot}</table>"
        )

    def _head(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "release": {"digest": self.digest, "statements": _notations(self.release)},
            "over": list(self.over),
            "method": self.method,
            "evidence": self.evidence.value,
            "seconds": round(self.seconds, 6),
        }


@dataclass(frozen=True, slots=True, eq=False)
class Bounds(_Answer):
    """The smallest and largest count of every cell.

    Attributes
    ----------
    lower, upper
        Arrays in the shape of the cells asked for: int64, or Python integers where they are
        larger or `cb.UNBOUNDED`; fractions for ``kind="linear"``.
    kind
        ``"sharp"``, ``"linear"``, ``"improved"`` or ``"improved-verbal"``.
    evidence
        EXACT for sharp bounds: every one is attained by a witness table. OUTER otherwise, and if
        a budget was spent before all were settled.
    attained_lower, attained_upper
        The counts nearest to the bounds that tables are known for, None where there is no table.
        For sharp bounds that are EXACT, the bounds themselves.
    """

    lower: npt.NDArray[Any]
    upper: npt.NDArray[Any]
    kind: str
    _explain: Callable[[tuple[Label, ...]], Explanation] | None = field(repr=False)
    _attained: tuple[npt.NDArray[Any], npt.NDArray[Any]] | None = field(repr=False, default=None)
    _certify: Callable[[bool | None], dict[str, Any]] | None = field(repr=False, default=None)

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
        """Which lower and which upper bounds are attained by a table."""
        low, high = self._inner()
        return (
            np.asarray(self.lower == low, dtype=bool).reshape(self.lower.shape),
            np.asarray(self.upper == high, dtype=bool).reshape(self.upper.shape),
        )

    def __getitem__(self, labels: Label | tuple[Label, ...]) -> tuple[Any, Any]:
        """Lower and upper bound of the cell with these labels."""
        index = self._index(labels if isinstance(labels, tuple) else (labels,))
        return plain_number(self.lower[index]), plain_number(self.upper[index])

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
        value = self._inner()[0 if at == "lower" else 1][index]
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

    def certificate(self, *, public: bool | None = None) -> dict[str, Any]:
        """The bounds with witnesses and proofs, as plain values for a JSON file.

        ``cellbounds verify`` checks such a file without any method of this package.

        Parameters
        ----------
        public
            Whether it may be handed on: witnesses then may not lean on the owner's table, so the
            answer must have been made without ``start=``. By default marked as what it is.
        """
        if self._certify is None:
            raise InvalidInput(
                f"bounds of kind {self.kind!r} have no certificate; ask for kind='sharp'"
            )
        return self._certify(public)

    def to_frame(self, backend: str | None = None) -> Any:
        """A tidy data frame: labels, lower, upper."""
        return frame_of(self._columns(), backend)

    def _columns(self) -> dict[str, list[Any]]:
        columns = _label_columns(self.domain)
        for name, values in self._numbers().items():
            columns[name] = [_cell_value(value) for value in values]
        return columns

    def to_dict(self) -> dict[str, Any]:
        """Plain values, versioned; fractions as text, unbounded as None."""
        names = self._numbers()
        cells = [
            {
                **labelled(self.domain, labels),
                **{name: _json_number(value) for name, value in zip(names, row, strict=True)},
            }
            for labels, *row in zip(self.domain.cells(), *names.values(), strict=True)
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
        cells = zip(self.domain.cells(), *self._numbers().values(), strict=True)
        return [
            [*map(str, labels), *map(_shown, row)] for labels, *row in itertools.islice(cells, most)
        ]

    def __str__(self) -> str:
        names = list(self._numbers())
        return self._text(self._title(), names, set(names), self._rows(LINES))

    def __repr__(self) -> str:
        return f"<{self._title()}: {self.domain.size} cells>"

    def _title(self) -> str:
        what = (
            "" if set(self.over) == set(self.release.domain.names) else f" over {list(self.over)}"
        )
        return f"{self.kind} bounds{what} given {', '.join(_notations(self.release))}"

    def _repr_html_(self) -> str:
        names = list(self._numbers())
        return self._html(self._title(), names, set(names), self._rows(HTML_LINES))


@dataclass(frozen=True, slots=True, eq=False)
class Attainable(_Answer):
    """Every attainable count of each cell; look cells up by their labels."""

    def __getitem__(self, labels: Label | tuple[Label, ...]) -> ValueSet:
        """The attainable counts of the cell with these labels (see ValueSet for unsettled ones)."""
        return self._at(self._index(labels if isinstance(labels, tuple) else (labels,)))

    def _at(self, index: tuple[int, ...]) -> ValueSet:
        assert self._source is not None
        return self._source.values(index)

    def items(self) -> Iterator[tuple[tuple[Label, ...], ValueSet]]:
        """Labels and attainable counts of every cell, in order."""
        shape = self.domain.shape
        for labels, index in zip(self.domain.cells(), np.ndindex(shape), strict=True):
            yield labels, self._at(index)

    def witness(self, *labels: Label, value: int) -> Table:
        """A consistent table in which the cell holds `value`, built and checked now."""
        index = self._index(labels)
        values = self._at(index)
        if value not in values.known:
            how = "not attainable" if values.settled else "not known to be attainable"
            raise InvalidInput(f"{value} is {how} in the cell {labels}; see attainable(release)")
        assert self._source is not None
        return self._source.witness(index, value)

    def to_frame(self, backend: str | None = None) -> Any:
        """A tidy data frame: labels, lower, upper, the number of values, and the values as text."""
        columns = _label_columns(self.domain)
        sets = [values for _, values in self.items()]
        columns["lower"] = [values.possible.smallest for values in sets]
        columns["upper"] = [_cell_value(values.possible.largest) for values in sets]
        columns["size"] = [_cell_value(values.size) if values.settled else None for values in sets]
        columns["values"] = [values.text(most=1000) for values in sets]
        return frame_of(columns, backend)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, versioned; values as progressions [first, last, step]."""
        cells = [
            {**labelled(self.domain, labels), **value_entries(values)}
            for labels, values in self.items()
        ]
        return {**self._head(), "cells": cells}

    def _rows(self, most: int) -> list[list[str]]:
        return [
            [*map(str, labels), _shown(values.size) if values.settled else "?", values.text(RUNS)]
            for labels, values in itertools.islice(self.items(), most)
        ]

    def _title(self) -> str:
        return f"attainable counts given {', '.join(_notations(self.release))}"

    def __str__(self) -> str:
        return self._text(self._title(), ["size", "values"], {"size"}, self._rows(LINES))

    def __repr__(self) -> str:
        return f"<{self._title()}: {self.domain.size} cells>"

    def _repr_html_(self) -> str:
        rows = self._rows(HTML_LINES)
        return self._html(self._title(), ["size", "values"], {"size"}, rows)


def plain_number(value: Any) -> Any:
    """A numpy scalar as a Python number; everything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def _notations(release: Release) -> list[str]:
    return [statement.notation for statement in release.statements]


RESERVED = (
    "unknown",
    "count",
    "lower",
    "upper",
    "attained_lower",
    "attained_upper",
    "size",
    "values",
    "runs",
    "disclosed",
    "narrow",
    "unsafe",
    "structural",
    "empty_row",
)
"""Keys of a cell that are not variables."""


def _label_columns(domain: Domain) -> dict[str, list[Any]]:
    keys = label_keys(domain.names, RESERVED)
    columns: dict[str, list[Any]] = {keys[name]: [] for name in domain.names}
    for labels in domain.cells():
        for key, label in zip(columns, labels, strict=True):
            columns[key].append(label)
    return columns


def labelled(domain: Domain, labels: tuple[Label, ...]) -> dict[str, Any]:
    """One cell's labels by variable; a variable named like a fixed key gets an underscore."""
    keys = label_keys(domain.names, RESERVED)
    return {keys[name]: label for name, label in zip(domain.names, labels, strict=True)}


def value_entries(values: ValueSet) -> dict[str, Any]:
    """Attainable counts as plain values: all of them if few, and always as progressions.

    Of a set that is not settled: the numbers known to belong, and those that may.
    """
    possible = values.possible
    size = values.size if values.settled else None
    few = values.settled and not isinstance(size, Unbounded) and size is not None and size <= LISTED
    entries: dict[str, Any] = {
        "lower": possible.smallest,
        "upper": _json_number(possible.largest),
        "size": _json_number(size),
        "values": list(values) if few else None,
        "runs": values.to_list(),
    }
    if not values.settled:
        entries["unknown"] = ValueSet(values.unknown).to_list()
    return entries


def _cell_value(value: Any) -> Any:
    return None if value is UNBOUNDED else plain_number(value)


def _json_number(value: Any) -> Any:
    if value is UNBOUNDED:
        return None
    return str(value) if isinstance(value, Fraction) else plain_number(value)


def _shown(value: Any) -> str:
    if value is None:
        return "?"
    if value is UNBOUNDED:
        return "unbounded"
    if isinstance(value, Fraction) and value.denominator != 1:
        return f"{value} ({float(value):.4g})"
    return str(value)
