"""From the owner's table to the release that publishing would make."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cellbounds.data.storage import DENSE_LIMIT
from cellbounds.data.table import Table
from cellbounds.errors import InvalidInput, TooMuchWork
from cellbounds.statements.kinds import KINDS
from cellbounds.statements.known import Known
from cellbounds.statements.notation import Request, parse
from cellbounds.statements.release import Release
from cellbounds.statements.rounding import COUNT_ROUNDINGS, check_count_rounding
from cellbounds.statements.statement import Statement
from cellbounds.statements.total import Total


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
    >>> from cellbounds import datasets, publish
    >>> publish(datasets.read("delinquent"), "[education|county]@2")
    Release([education|county]@2, N=135)
    >>> publish(datasets.read("delinquent"), "[county]~5", count_rounding="random", rng=1)
    Release([county]~5, N=135)
    """
    if not statements:
        raise InvalidInput("nothing to publish; give a statement such as '[Y|A,B]@2'")
    if strict and eps is None:
        raise InvalidInput("strict=True goes with eps=; rounding rules have ends of their own")
    requests = [parse(text) for text in statements]
    count_rule = _count_rule(requests, rounding, count_rounding)
    generator = _generator(rng) if count_rule == "random" else None
    statements_made: list[Statement] = []
    for request in requests:
        if request.base is not None:
            statements_made.append(published_statement(table, request.ruled(count_rule), generator))
        elif not request.is_total:
            statements_made.append(published_statement(table, request.ruled(rounding, eps, strict)))
    if total or any(request.is_total for request in requests):
        statements_made.append(Total(table.total))
    if table.has_structural:
        statements_made.append(_structural_zeros(table))
    return Release(table.domain, statements_made)


def published_statement(
    table: Table, request: Request, rng: np.random.Generator | None = None
) -> Statement:
    """What the owner of a table would publish for one request."""
    kind = next(kind for kind in KINDS if kind.requested(request))
    return kind.publish(table, request, rng)


def _structural_zeros(table: Table) -> Known:
    if table.domain.size > DENSE_LIMIT:
        raise TooMuchWork(
            f"structural zeros of a table of {table.domain.size} cells cannot be stated cell by "
            "cell; publish from the margin that the statements are about: "
            "publish(table.margin(...), ...)"
        )
    blocked = np.full(table.domain.shape, None, dtype=object)
    blocked[table.structural] = 0
    return Known(table.domain.names, upper=blocked)


def _count_rule(requests: list[Request], rounding: str | None, chosen: str | None) -> str:
    """The rule by which margins with a base are rounded."""
    rounded = any(request.base is not None for request in requests)
    if chosen is not None:
        if not rounded:
            raise InvalidInput(
                f"count_rounding={chosen!r}, but no margin is rounded; write [A,B]~5, or leave it "
                "out"
            )
        return check_count_rounding(chosen)
    if not rounded or rounding is None:
        return "nearest"
    rates = any(request.digits is not None for request in requests)
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


def combined_release(
    table: Table,
    sources: Sequence[str],
    *,
    total: bool = True,
    allow_outside: bool = False,
    **how: Any,
) -> Release:
    """Publish statements about a table, as `publish` does, together with what release files say.

    Statements may name the groupings that the files define. With `allow_outside`, files may name
    figures outside of their folders.
    """
    from cellbounds.statements.release_files import read_release  # not for those who only publish

    texts = [text for text in sources if _is_notation(text)]
    files: list[Release] = []
    for text in (text for text in sources if not _is_notation(text)):
        if not Path(text).exists() and ("|" in text or "," in text or "@" in text):
            raise InvalidInput(
                f"{text!r} is neither a file nor a statement; statements stand in brackets, such "
                "as '[Y|A,B]@2'"
            )
        read = read_release(text, allow_outside=allow_outside)
        if read.domain != table.domain:
            raise InvalidInput(
                f"{text} speaks of {read.domain!r}, the table is over {table.domain!r}; they need "
                "the same variables and levels in the same order (labels in files are text)"
            )
        if read.domain.groupings:
            table = table.with_domain(table.domain.with_groupings(read.domain.groupings))
        files.append(read)
    if not texts and any(option is not None and option is not False for option in how.values()):
        raise InvalidInput("rounding and eps are for statements in the notation; files have theirs")
    if texts:
        files.append(publish(table, *texts, total=False, **how))
    statements = [
        statement for read in files for statement in read.statements if statement.variables
    ]
    if not texts and table.has_structural:
        statements.append(_structural_zeros(table))
    totals = [read.stated_total for read in files if read.stated_total is not None]
    if total and texts and not totals:
        totals.append(Total(table.total))
    if len(set(totals)) > 1:
        listed = ", ".join(stated.notation for stated in totals)
        raise InvalidInput(f"the sources give different totals ({listed}); give N once")
    return Release(table.domain, [*statements, *totals[:1]])


def _is_notation(text: str) -> bool:
    return text.strip() == "N" or text.lstrip().startswith("[")
