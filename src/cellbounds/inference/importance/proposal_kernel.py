"""Placing the variables of a table one after another, compiled.

Before a variable is placed its bounds are what the rows leave, given all that was placed before.
Its value is chosen among them, near what the centre of the remaining tables makes of it; the
product of the probabilities of all choices is the probability of the table.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from cellbounds.inference.importance.centre import (
    STEPS,
    Centre,
    Workspace,
    expected,
    workspace,
)
from cellbounds.inference.importance.propagation_kernel import (
    RowQueue,
    VariableBounds,
    copied,
    copy_bounds,
    empty_queue,
    holds,
    place,
)
from cellbounds.inference.importance.sampling_plan import ConstraintMatrix
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.compilation import compiled, random_below, random_state, random_unit
from cellbounds.runtime.scaled_floats import FloatArray

UNIFORM, NORMAL, URN = 0, 1, 2

CANDIDATES = 512
"""Values that are weighed one by one; wider ranges are cut into so many pieces."""

DEFENCE = 0.02
"""Part of every choice that is uniform over all values: no table is all but impossible."""

LEAST_URN = 2.0
"""The urn of a uniform law; smaller ones prefer both ends, as counts of small shapes do."""


class ProposalLaw(NamedTuple):
    """The law of a choice, and by how much its variance is more than expected.

    A Polya urn has mean, variance and range as expected, a normal law is cut at the range.
    """

    kind: int
    wider: float


@compiled
def _offered(matrix: ConstraintMatrix, now: VariableBounds, variable: Any, begins: IntArray) -> Any:
    """Cut the values of a variable into pieces; returns how many, `begins` their first values.

    The last entry of `begins` is where the last piece ends. Listed values are pieces themselves.
    """
    low, high = now.lower[variable], now.upper[variable]
    first, last = matrix.lists[variable], matrix.lists[variable + 1]
    if last > first:
        values = matrix.values[first:last]
        a = np.searchsorted(values, low)
        b = np.searchsorted(values, high, side="right")
        begins[: b - a] = values[a:b]
        return b - a
    # Weighing each of a million values would cost more than a coarse law loses.
    width = high - low + 1
    pieces = min(width, CANDIDATES)
    for k in range(pieces + 1):
        begins[k] = low + width // pieces * k + width % pieces * k // pieces
    return pieces


@compiled
def _weighed(
    law: ProposalLaw, mean: float, spread: float, shape: float, low: Any, high: Any,
    pieces: Any, begins: IntArray, listed: Any, chances: FloatArray,
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
        size = 1 if listed else begins[k + 1] - begins[k]
        middle = begins[k] - low + 0.5 * (size - 1)
        logarithm = math.log(size)
        if kind == URN:
            logarithm += math.lgamma(middle + a) - math.lgamma(middle + 1)
            logarithm += math.lgamma(width - middle + b) - math.lgamma(width - middle + 1)
        elif kind == NORMAL:
            logarithm -= (middle + low - mean) ** 2 / (2 * spread)
        chances[k] = logarithm
        best = max(best, logarithm)
    # Less the largest logarithm: the exponentials of none overflow, and some do not vanish.
    total = 0.0
    for k in range(pieces):
        chances[k] = math.exp(chances[k] - best)
        total += chances[k]
    for k in range(pieces):
        size = 1 if listed else begins[k + 1] - begins[k]
        part = 1.0 / pieces if listed else size / (width + 1)
        chances[k] = (1 - DEFENCE) * chances[k] / total + DEFENCE * part


@compiled
def _choose(
    pieces: Any, begins: IntArray, listed: Any, chances: FloatArray, state: IntArray
) -> Any:
    """A value and its probability."""
    at = random_unit(state)
    piece = 0
    while piece < pieces - 1 and at >= chances[piece]:
        at -= chances[piece]
        piece += 1
    if listed or begins[piece + 1] - begins[piece] == 1:
        return begins[piece], chances[piece]
    size = begins[piece + 1] - begins[piece]
    return begins[piece] + random_below(state, size), chances[piece] / size


@compiled
def _chance_of(value: Any, pieces: Any, begins: IntArray, listed: Any, chances: FloatArray) -> Any:
    """The probability with which a value would be chosen."""
    if listed:
        piece = np.searchsorted(begins[:pieces], value)
        return chances[piece] if piece < pieces and begins[piece] == value else 0.0
    piece = np.searchsorted(begins[: pieces + 1], value, side="right") - 1
    if piece < 0 or piece >= pieces:
        return 0.0
    return chances[piece] / (begins[piece + 1] - begins[piece])


class Drawing(NamedTuple):
    """Where drawing is: at which table and which of its variables, what is placed, and room.

    `at` also holds the entries of rows and of the centre's systems that were looked at so far.
    """

    at: IntArray
    now: VariableBounds
    queue: RowQueue
    work: Workspace
    begins: IntArray
    chances: FloatArray
    state: IntArray


@compiled
def begin_drawing(matrix: ConstraintMatrix, centre: Centre, root: VariableBounds) -> Any:
    """Before the first table."""
    longest = CANDIDATES + 1
    for variable in range(len(root.lower)):
        longest = max(longest, matrix.lists[variable + 1] - matrix.lists[variable] + 1)
    return Drawing(
        np.zeros(3, dtype=np.int64), copied(root), empty_queue(matrix), workspace(centre),
        np.zeros(longest, dtype=np.int64), np.zeros(longest), np.zeros(1, dtype=np.uint64),
    )  # fmt: skip


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
    at, now, queue, work, begins, chances, state = drawing
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
            listed = matrix.lists[variable + 1] > matrix.lists[variable]
            pieces = _offered(matrix, now, variable, begins)
            _weighed(law, mean, spread, shape, low, high, pieces, begins, listed, chances)
            if given:
                value = tables[number, variable]
                chance = _chance_of(value, pieces, begins, listed, chances)
            else:
                value, chance = _choose(pieces, begins, listed, chances, state)
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
            if not holds(matrix, now) or (given and (now.lower != tables[number]).any()):
                logs[number] = -np.inf
            tables[number] = now.lower
        at[0] += 1
        at[1] = 0
    return True
