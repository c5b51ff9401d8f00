"""The right reader for a source: at once, a batch at a time, by DuckDB, or in an engine."""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from cellbounds.data.formats import (
    HEAD,
    Columns,
    Kind,
    check_name,
    check_options,
    kind_of,
    read_columns,
)
from cellbounds.data.frames import frame_columns
from cellbounds.data.microdata.asking import Asked
from cellbounds.data.microdata.engine import check_memory
from cellbounds.data.microdata.sources import Files, files_of, is_paths
from cellbounds.data.microdata.tally import Tally, tally_of
from cellbounds.errors import InvalidInput
from cellbounds.runtime.inputs import GZIP, limit

__all__ = ["Source", "source_of"]

LARGE_TEXT = 2**24
"""Bytes above which a CSV file is not read at once: its fields, as Python values, take fifteen
times the memory, and from this size on longer than DuckDB takes to start and read it."""

LARGE_PARQUET = 2**20
"""Values above which a Parquet file is not read at once, for the same reasons; they are packed, so
the size of the file says little."""


class Source(Protocol):
    """Something that lines can be counted in."""

    @property
    def where(self) -> str:
        """What it is, for messages."""

    @property
    def header(self) -> list[str]:
        """The names of its columns."""

    def tally(self, asked: Asked, memory: str | None) -> Tally:
        """How many there are in each cell that occurs."""


@dataclass(frozen=True, slots=True)
class _AtOnce:
    """A frame or a small file, all of whose values are at hand."""

    columns: Columns

    @property
    def where(self) -> str:
        return self.columns.where

    @property
    def header(self) -> list[str]:
        return list(self.columns.values)

    def tally(self, asked: Asked, memory: str | None) -> Tally:
        del memory  # there is no more to read
        return tally_of(self.where, [self.columns], asked)


def source_of(
    source: Any, *, encoding: str, delimiter: str, sheet: str | None, memory: str | None
) -> Source:
    """Look at a source; nothing but headers is read of what is large."""
    check_memory(memory)
    if isinstance(source, str | Path) or is_paths(source):
        found = files_of(source)
        if isinstance(found, Files):
            check_options(
                found.where, found.kind, encoding=encoding, delimiter=delimiter, sheet=sheet
            )
        else:
            large = _large(found, sheet=sheet, encoding=encoding, delimiter=delimiter)
            if large is None:
                return _AtOnce(
                    read_columns(found, encoding=encoding, delimiter=delimiter, sheet=sheet)
                )
            found = large
        return _batched(found, encoding=encoding, delimiter=delimiter)
    if sheet is not None:
        raise InvalidInput(f"sheet={sheet!r} goes with an Excel workbook; leave it out")
    from cellbounds.data.microdata.engines import engine_of

    return engine_of(source) or _AtOnce(Columns("the frame", *frame_columns(source)))


def _batched(files: Files, *, encoding: str, delimiter: str) -> Source:
    if files.kind is Kind.TEXT:
        from cellbounds.data.microdata.csv_files import csv_files

        return csv_files(files, encoding=encoding, delimiter=delimiter)
    from cellbounds.data.microdata.parquet_files import parquet_files

    return parquet_files(files)


def _large(path: Path, *, sheet: str | None, encoding: str, delimiter: str) -> Files | None:
    """A lone file as one of several, if it is too large to be read at once."""
    # What is no ordinary file, such as a pipe, can be read only once and from its beginning.
    if not path.is_file():
        return None
    try:
        with path.open("rb") as stream:
            head = stream.read(HEAD)
    except OSError:
        return None
    if head.startswith(b"PK"):
        return None
    kind = kind_of(path, head)
    size = _packed_size(path) if head.startswith(GZIP) else path.stat().st_size
    if kind is Kind.TEXT and size <= min(LARGE_TEXT, limit("bytes")):
        return None
    check_name(path, kind)
    check_options(str(path), kind, encoding=encoding, delimiter=delimiter, sheet=sheet)
    files = Files(str(path), (path,), kind)
    if kind is Kind.PARQUET:
        from cellbounds.data.microdata.parquet_files import parquet_files

        try:
            if parquet_files(files).values <= LARGE_PARQUET and size <= limit("bytes"):
                return None
        except InvalidInput:
            return None  # a damaged file: the reader of small ones says so
    return files


def _packed_size(path: Path) -> int:
    """How much a packed file holds, looked at as far as it is small: it may be a thousandfold."""
    size = 0
    try:
        with gzip.open(path) as stream:
            while size <= LARGE_TEXT and (part := stream.read(2**20)):
                size += len(part)
    except (OSError, EOFError, zlib.error):
        return size  # damaged: whoever reads it says so
    return size
