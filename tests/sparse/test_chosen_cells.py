"""Bounds and attainable counts of chosen cells: the same as when everything is asked."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cellbounds as cb
from cellbounds.certificates.verifying import verify_certificate
from listing import listed, sums
from mixtures import cases, margin_cases
from strategies import few


@st.composite
def some_of(draw, case):
    """Some cells of the margin that a case asks about, in any order."""
    every = list(case.release.domain.project(case.over).cells())
    return draw(st.lists(st.sampled_from(every), min_size=1, max_size=4, unique=True))


def numbers(values):
    return [values[index] for index in np.ndindex(values.shape)]


def check(case, cells, **options):
    release, over = case.release, case.over
    try:
        whole = cb.bounds(release, over=over, **options)
    except cb.InconsistentRelease:
        with pytest.raises(cb.InconsistentRelease):
            cb.bounds(release, over=over, cells=cells, **options)
        return
    chosen = cb.bounds(release, over=over, cells=cells, **options)
    assert chosen.evidence is whole.evidence
    assert chosen.lower.shape == chosen.upper.shape == (len(cells),)
    assert [(low, high) for low, high in zip(chosen.lower, chosen.upper, strict=True)] == [
        whole[labels] for labels in cells
    ]
    assert [chosen[labels] for labels in cells] == [whole[labels] for labels in cells]
    if options.get("kind", "sharp") != "sharp":
        return
    assert all(side.all() for side in chosen.settled)
    sets = cb.attainable(release, over=over)
    found = cb.attainable(release, over=over, cells=cells)
    assert [labels for labels, _ in found.items()] == list(found.cells()) == cells
    for number, labels in enumerate(cells):
        assert found[labels] == found.at((number,)) == sets[labels]
    labels = cells[-1]
    for value in found[labels]:
        assert found.witness(*labels, value=value).margin(over)[labels] == value
    for place, at in enumerate(("lower", "upper")):
        assert chosen.witness(*labels, at=at).margin(over)[labels] == chosen[labels][place]


@few(6)
@given(cases(), st.data())
def test_any_mixture(case, data):
    check(case, data.draw(some_of(case)))


@few(6)
@given(margin_cases(), st.data())
def test_exact_margins(case, data):
    check(case, data.draw(some_of(case)))


@few(6)
@given(cases(spoil=False), st.data())
def test_the_linear_relaxation(case, data):
    check(case, data.draw(some_of(case)), kind="linear")


@few(8)
@given(cases(spoil=False), st.integers(1, 3), st.integers(0, 2), st.data())
def test_variables_that_no_statement_names(case, length, where, data):
    """One more variable: it changes nothing, and cells over it hold a part of the others."""
    old = case.release
    levels = list(old.domain.to_dict().items())
    levels.insert(min(where, len(levels)), ("z", [f"z{k}" for k in range(length)]))
    domain = cb.Domain(dict(levels), groupings=old.domain.groupings)
    release = cb.Release(domain, old.statements)
    cells = data.draw(some_of(case))
    try:
        known = cb.attainable(old, over=case.over)
    except cb.InconsistentRelease:
        with pytest.raises(cb.InconsistentRelease):
            cb.attainable(release, over=case.over)
        return
    again = cb.attainable(release, over=case.over, cells=cells)
    assert all(again[labels] == known[labels] for labels in cells)
    over = (*case.over, "z")
    longer = [(*labels, f"z{length - 1}") for labels in cells]
    whole, some = cb.bounds(release, over=over), cb.bounds(release, over=over, cells=longer)
    sets = cb.attainable(release, over=over, cells=longer)
    for short, labels in zip(cells, longer, strict=True):
        expected = known[short] if length == 1 else set(range(known[short].largest + 1))
        assert sets[labels] == expected
        assert whole[labels] == some[labels] == (sets[labels].smallest, sets[labels].largest)
        for value in sets[labels]:
            assert sets.witness(*labels, value=value).margin(over)[labels] == value
    everybody = cb.bounds(release, over=["z"], cells=["z0"])
    assert everybody["z0"] == cb.bounds(release, over=["z"])["z0"]
    assert everybody["z0"][0] == 0 or length == 1


@pytest.fixture
def children():
    return cb.datasets.read("delinquent")


@pytest.mark.parametrize(
    "said", [["[education|county]@2"], ["[education|county]"], ["[education]", "[county]"]]
)
def test_what_a_chosen_answer_shows(children, said):
    release = cb.publish(children, *said)
    cells = [("Gamma", "High"), ("Alpha", "Low")]
    whole, answer = cb.bounds(release), cb.bounds(release, cells=cells)
    assert answer.size == 2
    assert answer.method == whole.method
    listed = {tuple(line[:2]): line[2:] for line in whole.to_frame("pandas").to_numpy().tolist()}
    shown = answer.to_frame("pandas").to_numpy().tolist()
    assert [tuple(line[:2]) for line in shown] == cells
    assert all(listed[tuple(line[:2])] == line[2:] for line in shown)
    plain = answer.to_dict()["cells"]
    assert [(one["county"], one["education"]) for one in plain] == cells
    lines = str(answer).splitlines()
    assert "sharp bounds of 2 cells given" in lines[0]
    assert [line.split()[:2] for line in lines[2:]] == [list(cell) for cell in cells]
    assert repr(answer).endswith(": 2 cells>")
    assert "Gamma" in answer._repr_html_()
    values = cb.attainable(release, cells=cells)
    assert len(values.to_frame("pandas")) == len(values.to_dict()["cells"]) == 2
    assert "attainable counts of 2 cells given" in str(values)
    explained, expected = answer.explain("Alpha", "Low"), whole.explain("Alpha", "Low")
    assert str(explained) == str(expected)
    assert explained.to_dict() == expected.to_dict()
    for ask in (answer.__getitem__, values.__getitem__):
        with pytest.raises(cb.InvalidInput, match="not among those that were asked about"):
            ask(("Beta", "Low"))
    with pytest.raises(cb.InvalidInput, match="not among those"):
        answer.witness("Beta", "Low")
    with pytest.raises(cb.InvalidInput, match="not among those"):
        answer.explain("Beta", "Low")


@pytest.mark.parametrize("kind", ["linear", "improved", "improved-verbal"])
def test_other_kinds_of_bounds(children, kind):
    release = cb.publish(children, "[education|county]")
    cells = [("Beta", "Medium"), ("Alpha", "High"), ("Delta", "Low")]
    whole, some = cb.bounds(release, kind=kind), cb.bounds(release, kind=kind, cells=cells)
    assert [some[cell] for cell in cells] == [whole[cell] for cell in cells]
    assert numbers(some.lower) == [whole[cell][0] for cell in cells]


def test_the_2x2x2_table():
    domain = cb.Domain({name: ["0", "1"] for name in "abc"})
    table = cb.Table(domain, np.arange(8).reshape(2, 2, 2))
    release = cb.publish(table, "[a,b]", "[b,c]", "[a,c]")
    whole, cells = cb.bounds(release), [("1", "0", "1"), ("0", "0", "0")]
    some = cb.bounds(release, cells=cells)
    assert some.method == whole.method == "2x2x2 with all two-way margins"
    assert [some[cell] for cell in cells] == [whole[cell] for cell in cells]
    assert some.witness("1", "0", "1")["1", "0", "1"] == some["1", "0", "1"][0]


def test_rows_and_parts_of_a_conditional(children):
    release = cb.publish(children, "[education|county]@1")
    rows = cb.bounds(release, over=["county"], cells=["Beta", "Delta"])
    assert rows["Delta"] == cb.bounds(release, over=["county"])["Delta"]
    assert rows.lower.shape == (2,)
    children = children.grouped("west", of="county", levels={"yes": ["Alpha", "Beta"]})
    release = cb.publish(children, "[education]", "[west]")
    some = cb.bounds(release, over=["west", "education"], cells=[("yes", "High")])
    assert some["yes", "High"] == cb.bounds(release, over=["west", "education"])["yes", "High"]


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ([], r"cells=\[\] asks about no cell"),
        ("Alpha", "give a list of cells"),
        (7, "give a list of cells"),
        (["Alpha"], "a cell is a tuple of labels, one for each of county, education"),
        ([("Alpha",)], r"1 labels \('Alpha',\) for 2 variables"),
        ([("Alpha", "Low", "x")], "3 labels"),
        ([("Alpha", "None")], "unknown level 'None' of variable 'education'"),
        ([("Alpha", "Low"), ("Beta", "Low"), ("Alpha", "Low")], "twice"),
    ],
)
def test_cells_that_are_refused(children, cells, said):
    release = cb.publish(children, "[education|county]@2")
    for ask in (cb.bounds, cb.attainable):
        with pytest.raises(cb.InvalidInput, match=said):
            ask(release, cells=cells)


def test_only_the_cells_asked_about_are_settled():
    """The general search knows no other sums than those of the cells asked about."""
    domain = cb.Domain({name: ["0", "1", "2"] for name in "abc"})
    table = cb.Table(domain, np.arange(27).reshape(3, 3, 3) % 5)
    release = cb.publish(table, "[a,b]", "[b,c]", "[a,c]")
    cells = [("0", "1", "2"), ("2", "2", "2")]
    answer = cb.bounds(release, cells=cells)
    assert answer.method == "integer search"
    search = answer._source.search
    assert search.asked.size == 3  # and one sum of nothing
    assert search.asked.members(0).tolist() == [5]
    others = np.delete(search.asked.of, [5, 26])
    assert search.asked.of[[5, 26]].tolist() == [0, 1]
    assert set(others.tolist()) == {2}
    assert search.walker.possible
    whole = cb.bounds(release)
    assert [answer[cell] for cell in cells] == [whole[cell] for cell in cells]
    assert answer.evidence is cb.Evidence.EXACT


@pytest.mark.parametrize(
    "over", [("region",), ("a", "region"), ("region", "county"), ("both", "a")]
)
def test_groups_of_a_variable_that_no_statement_names(over):
    """Groups may hold everybody, nobody together, or some: not every cell is loose."""
    groups = {
        "region": cb.Grouping("county", {"north": ["1", "2"], "south": ["3"]}),
        "both": cb.Grouping("county", {"all": ["1", "2", "3"], "first": ["1"]}),
    }
    domain = cb.Domain({"a": ["x", "y"], "county": ["1", "2", "3"]}, groupings=groups)
    release = cb.Release(domain, [cb.Margin(["a"], [3, 2])])
    every = listed(release, 5)
    margins = sums(release, every, over)
    answer = cb.bounds(release, over=over)
    assert answer.lower.ravel().tolist() == margins.min(axis=0).tolist()
    assert answer.upper.ravel().tolist() == margins.max(axis=0).tolist()
    cells = list(answer.domain.cells())[::-1]
    chosen = cb.attainable(release, over=over, cells=cells)
    for labels, held in zip(cells, margins.T[::-1], strict=True):
        assert chosen[labels] == set(held.tolist())
        for value in chosen[labels]:
            assert chosen.witness(*labels, value=value).margin(over)[labels] == value


def test_certificates_of_chosen_cells(children):
    release = cb.publish(children, "[education]", "[county]~5")
    answer = cb.bounds(release, cells=[("Gamma", "High"), ("Alpha", "Low")])
    certificate = answer.certificate()
    assert [one["labels"] for one in certificate["cells"]] == [["Gamma", "High"], ["Alpha", "Low"]]
    assert verify_certificate(certificate).ok
    certificate["cells"][0]["upper"]["proven"] -= 1
    assert not verify_certificate(certificate).ok


def test_a_budget_that_is_spent_at_once():
    domain = cb.Domain({name: ["0", "1", "2"] for name in "abcd"})
    rng = np.random.default_rng(3)
    table = cb.Table(domain, rng.poisson(2, size=domain.shape))
    release = cb.publish(table, "[a,b|]@3", "[b,c|a]@1", "[c,d]", "[a,d]~5")
    cells = [("0", "1", "2", "0"), ("2", "2", "2", "1")]
    answer = cb.bounds(release, cells=cells, seconds=1e-6)
    whole = cb.bounds(release, cells=cells, seconds=60, start=table)
    for cell in cells:
        assert answer[cell][0] <= whole[cell][0] <= table[cell] <= whole[cell][1] <= answer[cell][1]
    assert answer.attained_lower.shape == (2,)
