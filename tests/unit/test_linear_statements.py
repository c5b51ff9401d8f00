"""Linear statements: weighted sums of the counts of a margin."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import cellbounds as cb
from bruteforce import compositions, linear_holds

DOMAIN = cb.Domain(
    {"row": ["r", "s"], "col": ["x", "y", "z, é"]},
    groupings={"any": cb.Grouping("col", {"xy": ["x", "y"], "yz": ["y", "z, é"]})},
)


def terms(*arguments, **options):
    coefficients, lower, upper = cb.Linear(*arguments, **options).terms(DOMAIN)
    return coefficients.tolist(), lower, upper


def test_mappings_and_arrays_mean_the_same():
    by_labels = terms(["row", "col"], {("r", "x"): 1, ("s", "z, é"): "-2"}, lower=-3)
    by_array = terms(["row", "col"], [[1, 0, 0], [0, 0, -2]], lower=-3)
    assert by_labels == by_array == ([1, 0, 0, 0, 0, -2], -3, None)
    assert terms(["col", "row"], {("z, é", "s"): 1}, equals=2) == ([0, 0, 0, 0, 0, 1], 2, 2)
    assert terms(["row"], {"s": 1}, upper=4) == ([0, 1], None, 4)
    assert terms(["row"], {("s",): 1}, upper=4) == ([0, 1], None, 4)


@pytest.mark.parametrize("half", ["1/2", "0.5", Decimal("0.5"), Fraction(1, 2), " 1/2 "])
def test_numbers_are_exact(half):
    assert terms(["row"], [half, "1/3"], lower="0.4", upper=half) == ([3, 2], 3, 3)


def test_common_divisors_leave_and_limits_move_inwards():
    assert terms(["row"], [2, 4], lower=3, upper=9) == ([1, 2], 2, 4)
    assert terms(["row"], [-2, -4], lower=-9, upper=-3) == ([-1, -2], -4, -2)
    assert terms(["row"], [Fraction(2, 3), Fraction(4, 9)], upper=1) == ([3, 2], None, 4)


def test_a_sum_that_no_whole_count_attains_has_crossed_limits():
    assert terms(["row"], [2, 2], equals=5) == ([1, 1], 3, 2)


def test_large_numbers():
    wide = terms(["row"], [10**30, 1], lower=-(10**40), upper=Fraction(10**40, 3))
    assert wide == ([10**30, 1], -(10**40), 10**40 // 3)
    fine = terms(["row"], [Fraction(1, 10**30), 1], upper=1)
    assert fine == ([1, 10**30], None, 10**30)


def test_derived_variables():
    assert terms(["any"], {"xy": 1, "yz": -1}, equals=0) == ([1, -1], 0, 0)


def test_numpy_numbers_and_one_level():
    domain = cb.Domain({"one": ["only"]})
    statement = cb.Linear(["one"], np.array([3]), upper=np.int32(7))
    assert statement.terms(domain) == (np.array([1]), None, 2)


@pytest.mark.parametrize(
    ("coefficients", "options", "said"),
    [
        ([1, 1], {}, "no limit"),
        ([0, 0], {"lower": 1}, "no coefficient other than 0"),
        ({}, {"lower": 1}, "no coefficient other than 0"),
        ({"r": 0}, {"lower": 1}, "no coefficient other than 0"),
        ([1, 1], {"equals": 1, "lower": 1}, "one or the other"),
        ([1, 1], {"lower": 2, "upper": 1}, "above its upper limit"),
        ([0.5, 1], {"lower": 1}, "pass text such as '0.5'"),
        ({"r": 0.5}, {"lower": 1}, "coefficient of 'r' is the float 0.5"),
        ([1, 1], {"lower": 0.5}, "lower limit is the float"),
        (["half", 1], {"lower": 1}, "'half'"),
        ([True, 1], {"lower": 1}, "bool"),
        ([None, 1], {"lower": 1}, "None"),
        ([1, 1], {"lower": "NaN"}, "'NaN'"),
        (5, {"lower": 1}, "coefficients of shape"),
        ([[1, 1]], {"lower": 1}, "coefficients of shape"),
        ([[1], [1, 2]], {"lower": 1}, "coefficients of shape"),
        ([], {"lower": 1}, "coefficients of shape"),
        ([1, 2, 3], {"lower": 1}, r"shape \(3,\).*need \(2,\)"),
        ({"q": 1}, {"lower": 1}, "unknown level 'q'"),
        ({("r", "x"): 1}, {"lower": 1}, "2 labels"),
        ({"r": 1, ("r",): 2}, {"lower": 1}, "twice"),
    ],
)
def test_refusals(coefficients, options, said):
    with pytest.raises(cb.InvalidInput, match=said):
        cb.Release(DOMAIN, [cb.Linear(["row"], coefficients, **options)])


def test_variables_are_a_list_that_the_domain_knows():
    with pytest.raises(cb.InvalidInput, match="list"):
        cb.Linear("row", [1, 1], lower=1)
    with pytest.raises(cb.InvalidInput, match="unknown variable 'age'"):
        cb.Release(DOMAIN, [cb.Linear(["age"], [1, 1], lower=1)])


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({"equals": "1/2"}, "sum = 1/2"),
        ({"lower": -1}, "sum >= -1"),
        ({"upper": "0.25"}, "sum <= 1/4"),
        ({"lower": 1, "upper": 2}, "1 <= sum <= 2"),
        ({"lower": 2, "upper": 2}, "sum = 2"),
    ],
)
def test_repr(options, shown):
    statement = cb.Linear(["row"], [1, -1], **options)
    assert repr(statement) == f"Linear([row]: {shown})"
    assert statement.notation == "linear on [row]"


def test_plain_values():
    statement = cb.Linear(["row"], {"s": "1/3"}, lower=1)
    assert statement.to_dict() == {
        "linear": {
            "variables": ["row"],
            "coefficients": [[["s"], "1/3"]],
            "lower": "1",
            "upper": None,
        }
    }
    nested = cb.Linear(["row", "col"], [[1, 0, 0], [0, 0, "0.5"]], equals=1).to_dict()["linear"]
    assert nested["coefficients"] == [["1", "0", "0"], ["0", "0", "1/2"]]
    again = cb.Linear(**nested)
    assert terms(["row", "col"], again.coefficients, equals=1) == ([2, 0, 0, 0, 0, 1], 2, 2)


def test_the_digest_is_of_what_is_said():
    def digest(*arguments, **options):
        return cb.Release(DOMAIN, [cb.Linear(*arguments, **options)]).digest

    same = digest(["row"], [1, "1/2"], lower="1.4")
    assert same == digest(["row"], {"r": 2, "s": 1}, lower=3)
    assert same == digest(["row"], [-2, -1], upper=-3)
    assert same != digest(["row"], [2, 1], lower=4)
    assert same != digest(["row"], [2, 1], upper=3)


@pytest.mark.parametrize(
    "statement",
    [
        cb.Linear(["row"], {"r": "2/3", "s": "-1/2"}, lower="-1/4", upper="7/6"),
        cb.Linear(["col", "row"], [[4, 2], [0, -2], [6, 0]], upper=5),
        cb.Linear(["any"], {"xy": "0.5", "yz": "-0.75"}, equals="-1/4"),
        cb.Linear(["any", "row"], {("yz", "r"): 2}, lower=3),
    ],
)
def test_terms_mean_what_the_statement_says(statement):
    release = cb.Release(DOMAIN, [statement])
    coefficients, lower, upper = statement.terms(DOMAIN)
    seen = set()
    for total in range(5):
        for flat in compositions(total, DOMAIN.size):
            table = cb.Table(DOMAIN, np.array(flat).reshape(DOMAIN.shape))
            value = int((coefficients * table.margin(statement.variables).counts.ravel()).sum())
            fits = (lower is None or value >= lower) and (upper is None or value <= upper)
            assert fits == linear_holds(statement, release, table.counts)
            seen.add(fits)
    assert seen == {True, False}
