"""Judging a release under a policy."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from pathlib import Path

from cellbounds.data.table import Table
from cellbounds.disclosure.policies.attacker import Attacker, found_in
from cellbounds.disclosure.policies.attainable_cache import AttainableCache
from cellbounds.disclosure.policies.blaming import blamed
from cellbounds.disclosure.policies.cases import Case, case_of
from cellbounds.disclosure.policies.policy import DEFAULT, Policy
from cellbounds.disclosure.policies.respondents import respondents
from cellbounds.disclosure.policies.rules import MinimumCount
from cellbounds.disclosure.policies.shown import shown_figures
from cellbounds.disclosure.policies.verdict import Finding, Outcome, Verdict, worst
from cellbounds.disclosure.policies.words import remedy_of
from cellbounds.model.effort import Effort
from cellbounds.results import ValueSet
from cellbounds.statements import Prior, Release

__all__ = ["judge", "judged"]

FIRST_SHARE = 0.5
"""The part of a budget for the intruder without a record, when respondents are tried too."""


def judge(
    release: Release,
    table: Table | None = None,
    policy: Policy | str | Path = DEFAULT,
    *,
    over: Iterable[str] | None = None,
    knows: Iterable[Prior] = (),
    independent: bool = False,
    seconds: float | None = None,
    executor: Executor | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Verdict:
    """Whether a release is safe under a policy: overall, and for each cell with its reasons.

    "Safe" rests on counts that tables are known for, "unsafe" on what is proven; what lies between
    stays undecided.

    Parameters
    ----------
    release
        What would be published.
    table
        The table that it was made from. With ``independent=True`` it may be left out: it is only
        checked against the release, and all that matters of it are the structural zeros that it
        declares, which everybody knows, beside those that the release states itself.
    policy
        A profile's name, a file, or a :class:`Policy`.
    over
        Judge the cells of this margin instead of those of the table; derived variables may be
        named. A margin can give away what none of its parts does, and the other way round.
    knows
        What an intruder knows besides, such as ``Prior(["sex"], lower={"f": 3})``.
    independent
        Judge without the true counts: every consistent table must pass, so that the verdict tells
        nothing about which of them is the true one.
    seconds
        A budget; what it does not settle is undecided.
    executor, progress
        As for :func:`cellbounds.bounds`.

    Raises
    ------
    InvalidInput
        If the table contradicts the release or the knowledge, or the policy names variables that
        are not judged.

    Examples
    --------
    >>> import cellbounds as cb
    >>> table = cb.example_table("delinquent")
    >>> verdict = judge(cb.publish(table, "[education|county]@2"), table)
    >>> verdict.verdict, len(verdict.broken), verdict.at("Alpha", "High")
    (UNSAFE, 6, UNSAFE)
    >>> judge(cb.publish(table, "[education|county]@1"), table).verdict
    SAFE
    >>> judge(cb.publish(table, "[county]"), table, over=["county"]).over
    ('county',)
    """
    case = case_of(release, table, policy, over, knows, independent)
    start = None if independent else table
    return judged(case, Effort.of(seconds, executor, start, progress))[0]


def judged(
    case: Case, effort: Effort, *, sets_first: bool = False
) -> tuple[Verdict, AttainableCache]:
    """The verdict, and what it was found out with.

    `sets_first` works with every attainable count, for those who want them anyway.
    """
    begun = time.perf_counter()
    policy = case.policy
    part = effort
    if policy.respondent and effort.left is not None:
        part = replace(effort, deadline=time.monotonic() + FIRST_SHARE * effort.left)
    # Under a budget the bounds come first: they may show that there are too few values.
    all_values = sets_first or (effort.deadline is None and policy.many_values)
    reach = AttainableCache(case.known, case.over, part, sets_first=all_values)
    scene = _first_scene(case, reach, part)
    findings: list[Finding] = []
    for rule in policy.rules:
        if isinstance(rule, MinimumCount):
            findings += shown_figures(case.release, rule, case.whole)
        else:
            findings += found_in(scene, rule)
    notes = [*reach.notes, *case.notes]
    if policy.respondent:
        if worst(one.outcome for one in findings) is Outcome.UNSAFE:
            notes.append("respondents were not tried: the release is unsafe without them")
        else:
            findings += respondents(scene, policy, effort)
    verdict = Verdict(
        policy,
        case.release,
        tuple(findings),
        case.independent,
        case.over,
        case.knows,
        tuple(notes),
        time.perf_counter() - begun,
        partial(blamed, case.release, case.known, case.over),
    )
    return verdict, reach


def _first_scene(case: Case, reach: AttainableCache, effort: Effort) -> Attacker:
    """The intruder who is not in the table himself."""
    counts = None if case.independent else case.margin.counts

    def truths(index: tuple[int, ...], values: ValueSet) -> ValueSet:
        return values if counts is None else ValueSet.from_values([int(counts[index])])

    structural = case.margin.structural
    return Attacker(
        case.known,
        case.over,
        case.margin.domain,
        remedy_of(case.release),
        counts,
        truths,
        structural,
        structural | case.empty,
        reach,
        effort,
    )
