"""Crosstabs of their owner: every count is there, and totals are left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cellbounds.data.crosstabs import Layout, SheetTable, tables_in
from cellbounds.data.domain import Domain, Label
from cellbounds.data.formats.grids import grids_of
from cellbounds.data.marks import Legend
from cellbounds.data.published import ZERO, PublishedTable
from cellbounds.data.table import Table
from cellbounds.data.understanding import Meaning, understand
from cellbounds.errors import InvalidInput
from cellbounds.runtime.inputs import check_cells

LARGEST, MOST_ROWS = 2**22, 10_000
"""Bytes of a file and rows of a frame that are looked at: what is larger is no crosstab, but
records whose reader forgot to say so."""


def crosstab_table(
    source: Any,
    *,
    variables: Sequence[str] | None,
    hierarchies: Mapping[str, Any],
    totals: Mapping[str, Label] | bool | None,
    encoding: str,
    delimiter: str,
    sheet: str | None,
) -> Table | None:
    """The table of a crosstab; None if the source holds something else, or several of them.

    As many `variables` as it has are names for them, if they are not its own.
    """
    how: dict[str, Any] = {"encoding": encoding, "delimiter": delimiter, "sheet": sheet}
    found = _crosstab(source, Layout(), **how)
    if variables is not None and (found is None or not {*variables} <= {*found.variables}):
        named = _crosstab(source, Layout(variables=tuple(variables)), **how)
        if named is not None:
            found, variables = named, None
    if found is None:
        return None
    published = understand(found, Meaning(hierarchies=hierarchies, totals=totals, percents=False))
    _check_complete(published)
    trees = published.hierarchies
    domain = Domain({name: tree.leaves for name, tree in trees.items()})
    for name, tree in trees.items():
        domain = domain.with_groupings(tree.groupings(name))
    check_cells(domain.size, published.where)
    counts = np.zeros(domain.shape, dtype=object)
    leaves = [frozenset(tree.leaves) for tree in trees.values()]
    for cell, entry in published.entries.items():
        if all(code in some for code, some in zip(cell, leaves, strict=True)):
            counts[domain.index(cell)] = 0 if entry == ZERO else entry
    table = Table(domain, counts)
    return table if variables is None else table.margin(variables)


def _crosstab(
    source: Any, layout: Layout, *, encoding: str, delimiter: str, sheet: str | None
) -> SheetTable | None:
    """The only table of a source, if it is a crosstab of figures."""
    if isinstance(source, str | Path):
        if not Path(source).is_file() or Path(source).stat().st_size > LARGEST:
            return None
    elif not hasattr(source, "columns") or getattr(source, "shape", [LARGEST])[0] > MOST_ROWS:
        return None
    legend = Legend()
    try:
        known = None if delimiter == "," else delimiter
        grids = grids_of(source, encoding=encoding, delimiter=known, sheet=sheet)
        tables = [table for grid in grids for table in tables_in(grid, legend, layout)]
    except InvalidInput:  # whoever reads it otherwise says what is wrong
        return None
    if len(tables) != 1 or tables[0].tidy:
        return None
    figures = all(legend.is_figure(text) for text in tables[0].cells.values() if text.strip())
    return tables[0] if figures else None


def _check_complete(table: PublishedTable) -> None:
    for cell, entry in table.entries.items():
        if not isinstance(entry, int) and entry != ZERO:
            raise InvalidInput(
                f"{table.where}: the cell {cell} shows no count; a table of its owner has all of "
                "them: give them, or read it as a published table (read_published, `cellbounds "
                "attack`)"
            )
