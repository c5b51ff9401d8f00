"""Margins that a few tables show to be safe, all of them looked at together.

A table of k variables has 2^k margins. With a further place along each axis for the sum, one array
holds the cells of all of them, and costs k sums.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cellbounds.disclosure.policies.attacker import MOST_TABLES, Pool
from cellbounds.disclosure.policies.rule import CellRule, Rule
from cellbounds.disclosure.policies.scenarios import Case
from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.runtime.budget import Budget


def shown_safe(base: Case, cases: Sequence[Case], pool: Pool, effort: Budget) -> list[Case]:
    """Those of the cases that the tables of a pool show to be safe.

    They are about margins of the cells of `base`. The pool is given tables as long as they help.
    """
    within = [case for case in cases if _is_plain(case) and set(case.over) <= set(base.over)]
    shape = base.margin.domain.shape
    cells, together = math.prod(shape), math.prod(size + 1 for size in shape)
    # More than the tables of the pool may take, or than looking at one by one, is no help.
    too_large = together > cells * min(len(within), MOST_TABLES)
    if too_large or not all(map(base.release.domain.shares_out, base.over)):
        return []
    counts = least = most = sums_of(base.margin.counts)
    closed = sums_of(np.asarray(~base.margin.structural, dtype=np.int64)) == 0
    places = [tuple(int(name not in case.over) for name in base.over) for case in within]
    rules = {rule for case in within for rule in case.policy.rules if isinstance(rule, CellRule)}
    seen = 0
    while True:
        for table in map(sums_of, pool.counts(base.over, seen)):
            least, most = np.minimum(least, table), np.maximum(most, table)
        seen = len(pool)
        lack: dict[Rule, BoolArray] = {
            rule: margins_with(rule.lacking(counts, least, most) & ~closed) for rule in rules
        }
        safe = [
            case
            for case, place in zip(within, places, strict=True)
            if not any(lack[rule][place] for rule in case.policy.rules)
        ]
        if len(safe) == len(within) or effort.spent or not pool.spread():
            return safe


def _is_plain(case: Case) -> bool:
    """Whether a case is safe if each of its cells has two counts that its rules ask for."""
    rules, looked_at = case.policy.rules, case.start is not None and case.printed is None
    about_cells = all(isinstance(rule, CellRule) and not rule.many_values for rule in rules)
    return looked_at and about_cells and not case.policy.respondent


def sums_of(counts: IntArray) -> IntArray:
    """The cells of every margin: the last place along an axis holds the sum over it.

    Examples
    --------
    >>> sums_of(np.array([[1, 2], [3, 4]]))
    array([[ 1,  2,  3],
           [ 3,  4,  7],
           [ 4,  6, 10]])
    """
    for axis in range(counts.ndim):
        counts = np.concatenate([counts, counts.sum(axis=axis, keepdims=True)], axis=axis)
    return counts


def margins_with(cells: BoolArray) -> BoolArray:
    """Which margins have one of some cells, laid out as `sums_of` does.

    Along each axis 0 stands for the margins that keep its variable, 1 for those that sum over it.

    Examples
    --------
    >>> margins_with(np.array([[0, 0, 1], [0, 0, 0], [0, 0, 0]], dtype=bool))
    array([[False,  True],
           [False, False]])
    """
    for axis in range(cells.ndim):
        rest, summed = np.split(cells, [-1], axis=axis)
        cells = np.concatenate([rest.any(axis=axis, keepdims=True), summed], axis=axis)
    return cells
