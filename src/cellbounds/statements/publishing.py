"""From the owner's table to the release that publishing would make."""

from __future__ import annotations

import math

import numpy as np

from cellbounds.data.table import DENSE_LIMIT, Table
from cellbounds.errors import InvalidInput, TooMuchWork
from cellbounds.runtime.arrays import IntArray, whole_array
from cellbounds.statements.conditional import Conditional
from cellbounds.statements.margins import Margin
from cellbounds.statements.notation import Spoken, parse
from cellbounds.statements.numbers import exact_number
from cellbounds.statements.release import Release, Statement
from cellbounds.statements.rounding import (
    COUNT_ROUNDINGS,
    check_count_rounding,
    round_counts,
    round_rows,
)
from cellbounds.statements.statements import Prior, Total, check_rate_variables

__all__ = ["publish"]


def publish(
    table: Table,
    *statements: str,
    total: bool = True,
    rounding: str | None = None,
    count_rounding: str | None = None,
    eps: object = None,
    strict: bool = False,
    rng: int | np.random.Generator | None = None,
) -> Release:
    """Work out what the owner of a table would publish.

    Parameters
    ----------
    table
        The confidential table.
    *statements
        In the notation: ``"[education|county]@2"``, ``"[county]"``, ``"[county]~5"`` (rounded to
        multiples of 5), ``"[county]<5"`` (counts below 5 shown as "<5", zeros too), ``"N"``.
        Derived variables of the table's domain may be named.
    total
        Whether N is published too.
    rounding
        The rule for rates with ``@``: ``"nearest"`` (default), ``"half-even"``, ``"down"``,
        ``"up"``, ``"consistent"``; and for margins with ``~`` unless `count_rounding` is given or
        there are rates and the rule is none for counts.
    count_rounding
        The rule for margins with ``~``: ``"nearest"`` (default), ``"half-even"``, ``"down"``,
        ``"up"``, ``"random"``.
    eps, strict
        The tolerance announced with the rates, instead of the one that the rounding implies
        (every published rate must be within it).
    rng
        A seed or a numpy Generator, needed for ``"random"``: a count goes up with probability
        rest / base, so that it is right on average. The same seed gives the same figures.

    Notes
    -----
    Rows that hold nobody are published as such. Structural zeros are taken to be known to all.

    Examples
    --------
    >>> from cellbounds import example_table, publish
    >>> publish(example_table("delinquent"), "[education|county]@2")
    Release([education|county]@2, N=135)
    >>> publish(example_table("delinquent"), "[county]~5", count_rounding="random", rng=1)
    Release([county]~5, N=135)
    """
    if not statements:
        raise InvalidInput("nothing to publish; give a statement such as '[Y|A,B]@2'")
    if strict and eps is None:
        raise InvalidInput("strict=True goes with eps=; rounding rules have ends of their own")
    spoken = [parse(text) for text in statements]
    count_rule = _count_rule(spoken, rounding, count_rounding)
    generator = _generator(rng) if count_rule == "random" else None
    made: list[Statement] = []
    for one in spoken:
        if one.is_margin:
            made.append(_margin(table, one, count_rule, generator))
        elif not one.is_total:
            made.append(_rates(table, one, rounding, eps, strict))
    if total or any(one.is_total for one in spoken):
        made.append(Total(table.total))
    if table.has_structural:
        made.append(_structural_zeros(table))
    return Release(table.domain, made)


def _structural_zeros(table: Table) -> Prior:
    if table.domain.size > DENSE_LIMIT:
        raise TooMuchWork(
            f"structural zeros of a table of {table.domain.size} cells cannot be stated cell by "
            "cell; publish from the margin that the statements are about: "
            "publish(table.margin(...), ...)"
        )
    blocked = np.full(table.domain.shape, None, dtype=object)
    blocked[table.structural] = 0
    return Prior(table.domain.names, upper=blocked)


