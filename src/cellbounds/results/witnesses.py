"""Every witness is checked in exact arithmetic before anybody sees it."""

from __future__ import annotations

from cellbounds.data.table import Table
from cellbounds.errors import CellboundsError
from cellbounds.model.constraints import System, violations
from cellbounds.statements import Release

__all__ = ["checked"]


def checked(
    release: Release,
    table: Table,
    over: tuple[str, ...],
    index: tuple[int, ...],
    value: int,
    system: System | None = None,
) -> Table:
    """The table, if it is consistent and holds `value` in the cell asked for.

    Raises
    ------
    CellboundsError
        If not: a method went wrong.
    """
    broken = violations(release, table, system)
    held = table.margin(*over).at(index) if index else table.total
    if broken or held != value:
        raise CellboundsError(
            f"a witness failed its check ({', '.join(broken) or 'another count'}); please report "
            "this with the release"
        )
    return table
