"""Walks over integer tables by hypercube moves, compiled.

A move takes a set of axes that no statement covers as a whole, two levels on each of them, and one
setting of the others; it adds 1 on the even corners and takes 1 from the odd ones. Every statement
misses one of the axes, so along that axis what is added is taken away again: no published sum
changes. Walks therefore stay among the consistent tables as long as the cells stay in bounds.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from cellbounds.arrays import IntArray

__all__ = ["walk"]


@njit(cache=True)  # type: ignore[misc]
def _below(state: IntArray, limit: int) -> int:
    """A random number below `limit` (xorshift64*; numba's own generator is three times slower)."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return np.int64((x * np.uint64(2685821657736338717)) >> np.uint64(33)) % limit


@njit(cache=True)  # type: ignore[misc]
def walk(
    counts: IntArray,
    lower: IntArray,
    upper: IntArray,
    shape: IntArray,
    strides: IntArray,
    axes: IntArray,
    dimensions: IntArray,
    asked: IntArray,
    sums: IntArray,
    members: IntArray,
    target: int,
    sign: int,
    goal: int,
    least_goal: IntArray,
    most_goal: IntArray,
    proposals: int,
    through: int,
    state: IntArray,
    snapshots: IntArray,
    events: IntArray,
) -> tuple[int, int, int]:
    """Push the sum `target` up (sign 1) or down (sign -1) towards `goal`.

    `counts` and `sums` change in place. `asked` is the sum that each cell belongs to, `members`
    the cells of the target, `through` how many of 100 proposals go through one of them. When some
    other sum reaches its goal (`least_goal`, `most_goal`; changed in place to values out of
    reach once met) the table is kept in `snapshots` and (sum, side, snapshot) in `events`.
    Returns the proposals left, snapshots kept and events noted; full buffers end the walk early.
    """
    rank = len(shape)
    corner = np.zeros(64, dtype=np.int64)
    changes = np.zeros(64, dtype=np.int64)
    step = np.zeros(rank, dtype=np.int64)
    kept = 0
    noted = 0
    left = proposals
    while left > 0:
        left -= 1
        if sums[target] * sign >= goal * sign:
            break
        if kept == len(snapshots) or noted + 64 >= len(events):
            break
        pick = _below(state, len(axes))
        size = dimensions[pick]
        aimed = _below(state, 100) < through
        base = 0
        if aimed:
            base = members[_below(state, len(members))]
        else:
            base = _below(state, len(counts))
        direction = 1
        if aimed:
            direction = sign
        elif _below(state, 2):
            direction = -1
        possible = True
        for d in range(size):
            axis = axes[pick, d]
            levels = shape[axis]
            if levels < 2:
                possible = False
                break
            here = (base // strides[axis]) % levels
            other = _below(state, levels - 1)
            if other >= here:
                other += 1
            step[d] = (other - here) * strides[axis]
        if not possible:
            continue
        count = 1 << size
        gained = 0
        room = np.int64(1) << 62
        for k in range(count):
            cell = base
            change = direction
            for d in range(size):
                if (k >> d) & 1:
                    cell += step[d]
                    change = -change
            if change > 0:
                room = min(room, upper[cell] - counts[cell])
            else:
                room = min(room, counts[cell] - lower[cell])
            if room == 0:
                break
            if asked[cell] == target:
                gained += change
            corner[k] = cell
            changes[k] = change
        if room == 0 or gained * sign < 0:
            continue
        # As far as the move goes towards the goal, any part of the way elsewhere.
        if gained != 0:
            often = min(room, max(1, (goal - sums[target]) // gained))
        else:
            often = 1 + _below(state, room)
        for k in range(count):
            change = changes[k] * often
            counts[corner[k]] += change
            sums[asked[corner[k]]] += change
        met = False
        for k in range(count):
            one = asked[corner[k]]
            if sums[one] <= least_goal[one]:
                least_goal[one] = -1
                events[noted, 0] = one
                events[noted, 1] = 0
                events[noted, 2] = kept
                noted += 1
                met = True
            if sums[one] >= most_goal[one]:
                most_goal[one] = np.int64(1) << 62
                events[noted, 0] = one
                events[noted, 1] = 1
                events[noted, 2] = kept
                noted += 1
                met = True
        if met:
            snapshots[kept] = counts
            kept += 1
    return left, kept, noted


@njit(cache=True)  # type: ignore[misc]
def longest_move(
    counts: IntArray,
    lower: IntArray,
    upper: IntArray,
    shape: IntArray,
    strides: IntArray,
    axes: IntArray,
    dimensions: IntArray,
    asked: IntArray,
    target: int,
    base: int,
    best: IntArray,
) -> int:
    """The move through `base` that raises the sum `target` by one and can be made most often.

    Fills `best` with the corners (even ones first are raised, by parity of their number) and
    returns how often the move can be made; 0 if there is none.
    """
    corner = np.zeros(64, dtype=np.int64)
    other = np.zeros(len(shape), dtype=np.int64)
    longest = 0
    for pick in range(len(axes)):
        size = dimensions[pick]
        choices = 1
        for d in range(size):
            choices *= shape[axes[pick, d]] - 1
        for choice in range(choices):
            rest = choice
            for d in range(size):
                axis = axes[pick, d]
                levels = shape[axis]
                here = (base // strides[axis]) % levels
                level = rest % (levels - 1)
                rest //= levels - 1
                if level >= here:
                    level += 1
                other[d] = (level - here) * strides[axis]
            room = np.int64(1) << 62
            gained = 0
            for k in range(1 << size):
                cell = base
                parity = 0
                for d in range(size):
                    if (k >> d) & 1:
                        cell += other[d]
                        parity ^= 1
                if parity == 0:
                    room = min(room, upper[cell] - counts[cell])
                else:
                    room = min(room, counts[cell] - lower[cell])
                if room <= longest:
                    break
                if asked[cell] == target:
                    gained += 1 if parity == 0 else -1
                corner[k] = cell
            if room > longest and gained == 1:
                longest = room
                best[0] = 1 << size
                for k in range(1 << size):
                    best[k + 1] = corner[k]
    return longest
