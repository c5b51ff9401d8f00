"""A count shared out among parts that nothing tells apart but their weights.

Weights of one kind add up to a weight of the same kind (``Weights.merged``), so that given the sum
every part has a closed form: binomial for Poisson and multinomial weights, beta-binomial for those
with a shape (the uniform one included).
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from cellbounds.errors import TooMuchWork
from cellbounds.model.priors import Kind, Weights
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.scaled_floats import FloatArray, ScaledFloats, probabilities, widened

__all__ = ["best_split", "drawn_parts", "part_chances"]


def part_chances(weights: Weights, own: Kind, rest: Kind, count: int) -> FloatArray:
    """The chances of a part to hold 0, 1, ... of a count that it shares with the rest."""
    mine, others = weights.sequence_of(own, count), weights.sequence_of(rest, count)
    made = widened(mine.mantissa * others.mantissa[::-1], mine.exponent + others.exponent[::-1])
    # Two exponents that stand for zero would add up to nonsense.
    nothing = (mine.mantissa == 0) | (others.mantissa[::-1] == 0)
    least = int(made.exponent[~nothing].min(initial=0))
    return probabilities(ScaledFloats(made.mantissa, np.where(nothing, least, made.exponent)))


def drawn_parts(kinds: Sequence[Kind], counts: IntArray, rng: np.random.Generator) -> IntArray:
    """Share out counts at random, one line of parts for each."""
    parts = np.zeros((len(counts), len(kinds)), dtype=np.int64)
    left = counts.copy()
    for place in range(len(kinds) - 1):
        parts[:, place] = rng.binomial(left, _shares(kinds[place:], len(left), rng))
        left -= parts[:, place]
    parts[:, -1] = left
    return parts


def _shares(kinds: Sequence[Kind], size: int, rng: np.random.Generator) -> FloatArray:
    """The share of the first of some parts, in what is left for all of them."""
    shape, factor = kinds[0]
    if shape is None:
        total = sum((one for _, one in kinds), Fraction(0))
        return np.full(size, float(factor / total) if total else 0.0)
    others = sum((one or Fraction(0) for one, _ in kinds[1:]), Fraction(0))
    return rng.beta(float(shape), float(others), size=size)


def best_split(kinds: Sequence[Kind], count: int, most: float) -> tuple[int, ...] | None:
    """The first split of largest weight, or None if no closed form tells.

    That is where parts with shapes below and above 1 meet, or below 1 with different factors.

    Raises
    ------
    TooMuchWork
        If more than `most` records would be shared out one by one.
    """
    shapes = [shape for shape, _ in kinds]
    alike = len({factor for _, factor in kinds}) == 1
    if count == 0 or (alike and all(shape == 1 for shape in shapes)):
        return (*(0 for _ in kinds[1:]), count)
    if all(shape is None or shape >= 1 for shape in shapes):
        if count > most:
            raise TooMuchWork(
                f"the most probable table shares out about {float(count):.1e} records one by one, "
                f"and the effort allows {most:.1e}; raise effort=, or draw a sample instead"
            )
        return _one_by_one(kinds, count)
    if alike and all(shape is not None and shape <= 1 for shape in shapes):
        # Weights curve the other way: everything goes to the part with the largest shape.
        best = max(range(len(kinds)), key=lambda place: (shapes[place] or 0, place))
        return tuple(count if place == best else 0 for place in range(len(kinds)))
    return None


def _one_by_one(kinds: Sequence[Kind], count: int) -> tuple[int, ...]:
    """Each record goes where it gains most: right because gains only fall.

    Equal gains go to the last part first, so that the first split in order comes out.
    """
    found = [0] * len(kinds)
    heap = [(-_gain(kind, 0), -place) for place, kind in enumerate(kinds)]
    heapq.heapify(heap)
    for _ in range(count):
        place = -heap[0][1]
        found[place] += 1
        heapq.heapreplace(heap, (-_gain(kinds[place], found[place]), -place))
    return tuple(found)


def _gain(kind: Kind, count: int) -> Fraction:
    """The weight of one record more over the weight of these."""
    shape, factor = kind
    return factor * (1 if shape is None else shape + count) / (count + 1)
