"""Which statements cannot all hold: a smallest contradictory set, named."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from cellbounds.errors import CellboundsError, InconsistentRelease
from cellbounds.results.solution import Solution
from cellbounds.statements import Release, Statement
from cellbounds.statements.notation import names_text

__all__ = ["contradiction"]

MOST_TRIALS = 400
"""Sets of statements that are tried; beyond, the set is irreducible but perhaps not smallest."""

Solver = Callable[[Release, tuple[str, ...]], Solution]


def contradiction(
    solver: Solver, release: Release, problem: InconsistentRelease
) -> InconsistentRelease:
    """The same error with the names of the statements that cannot all hold."""
    if len(release.statements) < 2:
        return problem
    pair = _disagreeing_pair(release)
    if pair is not None:
        return InconsistentRelease(pair)
    trials = _Trials(solver, release)
    kept = _irreducible(list(release.statements), trials)
    smallest = _smallest(release.statements, kept, trials)
    chosen = smallest or kept
    names = ", ".join(statement.notation for statement in chosen)
    if len(chosen) == 1:
        return InconsistentRelease(f"no table of counts fits {names}, even alone ({problem})")
    if trials.undecided:
        return InconsistentRelease(f"no table of counts fits {names} together")
    how = "any fewer of them do" if trials.left else "without one of them the others can"
    return InconsistentRelease(f"no table of counts fits {names} together, though {how}")


class _Trials:
    """Asks whether some statements can hold together, a limited number of times."""

    def __init__(self, solver: Solver, release: Release) -> None:
        self._solver, self._release = solver, release
        self.left = MOST_TRIALS
        self.undecided = False

    def impossible(self, statements: Sequence[Statement]) -> bool:
        self.left = max(0, self.left - 1)
        domain = self._release.domain
        try:
            worked = self._solver(Release(domain, statements), domain.names[:1])
            possible = worked.possible()
        except InconsistentRelease:
            return True
        except CellboundsError:
            possible = None
        # What is not decided is not known to be impossible.
        self.undecided |= possible is None
        return False


def _irreducible(statements: list[Statement], trials: _Trials) -> list[Statement]:
    kept = statements
    for statement in statements:
        fewer = [one for one in kept if one is not statement]
        if fewer and trials.impossible(fewer):
            kept = fewer
    return kept


def _smallest(
    statements: Sequence[Statement], kept: list[Statement], trials: _Trials
) -> list[Statement] | None:
    """A smaller contradictory set than an irreducible one, if there is any."""
    for count in range(1, len(kept)):
        for subset in itertools.combinations(statements, count):
            if not trials.left:
                return None
            if trials.impossible(subset):
                return list(subset)
    return None


def _disagreeing_pair(release: Release) -> str | None:
    """Two exact margins (or a margin and the total) that differ where both speak."""
    domain = release.domain
    margins = [
        (one, counts)
        for one in release.statements
        if one.variables and (counts := one.fixed_counts(domain)) is not None
    ]
    for (left, ours), (right, theirs) in itertools.combinations(margins, 2):
        shared = tuple(name for name in left.variables if name in right.variables)
        if not np.array_equal(_summed(left, ours, shared), _summed(right, theirs, shared)):
            what = f"counts for [{names_text(shared)}]" if shared else "totals"
            return f"{left.notation} and {right.notation} give different {what}"
    total = release.total
    for margin, counts in margins:
        if not total.allows(int(counts.sum(dtype=object))):
            return f"{margin.notation} and {total.notation} give different totals"
    return None


def _summed(margin: Statement, counts: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
    gone = tuple(axis for axis, name in enumerate(margin.variables) if name not in names)
    counts = counts.sum(axis=gone) if gone else counts
    left = [name for name in margin.variables if name in names]
    return np.transpose(counts, [left.index(name) for name in names])
