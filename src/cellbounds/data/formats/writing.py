"""Tables of counts as CSV, Excel or Parquet files, each written whole."""

from __future__ import annotations

import csv
import datetime
import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cellbounds.data.spreadsheets import csv_text, write_excel
from cellbounds.errors import InvalidInput
from cellbounds.runtime.files import library, write_whole

Levels = Mapping[str, Sequence[Any]]

_UNWRITABLE = re.compile("[\x00\ud800-\udfff\ufeff]")
_TYPED = (int, bool, float, datetime.date)
"""Labels that Parquet keeps as they are; others become text."""


def write_counts(path: Path, levels: Levels, counts: Sequence[int | None], *, count: str) -> None:
    """Write one line for each cell, the last variable running fastest; None is an empty field.

    A new file is for its owner only: nothing says that the counts may be seen by others.
    """
    writers: dict[str, Callable[[Path, Levels, Sequence[int | None], str], None]] = {
        ".csv": _write_csv,
        ".xlsx": _write_excel,
        ".parquet": _write_parquet,
    }
    if path.suffix.lower() not in writers:
        raise InvalidInput(
            f"{path} does not say what to write; end the name in {', '.join(writers)}"
        )
    if count in levels or not count.strip() or _UNWRITABLE.search(count):
        raise InvalidInput(
            f"the column of counts would be named {count!r}, which is empty, unwritable or the "
            "name of a variable; give it another name with count=..."
        )
    writers[path.suffix.lower()](path, levels, counts, count)


def text_levels(levels: Levels) -> dict[str, list[str]]:
    """Labels as text, if text files can hold them and keep them apart."""
    texts = {name: [str(label) for label in labels] for name, labels in levels.items()}
    for name, labels in texts.items():
        if len(set(labels)) < len(labels):
            raise InvalidInput(
                f"variable {name!r} has levels that read the same as text; files hold labels as "
                "text, so rename one of them"
            )
        if not name.strip() or "" in labels:
            raise InvalidInput(f"variable {name!r} or one of its levels is empty text; rename it")
        for text in (name, *labels):
            if _UNWRITABLE.search(text):
                raise InvalidInput(
                    f"{text!r} has a character that a text file cannot hold; rename it"
                )
    return texts


def _write_csv(path: Path, levels: Levels, counts: Sequence[int | None], count: str) -> None:
    texts = text_levels(levels)
    longest = max((text for name, labels in texts.items() for text in (name, *labels)), key=len)
    # A guarded text may be twice as long, and the reader takes no longer fields.
    if 2 * len(longest) >= csv.field_size_limit():
        raise InvalidInput(
            f"the label {longest[:40]!r}... has {len(longest)} characters, too many for a CSV "
            "file; shorten it"
        )
    cells = itertools.product(*texts.values())
    rows = ((*labels, number) for labels, number in zip(cells, counts, strict=True))
    write_whole(path, csv_text([*texts, count], rows), private=True)


def _write_excel(path: Path, levels: Levels, counts: Sequence[int | None], count: str) -> None:
    texts = text_levels(levels)
    columns = zip(*itertools.product(*texts.values()), strict=True)
    table: dict[str, Sequence[object]] = dict(zip(texts, columns, strict=True))
    write_excel({"table": {**table, count: counts}}, path, private=True)


def _write_parquet(path: Path, levels: Levels, counts: Sequence[int | None], count: str) -> None:
    arrow = library("pyarrow", needed_for="Parquet files", extra="parquet")
    parquet = library("pyarrow.parquet", needed_for="Parquet files", extra="parquet")
    texts = text_levels(levels)
    shape = [len(labels) for labels in levels.values()]
    places = np.unravel_index(np.arange(math.prod(shape)), shape)
    columns: dict[str, Any] = {}
    for (name, labels), codes in zip(levels.items(), places, strict=True):
        if _is_typed(labels):
            columns[name] = arrow.array(labels).take(arrow.array(codes))
            continue
        # A dictionary keeps the order of the levels, whatever later readers do with the lines.
        columns[name] = arrow.DictionaryArray.from_arrays(
            arrow.array(codes.astype(np.int32)),
            arrow.array(texts[name], arrow.string()),
            ordered=True,
        )
    if any(number is not None and number >= 2**63 for number in counts):
        digits = [None if number is None else str(number) for number in counts]
        columns[count] = arrow.array(digits, arrow.string())
    else:
        columns[count] = arrow.array(list(counts), arrow.int64())
    stream = arrow.BufferOutputStream()
    parquet.write_table(arrow.table(columns), stream, write_page_checksum=True)
    write_whole(path, stream.getvalue().to_pybytes(), private=True)


def _is_typed(labels: Sequence[Any]) -> bool:
    kind = type(labels[0])
    if kind not in _TYPED or any(type(label) is not kind for label in labels):
        return False
    if kind is float:
        return all(map(math.isfinite, labels))
    return kind is not int or all(abs(label) < 2**63 for label in labels)
