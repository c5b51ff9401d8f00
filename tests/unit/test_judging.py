"""Judging: each rule on tables where the answer is plain, views, budgets, errors."""

from __future__ import annotations

import json
from importlib import resources

import jsonschema
import numpy as np
import pytest

import cellbounds as cb
from cellbounds import policies
from cellbounds.disclosure.policies import (
    ExactDisclosure,
    GroupDisclosure,
    MinimumCount,
    Outcome,
    Policy,
    PosteriorChance,
    SmallCounts,
    judge,
)
from cellbounds.disclosure.policies.posterior_chance import PosteriorChances
from cellbounds.runtime.budget import Budget

DOMAIN = cb.Domain({"row": ["a", "b"], "col": ["x", "y"]})
SAFE, UNSAFE, UNDECIDED = Outcome.SAFE, Outcome.UNSAFE, Outcome.UNDECIDED


def table_of(counts, **more):
    return cb.Table(DOMAIN, counts, **more)


def policy_of(*rules, **more):
    return Policy("house", rules=rules, **more)


def places(found):
    return {one.labels for one in found}


def test_small_counts_by_values_width_and_relative_width():
    # Row sums 2 and 12, or 8 and 6: the cells of row a are 1 or 4.
    table = table_of([[1, 1], [4, 8]])
    release = cb.publish(table, "[col|row]")
    small = [("a", "x"), ("a", "y")]
    for asked, outcome in [
        ({"values": 2}, SAFE),
        ({"values": 3}, UNSAFE),
        ({"width": 3}, SAFE),
        ({"width": 4}, UNSAFE),
        ({"relative": 3}, SAFE),
        ({"relative": "3.01"}, UNSAFE),
        ({"values": 3, "width": 3}, UNSAFE),
        ({"values": 3, "width": 3, "need": "any"}, SAFE),
    ]:
        rule = SmallCounts(at_most=3, **asked)
        found = judge(table, release, policy_of(rule), over=["row", "col"])
        assert found.outcome is outcome, asked
        assert places(found.cells) == set(small)
        if outcome is UNSAFE:
            assert places(found.broken) == set(small)
    found = judge(table, release, policy_of(SmallCounts(at_most=3, values=4)))
    assert found.broken[0].change.startswith("2 more attainable counts: coarser figures in, or")
    assert "[col|row]" in found.broken[0].change


def test_zeros_count_or_not():
    table = table_of([[0, 20], [30, 40]])
    release = cb.publish(table, "[col|row]", "[row]")
    assert judge(table, release, policy_of(SmallCounts(at_most=3, values=2))).outcome is UNSAFE
    without = policy_of(SmallCounts(at_most=3, values=2, zeros=False))
    assert judge(table, release, without).outcome is SAFE
    assert judge(table, release).outcome is SAFE  # the default protects 1 to 3


@pytest.mark.parametrize(("of", "broken"), [("any", 4), ("zeros", 1), ("positive", 3)])
def test_exact_disclosure(of, broken):
    table = table_of([[0, 20], [30, 40]])
    found = judge(table, cb.publish(table, "[row,col]"), policy_of(ExactDisclosure(of=of)))
    assert len(found.broken) == broken
    assert len(found.cells) == 4


def test_structural_zeros_and_empty_rows_are_exempt():
    structural = table_of([[0, 20], [30, 40]], structural=[[True, False], [False, False]])
    found = judge(structural, cb.publish(structural, "[row,col]"))
    assert found.outcome is SAFE
    empty = table_of([[0, 0], [30, 40]])
    release = cb.publish(empty, "[col|row]@2")
    assert judge(empty, release).outcome is SAFE
    assert judge(empty, release, policy_of(ExactDisclosure(of="zeros"))).outcome is SAFE


