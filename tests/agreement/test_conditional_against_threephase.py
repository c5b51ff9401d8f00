"""Larger N, where saturation, boundary rows and windows are at work, against plain sets."""

from __future__ import annotations

from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cellbounds as cb
from cellbounds.solvers.conditional import admissible, cells, feasible
from cellbounds.statements.rounding import round_rows
from strategies import decimal_text, few
from threephase import PlainRow, three_phases


@st.composite
def row_problems(draw):
    """Rates of rows by columns with N up to some hundreds, and lower and upper priors."""
    height, width = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    largest = draw(st.sampled_from([3, 12, 40]))
    counts = np.array(
        draw(
            st.lists(
                st.lists(st.integers(0, largest), min_size=width, max_size=width),
                min_size=height,
                max_size=height,
            )
        )
    ).reshape(height, width)
    counts[counts.sum(axis=1) == 0, 0] = 1
    if draw(st.booleans()):
        counts[0] = 0
        counts[0, -1] = draw(st.integers(1, 5))  # a row with a lone positive cell
    digits = draw(st.sampled_from([1, 1, 2]))
    rule = draw(st.sampled_from(["nearest", "half-even", "down", "up", "consistent"]))
    units = round_rows(counts, digits, rule)
    options: dict = {"rounding": rule, "digits": digits, "rule": "interval"}
    if draw(st.booleans()):
        options = {
            "eps": draw(st.sampled_from(["0.1", "0.05", "0.03", "0.01", "0.005", "0"])),
            "strict": draw(st.booleans()),
        }
    rates = [[decimal_text(int(x), digits) for x in row] for row in units]
    total = int(counts.sum()) + draw(st.sampled_from([0, 0, 1, -1, 50, 200]))
    lower, upper = {}, {}
    if draw(st.integers(0, 3)) == 0:
        for i, j in np.ndindex(counts.shape):
            kind = draw(st.sampled_from(["none", "none", "lower", "upper"]))
            if kind == "lower":
                lower[f"r{i}", f"c{j}"] = max(0, int(counts[i, j]) - draw(st.integers(0, 3)))
            if kind == "upper" and draw(st.booleans()):
                upper[f"r{i}", f"c{j}"] = int(counts[i, j]) + draw(st.integers(0, 3))
    domain = cb.Domain(
        {"row": [f"r{i}" for i in range(height)], "col": [f"c{j}" for j in range(width)]}
    )
    conditional = cb.Conditional(["col"], given=["row"], rates=rates, **options)
    statements = [cb.Total(max(total, 0)), conditional]
    if lower or upper:
        statements.append(cb.Known(["row", "col"], lower=lower or None, upper=upper or None))
    return cb.Release(domain, statements), max(total, 0), lower, upper


def plain_rows(release, lower, upper):
    conditional = next(s for s in release.statements if isinstance(s, cb.Conditional))
    height, width = conditional.shape
    rows = []
    for i in range(height):
        ends = [conditional.intervals.interval(i, j) for j in range(width)]
        keys = [(f"r{i}", f"c{j}") for j in range(width)]
        rows.append(
            PlainRow(
                [end[0] for end in ends],
                [end[1] for end in ends],
                [end[2] for end in ends],
                [end[3] for end in ends],
                [lower.get(key, 0) for key in keys],
                [upper.get(key) for key in keys],
            )
        )
    return rows


def check_agreement(release, expected):
    """Row sums, counts of cells, their extremes and witnesses against the three phases."""
    if expected is None:
        with pytest.raises(cb.InconsistentRelease):
            cb.bounds(release)
        return
    answer, values = cb.bounds(release), cb.attainable(release)
    row_values = cb.attainable(release, over=["row"])
    for i, (row, held) in enumerate(zip(*expected, strict=True)):
        assert row_values[f"r{i}"] == row
        assert list(row_values[f"r{i}"]) == sorted(row)
        for j, one in enumerate(held):
            assert values[f"r{i}", f"c{j}"] == one
            assert answer[f"r{i}", f"c{j}"] == (min(one), max(one))
    for at in ("lower", "upper"):
        answer.witness("r0", "c0", at=at)


@given(row_problems())
def test_three_phases(problem):
    release, total, lower, upper = problem
    expected = three_phases(plain_rows(release, lower, upper), total)
    check_agreement(release, expected)
    if expected is None:
        return
    answer, linear = cb.bounds(release), cb.bounds(release, kind="linear")
    assert (linear.lower <= answer.lower).all()
    assert (linear.upper >= answer.upper).all()


