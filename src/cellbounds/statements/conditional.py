"""Published conditional rates, exact or rounded."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from cellbounds.data.domain import Domain
from cellbounds.errors import InvalidInput
from cellbounds.runtime.arrays import SAFE, BoolArray, IntArray, whole_array
from cellbounds.statements.intervals import RateIntervals
from cellbounds.statements.numbers import Figures, checked_digits, exact_number, read_figures
from cellbounds.statements.rounding import ends_of
from cellbounds.statements.statements import check_rate_variables, names_text, variable_names

__all__ = ["Conditional"]


class Conditional:
    """Rates of the responses among those who share the givens.

    Parameters
    ----------
    responses, given
        Variables. Without givens the rates are proportions of the whole table.
    rates
        Array or nested lists with the axes in the order named, givens first: text ('0.37'),
        Decimals, Fractions, or None where missing. Decimals are rounded figures unless `eps` says
        otherwise; fractions are exact. Floats are refused.
    digits
        Decimals of the rates, needed if they are written with different numbers of decimals.
    rounding
        What a decimal stands for: ``"nearest"`` (default), ``"half-even"``, ``"down"``, ``"up"``
        or ``"consistent"``.
    eps, strict
        Instead of a rounding rule: every true rate is within `eps` of the figure, closer than
        `eps` if strict. One number, or one for each rate; in the unit of the rates. The attribute
        `eps` holds fractions: one for all rates, or one for each.
    missing
        What a missing rate means: ``"zero"`` (nobody shares these givens) or ``"suppressed"``
        (somebody does, but the rate was not shown). Required if a rate is missing.
    unit
        ``"proportion"`` (default), ``"percent"`` or ``"per-mille"``.

    Examples
    --------
    >>> from cellbounds import Conditional
    >>> rates = Conditional(["col"], given=["row"], rates=[["0.70", "0.30"], ["0.25", "0.75"]])
    >>> rates
    Conditional([col|row], 2 decimals, nearest)
    >>> rates.intervals.interval(0, 0)
    (Fraction(139, 200), Fraction(141, 200), False, True)
    """

    __slots__ = (
        "_figures",
        "digits",
        "eps",
        "given",
        "intervals",
        "missing",
        "responses",
        "rounding",
        "shape",
        "strict",
        "unit",
    )

    def __init__(
        self,
        responses: Iterable[str],
        given: Iterable[str] = (),
        *,
        rates: object,
        digits: int | None = None,
        rounding: str | None = None,
        eps: object = None,
        strict: bool = False,
        missing: str | None = None,
        unit: str = "proportion",
    ) -> None:
        self.responses = variable_names(responses, "the list of responses")
        self.given = variable_names(given, "the list of givens") if given else ()
        self.unit = unit
        entries = np.array(rates, dtype=object)
        axes = len(self.given) + len(self.responses)
        if entries.ndim != axes or not entries.size:
            raise InvalidInput(
                f"{self.notation}: rates of shape {entries.shape}; it names {axes} variables, so "
                f"rates need {axes} axes, givens first (ragged lists have fewer)"
            )
        self.shape = entries.shape
        rows = math.prod(entries.shape[: len(self.given)])
        self._figures = read_figures(entries, rows, unit, f"a rate of {self.notation}")
        self._check_range()
        self.missing = self._check_missing(missing)
        self.digits, self.rounding = self._check_rule(digits, rounding, eps, strict)
        self.eps = None if eps is None else self._read_eps(eps)
        self.strict = strict
        self.intervals = self._make_intervals()

    @classmethod
    def from_counts(
        cls,
        responses: Iterable[str],
        given: Iterable[str],
        shape: tuple[int, ...],
        numerators: IntArray,
        denominators: IntArray,
        zero: BoolArray,
        **how: Any,
    ) -> Conditional:
        """Build from numerators over one denominator a row, without a detour through text."""
        made = cls.__new__(cls)
        made.responses, made.given = tuple(responses), tuple(given)
        made.shape, made.unit, made.missing = shape, "proportion", "zero" if zero.any() else None
        blank = np.broadcast_to(zero[:, None], numerators.shape)
        digits: int | None = how.get("digits")
        made._figures = Figures(numerators, denominators, blank.copy(), digits, digits or 0)
        made.digits, made.rounding = digits, how.get("rounding")
        made.eps = None if how.get("eps") is None else made._read_eps(how["eps"])
        made.strict = bool(how.get("strict", False))
        made.intervals = made._make_intervals()
        return made

    @property
    def exact(self) -> bool:
        """Whether the rates are exact fractions."""
        if self.eps is not None:
            return not any(self.eps)
        return self.rounding is None

    @property
    def variables(self) -> tuple[str, ...]:
        """Givens, then responses."""
        return (*self.given, *self.responses)

    @property
    def rates(self) -> npt.NDArray[np.object_]:
        """The published rates as fractions, None where missing; axes as given."""
        figures = self._figures
        flat: list[Fraction | None] = []
        for row, bottom, gone in zip(
            figures.numerators.tolist(),
            figures.denominators.tolist(),
            figures.missing.tolist(),
            strict=True,
        ):
            flat += [None if g else Fraction(top, bottom) for top, g in zip(row, gone, strict=True)]
        rates = np.empty(len(flat), dtype=object)
        rates[:] = flat
        return rates.reshape(self.shape)

    @property
    def notation(self) -> str:
        """This statement in the notation of releases."""
        suffix = ""
        if getattr(self, "digits", None) is not None:
            suffix = f"@{self.digits}"
        return f"[{names_text(self.responses)}|{names_text(self.given)}]{suffix}"

    @property
    def rule(self) -> str:
        """How the figures are to be read, in words."""
        if self.exact:
            return "exact"
        if self.eps is not None:
            widest = max(self.eps)
            sign = "<" if self.strict else "<="
            return f"within eps {sign} {widest}" + (" at most" if len(self.eps) > 1 else "")
        return f"{self.digits} decimals, {self.rounding}"

    def figure_text(self, row: int, column: int) -> str:
        """One published figure as text."""
        if self._figures.missing[row, column]:
            return "missing"
        top = int(self._figures.numerators[row, column])
        bottom = int(self._figures.denominators[row])
        places = self._figures.most_decimals
        if self._figures.decimals is not None and 10**places == bottom:
            return f"{top // bottom}.{top % bottom:0{places}d}" if places else str(top)
        exact = Fraction(top, bottom)
        return f"{exact.numerator}/{exact.denominator}"

    def withheld(self, hidden: BoolArray) -> Conditional:
        """The same statement with some figures (rows by columns) suppressed."""
        ends = self.intervals
        if (ends.zero & hidden.any(axis=1)).any():
            raise InvalidInput("a row that holds nobody has no single figure to withhold")
        weaker = copy.copy(self)
        weaker._figures = replace(self._figures, missing=self._figures.missing | hidden)
        low, high = ends.low.copy(), ends.high.copy()
        low[hidden] = 0
        high[hidden] = np.broadcast_to(ends.scale[:, None], high.shape)[hidden]
        weaker.intervals = replace(
            ends,
            low=low,
            high=high,
            low_open=ends.low_open & ~hidden,
            high_open=ends.high_open & ~hidden,
        )
        return weaker

    def check_domain(self, domain: Domain) -> None:
        """Check variables and shape against a domain."""
        shape = domain.project(self.variables).shape
        check_rate_variables(domain, self.responses, self.given, self.notation)
        if self.shape != shape:
            raise InvalidInput(
                f"{self.notation}: rates of shape {self.shape}; the levels of "
                f"{', '.join(self.variables)} need {shape}"
            )

    def meaning(self) -> dict[str, Any]:
        """What the figures stand for, however they were written: both ends of each interval."""
        ends = self.intervals
        rows = [
            [
                f"{'(' if low_open else '['}{low},{high}{')' if high_open else ']'}"
                for low, high, low_open, high_open in (
                    ends.interval(row, column) for column in range(ends.low.shape[1])
                )
            ]
            for row in range(ends.low.shape[0])
        ]
        return {
            "rates": [list(self.responses), list(self.given)],
            "intervals": [
                None if empty else row for row, empty in zip(rows, ends.zero, strict=True)
            ],
        }

    def to_dict(self) -> dict[str, Any]:
        """This statement as plain values; rates as exact text."""
        rows = len(self._figures.denominators)
        columns = self._figures.numerators.shape[1]
        return {
            "conditional": {
                "responses": list(self.responses),
                "given": list(self.given),
                "rates": [
                    [
                        None if self._figures.missing[i, j] else self.figure_text(i, j)
                        for j in range(columns)
                    ]
                    for i in range(rows)
                ],
                "digits": self.digits,
                "rounding": self.rounding,
                "eps": None if self.eps is None else _eps_text(self.eps),
                "strict": self.strict,
                "missing": self.missing,
            }
        }

    def __repr__(self) -> str:
        return f"Conditional([{names_text(self.responses)}|{names_text(self.given)}], {self.rule})"

    def _check_range(self) -> None:
        figures = self._figures
        above = (figures.numerators > figures.denominators[:, None]) & ~figures.missing
        if above.any():
            row, column = map(int, np.argwhere(above)[0])
            raise InvalidInput(
                f"[{names_text(self.responses)}|{names_text(self.given)}]: the rate "
                f"{self.figure_text(row, column)} in row {row + 1}, column {column + 1} is above "
                '1; rates lie between 0 and 1 (give unit="percent" for percentages)'
            )

    def _check_missing(self, missing: str | None) -> str | None:
        if missing not in (None, "zero", "suppressed"):
            raise InvalidInput(f"missing={missing!r}; choose 'zero' or 'suppressed'")
        absent = self._figures.missing
        if not absent.any():
            return None
        if missing is None:
            count = int(absent.sum())
            raise InvalidInput(
                f"{self.notation}: {count} {'rate is' if count == 1 else 'rates are'} missing; say "
                'why with missing="zero" (rows that hold nobody) or missing="suppressed"'
            )
        partly = np.flatnonzero(absent.any(axis=1) & ~absent.all(axis=1))
        if missing == "zero" and len(partly):
            raise InvalidInput(
                f"{self.notation}: row {int(partly[0]) + 1} has some rates and lacks others, so it "
                'is not a row of zeros; complete it or give missing="suppressed"'
            )
        return missing

    def _check_rule(
        self, digits: int | None, rounding: str | None, eps: object, strict: bool
    ) -> tuple[int | None, str | None]:
        figures = self._figures
        if not isinstance(strict, bool):
            raise InvalidInput(f"{self.notation}: strict={strict!r}; give True or False")
        if digits is not None:
            checked_digits(digits, self.notation)
        if eps is not None:
            if rounding is not None:
                raise InvalidInput(
                    f"{self.notation}: both eps= and rounding={rounding!r} say what a figure "
                    "stands for; give one of them"
                )
            shown = digits if digits is not None else figures.decimals
            return (shown if shown != -1 else None), None
        if strict:
            raise InvalidInput(
                f"{self.notation}: strict=True goes with eps=; rounding rules have their own ends"
            )
        if figures.decimals is None and digits is None:
            if rounding is not None:
                raise InvalidInput(
                    f"{self.notation}: rounding={rounding!r}, but the rates are exact fractions; "
                    "write them as decimals, or leave rounding out"
                )
            return None, None
        ends_of(rounding or "nearest")
        if digits is None:
            if figures.decimals == -1:
                raise InvalidInput(
                    f"{self.notation}: rates are written with different numbers of decimals (up "
                    f"to {figures.most_decimals}); give digits= or eps= to say what they stand for"
                )
            return figures.decimals, rounding or "nearest"
        if digits < figures.most_decimals:
            raise InvalidInput(
                f"{self.notation}: digits={digits}, but a rate has {figures.most_decimals} "
                "decimals; give the number of decimals that were published"
            )
        return digits, rounding or "nearest"

    def _read_eps(self, eps: object) -> tuple[Fraction, ...]:
        rows, columns = self._figures.numerators.shape
        shift = {"proportion": 1, "percent": 100, "per-mille": 1000}[self.unit]
        entries = np.array(eps, dtype=object)
        if entries.shape not in ((), self.shape, (rows, columns)):
            raise InvalidInput(
                f"{self.notation}: eps of shape {entries.shape}; give one number or {self.shape}"
            )
        what = f"{self.notation}: eps"
        flat = [exact_number(value, what) / shift for value in entries.ravel().tolist()]
        if min(flat) < 0:
            raise InvalidInput(f"{self.notation}: eps {min(flat)} is negative; give 0 or more")
        return tuple(flat[:1]) if len(set(flat)) == 1 else tuple(flat)

    def _make_intervals(self) -> RateIntervals:
        figures = self._figures
        rows, columns = figures.numerators.shape
        if self.eps is not None:
            step = math.lcm(*(value.denominator for value in self.eps))
            reach = [value.numerator * (step // value.denominator) for value in self.eps]
            below = above = whole_array(reach, (1, 1) if len(reach) == 1 else (rows, columns))
            low_open = high_open = self.strict
        elif self.rounding is None or self.digits is None:
            step, low_open, high_open = 1, False, False
            below = above = np.zeros((rows, columns), dtype=np.int64)
        else:
            ends = ends_of(self.rounding)
            step = 2 * 10**self.digits
            below = np.full((rows, columns), int(2 * ends.below))
            above = np.full((rows, columns), int(2 * ends.above))
            low_open, high_open = ends.low_open, ends.high_open
        zero = np.asarray(figures.missing.all(axis=1)) & (self.missing == "zero")
        numerators, denominators = figures.numerators, figures.denominators
        largest = step * int(max(denominators.max(), below.max(), above.max(), 1))
        if largest >= SAFE // 4:
            numerators, denominators = numerators.astype(object), denominators.astype(object)
            below, above = below.astype(object), above.astype(object)
        return RateIntervals.around(
            numerators,
            denominators,
            below,
            above,
            whole_array([step] * rows, (rows,)),
            low_open=low_open,
            high_open=high_open,
            missing=figures.missing,
            zero=zero,
        )


def _eps_text(eps: tuple[Fraction, ...]) -> str | list[str]:
    return str(eps[0]) if len(eps) == 1 else [str(value) for value in eps]
