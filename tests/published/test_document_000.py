"""Document 000: Smucker, Slavković and Zhu (2008), k-way tables given conditional frequencies."""

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
    flat,
    fractions,
    in_rows,
    printed,
    row_sums,
    two_way,
)

KOCH = EXPECTED["document_000"]["koch4"]
MP3 = EXPECTED["document_003"]["mp3"]
GIVEN = ("center", "status", "treatment")
EXACT = Rule()

RATES = [[f"{count}/{sum(row)}" for count in row] for row in KOCH["counts"]]
FULL = cb.publish(cb.datasets.read("koch4"), "[recovery|center,status,treatment]")

# As printed beside the counts.
PRINTED_RATES = [
    ["0.107", "0.714", "0.179"],
    ["0.333", "0.424", "0.243"],
    ["0.103", "0.483", "0.414"],
    ["0.25", "0.542", "0.208"],
    ["0.5", "0.5", "0"],
    ["0.524", "0.476", "0"],
    ["0.188", "0.562", "0.25"],
    ["0.333", "0.5", "0.167"],
]
PARTIAL = {
    "R|": (),
    "R|C": ("center",),
    "R|S": ("status",),
    "R|T": ("treatment",),
    "R|CS": ("center", "status"),
    "R|CT": ("center", "treatment"),
    "R|ST": ("status", "treatment"),
    "R|CST": GIVEN,
}


def koch_release(rates, *, lower=0, **rule) -> cb.Release:
    """What an intruder holds: rates given center, status and treatment, and N."""
    domain = cb.datasets.read("koch4").domain
    shaped = np.array(rates, dtype=object).reshape(2, 2, 2, 3)
    statements = [cb.Conditional(["recovery"], given=GIVEN, rates=shaped, **rule), cb.Total(193)]
    if lower:
        statements.append(cb.Known(domain.names, lower=lower))
    return cb.Release(domain, statements)


def spread_over_table(margin, names) -> list:
    """Entries of the margin of `names` and recovery, repeated for every cell of the whole table."""
    shape = [2 if name in names else 1 for name in GIVEN]
    laid = np.array(margin, dtype=object).reshape(*shape, 3)
    return np.broadcast_to(laid, (2, 2, 2, 3)).ravel().tolist()


# The basic two-way table.


def test_two_way_results():
    release = cb.publish(cb.datasets.read("mp3"), "[mp3|gender]")
    assert cell_bounds(release, 2) == MP3["rows"]["integer_bounds"]
    assert cell_bounds(release, 2, kind="linear") == fractions(MP3["rows"]["linear_bounds"])


# Full conditionals of the four-way table.


def test_the_table_as_printed():
    table = cb.datasets.read("koch4")
    assert table.total == KOCH["total"] == 193
    assert in_rows(table.counts.ravel().tolist(), 3) == KOCH["counts"]
    two_digits = next(case["rates"] for case in KOCH["rounded"] if "2-digit" in case["rounding"])
    for digits, rates in ((2, two_digits), (3, PRINTED_RATES)):
        statement = f"[recovery|center,status,treatment]@{digits}"
        rounded = cb.publish(table, statement, rounding="consistent").statements[0]
        assert rounded.rates.reshape(-1, 3).tolist() == fractions(rates)


@pytest.mark.parametrize("release", [FULL, koch_release(RATES)], ids=["published", "fractions"])
def test_full_conditionals_sharp(release):
    full = KOCH["full"]
    assert row_sums(release, GIVEN) == full["feasible_row_sums"]
    assert cell_values(release, 3) == full["cell_values"]
    assert cell_bounds(release, 3) == full["integer_bounds"]


def test_full_conditionals_as_printed():
    """The two rows that the document shows: integer bounds, linear bounds to two decimals."""
    sharp, linear = cell_bounds(FULL, 3), cell_bounds(FULL, 3, kind="linear")
    assert sharp[:2] == [[[3, 6], [20, 40], [5, 10]], [[11, 11], [14, 14], [8, 8]]]
    shown = [[[printed(end, 2) for end in cell] for cell in row] for row in linear[:2]]
    assert shown == [
        [["0.11", "19.93"], ["0.71", "132.86"], ["0.18", "33.21"]],
        [["0.33", "62.00"], ["0.42", "78.91"], ["0.24", "45.09"]],
    ]
    assert [printed(linear[0][0][0], 3), printed(linear[0][0][1], 1)] == ["0.107", "19.9"]


def test_full_conditionals_fix_rows_2_3_and_6_and_leave_gaps_in_row_5():
    values = cell_values(FULL, 3)
    fixed = [i + 1 for i, row in enumerate(values) if all(len(cell) == 1 for cell in row)]
    assert fixed == [2, 3, 6]
    assert values[4][0] != list(range(1, 19))
    assert [min(values[4][0]), max(values[4][0]), values[4][2]] == [1, 18, [0]]