@pytest.mark.parametrize("total", [15, 18, 21, 23])
def test_a_row_of_exact_and_free_cells_beside_an_exact_row(total):
    """Sums 4, 8, 10, 12, ...: some of the first multiples of the step are missing."""
    domain = cb.Domain({"row": ["r0", "r1"], "col": ["c0", "c1", "c2"]})
    rates = cb.Conditional(
        ["col"],
        ["row"],
        rates=[["1/2", "1/4", "1/4"], ["1/3", "1/3", "1/3"]],
        eps=[["0", "0.08", "0.08"], ["0", "0", "0"]],
    )
    check_everything(cb.Release(domain, [cb.Total(total), rates]), total)


LATE_EXTREMES = [
    # Rates that add to less than one: the largest count is not under one of the last few sums.
    (
        337,
        "down",
        [
            ["0.0", "0.4", "0.1", "0.1", "0.2"],
            ["0.2", "0.2", "0.0", "0.1", "0.3"],
            ["0.3", "0.2", "0.2", "0.2", "0.0"],
        ],
    ),
    (
        355,
        "down",
        [["0.06", "0.00", "0.34", "0.17", "0.41"], ["0.23", "0.20", "0.00", "0.36", "0.20"]],
    ),
]


def check_everything(release, total):
    check_agreement(release, three_phases(plain_rows(release, {}, {}), total))


@pytest.mark.parametrize(("total", "rounding", "rates"), LATE_EXTREMES)
def test_extremes_that_come_late(total, rounding, rates):
    domain = cb.Domain(
        {
            "row": [f"r{i}" for i in range(len(rates))],
            "col": [f"c{j}" for j in range(len(rates[0]))],
        }
    )
    conditional = cb.Conditional(["col"], ["row"], rates=rates, rounding=rounding, rule="interval")
    check_everything(cb.Release(domain, [cb.Total(total), conditional]), total)


@pytest.mark.parametrize("total", [600, 1501, 2600])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (["0.63", "0.38"], ["0.33", "0.67"]),  # 5/8 and 3/8 exactly: multiples of 8
        (["5/16", "11/16"], ["0.41", "0.59"]),
        (["1/3", "2/3"], ["0.05", "0.95"]),
    ],
)
def test_a_free_row_whose_sums_are_strides_apart(first, second, total):
    """The other row makes multiples only: neighbouring counts of a cell need not meet at once."""
    domain = cb.Domain({"row": ["r0", "r1"], "col": ["c0", "c1"]})
    eps = [["0", "0"], ["0.005", "0.005"]]
    if first == ["0.63", "0.38"]:
        eps = [["0.005", "0.005"], ["0.005", "0.005"]]
    conditional = cb.Conditional(["col"], ["row"], rates=[first, second], eps=eps)
    release = cb.Release(domain, [cb.Total(total), conditional])
    check_everything(release, total)
    with patch.multiple(feasible, **WAYS["residues"]):  # as for a larger N
        check_everything(release, total)


@st.composite
def mixed_rows(draw):
    """Rows of exact and free cells beside each other, some of them alike, some capped."""
    height, width = draw(st.integers(1, 4)), draw(st.integers(2, 4))
    kinds = draw(st.lists(st.integers(0, 1), min_size=height, max_size=height))
    rates, eps = [], []
    for i in range(height):
        if i and kinds[i]:
            rates.append(rates[-1])
            eps.append(eps[-1])
            continue
        parts = draw(st.lists(st.integers(0, 4), min_size=width, max_size=width))
        parts[0] += not sum(parts)
        rates.append([f"{part}/{sum(parts)}" for part in parts])
        choices = st.sampled_from(["0", "0", "0.05", "0.08", "0.2"])
        eps.append(draw(st.lists(choices, min_size=width, max_size=width)))
    domain = cb.Domain(
        {"row": [f"r{i}" for i in range(height)], "col": [f"c{j}" for j in range(width)]}
    )
    total = draw(st.integers(1, 90))
    conditional = cb.Conditional(
        ["col"], ["row"], rates=rates, eps=eps, strict=draw(st.integers(0, 4)) == 0
    )
    statements = [cb.Total(total), conditional]
    caps = {}
    if draw(st.booleans()):
        caps = {f"r{i}": draw(st.integers(1, 60)) for i in range(height) if draw(st.booleans())}
    if caps:
        statements.append(cb.Known(["row"], upper=caps))
    return cb.Release(domain, statements), total, caps


