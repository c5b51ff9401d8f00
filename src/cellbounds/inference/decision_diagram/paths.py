"""A finished diagram: its paths are the tables of one component of a release.

Sums of weights over the paths, and draws of paths, are compiled. Numbers are pairs
``mantissa * 2**(512 * exponent)``, mantissa 0 or in [2**-256, 2**256): in almost all sums the
exponents agree, and nothing but an addition is left. A term that is dropped beside another is
smaller by 2**-512 at least.

Compiled functions are called for some nodes, or draws, after others: nothing stops them while they
work. What they add up goes on from call to call, so that the pieces change no sum.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np

from cellbounds.errors import TooMuchWork
from cellbounds.inference.decision_diagram.construction import FEW
from cellbounds.inference.decision_diagram.layers import DiagramLayer, pieces
from cellbounds.model.likelihoods import Law
from cellbounds.model.priors import FLAT, AnyKind, Weights
from cellbounds.results.distribution import Distribution
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.compilation import compiled, compiled_above
from cellbounds.runtime.scaled_floats import UNIT, FloatArray, ScaledFloats, normalised

RANGE = 512
"""Powers of two between one exponent and the next, see `RangedFloats`."""

MOST_TIES = 100
"""Tables that look equally likely are compared in fractions up to this number."""

MOST_FACTORS = 20_000
"""Factors of one fraction: as many as the counts of a cell above its lowest one."""

AT_ONCE = 20_000_000
"""Values of nodes that one compiled call goes through, about: some tenths of a second."""

TIE = 1e-9
"""Logarithms of weights closer than this may belong to equal weights."""


class RangedFloats(NamedTuple):
    """Numbers ``mantissa * 2**(512 * exponent)``, in which sums of weights are made."""

    mantissa: FloatArray
    exponent: IntArray

    @classmethod
    def zeros(cls, size: int, exponents: type[np.signedinteger[Any]] = np.int32) -> RangedFloats:
        """Sums to which nothing was added yet."""
        return cls(np.zeros(size), np.zeros(size, dtype=exponents))

    def part(self, own: slice) -> RangedFloats:
        """Some of them, in the same memory."""
        return RangedFloats(self.mantissa[own], self.exponent[own])

    def scaled(self) -> ScaledFloats:
        """The same numbers with exponents of two."""
        return normalised(self.mantissa, RANGE * self.exponent.astype(np.int64))


class LayerWeights(NamedTuple):
    """The weights of the cells of a layer; those of each cell begin at `starts`."""

    starts: IntArray
    mantissa: FloatArray
    exponent: IntArray


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
def backward(layer: DiagramLayer, weights: LayerWeights, after: RangedFloats) -> Any:
    """The weight of all ways from each node to the end, from those of the next layer."""
    starts, mantissas, exponents = weights
    ahead, ahead_powers = after
    sums, powers = np.zeros(len(layer.sizes)), np.zeros(len(layer.sizes), dtype=np.int32)
    for node in range(len(layer.sizes)):
        mantissa, exponent = 0.0, 0
        for k in range(layer.sizes[node]):
            goal = _goal(layer, node, k)
            if goal >= 0:
                term, power = _weight(layer, node, k, starts, mantissas, exponents)
                term, power = _normal(term * ahead[goal], power + ahead_powers[goal])
                mantissa, exponent = _plus(mantissa, exponent, term, power)
        sums[node], powers[node] = _normal(mantissa, exponent)
    return RangedFloats(sums, powers)


@compiled_above(FEW)
def forward(
    layer: DiagramLayer, weights: LayerWeights, here: RangedFloats, there: RangedFloats
) -> None:
    """Add the weight of all ways from the start through these nodes to those of the next layer.

    Where all values lead to the same place, they are summed up before they are added there.
    """
    starts, mantissas, exponents = weights
    before, before_powers = here
    sums, powers = there
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
    block: int, whole: RangedFloats,
) -> None:  # fmt: skip
    """Add the weight of all paths in which each cell of the layer has each of its values.

    Sums are made in blocks of nodes, so that no sum has very many terms.
    """
    starts, mantissas, exponents = weights
    before, before_powers = here
    ahead, ahead_powers = after
    sums, powers = whole
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
def best(layer: DiagramLayer, starts: IntArray, logs: FloatArray, after: FloatArray) -> Any:
    """The largest logarithm of a weight on any way from each node to the end."""
    here = np.zeros(len(layer.sizes))
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
    return here


@compiled_above(FEW)
def draw(
    layer: DiagramLayer, weights: LayerWeights, here: RangedFloats, after: RangedFloats,
    uniform: FloatArray, nodes: IntArray,
) -> Any:  # fmt: skip
    """Move every draw from its node to one of the next layer; gives the counts of the cells.

    `here` are the weights of all ways from each node on, which the terms of its values add up to.
    """
    starts, mantissas, exponents = weights
    sums, powers = here
    ahead, ahead_powers = after
    values = np.zeros((len(nodes), len(starts)), dtype=np.int64)
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
    return values


@dataclass(frozen=True, slots=True, eq=False)
class Diagram:
    """Layers of nodes; `order` are the cells of the component as they are placed."""

    order: IntArray
    layers: tuple[DiagramLayer, ...]

    @property
    def cells(self) -> list[IntArray]:
        """The cells that each layer places."""
        ends = np.cumsum([len(layer.lowers) for layer in self.layers])
        return np.split(self.order, ends[:-1])

    def listed(
        self, reached: Callable[[int, int, IntArray, float], float] | None = None
    ) -> Iterator[IntArray]:
        """The counts of the component's cells, path by path; one array that changes each time.

        Ascending in the cell of the first layer, then of the second, and so on. `reached` says
        what a path is worth with the values of one more layer, given that layer, the node they
        lead to and what it was worth before; minus infinity leaves it out.
        """
        if not self.layers:
            return
        cells, counts = self.cells, np.zeros(len(self.order), dtype=np.int64)
        stack = [(0, 0, 0, 0.0)]
        while stack:
            depth, node, turn, worth = stack.pop()
            layer = self.layers[depth]
            if turn == layer.sizes[node]:
                continue
            stack.append((depth, node, turn + 1, worth))
            goal = self._goal(depth, node, turn)
            if goal < 0:
                continue
            values = layer.values(node, turn)
            if reached is not None:
                worth = reached(depth, goal, values, worth)
                if worth == -math.inf:
                    continue
            counts[cells[depth]] = values
            if depth + 1 == len(self.layers):
                yield counts
            else:
                stack.append((depth + 1, goal, 0, worth))

    def _goal(self, depth: int, node: int, turn: int) -> int:
        """The node that a value leads to; -1 if it does not lead to the end."""
        layer = self.layers[depth]
        place = int(layer.goals[node]) + layer.step * turn
        goal = int(layer.numbers[place]) if len(layer.numbers) else place
        if goal >= 0 and depth + 1 < len(self.layers) and not self.layers[depth + 1].sizes[goal]:
            return -1
        return goal


class WeightedDiagram:
    """Sums of weights over all paths of a diagram.

    Parameters
    ----------
    diagram
        The diagram; it has at least one path.
    kinds
        The kind of weight of each cell of the component.
    weights
        What makes weights of kinds.
    at_once
        Values of nodes that one compiled call goes through, about; it changes no result.
    """

    def __init__(
        self,
        diagram: Diagram,
        kinds: tuple[AnyKind, ...],
        weights: Weights,
        at_once: int = AT_ONCE,
    ) -> None:
        self._diagram, self._kinds, self._source = diagram, kinds, weights
        self._pieces = [pieces(layer.sizes, at_once) for layer in diagram.layers]
        self._at_once = at_once
        self._masses_of: dict[int, RangedFloats] = {}
        self._cells = diagram.cells
        self._place = {
            cell: (depth, within)
            for depth, cells in enumerate(self._cells)
            for within, cell in enumerate(cells.tolist())
        }
        self._weights = [
            self._layer_weights(layer, cells.tolist())
            for layer, cells in zip(diagram.layers, self._cells, strict=True)
        ]
        self._back = [RangedFloats(np.ones(1), np.zeros(1, dtype=np.int32))]
        for depth in reversed(range(len(diagram.layers))):
            layer, known = diagram.layers[depth], (self._weights[depth], self._back[-1])
            parts = [backward(layer.part(own), *known) for own in self._pieces[depth]]
            self._back.append(RangedFloats(*map(np.concatenate, zip(*parts, strict=True))))
        self._back.reverse()

    def _layer_weights(self, layer: DiagramLayer, cells: list[int]) -> LayerWeights:
        """The weights of the cells of a layer, as multiples of those of their lowest counts."""
        sequences = [
            self._source.between(self._kinds[cell], low, low + span - 1)
            for cell, low, span in zip(
                cells, layer.lowers.tolist(), layer.spans.tolist(), strict=True
            )
        ]
        mantissa, exponent = (np.concatenate(parts) for parts in zip(*sequences, strict=True))
        exponent = np.where(mantissa == 0, 0, exponent)
        power = (exponent + RANGE // 2 - 1) // RANGE
        starts = np.concatenate([[0], np.cumsum(layer.spans)[:-1]])
        mantissa = np.ldexp(mantissa, exponent - RANGE * power)
        return LayerWeights(starts, mantissa, power.astype(np.int32))

    @property
    def log_mass(self) -> float:
        """The logarithm of the sum over all paths; minus infinity if it is zero."""
        lowest = (
            self._source.log_unit(self._kinds[cell], low)
            for layer, cells in zip(self._diagram.layers, self._cells, strict=True)
            for cell, low in zip(cells.tolist(), layer.lowers.tolist(), strict=True)
        )
        return self._back[0].scaled().log_at(0) + math.fsum(lowest)

    @cached_property
    def _forth(self) -> list[RangedFloats]:
        """The weights of the ways to each node of each layer."""
        reached = [RangedFloats(np.ones(1), np.zeros(1, dtype=np.int32))]
        for depth, layer in enumerate(self._diagram.layers[:-1]):
            here, there = reached[-1], RangedFloats.zeros(len(self._back[depth + 1].mantissa))
            for own in self._pieces[depth]:
                forward(layer.part(own), self._weights[depth], here.part(own), there)
            reached.append(there)
        return reached

    @cached_property
    def error(self) -> float:
        """No probability is further from the truth than this part of itself."""
        roundings, across = 0, 0
        for depth, layer in enumerate(self._diagram.layers):
            # Forwards and backwards: two for a weight, one for a product, one for each sum.
            roundings += 6 * len(layer.lowers) + 2 * int(layer.sizes.max())
            if depth + 1 < len(self._diagram.layers):
                roundings += layer.most_terms
            # The sums of `masses`: blocks, and within them a term of each node; more if a cell
            # stays the same for several values of the first.
            block = math.isqrt(len(layer.sizes)) + 1
            often = 1 if layer.slopes.all() else int(layer.sizes.max())
            across = max(across, block * (1 + often) + 4)
        roundings += across
        # Once in what is divided, once in what it is divided by, and the division.
        return 1.01 * UNIT * (2 * roundings + 4)

    def distribution(self, cell: int) -> Distribution:
        """The distribution of one cell of the component."""
        depth, within = self._place[cell]
        layer, first = self._diagram.layers[depth], int(self._weights[depth].starts[within])
        own = slice(first, first + int(layer.spans[within]))
        mantissa, exponent = (part[own] for part in self._masses(depth))
        held = np.flatnonzero(mantissa)
        masses = RangedFloats(mantissa[held], exponent[held]).scaled()
        return Distribution(int(layer.lowers[within]) + held, masses.shares())

    def _masses(self, depth: int) -> RangedFloats:
        """The weights of all paths with each value of the cells of a layer, one after the other."""
        if depth not in self._masses_of:
            layer, weights = self._diagram.layers[depth], self._weights[depth]
            here, after = self._forth[depth], self._back[depth + 1]
            whole = RangedFloats.zeros(len(weights.mantissa), np.int64)
            block = math.isqrt(len(layer.sizes)) + 1
            begins = np.arange(0, len(layer.sizes), block)
            steps = np.add.reduceat(layer.sizes, begins, dtype=np.int64)
            for blocks in pieces(steps, self._at_once):
                own = slice(block * blocks.start, block * blocks.stop)
                masses(layer.part(own), weights, here.part(own), after, block, whole)
            self._masses_of[depth] = whole
        return self._masses_of[depth]

    def draw(self, size: int, rng: np.random.Generator) -> IntArray:
        """Independent draws of the component's cells, one in each row."""
        drawn = np.empty((size, len(self._kinds)), dtype=np.int64)
        nodes = np.zeros(size, dtype=np.int64)
        for depth, layer in enumerate(self._diagram.layers):
            ends, uniform = self._back[depth : depth + 2], rng.random(size)
            for own in pieces(layer.sizes[nodes], self._at_once):
                values = draw(layer, self._weights[depth], *ends, uniform[own], nodes[own])
                drawn[own, self._cells[depth]] = values
        return drawn

    def mode(self) -> IntArray:
        """A path of largest weight, the first in the order of listing if there are several.

        Logarithms propose; those that look the same are compared in fractions (the first
        `MOST_TIES` of them).
        """
        near = map(np.copy, self._near_best())
        if all(kind == FLAT for kind in self._kinds):
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
        exact = cache(_exact)
        weights = [
            math.prod(map(exact, self._kinds, counts.tolist(), base), start=Fraction(1))
            for counts in tied
        ]
        return tied[weights.index(max(weights))]

    def _near_best(self) -> Iterator[IntArray]:
        """Paths whose weight may be the largest, in the order of listing."""
        layers = self._diagram.layers
        logs = [
            math.log(2) * RangedFloats(*weights[1:]).scaled().log2() for weights in self._weights
        ]
        ahead = [np.zeros(1)]
        for depth in reversed(range(len(layers))):
            known = self._weights[depth].starts, logs[depth], ahead[-1]
            parts = [best(layers[depth].part(own), *known) for own in self._pieces[depth]]
            ahead.append(np.concatenate(parts))
        ahead.reverse()
        sizes = sum(float(np.abs(log[np.isfinite(log)]).max(initial=0.0)) for log in logs)
        enough = float(ahead[0][0]) - TIE - 1e-13 * sizes

        def reached(depth: int, goal: int, values: IntArray, before: float) -> float:
            at = self._weights[depth].starts + values - layers[depth].lowers
            worth = before + float(logs[depth][at].sum())
            return worth if worth + float(ahead[depth + 1][goal]) >= enough else -math.inf

        return self._diagram.listed(reached)


def _exact(kind: AnyKind, count: int, low: int) -> Fraction:
    """The weight of a count, as a fraction of something that is the same for all counts."""
    return kind.chance(count) if isinstance(kind, Law) else Weights((kind,)).exact(0, count, low)
