"""The columns of a file or a frame, which know where each value stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Columns"]


@dataclass(frozen=True, slots=True)
class Columns:
    """Values by column, as they were read.

    Parameters
    ----------
    where
        The file or frame, for messages.
    values
        The values of each column, one for each line.
    categories
        The levels that a column declares, in order, where it does.
    letters, rows
        In a sheet, the letters of each column and the row of each line.
    notes
        What else there is to say about a value that cannot be used, by column and line.
    start
        How many lines of the same file stand before these.
    """

    where: str
    values: Mapping[str, Sequence[Any]]
    categories: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    letters: Mapping[str, str] = field(default_factory=dict)
    rows: Sequence[int] = ()
    notes: Mapping[tuple[str, int], str] = field(default_factory=dict)
    start: int = 0

    def place(self, name: str, line: int) -> str:
        """Where the value of a column on a line (counted from 0) stands."""
        if name in self.letters:
            return f"{self.where}, cell {self.letters[name]}{self.rows[line]}"
        return f"{self.where}, data line {self.start + line + 1}"

    def note(self, name: str, line: int) -> str:
        """A remark in brackets on that value, or nothing."""
        found = self.notes.get((name, line))
        return f" ({found})" if found else ""
