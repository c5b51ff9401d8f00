"""Tables of counts from CSV, Excel and Parquet files, data frames and records."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from cellbounds.arrays import whole_array
from cellbounds.domain import Domain, Label
from cellbounds.errors import InvalidInput
from cellbounds.frames import frame_columns
from cellbounds.table import Table
from cellbounds.table_files import Columns, read_columns, read_csv_rows

__all__ = ["read_csv_rows", "read_table"]

DENSE_LIMIT = 2**27
"""Cells above which a table is refused rather than made dense by accident."""

_WHOLE = re.compile(r"\s*\+?([0-9]{1,1000})(?:\.0*)?\s*")


def read_table(
    source: str | Path | Any,
    *,
    count: str | None = "count",
    variables: Sequence[str] | None = None,
    structural: str | Iterable[Sequence[Label]] | None = None,
    domain: Domain | None = None,
    encoding: str = "utf-8",
    delimiter: str = ",",
    sheet: str | None = None,
) -> Table:
    """Read a table of counts.

    Parameters
    ----------
    source
        Path of a tidy CSV file (plain or gzip), Excel workbook or Parquet file, or a pandas,
        polars or Arrow frame: one column for each variable and a column of counts. Or an array
        of counts, one axis a variable.
    count
        Name of the column of counts; None if each line is one record, to be tabulated.
    variables
        The columns to use, in this order; the others are summed over. All, unless given.
    structural
        Cells that cannot hold anybody: ``"missing"`` if the cells that the file does not list
        or lists without a count are such, or the cells as tuples of labels. Otherwise cells that
        are not listed are sampling zeros, and a count must not be missing.
    domain
        Variables and levels of an array. Without it they are named by `variables` (or ``"v1"``,
        ``"v2"``, ...) and ``"1"``, ``"2"``, ...
    encoding, delimiter
        How to read a CSV file.
    sheet
        The sheet of an Excel workbook; needed if several are not empty.

    Notes
    -----
    What a file holds decides how it is read; a file whose name says something else is refused.

    Levels stand in the order in which they first appear; a categorical column of a frame or a
    Parquet file keeps the order of its categories.

    Labels read from CSV are text, exactly as written, but for one case: if no field of the file
    begins like a formula, an apostrophe before such a beginning (``'=A1``) is taken away. That is
    how :meth:`Table.write <cellbounds.Table.write>` and others make CSV safe for spreadsheets.

    Labels read from Excel are text too. Text cells stay as they are; numbers become their digits,
    with the zeros in front that a format such as ``000`` shows; dates become ``2024-01-31`` and
    truth values ``TRUE`` and ``FALSE``, whatever their format. Formulas count as their stored
    value. The first line that is not empty is the header, empty lines are skipped, hidden ones
    are not.

    Labels of frames and Parquet files keep their types.

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
        columns = read_columns(Path(source), encoding=encoding, delimiter=delimiter, sheet=sheet)
    elif sheet is not None:
        raise InvalidInput(f"sheet={sheet!r} goes with an Excel workbook; leave it out")
    else:
        columns = Columns("the frame", *frame_columns(source))
    header = list(columns.values)
    names = _variable_names(columns.where, header, count, variables)
    counts = None
    if count is not None:
        counts = _whole_numbers(columns, count, may_miss=structural == "missing")
    used = names if variables is None or count is None else [n for n in header if n != count]
    found = Domain({name: _levels(columns, name) for name in used})
    if found.size > DENSE_LIMIT:
        raise InvalidInput(
            f"{columns.where}: {found.size} cells are more than {DENSE_LIMIT}; choose fewer "
            "columns with variables=[...] or merge levels"
        )
    table = _tabulate(columns, found, counts, structural)
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
    columns: Columns,
    domain: Domain,
    counts: list[int | None] | None,
    structural: str | Iterable[Sequence[Label]] | None,
) -> Table:
    places = [
        [domain.position(name, label) for label in columns.values[name]] for name in domain.names
    ]
    flat = np.ravel_multi_index(tuple(map(np.array, places)), domain.shape)
    occurrences = np.bincount(flat, minlength=domain.size)
    if counts is None:
        whole = occurrences
    else:
        if occurrences.max(initial=0) > 1:
            twice = np.unravel_index(int(occurrences.argmax()), domain.shape)
            cell = domain.labels([int(place) for place in twice])
            raise InvalidInput(
                f"{columns.where}: the cell {cell} is listed more than once; list each cell once, "
                "or give count=None (--records) if lines are records"
            )
        whole = np.zeros(domain.size, dtype=object)
        whole[flat] = [number or 0 for number in counts]
        # A cell that is listed without a count is as good as not listed.
        occurrences[flat] = [number is not None for number in counts]
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


def _whole_numbers(columns: Columns, name: str, *, may_miss: bool) -> list[int | None]:
    # The value itself may be confidential: name the line only.
    whole: list[int | None] = []
    for line, value in enumerate(columns.values[name]):
        number: int | None = None
        missing = _is_missing(value) and not columns.note(name, line)
        if missing and may_miss:
            whole.append(None)
            continue
        if isinstance(value, str):
            match = _WHOLE.fullmatch(value)
            number = int(match[1]) if match else None
        elif isinstance(value, int | np.integer | float | Fraction | Decimal) and _is_whole(value):
            number = int(value)
        if number is None or number < 0:
            or_else = " or, for structural zeros, give structural='missing' (--structural)"
            raise InvalidInput(
                f"{columns.place(name, line)}: the count is not a whole number of 0 or more"
                f"{columns.note(name, line)}; write plain digits (weighted or rounded figures are "
                f"not counts){or_else if missing else ''}"
            )
        whole.append(number)
    return whole


def _is_whole(value: Any) -> bool:
    if isinstance(value, bool) or (isinstance(value, float | Decimal) and not math.isfinite(value)):
        return False
    return bool(value == int(value))


def _levels(columns: Columns, name: str) -> Sequence[Any]:
    """The levels of a column in order; each of its lines must have a label."""
    column = columns.values[name]
    for line, label in enumerate(column):
        if _is_missing(label):
            raise InvalidInput(
                f"{columns.place(name, line)}: no label for {name!r}{columns.note(name, line)}; "
                "give missing values a label of their own, such as 'unknown'"
                + (" (and take merged cells apart)" if columns.letters else "")
            )
    try:
        return columns.categories.get(name) or list(dict.fromkeys(column))
    except TypeError:
        raise InvalidInput(
            f"{columns.where}: {name!r} holds lists or other things that are no labels; give "
            "texts, numbers or dates, or choose other columns with variables=[...]"
        ) from None


def _is_missing(label: Any) -> bool:
    # pandas has markers of its own; comparing them with anything gives no truth value.
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    return bool(label == "" or (isinstance(label, float) and math.isnan(label)))
