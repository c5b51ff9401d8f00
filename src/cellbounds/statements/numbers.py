"""Published figures as exact numbers: text in, fractions out, floats refused."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np

from cellbounds.errors import InvalidInput
from cellbounds.runtime.arrays import BoolArray, IntArray, whole_array

UNITS = {"proportion": 0, "percent": 2, "per-mille": 3}
"""Units of published rates, and how many places they shift the decimal point."""

MISSING_MARKS = frozenset({"", "NA"})
"""What stands for a missing rate in text."""

MOST_DIGITS = 50
"""Decimals of a published figure at most."""

LONGEST = 1000
"""Characters of a number written as text at most."""

_DECIMAL = re.compile(r"\+?([0-9]*)(?:\.([0-9]*))?")
_NUMBER = re.compile(r"-?\+?([0-9]+\s*/\s*0*[1-9][0-9]*|[0-9]+\.?[0-9]*|\.[0-9]+)")


@dataclass(frozen=True, slots=True, eq=False)
class Figures:
    """Published rates: numerators over one denominator a row, and how they were written.

    `decimals` is the number of decimals in proportions, None if no figure is a decimal (exact
    fractions and Python integers), and -1 if figures with different numbers of decimals are mixed.
    `shape` has an axis for each variable.
    """

    numerators: IntArray
    denominators: IntArray
    missing: BoolArray
    decimals: int | None
    most_decimals: int
    shape: tuple[int, ...]

    def text(self, place: int) -> str:
        """One figure as it was published, by its flat index."""
        row, column = divmod(place, self.missing.shape[1])
        if self.missing[row, column]:
            return "missing"
        top, bottom = int(self.numerators[row, column]), int(self.denominators[row])
        places = self.most_decimals
        if self.decimals is not None and 10**places == bottom:
            return f"{top // bottom}.{top % bottom:0{places}d}" if places else str(top)
        exact = Fraction(top, bottom)
        return f"{exact.numerator}/{exact.denominator}"

    def checked_missing(self, missing: str | None, what: str) -> str | None:
        """Check what a missing rate is said to mean; None if there is none."""
        if missing not in (None, "zero", "suppressed"):
            raise InvalidInput(f"missing={missing!r}; choose 'zero' or 'suppressed'")
        absent = self.missing
        if not absent.any():
            return None
        if missing is None:
            count = int(absent.sum())
            raise InvalidInput(
                f"{what}: {count} {'rate is' if count == 1 else 'rates are'} missing; say "
                'why with missing="zero" (rows that hold nobody) or missing="suppressed"'
            )
        partly = np.flatnonzero(absent.any(axis=1) & ~absent.all(axis=1))
        if missing == "zero" and len(partly):
            raise InvalidInput(
                f"{what}: row {int(partly[0]) + 1} has some rates and lacks others, so it "
                'is not a row of zeros; complete it or give missing="suppressed"'
            )
        return missing


def checked_digits(digits: object, what: str) -> int:
    """Check a number of decimals."""
    if isinstance(digits, bool) or not isinstance(digits, int) or not 0 <= digits <= MOST_DIGITS:
        raise InvalidInput(
            f"{what}: digits={digits!r}; give a whole number from 0 to {MOST_DIGITS}"
        )
    return digits


def exact_number(value: object, what: str) -> Fraction:
    """Read a number exactly; binary floating point is refused.

    Examples
    --------
    >>> exact_number("0.005", "eps")
    Fraction(1, 200)
    """
    if isinstance(value, float | np.floating):
        raise InvalidInput(
            f"{what} is the {type(value).__name__} {value!r}; a float is not the figure that was "
            f"published: pass text such as '{value}', a Decimal or a Fraction"
        )
    if isinstance(value, bool):
        raise InvalidInput(
            f"{what} is the bool {value!r}; give text such as '0.21', a Decimal or a Fraction"
        )
    if isinstance(value, int | np.integer):
        return Fraction(int(value))
    if isinstance(value, Fraction):
        return value
    if isinstance(value, Decimal) and value.is_finite():
        return Fraction(value)
    if isinstance(value, str) and len(value) <= LONGEST:
        text = value.strip()
        if _NUMBER.fullmatch(text):
            return Fraction(re.sub(r"[+\s]", "", text))
    hint = "; write a decimal point, not a comma" if "," in str(value) else ""
    raise InvalidInput(
        f"{what} is {value!r}; give a number as text ('0.21', '3/8'), a Decimal or a Fraction{hint}"
    )


def whole_number(value: object, what: str) -> int:
    """Read a whole number of zero or more."""
    if isinstance(value, str) and len(value) <= LONGEST and value.strip().isdecimal():
        return int(value)
    if isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= 0:
        return int(value)
    raise InvalidInput(f"{what} is {value!r}; give a whole number, 0 or more")


def read_figures(rates: object, rows: int, unit: str, what: str) -> Figures:
    """Read an array or nested lists of rates, laid out as `rows` rows.

    Text keeps its decimals, so that '0.50' is known to have two.
    """
    if not isinstance(unit, str) or unit not in UNITS:
        raise InvalidInput(f"{what}: unit {unit!r}; choose one of {', '.join(UNITS)}")
    entries = np.array(rates, dtype=object)
    shift = UNITS[unit]
    flat = entries.ravel().tolist()
    width = len(flat) // rows
    plain = _plain_decimals(flat, shift)
    if plain is not None:
        numerators, digits = plain
        return Figures(
            whole_array(numerators, (rows, width)),
            whole_array([10**digits] * rows, (rows,)),
            np.zeros((rows, width), dtype=bool),
            digits,
            digits,
            entries.shape,
        )
    parsed = [
        _read_one(value, shift, f"{what} (row {place // width + 1}, column {place % width + 1})")
        for place, value in enumerate(flat)
    ]
    missing = np.array([figure is None for figure in parsed], dtype=bool).reshape(rows, width)
    places = {figure[2] for figure in parsed if figure is not None}
    known = [figure or (0, 1, None) for figure in parsed]
    decimals = [place for place in places if place is not None]
    # A bare 0 or 1 among exact fractions is exact too.
    mixed = None if not any(decimals) and (None in places or not decimals) else -1
    common = next(iter(places)) if len(places) == 1 else mixed
    if decimals and None not in places:
        scale = 10 ** max(decimals)
        numerators = [numerator * (scale // denominator) for numerator, denominator, _ in known]
        denominators = [scale] * rows
    else:
        numerators, denominators = [], []
        for start in range(0, len(known), width):
            row = known[start : start + width]
            common_denominator = math.lcm(*(denominator for _, denominator, _ in row))
            denominators.append(common_denominator)
            numerators += [top * (common_denominator // bottom) for top, bottom, _ in row]
    return Figures(
        whole_array(numerators, (rows, width)),
        whole_array(denominators, (rows,)),
        missing,
        common,
        max(decimals, default=0),
        entries.shape,
    )


def _plain_decimals(flat: list[object], shift: int) -> tuple[list[int], int] | None:
    """Numerators and decimals in the common case: text, all with the same number of decimals."""
    texts = [value for value in flat if isinstance(value, str)]
    if len(texts) < len(flat) or "." not in texts[0]:
        return None
    places = len(texts[0]) - texts[0].index(".") - 1
    whole = ";".join(texts)
    if places == 0 or not re.fullmatch(
        rf"(?:\d+\.\d{{{places}}};)*\d+\.\d{{{places}}}", whole, re.ASCII
    ):
        return None
    return list(map(int, whole.replace(".", "").split(";"))), places + shift


def _read_one(value: object, shift: int, what: str) -> tuple[int, int, int | None] | None:
    """Numerator, denominator and decimals (None: exact) of one figure, or None if missing."""
    if value is None:
        return None
    if isinstance(value, str):
        text = value.strip()
        if text in MISSING_MARKS:
            return None
        if text.endswith("%"):
            if shift not in (0, 2):
                raise InvalidInput(f"{what}: {value!r} has a percent sign, but the unit differs")
            text, shift = text[:-1].rstrip(), 2
        match = _DECIMAL.fullmatch(text) if len(text) <= LONGEST else None
        if match and (match[1] or match[2]):
            fraction = match[2] or ""
            checked_digits(len(fraction), f"{what} is {value!r}")
            places = len(fraction) + shift
            return int((match[1] or "") + fraction), 10**places, places
    elif isinstance(value, Decimal) and value.is_finite() and value >= 0:
        exponent = value.as_tuple().exponent
        places = max(0, -int(exponent)) + shift
        return int(value.scaleb(places - shift)), 10**places, places
    number = exact_number(value, what) / 10**shift
    if number < 0:
        raise InvalidInput(f"{what}: the rate {value!r} is below 0; rates lie between 0 and 1")
    return number.numerator, number.denominator, None
