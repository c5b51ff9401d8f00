"""Rounding rules: how a count becomes a published rate, and what the rate then says.

======================  ==================================  ===========================
rule                    how the owner rounds                 what the figure p stands for
======================  ==================================  ===========================
``nearest`` (default)   to the nearest, halves up            [p - u/2, p + u/2)
``half-even``           to the nearest, halves to even       [p - u/2, p + u/2]
``down``                to the unit below                    [p, p + u)
``up``                  to the unit above                    (p - u, p]
``consistent``          largest remainder: rows add to one   [p - u, p + u]
======================  ==================================  ===========================

where u is one unit of the last decimal.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from cellbounds.arrays import IntArray, whole_array
from cellbounds.errors import InvalidInput

__all__ = ["ROUNDINGS", "Ends", "ends_of", "round_rows"]


@dataclass(frozen=True, slots=True)
class Ends:
    """How far the interval reaches below and above the figure, in units of the last decimal."""

    below: Fraction
    above: Fraction
    low_open: bool
    high_open: bool


_HALF, _ONE, _NONE = Fraction(1, 2), Fraction(1), Fraction(0)
ROUNDINGS = {
    "nearest": Ends(_HALF, _HALF, low_open=False, high_open=True),
    "half-even": Ends(_HALF, _HALF, low_open=False, high_open=False),
    "down": Ends(_NONE, _ONE, low_open=False, high_open=True),
    "up": Ends(_ONE, _NONE, low_open=True, high_open=False),
    "consistent": Ends(_ONE, _ONE, low_open=False, high_open=False),
}


def ends_of(rounding: str) -> Ends:
    """The ends that belong to a rounding rule."""
    try:
        return ROUNDINGS[rounding]
    except (KeyError, TypeError):
        raise InvalidInput(f"rounding {rounding!r}; choose one of {', '.join(ROUNDINGS)}") from None


def round_rows(counts: IntArray, digits: int, rounding: str) -> IntArray:
    """Rates of each row of counts, in units of the last decimal; rows must not be empty.

    Examples
    --------
    >>> import numpy as np
    >>> round_rows(np.array([[20, 10, 10, 15]]), 2, "consistent")
    array([[37, 18, 18, 27]])
    """
    ends_of(rounding)
    unit = 10**digits
    rounded = []
    for row in counts.tolist():
        total = sum(row)
        quotients = [divmod(count * unit, total) for count in row]
        if rounding == "down":
            figures = [whole for whole, _ in quotients]
        elif rounding == "up":
            figures = [whole + (rest > 0) for whole, rest in quotients]
        elif rounding == "nearest":
            figures = [whole + (2 * rest >= total) for whole, rest in quotients]
        elif rounding == "half-even":
            figures = [
                whole + (2 * rest > total or (2 * rest == total and whole % 2 == 1))
                for whole, rest in quotients
            ]
        else:
            figures = [whole for whole, _ in quotients]
            # Equal remainders: the first column wins, so that the result does not depend on luck.
            by_remainder = sorted(range(len(row)), key=lambda j: (-quotients[j][1], j))
            for column in by_remainder[: unit - sum(figures)]:
                figures[column] += 1
        rounded.extend(figures)
    return whole_array(rounded, np.shape(counts))
