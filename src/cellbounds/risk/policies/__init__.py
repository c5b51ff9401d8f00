"""Policies: named rules for what is safe, and judging a release under them."""

from cellbounds.risk.policies.judging import judge
from cellbounds.risk.policies.policy import DEFAULT, Policy
from cellbounds.risk.policies.reading import profile_names, read_policy
from cellbounds.risk.policies.rules import (
    RULES,
    ExactDisclosure,
    GroupDisclosure,
    MinimumCount,
    PosteriorChance,
    Rule,
    SmallCounts,
)
from cellbounds.risk.policies.verdict import Finding, Outcome, Verdict

__all__ = [
    "DEFAULT",
    "RULES",
    "ExactDisclosure",
    "Finding",
    "GroupDisclosure",
    "MinimumCount",
    "Outcome",
    "Policy",
    "PosteriorChance",
    "Rule",
    "SmallCounts",
    "Verdict",
    "judge",
    "profile_names",
    "read_policy",
]
