"""Patterns that are made better by neighbourhoods, beside those of a search of everything."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given

from cellbounds.disclosure.protecting.branch_and_cut import Search, best_pattern
from cellbounds.disclosure.protecting.local_paths import paths_in
from cellbounds.disclosure.protecting.moves import Attack
from cellbounds.disclosure.protecting.neighbourhoods import improved
from cellbounds.disclosure.protecting.patterns import (
    Unprotectable,
    cheapest,
    cleaned,
    hopeless,
    unprotected,
)
from cellbounds.disclosure.protecting.suppression_problem import SuppressionProblem
from test_protecting_against_bruteforce import problems


def searched(problem: SuppressionProblem, hidden: np.ndarray, steps: int):
    best = Search(problem, hidden).run(steps)
    return best.hidden, best.steps


@given(problems())
def test_neighbourhoods_protect_and_cost_no_more(case) -> None:
    """Started from everything hidden; in tables as small as these one is the whole table."""
    problem, _ = case
    assume(not hopeless(problem))
    everything = ~problem.fixed
    try:
        right = best_pattern(problem).cost
    except Unprotectable:
        return
    hidden, _ = improved(problem, everything, searched, steps=10**9)
    assert not unprotected(Attack(problem), problem.levels, hidden)
    assert right <= problem.cost(hidden) <= problem.cost(everything)
    if (~problem.forced & ~problem.fixed).any():
        assert problem.cost(hidden) == right


@given(problems())
def test_paths_nearby_are_paths(case) -> None:
    """Looked for nearby as in large tables: what is found is a move, at no less than the best."""
    problem, _ = case
    whole, near = paths_in(problem), paths_in(problem, large=0)
    costs = np.maximum(problem.costs, 1).astype(float)
    for paths in (whole, near):
        paths.charge(costs)
    for level in problem.levels:
        best, found = cheapest(whole, level), cheapest(near, level)
        assert (found is None) == (best is None)  # a small table is all near
        if best is not None and found is not None:
            assert abs(found.cost - best.cost) < 1e-6
            assert found.keeps(level)


@given(problems())
def test_showing_again_what_need_not_be_hidden(case) -> None:
    problem, _ = case
    assume(not hopeless(problem))
    try:
        hidden = cleaned(problem, ~problem.fixed)
    except Unprotectable:
        return
    assert not unprotected(Attack(problem), problem.levels, hidden)
    for cell in np.flatnonzero(hidden & ~problem.forced).tolist():
        less = hidden.copy()
        less[cell] = False
        assert unprotected(Attack(problem), problem.levels, less)