def test_structural_zeros_are_known_even_if_the_release_does_not_say_so():
    table = table_of([[0, 3], [5, 4]], structural=[[True, False], [False, False]])
    release = cb.Release(DOMAIN, [cb.Margin(["row"], [3, 9]), cb.Total(12)])
    assert places(judge(table, release).broken) == {("a", "y"), ("a",)}


def test_all_of_a_row_in_one_level():
    table = table_of([[0, 20], [30, 40]])
    release = cb.publish(table, "[col|row]@2")
    policy = policy_of(GroupDisclosure(responses=["col"]))
    found = judge(table, release, policy)
    assert [(one.labels, one.response) for one in found.broken] == [(("a",), "col")]
    assert found.broken[0].evidence == "everybody is in y"
    assert found.at("a", "x") is UNSAFE
    assert found.at("b", "x") is SAFE
    assert found.blame(found.broken[0]) == ("[col|row]@2", "N=90")  # 0.00 of 300 might be one
    # Read the other way round: everybody in column x is in row b.
    assert judge(table, release, policy_of(GroupDisclosure(responses=["row"]))).outcome is UNSAFE


def test_known_not_to_be_in_a_level():
    domain = cb.Domain({"row": ["a", "b"], "col": ["x", "y", "z"]})
    table = cb.Table(domain, [[0, 20, 5], [30, 40, 6]])
    release = cb.publish(table, "[col|row]@2")
    loose, tight = (
        policy_of(GroupDisclosure(responses=["col"], not_in=not_in)) for not_in in (False, True)
    )
    assert judge(table, release, loose).outcome is SAFE
    found = judge(table, release, tight)
    assert places(found.broken) == {("a",)}
    assert found.broken[0].evidence == "nobody is in x"
    known = cb.Table(domain, table.counts, structural=[[True, False, False], [False] * 3])
    assert judge(known, release, tight).outcome is SAFE


def test_rows_of_some_variables_and_of_none():
    table = table_of([[0, 20], [0, 40]])
    release = cb.publish(table, "[row]", "[col]")
    assert judge(table, release, policy_of(GroupDisclosure(given=["row"]))).outcome is UNSAFE
    one = cb.Table(cb.Domain({"col": ["x", "y"]}), [0, 7])
    found = judge(one, cb.publish(one, "[col]"), policy_of(GroupDisclosure()))
    assert found.outcome is UNSAFE
    assert found.broken[0].where == "everybody (col)"


def test_a_row_that_may_be_empty_discloses_nothing():
    table = table_of([[0, 1], [3, 4]])
    release = cb.Release(DOMAIN, [cb.Margin(["row"], ["<5", 7]), cb.Margin(["col"], [3, 5])])
    known = cb.Known(["row", "col"], upper={("a", "x"): 0})
    policy = policy_of(GroupDisclosure(responses=["col"]))
    assert judge(table, release, policy, knows=[known]).outcome is UNSAFE  # 8 - 7 = 1 in row a
    loose = cb.Release(DOMAIN, [cb.Margin(["col"], [3, 5])])
    assert judge(table, loose, policy, knows=[known]).outcome is SAFE


@pytest.mark.parametrize(
    ("probability", "outcome"), [("1/9", UNSAFE), ("2/9", SAFE), ("0.2", UNSAFE), ("0.3", SAFE)]
)
def test_posterior_probabilities_at_the_limit_are_decided_in_fractions(probability, outcome):
    # Nine tables, of which two have at most 6 men with yes.
    table = cb.Table(cb.datasets.read("mp3").domain, [[6, 4], [8, 32]])
    release = cb.publish(table, "[mp3|gender]")
    rule = PosteriorChance(at_most=6, probability=probability)
    found = judge(table, release, policy_of(rule))
    assert {one.labels: one.outcome for one in found.cells}["Male", "yes"] is outcome


def test_posterior_under_another_prior():
    table = table_of([[1, 9], [9, 1]])
    release = cb.publish(table, "[row]", "[col]")
    chance = cb.posterior(release, "multinomial")["a", "x"].at_most(3)
    for limit, outcome in [(chance + 0.01, SAFE), (chance - 0.01, UNSAFE)]:
        rule = PosteriorChance(at_most=3, probability=f"{limit:.6f}", prior="multinomial")
        assert judge(table, release, policy_of(rule)).outcome is outcome


