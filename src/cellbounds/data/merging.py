"""Levels of a variable merged into fewer, and what that leaves of the levels above them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from cellbounds.data.domain import Domain, Grouping, Label
from cellbounds.errors import InvalidInput


def regrouped(grouping: Grouping, behind: Mapping[Label, Sequence[Label]]) -> Grouping | None:
    """A grouping in terms of merged levels; None if it cuts one, or says no more than they do."""
    levels: dict[Label, list[Label]] = {}
    for label, parts in grouping.groups:
        for merged, own in behind.items():
            inside = [part in parts for part in own]
            if any(inside) and not all(inside):
                return None
            if all(inside):
                levels.setdefault(label, []).append(merged)
    alone = all(len(parts) == 1 for parts in levels.values())
    return None if alone or not levels else Grouping(grouping.of, levels)


def merged_levels(
    domain: Domain, variable: str, groups: Mapping[Label, Sequence[Label]]
) -> dict[Label, list[Label]]:
    """The levels of a variable after merging, in order, each with the levels behind it."""
    domain.axis(variable)
    target: dict[Label, Label] = {}
    for new, parts in groups.items():
        if isinstance(parts, str) or not isinstance(parts, Iterable):
            raise InvalidInput(
                f"the levels of {variable!r} merged into {new!r} are given as {parts!r}; give a "
                "list"
            )
        for part in parts:
            domain.position(variable, part)
            if part in target:
                raise InvalidInput(f"level {part!r} of {variable!r} is merged twice")
            target[part] = new
    behind: dict[Label, list[Label]] = {}
    for level in domain.levels(variable):
        if level not in target and level in groups:
            raise InvalidInput(
                f"merged level {level!r} of {variable!r} has the name of a level that stays; "
                "choose another name or merge that level too"
            )
        behind.setdefault(target.get(level, level), []).append(level)
    return behind
