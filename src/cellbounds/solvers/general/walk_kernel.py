"""Walks over integer tables by hypercube moves, compiled: import it only where they are needed."""

from __future__ import annotations

from typing import Any

import numpy as np

from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.compilation import compiled, random_below
from cellbounds.solvers.general.hypercubes import OUT_OF_REACH, Hypercubes

SIGNS = np.array([1 - 2 * (corner.bit_count() & 1) for corner in range(64)], dtype=np.int64)
"""What a move adds to each corner: corner k differs from the first one on the axes of k's bits."""

LAST_AXIS = np.array([(corner & -corner).bit_length() - 1 for corner in range(64)], dtype=np.int64)
"""The lowest bit of each corner's number: without it, it is the number of a corner before it.

Corner 0 is the cell that a cube is drawn through; -1 finds the last step, which is always 0.
"""


@compiled
def _corner(k: Any, step: IntArray, corner: IntArray) -> Any:
    """Fill in the next corner of a cube from one that is known, without a branch for the first."""
    cell = corner[k & (k - 1)] + step[LAST_AXIS[k]]
    corner[k] = cell
    return cell


@compiled
def _random_cube(
    cubes: Hypercubes, base: Any, step: IntArray, corner: IntArray, state: IntArray
) -> Any:
    """A random cube through a cell: a step along each of its axes; how many corners it has.

    Corners are filled in as they are looked at: most cubes are given up at one of the first.
    """
    pick = random_below(state, len(cubes.axes))
    size = cubes.sizes[pick]
    for d in range(size):
        axis = cubes.axes[pick, d]
        here = (base // cubes.strides[axis]) % cubes.shape[axis]
        # Any level but this one.
        other = random_below(state, cubes.shape[axis] - 1)
        if other >= here:
            other += 1
        step[d] = (other - here) * cubes.strides[axis]
    corner[0] = base
    return 1 << size


@compiled
def walk(
    cubes: Hypercubes,
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
    lower, upper, sum_of = cubes.lower, cubes.upper, cubes.target
    corner = np.zeros(64, dtype=np.int64)
    step = np.zeros(len(cubes.shape) + 1, dtype=np.int64)
    guided = temperature > 0
    met = 0
    left = proposals
    while left > 0 and met < len(snapshots) and sums[target] * sign < goal * sign:
        left -= 1
        direction = 1
        if random_below(state, 100) < through:
            base = members[random_below(state, len(members))]
            direction = sign
        else:
            base = random_below(state, len(counts))
            # Towards the guide, or either way.
            if (guided and counts[base] > guide[base]) or (not guided and random_below(state, 2)):
                direction = -1
        many = _random_cube(cubes, base, step, corner, state)
        # How often the move can be made, what one does to the target, and to the distance from
        # the guide: a parabola in the number of moves.
        room: Any = np.int64(1) << 62
        gained = 0
        slope = 0.0
        bend = 0.0
        for k in range(many):
            cell = _corner(k, step, corner)
            change = direction * SIGNS[k]
            if change > 0:
                room = min(room, upper[cell] - counts[cell])
            else:
                room = min(room, counts[cell] - lower[cell])
            if room == 0:
                break  # most proposals end here
            if guided:
                slope += 2 * weights[cell] * (counts[cell] - guide[cell]) * change
                bend += weights[cell]
            if sum_of[cell] == target:
                gained += change
        if room == 0 or gained * sign < 0:
            continue
        often: Any = room
        if guided:
            # The step that comes nearest to the guide.
            often = np.int64(round(-slope / (2 * bend))) if bend > 0 else room
            if often < 1:
                if gained == 0 and (
                    slope + bend > temperature * (1 + random_below(state, 1000)) / 1000.0
                ):
                    continue
                often = 1
            often = min(often, room)
        elif gained == 0:
            often = 1 + random_below(state, room)
        if gained != 0:
            # Not beyond the goal: what is proven cannot be passed.
            often = min(often, max(1, (goal - sums[target]) // gained))
        for k in range(many):
            change = direction * SIGNS[k] * often
            counts[corner[k]] += change
            sums[sum_of[corner[k]]] += change
        reached = False
        for k in range(many):
            other = sum_of[corner[k]]
            if sums[other] <= least_goal[other]:
                least_goal[other] = -1
                reached = True
            if sums[other] >= most_goal[other]:
                most_goal[other] = OUT_OF_REACH
                reached = True
        if reached:
            snapshots[met] = counts
            met += 1
    return left, met


@compiled
def walk_each(
    cubes: Hypercubes,
    counts: IntArray,
    sums: IntArray,
    starts: IntArray,
    cells: IntArray,
    targets: IntArray,
    sides: IntArray,
    goals: IntArray,
    least_goal: IntArray,
    most_goal: IntArray,
    guide: IntArray,
    weights: IntArray,
    temperature: float,
    left: int,
    proposals: int,
    at_once: int,
    through: int,
    state: IntArray,
    snapshots: IntArray,
) -> tuple[int, int, int]:
    """Walks for several sums, one after the other, each from where the last one ended.

    Sums whose goal has been met are passed over. `left` are the proposals of the first walk, which
    may have begun before. Returns how many targets were dealt with, the proposals left for the next
    one, and how many snapshots were kept; a full buffer ends it early, and so do `at_once`
    proposals of all walks together. Going on from there is as if it had not ended.
    """
    met = 0
    for k in range(len(targets)):
        target = targets[k]
        waiting = least_goal[target] >= 0 if sides[k] == 0 else most_goal[target] != OUT_OF_REACH
        if waiting:
            if met == len(snapshots) or at_once == 0:
                return k, left, met
            now = min(left, at_once)
            rest, more = walk(
                cubes, counts, sums, cells[starts[target] : starts[target + 1]], target,
                2 * sides[k] - 1, goals[sides[k], target], least_goal, most_goal, guide, weights,
                temperature, now, through, state, snapshots[met:],
            )  # fmt: skip
            met += more
            left -= now - rest
            at_once -= now - rest
            if left > 0 and (met == len(snapshots) or at_once == 0):
                return k, left, met
        left = proposals
    return len(targets), left, met


@compiled
def longest_move(
    cubes: Hypercubes, counts: IntArray, target: int, base: int, best: IntArray
) -> tuple[int, int]:
    """The move through `base` that raises the sum `target` by one and can be made most often.

    Fills `best` with the corners; returns how many there are, and how often the move can be made
    (0 if there is none).
    """
    lower, upper, sum_of = cubes.lower, cubes.upper, cubes.target
    corner = np.zeros(64, dtype=np.int64)
    step = np.zeros(len(cubes.shape) + 1, dtype=np.int64)
    longest: Any = 0
    corners = 0
    for pick in range(len(cubes.axes)):
        size = cubes.sizes[pick]
        choices = 1
        for d in range(size):
            choices *= cubes.shape[cubes.axes[pick, d]] - 1
        for choice in range(choices):
            # A choice is a number whose digits are the other levels, one for each axis.
            rest = choice
            for d in range(size):
                axis = cubes.axes[pick, d]
                levels = cubes.shape[axis]
                here = (base // cubes.strides[axis]) % levels
                level = rest % (levels - 1)
                rest //= levels - 1
                if level >= here:
                    level += 1
                step[d] = (level - here) * cubes.strides[axis]
            corner[0] = base
            many = 1 << size
            room: Any = np.int64(1) << 62
            gained = 0
            for k in range(many):
                cell = _corner(k, step, corner)
                if SIGNS[k] > 0:
                    room = min(room, upper[cell] - counts[cell])
                else:
                    room = min(room, counts[cell] - lower[cell])
                if room <= longest:
                    break
                if sum_of[cell] == target:
                    gained += SIGNS[k]
            if room > longest and gained == 1:
                longest = room
                corners = many
                best[:many] = corner[:many]
    return corners, longest


@compiled
def wander(
    cubes: Hypercubes,
    counts: IntArray,
    least: IntArray,
    most: IntArray,
    aims: IntArray,
    proposals: int,
    state: IntArray,
) -> None:
    """Take random steps along random cubes, half of them through one of the cells `aims`.

    `least` and `most` take in every count that a cell has on the whole line of a move, whichever
    step is taken on it. `counts`, `least` and `most` change in place.
    """
    corner = np.zeros(64, dtype=np.int64)
    step = np.zeros(len(cubes.shape) + 1, dtype=np.int64)
    for _ in range(proposals):
        base = random_below(state, len(counts))
        if len(aims) > 0 and random_below(state, 2) == 0:
            base = aims[random_below(state, len(aims))]
        many = _random_cube(cubes, base, step, corner, state)
        up: Any = np.int64(1) << 61
        down: Any = up
        for k in range(many):
            cell = _corner(k, step, corner)
            above, below = cubes.upper[cell] - counts[cell], counts[cell] - cubes.lower[cell]
            if SIGNS[k] < 0:
                above, below = below, above
            up, down = min(up, above), min(down, below)
        if up + down == 0:
            continue
        taken = random_below(state, up + down + 1) - down
        for k in range(many):
            cell = corner[k]
            grow, shrink = (up, down) if SIGNS[k] > 0 else (down, up)
            least[cell] = min(least[cell], counts[cell] - shrink)
            most[cell] = max(most[cell], counts[cell] + grow)
            counts[cell] += SIGNS[k] * taken


@compiled
def _out_of_limits(count: Any, low: Any, high: Any) -> Any:
    """By how much a count is out of its limits."""
    return max(low - count, 0) + max(count - high, 0)


@compiled
def repair(
    cubes: Hypercubes,
    counts: IntArray,
    lower: IntArray,
    upper: IntArray,
    proposals: int,
    temperature: float,
    state: IntArray,
) -> Any:
    """Lead counts that have the right sums back into limits of the cells; says what is still out.

    Half of the moves go through a cell that is out of its limits, towards them: they are made if no
    more is out afterwards, or by chance if little more is. The others go through any cell, and are
    made if no more is out; without them the rest of the table would stay as it began, and a cell
    that it shuts in would stay out. `counts` changes in place.
    """
    broken = np.zeros(len(counts), dtype=np.int64)
    place = np.full(len(counts), -1, dtype=np.int64)
    many_broken = 0
    total: Any = 0
    for cell in range(len(counts)):
        out = _out_of_limits(counts[cell], lower[cell], upper[cell])
        if out > 0:
            total += out
            broken[many_broken] = cell
            place[cell] = many_broken
            many_broken += 1
    corner = np.zeros(64, dtype=np.int64)
    step = np.zeros(len(cubes.shape) + 1, dtype=np.int64)
    for _ in range(proposals):
        if many_broken == 0:
            break
        direction = 1
        worse: Any = 0
        if random_below(state, 2) == 0:
            base = random_below(state, len(counts))
        else:
            base = broken[random_below(state, many_broken)]
            if counts[base] > upper[base]:
                direction = -1
            chance = (1 + random_below(state, 1 << 30)) / (1 << 30)
            worse = np.int64(-temperature * np.log(chance))
        many = _random_cube(cubes, base, step, corner, state)
        change: Any = 0
        for k in range(many):
            cell = _corner(k, step, corner)
            low, high, count = lower[cell], upper[cell], counts[cell]
            change += _out_of_limits(count + direction * SIGNS[k], low, high)
            change -= _out_of_limits(count, low, high)
            # Only cells that are out can make up for others, each by one.
            if change - min(many - 1 - k, many_broken) > worse:
                break
        if change > worse:
            continue
        total += change
        for k in range(many):
            cell = corner[k]
            counts[cell] += direction * SIGNS[k]
            out = _out_of_limits(counts[cell], lower[cell], upper[cell])
            if out > 0 and place[cell] < 0:
                broken[many_broken] = cell
                place[cell] = many_broken
                many_broken += 1
            elif out == 0 and place[cell] >= 0:
                many_broken -= 1
                last = broken[many_broken]
                broken[place[cell]] = last
                place[last] = place[cell]
                place[cell] = -1
    return total


@compiled
def swap(
    cubes: Hypercubes,
    counts: IntArray,
    free: Any,
    occupied: IntArray,
    cell: int,
    tries: int,
    state: IntArray,
) -> Any:
    """Take one from a cell by a cube whose axes are sets of axes; says whether that was possible.

    Two cells that hold somebody are drawn. On each axis the cell and these two have one level, or
    two, and then one of the three is alone with its level. So axes fall into three sets, along
    which the three are corners of a cube that all give one, as does a fourth cell that follows from
    them; the other four corners take one each. Of every three axes, one of each set, `free` must
    say that no statement covers them. `counts` changes in place.
    """
    axes = len(cubes.shape)
    alone = np.zeros(axes, dtype=np.int64)
    corner = np.zeros(8, dtype=np.int64)
    for _ in range(tries):
        first, second = (
            occupied[random_below(state, len(occupied))],
            occupied[random_below(state, len(occupied))],
        )
        corner[:] = cell
        fits = True
        # A bit for each set of axes: who is alone there, the cell itself, the first, the second.
        sets = 0
        for axis in range(axes):
            stride, levels = cubes.strides[axis], cubes.shape[axis]
            here = (cell // stride) % levels
            one = (first // stride) % levels - here
            two = (second // stride) % levels - here
            alone[axis] = -1
            if one == two == 0:
                continue
            if one != 0 and two != 0 and one != two:
                fits = False
                break
            alone[axis] = 0 if one == two else 1 if one != 0 else 2
            sets |= 1 << alone[axis]
            other = (one if one != 0 else two) * stride
            for k in range(8):
                if k >> alone[axis] & 1:
                    corner[k] += other
        if not fits or sets != 7:
            continue
        for a in range(axes):
            for b in range(axes):
                for c in range(axes):
                    if alone[a] == 0 and alone[b] == 1 and alone[c] == 2 and not free[a, b, c]:
                        fits = False
        for k in range(8):
            gives = SIGNS[k] > 0
            limit = cubes.lower[corner[k]] if gives else cubes.upper[corner[k]]
            fits = fits and counts[corner[k]] != limit
        if fits:
            for k in range(8):
                counts[corner[k]] -= SIGNS[k]
            return True
    return False
