"""Published conditional rates, exact or rounded."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from cellbounds.data.cell_groups import cells_behind
from cellbounds.data.domain import Domain
from cellbounds.data.table import Table
from cellbounds.errors import InvalidInput
from cellbounds.runtime.arrays import SAFE, BoolArray, IntArray, whole_array
from cellbounds.statements.inequalities import LinearRows
from cellbounds.statements.intervals import RateIntervals, rate_inequalities
from cellbounds.statements.notation import Request, names_text, parse, summed_over
from cellbounds.statements.numbers import (
    UNITS,
    Figures,
    checked_digits,
    exact_number,
    read_figures,
)
from cellbounds.statements.rounding import ROUNDINGS, RULES_IN_WORDS, ends_of, round_rows
from cellbounds.statements.statement import Tabulated, objects, variable_names
from cellbounds.text import counted

if TYPE_CHECKING:
    from numpy.random import Generator

    from cellbounds.statements.release_files import FileEntry, ReleaseFile

_OPTIONS = ("digits", "rounding", "eps", "strict", "missing", "unit")


def check_rate_variables(
    domain: Domain, responses: Sequence[str], given: Sequence[str], notation: str
) -> None:
    """Check that rates of these variables add up to one and speak of each variable once."""
    named: dict[str, str] = {}
    for name in (*given, *responses):
        base = domain.base(name)
        if base in named:
            raise InvalidInput(
                f"{notation}: {named[base]!r} and {name!r} both speak of the levels of {base!r}; "
                "name one of them"
            )
        named[base] = name
    for name in responses:
        domain.check_partition(name)


class Conditional(Tabulated):
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
        "exact",
        "given",
        "intervals",
        "missing",
        "responses",
        "rounding",
        "shape",
        "strict",
        "unit",
        "variables",
    )

    kind: ClassVar[str] = "conditional"

    responses: tuple[str, ...]
    variables: tuple[str, ...]  # givens, then responses
    exact: bool  # whether the rates are exact fractions
    digits: int | None

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
        self.variables = (*self.given, *self.responses)
        self.unit = unit
        self.digits = None
        if isinstance(rates, Figures):
            self._figures = rates
        else:
            self._read(rates)
        self.shape = self._figures.shape
        self.missing = self._check_missing(missing)
        self.digits, self.rounding = self._check_rule(digits, rounding, eps, strict)
        self.eps = None if eps is None else self._read_eps(eps)
        self.exact = self.rounding is None if self.eps is None else not any(self.eps)
        self.strict = strict
        self.intervals = self._make_intervals()

    def _read(self, rates: object) -> None:
        entries = np.array(rates, dtype=object)
        axes = len(self.variables)
        if entries.ndim != axes or not entries.size:
            raise InvalidInput(
                f"{self.notation}: rates of shape {entries.shape}; it names {axes} variables, so "
                f"rates need {axes} axes, givens first (ragged lists have fewer)"
            )
        rows = math.prod(entries.shape[: len(self.given)])
        figures = read_figures(entries, rows, self.unit, f"a rate of {self.notation}")
        self._figures = figures
        above = (figures.numerators > figures.denominators[:, None]) & ~figures.missing
        if above.any():
            place = int(np.argmax(above))
            row, column = divmod(place, above.shape[1])
            raise InvalidInput(
                f"{self.notation}: the rate {self.figure_at(place)} in row {row + 1}, column "
                f"{column + 1} is above 1; rates lie between 0 and 1 (give "
                'unit="percent" for percentages)'
            )

    @property
    def rates(self) -> npt.NDArray[np.object_]:
        """The published rates as fractions, None where missing; axes as given."""
        figures = self._figures
        bottoms = np.repeat(figures.denominators, figures.missing.shape[1]).tolist()
        tops, gone = figures.numerators.ravel().tolist(), figures.missing.flat
        rates = [
            None if g else Fraction(*pair) for *pair, g in zip(tops, bottoms, gone, strict=True)
        ]
        return objects(rates, self.shape)

    @property
    def notation(self) -> str:
        """This statement in the notation of releases."""
        suffix = "" if self.digits is None else f"@{self.digits}"
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
        return f"{counted(self.digits or 0, 'decimal')}, {self.rounding}"

    @property
    def summary(self) -> str:
        """The variables and the rule."""
        return f"[{names_text(self.responses)}|{names_text(self.given)}] {self.rule}"

    def description(self, domain: Domain) -> str:
        """What the rates are of, and what a rounded one stands for."""
        among = f" among those who share {', '.join(self.given)}" if self.given else ""
        meaning = f"rates of {', '.join(self.responses)}{among}; "
        if self.rounding is not None and self.digits is not None:
            stands = ROUNDINGS[self.rounding].words(Fraction(1, 10**self.digits), "rate")
            decimals = counted(self.digits, "decimal")
            meaning += f"{decimals}, {RULES_IN_WORDS[self.rounding]}: {stands}"
        else:
            meaning += "exact fractions" if self.exact else self.rule
        hidden = int(self._figures.missing.sum())
        if hidden:
            why = "suppressed" if self.missing == "suppressed" else "rows that hold nobody"
            size = self._figures.missing.size
            meaning += f"; {hidden} of {size} figures are not shown ({why})"
        return meaning + summed_over(self.variables, domain)

    def figure_at(self, place: int) -> str:
        """One published figure as text, by its flat index."""
        figures = self._figures
        row, column = divmod(place, figures.missing.shape[1])
        if figures.missing[row, column]:
            return "missing"
        top, bottom = int(figures.numerators[row, column]), int(figures.denominators[row])
        places = figures.most_decimals
        if figures.decimals is not None and 10**places == bottom:
            return f"{top // bottom}.{top % bottom:0{places}d}" if places else str(top)
        exact = Fraction(top, bottom)
        return f"{exact.numerator}/{exact.denominator}"

    @property
    def hidden(self) -> BoolArray:
        """Which rates are not shown; rows that hold nobody are."""
        hidden = self._figures.missing & ~self.intervals.zero[:, None]
        return np.asarray(hidden.reshape(self.shape))

    @property
    def withholdable(self) -> BoolArray:
        """All but rows that hold nobody: each of them is one figure, not several, and stays."""
        somebody = np.broadcast_to(~self.intervals.zero[:, None], self.intervals.low.shape)
        return somebody.reshape(self.shape)

    @property
    def idle(self) -> BoolArray:
        """None: rates of a row depend on each other."""
        return np.zeros(self.shape, dtype=bool)

    @property
    def magnitudes(self) -> npt.NDArray[np.float64]:
        """The middle of each rate's interval."""
        ends = self.intervals
        middle = (ends.low + ends.high) / (2 * ends.scale[:, None])
        return np.asarray(middle, dtype=np.float64).reshape(self.shape)

    def withheld(self, hidden: BoolArray) -> Self:
        """The same statement with some figures (in its shape, or rows by columns) suppressed."""
        ends = self.intervals
        hidden = hidden.reshape(ends.low.shape)
        if (ends.zero & hidden.any(axis=1)).any():
            raise InvalidInput("a row that holds nobody has no single figure to withhold")
        weaker = copy.copy(self)
        weaker._figures = replace(self._figures, missing=self._figures.missing | hidden)
        weaker.intervals = ends.withheld(hidden)
        return weaker

    def suppressed(self, hidden: BoolArray) -> Self | None:
        """The same rates, read again without some of them.

        None beside rows that hold nobody: files have one word for what is missing.
        """
        if not hidden.any():
            return self
        if self.intervals.zero.any():
            return None
        return type(self)(
            self.responses,
            self.given,
            rates=np.where(hidden, np.array(None, dtype=object), self._texts().reshape(self.shape)),
            digits=self.digits,
            rounding=self.rounding,
            eps=None if self.eps is None else self._laid_eps(),
            strict=self.strict,
            missing="suppressed",
        )

    def lines(self) -> Iterator[tuple[int | slice, ...]]:
        """The rates of each row, which add up to one."""
        rest = [slice(None)] * len(self.responses)
        for index in np.ndindex(self.shape[: len(self.given)]):
            yield (*index, *rest)

    @property
    def request(self) -> Request:
        """The notation, with the rule of rounding or the widest tolerance."""
        eps = None if self.eps is None else max(self.eps)
        return parse(self.notation).ruled(self.rounding, eps, self.strict)

    @classmethod
    def requested(cls, request: Request) -> bool:
        """Whether rates are asked for."""
        return request.given is not None

    @classmethod
    def publish(cls, table: Table, request: Request, rng: Generator | None = None) -> Self:
        """The rates of a table: exact, or rounded to decimals and perhaps with a tolerance."""
        responses, given, eps = request.responses, request.given or (), request.eps
        shape = table.domain.project((*given, *responses)).shape
        check_rate_variables(table.domain, responses, given, "rates")
        counts = table.margin([*given, *responses]).counts
        counts = counts.reshape(math.prod(shape[: len(given)]), -1)
        sums = counts.sum(axis=1)
        zero = np.asarray(sums == 0, dtype=bool)
        digits, rule = request.digits, dict[str, Any]()
        if digits is not None:
            rounding = request.rounding or "nearest"
            tops = round_rows(counts, digits, rounding)
            bottoms = whole_array([10**digits] * len(sums), sums.shape)
            rule = {"digits": digits, "eps": eps, "strict": request.strict}
            rule["rounding"] = None if eps is not None else rounding
        elif eps is not None and exact_number(eps, "eps") != 0:
            raise InvalidInput(
                f"eps={eps!r} with exact rates; add the number of decimals to the statement "
                "([Y|A,B]@2) or leave eps out"
            )
        else:
            shared = [max(1, math.gcd(*row)) for row in counts.tolist()]
            divisor = whole_array(shared, sums.shape)
            tops, bottoms = counts // divisor[:, None], np.where(zero, 1, sums // divisor)
        blank = np.repeat(zero[:, None], counts.shape[1], axis=1)
        figures = Figures(tops, bottoms, blank, digits, digits or 0, shape)
        rates = cls(responses, given, rates=figures, missing="zero", **rule)
        # An announced tolerance must cover what rounding does to the true rates.
        missed = None if rates.eps is None else rates.intervals.missed(counts)
        if missed is not None:
            raise InvalidInput(
                f"{rates.notation}: the rounded rate in row {missed[0] + 1}, column "
                f"{missed[1] + 1} is not within eps of the true one; give a larger eps or more "
                "decimals"
            )
        return rates

    def inequalities(self, domain: Domain, *, closed: bool = False) -> Iterator[LinearRows]:
        """Each row holds somebody, or nobody; each rate lies between its ends."""
        groups = cells_behind(domain, self.variables)
        return rate_inequalities(self.intervals, groups, closed=closed)

    def holds(self, domain: Domain, table: Table) -> bool:
        """Whether rows of a table hold somebody, or nobody, and all their rates are as said."""
        counts = table.with_domain(domain).margin(self.variables).counts
        counts = counts.reshape(self.intervals.low.shape)
        nobody = counts.sum(axis=1) == 0
        return bool((nobody == self.intervals.zero).all()) and self.intervals.missed(counts) is None

    def check(self, domain: Domain) -> None:
        """Check variables and shape against a domain."""
        shape = domain.project(self.variables).shape
        check_rate_variables(domain, self.responses, self.given, self.notation)
        if self.shape != shape:
            raise InvalidInput(
                f"{self.notation}: rates of shape {self.shape}; the levels of "
                f"{', '.join(self.variables)} need {shape}"
            )

    def meaning(self, domain: Domain) -> dict[str, Any]:
        """What the figures stand for, however they were written: both ends of each interval."""
        return {
            "rates": [list(self.responses), list(self.given)],
            "intervals": self.intervals.texts(),
        }

    def to_dict(self) -> dict[str, Any]:
        """This statement as plain values; rates as exact text."""
        eps = [str(value) for value in self.eps or ()]
        return {
            self.kind: {
                "responses": list(self.responses),
                "given": list(self.given),
                "rates": self._texts().tolist(),
                "digits": self.digits,
                "rounding": self.rounding,
                "eps": eps if len(eps) > 1 else next(iter(eps), None),
                "strict": self.strict,
                "missing": self.missing,
            }
        }

    def _texts(self) -> npt.NDArray[np.object_]:
        """The figures as they were published, rows by columns; None where they are missing."""
        missing = self._figures.missing
        texts = [None if gone else self.figure_at(k) for k, gone in enumerate(missing.flat)]
        return objects(texts, missing.shape)

    def _laid_eps(self) -> npt.NDArray[np.object_]:
        """One tolerance for all, or one for each rate."""
        return objects(self.eps or (), self.shape if len(self.eps or ()) > 1 else ())

    @classmethod
    def from_plain(cls, values: dict[str, Any], domain: Domain) -> Self:
        """From the plain values of a ledger."""
        shape = domain.project([*values["given"], *values["responses"]]).shape
        eps = values["eps"]
        return cls(
            values["responses"],
            values["given"],
            rates=objects([rate for row in values["rates"] for rate in row], shape),
            eps=objects(eps, shape) if isinstance(eps, list) else eps,
            **{key: values[key] for key in ("digits", "rounding", "strict", "missing")},
        )

    def to_entry(self, domain: Domain, figures: str) -> FileEntry:
        """Variables and rule; the rates in a column."""
        entry: dict[str, Any] = {
            "responses": list(self.responses),
            "given": list(self.given),
            "rates": figures,
        }
        if self.rounding is not None:
            entry |= {"digits": self.digits, "rounding": self.rounding}
        elif self.eps is not None:
            entry["eps"] = np.vectorize(str, otypes=[object])(self._laid_eps()).tolist()
            entry["strict"] = self.strict
        if self.missing is not None:
            entry["missing"] = self.missing
        cells = zip(domain.project(self.variables).cells(), self._texts().flat, strict=True)
        rows = [[*labels, text or ""] for labels, text in cells]
        return entry, ("rate",), rows

    @classmethod
    def from_entry(cls, entry: Any, file: ReleaseFile) -> Self:
        """From ``[[conditional]]``: responses, given, rates and how to read them."""
        file.only(entry, {"responses", "given", "rates", *_OPTIONS}, "[[conditional]]")
        responses, given = file.names(entry, "responses"), file.names(entry, "given")
        margin, rates = file.margin([*given, *responses]), entry.get("rates")
        if file.is_name(rates):
            rates = file.rates(rates, margin, responses)
        elif not isinstance(rates, list):
            raise InvalidInput(f"{file}: [[conditional]] needs rates, a CSV file or nested lists")
        options = {key: file.plain(entry[key]) for key in _OPTIONS if key in entry}
        return cls(responses, given, rates=file.plain(rates), **options)

    def __repr__(self) -> str:
        return f"Conditional([{names_text(self.responses)}|{names_text(self.given)}], {self.rule})"

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
        entries = np.array(eps, dtype=object)
        if entries.shape not in ((), self.shape, (rows, columns)):
            raise InvalidInput(
                f"{self.notation}: eps of shape {entries.shape}; give one number or {self.shape}"
            )
        what = f"{self.notation}: eps"
        flat = [
            exact_number(value, what) / 10 ** UNITS[self.unit] for value in entries.ravel().tolist()
        ]
        if min(flat) < 0:
            raise InvalidInput(f"{self.notation}: eps {min(flat)} is negative; give 0 or more")
        return tuple(flat[:1]) if len(set(flat)) == 1 else tuple(flat)

    def _make_intervals(self) -> RateIntervals:
        """What each figure stands for: from ``rate - below/step`` to ``rate + above/step``.

        A missing rate that does not mark a row of zeros was suppressed: anything from 0 to 1.
        """
        if self.eps is not None:
            step = math.lcm(*(value.denominator for value in self.eps))
            reach = [value.numerator * (step // value.denominator) for value in self.eps]
            reaches, low_open, high_open = (reach, reach), self.strict, self.strict
        elif self.rounding is None or self.digits is None:
            step, reaches, low_open, high_open = 1, ([0], [0]), False, False
        else:
            ends = ROUNDINGS[self.rounding]
            step, reaches = 2 * 10**self.digits, ([int(2 * ends.below)], [int(2 * ends.above)])
            low_open, high_open = ends.low_open, ends.high_open
        numerators, denominators = self._figures.numerators, self._figures.denominators
        missing = self._figures.missing
        shape = (1, 1) if len(reaches[0]) == 1 else missing.shape
        below, above = (whole_array(reach, shape) for reach in reaches)
        if step * int(max(denominators.max(), below.max(), above.max(), 1)) >= SAFE // 4:
            numerators, denominators = numerators.astype(object), denominators.astype(object)
            below, above = below.astype(object), above.astype(object)
        scale: IntArray = np.lcm(denominators, step)
        if scale.dtype == object and max(scale) < SAFE // 4:
            scale = scale.astype(np.int64)
        stretch, unit = (scale // denominators)[:, None], (scale // step)[:, None]
        low, high = numerators * stretch - below * unit, numerators * stretch + above * unit
        zero = np.asarray(missing.all(axis=1)) & (self.missing == "zero")
        lows_open, highs_open = np.full(low.shape, low_open), np.full(low.shape, high_open)
        intervals = RateIntervals(low, high, scale, lows_open, highs_open, zero)
        return intervals.withheld(missing) if missing.any() else intervals
