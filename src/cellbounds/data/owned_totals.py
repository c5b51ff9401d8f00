"""Totals and hierarchies in the tables of their owner: totals that add up are left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cellbounds.data.domain import Domain, Grouping, Label
from cellbounds.data.hierarchy import Hierarchy
from cellbounds.data.table import Table
from cellbounds.data.totals import (
    Lines,
    check_nested,
    check_told,
    families,
    hierarchy_of,
    names_a_total,
)
from cellbounds.errors import InvalidInput

MOST_LISTED = 50_000
"""Cells of a table that are looked at one by one."""


def owned_table(
    table: Table,
    where: str,
    names: Sequence[str],
    hierarchies: Mapping[str, Any],
    totals: Mapping[str, Label] | bool | None,
) -> Table:
    """The margin of some variables, with the levels of hierarchies, without totals.

    Variables that are summed over lose their totals first, or people would count twice.
    """
    others = [name for name in table.domain.names if name not in names]
    totalled = [name for name in others if any(map(_says_total, table.domain.levels(name)))]
    for name in totalled if totals is not False else ():
        table = without_totals(table, where, totals, [name])
    if tuple(names) != table.domain.names:
        table = table.margin(names)
    table = with_hierarchies(table, where, hierarchies)
    return without_totals(table, where, totals, table.domain.names)


def without_totals(
    table: Table, where: str, totals: Mapping[str, Label] | bool | None, names: Sequence[str]
) -> Table:
    """The table without levels of these variables that are totals of the others.

    A level is one if its name says so and it is the sum of the others on every line; if only one
    of these is so, it is refused, as nobody wants people counted twice. `totals` names them, or is
    False if there are none.
    """
    given = totals if isinstance(totals, Mapping) else {}
    check_told(where, "a total of", given, table.domain.names)
    if totals is False:
        return table
    for name in names:
        levels = table.domain.levels(name)
        total = given[name] if name in given else _named(levels, where, name)
        if total is None:
            _check_unnamed(table, name, where)
            continue
        table.domain.position(name, total)  # which says what is wrong with it
        parts = [level for level in levels if level != total]
        if not parts:
            continue  # all people have the same label, whatever it says
        lines, differing = _compared(table, name, total, parts)
        if differing is not None or not lines:
            cell = "it is 0 everywhere" if differing is None else f"the cell {differing} is not"
            raise InvalidInput(
                f"{where}: {total!r} of {name!r} is called a total, but {cell}, as the sum of the "
                "other levels would be; correct the table, give the hierarchy of its codes "
                f"(hierarchies={{{name!r}: ...}}, --hierarchy {name}=FILE), or totals=False "
                "(--no-totals) if it is an ordinary level"
            )
        table = _restricted(table, name, parts)
    return table


def with_hierarchies(table: Table, where: str, hierarchies: Mapping[str, Any]) -> Table:
    """The table with the levels of hierarchies as derived variables.

    Codes above others, if the table lists any, are checked and left out.
    """
    for name, given in hierarchies.items():
        if isinstance(given, list | tuple):
            table, tree = _from_columns(table, where, name, given)
        else:
            check_told(where, "a hierarchy of", [name], table.domain.names)
            table, tree = _of_codes(table, where, name, given)
        table = _restricted(table, name, tree.leaves)
        table = table.with_domain(table.domain.with_groupings(tree.groupings(name)))
    return table


def _says_total(level: Label) -> bool:
    return bool(str(level).strip()) and names_a_total(level)


def _named(levels: Sequence[Label], where: str, name: str) -> Label | None:
    named = [level for level in levels if _says_total(level)]
    if len(named) > 1:
        raise InvalidInput(
            f"{where}: {', '.join(map(repr, named))} of {name!r} are all called totals; say which "
            f"one is the total of all others: totals={{{name!r}: ...}} (--totals {name}=LABEL)"
        )
    return named[0] if named else None


def _check_unnamed(table: Table, name: str, where: str) -> None:
    """Refuse a level that adds up like a total and is not called one.

    Only the first and the last are looked at, where totals stand, and in three levels or more: two
    that are equal are no sum.
    """
    levels = table.domain.levels(name)
    if len(levels) < 3:
        return
    sums = table.margin([name]).counts.tolist()
    for place in (0, len(levels) - 1) if len(table.domain.names) > 1 else ():
        if sums[place] == 0 or 2 * sums[place] != sum(sums):
            continue
        parts = [level for level in levels if level != levels[place]]
        lines, differing = _compared(table, name, levels[place], parts)
        if differing is None and lines > 1:
            raise InvalidInput(
                f"{where}: {levels[place]!r} of {name!r} is the sum of the other levels on every "
                "line, but its name does not say that it is a total; say so: "
                f"totals={{{name!r}: {levels[place]!r}}} (--totals {name}={levels[place]}), or "
                "totals=False (--no-totals)"
            )
    _check_nested(table, name, where)


def _check_nested(table: Table, name: str, where: str) -> None:
    """Refuse codes that are sums of others, where a table lists few cells."""
    places, counts = table.cells()
    if len(counts) > MOST_LISTED:
        return
    domain = table.domain
    entries = {
        domain.labels(place): count
        for place, count in zip(places.tolist(), counts.tolist(), strict=True)
    }
    lines = Lines.along(domain.names, domain.axis(name), entries)
    check_nested(lines, domain.levels(name), where, absent=0)


def _compared(
    table: Table, name: str, total: Label, parts: Sequence[Label]
) -> tuple[int, tuple[Label, ...] | None]:
    """On how many lines somebody is, and the first cell of a total that is not its sum."""
    domain = table.domain
    both = _unused(domain, "sum")
    grouping = Grouping(name, {"total": [total], "parts": parts})
    grown = table.with_domain(domain.with_groupings({both: grouping}))
    order = [both if one == name else one for one in domain.names]
    where, counts = grown.margin(order).cells()
    axis = domain.axis(name)
    sides = np.array([1, -1])[where[:, axis]]
    lines, inverse = np.unique(np.delete(where, axis, axis=1), axis=0, return_inverse=True)
    gaps = np.zeros(len(lines), dtype=object)
    np.add.at(gaps, inverse.ravel(), counts.astype(object) * sides)
    odd = np.flatnonzero(gaps != 0)
    if not len(odd):
        return len(lines), None
    index = [int(place) for place in lines[odd[0]]]
    rest = [domain.levels(one) for one in domain.names if one != name]
    labels = [levels[place] for levels, place in zip(rest, index, strict=True)]
    return len(lines), (*labels[:axis], total, *labels[axis:])


def _restricted(table: Table, name: str, kept: Sequence[Label]) -> Table:
    """The table of some levels of a variable."""
    domain = table.domain
    if tuple(kept) == domain.levels(name):
        return table
    some = _unused(domain, name)
    grouping = Grouping(name, {level: [level] for level in kept})
    grown = table.with_domain(domain.with_groupings({some: grouping}))
    margin = grown.margin([some if one == name else one for one in domain.names])
    levels = {one: kept if one == name else domain.levels(one) for one in domain.names}
    still = {key: group for key, group in domain.groupings.items() if group.of != name}
    return margin.with_domain(Domain(levels, groupings=still))


def _unused(domain: Domain, name: str) -> str:
    while name in domain or name in domain.groupings:
        name += "+"
    return name


def _from_columns(
    table: Table, where: str, name: str, columns: Sequence[str]
) -> tuple[Table, Hierarchy]:
    """A hierarchy from nested columns, which become levels of the last one of them."""
    if not columns or columns[-1] != name:
        raise InvalidInput(
            f"the hierarchy of {name!r} is {list(columns)!r}; give the columns from the coarsest "
            f"to the finest, which is {name!r} itself"
        )
    nested = table.margin(columns)
    places, _ = nested.cells()
    labels = [nested.domain.labels(row) for row in places.tolist()]
    tree = Hierarchy.from_columns(dict(zip(columns, zip(*labels, strict=True), strict=True)))
    if set(tree.leaves) != {line[-1] for line in labels}:
        raise InvalidInput(f"{where}: codes of {name!r} are also those of a level above it")
    outer = set(columns[:-1])
    kept = [one for one in table.domain.names if one not in outer]
    groupings = {
        key: group for key, group in table.domain.groupings.items() if group.of not in outer
    }
    margin = table.margin(kept)
    return margin.with_domain(margin.domain.with_groupings(groupings)), tree


def _of_codes(table: Table, where: str, name: str, given: Any) -> tuple[Table, Hierarchy]:
    """A hierarchy of the codes of a variable, some of which are totals of others."""
    levels = table.domain.levels(name)
    tree = hierarchy_of(given, levels)
    known = {code for code, _ in tree.parents}
    others = [level for level in levels if level not in known]
    if len(others) == 1 and (others[0] == tree.total or names_a_total(others[0])):
        tree = tree.with_total(others[0])
    elif others:
        raise InvalidInput(
            f"{where}: the code {others[0]!r} of {name!r} is not in its hierarchy; add it"
        )
    tree = tree.restricted([level for level in levels if level != tree.total])
    for code, parts in families(tree):
        if code not in levels:
            continue
        below = [leaf for leaf in tree.leaves_below(code) if leaf in levels]
        _, differing = _compared(table, name, code, below)
        if differing is not None:
            raise InvalidInput(
                f"{where}: the cell {differing} differs from the sum of the codes below it "
                f"({', '.join(map(str, parts[:4]))}, ...); correct the table or the hierarchy"
            )
    return table, tree
