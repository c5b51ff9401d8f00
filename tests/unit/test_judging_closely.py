"""Judging, more closely: what rules say of themselves, words, who is blamed, what is cut."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import cellbounds as cb
from cellbounds.disclosure.policies import (
    ExactDisclosure,
    GroupDisclosure,
    MinimumCount,
    Outcome,
    Policy,
    PosteriorChance,
    SmallCounts,
    attacker,
    judge,
    judging,
    scenarios,
)
from cellbounds.disclosure.policies.posterior_chance import PosteriorChances
from cellbounds.disclosure.policies.respondents import alike_cells
from cellbounds.disclosure.policies.rule import certainly_held
from cellbounds.disclosure.policies.scenarios import case_of, cases_of
from cellbounds.disclosure.policies.verdict import Finding, Verdict
from cellbounds.results import Distribution, MonteCarlo, ValueSet
from cellbounds.runtime.budget import UNLIMITED, Budget
from cellbounds.runtime.interrupts import Late

DOMAIN = cb.Domain({"row": ["a", "b"], "col": ["x", "y"]})
TABLE = cb.Table(DOMAIN, [[1, 1], [1, 11]])
MARGINS = cb.Release(DOMAIN, [cb.Margin(["row"], [2, 12]), cb.Margin(["col"], [2, 12])])
SAFE, UNSAFE, UNDECIDED = Outcome.SAFE, Outcome.UNSAFE, Outcome.UNDECIDED
SMALL = SmallCounts(at_most=3, values=2)


def policy_of(*rules, **more):
    return Policy("house", rules=rules, **more)


# What rules say of themselves.


def test_a_threshold_of_zeros_alone():
    assert SmallCounts(below=1, values=2).small == 0
    assert SmallCounts(at_most=0, values=2).small == 0
    assert MinimumCount(at_least=1).sentence.endswith("at least 1 (>= 1; zeros included)")


def test_two_counts_are_the_ends_of_an_interval_and_no_more():
    assert not SmallCounts(at_most=3, values=2).many_values
    assert not SmallCounts(at_most=3, width=5).many_values
    assert SmallCounts(at_most=3, values=3).many_values


def test_what_more_publishing_may_mend():
    two, three = SMALL, SmallCounts(at_most=3, values=3)
    for rule, independent, mends in [
        (two, False, False),
        (two, True, False),
        (three, False, False),
        (three, True, True),
        (SmallCounts(at_most=3, width=1), True, False),
        (SmallCounts(at_most=3, width=2), True, True),
        (PosteriorChance(at_most=3, probability="0.9"), False, True),
        (ExactDisclosure(), True, False),
        (GroupDisclosure(), True, False),
        (MinimumCount(at_least=3), True, False),
    ]:
        assert bool(rule.why_not_monotone(independent=independent)) is mends, rule


def test_rules_about_cells_are_the_same_among_some_records():
    for rule in (SMALL, ExactDisclosure(), MinimumCount(at_least=3)):
        assert rule.among("part", ("row", "col")) is rule
        assert rule.within({"row": "row"}) is rule


def test_the_smallest_count_that_a_policy_speaks_of():
    positive = SmallCounts(at_most=3, values=2, zeros=False)
    chance = PosteriorChance(at_most=3, probability="0.9")
    assert policy_of(positive).smallest == 1
    assert policy_of(positive, chance).smallest == 0
    assert policy_of(positive, ExactDisclosure()).smallest == 1
    assert policy_of(ExactDisclosure()).smallest == 0


def test_the_smallest_count_that_may_be_shown():
    assert [one.least_shown for one in (SMALL, ExactDisclosure(), MinimumCount(at_least=7))] == [
        *(0, 0, 7)
    ]


def test_which_rules_leave_out_rows_that_are_published_as_empty():
    chance = PosteriorChance(at_most=3, probability="0.9")
    rules = (SMALL, ExactDisclosure(), GroupDisclosure(), chance, MinimumCount(at_least=3))
    assert [one.exempts_empty_rows for one in rules] == [True, True, False, False, False]


def test_figures_may_be_judged_beside_respondents():
    policy = policy_of(SMALL, MinimumCount(at_least=2), respondent=True)
    found = judge(TABLE, MARGINS, policy, over=["row", "col"])
    assert found.outcome is SAFE
    assert {one.rule for one in found.cells if one.respondent} == {"small-counts"}


@pytest.mark.parametrize(
    ("asked", "attainable", "words"),
    [
        ({"values": 3}, [1], "2 more attainable counts"),
        ({"values": 3}, [1, 2], "1 more attainable count"),
        ({"width": 3}, [1, 2], "an interval wider by 2"),
        ({"values": 3, "width": 2}, [1, 3], "1 more attainable count"),
        ({"values": 2, "width": 2}, [1, 2], "an interval wider by 1"),
        ({"values": 3, "width": 3}, [1, 2], "1 more attainable count and an interval wider by 2"),
        ({"values": 2, "width": 1}, [1, 3], ""),
        ({"relative": 2}, [1, 2], "an interval wider beside the count"),
        (
            {"values": 3, "relative": 2, "need": "any"},
            [1, 2],
            "1 more attainable count or an interval wider beside the count",
        ),
    ],
)
def test_what_a_small_count_lacks(asked, attainable, words):
    rule = SmallCounts(at_most=3, **asked)
    assert rule.lacks(ValueSet.from_values(attainable)) == words


def test_nothing_is_lacking_without_an_end():
    rule = SmallCounts(at_most=3, values=3, width=3, relative=2)
    assert rule.lacks(ValueSet([(0, None, 1)])) == ""


# What is proven before anything is worked out: every count from the least to the most is known.

ROW = cb.Table(cb.Domain({"x": list("abcdef")}), [0, 1, 2, 3, 3, 4])
LEAST = np.array([0, 1, 1, 1, 3, 4])
MOST = np.array([1, 3, 2, 3, 3, 4])
NONE = np.zeros(6, dtype=bool)


@pytest.mark.parametrize(
    ("rule", "unproven"),
    [
        (SmallCounts(at_most=3, values=2), "e"),
        (SmallCounts(at_most=3, values=3), "ace"),
        (SmallCounts(at_most=3, values=3, zeros=False), "ce"),
        (SmallCounts(at_most=2, values=3), "ac"),
        (SmallCounts(at_most=3, width=2), "ace"),
        (SmallCounts(at_most=3, relative=1), "cde"),
        (SmallCounts(at_most=3, values=3, relative=1), "acde"),
        (SmallCounts(at_most=3, values=3, relative=1, need="any"), "ce"),
        (ExactDisclosure(), "ef"),
        (ExactDisclosure(of="positive"), "ef"),
        (ExactDisclosure(of="zeros"), ""),
        (MinimumCount(at_least=9), ""),
        (PosteriorChance(at_most=3, probability="0.9"), "abcdef"),
    ],
)
def test_cells_that_are_not_proven(rule, unproven):
    found = rule.unproven(ROW, NONE, LEAST, MOST)
    assert "".join(np.array(list("abcdef"))[found]) == unproven


def test_zeros_and_exempt_cells_that_are_not_proven():
    same = np.array([0, 1, 2, 3, 3, 4])
    for of, unproven in [("any", "abcdef"), ("zeros", "a"), ("positive", "bcdef")]:
        found = ExactDisclosure(of=of).unproven(ROW, NONE, same, same)
        assert "".join(np.array(list("abcdef"))[found]) == unproven
    exempt = np.array([True, False, False, False, True, False])
    found = SMALL.unproven(ROW, exempt, same, same)
    assert "".join(np.array(list("abcdef"))[found]) == "bcd"


def open_cells(rule, counts, most, closed=((False,) * 3,) * 2):
    domain = cb.Domain({"row": ["a", "b"], "col": ["x", "y", "z"]})
    table = cb.Table(domain, counts, structural=closed)
    found = rule.unproven(table, table.structural, np.zeros((2, 3), dtype=int), np.array(most))
    return found.tolist()


def test_rows_whose_members_may_be_alike():
    rule = GroupDisclosure(responses=["col"])
    counts = [[5, 0, 0], [1, 1, 1]]
    # Somebody may be in two levels of each row; then in one level of the first only.
    assert open_cells(rule, counts, [[5, 1, 0], [1, 1, 1]]) == [[False] * 3] * 2
    assert open_cells(rule, counts, [[5, 0, 0], [1, 1, 0]]) == [
        [False, True, True],
        [False, False, True],
    ]
    # Who can only be in one level gives nothing away, and an empty row has no members.
    closed = [[False, True, True], [False] * 3]
    assert open_cells(rule, counts, [[5, 0, 0], [1, 1, 0]], closed) == [[False] * 3] * 2
    assert open_cells(rule, [[0, 0, 0], [1, 1, 1]], [[0, 0, 0], [1, 1, 1]]) == [[False] * 3] * 2
    # Of those that may help, structural zeros are none.
    closed = [[False, False, True], [False] * 3]
    assert open_cells(rule, counts, [[5, 0, 0], [1, 1, 1]], closed) == [
        [False, True, False],
        [False] * 3,
    ]
    every = GroupDisclosure(responses=["col"], not_in=True)
    assert open_cells(every, counts, [[5, 1, 0], [1, 1, 1]]) == [
        [False, False, True],
        [False] * 3,
    ]
    assert open_cells(every, counts, [[5, 1, 0], [1, 1, 1]], closed) == [[False] * 3] * 2


# Rows.

THREE = cb.Domain({"row": ["a", "b"], "col": ["x", "y", "z"]})


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_all_in_one_level_wherever_it_stands(order):
    """Of three levels one holds everybody, one is empty, and in one nobody can be."""
    counts, closed = np.array([[5, 0, 0], [2, 2, 2]]), np.zeros((2, 3), dtype=bool)
    closed[0, 2] = True
    table = cb.Table(THREE, counts[:, order], structural=closed[:, order])
    rule = GroupDisclosure(responses=["col"], given=["row"])
    found = judge(table, cb.publish(table, "[row,col]"), policy_of(rule))
    assert [one.outcome for one in found.cells] == [UNSAFE, SAFE]
    two = cb.Table(THREE, np.array([[5, 3, 0], [2, 2, 2]])[:, order])
    assert judge(two, cb.publish(two, "[row,col]"), policy_of(rule)).outcome is SAFE


def test_a_level_is_closed_only_if_all_of_its_cells_are():
    domain = cb.Domain({"a": ["1", "2"], "b": ["1", "2"], "c": ["1", "2"]})
    closed = np.zeros((2, 2, 2), dtype=bool)
    closed[0, 1, 0] = True
    counts = np.array([[[3, 4], [0, 0]], [[5, 6], [7, 8]]])
    table = cb.Table(domain, counts, structural=closed)
    rule = GroupDisclosure(responses=["b"], given=["a"])
    found = judge(table, cb.publish(table, "[a,b,c]"), policy_of(rule), over=domain.names)
    assert [(one.labels, one.outcome) for one in found.cells] == [(("1",), UNSAFE), (("2",), SAFE)]


def test_levels_that_overlap_may_be_given_but_not_learnt():
    groups = {"first": ["x", "y"], "second": ["y", "z"]}
    table = cb.Table(THREE, [[2, 2, 2], [3, 3, 3]]).grouped("some", of="col", levels=groups)
    release = cb.publish(table, "[row]")
    given = GroupDisclosure(responses=["row"], given=["some"])
    assert judge(table, release, policy_of(given), over=["some", "row"]).outcome is SAFE
    learnt = GroupDisclosure(responses=["some"], given=["row"])
    with pytest.raises(cb.InvalidInput, match="levels overlap or leave somebody out"):
        judge(table, release, policy_of(learnt), over=["some", "row"])


def test_a_row_holds_somebody_if_one_of_its_cells_does(monkeypatch):
    """No further question is asked for that."""

    def refuses(*_, **__):
        raise cb.TooMuchWork("no bounds of rows")

    monkeypatch.setattr(attacker, "bounds", refuses)
    table = cb.Table(THREE, [[0, 2, 3], [2, 2, 2]])
    rule = GroupDisclosure(responses=["col"], given=["row"], not_in=True)
    found = judge(table, cb.publish(table, "[row,col]"), policy_of(rule))
    assert [one.outcome for one in found.cells] == [UNSAFE, SAFE]


def test_the_row_of_everybody():
    domain = cb.Domain({"x": ["a", "b", "c"]})
    hidden = cb.Margin(["x"], [0, None, None])
    policy = policy_of(GroupDisclosure(not_in=True)).facing(zeros="never")
    for total, outcome in [(cb.Total(5), UNSAFE), (cb.Total(upper=5), SAFE)]:
        found = judge(None, cb.Release(domain, [hidden, total]), policy, independent=True)
        assert [(one.where, one.outcome) for one in found.cells] == [("everybody (x)", outcome)]


# Words.


def test_how_many_runs_of_counts_are_named():
    domain = cb.Domain({"x": ["a", "b"]})
    listed = [1, 3, 6, 10, 15, 21]
    rule = SmallCounts(at_most=3, values=3)
    for values, shown in [(listed, "1, 3, 6, 10, 15, 21"), ([*listed, 28], "...")]:
        known = cb.Known(["x"], values={"a": values})
        release = cb.Release(domain, [cb.Total(100), known])
        found = judge(cb.Table(domain, [1, 99]), release, policy_of(rule))
        (finding,) = found.cells
        assert finding.evidence.startswith(f"{len(values)} attainable counts: 1, 3, 6, 10, 15, ")
        assert finding.evidence.endswith(shown)


def test_bounds_come_first_where_they_decide():
    domain = cb.Domain({"x": ["a", "b"]})
    known = cb.Known(["x"], values={"a": [1, 3, 6, 10, 15, 21]})
    release = cb.Release(domain, [cb.Total(100), known])
    (finding,) = judge(cb.Table(domain, [1, 99]), release, policy_of(SMALL)).cells
    assert finding.evidence == "from 1 to 21; attained: 1, 21"


def test_an_end_that_is_attained_is_the_end():
    """Nothing below the smallest count is possible, whatever else is open."""

    class OnlyEnds:
        def ends(self):
            sides = np.ones((2, 2), dtype=object), np.full((2, 2), 9, dtype=object)
            return sides, sides

        def at(self, _):
            return ValueSet((), unknown=[(0, None, 1)])

    case = case_of(MARGINS, TABLE, policy_of(SMALL))
    outsider = attacker.Attacker(case, case.known, Budget(), answer=OnlyEnds())
    held, values = outsider.decided((0, 0), certainly_held)
    assert held is True
    assert (values.possible.smallest, values.possible.largest) == (1, 9)


def test_a_small_count_is_taken_at_its_largest():
    rule = SmallCounts(at_most=3, relative=2)
    values = ValueSet.from_values([1, 3])
    assert rule.broken(values, values) is True  # a width of 2 is twice 1, not twice 3
    assert rule.broken(values, ValueSet.from_values([1])) is False


def test_counts_without_end():
    domain = cb.Domain({"x": ["a", "b"]})
    release = cb.Release(domain, [cb.Margin(["x"], [">=3", 5])])
    found = judge(cb.Table(domain, [3, 5]), release, policy_of(SmallCounts(at_most=3, values=3)))
    assert [one.evidence for one in found.cells] == ["endlessly many attainable counts: 3-"]


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        (["[row,col]"], "[row,col]"),
        (["[row,col]", "[row]"], "[row,col] or [row]"),
        (["[row,col]", "[row]", "[col]"], "[row,col], [row] or [col]"),
    ],
)
def test_what_could_be_withheld(said, remedy):
    release = cb.publish(TABLE, *said, total=False)
    (first, *_) = judge(TABLE, release, policy_of(SMALL)).broken
    assert first.change == (
        f"1 more attainable count: coarser figures in, or withholding, {remedy}"
    )


def finding_of(outcome, labels=("a", "x"), **more):
    return Finding("small-counts", outcome, ("row", "col"), labels, "seen", **more)


def verdict_of(*cells, **more):
    return Verdict(policy_of(SMALL), MARGINS, cells, False, ("row", "col"), **more)


def test_what_is_broken_has_the_last_word_about_a_cell():
    cells = [finding_of(UNSAFE), finding_of(UNDECIDED), finding_of(UNDECIDED, ("b", "x"))]
    for order in itertools.permutations(cells):
        found = verdict_of(*order)
        assert (found.at("a", "x"), found.at("b", "x"), found.at("b", "y")) == (
            *(UNSAFE, UNDECIDED, SAFE),
        )
    later = verdict_of(cells[1], elsewhere=(cells[0],))
    assert later.at("a", "x") is UNSAFE


@pytest.mark.parametrize(("ways", "left"), [(1, ""), (3, ""), (4, "1 more way"), (6, "3 more way")])
def test_three_ways_to_change_it_are_told(ways, left):
    found = verdict_of(*(finding_of(UNSAFE, change=f"way {number}") for number in range(ways)))
    text = str(found)
    told = [f"way {number}" for number in range(ways) if f"what would change it: way {number}\n"]
    assert [one for one in told if one in text] == told[:3]
    assert ("more way" in text) is bool(left)
    assert left in text
    assert found.changes == tuple(f"way {number}" for number in range(ways))


def test_a_column_for_respondents_if_there_is_one():
    mine = finding_of(UNSAFE, respondent=("b", "y"))
    for cells, said in [((finding_of(UNSAFE),), False), ((finding_of(UNSAFE), mine), True)]:
        assert ("respondent in" in str(verdict_of(*cells))) is said
    assert "b, y" in str(verdict_of(finding_of(UNSAFE), mine))


def test_a_verdict_column_by_column():
    mine = finding_of(UNSAFE, change="less", count=1, respondent=("b", "y"))
    columns = verdict_of(mine, finding_of(SAFE, ("b", "y"), count=11)).columns()
    assert columns == {
        "rule": ["small-counts"] * 2,
        "outcome": ["unsafe", "safe"],
        "place": ["a, x", "b, y"],
        "row": ["a", "b"],
        "col": ["x", "y"],
        "respondent": ["b, y", None],
        "evidence": ["seen"] * 2,
        "change": ["less", ""],
        "count": [1, 11],
    }


def test_seconds_are_told_to_the_microsecond():
    assert verdict_of(seconds=0.123456789).to_dict()["seconds"] == 0.123457


# Who is blamed.


def test_both_ends_of_a_count_are_blamed_on_who_forces_them():
    least = cb.Margin(["row", "col"], [[">=2", ">=0"], [">=0", ">=0"]])
    release = cb.Release(DOMAIN, [least, cb.Margin(["row"], [2, 12])])
    table = cb.Table(DOMAIN, [[2, 0], [1, 11]])
    found = judge(table, release, policy_of(SMALL))
    blamed = {one.labels: found.blame(one) for one in found.broken}
    assert blamed["a", "x"] == ("[row,col]", "[row]")


def test_a_total_that_is_shown_is_blamed():
    found = judge(TABLE, cb.publish(TABLE, "[col|row]@1"), policy_of(MinimumCount(at_least=20)))
    (shown,) = found.broken
    assert (shown.evidence, found.blame(shown)) == ("N=14 shows 14", ("N=14",))


def test_figures_after_the_total_are_looked_at():
    release = cb.Release(DOMAIN, [cb.Total(14), cb.Margin(["row"], [2, 12])])
    found = judge(TABLE, release, policy_of(MinimumCount(at_least=5)))
    assert [one.labels for one in found.cells] == [(), ("a",), ("b",)]
    assert [one.labels for one in found.broken] == [("a",)]


def test_figures_after_rates_are_looked_at():
    release = cb.publish(TABLE, "[col|row]@1", "[row]")
    found = judge(TABLE, release, policy_of(MinimumCount(at_least=5)))
    assert [(one.labels, found.blame(one)) for one in found.broken] == [(("a",), ("[row]",))]


# Time.


def test_work_that_is_stopped_leaves_everything_open(monkeypatch):
    def stopped(*_, **__):
        raise Late

    monkeypatch.setattr(judging, "cases_of", stopped)
    known = cb.Known(["row"], lower={"a": 1})
    found = judge(TABLE, MARGINS, policy_of(SMALL, ExactDisclosure()), knows=[known])
    assert (found.outcome, found.over, found.knows) == (UNDECIDED, ("row", "col"), (known,))
    assert [one.rule for one in found.open] == ["small-counts", "exact-disclosure"]
    assert {one.evidence for one in found.open} == {
        "not looked at to the end: the budget was spent"
    }
    assert [found.blame(one) for one in found.open] == [(), ()]
    assert judge(TABLE, MARGINS, over=("col",)).over == ("col",)


def refused_to(monkeypatch, whom):
    """Attainable counts are refused to some intruders."""
    allowed = attacker.attainable

    def asked(release, **given):
        if whom(release):
            raise cb.TooMuchWork("too many sums")
        return allowed(release, **given)

    monkeypatch.setattr(attacker, "attainable", asked)


def is_respondents(release):
    return any(isinstance(one, cb.Known) for one in release.statements)


def test_whatever_a_respondent_may_learn_is_marked_as_open(monkeypatch):
    refused_to(monkeypatch, is_respondents)
    policy = policy_of(SmallCounts(at_most=3, values=3), respondent=True)
    found = judge(TABLE, MARGINS, policy, over=["row", "col"])
    assert (found.outcome, found.broken) == (UNDECIDED, ())
    assert found.outcomes.tolist() == [[UNDECIDED, UNDECIDED], [UNDECIDED, SAFE]]


def test_cells_in_which_nobody_can_be_keep_nobody_else_from_being_tried(monkeypatch):
    """Without an answer for outsiders every cell is tried; nobody can be in the first."""
    refused_to(monkeypatch, lambda release: not is_respondents(release))
    release = cb.Release(DOMAIN, [cb.Margin(["row", "col"], [[0, "<3"], [9, 10]])])
    policy = policy_of(SmallCounts(at_most=3, values=3), respondent=True)
    found = judge(None, release, policy, independent=True)
    assert ("a", "y") in {one.respondent for one in found.cells}
    assert ("a", "x") not in {one.respondent for one in found.cells}


def test_cells_of_different_lists_and_sums_are_not_alike():
    domain = cb.Domain({"x": list("abcd")})
    one, other = (cb.Known(["x"], values={label: [1, 3]}) for label in "ab")
    hidden = cb.Margin(["x"], [None, None, ">=1", None])
    release = cb.Release(domain, [one, other, hidden])
    assert alike_cells(release, ("x",)).tolist() == [0, 1, 2, 3]


def test_respondents_for_whom_no_time_is_left(monkeypatch):
    monkeypatch.setattr("cellbounds.runtime.budget.LATE", 600.0)  # no alarm comes in between
    policy = policy_of(SmallCounts(at_most=3, values=3), respondent=True)
    found = judge(TABLE, MARGINS, policy, seconds=1e-9)
    late = [one for one in found.cells if one.respondent]
    assert {one.evidence for one in late} == {"nobody looked from here: the budget was spent"}
    assert [one.respondent for one in late] == [("a", "x"), ("a", "y"), ("b", "x")]


def test_a_checkpoint_of_the_owner_is_not_for_others(tmp_path):
    file = tmp_path / "state"
    policy = policy_of(SMALL)
    for _ in range(2):
        kept = Budget(checkpoint=file)
        assert judge(TABLE, MARGINS, policy, over=["row", "col"], budget=kept).outcome is SAFE
    with pytest.raises(cb.InvalidInput, match="the owner's table to start from"):
        judge(
            None,
            MARGINS,
            policy,
            over=["row", "col"],
            independent=True,
            budget=Budget(checkpoint=file),
        )


# Probabilities.


def test_doubles_decide_where_tables_are_too_many_to_list():
    release = cb.publish(TABLE, "[row]")
    chance = cb.posterior(release)["a", "x"].at_most(0)
    for limit, exceeds in [(chance - 0.01, True), (chance + 0.01, False)]:
        rule = PosteriorChance(at_most=0, probability=f"{limit:.4f}")
        found = PosteriorChances(release, DOMAIN.names, rule, Budget(), most_listed=0).of(0)
        assert found.exceeds(rule.probability) is exceeds


def test_estimates_may_have_other_notes():
    class Drawn:
        error, method = None, "chains"
        notes = ("a note", "connected: proven: basic moves")
        monte_carlo = MonteCarlo(np.zeros(1), np.array([10_000.0]), np.array([1.0]))

        def at(self, _):
            return Distribution(np.array([0, 9]), np.array([0.5, 0.5]))

    rule = PosteriorChance(at_most=3, probability="0.9", confidence="0.99")
    chances = PosteriorChances(
        MARGINS, DOMAIN.names, rule, Budget(), posterior_of=lambda *_, **__: Drawn()
    )
    assert chances.of(0).exceeds(rule.probability) is False


# Files.


def test_a_file_in_yaml_says_everything_where_it_stands(tmp_path):
    pytest.importorskip("yaml")
    file = tmp_path / "house.yaml"
    file.write_text("name: &n house\ntitle: *n\nrule:\n  - {rule: small-counts, at_most: 3}\n")
    with pytest.raises(cb.InvalidInput, match=r"line 2: the alias \*n; write out"):
        cb.policies.read(file)
    file.write_text("name: house\n3: x\n")
    with pytest.raises(cb.InvalidInput, match=r"the key 3 .* is no text"):
        cb.policies.read(file)


# What searches leave out, because only the outcome matters.


def shortly(release, table, policy="small-counts"):
    return judging.judged(cases_of(release, table, policy), UNLIMITED, decisive=True)[0].outcome


def test_levels_that_leave_somebody_out_do_not_add_up_to_a_margin():
    """The two men are not those of region x, which tables differ in."""
    domain = cb.Domain({"region": ["a", "b", "c"], "sex": ["m", "f"]})
    table = cb.Table(domain, [[1, 6], [0, 7], [1, 9]])
    table = table.grouped("g", of="region", levels={"x": ["a", "b"]})
    release = cb.publish(table, "[g,sex]~20")
    pool = attacker.Pool(release, cb.attainable(release, over=["g", "sex"]), table)
    assert [one.tolist() for one in pool.counts(("sex",))] == [[2, 22]]
    assert [one.tolist() for one in pool.counts(("sex", "g"))] == [[[1], [13]]]


def test_a_margin_that_shows_its_counts_acquits_no_hidden_ones():
    """Nobody is in a0, so that nobody is in its parts, which are not shown."""
    table = cb.Table(cb.Domain({"a": [0, 1], "b": [0, 1]}), [[0, 0], [0, 2]])
    # The other rule is asked of the margin, and kept there.
    rules = [SmallCounts(at_most=1, zeros=False, values=2), cb.policies.ExactDisclosure(of="any")]
    policy = cb.policies.Policy("house", rules=rules)
    release = cb.publish(table, "[a]")
    assert judge(table, release, policy).outcome is UNSAFE
    assert shortly(release, table, policy) is UNSAFE


def test_figures_that_are_too_small_are_found_where_the_cells_are_safe():
    table = cb.Table(cb.Domain({"a": [0, 1], "b": [0, 1]}), [[1, 2], [5, 5]])
    rules = [SmallCounts(at_most=1, zeros=False, values=2), MinimumCount(at_least=4)]
    policy = cb.policies.Policy("house", rules=rules)
    release = cb.publish(table, "[a]")
    assert judge(table, release, policy).outcome is UNSAFE
    assert shortly(release, table, policy) is UNSAFE


def test_whoever_is_in_no_derived_level_is_part_of_none():
    """The total less region x is the count of c."""
    table = cb.Table(cb.Domain({"region": ["a", "b", "c"]}), [11, 11, 2])
    table = table.grouped("g", of="region", levels={"x": ["a", "b"]})
    release = cb.publish(table, "[g]")
    assert judge(table, release).outcome is UNSAFE
    assert shortly(release, table) is UNSAFE


def test_margins_are_settled_together(monkeypatch):
    """Of fifteen margins none is looked at by itself: two more tables tell them all apart."""
    domain = cb.Domain({name: ["0", "1"] for name in "abcd"})
    counts = 1 + np.arange(16).reshape(domain.shape) % 5
    table = cb.Table(domain, counts * 3)
    looked = []
    look = judging._look
    monkeypatch.setattr(
        judging,
        "_look",
        lambda case, *rest, **more: looked.append(case) or look(case, *rest, **more),
    )
    rule = SmallCounts(at_most=1000, values=2)
    release = cb.publish(table, "[d|a,b,c]@1", total=False)
    assert shortly(release, table, policy_of(rule)) is SAFE
    assert [case.over for case in looked] == [("a", "b", "c", "d")]
    shortly(release, table, policy_of(SmallCounts(at_most=1000, values=3)))
    assert len(looked) == 1 + 15  # three counts are not shown by the two ends


# Margins that are too many to be judged.


def narrow_release():
    """Three people of whom nobody can say where they are, but everybody that they are of x."""
    domain = cb.Domain({"a": ["x", "y"], "b": ["p", "q"], "c": ["m", "n"]})
    table = cb.Table(domain, [[[1, 1], [1, 0]], [[9, 9], [9, 9]]])
    return table, cb.publish(table, "[a,b,c]<5")


def test_what_is_left_out_is_not_called_safe(monkeypatch):
    table, release = narrow_release()
    assert judge(table, release).outcome is UNSAFE
    monkeypatch.setattr(scenarios, "MOST_MARGINS", 3)  # those of two variables
    verdict = judge(table, release)
    assert verdict.outcome is UNDECIDED
    assert [(one.evidence, one.change) for one in verdict.open] == [
        ("3 margins of the fewest variables were not judged", "naming them in over=")
    ]
    assert judge(table, release, over=["a"]).outcome is UNSAFE
    named = judge(table, release, over=[["a", "b"], ["b", "c"]])
    assert named.outcome is SAFE


def test_what_need_not_be_judged_is_not_left_out(monkeypatch):
    """Sums of counts that are shown, and not small, are not small."""
    monkeypatch.setattr(scenarios, "MOST_MARGINS", 1)
    monkeypatch.setattr(scenarios, "MOST_SPOKEN", 3)
    domain = cb.Domain({"a": ["x", "y"], "b": ["p", "q"], "c": ["m", "n"], "d": ["s", "t"]})
    table = cb.Table(domain, np.full((2, 2, 2, 2), 9))
    assert judge(table, cb.publish(table, "[a,b,c]")).outcome is SAFE
    left = judge(table, cb.publish(table, "[a,b,c]", "[b,c,d]<5"))
    assert left.outcome is UNDECIDED
    assert "margins or more of the fewest variables" in left.open[0].evidence
