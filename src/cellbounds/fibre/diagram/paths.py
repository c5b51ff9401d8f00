"""A finished diagram: its paths are the tables of one part of a release."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from cellbounds.arrays import IntArray
from cellbounds.beliefs import Kind, Weights
from cellbounds.fibre.diagram.growing import Floor
from cellbounds.results.distribution import Distribution
from cellbounds.wide import UNIT, FloatArray, Wide, log_of, probabilities, widened

__all__ = ["Diagram", "WeighedDiagram"]

MOST_TIES = 100
"""Tables that look equally likely are compared in fractions up to this number."""

TIE = 1e-9
"""Logarithms of weights closer than this may belong to equal weights."""


@dataclass(frozen=True, slots=True, eq=False)
class Diagram:
    """Layers of nodes; `order` says which cell of the part each layer places."""

    order: IntArray
    floors: tuple[Floor, ...]

    def listed(self) -> Iterator[IntArray]:
        """The counts of the part's cells, path by path; one array that changes from step to step.

        Ascending in the cell of the first layer, then of the second, and so on.
        """
        floors = self.floors
        if not floors or not floors[0].sizes[0]:
            return
        counts = np.zeros(len(floors), dtype=np.int64)
        last = len(floors) - 1
        nodes, turns = [0] * len(floors), [0] * len(floors)
        depth = 0
        while depth >= 0:
            floor, node, turn = floors[depth], nodes[depth], turns[depth]
            if turn == floor.sizes[node]:
                depth -= 1
                continue
            turns[depth] = turn + 1
            goal = self.goal(depth, node, turn)
            if goal < 0:
                continue
            counts[self.order[depth]] = floor.lower + int(floor.firsts[node]) + turn
            if depth == last:
                yield counts
                continue
            depth += 1
            nodes[depth], turns[depth] = goal, 0

    def goal(self, depth: int, node: int, turn: int) -> int:
        """The node that a value leads to; -1 if it does not lead to the end."""
        floor = self.floors[depth]
        place = int(floor.goals[node]) + floor.step * turn
        found = int(floor.numbers[place]) if len(floor.numbers) else place
        if found >= 0 and depth + 1 < len(self.floors) and not self.floors[depth + 1].sizes[found]:
            return -1
        return found


@dataclass(slots=True, eq=False)
class _Pairs:
    """Numbers as the compiled sums have them, see `walks`."""

    mantissa: FloatArray
    exponent: IntArray

    @classmethod
    def zeros(cls, size: int) -> _Pairs:
        return cls(np.zeros(size), np.zeros(size, dtype=np.int32))

    @classmethod
    def of(cls, numbers: Wide) -> _Pairs:
        from cellbounds.fibre.diagram.walks import RANGE

        exponent = np.where(numbers.mantissa == 0, 0, numbers.exponent)
        power = (exponent + RANGE // 2 - 1) // RANGE
        mantissa = np.ldexp(numbers.mantissa, exponent - RANGE * power)
        return cls(mantissa, power.astype(np.int32))

    def wide(self) -> Wide:
        from cellbounds.fibre.diagram.walks import RANGE

        return widened(self.mantissa, RANGE * self.exponent.astype(np.int64))


class WeighedDiagram:
    """Sums of weights over all paths of a diagram.

    Parameters
    ----------
    diagram
        The diagram; it has at least one path.
    kinds
        The kind of weight of each cell of the part.
    weights
        What makes weights of kinds.
    """

    def __init__(self, diagram: Diagram, kinds: tuple[Kind, ...], weights: Weights) -> None:
        from cellbounds.fibre.diagram.walks import back

        self._diagram, self._kinds, self._source = diagram, kinds, weights
        self._layer = {int(cell): layer for layer, cell in enumerate(diagram.order.tolist())}
        self._weights = [self._layer_weights(layer) for layer in range(len(diagram.floors))]
        self._back = [_Pairs(np.ones(1), np.zeros(1, dtype=np.int32))]
        for floor, weight in zip(reversed(diagram.floors), reversed(self._weights), strict=True):
            here, after = _Pairs.zeros(len(floor.sizes)), self._back[-1]
            back(
                floor, weight.mantissa, weight.exponent, after.mantissa, after.exponent,
                here.mantissa, here.exponent,
            )  # fmt: skip
            self._back.append(here)
        self._back.reverse()

    def _layer_weights(self, layer: int) -> _Pairs:
        floor, cell = self._diagram.floors[layer], int(self._diagram.order[layer])
        made = self._source.sequence_of(self._kinds[cell], floor.lower + floor.span - 1)
        return _Pairs.of(Wide(made.mantissa[floor.lower :], made.exponent[floor.lower :]))

    @property
    def log_mass(self) -> float:
        """The logarithm of the sum over all paths; minus infinity if it is zero."""
        total = self._back[0].wide()
        return log_of(float(total.mantissa[0]), int(total.exponent[0]))

    @cached_property
    def _forth(self) -> list[_Pairs]:
        """The weights of the ways to each node."""
        from cellbounds.fibre.diagram.walks import forth

        found = [_Pairs(np.ones(1), np.zeros(1, dtype=np.int32))]
        for layer, (floor, weight) in enumerate(
            zip(self._diagram.floors, self._weights, strict=True)
        ):
            here, after = found[-1], _Pairs.zeros(len(self._back[layer + 1].mantissa))
            forth(
                floor, weight.mantissa, weight.exponent, here.mantissa, here.exponent,
                after.mantissa, after.exponent,
            )  # fmt: skip
            found.append(after)
        return found

    @cached_property
    def error(self) -> float:
        """No probability is further from the truth than this part of itself."""
        from cellbounds.fibre.diagram.walks import most_terms

        roundings = 0
        for layer, floor in enumerate(self._diagram.floors):
            # Forwards and backwards: two for a weight, one for a product, one for each sum.
            terms = np.zeros(len(self._back[layer + 1].mantissa), dtype=np.int32)
            roundings += 6 + int(most_terms(floor, terms)) + int(floor.sizes.max())
        largest = max(len(floor.sizes) for floor in self._diagram.floors)
        roundings += 2 * (math.isqrt(largest) + 1) + 4
        # Once in what is divided, once in what it is divided by, and the division.
        return 1.01 * UNIT * (2 * roundings + 4)

    def distribution(self, cell: int) -> Distribution:
        """The distribution of one cell of the part."""
        from cellbounds.fibre.diagram.walks import masses

        layer = self._layer[cell]
        floor, weight = self._diagram.floors[layer], self._weights[layer]
        here, after = self._forth[layer], self._back[layer + 1]
        found = np.zeros(floor.span), np.zeros(floor.span, dtype=np.int64)
        masses(
            floor, weight.mantissa, weight.exponent, here.mantissa, here.exponent,
            after.mantissa, after.exponent, math.isqrt(len(floor.sizes)) + 1, *found,
        )  # fmt: skip
        held = np.flatnonzero(found[0])
        chances = probabilities(_Pairs(found[0][held], found[1][held]).wide())
        return Distribution(floor.lower + held, chances)

    def draw(self, size: int, rng: np.random.Generator) -> IntArray:
        """Independent draws of the part's cells, one in each row."""
        from cellbounds.fibre.diagram.walks import draw

        drawn = np.empty((size, len(self._kinds)), dtype=np.int64)
        nodes = np.zeros(size, dtype=np.int64)
        values = np.empty(size, dtype=np.int64)
        for layer, (floor, weight) in enumerate(
            zip(self._diagram.floors, self._weights, strict=True)
        ):
            after = self._back[layer + 1]
            draw(
                floor, weight.mantissa, weight.exponent, after.mantissa, after.exponent,
                rng.random(size), nodes, values,
            )  # fmt: skip
            drawn[:, self._diagram.order[layer]] = values
        return drawn

    def mode(self) -> IntArray:
        """A path of largest weight, the first in the order of listing if there are several.

        Logarithms propose; those that look the same are compared in fractions (the first
        `MOST_TIES` of them).
        """
        chosen: IntArray | None = None
        weight = Fraction(-1)
        seen: dict[tuple[Kind, int], Fraction] = {}
        for tried, counts in enumerate(self._near_best()):
            if chosen is None and self._even:
                return counts
            exact = math.prod(
                (self._exact(cell, count, seen) for cell, count in enumerate(counts.tolist())),
                start=Fraction(1),
            )
            if exact > weight:
                chosen, weight = counts, exact
            if tried + 1 == MOST_TIES:
                break
        assert chosen is not None
        return chosen

    @property
    def _even(self) -> bool:
        return Weights(self._kinds).uniform

    def _exact(self, cell: int, count: int, seen: dict[tuple[Kind, int], Fraction]) -> Fraction:
        key = (self._kinds[cell], count)
        if key not in seen:
            seen[key] = Weights((self._kinds[cell],)).exact(0, count)
        return seen[key]

    def _near_best(self) -> Iterator[IntArray]:
        """Paths whose weight may be the largest, in the order of listing."""
        from cellbounds.fibre.diagram.walks import best

        floors, order = self._diagram.floors, self._diagram.order
        logs = [_logs(weight.wide()) for weight in self._weights]
        ahead = [np.zeros(1)]
        for floor, log in zip(reversed(floors), reversed(logs), strict=True):
            here = np.empty(len(floor.sizes))
            best(floor, log, ahead[-1], here)
            ahead.append(here)
        ahead.reverse()
        sizes = sum(float(np.abs(log[np.isfinite(log)]).max(initial=0.0)) for log in logs)
        asked = float(ahead[0][0]) - TIE - 1e-13 * sizes
        counts = np.zeros(len(floors), dtype=np.int64)
        stack = [(0, 0, 0, 0.0)]
        while stack:
            depth, node, turn, before = stack.pop()
            floor = floors[depth]
            if turn == floor.sizes[node]:
                continue
            stack.append((depth, node, turn + 1, before))
            value = int(floor.firsts[node]) + turn
            goal = self._diagram.goal(depth, node, turn)
            reached = before + float(logs[depth][value])
            if goal < 0 or reached + float(ahead[depth + 1][goal]) < asked:
                continue
            counts[order[depth]] = floor.lower + value
            if depth + 1 == len(floors):
                yield counts.copy()
            else:
                stack.append((depth + 1, goal, 0, reached))


def _logs(numbers: Wide) -> FloatArray:
    with np.errstate(divide="ignore"):
        logs: FloatArray = np.log(numbers.mantissa) + numbers.exponent * math.log(2)
    return np.where(numbers.mantissa == 0, -np.inf, logs)
