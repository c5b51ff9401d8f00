"""One release from several sources: statements in the notation and release files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cellbounds.data.table import Table
from cellbounds.errors import InvalidInput
from cellbounds.statements.files import read_release
from cellbounds.statements.publishing import publish
from cellbounds.statements.release import Release, Statement
from cellbounds.statements.statements import Total

__all__ = ["combined_release"]


def combined_release(
    table: Table,
    sources: Sequence[str],
    *,
    total: bool = True,
    rounding: str | None = None,
    count_rounding: str | None = None,
    eps: object = None,
    strict: bool = False,
    rng: int | np.random.Generator | None = None,
    allow_outside: bool = False,
) -> Release:
    """Publish statements about a table together with what release files say.

    Statements may name the groupings that the files define. With `allow_outside`, files may name
    figures outside of their folders.
    """
    spoken = [text for text in sources if _is_notation(text)]
    statements: list[Statement] = []
    totals: list[Total] = []
    for text in sources:
        if _is_notation(text):
            continue
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
        totals += [one for one in read.statements if isinstance(one, Total)]
        statements += [one for one in read.statements if not isinstance(one, Total)]
    told = (rounding, count_rounding, eps, rng)
    if not spoken and (strict or any(one is not None for one in told)):
        raise InvalidInput("rounding and eps are for statements in the notation; files have theirs")
    if spoken or table.has_structural:
        made = publish(
            table,
            *(spoken or ["N"]),
            total=False,
            rounding=rounding,
            count_rounding=count_rounding,
            eps=eps,
            strict=strict,
            rng=rng,
        )
        said = [one for one in made.statements if isinstance(one, Total)]
        totals += said if any(text.strip() == "N" for text in spoken) else []
        statements += [one for one in made.statements if not isinstance(one, Total)]
    if total and spoken and not totals:
        totals.append(Total(table.total))
    if len(set(totals)) > 1:
        raise InvalidInput(
            f"the sources give different totals ({', '.join(one.notation for one in totals)}); "
            "give N once"
        )
    return Release(table.domain, [*statements, *totals[:1]])


def _is_notation(text: str) -> bool:
    return text.strip() == "N" or text.lstrip().startswith("[")
