"""Audits and attacks as text, JSON and CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cellbounds.domain import Domain, Label
from cellbounds.releases import Release
from cellbounds.results import Attainable, Unbounded, ValueSet
from cellbounds.results.answers import RESERVED, labelled, value_entries
from cellbounds.risk import NARROW, RULE, Audit
from cellbounds.text import aligned, label_keys

__all__ = ["FORMATS", "SHOWN", "Finding", "findings", "render"]

FORMATS = ("table", "json", "csv")

SHOWN = 60
"""Cells that a table for people shows unless asked for all."""

FORMAT = "cellbounds-audit/1"


@dataclass(frozen=True, slots=True, eq=False)
class Finding:
    """One cell, with or without the owner's count."""

    labels: tuple[Label, ...]
    values: ValueSet
    count: int | None
    unsafe: bool
    structural: bool

    @property
    def disclosed(self) -> bool:
        """Whether only one count is attainable."""
        return self.values.size == 1

    @property
    def narrow(self) -> bool:
        """Whether very few counts are attainable, but more than one."""
        size = self.values.size
        return not isinstance(size, Unbounded) and 1 < size <= NARROW

    @property
    def mark(self) -> str:
        """A word for the last column."""
        if self.unsafe:
            return "UNSAFE"
        if self.structural:
            return "structural"
        return "disclosed" if self.disclosed else "narrow" if self.narrow else ""


def findings(source: Audit | Attainable) -> list[Finding]:
    """The cells of an audit (owner's view) or of an answer (intruder's view)."""
    if isinstance(source, Audit):
        return [
            Finding(cell.labels, cell.values, cell.count, cell.unsafe, cell.structural)
            for cell in source.cells
        ]
    return [Finding(labels, values, None, False, False) for labels, values in source.items()]


def render(source: Audit | Attainable, style: str, *, everything: bool = False) -> str:
    """The whole report as text in one of the formats."""
    answer = source.answer if isinstance(source, Audit) else source
    cells = findings(source)
    owner = isinstance(source, Audit)
    if style == "json":
        return _json(answer, cells, owner)
    if style == "csv":
        return _csv(answer.domain, cells, owner)
    return _table(answer, cells, owner, everything)


def _summary(cells: Sequence[Finding]) -> dict[str, int]:
    return {
        "cells": len(cells),
        "disclosed": sum(cell.disclosed for cell in cells),
        "narrow": sum(cell.narrow for cell in cells),
        "unsafe": sum(cell.unsafe for cell in cells),
    }


def _json(answer: Attainable, cells: Sequence[Finding], owner: bool) -> str:
    import cellbounds

    entries: list[dict[str, Any]] = []
    for cell in cells:
        entry = labelled(answer.domain, cell.labels)
        if owner:
            entry["count"] = cell.count
        entry |= value_entries(cell.values)
        entry |= {"disclosed": cell.disclosed, "narrow": cell.narrow}
        if owner:
            entry |= {"unsafe": cell.unsafe, "structural": cell.structural}
        entries.append(entry)
    content: dict[str, Any] = {
        "format": FORMAT,
        "version": cellbounds.__version__,
        "view": "owner" if owner else "intruder",
        "release": _release(answer.release),
        "over": list(answer.over),
        "method": answer.method,
        "evidence": answer.evidence.value,
        "seconds": round(answer.seconds, 6),
        "summary": {k: v for k, v in _summary(cells).items() if owner or k != "unsafe"},
    }
    if owner:
        content["rule"] = RULE
        content["verdict"] = "unsafe" if any(cell.unsafe for cell in cells) else "safe"
    return json.dumps({**content, "cells": entries}, ensure_ascii=False, indent=1) + "\n"


def _release(release: Release) -> dict[str, Any]:
    return {
        "digest": release.digest,
        "statements": [statement.notation for statement in release.statements],
    }


def _csv(domain: Domain, cells: Sequence[Finding], owner: bool) -> str:
    keys = list(label_keys(domain.names, RESERVED).values())
    header = [*keys, *(["count"] if owner else []), "lower", "upper", "size", "values", "mark"]
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(header)
    for cell in cells:
        counts = [cell.count] if owner else []
        upper, size = cell.values.largest, cell.values.size
        writer.writerow(
            [
                *cell.labels,
                *counts,
                cell.values.smallest,
                "" if isinstance(upper, Unbounded) else upper,
                "" if isinstance(size, Unbounded) else size,
                cell.values.text(most=1000),
                cell.mark,
            ]
        )
    return stream.getvalue()


def _table(answer: Attainable, cells: Sequence[Finding], owner: bool, everything: bool) -> str:
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
        rank = {"UNSAFE": 0, "disclosed": 1, "narrow": 2}
        shown = sorted(cells, key=lambda cell: rank.get(cell.mark, 3))[:SHOWN]
    numbers = ["count"] if owner else []
    header = [*answer.over, *numbers, "lower", "upper", "values", "attainable", "mark"]
    rows = [
        [
            *map(str, cell.labels),
            *([str(cell.count)] if owner else []),
            str(cell.values.smallest),
            "unbounded" if cell.values.unbounded else str(cell.values.largest),
            "unbounded" if cell.values.unbounded else str(cell.values.size),
            cell.values.text(most=4),
            cell.mark,
        ]
        for cell in shown
    ]
    lines.append(aligned(header, rows, {"count", "lower", "upper", "values"}))
    if len(shown) < len(cells):
        lines.append(f"... {len(cells) - len(shown)} more cells: --all, or --format csv")
    lines += [
        "",
        f"{counted['cells']} cells: {counted['disclosed']} exactly disclosed (one attainable "
        f"count), {counted['narrow']} narrow (2 to {NARROW})",
    ]
    if owner:
        verdict = "UNSAFE" if counted["unsafe"] else "SAFE"
        lines.append(f"{verdict}: {counted['unsafe']} cells break the rule ({RULE})")
    return "\n".join(lines) + "\n"
