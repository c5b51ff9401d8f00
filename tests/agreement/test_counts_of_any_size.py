"""Whole numbers of any size: every answer is the right one, or a clear refusal.

The releases are so small that their answers follow from a formula in Python's integers.
"""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cellbounds as cb
from bruteforce import holds
from cellbounds import Conditional, Domain, Known, Linear, Margin, Release, Total
from strategies import few

ONE = Domain({"a": ["x"]})
PAIR = Domain({"a": ["x"], "b": ["x", "y"]})
SQUARE = Domain({"a": ["x", "y"], "b": ["x", "y"]})
CUBE = Domain({name: ["x", "y"] for name in "abc"})
NONE = cb.UNBOUNDED

REFUSALS = (cb.InvalidInput, cb.TooMuchWork, cb.UnsupportedRelease, cb.Unsettled)
"""What may be said instead of an answer."""

CORNERS = [2**31, 2**53, 2**59, 2**60, 2**61, 2**62, 2**63, 2**64, 10**30]


@st.composite
def sizes(draw, least=0):
    """Numbers near those where some way to write numbers ends."""
    near = [corner for corner in CORNERS if corner > least]
    return draw(st.sampled_from(near)) + draw(st.integers(-2, 2))


def thirds(*more):
    return [Conditional(["b"], given=["a"], rates=[["1/3", "2/3"]]), *more]


def tenths(*more):
    return [Conditional(["b"], given=["a"], rates=[["0.3", "0.7"]]), *more]


