"""Cells that are placed along with the one before them.

The last cell of an equation has no choice. Placed together with the cell before it, it costs no
layer of its own, and the nodes in between, often the most of all, are never made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cellbounds.inference.decision_diagram.stages import Stages
from cellbounds.inference.decision_diagram.sums import Sum

__all__ = ["Together", "completed", "placed_together"]


def completed(sums: Sequence[Sum], stages: Sequence[Stages], size: int) -> list[list[int]]:
    """Groups of consecutive cells: a first one, and those that complete an equation."""
    listed: set[int] = set()
    last: set[int] = set()
    for said, one in zip(sums, stages, strict=True):
        if said.values is not None:
            listed.update(one.places.tolist())
        elif _completes(said, one):
            last.add(int(one.places[-1]))
    groups: list[list[int]] = []
    for at in range(size):
        if groups and at in last and at not in listed and groups[-1][0] not in listed:
            groups[-1].append(at)
        else:
            groups.append([at])
    return groups


def _completes(said: Sum, one: Stages) -> bool:
    return said.fixed and said.values is None and abs(int(one.factors[-1])) == 1


@dataclass(frozen=True, slots=True, eq=False)
class Together:
    """A group of cells and the sums that they belong to.

    Attributes
    ----------
    factors
        For each sum, the factors of the cells (by when they are placed).
    equations
        For each cell but the first, an equation that it completes.
    slopes
        What one more in the first cell adds to each of the others.
    rise
        What one more in the first cell adds to each sum.
    """

    factors: dict[int, dict[int, int]]
    equations: dict[int, int]
    slopes: dict[int, int]
    rise: dict[int, int]


def placed_together(
    sums: Sequence[Sum], stages: Sequence[Stages], active: Sequence[int], group: Sequence[int]
) -> Together:
    """What placing a group of cells does to the open sums."""
    factors: dict[int, dict[int, int]] = {}
    equations: dict[int, int] = {}
    for k in active:
        one = stages[k]
        here = {
            at: int(factor)
            for at, factor in zip(one.places.tolist(), one.factors.tolist(), strict=True)
            if group[0] <= at <= group[-1]
        }
        if here:
            factors[k] = here
            end = int(one.places[-1])
            if end in group[1:] and _completes(sums[k], one):
                equations.setdefault(end, k)
    slopes = {group[0]: 1}
    for at in group[1:]:
        own = factors[equations[at]]
        risen = sum(own.get(other, 0) * slope for other, slope in slopes.items())
        # The factor of the cell itself is 1 or -1, which is its own inverse.
        slopes[at] = -own[at] * risen
    rise = {
        k: sum(factor * slopes[at] for at, factor in here.items()) for k, here in factors.items()
    }
    return Together(factors, equations, slopes, rise)
