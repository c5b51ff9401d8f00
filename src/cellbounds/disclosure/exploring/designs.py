"""Designs: which rates of a table could be published, how, and which levels are merged."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from cellbounds.data.domain import Domain, Label
from cellbounds.data.merging import merged_levels
from cellbounds.data.table import Table
from cellbounds.errors import InvalidInput
from cellbounds.statements import Release, publish
from cellbounds.statements.notation import Request
from cellbounds.statements.numbers import checked_digits, exact_number
from cellbounds.statements.rounding import ends_of
from cellbounds.utility.display import picked

ADJACENT = "adjacent"
"""Every pair of neighbouring levels of each variable with more than two."""

MOST_DESIGNS = 100_000
"""Designs that one search may have."""


@dataclass(frozen=True, slots=True)
class Way:
    """How rates are shown: their decimals, the rounding rule, the announced tolerance.

    Exact rates have none of them. `eps` stands beside the rounding rule.
    """

    digits: int | None = None
    rounding: str | None = None
    eps: Fraction | None = None
    strict: bool = False

    def __str__(self) -> str:
        if self.digits is None:
            return "exact"
        words = f"{self.digits} {'digit' if self.digits == 1 else 'digits'}, {self.rounding}"
        if self.eps is None:
            return words
        return f"{words}, {'closer than' if self.strict else 'within'} {self.eps}"


@dataclass(frozen=True, slots=True)
class Merge:
    """A variable whose levels are published in groups, under a name of its own.

    Attributes
    ----------
    variable, name
        The variable of the table, and what it is called when its levels are merged.
    groups
        Every level that is published, with the levels behind it; they share out all levels.
    """

    variable: str
    name: str
    groups: tuple[tuple[Label, tuple[Label, ...]], ...]

    def __str__(self) -> str:
        joined = (
            f"{', '.join(map(str, parts))} as {label}"
            for label, parts in self.groups
            if parts != (label,)
        )
        return f"{self.variable}: {'; '.join(joined)}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "variable": self.variable,
            "name": self.name,
            "levels": [[label, list(parts)] for label, parts in self.groups],
        }


@dataclass(frozen=True, slots=True)
class Design:
    """Rates of some responses given some variables, shown in some way.

    Attributes
    ----------
    responses, given
        Variables of the table; all others are summed over.
    way
        Decimals, rounding rule and tolerance.
    merges
        The variables among them whose levels are merged.
    total
        Whether N is published too.

    Examples
    --------
    >>> import cellbounds as cb
    >>> design = Design(("education",), ("county",), Way(2, "nearest"))
    >>> design.notation
    '[education|county]@2'
    >>> design.release(cb.datasets.read("delinquent"))
    Release([education|county]@2, N=135)
    """

    responses: tuple[str, ...]
    given: tuple[str, ...]
    way: Way
    merges: tuple[Merge, ...] = ()
    total: bool = True

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables of the table that are published: givens, then responses."""
        return (*self.given, *self.responses)

    @property
    def names(self) -> tuple[str, ...]:
        """The same as they are published: a variable with merged levels has a name of its own."""
        return self._named(self.variables)

    def _named(self, variables: Iterable[str]) -> tuple[str, ...]:
        merged = {merge.variable: merge.name for merge in self.merges}
        return tuple(merged.get(name, name) for name in variables)

    @property
    def notation(self) -> str:
        """The statement of rates in the notation."""
        responses, given = self._named(self.responses), self._named(self.given)
        return Request(responses, given, digits=self.way.digits).notation

    @property
    def eps_text(self) -> str | None:
        """The announced tolerance as a fraction."""
        return None if self.way.eps is None else str(self.way.eps)

    @property
    def merged(self) -> str:
        """Which levels are merged, in words; empty if none are."""
        return "; ".join(map(str, self.merges))

    def prepared(self, table: Table) -> Table:
        """The table, whose domain knows the merged variables."""
        for merge in self.merges:
            table = table.grouped(merge.name, of=merge.variable, levels=dict(merge.groups))
        return table

    def published(self, table: Table) -> Release:
        """What is published, from a table over (at least) the names of this design."""
        way = self.way
        return publish(
            table,
            self.notation,
            total=self.total,
            rounding=way.rounding,
            eps=way.eps,
            strict=way.strict,
        )

    def release(self, table: Table) -> Release:
        """What would be published about a table, over the whole of its domain."""
        return self.published(self.prepared(table))

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            **picked(self, "responses", "given"),
            **picked(self.way, "digits", "rounding"),
            "eps": self.eps_text,
            "strict": self.way.strict,
            "merges": [merge.to_dict() for merge in self.merges],
            "total": self.total,
        }


