"""Checking a table against a release, in exact arithmetic."""

from __future__ import annotations

from cellbounds.arrays import SAFE
from cellbounds.constraints.system import System, compile_release
from cellbounds.errors import InvalidInput
from cellbounds.releases import Release
from cellbounds.table import Table

__all__ = ["violations"]


def violations(release: Release, table: Table, system: System | None = None) -> list[str]:
    """The statements that a table contradicts, in the notation; empty if it is consistent.

    Examples
    --------
    >>> from cellbounds import Total, Release, example_table
    >>> table = example_table("mp3")
    >>> violations(Release(table.domain, [Total(49)]), table)
    ['N=49']
    """
    if table.domain != release.domain:
        raise InvalidInput(
            f"the table is over {table.domain!r}, the release over {release.domain!r}; they must "
            "have the same variables and levels in the same order"
        )
    compiled = system or compile_release(release)
    counts = table.counts.ravel()
    widest = max(
        (int(abs(one.coefficients).max(initial=0)) for one in compiled.inequalities), default=0
    )
    if widest * table.total >= SAFE:
        counts = counts.astype(object)
    broken = {one.statement for one in compiled.inequalities if not one.holds(counts)}
    broken |= {one.statement for one in compiled.lists if not one.holds(counts)}
    return [release.statements[place].notation for place in sorted(broken)]
