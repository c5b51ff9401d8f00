"""Exact disclosure: cells of which only one count is attainable, and cells near to that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cellbounds.constraints import violations
from cellbounds.domain import Label
from cellbounds.errors import InvalidInput
from cellbounds.releases import Conditional, Release
from cellbounds.results import Attainable, Unbounded, ValueSet
from cellbounds.solve import attainable
from cellbounds.table import Table

__all__ = ["NARROW", "RULE", "SMALL", "Audit", "CellRisk", "audit"]

SMALL = 3
"""A count of at most this is small."""

NARROW = 3
"""A cell with more than one but at most so many attainable counts is narrow."""

RULE = (
    f"unsafe: a count of {SMALL} or less has a single attainable value (sampling zeros count, "
    "structural zeros and rows published as empty do not)"
)


@dataclass(frozen=True, slots=True, eq=False)
class CellRisk:
    """One cell: what is attainable, and, for its owner, what it really holds."""

    labels: tuple[Label, ...]
    values: ValueSet
    count: int | None = None
    structural: bool = False
    empty_row: bool = False

    @property
    def disclosed(self) -> bool:
        """Whether only one count is attainable."""
        return self.values.size == 1

    @property
    def narrow(self) -> bool:
        """Whether very few counts are attainable, but more than one."""
        size = self.values.size
        return not isinstance(size, Unbounded) and 1 < size <= NARROW

    @property
    def unsafe(self) -> bool:
        """Whether a small count is given away; never without knowing the count."""
        if self.count is None or self.structural or self.empty_row:
            return False
        return self.disclosed and self.count <= SMALL


@dataclass(frozen=True, slots=True, eq=False)
class Audit:
    """What publishing a release would reveal about a table."""

    release: Release
    answer: Attainable
    cells: tuple[CellRisk, ...]

    @property
    def safe(self) -> bool:
        """Whether no cell breaks the rule."""
        return not any(cell.unsafe for cell in self.cells)


def audit(
    table: Table,
    release: Release,
    *,
    over: tuple[str, ...] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Audit:
    """Compare a table with everything that could be worked out about it from a release.

    Raises
    ------
    InvalidInput
        If the table contradicts the release.
    """
    broken = violations(release, table)
    if broken:
        raise InvalidInput(
            f"the table contradicts {', '.join(broken)}; audit a release that was made from it"
        )
    answer = attainable(release, over=over)
    margin = table.margin(*answer.over)
    empty = _empty_rows(release, answer.over)
    cells = []
    for done, (index, (labels, values)) in enumerate(
        zip(np.ndindex(margin.domain.shape), answer.items(), strict=True)
    ):
        if progress is not None:
            progress(done, margin.domain.size)
        count = int(margin.counts[index])
        structural = bool(margin.structural[index])
        cells.append(CellRisk(labels, values, count, structural, bool(empty[index])))
    return Audit(release, answer, tuple(cells))


def _empty_rows(release: Release, over: tuple[str, ...]) -> np.ndarray:
    """Cells of rows that the release itself says hold nobody."""
    domain = release.domain.project(over)
    empty = np.zeros(domain.shape, dtype=bool)
    for statement in release.statements:
        if not isinstance(statement, Conditional) or not set(statement.given) <= set(over):
            continue
        shape = [len(release.domain.levels(name)) for name in statement.given]
        said = statement.intervals.zero.reshape(shape)
        axes = [statement.given.index(name) for name in over if name in statement.given]
        spread = [len(domain.levels(n)) if n in statement.given else 1 for n in over]
        empty |= said.transpose(axes).reshape(spread)
    return empty
