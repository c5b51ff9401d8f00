"""The audit's rule: a small count with a single attainable value is given away."""

from __future__ import annotations

import pytest

import cellbounds as cb
from cellbounds.risk import NARROW, RULE, SMALL, audit

DOMAIN = cb.Domain({"row": ["a", "b"], "col": ["x", "y"]})


def cells_of(found):
    return {cell.labels: cell for cell in found.cells}


def test_the_rule_says_what_it_is():
    assert SMALL == 3
    assert "3 or less" in RULE
    assert "single attainable value" in RULE


@pytest.mark.parametrize(("count", "unsafe"), [(0, True), (1, True), (3, True), (4, False)])
def test_small_counts_with_one_attainable_value(count, unsafe):
    # Rates and both row sums published: every cell is known.
    table = cb.Table(DOMAIN, [[count, 20], [30, 40]])
    found = audit(table, cb.publish(table, "[col|row]", "[row]"))
    cell = cells_of(found)["a", "x"]
    assert cell.disclosed
    assert cell.unsafe is unsafe
    assert found.safe is not unsafe
    assert cell.count == count


def test_large_counts_may_be_known():
    table = cb.Table(DOMAIN, [[10, 20], [30, 40]])
    found = audit(table, cb.publish(table, "[col|row]", "[row]"))
    assert all(cell.disclosed for cell in found.cells)
    assert found.safe


def test_small_counts_with_several_values_are_not_given_away():
    table = cb.Table(DOMAIN, [[1, 1], [20, 30]])
    found = audit(table, cb.publish(table, "[col|row]@1"))
    cell = cells_of(found)["a", "x"]
    assert cell.values.size > 1
    assert not cell.disclosed
    assert not cell.unsafe


def test_narrow_cells():
    # 14 = 2 + 12 = 8 + 6: two values each.
    table = cb.Table(DOMAIN, [[1, 1], [4, 8]])
    found = audit(table, cb.publish(table, "[col|row]"))
    assert [cell.values.size for cell in found.cells] == [2, 2, 2, 2]
    assert all(cell.narrow and not cell.disclosed for cell in found.cells)
    assert NARROW == 3
    assert found.safe


def test_unbounded_cells_are_neither_narrow_nor_disclosed():
    table = cb.Table(DOMAIN, [[1, 1], [4, 8]])
    found = audit(table, cb.publish(table, "[col|row]", total=False))
    assert not any(cell.narrow or cell.disclosed or cell.unsafe for cell in found.cells)


def test_sampling_zeros_count_structural_zeros_do_not():
    table = cb.Table(DOMAIN, [[0, 20], [30, 40]])
    structural = cb.Table(DOMAIN, [[0, 20], [30, 40]], structural=[[True, False], [False, False]])
    sampling = cells_of(audit(table, cb.publish(table, "[col|row]", "[row]")))["a", "x"]
    assert sampling.unsafe
    assert not sampling.structural
    known = cells_of(audit(structural, cb.publish(structural, "[col|row]", "[row]")))["a", "x"]
    assert known.disclosed
    assert known.structural
    assert not known.unsafe


def test_zero_rows_do_not_count():
    table = cb.Table(DOMAIN, [[0, 0], [30, 40]])
    found = audit(table, cb.publish(table, "[col|row]@2"))
    empty = cells_of(found)["a", "x"]
    assert empty.disclosed
    assert empty.empty_row
    assert not empty.unsafe
    assert not cells_of(found)["b", "x"].empty_row
    assert found.safe


def test_zero_rows_with_givens_in_another_order():
    domain = cb.Domain({"a": ["a0", "a1"], "b": ["b0", "b1", "b2"], "c": ["c0", "c1"]})
    counts = [[[0, 0], [9, 8], [7, 6]], [[9, 9], [0, 0], [5, 4]]]
    table = cb.Table(domain, counts)
    found = audit(table, cb.publish(table, "[c|b,a]@2"))
    empty = {cell.labels[:2] for cell in found.cells if cell.empty_row}
    assert empty == {("a0", "b0"), ("a1", "b1")}


def test_a_sampling_zero_in_a_filled_row_is_no_zero_row():
    table = cb.Table(DOMAIN, [[0, 20], [30, 40]])
    found = audit(table, cb.publish(table, "[col|row]"))
    assert cells_of(found)["a", "x"].unsafe


def test_small_row_sums_asked_about():
    # 7 = 1 + 6 only: the lone person of row a is given away by the rates of row b and N.
    table = cb.Table(DOMAIN, [[1, 0], [1, 5]])
    found = audit(table, cb.publish(table, "[col|row]"), over=("row",))
    cells = cells_of(found)
    assert cells["a",].count == 1
    assert cells["a",].unsafe
    assert not cells["b",].unsafe


def test_the_table_must_fit_the_release():
    table = cb.Table(DOMAIN, [[1, 1], [4, 8]])
    other = cb.Table(DOMAIN, [[91827, 1], [4, 8]])
    with pytest.raises(cb.InvalidInput, match=r"contradicts \[col\|row\], N=14") as caught:
        audit(other, cb.publish(table, "[col|row]"))
    assert "91827" not in str(caught.value)


def test_progress_is_told():
    seen = []
    table = cb.Table(DOMAIN, [[1, 1], [4, 8]])
    audit(
        table,
        cb.publish(table, "[col|row]"),
        progress=lambda done, total: seen.append((done, total)),
    )
    assert [done for done, _ in seen] == [0, 1, 2, 3]
    assert {total for _, total in seen} == {4}


def test_the_papers_table_is_unsafe_at_two_decimals():
    table = cb.example_table("delinquent")
    found = audit(table, cb.publish(table, "[education|county]@2"))
    assert not found.safe
    assert {cell.labels for cell in found.cells if cell.unsafe} == {
        ("Alpha", "Medium"),
        ("Alpha", "High"),
        ("Alpha", "Very High"),
        ("Gamma", "Low"),
        ("Gamma", "Very High"),
        ("Delta", "Very High"),
    }
    assert audit(table, cb.publish(table, "[education|county]@1")).safe
