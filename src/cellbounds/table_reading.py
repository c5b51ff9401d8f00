"""Tables of counts from CSV files, data frames and records."""

from __future__ import annotations

import csv
import gzip
import io
import math
import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from cellbounds.arrays import whole_array
from cellbounds.domain import Domain, Label
from cellbounds.errors import InvalidInput
from cellbounds.frames import frame_columns
from cellbounds.table import Table

__all__ = ["read_csv_rows", "read_table"]

DENSE_LIMIT = 2**27
"""Cells above which a table is refused rather than made dense by accident."""

_WHOLE = re.compile(r"\s*\+?([0-9]{1,1000})(?:\.0*)?\s*")
_BINARY = {
    b"PK\x03\x04": "an Excel workbook or a zip archive",
    b"PAR1": "a Parquet file",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
}


def read_table(
    source: str | Path | Any,
    *,
    count: str | None = "count",
    variables: Sequence[str] | None = None,
    structural: str | Iterable[Sequence[Label]] | None = None,
    domain: Domain | None = None,
    encoding: str = "utf-8",
    delimiter: str = ",",
) -> Table:
    """Read a table of counts.

    Parameters
    ----------
    source
        Path of a tidy CSV file (plain or gzip), or a pandas, polars or Arrow frame: one column
        for each variable and a column of counts. Or an array of counts, one axis a variable.
    count
        Name of the column of counts; None if each line is one record, to be tabulated.
    variables
        The columns to use, in this order; the others are summed over. All, unless given.
    structural
        Cells that cannot hold anybody: ``"missing"`` if the cells that the file does not list
        are such, or the cells as tuples of labels. Otherwise missing cells are sampling zeros.
    domain
        Variables and levels of an array. Without it they are named by `variables` (or ``"v1"``,
        ``"v2"``, ...) and ``"1"``, ``"2"``, ...
    encoding, delimiter
        How to read a CSV file.

    Notes
    -----
    Labels read from a file are text, exactly as written. Levels stand in the order in which they
    first appear; a frame's categorical column keeps the order of its categories.

    Examples
    --------
    >>> from cellbounds import read_table, example_path
    >>> table = read_table(example_path("delinquent"))
    >>> table.domain
    Domain(county[4] x education[4])
    """
    if isinstance(source, np.ndarray | list | tuple):
        return _from_array(source, domain, variables, structural)
    if domain is not None:
        raise InvalidInput("domain= goes with an array; files and frames name their variables")
    if isinstance(source, str | Path):
        where, columns, categories = _columns_of_file(Path(source), encoding, delimiter)
    else:
        where = "the frame"
        columns, categories = frame_columns(source)
    names = _variable_names(where, list(columns), count, variables)
    counts = None if count is None else _whole_numbers(where, columns[count])
    used = names if variables is None or count is None else [n for n in columns if n != count]
    _refuse_missing(where, {name: columns[name] for name in used})
    levels = {name: categories.get(name) or list(dict.fromkeys(columns[name])) for name in used}
    found = Domain(levels)
    if found.size > DENSE_LIMIT:
        raise InvalidInput(
            f"{where}: {found.size} cells are more than {DENSE_LIMIT}; choose fewer columns "
            "with variables=[...] or merge levels"
        )
    table = _tabulate(where, found, columns, counts, structural)
    return table.margin(*names) if tuple(names) != found.names else table


def _from_array(
    source: Any,
    domain: Domain | None,
    variables: Sequence[str] | None,
    structural: str | Iterable[Sequence[Label]] | None,
) -> Table:
    shape = np.shape(np.array(source, dtype=object))
    if not shape or 0 in shape:
        raise InvalidInput(f"an array of counts of shape {shape}; it needs at least one cell")
    if domain is None:
        names = [f"v{axis}" for axis in range(1, len(shape) + 1)]
        if variables is not None:
            names = list(variables)
        if len(set(names)) != len(shape):
            raise InvalidInput(
                f"variables {names!r} for an array of {len(shape)} axes; name each axis once"
            )
        levels = [[str(level) for level in range(1, size + 1)] for size in shape]
        domain = Domain(dict(zip(names, levels, strict=True)))
    elif variables is not None:
        raise InvalidInput("an array with domain= needs no variables=; the domain names them")
    if isinstance(structural, str):
        raise InvalidInput(
            f"structural={structural!r} with an array; list the cells (tuples of labels)"
        )
    mask = np.zeros(domain.shape, dtype=bool)
    for labels in structural or ():
        mask[domain.index(tuple(labels))] = True
    return Table(domain, source, structural=mask)


def _tabulate(
    where: str,
    domain: Domain,
    columns: dict[str, list[Any]],
    counts: list[int] | None,
    structural: str | Iterable[Sequence[Label]] | None,
) -> Table:
    places = [[domain.position(name, label) for label in columns[name]] for name in domain.names]
    flat = np.ravel_multi_index(tuple(map(np.array, places)), domain.shape)
    occurrences = np.bincount(flat, minlength=domain.size)
    if counts is None:
        whole = occurrences
    else:
        if occurrences.max(initial=0) > 1:
            twice = np.unravel_index(int(occurrences.argmax()), domain.shape)
            raise InvalidInput(
                f"{where}: the cell {domain.labels([int(i) for i in twice])} is listed more than "
                "once; list each cell once, or give count=None (--records) if lines are records"
            )
        whole = np.zeros(domain.size, dtype=object)
        whole[flat] = counts
    mask = np.zeros(domain.shape, dtype=bool)
    if structural == "missing":
        mask = (occurrences == 0).reshape(domain.shape)
    elif isinstance(structural, str):
        raise InvalidInput(
            f"structural={structural!r}; give 'missing' or a list of cells (tuples of labels)"
        )
    elif structural is not None:
        for labels in structural:
            mask[domain.index(tuple(labels))] = True
    return Table(domain, whole_array(whole.tolist(), domain.shape), structural=mask)


