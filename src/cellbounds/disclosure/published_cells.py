"""What anybody can work out about the cells of published tables that do not show their count."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cellbounds.data.published import UNKNOWN, ZERO, Cell, PublishedTable
from cellbounds.disclosure.auditing import CellRisk
from cellbounds.disclosure.policies.attacker import LARGE
from cellbounds.disclosure.policies.intruder import USUAL, Intruder
from cellbounds.disclosure.policies.knowledge import Knowledge, informed
from cellbounds.disclosure.policies.policy import Policy
from cellbounds.disclosure.policies.rule import DEPENDS, RUNS, CellRule
from cellbounds.disclosure.policies.verdict import Finding, Outcome, worst
from cellbounds.errors import InconsistentRelease, InvalidInput, Unsettled
from cellbounds.results import Attainable, ValueSet
from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.runtime.budget import UNLIMITED, Budget, budgeted
from cellbounds.runtime.interrupts import Late
from cellbounds.solvers.solve import attainable, attainable_enough
from cellbounds.statements import Release, Statement
from cellbounds.statements.published import Published, Question
from cellbounds.text import counted

OUTER = (
    "not known exactly, but not every count was asked about: nobody can be outside of the range "
    "shown, which may be too wide (--seconds gives time for more)"
)
"""What is said of ranges that are not settled."""


@dataclass(frozen=True, slots=True, eq=False)
class TableRisk:
    """One table, and what can be worked out about its cells.

    Attributes
    ----------
    table
        The table as it was understood.
    cells
        Each cell that shows no count (none at all, or a rounded or noisy one), with the counts that
        it can have.
    """

    table: PublishedTable
    cells: tuple[CellRisk, ...]

    @property
    def worst_first(self) -> list[CellRisk]:
        """The cells by how many counts are left, then by how small they are."""
        return sorted(self.cells, key=lambda cell: (cell.values.possible.size, _smallest(cell)))

    @property
    def hidden(self) -> list[CellRisk]:
        """The cells whose count was suppressed, rounded or changed by noise."""
        hidden = frozenset((*self.table.hidden, *self.table.inexact))
        return [cell for cell in self.cells if cell.labels in hidden]


@dataclass(frozen=True, slots=True, eq=False)
class PublishedRisk:
    """What anybody can work out from published tables.

    Attributes
    ----------
    published
        The tables, and the release that they are.
    tables
        What can be worked out, table by table.
    seconds
        How long that took.
    notes
        What was not asked, or not assumed.
    sentences
        What the intruder knows besides the figures.
    policy
        What they were judged by; None if only counts that are known exactly matter.
    findings
        What its rules say of each table, cell by cell: of counts that are not shown, and of figures
        that are.
    answers
        What was worked out, margin by margin, for certificates.
    """

    published: Published
    tables: tuple[TableRisk, ...]
    seconds: float
    notes: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()
    policy: Policy | None = None
    findings: tuple[tuple[Finding, ...], ...] = ()
    answers: tuple[Attainable, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """The worst finding; without a policy, whether a suppressed count is known exactly."""
        if self.policy is not None:
            return worst(finding.outcome for some in self.findings for finding in some)
        if self.disclosed:
            return Outcome.UNSAFE
        return Outcome.UNDECIDED if self.unsettled else Outcome.SAFE

    @property
    def disclosed(self) -> int:
        """How many suppressed or rounded counts are known exactly."""
        return sum(cell.disclosed is True for exposure in self.tables for cell in exposure.hidden)

    @property
    def unsettled(self) -> int:
        """Of how many cells it is open whether they are known exactly."""
        return sum(cell.disclosed is None for exposure in self.tables for cell in exposure.cells)


_UNSETTLED = ValueSet((), unknown=[(0, None, 1)])
"""What is known of a cell that nothing was worked out about."""


def _smallest(cell: CellRisk) -> int:
    return cell.values.possible.smallest


@budgeted
def work_out(
    published: Published,
    *,
    knows: Sequence[Statement] = (),
    intruder: Intruder | None = None,
    policy: Policy | None = None,
    every_count: bool | None = None,
    progress: Callable[[str], None] | None = None,
    budget: Budget = UNLIMITED,
    seconds: float | None = None,
) -> PublishedRisk:
    """Work out every count that cells can have which do not show it.

    Parameters
    ----------
    published
        The tables.
    knows, intruder
        What somebody knows besides what is published. Where a table prints a zero anywhere, zeros
        are shown, so that its hidden counts are at least 1 (``intruder.zeros``). The intruder is
        that of the policy unless given.
    policy
        Rules to judge the tables by, without the true counts: UNSAFE is what breaks a rule whatever
        they are.
    every_count
        Of many cells, whether every count that they can have is asked for, beyond whether it is
        one only; unless said, if there is a budget.

    Raises
    ------
    InvalidInput
        If the policy asks for more than what single cells can be.

    Examples
    --------
    >>> import cellbounds as cb
    >>> import pandas
    >>> from cellbounds.disclosure.published_cells import work_out
    >>> sheet = pandas.DataFrame(
    ...     {"f": ["x", "7", "9"], "m": ["x", "8", "12"], "Total": ["6", "15", "21"]},
    ...     index=pandas.Index(["North", "South", "Total"], name="region"),
    ... )
    >>> [(cell.labels, cell.values) for cell in work_out(cb.read_published(sheet)).tables[0].cells]
    [(('North', 'f'), ValueSet(2)), (('North', 'm'), ValueSet(4))]
    """
    begun = time.perf_counter()
    if policy is not None:
        _check_asked(policy)
    if intruder is None:
        intruder = USUAL if policy is None else policy.against
    try:
        known = _with_zeros_shown(published, knows, intruder, budget)
        values_of, notes, answers = _worked_out(published, known, every_count, progress, budget)
    except InconsistentRelease:
        # Zeros that are printed do not mean that none is hidden, then.
        known = informed(published.release, None, knows, intruder, effort=budget)
        values_of, notes, answers = _worked_out(published, known, every_count, progress, budget)
    tables = tuple(
        TableRisk(
            table,
            tuple(CellRisk(cell, values_of[id(table)][cell]) for cell in table.unsure),
        )
        for table in published.tables
    )
    outer = sum(
        not cell.values.settled and cell.disclosed is False for t in tables for cell in t.cells
    )
    if outer:
        notes = (*notes, f"{counted(outer, 'cell is', 'cells are')} {OUTER}")
    seconds_taken = time.perf_counter() - begun
    return PublishedRisk(
        published=published,
        tables=tables,
        seconds=seconds_taken,
        notes=notes,
        sentences=known.sentences,
        policy=policy,
        findings=()
        if policy is None
        else tuple(tuple(_findings(exposure, policy)) for exposure in tables),
        answers=answers,
    )


def _check_asked(policy: Policy) -> None:
    """Refuse rules that single cells are not enough for."""
    instead = (
        "write the tables as a release file (`cellbounds show FILE --release FILE.toml`) and "
        "attack that"
    )
    for rule in policy.rules:
        if not (isinstance(rule, CellRule) or rule.about_figures):
            raise InvalidInput(
                f"the rule {rule.name} of the policy {policy.name} is not asked of tables, which "
                f"are judged cell by cell; {instead}"
            )
    if policy.respondent:
        raise InvalidInput(
            f"the policy {policy.name} asks what respondents learn, which is not asked of tables; "
            f"{instead}"
        )


def _findings(exposure: TableRisk, policy: Policy) -> Iterator[Finding]:
    """What rules say of hidden counts and ranges, and of the figures that are shown."""
    table = exposure.table
    at, inexact = table.variables, frozenset(table.inexact)
    for rule in policy.rules:
        for cell, entry in table.entries.items():
            count = 0 if entry == ZERO else entry
            # A rounded figure is no count: what it can be is worked out below.
            exact = rule.about_figures or cell not in inexact
            if isinstance(count, int) and exact and rule.unshown(np.array([count])).item():
                words = "the figure is shown"
                yield Finding(rule.name, Outcome.UNSAFE, at, cell, words, "hiding it", figure=True)
        if not isinstance(rule, CellRule):
            continue
        for risk in exposure.cells:
            if table.entries[risk.labels] == UNKNOWN:
                continue  # nothing was hidden there
            outcome, values = rule.outcome_outside(risk.values), risk.values
            words = f"attainable: {values.possible.text(RUNS)}"
            if outcome is Outcome.UNDECIDED:
                words += f"; {DEPENDS if values.settled else 'not settled in time'}"
            change = "" if outcome is Outcome.SAFE else f"{rule.lacks(values)}: hiding more"
            yield Finding(
                rule=rule.name,
                outcome=outcome,
                variables=at,
                labels=risk.labels,
                evidence=words,
                change=change,
                values=values,
            )


def _worked_out(
    published: Published,
    known: Knowledge,
    every_count: bool | None,
    progress: Callable[[str], None] | None,
    budget: Budget,
) -> tuple[dict[int, dict[Cell, ValueSet]], tuple[str, ...], tuple[Attainable, ...]]:
    """What cells can hold, table by table, what there is to say about that, and the answers."""
    asked = published.questions()
    values_of: dict[int, dict[Cell, ValueSet]] = {id(table): {} for table in published.tables}
    notes, answers = list(known.notes), list[Attainable]()
    release = published.asking(known.release)
    for place, (table, question) in enumerate(asked):
        if progress is not None:
            progress(f"working out {' x '.join(question.over)}")
        part = budget.share(1 / (len(asked) - place))
        values: Iterable[ValueSet] = itertools.repeat(_UNSETTLED, len(question.cells))
        if not budget.overdue:
            # What is late leaves its cells open, and those of the margins that follow.
            with suppress(Unsettled, Late):
                wide = part.deadline is not None if every_count is None else every_count
                answer = _asked(release, question, part)
                answers.append(answer)
                values = list(_values(answer, part, wide=wide))
        values_of[id(table)].update(zip(question.places, values, strict=True))
    return values_of, tuple(dict.fromkeys(notes)), tuple(answers)


def _asked(release: Release, question: Question, budget: Budget) -> Attainable:
    """The answer of a question; of many cells only which are known exactly, at first."""
    asked: dict[str, Any] = {"over": question.over, "cells": question.cells, "budget": budget}
    if len(question.cells) < LARGE:
        return attainable(release, **asked)
    return attainable_enough(release, _perhaps_known, **asked)


def _values(answer: Attainable, budget: Budget, *, wide: bool) -> Iterator[ValueSet]:
    """What each cell can hold; of many cells only if that is wanted, and there is time."""
    if answer.size >= LARGE:
        if not wide or budget.spent:
            return (values for _, values in answer.between_ends())
        with suppress(Late):
            answer.gather()
    return (values for _, values in answer.items())


def _perhaps_known(proven: IntArray, attained: IntArray) -> tuple[BoolArray, bool]:
    """Cells that all tables so far agree on though nothing proves it."""
    cells = (attained[0] == attained[1]) & (proven[0] != proven[1])
    return cells, not cells.any()


def _with_zeros_shown(
    published: Published, knows: Sequence[Statement], intruder: Intruder, budget: Budget
) -> Knowledge:
    """The tables with all that the intruder knows besides, which may turn out to be too much.

    That zeros are shown is a rule of a table, and not of its levels one by one.
    """
    release, hiding = published.release, [table for table in published.tables if table.hidden]
    if intruder.zeros != "shown" or not hiding or not all(one.shows_zeros for one in hiding):
        return informed(release, None, knows, intruder, effort=budget)
    known = informed(release, None, knows, replace(intruder, zeros="always"), effort=budget)
    others = [one for one in known.sentences if not one.startswith("a hidden count of [")]
    zeros = "hidden counts are at least 1: zeros are printed"
    return replace(known, sentences=(zeros, *others))
