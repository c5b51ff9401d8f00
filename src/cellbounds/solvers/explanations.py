"""Which published figures force a bound: smallest sets of statements, irreducible figures."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from cellbounds.data.domain import Label
from cellbounds.errors import Unsettled, UnsupportedRelease
from cellbounds.results import Blame, Evidence, Explanation, Unbounded
from cellbounds.results.solution import Solution
from cellbounds.statements import Release, Statement, Tabulated

__all__ = ["explain_bounds"]

MOST_STATEMENTS = 12
"""Up to so many statements every subset is tried, smallest first."""

MOST_WORK = 200_000
"""Figures times trials: a larger statement gets fewer trials, and the answer says so."""

Solver = Callable[[Release, tuple[str, ...]], Solution]


def explain_bounds(
    solver: Solver,
    worked: Solution,
    release: Release,
    over: tuple[str, ...],
    method: str,
    labels: tuple[Label, ...],
) -> Explanation:
    """Explain both bounds of one cell; `worked` is the answer that they are from."""
    domain = release.domain.project(over)
    index = domain.index(labels)
    lower, upper = (worked.bound(index, side) for side in (0, 1))
    if lower is None or upper is None:
        raise Unsettled(
            "the bounds of this cell were not settled within the budget; ask with more seconds"
        )
    bottom = int(lower)
    top = upper if isinstance(upper, Unbounded) else int(upper)
    return Explanation(
        labels=labels,
        lower=bottom,
        upper=top,
        evidence=Evidence.EXACT,
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
    undecided = False

    def forces(statements: Sequence[Statement]) -> bool:
        nonlocal undecided
        smaller = Release(release.domain, statements)
        try:
            said = solver(smaller, over).forces(index, side, int(value))
        except UnsupportedRelease:
            return False  # fewer statements than the method can use: nothing is forced
        undecided |= said is None
        return bool(said)

    chosen, smallest = _statements(release.statements, forces)
    figures: list[str] = []
    irreducible = True
    kept = list(chosen)
    for place, statement in enumerate(chosen):
        tabulated = statement.tabulated
        if tabulated is None:
            figures.append(statement.notation)
            continue
        shown, least = _shown_figures(tabulated, kept, place, forces)
        kept[place] = tabulated.withheld(~shown)
        irreducible &= least
        figures += _named(tabulated, shown, release)
    names = tuple(statement.notation for statement in chosen)
    return Blame(names, tuple(figures), smallest and not undecided, irreducible and not undecided)


def _statements(
    statements: tuple[Statement, ...], forces: Callable[[Sequence[Statement]], bool]
) -> tuple[list[Statement], bool]:
    if len(statements) <= MOST_STATEMENTS:
        for count in range(len(statements)):
            for subset in itertools.combinations(statements, count):
                if forces(subset):
                    return list(subset), True
        return list(statements), True
    kept = list(statements)
    for statement in statements:
        fewer = [one for one in kept if one is not statement]
        if forces(fewer):
            kept = fewer
    return kept, False


def _shown_figures(
    statement: Tabulated,
    chosen: list[Statement],
    place: int,
    forces: Callable[[Sequence[Statement]], bool],
) -> tuple[np.ndarray, bool]:
    """Withhold figures in ever smaller pieces as long as the bound stays; the rest is to blame.

    Withholding more never narrows, so a figure that could not be withheld once never can: when
    single figures have been tried, what is left is irreducible.
    """
    loose = np.flatnonzero(statement.withholdable)
    hidden = statement.idle.copy()
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


def _named(statement: Tabulated, shown: np.ndarray, release: Release) -> Iterator[str]:
    margin = release.domain.project(statement.variables)
    for flat in np.flatnonzero(shown).tolist():
        text = statement.figure_at(flat)
        if text is None:
            continue
        at = [int(i) for i in np.unravel_index(flat, margin.shape)]
        where = ", ".join(map(str, margin.labels(at)))
        yield f"{statement.notation} at {where}: {text}"
