"""Walks over integer tables by hypercube moves, compiled.

A move takes a set of axes that no statement covers as a whole, two levels on each of them, and one
setting of the others; it adds 1 on the even corners and takes 1 from the odd ones. Every statement
misses one of the axes, so along that axis what is added is taken away again: no published sum
changes. Walks therefore stay among the consistent tables as long as the cells stay in bounds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.compilation import compiled
from cellbounds.solvers.general.hypercube_moves import Ground

__all__ = ["longest_move", "walk", "walk_each"]


@compiled
def _below(state: IntArray, limit: Any) -> Any:
    """A random number below `limit` (xorshift64*; numba's own generator is three times slower)."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return np.int64((x * np.uint64(2685821657736338717)) >> np.uint64(33)) % limit


@compiled
def walk(
    ground: Ground,
    counts: IntArray,
    sums: IntArray,
    members: IntArray,
    target: int,
    sign: int,
    goal: int,
    least_goal: IntArray,
    most_goal: IntArray,
    guide: IntArray,
    weights: IntArray,
    temperature: float,
    proposals: int,
    through: int,
    state: IntArray,
    snapshots: IntArray,
) -> tuple[int, int]:
    """Push the sum `target` up (sign 1) or down (sign -1) towards `goal`, never back.

    `counts` and `sums` change in place. `members` are the cells of the target, `through` says how
    many of 100 proposals go through one of them.
    With a temperature above zero, other moves are taken that come nearer to the table `guide`
    (weighted squares), or further by less than a random part of the temperature; otherwise all.
    When some other sum reaches its goal (`least_goal`, `most_goal`; changed in place to values
    out of reach once met) the table is kept in `snapshots`. Returns the proposals left and the
    snapshots kept; a full buffer ends the walk early.
    """
    lower, upper, asked = ground.lower, ground.upper, ground.asked
    shape, strides, axes, sizes = ground.shape, ground.strides, ground.axes, ground.sizes
    corner = np.zeros(64, dtype=np.int64)
    changes = np.zeros(64, dtype=np.int64)
    step = np.zeros(len(shape), dtype=np.int64)
    guided = temperature > 0
    kept = 0
    left = proposals
    while left > 0 and kept < len(snapshots) and sums[target] * sign < goal * sign:
        left -= 1
        pick = _below(state, len(axes))
        size = sizes[pick]
        direction = 1
        if _below(state, 100) < through:
            base = members[_below(state, len(members))]
            direction = sign
        else:
            base = _below(state, len(counts))
            if guided:
                if counts[base] > guide[base]:
                    direction = -1
            elif _below(state, 2):
                direction = -1
        for d in range(size):
            axis = axes[pick, d]
            here = (base // strides[axis]) % shape[axis]
            other = _below(state, shape[axis] - 1)
            if other >= here:
                other += 1
            step[d] = (other - here) * strides[axis]
        room: Any = np.int64(1) << 62
        gained = 0
        slope = 0.0
        bend = 0.0
        for k in range(1 << size):
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
            if guided:
                slope += 2 * weights[cell] * (counts[cell] - guide[cell]) * change
                bend += weights[cell]
            if asked[cell] == target:
                gained += change
            corner[k] = cell
            changes[k] = change
        if room == 0 or gained * sign < 0:
            continue
        often: Any = room
        if guided:
            # The step that comes nearest to the guide.
            often = np.int64(round(-slope / (2 * bend))) if bend > 0 else room
            if often < 1:
                if gained == 0 and (
                    slope + bend > temperature * (1 + _below(state, 1000)) / 1000.0
                ):
                    continue
                often = 1
            often = min(often, room)
        elif gained == 0:
            often = 1 + _below(state, room)
        if gained != 0:
            often = min(often, max(1, (goal - sums[target]) // gained))
        for k in range(1 << size):
            counts[corner[k]] += changes[k] * often
            sums[asked[corner[k]]] += changes[k] * often
        met = False
        for k in range(1 << size):
            one = asked[corner[k]]
            if sums[one] <= least_goal[one]:
                least_goal[one] = -1
                met = True
            if sums[one] >= most_goal[one]:
                most_goal[one] = np.int64(1) << 62
                met = True
        if met:
            snapshots[kept] = counts
            kept += 1
    return left, kept


@compiled
def walk_each(
    ground: Ground,
    counts: IntArray,
    sums: IntArray,
    starts: IntArray,
    cells: IntArray,
    targets: IntArray,
    sides: IntArray,
    goals: IntArray,
    least_goal: IntArray,
    most_goal: IntArray,
    unguided: IntArray,
    proposals: int,
    through: int,
    state: IntArray,
    snapshots: IntArray,
) -> tuple[int, int]:
    """Blind walks for several sums, one after the other, each from where the last one ended.

    Sums whose goal has been met are passed over. Returns how many targets were dealt with and
    how many snapshots were kept; a full buffer ends it early.
    """
    kept = 0
    for k in range(len(targets)):
        target = targets[k]
        if (sides[k] == 0 and least_goal[target] < 0) or (
            sides[k] == 1 and most_goal[target] == np.int64(1) << 62
        ):
            continue
        if kept == len(snapshots):
            return k, kept
        _, more = walk(
            ground, counts, sums, cells[starts[target] : starts[target + 1]], target,
            2 * sides[k] - 1, goals[k], least_goal, most_goal, unguided, unguided, 0.0, proposals,
            through, state, snapshots[kept:],
        )  # fmt: skip
        kept += more
    return len(targets), kept


@compiled
def longest_move(ground: Ground, counts: IntArray, target: int, base: int, best: IntArray) -> Any:
    """The move through `base` that raises the sum `target` by one and can be made most often.

    Fills `best` with the corners (even ones first are raised, by parity of their number) and
    returns how often the move can be made; 0 if there is none.
    """
    lower, upper, asked = ground.lower, ground.upper, ground.asked
    shape, strides, axes, sizes = ground.shape, ground.strides, ground.axes, ground.sizes
    corner = np.zeros(64, dtype=np.int64)
    other = np.zeros(len(shape), dtype=np.int64)
    longest: Any = 0
    for pick in range(len(axes)):
        size = sizes[pick]
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
            room: Any = np.int64(1) << 62
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
