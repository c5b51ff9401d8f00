"""What an intruder knows besides the figures: of hiding, of N, of structure, of himself."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import cellbounds as cb
from cellbounds import Domain, Known, Margin, Release, Table, Total, cli
from cellbounds.data.nesting import nestings_by_codes, nestings_in
from cellbounds.disclosure.policies import Intruder, Policy, SmallCounts, judge
from cellbounds.policies import read

SAFE, UNSAFE, UNDECIDED = cb.Outcome.SAFE, cb.Outcome.UNSAFE, cb.Outcome.UNDECIDED

SMALL = read("small-counts")


def one_way(*entries, total=None):
    domain = Domain({"x": [f"l{k}" for k in range(len(entries))]})
    return Release(
        domain, [Margin(["x"], list(entries)), *([] if total is None else [Total(total)])]
    )


def outcomes(verdict):
    return {finding.labels: finding.outcome for finding in verdict.cells if finding.labels}


# --- what hiding gives away ---------------------------------------------------------------------


def test_two_hidden_cells_that_add_to_2_are_1_each_where_zeros_are_shown():
    """Section J of an example of rtauargus: 16 in all; 3, 0, 8 and 3 are shown."""
    release = one_way(3, 0, 8, 3, None, None, total=16)
    table = Table(release.domain, [3, 0, 8, 3, 1, 1])
    found = judge(table, release)
    assert found.intruder == ("a hidden count of [x] is at least 1: it prints zeros",)
    assert outcomes(found)[("l4",)] is outcomes(found)[("l5",)] is UNSAFE
    weaker = judge(table, release, SMALL.facing(zeros="never"))
    assert weaker.intruder == ()
    assert outcomes(weaker)[("l4",)] is SAFE


def test_a_zero_where_nobody_can_be_shows_no_rule():
    """It is printed by any rule of hiding, so that the hidden counts may be 0."""
    domain = Domain({"x": ["l0", "l1", "l2", "l3"]})
    table = Table(domain, [0, 1, 1, 5], structural=[True, False, False, False])
    margin = Margin(["x"], [0, None, None, 5])
    found = judge(table, Release(domain, [margin, Total(7)]))
    assert not any("at least 1" in words for words in found.intruder)
    open_to_all = Table(domain, [0, 1, 1, 5])
    found = judge(open_to_all, Release(domain, [margin, Total(7)]))
    assert any("at least 1" in words for words in found.intruder)


def test_three_hidden_cells_of_at_least_1_that_add_to_3():
    """Singletons, as in issue 135 of sdcTools/UserSupport."""
    domain = Domain({"row": ["a", "b"], "col": ["x", "y", "z"]})
    table = Table(domain, [[1, 1, 1], [9, 8, 7]])
    margin = Margin(["row", "col"], [[None, None, None], [9, 8, 7]])
    release = Release(domain, [margin, Margin(["row"], [3, 24])])
    facing = [SMALL.facing(zeros=zeros) for zeros in ("shown", "always")]
    cells = [outcomes(judge(table, release, one, over=["row", "col"])) for one in facing]
    assert set(cells[0].values()) == {SAFE}
    assert [cells[1]["a", col] for col in "xyz"] == [UNSAFE] * 3


def test_what_is_hidden_without_a_mark_is_not_small():
    table = Table(Domain({"x": ["l0", "l1", "l2", "l3"]}), [2, 5, 5, 30])
    release = one_way("<5", None, None, 30, total=42)
    policy = Policy("six", rules=[SmallCounts(at_most=6, values=3)])
    found = judge(table, release, policy)
    assert found.intruder == (
        "a count of [x] that is hidden without a mark is at least 5: counts below 5 are marked",
    )
    assert cb.audit(table, release, policy).answer["l1",].possible.largest == 7
    assert judge(table, release, policy.facing(marks="never")).intruder == ()


def test_zeros_may_be_left_blank_where_marks_do_not_cover_them():
    release = one_way("1-4", None, None, 30, total=42)
    found = cb.audit(None, release, SMALL)
    assert found.answer["l1",].text() == "0, 5-6, 8-11"
    # A mark that covers zeros leaves no gap for them, unless the table shows that it does.
    release = one_way("<5", None, None, 30, total=42)
    assert cb.audit(None, release, SMALL).answer["l1",].text() == "5-7"
    table = Table(release.domain, [4, 0, 8, 30])
    assert cb.audit(table, release, SMALL).answer["l1",].text() == "0, 5-12"


def test_a_small_count_that_is_shown_beside_marks():
    """Then marking the small ones is not the rule."""
    assert judge(None, one_way("<5", None, 3, 30, total=42)).intruder == ()


def test_rounded_zeros_show_nothing():
    domain = Domain({"x": ["a", "b", "c"]})
    release = Release(domain, [Margin(["x"], [0, None, 10], base=5)])
    assert judge(None, release).intruder == ()


def test_what_is_hidden_although_it_is_zero():
    release = one_way(0, None, None, 9, total=14)
    table = Table(release.domain, [0, 0, 5, 9])
    found = judge(table, release)
    assert found.intruder == ()
    assert found.notes[0].startswith("not assumed: a hidden count of [x] is at least 1")
    with pytest.raises(cb.InvalidInput, match="which the table contradicts"):
        judge(table, release, SMALL.facing(zeros="always"))


def test_a_rule_that_the_figures_contradict_is_not_assumed():
    release = one_way(0, None, None, 9, total=10)  # one of the two is zero
    found = judge(None, release)
    assert found.intruder == ()
    assert "they contradict" in found.notes[0]


def test_a_gap_in_a_structural_zero_says_nothing():
    domain = Domain({"x": ["a", "b", "c", "d"]})
    closed = Known(["x"], upper=[None, None, None, 0])
    margin = Margin(["x"], [0, None, 9, None])
    assert cb.audit(None, Release(domain, [margin, closed])).answer["d",].text() == "0"


def test_without_the_counts_nothing_may_be_found_by_those_who_doubt_it_either():
    """Whether hidden counts are zeros is not to be seen: it is safe against both readings."""
    release = one_way(0, None, None, 9, total=11)
    policy = Policy("p", rules=[SmallCounts(at_most=2, zeros=True, values=3)])
    tables = [Table(release.domain, [0, *pair, 9]) for pair in [(1, 1), (0, 2)]]
    verdicts = [judge(table, release, policy, independent=True) for table in [None, *tables]]
    assert verdicts[0].outcome is UNSAFE  # hidden counts of 1 are known to be 1
    assert not any(one.safe for one in verdicts)


# --- of N, and any statement --------------------------------------------------------------------


def test_a_range_of_n():
    domain = Domain({"x": ["a", "b"]})
    table = Table(domain, [1, 40])
    release = cb.publish(table, "[x]<5", total=False)
    assert judge(table, release).safe
    for total in ("41-41", "known"):
        found = judge(table, release, SMALL.facing(total=total))
        assert found.outcome is UNSAFE
    assert judge(table, release, SMALL.facing(total="41-44")).safe
    with pytest.raises(cb.InvalidInput, match="which the table contradicts"):
        judge(table, release, SMALL.facing(total="50-60"))
    with pytest.raises(cb.InvalidInput, match="which nobody told"):
        judge(None, release, SMALL.facing(total="known"))


def test_knowing_any_statement():
    table = Table(Domain({"x": ["a", "b"], "y": ["p", "q"]}), [[1, 20], [30, 40]])
    release = cb.publish(table, "[x,y]<5", total=False)
    assert judge(table, release).safe
    for known in (Total(91), Margin(["x"], [21, 70]), cb.Linear(["y"], {"p": 1}, equals=31)):
        found = judge(table, release, knows=[known])
        assert (found.outcome, found.knows) == (UNSAFE, (known,))
    assert judge(table, cb.publish(table, "[x,y]<5"), knows=[Total(lower=50)]).outcome is UNSAFE
    with pytest.raises(cb.InvalidInput, match="contradicts itself"):
        judge(None, cb.publish(table, "[x]"), knows=[Total(5)])


# --- people in the table ------------------------------------------------------------------------


def test_a_pair_in_one_cell_or_in_two_of_a_line():
    table = Table(Domain({"x": ["a", "b", "c"]}), [1, 1, 1])
    release = cb.publish(table, "[x]<5")
    rule = SmallCounts(at_most=2, zeros=False, values=2)
    policy = Policy("p", rules=[rule], respondent=True)
    assert judge(table, release, policy, over=["x"]).safe
    found = judge(table, release, policy.facing(respondents=2), over=["x"])
    assert found.outcome is SAFE  # c is 0 or 1 for a and b together
    release = one_way("1-4", "1-4", "<5", total=3)
    two = Table(release.domain, [2, 1, 0])
    rule = SmallCounts(at_most=2, zeros=True, values=2)
    policy = Policy("p", rules=[rule], respondent=True)
    found = judge(two, release, policy.facing(respondents=2), over=["x"])
    broken = {(one.respondent, one.partner) for one in found.broken}
    assert (("l0",), ("l0",)) in broken
    assert "l0 and l0" in str(found)
    assert judge(two, release, policy, over=["x"]).safe


def test_the_intruder_of_a_policy():
    house = Policy("house", rules=[SmallCounts(at_most=3, values=2)], intruder={"respondents": 1})
    assert house.respondent
    assert house.facing(respondents=0).respondent is False
    assert house.facing(zeros="never").against == Intruder(zeros="never", respondents=1)
    assert house.to_dict()["intruder"] == {"respondents": 1}
    assert "pair" in str(house.facing(respondents=2))
    for wrong in ({"zeros": "no"}, {"respondents": 3}, {"total": "9-3"}, {"nose": 1}, 3):
        with pytest.raises(cb.InvalidInput, match="intruder"):
            Policy("p", rules=house.rules, intruder=wrong)
    for wrong in (["zeros"], ["zeros=always", "zeros=never"], ["nose=1"]):
        with pytest.raises(cb.InvalidInput):
            Intruder.read(wrong)


# --- structure ----------------------------------------------------------------------------------

REGIONS = Domain(
    {
        "region": ["Kent", "Essex", "Gwent", "Powys"],
        "country": ["England", "Wales"],
        "sex": ["f", "m"],
    }
)


def placed(names=REGIONS):
    table = [[[2, 9], [0, 0]], [[8, 7], [0, 0]], [[0, 0], [1, 5]], [[0, 0], [7, 9]]]
    return Table(names, table)


def test_nobody_in_kent_is_in_wales():
    table = placed()
    said = ("[region,sex]<4", "[country,sex]")
    found = cb.audit(table, cb.publish(table, *said))
    assert found.verdict.safe
    assert [one.text for one in found.determines] == ["region:country"]
    assert "--nested region:country" in found.determines[0].remedy
    assert found.to_dict()["determines"] == [["region", "country"]]
    assert "declare it" in found.report().to_html()
    assert "declare it" not in found.report(public=True).to_html()
    nested = table.nested("region", "country")
    known = cb.audit(nested, cb.publish(nested, *said))
    assert known.verdict.outcome is UNSAFE
    assert known.determines == ()
    assert {one.labels for one in known.verdict.broken} >= {("Kent", "f"), ("Gwent", "f")}
    with pytest.raises(cb.InvalidInput, match="not nested in"):
        table.nested("sex", "country")


def test_codes_tell_where_a_region_is():
    coded = Domain(
        {"region": ["E01", "E02", "W01", "W02"], "country": ["E", "W"], "sex": ["f", "m"]}
    )
    table = placed(coded)
    release = cb.publish(table, "[region,sex]<4", "[country,sex]")
    for outcome in (judge(table, release), judge(None, release, independent=True)):
        assert outcome.outcome is UNSAFE
        assert "every region is in one country: their codes say so" in outcome.intruder
    assert cb.audit(table, release).determines == ()
    moved = Table(coded, table.counts[[2, 1, 0, 3]])  # which the codes do not tell
    release = cb.publish(moved, "[region,sex]<4", "[country,sex]")
    assert judge(moved, release).intruder == ()


@pytest.mark.parametrize(
    ("child", "parent"),
    [
        (["E01", "E02"], ["E", "W"]),  # no child of W
        (["E01", "X02", "W01"], ["E", "W"]),  # one of no parent
        (["E01", "E02", "E03"], ["E"]),  # one parent
        (["101", "102", "201"], ["1", "10", "2"]),  # of two parents
    ],
)
def test_what_is_not_nested_by_codes(child, parent):
    assert nestings_by_codes(Domain({"child": child, "parent": parent})) == ()


def test_digits_are_codes_where_a_table_agrees():
    domain = Domain({"age": ["10", "11", "20", "21"], "sex": ["1", "2"]})
    table = Table(domain, [[3, 0], [2, 0], [0, 4], [0, 5]])
    release = cb.publish(table, "[age]")
    assert judge(table, release).intruder
    assert judge(None, release).intruder == ()


def test_levels_that_nobody_has_determine_nothing():
    domain = Domain({"a": ["x", "y", "z"], "b": ["p", "q"]})
    assert nestings_in(Table(domain, [[1, 0], [0, 0], [0, 0]])) == []
    assert [one.parents for one in nestings_in(Table(domain, [[1, 0], [0, 0], [0, 2]]))] == [
        (0, None, 1)
    ]


# --- outsiders ----------------------------------------------------------------------------------


def test_an_outsiders_verdict():
    policy = Policy("p", rules=[SmallCounts(at_most=3, zeros=False, values=3)])
    unsafe, depends, safe = (one_way("1-2", 30), one_way("<3", 30), one_way("<9", 30))
    depending = judge(
        None, one_way("2-4", 30), Policy("p", rules=[SmallCounts(at_most=2, width=3)])
    )
    assert judge(None, unsafe, policy).outcome is UNSAFE
    assert judge(None, depends, policy).outcome is SAFE
    assert judge(None, safe, policy).outcome is SAFE
    assert depending.outcome is UNDECIDED
    assert "depends on the true count" in depending.open[0].evidence
    assert depending.warning == ""
    assert depending.to_dict(public=True)["verdict"] == "undecided"


@pytest.mark.parametrize(
    ("entries", "status"), [('[9, "<3"]', 0), ('[9, "1-1"]', 1), ('[9, "2-4"]', 3)]
)
def test_the_status_of_an_attack(entries, status, tmp_path):
    file = tmp_path / "published.toml"
    file.write_text(
        f'[domain]\nx = ["a", "b"]\n[[margin]]\nvariables = ["x"]\ncounts = {entries}\n'
    )
    policy = tmp_path / "policy.toml"
    policy.write_text('name = "p"\n[[rule]]\nrule = "small-counts"\nat_most = 2\nwidth = 2\n')
    if status == 3:
        policy.write_text(policy.read_text().replace("width = 2", "width = 3"))
    asked = ["attack", str(file), "--policy", str(policy)]
    result = CliRunner().invoke(cli.commands, [*asked, "--format", "json"], standalone_mode=False)
    assert result.return_value == status
    content = json.loads(result.stdout)
    assert (content["view"], content["verdict"]) == (
        "intruder",
        {0: "safe", 1: "unsafe", 3: "undecided"}[status],
    )
    assert "count" not in content["cells"][0]
    result = CliRunner().invoke(cli.commands, [*asked, "--cell", "x=b"], standalone_mode=False)
    assert result.return_value == 0
