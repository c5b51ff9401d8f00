"""Sheets of any origin as rows of text: CSV, Excel, OpenDocument, HTML, Parquet, data frames."""

from __future__ import annotations

import codecs
import csv
import io
import math
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from cellbounds.data.formats.delimited import codec_of
from cellbounds.data.formats.excel import excel_grids
from cellbounds.data.formats.kinds import Kind, check_name, kind_of
from cellbounds.data.frames import frame_columns
from cellbounds.data.spreadsheets import is_safe, restored_cell
from cellbounds.errors import InvalidInput
from cellbounds.runtime.inputs import GZIP, check_archive, check_cells, read_bytes, unpacked

_DELIMITERS = ",;\t|"

_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"

_MARKUP = (b"<!doctype html", b"<html", b"<head", b"<body", b"<table", b"<div", b"<style")

WIDEST = 2**14
"""Columns of a sheet, and cells that one cell spans: what says more is damaged."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows of text, of any length.

    Attributes
    ----------
    where
        The file and the sheet, for messages.
    rows
        The texts; an empty one for a cell that is empty or covered by a merged one.
    header, index
        How many rows are the header and how many columns the index, where the source says so.
    title
        What the source itself calls the table.
    column_names
        The names of the variables in the header rows, where the source says so.
    notes
        What a reader should know of the figures.
    """

    where: str
    rows: list[list[str]]
    header: int | None = None
    index: int | None = None
    title: str = ""
    column_names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def grids_of(
    source: Any, *, encoding: str = "utf-8", delimiter: str | None = None, sheet: str | None = None
) -> list[Grid]:
    """Everything in a source that may hold a table."""
    if isinstance(source, str | Path):
        return _file(Path(source), encoding, delimiter, sheet)
    # Of its class: a frame may have a column of this name.
    if hasattr(type(source), "as_raw_html"):
        return _html("the table", source.as_raw_html())
    return [_frame(source)]


def _file(path: Path, encoding: str, delimiter: str | None, sheet: str | None) -> list[Grid]:
    raw = read_bytes(path)
    if raw.startswith(GZIP):
        raw = unpacked(path, raw)
    if not raw.strip():
        raise InvalidInput(f"{path} is empty; it needs a table")
    if raw.startswith(b"PK\x03\x04") and _is_opendocument(raw):
        return _opendocument(path, raw, sheet)
    begin = raw[:400].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if begin.startswith(_MARKUP):
        return _html(str(path), _decoded(path, raw, encoding))
    kind = kind_of(path, raw)
    check_name(path, kind)
    if sheet is not None and kind is not Kind.EXCEL:
        raise InvalidInput(f"sheet={sheet!r}, but {path} is no workbook; leave it out (--sheet)")
    if kind is Kind.EXCEL:
        grids = excel_grids(path, raw, sheet)
        return [
            Grid(f"{path}, sheet {title!r}", rows, notes=notes)
            for title, (rows, notes) in grids.items()
        ]
    if kind is Kind.PARQUET:
        import pyarrow.parquet

        try:
            return [_parquet(pyarrow.parquet.read_table(io.BytesIO(raw)), str(path))]
        except (pyarrow.ArrowException, OSError, ValueError):
            raise InvalidInput(f"{path} is a damaged Parquet file; write it again") from None
    return [Grid(str(path), _delimited(path, _decoded(path, raw, encoding), delimiter))]


def _parquet(table: Any, where: str) -> Grid:
    """A table of a file; what was the index of a frame stands last there, and names the rows."""
    stored = (table.schema.pandas_metadata or {}).get("index_columns", [])
    index = [name for name in stored if name in table.column_names]
    rest = [name for name in table.column_names if name not in index]
    return replace(_frame(table.select([*index, *rest]), where), index=len(index) or None)


def _decoded(path: Path, raw: bytes, encoding: str) -> str:
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"  # as Excel saves "Unicode text"
    try:
        text = raw.decode(codec_of(encoding))
    except UnicodeError:
        raise InvalidInput(
            f"{path} is not {encoding} text; give its encoding, such as 'latin-1' (--encoding)"
        ) from None
    if "\x00" in text:
        raise InvalidInput(f"{path} is no text (it has NUL characters); save it as CSV")
    return text


def _delimited(path: Path, text: str, delimiter: str | None) -> list[list[str]]:
    """The rows of a CSV file; titles and notes make them differ in length."""
    lines = text.splitlines()[:200]
    if delimiter is None:
        # The one that most lines have equally often; titles and notes have others by chance.
        delimiter = max(_DELIMITERS, key=lambda mark: _agreement(lines, mark))
    elif len(delimiter) != 1 or delimiter in '"\r\n':
        raise InvalidInput(f"delimiter {delimiter!r}; give one character, such as ',' or ';'")
    rows: list[list[str]] = []
    cells = 0
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True):
            cells += len(row)
            check_cells(cells, path)
            rows.append(row)
    except csv.Error as problem:
        raise InvalidInput(f"{path} is not a CSV file: {problem}; check its quotes") from None
    if "'" in text and all(is_safe(field) for row in rows for field in row):
        rows = [[restored_cell(field) for field in row] for row in rows]
    return rows


