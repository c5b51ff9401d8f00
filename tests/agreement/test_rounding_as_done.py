"""A figure means the counts that its rule makes of it: all is published again and compared."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import cellbounds as cb
from bruteforce import compositions, printed
from cellbounds.certificates.verifying import verify_certificate
from cellbounds.model.rates.layout import make_layout
from cellbounds.model.structure import gather
from cellbounds.solvers.conditional.whole_rows import WholeRows
from cellbounds.statements.kinds import KINDS
from cellbounds.statements.rounding import ROUNDINGS
from listing import all_tables

RULES = sorted([*ROUNDINGS, "consistent", "consistent"])


def table_of(counts) -> cb.Table:
    height, width = np.shape(counts)
    return cb.Table(cb.Domain({"r": list(range(height)), "c": list(range(width))}), counts)


@st.composite
def published(draw):
    """A small table, and how it is published."""
    height, width, most = draw(
        st.sampled_from([(1, 1, 9), (1, 2, 16), (1, 3, 12), (1, 4, 9), (2, 2, 8), (2, 3, 6)])
    )
    cells = st.integers(0, max(1, most // 2))
    flat = draw(st.lists(cells, min_size=height * width, max_size=height * width))
    assume(0 < sum(flat) <= most)
    digits, rule = draw(st.integers(0, 2)), draw(st.sampled_from(RULES))
    how = {"rounding": rule}
    if draw(st.integers(0, 3)) == 0:
        wide = ["1", "2"] if rule == "consistent" else ["0.3", "1", "1/2"]
        how |= {"eps": draw(st.sampled_from(wide)), "strict": draw(st.booleans())}
    return table_of(np.reshape(flat, (height, width))), f"[c|r]@{digits}", how


def figures(table: cb.Table, statement: str, how) -> list:
    return cb.publish(table, statement, **how).statements[0].rates.tolist()


@given(published())
def test_the_tables_that_fit_are_those_that_would_be_published_so(case):
    table, statement, how = case
    try:
        release = cb.publish(table, statement, **how)
    except cb.InvalidInput as problem:
        assert "not within eps" in str(problem)
        return
    shown = figures(table, statement, how)
    same = []
    for flat in all_tables(table.domain.size, table.total):
        if flat.sum() == table.total:
            other = cb.Table(table.domain, flat.reshape(table.counts.shape))
            try:
                again = figures(other, statement, how)
            except cb.InvalidInput:
                continue  # the tolerance would not have been announced
            if again == shown:
                same.append(other.counts)
    assert cb.count_tables(release) == len(same)
    assert np.array_equal([one.counts for one in cb.tables(release)], same)
    values = cb.attainable(release)
    for cell in np.ndindex(table.counts.shape):
        assert set(values[cell]) == {int(one[cell]) for one in same}
    made = cb.bounds(release).certificate()
    assert verify_certificate(json.loads(json.dumps(made))).ok
    kind = next(kind for kind in KINDS if kind.kind == "conditional")
    said = release.statements[0].to_dict()["conditional"]
    again = kind.from_plain(json.loads(json.dumps(said)), table.domain)
    assert cb.Release(table.domain, [again, *release.statements[1:]]).digest == release.digest


@st.composite
def single_rows(draw):
    """What the rule prints of a row of few columns, and a sum to ask about."""
    width = draw(st.integers(1, 4))
    most = {1: 40, 2: 60, 3: 24, 4: 13}[width]
    counts = draw(st.lists(st.integers(0, most // width), min_size=width, max_size=width))
    assume(sum(counts))
    digits = draw(st.sampled_from([0, 0, 1, 1, 2]))
    return printed(counts, 10**digits, "consistent"), digits, draw(st.integers(1, most))


@given(single_rows())
def test_rows_that_add_to_one(row):
    units, digits, total = row
    scale = 10**digits
    rates = [
        f"{unit // scale}.{unit % scale:0{digits}d}" if digits else str(unit) for unit in units
    ]
    domain = cb.Domain({"c": list(range(len(units)))})
    said = cb.Conditional(["c"], rates=rates, digits=digits, rounding="consistent")
    release = cb.Release(domain, [said, cb.Total(total)])
    same = [
        x for x in compositions(total, len(units)) if printed(list(x), scale, "consistent") == units
    ]
    if not same:
        with pytest.raises(cb.InconsistentRelease):
            cb.bounds(release)
        assert cb.count_tables(release) == 0
        return
    answer, values = cb.bounds(release), cb.attainable(release)
    for column in range(len(units)):
        held = {x[column] for x in same}
        assert set(values[column]) == held
        for side, at in zip(answer[column], ("lower", "upper"), strict=True):
            assert tuple(answer.witness(column, at=at).counts) in same
            assert side in (min(held), max(held))
    assert [tuple(one.counts) for one in cb.tables(release)] == same
    likely = cb.posterior(release, prior="uniform")
    for value in values[0]:
        share = sum(x[0] == value for x in same) / len(same)
        assert likely[0][value] == pytest.approx(share, rel=1e-12)


@given(st.lists(st.integers(0, 40), min_size=2, max_size=6), st.integers(0, 2), st.data())
def test_sums_of_any_size_cost_and_say_the_same(units, digits, data):
    """Ends of the counts repeat with a period but for a known amount, whatever the size."""
    assume(sum(units))
    scale = 10**digits
    row = printed(units, scale, "consistent")
    width, positive = len(row), sum(unit > 0 for unit in row)
    rates = [f"{unit // scale}.{unit % scale:0{digits}d}" if digits else str(unit) for unit in row]
    domain = cb.Domain({"c": list(range(width))})
    said = cb.Conditional(["c"], rates=rates, digits=digits, rounding="consistent")
    facts = gather(cb.Release(domain, [said, cb.Total(10)])).conditional
    rows = WholeRows(make_layout(facts, ("c",)).problem)
    total = scale + data.draw(st.integers(1, 10**6))
    times = data.draw(st.sampled_from([1, 10**9, 10**25]))
    period = width * positive * (positive + 1) * scale

    def ends(n):
        made = rows.ranges(np.array([0]), rows.sums_array([[n]], n))
        return [[int(end) for end in side[:, 0, 0]] for side in made[:2]]

    (low, high), (far_low, far_high) = ends(total), ends(total + times * period)
    turns = times * positive * (positive + 1)
    for j, unit in enumerate(row):
        more = turns * (width * (unit - 1) + 1) if unit else 0
        assert far_low[j] == low[j] + more
        beside = positive + (unit == 0)
        assert (
            far_high[j] == high[j] + times * period // scale * (beside * (unit + 1) - 1) // beside
        )


# What intervals took for possible, though the rule would have printed something else. -----------


def outcomes(counts, statement, **how):
    table = table_of(counts)
    return tuple(
        cb.judge(table, cb.publish(table, statement, rule=rule, **how), "small-counts").outcome
        for rule in ("interval", "rounding")
    )


@pytest.mark.parametrize("counts", [[[5, 2, 1], [3, 2, 4]], [[7, 1, 4], [1, 0, 1]]])
def test_consistent_rounding_is_not_safe_for_its_intervals(counts):
    assert outcomes(counts, "[c|r]@1", rounding="consistent") == (
        cb.Outcome.SAFE,
        cb.Outcome.UNSAFE,
    )


@pytest.mark.parametrize("counts", [[[2, 1, 4], [2, 0, 2]], [[4, 1, 5], [1, 2, 1]]])
def test_a_wide_tolerance_is_not_vaguer_than_the_decimals(counts):
    assert outcomes(counts, "[c|r]@1", eps="0.1") == (cb.Outcome.SAFE, cb.Outcome.UNSAFE)


def test_halves_go_to_the_even_digit():
    table = table_of([[2, 0]])
    release = cb.publish(table, "[c|r]@0", rounding="half-even")
    assert set(cb.attainable(release)[0, 0]) == {2}
    wide = cb.publish(table, "[c|r]@0", rounding="half-even", rule="interval")
    assert set(cb.attainable(wide)[0, 0]) == {1, 2}


def test_403_tables_become_5():
    table = cb.datasets.read("delinquent")
    made = [
        cb.publish(table, "[education|county]@2", rounding="consistent", rule=rule)
        for rule in ("interval", "rounding")
    ]
    assert [cb.count_tables(release) for release in made] == [403, 5]


def test_a_row_that_does_not_add_up_was_not_printed_so():
    domain = cb.Domain({"r": ["a", "b"], "c": ["x", "y"]})
    rates = [["0.5", "0.5"], ["0.33", "0.66"]]
    said = cb.Conditional(["c"], ["r"], rates=rates, digits=2, rounding="consistent")
    release = cb.Release(domain, [said, cb.Total(30)])
    for kind in ("sharp", "linear"):
        with pytest.raises(cb.InconsistentRelease, match="r=b"):
            cb.bounds(release, kind=kind)
    beside = cb.Release(domain, [said, cb.Total(30), cb.Margin(["c"], [15, 15])])
    with pytest.raises(cb.InconsistentRelease):
        cb.bounds(beside)


def test_suppressed_figures_of_a_row_that_adds_to_one():
    domain = cb.Domain({"c": ["x", "y", "z"]})

    def values(*rates):
        said = cb.Conditional(
            ["c"], rates=rates, digits=1, rounding="consistent", missing="suppressed"
        )
        return [
            set(held) for _, held in cb.attainable(cb.Release(domain, [said, cb.Total(7)])).items()
        ]

    assert values("0.3", "0.4", None) == values("0.3", "0.4", "0.3")
    assert values(None, None, None) == [set(range(8))] * 3
    with pytest.raises(cb.InvalidInput, match="2 of its 3 figures are suppressed"):
        values("0.3", None, None)


OLD = {
    "responses": ["c"], "given": ["r"], "rates": [["0.37", "0.63"]], "digits": 2,
    "eps": None, "strict": False, "missing": None,
}  # fmt: skip


@pytest.mark.parametrize("rounding", ["half-even", "consistent"])
def test_what_was_stored_before_stands_for_intervals(rounding):
    """Ledgers and certificates without a word about it were written when all figures did."""
    domain = cb.Domain({"r": ["a"], "c": ["x", "y"]})
    kind = next(kind for kind in KINDS if kind.kind == "conditional")
    read = kind.from_plain({**OLD, "rounding": rounding}, domain)
    assert read.interval
    assert "rule" not in read.to_dict()["conditional"]
    given_so = cb.Conditional(["c"], ["r"], rates=OLD["rates"], rounding=rounding, rule="interval")
    digests = [cb.Release(domain, [one, cb.Total(100)]).digest for one in (read, given_so)]
    assert digests[0] == digests[1]


def test_what_rests_on_wide_rows_needs_no_pairs():
    """One statement of 300 columns is answered by its rows; beside a margin it is too wide."""
    rng = np.random.default_rng(1)
    table = table_of(rng.integers(0, 40, size=(2, 300)))
    release = cb.publish(table, "[c|r]@2", rounding="consistent")
    answer = cb.bounds(release)
    assert (answer.lower <= table.counts).all()
    assert (table.counts <= answer.upper).all()
    answer.witness(0, 0, at="upper")
    assert cb.violations(table, release) == []
    beside = cb.Release(
        table.domain, [*release.statements, cb.Margin(["c"], table.margin(["c"]).counts)]
    )
    with pytest.raises(cb.TooMuchWork, match="rows of 300 columns add to one"):
        cb.bounds(beside)
