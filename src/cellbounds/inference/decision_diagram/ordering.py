"""In which order cells are placed: the size of a diagram depends on it more than on anything."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cellbounds.inference.decision_diagram.components import LinearSum
from cellbounds.inference.decision_diagram.layers import partial_sums
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.scaled_floats import FloatArray

SMALL = 1e5
"""A diagram with fewer steps than this is not worth looking for a better order."""

MOST_GREEDY = 400
"""Cells up to which an order is grown cell by cell."""

MOST_RANKED = 80
"""Cells up to which it is taken into account that some sums follow from others."""

MOST_AXES = 5
"""Variables up to which all orders of the axes are tried."""


@dataclass(frozen=True, slots=True, eq=False)
class Order:
    """The cells in the order in which they are placed, and the steps at most, as a logarithm."""

    cells: IntArray
    log_steps: float


def best_order(
    sums: Sequence[LinearSum], lower: IntArray, upper: IntArray, positions: Sequence[IntArray]
) -> Order:
    """The order of fewest steps among some that are often good.

    `positions` are the levels of the cells, variable by variable.
    """
    best = None
    for cells in _proposals(sums, lower, upper, positions):
        steps = log_steps(cells, sums, lower, upper)
        if best is None or steps < best.log_steps:
            best = Order(cells, steps)
        if best.log_steps < np.log(SMALL):
            break
    assert best is not None
    return best


def log_steps(
    cells: IntArray, sums: Sequence[LinearSum], lower: IntArray, upper: IntArray
) -> float:
    """The logarithm of the edges that a diagram in this order has at most, roughly."""
    rank = np.empty_like(cells)
    rank[cells] = np.arange(len(cells))
    choices = np.log(upper[cells] - lower[cells] + 1.0)
    widths = np.zeros((len(sums), len(cells) + 1))
    for row, total in enumerate(sums):
        partial = partial_sums(total, rank, lower, upper)
        places = partial.places
        logs = np.log(np.maximum(partial.width, 1).astype(float))
        widths[row] = np.repeat(logs, np.diff([0, *(places + 1).tolist(), len(cells) + 1]))
        # What is left for a cell: no more values than partial sums it can lead to.
        reach = (partial.high - partial.low)[1:] // np.abs(partial.factors) + 1
        logs = np.log(np.maximum(reach, 1).astype(float))
        choices[places] = np.minimum(choices[places], logs)
    frontier = widths.sum(axis=0)
    if len(cells) <= MOST_RANKED and _total(frontier, choices) > np.log(SMALL):
        frontier = _independent(widths, sums, rank)
    return _total(frontier, choices)


def _independent(widths: FloatArray, sums: Sequence[LinearSum], rank: IntArray) -> FloatArray:
    """The logarithm of the nodes of each layer, without sums that follow from narrower ones."""
    dense = np.zeros((len(sums), len(rank)))
    for row, total in enumerate(sums):
        dense[row, rank[total.cells]] = total.factors
    ends = np.array([int(rank[total.cells].max()) for total in sums])
    fixed = np.array([total.fixed for total in sums])
    nodes = np.zeros(len(rank) + 1)
    for place in range(1, len(rank)):
        # Finished equations are known; open sums follow in the order of their widths.
        known = np.flatnonzero(fixed & (ends < place))
        open_rows = np.flatnonzero(widths[:, place] > 0)
        order = [*known, *open_rows[np.argsort(widths[open_rows, place])]]
        basis = np.zeros((min(len(order), place), place))
        held = 0
        for row in order:
            vector = dense[row, :place]
            rest = vector - basis[:held].T @ (basis[:held] @ vector)
            length = float(np.sqrt(rest @ rest))
            if held < len(basis) and length > 1e-7 * np.sqrt(vector @ vector):
                basis[held] = rest / length
                held += 1
                nodes[place] += widths[row, place]
    return nodes


def _total(frontier: FloatArray, choices: FloatArray) -> float:
    nodes, steps = 0.0, -np.inf
    for place, choice in enumerate(choices.tolist()):
        edges = nodes + choice
        steps = float(np.logaddexp(steps, edges))
        nodes = min(edges, max(float(frontier[place + 1]), 0.0))
    return steps


def _proposals(
    sums: Sequence[LinearSum], lower: IntArray, upper: IntArray, positions: Sequence[IntArray]
) -> Iterator[IntArray]:
    size = len(lower)
    yield np.arange(size)
    axes = [levels for levels in positions if len(np.unique(levels)) > 1]
    weight = (upper - lower).astype(float)
    rising = [_by_weight(levels, weight) for levels in axes]
    for laid in (rising, axes, [-levels for levels in rising]) if axes else ():
        few = len(laid) <= MOST_AXES
        orders = itertools.permutations(laid) if few else [tuple(laid), tuple(laid[::-1])]
        yield from map(np.lexsort, orders)
    if len(rising) <= MOST_AXES:
        yield from _turned(rising)
    if size <= MOST_GREEDY:
        yield from _grown(sums, lower, upper)


def _turned(axes: Sequence[IntArray]) -> Iterator[IntArray]:
    """Half of the lines along one axis, then the others across: what is open shrinks from both."""
    for place, lines in enumerate(axes):
        others = [*axes[:place], *axes[place + 1 :]]
        for chosen in itertools.permutations(others):
            for half in {(int(lines.max()) + 1) // 2, (int(lines.max()) + 2) // 2}:
                late = lines >= half
                along = np.where(late, 0, lines)
                across = np.where(late, lines, 0)
                yield np.lexsort((across, *chosen, along, late))


def _by_weight(levels: IntArray, weight: FloatArray) -> IntArray:
    """Levels renumbered by the room that their cells have, smallest first."""
    distinct, inverse = np.unique(levels, return_inverse=True)
    rank = np.empty(len(distinct), dtype=np.int64)
    rank[np.argsort(np.bincount(inverse, weight), kind="stable")] = np.arange(len(distinct))
    return np.asarray(rank[inverse])


def _grown(sums: Sequence[LinearSum], lower: IntArray, upper: IntArray) -> Iterator[IntArray]:
    """Cell by cell, always the one that leaves least to remember; from a few first cells."""
    room = (upper - lower).astype(float)
    touching: list[list[tuple[int, float]]] = [[] for _ in room]
    ends = []
    for place, total in enumerate(sums):
        base, top = total.ends(lower, upper)
        ends.append((float(top - base), float(total.lower - base), float(total.upper - base)))
        for cell, factor in zip(total.cells.tolist(), total.factors.tolist(), strict=True):
            touching[cell].append((place, abs(factor) * room[cell]))

    def remembered(place: int, placed: float) -> float:
        """The logarithm of the partial sums of which some may have to be told apart."""
        whole, least, most = ends[place]
        rest = whole - placed
        if not rest or not placed:
            return 0.0
        return math.log1p(max(min(placed, most) - max(0.0, least - rest), 0.0))

    def growth(cell: int, done: dict[int, float]) -> float:
        held = ((place, done.get(place, 0.0), span) for place, span in touching[cell])
        return sum(remembered(k, old + span) - remembered(k, old) for k, old, span in held)

    def order_from(cell: int) -> IntArray:
        order, left, done = [cell], set(range(len(room))) - {cell}, dict(touching[cell])
        while left:
            cell = min(left, key=lambda k: (growth(k, done), room[k], k))
            order.append(cell)
            left.discard(cell)
            for place, span in touching[cell]:
                done[place] = done.get(place, 0.0) + span
        return np.array(order)

    for first in {int(np.argmin(room)), int(np.argmax(room))}:
        yield order_from(first)
