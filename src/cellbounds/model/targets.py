"""The sums of cells that a question is about."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellbounds.data.cell_groups import CellGroups, cells_behind
from cellbounds.data.domain import Domain
from cellbounds.runtime.arrays import IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """Sums over the cells behind each cell of the margin asked for, or behind some of them.

    `of` is the sum that each cell of the domain belongs to, or None if some belong to several or
    to none (derived variables). `plain` says that the sums are the cells themselves, in order.
    If only some cells of the margin are asked for, one more sum comes after theirs: nothing is
    behind it, so it is always 0, and the cells that nobody asks about belong to it.
    """

    behind: CellGroups
    of: IntArray | None
    plain: bool

    @property
    def size(self) -> int:
        """How many sums are asked for."""
        return self.behind.size

    def members(self, place: int) -> IntArray:
        """The cells of one sum."""
        return self.behind.cells[self.behind.starts[place] : self.behind.starts[place + 1]]

    def sums(self, counts: IntArray) -> IntArray:
        """All sums of a table."""
        return counts if self.plain else self.behind.sums(counts)


def asked_about(
    domain: Domain, over: tuple[str, ...], cells: tuple[tuple[int, ...], ...] | None = None
) -> Targets:
    """Lay out the sums over a margin, or over some of its cells (given by their positions)."""
    behind = cells_behind(domain, over)
    size = domain.size
    once = len(behind.cells) == size and len(np.unique(behind.cells)) == size
    if cells is not None:
        shape = tuple(len(domain.levels(name)) for name in over)
        chosen = np.ravel_multi_index(tuple(np.array(cells, dtype=np.int64).T), shape)
        behind = _some(behind, chosen)
    of = None
    if once:
        of = np.full(size, behind.size - 1, dtype=np.int64)
        of[behind.cells] = np.repeat(np.arange(behind.size), np.diff(behind.starts))
    single = once and bool((np.diff(behind.starts) == 1).all())
    plain = single and bool((behind.cells == np.arange(size)).all())
    return Targets(behind, of, plain)


def _some(behind: CellGroups, chosen: IntArray) -> CellGroups:
    """The cells behind some cells of a margin, and then behind nothing."""
    widths = np.append(behind.widths[chosen], 0)
    ends = np.cumsum(widths)
    firsts = np.append(behind.starts[chosen], 0)
    within = np.arange(int(ends[-1])) + np.repeat(firsts - ends + widths, widths)
    return CellGroups(np.concatenate([[0], ends]), behind.cells[within])
