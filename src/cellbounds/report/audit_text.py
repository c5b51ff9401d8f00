"""Audits and attacks as text, JSON and CSV."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
from cellbounds.disclosure.policies.verdict import CHANGES
from cellbounds.report.formats import json_text
from cellbounds.results import Attainable
from cellbounds.results.answers import (
    RESERVED,
    cell_value,
    shown,
)
from cellbounds.text import aligned, counted, label_keys

SHOWN = 40
"""Cells, and findings, that a screen for people shows unless asked for all."""

FIGURES = ("lower", "upper", "values", "attainable", "mark")
"""What a screen for people says of a cell."""

SUGGEST = "`cellbounds suggest`, given the same, finds safe releases near this one"

CSV_RUNS = 1000
"""Runs of attainable counts that a line of CSV names."""

COLUMNS = (*RESERVED, "mark", "rule", "evidence", "policy", "verdict")
"""Columns of a CSV file that are not variables."""


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
        reason = _rule(verdict, finding), _evidence(verdict, finding)
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


def _evidence(verdict: Verdict, finding: Finding) -> str:
    """What a finding rests on, and where, if its place is no single cell of the table."""
    place = finding.place(verdict.over)
    if finding.respondent is None:
        return f"{place}: {finding.evidence}"
    somebody = ", ".join(map(str, finding.respondent))
    return f"somebody in {somebody} learns of {place}: {finding.evidence}"


def _table(
    answer: Attainable, cells: Sequence[CellRisk], verdict: Verdict | None, everything: bool
) -> str:
    """What came out and what was asked; the cells at risk, the most exposed first; the others."""
    reasons, others = ({}, []) if verdict is None else _reasons(verdict)

    def at_risk(cell: CellRisk) -> bool:
        return cell.labels in reasons if verdict else bool(cell.disclosed or cell.narrow)

    worst = sorted(filter(at_risk, cells), key=_exposure)
    rest = [cell for cell in cells if not at_risk(cell)]
    most = len(cells) if everything else SHOWN
    room = max(most - len(worst), 0)
    if len(rest) > room:  # else the order of the table is the best
        rest.sort(key=_exposure)
    blocks = [
        "\n".join(_head(answer, cells, verdict)),
        _listed(_title(verdict), answer, worst[:most], verdict, reasons),
        _left_out(worst[most:], "of these cells"),
        _other_findings(verdict, others, len(others) if everything else SHOWN),
        _changes(verdict, everything),
        _listed("The other cells" if worst else "", answer, rest[:room], verdict, {}),
        _left_out(rest[room:], "cells"),
        "\n".join(_foot(answer, verdict)),
    ]
    return "\n\n".join(filter(None, blocks)) + "\n"


def _exposure(cell: CellRisk) -> tuple[int, Any, int]:
    """Smaller is worse: what breaks a rule or may, fewer attainable counts, smaller counts."""
    rank = (Outcome.UNSAFE, Outcome.UNDECIDED, Outcome.SAFE).index(cell.outcome)
    return rank + (cell.structural or cell.empty_row), cell.values.possible.size, cell.count or 0


def _head(answer: Attainable, cells: Sequence[CellRisk], verdict: Verdict | None) -> list[str]:
    """The verdict, or what can be worked out; what was asked; the rules."""
    counts = audit_summary(cells, owner=verdict is not None)
    known = (
        f"worked out exactly (one attainable count): {_part(counts['disclosed'], len(cells))}; "
        f"nearly (2 to {NARROW}): {_part(counts['narrow'], len(cells))}"
    )
    if counts.get("known_empty"):
        known += f"; known to be empty anyway: {_part(counts['known_empty'], len(cells))}"
    lines = [known]
    release = answer.release if verdict is None else verdict.release
    told = "; ".join(statement.summary for statement in release.statements)
    asked = f"  published: {told or 'nothing'}"
    about = f"  asked about: {' x '.join(answer.over)}"
    if verdict is not None:
        title = f"{verdict.outcome} under the policy {verdict.policy.name}: {_reason(verdict)}"
        lines = [title, *(f"  rule {sentence}" for sentence in verdict.policy.sentences), asked]
        if verdict.knows:
            given = ", ".join(known.notation for known in verdict.knows)
            lines.append(f"  the intruder also knows: {given}")
        besides = [f"  judged besides these cells: {verdict.besides}"] if verdict.margins else []
        notes = (f"  note: {note}" for note in verdict.notes)
        lines += [about, *besides, f"  {known}", *notes]
    else:
        lines += [asked, about]
    if counts["unsettled"]:
        many = counts["unsettled"]
        lines.append(
            f"  {counted(many, 'cell')} {'is' if many == 1 else 'are'} not settled: what is "
            "attainable includes the counts shown and perhaps more (--seconds gives more time)"
        )
    return lines


def _part(some: int, cells: int) -> str:
    """How many of the cells, in words."""
    if some == cells:
        return "the only cell" if cells == 1 else f"all {cells:,} cells"
    return f"{some:,} of {cells:,} cells" if some else "none"


def _reason(verdict: Verdict) -> str:
    broken, undecided = len(verdict.broken), len(verdict.open)
    opened = f"{counted(undecided, 'finding')} could not be decided"
    if verdict.outcome is Outcome.SAFE:
        return "no rule is broken"
    if verdict.outcome is Outcome.UNDECIDED:
        return f"no rule is broken for certain, but {opened}"
    text = f"{counted(broken, 'finding')} {'breaks' if broken == 1 else 'break'} a rule"
    return f"{text}, and {opened}" if undecided else text


def _title(verdict: Verdict | None) -> str:
    if verdict is None:
        return "Known exactly or nearly, the most exposed first"
    which = "break a rule" if verdict.broken else "could not be decided"
    which += " or could not be decided" if verdict.broken and verdict.open else ""
    return f"Cells that {which}, the most exposed first"


def _listed(
    title: str,
    answer: Attainable,
    cells: Sequence[CellRisk],
    verdict: Verdict | None,
    reasons: Mapping[tuple[Label, ...], tuple[str, ...]],
) -> str:
    """A table of cells; with reasons, why each of them is there."""
    if not cells:
        return ""
    counts = [] if verdict is None else ["count"]
    figures = ["attainable", "why"] if reasons else ["lower", "upper", "values", "attainable"]
    figures += ["mark"] if not reasons and any(map(_mark, cells)) else []
    rows = []
    for cell in cells:
        known = dict(zip(FIGURES, _figures(cell, shown, 4), strict=True)) | {"count": cell.count}
        known["why"] = reasons.get(cell.labels, ("", ""))[1]
        rows.append([*map(str, cell.labels), *(str(known[name]) for name in (*counts, *figures))])
    table = aligned([*answer.over, *counts, *figures], rows, {"count", *FIGURES[:3]})
    return f"{title}\n{table}".lstrip("\n")


def _other_findings(verdict: Verdict | None, findings: Sequence[Finding], most: int) -> str:
    """Findings about margins, rows, figures and groups, or from the view of a respondent."""
    if verdict is None or not findings:
        return ""
    header = ["outcome", "rule", "what was found"]
    rows = [[str(one.outcome), one.rule, _evidence(verdict, one)] for one in findings[:most]]
    table = f"Other findings\n{aligned(header, rows)}"
    return "\n".join(filter(None, [table, _left_out(findings[most:], "of these findings", "json")]))


def _left_out(rest: Sequence[object], what: str, style: str = "csv") -> str:
    if not rest:
        return ""
    return f"... {len(rest):,} more {what}: --all, or --format {style}"


def _changes(verdict: Verdict | None, everything: bool) -> str:
    """What would change the findings, each way once."""
    changes = () if verdict is None else verdict.changes
    if not changes:
        return ""
    most = len(changes) if everything else CHANGES
    more = _left_out(changes[most:], "of these ways", "json")
    lines = ["What would change it", *(f"  {change}" for change in changes[:most])]
    return "\n".join([*lines, *([f"  {more}"] if more else []), f"  {SUGGEST}"])


def _foot(answer: Attainable, verdict: Verdict | None) -> list[str]:
    lines = [
        f"worked out by: {answer.method}, {answer.evidence.value}, {answer.seconds:.3f} s, "
        f"release {answer.digest[:12]}"
    ]
    return [*lines, *([verdict.warning] if verdict is not None and verdict.warning else [])]
