"""Metropolis steps over integer tables, compiled.

A step proposes a move, a random one of all (or the next of a list that was drawn beforehand), with
a random sign; or, in the two-step proposal, one that varies the summed table or none, and one that
keeps it. Either way a proposal is exactly as likely as the one back: the same moves with the other
signs. So a proposal is accepted with the ratio of the two weights, if the table is consistent.
That is decided in integers; only the ratio is a float.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.compilation import compiled, random_below, random_unit
from cellbounds.runtime.scaled_floats import FloatArray


class Limits(NamedTuple):
    """What each value of a chain may be: the counts of the cells, then the sums of rows.

    Value v must lie between ``lower[v]`` and ``upper[v]``, and must be one of
    ``listed[starts[v]:starts[v + 1]]`` (ascending) if there are any.
    """

    lower: IntArray
    upper: IntArray
    starts: IntArray
    listed: IntArray


class MoveTable(NamedTuple):
    """Moves: number k adds ``changes[starts[k]:starts[k + 1]]`` to the values at the same places.

    `varying` and `keeping` are the numbers of the moves of either family.
    """

    starts: IntArray
    places: IntArray
    changes: IntArray
    varying: IntArray
    keeping: IntArray


class CellWeights(NamedTuple):
    """The weights of the cells: shape (-1: none) and factor with its logarithm.

    If `latent`, the means of the cells are drawn in each step, Gamma(count + shape, factor), and
    the table is weighed as Poisson given them.
    """

    shapes: FloatArray
    factors: FloatArray
    logarithms: FloatArray
    latent: bool


class SumWeights(NamedTuple):
    """The weights of sums that figures made by chance tell of, by the number of the value.

    The logarithms of the counts from ``low[v]`` on are ``logs[starts[v]:starts[v + 1]]``; beyond
    them it falls by ``fall[v]`` at each step. Nothing listed: the value has no weight.
    """

    starts: IntArray
    low: IntArray
    logs: FloatArray
    fall: FloatArray


@compiled
def _sum_log(sums: SumWeights, place: Any, value: Any) -> Any:
    """The logarithm of the weight of a sum."""
    first, last, low = sums.starts[place], sums.starts[place + 1], sums.low[place]
    if value < low:
        return sums.logs[first] - (low - value) * sums.fall[place]
    beyond = value - low - (last - first - 1)
    if beyond > 0:
        return sums.logs[last - 1] - beyond * sums.fall[place]
    return sums.logs[first + value - low]


@compiled
def _gain(count: int, change: int, shape: float, logarithm: float) -> Any:
    """The logarithm of the weight of ``count + change`` over that of `count`."""
    gain = change * logarithm
    if shape == 1.0:
        return gain  # the two factorials cancel: geometric weights
    if -16 <= change <= 16:
        # Nearly all changes are small, and a few logarithms cost less than four lgammas; they are
        # also exact where lgamma of a large count would cancel.
        low, high = min(count, count + change), max(count, count + change)
        product = 0.0
        for n in range(low, high):
            product += math.log((shape + n if shape >= 0 else 1.0) / (n + 1.0))
        return gain + product if change > 0 else gain - product
    after = count + change
    gain += math.lgamma(count + 1.0) - math.lgamma(after + 1.0)
    if shape >= 0:
        gain += math.lgamma(after + shape) - math.lgamma(count + shape)
    return gain


@compiled
def advance(
    table: MoveTable,
    limits: Limits,
    weights: CellWeights,
    sums: SumWeights,
    values: IntArray,
    clock: IntArray,
    thin: int,
    steps: int,
    two_step: bool,
    in_order: bool,
    state: IntArray,
    generator: np.random.Generator,
    tables: IntArray,
    means: FloatArray,
) -> Any:
    """Make some steps of one chain; returns how many proposals were accepted.

    `values`, `state` and `clock` change in place. The clock holds the steps until the next table
    is kept and the number of tables kept; `means` are kept with the tables if latent.
    """
    # Members of tuples are taken out once: looking them up in a loop costs more than a step.
    move_starts, places, changes = table.starts, table.places, table.changes
    varying, keeping = table.varying, table.keeping
    lower, upper, starts, listed = limits.lower, limits.upper, limits.starts, limits.listed
    shapes, factors, logarithms = weights.shapes, weights.factors, weights.logarithms
    latent = weights.latent
    moves, cells = len(move_starts) - 1, len(shapes)
    # The proposal: the values that it touches, marked with its number, and by how much. Marks
    # spare clearing these arrays before each step, which would cost as much as a table is large
    # while a move touches a few cells.
    delta, touched = np.zeros(len(values), dtype=np.int64), np.zeros(len(values), dtype=np.int64)
    mark = np.zeros(len(values), dtype=np.int64)
    mean = np.zeros(cells)
    accepted = 0
    for number in range(1, steps + 1):
        many = 0
        # One move, or two of different families. "None" is among what the first of two may be:
        # else the summed table would change in every step, and a chain could not keep it.
        for part in range(2):
            pick = -1
            if two_step and part == 0:
                place = random_below(state, len(varying) + 1)
                if place < len(varying):
                    pick = varying[place]
            elif two_step:
                if len(keeping):
                    pick = keeping[random_below(state, len(keeping))]
            elif part == 0 and moves:
                pick = number - 1 if in_order else random_below(state, moves)
            if pick < 0:
                continue
            sign = 1 if random_unit(state) < 0.5 else -1
            for k in range(move_starts[pick], move_starts[pick + 1]):
                place = places[k]
                if mark[place] != number:
                    mark[place] = number
                    touched[many] = place
                    delta[place] = 0
                    many += 1
                delta[place] += sign * changes[k]
                after = values[place] + delta[place]
                if not two_step and (after < lower[place] or after > upper[place]):
                    # Most proposals are refused by their first cells: rows come after them.
                    many = 0
                    break
        possible = many > 0
        for t in range(many):
            place = touched[t]
            after = values[place] + delta[place]
            possible = lower[place] <= after <= upper[place]
            first, last = starts[place], starts[place + 1]
            if possible and first < last:
                at = first + np.searchsorted(listed[first:last], after)
                possible = at < last and listed[at] == after
            if not possible:
                break
        # A refused proposal is a step as well: the table stays, and counts again.
        keeps = clock[0] == 1
        if latent and keeps:
            for cell in range(cells):
                mean[cell] = generator.standard_gamma(values[cell] + shapes[cell]) * factors[cell]
        elif latent and possible:
            # Means are independent of each other: others than these do not matter here.
            for t in range(many):
                cell = touched[t]
                if cell < cells:
                    shape = values[cell] + shapes[cell]
                    mean[cell] = generator.standard_gamma(shape) * factors[cell]
        if possible:
            gain = 0.0
            for t in range(many):
                cell = touched[t]
                if sums.starts[cell] < sums.starts[cell + 1]:
                    before = _sum_log(sums, cell, values[cell])
                    gain += _sum_log(sums, cell, values[cell] + delta[cell]) - before
                if cell >= cells:
                    continue
                if latent:
                    # A mean may be too small for a double; it is not zero.
                    log_mean = math.log(max(mean[cell], 1e-300))
                    gain += _gain(values[cell], delta[cell], -1.0, log_mean)
                else:
                    gain += _gain(values[cell], delta[cell], shapes[cell], logarithms[cell])
            if gain >= 0.0 or random_unit(state) < math.exp(gain):
                accepted += 1
                for t in range(many):
                    values[touched[t]] += delta[touched[t]]
        clock[0] -= 1
        if keeps:
            tables[clock[1]] = values[:cells]
            if latent:
                means[clock[1]] = mean
            clock[0] = thin
            clock[1] += 1
    return accepted
