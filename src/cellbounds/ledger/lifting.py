"""Past and new statements as one release, over the variables and versions there are now.

A later version of a table holds the records of the earlier one and some more. Together they are one
table with one more variable, the version in which a record came in: a statement about version 2 is
about the records that came in with versions 1 and 2. What two versions give away by their
difference is then what an ordinary release gives away about the records that were added. Statements
about fewer variables are what they are over more of them: margins.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cellbounds.domain import Domain, Grouping
from cellbounds.errors import InvalidInput
from cellbounds.ledger.chain import Entry, body_of
from cellbounds.ledger.recording import plain_release, read_plain_domain, read_statement
from cellbounds.ledger.state import State
from cellbounds.releases import Prior, Release, Statement, Total
from cellbounds.releases.statements import names_text
from cellbounds.risk.policies import GroupDisclosure, Policy, Rule
from cellbounds.table import Table

__all__ = ["Piece", "Target", "joined", "stacked", "targets_of"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A release as plain values, and the version of the table that it is about."""

    values: dict[str, Any]
    version: int

    @classmethod
    def of(cls, release: Release, version: int) -> Piece:
        """A piece from a release."""
        return cls(plain_release(release), version)

    @classmethod
    def recorded(cls, entry: Entry) -> Piece:
        """A piece from an entry of something released."""
        return cls(entry.content["release"], entry.content["version"])


@dataclass(frozen=True, slots=True)
class Target:
    """Cells that must be safe: of a margin, counting everybody or those of some versions.

    Attributes
    ----------
    over
        The variables whose cells are judged; None for every cell of the table.
    policy
        The policy, as far as it speaks of them.
    said
        The target in words.
    """

    over: tuple[str, ...] | None
    policy: Policy
    said: str


def joined(state: State, pieces: Iterable[Piece]) -> Release:
    """One release that says what all pieces say.

    Raises
    ------
    InvalidInput
        If a piece speaks of other variables or levels than the ledger, or if two pieces give a
        derived variable different meanings.
    """
    chosen = list(pieces)
    domain = _whole(state)
    for piece in chosen:
        said = read_plain_domain(piece.values["domain"])
        _check_variables(state.domain, said)
        domain = domain.with_groupings(said.groupings)
    totals: list[Total] = []
    statements: dict[str, Statement] = {}
    for piece in chosen:
        for values in piece.values["statements"]:
            lifted = _lifted(values, piece.version, state)
            statement = read_statement(lifted, domain)
            if isinstance(statement, Total):
                totals.append(statement)
            else:
                statements[body_of(lifted)] = statement  # said twice is said once
    said_now = list(statements.values())
    if totals:
        said_now.append(_one_total(totals))
    if state.structural.any():
        blocked = np.full(state.domain.shape, None, dtype=object)
        blocked[state.structural] = 0
        said_now.append(Prior(state.domain.names, upper=blocked))
    return Release(domain, said_now)


def stacked(state: State, tables: Sequence[Table]) -> Table:
    """The versions of a table as one, over the variables and the version a record came in with."""
    if len(tables) == 1:
        return tables[0]
    layers = [tables[0].counts]
    layers += [later.counts - earlier.counts for earlier, later in itertools.pairwise(tables)]
    structural = np.stack([state.structural] * len(tables))
    return Table(_whole(state), np.stack(layers), structural=structural)


def targets_of(state: State) -> list[Target]:
    """Everything that must be safe, the cells of the table first.

    With several versions: the cells of each version, and those of the records that were added
    between any two, because who holds two versions can take their difference.
    """
    found: list[Target] = []
    for names in dict.fromkeys(state.protected):
        for first in range(1, state.versions + 1):
            for last in range(first, state.versions + 1):
                target = _target(state, names, first, last)
                if target is not None:
                    found.append(target)
    return found


