"""Sums of weights over the paths of a diagram, and draws of paths; compiled.

Numbers are pairs ``mantissa * 2**(512 * exponent)``, mantissa 0 or in [2**-256, 2**256): in almost
all sums the exponents agree, and nothing but an addition is left. A term that is dropped beside
another is smaller by 2**-512 at least.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from cellbounds.arrays import IntArray
from cellbounds.fibre.diagram.growing import Floor
from cellbounds.wide import FloatArray

__all__ = ["RANGE", "back", "best", "draw", "forth", "masses", "most_terms"]

RANGE = 512
"""Powers of two between one exponent and the next."""

UP, DOWN = 2.0**RANGE, 2.0**-RANGE
TOP, BOTTOM = 2.0 ** (RANGE // 2), 2.0 ** -(RANGE // 2)


def _compiled(function: Any) -> Any:
    """Compile when first called, and keep the result on disk if there is a place for it."""
    try:
        return njit(cache=True)(function)
    except RuntimeError:  # neither the package's folder nor the user's cache can be written
        return njit(function)


@_compiled
def _normal(mantissa: Any, exponent: Any) -> tuple[Any, Any]:
    """The same number with its mantissa in range."""
    if mantissa >= TOP:
        return mantissa * DOWN, exponent + 1
    if 0 < mantissa < BOTTOM:
        return mantissa * UP, exponent - 1
    return mantissa, exponent


@_compiled
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


@_compiled
def _goal(floor: Floor, node: Any, k: Any) -> Any:
    """The node that the k-th value of a node leads to; -1 if there is none."""
    place = floor.goals[node] + floor.step * k
    if len(floor.numbers) == 0:
        return np.int64(place)
    return np.int64(floor.numbers[place])


@_compiled
def back(
    floor: Floor,
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
                value = floor.firsts[node] + k
                term, power = _normal(
                    weights[value] * after[goal],
                    np.int64(exponents[value]) + after_exponents[goal],
                )
                mantissa, exponent = _plus(mantissa, exponent, term, power)
        here[node], here_exponents[node] = _normal(mantissa, exponent)


@_compiled
def forth(
    floor: Floor,
    weights: FloatArray,
    exponents: IntArray,
    here: FloatArray,
    here_exponents: IntArray,
    after: FloatArray,
    after_exponents: IntArray,
) -> None:
    """The weight of all ways from the start to each node of the next layer."""
    for node in range(len(floor.sizes)):
        for k in range(floor.sizes[node]):
            goal = _goal(floor, node, k)
            if goal >= 0:
                value = floor.firsts[node] + k
                term, power = _normal(
                    weights[value] * here[node], np.int64(exponents[value]) + here_exponents[node]
                )
                mantissa, exponent = _plus(
                    after[goal], np.int64(after_exponents[goal]), term, power
                )
                after[goal], after_exponents[goal] = mantissa, exponent
    for goal in range(len(after)):
        after[goal], after_exponents[goal] = _normal(after[goal], np.int64(after_exponents[goal]))


@_compiled
def most_terms(floor: Floor, terms: IntArray) -> int:
    """The largest number of edges that lead to one node."""
    most = 0
    for node in range(len(floor.sizes)):
        for k in range(floor.sizes[node]):
            goal = _goal(floor, node, k)
            if goal >= 0:
                terms[goal] += 1
                most = max(most, terms[goal])
    return most


@_compiled
def masses(
    floor: Floor,
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
    """The weight of all paths in which the cell has each of its values.

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
                value = floor.firsts[node] + k
                term, power = _normal(
                    weights[value] * after[goal],
                    np.int64(exponents[value]) + after_exponents[goal],
                )
                term, power = _normal(term * here[node], power + here_exponents[node])
                part[value], part_exponents[value] = _plus(
                    part[value], part_exponents[value], term, power
                )
        for value in range(len(found)):
            term, power = _normal(part[value], part_exponents[value])
            found[value], found_exponents[value] = _plus(
                found[value], found_exponents[value], term, power
            )


@_compiled
def best(floor: Floor, logs: FloatArray, after: FloatArray, here: FloatArray) -> None:
    """The largest logarithm of a weight on any way from each node to the end."""
    for node in range(len(floor.sizes)):
        highest = -np.inf
        for k in range(floor.sizes[node]):
            goal = _goal(floor, node, k)
            if goal >= 0:
                highest = max(highest, logs[floor.firsts[node] + k] + after[goal])
        here[node] = highest


@_compiled
def draw(
    floor: Floor,
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
                value = floor.firsts[node] + k
                term, power = _normal(
                    weights[value] * after[goal],
                    np.int64(exponents[value]) + after_exponents[goal],
                )
                mantissa, exponent = _plus(mantissa, exponent, term, power)
        asked = mantissa * uniform[one]
        seen = 0.0
        for k in range(floor.sizes[node]):
            goal = _goal(floor, node, k)
            if goal < 0 or weights[floor.firsts[node] + k] == 0.0 or after[goal] == 0.0:
                continue
            value = floor.firsts[node] + k
            term, power = _normal(
                weights[value] * after[goal], np.int64(exponents[value]) + after_exponents[goal]
            )
            # Far smaller terms have no part in the sum, and are never drawn.
            if power < exponent - 1:
                continue
            nodes[one], values[one] = goal, floor.lower + value
            seen += term if power == exponent else term * DOWN
            if seen > asked:
                break
