"""Exact disclosure: cells of which only one count is attainable, and cells near to that."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from cellbounds.constraints import violations
from cellbounds.domain import Label
from cellbounds.errors import InvalidInput
from cellbounds.releases import Conditional, Release
from cellbounds.results import Attainable, Unbounded, ValueSet
from cellbounds.solve import attainable
from cellbounds.table import Table

__all__ = ["NARROW", "RULE", "SMALL", "Audit", "CellRisk", "audit", "empty_rows"]

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
    def disclosed(self) -> bool | None:
        """Whether only one count is attainable; None if that is not settled."""
        if self.values.settled:
            return self.values.size == 1
        if self.values.possible.size == 1:
            return True
        return None if self.values.known.size in (0, 1) else False

    @property
    def narrow(self) -> bool:
        """Whether very few counts are attainable, but more than one."""
        size = self.values.possible.size
        return not isinstance(size, Unbounded) and 1 < size <= NARROW and self.disclosed is False

    @property
    def unsafe(self) -> bool | None:
        """Whether a small count is given away; never without knowing the count.

        None if it is not settled how many counts are attainable.
        """
        if self.count is None or self.structural or self.empty_row or self.count > SMALL:
            return False
        return self.disclosed


@dataclass(frozen=True, slots=True, eq=False)
class Audit:
    """What publishing a release would reveal about a table."""

    release: Release
    answer: Attainable
    cells: tuple[CellRisk, ...]

    @property
    def verdict(self) -> str:
        """``"safe"``, ``"unsafe"``, or ``"undecided"`` if the budget did not settle it."""
        if any(cell.unsafe for cell in self.cells):
            return "unsafe"
        return "undecided" if any(cell.unsafe is None for cell in self.cells) else "safe"

    @property
    def safe(self) -> bool:
        """Whether it is certain that no cell breaks the rule."""
        return self.verdict == "safe"


def audit(
    table: Table,
    release: Release,
    *,
    over: tuple[str, ...] | None = None,
    seconds: float | None = None,
    executor: Executor | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Audit:
    """Compare a table with everything that could be worked out about it from a release.

    Other arguments as for :func:`cellbounds.bounds`; the table itself is the first witness.

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
    answer = attainable(
        release, over=over, seconds=seconds, executor=executor, start=table, progress=progress
    )
    margin = table.margin(*answer.over)
    empty = empty_rows(release, answer.over)
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


def empty_rows(release: Release, over: tuple[str, ...]) -> np.ndarray:
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
