"""A judge of releases that keeps within a budget, and counts what it judged."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace

from cellbounds.data.table import Table
from cellbounds.disclosure.policies import Policy, Verdict
from cellbounds.disclosure.policies.judging import judged
from cellbounds.disclosure.policies.knowledge import hides_figures
from cellbounds.disclosure.policies.scenarios import Case, cases_of, with_counts
from cellbounds.runtime.budget import UNLIMITED, Budget
from cellbounds.runtime.workers import Until
from cellbounds.statements import Release, Statement

SHARE = 0.25
"""The part of the time left that one release may take at most."""

LEAST = 0.05
"""Seconds for one release at least, so that a last one is not asked for nothing."""

LARGE = 500
"""Cells from which on other processes help; below, handing them the work takes longer."""

MOST_TRIED = 600
"""Releases that are judged at most, where that may depend on the counts."""

MOST_REMEMBERED = 10_000
"""Verdicts that are kept while tables are rerun."""


@dataclass(slots=True)
class BudgetedJudge:
    """Judges releases within the budget, and counts them.

    Attributes
    ----------
    independent, unseen
        Whether the whole search is rerun on other tables; whether verdicts are made without the
        true counts.
    memory
        What was judged about tables that are rerun: many of them publish the same figures.
    """

    table: Table
    policy: Policy
    over: tuple[str, ...] | None
    knows: tuple[Statement, ...]
    independent: bool
    unseen: bool
    original: Release
    effort: Budget
    tried: int = 0
    known: int = 0
    memory: dict[Hashable, Verdict] | None = None

    @property
    def most_tried(self) -> int | float:
        """Releases that are judged at most: what is tried may not depend on the counts."""
        return math.inf if self.independent else MOST_TRIED

    @property
    def spent(self) -> bool:
        """Whether time or the number of tries has run out."""
        return self.effort.left == 0 or self.tried >= self.most_tried

    def elsewhere(self, until: Until) -> BudgetedJudge:
        """The same for another process, which begins to count anew."""
        return replace(self, effort=Budget.until(until.deadline), tried=0, memory=None)

    def count(self, more: int) -> bool:
        """Count releases that were judged; False if these would be too many."""
        if self.tried + more > self.most_tried:
            return False
        self.tried += more
        self.effort.say(self.tried, max(self.known, self.tried))
        return True

    def __call__(self, release: Release) -> Verdict | None:
        """The verdict, as far as its outcome needs; None if there is no time."""
        if self.spent:
            return None
        self.count(1)
        return self.decisive(release)

    def decisive(self, release: Release) -> Verdict:
        """The verdict, as far as its outcome needs."""
        if self.memory is None:
            return self.verdict(release, decisive=True)
        names = tuple(statement.notation for statement in release.statements)
        # Unless a verdict tells tables apart, it is about the figures alone.
        counts = self.table.counts.tobytes() if self.policy.tells() else b""
        key = release.digest, names, counts
        if key not in self.memory:
            if len(self.memory) >= MOST_REMEMBERED:
                self.memory.clear()
            self.memory[key] = self.verdict(release, decisive=True)
        return self.memory[key]

    def verdict(self, release: Release, *, decisive: bool = False) -> Verdict:
        """The verdict on a release, within its part of the time that is left."""
        part = self.effort.share(SHARE, least=LEAST).quiet()
        budget = part if release.domain.size >= LARGE else Budget.until(part.deadline)
        return judged(self.cases(release), budget, decisive=decisive)[0]

    def cases(self, release: Release) -> list[Case]:
        """What is judged of a release."""
        if self.independent and not self.policy.tells() and hides_figures(release):
            # What hidden figures show is true of some tables; else the counts only save time.
            return with_counts(self.cases_of(release, unseen=True), self.table)
        return self.cases_of(release, unseen=self.unseen)

    def cases_of(self, release: Release, *, unseen: bool) -> list[Case]:
        """The same with or without the true counts."""
        return cases_of(
            release, self.table, self.policy, over=self.over, knows=self.knows, independent=unseen
        )

    def about(self, table: Table, original: Release) -> BudgetedJudge:
        """The same about another table; whatever was counted so far."""
        memory = {} if self.memory is None else self.memory
        return replace(
            self, table=table, original=original, effort=UNLIMITED, tried=0, memory=memory
        )
