"""What people open in a spreadsheet: CSV without formulas, and Excel workbooks.

A spreadsheet takes text that begins with ``=``, ``+``, ``-`` or ``@`` for a formula, in a CSV file
even if it stands in quotes. Whoever chooses a label would run formulas on the reader's machine.
"""

from __future__ import annotations

import datetime
import io
import math
import numbers
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import chain, islice
from pathlib import Path

from cellbounds.errors import InvalidInput
from cellbounds.runtime.files import write_whole

# Spaces, quotes and invisible characters: programs skip some of them before they look for "=".
_SKIPPED = (
    "[\x00-\x08\x0b\x0c\x0e-\x20\x22\x27\x7f\x85\xa0\xad\u1680\u2000-\u200f\u2028-\u202f"
    "\u205f-\u206f\u3000\ufeff]*"
)
_FORMULA = "[=+\\-@\uff1d\uff0b\uff0d\uff20]"
# Where the spreadsheet's own separator is another one, a cell also begins behind it.
_START = r"(?:\A|(?<=[;\t\r\n]))"
_DANGER = re.compile(rf"{_START}(?={_SKIPPED}{_FORMULA})|\A(?='*[\t\r\n])")
_GUARD = re.compile(rf"{_START}'(?={_SKIPPED}{_FORMULA})|\A'(?='*[\t\r\n])")
_NUMBER = re.compile(r"'*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")

_UNSTORABLE = re.compile("[\x00\ud800-\udfff\ufffe\uffff]")

MOST_ROWS, MOST_COLUMNS, LONGEST = 1_048_576, 16_384, 32_767
"""Rows and columns of a sheet, characters of a cell: Excel's limits."""

EXACT_DIGITS = 10**15
"""Spreadsheets keep 15 digits of a number; larger whole numbers are written as text."""

_WIDEST = 60

DATE = datetime.datetime(1980, 1, 1)
"""When a workbook says it was made: the first day that its archive can name."""


PROLOGUE = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
SHEETS = "application/vnd.openxmlformats-officedocument.spreadsheetml"

BOLD, QUOTED = 1, 2
"""What the number of a style adds up to."""

STYLES = (
    f'<styleSheet xmlns="{MAIN}"><fonts count="2">'
    '<font><sz val="11"/><name val="Calibri"/><family val="2"/></font>'
    '<font><b/><sz val="11"/><name val="Calibri"/><family val="2"/></font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill>'
    '<fill><patternFill patternType="gray125"/></fill></fills>'
    '<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>'
    '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>'
    '<cellXfs count="4">'
    + "".join(
        f'<xf numFmtId="0" fontId="{bold}" fillId="0" borderId="0" xfId="0" '
        f'applyFont="{bold}" quotePrefix="{quoted}"/>'
        for quoted in (0, 1)
        for bold in (0, 1)
    )
    + '</cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/>'
    "</cellStyles></styleSheet>"
)

_QUOTED = re.compile(r"[\s\"',;\ufeff]")
"""Characters that make quotes necessary, or wise: readers differ about them."""


def safe_cell(text: str) -> str:
    """A text that no spreadsheet takes for a formula; :func:`restored_cell` is its inverse.

    An apostrophe goes before a text that begins with ``= + - @`` (or their full-width forms,
    perhaps behind spaces, quotes or apostrophes), a tab or a line end; and likewise inside, behind
    each ``;``, tab or line end, where a spreadsheet with another separator begins a new cell.
    Plain numbers stay as they are.

    Notes
    -----
    Whether a place needs an apostrophe does not depend on how many stand there already, so each
    such place gets one more and restoring takes one away: different texts stay different, and
    every text comes back, also one that begins with apostrophes of its own.

    Examples
    --------
    >>> [safe_cell(text) for text in ("Alpha", "=1+1", "'=1+1", "'Alpha", "-5", "-5 or less")]
    ['Alpha', "'=1+1", "''=1+1", "'Alpha", '-5', "'-5 or less"]
    """
    return text if _NUMBER.fullmatch(text) else _DANGER.sub("'", text)


def restored_cell(text: str) -> str:
    """The text that :func:`safe_cell` was given.

    Examples
    --------
    >>> [restored_cell(text) for text in ("Alpha", "'=1+1", "''=1+1", "'Alpha")]
    ['Alpha', '=1+1', "'=1+1", "'Alpha"]
    """
    return text if _NUMBER.fullmatch(text) else _GUARD.sub("", text)


