"""The parts of the general search, each by itself: what is proven is true, tables are tables."""

from __future__ import annotations

import itertools
import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import cellbounds as cb
from cellbounds.model.constraints import compile_release
from cellbounds.model.linear_programs import LinearProgram, independent_rows
from cellbounds.model.problem import Problem, make_problem, narrowed, presolve, raw_problem
from cellbounds.model.targets import asked_about
from cellbounds.runtime.budget import UNLIMITED, Budget
from cellbounds.solvers.general.attainable import Run, values_of
from cellbounds.solvers.general.cp_sat import IntegerProgram, fits_solver
from cellbounds.solvers.general.exact_linear import (
    MOST_CELLS,
    ExactProgram,
    closed_beyond,
    dual_bound,
    exact_bound,
    grows_without_end,
)
from cellbounds.solvers.general.hypercubes import Guide, Walker, moves_of
from cellbounds.solvers.general.search import Proof, Search, TablePool
from cellbounds.solvers.general.strategy import passes, settle_all
from cellbounds.statements.inequalities import NO_LOWER, NO_UPPER
from listing import listed
from mixtures import cases
from strategies import few

TWO, THREE = ["0", "1"], ["0", "1", "2"]


def problem(rows, lower, upper, lists=()):
    """A problem by hand: rows are (coefficients by cell, lower, upper); None: no limit."""
    cells = [sorted(row[0]) for row in rows]
    return Problem(
        np.array(lower, dtype=np.int64),
        np.array([NO_UPPER if one is None else one for one in upper], dtype=np.int64),
        np.concatenate([[0], np.cumsum([len(one) for one in cells])]).astype(np.int64),
        np.array([c for one in cells for c in one], dtype=np.int64),
        np.array(
            [row[0][c] for row, one in zip(rows, cells, strict=True) for c in one], dtype=np.int64
        ),
        np.array([NO_LOWER if row[1] is None else row[1] for row in rows], dtype=np.int64),
        np.array([NO_UPPER if row[2] is None else row[2] for row in rows], dtype=np.int64),
        np.arange(len(rows)),
        tuple((np.array(where), frozenset(values)) for where, values in lists),
    )


def made(release):
    return make_problem(compile_release(release), release.domain.size)


def tables_of(one):
    """Every table of a small problem, by listing."""
    ranges = [range(low, high + 1) for low, high in zip(one.lower, one.upper, strict=True)]
    found = [np.array(t, dtype=np.int64) for t in itertools.product(*ranges)]
    return [t for t in found if one.holds(t)]


@st.composite
def small_problems(draw, most_cells=4, endless=False):
    size = draw(st.integers(1, most_cells))
    lower = [draw(st.integers(0, 2)) for _ in range(size)]
    upper = [low + draw(st.integers(0, 4)) for low in lower]
    if endless:
        upper = [None if draw(st.integers(0, 3)) == 0 else one for one in upper]
    rows = []
    for _ in range(draw(st.integers(1, 4))):
        cells = draw(st.lists(st.integers(0, size - 1), min_size=1, unique=True))
        row = {c: draw(st.sampled_from([1, 1, 1, -1, 2, -3, 5])) for c in cells}
        low = draw(st.integers(-6, 8))
        kind = draw(st.sampled_from(["equal", "lower", "upper", "both"]))
        high = low if kind == "equal" else low + draw(st.integers(0, 4))
        rows.append((row, None if kind == "upper" else low, None if kind == "lower" else high))
    return problem(rows, lower, upper)


# Propagation -------------------------------------------------------------------------------------


def test_propagation_of_margins():
    release = cb.Release(
        cb.Domain({"a": TWO, "b": THREE}),
        [cb.Margin(["a"], [5, 20]), cb.Margin(["b"], [10, 9, 6])],
    )
    one = made(release)
    assert one.upper.tolist() == [5, 5, 5, 10, 9, 6]
    assert one.lower.tolist() == [0, 0, 0, 5, 4, 1]


def test_propagation_goes_on_until_nothing_moves():
    """a <= 3 gives b >= 2, which gives c <= 1, which gives d >= 4."""
    release = cb.Release(
        cb.Domain({"a": ["p", "q", "r", "s"]}),
        [
            cb.Known(["a"], upper={"p": 3}),
            cb.Linear(["a"], {"p": 1, "q": 1}, equals=5),
            cb.Linear(["a"], {"q": 1, "r": 1}, equals=3),
            cb.Linear(["a"], {"r": 1, "s": 1}, equals=5),
        ],
    )
    one = made(release)
    assert one.lower.tolist() == [2, 2, 0, 4]
    assert one.upper.tolist() == [3, 3, 1, 5]


def test_rates_are_rounded_inwards():
    """Of 10 in all, a share from 0.25 to 0.35 is 3, and the other 7."""
    release = cb.Release(
        cb.Domain({"a": TWO}),
        [cb.Conditional(["a"], rates=["0.3", "0.7"], rounding="nearest", digits=1), cb.Total(10)],
    )
    one = made(release)
    assert one.lower.tolist() == one.upper.tolist() == [3, 7]


def propagated(one):
    """The limits of the cells after propagation."""
    tight = narrowed(one)
    return tight.lower, tight.upper


@pytest.mark.parametrize(("low", "high"), [(0, 0), (1, 2), (5, 7), (-3, 4), (-5, -1)])
@pytest.mark.parametrize("factors", [(2, 3), (2, -3), (-2, 3), (-2, -3), (1, 1)])
def test_single_rows_leave_what_listing_leaves(factors, low, high):
    """With two cells one pass is sharp up to whole numbers: never narrower than the truth."""
    one = problem([(dict(enumerate(factors)), low, high)], [0, 1], [6, 5])
    tables = np.array(tables_of(one)).reshape(-1, 2)
    try:
        lower, upper = propagated(one)
    except cb.InconsistentRelease:
        assert not len(tables)
        return
    for cell, other in ((0, 1), (1, 0)):
        ends = [factors[other] * int((lower, upper)[k][other]) for k in (0, 1)]
        fits = [
            x
            for x in range(int(one.lower[cell]), int(one.upper[cell]) + 1)
            if low <= factors[cell] * x + max(ends) and factors[cell] * x + min(ends) <= high
        ]
        assert (int(lower[cell]), int(upper[cell])) == (min(fits), max(fits))
    if len(tables):
        assert (lower <= tables.min(axis=0)).all()
        assert (upper >= tables.max(axis=0)).all()


