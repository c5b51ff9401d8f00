"""A policy: named rules, and how they are to be applied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from cellbounds.disclosure.policies.rules import (
    GroupDisclosure,
    MinimumCount,
    PosteriorChance,
    Rule,
    SmallCounts,
)
from cellbounds.errors import InvalidInput

__all__ = ["DEFAULT", "FORMAT", "Policy"]

FORMAT = "cellbounds-policy/1"

DEFAULT = "small-counts"
"""The profile that judges when none is named."""

FEW = 3
"""The largest count of a cell in which a respondent is tried, if no rule has a threshold."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What makes a release safe, under a name that every output repeats.

    Parameters
    ----------
    name, title, description
        A short name, one line, and some sentences.
    rules
        Each kind of rule at most once. A release is safe if none is broken.
    modelled_on
        Whose practice it follows, and where it is only our reading of it.
    respondent
        Also judge what somebody would learn who is himself in a small cell, for each such cell.
    respondent_at_most
        Which cells are small for that: by default the largest threshold among the rules, or 3.

    Examples
    --------
    >>> policy = Policy("house", rules=[SmallCounts(at_most=3, values=2)], respondent=True)
    >>> print(policy)
    policy house
      small-counts: a true count of at most 3 (<= 3; zeros included) must keep at least 2
      attainable counts (>= 2)
      respondent: the rules also hold for what somebody knows who is in a cell of 1 to 3 (<= 3)
    """

    name: str
    title: str = ""
    description: str = ""
    rules: tuple[Rule, ...] = ()
    modelled_on: str = ""
    respondent: bool = False
    respondent_at_most: int | None = None

    def __post_init__(self) -> None:
        for what in ("name", "title", "description", "modelled_on"):
            if not isinstance(getattr(self, what), str):
                raise InvalidInput(f"{what} of a policy is {getattr(self, what)!r}; give a text")
        if not self.name.strip():
            raise InvalidInput("the policy has no name; every output names its policy: give name=")
        what = f"the policy {self.name!r}"
        object.__setattr__(self, "rules", tuple(self.rules))
        for rule in self.rules:
            if not isinstance(rule, Rule):
                raise InvalidInput(
                    f"{what} has {rule!r} among its rules; give rules such as SmallCounts(...)"
                )
        if not self.rules:
            raise InvalidInput(f"{what} has no rule, so that everything is safe; add one")
        names = [rule.name for rule in self.rules]
        for name in names:
            if names.count(name) > 1:
                raise InvalidInput(
                    f"{what} has the rule {name} twice; keep one of them (the stricter one), or "
                    "make two policies and judge by each"
                )
        if not isinstance(self.respondent, bool):
            raise InvalidInput(f"{what}: respondent is {self.respondent!r}; give true or false")
        self._check_respondent(what)

    def _check_respondent(self, what: str) -> None:
        most = self.respondent_at_most
        if most is not None:
            if isinstance(most, bool) or not isinstance(most, int) or most < 1:
                raise InvalidInput(
                    f"{what}: respondent_at_most is {most!r}; give a whole number, 1 or more"
                )
            if not self.respondent:
                raise InvalidInput(
                    f"{what}: respondent_at_most is given without respondent = true; add it, or "
                    "leave respondent_at_most out"
                )
        if self.respondent and all(isinstance(rule, MinimumCount) for rule in self.rules):
            raise InvalidInput(
                f"{what}: respondent is true, but no rule asks what can be worked out; add one, "
                "such as small-counts"
            )

    @property
    def small(self) -> int:
        """The largest count of a cell in which a respondent is tried."""
        if self.respondent_at_most is not None:
            return self.respondent_at_most
        thresholds = [
            rule.small for rule in self.rules if isinstance(rule, SmallCounts | PosteriorChance)
        ]
        return max([most for most in thresholds if most > 0], default=FEW)

    @property
    def many_values(self) -> bool:
        """Whether a rule asks for more attainable counts than the two ends of an interval."""
        counted = (rule.values for rule in self.rules if isinstance(rule, SmallCounts))
        return any(least is not None and least > 2 for least in counted)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Every rule in plain words, with its name."""
        said = [f"{rule.name}: {rule.sentence}" for rule in self.rules]
        if self.respondent:
            said.append(
                "respondent: the rules also hold for what somebody knows who is in a cell of 1 to "
                f"{self.small} (<= {self.small})"
            )
        return tuple(said)

    def within(self, names: Mapping[str, str]) -> Policy | None:
        """The rules that can be asked about a margin; None if none looks further than the figures.

        `names` are the variables of the margin, by the variables that rules may name: derived ones
        stand for what they are made of. A rule about rows of variables that the margin does not
        have, or that leaves no response among them, is left to the whole table.
        """
        rules: list[Rule] = []
        for rule in self.rules:
            if isinstance(rule, GroupDisclosure):
                asked = {*(rule.responses or ()), *(rule.given or ())}
                if not asked <= set(names) or set(rule.given or ()) == set(names):
                    continue
                rule = replace(
                    rule,
                    responses=rule.responses and tuple(names[name] for name in rule.responses),
                    given=rule.given and tuple(names[name] for name in rule.given),
                )
            rules.append(rule)
        if all(isinstance(rule, MinimumCount) for rule in rules):
            return None  # figures that are shown are the same, whatever margin is asked about
        return replace(self, rules=tuple(rules))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, versioned, as they stand in a policy file; and each rule in words."""
        said: dict[str, Any] = {
            "format": FORMAT,
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "modelled_on": self.modelled_on,
            "respondent": self.respondent,
        }
        if self.respondent_at_most is not None:
            said["respondent_at_most"] = self.respondent_at_most
        return said | {
            "rule": [rule.to_dict() for rule in self.rules],
            "sentences": list(self.sentences),
        }

    def __str__(self) -> str:
        title = f"policy {self.name}" + (f": {self.title}" if self.title else "")
        return "\n".join([title, *(f"  {sentence}" for sentence in self.sentences)])
