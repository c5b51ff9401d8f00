"""Following the centre of the remaining tables while variables are placed, compiled.

Compiled code is kept on disk by file: after a change here, `drawing.py`, which calls it, has to
be compiled anew, too.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from cellbounds.inference.importance.centre import Centre
from cellbounds.inference.importance.propagation_kernel import Bounds
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.compilation import compiled
from cellbounds.runtime.scaled_floats import FloatArray

__all__ = ["Room", "central_means", "expected", "made_room"]

FIRST_STEPS, STEPS, CLOSE = 80, 6, 0.05
"""Newton steps before anything is placed and before each choice; when a step is small enough."""

EDGE = 1e-3
"""Means are kept so far inside their limits."""


class Room(NamedTuple):
    """Working arrays for the centre: by unknown, then by equation."""

    fixed: Any
    means: FloatArray
    slopes: FloatArray
    spreads: FloatArray
    steps: FloatArray
    number: IntArray
    right: FloatArray
    prices: FloatArray
    other: FloatArray
    matrix: FloatArray


@compiled
def made_room(centre: Centre) -> Any:
    """Working arrays for a centre."""
    unknowns, rows = len(centre.low), len(centre.right) if centre.used else 0
    return Room(
        np.zeros(unknowns, dtype=np.bool_), centre.means.copy(), np.zeros(unknowns),
        np.zeros(unknowns), np.zeros(unknowns), np.zeros(len(centre.right), dtype=np.int64),
        np.zeros(rows), np.zeros(rows), np.zeros(rows), np.zeros((rows, rows)),
    )  # fmt: skip


@compiled
def _numbered(centre: Centre, now: Bounds, room: Room) -> Any:
    """Take over what is placed, and number the equations that still say something."""
    first = centre.first_sum
    cells = len(now.lower) - (len(centre.right) - first)
    room.number[:] = -1
    for cell in range(cells):
        room.fixed[cell] = now.lower[cell] == now.upper[cell]
        if room.fixed[cell]:
            room.means[cell] = now.lower[cell]
    for unknown in range(len(centre.low)):
        if not room.fixed[unknown]:
            for k in range(centre.starts[unknown], centre.starts[unknown + 1]):
                room.number[centre.rows[k]] = 0
    count = 0
    for row in range(len(centre.right)):
        variable = cells + row - first
        if row >= first and now.lower[variable] < now.upper[variable]:
            room.number[row] = -1
        if room.number[row] == 0:
            room.number[row] = count
            room.right[count] = centre.right[row] if row < first else now.lower[variable]
            count += 1
    return count


@compiled
def _assembled(centre: Centre, room: Room, count: Any) -> None:
    """The Newton system at the present means."""
    room.matrix[:count, :count] = 0.0
    room.prices[:count] = room.right[:count]
    for unknown in range(len(centre.low)):
        mean = room.means[unknown]
        free = not room.fixed[unknown]
        spread, slope = 0.0, 0.0
        if free:
            below, above = mean - centre.low[unknown], centre.high[unknown] - mean
            curve = 1e-18
            slope = -centre.log_factor[unknown]
            if below < np.inf:
                slope += math.log(below / (1 + below / centre.shape[unknown]))
                curve += 1 / (below * (1 + below / centre.shape[unknown]))
            if above < np.inf:
                slope -= math.log(above / (1 + above))
                curve += 1 / (above * (1 + above))
            spread = 1 / curve
            room.slopes[unknown], room.spreads[unknown] = slope, spread
        for k in range(centre.starts[unknown], centre.starts[unknown + 1]):
            row, factor = room.number[centre.rows[k]], centre.factors[k]
            if row < 0:
                continue
            room.prices[row] += factor * (spread * slope - mean)
            if free:
                for j in range(centre.starts[unknown], k + 1):
                    column = room.number[centre.rows[j]]
                    if column >= 0:
                        room.matrix[row, column] += factor * centre.factors[j] * spread


@compiled
def _factored(matrix: FloatArray, count: Any) -> None:
    """Cholesky's factor in place; equations that follow from earlier ones get a zero."""
    for i in range(count):
        whole = matrix[i, i]
        for j in range(i + 1):
            left = matrix[i, j]
            for k in range(j):
                left -= matrix[i, k] * matrix[j, k]
            if j < i:
                matrix[i, j] = left / matrix[j, j] if matrix[j, j] > 0 else 0.0
            else:
                matrix[i, i] = math.sqrt(left) if left > 1e-9 * whole else 0.0


@compiled
def _solved(matrix: FloatArray, count: Any, sides: FloatArray) -> None:
    """Solve in place with the factor."""
    for i in range(count):
        left = sides[i]
        for k in range(i):
            left -= matrix[i, k] * sides[k]
        sides[i] = left / matrix[i, i] if matrix[i, i] > 0 else 0.0
    for i in range(count - 1, -1, -1):
        sides[i] = sides[i] / matrix[i, i] if matrix[i, i] > 0 else 0.0
        for k in range(i):
            sides[k] -= matrix[i, k] * sides[i]


@compiled
def _improved(centre: Centre, room: Room, count: Any, steps: Any) -> None:
    """Newton steps towards the means of largest entropy, never across a limit."""
    for _ in range(steps):
        _assembled(centre, room, count)
        _factored(room.matrix, count)
        _solved(room.matrix, count, room.prices)
        length, largest = 1.0, 0.0
        for unknown in range(len(centre.low)):
            if room.fixed[unknown]:
                continue
            pull = -room.slopes[unknown]
            for k in range(centre.starts[unknown], centre.starts[unknown + 1]):
                row = room.number[centre.rows[k]]
                if row >= 0:
                    pull += centre.factors[k] * room.prices[row]
            step = room.spreads[unknown] * pull
            room.steps[unknown] = step
            largest = max(largest, abs(step) / math.sqrt(room.spreads[unknown]))
            if step < 0:
                length = min(length, 0.9 * (room.means[unknown] - centre.low[unknown]) / -step)
            elif step > 0:
                length = min(length, 0.9 * (centre.high[unknown] - room.means[unknown]) / step)
        for unknown in range(len(centre.low)):
            if not room.fixed[unknown]:
                moved = room.means[unknown] + length * room.steps[unknown]
                moved = max(moved, centre.low[unknown] + EDGE)
                room.means[unknown] = min(moved, centre.high[unknown] - EDGE)
        if length == 1.0 and largest < CLOSE:
            break


@compiled
def expected(centre: Centre, now: Bounds, room: Room, variable: Any) -> Any:
    """Mean and variance of a variable, given all that is placed."""
    count = _numbered(centre, now, room)
    _improved(centre, room, count, STEPS)
    mean, spread = 0.0, 0.0
    room.other[:count] = 0.0
    for at in range(centre.member_starts[variable], centre.member_starts[variable + 1]):
        unknown = centre.members[at]
        mean += room.means[unknown]
        if not room.fixed[unknown]:
            spread += room.spreads[unknown]
            for k in range(centre.starts[unknown], centre.starts[unknown + 1]):
                row = room.number[centre.rows[k]]
                if row >= 0:
                    room.other[row] += centre.factors[k] * room.spreads[unknown]
    room.prices[:count] = room.other[:count]
    _solved(room.matrix, count, room.prices)
    for row in range(count):
        spread -= room.other[row] * room.prices[row]
    return mean, spread


@compiled
def central_means(centre: Centre, root: Bounds) -> Any:
    """The means before anything is placed; those given if that does not succeed."""
    room = made_room(centre)
    _improved(centre, room, _numbered(centre, root, room), FIRST_STEPS)
    return room.means if np.isfinite(room.means).all() else centre.means
