"""Published tables as releases: a margin for each combination of levels, totals among them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from cellbounds.data.crosstabs import UNNAMED, Layout
from cellbounds.data.domain import Domain, Grouping, Label
from cellbounds.data.hierarchy import Hierarchy
from cellbounds.data.marks import Legend, legend_of
from cellbounds.data.other_tools.building import Reading
from cellbounds.data.other_tools.formats import read_protected
from cellbounds.data.published import UNKNOWN, ZERO, Cell, Entry, PublishedTable
from cellbounds.data.understanding import Meaning, published_tables
from cellbounds.errors import InvalidInput
from cellbounds.runtime.inputs import check_cells
from cellbounds.statements.margin import Margin
from cellbounds.statements.mechanisms import mechanism_of, read_noise
from cellbounds.statements.published_percents import percent_statements
from cellbounds.statements.release import Release
from cellbounds.statements.statement import Statement
from cellbounds.statements.total import Total


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """Cells of one margin of a release, and where they stand in the table.

    Attributes
    ----------
    over
        The variables of the margin: levels of hierarchies; one of everybody for the total.
    cells
        Its cells, a code for each of these variables.
    places
        The same cells as the table names them, with totals.
    """

    over: tuple[str, ...]
    cells: tuple[Cell, ...]
    places: tuple[Cell, ...]


def release_of(tables: Sequence[PublishedTable], *, about: Domain | None = None) -> Release:
    """What tables say together: variables of the same name are the same.

    Parameters
    ----------
    tables
        The tables.
    about
        The variables of the confidential table, whose order of levels the release then has.

    Raises
    ------
    InvalidInput
        If trees of codes do not fit each other, or other variables or levels are published.

    Examples
    --------
    >>> import cellbounds as cb
    >>> from cellbounds.data.hierarchy import Hierarchy
    >>> from cellbounds.data.published import HIDDEN, PublishedTable
    >>> table = PublishedTable(
    ...     where="by hand",
    ...     hierarchies={"sex": Hierarchy(["f", "m"], total="Total")},
    ...     entries={("f",): HIDDEN, ("m",): 3, ("Total",): 5},
    ... )
    >>> cb.attainable(release_of([table]))["f"]
    ValueSet(2)
    """
    if not tables:
        raise InvalidInput("no table; give at least one")
    trees = _trees(tables)
    groupings: dict[str, Grouping] = {}
    for name, tree in trees.items():
        for level, grouping in tree.groupings(name).items():
            if level in trees or groupings.setdefault(level, grouping) != grouping:
                raise InvalidInput(
                    f"the level {level!r} of {name!r} has the name of another variable; rename one"
                )
    apart = [table for table in tables if _total_apart(table)]
    whole, everybody = _everybody(trees)
    if apart:
        groupings[whole] = everybody
    if about is None:
        domain = Domain({name: tree.leaves for name, tree in trees.items()}, groupings=groupings)
    else:
        _check_levels(tables, trees, about)
        domain = about.with_groupings(groupings)
    statements: list[Statement] = []
    totals: list[Total] = []
    for table in tables:
        for percents in table.percents:
            statements += percent_statements(table, percents, _levels(table, trees), domain)
        for over, cells in _margins(table, trees).items():
            if over:
                statements.append(_margin(table, domain, over, cells))
            elif table in apart:
                statements.append(Margin([whole], list(cells.values()), **_rule(table)))
            else:
                totals += [_total(table, entry) for entry in cells.values()]
    return Release(domain, [*statements, *_joined(totals)])


def questions(table: PublishedTable, tables: Sequence[PublishedTable]) -> list[Question]:
    """The cells of a table that show no count, by the margin of the release they belong to."""
    asked: dict[tuple[str, ...], list[tuple[Cell, Cell]]] = {}
    trees = _trees(tables)
    named = _naming(table, trees)
    for place in table.unsure:
        over, cell = named(place)
        if not over:
            whole, everybody = _everybody(trees)
            over, cell = (whole,), tuple(everybody.levels)
        asked.setdefault(over, []).append((cell, place))
    return [Question(over, *zip(*pairs, strict=True)) for over, pairs in asked.items()]


def _trees(tables: Sequence[PublishedTable]) -> dict[str, Hierarchy]:
    """The codes of each variable in all tables; trees that do not fit each other are refused."""
    found: dict[str, list[tuple[PublishedTable, Hierarchy]]] = {}
    for table in tables:
        for name, tree in table.hierarchies.items():
            found.setdefault(name, []).append((table, tree))
    joined: dict[str, Hierarchy] = {}
    for name, several in found.items():
        deepest = max((tree for _, tree in several), key=lambda tree: len(tree.parents))
        joined[name] = deepest
        for table, tree in several:
            _check_same(name, table, tree, deepest)
    return joined


def _check_same(name: str, table: PublishedTable, tree: Hierarchy, whole: Hierarchy) -> None:
    """Refuse a tree that is no upper part of the whole one."""
    misfit = _misfit(tree, whole)
    if not misfit:
        return
    what = "at the top" if misfit[0] is None else f"of {misfit[0]!r}"
    raise InvalidInput(
        f"{table.where}: the codes {what} of {name!r} are others than in the other tables; rename "
        "the variable if it is another one, or give its hierarchy (--hierarchy NAME=FILE)"
    )


def _misfit(tree: Hierarchy, whole: Hierarchy) -> list[Label | None]:
    """The first code, None for the total, from which on a tree is no upper part of the whole."""
    codes = frozenset(whole.codes)
    for code in (None, *(code for code, _ in tree.parents)) if tree is not whole else ():
        below = tree.children(code)
        unknown = code is not None and code not in codes
        if unknown or (below and set(below) != set(whole.children(code))):
            return [code]
    return []


def _named_apart(tables: Sequence[PublishedTable]) -> list[PublishedTable]:
    """The tables, so that variables without a name that have other codes are others."""
    known: dict[str, Hierarchy] = {}
    named: list[PublishedTable] = []
    for number, table in enumerate(tables, start=1):
        names: dict[str, str] = {}
        for name, tree in table.hierarchies.items():
            names[name] = name
            if UNNAMED.fullmatch(name):
                own = f"{name} of table {number}"
                fitting = (
                    other
                    for other, whole in known.items()
                    if other.startswith(name)
                    and not (_misfit(tree, whole) and _misfit(whole, tree))
                )
                names[name] = next(fitting, own if name in known else name)
            known.setdefault(names[name], tree)
        if any(name != own for name, own in names.items()):
            table = _renamed(table, names)
        named.append(table)
    return named


def _renamed(table: PublishedTable, names: Mapping[str, str]) -> PublishedTable:
    said = [
        f"{name} has other codes than in the tables before, and is called {own!r}"
        for name, own in names.items()
        if name != own
    ]
    return replace(
        table,
        hierarchies={names[name]: tree for name, tree in table.hierarchies.items()},
        percents=tuple(
            replace(one, within=tuple(names[name] for name in one.within)) for one in table.percents
        ),
        notes=(*table.notes, *said),
    )


def _check_levels(
    tables: Sequence[PublishedTable], trees: Mapping[str, Hierarchy], domain: Domain
) -> None:
    """Refuse variables that the confidential table has not, or has with other levels."""
    where = ", ".join(dict.fromkeys(table.where for table in tables))
    for name, tree in trees.items():
        if name not in domain.names:
            raise InvalidInput(
                f"{where}: unknown variable {name!r}; the variables are {', '.join(domain.names)}"
            )
        own, shown = domain.levels(name), tree.leaves
        strange = sorted(repr(label) for label in set(shown) ^ set(own))
        if strange:
            raise InvalidInput(
                f"{where}: the levels of {name!r} are others than in the confidential table "
                f"({', '.join(strange[:5])} in one of them only); publish every level, under the "
                "same label"
            )


def _levels(
    table: PublishedTable, trees: dict[str, Hierarchy]
) -> dict[str, dict[Label, str | None]]:
    """The level that each code belongs to, by variable; None for the total."""
    level_of: dict[str, dict[Label, str | None]] = {}
    for name, tree in table.hierarchies.items():
        whole = trees[name]
        names, depths, leaves = whole.level_names(name), whole.depths(), set(whole.leaves)
        level_of[name] = {
            code: name if code in leaves else names[depths[code] - 1] for code, _ in tree.parents
        }
        if tree.total is not None:
            level_of[name][tree.total] = None
    return level_of


def _naming(
    table: PublishedTable, trees: dict[str, Hierarchy]
) -> Callable[[Cell], tuple[tuple[str, ...], Cell]]:
    """What says which margin a cell belongs to, and its codes there: totals are summed over."""
    level_of = list(_levels(table, trees).values())

    def named(cell: Cell) -> tuple[tuple[str, ...], Cell]:
        found = [levels[code] for levels, code in zip(level_of, cell, strict=True)]
        over = tuple(level for level in found if level is not None)
        if len(over) == len(cell):
            return over, cell
        return over, tuple(
            code for level, code in zip(found, cell, strict=True) if level is not None
        )

    return named


def _margins(
    table: PublishedTable, trees: dict[str, Hierarchy]
) -> dict[tuple[str, ...], dict[Cell, Entry]]:
    """The entries by the margin they belong to, the finest first."""
    named = _naming(table, trees)
    margins: dict[tuple[str, ...], dict[Cell, Entry]] = {}
    for cell, entry in table.entries.items():
        over, codes = named(cell)
        margins.setdefault(over, {})[codes] = entry
    return dict(sorted(margins.items(), key=lambda item: -len(item[0])))


def _margin(
    table: PublishedTable, domain: Domain, over: tuple[str, ...], cells: dict[Cell, Entry]
) -> Margin:
    margin = domain.project(over)
    check_cells(margin.size, table.where)
    entries = np.full(margin.shape, UNKNOWN, dtype=object)
    places = tuple(
        [margin.position(name, code) for code in codes]
        for name, codes in zip(over, zip(*cells, strict=True), strict=True)
    )
    zero = 0 if table.base is None else ZERO
    shown = np.empty(len(cells), dtype=object)
    shown[:] = [zero if entry == ZERO else entry for entry in cells.values()]
    entries[places] = shown
    return Margin(over, entries, **_rule(table))


def _rule(table: PublishedTable) -> dict[str, Any]:
    """How numbers differ from counts."""
    return {
        "base": table.base,
        "rounding": table.rounding,
        "below": table.below,
        "noise": table.noise,
    }


def _everybody(trees: Mapping[str, Hierarchy]) -> tuple[str, Grouping]:
    """The derived variable with one level that holds everybody."""
    first, tree = next(iter(trees.items()))
    return f"{first}.all", Grouping(first, {tree.total or "Total": tree.leaves})


def _total_apart(table: PublishedTable) -> bool:
    """Whether N is a margin of its own: how likely a noisy one is, what a hidden one can be."""
    top = tuple(tree.total for tree in table.hierarchies.values())
    return top in table.entries and (table.noise is not None or table.entries[top] is None)


def _total(table: PublishedTable, entry: Entry) -> Total:
    """What an entry says of N, by the rules of margins."""
    alone = Margin(["N"], [entry], **_rule(table))
    upper = int(alone.upper[0])
    return Total(lower=int(alone.lower[0]), upper=None if upper < 0 else upper)


def _joined(totals: Sequence[Total]) -> list[Total]:
    """N as all tables together have it."""
    if not totals:
        return []
    lower = max(total.lower for total in totals)
    ends = [total.upper for total in totals if total.upper is not None]
    upper = min(ends, default=None)
    if upper is not None and upper < lower:
        raise InvalidInput(
            "the tables have different grand totals; tables that are read together are about the "
            "same people"
        )
    return [Total(lower=lower, upper=upper)]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Published:
    """Published tables, and the release that they are together.

    Attributes
    ----------
    tables
        Each table as it was understood: print this to see it.
    release
        What they say together, for :func:`cellbounds.attainable` and all other questions.
    """

    tables: tuple[PublishedTable, ...]
    release: Release

    def questions(self) -> list[tuple[PublishedTable, Question]]:
        """The cells that do not show their count, table by table and margin by margin."""
        return [
            (table, question) for table in self.tables for question in questions(table, self.tables)
        ]

    def asking(self, release: Release) -> Release:
        """A release about these tables in which N can be asked about like a cell."""
        whole, everybody = _everybody(_trees(self.tables))
        if whole in release.domain.groupings:
            return release
        return Release(release.domain.with_groupings({whole: everybody}), release.statements)

    def __str__(self) -> str:
        return "\n\n".join(table.understood() for table in self.tables)

    def __repr__(self) -> str:
        return f"<published: {'; '.join(map(repr, self.tables))}>"


def _with_mark(table: PublishedTable, legend: Legend) -> PublishedTable:
    """Hidden cells of another tool's table as the legend has the mark ``x``, if it says more."""
    entry = legend.entry("x")
    hidden = [cell for cell, shown in table.entries.items() if shown is None]
    if entry is None or not hidden:
        return table
    return replace(
        table,
        entries={**table.entries, **dict.fromkeys(hidden, entry)},
        printed={**dict.fromkeys(hidden, "x"), **table.printed},
        flags={**dict.fromkeys(hidden, "hidden"), **table.flags},
    )


