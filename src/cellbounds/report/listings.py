"""Lists of findings (designs, sets, suggestions) as text, JSON and CSV."""

from __future__ import annotations

import json
from typing import Any, Protocol

from cellbounds.data.spreadsheets import csv_text

__all__ = ["Listing", "render_listing"]


class Listing(Protocol):
    """What can be written down in every style; `str` is for people."""

    def columns(self) -> dict[str, list[Any]]:
        """The list column by column."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Plain values, versioned."""
        ...


def render_listing(found: Listing, style: str) -> str:
    """A list as text in one of the styles."""
    if style == "json":
        return json.dumps(found.to_dict(), ensure_ascii=False, indent=1) + "\n"
    if style == "csv":
        columns = found.columns()
        return csv_text(list(columns), zip(*columns.values(), strict=True))
    return f"{found}\n"
