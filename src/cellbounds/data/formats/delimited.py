"""CSV files, read strictly."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from cellbounds.data.formats.kinds import HEAD, Kind, kind_of
from cellbounds.data.spreadsheets import is_safe, restored_cell
from cellbounds.errors import InvalidInput
from cellbounds.runtime.inputs import GZIP, damaged_gzip, opened, read_bytes, unpacked

LONGEST_LINE = 2**24
"""Characters of a line at most: a file without ends of lines would be one."""

_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def read_csv_rows(path: Path) -> tuple[list[str], list[list[str]]]:
    """Read a CSV file strictly: a header of distinct names, rows of the same length, as text.

    If every field is as :func:`~cellbounds.data.spreadsheets.safe_cell` writes it, the apostrophes
    that it puts before what looks like a formula are taken away. One field that is not shows that
    the file was not written so, and then everything stays as it is.
    """
    return rows_of(path, read_bytes(path), "utf-8", ",")


def rows_of(
    path: Path, raw: bytes, encoding: str, delimiter: str
) -> tuple[list[str], list[list[str]]]:
    """The same, from what the file holds."""
    if raw.startswith(GZIP):
        raw = unpacked(path, raw)
    _check_text(path, raw, encoding)
    try:
        text = raw.decode(codec_of(encoding))
    except UnicodeError as problem:
        # Some codecs do not say where.
        at = f"byte {problem.start}" if isinstance(problem, UnicodeDecodeError) else "somewhere"
        raise _not_encoded(path, encoding, at) from None
    if "\x00" in text:
        raise _binary(path)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    lines = list(_rows(path, reader, delimiter))
    if "'" in text and all(is_safe(field) for row in lines for field in row):
        lines = [[restored_cell(field) for field in row] for row in lines]
    if len(lines) == 1:
        raise InvalidInput(f"{path} has a header but no data lines; add one line for each cell")
    return lines[0], lines[1:]


@contextmanager
def csv_stream(
    path: Path, encoding: str, delimiter: str
) -> Iterator[tuple[list[str], Iterator[list[str]]]]:
    """The header and the rows of a file of any size, one after another, as strictly as above.

    Fields stay as they are written: whether apostrophes before formulas are to be taken away is
    known only at the end of a file. There may be no row at all.
    """
    try:
        with opened(path) as stream:
            packed = stream.peek(2).startswith(GZIP)
            plain: Any = gzip.GzipFile(fileobj=stream) if packed else stream
            _check_text(path, plain.peek(HEAD)[:HEAD], encoding)
            with io.TextIOWrapper(plain, encoding=codec_of(encoding), newline="") as text:
                reader = csv.reader(
                    _plain_lines(path, text, encoding), delimiter=delimiter, strict=True
                )
                rows = _rows(path, reader, delimiter)
                yield next(rows), rows
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise damaged_gzip(path) from None


def _rows(path: Path, reader: Any, delimiter: str) -> Iterator[list[str]]:
    """The header, which names every column, then rows that are as long; empty ones left out."""
    header: list[str] = []
    try:
        for row in reader:
            if row and not header:
                header = row
                if len(row) == 1 and delimiter == "," and (";" in row[0] or "\t" in row[0]):
                    separator = ";" if ";" in row[0] else "\\t"
                    raise InvalidInput(
                        f"{path}: its header has no comma; if columns are separated by "
                        f'{separator!r}, give delimiter="{separator}" (--delimiter)'
                    )
                for name, times in Counter(header).items():
                    if not name.strip() or times > 1:
                        raise InvalidInput(
                            f"{path}: column name {name!r} is empty or stands twice in the header; "
                            "give every column a name of its own"
                        )
            elif row and len(row) != len(header):
                raise InvalidInput(
                    f"{path}, line {reader.line_num}: {len(row)} fields, but the header has "
                    f"{len(header)}; put labels that contain the delimiter in double quotes"
                )
            if row:
                yield row
    except csv.Error as problem:
        raise InvalidInput(f"{path} is not a CSV file: {problem}; check its quotes") from None
    if not header:
        raise InvalidInput(f"{path} is empty; it needs a header line and one line for each cell")


def _plain_lines(path: Path, stream: io.TextIOWrapper, encoding: str) -> Iterator[str]:
    """Lines of text with their ends; a line break inside a label ends a line, too."""
    number = 0
    try:
        while line := stream.readline(LONGEST_LINE):
            number += 1
            if len(line) == LONGEST_LINE:
                raise InvalidInput(
                    f"{path}, line {number} has more than {LONGEST_LINE} characters; end lines "
                    "with a line break"
                )
            if "\x00" in line:
                raise _binary(path)
            yield line
    except UnicodeError:
        raise _not_encoded(path, encoding, f"after line {number}") from None


def _check_text(path: Path, raw: bytes, encoding: str) -> None:
    kind = kind_of(path, raw)
    utf16 = raw.startswith(_UTF16) and not encoding.lower().startswith("utf-16")
    if kind is not Kind.TEXT or utf16:
        raise InvalidInput(
            f"{path} is {'UTF-16 text' if utf16 else kind.value}, not UTF-8 text; save it as CSV, "
            "or read it into a data frame and pass that"
        )


def codec_of(encoding: str) -> str:
    """The name of a codec; of UTF-8 that which takes a byte order mark away."""
    try:
        with suppress(UnicodeDecodeError):  # a character may need more than one byte
            b"x".decode(encoding)
    except (LookupError, ValueError):
        raise InvalidInput(f"unknown encoding {encoding!r}; try 'utf-8' or 'latin-1'") from None
    return "utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding


def _binary(path: Path) -> InvalidInput:
    return InvalidInput(f"{path} holds binary data, not text; save it as CSV in UTF-8")


def _not_encoded(path: Path, encoding: str, where: str) -> InvalidInput:
    return InvalidInput(
        f"{path} is not {encoding} text ({where}); save it as UTF-8 or name its "
        'encoding, such as encoding="latin-1" (--encoding)'
    )