def is_safe(text: str) -> bool:
    """Whether a text is as :func:`safe_cell` writes it."""
    return safe_cell(restored_cell(text)) == text


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Lay rows out as CSV that opens safely: texts safe, and quoted where need be; None empty.

    Examples
    --------
    >>> print(csv_text(["cell", "count"], [["=A1", 3], ["a, b", 5]]), end="")
    cell,count
    "'=A1",3
    "a, b",5
    """
    lines = (",".join(map(_field, row)) for row in (header, *rows))
    # An empty line is no line: a lone empty field needs its quotes.
    return "".join(f"{line or chr(34) * 2}\n" for line in lines)


def _field(value: object) -> str:
    """One field; quotes keep line ends, separators and outer spaces as they are."""
    if value is None:
        return ""
    text = safe_cell(value) if isinstance(value, str) else str(value)
    return f'"{text.replace(chr(34), 2 * chr(34))}"' if _QUOTED.search(text) else text


def write_excel(
    sheets: Mapping[str, Mapping[str, Sequence[object]]], path: str | Path, *, private: bool = False
) -> None:
    """Write an Excel workbook, whole or not at all.

    Parameters
    ----------
    sheets
        Columns by their names, for each sheet. Names of sheets are made legal and distinct.
    path
        Where; ``.xlsx`` is expected.
    private
        Whether a new file is for its owner only.

    Notes
    -----
    Texts are written as texts, never as formulas, exactly as they are. Numbers are numbers, but
    whole numbers of more than 15 digits, fractions and what is not finite become text; None is an
    empty cell. The header is bold and stays in sight. The same sheets give the same bytes, so the
    file names no time but the first of 1980. It is made in memory: libraries for workbooks keep
    the sheets in temporary files meanwhile, which would stay behind if the process were killed.
    """
    if not sheets:
        raise InvalidInput("a workbook without sheets; give at least one")
    for title, columns in sheets.items():
        _check(title, columns)
    names = _sheet_names(sheets)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:

        def part(name: str, texts: Iterable[str]) -> None:
            information = zipfile.ZipInfo(name, DATE.timetuple()[:6])
            information.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(information, "w", force_zip64=True) as file:
                for text in chain([PROLOGUE], texts):
                    file.write(text.encode("utf-8"))

        for name, text in _parts(names).items():
            part(name, [text])
        for number, columns in enumerate(sheets.values(), start=1):
            part(f"xl/worksheets/sheet{number}.xml", _sheet(columns))
    write_whole(Path(path), stream.getvalue(), private=private)


def _parts(names: Sequence[str]) -> dict[str, str]:
    """What a workbook holds besides its sheets."""
    numbers = range(1, len(names) + 1)
    listed = "".join(
        f'<sheet name="{escape(name)}" sheetId="{k}" r:id="rId{k}"/>'
        for k, name in zip(numbers, names, strict=True)
    )
    linked = "".join(
        f'<Relationship Id="rId{k}" Type="{OFFICE}/worksheet" Target="worksheets/sheet{k}.xml"/>'
        for k in numbers
    )
    typed = "".join(
        f'<Override PartName="/xl/worksheets/sheet{k}.xml" ContentType="{SHEETS}.worksheet+xml"/>'
        for k in numbers
    )
    return {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types">'
        '<Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{SHEETS}.sheet.main+xml"/>'
        f'<Override PartName="/xl/styles.xml" ContentType="{SHEETS}.styles+xml"/>'
        '<Override PartName="/docProps/core.xml" '
        'ContentType="application/vnd.openxmlformats-package.core-properties+xml"/>'
        f"{typed}</Types>",
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
        f'<Relationship Id="rId1" Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/>'
        f'<Relationship Id="rId2" Type="{PACKAGE}/relationships/metadata/core-properties" '
        'Target="docProps/core.xml"/></Relationships>',
        "docProps/core.xml": f'<cp:coreProperties xmlns:cp="{PACKAGE}/metadata/core-properties" '
        'xmlns:dcterms="http://purl.org/dc/terms/" '
        'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
        + "".join(
            f'<dcterms:{what} xsi:type="dcterms:W3CDTF">{DATE.isoformat()}Z</dcterms:{what}>'
            for what in ("created", "modified")
        )
        + "</cp:coreProperties>",
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}">'
        f"<bookViews><workbookView/></bookViews><sheets>{listed}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
        f'{linked}<Relationship Id="rId{len(names) + 1}" Type="{OFFICE}/styles" '
        'Target="styles.xml"/></Relationships>',
        "xl/styles.xml": STYLES,
    }


def _check(title: str, columns: Mapping[str, Sequence[object]]) -> None:
    """Refuse what a sheet cannot hold before anything is written."""
    sizes = {len(column) for column in columns.values()}
    if len(sizes) != 1:
        raise InvalidInput(f"the columns of sheet {title!r} must have one length, and be some")
    rows = max(sizes) + 1
    if rows > MOST_ROWS or len(columns) > MOST_COLUMNS:
        raise InvalidInput(
            f"sheet {title!r} would have {rows} rows and {len(columns)} columns; Excel holds "
            f"{MOST_ROWS} and {MOST_COLUMNS}; write CSV or Parquet instead"
        )
    seen: set[str] = set()
    for place, (name, column) in enumerate(columns.items(), start=1):
        for row, value in enumerate(chain([name], column), start=1):
            text = _plain(value)
            if not isinstance(text, str) or text in seen:
                continue
            seen.add(text)
            # Two bytes for each character, as Excel counts them.
            size = len(excel_escaped(text).encode("utf-16-le", "surrogatepass"))
            if _UNSTORABLE.search(text) or size > 2 * LONGEST:
                raise InvalidInput(
                    f"sheet {title!r}, cell {column_letters(place)}{row}: {text[:40]!r} has a "
                    f"character that Excel cannot hold or more than {LONGEST} of them; shorten or "
                    "rename it"
                )


def _sheet(columns: Mapping[str, Sequence[object]]) -> Iterator[str]:
    """A sheet, in pieces: the names of the columns, which stay in sight, then the rows."""
    letters = [column_letters(place) for place in range(1, len(columns) + 1)]
    widths = ""
    for place, (name, column) in enumerate(columns.items(), start=1):
        longest = max(len(str(value)) for value in (name, *islice(column, 1000)))
        width = min(longest, _WIDEST) + 2
        widths += f'<col min="{place}" max="{place}" width="{width}" customWidth="1"/>'
    yield (
        f'<worksheet xmlns="{MAIN}"><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" '
        'topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews>'
        f"<cols>{widths}</cols><sheetData>"
    )
    rows = chain([tuple(columns)], zip(*columns.values(), strict=True))
    for number, row in enumerate(rows, start=1):
        cells = (
            _cell(f"{letter}{number}", value, bold=number == 1)
            for letter, value in zip(letters, row, strict=True)
        )
        yield f'<row r="{number}">{"".join(cells)}</row>'
    yield "</sheetData></worksheet>"


def _cell(place: str, value: object, *, bold: bool) -> str:
    plain = _plain(value)
    if plain is None:
        return ""
    if isinstance(plain, bool):
        return f'<c r="{place}" t="b"><v>{int(plain)}</v></c>'
    if not isinstance(plain, str):
        return f'<c r="{place}"><v>{plain!r}</v></c>'
    # Quoted: else a text like "=A1" turns into a formula when somebody edits the cell.
    style = BOLD * bold + QUOTED * (safe_cell(plain) != plain)
    text = escape(excel_escaped(plain), quote=False)
    return (
        f'<c r="{place}" s="{style}" t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'
    )


def _plain(value: object) -> str | float | None:
    """What a cell holds: a number, a truth value, nothing, or text."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, numbers.Integral) and abs(int(value)) < EXACT_DIGITS:
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    return str(value)


