"""Levels that a design merges."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cellbounds.data.domain import Domain, Label
from cellbounds.data.storage.levels import merged_levels
from cellbounds.errors import InvalidInput

__all__ = ["ADJACENT", "Merge", "merges_of"]

ADJACENT = "adjacent"
"""Every pair of neighbouring levels of each variable with more than two."""


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
        said = (
            f"{', '.join(map(str, parts))} as {label}"
            for label, parts in self.groups
            if parts != (label,)
        )
        return f"{self.variable}: {'; '.join(said)}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "variable": self.variable,
            "name": self.name,
            "levels": [[label, list(parts)] for label, parts in self.groups],
        }


def merges_of(domain: Domain, merges: object) -> dict[str, list[Merge]]:
    """The alternatives of each variable besides its own levels."""
    if merges is None:
        return {}
    if merges == ADJACENT:
        return {
            name: [_merge(domain, name, one) for one in _neighbours(domain.levels(name))]
            for name in domain.names
            if len(domain.levels(name)) > 2
        }
    if not isinstance(merges, Mapping):
        raise InvalidInput(
            f"merges={merges!r}; give {ADJACENT!r}, or for each variable a list of mappings from "
            "a new level to the levels that it joins"
        )
    found: dict[str, list[Merge]] = {}
    for name, alternatives in merges.items():
        if isinstance(name, str):
            domain.axis(name)  # it must be a variable of the table
        if not isinstance(alternatives, Iterable) or isinstance(alternatives, str | Mapping):
            raise InvalidInput(
                f"the merges of {name!r} are {alternatives!r}; give a list of mappings, one for "
                "each way to merge its levels"
            )
        made = [_merge(domain, name, one) for one in alternatives]
        found[name] = list(dict.fromkeys(made))
    return found


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
    return Merge(variable, _free_name(domain, variable), ordered)


def _free_name(domain: Domain, variable: str) -> str:
    taken = {*domain.names, *domain.groupings}
    name, number = f"{variable} (merged)", 2
    while name in taken:
        name, number = f"{variable} (merged {number})", number + 1
    return name
