"""Checking a table against a release, in exact arithmetic."""

from __future__ import annotations

from cellbounds.data.domain import Domain
from cellbounds.data.table import Table
from cellbounds.errors import InvalidInput
from cellbounds.model.constraints.system import NO_LOWER, NO_UPPER, System, compile_release
from cellbounds.statements import Release, Statement, Total
from cellbounds.statements.restriction import part_of_domain, part_of_table, spoken_of

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
    if system is not None:
        broken = _broken(system, table)
    else:
        broken = {
            place
            for place, statement in enumerate(release.statements)
            if not _holds(statement, release.domain, table)
        }
    return [release.statements[place].notation for place in sorted(broken)]


def _holds(statement: Statement, domain: Domain, table: Table) -> bool:
    """Check one statement on the margin that it is about: it says nothing of other variables."""
    if isinstance(statement, Total):
        total = table.total
        return statement.lower <= total and (statement.upper is None or total <= statement.upper)
    margin = part_of_table(table, spoken_of(statement, domain))
    alone = Release(part_of_domain(domain, margin.domain.names), [statement])
    return not _broken(compile_release(alone), margin)


def _broken(system: System, table: Table) -> set[int]:
    """The places of statements that a table contradicts."""
    counts = table.counts.ravel()
    sums = system.sums(counts)
    outside = (sums < system.lower) & (system.lower != NO_LOWER)
    outside |= (sums > system.upper) & (system.upper != NO_UPPER)
    broken = {int(place) for place in system.statement[outside.astype(bool)]}
    return broken | {one.statement for one in system.lists if not one.holds(counts)}
