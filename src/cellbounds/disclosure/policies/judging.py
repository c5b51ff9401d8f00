"""Judging a release under a policy."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from cellbounds.data.table import Table
from cellbounds.disclosure.policies.attacker import Attacker
from cellbounds.disclosure.policies.policy import DEFAULT, Policy
from cellbounds.disclosure.policies.respondents import respondents
from cellbounds.disclosure.policies.scenarios import Case, as_respondent, case_of
from cellbounds.disclosure.policies.verdict import Finding, Outcome, Verdict, worst
from cellbounds.errors import Unsettled, UnsupportedRelease
from cellbounds.results import Attainable
from cellbounds.runtime.budget import Budget, running
from cellbounds.solvers.solve import bounds, resumable
from cellbounds.statements import Prior, Release

__all__ = ["first_share", "judge", "judged"]

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
    budget: Budget | None = None,
    seconds: float | None = None,
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
    >>> table = cb.example_table("delinquent")
    >>> verdict = judge(cb.publish(table, "[education|county]@2"), table)
    >>> verdict.verdict, len(verdict.broken), verdict.at("Alpha", "High")
    (UNSAFE, 6, UNSAFE)
    >>> judge(cb.publish(table, "[education|county]@1"), table).verdict
    SAFE
    >>> judge(cb.publish(table, "[county]"), table, over=["county"]).over
    ('county',)
    """
    case = case_of(release, table, policy, over=over, knows=knows, independent=independent)
    with running(budget, seconds, resumes=True) as budget:
        start = not independent and table is not None
        budget = resumable(budget, case.known, "sharp", case.over, None, start=start)
        return judged(case, budget)[0]


def first_share(policy: Policy, effort: Budget) -> Budget:
    """The part of an effort for the intruder who is not in the table himself."""
    if not policy.respondent or effort.left is None:
        return effort
    return effort.share(FIRST_SHARE)


def judged(
    case: Case, effort: Budget, answer: Attainable | None = None
) -> tuple[Verdict, Attainable | None]:
    """The verdict, and the attainable counts that it rests on, if they were asked for.

    `answer` are the attainable counts of what is known, if they are there already.
    """
    begun = time.perf_counter()
    policy = case.policy
    # Under a budget the bounds come first: they may show that there are too few values.
    sets_first = effort.deadline is None and (policy.many_values or answer is not None)
    first = first_share(policy, effort)
    outsider = Attacker(case, case.known, first, sets_first=sets_first, answer=answer)
    findings = [finding for rule in policy.rules for finding in rule.findings(outsider)]
    notes = [*outsider.notes, *case.notes]
    if policy.respondent:
        if worst(one.outcome for one in findings) is Outcome.UNSAFE:
            notes.append("respondents were not tried: the release is unsafe without them")
        else:
            findings += respondents(outsider, policy, effort)
    verdict = Verdict(
        policy,
        case.release,
        tuple(findings),
        case.independent,
        case.over,
        case.knows,
        tuple(notes),
        time.perf_counter() - begun + (0.0 if answer is None else answer.seconds),
        partial(_blamed, case),
    )
    return verdict, outsider.answer


def _blamed(case: Case, finding: Finding) -> tuple[str, ...]:
    """The statements of the release that force the bounds behind a finding, in its order.

    What the intruder knows besides is nobody's to withhold.
    """
    if finding.figure:
        named = set(_showing(case.release, finding))
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
    if not finding.variables:
        yield release.total.notation
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
