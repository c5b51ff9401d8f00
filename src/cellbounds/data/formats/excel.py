"""Excel workbooks: one sheet, a header, then one line for each cell or record."""

from __future__ import annotations

import datetime
import io
import re
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

from cellbounds.data.formats.kinds import SourceColumns
from cellbounds.data.spreadsheets import column_letters, excel_restored
from cellbounds.errors import InvalidInput
from cellbounds.runtime.inputs import check_archive, check_cells, limit
from cellbounds.text import counted

_DAMAGED = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    OSError,
    ParseError,
    RuntimeError,
    TypeError,
    ValueError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What the library raises on files that are not as they should be."""

_FORMULA = re.compile(rb"<(?:\w+:)?f[\s/>]")
MOST_ROWS = 2**20
"""Rows of a sheet; numbers of rows beyond that are damaged, or meant to keep us busy."""

_PADDED = re.compile("0{2,}")
_DECIMALS = re.compile(r"(?:#,##)?0(?:\.(0+))?\s?(%?)(?:_\)|;.*)?")
"""Formats of decimals and percentages: how many decimals they show."""

NOISE = Decimal("1e-9")
"""How far a stored number may be from the one that was written: binary fractions are."""

_HIDING = re.compile(rb"<(?:\w+:)?(row|col)\s([^>]*?\bhidden\s*=\s*[\"'](?:1|true)[\"'][^>]*)>")
_PLACES = re.compile(rb"\b(r|min|max)\s*=\s*[\"']([0-9]{1,7})[\"']")
MOST_COLUMNS = 2**14
"""Columns of a sheet: where the last one ends that hides all others."""

_UNREAD = "is hidden and not read, but in the file"
MORE_DECIMALS = "it stores more decimals than it shows"
_UNCALCULATED = "it holds a formula without a stored value: open and save the workbook"


@dataclass(frozen=True, slots=True)
class _SheetCell:
    """One cell that is not empty: its text, or what is wrong with it."""

    text: str | None
    note: str = ""


_Grid = dict[int, dict[int, _SheetCell]]


def excel_columns(path: Path, raw: bytes, sheet: str | None) -> SourceColumns:
    """Read one sheet as text.

    Text stays as it is. Numbers become their digits (with the zeros in front that a format such
    as ``000`` shows), dates ``2024-01-31``, truth values ``TRUE`` and ``FALSE``; of a formula, its
    stored value counts. Empty lines are skipped. Hidden lines and columns are read.
    """
    import openpyxl

    with _careful(path):
        check_archive(path, raw)
        written = openpyxl.load_workbook(io.BytesIO(raw), read_only=True)
        filled = {
            sheet_written.title: next(_cells(path, sheet_written), None) is not None
            for sheet_written in written.worksheets
        }
    title = _chosen(path, filled, sheet)
    where = f"{path}, sheet {title!r}"
    with _careful(path):
        grid: _Grid = {}
        # Stored values and formulas come from two readings: a formula without a stored value must
        # not pass for an empty cell.
        for cell in _cells(path, written[title]) if _has_formulas(raw) else ():
            if cell.data_type == "f":
                grid.setdefault(cell.row, {})[cell.column] = _SheetCell(None, _UNCALCULATED)
        stored = openpyxl.load_workbook(io.BytesIO(raw), read_only=True, data_only=True)
        for cell in _cells(path, stored[title]):
            grid.setdefault(cell.row, {})[cell.column] = _found(cell)
    top, *below = sorted(grid)
    names = _header(where, top, grid[top])
    if not below:
        raise InvalidInput(f"{where} has a header but no data lines; add one line for each cell")
    values: dict[str, list[str | None]] = {name: [] for name in names.values()}
    notes: dict[tuple[str, int], str] = {}
    for line, row in enumerate(below):
        for column in grid[row]:
            if column not in names:
                raise InvalidInput(
                    f"{where}, cell {column_letters(column)}{row} stands outside the columns of "
                    f"the header in row {top}; name the column, or move notes to another sheet"
                )
        for column, name in names.items():
            cell_read = grid[row].get(column, _SheetCell(None))
            values[name].append(cell_read.text)
            if cell_read.note:
                notes[name, line] = cell_read.note
    letters = {name: column_letters(column) for column, name in names.items()}
    return SourceColumns(where, values, letters=letters, rows=below, notes=notes)


def excel_grids(
    path: Path, raw: bytes, sheet: str | None
) -> dict[str, tuple[list[list[str]], tuple[str, ...]]]:
    """The sheets that hold something, or one, as rows of text from the first row and column on.

    Of merged cells the first has the text. Values are read as :func:`excel_columns` reads them; a
    label that is indented has spaces in front. What is hidden is not read: sheets, unless named,
    rows and columns. Beside the rows stands what a reader should know of them.
    """
    import openpyxl

    with _careful(path):
        check_archive(path, raw)
        stored = openpyxl.load_workbook(io.BytesIO(raw), read_only=True, data_only=True)
        titles = [one.title for one in stored.worksheets]
        if sheet is not None and sheet not in titles:
            raise InvalidInput(
                f"{path} has no sheet {sheet!r}; its sheets are {', '.join(map(repr, titles))}"
            )
        shown = [one.title for one in stored.worksheets if one.sheet_state == "visible"]
        unseen = [title for title in titles if title not in shown] if sheet is None else []
        grids: dict[str, tuple[list[list[str]], tuple[str, ...]]] = {}
        for title in shown if sheet is None else [sheet]:
            out_of_sight = _hidden_parts(raw, stored[title])
            cells = {
                (cell.row, cell.column): _indented(cell)
                for cell in _cells(path, stored[title])
                if not out_of_sight.has(cell.row, cell.column)
            }
            for (row, column), found in cells.items():
                if found.text is None:
                    raise InvalidInput(
                        f"{path}, sheet {title!r}, cell {column_letters(column)}{row} cannot be "
                        f"read: {found.note}"
                    )
            if cells:
                said = out_of_sight.words + [f"the sheet {one!r} {_UNREAD}" for one in unseen]
                unseen = []
                more = sum(one.note == MORE_DECIMALS for one in cells.values())
                if more:
                    figures = counted(more, "figure")
                    said.append(f"the file stores more decimals of {figures} than it shows")
                rows = _laid_out({place: one.text or "" for place, one in cells.items()})
                grids[title] = rows, tuple(said)
        if _has_formulas(raw):
            _check_calculated(path, raw, {title: rows for title, (rows, _) in grids.items()})
    if not grids:
        raise InvalidInput(f"{path} is empty; it needs a table")
    return grids


@dataclass(frozen=True, slots=True)
class _OutOfSight:
    """The rows, and the first and the last of columns beside each other, that a sheet hides."""

    rows: frozenset[int]
    columns: tuple[tuple[int, int], ...]

    def has(self, row: int, column: int) -> bool:
        return row in self.rows or any(begin <= column <= end for begin, end in self.columns)

    @property
    def words(self) -> list[str]:
        said = []
        if self.rows:
            rows = counted(len(self.rows), "hidden row is", "hidden rows are")
            said.append(f"{rows} not read, but in the file")
        for begin, end in self.columns:
            letters = dict.fromkeys([column_letters(begin), column_letters(min(end, MOST_COLUMNS))])
            said.append(f"the hidden columns {'-'.join(letters)} are not read, but in the file")
        return said


def _hidden_parts(raw: bytes, sheet: Any) -> _OutOfSight:
    """What a sheet hides, read from its part of the file: the library does not say it so."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        part = archive.read(sheet._worksheet_path)  # checked before, as the whole archive
    rows, columns = set[int](), list[tuple[int, int]]()
    for tag, said in _HIDING.findall(part):
        values = {name: int(digits) for name, digits in _PLACES.findall(said)}
        if tag == b"row":
            rows.add(values[b"r"])
        else:
            columns.append((values[b"min"], values[b"max"]))
    return _OutOfSight(frozenset(rows), tuple(columns))


