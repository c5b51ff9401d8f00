"""Results for people and programs: aligned text, notebooks, frames, plain values."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from cellbounds.data.frames import frame_of
from cellbounds.results.answers import HTML_LINES, LINES
from cellbounds.text import aligned, html_table

FORMAT = "cellbounds-utility/1"


def figure_text(value: object) -> str:
    """A number to four figures, an interval of two, whole numbers and texts; None is empty."""
    if isinstance(value, list):
        return f"({', '.join(map(figure_text, value))})"
    if isinstance(value, float):
        return "undefined" if math.isnan(value) else f"{value:.4g}"
    return "" if value is None else str(value)


def json_float(value: float | None) -> float | str | None:
    """A number for JSON: None if undefined, text if infinite."""
    if value is None or math.isnan(value):
        return None
    return float(value) if math.isfinite(value) else str(float(value))


def picked(result: object, *names: str) -> dict[str, Any]:
    """Some attributes as plain values: tuples as lists, numbers as :func:`json_float` has them."""
    values = {name: getattr(result, name) for name in names}
    for name, value in values.items():
        if isinstance(value, tuple | float):
            values[name] = list(value) if isinstance(value, tuple) else json_float(value)
    return values


def columns_of(header: Iterable[str], rows: Sequence[Sequence[Any]]) -> dict[str, list[Any]]:
    """Lines of values as columns."""
    return {name: [row[place] for row in rows] for place, name in enumerate(header)}


def more_lines(left: int, what: str = "more") -> str:
    """What is said of lines that are not printed."""
    return f"... {left} {what}: to_frame() has them all" if left > 0 else ""


@dataclass(frozen=True, slots=True)
class Section:
    """A titled block of lines in columns; columns not named in `words` hold numbers.

    Values are shown as :func:`figure_text` has them.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[object]]
    words: frozenset[str] = frozenset()

    def text(self) -> str:
        """The block for a terminal."""
        header, rows, numbers, more = self._cut(LINES)
        return "\n".join(filter(None, [self.title, aligned(header, rows, numbers), more]))

    def html(self) -> str:
        """The block for a notebook."""
        return html_table(self.title, *self._cut(HTML_LINES))

    def _cut(self, most: int) -> tuple[Sequence[str], Sequence[Sequence[str]], set[str], str]:
        more = more_lines(len(self.rows) - most, "more lines")
        rows = [[*map(figure_text, row)] for row in self.rows[:most]]
        return self.header, rows, set(self.header) - self.words, more


class Shown:
    """What results have in common: sections to look at, notes, plain values."""

    __slots__ = ()

    notes: tuple[str, ...]

    def _title(self) -> str:
        raise NotImplementedError

    def _sections(self) -> list[Section]:
        raise NotImplementedError

    def entries(self) -> dict[str, Any]:
        """Plain values, without the name of the format."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Plain values, versioned; undefined numbers as None, infinite ones as text."""
        return {"format": FORMAT, **self.entries()}

    def __repr__(self) -> str:
        # Statistics of a confidential table are not printed by accident.
        return f"<{self._title()}>"

    def __str__(self) -> str:
        blocks = [section.text() for section in self._sections()]
        notes = "\n".join(f"note: {note}" for note in self.notes)
        return "\n\n".join(filter(None, [*blocks, notes]))

    def _repr_html_(self) -> str:
        blocks = [section.html() for section in self._sections()]
        notes = [f"<p>note: {html.escape(note)}</p>" for note in self.notes]
        return "".join([*blocks, *notes])


class Listing:
    """A list for people and programs: a title, remarks, a table that is cut, and a warning."""

    __slots__ = ()

    most_lines: ClassVar[tuple[int, int]] = (100, 60)
    """Lines that are printed in a terminal and in a notebook."""

    numbers: ClassVar[frozenset[str]] = frozenset()
    """Columns of the table that hold numbers."""

    @property
    def warning(self) -> str:
        """What the list itself gives away."""
        raise NotImplementedError

    def columns(self) -> dict[str, list[Any]]:
        """What is listed, column by column."""
        raise NotImplementedError

    def to_frame(self, backend: str | None = None) -> Any:
        """A tidy data frame of what is listed."""
        return frame_of(self.columns(), backend)

    def _title(self) -> str:
        raise NotImplementedError

    def _remarks(self) -> list[str]:
        return []

    def _heading(self) -> list[str]:
        """What stands above the table in a terminal."""
        return [self._title(), *(f"  {remark}" for remark in self._remarks())]

    def _table(self, most: int) -> tuple[list[str], list[list[str]], str]:
        """The header, so many lines at most, and what is said of those left out."""
        raise NotImplementedError

    def __str__(self) -> str:
        header, rows, more = self._table(self.most_lines[0])
        table = aligned(header, rows, self.numbers) if rows else ""
        return "\n".join(filter(None, [*self._heading(), table, more, self.warning]))

    def __repr__(self) -> str:
        return f"<{self._title()}>"

    def _repr_html_(self) -> str:
        header, rows, more = self._table(self.most_lines[1])
        foot = "; ".join(filter(None, [more, *self._remarks(), self.warning]))
        return html_table(self._title(), header, rows, self.numbers, foot)
