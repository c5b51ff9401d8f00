"""Choices from products of two sequences: the largest product, and draws in the ratio of products.

Draws go through all products, or are made by rejection. Both are exact. Going through them costs as
many steps as there are places, shared by draws in the same state; rejection proposes a place by the
first sequence alone and keeps it with the ratio of the second to a bound on it, which is cheap
where the second is level.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cellbounds.inference.protocol import check_work
from cellbounds.inference.rows.sum_kernel import DEEPEST, FEW, POWERS, TIE, normal
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.compilation import compiled_above
from cellbounds.runtime.scaled_floats import NOTHING, FloatArray, ScaledFloats

PROPOSAL = 32
"""Steps that one proposal counts for."""

LOWEST = -1000
"""Binary orders of magnitude below the largest that proposals reach."""


@compiled_above(FEW)
def best_pairs(offsets: IntArray, weights: ScaledFloats, after: ScaledFloats) -> Any:
    """For each r the largest product of a weight at some offset o and `after` at r - o."""
    m, e = weights
    tm, te = after
    mantissas, exponents = np.zeros(len(tm)), np.full(len(tm), NOTHING)
    for r in range(len(tm)):
        for k in range(len(offsets)):
            if offsets[k] > r:
                break
            at = r - offsets[k]
            exponent = e[k] + te[at]
            if exponent < exponents[r] - 1 or m[k] == 0.0 or tm[at] == 0.0:
                continue
            mantissa, exponent = normal(m[k] * tm[at], exponent)
            if exponent > exponents[r] or (exponent == exponents[r] and mantissa > mantissas[r]):
                mantissas[r], exponents[r] = mantissa, exponent
    return ScaledFloats(mantissas, exponents)


@compiled_above(FEW)
def draw_pairs(
    left: IntArray, uniforms: FloatArray, offsets: IntArray, weights: ScaledFloats,
    after: ScaledFloats,
) -> IntArray:  # fmt: skip
    """For each draw a place k, in the ratio of ``weights[k] * after[left - offsets[k]]``.

    Draws come sorted by `left` and by their uniform numbers, so that equal states share the work.
    """
    m, e = weights
    tm, te = after
    chosen, terms = np.zeros(len(left), dtype=np.int64), np.zeros(len(offsets))
    begin = 0
    while begin < len(left):
        here = left[begin]
        end = begin
        while end < len(left) and left[end] == here:
            end += 1
        count = np.searchsorted(offsets, here, side="right")
        # Terms are written as multiples of one power of two: only their ratios matter.
        best, total = 4 * NOTHING, 0.0
        for k in range(count):
            if m[k] > 0.0 and tm[here - offsets[k]] > 0.0:
                best = max(best, e[k] + te[here - offsets[k]])
        for k in range(count):
            at = here - offsets[k]
            rise = max(e[k] + te[at] - best, -DEEPEST)
            terms[k] = m[k] * tm[at] * POWERS[rise + DEEPEST]
            total += terms[k]
        # Uniform numbers ascend within a state, so that one walk along the sums serves all.
        run, draw, last = 0.0, begin, 0
        for k in range(count):
            if draw == end:
                break
            if terms[k] > 0.0:
                run += terms[k]
                last = k
                while draw < end and uniforms[draw] * total < run:
                    chosen[draw] = k
                    draw += 1
        # Rounding may leave a uniform number next to one beyond the last sum.
        chosen[draw:end] = last
        begin = end
    return chosen


def first_best(left: int, offsets: IntArray, weights: ScaledFloats, after: ScaledFloats) -> int:
    """The first place k of largest ``weights[k] * after[left - offsets[k]]``, up to rounding."""
    inside = slice(int(np.searchsorted(offsets, left, side="right")))
    products = weights.at(inside).times(after.at(left - offsets[inside])).shares()
    return int(np.argmax(products >= products.max() * (1 - TIE)))


def selected(
    left: IntArray,
    offsets: IntArray,
    weights: ScaledFloats,
    after: ScaledFloats,
    whole: ScaledFloats | None,
    rng: np.random.Generator,
    effort: float,
) -> IntArray:
    """For each draw a place k, in the ratio of ``weights[k] * after[left - offsets[k]]``.

    `whole` are the sums of these products by what is left; without them there is no rejection.

    Raises
    ------
    TooMuchWork
        If that would take more steps than the effort.
    """
    places = np.empty(len(left), dtype=np.int64)
    proposals = _Proposals(offsets, weights, after)
    tries = proposals.tries(left, whole)
    by_rejection = tries * PROPOSAL < len(offsets)
    states = len(np.unique(left[by_rejection]))
    if states * len(offsets) <= PROPOSAL * float(tries[by_rejection].sum()):
        by_rejection[:] = False
    through, tried = np.flatnonzero(~by_rejection), np.flatnonzero(by_rejection)
    steps = len(np.unique(left[through])) * len(offsets) + PROPOSAL * float(tries[tried].sum())
    check_work(steps, effort, f"drawing {len(left)} tables")
    places[through] = _through_all(left[through], offsets, weights, after, rng)
    places[tried] = proposals.drawn(left[tried], rng)
    return places


def _through_all(
    left: IntArray,
    offsets: IntArray,
    weights: ScaledFloats,
    after: ScaledFloats,
    rng: np.random.Generator,
) -> IntArray:
    uniforms: FloatArray = rng.random(len(left))
    order = np.lexsort((uniforms, left))
    chosen = np.empty(len(left), dtype=np.int64)
    chosen[order] = draw_pairs(left[order], uniforms[order], offsets, weights, after)
    return chosen


class _Proposals:
    """Places in the ratio of the weights alone, kept in the ratio of what comes after."""

    def __init__(self, offsets: IntArray, weights: ScaledFloats, after: ScaledFloats) -> None:
        self._offsets, self._after = offsets, after
        self._top = int(weights.exponent.max())
        scaled = np.ldexp(weights.mantissa, np.maximum(weights.exponent - self._top, LOWEST))
        self._cumulated = np.cumsum(scaled)
        # A power of two that nothing after, for what is left or less, exceeds.
        self._bounds = np.maximum.accumulate(after.exponent)

    def tries(self, left: IntArray, whole: ScaledFloats | None) -> FloatArray:
        """How many proposals a draw takes on average."""
        if whole is None:
            return np.full(len(left), np.inf)
        ends = self._cumulated[self._ends(left)]
        excess = self._bounds[left] + self._top - whole.exponent[left]
        return np.asarray(np.ldexp(ends / whole.mantissa[left], np.minimum(excess, 1000)))

    def _ends(self, left: IntArray) -> IntArray:
        return np.searchsorted(self._offsets, left, side="right") - 1

    def drawn(self, left: IntArray, rng: np.random.Generator) -> IntArray:
        """Propose until every draw has kept a place."""
        places = np.empty(len(left), dtype=np.int64)
        waiting, ends = np.arange(len(left)), self._cumulated[self._ends(left)]
        while len(waiting):
            here = left[waiting]
            proposed = np.searchsorted(
                self._cumulated, rng.random(len(waiting)) * ends[waiting], side="right"
            )
            rest = here - self._offsets[np.minimum(proposed, len(self._offsets) - 1)]
            inside = rest >= 0
            rest = np.where(inside, rest, 0)
            fall = np.maximum(self._after.exponent[rest] - self._bounds[here], 4 * LOWEST)
            accepted = rng.random(len(waiting)) < np.ldexp(self._after.mantissa[rest], fall)
            accepted &= inside
            places[waiting[accepted]] = proposed[accepted]
            waiting = waiting[~accepted]
        return places
