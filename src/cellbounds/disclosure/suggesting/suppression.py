"""Cell suppression: figures are hidden, one after another, until a release is safe."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from cellbounds.data.domain import Domain
from cellbounds.disclosure.policies import Finding, Verdict
from cellbounds.disclosure.policies.verdict import touched_levels
from cellbounds.disclosure.suggesting.changes import Change, suppressing
from cellbounds.runtime.arrays import BoolArray
from cellbounds.runtime.scaled_floats import FloatArray
from cellbounds.statements import Release, Tabulated

STEPS = 12
"""Rounds of hiding and judging."""

RESTORED = 40
"""Figures that are shown again on trial, once the release is safe."""

Judging = Callable[[Release], Verdict | None]
"""Judges a release; None if there is no time for it."""


Origin = tuple[tuple[int, ...], tuple[int, ...]]
"""Changes that were made before figures were suppressed, and the statements in which they were."""


@dataclass(frozen=True, slots=True, eq=False)
class Suppressed:
    """A safe release, what it does not show, and what led to it."""

    release: Release
    verdict: Verdict
    changes: tuple[Change, ...]
    origin: Origin = ((), ())

    @property
    def key(self) -> tuple[str, ...]:
        """What is changed, which figures are suppressed included."""
        return tuple(change.sentence for change in self.changes)


def suppress(
    release: Release,
    scope: Sequence[int],
    judging: Judging,
    *,
    blind: bool,
    restored: int = RESTORED,
    wanted: Sequence[BoolArray] = (),
) -> Suppressed | None:
    """Hide figures of some statements (by their places) until the release is judged safe.

    First the figures of what breaks a rule; then, as long as it can be worked out, partners in
    the same line, the smallest first; at last what is hidden needlessly is shown again. With
    `blind` the choice does not look at the figures. `restored` figures are shown again on trial.
    None if that leads nowhere; or not to what is `wanted` hidden in each statement, if that is all
    that is asked.
    """
    sheets = {place: _Sheet.of(release, place, blind) for place in scope}
    verdict = judging(release)
    current = release
    for _ in range(STEPS):
        if verdict is None:
            return None
        if verdict.safe:
            return _restored(release, current, verdict, sheets, judging, restored, wanted)
        findings = [*verdict.broken, *verdict.open]
        hidden = [sheet.hide(findings) for sheet in sheets.values()]
        fewer = _without(release, sheets) if any(hidden) else None
        if fewer is None:
            return None
        current, verdict = fewer, judging(fewer)
    return None


def _restored(
    release: Release,
    safe: Release,
    verdict: Verdict,
    sheets: dict[int, _Sheet],
    judging: Judging,
    most: int,
    wanted: Sequence[BoolArray],
) -> Suppressed | None:
    """Show again what need not be hidden, the largest figures first."""
    hidden = dict(zip(sheets, wanted, strict=False))
    if any((mask & ~sheets[place].hidden).any() for place, mask in hidden.items()):
        return None
    tries = sorted(
        (-sheet.costs[index], place, index)
        for place, sheet in sheets.items()
        for index in sheet.added()
    )
    for _, place, index in tries[:most]:
        sheets[place].hidden[index] = False
        fuller = _without(release, sheets)
        judged = None if fuller is None else judging(fuller)
        if fuller is not None and judged is not None and judged.safe:
            safe, verdict = fuller, judged
        else:
            sheets[place].hidden[index] = True
        if hidden and sheets[place].hidden[index] != hidden[place][index]:
            return None
    changes = [sheet.change() for sheet in sheets.values() if any(sheet.added())]
    return Suppressed(safe, verdict, tuple(changes))


def _without(release: Release, sheets: dict[int, _Sheet]) -> Release | None:
    statements = list(release.statements)
    for place, sheet in sheets.items():
        statement = sheet.statement.suppressed(sheet.hidden & ~sheet.before)
        if statement is None:
            return None
        statements[place] = statement
    return Release(release.domain, statements)


@dataclass(slots=True, eq=False)
class _Sheet:
    """One statement while its figures are being hidden: arrays in the statement's shape."""

    statement: Tabulated
    domain: Domain
    costs: FloatArray
    before: BoolArray
    hidden: BoolArray

    @classmethod
    def of(cls, release: Release, place: int, blind: bool) -> _Sheet:
        statement = release.statements[place].tabulated
        assert statement is not None  # only these have figures to hide
        before = statement.hidden
        costs = np.zeros(before.shape) if blind else statement.magnitudes
        return cls(statement, release.domain, costs, before, before.copy())

    def hide(self, findings: Sequence[Finding]) -> bool:
        """Hide the figures of what breaks a rule, or partners if they are hidden already."""
        spoken_of = np.zeros_like(self.hidden)
        names = self.statement.variables
        for place in findings:
            if place.variables == names or (place.variables and not place.figure):
                touched = touched_levels(self.domain, names, place.variables, place.labels)
                spoken_of[np.ix_(*touched)] = True
        if (spoken_of & ~self.hidden).any():
            self.hidden |= spoken_of
            return True
        lines = list(self.statement.lines())
        # A single hidden figure is what the others leave of the line's sum.
        lonely = [line for line in lines if self.hidden[line].sum() == 1]
        through = [line for line in lines if spoken_of[line].any()]
        hidden = [self._partner(line) for line in lonely or through]
        return any(hidden)

    def _partner(self, line: tuple[int | slice, ...]) -> bool:
        """Hide one more figure of a line: best where another line lacks a partner, then small."""
        view = self.hidden[line]
        lone, costs = self._wanted()[line].ravel(), self.costs[line].ravel()
        shown = np.flatnonzero(~view.ravel()).tolist()
        if shown:
            best = min(shown, key=lambda at: (-lone[at], costs[at], at))
            view[np.unravel_index(best, view.shape)] = True
        return bool(shown)

    def _wanted(self) -> FloatArray:
        """For each figure, how many lines through it have a single hidden figure."""
        wanted = np.zeros(self.hidden.shape)
        if self.statement.bounds_counts:  # otherwise lines do not cross
            for axis in range(wanted.ndim):
                wanted += self.hidden.sum(axis=axis, keepdims=True) == 1
        return wanted

    def added(self) -> list[tuple[int, ...]]:
        """The figures that were hidden here."""
        return [tuple(map(int, at)) for at in np.argwhere(self.hidden & ~self.before)]

    def change(self) -> Change:
        """What was hidden, in words and labels."""
        laid = self.domain.project(self.statement.variables)
        labels = [laid.labels(index) for index in self.added()]
        return suppressing(self.statement, labels, int((~self.before).sum()))
