"""Levels that stand for others: merged ones, and combinations of several variables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from cellbounds.data.domain import Domain, Label
from cellbounds.data.storage.dense import DENSE_LIMIT
from cellbounds.errors import InvalidInput, TooMuchWork

__all__ = ["combined_levels", "merged_levels"]


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


def combined_levels(domain: Domain, names: Sequence[str]) -> list[Label]:
    """The levels of one variable in place of several: the tuples of their levels."""
    if not names:
        return ["(all)"]
    if len(names) == 1:
        return list(domain.levels(names[0]))
    number = math.prod(len(domain.levels(name)) for name in names)
    if number > DENSE_LIMIT:
        raise TooMuchWork(
            f"{', '.join(names)} have {number} combinations of levels, and each would be listed; "
            f"that is done up to {DENSE_LIMIT}. Name fewer variables"
        )
    return list(domain.project(names).cells())