def read_published(
    *sources: Any,
    marks: str | Mapping[str, str] | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    totals: Mapping[str, Label] | bool | None = None,
    base: int | None = None,
    rounding: str | None = None,
    below: int | None = None,
    noise: object = None,
    tool: str | None = None,
    metadata: str | Path | None = None,
    count: str | None = None,
    variables: Sequence[str] | None = None,
    header: int | None = None,
    index: int | None = None,
    absent: str = "unknown",
    sums: str | None = None,
    percents: Sequence[str] | str | None = None,
    thousands: str | None = None,
    sheet: str | None = None,
    encoding: str = "utf-8",
    delimiter: str | None = None,
) -> Published:
    """Read tables as they are published: crosstabs or tidy, with totals and marks.

    Parameters
    ----------
    *sources
        CSV, Excel, OpenDocument, HTML or Parquet files, or frames: pandas (also ``crosstab``,
        ``pivot_table`` and series with several index levels), polars, Arrow, great_tables. All
        tables that they hold are about the same people; variables of the same name are the same.
    marks
        What marks mean, beside numbers and ranges (``<5``, ``1-4``): ``"c=hidden, :=<5"``, or a
        mapping. Unless said, ``x c (s) *`` are hidden counts, ``: .. NA`` and empty cells are
        unknown, perhaps 0, and ``-`` is zero. ``"x=>=1"`` says that zeros are shown, so that no
        hidden count is 0, also of the tables of other tools.
    hierarchies
        Codes of a variable that are totals of others, by variable: a
        :class:`~cellbounds.data.hierarchy.Hierarchy`, a file (``.hrc``, or CSV: child and parent,
        or nested columns), ``"prefix"``, or a nested mapping.
    totals
        The label of the total by variable. Unless given, a level is a total if its name says so
        and the arithmetic confirms it; False: no level is.
    base, rounding
        What numbers are rounded to, and how, as for :class:`Margin`.
    below
        Counts below this were hidden before the others were rounded (redact, then round).
    noise
        The law of noise, as for :class:`Margin`, or a file with it: a perturbation table of the
        cell-key method, or TOML.
    tool, metadata
        The tool that wrote a file, ``"tau-argus"``, ``"suppression-frame"`` (GaussSuppression,
        sdcTable, rtauargus, pytauargus) or ``"acro"``, unless it is to be found out; and the
        ``.rda`` file of a tau-ARGUS table, unless it has the same name.
    count, variables
        Of a tidy table, the column of counts and those of labels; of a crosstab, `variables` names
        its variables, those of the index columns first.
    header, index
        How many rows hold the labels of columns, and how many columns those of rows.
    absent
        What cells hold that the table does not list: ``"unknown"`` or ``"zero"``.
    sums
        Whether totals add up ``"all"`` cells or the ``"shown"`` ones only; found out unless given.
    percents
        Of percents beside counts, the variables within whose levels they add up to 100; ``"total"``
        if they are of everybody, ``"none"`` if they are to be left out. Unless given, a name or a
        sign says that they are percents, and the arithmetic of what. Not for files of other tools.
    thousands
        What separates thousands, if it is a point: ``"."``.
    sheet, encoding, delimiter
        How to read files; the delimiter is found out unless given.

    Examples
    --------
    >>> import cellbounds as cb
    >>> import pandas
    >>> sheet = pandas.DataFrame(
    ...     {"f": ["x", "7", "9"], "m": ["x", "8", "12"], "Total": ["6", "15", "21"]},
    ...     index=pandas.Index(["North", "South", "Total"], name="region"),
    ... )
    >>> published = cb.read_published(sheet, variables=["region", "sex"])
    >>> cb.attainable(published.release)["North", "f"]
    ValueSet(2)
    """
    if not sources:
        raise InvalidInput("no table; give a file or a frame")
    for name, value, allowed in (
        ("absent", absent, ("unknown", "zero")),
        ("sums", sums, (None, "all", "shown")),
    ):
        if value not in allowed:
            raise InvalidInput(f"{name}={value!r}; give {' or '.join(map(repr, allowed))}")
    if totals is True:
        raise InvalidInput("totals=True; name the total of each variable, as in {'sex': 'Total'}")
    for name, number in (("header", header), ("index", index)):
        if number is not None and (isinstance(number, bool) or number < 1):
            raise InvalidInput(f"{name}={number!r}; give a whole number, 1 or more")
    if base is None and rounding is not None:
        raise InvalidInput(f"rounding={rounding!r} without a base; give base= too")
    law = read_noise(str(noise)) if isinstance(noise, str | Path) else noise
    rule: dict[str, Any] = {"base": base, "rounding": rounding, "below": below, "noise": law}
    Margin(["N"], [None], **rule)  # which says what is wrong with them
    named = {} if totals is False or totals is None else totals
    reading = Reading(
        metadata=metadata,
        hierarchies=hierarchies or {},
        totals={name: str(code) for name, code in named.items()},
        count=count,
    )
    shares: Sequence[str] | bool | None = percents
    if isinstance(percents, str):
        shares = False if percents == "none" else () if percents == "total" else [percents]
    exact = base is None and below is None and law is None
    meaning = Meaning(
        legend_of(marks, thousands),
        hierarchies or {},
        totals,
        base,
        rounding,
        None if law is None else mechanism_of(law, "noise").support,
        absent,
        sums,
        shares if exact else False,
    )
    layout = Layout(header, index, count, None if variables is None else tuple(variables))
    how: dict[str, Any] = {"encoding": encoding, "delimiter": delimiter, "sheet": sheet}
    tables: list[PublishedTable] = []
    for source in sources:
        protected = read_protected(source, reading, tool=tool)
        if protected is None:
            protected = tuple(published_tables(source, meaning, layout, **how))
        else:
            protected = tuple(_with_mark(table, meaning.legend) for table in protected)
        ruled = {key: value for key, value in rule.items() if value is not None}
        tables += [replace(table, **ruled) if ruled else table for table in protected]
    tables = _named_apart(tables)
    return Published(tuple(tables), release_of(tables))
