"""Changes that make a release say less, each with a sentence for the person who decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from cellbounds.data.domain import Label
from cellbounds.disclosure.suggesting.planning import Plan

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
