"""A report on synthetic tables: what they give away, and what they are good for."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from cellbounds.data.frames import frame_of
from cellbounds.data.table import Table
from cellbounds.disclosure import NARROW, Audit, audit
from cellbounds.disclosure.policies import DEFAULT, Outcome, policy_of
from cellbounds.errors import InvalidInput, TooMuchWork, UnsupportedRelease
from cellbounds.inference.chooser import checked_effort, exact_fibre
from cellbounds.results import Unbounded
from cellbounds.runtime.arrays import BoolArray
from cellbounds.runtime.budget import Budget
from cellbounds.statements import Release, Total, publish
from cellbounds.statements.notation import names_text
from cellbounds.synthetic.rounded import Rounded, nearest_totals, rounded_rates, totals_like
from cellbounds.text import counted
from cellbounds.utility import UtilityComparison, compare
from cellbounds.utility.display import Section, Shown, columns_of
from cellbounds.version import __version__

FORMAT = "cellbounds-synthetic-report/1"

LEARNT = ("tables", "disclosed", "narrow", "unsafe", "undecided", "values")
MATCHED = ("cells", "equal", "small", "small_equal")
"""Measures of what is learnt, and of the counts that are the true ones."""


@dataclass(frozen=True, slots=True)
class Disclosure:
    """What somebody learns from one way to publish.

    Attributes
    ----------
    published
        What is published.
    statements
        What it comes down to, in the notation.
    tables
        How many tables are consistent with it; None if they were not counted.
    disclosed, narrow, unsafe, undecided
        Cells with one attainable count; with few; small counts that are disclosed; cells for
        which the budget did not settle that.
    values
        How many counts are attainable in a cell, the median over all cells; None if unsettled.
    verdict
        ``"safe"``, ``"unsafe"`` or ``"undecided"``.
    """

    published: str
    statements: tuple[str, ...]
    tables: int | None
    disclosed: int
    narrow: int
    unsafe: int
    undecided: int
    values: float | None
    verdict: str


@dataclass(frozen=True, slots=True)
class CopyMatch:
    """How many counts of a synthetic table are the true ones.

    Cells that everybody knows to be empty are left out.
    """

    copy: int
    cells: int
    equal: int
    small: int
    small_equal: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SyntheticReport(Shown):
    """Disclosure and utility of synthetic tables side by side with the original.

    It is for the owner: it has figures of the true table in it.

    Attributes
    ----------
    disclosures
        What is learnt from the synthetic tables by somebody who knows how they were made; if
        rates were rounded, from the rounded rates themselves; and from the true table.
    matches
        How many counts of each copy are the true ones.
    utility
        Distances, odds ratios, tests and models in each copy and in the true table.
    notes
        How to read the numbers.
    """

    disclosures: tuple[Disclosure, ...]
    matches: tuple[CopyMatch, ...]
    utility: UtilityComparison
    notes: tuple[str, ...]

    def to_frame(self, backend: str | None = None) -> Any:
        """A tidy data frame: what is published, the measure, its value.

        `utility.to_frame()` has the measures of utility.
        """
        measured: list[tuple[str, Disclosure | CopyMatch, tuple[str, ...]]] = [
            *((disclosure.published, disclosure, LEARNT) for disclosure in self.disclosures),
            *((f"copy {matched.copy}", matched, MATCHED) for matched in self.matches),
        ]
        lines = [
            (published, name, _as_float(getattr(tally, name)))
            for published, tally, names in measured
            for name in names
        ]
        return frame_of(columns_of(("published", "measure", "value"), lines), backend)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, versioned."""
        return {
            "format": FORMAT,
            "version": __version__,
            "view": "owner",
            "rule": "; ".join(policy_of(DEFAULT).sentences),
            "disclosure": [asdict(disclosure) for disclosure in self.disclosures],
            "copies": [asdict(matched) for matched in self.matches],
            "utility": self.utility.to_dict(),
            "notes": list(self.notes),
        }

    def _sections(self) -> list[Section]:
        learnt = []
        for disclosure in self.disclosures:
            tables = "not counted" if disclosure.tables is None else _large(disclosure.tables)
            values = "?" if disclosure.values is None else f"{disclosure.values:g}"
            cells = map(
                str,
                (disclosure.disclosed, disclosure.narrow, disclosure.unsafe, disclosure.undecided),
            )
            learnt.append([disclosure.published, tables, values, *cells, disclosure.verdict])
        titles = ["published", "tables", "values", "disclosed", "narrow", "unsafe", "undecided"]
        words = frozenset({"published", "verdict"})
        title = "disclosure: what is learnt by somebody who knows how the tables were made"
        columns = ("copy", "equal", "cells", "small_equal", "small")
        equal = [[str(getattr(match, name)) for name in columns] for match in self.matches]
        small = f"{policy_of(DEFAULT).small} or less and equal"
        header = ["copy", "equal", "of cells", small, "of such"]
        return [
            Section(title, [*titles, "verdict"], learnt, words),
            Section("counts that are the true ones", header, equal),
        ]

    def __str__(self) -> str:
        made = self.disclosures[0]
        verdict = f"{made.verdict.upper()} under the policy {DEFAULT}: the {made.published}"
        return f"{verdict}\n\n{Shown.__str__(self)}\n\nutility\n{self.utility}"

    def __repr__(self) -> str:
        # Figures of a confidential table are not printed by accident.
        return f"<report on {counted(len(self.matches), 'synthetic table')}, for the owner>"

    def _repr_html_(self) -> str:
        return Shown._repr_html_(self) + self.utility._repr_html_()