@few(2)
@given(small_problems())
def test_propagation_keeps_every_table(one):
    tables = tables_of(one)
    try:
        lower, upper = propagated(one)
    except cb.InconsistentRelease:
        assert not tables
        return
    assert all((lower <= t).all() and (t <= upper).all() for t in tables)
    assert (lower >= one.lower).all()
    assert (upper <= one.upper).all()


def test_cells_without_limit():
    rows = [({0: 1, 1: -1}, 0, None), ({1: 1, 2: 1}, 4, None), ({2: 1, 3: 1}, None, 9)]
    one = problem(rows, [0, 3, 0, 0], [None, None, None, None])
    lower, upper = propagated(one)
    assert lower.tolist() == [3, 3, 0, 0]
    assert upper.tolist() == [NO_UPPER, NO_UPPER, 9, 9]
    # The only end that is missing may be that of the cell itself.
    alone = problem([({0: 2, 1: 3}, None, 13)], [0, 0], [None, None])
    assert propagated(alone)[1].tolist() == [6, 4]
    # With one other end missing nothing follows.
    open_end = problem([({0: 1, 1: -1}, None, 2)], [0, 0], [None, None])
    assert propagated(open_end)[1].tolist() == [NO_UPPER, NO_UPPER]


def test_propagation_finds_contradictions():
    domain = cb.Domain({"a": TWO, "b": TWO})
    for said in (
        [cb.Margin(["a"], [3, 4]), cb.Known(["a", "b"], lower=2)],
        [cb.Margin(["a"], [3, 4]), cb.Known(["a", "b"], upper=1)],
        [cb.Total(upper=3), cb.Known(["a", "b"], lower=1)],
    ):
        with pytest.raises(cb.InconsistentRelease):
            made(cb.Release(domain, said))


def test_sums_that_pass_64_bits_are_refused():
    domain = cb.Domain({"a": TWO})
    release = cb.Release(domain, [cb.Linear(["a"], [2**30, 1], upper=2**61), cb.Total(2**61)])
    with pytest.raises(cb.TooMuchWork, match="64-bit"):
        made(release)
    wide = cb.Release(domain, [cb.Total(2**70)])
    with pytest.raises(cb.TooMuchWork, match="64-bit"):
        raw_problem(compile_release(wide), 2)


# Reduction ---------------------------------------------------------------------------------------


def test_fixed_cells_idle_rows_and_twins_are_left_out():
    rows = [
        ({0: 1, 1: 1, 2: 1}, 4, 6),  # cell 0 is fixed at 2: 2 <= x1 + x2 <= 4
        ({1: 1, 2: 1}, 1, 5),  # follows from the first
        ({1: 1, 2: 1}, 2, 4),  # the same as the first
        ({1: 1, 2: -1}, -20, 20),  # always holds
        ({1: 1, 2: -1}, -1, None),
        ({0: 3}, 6, 6),  # about fixed cells only
    ]
    presolved = presolve(problem(rows, [2, 0, 0], [2, 5, 5]))
    small, left = presolved.problem, presolved.cells
    assert left.tolist() == [1, 2]
    assert small.origin.tolist() == [0, 4]
    assert small.row_lower.tolist() == [2, -1]
    assert small.row_upper.tolist() == [4, NO_UPPER]
    assert small.cells.tolist() == [0, 1, 0, 1]
    assert small.coefficients.tolist() == [1, 1, 1, -1]


def test_rows_that_just_may_break_are_kept():
    """x1 + x2 is between 0 and 10: limits inside or at the ends."""
    for low, high in ((1, 10), (0, 9), (None, 9), (1, None)):
        small = presolve(problem([({0: 1, 1: 1}, low, high)], [0, 0], [5, 5])).problem
        assert len(small.row_lower) == 1
    small = presolve(problem([({0: 1, 1: 1}, -2, 12)], [0, 0], [5, 5])).problem
    assert not len(small.row_lower)


def test_a_tighter_twin_is_kept():
    rows = [({0: 1, 1: 1}, 1, 8), ({0: 1, 1: 1}, 2, 7)]
    small = presolve(problem(rows, [0, 0], [5, 5])).problem
    assert 1 in small.origin.tolist()
    crossed = [({0: 1, 1: 1}, 1, 7), ({0: 1, 1: 1}, 2, 8)]
    small = presolve(problem(crossed, [0, 0], [5, 5])).problem
    assert small.origin.tolist() == [0, 1]


def test_rows_about_fixed_cells_must_hold():
    for low, high in ((7, 8), (None, 5), (7, None)):
        with pytest.raises(cb.InconsistentRelease):
            presolve(problem([({0: 3}, low, high)], [2, 0], [2, 4]))


@few(2)
@given(small_problems())
def test_reduction_keeps_exactly_the_tables(one):
    tables = {tuple(t.tolist()) for t in tables_of(one)}
    try:
        presolved = presolve(one)
        small, left = presolved.problem, presolved.cells
    except cb.InconsistentRelease:
        assert not tables
        return
    fixed = one.lower.copy()
    again = set()
    for cells in tables_of(small):
        fixed[left] = cells
        again.add(tuple(fixed.tolist()))
    assert again == tables


def test_components():
    rows = [({0: 1, 3: 1}, 0, 4), ({3: 1, 5: -1}, 0, 4), ({1: 1, 2: 1}, 0, 1)]
    one = problem(rows, [0] * 6, [9] * 6)
    labels = one.components().tolist()
    assert labels[0] == labels[3] == labels[5]
    assert labels[1] == labels[2]
    assert len({labels[0], labels[1], labels[4]}) == 3


def test_room_and_growing_alone():
    one = problem([({0: 1, 1: 2}, 0, 20), ({1: 1}, 1, None)], [0, 0], [None, 9])
    at = np.array([3, 4])
    assert one.room(at, np.array([1, 0])) == 9
    assert one.room(at, np.array([0, 1])) == 4
    assert one.room(at, np.array([0, -1])) == 3
    assert one.room(at, np.array([2, -1])) == 3
    assert one.room(at, np.array([-2, 1])) == 1
    assert not one.grows_alone(0)
    free = problem([({0: -1, 1: 1}, None, 3), ({0: 1}, 2, None)], [0, 0], [None, None])
    assert free.grows_alone(0)
    assert not free.grows_alone(1)
    assert not problem([({0: -1}, -8, None)], [0], [None]).grows_alone(0)
    assert not problem([({0: 1}, 2, None)], [0], [None], [([0], {3, 4})]).grows_alone(0)
    assert not problem([({0: 1}, 2, None)], [0], [7]).grows_alone(0)


