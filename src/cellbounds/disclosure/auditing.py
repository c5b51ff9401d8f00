"""Audits: what publishing a release would reveal about a table, and whether that is allowed."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from cellbounds.data.domain import Label
from cellbounds.data.nesting import Nesting, nestings_in
from cellbounds.data.table import Table
from cellbounds.disclosure.policies.attacker import answer_is_brief, undecided_cells
from cellbounds.disclosure.policies.judging import FITTING, first_share, judged, strongly_judged
from cellbounds.disclosure.policies.knowledge import with_known_structure
from cellbounds.disclosure.policies.policy import DEFAULT, Policy
from cellbounds.disclosure.policies.scenarios import Case, Margins, cases_of, margin_of
from cellbounds.disclosure.policies.verdict import Outcome, Verdict
from cellbounds.errors import InconsistentRelease, Unsettled
from cellbounds.results import Attainable, Unbounded, ValueSet
from cellbounds.results.answers import (
    RESERVED,
    cell_value,
    label_columns,
    labelled,
    notations,
    shown,
    value_entries,
)
from cellbounds.runtime.budget import UNLIMITED, Budget, budgeted
from cellbounds.runtime.interrupts import Late
from cellbounds.solvers.solve import attainable, attainable_enough, nothing_known, resumable
from cellbounds.statements import Release, Statement
from cellbounds.utility.display import Listing, more_lines
from cellbounds.version import __version__

if TYPE_CHECKING:
    from cellbounds.report.filing import Report

FORMAT = "cellbounds-audit/2"

KEYS = (*RESERVED, "outcome")
"""Keys of a cell that are not variables."""

BRIEF = (
    "bounds that the verdict does without were left open, as the table is large: give a budget "
    "(seconds=) to have more of them"
)
"""What is said of the cells of a large table."""

MOST_LATE = 20_000
"""Cells that are still listed when the budget is spent: that takes a moment. More are listed by
their bounds before."""

NARROW = 3
"""A cell with more than one but at most so many attainable counts is narrow."""


@dataclass(frozen=True, slots=True, eq=False)
class CellRisk:
    """One cell: what is attainable, and, for its owner, what it really holds.

    Attributes
    ----------
    labels, values
        Which cell, and its attainable counts.
    count
        The true count; None if nobody told.
    structural, empty_row
        Whether the cell is a structural zero, or in a row that is published as empty.
    outcome
        The worst finding of the policy that the cell has a part in.
    """

    labels: tuple[Label, ...]
    values: ValueSet
    count: int | None = None
    structural: bool = False
    empty_row: bool = False
    outcome: Outcome = Outcome.SAFE

    @property
    def disclosed(self) -> bool | None:
        """Whether only one count is attainable; None if that is not settled."""
        if self.values.settled:
            return self.values.size == 1
        if self.values.possible.size == 1:
            return True
        return None if self.values.known.size in (0, 1) else False

    @property
    def narrow(self) -> bool:
        """Whether very few counts are attainable, but more than one."""
        size = self.values.possible.size
        return not isinstance(size, Unbounded) and 1 < size <= NARROW and self.disclosed is False


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Audit(Listing):
    """What publishing a release would reveal about a table.

    Printed, or shown in a notebook, it has the cells that break a rule first.

    Attributes
    ----------
    release
        What would be published.
    answer
        The attainable counts, from the release and all that the intruder knows besides.
    verdict
        Whether that is safe, and why.
    cells
        Each cell with what is attainable, what it holds, and its outcome. Those that were not
        worked out in time are not among them, which the verdict notes.
    table
        The confidential table; None if an outsider looked without it.
    determines
        Variables that determine another one in the table, such as a region its country, of which
        nobody said that everybody knows it. For the owner alone.
    start_used
        Whether the table helped to find what is attainable. It changes nothing that is settled;
        what is not may lean towards the table and must stay with its owner.
    """

    release: Release
    answer: Attainable
    verdict: Verdict
    cells: tuple[CellRisk, ...]
    table: Table | None
    start_used: bool
    determines: tuple[Nesting, ...] = ()

    numbers: ClassVar[frozenset[str]] = frozenset({"count", "lower", "upper", "size"})

    @property
    def warning(self) -> str:
        """A word of caution that belongs to the verdict; empty if there is none."""
        return self.verdict.warning

    def columns(self) -> dict[str, list[Any]]:
        """Every cell column by column: labels, count, what is attainable, and the outcome."""
        sets = [cell.values for cell in self.cells]
        owned = {} if self.table is None else {"count": [cell.count for cell in self.cells]}
        return {
            **label_columns(self.answer.domain, KEYS, (cell.labels for cell in self.cells)),
            **owned,
            "lower": [values.possible.smallest for values in sets],
            "upper": [cell_value(values.possible.largest) for values in sets],
            "size": [cell_value(values.size) if values.settled else None for values in sets],
            "outcome": [cell.outcome.value for cell in self.cells],
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain values, versioned, as ``cellbounds audit --format json`` writes them.

        They hold the confidential counts: :meth:`report` has a public part.

        Examples
        --------
        >>> import cellbounds as cb
        >>> table = cb.datasets.read("delinquent")
        >>> found = cb.audit(table, cb.publish(table, "[education|county]@2")).to_dict()
        >>> found["verdict"], found["summary"]["unsafe"], found["cells"][0]["values"]
        ('unsafe', 6, [15])
        """
        return audit_content(self.answer, self.cells, self.verdict, self.determines)

    def _title(self) -> str:
        return self.verdict._title()

    def _table(self, most: int) -> tuple[list[str], list[list[str]], str]:
        worst_first = {Outcome.UNSAFE: 0, Outcome.UNDECIDED: 1, Outcome.SAFE: 2}
        cells = sorted(self.cells, key=lambda cell: worst_first[cell.outcome])
        rows = [
            [
                *map(str, cell.labels),
                *([] if self.table is None else [str(cell.count)]),
                shown(cell.values.possible.smallest),
                shown(cell.values.possible.largest),
                shown(cell.values.size) if cell.values.settled else "?",
                str(cell.outcome),
            ]
            for cell in cells[:most]
        ]
        owned = [] if self.table is None else ["count"]
        header = [*self.answer.over, *owned, "lower", "upper", "size", "outcome"]
        return header, rows, more_lines(len(cells) - most, "more cells")

    def report(
        self,
        *,
        public: bool = False,
        key: bytes | None = None,
        rng: int | None = None,
        source: str | None = None,
        budget: Budget = UNLIMITED,
        seconds: float | None = None,
        clock: bool = False,
    ) -> Report:
        """A report on what publishing the release would give away: HTML, JSON, CSV, Excel.

        Parameters
        ----------
        public
            Leave out what only the owner may see: counts, findings, blame, utility, the table's
            own digest, and a verdict that depends on the counts.
        key
            A secret of the owner: the public part then names the table by a digest under this key.
        rng
            The seed of posteriors that have to be estimated; without one only exact ones are shown.
            The public part shows it: take none that a table was rounded with.
        source
            The table's file, for the internal part; only its name is kept.
        budget, seconds
            What the work beyond the audit may cost: a :class:`Budget`, or seconds alone.
        clock
            Say in the internal part when the report was made, and how long the audit took. Without
            it the same audit gives the same bytes.

        Examples
        --------
        >>> import cellbounds as cb
        >>> table = cb.datasets.read("delinquent")
        >>> found = cb.audit(table, cb.publish(table, "[education|county]@2"))
        >>> found.report()
        <report for the owner: [education|county]@2, N=135>
        >>> found.report(public=True).to_html()[:15]
        '<!DOCTYPE html>'
        """
        # Reports are built on audits: this way leads forwards, and is taken when it is asked for.
        from cellbounds.report.filing import build_report

        return build_report(
            self,
            public=public,
            key=key,
            rng=rng,
            source=source,
            budget=budget,
            seconds=seconds,
            clock=clock,
        )

    def __repr__(self) -> str:
        return f"<audit: {self._title()}>"


