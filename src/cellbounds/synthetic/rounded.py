"""Rounded rates taken as exact, and the totals that tables with such rates can have.

A row whose exact rates have the lowest common denominator r holds a multiple of r people, at
least r; so N is a sum of such multiples, and the true N need not be one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cellbounds.data.table import Table
from cellbounds.errors import InconsistentRelease, InvalidInput
from cellbounds.solvers.solve import bounds
from cellbounds.statements import Conditional, Release, Total, publish
from cellbounds.statements.notation import parse
from cellbounds.statements.numbers import checked_digits

TOTALS = ("same", "nearest")
"""What N may be: the true one, or the nearest that the rates allow."""

RULE = "consistent"
"""The rounding rule: by largest remainder, so that the rates of a row still add to one."""


@dataclass(frozen=True, slots=True)
class Rounded:
    """How rates were rounded before they were taken as exact.

    Attributes
    ----------
    statements
        What was asked for, in the notation, with the number of decimals.
    digits
        The decimals of the rates.
    total
        ``"same"`` or ``"nearest"``.
    """

    statements: tuple[str, ...]
    digits: int
    total: str

    @property
    def places(self) -> str:
        """The number of decimals in words."""
        return f"{self.digits} decimal{'' if self.digits == 1 else 's'}"

    def published(self, table: Table) -> Release:
        """What the rounded figures themselves say about the table, with N."""
        return publish(table, *self.statements, rounding=RULE)


def rounded_rates(
    table: Table, statements: str | Iterable[str], digits: int | None, total: str
) -> tuple[Release, Rounded]:
    """The release that synthetic tables keep: rounded rates as if they were exact.

    Raises
    ------
    InconsistentRelease
        If no table with these rates has the total of the true one, and ``total="same"``.
    """
    listed = (statements,) if isinstance(statements, str) else tuple(statements)
    texts, decimals = _with_digits(listed, digits)
    how = Rounded(texts, decimals, total)
    published = how.published(table)
    release = Release(
        published.domain,
        [
            _as_exact(statement) if isinstance(statement, Conditional) else statement
            for statement in published.statements
        ],
    )
    # Beside margins N is fixed, and several conditionals together are for the drawing to settle.
    if len(texts) > 1:
        if total == "nearest":
            raise InvalidInput(
                f"total='nearest' with {', '.join(texts)}; it goes with one statement of rates: "
                "leave the others out, or give total='same'"
            )
        return release, how
    return _with_reachable_total(release, table.total, texts[0], total), how


def _with_digits(listed: Sequence[str], digits: int | None) -> tuple[tuple[str, ...], int]:
    """The statements with one number of decimals, and that number."""
    if not listed:
        raise InvalidInput("no statement of rates; give one such as '[Y|A,B]'")
    spoken = [parse(text) for text in listed]
    rates = [request for request in spoken if not request.is_total and not request.is_margin]
    if not rates:
        raise InvalidInput(
            f"{', '.join(listed)} says nothing of rates; give a conditional such as '[Y|A,B]' "
            "(for margins: synthesize(publish(table, ...)))"
        )
    written = {rate.digits for rate in rates} - {None}
    if digits is None and len(written) != 1:
        raise InvalidInput(
            f"digits={digits!r} with {', '.join(listed)}; give the number of decimals to round the "
            "rates to, such as digits=2"
        )
    decimals = checked_digits(written.pop() if digits is None else digits, "rates")
    if written - {decimals}:
        raise InvalidInput(
            f"digits={decimals} with {', '.join(listed)}; say the number of decimals once"
        )
    return tuple(
        replace(request, digits=decimals).notation if request in rates else text
        for text, request in zip(listed, spoken, strict=True)
        if not request.is_total
    ), decimals


def _as_exact(rates: Conditional) -> Conditional:
    """The same figures, each standing for itself alone."""
    rows, columns = rates.intervals.low.shape
    texts = [rates.figure_at(place) for place in range(rows * columns)]
    figures = np.array([None if text == "missing" else text for text in texts], dtype=object)
    return Conditional(
        rates.responses,
        rates.given,
        rates=figures.reshape(rates.shape),
        eps="0",
        missing=rates.missing,
    )


def _with_reachable_total(release: Release, wanted: int, text: str, total: str) -> Release:
    if _table_with(release, Total(wanted)) is not None:
        return release
    near = [number for number in nearest_totals(release, wanted) if number is not None]
    if not near:
        raise InconsistentRelease(
            f"no table of counts has the rates of {text} as exact rates; give another number of "
            "digits"
        )
    if total == "same":
        numbers = " and ".join(map(str, near))
        raise InconsistentRelease(
            f"N={wanted} cannot be reached with the rates of {text} taken as exact (a row holds a "
            f"multiple of the common denominator of its rates, and at least that): the nearest "
            f"{'totals are' if len(near) > 1 else 'total is'} {numbers}; give total='nearest', or "
            "another number of digits"
        )
    return totals_like(release, Total(min(near, key=lambda one: (abs(one - wanted), one))))


def nearest_totals(release: Release, around: int) -> tuple[int | None, int | None]:
    """The largest total below and the smallest above a number that the release allows otherwise.

    Examples
    --------
    >>> from cellbounds import Conditional, Domain, Release
    >>> domain = Domain({"row": ["a", "b"], "col": ["x", "y"]})
    >>> rates = Conditional(["col"], ["row"], rates=[["1/4", "3/4"], ["1/6", "5/6"]])
    >>> nearest_totals(Release(domain, [rates]), 13)
    (10, 14)
    """
    below, above = _total_of(release, 0, around - 1), _total_of(release, around + 1, None)
    top, bottom = around - 1, around + 1
    while below is not None and below < top:
        middle = (below + top + 1) // 2
        better = _total_of(release, middle, top)
        top, below = (middle - 1, below) if better is None else (top, better)
    while above is not None and above > bottom:
        middle = (bottom + above - 1) // 2
        better = _total_of(release, bottom, middle)
        bottom, above = (middle + 1, above) if better is None else (bottom, better)
    return below, above


def _total_of(release: Release, lower: int, upper: int | None) -> int | None:
    """The total of some table whose total lies between these limits."""
    if upper is not None and upper < lower:
        return None
    table = _table_with(release, Total(lower=lower, upper=upper))
    return None if table is None else table.total


def _table_with(release: Release, total: Total) -> Table | None:
    """A table that fits, with another total; None if there is none."""
    try:
        answer = bounds(totals_like(release, total))
    except InconsistentRelease:
        return None
    return answer.witness(*next(answer.domain.cells()), at="lower")


def totals_like(release: Release, total: Total) -> Release:
    """The same release with another total."""
    others = [statement for statement in release.statements if statement.variables]
    return Release(release.domain, [*others, total])