def test_lists_and_bounds_decide_what_holds():
    one = problem([({0: 1, 1: 1}, 2, 6)], [1, 0], [5, 5], [([0, 1], {2, 5})])
    assert one.holds(np.array([2, 3]))
    for wrong in ([0, 2], [6, 0], [1, 0], [3, 3], [2, 2]):
        assert not one.holds(np.array(wrong))


# Dual bounds -------------------------------------------------------------------------------------


@few(2)
@given(small_problems(), st.data())
def test_no_vector_proves_what_is_false(one, data):
    """Any multipliers, however wrong, prove at most the true minimum."""
    tables = tables_of(one)
    assume(tables)
    size, rows = len(one.lower), len(one.row_lower)
    weights = np.array([data.draw(st.integers(-2, 2)) for _ in range(size)], dtype=np.int64)
    least = min(int(weights @ t) for t in tables)
    numbers = st.one_of(
        st.floats(-4, 4), st.sampled_from([0.0, 1.0, -1.0, 0.5, 1 / 3, 1e9, -1e9, 1e300, np.nan])
    )
    duals = np.array([data.draw(numbers) for _ in range(rows)])
    proven = dual_bound(one, weights, duals, 10**9)
    assert proven is None or proven <= least
    proposal = LinearProgram(one).minimize(np.arange(size), weights)
    assert proposal is not None
    good = dual_bound(one, weights, proposal.duals, 10**9)
    assert good is not None
    assert good <= least
    assert good >= np.ceil(proposal.value - 1e-4) - 1
    nudged = proposal.duals + np.array([data.draw(st.floats(-0.2, 0.2)) for _ in range(rows)])
    assert dual_bound(one, weights, nudged, 10**9) <= least


def test_multipliers_of_limits_that_do_not_exist_are_dropped():
    one = problem([({0: 1, 1: 1}, 3, None), ({0: 1}, None, 2)], [0, 0], [9, None])
    weights = np.array([0, 1])
    assert dual_bound(one, weights, np.array([1.0, -1.0]), 99) == 1
    assert dual_bound(one, weights, np.array([1.0, 1.0]), 99) == -6
    assert dual_bound(one, weights, np.array([-1.0, -1.0]), 99) == -2 + 0
    assert dual_bound(one, np.array([0, -1]), np.array([0.0, 0.0]), 99) is None


def test_dual_bounds_of_large_numbers_are_exact():
    big = 2**58
    one = problem([({0: 1, 1: 1}, big, big)], [0, 0], [big, big])
    assert dual_bound(one, np.array([1, 1]), np.array([1.0]), 2**60) == big
    assert dual_bound(one, np.array([1, 1]), np.array([1.0 + 2**-20]), 2**60) <= big
    assert dual_bound(one, np.array([3, 3]), np.array([3.0]), 2**62) == 3 * big


def test_dual_bounds_beyond_64_bits_do_not_wrap():
    """x0 + x1 = B: the vector proves -B/4 or so, which wraps to a positive number in 64 bits."""
    big = 2**58
    one = problem([({0: 1, 1: 1}, big, big)], [0, 0], [big, 2 * big])
    proven = dual_bound(one, np.array([1, 0]), np.array([256020 / 2**20]), 2**60)
    assert proven <= 0


def test_fractions_are_rounded_up():
    """2 x >= 3 proves x >= 2 in whole numbers."""
    one = problem([({0: 2}, 3, None)], [0], [9])
    assert dual_bound(one, np.array([1]), np.array([0.5]), 2) == 2


# Moves and walks ---------------------------------------------------------------------------------


def moved(release, seed=0):
    """One table for each move: +1 and -1 on the corners of a random hypercube."""
    domain = release.domain
    rng = np.random.default_rng(seed)
    for axes in moves_of(release):
        change = np.zeros(domain.shape, dtype=np.int64)
        at = [int(rng.integers(n)) for n in domain.shape]
        pairs = [rng.choice(domain.shape[a], 2, replace=False).tolist() for a in axes]
        for corner in itertools.product((0, 1), repeat=len(axes)):
            for axis, pair, side in zip(axes, pairs, corner, strict=True):
                at[axis] = pair[side]
            change[tuple(at)] = (-1) ** sum(corner)
        yield change


@few(2)
@given(cases())
def test_moves_keep_every_statement(case):
    system = compile_release(case.release)
    single = {
        k
        for k, one in enumerate(case.release.statements)
        if isinstance(one, cb.Known) and set(one.variables) == set(case.release.domain.names)
    }
    for change in moved(case.release):
        sums = system.sums(change.ravel())
        kept = np.array([place not in single for place in system.statement], dtype=bool)
        kept &= system.lower <= system.upper  # not rows that no table satisfies
        assert not sums[kept].any()
        for one in system.lists:
            assert change.ravel()[one.cells].sum() == 0


def test_smallest_moves():
    domain = cb.Domain(dict.fromkeys("abc", TWO))

    def moves(*names):
        said = [cb.Margin(list(one), np.full([2] * len(one), 2)) for one in names]
        return moves_of(cb.Release(domain, said))

    assert moves("ab", "bc", "ac") == ((0, 1, 2),)
    assert moves("ab", "bc") == ((0, 2),)
    assert moves("a") == ((1,), (2,))
    assert moves("abc") == ()
    assert moves() == ((0,), (1,), (2,))
    limits = cb.Release(domain, [cb.Known(["c", "a", "b"], upper=3), cb.Total(4)])
    assert moves_of(limits) == ((0,), (1,), (2,))
    values = cb.Release(domain, [cb.Known(["c", "a", "b"], values={("0", "0", "0"): [1, 3]})])
    assert moves_of(values) == ()
    merged = cb.Domain({"a": THREE}, groupings={"g": cb.Grouping("a", {"x": ["0", "1"]})})
    assert moves_of(cb.Release(merged, [cb.Known(["g"], upper=4)])) == ()
    assert moves_of(cb.Release(merged, [cb.Known(["a"], upper=4)])) == ((0,),)
    narrow = cb.Domain({"a": ["0"], "b": TWO, "c": TWO})
    assert moves_of(cb.Release(narrow, [cb.Total(4)])) == ((1,), (2,))


