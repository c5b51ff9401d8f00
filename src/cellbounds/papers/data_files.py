"""Tables that the papers use and that may not be shipped: read if somebody has them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from cellbounds import datasets
from cellbounds.data.reading import read_table
from cellbounds.data.table import Table
from cellbounds.errors import InvalidInput

ELSEWHERE = ("haberman3", "czech6", "cps8", "nltcs16")
"""Tables to be found elsewhere; docs/papers/README.md says where, and how they are coded."""


@dataclass(frozen=True, slots=True)
class NotAtHand:
    """Stands for figures that a file is needed for."""

    file: str


@dataclass(frozen=True, slots=True)
class DataFiles:
    """The shipped tables, and those in a folder (NAME.csv), by name."""

    folder: Path | None = None
    _read: dict[str, Table] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.folder is not None and not self.folder.is_dir():
            raise InvalidInput(
                f"{self.folder} is no folder; give one with some of "
                f"{', '.join(f'{name}.csv' for name in ELSEWHERE)}"
            )

    def get(self, name: str) -> Table | NotAtHand:
        """A table, or what file is missing for it."""
        if name in datasets.NAMES:
            return datasets.read(name)
        path = None if self.folder is None else self.folder / f"{name}.csv"
        if path is None or not path.exists():
            return NotAtHand(f"{name}.csv")
        if name not in self._read:
            self._read[name] = read_table(path)
        return self._read[name]
