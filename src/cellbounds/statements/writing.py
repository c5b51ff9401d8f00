"""Releases written as files, each at once."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import numpy as np

from cellbounds.data.domain import Domain
from cellbounds.data.spreadsheets import csv_text
from cellbounds.errors import InvalidInput
from cellbounds.runtime.files import write_whole
from cellbounds.statements.conditional import Conditional
from cellbounds.statements.figure_columns import figure_column
from cellbounds.statements.files import FORMAT
from cellbounds.statements.linear import Linear
from cellbounds.statements.margins import Margin
from cellbounds.statements.release import Release, Statement
from cellbounds.statements.statements import Prior, Total

__all__ = ["write_release"]

_UNREADABLE = re.compile("[\x00\ud800-\udfff]")

_STATEMENTS = ("conditional", "margin", "linear", "prior")


def write_release(release: Release, path: str | Path) -> None:
    """Write a release as a TOML file, with a CSV file of figures for each statement beside it.

    The TOML file is written last and each file at once, so that an interruption leaves no
    half-written release. Labels are written as text.
    """
    import tomli_w

    file = Path(path)
    domain = release.domain
    for name in (*domain.names, *domain.groupings):
        texts = [str(level) for level in domain.levels(name)]
        if len(set(texts)) < len(texts):
            raise InvalidInput(
                f"variable {name!r} has levels that read the same as text; files hold labels as "
                "text, so rename one of them"
            )
        if not name.strip():
            raise InvalidInput(f"variable {name!r} has a name that is empty text; rename it")
        for text in (name, *texts):
            _check_readable(text)
    content: dict[str, Any] = {
        "format": FORMAT,
        "domain": {n: [str(x) for x in domain.levels(n)] for n in domain.names},
    }
    for name, grouping in domain.groupings.items():
        levels = {str(level): [str(x) for x in parts] for level, parts in grouping.groups}
        content.setdefault("grouping", {})[name] = {"of": grouping.of, "levels": levels}
    beside: dict[str, str] = {}
    for number, statement in enumerate(release.statements, 1):
        name = f"{file.stem}.{number}-{_file_name(statement)}.csv"
        match statement:
            case Total():
                exact = statement.exact
                span = {
                    k: v
                    for k, v in (("lower", statement.lower), ("upper", statement.upper))
                    if v is not None
                }
                content["total"] = span if exact is None else exact
            case Conditional():
                beside[name] = _rates_csv(statement, domain)
                content.setdefault("conditional", []).append(_conditional_entry(statement, name))
            case Margin():
                beside[name] = _margin_csv(statement, domain)
                entry: dict[str, Any] = {"variables": list(statement.variables), "counts": name}
                if statement.base is not None:
                    entry |= {"base": statement.base, "rounding": statement.rounding}
                content.setdefault("margin", []).append(entry)
            case Linear():
                beside[name] = _linear_csv(statement, domain)
                content.setdefault("linear", []).append(_linear_entry(statement, name))
            case Prior():
                beside[name] = _prior_csv(statement, domain)
                entry = {"variables": list(statement.variables), "bounds": name}
                content.setdefault("prior", []).append(entry)
    for name, text in beside.items():
        write_whole(file.parent / name, text)
    ordered: dict[str, Any] = {
        key: content[key]
        for key in ("format", "total", "domain", "grouping", *_STATEMENTS)
        if key in content
    }
    write_whole(file, tomli_w.dumps(ordered))


def _check_readable(text: str) -> None:
    """Refuse a label that would be written, but not read again."""
    if _UNREADABLE.search(text):
        raise InvalidInput(f"{text!r} has a character that a text file cannot hold; rename it")
    # A guarded text may be twice as long.
    if 2 * len(text) >= csv.field_size_limit():
        raise InvalidInput(f"{text!r} has {len(text)} characters, too many for a file; shorten it")


def _file_name(statement: Statement) -> str:
    plain = re.sub(r"[^0-9A-Za-z]+", "-", statement.notation).strip("-")
    return plain[:60] or "statement"


def _conditional_entry(statement: Conditional, name: str) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "responses": list(statement.responses),
        "given": list(statement.given),
        "rates": name,
    }
    if statement.rounding is not None:
        entry |= {"digits": statement.digits, "rounding": statement.rounding}
    elif statement.eps is not None:
        if len(statement.eps) == 1:
            entry["eps"] = str(statement.eps[0])
        else:
            texts = np.array([str(one) for one in statement.eps], dtype=object)
            entry["eps"] = texts.reshape(statement.shape).tolist()
        entry["strict"] = statement.strict
    if statement.missing is not None:
        entry["missing"] = statement.missing
    return entry


def _rates_csv(statement: Conditional, domain: Domain) -> str:
    margin = domain.project(statement.variables)
    rows, columns = statement.intervals.low.shape
    figures = (
        "" if text == "missing" else text
        for text in (statement.figure_text(i, j) for i in range(rows) for j in range(columns))
    )
    lines = [[*labels, text] for labels, text in zip(margin.cells(), figures, strict=True)]
    return csv_text([*margin.names, figure_column("rate", margin)], lines)


def _margin_csv(statement: Margin, domain: Domain) -> str:
    margin = domain.project(statement.variables)
    entries = ("" if one is None else one for one in statement.entries.flat)
    lines = [[*labels, entry] for labels, entry in zip(margin.cells(), entries, strict=True)]
    return csv_text([*margin.names, figure_column("count", margin)], lines)


def _linear_entry(statement: Linear, name: str) -> dict[str, Any]:
    entry: dict[str, Any] = {"variables": list(statement.variables), "coefficients": name}
    if statement.lower == statement.upper:
        return entry | {"equals": str(statement.lower)}
    limits = (("lower", statement.lower), ("upper", statement.upper))
    return entry | {key: str(limit) for key, limit in limits if limit is not None}


def _linear_csv(statement: Linear, domain: Domain) -> str:
    margin = domain.project(statement.variables)
    cells = zip(margin.cells(), statement.laid_out(domain), strict=True)
    lines = [[*labels, str(number)] for labels, number in cells if number]
    return csv_text([*margin.names, figure_column("coefficient", margin)], lines)


def _prior_csv(statement: Prior, domain: Domain) -> str:
    margin, known = domain.project(statement.variables), statement.known(domain)
    lines: list[list[object]] = []
    for flat, labels in enumerate(margin.cells()):
        lower, upper = int(known.lower.flat[flat]), int(known.upper.flat[flat])
        values = known.values.get(flat, ())
        if lower or upper >= 0 or values:
            lines.append(
                [*labels, lower or "", upper if upper >= 0 else "", " ".join(map(str, values))]
            )
    if not lines:
        lines = [[*next(margin.cells()), 0, "", ""]]  # a prior that says nothing is still said
    columns = [figure_column(kind, margin) for kind in ("lower", "upper", "values")]
    return csv_text([*margin.names, *columns], lines)
