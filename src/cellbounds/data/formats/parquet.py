"""Parquet files, through Arrow."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cellbounds.data.formats.kinds import SourceColumns
from cellbounds.data.frames import frame_columns
from cellbounds.errors import InvalidInput
from cellbounds.runtime.files import library

__all__ = ["ParquetBatches", "parquet_batches", "parquet_columns"]

_UNNAMED_INDEX = re.compile(r"__index_level_[0-9]+__")

_MANY = 2**12
"""Categories from which on a writer may have stored some of them elsewhere."""

_BATCH = 2**16
"""Lines at a time: a batch of a few columns is a few megabytes of Python values."""


def parquet_columns(path: Path, raw: bytes) -> SourceColumns:
    """Read the columns with their types; ordered categories (dictionaries) keep their order."""
    arrow = _arrow()
    with _careful(path):
        # Not `read_table`: it would add columns named in the path, as in `year=2024/`.
        file = _opened(arrow.BufferReader(raw))
        table = _with_text(file.read()).unify_dictionaries()
        table.validate(full=True)
    names = _names(path, table.schema)
    if not table.num_rows or not names:
        raise _no_lines(path)
    values, categories = frame_columns(table.select(names))
    return SourceColumns(str(path), values, categories)


@dataclass(frozen=True, slots=True)
class ParquetBatches:
    """A Parquet file that is read a batch at a time: its schema, its length, and its lines."""

    path: Path
    schema: Any
    names: list[str]
    lines: int

    def dictionary(self, name: str) -> list[Any]:
        """The ordered categories that a column declares, as they stand in its parts."""
        categories: dict[Any, None] = {}
        for batch in self._batches([name]):
            categories.update(dict.fromkeys(batch.column(0).dictionary.to_pylist()))
        return list(categories)

    def first_labels(self, names: Sequence[str]) -> dict[str, list[Any]]:
        """The categories that columns declare, or their labels in the first lines, in order.

        Categories are read where each part of the file begins: all of them stand there, unless
        there are so many that a writer ran out of room.
        """
        arrow = _arrow()
        labels_of: dict[str, dict[Any, None]] = {name: {} for name in names}
        declaring = self.declaring(names)
        others = [name for name in names if name not in declaring]
        with _careful(self.path):
            file = _opened(str(self.path))
            for part in range(file.num_row_groups if declaring else 0):
                read = file.iter_batches(1, row_groups=[part], columns=declaring, use_threads=False)
                for batch in itertools.islice(read, 1):
                    for name in declaring:
                        labels = batch.column(name).dictionary
                        labels_of[name].update(dict.fromkeys(labels.to_pylist()))
            read = file.iter_batches(_BATCH, columns=others) if others else ()
            for batch in itertools.islice(read, 1):
                table = _with_text(arrow.Table.from_batches([batch])).combine_chunks()
                for name in others:
                    labels = table.column(name).unique()
                    labels_of[name].update(dict.fromkeys(labels.to_pylist()))
        return {
            name: self.dictionary(name)
            if name in declaring and len(labels) >= _MANY
            else list(labels)
            for name, labels in labels_of.items()
        }

    def declaring(self, names: Sequence[str]) -> list[str]:
        """Those columns that declare categories."""
        arrow = _arrow()
        return [n for n in names if arrow.types.is_dictionary(self.schema.field(n).type)]

    def chunks(self, names: Sequence[str]) -> Iterator[SourceColumns]:
        """The columns with these names, with their types, a batch of lines at a time."""
        arrow = _arrow()
        start = 0
        for batch in self._batches(names):
            with _careful(self.path):
                table = _with_text(arrow.Table.from_batches([batch])).unify_dictionaries()
                table.validate(full=True)
            values, categories = frame_columns(table)
            yield SourceColumns(str(self.path), values, categories, start=start)
            start += batch.num_rows

    def _batches(self, names: Sequence[str]) -> Iterator[Any]:
        with _careful(self.path):
            file = _opened(str(self.path))
            yield from file.iter_batches(_BATCH, columns=list(names), use_threads=True)


def parquet_batches(path: Path) -> ParquetBatches:
    """What the end of a Parquet file says about its columns; nothing else is read."""
    with _careful(path):
        file = _opened(str(path))
        schema, lines = file.schema_arrow, file.metadata.num_rows
    return ParquetBatches(path, schema, _names(path, schema), lines)


def _arrow() -> Any:
    return library("pyarrow", needed_for="Parquet files", extra="parquet")


def _opened(source: Any) -> Any:
    parquet = library("pyarrow.parquet", needed_for="Parquet files", extra="parquet")
    return parquet.ParquetFile(source, page_checksum_verification=True)


@contextmanager
def _careful(path: Path) -> Iterator[None]:
    """Say of which file the library complains."""
    arrow = _arrow()
    try:
        yield
    except InvalidInput:
        raise
    except (arrow.ArrowException, OSError, ValueError) as problem:
        reason = (str(problem).splitlines() or ["no reason given"])[0][:200]
        raise InvalidInput(
            f"{path} is a damaged, unfinished or unusual Parquet file ({reason}); write it again, "
            "or read it into a data frame and pass that"
        ) from None


def _with_text(table: Any) -> Any:
    """The same table with text where a writer did not mark it as such."""
    arrow = _arrow()
    for place, column in enumerate(table.schema):
        if arrow.types.is_binary(column.type) or arrow.types.is_large_binary(column.type):
            text = table.column(place).cast(arrow.string())
            table = table.set_column(place, column.name, text)
    return table


def _names(path: Path, schema: Any) -> list[str]:
    names = list(schema.names)
    for name, times in Counter(names).items():
        if not name.strip() or times > 1:
            raise InvalidInput(
                f"{path}: column name {name!r} is empty or stands twice; give every column a name "
                "of its own"
            )
    # pandas stores the line numbers of a frame that was filtered or sorted.
    return [name for name in names if not _UNNAMED_INDEX.fullmatch(name)]


def _no_lines(path: Path) -> InvalidInput:
    return InvalidInput(f"{path} has no data lines; add one line for each cell")
