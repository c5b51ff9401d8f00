"""Document 004: Wright and Smucker, cell counts from rounded conditional frequencies."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

import cellbounds as cb
from counting import Rule, count_tables, fits, list_tables, rows_of, sums_seen, values_seen
from figures import (
    EXPECTED,
    cell_bounds,
    cell_values,
    ends,
    ends_and_sizes,
    flat,
    fractions,
    in_rows,
    row_sums,
    two_way,
)

DOCUMENT = EXPECTED["document_004"]
TABLE_1 = DOCUMENT["table_1"]
TABLE_8 = DOCUMENT["table_8"]
DELINQUENT = DOCUMENT["delinquent_rounded"]
ANALGESIC = DOCUMENT["analgesic_rounded"]
TRUE_DELINQUENT = EXPECTED["document_003"]["delinquent"]["counts"]

RUNS = TABLE_1["runs"]
EXACT_RUN = RUNS[0]
LISTED = 2000  # tables that a test may list one by one


def named(runs, *keys):
    return [pytest.param(run, id=" ".join(str(run[key]) for key in keys)) for run in runs]


def each_lower(cases):
    """Cases with each of the prior lower bounds of cells that they hold for."""
    return [
        pytest.param(
            case, lower, id=f"{case['rounding']}, {case['eps']} strict={case['strict']} l={lower}"
        )
        for case in cases
        for lower in case["cell_lower"]
    ]


def run_of(table: str, eps: str, strict: bool = False) -> dict:
    wanted = (table, eps, strict)
    return next(run for run in RUNS if (run["table"], run["eps"], run["strict"]) == wanted)


def up_to(total: int, values) -> list[int]:
    """Row sums from 1 to N: the first phase looks no further."""
    return [n for n in range(1, total + 1) if n in values]


def admissible(rates, total: int, **rule) -> list[list[int]]:
    """First phase: what each row allows by itself. Without N, rows know nothing of each other."""
    found = cb.attainable(two_way(rates, **rule), over=["row"])
    return [up_to(total, values) for _, values in found.items()]


# Table 1 and its roundings (Tables 3 and 4).
#
# Sets as printed in Section 3; for row 2, what the two roundings share and what is their own.

ADMISSIBLE_PRINTED = {
    "row1": "7 14 16 19 21 23 25 26 28 30 32 33 35 37 38 39 40 41 42 44 45 46 47 48",
    "row2": "8 16 24 27 29 32 35 36 37 40 43 44 45 47 48",
    "row2c only": "11 19 22 25 30 33 38 41 46",
    "row2d only": "13 18 21 26 31 34 39 42",
    "row3": "5 10 15 20 22 23 25 27 28 30 32 33 35 37 38 40 41 42 43 44 45 46 47 48",
    "row4": "9 16 18 20 23 25 27 29 30 32 34 36 37 38 39 40 41 43 44 45 46 47 48",
}
FEASIBLE_PRINTED = {
    "c": ["7 14 16 19 21 23 26", "8 11 16 22 27", "5 10 15", "9 16 18 20 23 25"],
    "d": ["7 14 16 19 21 26", "8 13 16 27", "5 10 15", "9 16 18 20 23"],
}
TWO_DIGIT_RATES = {
    "row1": ["0.57", "0.43"],
    "row2c": ["0.63", "0.37"],
    "row2d": ["0.62", "0.38"],
    "row3": ["0.60", "0.40"],
    "row4": ["0.56", "0.44"],
}


def numbers(text: str) -> list[int]:
    return sorted(map(int, text.split()))


def printed_admissible(row: str) -> list[int]:
    if row in ("row2c", "row2d"):
        return numbers(ADMISSIBLE_PRINTED["row2"] + " " + ADMISSIBLE_PRINTED[f"{row} only"])
    return numbers(ADMISSIBLE_PRINTED[row])


def test_table_1_conditionals():
    """Tables 1(a) and 1(b) have the same N and conditionals; 3(b) rounds them to three digits."""
    domain = two_way(TABLE_1["rates"]).domain
    for counts in (TABLE_1["a"], TABLE_1["b"]):
        table = cb.Table(domain, counts)
        assert table.total == TABLE_1["total"] == 48
        assert table.conditional(["col"], given=["row"]).tolist() == fractions(TABLE_1["rates"])
        rounded = cb.publish(table, "[col|row]@3").statements[0]
        assert rounded.rates.tolist() == fractions(run_of("3(b)_3digit", "0.0005")["rates"])


@pytest.mark.parametrize("lower", [0, 1])
@pytest.mark.parametrize("run", named(RUNS, "table", "eps", "strict"))
def test_three_phases_of_table_1(run, lower):
    rule = {"eps": run["eps"], "strict": run["strict"], "lower": lower}
    assert admissible(run["rates"], 48, **rule) == run["admissible_row_sums"]
    release = two_way(run["rates"], 48, **rule)
    assert row_sums(release) == run["feasible_row_sums"]
    assert cell_values(release, 2) == run["cell_values"]
    assert cell_bounds(release, 2) == ends(run["cell_values"])


@pytest.mark.parametrize("lower", [0, 1])
@pytest.mark.parametrize("run", named(RUNS, "table", "eps", "strict"))
def test_tables_of_table_1(run, lower):
    rule = Rule(Fraction(run["eps"]), run["strict"], lower)
    assert count_tables(run["rates"], 48, rule) == run["count"]
    tables = sorted(list_tables(run["rates"], 48, rule))
    assert tables == run["tables"]
    assert len(tables) == run["count"]
    assert all(fits(table, run["rates"], 48, rule) for table in tables)
    assert sums_seen(tables) == run["feasible_row_sums"]
    assert values_seen(tables) == run["cell_values"]
    release = two_way(run["rates"], 48, eps=run["eps"], strict=run["strict"], lower=lower)
    assert not any(cb.violations(cb.Table(release.domain, table), release) for table in tables)


def test_exact_fractions_leave_tables_1a_and_1b_only():
    assert EXACT_RUN["count"] == 2
    assert sorted([TABLE_1["a"], TABLE_1["b"]]) == EXACT_RUN["tables"]
    assert EXACT_RUN["cell_values"][1] == [[5], [3]]  # the second row is exposed


@pytest.mark.parametrize(
    ("table", "eps", "count"),
    [
        ("3(b)_3digit", "0.0005", 2),
        ("3(b)_3digit", "0.001", 2),
        ("3(c)_2digit", "0.01", 15),
        ("3(d)_2digit", "0.01", 16),
    ],
)
def test_two_digits_hide_the_second_row_and_three_do_not(table, eps, count):
    run = run_of(table, eps)
    assert run["count"] == count
    first, second = cell_values(two_way(run["rates"], 48, eps=eps), 2)[1]
    assert (first == [5], second == [3]) == (count == 2, count == 2)


def three_digit_tables(*, strict: bool) -> list:
    """All three-digit tables, rows adding to one, within 0.001 of the true conditionals."""
    unit = Fraction(1, 1000)
    rows = []
    for true, _ in rows_of(TABLE_1["rates"]):
        near = [k * unit for k in range(1001) if abs(k * unit - true) <= unit]
        if strict:
            near = [rate for rate in near if abs(rate - true) != unit]
        rows.append([[str(rate), str(1 - rate)] for rate in near])
    return [list(chosen) for chosen in itertools.product(*rows)]


@pytest.mark.parametrize("strict", [False, True], ids=["weak", "strict"])
def test_number_of_three_digit_tables(strict):
    kind = "strict" if strict else "weak"
    expected = TABLE_1["three_digit_tables_within_0.001"][kind]
    assert len(three_digit_tables(strict=strict)) == expected == (4 if strict else 36)


@pytest.mark.parametrize("rates", three_digit_tables(strict=False))
def test_each_of_the_36_three_digit_tables_gives_the_exact_result_in_each_phase(rates):
    assert admissible(rates, 48, eps="0.001") == EXACT_RUN["admissible_row_sums"]
    release = two_way(rates, 48, eps="0.001")
    assert row_sums(release) == EXACT_RUN["feasible_row_sums"] == [[7, 21], [8], [10, 15], [9, 18]]
    assert cell_values(release, 2) == EXACT_RUN["cell_values"]
    assert list_tables(rates, 48, Rule(Fraction("0.001"))) == EXACT_RUN["tables"]


def test_three_digits_admit_the_multiples_of_the_denominators():
    for eps in ("0.0005", "0.001"):
        found = admissible(run_of("3(b)_3digit", eps)["rates"], 48, eps=eps)
        assert found == [list(range(unit, 49, unit)) for unit in (7, 8, 5, 9)]


@pytest.mark.parametrize("letter", ["c", "d"])
def test_two_digits_admit_the_printed_row_sums(letter):
    rows = ["row1", f"row2{letter}", "row3", "row4"]
    found = admissible([TWO_DIGIT_RATES[row] for row in rows], 48, eps="0.01")
    assert found == [printed_admissible(row) for row in rows]
    assert found == run_of(f"3({letter})_2digit", "0.01")["admissible_row_sums"]


def test_feasible_row_sums_of_table_3c_are_as_printed():
    found = row_sums(two_way(run_of("3(c)_2digit", "0.01")["rates"], 48, eps="0.01"))
    assert found == [numbers(text) for text in FEASIBLE_PRINTED["c"]]


def test_feasible_row_sums_of_table_3d_as_printed_omit_18_in_row_2():
    """18 is possible: 7 + 18 + 5 + 18 = 48."""
    rates = run_of("3(d)_2digit", "0.01")["rates"]
    found = row_sums(two_way(rates, 48, eps="0.01"))
    as_printed = [numbers(text) for text in FEASIBLE_PRINTED["d"]]
    assert found != as_printed
    assert found[1] == [8, 13, 16, 18, 27] == sorted([*as_printed[1], 18])
    assert [found[0], *found[2:]] == [as_printed[0], *as_printed[2:]]
    witness = [[4, 3], [11, 7], [3, 2], [10, 8]]
    assert fits(witness, rates, 48, Rule(Fraction("0.01")))


@pytest.mark.parametrize(("letter", "half", "whole"), [("c", 4, 15), ("d", 6, 16)])
def test_results_do_change_with_eps_though_printed_as_unchanged(letter, half, whole):
    """Printed: all phases "unchanged" with eps 0.01 instead of 0.005."""
    table = f"3({letter})_2digit"
    narrow, wide = run_of(table, "0.005"), run_of(table, "0.01")
    assert (narrow["count"], wide["count"]) == (half, whole)
    for eps, run in (("0.005", narrow), ("0.01", wide)):
        assert count_tables(run["rates"], 48, Rule(Fraction(eps))) == run["count"]
    halves = two_way(narrow["rates"], 48, eps="0.005")
    wholes = two_way(narrow["rates"], 48, eps="0.01")
    assert row_sums(halves) != row_sums(wholes)
    assert cell_values(halves, 2) != cell_values(wholes, 2)
    assert admissible(narrow["rates"], 48, eps="0.005") != admissible(wide["rates"], 48, eps="0.01")


@pytest.mark.parametrize("row", TWO_DIGIT_RATES)
def test_the_eps_that_give_the_printed_admissible_sets(row):
    """Among 10^-d and half of it, weak or strict, only 0.01 weak gives every printed set."""
    limits = TABLE_1["eps_that_give_the_printed_admissible_sets"][row]
    first, beyond = Fraction(limits["from"]), Fraction(limits["below"])
    little = Fraction(1, 10**6)

    def gives_it(eps, **rule):
        return admissible([TWO_DIGIT_RATES[row]], 48, eps=eps, **rule)[0] == printed_admissible(row)

    assert first <= Fraction("0.01") < beyond
    assert gives_it(first) and gives_it(beyond - little)
    assert not gives_it(first, strict=True)
    assert not gives_it(first - little) and not gives_it(beyond)
    lost = set(printed_admissible(row)) - set(
        admissible([TWO_DIGIT_RATES[row]], 48, eps=first, strict=True)[0]
    )
    assert sorted(lost) == limits["needed_for_row_sums"]


# Tables 5 to 8 and Figure 1: delinquent children.


def table_8_release(**more) -> cb.Release:
    return two_way(TABLE_8["rates"], 135, eps="0.01", **more)


def test_table_7_is_the_consistent_rounding_of_table_5():
    table = cb.datasets.read("delinquent")
    assert table.counts.tolist() == TRUE_DELINQUENT
    for digits, row_2 in ((2, "0.37 0.18 0.18 0.27"), (3, "0.363 0.182 0.182 0.273")):
        release = cb.publish(table, f"[education|county]@{digits}", rounding="consistent")
        rates = release.statements[0].rates
        assert rates[1].tolist() == fractions(row_2.split())
        assert all(row.sum() == 1 for row in rates)
        if digits == 2:
            assert rates.tolist() == fractions(TABLE_8["rates"])


def test_table_7a_three_digits_recover_the_table():
    release = cb.publish(
        cb.datasets.read("delinquent"),
        "[education|county]@3",
        rounding="consistent",
        rule="interval",
    )
    assert cell_values(release, 4) == [[[n] for n in row] for row in TRUE_DELINQUENT]


@pytest.mark.parametrize("lower", [0, 1])
def test_table_8_from_given_rates(lower):
    release = table_8_release(lower=lower)
    assert row_sums(release) == TABLE_8["feasible_row_sums"]
    assert cell_values(release, 4) == TABLE_8["cell_values"]
    assert cell_bounds(release, 4) == TABLE_8["cell_bounds"]


def test_table_8_from_the_owners_table():
    release = cb.publish(
        cb.datasets.read("delinquent"),
        "[education|county]@2",
        rounding="consistent",
        rule="interval",
    )
    sums = cb.bounds(release, over=["county"])
    assert list(zip(sums.lower.tolist(), sums.upper.tolist(), strict=True)) == [
        (20, 84),
        (11, 75),
        (25, 89),
        (15, 79),
    ]
    assert cell_bounds(release, 4) == [
        [[15, 63], [1, 5], [3, 13], [1, 5]],
        [[4, 28], [2, 14], [2, 14], [3, 21]],
        [[3, 11], [10, 36], [10, 36], [2, 8]],
        [[5, 27], [6, 32], [3, 16], [1, 5]],
    ]
    values = cell_values(release, 4)
    assert [[len(cell) for cell in row] for row in values] == [
        [31, 5, 11, 5],
        [18, 12, 12, 15],
        [9, 24, 24, 7],
        [18, 20, 13, 5],
    ]
    assert values == TABLE_8["cell_values"]


def test_table_8_admissible_row_sums():
    assert admissible(TABLE_8["rates"], 135, eps="0.01") == TABLE_8["admissible_row_sums"]


def test_table_8_tables():
    rule = Rule(Fraction("0.01"))
    assert count_tables(TABLE_8["rates"], 135, rule) == TABLE_8["count"] == 403
    tables = list_tables(TABLE_8["rates"], 135, rule)
    assert len(tables) == 403 and TRUE_DELINQUENT in tables
    assert all(fits(table, TABLE_8["rates"], 135, rule) for table in tables)
    assert sums_seen(tables) == TABLE_8["feasible_row_sums"]
    assert values_seen(tables) == TABLE_8["cell_values"]


def test_table_8_witnesses():
    release = table_8_release()
    answer, rule = cb.bounds(release), Rule(Fraction("0.01"))
    assert answer.evidence is cb.Evidence.EXACT
    for labels in release.domain.cells():
        for at, bound in zip(("lower", "upper"), answer[labels], strict=True):
            witness = answer.witness(*labels, at=at)
            assert witness[labels] == bound
            assert fits(witness.counts.tolist(), TABLE_8["rates"], 135, rule)


def test_what_the_text_says_of_table_8():
    """Six cells of 3 or less without gaps; the others have 12 values or more, the first 31."""
    values = cell_values(table_8_release(), 4)
    cells = list(zip(flat(TRUE_DELINQUENT), flat(values), strict=True))
    small = [seen for count, seen in cells if count <= 3]
    assert len(small) == 6
    assert all(seen == list(range(seen[0], seen[-1] + 1)) for seen in small)
    assert min(len(seen) for count, seen in cells if count > 3) == 12
    assert len(values[0][0]) == 31


def test_row_sums_stay_below_the_sum_of_the_cells_upper_bounds():
    """Which is impossible, the text says, with unrounded conditionals."""
    release = table_8_release()
    tops = [sum(high for _, high in row) for row in cell_bounds(release, 4)]
    assert tops == TABLE_8["sum_of_cell_upper_bounds"] == [86, 77, 91, 80]
    for values, top in zip(row_sums(release), tops, strict=True):
        assert values[-1] < top
    exact = cb.publish(cb.datasets.read("koch4"), "[recovery|center,status,treatment]")
    tops = [sum(high for _, high in row) for row in cell_bounds(exact, 3)]
    assert [values[-1] for values in row_sums(exact, ["center", "status", "treatment"])] == tops


def bounds_by_row_sum(row: int) -> dict[int, list]:
    """For each feasible sum of a row, the bounds of its cells given that sum."""
    found = {}
    for n in TABLE_8["feasible_row_sums"][row]:
        release = table_8_release(row_values={f"r{row + 1}": [n]})
        assert row_sums(release)[row] == [n]
        found[n] = cell_bounds(release, 4)[row]
    return found


def test_figure_1():
    """The lower bound of row 3, column 4, against the row sum: it falls twice."""
    by_sum = bounds_by_row_sum(2)
    lower = [[n, cells[3][0]] for n, cells in by_sum.items()]
    assert lower == TABLE_8["figure_1_row_3_column_4_lower_by_row_sum"]
    assert [n for (_, a), (n, b) in itertools.pairwise(lower) if b < a] == [57, 69]
    upper = [[n, cells[3][1]] for n, cells in by_sum.items()]
    assert upper == TABLE_8["row_3_column_4_upper_by_row_sum"]


def test_only_row_3_column_4_is_not_monotone_and_no_extreme_is_hidden():
    not_monotone = []
    overall = cell_bounds(table_8_release(), 4)
    for i in range(4):
        by_sum = list(bounds_by_row_sum(i).values())
        for j, end in itertools.product(range(4), (0, 1)):
            path = [cells[j][end] for cells in by_sum]
            if path != sorted(path):
                not_monotone.append([i + 1, j + 1, ("lower", "upper")[end]])
            # Here the extremes of the cells occur at the extremes of the row sums.
            assert path[-1 if end else 0] == overall[i][j][end]
    assert not_monotone == TABLE_8["cells_not_monotone_in_the_row_sum"]


@pytest.mark.parametrize("row", range(4))
def test_no_other_row_sum_is_possible(row):
    """Admissible sums that the other rows cannot complete, and inadmissible ones."""
    feasible, alone = (TABLE_8[key][row] for key in ("feasible_row_sums", "admissible_row_sums"))
    assert set(feasible) < set(alone)
    for n in set(range(136)) - set(feasible):
        with pytest.raises(cb.InconsistentRelease):
            cb.bounds(table_8_release(row_values={f"r{row + 1}": [n]}))


# The same table under every other reading of the rounding: one, two and three digits.


@pytest.mark.parametrize(("case", "lower"), each_lower(DELINQUENT))
def test_delinquent_rounded(case, lower):
    release = two_way(case["rates"], 135, eps=case["eps"], strict=case["strict"], lower=lower)
    if not case["count"]:
        for ask in (cb.bounds, cb.attainable):
            with pytest.raises(cb.InconsistentRelease):
                ask(release)
        return
    sums, values = row_sums(release), cell_values(release, 4)
    if "feasible_row_sums" in case:
        assert sums == case["feasible_row_sums"]
    elif "row_sum_bounds_and_sizes" in case:
        assert ends_and_sizes([sums]) == [case["row_sum_bounds_and_sizes"]]
    assert ends_and_sizes(values) == case["cell_bounds_and_sizes"]
    assert cell_bounds(release, 4) == ends(values)


@pytest.mark.parametrize(("case", "lower"), each_lower(DELINQUENT))
def test_delinquent_rounded_counts(case, lower):
    rule = Rule(Fraction(case["eps"]), case["strict"], lower)
    assert count_tables(case["rates"], 135, rule) == case["count"]
    if 0 < case["count"] <= LISTED:
        tables = list_tables(case["rates"], 135, rule)
        assert len(tables) == case["count"]
        assert (TRUE_DELINQUENT in tables) == case["the_true_table_fits"]
        assert sums_seen(tables) == case["feasible_row_sums"]
        assert ends_and_sizes(values_seen(tables)) == case["cell_bounds_and_sizes"]
    elif not case["count"]:
        assert list_tables(case["rates"], 135, rule) == []


def test_the_largest_counts():
    first = DELINQUENT[0]
    assert (first["eps"], first["strict"]) == ("1/10", False)
    assert count_tables(first["rates"], 135, Rule(Fraction(1, 10))) == 157496402139342
    assert count_tables(first["rates"], 135, Rule(Fraction(1, 10), lower=1)) == 63167039741158


# One digit, two by two: pain relief by treatment, with and without the variable left out.


@pytest.mark.parametrize("case", named(ANALGESIC["rows"], "eps", "strict"))
def test_analgesic_rounded(case):
    rates, rule = case["rates"], {"eps": case["eps"], "strict": case["strict"]}
    table = cb.datasets.read("analgesic")
    three_way = cb.publish(table, "[response|treatment]@1", rule="interval", **rule)
    assert three_way.statements[0].rates.tolist() == fractions(rates)
    own = ["treatment", "response"]
    for release, over, given in (
        (two_way(rates, 193, **rule), None, ["row"]),
        (three_way, own, ["treatment"]),
    ):
        found = ends_and_sizes([row_sums(release, given)])
        assert found == [case["row_sum_bounds_and_sizes"]]
        values = cell_values(release, 2, over=over)
        assert ends_and_sizes(values) == case["cell_bounds_and_sizes"]
    # A cell of the whole table is anything from 0 to the largest count of its margin.
    tops = [[high for _, high, _ in row] for row in case["cell_bounds_and_sizes"]]
    assert in_rows(cb.bounds(three_way).upper.ravel().tolist(), 2) == [*tops, *tops]
    assert not cb.bounds(three_way).lower.any()


@pytest.mark.parametrize("case", named(ANALGESIC["rows"], "eps", "strict"))
def test_analgesic_rounded_counts(case):
    rule = Rule(Fraction(case["eps"]), case["strict"])
    assert count_tables(case["rates"], 193, rule) == case["count"]
    tables = list_tables(case["rates"], 193, rule)
    assert len(tables) == case["count"]
    assert ends_and_sizes([sums_seen(tables)]) == [case["row_sum_bounds_and_sizes"]]
    assert ends_and_sizes(values_seen(tables)) == case["cell_bounds_and_sizes"]


def test_analgesic_counts_with_a_variable_left_out():
    exact = [["21/97", "76/97"], ["34/96", "62/96"]]
    assert count_tables(exact, 193, Rule(), parts=2) == ANALGESIC["tables_2x2x2_given_exact_rates"]
    rounded = [["0.2", "0.8"], ["0.4", "0.6"]]
    expected = ANALGESIC["tables_2x2x2_given_rates_within_0.05"]
    assert count_tables(rounded, 193, Rule(Fraction("0.05")), parts=2) == expected == 31529550048


# What the sections on theory say.


def test_strict_and_weak_inequality():
    """With eps 0.001, the true rate 0.134 may be published as 0.135 only if weak."""
    for strict, expected in ((False, [134, 135, 136]), (True, [135])):
        release = two_way([["0.135", "0.865"]], 1000, eps="0.001", strict=strict)
        assert cell_values(release, 2)[0][0] == expected


@pytest.mark.parametrize(
    ("rates", "eps"), [(TABLE_8["rates"], "0.01"), (DELINQUENT[0]["rates"], "0.1")]
)
def test_spread_of_a_cell_given_its_row_sum(rates, eps):
    """At most two counts around p n if n < 1/eps, otherwise at most 2 ceil(eps n) apart."""
    tolerance = Fraction(eps)
    sums = cb.attainable(two_way(rates, 135, eps=eps), over=["row"])
    for i, row in enumerate(rows_of(rates)):
        for n in sums[f"r{i + 1}"]:
            release = two_way([rates[i]], n, eps=eps)
            for rate, (low, high) in zip(row, cell_bounds(release, 4)[0], strict=True):
                if n < 1 / tolerance:
                    assert math.floor(rate * n) <= low <= high <= math.ceil(rate * n)
                else:
                    assert high - low <= 2 * math.ceil(tolerance * n)


def test_row_with_a_lone_nonzero_entry():
    """Such a row admits every sum, so the others need only the ends of each other's sets."""
    run = run_of("3(c)_2digit", "0.01")
    rates = [*run["rates"], ["1.00", "0.00"]]
    sets = run["admissible_row_sums"]
    found = cb.attainable(two_way(rates, eps="0.01"), over=["row"])
    assert up_to(48, found["r5"]) == list(range(1, 49))
    feasible = row_sums(two_way(rates, 48, eps="0.01"))
    for i, mine in enumerate(sets):
        others = sum(min(one) for k, one in enumerate(sets) if k != i) + 1
        assert feasible[i] == [n for n in mine if n <= 48 - others]
    sums = {sum(chosen) for chosen in itertools.product(*sets)}
    assert feasible[4] == sorted(48 - n for n in sums if n < 48)


