"""What a rule of a policy has to say of itself, and what rules about single cells share.

A rule is a frozen dataclass whose fields are the keys of its section in a policy file. Its class
says everything about it: how it decides, whether more publishing can mend it, whether it carries
over to a finer table, and its words. A new rule is a class and a line in ``policy.RULES``.

Answers are True, False, or None where they are open. A rule about attainable counts can only be
mended by more of them. So it is kept for certain if the counts that are *known* to be attainable
keep it, and broken for certain if even those that are *possible* break it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np

from cellbounds.data.domain import Domain
from cellbounds.data.table import Table
from cellbounds.disclosure.policies.verdict import Finding, Outcome
from cellbounds.errors import InvalidInput
from cellbounds.results import Unbounded, ValueSet
from cellbounds.results.answers import shown
from cellbounds.runtime.arrays import BoolArray, IntArray

if TYPE_CHECKING:
    from cellbounds.disclosure.policies.attacker import Attacker
    from cellbounds.disclosure.policies.crowds import Crowd

EVERYTHING = ValueSet((), unknown=[(0, None, 1)])
"""A true count of which nothing is known."""

OPEN = "more seconds, so that what is open can be settled"

DEPENDS = "whether that is enough depends on the true count"

MOST_TRUTHS = 1000
"""Counts of one cell that are tried one by one."""

RUNS = 6
"""Runs of attainable counts that are named."""

Cells = Iterable[tuple[int, ...]]

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Rule(ABC):
    """One rule of a policy; what it does not say of itself is taken to be the worst."""

    __slots__ = ()

    name: ClassVar[str]
    about_figures: ClassVar[bool] = False
    """Whether it is about the published figures, whoever looks at them."""

    about_hidden: ClassVar[bool] = False
    """Whether it is about what is worked out alone, so that whoever shows a count may know it."""

    suppressible: ClassVar[bool] = False
    """Whether it says by itself which figures to hide (`unshown`) and what is enough (`asked`)."""

    exempts_empty_rows: ClassVar[bool] = False
    """Whether rows that are published as empty matter to it: it leaves their cells out."""

    @property
    @abstractmethod
    def sentence(self) -> str:
        """The rule in plain words."""

    @abstractmethod
    def findings(self, attacker: Attacker, cells: Cells | None = None) -> Iterator[Finding]:
        """What the rule finds before an attacker: everywhere, or about some cells only."""

    def why_not_monotone(self, *, independent: bool) -> str:
        """Why publishing more may mend what is broken; empty if it never can.

        `independent` says that it is judged without the true counts.
        """
        return f"publishing more may mend what breaks the rule {self.name}, for all that is known"

    def carries_over(self) -> bool:
        """Whether a table keeps the rule if the published table does, of which it has the parts.

        Each cell of the published table is the sum of its parts, and nothing else is said of them.
        So a part that is its cell's only possible one (the others are structural zeros) has the
        attainable counts S of the cell; every other possible part has {0, ..., max S}. Structural
        zeros and rows published as empty are left out of both. Every table is as good as the true
        one here, so this holds without the true counts as well.
        """
        return False

    def unproven(
        self, table: Table, exempt: BoolArray, least: IntArray, most: IntArray
    ) -> BoolArray:
        """The cells for which the rule is not known to be kept, or that could help to keep it.

        Every count from `least` to `most` is known to be attainable in its cell; unless the rule
        asks for more counts than two (`many_values`), these two need only be.
        """
        return np.ones(table.counts.shape, dtype=bool)

    def tells(self) -> bool:
        """Whether that a table keeps the rule tells it from others that fit the same release.

        It does not if for every release either all tables that fit keep the rule or none does.
        """
        return True

    def breaking(self, crowd: Crowd) -> BoolArray:
        """Which tables of a crowd break the rule, if an intruder takes just these for possible."""
        outcomes = (self.findings(crowd.owned(place)) for place in range(len(crowd)))
        broken = [any(finding.outcome is Outcome.UNSAFE for finding in table) for table in outcomes]
        return np.array(broken, dtype=bool)

    def unshown(self, counts: IntArray) -> BoolArray:
        """Which counts may not be shown as they are."""
        return np.zeros(counts.shape, dtype=bool)

    def asked(self, count: int) -> tuple[int, int, int]:
        """How far attainable counts must go above and below a count, and how wide they must be."""
        return 0, 0, 0

    @property
    def small(self) -> int | None:
        """The largest count that the rule calls small, if it has a threshold."""
        return None

    @property
    def smallest(self) -> int:
        """The smallest count that the rule speaks of."""
        return 0

    @property
    def least_shown(self) -> int:
        """The smallest count that may be shown as it is."""
        return 0

    @property
    def by_ends(self) -> bool:
        """Whether a cell breaks the rule exactly if `unproven` says so of what is attainable.

        Rules about figures alone, which `unproven` says nothing of, are of this kind.
        """
        return self.about_figures

    @property
    def many_values(self) -> bool:
        """Whether more attainable counts are asked for than the two ends of an interval."""
        return False

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables that the rule names."""
        return ()

    @property
    def kept_by_sums(self) -> bool:
        """Whether sums of counts that are shown exactly keep the rule if all these counts do."""
        return False

    def fits(self, domain: Domain, over: Sequence[str]) -> bool:
        """Whether it makes sense to ask about cells of these variables."""
        return set(self.variables) <= set(over)

    def check(self, domain: Domain, over: tuple[str, ...]) -> None:
        """Refuse to be asked about cells of these variables, if that makes no sense."""
        for name in domain.distinct(self.variables):
            if name not in over:
                raise InvalidInput(
                    f"the rule {self.name} names {name!r}, which is not among the variables judged "
                    f"({', '.join(over)}); add it to over=, or take another policy"
                )

    def within(self, names: Mapping[str, str]) -> Self | None:
        """The rule about a margin; None if it cannot be asked there. See ``Policy.within``."""
        return self

    def among(self, part: str, names: tuple[str, ...]) -> Self:
        """The rule about the records of one level of `part`, judged over `names`."""
        return self

    def speaks_of(self, count: int) -> bool:
        """Whether the rule speaks of a cell with this true count."""
        return True

    def spoken_of(self, attacker: Attacker, cells: Cells | None) -> Iterator[tuple[int, ...]]:
        """The cells that the rule speaks of; without the true counts all that are not exempt."""
        for index in np.ndindex(attacker.domain.shape) if cells is None else cells:
            counts = attacker.counts
            if not attacker.exempt[index] and (
                counts is None or self.speaks_of(int(counts[index]))
            ):
                yield index

    def to_dict(self) -> dict[str, Any]:
        """Plain values; fractions as text."""
        plain: dict[str, Any] = {"rule": self.name}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Fraction):
                value = str(value)
            if value is not None:
                plain[field.name] = list(value) if isinstance(value, tuple) else value
        return plain

    def _of(self, what: str) -> str:
        return f"{what} of the rule {self.name}"


