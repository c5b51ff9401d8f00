"""Rates over derived variables: which method answers, and what it says of its parts."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

import cellbounds as cb
from cellbounds.data.cell_groups import cells_behind, group_of_levels
from cellbounds.inference.chains.conditional_moves import conditional_moves
from cellbounds.inference.chains.metropolis import choose_moves
from cellbounds.model.structure import gather
from listing import belongs, listed, sums

ROWS = "rows of one conditional"
LEVELS = {"county": ["A", "B", "C"], "sex": ["m", "f"]}
GROUPS = {
    "region": cb.Grouping("county", {"South": ["C"], "North": ["A", "B"]}),
    "whole": cb.Grouping("county", {"all": ["B", "C", "A"]}),
    "same": cb.Grouping("county", {"c": ["C"], "a": ["A"], "b": ["B"]}),
    "land": cb.Grouping("county", {"coast": ["A", "C"], "hills": ["B", "A"]}),
    "city": cb.Grouping("county", {"city": ["B"]}),
    "anyone": cb.Grouping("sex", {"anyone": ["f", "m"]}),
}


@pytest.fixture
def domain():
    return cb.Domain(LEVELS, groupings=GROUPS)


@pytest.fixture
def table(domain):
    return cb.Table(domain, [[3, 2], [4, 8], [6, 1]])


@pytest.fixture
def recovery():
    better = {"ok": ["modest", "excellent"], "poor": ["poor"]}
    return cb.datasets.read("koch4").grouped("rec2", of="recovery", levels=better)


@pytest.mark.parametrize(
    "names",
    [
        names
        for count in (1, 2)
        for names in itertools.permutations(["county", "sex", "region", "whole", "same"], count)
    ]
    + [("anyone", "region"), ("land", "sex"), ("sex", "city"), ("region", "land", "city")],
)
def test_cells_behind_groups(domain, names):
    behind = cells_behind(domain, names)
    inside = belongs(cb.Release(domain, []), names)
    assert behind.size == inside.shape[1]
    assert behind.widths.tolist() == inside.sum(axis=0).tolist()
    for place, (first, last) in enumerate(itertools.pairwise(behind.starts.tolist())):
        assert behind.cells[first:last].tolist() == np.flatnonzero(inside[:, place]).tolist()


def test_groups_of_levels(domain):
    assert group_of_levels(domain, "sex").tolist() == [0, 1]
    assert group_of_levels(domain, "region").tolist() == [1, 1, 0]
    assert group_of_levels(domain, "same").tolist() == [1, 2, 0]
    assert group_of_levels(domain, "land") is None
    assert group_of_levels(domain, "city") is None
    # As many members as levels, but one twice and one never.
    twice = {"twice": cb.Grouping("county", {"x": ["A", "B"], "y": ["B"]})}
    assert group_of_levels(domain.with_groupings(twice), "twice") is None


def test_merged_levels_are_those_of_the_merged_table(recovery):
    """What is said of the statement's own cells is what the table with merged levels gives."""
    release = cb.publish(recovery, "[rec2|center,status]@2")
    answer = cb.bounds(release)
    assert answer.method == ROWS
    merged = recovery.merge("recovery", {"ok": ["modest", "excellent"]})
    plain = cb.bounds(cb.publish(merged, "[recovery|center,status]@2"), over=merged.domain.names)
    names = ("center", "status", "recovery")
    poor = [merged.domain.position("recovery", "poor"), merged.domain.position("recovery", "ok")]
    assert np.array_equal(answer.upper[..., [0, 1]], plain.upper[..., poor])
    assert np.array_equal(answer.upper[..., 2], answer.upper[..., 1])
    assert not answer.lower.any()
    # Beside the treatments, which are summed over too, "poor" is alone in its group.
    finer = cb.bounds(release, over=names)
    cells = cb.bounds(release, over=["center", "status", "rec2"])
    assert finer.method == cells.method == ROWS
    assert np.array_equal(finer.lower[..., 0], cells.lower[..., 1])
    assert finer.lower[..., 0].min() > 0
    assert not finer.lower[..., 1:].any()


