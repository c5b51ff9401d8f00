"""Changes that make a release say less, each with a sentence for the person who decides.

Which of them are worth trying for a release is said at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from cellbounds.data.domain import Domain, Label
from cellbounds.disclosure.policies import Policy
from cellbounds.disclosure.suggesting.planning import Drafts, Plan
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


@dataclass(frozen=True, slots=True)
class FewerDigits:
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

    def applied(self, plan: Plan) -> Plan | None:
        """The plan with this change; None if it changes nothing there."""
        changed = plan
        for place in self.places:
            planned = plan.statements[place]
            if planned is None or planned.given is None:
                return None
            if planned.digits is not None and planned.digits <= self.digits:
                return None
            rounding = planned.rounding or "nearest"
            coarser = replace(
                planned, digits=self.digits, rounding=rounding, eps=None, strict=False
            )
            changed = changed.with_statement(place, coarser)
        return changed

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return _said(self, statements=list(self.notations), digits=self.digits)


@dataclass(frozen=True, slots=True)
class CoarserCounts:
    """Counts of margins rounded to multiples of a base, or of a larger one."""

    kind: ClassVar[str] = "coarser-counts"

    places: tuple[int, ...]
    base: int
    notations: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """What to do, in words."""
        return f"round the counts of {_listed(self.notations)} to multiples of {self.base}"

    def applied(self, plan: Plan) -> Plan | None:
        """The plan with this change; None if it changes nothing there."""
        changed = plan
        for place in self.places:
            planned = plan.statements[place]
            if planned is None or planned.given is not None or planned.below is not None:
                return None
            if planned.base is not None and planned.base >= self.base:
                return None
            rounding = planned.rounding or "nearest"
            changed = changed.with_statement(
                place, replace(planned, base=self.base, rounding=rounding)
            )
        return changed

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return _said(self, statements=list(self.notations), base=self.base)


@dataclass(frozen=True, slots=True)
class HideSmall:
    """Small counts of a margin shown as "<5"."""

    kind: ClassVar[str] = "hide-small"

    places: tuple[int, ...]
    below: int
    notations: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """What to do, in words."""
        return f'show counts below {self.below} of {_listed(self.notations)} as "<{self.below}"'

    def applied(self, plan: Plan) -> Plan | None:
        """The plan with this change; None if it changes nothing there."""
        changed = plan
        for place in self.places:
            planned = plan.statements[place]
            if planned is None or planned.given is not None or not planned.exact:
                return None
            changed = changed.with_statement(place, replace(planned, below=self.below))
        return changed

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return _said(self, statements=list(self.notations), below=self.below)


@dataclass(frozen=True, slots=True)
class MergeLevels:
    """Levels of a variable published together, in every statement that names it."""

    kind: ClassVar[str] = "merge-levels"

    variable: str
    levels: tuple[Label, ...]
    groups: tuple[tuple[int, ...], ...]

    @property
    def merged(self) -> tuple[tuple[Label, ...], ...]:
        """The levels that are merged, group by group."""
        return tuple(
            tuple(self.levels[place] for place in group) for group in self.groups if len(group) > 1
        )

    @property
    def sentence(self) -> str:
        """What to do, in words."""
        groups = "; ".join(_listed([str(level) for level in group]) for group in self.merged)
        return f"merge {groups} of {self.variable}"

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

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        merged = [[str(level) for level in group] for group in self.merged]
        return _said(self, variable=self.variable, levels=merged)


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
class DropVariable:
    """A statement without one of its variables."""

    kind: ClassVar[str] = "drop-variable"

    place: int
    variable: str
    notation: str

    @property
    def sentence(self) -> str:
        """What to do, in words."""
        return f"drop {self.variable} from {self.notation}"

    def applied(self, plan: Plan) -> Plan | None:
        """The plan with this change; None if it changes nothing there."""
        planned = plan.statements[self.place]
        if planned is None or self.variable not in planned.names:
            return None
        responses = tuple(one for one in planned.responses if one != self.variable)
        if not responses:
            return None
        given = planned.given
        if given is not None:
            given = tuple(one for one in given if one != self.variable)
        changed = plan.with_statement(
            self.place, replace(planned, responses=responses, given=given)
        )
        return _consistent(changed)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return _said(self, statements=[self.notation], variable=self.variable)


@dataclass(frozen=True, slots=True)
class Withhold:
    """A statement that is not published."""

    kind: ClassVar[str] = "withhold"

    place: int
    notation: str

    @property
    def sentence(self) -> str:
        """What to do, in words."""
        return f"withhold {self.notation}"

    def applied(self, plan: Plan) -> Plan | None:
        """The plan with this change; None if it changes nothing there or leaves nothing."""
        if plan.statements[self.place] is None and self.place not in plan.whole:
            return None
        whole = tuple(place for place in plan.whole if place != self.place)
        changed = replace(plan.with_statement(self.place, None), whole=whole)
        return None if changed.empty else _consistent(changed)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return _said(self, statements=[self.notation])


@dataclass(frozen=True, slots=True)
class WithholdTotal:
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
        margins = [one for one in plan.statements if one is not None and one.given is None]
        told = any(one.exact for one in margins)
        needless = told or plan.empty or not plan.total
        return None if needless else replace(plan, total=False)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return _said(self)


@dataclass(frozen=True, slots=True)
class Suppress:
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

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        labels = [[str(label) for label in figure] for figure in self.figures]
        return _said(
            self, statements=[self.notation], variables=list(self.variables), figures=labels
        )


Planable = (
    FewerDigits | CoarserCounts | HideSmall | MergeLevels | DropVariable | Withhold | WithholdTotal
)
"""Changes that are known beforehand; which figures to suppress is found by judging."""

Change = Planable | Suppress


def _consistent(plan: Plan) -> Plan | None:
    """None if levels are merged of a variable that nothing names any more."""
    return plan if all(variable in plan.names for variable, _ in plan.merges) else None


def _said(change: Change, **more: Any) -> dict[str, Any]:
    return {"kind": change.kind, "sentence": change.sentence, **more}


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


MOST_DIGITS = 4
"""Decimals that are tried first instead of exact rates."""

BASES = (3, 5, 10)
"""Bases that counts are rounded to."""

FEW = 8
"""Up to so many levels every run of neighbours is merged; beyond, pairs and even blocks."""


def proposals(drafts: Drafts, policy: Policy) -> list[Planable]:
    """Single changes, in a fixed order."""
    plan = drafts.first
    notations = {
        place: drafts.release.statements[place].notation
        for place, planned in enumerate(plan.statements)
        if planned is not None
    }
    found: list[Planable] = []
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
