"""The rounding rules, read a second time.

With u one unit of the last decimal, or the base of rounded counts, a figure p stands for

==============  ===========================
rule            under ``interval``
==============  ===========================
``nearest``     [p - u/2, p + u/2)
``half-even``   [p - u/2, p + u/2]
``down``        [p, p + u)
``up``          (p - u, p]
``consistent``  [p - u, p + u]      (rates only)
``random``      (p - u, p + u)      (counts only)
``controlled``  (p - u, p + u)      (counts only; -2 and -3: 2 u, 3 u)
==============  ===========================

and under ``rounding``, by what the rule prints: the same, but that under half-even both ends are
open if p/u is odd, and that consistent figures are read row by row. Without a word about it figures
are read as intervals, as all were before there was a choice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from cellbounds.certificates.verifying import plain
from cellbounds.certificates.verifying.plain import IntArray

HALF, ONE, NONE = Fraction(1, 2), Fraction(1), Fraction(0)
_SHARED = {
    "nearest": (HALF, HALF, False, True),
    "half-even": (HALF, HALF, False, False),
    "down": (NONE, ONE, False, True),
    "up": (ONE, NONE, True, False),
}
RATES = {**_SHARED, "consistent": (ONE, ONE, False, False)}
COUNTS = {
    **_SHARED,
    "random": (ONE, ONE, True, True),
    "controlled": (ONE, ONE, True, True),
    "controlled-2": (Fraction(2), Fraction(2), True, True),
    "controlled-3": (Fraction(3), Fraction(3), True, True),
}
"""Each rule: how far below and above in units, and whether the lower and upper end are open."""


def reading(content: dict[str, Any], where: str) -> str:
    """How figures are to be read: by the rule, or as intervals."""
    both = content.get("eps") is not None and content.get("rounding") is not None
    said = content.get("rule", "rounding" if both else "interval")
    return plain.choice(said, f"{where}: rule", ("rounding", "interval"))


def counts_behind(figure: int, base: int, rule: str, *, interval: bool) -> tuple[int, int]:
    """The least and the most that a rounded count stands for."""
    below, above, low_open, high_open = COUNTS[rule]
    if rule == "half-even" and not interval:
        low_open = high_open = figure // base % 2 == 1
    low, high = figure - below * base, figure + above * base
    least = math.floor(low) + 1 if low_open else math.ceil(low)
    most = math.ceil(high) - 1 if high_open else math.floor(high)
    return max(0, least), most


@dataclass(frozen=True, eq=False)
class SharedOut:
    """A row of printed units that add to one: the largest remainders went up, first columns first.

    With U = `unit` units in one and J columns, counts x that add to n print them if the numbers
    J (U x_j - n P_j) - j lie within J n - 1 of each other.
    """

    unit: int
    figures: Sequence[int]

    @property
    def adds_up(self) -> bool:
        """Whether the rule can have printed them at all."""
        return sum(self.figures) == self.unit

    def prints(self, counts: Sequence[int]) -> bool:
        """Whether the rule makes these figures of a row: it is rounded again."""
        held = sum(counts)
        shares = [divmod(self.unit * count, held) for count in counts]
        missing = self.unit - sum(whole for whole, _ in shares)
        ranks = sorted(range(len(counts)), key=lambda j: (-shares[j][1], j))
        up = set(ranks[:missing])
        again = [whole + (j in up) for j, (whole, _) in enumerate(shares)]
        return again == list(self.figures)

    def pair(self, a: int, b: int) -> tuple[list[int], int]:
        """Coefficients of the columns and the least of their sum: column a is not too far above b.

        (n P_a - U x_a) - (n P_b - U x_b) + n is at least 0, or 1 if a comes first.
        """
        factors = [self.figures[a] - self.figures[b] + 1] * len(self.figures)
        factors[a] -= self.unit
        factors[b] += self.unit
        return factors, int(a < b)

    @property
    def _starts(self) -> tuple[int, int, IntArray, IntArray]:
        width = len(self.figures)
        return (
            width,
            width * self.unit,
            plain.packed(self.figures)[:, None],
            np.arange(width)[:, None],
        )

    def single(self, sums: IntArray) -> tuple[IntArray, IntArray]:
        """For sums of one unit at most: the only counts that may print the row, and if they do."""
        width, _, figures, columns = self._starts
        wholes = sums * figures // self.unit
        rests = sums * figures - wholes * self.unit
        ranks = np.argsort(np.argsort(-(width * rests + columns), axis=0), axis=0)
        counts = wholes + (ranks < rests.sum(axis=0) // self.unit)
        places = width * (self.unit * counts - sums * figures) - columns
        return counts, np.asarray(places.max(axis=0) - places.min(axis=0) < width * sums)

    def least(self, column: int, sums: IntArray) -> IntArray:
        """The smallest count of a column for sums above one unit: the others can make the rest."""
        width, modulus, figures, columns = self._starts
        starts = width * sums * figures + columns

        def enough(value: IntArray) -> IntArray:
            tops = (modulus * value - starts[column] + width * sums - 1 + starts) // modulus
            tops[column] = value
            return np.asarray(tops.sum(axis=0) >= sums)

        low = np.maximum((self.figures[column] - 1) * sums // self.unit - 1, -1)
        return _first(enough, low, self.figures[column] * sums // self.unit + 1)

    def most(self, column: int, sums: IntArray) -> IntArray:
        """The largest count of a column for sums above one unit: the others need no more."""
        width, modulus, figures, columns = self._starts
        starts = width * sums * figures + columns

        def too_much(value: IntArray) -> IntArray:
            begin = modulus * value - starts[column] - width * sums + 1
            bottoms = np.maximum(-(-(begin + starts) // modulus), 0)
            bottoms[column] = value
            return np.asarray(bottoms.sum(axis=0) > sums)

        low = self.figures[column] * sums // self.unit - 1
        return _first(too_much, low, (self.figures[column] + 1) * sums // self.unit + 2) - 1


def _first(holds: Any, below: IntArray, above: IntArray) -> IntArray:
    """For each place the first number above `below` at which it holds; it does at `above`."""
    below, above = below.copy(), above.copy()
    while ((above - below) > 1).any():
        middle = (below + above) // 2
        here = holds(middle)
        above, below = np.where(here, middle, above), np.where(here, below, middle)
    return above
