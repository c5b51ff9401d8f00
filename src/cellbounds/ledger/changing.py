"""Changes of a ledger itself: another policy, a finer table, a later version; all are entries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from cellbounds.domain import Domain
from cellbounds.errors import InvalidInput
from cellbounds.ledger.answers import Answer
from cellbounds.ledger.asking import Effort, answered
from cellbounds.ledger.book import Book, Page
from cellbounds.ledger.lifting import stacked
from cellbounds.ledger.recording import plain_policy
from cellbounds.ledger.state import State, plain_layout
from cellbounds.ledger.supplying import (
    Tables,
    check_grown,
    check_refined,
    kept_text,
    listed,
    supplied,
)
from cellbounds.risk.policies import GroupDisclosure, Policy
from cellbounds.table import Table

__all__ = ["bare", "change_policy", "checked_policy", "grow", "protected", "refine"]


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
        if isinstance(rule, GroupDisclosure):
            domain.axes((*(rule.responses or ()), *(rule.given or ())))
    return policy


def change_policy(
    book: Book,
    policy: Policy | None,
    independent: bool | None,
    protect: Sequence[Sequence[str]],
    tables: Tables,
    said: tuple[str | None, str],
    effort: Effort,
) -> Answer:
    """Judge by another policy from now on, or more margins by the same."""
    with book.writing() as page:
        state = page.state
        after = replace(
            state,
            policy=state.policy if policy is None else checked_policy(policy, state.domain),
            independent=state.independent if independent is None else independent,
            protected=protected(state.domain, (*state.protected, *protect)),
        )
        found = supplied(after, tables, book.store.kept)
        content = {
            "policy": plain_policy(after.policy),
            "independent": after.independent,
            "protected": [list(one) for one in after.protected],
        }
        return _changed(page, "policy", said, content, after, found, effort)


def refine(
    book: Book, tables: Table | Sequence[Table], said: tuple[str | None, str], effort: Effort
) -> Answer:
    """Go on with a table of additional variables."""
    with book.writing() as page:
        state = page.state
        finer = [bare(one) for one in check_refined(state, listed(tables))]
        domain, digests = finer[0].domain, tuple(one.digest for one in finer)
        after = replace(
            state,
            domain=domain,
            structural=finer[0].structural,
            digests=digests,
            protected=(domain.names, *state.protected),
        )
        for one in finer if state.kept else ():
            page.keep(one.digest, kept_text(one))
        content = {**plain_layout(finer[0]), "digests": list(digests)}
        return _changed(page, "refined", said, content, after, finer, effort)


def grow(
    book: Book, table: Table, earlier: Tables, said: tuple[str | None, str], effort: Effort
) -> Answer:
    """Go on with a later version of the table."""
    with book.writing() as page:
        state = page.state
        before = supplied(replace(state, independent=False), earlier, book.store.kept)
        assert before is not None  # without `independent` a missing table is an error
        later = bare(check_grown(state, before[-1], table))
        after = replace(state, digests=(*state.digests, later.digest))
        if state.kept:
            page.keep(later.digest, kept_text(later))
        content = {"digest": later.digest}
        return _changed(page, "grown", said, content, after, [*before, later], effort)


def _changed(
    page: Page,
    kind: str,
    said: tuple[str | None, str],
    content: dict[str, Any],
    after: State,
    tables: list[Table] | None,
    effort: Effort,
) -> Answer:
    """Judge what is out in the new state, and record the change with the verdict."""
    whole = None if tables is None else stacked(after, tables)
    answer = answered(after, None, after.versions, whole, effort)
    who, why = said
    page.append(kind, who, why, {**content, "judged": answer.summary()})
    return answer