def test_full_conditionals_linear():
    """There are no zero marginals, so R = 8 and N - (R - 1) = 186."""
    assert cell_bounds(FULL, 3, kind="linear") == fractions(KOCH["linear_bounds"])
    rows = cb.bounds(FULL, kind="linear", over=GIVEN)
    assert set(rows.lower.flat) == {1} and set(rows.upper.flat) == {186}


def test_full_conditionals_leave_15_tables():
    assert count_tables(RATES, 193, EXACT) == KOCH["full"]["count"] == 15
    tables = list_tables(RATES, 193, EXACT)
    assert len(tables) == 15 and KOCH["counts"] in tables
    assert all(fits(table, RATES, 193, EXACT) for table in tables)
    assert sums_seen(tables) == KOCH["full"]["feasible_row_sums"]
    assert values_seen(tables) == KOCH["full"]["cell_values"]


def test_witnesses_attain_every_sharp_bound():
    answer = cb.bounds(FULL)
    assert answer.evidence is cb.Evidence.EXACT
    for labels in FULL.domain.cells():
        for at, bound in zip(("lower", "upper"), answer[labels], strict=True):
            witness = answer.witness(*labels, at=at)
            assert witness[labels] == bound
            assert fits(in_rows(witness.counts.ravel().tolist(), 3), RATES, 193, EXACT)


def test_row_denominators():
    release = cb.Release(FULL.domain, [koch_release(RATES).statements[0]])  # without N
    found = cb.attainable(release, over=GIVEN)
    for (_, values), unit in zip(found.items(), KOCH["full"]["row_denominators"], strict=True):
        assert [n for n in range(194) if n in values] == list(range(unit, 194, unit))


def test_rows_that_hold_nobody_do_not_count_in_r():
    """A third center without patients: R stays 8, and its cells are 0."""
    table = cb.datasets.read("koch4")
    levels = {**table.domain.to_dict(), "center": ["1", "2", "3"]}
    counts = np.concatenate([table.counts, np.zeros((1, 2, 2, 3), dtype=int)])
    release = cb.publish(cb.Table(cb.Domain(levels), counts), "[recovery|center,status,treatment]")
    nobody = [[[0, 0]] * 3] * 4
    assert cell_bounds(release, 3) == [*KOCH["full"]["integer_bounds"], *nobody]
    linear = cell_bounds(release, 3, kind="linear")
    assert linear == [*fractions(KOCH["linear_bounds"]), *nobody]


# Partial conditionals: variables left out are summed over.


@pytest.mark.parametrize("name", PARTIAL)
def test_partial_conditionals_margin(name):
    expected, given = KOCH["partial"][name], PARTIAL[name]
    release = cb.publish(cb.datasets.read("koch4"), f"[recovery|{','.join(given)}]")
    over = (*given, "recovery")
    assert cell_values(release, 3, over=over) == expected["margin_values"]
    linear = cell_bounds(release, 3, kind="linear", over=over)
    assert [[high for _, high in row] for row in linear] == fractions(expected["linear_upper"])
    # A single row is all of N: the relaxation too knows it exactly.
    shares = [[Fraction(n, sum(row)) for n in row] for row in expected["margin"]]
    lowest = shares if given else fractions(expected["linear_upper"])
    assert [[low for low, _ in row] for row in linear] == lowest


@pytest.mark.parametrize("name", [name for name in PARTIAL if name != "R|CST"])
def test_partial_conditionals_determine_their_margin_and_bound_cells_by_it(name):
    expected, given = KOCH["partial"][name], PARTIAL[name]
    assert expected["margin_values"] == [[[n] for n in row] for row in expected["margin"]]
    release = cb.publish(cb.datasets.read("koch4"), f"[recovery|{','.join(given)}]")
    largest = spread_over_table(expected["margin"], given)
    found = [values for _, values in cb.attainable(release).items()]
    assert [list(values) for values in found] == [list(range(m + 1)) for m in largest]
    assert flat(cell_bounds(release, 3)) == [[0, m] for m in largest]
    # 0 <= n <= (N - (R - 1)) d
    uppers = spread_over_table(fractions(expected["linear_upper"]), given)
    assert flat(cell_bounds(release, 3, kind="linear")) == [[0, upper] for upper in uppers]


@pytest.mark.parametrize("name", PARTIAL)
def test_partial_conditionals_counts(name):
    expected = KOCH["partial"][name]
    rates = [[f"{n}/{sum(row)}" for n in row] for row in expected["margin"]]
    units = [max(rate.denominator for rate in row) for row in fractions(rates)]
    assert units == expected["row_denominators"]
    assert count_tables(rates, 193, EXACT) == expected["margin_count"]
    if "count" in expected:
        parts = 8 // len(rates)
        assert count_tables(rates, 193, EXACT, parts) == expected["count"]


