"""Partial sums that follow from other partial sums."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from cellbounds.inference.decision_diagram.dependence import relations
from cellbounds.inference.decision_diagram.sums import Sum
from cellbounds.runtime.arrays import SAFE, IntArray

__all__ = ["Derived", "Formulas", "derived_from", "formulas_of", "relations_up_to"]

Derived = dict[int, tuple[Fraction, dict[int, Fraction]]]
"""Partial sums that follow from others: a constant, and factors of the others."""


class Formulas(NamedTuple):
    """Some partial sums as ``(constants + times @ partial sums) / divisors``."""

    places: IntArray
    constants: IntArray
    times: IntArray
    divisors: IntArray


def relations_up_to(sums: Sequence[Sum], rank: IntArray, at: int) -> list[dict[int, Fraction]]:
    """What holds between partial sums once cell number `at` is placed."""
    placed, numbers = [], []
    for k, one in enumerate(sums):
        there = rank[one.cells] <= at
        if there.any() and (one.fixed or not there.all()):
            part = replace(one, cells=rank[one.cells[there]], factors=one.factors[there])
            placed.append(replace(part, lower=0, upper=0, values=None))
            numbers.append(k)
    found = relations(placed, at + 1)
    return [{numbers[k]: times for k, times in one.items()} for one in found]


def derived_from(
    related: Sequence[dict[int, Fraction]],
    touched: Sequence[int],
    left: Sequence[int],
    stage: Sequence[int],
    sums: Sequence[Sum],
) -> Derived:
    """Open equations whose partial sums follow from those of others.

    Touched ones are preferred: the fewer sums move, the less a line has to tell.
    """
    if not related or not left:
        return {}
    from flint import fmpq, fmpq_mat

    open_rows = sorted(left, key=lambda k: (k not in touched, k))
    column = {k: place for place, k in enumerate(open_rows)}
    entries = []
    for relation in related:
        entry = [Fraction(0)] * (len(open_rows) + 1)
        for k, times in relation.items():
            if k in column:
                entry[column[k]] = times
            elif stage[k] > 0:
                entry[-1] += times * sums[k].lower
        if any(entry[:-1]):
            entries.append(entry)
    if not entries:
        return {}
    dense = [fmpq(one.numerator, one.denominator) for entry in entries for one in entry]
    echelon, rank = fmpq_mat(len(entries), len(open_rows) + 1, dense).rref()
    found: Derived = {}
    for line in range(rank):
        exact = [
            Fraction(int(echelon[line, c].p), int(echelon[line, c].q))
            for c in range(len(open_rows) + 1)
        ]
        pivot = next((c for c, one in enumerate(exact[:-1]) if one), None)
        if pivot is None:
            continue
        others = {open_rows[c]: -exact[c] for c in range(pivot + 1, len(open_rows)) if exact[c]}
        found[open_rows[pivot]] = (-exact[-1], others)
    return found


def formulas_of(derived: Derived, largest: Mapping[int, int]) -> Formulas | None:
    """The formulas in integers, None if these could leave 64 bits.

    `largest` says how far from zero each partial sum can be, in the order of their numbers here.
    """
    rows = list(largest)
    times = np.zeros((len(derived), len(rows)), np.int64)
    constants, divisors = [], []
    for line, (constant, others) in enumerate(derived.values()):
        divisor = math.lcm(constant.denominator, *(one.denominator for one in others.values()))
        whole = {k: int(factor * divisor) for k, factor in others.items()}
        constants.append(int(constant * divisor))
        divisors.append(divisor)
        reach = sum(abs(factor) * largest[k] for k, factor in whole.items())
        if reach + abs(constants[-1]) + divisor >= SAFE:
            return None
        for k, factor in whole.items():
            times[line, rows.index(k)] = factor
    places = [rows.index(k) for k in derived]
    arrays = [np.array(one, dtype=np.int64) for one in (places, constants, divisors)]
    return Formulas(arrays[0], arrays[1], times, arrays[2])
