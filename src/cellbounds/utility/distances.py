"""Distances between tables as distributions of people over cells."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from cellbounds.data.domain import Domain
from cellbounds.data.table import Table
from cellbounds.errors import InvalidInput
from cellbounds.runtime.scaled_floats import FloatArray


def summed(table: Table, names: Iterable[str]) -> Table:
    """Sum over everything but `names`; derived variables must share out everybody."""
    used = table.domain.distinct(names)
    for name in used:
        table.domain.check_partition(name)
    return table.margin(used)


def two_way(table: Table, rows: str, columns: str, given: Iterable[str] | None) -> Table:
    """A table of rows by columns for each combination of `given`, which come first."""
    for role, name in (("rows", rows), ("columns", columns)):
        if not isinstance(name, str):
            raise InvalidInput(f"{role}={name!r}; name one variable")
    strata = () if given is None else table.domain.distinct(given)
    return summed(table, (*strata, rows, columns))


def occupied(table: Table, what: str) -> Table:
    """Refuse a table without people: it is no distribution."""
    if not isinstance(table, Table):
        raise InvalidInput(f"{what} is a {type(table).__name__}; give a Table of counts")
    if not table.counts.any():
        raise InvalidInput(f"{what} holds nobody; a comparison needs at least one person in it")
    return table


def as_floats(table: Table) -> FloatArray:
    """The counts in double precision."""
    try:
        return np.asarray(table.counts, dtype=np.float64)
    except OverflowError:
        raise InvalidInput(
            "a count passes 10**308; statistics are in double precision, which ends there"
        ) from None


def matched(true: Table, other: Table, what: str = "the other table") -> Table:
    """The other table with its variables and levels in the order of the true one.

    What cannot be is the same for both: structural zeros are those of the true table, as far as
    the other one holds nobody there.
    """
    if not isinstance(other, Table):
        raise InvalidInput(f"{what} is a {type(other).__name__}; give a Table of counts")
    counts = other.counts
    if other.domain != true.domain:
        _check_same_cells(true.domain, other.domain, what)
        counts = np.transpose(counts, other.domain.axes(true.domain.names))
        for axis, name in enumerate(true.domain.names):
            places = [other.domain.position(name, level) for level in true.domain.levels(name)]
            counts = counts.take(places, axis=axis)
    return Table(true.domain, counts, structural=true.structural & (counts == 0))


def both_occupied(true: Table, other: Table) -> tuple[Table, Table]:
    """Two tables with people in them, the other one in the order of the true one."""
    occupied(true, "the true table")
    return true, occupied(matched(true, other), "the other table")


def _check_same_cells(true: Domain, other: Domain, what: str) -> None:
    """Refuse domains that do not span the same cells, in whatever order."""
    if set(other.names) != set(true.names):
        raise InvalidInput(
            f"{what} has the variables {', '.join(map(repr, other.names))}, the true one "
            f"{', '.join(map(repr, true.names))}; compare tables over the same variables "
            "(sum over the others with `margin`)"
        )
    for name in true.names:
        ours, theirs = true.levels(name), other.levels(name)
        lone = [level for level in (*ours, *theirs) if level not in ours or level not in theirs]
        if lone:
            kinds = sorted({type(level).__name__ for level in (*ours, *theirs)})
            hint = f" (labels of the types {', '.join(kinds)})" if len(kinds) > 1 else ""
            raise InvalidInput(
                f"the level {lone[0]!r} of {name!r} is in one table only{hint}; compare {what} "
                "over the same levels (merge them, or add empty ones)"
            )


def hellinger(true: Table, other: Table) -> float:
    """The Hellinger distance of two tables, from 0 (same shares) to 1 (no cell in common).

    It is the root of half the sum of the squared differences between the roots of the shares.

    Examples
    --------
    >>> from cellbounds import Table, datasets
    >>> from cellbounds.utility import hellinger
    >>> survey = datasets.read("mp3")
    >>> hellinger(survey, survey)
    0.0
    >>> round(hellinger(survey, Table(survey.domain, [[16, 9], [4, 21]])), 4)
    0.0332
    """
    return distance_of(*map(as_floats, both_occupied(true, other)))


def distance_of(true: FloatArray, other: FloatArray) -> float:
    """The Hellinger distance of arrays of the same shape with positive sums."""
    roots = np.sqrt(true / true.sum()) - np.sqrt(other / other.sum())
    # Rounding may pass 1 by an ulp.
    return min(1.0, math.sqrt(math.fsum((roots * roots).flat) / 2))


def total_variation(true: Table, other: Table) -> Fraction:
    """The share of people who would have to move for one table to have the shares of the other.

    Half the sum of the absolute differences between the shares, as an exact fraction.

    Examples
    --------
    >>> from cellbounds import Table, datasets
    >>> from cellbounds.utility import total_variation
    >>> survey = datasets.read("mp3")
    >>> total_variation(survey, Table(survey.domain, [[16, 9], [4, 21]]))
    Fraction(1, 25)
    """
    true, second = both_occupied(true, other)
    # Python integers: products of counts and totals may leave 64 bits.
    ours, theirs = true.counts.astype(object), second.counts.astype(object)
    moved = int(np.abs(ours * second.total - theirs * true.total).sum())
    return Fraction(moved, 2 * true.total * second.total)
