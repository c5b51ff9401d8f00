"""Sums that follow from equations: combinations of them, checked in whole numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from cellbounds.errors import InconsistentRelease
from cellbounds.inference.decision_diagram.sums import Sum

__all__ = ["implied", "relations"]

PRIME = 2**61 - 1

MOST_ENTRIES = 3_000_000
"""Larger systems are only searched for sums that are unions of others."""

LARGEST_FRACTION = 2**30
"""Numerators and denominators of a combination stay below this: its residue then fixes it."""


def implied(sums: Sequence[Sum], size: int) -> list[bool]:
    """Which sums are combinations of equations that are not marked, and hold therefore.

    Raises
    ------
    InconsistentRelease
        If a sum is such a combination but its limits do not allow what follows.
    """
    follows = [False] * len(sums)
    _mark_unions(sums, size, follows)
    left = [place for place, done in enumerate(follows) if not done]
    # Short sums first: they are kept, and the long ones follow from them.
    left.sort(key=lambda place: (not sums[place].fixed, len(sums[place].cells)))
    equations = sum(sums[place].fixed for place in left)
    if equations and len(left) * size <= MOST_ENTRIES:
        _mark_combinations([sums[place] for place in left], equations, size, left, follows)
    return follows


def _mark_unions(sums: Sequence[Sum], size: int, follows: list[bool]) -> None:
    """Plain sums that are put together of the equations of one statement.

    Only equations over fewer cells count, so that nothing follows from itself in a circle.
    """
    families: dict[int, list[int]] = {}
    for place, one in enumerate(sums):
        if one.fixed and one.plain:
            for source in one.sources:
                families.setdefault(source, []).append(place)
    for places in families.values():
        label = np.full(size, -1, dtype=np.int64)
        if sum(len(sums[place].cells) for place in places) > size:
            continue
        for place in places:
            label[sums[place].cells] = place
        if (label >= 0).sum() < sum(len(sums[place].cells) for place in places):
            continue
        for place, one in enumerate(sums):
            if follows[place] or not one.plain or label[one.cells[0]] in (-1, place):
                continue
            found = np.unique(label[one.cells])
            if found[0] < 0 or len(found) < 2:
                continue
            if sum(len(sums[k].cells) for k in found.tolist()) == len(one.cells):
                _check(one, sum(sums[k].lower for k in found.tolist()))
                follows[place] = True


def _mark_combinations(
    ordered: Sequence[Sum], equations: int, size: int, places: Sequence[int], follows: list[bool]
) -> None:
    for column, used in _combinations(ordered, equations, size):
        value = sum((times * ordered[k].lower for k, times in used.items()), Fraction(0))
        _check(ordered[column], value)
        follows[places[column]] = True


def relations(sums: Sequence[Sum], size: int) -> list[dict[int, Fraction]]:
    """Combinations of equations that are zero for all counts: factors by number of the equation."""
    equations = [place for place, one in enumerate(sums) if one.fixed]
    if not equations or len(equations) * size > MOST_ENTRIES:
        return []
    equations.sort(key=lambda place: len(sums[place].cells))
    ordered = [sums[place] for place in equations]
    found = []
    for column, used in _combinations(ordered, len(ordered), size):
        relation = {equations[k]: -times for k, times in used.items()}
        found.append(relation | {equations[column]: Fraction(1)})
    return found


def _combinations(
    ordered: Sequence[Sum], equations: int, size: int
) -> Iterator[tuple[int, dict[int, Fraction]]]:
    """Sums that are combinations of the first `equations`, and which.

    Elimination modulo a prime proposes them; whole numbers decide.
    """
    from flint import nmod_mat

    dense = np.zeros((size, len(ordered)), dtype=np.int64)
    for column, one in enumerate(ordered):
        dense[one.cells, column] = one.factors % PRIME
    echelon, rank = nmod_mat(size, len(ordered), dense.ravel().tolist(), PRIME).rref()
    pivots: list[int] = []
    for column, one in enumerate(ordered):
        if len(pivots) < rank and int(echelon[len(pivots), column]) != 0:
            pivots.append(column)
            continue
        used = {pivot: _fraction(int(echelon[k, column])) for k, pivot in enumerate(pivots)}
        exact = {pivot: times for pivot, times in used.items() if times}
        if None in used.values() or any(pivot >= equations for pivot in exact):
            continue
        if _is_combination(one, [(ordered[k], times) for k, times in exact.items()]):
            yield column, exact


def _is_combination(target: Sum, used: Sequence[tuple[Sum, Fraction]]) -> bool:
    left = {
        cell: Fraction(factor)
        for cell, factor in zip(target.cells.tolist(), target.factors.tolist(), strict=True)
    }
    for one, times in used:
        for cell, factor in zip(one.cells.tolist(), one.factors.tolist(), strict=True):
            left[cell] = left.get(cell, Fraction(0)) - times * factor
    return not any(left.values())


def _fraction(residue: int) -> Fraction | None:
    """The small fraction with this residue, if there is one (half of Euclid's algorithm)."""
    before, here = (PRIME, 0), (residue, 1)
    while here[0] >= LARGEST_FRACTION:
        times = before[0] // here[0]
        before, here = here, (before[0] - times * here[0], before[1] - times * here[1])
    if abs(here[1]) >= LARGEST_FRACTION:
        return None
    return Fraction(here[0], here[1])


def _check(one: Sum, value: Fraction | int) -> None:
    if Fraction(value).denominator != 1 or not one.allows(int(value)):
        raise InconsistentRelease("the published figures contradict each other")
