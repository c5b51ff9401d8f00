"""Which files a path, a folder, a pattern or a list of them stands for."""

from __future__ import annotations

import glob
import gzip
import os
import stat
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

from cellbounds.data.formats.delimited import HEAD, rows_of
from cellbounds.data.formats.excel import excel_columns
from cellbounds.data.formats.kinds import Kind, SourceColumns, check_name, kind_of
from cellbounds.data.frames import frame_columns
from cellbounds.data.microdata.tally import Selection, Tally, check_size, counted_lines, rounded
from cellbounds.errors import InvalidInput
from cellbounds.runtime.inputs import GZIP, check_ordinary, limit, opened, read_bytes


def check_options(
    where: str, kind: Kind, *, encoding: str, delimiter: str, sheet: str | None
) -> None:
    """Refuse options that belong to files of another kind."""
    if sheet is not None and kind is not Kind.EXCEL:
        raise InvalidInput(
            f"sheet={sheet!r}, but {where} is no Excel workbook; leave sheet out (--sheet)"
        )
    if kind is not Kind.TEXT and (encoding.lower() not in ("utf-8", "utf8") or delimiter != ","):
        raise InvalidInput(
            f"{where} is {kind.value}: encoding and delimiter belong to CSV files; leave them out"
        )
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise InvalidInput(f"delimiter {delimiter!r}; give one character, such as ',' or ';'")


_TABLES = (".csv", ".csv.gz", ".parquet", ".pq")
"""What is read in a folder."""

