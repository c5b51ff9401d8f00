"""The sums of cells that a question is about."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellbounds.arrays import IntArray
from cellbounds.constraints import Behind, cells_behind
from cellbounds.domain import Domain

__all__ = ["Asked", "asked_about"]


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """Sums over the cells behind each cell of the margin asked for.

    `of` is the sum that each cell of the domain belongs to, or None if some belong to several or
    to none (derived variables). `plain` says that the sums are the cells themselves, in order.
    """

    behind: Behind
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


def asked_about(domain: Domain, over: tuple[str, ...]) -> Asked:
    """Lay out the sums over a margin."""
    behind = cells_behind(domain, over)
    size = domain.size
    once = len(behind.cells) == size and len(np.unique(behind.cells)) == size
    of = None
    if once:
        of = np.empty(size, dtype=np.int64)
        of[behind.cells] = np.repeat(np.arange(behind.size), np.diff(behind.starts))
    single = once and bool((np.diff(behind.starts) == 1).all())
    plain = single and bool((behind.cells == np.arange(size)).all())
    return Asked(behind, of, plain)
