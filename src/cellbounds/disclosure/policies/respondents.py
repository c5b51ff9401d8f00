"""The same rules for somebody who is in a cell himself.

Cells that a release cannot tell apart share what is worked out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cellbounds.data.domain import Domain, Label
from cellbounds.disclosure.policies.attacker import Attacker
from cellbounds.disclosure.policies.policy import Policy
from cellbounds.disclosure.policies.rule import Rule, certainly_held, some_within
from cellbounds.disclosure.policies.scenarios import as_respondent, as_small
from cellbounds.disclosure.policies.verdict import Finding, Outcome, worst
from cellbounds.errors import InconsistentRelease, InvalidInput
from cellbounds.model.constraints import System, compile_release
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.budget import Budget
from cellbounds.statements import Release

__all__ = ["alike_cells", "respondents"]

_Kind = tuple[int, bool | None]
"""A number of alike cells, and whether they may be small."""

_Place = tuple[str | None, tuple[str, ...], tuple[Label, ...]]
"""Response, variables and labels of a finding."""

_Position = tuple[int, ...]

Alike = Callable[[Release, tuple[str, ...]], IntArray]


def alike_cells(release: Release, over: tuple[str, ...]) -> IntArray:
    """A number for each cell of a margin; cells with the same number are alike.

    Two cells of the table are alike if they stand in the same sums with the same coefficients:
    swapping their counts makes a consistent table of each consistent table. So are two cells of a
    margin whose parts are alike one by one. What can be worked out about all cells from being in
    one of them is therefore the same as from being in the other, with the two swapped.

    Examples
    --------
    >>> import cellbounds as cb
    >>> release = cb.publish(cb.example_table("mp3"), "[gender]")
    >>> alike_cells(release, ("gender", "mp3"))
    array([[0, 0],
           [1, 1]])
    """
    # Cells that differ in other variables only stand in the same sums.
    about = {*release.named_variables, *map(release.domain.base, over)}
    release = release.restricted(about)
    domain = release.domain
    shape = domain.project(over).shape
    places = _places(domain, over)
    if places is None:  # cells that share people cannot be swapped: each is like itself only
        return np.arange(int(np.prod(shape))).reshape(shape)
    columns = _numbered(_columns(compile_release(release), domain.size))
    parts: list[list[int]] = [[] for _ in range(int(np.prod(shape)))]
    for column, place in zip(columns, places.tolist(), strict=True):
        parts[place].append(column)
    return np.array(_numbered([tuple(sorted(one)) for one in parts])).reshape(shape)


def _places(domain: Domain, over: tuple[str, ...]) -> IntArray | None:
    """The cell of a margin that each cell of the table is part of; None if it is not just one."""
    levels: list[IntArray] = []
    index = np.indices(domain.shape).reshape(len(domain.shape), -1)
    for name in over:
        found = domain.grouping(name)
        if found is None:
            levels.append(index[domain.axis(name)])
            continue
        of, groups = found
        try:
            domain.check_partition(name)
        except InvalidInput:
            return None
        level = np.zeros(len(domain.levels(of)), dtype=np.int64)
        for place, members in enumerate(groups):
            level[list(members)] = place
        levels.append(level[index[domain.axis(of)]])
    return np.asarray(np.ravel_multi_index(tuple(levels), domain.project(over).shape))


def _columns(system: System, size: int) -> list[Hashable]:
    """The sums that each cell stands in, and how."""
    found: list[list[tuple[int, int]]] = [[] for _ in range(size)]
    rows = np.repeat(np.arange(system.row_count), np.diff(system.starts))
    for cell, row, coefficient in zip(
        system.cells.tolist(), rows.tolist(), system.coefficients.tolist(), strict=True
    ):
        found[cell].append((row, coefficient))
    for place, one in enumerate(system.lists):
        for cell in one.cells.tolist():
            found[cell].append((-1 - place, 1))
    return [tuple(one) for one in found]


def _numbered(kinds: Sequence[Hashable]) -> list[int]:
    """Numbers in the order of first appearance."""
    seen: dict[Hashable, int] = {}
    return [seen.setdefault(kind, len(seen)) for kind in kinds]


def respondents(
    outsider: Attacker, policy: Policy, effort: Budget, *, alike: Alike = alike_cells
) -> Iterator[Finding]:
    """The findings of somebody who is in a cell himself, for each cell that may be small.

    Of cells that the release cannot tell apart (`alike` numbers them) one is worked out. For the
    others only the two cells that are swapped, and their rows, are looked at again.
    """
    tried = list(_small_cells(outsider, policy.small))
    if not tried:
        return
    numbers = alike(outsider.known, outsider.over)
    kinds: list[_Kind] = [(int(numbers[index]), possible) for index, possible in tried]
    views: dict[_Kind, _View | None] = {}
    for place, (kind, (index, _)) in enumerate(zip(kinds, tried, strict=True)):
        part = effort
        if effort.left is not None:
            ahead = len(set(kinds[place:]) - set(views)) + 1
            part = effort.share(1 / ahead)
        like = views.get(kind)
        if kind in views and like is None:
            continue
        if like is None and part.left == 0:
            yield from _not_tried(outsider, policy, index)
            continue
        try:
            view = _view(outsider, policy, index, part, kind[1], like)
        except InconsistentRelease:
            views[kind] = None  # nobody can be there, so nobody learns anything there
            continue
        views.setdefault(kind, view)
        for found in view.found:
            yield from _summed_up(view.attacker, found)


def _not_tried(outsider: Attacker, policy: Policy, index: _Position) -> Iterator[Finding]:
    """What is left open of one cell when the budget is spent."""
    labels = outsider.domain.labels(index)
    for rule in policy.rules:
        if not rule.about_figures:
            yield Finding(
                rule.name,
                Outcome.UNDECIDED,
                outsider.over,
                labels,
                "nobody looked from here: the budget was spent",
                "more time",
                respondent=labels,
            )


def _small_cells(outsider: Attacker, most: int) -> Iterator[tuple[_Position, bool | None]]:
    """Cells that hold somebody and are small, if being there is news; and whether they may be.

    Somebody who is in a cell that holds a person for certain knows nothing new.
    """
    counts = outsider.counts
    for index in np.ndindex(outsider.domain.shape):
        if outsider.exempt[index] or (counts is not None and not 1 <= counts[index] <= most):
            continue
        if outsider.decided(index, certainly_held)[0] is True:
            continue
        possible: bool | None = True
        if counts is None:
            possible, _ = outsider.decided(index, lambda values: some_within(values, 1, most))
        if possible is not False:
            yield index, possible


@dataclass(frozen=True, slots=True, eq=False)
class _FindingsByPlace:
    """What a rule finds: from within a cell that is alike, and what differs from that.

    `tally` counts the outcomes. There are as many findings as places, so that those that are
    shared are counted once, not for each of the cells that are alike.
    """

    rule: Rule
    shared: dict[_Place, Finding]
    again: dict[_Place, Finding]
    tally: Counter[Outcome]

    @classmethod
    def of(cls, rule: Rule, attacker: Attacker) -> _FindingsByPlace:
        """What is found from within a cell that nothing is known of yet."""
        shared = _by_place(rule.findings(attacker))
        return cls(rule, shared, {}, Counter(one.outcome for one in shared.values()))

    def but(self, findings: Iterator[Finding]) -> _FindingsByPlace:
        """The same but for some places."""
        again, tally = _by_place(findings), Counter(self.tally)
        for place, finding in again.items():
            before = self.shared.get(place)
            if before is not None:
                tally[before.outcome] -= 1
            tally[finding.outcome] += 1
        return replace(self, again=again, tally=tally)

    def with_outcome(self, outcome: Outcome) -> list[Finding]:
        """The findings of one outcome, in the order of their places."""
        return [one for one in (self.shared | self.again).values() if one.outcome is outcome]


@dataclass(frozen=True, slots=True, eq=False)
class _View:
    """What each rule finds from within one cell, and what that was worked out with."""

    index: _Position
    attacker: Attacker
    found: list[_FindingsByPlace]


def _view(
    outsider: Attacker,
    policy: Policy,
    index: _Position,
    effort: Budget,
    possible: bool | None,
    like: _View | None,
) -> _View:
    """The view from one cell, read off the view from a cell that is alike if there is one."""
    over, labels = outsider.over, outsider.domain.labels(index)
    attacker = Attacker(
        outsider.case,
        as_respondent(outsider.known, over, labels),
        effort,
        sets_first=effort.deadline is None and policy.many_values,
        respondent=labels,
        possible=possible,
    )
    if outsider.counts is None:
        small = as_small(outsider.known, over, labels, policy.small)
        attacker.beside = Attacker(outsider.case, small, effort, sets_first=True)
    if like is None:
        rules = (rule for rule in policy.rules if not rule.about_figures)
        return _View(index, attacker, [_FindingsByPlace.of(rule, attacker) for rule in rules])
    attacker.like(like.attacker, like.index, index)
    if attacker.beside is not None and like.attacker.beside is not None:
        attacker.beside.like(like.attacker.beside, like.index, index)
    pair = (like.index, index)
    found = [one.but(one.rule.findings(attacker, pair)) for one in like.found]
    return _View(index, attacker, found)


def _by_place(findings: Iterator[Finding]) -> dict[_Place, Finding]:
    return {(one.response, one.variables, one.labels): one for one in findings}


def _summed_up(attacker: Attacker, found: _FindingsByPlace) -> Iterator[Finding]:
    """One finding for a rule: the first of the worst ones, and how many there are."""
    places = sum(found.tally.values())
    if not places:
        return
    labels = attacker.respondent
    outcome = worst(outcome for outcome, count in found.tally.items() if count)
    if outcome is Outcome.SAFE:
        evidence = f"{places} places checked"
        yield Finding(
            found.rule.name, outcome, attacker.over, labels or (), evidence, respondent=labels
        )
        return
    first, *others = found.with_outcome(outcome)
    more = f"; and {len(others)} more places" if others else ""
    yield replace(first, evidence=first.evidence + more, respondent=labels)
