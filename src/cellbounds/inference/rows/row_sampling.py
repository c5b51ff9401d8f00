"""Draws from products of two sequences: by going through all of them, or by rejection.

Both are exact. Going through them costs as many steps as there are places, shared by draws in the
same state; rejection proposes a place by the first sequence alone and keeps it with the ratio of
the second to a bound on it, which is cheap where the second is level.

Independent draws of whole tables: row sums one after the other, then rows, then parts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cellbounds.inference.protocol import check_work
from cellbounds.inference.rows.row_types import RowSystem
from cellbounds.inference.rows.row_vectors import SummedCell, WeightedRow
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.scaled_floats import FloatArray, ScaledFloats

PROPOSAL = 32
"""Steps that one proposal counts for."""

LOWEST = -1000
"""Binary orders of magnitude below the largest that proposals reach."""


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
    from cellbounds.inference.rows.choice_kernel import draw_pairs

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


def draw_tables(
    system: RowSystem,
    rows: Sequence[WeightedRow],
    tilted: Sequence[ScaledFloats],
    suffixes: Sequence[ScaledFloats],
    size: int,
    rng: np.random.Generator,
) -> IntArray:
    """Draw tables, flat, one in each line: row sums one after the other, then rows, then parts.

    `rows` and `tilted` (their weights by row sum) are in the order of the table's rows;
    ``suffixes[i]`` are the products of the weights after row i.
    """
    drawn = np.zeros((size, system.size), dtype=np.int64)
    left, places = np.full(size, system.surplus, dtype=np.int64), []
    wholes = [None, *suffixes]
    for row, weights, after, whole in zip(rows, tilted, suffixes, wholes, strict=False):
        places.append(selected(left, row.offsets, weights, after, whole, rng, row.effort))
        left = left - row.offsets[places[-1]]
    for place, row in enumerate(rows):
        cells = _draw_cells(row, places[place], rng)
        for column, cell in enumerate(row.cells):
            numbers = system.numbers(place, column)
            drawn[:, numbers] = _draw_parts(cell, cells[:, column], rng)
    return drawn


def _draw_cells(row: WeightedRow, places: IntArray, rng: np.random.Generator) -> IntArray:
    """Counts of all columns, one line for each draw; draws with the same sum share the work."""
    uniforms = rng.random((len(places), len(row.cells)))
    cells = np.empty(uniforms.shape, dtype=np.int64)
    order = np.argsort(places, kind="stable")
    ends = np.flatnonzero(np.diff(places[order], append=-1)) + 1
    begins = np.concatenate([[0], ends])[:-1]
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        same = order[begin:end]
        cells[same] = row.vectors.draw(int(places[same[0]]), uniforms[same])
    return cells


def _draw_parts(cell: SummedCell, counts: IntArray, rng: np.random.Generator) -> IntArray:
    """Split drawn counts of one cell into its parts, one part after the other."""
    parts = np.empty((len(counts), len(cell.cells)), dtype=np.int64)
    left, most = counts, int(counts.max(initial=0))
    every = np.arange(most + 1)
    for place in range(len(cell.cells) - 1):
        part, after = cell.part(place, most), cell.after(place, most)
        whole = cell.after(place - 1, most)
        parts[:, place] = selected(left, every, part, after, whole, rng, cell.effort)
        left = left - parts[:, place]
    parts[:, -1] = left
    return parts
