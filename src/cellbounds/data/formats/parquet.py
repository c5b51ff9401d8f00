"""Parquet files, through Arrow."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cellbounds.data.formats.arrow_columns import number_column, source_column
from cellbounds.data.formats.kinds import SourceColumns
from cellbounds.data.microdata.selection import Selection
from cellbounds.errors import InvalidInput
from cellbounds.runtime.files import library

_UNNAMED_INDEX = re.compile(r"__index_level_[0-9]+__")


@dataclass(frozen=True, slots=True)
class ParquetBatches:
    """A Parquet file that is read a batch at a time: its schema, and the lines of its row groups.

    `source` is what its bytes are read from: a path, or a buffer.
    """

    path: str
    source: Any
    schema: Any
    names: list[str]
    metadata: Any
    stamp: tuple[int, ...] | None

    @property
    def groups(self) -> list[int]:
        """The lines of each row group."""
        return [self.metadata.row_group(k).num_rows for k in range(self.metadata.num_row_groups)]

    def chunks(
        self, selection: Selection, group: int, start: int, lines: int
    ) -> Iterator[SourceColumns]:
        """The columns that are used, so many lines of a row group at a time."""
        self._check_unchanged()
        with _careful(self.path):
            # Texts come as numbers of labels, which is how they are stored.
            names = [name for name in self.names if _is_text(self.schema.field(name).type)]
            file = _opened(self.source, read_dictionary=names, metadata=self.metadata)
            batches = file.iter_batches(lines, row_groups=[group], columns=selection.columns)
            for batch in batches:
                columns = {name: batch.column(name) for name in selection.columns}
                values: dict[str, Any] = {
                    name: source_column(columns[name]) for name in selection.used
                }
                if selection.amount is not None:
                    values[selection.amount] = number_column(columns[selection.amount])
                yield SourceColumns(self.path, values, self._declared(columns), start=start)
                start += batch.num_rows
        self._check_unchanged()

    def _check_unchanged(self) -> None:
        if _stamp(self.source) != self.stamp:
            raise InvalidInput(f"{self.path} was changed while it was read; read it again")

    def _declared(self, columns: Mapping[str, Any]) -> dict[str, list[Any]]:
        """The categories of the columns that declare them."""
        types = _arrow().types
        return {
            name: column.dictionary.to_pylist()
            for name, column in columns.items()
            if types.is_dictionary(self.schema.field(name).type)
            and types.is_dictionary(column.type)
        }


def parquet_batches(path: str, source: Any) -> ParquetBatches:
    """What the end of a Parquet file says about its columns; nothing else is read."""
    stamp = _stamp(source)
    with _careful(path):
        file = _opened(source)
        schema, metadata = file.schema_arrow, file.metadata
    return ParquetBatches(path, source, schema, _names(path, schema), metadata, stamp)


def _stamp(source: Any) -> tuple[int, ...] | None:
    """What tells a file from one that took its place; None if it is not one, or gone."""
    if not isinstance(source, str | Path):
        return None
    try:
        state = Path(source).stat()
    except OSError:
        return None
    return state.st_ino, state.st_size, state.st_mtime_ns


def _is_text(type_: Any) -> bool:
    types = _arrow().types
    if types.is_dictionary(type_):
        return _is_text(type_.value_type)
    return bool(types.is_string(type_) or types.is_large_string(type_) or types.is_binary(type_))


def _arrow() -> Any:
    return library("pyarrow", needed_for="Parquet files", extra="parquet")


def _opened(source: Any, **options: Any) -> Any:
    parquet = library("pyarrow.parquet", needed_for="Parquet files", extra="parquet")
    stream = _arrow().BufferReader(source) if isinstance(source, bytes) else str(source)
    return parquet.ParquetFile(stream, page_checksum_verification=True, **options)


@contextmanager
def _careful(path: str) -> Iterator[None]:
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


def _names(path: str, schema: Any) -> list[str]:
    names = list(schema.names)
    for name, times in Counter(names).items():
        if not name.strip() or times > 1:
            raise InvalidInput(
                f"{path}: column name {name!r} is empty or stands twice; give every column a name "
                "of its own"
            )
    # pandas stores the line numbers of a frame that was filtered or sorted.
    return [name for name in names if not _UNNAMED_INDEX.fullmatch(name)]
