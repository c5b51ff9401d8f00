"""Every table and figure of documents 000 to 004, and of Wright and Smucker 2014, beside ours."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from cellbounds.data.spreadsheets import csv_text
from cellbounds.papers import (
    document000,
    document001,
    document002,
    document003,
    document004,
    wright_smucker_2014,
)
from cellbounds.papers.data_files import DataFiles
from cellbounds.papers.inventory import InventoryEntry, inventory
from cellbounds.papers.printed_figures import PrintedFigure, beside
from cellbounds.papers.times import Timing, timings
from cellbounds.text import aligned, counted

DOCUMENTS = {
    "000": document000,
    "001": document001,
    "002": document002,
    "003": document003,
    "004": document004,
    "WS14": wright_smucker_2014,
}

FIELDS = ("document", "place", "item", "printed", "ours", "error")


@dataclass(frozen=True, slots=True)
class Reproduction:
    """What the papers print beside ours: figures, times, and each table and figure as a whole."""

    comparisons: tuple[PrintedFigure, ...]
    times: tuple[Timing, ...]
    inventory: tuple[InventoryEntry, ...]

    @property
    def as_expected(self) -> bool:
        """Whether nothing differs but for a known reason."""
        figures = all(figure.as_expected for figure in self.comparisons)
        return figures and all(line.as_printed for line in self.times)


def reproduce_papers(*documents: str, data: Path | None = None) -> Reproduction:
    """Recompute what some documents (all of them if none is named) print, and compare.

    `data`: a folder with the tables that may not be shipped.
    """
    files, chosen = DataFiles(data), documents or tuple(DOCUMENTS)
    compared = tuple(
        figure
        for document in chosen
        for figure in beside(document, DOCUMENTS[document].figures(files))
    )
    times = tuple(timings(files, chosen))
    return Reproduction(compared, times, tuple(inventory(compared, times)))


def render_reproduction(found: Reproduction, style: str) -> str:
    """The comparison as a table for people, JSON or CSV."""
    compared = found.comparisons
    rows = [{field: getattr(figure, field) for field in FIELDS} for figure in compared]
    if style == "json":
        entries = [
            {**row, "agrees": figure.agrees, "missing": figure.missing}
            for row, figure in zip(rows, compared, strict=True)
        ]
        whole = {
            "format": "cellbounds-reproduction/1",
            "inventory": [asdict(entry) for entry in found.inventory],
            "comparisons": entries,
            "times": [asdict(line) for line in found.times],
        }
        return json.dumps(whole, ensure_ascii=False, indent=1) + "\n"
    if style == "csv":
        marks = {True: "yes", False: "no", None: "data not at hand"}
        lines = [
            [*row.values(), marks[figure.agrees]]
            for row, figure in zip(rows, compared, strict=True)
        ]
        return csv_text([*FIELDS, "agrees"], lines)
    return _for_people(found)


def _for_people(found: Reproduction) -> str:
    compared = found.comparisons
    missing = sum(figure.agrees is None for figure in compared)
    agree = sum(figure.agrees is True for figure in compared)
    wrong = [figure for figure in compared if figure.agrees is False and figure.as_expected]
    odd = sum(not figure.as_expected for figure in compared)
    absent = f"; {missing:,} need data that are not at hand (--data)" if missing else ""
    parts = [
        f"{agree:,} of {counted(len(compared), 'printed figure')} agree; {len(wrong):,} differ for "
        "the reason given at the end, most often an error of the paper; "
        f"{odd or 'none'} {'differs' if odd == 1 else 'differ'} without a known reason{absent}",
        "",
        "every table and figure",
    ]
    parts += [f"  {entry.document}  {entry.item}: {entry.status}" for entry in found.inventory]
    for document, paper in DOCUMENTS.items():
        rows = [
            [figure.place, figure.item, figure.printed, figure.ours, _mark(figure)]
            for figure in compared
            if figure.document == document
        ]
        parts += ["", f"document {document} - {paper.TITLE}"]
        parts += [aligned(["table", "item", "printed", "ours", ""], rows)]
    parts += ["", "printed times and ours, in seconds: other machines, other years", _times(found)]
    parts += ["", "where a paper differs, and why"] if wrong else []
    parts += [
        f"  document {figure.document}, {figure.place}, {figure.item}: {figure.error}"
        for figure in wrong
    ]
    return "\n".join(parts) + "\n"


def _times(found: Reproduction) -> str:
    header = ["document", "table", "data", "rows", "columns", "people", "digits"]
    header += ["printed", "CPLEX", "ours", "times"]
    return aligned(header, [_timing(line) for line in found.times], set(header[3:]))


def _timing(line: Timing) -> list[str]:
    size = [str(line.rows), str(line.columns), line.people]
    digits = "exact" if line.digits is None else str(line.digits)
    ours = ["not at hand", ""]
    if line.ours is not None:
        ours = [f"{line.ours:.4f}", f"{line.printed / line.ours:,.0f}"]
    printed = [f"{line.printed:g}", line.solver]
    return [line.document, line.place, line.data or "random", *size, digits, *printed, *ours]


def _mark(figure: PrintedFigure) -> str:
    if figure.agrees is None:
        return f"data not at hand: {figure.missing}"
    if figure.agrees:
        return "=" if figure.as_expected else "agrees, though listed as an error"
    return "differs, see below" if figure.error else "DIFFERS"
