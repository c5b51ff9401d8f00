"""A decomposable set of margins of a large table, beside numpy summing these margins."""

from __future__ import annotations

import numpy as np

import cellbounds as cb
from benchmarks.arrays import IntArray
from benchmarks.errors import Mismatch
from benchmarks.measuring.measurement import best_of
from benchmarks.problems.owned import Owned, chain_of_threes, publish
from benchmarks.results import Record
from cellbounds.results import Bounds


def measure(source: Owned, *, repeat_seconds: float) -> Record:
    """Bound every cell from a chain of three-way margins, and sum the same margins in numpy.

    Raises
    ------
    Mismatch
        If a bound differs from the closed form.
    """
    counts, names = source.counts, source.table.domain.names
    cliques = chain_of_threes(counts.ndim)
    separators = [clique[1:] for clique in cliques[:-1]]
    release = publish(source.table, [[names[axis] for axis in clique] for clique in cliques])
    answer, seconds = best_of(lambda: cb.bounds(release), budget=repeat_seconds)
    _, numpy_seconds = best_of(
        lambda: [margin(counts, clique) for clique in cliques], budget=repeat_seconds
    )
    formula, formula_seconds = best_of(
        lambda: closed_form(counts, cliques, separators), budget=repeat_seconds
    )
    require_equal(source.label, answer, formula)
    return {
        "table": source.label,
        "margins": len(cliques),
        "cells": int(counts.size),
        "method": answer.method,
        "evidence": answer.evidence.value,
        "seconds": seconds,
        "numpy_seconds": numpy_seconds,
        "formula_seconds": formula_seconds,
    }


def margin(counts: IntArray, kept: tuple[int, ...]) -> IntArray:
    """Sum a table over all axes but those kept; these stay, the others become one wide."""
    omitted = tuple(axis for axis in range(counts.ndim) if axis not in kept)
    summed: IntArray = counts.sum(axis=omitted, keepdims=True)
    return summed


def closed_form(
    counts: IntArray, cliques: list[tuple[int, ...]], separators: list[tuple[int, ...]]
) -> tuple[IntArray, IntArray]:
    """Bound every cell: the least clique above, cliques less separators below, if positive.

    The independent formula for decomposable margins, from the table itself.
    """
    lower = np.zeros(counts.shape, dtype=np.int64)
    upper = np.full(counts.shape, counts.sum())
    for clique in cliques:
        published = margin(counts, clique)
        lower += published
        np.minimum(upper, published, out=upper)
    for separator in separators:
        lower -= margin(counts, separator)
    return np.maximum(lower, 0), upper


def require_equal(label: str, answer: Bounds, formula: tuple[IntArray, IntArray]) -> None:
    """Raise `Mismatch` at the first cell whose bounds differ from the closed form."""
    if answer.evidence is not cb.Evidence.EXACT:
        msg = f"{label}: the bounds are {answer.evidence.name}"
        raise Mismatch(msg)
    mine = answer.lower, answer.upper
    for side, own, other in zip(("lower", "upper"), mine, formula, strict=True):
        for cell in np.argwhere(own != other).tolist():
            at = tuple(cell)
            msg = f"{label}, cell {at}: our {side} bound is {own[at]}, the formula {other[at]}"
            raise Mismatch(msg)
