"""Histories in which each release is safe alone and the third is refused because of two others."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cellbounds as cb
from cellbounds.disclosure.policies import Outcome
from cellbounds.ledger import Ledger, NotSafe
from cellbounds.ledger.chain import ChainHead, sealed
from cellbounds.ledger.frontier import candidates_of
from cellbounds.ledger.journal import LedgerState
from cellbounds.ledger.judgement import Budget, answered, blamed
from cellbounds.ledger.serialization import plain_release
from strategies import LONG

STORIES = {
    "koch4": ["[treatment|recovery]@1", "[recovery|center]@2", "[center|treatment,recovery]@2"],
    "census3": ["[gender]", "[race]", "[race|gender,income]@2"],
}


CPS8 = Path(__file__).parents[3] / "shared" / "data" / "cps8.csv"


def told(ledger, table, story):
    """Commit the story; what was refused, and the entries that are to blame."""
    for statement in story[:2]:
        ledger.commit(statement, table=table, who="ann", why="a request", seconds=60)
    with pytest.raises(NotSafe) as refused:
        ledger.commit(story[2], table=table, who="ann", why="a request", record=True, seconds=60)
    return refused.value


@pytest.mark.parametrize("name", STORIES)
def test_the_third_is_refused_because_of_the_first_two(tmp_path, name):
    table, story = cb.datasets.read(name), STORIES[name]
    ledger = Ledger.create(tmp_path / f"{name}.ledger", table, who="ann")
    for statement in story:
        assert ledger.ask(statement, table=table).outcome is Outcome.SAFE
    refused = told(ledger, table, story)
    assert refused.answer.outcome is Outcome.UNSAFE
    assert [one.number for one in refused.answer.harmful] == [2, 3]
    assert refused.answer.smallest
    for number, statement in zip((2, 3), story, strict=False):
        assert f"entry {number}: {statement}" in str(refused)
    assert [one.kind for one in ledger.history()] == ["opened", "released", "released", "refused"]
    assert ledger.history()[-1].content["judged"]["harmful"] == [2, 3]


@pytest.mark.skipif(not CPS8.exists(), reason="the table cps8 is not at hand")
def test_the_same_on_cps8(tmp_path):
    protect = ["Age", "EmployerType", "Salary"]
    table = cb.read_table(CPS8)
    if not LONG:
        table = table.margin(protect)  # all eight variables take minutes
    ledger = Ledger.create(tmp_path / "cps8.ledger", table, protect=[protect], who="ann")
    story = ["[Age]", "[Salary|Age,EmployerType]@3", "[EmployerType|Age]@3"]
    refused = told(ledger, table, story)
    assert [one.number for one in refused.answer.harmful] == [2, 3]


# The fewest past releases, against every set of them.

DOMAIN = cb.Domain({"a": ["x", "y"], "b": ["u", "v"]})
STATEMENTS = ["[a]", "[b]", "[a]~3", "[b]<3", "[b|a]@1", "[a|b]@1", "[a,b|]@1", "[b|a]", "[a,b]~5"]


def released(table, statements):
    """A state in which these are out."""
    head, entries = None, []
    for statement in statements:
        content = {
            "release": plain_release(cb.publish(table, statement)),
            "version": 1,
            "statements": [statement],
        }
        _, entry = sealed(
            head, ledger="main", kind="released", at="", who="a", why="", content=content
        )
        head = ChainHead(entry.number, entry.hash)
        entries.append(entry)
    policy = cb.policies.read("small-counts")
    return LedgerState(
        table.domain,
        table.structural,
        (table.digest,),
        False,
        policy,
        False,
        (table.domain.names,),
        tuple(entries),
    )


@settings(max_examples=settings().max_examples // 4)
@given(
    st.lists(st.integers(0, 7), min_size=4, max_size=4).filter(any),
    st.lists(st.sampled_from(STATEMENTS), min_size=1, max_size=4, unique=True),
    st.sampled_from(STATEMENTS),
)
def test_no_fewer_past_releases_do_the_harm(counts, past, new):
    table = cb.Table(DOMAIN, np.array(counts).reshape(2, 2))
    state = released(table, past)
    release = cb.publish(table, new)
    answer = answered(state, release, 1, table, Budget())
    expected = cb.judge(table, cb.publish(table, *past, new)).outcome
    assert answer.outcome is expected
    found = blamed(state, answer, table, Budget())
    if expected is not Outcome.UNSAFE:
        assert found.harmful == ()
        assert found.smallest is None
        return

    def unsafe(chosen):
        return cb.judge(table, cb.publish(table, *chosen, new)).outcome is Outcome.UNSAFE

    assert unsafe([one.statements[0] for one in found.harmful])
    assert found.smallest
    for count in range(len(found.harmful)):
        assert not any(map(unsafe, itertools.combinations(past, count)))


def test_one_release_is_blamed_rather_than_two():
    table = cb.datasets.read("census3")
    # The first two do harm with the new one too, and are what is left by leaving out the last.
    state = released(table, ["[gender]", "[race]", "[gender,income]"])
    new = cb.publish(table, "[race|gender,income]@2")
    answer = answered(state, new, 1, table, Budget())
    found = blamed(state, answer, table, Budget())
    assert [one.number for one in found.harmful] == [3]
    assert found.smallest
    limited = blamed(state, answer, table, Budget(seconds=1e-6))
    assert limited.harmful


# The frontier.


def test_the_frontier_says_of_every_candidate_what_asking_says(tmp_path):
    domain = cb.Domain({name: ["0", "1"] for name in "abc"})
    table = cb.Table(domain, [[[1, 9], [7, 8]], [[3, 2], [8, 9]]])
    ledger = Ledger.create(tmp_path / "l", table, keep_table=True, who="ann")
    ledger.commit("[a,b]", why="x")
    ledger.commit("[b|c]@1", why="y")
    found = ledger.frontier()
    candidates = list(candidates_of(domain, None, 2))
    assert {*found.safe, *found.unsafe, *found.undecided} == set(candidates)
    for statement in candidates:
        asked = ledger.ask(statement).outcome
        listed = found.safe if asked is Outcome.SAFE else found.unsafe
        assert statement in listed
    assert found.never == found.unsafe
    assert found.judgements < len(candidates)
    assert "[a]" in found.safe
    assert "[a]" not in found.maximal
    assert "may be released" in str(found)
    assert found.to_dict()["maximal"] == list(found.maximal)
    assert "<table" in found._repr_html_()


def test_sets_that_may_follow_together(tmp_path):
    table = cb.datasets.read("census3")
    ledger = Ledger.create(tmp_path / "l", table, keep_table=True, who="ann")
    ledger.commit("[gender]", why="x")
    listed = ["[race]", "[income]", "[race|gender,income]@2"]
    found = ledger.frontier(listed, sets=True)
    assert found.maximal == tuple(listed)
    harm = ("[race]", "[race|gender,income]@2")
    assert harm in found.sets.minimal_unsafe
    assert "[gender]" in found.sets.given
    assert found.to_dict()["sets"]["format"] == found.sets.to_dict()["format"]
    assert str(found.sets) in str(found)
    for chosen in found.sets.maximal:
        assert ledger.ask(list(chosen)).outcome is Outcome.SAFE
    ledger.set_policy(protect=[["gender", "race"]], why="x")
    with pytest.raises(cb.InvalidInput, match="ask for sets one at a time"):
        ledger.frontier(listed, sets=True)


def test_a_frontier_of_rules_that_more_may_heal_makes_no_promise(tmp_path):
    table = cb.Table(DOMAIN, [[1, 2], [3, 4]])
    how = {"independent": True, "keep_table": True, "who": "ann"}
    ledger = Ledger.create(tmp_path / "l", table, policy="opensafely", **how)
    found = ledger.frontier()
    assert "[a,b]" in found.unsafe
    assert found.never == ()
    assert found.judgements == len({*found.safe, *found.unsafe, *found.undecided})
    assert "not now" in str(found)


def test_rates_of_empty_rows_make_no_promise_either(tmp_path):
    table = cb.Table(DOMAIN, [[0, 0], [3, 4]])
    ledger = Ledger.create(tmp_path / "l", table, keep_table=True, who="ann")
    assert ledger.frontier(["[a]", "[b|a]@1"]).final is False
    assert ledger.frontier(["[a]", "[b]"]).final is True


def test_rounded_counts_tell_nothing_else(tmp_path):
    table = cb.Table(DOMAIN, [[20, 30], [40, 50]])
    ledger = Ledger.create(tmp_path / "l", table, keep_table=True, who="ann")
    listed = ["[a,b]~5", "[b|a]@1", "[a]", "[a,b]<5"]
    assert ledger.frontier(listed).maximal == tuple(listed)
    assert ledger.frontier([*listed, "[a,b]"]).maximal == ("[a,b]",)


def test_candidates_are_checked(tmp_path):
    table = cb.Table(DOMAIN, [[1, 2], [3, 4]])
    ledger = Ledger.create(tmp_path / "l", table, keep_table=True, who="ann")
    with pytest.raises(cb.InvalidInput, match="1 to 2 variables"):
        ledger.frontier(way=3)
    with pytest.raises(cb.InvalidInput, match="up to 2000"):
        ledger.frontier(["[a]"] * 2001)
