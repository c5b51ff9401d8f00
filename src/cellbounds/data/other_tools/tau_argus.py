"""tau-ARGUS tables: ``.tab`` as it is read and written (types 1 to 5), safe tables, SBS files.

Nothing in such a file says which type it is, and most have no header. Codes are quoted, which tells
how many variables there are; what follows them is known from the metadata, or from what stands
there: a column of status letters or numbers, and how many columns stand before it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd
from pathlib import Path

from cellbounds.data.hierarchy import Hierarchy
from cellbounds.data.other_tools.building import (
    EMPTY,
    HIDDEN_MARKS,
    SHOWN,
    STATUS_NUMBERS,
    ZERO_MARKS,
    Line,
    Reading,
    is_figure,
    status_of,
    table_of,
    whole_count,
)
from cellbounds.data.other_tools.lines import delimited_lines, read_text, separator_of
from cellbounds.data.other_tools.metadata import (
    Metadata,
    beside,
    read_code_list,
    read_metadata,
    tree_of,
)
from cellbounds.data.published import PublishedTable
from cellbounds.errors import InvalidInput

NAME = "tau-argus"

_INTERMEDIATE = frozenset("SUPME?")
_SBS = frozenset("VABCFD-")
_NO_NUMBER = HIDDEN_MARKS | ZERO_MARKS

_STEPS = 5
"""By how many multiples of its base controlled rounding moves a count at most, to be seen as it."""

_BLOCK = re.compile(r"\s*Var \d+\s*")
"""What a block of a matrix begins with, before the code that all of its cells have."""

_QUOTED = re.compile(r'\s*"(?:[^"]|"")*"\s*')


@dataclass(frozen=True, slots=True)
class LineLayout:
    """Where things stand on a line, as places of fields; -1: nowhere.

    Attributes
    ----------
    names
        The variables, which come first.
    count, status
        The column that is read, and that of the status.
    true
        A column with the counts behind rounded ones.
    words, magnitude
        What the file is, for people; what to say if the counts are no whole numbers.
    header
        Whether the first line has names.
    complete, rounded
        Whether cells that are not there hold nobody, and whether the figures were rounded.
    """

    names: tuple[str, ...]
    count: int
    status: int = -1
    true: int = -1
    words: str = ""
    magnitude: str = ""
    header: bool = False
    complete: bool = False
    rounded: bool = False


def recognises(path: Path, text: str) -> bool:
    """Whether a file looks like a tau-ARGUS table.

    Codes are quoted. A pivot table looks like any other file with a header, unless it has statuses
    or rounded figures, or the hierarchy of a variable stands beside it.
    """
    lines = [line for line in text.split("\n") if line.strip()]
    first = lines[0] if lines else ""
    if path.suffix.lower() in (".tab", ".sbs") or beside(path, path.stem + ".rda") is not None:
        return is_figure_line(first) or bool(_QUOTED.match(first))
    if first.startswith(',"') or _BLOCK.fullmatch(first.partition(",")[0]):
        return True
    if len(lines) < 2 or not _QUOTED.match(first) or not _quoted_codes(text):
        return False
    if is_figure_line(first):
        return True
    names = [name.strip().strip('"') for name in re.split("[;,]", first)]
    return (
        names[-1].endswith(("_Round", "_Orig"))
        or names[-1] == "Status"
        or any(beside(path, f"{name}.hrc") for name in names)
    )


def is_figure_line(line: str) -> bool:
    """Whether a line ends in figures, marks or letters, as those of a table do."""
    fields = re.split("[;,\t|]", line)
    return len(fields) > 1 and any(is_figure(each) for each in fields)


def read(path: Path, text: str, reading: Reading) -> tuple[PublishedTable, ...]:
    """Read a table of tau-ARGUS."""
    where = str(path)
    metadata = _metadata_of(path, reading)
    separator = metadata.separator if metadata is not None and metadata.separator else None
    if separator is None or separator not in text:
        separator = separator_of(text)
    lines = delimited_lines(text, where, separator)
    matrix = not lines[0][0].strip() or _BLOCK.fullmatch(lines[0][0]) is not None
    if matrix and len(lines[0]) > 1 and metadata is None:
        return (_matrix(where, lines, reading),)
    layout = _layout(where, text, lines, metadata, reading)
    body = lines[1:] if layout.header else lines
    if not body:
        raise InvalidInput(f"{where} has no cells below its header; fetch or write it again")
    cells = [
        _line(where, number, fields, layout, metadata)
        for number, fields in enumerate(body, start=2 if layout.header else 1)
    ]
    trees, totals, notes = _trees(path, layout, metadata, reading, cells)
    notes = [f"read as {layout.words}", *notes]
    cells, rounded = _rounded(body, cells, layout)
    table = table_of(
        where,
        layout.names,
        cells,
        reading,
        trees=trees,
        totals=totals,
        magnitude=layout.magnitude,
        complete=layout.complete,
        notes=[*notes, *rounded],
    )
    return (table,)


def _metadata_of(path: Path, reading: Reading) -> Metadata | None:
    if reading.metadata is not None:
        return read_metadata(reading.metadata)
    metadata = beside(path, path.stem + ".rda")
    return None if metadata is None else read_metadata(metadata)


def _quoted_codes(text: str) -> int:
    """How many quoted fields the second line begins with (the first may be a header)."""
    lines = [line for line in text.split("\n") if line.strip()]
    line = lines[min(1, len(lines) - 1)] if lines else ""
    count, place = 0, 0
    while match := _QUOTED.match(line, place):
        count, place = count + 1, match.end() + 1
    return count


def _layout(
    where: str, text: str, lines: list[list[str]], metadata: Metadata | None, reading: Reading
) -> LineLayout:
    if metadata is not None and len(metadata.columns) == len(lines[0]):
        return _declared(where, metadata, reading)
    header = (
        len(lines) > 1
        and not any(is_figure(each) for each in lines[0])
        and any(is_figure(each) for line in lines[1:] for each in line)
    )
    header = header and not any(each.strip().lower() in HIDDEN_MARKS for each in lines[0])
    body = lines[1:] if header else lines
    size = _quoted_codes(text) or _codes_before_figures(body)
    width = min(map(len, body))
    if header and size >= width:
        size = _codes_before_figures(body)
    if size < 1 or size >= width:
        raise InvalidInput(
            f"{where}: no columns of codes followed by figures were found; name its metadata "
            "(--metadata FILE.rda), or check the separators"
        )
    names = _names(lines[0] if header else [], size, metadata)
    if header:
        return _headed(where, lines[0], names, reading)
    return _by_content(where, body, names)


def _codes_before_figures(body: Sequence[Sequence[str]]) -> int:
    """How many of the first columns have something that is neither a number nor a mark."""
    count = 0
    for column in zip(*body, strict=False):
        if all(is_figure(each) or each.strip().lower() in _NO_NUMBER for each in column):
            break
        count += 1
    return count


def _names(header: Sequence[str], size: int, metadata: Metadata | None) -> tuple[str, ...]:
    if header:
        return tuple(name.strip() for name in header[:size])
    declared = () if metadata is None else metadata.of_role("code")
    if len(declared) == size:
        return tuple(column.name for column in declared)
    return tuple(f"V{place}" for place in range(1, size + 1))


def _declared(where: str, metadata: Metadata, reading: Reading) -> LineLayout:
    """The columns as the metadata has them."""
    roles = [column.role for column in metadata.columns]
    names = [column.name for column in metadata.columns]
    codes = tuple(column.name for column in metadata.of_role("code"))
    if not codes or roles[: len(codes)] != ["code"] * len(codes):
        raise InvalidInput(
            f"{metadata.where}: the variables with codes have to come first; it has "
            f"{', '.join(f'{name} ({role})' for name, role in zip(names, roles, strict=True))}"
        )
    counts = [name for name, role in zip(names, roles, strict=True) if role == "frequency"]
    values = [name for name, role in zip(names, roles, strict=True) if role == "value"]
    chosen = reading.count or next(iter(counts), None) or next(iter(values), None)
    if chosen is None or chosen not in names[len(codes) :]:
        raise InvalidInput(
            f"{where}: there is no column {chosen!r} with counts; it has {', '.join(names)}"
        )
    remedy = (
        f"the counts are in the column {counts[0]!r} (--count {counts[0]})"
        if counts
        else "give a table with a <FREQUENCY> column"
    )
    if counts and chosen in values:
        raise InvalidInput(
            f"{where}: {chosen!r} is a magnitude, not a count of people or units; {remedy}"
        )
    shadowed = roles[len(codes) : len(codes) + 3] == ["value", "frequency", "shadow"]
    words = f"a tau-ARGUS table by {metadata.where.name}, counts in {chosen!r}"
    words += "".join(f"; {name!r} is a magnitude and is not read" for name in values if counts)
    return LineLayout(
        codes,
        names.index(chosen),
        roles.index("status") if "status" in roles else -1,
        len(codes) + 2 if shadowed else -1,
        words=words,
        magnitude=f"{chosen!r} is a magnitude: {remedy}",
        complete=True,
    )


def _headed(where: str, header: list[str], names: tuple[str, ...], reading: Reading) -> LineLayout:
    """Type 2: names of the variables and of the response; Status or the unrounded values last."""
    size, rest = len(names), [name.strip() for name in header[len(names) :]]
    if reading.count is not None and reading.count not in rest:
        raise InvalidInput(
            f"{where}: there is no column {reading.count!r} with counts; it has {', '.join(header)}"
        )
    place = size + (rest.index(reading.count) if reading.count else 0)
    lower = [name.lower() for name in rest]
    status = size + lower.index("status") if "status" in lower else -1
    stem = rest[0].removesuffix("_Round")
    true = size + rest.index(f"{stem}_Orig") if f"{stem}_Orig" in rest else -1
    words = "a tau-ARGUS pivot table (type 2)"
    rounded = stem != rest[0]
    return LineLayout(names, place, status, true, words, _no_counts(), header=True, rounded=rounded)


def _no_counts() -> str:
    return (
        "it is a magnitude: give the file with the frequencies instead (type 4, or 5 with metadata)"
    )


def _by_content(where: str, body: list[list[str]], names: tuple[str, ...]) -> LineLayout:
    """Files without a header: SBS, intermediate, or codes and values."""
    size = len(names)
    width = min(map(len, body))
    for place in range(size + 1, width):
        marks = {line[place].strip().upper() for line in body}
        if marks <= _SBS and marks & set("VABCFD") and place == size + 2:
            words = "a tau-ARGUS SBS file (type 4)"
            return LineLayout(names, size + 1, place, words=words, complete=True)
        if marks <= _INTERMEDIATE and marks:
            return _intermediate(where, names, place - size, width - place - 1, place)
    if width == size + 1:
        return LineLayout(
            names, size, words="tau-ARGUS codes and values (type 3)", magnitude=_no_counts()
        )
    last = [line[width - 1].strip() for line in body]
    numbers = all(each.isdecimal() and int(each[:4]) in STATUS_NUMBERS for each in last)
    if width == size + 2 and numbers:
        words = "tau-ARGUS codes, values and statuses (type 3)"
        return LineLayout(names, size, size + 1, words=words, magnitude=_no_counts())
    if width == size + 2:
        words = "a tau-ARGUS table of values and frequencies"
        return LineLayout(names, size + 1, words=words)
    raise InvalidInput(
        f"{where}: {width - size} columns stand after the codes and none has a status; name its "
        "metadata (--metadata FILE.rda)"
    )


def _intermediate(
    where: str, names: tuple[str, ...], before: int, after: int, place: int
) -> LineLayout:
    """Type 5: value; frequency; shadow; cost; largest ones; status; protection levels; audit."""
    size = len(names)
    if before == 1 or (before == 2 and after):
        words = "a tau-ARGUS frequency table (type 5)"
        return LineLayout(names, size, place, words=words, magnitude=_no_counts())
    if before == 3 and not after:
        raise InvalidInput(
            f"{where}: three columns stand before the status, which may be a frequency or the "
            "largest contributions; name its metadata (--metadata FILE.rda)"
        )
    words = "a tau-ARGUS intermediate table (type 5), counts in its frequency column"
    # With four columns or more, the third is the shadow: the value before it was rounded.
    true = size + 2 if before >= 4 else -1
    return LineLayout(names, size + 1, place, true, words=words)


def _line(
    where: str, number: int, fields: list[str], layout: LineLayout, metadata: Metadata | None
) -> Line:
    at = f"{where}, line {number}"
    size = len(layout.names)
    needed = max(layout.count, layout.status, layout.true) + 1
    if len(fields) < needed:
        raise InvalidInput(
            f"{at}: {len(fields)} fields instead of {needed}; the file may be cut off: fetch or "
            "write it again"
        )
    letters = None if metadata is None else metadata.letters
    status = status_of(fields[layout.status], at, letters) if layout.status >= 0 else SHOWN
    return Line(tuple(fields[:size]), fields[layout.count], status, at)


def _trees(
    path: Path,
    layout: LineLayout,
    metadata: Metadata | None,
    reading: Reading,
    cells: Sequence[Line],
) -> tuple[dict[str, Hierarchy], dict[str, str], list[str]]:
    """Hierarchies and totals from the metadata, or from a ``.hrc`` named like the variable."""
    trees: dict[str, Hierarchy] = {}
    totals: dict[str, str] = {}
    notes: list[str] = []
    columns = {} if metadata is None else {each.name: each for each in metadata.of_role("code")}
    for place, name in enumerate(layout.names):
        column = columns.get(name)
        if column is not None and metadata is not None:
            if column.first("TOTCODE"):
                totals[name] = str(column.first("TOTCODE"))
            listed = column.first("CODELIST")
            labels = None if listed is None else beside(metadata.where, listed)
            if labels is not None:
                notes.append(f"{name}: {len(read_code_list(labels))} labels in {labels.name}")
            codes = [cell.codes[place].strip() for cell in cells]
            tree = None if name in reading.hierarchies else tree_of(column, metadata, codes)
            if tree is not None:
                trees[name] = tree
        elif name not in reading.hierarchies:
            codes_file = beside(path, f"{name}.hrc")
            if codes_file is not None:
                trees[name] = Hierarchy.from_hrc(read_text(codes_file))
                notes.append(f"{name}: its hierarchy is {codes_file.name}, beside the table")
    return trees, totals, notes


def _rounded(
    body: list[list[str]], cells: list[Line], layout: LineLayout
) -> tuple[list[Line], list[str]]:
    """Cells after controlled rounding: what is shown is the rounded figure.

    A pivot table calls it ``_Round``; an intermediate file has it as the value, and the count that
    it was made of as the frequency and as the shadow.
    """
    size = len(layout.names)
    if not layout.rounded and not _is_rounded(body, layout):
        return cells, []
    shown = [
        Line(cell.codes, line[size], SHOWN if is_figure(line[size]) else EMPTY, cell.at)
        for cell, line in zip(cells, body, strict=True)
    ]
    base = gcd(*(whole_count(line.figure) or 0 for line in shown))
    notes = [
        f"controlled rounding: all figures are multiples of {base}; how far it moved a count is "
        "not in the file, so that figures are taken as exact unless you say it (--base "
        f"{base} --base-rounding random: by less than {base})"
    ]
    if layout.true >= 0:
        notes.append("the file holds the counts behind the rounded figures; they are not used")
    return shown, notes


def _is_rounded(body: list[list[str]], layout: LineLayout) -> bool:
    """Whether shadows are the frequencies and values are not: these were counts, then rounded."""
    if layout.true < 0:
        return False
    size = len(layout.names)
    counts = [tuple(whole_count(line[size + k]) for k in range(3)) for line in body]
    if not all(f is not None and f == s and v is not None for v, f, s in counts):
        return False
    base = gcd(*(value or 0 for value, _, _ in counts))
    steps = [abs((value or 0) - (count or 0)) for value, count, _ in counts]
    return base > 1 and 0 < max(steps) <= _STEPS * base


def _matrix(where: str, lines: list[list[str]], reading: Reading) -> PublishedTable:
    """Type 1: codes of the last variable across, those of the one before down.

    Of three or more variables, the others have a block for each combination of their codes.
    """
    block: tuple[str, ...] = ()
    across: list[str] = []
    cells: list[Line] = []
    for number, fields in enumerate(lines, start=1):
        at = f"{where}, line {number} of those that hold something"
        if _BLOCK.fullmatch(fields[0]):
            block, across = tuple(fields[1::2]), []
        elif not across:
            if fields[0].strip() or len(fields) < 2:
                raise InvalidInput(f"{at}: a block without codes across; fetch or write it again")
            across = fields[1:]
        elif len(fields) != len(across) + 1:
            raise InvalidInput(
                f"{at}: {len(fields)} fields, but the codes across are {len(across)}; the file may "
                "be cut off: fetch or write it again"
            )
        else:
            cells += [
                Line((*block, fields[0], code), figure, SHOWN, at)
                for code, figure in zip(across, fields[1:], strict=True)
            ]
    if not cells:
        raise InvalidInput(f"{where} has codes across and no line below; fetch or write it again")
    size = len(cells[0].codes)
    if any(len(cell.codes) != size for cell in cells):
        raise InvalidInput(
            f"{where}: its blocks name different numbers of variables; fetch or write it again"
        )
    given = tuple(reading.hierarchies)
    names = given if len(given) == size else tuple(f"V{k}" for k in range(1, size + 1))
    notes = ["read as a tau-ARGUS matrix (type 1); it does not name its variables"]
    return table_of(where, names, cells, reading, magnitude=_no_counts(), notes=notes)


def read_records(path: str | Path, metadata: str | Path | None = None) -> dict[str, list[str]]:
    """The codes of records that tau-ARGUS reads (``.asc``, or separated), by variable.

    Fixed-width columns are where the metadata says; numbers, weights and keys are left out.
    """
    where = Path(path)
    declared = metadata if metadata is not None else beside(where, where.stem + ".rda")
    if declared is None:
        raise InvalidInput(f"{path}: there is no {where.stem}.rda beside it; name its metadata")
    described = read_metadata(declared)
    text = read_text(path)
    if described.separator is not None:
        lines = delimited_lines(text, str(path), described.separator)
    else:
        spans = [_span(column.name, column.numbers, described) for column in described.columns]
        rows = [line for line in text.split("\n") if line.strip()]
        lines = [[line[begin:end] for begin, end in spans] for line in rows]
    places = [k for k, column in enumerate(described.columns) if column.role == "code"]
    records: dict[str, list[str]] = {described.columns[k].name: [] for k in places}
    for number, line in enumerate(lines, start=1):
        if len(line) != len(described.columns):
            raise InvalidInput(
                f"{path}, line {number}: {len(line)} fields, but the metadata has "
                f"{len(described.columns)} variables; check the separator"
            )
        for k in places:
            code = line[k].strip()
            if not code:
                raise InvalidInput(
                    f"{path}, line {number}: {described.columns[k].name!r} is empty; the line may "
                    "be cut off"
                )
            records[described.columns[k].name].append(code)
    return records


def _span(name: str, numbers: tuple[str, ...], metadata: Metadata) -> tuple[int, int]:
    if len(numbers) < 2 or not all(each.isdecimal() and len(each) < 9 for each in numbers[:2]):
        raise InvalidInput(
            f"{metadata.where}: {name!r} needs its first position and its width, as there is no "
            "<SEPARATOR>"
        )
    begin = int(numbers[0]) - 1
    return max(begin, 0), max(begin, 0) + int(numbers[1])
