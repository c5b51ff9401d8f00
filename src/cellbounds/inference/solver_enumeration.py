"""Listing tables by search, where no diagram is small enough.

Cells are given counts one after the other, in the order of the domain; an integer solver says
whether what has been given can be completed. Every table that it finds on the way is kept as the
answer to the next question, so that each call either finds a table that has not been listed yet or
proves that a whole range of counts leads nowhere.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from cellbounds.errors import CellboundsError, InconsistentRelease, TooMuchWork, Unsettled
from cellbounds.inference.decision_diagram.components import limited_problem
from cellbounds.inference.enumeration import ListedFibre, odometer
from cellbounds.model.likelihoods import factors_of
from cellbounds.model.problem import Problem, narrowed, presolve
from cellbounds.runtime.arrays import IntArray
from cellbounds.solvers.general.cp_sat import Found, IntegerProgram, fits_solver
from cellbounds.statements import Release

SECONDS = 60.0
"""Seconds that the solver may think about one question."""

MOST = 5_000
"""Tables that are searched for one by one."""

Solve = Callable[[Problem, float | None], Found]


def _any_table(problem: Problem, seconds: float | None) -> Found:
    return IntegerProgram(problem).any_table(seconds)


def few_tables(release: Release, *, most: int = MOST) -> ListedFibre | None:
    """All tables of a release as a solver finds them, or None if there are more than a few."""
    tables = list(itertools.islice(searched_tables(release), most + 1))
    if len(tables) > most:
        return None
    listed = np.array(tables, dtype=np.int64).reshape(-1, release.domain.size)
    return ListedFibre(listed, factors_of(release))


def searched_tables(
    release: Release, *, seconds: float | None = SECONDS, solve: Solve = _any_table
) -> Iterator[IntArray]:
    """Every consistent table (flat, int64), in lexicographic order, each found when asked for.

    Parameters
    ----------
    release
        What was said.
    seconds
        How long the solver may think about one question; None: without end.
    solve
        The solver: given a problem and the seconds, a table, or that there is none.

    Raises
    ------
    UnsupportedRelease
        If nothing limits some of the cells.
    TooMuchWork
        If the problem is too large for the solver.
    Unsettled
        If the solver does not decide a question in time. Tables are never left out silently.

    Examples
    --------
    >>> from cellbounds import Domain, Margin
    >>> domain = Domain({"a": ["0", "1"], "b": ["0", "1"]})
    >>> release = Release(domain, [Margin(["a"], [1, 2]), Margin(["b"], [2, 1])])
    >>> for table in searched_tables(release):
    ...     print(table)
    [0 1 2 0]
    [1 0 1 1]
    """
    try:
        _, full = limited_problem(release)
        presolved = presolve(full)
    except InconsistentRelease:
        return
    small, numbers = presolved.problem, presolved.cells
    if not fits_solver(small):
        raise TooMuchWork(
            "the release is too large for the integer solver; publish fewer figures, or figures "
            "with fewer decimals"
        )
    if not len(numbers) and not full.holds(full.lower):
        return
    for cells in odometer(len(numbers), _possible_counts(small, seconds, solve)):
        table = full.lower.copy()
        table[numbers] = cells
        if not full.holds(table):
            raise CellboundsError("the solver gave a table that does not fit; please report this")
        yield table


def _possible_counts(
    problem: Problem, seconds: float | None, solve: Solve
) -> Callable[[Sequence[int]], Iterator[int]]:
    """Which counts of a cell, given those of the cells before it, can be completed, in order."""
    # Tables found, from the one that is listed next on.
    pool: list[IntArray] = []
    # The problem narrowed by the counts of the first cells, for each number of them.
    levels = [problem]

    def counts(chosen: Sequence[int]) -> Iterator[int]:
        depth, before = len(chosen), list(chosen)
        pool[:] = [table for table in pool if table[:depth].tolist() >= before]
        known = [int(table[depth]) for table in pool if table[:depth].tolist() == before]
        del levels[max(depth, 1) :]
        left = levels[-1]
        if depth and left.lower[depth - 1] < left.upper[depth - 1]:
            try:
                left = narrowed(_between(left, depth - 1, before[-1], before[-1]))
            except InconsistentRelease:
                return
        levels[depth:] = [left]
        low, high = int(left.lower[depth]), int(left.upper[depth])
        while low <= high:
            first = min((count for count in known if count >= low), default=high + 1)
            if first > low:
                table = _completed(_between(left, depth, low, first - 1), seconds, solve)
                if table is not None:
                    pool.append(table)
                    known.append(int(table[depth]))
                    continue
            if first > high:
                return
            yield first
            low = first + 1

    return counts


def _between(problem: Problem, cell: int, low: int, high: int) -> Problem:
    lower, upper = problem.lower.copy(), problem.upper.copy()
    lower[cell], upper[cell] = low, high
    return replace(problem, lower=lower, upper=upper)


def _completed(problem: Problem, seconds: float | None, solve: Solve) -> IntArray | None:
    """A table; None: there is none."""
    answer = solve(problem, seconds)
    if answer.cells is None and not answer.final:
        raise Unsettled(
            f"the solver did not decide within {seconds} seconds whether there are more tables; "
            "give it more time"
        )
    return answer.cells
