"""Protect a table by suppression: build the problem, solve it, judge what comes out."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from cellbounds.data.table import Table
from cellbounds.disclosure.policies import Policy, judge
from cellbounds.disclosure.policies.knowledge import joined_with
from cellbounds.disclosure.protecting.branch_and_cut import Best, best_pattern
from cellbounds.disclosure.protecting.earlier import (
    EarlierPattern,
    SamePeople,
    earlier_pattern,
    said_of_cells,
    same_people,
)
from cellbounds.disclosure.protecting.patterns import hopeless
from cellbounds.disclosure.protecting.policy_levels import Asked, asked_by
from cellbounds.disclosure.protecting.protected import (
    HiddenCell,
    Protected,
    Unprotectable,
    cells_named,
)
from cellbounds.disclosure.protecting.published_cells import PublishedCells, published_cells
from cellbounds.disclosure.protecting.reruns import Made, held, rerun
from cellbounds.disclosure.protecting.search_state import SearchState
from cellbounds.disclosure.protecting.suppression_problem import Level, SuppressionProblem
from cellbounds.disclosure.protecting.whole_moves import Shown, whole_moves
from cellbounds.errors import InvalidInput
from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.runtime.budget import UNLIMITED, Budget
from cellbounds.runtime.checkpoints import Checkpoint
from cellbounds.statements import Release, publish
from cellbounds.statements.published import Published
from cellbounds.text import counted

SEARCH_SHARE = 0.6
"""The part of a budget for choosing; the rest is for attacking what was chosen."""

HOPELESS = "even with all hidden that may be, what is known gives it away: {}"

TOLD_TOO_MUCH = "a pattern of cost {} is safe too, but tells too much by being chosen"

WAS_SHOWN = "it is out already: a release about the same people shows it"


CellName = str | Mapping[str, Any]
"""A margin by its notation, or a cell by its labels."""


@dataclass(frozen=True, slots=True, eq=False)
class Suppressing:
    """How figures of a table are chosen: the same for every table.

    Attributes
    ----------
    statements, policy, cost, keep, prefer, total, marked, released, work
        As :func:`protect` has them.
    earlier
        What was published before, read.
    wider
        By how many counts more than the policy asks for small counts stay uncertain, where they
        can.
    """

    statements: tuple[str, ...]
    policy: Policy
    cost: str | Mapping[str, Any] = "counts"
    keep: tuple[CellName, ...] = ()
    prefer: tuple[CellName, ...] = ()
    total: bool = True
    marked: bool = False
    earlier: tuple[Release | Published, ...] = ()
    released: Release | None = None
    work: int = 0
    wider: int = 0

    def asked(self, table: Table, effort: Budget = UNLIMITED) -> Chosen:
        """What a table and the policy ask for, nothing being chosen yet."""
        release = publish(table, *self.statements, total=self.total)
        out = None if self.released is None else same_people(self.released, release)
        cells = published_cells(
            table,
            release,
            known_total=self.policy.against.total == "known",
            besides=[]
            if out is None
            else [one.variables for one in out.statements if one.variables],
        )
        asked = asked_by(self.policy, cells, marked=self.marked)
        before = self.earlier or out is not None
        pattern = earlier_pattern(self.earlier, out, cells) if before else None
        said = said_of_cells(out, cells)
        problem = suppression_problem(
            cells,
            asked,
            cost=self.cost,
            keep=self.keep,
            prefer=self.prefer,
            earlier=pattern,
            said=said,
        )
        lost = hopeless(problem, effort)
        levels = tuple(one for one in problem.levels if one not in lost)
        if self.wider:
            wide = replace(problem, levels=tuple(one.wider(self.wider) for one in levels))
            out_of_reach = {one.cell for one in hopeless(wide, effort)}
            pairs = zip(levels, wide.levels, strict=True)
            levels = tuple(one if one.cell in out_of_reach else more for one, more in pairs)
        problem = replace(problem, levels=levels)
        return Chosen(self, out, cells, asked, pattern, said, problem, lost)

    def another(self, table: Table, steps: int) -> Made:
        """What would be published of another table, searched for so many steps at most."""
        chosen = self.asked(table)
        best = best_pattern(chosen.problem, steps=min(steps, self.work * 1_000_000))
        release = chosen.release(chosen.hidden(best))
        settled = best.optimal or self.work * 1_000_000 <= steps
        return Made(release, chosen.together(release), best.steps, settled)

    @property
    def ways(self) -> tuple[Suppressing, ...]:
        """This, and what is tried where it tells too much by being chosen."""
        return self, replace(self, wider=1, cost="cells")


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """The choice of what to hide in one table.

    Attributes
    ----------
    way
        How it is made.
    out
        What is out about the same people.
    cells, asked, pattern, said, problem
        What is published, what the policy asks of it, what was hidden before, what is out, and the
        problem that all this is.
    lost
        The levels that no pattern keeps.
    """

    way: Suppressing
    out: Release | None
    cells: PublishedCells
    asked: Asked
    pattern: EarlierPattern | None
    said: SamePeople
    problem: SuppressionProblem
    lost: tuple[Level, ...]

    def best(self, effort: Budget = UNLIMITED, checkpoint: str | Path | None = None) -> Best:
        """The best pattern; from a checkpoint the search goes on."""
        steps = self.way.work * 1_000_000
        if checkpoint is None:
            return best_pattern(self.problem, steps=steps, effort=effort)
        with closing(SearchState(checkpoint, self.problem, steps)) as state:
            return best_pattern(self.problem, steps=steps, effort=effort, state=state)

    def hidden(self, best: Best) -> BoolArray:
        """The published cells that are hidden."""
        return (best.hidden | self.asked.primary) & self.cells.published

    def release(self, hidden: BoolArray) -> Release:
        """What is published."""
        return self.cells.protected(hidden, self.asked.marks)

    def together(self, release: Release) -> Release:
        """This with all that is out already."""
        if self.out is None:
            return release
        return joined_with(Release(self.out.domain, release.statements), self.out.statements)


def suppressed(
    table: Table, way: Suppressing, budget: Budget = UNLIMITED, *, independent: bool | None = False
) -> Protected:
    """Hide as little as possible, and judge what is left.

    If that tells too much by being chosen, and it is asked, in the first other way that does not.
    """
    begun = time.perf_counter()
    effort = budget.share(SEARCH_SHARE)
    chosen = way.asked(table, effort)
    cells, asked, problem, policy = chosen.cells, chosen.asked, chosen.problem, way.policy
    path = None if isinstance(budget.checkpoint, Checkpoint) else budget.checkpoint
    budget = budget.resumed(None)
    best = chosen.best(effort, path)
    hidden = chosen.hidden(best)
    release = chosen.release(hidden)
    together = chosen.together(release)
    shown = whole_moves(problem, best.hidden, budget.share(0.5))
    verdict = judge(table, together, policy, budget=budget)
    notes, found = [], None
    if verdict.safe and not best.stopped:
        made = Made(release, together, best.steps)
        again = [one.another for one in way.ways]
        place, found = rerun(table, made, cells.release, again, policy, budget, asked=independent)
        if place:
            other = way.ways[place].asked(table)
            hidden = other.hidden(other.best())
            release = chosen.release(hidden)
            verdict = judge(table, chosen.together(release), policy, budget=budget)
            shown = whole_moves(problem, hidden | problem.forced, budget.share(0.5))
            notes = [TOLD_TOO_MUCH.format(problem.cost(best.hidden))]
    verdict, said = held(verdict, found, asked=independent)
    forced = int(_costs(way.cost, cells)[problem.forced & cells.published & ~asked.primary].sum())
    return Protected(
        policy=policy,
        verdict=verdict,
        release=release,
        hidden=_hidden_cells(cells, asked, hidden),
        unprotectable=_reasons(cells, asked, chosen.lost, chosen.said.known),
        cost=problem.cost(hidden) + forced,
        bound=best.bound + forced,
        costing=_costing(way.cost),
        proven=(len(asked.levels), len(shown.moves)),
        work=-(-best.steps // 1_000_000),
        stopped=best.stopped,
        seconds=time.perf_counter() - begun,
        cells=cells,
        pattern=hidden,
        primary_mark=asked.primary_mark,
        notes=(
            *([] if chosen.pattern is None else [chosen.pattern.sentence(hidden, cells.published)]),
            *notes,
            *_notes(asked, shown, policy, known_total=cells.total is not None),
            *([said] if said else []),
        ),
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
