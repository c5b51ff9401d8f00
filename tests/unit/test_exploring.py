"""The search over designs: which there are, how they are compared, stopping and resuming."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from fractions import Fraction
from functools import partial
from multiprocessing import get_context

import numpy as np
import pytest

import cellbounds as cb
from cellbounds.disclosure import exploring
from cellbounds.disclosure.exploring import Frontier, design_search
from cellbounds.disclosure.exploring.design_search import Measures, measured
from cellbounds.disclosure.exploring.designs import Design, Way
from cellbounds.disclosure.exploring.frontier import JudgedDesign
from cellbounds.disclosure.policies import (
    ExactDisclosure,
    GroupDisclosure,
    MinimumCount,
    Outcome,
    Policy,
    PosteriorChance,
    SmallCounts,
)
from cellbounds.disclosure.policies.verdict import CANNOT_RERUN
from cellbounds.results.charts import save_chart
from cellbounds.runtime.workers import Until

explore = partial(exploring.explore, independent=False)
"""Designs chosen by the counts alone, unless a test says otherwise."""

ZEROS = Policy("zeros", rules=[SmallCounts(at_most=3, values=2)])
CHILDREN = cb.datasets.read("delinquent")
KOCH = cb.datasets.read("koch4")


def small_table(counts=((3, 1, 2), (5, 6, 7)), **levels):
    counts = np.array(counts)
    names = levels or {"a": ["x", "y"], "b": ["p", "q", "r"]}
    return cb.Table(cb.Domain(names), counts)


# --- which designs there are ---------------------------------------------------------------


def test_all_subsets_and_digits_in_a_fixed_order():
    found = explore(KOCH, response="recovery", digits=[2, 1])
    statements = [one.notation for one in found.designs]
    assert len(statements) == 2 * 2**3 == found.planned
    assert statements[:4] == [
        "[recovery|]@2",
        "[recovery|]@1",
        "[recovery|center]@2",
        "[recovery|center]@1",
    ]
    assert statements[-1] == "[recovery|center,status,treatment]@1"
    assert found.complete
    assert found.use == "[recovery|center,status,treatment]"


def test_listed_givens_in_the_order_of_the_table_each_once():
    found = explore(
        KOCH,
        response="recovery",
        givens=[("status", "center"), (), ("center", "status")],
        digits=[None],
    )
    assert [one.notation for one in found.designs] == ["[recovery|center,status]", "[recovery|]"]
    assert found.use == "[recovery|center,status]"


def test_two_responses():
    found = explore(KOCH, response=["recovery", "status"], givens=[("center",)], digits=1)
    assert [one.notation for one in found.designs] == ["[status,recovery|center]@1"]
    assert found.designs[0].figures == 12


def test_rounding_rules_and_tolerances_are_crossed_with_digits():
    found = explore(
        CHILDREN,
        response="education",
        givens=[("county",)],
        digits=(1, 2, None),
        rounding=("nearest", "consistent"),
        eps=(None, "0.01"),
    )
    ways = [one.design.way for one in found.designs]
    assert ways == [
        Way(1, "nearest"),
        Way(2, "nearest"),
        Way(),
        Way(2, "nearest", Fraction(1, 100)),
        Way(1, "consistent"),
        Way(2, "consistent"),
        Way(2, "consistent", Fraction(1, 100)),
    ]
    assert [one.design.way for one in found.left_out] == [
        Way(1, "nearest", Fraction(1, 100)),
        Way(1, "consistent", Fraction(1, 100)),
    ]
    nearest, consistent = found.left_out
    assert "not within eps" in nearest.why
    assert "moves a rate by up to one unit" in consistent.why
    assert found.complete
    assert "2 designs cannot be published" in str(found)


@pytest.mark.parametrize(
    ("rounding", "eps", "strict", "digits"),
    [
        ("nearest", "0.05", False, 1),
        ("nearest", "0.05", True, 2),
        ("nearest", "0.01", False, 2),
        ("consistent", "0.05", False, 2),
        ("consistent", "0.1", False, 1),
        ("down", "0.001", False, 3),
        ("nearest", "2", False, 0),
    ],
)
def test_without_digits_as_few_as_the_tolerance_needs(rounding, eps, strict, digits):
    found = explore(
        CHILDREN, response="education", digits=None, rounding=rounding, eps=eps, strict=strict
    )
    assert not found.left_out
    ways = {one.design.way for one in found.designs}
    assert ways == {Way(digits, rounding, Fraction(eps), strict)}


def test_neighbouring_levels_are_merged_of_variables_with_more_than_two():
    found = explore(KOCH, response="recovery", givens=[("center",)], digits=[1], merges="adjacent")
    assert [one.notation for one in found.designs] == [
        "[recovery|center]@1",
        '["recovery (merged)"|center]@1',
        '["recovery (merged)"|center]@1',
    ]
    assert [one.design.merged for one in found.designs] == [
        "",
        "recovery: poor, modest as poor or modest",
        "recovery: modest, excellent as modest or excellent",
    ]


def test_a_merged_design_speaks_of_the_cells_of_the_table(tmp_path):
    found = explore(
        CHILDREN,
        response="education",
        givens=[("county",)],
        digits=[2],
        merges={"county": [{"west": ["Alpha", "Beta"], "east": ["Gamma", "Delta"]}]},
    )
    plain, merged = found.designs
    release = merged.release
    assert release.domain == CHILDREN.domain
    assert merged.notation == '[education|"county (merged)"]@2'
    assert release.domain.levels("county (merged)") == ("west", "east")
    assert merged.figures == 8
    assert not cb.violations(CHILDREN, release)
    assert plain.utility > merged.utility
    release.write(tmp_path / "merged.toml")
    assert cb.read_release(tmp_path / "merged.toml").digest == release.digest


def test_the_name_of_merged_levels_is_one_that_is_free():
    taken = CHILDREN.grouped("county (merged)", of="county", levels={"all": ["Alpha"]})
    found = explore(
        taken,
        response="education",
        givens=[("county",)],
        digits=[1],
        merges={"county": [{"AB": ["Alpha", "Beta"]}]},
    )
    assert found.designs[1].notation == '[education|"county (merged 2)"]@1'


def test_names_with_marks_of_the_notation():
    odd = small_table(**{"a, [b]": ["x", "y"], 'say "@2"': ["p", "=1+1", "<script>"]})
    found = explore(odd, response='say "@2"', digits=[1], merges="adjacent")
    assert found.complete
    assert len(found.designs) == 6
    for one in found.designs:
        assert one.release.statements[0].notation == one.notation
    assert "<script>" not in found._repr_html_()


# --- comparing -----------------------------------------------------------------------------


def test_two_digits_against_three_as_document_004_tells_it():
    found = explore(
        CHILDREN,
        response="education",
        givens=[("county",)],
        digits=(2, 3),
        rounding=("nearest", "consistent"),
    )
    said = {(one.design.way.rounding, one.design.way.digits): one for one in found.designs}
    assert said["consistent", 2].outcome is Outcome.SAFE
    assert said["consistent", 2].tightest == 2  # 5 tables, 403 within a unit of each figure
    assert said["consistent", 3].outcome is Outcome.UNSAFE
    assert said["consistent", 3].exact == 16  # three digits reveal every count
    assert said["consistent", 3].risk == 1
    assert said["nearest", 2].outcome is Outcome.UNSAFE
    assert found.best is said["consistent", 2]
    assert found.best_release().digest == (
        cb.publish(CHILDREN, "[education|county]@2", rounding="consistent").digest
    )


def test_reasons_name_the_rule_and_the_place():
    found = explore(CHILDREN, response="education", digits=[1, 2])
    by_name = {one.notation: one.reason for one in found.designs}
    assert by_name["[education|county]@2"] == (
        "small-counts at Alpha, Medium: the only attainable count is 1; and 5 more"
    )
    assert by_name["[education|county]@1"] == "every small count keeps at least 5 attainable"
    assert by_name["[education|]@1"] == "no count is small"


def judged(risk, utility, outcome=Outcome.SAFE, figures=4, digits=1):
    return JudgedDesign(
        design=Design(("b",), ("a",), Way(digits, "nearest")),
        outcome=outcome,
        broken=0,
        open=0,
        exact=0,
        tightest=2,
        risk=risk,
        utility=utility,
        figures=figures,
        reason="",
    )


def frontier_of(*designs):
    policy = cb.policies.read("small-counts")
    return Frontier(tuple(designs), (), len(designs), policy, False, "[b|a]")


def test_the_frontier_is_what_no_other_design_beats():
    rng = np.random.default_rng(3)
    for _ in range(100):
        places = rng.integers(0, 5, (rng.integers(1, 9), 2)).tolist()
        found = frontier_of(*(judged(r / 5, u / 5) for r, u in places))
        expected = [
            one
            for one in found.designs
            if not any(
                other.risk <= one.risk
                and other.utility >= one.utility
                and (other.risk, other.utility) != (one.risk, one.utility)
                for other in found.designs
            )
        ]
        assert sorted(map(id, found.frontier)) == sorted(map(id, expected))
        utilities = [one.utility for one in found.frontier]
        assert utilities == sorted(utilities)


def test_the_best_is_safe_and_ties_are_broken_by_risk_figures_and_order():
    unsafe = judged(0.1, 0.9, Outcome.UNSAFE)
    undecided = judged(0.1, 0.95, Outcome.UNDECIDED)
    first, riskier = judged(0.2, 0.8), judged(0.3, 0.8)
    fewer, later = judged(0.2, 0.8, figures=2), judged(0.2, 0.8, figures=2, digits=3)
    assert frontier_of(unsafe, undecided, riskier, first).best is first
    assert frontier_of(judged(0.3, 0.8, figures=1), first).best is first
    assert frontier_of(unsafe, first, fewer, later).best is fewer
    assert frontier_of(unsafe, undecided).best is None
    with pytest.raises(cb.InvalidInput, match="none of the 2 designs is safe"):
        frontier_of(unsafe, undecided).best_release()
    assert "no design is safe" in str(frontier_of(unsafe))


def test_a_utility_of_ones_own():
    def figures(table, release):
        return release.statements[0].rates.size

    found = explore(CHILDREN, response="education", digits=[1], utility=figures)
    assert [one.utility for one in found.designs] == [4.0, 16.0]


def test_frames_dictionaries_and_text_carry_the_warning():
    found = explore(CHILDREN, response="education", digits=[1, 2])
    frame = found.to_frame("pandas")
    assert list(frame["statement"]) == [one.notation for one in found.designs]
    assert frame["best"].sum() == 1
    assert set(frame["outcome"]) == {"safe", "unsafe"}
    said = found.to_dict()
    assert said["designs"][said["best"]]["notation"] == found.best.notation
    assert [said["designs"][k]["risk"] for k in said["frontier"]] == [
        one.risk for one in found.frontier
    ]
    for text in (str(found), found._repr_html_(), said["warning"]):
        assert "keep this to yourself" in text
    assert "best: [education|county]@1" in str(found)


def test_a_long_frontier_is_cut_but_keeps_the_best():
    many = [judged(k / 100, k / 100, Outcome.UNSAFE, digits=k % 50) for k in range(1, 90)]
    found = frontier_of(judged(0.001, 0.001), *many)
    text = str(found)
    assert "50 more on the frontier" in text
    assert "best: [b|a]@1" in text


def test_the_chart_explains_every_point(tmp_path):
    found = explore(CHILDREN, response="education", digits=[1, 2], merges="adjacent")
    chart = found.plot()
    spec = chart.to_dict()
    layers = [layer["data"]["values"] for layer in spec["layer"]]
    assert [len(one) for one in layers] == [len(found.frontier), 1, len(found.designs)]
    hover = {one["field"] for one in spec["layer"][2]["encoding"]["tooltip"]}
    assert {"statement", "rates", "merged", "outcome", "risk", "utility", "reason"} <= hover
    assert "confidential" in json.dumps(spec["title"])
    save_chart(chart, tmp_path / "chart.html")
    page = (tmp_path / "chart.html").read_text("utf-8")
    assert "every small count keeps at least" in page
    assert 'src="http' not in page
    assert '"editor":false' in page


def test_labels_cannot_end_the_script_of_a_chart(tmp_path):
    odd = small_table(a=["</script><script>alert(1)</script>", "y"], b=["p", "q", "r"])
    found = explore(odd, response="b", givens=[("a",)], digits=[2])
    assert "alert(1)" in found.designs[0].reason
    save_chart(found.plot(), tmp_path / "chart.html")
    page = (tmp_path / "chart.html").read_text("utf-8")
    assert "alert(1)" in page
    assert "<script>alert" not in page
    assert page.count("</script>") == page.count("<script")


# --- policies ------------------------------------------------------------------------------


def test_a_unique_person_of_the_published_table_counts_though_parts_are_hidden():
    """One person with y, in one of two cells of the table: the margin tells his rate."""
    table = cb.Table(
        cb.Domain({"a": ["x", "y"], "b": ["p", "q"], "c": ["u", "v"]}),
        [[[5, 0], [0, 5]], [[0, 0], [1, 0]]],
    )
    found = explore(table, response="b", givens=[("a",)], digits=[None], policy=ZEROS)
    (one,) = found.designs
    assert one.outcome is Outcome.UNSAFE
    assert cb.judge(table, one.release, ZEROS, over=["a", "b"]).outcome is Outcome.UNSAFE


def test_rules_about_groups_speak_of_variables_as_they_are_published():
    design = explore(
        CHILDREN, response="education", givens=[("county",)], digits=[1], merges="adjacent"
    ).designs
    rule = GroupDisclosure(responses=["education"], given=["county"])
    policy = Policy("groups", rules=[rule, MinimumCount(at_least=3)], respondent=True)
    merged = design[1].design
    renamed = policy.within(merged.prepared(CHILDREN).domain, merged.names).rules[0]
    assert renamed.responses == ("education (merged)",)
    assert renamed.given == ("county",)
    alone = Design(("education",), (), Way(1, "nearest"))
    assert policy.within(CHILDREN.domain, alone.names) is None


@pytest.mark.parametrize(
    "rule",
    [
        GroupDisclosure(responses=["center"]),
        PosteriorChance(at_most=3, probability="0.9"),
        SmallCounts(at_most=1, values=4),
    ],
)
def test_other_rules_are_judged_on_the_whole_table_too(rule):
    policy = Policy("other", rules=[rule])
    assert not policy.carries_over()
    found = explore(KOCH, response="recovery", digits=[1], policy=policy)
    assert found.complete
    for one in found.designs:
        assert one.outcome is cb.judge(KOCH, one.release, policy).outcome


def test_respondents_are_not_carried_over():
    asked = [SmallCounts(at_most=3, values=2), ExactDisclosure()]
    assert Policy("plain", rules=asked).carries_over()
    assert not Policy("inside", rules=asked, respondent=True).carries_over()


# --- tables at the edge --------------------------------------------------------------------


def test_an_empty_table():
    found = explore(small_table(np.zeros((2, 3), dtype=int)), response="b", digits=[1, None])
    assert {one.outcome for one in found.designs} == {Outcome.SAFE}
    assert {one.risk for one in found.designs} == {0.0}


def test_rows_without_anybody_are_published_as_such():
    found = explore(small_table(((0, 0, 0), (5, 6, 7))), response="b", givens=[("a",)], digits=[1])
    (one,) = found.designs
    assert one.outcome is Outcome.SAFE
    assert one.risk == 0


def test_a_response_of_one_level():
    table = cb.Table(cb.Domain({"a": ["x", "y"], "b": ["p"]}), [[3], [5]])
    found = explore(table, response="b", digits=[1])
    assert [one.utility for one in found.designs] == [1.0, 1.0]
    assert found.best is not None


def test_a_table_of_the_response_alone():
    found = explore(cb.Table(cb.Domain({"b": ["p", "q"]}), [3, 5]), response="b", digits=[1])
    assert [(one.notation, one.outcome) for one in found.designs] == [("[b|]@1", Outcome.UNSAFE)]


def test_structural_zeros_are_not_at_risk():
    domain = cb.Domain({"a": ["x", "y"], "b": ["p", "q"]})
    counts = [[0, 9], [4, 8]]
    options = {"response": "b", "digits": [None], "givens": [("a",)], "policy": ZEROS}
    plain = explore(cb.Table(domain, counts), **options)
    structural = [[True, False], [False, False]]
    known = explore(cb.Table(domain, counts, structural=structural), **options)
    assert plain.designs[0].outcome is Outcome.UNSAFE
    assert plain.designs[0].risk == 1
    assert known.designs[0].outcome is Outcome.SAFE
    assert known.designs[0].risk == 0


def test_without_a_total_nothing_limits_small_counts():
    found = explore(small_table(), response="b", givens=[("a",)], digits=[1], total=False)
    (one,) = found.designs
    assert one.tightest is None
    assert one.risk == 0
    assert one.reason == "nothing limits the small counts"
    assert one.release.total.exact is None


def test_the_risk_is_that_of_small_counts_also_against_whoever_reruns_the_choice():
    found = explore(small_table(), response="b", givens=[("a",)], digits=[1], independent=True)
    (one,) = found.designs
    answer = cb.attainable(one.release)
    expected = math.fsum(1 / len(answer["x", label]) for label in "pqr") / 3
    assert one.risk == expected
    assert found.independent


# --- bad input -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"response": "zz"}, "unknown variable 'zz'"),
        ({"response": []}, "response names no variable"),
        ({"response": 3}, "response is 3"),
        ({"response": ["b", "b"]}, "named twice"),
        ({"givens": "a"}, "give a list of sets"),
        ({"givens": ["a"]}, "each set is a list"),
        ({"givens": []}, "givens is empty"),
        ({"givens": [("b",)]}, "'b' is a response and a given"),
        ({"givens": [("zz",)]}, "unknown variable 'zz'"),
        ({"digits": "2"}, "digits='2'"),
        ({"digits": []}, "digits is empty"),
        ({"digits": [True]}, "digits=True"),
        ({"rounding": "sideways"}, "rounding 'sideways'"),
        ({"rounding": []}, "rounding is empty"),
        ({"eps": 0.1}, "eps is the float"),
        ({"eps": "0"}, "eps is 0"),
        ({"eps": "-1/2"}, "eps is -1/2"),
        ({"strict": True}, "strict=True goes with eps="),
        ({"strict": 1}, "strict=1"),
        ({"merges": "all"}, "merges='all'"),
        ({"merges": {"zz": []}}, "unknown variable 'zz'"),
        ({"merges": {"b": {"pq": ["p", "q"]}}}, "give a list of mappings"),
        ({"merges": {"b": [{}]}}, "a merge of 'b' is {}"),
        ({"merges": {"b": [{"pq": "pq"}]}}, "merged into 'pq' are given as 'pq'; give a list"),
        ({"merges": {"b": [{"pq": ["p", "zz"]}]}}, "unknown level 'zz'"),
        ({"merges": {"b": [{"pq": ["p", "p"]}]}}, "twice"),
        ({"merges": {"b": [{"r": ["p", "q"]}]}}, "the name of a level that stays"),
        ({"merges": {"b": [{"P": ["p"]}]}}, "joins no two levels"),
        ({"policy": "nix"}, "policy 'nix' is neither a profile"),
        ({"policy": Policy("g", rules=[GroupDisclosure(responses=["zz"])])}, "unknown variable"),
        ({"utility": "most"}, "utility='most'"),
        ({"utility": lambda *_: math.nan}, "must be a finite number"),
        ({"independent": "yes"}, "independent='yes'"),
        ({"total": 1}, "total=1"),
        ({"seconds": -1}, "seconds=-1"),
        ({"budget": 2}, "budget=2"),
    ],
)
def test_what_cannot_be_searched_is_refused(options, said):
    with pytest.raises(cb.InvalidInput) as refused:
        explore(small_table(), **{"response": "b", **options})
    assert said in str(refused.value)


def test_absurdly_many_designs_are_refused_with_their_number():
    wide = cb.Table(cb.Domain(_levels(9)), np.zeros((3,) * 9, dtype=int))
    with pytest.raises(cb.InvalidInput, match=r"786,432 designs to judge, more than 100,000"):
        explore(wide, response="v0", merges="adjacent")


def _levels(number):
    return {f"v{k}": ["0", "1", "2"] for k in range(number)}


def test_derived_variables_are_not_designs():
    grouped = CHILDREN.grouped("region", of="county", levels={"west": ["Alpha"]})
    with pytest.raises(cb.InvalidInput, match="groups the levels of 'county'"):
        explore(grouped, response="region")


# --- sharing, stopping and resuming --------------------------------------------------------


def test_any_number_of_workers_gives_the_same_answer():
    alone = explore(KOCH, response="recovery", digits=[1, 2])
    with ThreadPoolExecutor(3) as threads:
        shared = explore(
            KOCH, response="recovery", digits=[1, 2], budget=cb.Budget(workers=threads)
        )
    assert shared.designs == alone.designs
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        shared = explore(
            KOCH, response="recovery", digits=[1, 2], budget=cb.Budget(workers=processes)
        )
    assert shared.designs == alone.designs
    assert shared.best.release.digest == alone.best.release.digest


def test_progress_counts_the_designs():
    seen = []
    explore(
        CHILDREN,
        response="education",
        digits=[1, 2],
        budget=cb.Budget(progress=lambda *at: seen.append(at)),
    )
    assert seen == [(k, 4) for k in range(5)]


def test_a_spent_budget_leaves_designs_out_and_says_so():
    found = explore(KOCH, response="recovery", seconds=1e-9)
    assert not found.designs
    assert not found.complete
    assert "not complete: 0 of 32 designs are settled" in str(found)


def test_what_a_budget_does_not_settle_is_undecided_and_not_kept(tmp_path, monkeypatch):
    """A design that gets too little time: it is in the answer, but is judged again on resuming."""
    path = tmp_path / "search.jsonl"
    options = {"response": "education", "digits": [1]}
    judged_well = design_search.judged

    def tired(cases, effort, **how):
        return judged_well(cases, cb.Budget.until(0.0), **how)

    monkeypatch.setattr(design_search, "judged", tired)
    found = explore(CHILDREN, **options, budget=cb.Budget(60, checkpoint=path))
    assert [one.outcome for one in found.designs] == [Outcome.SAFE, Outcome.UNDECIDED]
    assert not found.complete
    assert len(path.read_bytes().splitlines()) == 2
    monkeypatch.undo()
    assert (
        explore(CHILDREN, **options, budget=cb.Budget(checkpoint=path)).safe
        == explore(CHILDREN, **options).safe
    )


def test_a_hard_design_gets_its_share_of_the_time_only(monkeypatch):
    shares = []

    def listening(cases, effort, **how):
        shares.append(effort.left)
        return judged_well(cases, effort, **how)

    judged_well = design_search.judged
    monkeypatch.setattr(design_search, "judged", listening)
    measures = Measures(cb.policies.read("small-counts"), False, "[education|county]")
    designs = [(k, Design(("education",), ("county",), Way(k + 1, "nearest"))) for k in range(3)]
    found = list(measured(CHILDREN, designs, measures, 10, Until.of(100.0)))
    assert [number for number, _ in found] == [0, 1, 2]
    for left, share in zip((10, 9, 8), shares, strict=True):
        assert 100 / left - 5 < share <= 100 / left
    shares.clear()
    list(measured(CHILDREN, designs, measures, 3, Until.of(None)))
    assert shares == [None] * 3


def stopped_after(number):
    def progress(done, total):
        if done == number:
            raise KeyboardInterrupt

    return progress


def test_an_interrupted_search_is_resumed(tmp_path):
    path = tmp_path / "search.jsonl"
    whole = explore(KOCH, response="recovery", digits=[1, 2])
    with pytest.raises(KeyboardInterrupt):
        explore(
            KOCH,
            response="recovery",
            digits=[1, 2],
            budget=cb.Budget(checkpoint=path, progress=stopped_after(7)),
        )
    assert path.stat().st_mode & 0o777 == 0o600
    seen = []
    resumed = explore(
        KOCH,
        response="recovery",
        digits=[1, 2],
        budget=cb.Budget(checkpoint=path, progress=lambda *at: seen.append(at)),
    )
    assert seen[0] == (7, 16)
    assert resumed.designs == whole.designs
    assert resumed.complete
    again = explore(
        KOCH, response="recovery", digits=[1, 2], budget=cb.Budget(checkpoint=path, seconds=1e-9)
    )
    assert again.designs == whole.designs


def test_a_search_of_workers_is_resumed(tmp_path):
    path = tmp_path / "search.jsonl"
    whole = explore(KOCH, response="recovery", digits=[1, 2])
    with ThreadPoolExecutor(2) as threads:
        with pytest.raises(KeyboardInterrupt):
            explore(
                KOCH,
                response="recovery",
                digits=[1, 2],
                budget=cb.Budget(checkpoint=path, workers=threads, progress=stopped_after(6)),
            )
        resumed = explore(
            KOCH,
            response="recovery",
            digits=[1, 2],
            budget=cb.Budget(checkpoint=path, workers=threads),
        )
    assert resumed.designs == whole.designs


KILLED = """
import os, signal, sys
import cellbounds as cb
from cellbounds.disclosure.exploring import explore
write = os.write
def torn(file, line):
    if b'{"place":5,' in line:
        write(file, line[: len(line) // 2])
        os.kill(os.getpid(), signal.SIGKILL)
    return write(file, line)
os.write = torn
budget = cb.Budget(checkpoint=sys.argv[1])
koch = cb.datasets.read("koch4")
explore(koch, response="recovery", digits=[1, 2], budget=budget, independent=False)
"""


def test_a_process_killed_while_it_writes_leaves_a_state_that_works(tmp_path):
    path = tmp_path / "search.jsonl"
    killed = subprocess.run([sys.executable, "-c", KILLED, path], timeout=60, check=False)
    assert killed.returncode == -9
    assert path.read_bytes().count(b"\n") == 6
    assert not path.read_bytes().endswith(b"\n")
    seen = []
    resumed = explore(
        KOCH,
        response="recovery",
        digits=[1, 2],
        budget=cb.Budget(checkpoint=path, progress=lambda *at: seen.append(at)),
    )
    assert seen[0] == (5, 16)
    assert resumed.designs == explore(KOCH, response="recovery", digits=[1, 2]).designs
    lines = path.read_bytes().splitlines()
    assert len(lines) == 17
    assert sorted(json.loads(line)[2]["place"] for line in lines[1:]) == list(range(16))


def test_a_state_cut_anywhere_is_resumed(tmp_path):
    path = tmp_path / "search.jsonl"
    options = {"response": "education", "digits": [1, 2]}
    whole = explore(CHILDREN, **options, budget=cb.Budget(checkpoint=path))
    content = path.read_bytes()
    for length in range(0, len(content), 37):
        path.write_bytes(content[:length])
        assert (
            explore(CHILDREN, **options, budget=cb.Budget(checkpoint=path)).designs == whole.designs
        )
        assert len(path.read_bytes().splitlines()) == 5


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"table": small_table(((3, 1, 2), (5, 6, 8)))}, "about another table"),
        ({"digits": [1, 2]}, "other designs, policy or options"),
        ({"policy": "strict"}, "other designs, policy or options"),
        ({"independent": True}, "other designs, policy or options"),
        ({"total": False}, "other designs, policy or options"),
        ({"utility": lambda *_: 1.0}, "other designs, policy or options"),
    ],
)
def test_a_state_of_another_search_is_refused(tmp_path, options, said):
    path = tmp_path / "search.jsonl"
    begun = {"table": small_table(), "response": "b", "digits": [1]}
    begun["budget"] = cb.Budget(checkpoint=path)
    explore(**begun)
    before = path.read_bytes()
    with pytest.raises(cb.InvalidInput, match=said):
        explore(**{**begun, **options})
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"name,count\nx,3\n", "no state of a search"),
        (b"[1]\n", "no state of a search"),
        (b"\x00\xff\xfe", "no state of a search"),
    ],
)
def test_other_files_are_not_touched(tmp_path, content, said):
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    with pytest.raises(cb.InvalidInput, match=said):
        explore(small_table(), response="b", digits=[1], budget=cb.Budget(checkpoint=path))
    assert path.read_bytes() == content


def test_a_damaged_state_and_one_of_another_version_are_refused(tmp_path):
    path = tmp_path / "search.jsonl"
    explore(small_table(), response="b", digits=[1, 2], budget=cb.Budget(checkpoint=path))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], b'{"place":77}\n', *lines[2:]]))
    with pytest.raises(cb.InvalidInput, match=r"line 2 of .* is damaged"):
        explore(small_table(), response="b", digits=[1, 2], budget=cb.Budget(checkpoint=path))
    header = json.loads(lines[0]) | {"version": "0.0.0"}
    path.write_bytes(b"".join([json.dumps(header).encode() + b"\n", *lines[1:]]))
    with pytest.raises(cb.InvalidInput, match="made by another version"):
        explore(small_table(), response="b", digits=[1, 2], budget=cb.Budget(checkpoint=path))


def test_a_state_that_cannot_be_written(tmp_path):
    for place in (tmp_path, tmp_path / "missing" / "search.jsonl"):
        with pytest.raises(cb.InvalidInput, match="cannot be"):
            explore(small_table(), response="b", digits=[1], budget=cb.Budget(checkpoint=place))


def test_a_full_disk_is_said(tmp_path, monkeypatch):
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, line: write(file, line[:10]))
    with pytest.raises(cb.InvalidInput, match="the disk is full"):
        explore(
            small_table(),
            response="b",
            digits=[1],
            budget=cb.Budget(checkpoint=tmp_path / "search.jsonl"),
        )


def test_the_best_design_holds_against_a_rerun_unless_somebody_says_otherwise():
    found = exploring.explore(CHILDREN, response="education", digits=[1])
    assert found.independent
    assert found.signal.startswith("holds against whoever reruns it")
    assert explore(CHILDREN, response="education", digits=[1]).signal == CANNOT_RERUN


def test_of_larger_tables_it_is_said_that_nothing_was_rerun():
    domain = cb.Domain({"a": list("xy"), "b": [str(level) for level in range(600)]})
    table = cb.Table(domain, np.arange(1200).reshape(2, 600) % 7)
    found = exploring.explore(table, response="a", givens=[()], digits=[1])
    assert not found.independent
    assert found.best is not None
    assert found.signal == f"{CANNOT_RERUN}: tables of so many cells are not rerun"
