"""Published tables as releases: a margin for each combination of levels, totals among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cellbounds.data.domain import Domain, Grouping, Label
from cellbounds.data.hierarchy import Hierarchy
from cellbounds.data.published import UNKNOWN, ZERO, Cell, Entry, PublishedTable
from cellbounds.errors import InvalidInput
from cellbounds.runtime.inputs import check_cells
from cellbounds.statements.margin import Margin
from cellbounds.statements.release import Release
from cellbounds.statements.statement import Statement
from cellbounds.statements.total import Total


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """Cells of one margin of a release, and where they stand in the table.

    Attributes
    ----------
    over
        The variables of the margin: levels of hierarchies; none for the total.
    cells
        Its cells, a code for each of these variables.
    places
        The same cells as the table names them, with totals.
    """

    over: tuple[str, ...]
    cells: tuple[Cell, ...]
    places: tuple[Cell, ...]


def release_of(tables: Sequence[PublishedTable]) -> Release:
    """What tables say together: variables of the same name are the same.

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
    domain = Domain({name: tree.leaves for name, tree in trees.items()}, groupings=groupings)
    statements: list[Statement] = []
    totals: list[Total] = []
    for table in tables:
        for over, cells in _margins(table, trees).items():
            if over:
                statements.append(_margin(table, domain, over, cells))
            else:
                totals += [_total(table, entry) for entry in cells.values() if entry is not None]
    return Release(domain, [*statements, *_joined(totals)])


def questions(table: PublishedTable, tables: Sequence[PublishedTable]) -> list[Question]:
    """The cells of a table that show no number, by the margin of the release they belong to."""
    asked: dict[tuple[str, ...], list[tuple[Cell, Cell]]] = {}
    trees = _trees(tables)
    for place in table.unsure:
        over, cell = _named(table, trees, place)
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
    if tree is whole:
        return
    codes = frozenset(whole.codes)
    for code in (None, *(code for code, _ in tree.parents)):
        if code is not None and code not in codes:
            break
        below = tree.children(code)
        if below and set(below) != set(whole.children(code)):
            break
    else:
        return
    what = "at the top" if code is None else f"of {code!r}"
    raise InvalidInput(
        f"{table.where}: the codes {what} of {name!r} are others than in the other tables; rename "
        "the variable if it is another one, or give its hierarchy (--hierarchy NAME=FILE)"
    )


def _named(
    table: PublishedTable, trees: dict[str, Hierarchy], cell: Cell
) -> tuple[tuple[str, ...], Cell]:
    """The margin that a cell belongs to, and its codes there: totals are summed over."""
    over: list[str] = []
    codes: list[Label] = []
    for name, tree, code in zip(table.variables, table.hierarchies.values(), cell, strict=True):
        if code == tree.total:
            continue
        whole = trees[name]
        names = whole.level_names(name)
        over.append(name if not whole.children(code) else names[whole.depths()[code] - 1])
        codes.append(code)
    return tuple(over), tuple(codes)


def _margins(
    table: PublishedTable, trees: dict[str, Hierarchy]
) -> dict[tuple[str, ...], dict[Cell, Entry]]:
    """The entries by the margin they belong to, the finest first."""
    level_of: dict[str, dict[Label, str | None]] = {}
    for name, tree in table.hierarchies.items():
        whole = trees[name]
        names, depths, leaves = whole.level_names(name), whole.depths(), set(whole.leaves)
        level_of[name] = {
            code: name if code in leaves else names[depths[code] - 1] for code, _ in tree.parents
        }
        if tree.total is not None:
            level_of[name][tree.total] = None
    margins: dict[tuple[str, ...], dict[Cell, Entry]] = {}
    for cell, entry in table.entries.items():
        named = [(level_of[name][code], code) for name, code in zip(level_of, cell, strict=True)]
        over = tuple(level for level, _ in named if level is not None)
        codes = tuple(code for level, code in named if level is not None)
        margins.setdefault(over, {})[codes] = entry
    return dict(sorted(margins.items(), key=lambda item: -len(item[0])))


def _margin(
    table: PublishedTable, domain: Domain, over: tuple[str, ...], cells: dict[Cell, Entry]
) -> Margin:
    margin = domain.project(over)
    check_cells(margin.size, table.where)
    entries = np.full(margin.shape, UNKNOWN, dtype=object)
    for cell, entry in cells.items():
        entries[margin.index(cell)] = 0 if entry == ZERO and table.base is None else entry
    return Margin(over, entries, base=table.base, rounding=table.rounding, noise=table.noise)


def _total(table: PublishedTable, entry: Entry) -> Total:
    """What an entry says of N, by the rules of margins."""
    alone = Margin(["N"], [entry], base=table.base, rounding=table.rounding, noise=table.noise)
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
