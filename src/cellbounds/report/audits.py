"""Audits and attacks as text, JSON and CSV."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from cellbounds.data.domain import Domain, Label
from cellbounds.data.spreadsheets import csv_text
from cellbounds.disclosure.auditing import NARROW, Audit, CellRisk
from cellbounds.disclosure.policies import Finding, Outcome, Verdict
from cellbounds.results import Attainable, Unbounded
from cellbounds.results.answers import RESERVED, cell_value, labelled, value_entries
from cellbounds.statements import Release
from cellbounds.text import aligned, label_keys
from cellbounds.version import __version__

__all__ = ["SHOWN", "render"]

SHOWN = 60
"""Cells that a table for people shows unless asked for all."""

FORMAT = "cellbounds-audit/2"

KEYS = (*RESERVED, "outcome")
"""Keys of a cell in JSON that are not variables."""

COLUMNS = (*RESERVED, "mark", "rule", "evidence", "policy", "verdict")
"""Columns of a CSV file that are not variables."""


def render(source: Audit | Attainable, style: str, *, everything: bool = False) -> str:
    """The whole report as text in one of the formats."""
    answer = source.answer if isinstance(source, Audit) else source
    verdict = source.verdict if isinstance(source, Audit) else None
    if isinstance(source, Audit):
        cells: Sequence[CellRisk] = source.cells
    else:
        cells = [CellRisk(labels, values) for labels, values in source.items()]
    if style == "json":
        return _json(answer, cells, verdict)
    if style == "csv":
        return _csv(answer.domain, cells, verdict)
    return _table(answer, cells, verdict, everything)


def _mark(cell: CellRisk) -> str:
    """A word for the last column."""
    if cell.outcome is Outcome.UNSAFE:
        return "UNSAFE"
    if cell.outcome is Outcome.UNDECIDED:
        return "undecided"
    if cell.structural or cell.empty_row:
        return "structural" if cell.structural else "empty row"
    return "disclosed" if cell.disclosed else "narrow" if cell.narrow else ""


def _summary(cells: Sequence[CellRisk], owner: bool) -> dict[str, int]:
    counted = {
        "cells": len(cells),
        "disclosed": sum(cell.disclosed is True for cell in cells),
        "narrow": sum(cell.narrow for cell in cells),
        "unsettled": sum(not cell.values.settled for cell in cells),
    }
    if owner:
        counted |= {
            "known_empty": sum(cell.structural or cell.empty_row for cell in cells),
            "unsafe": sum(cell.outcome is Outcome.UNSAFE for cell in cells),
            "undecided": sum(cell.outcome is Outcome.UNDECIDED for cell in cells),
        }
    return counted


def _json(answer: Attainable, cells: Sequence[CellRisk], verdict: Verdict | None) -> str:
    entries: list[dict[str, Any]] = []
    for cell in cells:
        entry = labelled(answer.domain, cell.labels, KEYS)
        if verdict is not None:
            entry["count"] = cell.count
        entry |= value_entries(cell.values)
        entry |= {"disclosed": cell.disclosed, "narrow": cell.narrow}  # None: not settled
        if verdict is not None:
            entry |= {
                "outcome": cell.outcome.value,
                "structural": cell.structural,
                "empty_row": cell.empty_row,
            }
        entries.append(entry)
    content: dict[str, Any] = {
        "format": FORMAT,
        "version": __version__,
        "view": "intruder" if verdict is None else "owner",
        "release": _release(answer.release if verdict is None else verdict.release),
        "over": list(answer.over),
        "method": answer.method,
        "evidence": answer.evidence.value,
        "seconds": round(answer.seconds, 6),
        "summary": _summary(cells, verdict is not None),
    }
    if verdict is not None:
        content |= _judged(verdict)
    return json.dumps({**content, "cells": entries}, ensure_ascii=False, indent=1) + "\n"


def _judged(verdict: Verdict) -> dict[str, Any]:
    """The verdict with its reasons, as plain values."""
    return {
        "verdict": verdict.verdict.value,
        "policy": verdict.policy.to_dict(),
        "independent": verdict.independent,
        "warning": verdict.warning,
        "knows": [one.notation for one in verdict.knows],
        "notes": list(verdict.notes),
        "findings": [one.to_dict() for one in (*verdict.broken, *verdict.open)],
    }


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


def _csv(domain: Domain, cells: Sequence[CellRisk], verdict: Verdict | None) -> str:
    keys = list(label_keys(domain.names, COLUMNS).values())
    figures = ["lower", "upper", "size", "values", "mark"]
    if verdict is None:
        lines = ([*cell.labels, *_figures(cell)] for cell in cells)
        return csv_text([*keys, *figures], lines)
    header = [*keys, "count", *figures, "rule", "evidence", "policy", "verdict"]
    said = [verdict.policy.name, verdict.verdict.value]
    reasons, others = _reasons(verdict)
    found = [
        [*cell.labels, cell.count, *_figures(cell), *reasons.get(cell.labels, ("", "")), *said]
        for cell in cells
    ]
    for one in others:
        place = dict(zip(one.variables, one.labels, strict=True))
        labels = [place.get(name, "") for name in domain.names]
        mark = "UNSAFE" if one.outcome is Outcome.UNSAFE else "undecided"
        rule = f"{one.rule}: {_sentence(verdict, one)}"
        found.append([*labels, "", "", "", "", "", mark, rule, _evidence(one), *said])
    return csv_text(header, found)


def _figures(cell: CellRisk) -> list[Any]:
    values = cell.values
    return [
        values.possible.smallest,
        cell_value(values.possible.largest),
        cell_value(values.size) if values.settled else "?",
        values.text(most=1000),
        _mark(cell),
    ]


def _reasons(verdict: Verdict) -> tuple[dict[tuple[Label, ...], tuple[str, str]], list[Finding]]:
    """Rules and evidence of the cells that break or may break one, and all other findings."""
    reasons: dict[tuple[Label, ...], tuple[str, str]] = {}
    others = []
    for one in (*verdict.broken, *verdict.open):
        if one.variables != verdict.over or one.response is not None or one.respondent is not None:
            others.append(one)
            continue
        rule, evidence = reasons.get(one.labels, ("", ""))
        said = f"{one.rule}: {_sentence(verdict, one)}"
        reasons[one.labels] = (
            f"{rule}; {said}" if rule else said,
            f"{evidence}; {one.evidence}" if evidence else one.evidence,
        )
    return reasons, others


def _sentence(verdict: Verdict, finding: Finding) -> str:
    return next(rule.sentence for rule in verdict.policy.rules if rule.name == finding.rule)


def _evidence(finding: Finding) -> str:
    """What a finding rests on, and where, if its place is no single cell."""
    if finding.respondent is None:
        return f"{finding.where}: {finding.evidence}"
    inside = ", ".join(map(str, finding.respondent))
    return f"somebody in {inside} learns of {finding.where}: {finding.evidence}"


def _table(
    answer: Attainable, cells: Sequence[CellRisk], verdict: Verdict | None, everything: bool
) -> str:
    owner = verdict is not None
    counted = _summary(cells, owner)
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
    empty = counted.get("known_empty", 0)
    which = f"; {empty} of them structural zeros or in empty rows" if empty else ""
    lines += [
        "",
        f"{counted['cells']} cells: {counted['disclosed']} exactly disclosed (one attainable "
        f"count{which}), {counted['narrow']} narrow (2 to {NARROW})",
    ]
    if counted["unsettled"]:
        lines.append(
            f"{counted['unsettled']} cells are not settled: what is attainable includes the counts "
            "shown and perhaps more (--seconds gives more time)"
        )
    if verdict is not None:
        lines += ["", *_reasoned(verdict, everything)]
    return "\n".join(lines) + "\n"


def _reasoned(verdict: Verdict, everything: bool) -> list[str]:
    """The verdict, the policy, and what broke it, in lines."""
    broken, left_open = len(verdict.broken), len(verdict.open)
    said = {
        Outcome.SAFE: "no rule is broken",
        Outcome.UNSAFE: f"{broken} {'finding breaks' if broken == 1 else 'findings break'} a rule",
        Outcome.UNDECIDED: f"{left_open} {'finding is' if left_open == 1 else 'findings are'} open",
    }[verdict.verdict]
    lines = [f"{verdict.verdict} under the policy {verdict.policy.name}: {said}"]
    lines += [f"  {sentence}" for sentence in verdict.policy.sentences]
    if verdict.knows:
        lines.append(
            f"  the intruder also knows: {', '.join(one.notation for one in verdict.knows)}"
        )
    lines += [f"  note: {note}" for note in verdict.notes]
    findings = [*verdict.broken, *verdict.open]
    shown = findings if everything else findings[:SHOWN]
    if shown:
        rows = [
            [str(one.outcome), one.rule, one.where, _text(one.respondent), one.evidence, one.change]
            for one in shown
        ]
        header = ["outcome", "rule", "place", "respondent in", "evidence", "what would change it"]
        if not any(row[3] for row in rows):
            header, rows = (header[:3] + header[4:]), [row[:3] + row[4:] for row in rows]
        lines += ["", aligned(header, rows)]
    if len(shown) < len(findings):
        lines.append(f"... {len(findings) - len(shown)} more findings: --all, or --format json")
    return [*lines, *([verdict.warning] if verdict.warning else [])]


def _text(labels: tuple[Label, ...] | None) -> str:
    return "" if labels is None else ", ".join(map(str, labels))
