"""Policies: what counts as safe. ``policy=`` takes one, the name of a profile, or a file of rules.

Examples
--------
>>> import cellbounds as cb
>>> cb.policies.profiles()
('acro', 'ons-ls', 'opensafely', 'sdctable', 'small-counts', 'strict')
>>> house = cb.policies.Policy("house", rules=[cb.policies.SmallCounts(at_most=2, values=3)])
>>> table = cb.datasets.read("delinquent")
>>> cb.audit(table, cb.publish(table, "[education|county]@1"), house).verdict
<SAFE under the policy house: [education|county]@1, N=135>
"""

from cellbounds.disclosure.policies import (
    ExactDisclosure,
    GroupDisclosure,
    Intruder,
    MinimumCount,
    Policy,
    PosteriorChance,
    Rule,
    SmallCounts,
    profiles,
    read,
)

__all__ = [
    "ExactDisclosure",
    "GroupDisclosure",
    "Intruder",
    "MinimumCount",
    "Policy",
    "PosteriorChance",
    "Rule",
    "SmallCounts",
    "profiles",
    "read",
]
