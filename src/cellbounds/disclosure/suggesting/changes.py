"""Changes that make a release say less, each with a sentence for the person who decides.

Which of them are worth trying for a release is said at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from cellbounds.data.domain import Domain, Label
from cellbounds.disclosure.policies import Policy
from cellbounds.disclosure.suggesting.plans import Drafts, Plan
from cellbounds.statements import Tabulated
from cellbounds.statements.notation import Request
from cellbounds.text import counted

NAMED = 40
"""Suppressed figures that a sentence names; the details have them all."""

Places = tuple[int, ...]
"""Statements of the release, or levels of a variable, by where they stand."""


@dataclass(frozen=True, slots=True)
class Change:
    """What is different from the release that was asked about.

    Attributes
    ----------
    kind, sentence
        Its name for programs, and what to do, in words.
    details
        What is changed, as plain values.
    """

    kind: str
    sentence: str
    details: dict[str, Any] = field(compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"kind": self.kind, "sentence": self.sentence, **self.details}


@dataclass(frozen=True, slots=True)
class PlannedChange(Change):
    """A change that is known beforehand; which figures to suppress is found by judging.

    `applied` gives a plan with this change; None if it changes nothing there, or leaves nothing.
    """

    applied: Callable[[Plan], Plan | None] = field(compare=False, repr=False)


def suppressing(statement: Tabulated, figures: Sequence[tuple[Label, ...]], shown: int) -> Change:
    """Figures of a statement are not shown, of so many that were."""
    named = "; ".join(", ".join(map(str, labels)) for labels in figures[:NAMED])
    more = len(figures) - NAMED
    rest = f"; and {more} more (--format json has them all)" if more > 0 else ""
    count = f"{len(figures)} of the {counted(shown, 'figure')}"
    details = {
        "statements": [statement.notation],
        "variables": list(statement.variables),
        "figures": [[str(label) for label in labels] for labels in figures],
    }
    return Change("suppress", f"suppress {count} of {statement.notation}: {named}{rest}", details)


def as_ranges(
    statement: Tabulated, figures: Sequence[tuple[tuple[Label, ...], str]], shown: int
) -> Change:
    """Figures of a statement are shown as ranges, of so many that were exact."""
    named = "; ".join(f"{', '.join(map(str, labels))}: {text}" for labels, text in figures[:NAMED])
    more = len(figures) - NAMED
    rest = f"; and {more} more (--format json has them all)" if more > 0 else ""
    count = f"{len(figures)} of the {counted(shown, 'figure')}"
    details = {
        "statements": [statement.notation],
        "variables": list(statement.variables),
        "figures": [[*map(str, labels), text] for labels, text in figures],
    }
    sentence = f"show {count} of {statement.notation} as ranges: {named}{rest}"
    return Change("intervals", sentence, details)


def rounded_together(notations: Sequence[str], base: int) -> Change:
    """All figures rounded to multiples of a base so that totals add up."""
    sentence = f"round {_listed(notations)} to multiples of {base} together, so that totals add up"
    details = {"statements": list(notations), "base": base}
    return Change("controlled-rounding", sentence, details)


# --- figures shown more roughly ---------------------------------------------------------------


def fewer_digits(places: Places, digits: int, notations: Sequence[str]) -> PlannedChange:
    """Rates with fewer decimals, or with some where they were exact."""
    decimals = f"{digits} decimal{'' if digits == 1 else 's'}"
    bare, _, before = notations[0].rpartition("@")
    sentence = f"publish {bare} with {decimals} instead of {before}"
    if len(notations) > 1:
        sentence = f"publish {_listed(notations)} with {decimals}"
    elif not bare:
        sentence = f"publish {before} with {decimals} instead of exactly"
    rougher = partial(_fewer_digits, digits)
    return _rougher("fewer-digits", sentence, rougher, places, notations, digits=digits)


def _rougher(
    kind: str,
    sentence: str,
    rougher: Callable[[Request], Request | None],
    places: Places,
    notations: Sequence[str],
    **details: int,
) -> PlannedChange:
    applied = partial(_with_coarser, places, rougher)
    return PlannedChange(kind, sentence, {"statements": list(notations), **details}, applied)


def _fewer_digits(digits: int, request: Request) -> Request | None:
    """Rates that have more decimals, or are exact."""
    more = request.digits is None or request.digits > digits
    if request.given is None or not more:
        return None
    return replace(request, digits=digits).ruled(request.rounding or "nearest")


def coarser_counts(places: Places, base: int, notations: Sequence[str]) -> PlannedChange:
    """Counts of margins rounded to multiples of a base, or of a larger one."""
    sentence = f"round the counts of {_listed(notations)} to multiples of {base}"
    rougher = partial(_coarser_counts, base)
    return _rougher("coarser-counts", sentence, rougher, places, notations, base=base)


def _coarser_counts(base: int, request: Request) -> Request | None:
    """A margin that shows all its counts, and has no base or a smaller one."""
    finer = request.base is None or request.base < base
    if request.given is not None or request.below is not None or request.noisy or not finer:
        return None
    return replace(request, base=base, rounding=request.rounding or "nearest")


def hide_small(places: Places, below: int, notations: Sequence[str]) -> PlannedChange:
    """Small counts of margins shown as "<5"."""
    sentence = f'show counts below {below} of {_listed(notations)} as "<{below}"'
    rougher = partial(_hide_small, below)
    return _rougher("hide-small", sentence, rougher, places, notations, below=below)


def _hide_small(below: int, request: Request) -> Request | None:
    """A margin that shows its counts as they are."""
    plain = request.given is None and request.exact
    return replace(request, below=below) if plain else None


def _with_coarser(
    places: Places, coarser: Callable[[Request], Request | None], plan: Plan
) -> Plan | None:
    """A plan with coarser statements; None if that changes nothing in one of them."""
    for place in places:
        request = plan.statements[place]
        rough = None if request is None else coarser(request)
        if rough is None:
            return None
        plan = plan.with_statement(place, rough)
    return plan


# --- fewer levels, variables and statements ---------------------------------------------------


def merge_levels(
    variable: str, levels: Sequence[Label], groups: tuple[Places, ...]
) -> PlannedChange:
    """Levels of a variable published together, in every statement that names it."""
    merged = [[str(levels[place]) for place in group] for group in groups if len(group) > 1]
    sentence = f"merge {'; '.join(map(_listed, merged))} of {variable}"
    details = {"variable": variable, "levels": merged}
    return PlannedChange("merge-levels", sentence, details, partial(_merged, variable, groups))


def _merged(variable: str, groups: tuple[Places, ...], plan: Plan) -> Plan | None:
    if variable not in plan.names:
        return None
    merges = dict(plan.merges)
    both = _joined(merges[variable], groups) if variable in merges else groups
    if both is None or len(both) < 2:
        return None
    return replace(plan, merges=tuple(sorted({**merges, variable: both}.items())))


def _joined(first: Sequence[Places], second: Sequence[Places]) -> tuple[Places, ...] | None:
    """Both merges at once; None if they overlap: a merge of its own says that better."""
    larger = [group for group in (*first, *second) if len(group) > 1]
    places = [place for group in larger for place in group]
    if len(set(places)) < len(places):
        return None
    lone = {place for group in first for place in group} - set(places)
    return tuple(sorted([*larger, *((place,) for place in lone)]))


def coarser_level(variable: str, level: str) -> PlannedChange:
    """A variable at a coarser level of its hierarchy, in every statement that names it."""
    details = {"variable": variable, "level": level}
    sentence = f"recode {variable} to {level}, the coarser level of its hierarchy"
    return PlannedChange("coarser-level", sentence, details, partial(_recoded, variable, level))


def _recoded(variable: str, level: str, plan: Plan) -> Plan | None:
    """Statements that say the same at that level already are not said twice."""
    if variable not in plan.names or variable in dict(plan.merges):
        return None
    others = {
        planned
        for planned in plan.statements
        if planned is not None and variable not in planned.names
    }
    recoded: list[Request | None] = []
    for statement in plan.statements:
        if statement is None or variable not in statement.names:
            recoded.append(statement)
            continue
        coarser = statement.renamed({variable: level})
        recoded.append(None if coarser in others else coarser)
        others.add(coarser)
    return replace(plan, statements=tuple(recoded))


def drop_variable(place: int, variable: str, notation: str) -> PlannedChange:
    """A statement without one of its variables."""
    details = {"statements": [notation], "variable": variable}
    sentence = f"drop {variable} from {notation}"
    return PlannedChange("drop-variable", sentence, details, partial(_dropped, place, variable))


def _dropped(place: int, variable: str, plan: Plan) -> Plan | None:
    """None also if no response is left."""
    request = plan.statements[place]
    if request is None or variable not in request.names:
        return None
    responses, given = (
        None if names is None else tuple(name for name in names if name != variable)
        for names in (request.responses, request.given)
    )
    if not responses:
        return None
    fewer = replace(request, responses=responses, given=given)
    return _consistent(plan.with_statement(place, fewer))


def withhold(place: int, notation: str) -> PlannedChange:
    """A statement that is not published."""
    details = {"statements": [notation]}
    return PlannedChange("withhold", f"withhold {notation}", details, partial(_withheld, place))


def _withheld(place: int, plan: Plan) -> Plan | None:
    if plan.statements[place] is None and place not in plan.whole:
        return None
    whole = tuple(other for other in plan.whole if other != place)
    changed = replace(plan.with_statement(place, None), whole=whole)
    return None if changed.empty else _consistent(changed)


def _consistent(plan: Plan) -> Plan | None:
    """None if levels are merged of a variable that nothing names any more."""
    return plan if all(variable in plan.names for variable, _ in plan.merges) else None


def withhold_total() -> PlannedChange:
    """N is not published."""
    sentence = "withhold N, which nobody may know from elsewhere"
    return PlannedChange("withhold-total", sentence, {}, _without_total)


def _without_total(plan: Plan) -> Plan | None:
    """None also if exact margins tell N anyway."""
    requests = (request for request in plan.statements if request is not None)
    told = any(request.exact for request in requests if request.given is None)
    return None if told or plan.empty or not plan.total else replace(plan, total=False)


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


# --- what is worth trying ---------------------------------------------------------------------

MOST_DIGITS = 4
"""Decimals that are tried first instead of exact rates."""

BASES = (3, 5, 10)
"""Bases that counts are rounded to."""

FEW = 8
"""Up to so many levels every run of neighbours is merged; beyond, pairs and even blocks."""


def proposals(drafts: Drafts, policy: Policy) -> list[PlannedChange]:
    """Single changes, in a fixed order."""
    plan, domain, statements = drafts.first, drafts.domain, drafts.release.statements
    planned = {
        place: statement for place, statement in enumerate(plan.statements) if statement is not None
    }
    changes: list[PlannedChange] = []
    for places in _together(planned, rates=True):
        notations = [statements[place].notation for place in places]
        changes += [fewer_digits(places, digits, notations) for digits in range(MOST_DIGITS, 0, -1)]
    # The smallest count that no rule of the policy protects.
    least_shown = max(2, policy.small + 1, *(rule.least_shown for rule in policy.rules))
    for places in _together(planned, rates=False):
        notations = [statements[place].notation for place in places]
        changes += [coarser_counts(places, base, notations) for base in BASES]
        changes.append(hide_small(places, least_shown, notations))
    for variable in (*domain.names, *domain.groupings):
        if variable in plan.names and domain.shares_out(variable):
            changes += [coarser_level(variable, level) for level in domain.coarser(variable)]
            changes += _merges(domain, variable)
    for place, request in planned.items():
        notation = statements[place].notation
        changes += [drop_variable(place, variable, notation) for variable in request.names]
    changes += [withhold(place, statements[place].notation) for place in (*planned, *plan.whole)]
    possible = [change for change in changes if change.applied(plan) is not None]
    # N comes last: it matters once no exact margin tells it.
    return [*possible, withhold_total()] if plan.total else possible


def _together(planned: dict[int, Request], *, rates: bool) -> list[Places]:
    """Each statement of rates (or margin) by itself, and all of them if there are several."""
    places = [
        place for place, statement in planned.items() if (statement.given is not None) == rates
    ]
    alone: list[Places] = [(place,) for place in places]
    return [*alone, tuple(places)] if len(places) > 1 else alone


def _merges(domain: Domain, variable: str) -> Iterator[PlannedChange]:
    """Levels merged, within each code above them if there is a hierarchy."""
    levels, above = domain.levels(variable), domain.coarser(variable)
    sets = domain.level_sets(variable)
    for code in domain.level_sets(above[0]) if above else [frozenset().union(*sets)]:
        siblings = [place for place, own in enumerate(sets) if own <= code]
        for groups in _runs(siblings, whole=bool(above)):
            merged = {place for group in groups for place in group}
            alone = ((place,) for place in range(len(levels)) if place not in merged)
            yield merge_levels(variable, levels, tuple(sorted((*groups, *alone))))


def _runs(places: Sequence[int], *, whole: bool) -> Iterator[tuple[Places, ...]]:
    """Pairs of neighbours first, then larger groups; all at once only as a `whole` branch."""
    size = len(places)
    longest = size - 1 if size <= FEW else 2
    for length in range(2, longest + 1):
        for first in range(size - length + 1):
            yield (tuple(places[first : first + length]),)
    width = 2
    while size > FEW and width <= size // 2:
        yield tuple(tuple(places[at : at + width]) for at in range(0, size, width))
        width *= 2
    if whole and size > 1:
        yield (tuple(places),)
