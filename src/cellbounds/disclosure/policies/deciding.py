"""Whether a rule is broken by what is attained and what is proven; None where that is open.

Every rule here can only be mended by more attainable counts. So it is kept for certain if the
counts that are *known* to be attainable keep it, and broken for certain if even those that are
*possible* break it.
"""

from __future__ import annotations

from collections.abc import Iterable

from cellbounds.disclosure.policies.rules import ExactDisclosure, SmallCounts
from cellbounds.results import Unbounded, ValueSet

__all__ = [
    "all_true",
    "any_true",
    "broken_exact",
    "broken_small",
    "certainly_held",
    "certainly_zero",
    "largest_within",
    "negated",
    "width_of",
]


def all_true(answers: Iterable[bool | None]) -> bool | None:
    """Whether all hold; None if none fails but some are open."""
    found: bool | None = True
    for answer in answers:
        if answer is False:
            return False
        if answer is None:
            found = None
    return found


def any_true(answers: Iterable[bool | None]) -> bool | None:
    """Whether one holds; None if none does but some are open."""
    return negated(all_true(negated(answer) for answer in answers))


def negated(answer: bool | None) -> bool | None:
    """The opposite; what is open stays open."""
    return None if answer is None else not answer


def largest_within(values: ValueSet, low: int, high: int) -> int | None:
    """The largest member from `low` to `high`, or None.

    Examples
    --------
    >>> largest_within(ValueSet([(1, None, 3)]), 0, 6), largest_within(ValueSet([(5, 9, 2)]), 0, 4)
    (4, None)
    """
    found = None
    for first, last, step in values.progressions:
        top = high if last is None else min(high, last)
        if top < first:
            continue
        top -= (top - first) % step
        if top >= low and (found is None or top > found):
            found = top
    return found


def width_of(values: ValueSet) -> int | Unbounded:
    """The largest member of a settled set less its smallest; 0 if it is empty."""
    if not values.progressions:
        return 0
    largest = values.largest
    return largest if isinstance(largest, Unbounded) else largest - values.smallest


def broken_small(rule: SmallCounts, values: ValueSet, truths: ValueSet) -> bool | None:
    """Whether a cell breaks the rule; `truths` are the counts that it may truly hold.

    The requirement is hardest for the largest small count (the relative width), so that one of
    each, attained and possible, decides for all.
    """
    possible = largest_within(truths.possible, rule.smallest, rule.small)
    if possible is None or _kept(rule, values.known, possible):
        return False
    certain = largest_within(truths.known, rule.smallest, rule.small)
    if certain is not None and not _kept(rule, values.possible, certain):
        return True
    return None


def _kept(rule: SmallCounts, values: ValueSet, count: int) -> bool:
    size, width = values.size, width_of(values)
    endless = isinstance(width, Unbounded)
    kept = []
    if rule.values is not None:
        kept.append(size >= rule.values)
    if rule.width is not None:
        kept.append(width >= rule.width)
    if rule.relative is not None:
        kept.append(endless or width >= rule.relative * max(count, 1))
    return all(kept) if rule.need == "all" else any(kept)


def broken_exact(rule: ExactDisclosure, values: ValueSet) -> bool | None:
    """Whether a cell has a single attainable count of the kind that the rule forbids."""
    known, possible = values.known, values.possible
    if known.size > 1:
        return False
    wrong = {"any": (0, None, 1), "zeros": (0, 0, 1), "positive": (1, None, 1)}[rule.of]
    forbidden = ValueSet([wrong])
    if possible.size == 1:
        return possible.smallest in forbidden
    if known.size == 1 and known.smallest not in forbidden:
        return False  # whatever else is attainable, the single count could only be this one
    return False if rule.of == "zeros" and 0 not in possible else None


def certainly_zero(values: ValueSet) -> bool | None:
    """Whether a cell holds nobody in every consistent table."""
    if any(last is None or last > 0 for _, last, _ in values.progressions):
        return False
    possible = values.possible
    if 0 not in possible:
        return False
    return True if possible.largest == 0 else None


def certainly_held(values: ValueSet) -> bool | None:
    """Whether a cell holds somebody in every consistent table."""
    if values.possible.smallest >= 1:
        return True
    return False if 0 in values.known else None
