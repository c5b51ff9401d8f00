"""Published tables as files of other tools: tau-ARGUS, frames with statuses, Excel with marks.

What is hidden stays hidden: true counts that a table stores are written only where an owner asks
for them, to hand the table to another tool.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cellbounds.data.domain import Label
from cellbounds.data.frames import frame_of
from cellbounds.data.hierarchy import Hierarchy
from cellbounds.data.other_tools.building import absent_leaves
from cellbounds.data.published import HIDDEN, UNKNOWN, ZERO, Cell, PublishedTable
from cellbounds.data.spreadsheets import csv_text, write_excel
from cellbounds.errors import InvalidInput
from cellbounds.runtime.files import write_whole

STYLES = ("gausssuppression", "sdctable", "rtauargus")
"""Frames that are written, by the tool whose columns they have."""


def write_table(table: PublishedTable, path: str | Path, *, style: str = STYLES[0]) -> list[Path]:
    """Write a table by the ending of its name.

    ``.tab`` is a tau-ARGUS table with its metadata and hierarchies, ``.csv`` a frame in the columns
    of `style`, ``.xlsx`` a sheet with marks.

    Returns
    -------
    list of Path
        The files.
    """
    target = Path(path)
    match target.suffix.lower():
        case ".tab":
            return write_tau_argus(table, target)
        case ".csv":
            write_frame(table, target, style)
        case ".xlsx":
            write_marked_excel(table, target)
        case _:
            raise InvalidInput(
                f"{path}: a published table is written as .tab (tau-ARGUS), .csv (a frame with "
                "statuses) or .xlsx; name it so"
            )
    return [target]


def hrc_text(tree: Hierarchy, *, lead: str = "@") -> str:
    r"""A hierarchy as tau-ARGUS's ``.hrc``: a code a line, as many `lead` before it as it is deep.

    Examples
    --------
    >>> hrc_text(Hierarchy({"N": ["N1", "N2"], "S": None}, total="Total"))
    'N\n@N1\n@N2\nS\n'
    """
    depths = tree.depths()
    lines = []
    for code, _ in tree.parents:
        text = str(code)
        if not text.strip() or text != text.strip() or text.startswith(lead) or "\n" in text:
            raise InvalidInput(
                f"the code {text!r} cannot stand in a .hrc file; codes have no blanks around them "
                f"and do not begin with {lead!r}"
            )
        lines.append(lead * (depths[code] - 1) + text + "\n")
    return "".join(lines)


def write_tau_argus(
    table: PublishedTable, path: str | Path, *, truths: Mapping[Cell, int] | None = None
) -> list[Path]:
    """Write a table as ``.tab`` with its ``.rda``, and a ``.hrc`` for each tree of codes.

    Parameters
    ----------
    truths
        Counts of hidden cells. tau-ARGUS needs them to protect a table; without them, hidden cells
        have an ``x``, and nothing of what is hidden leaves.

    Returns
    -------
    list of Path
        The files, the table first.
    """
    target = Path(path)
    if target.suffix.lower() != ".tab":
        raise InvalidInput(f"{path}: tau-ARGUS tables end in .tab; name it so")
    _check_plain(table, "a tau-ARGUS table")
    left_out = next(absent_leaves(table.where, table.hierarchies, table.entries), None)
    if left_out is not None:
        raise InvalidInput(
            f"{table.where} says nothing of the cell {left_out}, and tau-ARGUS takes cells that "
            "are not there as empty; publish it, or write another format"
        )
    names = _file_names(table.variables)
    lines = []
    for cell, entry in table.entries.items():
        codes = ";".join(_quoted(code) for code in cell)
        figure = _figure(table, cell, truths)
        # The tool wants a response beside the frequency: of counts they are the same.
        lines.append(f"{codes};{figure};{figure};{_status(table, cell, _LETTERS)}\n")
        if entry == UNKNOWN:
            raise InvalidInput(f"the cell {cell} is unknown, which no tau-ARGUS status says")
    written = [target]
    text = ['<SEPARATOR> ";"\n<SAFE> S\n<UNSAFE> U\n<PROTECT> P\n']
    for name, tree in table.hierarchies.items():
        text.append(f"{names[name]}\n  <RECODABLE>\n")
        text.append("" if tree.total is None else f'  <TOTCODE> "{_plain(tree.total)}"\n')
        if tree.depth > 1:
            hierarchy = target.with_name(f"{target.stem}_{names[name]}.hrc")
            write_whole(hierarchy, hrc_text(tree))
            written.append(hierarchy)
            text.append(
                f'  <HIERARCHICAL>\n  <HIERCODELIST> "{hierarchy.name}"\n  <HIERLEADSTRING> "@"\n'
            )
    tags = {"value": "NUMERIC>\n  <DECIMALS> 0", "count": "FREQUENCY>", "status": "STATUS>"}
    for name, tag in tags.items():
        while name in names.values():
            name += "_"
        text.append(f"{name}\n  <{tag}\n")
    write_whole(target, "".join(lines), private=truths is not None)
    write_whole(target.with_suffix(".rda"), "".join(text))
    return [*written, target.with_suffix(".rda")]


def columns_of(table: PublishedTable, style: str) -> dict[str, list[Any]]:
    """The columns of a frame as a tool writes it, without the counts of hidden cells.

    Parameters
    ----------
    style
        ``"gausssuppression"`` (freq, primary, suppressed), ``"sdctable"`` (Freq, sdcStatus) or
        ``"rtauargus"`` (freq, Status).
    """
    if style not in STYLES:
        raise InvalidInput(f"there is no frame {style!r}; choose one of {', '.join(STYLES)}")
    _check_plain(table, f"a frame of {style}")
    columns: dict[str, list[Any]] = {
        name: [cell[place] for cell in table.entries] for place, name in enumerate(table.variables)
    }
    counts = [0 if entry == ZERO else entry for entry in table.entries.values()]
    shown = [count if isinstance(count, int) else None for count in counts]
    taken = {"freq", "primary", "suppressed", "Freq", "sdcStatus", "Status"} & set(columns)
    if taken:
        raise InvalidInput(f"the variable {min(taken)!r} has the name of a column of {style}")
    if style == "gausssuppression":
        if UNKNOWN in table.entries.values():
            raise InvalidInput("GaussSuppression's frames have no mark for what is unknown")
        columns["freq"] = shown
        columns["primary"] = [table.flags.get(cell) == "primary" for cell in table.entries]
        columns["suppressed"] = [entry is HIDDEN for entry in table.entries.values()]
    elif style == "sdctable":
        columns["Freq"] = shown
        columns["sdcStatus"] = [_status(table, cell, _SMALL) for cell in table.entries]
    else:
        if UNKNOWN in table.entries.values():
            raise InvalidInput("rtauargus' frames have no status for what is unknown")
        columns["freq"] = shown
        columns["Status"] = [_status(table, cell, _SBS) for cell in table.entries]
    return columns


def to_frame(table: PublishedTable, style: str, backend: str | None = None) -> Any:
    """The table as a data frame in the columns of a tool."""
    return frame_of(columns_of(table, style), backend)


def write_frame(table: PublishedTable, path: str | Path, style: str) -> None:
    """Write the columns of a tool as CSV; what is hidden is ``NA``."""
    columns = columns_of(table, style)
    rows = [[_r_value(value) for value in row] for row in zip(*columns.values(), strict=True)]
    write_whole(Path(path), csv_text(list(columns), rows))


def write_marked_excel(table: PublishedTable, path: str | Path) -> None:
    """Write a table as people read it: the last variable across, marks where nothing is shown.

    A second sheet says what the marks mean and how numbers are rounded.
    """
    *down, last = table.variables
    rows = list(dict.fromkeys(cell[:-1] for cell in table.entries))
    sheet: dict[str, Sequence[object]] = {
        name: [row[place] for row in rows] for place, name in enumerate(down)
    }
    heads = {str(code): code for code in table.hierarchies[last].codes}
    if set(heads) & set(sheet) or len(heads) < len(table.hierarchies[last].codes):
        raise InvalidInput(
            f"levels of {last!r} have the same names as other columns; rename them to write them "
            "side by side"
        )
    for name, code in heads.items():
        sheet[name] = [_excel_value(table, (*row, code)) for row in rows]
    if not down:  # a list reads better than one line
        sheet = {last: list(heads), "count": [_excel_value(table, (c,)) for c in heads.values()]}
    write_excel({"table": sheet, "notes": {"How to read it": _meanings(table)}}, path)


_LETTERS = {"shown": "S", "empty": "E", "primary": "U", "secondary": "M"}
_SMALL = {"shown": "s", "empty": "s", "primary": "u", "secondary": "x", "unknown": "w"}
_SBS = {"shown": "V", "empty": "V", "primary": "A", "secondary": "D"}


def _status(table: PublishedTable, cell: Cell, letters: Mapping[str, str]) -> str:
    entry = table.entries[cell]
    if entry == UNKNOWN:
        return letters.get("unknown", "")
    if entry is HIDDEN:
        return letters[table.flags.get(cell, "secondary")]
    return letters["empty" if entry == ZERO else "shown"]


def _figure(table: PublishedTable, cell: Cell, truths: Mapping[Cell, int] | None) -> str:
    entry = table.entries[cell]
    if entry is HIDDEN:
        return "x" if truths is None or cell not in truths else str(truths[cell])
    return "0" if entry == ZERO else str(entry)


def _check_plain(table: PublishedTable, what: str) -> None:
    """Refuse what a status cannot say: ranges, rounded counts, noise."""
    odd = next(
        (
            cell
            for cell, entry in table.entries.items()
            if isinstance(entry, str) and entry not in (ZERO, UNKNOWN)
        ),
        None,
    )
    if odd is not None or table.base is not None or table.noise is not None:
        why = f"the cell {odd} is a range" if odd is not None else "its numbers are no exact counts"
        raise InvalidInput(
            f"{table.where}: {what} has counts and hidden cells only, and {why}; write it as Excel "
            "or as a release file"
        )


def _plain(code: Label) -> str:
    text = str(code)
    if '"' in text or "\n" in text or text != text.strip() or not text:
        raise InvalidInput(
            f"the code {text!r} cannot stand in a tau-ARGUS file; codes have no quotes, line "
            "breaks or blanks around them"
        )
    return text


def _quoted(code: Label) -> str:
    return f'"{_plain(code)}"'


def _file_names(names: Sequence[str]) -> dict[str, str]:
    """Variables as metadata files have them: without blanks."""
    made = {name: "_".join(name.replace('"', "").split()) or "V" for name in names}
    odd = [
        new for new in made.values() if new.startswith("<") or not new.isprintable() or "/" in new
    ]
    if len(set(made.values())) < len(made) or odd:
        raise InvalidInput(
            f"the variables {list(names)} cannot be named in a tau-ARGUS file; they need different "
            "names when blanks and quotes are left out"
        )
    return made


def _r_value(value: object) -> object:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return "NA" if value is None else value


def _excel_value(table: PublishedTable, cell: Cell) -> object:
    entry = table.entries.get(cell, UNKNOWN)
    return entry if isinstance(entry, int) else table.text(cell) if cell in table.entries else ":"


def _meanings(table: PublishedTable) -> list[str]:
    numbers = "Numbers are exact counts"
    if table.base is not None:
        how = table.rounding or "nearest"
        numbers = f"Numbers are rounded to multiples of {table.base} ({how})"
    return ["x stands for a suppressed count", ": is unknown, perhaps 0", "- is zero", numbers]
