"""What may still be released, given what is out, and what may not any more."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cellbounds.data.domain import Domain
from cellbounds.data.table import Table
from cellbounds.disclosure.policies import Outcome, Policy
from cellbounds.disclosure.safe_sets import SafeSets, safe_margins
from cellbounds.errors import InvalidInput
from cellbounds.ledger.journal import LedgerState
from cellbounds.ledger.judgement import PART, CumulativeJudge
from cellbounds.ledger.versions import PublishedRelease, informing, joined, stacked, targets_of
from cellbounds.runtime.budget import Budget
from cellbounds.statements import Conditional, Release, publish
from cellbounds.statements.notation import names_text, parse
from cellbounds.text import aligned, html_table
from cellbounds.utility.display import picked

FORMAT = "cellbounds-ledger-frontier/1"

MOST = 2000
"""Candidates that are judged at most."""


@dataclass(frozen=True, slots=True, eq=False)
class LedgerFrontier:
    """Which statements may follow what is out, each by itself.

    Attributes
    ----------
    policy
        What they were judged by.
    safe
        Those that are safe with everything that is out.
    maximal
        Those among them that no other of them tells.
    unsafe
        Those that are not.
    undecided
        Those that could not be decided.
    final
        Whether the unsafe ones are unsafe for ever: under most rules publishing more only makes
        things worse.
    judgements
        How many were judged; the others follow from them.
    sets
        Which of the maximal ones may be released together, if that was asked for.
    """

    policy: Policy
    safe: tuple[str, ...]
    maximal: tuple[str, ...]
    unsafe: tuple[str, ...]
    undecided: tuple[str, ...]
    final: bool
    judgements: int
    sets: SafeSets | None = None

    @property
    def never(self) -> tuple[str, ...]:
        """Those that may never be released again; none if that is not known."""
        return self.unsafe if self.final else ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values, versioned; for the owner: what is unsafe depends on the counts."""
        return {
            "format": FORMAT,
            "view": "owner",
            "policy": self.policy.name,
            **picked(self, "safe", "maximal", "unsafe", "never", "undecided", "judgements"),
            "sets": None if self.sets is None else self.sets.to_dict(),
        }

    def _rows(self) -> list[list[str]]:
        implied = [statement for statement in self.safe if statement not in self.maximal]
        groups = {
            "may be released": self.maximal,
            "may be released (told by one of these)": implied,
            "never again" if self.final else "not now": self.unsafe,
            "undecided": self.undecided,
        }
        return [[words, statement] for words, group in groups.items() for statement in group]

    def __str__(self) -> str:
        title = f"what may follow, one at a time, under the policy {self.policy.name}"
        text = f"{title}\n{aligned(['verdict', 'statement'], self._rows())}"
        return text if self.sets is None else f"{text}\n\n{self.sets}"

    def _repr_html_(self) -> str:
        title = f"What may follow, one at a time, under the policy {self.policy.name}"
        return html_table(title, ["verdict", "statement"], self._rows(), (), "")


def candidates_of(domain: Domain, way: int | None, digits: int) -> Iterator[str]:
    """Every margin of up to `way` variables, and the rates of each variable within it.

    Examples
    --------
    >>> list(candidates_of(Domain({"a": ["x"], "b": ["y"]}), None, 2))
    ['[a]', '[b]', '[a,b]', '[a|b]@2', '[b|a]@2']
    """
    most = len(domain.names) if way is None else way
    if not 1 <= most <= len(domain.names):
        raise InvalidInput(
            f"way={way!r}; margins have 1 to {len(domain.names)} variables in this ledger"
        )
    for count in range(1, most + 1):
        for names in itertools.combinations(domain.names, count):
            yield f"[{names_text(names)}]"
            for response in names if count > 1 else ():
                given = names_text([name for name in names if name != response])
                yield f"[{names_text([response])}|{given}]@{digits}"


