"""Suppression patterns against all patterns: each is attacked by listing every table."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from bruteforce import compositions
from cellbounds.disclosure.protecting.branch_and_cut import best_pattern
from cellbounds.disclosure.protecting.covers import Covers
from cellbounds.disclosure.protecting.patterns import Unprotectable
from cellbounds.disclosure.protecting.suppression_problem import (
    Level,
    SuppressionProblem,
    of_tables,
)
from cellbounds.disclosure.protecting.whole_moves import whole_moves

SHAPES = [(2, 3), (3, 2), (2, 2, 2), (5,)]
MOST_FREE = 9  # cells that a pattern may hide or show: all patterns are tried


def published(leaves: np.ndarray) -> dict[tuple, np.ndarray]:
    """Cells of a table with all its totals (None), each with the leaves behind it."""
    axes = [(None, *range(size)) for size in leaves.shape]
    cells = {}
    for codes in itertools.product(*axes):
        inside = np.zeros(leaves.shape, dtype=bool)
        inside[tuple(slice(None) if code is None else code for code in codes)] = True
        cells[codes] = inside.ravel()
    return cells


def problem_of(
    leaves: np.ndarray, threshold: int, ask: str, least: int, *, marked: bool = False
) -> SuppressionProblem:
    cells = published(leaves)
    number = {codes: place for place, codes in enumerate(cells)}
    counts = np.array([int(leaves.ravel()[inside].sum()) for inside in cells.values()])
    equations = []
    for codes, axis in itertools.product(cells, range(leaves.ndim)):
        if codes[axis] is None:
            parts = [(*codes[:axis], k, *codes[axis + 1 :]) for k in range(leaves.shape[axis])]
            equations.append((number[codes], [number[part] for part in parts]))
    small = (counts >= 1) & (counts < threshold)
    fixed = counts == 0
    fixed[0] = True  # N is known
    protected = np.flatnonzero(small & ~fixed)
    levels = {
        "known": {"width": 1},
        "below the threshold": {},
        "both sides": {"above": 1, "below": 1},
        "three values": {"width": 2},
    }[ask]
    if ask == "below the threshold":
        chosen = [Level(int(cell), above=threshold - int(counts[cell])) for cell in protected]
    else:
        chosen = [Level(int(cell), **levels) for cell in protected]
    most = np.full(len(counts), int(leaves.sum()))
    known = np.where(counts == 0, 0, least)
    if marked:
        # Everybody sees which hidden counts are small: cells with the threshold cannot go down.
        known[~small & (counts > 0)] = threshold
        most[small] = threshold - 1
    return of_tables(
        counts,
        equations,
        small=small & ~fixed,
        total=int(leaves.sum()),
        fixed=fixed,
        least=known,
        most=most,
        levels=tuple(chosen),
    )


def keeping(problem: SuppressionProblem, leaves: np.ndarray) -> Iterator[np.ndarray]:
    """All patterns that keep every level, by listing every table; the cheapest first."""
    behind = np.array(list(published(leaves).values()))
    tables = np.array(list(compositions(int(leaves.sum()), leaves.size))) @ behind.T
    free = np.flatnonzero(~problem.forced & ~problem.fixed)
    patterns = []
    for chosen in itertools.product([False, True], repeat=len(free)):
        hidden = problem.forced.copy()
        hidden[free] = chosen
        patterns.append(hidden)
    for hidden in sorted(patterns, key=problem.cost):
        fits = (tables[:, ~hidden] == problem.counts[~hidden]).all(axis=1)
        fits &= (tables[:, hidden] >= problem.least[hidden]).all(axis=1)
        fits &= (tables[:, hidden] <= problem.most[hidden]).all(axis=1)
        low, high = tables[fits].min(axis=0), tables[fits].max(axis=0)
        if all(
            high[one.cell] - problem.counts[one.cell] >= one.above
            and problem.counts[one.cell] - low[one.cell] >= one.below
            and high[one.cell] - low[one.cell] >= one.width
            for one in problem.levels
        ):
            yield hidden


def cheapest_of_all(problem: SuppressionProblem, leaves: np.ndarray) -> int | None:
    """The cost of the cheapest of all patterns that keep every level; None if none does."""
    first = next(keeping(problem, leaves), None)
    return None if first is None else problem.cost(first)


@st.composite
def problems(draw: st.DrawFn) -> tuple[SuppressionProblem, np.ndarray]:
    shape = draw(st.sampled_from(SHAPES))
    size = int(np.prod(shape))
    counts = draw(st.lists(st.sampled_from([0, 1, 1, 2, 3]), min_size=size, max_size=size))
    assume(1 <= sum(counts) <= 9)
    leaves = np.array(counts).reshape(shape)
    ask = draw(st.sampled_from(["known", "below the threshold", "both sides", "three values"]))
    marked = draw(st.booleans())
    problem = problem_of(
        leaves, draw(st.integers(2, 3)), ask, draw(st.integers(0, 1)), marked=marked
    )
    assume((~problem.forced & ~problem.fixed).sum() <= MOST_FREE)
    return problem, leaves


@given(problems())
def test_the_cheapest_pattern(case: tuple[SuppressionProblem, np.ndarray]) -> None:
    problem, leaves = case
    right = cheapest_of_all(problem, leaves)
    try:
        best = best_pattern(problem)
    except Unprotectable:
        assert right is None
        return
    shown = whole_moves(problem, best.hidden)
    assert best.optimal
    if right is not None:
        assert best.bound <= right
    if not shown.open:
        assert right == best.cost
    for level, moves in shown.moves.items():
        assert all(problem.is_move(move, best.hidden) for move in moves)
        reached = [int(move[level.cell]) for move in moves]
        assert level.kept(max(0, *reached), max(0, *(-one for one in reached)))


def known(
    counts: list[list[int]], threshold: int, least: int
) -> tuple[SuppressionProblem, np.ndarray]:
    leaves = np.array(counts)
    return problem_of(leaves, threshold, "known", least, marked=not least), leaves


# In these each way to join an inequality for up and one for down is taken.
@example(known([[0, 3, 3], [0, 2, 1]], 2, 0), 7)
@example(known([[2, 0], [3, 1], [1, 2]], 3, 1), 7)
@given(problems(), st.integers(0, 2**32 - 1))
def test_inequalities_hold_for_every_pattern_that_protects(
    case: tuple[SuppressionProblem, np.ndarray], seed: int
) -> None:
    """Whatever half-hidden pattern they were found for, and with one of both directions."""
    problem, leaves = case
    covers, rng = Covers(problem), np.random.default_rng(seed)
    for most in (0.2, 0.5, 1.0):
        shares = rng.random(covers.size) * most
        covers.separate(shares)
        covers.combine(np.rint(2 * shares) / 2)
    least = np.array([one[2] for one in covers.rows])
    ways = np.array(list(itertools.product([0, 1], repeat=len(covers.directions))))
    for hidden in keeping(problem, leaves):
        shown = np.broadcast_to(hidden[covers.cells], (len(ways), len(covers.cells)))
        sums = np.hstack([shown, ways]) @ covers.matrix().T.toarray()
        assert (sums >= least).all(axis=1).any()


def test_hidden_cells_that_are_at_least_one() -> None:
    """Two hidden cells that add to 2 are known to be 1 each where zeros are shown."""
    leaves = np.array([1, 1, 5, 6])
    problem = problem_of(leaves, 3, "known", 1)
    best = best_pattern(problem)
    assert best.optimal
    assert best.cost == 5
    assert best_pattern(problem_of(leaves, 3, "known", 0)).cost == 0


def test_what_cannot_be_protected_is_said() -> None:
    """The only record, whose total is known."""
    problem = problem_of(np.array([[1, 0], [0, 0]]), 2, "known", 1)
    with pytest.raises(Unprotectable):
        best_pattern(problem)
