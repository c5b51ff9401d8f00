"""Evidence and remedies of a verdict in words; never with a confidential count."""

from __future__ import annotations

from collections.abc import Sequence

from cellbounds.data.domain import Label
from cellbounds.disclosure.policies.deciding import width_of
from cellbounds.disclosure.policies.rules import SmallCounts
from cellbounds.disclosure.policies.verdict import Outcome
from cellbounds.results import Unbounded, ValueSet
from cellbounds.results.answers import shown
from cellbounds.statements import Prior, Release

__all__ = [
    "chance_change",
    "exact_change",
    "group_words",
    "remedy_of",
    "sets_words",
    "small_change",
]

RUNS = 6
"""Runs of attainable counts that are named."""

OPEN = "more seconds, so that what is open can be settled"


def remedy_of(release: Release) -> str:
    """What could be said less precisely, or not at all."""
    said = [one.notation for one in release.statements if not isinstance(one, Prior)]
    if not said:
        return "less knowledge beforehand"
    return f"coarser figures in, or withholding, {_listed(said)}"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def sets_words(values: ValueSet) -> str:
    """The attainable counts, or as much of them as is known."""
    if values.settled:
        size = values.size
        if size == 1:
            return f"the only attainable count is {values.text()}"
        many = "endlessly many" if isinstance(size, Unbounded) else str(size)
        return f"{many} attainable counts: {values.text(RUNS)}"
    possible = values.possible
    said = f"from {possible.smallest} to {shown(possible.largest)}"
    known = values.known
    return f"{said}; attained: {known.text(RUNS)}" if known.progressions else said


def small_change(rule: SmallCounts, values: ValueSet, broken: bool | None, remedy: str) -> str:
    """What a small count lacks."""
    if broken is None:
        return OPEN
    possible = values.possible
    lacks = []
    size, width = possible.size, width_of(possible)
    if rule.values is not None and not isinstance(size, Unbounded) and size < rule.values:
        more = rule.values - size
        lacks.append(f"{more} more attainable count{'s' if more > 1 else ''}")
    if rule.width is not None and not isinstance(width, Unbounded) and width < rule.width:
        lacks.append(f"an interval wider by {rule.width - width}")
    if rule.relative is not None and not isinstance(width, Unbounded):
        lacks.append("an interval wider beside the count")
    joined = (" and " if rule.need == "all" else " or ").join(lacks)
    return f"{joined}: {remedy}" if joined else remedy


def exact_change(broken: bool | None, remedy: str) -> str:
    """What a disclosed cell lacks."""
    return OPEN if broken is None else f"1 more attainable count: {remedy}"


def chance_change(broken: bool | None, remedy: str) -> str:
    """What a probability would have to be."""
    if broken is None:
        return "more seconds, or a policy that states a confidence for estimates"
    return f"a lower probability: {remedy}"


def group_words(
    levels: Sequence[Label],
    zeros: Sequence[bool | None],
    held: bool | None,
    outcome: Outcome,
    remedy: str,
) -> tuple[str, str]:
    """Evidence and remedy for a row."""
    empty = [str(label) for label, zero in zip(levels, zeros, strict=True) if zero]
    filled = [str(label) for label, zero in zip(levels, zeros, strict=True) if not zero]
    if held is False:
        evidence = "the row is empty in some consistent table"
    elif not empty:
        evidence = "no level is known to be empty"
    elif len(filled) == 1:
        evidence = f"everybody is in {filled[0]}"
    else:
        evidence = f"nobody is in {', '.join(empty)}"
    if outcome is Outcome.SAFE:
        return evidence, ""
    if outcome is Outcome.UNDECIDED:
        return evidence, OPEN
    return evidence, f"a consistent table with somebody in {_listed(empty)}: {remedy}"