def _indented(cell: Any) -> _SheetCell:
    """A cell with the indent of its format as spaces: it says what stands below what."""
    found = _found(cell)
    if isinstance(cell.value, str) and cell.has_style and cell.alignment.indent:
        return _SheetCell(" " * int(cell.alignment.indent) + (found.text or ""), found.note)
    return found


def _laid_out(cells: dict[tuple[int, int], str]) -> list[list[str]]:
    rows, columns = (max(place[axis] for place in cells) for axis in (0, 1))
    check_cells(rows * columns, "a sheet")
    grid = [[""] * columns for _ in range(rows)]
    for (row, column), text in cells.items():
        grid[row - 1][column - 1] = text
    return grid


def _check_calculated(path: Path, raw: bytes, grids: dict[str, list[list[str]]]) -> None:
    """Refuse a formula without a stored value: it must not pass for an empty cell."""
    import openpyxl

    written = openpyxl.load_workbook(io.BytesIO(raw), read_only=True)
    for title in (one.title for one in written.worksheets if one.title in grids):
        grid = grids[title]
        for cell in _cells(path, written[title]):
            row, column = cell.row - 1, cell.column - 1
            stored = row < len(grid) and column < len(grid[row]) and grid[row][column]
            if cell.data_type == "f" and not stored:
                raise InvalidInput(
                    f"{path}, sheet {title!r}, cell {column_letters(cell.column)}{cell.row}: "
                    f"{_UNCALCULATED}"
                )


