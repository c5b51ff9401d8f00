"""Parquet files, through Arrow."""

from __future__ import annotations

import re
from pathlib import Path

from cellbounds.errors import InvalidInput
from cellbounds.files import library
from cellbounds.frames import frame_columns
from cellbounds.table_files.columns import Columns

__all__ = ["parquet_columns"]

_UNNAMED_INDEX = re.compile(r"__index_level_[0-9]+__")


def parquet_columns(path: Path, raw: bytes) -> Columns:
    """Read the columns with their types; ordered categories (dictionaries) keep their order."""
    arrow = library("pyarrow", needed_for="Parquet files", extra="parquet")
    parquet = library("pyarrow.parquet", needed_for="Parquet files", extra="parquet")
    try:
        # Not `read_table`: it would add columns named in the path, as in `year=2024/`.
        file = parquet.ParquetFile(arrow.BufferReader(raw), page_checksum_verification=True)
        table = file.read()
        for place, column in enumerate(table.schema):
            # Some writers do not mark text as such.
            if arrow.types.is_binary(column.type) or arrow.types.is_large_binary(column.type):
                text = table.column(place).cast(arrow.string())
                table = table.set_column(place, column.name, text)
        table = table.unify_dictionaries()
        table.validate(full=True)
    except (arrow.ArrowException, OSError, ValueError) as problem:
        said = (str(problem).splitlines() or ["no reason given"])[0][:200]
        raise InvalidInput(
            f"{path} is a damaged, unfinished or unusual Parquet file ({said}); write it again, or "
            "read it into a data frame and pass that"
        ) from None
    names = table.column_names
    for name in names:
        if not name.strip() or names.count(name) > 1:
            raise InvalidInput(
                f"{path}: column name {name!r} is empty or stands twice; give every column a name "
                "of its own"
            )
    # pandas stores the line numbers of a frame that was filtered or sorted.
    table = table.drop_columns([name for name in names if _UNNAMED_INDEX.fullmatch(name)])
    if not table.num_rows or not table.num_columns:
        raise InvalidInput(f"{path} has no data lines; add one line for each cell")
    values, categories = frame_columns(table)
    return Columns(str(path), values, categories)
