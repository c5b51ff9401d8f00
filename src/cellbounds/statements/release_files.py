"""Releases in files: TOML for the domain and the statements, CSV for the figures beside it."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeGuard

from cellbounds.data.domain import Domain, Grouping, Label
from cellbounds.data.formats.delimited import read_csv_rows
from cellbounds.data.spreadsheets import csv_text
from cellbounds.errors import InvalidInput
from cellbounds.runtime.files import write_whole
from cellbounds.runtime.inputs import check_cells, read_toml
from cellbounds.statements.kinds import KINDS
from cellbounds.statements.release import Release
from cellbounds.statements.statement import Statement, objects
from cellbounds.text import column_names

FORMAT = "cellbounds-release/1"

FileEntry = tuple[Any, tuple[str, ...], Sequence[Sequence[object]] | None]
"""An entry of the TOML file, the columns of figures in its CSV file, and the lines of that file.

A line has the labels of a cell, then its figures. None: there is no file of figures.
"""

_UNREADABLE = re.compile("[\x00\ud800-\udfff]")


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

        [[known]]
        variables = ["gender"]
        lower = [10, 1]                             # upper, values, or bounds = "bounds.csv"
    """
    # Numbers with a point would become floats, which are not what was published.
    content = read_toml(path, _Literal)
    name = str(path)
    if "prior" in content:
        raise InvalidInput(f"{name}: [[prior]] is now called [[known]]; rename the section")
    sections = {kind.section for kind in KINDS}
    _only(content, {"format", "domain", "grouping", *sections}, name)
    if content.get("format", FORMAT) != FORMAT:
        raise InvalidInput(f"{name}: format {content['format']!r}; this version reads {FORMAT!r}")
    domain = _domain(content.get("domain"), name)
    domain = domain.with_groupings(_groupings(content.get("grouping", {}), name))
    file = ReleaseFile(Path(path), domain, allow_outside)
    statements = [
        kind.from_entry(entry, file) for kind in KINDS for entry in _entries(content, kind, name)
    ]
    if not statements:
        raise InvalidInput(f"{name}: the release says nothing; add [[conditional]] or [[margin]]")
    return Release(domain, statements)


class _Literal(str):
    """A decimal number from TOML, kept as the text that was written."""


class ReleaseFile:
    """The file of a release and those that it names, as statements read their entries."""

    def __init__(self, path: Path, domain: Domain, allow_outside: bool) -> None:
        self._path, self._domain, self._allow_outside = path, domain, allow_outside

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

    def only(self, entry: Mapping[str, Any], known: set[str], section: str) -> None:
        """Refuse keys that a section does not have."""
        _only(entry, known, f"{self}: {section}")

    def names(self, entry: Mapping[str, Any], key: str) -> list[str]:
        """A list of variables."""
        names = entry.get(key, [])
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise InvalidInput(f"{self}: {key} must be a list of variables")
        return names

    @staticmethod
    def is_name(value: object) -> TypeGuard[str]:
        """Whether figures are named as a file: text, but no number."""
        return isinstance(value, str) and not isinstance(value, _Literal)

    @classmethod
    def plain(cls, nested: object) -> Any:
        """Nested lists with numbers as plain text, as they were written."""
        if isinstance(nested, list):
            return [cls.plain(entry) for entry in nested]
        if isinstance(nested, dict):
            return {key: cls.plain(value) for key, value in nested.items()}
        return str(nested) if isinstance(nested, _Literal) else nested

    def margin(self, names: list[str]) -> Domain:
        """The margin that a file of figures is about, if it is not too large for one."""
        margin = self._domain.project(names)
        check_cells(margin.size, f"{self}: the margin of {', '.join(map(repr, names))}")
        return margin

    def column(
        self, name: str, margin: Domain, kind: str, *, needed: bool = True
    ) -> dict[tuple[Label, ...], str]:
        """The figures of one column of a file beside, by the labels of their cells.

        Nothing if there is no such column and none is needed.
        """
        path = self.beside(name)
        header, rows = read_csv_rows(path)
        column = figure_column(kind, margin)
        if column not in header and not needed:
            return {}
        for needs in [*margin.names, column]:
            if needs not in header:
                raise InvalidInput(f"{path}: no column {needs!r} among {column_names(header)}")
        keys, place = [header.index(variable) for variable in margin.names], header.index(column)
        cells = [([row[key] for key in keys], row[place]) for row in rows]
        return _by_labels(path, cells, margin, "the cell")

    def rates(self, name: str, margin: Domain, responses: Sequence[str]) -> Any:
        """Rates in the shape of the margin, from a file of either layout."""
        path = self.beside(name)
        header, rows = read_csv_rows(path)
        names = [*margin.names, figure_column("rate", margin)]
        if set(header) == set(names):
            places = [header.index(name) for name in names]
            lines = ([row[place] for place in places] for row in rows)
            cells = [(labels, rate) for *labels, rate in lines]
        else:
            cells = _wide_cells(path, header, rows, margin, responses)
        rates = _by_labels(path, cells, margin, "the rate for")
        for labels in margin.cells():
            if labels not in rates:
                raise InvalidInput(
                    f"{path}: no line for {labels}; list every rate, with an empty field where it "
                    "is missing"
                )
        return objects([rates[labels] for labels in margin.cells()], margin.shape)


