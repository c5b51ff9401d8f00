"""Each shortcut beside the long way: the same answers, with less work."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import cellbounds as cb
from cellbounds.data.cell_groups import cells_behind
from cellbounds.model.constraints import compile_release
from cellbounds.model.rates.layout import Parts, make_layout
from cellbounds.model.rates.offset_sets import (
    ListedSums,
    OffsetSet,
    Residues,
    Window,
    leave_one_out,
    sum_of_all,
)
from cellbounds.model.structure import gather
from cellbounds.results import ValueSet
from cellbounds.solvers.conditional.admissible import Evaluator, ListedRow
from cellbounds.solvers.conditional.cells import CellCounts
from cellbounds.solvers.conditional.feasible import SumSet, distinct_rows, solve_rows
from cellbounds.solvers.conditional.parts import PartCounts
from cellbounds.statements.inequalities import NO_LOWER, NO_UPPER
from strategies import few


@st.composite
def tables(draw, largest=9, most=3):
    """Small tables; some counts are huge, some cells structural zeros, some levels merged."""
    shape = draw(st.lists(st.integers(1, most), min_size=2, max_size=3))
    size = math.prod(shape)
    count = st.integers(0, largest) if draw(st.integers(0, 3)) else st.integers(0, 10**30)
    counts = np.array(draw(st.lists(count, min_size=size, max_size=size)), dtype=object)
    domain = cb.Domain({name: range(n) for name, n in zip("abc", shape, strict=False)})
    structural = (counts == 0) & np.array(
        draw(st.lists(st.booleans(), min_size=size, max_size=size))
    )
    table = cb.Table(domain, counts.reshape(shape), structural=structural.reshape(shape))
    if shape[0] > 1 and draw(st.booleans()):
        table = table.grouped("g", of="a", levels={"x": [0], "y": list(range(1, shape[0]))})
    return table


@st.composite
def rates(draw):
    """A release of rates of a small table, rounded in some way or exact."""
    table = draw(tables())
    names = [*table.domain.names]
    if "g" in table.domain.groupings and draw(st.booleans()):
        names[0] = "g"
    chosen = draw(st.permutations(names))[: draw(st.integers(1, len(names)))]
    cut = draw(st.integers(1, len(chosen)))
    digits = draw(st.sampled_from(["", "@0", "@1", "@2", "@12"]))
    rule = draw(st.sampled_from(["nearest", "half-even", "down", "up", "consistent"]))
    text = f"[{','.join(chosen[:cut])}|{','.join(chosen[cut:])}]{digits}"
    return cb.publish(table, text, rounding=rule if digits else None)


# --- rates as sums with integer coefficients -----------------------------------------------


def sums_one_by_one(release, place, closed):
    """Each end of each rate by itself: cells, coefficients, limits, figure, about the sum."""
    statement = release.statements[place]
    ends = statement.intervals
    rows, columns = ends.low.shape
    behind = cells_behind(release.domain, statement.variables)
    parts = [behind.cells[a:b].tolist() for a, b in itertools.pairwise(behind.starts.tolist())]
    for row in range(rows):
        inside = parts[row * columns : (row + 1) * columns]
        every = [cell for part in inside for cell in part]
        limits = (NO_LOWER, 0) if ends.zero[row] else (1, NO_UPPER)
        yield every, [1] * len(every), *limits, row * columns, True
        if ends.zero[row]:
            continue
        scale = int(ends.scale[row])
        for column, own in enumerate(inside):
            low, high, low_open, high_open = (
                int(side[row, column])
                for side in (ends.low, ends.high, ends.low_open, ends.high_open)
            )
            if closed:
                low_open = high_open = 0
            asked = []
            if low == high:
                asked.append((low, low_open, -high_open))
            else:
                if low > 0 or (low == 0 and low_open):
                    asked.append((low, low_open, NO_UPPER))
                if high < scale or (high == scale and high_open):
                    asked.append((high, NO_LOWER, -high_open))
            for end, lower, upper in asked:
                terms = {cell: (scale if cell in own else 0) - end for cell in every}
                terms = {cell: one for cell, one in terms.items() if one}
                shared = math.gcd(*terms.values()) or 1
                lower = lower if lower == NO_LOWER else -(-lower // shared)
                upper = upper if upper == NO_UPPER else upper // shared
                coefficients = [one // shared for one in terms.values()]
                yield list(terms), coefficients, lower, upper, row * columns + column, False


def nothing_left():
    """Exact rates of which both ends are open."""
    domain = cb.Domain({"a": [0, 1], "b": [0, 1]})
    rates = [["1/2", "1/2"], ["1/3", "2/3"]]
    return cb.Release(domain, [cb.Conditional(["b"], ["a"], rates=rates, eps="0", strict=True)])


@given(rates(), st.booleans())
@example(nothing_left(), False)
@example(nothing_left(), True)
def test_rates_are_compiled_as_one_by_one(release, closed):
    place = next(k for k, one in enumerate(release.statements) if isinstance(one, cb.Conditional))
    # Rows that add to one by their rule are compiled in pairs of columns.
    assume(release.statements[place].intervals.remainders is None)
    system = compile_release(release, closed=closed)
    found = []
    for row in np.flatnonzero(system.statement == place).tolist():
        entries = slice(system.starts[row], system.starts[row + 1])
        found.append(
            (
                system.cells[entries].tolist(),
                system.coefficients[entries].tolist(),
                int(system.lower[row]),
                int(system.upper[row]),
                int(system.figure[row]),
                bool(system.about_sum[row]),
            )
        )
    expected = list(sums_one_by_one(release, place, closed))
    impossible = [one for one in expected if not one[0] and not one[2] <= 0 <= one[3]]
    assert found == [
        *(([0], [1], 1, -1, one[4], False) for one in impossible),
        *(one for one in expected if one[0]),
    ]


# --- row sums and the counts of cells ------------------------------------------------------

segments = st.lists(
    st.one_of(
        st.tuples(st.just("bits"), st.integers(0, 2**40), st.integers(0, 200)),
        st.tuples(st.just("run"), st.integers(1, 4), st.integers(0, 30)),
    ),
    min_size=1,
    max_size=5,
)


@given(segments, st.sampled_from([0, 5, 2**61, 10**30]), st.integers(0, 3))
def test_runs_of_row_sums_are_the_row_sums(given_segments, base, apart):
    at, made = base, []
    for kind, one, other in given_segments:
        if kind == "bits":
            made.append((at, one))
            at += one.bit_length() + apart
        else:
            made.append((at, at + one * other, one))
            at += one * other + 1 + apart
    sums = SumSet(made)
    runs = zip(*(ends.tolist() for ends in sums.runs), strict=True)
    members = [n for a, b, step in runs for n in range(a, b + 1, step)]
    assert sorted(members) == list(sums.values)
    assert sums.ends(4) == list(sums.values)[:4]
    assert sums.ends(4, downwards=True) == list(sums.values)[::-1][:4]


def test_neighbouring_runs_are_joined():
    sums = SumSet([(10, 0b1101), (14, 40, 1), (41, 0b1011)])
    runs = list(zip(*(ends.tolist() for ends in sums.runs), strict=True))
    assert runs == [(10, 10, 1), (12, 42, 1), (44, 44, 1)]


@given(tables(largest=400), st.sampled_from([1, 2, 3]), st.sampled_from(["nearest", "consistent"]))
@few(2)
def test_counts_from_runs_are_those_from_every_row_sum(table, digits, rule):
    names = table.domain.names
    release = cb.publish(table, f"[{names[-1]}|{','.join(names[:-1])}]@{digits}", rounding=rule)
    if release.total.exact == 0 or release.total.exact > 10**6:
        return
    facts = gather(release)
    assume(facts.conditional is not None)  # structural zeros beside rows that add to one
    solution = solve_rows(distinct_rows(make_layout(facts.conditional, names).problem))
    counts = CellCounts(solution)
    evaluator = solution.evaluator
    for row in range(solution.problem.height):
        sums = np.array(list(solution.feasible[row].values))
        singles, runs = counts._split(row, solution.feasible[row])
        spread = [n for first, last, step in runs for n in range(first, last + 1, step)]
        assert sorted([*singles.tolist(), *spread]) == sums.tolist()
        low, high, *_ = evaluator.ranges(np.array([row]), sums[None, :])
        for column, found in enumerate(counts.row_values(row)):
            exact = solution.shapes.exact[row, column]
            share, scale = solution.shapes.share[row, column], solution.problem.scale[row]
            expected = (
                ValueSet.from_values((sums * share // scale).tolist())
                if exact
                else ValueSet.from_intervals(
                    zip(low[column, 0].tolist(), high[column, 0].tolist(), strict=True)
                )
            )
            assert found == expected
            assert exact or found.progressions == expected.progressions


@given(
    st.lists(st.tuples(st.integers(1, 600), st.integers(1, 9)), min_size=1, max_size=6),
    st.sampled_from(["@1", "@2", ""]),
)
@example([(600, 1)], "@2")
def test_row_sums_are_split_into_single_ones_and_long_runs(lengths, digits):
    """Bits of long and short runs: none is lost, and what is long is not taken one by one."""
    release = cb.publish(cb.datasets.read("delinquent"), f"[education|county]{digits}")
    problem = make_layout(gather(release).conditional, release.domain.names).problem
    solution, bits, place = solve_rows(distinct_rows(problem)), 0, 0
    # A row whose sums are all possible from somewhere on, if there is one.
    row = int(np.argmin(solution.shapes.step))
    for length, gap in lengths:
        bits |= ((1 << length) - 1) << place
        place += length + gap
    sums = SumSet([(5, bits)])
    singles, runs = CellCounts(solution)._split(row, sums)
    spread = [n for first, last, step in runs for n in range(first, last + 1, step)]
    assert sorted([*singles.tolist(), *spread]) == list(sums.values)
    if digits == "@2" and lengths[-1][0] == 600:
        assert runs


@st.composite
def offset_sets(draw):
    start, bits = draw(st.integers(1, 9)), draw(st.integers(0, 255))
    step = draw(st.sampled_from([0, 1]))
    return OffsetSet.make(start, bits | 1, max((bits | 1).bit_length(), 1), step)


@given(st.lists(st.tuples(offset_sets(), st.integers(1, 3)), min_size=1, max_size=7))
@pytest.mark.parametrize("algebra", [Window(40), ListedSums(40), Residues(7, 40)])
def test_leaving_one_row_out_is_adding_the_others(algebra, rows):
    sets, copies = [one for one, _ in rows], [times for _, times in rows]
    found = leave_one_out(algebra, sets, copies)
    for place, held in enumerate(found):
        fewer = [times - (other == place) for other, times in enumerate(copies)]
        expected = sum_of_all(algebra, sets, fewer)
        assert [algebra.holds(held, n) for n in range(40)] == [
            algebra.holds(expected, n) for n in range(40)
        ]


@given(st.data())
@settings(deadline=None)
def test_parts_with_the_same_knowledge_share_an_answer(data):
    """Counts of a part, by trying every way to split every sum."""
    bounds = data.draw(
        st.lists(st.tuples(st.integers(0, 2), st.integers(-1, 3)), min_size=1, max_size=4)
    )
    lower = [low for low, _ in bounds]
    upper = [high if high < 0 else low + high for low, high in bounds]
    domain = cb.Domain({"a": range(len(bounds))})
    behind = cells_behind(domain, ())
    parts = PartCounts(Parts(np.array(lower), np.array(upper), {}, behind))
    sums = ValueSet.from_values(data.draw(st.sets(st.integers(0, 9), min_size=1, max_size=4)))
    ranges = [
        range(low, (9 if high < 0 else high) + 1) for low, high in zip(lower, upper, strict=True)
    ]
    for part in range(len(bounds)):
        expected = {split[part] for split in itertools.product(*ranges) if sum(split) in sums}
        if any(sum(split) in sums for split in itertools.product(*ranges)):
            assert set(parts.values(0, part, sums)) == expected


@given(
    st.lists(st.integers(0, 9), min_size=3, max_size=3).filter(any),
    st.sets(st.integers(0, 9), min_size=1),
    st.sampled_from(["@1", "@2", ""]),
)
@settings(deadline=None)
def test_counts_beside_a_list_are_all_that_add_up(counts, listed, digits):
    table = cb.Table(cb.Domain({"a": range(3)}), counts)
    known = cb.Known(["a"], values={0: sorted({*listed, counts[0]})})
    release = cb.Release(table.domain, [*cb.publish(table, f"[a|]{digits}").statements, known])
    problem = make_layout(gather(release).conditional, ("a",)).problem
    if not problem.cell_values:
        return
    evaluator = Evaluator(problem)
    row = ListedRow(problem, evaluator, 0)
    for total in range(1, 25):
        lower, upper = evaluator.limits(np.array([0]), np.array([[total]]))
        choices = [
            [n for n in range(low, high + 1) if n in problem.cell_values.get((0, column), [n])]
            for column, (low, high) in enumerate(
                zip(lower.ravel().tolist(), upper.ravel().tolist(), strict=True)
            )
        ]
        rows = [one for one in itertools.product(*choices) if sum(one) == total]
        for column in range(3):
            assert row.cell_values(total, column) == sorted({one[column] for one in rows})
