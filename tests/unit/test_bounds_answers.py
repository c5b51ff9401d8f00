"""Answers to questions about one conditional: numbers worked out by hand, and how they print."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

import cellbounds as cb

TWO = cb.Domain({"row": ["a", "b"], "col": ["x", "y"]})
EXACT = cb.Conditional(["col"], ["row"], rates=[["1/2", "1/2"], ["1/3", "2/3"]])


def one_row(rates, total, **options):
    domain = cb.Domain({"col": [f"c{k}" for k in range(len(rates))]})
    return cb.Release(domain, [cb.Conditional(["col"], rates=rates, **options), cb.Total(total)])


def values_of(release, **options):
    return {labels: set(values) for labels, values in cb.attainable(release, **options).items()}


# --- numbers by hand -----------------------------------------------------------------------


def test_exact_rates_by_hand():
    # Row a is a multiple of 2, row b of 3: 10 = 4 + 6 only.
    release = cb.Release(TWO, [EXACT, cb.Total(10)])
    answer = cb.bounds(release)
    assert answer.lower.tolist() == answer.upper.tolist() == [[2, 2], [2, 4]]
    # 14 = 2 + 12 = 8 + 6
    release = cb.Release(TWO, [EXACT, cb.Total(14)])
    assert values_of(release, over=["row"]) == {("a",): {2, 8}, ("b",): {6, 12}}
    assert values_of(release)["b", "y"] == {4, 8}


@pytest.mark.parametrize(
    ("rounding", "values"),
    [
        ("nearest", {6}),  # x in [5, 7), y in [13, 15): 5 would need 15
        ("half-even", {6}),  # (5, 7) and (13, 15)
        ("down", {6}),  # [6, 8) and [14, 16)
        ("up", {6}),  # (4, 6] and (12, 14]
        ("consistent", {5, 6}),  # 5 and 15 are 2.5 and 7.5 tenths: the first goes up
    ],
)
def test_one_rounded_row_by_hand(rounding, values):
    release = one_row(["0.3", "0.7"], 20, rounding=rounding)
    assert values_of(release)[("c0",)] == values


@pytest.mark.parametrize(("strict", "values"), [(False, {5, 6, 7}), (True, {6})])
def test_eps_by_hand(strict, values):
    release = one_row(["0.3", "0.7"], 20, eps="0.05", strict=strict)
    assert values_of(release)[("c0",)] == values


def test_zero_rates_may_hide_somebody():
    # .00 covers [0, .005): of 250, one person may hide in it.
    release = one_row(["0.00", "1.00"], 250)
    assert values_of(release)[("c0",)] == {0, 1}
    assert values_of(one_row(["0.00", "1.00"], 200))[("c0",)] == {0}


def test_a_boundary_row_is_exact():
    # .63 .38 under half up leaves only 5/8 3/8.
    release = one_row(["0.63", "0.38"], 80)
    assert values_of(release) == {("c0",): {50}, ("c1",): {30}}
    with pytest.raises(cb.InconsistentRelease, match="N=81 cannot be reached"):
        cb.bounds(one_row(["0.63", "0.38"], 81))


def test_gaps_are_kept():
    # Exact thirds of 3k: multiples only.
    release = cb.Release(
        TWO,
        [cb.Conditional(["col"], ["row"], rates=[["1/3", "2/3"], ["1/3", "2/3"]]), cb.Total(15)],
    )
    assert values_of(release)["a", "y"] == {2, 4, 6, 8}


def test_suppressed_rates():
    rates = cb.Conditional(
        ["col"], ["row"], rates=[["1/2", "1/2"], [None, None]], missing="suppressed"
    )
    answer = cb.bounds(cb.Release(TWO, [rates, cb.Total(7)]))
    # Row a: 2, 4 or 6; row b holds the rest, at least one person, split in any way.
    assert answer["a", "x"] == (1, 3)
    assert answer["b", "x"] == (0, 5)
    half = one_row(["1/2", None, None], 6, missing="suppressed")
    assert values_of(half) == {("c0",): {3}, ("c1",): {0, 1, 2, 3}, ("c2",): {0, 1, 2, 3}}


def test_zero_rows_answer_zero_exactly():
    rates = cb.Conditional(["col"], ["row"], rates=[["1/2", "1/2"], [None, None]], missing="zero")
    release = cb.Release(TWO, [rates, cb.Total(8)])
    answer = cb.bounds(release)
    assert answer.lower.tolist() == answer.upper.tolist() == [[4, 4], [0, 0]]
    assert answer.evidence is cb.Evidence.EXACT
    assert cb.attainable(release)["b", "x"] == {0}
    assert cb.bounds(release, over=["row"])["b"] == (0, 0)
    assert answer.witness("b", "y").counts.tolist() == [[4, 4], [0, 0]]
    assert cb.bounds(release, kind="linear")["b", "x"] == (0, 0)


def test_one_column():
    domain = cb.Domain({"row": ["a", "b", "c"], "col": ["x"]})
    rates = cb.Conditional(["col"], ["row"], rates=[["1.00"]] * 3)
    answer = cb.bounds(cb.Release(domain, [rates, cb.Total(10)]))
    assert answer.lower.ravel().tolist() == [1, 1, 1]
    assert answer.upper.ravel().tolist() == [8, 8, 8]


def test_lone_ones_leave_the_row_free():
    rates = cb.Conditional(["col"], ["row"], rates=[["1", "0"], ["1/2", "1/2"]], eps=0)
    assert values_of(cb.Release(TWO, [rates, cb.Total(7)])) == {
        ("a", "x"): {1, 3, 5},
        ("a", "y"): {0},
        ("b", "x"): {1, 2, 3},
        ("b", "y"): {1, 2, 3},
    }


def test_joint_proportions():
    rates = cb.Conditional(["row", "col"], rates=[["0.1", "0.2"], ["0.3", "0.4"]])
    release = cb.Release(TWO, [rates, cb.Total(10)])
    assert cb.bounds(release).lower.tolist() == [[1, 2], [3, 4]]
    assert cb.bounds(release).upper.tolist() == [[1, 2], [3, 4]]
    assert cb.bounds(release, over=["col", "row"])["y", "a"] == (2, 2)


def test_rows_with_equal_rates_share_an_upper_prior():
    # Three rows of two, four, ... ten: 24 = 8 + 8 + 8 among others; a row needs 4 at least.
    domain = cb.Domain({"row": ["a", "b", "c"], "col": ["x", "y"]})
    rates = cb.Conditional(["col"], ["row"], rates=[["1/2", "1/2"]] * 3)
    release = cb.Release(domain, [rates, cb.Total(24), cb.Known(["row"], upper=10)])
    assert cb.violations(cb.Table(domain, [[4, 4]] * 3), release) == []
    assert values_of(release, over=["row"])[("a",)] == {4, 6, 8, 10}


def test_rounded_rows_with_equal_rates_share_an_upper_prior():
    domain = cb.Domain({"row": ["a", "b"], "col": ["x", "y"]})
    rates = cb.Conditional(["col"], ["row"], rates=[["0.5", "0.5"]] * 2)
    release = cb.Release(domain, [rates, cb.Total(8), cb.Known(["row", "col"], upper=3)])
    # A row of n splits evenly, or 5 to 4 from n = 9 on: 2 + 6, 4 + 4, 6 + 2.
    assert values_of(release, over=["row"])[("a",)] == {2, 4, 6}


@pytest.mark.parametrize(
    ("prior", "expected"),
    [
        ({"lower": {"a": 5}}, {8}),
        ({"upper": {"a": 5}}, {2}),
        ({"values": {"a": [2, 3, 4]}}, {2}),
        ({"values": {"b": [6, 12]}}, {2, 8}),
    ],
)
def test_priors_on_rows(prior, expected):
    release = cb.Release(TWO, [EXACT, cb.Total(14), cb.Known(["row"], **prior)])
    assert values_of(release, over=["row"])[("a",)] == expected


def test_a_margin_over_the_givens_makes_rows_independent():
    rates = cb.Conditional(["col"], ["row"], rates=[["0.5", "0.5"], ["0.3", "0.7"]])
    release = cb.Release(TWO, [rates, cb.Margin(["row"], [40, 20])])
    # Row a: x in [18, 22), y the same, 40 in all; row b: x in [5, 7), y in [13, 15).
    assert values_of(release) == {
        ("a", "x"): {19, 20, 21},
        ("a", "y"): {19, 20, 21},
        ("b", "x"): {6},
        ("b", "y"): {14},
    }


# --- totals --------------------------------------------------------------------------------


def test_no_total_leaves_cells_unbounded():
    release = cb.Release(TWO, [EXACT])
    answer = cb.bounds(release)
    assert answer.lower.tolist() == [[1, 1], [1, 2]]
    assert all(value is cb.UNBOUNDED for value in answer.upper.flat)
    assert answer["b", "y"] == (2, cb.UNBOUNDED)
    values = cb.attainable(release)["b", "y"]
    assert values.unbounded
    assert 10**20 in values
    assert 10**20 + 1 not in values
    assert answer.witness("b", "y", at="lower").counts.tolist()[1] == [1, 2]
    with pytest.raises(cb.InvalidInput, match="unbounded"):
        answer.witness("b", "y", at="upper")
    assert "unbounded" in str(answer)


def test_no_total_but_a_zero_rate_is_bounded():
    rates = cb.Conditional(["col"], ["row"], rates=[["1", "0"], ["1/2", "1/2"]], eps=0)
    answer = cb.bounds(cb.Release(TWO, [rates]))
    assert answer["a", "y"] == (0, 0)
    assert answer["a", "x"] == (1, cb.UNBOUNDED)


@pytest.mark.parametrize(
    ("total", "expected"),
    [
        (cb.Total(lower=5, upper=7), {2, 4}),  # 5 = 2+3, 7 = 4+3
        (cb.Total(upper=8), {2, 4}),  # and 8 = 2+6
        (cb.Total(lower=6, upper=6), None),
        (cb.Total(lower=9, upper=10), {4, 6}),  # 9 = 6+3, 10 = 4+6
        (cb.Total(upper=4), None),
    ],
)
def test_total_ranges(total, expected):
    release = cb.Release(TWO, [EXACT, total])
    if expected is None:
        with pytest.raises(cb.InconsistentRelease):
            cb.bounds(release)
        return
    assert values_of(release, over=["row"])[("a",)] == expected
    for labels, values in cb.attainable(release).items():
        for value in values:
            table = cb.attainable(release).witness(*labels, value=value)
            assert cb.violations(table, release) == []
            assert table[labels] == value


def test_a_total_with_a_lower_limit_only():
    release = cb.Release(TWO, [EXACT, cb.Total(lower=100)])
    answer = cb.bounds(release)
    assert answer["a", "x"] == (1, cb.UNBOUNDED)
    table = answer.witness("a", "x", at="lower")
    assert table.total >= 100
    assert cb.violations(table, release) == []


# --- large numbers -------------------------------------------------------------------------

LARGE = {
    "ten to the fifteenth, six digits": (
        [
            [123456789012345, 300000000000001, 200000000000000],
            [76543210987655, 100000000000000, 199999999999999],
        ],
        6,
    ),
    "beyond 64 bits": ([[2**64 + 17, 3 * 2**64, 5], [2**70, 2**69 + 3, 2**68]], 3),
    "just below 64 bits": ([[2**61, 2**61, 7], [2**61, 1, 2**61]], 4),
    "beyond 128 bits": ([[10**40, 3, 10**39], [5 * 10**40, 10**40, 1]], 2),
}


@pytest.mark.parametrize("kind", LARGE)
def test_large_counts_give_python_integers_that_contain_the_truth(kind):
    counts, digits = LARGE[kind]
    domain = cb.Domain({"row": ["a", "b"], "col": ["x", "y", "z"]})
    table = cb.Table(domain, np.array(counts, dtype=object))
    assert table.counts.tolist() == counts
    release = cb.publish(table, f"[col|row]@{digits}")
    answer, values = cb.bounds(release), cb.attainable(release)
    for labels in domain.cells():
        low, high = answer[labels]
        assert type(low) is int
        assert type(high) is int
        assert 0 <= low <= table[labels] <= high <= table.total
    for labels in domain.cells():
        if labels[0] == "b":
            assert table[labels] in values[labels]
            assert (values[labels].smallest, values[labels].largest) == answer[labels]
    for labels in (("a", "x"), ("b", "z")):
        for at in ("lower", "upper"):
            witness = answer.witness(*labels, at=at)
            assert witness.total == table.total
            assert cb.violations(witness, release) == []


def test_exact_rates_of_large_counts():
    domain = cb.Domain({"row": ["a", "b"], "col": ["x", "y"]})
    table = cb.Table(domain, np.array([[10**25, 10**25 + 1], [3, 4]], dtype=object))
    release = cb.publish(table, "[col|row]")
    # Row a is in lowest terms and a second helping exceeds N.
    answer = cb.bounds(release)
    assert answer.lower.tolist() == answer.upper.tolist() == table.counts.tolist()


def test_exact_rates_with_denominators_beyond_64_bits():
    first, second = 10**20 + 39, 10**20 + 1
    domain = cb.Domain({"row": ["a", "b", "c"], "col": ["x", "y"]})
    rates = [
        ["1/7", "6/7"],
        [Fraction(1, first), Fraction(first - 1, first)],
        [Fraction(1, second), Fraction(second - 1, second)],
    ]
    total = 70 + 3 * first + 2 * second
    release = cb.Release(domain, [cb.Conditional(["col"], ["row"], rates=rates), cb.Total(total)])
    answer = cb.bounds(release)
    assert answer["b", "x"][0] <= 3 <= answer["b", "x"][1]
    assert answer["c", "x"][0] <= 2 <= answer["c", "x"][1]


def test_the_same_rates_with_a_million_times_the_people():
    table = cb.datasets.read("delinquent")
    rates = cb.publish(table, "[education|county]@2").statements[0]
    release = cb.Release(table.domain, [rates, cb.Total(135 * 10**6)])
    answer = cb.bounds(release)
    million = cb.Table(table.domain, table.counts * 10**6)
    assert cb.violations(million, release) == []
    assert (answer.lower <= million.counts).all()
    assert (answer.upper >= million.counts).all()
    # Every row may shrink to the smallest table with these rates, so small answers stay.
    assert answer["Alpha", "Medium"][0] == 1
    # and Alpha may take nearly everybody: at most .755 of N
    assert answer["Alpha", "Low"][1] <= Fraction(755, 1000) * 135 * 10**6
    assert answer["Alpha", "Low"][1] > Fraction(754, 1000) * 135 * 10**6


@pytest.mark.parametrize("digits", [9, 10, 12, 18, 25])
def test_many_decimals(digits):
    # Far more decimals than N needs: the table is the only one.
    table = cb.datasets.read("delinquent")
    answer = cb.bounds(cb.publish(table, f"[education|county]@{digits}"))
    assert answer.lower.tolist() == answer.upper.tolist() == table.counts.tolist()


@pytest.mark.parametrize(
    "prior",
    [
        {"lower": {"a": 2**69}},
        {"upper": {"a": 2**69}},
        {"values": {"a": [2, 4, 2**70]}},
    ],
    ids=["lower", "upper", "values"],
)
def test_priors_beyond_64_bits(prior):
    release = cb.Release(TWO, [EXACT, cb.Known(["row"], **prior)])
    if "values" in prior:
        # Lists are held as bits: one that spreads this far is refused, not answered wrongly.
        with pytest.raises(cb.TooMuchWork, match="spread"):
            cb.bounds(release)
        return
    low, high = cb.bounds(release, over=["row"])["a"]
    assert low == prior.get("lower", {"a": 2})["a"]
    assert high == {"lower": cb.UNBOUNDED, "upper": 2**69}[next(iter(prior))]


QUICK = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
import cellbounds as cb
domain = cb.Domain({"row": ["a", "b", "c"], "col": ["x", "y"]})
def rates(*rows):
    return cb.Conditional(["col"], ["row"], rates=[list(row) for row in rows])
exact = rates(("1/2", "1/2"), ("1/3", "2/3"), ("1/5", "4/5"))
rounded = rates(("0.5", "0.5"), ("0.3", "0.7"), ("0.2", "0.8"))
wide = cb.Total(lower=50, upper=10**12)
def bound(statements, row):
    return cb.bounds(cb.Release(domain, statements))[row, "x"]
try:
    print(QUESTION)
except cb.TooMuchWork as refusal:
    print("refused:", refusal)
"""


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("cb.attainable(cb.Release(domain, [exact, cb.Total(10**9)]))", "1-499999993"),
        ("cb.attainable(cb.Release(domain, [exact, cb.Total(10**12)]))", "1-499999999993"),
        ("cb.attainable(cb.Release(domain, [exact, wide]))", "1-"),
        ("cb.attainable(cb.Release(domain, [rounded, wide]))", "1-"),
        ("bound([rounded, wide, cb.Known(['row'], upper={'a': 10})], 'a')", "(1, 5)"),
        ("bound([rounded, wide, cb.Known(['row'], upper={'a': 10, 'b': 9})], 'a')", "(1, 5)"),
        ("bound([exact, wide, cb.Known(['row'], upper={'a': 10})], 'a')", "(1, 5)"),
        ("bound([exact, wide, cb.Known(['row'], upper={'a': 10, 'b': 9})], 'b')", "(1, 3)"),
        # less than .55 of at most 10**10
        ("bound([rounded, wide, cb.Known(['row'], upper=10**10)], 'a')", "(1, 5499999999)"),
        (
            "bound([exact, cb.Total(10**12), cb.Known(['row'], upper={'b': 10**11})], 'b')",
            "(1, 33333333333)",
        ),
    ],
)
def test_questions_about_many_people_end(question, said):
    """An exact answer, or a refusal that says so: never an endless search."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", QUICK.replace("QUESTION", question)],
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        )
    except subprocess.TimeoutExpired:
        pytest.fail("no answer within 5 seconds")
    assert done.returncode == 0, done.stderr[-300:]
    assert "refused: " in done.stdout or said in done.stdout


# --- margins asked about -------------------------------------------------------------------


def test_over_in_any_order():
    release = cb.publish(cb.datasets.read("delinquent"), "[education|county]@1")
    plain, turned = cb.bounds(release), cb.bounds(release, over=["education", "county"])
    assert turned.over == ("education", "county")
    assert turned.lower.tolist() == plain.lower.T.tolist()
    assert turned.upper.tolist() == plain.upper.T.tolist()
    assert turned["Low", "Alpha"] == plain["Alpha", "Low"]
    assert turned.domain.names == ("education", "county")


def test_axes_of_the_statement_do_not_turn_the_answer():
    table = cb.datasets.read("mp3")
    columns = cb.publish(table, "[gender|mp3]")
    answer = cb.bounds(columns)
    # yes: 3/4, 1/4 of a multiple of 4; no: 1/3, 2/3 of a multiple of 3; N = 50.
    assert answer.over == ("gender", "mp3")
    # yes = 2 modulo 3 and 4 divides it: 8, 20, 32, 44.
    assert set(cb.attainable(columns)["Male", "yes"]) == {6, 15, 24, 33}
    assert set(cb.attainable(columns, over=["mp3"])["no"]) == {42, 30, 18, 6}


def test_omitted_variables():
    domain = cb.Domain({"row": ["a", "b"], "col": ["x", "y"], "sex": ["m", "f"]})
    release = cb.Release(domain, [EXACT, cb.Total(10)])
    assert cb.bounds(release, over=["row", "col"]).lower.tolist() == [[2, 2], [2, 4]]
    whole = cb.bounds(release)
    assert whole.lower.tolist() == np.zeros((2, 2, 2)).tolist()
    assert whole["b", "y", "m"] == (0, 4)
    assert cb.attainable(release)["b", "y", "f"] == {0, 1, 2, 3, 4}
    for value in range(5):
        table = cb.attainable(release).witness("b", "y", "f", value=value)
        assert table["b", "y", "f"] == value
        assert cb.violations(table, release) == []


def test_an_omitted_variable_with_one_level_hides_nothing():
    domain = cb.Domain({"row": ["a", "b"], "col": ["x", "y"], "year": ["2020"]})
    answer = cb.bounds(cb.Release(domain, [EXACT, cb.Total(10)]))
    assert answer["b", "y", "2020"] == (4, 4)


@pytest.mark.parametrize(
    ("over", "error", "said"),
    [
        (["age"], cb.InvalidInput, "'age'"),
        (["row", "row"], cb.InvalidInput, "twice"),
        ("row", cb.InvalidInput, "list"),
    ],
)
def test_over_refused(over, error, said):
    release = cb.Release(TWO, [EXACT, cb.Total(10)])
    for ask in (cb.bounds, cb.attainable):
        with pytest.raises(error, match=said):
            ask(release, over=over)


# --- kinds ---------------------------------------------------------------------------------


def test_unknown_kind():
    with pytest.raises(cb.InvalidInput, match=r"'tight'.*sharp, linear, improved"):
        cb.bounds(cb.Release(TWO, [EXACT, cb.Total(10)]), kind="tight")


@pytest.mark.parametrize("kind", ["improved", "improved-verbal"])
def test_improved_refuses_what_it_is_not_for(kind):
    rounded = cb.Conditional(["col"], ["row"], rates=[["0.5", "0.5"], ["0.3", "0.7"]])
    for statements, said in (
        ([rounded, cb.Total(10)], "exact rates"),
        ([EXACT], "need N"),
        ([EXACT, cb.Total(lower=3, upper=9)], "need N"),
        ([EXACT, cb.Total(10), cb.Known(["row"], lower=1)], "side information"),
    ):
        with pytest.raises(cb.UnsupportedRelease, match=said):
            cb.bounds(cb.Release(TWO, statements), kind=kind)
    with pytest.raises(cb.UnsupportedRelease, match="row sums"):
        cb.bounds(cb.Release(TWO, [EXACT, cb.Total(10)]), kind=kind, over=["row"])


def test_improved_bounds_by_hand():
    release = cb.publish(cb.datasets.read("mp3"), "[mp3|gender]")
    # Smallest rates 2/5 and 1/5: the rows need 5/2 and 5; (50-5) 3/5 = 27, (50-2.5) 4/5 = 38.
    answer = cb.bounds(release, kind="improved")
    assert answer.lower.tolist() == [[2, 1], [1, 4]]
    assert answer.upper.tolist() == [[27, 18], [9, 38]]
    # In words: the rows need 2+1 and 1+4 people; (50-3) 4/5 = 37.6.
    verbal = cb.bounds(release, kind="improved-verbal")
    assert verbal.upper.tolist() == [[27, 18], [9, 37]]
    assert answer.evidence is cb.Evidence.OUTER


def test_linear_bounds_by_hand():
    release = cb.publish(cb.datasets.read("mp3"), "[mp3|gender]")
    answer = cb.bounds(release, kind="linear")
    assert answer.lower.tolist() == [
        [Fraction(3, 5), Fraction(2, 5)],
        [Fraction(1, 5), Fraction(4, 5)],
    ]
    assert answer.upper.tolist() == [
        [Fraction(147, 5), Fraction(98, 5)],
        [Fraction(49, 5), Fraction(196, 5)],
    ]
    assert answer.evidence is cb.Evidence.OUTER


def test_linear_bounds_of_rounded_rates_by_hand():
    rates = cb.Conditional(["col"], ["row"], rates=[["0.7", "0.3"], ["0.6", "0.3"]], eps="0.1")
    answer = cb.bounds(cb.Release(TWO, [rates, cb.Total(11)]), kind="linear")
    # N - R + 1 = 10; row b does not add to one: lower max(.5, 1-.4), upper min(.7, 1-.2).
    assert answer["a", "x"] == (Fraction(6, 10), Fraction(8))
    assert answer["b", "x"] == (Fraction(6, 10), Fraction(7))
    assert answer["b", "y"] == (Fraction(3, 10), Fraction(4))


@pytest.mark.parametrize("kind", ["linear", "improved", "improved-verbal"])
def test_only_sharp_bounds_have_tables(kind):
    answer = cb.bounds(cb.Release(TWO, [EXACT, cb.Total(20)]), kind=kind)
    with pytest.raises(cb.InvalidInput, match="sharp"):
        answer.witness("a", "x")
    with pytest.raises(cb.InvalidInput, match="sharp"):
        answer.explain("a", "x")


def test_releases_that_no_method_answers():
    for statements in (
        [],
        [cb.Total(5)],
        [cb.Margin(["row"], [3, 4])],
        [EXACT, EXACT],
        [EXACT, cb.Margin(["col"], [3, 4])],
    ):
        with pytest.raises(cb.UnsupportedRelease, match="no method answers improved"):
            cb.bounds(cb.Release(TWO, statements), kind="improved")


def test_what_is_said_twice_changes_nothing():
    once, twice = (cb.Release(TWO, [*[EXACT] * count, cb.Total(10)]) for count in (1, 2))
    for over in (["row", "col"], ["col"], ["row"]):
        left, right = (cb.attainable(release, over=over) for release in (once, twice))
        assert list(left.items()) == list(right.items())


# --- witnesses and explanations ------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    [
        "[education|county]@2",
        "[education|county]@1",
        "[county|education]@1",
        "[education,county|]@2",
        "[education|county]",
    ],
)
def test_every_extreme_has_a_checked_witness(statement):
    table = cb.datasets.read("delinquent")
    release = cb.publish(table, statement)
    answer = cb.bounds(release)
    for labels in table.domain.cells():
        low, high = answer[labels]
        for at, value in (("lower", low), ("upper", high)):
            witness = answer.witness(*labels, at=at)
            assert witness[labels] == value
            assert cb.violations(witness, release) == []


def test_witnesses_refused():
    answer = cb.bounds(cb.Release(TWO, [EXACT, cb.Total(14)]))
    with pytest.raises(cb.InvalidInput, match="'middle'"):
        answer.witness("a", "x", at="middle")
    with pytest.raises(cb.InvalidInput, match="unknown level"):
        answer.witness("q", "x")
    values = cb.attainable(cb.Release(TWO, [EXACT, cb.Total(14)]))
    with pytest.raises(cb.InvalidInput, match="2 is not attainable"):
        values.witness("a", "x", value=2)


def test_violations_name_the_statements():
    release = cb.Release(TWO, [EXACT, cb.Total(10), cb.Known(["row"], upper={"a": 3})])
    assert cb.violations(cb.Table(TWO, [[2, 2], [2, 4]]), release) == ["knowledge of [row]"]
    assert cb.violations(cb.Table(TWO, [[1, 1], [1, 2]]), release) == ["N=10"]
    assert cb.violations(cb.Table(TWO, [[1, 2], [3, 4]]), release) == ["[col|row]"]
    # A row without anybody has no rates.
    assert "[col|row]" in cb.violations(cb.Table(TWO, [[0, 0], [4, 6]]), release)
    with pytest.raises(cb.InvalidInput, match="same variables"):
        cb.violations(cb.datasets.read("mp3"), release)


def test_explanations_name_the_statements_to_blame():
    prior = cb.Known(["row"], upper={"a": 4})
    release = cb.Release(TWO, [prior, EXACT, cb.Total(14)])
    answer = cb.bounds(release)
    # 14 = 2 + 12 = 8 + 6, and 8 is forbidden.
    assert answer["a", "x"] == (1, 1)
    why = answer.explain("a", "x")
    assert (why.lower, why.upper) == (1, 1)
    assert why.evidence is cb.Evidence.EXACT
    # Half of a row of at least two is at least one, whoever else there is.
    assert why.lower_blame.statements == ("[col|row]",)
    # At most one: the rates and N leave 2 or 8, only the prior excludes 8. With rates and prior
    # alone 2 would be possible.
    assert set(why.upper_blame.statements) == {"knowledge of [row]", "[col|row]", "N=14"}
    assert why.lower_blame.smallest
    assert why.upper_blame.smallest
    assert any("1/2" in figure for figure in why.lower_blame.figures)
    assert not any("2/3" in figure for figure in why.lower_blame.figures)
    assert any("N=14" in figure for figure in why.upper_blame.figures)
    assert why.lower_witness["a", "x"] == why.upper_witness["a", "x"] == 1
    text = str(why)
    assert "at least 1: because of [col|row] (smallest set)" in text
    assert "at most 1: because of knowledge of [row], [col|row], N=14" in text
    assert json.loads(json.dumps(why.to_dict()))["lower_blame"]["statements"] == ["[col|row]"]


def test_explanations_without_a_bound():
    rates = cb.Conditional(["col"], ["row"], rates=[["0", "1"], ["0.5", "0.5"]], eps="0.5")
    why = cb.bounds(cb.Release(TWO, [rates])).explain("a", "x")
    assert why.lower == 0
    assert why.upper is cb.UNBOUNDED
    assert why.upper_witness is None
    assert why.lower_blame.statements == why.upper_blame.statements == ()
    assert "without any statement" in str(why)
    json.dumps(why.to_dict())


def test_explanations_about_row_sums():
    release = cb.Release(TWO, [EXACT, cb.Total(14)])
    why = cb.bounds(release, over=["row"]).explain("a")
    assert (why.lower, why.upper) == (2, 8)
    assert set(why.upper_blame.statements) == {"[col|row]", "N=14"}
    with pytest.raises(cb.InvalidInput, match="unknown level"):
        cb.bounds(release, over=["row"]).explain("q")


# --- how answers print ---------------------------------------------------------------------


def test_text_of_bounds():
    answer = cb.bounds(cb.Release(TWO, [EXACT, cb.Total(14)]))
    assert str(answer) == (
        "sharp bounds given [col|row], N=14\n"
        "row  col  lower  upper\n"
        "a    x        1      4\n"
        "a    y        1      4\n"
        "b    x        2      4\n"
        "b    y        4      8"
    )
    assert repr(answer) == "<sharp bounds given [col|row], N=14: 4 cells>"


def test_text_of_attainable():
    values = cb.attainable(cb.Release(TWO, [EXACT, cb.Total(14)]))
    assert str(values) == (
        "attainable counts given [col|row], N=14\n"
        "row  col  size  values\n"
        "a    x       2  1, 4\n"
        "a    y       2  1, 4\n"
        "b    x       2  2, 4\n"
        "b    y       2  4, 8"
    )
    assert repr(values) == "<attainable counts given [col|row], N=14: 4 cells>"


def test_html_escapes_labels():
    domain = cb.Domain({"<i>r</i>": ["<b>", "a & b"], "col": ["<script>", '"q"']})
    rates = cb.Conditional(["col"], ["<i>r</i>"], rates=[["1/2", "1/2"], ["1/3", "2/3"]])
    release = cb.Release(domain, [rates, cb.Total(14)])
    for answer in (cb.bounds(release), cb.attainable(release)):
        page = answer._repr_html_()
        assert "<b>" not in page
        assert "<script>" not in page
        assert "<i>" not in page
        assert "&lt;b&gt;" in page
        assert "a &amp; b" in page
        assert page.count("<tr>") == 5
        assert page.startswith("<table>")
        assert page.endswith("</table>")


def test_what_an_answer_knows():
    release = cb.Release(TWO, [EXACT, cb.Total(14)])
    for answer in (cb.bounds(release), cb.attainable(release)):
        assert answer.method == "rows of one conditional"
        assert answer.evidence is cb.Evidence.EXACT
        assert answer.digest == release.digest
        assert answer.seconds >= 0
        assert answer.release is release
    assert not cb.bounds(release).lower.flags.writeable
    assert not cb.bounds(release).upper.flags.writeable
    assert repr(cb.Evidence.EXACT) == "EXACT"


def test_bounds_as_plain_values():
    content = cb.bounds(cb.Release(TWO, [EXACT, cb.Total(14)])).to_dict()
    assert content["format"] == "cellbounds-answer/1"
    assert content["cells"][3] == {"row": "b", "col": "y", "lower": 4, "upper": 8}
    assert content["release"]["statements"] == ["[col|row]", "N=14"]
    assert json.loads(json.dumps(content))["evidence"] == "exact"
    free = cb.bounds(cb.Release(TWO, [EXACT])).to_dict()
    assert free["cells"][0]["upper"] is None
    linear = cb.bounds(cb.Release(TWO, [EXACT, cb.Total(14)]), kind="linear").to_dict()
    assert linear["cells"][0] == {"row": "a", "col": "x", "lower": "1/2", "upper": "13/2"}
    json.dumps(linear)


def test_attainable_as_plain_values():
    content = cb.attainable(cb.Release(TWO, [EXACT, cb.Total(14)])).to_dict()
    assert content["cells"][3] == {
        "row": "b",
        "col": "y",
        "lower": 4,
        "upper": 8,
        "size": 2,
        "values": [4, 8],
        "runs": content["cells"][3]["runs"],
    }
    members = {
        value
        for first, last, step in content["cells"][3]["runs"]
        for value in range(first, last + 1, step)
    }
    assert members == {4, 8}
    free = cb.attainable(cb.Release(TWO, [EXACT])).to_dict()["cells"][3]
    assert free["values"] is None
    assert free["upper"] is None
    assert free["runs"][-1][1] is None
    json.dumps(free)


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow", None])
@pytest.mark.parametrize("ask", [cb.bounds, cb.attainable])
def test_frames(backend, ask):
    frame = ask(cb.Release(TWO, [EXACT, cb.Total(14)])).to_frame(backend)
    assert type(frame).__module__.split(".")[0] == (backend or "pandas")
    columns = {name: list(map(str, frame[name])) for name in ("row", "col", "lower", "upper")}
    assert columns == {
        "row": ["a", "a", "b", "b"],
        "col": ["x", "y", "x", "y"],
        "lower": ["1", "1", "2", "4"],
        "upper": ["4", "4", "4", "8"],
    }


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("ask", [cb.bounds, cb.attainable])
def test_frames_of_unbounded_answers(backend, ask):
    frame = ask(cb.Release(TWO, [EXACT])).to_frame(backend)
    assert len(frame["upper"]) == 4
    if backend == "pandas":
        assert frame["upper"].isna().all()
    else:
        assert list(map(str, frame["upper"])) == ["None"] * 4


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_frames_of_fractions(backend):
    frame = cb.bounds(cb.Release(TWO, [EXACT, cb.Total(14)]), kind="linear").to_frame(backend)
    assert Fraction(str(next(iter(frame["lower"])))) == Fraction(1, 2)


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_frames_of_numbers_beyond_64_bits(backend):
    release = cb.Release(TWO, [EXACT, cb.Total(6 * 2**70)])
    frame = cb.bounds(release).to_frame(backend)
    # Row a takes all but a row b of 6, so that both stay multiples.
    assert int(str(next(iter(frame["upper"])))) == (6 * 2**70 - 6) // 2


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("most", [2**53 + 1, 2**59 - 1])
def test_frames_of_large_numbers_beside_none(backend, most):
    """What has no bound makes no double of what has one."""
    release = cb.Release(TWO, [cb.Known(TWO.names, upper={next(TWO.cells()): most})])
    frame = cb.bounds(release).to_frame(backend)
    assert str(next(iter(frame["upper"]))) == str(most)


def test_frames_of_an_unknown_library():
    with pytest.raises(cb.InvalidInput, match=r"'dask'.*pandas, polars, pyarrow"):
        cb.bounds(cb.Release(TWO, [EXACT, cb.Total(14)])).to_frame("dask")


def test_variables_named_like_columns_of_the_answer():
    domain = cb.Domain({"lower": ["a", "b"], "values": ["x", "y"]})
    rates = cb.Conditional(["values"], ["lower"], rates=[["1/2", "1/2"], ["1/3", "2/3"]])
    release = cb.Release(domain, [rates, cb.Total(14)])
    cell = cb.bounds(release).to_dict()["cells"][3]
    assert cell == {"lower_": "b", "values_": "y", "lower": 4, "upper": 8}
    assert list(cb.bounds(release).to_frame("pandas").columns) == [
        "lower_",
        "values_",
        "lower",
        "upper",
    ]


def test_lookup_by_labels():
    answer = cb.bounds(cb.Release(TWO, [EXACT, cb.Total(14)]))
    assert answer["b", "y"] == (4, 8)
    with pytest.raises(cb.InvalidInput, match="1 labels"):
        answer["b"]
    rows = cb.attainable(cb.Release(TWO, [EXACT, cb.Total(14)]), over=["row"])
    assert rows["a"] == {2, 8}
    assert [labels for labels, _ in rows.items()] == [("a",), ("b",)]
