"""Judging where a slip would go unnoticed: places of findings, ends, order, derived variables."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import cellbounds as cb
from cellbounds.disclosure.policies import (
    ExactDisclosure,
    GroupDisclosure,
    Outcome,
    Policy,
    PosteriorChance,
    SmallCounts,
    judge,
)
from cellbounds.disclosure.policies.posterior_chance import PosteriorChances
from cellbounds.disclosure.policies.verdict import touched_levels
from cellbounds.runtime.budget import Budget

DOMAIN = cb.Domain({"row": ["a", "b"], "col": ["x", "y"]})
MARGINS = cb.Release(DOMAIN, [cb.Margin(["row"], [2, 12]), cb.Margin(["col"], [2, 12])])
TABLE = cb.Table(DOMAIN, [[1, 1], [1, 11]])
SAFE, UNSAFE, UNDECIDED = Outcome.SAFE, Outcome.UNSAFE, Outcome.UNDECIDED


def policy_of(*rules, **more):
    return Policy("house", rules=rules, **more)


def of_respondents(verdict):
    return [(one.respondent, one.labels, one.outcome) for one in verdict.cells if one.respondent]


@pytest.mark.parametrize("seed", range(40))
def test_every_cell_that_some_respondent_learns_about_is_marked(seed):
    """Against judging from within each small cell by itself."""
    rng = np.random.default_rng(seed)
    table = cb.Table(DOMAIN, rng.integers(0, 4, size=(2, 2)))
    release = cb.publish(table, "[row]", "[col]")
    rule = SmallCounts(at_most=3, values=2)
    found = judge(table, release, policy_of(rule, respondent=True))
    if any(one.outcome is UNSAFE and one.respondent is None for one in found.cells):
        return  # respondents were not tried
    broken = np.zeros((2, 2), dtype=bool)
    for labels in DOMAIN.cells():
        if table[labels]:
            inside = cb.Known(["row", "col"], lower={labels: 1})
            broken |= judge(table, release, policy_of(rule), knows=[inside]).outcomes == UNSAFE
    assert ((found.outcomes == UNSAFE) == broken).all()


def test_a_finding_names_the_place_that_a_respondent_learns_about():
    # Three attainable counts for everybody; for who is in the cell himself only two.
    policy = policy_of(SmallCounts(at_most=3, values=3), respondent=True)
    assert judge(TABLE, MARGINS, policy_of(*policy.rules), over=DOMAIN.names).outcome is SAFE
    found = judge(TABLE, MARGINS, policy, over=DOMAIN.names)
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
    small = policy_of(SmallCounts(at_most=3, values=2), respondent=True)
    safe = judge(TABLE, MARGINS, small, over=DOMAIN.names)
    assert of_respondents(safe) == [
        ((row, col), (row, col), SAFE) for row, col in [("a", "x"), ("a", "y"), ("b", "x")]
    ]
    assert {one.evidence for one in safe.cells if one.respondent} == {"3 places checked"}


def test_rows_are_checked_whatever_rule_comes_first():
    wrong = GroupDisclosure(responses=("row",), given=("col",))
    for rules in [(wrong,), (ExactDisclosure(), wrong), (wrong, ExactDisclosure())]:
        with pytest.raises(cb.InvalidInput, match="'row', which is not among the variables"):
            judge(TABLE, MARGINS, policy_of(*rules), over=["col"])


def test_a_cell_without_an_upper_bound():
    release = cb.Release(DOMAIN, [cb.Margin(["row"], [2, ">=3"])])
    found = judge(TABLE, release, policy_of(ExactDisclosure()), over=DOMAIN.names)
    assert found.outcome is SAFE
    least = cb.Release(DOMAIN, [cb.Margin(["row", "col"], [[1, 1], [1, ">=5"]])])
    found = judge(TABLE, least, policy_of(ExactDisclosure()), over=DOMAIN.names)
    assert [one.outcome for one in found.cells] == [UNSAFE, UNSAFE, UNSAFE, SAFE]


def test_cells_that_a_prior_says_to_be_empty_are_no_secret():
    nobody = cb.Known(["row", "col"], upper={("a", "x"): 0})
    release = cb.Release(DOMAIN, [cb.Margin(["row"], [2, 12]), nobody])
    found = judge(None, release, policy_of(ExactDisclosure()), independent=True)
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
    found = judge(table, release, policy, over=["region"])
    assert of_respondents(found) == [
        (("North",), ("North",), SAFE),
        (("South",), ("South",), SAFE),
    ]
    # Who is in one of them knows that it holds one to four, the other none to three.
    stricter = policy_of(SmallCounts(at_most=3, values=5), respondent=True)
    assert judge(table, release, policy_of(*stricter.rules), over=["region"]).outcome is SAFE
    found = judge(table, release, stricter, over=["region"])
    assert of_respondents(found) == [
        (("North",), ("North",), UNSAFE),
        (("South",), ("North",), UNSAFE),
    ]
    alone = judge(None, release, stricter, over=["region"], independent=True)
    assert alone.outcome is UNSAFE


def test_chances_of_a_respondent_without_the_true_counts():
    # Every cell of row a and column x is 0, 1 or 2, each as likely: at most 1 in two thirds.
    rules = [PosteriorChance(at_most=1, probability=limit) for limit in ("0.6", "0.7")]
    for rule, outcome in zip(rules, [UNSAFE, SAFE], strict=True):
        found = judge(None, MARGINS, policy_of(rule), independent=True, over=DOMAIN.names)
        assert [one.outcome for one in found.cells] == [outcome] * 3 + [SAFE]
    # Who is in a cell himself knows that the one beside it is 0 or 1.
    policy = policy_of(rules[1], respondent=True, respondent_at_most=2)
    found = judge(None, MARGINS, policy, independent=True, over=DOMAIN.names)
    assert of_respondents(found)[0] == (("a", "x"), ("a", "y"), UNSAFE)


def test_chances_of_a_respondent_only():
    # 0 or 1 with N at least: who is in the cell himself is certain of one.
    release = cb.Release(DOMAIN, [cb.Margin(["row", "col"], [["<2", 9], [9, 10]])])
    rule = PosteriorChance(at_most=1, probability="0.9", positive=True)
    policy = policy_of(rule, respondent=True, respondent_at_most=3)
    assert judge(None, release, policy_of(rule), independent=True).outcome is SAFE
    found = judge(None, release, policy, independent=True)
    assert found.outcome is UNSAFE
    assert of_respondents(found) == [(("a", "x"), ("a", "x"), UNSAFE)]


def test_tables_are_listed_up_to_a_limit():
    # Half of a margin that is no table of its own: every table has to be listed.
    domain = cb.Domain(
        {"x": ["p", "q", "r"]}, groupings={"some": cb.Grouping("x", {"u": ["p", "q"], "v": ["q"]})}
    )
    table = cb.Table(domain, [1, 1, 1])
    release = cb.Release(domain, [cb.Total(3)])  # ten tables
    rule = PosteriorChance(at_most=1, probability="0.9")
    for most, exceeds in [(9, None), (10, False), (11, False)]:
        close = PosteriorChance(at_most=1, probability="7/10")
        chances = PosteriorChances(release, ("some",), close, Budget(), most_listed=most)
        assert chances.of(1).exceeds(close.probability) is exceeds, most
    found = judge(table, release, policy_of(rule), over=["some"])
    assert found.outcome is SAFE
    assert [one.evidence for one in found.cells] == [
        "probability 0.7 (exact, N, then parts of summed cells, every table listed)"
    ]


def test_a_verdict_says_whether_it_knows_the_true_counts():
    policy = policy_of(ExactDisclosure())
    said = "also against an intruder who reruns this"
    assert said not in str(judge(TABLE, MARGINS, policy))
    assert said in str(judge(None, MARGINS, policy, independent=True))


THREE = cb.Domain({"row": ["a", "b"], "col": ["x", "y", "z"]})


def test_a_row_that_may_be_empty_gives_nothing_away():
    rule = GroupDisclosure(responses=("col",), given=("row",), not_in=True)
    # Who concludes from the zero that the others are none knows that there is somebody.
    policy = policy_of(rule).facing(zeros="never")
    hidden = [[0, None, None], [3, None, None]]
    for said, outcome in [("<6", SAFE), ("2-6", UNSAFE)]:
        figures = [cb.Margin(["row", "col"], hidden), cb.Margin(["row"], [said, 9])]
        release = cb.Release(THREE, figures)
        found = judge(None, release, policy, independent=True)
        assert [(one.labels, one.outcome) for one in found.cells] == [
            (("a",), outcome),
            (("b",), SAFE),
        ]


def test_what_nobody_can_be_in_is_no_news():
    # Everybody in row a is in x: y is published as empty, in z nobody can be.
    empty = [[False, False, True], [False, False, False]]
    table = cb.Table(THREE, [[5, 0, 0], [4, 4, 4]], structural=empty)
    rule = GroupDisclosure(responses=("col",), given=("row",))
    found = judge(table, cb.publish(table, "[row,col]"), policy_of(rule))
    assert [one.outcome for one in found.cells] == [UNSAFE, SAFE]
    alone = [[False, True, True], [False, False, False]]
    table = cb.Table(THREE, [[5, 0, 0], [4, 4, 4]], structural=alone)
    found = judge(table, cb.publish(table, "[row,col]"), policy_of(rule))
    assert [one.outcome for one in found.cells] == [SAFE, SAFE]


def test_what_empties_a_level_is_blamed():
    rule = GroupDisclosure(responses=("col",), given=("row",), not_in=True)
    release = cb.Release(
        THREE,
        [
            cb.Margin(["row", "col"], [[0, None, None], [">=1", None, None]]),
            cb.Margin(["row"], [5, 9]),
            cb.Margin(["col"], ["<9", "<9", "<9"]),
        ],
    )
    table = cb.Table(THREE, [[0, 2, 3], [3, 3, 3]])
    found = judge(table, release, policy_of(rule))
    assert [one.labels for one in found.broken] == [("a",)]
    assert found.blame(found.broken[0]) == ("[row,col]",)


def test_chances_beside_a_small_cell():
    # Who is alone in a, x leaves one person beside him: nobody there has a count of zero.
    rule = PosteriorChance(at_most=0, probability="0.4")
    assert judge(None, MARGINS, policy_of(rule), independent=True).outcome is SAFE
    policy = policy_of(rule, respondent=True, respondent_at_most=1)
    assert judge(None, MARGINS, policy, independent=True).outcome is SAFE
    # Where he may be one of two, the other cell may be empty.
    policy = policy_of(rule, respondent=True, respondent_at_most=2)
    found = judge(None, MARGINS, policy, independent=True)
    assert found.outcome is UNSAFE
    with_table = policy_of(rule, respondent=True, respondent_at_most=1)
    assert judge(TABLE, MARGINS, with_table).outcome is SAFE  # no true count is zero


def test_rows_that_rates_say_are_empty():
    domain = cb.Domain({"row": ["a", "b"], "col": ["x", "y"]})
    table = cb.Table(domain, [[0, 0], [5, 5]])
    release = cb.publish(table, "[col|row]", "N")
    found = judge(table, release, policy_of(ExactDisclosure()), over=["row"])
    assert [one.labels for one in found.cells] == [("b",)]


def test_overlapping_cells_are_alike_to_themselves_only():
    groups = cb.Grouping("x", {"u": ["p", "q"], "v": ["q", "r"]})
    domain = cb.Domain({"x": ["p", "q", "r"]}, groupings={"some": groups})
    table = cb.Table(domain, [1, 1, 1])
    policy = policy_of(SmallCounts(at_most=3, values=4), respondent=True)
    found = judge(table, cb.Release(domain, [cb.Total(3)]), policy, over=["some"])
    assert of_respondents(found) == [(("u",), ("u",), UNSAFE), (("v",), ("v",), UNSAFE)]
    assert {one.evidence for one in found.cells if one.respondent} == {"3 attainable counts: 1-3"}


def test_estimates_by_wilsons_interval():
    drawn = cb.results.Distribution(np.array([0, 1, 2]), np.array([0.3, 0.3, 0.4]))

    class Estimated:
        error, method, notes = None, "chains", ["connected: proven"]
        monte_carlo = SimpleNamespace(effective_size=np.full((2, 2), 100.0), agreed=True)

        def at(self, _):
            return drawn

    release = cb.Release(DOMAIN, [cb.Margin(["row"], [2, 12])])

    def chance(rule):
        estimates = {"posterior_of": lambda *_, **__: Estimated()}
        return PosteriorChances(release, DOMAIN.names, rule, Budget(), **estimates).of(0)

    # 0.3 of an effective 100 draws: from 0.2307 to 0.3798 at one-sided 95%.
    for limit, exceeds in [("0.23", True), ("0.24", None), ("0.37", None), ("0.38", False)]:
        rule = PosteriorChance(at_most=0, probability=limit, confidence="0.95")
        assert chance(rule).exceeds(rule.probability) is exceeds, limit
        assert "from 0.2307 to 0.3798 at confidence" in chance(rule).words
    rule = PosteriorChance(at_most=0, probability="0.38")
    assert chance(rule).exceeds(rule.probability) is None


def test_rules_as_plain_values():
    rules = [
        (ExactDisclosure(of="zeros"), {"rule": "exact-disclosure", "of": "zeros"}),
        (
            PosteriorChance(at_most=2, probability="0.25"),
            {
                "rule": "posterior",
                "at_most": 2,
                "probability": "1/4",
                "prior": "uniform",
                "positive": False,
            },
        ),
        (GroupDisclosure(), {"rule": "group-disclosure", "not_in": False}),
    ]
    for rule, plain in rules:
        assert rule.to_dict() == plain


def test_errors_name_the_policy_or_the_rule():
    with pytest.raises(cb.InvalidInput, match=r"^the policy 'house' has no rule"):
        policy_of()
    with pytest.raises(cb.InvalidInput, match="positive"):
        PosteriorChance(at_most=2, probability="0.5", positive=1)


def test_how_long_it_took():
    assert 0 <= judge(TABLE, MARGINS, policy_of(ExactDisclosure())).seconds < 600


def test_a_place_that_names_a_variable_twice():
    regions = cb.Grouping("county", {"North": ["A", "B"], "South": ["C"]})
    domain = cb.Domain({"county": list("ABC")}, groupings={"region": regions})
    found = touched_levels(domain, ["county", "region"], ["county", "region"], ["A", "North"])
    assert [one.tolist() for one in found] == [[True, False, False], [True, False]]


def test_a_verdict_shows_who_learns_what():
    # One cell is given away to everybody, others only to who is in them.
    release = cb.Release(DOMAIN, [cb.Margin(["row", "col"], [["<2", 9], [9, 10]])])
    rule = SmallCounts(at_most=9, values=2)
    table = cb.Table(DOMAIN, [[1, 9], [9, 10]])
    alone = judge(table, release, policy_of(rule))
    assert "respondent in" not in str(alone)
    hidden = cb.Release(DOMAIN, [cb.Margin(["row", "col"], [["<2", "8-9"], ["8-9", 10]])])
    found = judge(table, hidden, policy_of(rule, respondent=True))
    assert {one.respondent for one in found.broken} == {("a", "x")}
    assert "respondent in" in str(found)


def test_places_from_within_alike_cells_are_counted_once():
    domain = cb.Domain({"x": ["a", "b", "c"]})
    release = cb.Release(domain, [cb.Total(6)])
    policy = policy_of(SmallCounts(at_most=3, values=2), respondent=True)
    found = judge(cb.Table(domain, [1, 2, 3]), release, policy)
    said = [(one.respondent, one.evidence) for one in found.cells if one.respondent]
    assert said == [((label,), "3 places checked") for label in "abc"]


def test_long_verdicts_are_cut():
    domain = cb.Domain({"x": [f"{k:03}" for k in range(121)]})
    table = cb.Table(domain, [5] * 121)
    found = judge(table, cb.publish(table, "[x]"), policy_of(ExactDisclosure()))
    assert len(found.broken) == 121
    text, page = str(found), found._repr_html_()
    assert "... 21 more: to_frame() has them all" in text
    assert text.count("the only attainable count") == 100
    assert "... 61 more: to_frame() has them all" in page
    assert page.count("the only attainable count") == 60
