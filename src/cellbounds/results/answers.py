"""Answers: bounds and attainable counts that know how they were found, as values and as text."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from cellbounds.data.domain import Domain, Label
from cellbounds.data.frames import frame_of
from cellbounds.data.table import Table
from cellbounds.errors import InvalidInput, Unsettled
from cellbounds.model.constraints import violations
from cellbounds.results.cell_index import CellIndex, Position
from cellbounds.results.evidence import Evidence, Explanation
from cellbounds.results.solution import Solution
from cellbounds.results.values import UNBOUNDED, Unbounded, ValueSet, open_between
from cellbounds.runtime.budget import UNLIMITED, Budget, budgeted
from cellbounds.statements import Release
from cellbounds.text import aligned, counted, html_table, label_keys

LISTED = 10_000
"""Attainable counts that are listed one by one; larger sets are given as progressions only."""


def plain_number(value: Any) -> Any:
    """A numpy scalar as a Python number; everything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


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


def label_columns(
    domain: Domain,
    reserved: Collection[str] = RESERVED,
    cells: Iterable[tuple[Label, ...]] | None = None,
) -> dict[str, list[Any]]:
    """The labels of every cell, or of some, one column for each variable."""
    keys = label_keys(domain.names, reserved)
    columns: dict[str, list[Any]] = {keys[name]: [] for name in domain.names}
    for labels in domain.cells() if cells is None else cells:
        for key, label in zip(columns, labels, strict=True):
            columns[key].append(label)
    return columns


def labelled(
    domain: Domain, labels: tuple[Label, ...], reserved: Collection[str] = RESERVED
) -> dict[str, Any]:
    """One cell's labels by variable; a variable named like a fixed key gets an underscore."""
    keys = label_keys(domain.names, reserved)
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
        "upper": json_number(possible.largest),
        "size": json_number(size),
        "values": list(values) if few else None,
        "runs": values.to_list(),
    }
    if not values.settled:
        entries["unknown"] = ValueSet(values.unknown).to_list()
    return entries


def cell_value(value: Any) -> Any:
    """A number for a data frame; None if there is no limit."""
    return None if value is UNBOUNDED else plain_number(value)


def json_number(value: Any) -> Any:
    """A number for JSON: fractions as text, None if there is no limit."""
    if value is UNBOUNDED:
        return None
    return str(value) if isinstance(value, Fraction) else plain_number(value)


def shown(value: Any) -> str:
    """A number for people."""
    if value is None:
        return "?"
    if value is UNBOUNDED:
        return "unbounded"
    if isinstance(value, Fraction) and value.denominator != 1:
        return f"{value} ({float(value):.4g})"
    return str(value)


FORMAT = "cellbounds-answer/1"

