"""Somebody who is in a small cell himself, or two who put together what they know.

Cells that a release cannot tell apart share what is worked out.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cellbounds.data.cell_groups import cells_behind
from cellbounds.data.domain import Label
from cellbounds.disclosure.policies.attacker import Attacker
from cellbounds.disclosure.policies.knowledge import as_respondents
from cellbounds.disclosure.policies.policy import Policy
from cellbounds.disclosure.policies.rule import Rule, certainly_held, some_within
from cellbounds.disclosure.policies.verdict import Finding, Outcome, worst
from cellbounds.errors import InconsistentRelease
from cellbounds.model.constraints import System, compile_release
from cellbounds.runtime.arrays import IntArray, rows_of_entries
from cellbounds.runtime.budget import Budget
from cellbounds.statements import Release

_Kind = tuple[int, bool | None]
"""A number of alike cells, and whether they may be small."""

Place = tuple[str | None, tuple[str, ...], tuple[Label, ...]]
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
    >>> release = cb.publish(cb.datasets.read("mp3"), "[gender]")
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
    rows = rows_of_entries(system.starts)
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
    outsider: Attacker,
    policy: Policy,
    effort: Budget,
    elsewhere: dict[Place, Finding],
    *,
    alike: Alike = alike_cells,
) -> Iterator[Finding]:
    """The findings of somebody who is in a cell himself, for each cell that may be small.

    Each respondent's are summed up; the worst that any of them says of a place goes into
    `elsewhere`. Of cells that the release cannot tell apart (`alike` numbers them) one is worked
    out. For the others only the two cells that are swapped, and their rows, are looked at again.
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
            for finding in _not_tried(outsider, policy, index):
                elsewhere.setdefault((None, (), ()), replace(finding, variables=(), labels=()))
                yield finding
            continue
        try:
            view = _view(outsider, policy, index, part, kind[1], like)
        except InconsistentRelease:
            views[kind] = None  # nobody can be there, so nobody learns anything there
            continue
        views.setdefault(kind, view)
        for findings in view.findings:
            yield from _summed_up(view.attacker, findings, elsewhere)


def _not_tried(
    outsider: Attacker, policy: Policy, index: _Position, partner: tuple[Label, ...] | None = None
) -> Iterator[Finding]:
    """What is left open of one cell when the budget is spent."""
    labels = outsider.domain.labels(index)
    why = "nobody looked from here: the budget was spent", "more time"
    for rule in policy.rules:
        if not rule.about_figures:
            where = outsider.over, labels
            finding = Finding(rule.name, Outcome.UNDECIDED, *where, *why, respondent=labels)
            yield replace(finding, partner=partner)


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
    shared: dict[Place, Finding]
    again: dict[Place, Finding]
    tally: Counter[Outcome]

    def but(self, again: dict[Place, Finding]) -> _Findings:
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
    pool = None if outsider.pool is None else outsider.pool.within(over, index)
    attacker = Attacker(
        outsider.case,
        as_respondents(outsider.known, over, [labels]),
        effort,
        sets_first=effort.deadline is None and policy.many_values,
        pool=pool,
        respondent=labels,
        possible=possible,
    )
    if outsider.counts is None:
        small = as_respondents(outsider.known, over, [labels], at_most=policy.small)
        attacker.beside = Attacker(outsider.case, small, effort, sets_first=True)
    if like is None:
        return _View(index, attacker, list(_found(attacker, policy)))
    attacker.like(like.attacker, like.index, index)
    if attacker.beside is not None and like.attacker.beside is not None:
        attacker.beside.like(like.attacker.beside, like.index, index)
    pair = (like.index, index)
    findings = [
        finding.but(_by_place(finding.rule.findings(attacker, pair))) for finding in like.findings
    ]
    return _View(index, attacker, findings)


def _found(attacker: Attacker, policy: Policy) -> Iterator[_Findings]:
    """What each rule about counts finds."""
    for rule in policy.rules:
        if not rule.about_figures:
            shared = _by_place(rule.findings(attacker))
            yield _Findings(
                rule, shared, {}, Counter(finding.outcome for finding in shared.values())
            )


