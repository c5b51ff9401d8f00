"""A finished diagram: its paths are the tables of one part of a release."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from cellbounds.errors import TooMuchWork
from cellbounds.inference.decision_diagram.layers import Floor
from cellbounds.model.priors import Kind, Weights
from cellbounds.results.distribution import Distribution
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.scaled_floats import (
    UNIT,
    FloatArray,
    ScaledFloats,
    log_of,
    probabilities,
    widened,
)

__all__ = ["Diagram", "WeighedDiagram"]

MOST_TIES = 100
"""Tables that look equally likely are compared in fractions up to this number."""

MOST_FACTORS = 20_000
"""Factors of one fraction: as many as the counts of a cell above its lowest one."""

TIE = 1e-9
"""Logarithms of weights closer than this may belong to equal weights."""


@dataclass(frozen=True, slots=True, eq=False)
class Diagram:
    """Layers of nodes; `order` are the cells of the part as they are placed."""

    order: IntArray
    floors: tuple[Floor, ...]

    @property
    def cells(self) -> list[IntArray]:
        """The cells that each layer places."""
        ends = np.cumsum([len(floor.lowers) for floor in self.floors])
        return np.split(self.order, ends[:-1])

    def listed(self) -> Iterator[IntArray]:
        """The counts of the part's cells, path by path; one array that changes from step to step.

        Ascending in the cell of the first layer, then of the second, and so on.
        """
        floors = self.floors
        if not floors or not floors[0].sizes[0]:
            return
        cells, counts = self.cells, np.zeros(len(self.order), dtype=np.int64)
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
            counts[cells[depth]] = floor.values(node, turn)
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
    def of(cls, numbers: ScaledFloats) -> _Pairs:
        from cellbounds.inference.decision_diagram.path_kernel import RANGE

        exponent = np.where(numbers.mantissa == 0, 0, numbers.exponent)
        power = (exponent + RANGE // 2 - 1) // RANGE
        mantissa = np.ldexp(numbers.mantissa, exponent - RANGE * power)
        return cls(mantissa, power.astype(np.int32))

    def wide(self) -> ScaledFloats:
        from cellbounds.inference.decision_diagram.path_kernel import RANGE

        return widened(self.mantissa, RANGE * self.exponent.astype(np.int64))


class _Weights(NamedTuple):
    """The weights of the cells of a layer; those of each cell begin at `starts`."""

    starts: IntArray
    mantissa: FloatArray
    exponent: IntArray


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
        from cellbounds.inference.decision_diagram.path_kernel import back

        self._diagram, self._kinds, self._source = diagram, kinds, weights
        self._found: dict[int, _Pairs] = {}
        self._place = {
            cell: (layer, within)
            for layer, cells in enumerate(diagram.cells)
            for within, cell in enumerate(cells.tolist())
        }
        self._weights = [
            self._layer_weights(floor, cells.tolist())
            for floor, cells in zip(diagram.floors, diagram.cells, strict=True)
        ]
        self._back = [_Pairs(np.ones(1), np.zeros(1, dtype=np.int32))]
        for floor, weight in zip(reversed(diagram.floors), reversed(self._weights), strict=True):
            here, after = _Pairs.zeros(len(floor.sizes)), self._back[-1]
            back(
                floor, *weight, after.mantissa, after.exponent,
                here.mantissa, here.exponent,
            )  # fmt: skip
            self._back.append(here)
        self._back.reverse()

    @property
    def _lowest(self) -> dict[int, int]:
        """The lowest count of each cell, by which its weights are divided."""
        return {
            cell: low
            for floor, cells in zip(self._diagram.floors, self._diagram.cells, strict=True)
            for cell, low in zip(cells.tolist(), floor.lowers.tolist(), strict=True)
        }

    def _layer_weights(self, floor: Floor, cells: list[int]) -> _Weights:
        """The weights of the cells of a layer, as multiples of those of their lowest counts."""
        mantissas, exponents = [], []
        for cell, low, span in zip(cells, floor.lowers.tolist(), floor.spans.tolist(), strict=True):
            made = self._source.between(self._kinds[cell], low, low + span - 1)
            mantissas.append(made.mantissa)
            exponents.append(made.exponent)
        pairs = _Pairs.of(ScaledFloats(np.concatenate(mantissas), np.concatenate(exponents)))
        starts = np.concatenate([[0], np.cumsum(floor.spans)[:-1]])
        return _Weights(starts, pairs.mantissa, pairs.exponent)

    @property
    def log_mass(self) -> float:
        """The logarithm of the sum over all paths; minus infinity if it is zero."""
        total = self._back[0].wide()
        lowest = (
            self._source.log_weight_of(self._kinds[cell], low) for cell, low in self._lowest.items()
        )
        return log_of(float(total.mantissa[0]), int(total.exponent[0])) + math.fsum(lowest)

    @cached_property
    def _forth(self) -> list[_Pairs]:
        """The weights of the ways to each node of each layer."""
        from cellbounds.inference.decision_diagram.path_kernel import forth

        found = [_Pairs(np.ones(1), np.zeros(1, dtype=np.int32))]
        for layer, floor in enumerate(self._diagram.floors[:-1]):
            weight = self._weights[layer]
            here, after = found[-1], _Pairs.zeros(len(self._back[layer + 1].mantissa))
            forth(
                floor, *weight, here.mantissa, here.exponent,
                after.mantissa, after.exponent,
            )  # fmt: skip
            found.append(after)
        return found

    @cached_property
    def error(self) -> float:
        """No probability is further from the truth than this part of itself."""
        from cellbounds.inference.decision_diagram.path_kernel import most_terms

        roundings, across = 0, 0
        for layer, floor in enumerate(self._diagram.floors):
            # Forwards and backwards: two for a weight, one for a product, one for each sum.
            roundings += 6 * len(floor.lowers) + 2 * int(floor.sizes.max())
            if layer + 1 < len(self._diagram.floors):
                terms = np.zeros(len(self._back[layer + 1].mantissa), dtype=np.int32)
                roundings += int(most_terms(floor, terms))
            # The sums of `masses`: blocks, and within them a term of each node; more if a cell
            # stays the same for several values of the first.
            block = math.isqrt(len(floor.sizes)) + 1
            often = 1 if floor.slopes.all() else int(floor.sizes.max())
            across = max(across, block * (1 + often) + 4)
        roundings += across
        # Once in what is divided, once in what it is divided by, and the division.
        return 1.01 * UNIT * (2 * roundings + 4)

    def distribution(self, cell: int) -> Distribution:
        """The distribution of one cell of the part."""
        layer, within = self._place[cell]
        floor, first = self._diagram.floors[layer], int(self._weights[layer].starts[within])
        own = slice(first, first + int(floor.spans[within]))
        found = self._masses(layer)
        held = np.flatnonzero(found.mantissa[own])
        pairs = _Pairs(found.mantissa[own][held], found.exponent[own][held])
        return Distribution(int(floor.lowers[within]) + held, probabilities(pairs.wide()))

    def _masses(self, layer: int) -> _Pairs:
        """The weights of all paths with each value of the cells of a layer, one after the other."""
        from cellbounds.inference.decision_diagram.path_kernel import masses

        if layer not in self._found:
            floor, weight = self._diagram.floors[layer], self._weights[layer]
            here, after = self._forth[layer], self._back[layer + 1]
            found = _Pairs(np.zeros(len(weight.mantissa)), np.zeros(len(weight.mantissa), np.int64))
            masses(
                floor, *weight, here.mantissa, here.exponent, after.mantissa, after.exponent,
                math.isqrt(len(floor.sizes)) + 1, found.mantissa, found.exponent,
            )  # fmt: skip
            self._found[layer] = found
        return self._found[layer]

    def draw(self, size: int, rng: np.random.Generator) -> IntArray:
        """Independent draws of the part's cells, one in each row."""
        from cellbounds.inference.decision_diagram.path_kernel import draw

        drawn = np.empty((size, len(self._kinds)), dtype=np.int64)
        nodes = np.zeros(size, dtype=np.int64)
        cells = self._diagram.cells
        for layer, (floor, weight) in enumerate(
            zip(self._diagram.floors, self._weights, strict=True)
        ):
            after = self._back[layer + 1]
            values = np.empty((size, len(cells[layer])), dtype=np.int64)
            draw(
                floor, *weight, after.mantissa, after.exponent,
                rng.random(size), nodes, values,
            )  # fmt: skip
            drawn[:, cells[layer]] = values
        return drawn

    def mode(self) -> IntArray:
        """A path of largest weight, the first in the order of listing if there are several.

        Logarithms propose; those that look the same are compared in fractions (the first
        `MOST_TIES` of them).
        """
        near = self._near_best()
        if self._even:
            return next(near)
        tied = list(itertools.islice(near, MOST_TIES))
        return tied[0] if len(tied) == 1 else self._heaviest(tied)

    def _heaviest(self, tied: Sequence[IntArray]) -> IntArray:
        """The first of largest weight."""
        # Against the first, cell by cell, so that only counts that differ are multiplied out.
        base = np.min(tied, axis=0).tolist()
        if int((np.max(tied, axis=0) - base).max()) > MOST_FACTORS:
            raise TooMuchWork(
                f"tables that look equally likely differ by more than {MOST_FACTORS:,} in a cell, "
                "too much to compare them in fractions; the cells' own modes are known"
            )
        seen: dict[tuple[Kind, int, int], Fraction] = {}
        weights = [
            math.prod(
                (
                    self._exact(cell, count, low, seen)
                    for cell, (count, low) in enumerate(zip(counts.tolist(), base, strict=True))
                ),
                start=Fraction(1),
            )
            for counts in tied
        ]
        return tied[weights.index(max(weights))]

    @property
    def _even(self) -> bool:
        return Weights(self._kinds).uniform

    def _exact(
        self, cell: int, count: int, low: int, seen: dict[tuple[Kind, int, int], Fraction]
    ) -> Fraction:
        key = (self._kinds[cell], count, low)
        if key not in seen:
            seen[key] = Weights((self._kinds[cell],)).exact(0, count, low)
        return seen[key]

    def _near_best(self) -> Iterator[IntArray]:
        """Paths whose weight may be the largest, in the order of listing."""
        from cellbounds.inference.decision_diagram.path_kernel import best

        floors, cells = self._diagram.floors, self._diagram.cells
        logs = [_logs(_Pairs(one.mantissa, one.exponent).wide()) for one in self._weights]
        ahead = [np.zeros(1)]
        for layer in range(len(floors) - 1, -1, -1):
            here = np.empty(len(floors[layer].sizes))
            best(floors[layer], self._weights[layer].starts, logs[layer], ahead[-1], here)
            ahead.append(here)
        ahead.reverse()
        sizes = sum(float(np.abs(log[np.isfinite(log)]).max(initial=0.0)) for log in logs)
        asked = float(ahead[0][0]) - TIE - 1e-13 * sizes
        counts = np.zeros(len(self._kinds), dtype=np.int64)
        stack = [(0, 0, 0, 0.0)]
        while stack:
            depth, node, turn, before = stack.pop()
            floor = floors[depth]
            if turn == floor.sizes[node]:
                continue
            stack.append((depth, node, turn + 1, before))
            values = floor.values(node, turn)
            goal = self._diagram.goal(depth, node, turn)
            at = self._weights[depth].starts + values - floor.lowers
            reached = before + float(logs[depth][at].sum())
            if goal < 0 or reached + float(ahead[depth + 1][goal]) < asked:
                continue
            counts[cells[depth]] = values
            if depth + 1 == len(floors):
                yield counts.copy()
            else:
                stack.append((depth + 1, goal, 0, reached))


def _logs(numbers: ScaledFloats) -> FloatArray:
    with np.errstate(divide="ignore"):
        logs: FloatArray = np.log(numbers.mantissa) + numbers.exponent * math.log(2)
    return np.where(numbers.mantissa == 0, -np.inf, logs)
