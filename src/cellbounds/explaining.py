"""Which published figures force a bound: smallest sets of statements, irreducible figures."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from cellbounds.domain import Label
from cellbounds.errors import CellboundsError, InvalidInput, UnsupportedRelease
from cellbounds.methods.protocol import Worked
from cellbounds.releases import Conditional, Release, Statement
from cellbounds.results import Blame, Explanation, Unbounded

__all__ = ["explain_bounds"]

MOST_STATEMENTS = 12
"""Up to so many statements every subset is tried, smallest first."""

MOST_FIGURES = 400
"""Figures that are tried one by one; a larger statement is explained by rows only."""

Solver = Callable[[Release, tuple[str, ...]], Worked]


def explain_bounds(
    solver: Solver, release: Release, over: tuple[str, ...], labels: tuple[Label, ...]
) -> Explanation:
    """Explain both bounds of one cell."""
    worked = solver(release, over)
    domain = release.domain.project(over)
    index = domain.index(labels)
    lower, upper = (side[index] for side in worked.bounds())
    bottom = int(lower)
    top = upper if isinstance(upper, Unbounded) else int(upper)
    return Explanation(
        labels=labels,
        lower=bottom,
        upper=top,
        evidence=worked.evidence,
        method="rows of one conditional",
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
        return Blame((), (), smallest=True)

    def forces(statements: Sequence[Statement]) -> bool:
        smaller = Release(release.domain, statements)
        try:
            bound = solver(smaller, over).bounds()[side][index]
        except UnsupportedRelease:
            return False  # fewer statements than the method can use: nothing is forced
        return bool(bound == value)

    chosen, smallest = _statements(release.statements, forces)
    figures = tuple(_figures(chosen, forces, release))
    return Blame(tuple(s.notation for s in chosen), figures, smallest)


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


def _figures(
    chosen: list[Statement], forces: Callable[[Sequence[Statement]], bool], release: Release
) -> Iterator[str]:
    """Withhold rows, then single rates, as long as the bound stays; name what is left."""
    for place, statement in enumerate(chosen):
        if not isinstance(statement, Conditional):
            yield statement.notation
            continue
        rows, columns = statement.intervals.low.shape
        hidden = np.zeros((rows, columns), dtype=bool)

        def still(
            trial: np.ndarray, statement: Conditional = statement, place: int = place
        ) -> bool:
            try:
                weaker = statement.withheld(trial)
            except InvalidInput:
                return False  # a row that holds nobody is one figure, not several
            return forces([*chosen[:place], weaker, *chosen[place + 1 :]])

        for row in range(rows):
            trial = hidden.copy()
            trial[row] = True
            if still(trial):
                hidden = trial
        if rows * columns <= MOST_FIGURES:
            for row, column in np.argwhere(~hidden):
                trial = hidden.copy()
                trial[row, column] = True
                if still(trial):
                    hidden = trial
        margin = release.domain.project(statement.variables)
        for flat, (row, column) in enumerate(np.ndindex(rows, columns)):
            if not hidden[row, column]:
                at = [int(i) for i in np.unravel_index(flat, margin.shape)]
                where = ", ".join(map(str, margin.labels(at)))
                yield f"{statement.notation} at {where}: {statement.figure_text(row, column)}"
