"""Changes that make a release say less, each with a sentence for the person who decides.

Which of them are worth trying for a release is said at the end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from cellbounds.data.domain import Domain, Label
from cellbounds.disclosure.policies import Policy
from cellbounds.disclosure.suggesting.plans import Drafts, Plan
from cellbounds.statements.notation import Request
from cellbounds.utility.retained import shares_out

__all__ = [
    "Change",
    "CoarserCounts",
    "DropVariable",
    "FewerDigits",
    "HideSmall",
    "MergeLevels",
    "Suppress",
    "Withhold",
    "WithholdTotal",
    "proposals",
]


NAMED = 6
"""Suppressed figures that a sentence names."""


class Change(ABC):
    """What is different from the release that was asked about."""

    __slots__ = ()

    kind: ClassVar[str]

    @property
    @abstractmethod
    def sentence(self) -> str:
        """What to do, in words."""

    @property
    def details(self) -> dict[str, Any]:
        """What is changed, as plain values."""
        return {}

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"kind": self.kind, "sentence": self.sentence, **self.details}


class PlannedChange(Change):
    """A change that is known beforehand; which figures to suppress is found by judging."""

    __slots__ = ()

    @abstractmethod
    def applied(self, plan: Plan) -> Plan | None:
        """The plan with this change; None if it changes nothing there, or leaves nothing."""


class CoarserStatements(PlannedChange):
    """Some statements whose figures are shown more roughly."""

    __slots__ = ()

    places: tuple[int, ...]
    notations: tuple[str, ...]

    @abstractmethod
    def coarser(self, request: Request) -> Request | None:
        """How a statement is shown instead; None if that changes nothing."""

    def applied(self, plan: Plan) -> Plan | None:
        """The plan with this change; None if it changes nothing in one of the statements."""
        for place in self.places:
            request = plan.statements[place]
            coarser = None if request is None else self.coarser(request)
            if coarser is None:
                return None
            plan = plan.with_statement(place, coarser)
        return plan


@dataclass(frozen=True, slots=True)
class FewerDigits(CoarserStatements):
    """Rates with fewer decimals, or with some where they were exact."""

    kind: ClassVar[str] = "fewer-digits"

    places: tuple[int, ...]
    digits: int
    notations: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """What to do, in words."""
        decimals = f"{self.digits} decimal{'' if self.digits == 1 else 's'}"
        bare, _, before = self.notations[0].rpartition("@")
        if len(self.notations) > 1:
            return f"publish {_listed(self.notations)} with {decimals}"
        if not bare:
            return f"publish {before} with {decimals} instead of exactly"
        return f"publish {bare} with {decimals} instead of {before}"

    @property
    def details(self) -> dict[str, Any]:
        """Which statements, and their decimals."""
        return {"statements": list(self.notations), "digits": self.digits}

    def coarser(self, request: Request) -> Request | None:
        """Rates that have more decimals, or are exact."""
        more = request.digits is None or request.digits > self.digits
        if request.given is None or not more:
            return None
        return replace(request, digits=self.digits).ruled(request.rounding or "nearest")


@dataclass(frozen=True, slots=True)
class CoarserCounts(CoarserStatements):
    """Counts of margins rounded to multiples of a base, or of a larger one."""

    kind: ClassVar[str] = "coarser-counts"

    places: tuple[int, ...]
    base: int
    notations: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """What to do, in words."""
        return f"round the counts of {_listed(self.notations)} to multiples of {self.base}"

    @property
    def details(self) -> dict[str, Any]:
        """Which statements, and their base."""
        return {"statements": list(self.notations), "base": self.base}

    def coarser(self, request: Request) -> Request | None:
        """A margin that shows all its counts, and has no base or a smaller one."""
        finer = request.base is None or request.base < self.base
        if request.given is not None or request.below is not None or not finer:
            return None
        return replace(request, base=self.base, rounding=request.rounding or "nearest")


@dataclass(frozen=True, slots=True)
class HideSmall(CoarserStatements):
    """Small counts of a margin shown as "<5"."""

    kind: ClassVar[str] = "hide-small"

    places: tuple[int, ...]
    below: int
    notations: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """What to do, in words."""
        return f'show counts below {self.below} of {_listed(self.notations)} as "<{self.below}"'

    @property
    def details(self) -> dict[str, Any]:
        """Which statements, and up to where."""
        return {"statements": list(self.notations), "below": self.below}

    def coarser(self, request: Request) -> Request | None:
        """A margin that shows its counts as they are."""
        if request.given is not None or not request.exact:
            return None
        return replace(request, below=self.below)


@dataclass(frozen=True, slots=True)
class MergeLevels(PlannedChange):
    """Levels of a variable published together, in every statement that names it."""

    kind: ClassVar[str] = "merge-levels"

    variable: str
    levels: tuple[Label, ...]
    groups: tuple[tuple[int, ...], ...]

    @property
    def merged(self) -> list[list[str]]:
        """The levels that are merged, group by group."""
        larger = (group for group in self.groups if len(group) > 1)
        return [[str(self.levels[place]) for place in group] for group in larger]

    @property
    def sentence(self) -> str:
        """What to do, in words."""
        return f"merge {'; '.join(map(_listed, self.merged))} of {self.variable}"

    @property
    def details(self) -> dict[str, Any]:
        """The variable and its merged levels."""
        return {"variable": self.variable, "levels": self.merged}

    def applied(self, plan: Plan) -> Plan | None:
        """The plan with this change; None if it changes nothing there."""
        if self.variable not in plan.names:
            return None
        merges = dict(plan.merges)
        before = merges.get(self.variable)
        groups = self.groups if before is None else _joined(before, self.groups)
        if groups is None or len(groups) < 2:
            return None
        merges[self.variable] = groups
        return replace(plan, merges=tuple(sorted(merges.items())))


def _joined(
    first: Sequence[tuple[int, ...]], second: Sequence[tuple[int, ...]]
) -> tuple[tuple[int, ...], ...] | None:
    """Both merges at once; None if they overlap: a merge of its own says that better."""
    larger = [group for group in (*first, *second) if len(group) > 1]
    places = [place for group in larger for place in group]
    if len(set(places)) < len(places):
        return None
    lone = sorted({place for group in first for place in group} - set(places))
    return tuple(sorted([*larger, *((place,) for place in lone)]))


@dataclass(frozen=True, slots=True)
class DropVariable(PlannedChange):
    """A statement without one of its variables."""

    kind: ClassVar[str] = "drop-variable"

    place: int
    variable: str
    notation: str

    @property
    def sentence(self) -> str:
        """What to do, in words."""
        return f"drop {self.variable} from {self.notation}"

    @property
    def details(self) -> dict[str, Any]:
        """The statement and the variable."""
        return {"statements": [self.notation], "variable": self.variable}

    def applied(self, plan: Plan) -> Plan | None:
        """The plan with this change; None if it changes nothing there, or leaves no response."""
        request = plan.statements[self.place]
        if request is None or self.variable not in request.names:
            return None
        responses, given = (
            None if names is None else tuple(name for name in names if name != self.variable)
            for names in (request.responses, request.given)
        )
        if not responses:
            return None
        fewer = replace(request, responses=responses, given=given)
        return _consistent(plan.with_statement(self.place, fewer))


@dataclass(frozen=True, slots=True)
class Withhold(PlannedChange):
    """A statement that is not published."""

    kind: ClassVar[str] = "withhold"

    place: int
    notation: str

    @property
    def sentence(self) -> str:
        """What to do, in words."""
        return f"withhold {self.notation}"

    @property
    def details(self) -> dict[str, Any]:
        """The statement."""
        return {"statements": [self.notation]}

    def applied(self, plan: Plan) -> Plan | None:
        """The plan with this change; None if it changes nothing there or leaves nothing."""
        if plan.statements[self.place] is None and self.place not in plan.whole:
            return None
        whole = tuple(place for place in plan.whole if place != self.place)
        changed = replace(plan.with_statement(self.place, None), whole=whole)
        return None if changed.empty else _consistent(changed)


@dataclass(frozen=True, slots=True)
class WithholdTotal(PlannedChange):
    """N is not published."""

    kind: ClassVar[str] = "withhold-total"

    @property
    def sentence(self) -> str:
        """What to do, in words."""
        return "withhold N, which nobody may know from elsewhere"

    def applied(self, plan: Plan) -> Plan | None:
        """The plan with this change; None if it changes nothing there or leaves nothing.

        Exact margins tell N anyway.
        """
        requests = [one for one in plan.statements if one is not None]
        told = any(one.exact for one in requests if one.given is None)
        needless = told or plan.empty or not plan.total
        return None if needless else replace(plan, total=False)


@dataclass(frozen=True, slots=True)
class Suppress(Change):
    """Figures of a statement that are not shown."""

    kind: ClassVar[str] = "suppress"

    notation: str
    variables: tuple[str, ...]
    figures: tuple[tuple[Label, ...], ...]
    shown: int

    @property
    def sentence(self) -> str:
        """What to do, in words."""
        named = "; ".join(", ".join(map(str, labels)) for labels in self.figures[:NAMED])
        more = len(self.figures) - NAMED
        rest = f"; and {more} more" if more > 0 else ""
        count = f"{len(self.figures)} of the {self.shown} figures"
        return f"suppress {count} of {self.notation}: {named}{rest}"

    @property
    def details(self) -> dict[str, Any]:
        """The statement, its variables, and the labels of the figures."""
        labels = [[str(label) for label in figure] for figure in self.figures]
        return {
            "statements": [self.notation],
            "variables": list(self.variables),
            "figures": labels,
        }


def _consistent(plan: Plan) -> Plan | None:
    """None if levels are merged of a variable that nothing names any more."""
    return plan if all(variable in plan.names for variable, _ in plan.merges) else None


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


MOST_DIGITS = 4
"""Decimals that are tried first instead of exact rates."""

BASES = (3, 5, 10)
"""Bases that counts are rounded to."""

FEW = 8
"""Up to so many levels every run of neighbours is merged; beyond, pairs and even blocks."""


def proposals(drafts: Drafts, policy: Policy) -> list[PlannedChange]:
    """Single changes, in a fixed order."""
    plan = drafts.first
    notations = {
        place: drafts.release.statements[place].notation
        for place, planned in enumerate(plan.statements)
        if planned is not None
    }
    found: list[PlannedChange] = []
    for places in _together(plan, rates=True):
        named = tuple(notations[place] for place in places)
        found += [FewerDigits(places, digits, named) for digits in range(MOST_DIGITS, 0, -1)]
    for places in _together(plan, rates=False):
        named = tuple(notations[place] for place in places)
        found += [CoarserCounts(places, base, named) for base in BASES]
        found.append(HideSmall(places, _least_shown(policy), named))
    for variable in _merged_variables(drafts.domain, plan):
        found += _merges(drafts.domain, variable)
    for place, notation in notations.items():
        planned = plan.statements[place]
        assert planned is not None  # notations has the planned ones only
        found += [DropVariable(place, variable, notation) for variable in planned.names]
    statements = drafts.release.statements
    figureless = {place: statements[place].notation for place in plan.whole}
    found += [Withhold(place, said) for place, said in (notations | figureless).items()]
    possible = [change for change in found if change.applied(plan) is not None]
    # N comes last: it matters once no exact margin tells it.
    return [*possible, WithholdTotal()] if plan.total else possible


def _least_shown(policy: Policy) -> int:
    """The smallest count that no rule of the policy protects."""
    return max(2, policy.small + 1, *(rule.least_shown for rule in policy.rules))


def _together(plan: Plan, *, rates: bool) -> list[tuple[int, ...]]:
    """Each statement of rates (or margin) by itself, and all of them if there are several."""
    places = [
        place
        for place, planned in enumerate(plan.statements)
        if planned is not None and (planned.given is not None) == rates
    ]
    alone: list[tuple[int, ...]] = [(place,) for place in places]
    return [*alone, tuple(places)] if len(places) > 1 else alone


def _merged_variables(domain: Domain, plan: Plan) -> list[str]:
    """Named variables with three levels or more that share everybody out, in order."""
    named = [name for name in (*domain.names, *domain.groupings) if name in plan.names]
    return [name for name in named if len(domain.levels(name)) > 2 and shares_out(domain, name)]


def _merges(domain: Domain, variable: str) -> Iterator[MergeLevels]:
    """Pairs of neighbours first, then larger groups."""
    levels = domain.levels(variable)
    size = len(levels)
    longest = size - 1 if size <= FEW else 2
    for length in range(2, longest + 1):
        for first in range(size - length + 1):
            run = tuple(range(first, first + length))
            before = [(place,) for place in range(first)]
            after = [(place,) for place in range(first + length, size)]
            yield MergeLevels(variable, levels, (*before, run, *after))
    width = 2
    while size > FEW and width <= size // 2:
        blocks = [tuple(range(at, min(at + width, size))) for at in range(0, size, width)]
        yield MergeLevels(variable, levels, tuple(blocks))
        width *= 2
