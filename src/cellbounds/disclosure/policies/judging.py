"""Judging a release under a policy, for outsiders and for people who are in a cell themselves.

Cells that a release cannot tell apart share what is worked out.
"""

from __future__ import annotations

import itertools
import math
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from cellbounds.data.cell_groups import cells_behind
from cellbounds.data.domain import Label
from cellbounds.data.table import Table
from cellbounds.disclosure.policies.attacker import Attacker, Pool
from cellbounds.disclosure.policies.margin_cube import shown_safe
from cellbounds.disclosure.policies.policy import DEFAULT, Policy, policy_of
from cellbounds.disclosure.policies.rule import CellRule, Rule, certainly_held, some_within
from cellbounds.disclosure.policies.scenarios import (
    Case,
    Margins,
    as_respondent,
    asked_margins,
    cases_of,
    checked_knowledge,
    only_closes,
)
from cellbounds.disclosure.policies.verdict import Finding, Outcome, Verdict, worst
from cellbounds.errors import InconsistentRelease, Unsettled, UnsupportedRelease
from cellbounds.model.constraints import System, compile_release
from cellbounds.results import Attainable
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.budget import UNLIMITED, Budget, budgeted
from cellbounds.runtime.interrupts import Late
from cellbounds.solvers.solve import bounds, resumable
from cellbounds.statements import Known, Release

FIRST_SHARE = 0.5
"""The part of a budget for the intruder without a record, when respondents are tried too."""


@budgeted(resumes=True)
def judge(
    table: Table | None,
    release: Release,
    policy: Policy | str | Path = DEFAULT,
    *,
    over: Margins | None = None,
    knows: Iterable[Known] = (),
    independent: bool = False,
    budget: Budget = UNLIMITED,
    seconds: float | None = None,
) -> Verdict:
    """Whether a release is safe under a policy: overall, and for each cell with its reasons.

    "Safe" rests on counts that tables are known for, "unsafe" on what is proven; what lies between
    stays undecided.

    Parameters
    ----------
    table
        The table that the release was made from. With ``independent=True`` it may be None: it is
        only checked against the release, and all that matters of it are the structural zeros that
        it declares, which everybody knows, beside those that the release states itself.
    release
        What would be published.
    policy
        A profile's name, a file, or a :class:`Policy`.
    over
        Judge the cells of this margin, or of these margins, alone; derived variables may be named.
        Unless said, everything is judged that the release speaks of: the cells of the table, every
        margin that a statement speaks of (of rates, of responses and givens), and its own margins.
        A margin can give away what none of its parts does, and the other way round. The verdict
        lists what was judged (``verdict.margins``, besides ``verdict.over``).
    knows
        What an intruder knows besides, such as ``Known(["sex"], lower={"f": 3})``.
    independent
        SAFE must hold against an intruder who reruns the judgement on every table that fits and
        keeps those that would have been published. Without a table: every one of them must pass.
        What is not SAFE may depend on the counts; `verdict.independent` is False then.
    budget, seconds
        What the work may cost: a :class:`Budget`, or seconds alone; what that does not settle is
        undecided.

    Raises
    ------
    InvalidInput
        If the table contradicts the release or the knowledge, or the policy names variables that
        are not judged.

    Examples
    --------
    >>> import cellbounds as cb
    >>> table = cb.datasets.read("delinquent")
    >>> verdict = judge(table, cb.publish(table, "[education|county]@2"))
    >>> verdict.outcome, len(verdict.broken), verdict.at("Alpha", "High")
    (UNSAFE, 6, UNSAFE)
    >>> judge(table, cb.publish(table, "[education|county]@1")).outcome
    SAFE
    >>> judge(table, cb.publish(table, "[county]"), over=["county"]).over
    ('county',)
    """
    begun, knows = time.perf_counter(), checked_knowledge(knows)
    over = list(over) if isinstance(over, Iterator) else over
    try:
        cases = cases_of(release, table, policy, over=over, knows=knows, independent=independent)
        main = cases[0]
        start = not independent and table is not None
        budget = resumable(budget, main.known, "sharp", main.over, None, start=start)
        if independent and table is not None and main.policy.tells():
            return strongly_judged(table, cases, budget)
        return judged(cases, budget)[0]
    except Late:
        chosen = policy_of(policy)
        names, *besides = asked_margins(release.domain, over) or [release.domain.names]
        return Verdict(
            policy=chosen,
            release=release,
            cells=_open(chosen),
            independent=independent,
            over=names,
            knows=knows,
            margins=tuple(besides),
            seconds=time.perf_counter() - begun,
        )


def strongly_judged(table: Table, cases: Sequence[Case], budget: Budget) -> Verdict:
    """The verdict against whoever reruns it, where what passes depends on the counts.

    `cases` are those without the true counts. See ``rerunning``, which is built on judging.
    """
    from cellbounds.disclosure.policies.rerunning import rejudged

    main, quiet = cases[0], budget.resumed(None).quiet()
    margins = [case.over for case in cases]
    known = cases_of(main.release, table, main.policy, over=margins, knows=main.knows)
    plain = judged(known, quiet.share(FIRST_SHARE))[0]
    return rejudged(plain, cases, table, quiet, lambda: judged(cases, budget)[0])


