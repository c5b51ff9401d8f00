"""One intruder before one release: what he knows, and what he can work out about the cells."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from cellbounds.data.domain import Label
from cellbounds.data.table import Table
from cellbounds.disclosure.policies.posterior_chance import (
    ListedChances,
    PosteriorChance,
    PosteriorChances,
)
from cellbounds.disclosure.policies.rule import CellRule, Rule, certainly_zero
from cellbounds.disclosure.policies.scenarios import Case, margin_of
from cellbounds.disclosure.policies.verdict import Finding, Outcome
from cellbounds.errors import TooMuchWork, Unsettled, UnsupportedRelease
from cellbounds.model.constraints import violations
from cellbounds.model.problem import WIDEST
from cellbounds.results import Attainable, Bounds, Unbounded, ValueSet
from cellbounds.results.answers import known_between
from cellbounds.results.evidence import Evidence
from cellbounds.results.solution import Arrays, Undecided
from cellbounds.results.values import open_between
from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.runtime.budget import Budget
from cellbounds.solvers.solve import attainable, attainable_enough, bounds
from cellbounds.statements import Release

SHARE = 0.6
"""The part of a budget for whether rows hold somebody."""

Position = tuple[int, ...]

Question = Callable[[ValueSet], bool | None]

MOST_TABLES = 200
"""Tables that margins are looked up in."""

LEVELS = 4
"""Tables that differ in many cells, which come first."""

TRIES = LEVELS + 2
"""Tables that are made for one cell of a margin that is open."""


LARGE = 2_000
"""Cells from which on no more is worked out than a verdict needs."""


def undecided_cells(case: Case) -> Undecided | None:
    """Which cells need better bounds for a verdict; None if all may, or if there are few.

    Without the true counts every cell may be small, and some rules need more than bounds.
    """
    rules, shape = case.policy.rules, case.margin.domain.shape
    if case.counts is None or case.margin.domain.size < LARGE:
        return None
    if any(rule.many_values or not rule.by_ends for rule in rules):
        return None

    def undecided(proven: IntArray, attained: IntArray) -> tuple[BoolArray, bool]:
        # No end is far away: the largest number there is would not do for sums.
        proven = np.minimum(proven, WIDEST)
        known, possible = (ends.reshape(2, *shape) for ends in (attained, proven))
        cells, broken = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
        for rule in rules:
            # What not even every count between proven bounds keeps is broken.
            lost = rule.unproven(case.margin, case.exempt, *possible)
            cells |= rule.unproven(case.margin, case.exempt, *known) & ~lost
            broken |= lost
        return cells.ravel(), bool(broken.any())

    return undecided


def answer_is_brief(case: Case, answer: Attainable) -> bool:
    """Whether an answer leaves bounds open that a verdict does without, for want of a budget."""
    return answer.evidence is Evidence.OUTER and undecided_cells(case) is not None


class Pool:
    """Tables that fit what is known: margins that differ among them need no solver.

    They are witnesses of what was worked out about the cells of one margin (`answer`), made when a
    cell of another margin is looked up that all tables so far agree on.
    """

    def __init__(self, release: Release, answer: Attainable | None, start: Table | None) -> None:
        self._release, self._answer = release, answer
        self._base = () if answer is None else answer.over
        self._tables = [] if start is None else [start]
        self._margins: IntArray | None = None
        self._made: set[tuple[Position, int]] = set()
        self._level = 0

    def __len__(self) -> int:
        return len(self._tables)

    @cached_property
    def _beside(self) -> set[str]:
        """Levels that overlap, or leave somebody out: they do not add up to a margin."""
        shares_out = self._release.domain.shares_out
        return {name for name in self._base if not shares_out(name)}

    def counts(self, over: tuple[str, ...], first: int = 0) -> list[IntArray]:
        """What each table, from the first on, has in the cells of a margin."""
        if not self._beside <= set(over) <= set(self._base):
            return [margin_of(self._release, table, over).counts for table in self._tables[first:]]
        # Sums of small arrays, of all tables at once, are far cheaper than margins of the tables.
        done = 0 if self._margins is None else len(self._margins)
        if done < len(self):
            new = [
                margin_of(self._release, table, self._base).counts for table in self._tables[done:]
            ]
            old = [] if self._margins is None else [self._margins]
            self._margins = np.concatenate([*old, np.stack(new)])
        if self._margins is None:
            return []
        order = [self._base.index(name) for name in over]
        rest = tuple(1 + axis for axis in range(len(self._base)) if axis not in order)
        in_order = sorted(order)
        axes = [1 + in_order.index(axis) for axis in order]
        return list(self._margins[first:].sum(axis=rest).transpose(0, *axes))

    def spread(self) -> bool:
        """Add a table that differs in many cells; False if there are no more of them."""
        if self._answer is None or self._level >= LEVELS:
            return False
        self._level += 1
        table = self._answer.another(self._level)
        self._tables += [] if table is None else [table]
        return True

    def widen(self, over: tuple[str, ...], index: Position) -> bool:
        """Add a table that is likely to have another count in this cell; False if there is none.

        That is one with the largest, or else the smallest, count of some cell inside.
        """
        if self._answer is None or not set(over) <= set(self._base) or len(self) >= MOST_TABLES:
            return False
        if self.spread():
            return True
        _, attained = self._answer.ends()
        fixed = dict(zip(over, index, strict=True))
        inside = tuple(
            range(size) if name not in fixed else (fixed[name],)
            for name, size in zip(self._base, attained[0].shape, strict=True)
        )
        cells = [(cell, *(side[cell] for side in attained)) for cell in itertools.product(*inside)]
        ends = [
            (int(high) - int(low), cell, int(end))
            for cell, low, high in cells
            if low is not None and high is not None and not isinstance(high, Unbounded)
            for end in (high, low)
            if low != high and (cell, int(end)) not in self._made
        ]
        if not ends:
            return False
        _, cell, end = max(ends, key=lambda one: (one[0], one[2]))
        self._made.add((cell, end))
        labels = self._answer.domain.labels(cell)
        with suppress(TooMuchWork, Unsettled, UnsupportedRelease):
            self._tables.append(self._answer.witness(*labels, value=end))
        return True

    def within(self, over: tuple[str, ...], index: Position) -> Pool:
        """The tables that have somebody in a cell of a margin."""
        chosen = zip(self._tables, self.counts(over), strict=True)
        pool = Pool(self._release, None, None)
        pool._tables = [table for table, counts in chosen if counts[index] > 0]
        return pool


def doubled_pool(case: Case) -> Pool | None:
    """The owner's table and twice that, if both fit: where nothing limits N, rates are the same."""
    table = case.start
    if table is None or case.known.total.upper is not None or table.total > WIDEST // 2:
        return None
    twice = Table(table.domain, 2 * table.counts, structural=table.structural)
    if violations(twice, case.known):
        return None
    pool = Pool(case.known, None, table)
    pool._tables.append(twice)
    return pool


