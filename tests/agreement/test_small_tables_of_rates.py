"""Small tables of rates in one call, against document 004's phases and the general way."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cellbounds as cb
from cellbounds.model.rates.layout import make_layout
from cellbounds.model.structure import gather
from cellbounds.runtime.compilation import PATIENCE, Compiled
from cellbounds.solvers.conditional import small_tables
from cellbounds.solvers.conditional.cells import CellCounts
from cellbounds.solvers.conditional.feasible import distinct_rows, solve_rows
from strategies import decimal_text, few
from threephase import PlainRow, three_phases


def released(rates, total, **options):
    height, width = len(rates), len(rates[0])
    domain = cb.Domain({"row": range(height), "col": range(width)})
    conditional = cb.Conditional(["col"], given=["row"], rates=rates, **options)
    return cb.Release(domain, [cb.Total(total), conditional])


def rows_of(release):
    return distinct_rows(make_layout(gather(release).conditional, release.domain.names).problem)


def interpreted(release):
    """What kernels find that run as plain Python: nothing is compiled for short tests."""
    rows = rows_of(release)
    if not small_tables.fits(rows):
        return "unfit"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Compiled, "__call__", Compiled._interpreted)
        found = small_tables.ends(rows)
    return found and tuple(side[rows.kind].tolist() for side in found)


@st.composite
def small_releases(draw, totals=(0, 0, 1, -1, 7, 50, 200), largest=(3, 12, 40)):
    """Rates of a small table, with any tolerance, and N; often some rows are alike."""
    height, width = draw(st.integers(1, 5)), draw(st.integers(2, 4))
    most, digits = draw(st.sampled_from(largest)), draw(st.sampled_from([1, 1, 2, 3]))
    row = st.lists(st.integers(0, most), min_size=width, max_size=width).filter(any)
    counts = draw(st.lists(row, min_size=height, max_size=height))
    if draw(st.booleans()):
        counts.append(counts[0])
    unit = 10**digits
    # Rows of little tolerance beside others: their sums have gaps much longer.
    tolerances = {
        1: st.sampled_from(["0.1", "0.1", "0.3"]),
        2: st.sampled_from(["0.1", "0.05", "0.01", "0.007"]),
        3: st.sampled_from(["0.001", "0.001", "0.2"]),
    }
    rates = [[decimal_text(x * unit // sum(line), digits) for x in line] for line in counts]
    options = {
        "eps": [[draw(tolerances[digits])] * width for _ in counts],
        "strict": draw(st.booleans()),
    }
    total = max(sum(map(sum, counts)) + draw(st.sampled_from(totals)), 1)
    return released(rates, total, **options), total


def phases(release, total):
    conditional = release.statements[1]
    height, width = conditional.shape
    rows = []
    for i in range(height):
        ends = zip(*(conditional.intervals.interval(i, j) for j in range(width)), strict=True)
        rows.append(PlainRow(*map(list, ends), [0] * width, [None] * width))
    found = three_phases(rows, total)
    if found is None:
        return None
    return tuple([[side(cell) for cell in row] for row in found[1]] for side in (min, max))


@given(small_releases())
def test_document_004s_phases(problem):
    release, total = problem
    found = interpreted(release)
    assert found in ("unfit", phases(release, total))


def within(*tolerances, width=3):
    return [[each] * width for each in tolerances]


PARTICULAR = {
    "the row that fills its window first looks at the second": (
        [["8/20", "0/20", "12/20"], ["10/20", "3/20", "6/20"]],
        14,
        {"eps": within("0.05", "0.05"), "strict": True},
    ),
    "shares that only the others' rates limit": (
        [["2/10", "6/10", "0/10"], ["2/10", "2/10", "5/10"], *[["2/10", "6/10", "0/10"]] * 2],
        39,
        {"eps": within("0.2", "0.1", "0.2", "0.2")},
    ),
    "two rows alike": (
        [["0.05", "0.47", "0.47"], ["0.16", "0.83", "0.00"], ["0.05", "0.47", "0.47"]],
        72,
        {"eps": within("0.01", "0.2", "0.01")},
    ),
    "open ends": (
        [["5/20", "10/20", "4/20"], ["5/20", "5/20", "10/20"]],
        54,
        {"eps": within("0.1", "0.05"), "strict": True},
    ),
    "the largest count is not under one of the last sums": (
        [["0.06", "0.00", "0.34", "0.17", "0.41"], ["0.23", "0.20", "0.00", "0.36", "0.20"]],
        355,
        {"rounding": "down", "rule": "interval"},
    ),
}


@pytest.mark.parametrize("name", PARTICULAR)
def test_particular_tables(name):
    rates, total, options = PARTICULAR[name]
    release = released(rates, total, **options)
    assert interpreted(release) == phases(release, total)


@few(4)
@given(small_releases((0, 10**3, 10**5, 10**9 + 7, 10**15), (12, 400)))
def test_the_general_way(problem):
    """From many people on, where sets of sums are full and only the ends are looked at."""
    release, _ = problem
    found = interpreted(release)
    if found in ("unfit", None):  # left to the general way, which can say why
        return
    rows = solve_rows(rows_of(release))
    assert found == tuple(side[rows.kind].tolist() for side in CellCounts(rows).bounds())


@pytest.mark.long
@given(st.lists(small_releases(), min_size=1, max_size=5))
def test_compiled_and_interpreted_are_the_same(problems):
    for release, _ in problems:
        rows = rows_of(release)
        if small_tables.fits(rows):
            found = small_tables.ends(rows)
            found = found and tuple(side[rows.kind].tolist() for side in found)
            assert found == interpreted(release)


TWO = [["0.4", "0.6"], ["0.3", "0.7"]]


@pytest.mark.parametrize(
    ("rates", "total", "options"),
    [
        (TWO[:1], 10, {"eps": "0.1"}),  # one row holds everybody
        (TWO, 2**62 // 10, {"eps": "0.1"}),  # products that may leave 64 bits
        (TWO, 10**9, {"eps": "0"}),  # exact
        (TWO, 10**9, {"eps": "0.0000001"}),  # too many sums to test
        ([["0.4", "0.4"], ["0.3", "0.7"]], 100, {"eps": "0.1"}),  # adds to one at an end only
        ([["0.2", "0.2"], ["0.3", "0.7"]], 100, {"eps": "0.1"}),  # cannot add to one
    ],
)
def test_what_is_left_to_the_general_way(rates, total, options):
    assert not small_tables.fits(rows_of(released(rates, total, **options)))


def test_up_to_the_largest_numbers():
    release = released(TWO, 2**62 // 12 - 1, eps="0.1")
    rows = solve_rows(rows_of(release))
    expected = tuple(side.tolist() for side in CellCounts(rows).bounds())
    assert interpreted(release) == expected
    assert expected[1][0][0] > 2**60 // 12


def test_what_fits_no_table_is_named(monkeypatch):
    monkeypatch.setattr(Compiled, "spent", PATIENCE)
    monkeypatch.setattr(Compiled, "__call__", Compiled._interpreted)
    release = released(TWO, 1, eps="0.1")
    assert interpreted(release) is None
    with pytest.raises(cb.InconsistentRelease, match="N=1 is smaller than the rows"):
        cb.bounds(release)


FOUR = [["0.11", "0.29", "0.60"], ["0.31", "0.69", "0.00"], ["0.25", "0.25", "0.50"]]


def test_answers_go_on_from_there(monkeypatch):
    """Witnesses, attainable counts and row sums are worked out when they are asked for."""
    monkeypatch.setattr(Compiled, "spent", PATIENCE)
    monkeypatch.setattr(Compiled, "__call__", Compiled._interpreted)
    release = released(FOUR, 135, eps="0.01")
    answer, values = cb.bounds(release), cb.attainable(release)
    assert answer._source._ends is not None
    assert values._source._ends is not None
    monkeypatch.setattr(small_tables, "fits", lambda _: False)
    general = cb.bounds(release)
    assert general._source._ends is None
    assert np.array_equal(answer.lower, general.lower)
    assert np.array_equal(answer.upper, general.upper)
    for cell in release.domain.cells():
        assert (values[cell].smallest, values[cell].largest) == answer[cell]
        for at in ("lower", "upper"):
            assert answer.witness(*cell, at=at)[cell] == answer[cell][at == "upper"]
    chosen = cb.bounds(release, cells=[(2, 1), (0, 2)])
    assert chosen.upper.tolist() == [answer[2, 1][1], answer[0, 2][1]]
    assert cb.bounds(release, over=["row"])._source._ends is None


def test_short_work_loads_no_compiler(tmp_path):
    code = (
        "import sys, cellbounds as cb; from cellbounds.runtime.compilation import Compiled; "
        "rates = cb.Conditional(['b'], ['a'], rates=[['0.4', '0.6'], ['0.3', '0.7']], eps='0.1'); "
        "release = cb.Release(cb.Domain({'a': [1, 2], 'b': [1, 2]}), [cb.Total(50), rates]); "
        "cb.bounds(release); print('numba' in sys.modules, 0 < Compiled.spent < 1)"
    )
    found = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.split() == ["False", "True"]
    assert not any(tmp_path.iterdir())
