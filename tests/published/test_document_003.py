"""Document 003: Smucker and Slavković (2008), two-way tables given conditional frequencies."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import cellbounds as cb
from counting import Rule, count_tables, fits, list_tables, sums_seen, values_seen
from figures import (
    EXPECTED,
    cell_bounds,
    cell_values,
    ends,
    flat,
    fractions,
    row_sums,
    two_way,
)

MP3 = EXPECTED["document_003"]["mp3"]
DELINQUENT = EXPECTED["document_003"]["delinquent"]
TIMES_10 = EXPECTED["document_003"]["delinquent_times_10"]
EXACT = Rule()

MP3_ROWS = [["3/5", "2/5"], ["1/5", "4/5"]]
MP3_COLUMNS = [["3/4", "1/4"], ["1/3", "2/3"]]  # one line for each column of the table
DELINQUENT_ROWS = [
    ["15/20", "1/20", "3/20", "1/20"],
    ["20/55", "10/55", "10/55", "15/55"],
    ["3/25", "10/25", "10/25", "2/25"],
    ["12/35", "14/35", "7/35", "2/35"],
]

# As printed, except for spaces: rounding to 1, 2 and 3 decimals.
TABLE_5 = """
0.7,92.4 0.75,99 0.75,99        | 0.1,13.2 0.05,6.6 0.05,6.6
0.1,13.2 0.15,19.8 0.15,19.8    | 0.1,13.2 0.05,6.6 0.05,6.6
0.3,39.6 0.37,48.84 0.363,47.916 | 0.2,26.4 0.18,23.76 0.182,24.024
0.2,26.4 0.18,23.76 0.182,24.024 | 0.3,39.6 0.27,35.64 0.273,36.036
0.1,13.2 0.12,15.84 0.12,15.84  | 0.4,52.8 0.4,52.8 0.4,52.8
0.4,52.8 0.4,52.8 0.4,52.8      | 0.1,13.2 0.08,10.56 0.08,10.56
0.3,39.6 0.34,44.88 0.343,45.276 | 0.4,52.8 0.4,52.8 0.4,52.8
0.2,26.4 0.2,26.4 0.2,26.4      | 0.1,13.2 0.06,7.92 0.057,7.524
"""


def printed_table_5(digits: int) -> list:
    cells = [cell.split()[digits - 1] for cell in TABLE_5.strip().replace("\n", "|").split("|")]
    pairs = [[Fraction(end) for end in cell.split(",")] for cell in cells]
    return [pairs[start : start + 4] for start in range(0, 16, 4)]


def mp3_columns(rates, **rule) -> cb.Release:
    domain = cb.datasets.read("mp3").domain
    conditional = cb.Conditional(["gender"], given=["mp3"], rates=rates, **rule)
    return cb.Release(domain, [conditional, cb.Total(50)])


def transposed(table):
    return [list(row) for row in zip(*table, strict=True)]


# Tables 1 to 3: downloads by gender.


def test_table_1_and_its_conditionals():
    table = cb.datasets.read("mp3")
    assert table.counts.tolist() == MP3["counts"] == [[15, 10], [5, 20]]
    assert table.total == MP3["total"] == 50
    assert table.conditional(["mp3"], given=["gender"]).tolist() == fractions(MP3_ROWS)
    assert table.conditional(["gender"], given=["mp3"]).tolist() == fractions(MP3_COLUMNS)


@pytest.mark.parametrize(
    "release",
    [
        cb.publish(cb.datasets.read("mp3"), "[mp3|gender]"),
        two_way(MP3_ROWS, 50),
        two_way([["0.6", "0.4"], ["0.2", "0.8"]], 50, eps="0"),
    ],
    ids=["published", "fractions", "decimals that are exact"],
)
def test_table_2_row_conditionals(release):
    expected = MP3["rows"]
    assert cell_values(release, 2) == expected["cell_values"]
    assert cell_bounds(release, 2) == expected["integer_bounds"]
    assert expected["integer_bounds"] == [[[3, 27], [2, 18]], [[1, 9], [4, 36]]]
    linear = cell_bounds(release, 2, kind="linear")
    assert linear == fractions(expected["linear_bounds"])
    assert linear == fractions(
        [[["0.6", "29.4"], ["0.4", "19.6"]], [["0.2", "9.8"], ["0.8", "39.2"]]]
    )


def test_table_2_is_the_same_if_every_cell_holds_at_least_one():
    """As the document says of the formulation that it improves on."""
    release = two_way(MP3_ROWS, 50, lower=1)
    assert cell_bounds(release, 2) == MP3["rows"]["integer_bounds"]


@pytest.mark.parametrize(
    "release",
    [cb.publish(cb.datasets.read("mp3"), "[gender|mp3]"), mp3_columns(MP3_COLUMNS)],
    ids=["published", "fractions"],
)
def test_table_3_column_conditionals(release):
    expected = MP3["columns"]
    assert cell_bounds(release, 2) == expected["integer_bounds"]
    assert expected["integer_bounds"] == [[[6, 33], [2, 14]], [[2, 11], [4, 28]]]
    assert cell_values(release, 2) == values_seen(expected["tables"])
    assert cell_bounds(release, 2, kind="linear") == fractions(expected["linear_bounds"])


@pytest.mark.parametrize(
    ("rates", "key", "printed"),
    [
        (
            [["0.8", "0.2"], ["0.3", "0.7"]],
            "linear_bounds_one_digit",
            [[["0.8", "39.2"], ["0.3", "14.7"]], [["0.2", "9.8"], ["0.7", "34.3"]]],
        ),
        (
            [["0.75", "0.25"], ["0.33", "0.67"]],
            "linear_bounds_two_digits",
            [[["0.75", "36.75"], ["0.33", "16.17"]], [["0.25", "12.25"], ["0.67", "32.83"]]],
        ),
    ],
    ids=["one digit", "two digits"],
)
def test_table_3_linear_bounds_of_rounded_rates_taken_as_exact(rates, key, printed):
    linear = cell_bounds(mp3_columns(rates, eps="0"), 2, kind="linear")
    assert linear == fractions(MP3["columns"][key]) == fractions(printed)


def test_only_four_possible_tables_means_the_column_conditionals():
    """The sentence stands beside the row conditionals too, but those leave nine tables."""
    assert count_tables(MP3_ROWS, 50, EXACT) == MP3["rows"]["count"] == 9
    assert count_tables(MP3_COLUMNS, 50, EXACT) == MP3["columns"]["count"] == 4
    by_rows = list_tables(MP3_ROWS, 50, EXACT)
    assert len(by_rows) == 9
    assert values_seen(by_rows) == MP3["rows"]["cell_values"]
    by_columns = sorted(map(transposed, list_tables(MP3_COLUMNS, 50, EXACT)))
    assert by_columns == MP3["columns"]["tables"]


# Theorem 1.


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("given", ["row", "col"])
def test_theorem_1(seed, given):
    """d <= n <= (N - (I - 1)) d, on tables with zero cells, I the rows that hold somebody."""
    rng = np.random.default_rng(seed)
    height, width = rng.integers(2, 6, size=2)
    counts = rng.integers(0, 9, size=(height, width)) * rng.integers(0, 2, size=(height, width))
    counts[0, 0] = counts[1, 1] = 4  # two rows and two columns at least hold somebody
    domain = cb.Domain(
        {"row": [f"r{i}" for i in range(height)], "col": [f"c{j}" for j in range(width)]}
    )
    response = "col" if given == "row" else "row"
    release = cb.publish(cb.Table(domain, counts), f"[{response}|{given}]")
    answer = cb.bounds(release, kind="linear")
    sums = counts.sum(axis=1 if given == "row" else 0)
    largest = int(counts.sum()) - (np.count_nonzero(sums) - 1)
    for (i, j), count in np.ndenumerate(counts):
        total = int(sums[i if given == "row" else j])
        rate = Fraction(int(count), total) if total else Fraction(0)
        assert (answer.lower[i, j], answer.upper[i, j]) == (rate, largest * rate)


def test_theorem_1_needs_two_rows_for_its_lower_bound():
    """With a single row the relaxation is N d on both sides, not d as the theorem says."""
    rates = [["3/5", "2/5"]]
    linear = cell_bounds(two_way(rates, 50), 2, kind="linear")
    assert linear == [[[30, 30], [20, 20]]]
    assert linear[0][0][0] != Fraction(3, 5)


# Tables 4 and 5: delinquent children.


def test_table_4_is_the_only_table_with_its_conditionals():
    table = cb.datasets.read("delinquent")
    assert table.counts.tolist() == DELINQUENT["counts"]
    release = cb.publish(table, "[education|county]")
    assert cell_values(release, 4) == DELINQUENT["cell_values"]
    assert cell_bounds(release, 4) == [[[n, n] for n in row] for row in DELINQUENT["counts"]]
    assert count_tables(DELINQUENT_ROWS, 135, EXACT) == DELINQUENT["count"] == 1
    assert list_tables(DELINQUENT_ROWS, 135, EXACT) == [DELINQUENT["counts"]]


def test_rows_of_table_4_have_multiples_of_their_denominators():
    release = cb.publish(cb.datasets.read("delinquent"), "[education|county]", total=False)
    found = cb.attainable(release, over=["county"])
    for (_, values), unit in zip(found.items(), DELINQUENT["row_denominators"], strict=True):
        assert [n for n in range(136) if n in values] == list(range(unit, 136, unit))


def test_largest_row_sum_of_the_relaxation():
    release = cb.publish(cb.datasets.read("delinquent"), "[education|county]")
    answer = cb.bounds(release, kind="linear", over=["county"])
    assert set(answer.lower) == {1}
    assert set(answer.upper) == {DELINQUENT["largest_row_sum_of_the_relaxation"]} == {132}


@pytest.mark.parametrize("digits", [1, 2, 3])
def test_table_5_linear_bounds_of_rounded_rates_taken_as_exact(digits):
    rates = DELINQUENT["table_5_rates_at_1_2_3_digits"][digits - 1]
    linear = cell_bounds(two_way(rates, 135, eps="0"), 4, kind="linear")
    assert linear == printed_table_5(digits)
    assert [[low for low, _ in row] for row in linear] == fractions(rates)


@pytest.mark.parametrize("digits", [1, 2, 3])
def test_rounded_rates_taken_as_exact_leave_no_table(digits):
    """As the document says: the integer program with decimals is infeasible."""
    rates = DELINQUENT["table_5_rates_at_1_2_3_digits"][digits - 1]
    assert count_tables(rates, 135, EXACT) == 0
    with pytest.raises(cb.InconsistentRelease):
        cb.bounds(two_way(rates, 135, eps="0"))


def test_an_intruder_with_three_digits_finds_the_table_though_the_document_doubts_it():
    """Printed: released rates "would not allow intruders to calculate sharp integer bounds"."""
    rates = DELINQUENT["table_5_rates_at_1_2_3_digits"][2]
    release = two_way(rates, 135, eps="0.001")
    assert cell_bounds(release, 4) == [[[n, n] for n in row] for row in DELINQUENT["counts"]]
    assert list_tables(rates, 135, Rule(Fraction("0.001"))) == [DELINQUENT["counts"]]


def test_at_least_one_in_every_cell_narrows_table_5_everywhere():
    """The bounds of the older formulation are "uniformly narrower", by its closed form."""
    one = cell_bounds(two_way(DELINQUENT_ROWS, 135, lower=1), 4, kind="linear")
    zero = cell_bounds(two_way(DELINQUENT_ROWS, 135), 4, kind="linear")
    smallest = [min(row) for row in fractions(DELINQUENT_ROWS)]
    for i, row in enumerate(fractions(DELINQUENT_ROWS)):
        others = sum(1 / rate for k, rate in enumerate(smallest) if k != i)
        assert one[i] == [[rate / smallest[i], (135 - others) * rate] for rate in row]
    for narrow, wide in zip(flat(one), flat(zero), strict=True):
        assert wide[0] < narrow[0] and narrow[1] < wide[1]


# Conclusions: every entry of Table 4 times 10.


def test_ten_times_table_4():
    table = cb.datasets.read("delinquent")
    release = cb.publish(cb.Table(table.domain, 10 * table.counts), "[education|county]")
    assert row_sums(release, ["county"]) == TIMES_10["feasible_row_sums"]
    assert cell_values(release, 4) == TIMES_10["cell_values"]
    sharp = cell_bounds(release, 4)
    assert sharp == ends(TIMES_10["cell_values"])
    # Wider than before, sharp and linear, with the same conditionals.
    before = cb.publish(table, "[education|county]")
    assert release.statements[0].rates.tolist() == before.statements[0].rates.tolist()
    assert all(low < high for low, high in flat(sharp))
    linear = cell_bounds(release, 4, kind="linear")
    assert linear == [[[rate, 1347 * rate] for rate in row] for row in fractions(DELINQUENT_ROWS)]


def test_ten_times_table_4_leaves_1825_tables():
    assert count_tables(DELINQUENT_ROWS, 1350, EXACT) == TIMES_10["count"] == 1825
    tables = list_tables(DELINQUENT_ROWS, 1350, EXACT)
    assert len(tables) == 1825
    assert all(fits(table, DELINQUENT_ROWS, 1350, EXACT) for table in tables)
    assert sums_seen(tables) == TIMES_10["feasible_row_sums"]
    assert values_seen(tables) == TIMES_10["cell_values"]