def walked(release, over, side, guide=None, proposals=3000):
    search = Search(release, over)
    assert search.first_table(None)
    for place in range(search.asked.size):
        start = search.pool.nearest(place, side)
        before = int(start[search.asked.members(place)].sum())
        search.walker.push(search.pool, start, [(place, side)], search.proven, proposals, guide)
        assert search.full.holds(start)
        after = int(start[search.asked.members(place)].sum())
        assert after >= before if side else after <= before
    for number in range(len(search.pool)):
        assert search.full.holds(search.pool.at(number))
    return search


RELEASE = cb.Release(
    cb.Domain({"a": THREE, "b": TWO, "c": THREE}),
    [
        cb.Margin(["a", "b"], [[5, 3], [2, 2], [0, 4]]),
        cb.Margin(["b", "c"], [[1, 3, 3], [4, 0, 5]]),
        cb.Known(["a", "b", "c"], upper=4),
    ],
)


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("over", [("a", "b", "c"), ("c", "a"), ("a",)])
@pytest.mark.parametrize("temperature", [0, 3.0])
def test_walks_stay_consistent_and_reach_the_goal(over, side, temperature):
    guide = Guide(np.full(18, 16 / 18), temperature) if temperature else None
    search = walked(RELEASE, over, side, guide)
    settle_all(search, Budget())
    low, high = search.open_bounds()
    assert not low.any()
    assert not high.any()


def test_walks_alone_reach_the_extremes_of_a_small_table():
    truth = cb.bounds(RELEASE)
    search = walked(RELEASE, ("a", "b", "c"), 1)
    assert np.array_equal(search.pool.ends[1], truth.upper.ravel())
    search = walked(RELEASE, ("a", "b", "c"), 0)
    assert np.array_equal(search.pool.ends[0], truth.lower.ravel())


LIMITED = cb.Release(
    cb.Domain({"a": THREE, "b": THREE}),
    [
        cb.Margin(["a"], [40, 50, 30]),
        cb.Margin(["b"], [40, 40, 40]),
        cb.Known(["a", "b"], lower=6, upper=22),
    ],
)


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("over", [("a", "b"), ("b", "a")])
@pytest.mark.parametrize("temperature", [0, 3.0])
def test_walks_keep_the_limits_of_cells(over, side, temperature):
    guide = Guide(np.full(9, 120 / 9), temperature) if temperature else None
    search = walked(LIMITED, over, side, guide, proposals=20_000)
    truth = cb.bounds(LIMITED, over=over)
    if not temperature:
        reached = search.pool.ends[side]
        assert np.array_equal(reached, (truth.upper if side else truth.lower).ravel())


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("temperature", [0.0, 3.0])
def test_walks_never_go_back_and_count_as_they_go(sign, temperature):
    from cellbounds.solvers.general.walk_kernel import walk

    search = Search(LIMITED, ("a", "b"))
    walker, asked = search.walker, search.asked
    counts = np.array([14, 13, 13, 16, 17, 17, 10, 10, 10])
    sums = asked.sums(counts).copy()
    guide, weights = np.full(9, 120 / 9), np.full(9, 0.1)
    snapshots = np.empty((4, 9), dtype=np.int64)
    goal = 10**6 if sign > 0 else -1  # out of reach, so that the walk goes on
    changed = 0
    for _ in range(400):
        before = counts.copy()
        left, _ = walk(
            walker.cubes, counts, sums, asked.members(4), 4, sign, goal, np.full(9, -1),
            np.full(9, 2**62), guide, weights, temperature, 1, 30, walker._state, snapshots,
        )  # fmt: skip
        assert left in (0, 1)
        assert (counts[4] - before[4]) * sign >= 0
        assert np.array_equal(sums, asked.sums(counts))
        assert search.full.holds(counts)
        changed += int((counts != before).any())
    assert changed > 20
    assert counts[4] == (22 if sign > 0 else 6)


def test_walks_bring_home_every_goal_that_they_meet():
    from cellbounds.solvers.general.walk_kernel import walk

    search = Search(LIMITED, ("a", "b"))
    search.first_table(None)
    walker, asked, counts = search.walker, search.asked, search.pool.at(0)
    least, most = np.full(9, 6), np.full(9, 22)
    snapshots = np.empty((64, 9), dtype=np.int64)
    _, kept = walk(
        walker.cubes, counts, asked.sums(counts).copy(), asked.members(4), 4, 1, 10**6, least,
        most, np.zeros(9), np.zeros(9), 0.0, 20_000, 30, walker._state, snapshots,
    )  # fmt: skip
    assert kept > 4
    for place in range(9):
        if least[place] == -1:
            assert (snapshots[:kept, place] == 6).any()
        if most[place] == 2**62:
            assert (snapshots[:kept, place] == 22).any()
    assert (least == -1).sum() + (most == 2**62).sum() >= kept


def pushed(effort=UNLIMITED, **settings):
    """The tables that walks towards every bound of a release bring home."""
    search = Search(RELEASE, RELEASE.domain.names)
    search.first_table(None)
    walker = Walker(search.full, search.asked, RELEASE.domain.shape, moves_of(RELEASE), **settings)
    bounds = [(place, side) for side in (0, 1) for place in range(search.asked.size)]
    walker.push(search.pool, search.pool.at(0), bounds, search.proven, 500, effort=effort)
    return [search.pool.at(number) for number in range(len(search.pool))]


class Looks:
    """An effort that is spent after so many looks at it."""

    def __init__(self, left):
        self.left, self.looks = left, 0

    @property
    def spent(self):
        self.looks += 1
        return self.looks > self.left


@pytest.mark.parametrize("at_once", [1, 7, 500, 1234])
def test_walks_in_short_parts_are_the_same_walks(at_once):
    whole, parts = pushed(), pushed(at_once=at_once)
    assert len(whole) > 3
    assert np.array_equal(whole, parts)


def test_walks_look_at_the_clock_after_so_many_proposals():
    every, rarely = Looks(10**9), Looks(10**9)
    pushed(every, at_once=1)
    pushed(rarely, at_once=10**9)
    assert every.looks > 20
    assert rarely.looks <= 3
    ended = Looks(2)
    assert len(pushed(ended, at_once=1)) <= 4
    assert ended.looks == 3


