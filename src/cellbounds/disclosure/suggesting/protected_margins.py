"""Exact margins made safe by the methods of `protect`, as changes of a release."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from cellbounds.data.domain import Label
from cellbounds.data.table import Table
from cellbounds.disclosure.policies import Policy
from cellbounds.disclosure.protecting import protect
from cellbounds.disclosure.protecting.finished import Finished
from cellbounds.disclosure.suggesting.changes import (
    Change,
    as_ranges,
    rounded_together,
    suppressing,
)
from cellbounds.disclosure.suggesting.suppression import Judging, Suppressed
from cellbounds.errors import InvalidInput, TooMuchWork, Unsettled, UnsupportedRelease
from cellbounds.runtime.budget import Budget
from cellbounds.statements import Margin, Release, Statement

METHODS = ("suppress", "intervals", "round")
"""The ways that are tried; merging levels is a change of its own."""

WORK = 5
"""Millions of steps for one pattern: enough for a good one, as many are tried."""


def exact_margins(release: Release, policy: Policy) -> bool:
    """Whether a release shows exact margins alone, and the policy speaks of small counts alone."""
    said = [one for one in release.statements if one.published and one.variables]
    exact = all(isinstance(one, Margin) and one.exact and one.base is None for one in said)
    return bool(said) and exact and all(rule.suppressible for rule in policy.rules)


def protected_margins(
    release: Release,
    scope: Sequence[int],
    table: Table,
    policy: Policy,
    judging: Judging,
    budget: Budget,
    *,
    method: str,
) -> Suppressed | None:
    """A release of exact margins made safe; None if it is not, or not in time.

    Figures of other statements than those in `scope` (by their places) are not hidden.
    """
    said = {place: one for place, one in enumerate(release.statements) if isinstance(one, Margin)}
    keep = [one.notation for place, one in said.items() if place not in scope]
    try:
        done = protect(
            table.with_domain(release.domain),
            *(one.notation for one in said.values()),
            policy=policy,
            method=method,
            total=release.stated_total is not None,
            budget=budget,
            keep=keep if method == "suppress" else (),
            work=WORK,
        )
    except (InvalidInput, TooMuchWork, Unsettled, UnsupportedRelease):
        return None  # such as a small count in a margin that is to stay as it is
    made = _restated(release, done)
    verdict = judging(made)
    if verdict is None or not verdict.safe:
        return None
    changes = _CHANGES[method](list(said.items()), made, done)
    return Suppressed(made, verdict, tuple(changes)) if changes else None


def _restated(release: Release, done: Finished) -> Release:
    """The same statements in the same order, as they are protected."""
    margins = {frozenset(one.variables): one for one in done.release.statements if one.variables}
    totals = [one for one in done.release.statements if one.published and not one.variables]
    statements: list[Statement] = []
    for one in release.statements:
        if one.published and not one.variables:
            statements.append(totals[0])
        else:
            same = margins.get(frozenset(one.variables)) if isinstance(one, Margin) else None
            statements.append(one if same is None else same)
    return Release(release.domain, statements)


Said = list[tuple[int, Margin]]


def _hidden(said: Said, made: Release) -> list[tuple[Margin, list[tuple[tuple[Label, ...], str]]]]:
    """For each statement the figures that are not shown exactly: labels, and what stands there."""
    found = []
    for place, before in said:
        after = made.statements[place]
        assert isinstance(after, Margin)
        laid = made.domain.project(before.variables)
        figures = [
            (laid.labels([int(k) for k in index]), str(after.entries[tuple(index)]))
            for index in np.argwhere(after.hidden)
        ]
        if figures:
            found.append((before, figures))
    return found


def _suppressed(said: Said, made: Release, _: Finished) -> list[Change]:
    return [
        suppressing(before, [labels for labels, _ in figures], before.entries.size)
        for before, figures in _hidden(said, made)
    ]


def _ranges(said: Said, made: Release, _: Finished) -> list[Change]:
    return [
        as_ranges(before, figures, before.entries.size) for before, figures in _hidden(said, made)
    ]


def _rounded(said: Said, _: Release, done: Finished) -> list[Change]:
    base = done.to_dict()["base"]
    return [rounded_together([one.notation for _, one in said], base)]


_CHANGES: dict[str, Callable[[Said, Release, Finished], list[Change]]] = {
    "suppress": _suppressed,
    "intervals": _ranges,
    "round": _rounded,
}
