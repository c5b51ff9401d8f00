"""Every table and figure of the papers, with what came of it; nothing is left out silently."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import TypeVar

from cellbounds.papers.printed_figures import PrintedFigure
from cellbounds.papers.times import Timing
from cellbounds.text import counted


@dataclass(frozen=True, slots=True)
class InventoryEntry:
    """A table or figure of a document, and whether our figures agree with it."""

    document: str
    item: str
    status: str


def inventory(compared: Sequence[PrintedFigure], times: Sequence[Timing]) -> list[InventoryEntry]:
    """What came of each table and figure of the documents that were compared."""
    text = (resources.files("cellbounds.papers") / "data" / "inventory.csv").read_text("utf-8")
    documents = {comparison.document for comparison in compared}
    return [
        InventoryEntry(
            document, item, note or _status(document, places.split(";"), compared, times)
        )
        for document, item, places, note in list(csv.reader(text.splitlines()))[1:]
        if document in documents
    ]


def _status(
    document: str, places: list[str], compared: Sequence[PrintedFigure], times: Sequence[Timing]
) -> str:
    lines = [*_compared(_at(document, places, compared)), *_timed(_at(document, places, times))]
    assert lines, f"document {document} has nothing at {places}"
    return "; ".join(lines)


Line = TypeVar("Line", PrintedFigure, Timing)


def _at(document: str, places: list[str], lines: Sequence[Line]) -> list[Line]:
    """What stands at some places; "Table 1" has "Table 1(c)" with it, but not "Table 10"."""
    return [
        line
        for line in lines
        if line.document == document
        and any(
            line.place.startswith(place) and not line.place[len(place) :][:1].isdigit()
            for place in places
        )
    ]


def _compared(lines: Sequence[PrintedFigure]) -> Iterator[str]:
    missing = sorted({line.missing for line in lines if line.missing})
    odd = [line for line in lines if not line.missing and not line.as_expected]
    wrong = [line for line in lines if not line.missing and line.error and line.as_expected]
    if odd:
        yield f"DIFFERS without a known reason: {', '.join(comparison.item for comparison in odd)}"
    if wrong:
        first, *others = dict.fromkeys(comparison.error for comparison in wrong)
        more = f", and {counted(len(others), 'reason')} more" if others else ""
        agree = len(lines) - len(wrong) - len(odd)
        rest = f" ({agree} of {len(lines)} figures agree)" if agree else ""
        yield f"the paper errs: {first}{more}{rest}"
    elif lines and not missing and not odd:
        yield f"agrees ({counted(len(lines), 'figure')})"
    if missing:
        yield f"data not at hand: {', '.join(missing)}"


def _timed(lines: Sequence[Timing]) -> Iterator[str]:
    if not lines:
        return
    missing = sorted({line.missing for line in lines if line.missing})
    ran = [line for line in lines if line.ours is not None]
    if any(not timing.as_printed for timing in ran):
        yield "DIFFERS without a known reason: the size of a table"
    elif ran:
        ratios = sorted(timing.printed / timing.ours for timing in ran if timing.ours)
        yield (
            f"agrees in the sizes of {counted(len(ran), 'table')}; printed times are "
            f"{ratios[0]:,.0f} to {ratios[-1]:,.0f} times ours"
        )
    if missing:
        yield f"data not at hand: {', '.join(missing)}"