def test_walks_need_sums_that_each_cell_belongs_to_once():
    domain = cb.Domain({"a": THREE}, groupings={"g": cb.Grouping("a", {"x": ["0", "1"]})})
    release = cb.Release(domain, [cb.Total(4)])
    asked = asked_about(domain, ("g",))
    assert asked.of is None
    one = made(release)
    assert not Walker(one, asked, (3,), moves_of(release)).possible
    assert Walker(one, asked_about(domain, ("a",)), (3,), moves_of(release)).possible
    assert not Walker(one, asked_about(domain, ("a",)), (3,), ()).possible


def test_the_longest_run_raises_one_sum_by_one_a_step():
    search = Search(RELEASE, ("a", "b"))
    search.first_table(None)
    assert search.walker.longest_run(search.pool.at(0), 0) is None  # [a,b] is published
    search = Search(RELEASE, ("a", "b", "c"))
    search.first_table(None)
    for place in range(18):
        counts = search.pool.at(0)
        found = search.walker.longest_run(counts, place)
        if found is None:
            continue
        direction, steps = found
        assert direction[place] == 1
        assert search.full.room(counts, direction) == steps > 0


def test_the_longest_run_follows_a_sum_not_a_cell():
    release = cb.Release(cb.Domain({"a": TWO, "b": THREE}), [cb.Total(9)])
    search = Search(release, ("a",))
    counts = np.array([1, 0, 2, 3, 3, 0])
    direction, steps = search.walker.longest_run(counts, 0)
    assert direction.reshape(2, 3).sum(axis=1).tolist() == [1, -1]
    assert steps == 3


# The pool ----------------------------------------------------------------------------------------


def test_the_pool_keeps_extremes_and_refuses_what_is_inconsistent():
    release = cb.Release(
        cb.Domain({"a": ["0", "1", "2", "3", "4", "5", "6", "7", "8"]}), [cb.Total(9)]
    )
    asked = asked_about(release.domain, ("a",))
    pool = TablePool(made(release), asked)
    assert pool.add(np.ones(9, dtype=np.int64))
    sparse = np.zeros(9, dtype=np.int64)
    sparse[[2, 7]] = 4, 5
    assert pool.add(sparse)
    assert not pool.add(np.array([1, 1, 2, 0, 1, 1, 1, 2, 0]))  # between in every cell
    assert len(pool) == 2
    assert pool.ends[0].tolist() == [0, 0, 1, 0, 0, 0, 0, 1, 0]
    assert pool.ends[1].tolist() == [1, 1, 4, 1, 1, 1, 1, 5, 1]
    assert pool.nearest(2, 1).tolist() == sparse.tolist()
    assert pool.nearest(2, 0).tolist() == [1] * 9
    assert pool.nearest(0, 0).tolist() == sparse.tolist()
    assert pool.extremes(2) == [0, 1]
    assert pool.extremes(7) == [0, 1]
    with pytest.raises(cb.CellboundsError, match="inconsistent"):
        pool.add(np.full(9, 2))
    assert [pool.at(k).tolist() for k in range(len(pool))] == [[1] * 9, sparse.tolist()]


