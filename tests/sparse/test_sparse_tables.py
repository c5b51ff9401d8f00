"""A table kept as its occupied cells answers like the same table kept whole."""

from __future__ import annotations

import hashlib
import pickle
from itertools import product

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import cellbounds as cb
from cellbounds.data.table import DENSE_LIMIT

HUGE = 2**64 + 3


@st.composite
def domains(draw):
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    levels = {f"v{k}": [f"{k}{level}" for level in range(size)] for k, size in enumerate(sizes)}
    groupings = {}
    for k in range(draw(st.integers(0, 3))):
        of = draw(st.sampled_from(list(levels)))
        members = st.lists(st.sampled_from(levels[of]), min_size=1, unique=True)
        groups = draw(st.lists(members, min_size=1, max_size=3))
        groupings[f"g{k}"] = cb.Grouping(of, dict(enumerate(groups)))
    return cb.Domain(levels, groupings=groupings)


@st.composite
def both(draw):
    """One table twice: kept whole, and kept as a list of cells that holds some of them twice."""
    domain = draw(domains())
    every = list(product(*map(range, domain.shape)))
    whole = st.integers(0, 3) | st.just(0) | st.sampled_from([2**61, HUGE])
    held = draw(st.dictionaries(st.sampled_from(every), whole, max_size=12))
    free = [cell for cell in every if not held.get(cell)]
    closed = draw(st.lists(st.sampled_from(free), unique=True) if free else st.just([]))
    counts = np.zeros(domain.shape, dtype=object)
    mask = np.zeros(domain.shape, dtype=bool)
    lines, numbers = [], []
    for cell, count in held.items():
        counts[cell] = count
        first = draw(st.integers(0, count))
        lines += [cell, cell]
        numbers += [first, count - first]
    for cell in closed:
        mask[cell] = True
    order = draw(st.permutations(range(len(lines))))
    sparse = cb.Table.from_cells(
        domain,
        np.array([lines[k] for k in order], dtype=np.int64).reshape(-1, len(domain.shape)),
        [numbers[k] for k in order],
        structural=[domain.labels(cell) for cell in closed],
    )
    return sparse, cb.Table(domain, counts, structural=mask)


def the_same(sparse, dense):
    """Whether two tables agree in everything, asked of the occupied cells first."""
    assert sparse.total == dense.total
    assert sparse.has_structural == dense.has_structural
    for mine, theirs in zip(sparse.cells(), dense.cells(), strict=True):
        assert mine.dtype == theirs.dtype
        assert mine.tolist() == theirs.tolist()
    assert sparse == dense
    assert sparse.domain == dense.domain
    assert sparse.domain.groupings == dense.domain.groupings
    assert sparse.digest == dense.digest
    assert sparse.keyed_digest(b"key") == dense.keyed_digest(b"key")
    assert sparse.counts.dtype == dense.counts.dtype
    assert np.array_equal(sparse.counts, dense.counts)
    assert np.array_equal(sparse.structural, dense.structural)


@given(both())
def test_a_list_of_cells_is_the_table(tables):
    sparse, dense = tables
    places, counts = sparse.cells()
    assert places.shape == (len(counts), len(sparse.domain.shape))
    assert all(counts > 0)
    assert places.tolist() == np.argwhere(dense.counts != 0).tolist()
    for labels in dense.domain.cells():
        assert sparse[labels] == dense[labels]
    assert sparse._dense is None
    the_same(sparse, dense)


@given(both(), st.data())
def test_margins_and_layouts(tables, data):
    sparse, dense = tables
    names = [*dense.domain.names, *dense.domain.groupings]
    kept = data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    margin = sparse.margin(kept)
    assert margin._dense is None
    the_same(margin, dense.margin(kept))
    split = data.draw(st.integers(1, len(kept)))
    responses, givens = kept[:split], kept[split:]
    laid_out = sparse.reshape(response=responses, given=givens)
    the_same(laid_out, dense.reshape(response=responses, given=givens))
    plain = [name for name in kept if name in dense.domain]
    if plain:
        rates = sparse.conditional(plain[:1], plain[1:])
        assert rates.tolist() == dense.conditional(plain[:1], plain[1:]).tolist()
    assert sparse._dense is None


@given(both(), st.data())
def test_merging_and_grouping(tables, data):
    sparse, dense = tables
    variable = data.draw(st.sampled_from(dense.domain.names))
    levels = dense.domain.levels(variable)
    some = data.draw(st.lists(st.sampled_from(levels), min_size=1, unique=True))
    the_same(sparse.merge(variable, {"new": some}), dense.merge(variable, {"new": some}))
    grown = [one.grouped("more", of=variable, levels={"x": some}) for one in tables]
    the_same(grown[0], grown[1])
    the_same(grown[0].margin(["more"]), grown[1].margin(["more"]))


