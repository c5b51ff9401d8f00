"""The report on published tables: as printed, with what can be worked out, the worst first."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
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
    hidden = [cell for exposure in risk.tables for cell in exposure.hidden]
    if not hidden:
        others = sum(len(exposure.cells) for exposure in risk.tables)
        if not others:
            return "Every count is shown: there is nothing to work out"
        rough = counted(others, "is shown as a range or unknown", "are shown as ranges or unknown")
        return f"No count is hidden; {rough}"
    marks = [mark_of(cell) for cell in hidden]
    rounded = sum(len(exposure.table.inexact) for exposure in risk.tables)
    kinds = [f"{counted(len(hidden) - rounded, 'count is', 'counts are')} hidden"]
    if rounded:
        kinds = kinds if len(hidden) > rounded else []
        kinds.append(f"{counted(rounded, 'count is', 'counts are')} rounded or noisy")
    parts = [" and ".join(kinds)]
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


def laid_out(exposure: TableRisk) -> tuple[list[str], list[tuple[tuple[str, ...], list[Cell]]]]:
    """The table with its last variable across: the header, and the cells of each row."""
    table = exposure.table
    stubs = table.variables[:-1]
    columns = dict.fromkeys(cell[-1] for cell in table.entries)
    stubs_printed = dict.fromkeys(cell[:-1] for cell in table.entries)
    rows = [(tuple(map(str, stub)), [(*stub, code) for code in columns]) for stub in stubs_printed]
    return [*stubs, *map(str, columns)], rows


def _text(risk: PublishedRisk, everything: bool) -> str:
    most = 10**9 if everything else SHOWN
    besides = [f"  {sentence}" for sentence in _besides(risk)]
    blocks = ["\n".join([*_verdict(risk), headline(risk), *besides])]
    for place, exposure in enumerate(risk.tables):
        if len(risk.tables) > 1:
            blocks.append(exposure.table.heading)
        if risk.policy is not None:
            blocks.append(_broken(risk.findings[place], most))
        blocks.append(_worst(exposure, most))
        header, rows = laid_out(exposure)
        if len(exposure.table.hierarchies[exposure.table.variables[-1]].codes) <= MOST_COLUMNS:
            known = {cell.labels: cell for cell in exposure.cells}
            lines = [
                [*stub, *(cell_text(exposure.table, cell, known.get(cell)) for cell in cells)]
                for stub, cells in rows[:most]
            ]
            numbers = set(header[len(exposure.table.variables) - 1 :])
            blocks.append(f"As printed, and what can be worked out\n{_fit(header, lines, numbers)}")
            if len(rows) > most:
                blocks.append(f"... {len(rows) - most:,} more rows: --all, or --format html")
    blocks += [exposure.table.understood(warn=False) for exposure in risk.tables]
    blocks += [f"note: {note}" for note in risk.notes]
    blocks.append(
        f"worked out from {counted(len(risk.published.release.statements), 'margin')} in "
        f"{risk.seconds:.1f} s; counts that are shown are taken as they are printed"
    )
    return "\n\n".join(filter(None, blocks)) + "\n"


def _besides(risk: PublishedRisk) -> list[str]:
    """What to know beside the headline."""
    known = [f"the intruder also knows: {sentence}" for sentence in risk.sentences]
    tables = [exposure.table for exposure in risk.tables]
    return [*known, *(f"{table.where} {table.warning}" for table in tables if table.truths)]


def _verdict(risk: PublishedRisk) -> list[str]:
    """What the policy says, and its rules, in words."""
    if risk.policy is None:
        return []
    findings = list(chain.from_iterable(risk.findings))
    broken = sum(finding.outcome is Outcome.UNSAFE for finding in findings)
    open_ones = sum(finding.outcome is Outcome.UNDECIDED for finding in findings)
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
    wrong = [finding for finding in findings if finding.outcome is not Outcome.SAFE]
    wrong.sort(key=lambda finding: finding.outcome is not Outcome.UNSAFE)
    if not wrong:
        return ""
    rows = [
        [*map(str, finding.labels), str(finding.outcome), finding.rule, finding.evidence]
        for finding in wrong
    ]
    table = aligned([*wrong[0].variables, "outcome", "rule", "why"], rows[:most])
    left = len(rows) - most
    more = f"\n... {left:,} more: --all, or --format json" if left > 0 else ""
    return f"Cells that break a rule, or may\n{table}{more}"


def _fit(header: Sequence[str], lines: Sequence[Sequence[str]], numbers: set[str]) -> str:
    """Columns of the same name, which are no mistake here, kept apart."""
    names = [name + "\u200b" * header[:place].count(name) for place, name in enumerate(header)]
    return aligned(names, lines, {names[k] for k, name in enumerate(header) if name in numbers})


def _worst(exposure: TableRisk, most: int) -> str:
    if not exposure.cells:
        return ""
    names = list(exposure.table.variables)
    rows = [
        [
            *map(str, cell.labels),
            exposure.table.text(cell.labels),
            cell.values.possible.text(4),
            "; ".join(
                filter(None, [WORDS[mark_of(cell)], exposure.table.flags.get(cell.labels, "")])
            ),
        ]
        for cell in exposure.worst_first[:most]
    ]
    table = aligned([*names, "printed", "can be", "what that means"], rows)
    left = len(exposure.cells) - most
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
            "statements": [statement.notation for statement in risk.published.release.statements],
        },
        "summary": {
            "hidden": sum(len(exposure.hidden) for exposure in risk.tables),
            "disclosed": risk.disclosed,
            "unsettled": risk.unsettled,
        },
        "seconds": round(risk.seconds, 6),
        "notes": list(risk.notes),
        "intruder_knows": list(risk.sentences),
        **_judged(risk),
        "tables": [
            {
                "where": exposure.table.where,
                "title": exposure.table.title,
                "variables": list(exposure.table.variables),
                "understood": exposure.table.understood().splitlines(),
                "truths_in_file": len(exposure.table.truths),
                "cells": [
                    {
                        "labels": list(map(str, cell.labels)),
                        "printed": exposure.table.text(cell.labels),
                        "flag": exposure.table.flags.get(cell.labels, ""),
                        "mark": mark_of(cell),
                        **value_entries(cell.values),
                    }
                    for cell in exposure.worst_first
                ],
            }
            for exposure in risk.tables
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
                    "labels": list(map(str, finding.labels)),
                    "rule": finding.rule,
                    "outcome": finding.outcome.value,
                    "evidence": finding.evidence,
                    "change": finding.change,
                }
                for number, some in enumerate(risk.findings, start=1)
                for finding in some
            ],
        }
    }


def _csv(risk: PublishedRisk) -> str:
    names = list({name: None for exposure in risk.tables for name in exposure.table.variables})
    rows = []
    for number, exposure in enumerate(risk.tables, start=1):
        for cell in exposure.worst_first:
            labels = dict(zip(exposure.table.variables, map(str, cell.labels), strict=True))
            values = cell.values.possible
            rows.append(
                [
                    number,
                    *(labels.get(name, "") for name in names),
                    exposure.table.text(cell.labels),
                    exposure.table.flags.get(cell.labels, ""),
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
    for place, exposure in enumerate(risk.tables):
        header, rows = laid_out(exposure)
        known = {cell.labels: cell for cell in exposure.cells}
        wrong = risk.findings[place] if risk.findings else ()
        laid = [
            (stub, [_page_cell(exposure.table, cell, known.get(cell)) for cell in cells])
            for stub, cells in rows
        ]
        tables.append(
            {
                "where": exposure.table.where,
                "title": exposure.table.title,
                "understood": exposure.table.understood(warn=False).splitlines()[1:],
                "stubs": exposure.table.variables[:-1],
                "across": exposure.table.variables[-1],
                "header": header[len(exposure.table.variables) - 1 :],
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
                "rows": laid if len(exposure.table.entries) <= MOST_ON_PAGE else [],
                "worst": [
                    {
                        "labels": list(
                            zip(exposure.table.variables, map(str, cell.labels), strict=True)
                        ),
                        "printed": exposure.table.text(cell.labels),
                        "values": cell.values.possible.text(8),
                        "words": WORDS[mark_of(cell)],
                        "flag": exposure.table.flags.get(cell.labels, ""),
                    }
                    for cell in exposure.worst_first[:MOST_ON_PAGE]
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
