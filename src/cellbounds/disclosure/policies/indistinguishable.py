"""Cells that a release cannot tell apart."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from cellbounds.data.domain import Domain
from cellbounds.errors import InvalidInput
from cellbounds.model.constraints import System, compile_release
from cellbounds.runtime.arrays import IntArray
from cellbounds.statements import Release

__all__ = ["alike_cells"]


def alike_cells(release: Release, over: tuple[str, ...]) -> IntArray:
    """A number for each cell of a margin; cells with the same number are alike.

    Two cells of the table are alike if they stand in the same sums with the same coefficients:
    swapping their counts makes a consistent table of each consistent table. So are two cells of a
    margin whose parts are alike one by one. What can be worked out about all cells from being in
    one of them is therefore the same as from being in the other, with the two swapped.

    Examples
    --------
    >>> import cellbounds as cb
    >>> release = cb.publish(cb.example_table("mp3"), "[gender]")
    >>> alike_cells(release, ("gender", "mp3"))
    array([[0, 0],
           [1, 1]])
    """
    # Cells that differ in other variables only stand in the same sums.
    about = {*release.named_variables, *map(release.domain.base, over)}
    release = release.restricted(about)
    domain = release.domain
    shape = domain.project(over).shape
    places = _places(domain, over)
    if places is None:  # cells that share people cannot be swapped: each is like itself only
        return np.arange(int(np.prod(shape))).reshape(shape)
    columns = _numbered(_columns(compile_release(release), domain.size))
    parts: list[list[int]] = [[] for _ in range(int(np.prod(shape)))]
    for column, place in zip(columns, places.tolist(), strict=True):
        parts[place].append(column)
    return np.array(_numbered([tuple(sorted(one)) for one in parts])).reshape(shape)


def _places(domain: Domain, over: tuple[str, ...]) -> IntArray | None:
    """The cell of a margin that each cell of the table is part of; None if it is not just one."""
    levels: list[IntArray] = []
    index = np.indices(domain.shape).reshape(len(domain.shape), -1)
    for name in over:
        found = domain.grouping(name)
        if found is None:
            levels.append(index[domain.axis(name)])
            continue
        of, groups = found
        try:
            domain.check_partition(name)
        except InvalidInput:
            return None
        level = np.zeros(len(domain.levels(of)), dtype=np.int64)
        for place, members in enumerate(groups):
            level[list(members)] = place
        levels.append(level[index[domain.axis(of)]])
    return np.asarray(np.ravel_multi_index(tuple(levels), domain.project(over).shape))


def _columns(system: System, size: int) -> list[Hashable]:
    """The sums that each cell stands in, and how."""
    found: list[list[tuple[int, int]]] = [[] for _ in range(size)]
    rows = np.repeat(np.arange(system.row_count), np.diff(system.starts))
    for cell, row, coefficient in zip(
        system.cells.tolist(), rows.tolist(), system.coefficients.tolist(), strict=True
    ):
        found[cell].append((row, coefficient))
    for place, one in enumerate(system.lists):
        for cell in one.cells.tolist():
            found[cell].append((-1 - place, 1))
    return [tuple(one) for one in found]


def _numbered(kinds: Sequence[Hashable]) -> list[int]:
    """Numbers in the order of first appearance."""
    seen: dict[Hashable, int] = {}
    return [seen.setdefault(kind, len(seen)) for kind in kinds]
