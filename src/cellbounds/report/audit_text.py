"""Audits and attacks as text, JSON and CSV."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cellbounds.data.domain import Label
from cellbounds.data.spreadsheets import csv_text
from cellbounds.disclosure.auditing import (
    NARROW,
    Audit,
    CellRisk,
    audit_content,
    audit_summary,
)
from cellbounds.disclosure.policies import Finding, Outcome, Verdict
from cellbounds.report.formats import json_text
from cellbounds.report.pages.wording import FINDING
from cellbounds.results import Attainable
from cellbounds.results.answers import (
    RESERVED,
    cell_value,
    shown,
)
from cellbounds.text import aligned, label_keys

SHOWN = 60
"""Cells that a table for people shows unless asked for all."""

CSV_RUNS = 1000
"""Runs of attainable counts that a line of CSV names."""

COLUMNS = (*RESERVED, "mark", "rule", "evidence", "policy", "verdict")
"""Columns of a CSV file that are not variables."""

RANKS = {"UNSAFE": 0, "undecided": 1, "disclosed": 2, "narrow": 3}
"""Marks of cells at risk, the worst first."""


def render(source: Audit | Attainable, style: str, *, everything: bool = False) -> str:
    """The whole report as text in one of the formats."""
    if isinstance(source, Audit):
        answer, cells, verdict = source.answer, source.cells, source.verdict
    else:
        cells = tuple(CellRisk(labels, values) for labels, values in source.items())
        answer, verdict = source, None
    if style == "json":
        return json_text(audit_content(answer, cells, verdict))
    if style == "csv":
        return _csv(answer, cells, verdict)
    return _table(answer, cells, verdict, everything)


def _mark(cell: CellRisk) -> str:
    """A word for the last column."""
    if cell.outcome is not Outcome.SAFE:
        return "UNSAFE" if cell.outcome is Outcome.UNSAFE else "undecided"
    if cell.structural or cell.empty_row:
        return "structural" if cell.structural else "empty row"
    return "disclosed" if cell.disclosed else "narrow" if cell.narrow else ""


def _csv(answer: Attainable, cells: Sequence[CellRisk], verdict: Verdict | None) -> str:
    names = answer.domain.names
    keys = list(label_keys(names, COLUMNS).values())
    figures = ["lower", "upper", "size", "values", "mark"]
    if verdict is None:
        lines = [[*cell.labels, *_figures(cell, cell_value, CSV_RUNS)] for cell in cells]
        return csv_text([*keys, *figures], lines)
    judged = [verdict.policy.name, verdict.outcome.value]
    reasons, others = _reasons(verdict)
    lines = []
    for cell in cells:
        known = _figures(cell, cell_value, CSV_RUNS)
        reason = reasons.get(cell.labels, ("", ""))
        lines.append([*cell.labels, cell.count, *known, *reason, *judged])
    for finding in others:
        place = dict(zip(finding.variables, finding.labels, strict=True))
        labels = [place.get(name, "") for name in names]
        mark = "UNSAFE" if finding.outcome is Outcome.UNSAFE else "undecided"
        reason = _rule(verdict, finding), _evidence(finding)
        lines.append([*labels, "", "", "", "", "", mark, *reason, *judged])
    header = [*keys, "count", *figures, "rule", "evidence", "policy", "verdict"]
    return csv_text(header, lines)


def _figures(cell: CellRisk, written: Callable[[Any], Any], most: int) -> list[Any]:
    """Ends, number and list of the attainable counts, and the mark."""
    values = cell.values
    return [
        written(values.possible.smallest),
        written(values.possible.largest),
        written(values.size) if values.settled else "?",
        values.text(most),
        _mark(cell),
    ]


def _reasons(verdict: Verdict) -> tuple[dict[tuple[Label, ...], tuple[str, ...]], list[Finding]]:
    """Rules and evidence of the cells that break or may break one, and all other findings."""
    reasons: dict[tuple[Label, ...], tuple[str, ...]] = {}
    others = []
    for finding in (*verdict.broken, *verdict.open):
        single = finding.response is None and finding.respondent is None
        if not single or finding.variables != verdict.over:
            others.append(finding)
            continue
        reason = _rule(verdict, finding), finding.evidence
        before = reasons.get(finding.labels)
        reasons[finding.labels] = (
            reason if before is None else tuple(map("; ".join, zip(before, reason, strict=True)))
        )
    return reasons, others


def _rule(verdict: Verdict, finding: Finding) -> str:
    rules = verdict.policy.rules
    return f"{finding.rule}: {next(rule.sentence for rule in rules if rule.name == finding.rule)}"


def _evidence(finding: Finding) -> str:
    """What a finding rests on, and where, if its place is no single cell."""
    if finding.respondent is None:
        return f"{finding.where}: {finding.evidence}"
    return f"somebody in {_text(finding.respondent)} learns of {finding.where}: {finding.evidence}"


def _text(part: Outcome | str | tuple[Label, ...] | None) -> str:
    """A part of a finding for people."""
    if isinstance(part, tuple):
        return ", ".join(map(str, part))
    return "" if part is None else str(part)


def _table(
    answer: Attainable, cells: Sequence[CellRisk], verdict: Verdict | None, everything: bool
) -> str:
    owner = verdict is not None
    listed = list(cells)
    if len(cells) > SHOWN and not everything:
        # The cells at risk first; within equal risk the order of the table.
        listed = sorted(cells, key=lambda cell: RANKS.get(_mark(cell), 4))[:SHOWN]
    rows = [
        [*map(str, cell.labels), *([str(cell.count)] if owner else []), *_figures(cell, shown, 4)]
        for cell in listed
    ]
    counts = ["count"] if owner else []
    header = [*answer.over, *counts, "lower", "upper", "values", "attainable", "mark"]
    lines = [
        str(answer.release),
        f"asked about {', '.join(answer.over)}; {answer.method}, {answer.evidence.value}, "
        f"{answer.seconds:.3f} s, release {answer.digest[:12]}",
        "",
        aligned(header, rows, {"count", "lower", "upper", "values"}),
    ]
    if len(listed) < len(cells):
        lines.append(f"... {len(cells) - len(listed)} more cells: --all, or --format csv")
    counted = audit_summary(cells, owner=owner)
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
    why = {
        Outcome.SAFE: "no rule is broken",
        Outcome.UNSAFE: f"{broken} {'finding breaks' if broken == 1 else 'findings break'} a rule",
        Outcome.UNDECIDED: f"{left_open} {'finding is' if left_open == 1 else 'findings are'} open",
    }[verdict.outcome]
    lines = [f"{verdict.outcome} under the policy {verdict.policy.name}: {why}"]
    lines += [f"  {sentence}" for sentence in verdict.policy.sentences]
    if verdict.knows:
        known = ", ".join(statement.notation for statement in verdict.knows)
        lines.append(f"  the intruder also knows: {known}")
    lines += [f"  note: {note}" for note in verdict.notes]
    findings = [*verdict.broken, *verdict.open]
    listed = findings if everything else findings[:SHOWN]
    if listed:
        respondents = any(finding.respondent for finding in listed)
        header = [title for title in FINDING if respondents or title != "respondent in"]
        rows = [[_text(getattr(finding, FINDING[title])) for title in header] for finding in listed]
        lines += ["", aligned(header, rows)]
    if len(listed) < len(findings):
        lines.append(f"... {len(findings) - len(listed)} more findings: --all, or --format json")
    return [*lines, *([verdict.warning] if verdict.warning else [])]
