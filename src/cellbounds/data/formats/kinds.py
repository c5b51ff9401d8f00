"""What a file is: by its content, whatever its name says."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from cellbounds.errors import InvalidInput
from cellbounds.runtime.arrays import IntArray


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