def _open(policy: Policy) -> tuple[Finding, ...]:
    """What is left open of all cells when the budget is spent: no rule was decided to the end."""
    why = "not looked at to the end: the budget was spent", "more time"
    return tuple(Finding(rule.name, Outcome.UNDECIDED, (), (), *why) for rule in policy.rules)


def first_share(policy: Policy, effort: Budget) -> Budget:
    """The part of an effort for the intruder who is not in the table himself."""
    if not policy.respondent or effort.left is None:
        return effort
    return effort.share(FIRST_SHARE)


def judged(
    cases: Sequence[Case],
    effort: Budget,
    answer: Attainable | None = None,
    *,
    decisive: bool = False,
) -> tuple[Verdict, Attainable | None]:
    """The verdict, and the attainable counts of the first margin that had to be worked out.

    `answer` are those of the first case, if they are there already. With `decisive` the margins
    that are cheapest come first, and nothing more is worked out than the outcome needs.
    """
    begun, main = time.perf_counter(), cases[0]
    spoken = _spoken(main)
    covers = {id(case): _covers(case, spoken) for case in cases}
    covering = next((case for case in cases[1:] if covers[id(case)]), main)
    # What shows every count costs nothing; then come the cells that tell most about the others.
    leading = covering if decisive else main
    order = sorted(cases, key=lambda case: (case.printed is None, case is not leading))
    if decisive and covering is not main:
        order.sort(key=lambda case: case is main)
    seen: dict[int, _Seen] = {}
    settled: set[int] = set()
    pool, first = None, answer
    for place, case in enumerate(order):
        if id(case) in settled:
            continue
        if decisive and case is main and _implied(main, seen.get(id(covering))):
            continue
        part = effort
        if place < len(order) - 1:
            share = MAIN_SHARE if covers[id(case)] else 1 / (len(order) - place)
            part = effort.share(share)
        if case is not main:
            part = part.resumed(None).quiet()
        known = answer if case is main else None
        # What covers everything is worked out as such; other margins are looked up in its tables.
        one = seen[id(case)] = _look(
            case, part, known, None if covers[id(case)] else pool, decisive=decisive
        )
        if first is None and case.printed is None and pool is None:
            first = one.answer
        if decisive and worst(finding.outcome for finding in one.findings) is Outcome.UNSAFE:
            break
        if pool is None and case.printed is None:
            pool = Pool(case.known, one.answer, None if case.independent else case.whole)
            if decisive:
                settled = {id(one) for one in shown_safe(case, order[place + 1 :], pool, effort)}
    found = [seen[id(case)] for case in cases if id(case) in seen]
    found.append(_Seen(main, _shown_total(main), [], [], None))
    seconds = time.perf_counter() - begun + (0.0 if answer is None else answer.seconds)
    verdict = Verdict(
        policy=main.policy,
        release=main.release,
        cells=tuple(finding for one in found for finding in one.findings),
        independent=main.independent,
        over=main.over,
        knows=main.knows,
        margins=tuple(case.over for case in cases[1:]),
        notes=(*dict.fromkeys(note for one in found for note in one.notes), *main.notes),
        seconds=seconds,
        _blame=partial(_blamed, main),
        elsewhere=tuple(finding for one in found for finding in one.elsewhere),
    )
    return verdict, first


MAIN_SHARE = 0.7
"""The part of a budget for the cells, when margins have to be worked out as well."""


def _shown_total(case: Case) -> list[Finding]:
    """N, if it is shown and a rule calls it small."""
    total = case.release.total.exact
    rules = [rule for rule in case.policy.rules if rule.small is not None]
    small = [rule for rule in rules if total is not None and rule.speaks_of(total)]
    return [
        Finding(rule.name, Outcome.UNSAFE, (), (), f"N is shown: {total}", "withholding N")
        for rule in small
        if case.over == case.release.domain.names
    ]


@dataclass(frozen=True, slots=True, eq=False)
class _Seen:
    """What was found about the cells of one margin, and the attainable counts behind it."""

    case: Case
    findings: list[Finding]
    elsewhere: list[Finding]
    notes: list[str]
    answer: Attainable | None


def _spoken(case: Case) -> set[str]:
    """The variables that are spoken of."""
    # Cells that nobody can be in are no news, and what carries over does so beside them.
    domain = case.release.domain
    said = (one for one in case.known.statements if not only_closes(one, domain))
    return set(itertools.chain.from_iterable(one.variables for one in said))


