"""Protected tables attacked by listing every table that fits what is published."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

import cellbounds as cb
from bruteforce import compositions, holds, summed
from cellbounds.disclosure.protecting.published_cells import published_cells

SHAPES = {
    (2, 3): [["[a+,b+]"], ["[a,b]", "[a]"], ["[a,b]"], ["[g+,b+]", "[a,b]"]],
    (3, 2): [["[a+,b+]"], ["[a]", "[b]"]],
    (2, 2, 2): [["[a+,b+,c+]"], ["[a+,b+]", "[b+,c+]"], ["[a,b,c]"]],
}

RULES = [
    {"below": 3, "zeros": False, "values": 2},
    {"below": 2, "zeros": False, "width": 2},
    {"below": 3, "zeros": False, "above_threshold": True},
    {"below": 3, "zeros": False, "protect_above": 1, "protect_below": 1},
    {"below": 2, "zeros": True, "values": 2},
]


Case = tuple[cb.Table, list[str], cb.policies.Policy, bool]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    shape = draw(st.sampled_from(sorted(SHAPES)))
    size = int(np.prod(shape))
    counts = draw(st.lists(st.sampled_from([0, 1, 1, 2, 4]), min_size=size, max_size=size))
    assume(3 <= sum(counts) <= 9)  # everybody knows N, and that it is not small
    names = "abc"[: len(shape)]
    levels = {
        name: [f"{name}{k}" for k in range(width)] for name, width in zip(names, shape, strict=True)
    }
    table = cb.Table(cb.Domain(levels), np.array(counts).reshape(shape))
    margins = draw(st.sampled_from(SHAPES[shape]))
    if "[g+,b+]" in margins:
        margins = ["[a,b]", "[g,a]", "[g]", "[b]"]
        table = table.grouped("g", of="b", levels={"x": ["b0", "b1"], "y": ["b2"]})
    rule = cb.policies.SmallCounts(**draw(st.sampled_from(RULES)))
    known = {
        "zeros": draw(st.sampled_from(["shown", "never"])),
        "respondents": draw(st.sampled_from([0, 0, 1, 2])),
    }
    policy = cb.policies.Policy("house", rules=[rule], intruder=known)
    return table, margins, policy, draw(st.booleans())


def broken(done, table: cb.Table) -> list[tuple]:
    """The places where a small count of a judged margin lacks something, from the definitions.

    Before somebody outside, people in small cells, and two of them.
    """
    release, rule = done.release, done.policy.rules[0]
    tables = [
        np.array(flat).reshape(table.domain.shape)
        for flat in compositions(table.total, table.domain.size)
    ]
    fitting = [
        one for one in tables if all(holds(said, release, one) for said in release.statements)
    ]
    margins = {
        sheet.names: (
            np.array([summed(release, one, sheet.names).ravel() for one in fitting]),
            summed(release, table.counts, sheet.names),
        )
        for sheet in done.cells.sheets
    }
    found = []
    for seen in attackers(margins, done.policy):
        for names, (counts, true) in margins.items():
            for place, count in enumerate(true.ravel()):
                values = cb.ValueSet.from_values(sorted(set(counts[seen, place].tolist())))
                if rule.broken(values, cb.ValueSet.from_values([int(count)])):
                    found.append((names, place))
    return found


def attackers(margins, policy) -> Iterator[np.ndarray]:
    """The tables that each attacker takes for possible, as a mask."""
    tables = len(next(iter(margins.values()))[0])
    yield np.ones(tables, dtype=bool)
    people = policy.against.respondents
    for counts, true in margins.values():
        flat = true.ravel()
        small = [place for place, count in enumerate(flat) if 1 <= count <= policy.small]
        for one in small if people else ():
            yield counts[:, one] >= 1
        if people < 2:
            continue
        for one in small:
            if flat[one] >= 2:
                yield counts[:, one] >= 2
        for one, other in itertools.combinations(small, 2):
            here, there = (np.unravel_index(place, true.shape) for place in (one, other))
            if sum(a != b for a, b in zip(here, there, strict=True)) == 1:
                yield (counts[:, one] >= 1) & (counts[:, other] >= 1)


@given(cases())
def test_what_is_called_safe_is(case: Case) -> None:
    table, margins, policy, marked = case
    done = cb.protect(table, *margins, policy=policy, marked=marked, independent=False)
    found = broken(done, table)
    if done.safe:
        assert not found
    if found:
        assert done.outcome is cb.Outcome.UNSAFE
    if not found and policy.against.respondents == 0:
        assert not done.unprotectable
        assert done.safe
    if done.unprotectable and not policy.respondent:
        assert found
    if done.proven[0] == done.proven[1] and not policy.respondent:
        assert done.safe


def cost_of_all(done, table: cb.Table) -> int | None:
    """The cheapest of all patterns of the same table that give nothing away."""
    cells, rule = done.cells, done.policy.rules[0]
    primary = np.zeros(len(cells.counts), dtype=bool)
    for sheet in cells.sheets:
        counts = cells.counts[sheet.numbers]
        primary[sheet.numbers] = rule.lacking(counts, counts, counts)
    free = np.flatnonzero(cells.published & ~primary & (cells.counts > 0))
    free = free[free != cells.total]
    if len(free) > 8:
        return None
    patterns = itertools.product([False, True], repeat=len(free))
    costs = sorted((int(cells.counts[free[list(one)]].sum()), one) for one in patterns)
    for cost, chosen in costs:
        hidden = primary & cells.published
        hidden[cells.total] = False
        hidden[free] = chosen
        shown = done.policy.against.zeros == "shown"
        mark = np.full(len(hidden), ">=1" if shown else None, dtype=object)
        if done.primary_mark is not None:
            mark[:] = f">={rule.small + 1}"
            mark[primary] = f"{int(shown)}-{rule.small}"
        tried = _Tried(cells.protected(hidden, mark), done.policy, cells)
        if not broken(tried, table):
            return cost
    return -1


class _Tried:
    def __init__(self, release, policy, cells) -> None:
        self.release, self.policy, self.cells = release, policy, cells


@given(cases())
def test_no_pattern_is_cheaper(case: Case) -> None:
    table, margins, policy, marked = case
    assume(not policy.against.respondents and not policy.rules[0].zeros)
    assume(table.total <= 7)
    done = cb.protect(table, *margins, policy=policy, marked=marked, independent=False)
    right = cost_of_all(done, table)
    assume(right is not None)
    if right < 0:
        assert not done.safe
    else:
        assert done.bound <= right
        assert not done.unprotectable
        if done.proven[0] == done.proven[1]:
            assert done.optimal
            assert done.cost == right


@given(cases())
def test_equations_say_all_that_sums_say(case: Case) -> None:
    """They hold, and leave cells as free as tables do."""
    table, margins, *_ = case
    release = cb.publish(table, *margins)
    cells = published_cells(table, release)
    matrix = np.zeros((len(cells.equations), len(cells.counts)))
    for row, (cell, parts) in enumerate(cells.equations):
        assert cells.counts[cell] == cells.counts[list(parts)].sum()
        matrix[row, cell] = 1
        matrix[row, list(parts)] -= 1
    units = [np.eye(table.domain.size, dtype=int)[k] for k in range(table.domain.size)]
    moved = []
    for unit in units:
        counts = unit.reshape(table.domain.shape)
        numbered = np.full(len(cells.counts), -1)
        for sheet in cells.sheets:
            numbered[sheet.numbers] = summed(release, counts, sheet.names).ravel()
        if cells.total is not None:
            numbered[cells.total] = 1
        moved.append(numbered)
    behind = np.array(moved)
    known = (behind >= 0).all(axis=0)
    free = np.linalg.matrix_rank(behind[:, known])
    # Cells that only stand between others are as free as the table itself.
    rank = np.linalg.matrix_rank(matrix)
    assert len(cells.counts) - rank == (free if known.all() else table.domain.size)


@given(cases(), st.data())
def test_beside_what_is_out_about_the_same_people(case: Case, data: st.DataObject) -> None:
    """What is out, figures hidden there too, is attacked together with what is published now."""
    table, margins, policy, marked = case
    assume(table.total <= 8)
    names = table.domain.names
    first = data.draw(st.sampled_from([f"[{names[0]}]", f"[{names[1]}]", f"[{','.join(names)}]"]))
    shown = cb.publish(table, first).statements[0]
    hide = data.draw(st.lists(st.booleans(), min_size=shown.entries.size, max_size=10))
    mask = np.array(hide[: shown.entries.size]).reshape(shown.entries.shape)
    out = cb.Release(table.domain, [shown.suppressed(mask)])
    done = cb.protect(
        table, *margins, policy=policy, marked=marked, released=out, independent=False
    )
    joint = cb.Release(done.release.domain, [*done.release.statements, *out.statements])
    found = broken(_Tried(joint, policy, done.cells), table)
    if done.safe:
        assert not found
    if found:
        assert done.outcome is cb.Outcome.UNSAFE
    # What was hidden is not shown now, unless it is zero or known by other figures.
    now = [one for one in done.release.statements if set(one.variables) == set(shown.variables)]
    if now and set(now[0].variables) == set(names):
        both = mask & (table.counts > 0) & (table.counts < table.total)
        assert now[0].hidden[both].all()
