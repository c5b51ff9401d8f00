"""Every cell of a table in an array."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cellbounds.data.domain import Domain
from cellbounds.runtime.arrays import BoolArray, IntArray, summable

DENSE_LIMIT = 2**27
"""Cells above which a table is not listed cell by cell."""


@dataclass(frozen=True, slots=True, eq=False)
class Dense:
    """Counts and structural zeros as arrays in the domain's shape."""

    counts: IntArray
    structural: BoolArray

    def __post_init__(self) -> None:
        self.counts.flags.writeable = False
        self.structural.flags.writeable = False

    def __reduce__(self) -> tuple[type[Dense], tuple[Any, ...]]:
        # Arrays come back from a pickle as writeable; made anew they are not.
        return Dense, (self.counts, self.structural)

    @property
    def total(self) -> int:
        """The sum of the counts."""
        return int(self.counts.sum())

    @property
    def has_structural(self) -> bool:
        """Whether there are structural zeros."""
        return bool(self.structural.any())

    def at(self, index: tuple[int, ...]) -> int:
        """The count of one cell."""
        return int(self.counts[index])

    def margin(self, domain: Domain, kept: Sequence[str]) -> Dense:
        """Sums over all other variables; an empty sum is a structural zero."""
        counts = np.array(_sum_to(self.counts, domain, kept), order="C")
        room = np.array(_sum_to(~self.structural, domain, kept), order="C")
        return Dense(summable(counts), room == 0)

    def reshaped(self, shape: tuple[int, ...]) -> Dense:
        """The same cells in the same order in another shape."""
        return Dense(self.counts.reshape(shape), self.structural.reshape(shape))

    def same(self, other: Dense) -> bool:
        """Whether counts and structural zeros are the same."""
        return bool(
            np.array_equal(self.counts, other.counts)
            and np.array_equal(self.structural, other.structural)
        )


def _sum_to(counts: npt.NDArray[Any], domain: Domain, kept: Sequence[str]) -> IntArray:
    base = [domain.base(name) for name in kept]
    axes = domain.axes(dict.fromkeys(base))
    dropped = tuple(axis for axis in range(counts.ndim) if axis not in axes)
    summed = counts.sum(axis=dropped) if dropped else counts
    remaining = sorted(axes)
    summed = np.transpose(summed, [remaining.index(axis) for axis in axes])
    return summed if base == list(kept) else _regrouped(summed, domain, kept, base)


def _regrouped(
    summed: npt.NDArray[Any], domain: Domain, kept: Sequence[str], base: Sequence[str]
) -> IntArray:
    """Turn each axis of `summed` (the variables in `base`) into those of the names based on it."""
    order: list[int] = []
    shape: list[int] = []
    for axis, variable in enumerate(dict.fromkeys(base)):
        places = [place for place, group in enumerate(base) if group == variable]
        # The people of several groups at once are those behind all of them.
        behind = [
            np.array(sorted(frozenset.intersection(*groups)), dtype=np.intp)
            for groups in itertools.product(*(domain.level_sets(kept[place]) for place in places))
        ]
        # The axis is kept: sums that are lone Python numbers would become doubles side by side.
        summed = np.concatenate(
            [summed.take(group, axis=axis).sum(axis=axis, keepdims=True) for group in behind],
            axis=axis,
        )
        order += places
        shape += [len(domain.levels(kept[place])) for place in places]
    apart = summed.reshape(shape)
    return np.asarray(np.transpose(apart, [order.index(place) for place in range(len(kept))]))