def _by_place(findings: Iterator[Finding]) -> dict[Place, Finding]:
    return {(finding.response, finding.variables, finding.labels): finding for finding in findings}


def _summed_up(
    attacker: Attacker, findings: _Findings, elsewhere: dict[Place, Finding]
) -> Iterator[Finding]:
    """One finding for a rule: the first of the worst ones, and how many there are."""
    places, labels = findings.tally.total(), attacker.respondent or ()
    if not places:
        return
    outcome = worst(+findings.tally)  # the outcomes that are there
    if outcome is Outcome.SAFE:
        name, evidence = findings.rule.name, f"{places} places checked"
        finding = Finding(name, outcome, attacker.over, labels, evidence, respondent=labels)
        yield replace(finding, partner=attacker.partner)
        return
    by_place = findings.shared | findings.again
    for place, finding in by_place.items():
        known = elsewhere.get(place)
        if finding.outcome is Outcome.UNSAFE or (
            known is None and finding.outcome is not Outcome.SAFE
        ):
            elsewhere[place] = finding
    first, *others = (finding for finding in by_place.values() if finding.outcome is outcome)
    more = f"; and {len(others)} more places" if others else ""
    yield replace(first, evidence=first.evidence + more, respondent=labels)


# --- two who put together what they know --------------------------------------------------------


def pairs(
    outsider: Attacker, policy: Policy, effort: Budget, elsewhere: dict[Place, Finding]
) -> Iterator[Finding]:
    """The findings of two people together, for each pair of places in small cells.

    They are in one cell, or in two cells that differ in one variable, so that a sum that is told
    of the others has both in it. Where being there is no news for one of them, what they know
    together is what the other knows alone.
    """
    tried = list(_small_pairs(outsider, policy.small))
    for place, cells in enumerate(tried):
        labels = [outsider.domain.labels(index) for index in cells]
        part = effort if effort.left is None else effort.share(1 / (len(tried) - place))
        if part.left == 0:
            for finding in _not_tried(outsider, policy, cells[0], labels[1]):
                elsewhere.setdefault((None, (), ()), replace(finding, variables=(), labels=()))
                yield finding
            continue
        try:
            attacker = _together(outsider, policy, cells, labels, part)
            findings = [] if attacker.possible is False else list(_found(attacker, policy))
        except InconsistentRelease:
            continue  # they cannot both be there
        for each in findings:
            yield from _summed_up(attacker, each, elsewhere)


def _together(
    outsider: Attacker,
    policy: Policy,
    cells: tuple[_Position, _Position],
    labels: list[tuple[Label, ...]],
    effort: Budget,
) -> Attacker:
    over, case = outsider.over, outsider.case
    attacker = Attacker(
        case,
        as_respondents(outsider.known, over, labels),
        effort,
        sets_first=effort.deadline is None and policy.many_values,
        respondent=labels[0],
        partner=labels[1],
    )
    if outsider.counts is None:
        small = as_respondents(outsider.known, over, labels, at_most=policy.small)
        attacker.beside = Attacker(case, small, effort, sets_first=True)
        # Each cell may be small by itself; here they must be so in one table.
        attacker.possible, _ = attacker.beside.decided(
            cells[0], lambda values: some_within(values, 1, policy.small)
        )
    return attacker


def _small_pairs(outsider: Attacker, most: int) -> Iterator[tuple[_Position, _Position]]:
    """Pairs of places in cells that may be small, where being there is news for both."""
    counts = outsider.counts
    for index in np.ndindex(outsider.domain.shape):
        if outsider.exempt[index] or (counts is not None and not 2 <= counts[index] <= most):
            continue
        values = outsider.decided(index, lambda values: some_within(values, 0, 1))[1]
        if values.possible.smallest < 2 and some_within(values, 2, most) is not False:
            yield index, index
    alone = [index for index, _ in _small_cells(outsider, most)]
    for first, second in itertools.combinations(alone, 2):
        if sum(place != other for place, other in zip(first, second, strict=True)) == 1:
            yield first, second