def audit_summary(cells: Sequence[CellRisk], *, judged: bool) -> dict[str, int]:
    """How many cells are at risk; what breaks a rule if somebody judged."""
    outcomes = [cell.outcome for cell in cells]
    counted = {
        "cells": len(cells),
        "disclosed": sum(cell.disclosed is True for cell in cells),
        "narrow": sum(cell.narrow for cell in cells),
        "unsettled": sum(not cell.values.settled for cell in cells),
    }
    findings = {
        "known_empty": sum(cell.structural or cell.empty_row for cell in cells),
        "unsafe": outcomes.count(Outcome.UNSAFE),
        "undecided": outcomes.count(Outcome.UNDECIDED),
    }
    return {**counted, **findings} if judged else counted


def audit_content(
    answer: Attainable,
    cells: Sequence[CellRisk],
    verdict: Verdict | None,
    determines: Sequence[Nesting] = (),
) -> dict[str, Any]:
    """An audit as plain values; without a verdict, what an intruder can work out."""
    entries: list[dict[str, Any]] = []
    owner = verdict is not None and not verdict.outside
    for cell in cells:
        entry = labelled(answer.domain, cell.labels, KEYS)
        if owner:
            entry["count"] = cell.count
        entry |= value_entries(cell.values)
        entry |= {"disclosed": cell.disclosed, "narrow": cell.narrow}  # None: not settled
        if verdict is not None:
            entry["outcome"] = cell.outcome.value
            entry |= {"structural": cell.structural, "empty_row": cell.empty_row}
        entries.append(entry)
    release = answer.release if verdict is None else verdict.release
    content: dict[str, Any] = {
        "format": FORMAT,
        "version": __version__,
        "view": "owner" if owner else "intruder",
        "release": {"digest": release.digest, "statements": notations(release)},
        "over": list(answer.over),
        "method": answer.method,
        "evidence": answer.evidence.value,
        "seconds": round(answer.seconds, 6),
        "summary": audit_summary(cells, judged=verdict is not None),
    }
    if verdict is not None:
        content |= {
            "verdict": verdict.outcome.value,
            "policy": verdict.policy.to_dict(),
            "independent": verdict.independent,
            "warning": verdict.warning,
            "margins": [list(names) for names in verdict.margins],
            "knows": [known.notation for known in verdict.knows],
            "intruder": list(verdict.intruder),
            **({"determines": [list(nesting[:2]) for nesting in determines]} if owner else {}),
            "notes": list(verdict.notes),
            "findings": [finding.to_dict() for finding in (*verdict.broken, *verdict.open)],
        }
    return {**content, "cells": entries}


