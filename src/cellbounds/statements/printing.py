"""Releases as tables that are printed: the inverse of :mod:`cellbounds.statements.published`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cellbounds.data.domain import Domain, Label
from cellbounds.data.hierarchy import Hierarchy
from cellbounds.data.published import UNKNOWN, Cell, Entry, PublishedTable
from cellbounds.errors import InvalidInput
from cellbounds.statements.margin import Margin
from cellbounds.statements.release import Release
from cellbounds.statements.total import Total

TOTAL = "Total"
"""The code of totals that a release sums over."""


def printed_table(release: Release, *, where: str = "the release") -> PublishedTable:
    """A release of margins as one table: levels above each other, and totals, are codes.

    Derived variables are levels of their variable if they share out everybody and stand above
    each other. Rates and margins with different rules have no place in one table.

    Examples
    --------
    >>> import cellbounds as cb
    >>> table = cb.Table(cb.Domain({"sex": ["f", "m"]}), [2, 3])
    >>> printed_table(cb.publish(table, "[sex]")).entries
    {('f',): 2, ('m',): 3, ('Total',): 5}
    """
    margins = [statement for statement in release.statements if isinstance(statement, Margin)]
    totals = [statement for statement in release.statements if isinstance(statement, Total)]
    others = [
        statement
        for statement in release.statements
        if statement.published and not isinstance(statement, Margin | Total)
    ]
    if others or not margins:
        what = others[0].notation if others else "nothing but the total"
        raise InvalidInput(
            f"{where} publishes {what}; a printed table has margins: publish some, or write the "
            "release as a file"
        )
    rules = {(each.base, each.rounding, each.below, repr(each.noise)) for each in margins}
    if len(rules) > 1:
        raise InvalidInput(
            f"{where} has margins with different rules of rounding or noise; write each as a table "
            "of its own"
        )
    first = margins[0]
    trees = _trees(release.domain, margins, bool(totals), where)
    entries: dict[Cell, Entry] = {}
    for margin in margins:
        cells = release.domain.project(margin.variables).cells()
        for codes, entry in zip(cells, margin.entries.ravel().tolist(), strict=True):
            cell = _cell(release.domain, trees, margin.variables, codes)
            entries[cell] = _narrower(entries.get(cell, UNKNOWN), entry)
    top = tuple(tree.total for tree in trees.values())
    for total in totals if None not in top else ():
        text = f"{total.lower}-{total.upper}" if total.upper is not None else f">={total.lower}"
        exact = total.upper == total.lower and first.base is None and first.noise is None
        entries[top] = total.lower if exact else text
    return PublishedTable(
        where=where,
        hierarchies=trees,
        entries=entries,
        base=first.base,
        rounding=first.rounding,
        below=first.below,
        noise=first.noise,
    )


def _narrower(old: Entry, new: Entry) -> Entry:
    """Of two entries of a cell, the one that shows a number."""
    return old if new is None and old != UNKNOWN else new


def _trees(
    domain: Domain, margins: Sequence[Margin], total: bool, where: str
) -> dict[str, Hierarchy]:
    """The hierarchy of each variable that a margin names, from the derived variables of it."""
    named = [{domain.base(name) for name in margin.variables} for margin in margins]
    trees: dict[str, Hierarchy] = {}
    for variable in domain.names:
        if not any(variable in names for names in named):
            continue
        leaves = domain.levels(variable)
        derived = {
            name: grouping
            for name, grouping in domain.groupings.items()
            if grouping.of == variable and any(name in margin.variables for margin in margins)
        }
        columns: dict[str, Sequence[Label]] = {}
        for name, grouping in sorted(derived.items(), key=lambda item: len(item[1].levels)):
            group_of = {leaf: code for code, group in grouping.levels.items() for leaf in group}
            if set(group_of) != set(leaves) or sum(map(len, grouping.levels.values())) > len(
                leaves
            ):
                raise InvalidInput(
                    f"{where}: {name!r} does not share out all levels of {variable!r}, and has no "
                    "place in a printed hierarchy"
                )
            columns[name] = [group_of[leaf] for leaf in leaves]
        summed = total or any(variable not in names for names in named)
        label = TOTAL if summed else None
        trees[variable] = Hierarchy.from_columns({**columns, variable: leaves}, total=label)
    return trees


def _cell(
    domain: Domain,
    trees: Mapping[str, Hierarchy],
    variables: Sequence[str],
    codes: Sequence[Label],
) -> Cell:
    at = {domain.base(name): code for name, code in zip(variables, codes, strict=True)}
    return tuple(at.get(name, tree.total) for name, tree in trees.items())