@given(both())
def test_frames_and_pickles(tables):
    sparse, dense = tables
    for copy in (pickle.loads(pickle.dumps(sparse)), pickle.loads(pickle.dumps(dense))):
        the_same(copy, dense)
        with pytest.raises(ValueError, match="read-only"):
            copy.counts[...] = 0
    frame = sparse.to_frame("pandas")
    assert frame.equals(dense.to_frame("pandas"))
    assert [int(count) for count in frame["count"]] == dense.counts.ravel().tolist()
    assert [tuple(line) for line in frame[list(dense.domain.names)].to_numpy()] == list(
        dense.domain.cells()
    )
    occupied = frame[frame["count"] != 0].reset_index(drop=True)
    listed = sparse.to_frame("pandas", zeros=False)
    assert listed.to_dict("list") == occupied.to_dict("list")
    assert repr(sparse) == repr(dense)


def test_pickles_of_sparse_tables_stay_sparse():
    table = cb.Table.from_cells(cb.Domain({"a": range(1000), "b": range(1000)}), [[1, 2]], [3])
    assert table.counts[1, 2] == 3
    assert len(pickle.dumps(table.cells())) < 1000
    assert len(pickle.dumps(table._sparse)) < 1000
    assert pickle.loads(pickle.dumps(table))._dense is None


@given(tables=both())
def test_files_hold_the_same(tables, tmp_path_factory):
    sparse, dense = tables
    folder = tmp_path_factory.mktemp("written")
    sparse.write(folder / "sparse.csv")
    dense.write(folder / "dense.csv")
    assert (folder / "sparse.csv").read_bytes() == (folder / "dense.csv").read_bytes()


def test_tables_that_differ_are_not_equal():
    domain = cb.Domain({"a": ["x", "y"], "b": ["x", "y"]})
    table = cb.Table.from_cells(domain, [[0, 1]], [3])
    assert table == cb.Table(domain, [[0, 3], [0, 0]])
    assert table != cb.Table(domain, [[0, 0], [3, 0]])
    assert table != cb.Table.from_cells(domain, [[0, 1]], [4])
    assert table != cb.Table.from_cells(domain, [[0, 1]], [3], structural=[("x", "x")])
    assert table != cb.Table.from_cells(domain, [[0, 1], [1, 1]], [3, 1])


@pytest.mark.parametrize(
    ("places", "counts", "structural", "said"),
    [
        ([[0, 2]], [1], (), "position 2 of a level of 'b'; it has 2 levels"),
        ([[-1, 0]], [1], (), "position -1 of a level of 'a'"),
        ([[0, 1, 1]], [1], (), r"shape \(1, 3\)"),
        ([[0.5, 1.0]], [1], (), "whole numbers"),
        ([[0, 1]], [1, 2], (), "one count for each cell"),
        ([[0, 1]], [-1], (), r"\('x', 'y'\) is negative"),
        ([[0, 1]], np.array([-7]), (), r"\('x', 'y'\) is negative"),
        ([[0, 1]], ["1/2"], (), r"\('x', 'y'\) is negative or not whole"),
        ([[0, 1]], ["many"], (), r"\('x', 'y'\) is not a number"),
        ([[0, 1]], [3], [("x", "y")], r"\('x', 'y'\) is declared a structural zero"),
        ([[0, 1]], [3], [("x", "z")], "unknown level 'z'"),
    ],
)
def test_lists_of_cells_that_are_refused(places, counts, structural, said):
    domain = cb.Domain({"a": ["x", "y"], "b": ["x", "y"]})
    with pytest.raises(cb.InvalidInput, match=said) as refusal:
        cb.Table.from_cells(domain, places, counts, structural=structural)
    assert "7" not in str(refusal.value)


def twenty(levels=4, variables=20):
    return cb.Domain(
        {f"v{k}": [f"{k}.{level}" for level in range(levels)] for k in range(variables)}
    )


def test_digests_of_small_tables_are_what_they_were():
    assert cb.datasets.read("mp3").digest.startswith("51196a525f0a024c")
    domain = cb.Domain({"a": ["x", "y"], "b": [1, 2, 3]})
    table = cb.Table.from_cells(domain, [[1, 1]], [HUGE], structural=[("x", 2)])
    told = f'[[["a", ["x", "y"]], ["b", ["1", "2", "3"]]], [1], [0, 0, 0, 0, {HUGE}, 0]]'
    assert table.digest == hashlib.sha256(told.encode()).hexdigest()


