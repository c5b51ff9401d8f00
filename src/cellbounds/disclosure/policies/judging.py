"""Judging a release under a policy, for outsiders and for people who are in a cell themselves."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from cellbounds.data.table import Table
from cellbounds.disclosure.policies.attacker import (
    Attacker,
    Pool,
    answer_is_brief,
    doubled_pool,
)
from cellbounds.disclosure.policies.knowledge import (
    as_respondents,
    checked_knowledge,
    only_closes,
)
from cellbounds.disclosure.policies.margin_cube import shown_safe
from cellbounds.disclosure.policies.policy import DEFAULT, Policy, policy_of
from cellbounds.disclosure.policies.respondents import Place, pairs, respondents
from cellbounds.disclosure.policies.rule import CellRule
from cellbounds.disclosure.policies.scenarios import Case, Margins, asked_margins, cases_of
from cellbounds.disclosure.policies.verdict import Finding, Outcome, Verdict, worst
from cellbounds.errors import InconsistentRelease, Unsettled, UnsupportedRelease
from cellbounds.results import Attainable
from cellbounds.runtime.budget import UNLIMITED, Budget, budgeted
from cellbounds.runtime.interrupts import Late
from cellbounds.solvers.solve import bounds, resumable
from cellbounds.statements import Release, Statement

FITTING = 0.2
"""The part of a budget for whether a table fits at all what the release seems to show."""

FIRST_SHARE = 0.5
"""The part of a budget for the intruder without a record, when respondents are tried too."""


@budgeted(resumes=True)
def judge(
    table: Table | None,
    release: Release,
    policy: Policy | str | Path = DEFAULT,
    *,
    over: Margins | None = None,
    knows: Iterable[Statement] = (),
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
        it declares, which everybody knows, beside those that the release states itself. Without it,
        and without `independent`, the verdict is an outsider's: UNSAFE if something is given away
        whatever table is behind the release, SAFE if nothing is in any table that fits, and
        UNDECIDED if that depends on the table.
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
        What an intruder knows besides, such as ``Known(["sex"], lower={"f": 3})``, ``Total(120)``
        or any other statement. What he knows of the rule by which counts were hidden, of N, and
        whether he is in the table himself is said by the policy (:class:`policies.Intruder`); the
        verdict lists it (``verdict.intruder``).
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
        cases = cases_of(
            release,
            table,
            policy,
            over=over,
            knows=knows,
            independent=independent,
            effort=budget.share(FITTING),
        )
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
            outside=table is None and not independent,
        )


def strongly_judged(table: Table, cases: Sequence[Case], budget: Budget) -> Verdict:
    """The verdict against whoever reruns it, where what passes depends on the counts.

    `cases` are those without the true counts. See ``rerunning``, which is built on judging.
    """
    from cellbounds.disclosure.policies.rerunning import MOST_CELLS, rejudged

    if table.domain.size > MOST_CELLS:
        return judged(cases, budget)[0]
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
    doubled = doubled_pool(main) if decisive else None
    figures = _figures(main, effort) if decisive else None
    if figures is not None and _unsafe(figures):
        order = []
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
        looked = seen[id(case)] = _look(
            case, part, known, doubled if covers[id(case)] else pool or doubled, decisive=decisive
        )
        if first is None and case.printed is None and pool is None:
            first = looked.answer
        if decisive and _unsafe(looked):
            break
        if pool is None and case.printed is None:
            pool = Pool(case.known, looked.answer, case.start)
            if looked.answer is None and doubled is not None:
                pool = doubled
            if decisive:
                settled = {id(safe) for safe in shown_safe(case, order[place + 1 :], pool, effort)}
    found = [seen[id(case)] for case in cases if id(case) in seen]
    if figures is not None and id(main) not in seen:
        found.insert(0, figures)
    found.append(_Seen(main, [*_shown_total(main), *_left_out(main)], [], [], None))
    seconds = time.perf_counter() - begun + (0.0 if answer is None else answer.seconds)
    verdict = Verdict(
        policy=main.policy,
        release=main.release,
        cells=tuple(finding for part in found for finding in part.findings),
        independent=main.independent,
        over=main.over,
        knows=main.knows,
        margins=tuple(case.over for case in cases[1:]),
        notes=(*dict.fromkeys(note for part in found for note in part.notes), *main.notes),
        seconds=seconds,
        _blame=partial(_blamed, main),
        elsewhere=tuple(finding for part in found for finding in part.elsewhere),
        outside=main.outside,
        intruder=main.intruder,
    )
    if not decisive and verdict.outcome is Outcome.UNDECIDED and doubled_pool(main) is not None:
        # What searches show to be safe by the table and twice the table is so here, too.
        again = judged(cases, effort, decisive=True)[0]
        verdict = replace(again, seconds=seconds + again.seconds) if again.safe else verdict
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


def _left_out(case: Case) -> list[Finding]:
    """What is open of the margins that were too many."""
    why = case.left_out, "naming them in over="
    rules = case.policy.rules if case.left_out else ()
    return [Finding(rule.name, Outcome.UNDECIDED, (), (), *why) for rule in rules]


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
    telling = (
        statement for statement in case.known.statements if not only_closes(statement, domain)
    )
    return set(itertools.chain.from_iterable(statement.variables for statement in telling))


def _covers(case: Case, spoken: set[str]) -> bool:
    """Whether the cells of a margin tell apart all that is spoken of.

    A derived variable does not stand for the one behind it, if that is named too.
    """
    domain, over = case.release.domain, case.over
    return all(name in over or domain.base(name) in over for name in spoken)


def _figures(main: Case, effort: Budget) -> _Seen | None:
    """What rules about the figures themselves find, which are asked of the whole release alone."""
    rules = tuple(rule for rule in main.policy.rules if rule.about_figures)
    if not rules:
        return None
    about = replace(main.policy.facing(respondents=0), rules=rules)
    return _look(replace(main, policy=about), effort, None, None)


def _unsafe(seen: _Seen) -> bool:
    return worst(finding.outcome for finding in seen.findings) is Outcome.UNSAFE


def _implied(main: Case, covering: _Seen | None) -> bool:
    """Whether the cells are safe because those of all variables that are spoken of are.

    That is, if each cell is a part of one of those: derived levels may leave somebody out. And if
    every rule was asked there: a margin that shows its counts says nothing of hidden ones.
    """
    if covering is None or not main.policy.carries_over():
        return False
    wanted = sum(not rule.about_figures for rule in main.policy.rules)
    if len(covering.case.policy.rules) < wanted:
        return False
    parts = all(map(main.release.domain.shares_out, covering.case.over))
    return parts and worst(finding.outcome for finding in covering.findings) is Outcome.SAFE


def _look(
    case: Case,
    effort: Budget,
    answer: Attainable | None,
    pool: Pool | None,
    *,
    decisive: bool = False,
) -> _Seen:
    """What each rule finds about the cells of one margin, whatever the intruder makes of it."""
    if case.doubting is None:
        return _looked(case, effort, answer, pool, decisive=decisive)
    try:
        seen = _looked(case, effort.share(0.5), answer, pool, decisive=decisive)
    except InconsistentRelease:  # which nobody had the time to find out before
        return _looked(case.doubted, effort, None, pool, decisive=decisive)
    # Tables that fit what he knows fit what he knows for certain, too.
    other = _looked(case.doubted, effort, None, pool, decisive=decisive)
    at = {finding.place_key: finding.outcome for finding in seen.findings}
    worse = [
        finding
        for finding in other.findings
        if worst([finding.outcome, at.get(finding.place_key, Outcome.SAFE)])
        is not at.get(finding.place_key, Outcome.SAFE)
    ]
    return replace(
        seen,
        findings=[*seen.findings, *worse],
        elsewhere=[*seen.elsewhere, *other.elsewhere],
        notes=[*seen.notes, *other.notes],
    )


def _looked(
    case: Case,
    effort: Budget,
    answer: Attainable | None,
    pool: Pool | None,
    *,
    decisive: bool,
) -> _Seen:
    """What each rule finds about the cells of one margin.

    With `decisive` cells that are safe because of the tables in the pool need not be among them.
    """
    policy = case.policy
    # Under a budget the bounds come first: they may show that there are too few values.
    whole = answer is not None and not answer_is_brief(case, answer)
    sets_first = effort.deadline is None and (policy.many_values or whole)
    first = first_share(policy, effort)
    outsider = Attacker(case, case.known, first, sets_first=sets_first, answer=answer, pool=pool)
    findings: list[Finding] = []
    elsewhere: dict[Place, Finding] = {}
    notes = []
    try:
        for rule in policy.rules:
            cells = None
            if decisive and isinstance(rule, CellRule):
                cells = outsider.open_cells(rule)
            findings.extend(rule.findings(outsider, cells))
        if policy.respondent:
            if worst(finding.outcome for finding in findings) is Outcome.UNSAFE:
                notes.append("respondents were not tried: the release is unsafe without them")
            else:
                findings.extend(respondents(outsider, policy, effort, elsewhere))
                if policy.against.respondents > 1:
                    findings.extend(pairs(outsider, policy, effort, elsewhere))
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
        cells = [cell for cell in (finding.respondent, finding.partner) if cell is not None]
        if cells:
            known = as_respondents(known, case.over, cells)
        try:
            named = set(_forcing(known, finding))
        except (Unsettled, UnsupportedRelease):
            return ()
    listed = [statement.notation for statement in case.release.statements]
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
