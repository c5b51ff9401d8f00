"""Tables whose domain is far larger than the cells that hold somebody."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

import cellbounds as cb
from benchmarks.arrays import IntArray
from benchmarks.errors import NotThere

SKEW = 0.45  # of the geometric law of each variable's levels


def listed_cells(shape: tuple[int, ...], cells: int, seed: int) -> tuple[IntArray, IntArray]:
    """Draw cells, low levels more often, and counts that are mostly small."""
    rng = np.random.default_rng([seed, cells, *shape])
    drawn = rng.geometric(SKEW, size=(cells, len(shape))) - 1
    places = drawn % np.array(shape)
    return places.astype(np.int64), rng.geometric(0.5, size=cells).astype(np.int64)


def sparse_table(shape: tuple[int, ...], places: IntArray, counts: IntArray) -> cb.Table:
    """Make a table from the cells that hold somebody.

    Raises
    ------
    NotThere
        If this version of the library has no such call.
    """
    if not hasattr(cb.Table, "from_cells"):
        raise NotThere("this version has no Table.from_cells")
    domain = cb.Domain({f"v{k}": levels_of(size) for k, size in enumerate(shape, start=1)})
    return cb.Table.from_cells(domain, places, counts)


def levels_of(size: int) -> list[str]:
    """Return the labels of a variable."""
    return [str(k) for k in range(1, size + 1)]


def chosen_cells(places: IntArray, shape: tuple[int, ...], asked: int, seed: int) -> IntArray:
    """Choose different cells to ask about: half of them hold somebody, the others nearly never do.

    Cells that are drawn twice are asked about once.
    """
    rng = np.random.default_rng([seed, asked])
    held = places[rng.choice(len(places), size=asked - asked // 2, replace=False)]
    drawn = rng.integers(0, np.array(shape), size=(asked // 2, len(shape)))
    return np.unique(np.concatenate([held, drawn]), axis=0)


def chain_bounds(places: IntArray, counts: IntArray, asked: IntArray) -> tuple[IntArray, IntArray]:
    """Bound cells from the margins of neighbouring variables, by the closed form.

    The independent formula for decomposable margins: the least margin above; margins less the
    variables they share below, if positive.
    """
    variables = places.shape[1]
    pairs = [summed(places, counts, asked, axes) for axes in pairwise(range(variables))]
    shared = [summed(places, counts, asked, (axis,)) for axis in range(1, variables - 1)]
    lower = np.maximum(0, np.sum(pairs, axis=0) - np.sum(shared, axis=0, initial=0))
    return lower, np.min(pairs, axis=0)


def summed(places: IntArray, counts: IntArray, asked: IntArray, axes: tuple[int, ...]) -> IntArray:
    """Return the margin over some axes at each of the cells asked about."""
    sizes = tuple(int(max(places[:, axis].max(), asked[:, axis].max())) + 1 for axis in axes)
    margin = np.zeros(sizes, dtype=np.int64)
    np.add.at(margin, tuple(places[:, axis] for axis in axes), counts)
    found: IntArray = margin[tuple(asked[:, axis] for axis in axes)]
    return found
