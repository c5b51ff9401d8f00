"""What the rows of a system leave for each variable, given those placed: propagation, compiled.

Exact, in 64-bit integers. Compiled code is kept on disk by file: after a change here,
`proposal_kernel.py`, which calls it, has to be compiled anew, too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cellbounds.inference.importance.sampling_plan import ConstraintMatrix
from cellbounds.model.constraints import NO_LOWER, NO_UPPER
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.compilation import compiled

__all__ = [
    "Propagation",
    "VariableBounds",
    "copy_bounds",
    "holds",
    "place",
    "probe",
    "propagate_root",
    "propagation",
]

ROW_VISITS = 40
"""Visits to each row in one propagation, on average, before it ends; what it found holds."""


class VariableBounds(NamedTuple):
    """Bounds of all variables, and the least and most that each row can be within them."""

    lower: IntArray
    upper: IntArray
    least: IntArray
    most: IntArray


class Propagation(NamedTuple):
    """Bounds that are narrowed in place, and the rows to visit.

    Rows wait in a ring; `waiting` says whether each is in it, `state` is its first and its length.
    """

    matrix: ConstraintMatrix
    now: VariableBounds
    ring: IntArray
    waiting: Any
    state: IntArray


@compiled
def propagation(matrix: ConstraintMatrix, bounds: VariableBounds) -> Any:
    """Narrow a copy of some bounds, no row waiting."""
    rows = len(matrix.lower)
    lower, upper, least, most = bounds
    now = VariableBounds(lower.copy(), upper.copy(), least.copy(), most.copy())
    waiting, state = np.zeros(rows, dtype=np.bool_), np.zeros(2, dtype=np.int64)
    return Propagation(matrix, now, np.zeros(rows + 1, dtype=np.int64), waiting, state)


@compiled
def _call(run: Propagation, row: Any) -> None:
    """Have a row visited, unless it waits already."""
    if not run.waiting[row]:
        run.waiting[row] = True
        run.ring[(run.state[0] + run.state[1]) % len(run.ring)] = row
        run.state[1] += 1


@compiled
def _narrow(run: Propagation, variable: Any, low: Any, high: Any) -> Any:
    """Give a variable new bounds (listed values are respected); False if none are left."""
    matrix, now = run.matrix, run.now
    first, last = matrix.lists[variable], matrix.lists[variable + 1]
    if last > first:
        values = matrix.values[first:last]
        a = np.searchsorted(values, low)
        b = np.searchsorted(values, high, side="right")
        if a >= b:
            return False
        low, high = values[a], values[b - 1]
    if low > high:
        return False
    up, down = low - now.lower[variable], high - now.upper[variable]
    if up == 0 and down == 0:
        return True
    now.lower[variable], now.upper[variable] = low, high
    # The ends of rows are kept up to date, so that a visit costs no sum over the row.
    for k in range(matrix.row_starts[variable], matrix.row_starts[variable + 1]):
        row, factor = matrix.rows[k], matrix.row_factors[k]
        rise, fall = (up, down) if factor > 0 else (down, up)
        now.least[row] += factor * rise
        now.most[row] += factor * fall
        _call(run, row)
    return True


@compiled
def _visit(run: Propagation, row: Any) -> Any:
    """What one row leaves for each of its variables."""
    matrix, now = run.matrix, run.now
    top, bottom = matrix.upper[row], matrix.lower[row]
    if (top != NO_UPPER and now.least[row] > top) or (
        bottom != NO_LOWER and now.most[row] < bottom
    ):
        return False
    for k in range(matrix.starts[row], matrix.starts[row + 1]):
        variable, factor = matrix.variables[k], matrix.factors[k]
        low, high = now.lower[variable], now.upper[variable]
        if low == high:
            continue
        small, large = (low, high) if factor > 0 else (high, low)
        new_low, new_high = low, high
        if top != NO_UPPER:
            room = top - (now.least[row] - factor * small)
            if factor > 0:
                new_high = min(new_high, room // factor)
            else:
                new_low = max(new_low, -(room // -factor))
        if bottom != NO_LOWER:
            room = bottom - (now.most[row] - factor * large)
            if factor > 0:
                new_low = max(new_low, -(-room // factor))
            else:
                new_high = min(new_high, -room // -factor)
        if (new_low != low or new_high != high) and not _narrow(run, variable, new_low, new_high):
            return False
    return True


@compiled
def _settle(run: Propagation) -> Any:
    """Visit rows until nothing moves; False if some variable is left without any value."""
    visits = ROW_VISITS * (len(run.matrix.lower) + 10)
    possible = True
    # After a contradiction the ring is emptied all the same: it is used again.
    while run.state[1] > 0:
        row = run.ring[run.state[0]]
        run.state[0] = (run.state[0] + 1) % len(run.ring)
        run.state[1] -= 1
        run.waiting[row] = False
        visits -= 1
        if possible and visits > 0:
            possible = _visit(run, row)
    return possible


@compiled
def place(run: Propagation, variable: Any, value: Any) -> Any:
    """Give a variable its value, and narrow all others; False if that leaves no table."""
    return _narrow(run, variable, value, value) and _settle(run)


@compiled
def holds(run: Propagation) -> Any:
    """Whether a table with every variable placed keeps every row."""
    matrix, now = run.matrix, run.now
    for row in range(len(matrix.lower)):
        if matrix.upper[row] != NO_UPPER and now.most[row] > matrix.upper[row]:
            return False
        if matrix.lower[row] != NO_LOWER and now.least[row] < matrix.lower[row]:
            return False
    return True


@compiled
def propagate_root(matrix: ConstraintMatrix, lower: IntArray, upper: IntArray) -> Any:
    """Bounds before anything is placed; whether any table may exist."""
    rows = len(matrix.lower)
    ends = np.zeros(rows, dtype=np.int64)
    run = propagation(matrix, VariableBounds(lower, upper, ends, ends))
    now = run.now
    for row in range(rows):
        for k in range(matrix.starts[row], matrix.starts[row + 1]):
            variable, factor = matrix.variables[k], matrix.factors[k]
            low, high = factor * lower[variable], factor * upper[variable]
            now.least[row] += min(low, high)
            now.most[row] += max(low, high)
        _call(run, row)
    possible = True
    for variable in range(len(lower)):
        # The same bounds again: listed values may leave less.
        possible = possible and _narrow(run, variable, now.lower[variable], now.upper[variable])
    return now, possible and _settle(run)


@compiled
def copy_bounds(source: VariableBounds, target: VariableBounds) -> None:
    """Copy bounds into others."""
    target.lower[:] = source.lower
    target.upper[:] = source.upper
    target.least[:] = source.least
    target.most[:] = source.most


@compiled
def probe(matrix: ConstraintMatrix, root: VariableBounds, variable: Any) -> Any:
    """Which values of a variable propagation does not refute, from its lower bound on."""
    low, high = root.lower[variable], root.upper[variable]
    possible = np.zeros(high - low + 1, dtype=np.bool_)
    run = propagation(matrix, root)
    for value in range(low, high + 1):
        copy_bounds(root, run.now)
        possible[value - low] = place(run, variable, value)
    return possible