WAYS = {
    "as it comes": {"SINGLES": 1 << 20},
    "residues": {"SMALL_WINDOW": 0, "LARGE_WINDOW": 0, "FEW": 0, "RESIDUE_GAIN": 0},
    "sparse": {"SMALL_WINDOW": 0, "LARGE_WINDOW": 0, "FEW": 0, "RESIDUE_LIMIT": 0},
}


@pytest.mark.parametrize("way", WAYS)
@given(problem=mixed_rows())
def test_exact_and_free_cells_in_one_row(way, problem):
    release, total, caps = problem
    rows = plain_rows(release, {}, {})
    for i, row in enumerate(rows):
        row.most = caps.get(f"r{i}")
    expected = three_phases(rows, total)
    with patch.multiple(feasible, **WAYS[way]):
        check_agreement(release, expected)


@given(row_problems())
def test_products_beyond_64_bits(problem):
    """The same answers when every product is split by the scale, as for very large N."""
    release, total, lower, upper = problem
    expected = three_phases(plain_rows(release, lower, upper), total)
    with patch.object(admissible, "SAFE", 4):
        check_agreement(release, expected)


@given(row_problems())
def test_long_searches(problem):
    """The same answers when nothing ends a search early, only the period of the scale."""
    release, total, lower, upper = problem
    expected = three_phases(plain_rows(release, lower, upper), total)

    def never(counts, rows, *_):
        return np.zeros(len(rows), dtype=bool)

    with patch.object(cells.CellCounts, "_settled", never):
        check_agreement(release, expected)


@given(row_problems(), st.integers(1, 60))
def test_spread_of_a_cell_within_a_row_sum(problem, n):
    """Document 004: at most two counts when n < 1/eps, otherwise a spread of 2 ceil(eps n)."""
    release, _, _, _ = problem
    conditional = next(s for s in release.statements if isinstance(s, cb.Conditional))
    if conditional.eps is None:
        return
    eps = conditional.eps[0]
    domain = release.domain
    for i in range(conditional.shape[0]):
        statements = [conditional, cb.Known(["row"], values={f"r{i}": [n]})]
        try:
            found = cb.attainable(cb.Release(domain, statements))
        except cb.InconsistentRelease:
            continue
        for j in range(conditional.shape[1]):
            values = found[f"r{i}", f"c{j}"]
            rate = conditional.rates[i, j]
            if eps and n < 1 / eps:
                assert values.size <= 2
                assert values.smallest >= np.floor(rate * n)
                assert values.largest <= -((-rate * n) // 1)
            else:
                assert values.largest - values.smallest <= 2 * -((-eps * n) // 1)


@few(10)
@given(st.integers(0, 2**32))
def test_cost_free_growth_keeps_the_answer_exact(seed):
    """The same rates with a much larger N: extremes and sums against the closed forms."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 30, size=(3, 3))
    digits = 2
    rates = [
        [decimal_text(int(x), digits) for x in row]
        for row in round_rows(counts, digits, "consistent")
    ]
    domain = cb.Domain({"row": ["r0", "r1", "r2"], "col": ["c0", "c1", "c2"]})
    total = int(rng.integers(10**3, 4 * 10**3))
    conditional = cb.Conditional(["col"], given=["row"], rates=rates, eps="0.01")
    release = cb.Release(domain, [cb.Total(total), conditional])
    check_everything(release, total)
    assert all(isinstance(rate, Fraction) for rate in conditional.rates.flat)


@few(4, least=20)
@given(row_problems())
def test_three_phases_in_small_steps(problem):
    """Everything that is done in pieces for large tables, in pieces of a few sums."""
    release, total, lower, upper = problem
    expected = three_phases(plain_rows(release, lower, upper), total)
    with (
        # Products of sums below a quarter of this leave it: they are split.
        patch.multiple(admissible, SAFE=4 * (total + 1) + 4, _BLOCK=8, _ALONG=3),
        patch.multiple(admissible, _SHORTEST=8, _LONGEST=16),  # whole bytes
        patch.multiple(cells, _FIRST=1, _SHORT=2),
    ):
        check_agreement(release, expected)
