"""Crowds: sets of tables among which the true one hides.

Somebody who knows how a release came about takes only some of the tables that fit it for possible:
those that would have led to it. A crowd is *closed* if every table in it keeps the policy before an
intruder who takes just the tables of the crowd for possible. Publishing exactly for the tables of a
closed crowd tells nobody more than the policy allows (``docs/theory/rerunning.md``).
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from typing import Self

import numpy as np
import numpy.typing as npt

from cellbounds.data.cell_groups import cells_behind
from cellbounds.disclosure.policies.attacker import Attacker, Position, Question
from cellbounds.disclosure.policies.posterior_chance import ListedChances, PosteriorChance
from cellbounds.disclosure.policies.scenarios import Case
from cellbounds.results import ValueSet
from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.runtime.budget import UNLIMITED


class Crowd(Attacker):
    """An intruder who takes just some tables for possible.

    Attributes
    ----------
    tables
        The tables, flat over the domain of the release, one a row.
    """

    def __init__(self, case: Case, tables: IntArray, margin: IntArray) -> None:
        super().__init__(case, case.known, UNLIMITED)
        self.tables, self._margin = tables, margin
        self._columns: dict[int, tuple[list[int], IntArray]] = {}

    def __len__(self) -> int:
        return len(self.tables)

    def owned(self, place: int) -> Self:
        """The same intruder, with one of the tables being the true one."""
        owned = type(self)(self.case, self.tables, self._margin)
        owned.counts, owned._columns = self._margin[place].reshape(self.domain.shape), self._columns
        return owned

    def within(self, *cells: int) -> tuple[Self, BoolArray]:
        """The tables with somebody in each of these cells (numbered flat), and which these are.

        A cell that is named twice holds two.
        """
        held = np.ones(len(self), dtype=bool)
        for cell, people in Counter(cells).items():
            held &= self._margin[:, cell] >= people
        return type(self)(self.case, self.tables[held], self._margin[held]), held

    def columns(self, cell: int) -> tuple[list[int], IntArray]:
        """The counts of a cell (numbered flat), and which of them each table has."""
        if cell not in self._columns:
            counts, alike = np.unique(self._margin[:, cell], return_inverse=True)
            self._columns[cell] = counts.tolist(), alike
        return self._columns[cell]

    def between(self, low: int, high: int) -> BoolArray:
        """Which tables have a count from `low` to `high`, by cells (numbered flat)."""
        return np.asarray((self._margin >= low) & (self._margin <= high))

    def values(self, index: Position) -> ValueSet:
        """The counts that a cell has in these tables."""
        return ValueSet.from_values(self.columns(self._flat(index))[0])

    def decided(self, index: Position, question: Question) -> tuple[bool | None, ValueSet]:
        """The answer of a question about one cell, and the counts that it rests on."""
        values = self.values(index)
        return question(values), values

    def chances_of(self, rule: PosteriorChance) -> ListedChances:
        """The posterior probabilities that a rule asks about, among these tables."""
        return ListedChances(self, rule)

    def held(self, given: tuple[str, ...]) -> npt.NDArray[np.object_]:
        """Whether each row of a margin holds somebody in all these tables."""
        names, shape = self.domain.names, self.domain.shape
        laid_out = self._margin.reshape(len(self), *shape)
        rest = tuple(1 + axis for axis, name in enumerate(names) if name not in given)
        order = [name for name in names if name in given]
        rows = laid_out.sum(axis=rest).transpose(0, *(1 + order.index(name) for name in given))
        return np.asarray((rows > 0).all(axis=0)).astype(object)

    def _flat(self, index: Position) -> int:
        return int(np.ravel_multi_index(index, self.domain.shape))


Crowds = Callable[[IntArray], list[Crowd]]
"""Makes the crowds of some tables: one for each margin that is judged."""


def crowds_of(cases: Sequence[Case]) -> Crowds:
    """What makes the crowds of some tables before some cases, which share a release."""
    groups = [cells_behind(case.release.domain, case.over) for case in cases]
    blind = [replace(case, independent=True) for case in cases]

    def made(tables: IntArray) -> list[Crowd]:
        margins = (group.sums(tables) for group in groups)
        return [Crowd(case, tables, margin) for case, margin in zip(blind, margins, strict=True)]

    return made


def breaking(crowds: Sequence[Crowd]) -> BoolArray:
    """Which tables break the policy, if an intruder takes just these for possible.

    The crowds have the same tables, each before another case.
    """
    broken = np.zeros(len(crowds[0]), dtype=bool)
    for crowd in crowds:
        policy = crowd.case.policy
        for rule in policy.rules:
            broken |= rule.breaking(crowd)
        if policy.respondent:
            broken |= _told_respondents(crowd)
    return broken


def _told_respondents(crowd: Crowd) -> BoolArray:
    """Which tables break a rule before somebody in one of their small cells, or two of them."""
    policy = crowd.case.policy
    broken = np.zeros(len(crowd), dtype=bool)
    small = crowd.between(1, policy.small)
    alone = np.flatnonzero(small.any(axis=0)).tolist()
    tried: list[tuple[int, ...]] = [(cell,) for cell in alone]
    if policy.against.respondents > 1:
        tried += _pairs(crowd, alone)
    for cells in tried:
        inside, held = crowd.within(*cells)
        told = np.zeros(len(inside), dtype=bool)
        for rule in policy.rules if len(inside) else ():
            if not rule.about_figures:
                told |= rule.breaking(inside)
        broken[held] |= told & small[held][:, cells].all(axis=1)
    return broken


def _pairs(crowd: Crowd, cells: list[int]) -> Iterator[tuple[int, int]]:
    """Two in one cell, or in two that differ in one variable."""
    yield from ((cell, cell) for cell in cells)
    shape = crowd.domain.shape
    for first, second in itertools.combinations(cells, 2):
        places = zip(np.unravel_index(first, shape), np.unravel_index(second, shape), strict=True)
        if sum(place != other for place, other in places) == 1:
            yield first, second


Passed = frozenset[Hashable]
"""What comes earlier in the list of a table: whoever chose this passed all of it over."""


def closed(
    crowds: Crowds, tables: IntArray, passed: Sequence[Passed] = ()
) -> tuple[IntArray, list[Passed]]:
    """The largest closed part of some tables: those that break the policy go, until none does.

    Before a table, only those are possible for which no more was `passed` over than for itself. If
    the policy is monotone, every closed part lies within this one; else it is one of them.

    Examples
    --------
    A count from 7 to 8 where counts up to 7 must keep five values: the 7 would be refused.

    >>> import cellbounds as cb
    >>> from cellbounds.disclosure.policies.scenarios import cases_of
    >>> table = cb.Table(cb.Domain({"a": ["x", "y"]}), [8, 30])
    >>> release = cb.publish(table, "[a]~2", total=False)
    >>> cases = cases_of(release, table, "opensafely")
    >>> fitting = np.array([one.counts for one in cb.tables(release)])
    >>> fitting.tolist(), closed(crowds_of(cases), fitting)[0].tolist()
    ([[7, 29], [7, 30], [8, 29], [8, 30]], [[8, 29], [8, 30]])
    """
    over = list(passed) or [Passed()] * len(tables)
    while len(tables):
        broken = np.zeros(len(tables), dtype=bool)
        for mine in set(over):
            view = np.array([other <= mine for other in over])
            own = np.array([other == mine for other in over])
            broken[view] |= breaking(crowds(tables[view])) & own[view]
        if not broken.any():
            break
        tables, over = tables[~broken], list(itertools.compress(over, ~broken))
    return tables, over


def hidden(
    crowds: Crowds,
    tables: IntArray,
    table: IntArray,
    over: Sequence[Passed] = (),
    mine: Passed | None = None,
) -> bool:
    """Whether a table keeps the policy before whoever takes it and a closed crowd for possible.

    Under a monotone policy that puts it into the closed crowd of all that lead to the release.
    """
    if mine is not None:
        tables = tables[np.array([other <= mine for other in over], dtype=bool)]
    whole = np.concatenate([tables.reshape(-1, len(table)), table[None]])
    return not bool(breaking(crowds(whole))[-1])
