"""Document 001: Petrović's lecture (2023) after Fienberg, bounds from margins."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import cellbounds as cb
from cellbounds.papers import document001
from cellbounds.papers.reproduction import reproduce_papers
from cellbounds.results import Bounds
from figures import EXPECTED, cell_bounds, ends, flat, in_rows
from margin_tables import tables_with_margins

CENSUS = EXPECTED["document_001"]["census3"]
COLLAPSED = EXPECTED["document_001"]["collapsed"]
TWO_WAY = EXPECTED["document_001"]["two_way"]

TABLE_1 = cb.datasets.read("census3")
TABLE_2 = document001.collapsed()
ORDER = ("race", "gender", "income")  # of the expected figures
PAIRS = ("[race,gender]", "[race,income]", "[gender,income]")

CASES = [
    pytest.param(table, case, id=f"{size} {' '.join(case['margins'])}")
    for table, size, cases in (
        (TABLE_1, "3x2x3", CENSUS["given"]),
        (TABLE_2, "2x2x2", COLLAPSED["given"]),
    )
    for case in cases
]

# As printed, upper bound first: men, then women; races by income.
TABLE_3 = "107,80 249,222 | 27,0 27,0 || 197,175 189,167 | 22,0 22,0"
TABLE_4 = "107,85 244,222 | 22,0 27,5 || 197,175 189,167 | 22,0 22,0"
TABLE_5 = """
304,0 215,0 223,0 | 44,0 44,0 44,0 | 5,0 5,0 5,0 || 304,0 215,0 223,0 | 44,0 44,0 44,0 | 5,0 5,0 5,0
"""
TABLE_6 = """
107,80 80,53 169,142 | 23,0 23,0 23,0 | 4,0 4,0 4,0
|| 197,175 135,113 54,32 | 21,0 21,0 21,0 | 1,0 1,0 1,0
"""


def as_printed(text: str) -> list:
    """The printed bounds as gender x race x income, lower bound first."""
    return [
        [[[int(end) for end in cell.split(",")][::-1] for cell in row.split()] for row in panel]
        for panel in (layer.split("|") for layer in text.split("||"))
    ]


def as_laid_out(answer: Bounds) -> list:
    return np.stack([answer.lower, answer.upper], axis=-1).tolist()


def given(margins: list[str]) -> dict:
    """The expected figures of Table 1 for these margins."""
    return next(case for case in CENSUS["given"] if case["margins"] == margins)


def without_closed_forms(release: cb.Release) -> cb.Release:
    """The same with a prior that says nothing, so that only the general search takes it."""
    nothing = cb.Known(release.domain.names, lower=0)
    return cb.Release(release.domain, [*release.statements, nothing])


def axes_of(table: cb.Table, margins: list[str]) -> list[tuple[int, ...]]:
    return [tuple(map(table.domain.axis, one.strip("[]").split(","))) for one in margins]


# Tables 1 and 2.


def test_the_tables_as_printed():
    for table, expected in ((TABLE_1, CENSUS), (TABLE_2, COLLAPSED)):
        turned = table.margin(ORDER)
        assert (
            in_rows(turned.counts.ravel().tolist(), turned.counts.shape[-1]) == expected["counts"]
        )
        assert table.total == CENSUS["total"] == 742
    assert TABLE_2.counts.tolist() == [[[96, 233], [11, 16]], [[186, 178], [11, 11]]]
    assert TABLE_2.margin(["gender", "race"]).counts.tolist() == [[329, 27], [364, 22]]
    assert TABLE_2.margin(["gender", "income"]).counts.tolist() == [[107, 249], [197, 189]]


def test_what_is_noteworthy_about_table_1():
    """Three counts of 1, and one in each of two of the three two-way margins."""
    assert np.count_nonzero(TABLE_1.counts == 1) == 3
    ones = [1 in TABLE_1.margin(pair).counts for pair in itertools.combinations(ORDER, 2)]
    assert ones == [True, True, False]
    assert TABLE_1.margin(ORDER).counts.shape == (3, 2, 3)  # "3 x 2 x 2" in the text


# Every set of margins: sharp and linear bounds, witnesses, two engines.


@pytest.mark.parametrize(("table", "case"), CASES)
def test_sharp_and_linear_bounds(table, case):
    release = cb.publish(table, *case["margins"])
    expected, columns = case["integer_and_linear_bounds"], len(table.domain.levels("income"))
    assert cell_bounds(release, columns, over=ORDER) == expected
    assert cell_bounds(release, columns, over=ORDER, kind="linear") == expected


@pytest.mark.parametrize(("table", "case"), CASES)
def test_witnesses_attain_every_sharp_bound(table, case):
    release = cb.publish(table, *case["margins"])
    answer = cb.bounds(release)
    assert answer.evidence is cb.Evidence.EXACT
    published = axes_of(table, case["margins"])
    for labels in table.domain.cells():
        for at, bound in zip(("lower", "upper"), answer[labels], strict=True):
            witness = answer.witness(*labels, at=at)
            assert witness[labels] == bound
            for axes in published:
                others = tuple({0, 1, 2} - set(axes))
                assert (witness.counts.sum(axis=others) == table.counts.sum(axis=others)).all()


@pytest.mark.parametrize(("table", "case"), CASES)
def test_closed_forms_equal_the_general_search(table, case):
    release = cb.publish(table, *case["margins"])
    general = cb.bounds(without_closed_forms(release))
    assert general.method == "integer search"
    assert as_laid_out(cb.bounds(release)) == as_laid_out(general)


@pytest.mark.parametrize(("table", "case"), CASES)
def test_every_count_between_is_attainable(table, case):
    found = cb.attainable(cb.publish(table, *case["margins"]), over=ORDER)
    expected = flat(case["integer_and_linear_bounds"])
    for (_, values), (low, high) in zip(found.items(), expected, strict=True):
        assert list(values) == list(range(low, high + 1))


@pytest.mark.parametrize(("table", "total"), [(TABLE_1, 441), (TABLE_2, 23)])
def test_tables_with_all_two_way_margins(table, total):
    """Listed from the definition: how many, and what each cell holds in them."""
    tables = tables_with_margins(table.counts, axes_of(table, PAIRS))
    expected = CENSUS if table is TABLE_1 else COLLAPSED
    assert len(tables) == expected["given"][-1]["count"] == total
    values = cb.attainable(cb.publish(table, *PAIRS))
    for (_, held), seen in zip(values.items(), tables.reshape(total, -1).T, strict=True):
        assert list(held) == sorted(set(seen.tolist()))


def test_tables_with_two_margins_are_counted_in_layers():
    """Given the variable that two margins share, its layers have nothing to do with each other."""
    for shared, margins in (
        ("race", ["[race,income]", "[race,gender]"]),
        ("gender", ["[race,gender]", "[gender,income]"]),
    ):
        layers = np.moveaxis(TABLE_1.counts, TABLE_1.domain.axis(shared), 0)
        tables = [tables_with_margins(layer, [(0,), (1,)]) for layer in layers]
        assert math.prod(map(len, tables)) == given(margins)["count"]
        answer = cb.bounds(cb.publish(TABLE_1, *margins))
        lower = np.moveaxis(answer.lower, TABLE_1.domain.axis(shared), 0)
        upper = np.moveaxis(answer.upper, TABLE_1.domain.axis(shared), 0)
        for seen, low, high in zip(tables, lower, upper, strict=True):
            assert (seen.min(axis=0) == low).all() and (seen.max(axis=0) == high).all()


# Tables 3 and 4, and the closed form for 2x2x2 tables.


def test_table_3_fréchet_bounds_of_each_layer():
    release = cb.publish(TABLE_2, "[race,gender]", "[gender,income]")
    assert as_laid_out(cb.bounds(release)) == as_printed(TABLE_3)
    for layer, n in zip(TABLE_2.counts, (356, 386), strict=True):
        rows, columns = layer.sum(axis=1), layer.sum(axis=0)
        lower = np.maximum(rows[:, None] + columns - n, 0)
        upper = np.minimum(rows[:, None], columns)
        assert np.stack([lower, upper], axis=-1).tolist() in as_printed(TABLE_3)


def test_table_4_all_two_way_margins():
    answer = cb.bounds(cb.publish(TABLE_2, *PAIRS))
    assert answer.method == "2x2x2 with all two-way margins"
    assert as_laid_out(answer) == as_printed(TABLE_4)


def closed_form(u: np.ndarray) -> tuple[int, int]:
    """The range of the cell (1,1,1), with the signs put right."""
    n, a, b, c = u.sum(), u[0].sum(), u[:, 0].sum(), u[:, :, 0].sum()
    ab, ac, bc = u[0, 0].sum(), u[0, :, 0].sum(), u[:, 0, 0].sum()
    upper = min(ab, ac, bc, n - a - b - c + ab + ac + bc)
    return int(max(0, ab + ac - a, ab + bc - b, ac + bc - c)), int(upper)


@pytest.mark.parametrize("seed", range(20))
def test_closed_form_for_2x2x2_tables(seed):
    """The formula, the method, the general search and the list of all tables."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 12, size=(2, 2, 2)) * rng.integers(0, 2, size=(2, 2, 2))
    domain = cb.Domain({name: ["1", "2"] for name in "abc"})
    release = cb.publish(cb.Table(domain, counts), "[a,b]", "[a,c]", "[b,c]")
    answer, general = cb.bounds(release), cb.bounds(without_closed_forms(release))
    tables = tables_with_margins(counts, itertools.combinations(range(3), 2))
    assert answer.method == "2x2x2 with all two-way margins"
    assert as_laid_out(answer) == as_laid_out(general)
    assert (answer.lower == tables.min(axis=0)).all()
    assert (answer.upper == tables.max(axis=0)).all()
    for index in np.ndindex(2, 2, 2):
        turned = np.flip(counts, [axis for axis, place in enumerate(index) if place])
        assert (answer.lower[index], answer.upper[index]) == closed_form(turned)


