"""Work that verdicts and searches share is done once, and gives what doing it again gives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cellbounds as cb
from cellbounds.disclosure.exploring import design_search, explore
from cellbounds.disclosure.exploring.design_search import guessing_risk
from cellbounds.disclosure.policies import Outcome, attacker, worst
from cellbounds.disclosure.policies.attacker import Attacker
from cellbounds.disclosure.policies.judging import judged
from cellbounds.disclosure.policies.respondents import respondents
from cellbounds.disclosure.policies.scenarios import case_of
from cellbounds.runtime.budget import Budget
from strategies import few

CHILDREN = cb.datasets.read("delinquent")
KOCH = cb.datasets.read("koch4")
PAIRS = ("[center,status]", "[status,treatment]", "[treatment,recovery]", "[center,recovery]")


@pytest.fixture
def asked(monkeypatch):
    """The questions that are asked about releases: their statements, and the margin."""
    found = []

    def listening(release, **question):
        found.append((repr(release), question["over"]))
        return cb.attainable(release, **question)

    for module in (attacker, design_search):
        monkeypatch.setattr(module, "attainable", listening)
    return found


def test_each_published_table_is_asked_about_once(asked):
    found = explore(KOCH, response="recovery", digits=[1, 3], independent=False)
    assert len(asked) == len(set(asked))
    assert len(asked) == len(found.designs)


def test_what_a_verdict_left_open_is_asked_for_again(asked):
    release, policy = cb.publish(CHILDREN, "[education|county]@2"), cb.policies.read("small-counts")
    case = case_of(release, CHILDREN, policy, over=("county", "education"))
    _, answer = judged([case], Budget.until(0.0))
    assert answer is None
    unsettled = cb.attainable(cb.publish(KOCH, *PAIRS), seconds=1e-9)
    assert unsettled.evidence is not cb.Evidence.EXACT
    for known in (answer, unsettled):
        asked.clear()
        found = guessing_risk(
            release, case.margin, policy, independent=False, seconds=None, answer=known
        )
        assert found.settled
        assert len(asked) == 1


@given(st.data())
@few(3)
def test_guessing_from_a_verdict_is_guessing_anew(data):
    counts = data.draw(st.lists(st.integers(0, 30), min_size=6, max_size=6).filter(any))
    table = cb.Table(cb.Domain({"a": ["x", "y"], "b": ["p", "q", "r"]}), np.reshape(counts, (2, 3)))
    digits = data.draw(st.sampled_from(["", "@1", "@2", "@3"]))
    release = cb.publish(table, f"[b|a]{digits}", total=data.draw(st.booleans()))
    independent = data.draw(st.booleans())
    policy = cb.policies.read(data.draw(st.sampled_from(["small-counts", "strict"])))
    plain = replace(policy, respondent=False)
    case = case_of(release, table, plain, independent=independent)
    _, answer = judged([case], Budget())
    how = {"independent": independent, "seconds": None}
    anew = guessing_risk(release, case.margin, policy, **how)
    assert guessing_risk(release, case.margin, policy, **how, answer=answer) == anew


def test_structural_zeros_are_said_by_the_release_so_that_the_question_is_the_same(asked):
    counts = [[3, 0, 2], [5, 6, 7]]
    domain = cb.Domain({"a": ["x", "y"], "b": ["p", "q", "r"]})
    table = cb.Table(domain, counts, structural=np.array(counts) == 0)
    found = explore(table, response="b", digits=[2], independent=False)
    assert [one.design.given for one in found.designs] == [(), ("a",)]
    assert [over for _, over in asked] == [("b",), ("a", "b")]
    assert len(set(asked)) == 2


def test_the_worst_outcome():
    safe, unsafe, undecided = Outcome.SAFE, Outcome.UNSAFE, Outcome.UNDECIDED
    assert worst([]) is safe
    assert worst([safe, undecided, safe]) is undecided
    assert worst([undecided, unsafe, safe]) is unsafe


@pytest.mark.parametrize("independent", [False, True])
def test_respondents_in_cells_that_are_alike_are_summed_up_as_one_by_one(independent):
    """Cells that the release cannot tell apart share findings; without that, the same verdict."""
    table = cb.Table(cb.Domain({"a": ["x", "y"], "b": range(4)}), [[1, 2, 0, 9], [3, 1, 2, 30]])
    release = cb.publish(table, "[a]")
    handed = None if independent else table
    found = cb.judge(handed, release, "strict", independent=independent)
    case = case_of(release, table, "strict", independent=independent)
    effort = Budget()

    def all_differ(known, over):
        shape = known.domain.project(over).shape
        return np.arange(int(np.prod(shape))).reshape(shape)

    outsider = Attacker(case, case.known, effort, sets_first=case.policy.many_values)
    slow = list(respondents(outsider, case.policy, effort, {}, alike=all_differ))
    quick = [one for one in found.cells if one.respondent is not None]
    assert [one.to_dict() for one in quick] == [one.to_dict() for one in slow]
    assert quick