def rounded_ends(n):
    """The cells of a row of n with the shares [0.25, 0.35) and [0.65, 0.75)."""
    low = max(-(-n // 4), n - (-(-3 * n // 4) - 1))
    high = min(-(-35 * n // 100) - 1, n + -(65 * n // 100) - (65 * n % 100 > 0))
    return [(low, high), (n - high, n - low)]


def crossed(rows, columns):
    n = sum(rows)
    ends = [(max(0, r + c - n), min(r, c)) for r in rows for c in columns]
    return [Margin(["a"], rows), Margin(["b"], columns)], ends


def faces(n):
    """All two-way margins of one table of eight cells, and how far its cells may move."""
    table = np.array([n, 3, 4, n + 1, 5, n + 2, n + 3, 6], dtype=object).reshape(2, 2, 2)
    down, up = n, 3
    ends = []
    for index in np.ndindex(2, 2, 2):
        less, more = (down, up) if sum(index) % 2 == 0 else (up, down)
        ends.append((table[index] - less, table[index] + more))
    margins = [
        Margin(list(pair), table.sum(axis=axis).tolist())
        for axis, pair in enumerate(("bc", "ac", "ab"))
    ]
    return margins, ends


def shifted(n):
    values = Known(["b"], values={"x": [1, n, n + 5]}, upper={"x": n + 2})
    return [values, Total(n + 4)], [(1, n), (4, n + 3)]


CASES = {
    "N": lambda n: (ONE, [Total(n)], [(n, n)]),
    "N of two": lambda n: (PAIR, [Total(n)], [(0, n)] * 2),
    "N from": lambda n: (ONE, [Total(lower=n)], [(n, NONE)]),
    "margin": lambda n: (ONE, [Margin(["a"], [n])], [(n, n)]),
    "rows and columns": lambda n: (SQUARE, *crossed([n, 5], [n + 2, 3])),
    "large margins": lambda n: (SQUARE, *crossed([n, n + 1], [n + 2, n - 1])),
    "three faces": lambda n: (CUBE, *faces(n)),
    "rounded": lambda n: (ONE, [Margin(["a"], [5 * n], base=5)], [(5 * n - 2, 5 * n + 2)]),
    "large base": lambda n: (
        ONE,
        [Margin(["a"], [n], base=n, rounding="down")],
        [(n, 2 * n - 1)],
    ),
    "ranges": lambda n: (PAIR, [Margin(["b"], [f"<{n}", f">={n}"])], [(0, n - 1), (n, NONE)]),
    "ranges and N": lambda n: (
        PAIR,
        [Margin(["b"], [f"<{n}", f"{n}-{n + 2}"]), Total(n + 1)],
        [(0, 1), (n, n + 1)],
    ),
    "suppressed": lambda n: (
        PAIR,
        [Margin(["a"], [n]), Known(["a", "b"], upper=[[n - 3, None]])],
        [(0, n - 3), (3, n)],
    ),
    "rates": lambda n: (PAIR, thirds(Total(3 * n)), [(n, n), (2 * n, 2 * n)]),
    "rates up to": lambda n: (PAIR, thirds(Total(upper=3 * n + 1)), [(1, n), (2, 2 * n)]),
    "rates and a known part": lambda n: (
        Domain({"a": ["x"], "b": ["x", "y"], "c": ["x", "y"]}),
        thirds(Total(3 * n), Known(["a", "b", "c"], upper={("x", "x", "x"): 5})),
        [(0, 5), (n - 5, n), (0, 2 * n), (0, 2 * n)],
    ),
    "rates from": lambda n: (PAIR, thirds(Total(lower=3 * n - 1)), [(n, NONE), (2 * n, NONE)]),
    "small rates": lambda n: (
        PAIR,
        [Conditional(["b"], given=["a"], rates=[[f"1/{n}", f"{n - 1}/{n}"]]), Total(n)],
        [(1, 1), (n - 1, n - 1)],
    ),
    "rounded rates": lambda n: (PAIR, tenths(Total(n)), rounded_ends(n)),
    "rounded rates of a margin": lambda n: (PAIR, tenths(Margin(["a"], [n])), rounded_ends(n)),
    "rounded rates of a list": lambda n: (
        PAIR,
        tenths(Known(["a"], values=[[n]])),
        rounded_ends(n),
    ),
    "rounded rates and a sum": lambda n: (
        PAIR,
        tenths(Linear(["a"], {"x": 1}, equals=n)),
        rounded_ends(n),
    ),
    "sum up to": lambda n: (ONE, [Linear(["a"], {"x": 3}, upper=3 * n + 1)], [(0, n)]),
    "sum from": lambda n: (ONE, [Linear(["a"], {"x": -1}, upper=-n)], [(n, NONE)]),
    "sum not below": lambda n: (ONE, [Linear(["a"], {"x": -1}, lower=-n)], [(0, n)]),
    "large coefficients": lambda n: (
        PAIR,
        [Linear(["b"], {"x": n, "y": 1}, upper=n + 1)],
        [(0, 1), (0, n + 1)],
    ),
    "difference": lambda n: (
        PAIR,
        [Linear(["b"], {"x": 1, "y": -1}, equals=n), Total(upper=n + 4)],
        [(n, n + 2), (0, 2)],
    ),
    "known from": lambda n: (ONE, [Known(["a"], lower=n)], [(n, NONE)]),
    "known up to": lambda n: (PAIR, [Known(["b"], upper={"x": n})], [(0, n), (0, NONE)]),
    "known between": lambda n: (
        PAIR,
        [Known(["a", "b"], lower=n, upper=n + 3), Total(2 * n + 1)],
        [(n, n + 1)] * 2,
    ),
    "list": lambda n: (PAIR, *shifted(n)),
    "list without N": lambda n: (
        PAIR,
        [Known(["b"], values={"x": [1, n, n + 5]}, upper={"x": n + 2})],
        [(1, n), (0, NONE)],
    ),
}

CONTRADICTIONS = {
    "N and a margin": lambda n: (ONE, [Total(n), Margin(["a"], [n + 1])]),
    "two margins": lambda n: (SQUARE, [Margin(["a"], [n, 5]), Margin(["b"], [n, 6])]),
    "N and a bound": lambda n: (ONE, [Total(n), Known(["a"], upper=n - 1)]),
    "N and a sum": lambda n: (ONE, [Total(n), Linear(["a"], {"x": 1}, upper=n - 1)]),
    "N and rates": lambda n: (PAIR, thirds(Total(3 * n + 1))),
}


def answered(question):
    """The answer, or None if it is refused; a table that does not fit is no refusal."""
    try:
        return question()
    except REFUSALS as refusal:
        assert str(refusal)
        return None


def ends_of(answer):
    return list(zip(answer.lower.ravel().tolist(), answer.upper.ravel().tolist(), strict=True))


def encloses(outer, inner):
    return all(a <= c and b >= d for (a, b), (c, d) in zip(outer, inner, strict=True))


def sharp(release, ends):
    found = cb.bounds(release, seconds=20)
    assert encloses(ends_of(found), ends)
    if found.evidence is cb.Evidence.EXACT:
        assert ends_of(found) == ends


def linear(release, ends):
    assert encloses(ends_of(cb.bounds(release, kind="linear", seconds=20)), ends)


def sums(release, ends):
    found = cb.bounds(release, over=["a"], seconds=20)
    assert all(0 <= low <= high for low, high in ends_of(found))


def attainable(release, ends):
    for (_, values), (low, high) in zip(
        cb.attainable(release, seconds=20).items(), ends, strict=True
    ):
        assert (values.smallest, values.largest) == (low, high)


def witnesses(release, ends):
    found = cb.bounds(release, seconds=20)
    for labels, (low, high) in zip(release.domain.cells(), ends, strict=True):
        for at, value in (("lower", low), ("upper", high)):
            if value is not NONE and found.evidence is cb.Evidence.EXACT:
                table = found.witness(*labels, at=at)
                counts = table.counts.astype(object)
                assert all(holds(one, release, counts) for one in release.statements)
                assert (table[labels], table.total) == (value, sum(counts.ravel().tolist()))


def explained(release, ends):
    found = cb.bounds(release, seconds=20)
    assert str(ends[0][0]) in str(found.explain(*next(release.domain.cells())))


def counted(release, ends):
    count = cb.count_tables(release)
    assert count >= max(high - low + 1 for low, high in ends)
    assert count == 1 or any(low < high for low, high in ends)


def listed(release, ends):
    for table in itertools.islice(cb.tables(release), 2):
        counts = table.counts.astype(object)
        assert all(holds(one, release, counts) for one in release.statements)
        assert encloses(ends, [(n, n) for n in counts.ravel().tolist()])


def drawn(release, ends):
    for table in itertools.islice(iter(cb.sample(release, 1, rng=1)), 1):
        assert encloses(ends, [(n, n) for n in table.counts.ravel().tolist()])


def judged(release, ends):
    del ends
    assert cb.judge(None, release, independent=True, seconds=5).outcome in cb.Outcome


def written(release, ends):
    del ends
    made = cb.bounds(release, seconds=20).certificate()
    assert not cb.verify_certificate(json.loads(json.dumps(made))).problems


DOORS = [sharp, linear, sums, attainable, witnesses, explained, counted, judged, written]

LISTING = [listed, drawn]
"""These take long where many tables fit and the numbers are still small enough."""


@st.composite
def asked(draw):
    if draw(st.integers(0, 4)):
        return draw(sizes()), draw(st.sampled_from(DOORS))
    return draw(sizes(least=2**60)), draw(st.sampled_from(LISTING))


@pytest.mark.parametrize("kind", CASES)
@given(asked())
@few(10)
def test_right_or_refused(kind, asked):
    size, door = asked
    domain, statements, ends = CASES[kind](size)
    release = Release(domain, statements)
    answered(lambda: door(release, ends))


@pytest.mark.parametrize("kind", CASES)
def test_small_numbers_are_answered(kind):
    """The formulas themselves: nothing is refused where everything is small."""
    domain, statements, ends = CASES[kind](20)
    release = Release(domain, statements)
    sharp(release, ends)
    linear(release, ends)
    witnesses(release, ends)
    assert ends_of(cb.bounds(release)) == ends


@pytest.mark.parametrize("kind", CONTRADICTIONS)
@given(sizes())
@few(100)
def test_contradictions_are_seen_or_refused(kind, size):
    release = Release(*CONTRADICTIONS[kind](size))
    with pytest.raises((cb.InconsistentRelease, *REFUSALS)):
        cb.bounds(release, seconds=20)
    assert not answered(lambda: cb.count_tables(release))


@given(sizes(), sizes(), st.sampled_from(["[a]", "[a,b]~5", "[b|a]", "[b|a]@2", "[a]<5"]))
@few(100)
def test_tables(one, other, said):
    table = cb.Table(SQUARE, [[one, other], [1, 0]])
    assert table.total == one + other + 1
    assert table.margin(["a"]).counts.tolist() == [one + other, 1]
    assert table.margin(["b"]).counts.tolist() == [one + 1, other]
    assert table.merge("b", {"xy": ["x", "y"]}).counts.tolist() == [[one + other], [1]]
    release = cb.publish(table, said)
    assert answered(lambda: cb.violations(table, release)) in ([], None)
    answered(lambda: cb.audit(table, release, seconds=2))


def test_a_bound_beside_a_cell_without_one():
    """What has a limit is not cut off where what has none is; no double is this odd number."""
    most = 2**53 + 1
    release = Release(PAIR, [Known(["b"], upper={"x": most})])
    found = cb.bounds(release, seconds=20)
    assert found["x", "x"] == (0, most)
    assert found.witness("x", "x", at="upper")["x", "x"] == most
