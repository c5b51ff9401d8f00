"""Every table of documents 000 to 004 beside our figures."""

from __future__ import annotations

import json
from collections.abc import Sequence

from cellbounds.data.spreadsheets import csv_text
from cellbounds.papers import document000, document001, document002, document003, document004
from cellbounds.papers.printed_figures import Comparison, beside
from cellbounds.text import aligned, counted

DOCUMENTS = {
    "000": document000,
    "001": document001,
    "002": document002,
    "003": document003,
    "004": document004,
}


def reproduce_papers(*documents: str) -> list[Comparison]:
    """Recompute what some documents (all of them if none is named) print, and compare."""
    return [
        figure
        for document in documents or DOCUMENTS
        for figure in beside(document, DOCUMENTS[document].figures())
    ]


def render_comparisons(compared: Sequence[Comparison], style: str) -> str:
    """The comparison as a table for people, JSON or CSV."""
    fields = ("document", "place", "item", "printed", "ours", "error")
    rows = [{field: getattr(figure, field) for field in fields} for figure in compared]
    if style == "json":
        entries = [
            {**row, "agrees": figure.agrees} for row, figure in zip(rows, compared, strict=True)
        ]
        whole = {"format": "cellbounds-reproduction/1", "comparisons": entries}
        return json.dumps(whole, ensure_ascii=False, indent=1) + "\n"
    if style == "csv":
        agree = ("yes" if figure.agrees else "no" for figure in compared)
        lines = [[*row.values(), mark] for row, mark in zip(rows, agree, strict=True)]
        return csv_text([*fields, "agrees"], lines)
    return _for_people(compared)


def _for_people(compared: Sequence[Comparison]) -> str:
    agree = sum(figure.agrees for figure in compared)
    wrong = [figure for figure in compared if not figure.agrees and figure.as_expected]
    odd = sum(not figure.as_expected for figure in compared)
    parts = [
        f"{agree:,} of {counted(len(compared), 'printed figure')} agree; {len(wrong):,} differ for "
        "the reason given at the end, most often an error of the paper; "
        f"{odd or 'none'} {'differs' if odd == 1 else 'differ'} without a known reason",
        "",
    ]
    for document, paper in DOCUMENTS.items():
        rows = [
            [figure.place, figure.item, figure.printed, figure.ours, _mark(figure)]
            for figure in compared
            if figure.document == document
        ]
        parts.append(f"document {document} - {paper.TITLE}")
        parts += [aligned(["table", "item", "printed", "ours", ""], rows), ""]
    parts += ["where a paper differs, and why"] if wrong else []
    parts += [
        f"  document {figure.document}, {figure.place}, {figure.item}: {figure.error}"
        for figure in wrong
    ]
    return "\n".join(parts) + "\n"


def _mark(figure: Comparison) -> str:
    if figure.agrees:
        return "=" if figure.as_expected else "agrees, though listed as an error"
    return "differs, see below" if figure.error else "DIFFERS"
