"""Every table of documents 000 to 004 beside our figures."""

from __future__ import annotations

import json
from collections.abc import Sequence

from cellbounds.data.spreadsheets import csv_text
from cellbounds.papers import document000, document001, document002, document003, document004
from cellbounds.papers.printed_figures import Comparison
from cellbounds.text import aligned

__all__ = ["render_comparisons", "reproduce_papers"]

TITLES = {
    "000": "Smucker, Slavković, Zhu 2008: k-way tables given conditionals",
    "001": "Petrović 2023: bounds from margins",
    "002": "Lee, Slavković 2009: the posterior of cells given conditionals",
    "003": "Smucker, Slavković 2008: two-way tables given conditionals",
    "004": "Wright, Smucker: counts from rounded conditionals",
}


def reproduce_papers() -> list[Comparison]:
    """Recompute everything and compare."""
    documents = (document000, document001, document002, document003, document004)
    return [one for document in documents for one in document.compare()]


def render_comparisons(compared: Sequence[Comparison], style: str) -> str:
    """The comparison as a table for people, JSON or CSV."""
    fields = ("document", "place", "item", "printed", "ours", "error")
    rows = [[getattr(one, field) for field in fields] for one in compared]
    if style == "json":
        entries = [
            {**dict(zip(fields, row, strict=True)), "agrees": one.agrees}
            for row, one in zip(rows, compared, strict=True)
        ]
        whole = {"format": "cellbounds-reproduction/1", "comparisons": entries}
        return json.dumps(whole, ensure_ascii=False, indent=1) + "\n"
    if style == "csv":
        lines = [
            [*row, "yes" if one.agrees else "no"] for row, one in zip(rows, compared, strict=True)
        ]
        return csv_text([*fields, "agrees"], lines)
    return _for_people(compared)


def _for_people(compared: Sequence[Comparison]) -> str:
    parts: list[str] = []
    for document, title in TITLES.items():
        mine = [one for one in compared if one.document == document]
        parts.append(f"document {document} - {title}")
        rows = [[one.place, one.item, one.printed, one.ours, _mark(one)] for one in mine]
        parts += [aligned(["table", "item", "printed", "ours", ""], rows), ""]
    agree = sum(one.agrees for one in compared)
    wrong = [one for one in compared if not one.agrees and one.as_expected]
    odd = [one for one in compared if not one.as_expected]
    parts.append(
        f"{agree} of {len(compared)} printed figures agree; {len(wrong)} differ for the reason "
        f"given below, most often an error of the paper; {len(odd)} differ without a known reason"
    )
    parts += [f"  document {one.document}, {one.place}, {one.item}: {one.error}" for one in wrong]
    return "\n".join(parts) + "\n"


def _mark(one: Comparison) -> str:
    if one.agrees:
        return "=" if one.as_expected else "agrees, though listed as an error"
    return "differs, see below" if one.error else "DIFFERS"