def _agreement(lines: Sequence[str], mark: str) -> tuple[int, int]:
    counts = [line.count(mark) for line in lines if line.strip()]
    usual = max(set(counts) - {0}, key=counts.count, default=0)
    return (counts.count(usual) if usual else 0), usual


def _is_opendocument(raw: bytes) -> bool:
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            return {"mimetype", "content.xml"} <= set(archive.namelist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        return False  # whoever reads it says so


def _opendocument(path: Path, raw: bytes, sheet: str | None) -> list[Grid]:
    damaged = InvalidInput(f"{path} is a damaged OpenDocument file; save it again, or as .xlsx")
    try:
        check_archive(path, raw)
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            content = archive.read("content.xml")
        if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
            raise damaged  # no office program writes any, and entities can grow without end
        root = ElementTree.fromstring(content)
        grids = [
            Grid(f"{path}, sheet {name!r}", rows)
            for table in root.iter(f"{_TABLE}table")
            if sheet in (None, name := table.get(f"{_TABLE}name", ""))
            if (rows := list(_opendocument_rows(path, table)))
        ]
    except (ElementTree.ParseError, zipfile.BadZipFile, zlib.error, ValueError, KeyError, EOFError):
        raise damaged from None
    except (RuntimeError, NotImplementedError):
        raise InvalidInput(f"{path} has a password or an unusual form; save it again") from None
    if not grids:
        what = "no table" if sheet is None else f"no sheet {sheet!r}"
        raise InvalidInput(f"{path} holds {what}; name one that is there")
    return grids


def _opendocument_rows(path: Path, table: Any) -> Iterator[list[str]]:
    cells = blank = 0
    for row in table.iter(f"{_TABLE}table-row"):
        texts: list[str] = []
        for cell in row:
            if cell.tag not in (f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell"):
                continue
            text = _opendocument_text(cell)
            times = int(cell.get(f"{_TABLE}number-columns-repeated", "1"))
            if text and len(texts) + times > WIDEST:
                raise ValueError
            texts += [text] * min(times, WIDEST - len(texts))
        while texts and not texts[-1]:
            texts.pop()
        repeated = int(row.get(f"{_TABLE}number-rows-repeated", "1"))
        if not texts:
            blank += 1  # the rows that a sheet ends with are one, repeated a million times
            continue
        cells += (len(texts) + 1) * repeated
        check_cells(cells, path)
        yield from ([[]] if blank else [])
        yield from ([texts] * repeated)
        blank = 0


def _opendocument_text(cell: Any) -> str:
    """A number as it is stored, whatever its format shows; else the text, line by line."""
    if cell.get(f"{_OFFICE}value-type") == "float":
        return str(cell.get(f"{_OFFICE}value", ""))
    return "\n".join("".join(part.itertext()) for part in cell.iter(f"{_TEXT}p"))


_RAISED, _LOWERED = "\ue000", "\ue001"
"""Where raised text begins and ends: characters that no page has, as nobody has defined them."""

_FOOTNOTE = re.compile(f"{_RAISED}([^{_LOWERED}]*){_LOWERED}?")


def _bracketed(found: re.Match[str]) -> str:
    """Raised text in brackets, unless it has some, or is none."""
    text = found[1].strip(f" []{_RAISED}{_LOWERED}")
    return f"[{text}]" if text else ""


class _Tables(HTMLParser):
    """The tables of a page; a table inside a cell is text of that cell."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, list[list[str]], int | None]] = []
        self._depth = 0
        self._cells: dict[tuple[int, int], str] = {}
        self._begun: dict[int, list[int]] = {}
        self._row = self._column = -1
        self._text: list[str] | None = None
        self._where = ""
        self._heads = 0
        self._in_head = False
        self._caption = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self._depth += 1
            if self._depth == 1:
                self._cells, self._begun = {}, {}
                self._row, self._heads, self._caption = -1, 0, ""
        if self._depth != 1:
            return
        if tag in ("thead", "tbody"):
            self._in_head = tag == "thead"
        elif tag == "tr":
            self._end_cell()
            self._row, self._column = self._row + 1, -1
            self._heads += self._in_head
        elif tag in ("td", "th"):
            self._end_cell()
            self._begin_cell(dict(attrs))
        elif tag == "caption":
            self._text, self._where = [], "caption"
        elif tag == "br" and self._text is not None:
            self._text.append(" ")
        elif tag == "sup" and self._text is not None:
            self._text.append(_RAISED)  # else the mark of a footnote would be a digit of the number

    def _begin_cell(self, spans: dict[str, str | None]) -> None:
        self._row = max(self._row, 0)
        self._column += 1
        while (self._row, self._column) in self._cells:
            self._column += 1
        wide, high = (_span(spans.get(name)) for name in ("colspan", "rowspan"))
        check_cells(len(self._cells) + wide * high, "the page")
        self._begun.setdefault(self._row, []).append(wide)
        for row in range(high):
            for column in range(wide):
                self._cells[self._row + row, self._column + column] = ""
        self._text, self._where = [], "cell"

    def _end_cell(self) -> None:
        if self._text is None:
            return
        raw = _FOOTNOTE.sub(_bracketed, "".join(self._text)).strip(" \t\r\n\f")
        indent = " " * (len(raw) - len(raw.lstrip()))  # spaces that do not break
        text = indent + " ".join(raw.split())
        if self._where == "cell":
            self._cells[self._row, self._column] = text
        else:
            self._caption = text
        self._text = None

    def handle_endtag(self, tag: str) -> None:
        if self._depth == 1 and tag in ("td", "th", "tr", "caption", "table"):
            self._end_cell()
        if tag == "sup" and self._text is not None and self._depth == 1:
            self._text.append(_LOWERED)
        if tag == "thead":
            self._in_head = False
        if tag == "table" and self._depth:
            self._depth -= 1
            if not self._depth and self._cells:
                self.found.append(self._laid_out())

    def _laid_out(self) -> tuple[str, list[list[str]], int | None]:
        """The title, the rows, and how many of them are the header.

        A row of one cell as wide as the table is a title above it, or a note below.
        """
        rows, columns = (max(place[axis] for place in self._cells) + 1 for axis in (0, 1))
        check_cells(rows * columns, "the page")
        grid = [[""] * columns for _ in range(rows)]
        for (row, column), text in self._cells.items():
            grid[row][column] = text
        alone = [columns > 1 and self._begun.get(row) == [columns] for row in range(rows)]
        first = next((row for row in range(rows) if not alone[row]), 0)
        last = next((row for row in reversed(range(rows)) if not alone[row]), rows - 1)
        titles = [self._caption, *(row[0] for row in grid[:first])]
        heads = max(self._heads - first, 0) or None
        return " ".join(filter(None, titles)), grid[first : last + 1], heads

    def handle_data(self, data: str) -> None:
        if self._text is not None:
            self._text.append(data)


def _span(text: str | None) -> int:
    number = int(text) if text and text.isascii() and text.isdecimal() and len(text) < 6 else 1
    return min(max(number, 1), WIDEST)


def _html(where: str, text: str) -> list[Grid]:
    parser = _Tables()
    try:
        parser.feed(text)
        parser.close()
    except AssertionError:  # what the parser says to malformed declarations
        raise InvalidInput(f"{where} is a damaged web page; save the table as CSV") from None
    if not parser.found:
        raise InvalidInput(
            f"{where} is a web page without a table (perhaps an error page instead of the "
            "download); fetch it again, or save the table as CSV"
        )
    several = len(parser.found) > 1
    return [
        Grid(f"{where}, table {number}" if several else where, rows, header=heads, title=caption)
        for number, (caption, rows, heads) in enumerate(parser.found, start=1)
    ]


def _frame(frame: Any, where: str = "the frame") -> Grid:
    """A frame with its header and, of pandas, its index."""
    if type(frame).__module__.partition(".")[0] == "pandas":
        return _pandas(frame)
    columns, _ = frame_columns(frame)
    rows = [list(columns), *zip(*columns.values(), strict=True)]
    return Grid(where, [list(map(_plain, row)) for row in rows], header=1)


def _pandas(frame: Any) -> Grid:
    if hasattr(frame, "to_frame") and not hasattr(frame, "columns"):
        frame = frame.to_frame("count" if frame.name is None else str(frame.name))
    if not hasattr(frame, "columns"):
        raise InvalidInput(f"a {type(frame).__name__} is no table; give a frame or a series")
    index, header = frame.index, frame.columns
    named = any(name is not None for name in index.names)
    plain = index.nlevels == 1 and not named and list(index) == list(range(len(frame)))
    levels = 0 if plain else index.nlevels
    names = [_plain(name) for name in index.names] if levels else []
    rows: list[list[str]] = []
    for level in range(header.nlevels):
        labels = [_plain(label) for label in header.get_level_values(level)]
        rows.append([*(names if level + 1 == header.nlevels else [""] * levels), *labels])
    for place, values in enumerate(frame.itertuples(index=False, name=None)):
        labels = [] if plain else [_plain(index.get_level_values(k)[place]) for k in range(levels)]
        rows.append([*labels, *map(_plain, values)])
    check_cells(len(rows) * len(rows[0]), "the frame")
    spoken = tuple("" if name is None else str(name) for name in header.names)
    known = spoken if any(spoken) else ()
    return Grid("the frame", rows, header=header.nlevels, index=levels or None, column_names=known)


def _plain(value: Any) -> str:
    """A value of a frame as text: nothing for what is missing, digits for whole numbers."""
    try:
        missing = value is None or bool(value != value)  # a NaN is not itself
    except TypeError:  # pandas' own missing value refuses to say
        missing = True
    if missing:
        return ""
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        return str(int(value))
    return str(value)
