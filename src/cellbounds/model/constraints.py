"""What a release implies: sums with integer coefficients over integer cells, between limits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from cellbounds.data.cell_groups import cells_behind
from cellbounds.data.table import Table
from cellbounds.errors import InvalidInput
from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.statements import Release, Statement
from cellbounds.statements.inequalities import (
    LinearRows,
    ValueList,
    bounded_sums,
    combined_bounds,
    outside,
    row_sums,
)


@dataclass(frozen=True, slots=True, eq=False)
class System:
    """All constraints of a release; cells are numbered over the domain, all at least zero.

    Row k is the sum of ``coefficients * counts[cells]`` over ``starts[k]:starts[k + 1]``, between
    ``lower[k]`` and ``upper[k]`` (NO_LOWER, NO_UPPER: no limit). `statement` and `figure` say
    where a row is from; `about_sum` marks rows about the sum of a row of rates (it holds somebody,
    or nobody). Arrays are of Python integers where int64 would not do.
    """

    release: Release
    starts: IntArray
    cells: IntArray
    coefficients: IntArray
    lower: IntArray
    upper: IntArray
    statement: IntArray
    figure: IntArray
    about_sum: BoolArray
    lists: tuple[ValueList, ...]

    @property
    def row_count(self) -> int:
        """How many rows there are."""
        return len(self.lower)

    def sums(self, counts: IntArray) -> IntArray:
        """The sum of each row for counts (flat, over the domain)."""
        return row_sums(self.coefficients, self.cells, self.starts[:-1], counts)

    def broken(self, counts: IntArray) -> set[int]:
        """The places of statements that counts (flat, over the domain) contradict."""
        beyond = outside(self.sums(counts), self.lower, self.upper)
        broken = {int(place) for place in self.statement[beyond]}
        return broken | {listed.statement for listed in self.lists if not listed.holds(counts)}


def compile_release(release: Release, *, closed: bool = False) -> System:
    """Compile every statement of a release.

    `closed` takes open ends for closed ones: the relaxation to real numbers, whose extremes need
    not be attained. A list of values stands for all that lies between the smallest and the largest
    of those that the other bounds and lists of the same count, and N, allow.

    Raises
    ------
    InconsistentRelease
        If `closed` and a list is left without any value.
    """
    blocks = list(_list_ends(release)) if closed else []
    lists: list[ValueList] = []
    for place, statement in enumerate(release.statements):
        for part in statement.inequalities(release.domain, closed=closed):
            if isinstance(part, ValueList):
                lists.append(replace(part, statement=place))
            else:
                blocks.append((place, part))
    return _joined(release, blocks, tuple(lists))


def _list_ends(release: Release) -> Iterator[tuple[int, LinearRows]]:
    """The ends of lists of values, after all that is said of the same counts."""
    domain = release.domain
    alike: dict[frozenset[str], list[tuple[int, Statement]]] = {}
    for place, statement in enumerate(release.statements):
        if statement.bounds_counts:
            alike.setdefault(frozenset(statement.variables), []).append((place, statement))
    for group in alike.values():
        if any(statement.lists_values for _, statement in group):
            place, first = group[0]
            known = combined_bounds([statement for _, statement in group], domain, first.variables)
            known = known.within(release.total.upper)
            behind = cells_behind(domain, first.variables)
            for rows in bounded_sums(behind, known.lower.ravel(), known.upper.ravel()):
                yield place, rows


def _joined(
    release: Release, blocks: list[tuple[int, LinearRows]], lists: tuple[ValueList, ...]
) -> System:
    def column(parts: list[IntArray]) -> IntArray:
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)

    def joined(name: str) -> IntArray:
        return column([getattr(rows, name) for _, rows in blocks])

    about_sum = [
        np.zeros(len(rows.widths), dtype=bool) if rows.about_sum is None else rows.about_sum
        for _, rows in blocks
    ]
    return System(
        release=release,
        starts=np.concatenate([[0], np.cumsum(joined("widths"))]).astype(np.int64),
        cells=joined("cells"),
        coefficients=joined("coefficients"),
        lower=joined("lower"),
        upper=joined("upper"),
        statement=column([np.full(len(rows.widths), place) for place, rows in blocks]),
        figure=joined("figure"),
        about_sum=column(about_sum).astype(bool),
        lists=lists,
    )


def violations(table: Table, release: Release, system: System | None = None) -> list[str]:
    """The statements that a table contradicts, in the notation; empty if it is consistent.

    Examples
    --------
    >>> from cellbounds import Release, Total, datasets
    >>> table = datasets.read("mp3")
    >>> violations(table, Release(table.domain, [Total(49)]))
    ['N=49']
    """
    if not (isinstance(table, Table) and isinstance(release, Release)):
        raise InvalidInput(f"violations of {table!r} and {release!r}; give a Table, then a Release")
    if table.domain != release.domain:
        raise InvalidInput(
            f"the table is over {table.domain!r}, the release over {release.domain!r}; they must "
            "have the same variables and levels in the same order"
        )
    if system is not None:
        broken = system.broken(table.counts.ravel())
        return [release.statements[place].notation for place in sorted(broken)]
    return [
        statement.notation
        for statement in release.statements
        if not statement.holds(release.domain, table)
    ]
