"""Releases read from files: TOML for the domain and the statements, CSV for the figures."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cellbounds.data.domain import Domain, Grouping
from cellbounds.errors import InvalidInput
from cellbounds.runtime.inputs import check_cells, read_toml
from cellbounds.statements.conditional import Conditional
from cellbounds.statements.figure_columns import (
    column_from_csv,
    columns_of,
    figure_column,
    rates_from_csv,
)
from cellbounds.statements.linear import Linear
from cellbounds.statements.margins import Margin
from cellbounds.statements.release import Release, Statement
from cellbounds.statements.statements import Prior, Total

__all__ = ["FORMAT", "read_release"]

FORMAT = "cellbounds-release/1"

_SECTIONS = {"format", "domain", "grouping", "total", "conditional", "margin", "linear", "prior"}

_CONDITIONAL_KEYS = {
    "responses", "given", "rates", "digits", "rounding", "eps", "strict", "missing", "unit",
}  # fmt: skip


def read_release(path: str | Path, *, allow_outside: bool = False) -> Release:
    """Read a release from a TOML file.

    The file names the domain, the total and the statements. Figures stand in the file itself, as
    nested lists of text, or in CSV files beside it: tidy (the variables and a column ``rate``,
    ``count``, ``coefficient``, or ``lower``, ``upper`` and ``values``), or, for rates of one
    response, with one column for each of its levels. Figures are read as text: decimals stay as
    they are written, and an empty count was suppressed.

    Parameters
    ----------
    path
        The TOML file.
    allow_outside
        Whether it may name files of figures that are not in its own folder or below. A release
        that somebody else wrote could make you read any file.

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

    and what may stand beside it::

        [grouping.player]                           # statements may name it like a variable
        of = "mp3"
        levels = {any = ["yes"], none = ["no"]}

        [[margin]]
        variables = ["player"]
        counts = [20, "<5"]                         # or "counts.csv"; "3-7", ">10", "" (suppressed)
        base = 5                                    # numbers are rounded to multiples of 5
        rounding = "nearest"

        [[linear]]
        variables = ["gender"]
        coefficients = [1, "-1/2"]                  # or "coefficients.csv"
        lower = 0                                   # upper, or equals

        [[prior]]
        variables = ["gender"]
        lower = [10, 1]                             # upper, values, or bounds = "bounds.csv"
    """
    file = _File(path, allow_outside)
    # Numbers with a point would become floats, which are not what was published.
    content = read_toml(path, _Literal)
    _only(content, _SECTIONS, str(file))
    if content.get("format", FORMAT) != FORMAT:
        raise InvalidInput(f"{file}: format {content['format']!r}; this version reads {FORMAT!r}")
    domain = _domain(content.get("domain"), file)
    domain = domain.with_groupings(_groupings(content.get("grouping", {}), file))
    statements: list[Statement] = [
        _conditional(entry, domain, file) for entry in _entries(content, "conditional", file)
    ]
    statements += [_margin(entry, domain, file) for entry in _entries(content, "margin", file)]
    statements += [_linear(entry, domain, file) for entry in _entries(content, "linear", file)]
    statements += [_prior(entry, domain, file) for entry in _entries(content, "prior", file)]
    if "total" in content:
        statements.append(_total(content["total"], file))
    if not statements:
        raise InvalidInput(f"{file}: the release says nothing; add [[conditional]] or [[margin]]")
    return Release(domain, statements)


class _Literal(str):
    """A decimal number from TOML, kept as the text that was written."""


class _File:
    """The file of a release, and those that it names."""

    def __init__(self, path: str | Path, allow_outside: bool) -> None:
        self._path = Path(path)
        self._allow_outside = allow_outside

    def __str__(self) -> str:
        return str(self._path)

    def beside(self, name: str) -> Path:
        """A file of figures: in the folder of the release or below, unless more is allowed."""
        named = self._path.parent / name
        if "\0" in name:
            raise InvalidInput(f"{self}: {name!r} is no name of a file; correct it")
        # Links are followed: one that leads elsewhere is as good as a path that does.
        folder = os.path.realpath(self._path.parent)
        if not (self._allow_outside or Path(os.path.realpath(named)).is_relative_to(folder)):
            raise InvalidInput(
                f"{self} names {name!r}, which is not in its folder or below; put the figures "
                "beside the release, or allow it with allow_outside=True (--allow-outside)"
            )
        return named

    def margin(self, domain: Domain, names: list[str]) -> Domain:
        """The margin that a file of figures is about, if it is not too large for one."""
        margin = domain.project(names)
        check_cells(margin.size, f"{self}: the margin of {', '.join(map(repr, names))}")
        return margin


def _domain(given: object, file: _File) -> Domain:
    if not isinstance(given, dict) or not all(isinstance(v, list) for v in given.values()):
        raise InvalidInput(
            f"{file}: [domain] is missing or wrong; give each variable a list of its levels"
        )
    for name, levels in given.items():
        if not all(isinstance(level, str | int) for level in levels):
            raise InvalidInput(f"{file}: the levels of {name!r} must be texts; put them in quotes")
    return Domain({name: [str(level) for level in levels] for name, levels in given.items()})


def _groupings(given: object, file: _File) -> dict[str, Grouping]:
    if not isinstance(given, dict) or not all(isinstance(one, dict) for one in given.values()):
        raise InvalidInput(f"{file}: write groupings as sections [grouping.name]")
    made: dict[str, Grouping] = {}
    for name, entry in given.items():
        what = f"{file}: [grouping.{name}]"
        _only(entry, {"of", "levels"}, what)
        of, levels = entry.get("of"), entry.get("levels")
        if (
            not isinstance(of, str)
            or not isinstance(levels, dict)
            or not all(isinstance(parts, list) for parts in levels.values())
        ):
            raise InvalidInput(
                f'{what} needs of = "variable" and levels, a table that gives each group a list '
                "of levels"
            )
        groups = {level: [str(part) for part in parts] for level, parts in levels.items()}
        made[name] = Grouping(of, groups)
    return made


def _entries(content: Mapping[str, Any], key: str, file: _File) -> list[dict[str, Any]]:
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


def _total(given: object, file: _File) -> Total:
    if isinstance(given, dict):
        _only(given, {"lower", "upper"}, f"{file}: total")
        return Total(lower=given.get("lower"), upper=given.get("upper"))
    return Total(given)


def _names(entry: Mapping[str, Any], key: str, file: _File) -> list[str]:
    names = entry.get(key, [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InvalidInput(f"{file}: {key} must be a list of variables")
    return names


def _conditional(entry: dict[str, Any], domain: Domain, file: _File) -> Conditional:
    _only(entry, _CONDITIONAL_KEYS, f"{file}: [[conditional]]")
    responses, given = _names(entry, "responses", file), _names(entry, "given", file)
    margin = file.margin(domain, [*given, *responses])
    rates = entry.get("rates")
    if isinstance(rates, str) and not isinstance(rates, _Literal):
        rates = rates_from_csv(file.beside(rates), margin, responses)
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
    if isinstance(nested, dict):
        return {key: _plain(value) for key, value in nested.items()}
    return str(nested) if isinstance(nested, _Literal) else nested


def _margin(entry: dict[str, Any], domain: Domain, file: _File) -> Margin:
    _only(entry, {"variables", "counts", "base", "rounding"}, f"{file}: [[margin]]")
    names = _names(entry, "variables", file)
    counts = entry.get("counts")
    if isinstance(counts, str) and not isinstance(counts, _Literal):
        margin, path = file.margin(domain, names), file.beside(counts)
        laid = column_from_csv(path, margin, figure_column("count", margin))
        if len(laid) < margin.size:
            raise InvalidInput(
                f"{path}: list every cell of the margin, with an empty field where "
                "the count was suppressed"
            )
        flat = np.empty(margin.size, dtype=object)
        flat[:] = [laid[labels] for labels in margin.cells()]
        counts = flat.reshape(margin.shape)
    elif not isinstance(counts, list):
        raise InvalidInput(f"{file}: [[margin]] needs counts, a CSV file or nested lists")
    options = {key: _plain(entry[key]) for key in ("base", "rounding") if key in entry}
    return Margin(names, _plain(counts), **options)


def _linear(entry: dict[str, Any], domain: Domain, file: _File) -> Linear:
    limits = ("equals", "lower", "upper")
    _only(entry, {"variables", "coefficients", *limits}, f"{file}: [[linear]]")
    names = _names(entry, "variables", file)
    coefficients = entry.get("coefficients")
    if isinstance(coefficients, str) and not isinstance(coefficients, _Literal):
        margin = file.margin(domain, names)
        column = figure_column("coefficient", margin)
        coefficients = column_from_csv(file.beside(coefficients), margin, column)
    elif not isinstance(coefficients, list | dict):
        raise InvalidInput(f"{file}: [[linear]] needs coefficients, a CSV file or nested lists")
    options = {key: _plain(entry[key]) for key in limits if key in entry}
    return Linear(names, _plain(coefficients), **options)


def _prior(entry: dict[str, Any], domain: Domain, file: _File) -> Prior:
    _only(entry, {"variables", "lower", "upper", "values", "bounds"}, f"{file}: [[prior]]")
    names = _names(entry, "variables", file)
    if "bounds" not in entry:
        return Prior(names, **{k: entry[k] for k in ("lower", "upper", "values") if k in entry})
    margin = file.margin(domain, names)
    path = file.beside(str(entry["bounds"]))
    header = columns_of(path)
    known: dict[str, Any] = {}
    for kind in ("lower", "upper", "values"):
        column = figure_column(kind, margin)
        if column in header:
            laid = column_from_csv(path, margin, column)
            known[kind] = {
                labels: text.split() if kind == "values" else text
                for labels, text in laid.items()
                if text.strip()
            }
    return Prior(names, **known)
