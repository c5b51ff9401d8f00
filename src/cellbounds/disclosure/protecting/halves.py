"""Stronger inequalities from those at hand: sums of them, halved and rounded up.

Whole numbers x between 0 and 1 with a x >= b also have ceil(a / 2) x >= ceil(b / 2). If b is odd
and nearly all of a is even, that is more than was known: three cells of which each two have one
hidden have two hidden. Which inequalities to add up is a system of parities; it is eliminated, and
what is found is worked out in whole numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cellbounds.disclosure.protecting.search_state import Row
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.scaled_floats import FloatArray

NEAR = 1e-6
"""How far from 0 and 1 a variable counts as fractional."""

SLACK, TAKEN = 0.3, 1000
"""Inequalities that hold with less than this to spare are added up, so many of them at most."""

MISSED = 0.01
"""By how much a fractional pattern must miss a sum for it to be worth adding."""

CHOSEN, WORKED_OUT, ALIKE = 50, 1500, 0.9
"""Sums that are added at once at most, those among which they are chosen, and how much alike (a
cosine) two of them may be."""

LARGEST = 1 << 10
"""Sums with larger numbers are left out, so that bounds stay within 64 bits."""


def halves(rows: Sequence[Row], shares: FloatArray) -> tuple[list[Row], int]:
    """Inequalities that a fractional pattern misses, and the work of looking for them."""
    parities = _Parities(rows, shares)
    sums, least = parities.sums_of(parities.odd_sums())
    return _different(*_halved(sums, least, shares), shares), parities.work


def matrix_of(rows: Sequence[Row], size: int) -> Any:
    """Inequalities as a sparse matrix."""
    from scipy.sparse import csr_matrix

    starts = np.cumsum([0, *(len(columns) for columns, _, _ in rows)])
    nothing = np.zeros(0, dtype=np.int64)
    columns = np.concatenate([nothing, *(columns for columns, _, _ in rows)])
    values = np.concatenate([nothing, *(values for _, values, _ in rows)])
    return csr_matrix((values, columns, starts), shape=(len(rows), size))


class _Parities:
    """Which coefficients are odd, of inequalities that hold with little to spare."""

    def __init__(self, rows: Sequence[Row], shares: FloatArray) -> None:
        least = np.array([row[2] for row in rows], dtype=np.int64)
        spare = matrix_of(rows, len(shares)) @ shares - least
        order = np.argsort(spare, kind="stable")[:TAKEN]
        self._rows = [rows[place] for place in order if spare[place] < SLACK]
        self._spare = np.maximum(spare[order[: len(self._rows)]], 0)
        fractional = np.flatnonzero((shares > NEAR) & (shares < 1 - NEAR))
        self._size = len(shares)
        place = np.full(len(shares), -1)
        place[fractional] = np.arange(len(fractional))
        self._away = np.minimum(shares, 1 - shares)[fractional]
        self._odd = np.zeros((len(self._rows), len(fractional)), dtype=bool)
        self._rest = np.zeros(len(self._rows), dtype=bool)
        for number, (cells, values, least) in enumerate(self._rows):
            odd = cells[values % 2 == 1]
            self._odd[number, place[odd][place[odd] >= 0]] = True
            # What is nearly hidden counts as 1 less what is shown of it.
            self._rest[number] = (least + int((shares[odd] > 0.5).sum())) % 2
        self._used = np.packbits(np.eye(len(self._rows), dtype=bool), axis=1)
        self._left = np.ones(len(self._rows), dtype=bool)
        self.work = self._odd.size

    def odd_sums(self) -> list[IntArray]:
        """Sets of inequalities whose sum has an odd right-hand side, and little else that is."""
        found: dict[bytes, tuple[float, IntArray]] = {}
        self._collect(found)
        for column in np.argsort(-self._away, kind="stable").tolist():
            having = np.flatnonzero(self._odd[:, column] & self._left)
            if not len(having):
                continue
            off = self._spare[having] * len(self._odd) + self._off(having)
            first = int(having[off.argmin()])
            others = having[having != first]
            for matrix in (self._odd, self._used, self._rest):
                matrix[others] ^= matrix[first]
            self._spare[others] += self._spare[first]
            self._left[first] = False
            self._left &= self._spare < 1
            self.work += self._odd.size
            self._collect(found)
        best = sorted(found.values(), key=lambda one: one[0])[:WORKED_OUT]
        return [numbers for _, numbers in best]

    def _off(self, rows: IntArray) -> FloatArray:
        """What the odd coefficients of some rows lose by rounding."""
        return np.asarray((self._odd[rows] * self._away).sum(axis=1))

    def _collect(self, found: dict[bytes, tuple[float, IntArray]]) -> None:
        odd = np.flatnonzero(self._rest & self._left)
        lost = self._spare[odd] + self._off(odd)
        for number, less in zip(odd.tolist(), lost.tolist(), strict=True):
            if less < 1 - 2 * MISSED:
                key = self._used[number].tobytes()
                if key not in found:
                    used = np.unpackbits(self._used[number], count=len(self._rows))
                    found[key] = less, np.flatnonzero(used)

    def sums_of(self, chosen: list[IntArray]) -> tuple[IntArray, IntArray]:
        """The coefficients and the right-hand sides of sums of inequalities."""
        from scipy.sparse import csr_matrix

        picked = csr_matrix(
            (
                np.ones(sum(map(len, chosen)), dtype=np.int64),
                np.concatenate([np.zeros(0, dtype=np.int64), *chosen]),
                np.cumsum([0, *map(len, chosen)]),
            ),
            shape=(len(chosen), len(self._rows)),
        )
        least = np.array([row[2] for row in self._rows], dtype=np.int64)
        return (picked @ matrix_of(self._rows, self._size)).toarray(), picked @ least


def _halved(sums: IntArray, least: IntArray, shares: FloatArray) -> tuple[IntArray, IntArray]:
    """Half of each sum, rounded up in whole numbers.

    Odd coefficients are made even first: by x >= 0 where little is hidden, by -x >= -1 where much
    is.
    """
    odd, much = sums % 2 == 1, shares > 0.5
    halved = (sums + np.where(odd, np.where(much, -1, 1), 0)) // 2
    rest = -(((odd & much).sum(axis=1) - least) // 2)
    # No variable counts for more than is needed whatever the others are.
    most = rest - np.minimum(halved, 0).sum(axis=1)
    return np.minimum(halved, most[:, None]), rest


def _different(sums: IntArray, least: IntArray, shares: FloatArray) -> list[Row]:
    """Those that a pattern misses by most, without those that say nearly the same."""
    missed = least - sums @ shares
    norms = np.sqrt(np.maximum((sums * sums).sum(axis=1), 1))
    largest = np.maximum(np.abs(sums).max(axis=1, initial=0), np.abs(least))
    wanted = (missed > MISSED) & (largest <= LARGEST)
    depth = np.where(wanted, missed / norms, 0)
    chosen: list[Row] = []
    units = np.zeros((CHOSEN, len(shares)))
    for place in np.argsort(-depth, kind="stable")[: int(wanted.sum())].tolist():
        unit = sums[place] / norms[place]
        if (units[: len(chosen)] @ unit <= ALIKE).all():
            units[len(chosen)] = unit
            cells = np.flatnonzero(sums[place])
            chosen.append((cells, sums[place, cells], int(least[place])))
        if len(chosen) == CHOSEN:
            break
    return chosen