def excel_escaped(text: str) -> str:
    """A text as workbooks store it: control characters as ``_x000D_``."""
    marked = re.sub(r"_(?=x[0-9A-Fa-f]{4}[_\x01-\x08\x0b-\x1f])", "_x005F_", text)
    return re.sub(r"[\x01-\x08\x0b-\x1f]", lambda found: f"_x{ord(found[0]):04X}_", marked)


def excel_restored(text: str) -> str:
    """The text behind what a workbook stores."""
    return re.sub(
        r"_x(00[01][0-9A-Fa-f])_|_x005[Ff]_(?=x[0-9A-Fa-f]{4}_)",
        lambda found: chr(int(found[1], 16)) if found[1] else "_",
        text,
    )


def column_letters(place: int) -> str:
    """The name of a column: 1 is A, 27 is AA."""
    letters = ""
    while place:
        place, rest = divmod(place - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def _sheet_names(titles: Iterable[str]) -> list[str]:
    r"""Names that Excel accepts: 31 characters, none of ``[]:*?/\``, distinct in any case."""
    names: list[str] = []
    taken = {"history"}  # Excel keeps this name for itself
    for title in titles:
        plain = re.sub(r"[\[\]:*?/\\\x00-\x1f\ud800-\udfff\ufffe\uffff]", " ", title)
        plain = plain.strip(" '")[:31].strip(" '") or "sheet"
        name, number = plain, 1
        while name.casefold() in taken:
            number += 1
            name = f"{plain[: 31 - len(str(number)) - 1].rstrip()} {number}"
        taken.add(name.casefold())
        names.append(name)
    return names
