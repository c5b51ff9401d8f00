"""CSV files, read strictly."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

from cellbounds.errors import InvalidInput
from cellbounds.spreadsheets import is_safe, restored_cell
from cellbounds.table_files.kinds import Kind, bytes_of, kind_of

__all__ = ["read_csv_rows", "rows_of"]

_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def read_csv_rows(
    path: Path, *, encoding: str = "utf-8", delimiter: str = ","
) -> tuple[list[str], list[list[str]]]:
    """Read a CSV file strictly: a header of distinct names, rows of the same length, as text.

    If every field is as :func:`~cellbounds.spreadsheets.safe_cell` writes it, the apostrophes
    that it puts before what looks like a formula are taken away. One field that is not shows that
    the file was not written so, and then everything stays as it is.
    """
    return rows_of(path, bytes_of(path), encoding, delimiter)


def rows_of(
    path: Path, raw: bytes, encoding: str, delimiter: str
) -> tuple[list[str], list[list[str]]]:
    """The same, from what the file holds."""
    text = _text_of(path, raw, encoding)
    if len(delimiter) != 1:
        raise InvalidInput(f"delimiter {delimiter!r}; give one character, such as ',' or ';'")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        lines = [(reader.line_num, row) for row in reader if row]
    except csv.Error as problem:
        raise InvalidInput(f"{path} is not a CSV file: {problem}; check its quotes") from None
    if not lines:
        raise InvalidInput(f"{path} is empty; it needs a header line and one line for each cell")
    if "'" in text and all(is_safe(field) for _, row in lines for field in row):
        lines = [(number, [restored_cell(field) for field in row]) for number, row in lines]
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


def _text_of(path: Path, raw: bytes, encoding: str) -> str:
    if raw.startswith(b"\x1f\x8b"):
        try:
            raw = gzip.decompress(raw)
        except (OSError, EOFError):
            raise InvalidInput(f"{path} is a damaged gzip file; fetch or pack it again") from None
    kind = kind_of(path, raw)
    utf16 = raw.startswith(_UTF16) and not encoding.lower().startswith("utf-16")
    if kind is not Kind.TEXT or utf16:
        raise InvalidInput(
            f"{path} is {'UTF-16 text' if utf16 else kind.value}, not UTF-8 text; save it as CSV, "
            "or read it into a data frame and pass that"
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
