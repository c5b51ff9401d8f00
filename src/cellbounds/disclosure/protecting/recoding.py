"""Protect a table by recoding: levels are merged until no small count is left to be shown.

Levels are merged with their neighbours, within the code above them if there is a hierarchy; where a
branch is merged as a whole, its variable goes on at the coarser level; where two levels are left
and these are merged, the variable is left out. Whatever the result is, the cell of a small count
has become larger in one of its variables: so it is enough to try, for one small count at a time,
the neighbours of its levels. States are taken up by how many levels they have lost: the first
without small counts has lost the fewest.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from cellbounds.data.table import Table
from cellbounds.disclosure.policies import Policy, judge
from cellbounds.disclosure.protecting.finished import Finished
from cellbounds.disclosure.protecting.published_cells import (
    PublishedCells,
    Where,
    published_cells,
)
from cellbounds.errors import UnsupportedRelease
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.budget import UNLIMITED, Budget
from cellbounds.statements import Release, publish
from cellbounds.statements.notation import Request
from cellbounds.text import counted
from cellbounds.utility.display import columns_of, more_lines
from cellbounds.utility.retained_utility import retained

STATES = 20_000
"""States that are looked at; then the best of them is merged on without looking aside."""

EQUAL = 20
"""Of results that lose equally many levels so many are compared by what they keep."""

SEARCH_SHARE = 0.6

Groups = tuple[tuple[int, ...], ...]
"""The levels of a variable, by their places, in groups."""

State = tuple[tuple[str | None, Groups], ...]
"""For each variable the finest level that is published (None if it is left out), in groups."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Recoded(Finished):
    """What to publish of a table: exact counts of fewer, larger categories.

    Attributes
    ----------
    cost, bound
        How many levels were merged away; and how many that are at least, however levels are merged.
    merges
        What became of each variable: its name, and the levels behind each group; None if it was
        left out.
    figures
        How many figures there were before.
    """

    method: ClassVar[str] = "recode"
    claims: ClassVar[tuple[str, str, str]] = (
        "cost",
        "no merging loses fewer",
        "none loses fewer than",
    )
    depends: ClassVar[str] = (
        "that levels had to be merged tells that counts are small: keep this to yourself, but for "
        "the public table (--public, write())"
    )

    merges: tuple[tuple[str, tuple[tuple[str, ...], ...] | None], ...]
    figures: int

    @property
    def changed(self) -> int:
        """How many figures there are fewer."""
        return self.figures - int(self.cells.published.sum())

    @property
    def asked(self) -> int:
        """How many figures there were before."""
        return self.figures

    def columns(self) -> dict[str, list[Any]]:
        """The merged levels column by column."""
        return columns_of(["variable", "levels"], self._lines())

    def _lines(self) -> list[list[str]]:
        lines = []
        for name, groups in self.merges:
            if groups is None:
                lines.append([name, "left out"])
            else:
                lines += [[name, " + ".join(group)] for group in groups if len(group) > 1]
        return lines

    def _details(self) -> dict[str, Any]:
        return {
            "figures": self.figures,
            "merges": [
                {"variable": name, "groups": None if groups is None else [*map(list, groups)]}
                for name, groups in self.merges
            ],
        }

    def _shown(self, cell: int, _: str) -> int:
        return int(self.cells.counts[cell])

    def _statuses(self) -> dict[Where, str]:
        return {}

    def _done(self) -> str:
        levels = counted(self.cost, "level")
        figures = int(self.cells.published.sum())
        return f"{levels} merged away, {figures} figures instead of {self.figures}"

    def _said(self) -> list[str]:
        return []

    def _table(self, most: int) -> tuple[list[str], list[list[str]], str]:
        lines = self._lines()
        return ["variable", "levels"], lines[:most], more_lines(len(lines) - most)


def recoded(
    table: Table,
    statements: tuple[str, ...],
    policy: Policy,
    *,
    total: bool = True,
    budget: Budget = UNLIMITED,
) -> Recoded:
    """Merge the fewest levels so that no small count is shown, and judge that.

    Raises
    ------
    UnsupportedRelease
        If even everything merged leaves a small count.
    """
    begun = time.perf_counter()
    release = publish(table, *statements, total=total)
    cells = published_cells(table, release)
    search = _Search(cells, table, policy)
    found, bound = search.run(budget.share(SEARCH_SHARE))
    use = [one.subject for one in release.statements if one.published]
    choices: list[tuple[float, int, State, Release, Table]] = []
    for state in found:
        made = _made(table, release, search.variables, state)
        known = table.with_domain(made.domain)
        choices.append((retained(known, made, use).share, -len(choices), state, made, known))
    _, _, best, made, known = max(choices, key=lambda one: one[:2])
    cost = search.lost(best)
    return Recoded(
        policy=policy,
        verdict=judge(known, made, policy, budget=budget),
        release=made,
        cost=cost,
        bound=min(bound, cost),
        costing="levels merged away",
        stopped=bound < cost,
        seconds=time.perf_counter() - begun,
        cells=published_cells(known, made),
        notes=("all counts that are left are shown; the intruder knows the policy",),
        merges=search.words(best),
        figures=int(cells.published.sum()),
    )


