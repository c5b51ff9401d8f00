"""Judging where a slip would go unnoticed: places of findings, ends, order, derived variables."""

from __future__ import annotations

import pytest

import cellbounds as cb
from cellbounds.risk.policies import (
    ExactDisclosure,
    GroupDisclosure,
    Outcome,
    Policy,
    PosteriorChance,
    SmallCounts,
    chances,
    judge,
)

DOMAIN = cb.Domain({"row": ["a", "b"], "col": ["x", "y"]})
MARGINS = cb.Release(DOMAIN, [cb.Margin(["row"], [2, 12]), cb.Margin(["col"], [2, 12])])
TABLE = cb.Table(DOMAIN, [[1, 1], [1, 11]])
SAFE, UNSAFE, UNDECIDED = Outcome.SAFE, Outcome.UNSAFE, Outcome.UNDECIDED


def policy_of(*rules, **more):
    return Policy("house", rules=rules, **more)


def of_respondents(verdict):
    return [(one.respondent, one.labels, one.outcome) for one in verdict.cells if one.respondent]


def test_a_finding_names_the_place_that_a_respondent_learns_about():
    # Three attainable counts for everybody; for who is in the cell himself only two.
    policy = policy_of(SmallCounts(at_most=3, values=3), respondent=True)
    assert judge(MARGINS, TABLE, policy_of(*policy.rules)).verdict is SAFE
    found = judge(MARGINS, TABLE, policy)
    assert of_respondents(found) == [
        (("a", "x"), ("a", "x"), UNSAFE),
        (("a", "y"), ("a", "x"), UNSAFE),
        (("b", "x"), ("a", "x"), UNSAFE),
    ]
    said = [one.evidence for one in found.cells if one.respondent]
    assert (
        said
        == ["2 attainable counts: 1-2; and 2 more places"]
        + ["2 attainable counts: 0-1; and 2 more places"] * 2
    )
    safe = judge(MARGINS, TABLE, policy_of(SmallCounts(at_most=3, values=2), respondent=True))
    assert of_respondents(safe) == [
        ((row, col), (row, col), SAFE) for row, col in [("a", "x"), ("a", "y"), ("b", "x")]
    ]
    assert {one.evidence for one in safe.cells if one.respondent} == {"3 places checked"}


def test_rows_are_checked_whatever_rule_comes_first():
    wrong = GroupDisclosure(responses=("row",), given=("col",))
    for rules in [(wrong,), (ExactDisclosure(), wrong), (wrong, ExactDisclosure())]:
        with pytest.raises(cb.InvalidInput, match="'row', which is not among the variables"):
            judge(MARGINS, TABLE, policy_of(*rules), over=["col"])


def test_a_cell_without_an_upper_bound():
    release = cb.Release(DOMAIN, [cb.Margin(["row"], [2, ">=3"])])
    found = judge(release, TABLE, policy_of(ExactDisclosure()))
    assert found.verdict is SAFE
    least = cb.Release(DOMAIN, [cb.Margin(["row", "col"], [[1, 1], [1, ">=5"]])])
    found = judge(least, TABLE, policy_of(ExactDisclosure()))
    assert [one.outcome for one in found.cells] == [UNSAFE, UNSAFE, UNSAFE, SAFE]


def test_cells_that_a_prior_says_to_be_empty_are_no_secret():
    nobody = cb.Prior(["row", "col"], upper={("a", "x"): 0})
    release = cb.Release(DOMAIN, [cb.Margin(["row"], [2, 12]), nobody])
    found = judge(release, None, policy_of(ExactDisclosure()), independent=True)
    assert [(one.labels, one.outcome) for one in found.cells] == [
        (("a", "y"), UNSAFE),
        (("b", "x"), SAFE),
        (("b", "y"), SAFE),
    ]


