"""Choices by weight, compiled: the largest product, and draws in the ratio of products."""

from __future__ import annotations

from typing import Any

import numpy as np

from cellbounds.inference.rows.row_vectors import RowVectors
from cellbounds.inference.rows.sum_kernel import DEEPEST, FEW, POWERS, normal, tails
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.compilation import compiled_above
from cellbounds.runtime.scaled_floats import NOTHING, FloatArray, ScaledFloats

TIE = 1e-12
"""Weights that are as close as this part of themselves count as equal."""


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


@compiled_above(FEW)
def draw_vectors(row: RowVectors, place: int, uniforms: FloatArray) -> IntArray:
    """Row vectors of one row sum, in the ratio of their weights; one line for each draw."""
    low, high, gm, ge = tails(row, place, False)
    lower, upper, starts = row.lower[place], row.upper[place], row.starts
    m, e = row.weights
    drawn = np.zeros(uniforms.shape, dtype=np.int64)
    for draw in range(len(uniforms)):
        before = 0
        for j in range(len(lower)):
            # The tail after what was drawn so far is the sum of the terms to choose from.
            at = before - low[j]
            goal, scale = uniforms[draw, j] * gm[j, at], ge[j, at]
            run, chosen = 0.0, max(lower[j], low[j + 1] - before)
            for v in range(chosen, min(upper[j], high[j + 1] - before) + 1):
                after = before + v - low[j + 1]
                rise = max(e[starts[j] + v] + ge[j + 1, after] - scale, -DEEPEST)
                term = m[starts[j] + v] * gm[j + 1, after] * POWERS[rise + DEEPEST]
                if term > 0.0:
                    run += term
                    chosen = v
                    if run > goal:
                        break
            drawn[draw, j] = chosen
            before += chosen
    return drawn


@compiled_above(FEW)
def best_vector(row: RowVectors, place: int) -> IntArray:
    """The first vector of one row sum among those of largest weight."""
    low, high, gm, ge = tails(row, place, True)
    lower, upper, starts = row.lower[place], row.upper[place], row.starts
    m, e = row.weights
    vector = np.zeros(len(lower), dtype=np.int64)
    before = 0
    for j in range(len(lower)):
        at = before - low[j]
        vector[j] = max(lower[j], low[j + 1] - before)
        for v in range(vector[j], min(upper[j], high[j + 1] - before) + 1):
            after = before + v - low[j + 1]
            rise = max(e[starts[j] + v] + ge[j + 1, after] - ge[j, at], -DEEPEST)
            weight = m[starts[j] + v] * gm[j + 1, after] * POWERS[rise + DEEPEST]
            if weight >= gm[j, at] * (1 - TIE):
                vector[j] = v
                break
        before += vector[j]
    return vector
