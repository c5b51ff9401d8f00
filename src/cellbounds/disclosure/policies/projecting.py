"""A margin as a table of its own, for rules about probabilities."""

from __future__ import annotations

import numpy as np

from cellbounds.data.domain import Domain
from cellbounds.data.table import Table
from cellbounds.errors import InvalidInput
from cellbounds.model.priors import Belief, GammaPoisson, Multinomial, Uniform
from cellbounds.runtime.arrays import IntArray, summable
from cellbounds.statements import Release

__all__ = ["projected"]


def projected(
    release: Release, over: tuple[str, ...], belief: Uniform | Multinomial
) -> tuple[Release, Belief] | None:
    """A release about the margin alone, and a prior, under which it has the same posterior.

    There is one if every statement speaks of the margin only. A table of the margin then stands
    for all the ways to split its cells among their parts, so that a cell of k parts has the weight
    of a sum of k cells: n + k - 1 over n under the uniform prior, k**n / n! under equal
    probabilities. The first is that of a Poisson count with a Gamma mean of shape k, up to a
    factor that is the same for all tables of N records. None if there is no such release.

    Examples
    --------
    >>> import cellbounds as cb
    >>> release = cb.publish(cb.example_table("mp3"), "[gender]")
    >>> projected(release, ("gender",), Uniform())
    (Release([gender], N=50), GammaPoisson(shape=array([2, 2]), scale=1))
    """
    domain = release.domain
    try:
        for name in over:
            domain.check_partition(name)
    except InvalidInput:
        return None  # somebody is in no cell of the margin, or in two
    parts = _parts(domain, over)
    margin = _margin(domain, over)
    said = [one for one in release.statements if one.variables]
    if (parts < 1).any() or not all(_speaks_of(margin, one.variables) for one in said):
        return None
    alone = Release(margin, release.statements)
    if (parts == 1).all():
        return alone, belief
    if release.total.exact is None:
        return None
    return alone, (GammaPoisson(parts, 1) if isinstance(belief, Uniform) else Multinomial(parts))


def _parts(domain: Domain, over: tuple[str, ...]) -> IntArray:
    """How many cells of the table each cell of a margin is the sum of."""
    near = domain.part(map(domain.base, over))
    each = Table(near, np.ones(near.shape, dtype=np.int64)).margin(*over).counts
    return summable(each.astype(object) * (domain.size // near.size))


def _margin(domain: Domain, over: tuple[str, ...]) -> Domain:
    kept = {
        name: grouping
        for name, grouping in domain.groupings.items()
        if name not in over and grouping.of in over
    }
    return domain.project(over).with_groupings(kept)


def _speaks_of(margin: Domain, names: tuple[str, ...]) -> bool:
    return set(names) <= {*margin.names, *margin.groupings}