def test_respondents_of_derived_cells_that_are_alike():
    regions = {"North": ["A", "C"], "South": ["B", "D"], "West": ["E", "F"]}
    domain = cb.Domain(
        {"county": list("ABCDEF")}, groupings={"region": cb.Grouping("county", regions)}
    )
    table = cb.Table(domain, [1, 1, 1, 1, 1, 8])
    policy = policy_of(SmallCounts(at_most=3, values=3), respondent=True)
    # Of 13 people 4 are in the North and the South: both are alike, the West is not.
    said = cb.Linear(["region"], {"North": 1, "South": 1}, equals=4)
    release = cb.Release(domain, [cb.Total(13), said])
    found = judge(release, table, policy, over=["region"])
    assert of_respondents(found) == [
        (("North",), ("North",), SAFE),
        (("South",), ("South",), SAFE),
    ]
    # Who is in one of them knows that it holds one to four, the other none to three.
    stricter = policy_of(SmallCounts(at_most=3, values=5), respondent=True)
    assert judge(release, table, policy_of(*stricter.rules), over=["region"]).verdict is SAFE
    found = judge(release, table, stricter, over=["region"])
    assert of_respondents(found) == [
        (("North",), ("North",), UNSAFE),
        (("South",), ("North",), UNSAFE),
    ]
    alone = judge(release, None, stricter, over=["region"], independent=True)
    assert alone.verdict is UNSAFE


def test_chances_of_a_respondent_without_the_true_counts():
    # Every cell of row a and column x is 0, 1 or 2, each as likely: at most 1 in two thirds.
    rules = [PosteriorChance(at_most=1, probability=limit) for limit in ("0.6", "0.7")]
    for rule, outcome in zip(rules, [UNSAFE, SAFE], strict=True):
        found = judge(MARGINS, None, policy_of(rule), independent=True)
        assert [one.outcome for one in found.cells] == [outcome] * 3 + [SAFE]
    # Who is in a cell himself knows that the one beside it is 0 or 1.
    policy = policy_of(rules[1], respondent=True, respondent_at_most=2)
    found = judge(MARGINS, None, policy, independent=True)
    assert of_respondents(found)[0] == (("a", "x"), ("a", "y"), UNSAFE)


def test_chances_of_a_respondent_only():
    # 0 or 1 with N at least: who is in the cell himself is certain of one.
    release = cb.Release(DOMAIN, [cb.Margin(["row", "col"], [["<2", 9], [9, 10]])])
    rule = PosteriorChance(at_most=1, probability="0.9", positive=True)
    policy = policy_of(rule, respondent=True, respondent_at_most=3)
    assert judge(release, None, policy_of(rule), independent=True).verdict is SAFE
    found = judge(release, None, policy, independent=True)
    assert found.verdict is UNSAFE
    assert of_respondents(found) == [(("a", "x"), ("a", "x"), UNSAFE)]


def test_tables_are_listed_up_to_a_limit(monkeypatch):
    # Half of a margin that is no table of its own: every table has to be listed.
    domain = cb.Domain(
        {"x": ["p", "q", "r"]}, groupings={"some": cb.Grouping("x", {"u": ["p", "q"], "v": ["q"]})}
    )
    table = cb.Table(domain, [1, 1, 1])
    release = cb.Release(domain, [cb.Total(3)])  # ten tables
    policy = policy_of(PosteriorChance(at_most=1, probability="0.9"))
    for most, outcome in [(9, UNDECIDED), (10, SAFE), (11, SAFE)]:
        monkeypatch.setattr(chances, "MOST_LISTED", most)
        found = judge(release, table, policy, over=["some"])
        assert found.verdict is outcome, most
    assert [one.evidence for one in found.cells] == [
        "probability 7/10 (every table listed)",
    ]


def test_a_verdict_says_whether_it_knows_the_true_counts():
    policy = policy_of(ExactDisclosure())
    said = "judged without the true counts"
    assert said not in str(judge(MARGINS, TABLE, policy))
    assert said in str(judge(MARGINS, None, policy, independent=True))
