"""Tables to start chains from, far from each other."""

from __future__ import annotations

import numpy as np

from cellbounds.data.table import Table
from cellbounds.errors import InvalidInput
from cellbounds.model.constraints import compile_release
from cellbounds.model.problem import Problem, make_problem
from cellbounds.results.values import Unbounded
from cellbounds.runtime.arrays import IntArray
from cellbounds.solvers.solve import bounds
from cellbounds.statements import Release

__all__ = ["start_tables"]

SECONDS = 10.0
"""Budget for the bounds whose witnesses chains start from; unsettled ones have witnesses too."""


def start_tables(
    release: Release,
    chains: int,
    rng: np.random.Generator,
    start: Table | IntArray | None = None,
    *,
    seconds: float = SECONDS,
    problem: Problem | None = None,
) -> IntArray:
    """One consistent table for each chain, flat.

    Without `start` they are tables in which some cell, drawn at random, is as small or as large
    as it can be (or as a table could be found for within `seconds`): chains that start so far
    apart and agree later have forgotten where they came from.

    Parameters
    ----------
    release, chains, rng
        What was said, how many tables, and a generator that chooses the cells.
    start
        A table, or several (flat, one in each row), to be used in turn.

    Raises
    ------
    InconsistentRelease
        If no table fits.
    InvalidInput
        If a table given contradicts the release.
    Unsettled
        If no table was found within the budget.
    """
    if start is None:
        return _far_apart(release, chains, rng, seconds)
    size = release.domain.size
    given = start.counts if isinstance(start, Table) else np.asarray(start)
    if given.dtype.kind not in "iuO" or given.size % size or not given.size:
        raise InvalidInput(
            f"tables to start from of shape {given.shape} and type {given.dtype}; give counts, "
            f"{size} for each table"
        )
    tables = given.reshape(-1, size).astype(np.int64)
    rules = problem or make_problem(compile_release(release), size)
    for number, table in enumerate(tables):
        if not rules.holds(table):
            raise InvalidInput(
                f"table {number + 1} to start from contradicts the release; give consistent ones"
            )
    return np.resize(tables, (chains, size))


def _far_apart(release: Release, chains: int, rng: np.random.Generator, seconds: float) -> IntArray:
    answer = bounds(release, seconds=seconds)
    low, high = answer.attained_lower, answer.attained_upper
    ends = list(zip(low.flat, high.flat, strict=True))
    loose = [k for k, (least, most) in enumerate(ends) if least != most]
    chosen = rng.permutation(np.array(loose or [0], dtype=np.int64))
    tables = []
    for chain in range(chains):
        # Each cell drawn serves two chains: one from its smallest, one from its largest count.
        cell = int(chosen[(chain // 2) % len(chosen)])
        labels = release.domain.labels([int(i) for i in np.unravel_index(cell, low.shape)])
        endless = isinstance(ends[cell][1], Unbounded)
        side = "upper" if chain % 2 and not endless else "lower"
        tables.append(answer.witness(*labels, at=side).counts.ravel())
    return np.array(tables, dtype=np.int64).reshape(chains, release.domain.size)
