"""The rule that small counts must stay uncertain."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from cellbounds.data.table import Table
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

ENOUGH = {
    "values": (2, "2 or more"),
    "width": (1, "1 or more"),
    "relative": (0, "a number above 0"),
}
"""What may be asked for, and from where on it means something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallCounts(ThresholdRule, CellRule):
    """A small count must stay uncertain.

    A true count up to a threshold must keep so many attainable counts (`values`), or so wide an
    interval (`width`: upper - lower), or so wide a one beside itself (`relative`: (upper - lower) /
    the larger of the count and 1). All that are given must hold, or with ``need="any"`` one.

    Examples
    --------
    >>> print(SmallCounts(at_most=3, values=2).sentence)
    a true count of at most 3 (<= 3; zeros included) must keep at least 2 attainable counts (>= 2)
    """

    name: ClassVar[str] = "small-counts"

    zeros: bool = True
    values: int | None = None
    width: int | None = None
    relative: Fraction | None = None
    need: str = "all"

    def __post_init__(self) -> None:
        self._check_threshold()
        check_bool(self, "zeros")
        if self.relative is not None:
            object.__setattr__(self, "relative", exact_number(self.relative, self._of("relative")))
        if self.need not in ("all", "any"):
            raise InvalidInput(f"{self._of('need')} is {self.need!r}; choose 'all' or 'any'")
        needs = {what: getattr(self, what) for what in ENOUGH}
        if all(needed is None for needed in needs.values()):
            raise InvalidInput(
                f"the rule {self.name} asks for nothing; give values=, width= or relative="
            )
        for what, needed in needs.items():
            least, words = ENOUGH[what]
            if needed is not None and least:
                check_whole(self, what, 0)
            if needed is not None and (needed <= 0 or needed < least):
                raise InvalidInput(
                    f"{self._of(what)} is {needed}, which every count has, so that the rule can "
                    f"never fail; give {words}"
                )
        if not self.zeros and self.small < 1:
            raise InvalidInput(
                f"the rule {self.name} speaks of counts of at most {self.small} without zeros: "
                "there are none; raise the threshold or give zeros=True"
            )

    @property
    def smallest(self) -> int:
        """The smallest count that the rule speaks of."""
        return 0 if self.zeros else 1

    @property
    def many_values(self) -> bool:
        """Whether more attainable counts are asked for than two."""
        return self.values is not None and self.values > 2

    @property
    def sentence(self) -> str:
        """The rule in plain words."""
        requirements = []
        if self.values is not None:
            requirements.append(f"at least {self.values} attainable counts (>= {self.values})")
        if self.width is not None:
            requirements.append(f"an interval of upper - lower >= {self.width}")
        if self.relative is not None:
            requirements.append(
                f"an interval of (upper - lower) / max(count, 1) >= {self.relative}"
            )
        return f"a true count {self.threshold_text} must keep {self._joined(requirements)}"

    def _joined(self, requirements: list[str]) -> str:
        return (" and " if self.need == "all" else " or ").join(requirements)

    def broken(self, values: ValueSet, truths: ValueSet) -> bool | None:
        """Whether a cell breaks the rule; `truths` are the counts that it may truly hold.

        The requirement is hardest for the largest small count (the relative width), so that one of
        each, attained and possible, decides for all.
        """
        known, largest = values.known, values.possible
        possible = largest_within(truths.possible, self.smallest, self.small)
        if possible is None or self._enough(known.size, width_of(known), possible):
            return False
        certain = largest_within(truths.known, self.smallest, self.small)
        if certain is not None and not self._enough(largest.size, width_of(largest), certain):
            return True
        return None

    def _enough(self, size: int | Unbounded, width: int | Unbounded, count: int) -> bool:
        """Whether so many attainable counts, and so wide an interval, are enough for a count."""
        enough = []
        if self.values is not None:
            enough.append(size >= self.values)
        if self.width is not None:
            enough.append(width >= self.width)
        if self.relative is not None:
            needed = self.relative * max(count, 1)
            enough.append(isinstance(width, Unbounded) or width >= needed)
        return all(enough) if self.need == "all" else any(enough)

    def lacks(self, values: ValueSet) -> str:
        """What a small count lacks."""
        lacks = []
        possible = values.possible
        size, width = possible.size, width_of(possible)
        if self.values is not None and not isinstance(size, Unbounded) and size < self.values:
            more = self.values - size
            lacks.append(f"{more} more attainable count{'s' if more > 1 else ''}")
        if self.width is not None and not isinstance(width, Unbounded) and width < self.width:
            lacks.append(f"an interval wider by {self.width - width}")
        if self.relative is not None and not isinstance(width, Unbounded):
            lacks.append("an interval wider beside the count")
        return self._joined(lacks)

    def why_not_monotone(self, *, independent: bool) -> str:
        """Without the true counts, unless it asks no more than that two counts are attainable."""
        if not independent or self._enough(2, 1, self.small):
            return ""
        return (
            "without the true counts, publishing more may rule out the small count that was at risk"
        )

    def carries_over(self) -> bool:
        """Whether a set of {0, ..., t + 1} keeps the rule, where t is the threshold.

        Take a possible part that holds k of its cell's n >= k people. Its set has at least as many
        members as S and is at least as wide. If n <= t, the rule speaks of the cell too, and what
        the cell keeps, the part keeps, the more so as k <= n. If n > t, then max S >= t + 1, and it
        is enough that {0, ..., t + 1} keeps the rule for a count of t, where it asks most.
        """
        return self._enough(self.small + 2, self.small + 1, self.small)

    def unproven(
        self, table: Table, exempt: BoolArray, least: IntArray, most: IntArray
    ) -> BoolArray:
        """Small counts that still lack something."""
        counts, width = table.counts, most - least
        kept: list[BoolArray] = []
        if self.values is not None:
            kept.append(width + 1 >= self.values)
        if self.width is not None:
            kept.append(width >= self.width)
        if self.relative is not None:
            # In whole numbers, however large those of the fraction are.
            top, bottom = self.relative.numerator, self.relative.denominator
            kept.append(width.astype(object) * bottom >= np.maximum(counts, 1).astype(object) * top)
        joined = np.logical_and.reduce(kept) if self.need == "all" else np.logical_or.reduce(kept)
        spoken_of = (counts >= self.smallest) & (counts <= self.small)
        return np.asarray(spoken_of & ~exempt & ~np.asarray(joined, dtype=bool), dtype=bool)
