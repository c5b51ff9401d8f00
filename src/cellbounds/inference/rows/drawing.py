"""Independent draws of whole tables: row sums one after the other, then rows, then parts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cellbounds.inference.rows.lines import Ground
from cellbounds.inference.rows.selecting import selected
from cellbounds.inference.rows.splitting import SummedCell
from cellbounds.inference.rows.vectors import WeighedRow
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.scaled_floats import ScaledFloats

__all__ = ["draw_tables"]


def draw_tables(
    ground: Ground,
    rows: Sequence[WeighedRow],
    tilted: Sequence[ScaledFloats],
    suffixes: Sequence[ScaledFloats],
    size: int,
    rng: np.random.Generator,
) -> IntArray:
    """Draw tables, flat, one in each line.

    `rows` and `tilted` (their weights by row sum) are in the order of the table's rows;
    ``suffixes[i]`` are the products of the weights after row i.
    """
    drawn = np.zeros((size, ground.size), dtype=np.int64)
    places = _draw_sums(ground, rows, tilted, suffixes, size, rng)
    for place, row in enumerate(rows):
        cells = _draw_cells(row, places[place], rng)
        for column, cell in enumerate(row.cells):
            numbers = ground.numbers(place, column)
            drawn[:, numbers] = _draw_parts(cell, cells[:, column], rng)
    return drawn


def _draw_sums(
    ground: Ground,
    rows: Sequence[WeighedRow],
    tilted: Sequence[ScaledFloats],
    suffixes: Sequence[ScaledFloats],
    size: int,
    rng: np.random.Generator,
) -> list[IntArray]:
    """For each row the places of its drawn sums among its feasible ones."""
    left = np.full(size, ground.spare, dtype=np.int64)
    places = []
    wholes = [None, *suffixes]
    for row, weights, after, whole in zip(rows, tilted, suffixes, wholes, strict=False):
        chosen = selected(left, row.offsets, weights, after, whole, rng, row.effort)
        left = left - row.offsets[chosen]
        places.append(chosen)
    return places


def _draw_cells(row: WeighedRow, places: IntArray, rng: np.random.Generator) -> IntArray:
    """Counts of all columns, one line for each draw; draws with the same sum share the work."""
    uniforms = rng.random((len(places), row.line.width))
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
