"""Cell suppression: figures are hidden, one after another, until a release is safe."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from cellbounds.data.domain import Domain
from cellbounds.disclosure.policies import Finding, Outcome, Verdict
from cellbounds.disclosure.suggesting.changes import Change, suppressing
from cellbounds.runtime.arrays import BoolArray
from cellbounds.runtime.scaled_floats import FloatArray
from cellbounds.statements import Release, Tabulated
from cellbounds.utility.retained import levels_behind

__all__ = ["Suppressed", "suppress"]

STEPS = 12
"""Rounds of hiding and judging."""

RESTORED = 40
"""Figures that are shown again on trial, once the release is safe."""

Judging = Callable[[Release], tuple[Verdict, ...] | None]
"""Judges a release; None if there is no time for it."""


@dataclass(frozen=True, slots=True, eq=False)
class Suppressed:
    """A safe release, and what it does not show."""

    release: Release
    verdicts: tuple[Verdict, ...]
    changes: tuple[Change, ...]


def suppress(
    release: Release,
    scope: Sequence[int],
    judging: Judging,
    *,
    blind: bool,
    restored: int = RESTORED,
) -> Suppressed | None:
    """Hide figures of some statements (by their places) until the release is judged safe.

    First the figures of what breaks a rule; then, as long as it can be worked out, partners in
    the same line, the smallest first; at last what is hidden needlessly is shown again. With
    `blind` the choice does not look at the figures. `restored` figures are shown again on trial.
    None if that leads nowhere.
    """
    sheets = {place: _Sheet.of(release, place, blind) for place in scope}
    verdicts = judging(release)
    current = release
    for _ in range(STEPS):
        if verdicts is None:
            return None
        if _safe(verdicts):
            return _restored(release, current, verdicts, sheets, judging, restored)
        findings = [one for verdict in verdicts for one in (*verdict.broken, *verdict.open)]
        hidden = [sheet.hide(findings) for sheet in sheets.values()]
        made = _without(release, sheets) if any(hidden) else None
        if made is None:
            return None
        current, verdicts = made, judging(made)
    return None


def _safe(verdicts: Sequence[Verdict]) -> bool:
    return all(verdict.verdict is Outcome.SAFE for verdict in verdicts)


def _restored(
    release: Release,
    safe: Release,
    verdicts: tuple[Verdict, ...],
    sheets: dict[int, _Sheet],
    judging: Judging,
    most: int,
) -> Suppressed:
    """Show again what need not be hidden, the largest figures first."""
    tries = sorted(
        (
            (-sheet.costs[index], place, index)
            for place, sheet in sheets.items()
            for index in sheet.added()
        ),
    )
    for _, place, index in tries[:most]:
        sheet = sheets[place]
        sheet.hidden[index] = False
        made = _without(release, sheets)
        found = None if made is None else judging(made)
        if made is not None and found is not None and _safe(found):
            safe, verdicts = made, found
        else:
            sheet.hidden[index] = True
    changes = [sheet.change() for sheet in sheets.values() if any(sheet.added())]
    return Suppressed(safe, verdicts, tuple(changes))


def _without(release: Release, sheets: dict[int, _Sheet]) -> Release | None:
    statements = list(release.statements)
    for place, sheet in sheets.items():
        made = sheet.statement.suppressed(sheet.hidden & ~sheet.before)
        if made is None:
            return None
        statements[place] = made
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
        covers = [self._cover(one) for one in findings]
        shown = [cover & ~self.hidden for cover in covers if cover.any()]
        fresh = [one for one in shown if one.any()]
        if fresh:
            for one in fresh:
                self.hidden |= one
            return True
        spoken_of = np.logical_or.reduce([np.zeros_like(self.hidden), *covers])
        lines = self._lonely_lines() or self._lines_through(spoken_of)
        hidden = [self._partner(line) for line in lines]
        return any(hidden)

    def _cover(self, finding: Finding) -> BoolArray:
        """The figures that speak of a place."""
        names = self.statement.variables
        nothing = np.zeros(self.hidden.shape, dtype=bool)
        if finding.figure and finding.variables != names:
            return nothing
        if not finding.variables:
            return nothing
        cover = np.ones(self.hidden.shape, dtype=bool)
        place = dict(zip(finding.variables, finding.labels, strict=True))
        behind = [(levels_behind(self.domain, name), name) for name in place]
        for axis, name in enumerate(names):
            base, levels = levels_behind(self.domain, name)
            for (other, groups), told in behind:
                if other == base:
                    inside = groups[self.domain.position(told, place[told])]
                    met = np.array([bool(level & inside) for level in levels])
                    cover &= met.reshape([-1 if at == axis else 1 for at in range(cover.ndim)])
        return cover

    def _lonely_lines(self) -> list[_Line]:
        """Lines with one hidden figure, which is what the others leave of the line's sum."""
        return [one for one in self.statement.lines() if self.hidden[one].sum() == 1]

    def _lines_through(self, places: BoolArray) -> list[_Line]:
        """Lines through some places that still show something."""
        return [
            one
            for one in self.statement.lines()
            if places[one].any() and not self.hidden[one].all()
        ]

    def _partner(self, line: _Line) -> bool:
        """Hide one more figure of a line: best where another line lacks a partner, then small."""
        gone, costs = self.hidden[line], self.costs[line]
        lone = self._wanted()[line]
        if gone.all():
            return False
        ranks = np.where(gone.ravel(), np.inf, costs.ravel())
        best = min(np.flatnonzero(~gone.ravel()), key=lambda at: (-lone.ravel()[at], ranks[at], at))
        view = self.hidden[line]
        view[np.unravel_index(best, view.shape)] = True
        return True

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


_Line = tuple[int | slice, ...]
"""An index that picks one line of figures."""