@budgeted(resumes=True)
def audit(
    table: Table | None,
    release: Release,
    policy: Policy | str | Path = DEFAULT,
    *,
    over: Margins | None = None,
    independent: bool = False,
    knows: Iterable[Statement] = (),
    budget: Budget = UNLIMITED,
    seconds: float | None = None,
) -> Audit:
    """Compare a table with everything that could be worked out about it from a release.

    The same work answers what is attainable and decides the verdict of :func:`cellbounds.judge`.
    Under a budget the verdict comes first, and what is left goes into every attainable count.

    Parameters
    ----------
    table
        The confidential table. None: what an outsider can work out who has the release alone, and
        the verdict that he comes to (see :func:`cellbounds.judge`).
    release
        What would be published.
    policy, over, independent, knows, budget, seconds
        As for :func:`cellbounds.judge`.

    Raises
    ------
    InvalidInput
        If the table contradicts the release or the knowledge, or the policy does not fit.

    Examples
    --------
    >>> import cellbounds as cb
    >>> table = cb.datasets.read("delinquent")
    >>> found = audit(table, cb.publish(table, "[education|county]@2"))
    >>> found.verdict.outcome, sum(cell.disclosed for cell in found.cells)
    (UNSAFE, 16)
    >>> found.cells[2].labels, found.cells[2].values, found.cells[2].outcome
    (('Alpha', 'High'), ValueSet(3), UNSAFE)
    """
    cases = cases_of(
        release,
        table,
        policy,
        over=over,
        knows=knows,
        independent=independent,
        effort=budget.share(FITTING),
    )
    case = cases[0]
    margin, start = case.margin, None
    if table is not None:
        margin, start = margin_of(release, table, case.over), None if independent else table
    budget = resumable(budget, case.known, "sharp", case.over, None, start=start is not None)
    first = first_share(case.policy, budget)
    late = first.spent
    answer, brief, until = None, False, undecided_cells(case)
    begun = time.perf_counter()
    try:
        solver = attainable if until is None else partial(attainable_enough, undecided=until)
        answer = solver(case.known, over=case.over, start=start, budget=first)
        # Of many cells the bounds that the verdict does without are left open, unless there is
        # a budget for them.
        brief = budget.deadline is None and answer_is_brief(case, answer)
    except Unsettled:
        pass  # in time: that is for the verdict to say
    except InconsistentRelease:
        if case.doubting is None:
            raise
        # What the release seems to show contradicts it, which nobody had the time to find out.
        cases = [each.doubted for each in cases]
        case = cases[0]
    if budget.deadline is None and answer is not None and not brief:
        answer.gather()
    # A budget that is spent before anything was asked decides nothing.
    verdict, again = judged(cases, budget, None if late else answer)
    if independent and table is not None and case.policy.tells() and not verdict.safe:
        verdict = strongly_judged(table, cases, budget)
    answer = answer or (again if again is not None and again.over == case.over else None)
    cells: list[CellRisk] = []
    known: list[CellRisk] = []
    many = answer is not None and answer.size > MOST_LATE
    with suppress(Late):  # those that were listed stay
        # Bounds are at hand, whatever else is not worked out in time: there may be none left for
        # many cells then.
        if answer is not None and until is not None and many and not brief:
            known.extend(_cells(answer, case, margin, verdict, brief=True))
        for cell in () if answer is None else _cells(answer, case, margin, verdict, brief=brief):
            budget.say(len(cells), margin.domain.size)
            cells.append(cell)
    if answer is not None and until is not None and not many and len(cells) < answer.size:
        with suppress(Late):
            known.extend(_cells(answer, case, margin, verdict, brief=True))
    cells.extend(known[len(cells) :])
    if brief:
        verdict = replace(verdict, notes=(*verdict.notes, BRIEF))
    answer = answer or nothing_known(case.known, case.over, time.perf_counter() - begun)
    if len(cells) < answer.size:
        left = f"{answer.size - len(cells):,} of {answer.size:,} cells are not listed"
        verdict = replace(verdict, notes=(*verdict.notes, f"{left}: they were not worked out"))
    determines = () if table is None else tuple(nestings_in(with_known_structure(table)))
    return Audit(
        release=release,
        answer=answer,
        verdict=verdict,
        cells=tuple(cells),
        table=table,
        start_used=start is not None,
        determines=determines,
    )


def _cells(
    answer: Attainable, case: Case, margin: Table, verdict: Verdict, *, brief: bool
) -> Iterator[CellRisk]:
    """Each cell with what is attainable, what it holds, and its outcome.

    In `brief` what lies between known bounds and was not looked at is left open.
    """
    if not brief:
        answer.gather()
    arrays = (margin.counts, case.margin.structural, case.empty, verdict.outcomes)
    cells = answer.between_ends() if brief else answer.items()
    flat = zip(cells, *(array.ravel().tolist() for array in arrays), strict=True)
    for (labels, values), count, *known in flat:
        yield CellRisk(labels, values, None if case.outside else count, *known)
