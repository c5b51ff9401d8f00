"""Lines of fields in files of other tools: no header that can be relied on, any usual separator."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from cellbounds.errors import InvalidInput
from cellbounds.runtime.inputs import GZIP, read_bytes, unpacked

SEPARATORS = (";", ",", "\t", "|")

_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def read_text(path: str | Path) -> str:
    """The text of a file, in UTF-8 or, as Windows tools write it, in its western code page."""
    raw = read_bytes(path)
    return text_of(unpacked(path, raw) if raw.startswith(GZIP) else raw, str(path))


def text_of(raw: bytes, where: str) -> str:
    """Bytes as text: UTF-8, UTF-16 with its mark, otherwise Windows-1252."""
    try:
        text = raw.decode("utf-16" if raw.startswith(_UTF16) else "utf-8-sig")
    except UnicodeDecodeError:
        try:
            text = raw.decode("cp1252")
        except UnicodeDecodeError:
            raise InvalidInput(f"{where} is no text file; save it as UTF-8 text") from None
    if "\0" in text:
        raise InvalidInput(f"{where} is no text file (it has NUL bytes); save it as UTF-8 text")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def separator_of(text: str) -> str:
    """The separator that splits the first lines into equally many fields, at least two."""
    lines = [line for line in text.split("\n") if line.strip()][:20]
    best, most = SEPARATORS[0], 1
    for separator in SEPARATORS:
        widths = {len(row) for row in csv.reader(lines, delimiter=separator)}
        if len(widths) == 1 and max(widths) > most:
            best, most = separator, max(widths)
    if most > 1:
        return best
    counts = {separator: lines[0].count(separator) if lines else 0 for separator in SEPARATORS}
    return max(counts, key=lambda separator: counts[separator])


def delimited_lines(text: str, where: str, separator: str | None = None) -> list[list[str]]:
    r"""The fields of each line that is not empty; quotes are taken away, blanks inside them kept.

    Examples
    --------
    >>> delimited_lines('"Total";" 1";5\n', "table")
    [['Total', ' 1', '5']]
    """
    try:
        chosen = separator_of(text) if separator is None else separator
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=chosen, strict=True)
        lines = [row for row in reader if any(field.strip() for field in row)]
    except csv.Error as problem:
        raise InvalidInput(f"{where} cannot be read: {problem}; check its quotes") from None
    if not lines:
        raise InvalidInput(f"{where} is empty; fetch or write it again")
    return lines