def _target(state: State, names: tuple[str, ...], first: int, last: int) -> Target | None:
    everything = names == state.domain.names
    everybody = (first, last) == (1, state.versions)
    part = None if everybody else _part_name(state, first, last)
    # Rules about other variables are kept by the whole table, where all of them are.
    policy = state.policy if everything else state.policy.within({one: one for one in names})
    if policy is None:
        return None
    policy = replace(policy, rules=tuple(_of_part(one, names, part) for one in policy.rules))
    over: tuple[str, ...] | None = names if part is None else (part, *names)
    if state.versions == 1 and everything:
        over = None
    said = "the cells of the table" if everything else f"[{names_text(names)}]"
    if state.versions > 1:
        came = f"version {last}" if first == 1 else f"the records added from version {first - 1}"
        said += f" in {came}" if first == 1 else f" in {came} to version {last}"
    return Target(over, policy, said)


def _of_part(rule: Rule, names: tuple[str, ...], part: str | None) -> Rule:
    """A rule as it is about some of the records."""
    if part is None or not isinstance(rule, GroupDisclosure):
        return rule
    # Groups are those among the records of this part, and which part it is, is no response.
    responses = rule.responses or tuple(name for name in names if name not in (rule.given or ()))
    given = None if rule.given is None else (part, *rule.given)
    return replace(rule, responses=responses, given=given)


def _whole(state: State) -> Domain:
    """The variables, and the version if there are several."""
    if state.versions == 1:
        return state.domain
    axis = _axis_name(state)
    numbers = [str(number) for number in range(1, state.versions + 1)]
    levels = {axis: numbers, **{name: state.domain.levels(name) for name in state.domain.names}}
    parts = {
        _part_name(state, first, last): Grouping(axis, {str(last): numbers[first - 1 : last]})
        for first in range(1, state.versions + 1)
        for last in range(first, state.versions + 1)
    }
    return Domain(levels, groupings=parts)


def _axis_name(state: State) -> str:
    name = "version"
    while name in state.domain.names:
        name += "_"
    return name


def _part_name(state: State, first: int, last: int) -> str:
    """The derived variable of one level: the records that came in with versions first to last."""
    added = f"added_{first}" if first == last else f"added_{first}_to_{last}"
    name = f"as_of_{last}" if first == 1 else added
    while name in state.domain.names:
        name += "_"
    return name


def _lifted(values: dict[str, Any], version: int, state: State) -> dict[str, Any]:
    """A statement about a version as one about the part of the records that it had."""
    if version == state.versions:
        return values
    part = _part_name(state, 1, version)
    ((kind, said),) = values.items()
    if kind == "total":
        lower, upper = said["lower"], said["upper"]
        entry: Any = lower if lower == upper else f">={lower}"
        if upper is not None and upper != lower:
            entry = f"{lower}-{upper}"
        return {"margin": {"variables": [part], "counts": [entry]}}
    if kind == "conditional":
        return {kind: {**said, "given": [part, *said["given"]]}}
    lifted = {**said, "variables": [part, *said["variables"]]}
    if kind == "margin":
        lifted["counts"] = [said["counts"]]
    return {kind: lifted}


def _one_total(totals: Sequence[Total]) -> Total:
    lower = max(one.lower for one in totals)
    upper = min((one.upper for one in totals if one.upper is not None), default=None)
    if upper is not None and upper < lower:
        raise InvalidInput(
            "the release gives another total than what is out; correct it, or grow the ledger if "
            "records were added"
        )
    return Total(lower=lower, upper=upper)


def _check_variables(domain: Domain, said: Domain) -> None:
    for name in said.names:
        if name not in domain.names:
            raise InvalidInput(
                f"the release speaks of {name!r}, which the ledger's table does not have (it has "
                f"{', '.join(map(repr, domain.names))}); refine the ledger first"
            )
        if list(map(str, said.levels(name))) != list(map(str, domain.levels(name))):
            raise InvalidInput(
                f"the levels of {name!r} in the release are not those of the ledger's table; use "
                "the same levels in the same order (a grouping merges levels)"
            )
