"""Changes of a ledger itself: another policy, a finer table, a later version; all are entries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cellbounds.data.domain import Domain
from cellbounds.data.table import Table
from cellbounds.disclosure.policies import Policy
from cellbounds.errors import InvalidInput
from cellbounds.ledger.answers import Answer
from cellbounds.ledger.book import Book, Draft, Said
from cellbounds.ledger.cumulative import Effort, answered
from cellbounds.ledger.lifting import stacked
from cellbounds.ledger.recording import plain_policy
from cellbounds.ledger.state import Revision, State, plain_layout
from cellbounds.ledger.supplying import (
    Tables,
    check_change,
    check_refined,
    check_version,
    kept_text,
    listed,
    supplied,
)

__all__ = [
    "Between",
    "bare",
    "change_policy",
    "checked_policy",
    "grow",
    "protected",
    "refine",
    "revise",
]


def bare(table: Table) -> Table:
    """A table without its derived variables, which statements bring along."""
    levels = {name: table.domain.levels(name) for name in table.domain.names}
    return Table(Domain(levels), table.counts, structural=table.structural)


def protected(domain: Domain, margins: Iterable[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """Margins to protect, each once, checked."""
    found = [domain.distinct(one) for one in margins]
    for names in found:
        domain.axes(names)  # derived variables are not the table's own
        if not names:
            raise InvalidInput("a margin to protect names no variable; name at least one")
    return tuple(dict.fromkeys(found))


def checked_policy(policy: Policy, domain: Domain) -> Policy:
    """A policy whose rules name variables of the table only."""
    for rule in policy.rules:
        domain.axes(rule.variables)
    return policy


def change_policy(
    book: Book,
    policy: Policy | None,
    independent: bool | None,
    protect: Sequence[Sequence[str]],
    tables: Tables,
    said: Said,
    effort: Effort,
) -> Answer:
    """Judge by another policy from now on, or more margins by the same."""

    def changed(state: State) -> Change:
        after = replace(
            state,
            policy=state.policy if policy is None else checked_policy(policy, state.domain),
            independent=state.independent if independent is None else independent,
            protected=protected(state.domain, (*state.protected, *protect)),
        )
        content = {
            "policy": plain_policy(after.policy),
            "independent": after.independent,
            "protected": [list(one) for one in after.protected],
        }
        return Change("policy", content, after, supplied(after, tables, book.store.kept))

    return _recorded(book, changed, said, effort)


def refine(book: Book, tables: Table | Sequence[Table], said: Said, effort: Effort) -> Answer:
    """Go on with a table of additional variables."""

    def changed(state: State) -> Change:
        given = listed(tables)
        if _brought(state, "refined", digests=sorted(bare(one).digest for one in given)):
            return Change("", {}, state, supplied(state, given, book.store.kept))
        finer = [bare(one) for one in check_refined(state, given)]
        domain, digests = finer[0].domain, tuple(one.digest for one in finer)
        after = replace(
            state,
            domain=domain,
            structural=finer[0].structural,
            digests=digests,
            protected=(domain.names, *state.protected),
        )
        content = {**plain_layout(finer[0]), "digests": list(digests)}
        return Change("refined", content, after, finer, finer)

    return _recorded(book, changed, said, effort)


Between = int | tuple[int, int | None] | None
"""A number that is known, two between which it is known to be (None: no end), or nothing."""


def grow(book: Book, table: Table, earlier: Tables, said: Said, effort: Effort) -> Answer:
    """Go on with a later version of the table, to which records were added."""
    return _another_version(book, table, earlier, None, said, effort)


def revise(
    book: Book,
    table: Table,
    earlier: Tables,
    known: tuple[Between, Between],
    said: Said,
    effort: Effort,
) -> Answer:
    """Go on with a later version, from which records were removed too, or moved to other cells."""
    removed, added = known
    counted = _checked_between("removed", removed), _checked_between("added", added)
    return _another_version(book, table, earlier, counted, said, effort)


def _another_version(
    book: Book,
    table: Table,
    earlier: Tables,
    known: tuple[tuple[int, int | None], tuple[int, int | None]] | None,
    said: Said,
    effort: Effort,
) -> Answer:
    kind = "grown" if known is None else "revised"
    counted = {} if known is None else {"removed": list(known[0]), "added": list(known[1])}

    def changed(state: State) -> Change:
        later = bare(check_version(state, table))
        if _brought(state, kind, digest=later.digest, **counted):
            every = [*listed(earlier), table]
            return Change("", {}, state, supplied(state, every, book.store.kept))
        before = supplied(replace(state, independent=False), earlier, book.store.kept)
        assert before is not None  # without `independent` a missing table is an error
        check_change(before[-1], later, only_added=known is None)
        after = replace(state, digests=(*state.digests, later.digest))
        if known is not None:
            revision = Revision(after.versions, *known)
            _check_stated(revision, before[-1], later)
            after = replace(after, revisions=(*state.revisions, revision))
        content = {"digest": later.digest, **counted}
        return Change(kind, content, after, [*before, later], [later])

    return _recorded(book, changed, said, effort)


def _brought(state: State, kind: str, **content: object) -> bool:
    """Whether the newest table came with a change that says the same."""
    source = state.source
    if source is None or source.kind != kind:
        return False
    said = source.content
    if "digests" in content:
        return sorted(said["digests"]) == content["digests"]
    return all(said[key] == value for key, value in content.items())


def _check_stated(revision: Revision, before: Table, later: Table) -> None:
    """Check that an intruder knows what is true: the tables tell by their fewest changes."""
    change = later.counts - before.counts
    for what, found, (low, high) in (
        ("removed", int(np.maximum(-change, 0).sum()), revision.removed),
        ("added", int(np.maximum(change, 0).sum()), revision.added),
    ):
        if found < low or (high is not None and found > high):
            raise InvalidInput(
                f"{what}: the tables differ by another number of {what} records than is stated; an "
                "intruder knows what is true: count the records that cells have more or fewer"
            )


def _checked_between(what: str, given: object) -> tuple[int, int | None]:
    ends = (0, None) if given is None else given
    if isinstance(ends, int) and not isinstance(ends, bool):
        ends = ends, ends
    if isinstance(ends, tuple) and len(ends) == 2:
        low, high = ends
        whole = [one for one in ends if isinstance(one, int) and not isinstance(one, bool)]
        if len(whole) + (high is None) == 2 and low >= 0 and (high is None or low <= high):
            return low, high
    raise InvalidInput(
        f"{what}={given!r}; give the number of records that an intruder knows, two numbers between "
        "which he knows it to be, or nothing"
    )


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """A change of the ledger itself: the entry, the state after it, and the tables of that.

    `kept` are the tables that are new, to be kept if the ledger keeps them. No kind: the ledger is
    in this state by its last change.
    """

    kind: str
    content: dict[str, Any]
    after: State
    tables: list[Table] | None
    kept: Sequence[Table] = ()


def _recorded(book: Book, changed: Callable[[State], Change], said: Said, effort: Effort) -> Answer:
    """Judge what is out in the new state, and record the change with the verdict."""
    answers: list[Answer] = []

    def drafted(state: State) -> Draft:
        change = changed(state)
        after, tables = change.after, change.tables
        whole = None if tables is None else stacked(after, tables)
        answers.append(answered(after, None, after.versions, whole, effort))
        content = {**change.content, "judged": answers[-1].summary()}
        kept = {one.digest: kept_text(one) for one in change.kept if after.kept}
        return Draft(change.kind, content, kept, None if change.kind else state.source)

    entry = book.record(drafted, said)
    return replace(answers[-1], entry=entry)
