"""Sums of cells within a row against lists of all rows and row sums, from the definitions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import cellbounds as cb
from bruteforce import compositions, consistent_tables
from cellbounds.solvers.conditional.row_groups import GroupedConditional
from strategies import examples

ROWS = ["r0", "r1", "r2"]
COLUMNS = ["c0", "c1", "c2", "c3"]


def domain_of(rows: int, columns: int, groups: dict[str, list[str]]) -> cb.Domain:
    levels = {"row": ROWS[:rows], "column": COLUMNS[:columns]}
    return cb.Domain(levels, groupings={"part": cb.Grouping("column", groups)})


@st.composite
def groupings(draw, columns: int):
    """Groups of columns: often they share them out, sometimes they overlap or leave some out."""
    names = COLUMNS[:columns]
    if draw(st.booleans()):
        of = [draw(st.integers(0, 1)) for _ in names]
        of[0], of[-1] = 0, 1
        return {f"g{k}": [n for n, g in zip(names, of, strict=True) if g == k] for k in (0, 1)}
    sets = [draw(st.lists(st.sampled_from(names), min_size=1, unique=True)) for _ in range(2)]
    return {f"g{k}": own for k, own in enumerate(sets)}


@st.composite
def grouped_releases(draw, most: int = 10, largest_eps: int = 20):
    """Rates of a real table within eps, weak or strict, sometimes with limits on cells or rows."""
    rows, columns = draw(st.integers(1, 3)), draw(st.integers(2, 4))
    counts = np.array([[draw(st.integers(0, 3)) for _ in range(columns)] for _ in range(rows)])
    assume(counts.sum() <= most and counts.sum(axis=1).all())
    domain = domain_of(rows, columns, draw(groupings(columns)))
    digits = draw(st.integers(0, 2))
    eps = Fraction(draw(st.integers(0, largest_eps)), 2 * 10**digits) if digits else Fraction(1, 2)
    strict = draw(st.booleans()) and eps > 0
    rates = []
    for row in counts.tolist():
        total, line = sum(row), []
        for n in row:
            near = (
                Fraction(n, total)
                if eps == 0
                else Fraction(round(Fraction(n, total) * 10**digits), 10**digits)
            )
            line.append(near)
        rates.append(line)
    statement = cb.Conditional(
        ["column"],
        ["row"],
        rates=[[str(p) for p in line] for line in rates],
        eps=eps,
        strict=strict,
    )
    statements = [statement, cb.Total(int(counts.sum()))]
    if draw(st.booleans()):
        lower = {(ROWS[0], COLUMNS[0]): draw(st.integers(0, int(counts[0, 0])))}
        upper = {(ROWS[0], COLUMNS[1]): int(counts[0, 1]) + draw(st.integers(0, 2))}
        statements.append(cb.Known(["row", "column"], lower=lower, upper=upper))
    return cb.Release(domain, statements), (rates, eps, strict)


def row_fits(row: tuple[int, ...], rates: list[Fraction], eps: Fraction, strict: bool) -> bool:
    """|p - x/n| <= eps, or below it, with everything multiplied by n and the denominators."""
    n, shared = sum(row), math.lcm(eps.denominator, *(p.denominator for p in rates))
    most = int(eps * shared) * n - strict
    return all(
        abs(int(p * shared) * n - shared * x) <= most for p, x in zip(rates, row, strict=True)
    )


def attained(release: cb.Release, rule) -> dict[tuple[str, str], set[int]]:
    """Every sum over a group, from all rows that fit and add up to N."""
    rates, eps, strict = rule
    total = release.total.exact
    domain, width = release.domain, len(rates[0])
    known = [s for s in release.statements if isinstance(s, cb.Known)]
    fitting = []
    for place, line in enumerate(rates):
        fits = [
            row
            for n in range(1, total + 1)
            for row in compositions(n, width)
            if row_fits(row, line, eps, strict)
            and all(within(s, place, column, x) for s in known for column, x in enumerate(row))
        ]
        fitting.append(fits)
    seen: dict[tuple[str, str], set[int]] = {}
    sums = [{sum(row) for row in fits} for fits in fitting]
    groups = domain.groupings["part"].levels
    for place, fits in enumerate(fitting):
        others = {0}
        for other, its in enumerate(sums):
            if other != place:
                others = {a + b for a in others for b in its if a + b <= total}
        for name, members in groups.items():
            own = [COLUMNS.index(member) for member in members]
            seen[ROWS[place], name] = {
                sum(row[j] for j in own) for row in fits if total - sum(row) in others
            }
    return seen


def within(statement: cb.Known, row: int, column: int, x: int) -> bool:
    place = (ROWS[row], COLUMNS[column])
    return statement.lower.get(place, 0) <= x <= statement.upper.get(place, x)


@examples(120, 5000)
@given(grouped_releases())
def test_sums_are_those_of_all_rows_that_fit(case):
    release, rule = case
    try:
        answer = cb.attainable(release, over=["row", "part"])
    except cb.InconsistentRelease:
        assert not any(attained(release, rule).values())
        return
    assert answer.method == GroupedConditional.name
    bounds = cb.bounds(release, over=["row", "part"])
    assert bounds.evidence is cb.Evidence.EXACT
    turned = cb.bounds(release, over=["part", "row"])
    assert np.array_equal(turned.lower.T, bounds.lower)
    assert np.array_equal(turned.upper.T, bounds.upper)
    for labels, sums in attained(release, rule).items():
        assert set(answer[labels]) == sums
        assert bounds[labels] == (min(sums), max(sums))
        for at, value in zip(("lower", "upper"), bounds[labels], strict=True):
            witness = bounds.witness(*labels, at=at)
            assert cb.violations(witness, release) == []
            assert witness.margin(["row", "part"])[labels] == value


@examples(8, 60)
@given(grouped_releases(most=7))
def test_the_same_from_all_tables(case):
    release, _ = case
    try:
        answer = cb.attainable(release, over=["row", "part"])
    except cb.InconsistentRelease:
        return
    tables = [cb.Table(release.domain, counts) for counts in consistent_tables(release, 7)]
    for labels in release.domain.project(["row", "part"]).cells():
        seen = {int(table.margin(["row", "part"])[labels]) for table in tables}
        assert set(answer[labels]) == seen


def each_sum(n: int, rates, eps, own: list[int]) -> range:
    """The sums over some columns under one row sum, in fractions."""
    lower = [max(0, math.ceil((p - e) * n)) for p, e in zip(rates, eps, strict=True)]
    upper = [min(n, math.floor((p + e) * n)) for p, e in zip(rates, eps, strict=True)]
    rest = [j for j in range(len(rates)) if j not in own]
    least = max(sum(lower[j] for j in own), n - sum(upper[j] for j in rest))
    most = min(sum(upper[j] for j in own), n - sum(lower[j] for j in rest))
    return range(least, most + 1)


@examples(15, 400)
@given(st.data(), st.integers(1, 2), st.sampled_from([300, 1000, 4000]))
def test_long_runs_of_row_sums(data, digits, total):
    """Of many row sums only some are looked at; here each of them is, with fractions."""
    unit = 10**digits
    rates = []
    for _ in range(2):
        cuts = sorted(data.draw(st.lists(st.integers(0, unit), min_size=3, max_size=3)))
        parts = [b - a for a, b in itertools.pairwise([0, *cuts, unit])]
        rates.append([Fraction(part, unit) for part in parts])
    eps = Fraction(data.draw(st.sampled_from([0, 1, 2])), 2 * unit)
    domain = domain_of(2, 4, data.draw(groupings(4)))
    texts = [[str(p) for p in line] for line in rates]
    release = cb.Release(
        domain, [cb.Conditional(["column"], ["row"], rates=texts, eps=eps), cb.Total(total)]
    )
    try:
        sums = cb.attainable(release, over=["row"])
    except cb.InconsistentRelease:
        return
    found = cb.attainable(release, over=["row", "part"])
    bounds = cb.bounds(release, over=["row", "part"])
    for place, line in enumerate(rates):
        for name, members in domain.groupings["part"].levels.items():
            own = [COLUMNS.index(member) for member in members]
            every = (each_sum(n, line, [eps] * 4, own) for n in sums[ROWS[place]])
            seen = set(itertools.chain.from_iterable(every))
            assert set(found[ROWS[place], name]) == seen
            assert bounds[ROWS[place], name] == (min(seen), max(seen))


@pytest.mark.parametrize("share", [7, 11, 13])
@pytest.mark.parametrize("width", ["0.02", "0.005"])
def test_row_sums_that_are_far_apart(share, width):
    """An exact rate makes sums multiples; groups under neighbours meet long after all are there."""
    free = (1 - Fraction(1, share)) / 3
    rates = [[free, free, free, Fraction(1, share)], [Fraction(1, 4)] * 4]
    eps = [[Fraction(width)] * 3 + [Fraction(0)], [Fraction(1, 20)] * 4]
    domain = domain_of(2, 4, {"g0": ["c0", "c1"], "g1": ["c2", "c3"], "g2": ["c0"]})
    statement = cb.Conditional(["column"], ["row"], rates=rates, eps=eps)
    release = cb.Release(domain, [statement, cb.Total(3000)])
    found, sums = cb.attainable(release, over=["row", "part"]), cb.attainable(release, over=["row"])
    assert found.method == GroupedConditional.name
    for name, members in domain.groupings["part"].levels.items():
        own = [COLUMNS.index(member) for member in members]
        seen: set[int] = set()
        for n in sums["r0"]:
            seen.update(each_sum(n, rates[0], eps[0], own))
        assert set(found["r0", name]) == seen
        assert len(seen) < max(seen) - min(seen) + 1  # there are gaps


def test_some_of_several_responses():
    """Over [A,Y] of rates [Y,Z|A]: sums over Z within a row, as a grouping would have them."""
    table = cb.datasets.read("koch4")
    over = ["center", "status", "recovery"]
    release = cb.publish(table, "[treatment,recovery|center,status]@2")
    fast = cb.attainable(release, over=over)
    assert fast.method == GroupedConditional.name
    both = [f"{t}/{r}" for t in (1, 2) for r in ("poor", "modest", "excellent")]
    groups = {
        r: [label for label in both if label.endswith(f"/{r}")]
        for r in ("poor", "modest", "excellent")
    }
    rows = {"center": table.domain.levels("center"), "status": table.domain.levels("status")}
    flat = cb.Domain(rows | {"both": both}, groupings={"recovery": cb.Grouping("both", groups)})
    same = cb.publish(cb.Table(flat, table.counts.reshape(2, 2, 6)), "[both|center,status]@2")
    slow = cb.attainable(same, over=over)
    for (labels, values), (_, others) in zip(fast.items(), slow.items(), strict=True):
        assert values == others
        assert table.margin(over)[labels] in values


def test_without_a_total_sums_have_no_end():
    domain = domain_of(2, 3, {"g0": ["c0", "c1"], "g1": ["c2"]})
    rates = [["0.5", "0.3", "0.2"], ["1", "0", "0"]]
    release = cb.Release(domain, [cb.Conditional(["column"], ["row"], rates=rates, eps="0.05")])
    bounds = cb.bounds(release, over=["row", "part"])
    assert bounds.method == GroupedConditional.name
    assert bounds["r0", "g0"][1] is cb.UNBOUNDED and bounds["r0", "g1"][1] is cb.UNBOUNDED
    values = cb.attainable(release, over=["row", "part"])["r0", "g0"]
    assert 10**9 in values and values.smallest == bounds["r0", "g0"][0]


def test_the_cost_does_not_grow_with_n():
    """Counts of the sums that are evaluated are the same with a million times the people."""
    domain = domain_of(2, 4, {"g0": ["c0", "c2"], "g1": ["c1", "c3"]})
    rates = [["0.41", "0.32", "0.17", "0.10"], ["0.25", "0.25", "0.30", "0.20"]]
    statement = cb.Conditional(["column"], ["row"], rates=rates)
    for total in (10**5, 10**11):
        release = cb.Release(domain, [statement, cb.Total(total)])
        answer = cb.attainable(release, over=["row", "part"])
        values = answer["r0", "g0"]
        assert len(list(values.runs)) < 3000
        assert values.largest > total // 2


@pytest.mark.parametrize("over", [["part"], ["column"]])
def test_other_questions_are_left_to_others(over):
    domain = domain_of(2, 3, {"g0": ["c0", "c1"], "g1": ["c2"]})
    rates = [["0.5", "0.3", "0.2"], ["1", "0", "0"]]
    statement = cb.Conditional(["column"], ["row"], rates=rates, eps="0.05")
    release = cb.Release(domain, [statement, cb.Total(12)])
    assert cb.bounds(release, over=over).method != GroupedConditional.name


@pytest.mark.parametrize(
    "counts",
    [
        [[0, 4, 3, 4], [2, 3, 4, 3]],
        [[3, 2, 2, 4], [1, 4, 3, 0]],
        [[1, 3, 3, 1], [2, 4, 4, 4]],
    ],
)
def test_rows_that_share_out_remainders(counts):
    """Cells of such a row are tied to each other: their limits do not simply add up."""
    domain = cb.Domain({"r": ["p", "q"], "c": [0, 1, 2, 3]})
    table = cb.Table(domain, counts).grouped("g", of="c", levels={"low": [0, 1], "high": [2, 3]})
    release = cb.publish(table, "[c|r]@1", rounding="consistent")
    sums = [one.counts[:, :2].sum(axis=1).tolist() for one in cb.tables(release)]
    found = cb.attainable(release, over=["r", "g"])
    for row, label in enumerate(["p", "q"]):
        assert set(found[label, "low"]) == {one[row] for one in sums}
