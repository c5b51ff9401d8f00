"""Judging a release under a policy."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from cellbounds.domain import Label
from cellbounds.errors import InconsistentRelease, InvalidInput
from cellbounds.methods.effort import Effort
from cellbounds.releases import Prior, Release
from cellbounds.results import ValueSet
from cellbounds.risk.disclosure import empty_rows
from cellbounds.risk.policies.blaming import blamed
from cellbounds.risk.policies.deciding import certainly_held, largest_within
from cellbounds.risk.policies.policy import DEFAULT, Policy
from cellbounds.risk.policies.reach import Reach
from cellbounds.risk.policies.reading import policy_of
from cellbounds.risk.policies.rules import GroupDisclosure, MinimumCount, SmallCounts
from cellbounds.risk.policies.scenarios import (
    as_respondent,
    as_small,
    checked_knowledge,
    informed,
    said_empty,
)
from cellbounds.risk.policies.scene import Scene, asked_rows, found_in
from cellbounds.risk.policies.shown import shown_figures
from cellbounds.risk.policies.verdict import Finding, Outcome, Verdict, worst
from cellbounds.risk.policies.words import remedy_of
from cellbounds.table import Table

__all__ = ["judge"]

FIRST_SHARE = 0.5
"""The part of a budget for the intruder without a record, when respondents are tried too."""


def judge(
    release: Release,
    table: Table | None = None,
    policy: Policy | str | Path = DEFAULT,
    *,
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
        The table that it was made from. With ``independent=True`` only its structural zeros
        matter, which everybody knows, and it may be left out.
    policy
        A profile's name, a file, or a :class:`Policy`.
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
        the table does not have.

    Examples
    --------
    >>> import cellbounds as cb
    >>> table = cb.example_table("delinquent")
    >>> verdict = judge(cb.publish(table, "[education|county]@2"), table)
    >>> verdict.verdict, len(verdict.broken), verdict.at("Alpha", "High")
    (UNSAFE, 6, UNSAFE)
    >>> judge(cb.publish(table, "[education|county]@1"), table).verdict
    SAFE
    """
    begun = time.perf_counter()
    chosen = policy_of(policy)
    knowledge = checked_knowledge(knows)
    _check(release, table, chosen, independent)
    known = informed(release, table, knowledge)
    start = None if independent else table
    effort = Effort.of(seconds, executor, start, progress)
    scene = _first_scene(release, known, table, chosen, effort, independent)
    findings: list[Finding] = []
    for rule in chosen.rules:
        if isinstance(rule, MinimumCount):
            findings += shown_figures(release, rule, scene.structural)
        else:
            findings += found_in(scene, rule)
    notes = list(scene.reach.notes)
    if chosen.respondent:
        if worst(one.outcome for one in findings) is Outcome.UNSAFE:
            notes.append("respondents were not tried: the release is unsafe without them")
        else:
            findings += _respondents(scene, chosen, effort)
    return Verdict(
        chosen,
        release,
        tuple(findings),
        independent,
        knowledge,
        tuple(notes),
        time.perf_counter() - begun,
        partial(blamed, release, known),
    )


def _check(release: Release, table: Table | None, policy: Policy, independent: bool) -> None:
    if not isinstance(release, Release):
        raise InvalidInput(f"release={release!r}; give a Release, such as publish(table, ...)")
    if table is not None and not isinstance(table, Table):
        raise InvalidInput(f"table={table!r}; give the Table that the release was made from")
    if not isinstance(independent, bool):
        raise InvalidInput(f"independent={independent!r}; give True or False")
    if table is None and not independent:
        raise InvalidInput(
            "no table to judge by; give the one that the release was made from, or "
            "independent=True to ask whether every consistent table passes"
        )
    for rule in policy.rules:
        if isinstance(rule, GroupDisclosure):
            for response, given in asked_rows(rule, release.domain.names):
                release.domain.axes(release.domain.distinct((response, *given)))


