"""Whether publishing more can only make things worse, so that a search may skip sets.

The proofs are in ``docs/theory/safe-sets.md``.
"""

from __future__ import annotations

import numpy as np

from cellbounds.disclosure.policies import ExactDisclosure, Policy, PosteriorChance, SmallCounts
from cellbounds.disclosure.policies.scenarios import empty_rows
from cellbounds.disclosure.safe_sets.candidates import Candidates
from cellbounds.statements import Conditional, Release

__all__ = ["why_not_monotone"]


def why_not_monotone(
    policy: Policy, candidates: Candidates, *, independent: bool
) -> tuple[str, ...]:
    """Why an unsafe set may have a safe superset; nothing if it cannot."""
    reasons = []
    if any(isinstance(rule, PosteriorChance) for rule in policy.rules):
        reasons.append("a posterior probability may fall when more is published")
    if independent and not all(
        _two_are_enough(rule) for rule in policy.rules if isinstance(rule, SmallCounts)
    ):
        reasons.append(
            "without the true counts, publishing more may rule out the small count that was at risk"
        )
    if independent and policy.respondent:
        reasons.append(
            "without the true counts, publishing more may rule out the respondent who was at risk"
        )
    known = any(isinstance(rule, SmallCounts | ExactDisclosure) for rule in policy.rules)
    if known and _exempts(candidates):
        reasons.append("rates that say of a row that it is empty make its cells exempt")
    return tuple(reasons)


def _two_are_enough(rule: SmallCounts) -> bool:
    """Whether the rule asks no more than that two counts are attainable."""
    asked = []
    if rule.values is not None:
        asked.append(rule.values <= 2)
    if rule.width is not None:
        asked.append(rule.width <= 1)
    if rule.relative is not None:
        asked.append(rule.relative * max(rule.small, 1) <= 1)
    return all(asked) if rule.need == "all" else any(asked)


def _exempts(candidates: Candidates) -> bool:
    """Whether a candidate says of more rows than what is out already that they are empty."""
    domain = candidates.domain
    known = empty_rows(Release(domain, candidates.given), domain.names)
    said_by = (one.statement for one in candidates.listed)
    rates = [one for one in said_by if isinstance(one, Conditional)]
    said = empty_rows(Release(domain, rates), domain.names)
    return bool(np.any(said & ~known))
