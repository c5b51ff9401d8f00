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
from cellbounds.runtime.arrays import BoolArray, whole_array
from cellbounds.statements.inequalities import LinearRows
from cellbounds.statements.intervals import rate_inequalities
from cellbounds.statements.notation import Request, names_text, parse, summed_over
from cellbounds.statements.numbers import (
    UNITS,
    Figures,
    checked_digits,
    exact_number,
    read_figures,
)
from cellbounds.statements.rate_readings import RateReading, plain_rule
from cellbounds.statements.rounding import (
    INTERVAL,
    LAST_DIGIT,
    RULE,
    RULES_IN_WORDS,
    WHOLE_ROWS,
    ends_of,
    is_interval,
    round_rows,
    stands_for,
)
from cellbounds.statements.statement import Tabulated, objects, variable_names
from cellbounds.text import counted

if TYPE_CHECKING:
    from numpy.random import Generator

    from cellbounds.statements.release_files import FileEntry, ReleaseFile

_OPTIONS = ("digits", "rounding", "eps", "strict", "rule", "missing", "unit")


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
        How decimals were rounded: ``"nearest"`` (default), ``"half-even"``, ``"down"``, ``"up"``
        or ``"consistent"`` (largest remainder, so that rows add to one).
    eps, strict
        Instead of a rounding rule, or beside it: every true rate is within `eps` of the figure,
        closer than `eps` if strict. One number, or one for each rate; in the unit of the rates. The
        attribute `eps` holds fractions: one for all rates, or one for each.
    rule
        ``"rounding"`` (default): a figure stands for the counts of which the rounding rule makes
        it. ``"interval"``: for all rates in an interval around it, ends included, as in document
        004; that differs for ``"half-even"`` and ``"consistent"``. The attribute is `interval`.
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
        "interval",
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
        rule: str = RULE,
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
        self.missing = self._figures.checked_missing(missing, self.notation)
        self.interval = is_interval(rule)
        self.digits, self.rounding = self._check_rule(digits, rounding, eps, strict)
        self.eps = None if eps is None else self._read_eps(eps)
        self.exact = self.rounding is None if self.eps is None else not any(self.eps)
        self.strict = strict
        nobody = np.asarray(self._figures.missing.all(axis=1)) & (self.missing == "zero")
        self.intervals = RateReading(
            figures=self._figures,
            digits=self.digits,
            rounding=self.rounding,
            eps=self.eps,
            strict=strict,
            interval=self.interval,
            nobody=nobody,
            notation=self.notation,
        ).intervals()

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
        parts = []
        if self.rounding is not None:
            parts += [counted(self.digits or 0, "decimal"), self.rounding]
        if self.rounding is not None and self.interval and self._rule_matters:
            parts.append("interval")
        if self.eps is not None:
            widest = max(self.eps)
            sign = "<" if self.strict else "<="
            most = " at most" if len(self.eps) > 1 else ""
            parts.append(f"within eps {sign} {widest}{most}")
        return ", ".join(parts)

    @property
    def _rule_matters(self) -> bool:
        """Whether figures say more by their rounding rule than an interval around each."""
        return self.rounding in (LAST_DIGIT, WHOLE_ROWS)

    @property
    def summary(self) -> str:
        """The variables and the rule."""
        return f"[{names_text(self.responses)}|{names_text(self.given)}] {self.rule}"

    def description(self, domain: Domain) -> str:
        """What the rates are of, and what a rounded one stands for."""
        among = f" among those who share {', '.join(self.given)}" if self.given else ""
        meaning = f"rates of {', '.join(self.responses)}{among}; "
        if self.rounding is not None and self.digits is not None:
            decimals = counted(self.digits, "decimal")
            stands = stands_for(self.rounding, Fraction(1, 10**self.digits), self.interval)
            meaning += f"{decimals}, {RULES_IN_WORDS[self.rounding]}: {stands}"
            if self.eps is not None:
                meaning += f"; every rate {self.rule.rsplit(', ', 1)[1]}"
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
        return self._figures.text(place)

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
        """The same statement with some figures (in its shape, or rows by columns) suppressed.

        Figures of a row that add to one by the rule that rounded them speak together: with one of
        them nothing of the row is left.
        """
        ends = self.intervals
        hidden = hidden.reshape(ends.low.shape)
        if (ends.zero & hidden.any(axis=1)).any():
            raise InvalidInput("a row that holds nobody has no single figure to withhold")
        if ends.remainders is not None:
            rows = np.asarray(hidden.any(axis=1))
            hidden = np.broadcast_to(rows[:, None], hidden.shape)
            ends = replace(ends, remainders=ends.remainders.without(rows))
        weaker = copy.copy(self)
        weaker._figures = replace(self._figures, missing=self._figures.missing | hidden)
        weaker.intervals = ends.withheld(hidden)
        return weaker

    def suppressed(self, hidden: BoolArray) -> Self | None:
        """The same rates, read again without some of them.

        None beside rows that hold nobody: files have one word for what is missing. None as well if
        of a row that adds to one by its rule some figures are left, and more than one is not.
        """
        if not hidden.any():
            return self
        gone = (self._figures.missing | hidden.reshape(self._figures.missing.shape)).sum(axis=1)
        unclear = (gone > 1) & (gone < self._figures.missing.shape[1])
        if self.intervals.zero.any() or (self.intervals.remainders is not None and unclear.any()):
            return None
        return type(self)(
            self.responses,
            self.given,
            rates=np.where(hidden, np.array(None, dtype=object), self._texts().reshape(self.shape)),
            digits=self.digits,
            rounding=self.rounding,
            eps=None if self.eps is None else self._laid_eps(),
            strict=self.strict,
            rule=INTERVAL if self.interval else RULE,
            missing="suppressed",
        )

    def as_intervals(self) -> Self | None:
        """The same figures read as intervals."""
        tolerated = self.eps is not None and self.rounding is not None
        if self.interval or not (self._rule_matters or tolerated):
            return None
        return type(self)(
            self.responses,
            self.given,
            rates=self._figures,
            digits=self.digits,
            rounding=None if tolerated else self.rounding,
            eps=self._laid_eps() if tolerated else None,
            strict=self.strict,
            rule=INTERVAL,
            missing=self.missing,
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
        request = parse(self.notation).ruled(self.rounding, eps, self.strict)
        return replace(request, interval=self.interval)

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
            rule = {"digits": digits, "eps": eps, "strict": request.strict, "rounding": rounding}
            if request.interval:
                rule |= {"rule": INTERVAL, "rounding": None if eps is not None else rounding}
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
        meaning: dict[str, Any] = {"rates": [list(self.responses), list(self.given)]}
        remainders = self.intervals.remainders
        if remainders is None:
            return meaning | {"intervals": self.intervals.texts()}
        figures = zip(
            remainders.figures.tolist(), remainders.rows, self.intervals.zero, strict=True
        )
        return meaning | {
            "unit": str(remainders.unit),
            "largest remainder": [
                None if nobody else list(map(str, row)) if shown else "suppressed"
                for row, shown, nobody in figures
            ],
        }

    def to_dict(self) -> dict[str, Any]:
        """This statement as plain values; rates as exact text."""
        eps = [str(value) for value in self.eps or ()]
        # Where both readings are the same, plain values say nothing of it; they never did.
        rule = {"rule": RULE} if self._rule_matters and not self.interval else {}
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
                **rule,
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
            rule=plain_rule(values),
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
        if self.interval:
            entry["rule"] = INTERVAL
        if self.eps is not None:
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

    def _check_rule(
        self, digits: int | None, rounding: str | None, eps: object, strict: bool
    ) -> tuple[int | None, str | None]:
        figures = self._figures
        if not isinstance(strict, bool):
            raise InvalidInput(f"{self.notation}: strict={strict!r}; give True or False")
        if digits is not None:
            checked_digits(digits, self.notation)
        if eps is not None:
            if rounding is not None and self.interval:
                raise InvalidInput(
                    f"{self.notation}: both eps= and rounding={rounding!r} say how far an interval "
                    f"reaches; give one of them, or leave rule={INTERVAL!r} out"
                )
            if rounding is None:
                shown = digits if digits is not None else figures.decimals
                return (shown if shown != -1 else None), None
            return self._check_rounding(digits, rounding)
        if strict:
            raise InvalidInput(
                f"{self.notation}: strict=True goes with eps=; rounding rules have their own ends"
            )
        return self._check_rounding(digits, rounding)

    def _check_rounding(
        self, digits: int | None, rounding: str | None
    ) -> tuple[int | None, str | None]:
        figures = self._figures
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