def test_the_lower_bound_as_printed_is_wrong():
    """Its signs are turned round: it puts x at 257 or more, though x is 96 and at most 107."""
    u = np.transpose(TABLE_2.counts, [TABLE_2.domain.axis(n) for n in ("race", "income", "gender")])
    a, b, ab, ac, bc = 693, 304, 282, 329, 107
    assert (u[0].sum(), u[:, 0].sum()) == (a, b)
    assert (u[0, 0].sum(), u[0, :, 0].sum(), u[:, 0, 0].sum()) == (ab, ac, bc)
    assert max(a - ac - ab, b - ab - bc, a - bc - ac, 0) == 257
    assert (
        closed_form(u)
        == (85, 107)
        == cb.bounds(cb.publish(TABLE_2, *PAIRS))["Male", "White", "<=10000"]
    )


# Tables 5 and 6.


def test_table_5_all_one_way_margins():
    answer = cb.bounds(cb.publish(TABLE_1, "[race]", "[gender]", "[income]"))
    assert as_laid_out(answer) == as_printed(TABLE_5)
    assert TABLE_1.margin(["income"]).counts.tolist() == [304, 215, 223]  # printed: 304, 135, 54
    assert TABLE_1.counts.sum(axis=1)[1].tolist() == [197, 135, 54]  # these are the women's