class _Search:
    """Merging levels until no published count is small.

    Attributes
    ----------
    variables
        The variables of the table that are published.
    """

    def __init__(self, cells: PublishedCells, table: Table, policy: Policy) -> None:
        self._domain = cells.domain
        self.variables = cells.domain.names
        margin = table.margin(self.variables)
        self._counts, self._closed = margin.counts, margin.structural
        self._rules = [rule for rule in policy.rules if rule.suppressible]
        sheets = [one.names for one in cells.sheets if one.place is not None]
        self._sheets = [{self._domain.base(name): name for name in names} for names in sheets]
        named = {name for sheet in self._sheets for name in sheet.values()}
        self._chains = {}
        for variable in self.variables:
            chain = [one for one in (variable, *self._domain.coarser(variable)) if one in named]
            self._chains[variable] = chain
        self.first: State = tuple(
            (chain[0] if chain else None, self._alone(chain[0]) if chain else ())
            for chain in self._chains.values()
        )

    def _alone(self, level: str) -> Groups:
        return tuple((place,) for place in range(len(self._domain.levels(level))))

    def lost(self, state: State) -> int:
        """How many levels have gone: groups before less groups now."""
        return sum(
            len(before) - max(len(groups), 1)
            for (_, before), (_, groups) in zip(self.first, state, strict=True)
            if before
        )

    def words(self, state: State) -> tuple[tuple[str, tuple[tuple[str, ...], ...] | None], ...]:
        """What became of the variables that were changed."""
        words: list[tuple[str, tuple[tuple[str, ...], ...] | None]] = []
        for (level, groups), before in zip(state, self.first, strict=True):
            if (level, groups) == before or before[0] is None:
                continue
            if level is None:
                words.append((before[0], None))
                continue
            labels = self._domain.levels(before[0])
            sets = self._domain.level_sets(before[0])
            behind = [self._behind(level, group) for group in groups]
            named = tuple(
                tuple(str(labels[k]) for k, own in enumerate(sets) if own <= one) for one in behind
            )
            words.append((before[0], named))
        return tuple(words)

    def _behind(self, level: str, group: tuple[int, ...]) -> frozenset[int]:
        sets = self._domain.level_sets(level)
        return frozenset().union(*(sets[place] for place in group))

    def run(self, effort: Budget) -> tuple[list[State], int]:
        """States without small counts that lose the fewest levels, and what any loses at least."""
        heap: list[tuple[int, int, State]] = [(0, 0, self.first)]
        seen, found, order = {self.first}, list[State](), 0
        while heap:
            lost, _, state = heapq.heappop(heap)
            if found and (lost > self.lost(found[0]) or len(found) >= EQUAL):
                return found, self.lost(found[0])
            small = self._small(state)
            if small is None:
                found.append(state)
                continue
            if len(seen) > STATES or effort.spent:
                return found or [self._merged_on(state)], lost
            for wider in self._wider(state, small):
                if wider not in seen:
                    seen.add(wider)
                    order += 1
                    heapq.heappush(heap, (self.lost(wider), order, wider))
        if not found:
            raise UnsupportedRelease(
                "even with all levels merged a small count is left; recoding cannot protect this "
                "table: hide figures instead (method='suppress')"
            )
        return found, self.lost(found[0])

    def _merged_on(self, state: State) -> State:
        """Merge one small count after another, where that loses the fewest levels."""
        small = self._small(state)
        while small is not None:
            wider = min(self._wider(state, small), key=self.lost, default=None)
            if wider is None:
                raise UnsupportedRelease(
                    "no levels are left to be merged; recoding cannot protect this table"
                )
            state, small = wider, self._small(wider)
        return state

    def _wider(self, state: State, small: dict[str, frozenset[int]]) -> Iterator[State]:
        """States in which the cell of a small count is larger, by one merge."""
        for place, variable in enumerate(self.variables):
            level, groups = state[place]
            if level is None or variable not in small:
                continue
            for changed in self._merges(variable, level, groups, small[variable]):
                yield (*state[:place], changed, *state[place + 1 :])

    def _merges(
        self, variable: str, level: str, groups: Groups, own: frozenset[int]
    ) -> Iterator[tuple[str | None, Groups]]:
        chain = self._chains[variable]
        above = chain[chain.index(level) + 1 :]
        codes = self._domain.level_sets(above[0]) if above else None
        touched = [n for n, group in enumerate(groups) if self._behind(level, group) & own]
        if len(groups) == 2 and not above:
            yield None, ()
            return
        merged = False
        for n in touched:
            for other in (n - 1, n + 1):
                if not 0 <= other < len(groups):
                    continue
                joined = tuple(sorted((*groups[n], *groups[other])))
                behind = self._behind(level, joined)
                if codes is not None and not any(behind <= code for code in codes):
                    continue  # neighbours of another branch
                first = min(n, other)
                merged = True
                yield level, (*groups[:first], joined, *groups[first + 2 :])
        if above and (not merged or len(touched) > 1):
            # Nothing is left beside it in its branch: the variable goes on one level above.
            yield above[0], self._alone(above[0])

    def _small(self, state: State) -> dict[str, frozenset[int]] | None:
        """A published cell whose count may not be shown: the levels of the table behind it."""
        for sheet in self._sheets:
            parts = [
                self._parts(n, sheet.get(name), state) for n, name in enumerate(self.variables)
            ]
            if any(one is None for one in parts):
                continue  # published no longer
            counts, closed = self._counts, self._closed
            axes = []
            for axis, part in enumerate(parts):
                assert part is not None
                counts = _summed(counts, part, axis)
                closed = ~(_summed((~closed).astype(np.int64), part, axis) > 0)
                axes.append(part)
            small = np.zeros(counts.shape, dtype=bool)
            for rule in self._rules:
                small |= rule.unshown(counts.ravel()).reshape(counts.shape)
            small &= ~closed
            if small.any() and max(counts.shape) > 1:
                index = np.unravel_index(int(np.argmax(small)), small.shape)
                return {
                    name: axes[axis][int(index[axis])]
                    for axis, name in enumerate(self.variables)
                    if len(axes[axis]) > 1 or name in sheet
                }
        return None

    def _parts(self, n: int, level: str | None, state: State) -> list[frozenset[int]] | None:
        """The levels of the table behind each level of a margin; None if it is not published."""
        variable, (finest, groups) = self.variables[n], state[n]
        everything = [frozenset(range(len(self._domain.levels(variable))))]
        if level is None or finest is None:
            return everything
        chain = self._chains[variable]
        if level in chain and chain.index(level) < chain.index(finest):
            return None  # a coarser level is published instead, by this margin or another
        if level == finest:
            return [self._behind(level, group) for group in groups]
        return list(self._domain.level_sets(level))