class ReleaseRule(Rule):
    """A rule that is kept by all tables that fit a release, or by none of them."""

    __slots__ = ()

    def tells(self) -> bool:
        """Never."""
        return False

    def breaking(self, crowd: Crowd) -> BoolArray:
        """All or none."""
        broken = any(finding.outcome is Outcome.UNSAFE for finding in self.findings(crowd))
        return np.full(len(crowd), broken)


class CellRule(Rule):
    """A rule that is decided cell by cell from the attainable counts."""

    __slots__ = ()

    exempts_empty_rows: ClassVar[bool] = True

    @property
    def by_ends(self) -> bool:
        """Yes: cell by cell, from the attainable counts."""
        return True

    @abstractmethod
    def broken(self, values: ValueSet, truths: ValueSet) -> bool | None:
        """Whether a cell breaks the rule; `truths` are the counts that it may truly hold."""

    @abstractmethod
    def lacks(self, values: ValueSet) -> str:
        """What a cell lacks that breaks the rule, in words."""

    def lacking(self, counts: IntArray, least: IntArray, most: IntArray) -> BoolArray:
        """Which of these true counts are not known to keep the rule; see `unproven`."""
        return np.ones(counts.shape, dtype=bool)

    def unproven(
        self, table: Table, exempt: BoolArray, least: IntArray, most: IntArray
    ) -> BoolArray:
        """The cells that still lack something, each by its own counts."""
        return self.lacking(table.counts, least, most) & ~exempt

    def findings(self, attacker: Attacker, cells: Cells | None = None) -> Iterator[Finding]:
        """One finding for each cell that the rule speaks of."""
        # Many cells may share a set, as those do that a release cannot tell apart.
        surely_kept = once_per_set(lambda values: self.broken(values, EVERYTHING) is False)
        evidence = once_per_set(_evidence)
        for index in self.spoken_of(attacker, cells):

            def broken_by(values: ValueSet, index: tuple[int, ...] = index) -> bool | None:
                # Which counts may be true costs work only where it matters.
                if surely_kept(values):
                    return False
                truths = attacker.truths(index, values)
                broken = self.broken(values, truths)
                if broken and attacker.case.outside and not self.always_broken(values, truths):
                    return None  # in some of the tables that fit
                return broken

            broken, values = attacker.decided(index, broken_by)
            words, change = evidence(values), OPEN
            if broken is None and attacker.case.outside and values.settled:
                words, change = f"{words}; {DEPENDS}", f"{self.lacks(values)}: {attacker.remedy}"
            if broken:
                lacks = self.lacks(values)
                change = f"{lacks}: {attacker.remedy}" if lacks else attacker.remedy
            yield attacker.finding(self, index, broken, words, change, values)

    def outcome_outside(self, values: ValueSet) -> Outcome:
        """What an outsider can say of a cell with these attainable counts.

        UNSAFE if it breaks the rule whichever of them is true, SAFE if it does for none of them.
        """
        broken = self.broken(values, values)
        if broken and not self.always_broken(values, values):
            return Outcome.UNDECIDED
        return Outcome.of(broken)

    def always_broken(self, values: ValueSet, truths: ValueSet) -> bool:
        """Whether a cell breaks the rule whichever of these counts it truly holds.

        A rule is about single counts or small ones: a cell that may hold any of many keeps it.
        """
        possible = truths.possible
        if isinstance(possible.size, Unbounded) or possible.size > MOST_TRUTHS:
            return False
        return all(self.broken(values, ValueSet.from_values([count])) for count in possible)

    def breaking(self, crowd: Crowd) -> BoolArray:
        """Cell by cell: tables with the same count there are alike."""
        broken = np.zeros(len(crowd), dtype=bool)
        for cell in np.flatnonzero(~crowd.exempt.ravel()).tolist():
            counts, alike = crowd.columns(cell)
            values = ValueSet.from_values(counts)
            wrong = [
                self.speaks_of(count) and self.broken(values, ValueSet.from_values([count])) is True
                for count in counts
            ]
            broken |= np.array(wrong, dtype=bool)[alike]
        return broken


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdRule(Rule):
    """A rule about small counts: at most a threshold, or below one."""

    at_most: int | None = None
    below: int | None = None

    def _check_threshold(self) -> None:
        if (self.at_most is None) == (self.below is None):
            raise InvalidInput(
                f"the rule {self.name} needs one threshold: at_most= (counts <= it are small) or "
                "below= (counts < it are small)"
            )
        if self.at_most is not None:
            check_whole(self, "at_most", 0)
        else:
            check_whole(self, "below", 1)

    @property
    def small(self) -> int:
        """The largest count that is small."""
        # One of the two is given: checked when the rule is made.
        return self.at_most if self.at_most is not None else (self.below or 0) - 1

    def speaks_of(self, count: int) -> bool:
        """Whether a count is small."""
        return self.smallest <= count <= self.small

    @property
    def threshold_text(self) -> str:
        """Which counts are small, in words."""
        zeros = "zeros included" if self.smallest == 0 else "but not zero"
        if self.at_most is not None:
            return f"of at most {self.at_most} (<= {self.at_most}; {zeros})"
        return f"below {self.below} (< {self.below}; {zeros})"


