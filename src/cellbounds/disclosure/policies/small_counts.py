"""The rule that small counts must stay uncertain."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from cellbounds.disclosure.policies.rule import (
    CellRule,
    ThresholdRule,
    check_bool,
    check_whole,
    largest_within,
    width_of,
)
from cellbounds.errors import InvalidInput
from cellbounds.results import Unbounded, ValueSet
from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.statements.numbers import exact_number

WHOLE = {"values": 2, "width": 1, "protect_above": 1, "protect_below": 1}
"""What may be asked for in whole numbers, and from where on it means something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallCounts(ThresholdRule, CellRule):
    """A cell with a small true count must keep enough attainable counts.

    Enough is at least `values` of them; an interval from the smallest to the largest of at least
    `width`, or of at least `relative` times the count (a count of zero counts as one there); a
    protection interval around the count, with something attainable at least `protect_above` above
    it and something at least `protect_below` below it (or zero); or, with `above_threshold`, a
    count that is not small, so that nobody knows that this one is. All that are given must hold, or
    with ``need="any"`` one.

    Examples
    --------
    >>> print(SmallCounts(at_most=3, values=2).sentence)
    a true count of at most 3 (<= 3; zeros included) must keep at least 2 attainable counts (>= 2)
    >>> print(SmallCounts(below=5, zeros=False, protect_above=2, above_threshold=True).sentence)
    a true count below 5 (< 5; but not zero) must keep an attainable count that is larger by >= 2
    and an attainable count that is not small (>= 5)
    """

    name: ClassVar[str] = "small-counts"
    suppressible: ClassVar[bool] = True

    zeros: bool = True
    values: int | None = None
    width: int | None = None
    relative: Fraction | None = None
    protect_above: int | None = None
    protect_below: int | None = None
    above_threshold: bool | None = None
    need: str = "all"

    def __post_init__(self) -> None:
        self._check_threshold()
        check_bool(self, "zeros")
        if self.above_threshold is not None:
            check_bool(self, "above_threshold")
        if self.need not in ("all", "any"):
            raise InvalidInput(f"{self._of('need')} is {self.need!r}; choose 'all' or 'any'")
        for what, least in WHOLE.items():
            needed = getattr(self, what)
            if needed is not None:
                check_whole(self, what, 0)
                self._check_least(what, needed, needed < least, f"{least} or more")
        if self.relative is not None:
            object.__setattr__(self, "relative", exact_number(self.relative, self._of("relative")))
            self._check_least("relative", self.relative, self.relative <= 0, "a number above 0")
        if not self._requirements():
            raise InvalidInput(
                f"the rule {self.name} asks for nothing; give values=, width=, relative=, "
                "protect_above=, protect_below= or above_threshold="
            )
        if not self.zeros and self.small < 1:
            raise InvalidInput(
                f"the rule {self.name} speaks of counts of at most {self.small} without zeros: "
                "there are none; raise the threshold or give zeros=True"
            )

    def _check_least(self, what: str, needed: object, idle: bool, words: str) -> None:
        if idle:
            raise InvalidInput(
                f"{self._of(what)} is {needed}, which every count has, so that the rule can never "
                f"fail; give {words}"
            )

    @property
    def smallest(self) -> int:
        """The smallest count that the rule speaks of."""
        return 0 if self.zeros else 1

    @property
    def many_values(self) -> bool:
        """Whether more attainable counts are asked for than two."""
        return self.values is not None and self.values > 2

    def _requirements(self) -> list[str]:
        """What is asked for, in words."""
        beyond = self.small + 1
        words = {
            "values": f"at least {self.values} attainable counts (>= {self.values})",
            "width": f"an interval of upper - lower >= {self.width}",
            "relative": f"an interval of (upper - lower) / max(count, 1) >= {self.relative}",
            "protect_above": f"an attainable count that is larger by >= {self.protect_above}",
            "protect_below": f"one that is smaller by >= {self.protect_below}, or zero",
            "above_threshold": f"an attainable count that is not small (>= {beyond})",
        }
        return [text for what, text in words.items() if getattr(self, what)]

    @property
    def sentence(self) -> str:
        """The rule in plain words."""
        joined = (" and " if self.need == "all" else " or ").join(self._requirements())
        return f"a true count {self.threshold_text} must keep {joined}"

    def broken(self, values: ValueSet, truths: ValueSet) -> bool | None:
        """Whether a cell breaks the rule; `truths` are the counts that it may truly hold."""
        known, possible = values.known, values.possible
        if all(self._keeps(known, count) for count in self._hardest(truths.possible)):
            return False
        if all(self._keeps(possible, count) for count in self._hardest(truths.known)):
            return None
        return True

    def _hardest(self, truths: ValueSet) -> list[int]:
        """The small counts among these for which most is asked.

        That is the largest of them, but for what must lie below it.
        """
        largest = largest_within(truths, self.smallest, self.small)
        if largest is None:
            return []
        first = largest if self.protect_below is None else self.smallest
        return [count for count in range(first, largest + 1) if count in truths]

    def _keeps(self, values: ValueSet, count: int) -> bool:
        """Whether these attainable counts are enough for a true count."""
        if not values.progressions:
            return False
        largest, width, answers = values.largest, width_of(values), []
        if self.values is not None:
            answers.append(values.size >= self.values)
        if self.width is not None:
            answers.append(width >= self.width)
        if self.relative is not None:
            answers.append(width >= self.relative * max(count, 1))
        if self.protect_above is not None:
            answers.append(largest >= count + self.protect_above)
        if self.protect_below is not None:
            answers.append(values.smallest <= max(count - self.protect_below, 0))
        if self.above_threshold:
            answers.append(largest > self.small)
        return all(answers) if self.need == "all" else any(answers)

    def unshown(self, counts: IntArray) -> BoolArray:
        """Small counts: one that is shown has a single attainable value."""
        return self.lacking(counts, counts, counts)

    def asked(self, count: int) -> tuple[int, int, int]:
        """How far attainable counts must go above and below a small count, and how wide they are.

        Raises
        ------
        InvalidInput
            If one of several things is enough.

        Examples
        --------
        >>> SmallCounts(below=5, values=3, above_threshold=True).asked(2)
        (3, 0, 2)
        """
        several = len(self._requirements())
        if self.need == "any" and several > 1:
            raise InvalidInput(
                f"the rule {self.name} leaves open which of {several} things is kept (need='any'); "
                "suppression is chosen for all that is asked: give need='all', or one of them"
            )
        relative = 0 if self.relative is None else math.ceil(self.relative * max(count, 1))
        beyond = self.small + 1 - count if self.above_threshold else 0
        above = max(self.protect_above or 0, beyond)
        below = min(self.protect_below or 0, count)
        return above, below, max((self.values or 1) - 1, self.width or 0, relative)

    def lacks(self, values: ValueSet) -> str:
        """What a small count lacks."""
        lacks = []
        possible = values.possible
        size, width, largest = possible.size, width_of(possible), possible.largest
        if self.values is not None and not isinstance(size, Unbounded) and size < self.values:
            more = self.values - size
            lacks.append(f"{more} more attainable count{'s' if more > 1 else ''}")
        if self.width is not None and not isinstance(width, Unbounded) and width < self.width:
            lacks.append(f"an interval wider by {self.width - width}")
        if self.relative is not None and not isinstance(width, Unbounded):
            lacks.append("an interval wider beside the count")
        if self.protect_above is not None and not isinstance(largest, Unbounded):
            lacks.append("larger attainable counts")
        if self.protect_below is not None and possible.smallest > 0:
            lacks.append("smaller attainable counts")
        if self.above_threshold and largest <= self.small:
            lacks.append("an attainable count that is not small")
        return (" and " if self.need == "all" else " or ").join(lacks)

    @property
    def kept_by_sums(self) -> bool:
        """Yes: counts that keep it although they are shown are zero or not small, as are sums."""
        return True

    def tells(self) -> bool:
        """Unless it asks no more than that two counts are attainable.

        Then a count that breaks it is the only one: every table that fits has it, and breaks it.
        """
        around = self.protect_above or self.protect_below or self.above_threshold
        return bool(around) or not self._keeps(ValueSet([(0, 1, 1)]), self.small)

    def why_not_monotone(self, *, independent: bool) -> str:
        """Without the true counts, if that a table keeps it tells something."""
        if not independent or not self.tells():
            return ""
        return (
            "without the true counts, publishing more may rule out the small count that was at risk"
        )

    def carries_over(self) -> bool:
        """Whether a set of {0, ..., t + 1} keeps the rule, where t is the threshold.

        Take a possible part that holds k of its cell's n >= k people. Its set has at least as many
        members as S, reaches as far up, and down to zero unless it is S. If n <= t, the rule speaks
        of the cell too, and what the cell keeps, the part keeps, the more so as k <= n. If n > t,
        then max S >= t + 1, and it is enough that {0, ..., t + 1} keeps the rule for a count of t,
        where it asks most.
        """
        return self._keeps(ValueSet([(0, self.small + 1, 1)]), self.small)

    def lacking(self, counts: IntArray, least: IntArray, most: IntArray) -> BoolArray:
        """Small counts that still lack something."""
        width = most - least
        answers: list[BoolArray] = []
        if self.values is not None:
            answers.append(width + 1 >= self.values)
        if self.width is not None:
            answers.append(width >= self.width)
        if self.relative is not None:
            # In whole numbers, however large those of the fraction are.
            top, bottom = self.relative.numerator, self.relative.denominator
            answers.append(
                width.astype(object) * bottom >= np.maximum(counts, 1).astype(object) * top
            )
        if self.protect_above is not None:
            answers.append(most - counts >= self.protect_above)
        if self.protect_below is not None:
            answers.append((counts - least >= self.protect_below) | (least == 0))
        if self.above_threshold:
            answers.append(most > self.small)
        joined = (
            np.logical_and.reduce(answers) if self.need == "all" else np.logical_or.reduce(answers)
        )
        spoken_of = (counts >= self.smallest) & (counts <= self.small)
        return np.asarray(spoken_of & ~np.asarray(joined, dtype=bool), dtype=bool)