def test_nothing_of_the_size_of_a_huge_domain_is_made():
    domain = twenty()
    assert domain.size == 4**20
    table = cb.Table.from_cells(
        domain, [[0] * 20, [3] * 20], [5, 6], structural=[domain.labels([1] * 20)]
    )
    assert table.margin(["v19", "v0"]).counts[3, 3] == 6
    assert not table.margin(["v3"]).has_structural
    for ask in (lambda: table.counts, lambda: table.structural, table.to_frame):
        with pytest.raises(cb.TooMuchWork, match=r"table\.margin\(\.\.\.\), over=\[\.\.\.\]"):
            ask()
    with pytest.raises(cb.TooMuchWork, match="Name fewer variables"):
        table.reshape(response=["v0"], given=domain.names[1:])
    assert table.digest != table.merge("v3", {"new": ["3.0"]}).digest
    assert len(table.to_frame("pandas", zeros=False)) == 2
    everything = table.margin(reversed(domain.names))
    assert everything.has_structural
    assert everything[tuple(reversed(domain.labels([3] * 20)))] == 6
    with pytest.raises(cb.InvalidInput, match="needs"):
        table.with_domain(twenty(levels=3))


@pytest.mark.parametrize("variables", [31, 32, 33, 65, 100])
def test_domains_beyond_64_bits(variables):
    """Numbers of cells beyond 64 bits, and more variables than an array can have axes."""
    domain = twenty(4, variables)
    rng = np.random.default_rng(variables)
    places = rng.integers(0, 4, (50, variables))
    places[1] = places[0]
    places[2, :-1], places[2, -1] = places[0, :-1], (places[0, -1] + 1) % 4
    table = cb.Table.from_cells(domain, places, np.arange(1, 51))
    expected = {}
    for line, count in zip(places.tolist(), range(1, 51), strict=True):
        expected[tuple(line)] = expected.get(tuple(line), 0) + count
    found, counts = table.cells()
    assert found.tolist() == sorted(map(list, expected))
    assert dict(zip(map(tuple, found.tolist()), counts.tolist(), strict=True)) == expected
    assert table[domain.labels(places[0])] == 3
    absent = (places[0] + 1) % 4
    assert table[domain.labels(absent)] == 0
    last = domain.names[-1]
    assert table.margin([last]).counts.tolist() == [
        sum(count for cell, count in expected.items() if cell[-1] == level) for level in range(4)
    ]
    merged = table.merge(last, {"rest": [f"{variables - 1}.1", f"{variables - 1}.3"]})
    assert merged.total == table.total
    turned = table.margin(reversed(domain.names))
    assert turned[tuple(reversed(domain.labels(places[2])))] == 3
    assert turned.margin(domain.names) == table
    half = variables // 2
    one = cb.Domain({"all": ["x"], **{name: domain.levels(name) for name in domain.names}})
    assert cb.Table.from_cells(
        one, np.hstack([np.zeros((50, 1), dtype=int), places]), np.arange(1, 51)
    ).margin(domain.names[half:]) == table.margin(domain.names[half:])
    assert pickle.loads(pickle.dumps(table)) == table
    assert len(table.digest) == 64


def test_groups_that_share_no_level_in_a_large_margin():
    domain = twenty().with_groupings({"g": cb.Grouping("v0", {"low": ["0.0"], "high": ["0.1"]})})
    table = cb.Table.from_cells(domain, [[0] * 20], [1])
    assert table.margin(["v0", "g"]).structural.sum() == 6
    with pytest.raises(cb.TooMuchWork, match="'v0' and 'g' together"):
        table.margin([*domain.names, "g"])
    assert table.margin([*domain.names[1:], "g"]).total == 1


def test_large_tables_are_listed_up_to_the_limit(monkeypatch):
    import cellbounds.data.table as module

    table = cb.Table.from_cells(cb.Domain({"a": range(10), "b": range(10)}), [[1, 2]], [3])
    monkeypatch.setattr(module, "DENSE_LIMIT", 99)
    with pytest.raises(cb.TooMuchWork, match="100 cells"):
        table.counts  # noqa: B018  # asking is what is tested
    monkeypatch.setattr(module, "DENSE_LIMIT", 100)
    assert table.counts[1, 2] == 3
    assert DENSE_LIMIT == 2**27


def test_groups_of_huge_counts_are_added_up_exactly():
    levels = {"a": ["x", "y", "z"]}
    counts = [2**63, 7, 2**53 + 1]
    groups = {"low": ["x", "y"], "high": ["z"]}
    whole = cb.Table(cb.Domain(levels), counts)
    listed = cb.Table.from_cells(cb.Domain(levels), [[0], [1], [2]], counts)
    for table in (whole, listed):
        grouped = table.grouped("g", of="a", levels=groups).margin(["g"])
        assert grouped.counts.tolist() == [2**63 + 7, 2**53 + 1]
        merged = table.merge("a", {"low": ["x", "y"]})
        assert merged.counts.tolist() == [2**63 + 7, 2**53 + 1]
        assert {type(count) for count in merged.counts.tolist()} == {int}
