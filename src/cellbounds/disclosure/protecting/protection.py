"""Protect a table by suppression: build the problem, solve it, judge what comes out."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cellbounds.data.table import Table
from cellbounds.disclosure.policies import DEFAULT, Policy, judge, policy_of
from cellbounds.disclosure.policies.knowledge import joined_with, with_known_structure
from cellbounds.disclosure.protecting.branch_and_cut import best_pattern
from cellbounds.disclosure.protecting.earlier import (
    Earlier,
    EarlierPattern,
    SamePeople,
    earlier_pattern,
    read_earlier,
    said_of_cells,
    same_people,
)
from cellbounds.disclosure.protecting.finished import Finished
from cellbounds.disclosure.protecting.intervals import ranged
from cellbounds.disclosure.protecting.patterns import hopeless
from cellbounds.disclosure.protecting.policy_levels import Asked, asked_by
from cellbounds.disclosure.protecting.protected import (
    HiddenCell,
    Protected,
    Unprotectable,
    cells_named,
)
from cellbounds.disclosure.protecting.published_cells import PublishedCells, published_cells
from cellbounds.disclosure.protecting.recoding import recoded
from cellbounds.disclosure.protecting.rounding import rounded
from cellbounds.disclosure.protecting.suppression_problem import Level, SuppressionProblem
from cellbounds.disclosure.protecting.whole_moves import Shown, whole_moves
from cellbounds.errors import InvalidInput
from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.runtime.budget import UNLIMITED, Budget, budgeted
from cellbounds.statements import Release, publish
from cellbounds.text import counted

WORK = 200
"""Millions of steps of the search unless said: the same on every machine, whatever its load."""

SEARCH_SHARE = 0.6
"""The part of a budget for choosing; the rest is for attacking what was chosen."""

HOPELESS = "even with all hidden that may be, what is known gives it away: {}"

WAS_SHOWN = "it is out already: a release about the same people shows it"


@budgeted(parts=True)
def protect(
    table: Table,
    *statements: str,
    policy: Policy | str | Path = DEFAULT,
    method: str = "suppress",
    base: int | None = None,
    widths: Sequence[int] | None = None,
    cost: str | Mapping[str, Any] = "counts",
    keep: Iterable[str | Mapping[str, Any]] = (),
    prefer: Iterable[str | Mapping[str, Any]] = (),
    total: bool = True,
    marked: bool = False,
    earlier: Iterable[Earlier] | Earlier = (),
    released: Release | None = None,
    work: int = WORK,
    budget: Budget = UNLIMITED,
    seconds: float | None = None,
) -> Finished:
    """Change published tables as little as possible so that a policy is kept.

    By suppression, small counts are hidden (primary), and further figures (secondary) so that
    nobody can work them out from totals and from each other. The intruder knows that zeros are
    shown, unless the policy hides them too: a hidden count is at least 1. By intervals, figures are
    shown as ranges instead, the narrowest that will do. By controlled rounding, every figure
    becomes a multiple of a base beside its count, and totals add up. By recoding, the fewest levels
    are merged, with neighbours or to the coarser level of a hierarchy. What comes out is attacked
    with the methods of :func:`judge`; a lower bound on what any result of the method loses is
    proven in whole numbers.

    Parameters
    ----------
    table
        The confidential table.
    *statements
        The margins to publish, exact, in the notation: ``"[mun,age]"``, ``"[mun]"``, or
        ``"[mun+,age+]"`` for all levels with all totals. Derived variables may be named.
    policy
        A profile's name, a file, or a :class:`Policy`. Its rules about small counts say what is
        hidden and how uncertain it must stay; the other rules are judged at the end.
    method
        ``"suppress"`` (cell suppression), ``"intervals"`` (ranges), ``"round"`` (controlled
        rounding) or ``"recode"`` (levels merged until no small count is shown).
    base
        What figures are rounded to multiples of. Unless said, the smallest of 3, 5, 10, 20, 50, 100
        that is larger than small counts, and is judged safe.
    widths
        How wide ranges may be, each a multiple of the one before: 5, 10, 50, 100, ... unless said.
        Ranges of a width lie side by side, so that their ends tell nothing more.
    cost
        What hiding a secondary figure costs: ``"counts"`` (the count), ``"cells"`` (1), or whole
        numbers of your own for some margins: ``{"[mun]": [5, 1, 9]}``; others cost their counts.
    keep, prefer
        Figures that are never hidden, and figures that cost nothing: margins (``"[mun]"``) or
        single cells (``{"mun": "North", "age": "old"}``). N is always shown.
    total
        Whether N is published too.
    marked
        Whether the finished table tells primary figures from secondary ones. The intruder then
        knows the first to be small, and the others, unless ``marks="never"``, not to be.
    earlier
        Last year's table with the same codes, as it was published: a release, published tables, or
        the file of either; or several. What was hidden stays hidden, where it may be.
    released
        What is out already about the same people, as ``ledger.together()`` says it. What it shows
        is known, what it hides stays hidden; both are judged together.
    work
        How long to search for cheaper patterns and better bounds, in millions of steps: attacks on
        single counts, times the cells there are. The result is the same on every run.
    budget, seconds
        What the work may cost: a :class:`Budget`, or seconds alone. Where time ends the search,
        the result says so, and may be another one next time.

    Returns
    -------
    Protected, Ranged, Rounded or Recoded
        What to publish, what it costs, a bound on any result's cost, and the verdict on it.

    Raises
    ------
    InvalidInput
        If a figure must be hidden and must be kept, a cost is none, or an option does not go with
        the method.
    UnsupportedRelease
        If something else than exact margins is to be published.

    Examples
    --------
    >>> import cellbounds as cb
    >>> table = cb.datasets.read("delinquent")
    >>> done = cb.protect(table, "[county+,education+]")
    >>> done
    <SAFE under the policy small-counts: 6 primary and 3 secondary figures of 25 hidden>
    >>> done.cost, done.bound, done.optimal
    (29, 29, True)
    >>> cb.bounds(done.release)["Alpha", "Medium"]
    (1, 3)
    """
    begun = time.perf_counter()
    if not isinstance(table, Table):
        raise InvalidInput(f"table={table!r}; give the Table to be protected")
    if isinstance(work, bool) or not isinstance(work, int) or work < 0:
        raise InvalidInput(f"work={work!r}; give a whole number of millions of steps, 0 or more")
    chosen = policy_of(policy)
    table = with_known_structure(table)
    given = {"base": base is not None, "widths": widths is not None, "cost": cost != "counts"}
    given |= {"marked": marked, "released": released is not None}
    _check_method(method, **given, keep=keep, prefer=prefer, earlier=earlier)
    if method == "intervals":
        return ranged(table, statements, chosen, widths=widths, total=total, budget=budget)
    if method == "recode":
        return recoded(table, statements, chosen, total=total, budget=budget)
    if method == "round":
        return rounded(table, statements, chosen, base=base, total=total, budget=budget)
    release = publish(table, *statements, total=total)
    out = None if released is None else same_people(released, release)
    cells = published_cells(
        table,
        release,
        known_total=chosen.against.total == "known",
        besides=[] if out is None else [one.variables for one in out.statements if one.variables],
    )
    asked = asked_by(chosen, cells, marked=marked)
    before = read_earlier(earlier, table)
    pattern = earlier_pattern(before, out, cells) if before or out is not None else None
    said = said_of_cells(out, cells)
    problem = suppression_problem(
        cells, asked, cost=cost, keep=keep, prefer=prefer, earlier=pattern, said=said
    )
    effort = budget.share(SEARCH_SHARE)
    open_levels = hopeless(problem, effort)
    if open_levels:
        possible = tuple(one for one in problem.levels if one not in open_levels)
        problem = replace(problem, levels=possible)
    best = best_pattern(problem, steps=work * 1_000_000, effort=effort)
    shown = whole_moves(problem, best.hidden, budget.share(0.5))
    hidden = (best.hidden | asked.primary) & cells.published
    protected = cells.protected(hidden, asked.marks)
    together = (
        protected
        if out is None
        else joined_with(Release(out.domain, protected.statements), out.statements)
    )
    verdict = judge(table, together, chosen, budget=budget)
    again = int(_costs(cost, cells)[problem.forced & cells.published & ~asked.primary].sum())
    return Protected(
        policy=chosen,
        verdict=verdict,
        release=protected,
        hidden=_hidden_cells(cells, asked, hidden),
        unprotectable=_reasons(cells, asked, open_levels, said.known),
        cost=best.cost + again,
        bound=best.bound + again,
        costing=_costing(cost),
        proven=(len(asked.levels), len(shown.moves)),
        work=-(-best.steps // 1_000_000),
        stopped=best.stopped,
        seconds=time.perf_counter() - begun,
        cells=cells,
        pattern=hidden,
        primary_mark=asked.primary_mark,
        notes=(
            *([] if pattern is None else [pattern.sentence(hidden, cells.published)]),
            *_notes(asked, shown, chosen, known_total=cells.total is not None),
        ),
    )


METHODS = {
    "suppress": ("cost", "keep", "prefer", "marked", "earlier", "released"),
    "intervals": ("widths",),
    "round": ("base",),
    "recode": (),
}
"""The ways to protect a table, and the options that go with each."""


def _check_method(method: object, **given: object) -> None:
    if method not in METHODS:
        raise InvalidInput(f"method={method!r}; choose one of {', '.join(METHODS)}")
    for name, value in given.items():
        fitting = [one for one, options in METHODS.items() if name in options]
        if value and method not in fitting:
            raise InvalidInput(
                f"{name} goes with the method {' or '.join(fitting)}, not with {method}; leave it "
                "out"
            )


def suppression_problem(
    cells: PublishedCells,
    asked: Asked,
    *,
    cost: str | Mapping[str, Any] = "counts",
    keep: Iterable[str | Mapping[str, Any]] = (),
    prefer: Iterable[str | Mapping[str, Any]] = (),
    earlier: EarlierPattern | None = None,
    said: SamePeople | None = None,
) -> SuppressionProblem:
    """The problem of choosing what to hide: what an intruder knows, what costs how much.

    What was hidden `earlier` stays hidden where it can be; what was `said` of the same people is
    known.
    """
    counts, published = cells.counts, cells.published
    fixed = cells.closed | ((counts == 0) & published & (not asked.zeros))
    if cells.total is not None:
        fixed[cells.total] = True
    kept = _listed(keep, "keep", cells)
    fixed[kept] = True
    both = np.flatnonzero(fixed & asked.primary)
    if len(both):
        names, labels = cells.where(int(both[0]))
        where = ", ".join(f"{name}={label}" for name, label in zip(names, labels, strict=True))
        raise InvalidInput(
            f"keep: {where} may not be shown under the policy; leave it out, or give another policy"
        )
    forced = asked.primary | (~published & ~fixed)
    if earlier is not None:
        forced |= earlier.hidden & published & ~fixed
    least, most_known = asked.least, asked.most
    if said is not None:
        # What is known already protects nothing, and cannot be protected itself.
        fixed, forced = fixed | said.known, forced & ~said.known
        least = np.maximum(least, said.least)
        most_known = np.where(
            (most_known < 0) | ((said.most >= 0) & (said.most < most_known)), said.most, most_known
        )
    costs = _costs(cost, cells)
    costs[forced] = 0
    costs[_listed(prefer, "prefer", cells)] = 0
    # Without N nobody knows how large a count can be: far larger than any move that is needed.
    total = int(counts.max(initial=0))
    most = total if cells.total is not None else 4 * total + 1000
    return SuppressionProblem(
        counts=counts,
        equations=cells.equations,
        least=np.where(fixed, 0, least),
        most=np.where(most_known < 0, most, most_known),
        costs=costs,
        forced=forced,
        fixed=fixed,
        levels=tuple(one for one in asked.levels if not fixed[one.cell]),
    )


def _listed(
    given: Iterable[str | Mapping[str, Any]], what: str, cells: PublishedCells
) -> list[int]:
    if isinstance(given, str | Mapping):
        given = [given]
    return [cell for where in given for cell in cells_named(cells, where, what)]


def _costs(cost: str | Mapping[str, Any], cells: PublishedCells) -> IntArray:
    """What hiding each cell costs; zeros, where they may be hidden, count as one person."""
    if cost == "cells":
        return np.ones(len(cells.counts), dtype=np.int64)
    costs = np.maximum(cells.counts, 1)
    if cost == "counts":
        return costs
    if not isinstance(cost, Mapping):
        raise InvalidInput(
            f"cost={cost!r}; give 'counts', 'cells', or whole numbers for margins: {{'[A]': [...]}}"
        )
    for where, given in cost.items():
        numbers = cells_named(cells, where, "cost")
        values = np.asarray(given, dtype=object).ravel().tolist()
        whole = all(
            isinstance(one, int | np.integer) and not isinstance(one, bool) for one in values
        )
        if len(values) != len(numbers) or not whole or min(values, default=0) < 0:
            raise InvalidInput(
                f"cost of {where}: {len(values)} values; give {len(numbers)} whole numbers, 0 or "
                "more, one for each cell of the margin"
            )
        costs[numbers] = [int(one) for one in values]
    return costs


def _costing(cost: str | Mapping[str, Any]) -> str:
    words = {"counts": "the sum of the secondary counts", "cells": "secondary figures"}
    return words[cost] if isinstance(cost, str) else "by the weights given"


def _hidden_cells(cells: PublishedCells, asked: Asked, hidden: BoolArray) -> tuple[HiddenCell, ...]:
    numbers = np.flatnonzero(hidden).tolist()
    found = [
        HiddenCell(*cells.where(cell), bool(asked.primary[cell]), int(cells.counts[cell]))
        for cell in numbers
    ]
    return tuple(sorted(found, key=lambda one: not one.primary))


def _reasons(
    cells: PublishedCells, asked: Asked, levels: Sequence[Level], out: BoolArray
) -> tuple[Unprotectable, ...]:
    known = ["N"] if cells.total is not None else []
    known += ["the zeros that are shown"] if asked.shows_zeros else []
    known += ["what is marked as small"] if asked.primary_mark else []
    why = HOPELESS.format(", ".join([*known, "what is always shown"]))
    reasons = [Unprotectable(*cells.where(level.cell), why) for level in levels]
    shown = dict.fromkeys(level.cell for level in asked.levels if out[level.cell])
    return (*reasons, *(Unprotectable(*cells.where(cell), WAS_SHOWN) for cell in shown))


def _notes(asked: Asked, shown: Shown, policy: Policy, *, known_total: bool) -> tuple[str, ...]:
    notes = []
    if shown.open:
        notes.append(
            f"{counted(len(shown.open), 'small count')}: no table was found that shows it to be "
            "uncertain; the verdict says what that means"
        )
    if asked.left:
        rules = ", ".join(asked.left)
        notes.append(f"the figures were not chosen for these rules, which were judged: {rules}")
    known = ["the policy", *(["N"] if known_total else [])]
    if asked.zeros:
        known.append("that zeros are hidden like small counts")
    elif asked.shows_zeros:
        known.append("that zeros are shown: a hidden count is at least 1")
    if asked.primary_mark is not None:
        known.append(f"which are primary: {asked.primary_mark}; the others {asked.mark or 'open'}")
    people = policy.against.respondents
    if people:
        known.append(f"himself in a small cell ({counted(people, 'person', 'people')})")
        notes.append("chosen against people in all small cells at once, who know more than one")
    return (*notes, f"the intruder knows {', '.join(known)}")