def _variable_names(
    where: str, header: list[str], count: str | None, variables: Sequence[str] | None
) -> list[str]:
    if count is not None and count not in header:
        raise InvalidInput(
            f"{where}: no column {count!r} among {', '.join(map(repr, header))}; name the column "
            "of counts with count=... (--count), or count=None (--records) if lines are records"
        )
    names = [name for name in header if name != count]
    if isinstance(variables, str):
        raise InvalidInput(
            f"variables are given as the text {variables!r}; give a list, such as [{variables!r}]"
        )
    if variables is None:
        if not names:
            raise InvalidInput(f"{where}: there is no column besides the counts; add variables")
        return names
    for name in variables:
        if name not in names:
            raise InvalidInput(
                f"{where}: unknown variable {name!r}; the columns are {', '.join(map(repr, names))}"
            )
    return list(variables)


def _whole_numbers(where: str, column: list[Any]) -> list[int]:
    # The value itself may be confidential: name the line only.
    whole = []
    for line, value in enumerate(column, start=1):
        number: int | None = None
        if isinstance(value, str):
            match = _WHOLE.fullmatch(value)
            number = int(match[1]) if match else None
        elif isinstance(value, int | np.integer | float | Fraction) and _is_whole(value):
            number = int(value)
        if number is None or number < 0:
            raise InvalidInput(
                f"{where}, data line {line}: the count is not a whole number of 0 or more; "
                "write plain digits (weighted or rounded figures are not counts)"
            )
        whole.append(number)
    return whole


def _is_whole(value: Any) -> bool:
    if isinstance(value, bool) or (isinstance(value, float) and not math.isfinite(value)):
        return False
    return bool(value == int(value))


def _refuse_missing(where: str, columns: dict[str, list[Any]]) -> None:
    for name, column in columns.items():
        for line, label in enumerate(column, start=1):
            if _is_missing(label):
                raise InvalidInput(
                    f"{where}, data line {line}: no label for {name!r}; give missing values a "
                    "label of their own, such as 'unknown'"
                )


def _is_missing(label: Any) -> bool:
    # pandas has markers of its own; comparing them with anything gives no truth value.
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    return bool(label == "" or (isinstance(label, float) and math.isnan(label)))


def _columns_of_file(
    path: Path, encoding: str, delimiter: str
) -> tuple[str, dict[str, list[Any]], dict[str, list[Any]]]:
    header, rows = read_csv_rows(path, encoding=encoding, delimiter=delimiter)
    columns: dict[str, list[Any]] = {name: [] for name in header}
    for row in rows:
        for name, value in zip(header, row, strict=True):
            columns[name].append(value)
    return str(path), columns, {}


def read_csv_rows(
    path: Path, *, encoding: str = "utf-8", delimiter: str = ","
) -> tuple[list[str], list[list[str]]]:
    """Read a CSV file strictly: a header of distinct names, rows of the same length, as text."""
    text = _text_of(path, encoding)
    if len(delimiter) != 1:
        raise InvalidInput(f"delimiter {delimiter!r}; give one character, such as ',' or ';'")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        lines = [(reader.line_num, row) for row in reader if row]
    except csv.Error as problem:
        raise InvalidInput(f"{path} is not a CSV file: {problem}; check its quotes") from None
    if not lines:
        raise InvalidInput(f"{path} is empty; it needs a header line and one line for each cell")
    header = lines[0][1]
    if len(header) == 1 and delimiter == "," and (";" in header[0] or "\t" in header[0]):
        found = ";" if ";" in header[0] else "\\t"
        raise InvalidInput(
            f"{path}: its header has no comma; if columns are separated by {found!r}, give "
            f'delimiter="{found}" (--delimiter)'
        )
    for name in header:
        if not name.strip() or header.count(name) > 1:
            raise InvalidInput(
                f"{path}: column name {name!r} is empty or stands twice in the header; "
                "give every column a name of its own"
            )
    for number, row in lines[1:]:
        if len(row) != len(header):
            raise InvalidInput(
                f"{path}, line {number}: {len(row)} fields, but the header has {len(header)}; "
                "put labels that contain the delimiter in double quotes"
            )
    if len(lines) == 1:
        raise InvalidInput(f"{path} has a header but no data lines; add one line for each cell")
    return header, [row for _, row in lines[1:]]


def _text_of(path: Path, encoding: str) -> str:
    try:
        raw = path.read_bytes()
    except OSError as problem:
        raise InvalidInput(f"{path} cannot be read: {problem.strerror}") from None
    if raw.startswith(b"\x1f\x8b"):
        try:
            raw = gzip.decompress(raw)
        except (OSError, EOFError):
            raise InvalidInput(f"{path} is a damaged gzip file; fetch or pack it again") from None
    for magic, kind in _BINARY.items():
        if raw.startswith(magic) and not encoding.lower().startswith("utf-16"):
            raise InvalidInput(
                f"{path} is {kind}, not UTF-8 text; save it as CSV, or read it into a data frame "
                "and pass that"
            )
    try:
        text = raw.decode("utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding)
    except LookupError:
        raise InvalidInput(f"unknown encoding {encoding!r}; try 'utf-8' or 'latin-1'") from None
    except UnicodeDecodeError as problem:
        raise InvalidInput(
            f"{path} is not {encoding} text (byte {problem.start}); save it as UTF-8 or name its "
            'encoding, such as encoding="latin-1" (--encoding)'
        ) from None
    if "\x00" in text:
        raise InvalidInput(f"{path} holds binary data, not text; save it as CSV in UTF-8")
    return text