def test_a_posterior_that_cannot_be_had_is_undecided():
    table = table_of([[1, 1], [4, 8]])
    release = cb.publish(table, "[col|row]", total=False)
    found = judge(table, release, policy_of(PosteriorChance(at_most=3, probability="0.9")))
    assert found.outcome is UNDECIDED
    assert "no posterior" in found.open[0].evidence


def test_a_prior_that_needs_a_total_is_undecided_without_one():
    table = table_of([[1, 1], [4, 8]])
    release = cb.publish(table, "[row]", total=False)
    rule = PosteriorChance(at_most=3, probability="0.9", prior="multinomial")
    found = judge(table, release, policy_of(rule))
    assert found.outcome is UNDECIDED
    assert "needs N" in found.open[0].evidence


class Drawn:
    """A posterior that was estimated, as far as a rule looks at it."""

    def __init__(self, share, size, *, rhat=1.0, connected="proven: basic moves"):
        import numpy as np

        self.error, self.method = None, "chains"
        self.notes = (f"connected: {connected}",)
        self.monte_carlo = cb.results.MonteCarlo(
            np.zeros(1), np.array([float(size)]), np.array([float(rhat)])
        )
        self._one = cb.results.Distribution(np.array([0, 9]), np.array([share, 1 - share]))

    def at(self, _):
        return self._one


@pytest.mark.parametrize(
    ("drawn", "confidence", "exceeds"),
    [
        (Drawn(0.5, 10_000), "0.99", False),
        (Drawn(0.95, 10_000), "0.99", True),
        (Drawn(0.8, 20), "0.99", None),
        (Drawn(0.9, 10_000), "0.99", None),
        (Drawn(0.5, 10_000), None, None),
        (Drawn(0.5, 10_000, rhat=1.2), "0.99", None),
        (Drawn(0.5, float("nan")), "0.99", None),
        (Drawn(0.5, 10_000, connected="unproven: lattice moves"), "0.99", None),
    ],
)
def test_estimates_decide_at_the_stated_confidence_only(drawn, confidence, exceeds):
    rule = PosteriorChance(at_most=3, probability="0.9", confidence=confidence)
    release = cb.Release(DOMAIN, [cb.Total(3)])
    chances = PosteriorChances(
        release, DOMAIN.names, rule, Budget(), posterior_of=lambda *_, **__: drawn
    )
    assert chances.of(0).exceeds(rule.probability) is exceeds


@pytest.mark.parametrize(("zeros", "broken"), [(True, {("a",), ("b",)}), (False, {("a",)})])
def test_figures_that_are_shown(zeros, broken):
    domain = cb.Domain({"row": ["a", "b", "c", "d", "e"]})
    table = cb.Table(domain, [4, 0, 12, 3, 2])
    release = cb.Release(domain, [cb.Margin(["row"], [4, 0, 12, "<5", None])])
    found = judge(table, release, policy_of(MinimumCount(at_least=5, zeros=zeros)))
    assert places(found.broken) == broken
    assert places(found.cells) == {("a",), ("b",), ("c",)}
    assert found.blame(found.broken[0]) == ("[row]",)


def test_a_total_and_rounded_figures_are_shown_too():
    table = table_of([[1, 1], [1, 1]])
    found = judge(table, cb.publish(table, "[row]~5"), policy_of(MinimumCount(at_least=5)))
    assert [one.evidence for one in found.broken] == [
        "[row]~5 shows 0",
        "[row]~5 shows 0",
        "N=4 shows 4",
    ]


