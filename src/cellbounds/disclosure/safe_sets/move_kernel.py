"""Random moves from table to table, compiled: import it only where they are needed."""

from __future__ import annotations

from typing import Any

import numpy as np

from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.runtime.compilation import compiled, random_unit

__all__ = ["wander"]


@compiled
def _below(state: IntArray, limit: Any) -> Any:
    return np.int64(random_unit(state) * limit)


@compiled
def _odd(place: Any) -> Any:
    """Whether a corner differs from the first one on an odd number of axes."""
    ones = 0
    while place:
        ones ^= place & 1
        place >>= 1
    return ones == 1


@compiled
def wander(
    counts: IntArray,
    least: IntArray,
    most: IntArray,
    closed: BoolArray,
    shape: IntArray,
    strides: IntArray,
    axes: IntArray,
    sizes: IntArray,
    aims: IntArray,
    proposals: int,
    state: IntArray,
) -> None:
    """Take random steps along random cubes, half of them through one of the cells `aims`.

    `counts`, `least` and `most` (flat) change in place; a cube with a `closed` corner stays as it
    is. The axes of a cube are one line of `axes`, of which the first `sizes` count.
    """
    corners = np.zeros(64, dtype=np.int64)
    for _ in range(proposals):
        pick = _below(state, len(axes))
        base = _below(state, len(counts))
        if len(aims) > 0 and _below(state, 2) == 0:
            base = aims[_below(state, len(aims))]
        corners[0] = base
        many = 1
        for place in range(sizes[pick]):
            axis = axes[pick, place]
            here = (base // strides[axis]) % shape[axis]
            other = (here + 1 + _below(state, shape[axis] - 1)) % shape[axis]
            for one in range(many):
                corners[many + one] = corners[one] + (other - here) * strides[axis]
            many *= 2
        up: Any = np.int64(1) << 61
        down: Any = up
        for one in range(many):
            cell = corners[one]
            if closed[cell]:
                up = down = np.int64(0)
            elif _odd(one):
                up = min(up, counts[cell])
            else:
                down = min(down, counts[cell])
        if up + down == 0:
            continue
        step = _below(state, up + down + 1) - down
        for one in range(many):
            cell = corners[one]
            grow, shrink, change = (down, up, -step) if _odd(one) else (up, down, step)
            least[cell] = min(least[cell], counts[cell] - shrink)
            most[cell] = max(most[cell], counts[cell] + grow)
            counts[cell] += change
