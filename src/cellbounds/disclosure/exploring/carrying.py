"""What a verdict about the published table says about the whole one.

Each cell of the published table is the sum of its parts, the cells of the whole table behind it,
and nothing else is said of the parts. So a part that is its cell's only possible one (the others
are structural zeros) has the attainable counts S of the cell; every other possible part has
{0, ..., max S}. Suppose that the published table keeps the rules, and take a possible part that
holds k of its cell's n >= k people.

Small counts (at most t). The set of the part has at least as many members as S and is at least as
wide. If n <= t, the rule speaks of the cell too, and what the cell keeps, the part keeps, the more
so as k <= n. If n > t, then max S >= t + 1, and it is enough that the rule is kept by
{0, ..., t + 1} for a count of t, where it asks most; this is looked up, see `broken_small`.

Exact disclosure. A part with a single attainable count is its cell's only possible one, or max S
is 0 and S = {0}: the cell had a single attainable count as well, the same.

Shown figures are the same for both. Structural zeros and rows published as empty are left out of
both. Every table is as good as the true one here, so this holds without the true counts as well.
"""

from __future__ import annotations

from cellbounds.disclosure.policies import (
    ExactDisclosure,
    MinimumCount,
    Policy,
    Rule,
    SmallCounts,
)
from cellbounds.disclosure.policies.deciding import broken_small
from cellbounds.results import ValueSet

__all__ = ["carries_over"]


def carries_over(policy: Policy) -> bool:
    """Whether the whole table is safe if the published one is, by the note above.

    Examples
    --------
    >>> from cellbounds import read_policy
    >>> carries_over(read_policy("small-counts"))
    True
    """
    return not policy.respondent and all(map(_carries_over, policy.rules))


def _carries_over(rule: Rule) -> bool:
    if isinstance(rule, SmallCounts):
        part = ValueSet([(0, rule.small + 1, 1)])
        return broken_small(rule, part, ValueSet.from_values([rule.small])) is False
    return isinstance(rule, ExactDisclosure | MinimumCount)
