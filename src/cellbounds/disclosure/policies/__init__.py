"""Policies: named rules for what is safe, and judging a release under them."""

from cellbounds.disclosure.policies.judging import judge
from cellbounds.disclosure.policies.policy import DEFAULT, Policy
from cellbounds.disclosure.policies.reading import profile_names, read_policy
from cellbounds.disclosure.policies.rules import (
    RULES,
    ExactDisclosure,
    GroupDisclosure,
    MinimumCount,
    PosteriorChance,
    Rule,
    SmallCounts,
)
from cellbounds.disclosure.policies.verdict import Finding, Outcome, Verdict

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