def _first_scene(
    release: Release,
    known: Release,
    table: Table | None,
    policy: Policy,
    effort: Effort,
    independent: bool,
) -> Scene:
    """The intruder who is not in the table himself."""
    structural = said_empty(release) if table is None else table.structural
    counts = None if independent or table is None else table.counts
    part = effort
    if policy.respondent and effort.left is not None:
        part = replace(effort, deadline=time.monotonic() + FIRST_SHARE * effort.left)

    def truths(index: tuple[int, ...], values: ValueSet) -> ValueSet:
        return values if counts is None else ValueSet.from_values([int(counts[index])])

    return Scene(
        known,
        remedy_of(release),
        counts,
        truths,
        structural,
        structural | empty_rows(release, release.domain.names),
        Reach(known, part, sets_first=_counts_values(policy)),
        part,
    )


def _counts_values(policy: Policy) -> bool:
    """Whether a rule asks for more values than the two ends that bounds attain."""
    return any(
        isinstance(rule, SmallCounts) and rule.values is not None and rule.values > 2
        for rule in policy.rules
    )


def _respondents(scene: Scene, policy: Policy, effort: Effort) -> Iterator[Finding]:
    """The same rules for somebody who is in a cell himself, for each cell that may be small."""
    tried = list(_small_cells(scene, policy.small))
    for place, (index, possible) in enumerate(tried):
        labels = scene.known.domain.labels(index)
        part = effort
        if effort.left is not None:
            share = effort.left / (len(tried) - place)
            part = replace(effort, deadline=time.monotonic() + share)
        inside = _inside(scene, policy, labels, part, possible)
        try:
            yield from _summed_up(inside, policy)
        except InconsistentRelease:
            continue  # nobody can be there, so nobody learns anything there


def _small_cells(scene: Scene, most: int) -> Iterator[tuple[tuple[int, ...], bool | None]]:
    """Cells that hold somebody and are small, if being there is news; and whether they may be.

    Somebody who is in a cell that holds a person for certain knows nothing new.
    """
    for index in np.ndindex(scene.known.domain.shape):
        if scene.exempt[index]:
            continue
        if scene.counts is not None:
            if 1 <= scene.counts[index] <= most and not _surely_held(scene, index):
                yield index, True
            continue
        if _surely_held(scene, index):
            continue
        possible, _ = scene.reach.decided(index, lambda values: _some_within(values, 1, most))
        if possible is not False:
            yield index, possible


def _surely_held(scene: Scene, index: tuple[int, ...]) -> bool:
    return scene.reach.decided(index, certainly_held)[0] is True


def _some_within(values: ValueSet, low: int, high: int) -> bool | None:
    if largest_within(values.known, low, high) is not None:
        return True
    return None if largest_within(values.possible, low, high) is not None else False


def _inside(
    scene: Scene,
    policy: Policy,
    labels: tuple[Label, ...],
    effort: Effort,
    possible: bool | None,
) -> Scene:
    """The intruder who is in a cell."""
    known = as_respondent(scene.known, labels)
    sets_first = _counts_values(policy)
    truths = scene.truths
    if scene.counts is None:
        # Which counts the other cells may truly hold beside his, if his is small.
        beside = Reach(as_small(scene.known, labels, policy.small), effort, sets_first=True)

        def truths(index: tuple[int, ...], _: ValueSet) -> ValueSet:
            return beside.values(index)

    return replace(
        scene,
        known=known,
        truths=truths,
        reach=Reach(known, effort, sets_first=sets_first),
        effort=effort,
        respondent=labels,
        possible=possible,
        _zeros={},
    )


def _summed_up(scene: Scene, policy: Policy) -> list[Finding]:
    """One finding for each rule: the first of the worst ones, and how many there are."""
    found = []
    for rule in policy.rules:
        each = list(found_in(scene, rule))
        if not each:
            continue
        outcome = worst(one.outcome for one in each)
        alike = [one for one in each if one.outcome is outcome]
        first = alike[0]
        if outcome is Outcome.SAFE:
            names = scene.known.domain.names
            labels = scene.respondent or ()
            said = f"{len(each)} places checked"
            found.append(
                Finding(rule.name, outcome, names, labels, said, respondent=scene.respondent)
            )
        elif len(alike) > 1:
            also = f"{first.evidence}; and {len(alike) - 1} more places"
            found.append(replace(first, evidence=also))
        else:
            found.append(first)
    return found
