"""Audits and attacks as text, JSON and CSV."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cellbounds.data.domain import Label
from cellbounds.data.nesting import Nesting
from cellbounds.data.spreadsheets import csv_text
from cellbounds.disclosure.auditing import NARROW, Audit, CellRisk, audit_content, audit_summary
from cellbounds.disclosure.policies import Finding, Outcome, Verdict
from cellbounds.disclosure.policies.verdict import CHANGES, OUTSIDE
from cellbounds.report.assumed_rules import assumed_rules
from cellbounds.report.formats import json_text
from cellbounds.results import Attainable
from cellbounds.results.answers import RESERVED, cell_value, shown
from cellbounds.text import aligned, counted, label_keys

SHOWN = 40
"""Cells, and findings, that a screen for people shows unless asked for all."""

FIGURES = ("lower", "upper", "values", "attainable", "mark")
"""What a screen for people says of a cell."""

MARKS = {Outcome.UNSAFE: "UNSAFE", Outcome.UNDECIDED: "undecided"}

SUGGEST = "`cellbounds suggest`, given the same, finds safe releases near this one"

CSV_RUNS = 1000
"""Runs of attainable counts that a line of CSV names."""

COLUMNS = (*RESERVED, "mark", "rule", "evidence", "policy", "verdict")
"""Columns of a CSV file that are not variables."""


def render(source: Audit | Attainable, style: str, *, everything: bool = False) -> str:
    """The whole report as text in one of the formats."""
    if isinstance(source, Audit):
        answer, cells, verdict = source.answer, source.cells, source.verdict
        determines = source.determines
    else:
        cells = tuple(CellRisk(labels, values) for labels, values in source.items())
        answer, verdict, determines = source, None, ()
    if style == "json":
        return json_text(audit_content(answer, cells, verdict, determines))
    if style == "csv":
        return _csv(answer, cells, verdict)
    return _table(answer, cells, verdict, determines, everything)


def _figures(cell: CellRisk, written: Callable[[Any], Any], most: int) -> list[Any]:
    """Ends, number and list of the attainable counts, and a word for the last column."""
    values = cell.values
    mark = "disclosed" if cell.disclosed else "narrow" if cell.narrow else ""
    if cell.outcome is not Outcome.SAFE:
        mark = MARKS[cell.outcome]
    elif cell.structural or cell.empty_row:
        mark = "structural" if cell.structural else "empty row"
    return [
        written(values.possible.smallest),
        written(values.possible.largest),
        written(values.size) if values.settled else "?",
        values.text(most),
        mark,
    ]


def _csv(answer: Attainable, cells: Sequence[CellRisk], verdict: Verdict | None) -> str:
    names = answer.domain.names
    keys = list(label_keys(names, COLUMNS).values())
    header = ["lower", "upper", "size", "values", "mark"]
    lines = [_figures(cell, cell_value, CSV_RUNS) for cell in cells]
    if verdict is None:
        labelled = [[*cell.labels, *line] for cell, line in zip(cells, lines, strict=True)]
        return csv_text([*keys, *header], labelled)
    judged = [verdict.policy.name, verdict.outcome.value]
    reasons, others = _reasons(verdict)
    outside = verdict.outside

    def owned(value: Any) -> list[Any]:
        return [] if outside else [value]

    lines = [
        [*cell.labels, *owned(cell.count), *line, *reasons.get(cell.labels, ("", "")), *judged]
        for cell, line in zip(cells, lines, strict=True)
    ]
    for finding in others:
        place = dict(zip(finding.variables, finding.labels, strict=True))
        labels = [place.get(name, "") for name in names]
        reason = _rule(verdict, finding), _evidence(verdict, finding)
        lines.append([*labels, *owned(""), *[""] * 4, MARKS[finding.outcome], *reason, *judged])
    header = [*keys, *owned("count"), *header, "rule", "evidence", "policy", "verdict"]
    return csv_text(header, lines)


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
    who = "somebody in" if finding.partner is None else "people together in"
    learns = "learns" if finding.partner is None else "learn"
    return f"{who} {finding.whose} {learns} of {place}: {finding.evidence}"


def _table(
    answer: Attainable,
    cells: Sequence[CellRisk],
    verdict: Verdict | None,
    determines: Sequence[Nesting],
    everything: bool,
) -> str:
    """What came out and what was asked; the cells at risk, the most exposed first; the others."""
    reasons, others = ({}, []) if verdict is None else _reasons(verdict)
    worst, rest = list[CellRisk](), list[CellRisk]()
    # An outsider wants to see what is known, also where it breaks no rule.
    by_rule = verdict is not None and bool(reasons or not verdict.outside)
    for cell in cells:
        known = not (cell.structural or cell.empty_row) and (cell.disclosed or cell.narrow)
        at_risk = cell.labels in reasons if by_rule else known
        (worst if at_risk else rest).append(cell)
    worst.sort(key=_exposure)
    most = len(cells) if everything else SHOWN
    room = max(most - len(worst), 0)
    if len(rest) > room:  # else the order of the table is the best
        rest.sort(key=_exposure)
    title = "Known exactly or nearly, the most exposed first"
    if verdict is not None and by_rule:
        which = ["break a rule"] if verdict.broken else []
        which += ["could not be decided"] if verdict.open else []
        title = f"Cells that {' or '.join(which)}, the most exposed first"
    foot = [
        f"worked out by: {answer.method}, {answer.evidence.value}, {answer.seconds:.3f} s, "
        f"release {answer.digest[:12]}",
        "" if verdict is None else OUTSIDE if verdict.outside else verdict.warning,
    ]
    blocks = [
        "\n".join(_head(answer, cells, verdict, determines)),
        _listed(title, answer, worst[:most], verdict, reasons),
        _left_out(worst[most:], "of these cells"),
        _other_findings(verdict, others, len(others) if everything else SHOWN),
        _changes(verdict, everything) if verdict and verdict.changes else "",
        _listed("The other cells" if worst else "", answer, rest[:room], verdict, {}),
        _left_out(rest[room:], "cells"),
        "\n".join(filter(None, foot)),
    ]
    return "\n\n".join(filter(None, blocks)) + "\n"


def _exposure(cell: CellRisk) -> tuple[int, Any, int]:
    """Smaller is worse: what breaks a rule or may, fewer attainable counts, smaller counts."""
    rank = (Outcome.UNSAFE, Outcome.UNDECIDED, Outcome.SAFE).index(cell.outcome)
    return rank + (cell.structural or cell.empty_row), cell.values.possible.size, cell.count or 0


def _head(
    answer: Attainable,
    cells: Sequence[CellRisk],
    verdict: Verdict | None,
    determines: Sequence[Nesting],
) -> list[str]:
    """The verdict, or what can be worked out; what was asked; the rules."""
    counts = audit_summary(cells, judged=verdict is not None)
    known = (
        f"worked out exactly (one attainable count): {_part(counts['disclosed'], len(cells))}; "
        f"nearly (2 to {NARROW}): {_part(counts['narrow'], len(cells))}"
    )
    if not cells:
        known = "no cell was worked out"
    if counts.get("known_empty"):
        known += f"; known to be empty anyway: {_part(counts['known_empty'], len(cells))}"
    release = answer.release if verdict is None else verdict.release
    told = "; ".join(statement.summary for statement in release.statements)
    published = f"  published: {told or 'nothing'}"
    about = f"  asked about: {' x '.join(answer.over)}"
    lines = [known, published, about]
    if verdict is not None:
        broken, undecided = len(verdict.broken), len(verdict.open)
        reason = f"{counted(broken, 'finding')} {'breaks' if broken == 1 else 'break'} a rule"
        if not broken:
            reason = "no rule is broken" + (" for certain" if undecided else "")
        if undecided:
            reason += f", {'and' if broken else 'but'} {counted(undecided, 'finding')}"
            reason += " could not be decided"
        title = f"{verdict.outcome} under the policy {verdict.policy.name}: {reason}"
        lines = [title, *(f"  rule {sentence}" for sentence in verdict.policy.sentences), published]
        if verdict.knows:
            given = ", ".join(known.notation for known in verdict.knows)
            lines.append(f"  the intruder also knows: {given}")
        lines += [f"  the intruder knows: {sentence}" for sentence in verdict.intruder]
        besides = [f"  judged besides these cells: {verdict.besides}"] if verdict.margins else []
        remedies = (nesting.remedy for nesting in determines)
        notes = [f"  note: {note}" for note in (*verdict.notes, *remedies)]
        lines += [about, *besides, f"  {known}", *notes]
    if verdict is None or verdict.outside:
        assumed = assumed_rules(answer)
        lines += [] if assumed is None else [f"  assumed: {assumed}"]
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
    rows = []
    for cell in cells:
        known = dict(zip(FIGURES, _figures(cell, shown, 4), strict=True)) | {"count": cell.count}
        known["why"] = reasons.get(cell.labels, ("", ""))[1]
        rows.append(known)
    columns = [] if verdict is None or verdict.outside else ["count"]
    columns += ["attainable", "why"] if reasons else FIGURES[:4]
    columns += ["mark"] if not reasons and any(known["mark"] for known in rows) else []
    table = aligned(
        [*answer.over, *columns],
        [
            [*map(str, cell.labels), *(str(known[name]) for name in columns)]
            for cell, known in zip(cells, rows, strict=True)
        ],
        {"count", *FIGURES[:3]},
    )
    return f"{title}\n{table}".lstrip("\n")


def _other_findings(verdict: Verdict | None, findings: Sequence[Finding], most: int) -> str:
    """Findings about margins, rows, figures and groups, or from the view of a respondent."""
    if verdict is None or not findings:
        return ""
    header = ["outcome", "rule", "what was found"]
    rows = [
        [str(finding.outcome), finding.rule, _evidence(verdict, finding)]
        for finding in findings[:most]
    ]
    table = f"Other findings\n{aligned(header, rows)}"
    return "\n".join(filter(None, [table, _left_out(findings[most:], "of these findings", "json")]))


def _left_out(rest: Sequence[object], what: str, style: str = "csv") -> str:
    return f"... {len(rest):,} more {what}: --all, or --format {style}" if rest else ""


def _changes(verdict: Verdict, everything: bool) -> str:
    """What would change the findings, each way once."""
    changes = verdict.changes
    most = len(changes) if everything else CHANGES
    left_out = _left_out(changes[most:], "of these ways", "json")
    lines = [*changes[:most], *filter(None, [left_out, "" if verdict.outside else SUGGEST])]
    return "\n".join(["What would change it", *(f"  {line}" for line in lines)])