@pytest.mark.parametrize(
    ("said", "over", "method"),
    [
        ("[region|sex]@2", None, ROWS),
        ("[sex|region]@2", None, ROWS),
        ("[sex|region]@2", ["region"], ROWS),
        ("[sex|region]@2", ["sex", "same"], "integer search"),
        ("[sex|region]@2", ["sex", "county", "region"], "integer search"),
        ("[sex|region]@2", ["sex", "city"], "integer search"),
        ("[sex|region]@2", ["sex"], "integer search"),
        ("[region,anyone|]@2", None, ROWS),
        ("[region|]@2", ["anyone", "county"], ROWS),
        ("[region|]@2", ["anyone", "region"], ROWS),
        ("[sex|whole]@2", None, ROWS),
        ("[same|sex]@2", None, ROWS),
        ("[sex|land]@2", None, "integer search"),
        ("[sex|city]@2", None, "integer search"),
    ],
)
def test_who_answers(table, said, over, method):
    release = cb.publish(table, said)
    assert cb.bounds(release, over=over).method == method


@pytest.mark.parametrize("given", ["land", "city"])
def test_rows_that_do_not_share_out_everybody_are_refused(table, given):
    facts = gather(cb.publish(table, f"[sex|{given}]@2"))
    assert facts.conditional is None
    assert f"'{given}' overlap or leave levels out" in facts.not_conditional


def test_priors_over_other_groups_are_refused(table):
    release = cb.publish(table, "[sex|region]@2")
    for names in (["county"], ["same", "sex"], ["whole"]):
        more = cb.Release(release.domain, [*release.statements, cb.Known(names, upper=9)])
        assert "crosses the rows" in gather(more).not_conditional


def test_parts_that_are_alone_and_parts_that_are_not(table):
    answer = cb.bounds(cb.publish(table, "[region|sex]"))
    # C is the South alone; A and B are the North together.
    values = cb.attainable(cb.publish(table, "[region|sex]"), over=["sex", "region"])
    assert answer["C", "m"] == (values["m", "South"].smallest, values["m", "South"].largest)
    for county in ("A", "B"):
        assert answer[county, "m"] == (0, values["m", "North"].largest)
    assert cb.attainable(cb.publish(table, "[region|sex]"))["C", "f"] == values["f", "South"]


def test_knowledge_about_parts_reaches_the_others(table):
    release = cb.publish(table, "[region|sex]")
    known = cb.Known(["county", "sex"], lower={("A", "m"): 3}, upper={("B", "m"): 2})
    answer = cb.bounds(cb.Release(release.domain, [*release.statements, known]))
    assert answer.method == ROWS
    north = cb.bounds(release, over=["sex", "region"])["m", "North"]
    assert answer["B", "m"] == (0, 2)
    assert answer["A", "m"] == (max(3, north[0] - 2), north[1])


def test_knowledge_about_parts_leaves_finer_margins_to_the_search():
    """Parts of parts are not told apart by rows: the answer is another method's, and right."""
    domain = cb.Domain(
        {"a": [0, 1, 2], "b": [0, 1], "c": [0, 1]},
        groupings={"g": cb.Grouping("a", {"low": [0, 1], "high": [2]})},
    )
    rates = cb.Conditional(["b"], ["g"], rates=[["1/2", "1/2"], ["1/2", "1/2"]])
    known = cb.Known(["a", "b", "c"], upper={(0, 0, 0): 1, (0, 0, 1): 0})
    release = cb.Release(domain, [cb.Total(6), rates, known])
    answer = cb.bounds(release, over=["a", "b"])
    assert answer.method == "integer search"
    margins = sums(release, listed(release, 6), ("a", "b"))
    assert answer.lower.ravel().tolist() == margins.min(axis=0).tolist()
    assert answer.upper.ravel().tolist() == margins.max(axis=0).tolist()
    assert cb.bounds(release, over=["c", "b", "a"]).method == ROWS


def test_nobody_in_a_merged_row(domain):
    table = cb.Table(domain, [[0, 0], [0, 0], [6, 1]])
    answer = cb.bounds(cb.publish(table, "[sex|region]"))
    assert answer.method == ROWS
    assert answer.upper.tolist() == [[0, 0], [0, 0], [6, 1]]
    known = cb.Known(["county", "sex"], lower={("B", "f"): 1})
    release = cb.publish(table, "[sex|region]")
    with pytest.raises(cb.InconsistentRelease, match="region=North is said to hold nobody"):
        cb.bounds(cb.Release(domain, [*release.statements, known]))


def test_a_row_that_no_counts_make_is_named(domain):
    rates = cb.Conditional(["sex"], ["region"], rates=[["0.50", "0.50"], ["0.50", "0.60"]])
    with pytest.raises(cb.InconsistentRelease, match="region=North"):
        cb.bounds(cb.Release(domain, [cb.Total(20), rates]))