def test_a_respondent_learns_more():
    # 1 person in a,x or none: who is there himself knows that he is alone.
    table = table_of([[1, 9], [9, 10]])
    release = cb.Release(DOMAIN, [cb.Margin(["row", "col"], [["<2", 9], [9, 10]])])
    rule = SmallCounts(at_most=3, values=2)
    assert judge(table, release, policy_of(rule)).outcome is SAFE
    found = judge(table, release, policy_of(rule, respondent=True))
    assert found.outcome is UNSAFE
    assert found.broken[0].respondent == ("a", "x")
    assert found.broken[0].labels == ("a", "x")
    assert "respondent in" in str(found)
    assert (
        judge(None, release, policy_of(rule, respondent=True), independent=True).outcome is UNSAFE
    )


def test_a_respondent_who_learns_nothing_is_not_tried():
    table = cb.datasets.read("delinquent")
    release = cb.publish(table, "[education|county]@1")
    found = judge(table, release, "strict")
    assert found.outcome is SAFE
    assert all(one.respondent is None for one in found.cells)  # every row and cell is positive


def test_what_an_intruder_knows_besides():
    table = table_of([[1, 1], [4, 8]])
    release = cb.publish(table, "[col|row]")
    assert judge(table, release).outcome is SAFE
    known = cb.Known(["row"], upper={"a": 5})
    found = judge(table, release, knows=[known])
    assert found.outcome is UNSAFE
    assert "the intruder also knows: knowledge of [row]" in str(found)
    assert found.to_dict()["knows"] == ["knowledge of [row]"]
    assert judge(table, release, knows=known).outcome is UNSAFE


def test_independent_verdicts_need_no_table():
    release = cb.publish(table_of([[1, 1], [4, 8]]), "[col|row]")
    found = judge(
        None, release, policy=policy_of(SmallCounts(at_most=3, values=2)), independent=True
    )
    assert found.outcome is SAFE
    assert found.warning == ""
    assert judge(table_of([[1, 1], [4, 8]]), release).warning.startswith("this verdict depends")
    # The counts are 1 or 4; a table with 4 passes, one with 1 does not.
    policy = policy_of(SmallCounts(at_most=3, values=3))
    assert judge(table_of([[4, 4], [2, 4]]), release, policy).outcome is UNSAFE
    large = policy_of(SmallCounts(at_most=1, values=3))
    assert judge(table_of([[4, 4], [2, 4]]), release, large).outcome is SAFE
    assert judge(None, release, large, independent=True).outcome is UNSAFE
    # Nobody would have published the 1, so the 4 is known, which the policy does not protect.
    assert judge(table_of([[4, 4], [2, 4]]), release, large, independent=True).outcome is SAFE


@pytest.mark.parametrize("profile", cb.policies.profiles())
@pytest.mark.parametrize(
    "statements", [["[row]"], ["[row]", "[col]"], ["[col|row]@1"], ["[row,col]<3"], ["[row]~3"]]
)
@pytest.mark.parametrize("empty", [False, True])
def test_independent_verdicts_are_the_same_with_a_table(profile, statements, empty):
    """Of two tables with the same figures either may be handed in, or none.

    Unless that one passes tells them apart: then what passes without a table passes with it, and
    what does not says that it depends on the counts.
    """
    kept = np.array([[empty, False], [False, False]])
    one = table_of([[0, 3], [2, 8]], structural=kept)
    release = cb.publish(one, *statements)

    def told(table):
        found = judge(table, release, profile, independent=True)
        return found.outcome, found.columns(), found.notes, str(found)

    for table in (one, table_of([[0, 3], [1, 9]], structural=kept)):
        if cb.violations(table, release):
            continue
        if not cb.policies.read(profile).tells():
            assert told(table) == told(None)
            continue
        found = judge(table, release, profile, independent=True)
        assert found.independent is found.safe
        assert found.safe or not judge(None, release, profile, independent=True).safe


