"""Every table of documents 000 to 004 beside our figures."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from cellbounds.data.spreadsheets import csv_text
from cellbounds.papers import document000, document001, document002, document003, document004
from cellbounds.papers.printed_figures import Comparison, Figures, beside
from cellbounds.text import aligned

__all__ = ["render_comparisons", "reproduce_papers"]

DOCUMENTS: dict[str, tuple[str, Callable[[], Figures]]] = {
    "000": (
        "Smucker, Slavković, Zhu 2008: k-way tables given conditionals",
        document000.figures,
    ),
    "001": ("Petrović 2023: bounds from margins", document001.figures),
    "002": (
        "Lee, Slavković 2009: the posterior of cells given conditionals",
        document002.figures,
    ),
    "003": ("Smucker, Slavković 2008: two-way tables given conditionals", document003.figures),
    "004": ("Wright, Smucker: counts from rounded conditionals", document004.figures),
}


def reproduce_papers(*documents: str) -> list[Comparison]:
    """Recompute what some documents (all of them if none is named) print, and compare."""
    return [
        figure
        for document in documents or DOCUMENTS
        for figure in beside(document, DOCUMENTS[document][1]())
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
    parts: list[str] = []
    for document, (title, _) in DOCUMENTS.items():
        rows = [
            [figure.place, figure.item, figure.printed, figure.ours, _mark(figure)]
            for figure in compared
            if figure.document == document
        ]
        parts.append(f"document {document} - {title}")
        parts += [aligned(["table", "item", "printed", "ours", ""], rows), ""]
    agree = sum(figure.agrees for figure in compared)
    wrong = [figure for figure in compared if not figure.agrees and figure.as_expected]
    odd = sum(not figure.as_expected for figure in compared)
    parts.append(
        f"{agree} of {len(compared)} printed figures agree; {len(wrong)} differ for the reason "
        f"given below, most often an error of the paper; {odd} differ without a known reason"
    )
    parts += [
        f"  document {figure.document}, {figure.place}, {figure.item}: {figure.error}"
        for figure in wrong
    ]
    return "\n".join(parts) + "\n"


def _mark(figure: Comparison) -> str:
    if figure.agrees:
        return "=" if figure.as_expected else "agrees, though listed as an error"
    return "differs, see below" if figure.error else "DIFFERS"
