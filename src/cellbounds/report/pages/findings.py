"""What broke a rule or stayed open, and which statements are to blame."""

from __future__ import annotations

import time
from typing import Any

from cellbounds.disclosure.auditing import Audit
from cellbounds.disclosure.policies import Finding, Outcome, Verdict
from cellbounds.errors import CellboundsError
from cellbounds.model.effort import Effort
from cellbounds.report.pages.plain import plain_label, plain_values

__all__ = ["blamed", "plain_verdict"]

MOST_BLAMED = 12
"""Findings whose statements are worked out."""

MOST_CELLS = 5_000
"""Each blame works the bounds out anew; on larger tables that is left to whoever asks."""

SLOW = 5.0
"""Seconds for the attainable counts; where they take longer, blame is left to whoever asks."""

BLAME_SECONDS = 10.0
"""A time for that if there is no budget."""


def plain_verdict(verdict: Verdict) -> dict[str, Any]:
    """The verdict with everything that breaks a rule or stayed open."""
    outcomes = [one.outcome for one in verdict.cells]
    return {
        "outcome": verdict.verdict.value,
        "said": _reason(verdict),
        "independent": verdict.independent,
        "knows": [one.notation for one in verdict.knows],
        "warning": verdict.warning,
        "notes": list(verdict.notes),
        "summary": {outcome.value: outcomes.count(outcome) for outcome in Outcome},
        "findings": [_plain(one) for one in (*verdict.broken, *verdict.open)],
    }


def _reason(verdict: Verdict) -> str:
    """One sentence: why it is safe, unsafe or undecided."""
    found = verdict.verdict
    if found is Outcome.SAFE:
        return f"No rule of the policy is broken; {_many(len(verdict.cells), 'place')} looked at."
    first = (verdict.broken or verdict.open)[0]
    where = f"first {first.where}: {first.evidence}."
    if found is Outcome.UNSAFE:
        return f"A rule is broken for certain in {_many(len(verdict.broken), 'place')}; {where}"
    many = _many(len(verdict.open), "place")
    return f"No rule is broken for certain, but {many} could not be decided; {where}"


def _many(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _plain(finding: Finding) -> dict[str, Any]:
    """One finding as plain values; the count is there if the finding has it."""
    said: dict[str, Any] = {
        "rule": finding.rule,
        "outcome": finding.outcome.value,
        "variables": list(finding.variables),
        "labels": [plain_label(label) for label in finding.labels],
        "response": finding.response,
        "respondent": finding.respondent and [plain_label(one) for one in finding.respondent],
        "where": finding.where,
        "evidence": finding.evidence,
        "change": finding.change,
    }
    if finding.values is not None:
        said |= plain_values(finding.values)
    if finding.count is not None:
        said["count"] = finding.count
    return said


def blamed(audit: Audit, effort: Effort) -> dict[str, Any]:
    """The statements that force each of the first broken findings; and what was left out."""
    verdict = audit.verdict
    broken = verdict.broken
    if not broken:
        return {"said": "nothing is broken for certain", "findings": []}
    slow = audit.answer.seconds > SLOW or not all(cell.values.settled for cell in audit.cells)
    if slow or len(audit.cells) > MOST_CELLS:
        why = "bounds of this release take long" if slow else f"more than {MOST_CELLS:,} cells"
        return {"said": f"not worked out: {why} (Verdict.blame works one out)", "findings": []}
    found: list[dict[str, Any]] = []
    ends = time.monotonic() + (BLAME_SECONDS if effort.left is None else effort.left)
    said = ""
    for place, finding in enumerate(broken[:MOST_BLAMED]):
        if place and time.monotonic() >= ends:
            said = "the time was spent; "
            break
        try:
            statements = list(verdict.blame(finding))
        except CellboundsError as problem:
            return {"said": f"not worked out: {problem}", "findings": found}
        found.append({"finding": place, "where": finding.where, "statements": statements})
    left = len(broken) - len(found)
    said += (
        f"{_many(left, 'finding')} more not worked out"
        if left
        else "every broken finding is listed"
    )
    return {"said": said, "findings": found}