def _by_labels(
    path: Path, cells: Iterable[tuple[list[str], str]], margin: Domain, what: str
) -> dict[tuple[Label, ...], str]:
    """Figures by the labels of their cells, each listed once."""
    figures: dict[tuple[Label, ...], str] = {}
    # Labels in files are text: the first level that is written like this.
    levels = [{str(level): level for level in margin.levels(name)[::-1]} for name in margin.names]
    for texts, figure in cells:
        labels = tuple(own.get(text, text) for own, text in zip(levels, texts, strict=True))
        margin.index(labels)
        if labels in figures:
            raise InvalidInput(f"{path}: {what} {labels} is listed twice")
        figures[labels] = figure
    return figures


def _domain(given: object, file: str) -> Domain:
    if not isinstance(given, dict) or not all(isinstance(v, list) for v in given.values()):
        raise InvalidInput(
            f"{file}: [domain] is missing or wrong; give each variable a list of its levels"
        )
    for name, levels in given.items():
        if not all(isinstance(level, str | int) for level in levels):
            raise InvalidInput(f"{file}: the levels of {name!r} must be texts; put them in quotes")
    return Domain({name: [str(level) for level in levels] for name, levels in given.items()})


def _groupings(given: object, file: str) -> dict[str, Grouping]:
    if not isinstance(given, dict) or not all(isinstance(entry, dict) for entry in given.values()):
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


def _entries(content: Mapping[str, Any], kind: type[Statement], file: str) -> list[Any]:
    key = kind.section
    if not kind.several:  # a value, not a list of sections
        return [content[key]] if key in content else []
    entries = content.get(key, [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InvalidInput(f"{file}: write {key} statements as [[{key}]] sections")
    return entries


def _only(entry: Mapping[str, Any], known: set[str], what: str) -> None:
    for key in entry:
        if key not in known:
            raise InvalidInput(
                f"{what}: unknown entry {key!r}; known are {', '.join(sorted(known))}"
            )


def _wide_cells(
    path: Path, header: list[str], rows: list[list[str]], margin: Domain, responses: Sequence[str]
) -> list[tuple[list[str], str]]:
    given = [name for name in margin.names if name not in responses]
    levels = [str(level) for level in margin.levels(responses[0])]
    if len(responses) != 1 or set(header) != {*given, *levels}:
        raise InvalidInput(
            f"{path}: columns {column_names(header)}; it needs "
            f"{', '.join(map(repr, margin.names))} and 'rate', or, for one response, the givens "
            "and a column for each of its levels"
        )
    keys = [header.index(name) for name in given]
    return [
        ([*(row[k] for k in keys), level], row[header.index(level)])
        for row in rows
        for level in levels
    ]


def figure_column(kind: str, margin: Domain) -> str:
    """The column of figures; a variable of the same name keeps it, the figures step aside."""
    while kind in margin.names:
        kind += "_"
    return kind


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
            # What would be written, but not read again. A guarded text may be twice as long.
            if _UNREADABLE.search(text):
                raise InvalidInput(
                    f"{text!r} has a character that a text file cannot hold; rename it"
                )
            if 2 * len(text) >= csv.field_size_limit():
                raise InvalidInput(
                    f"{text!r} has {len(text)} characters, too many for a file; shorten it"
                )
    content: dict[str, Any] = {
        "format": FORMAT,
        "domain": {n: [str(x) for x in domain.levels(n)] for n in domain.names},
    }
    for name, grouping in domain.groupings.items():
        levels = {str(level): [str(x) for x in parts] for level, parts in grouping.groups}
        content.setdefault("grouping", {})[name] = {"of": grouping.of, "levels": levels}
    beside: dict[str, str] = {}
    for number, statement in enumerate(release.statements, 1):
        plain = re.sub(r"[^0-9A-Za-z]+", "-", statement.notation).strip("-")
        name = f"{file.stem}.{number}-{plain[:60] or 'statement'}.csv"
        entry, columns, rows = statement.to_entry(domain, name)
        if not statement.several:
            content[statement.section] = entry
        else:
            content.setdefault(statement.section, []).append(entry)
        if rows is not None:
            margin = domain.project(statement.variables)
            header = [*margin.names, *(figure_column(column, margin) for column in columns)]
            beside[name] = csv_text(header, rows)
    for name, text in beside.items():
        write_whole(file.parent / name, text)
    # Plain values stand before the first section of a TOML file.
    single = [kind.section for kind in KINDS if not kind.several]
    order = ("format", *single, "domain", "grouping", *(kind.section for kind in KINDS))
    write_whole(file, tomli_w.dumps({key: content[key] for key in order if key in content}))
