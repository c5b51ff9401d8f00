"""The shipped examples work as their page says."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

import cellbounds as cb
from cellbounds.disclosure import audit
from margin_tables import tables_with_margins

SHIPPED = Path(cb.datasets.__file__).parent
PUBLISHED = SHIPPED / "published.toml"

TABLE_8 = [
    [(15, 63), (1, 5), (3, 13), (1, 5)],
    [(4, 28), (2, 14), (2, 14), (3, 21)],
    [(3, 11), (10, 36), (10, 36), (2, 8)],
    [(5, 27), (6, 32), (3, 16), (1, 5)],
]


def test_the_intruder_sees_table_8():
    read = cb.read_release(PUBLISHED)
    by_rule = cb.bounds(read)
    wide = cb.Release(read.domain, [one.as_intervals() or one for one in read.statements])
    answer = cb.bounds(wide)
    assert (answer.lower <= by_rule.lower).all()
    assert (by_rule.upper < answer.upper).all()  # whoever knows the rule sees more
    pairs = [
        [(int(low), int(high)) for low, high in zip(lows, highs, strict=True)]
        for lows, highs in zip(answer.lower, answer.upper, strict=True)
    ]
    assert pairs == TABLE_8


def test_the_owner_finds_it_safe():
    found = audit(cb.datasets.read("delinquent"), cb.read_release(PUBLISHED))
    assert found.verdict.safe
    assert not any(cell.disclosed for cell in found.cells)


@pytest.mark.parametrize("name", ["analgesic", "census3", "delinquent", "koch4", "mp3"])
def test_shipped_tables_have_the_totals_of_the_papers(name):
    totals = {"analgesic": 193, "census3": 742, "delinquent": 135, "koch4": 193, "mp3": 50}
    assert cb.datasets.read(name).total == totals[name]


# The sparse table: margins that reveal it together, though none does alone.

SPARSE = cb.read_table(SHIPPED / "sparse5.csv")
FOUR = [
    "[housing,age,travel]",
    "[housing,work,illness]",
    "[age,work,travel]",
    "[age,travel,illness]",
]
FIFTH = "[housing,age,work]"
PAIRS = [f"[{a},{b}]" for a, b in itertools.combinations(SPARSE.domain.names, 2)]


def axes_of(statement: str) -> tuple[int, ...]:
    return tuple(map(SPARSE.domain.axis, statement.strip("[]").split(",")))


def exactly_known(*statements: str) -> np.ndarray:
    answer = cb.bounds(cb.publish(SPARSE, *statements))
    assert answer.evidence is cb.Evidence.EXACT
    known = answer.lower == answer.upper
    assert (answer.lower[known] == SPARSE.counts[known]).all()
    return known


def test_the_sparse_table_is_as_its_page_says():
    assert SPARSE.total == 93
    assert SPARSE.domain.size == 72
    assert np.count_nonzero(SPARSE.counts == 0) == 48


@pytest.mark.parametrize("statement", [*FOUR, FIFTH, *PAIRS])
def test_no_margin_alone_pins_down_a_cell_that_holds_anybody(statement):
    assert not (exactly_known(statement) & (SPARSE.counts > 0)).any()


@pytest.mark.parametrize(
    ("statements", "tables", "known", "occupied", "small"),
    [(FOUR, 18, 56, 11, 7), ([*FOUR, FIFTH], 1, 72, 24, 13)],
    ids=["four margins", "five margins"],
)
def test_margins_together_pin_down_most_of_the_sparse_table(
    statements, tables, known, occupied, small
):
    """All tables are listed: a cell is known if and only if it is the same in all of them."""
    listed = tables_with_margins(SPARSE.counts, map(axes_of, statements))
    assert len(listed) == tables
    same = listed.min(axis=0) == listed.max(axis=0)
    found = exactly_known(*statements)
    assert (found == same).all()
    assert np.count_nonzero(found) == known
    assert np.count_nonzero(found & (SPARSE.counts > 0)) == occupied
    assert np.count_nonzero(found & (SPARSE.counts > 0) & (SPARSE.counts <= 3)) == small
    values = cb.attainable(cb.publish(SPARSE, *statements))
    for (_, held), seen in zip(values.items(), listed.reshape(tables, -1).T, strict=True):
        assert list(held) == sorted(set(seen.tolist()))


def test_four_margins_reveal_everybody_with_an_illness_and_two_are_to_blame():
    ill = (..., SPARSE.domain.position("illness", "chronic"))
    assert exactly_known(*FOUR)[ill].all()
    answer = cb.bounds(cb.publish(SPARSE, *FOUR))
    blamed = answer.explain("tenant", "18-34", "no", "car", "chronic").lower_blame
    assert set(blamed.statements) == {"[housing,work,illness]", "[age,travel,illness]"}
    assert exactly_known("[housing,work,illness]", "[age,travel,illness]")[ill].all()


def test_all_two_way_margins_pin_down_one_cell_that_holds_anybody():
    """Compared with integer programs for the least and the most of every cell."""
    size = SPARSE.domain.size
    rows, sides = [], []
    for axes in map(axes_of, PAIRS):
        others = tuple(set(range(5)) - set(axes))
        units = np.eye(size).reshape(size, *SPARSE.domain.shape)
        summed = units.sum(axis=tuple(other + 1 for other in others))
        rows.append(summed.reshape(size, -1).T)
        sides.append(SPARSE.counts.sum(axis=others).ravel())
    right = np.concatenate(sides)
    margins = LinearConstraint(np.concatenate(rows), right, right)

    def least(sign: int, cell: int) -> int:
        weights = np.zeros(size)
        weights[cell] = sign
        solved = milp(weights, constraints=margins, integrality=np.ones(size), bounds=Bounds(0))
        assert solved.success
        return round(sign * solved.fun)

    found = exactly_known(*PAIRS)
    again = [least(1, cell) == least(-1, cell) for cell in range(size)]
    assert found.ravel().tolist() == again
    alone = np.argwhere(found & (SPARSE.counts > 0))
    assert [SPARSE.domain.labels(index) for index in alone] == [
        ("tenant", "65+", "no", "car", "chronic")
    ]
