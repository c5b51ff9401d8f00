"""Rounding rules: how a count becomes a published rate, and what the rate then says.

Whoever reads a figure knows the rule: it stands for the counts of which the rule makes it.

======================  ==================================  ===========================
rule                    how the owner rounds                 what the figure p stands for
======================  ==================================  ===========================
``nearest`` (default)   to the nearest, halves up            [p - u/2, p + u/2)
``half-even``           to the nearest, halves to even       [p - u/2, p + u/2], p/u even
                                                             (p - u/2, p + u/2), p/u odd
``down``                to the unit below                    [p, p + u)
``up``                  to the unit above                    (p - u, p]
``consistent``          largest remainder: rows add to one   the errors of a row lie within
                                                             one unit of each other
======================  ==================================  ===========================

where u is one unit of the last decimal (`largest_remainder.py` has the last one exactly). Under
``rule="interval"`` a figure stands for an interval alone, whatever its row and its last digit are:
[p - u/2, p + u/2] for ``half-even``, [p - u, p + u] for ``consistent``, as in document 004.

Counts are rounded to multiples of a base u by the first four rules or by

======================  ==================================  ===========================
``random``              to a multiple beside it, by chance   (p - u, p + u)
======================  ==================================  ===========================

A count that is a multiple already stays as it is, whatever the rule. All counts of a table together
are rounded so that rounded totals are the sums of rounded cells (`protect` does that) by

======================  ==================================  ===========================
``controlled``          to a multiple beside it              (p - u, p + u)
``controlled-2``, -3    to a multiple less than 2 u, 3 u off (p - 2u, p + 2u), ...
======================  ==================================  ===========================
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from cellbounds.errors import InvalidInput
from cellbounds.runtime.arrays import IntArray, whole_array
from cellbounds.statements.mechanisms import RandomRounding


@dataclass(frozen=True, slots=True)
class Ends:
    """How far the interval reaches below and above the figure, in units of the last decimal."""

    below: Fraction
    above: Fraction
    low_open: bool
    high_open: bool

    def words(self, unit: Fraction, what: str) -> str:
        """What a figure p stands for, if it is rounded to multiples of a unit."""
        low = f"p - {_decimal(self.below * unit)}" if self.below else "p"
        high = f"p + {_decimal(self.above * unit)}" if self.above else "p"
        left, right = ("<" if is_open else "<=" for is_open in (self.low_open, self.high_open))
        return f"a figure p stands for {low} {left} {what} {right} {high}"


def _decimal(value: Fraction) -> str:
    """A decimal that ends, as it is written."""
    scale = 0
    while (value * 10**scale).denominator != 1:
        scale += 1
    digits = str(int(value * 10**scale)).rjust(scale + 1, "0")
    return f"{digits[:-scale]}.{digits[-scale:]}" if scale else digits


_HALF, _ONE, _NONE = Fraction(1, 2), Fraction(1), Fraction(0)
ROUNDINGS = {
    "nearest": Ends(_HALF, _HALF, low_open=False, high_open=True),
    "half-even": Ends(_HALF, _HALF, low_open=False, high_open=False),
    "down": Ends(_NONE, _ONE, low_open=False, high_open=True),
    "up": Ends(_ONE, _NONE, low_open=True, high_open=False),
    "consistent": Ends(_ONE, _ONE, low_open=False, high_open=False),
}

LAST_DIGIT = "half-even"
"""The rule whose ends belong to a figure or not by its last digit."""

WHOLE_ROWS = "consistent"
"""The rule that speaks of all figures of a row together."""

RULE, INTERVAL = "rounding", "interval"
"""What a figure stands for: the counts of which its rule makes it, or all in an interval."""


def is_interval(rule: object) -> bool:
    """Whether figures stand for intervals, whatever the rule would have printed.

    Raises
    ------
    InvalidInput
        If that is no way to read a figure.
    """
    if rule not in (RULE, INTERVAL):
        raise InvalidInput(
            f"rule={rule!r}; choose {RULE!r} (a figure stands for the counts of which its rounding "
            f"makes it) or {INTERVAL!r} (for all rates in an interval around it)"
        )
    return rule == INTERVAL


RULES_IN_WORDS = {
    "nearest": "rounded to the nearest, halves up",
    "half-even": "rounded to the nearest, halves to even",
    "down": "rounded down",
    "up": "rounded up",
    "consistent": "rounded so that rows add to one",
}

COUNT_ROUNDINGS = {
    **{name: ROUNDINGS[name] for name in ("nearest", "half-even", "down", "up")},
    "random": Ends(_ONE, _ONE, low_open=True, high_open=True),
}

CONTROLLED = ("controlled", "controlled-2", "controlled-3")
"""Controlled rounding, by how far a figure may be from its count: less than 1, 2, 3 bases."""

_COUNT_ENDS = COUNT_ROUNDINGS | {
    name: Ends(Fraction(reach), Fraction(reach), low_open=True, high_open=True)
    for reach, name in enumerate(CONTROLLED, 1)
}


def ends_of(rounding: str) -> Ends:
    """The ends that belong to a rounding rule."""
    try:
        return ROUNDINGS[rounding]
    except (KeyError, TypeError):
        raise InvalidInput(f"rounding {rounding!r}; choose one of {', '.join(ROUNDINGS)}") from None


def stands_for(rounding: str, unit: Fraction, interval: bool) -> str:
    """What a rate rounded to multiples of a unit says, in words."""
    words = ROUNDINGS[rounding].words(unit, "rate")
    if interval or rounding not in (LAST_DIGIT, WHOLE_ROWS):
        return words
    if rounding == LAST_DIGIT:
        return f"{words} if its last digit is even, without the ends if it is odd"
    return (
        "the errors of a row lie within one unit of each other, as the largest remainders went up, "
        "earlier columns first"
    )


def round_rows(counts: IntArray, digits: int, rounding: str) -> IntArray:
    """Rates of each row of counts, in units of the last decimal; zeros where nobody is.

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
        total = sum(row) or 1
        quotients = [divmod(count * unit, total) for count in row]
        if rounding == "consistent":
            figures = [whole for whole, _ in quotients]
            # Equal remainders: the first column wins, so that the result does not depend on luck.
            by_remainder = sorted(range(len(row)), key=lambda j: (-quotients[j][1], j))
            for column in by_remainder[: unit - sum(figures)] if any(row) else ():
                figures[column] += 1
        else:
            goes_up = _GOES_UP[rounding]
            figures = [whole + goes_up(whole, rest, total) for whole, rest in quotients]
        rounded.extend(figures)
    return whole_array(rounded, np.shape(counts))


