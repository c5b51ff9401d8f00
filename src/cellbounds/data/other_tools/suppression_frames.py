"""Frames with a status for each cell: GaussSuppression, sdcTable, rtauargus, pytauargus.

Columns are found by their names: what says whether a cell is hidden (``suppressed`` and
``primary``, ``sdcStatus``, ``Status``), and the counts. Variables are the columns with codes, each
with its total; other numbers (magnitudes, costs, limits) are left alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cellbounds.data.frames import frame_columns
from cellbounds.data.other_tools.building import (
    PRIMARY,
    SECONDARY,
    SHOWN,
    Line,
    Reading,
    is_figure,
    status_of,
    table_of,
    whole_count,
)
from cellbounds.data.other_tools.lines import SEPARATORS, delimited_lines
from cellbounds.data.published import PublishedTable
from cellbounds.data.spreadsheets import is_safe, restored_cell
from cellbounds.errors import InvalidInput

NAME = "suppression-frame"

COUNT_NAMES = ("freq", "n_obs", "count", "counts", "nb_obs", "freqvar", "n", "nobs")
"""How the column of counts is called, in small letters, the most telling first."""

_STATUS = ("sdcstatus", "status")
_TRUE = frozenset({"true", "t", "1"})
_FALSE = frozenset({"false", "f", "0", "", "na", "nan", "none"})
_OTHERS = frozenset(
    {"primary", "suppressed", "suppressed_integer", "cost", "lower", "upper", "strid", "lo", "up"}
    | {"lo_1", "up_1", "weight", *_STATUS}
)
_BEGINNINGS = ("rlim_", "upmin_", "is_secret")

Columns = Mapping[str, Sequence[str]]


def recognises(_: Path, text: str) -> bool:
    """Whether the first line names a column that says which cells are hidden."""
    first = text.lstrip().split("\n", 1)[0]
    return any(
        has_statuses(name.strip().strip('"') for name in first.split(separator))
        for separator in SEPARATORS
    )


def has_statuses(names: Iterable[str]) -> bool:
    """Whether columns say which cells are hidden."""
    small = {name.lower() for name in names}
    counted = bool(small & set(COUNT_NAMES))
    return (
        {"primary", "suppressed"} <= small
        or "sdcstatus" in small
        or ("status" in small and counted)
    )


def read(path: Path, text: str, reading: Reading) -> tuple[PublishedTable, ...]:
    """Read a frame from text with a header."""
    header, *rows = delimited_lines(text, str(path))
    for number, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise InvalidInput(
                f"{path}, line {number}: {len(row)} fields, but the header has {len(header)}; the "
                "file may be cut off, or have another separator"
            )
    if all(is_safe(field) for row in rows for field in row):
        rows = [[restored_cell(field) for field in row] for row in rows]
    if not rows:
        raise InvalidInput(f"{path} has a header but no cells; fetch or write it again")
    names = [name.strip() for name in header]
    if len(set(names)) < len(names):
        raise InvalidInput(f"{path}: the columns {names} need names of their own")
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    if names[0] == "":
        del columns[""]  # the row names of R
    return (read_columns(str(path), columns, reading),)


def read_frame(frame: Any, reading: Reading | None = None) -> PublishedTable:
    """Read a data frame of a library.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame(
    ...     {
    ...         "sex": ["Total", "f", "m"],
    ...         "freq": [5, 2, 3],
    ...         "primary": [False, True, False],
    ...         "suppressed": [False, True, True],
    ...     }
    ... )
    >>> read_frame(frame, Reading(totals={"sex": "Total"}))
    PublishedTable(sex: 2 codes and a total; 3 cells, 2 hidden)
    """
    columns, _ = frame_columns(frame)
    texts = {name: [_text(value) for value in column] for name, column in columns.items()}
    where = f"the {type(frame).__name__}"
    if not texts or not len(next(iter(texts.values()))):
        raise InvalidInput(f"{where} has no lines; give one for each cell")
    return read_columns(where, texts, reading or Reading())


def _text(value: object) -> str:
    missing = value is None or value != value or str(value) == "<NA>"
    return "" if missing else str(value)


def read_columns(where: str, columns: Columns, reading: Reading) -> PublishedTable:
    """The table of columns of text, with what hides its cells."""
    by_name = {name.lower(): name for name in columns}
    count = _count_column(where, columns, by_name, reading)
    variables = [
        name
        for name, column in columns.items()
        if name != count and not _is_other(name) and _has_codes(column)
    ]
    if not variables:
        raise InvalidInput(
            f"{where}: no column has codes; it has {', '.join(columns)}, and a variable has text "
            "or a total in it"
        )
    statuses, words = _statuses(where, columns, by_name)
    size = len(columns[count])
    lines = [
        Line(
            tuple(columns[name][k] for name in variables),
            columns[count][k].strip() or ("x" if statuses[k] != SHOWN else "na"),
            statuses[k],
            f"{where}, data line {k + 1}",
        )
        for k in range(size)
    ]
    aside = [name for name in columns if name not in (*variables, count) and not _is_other(name)]
    notes = [f"read as {words}, counts in {count!r}"]
    if aside:
        notes.append(f"not read: {', '.join(aside)}")
    remedy = _remedy(by_name, count)
    return table_of(where, variables, lines, reading, magnitude=remedy, notes=notes)


def _is_other(name: str) -> bool:
    return name.lower() in _OTHERS or name.lower().startswith(_BEGINNINGS)


def _has_codes(column: Sequence[str]) -> bool:
    """Whether a column has something that is no number: a label, or the name of a total."""
    return any(not is_figure(each) and each.strip().lower() not in ("", "na") for each in column)


def _count_column(
    where: str, columns: Columns, by_name: Mapping[str, str], reading: Reading
) -> str:
    if reading.count is not None:
        if reading.count not in columns:
            raise InvalidInput(
                f"{where}: there is no column {reading.count!r}; it has {', '.join(columns)}"
            )
        return reading.count
    found = next((by_name[name] for name in COUNT_NAMES if name in by_name), None)
    if found is not None:
        return found
    whole = [
        name
        for name, column in columns.items()
        if not _is_other(name) and all(whole_count(each) is not None for each in column)
    ]
    if len(whole) == 1:
        return whole[0]
    raise InvalidInput(
        f"{where}: which column has the counts? None is called {', '.join(COUNT_NAMES[:4])}; name "
        f"it (--count); there are {', '.join(columns)}"
    )


def _remedy(by_name: Mapping[str, str], count: str) -> str:
    """What to say if the figures are no counts: the column that has them."""
    for name in COUNT_NAMES:
        if name in by_name and by_name[name] != count:
            return f"{count!r} is a magnitude: the counts are in {by_name[name]!r}"
    return f"{count!r} is a magnitude: name the column with the counts (--count)"


def _statuses(where: str, columns: Columns, by_name: Mapping[str, str]) -> tuple[list[str], str]:
    """The status of each line, and what kind of frame it is."""
    if "suppressed" in by_name:
        hidden = _truths(where, columns, by_name["suppressed"])
        primary = [False] * len(hidden)
        if "primary" in by_name:
            primary = _truths(where, columns, by_name["primary"])
        kinds = [
            (PRIMARY if first else SECONDARY) if secret else SHOWN
            for secret, first in zip(hidden, primary, strict=True)
        ]
        return kinds, "a GaussSuppression frame"
    for name in _STATUS:
        if name in by_name:
            column = columns[by_name[name]]
            found = [
                status_of(mark, f"{where}, data line {k}") for k, mark in enumerate(column, start=1)
            ]
            tool = "an sdcTable frame" if name == "sdcstatus" else "a frame with statuses"
            return found, tool
    size = len(next(iter(columns.values())))
    return [SHOWN] * size, "a frame without statuses: every cell is shown"


def _truths(where: str, columns: Columns, name: str) -> list[bool]:
    truths = []
    for number, text in enumerate(columns[name], start=1):
        word = text.strip().lower()
        if word not in _TRUE | _FALSE:
            raise InvalidInput(
                f"{where}, data line {number}: {name!r} is {text[:20]!r}; it is TRUE or FALSE"
            )
        truths.append(word in _TRUE)
    return truths
