"""Sums of weights over the paths of a diagram, and draws of paths; compiled.

Numbers are pairs ``mantissa * 2**(512 * exponent)``, mantissa 0 or in [2**-256, 2**256): in almost
all sums the exponents agree, and nothing but an addition is left. A term that is dropped beside
another is smaller by 2**-512 at least.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cellbounds.inference.decision_diagram.layers import Floor
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.compilation import compiled
from cellbounds.runtime.scaled_floats import FloatArray

__all__ = ["RANGE", "back", "best", "draw", "forth", "masses", "most_terms"]

RANGE = 512
"""Powers of two between one exponent and the next."""

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
def _goal(floor: Floor, node: Any, k: Any) -> Any:
    """The node that the k-th value of a node leads to; -1 if there is none."""
    place = floor.goals[node] + floor.step * k
    if len(floor.numbers) == 0:
        return np.int64(place)
    return np.int64(floor.numbers[place])


@compiled
def _weight(
    floor: Floor, node: Any, k: Any, starts: IntArray, weights: FloatArray, exponents: IntArray
) -> tuple[Any, Any]:
    """The weight of the k-th values of a node."""
    mantissa, exponent = 1.0, 0
    for cell in range(len(starts)):
        at = starts[cell] + floor.firsts[node, cell] + floor.slopes[cell] * k
        mantissa, exponent = _normal(mantissa * weights[at], exponent + np.int64(exponents[at]))
    return mantissa, exponent


@compiled
def back(
    floor: Floor,
    starts: IntArray,
    weights: FloatArray,
    exponents: IntArray,
    after: FloatArray,
    after_exponents: IntArray,
    here: FloatArray,
    here_exponents: IntArray,
) -> None:
    """The weight of all ways from each node to the end, from those of the next layer."""
    for node in range(len(floor.sizes)):
        mantissa, exponent = 0.0, 0
        for k in range(floor.sizes[node]):
            goal = _goal(floor, node, k)
            if goal >= 0:
                term, power = _weight(floor, node, k, starts, weights, exponents)
                term, power = _normal(term * after[goal], power + after_exponents[goal])
                mantissa, exponent = _plus(mantissa, exponent, term, power)
        here[node], here_exponents[node] = _normal(mantissa, exponent)


@compiled
def forth(
    floor: Floor,
    starts: IntArray,
    weights: FloatArray,
    exponents: IntArray,
    here: FloatArray,
    here_exponents: IntArray,
    after: FloatArray,
    after_exponents: IntArray,
) -> None:
    """The weight of all ways from the start to each node of the next layer.

    Where all values lead to the same place, they are summed up before they are added there.
    """
    for node in range(len(floor.sizes)):
        mantissa, exponent = 0.0, 0
        for k in range(floor.sizes[node]):
            goal = _goal(floor, node, k)
            if goal < 0:
                continue
            term, power = _weight(floor, node, k, starts, weights, exponents)
            mantissa, exponent = _plus(mantissa, exponent, term, power)
            if floor.step == 0 and k + 1 < floor.sizes[node]:
                continue
            mantissa, exponent = _normal(mantissa, exponent)
            mantissa, exponent = _normal(mantissa * here[node], exponent + here_exponents[node])
            after[goal], after_exponents[goal] = _plus(
                after[goal], np.int64(after_exponents[goal]), mantissa, exponent
            )
            mantissa, exponent = 0.0, 0
    for goal in range(len(after)):
        after[goal], after_exponents[goal] = _normal(after[goal], np.int64(after_exponents[goal]))


@compiled
def most_terms(floor: Floor, terms: IntArray) -> int:
    """The largest number of terms that are added to one node, one after the other."""
    most = 0
    for node in range(len(floor.sizes)):
        for k in range(floor.sizes[node] if floor.step == 1 else min(floor.sizes[node], 1)):
            goal = _goal(floor, node, k)
            if goal >= 0:
                terms[goal] += 1
                most = max(most, terms[goal])
    return most


@compiled
def masses(
    floor: Floor,
    starts: IntArray,
    weights: FloatArray,
    exponents: IntArray,
    here: FloatArray,
    here_exponents: IntArray,
    after: FloatArray,
    after_exponents: IntArray,
    block: int,
    found: FloatArray,
    found_exponents: IntArray,
) -> None:
    """The weight of all paths in which each cell of the layer has each of its values.

    Sums are made in blocks of nodes, so that no sum has very many terms.
    """
    part = np.zeros(len(found))
    part_exponents = np.zeros(len(found), dtype=np.int64)
    for begin in range(0, len(floor.sizes), block):
        part[:] = 0.0
        for node in range(begin, min(begin + block, len(floor.sizes))):
            if here[node] == 0.0:
                continue
            for k in range(floor.sizes[node]):
                goal = _goal(floor, node, k)
                if goal < 0:
                    continue
                term, power = _weight(floor, node, k, starts, weights, exponents)
                term, power = _normal(term * after[goal], power + after_exponents[goal])
                term, power = _normal(term * here[node], power + here_exponents[node])
                for cell in range(len(starts)):
                    value = starts[cell] + floor.firsts[node, cell] + floor.slopes[cell] * k
                    part[value], part_exponents[value] = _plus(
                        part[value], part_exponents[value], term, power
                    )
        for value in range(len(found)):
            term, power = _normal(part[value], part_exponents[value])
            found[value], found_exponents[value] = _plus(
                found[value], found_exponents[value], term, power
            )


@compiled
def best(
    floor: Floor, starts: IntArray, logs: FloatArray, after: FloatArray, here: FloatArray
) -> None:
    """The largest logarithm of a weight on any way from each node to the end."""
    for node in range(len(floor.sizes)):
        highest = -np.inf
        for k in range(floor.sizes[node]):
            goal = _goal(floor, node, k)
            if goal >= 0:
                log = after[goal]
                for cell in range(len(starts)):
                    log += logs[starts[cell] + floor.firsts[node, cell] + floor.slopes[cell] * k]
                highest = max(highest, log)
        here[node] = highest


@compiled
def draw(
    floor: Floor,
    starts: IntArray,
    weights: FloatArray,
    exponents: IntArray,
    after: FloatArray,
    after_exponents: IntArray,
    uniform: FloatArray,
    nodes: IntArray,
    values: IntArray,
) -> None:
    """Move every draw from its node to one of the next layer; `values` gets the counts."""
    for one in range(len(nodes)):
        node = nodes[one]
        mantissa, exponent = 0.0, 0
        for k in range(floor.sizes[node]):
            goal = _goal(floor, node, k)
            if goal >= 0:
                term, power = _weight(floor, node, k, starts, weights, exponents)
                term, power = _normal(term * after[goal], power + after_exponents[goal])
                mantissa, exponent = _plus(mantissa, exponent, term, power)
        asked = mantissa * uniform[one]
        seen = 0.0
        chosen = -1
        for k in range(floor.sizes[node]):
            goal = _goal(floor, node, k)
            if goal < 0:
                continue
            term, power = _weight(floor, node, k, starts, weights, exponents)
            term, power = _normal(term * after[goal], power + after_exponents[goal])
            # Far smaller terms have no part in the sum, and are never drawn.
            if term == 0.0 or power < exponent - 1:
                continue
            chosen = k
            seen += term if power == exponent else term * DOWN
            if seen > asked:
                break
        nodes[one] = _goal(floor, node, chosen)
        for cell in range(len(starts)):
            first = floor.lowers[cell] + floor.firsts[node, cell]
            values[one, cell] = first + floor.slopes[cell] * chosen