def test_table_6_belongs_to_other_margins_than_its_caption_says():
    right = cb.bounds(cb.publish(TABLE_1, "[race,gender]", "[gender,income]"))
    assert as_laid_out(right) == as_printed(TABLE_6)
    captioned = cb.bounds(cb.publish(TABLE_1, "[race,income]", "[race,gender]"))
    assert as_laid_out(captioned) != as_printed(TABLE_6)
    assert captioned["Male", "White", "<=10000"] == (0, 282)
    # The totals beside the table are those of the margins that its bounds belong to.
    assert TABLE_1.margin(["gender", "race"]).counts.tolist() == [[329, 23, 4], [364, 21, 1]]
    assert TABLE_1.margin(["gender", "income"]).counts.tolist() == [[107, 80, 169], [197, 135, 54]]


# The table of two rows at the start, and queries one after another at the end.


def test_two_way_table_with_its_totals():
    domain = cb.Domain({"income": ["<=135K", ">135K"], "gender": ["M", "F", "T/Nb"]})
    margins = [cb.Margin(["income"], TWO_WAY["rows"]), cb.Margin(["gender"], TWO_WAY["columns"])]
    release = cb.Release(domain, [*margins, cb.Total(26)])
    expected = TWO_WAY["integer_and_linear_bounds"]
    assert cell_bounds(release, 3) == cell_bounds(release, 3, kind="linear") == expected
    one = np.array([[10, 3, 0], [0, 7, 6]])
    tables = tables_with_margins(one, [(0,), (1,)])
    assert len(tables) == TWO_WAY["count"] == 65
    seen = [[sorted(set(cell)) for cell in row] for row in np.moveaxis(tables, 0, -1).tolist()]
    assert ends(seen) == expected