def ways_of(digits: object, rounding: object, eps: object, strict: object) -> list[Way]:
    """Every way to show rates; see :func:`cellbounds.explore` for the arguments."""
    if not isinstance(strict, bool):
        raise InvalidInput(f"strict={strict!r}; give True or False")
    decimals = [
        None if number is None else checked_digits(number, "explore") for number in _several(digits)
    ]
    rules = _several(rounding)
    limits = [None if number is None else exact_number(number, "eps") for number in _several(eps)]
    for what, chosen in (("digits", decimals), ("rounding", rules), ("eps", limits)):
        if not chosen:
            raise InvalidInput(f"{what} is empty; give at least one")
    for limit in limits:
        if limit is not None and limit <= 0:
            raise InvalidInput(f"eps is {limit}; a tolerance is above 0 (None: none is announced)")
    if strict and limits == [None]:
        raise InvalidInput("strict=True goes with eps=; rounding rules have ends of their own")
    ways = [
        _way(decimal, rule, limit, strict)
        for rule in rules
        for limit in limits
        for decimal in decimals
    ]
    return list(dict.fromkeys(ways))


def _several(given: object) -> list[Any]:
    """One thing, or several."""
    if given is None or isinstance(given, str) or not isinstance(given, Iterable):
        return [given]
    return list(given)


def _way(digits: int | None, rule: str, limit: Fraction | None, strict: bool) -> Way:
    ends = ends_of(rule)
    if limit is None:
        return Way() if digits is None else Way(digits, rule)
    if digits is None:  # the fewest decimals that keep every rate within the tolerance
        error, digits = max(ends.below, ends.above), 0
        while error > limit or (strict and error == limit):
            error, digits = error / 10, digits + 1
        checked_digits(digits, f"eps={limit}")
    return Way(digits, rule, limit, strict)


def designs_of(
    domain: Domain,
    responses: tuple[str, ...],
    givens: list[tuple[str, ...]] | None,
    ways: Sequence[Way],
    merges: dict[str, list[Merge]],
    total: bool,
) -> list[Design]:
    """Every design in a fixed order: by givens, then by merges, then by the way to show rates.

    `givens` of None are all subsets of the other variables.
    """
    others = [name for name in domain.names if name not in responses]
    options = {name: [None, *merges.get(name, [])] for name in domain.names}
    # How many there are is known before they are listed.
    number = len(ways) * math.prod(len(options[name]) for name in responses)
    if givens is None:
        number *= math.prod(1 + len(options[name]) for name in others)
    else:
        number *= sum(math.prod(len(options[name]) for name in given) for given in givens)
    if number > MOST_DESIGNS:
        raise InvalidInput(
            f"{number:,} designs to judge, more than {MOST_DESIGNS:,}; list the givens that matter "
            "(givens=), fewer digits or rounding rules, or fewer merges"
        )
    sizes = range(len(others) + 1)
    subsets = (some for size in sizes for some in itertools.combinations(others, size))
    designs: list[Design] = []
    for given in subsets if givens is None else givens:
        for choice in itertools.product(*(options[name] for name in (*given, *responses))):
            merged = tuple(merge for merge in choice if merge is not None)
            designs += [Design(responses, given, way, merged, total) for way in ways]
    return designs


def merges_of(domain: Domain, merges: object) -> dict[str, list[Merge]]:
    """The alternatives of each variable besides its own levels."""
    if merges is None:
        return {}
    if merges == ADJACENT:
        return {
            name: [
                _merge(domain, name, neighbour) for neighbour in _neighbours(domain.levels(name))
            ]
            for name in domain.names
            if len(domain.levels(name)) > 2
        }
    if not isinstance(merges, Mapping):
        raise InvalidInput(
            f"merges={merges!r}; give {ADJACENT!r}, or for each variable a list of mappings from "
            "a new level to the levels that it joins"
        )
    by_variable: dict[str, list[Merge]] = {}
    for name, alternatives in merges.items():
        if isinstance(name, str):
            domain.axis(name)  # it must be a variable of the table
        if not isinstance(alternatives, Iterable) or isinstance(alternatives, str | Mapping):
            raise InvalidInput(
                f"the merges of {name!r} are {alternatives!r}; give a list of mappings, one for "
                "each way to merge its levels"
            )
        ways = [_merge(domain, name, alternative) for alternative in alternatives]
        by_variable[name] = list(dict.fromkeys(ways))
    return by_variable


def _neighbours(levels: tuple[Label, ...]) -> Iterator[dict[Label, list[Label]]]:
    for first, second in itertools.pairwise(levels):
        label = f"{first} or {second}"
        while label in levels:
            label += "*"
        yield {label: [first, second]}


def _merge(domain: Domain, variable: str, joined: object) -> Merge:
    """One way to merge levels; levels that are not named stay as they are."""
    what = f"a merge of {variable!r}"
    if not isinstance(joined, Mapping) or not joined:
        raise InvalidInput(f"{what} is {joined!r}; give {{new level: [levels that it joins]}}")
    groups = merged_levels(domain, variable, joined)
    if len(groups) == len(domain.levels(variable)):
        raise InvalidInput(f"{what} joins no two levels; name at least two levels for one of them")
    ordered = tuple((label, tuple(parts)) for label, parts in groups.items())
    return Merge(variable, merged_name(domain, variable), ordered)


def merged_name(domain: Domain, variable: str) -> str:
    """A name for a variable with merged levels that nothing else has."""
    taken = {*domain.names, *domain.groupings}
    name, number = f"{variable} (merged)", 2
    while name in taken:
        name, number = f"{variable} (merged {number})", number + 1
    return name