class Attacker:
    """What an intruder knows, what he can work out, and what may be true.

    Bounds come first, every attainable count only where they do not decide: bounds are enough for
    most rules and far cheaper on large tables. `sets_first` asks for every count at once, for those
    who want them anyway.

    Attributes
    ----------
    case
        What is judged. Of it `over`, `domain` (the cells judged), `counts` (the true ones; None if
        judged without them), `structural`, `exempt` (structural zeros, and cells of rows published
        as empty) and `remedy` (what could be coarser or withheld, in words).
    known
        The release with his own knowledge.
    respondent, partner, possible
        His own cell, if he is in the table himself; that of somebody who tells him his; and whether
        they may be there at all: None if that is open.
    pool
        Tables that may settle a question before anything is worked out.
    beside
        The same with his own cell being small: which counts the others may truly hold then.
    notes
        What was refused.
    """

    beside: Attacker | None = None

    def __init__(
        self,
        case: Case,
        known: Release,
        effort: Budget,
        *,
        sets_first: bool = False,
        answer: Attainable | None = None,
        pool: Pool | None = None,
        respondent: tuple[Label, ...] | None = None,
        partner: tuple[Label, ...] | None = None,
        possible: bool | None = True,
    ) -> None:
        self.case, self.known, self.effort = case, known, effort
        self.over, self.domain, self.counts = case.over, case.margin.domain, case.counts
        self.structural, self.exempt, self.remedy = case.margin.structural, case.exempt, case.remedy
        self.respondent, self.partner, self.possible = respondent, partner, possible
        self.sets_first, self.answer, self.pool = sets_first, answer, pool
        self.notes: list[str] = []
        self._seen: list[IntArray] = []
        self._rows: dict[tuple[str, ...], npt.NDArray[np.object_]] = {}
        self._coarse: dict[Position, ValueSet] = {}
        self._fine: dict[Position, ValueSet] = {}
        self._like: Attacker | None = None
        self._swaps: dict[Position, Position] = {}

    def like(self, other: Attacker, there: Position, here: Position) -> None:
        """Read what is known of the cells off what somebody in another cell knows of them.

        The two cells are alike (see `alike_cells`): swapping them turns one intruder's tables into
        the other's. Rows are not swapped with them, so that questions about rows are his own.
        """
        self._like, self._swaps = other, {here: there, there: here}

    # --- what is decided ---------------------------------------------------------------------

    def outcome(self, broken: bool | None) -> Outcome:
        """The outcome for this intruder: nothing is broken if he cannot be there.

        From outside nobody can say that he is there.
        """
        if broken is False or self.possible is False:
            return Outcome.SAFE
        there = self.possible and not (self.case.outside and self.respondent)
        return Outcome.UNSAFE if broken and there else Outcome.UNDECIDED

    def finding(
        self,
        rule: Rule,
        index: Position,
        broken: bool | None,
        evidence: str,
        change: str,
        values: ValueSet | None = None,
    ) -> Finding:
        """A finding about one cell."""
        outcome = self.outcome(broken)
        where = self.over, self.domain.labels(index)
        why = evidence, "" if outcome is Outcome.SAFE else change
        count = None if self.counts is None else int(self.counts[index])
        who = self.respondent, self.partner
        return Finding(rule.name, outcome, *where, *why, values, count, None, *who)

    def truths(self, index: Position, values: ValueSet) -> ValueSet:
        """The counts that a cell may truly hold, `values` being its attainable ones."""
        if self.counts is not None:
            return ValueSet.from_values([int(self.counts[index])])
        return values if self.beside is None else self.beside.values(index)

    # --- what can be worked out --------------------------------------------------------------

    def decided(self, index: Position, question: Question) -> tuple[bool | None, ValueSet]:
        """The answer of a question about one cell, and the counts that it rests on."""
        if self._like is not None:
            return self._like.decided(self._swaps.get(index, index), question)
        if self.case.printed is not None:
            values = self.values(index)
            return question(values), values
        pool = self.pool
        for _ in () if pool is None else range(TRIES + 1):
            values = open_between(0, None, frozenset(self._pooled(index)))
            answer = question(values)
            if answer is not None:
                return answer, values
            if self.effort.spent or pool is None or not pool.widen(self.over, index):
                break
        if not self.sets_first:
            values = self._between_bounds(index)
            answer = question(values)
            if answer is not None or values.settled or self._brief:
                return answer, values
        values = self.values(index)
        return question(values), values

    @cached_property
    def _brief(self) -> bool:
        """Whether no more is worked out of a cell than the verdict on the whole needs."""
        answer = self._attainable
        unlimited = self.effort.deadline is None
        return unlimited and answer is not None and answer_is_brief(self.case, answer)

    def _pooled(self, index: Position) -> set[int]:
        """The counts of a cell in the tables of the pool."""
        return {int(counts[index]) for counts in self._tables_seen()}

    def _tables_seen(self) -> list[IntArray]:
        """The cells in each table of the pool."""
        if self.pool is not None and len(self._seen) < len(self.pool):
            self._seen += self.pool.counts(self.over, len(self._seen))
        return self._seen

    def open_cells(self, rule: CellRule) -> Iterator[Position]:
        """The cells for which the tables of the pool do not show that a rule is kept.

        All of them if the tables cannot tell: without the true counts, or if the rule asks for
        more counts than the smallest and the largest.
        """
        pool, margin = self.pool, self.case.margin
        if pool is None or self.counts is None or rule.many_values or not self._tables_seen():
            return np.ndindex(self.domain.shape)
        while True:
            seen = np.stack(self._tables_seen())
            least, most = seen.min(axis=0), seen.max(axis=0)
            cells = np.argwhere(rule.unproven(margin, self.exempt, least, most)).tolist()
            if not cells or self.effort.spent or not pool.spread():
                return map(tuple, cells)

    def values(self, index: Position) -> ValueSet:
        """Every attainable count of a cell, as far as the budget goes."""
        if self._like is not None:
            return self._like.values(self._swaps.get(index, index))
        if self.case.printed is not None:
            return ValueSet.from_values([int(self.case.printed[index])])
        if index not in self._fine:
            answer = self._attainable
            self._fine[index] = self._nothing(index) if answer is None else answer.at(index)
        return self._fine[index]

    @cached_property
    def zeros(self) -> npt.NDArray[np.object_]:
        """Which cells hold nobody for certain; None where that is open."""
        if self._like is None:
            cells = np.ndindex(self.domain.shape)
            answers = [self.decided(index, certainly_zero)[0] for index in cells]
            return np.array(answers, dtype=object).reshape(self.domain.shape)
        swapped = self._like.zeros.copy()
        for here, there in self._swaps.items():
            swapped[here] = self._like.zeros[there]
        return swapped

    def chances_of(self, rule: PosteriorChance) -> PosteriorChances | ListedChances:
        """The posterior probabilities that a rule asks about."""
        return PosteriorChances(self.known, self.over, rule, self.effort)

    def held(self, given: tuple[str, ...]) -> npt.NDArray[np.object_]:
        """Whether each row of a margin holds somebody in every table; None where that is open."""
        domain = self.known.domain
        if not given:
            empty = Table.from_cells(domain, np.zeros((0, len(domain.names)), dtype=np.int64), [])
            return np.array(bool(violations(empty, self.known)), dtype=object)
        if given not in self._rows:
            answer: Bounds | None = self._ask(bounds, SHARE, given)
            held = self._rows[given] = np.full(domain.project(given).shape, None, dtype=object)
            if answer is not None:
                held[np.asarray(answer.attained_lower == 0, dtype=bool)] = False
                held[np.asarray(answer.lower > 0, dtype=bool)] = True
        return self._rows[given]

    @cached_property
    def _attainable(self) -> Attainable | None:
        """The attainable counts; None if they were refused or there is no time."""
        if self.answer is None:
            until = None if self.sets_first else undecided_cells(self.case)
            solver: Callable[..., Any] = attainable
            if until is not None:
                solver = partial(attainable_enough, undecided=until)
            self.answer = self._ask(solver, 1.0, self.over)
            if self.sets_first and self.answer is not None:
                self.answer.gather()
        return self.answer

    def _ask(self, solver: Callable[..., Any], share: float, over: tuple[str, ...]) -> Any:
        if self.effort.spent:
            return None
        part = self.effort.share(share)
        try:
            return solver(self.known, over=over, start=self.case.start, budget=part)
        except (TooMuchWork, Unsettled, UnsupportedRelease) as problem:
            if str(problem) not in self.notes:
                self.notes.append(str(problem))
            return None

    @cached_property
    def _ends(self) -> tuple[Arrays, Arrays] | None:
        """Proven and attained bounds of every cell; None if they were refused."""
        return None if self._attainable is None else self._attainable.ends()

    def _between_bounds(self, index: Position) -> ValueSet:
        """What the bounds say: their ends are attained, the rest is open."""
        if index in self._coarse:
            return self._coarse[index]
        if self._ends is None:
            return self._nothing(index)
        self._coarse[index] = known_between(index, *self._ends)
        return self._coarse[index]

    def _nothing(self, index: Position) -> ValueSet:
        """Without an answer: only the owner's own table is known to be consistent."""
        known = [] if self.counts is None else [int(self.counts[index])]
        return open_between(0, None, frozenset(known))
