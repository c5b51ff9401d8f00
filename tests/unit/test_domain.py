"""Variables, levels and cells."""

from __future__ import annotations

import pytest

import cellbounds as cb


@pytest.fixture
def domain():
    return cb.Domain({"county": ["Alpha", "Beta", "Gamma"], "sex": ["m", "f"]})


def test_shape_names_and_size(domain):
    assert domain.names == ("county", "sex")
    assert domain.shape == (3, 2)
    assert domain.size == 6
    assert repr(domain) == "Domain(county[3] x sex[2])"


def test_size_does_not_overflow():
    assert cb.Domain({f"v{k}": range(1000) for k in range(10)}).size == 1000**10


def test_cells_run_fastest_in_the_last_variable(domain):
    assert list(domain.cells())[:3] == [("Alpha", "m"), ("Alpha", "f"), ("Beta", "m")]
    assert [domain.index(labels) for labels in domain.cells()] == [
        (i, j) for i in range(3) for j in range(2)
    ]
    assert domain.labels((2, 1)) == ("Gamma", "f")


def test_labels_may_be_anything_hashable():
    domain = cb.Domain({"age": [0, 1, (2, 3)], "x": [None, "", "0"]})
    assert domain.index(((2, 3), "0")) == (2, 2)
    assert domain.index((0, None)) == (0, 0)


def test_project_keeps_the_order_asked_for(domain):
    turned = domain.project(["sex", "county"])
    assert turned.names == ("sex", "county")
    assert turned.shape == (2, 3)
    assert turned != domain
    assert domain.project(["county", "sex"]) == domain


def test_equality_needs_the_same_order_of_variables_and_levels(domain):
    assert domain == cb.Domain({"county": ("Alpha", "Beta", "Gamma"), "sex": ("m", "f")})
    assert hash(domain) == hash(cb.Domain(domain.to_dict()))
    assert domain != cb.Domain({"county": ["Beta", "Alpha", "Gamma"], "sex": ["m", "f"]})
    assert domain != cb.Domain({"sex": ["m", "f"], "county": ["Alpha", "Beta", "Gamma"]})
    assert domain != "county"


def test_contains_and_levels(domain):
    assert "sex" in domain
    assert "age" not in domain
    assert domain.levels("sex") == ("m", "f")
    assert domain.axes(["sex", "county"]) == (1, 0)


def test_later_changes_of_the_mapping_do_not_matter():
    levels = ["m", "f"]
    domain = cb.Domain({"sex": levels})
    levels.append("x")
    assert domain.levels("sex") == ("m", "f")


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        ({}, "no variables"),
        ({"a": []}, "'a' has no levels"),
        ({"a": ["x", "y", "x"]}, "'x' twice"),
        ({"a": "xyz"}, "give a list"),
        ({"": ["x"]}, "non-empty"),
        ({3: ["x"]}, "non-empty text"),
    ],
)
def test_bad_domains_are_refused(levels, said):
    with pytest.raises(cb.InvalidInput, match=said):
        cb.Domain(levels)


def test_unknown_variable_names_the_known_ones(domain):
    for attempt in (domain.axis, domain.levels, lambda name: domain.project([name])):
        with pytest.raises(cb.InvalidInput, match=r"'age'.*'county', 'sex'"):
            attempt("age")


def test_unknown_level_names_the_known_ones(domain):
    with pytest.raises(cb.InvalidInput, match=r"'x' of variable 'sex'.*'m', 'f'"):
        domain.index(("Alpha", "x"))


def test_a_label_of_the_wrong_type_is_pointed_out():
    with pytest.raises(cb.InvalidInput, match="label of type int; these are of type str"):
        cb.Domain({"age": ["1", "2"]}).index((1,))


def test_wrong_number_of_labels(domain):
    with pytest.raises(cb.InvalidInput, match="1 labels"):
        domain.index(("Alpha",))


def test_names_are_a_list_without_repeats(domain):
    with pytest.raises(cb.InvalidInput, match="give a list"):
        domain.project("sex")
    with pytest.raises(cb.InvalidInput, match="named twice"):
        domain.project(["sex", "sex"])


def test_many_levels_are_not_all_printed():
    with pytest.raises(cb.InvalidInput) as caught:
        cb.Domain({"id": range(10_000)}).index(("x",))
    assert len(str(caught.value)) < 200
