"""Which published figures are to blame: for a bound, or for a contradiction."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cellbounds.data.domain import Label
from cellbounds.errors import CellboundsError, InconsistentRelease, Unsettled, UnsupportedRelease
from cellbounds.reductions.named_tables import NamedArray
from cellbounds.results import Blame, Evidence, Explanation, Unbounded
from cellbounds.results.solution import Solution
from cellbounds.statements import Release, Statement, Tabulated
from cellbounds.statements.notation import names_text

Solve = Callable[[Release, tuple[str, ...]], Solution]
"""Solves a release for bounds over some variables."""

Holds = Callable[[Sequence[Statement]], bool]
"""Whether something follows from some statements; then it follows from more of them too."""


@dataclass(frozen=True, slots=True)
class BlameLimits:
    """How long is looked for the fewest statements and figures.

    Attributes
    ----------
    trials
        Sets of statements that are tried for a contradiction; beyond, the set is irreducible but
        perhaps not smallest.
    statements
        Up to so many statements every subset is tried for a bound, smallest first.
    work
        Figures times trials: a larger statement gets fewer trials, and the answer says so.
    """

    trials: int = 400
    statements: int = 12
    work: int = 200_000


USUAL = BlameLimits()


def contradiction(
    solve: Solve,
    release: Release,
    problem: InconsistentRelease,
    *,
    limits: BlameLimits = USUAL,
) -> InconsistentRelease:
    """The same error with the names of the statements that cannot all hold."""
    if len(release.statements) < 2:
        return problem
    pair = _disagreeing_pair(release)
    if pair is not None:
        return InconsistentRelease(pair)
    trials = _Trials(solve, release, limits.trials)
    irreducible = _irreducible(release.statements, trials.impossible)
    chosen = _smallest(release.statements, irreducible, trials) or irreducible
    names = ", ".join(statement.notation for statement in chosen)
    if len(chosen) == 1:
        return InconsistentRelease(f"no table of counts fits {names}, even alone ({problem})")
    if trials.undecided:
        return InconsistentRelease(f"no table of counts fits {names} together")
    how = "any fewer of them do" if trials.left else "without one of them the others can"
    return InconsistentRelease(f"no table of counts fits {names} together, though {how}")


class _Trials:
    """Asks whether some statements can hold together, a limited number of times."""

    def __init__(self, solve: Solve, release: Release, most: int) -> None:
        self._solve, self._release = solve, release
        self.left = most
        self.undecided = False

    def impossible(self, statements: Sequence[Statement]) -> bool:
        self.left = max(0, self.left - 1)
        domain = self._release.domain
        try:
            possible = self._solve(Release(domain, statements), domain.names[:1]).possible()
        except InconsistentRelease:
            return True
        except CellboundsError:
            possible = None
        # What is not decided is not known to be impossible.
        self.undecided |= possible is None
        return False


def _irreducible(statements: Sequence[Statement], holds: Holds) -> list[Statement]:
    """Leave statements out one by one as long as it still follows."""
    left = list(statements)
    for statement in statements:
        fewer = [other for other in left if other is not statement]
        if fewer and holds(fewer):
            left = fewer
    return left


def _smallest(
    statements: Sequence[Statement], irreducible: list[Statement], trials: _Trials
) -> list[Statement] | None:
    """A smaller contradictory set than an irreducible one, if there is any."""
    for count in range(1, len(irreducible)):
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
        (statement, counts)
        for statement in release.statements
        if statement.variables and (counts := statement.fixed_counts(domain)) is not None
    ]
    for (left, ours), (right, theirs) in itertools.combinations(margins, 2):
        shared = tuple(name for name in left.variables if name in right.variables)
        mine, yours = NamedArray(left.variables, ours), NamedArray(right.variables, theirs)
        if not np.array_equal(mine.summed(shared).array, yours.summed(shared).array):
            what = f"counts for [{names_text(shared)}]" if shared else "totals"
            return f"{left.notation} and {right.notation} give different {what}"
    total = release.total
    for margin, counts in margins:
        if not total.allows(int(counts.sum(dtype=object))):
            return f"{margin.notation} and {total.notation} give different totals"
    return None


def explain_bounds(
    solve: Solve,
    solution: Solution,
    release: Release,
    over: tuple[str, ...],
    labels: tuple[Label, ...],
    *,
    limits: BlameLimits = USUAL,
) -> Explanation:
    """Explain both bounds of one cell; `solution` is the one that they are from."""
    domain = release.domain.project(over)
    index = domain.index(labels)
    lower, upper = (solution.bound(index, side) for side in (0, 1))
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
        method=solution.method,
        lower_witness=solution.witness(index, bottom),
        upper_witness=None if isinstance(top, Unbounded) else solution.witness(index, top),
        lower_blame=_blame(solve, release, over, index, 0, bottom, limits=limits),
        upper_blame=_blame(solve, release, over, index, 1, top, limits=limits),
    )


def _blame(
    solve: Solve,
    release: Release,
    over: tuple[str, ...],
    index: tuple[int, ...],
    side: int,
    value: Any,
    *,
    limits: BlameLimits,
) -> Blame:
    if (side == 0 and value == 0) or isinstance(value, Unbounded):
        return Blame((), (), smallest=True, irreducible=True)
    undecided = False

    def forces(statements: Sequence[Statement]) -> bool:
        nonlocal undecided
        smaller = Release(release.domain, statements)
        try:
            forced = solve(smaller, over).forces(index, side, int(value))
        except UnsupportedRelease:
            return False  # fewer statements than the method can use: nothing is forced
        undecided |= forced is None
        return bool(forced)

    chosen, smallest = _statements(release.statements, forces, limits.statements)
    figures: list[str] = []
    irreducible = True
    weaker = list(chosen)
    for place, statement in enumerate(chosen):
        tabulated = statement.tabulated
        if tabulated is None:
            figures.append(statement.notation)
            continue
        shown, least = _shown_figures(tabulated, weaker, place, forces, limits.work)
        weaker[place] = tabulated.withheld(~shown)
        irreducible &= least
        figures += _named(tabulated, shown, release)
    names = tuple(statement.notation for statement in chosen)
    return Blame(names, tuple(figures), smallest and not undecided, irreducible and not undecided)


def _statements(
    statements: tuple[Statement, ...], forces: Holds, most: int
) -> tuple[list[Statement], bool]:
    if len(statements) <= most:
        for count in range(len(statements)):
            for subset in itertools.combinations(statements, count):
                if forces(subset):
                    return list(subset), True
        return list(statements), True
    return _irreducible(statements, forces), False


def _shown_figures(
    statement: Tabulated,
    chosen: list[Statement],
    place: int,
    forces: Holds,
    work: int,
) -> tuple[np.ndarray, bool]:
    """Withhold figures in ever smaller pieces as long as the bound stays; the rest is to blame.

    Withholding more never narrows, so a figure that could not be withheld once never can: when
    single figures have been tried, what is left is irreducible.
    """
    loose = np.flatnonzero(statement.withholdable)
    hidden = statement.idle.copy()
    trials = max(20, work // max(hidden.size, 1))
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
