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
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.budget import Budget
from cellbounds.statements import Release, Statement, Tabulated

METHODS = ("suppress", "intervals", "round")
"""The ways that are tried; merging levels is a change of its own."""

WORK = 5
"""Millions of steps for one pattern: enough for a good one, as many are tried."""


def exact_margins(release: Release, policy: Policy) -> bool:
    """Whether a release shows exact margins alone, and the policy speaks of small counts alone."""
    margins = [
        statement for statement in release.statements if statement.published and statement.variables
    ]
    return (
        bool(margins)
        and all(map(_is_exact_margin, margins))
        and all(rule.suppressible for rule in policy.rules)
    )


def _is_exact_margin(statement: Statement) -> bool:
    shown, request = statement.tabulated, statement.request
    if shown is None or request is None or not (request.is_margin and request.exact):
        return False
    return not shown.hidden.any()


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
    margins = {
        place: statement.tabulated
        for place, statement in enumerate(release.statements)
        if statement.tabulated is not None
    }
    keep = [statement.notation for place, statement in margins.items() if place not in scope]
    try:
        done = protect(
            table.with_domain(release.domain),
            *(statement.notation for statement in margins.values()),
            policy=policy,
            method=method,
            total=release.stated_total is not None,
            budget=budget,
            keep=keep if method == "suppress" else (),
            work=WORK,
            independent=False,
        )
    except (InvalidInput, TooMuchWork, Unsettled, UnsupportedRelease):
        return None  # such as a small count in a margin that is to stay as it is
    made = _restated(release, done)
    verdict = judging(made)
    if verdict is None or not verdict.safe:
        return None
    changes = _CHANGES[method](list(margins.items()), made, done)
    return Suppressed(made, verdict, tuple(changes)) if changes else None


def _restated(release: Release, done: Finished) -> Release:
    """The same statements in the same order, as they are protected."""
    margins = {
        frozenset(statement.variables): statement
        for statement in done.release.statements
        if statement.variables
    }
    totals = [
        statement
        for statement in done.release.statements
        if statement.published and not statement.variables
    ]
    statements: list[Statement] = []
    for statement in release.statements:
        if statement.published and not statement.variables:
            statements.append(totals[0])
        else:
            same = margins.get(frozenset(statement.variables)) if statement.published else None
            statements.append(statement if same is None else same)
    return Release(release.domain, statements)


def _printed(statement: Tabulated, index: IntArray) -> str:
    place = int(np.ravel_multi_index(tuple(index), statement.hidden.shape))
    return statement.figure_at(place) or "suppressed"


Said = list[tuple[int, Tabulated]]


def _hidden(
    said: Said, made: Release
) -> list[tuple[Tabulated, list[tuple[tuple[Label, ...], str]]]]:
    """For each statement the figures that are not shown exactly: labels, and what stands there."""
    protected = []
    for place, before in said:
        after = made.statements[place].tabulated
        assert after is not None
        laid = made.domain.project(before.variables)
        figures = [
            (laid.labels([int(k) for k in index]), _printed(after, index))
            for index in np.argwhere(after.hidden)
        ]
        if figures:
            protected.append((before, figures))
    return protected


def _suppressed(said: Said, made: Release, _: Finished) -> list[Change]:
    return [
        suppressing(before, [labels for labels, _ in figures], before.hidden.size)
        for before, figures in _hidden(said, made)
    ]


def _ranges(said: Said, made: Release, _: Finished) -> list[Change]:
    return [
        as_ranges(before, figures, before.hidden.size) for before, figures in _hidden(said, made)
    ]


def _rounded(said: Said, _: Release, done: Finished) -> list[Change]:
    base = done.to_dict()["base"]
    return [rounded_together([statement.notation for _, statement in said], base)]


_CHANGES: dict[str, Callable[[Said, Release, Finished], list[Change]]] = {
    "suppress": _suppressed,
    "intervals": _ranges,
    "round": _rounded,
}