# Improved bounds.


def test_improved_bounds_equation_2():
    assert cell_bounds(FULL, 3, kind="improved") == KOCH["equation_2"]


def test_improved_bounds_verbal_algorithm():
    """The text subtracts rounded minima, so its upper bounds are tighter than equation 2's."""
    verbal = cell_bounds(FULL, 3, kind="improved-verbal")
    assert verbal == KOCH["verbal_algorithm"] != KOCH["equation_2"]


def test_equation_2_before_rounding_is_the_relaxation_with_one_in_each_positive_cell():
    """The document: "similar results to Slavkovic, 2004", who asked for one in each cell."""
    positive = (cb.datasets.read("koch4").counts > 0).astype(int)
    release = koch_release(RATES)
    ones = cb.Known(release.domain.names, lower=positive)
    asked = cb.Release(release.domain, [*release.statements, ones])
    expected = fractions(KOCH["equation_2_unrounded"])
    assert cell_bounds(asked, 3, kind="linear") == expected
    inward = [[[-(-low // 1), high // 1] for low, high in row] for row in expected]
    assert inward == KOCH["equation_2"]


def test_improved_bounds_lie_between_sharp_and_linear():
    sharp, linear = (flat(cell_bounds(FULL, 3, kind=kind)) for kind in ("sharp", "linear"))
    for kind in ("improved", "improved-verbal"):
        improved = flat(cell_bounds(FULL, 3, kind=kind))
        for (a, b), (low, high), (c, d) in zip(linear, improved, sharp, strict=True):
            assert a <= low <= c <= d <= high <= b


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("improved", [[[2, 27], [1, 18]], [[1, 9], [4, 38]]]),
        ("improved-verbal", [[[2, 27], [1, 18]], [[1, 9], [4, 37]]]),
    ],
)
def test_improved_bounds_of_the_two_way_table(kind, expected):
    """By hand: rows take at least 1/0.4 = 2.5 and 1/0.2 = 5, or 2 + 1 = 3 and 1 + 4 = 5."""
    assert cell_bounds(two_way([["3/5", "2/5"], ["1/5", "4/5"]], 50), 2, kind=kind) == expected


def test_worked_example_of_the_lower_bounds():
    """.25 beside a smallest rate of .1: at least 2.5 times as many, so at least 3."""
    release = two_way([["0.1", "0.25", "0.65"], ["0.5", "0.25", "0.25"]], 1000)
    for kind in ("improved", "improved-verbal"):
        assert [low for low, _ in cell_bounds(release, 3, kind=kind)[0]] == [1, 3, 7]


@pytest.mark.parametrize("kind", ["improved", "improved-verbal"])
def test_improved_bounds_refuse_rounded_rates(kind):
    with pytest.raises(cb.UnsupportedRelease):
        cb.bounds(koch_release(PRINTED_RATES, eps="0.001"), kind=kind)


# Rounded conditionals: the document says that intruders cannot find the sharp bounds.


@pytest.mark.parametrize("case", KOCH["rounded"], ids=lambda c: f"{c['eps']}-{c['cell_lower']}")
def test_rounded_conditionals(case):
    rule = {"eps": case["eps"], "strict": case["strict"]}
    release = koch_release(case["rates"], lower=case["cell_lower"], **rule)
    counted = Rule(Fraction(case["eps"]), case["strict"], case["cell_lower"])
    assert count_tables(case["rates"], 193, counted) == case["count"]
    if not case["count"]:
        with pytest.raises(cb.InconsistentRelease):
            cb.bounds(release)
        with pytest.raises(cb.InconsistentRelease):
            cb.attainable(release, over=GIVEN)
        return
    assert row_sums(release, GIVEN) == case["feasible_row_sums"]
    assert cell_values(release, 3) == case["cell_values"]
    if case["count"] < 1000:
        tables = list_tables(case["rates"], 193, counted)
        assert len(tables) == case["count"]
        assert sums_seen(tables) == case["feasible_row_sums"]
        assert values_seen(tables) == case["cell_values"]


@pytest.mark.parametrize("strict", [False, True])
def test_printed_rates_leave_the_same_15_tables_though_the_document_denies_it(strict):
    """Printed: "intruders could not calculate these bounds". Three digits suffice here."""
    rule = Rule(Fraction("0.001"), strict)
    assert list_tables(PRINTED_RATES, 193, rule) == list_tables(RATES, 193, EXACT)
    release = koch_release(PRINTED_RATES, eps="0.001", strict=strict)
    assert cell_values(release, 3) == KOCH["full"]["cell_values"]
    assert cell_bounds(release, 3) == KOCH["full"]["integer_bounds"]
