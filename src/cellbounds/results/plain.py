"""Cells, counts and sets as plain values, for frames, JSON and text."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from cellbounds.data.domain import Domain, Label
from cellbounds.results.values import UNBOUNDED, Unbounded, ValueSet
from cellbounds.text import label_keys

__all__ = [
    "RESERVED",
    "cell_value",
    "json_number",
    "label_columns",
    "labelled",
    "plain_number",
    "shown",
    "value_entries",
]

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
