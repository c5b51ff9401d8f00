"""A search for a pattern that was stopped, by whatever means, goes on to the same pattern."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.protecting import look_alike, table_of

import cellbounds as cb
from cellbounds.disclosure.protecting import branch_and_cut, search_state
from cellbounds.disclosure.protecting.branch_and_cut import best_pattern
from cellbounds.disclosure.protecting.search_state import SearchState
from cellbounds.disclosure.protecting.suppressing import Suppressing
from cellbounds.policies import Policy, SmallCounts

STEPS = 150_000

POLICY = Policy("house", rules=[SmallCounts(below=3, zeros=False, values=2)])


@pytest.fixture(scope="module")
def problem():
    table, margins = table_of(look_alike((2, 3), 3))
    return Suppressing(tuple(margins), POLICY).asked(table).problem


@pytest.fixture
def often(monkeypatch):
    """States are written often."""
    monkeypatch.setattr(branch_and_cut, "SAVED", 8_000)


class Killed(Exception):
    pass


def killed_after(monkeypatch, writes):
    """Let the process be killed while it writes for the last of so many times."""
    keep, left = SearchState.keep, writes

    def kept(state, searched, rows):
        nonlocal left
        left -= 1
        if left < 0:
            raise Killed
        keep(state, searched, rows)

    monkeypatch.setattr(SearchState, "keep", kept)


def found(best):
    return np.flatnonzero(best.hidden).tolist(), best.cost, best.bound, best.nodes, best.steps


def test_killed_and_resumed_the_same(tmp_path, problem, often, monkeypatch):
    whole = found(best_pattern(problem, steps=STEPS))
    path, times = tmp_path / "search.state", 0
    phases = set()
    while True:
        state = SearchState(path, problem, STEPS)
        phases |= {None if state.last is None else state.last.phase}
        with monkeypatch.context() as patched:
            killed_after(patched, 1)
            try:
                best = best_pattern(problem, steps=STEPS, state=state)
            except Killed:
                times += 1
                continue
            finally:
                state.close()
        break
    assert found(best) == whole
    assert times >= 3
    assert {0, 1, 2} <= phases


def test_whether_it_is_kept_makes_no_difference(tmp_path, problem, often):
    state = SearchState(tmp_path / "search.state", problem, STEPS)
    assert found(best_pattern(problem, steps=STEPS, state=state)) == found(
        best_pattern(problem, steps=STEPS)
    )


def test_the_state_of_another_search(tmp_path, problem):
    path = tmp_path / "search.state"
    SearchState(path, problem, STEPS).close()
    with pytest.raises(cb.InvalidInput, match="another table, or with other wishes"):
        SearchState(path, problem, STEPS + 1)
    assert search_state.SEARCH.format in path.read_text()


def test_protect_goes_on_from_a_checkpoint(tmp_path):
    table, margins = table_of(look_alike((2, 3), 3))
    path = tmp_path / "search.state"
    budget = cb.Budget(checkpoint=path)
    first = cb.protect(table, *margins, policy=POLICY, work=2, budget=budget)
    again = cb.protect(table, *margins, policy=POLICY, work=2, budget=budget)
    other = cb.protect(table, *margins, policy=POLICY, work=2)
    assert first.release.digest == again.release.digest == other.release.digest
    assert path.stat().st_mode & 0o077 == 0
    with pytest.raises(cb.InvalidInput, match="goes with the method suppress"):
        cb.protect(table, *margins, policy=POLICY, method="round", budget=budget)


def test_any_number_of_workers_and_runs():
    table, margins = table_of(look_alike((1, 3), 2))
    runs = [
        cb.protect(
            table, *margins, policy=POLICY, budget=cb.Budget(workers=workers), independent=False
        )
        for workers in (1, 2)
        for _ in range(2)
    ]
    assert len({one.release.digest for one in runs}) == 1
    assert len({(one.cost, one.bound) for one in runs}) == 1
