"""Derived variables: groups of levels, in domains, tables, statements and the digest."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

import cellbounds as cb
from bruteforce import summed

LEVELS = {"county": ["A", "B", "C"], "sex": ["m", "f"]}
REGION = cb.Grouping("county", {"North": ["A", "B"], "South": ["C"]})
OVERLAP = cb.Grouping("county", {"coast": ["A", "C"], "hills": ["B", "A"]})
CITY = cb.Grouping("county", {"city": ["B"]})


@pytest.fixture
def domain():
    return cb.Domain(LEVELS, groupings={"region": REGION, "land": OVERLAP, "city": CITY})


@pytest.fixture
def table(domain):
    return cb.Table(domain, [[1, 2], [4, 8], [16, 32]])


def test_names_shape_and_cells_stay_those_of_the_variables(domain):
    plain = cb.Domain(LEVELS)
    assert domain.names == plain.names
    assert domain.shape == plain.shape
    assert domain.size == 6
    assert list(domain.cells()) == list(plain.cells())
    assert domain.to_dict() == plain.to_dict()
    assert domain == plain
    assert hash(domain) == hash(plain)


def test_derived_names_can_be_spoken_of(domain):
    assert domain.levels("region") == ("North", "South")
    assert domain.position("region", "South") == 1
    assert domain.distinct(["region", "sex"]) == ("region", "sex")
    assert domain.grouping("region") == ("county", ((0, 1), (2,)))
    assert domain.grouping("land") == ("county", ((0, 2), (1, 0)))
    assert domain.grouping("sex") is None
    assert domain.groupings == {"region": REGION, "land": OVERLAP, "city": CITY}
    with pytest.raises(cb.InvalidInput, match=r"'age'.*'county', 'sex', 'region'"):
        domain.grouping("age")
    with pytest.raises(cb.InvalidInput, match="unknown level 'East' of variable 'region'"):
        domain.position("region", "East")
    with pytest.raises(cb.InvalidInput, match="named twice"):
        domain.distinct(["region", "region"])


def test_projection_is_plain(domain):
    projected = domain.project(["sex", "region"])
    assert projected.names == ("sex", "region")
    assert projected.shape == (2, 2)
    assert projected.groupings == {}
    assert projected.grouping("region") is None


def test_a_derived_variable_has_no_axis(domain):
    with pytest.raises(cb.InvalidInput, match="groups the levels of 'county' and has no axis"):
        domain.axis("region")


def test_groupings_cannot_be_changed_from_outside():
    parts = ["A"]
    grouping = cb.Grouping("county", {"x": parts})
    parts.append("B")
    grouping.levels["x"] = ()
    assert grouping.levels == {"x": ("A",)}
    assert grouping == cb.Grouping("county", {"x": ("A",)})
    assert hash(grouping) == hash(cb.Grouping("county", {"x": ["A"]}))
    assert pickle.loads(pickle.dumps(grouping)) == grouping
    assert repr(grouping) == "Grouping('county', 1 levels)"
    with pytest.raises(AttributeError):
        grouping.of = "sex"


@pytest.mark.parametrize(
    ("of", "levels", "said"),
    [
        ("", {"x": ["A"]}, "name the variable"),
        (3, {"x": ["A"]}, "name the variable"),
        ("county", {}, "give a mapping"),
        ("county", ["A"], "give a mapping"),
        ("county", {"x": []}, "is empty"),
        ("county", {"x": "A"}, "give a list"),
        ("county", {"x": 5}, "give a list"),
        ("county", {"x": ["A", "A"]}, "'A' twice"),
    ],
)
def test_groupings_refused(of, levels, said):
    with pytest.raises(cb.InvalidInput, match=said):
        cb.Grouping(of, levels)


@pytest.mark.parametrize(
    ("groupings", "said"),
    [
        ({"sex": REGION}, "name of a variable"),
        ({"": REGION}, "non-empty"),
        ({"r": cb.Grouping("age", {"x": ["A"]})}, "'age'.*'county', 'sex'"),
        ({"r": REGION, "s": cb.Grouping("r", {"x": ["North"]})}, "is of 'r'"),
        ({"r": cb.Grouping("county", {"x": ["Z"]})}, "unknown level 'Z'"),
        ({"r": {"North": ["A"]}}, "give Grouping"),
    ],
)
def test_domains_refuse_groupings(groupings, said):
    with pytest.raises(cb.InvalidInput, match=said):
        cb.Domain(LEVELS, groupings=groupings)


def test_with_groupings_adds_and_leaves_the_old_one_alone(domain):
    grown = domain.with_groupings({"gender": cb.Grouping("sex", {"all": ["m", "f"]})})
    assert set(grown.groupings) == {"region", "land", "city", "gender"}
    assert "gender" not in domain.groupings
    assert domain.with_groupings({"region": REGION}) == domain
    with pytest.raises(cb.InvalidInput, match="means something else"):
        domain.with_groupings({"region": OVERLAP})


def test_partitions(domain):
    domain.check_partition("sex")
    domain.check_partition("region")
    with pytest.raises(cb.InvalidInput, match="overlap in 'A'"):
        domain.check_partition("land")
    with pytest.raises(cb.InvalidInput, match="leave out 'A'"):
        domain.check_partition("city")


def test_margins_sum_the_members(table):
    assert table.margin(["region"]).counts.tolist() == [15, 48]
    assert table.margin(["sex", "region"]).counts.tolist() == [[5, 16], [10, 32]]
    assert table.margin(["land"]).counts.tolist() == [51, 15]
    assert table.margin(["city", "sex"]).counts.tolist() == [[4, 8]]
    assert table.margin(["region"]).domain == cb.Domain({"region": ["North", "South"]})


def test_margins_of_a_grouping_and_its_variable_have_zeros(table):
    both = table.margin(["region", "county"])
    assert both.counts.tolist() == [[3, 12, 0], [0, 0, 48]]
    assert both.structural.tolist() == [[False, False, True], [True, True, False]]
    assert table.margin(["land", "region"]).counts.tolist() == [[3, 48], [15, 0]]


@pytest.mark.parametrize(
    "names",
    [
        ("region",),
        ("sex", "land"),
        ("county", "sex", "region"),
        ("land", "sex", "region", "city"),
        ("city", "county"),
    ],
)
def test_margins_agree_with_adding_cell_by_cell(table, names):
    release = cb.Release(table.domain, [cb.Total(63)])
    assert table.margin(names).counts.tolist() == summed(release, table.counts, names).tolist()


def test_margins_beyond_64_bits_and_of_one_level():
    domain = cb.Domain({"one": ["only"]}, groupings={"all": cb.Grouping("one", {"1": ["only"]})})
    assert cb.Table(domain, [10**30]).margin(["all"]).counts.tolist() == [10**30]
    grouped = cb.Table(cb.Domain({"a": ["x", "y"]}), [2**61, 2**61]).grouped(
        "b", of="a", levels={"xy": ["x", "y"], "yx": ["y", "x"], "x": ["x"]}
    )
    assert grouped.margin(["b"]).counts.tolist() == [2**62, 2**62, 2**61]
    assert grouped.margin(["b"]).total == 2**62 + 2**62 + 2**61


def test_grouped_tables_are_the_same_tables(table):
    structural = np.zeros((3, 2), dtype=bool)
    plain = cb.Table(cb.Domain(LEVELS), table.counts, structural=structural)
    grouped = plain.grouped("region", of="county", levels={"North": ["A", "B"], "South": ["C"]})
    assert grouped == plain
    assert grouped.domain.groupings == {"region": REGION}
    assert plain.domain.groupings == {}


def test_merging_keeps_the_groupings_of_other_variables(table):
    grouped = table.grouped("anyone", of="sex", levels={"all": ["m", "f"]})
    merged = grouped.merge("county", {"AB": ["A", "B"]})
    assert set(merged.domain.groupings) == {"anyone"}
    assert merged.margin(["anyone"]).counts.tolist() == [63]


def test_merging_moves_along_the_hierarchy():
    places = cb.Table(cb.Domain({"mun": ["a", "b", "c", "d"], "sex": ["f", "m"]}), np.ones((4, 2)))
    places = places.grouped("county", of="mun", levels={"AB": ["a", "b"], "C": ["c"], "D": ["d"]})
    places = places.grouped("land", of="mun", levels={"N": ["a", "b", "c"], "S": ["d"]})
    assert places.domain.coarser("mun") == ("county", "land")
    assert places.domain.coarser("county") == ("land",)
    counties = places.merge("mun", "county")
    assert counties.margin(["mun"]).to_frame()["count"].tolist() == [4, 2, 2]
    assert counties.domain.groupings["land"].levels == {"N": ("AB", "C"), "S": ("D",)}
    assert "county" not in counties.domain.groupings
    merged = places.merge("mun", {"cd": ["c", "d"]})
    assert not merged.domain.groupings  # both would cut it
    with pytest.raises(cb.InvalidInput, match="'sex' is no coarser level of 'mun'; its coarser"):
        places.merge("mun", "sex")


def test_exact_rates_of_groups(table):
    rates = table.conditional(["region"], given=["sex"])
    assert [[str(rate) for rate in row] for row in rates] == [["5/21", "16/21"], ["5/21", "16/21"]]
    given = table.conditional(["sex"], given=["land"])
    assert [[str(rate) for rate in row] for row in given] == [["1/3", "2/3"], ["1/3", "2/3"]]
    with pytest.raises(cb.InvalidInput, match="overlap"):
        table.conditional(["land"], given=["sex"])


RATES = [["0.25", "0.75"], ["0.50", "0.50"]]


def test_rates_over_groups(domain):
    cb.Release(domain, [cb.Conditional(["region"], ["sex"], rates=RATES)])
    cb.Release(domain, [cb.Conditional(["sex"], ["land"], rates=RATES)])


@pytest.mark.parametrize(
    ("responses", "given", "said"),
    [
        (["land"], ["sex"], "overlap in 'A'"),
        (["sex", "city"], [], "leave out 'A'"),
        (["county"], ["region"], "'region' and 'county' both speak of the levels of 'county'"),
        (["region"], ["land"], "'land' and 'region' both speak"),
    ],
)
def test_rates_over_groups_refused(domain, responses, given, said):
    table = cb.Table(domain, [[1, 2], [4, 8], [16, 32]])
    with pytest.raises(cb.InvalidInput, match=said):
        cb.publish(table, f"[{','.join(responses)}|{','.join(given)}]@2")
    shape = [len(domain.levels(name)) for name in (*given, *responses)]
    rates = np.full(shape, "1/3", dtype=object)
    with pytest.raises(cb.InvalidInput, match=said):
        cb.Release(domain, [cb.Conditional(responses, given, rates=rates)])


def test_statements_over_groups_are_checked_like_others(domain):
    known = cb.Known(["region"], upper={"South": 9}).known(domain)
    assert known.upper.tolist() == [-1, 9]
    with pytest.raises(cb.InvalidInput, match=r"shape \(3,\)"):
        cb.Release(domain, [cb.Margin(["region"], [1, 2, 3])])
    with pytest.raises(cb.InvalidInput, match="unknown variable 'region'"):
        cb.Release(cb.Domain(LEVELS), [cb.Margin(["region"], [1, 2])])


def test_the_digest_depends_on_the_groupings_that_are_named():
    said = [cb.Margin(["region"], [1, 2])]
    other = cb.Grouping("county", {"North": ["A"], "South": ["B", "C"]})
    turned = cb.Grouping("county", {"North": ["B", "A"], "South": ["C"]})
    digests = [
        cb.Release(cb.Domain(LEVELS, groupings={"region": one}), said).digest
        for one in (REGION, other, turned)
    ]
    assert digests[0] != digests[1]
    assert digests[0] == digests[2]
    more = cb.Domain(LEVELS, groupings={"region": REGION, "city": CITY})
    assert cb.Release(more, said).digest == digests[0]
    plain = [cb.Margin(["county"], [1, 2, 3])]
    assert cb.Release(more, plain).digest == cb.Release(cb.Domain(LEVELS), plain).digest


def test_plain_values_of_a_release_hold_the_groupings(domain):
    said = cb.Release(domain, [cb.Margin(["city"], [2])]).to_dict()
    assert said["groupings"]["city"] == {"of": "county", "levels": [["city", ["B"]]]}
    assert "groupings" not in cb.Release(cb.Domain(LEVELS), [cb.Total(3)]).to_dict()


def test_labels_from_arrays_become_plain():
    years = np.array([2001, 2002, 2003])
    early = cb.Grouping("year", {np.str_("early"): years[:2]})
    domain = cb.Domain({"year": years}, groupings={"time": early})
    assert domain.project(["time"]).levels("time") == ("early",)
    said = cb.Release(domain, [cb.Margin(["time"], [3])]).to_dict()
    assert json.loads(json.dumps(said))["groupings"]["time"]["levels"] == [["early", [2001, 2002]]]