@pytest.mark.parametrize("independent", [False, True])
def test_a_spent_budget_is_undecided(independent):
    table = table_of([[1, 1], [4, 8]])
    release = cb.publish(table, "[col|row]@1")
    found = judge(table, release, "strict", seconds=1e-9, independent=independent)
    assert found.outcome is UNDECIDED
    assert found.open
    assert not found.broken


def test_a_method_that_refuses_leaves_it_undecided(monkeypatch):
    from cellbounds.disclosure.policies import attacker

    def refuses(*_, **__):
        raise cb.TooMuchWork("too many sums")

    monkeypatch.setattr(attacker, "bounds", refuses)
    monkeypatch.setattr(attacker, "attainable", refuses)
    table = table_of([[1, 1], [4, 8]])
    found = judge(table, cb.publish(table, "[col|row]"))
    assert found.outcome is UNDECIDED
    assert "too many sums" in found.notes


# --- margins


REGIONS = {"west": ["Alpha", "Beta"], "east": ["Gamma", "Delta"]}


def test_the_cells_of_a_margin_are_judged():
    # 7 = 1 + 6 only: the lone person of row a is given away by the rates of row b and N.
    table = table_of([[1, 0], [1, 5]])
    release = cb.publish(table, "[col|row]")
    found = judge(table, release, over=["row"])
    assert found.over == ("row",)
    assert found.domain.names == ("row",)
    assert (found.at("a"), found.at("b")) == (UNSAFE, SAFE)
    assert found.broken[0].count == 1
    assert found.blame(found.broken[0]) == ("[col|row]", "N=7")
    assert found.to_dict()["over"] == ["row"]
    assert "over ['row']" in repr(found)
    assert list(found.columns()) == ["rule", "outcome", "place", "row", *NAMES, "count"]


NAMES = ("respondent", "evidence", "change")


def test_a_margin_in_another_order_and_of_derived_variables():
    table = cb.datasets.read("delinquent")
    grouped = table.grouped("region", of="county", levels=REGIONS)
    release = cb.publish(grouped, "[region,education]")
    found = judge(table, release, over=["education", "region"])
    assert found.outcome is SAFE
    assert found.domain.shape == (4, 2)
    house = policy_of(ExactDisclosure())
    assert len(judge(table, release, house, over=["education", "region"]).broken) == 8
    groups = policy_of(GroupDisclosure(responses=["education"], given=["region"]))
    assert judge(table, release, groups, over=["region", "education"]).outcome is SAFE


def test_everything_that_is_spoken_of_is_judged():
    table = cb.datasets.read("koch4").grouped(
        "well", of="recovery", levels={"yes": ["excellent"], "no": ["modest", "poor"]}
    )
    verdict = judge(table, cb.publish(table, "[recovery|center,status]@1"))
    assert verdict.over == table.domain.names
    assert verdict.margins == (
        ("center", "status", "recovery"),
        ("center", "status"),
        ("center", "recovery"),
        ("status", "recovery"),
        ("center",),
        ("status",),
        ("recovery",),
    )
    # Sums of counts that are shown need not be looked at: none is small if no count is.
    assert judge(table, cb.publish(table, "[center,status]")).margins == (("center", "status"),)
    groups = judge(table, cb.publish(table, "[center,status]"), policy_of(GroupDisclosure()))
    assert groups.margins == (("center", "status"), ("center",), ("status",))
    derived = judge(table, cb.publish(table, "[well|center]@1")).margins
    assert derived == (("center", "well"), ("center",), ("well",))
    assert judge(table, cb.publish(table, "[center]"), over=["center"]).margins == ()
    several = judge(table, cb.publish(table, "[center]"), over=[["center"], ["status", "center"]])
    assert (several.over, several.margins) == (("center",), (("status", "center"),))
    assert judge(table, cb.publish(table, "N")).margins == ()


