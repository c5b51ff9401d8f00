"""Releases over fewer variables: statements say nothing about those that none of them names."""

from __future__ import annotations

from collections.abc import Iterable

from cellbounds.data.domain import Domain
from cellbounds.data.table import Table
from cellbounds.statements.release import Release, Statement
from cellbounds.statements.statements import Total

__all__ = [
    "base_variables",
    "named_variables",
    "part_of_domain",
    "part_of_table",
    "reduced_release",
    "spoken_of",
]


def base_variables(domain: Domain, names: Iterable[str]) -> frozenset[str]:
    """The variables that names stand for, derived ones through what is behind them."""
    found = set()
    for name in names:
        derived = domain.grouping(name)
        found.add(name if derived is None else derived[0])
    return frozenset(found)


def spoken_of(statement: Statement, domain: Domain) -> frozenset[str]:
    """The variables that a statement is about, derived ones through their base."""
    if isinstance(statement, Total):
        return frozenset()
    return base_variables(domain, statement.variables)


def named_variables(release: Release) -> tuple[str, ...]:
    """The variables that some statement is about, in the order of the domain."""
    found: frozenset[str] = frozenset().union(
        *(spoken_of(statement, release.domain) for statement in release.statements)
    )
    return tuple(name for name in release.domain.names if name in found)


def part_of_domain(domain: Domain, variables: Iterable[str]) -> Domain:
    """Some variables in the order of the domain, and the groupings of them."""
    kept = frozenset(variables)
    part = domain.project(name for name in domain.names if name in kept)
    groupings = {name: one for name, one in domain.groupings.items() if one.of in kept}
    return part.with_groupings(groupings) if groupings else part


def part_of_table(table: Table, names: Iterable[str]) -> Table:
    """The margin over the variables that names stand for, in the order of the domain.

    Groupings of these variables stay, so that everything that speaks of those names alone is the
    same of this table as of the whole one.
    """
    kept = base_variables(table.domain, names)
    if len(kept) == len(table.domain.names):
        return table
    part = part_of_domain(table.domain, kept)
    return table.margin(*part.names).with_domain(part)


def reduced_release(release: Release, variables: Iterable[str]) -> Release:
    """The same statements over some variables: at least those that they are about.

    Examples
    --------
    >>> from cellbounds import Domain, Margin, Release
    >>> domain = Domain({"a": ["x", "y"], "b": ["x", "y"], "c": ["x", "y"]})
    >>> release = Release(domain, [Margin(["b"], [3, 4])])
    >>> reduced_release(release, ["b"]).domain
    Domain(b[2])
    """
    return Release(part_of_domain(release.domain, variables), release.statements)