@pytest.mark.parametrize("target", range(1, 18))
def test_subset_sum_is_a_special_case(target):
    """Section 2.1: sums of some of 3, 5, 8, as a release with prior bounds on rows and cells."""
    weights = [3, 5, 8]
    subsets = [set(some) for size in range(4) for some in itertools.combinations(weights, size)]
    chosen = [some for some in subsets if sum(some) == target]
    rates = [[Fraction(1, a), 1 - Fraction(1, a)] for a in weights]
    release = two_way(rates, target + sum(weights), eps=Fraction(1, 4 * max(weights) ** 2))
    cells = cb.Known(
        ["row", "col"],
        lower=[[1, a - 1] for a in weights],
        upper=[[2, 2 * (a - 1)] for a in weights],
    )
    rows = cb.Known(["row"], lower=weights, upper=[2 * a for a in weights])
    asked = cb.Release(release.domain, [*release.statements, cells, rows])
    if not chosen:
        with pytest.raises(cb.InconsistentRelease):
            cb.bounds(asked)
        return
    for weight, (first, _) in zip(weights, cell_values(asked, 2), strict=True):
        assert first == sorted({1 + (weight in some) for some in chosen})


def test_prior_of_one_in_every_cell_rules_out_tables_with_zeros():
    """The "trivial" bounds of Section 4: koch4 has zero cells, so none of its tables is left."""
    table = cb.datasets.read("koch4")
    for digits, eps in ((2, "0.01"), (3, "0.001")):
        release = cb.publish(
            table,
            f"[recovery|center,status,treatment]@{digits}",
            rounding="consistent",
            eps=eps,
            rule="interval",
        )
        assert cb.bounds(release).evidence is cb.Evidence.EXACT
        ones = cb.Known(table.domain.names, lower=1)
        assert cb.violations(table, cb.Release(table.domain, [ones]))
        with pytest.raises(cb.InconsistentRelease):
            cb.bounds(cb.Release(table.domain, [*release.statements, ones]))
