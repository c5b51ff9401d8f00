"""A report as rows and columns: CSV of the cells, and an Excel workbook of everything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cellbounds.data.spreadsheets import csv_text
from cellbounds.report.pages.plain import labels_text, read_values
from cellbounds.text import label_keys

__all__ = ["cells_csv", "sheets_of"]

RUNS = 500
"""Runs of attainable counts that a spreadsheet names for a cell."""

FIXED = ("count", "lower", "upper", "size", "values", "mark", "outcome")

Columns = dict[str, list[Any]]


def cells_csv(content: Mapping[str, Any]) -> str:
    """The cells, one a line: labels, the count for its owner, and what is attainable."""
    columns = _cells(content)
    return csv_text(list(columns), zip(*columns.values(), strict=True))


def _cells(content: Mapping[str, Any]) -> Columns:
    owner = "internal" in content
    cells = content["internal" if owner else "public"]["cells"]
    over = content["public"]["over"]
    columns: Columns = {
        key: [cell["labels"][place] for cell in cells]
        for place, key in enumerate(label_keys(over, FIXED).values())
    }
    if owner:
        columns["count"] = [cell["count"] for cell in cells]
    for name in ("lower", "upper", "size"):
        columns[name] = [cell[name] for cell in cells]
    columns["values"] = [read_values(cell).text(RUNS) for cell in cells]
    columns["mark"] = [cell["mark"] for cell in cells]
    if owner or (cells and "outcome" in cells[0]):
        columns["outcome"] = [cell["outcome"] for cell in cells]
    return columns


def sheets_of(content: Mapping[str, Any]) -> dict[str, Columns]:
    """The sheets of a workbook: verdict, cells, findings, statements, policy, method."""
    public, internal = content["public"], content.get("internal")
    sheets = {
        "verdict": _pairs(_verdict_lines(public, internal)),
        "cells": _cells(content),
    }
    findings = (internal or public)["verdict"].get("findings")
    if findings is not None:
        sheets["findings"] = _findings(findings, internal)
    said = public["published"]["statements"]
    sheets["statements"] = {
        "statement": [one["notation"] for one in said],
        "meaning": [one["meaning"] for one in said],
    }
    if public["policy"] is not None:
        sheets["policy"] = _pairs(_policy_lines(public["policy"]))
    sheets["method"] = _pairs(_method_lines(content))
    return sheets


def _pairs(lines: Sequence[tuple[str, Any]]) -> Columns:
    return {"what": [what for what, _ in lines], "value": [value for _, value in lines]}


def _verdict_lines(
    public: Mapping[str, Any], internal: Mapping[str, Any] | None
) -> list[tuple[str, Any]]:
    verdict = (internal or public)["verdict"]
    lines = [
        ("view", "public" if internal is None else "owner: confidential"),
        ("verdict", verdict["outcome"] or "not told"),
        ("reason", verdict["said"]),
    ]
    if public["policy"] is not None:
        lines.append(("policy", public["policy"]["name"]))
    lines += [(f"{what} findings", many) for what, many in verdict.get("summary", {}).items()]
    lines += [("note", note) for note in verdict.get("notes", ())]
    lines += [(name, many) for name, many in public["summary"].items()]
    if internal is not None:
        if "figures" in internal["utility"]:
            lines.append(("share kept", internal["utility"]["figures"]["share"]))
        lines.append(("warning", internal["warning"]))
    return lines


def _findings(findings: Sequence[Mapping[str, Any]], internal: Any) -> Columns:
    blame = {} if internal is None else _blame(internal)
    columns: Columns = {
        "outcome": [one["outcome"] for one in findings],
        "rule": [one["rule"] for one in findings],
        "place": [one["where"] for one in findings],
        "respondent in": [
            None if one["respondent"] is None else labels_text(one["respondent"])
            for one in findings
        ],
        "evidence": [one["evidence"] for one in findings],
        "what would change it": [one["change"] for one in findings],
    }
    if internal is not None:
        columns["count"] = [one.get("count") for one in findings]
        columns["revealed by"] = [blame.get(place) for place in range(len(findings))]
    return columns


def _blame(internal: Mapping[str, Any]) -> dict[int, str]:
    return {one["finding"]: ", ".join(one["statements"]) for one in internal["blame"]["findings"]}


def _policy_lines(policy: Mapping[str, Any]) -> list[tuple[str, Any]]:
    lines = [(what, policy[what]) for what in ("name", "title", "description", "modelled_on")]
    return lines + [("rule", sentence) for sentence in policy["sentences"]]


def _method_lines(content: Mapping[str, Any]) -> list[tuple[str, Any]]:
    public, internal = content["public"], content.get("internal")
    method, origin = public["method"], public["provenance"]
    lines = [
        ("method", method["name"]),
        ("evidence", method["evidence"]),
        ("settled", method["said"]),
        ("posteriors", public["posteriors"]["said"]),
        ("release digest (SHA-256)", public["published"]["digest"]),
        ("table digest under a key (HMAC-SHA-256)", origin["keyed_digest"]),
        ("seed", origin["seed"]),
        *origin["versions"].items(),
    ]
    if internal is not None:
        lines += [
            ("table digest (SHA-256)", internal["input"]["digest"]),
            ("source", internal["input"]["source"]),
            ("seed given", internal["input"]["seed"]),
            *internal.get("clock", {}).items(),
        ]
    return lines
