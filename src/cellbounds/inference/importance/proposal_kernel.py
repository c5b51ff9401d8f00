"""Placing the variables of a table one after another, compiled.

Before a variable is placed its bounds are what the rows leave, given all that was placed before:
propagation, exact, in 64-bit integers. Its value is chosen among them, near what the centre of the
remaining tables makes of it; the product of the probabilities of all choices is the probability of
the table.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from cellbounds.inference.importance.centre import STEPS, Centre, Workspace, expected, workspace
from cellbounds.inference.importance.sampling_plan import ConstraintMatrix, VariableBounds
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.compilation import compiled, random_below, random_state, random_unit
from cellbounds.runtime.scaled_floats import FloatArray

ROW_VISITS = 40
"""Visits to each row in one propagation, on average, before it ends; what it found holds."""

UNIFORM, NORMAL, URN = 0, 1, 2

CANDIDATES = 512
"""Values that are weighed one by one; wider ranges are cut into so many pieces."""

DEFENCE = 0.02
"""Part of every choice that is uniform over all values: no table is all but impossible."""

LEAST_URN = 2.0
"""The urn of a uniform law; smaller ones prefer both ends, as counts of small shapes do."""


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
    # Limits that are none lie four times further than any sum: they leave everything.
    top, bottom = matrix.upper[row], matrix.lower[row]
    if now.least[row] > top or now.most[row] < bottom:
        return False
    queue.state[2] += matrix.starts[row + 1] - matrix.starts[row]
    for k in range(matrix.starts[row], matrix.starts[row + 1]):
        variable, factor = matrix.variables[k], matrix.factors[k]
        low, high = now.lower[variable], now.upper[variable]
        if low == high:
            continue  # it is counted in the ends of the row, and cannot be narrowed
        # What the row leaves for this variable: its limit less the ends of all others. Divisions
        # round inwards, so that no float is needed and no integer is lost.
        small, large = (low, high) if factor > 0 else (high, low)
        above = top - (now.least[row] - factor * small)
        below = bottom - (now.most[row] - factor * large)
        if factor > 0:
            new_low, new_high = max(low, -(-below // factor)), min(high, above // factor)
        else:
            new_low, new_high = max(low, -(above // -factor)), min(high, -below // -factor)
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


def empty_queue(matrix: ConstraintMatrix) -> RowQueue:
    """A queue for the rows of a matrix."""
    rows = len(matrix.lower)
    ring, state = np.zeros(rows + 1, dtype=np.int64), np.zeros(3, dtype=np.int64)
    return RowQueue(ring, np.zeros(rows, dtype=np.bool_), state)


@compiled
def propagate_root(matrix: ConstraintMatrix, now: VariableBounds, queue: RowQueue) -> Any:
    """Narrow bounds before anything is placed, ends of rows being 0; whether tables may exist."""
    for row in range(len(matrix.lower)):
        for k in range(matrix.starts[row], matrix.starts[row + 1]):
            variable, factor = matrix.variables[k], matrix.factors[k]
            low, high = factor * now.lower[variable], factor * now.upper[variable]
            now.least[row] += min(low, high)
            now.most[row] += max(low, high)
        _call(queue, row)
    possible = True
    # The first bounds may lie between listed values.
    for variable in range(len(now.lower)):
        possible = possible and _narrow(
            matrix, now, queue, variable, now.lower[variable], now.upper[variable]
        )
    return possible and _settle(matrix, now, queue)


@compiled
def copy_bounds(source: VariableBounds, target: VariableBounds) -> None:
    """Copy bounds into others."""
    target.lower[:] = source.lower
    target.upper[:] = source.upper
    target.least[:] = source.least
    target.most[:] = source.most


@compiled
def probe(
    matrix: ConstraintMatrix, root: VariableBounds, trial: VariableBounds, queue: RowQueue,
    variable: Any,
) -> Any:  # fmt: skip
    """Which values of a variable propagation does not refute, from its lower bound on."""
    low, high = root.lower[variable], root.upper[variable]
    possible = np.ones(high - low + 1, dtype=np.bool_)
    if low < high:  # a variable that has its value needs no test
        for value in range(low, high + 1):
            copy_bounds(root, trial)
            possible[value - low] = place(matrix, trial, queue, variable, value)
    return possible


class ProposalLaw(NamedTuple):
    """The law of a choice, and by how much its variance is more than expected.

    A Polya urn has mean, variance and range as expected, a normal law is cut at the range.
    """

    kind: int
    wider: float


@compiled
def _offered(
    matrix: ConstraintMatrix, now: VariableBounds, variable: Any, begins: IntArray, sizes: IntArray
) -> Any:
    """Cut the values of a variable into pieces; returns how many.

    `begins` gets their first values, `sizes` how many they have. Listed values are pieces
    themselves.
    """
    low, high = now.lower[variable], now.upper[variable]
    first, last = matrix.lists[variable], matrix.lists[variable + 1]
    if last > first:
        values = matrix.values[first:last]
        a = np.searchsorted(values, low)
        b = np.searchsorted(values, high, side="right")
        begins[: b - a] = values[a:b]
        sizes[: b - a] = 1
        return b - a
    # Weighing each of a million values would cost more than a coarse law loses.
    width = high - low + 1
    pieces = min(width, CANDIDATES)
    for k in range(pieces):
        begins[k] = low + width // pieces * k + width % pieces * k // pieces
        sizes[k] = (
            width // pieces + width % pieces * (k + 1) // pieces - width % pieces * k // pieces
        )
    return pieces


@compiled
def _weighed(
    law: ProposalLaw, mean: float, spread: float, shape: float, low: Any, high: Any,
    pieces: Any, begins: IntArray, sizes: IntArray, chances: FloatArray,
) -> None:  # fmt: skip
    """The probability of each piece."""
    width = high - low
    # The centre is that of real numbers and may lie at an end, where an urn has no weight left.
    edge = 0.25 / (width + 1)
    share = min(max((mean - low) / width, edge), 1 - edge)
    spread *= law.wider
    kind = law.kind
    if not (np.isfinite(mean) and spread > 0):
        kind = UNIFORM
    # The variance of a Polya urn is that of a binomial count times (urn + width) / (urn + 1).
    ratio = spread / (width * share * (1 - share))
    least = LEAST_URN * min(shape, 1.0)
    urn = least
    if kind == URN:
        # An urn spreads more than a binomial count, never less: else a normal law has to do.
        if ratio > 1.02:
            urn = max((width - ratio) / (ratio - 1), least)
        else:
            kind = NORMAL
    a, b = urn * share, urn * (1 - share)
    best = -np.inf
    for k in range(pieces):
        middle = begins[k] - low + 0.5 * (sizes[k] - 1)
        logarithm = math.log(sizes[k])
        if kind == URN:
            logarithm += math.lgamma(middle + a) - math.lgamma(middle + 1)
            logarithm += math.lgamma(width - middle + b) - math.lgamma(width - middle + 1)
        elif kind == NORMAL:
            logarithm -= (middle + low - mean) ** 2 / (2 * spread)
        chances[k] = logarithm
        best = max(best, logarithm)
    # Less the largest logarithm: the exponentials of none overflow, and some do not vanish.
    total, values = 0.0, sizes[:pieces].sum()
    for k in range(pieces):
        chances[k] = math.exp(chances[k] - best)
        total += chances[k]
    for k in range(pieces):
        chances[k] = (1 - DEFENCE) * chances[k] / total + DEFENCE * (sizes[k] / values)


@compiled
def _choose(
    pieces: Any, begins: IntArray, sizes: IntArray, chances: FloatArray, state: IntArray
) -> Any:
    """A value and its probability."""
    at = random_unit(state)
    piece = 0
    while piece < pieces - 1 and at >= chances[piece]:
        at -= chances[piece]
        piece += 1
    if sizes[piece] == 1:
        return begins[piece], chances[piece]
    return begins[piece] + random_below(state, sizes[piece]), chances[piece] / sizes[piece]


@compiled
def _chance_of(
    value: Any, pieces: Any, begins: IntArray, sizes: IntArray, chances: FloatArray
) -> Any:
    """The probability with which a value would be chosen."""
    piece = np.searchsorted(begins[:pieces], value, side="right") - 1
    if piece < 0 or value >= begins[piece] + sizes[piece]:
        return 0.0
    return chances[piece] / sizes[piece]


class Drawing(NamedTuple):
    """Where drawing is: at which table and which of its variables, what is placed, and room.

    `at` also holds the entries of rows and of the centre's systems that were looked at so far.
    """

    at: IntArray
    now: VariableBounds
    queue: RowQueue
    work: Workspace
    begins: IntArray
    sizes: IntArray
    chances: FloatArray
    state: IntArray

    @classmethod
    def begun(cls, matrix: ConstraintMatrix, centre: Centre, root: VariableBounds) -> Drawing:
        """Before the first table."""
        longest = max(CANDIDATES, int(np.diff(matrix.lists).max(initial=0)))
        return cls(
            np.zeros(3, dtype=np.int64),
            VariableBounds(*map(np.copy, root)),
            empty_queue(matrix),
            workspace(centre),
            np.zeros(longest, dtype=np.int64),
            np.zeros(longest, dtype=np.int64),
            np.zeros(longest),
            np.zeros(1, dtype=np.uint64),
        )


@compiled
def draw_tables(
    matrix: ConstraintMatrix, order: IntArray, centre: Centre, law: ProposalLaw,
    root: VariableBounds, seed: Any, first: Any, tables: IntArray, given: Any, logs: FloatArray,
    drawing: Drawing, at_once: int,
) -> Any:  # fmt: skip
    """Fill `tables` with draws number `first` on, and `logs` with their log probabilities.

    A dead end has minus infinity. With `given` the tables are not drawn but followed: how likely
    each would have been. Ends early, with False, after about `at_once` entries were looked at; to
    be called again with the same arguments.
    """
    at, now, queue, work, begins, sizes, chances, state = drawing
    guided = centre.used and law.kind != UNIFORM
    rows = len(centre.right)
    dear = STEPS * (rows * rows * rows // 6 + 20 * len(centre.low)) if guided else 0
    until = at[2] + at_once
    while at[0] < len(tables):
        number = at[0]
        if at[1] == 0:
            # Each draw has a state of its own, so that it is the same in blocks of any size.
            copy_bounds(root, now)
            work.means[:] = centre.means
            state[0] = random_state(seed, first + number)
            random_unit(state)
            logs[number] = 0.0
        log = logs[number]
        while at[1] < len(order) and log > -np.inf:
            variable = order[at[1]]
            at[1] += 1
            low, high = now.lower[variable], now.upper[variable]
            if low == high:
                continue
            mean, spread, shape = 0.0, 0.0, 1.0
            if guided:
                mean, spread = expected(centre, now, work, variable)
                shape = centre.shape[centre.members[centre.member_starts[variable]]]
            pieces = _offered(matrix, now, variable, begins, sizes)
            _weighed(law, mean, spread, shape, low, high, pieces, begins, sizes, chances)
            if given:
                value = tables[number, variable]
                chance = _chance_of(value, pieces, begins, sizes, chances)
            else:
                value, chance = _choose(pieces, begins, sizes, chances, state)
            queue.state[2] = 0
            if chance == 0.0 or not place(matrix, now, queue, variable, value):
                log = -np.inf
            else:
                log += math.log(chance)
            logs[number] = log
            at[2] += queue.state[2] + dear + pieces
            if at[2] > until:
                return False
        if log > -np.inf:
            # Propagation may have stopped early: only this proves that the table fits.
            fits = (now.most <= matrix.upper).all() and (now.least >= matrix.lower).all()
            if not fits or (given and (now.lower != tables[number]).any()):
                logs[number] = -np.inf
            tables[number] = now.lower
        at[0] += 1
        at[1] = 0
    return True
