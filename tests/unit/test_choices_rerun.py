"""What protect says of an intruder who reruns the choice; the game itself is in agreement."""

from __future__ import annotations

import numpy as np
import pytest

import cellbounds as cb
from cellbounds.disclosure.protecting import reruns
from cellbounds.policies import Policy, SmallCounts

ALL = "[a+,b+]"


@pytest.fixture(scope="module")
def table():
    return cb.Table(cb.Domain({"a": ["x", "y"], "b": ["p", "q", "r"]}), [[2, 0, 3], [1, 4, 2]])


TWO = Policy("two", rules=[SmallCounts(at_most=3, zeros=False, values=2)])


def test_it_is_rerun_unless_said(table):
    done = cb.protect(table, ALL, policy=TWO)
    assert done.safe
    assert done.verdict.independent
    assert done.to_dict()["independent"]
    assert done.notes[-1].startswith("holds against whoever reruns it")
    plain = cb.protect(table, ALL, policy=TWO, independent=False)
    assert plain.safe
    assert not plain.verdict.independent
    assert plain.notes[-1].startswith("SAFE if the intruder cannot rerun the choice")
    assert plain.release.digest == done.release.digest


def test_what_is_too_large_is_said(table, monkeypatch):
    monkeypatch.setattr(reruns, "MOST_FIGURES", 5)
    done = cb.protect(table, ALL, policy=TWO)
    assert done.safe
    assert "other tables that fit were not protected again" in done.notes[-1]
    assert cb.protect(table, ALL, policy=TWO, independent=True).verdict.independent


def test_variables_that_nobody_asked_for_are_left_out(table):
    halves = np.stack([table.counts // 2, table.counts - table.counts // 2], axis=-1)
    levels = {name: table.domain.levels(name) for name in "ab"}
    wide = cb.Table(cb.Domain({**levels, "c": ["f", "m"]}), halves)
    ours, theirs = (cb.protect(one, ALL, policy=TWO) for one in (wide, table))
    assert ours.verdict.independent
    assert ours.notes == theirs.notes


AROUND = Policy(
    "around",
    rules=[SmallCounts(below=4, zeros=False, protect_above=1, protect_below=1)],
    intruder={"zeros": "never"},
)


def test_what_does_not_hold_is_said_or_not_safe():
    """The 1 is hidden for its own sake, the 4 for it: 5 and 0 would be shown, 3 and 2 are small."""
    small = cb.Table(cb.Domain({"a": ["x", "y", "z"]}), [4, 1, 0])
    done = cb.protect(small, "[a]", policy=AROUND)
    assert done.safe
    assert not done.verdict.independent
    assert "learns more than the policy allows" in done.notes[-1]
    sure = cb.protect(small, "[a]", policy=AROUND, independent=True)
    assert sure.outcome is cb.Outcome.UNDECIDED


def test_another_pattern_is_chosen_if_the_cheapest_tells_too_much():
    domain = cb.Domain({"a": ["x", "y", "z"], "b": ["p", "q"]})
    table = cb.Table(domain, [[0, 1], [0, 0], [4, 1]])
    wide = [SmallCounts(below=2, zeros=False, width=2)]
    policy = Policy("wide", rules=wide, intruder={"zeros": "never"})
    done = cb.protect(table, "[a,b]", policy=policy)
    cheapest = cb.protect(table, "[a,b]", policy=policy, independent=False)
    assert done.verdict.independent
    assert done.cost > cheapest.cost == done.bound
    assert f"a pattern of cost {cheapest.cost} is safe too, but tells too much" in str(done)


@pytest.mark.parametrize("method", ["intervals", "round", "recode"])
def test_other_methods(table, method):
    done = cb.protect(table, ALL, policy=TWO, method=method)
    assert "rerun" in done.notes[-1]
    assert done.verdict.independent == done.notes[-1].startswith("holds")


def test_independent_is_true_false_or_none(table):
    with pytest.raises(cb.InvalidInput, match="give True, False or None"):
        cb.protect(table, ALL, independent="yes")
