"""Policies: named rules for what is safe, and judging a release under them."""

from cellbounds.disclosure.policies.exact_disclosure import ExactDisclosure
from cellbounds.disclosure.policies.group_disclosure import GroupDisclosure
from cellbounds.disclosure.policies.intruder import Intruder
from cellbounds.disclosure.policies.judging import judge
from cellbounds.disclosure.policies.minimum_count import MinimumCount
from cellbounds.disclosure.policies.policy import (
    DEFAULT,
    RULES,
    Policy,
    policy_of,
    profiles,
    read,
)
from cellbounds.disclosure.policies.posterior_chance import PosteriorChance
from cellbounds.disclosure.policies.rule import Rule
from cellbounds.disclosure.policies.small_counts import SmallCounts
from cellbounds.disclosure.policies.verdict import Finding, Outcome, Verdict, worst

__all__ = [
    "DEFAULT",
    "RULES",
    "ExactDisclosure",
    "Finding",
    "GroupDisclosure",
    "Intruder",
    "MinimumCount",
    "Outcome",
    "Policy",
    "PosteriorChance",
    "Rule",
    "SmallCounts",
    "Verdict",
    "judge",
    "policy_of",
    "profiles",
    "read",
    "worst",
]
