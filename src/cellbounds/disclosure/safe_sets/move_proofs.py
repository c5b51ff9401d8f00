"""A quick proof that a release is safe: tables that moves reach from the owner's.

Take some axes and two levels on each. Adding k to the even corners of this cube and taking k from
the odd ones changes no sum over one of the axes. So if every statement sums over one of them, the
new table is consistent too, and so are those for smaller k: a cell can have every count from the
smallest to the largest that it had on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from cellbounds.data.table import Table
from cellbounds.disclosure.policies import Policy, judge
from cellbounds.disclosure.policies.scenarios import empty_rows
from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.runtime.budget import Budget
from cellbounds.solvers.general.hypercubes import AT_ONCE, hypercubes, moves_of
from cellbounds.statements import Release

LARGEST = 2**51
"""Totals below this leave steps that doubles tell apart."""

MOVES = 100
"""Moves for each cell that make up a sweep."""

PATIENCE = 5
"""Sweeps without progress after which a proof is given up; more if progress took longer."""


def safe_by_moves(release: Release, table: Table, policy: Policy, effort: Budget) -> bool:
    """Whether moves prove that a release is safe; False proves nothing.

    The policy must not try respondents, and its rules speak of what is attainable or shown.
    """
    shown = tuple(rule for rule in policy.rules if rule.about_figures)
    if shown and not judge(table, release, Policy(policy.name, rules=shown), budget=effort).safe:
        return False
    if policy.respondent or not _movable(release, table):
        return False
    about_counts = [rule for rule in policy.rules if not rule.about_figures]
    exempt = table.structural | empty_rows(release, table.domain.names)

    def lacking(least: IntArray, most: IntArray) -> BoolArray:
        open_cells = np.zeros(exempt.shape, dtype=bool)
        for rule in about_counts:
            open_cells |= rule.unproven(table, exempt, least, most)
        return open_cells

    fewest, progress = table.counts.size + 1, 0
    for sweep, left in enumerate(reached(release, table, lacking, effort)):
        if not left:
            return True
        if left < fewest:
            fewest, progress = left, sweep
        if effort.spent or sweep > max(2 * progress, progress + PATIENCE):
            break
    return False


def _movable(release: Release, table: Table) -> bool:
    """Whether steps can be drawn as doubles, and nothing known bounds single cells.

    Structural zeros may be said: no move fills them.
    """
    for statement in release.statements:
        if not statement.published and statement.variables == release.domain.names:
            known = statement.known(release.domain)
            bounded = (known.lower > 0) | ((known.upper >= 0) & ~table.structural)
            if known.values or bool(bounded.any()):
                return False
    return table.total < LARGEST


def reached(
    release: Release,
    table: Table,
    lacking: Callable[[IntArray, IntArray], BoolArray],
    effort: Budget,
    at_once: int = AT_ONCE,
) -> Iterator[int]:
    """Wander from the table on; after each sweep of moves yields how many cells still lack.

    `lacking` says which cells do, by the smallest and the largest count of each cell so far. The
    last sweep may be cut short: the clock is looked at after `at_once` moves, which changes nothing
    else.
    """
    from cellbounds.solvers.general.walk_kernel import wander

    moves, counts = moves_of(release), table.counts.astype(np.int64, order="C")
    least, most = counts.copy(), counts.copy()
    zeros = np.zeros(counts.size, dtype=np.int64)
    # Nobody is put where nobody can be.
    upper = np.where(table.structural.ravel(), 0, LARGEST)
    cubes = hypercubes(table.domain.shape, moves, lower=zeros, upper=upper, target=zeros)
    state = np.array([1], dtype=np.uint64)
    aims = np.flatnonzero(lacking(least, most))
    while True:
        yield len(aims)
        if not moves:
            return
        flat = counts.ravel(), least.ravel(), most.ravel()
        sweep = MOVES * counts.size
        for done in range(0, sweep, at_once):
            wander(cubes, *flat, aims, min(at_once, sweep - done), state)
            if effort.spent:
                break
        aims = np.flatnonzero(lacking(least, most))
