"""Which cells of the domain stand behind each cell of a margin."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cellbounds.data.domain import Domain
from cellbounds.data.storage import DENSE_LIMIT
from cellbounds.errors import TooMuchWork
from cellbounds.runtime.arrays import IntArray


@dataclass(frozen=True, slots=True, eq=False)
class CellGroups:
    """Cells of the domain behind each cell of a margin: ``cells[starts[k]:starts[k + 1]]``."""

    starts: IntArray
    cells: IntArray

    @property
    def size(self) -> int:
        """How many cells the margin has."""
        return len(self.starts) - 1

    @property
    def widths(self) -> IntArray:
        """How many cells are behind each cell of the margin."""
        return np.diff(self.starts)

    def cells_of(self, place: int) -> IntArray:
        """The cells behind one cell of the margin."""
        return self.cells[self.starts[place] : self.starts[place + 1]]

    def places(self) -> IntArray:
        """Where each cell of the domain stands in `cells`, if it is behind one cell only."""
        positions = np.empty_like(self.cells)
        positions[self.cells] = np.arange(len(self.cells))
        return positions

    def sums(self, counts: IntArray) -> IntArray:
        """Sum counts (flat, over the domain) to the margin; of several tables, row by row."""
        widths, inside = self.widths, counts[..., self.cells]
        if len(widths) and widths[0] and (widths == widths[0]).all():
            return np.asarray(inside.reshape(*counts.shape[:-1], len(widths), -1).sum(axis=-1))
        # Groups that overlap or are empty: differences of running sums.
        running = np.zeros((*counts.shape[:-1], len(self.cells) + 1), dtype=counts.dtype)
        np.cumsum(inside, axis=-1, out=running[..., 1:])
        return np.asarray(running[..., self.starts[1:]] - running[..., self.starts[:-1]])


def cells_behind(domain: Domain, names: tuple[str, ...]) -> CellGroups:
    """The cells (numbered over the domain) behind each cell of a margin.

    Derived variables count through the levels of their groups; a combination of levels that no
    cell has (a county outside the region) has no cells behind it.

    Raises
    ------
    TooMuchWork
        If the domain has too many cells for a list of all of them.
    """
    if domain.size > DENSE_LIMIT:
        raise TooMuchWork(
            f"{domain.size} cells would have to be numbered, which is done up to {DENSE_LIMIT}; "
            "state the release over fewer variables: Release(release.domain.project([...]), "
            "release.statements), or read a table of fewer (variables=[...], --variables)"
        )
    if not any(domain.grouping(name) for name in names):
        axes = list(domain.axes(names))
        rest = [axis for axis in range(len(domain.shape)) if axis not in axes]
        numbered = np.arange(domain.size).reshape(domain.shape).transpose([*axes, *rest])
        lines = math.prod(domain.shape[axis] for axis in axes)
        width = domain.size // lines
        return CellGroups(np.arange(0, domain.size + 1, width), numbered.ravel())
    shared = _shared_out(domain, names)
    if shared is not None:
        widths = np.bincount(shared, minlength=math.prod(len(domain.levels(n)) for n in names))
        return CellGroups(
            np.concatenate([[0], np.cumsum(widths)]), np.argsort(shared, kind="stable")
        )
    positions = np.indices(domain.shape).reshape(len(domain.shape), -1)
    inside = [_inside(domain, name, positions) for name in names]
    shape = [len(levels) for levels in inside]
    members = []
    for index in np.ndindex(*shape):
        held = np.ones(domain.size, dtype=bool)
        for levels, level in zip(inside, index, strict=True):
            held &= levels[level]
        members.append(np.flatnonzero(held))
    starts = np.concatenate([[0], np.cumsum([len(cells) for cells in members])])
    return CellGroups(starts, np.concatenate(members))


def _shared_out(domain: Domain, names: tuple[str, ...]) -> IntArray | None:
    """The cell of a margin that each cell belongs to; None if that may be several, or none."""
    place = np.zeros(domain.shape, dtype=np.int64)
    for name in names:
        levels = group_of_levels(domain, name)
        if levels is None:
            return None
        along = [1] * len(domain.shape)
        along[domain.axis(domain.base(name))] = -1
        place = place * len(domain.levels(name)) + levels.reshape(along)
    return place.ravel()


def group_of_levels(domain: Domain, name: str) -> IntArray | None:
    """The level of a derived variable that each level of the variable behind it belongs to.

    None if the groups overlap or leave levels out. Levels of a variable belong to themselves.

    Examples
    --------
    >>> from cellbounds import Domain, Grouping
    >>> regions = Grouping("county", {"North": ["A", "C"], "South": ["B"]})
    >>> domain = Domain({"county": ["A", "B", "C"]}, groupings={"region": regions})
    >>> group_of_levels(domain, "region")
    array([0, 1, 0])
    """
    derived = domain.grouping(name)
    if derived is None:
        return np.arange(len(domain.levels(name)))
    base, groups = derived
    level_of = np.full(len(domain.levels(base)), -1)
    for group, members in enumerate(groups):
        level_of[list(members)] = group
    once = sum(map(len, groups)) == len(level_of) and (level_of >= 0).all()
    return level_of if once else None


def _inside(domain: Domain, name: str, positions: IntArray) -> list[IntArray]:
    """For each level of a variable, plain or derived: which cells belong to it."""
    derived = domain.grouping(name)
    if derived is None:
        axis = domain.axis(name)
        return [positions[axis] == level for level in range(domain.shape[axis])]
    base, groups = derived
    return [np.isin(positions[domain.axis(base)], group) for group in groups]
