"""Which files a name stands for, and what a file is: by its content, whatever its name says."""

from __future__ import annotations

import glob
import io
import os
import stat
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from cellbounds.errors import InvalidInput
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.inputs import check_ordinary, opened, read_bytes


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """A column as the numbers of its labels: `labels[codes[k]]` is the value of line k."""

    labels: Sequence[Any]
    codes: IntArray


@dataclass(frozen=True, slots=True)
class SourceColumns:
    """Values by column, as they were read.

    Parameters
    ----------
    where
        The file or frame, for messages.
    values
        The values of each column, one for each line; or a column as :class:`Coded`.
    categories
        The levels that a column declares, in order, where it does.
    letters, rows
        In a sheet, the letters of each column and the row of each line.
    notes
        What else there is to say about a value that cannot be used, by column and line.
    start
        How many lines of the same file stand before these.
    """

    where: str
    values: Mapping[str, Any]
    categories: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    letters: Mapping[str, str] = field(default_factory=dict)
    rows: Sequence[int] = ()
    notes: Mapping[tuple[str, int], str] = field(default_factory=dict)
    start: int = 0

    def place(self, name: str, line: int) -> str:
        """Where the value of a column on a line (counted from 0) stands."""
        if name in self.letters:
            return f"{self.where}, cell {self.letters[name]}{self.rows[line]}"
        return f"{self.where}, data line {self.start + line + 1}"

    def note(self, name: str, line: int) -> str:
        """A remark in brackets on that value, or nothing."""
        remark = self.notes.get((name, line))
        return f" ({remark})" if remark else ""


class Kind(Enum):
    """Kinds of files that hold tables."""

    TEXT = "text"
    EXCEL = "an Excel workbook"
    PARQUET = "a Parquet file"


HEAD = 4096
"""So many bytes tell what kind of file it is."""

_ENDINGS = {
    ".csv": Kind.TEXT,
    ".tsv": Kind.TEXT,
    ".txt": Kind.TEXT,
    ".xlsx": Kind.EXCEL,
    ".xlsm": Kind.EXCEL,
    ".parquet": Kind.PARQUET,
    ".pq": Kind.PARQUET,
}

_RENAMED = {
    Kind.TEXT: "name it .csv if it is a CSV file, or fetch the right file",
    Kind.EXCEL: "name it .xlsx, or save it as CSV",
    Kind.PARQUET: "name it .parquet, or read it into a data frame and pass that",
}

_REFUSED = {
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": (
        "an old Excel file (.xls) or a workbook with a password",
        "save it as .xlsx without a password, or as CSV",
    ),
    b"PARE": ("an encrypted Parquet file", "write it without encryption"),
    b"ARROW1": ("an Arrow (Feather) file", "read it into a data frame and pass that"),
    b"%PDF": ("a PDF document", "give the table behind it, as CSV or Excel"),
}

_MARKUP = (b"<!doctype", b"<html", b"<head", b"<body", b"<table", b"<?xml", b"<meta")


def kind_of(path: Path, raw: bytes) -> Kind:
    """The kind of a file with this content; what cannot be a table is refused."""
    if raw.startswith(b"PAR1"):
        return Kind.PARQUET
    if raw.startswith(b"PK\x03\x04"):
        return _zipped(path, raw)
    for magic, (what, remedy) in _REFUSED.items():
        if raw.startswith(magic):
            raise InvalidInput(f"{path} is {what}, which is not read; {remedy}")
    if raw[:400].removeprefix(b"\xef\xbb\xbf").lstrip().lower().startswith(_MARKUP):
        raise InvalidInput(
            f"{path} is a web page or another XML document, not a table (perhaps an error page "
            "instead of the download); fetch it again, or save it as CSV"
        )
    return Kind.TEXT


def _zipped(path: Path, raw: bytes) -> Kind:
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            names = set(archive.namelist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        raise InvalidInput(
            f"{path} is a damaged Excel workbook or zip archive; fetch it or save it again, or "
            "save it as CSV"
        ) from None
    if "xl/workbook.xml" in names:
        return Kind.EXCEL
    what = "a zip archive: unpack it and give one file"
    if "xl/workbook.bin" in names:
        what = "a binary Excel workbook (.xlsb): save it as .xlsx or CSV"
    elif {"mimetype", "content.xml"} <= names:
        what = "an OpenDocument file (.ods): save it as .xlsx or CSV"
    raise InvalidInput(f"{path} is {what}")


def check_name(path: Path, kind: Kind) -> None:
    """Refuse a file whose name says something else than its content: one of them is a mistake."""
    named_kind = _ENDINGS.get(path.suffix.lower(), kind)
    if named_kind is not kind:
        named = "a CSV file" if named_kind is Kind.TEXT else named_kind.value
        raise InvalidInput(f"{path} is {kind.value}, but its name says {named}; {_RENAMED[kind]}")


_TABLES = (".csv", ".csv.gz", ".parquet", ".pq")
"""What is read in a folder."""

_OTHERS = (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods", ".tsv", ".tsv.gz", ".feather", ".arrow")
"""What may be meant as a part of the table, but is not read there."""


def files_named(source: str | Path) -> list[Path]:
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
    paths = [Path(name) for name in sorted(matches)]
    files = [below for path in paths for below in (_below(path) if path.is_dir() else [path])]
    if not files:
        raise InvalidInput(f"no file matches the pattern {str(source)!r}; correct it")
    # A pattern may name a folder and what is in it.
    return list(dict.fromkeys(files))


def _below(folder: Path) -> list[Path]:
    """The table files in a folder and the folders below, sorted by their paths."""
    files: list[Path] = []
    for root, folders, names in os.walk(folder, onerror=_unreadable):
        # Writers leave markers, logs and unfinished parts under such names.
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        files += [Path(root, name) for name in names if not name.startswith((".", "_"))]
    files.sort(key=lambda path: path.relative_to(folder).parts)
    odd = next((path for path in files if path.name.lower().endswith(_OTHERS)), None)
    if odd is not None:
        raise InvalidInput(
            f"{folder} holds {odd}; of a folder, only CSV files (.csv, .csv.gz) or Parquet files "
            "are read as one table. Move it elsewhere, or name the files by a pattern"
        )
    tables = [path for path in files if path.name.lower().endswith(_TABLES)]
    if not tables:
        raise InvalidInput(
            f"{folder} is a directory without any table file; it needs files that end in "
            f"{', '.join(_TABLES)}"
        )
    return tables


def _unreadable(problem: OSError) -> None:
    raise InvalidInput(f"{problem.filename} cannot be read: {problem.strerror}")


def kind_of_all(where: str, paths: Sequence[Path]) -> Kind:
    """The kind of files that hold one table."""
    kinds: dict[Kind, Path] = {}
    for path in paths:
        if paths.count(path) > 1:
            raise InvalidInput(f"{where}: {path} is named twice; its records would count twice")
        if not stat.S_ISREG(check_ordinary(path).st_mode):
            raise InvalidInput(f"{path} is a pipe, which is read alone; name it alone")
        with opened(path) as stream:
            head = stream.read(HEAD)
        if head.startswith(b"PK\x03\x04"):
            head = read_bytes(path)
        if not head:
            raise InvalidInput(
                f"{path} is empty; every file of a table needs its columns: take it away or write "
                "it again"
            )
        kind = kind_of(path, head)
        check_name(path, kind)
        kinds.setdefault(kind, path)
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
