"""Suggestions: what is tried, what is said, and what comes out for awkward releases."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from functools import partial
from importlib import resources

import jsonschema
import numpy as np
import pytest

import cellbounds as cb
from cellbounds import cli
from cellbounds.cli.searches import suggest as command
from cellbounds.disclosure import suggesting
from cellbounds.disclosure.policies import GroupDisclosure, MinimumCount, SmallCounts
from cellbounds.disclosure.policies.judging import judged
from cellbounds.disclosure.policies.verdict import CANNOT_RERUN
from cellbounds.disclosure.suggesting import budgeted_judge
from cellbounds.disclosure.suggesting.changes import (
    coarser_counts,
    drop_variable,
    fewer_digits,
    hide_small,
    merge_levels,
    proposals,
    withhold,
    withhold_total,
)
from cellbounds.disclosure.suggesting.plans import Drafts
from cellbounds.disclosure.suggesting.suppression import suppress
from cellbounds.utility.retained_utility import retained

suggest = partial(suggesting.suggest, independent=False)
"""The search by the counts alone, unless a test says otherwise."""

CZECH = [
    44, 5, 23, 7, 35, 4, 24, 4, 129, 9, 50, 9, 109, 14, 51, 5,
    112, 21, 70, 14, 80, 11, 73, 13, 12, 1, 7, 2, 7, 5, 7, 4,
    40, 7, 32, 3, 12, 3, 25, 0, 145, 17, 80, 16, 67, 17, 63, 14,
    67, 9, 66, 14, 33, 8, 57, 11, 23, 4, 13, 3, 9, 2, 16, 4,
]  # fmt: skip
"""Czech autoworkers (Edwards and Havranek, 1985): risk factors of coronary disease."""


@pytest.fixture(scope="module")
def children():
    return cb.datasets.read("delinquent")


def people(counts, **levels):
    return cb.Table(cb.Domain(levels), counts)


def kinds(suggestion):
    return {change.kind for change in suggestion.changes}


def judged_safe(found, table, **how):
    return all(cb.judge(table, one.release, **how).safe for one in found)


# What comes out


def test_a_safe_release_needs_nothing(children):
    found = suggest(children, cb.publish(children, "[education|county]@1"))
    assert found.safe_already
    assert len(found) == 0
    assert found.searched.tried == 0
    assert "nothing has to change" in str(found)
    assert found.warning == found.verdict.warning  # there is no list that could tell anything
    assert "each of these" not in str(found)


@pytest.mark.parametrize("digits", [2, 3])
def test_fewer_digits_and_merged_levels_for_rates(children, digits):
    found = suggest(children, cb.publish(children, f"[education|county]@{digits}"), changes=1)
    assert found.outcome is cb.Outcome.UNSAFE
    sentences = [one.sentence for one in found]
    assert f"publish [education|county] with 1 decimal instead of {digits}" in sentences
    assert "merge Medium, High and Very High of education" in sentences
    assert judged_safe(found, children)


def test_the_table_of_document_004_keeps_its_order(children):
    found = suggest(children, cb.publish(children, "[education|county]@2"), changes=1, most=3)
    assert [round(one.kept.share, 3) for one in found] == [0.997, 0.938, 0.897]
    assert [kinds(one) for one in found] == [{"suppress"}, {"withhold-total"}, {"fewer-digits"}]


def test_the_statement_to_blame_is_withheld():
    table = people([[[9, 8], [7, 1]], [[6, 9], [8, 7]]], a=["x", "y"], b=["p", "q"], c=["m", "n"])
    release = cb.publish(table, "[a,b,c]", "[a]", "[b]")
    found = suggest(table, release, changes=1, most=40)
    withheld = [one.sentence for one in found if kinds(one) == {"withhold"}]
    assert withheld == ["withhold [a,b,c]"]


def test_several_statements_are_made_coarser_together():
    table = people([[9, 1, 7], [8, 3, 2]], g=["a", "b"], y=["u", "v", "w"])
    found = suggest(table, cb.publish(table, "[g,y]", "[y]"), changes=1, most=40)
    assert "round the counts of [g,y] and [y] to multiples of 5" in [one.sentence for one in found]
    drafts = Drafts(cb.publish(table, "[y|g]@3", "[g|y]@3"), table)
    assert "publish [y|g]@3 and [g|y]@3 with 1 decimal" in [
        one.sentence for one in proposals(drafts, cb.policies.read("small-counts"))
    ]


def test_linear_statements_are_withheld_too():
    table = people([[9, 1], [8, 7]], g=["a", "b"], y=["u", "v"])
    told = cb.Linear(["g", "y"], {("a", "v"): 1}, equals=1)
    release = cb.Release(table.domain, [*cb.publish(table, "[g]", "[y]").statements, told])
    found = suggest(table, release, changes=1)
    assert [one.sentence for one in found if kinds(one) == {"withhold"}] == [
        f"withhold {told.notation}"
    ]
    alone = cb.Release(table.domain, [told, cb.Total(25)])
    found = suggest(table, alone)
    assert not found.safe_already
    assert judged_safe(found, table)


def test_nothing_but_a_total():
    table = people([1], one=["x"])
    found = suggest(table, cb.publish(table, "N"))
    assert not found.safe_already
    assert len(found) == 0


def test_exact_rates(children):
    found = suggest(children, cb.publish(children, "[education|county]"), changes=1)
    assert "publish [education|county] with 1 decimal instead of exactly" in [
        one.sentence for one in found
    ]


def test_a_margin_is_rounded_hidden_and_suppressed(children):
    found = suggest(children, cb.publish(children, "[county,education]"), changes=1)
    assert {"coarser-counts", "hide-small", "suppress", "drop-variable"} <= set.union(
        *(kinds(one) for one in found)
    )
    assert not any("withhold-total" in kinds(one) for one in found)


def test_suppression_leaves_no_figure_hidden_needlessly(children):
    release = cb.publish(children, "[county,education]", "[county]", "[education]")
    found = suggest(children, release, changes=1, most=40)
    only = next(
        one
        for one in found
        if kinds(one) == {"suppress"}
        and [c.details["statements"] for c in one.changes] == [["[county,education]"]]
    )
    hidden = only.release.statements[0].hidden
    assert hidden.sum() == len(only.changes[0].details["figures"])
    for place in np.argwhere(hidden):
        shown = hidden.copy()
        shown[tuple(place)] = False
        first = release.statements[0].suppressed(shown)
        less = cb.Release(release.domain, [first, *release.statements[1:]])
        assert not cb.judge(children, less).safe


def test_shown_figures_are_hidden_where_they_are_shown(children):
    release = cb.publish(children, "[county,education]", "[county]")
    policy = cb.policies.Policy("two", rules=[MinimumCount(at_least=2)])
    made = suppress(
        release, (0, 1), lambda one: cb.judge(children, one, policy), blind=False, restored=0
    )
    assert [change.details["figures"] for change in made.changes] == [
        [["Alpha", "Medium"], ["Alpha", "Very High"]]
    ]


def test_suppression_with_more_changes_keeps_more(children):
    found = suggest(children, cb.publish(children, "[education|county]"), most=40)
    hidden = [
        ({change for change in one.changes if change.kind != "suppress"}, one.kept.share)
        for one in found
        if "suppress" in kinds(one)
    ]
    assert len(hidden) > 1
    for changes, share in hidden:
        assert all(share > other for fewer, other in hidden if fewer < changes)


def test_a_figure_with_a_hidden_part_is_hidden(children):
    first = cb.publish(children, "[county,education]").statements[0]
    hidden = np.zeros((4, 4), dtype=bool)
    hidden[2, 1] = True
    drafts = Drafts(cb.Release(children.domain, [first.suppressed(hidden)]), children)
    dropped, _ = drafts.made(drop_variable(0, "education", "x").applied(drafts.first))
    assert dropped.statements[0].hidden.tolist() == [False, False, True, False]


def test_one_row_and_one_column():
    row = people([[12, 1, 7]], one=["x"], y=["a", "b", "c"])
    found = suggest(row, cb.publish(row, "[y|one]"))
    assert len(found)
    assert judged_safe(found, row)
    column = people([[12], [1], [7]], g=["a", "b", "c"], one=["x"])
    found = suggest(column, cb.publish(column, "[g,one]"))
    assert len(found)
    assert judged_safe(found, column)


def test_suppressed_figures_stay_suppressed_when_the_statement_changes(children):
    exact = cb.publish(children, "[education|county]@3").statements[0]
    hidden = np.zeros((4, 4), dtype=bool)
    hidden[1, :2] = True
    release = cb.Release(children.domain, [exact.suppressed(hidden), cb.Total(135)])
    found = suggest(children, release, changes=1)
    coarser = next(one for one in found if kinds(one) == {"fewer-digits"})
    assert coarser.release.statements[0].hidden.tolist() == hidden.tolist()
    merged = next(one for one in found if kinds(one) == {"merge-levels"})
    assert merged.release.statements[0].hidden[1].any()


def test_an_undecided_release_is_worked_on(monkeypatch):
    table = people([[9, 1, 7], [8, 3, 2]], g=["a", "b"], y=["u", "v", "w"])
    release = cb.publish(table, "[y|g]@3", "[g|y]@3")

    def hurried(cases, budget, **how):
        late = cases[0].release is release
        return judged(cases, cb.Budget.until(0.0) if late else budget, **how)

    monkeypatch.setattr(budgeted_judge, "judged", hurried)
    found = suggest(table, release, changes=1)
    assert found.outcome is cb.Outcome.UNDECIDED
    assert not found.safe_already
    assert len(found)
    assert judged_safe(found, table)


def test_what_time_did_not_allow_is_said(children):
    release = cb.publish(children, "[education|county]@3", "[county|education]@3")
    found = suggest(children, release, seconds=1e-9)
    assert len(found) == 0
    assert found.searched.left > 0
    assert not found.searched.complete
    assert f"{found.searched.left} not tried" in str(found)


def test_undecided_ones_are_counted_and_never_suggested(monkeypatch, children):
    def hurried(cases, budget, **how):
        return judged(cases, cb.Budget.until(0.0), **how)

    monkeypatch.setattr(budgeted_judge, "judged", hurried)
    release = cb.publish(children, "[education|county]@3", "[county|education]@3")
    found = suggest(children, release, changes=1)
    assert found.searched.undecided > 0
    assert f"{found.searched.undecided} of them undecided" in found.summary
    assert judged_safe(found, children)


def test_nothing_found_is_not_nothing_exists(children):
    policy = cb.policies.Policy("large", rules=[MinimumCount(at_least=10**6)])
    found = suggest(children, cb.publish(children, "[county]"), policy, changes=1)
    assert len(found) == 0
    assert f"no safe release was found: {found.searched.tried} releases tried" in found.summary
    assert found.searched.complete


def test_labels_of_all_sorts(tmp_path):
    levels = ["Zürich, Stadt", 'O"Brien', "<script>alert(1)</script>", "=1+1"]
    table = people([[9, 1], [7, 8], [2, 9], [8, 7]], **{"où, là": levels, "y|z": ["é", "[x]"]})
    found = suggest(table, cb.publish(table, '["où, là","y|z"]'))
    assert judged_safe(found, table)
    html = found._repr_html_()
    assert "<script>" not in html
    assert {"merge-levels", "suppress"} <= set.union(*(kinds(one) for one in found))
    for one in found:
        one.release.write(tmp_path / "instead.toml")
        again = cb.read_release(tmp_path / "instead.toml")
        assert again.digest == one.release.digest
        assert cb.judge(table, again).safe
    assert any("Zürich, Stadt" in one.sentence for one in found)


def test_merged_levels_with_the_name_of_another_level():
    table = people([[9, 1], [1, 8], [8, 8], [7, 9]], g=["a", "b", "a+b", "c"], y=["u", "v"])
    found = suggest(table, cb.publish(table, "[y|g]"), changes=1, most=40)
    merged = next(one for one in found if one.sentence == "merge a and b of g")
    assert merged.release.domain.levels("g (merged)") == ("a+b+", "a+b", "c")


def test_levels_of_groupings_are_merged_further():
    counts = [[9, 1], [1, 8], [8, 8], [7, 9]]
    table = people(counts, g=["a", "b", "c", "d"], y=["u", "v"])
    parts = {"ab": ["a", "b"], "c": ["c"], "d": ["d"]}
    table = table.grouped("g (merged)", of="g", levels=parts)
    drafts = Drafts(cb.publish(table, '[y|"g (merged)"]'), table)
    change = merge_levels("g (merged)", ("ab", "c", "d"), ((0, 1), (2,)))
    release, _ = drafts.made(change.applied(drafts.first))
    name = "g (merged) (merged)"
    assert release.statements[0].given == (name,)
    assert release.domain.grouping(name) == ("g", ((0, 1, 2), (3,)))


def test_rows_that_hold_nobody():
    table = people([[0, 0], [9, 1], [8, 3]], g=["a", "b", "c"], y=["u", "v"])
    found = suggest(table, cb.publish(table, "[y|g]"))
    assert len(found)
    assert judged_safe(found, table)


def test_structural_zeros_stay_known(children):
    table = cb.Table(
        cb.Domain({"g": ["a", "b"], "y": ["u", "v", "w"]}),
        [[0, 9, 1], [8, 7, 6]],
        structural=[[True, False, False], [False, False, False]],
    )
    found = suggest(table, cb.publish(table, "[y|g]"))
    assert len(found)
    for one in found:
        assert any(isinstance(said, cb.Known) for said in one.release.statements)
    assert judged_safe(found, table)


def test_a_smaller_table_is_judged_too():
    """The margin holds a lone person whom the omitted variable would hide."""
    table = people([[[5, 0], [1, 0]], [[6, 7], [8, 9]]], a=["x", "y"], b=["p", "q"], c=["m", "n"])
    found = suggest(table, cb.publish(table, "[a,b,c]"), changes=1, most=40)
    assert not any(one.sentence == "drop c from [a,b,c]" for one in found)
    assert len(found)
    assert all(one.verdict.domain == table.domain for one in found)
    dropped = [one for one in found if kinds(one) == {"drop-variable"}]
    assert all(one.verdict.margins for one in dropped)


def test_an_unsafe_margin_of_a_table_whose_cells_are_safe():
    table = people([[[5, 6], [1, 0]], [[6, 7], [8, 9]]], a=["x", "y"], b=["p", "q"], c=["m", "n"])
    release = cb.publish(table, "[a,b]")
    assert cb.judge(table, release, over=table.domain.names).safe
    found = suggest(table, release, changes=1)
    assert found.outcome is cb.Outcome.UNSAFE
    assert found.verdict.broken[0].variables == ("a", "b")
    assert judged_safe(found, table)
    named = [one.release.statements[0].variables for one in found]
    assert all(
        cb.judge(table, one.release, over=names).safe
        for one, names in zip(found, named, strict=True)
    )


def test_a_margin_that_was_asked_for(children):
    found = suggest(children, cb.publish(children, "[county,education]"), over=["county"])
    assert found.safe_already
    assert found.to_dict()["over"] == [["county"]]


def test_judging_without_the_counts(children):
    found = suggest(
        children, cb.publish(children, "[education|county]@2"), independent=True, changes=1
    )
    assert "holds against an intruder who reruns this" in found.warning
    assert len(found)
    for one in found:
        assert one.verdict.independent
        assert cb.judge(None, one.release, independent=True).safe


def test_what_an_intruder_knows_counts(children):
    release = cb.publish(children, "[education|county]@1")
    assert suggest(children, release).safe_already
    knows = [cb.Known(["county"], lower={"Alpha": 20}, upper={"Alpha": 20})]
    found = suggest(children, release, knows=knows, changes=1)
    assert not found.safe_already
    assert len(found)
    assert judged_safe(found, children, knows=knows)


def test_policies_with_rows_of_some_variables(children):
    policy = cb.policies.Policy(
        "rows",
        rules=[
            SmallCounts(at_most=3, values=2),
            GroupDisclosure(responses=["education"], given=["county"]),
        ],
    )
    found = suggest(children, cb.publish(children, "[education|county]@2"), policy, changes=1)
    assert len(found)
    assert judged_safe(found, children, policy=policy)


def test_the_same_again(children):
    release = cb.publish(children, "[education|county]@3")
    first, second = (suggest(children, release) for _ in range(2))
    assert [one.sentence for one in first] == [one.sentence for one in second]


def test_progress_is_told(children):
    told = []
    suggest(
        children,
        cb.publish(children, "[education|county]@2"),
        changes=1,
        budget=cb.Budget(progress=lambda done, total: told.append((done, total))),
    )
    assert told
    assert all(0 < done <= total for done, total in told)


def test_margins_of_the_czech_workers():
    names = ("smoke", "mental", "phys", "systol", "protein", "family")
    table = people(np.reshape(CZECH, (2,) * 6), **{name: ["no", "yes"] for name in names})
    found = suggest(table, cb.publish(table, f"[{','.join(names)}]"), changes=1)
    assert {"suppress", "coarser-counts", "hide-small", "drop-variable"} <= set.union(
        *(kinds(one) for one in found)
    )
    assert judged_safe(found, table)


# What is tried


def test_changes_that_change_nothing(children):
    release = cb.publish(children, "[education|county]@2", "[county]~5")
    plan = Drafts(release, children).first
    assert fewer_digits((0,), 2, ("x",)).applied(plan) is None
    assert fewer_digits((1,), 1, ("x",)).applied(plan) is None
    assert coarser_counts((1,), 5, ("x",)).applied(plan) is None
    assert coarser_counts((0,), 10, ("x",)).applied(plan) is None
    assert hide_small((1,), 4, ("x",)).applied(plan) is None
    assert drop_variable(0, "education", "x").applied(plan) is None
    assert drop_variable(1, "county", "x").applied(plan) is None
    assert drop_variable(1, "education", "x").applied(plan) is None
    without = withhold(0, "x").applied(plan)
    assert withhold(0, "x").applied(without) is None
    assert withhold(1, "x").applied(without) is None
    assert merge_levels("education", "abcd", ((0, 1), (2,), (3,))).applied(without) is None
    assert withhold_total().applied(withhold_total().applied(plan)) is None


def test_exact_margins_tell_the_total(children):
    plan = Drafts(cb.publish(children, "[county]"), children).first
    assert withhold_total().applied(plan) is None
    assert withhold_total().applied(coarser_counts((0,), 5, ("x",)).applied(plan)) is not None


def test_merges_join_if_they_are_apart(children):
    plan = Drafts(cb.publish(children, "[education|county]@2"), children).first
    levels = children.domain.levels("education")
    first = merge_levels("education", levels, ((0, 1), (2,), (3,)))
    second = merge_levels("education", levels, ((0,), (1,), (2, 3)))
    overlapping = merge_levels("education", levels, ((0,), (1, 2), (3,)))
    both = second.applied(first.applied(plan))
    assert both.merges == (("education", ((0, 1), (2, 3))),)
    assert overlapping.applied(first.applied(plan)) is None
    assert first.sentence == "merge Low and Medium of education"


def test_many_levels_are_merged_in_pairs_and_blocks():
    table = people(np.ones((20, 2), dtype=int), age=list(range(20)), y=["u", "v"])
    drafts = Drafts(cb.publish(table, "[y|age]"), table)
    merges = [
        one
        for one in proposals(drafts, cb.policies.read("small-counts"))
        if one.kind == "merge-levels"
    ]
    assert len(merges) == 19 + 3
    groups = [one.applied(drafts.first).merges[0][1] for one in merges[19:]]
    assert [len(merged) for merged in groups] == [10, 5, 3]


def test_unchanged_statements_stay_what_they_are(children):
    release = cb.publish(children, "[county]~5", count_rounding="random", rng=3)
    drafts = Drafts(release, children)
    made, places = drafts.made(drafts.first)
    assert made.statements[0] is release.statements[0]
    assert places == {0: 0}
    coarser, _ = drafts.made(coarser_counts((0,), 10, ("x",)).applied(drafts.first))
    assert (coarser.statements[0].base, coarser.statements[0].rounding) == (10, "nearest")


def test_announced_tolerances():
    table = people([[9, 2], [7, 4]], g=["a", "b"], y=["u", "v"])
    release = cb.publish(table, "[y|g]@2", eps="0.006")
    drafts = Drafts(release, table)
    dropped, _ = drafts.made(drop_variable(0, "g", "x").applied(drafts.first))
    assert dropped.statements[0].rule == "2 decimals, nearest, within eps <= 3/500"
    coarser, _ = drafts.made(fewer_digits((0,), 1, ("x",)).applied(drafts.first))
    assert coarser.statements[0].rule == "1 decimal, nearest"
    hidden = release.statements[0].suppressed(np.array([[True, True], [False, False]]))
    assert hidden.rule == "2 decimals, nearest, within eps <= 3/500"
    assert hidden.missing == "suppressed"


def test_hidden_figures_beside_empty_rows_cannot_be_written():
    table = people([[0, 0], [9, 1]], g=["a", "b"], y=["u", "v"])
    rates = cb.publish(table, "[y|g]").statements[0]
    assert rates.suppressed(np.array([[False, False], [True, True]])) is None
    assert rates.suppressed(np.zeros((2, 2), dtype=bool)) is rates


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"most": 0}, "most=0"),
        ({"changes": True}, "changes=True"),
        ({"seconds": 0}, "seconds=0"),
        ({"seconds": "5"}, "seconds='5'"),
        ({"over": ["age"]}, "unknown variable 'age'"),
        ({"policy": "none such"}, "none such"),
    ],
)
def test_bad_questions(children, how, said):
    with pytest.raises(cb.InvalidInput, match=said):
        suggest(children, cb.publish(children, "[county]"), **how)


def test_what_is_no_release_or_table(children):
    with pytest.raises(cb.InvalidInput, match="give a Release"):
        suggest(children, "[county]")
    with pytest.raises(cb.InvalidInput, match="give the Table"):
        suggest(None, cb.publish(children, "[county]"))


# How it is said


def test_frames_and_plain_values(children):
    found = suggest(children, cb.publish(children, "[education|county]@2"), most=4)
    assert len(found.to_frame("pandas")) == 4
    assert found[0] is found.found[0]
    assert list(found[1:]) == list(found.found[1:])
    check_schema(found.to_dict())
    assert repr(found[0]).startswith("<Suggestion: ")
    assert repr(found).startswith("<Suggestions: [education|county]@2")


def check_schema(content):
    file = resources.files("cellbounds.report") / "schemas" / "suggest-1.schema.json"
    schema = json.loads(file.read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(json.loads(json.dumps(content)))


# The command


@pytest.fixture
def suggested(run, monkeypatch, children, tmp_path):
    """Run `cellbounds suggest` on the table of children."""
    monkeypatch.setitem(cli.commands.commands, "suggest", command)
    file = tmp_path / "children.csv"
    children.write(file)
    return lambda *rest: run("suggest", file, *rest)


def test_the_command(suggested):
    code, out, err = suggested("[education|county]@2", "--changes", 1, "--most", 3, "--with-counts")
    assert (code, err) == (0, "")
    assert out.startswith("UNSAFE under the policy small-counts: [education|county]@2, N=135\n")
    assert "   - publish [education|county] with 1 decimal instead of 2\n" in out


def test_every_figure_that_is_hidden_is_named(run, children, tmp_path):
    children.write(tmp_path / "children.csv")
    statements = ("[education,county]", "[county]", "[education]")
    release = cb.publish(children, *statements)
    found = suggest(children, release, changes=1, most=40, independent=False)
    hidden = next(one for one in found if kinds(one) == {"suppress"})
    out = run(
        "suggest", tmp_path / "children.csv", *statements,
        "--changes", "1", "--most", "40", "--with-counts",
    )[1]  # fmt: skip
    said = " ".join(out.split())
    for change in hidden.changes:
        assert f"- {change.sentence}" in said
        for labels in change.details["figures"]:
            assert ", ".join(labels) in change.sentence


def test_a_total_that_is_withheld_is_a_loss():
    table = people([[5, 5], [5, 5]], g=["a", "b"], y=["u", "v"])
    uses = ["[g,y]", "[g]", "N"]
    whole = cb.publish(table, "[g,y]", "[g]")
    assert retained(table, whole, uses).percent == "100%"
    # An even guess of the totals is right, but nobody can know that.
    rates = cb.publish(table, "[y|g]")
    assert retained(table, rates, uses).share == 1 / 7
    assert retained(table, cb.publish(table, "[y|g]", total=False), uses).share == 0
    assert retained(table, cb.publish(table, "[g,y]", total=False), uses).percent == "100%"


def test_exit_statuses(suggested, tmp_path):
    assert suggested("[education|county]@1")[0] == 0
    policy = tmp_path / "large.toml"
    policy.write_text('name = "large"\n[[rule]]\nrule = "minimum-count"\nat_least = 1000000\n')
    code, out, _ = suggested("[county]", "--policy", policy, "--changes", 1)
    assert code == 1
    assert "no safe release was found" in out
    for bad in (["--policy", "nobody"], ["--most", "0"], ["--over", "age"], ["--jobs", "0"]):
        code, out, err = suggested("[county]", *bad)
        assert (code, out) == (2, "")
        assert err.startswith("error: ")


def test_what_an_intruder_knows_comes_from_a_file(suggested, children, tmp_path):
    known = cb.Known(["county"], lower={"Alpha": 20}, upper={"Alpha": 20})
    cb.Release(children.domain, [known]).write(tmp_path / "known.toml")
    told = ("--knows", tmp_path / "known.toml")
    code, out, _ = suggested("[education|county]@1", *told, "--changes", 1, "--most", 1)
    assert code == 0
    assert "nothing has to change" not in out
    code, _, err = suggested("[education|county]@1", "--knows", tmp_path / "nothing.toml")
    assert code == 2
    assert err.startswith("error: ")


def test_json_and_csv(suggested):
    code, out, _ = suggested("[education|county]@2", "--format", "json", "--changes", 1)
    assert code == 0
    check_schema(json.loads(out))
    code, out, _ = suggested("[education|county]@2", "--format", "csv", "--changes", 1)
    lines = list(csv.DictReader(io.StringIO(out)))
    assert lines[0]["rank"] == "1"
    assert {"kept", "changes", "what to do", "release"} < set(lines[0])


def test_saved_suggestions_are_safe_when_they_are_read_again(suggested, children, tmp_path):
    folder = tmp_path / "saved"
    asked = "[education|county]@2", "--with-counts", "--most", 6
    code, _, _ = suggested(*asked, "--save", folder)
    assert code == 0
    files = sorted(folder.glob("*.toml"))
    assert [file.name for file in files] == [f"suggestion-{rank}.toml" for rank in range(1, 7)]
    for file in files:
        assert cb.judge(children, cb.read_release(file)).safe
    code, out, err = suggested("[education|county]@2", "--save", folder)
    assert (code, out) == (2, "")
    assert "holds suggestions already" in err


def test_a_folder_that_cannot_be_made(suggested, tmp_path):
    taken = tmp_path / "file"
    taken.write_text("x")
    code, out, err = suggested("[county]", "--save", taken)
    assert code == 2
    assert "cannot be made" in err or "is a file" in err
    code, out, err = suggested("[county]", "--save", tmp_path / "no" / "folder")
    assert (code, out) == (2, "")
    assert "cannot be made" in err


@pytest.fixture
def places():
    counts = [[3, 9], [1, 7], [8, 6], [5, 2], [9, 9]]
    table = people(np.array(counts), place=["N1", "N2", "N3", "S1", "S2"], sex=["f", "m"])
    return table.grouped("region", of="place", levels={"N": ["N1", "N2", "N3"], "S": ["S1", "S2"]})


def test_levels_are_merged_along_their_hierarchy(places):
    drafts = Drafts(cb.publish(places, "[place+,sex+]"), places)
    changes = proposals(drafts, cb.policies.read("small-counts"))
    merges = [one.details["levels"] for one in changes if one.kind == "merge-levels"]
    assert merges[:4] == [[["N1", "N2"]], [["N2", "N3"]], [["N1", "N2", "N3"]], [["S1", "S2"]]]
    branch = next(one for one in changes if one.sentence == "merge S1 and S2 of place")
    made, _ = drafts.made(branch.applied(drafts.first))
    assert made.domain.levels("place (merged)") == ("N1", "N2", "N3", "S")


def test_a_variable_is_recoded_to_its_coarser_level(places):
    drafts = Drafts(cb.publish(places, "[place+,sex+]"), places)
    changes = proposals(drafts, cb.policies.read("small-counts"))
    [recode] = [one for one in changes if one.kind == "coarser-level"]
    assert recode.details == {"variable": "place", "level": "region"}
    made, _ = drafts.made(recode.applied(drafts.first))
    # What was published by region before is not said twice.
    assert [one.notation for one in made.statements] == [
        "[region,sex]",
        "[region]",
        "[sex]",
        "N=59",
    ]
    rates = Drafts(cb.publish(places, "[sex|place]@2"), places)
    made, _ = rates.made(recode.applied(rates.first))
    assert [one.notation for one in made.statements] == ["[sex|region]@2", "N=59"]
    assert recode.applied(recode.applied(rates.first)) is None


def test_suggestions_for_a_hierarchy_name_its_level(places):
    found = cb.suggest(places, cb.publish(places, "[place,sex]"), seconds=20)
    kinds = {change.kind: change.sentence for one in found for change in one.changes}
    assert kinds["coarser-level"].startswith("recode place to region")


def test_by_default_what_is_shown_holds_against_a_rerun():
    table = cb.Table(cb.Domain({"a": list("xy"), "b": list("pq")}), [[1, 5], [4, 6]])
    release = cb.publish(table, "[b|a]@3")
    found = suggesting.suggest(table, release, changes=1)
    assert found.independent
    assert len(found)
    assert all(one.verdict.independent for one in found)
    assert [one.sentence for one in found] == [
        one.sentence for one in suggest(table, release, changes=1, independent=True)
    ]


def test_what_is_not_rerun_by_default_is_said_to_be_safe_if_nobody_does(children):
    domain = cb.Domain({"a": list("xy"), "b": [str(level) for level in range(600)]})
    large = cb.Table(domain, np.array([[1] + [0] * 599, [9] * 600]))
    rounded = "[county,education]~5", "[education|county]@3"
    chance = cb.publish(children, *rounded, count_rounding="random", rng=3)
    for table, release in ((large, cb.publish(large, "[a]")), (children, chance)):
        found = suggesting.suggest(table, release, changes=1, most=1)
        assert len(found) == 1
        assert not found.independent
        assert CANNOT_RERUN in found.warning
        assert not found.searched.unrepeatable


def test_what_the_budget_left_open_comes_last_and_says_so(children):
    """A budget that ends before anything was rerun: all is safe by the counts alone."""
    release = cb.publish(children, "[education|county]@2")
    ended = replace(suggest(children, release, changes=1), independent=True)
    assert CANNOT_RERUN in str(ended)
    assert "what is not marked holds" in ended.warning


@pytest.mark.parametrize("wrong", ["yes", 1])
def test_independent_is_true_false_or_left_open(children, wrong):
    with pytest.raises(cb.InvalidInput, match="give True, False or None"):
        suggest(children, cb.publish(children, "[county]"), independent=wrong)
