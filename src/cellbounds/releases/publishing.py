"""From the owner's table to the release that publishing would make."""

from __future__ import annotations

import math

import numpy as np

from cellbounds.arrays import IntArray, whole_array
from cellbounds.errors import InvalidInput
from cellbounds.releases.conditional import Conditional
from cellbounds.releases.notation import Spoken, parse
from cellbounds.releases.numbers import exact_number
from cellbounds.releases.release import Release, Statement
from cellbounds.releases.rounding import round_rows
from cellbounds.releases.statements import Margin, Prior, Total
from cellbounds.table import Table

__all__ = ["publish"]


def publish(
    table: Table,
    *statements: str,
    total: bool = True,
    rounding: str | None = None,
    eps: object = None,
    strict: bool = False,
) -> Release:
    """Work out what the owner of a table would publish.

    Parameters
    ----------
    table
        The confidential table.
    *statements
        In the notation: ``"[education|county]@2"``, ``"[county]"``, ``"N"``.
    total
        Whether N is published too.
    rounding
        The rule for rates with ``@``: ``"nearest"`` (default), ``"half-even"``, ``"down"``,
        ``"up"``, ``"consistent"``.
    eps, strict
        The tolerance announced with the rates, instead of the one that the rounding implies
        (every published rate must be within it).

    Notes
    -----
    Rows that hold nobody are published as such. Structural zeros are taken to be known to all.

    Examples
    --------
    >>> from cellbounds import example_table, publish
    >>> publish(example_table("delinquent"), "[education|county]@2")
    Release([education|county]@2, N=135)
    """
    if not statements:
        raise InvalidInput("nothing to publish; give a statement such as '[Y|A,B]@2'")
    if strict and eps is None:
        raise InvalidInput("strict=True goes with eps=; rounding rules have ends of their own")
    spoken = [parse(text) for text in statements]
    made: list[Statement] = []
    for one in spoken:
        if one.is_margin:
            made.append(Margin(one.responses, table.margin(*one.responses).counts))
        elif not one.is_total:
            made.append(_rates(table, one, rounding, eps, strict))
    if total or any(one.is_total for one in spoken):
        made.append(Total(table.total))
    if table.structural.any():
        blocked = np.full(table.structural.shape, None, dtype=object)
        blocked[table.structural] = 0
        made.append(Prior(table.domain.names, upper=blocked))
    return Release(table.domain, made)


def _rates(
    table: Table, spoken: Spoken, rounding: str | None, eps: object, strict: bool
) -> Conditional:
    given = spoken.given or ()
    counts = table.reshape(response=spoken.responses, given=given).counts
    shape = table.domain.project((*given, *spoken.responses)).shape
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