@contextmanager
def _careful(path: Path) -> Iterator[None]:
    """What the library says about files that are not as they should be, in our words."""
    with warnings.catch_warnings():
        # It also remarks on styles and extensions, which do not matter here.
        warnings.simplefilter("ignore", UserWarning)
        try:
            yield
        except InvalidInput:
            raise
        except _DAMAGED:
            raise InvalidInput(
                f"{path} is a damaged or unusual Excel workbook; open it, save it as .xlsx again, "
                "or save it as CSV"
            ) from None


def _cells(path: Path, sheet: Any) -> Iterator[Any]:
    """The cells of a sheet that are not empty."""
    sheet.reset_dimensions()  # some programs store wrong ones, which would cut the sheet
    cells, most = 0, limit("cells")
    for number, row in enumerate(sheet.iter_rows()):
        # Empty rows and cells up to the last one come too, however far away that is.
        cells += len(row)
        if number >= MOST_ROWS or cells > most:
            check_cells(cells, f"{path}, sheet {sheet.title!r}")
            raise ValueError  # no sheet has more rows
        yield from (cell for cell in row if cell.value not in (None, ""))


def _has_formulas(raw: bytes) -> bool:
    """Whether a workbook has any formulas: looking for them cell by cell takes much longer."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        parts = [name for name in archive.namelist() if name.endswith(".xml")]
        return any(_FORMULA.search(archive.read(name)) for name in parts)


def _found(cell: Any) -> _SheetCell:
    value = cell.value
    if cell.data_type == "e":
        return _SheetCell(None, f"it holds the error {value}")
    match value:
        case str():
            return _SheetCell(excel_restored(value))
        case bool():
            return _SheetCell("TRUE" if value else "FALSE")
        case int() | float():
            shown = _DECIMALS.fullmatch(str(cell.number_format))
            if shown and (shown[2] or value != int(value)):
                return _displayed(value, len(shown[1] or ""), shown[2])
            if value != int(value):
                return _SheetCell(repr(value))
            digits = str(int(value))
            padded = _PADDED.fullmatch(str(cell.number_format))
            return _SheetCell(digits.zfill(len(padded[0])) if padded else digits)
        case datetime.datetime() if value.time() == datetime.time():
            return _SheetCell(value.date().isoformat())
        case datetime.datetime():
            return _SheetCell(value.isoformat(" "))
    return _SheetCell(str(value))


def _displayed(value: float, decimals: int, sign: str) -> _SheetCell:
    """A number with the decimals that its format shows."""
    whole = Decimal(repr(value)) * (100 if sign else 1)
    shown = whole.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
    return _SheetCell(f"{shown}{sign}", MORE_DECIMALS if abs(whole - shown) > NOISE else "")


def _chosen(path: Path, filled: dict[str, bool], sheet: str | None) -> str:
    candidates = [title for title, is_filled in filled.items() if is_filled]
    if sheet is not None:
        if sheet not in filled:
            raise InvalidInput(
                f"{path} has no sheet {sheet!r}; its sheets are {', '.join(map(repr, filled))}"
            )
        if not filled[sheet]:
            raise InvalidInput(f"{path}, sheet {sheet!r} is empty; it needs a header and lines")
        return sheet
    if not candidates:
        raise InvalidInput(f"{path} is empty; it needs a header line and one line for each cell")
    if len(candidates) > 1:
        raise InvalidInput(
            f"{path} has several sheets: {', '.join(map(repr, candidates))}; choose one with "
            "sheet=... (--sheet)"
        )
    return candidates[0]


def _header(where: str, top: int, row: dict[int, _SheetCell]) -> dict[int, str]:
    names: dict[int, str] = {}
    for column in range(min(row), max(row) + 1):
        name = row.get(column, _SheetCell(None)).text
        address = f"{column_letters(column)}{top}"
        if name is None or not name.strip():
            raise InvalidInput(
                f"{where}, cell {address}: a column without a name; the first line must name every "
                "column (take titles away and merged cells apart)"
            )
        if name in names.values():
            raise InvalidInput(
                f"{where}, cell {address}: column name {name!r} stands twice in the header; give "
                "every column a name of its own"
            )
        names[column] = name
    return names
