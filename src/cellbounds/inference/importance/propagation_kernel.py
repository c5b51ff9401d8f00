"""What the rows of a system leave for each variable, given those placed: propagation, compiled.

Exact, in 64-bit integers. Compiled code is kept on disk by file: after a change here,
`proposal_kernel.py`, which calls it, has to be compiled anew, too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cellbounds.inference.importance.sampling_plan import ConstraintMatrix
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.compilation import compiled
from cellbounds.statements.inequalities import NO_LOWER, NO_UPPER

ROW_VISITS = 40
"""Visits to each row in one propagation, on average, before it ends; what it found holds."""


class VariableBounds(NamedTuple):
    """VariableBounds of all variables, and the least and most that each row can be within them."""

    lower: IntArray
    upper: IntArray
    least: IntArray
    most: IntArray


class RowQueue(NamedTuple):
    """Rows to visit: a ring, and whether each row is in it.

    `state` is its first and its length, and how many entries of rows were visited so far.
    """

    ring: IntArray
    waiting: Any
    state: IntArray


@compiled
def _call(queue: RowQueue, row: Any) -> None:
    # A row that waits already will see this change too: it is visited once for all of them.
    if not queue.waiting[row]:
        queue.waiting[row] = True
        queue.ring[(queue.state[0] + queue.state[1]) % len(queue.ring)] = row
        queue.state[1] += 1


@compiled
def _narrow(
    matrix: ConstraintMatrix,
    now: VariableBounds,
    queue: RowQueue,
    variable: Any,
    low: Any,
    high: Any,
) -> Any:
    """Give a variable new bounds (listed values are respected); False if none are left."""
    first, last = matrix.lists[variable], matrix.lists[variable + 1]
    if last > first:
        # Bounds move on to the next listed values: what lies between is impossible.
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
        if factor > 0:
            now.least[row] += factor * up
            now.most[row] += factor * down
        else:
            now.least[row] += factor * down
            now.most[row] += factor * up
        _call(queue, row)
    return True


@compiled
def _visit(matrix: ConstraintMatrix, now: VariableBounds, queue: RowQueue, row: Any) -> Any:
    """What one row leaves for each of its variables."""
    top, bottom = matrix.upper[row], matrix.lower[row]
    if (top != NO_UPPER and now.least[row] > top) or (
        bottom != NO_LOWER and now.most[row] < bottom
    ):
        return False
    queue.state[2] += matrix.starts[row + 1] - matrix.starts[row]
    for k in range(matrix.starts[row], matrix.starts[row + 1]):
        variable, factor = matrix.variables[k], matrix.factors[k]
        low, high = now.lower[variable], now.upper[variable]
        if low == high:
            continue  # it is counted in the ends of the row, and cannot be narrowed
        # What the row leaves for this variable: its limit less the ends of all others.
        small, large = (low, high) if factor > 0 else (high, low)
        new_low, new_high = low, high
        # Divisions round inwards, so that no float is needed and no integer is lost.
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
        if (new_low != low or new_high != high) and not _narrow(
            matrix, now, queue, variable, new_low, new_high
        ):
            return False
    return True


@compiled
def _settle(matrix: ConstraintMatrix, now: VariableBounds, queue: RowQueue) -> Any:
    """Visit rows until nothing moves; False if some variable is left without any value."""
    # Rows may narrow each other by one for ever so long; bounds that are wider than they could be
    # cost a dead end at worst, since a table is checked when it is complete.
    visits = ROW_VISITS * (len(matrix.lower) + 10)
    possible = True
    # After a contradiction the ring is emptied all the same: it is used again.
    while queue.state[1] > 0:
        row = queue.ring[queue.state[0]]
        queue.state[0] = (queue.state[0] + 1) % len(queue.ring)
        queue.state[1] -= 1
        queue.waiting[row] = False
        visits -= 1
        if possible and visits > 0:
            possible = _visit(matrix, now, queue, row)
    return possible


@compiled
def place(
    matrix: ConstraintMatrix, now: VariableBounds, queue: RowQueue, variable: Any, value: Any
) -> Any:
    """Give a variable its value, and narrow all others; False if that leaves no table."""
    return _narrow(matrix, now, queue, variable, value, value) and _settle(matrix, now, queue)


@compiled
def holds(matrix: ConstraintMatrix, now: VariableBounds) -> Any:
    """Whether a table with every variable placed keeps every row."""
    for row in range(len(matrix.lower)):
        if matrix.upper[row] != NO_UPPER and now.most[row] > matrix.upper[row]:
            return False
        if matrix.lower[row] != NO_LOWER and now.least[row] < matrix.lower[row]:
            return False
    return True


@compiled
def empty_queue(matrix: ConstraintMatrix) -> Any:
    """A queue for the rows of a matrix."""
    rows = len(matrix.lower)
    return RowQueue(
        np.zeros(rows + 1, dtype=np.int64), np.zeros(rows, dtype=np.bool_),
        np.zeros(3, dtype=np.int64),
    )  # fmt: skip


@compiled
def propagate_root(matrix: ConstraintMatrix, lower: IntArray, upper: IntArray) -> Any:
    """VariableBounds before anything is placed; whether any table may exist."""
    rows = len(matrix.lower)
    now = VariableBounds(
        lower.copy(), upper.copy(), np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.int64)
    )
    queue = empty_queue(matrix)
    for row in range(rows):
        for k in range(matrix.starts[row], matrix.starts[row + 1]):
            variable, factor = matrix.variables[k], matrix.factors[k]
            low, high = factor * lower[variable], factor * upper[variable]
            now.least[row] += min(low, high)
            now.most[row] += max(low, high)
        _call(queue, row)
    possible = True
    # The first bounds may lie between listed values.
    for variable in range(len(lower)):
        possible = possible and _narrow(
            matrix, now, queue, variable, now.lower[variable], now.upper[variable]
        )
    return now, possible and _settle(matrix, now, queue)


@compiled
def copy_bounds(source: VariableBounds, target: VariableBounds) -> None:
    """Copy bounds into others."""
    target.lower[:] = source.lower
    target.upper[:] = source.upper
    target.least[:] = source.least
    target.most[:] = source.most


@compiled
def copied(source: VariableBounds) -> Any:
    """A copy of bounds."""
    return VariableBounds(
        source.lower.copy(), source.upper.copy(), source.least.copy(), source.most.copy()
    )


@compiled
def probe(matrix: ConstraintMatrix, root: VariableBounds, variable: Any) -> Any:
    """Which values of a variable propagation does not refute, from its lower bound on."""
    low, high = root.lower[variable], root.upper[variable]
    possible = np.ones(high - low + 1, dtype=np.bool_)
    trial, queue = copied(root), empty_queue(matrix)
    if low < high:  # a variable that has its value needs no test
        for value in range(low, high + 1):
            copy_bounds(root, trial)
            possible[value - low] = place(matrix, trial, queue, variable, value)
    return possible
