"""Results of comparisons for people and programs: aligned text, notebooks, plain values."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cellbounds.results.answers import HTML_LINES, LINES
from cellbounds.text import aligned, html_table

__all__ = ["Section", "Shown", "interval_text", "json_float", "number_text"]

FORMAT = "cellbounds-utility/1"


def number_text(value: float | None) -> str:
    """A number to four figures."""
    return "undefined" if value is None or math.isnan(value) else f"{value:.4g}"


def interval_text(low: float, high: float) -> str:
    """An interval to four figures."""
    return f"({number_text(low)}, {number_text(high)})"


def json_float(value: float | None) -> float | str | None:
    """A number for JSON: None if undefined, text if infinite."""
    if value is None or math.isnan(value):
        return None
    return float(value) if math.isfinite(value) else str(float(value))


@dataclass(frozen=True, slots=True)
class Section:
    """A titled block of lines in columns; columns not named in `words` hold numbers."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: frozenset[str] = frozenset()

    def text(self) -> str:
        """The block for a terminal."""
        numbers = set(self.header) - self.words
        lines = [self.title, aligned(self.header, self.rows[:LINES], numbers), self._more(LINES)]
        return "\n".join(filter(None, lines))

    def html(self) -> str:
        """The block for a notebook."""
        numbers = set(self.header) - self.words
        return html_table(
            self.title, self.header, self.rows[:HTML_LINES], numbers, self._more(HTML_LINES)
        )

    def _more(self, shown: int) -> str:
        left = len(self.rows) - shown
        return f"... {left} more lines: to_frame() has them all" if left > 0 else ""


class Shown:
    """What results have in common: sections to look at, notes, plain values."""

    __slots__ = ()

    notes: tuple[str, ...]

    def _sections(self) -> list[Section]:
        raise NotImplementedError

    def entries(self) -> dict[str, Any]:
        """Plain values, without the name of the format."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Plain values, versioned; undefined numbers as None, infinite ones as text."""
        return {"format": FORMAT, **self.entries()}

    def __str__(self) -> str:
        blocks = [section.text() for section in self._sections()]
        said = "\n".join(f"note: {note}" for note in self.notes)
        return "\n\n".join(filter(None, [*blocks, said]))

    def _repr_html_(self) -> str:
        blocks = [section.html() for section in self._sections()]
        said = "".join(f"<p>note: {html.escape(note)}</p>" for note in self.notes)
        return "".join([*blocks, said])
