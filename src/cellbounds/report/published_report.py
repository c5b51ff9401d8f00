"""The report on published tables: as printed, with what can be worked out, the worst first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cellbounds.data.published import Cell, PublishedTable
from cellbounds.data.spreadsheets import csv_text
from cellbounds.disclosure.auditing import NARROW, CellRisk
from cellbounds.disclosure.published_cells import PublishedRisk, TableRisk
from cellbounds.report.formats import json_text
from cellbounds.report.pages.page import rendered
from cellbounds.results.answers import cell_value, value_entries
from cellbounds.text import aligned, counted
from cellbounds.version import __version__

FORMAT = "cellbounds-published/1"

SHOWN = 40
"""Rows of a table, and cells, that a screen for people shows unless asked for all."""

MOST_COLUMNS = 12
"""Columns of a table as it is printed; with more, cells are listed."""

MOST_ON_PAGE = 5000
"""Cells of a table that a page shows as it is printed."""

WORDS = {
    "exact": "known exactly",
    "narrow": f"2 to {NARROW} counts left",
    "not settled": "not settled",
    "": "",
}


def render(risk: PublishedRisk, style: str, *, everything: bool = False) -> str:
    """The report as text in one of the formats."""
    if style == "json":
        return json_text(content(risk))
    if style == "csv":
        return _csv(risk)
    if style == "html":
        return _page(risk)
    return _text(risk, everything)


def mark_of(cell: CellRisk) -> str:
    """How much is known of a cell."""
    if cell.disclosed:
        return "exact"
    if cell.disclosed is None:
        return "not settled"
    return "narrow" if cell.narrow else ""


def headline(risk: PublishedRisk) -> str:
    """What the tables give away, in a sentence."""
    hidden = [cell for one in risk.tables for cell in one.hidden]
    if not hidden:
        others = sum(len(one.cells) for one in risk.tables)
        return f"No count is hidden; {counted(others, 'cell')} shown as ranges or unknown"
    marks = [mark_of(cell) for cell in hidden]
    parts = [f"{counted(len(hidden), 'count is', 'counts are')} hidden"]
    exact, narrow = marks.count("exact"), marks.count("narrow")
    parts.append(f"{exact or 'none'} of them can be worked out exactly")
    if narrow:
        parts.append(f"{narrow} nearly (2 to {NARROW} counts left)")
    if marks.count("not settled"):
        parts.append(f"{marks.count('not settled')} not settled in time")
    return ", ".join(parts)


def cell_text(table: PublishedTable, cell: Cell, known: CellRisk | None) -> str:
    """A cell as it is printed, and what can be worked out beside it.

    That is ``x = 3`` for a single count, ``x 2-5`` for a range.
    """
    printed = table.text(cell)
    if known is None:
        return printed
    values = known.values
    low, high = values.possible.smallest, cell_value(values.possible.largest)
    if low == high:
        return f"{printed} = {low}"
    return f"{printed} {low}-{'' if high is None else high}"


def laid_out(one: TableRisk) -> tuple[list[str], list[tuple[tuple[str, ...], list[Cell]]]]:
    """The table with its last variable across: the header, and the cells of each row."""
    table = one.table
    stubs = table.variables[:-1]
    columns = dict.fromkeys(cell[-1] for cell in table.entries)
    stubs_printed = dict.fromkeys(cell[:-1] for cell in table.entries)
    rows = [(tuple(map(str, stub)), [(*stub, code) for code in columns]) for stub in stubs_printed]
    return [*stubs, *map(str, columns)], rows


def _text(risk: PublishedRisk, everything: bool) -> str:
    most = 10**9 if everything else SHOWN
    besides = [f"  the intruder also knows: {sentence}" for sentence in risk.sentences]
    blocks = ["\n".join([headline(risk), *besides])]
    for one in risk.tables:
        blocks.append(one.table.understood())
        header, rows = laid_out(one)
        if len(one.table.hierarchies[one.table.variables[-1]].codes) <= MOST_COLUMNS:
            known = {cell.labels: cell for cell in one.cells}
            lines = [
                [*stub, *(cell_text(one.table, cell, known.get(cell)) for cell in cells)]
                for stub, cells in rows[:most]
            ]
            numbers = set(header[len(one.table.variables) - 1 :])
            blocks.append(f"As printed, and what can be worked out\n{_fit(header, lines, numbers)}")
            if len(rows) > most:
                blocks.append(f"... {len(rows) - most:,} more rows: --all, or --format html")
        blocks.append(_worst(one, most))
    blocks += [f"note: {note}" for note in risk.notes]
    blocks.append(
        f"worked out from {counted(len(risk.published.release.statements), 'margin')} in "
        f"{risk.seconds:.1f} s; counts that are shown are taken as they are printed"
    )
    return "\n\n".join(filter(None, blocks)) + "\n"


def _fit(header: Sequence[str], lines: Sequence[Sequence[str]], numbers: set[str]) -> str:
    """Columns of the same name, which are no mistake here, kept apart."""
    names = [name + "\u200b" * header[:place].count(name) for place, name in enumerate(header)]
    return aligned(names, lines, {names[k] for k, name in enumerate(header) if name in numbers})


def _worst(one: TableRisk, most: int) -> str:
    if not one.cells:
        return ""
    names = list(one.table.variables)
    rows = [
        [
            *map(str, cell.labels),
            one.table.text(cell.labels),
            cell.values.possible.text(4),
            "; ".join(filter(None, [WORDS[mark_of(cell)], one.table.flags.get(cell.labels, "")])),
        ]
        for cell in one.worst_first[:most]
    ]
    table = aligned([*names, "printed", "can be", "what that means"], rows)
    left = len(one.cells) - most
    more = f"\n... {left:,} more of these cells: --all, or --format csv" if left > 0 else ""
    return f"Cells that show no number, the worst first\n{table}{more}"


def content(risk: PublishedRisk) -> dict[str, Any]:
    """The report as plain values, versioned."""
    return {
        "format": FORMAT,
        "version": __version__,
        "said": headline(risk),
        "release": {
            "digest": risk.published.release.digest,
            "statements": [one.notation for one in risk.published.release.statements],
        },
        "summary": {
            "hidden": sum(len(one.hidden) for one in risk.tables),
            "disclosed": risk.disclosed,
            "unsettled": risk.unsettled,
        },
        "seconds": round(risk.seconds, 6),
        "notes": list(risk.notes),
        "intruder_knows": list(risk.sentences),
        "tables": [
            {
                "where": one.table.where,
                "title": one.table.title,
                "variables": list(one.table.variables),
                "understood": one.table.understood().splitlines(),
                "truths_in_file": len(one.table.truths),
                "cells": [
                    {
                        "labels": list(map(str, cell.labels)),
                        "printed": one.table.text(cell.labels),
                        "flag": one.table.flags.get(cell.labels, ""),
                        "mark": mark_of(cell),
                        **value_entries(cell.values),
                    }
                    for cell in one.worst_first
                ],
            }
            for one in risk.tables
        ],
    }


def _csv(risk: PublishedRisk) -> str:
    names = list({name: None for one in risk.tables for name in one.table.variables})
    rows = []
    for number, one in enumerate(risk.tables, start=1):
        for cell in one.worst_first:
            labels = dict(zip(one.table.variables, map(str, cell.labels), strict=True))
            values = cell.values.possible
            rows.append(
                [
                    number,
                    *(labels.get(name, "") for name in names),
                    one.table.text(cell.labels),
                    one.table.flags.get(cell.labels, ""),
                    values.smallest,
                    cell_value(values.largest),
                    values.text(1000),
                    mark_of(cell),
                ]
            )
    header = ["table", *names, "printed", "flag", "lower", "upper", "values", "mark"]
    return csv_text(header, rows)


def _page(risk: PublishedRisk) -> str:
    tables = []
    for one in risk.tables:
        header, rows = laid_out(one)
        known = {cell.labels: cell for cell in one.cells}
        shown = [
            (stub, [_page_cell(one.table, cell, known.get(cell)) for cell in cells])
            for stub, cells in rows
        ]
        tables.append(
            {
                "where": one.table.where,
                "title": one.table.title,
                "understood": one.table.understood().splitlines()[1:],
                "stubs": one.table.variables[:-1],
                "across": one.table.variables[-1],
                "header": header[len(one.table.variables) - 1 :],
                "rows": shown if len(one.table.entries) <= MOST_ON_PAGE else [],
                "worst": [
                    {
                        "labels": list(
                            zip(one.table.variables, map(str, cell.labels), strict=True)
                        ),
                        "printed": one.table.text(cell.labels),
                        "values": cell.values.possible.text(8),
                        "words": WORDS[mark_of(cell)],
                        "flag": one.table.flags.get(cell.labels, ""),
                    }
                    for cell in one.worst_first[:MOST_ON_PAGE]
                ],
            }
        )
    tone = "unsafe" if risk.disclosed else "undecided" if risk.unsettled else "untold"
    return rendered(
        "published.html.j2",
        ["report.css"],
        version=__version__,
        said=headline(risk),
        tone=tone,
        sign={"unsafe": "×", "undecided": "?", "untold": "i"}[tone],
        tables=tables,
        notes=(*(f"the intruder also knows: {one}" for one in risk.sentences), *risk.notes),
        digest=risk.published.release.digest,
    )


def _page_cell(table: PublishedTable, cell: Cell, known: CellRisk | None) -> dict[str, str]:
    mark = "" if known is None else mark_of(known)
    tones = {"exact": "broken", "narrow": "open", "not settled": "open"}
    return {"text": cell_text(table, cell, known), "tone": tones.get(mark, "")}