def frontier_of(
    state: LedgerState,
    tables: Sequence[Table],
    statements: Sequence[str],
    total: bool,
    effort: Budget,
) -> LedgerFrontier:
    """Judge every candidate with what is out; each judgement settles others where it can."""
    if len(statements) > MOST:
        raise InvalidInput(
            f"{len(statements)} statements; up to {MOST} are judged: give fewer variables (way=) "
            "or name the statements"
        )
    listed = list(dict.fromkeys(statements))
    past = [PublishedRelease.recorded(entry) for entry in state.released]
    releases = [publish(tables[-1], text, total=total) for text in listed]
    monotone = _monotone(state, [joined(state, past), *releases])
    implied = _implied(listed)
    follows = implied if monotone else [[] for _ in listed]
    judges = CumulativeJudge(state, stacked(state, tables), effort, past, PART)
    outcomes: dict[int, Outcome] = {}
    judgements = 0
    for place in range(len(listed)):
        if place in outcomes or effort.overdue:
            continue
        release = joined(state, [*past, PublishedRelease.of(releases[place], state.versions)])
        unsafe = judges.unsafe(release, targets_of(state))
        judgements += 1
        outcome = outcomes[place] = Outcome.of(unsafe)
        if outcome is Outcome.UNSAFE:
            others = [other for other in range(len(listed)) if place in follows[other]]
            outcomes |= dict.fromkeys(others, outcome)
        elif outcome is Outcome.SAFE:
            outcomes |= dict.fromkeys(follows[place], outcome)
    by: dict[str, list[int]] = {outcome.value: [] for outcome in Outcome}
    for place in range(len(listed)):
        by[outcomes.get(place, Outcome.UNDECIDED).value].append(place)
    behind = {other for place in by["safe"] for other in implied[place]}
    by["maximal"] = [place for place in by["safe"] if place not in behind]
    texts: dict[str, Any] = {
        name: tuple(listed[place] for place in places) for name, places in by.items()
    }
    return LedgerFrontier(state.policy, **texts, final=monotone, judgements=judgements)


def with_sets(
    frontier: LedgerFrontier,
    state: LedgerState,
    tables: Sequence[Table],
    total: bool,
    effort: Budget,
) -> LedgerFrontier:
    """The same, with the largest sets of maximal statements that are safe together."""
    if len(targets_of(state)) > 1:
        raise InvalidInput(
            "sets are searched where the cells of one table must be safe; this ledger protects "
            "margins or has several versions: ask for sets one at a time"
        )
    past = [PublishedRelease.recorded(entry) for entry in state.released]
    if informing(state, past)[1]:
        raise InvalidInput(
            "sets are searched for an intruder who knows what is out; this ledger says that he "
            "knows more: ask for sets one at a time"
        )
    if not frontier.maximal:
        return frontier
    sets = safe_margins(
        tables[-1],
        given=joined(state, past),
        statements=frontier.maximal,
        policy=state.policy,
        total=total,
        independent=state.unseen,
        budget=effort,
    )
    return replace(frontier, sets=sets)


def _implied(statements: Sequence[str]) -> list[list[int]]:
    """For each statement, the others that it tells: an exact margin tells all of its variables."""
    requests = [parse(statement) for statement in statements]
    named = [{*request.responses, *(request.given or ())} for request in requests]
    return [
        [
            other
            for other, names in enumerate(named)
            if other != place and request.is_margin and request.exact and names <= named[place]
        ]
        for place, request in enumerate(requests)
    ]


def _monotone(state: LedgerState, releases: Sequence[Release]) -> bool:
    """Whether publishing more can only make things worse.

    A posterior probability may fall; without the counts, more may rule out what was at risk; and
    rates that say of a row that it is empty make its cells exempt.
    """
    rules = state.policy.rules
    if state.unseen or any(rule.why_not_monotone(independent=False) for rule in rules):
        return False
    statements = (statement for release in releases for statement in release.statements)
    rates = (statement for statement in statements if isinstance(statement, Conditional))
    return not any(statement.intervals.zero.any() for statement in rates)
