"""Controlled rounding beside every rounding there is, and its verdicts beside every table."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cellbounds as cb
from bruteforce import holds, summed
from cellbounds.disclosure.protecting.controlled_rounding import controlled_rounding

SHAPES = {
    (2, 3): [["[a+,b+]"], ["[a,b]", "[a]"], ["[a,b]"]],
    (3, 2): [["[a]", "[b]"], ["[a+,b+]"]],
    (2, 2, 2): [["[a+,b+,c+]"], ["[a+,b+]", "[b+,c+]"], ["[a,b]", "[b,c]", "[a,c]"]],
}


@st.composite
def tables(draw: st.DrawFn) -> tuple[cb.Table, list[str], int]:
    shape = draw(st.sampled_from(sorted(SHAPES)))
    size = int(np.prod(shape))
    counts = draw(st.lists(st.integers(0, 5), min_size=size, max_size=size))
    levels = {
        name: [f"{name}{k}" for k in range(width)]
        for name, width in zip("abc", shape, strict=False)
    }
    table = cb.Table(cb.Domain(levels), np.array(counts).reshape(shape))
    return table, draw(st.sampled_from(SHAPES[shape])), draw(st.sampled_from([2, 3, 5]))


def figures_of(done) -> dict[tuple, int]:
    """The published figures by the cells of the table behind them."""
    domain = done.cells.domain
    cells = list(domain.cells())
    found = {}
    for entry in done.to_dict()["figures"]:
        own = {domain.names.index(name): label for name, label in entry["cell"].items()}
        behind = tuple(n for n, one in enumerate(cells) if all(one[a] == b for a, b in own.items()))
        found[behind] = entry["figure"]
    return found


def agreements(parts: list[tuple]) -> np.ndarray:
    """Every two collections of disjoint sets with the same union, as a row of 1, 0 and -1."""
    masks = [sum(1 << k for k in part) for part in parts]
    by_union: dict[int, np.ndarray] = {}
    rows = []
    for size in range(1, len(parts) + 1):
        for chosen in itertools.combinations(range(len(parts)), size):
            union = sum(masks[k] for k in chosen)
            if union.bit_count() == sum(masks[k].bit_count() for k in chosen) and union < 1 << 8:
                row = np.zeros(len(parts), dtype=int)
                row[list(chosen)] = 1
                rows.append(row - by_union.setdefault(union, row))
    return np.unique(np.array(rows), axis=0)


def distances(parts: list[tuple], counts: list[int], base: int, reach: int) -> list[int]:
    """The distances of all roundings of sets of cells that add up, wherever sets add up."""
    true = np.array([sum(counts[k] for k in part) for part in parts])
    choices = [
        [y * base for y in range(value // base + reach + 2) if abs(y * base - value) < reach * base]
        for value in true.tolist()
    ]
    every = np.array(list(itertools.product(*choices)))
    adding_up = every[~(every @ agreements(parts).T).any(axis=1)]
    return np.abs(adding_up - true).sum(axis=1).tolist()


@given(tables())
def test_figures_add_up_and_are_the_nearest(case: tuple[cb.Table, list[str], int]) -> None:
    table, margins, base = case
    done = cb.protect(table, *margins, method="round", base=base, independent=False)
    figures = figures_of(done)
    if len(figures) <= 13:
        assert not (agreements(list(figures)) @ list(figures.values())).any()
    flat = table.counts.ravel().tolist()
    true = {behind: sum(flat[k] for k in behind) for behind in figures}
    assert all(one % base == 0 and one >= 0 for one in figures.values())
    assert all(abs(figures[one] - true[one]) < done.reach * base for one in figures)
    assert done.cost == sum(abs(figures[one] - true[one]) for one in figures)
    assert done.optimal
    if len(figures) <= 13 and done.reach == 1:
        found = distances(list(figures), flat, base, done.reach)
        assert min(found) == done.cost
    elif len(figures) <= 13:
        assert not distances(list(figures), flat, base, 1)
    if len(table.domain.names) == 2:
        assert done.reach == 1  # two-way tables always have figures beside the counts


@given(st.lists(st.integers(0, 3), min_size=4, max_size=4), st.sampled_from([2, 3]))
def test_verdicts_are_those_of_all_tables_that_fit(flat: list[int], base: int) -> None:
    rule = cb.policies.SmallCounts(below=3, zeros=False, values=3)
    policy = cb.policies.Policy("house", rules=[rule])
    table = cb.Table(cb.Domain({"a": ["x", "y"], "b": ["u", "v"]}), np.reshape(flat, (2, 2)))
    done = cb.protect(table, "[a+,b+]", method="round", base=base, policy=policy, independent=False)
    release = done.release
    most = release.statements[0].upper.ravel().tolist()
    fitting = [
        one
        for one in map(np.array, itertools.product(*(range(end + 1) for end in most)))
        if all(holds(said, release, one.reshape(2, 2)) for said in release.statements)
    ]
    assert any((one == flat).all() for one in fitting)
    found = False
    for names in [("a", "b"), ("a",), ("b",)]:
        true = summed(release, table.counts, names).ravel().tolist()
        values = [summed(release, one.reshape(2, 2), names).ravel() for one in fitting]
        for place, count in enumerate(true):
            found |= 1 <= count <= 2 and len({int(one[place]) for one in values}) < 3
    assert done.safe == (not found)


def three_way(seed: int) -> tuple[np.ndarray, list[tuple[list[int], list[int]]]]:
    """The two-way sums of a table of 3 by 3 by 3 ones and zeros beside multiples of the base."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 2, size=(3, 3, 3))
    inner = np.arange(27).reshape(3, 3, 3)
    sums, totals = [], []
    for axis in range(3):
        for parts in np.moveaxis(inner, axis, -1).reshape(-1, 3):
            sums.append(([27 + len(totals)], parts.tolist()))
            totals.append(int(counts.ravel()[parts].sum()))
    return np.array([*counts.ravel().tolist(), *totals]), sums


@pytest.mark.parametrize("seed", range(12))
def test_three_way_tables_may_have_none_beside_the_counts(seed: int) -> None:
    counts, sums = three_way(seed)
    found = controlled_rounding(counts, sums, 2)
    assert found is not None
    assert found.bound == found.distance
    assert found.nearer
    for total, parts in sums:
        assert found.figures[total].sum() == found.figures[parts].sum()
    assert (np.abs(found.figures - counts) < found.reach * 2).all()


def test_no_figures_beside_the_counts_is_proven() -> None:
    # Each of x, y, z is 1 and each two of them add to 2: beside 1 are 0 and 2, and 2 stays.
    # Then x + y = y + z = x + z = 2 has no solution in 0 and 2.
    counts = np.array([1, 1, 1, 2, 2, 2])
    sums = [([3], [0, 1]), ([4], [1, 2]), ([5], [0, 2])]
    found = controlled_rounding(counts, sums, 2)
    assert found is not None
    assert (found.reach, found.nearer, found.distance, found.bound) == (2, True, 5, 5)
    assert controlled_rounding(counts, sums, 2, reaches=1) is None
