"""Sums of weights over the paths of a diagram, and draws of paths; compiled.

Numbers are pairs ``mantissa * 2**(512 * exponent)``, mantissa 0 or in [2**-256, 2**256): in almost
all sums the exponents agree, and nothing but an addition is left. A term that is dropped beside
another is smaller by 2**-512 at least.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cellbounds.inference.decision_diagram.expansion_kernel import FEW
from cellbounds.inference.decision_diagram.layers import DiagramLayer
from cellbounds.inference.decision_diagram.paths import RANGE, LayerWeights, RangedFloats
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.compilation import compiled, compiled_above
from cellbounds.runtime.scaled_floats import FloatArray

UP, DOWN = 2.0**RANGE, 2.0**-RANGE
TOP, BOTTOM = 2.0 ** (RANGE // 2), 2.0 ** -(RANGE // 2)


@compiled
def _normal(mantissa: Any, exponent: Any) -> tuple[Any, Any]:
    """The same number with its mantissa in range."""
    if mantissa >= TOP:
        return mantissa * DOWN, exponent + 1
    if 0 < mantissa < BOTTOM:
        return mantissa * UP, exponent - 1
    return mantissa, exponent


@compiled
def _plus(mantissa: Any, exponent: Any, other: Any, other_exponent: Any) -> tuple[Any, Any]:
    """The sum of two numbers; its mantissa may be above the range."""
    if other == 0.0:
        return mantissa, exponent
    if mantissa == 0.0:
        return other, other_exponent
    if exponent == other_exponent:
        return mantissa + other, exponent
    if exponent > other_exponent:
        return (mantissa + other * DOWN if exponent == other_exponent + 1 else mantissa), exponent
    if exponent + 1 == other_exponent:
        return mantissa * DOWN + other, other_exponent
    return other, other_exponent


@compiled
def _goal(layer: DiagramLayer, node: Any, k: Any) -> Any:
    """The node that the k-th value of a node leads to; -1 if there is none."""
    place = layer.goals[node] + layer.step * k
    if len(layer.numbers) == 0:
        return np.int64(place)
    return np.int64(layer.numbers[place])


# Tuples are taken apart before loops: handing them on, or looking a member up, counts references
# to all their arrays, which costs more than the arithmetic.
@compiled
def _weight(
    layer: DiagramLayer, node: Any, k: Any, starts: IntArray, mantissas: FloatArray,
    exponents: IntArray,
) -> tuple[Any, Any]:  # fmt: skip
    """The weight of the k-th values of a node."""
    mantissa, exponent = 1.0, 0
    for cell in range(len(starts)):
        at = starts[cell] + layer.firsts[node, cell] + layer.slopes[cell] * k
        mantissa, exponent = _normal(mantissa * mantissas[at], exponent + np.int64(exponents[at]))
    return mantissa, exponent


@compiled_above(FEW)
def backward(
    layer: DiagramLayer, weights: LayerWeights, after: RangedFloats, here: RangedFloats
) -> None:
    """The weight of all ways from each node to the end, from those of the next layer."""
    starts, mantissas, exponents = weights
    ahead, ahead_powers = after
    sums, powers = here
    for node in range(len(layer.sizes)):
        mantissa, exponent = 0.0, 0
        for k in range(layer.sizes[node]):
            goal = _goal(layer, node, k)
            if goal >= 0:
                term, power = _weight(layer, node, k, starts, mantissas, exponents)
                term, power = _normal(term * ahead[goal], power + ahead_powers[goal])
                mantissa, exponent = _plus(mantissa, exponent, term, power)
        sums[node], powers[node] = _normal(mantissa, exponent)


@compiled_above(FEW)
def forward(
    layer: DiagramLayer, weights: LayerWeights, here: RangedFloats, after: RangedFloats
) -> None:
    """The weight of all ways from the start to each node of the next layer.

    Where all values lead to the same place, they are summed up before they are added there.
    """
    starts, mantissas, exponents = weights
    before, before_powers = here
    sums, powers = after
    for node in range(len(layer.sizes)):
        mantissa, exponent = 0.0, 0
        for k in range(layer.sizes[node]):
            goal = _goal(layer, node, k)
            if goal < 0:
                continue
            term, power = _weight(layer, node, k, starts, mantissas, exponents)
            mantissa, exponent = _plus(mantissa, exponent, term, power)
            if layer.step == 0 and k + 1 < layer.sizes[node]:
                continue
            mantissa, exponent = _normal(mantissa, exponent)
            mantissa, exponent = _normal(mantissa * before[node], exponent + before_powers[node])
            sums[goal], powers[goal] = _plus(sums[goal], np.int64(powers[goal]), mantissa, exponent)
            mantissa, exponent = 0.0, 0
    for goal in range(len(sums)):
        sums[goal], powers[goal] = _normal(sums[goal], np.int64(powers[goal]))


@compiled_above(FEW)
def masses(
    layer: DiagramLayer, weights: LayerWeights, here: RangedFloats, after: RangedFloats,
    block: int, by_value: RangedFloats,
) -> None:  # fmt: skip
    """The weight of all paths in which each cell of the layer has each of its values.

    Sums are made in blocks of nodes, so that no sum has very many terms.
    """
    starts, mantissas, exponents = weights
    before, before_powers = here
    ahead, ahead_powers = after
    sums, powers = by_value
    # What goes through an edge: ways to its node, its own weight, ways from its goal.
    part, part_powers = np.zeros(len(sums)), np.zeros(len(sums), dtype=np.int64)
    for begin in range(0, len(layer.sizes), block):
        part[:] = 0.0
        for node in range(begin, min(begin + block, len(layer.sizes))):
            if before[node] == 0.0:
                continue
            for k in range(layer.sizes[node]):
                goal = _goal(layer, node, k)
                if goal < 0:
                    continue
                term, power = _weight(layer, node, k, starts, mantissas, exponents)
                term, power = _normal(term * ahead[goal], power + ahead_powers[goal])
                term, power = _normal(term * before[node], power + before_powers[node])
                for cell in range(len(starts)):
                    at = starts[cell] + layer.firsts[node, cell] + layer.slopes[cell] * k
                    part[at], part_powers[at] = _plus(part[at], part_powers[at], term, power)
        for at in range(len(sums)):
            term, power = _normal(part[at], part_powers[at])
            sums[at], powers[at] = _plus(sums[at], powers[at], term, power)


@compiled_above(FEW)
def best(
    layer: DiagramLayer, starts: IntArray, logs: FloatArray, after: FloatArray, here: FloatArray
) -> None:
    """The largest logarithm of a weight on any way from each node to the end."""
    for node in range(len(layer.sizes)):
        highest = -np.inf
        for k in range(layer.sizes[node]):
            goal = _goal(layer, node, k)
            if goal >= 0:
                log = after[goal]
                for cell in range(len(starts)):
                    log += logs[starts[cell] + layer.firsts[node, cell] + layer.slopes[cell] * k]
                highest = max(highest, log)
        here[node] = highest


@compiled_above(FEW)
def draw(
    layer: DiagramLayer, weights: LayerWeights, here: RangedFloats, after: RangedFloats,
    uniform: FloatArray, nodes: IntArray, values: IntArray,
) -> None:  # fmt: skip
    """Move every draw from its node to one of the next layer; `values` gets the counts.

    `here` are the weights of all ways from each node on, which the terms of its values add up to.
    """
    starts, mantissas, exponents = weights
    sums, powers = here
    ahead, ahead_powers = after
    for number in range(len(nodes)):
        node = nodes[number]
        wanted, exponent = sums[node] * uniform[number], powers[node]
        seen = 0.0
        chosen = -1
        for k in range(layer.sizes[node]):
            goal = _goal(layer, node, k)
            if goal < 0:
                continue
            term, power = _weight(layer, node, k, starts, mantissas, exponents)
            term, power = _normal(term * ahead[goal], power + ahead_powers[goal])
            # Far smaller terms have no part in the sum, and are never drawn.
            if term == 0.0 or power < exponent - 1:
                continue
            chosen = k
            seen += term if power == exponent else term * DOWN
            if seen > wanted:
                break
        nodes[number] = _goal(layer, node, chosen)
        for cell in range(len(starts)):
            first = layer.lowers[cell] + layer.firsts[node, cell]
            values[number, cell] = first + layer.slopes[cell] * chosen