def _count_rule(spoken: list[Spoken], rounding: str | None, chosen: str | None) -> str:
    """The rule by which margins with a base are rounded."""
    rounded = any(one.base is not None for one in spoken)
    if chosen is not None:
        if not rounded:
            raise InvalidInput(
                f"count_rounding={chosen!r}, but no margin is rounded; write [A,B]~5, or leave it "
                "out"
            )
        return check_count_rounding(chosen)
    if not rounded or rounding is None:
        return "nearest"
    rates = any(one.digits is not None for one in spoken)
    if rates and rounding == "random":
        raise InvalidInput(
            "rounding='random' is no rule for rates; give count_rounding='random' for the margins"
        )
    fits = isinstance(rounding, str) and rounding in COUNT_ROUNDINGS
    return "nearest" if rates and not fits else check_count_rounding(rounding)


def _generator(rng: object) -> np.random.Generator:
    if isinstance(rng, np.random.Generator):
        return rng
    if isinstance(rng, int | np.integer) and not isinstance(rng, bool) and rng >= 0:
        return np.random.default_rng(int(rng))
    raise InvalidInput(
        f"random rounding with rng={rng!r}; give a seed (a whole number, 0 or more) or a numpy "
        "Generator, so that the figures can be made again"
    )


def _margin(
    table: Table, spoken: Spoken, rule: str, generator: np.random.Generator | None
) -> Margin:
    counts = table.margin(*spoken.responses).counts
    if spoken.base is not None:
        figures = round_counts(counts, spoken.base, rule, generator)
        return Margin(spoken.responses, figures, base=spoken.base, rounding=rule)
    if spoken.below is not None:
        shown = counts.astype(object)
        shown[counts < spoken.below] = f"<{spoken.below}"
        return Margin(spoken.responses, shown)
    return Margin(spoken.responses, counts)


def _rates(
    table: Table, spoken: Spoken, rounding: str | None, eps: object, strict: bool
) -> Conditional:
    given = spoken.given or ()
    shape = table.domain.project((*given, *spoken.responses)).shape
    check_rate_variables(table.domain, spoken.responses, given, "rates")
    counts = table.margin(*given, *spoken.responses).counts
    counts = counts.reshape(math.prod(shape[: len(given)]), -1)
    sums = counts.sum(axis=1)
    zero = np.asarray(sums == 0, dtype=bool)
    if spoken.digits is None:
        if eps is not None and exact_number(eps, "eps") != 0:
            raise InvalidInput(
                f"eps={eps!r} with exact rates; add the number of decimals to the statement "
                "([Y|A,B]@2) or leave eps out"
            )
        shared = [max(1, math.gcd(*row)) for row in counts.tolist()]
        divisor = whole_array(shared, (len(shared),))
        return Conditional.from_counts(
            spoken.responses,
            given,
            shape,
            counts // divisor[:, None],
            np.where(zero, 1, sums // divisor),
            zero,
        )
    unit = 10**spoken.digits
    numerators = whole_array([0] * counts.size, counts.shape)
    if not zero.all():
        rounded = round_rows(counts[~zero], spoken.digits, rounding or "nearest")
        numerators = numerators.astype(rounded.dtype)
        numerators[~zero] = rounded
    rates = Conditional.from_counts(
        spoken.responses,
        given,
        shape,
        numerators,
        whole_array([unit] * len(sums), (len(sums),)),
        zero,
        digits=spoken.digits,
        rounding=None if eps is not None else rounding or "nearest",
        eps=eps,
        strict=strict,
    )
    if eps is not None:
        _check_tolerance(rates, counts)
    return rates


def _check_tolerance(rates: Conditional, counts: IntArray) -> None:
    """An announced tolerance must cover what rounding does to the true rates."""
    ends = rates.intervals
    for row, (values, total) in enumerate(zip(counts.tolist(), counts.sum(axis=1), strict=True)):
        for column, value in enumerate(values):
            low, high, low_open, high_open = ends.interval(row, column)
            below = value < low * int(total) or (low_open and value == low * int(total))
            above = value > high * int(total) or (high_open and value == high * int(total))
            if total and (below or above):
                raise InvalidInput(
                    f"{rates.notation}: the rounded rate in row {row + 1}, column {column + 1} is "
                    "not within eps of the true one; give a larger eps or more decimals"
                )
