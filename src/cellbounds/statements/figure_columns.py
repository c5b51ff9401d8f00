"""Figures in CSV files: tidy, or with one column for each level of the response."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cellbounds.data.domain import Domain, Label
from cellbounds.data.reading import read_csv_rows
from cellbounds.errors import InvalidInput
from cellbounds.text import column_names

__all__ = ["column_from_csv", "columns_of", "figure_column", "rates_from_csv"]


def rates_from_csv(path: Path, margin: Domain, responses: Sequence[str]) -> Any:
    """Rates in the shape of the margin, from a file of either layout."""
    header, rows = read_csv_rows(path)
    rates = np.full(margin.shape, None, dtype=object)
    seen: set[tuple[int, ...]] = set()
    figures = figure_column("rate", margin)
    if figures in header and set(header) == {*margin.names, figures}:
        places = [header.index(name) for name in margin.names]
        column = header.index(figures)
        cells = [([row[p] for p in places], row[column]) for row in rows]
    else:
        cells = _wide_cells(path, header, rows, margin, responses)
    for labels, rate in cells:
        index = margin.index(
            [_same_text(margin, n, x) for n, x in zip(margin.names, labels, strict=True)]
        )
        if index in seen:
            raise InvalidInput(f"{path}: the rate for {tuple(labels)} is listed twice")
        seen.add(index)
        rates[index] = rate
    if len(seen) < margin.size:
        absent = next(i for i in np.ndindex(margin.shape) if i not in seen)
        raise InvalidInput(
            f"{path}: no line for {margin.labels(absent)}; list every rate, with an empty field "
            "where it is missing"
        )
    return rates


def _wide_cells(
    path: Path, header: list[str], rows: list[list[str]], margin: Domain, responses: Sequence[str]
) -> list[tuple[list[str], str]]:
    given = [name for name in margin.names if name not in responses]
    levels = [str(level) for level in margin.levels(responses[0])]
    if len(responses) != 1 or set(header) != {*given, *levels}:
        raise InvalidInput(
            f"{path}: columns {column_names(header)}; it needs "
            f"{', '.join(map(repr, margin.names))} and 'rate', or, for one response, the givens "
            "and a column for each of its levels"
        )
    keys = [header.index(name) for name in given]
    return [
        ([*(row[k] for k in keys), level], row[header.index(level)])
        for row in rows
        for level in levels
    ]


def column_from_csv(path: Path, margin: Domain, column: str) -> dict[tuple[Label, ...], str]:
    """The figures of one column, by the labels of their cells."""
    header, rows = read_csv_rows(path)
    for name in [*margin.names, column]:
        if name not in header:
            raise InvalidInput(f"{path}: no column {name!r} among {column_names(header)}")
    found: dict[tuple[Label, ...], str] = {}
    for row in rows:
        labels = tuple(_same_text(margin, name, row[header.index(name)]) for name in margin.names)
        margin.index(labels)
        if labels in found:
            raise InvalidInput(f"{path}: the cell {labels} is listed twice")
        found[labels] = row[header.index(column)]
    return found


def figure_column(kind: str, margin: Domain) -> str:
    """The column of figures; a variable of the same name keeps it, the figures step aside."""
    while kind in margin.names:
        kind += "_"
    return kind


def columns_of(path: Path) -> list[str]:
    """The columns that a CSV file has."""
    return read_csv_rows(path)[0]


def _same_text(margin: Domain, name: str, text: str) -> Label:
    """The level that is written like this; labels in files are text."""
    return next((level for level in margin.levels(name) if str(level) == text), text)
