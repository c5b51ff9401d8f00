"""Tables on sheets: titles, header rows, index columns and notes told apart; tidy ones too."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from cellbounds.data.formats.grids import Grid
from cellbounds.data.headings import GROUP, under_headings
from cellbounds.data.marks import Legend
from cellbounds.data.percent_lines import OtherLines, apart, says_percents, seems_percents
from cellbounds.data.percents import SheetPercents, names_percents
from cellbounds.data.spreadsheets import column_letters
from cellbounds.data.totals import names_a_total
from cellbounds.errors import InvalidInput

_COUNT_NAMES = (
    "count counts freq frequency n n_obs obs obs_value value number cases anzahl antal nombre "
    "effectif effectifs aantal numero"
)
COUNT_NAMES = frozenset(_COUNT_NAMES.split())
"""How the column of counts of a tidy table may be called, in small letters."""

UNNAMED = re.compile(f"(?:row|column)(?: [0-9]+)?|{GROUP}")
"""What variables are called that a sheet does not name."""

Labels = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SheetTable:
    """One table of a sheet, cell by cell, as text.

    Attributes
    ----------
    where, title
        The sheet, for messages, and what stands above the table.
    variables
        Index columns, then header rows.
    cells
        The text of each cell by its labels, in the order of print; an empty label stands for a
        total of what it would name.
    places
        Where each cell stands, such as ``C7``.
    depths
        Labels that are indented, by variable: how deep.
    notes
        What was left out or decided.
    tidy
        Whether there is a line for each cell.
    percents
        What has decimals or is called percents, beside the counts.
    """

    where: str
    title: str
    variables: tuple[str, ...]
    cells: dict[Labels, str]
    places: dict[Labels, str]
    depths: dict[str, dict[str, int]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    tidy: bool = False
    percents: tuple[SheetPercents, ...] = ()


@dataclass(frozen=True, slots=True)
class Layout:
    """How to read sheets, where that is not to be found out.

    Attributes
    ----------
    header, index
        How many rows are the header, and how many columns name the rows.
    count
        The column of counts of a tidy table.
    variables
        Of a tidy table, the columns of labels; of a crosstab, the names of its variables, those of
        the index columns first.
    """

    header: int | None = None
    index: int | None = None
    count: str | None = None
    variables: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class _Block:
    """Rows of a sheet that may be a table: their numbers, the texts, what stands above.

    `left`: how many columns stand before it.
    """

    numbers: list[int]
    rows: list[list[str]]
    title: str
    left: int = 0


def tables_in(grid: Grid, legend: Legend, layout: Layout) -> list[SheetTable]:
    """Every table of a sheet; there may be none."""
    width = max((len(row) for row in grid.rows), default=0)
    rows = [[*row, *[""] * (width - len(row))] for row in grid.rows]
    whole = _looks_tidy(rows, legend, layout) or grid.header is not None
    told = whole or layout.header is not None or layout.index is not None
    blocks = [
        replace(block, left=left)
        for left, part in ([(0, rows)] if told else _beside(rows, legend))
        for block in _blocks(part, legend, whole=whole)
    ]
    several = len(blocks) > 1
    tables = []
    for number, block in enumerate(blocks, start=1):
        where = f"{grid.where}, table {number}" if several else grid.where
        table = _table(where, grid, block, legend, layout)
        tables.append(replace(table, notes=(*table.notes, *grid.notes)))
    return tables


def _beside(rows: list[list[str]], legend: Legend) -> list[tuple[int, list[list[str]]]]:
    """Tables beside each other, and where they begin: empty columns stand between them.

    Empty columns inside of a table have no labels after them.
    """
    width = len(rows[0]) if rows else 0
    filled = [any(_filled(row[column]) for row in rows) for column in range(width)]
    begins = [k for k in range(1, width) if filled[k] and not filled[k - 1]]
    starts = [0]
    for begin, end in zip(begins, [*begins, width][1:], strict=True):
        if _has_stub(rows, starts[-1], begin, legend) and _has_stub(rows, begin, end, legend):
            starts.append(begin)
    ends = [*starts[1:], width]
    return [(a, [row[a:b] for row in rows]) for a, b in zip(starts, ends, strict=True)]


def _has_stub(rows: list[list[str]], begin: int, end: int, legend: Legend) -> bool:
    """Whether some columns alone have rows of figures, each with a label in front."""
    parts = [row[begin:end] for row in rows if any(map(_filled, row[begin:end]))]
    figured = [part for part in parts if any(map(legend.is_figure, part))]
    return len(figured) > 1 and all(
        _is_body(part, legend) and not legend.is_figure(next(filter(_filled, part)))
        for part in figured[1:]  # the first may be a header of years
    )


def _looks_tidy(rows: list[list[str]], legend: Legend, layout: Layout) -> bool:
    """Whether the first row names columns, one of them that of counts, and all rows have one.

    Labels may look like figures then.
    """
    if not rows or layout.header not in (None, 1):
        return False
    names = [text.strip() for text in rows[0]]
    counts = [k for k, name in enumerate(names) if name.lower() in COUNT_NAMES]
    if layout.count is not None:
        counts = [names.index(layout.count)] if layout.count in names else []
    if not counts or not all(names) or len(set(names)) < len(names):
        return False
    return all(legend.is_figure(row[counts[0]]) for row in rows[1:] if any(map(_filled, row)))


def _blocks(rows: list[list[str]], legend: Legend, *, whole: bool) -> list[_Block]:
    """The parts of a sheet that are tables: empty rows stand between them, and inside some."""
    if whole:
        numbers = [place for place, row in enumerate(rows) if any(map(_filled, row))]
        chosen = [rows[place] for place in numbers]
        return [_Block(numbers, chosen, "")] if len(chosen) > 1 else []
    blocks: list[_Block] = []
    title: list[str] = []
    headers: list[list[str]] = []
    above: list[int] = []
    for start, run in _runs(rows):
        lead = _title_lines(run)
        title += [next(filter(None, map(str.strip, row))) for row in run[:lead]]
        body = run[lead:]
        last = len(body)
        while last and _is_note(body[last - 1], legend):
            last -= 1
        kinds = [_is_body(row, legend) for row in body[:last]]
        if not any(kinds):
            # A header that an empty row separates from its table, or text between tables.
            headers = body if any(sum(map(_filled, row)) > 1 for row in body) else []
            above = list(range(start + lead, start + lead + len(headers)))
            continue
        numbers = list(range(start + lead, start + lead + last))
        if kinds[0] and blocks and not headers and not title and _goes_on(blocks[-1], legend):
            blocks[-1].rows.extend(body[:last])
            blocks[-1].numbers.extend(numbers)
            continue
        if not kinds[0]:
            headers, above = [], []  # it has a header of its own
        blocks.append(_Block([*above, *numbers], [*headers, *body[:last]], " ".join(title)))
        title, headers, above = [], [], []
    return blocks


def _runs(rows: list[list[str]]) -> list[tuple[int, list[list[str]]]]:
    runs: list[tuple[int, list[list[str]]]] = []
    open_run = False
    for place, row in enumerate(rows):
        if any(map(_filled, row)):
            if not open_run:
                runs.append((place, []))
            runs[-1][1].append(row)
        open_run = any(map(_filled, row))
    return runs


def _filled(text: str) -> bool:
    return bool(text.strip())


def _title_lines(run: Sequence[Sequence[str]]) -> int:
    """How many rows at the beginning have a text in their first cell and nothing else."""
    lines = 0
    while lines < len(run) and _filled(run[lines][0]) and sum(map(_filled, run[lines])) == 1:
        lines += 1
    return lines


def _is_note(row: Sequence[str], legend: Legend) -> bool:
    """Whether a row has one text and no figure: a footnote, at the end of a table."""
    texts = [text for text in row if _filled(text)]
    return len(texts) == 1 and not (_filled(row[0]) is False and legend.is_figure(texts[0]))


def _is_body(row: Sequence[str], legend: Legend) -> bool:
    """Whether a row has labels and then figures: the header does not."""
    first = next(place for place, text in enumerate(row) if _filled(text))
    after = [text for text in row[first + 1 :] if _filled(text)]
    figures = [legend.is_figure(text) for text in after]
    if not any(figures):
        return False
    begin = figures.index(True)
    labelled = first == 0 or not legend.is_figure(row[first])
    return labelled and all(figures[begin:])


def _goes_on(block: _Block, legend: Legend) -> bool:
    """Whether rows without a header may belong to the table above: that has a header of text."""
    return not _is_body(block.rows[0], legend)


@dataclass(frozen=True, slots=True)
class _Sheet:
    """A table on its sheet: the texts without empty columns, and how to read them."""

    where: str
    title: str
    rows: list[list[str]]
    places: _Places
    legend: Legend
    layout: Layout

    @property
    def names(self) -> list[str]:
        """What the first row calls the columns."""
        return [text.strip() for text in self.rows[0]]


def _table(where: str, grid: Grid, block: _Block, legend: Legend, layout: Layout) -> SheetTable:
    title = " ".join(filter(None, [grid.title, block.title]))
    columns = [k for k in range(len(block.rows[0])) if any(_filled(row[k]) for row in block.rows)]
    rows = [[row[k] for k in columns] for row in block.rows]
    places = _Places(block.numbers, [k + block.left for k in columns])
    sheet = _Sheet(where, title, rows, places, legend, layout)
    told = 1 if _looks_tidy(rows, legend, layout) else layout.header or grid.header
    header = _header_rows(where, rows, legend, told)
    if header == 1:
        tidy = _tidy_columns(sheet, layout.index or grid.index)
        if tidy is not None:
            return _tidy(sheet, *tidy)
    index = layout.index or grid.index or _index_columns(rows[header:], legend)
    if not 1 <= index < len(columns):
        raise InvalidInput(
            f"{where}: {index} index columns of {len(columns)} columns; a table has at least one "
            "of labels and one of figures (--index N)"
        )
    grouped = under_headings(rows, header) if index == 1 else None
    if grouped is not None:
        rows, header, kept = grouped
        below = _Places([block.numbers[k] for k in kept], [places.columns[0], *places.columns])
        return _wide(replace(sheet, rows=rows, places=below), header, 2, grid.column_names)
    return _wide(sheet, header, index, grid.column_names)


@dataclass(frozen=True, slots=True)
class _Places:
    """Where the cells of a table stand on their sheet."""

    rows: list[int]
    columns: list[int]

    def name(self, row: int, column: int) -> str:
        return f"{column_letters(self.columns[column] + 1)}{self.rows[row] + 1}"


def _header_rows(where: str, rows: list[list[str]], legend: Legend, given: int | None) -> int:
    """How many rows are the header: the first one always, then those without figures."""
    count = given
    if count is None:
        count = 1
        while count < len(rows) and not _is_body(rows[count], legend):
            count += 1
    if not 1 <= count < len(rows):
        raise InvalidInput(
            f"{where}: {count} header rows of {len(rows)} rows; a table has at least one header "
            "row and one row of figures (--header N)"
        )
    return count


def _index_columns(body: list[list[str]], legend: Legend) -> int:
    """How many columns at the left have labels: most of their texts are no figures.

    A column of ranges alone, such as ages, has labels too.
    """
    index = 1
    while index < len(body[0]) - 1:
        texts = [row[index] for row in body if _filled(row[index])]
        others = sum(not legend.is_figure(text) for text in texts)
        ranges = all("-" in text.strip("-") or "–" in text.strip("–") for text in texts)
        if not texts or not (2 * others > len(texts) or ranges):
            break
        index += 1
    if index + 2 < len(body[0]) and _crosses(body, index):
        index += 1
    return index


def _crosses(body: list[list[str]], index: int) -> bool:
    """Whether the next column tells rows apart that the labels before it do not, such as years.

    Each outer label then has several of its codes, each once, which are codes of others too.
    """
    below: dict[Labels, list[str]] = {}
    stub = [""] * (index + 1)
    for row in body:
        stub = _filled_down(row[: index + 1], stub)
        below.setdefault(tuple(stub[:-1]), []).append(stub[-1])
    families = [codes for outer, codes in below.items() if not any(map(names_a_total, outer))]
    codes = [code for family in families for code in family]
    return (
        len(families) > 1
        and min(map(len, families)) > 1
        and all(len(set(family)) == len(family) for family in below.values())
        and all(code.isdecimal() or names_a_total(code) for code in codes)
        and min(map(codes.count, codes)) > 1
    )


def _tidy_columns(sheet: _Sheet, index: int | None) -> tuple[list[int], int] | None:
    """The columns of labels and of counts, if there is a line for each cell; else None."""
    where, rows, legend, layout = sheet.where, sheet.rows, sheet.legend, sheet.layout
    names, count = sheet.names, None
    if layout.count is not None:
        if layout.count not in names:
            raise InvalidInput(
                f"{where} has no column {layout.count!r}; its columns are "
                f"{', '.join(map(repr, names))}"
            )
        count = names.index(layout.count)
    else:
        told = [place for place, name in enumerate(names) if name.lower() in COUNT_NAMES]
        labels = index or _index_columns(rows[1:], legend)
        # A column of labels may have such a name too.
        told = [place for place in told if place >= labels] or told
        if told and told[0] > 0:
            count = told[0]
        elif labels == len(names) - 1:
            count = labels
    if count is None:
        return None
    if layout.variables is not None:
        missing = next((name for name in layout.variables if name not in names), None)
        if missing is not None:
            raise InvalidInput(
                f"{where} has no column {missing!r}; its columns are {', '.join(map(repr, names))}"
            )
        return [names.index(name) for name in layout.variables], count
    left = [
        place
        for place in range(count)
        if not seems_percents(names[place], [row[place] for row in rows[1:]], legend)
    ]
    return (left, count) if left else None


def _tidy(sheet: _Sheet, labels: list[int], count: int) -> SheetTable:
    where, rows, names, legend = sheet.where, sheet.rows, sheet.names, sheet.legend
    variables = tuple(names[place] for place in labels)
    for name in variables:
        if not name or variables.count(name) > 1:
            raise InvalidInput(
                f"{where}: the column name {name!r} is empty or stands twice; give every column a "
                "name of its own"
            )
    cells: dict[Labels, str] = {}
    stands: dict[Labels, str] = {}
    for line, row in enumerate(rows[1:], start=1):
        cell = tuple(row[place].strip() for place in labels)
        _put(where, cells, stands, cell, row[count], sheet.places.name(line, count))
    others, percents = list[str](), list[SheetPercents]()
    for place in (k for k in range(len(names)) if k not in (*labels, count)):
        texts = [row[place] for row in rows[1:]]
        if seems_percents(names[place], texts, legend):
            named = says_percents([names[place]], texts)
            percents.append(
                SheetPercents(names[place], named, dict(zip(cells, texts, strict=True)))
            )
        else:
            others.append(names[place])
    notes = [f"counts are in the column {names[count]!r}"]
    if others:
        notes.append(f"other columns are not read: {', '.join(map(repr, others))}")
    return SheetTable(
        where=where,
        title=sheet.title,
        variables=variables,
        cells=cells,
        places=stands,
        depths={},
        notes=tuple(notes),
        tidy=True,
        percents=tuple(percents),
    )


def _put(
    where: str,
    cells: dict[Labels, str],
    stands: dict[Labels, str],
    cell: Labels,
    text: str,
    place: str,
) -> None:
    if cell in cells:
        remedy = "--index N and --header N say how many columns and rows hold labels"
        if "" in cell:
            remedy += "; write a label that stands for several rows into each of them"
        raise InvalidInput(
            f"{where}, cells {stands[cell]} and {place} both have the labels {cell}; each cell "
            f"stands once ({remedy})"
        )
    cells[cell] = text
    stands[cell] = place


def _wide(sheet: _Sheet, header: int, index: int, told: tuple[str, ...]) -> SheetTable:
    where, rows, legend = sheet.where, sheet.rows, sheet.legend
    heads, names = _heads(rows[:header], index, told)
    variables = list(sheet.layout.variables or names)
    if len(variables) != len(names):
        raise InvalidInput(
            f"{where}: {len(variables)} names {variables!r} for {len(names)} variables; name the "
            f"{index} of the index columns, then those of the header rows"
        )
    for name in variables:
        if variables.count(name) > 1:
            raise InvalidInput(
                f"{where}: two variables are called {name!r}; name them: --variables A,B"
            )
    body, bracketed = apart(rows[header:], index)
    stubs: list[list[str]] = []
    for row in body:
        stubs.append(_filled_down(row[:index], stubs[-1] if stubs else [""] * index))
    _check_headings(where, stubs, [row[index:] for row in body])
    columns = [[labels[k] for labels in heads] for k in range(len(heads[0]))]
    # Rows that are called percents first: the columns then are what the others hold.
    called = [line for line, stub in enumerate(stubs) if any(map(names_percents, stub))]
    others = [row[index:] for line, row in enumerate(body) if line not in called] or [
        row[index:] for row in body
    ]
    across = OtherLines.told(where, columns, list(zip(*others, strict=True)), legend)
    counts = [place + index for place in range(len(columns)) if place not in across.kinds]
    figures = [[row[place] for place in counts] for row in body]
    down = OtherLines.told(where, stubs, figures, legend, rows=True)
    cells: dict[Labels, str] = {}
    stands: dict[Labels, str] = {}
    beside: dict[tuple[str, bool], dict[Labels, str]] = {}
    depths: dict[str, int] = {}
    for line, row in enumerate(body):
        depths.setdefault(stubs[line][-1], _indent(row[index - 1]))
        for column in range(index, len(row)):
            place = column - index
            # A percentage belongs to the count that it stands beside, or below.
            own_row, own_column = down.partners.get(line, line), across.partners.get(place, place)
            cell = (*stubs[own_row], *columns[own_column])
            kind = down.kinds.get(line) or across.kinds.get(place)
            if kind is None:
                place_name = sheet.places.name(header + line, column)
                _put(where, cells, stands, cell, row[column], place_name)
                if (line, column) in bracketed:
                    beside.setdefault(("(%)", True), {})[cell] = bracketed[line, column]
            elif line not in down.kinds or place not in across.kinds:
                while cell in beside.setdefault(kind, {}):  # two columns of the same name
                    kind = (f"{kind[0]}, next", kind[1])
                beside[kind][cell] = row[column]
    deep = {} if len(set(depths.values())) == 1 else {variables[index - 1]: depths}
    percents = tuple(SheetPercents(*kind, figures) for kind, figures in beside.items())
    return SheetTable(
        where=where,
        title=sheet.title,
        variables=tuple(variables),
        cells=cells,
        places=stands,
        depths=deep,
        notes=(),
        tidy=False,
        percents=percents,
    )


def _check_headings(where: str, stubs: list[list[str]], figures: list[list[str]]) -> None:
    """Refuse a row with a label and nothing else between others: what it heads is not known."""
    for stub, row in zip(stubs[:-1], figures[:-1], strict=True):
        if len(stub) == 1 and stub[0] and not any(map(_filled, row)):
            raise InvalidInput(
                f"{where}: the row {stub[0]!r} has a label and no figures; if it heads the rows "
                "below, write it into a column of its own before them; if its counts are not "
                "known, write ':' into its cells"
            )


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _filled_down(row: list[str], before: list[str]) -> list[str]:
    """Labels of a row: an outer one that is empty is that of the row before."""
    labels = [text.strip() for text in row]
    for place in range(len(labels) - 1):
        if labels[place]:
            break
        if any(labels[place + 1 :]):
            labels[place] = before[place]
    return labels


def _heads(
    rows: list[list[str]], index: int, told: tuple[str, ...]
) -> tuple[list[list[str]], list[str]]:
    """The labels of the columns in each header row, and the names of all variables."""
    heads = [[text.strip() for text in row[index:]] for row in rows]
    corners = [[text.strip() for text in row[:index]] for row in rows]
    columns: list[str] = list(told)
    if len(heads) > 1 and not any(heads[-1]):
        # The last row names the index columns, and the rows above have their own names in front.
        stubs = corners[-1]
        heads, corners = heads[:-1], corners[:-1]
        columns = columns or [next(filter(None, corner), "") for corner in corners]
    else:
        stubs = [
            next((corner[k] for corner in reversed(corners) if corner[k]), "") for k in range(index)
        ]
    lines: list[list[str]] = []
    named: list[str] = []
    spoken = ""
    for place, labels in enumerate(heads):
        alone = [label for label in labels if label]
        if len(alone) == 1 and place + 1 < len(heads) and len(labels) > 1 and not told:
            spoken = alone[0]  # one text above all columns says what they are
            continue
        named.append(columns[place] if place < len(columns) and columns[place] else spoken)
        lines.append(labels)
        spoken = ""
    lines = _filled_right(_raised(lines))
    rowed = [name or ("row" if index == 1 else f"row {k + 1}") for k, name in enumerate(stubs)]
    headed = [
        name or ("column" if len(named) == 1 else f"column {k + 1}") for k, name in enumerate(named)
    ]
    return lines, [*rowed, *headed]


def _raised(heads: list[list[str]]) -> list[list[str]]:
    """A total at the right of equal groups, which only the row below names, is one of them all."""
    if len(heads) == 2 and heads[0] and not heads[0][-1]:
        upper, lower = heads
        starts = [place for place, label in enumerate(upper) if label]
        widths = {end - start for start, end in pairwise([*starts, len(upper) - 1])}
        alone = names_a_total(lower[-1]) and lower.count(lower[-1]) == 1
        if alone and len(starts) > 1 and starts[0] == 0 and len(widths) == 1:
            return [[*upper[:-1], lower[-1]], [*lower[:-1], ""]]
    return heads


def _filled_right(heads: list[list[str]]) -> list[list[str]]:
    """A label of an upper row stands for the columns at its right that have none, as merged."""
    filled: list[list[str]] = []
    for level, labels in enumerate(heads):
        row: list[str] = []
        for place, label in enumerate(labels):
            same = place > 0 and all(above[place] == above[place - 1] for above in filled)
            merged = not label and same and level + 1 < len(heads)
            row.append(row[-1] if merged else label)
        filled.append(row)
    return filled
