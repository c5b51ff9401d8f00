"""Which cells of a margin the place of a finding shares people with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cellbounds.data.domain import Domain, Label
from cellbounds.runtime.arrays import BoolArray

__all__ = ["touched_levels"]


def touched_levels(
    domain: Domain, over: Sequence[str], variables: Sequence[str], labels: Sequence[Label]
) -> list[BoolArray]:
    """For each variable of a margin, the levels that may share people with a place.

    A cell shares people with the place if all its levels do. Variables that only one of the two
    names say nothing; derived ones speak of the variable behind them.

    Examples
    --------
    >>> domain = Domain({"county": ["A", "B"], "sex": ["f", "m"]})
    >>> [one.tolist() for one in touched_levels(domain, ["sex", "county"], ["county"], ["B"])]
    [[True, True], [False, True]]
    """
    wanted: dict[str, frozenset[int]] = {}
    for name, label in zip(variables, labels, strict=True):
        of, groups = _levels_behind(domain, name)
        inside = groups[domain.position(name, label)]
        wanted[of] = wanted.get(of, inside) & inside
    return [_shares(wanted, *_levels_behind(domain, name)) for name in over]


def _levels_behind(domain: Domain, name: str) -> tuple[str, list[frozenset[int]]]:
    found = domain.grouping(name)
    if found is None:
        return name, [frozenset((place,)) for place in range(len(domain.levels(name)))]
    of, groups = found
    return of, [frozenset(members) for members in groups]


def _shares(
    wanted: dict[str, frozenset[int]], of: str, groups: Sequence[frozenset[int]]
) -> BoolArray:
    if of not in wanted:
        return np.ones(len(groups), dtype=bool)
    return np.array([bool(group & wanted[of]) for group in groups])