def test_counts_that_are_given_away_beside_a_variable_that_nobody_named():
    # Two people more in each cell of c hide nothing of the 1 that is shown, or follows.
    domain = cb.Domain({"a": ["a0", "a1"], "b": ["b0", "b1"], "c": ["c0", "c1"]})
    table = cb.Table(domain, [[[1, 0], [9, 8]], [[7, 6], [9, 9]]])
    for said in (["[a,b]"], ["[b|a]", "[a]", "[c]"], ["[b|a]@3", "[a]"]):
        found = judge(table, cb.publish(table, *said))
        assert found.outcome is UNSAFE, said
        assert {(one.variables, one.labels) for one in found.broken} == {
            (("a", "b"), ("a0", "b0"))
        }, said
        assert judge(table, cb.publish(table, *said), over=domain.names).safe


def test_a_small_total_that_is_shown():
    table = table_of([[1, 0], [1, 0]])
    found = judge(table, cb.publish(table, "N"))
    assert [(one.labels, one.evidence) for one in found.broken] == [((), "N is shown: 2")]
    assert judge(table, cb.publish(table, "[col|row]@0", total=False)).safe
    assert judge(table, cb.publish(table, "N"), over=["row", "col"]).safe is False


def test_findings_about_rows_and_figures_touch_the_cells_that_share_people():
    table = cb.datasets.read("delinquent").grouped("region", of="county", levels=REGIONS)
    release = cb.publish(table, "[county,education]")
    shown = policy_of(MinimumCount(at_least=2))
    found = judge(table, release, shown, over=["region"])
    assert {one.labels for one in found.broken} == {("Alpha", "Medium"), ("Alpha", "Very High")}
    assert (found.at("west"), found.at("east")) == (UNSAFE, SAFE)
    assert found.columns()["county"][0] == "Alpha"
    by_county = judge(table, release, shown, over=["education", "county"])
    assert by_county.at("Medium", "Alpha") is UNSAFE
    assert by_county.at("Medium", "Beta") is SAFE
    assert [one.value for one in by_county.outcomes.ravel()].count("unsafe") == 2


def test_a_respondent_in_a_cell_of_a_margin():
    table = table_of([[1, 9], [9, 10]])
    release = cb.Release(DOMAIN, [cb.Margin(["row"], ["<11", 19]), cb.Margin(["col"], [10, "<20"])])
    policy = policy_of(SmallCounts(at_most=10, values=2), respondent=True)
    found = judge(table, release, policy, over=["row"])
    assert all(len(one.respondent) == 1 for one in found.cells if one.respondent)
    assert {one.respondent for one in found.cells} == {None, ("a",)}


def test_bad_margins():
    table = cb.datasets.read("delinquent").grouped("some", of="county", levels={"a": ["Alpha"]})
    release = cb.publish(table, "[county]")
    for over, said in [
        (["age"], "unknown variable 'age'"),
        ([], "names no variable"),
        ("county", "as the text"),
        (["county", "county"], "named twice"),
    ]:
        with pytest.raises(cb.InvalidInput, match=said):
            judge(table, release, over=over)
    with pytest.raises(cb.InvalidInput, match="names 'education', which is not among"):
        judge(table, release, policy_of(GroupDisclosure(responses=["education"])), over=["county"])
    with pytest.raises(cb.InvalidInput, match="overlap or leave somebody out"):
        judge(table, release, policy_of(GroupDisclosure()), over=["some", "education"])


def schema():
    file = resources.files("cellbounds.report") / "schemas" / "verdict-1.schema.json"
    return jsonschema.Draft202012Validator(json.loads(file.read_text("utf-8")))


@pytest.mark.parametrize("independent", [False, True])
@pytest.mark.parametrize("public", [False, True])
def test_verdicts_fit_their_schema(independent, public):
    table = cb.datasets.read("delinquent")
    release = cb.publish(table, "[county]", "[education|county]@1")
    found = judge(table, release, "strict", independent=independent, over=["education", "county"])
    said = found.to_dict(public=public)
    schema().validate(said)
    told = found.independent or not public
    assert said["verdict"] == (found.outcome.value if told else None)
    with pytest.raises(jsonschema.ValidationError):
        schema().validate({**said, "verdict": None if told else "safe"})
    if public:
        with pytest.raises(jsonschema.ValidationError):
            schema().validate({**said, "cells": [{**found.cells[0].to_dict(), "count": 3}]})
    with pytest.raises(jsonschema.ValidationError):
        schema().validate({**said, "verdict": "fine"})


