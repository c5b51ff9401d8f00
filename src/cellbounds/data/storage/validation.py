"""Counts and structural zeros as they are given, checked: a refusal names the cell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from cellbounds.data.domain import Domain, Label
from cellbounds.data.storage.dense import Dense
from cellbounds.data.storage.sparse import Cells, Sparse
from cellbounds.errors import InvalidInput
from cellbounds.runtime.arrays import IntArray, summable

_SMALL = 2**12
"""Cells that are listed one by one at once: about all questions need them so."""


def dense_of(
    domain: Domain, counts: npt.ArrayLike, structural: npt.ArrayLike | None = None
) -> Dense:
    """A table from arrays in the domain's shape."""
    given = _numbers(counts)
    if given.shape != domain.shape:
        raise InvalidInput(
            f"counts of shape {given.shape}; {domain!r} needs the shape {domain.shape}"
        )

    def labels(place: int) -> tuple[Label, ...]:
        return domain.labels([int(position) for position in np.unravel_index(place, domain.shape)])

    whole = _whole_counts(given.ravel(), labels).reshape(domain.shape)
    if structural is None:
        return Dense(whole, np.zeros(domain.shape, dtype=bool))
    closed = np.array(structural, dtype=bool)
    if closed.shape != domain.shape:
        raise InvalidInput(
            f"structural zeros of shape {closed.shape}; they need the shape {domain.shape} of "
            f"{domain!r}"
        )
    occupied = np.argwhere(closed & (whole != 0))
    if len(occupied):
        raise _not_empty(domain, occupied[0])
    return Dense(whole, closed)


def sparse_of(
    domain: Domain,
    places: npt.ArrayLike,
    counts: npt.ArrayLike,
    structural: Iterable[Sequence[Label]],
) -> Sparse:
    """A table from a list of cells, each a line of positions; structural zeros by their labels."""
    columns = _columns(domain, places)
    given = _numbers(counts)
    if given.shape != columns[0].shape:
        raise InvalidInput(
            f"counts of shape {given.shape} for {len(columns[0])} cells; give one count for each "
            "cell"
        )

    def labels(place: int) -> tuple[Label, ...]:
        return domain.labels([int(column[place]) for column in columns])

    occupied = Cells.gathered(domain.shape, columns, _whole_counts(given, labels))
    closed = _closed(domain, occupied, structural)
    return Sparse(occupied, Cells.listed(domain.shape, _columns(domain, closed)))


def stored(
    domain: Domain, occupied: Cells, structural: Iterable[Sequence[Label]]
) -> Dense | Sparse:
    """A table that was read, from the cells that hold somebody; all cells of a small one."""
    closed = _closed(domain, occupied, structural)
    if domain.size > _SMALL:
        return Sparse(occupied, Cells.listed(domain.shape, _columns(domain, closed)))
    mask = np.zeros(domain.shape, dtype=bool)
    for index in closed:
        mask[index] = True
    return Dense(occupied.to_array(occupied.counts.dtype), mask)


def _closed(
    domain: Domain, occupied: Cells, structural: Iterable[Sequence[Label]]
) -> list[tuple[int, ...]]:
    """Where the structural zeros are; nobody may be there."""
    listed = [domain.index(tuple(cell)) for cell in structural]
    for index in listed:
        if occupied.find(index) >= 0:
            raise _not_empty(domain, index)
    return listed


def _numbers(counts: npt.ArrayLike) -> npt.NDArray[Any]:
    # Lists go through objects: numpy would round numbers between 63 and 64 bits.
    return counts if isinstance(counts, np.ndarray) else np.array(counts, dtype=object)


def _whole_counts(given: npt.NDArray[Any], labels: Callable[[int], tuple[Label, ...]]) -> IntArray:
    if given.dtype.kind in "iu":
        if given.size and given.min() < 0:
            where = labels(int(np.argmax(given < 0)))
            raise InvalidInput(f"the count of cell {where} is negative; counts are 0 or more")
        return summable(np.array(given))
    whole = np.empty(given.size, dtype=object)
    for place, value in enumerate(given.tolist()):
        try:
            exact = Fraction(value)
        except (TypeError, ValueError, OverflowError):
            raise InvalidInput(
                f"the count of cell {labels(place)} is not a number; counts are whole numbers"
            ) from None
        if exact.denominator != 1 or exact < 0:
            raise InvalidInput(
                f"the count of cell {labels(place)} is negative or not whole; counts are whole "
                "numbers, 0 or more (weighted tables are not counts)"
            )
        whole[place] = int(exact)
    return summable(whole)


def _columns(domain: Domain, places: npt.ArrayLike) -> list[IntArray]:
    """Columns of positions from lines of them, checked against the levels of each variable."""
    lines = np.asarray(places)
    if not lines.size:
        lines = np.zeros((0, len(domain.shape)), dtype=np.int64)
    if lines.ndim != 2 or lines.shape[1] != len(domain.shape) or lines.dtype.kind not in "iu":
        raise InvalidInput(
            f"places of shape {lines.shape} and type {lines.dtype}; give positions of levels "
            f"(whole numbers): a line for each cell, {len(domain.shape)} columns"
        )
    if len(lines):
        # By lines: a column of a large array of lines is far apart in memory.
        least, most = lines.min(axis=0).tolist(), lines.max(axis=0).tolist()
        for name, size, low, high in zip(domain.names, domain.shape, least, most, strict=True):
            if low < 0 or high >= size:
                raise InvalidInput(
                    f"position {low if low < 0 else high} of a level of {name!r}; it has {size} "
                    f"levels, so positions are 0 to {size - 1}"
                )
    return [lines[:, axis] for axis in range(lines.shape[1])]


def _not_empty(domain: Domain, index: Sequence[int]) -> InvalidInput:
    return InvalidInput(
        f"the cell {domain.labels(index)} is declared a structural zero but is not empty; correct "
        "the declaration or the count"
    )
