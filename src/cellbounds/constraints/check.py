"""Checking a table against a release, in exact arithmetic."""

from __future__ import annotations

from cellbounds.constraints.system import NO_LOWER, NO_UPPER, System, compile_release
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
    sums = compiled.sums(counts)
    outside = (sums < compiled.lower) & (compiled.lower != NO_LOWER)
    outside |= (sums > compiled.upper) & (compiled.upper != NO_UPPER)
    broken = {int(place) for place in compiled.statement[outside.astype(bool)]}
    broken |= {one.statement for one in compiled.lists if not one.holds(counts)}
    return [release.statements[place].notation for place in sorted(broken)]
