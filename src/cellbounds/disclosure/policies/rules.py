"""Rules of a policy: what a release must not give away, in exact numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar

from cellbounds.errors import InvalidInput
from cellbounds.model.priors import NAMED
from cellbounds.statements.numbers import exact_number

__all__ = [
    "RULES",
    "ExactDisclosure",
    "GroupDisclosure",
    "MinimumCount",
    "PosteriorChance",
    "Rule",
    "SmallCounts",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallCounts:
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

    at_most: int | None = None
    below: int | None = None
    zeros: bool = True
    values: int | None = None
    width: int | None = None
    relative: Fraction | None = None
    need: str = "all"

    def __post_init__(self) -> None:
        _check_threshold(self.at_most, self.below, self.name)
        _check_bool(self.zeros, "zeros", self.name)
        if self.relative is not None:
            object.__setattr__(self, "relative", exact_number(self.relative, _of(self, "relative")))
        if self.need not in ("all", "any"):
            raise InvalidInput(f"{_of(self, 'need')} is {self.need!r}; choose 'all' or 'any'")
        if self.values is None and self.width is None and self.relative is None:
            raise InvalidInput(
                f"the rule {self.name} asks for nothing; give values=, width= or relative="
            )
        for what, least in (("values", 2), ("width", 1), ("relative", None)):
            given = getattr(self, what)
            if given is None:
                continue
            if least is not None:
                _check_whole(given, 0, what, self.name)
            if given <= 0 or (least is not None and given < least):
                raise InvalidInput(
                    f"{_of(self, what)} is {given}, which every count has, so that the rule can "
                    f"never fail; give {least or 'a number above 0'}"
                    f"{' or more' if least else ''}"
                )
        if not self.zeros and self.small < 1:
            raise InvalidInput(
                f"the rule {self.name} speaks of counts of at most {self.small} without zeros: "
                "there are none; raise the threshold or give zeros=True"
            )

    @property
    def small(self) -> int:
        """The largest count that is small."""
        return _small(self.at_most, self.below)

    @property
    def smallest(self) -> int:
        """The smallest count that the rule speaks of."""
        return 0 if self.zeros else 1

    @property
    def sentence(self) -> str:
        """The rule in plain words."""
        asked = []
        if self.values is not None:
            asked.append(f"at least {self.values} attainable counts (>= {self.values})")
        if self.width is not None:
            asked.append(f"an interval of upper - lower >= {self.width}")
        if self.relative is not None:
            asked.append(f"an interval of (upper - lower) / max(count, 1) >= {self.relative}")
        joined = (" and " if self.need == "all" else " or ").join(asked)
        return f"a true count {_threshold_text(self)} must keep {joined}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values; fractions as text."""
        return _plain(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactDisclosure:
    """No cell (`of`: any, zeros, positive) may have a single attainable count.

    Examples
    --------
    >>> print(ExactDisclosure(of="positive").sentence)
    no cell may have a single attainable count that is positive (> 0)
    """

    name: ClassVar[str] = "exact-disclosure"

    of: str = "any"

    def __post_init__(self) -> None:
        if self.of not in ("any", "zeros", "positive"):
            raise InvalidInput(
                f"{_of(self, 'of')} is {self.of!r}; choose 'any', 'zeros' or 'positive'"
            )

    @property
    def sentence(self) -> str:
        """The rule in plain words."""
        which = {"any": "", "zeros": " that is zero (= 0)", "positive": " that is positive (> 0)"}
        return f"no cell may have a single attainable count{which[self.of]}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return _plain(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupDisclosure:
    """Attribute disclosure: nobody may learn what all members of a row have in common.

    A row is a combination of the `given` variables (all but the response if not said) that holds
    somebody for certain. Each of the `responses` (all variables that are not given, if not said) is
    tried in turn. With `not_in`, nobody may learn either that no member is in some level.

    Examples
    --------
    >>> print(GroupDisclosure(responses=["income"]).sentence)
    nobody may learn that all members of a row (which holds >= 1 for certain) are in one level of
    income; rows are combinations of all other variables
    """

    name: ClassVar[str] = "group-disclosure"

    responses: tuple[str, ...] | None = None
    given: tuple[str, ...] | None = None
    not_in: bool = False

    def __post_init__(self) -> None:
        for what in ("responses", "given"):
            object.__setattr__(self, what, _variables(getattr(self, what), what, self.name))
        _check_bool(self.not_in, "not_in", self.name)
        both = [name for name in self.responses or () if name in (self.given or ())]
        if both:
            raise InvalidInput(
                f"the rule {self.name} has {both[0]!r} among its responses and its given "
                "variables; name it in one of the two"
            )

    @property
    def sentence(self) -> str:
        """The rule in plain words."""
        which = "any variable" if self.responses is None else ", ".join(self.responses)
        if self.responses is None and self.given is not None:
            which = "any other variable"
        rows = "all other variables" if self.given is None else ", ".join(self.given)
        also = ", or that none of them is in some level" if self.not_in else ""
        return (
            "nobody may learn that all members of a row (which holds >= 1 for certain) are in one "
            f"level of {which}{also}; rows are combinations of {rows}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return _plain(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class PosteriorChance:
    """Nobody may be too sure that a small count is small.

    For a cell whose true count is small, the posterior probability (under a named prior) of a
    count up to the threshold (with `positive`: and of at least 1) may not exceed `probability`.
    Estimates decide only at the Monte Carlo level `confidence`; without it they decide nothing.

    Examples
    --------
    >>> print(PosteriorChance(at_most=3, probability="0.9").sentence)
    for a true count of at most 3 (<= 3; zeros included) the posterior probability of such a count
    must be at most 9/10 (<= 9/10; prior: uniform)
    """

    name: ClassVar[str] = "posterior"

    at_most: int | None = None
    below: int | None = None
    probability: Fraction | None = None
    prior: str = "uniform"
    positive: bool = False
    confidence: Fraction | None = None

    def __post_init__(self) -> None:
        _check_threshold(self.at_most, self.below, self.name)
        _check_bool(self.positive, "positive", self.name)
        if self.probability is None:
            raise InvalidInput(f"the rule {self.name} needs probability=, such as '0.9'")
        for what, least in (("probability", Fraction(0)), ("confidence", Fraction(1, 2))):
            given = getattr(self, what)
            if given is None:
                continue
            number = exact_number(given, _of(self, what))
            if not least < number < 1:
                raise InvalidInput(
                    f"{_of(self, what)} is {given}; give a number above {least} and below 1"
                )
            object.__setattr__(self, what, number)
        if not isinstance(self.prior, str) or self.prior not in NAMED:
            raise InvalidInput(
                f"{_of(self, 'prior')} is {self.prior!r}; choose one of {', '.join(NAMED)}"
            )
        if self.positive and self.small < 1:
            raise InvalidInput(
                f"the rule {self.name} speaks of positive counts of at most {self.small}: there "
                "are none; raise the threshold"
            )

    @property
    def small(self) -> int:
        """The largest count that is small."""
        return _small(self.at_most, self.below)

    @property
    def smallest(self) -> int:
        """The smallest count that the rule speaks of."""
        return 1 if self.positive else 0

    @property
    def sentence(self) -> str:
        """The rule in plain words."""
        limit = self.probability
        sure = f"; estimates at confidence {self.confidence}" if self.confidence else ""
        return (
            f"for a true count {_threshold_text(self)} the posterior probability of such a count "
            f"must be at most {limit} (<= {limit}; prior: {self.prior}{sure})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values; fractions as text."""
        return _plain(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class MinimumCount:
    """No count below a minimum may be shown: a rule about the published figures themselves.

    It speaks of N and of the entries of margins that show one figure, exact or rounded. With
    ``zeros=False`` a zero may be shown.

    Examples
    --------
    >>> print(MinimumCount(at_least=10).sentence)
    a count that is shown in a margin, exact or rounded, must be at least 10 (>= 10; zeros included)
    """

    name: ClassVar[str] = "minimum-count"

    at_least: int
    zeros: bool = True

    def __post_init__(self) -> None:
        _check_whole(self.at_least, 1, "at_least", self.name)
        _check_bool(self.zeros, "zeros", self.name)
        if self.at_least == 1 and not self.zeros:
            raise InvalidInput(
                f"the rule {self.name} with at_least=1 and without zeros can never fail; raise "
                "at_least or give zeros=True"
            )

    @property
    def sentence(self) -> str:
        """The rule in plain words."""
        zeros = "zeros included" if self.zeros else "zeros may be shown"
        return (
            "a count that is shown in a margin, exact or rounded, must be at least "
            f"{self.at_least} (>= {self.at_least}; {zeros})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return _plain(self)


Rule = SmallCounts | ExactDisclosure | GroupDisclosure | PosteriorChance | MinimumCount

RULES: dict[str, type[Rule]] = {
    rule.name: rule
    for rule in (SmallCounts, ExactDisclosure, GroupDisclosure, PosteriorChance, MinimumCount)
}
"""Every kind of rule by its name."""


def _of(rule: Rule, what: str) -> str:
    return f"{what} of the rule {rule.name}"


def _check_whole(value: object, least: int, what: str, name: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidInput(
            f"{what} of the rule {name} is {value!r}; give a whole number, {least} or more"
        )


def _check_bool(value: object, what: str, name: str) -> None:
    if not isinstance(value, bool):
        raise InvalidInput(f"{what} of the rule {name} is {value!r}; give true or false")


def _check_threshold(at_most: object, below: object, name: str) -> None:
    if (at_most is None) == (below is None):
        raise InvalidInput(
            f"the rule {name} needs one threshold: at_most= (counts <= it are small) or below= "
            "(counts < it are small)"
        )
    if at_most is not None:
        _check_whole(at_most, 0, "at_most", name)
    else:
        _check_whole(below, 1, "below", name)


def _small(at_most: int | None, below: int | None) -> int:
    if at_most is not None:
        return at_most
    assert below is not None  # one of the two is given: checked when the rule is made
    return below - 1


def _threshold_text(rule: SmallCounts | PosteriorChance) -> str:
    zeros = "zeros included" if rule.smallest == 0 else "but not zero"
    if rule.at_most is not None:
        return f"of at most {rule.at_most} (<= {rule.at_most}; {zeros})"
    return f"below {rule.below} (< {rule.below}; {zeros})"


def _variables(given: Iterable[str] | None, what: str, name: str) -> tuple[str, ...] | None:
    if given is None:
        return None
    listed = () if isinstance(given, str) or not isinstance(given, Iterable) else tuple(given)
    texts = all(isinstance(one, str) for one in listed)
    if not listed or not texts or len(set(listed)) < len(listed):
        raise InvalidInput(
            f"{what} of the rule {name} is {given!r}; give a list of different variables, or "
            "leave it out"
        )
    return listed


def _plain(rule: Rule) -> dict[str, Any]:
    said: dict[str, Any] = {"rule": rule.name}
    for field in fields(rule):
        value = getattr(rule, field.name)
        if value is None:
            continue
        if isinstance(value, Fraction):
            value = str(value)
        said[field.name] = list(value) if isinstance(value, tuple) else value
    return said