def test_without_n_nothing_ends(table):
    answer = cb.bounds(cb.publish(table, "[region|sex]@2", total=False))
    assert answer.method == ROWS
    assert all(one is cb.UNBOUNDED for one in answer.upper.flat)
    linear = cb.bounds(cb.publish(table, "[region|sex]@2", total=False), kind="linear")
    assert linear.lower[0].tolist() == [0, 0]
    assert all(one > 0 for one in linear.lower[2])


def test_counts_beyond_64_bits(domain):
    rates = cb.Conditional(["region"], ["sex"], rates=[["1/3", "2/3"], ["1/2", "1/2"]])
    answer = cb.bounds(cb.Release(domain, [cb.Total(6 * 10**20), rates]))
    assert answer["C", "m"] == (2, 2 * 10**20 - 2)
    assert answer["A", "m"] == (0, 4 * 10**20 - 4)
    table = answer.witness("A", "m", at="upper")
    assert table.total == 6 * 10**20
    assert table["A", "m"] == 4 * 10**20 - 4


def test_questions_about_a_small_margin_of_a_huge_table():
    names = [f"v{k}" for k in range(60)]
    groups = {"g": cb.Grouping("v0", {"low": [0, 1], "high": [2]})}
    domain = cb.Domain({name: [0, 1, 2] for name in names}, groupings=groups)
    rates = cb.Conditional(["g"], ["v1"], rates=[["1/2", "1/2"]] * 3)
    release = cb.Release(domain, [cb.Total(20), rates])
    assert cb.bounds(release, over=["g", "v1"])["low", 0] == (1, 8)
    answer = cb.bounds(release, over=["v0", "v1", "v7"])
    assert answer[0, 0, 0] == answer[2, 0, 0] == (0, 8)
    assert cb.bounds(release, over=["v1", "v0"])[0, 2] == (1, 8)


def test_limits_of_parts_end_the_tables_without_n(domain):
    """The limits of the cells in rows that hold somebody, whatever the order of the groups."""
    rates = cb.Conditional(
        ["sex"], ["region"], rates=[["1/2", "1/2"], [None, None]], missing="zero"
    )
    known = cb.Known(["county", "sex"], upper=[[0, 1], [1, 1], [3, 3]])
    release = cb.Release(domain, [rates, known])
    assert cb.count_tables(release) == len(listed(release, 6)) == 3


def test_closed_forms_of_exact_rates(table):
    release = cb.publish(table, "[region|sex]")
    for kind in ("improved", "improved-verbal"):
        answer = cb.bounds(release, kind=kind)
        cells = cb.bounds(release, kind=kind, over=["sex", "region"])
        assert answer["C", "f"] == cells["f", "South"]
        assert answer["A", "f"] == answer["B", "f"] == (0, cells["f", "North"][1])
    linear = cb.bounds(release, kind="linear")
    cells = cb.bounds(release, kind="linear", over=["region", "sex"])
    assert linear["C", "m"] == cells["South", "m"]
    assert linear["B", "m"] == (Fraction(0), cells["North", "m"][1])


def test_explanations_name_the_groups(table):
    explained = cb.bounds(cb.publish(table, "[region|sex]")).explain("C", "f")
    assert explained.lower == 1
    assert explained.lower_blame.statements == ("[region|sex]",)
    assert explained.lower_blame.figures == ("[region|sex] at f, North: 10/11",)
    assert explained.lower_witness["C", "f"] == 1


@pytest.mark.parametrize("said", ["[region|sex]", "[sex|region]@1", "[region|]@2"])
def test_certificates_are_verified(table, said):
    certificate = cb.bounds(cb.publish(table, said)).certificate()
    report = cb.verify_certificate(certificate)
    assert certificate["method"] == ROWS
    assert report.ok


def test_moves(domain):
    rates = [["1/3", "2/3"], ["1/3", "2/3"]]
    uneven = cb.Release(domain, [cb.Total(30), cb.Conditional(["region"], ["sex"], rates=rates)])
    with pytest.raises(cb.UnsupportedRelease, match="unequal numbers of levels"):
        conditional_moves(uneven)
    assert "families" not in choose_moves(uneven).name
    even = cb.Release(
        domain, [cb.Total(30), cb.Conditional(["same"], ["anyone"], rates=[["1/3"] * 3])]
    )
    assert "families" in choose_moves(even).name
