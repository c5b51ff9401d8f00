"""Releases read from files: TOML for the domain and the statements, CSV for the figures."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cellbounds.domain import Domain, Label
from cellbounds.errors import InvalidInput
from cellbounds.releases.conditional import Conditional
from cellbounds.releases.release import Release, Statement
from cellbounds.releases.statements import Margin, Prior, Total
from cellbounds.table_reading import read_csv_rows

__all__ = ["FORMAT", "figure_column", "read_release"]

FORMAT = "cellbounds-release/1"

_CONDITIONAL_KEYS = {
    "responses", "given", "rates", "digits", "rounding", "eps", "strict", "missing", "unit",
}  # fmt: skip


def read_release(path: str | Path) -> Release:
    """Read a release from a TOML file.

    The file names the domain, the total and the statements. Figures stand in the file itself, as
    nested lists of text, or in CSV files beside it: tidy (the variables and a column ``rate``,
    ``count``, or ``lower``, ``upper`` and ``values``), or, for rates of one response, with one
    column for each of its levels. Figures are read as text: decimals stay as they are written.

    Examples
    --------
    A complete file::

        format = "cellbounds-release/1"
        total = 50

        [domain]
        gender = ["Male", "Female"]
        mp3 = ["yes", "no"]

        [[conditional]]
        responses = ["mp3"]
        given = ["gender"]
        rates = [["0.6", "0.4"], ["0.2", "0.8"]]   # or "rates.csv"
        rounding = "nearest"                        # or eps = "0.05", strict = false
    """
    file = Path(path)
    try:
        with file.open("rb") as stream:
            # Numbers with a point would become floats, which are not what was published.
            content = tomllib.load(stream, parse_float=_Literal)
    except OSError as problem:
        raise InvalidInput(f"{file} cannot be read: {problem.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"{file} is not UTF-8 text; save it as UTF-8") from None
    except tomllib.TOMLDecodeError as problem:
        raise InvalidInput(f"{file} is not a TOML file: {problem}") from None
    _only(content, {"format", "domain", "total", "conditional", "margin", "prior"}, str(file))
    if content.get("format", FORMAT) != FORMAT:
        raise InvalidInput(f"{file}: format {content['format']!r}; this version reads {FORMAT!r}")
    domain = _domain(content.get("domain"), file)
    statements: list[Statement] = [
        _conditional(entry, domain, file) for entry in _entries(content, "conditional", file)
    ]
    statements += [_margin(entry, domain, file) for entry in _entries(content, "margin", file)]
    statements += [_prior(entry, domain, file) for entry in _entries(content, "prior", file)]
    if "total" in content:
        statements.append(_total(content["total"], file))
    if not statements:
        raise InvalidInput(f"{file}: the release says nothing; add [[conditional]] or [[margin]]")
    return Release(domain, statements)


class _Literal(str):
    """A decimal number from TOML, kept as the text that was written."""


def _domain(given: object, file: Path) -> Domain:
    if not isinstance(given, dict) or not all(isinstance(v, list) for v in given.values()):
        raise InvalidInput(
            f"{file}: [domain] is missing or wrong; give each variable a list of its levels"
        )
    for name, levels in given.items():
        if not all(isinstance(level, str | int) for level in levels):
            raise InvalidInput(f"{file}: the levels of {name!r} must be texts; put them in quotes")
    return Domain({name: [_text(level) for level in levels] for name, levels in given.items()})


def _entries(content: Mapping[str, Any], key: str, file: Path) -> list[dict[str, Any]]:
    entries = content.get(key, [])
    if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
        raise InvalidInput(f"{file}: write {key} statements as [[{key}]] sections")
    return entries


def _only(entry: Mapping[str, Any], known: set[str], what: str) -> None:
    for key in entry:
        if key not in known:
            raise InvalidInput(
                f"{what}: unknown entry {key!r}; known are {', '.join(sorted(known))}"
            )


def _total(given: object, file: Path) -> Total:
    if isinstance(given, dict):
        _only(given, {"lower", "upper"}, f"{file}: total")
        return Total(lower=given.get("lower"), upper=given.get("upper"))
    return Total(given)


def _names(entry: Mapping[str, Any], key: str, file: Path) -> list[str]:
    names = entry.get(key, [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InvalidInput(f"{file}: {key} must be a list of variables")
    return names


def _conditional(entry: dict[str, Any], domain: Domain, file: Path) -> Conditional:
    _only(entry, _CONDITIONAL_KEYS, f"{file}: [[conditional]]")
    responses, given = _names(entry, "responses", file), _names(entry, "given", file)
    margin = domain.project([*given, *responses])
    rates = entry.get("rates")
    if isinstance(rates, str) and not isinstance(rates, _Literal):
        rates = _rates_from_csv(file.parent / rates, margin, responses)
    elif not isinstance(rates, list):
        raise InvalidInput(f"{file}: [[conditional]] needs rates, a CSV file or nested lists")
    options = {
        key: entry[key]
        for key in _CONDITIONAL_KEYS - {"responses", "given", "rates"}
        if key in entry
    }
    if isinstance(options.get("eps"), str):
        options["eps"] = str(options["eps"])
    return Conditional(responses, given, rates=_plain(rates), **options)


def _plain(nested: object) -> Any:
    if isinstance(nested, list):
        return [_plain(one) for one in nested]
    return str(nested) if isinstance(nested, _Literal) else nested


def _rates_from_csv(path: Path, margin: Domain, responses: Sequence[str]) -> Any:
    header, rows = read_csv_rows(path)
    rates = np.full(margin.shape, None, dtype=object)
    seen: set[tuple[int, ...]] = set()
    figures = figure_column("rate", margin)
    if figures in header and set(header) == {*margin.names, figures}:
        places = [header.index(name) for name in margin.names]
        column = header.index(figures)
        cells = [([row[p] for p in places], row[column]) for row in rows]
    else:
        cells = _wide_cells(path, header, rows, margin, responses)
    for labels, rate in cells:
        index = margin.index(
            [_same_text(margin, n, x) for n, x in zip(margin.names, labels, strict=True)]
        )
        if index in seen:
            raise InvalidInput(f"{path}: the rate for {tuple(labels)} is listed twice")
        seen.add(index)
        rates[index] = rate
    if len(seen) < margin.size:
        absent = next(i for i in np.ndindex(margin.shape) if i not in seen)
        raise InvalidInput(
            f"{path}: no line for {margin.labels(absent)}; list every rate, with an empty field "
            "where it is missing"
        )
    return rates


def _wide_cells(
    path: Path, header: list[str], rows: list[list[str]], margin: Domain, responses: Sequence[str]
) -> list[tuple[list[str], str]]:
    given = [name for name in margin.names if name not in responses]
    levels = [_text(level) for level in margin.levels(responses[0])]
    if len(responses) != 1 or set(header) != {*given, *levels}:
        raise InvalidInput(
            f"{path}: columns {', '.join(map(repr, header))}; it needs "
            f"{', '.join(map(repr, margin.names))} and 'rate', or, for one response, the givens "
            "and a column for each of its levels"
        )
    keys = [header.index(name) for name in given]
    return [
        ([*(row[k] for k in keys), level], row[header.index(level)])
        for row in rows
        for level in levels
    ]


def _margin(entry: dict[str, Any], domain: Domain, file: Path) -> Margin:
    _only(entry, {"variables", "counts"}, f"{file}: [[margin]]")
    names = _names(entry, "variables", file)
    counts = entry.get("counts")
    if isinstance(counts, str):
        margin = domain.project(names)
        laid = _column_from_csv(file.parent / counts, margin, figure_column("count", margin))
        if len(laid) < margin.size:
            raise InvalidInput(f"{file.parent / counts}: list every cell of the margin")
        flat = np.empty(margin.size, dtype=object)
        flat[:] = [laid[labels] for labels in margin.cells()]
        counts = flat.reshape(margin.shape)
    return Margin(names, counts)


def _prior(entry: dict[str, Any], domain: Domain, file: Path) -> Prior:
    _only(entry, {"variables", "lower", "upper", "values", "bounds"}, f"{file}: [[prior]]")
    names = _names(entry, "variables", file)
    if "bounds" not in entry:
        return Prior(names, **{k: entry[k] for k in ("lower", "upper", "values") if k in entry})
    margin = domain.project(names)
    path = file.parent / str(entry["bounds"])
    header, _ = read_csv_rows(path)
    known: dict[str, Any] = {}
    for kind in ("lower", "upper", "values"):
        column = figure_column(kind, margin)
        if column in header:
            laid = _column_from_csv(path, margin, column)
            known[kind] = {
                labels: text.split() if kind == "values" else text
                for labels, text in laid.items()
                if text.strip()
            }
    return Prior(names, **known)


def _column_from_csv(path: Path, margin: Domain, column: str) -> dict[tuple[Label, ...], str]:
    header, rows = read_csv_rows(path)
    for name in [*margin.names, column]:
        if name not in header:
            raise InvalidInput(f"{path}: no column {name!r} among {', '.join(map(repr, header))}")
    found: dict[tuple[Label, ...], str] = {}
    for row in rows:
        labels = tuple(_same_text(margin, name, row[header.index(name)]) for name in margin.names)
        margin.index(labels)
        if labels in found:
            raise InvalidInput(f"{path}: the cell {labels} is listed twice")
        found[labels] = row[header.index(column)]
    return found


def figure_column(kind: str, margin: Domain) -> str:
    """The column of figures; a variable of the same name keeps it, the figures step aside."""
    return f"{kind}_" if kind in margin.names else kind


def _same_text(margin: Domain, name: str, text: str) -> Label:
    """The level that is written like this; labels in files are text."""
    return next((level for level in margin.levels(name) if _text(level) == text), text)


def _text(label: object) -> str:
    return str(label)
