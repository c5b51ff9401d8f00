"""Whether publishing more can only make things worse, so that a search may skip sets.

The proofs are in ``docs/theory/safe-sets.md``.
"""

from __future__ import annotations

import numpy as np

from cellbounds.disclosure.policies import Policy
from cellbounds.disclosure.policies.scenarios import empty_rows
from cellbounds.disclosure.safe_sets.candidates import Candidates
from cellbounds.statements import Conditional, Release

__all__ = ["why_not_monotone"]


def why_not_monotone(
    policy: Policy, candidates: Candidates, *, independent: bool
) -> tuple[str, ...]:
    """Why an unsafe set may have a safe superset; nothing if it cannot."""
    why = (rule.why_not_monotone(independent=independent) for rule in policy.rules)
    reasons = [reason for reason in why if reason]
    if independent and policy.respondent:
        reasons.append(
            "without the true counts, publishing more may rule out the respondent who was at risk"
        )
    if any(rule.exempts_empty_rows for rule in policy.rules) and _exempts(candidates):
        reasons.append("rates that say of a row that it is empty make its cells exempt")
    return tuple(reasons)


def _exempts(candidates: Candidates) -> bool:
    """Whether a candidate says of more rows than what is out already that they are empty."""
    domain = candidates.domain
    known = empty_rows(Release(domain, candidates.given), domain.names)
    said_by = (one.statement for one in candidates.listed)
    rates = [one for one in said_by if isinstance(one, Conditional)]
    said = empty_rows(Release(domain, rates), domain.names)
    return bool(np.any(said & ~known))
