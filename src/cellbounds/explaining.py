"""Which published figures force a bound: smallest sets of statements, irreducible figures."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from cellbounds.domain import Label
from cellbounds.errors import CellboundsError, UnsupportedRelease
from cellbounds.methods.protocol import Worked
from cellbounds.releases import Conditional, Release, Statement
from cellbounds.results import Blame, Explanation, Unbounded

__all__ = ["explain_bounds"]

MOST_STATEMENTS = 12
"""Up to so many statements every subset is tried, smallest first."""

MOST_WORK = 200_000
"""Figures times trials: a larger statement gets fewer trials, and the answer says so."""

Solver = Callable[[Release, tuple[str, ...]], Worked]


def explain_bounds(
    solver: Solver,
    release: Release,
    over: tuple[str, ...],
    method: str,
    labels: tuple[Label, ...],
) -> Explanation:
    """Explain both bounds of one cell."""
    worked = solver(release, over)
    domain = release.domain.project(over)
    index = domain.index(labels)
    lower, upper = (worked.bound(index, side) for side in (0, 1))
    bottom = int(lower)
    top = upper if isinstance(upper, Unbounded) else int(upper)
    return Explanation(
        labels=labels,
        lower=bottom,
        upper=top,
        evidence=worked.evidence,
        method=method,
        lower_witness=worked.witness(index, bottom),
        upper_witness=None if isinstance(top, Unbounded) else worked.witness(index, top),
        lower_blame=_blame(solver, release, over, index, 0, bottom),
        upper_blame=_blame(solver, release, over, index, 1, top),
    )


def _blame(
    solver: Solver,
    release: Release,
    over: tuple[str, ...],
    index: tuple[int, ...],
    side: int,
    value: Any,
) -> Blame:
    if (side == 0 and value == 0) or isinstance(value, Unbounded):
        return Blame((), (), smallest=True, irreducible=True)

    def forces(statements: Sequence[Statement]) -> bool:
        smaller = Release(release.domain, statements)
        try:
            bound = solver(smaller, over).bound(index, side)
        except UnsupportedRelease:
            return False  # fewer statements than the method can use: nothing is forced
        return bool(bound == value)

    chosen, smallest = _statements(release.statements, forces)
    figures: list[str] = []
    irreducible = True
    for place, statement in enumerate(chosen):
        if not isinstance(statement, Conditional):
            figures.append(statement.notation)
            continue
        shown, least = _shown_rates(statement, chosen, place, forces)
        irreducible &= least
        figures += _named(statement, shown, release)
    return Blame(tuple(s.notation for s in chosen), tuple(figures), smallest, irreducible)


def _statements(
    statements: tuple[Statement, ...], forces: Callable[[Sequence[Statement]], bool]
) -> tuple[list[Statement], bool]:
    if len(statements) <= MOST_STATEMENTS:
        for count in range(len(statements) + 1):
            for subset in itertools.combinations(statements, count):
                if forces(subset):
                    return list(subset), True
        raise CellboundsError("the release does not force its own bound; please report this")
    kept = list(statements)
    for statement in statements:
        fewer = [one for one in kept if one is not statement]
        if forces(fewer):
            kept = fewer
    return kept, False


def _shown_rates(
    statement: Conditional,
    chosen: list[Statement],
    place: int,
    forces: Callable[[Sequence[Statement]], bool],
) -> tuple[np.ndarray, bool]:
    """Withhold rates in ever smaller pieces as long as the bound stays; what is left is to blame.

    Withholding more never narrows, so a rate that could not be withheld once never can: when
    single rates have been tried, what is left is irreducible.
    """
    shape = statement.intervals.low.shape
    # A row that holds nobody is one figure, not several, and stays.
    loose = np.flatnonzero(np.repeat(~statement.intervals.zero, shape[1]))
    hidden = np.zeros(shape, dtype=bool)
    trials = max(20, MOST_WORK // max(hidden.size, 1))
    size = len(loose)
    while size:
        for start in range(0, len(loose), size):
            piece = loose[start : start + size]
            if hidden.flat[piece].all():
                continue
            if not trials:
                return ~hidden, False
            trials -= 1
            trial = hidden.copy()
            trial.flat[piece] = True
            weaker = statement.withheld(trial)
            if forces([*chosen[:place], weaker, *chosen[place + 1 :]]):
                hidden = trial
        size = size // 2 if size > 1 else 0
    return ~hidden, True


def _named(statement: Conditional, shown: np.ndarray, release: Release) -> Iterator[str]:
    margin = release.domain.project(statement.variables)
    for flat, (row, column) in enumerate(np.ndindex(shown.shape)):
        if shown[row, column]:
            at = [int(i) for i in np.unravel_index(flat, margin.shape)]
            where = ", ".join(map(str, margin.labels(at)))
            yield f"{statement.notation} at {where}: {statement.figure_text(row, column)}"
