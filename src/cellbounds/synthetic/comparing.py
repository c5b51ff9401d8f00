"""Synthetic tables beside the true one: disclosure and utility worked out."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from cellbounds.data.table import Table
from cellbounds.disclosure import NARROW, Audit, audit
from cellbounds.disclosure.policies import DEFAULT, Outcome, read_policy
from cellbounds.errors import InvalidInput, TooMuchWork
from cellbounds.inference.chooser import checked_effort, exact_fibre
from cellbounds.inference.protocol import Refusal
from cellbounds.results import Unbounded
from cellbounds.runtime.arrays import BoolArray
from cellbounds.statements import Release, Total, publish
from cellbounds.statements.notation import names_text
from cellbounds.synthetic.report import CopyMatch, Disclosure, SyntheticReport
from cellbounds.synthetic.rounded import Rounded, nearest_totals, rounded_rates, totals_like
from cellbounds.utility import compare_utility

__all__ = ["report_on"]

SYNTHETIC, ROUNDED, TRUE = "synthetic tables", "rounded rates and N", "the table itself"


def report_on(
    release: Release,
    rounded: Rounded | None,
    tables: Sequence[Table],
    table: Table,
    *,
    pairs: Iterable[tuple[str, str]] | None,
    margins: Any,
    level: object,
    seconds: float | None,
    effort: float | None,
) -> SyntheticReport:
    """Compare synthetic tables with the true one."""
    limit = checked_effort(effort)
    if not isinstance(table, Table):
        raise InvalidInput(f"table is a {type(table).__name__}; give the true Table")
    behind = _behind(release, rounded, table)
    audits: dict[str, Audit] = {}
    disclosures = []
    for published, one in behind.items():
        found = audits[published] = _audited(audits, table, one, seconds)
        disclosures.append(_disclosure(published, found, limit))
    return SyntheticReport(
        tuple(disclosures),
        tuple(_matches(tables, table, audits[SYNTHETIC])),
        compare_utility(table, tables, pairs=pairs, margins=margins, level=level),
        tuple(_notes(rounded)),
    )


def _behind(release: Release, rounded: Rounded | None, table: Table) -> dict[str, Release]:
    """What each way to publish tells somebody who knows how it was made."""
    whole = publish(table, f"[{names_text(table.domain.names)}]")
    if rounded is None:
        return {SYNTHETIC: release, TRUE: whole}
    again, _ = rounded_rates(table, rounded.statements, rounded.digits, rounded.total)
    if again.digest != release.digest:
        raise InvalidInput(
            f"the table does not round to the rates of {', '.join(rounded.statements)} that the "
            "synthetic tables keep; give the table that they were made from"
        )
    figures = rounded.published(table)
    known = totals_like(figures, _true_totals(again)) if rounded.total == "nearest" else figures
    return {SYNTHETIC: known, ROUNDED: figures, TRUE: whole}


def _true_totals(release: Release) -> Total:
    """The totals for which that of the release is the nearest; of two, the smaller one is."""
    chosen = release.total.lower
    below, above = nearest_totals(release, chosen)
    lower = 0 if below is None else (below + chosen) // 2 + 1
    return Total(lower=lower, upper=None if above is None else (chosen + above) // 2)


def _audited(
    before: dict[str, Audit], table: Table, release: Release, seconds: float | None
) -> Audit:
    """An audit; one of the same statements is not made twice."""
    for found in before.values():
        if found.release.digest == release.digest:
            return found
    return audit(table, release, seconds=seconds)


def _disclosure(published: str, found: Audit, effort: float) -> Disclosure:
    cells = found.cells
    sizes = [cell.values.size if cell.values.settled else None for cell in cells]
    plain = [size for size in sizes if size is not None and not isinstance(size, Unbounded)]
    return Disclosure(
        published,
        tuple(one.notation for one in found.release.statements),
        _counted(found.release, effort),
        disclosed=sum(cell.disclosed is True for cell in cells),
        narrow=sum(cell.narrow for cell in cells),
        unsafe=sum(cell.outcome is Outcome.UNSAFE for cell in cells),
        undecided=sum(cell.outcome is Outcome.UNDECIDED for cell in cells),
        values=float(statistics.median(plain)) if len(plain) == len(cells) else None,
        verdict=found.verdict.verdict.value,
    )


def _counted(release: Release, effort: float) -> int | None:
    try:
        fibre = exact_fibre(release, effort)
        return None if isinstance(fibre, Refusal) else fibre.count()
    except TooMuchWork:
        return None


def _matches(tables: Sequence[Table], table: Table, known: Audit) -> Iterable[CopyMatch]:
    empty = np.array([cell.structural or cell.empty_row for cell in known.cells], dtype=bool)
    told: BoolArray = ~empty.reshape(table.counts.shape)
    small = told & np.asarray(table.counts <= known.verdict.policy.small, dtype=bool)
    for number, copy in enumerate(tables, start=1):
        equal = told & np.asarray(copy.counts == table.counts, dtype=bool)
        counted = (told, equal, small, small & equal)
        yield CopyMatch(number, *(int(one.sum()) for one in counted))


def _notes(rounded: Rounded | None) -> Iterable[str]:
    yield from read_policy(DEFAULT).sentences
    yield (
        f"disclosed: one attainable count; narrow: 2 to {NARROW}; values: the median number of "
        "attainable counts; the tables are drawn from what they keep alone, so that more copies "
        "tell no more"
    )
    if rounded is None:
        return
    yield (
        "the synthetic tables show the rounded rates, so they tell what these tell; each rate is "
        "read as within one unit of its last decimal, and somebody who works out which tables "
        "largest remainders round to these rates may exclude more"
    )
    if rounded.total == "nearest":
        yield "the true N is known only as one of those for which N of the tables is the nearest"
