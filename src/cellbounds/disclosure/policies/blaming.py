"""Which statements of a release force a finding."""

from __future__ import annotations

from collections.abc import Iterator

from cellbounds.disclosure.policies.rules import MinimumCount
from cellbounds.disclosure.policies.scenarios import as_respondent
from cellbounds.disclosure.policies.verdict import Finding
from cellbounds.errors import Unsettled, UnsupportedRelease
from cellbounds.solvers.solve import bounds
from cellbounds.statements import Margin, Release

__all__ = ["blamed"]


def blamed(
    release: Release, known: Release, over: tuple[str, ...], finding: Finding
) -> tuple[str, ...]:
    """The statements of `release` that force the bounds behind a finding, in its order.

    `known` is the release with what the intruder knows besides; that is nobody's to withhold.
    `over` are the variables whose cells were judged.
    """
    if finding.rule == MinimumCount.name:
        named = set(_showing(release, finding))
    else:
        whole = known
        if finding.respondent is not None:
            whole = as_respondent(known, over, finding.respondent)
        try:
            named = set(_forcing(whole, finding))
        except (Unsettled, UnsupportedRelease):
            return ()
    listed = [one.notation for one in release.statements]
    return tuple(dict.fromkeys(notation for notation in listed if notation in named))


def _showing(release: Release, finding: Finding) -> Iterator[str]:
    if not finding.variables:
        yield release.total.notation
    for statement in release.statements:
        if isinstance(statement, Margin) and statement.variables == finding.variables:
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