LINES, HTML_LINES, RUNS = 40, 60, 8
"""Cells that are printed in a terminal and in a notebook, and runs of values for each."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Answer:
    """What every answer knows about itself."""

    release: Release
    over: tuple[str, ...]
    method: str
    evidence: Evidence
    seconds: float
    _source: Solution | None

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
        more = counted(left, "more cell")
        return f"... {more}: to_frame() has them all, and --format csv" if left else ""

    # What subclasses say: a title, columns and rows for the first cells, and what to know besides.

    def _title(self) -> str:
        raise NotImplementedError

    def _rows(self, most: int) -> tuple[list[str], list[list[str]]]:
        raise NotImplementedError

    def _remarks(self) -> str:
        return ""

    def __str__(self) -> str:
        names, rows = self._rows(LINES)
        text = aligned([*self.over, *names], rows, {*names} - {"values"})
        lines = [self._title(), text, self._more(len(rows)), self._remarks()]
        return "\n".join(filter(None, lines))

    def _repr_html_(self) -> str:
        names, rows = self._rows(HTML_LINES)
        remarks = self._remarks()
        title = f"{self._title()} ({remarks})" if remarks else self._title()
        numbers = {*names} - {"values"}
        return html_table(title, [*self.over, *names], rows, numbers, self._more(len(rows)))

    def __repr__(self) -> str:
        return f"<{self._title()}: {self.size} cells>"

    def _head(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "release": {"digest": self.digest, "statements": notations(self.release)},
            "over": list(self.over),
            "method": self.method,
            "evidence": self.evidence.value,
            "seconds": round(self.seconds, 6),
        }


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CellAnswer(Answer):
    """An answer about all cells of a margin (`domain`), or about those that were chosen."""

    _places: CellIndex

    @property
    def size(self) -> int:
        """How many cells were asked about."""
        return self._places.size

    def cells(self) -> Iterator[tuple[Label, ...]]:
        """The labels of the cells asked about, in the order of the answer."""
        domain = self.domain
        if self._places.chosen is None:
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
        if self._places.chosen is not None:
            some = f" of {self.size} cell{'s' if self.size > 1 else ''}"
        if set(self.over) == set(self.release.domain.names):
            return some
        return f"{some} over {list(self.over)}"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CertifiedAnswer(CellAnswer):
    """An answer of a kind that, if it is sharp, can hand on what proves it."""

    kind: str
    _certify: Callable[[bool | None, Budget], dict[str, Any]] | None

    @budgeted(stops=False)
    def certificate(
        self,
        *,
        public: bool | None = None,
        budget: Budget = UNLIMITED,
        seconds: float | None = None,
    ) -> dict[str, Any]:
        """The bounds with witnesses and proofs, as plain values for a JSON file.

        Of attainable counts, those of the bounds behind them. Nothing is solved again.
        ``cellbounds verify`` checks such a file without any method of this package.

        Parameters
        ----------
        public
            Whether it may be handed on: witnesses then may not lean on the owner's table, so the
            answer must have been made without ``start=``. By default marked as what it is.
        budget, seconds
            What finding proofs that can be checked by multiplication may cost; bounds without one
            name the method that proved them, and have to be proven again.
        """
        if self._certify is None:
            raise InvalidInput(
                f"bounds of kind {self.kind!r} have no certificate; ask for kind='sharp'"
            )
        return self._certify(public, budget)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Bounds(CertifiedAnswer):
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
    _explain: Callable[[tuple[Label, ...]], Explanation] | None
    _attained: tuple[npt.NDArray[Any], npt.NDArray[Any]] | None = None

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
        attained = self._inner()[0 if at == "lower" else 1]
        index = self._index(labels)
        value = attained[self._places.spot(index)]
        if isinstance(value, Unbounded):
            raise InvalidInput("an unbounded count has no largest table; ask for at='lower'")
        if value is None:
            raise Unsettled("no consistent table was found within the budget; give more seconds")
        assert self._source is not None  # else nothing would be attained
        return self._source.witness(index, int(value))

    def explain(self, *labels: Label) -> Explanation:
        """Evidence, witnesses and the published figures to blame for the bounds of one cell."""
        self._index(labels)
        if self._explain is None:
            raise InvalidInput(f"bounds of kind {self.kind!r} have no explanation; ask for 'sharp'")
        return self._explain(labels)

    def to_frame(self, backend: str | None = None) -> Any:
        """A tidy data frame: labels, lower, upper."""
        columns = label_columns(self.domain, cells=self.cells())
        for name, values in self._numbers().items():
            columns[name] = [cell_value(value) for value in values]
        return frame_of(columns, backend)

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

    def _rows(self, most: int) -> tuple[list[str], list[list[str]]]:
        numbers = self._numbers()
        cells = itertools.islice(zip(self.cells(), *numbers.values(), strict=True), most)
        return list(numbers), [[*map(str, labels), *map(shown, row)] for labels, *row in cells]

    def _title(self) -> str:
        return f"{self.kind} bounds{self._about()} given {', '.join(notations(self.release))}"


def notations(release: Release) -> list[str]:
    """The statements of a release in the notation."""
    return [statement.notation for statement in release.statements]


Ends = tuple[npt.NDArray[Any], npt.NDArray[Any]]
"""The smallest and the largest count of every cell."""


def known_between(index: tuple[int, ...], proven: Ends, attained: Ends) -> ValueSet:
    """What bounds say of one cell: attained ends are known, the rest is open."""
    low, high = (side[index] for side in proven)
    known = (side[index] for side in attained)
    inside = frozenset(
        int(end) for end in known if end is not None and not isinstance(end, Unbounded)
    )
    return open_between(int(low), None if isinstance(high, Unbounded) else int(high), inside)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Attainable(CertifiedAnswer):
    """Every attainable count of each cell; look cells up by their labels."""

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

    def between_ends(self) -> Iterator[tuple[tuple[Label, ...], ValueSet]]:
        """Labels and what the bounds say of every cell asked about, in order."""
        ends = self.ends()
        for labels, position in zip(self.cells(), self._places, strict=True):
            yield labels, known_between(self._places.spot(position), *ends)

    def items(self) -> Iterator[tuple[tuple[Label, ...], ValueSet]]:
        """Labels and attainable counts of every cell asked about, in order."""
        assert self._source is not None
        for labels, position in zip(self.cells(), self._places, strict=True):
            yield labels, self._source.values(position)

    def gather(self) -> None:
        """Find the attainable counts of every cell asked about, with whoever helps.

        Otherwise they are found one by one as they are looked at.
        """
        if self._source is not None:
            self._source.gather(self._places)

    def another(self, level: int) -> Table | None:
        """A table that differs in many cells from those of other levels (1, 2, ...), if any."""
        table = None if self._source is None else self._source.another(level)
        return None if table is None or violations(table, self.release) else table

    def witness(self, *labels: Label, value: int) -> Table:
        """A consistent table in which the cell holds `value`, built and checked now."""
        index = self._index(labels)
        values = self._values(index)
        if value not in values.known:
            how = "not attainable" if values.settled else "not known to be attainable"
            raise InvalidInput(f"{value} is {how} in the cell {labels}; see attainable(release)")
        assert self._source is not None
        return self._source.witness(index, value)

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

    def _rows(self, most: int) -> tuple[list[str], list[list[str]]]:
        return ["size", "values"], [
            [*map(str, labels), shown(values.size) if values.settled else "?", values.text(RUNS)]
            for labels, values in itertools.islice(self.items(), most)
        ]

    def _title(self) -> str:
        some = f" of {self.size} cells" if self._places.chosen is not None else ""
        return f"attainable counts{some} given {', '.join(notations(self.release))}"