def test_large_counts_are_packed_whole():
    release = cb.Release(cb.Domain({"a": list(range(9))}), [cb.Total(2**40)])
    pool = TablePool(made(release), asked_about(release.domain, ("a",)))
    for place in (3, 5):
        table = np.zeros(9, dtype=np.int64)
        table[place] = 2**40
        pool.add(table)
        assert pool.nearest(place, 1)[place] == 2**40
    dense = np.full(9, 2**40 // 9)
    dense[0] += 2**40 - int(dense.sum())
    pool.add(dense)
    assert pool.nearest(0, 1).tolist() == dense.tolist()


# Exact linear programs ---------------------------------------------------------------------------


def least(one, weights):
    return ExactProgram(one).least(np.array(weights, dtype=np.int64))


def test_exact_fractions():
    one = problem([({0: 3, 1: 7}, 1, 1)], [0, 0], [None, None])
    assert least(one, [1, 0]) == 0
    assert least(one, [-1, 0]) == Fraction(-1, 3)
    assert least(one, [-3, -8]) == Fraction(-8, 7)
    assert least(one, [0, 0]) == 0


def test_degenerate_programs():
    """Many rows meet in the optimum, some of them twice."""
    rows = [
        ({0: 1, 1: 1}, None, 2),
        ({0: 1, 1: 1}, None, 2),
        ({0: 1, 2: 1}, None, 2),
        ({1: 1, 2: 1}, None, 2),
        ({0: 1, 1: 1, 2: 1}, None, 3),
        ({0: 1, 1: -1}, 0, 0),
        ({1: 1, 2: -1}, 0, 0),
    ]
    one = problem(rows, [0, 0, 0], [None, None, None])
    assert least(one, [-1, -1, -1]) == -3
    assert least(one, [-1, 0, 0]) == -1
    assert least(problem(rows[:4], [0] * 3, [5] * 3), [-1, -1, -1]) == -3


def test_programs_without_end():
    one = problem([({0: 1, 1: -2}, 0, 3)], [0, 0], [None, None])
    assert least(one, [-1, 0]) is None
    assert least(one, [0, -1]) is None
    assert least(one, [-1, 2]) == -3
    assert least(one, [1, -3]) is None
    assert grows_without_end(one, np.array([1]))
    assert not grows_without_end(problem([({0: 1}, 0, 3)], [0, 0], [None, 4]), np.array([0, 1]))


def test_programs_that_nothing_fits():
    one = problem([({0: 2, 1: 2}, 3, 3), ({0: 1, 1: 1}, 2, None)], [0, 0], [None, None])
    with pytest.raises(cb.InconsistentRelease, match="not even real numbers"):
        least(one, [1, 0])
    assert not ExactProgram(one).feasible
    near = problem([({0: 2, 1: 2}, 3, 3), ({0: 2, 1: 2}, 3, None)], [0, 0], [None, None])
    assert ExactProgram(near).feasible


@few(3)
@given(small_problems(), st.data())
def test_exact_programs_enclose_and_are_attained_by_reals(one, data):
    weights = np.array([data.draw(st.integers(-3, 3)) for _ in one.lower], dtype=np.int64)
    tables = tables_of(one)
    try:
        value = ExactProgram(one).least(weights)
    except cb.InconsistentRelease:
        assert not tables
        return
    assert value is not None
    if tables:
        assert value <= min(int(weights @ t) for t in tables)
    proposal = LinearProgram(one, exact=True).minimize(np.arange(len(weights)), weights)
    assert float(value) == pytest.approx(proposal.value, abs=1e-6)
    assert exact_bound(one, weights) == -((-value.numerator) // value.denominator)


def shifted(one, data):
    """The same rows and cells with other limits."""
    move = st.integers(-1, 2)
    rows = [data.draw(move) for _ in one.row_lower]
    high = np.where(one.row_upper == NO_UPPER, NO_UPPER, one.row_upper + rows)
    low = np.where(one.row_lower == NO_LOWER, NO_LOWER, one.row_lower + np.minimum(rows, 0))
    upper = one.upper + np.array([data.draw(st.integers(0, 2)) for _ in one.upper])
    return replace(one, row_lower=low, row_upper=np.maximum(low, high), upper=upper)


@few(5)
@given(small_problems(3), st.data())
def test_a_basis_of_another_program_is_checked(one, data):
    """One for other limits, or another sum, is refused, or happens to be optimal."""
    weights = np.array([data.draw(st.integers(-2, 2)) for _ in one.lower], dtype=np.int64)
    try:
        truth = ExactProgram(one).least(weights)
    except cb.InconsistentRelease:
        truth = None
    program = ExactProgram(one)
    program._program = LinearProgram(shifted(one, data), exact=True)
    asked = weights
    if data.draw(st.booleans()):
        asked = np.array([data.draw(st.integers(-2, 2)) for _ in one.lower], dtype=np.int64)
    assume(program._program.minimize(np.arange(len(weights)), asked) is not None)
    assert program._verified(weights) in (None, truth)


def test_a_corner_outside_the_limits_is_refused():
    """Minimising -x0 - x1 over wider rows or cells ends outside these."""
    weights = np.array([-1, -1])
    one = problem([({0: 1, 1: 2}, 0, 6)], [0, 0], [4, 4])
    for wider in (
        problem([({0: 1, 1: 2}, 0, 60)], [0, 0], [4, 4]),
        problem([({0: 1, 1: 2}, 0, 6)], [0, 0], [90, 4]),
    ):
        program = ExactProgram(one)
        assert program.least(weights) == -5
        program._program = LinearProgram(wider, exact=True)
        program._program.minimize(np.arange(2), weights)
        assert program._verified(weights) is None


def test_directions_that_lower_a_sum_for_ever():
    program = ExactProgram(problem([({0: 1, 1: -2}, 0, 3)], [0, 0], [None, None]))
    assert program._endless(np.array([-1, 0]))
    assert not program._endless(np.array([1, 0]))
    assert not program._endless(np.array([-1, 2]))
    closed = ExactProgram(problem([({0: 1, 1: 1}, 0, 3)], [0, 0], [9, 9]))
    assert not closed._endless(np.array([-1, -1]))


# Redundant rows ----------------------------------------------------------------------------------


def rank_of(one, rows):
    dense = np.zeros((len(one.row_lower), len(one.lower)))
    dense[one.rows, one.cells] = one.coefficients
    return int(np.linalg.matrix_rank(dense[rows])) if rows.any() else 0


def mixed():
    """Equations that depend on each other, and inequalities behind them."""
    domain = cb.Domain(dict.fromkeys("abcd", THREE))
    table = cb.Table(domain, np.random.default_rng(4).integers(1, 9, size=domain.shape))
    return cb.publish(table, "[a,b]", "[b,c]", "[c,d]", "[a,d]", "[b,d]~3")


@pytest.mark.parametrize("sample", [1, 4, 100])
def test_independent_rows_have_full_rank(sample):
    one = made(mixed())
    equal = one.row_lower == one.row_upper
    kept = independent_rows(one, cells_per_row=sample)
    assert kept[~equal].all()
    assert not equal.all()
    chosen = kept & equal
    assert rank_of(one, chosen) == int(chosen.sum())
    if sample >= 4:
        assert rank_of(one, chosen) == rank_of(one, equal)


def test_programs_without_dependent_rows_prove_the_same():
    search = Search(mixed(), tuple("abcd"))
    plain = LinearProgram(search.small)
    lean = LinearProgram(search.small, rank_pays=0)
    kept = independent_rows(search.small)
    assert not kept.all()
    assert kept[np.flatnonzero(~kept)[0] :].any()  # left out in the middle, not at the end
    rng = np.random.default_rng(9)
    cells = np.arange(len(search.numbers))
    for _ in range(6):
        weights = rng.integers(-5, 6, size=len(cells))
        ours, theirs = (one.minimize(cells, weights) for one in (plain, lean))
        assert theirs.duals.any()
        assert ours.value == pytest.approx(theirs.value)
        assert len(theirs.duals) == len(search.small.row_lower)
        assert not theirs.duals[~kept].any()
        proven = [dual_bound(search.small, weights, one.duals, 10**6) for one in (ours, theirs)]
        assert proven[0] == proven[1]


# Cells without limit -----------------------------------------------------------------------------

RATES = [
    cb.Conditional(["a"], ["b"], rates=[["1/3", "2/3"], ["1/5", "4/5"]]),
    cb.Conditional(["b"], ["a"], rates=[["5/8", "3/8"], ["5/11", "6/11"]]),
]


def test_bounds_beyond_a_known_table_are_closed():
    """Every table is a multiple of one; what is below it has limits."""
    release = cb.Release(cb.Domain({"a": TWO, "b": TWO}), RATES)
    answer = cb.bounds(release)
    assert answer.evidence is cb.Evidence.EXACT
    assert answer.lower.tolist() == [[5, 3], [10, 12]]
    assert all(one is cb.UNBOUNDED for one in answer.upper.flat)
    one = made(release)
    below = closed_beyond(one, np.array([0]), 11, 0)
    assert below is not None
    assert below.upper.tolist() == [10, 6, 20, 24]
    assert below.holds(np.array([5, 3, 10, 12]))
    assert not below.holds(np.array([15, 9, 30, 36]))
    assert one.holds(np.array([15, 9, 30, 36]))
    assert closed_beyond(one, np.array([0]), 5, 1) is None
    with pytest.raises(cb.InconsistentRelease):
        closed_beyond(one, np.array([0]), 1, 0)
    assert exact_bound(one, np.array([1, 0, 0, 0])) == 1


def test_bounds_above_a_known_table_are_closed():
    one = problem([({0: 1, 1: 1}, 0, 10)], [0, 0], [None, None])
    above = closed_beyond(one, np.array([0]), 4, 1)
    assert above.upper.tolist() == [10, 5]
    assert above.holds(np.array([5, 5]))
    assert not above.holds(np.array([4, 5]))
    below = closed_beyond(one, np.array([0]), 4, 0)
    assert below.upper.tolist() == [3, 10]


def test_large_problems_are_not_closed():
    many = problem([({0: 1}, 1, None)], [0] * (MOST_CELLS + 1), [None] * (MOST_CELLS + 1))
    assert closed_beyond(many, np.array([0]), 3, 0) is None
    assert exact_bound(many, np.eye(1, MOST_CELLS + 1, dtype=np.int64)[0]) is None


def test_sums_that_cells_without_limit_have_nothing_to_do_with():
    domain = cb.Domain({"a": TWO, "b": TWO})
    release = cb.Release(domain, [cb.Margin(["a"], [5, None]), cb.Known(["a"], lower={"1": 2})])
    search = Search(release, ("a", "b"))
    search.first_table(None)
    assert search.capped
    assert not search.capped_for(0)
    assert search.capped_for(2)
    assert cb.bounds(release)["0", "1"] == (0, 5)
    assert cb.bounds(release)["1", "1"] == (0, cb.UNBOUNDED)


def test_models_that_the_solver_cannot_take():
    fine = problem([({0: 1, 1: 1}, 0, 9)], [0, 0], [9, 9])
    assert fits_solver(fine)
    assert not fits_solver(problem([({0: 1, 1: 1}, 0, 9)], [0, 0], [9, None]))
    assert not fits_solver(problem([({0: 2**30, 1: 1}, 0, 9)], [0, 0], [2**30, 4]))
    assert fits_solver(problem([], [0, 0], [9, 9]))


def test_integer_programs():
    one = problem([({0: 2, 1: 3}, 12, 17)], [0, 0], [9, 9], [([0, 1], {5, 6})])
    program = IntegerProgram(one)
    found = program.minimize(np.array([0]), np.array([1]), None, None)
    assert (found.cells.tolist(), found.final, found.bound) == ([0, 5], True, 0)
    found = program.minimize(np.array([0]), np.array([-1]), None, None)
    assert found.bound == -6
    found = program.with_sum(np.array([0]), 2, 4, None, residues=(3, [1]))
    assert found.cells[0] == 4
    found = program.with_sum(np.array([0]), 7, 9, None)
    assert (found.cells, found.final) == (None, True)


def test_lists_count_fixed_cells():
    """Cells 0 and 2 are fixed at 2 and 1; the list is about all three."""
    one = problem([], [2, 0, 1], [2, 9, 1], [([0, 1, 2], {4, 8})])
    program = IntegerProgram(presolve(one).problem)
    assert program.minimize(np.array([0]), np.array([1]), None, None).bound == 1
    assert program.minimize(np.array([0]), np.array([-1]), None, None).bound == -5


# The search --------------------------------------------------------------------------------------


def test_what_is_proven_never_passes_what_is_attained():
    search = Search(RELEASE, RELEASE.domain.names)
    search.first_table(None)
    place = int(np.flatnonzero(search.pool.ends[1] > search.proven[0])[0])
    reached = int(search.pool.ends[1][place])
    search.prove(place, 1, reached, Proof.SOLVER)
    with pytest.raises(cb.CellboundsError, match="a table goes beyond"):
        search.prove(place, 1, reached - 1, Proof.SOLVER)
    search = Search(RELEASE, RELEASE.domain.names)
    place = int(np.flatnonzero(search.proven[1] - search.proven[0] > 2)[0])
    low = int(search.proven[0][place])
    search.prove(place, 0, low + 2, Proof.DUAL)
    search.prove(place, 0, low + 1, Proof.SOLVER)
    assert (search.proven[0][place], search.proofs[0, place]) == (low + 2, Proof.DUAL)
    with pytest.raises(cb.InconsistentRelease):
        search.prove(place, 1, low + 1, Proof.SOLVER)


def test_a_search_travels():
    search = Search(RELEASE, RELEASE.domain.names)
    settle_all(search, Budget())
    made = Search(*pickle.loads(pickle.dumps(search.recipe)))
    excerpt = pickle.loads(pickle.dumps(search.pool.excerpt([3])))
    copy = made.apart(pickle.loads(pickle.dumps(search.standing())), excerpt, 1)
    assert np.array_equal(copy.proven[0], search.proven[0])
    assert np.array_equal(copy.pool.ends[1], search.pool.ends[1])
    assert len(copy.pool) == len(excerpt.packed) <= 3
    for place, side in itertools.product(range(search.asked.size), (0, 1)):
        part = search.pool.cut_down(copy.pool.ends, search.pool.excerpt([place]))
        assert np.array_equal(part.nearest(place, side), search.pool.nearest(place, side))
    assert copy.settled(3, 1)
    assert copy.program.minimize(np.array([0]), np.array([1])) is not None
    assert not len(made.pool)


def test_the_history_says_what_was_left_open():
    search = Search(RELEASE, RELEASE.domain.names)
    settle_all(search, Budget())
    left = [count for _, _, count in search.history]
    assert search.history[0][0] == "propagation and the first table"
    assert left == sorted(left, reverse=True)
    assert left[-1] == 0


@few(4)
@given(cases(), st.integers(0, 3))
def test_passing_a_value(case, value):
    """Whether nothing lies beyond a value, decided as listing decides."""
    tables = listed(case.release, case.largest)
    assume(len(tables))
    for side in (0, 1):
        search = Search(case.release, case.release.domain.names)
        said = passes(search, (0, side), value)
        truth = tables[:, 0].min() >= value if side == 0 else tables[:, 0].max() <= value
        assert said is bool(truth)


# Values ------------------------------------------------------------------------------------------


def huge(n=10**9):
    return cb.Release(
        cb.Domain({"a": TWO, "b": TWO}),
        [
            cb.Conditional(["a"], ["b"], rates=[["1/3", "2/3"], ["1/7", "6/7"]]),
            cb.Conditional(["b"], ["a"], rates=[["0.4", "0.6"], ["0.5", "0.5"]], eps="0.2"),
            cb.Total(21 * n),
        ],
    )


def test_progressions_with_huge_counts():
    """Row b0 holds 3k people and row b1 holds 7l, 3k + 7l = 21n: k is a multiple of 7."""
    values = cb.attainable(huge(), seconds=60)["0", "0"]
    assert values.settled
    low, high = cb.bounds(huge())["0", "0"]
    assert low % 7 == high % 7 == 0
    assert (values.smallest, values.largest) == (low, high)
    assert values.size == (high - low) // 7 + 1
    middle = low + 7 * ((high - low) // 14)
    assert middle in values
    assert all(middle + k not in values for k in range(1, 7))
    witness = cb.attainable(huge()).witness("0", "0", value=middle)
    assert witness["0", "0"] == middle


@pytest.mark.parametrize("n", [8, 11, 50])
def test_progressions_are_those_of_small_counts(n):
    release = huge(n)
    found = cb.attainable(release)
    tables = all_of(release, 21 * n)
    for place, (_, values) in enumerate(found.items()):
        assert set(values) == {t[place] for t in tables}


def all_of(release, total):
    """Tables of two rows with rates 1/3 and 1/7, by listing how many the rows hold."""
    tables = []
    for first in range(3, total, 3):
        if (total - first) % 7 == 0 and first < total:
            k, m = first // 3, (total - first) // 7
            counts = np.array([[k, m], [2 * k, 6 * m]])
            if not cb.violations(cb.Table(release.domain, counts), release):
                tables.append(counts.ravel().tolist())
    return tables


def test_progressions_of_sums_with_fixed_cells():
    """3 x + 7 y = 1050, and the sum asked for is x + 4."""
    domain = cb.Domain({"g": ["u", "v"], "h": TWO})
    release = cb.Release(
        domain,
        [
            cb.Linear(["g", "h"], [[3, 0], [7, 0]], equals=1050),
            cb.Known(["g", "h"], lower={("u", "1"): 4}, upper={("u", "1"): 4, ("v", "1"): 0}),
        ],
    )
    values = cb.attainable(release, over=["g"])
    assert values["u"] == set(range(4, 355, 7))
    assert values["v"] == set(range(0, 151, 3))
    assert values.witness("u", value=18).margin(["g"])["u"] == 18


def test_values_that_need_more_than_the_search_looks_at_are_not_denied():
    """x is at most 2, and y at least two million for each: y has no limit."""
    release = cb.Release(
        cb.Domain({"a": ["x", "y"]}),
        [cb.Linear(["a"], [-2_000_000, 1], lower=0), cb.Known(["a"], upper={"x": 2})],
    )
    assert cb.bounds(release)["x"] == (0, 2)
    values = cb.attainable(release)["x"]
    assert values.possible == {0, 1, 2}


def test_runs_of_tables():
    run = Run(3, 2, 4, np.array([3, 9]), np.array([2, -1]))
    assert run.last == 11
    assert [value for value in range(15) if run.holds(value)] == [3, 5, 7, 9, 11]
    assert run.table_at(7).tolist() == [7, 7]
    endless = Run(3, 1, None, np.array([3]), np.array([1]))
    assert endless.holds(10**9)
    assert endless.table_at(10).tolist() == [10]
    alone = Run(3, 1, 0, np.array([3]), None)
    assert alone.holds(3)
    assert not alone.holds(4)
    assert alone.table_at(3).tolist() == [3]


def test_runs_and_holes():
    domain = cb.Domain({"a": THREE})
    release = cb.Release(
        domain, [cb.Linear(["a"], [3, 5, 0], equals=30), cb.Total(12), cb.Known(["a"], upper=11)]
    )
    found = cb.attainable(release)
    assert found["0"] == {0, 5, 10}
    assert found["1"] == {0, 3, 6}
    assert found["2"] == {2, 4, 6}
    for labels, values in found.items():
        for value in values:
            assert found.witness(*labels, value=value)[labels] == value


def test_every_value_has_a_table():
    release = cb.publish(
        cb.Table(cb.Domain({"a": TWO, "b": TWO, "c": TWO}), np.arange(8).reshape(2, 2, 2) * 40),
        "[a,b]~50",
        "[b,c]~30",
        "[a,c]~20",
    )
    search = Search(release, release.domain.names)
    found = values_of(search, 5, Budget())
    assert found.values.settled
    assert found.values.size > 50
    for value in found.values:
        table = found.table_with(value)
        assert table[5] == value
        assert search.full.holds(table)
    assert found.table_with(found.values.largest + 1) is None


def test_sums_without_end():
    domain = cb.Domain({"a": TWO, "b": TWO})
    alone = cb.Release(domain, [cb.Margin(["a"], [5, None]), cb.Known(["a", "b"], lower=1)])
    values = cb.attainable(alone)["1", "0"]
    assert values.to_list() == [[1, None, 1]]
    assert cb.attainable(alone).witness("1", "0", value=10**6)["1", "0"] == 10**6
    together = cb.Release(domain, RATES)
    values = cb.attainable(together)["0", "0"]
    assert 5 in values
    assert not values.settled
    assert values.known == {5}
    with pytest.raises(cb.Unsettled):
        assert 6 in values


def test_a_listed_value_out_of_reach_does_not_make_a_release_impossible():
    # The solver's preparation calls the model of this release infeasible (ortools 9.15).
    domain = cb.Domain({"c": ["c0", "c1", "c2"], "a": [0, 1]})
    release = cb.Release(
        domain,
        [
            cb.Margin(["a"], ["<5", None]),
            cb.Total(upper=6),
            cb.Known(["c"], upper={"c0": 4}, values={"c1": [0, 1, 7], "c2": [0, 3]}),
        ],
    )
    answer = cb.bounds(release, over=["c"])
    assert (answer.lower.tolist(), answer.upper.tolist()) == ([0, 0, 0], [4, 1, 3])


@pytest.mark.parametrize("seed", range(3))
def test_rounded_solutions_of_programs_attain_their_bounds(seed):
    """Of complete margins, however small: nothing is left for walks and integer programs."""
    rng, names = np.random.default_rng(seed), "abcde"
    counts = rng.poisson(rng.gamma(1.0, 8, size=(2,) * 5))
    table = cb.Table(cb.Domain({name: [0, 1] for name in names}), counts)
    pairs = [f"[{a},{b}]" for a, b in itertools.combinations(names, 2)]
    search = cb.bounds(cb.publish(table, *pairs))._source.search
    left = {step: left for step, _, left in search.history}
    assert left["walks"] > 20
    assert left["programs and guided walks"] == 0
    assert search.pool.ends.tolist() == search.proven.tolist()