def _summed(counts: IntArray, parts: list[frozenset[int]], axis: int) -> IntArray:
    """Counts added up to groups of levels along an axis."""
    weights = np.zeros((len(parts), counts.shape[axis]), dtype=np.int64)
    for row, part in enumerate(parts):
        weights[row, list(part)] = 1
    return np.moveaxis(np.tensordot(weights, counts, axes=(1, axis)), 0, axis)


def _made(table: Table, release: Release, variables: tuple[str, ...], state: State) -> Release:
    """The release in which variables stand as a state says."""
    from cellbounds.disclosure.suggesting.plans import Drafts

    drafts = Drafts(release, table)
    domain = drafts.domain
    plan = drafts.first
    planned: list[Request | None] = list(plan.statements)
    merges = []
    for variable, (level, groups) in zip(variables, state, strict=True):
        levels = (variable, *domain.coarser(variable))
        finer = levels[: levels.index(level)] if level is not None else levels
        for place, one in enumerate(planned):
            gone = [name for name in finer if one is not None and name in one.names]
            if one is None or not gone:
                continue
            if level is None:
                left = tuple(name for name in one.responses if name not in gone)
                planned[place] = replace(one, responses=left) if left else None
            else:
                planned[place] = one.renamed(dict.fromkeys(gone, level))
        if level is not None and any(len(group) > 1 for group in groups):
            merges.append((level, groups))
    once: dict[frozenset[str], None] = {}
    for place, one in enumerate(planned):
        if one is None:
            continue
        if frozenset(one.names) in once:
            planned[place] = None  # another statement says the same now
        once[frozenset(one.names)] = None
    used = {name for one in planned if one is not None for name in one.names}
    kept = tuple(merge for merge in merges if merge[0] in used)
    made = drafts.made(replace(plan, statements=tuple(planned), merges=kept))
    if made is None or not used:
        raise UnsupportedRelease(
            "nothing but N would be left; recoding cannot protect this table: hide figures instead "
            "(method='suppress')"
        )
    return made[0]