def _covers(case: Case, spoken: set[str]) -> bool:
    """Whether the cells of a margin tell apart all that is spoken of.

    A derived variable does not stand for the one behind it, if that is named too.
    """
    domain, over = case.release.domain, case.over
    return all(name in over or domain.base(name) in over for name in spoken)


def _implied(main: Case, covering: _Seen | None) -> bool:
    """Whether the cells are safe because those of all variables that are spoken of are.

    That is, if each cell is a part of one of those: derived levels may leave somebody out.
    """
    if covering is None or not main.policy.carries_over():
        return False
    parts = all(map(main.release.domain.shares_out, covering.case.over))
    return parts and worst(one.outcome for one in covering.findings) is Outcome.SAFE


def _look(
    case: Case,
    effort: Budget,
    answer: Attainable | None,
    pool: Pool | None,
    *,
    decisive: bool = False,
) -> _Seen:
    """What each rule finds about the cells of one margin.

    With `decisive` cells that are safe because of the tables in the pool need not be among them.
    """
    policy = case.policy
    # Under a budget the bounds come first: they may show that there are too few values.
    sets_first = effort.deadline is None and (policy.many_values or answer is not None)
    first = first_share(policy, effort)
    outsider = Attacker(case, case.known, first, sets_first=sets_first, answer=answer, pool=pool)
    findings: list[Finding] = []
    elsewhere: dict[_Place, Finding] = {}
    notes = []
    try:
        for rule in policy.rules:
            cells = None
            if decisive and isinstance(rule, CellRule):
                cells = outsider.open_cells(rule)
            findings.extend(rule.findings(outsider, cells))
        if policy.respondent:
            if worst(one.outcome for one in findings) is Outcome.UNSAFE:
                notes.append("respondents were not tried: the release is unsafe without them")
            else:
                findings.extend(respondents(outsider, policy, effort, elsewhere))
    except Late:  # what was decided so far stays so
        findings.extend(_open(policy))
    seen = [*outsider.notes, *notes]
    return _Seen(case, findings, list(elsewhere.values()), seen, outsider.answer)


def _blamed(case: Case, finding: Finding) -> tuple[str, ...]:
    """The statements of the release that force the bounds behind a finding, in its order.

    What the intruder knows besides is nobody's to withhold.
    """
    if finding.figure:
        named = set(_showing(case.release, finding))
    elif not finding.variables and finding.response is None:
        return ()  # left open for want of time: nothing was worked out
    else:
        known = case.known
        if finding.respondent is not None:
            known = as_respondent(known, case.over, finding.respondent)
        try:
            named = set(_forcing(known, finding))
        except (Unsettled, UnsupportedRelease):
            return ()
    listed = [one.notation for one in case.release.statements]
    return tuple(dict.fromkeys(notation for notation in listed if notation in named))


def _showing(release: Release, finding: Finding) -> Iterator[str]:
    for statement in release.statements:
        if statement.variables == finding.variables and statement.shown_counts() is not None:
            yield statement.notation


def _forcing(release: Release, finding: Finding) -> Iterator[str]:
    if finding.response is None:
        explained = bounds(release, over=finding.variables).explain(*finding.labels)
        yield from explained.lower_blame.statements
        yield from explained.upper_blame.statements
        return
    # What empties the levels; that the row holds somebody is seldom one statement's doing.
    answer = bounds(release, over=(*finding.variables, finding.response))
    for level in release.domain.levels(finding.response):
        labels = (*finding.labels, level)
        if answer[labels][1] == 0:
            yield from answer.explain(*labels).upper_blame.statements


# --- somebody who is in a cell himself ----------------------------------------------------------

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
    outsider: Attacker,
    policy: Policy,
    effort: Budget,
    elsewhere: dict[_Place, Finding],
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


def _not_tried(outsider: Attacker, policy: Policy, index: _Position) -> Iterator[Finding]:
    """What is left open of one cell when the budget is spent."""
    labels = outsider.domain.labels(index)
    why = "nobody looked from here: the budget was spent", "more time"
    for rule in policy.rules:
        if not rule.about_figures:
            where = outsider.over, labels
            yield Finding(rule.name, Outcome.UNDECIDED, *where, *why, respondent=labels)


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
    pool = None if outsider.pool is None else outsider.pool.within(over, index)
    attacker = Attacker(
        outsider.case,
        as_respondent(outsider.known, over, labels),
        effort,
        sets_first=effort.deadline is None and policy.many_values,
        pool=pool,
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


def _summed_up(
    attacker: Attacker, findings: _Findings, elsewhere: dict[_Place, Finding]
) -> Iterator[Finding]:
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
    for place, finding in by_place.items():
        known = elsewhere.get(place)
        if finding.outcome is Outcome.UNSAFE or (
            known is None and finding.outcome is not Outcome.SAFE
        ):
            elsewhere[place] = finding
    first, *others = (one for one in by_place.values() if one.outcome is outcome)
    more = f"; and {len(others)} more places" if others else ""
    yield replace(first, evidence=first.evidence + more, respondent=labels)
