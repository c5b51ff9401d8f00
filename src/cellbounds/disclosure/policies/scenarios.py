"""What is judged: a release, a policy and a table, and what an intruder knows, checked together."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from cellbounds.data.domain import Domain
from cellbounds.data.table import Table
from cellbounds.disclosure.policies.knowledge import (
    checked_knowledge,
    informed,
    nobody_of,
    with_known_structure,
)
from cellbounds.disclosure.policies.policy import Policy, policy_of
from cellbounds.disclosure.policies.rule import listed
from cellbounds.errors import InvalidInput
from cellbounds.model.constraints import violations
from cellbounds.results.cell_index import check_listable
from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.runtime.budget import UNLIMITED, Budget
from cellbounds.statements import Conditional, Release, Statement


@dataclass(frozen=True, eq=False)
class Case:
    """One thing to judge: a margin. Its counts are added up when they are asked for.

    Attributes
    ----------
    over
        The variables whose cells are judged.
    independent, outside
        Whether it is judged without the true counts: every table that fits must pass; or there is
        no table, and it is asked what is exposed in all of them, or in none.
    known, doubting, intruder
        The release with what the intruder knows besides; the same for one who doubts what the
        release only seems to show, if it must be safe against him too; and what he knows besides
        `knows`, in words.
    whole
        The table. If it is judged without the true counts, one of nobody: all that is left of the
        table are the cells that nobody can be in.
    shown
        The margins of which the release shows every count.
    remedy
        What could be said less precisely, or not at all, in words.
    left_out
        How many margins are too many to be judged, in words; empty if none is.
    """

    release: Release
    policy: Policy
    over: tuple[str, ...]
    knows: tuple[Statement, ...]
    independent: bool
    outside: bool
    known: Release
    doubting: Release | None
    intruder: tuple[str, ...]
    whole: Table
    shown: Mapping[tuple[str, ...], IntArray]
    remedy: str
    notes: tuple[str, ...]
    left_out: str = ""

    @cached_property
    def margin(self) -> Table:
        """The margin of the table that is judged."""
        return margin_of(self.release, self.whole, self.over)

    @property
    def counts(self) -> IntArray | None:
        """The true counts of that margin; None if they are not to be looked at."""
        return None if self.independent or self.outside else self.margin.counts

    @cached_property
    def empty(self) -> BoolArray:
        """Cells of it in rows that are published as empty."""
        return empty_rows(self.release, self.over)

    @cached_property
    def exempt(self) -> BoolArray:
        """These, and structural zeros."""
        return self.margin.structural | self.empty

    @cached_property
    def printed(self) -> IntArray | None:
        """The counts of that margin if the release shows all of them, or of a larger margin."""
        for names, counts in self.shown.items():
            if set(self.over) <= set(names):
                order = [names.index(name) for name in self.over]
                rest = [axis for axis in range(len(names)) if axis not in order]
                laid_out = np.transpose(counts, (*order, *rest))
                shape = laid_out.shape[: len(order)]
                return np.asarray(laid_out.reshape(*shape, -1).sum(axis=-1))
        return None

    @property
    def doubted(self) -> Case:
        """The same for an intruder who doubts what the release only seems to show."""
        known = self.known if self.doubting is None else self.doubting
        return replace(self, known=known, doubting=None)

    @property
    def start(self) -> Table | None:
        """The table that solvers may start from: none if the true counts are not to be seen."""
        return None if self.independent or self.outside else self.whole


Margins = Iterable[str] | Iterable[Iterable[str]]
"""One margin, or several."""

MOST_MARGINS = 1024
"""Margins that are judged besides what was asked for."""

MOST_SPOKEN = 2 * MOST_MARGINS
"""Margins that are counted."""


def cases_of(
    release: Release,
    table: Table | None,
    policy: Policy | str | Path,
    *,
    over: Margins | None = None,
    knows: Iterable[Statement] = (),
    independent: bool = False,
    effort: Budget = UNLIMITED,
) -> list[Case]:
    """Check what :func:`cellbounds.judge` is given; a case for each margin, what was asked first.

    Unless `over` names them, the margins are: the cells of the table; the margin of all variables
    that are spoken of, which a table with further variables has too; and every margin that a
    statement speaks of, with its own margins. Of a margin that shows every count, its own margins
    are left out for rules that it keeps only if they do.
    """
    if not isinstance(release, Release):
        raise InvalidInput(f"release={release!r}; give a Release, after the table: publish(...)")
    domain, wanted_first = release.domain, asked_margins(release.domain, over)
    main = case_of(
        release,
        table,
        policy,
        over=wanted_first[0] if wanted_first else None,
        knows=checked_knowledge(knows),
        independent=independent,
        effort=effort,
    )
    wanted = spoken_margins(release)
    if wanted_first:
        wanted = {frozenset(names): (names, True) for names in wanted_first}
    wanted.pop(frozenset(main.over), None)
    cases, margins = [main], sorted(wanted.values(), key=lambda one: -len(one[0]))
    left = 0
    for names, whole in margins:
        shown = any(set(names) <= set(exact) for exact in main.shown)
        narrowed = main.policy.within(domain, names, shown=shown, sums=not whole)
        if narrowed is None:
            continue
        if len(cases) > MOST_MARGINS:
            left += 1
            continue
        check_listable(release, names)
        cases.append(replace(main, over=names, policy=narrowed, notes=()))
    if left:
        many = f"{left} margins" if len(margins) < MOST_SPOKEN else f"{left} margins or more"
        cases[0] = replace(main, left_out=f"{many} of the fewest variables were not judged")
    return cases


def with_counts(cases: list[Case], table: Table) -> list[Case]:
    """Cases that were made without the true counts, with them, where that saves time.

    They must be such that all tables that fit keep the policy or none does: so may be looked at
    whether the true one does, if it fits what the release only seems to show. What that is was
    found out without it.
    """
    if violations(table, cases[0].known):
        return cases
    whole = with_known_structure(table)
    return [replace(case, independent=False, whole=whole) for case in cases]


def asked_margins(domain: Domain, over: Margins | None) -> list[tuple[str, ...]]:
    """The margins that are named, one or several; none if that is left open."""
    if over is None:
        return []
    listed = over if isinstance(over, str) or not isinstance(over, Iterable) else list(over)
    several = isinstance(listed, list) and not any(isinstance(names, str) for names in listed)
    margins = [domain.distinct(names) for names in (listed if several else [listed])]  # type: ignore[arg-type]  # distinct() says what is wrong
    if not margins or not all(margins):
        raise InvalidInput("over names no variable; leave it out to judge every cell")
    return margins


def spoken_margins(release: Release) -> dict[frozenset[str], tuple[tuple[str, ...], bool]]:
    """The margins that a release speaks of; False where one only adds up what is shown exactly."""
    domain = release.domain
    found: dict[frozenset[str], tuple[tuple[str, ...], bool]] = {}
    spoken = [
        statement.variables
        for statement in release.statements
        if statement.published and statement.variables
    ]
    shown = _shown(release)
    behind: dict[str, str] = {}
    for name in itertools.chain(*spoken):
        base = domain.base(name)
        # Where a variable and groups of it are named, it stands for all.
        behind[base] = name if behind.get(base, name) == name else base
    together = tuple(behind[name] for name in domain.names if name in behind)
    for names in filter(None, (together, *spoken)):
        found[frozenset(names)] = names, True
    # Margins of what is shown exactly come last: most rules need not look at them.
    for names in sorted(spoken, key=lambda names: names in shown):
        for size in range(len(names) - 1, 0, -1):
            if len(found) > MOST_SPOKEN:
                return found  # far too many anyway
            for some in itertools.combinations(names, size):
                printed = any(set(some) < set(exact) for exact in shown)
                found.setdefault(frozenset(some), (some, not printed))
    return found


def _shown(release: Release) -> dict[tuple[str, ...], IntArray]:
    """The margins of which the release shows every count."""
    margins = (
        (statement.variables, statement.fixed_counts(release.domain))
        for statement in release.statements
    )
    return {names: counts for names, counts in margins if names and counts is not None}


def case_of(
    release: Release,
    table: Table | None,
    policy: Policy | str | Path,
    *,
    over: tuple[str, ...] | None = None,
    knows: Iterable[Statement] = (),
    independent: bool = False,
    effort: Budget = UNLIMITED,
) -> Case:
    """Check what is to be judged over one margin, and put it together."""
    chosen, knowledge = policy_of(policy), checked_knowledge(knows)
    if table is not None and not isinstance(table, Table):
        raise InvalidInput(f"table={table!r}; give the Table that the release was made from")
    if not isinstance(independent, bool):
        raise InvalidInput(f"independent={independent!r}; give True or False")
    judged_over = release.domain.names if over is None else over
    check_listable(release, judged_over)
    for rule in chosen.rules:
        rule.check(release.domain, judged_over)
    outside = table is None and not independent
    known = informed(release, table, knowledge, chosen.against, unseen=independent, effort=effort)
    whole = known.table
    if whole is None or independent:
        whole = nobody_of(release, whole)
    notations = [statement.notation for statement in release.statements if statement.published]
    remedy = "less knowledge beforehand"
    if notations:
        remedy = f"coarser figures in, or withholding, {listed(notations)}"
    return Case(
        release=release,
        policy=chosen,
        over=judged_over,
        knows=knowledge,
        independent=independent,
        outside=outside,
        known=known.release,
        doubting=known.doubting,
        intruder=known.sentences,
        whole=whole,
        shown=_shown(release),
        remedy=remedy,
        notes=known.notes,
    )


def empty_rows(release: Release, over: tuple[str, ...]) -> BoolArray:
    """Cells of a margin in rows that the rates of the release say hold nobody."""
    check_listable(release, over)
    domain, margin = release.domain, release.domain.project(over)
    empty = np.zeros(margin.shape, dtype=bool)
    for statement in release.statements:
        if not isinstance(statement, Conditional):
            continue
        rows = statement.intervals.zero.reshape([len(domain.levels(n)) for n in statement.given])
        names = list(statement.given)
        for axis, name in enumerate(statement.given):
            if name not in over and name in domain.groupings:
                # A row of a level is empty if a group of levels around it is.
                groups, names[axis] = domain.level_sets(name), domain.base(name)
                levels = range(len(domain.levels(names[axis])))
                around = [[level in group for group in groups] for level in levels]
                rows = np.stack([rows.compress(inside, axis).any(axis) for inside in around], axis)
        if len(set(names)) < len(names) or not set(names) <= set(over):
            continue
        axes = [names.index(name) for name in over if name in names]
        spread = [len(margin.levels(name)) if name in names else 1 for name in over]
        empty |= rows.transpose(axes).reshape(spread)
    return empty


def margin_of(release: Release, table: Table, over: tuple[str, ...]) -> Table:
    """A margin of the table, of variables that the release may have derived."""
    return table.with_domain(release.domain).margin(over)
