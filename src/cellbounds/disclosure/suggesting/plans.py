"""Plans: what each statement of a release could show instead, and the release that makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cellbounds.data.domain import Domain, Grouping, Label
from cellbounds.data.table import Table
from cellbounds.disclosure.exploring.designs import merged_name
from cellbounds.errors import InvalidInput
from cellbounds.runtime.arrays import BoolArray
from cellbounds.statements import Release, Statement, Tabulated
from cellbounds.statements.notation import Request
from cellbounds.statements.release import published_statement

Merge = tuple[str, tuple[tuple[int, ...], ...]]
"""A variable, and the places of its levels in groups that share them out."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is published: a statement for each that the release has, None where it is withheld.

    Statements without figures have None too: those that are published as a whole, such as linear
    ones, if their places are among `whole`; what is known beforehand stays.
    """

    statements: tuple[Request | None, ...]
    total: bool
    whole: tuple[int, ...] = ()
    merges: tuple[Merge, ...] = ()

    @property
    def names(self) -> set[str]:
        """The variables that are named."""
        return {
            name
            for statement in self.statements
            if statement is not None
            for name in statement.names
        }

    @property
    def empty(self) -> bool:
        """Whether nothing is said but N."""
        return not self.names and not self.whole

    def with_statement(self, place: int, planned: Request | None) -> Plan:
        """The same with another statement at a place."""
        changed = list(self.statements)
        changed[place] = planned
        return replace(self, statements=tuple(changed))


class Drafts:
    """Makes releases of plans; what several plans share is made once."""

    def __init__(self, release: Release, table: Table) -> None:
        self.release = release
        domain = release.domain.with_groupings(table.domain.groupings)
        self.table = table.with_domain(domain)
        self.first = Plan(
            tuple(statement.request for statement in release.statements),
            release.stated_total is not None,
            tuple(n for n, statement in enumerate(release.statements) if _is_whole(statement)),
        )
        self._tables: dict[tuple[Merge, ...], tuple[Table, dict[str, str]]] = {}
        self._statements: dict[tuple[int, Request, tuple[Merge, ...]], Statement | None] = {}

    @property
    def domain(self) -> Domain:
        """The domain of the release, with all groupings."""
        return self.table.domain

    def made(self, plan: Plan) -> tuple[Release, dict[int, int]] | None:
        """The release of a plan, and where each planned statement stands in it.

        None if a statement cannot be published, such as a tolerance that rounding passes.
        """
        statements: list[Statement] = []
        places: dict[int, int] = {}
        for place, original in enumerate(self.release.statements):
            planned = plan.statements[place]
            if original.tabulated is None:
                withheld = _is_whole(original) and place not in plan.whole
                if plan.total if not original.variables else not withheld:
                    statements.append(original)
            elif planned is not None:
                statement = self._statement(original.tabulated, planned, plan.merges)
                if statement is None:
                    return None
                places[place] = len(statements)
                statements.append(statement)
        return Release(self._merged(plan.merges)[0].domain, statements), places

    def _merged(self, merges: tuple[Merge, ...]) -> tuple[Table, dict[str, str]]:
        """The table that knows the merged variables, and their names."""
        if merges not in self._tables:
            names = {variable: merged_name(self.domain, variable) for variable, _ in merges}
            groupings = {
                names[variable]: _grouping(self.domain, variable, groups)
                for variable, groups in merges
            }
            domain = self.domain.with_groupings(groupings)
            self._tables[merges] = self.table.with_domain(domain), names
        return self._tables[merges]

    def _statement(
        self, original: Tabulated, planned: Request, merges: tuple[Merge, ...]
    ) -> Statement | None:
        used = tuple(merge for merge in merges if merge[0] in planned.names)
        if planned == original.request and not used:
            return original
        key = (id(original), planned, used)
        if key not in self._statements:
            self._statements[key] = self._published(original, planned, merges)
        return self._statements[key]

    def _published(
        self, original: Tabulated, planned: Request, merges: tuple[Merge, ...]
    ) -> Statement | None:
        table, names = self._merged(merges)
        try:
            statement = published_statement(table, planned.renamed(names)).tabulated
        except InvalidInput:
            return None  # the announced tolerance does not cover the coarser figures
        assert statement is not None  # only these are planned
        if planned.below is not None or not original.hidden.any():
            return statement
        before, after = original.variables, statement.variables
        return statement.suppressed(_carried(original.hidden, before, after, table.domain))


def _is_whole(statement: Statement) -> bool:
    """Whether a statement is published as a whole or not at all."""
    return statement.published and statement.tabulated is None and bool(statement.variables)


def _grouping(domain: Domain, variable: str, groups: Sequence[Sequence[int]]) -> Grouping:
    """The derived variable whose levels are groups of a variable's levels."""
    labels = domain.levels(variable)
    grouping = domain.grouping(variable)
    of = variable if grouping is None else grouping[0]
    levels: dict[Label, list[Label]] = {}
    for group in groups:
        behind = (
            group if grouping is None else [part for place in group for part in grouping[1][place]]
        )
        name = labels[group[0]]
        if len(group) > 1:
            name = _code_above(domain, variable, frozenset(behind)) or "+".join(
                str(labels[place]) for place in group
            )
        while name in levels or (len(group) > 1 and name in labels):
            name = f"{name}+"
        levels[name] = [domain.levels(of)[place] for place in behind]
    return Grouping(of, levels)


def _code_above(domain: Domain, variable: str, behind: frozenset[int]) -> Label | None:
    """The code of a hierarchy that stands for exactly these levels."""
    for level in domain.coarser(variable):
        for code, members in zip(domain.levels(level), domain.level_sets(level), strict=True):
            if members == behind:
                return code
    return None


def _carried(
    hidden: BoolArray, before: Sequence[str], after: Sequence[str], domain: Domain
) -> BoolArray:
    """Which figures are hidden where variables were dropped or merged: those with a hidden part."""
    left, axis = hidden, 0
    for name in before:
        match = next((other for other in after if domain.base(other) == domain.base(name)), None)
        if match is None:
            left = np.asarray(left.any(axis=axis))
            continue
        levels = domain.level_sets(name)
        parts = [[bool(level & group) for level in levels] for group in domain.level_sets(match)]
        left = np.stack([left.compress(part, axis).any(axis) for part in parts], axis)
        axis += 1
    return left
