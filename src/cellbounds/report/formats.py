"""Results as text, JSON and CSV: one shape for all that can be written down."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol

from cellbounds.data.spreadsheets import csv_text
from cellbounds.results.answers import notations
from cellbounds.statements import Release
from cellbounds.version import __version__


class Renderable(Protocol):
    """What can be written down in every style; `str` is for people."""

    def columns(self) -> dict[str, list[Any]]:
        """The list column by column."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Plain values, versioned."""
        ...


def render(result: Renderable, style: str) -> str:
    """A result as text in one of the styles: ``"json"``, ``"csv"``, and anything else for people.

    Examples
    --------
    >>> import cellbounds as cb
    >>> release = cb.publish(cb.datasets.read("mp3"), "[mp3|gender]")
    >>> print(render(CountedTables(release, 9), "table"), end="")
    9 tables fit [mp3|gender], N=50
    """
    if style == "json":
        return json_text({**result.to_dict(), "version": __version__})
    if style == "csv":
        columns = result.columns()
        return csv_text(list(columns), zip(*columns.values(), strict=True))
    return f"{result}\n"


def json_text(values: Mapping[str, Any], indent: int | None = 1) -> str:
    """Plain values as JSON."""
    return json.dumps(values, ensure_ascii=False, allow_nan=False, indent=indent) + "\n"


@dataclass(frozen=True, slots=True)
class CountedTables:
    """How many tables fit a release."""

    release: Release
    count: int

    @property
    def _exact(self) -> Decimal:
        # Python writes no integer of more than 4,300 digits, but any decimal number.
        return Decimal(self.count)

    def columns(self) -> dict[str, list[Any]]:
        """The number as the only column."""
        return {"tables": [str(self._exact)]}

    def to_dict(self) -> dict[str, Any]:
        """The number as text: readers of JSON may round integers beyond 2**53."""
        release = {"digest": self.release.digest, "statements": notations(self.release)}
        return {"format": "cellbounds-count/1", "release": release, "tables": str(self._exact)}

    def __str__(self) -> str:
        noun = "table fits" if self.count == 1 else "tables fit"
        return f"{self._exact:,} {noun} {', '.join(notations(self.release))}"
