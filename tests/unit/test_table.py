"""Counts over a domain: margins, conditionals, merging, reshaping."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import cellbounds as cb

SEX = {"sex": ["m", "f"], "mp3": ["yes", "no"]}


@pytest.fixture
def mp3():
    return cb.Table(cb.Domain(SEX), [[15, 10], [5, 20]])


@pytest.fixture
def three_way():
    domain = cb.Domain({"a": ["a0", "a1"], "b": ["b0", "b1", "b2"], "c": ["c0", "c1"]})
    return cb.Table(domain, np.arange(12).reshape(2, 3, 2))


def test_total_and_lookup(mp3):
    assert mp3.total == 50
    assert mp3["f", "no"] == 20
    assert isinstance(mp3["f", "no"], int)
    with pytest.raises(cb.InvalidInput, match="'x'"):
        mp3["x", "no"]


def test_counts_cannot_be_changed_and_are_a_copy():
    given = np.array([[1, 2], [3, 4]])
    table = cb.Table(cb.Domain(SEX), given)
    given[0, 0] = 99
    assert table["m", "yes"] == 1
    with pytest.raises(ValueError, match="read-only"):
        table.counts[0, 0] = 5


def test_margins_in_any_order(three_way):
    assert three_way.margin(["a"]).counts.tolist() == [15, 51]
    # entry (b, a) adds both levels of c
    assert three_way.margin(["b", "a"]).counts.tolist() == [[1, 13], [5, 17], [9, 21]]
    assert three_way.margin(["b", "a"]).domain.names == ("b", "a")
    whole = three_way.margin(["c", "a", "b"])
    assert whole["c1", "a1", "b2"] == three_way["a1", "b2", "c1"] == 11


def test_margin_of_nothing_or_of_unknown(mp3):
    with pytest.raises(cb.InvalidInput, match=r"table\.total"):
        mp3.margin([])
    with pytest.raises(cb.InvalidInput, match="'age'"):
        mp3.margin(["age"])


def test_conditional_has_givens_first(three_way):
    rates = three_way.conditional(["a"], given=["c", "b"])
    assert rates.shape == (2, 3, 2)
    # c0, b0: a0 holds 0, a1 holds 6; c1, b2: 5 and 11.
    assert rates[0, 0].tolist() == [0, 1]
    assert rates[1, 2].tolist() == [Fraction(5, 16), Fraction(11, 16)]


def test_conditional_without_givens_are_proportions(mp3):
    rates = mp3.conditional(["sex", "mp3"])
    assert rates.tolist() == [
        [Fraction(3, 10), Fraction(1, 5)],
        [Fraction(1, 10), Fraction(2, 5)],
    ]


def test_conditional_of_an_empty_row_is_missing():
    table = cb.Table(cb.Domain(SEX), [[0, 0], [1, 3]])
    assert table.conditional(["mp3"], ["sex"]).tolist() == [
        [None, None],
        [Fraction(1, 4), Fraction(3, 4)],
    ]


def test_reshape_by_response_given_and_omitted(three_way):
    flat = three_way.reshape(response=["a"], given=["c"])
    assert flat.counts.tolist() == [[6, 24], [9, 27]]
    assert flat.domain.names == ("c", "a")
    wide = three_way.reshape(response=["c", "a"], given=["b"])
    assert wide.domain.names == ("b", "c,a")
    assert wide.domain.levels("c,a") == (("c0", "a0"), ("c0", "a1"), ("c1", "a0"), ("c1", "a1"))
    assert wide["b2", ("c1", "a1")] == 11
    everything = three_way.reshape(response=["a"])
    assert everything.counts.tolist() == [[15, 51]]


def test_reshape_needs_a_response_and_names_each_variable_once(mp3):
    with pytest.raises(cb.InvalidInput, match="response"):
        mp3.reshape(response=[], given=["sex"])
    with pytest.raises(cb.InvalidInput, match="twice"):
        mp3.reshape(response=["sex"], given=["sex"])


def test_merge_adds_levels_where_the_first_stood():
    domain = cb.Domain({"age": ["<25", "25-55", ">=55"], "sex": ["m", "f"]})
    table = cb.Table(domain, [[1, 2], [3, 4], [5, 6]])
    merged = table.merge("age", {"<55": ["<25", "25-55"]})
    assert merged.domain.levels("age") == ("<55", ">=55")
    assert merged.counts.tolist() == [[4, 6], [5, 6]]
    apart = table.merge("age", {"outer": [">=55", "<25"]})
    assert apart.domain.levels("age") == ("outer", "25-55")
    assert apart.counts.tolist() == [[6, 8], [3, 4]]
    renamed = table.merge("sex", {"male": ["m"]})
    assert renamed.domain.levels("sex") == ("male", "f")
    assert table.domain.levels("age") == ("<25", "25-55", ">=55")


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        ({"x": ["nobody"]}, "unknown level 'nobody'"),
        ({"x": ["m"], "y": ["m"]}, "merged twice"),
        ({"f": ["m"]}, "has the name of a level that stays"),
        ({"x": "m"}, "give a list"),
    ],
)
def test_merge_refuses(mp3, groups, said):
    with pytest.raises(cb.InvalidInput, match=said):
        mp3.merge("sex", groups)


def test_structural_zeros_survive_only_where_every_part_is_one():
    domain = cb.Domain({"sex": ["m", "f"], "state": ["pregnant", "ill", "well"]})
    table = cb.Table(
        domain, [[0, 3, 4], [5, 6, 7]], structural=[[True, False, False], [False, False, False]]
    )
    assert table.structural.tolist()[0] == [True, False, False]
    assert not table.margin(["state"]).structural.any()
    assert table.margin(["state", "sex"]).structural.tolist()[0] == [True, False]
    merged = table.merge("state", {"not well": ["pregnant", "ill"]})
    assert not merged.structural.any()


def test_structural_zeros_must_be_empty_and_fit():
    domain = cb.Domain(SEX)
    with pytest.raises(cb.InvalidInput, match=r"\('m', 'no'\) is declared a structural zero"):
        cb.Table(domain, [[1, 77], [3, 4]], structural=[[False, True], [False, False]])
    with pytest.raises(cb.InvalidInput, match="shape"):
        cb.Table(domain, [[1, 2], [3, 4]], structural=[True, False])


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ([[1, 2], [3, -7717]], "negative"),
        ([[1, 2], [3, 7717.5]], "not whole"),
        ([[1, 2], [3, float("nan")]], "not a number"),
        ([[1, 2], [3, float("inf")]], "not a number"),
        ([[1, 2], [3, "seven"]], "not a number"),
        ([[1, 2], [3, None]], "not a number"),
    ],
)
def test_bad_counts_are_named_by_cell_and_never_printed(counts, said):
    with pytest.raises(cb.InvalidInput, match=said) as caught:
        cb.Table(cb.Domain(SEX), counts)
    assert "('f', 'no')" in str(caught.value)
    assert "7717" not in str(caught.value)


def test_counts_of_the_wrong_shape():
    with pytest.raises(cb.InvalidInput, match=r"\(4,\).*\(2, 2\)"):
        cb.Table(cb.Domain(SEX), [1, 2, 3, 4])


def test_whole_floats_and_unsigned_are_taken():
    table = cb.Table(cb.Domain(SEX), np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert table.counts.dtype == np.int64
    assert cb.Table(cb.Domain(SEX), np.array([[1, 2], [3, 4]], dtype=np.uint8)) == table


def test_counts_beyond_64_bits_add_exactly():
    huge = 2**70 + 5
    table = cb.Table(cb.Domain(SEX), [[huge, 1], [huge, 2]])
    assert table.total == 2 * huge + 3
    assert table.margin(["mp3"]).counts.tolist() == [2 * huge, 3]


def test_counts_between_63_and_64_bits_are_not_rounded():
    # Among small numbers numpy would make them floats.
    table = cb.Table(cb.Domain(SEX), [[2**63 + 5, 1], [0, 2]])
    assert table["m", "yes"] == 2**63 + 5


@pytest.mark.parametrize("count", [2**61, 2**62 - 1, 2**62])
def test_sums_that_leave_64_bits_while_counts_do_not(count):
    table = cb.Table(cb.Domain(SEX), [[count, count], [count, count]])
    assert table.total == 4 * count
    assert table.margin(["sex"]).counts.tolist() == [2 * count, 2 * count]
    assert table.reshape(response=["sex", "mp3"]).total == 4 * count
    assert table.merge("sex", {"all": ["m", "f"]}).counts.tolist() == [[2 * count, 2 * count]]
    assert table.conditional(["sex", "mp3"])[0, 0] == Fraction(1, 4)


def test_repr_shows_no_count(mp3):
    for text in (repr(mp3), str(mp3)):
        assert text == "Table(Domain(sex[2] x mp3[2]), 4 cells)"


def test_equality_compares_values_and_structural(mp3):
    assert mp3 == cb.Table(cb.Domain(SEX), [[15, 10], [5, 20]])
    assert mp3 != cb.Table(cb.Domain(SEX), [[15, 10], [5, 21]])
    empty = cb.Table(cb.Domain(SEX), [[0, 1], [1, 1]])
    mask = [[True, False], [False, False]]
    assert empty != cb.Table(cb.Domain(SEX), [[0, 1], [1, 1]], structural=mask)
    with pytest.raises(TypeError):
        hash(mp3)


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_to_frame_and_back(mp3, backend):
    frame = mp3.to_frame(backend)
    assert type(frame).__module__.split(".")[0] == backend
    assert cb.read_table(frame) == mp3


def test_to_frame_of_an_unknown_library(mp3):
    with pytest.raises(cb.InvalidInput, match="'dask'"):
        mp3.to_frame("dask")


def test_examples_are_the_papers_tables():
    totals = {"analgesic": 193, "census3": 742, "delinquent": 135, "koch4": 193, "mp3": 50}
    for name, total in totals.items():
        assert cb.datasets.read(name).total == total
    with pytest.raises(cb.InvalidInput, match="delinquent"):
        cb.datasets.path("nothing")
