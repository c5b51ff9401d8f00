"""Audits and attacks as text, JSON and CSV."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from cellbounds.domain import Domain
from cellbounds.releases import Release
from cellbounds.results import Attainable, Unbounded
from cellbounds.results.entries import RESERVED, cell_value, labelled, value_entries
from cellbounds.risk import NARROW, RULE, Audit, CellRisk
from cellbounds.spreadsheets import csv_text
from cellbounds.text import aligned, label_keys
from cellbounds.version import __version__

__all__ = ["SHOWN", "render"]

SHOWN = 60
"""Cells that a table for people shows unless asked for all."""

FORMAT = "cellbounds-audit/1"


def _mark(cell: CellRisk) -> str:
    """A word for the last column."""
    if cell.unsafe:
        return "UNSAFE"
    if cell.unsafe is None:
        return "undecided"
    if cell.structural or cell.empty_row:
        return "structural" if cell.structural else "empty row"
    return "disclosed" if cell.disclosed else "narrow" if cell.narrow else ""


def render(source: Audit | Attainable, style: str, *, everything: bool = False) -> str:
    """The whole report as text in one of the formats."""
    answer = source.answer if isinstance(source, Audit) else source
    owner = isinstance(source, Audit)
    if isinstance(source, Audit):
        cells: Sequence[CellRisk] = source.cells
    else:
        cells = [CellRisk(labels, values) for labels, values in source.items()]
    if style == "json":
        return _json(answer, cells, owner)
    if style == "csv":
        return _csv(answer.domain, cells, owner)
    return _table(answer, cells, owner, everything)


def _summary(cells: Sequence[CellRisk]) -> dict[str, int]:
    return {
        "cells": len(cells),
        "disclosed": sum(cell.disclosed is True for cell in cells),
        "known_empty": sum(cell.structural or cell.empty_row for cell in cells),
        "narrow": sum(cell.narrow for cell in cells),
        "unsafe": sum(cell.unsafe is True for cell in cells),
        "undecided": sum(cell.unsafe is None for cell in cells),
        "unsettled": sum(not cell.values.settled for cell in cells),
    }


def _of_which_empty(counted: dict[str, int]) -> str:
    known = counted["known_empty"]
    return f"; {known} of them structural zeros or in empty rows" if known else ""


def _json(answer: Attainable, cells: Sequence[CellRisk], owner: bool) -> str:
    entries: list[dict[str, Any]] = []
    for cell in cells:
        entry = labelled(answer.domain, cell.labels)
        if owner:
            entry["count"] = cell.count
        entry |= value_entries(cell.values)
        entry |= {"disclosed": cell.disclosed, "narrow": cell.narrow}  # None: not settled
        if owner:
            entry |= {
                "unsafe": cell.unsafe,
                "structural": cell.structural,
                "empty_row": cell.empty_row,
            }
        entries.append(entry)
    content: dict[str, Any] = {
        "format": FORMAT,
        "version": __version__,
        "view": "owner" if owner else "intruder",
        "release": _release(answer.release),
        "over": list(answer.over),
        "method": answer.method,
        "evidence": answer.evidence.value,
        "seconds": round(answer.seconds, 6),
        "summary": {
            key: value
            for key, value in _summary(cells).items()
            if owner or key not in ("unsafe", "undecided", "known_empty")
        },
    }
    if owner:
        content["rule"] = RULE
        content["verdict"] = _verdict(cells)
    return json.dumps({**content, "cells": entries}, ensure_ascii=False, indent=1) + "\n"


def _verdict(cells: Sequence[CellRisk]) -> str:
    if any(cell.unsafe for cell in cells):
        return "unsafe"
    return "undecided" if any(cell.unsafe is None for cell in cells) else "safe"


def _size(cell: CellRisk, endless: str) -> str:
    """How many counts are attainable, as text."""
    if not cell.values.settled:
        return "?"
    size = cell.values.size
    return endless if isinstance(size, Unbounded) else str(size)


def _upper(cell: CellRisk, endless: str) -> str:
    upper = cell.values.possible.largest
    return endless if isinstance(upper, Unbounded) else str(upper)


def _release(release: Release) -> dict[str, Any]:
    return {
        "digest": release.digest,
        "statements": [statement.notation for statement in release.statements],
    }


def _csv(domain: Domain, cells: Sequence[CellRisk], owner: bool) -> str:
    keys = list(label_keys(domain.names, RESERVED).values())
    header = [*keys, *(["count"] if owner else []), "lower", "upper", "size", "values", "mark"]
    lines = (
        [
            *cell.labels,
            *([cell.count] if owner else []),
            cell.values.possible.smallest,
            cell_value(cell.values.possible.largest),
            _size(cell, "") if not cell.values.settled else cell_value(cell.values.size),
            cell.values.text(most=1000),
            _mark(cell),
        ]
        for cell in cells
    )
    return csv_text(header, lines)


def _table(answer: Attainable, cells: Sequence[CellRisk], owner: bool, everything: bool) -> str:
    counted = _summary(cells)
    lines = [
        str(answer.release),
        f"asked about {', '.join(answer.over)}; {answer.method}, {answer.evidence.value}, "
        f"{answer.seconds:.3f} s, release {answer.digest[:12]}",
        "",
    ]
    shown = list(cells)
    if len(cells) > SHOWN and not everything:
        # The cells at risk first; within equal risk the order of the table.
        rank = {"UNSAFE": 0, "undecided": 1, "disclosed": 2, "narrow": 3}
        shown = sorted(cells, key=lambda cell: rank.get(_mark(cell), 4))[:SHOWN]
    numbers = ["count"] if owner else []
    header = [*answer.over, *numbers, "lower", "upper", "values", "attainable", "mark"]
    rows = [
        [
            *map(str, cell.labels),
            *([str(cell.count)] if owner else []),
            str(cell.values.possible.smallest),
            _upper(cell, "unbounded"),
            _size(cell, "unbounded"),
            cell.values.text(most=4),
            _mark(cell),
        ]
        for cell in shown
    ]
    lines.append(aligned(header, rows, {"count", "lower", "upper", "values"}))
    if len(shown) < len(cells):
        lines.append(f"... {len(cells) - len(shown)} more cells: --all, or --format csv")
    lines += [
        "",
        f"{counted['cells']} cells: {counted['disclosed']} exactly disclosed (one attainable "
        f"count{_of_which_empty(counted)}), {counted['narrow']} narrow (2 to {NARROW})",
    ]
    if counted["unsettled"]:
        lines.append(
            f"{counted['unsettled']} cells are not settled: what is attainable includes the counts "
            "shown and perhaps more (--seconds gives more time)"
        )
    if owner:
        verdict = _verdict(cells).upper()
        broken = f"{counted['unsafe']} cells break" if counted["unsafe"] else "no cell breaks"
        if verdict == "UNDECIDED":
            broken = f"{counted['undecided']} cells may break"
        lines.append(f"{verdict}: {broken} the rule")
        lines.append(f"rule - {RULE}")
    return "\n".join(lines) + "\n"
