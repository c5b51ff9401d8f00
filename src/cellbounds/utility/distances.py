"""Distances between tables as distributions of people over cells."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from cellbounds.data.table import Table
from cellbounds.runtime.scaled_floats import FloatArray
from cellbounds.utility.layout import as_floats, matched, occupied

__all__ = ["distance_of", "hellinger", "total_variation"]


def hellinger(true: Table, other: Table) -> float:
    """The Hellinger distance of two tables, from 0 (same shares) to 1 (no cell in common).

    It is the root of half the sum of the squared differences between the roots of the shares.

    Examples
    --------
    >>> from cellbounds import Table, example_table
    >>> from cellbounds.utility import hellinger
    >>> survey = example_table("mp3")
    >>> hellinger(survey, survey)
    0.0
    >>> round(hellinger(survey, Table(survey.domain, [[16, 9], [4, 21]])), 4)
    0.0332
    """
    occupied(true, "the true table")
    return distance_of(
        as_floats(true), as_floats(occupied(matched(true, other), "the other table"))
    )


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
    >>> from cellbounds import Table, example_table
    >>> from cellbounds.utility import total_variation
    >>> survey = example_table("mp3")
    >>> total_variation(survey, Table(survey.domain, [[16, 9], [4, 21]]))
    Fraction(1, 25)
    """
    occupied(true, "the true table")
    second = occupied(matched(true, other), "the other table")
    # Python integers: products of counts and totals may leave 64 bits.
    ours, theirs = true.counts.astype(object), second.counts.astype(object)
    moved = int(np.abs(ours * second.total - theirs * true.total).sum())
    return Fraction(moved, 2 * true.total * second.total)
