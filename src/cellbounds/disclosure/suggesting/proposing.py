"""Which changes are worth trying for a release."""

from __future__ import annotations

from collections.abc import Iterator

from cellbounds.data.domain import Domain
from cellbounds.disclosure.policies import Policy
from cellbounds.disclosure.suggesting.changes import (
    CoarserCounts,
    DropVariable,
    FewerDigits,
    HideSmall,
    MergeLevels,
    Planable,
    Withhold,
    WithholdTotal,
)
from cellbounds.disclosure.suggesting.planning import Drafts, Plan
from cellbounds.utility.retained import shares_out

__all__ = ["proposals"]

MOST_DIGITS = 4
"""Decimals that are tried first instead of exact rates."""

BASES = (3, 5, 10)
"""Bases that counts are rounded to."""

FEW = 8
"""Up to so many levels every run of neighbours is merged; beyond, pairs and even blocks."""


def proposals(drafts: Drafts, policy: Policy) -> list[Planable]:
    """Single changes, in a fixed order."""
    plan = drafts.first
    notations = {
        place: drafts.release.statements[place].notation
        for place, planned in enumerate(plan.statements)
        if planned is not None
    }
    found: list[Planable] = []
    for places in _together(plan, rates=True):
        named = tuple(notations[place] for place in places)
        found += [FewerDigits(places, digits, named) for digits in range(MOST_DIGITS, 0, -1)]
    for places in _together(plan, rates=False):
        named = tuple(notations[place] for place in places)
        found += [CoarserCounts(places, base, named) for base in BASES]
        found.append(HideSmall(places, _least_shown(policy), named))
    for variable in _merged_variables(drafts.domain, plan):
        found += _merges(drafts.domain, variable)
    for place, notation in notations.items():
        planned = plan.statements[place]
        assert planned is not None  # notations has the planned ones only
        found += [DropVariable(place, variable, notation) for variable in planned.names]
    statements = drafts.release.statements
    figureless = {place: statements[place].notation for place in plan.linear}
    found += [Withhold(place, said) for place, said in (notations | figureless).items()]
    possible = [change for change in found if change.applied(plan) is not None]
    # N comes last: it matters once no exact margin tells it.
    return [*possible, WithholdTotal()] if plan.total else possible


def _least_shown(policy: Policy) -> int:
    """The smallest count that no rule of the policy protects."""
    return max(2, policy.small + 1, *(rule.least_shown for rule in policy.rules))


def _together(plan: Plan, *, rates: bool) -> list[tuple[int, ...]]:
    """Each statement of rates (or margin) by itself, and all of them if there are several."""
    places = [
        place
        for place, planned in enumerate(plan.statements)
        if planned is not None and (planned.given is not None) == rates
    ]
    alone: list[tuple[int, ...]] = [(place,) for place in places]
    return [*alone, tuple(places)] if len(places) > 1 else alone


def _merged_variables(domain: Domain, plan: Plan) -> list[str]:
    """Named variables with three levels or more that share everybody out, in order."""
    named = [name for name in (*domain.names, *domain.groupings) if name in plan.names]
    return [name for name in named if len(domain.levels(name)) > 2 and shares_out(domain, name)]


def _merges(domain: Domain, variable: str) -> Iterator[MergeLevels]:
    """Pairs of neighbours first, then larger groups."""
    levels = domain.levels(variable)
    size = len(levels)
    longest = size - 1 if size <= FEW else 2
    for length in range(2, longest + 1):
        for first in range(size - length + 1):
            run = tuple(range(first, first + length))
            before = [(place,) for place in range(first)]
            after = [(place,) for place in range(first + length, size)]
            yield MergeLevels(variable, levels, (*before, run, *after))
    width = 2
    while size > FEW and width <= size // 2:
        blocks = [tuple(range(at, min(at + width, size))) for at in range(0, size, width)]
        yield MergeLevels(variable, levels, tuple(blocks))
        width *= 2