def _as_float(number: float | None) -> float | None:
    """A number as a double; numbers of tables may be beyond it."""
    return None if number is None else float(number) if number < 10**308 else math.inf


def _large(number: int) -> str:
    return str(number) if number < 10**12 else f"{number:.3e}" if number < 1e300 else "above 1e300"


SYNTHETIC, ROUNDED, TRUE = "synthetic tables", "rounded rates and N", "the table itself"


def report_on(
    release: Release,
    rounded: Rounded | None,
    tables: Sequence[Table],
    table: Table,
    *,
    budget: Budget,
    effort: float | None,
    **options: Any,
) -> SyntheticReport:
    """Compare synthetic tables with the true one; `options` are those of ``cb.utility.compare``."""
    limit = checked_effort(effort)
    if not isinstance(table, Table):
        raise InvalidInput(f"table is a {type(table).__name__}; give the true Table")
    behind = _behind(release, rounded, table)
    audits: dict[str, Audit] = {}
    disclosures = []
    for published, one in behind.items():
        if one.digest not in audits:  # the same statements are not audited twice
            audits[one.digest] = audit(table, one, budget=budget)
        disclosures.append(_disclosure(published, audits[one.digest], limit))
    return SyntheticReport(
        tuple(disclosures),
        tuple(_matches(tables, table, audits[behind[SYNTHETIC].digest])),
        compare(table, tables, **options),
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


def _disclosure(published: str, audited: Audit, effort: float) -> Disclosure:
    cells = audited.cells
    sizes = [cell.values.size if cell.values.settled else None for cell in cells]
    plain = [size for size in sizes if size is not None and not isinstance(size, Unbounded)]
    return Disclosure(
        published,
        tuple(statement.notation for statement in audited.release.statements),
        _counted(audited.release, effort),
        disclosed=sum(cell.disclosed is True for cell in cells),
        narrow=sum(cell.narrow for cell in cells),
        unsafe=sum(cell.outcome is Outcome.UNSAFE for cell in cells),
        undecided=sum(cell.outcome is Outcome.UNDECIDED for cell in cells),
        values=float(statistics.median(plain)) if len(plain) == len(cells) else None,
        verdict=audited.verdict.outcome.value,
    )


def _counted(release: Release, effort: float) -> int | None:
    try:
        return exact_fibre(release, effort).count()
    except (TooMuchWork, UnsupportedRelease):
        return None


def _matches(tables: Sequence[Table], table: Table, known: Audit) -> Iterable[CopyMatch]:
    empty = np.array([cell.structural or cell.empty_row for cell in known.cells], dtype=bool)
    spoken_of: BoolArray = ~empty.reshape(table.counts.shape)
    small = spoken_of & np.asarray(table.counts <= known.verdict.policy.small, dtype=bool)
    for number, copy in enumerate(tables, start=1):
        equal = spoken_of & np.asarray(copy.counts == table.counts, dtype=bool)
        counted = (spoken_of, equal, small, small & equal)
        yield CopyMatch(number, *(int(mask.sum()) for mask in counted))


def _notes(rounded: Rounded | None) -> Iterable[str]:
    yield from policy_of(DEFAULT).sentences
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
