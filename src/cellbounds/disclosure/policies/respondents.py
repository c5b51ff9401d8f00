"""The same rules for somebody who is in a cell himself."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from cellbounds.data.domain import Label
from cellbounds.disclosure.policies.attacker import Attacker, found_in
from cellbounds.disclosure.policies.attainable_cache import AttainableCache, Swapped
from cellbounds.disclosure.policies.deciding import certainly_held, largest_within
from cellbounds.disclosure.policies.indistinguishable import alike_cells
from cellbounds.disclosure.policies.policy import Policy
from cellbounds.disclosure.policies.rules import MinimumCount, Rule
from cellbounds.disclosure.policies.scenarios import as_respondent, as_small
from cellbounds.disclosure.policies.verdict import Finding, Outcome, worst
from cellbounds.errors import InconsistentRelease
from cellbounds.model.effort import Effort
from cellbounds.results import ValueSet

__all__ = ["respondents"]

_Kind = tuple[int, bool | None]
"""A number of alike cells, and whether they may be small."""

_Place = tuple[str | None, tuple[str, ...], tuple[Label, ...]]
"""Response, variables and labels of a finding."""


def respondents(scene: Attacker, policy: Policy, effort: Effort) -> Iterator[Finding]:
    """The findings of somebody who is in a cell himself, for each cell that may be small.

    Of cells that the release cannot tell apart one is worked out. For the others only the two
    cells that are swapped, and their rows, are looked at again.
    """
    tried = list(_small_cells(scene, policy.small))
    kinds: list[_Kind] = []
    if tried:
        alike = alike_cells(scene.known, scene.over)
        kinds = [(int(alike[index]), possible) for index, possible in tried]
    done: dict[_Kind, _View | None] = {}
    for place, (index, possible) in enumerate(tried):
        part = effort
        if effort.left is not None:
            ahead = len(set(kinds[place:]) - set(done)) + 1
            part = replace(effort, deadline=time.monotonic() + effort.left / ahead)
        kind = kinds[place]
        like = done.get(kind)
        if kind in done and like is None:
            continue
        if like is None and part.left == 0:
            yield from _not_tried(scene, policy, index)
            continue
        try:
            view = _view(scene, policy, index, part, possible, like)
        except InconsistentRelease:
            done[kind] = None  # nobody can be there, so nobody learns anything there
            continue
        done.setdefault(kind, view)
        for rule in policy.rules:
            yield from _summed_up(view, rule)


def _not_tried(scene: Attacker, policy: Policy, index: tuple[int, ...]) -> Iterator[Finding]:
    """What is left open of one cell when the budget is spent."""
    labels = scene.domain.labels(index)
    for rule in policy.rules:
        if not isinstance(rule, MinimumCount):
            yield Finding(
                rule.name,
                Outcome.UNDECIDED,
                scene.over,
                labels,
                "nobody looked from here: the budget was spent",
                "more time",
                respondent=labels,
            )


def _small_cells(scene: Attacker, most: int) -> Iterator[tuple[tuple[int, ...], bool | None]]:
    """Cells that hold somebody and are small, if being there is news; and whether they may be.

    Somebody who is in a cell that holds a person for certain knows nothing new.
    """
    for index in np.ndindex(scene.domain.shape):
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


def _surely_held(scene: Attacker, index: tuple[int, ...]) -> bool:
    return scene.reach.decided(index, certainly_held)[0] is True


def _some_within(values: ValueSet, low: int, high: int) -> bool | None:
    if largest_within(values.known, low, high) is not None:
        return True
    return None if largest_within(values.possible, low, high) is not None else False


@dataclass(frozen=True, slots=True, eq=False)
class _View:
    """What each rule finds from within one cell, by place; and what that was worked out with."""

    index: tuple[int, ...]
    scene: Attacker
    beside: AttainableCache | Swapped
    found: dict[str, _Found]


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """Findings by place: those from within a cell that is alike, and what differs from them.

    `tally` counts the outcomes. There are as many findings as places, so that those that are
    shared are counted once, not for each of the cells that are alike.
    """

    shared: dict[_Place, Finding]
    again: dict[_Place, Finding]
    tally: dict[Outcome, int]

    @classmethod
    def of(cls, findings: Iterator[Finding]) -> _Found:
        """What was found from within a cell that nothing is known of yet."""
        found = _by_place(findings)
        tally = dict.fromkeys(Outcome, 0)
        for one in found.values():
            tally[one.outcome] += 1
        return cls(found, {}, tally)

    def but(self, findings: Iterator[Finding]) -> _Found:
        """The same but for some places."""
        again, tally = _by_place(findings), dict(self.tally)
        for place, one in again.items():
            before = self.shared.get(place)
            if before is not None:
                tally[before.outcome] -= 1
            tally[one.outcome] += 1
        return _Found(self.shared, again, tally)

    def all(self) -> Iterator[Finding]:
        """The findings in the order of their places."""
        for place, one in self.shared.items():
            yield self.again.get(place, one)
        for place, one in self.again.items():
            if place not in self.shared:
                yield one


def _view(
    outside: Attacker,
    policy: Policy,
    index: tuple[int, ...],
    effort: Effort,
    possible: bool | None,
    like: _View | None,
) -> _View:
    """The view from one cell, read off the view from a cell that is alike if there is one."""
    over, labels = outside.over, outside.domain.labels(index)
    known = as_respondent(outside.known, over, labels)
    small = as_small(outside.known, over, labels, policy.small)
    sets_first = effort.deadline is None and policy.many_values
    reach: AttainableCache | Swapped
    beside: AttainableCache | Swapped
    reach = own = AttainableCache(known, over, effort, sets_first=sets_first)
    beside = own_beside = AttainableCache(small, over, effort, sets_first=True)
    zeros: dict[str, npt.NDArray[np.object_]] = {}
    if like is not None:
        reach = Swapped(like.scene.reach, like.index, index, own)
        beside = Swapped(like.beside, like.index, index, own_beside)
        zeros = {name: _swapped(one, like.index, index) for name, one in like.scene._zeros.items()}
    truths = outside.truths
    if outside.counts is None:
        # Which counts the other cells may truly hold beside his, if his is small.
        def truths(index: tuple[int, ...], _: ValueSet) -> ValueSet:
            return beside.values(index)

    scene = replace(
        outside,
        known=known,
        truths=truths,
        reach=reach,
        effort=effort,
        respondent=labels,
        possible=possible,
        _zeros=zeros,
    )
    return _View(
        index, scene, beside, {rule.name: _found(scene, rule, index, like) for rule in policy.rules}
    )


def _found(scene: Attacker, rule: Rule, index: tuple[int, ...], like: _View | None) -> _Found:
    if like is None:
        return _Found.of(found_in(scene, rule))
    return like.found[rule.name].but(found_in(scene, rule, (like.index, index)))


def _by_place(findings: Iterator[Finding]) -> dict[_Place, Finding]:
    return {(one.response, one.variables, one.labels): one for one in findings}


def _swapped(
    array: npt.NDArray[np.object_], one: tuple[int, ...], other: tuple[int, ...]
) -> npt.NDArray[np.object_]:
    swapped = array.copy()
    swapped[one], swapped[other] = array[other], array[one]
    return swapped


def _summed_up(view: _View, rule: Rule) -> Iterator[Finding]:
    """One finding for a rule: the first of the worst ones, and how many there are."""
    found = view.found[rule.name]
    places = sum(found.tally.values())
    if not places:
        return
    labels = view.scene.respondent
    outcome = worst(one for one, count in found.tally.items() if count)
    if outcome is Outcome.SAFE:
        said = f"{places} places checked"
        yield Finding(rule.name, outcome, view.scene.over, labels or (), said, respondent=labels)
        return
    alike = [one for one in found.all() if one.outcome is outcome]
    evidence = alike[0].evidence
    if len(alike) > 1:
        evidence += f"; and {len(alike) - 1} more places"
    yield replace(alike[0], evidence=evidence, respondent=labels)
