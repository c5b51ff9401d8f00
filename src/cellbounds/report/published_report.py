"""The report on published tables: as printed, with what can be worked out, the worst first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cellbounds.data.published import Cell, PublishedTable
from cellbounds.data.spreadsheets import csv_text
from cellbounds.disclosure.auditing import NARROW, CellRisk
from cellbounds.disclosure.policies.verdict import Finding, Outcome
from cellbounds.disclosure.published_cells import PublishedRisk, TableRisk
from cellbounds.report.formats import json_text
from cellbounds.report.pages.page import rendered
from cellbounds.results.answers import cell_value, value_entries
from cellbounds.text import aligned, counted
from cellbounds.version import __version__

FORMAT = "cellbounds-published/1"

SHOWN = 40
"""Rows of a table, and cells, that a screen for people shows unless asked for all."""

MOST_COLUMNS = 12
"""Columns of a table as it is printed; with more, cells are listed."""

MOST_ON_PAGE = 5000
"""Cells of a table that a page shows as it is printed."""

WORDS = {
    "exact": "known exactly",
    "narrow": f"2 to {NARROW} counts left",
    "not settled": "not settled",
    "": "",
}


def render(risk: PublishedRisk, style: str, *, everything: bool = False) -> str:
    """The report as text in one of the formats."""
    if style == "json":
        return json_text(content(risk))
    if style == "csv":
        return _csv(risk)
    if style == "html":
        return _page(risk)
    return _text(risk, everything)


def mark_of(cell: CellRisk) -> str:
    """How much is known of a cell."""
    if cell.disclosed:
        return "exact"
    if cell.disclosed is None:
        return "not settled"
    return "narrow" if cell.narrow else ""


def headline(risk: PublishedRisk) -> str:
    """What the tables give away, in a sentence."""
    hidden = [cell for one in risk.tables for cell in one.hidden]
    if not hidden:
        others = sum(len(one.cells) for one in risk.tables)
        if not others:
            return "Every count is shown: there is nothing to work out"
        rough = counted(others, "is shown as a range or unknown", "are shown as ranges or unknown")
        return f"No count is hidden; {rough}"
    marks = [mark_of(cell) for cell in hidden]
    rounded = sum(len(one.table.inexact) for one in risk.tables)
    said = [f"{counted(len(hidden) - rounded, 'count is', 'counts are')} hidden"]
    if rounded:
        said = said if len(hidden) > rounded else []
        said.append(f"{counted(rounded, 'count is', 'counts are')} rounded or noisy")
    parts = [" and ".join(said)]
    exact, narrow = marks.count("exact"), marks.count("narrow")
    parts.append(f"{exact or 'none'} of them can be worked out exactly")
    if narrow:
        parts.append(f"{narrow} nearly (2 to {NARROW} counts left)")
    if marks.count("not settled"):
        parts.append(f"{marks.count('not settled')} not settled in time")
    return ", ".join(parts)


def cell_text(table: PublishedTable, cell: Cell, known: CellRisk | None) -> str:
    """A cell as it is printed, and what can be worked out beside it.

    That is ``x = 3`` for a single count, ``x 2-5`` for a range.
    """
    printed = table.text(cell)
    if known is None:
        return printed
    values = known.values
    low, high = values.possible.smallest, cell_value(values.possible.largest)
    if low == high:
        return f"{printed} = {low}"
    return f"{printed} {low}-{'' if high is None else high}"


def laid_out(one: TableRisk) -> tuple[list[str], list[tuple[tuple[str, ...], list[Cell]]]]:
    """The table with its last variable across: the header, and the cells of each row."""
    table = one.table
    stubs = table.variables[:-1]
    columns = dict.fromkeys(cell[-1] for cell in table.entries)
    stubs_printed = dict.fromkeys(cell[:-1] for cell in table.entries)
    rows = [(tuple(map(str, stub)), [(*stub, code) for code in columns]) for stub in stubs_printed]
    return [*stubs, *map(str, columns)], rows


def _text(risk: PublishedRisk, everything: bool) -> str:
    most = 10**9 if everything else SHOWN
    besides = [f"  {sentence}" for sentence in _besides(risk)]
    blocks = ["\n".join([*_verdict(risk), headline(risk), *besides])]
    for place, one in enumerate(risk.tables):
        if len(risk.tables) > 1:
            blocks.append(one.table.heading)
        if risk.policy is not None:
            blocks.append(_broken(risk.findings[place], most))
        blocks.append(_worst(one, most))
        header, rows = laid_out(one)
        if len(one.table.hierarchies[one.table.variables[-1]].codes) <= MOST_COLUMNS:
            known = {cell.labels: cell for cell in one.cells}
            lines = [
                [*stub, *(cell_text(one.table, cell, known.get(cell)) for cell in cells)]
                for stub, cells in rows[:most]
            ]
            numbers = set(header[len(one.table.variables) - 1 :])
            blocks.append(f"As printed, and what can be worked out\n{_fit(header, lines, numbers)}")
            if len(rows) > most:
                blocks.append(f"... {len(rows) - most:,} more rows: --all, or --format html")
    blocks += [one.table.understood(warn=False) for one in risk.tables]
    blocks += [f"note: {note}" for note in risk.notes]
    blocks.append(
        f"worked out from {counted(len(risk.published.release.statements), 'margin')} in "
        f"{risk.seconds:.1f} s; counts that are shown are taken as they are printed"
    )
    return "\n\n".join(filter(None, blocks)) + "\n"


def _besides(risk: PublishedRisk) -> list[str]:
    """What to know beside the headline."""
    known = [f"the intruder also knows: {sentence}" for sentence in risk.sentences]
    tables = [one.table for one in risk.tables]
    return [*known, *(f"{table.where} {table.warning}" for table in tables if table.truths)]


def _verdict(risk: PublishedRisk) -> list[str]:
    """What the policy says, and its rules, in words."""
    if risk.policy is None:
        return []
    findings = [one for some in risk.findings for one in some]
    broken = sum(one.outcome is Outcome.UNSAFE for one in findings)
    open_ones = sum(one.outcome is Outcome.UNDECIDED for one in findings)
    parts = [
        counted(broken, "finding breaks a rule", "findings break a rule")
        if broken
        else "no rule is broken"
    ]
    if open_ones:
        parts.append(f"{counted(open_ones, 'finding')} left open")
    rules = [f"  rule {rule.name}: {rule.sentence}" for rule in risk.policy.rules]
    return [f"{risk.outcome} under the policy {risk.policy.name}: {', '.join(parts)}", *rules]


def _broken(findings: Sequence[Finding], most: int) -> str:
    """The cells that break a rule, or may, in a table."""
    wrong = [one for one in findings if one.outcome is not Outcome.SAFE]
    wrong.sort(key=lambda one: one.outcome is not Outcome.UNSAFE)
    if not wrong:
        return ""
    rows = [[*map(str, one.labels), str(one.outcome), one.rule, one.evidence] for one in wrong]
    table = aligned([*wrong[0].variables, "outcome", "rule", "why"], rows[:most])
    left = len(rows) - most
    more = f"\n... {left:,} more: --all, or --format json" if left > 0 else ""
    return f"Cells that break a rule, or may\n{table}{more}"


def _fit(header: Sequence[str], lines: Sequence[Sequence[str]], numbers: set[str]) -> str:
    """Columns of the same name, which are no mistake here, kept apart."""
    names = [name + "\u200b" * header[:place].count(name) for place, name in enumerate(header)]
    return aligned(names, lines, {names[k] for k, name in enumerate(header) if name in numbers})


def _worst(one: TableRisk, most: int) -> str:
    if not one.cells:
        return ""
    names = list(one.table.variables)
    rows = [
        [
            *map(str, cell.labels),
            one.table.text(cell.labels),
            cell.values.possible.text(4),
            "; ".join(filter(None, [WORDS[mark_of(cell)], one.table.flags.get(cell.labels, "")])),
        ]
        for cell in one.worst_first[:most]
    ]
    table = aligned([*names, "printed", "can be", "what that means"], rows)
    left = len(one.cells) - most
    more = f"\n... {left:,} more of these cells: --all, or --format csv" if left > 0 else ""
    return f"Cells that do not show their count, the worst first\n{table}{more}"


def content(risk: PublishedRisk) -> dict[str, Any]:
    """The report as plain values, versioned."""
    return {
        "format": FORMAT,
        "version": __version__,
        "said": headline(risk),
        "release": {
            "digest": risk.published.release.digest,
            "statements": [one.notation for one in risk.published.release.statements],
        },
        "summary": {
            "hidden": sum(len(one.hidden) for one in risk.tables),
            "disclosed": risk.disclosed,
            "unsettled": risk.unsettled,
        },
        "seconds": round(risk.seconds, 6),
        "notes": list(risk.notes),
        "intruder_knows": list(risk.sentences),
        **_judged(risk),
        "tables": [
            {
                "where": one.table.where,
                "title": one.table.title,
                "variables": list(one.table.variables),
                "understood": one.table.understood().splitlines(),
                "truths_in_file": len(one.table.truths),
                "cells": [
                    {
                        "labels": list(map(str, cell.labels)),
                        "printed": one.table.text(cell.labels),
                        "flag": one.table.flags.get(cell.labels, ""),
                        "mark": mark_of(cell),
                        **value_entries(cell.values),
                    }
                    for cell in one.worst_first
                ],
            }
            for one in risk.tables
        ],
    }


def _judged(risk: PublishedRisk) -> dict[str, Any]:
    """The verdict of a policy; nothing without one."""
    if risk.policy is None:
        return {}
    return {
        "verdict": {
            "policy": risk.policy.name,
            "outcome": risk.outcome.value,
            "findings": [
                {
                    "table": number,
                    "labels": list(map(str, one.labels)),
                    "rule": one.rule,
                    "outcome": one.outcome.value,
                    "evidence": one.evidence,
                    "change": one.change,
                }
                for number, some in enumerate(risk.findings, start=1)
                for one in some
            ],
        }
    }


def _csv(risk: PublishedRisk) -> str:
    names = list({name: None for one in risk.tables for name in one.table.variables})
    rows = []
    for number, one in enumerate(risk.tables, start=1):
        for cell in one.worst_first:
            labels = dict(zip(one.table.variables, map(str, cell.labels), strict=True))
            values = cell.values.possible
            rows.append(
                [
                    number,
                    *(labels.get(name, "") for name in names),
                    one.table.text(cell.labels),
                    one.table.flags.get(cell.labels, ""),
                    values.smallest,
                    cell_value(values.largest),
                    values.text(1000),
                    mark_of(cell),
                ]
            )
    header = ["table", *names, "printed", "flag", "lower", "upper", "values", "mark"]
    return csv_text(header, rows)


def _page(risk: PublishedRisk) -> str:
    tables = []
    for place, one in enumerate(risk.tables):
        header, rows = laid_out(one)
        known = {cell.labels: cell for cell in one.cells}
        wrong = risk.findings[place] if risk.findings else ()
        shown = [
            (stub, [_page_cell(one.table, cell, known.get(cell)) for cell in cells])
            for stub, cells in rows
        ]
        tables.append(
            {
                "where": one.table.where,
                "title": one.table.title,
                "understood": one.table.understood(warn=False).splitlines()[1:],
                "stubs": one.table.variables[:-1],
                "across": one.table.variables[-1],
                "header": header[len(one.table.variables) - 1 :],
                "broken": [
                    {
                        "cell": "; ".join(
                            f"{name}: {label}"
                            for name, label in zip(finding.variables, finding.labels, strict=True)
                        ),
                        "outcome": str(finding.outcome),
                        "rule": finding.rule,
                        "why": finding.evidence,
                    }
                    for finding in wrong[:MOST_ON_PAGE]
                    if finding.outcome is not Outcome.SAFE
                ],
                "rows": shown if len(one.table.entries) <= MOST_ON_PAGE else [],
                "worst": [
                    {
                        "labels": list(
                            zip(one.table.variables, map(str, cell.labels), strict=True)
                        ),
                        "printed": one.table.text(cell.labels),
                        "values": cell.values.possible.text(8),
                        "words": WORDS[mark_of(cell)],
                        "flag": one.table.flags.get(cell.labels, ""),
                    }
                    for cell in one.worst_first[:MOST_ON_PAGE]
                ],
            }
        )
    tone = risk.outcome.value
    if risk.policy is None and risk.outcome is Outcome.SAFE:
        tone = "untold"
    return rendered(
        "published.html.j2",
        ["report.css"],
        version=__version__,
        said=headline(risk),
        tone=tone,
        sign={"unsafe": "×", "undecided": "?", "untold": "i", "safe": "✓"}[tone],
        verdict=_verdict(risk),
        tables=tables,
        notes=(*_besides(risk), *risk.notes),
        digest=risk.published.release.digest,
    )


def _page_cell(table: PublishedTable, cell: Cell, known: CellRisk | None) -> dict[str, str]:
    mark = "" if known is None else mark_of(known)
    tones = {"exact": "broken", "narrow": "open", "not settled": "open"}
    return {"text": cell_text(table, cell, known), "tone": tones.get(mark, "")}
