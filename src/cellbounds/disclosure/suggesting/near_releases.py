"""The search for safe releases near an unsafe one."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from cellbounds.data.table import Table
from cellbounds.disclosure.policies import DEFAULT, Finding, Outcome, Policy, Verdict, policy_of
from cellbounds.disclosure.policies.crowds import Passed
from cellbounds.disclosure.policies.rerunning import (
    AS_ASKED,
    MOST_CELLS,
    Choice,
    Offer,
    republished,
)
from cellbounds.disclosure.policies.scenarios import Case
from cellbounds.disclosure.suggesting.budgeted_judge import BudgetedJudge
from cellbounds.disclosure.suggesting.candidates import (
    FIRST_RANK,
    PAIRS,
    Keeping,
    Offered,
    Stop,
    searched_near,
)
from cellbounds.disclosure.suggesting.ordering import PublicOrder
from cellbounds.disclosure.suggesting.suggestions import Searched, Suggestion, Suggestions
from cellbounds.disclosure.typical_tables import typical_total
from cellbounds.errors import InvalidInput
from cellbounds.runtime.arguments import checked_whole
from cellbounds.runtime.budget import UNLIMITED, Budget, budgeted
from cellbounds.statements import Release, Statement

SPARE = 2
"""Safe releases that are looked for besides: some may not hide the table."""


@budgeted
def suggest(
    table: Table,
    release: Release,
    policy: Policy | str | Path = DEFAULT,
    *,
    over: Iterable[str] | None = None,
    most: int = 10,
    changes: int = 2,
    knows: Iterable[Statement] = (),
    independent: bool | None = None,
    budget: Budget = UNLIMITED,
    seconds: float | None = None,
) -> Suggestions:
    """Safe releases near one that is unsafe or undecided, the most useful first.

    Parameters
    ----------
    table, release
        The confidential table, and what would be published.
    policy, knows
        As for :func:`cellbounds.judge`.
    independent
        Unless said, what is shown holds against an intruder who reruns this on every table that
        fits, and is ranked without the counts, where tables can be rerun: up to 1,024 cells, no
        figures made by chance. What the budget does not settle says "SAFE if the intruder cannot
        rerun the choice". True: show nothing else, and of larger tables what is safe for every
        table that fits. False: by the counts alone, safe if he cannot rerun it.
    over
        Judge the cells of this margin alone.
    most
        Suggestions at most.
    changes
        Changes at once at most.
    budget, seconds
        What the work may cost: a :class:`Budget`, or seconds alone; what was not tried is said.

    Notes
    -----
    Tried are: fewer decimals, coarser or hidden counts, merged neighbouring levels, a variable
    dropped, a statement or N withheld, figures suppressed, and sets of these. Every suggestion was
    judged safe over all that :func:`cellbounds.judge` looks at.
    They are ranked by the share of the original statements that they keep (see
    :func:`cellbounds.utility.retained`), then by fewer changes; sets that contain a safe set
    are left out. That nothing was found does not mean that nothing exists.

    Examples
    --------
    >>> import cellbounds as cb
    >>> from cellbounds.disclosure.suggesting import suggest
    >>> table = cb.datasets.read("delinquent")
    >>> found = suggest(table, cb.publish(table, "[education|county]@2"), changes=1)
    >>> found.outcome, found[0].verdict.outcome
    (UNSAFE, SAFE)
    >>> [one.sentence for one in found if one.changes[0].kind == "fewer-digits"]
    ['publish [education|county] with 1 decimal instead of 2']
    """
    begun = time.monotonic()
    _check(release, table, most, changes)
    chosen = policy_of(policy)
    names = None if over is None else release.domain.distinct(over)
    if not isinstance(independent, bool | None):
        raise InvalidInput(f"independent={independent!r}; give True, False or None")
    strong = independent is not False and table.domain.size <= MOST_CELLS
    budgeted = BudgetedJudge(
        original=release,
        table=table,
        policy=chosen,
        over=names,
        knows=tuple(knows),
        independent=strong,
        unseen=independent is True and not strong,
        effort=budget,
    )
    verdict = budgeted.verdict(release)
    suggestions: tuple[Suggestion, ...] = ()
    searched = Searched(0, changes, 0, 0, 0)
    if strong:
        search = _StrongSearch(budgeted, most, changes, only=independent is True)
        verdict, suggestions, searched = search.run(verdict)
        if searched.unrepeatable and independent is None:
            strong, budgeted = False, replace(budgeted, independent=False)
            searched = replace(searched, unrepeatable=False)
    if not strong and verdict.outcome is not Outcome.SAFE:
        offered, searched = searched_near(budgeted, most, changes)
        keeps = Keeping(budgeted)
        suggestions = tuple(keeps.suggestion(suggestion) for _, suggestion in offered)
    spent = time.monotonic() - begun
    held = strong or independent is True
    return Suggestions(
        release=release,
        policy=chosen,
        verdict=verdict,
        found=suggestions,
        searched=searched,
        independent=held,
        seconds=spent,
    )


class _StrongSearch:
    """Suggestions that hold against whoever reruns the search on other tables that fit.

    Unless `only` these are wanted, what the budget left open comes after them.
    """

    def __init__(self, judge: BudgetedJudge, most: int, changes: int, *, only: bool) -> None:
        self._judge, self._most, self._changes, self._only = judge, most, changes, only
        self._searched = Searched(0, changes, 0, 0, 0)
        self._orders: dict[int | None, PublicOrder | None] = {}
        self._again_judge = judge.about(judge.table, judge.original)
        self._choice = Choice(self._again, self._cases, judge.effort)

    def run(self, verdict: Verdict) -> tuple[Verdict, tuple[Suggestion, ...], Searched]:
        """The verdict on what was asked for, and what hides the table instead."""
        judge, table = self._judge, self._judge.table
        offered: list[Offered] = []
        if verdict.safe:
            if not judge.policy.tells():
                return verdict, (), self._searched
            offered = [Offered(AS_ASKED, FIRST_RANK, judge.original)]
            if self._choice.hiding(table, offered, 0).hides:
                return verdict, (), self._searched
            verdict = replace(verdict, cells=_too_telling(judge.policy))
        order = self._order(judge.original, table)
        if order is None:
            return verdict, (), replace(self._searched, unrepeatable=True)
        offers, searched = self._listed(judge, order, None, offered)
        shown: list[Suggestion] = []
        left_open: list[Suggestion] = []
        keeps = Keeping(judge)
        telling = open_ = 0
        for place, offer in enumerate(offers):
            if offer.safe is None or len(shown) == self._most:
                continue
            asked_of = self._choice.further if shown else self._choice.hiding
            answer = asked_of(table, offers, place)
            telling += answer.hides is False
            open_ += answer.hides is None
            if answer.hides and (shown or self._choice.first(table, offers, place)):
                held = replace(offer.safe.verdict, independent=True, notes=(answer.sentence,))
                shown.append(keeps.suggestion(replace(offer.safe, verdict=held)))
            elif answer.cut and not self._only:
                open_ -= 1
                plain = replace(offer.safe.verdict, notes=(answer.sentence,))
                left_open.append(keeps.suggestion(replace(offer.safe, verdict=plain)))
        listed = tuple([*shown, *left_open][: self._most])
        return verdict, listed, replace(searched, telling=telling, unsettled=open_)

    def _order(self, release: Release, table: Table) -> PublicOrder | None:
        total = typical_total(release.total.exact)
        if total not in self._orders:
            self._orders[total] = PublicOrder.of(release, table)
        return self._orders[total]

    def _listed(
        self,
        judge: BudgetedJudge,
        order: PublicOrder,
        stop: Stop | None,
        asked: list[Offered],
    ) -> tuple[list[Offered], Searched]:
        nearest, searched = searched_near(judge, self._most + SPARE, self._changes, order, stop)
        offers = [
            Offered(suggestion.key, rank, suggestion.release, suggestion)
            for rank, suggestion in nearest
        ]
        return [*asked, *offers], searched

    def _again(self, table: Table, until: Offer, passed: Passed) -> tuple[list[Offered], int]:
        """The list for another table, no further than an offer or what was not passed over."""
        original = republished(self._judge.original, table)
        if original is None:
            return [], 0
        judge = self._again_judge.about(table, original)
        safe = judge.decisive(original).safe
        offered = [Offered(AS_ASKED, FIRST_RANK, original)] if safe else []
        if safe and (not judge.policy.tells() or AS_ASKED not in passed):
            return offered, 1
        order = self._order(original, table)
        if order is None:
            return offered, 1
        stop = None if self._changes > PAIRS else Stop(until, passed)
        return self._listed(judge, order, stop, offered)[0], 1 + judge.tried

    def _cases(self, table: Table, release: Release) -> list[Case]:
        return replace(self._judge, table=table).cases_of(release, unseen=True)


def _too_telling(policy: Policy) -> tuple[Finding, ...]:
    why = "whoever reruns the judgement learns more than the policy allows", "coarser figures"
    return tuple(Finding(rule.name, Outcome.UNDECIDED, (), (), *why) for rule in policy.rules)


def _check(release: object, table: object, most: object, changes: object) -> None:
    if not isinstance(release, Release):
        raise InvalidInput(f"release={release!r}; give a Release, after the table: publish(...)")
    if not isinstance(table, Table):
        raise InvalidInput(f"table={table!r}; give the Table that the release was made from")
    for what, number in (("most", most), ("changes", changes)):
        checked_whole(what, number)
