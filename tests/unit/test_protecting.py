"""Protecting tables by suppression: what is hidden, what it costs, what is written."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import cellbounds as cb
from cellbounds.policies import MinimumCount, Policy, SmallCounts

MARGINS = "[county,education]", "[county]", "[education]"


@pytest.fixture(scope="module")
def table() -> cb.Table:
    return cb.datasets.read("delinquent")


@pytest.fixture(scope="module")
def done(table):
    return cb.protect(table, "[county+,education+]")


def hidden(done) -> set[tuple]:
    return {(one.variables, one.labels) for one in done.hidden}


def test_all_margins_with_all_totals(table, done):
    assert done.safe
    assert done.optimal
    assert done.gap == 0
    assert hidden(done) == hidden(cb.protect(table, *MARGINS))
    assert {one.count for one in done.primaries} <= {1, 2, 3}
    assert done.cost == sum(one.count for one in done.secondaries)


def test_the_release_gives_no_small_count_away(table, done):
    answer = cb.bounds(done.release)
    for labels in table.domain.cells():
        low, high = answer[labels]
        assert low <= table[labels] <= high
        assert low < high or table[labels] > 3
    assert "9 of 16 suppressed, each at least 1" in str(done.release)


def test_the_same_pattern_every_time(table, done):
    again = [hidden(cb.protect(table, *MARGINS)) for _ in range(3)]
    assert all(one == hidden(done) for one in again)


def test_fewest_cells(table, done):
    fewest = cb.protect(table, *MARGINS, cost="cells")
    assert fewest.safe
    assert fewest.cost == len(fewest.secondaries) <= len(done.secondaries)


def test_kept_and_preferred_figures(table, done):
    first = done.secondaries[0]
    cell = dict(zip(first.variables, first.labels, strict=True))
    kept = cb.protect(table, *MARGINS, keep=[cell, "[county]", "[education]"])
    assert kept.safe
    assert (first.variables, first.labels) not in hidden(kept)
    assert {one.variables for one in kept.hidden} == {("county", "education")}
    assert kept.cost >= done.cost
    free = cb.protect(table, *MARGINS, prefer=["[county]", "[education]"])
    assert free.safe
    assert free.cost <= done.cost


def test_weights_of_your_own(table, done):
    weights = np.ones((4, 4), dtype=int)
    weights[2, 1] = 1000  # Gamma, Medium: hidden otherwise
    assert (("county", "education"), ("Gamma", "Medium")) in hidden(done)
    other = cb.protect(table, *MARGINS, cost={"[county,education]": weights.tolist()})
    assert other.safe
    assert (("county", "education"), ("Gamma", "Medium")) not in hidden(other)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"cost": "people"}, "cost='people'"),
        ({"cost": {"[county]": [1, 2]}}, "4 whole numbers"),
        ({"cost": {"[county]": [1, 2, 3, -4]}}, "0 or more"),
        ({"keep": ["[age]"]}, "no published margin"),
        ({"keep": ["[county,education]"]}, "may not be shown"),
        ({"keep": [{"county": "Alpha", "age": "old"}]}, "no published margin"),
        ({"work": -1}, "work=-1"),
        ({"policy": "none"}, "neither a profile"),
    ],
)
def test_what_is_refused(table, how, words):
    with pytest.raises(cb.InvalidInput, match=words) as refused:
        cb.protect(table, *MARGINS, **how)
    assert "20" not in str(refused.value)


def test_only_exact_counts(table):
    with pytest.raises(cb.UnsupportedRelease, match="exact counts"):
        cb.protect(table, "[education|county]@2")
    with pytest.raises(cb.UnsupportedRelease, match="exact counts"):
        cb.protect(table, "[county]~5")


def test_what_one_of_several_wishes_means_is_asked(table):
    rule = SmallCounts(at_most=3, zeros=False, values=2, width=3, need="any")
    with pytest.raises(cb.InvalidInput, match="need='all'"):
        cb.protect(table, *MARGINS, policy=Policy("house", rules=[rule]))


def test_two_people_whose_number_is_known():
    """Each of two hidden counts is at least 1, and N is 2."""
    table = cb.Table(cb.Domain({"a": ["x", "y", "z"]}), [1, 1, 0])
    rule = SmallCounts(below=2, zeros=False, values=2)
    done = cb.protect(table, "[a]", policy=Policy("house", rules=[rule]))
    assert done.outcome is cb.Outcome.UNSAFE
    assert {one.where for one in done.unprotectable} == {"a=x", "a=y"}
    assert "zeros that are shown" in done.unprotectable[0].why
    assert "cannot be protected: a=x" in str(done)
    assert done.to_dict()["unprotectable"][0]["cell"] == {"a": "x"}


def test_without_n_more_is_uncertain():
    table = cb.Table(cb.Domain({"a": ["x", "y"]}), [1, 9])
    assert not cb.protect(table, "[a]", keep=[{"a": "y"}]).safe
    assert cb.protect(table, "[a]", keep=[{"a": "y"}], total=False).safe
    known = cb.policies.read("small-counts").facing(total="known")
    assert not cb.protect(table, "[a]", keep=[{"a": "y"}], total=False, policy=known).safe


def test_whoever_does_not_conclude_from_zeros():
    """Two counts of 1 with a sum of 2: known to those who see that zeros are shown."""
    table = cb.Table(cb.Domain({"a": ["w", "x", "y", "z"]}), [1, 1, 5, 6])
    assert cb.protect(table, "[a]").cost == 5
    trusting = cb.policies.read("small-counts").facing(zeros="never")
    assert cb.protect(table, "[a]", policy=trusting).cost == 0


def test_people_in_the_cells(table):
    for people in (1, 2):
        policy = cb.policies.read("small-counts").facing(respondents=people)
        done = cb.protect(table, *MARGINS, policy=policy)
        assert done.outcome is cb.judge(table, done.release, policy).outcome
        assert done.safe or done.unprotectable


def test_people_in_the_cells_where_zeros_are_hidden_too():
    table = cb.Table(cb.Domain({"a": ["w", "x", "y", "z"]}), [0, 1, 4, 5])
    rule = SmallCounts(below=2, zeros=True, values=2)
    policy = Policy("house", rules=[rule], intruder={"respondents": 1})
    done = cb.protect(table, "[a]", policy=policy)
    assert done.outcome is cb.judge(table, done.release, policy).outcome
    assert "suppressed" in str(done.release)


def test_zeros_that_are_hidden_too(table):
    rules = [MinimumCount(at_least=2), SmallCounts(below=2, zeros=True, values=2)]
    counts = table.counts.copy()
    counts[0, 0] = 0
    done = cb.protect(cb.Table(table.domain, counts), *MARGINS, policy=Policy("z", rules=rules))
    assert done.safe
    assert 0 in {one.count for one in done.primaries}
    assert "suppressed" in str(done.release)


def test_nobody_knows_that_a_count_is_small(table):
    rule = SmallCounts(at_most=3, zeros=False, above_threshold=True)
    done = cb.protect(table, *MARGINS, policy=Policy("house", rules=[rule]))
    assert done.safe
    answer = cb.bounds(done.release)
    small = [labels for labels in table.domain.cells() if 1 <= table[labels] <= 3]
    assert all(answer[labels][1] > 3 for labels in small)


def test_rules_that_suppression_was_not_chosen_by(table):
    rules = [SmallCounts(at_most=3, zeros=False, values=2), cb.policies.GroupDisclosure()]
    done = cb.protect(table, *MARGINS, policy=Policy("house", rules=rules))
    assert done.outcome is cb.judge(table, done.release, done.policy).outcome
    assert "group-disclosure" in str(done)


def test_cells_of_two_margins_are_one():
    """The only place of a region is the region: hidden in both or in none."""
    domain = cb.Domain({"place": ["N1", "N2", "S"], "sex": ["f", "m"]})
    table = cb.Table(domain, [[2, 9], [8, 7], [1, 6]])
    table = table.grouped("region", of="place", levels={"N": ["N1", "N2"], "S": ["S"]})
    done = cb.protect(table, "[place+,sex+]")
    assert done.safe
    by_margin = {said.variables: said for said in done.release.statements if said.variables}
    for fine, coarse in ((("place", "sex"), ("region", "sex")), (("place",), ("region",))):
        first, second = by_margin[fine].hidden[2], by_margin[coarse].hidden[1]
        assert np.array_equal(first, second)


def test_structural_zeros_are_known(table):
    domain = cb.Domain({"a": ["x", "y", "z"], "b": ["x", "y"]})
    structural = np.zeros((3, 2), dtype=bool)
    structural[0, 1] = True
    table = cb.Table(domain, [[9, 0], [1, 7], [6, 8]], structural=structural)
    done = cb.protect(table, "[a+,b+]")
    assert done.safe
    assert (("a", "b"), ("x", "y")) not in hidden(done)


def test_work_and_time(table):
    quick = cb.protect(table, *MARGINS, work=0)
    assert quick.safe
    assert quick.bound == 0
    assert "searched" in str(quick)
    late = cb.protect(table, *MARGINS, seconds=0.001)
    assert late.outcome in (cb.Outcome.SAFE, cb.Outcome.UNDECIDED)
    assert late.stopped or late.optimal


def test_plain_values(done):
    plain = done.to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["format"] == "cellbounds-protect/1"
    assert plain["optimal"] is True
    assert len(plain["hidden"]) == len(done.hidden) == len(done.to_frame())
    assert max(map(len, str(done).splitlines())) <= 80
    assert "SAFE" in repr(done)


def test_the_finished_table(done, tmp_path):
    done.write(tmp_path / "table.csv")
    done.write(tmp_path / "internal.csv", internal=True)
    public, internal = (
        list(csv.DictReader((tmp_path / name).read_text().splitlines()))
        for name in ("table.csv", "internal.csv")
    )
    assert list(public[0]) == ["county", "education", "count"]
    assert len(public) == len(internal) == 25
    assert sum(line["count"] == "x" for line in public) == len(done.hidden)
    marked = [line["status"] for line in internal]
    assert marked.count("primary") == len(done.primaries)
    assert marked.count("secondary") == len(done.secondaries)
    assert internal[-1]["true count"] == "135"
    read = cb.read_published(tmp_path / "table.csv")
    assert cb.judge(cb.datasets.read("delinquent"), done.release).safe
    assert "9 hidden" in str(read)
    done.write(tmp_path / "table.xlsx", mark=":")
    assert (tmp_path / "table.xlsx").stat().st_size > 1000
    with pytest.raises(cb.InvalidInput, match="csv or"):
        done.write(tmp_path / "table.doc")


def test_a_rerun_says_that_it_had_all_tables_only_if_it_had():
    """One count is free within 24; fewer tables than that are enough."""
    table = cb.Table(cb.Domain({"a": ["x", "y"], "b": ["v", "w"]}), [[17, 353], [8, 207]])
    rule = SmallCounts(below=10, zeros=False, values=2)
    done = cb.protect(table, "[a+,b+]", policy=Policy("house", rules=(rule,)))
    (note,) = [note for note in done.notes if note.startswith("holds against whoever reruns it")]
    assert cb.count_tables(done.release) == 24
    assert "which are all" not in note