@pytest.mark.parametrize("order", list(itertools.permutations(PAIRS)), ids=" ".join)
def test_each_further_margin_narrows(order):
    before = cb.bounds(cb.Release(TABLE_1.domain, [cb.Total(742)]))
    for answered in (1, 2, 3):
        after = cb.bounds(cb.publish(TABLE_1, *order[:answered]))
        assert (before.lower <= after.lower).all() and (after.upper <= before.upper).all()
        assert after.upper.sum() < before.upper.sum()
        before = after


# The comparison that the command line shows.


def test_reproduction_has_no_unexplained_difference():
    compared = reproduce_papers("001").comparisons
    assert all(one.as_expected for one in compared)
    assert len({(one.place, one.item) for one in compared}) == len(compared)
    wrong = [(one.place, one.item, one.printed, one.ours) for one in compared if one.error]
    caption = ("[race,income] [race,gender]", "[race,gender] [gender,income]")
    assert wrong == [
        ("Table 1", "size", "3 x 2 x 2", "3 x 2 x 3"),
        (
            "2x2x2 formulas",
            "lower bounds",
            "257 115 175 162 132 140 85 222",
            "85 222 0 5 175 167 0 0",
        ),
        (
            "2x2x2 formulas",
            "upper bounds, repeated",
            "107 244 22 27 202 189 22 22",
            "107 244 22 27 197 189 22 22",
        ),
        ("2x2x2 formulas", "fourth upper bound, as a sum", "-278", "107"),
        ("2x2x2 formulas", "cell (2,2,1) if (1,1,1) is 96", "353", "16"),
        ("Table 5, totals", "10001-25000", "135", "215"),
        ("Table 5, totals", ">25000", "54", "223"),
        ("Table 6", "margins that give its bounds", *caption),
        ("Table 6, as captioned", "Male, White, <=10000", "[80,107]", "[0,282]"),
    ]


def test_reproduction_shows_the_tables_as_printed():
    shown = {}
    for one in reproduce_papers("001").comparisons:
        shown.setdefault(one.place, []).append(one.printed)
    for place, text in (
        ("Table 3", TABLE_3),
        ("Table 4", TABLE_4),
        ("Table 5", TABLE_5),
        ("Table 6", TABLE_6),
    ):
        cells = flat(flat(as_printed(text)))
        assert shown[place][: len(cells)] == [f"[{low},{high}]" for low, high in cells]