def test_the_owner_sees_counts_the_public_does_not():
    table = table_of([[1, 2], [777, 888]])
    release = cb.publish(table, "[col|row]", "[row]")
    found = judge(table, release, policy_of(SmallCounts(at_most=3, values=2), ExactDisclosure()))
    owner, public = found.to_dict(), found.to_dict(public=True)
    assert owner["format"] == public["format"] == "cellbounds-verdict/1"
    assert {one["count"] for one in owner["cells"]} >= {1, 2, 777, 888}
    assert public["view"] == "public"
    assert owner["verdict"] == "unsafe"
    assert public["verdict"] is None
    assert public["policy"]["name"] == "house"
    assert public["warning"]
    assert "cells" not in public
    assert "summary" not in public
    assert "777" not in json.dumps(public)
    free = judge(table, release, "small-counts", independent=True)
    said = free.to_dict(public=True)
    assert said["cells"]
    assert said["verdict"] == free.outcome.value
    assert not any("count" in one for one in said["cells"])
    known = judge(table, release, knows=[cb.Known(["row"], lower={"a": 3})], independent=True)
    assert "cells" not in known.to_dict(public=True)
    assert known.to_dict(public=True)["verdict"] is None
    schema().validate(known.to_dict(public=True))
    json.dumps(owner)


def test_frames_and_text():
    table = table_of([[1, 2], [30, 40]])
    found = judge(table, cb.publish(table, "[row,col]"))
    frame = found.to_frame("pandas")
    assert frame["outcome"].tolist() == ["unsafe", "unsafe"]
    assert frame["row"].tolist() == ["a", "a"]
    assert frame["count"].tolist() == [1, 2]
    assert "count" not in judge(None, cb.publish(table, "[row]"), independent=True).columns()
    text = str(found)
    assert text.startswith("UNSAFE under the policy small-counts: [row,col], N=73")
    assert "<= 3" in text
    assert "the only attainable count is 1" in text
    assert repr(found) == "<UNSAFE under the policy small-counts: [row,col], N=73>"


def test_labels_are_escaped():
    domain = cb.Domain({"<b>": ["<script>", "b"]})
    table = cb.Table(domain, [1, 9])
    page = judge(table, cb.publish(table, '["<b>"]'))._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_variables_named_like_columns_keep_their_own():
    domain = cb.Domain({"rule": ["a", "b"], "count": ["x", "y"]})
    table = cb.Table(domain, [[1, 2], [30, 40]])
    columns = judge(table, cb.publish(table, "[rule,count]")).columns()
    assert columns["rule"] == ["small-counts", "small-counts"]
    assert columns["rule_"] == ["a", "a"]


@pytest.mark.parametrize("name", policies.profiles())
@pytest.mark.parametrize("independent", [False, True])
def test_every_profile_judges_a_mixture(name, independent):
    table = cb.datasets.read("delinquent")
    release = cb.publish(table, "[county]", "[education|county]@1")
    found = judge(table, release, name, independent=independent)
    assert found.outcome is not UNDECIDED
    assert name in str(found)


