"""Listing the tables that share some margins, from the definition alone.

Nothing here uses the library: a cell takes every count that its margins leave room for, and the
last cell of a margin's entry takes what is left of it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np


def tables_with_margins(counts: np.ndarray, margins: Iterable[Iterable[int]]) -> np.ndarray:
    """All tables of the same shape that agree with `counts` on these margins (sets of axes)."""
    kept = [tuple(axes) for axes in margins]
    left: dict[tuple, int] = {}
    for cell, axes in itertools.product(np.ndindex(counts.shape), kept):
        entry = (axes, tuple(cell[axis] for axis in axes))
        left[entry] = left.get(entry, 0) + int(counts[cell])
    entries = {
        cell: [(axes, tuple(cell[axis] for axis in axes)) for axes in kept]
        for cell in np.ndindex(counts.shape)
    }
    # The tightest cells first: little is tried in vain.
    order = sorted(entries, key=lambda cell: min(left[entry] for entry in entries[cell]))
    last = {entry: cell for cell in order for entry in entries[cell]}
    table = np.zeros_like(counts)
    found = []

    def fill(place: int) -> None:
        if place == len(order):
            found.append(table.copy())
            return
        cell = order[place]
        room = min(left[entry] for entry in entries[cell])
        least = max((left[entry] for entry in entries[cell] if last[entry] == cell), default=0)
        for count in range(least, room + 1):
            table[cell] = count
            for entry in entries[cell]:
                left[entry] -= count
            fill(place + 1)
            for entry in entries[cell]:
                left[entry] += count

    fill(0)
    return np.array(found)