_OTHERS = (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods", ".tsv", ".tsv.gz", ".feather", ".arrow")
"""What may be meant as a part of the table, but is not read there."""


def is_paths(source: Any) -> bool:
    """Whether a list is one of paths, and not of counts."""
    if not isinstance(source, list | tuple) or not source:
        return False
    if not all(isinstance(one, str | Path) for one in source):
        return False
    return not all(isinstance(one, str) and one.strip().isdigit() for one in source)


def holds_parquet(source: str | Path) -> bool:
    """Whether a file, or the first of a folder or a pattern, is a Parquet file by its first bytes.

    What cannot be read is none: reading it says why.
    """
    try:
        first = Path(source)
        if not first.is_file():
            first = _expanded(source)[0]
        return first.is_file() and _kind_in_parts(first, 0) is Kind.PARQUET
    except (InvalidInput, OSError):
        return False


def _expanded(source: str | Path) -> list[Path]:
    """The files that a path or a pattern names."""
    # An empty path would be the current folder, which nobody has named; a line break or the
    # like may stand in a name, but nothing after a NUL would be looked at.
    if not str(source).strip() or "\0" in str(source):
        raise InvalidInput(
            f"the name of a table is {str(source)!r}; name a file, a folder or a pattern"
        )
    path = Path(source)
    if path.is_dir():
        return _below(path)
    if path.exists() or not glob.has_magic(str(source)):
        return [path]
    # `Path.glob` would find hidden files, which a shell and this leave out.
    matches = glob.glob(str(source), recursive=True)  # noqa: PTH207 - absolute patterns too
    found = [Path(one) for one in sorted(matches)]
    files = [below for one in found for below in (_below(one) if one.is_dir() else [one])]
    if not files:
        raise InvalidInput(f"no file matches the pattern {str(source)!r}; correct it")
    # A pattern may name a folder and what is in it.
    return list(dict.fromkeys(files))


def _below(folder: Path) -> list[Path]:
    """The table files in a folder and the folders below, sorted by their paths."""
    found: list[Path] = []
    for root, folders, names in os.walk(folder, onerror=_unreadable):
        # Writers leave markers, logs and unfinished parts under such names.
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        found += [Path(root, name) for name in names if not name.startswith((".", "_"))]
    found.sort(key=lambda path: path.relative_to(folder).parts)
    odd = next((path for path in found if path.name.lower().endswith(_OTHERS)), None)
    if odd is not None:
        raise InvalidInput(
            f"{folder} holds {odd}; of a folder, only CSV files (.csv, .csv.gz) or Parquet files "
            "are read as one table. Move it elsewhere, or name the files by a pattern"
        )
    tables = [path for path in found if path.name.lower().endswith(_TABLES)]
    if not tables:
        raise InvalidInput(
            f"{folder} is a directory without any table file; it needs files that end in "
            f"{', '.join(_TABLES)}"
        )
    return tables


def _unreadable(problem: OSError) -> None:
    raise InvalidInput(f"{problem.filename} cannot be read: {problem.strerror}")


def _kind_of_all(where: str, paths: Sequence[Path]) -> Kind:
    """The kind of files that hold one table."""
    kinds: dict[Kind, Path] = {}
    for path in paths:
        if paths.count(path) > 1:
            raise InvalidInput(f"{where}: {path} is named twice; its records would count twice")
        kinds.setdefault(_kind(path), path)
    if Kind.EXCEL in kinds:
        raise InvalidInput(
            f"{where}: {kinds[Kind.EXCEL]} is an Excel workbook, which is read alone; save it as "
            "CSV or Parquet, or name it alone"
        )
    if len(kinds) > 1:
        raise InvalidInput(
            f"{where} holds CSV files ({kinds[Kind.TEXT]}) and Parquet files "
            f"({kinds[Kind.PARQUET]}); one table needs files of one kind: name them by a pattern"
        )
    return next(iter(kinds))


def _kind(path: Path) -> Kind:
    if not stat.S_ISREG(check_ordinary(path).st_mode):
        raise InvalidInput(f"{path} is a pipe, which is read alone; name it alone")
    with opened(path) as stream:
        head = stream.read(HEAD)
    if head.startswith(b"PK\x03\x04"):
        head = read_bytes(path)
    if not head:
        raise InvalidInput(
            f"{path} is empty; every file of a table needs its columns: take it away or write it "
            "again"
        )
    kind = kind_of(path, head)
    check_name(path, kind)
    return kind


def check_same_columns(
    first: Path | str, expected: Sequence[str], path: Path | str, header: Sequence[str]
) -> None:
    """Refuse a file with other columns than the first one; their order does not matter."""
    for has, lacks, name in (
        *((path, first, name) for name in header if name not in expected),
        *((first, path, name) for name in expected if name not in header),
    ):
        raise InvalidInput(
            f"{has} has a column {name!r}, but {lacks} has not; files of one table need the same "
            "columns"
        )


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is read at a time.

    Parameters
    ----------
    large
        Bytes from which on a CSV file is not read at once: its fields, as Python values, take
        fifteen times the memory, and Arrow starts and reads it faster.
    rows, block, lines
        Rows of a CSV file that Python reads at a time, bytes that Arrow reads at a time (a line
        is shorter), and lines of a Parquet file.
    quick
        Whether Arrow may read CSV files.
    """

    large: int = 2**24
    rows: int = 2**15
    block: int = 2**20
    lines: int = 2**17
    quick: bool = True


SIZES = Sizes()


class RecordSource(Protocol):
    """Something that lines can be counted in."""

    @property
    def where(self) -> str:
        """What it is, for messages."""

    @property
    def header(self) -> list[str]:
        """The names of its columns."""

    def tally(self, selection: Selection, memory: int | None) -> Tally:
        """How many there are in each cell that occurs, within so many bytes of memory."""


@dataclass(frozen=True, slots=True)
class _AtOnce:
    """A frame or a small file, all of whose values are at hand."""

    where: str
    header: list[str]
    columns: SourceColumns

    def tally(self, selection: Selection, memory: int | None) -> Tally:
        tally = counted_lines(self.where, self.columns, selection, {})
        check_size(tally, memory)
        return rounded(tally) if selection.rounded else tally


def source_of(
    source: Any, *, encoding: str, delimiter: str, sheet: str | None, sizes: Sizes = SIZES
) -> RecordSource:
    """Look at a source; nothing but headers is read of what is large."""
    # Of its class: a frame may have a column of this name.
    if hasattr(type(source), "tally"):
        return cast(RecordSource, source)
    if isinstance(source, str | Path) and Path(source).is_file():
        return _lone_file(Path(source), encoding, delimiter, sheet, sizes)
    if isinstance(source, str | Path) or is_paths(source):
        named = [source] if isinstance(source, str | Path) else source
        paths = [path for one in named for path in _expanded(one)]
        if paths == [Path(named[0])] and named[0] is source:
            return _lone_file(paths[0], encoding, delimiter, sheet, sizes)
        where = str(source) if named[0] is source else f"{len(named)} files from {named[0]}"
        kind = _kind_of_all(where, paths)
        check_options(where, kind, encoding=encoding, delimiter=delimiter, sheet=sheet)
        return _several(where, paths, kind, encoding, delimiter, sizes)
    if sheet is not None:
        raise InvalidInput(f"sheet={sheet!r} goes with an Excel workbook; leave it out")
    from cellbounds.data.microdata.lazy_frames import engine_of

    engine = engine_of(source)
    if engine is not None:
        return engine
    columns = SourceColumns("the frame", *frame_columns(source))
    return _AtOnce(columns.where, list(columns.values), columns)


def _several(
    where: str, paths: Sequence[Path], kind: Kind, encoding: str, delimiter: str, sizes: Sizes
) -> RecordSource:
    if kind is Kind.TEXT:
        from cellbounds.data.microdata.csv_files import csv_files

        return csv_files(where, paths, encoding=encoding, delimiter=delimiter, sizes=sizes)
    from cellbounds.data.microdata.parquet_files import parquet_files

    return parquet_files(where, [(str(path), path) for path in paths], sizes.lines)


def _lone_file(
    path: Path, encoding: str, delimiter: str, sheet: str | None, sizes: Sizes
) -> RecordSource:
    """A file that was named as such: read a part at a time if it is large."""
    raw = None
    # What is no ordinary file, such as a pipe, can be read only once and from its beginning.
    kind = _kind_in_parts(path, min(sizes.large, limit("bytes"))) if path.is_file() else None
    if kind is None:
        raw = read_bytes(path)
        kind = kind_of(path, raw)
    check_name(path, kind)
    check_options(str(path), kind, encoding=encoding, delimiter=delimiter, sheet=sheet)
    if kind is Kind.PARQUET:
        from cellbounds.data.microdata.parquet_files import parquet_files

        return parquet_files(str(path), [(str(path), path if raw is None else raw)], sizes.lines)
    if raw is None:
        return _several(str(path), [path], kind, encoding, delimiter, sizes)
    if kind is Kind.EXCEL:
        columns = excel_columns(path, raw, sheet)
    else:
        header, rows = rows_of(path, raw, encoding, delimiter)
        values = dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))
        columns = SourceColumns(str(path), values)
    return _AtOnce(columns.where, list(columns.values), columns)


def _kind_in_parts(path: Path, large: int) -> Kind | None:
    """The kind of a file that is read a part at a time; None if all of it is, or nobody may.

    Workbooks and texts up to a size are read at once.
    """
    try:
        with path.open("rb") as stream:
            head, size = stream.read(HEAD), os.fstat(stream.fileno()).st_size
    except OSError:
        return None
    kind = None if head.startswith(b"PK") else kind_of(path, head)
    if kind is Kind.TEXT:
        size = _unpacked_size(path, large) if head.startswith(GZIP) else size
    return None if kind is Kind.TEXT and size <= large else kind


def _unpacked_size(path: Path, most: int) -> int:
    """How much a packed file holds, looked at as far as it is small."""
    size = 0
    try:
        with gzip.open(path) as stream:
            while size <= most and (part := stream.read(2**20)):
                size += len(part)
    except (OSError, EOFError, zlib.error):
        return size  # damaged: whoever reads it says so
    return size