def test_bad_input():
    table = table_of([[1, 1], [4, 8]])
    release = cb.publish(table, "[col|row]")
    other = table_of([[91827, 1], [4, 8]])
    with pytest.raises(cb.InvalidInput, match=r"contradicts \[col\|row\], N=14") as caught:
        judge(other, release)
    assert "91827" not in str(caught.value)
    with pytest.raises(
        cb.InvalidInput, match=r"knowledge of \[row\] contradicts the table"
    ) as caught:
        judge(table, release, knows=[cb.Known(["row"], lower={"a": 5})])
    with pytest.raises(cb.InvalidInput, match="neither a profile"):
        judge(table, release, "unknown")
    with pytest.raises(cb.InvalidInput, match="knows: the N=3 contradicts the table"):
        judge(table, release, knows=[cb.Total(3)])
    with pytest.raises(cb.InvalidInput, match="knows has 3"):
        judge(table, release, knows=3)
    with pytest.raises(cb.InvalidInput, match="unknown variable 'income'"):
        judge(table, release, policy_of(GroupDisclosure(responses=["income"])))
    with pytest.raises(cb.InvalidInput, match="independent=1"):
        judge(table, release, independent=1)
    with pytest.raises(cb.InvalidInput, match="seconds=0"):
        judge(table, release, seconds=0)
    with pytest.raises(cb.InvalidInput, match="give a Release"):
        judge(release, table)
    with pytest.raises(cb.InvalidInput, match="give the Table"):
        judge([[1, 1], [4, 8]], release)


def test_rows_of_merged_givens_that_are_published_as_empty():
    domain = cb.Domain({"a": ["x", "y", "z"], "b": ["p", "q"], "c": ["u", "v"]})
    counts = [[[0, 0], [0, 0]], [[0, 0], [0, 0]], [[4, 5], [6, 7]]]
    table = cb.Table(domain, counts).grouped("m", of="a", levels={"xy": ["x", "y"], "z": ["z"]})
    release = cb.publish(table, "[b|m]@1")
    assert cb.judge(table, release).safe
    assert cb.judge(table, release, over=("m", "b")).safe


def test_respondents_that_no_time_is_left_for_are_undecided():
    table = cb.datasets.read("koch4")
    release = cb.publish(table, "[recovery|center,status,treatment]@1")
    assert not [one for one in cb.judge(table, release, "strict").cells if "budget" in one.evidence]
    hurried = cb.judge(table, release, "strict", seconds=1e-9)
    assert hurried.outcome is cb.Outcome.UNDECIDED
    late = [one for one in hurried.cells if "budget was spent" in one.evidence]
    assert late
    assert all(one.respondent and one.outcome is cb.Outcome.UNDECIDED for one in late)
    assert (hurried.outcomes != cb.Outcome.SAFE).all()  # what they learn may be of any cell


@pytest.mark.parametrize(
    ("given", "over"), [(["county", "education"], None), (["county"], ["county"])]
)
def test_a_group_rule_without_a_response_is_refused(given, over):
    table = cb.datasets.read("delinquent")
    policy = cb.policies.Policy("p", rules=[GroupDisclosure(given=given)])
    with pytest.raises(cb.InvalidInput, match="could never fail"):
        cb.judge(table, cb.publish(table, "[county,education]"), policy, over=over)


def test_values_that_are_found_twice_count_once():
    domain = cb.Domain({"a": ["a0", "a1"], "b": ["b0", "b1", "b2"]})
    impossible = np.zeros((2, 3), dtype=bool)
    impossible[1, 2] = True
    table = cb.Table(domain, [[2, 2, 2], [8, 0, 0]], structural=impossible)
    release = cb.publish(table, "[a]~5")
    knows = [cb.Known(["b"], lower={"b2": 0})]
    policy = cb.policies.Policy("p", rules=[SmallCounts(at_most=0, values=13)])
    verdict = cb.judge(table, release, policy, knows=knows)
    assert verdict.at("a1", "b1") is cb.Outcome.UNSAFE  # 0 to 11: twelve values


def test_places_name_the_variables_of_mere_numbers():
    table = cb.datasets.read("koch4")
    policy = policy_of(SmallCounts(at_most=3, values=2))
    verdict = cb.judge(table, cb.publish(table, "[center,status,recovery]"), policy)
    assert verdict.broken[0].where == "center=2, status=1, treatment=1, excellent"