_GOES_UP: dict[str, Callable[[int, int, int], bool]] = {
    "nearest": lambda _, rest, unit: 2 * rest >= unit,
    "half-even": lambda whole, rest, unit: 2 * rest + whole % 2 > unit,
    "down": lambda _whole, _rest, _unit: False,
    "up": lambda _, rest, __: rest > 0,
}
"""Whether a figure of so many whole units and a rest goes up to the next."""


def check_count_rounding(rounding: object) -> str:
    """Check the name of a rule for rounded counts."""
    count_rounding_ends(rounding)
    return str(rounding)


def count_rounding_ends(rounding: object) -> Ends:
    """The ends that belong to a rule for rounded counts."""
    if not isinstance(rounding, str) or rounding not in _COUNT_ENDS:
        raise InvalidInput(
            f"rounding {rounding!r} of counts; choose one of {', '.join(_COUNT_ENDS)}"
        )
    return _COUNT_ENDS[rounding]


def count_ends(figure: int, base: int, rounding: str, *, interval: bool = False) -> tuple[int, int]:
    """The smallest and the largest count that a rounded count stands for.

    Halves go to the even multiple, unless figures stand for an `interval` with both ends.

    Examples
    --------
    >>> count_ends(8, 4, "nearest"), count_ends(8, 4, "half-even"), count_ends(0, 3, "random")
    ((6, 9), (6, 10), (0, 2))
    >>> count_ends(12, 4, "half-even"), count_ends(12, 4, "half-even", interval=True)
    ((11, 13), (10, 14))
    """
    ends = count_rounding_ends(rounding)
    if rounding == LAST_DIGIT and not interval and figure // base % 2:
        ends = replace(ends, low_open=True, high_open=True)
    low, high = figure - ends.below * base, figure + ends.above * base
    lower = math.floor(low) + 1 if ends.low_open else math.ceil(low)
    upper = math.ceil(high) - 1 if ends.high_open else math.floor(high)
    return max(0, lower), upper


def round_counts(
    counts: IntArray, base: int, rounding: str, rng: np.random.Generator | None = None
) -> IntArray:
    """Counts rounded to multiples of a base; ``random`` goes up with probability rest / base.

    Examples
    --------
    >>> import numpy as np
    >>> round_counts(np.array([0, 4, 5, 15]), 10, "half-even")
    array([ 0,  0,  0, 20])
    """
    check_count_rounding(rounding)
    if rounding in CONTROLLED:
        raise InvalidInput(
            f"rounding {rounding!r} takes all counts of a table together: use protect with "
            "method='round'"
        )
    rounded = []
    for count in counts.ravel().tolist():
        if rounding == "random":
            if rng is None:
                raise InvalidInput("random rounding needs rng=; give a seed or a numpy Generator")
            rounded.append(RandomRounding(base).draw(count, rng))
            continue
        whole, rest = divmod(count, base)
        rounded.append(base * (whole + _GOES_UP[rounding](whole, rest, base)))
    return whole_array(rounded, counts.shape)