def once_per_set(answer: Callable[[ValueSet], Answer]) -> Callable[[ValueSet], Answer]:
    """The same function, worked out once for all cells that share a set."""
    answers: dict[int, tuple[ValueSet, Answer]] = {}

    def remembered(values: ValueSet) -> Answer:
        if id(values) not in answers:
            # Keeping the set keeps its number from being given to another one.
            answers[id(values)] = values, answer(values)
        return answers[id(values)][1]

    return remembered


def _evidence(values: ValueSet) -> str:
    """The attainable counts in words, or as much of them as is known."""
    if values.settled:
        size = values.size
        if size == 1:
            return f"the only attainable count is {values.text()}"
        many = "endlessly many" if isinstance(size, Unbounded) else str(size)
        return f"{many} attainable counts: {values.text(RUNS)}"
    possible, known = values.possible, values.known
    ends = f"from {possible.smallest} to {shown(possible.largest)}"
    return f"{ends}; attained: {known.text(RUNS)}" if known.progressions else ends


def listed(names: list[str]) -> str:
    """Alternatives in words."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def check_whole(rule: Rule, what: str, least: int) -> None:
    """Refuse what is no whole number from `least` on."""
    value = getattr(rule, what)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidInput(
            f"{what} of the rule {rule.name} is {value!r}; give a whole number, {least} or more"
        )


def check_bool(rule: Rule, what: str) -> None:
    """Refuse what is neither true nor false."""
    value = getattr(rule, what)
    if not isinstance(value, bool):
        raise InvalidInput(f"{what} of the rule {rule.name} is {value!r}; give true or false")


def all_true(answers: Iterable[bool | None]) -> bool | None:
    """Whether all hold; None if none fails but some are open."""
    seen = set(answers)
    return False if False in seen else None if None in seen else True


def any_true(answers: Iterable[bool | None]) -> bool | None:
    """Whether one holds; None if none does but some are open."""
    seen = set(answers)
    return True if True in seen else None if None in seen else False


def largest_within(values: ValueSet, low: int, high: int) -> int | None:
    """The largest member from `low` to `high`, or None.

    Examples
    --------
    >>> largest_within(ValueSet([(1, None, 3)]), 0, 6), largest_within(ValueSet([(5, 9, 2)]), 0, 4)
    (4, None)
    """
    tops = []
    for first, last, step in values.progressions:
        top = high if last is None else min(high, last)
        top -= (top - first) % step
        if top >= max(low, first):
            tops.append(top)
    return max(tops, default=None)


def some_within(values: ValueSet, low: int, high: int) -> bool | None:
    """Whether a count from `low` to `high` is attainable."""
    if largest_within(values, low, high) is not None:
        return True
    return None if largest_within(values.possible, low, high) is not None else False


def width_of(values: ValueSet) -> int | Unbounded:
    """The largest member of a settled set less its smallest; 0 if it is empty."""
    if not values.progressions:
        return 0
    largest = values.largest
    return largest if isinstance(largest, Unbounded) else largest - values.smallest


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
