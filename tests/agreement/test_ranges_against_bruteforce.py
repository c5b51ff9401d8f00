"""Ranges beside every choice of ranges there is, each attacked by listing all tables that fit."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import cellbounds as cb
from bruteforce import compositions

WIDTHS = [2, 4, 16]

RULES = [
    {"below": 3, "zeros": False, "values": 2},
    {"below": 2, "zeros": False, "width": 2},
    {"below": 3, "zeros": False, "above_threshold": True},
    {"below": 3, "zeros": False, "protect_above": 1, "protect_below": 1},
    {"below": 2, "zeros": True, "values": 2},
]

MARGINS = {
    (2, 2): [("a", "b"), ("a",), ("b",)],
    (3,): [("a",)],
    (2, 2, 2): [("a", "b"), ("b", "c")],
}


@st.composite
def cases(draw: st.DrawFn) -> tuple[cb.Table, list[str], cb.policies.Policy]:
    shape = draw(st.sampled_from([(2, 2), (2, 2), (3,), (2, 2, 2)]))
    size = int(np.prod(shape))
    counts = draw(st.lists(st.sampled_from([0, 1, 2, 3, 5]), min_size=size, max_size=size))
    assume(3 <= sum(counts) <= (14 if size < 8 else 8))
    levels = {name: list(range(width)) for name, width in zip("abc", shape, strict=False)}
    table = cb.Table(cb.Domain(levels), np.array(counts).reshape(shape))
    rule = cb.policies.SmallCounts(**draw(st.sampled_from(RULES)))
    zeros = draw(st.sampled_from(["shown", "never"]))
    policy = cb.policies.Policy("house", rules=[rule], intruder={"zeros": zeros})
    return table, [f"[{','.join(names)}]" for names in MARGINS[shape]], policy


def ends(count: int, option: int, zeros: bool) -> tuple[int, int]:
    if option == 0:
        return count, count
    width, start = WIDTHS[option - 1], 0 if zeros else 1
    low = (count - start) // width * width + start
    return low, low + width - 1


def cheapest(table: cb.Table, margins: list[tuple[str, ...]], rule) -> int | None:
    """The least cost of all choices that keep the rule in every cell that is judged."""
    names = table.domain.names
    axes = {
        one: tuple(a for a, name in enumerate(names) if name not in one)
        for one in {*margins, names, *(m[:k] + m[k + 1 :] for m in margins for k in range(len(m)))}
        if one
    }
    tables = np.array(list(compositions(table.total, table.domain.size)))
    tables = tables.reshape(-1, *table.domain.shape)
    columns, published = [], []
    for one, rest in axes.items():
        laid = tables.sum(axis=tuple(a + 1 for a in rest)).reshape(len(tables), -1)
        own = table.counts.sum(axis=rest).ravel()
        for place, count in enumerate(own.tolist()):
            columns.append((int(count), laid[:, place]))
            published.append(one in margins)
    options = []
    for (count, _), shown in zip(columns, published, strict=True):
        small = bool(rule.unshown(np.array([count]))[0])
        if not shown:
            options.append([None])
        elif count == 0 and not rule.zeros:
            options.append([0])
        else:
            options.append([1, 2, 3] if small else [0, 1, 2, 3])
    fits = [
        [None if o is None else np.logical_and(values >= ends(count, o, rule.zeros)[0],
         values <= ends(count, o, rule.zeros)[1]) for o in own]
        for (count, values), own in zip(columns, options, strict=True)
    ]  # fmt: skip
    if int(np.prod([len(one) for one in options])) > 2000:
        return -1
    best = None
    for chosen in itertools.product(*(range(len(one)) for one in options)):
        picked = [own[k] for own, k in zip(options, chosen, strict=True)]
        cost = sum(WIDTHS[o - 1] - 1 for o in picked if o)
        if best is not None and cost >= best:
            continue
        inside = np.ones(len(tables), dtype=bool)
        for own, k in zip(fits, chosen, strict=True):
            if own[k] is not None:
                inside &= own[k]
        kept = True
        for count, values in columns:
            left = cb.ValueSet.from_values(sorted(set(values[inside].tolist())))
            if rule.broken(left, cb.ValueSet.from_values([count])):
                kept = False
                break
        if kept:
            best = cost
    return best


@given(cases())
def test_the_cheapest_ranges(case: tuple[cb.Table, list[str], cb.policies.Policy]) -> None:
    table, margins, policy = case
    done = cb.protect(
        table, *margins, policy=policy, method="intervals", widths=WIDTHS, independent=False
    )
    for one in done.ranges:
        assert one.low <= one.count <= one.high
        assert one.high - one.low + 1 in WIDTHS
    assert done.cost == sum(one.high - one.low for one in done.ranges)
    names = [tuple(one.strip("[]").split(",")) for one in margins]
    best = cheapest(table, names, policy.rules[0])
    if best == -1:
        return
    if best is None:
        assert not done.safe
    else:
        assert done.safe
        assert done.bound <= best <= done.cost
        if done.optimal:
            assert done.cost == best


@pytest.mark.parametrize(
    ("counts", "asked", "cost"),
    [
        ([[6, 3, 3], [1, 1, 0], [0, 0, 1]], {"above_threshold": True}, 27),
        ([[2, 3, 5], [6, 0, 0]], {"protect_above": 1, "protect_below": 1}, 11),
        ([[6, 1, 0], [1, 2, 5], [2, 0, 2]], {"values": 2}, 8),
        ([[5, 0, 1], [1, 1, 5]], {"above_threshold": True}, 44),
        ([[2, 3, 3], [2, 6, 2], [3, 2, 2]], {"above_threshold": True}, 18),
    ],
)
def test_ranges_that_narrowing_one_after_another_does_not_find(counts, asked, cost) -> None:
    domain = cb.Domain({"a": list(range(len(counts))), "b": [0, 1, 2]})
    rule = cb.policies.SmallCounts(below=3, zeros=False, **asked)
    policy = cb.policies.Policy("house", rules=[rule])
    done = cb.protect(
        cb.Table(domain, counts),
        "[a+,b+]",
        policy=policy,
        method="intervals",
        widths=WIDTHS,
        independent=False,
    )
    assert done.safe
    assert (done.cost, done.bound) == (cost, cost)
