"""The same rules for somebody who is in a cell himself.

Cells that a release cannot tell apart share what is worked out.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cellbounds.data.cell_groups import cells_behind
from cellbounds.data.domain import Label
from cellbounds.disclosure.policies.attacker import Attacker
from cellbounds.disclosure.policies.policy import Policy
from cellbounds.disclosure.policies.rule import Rule, certainly_held, some_within
from cellbounds.disclosure.policies.scenarios import as_respondent
from cellbounds.disclosure.policies.verdict import Finding, Outcome, worst
from cellbounds.errors import InconsistentRelease
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
    if not all(map(domain.shares_out, over)):
        # Cells that share people cannot be swapped: each is like itself only.
        return np.arange(math.prod(shape)).reshape(shape)
    columns = np.array(_numbered(_columns(compile_release(release), domain.size)))
    groups = cells_behind(domain, over)
    parts = [tuple(sorted(columns[groups.cells_of(cell)])) for cell in range(groups.size)]
    return np.array(_numbered(parts)).reshape(shape)


def _columns(system: System, size: int) -> list[Hashable]:
    """The sums that each cell stands in, and how."""
    columns: list[list[tuple[int, int]]] = [[] for _ in range(size)]
    rows = np.repeat(np.arange(system.row_count), np.diff(system.starts))
    entries = system.cells.tolist(), rows.tolist(), system.coefficients.tolist()
    for cell, row, coefficient in zip(*entries, strict=True):
        columns[cell].append((row, coefficient))
    for place, listed in enumerate(system.lists):
        for cell in listed.cells.tolist():
            columns[cell].append((-1 - place, 1))
    return [tuple(column) for column in columns]


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
        for findings in view.findings:
            yield from _summed_up(view.attacker, findings)


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
class _Findings:
    """What a rule finds, by place: from within a cell that is alike, and what differs from that.

    `tally` counts the outcomes. There are as many findings as places, so that those that are
    shared are counted once, not for each of the cells that are alike.
    """

    rule: Rule
    shared: dict[_Place, Finding]
    again: dict[_Place, Finding]
    tally: Counter[Outcome]

    def but(self, again: dict[_Place, Finding]) -> _Findings:
        """The same but for some places."""
        tally = Counter(self.tally)
        tally.subtract(self.shared[place].outcome for place in again if place in self.shared)
        tally.update(finding.outcome for finding in again.values())
        return replace(self, again=again, tally=tally)


@dataclass(frozen=True, slots=True, eq=False)
class _View:
    """What each rule finds from within one cell, and what that was worked out with."""

    index: _Position
    attacker: Attacker
    findings: list[_Findings]


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
        small = as_respondent(outsider.known, over, labels, at_most=policy.small)
        attacker.beside = Attacker(outsider.case, small, effort, sets_first=True)
    if like is None:
        findings = []
        for rule in policy.rules:
            if not rule.about_figures:
                shared = _by_place(rule.findings(attacker))
                tally = Counter(finding.outcome for finding in shared.values())
                findings.append(_Findings(rule, shared, {}, tally))
        return _View(index, attacker, findings)
    attacker.like(like.attacker, like.index, index)
    if attacker.beside is not None and like.attacker.beside is not None:
        attacker.beside.like(like.attacker.beside, like.index, index)
    pair = (like.index, index)
    findings = [one.but(_by_place(one.rule.findings(attacker, pair))) for one in like.findings]
    return _View(index, attacker, findings)


def _by_place(findings: Iterator[Finding]) -> dict[_Place, Finding]:
    return {(one.response, one.variables, one.labels): one for one in findings}


def _summed_up(attacker: Attacker, findings: _Findings) -> Iterator[Finding]:
    """One finding for a rule: the first of the worst ones, and how many there are."""
    places, labels = findings.tally.total(), attacker.respondent or ()
    if not places:
        return
    outcome = worst(+findings.tally)  # the outcomes that are there
    if outcome is Outcome.SAFE:
        name, evidence = findings.rule.name, f"{places} places checked"
        yield Finding(name, outcome, attacker.over, labels, evidence, respondent=labels)
        return
    by_place = findings.shared | findings.again
    first, *others = (one for one in by_place.values() if one.outcome is outcome)
    more = f"; and {len(others)} more places" if others else ""
    yield replace(first, evidence=first.evidence + more, respondent=labels)
