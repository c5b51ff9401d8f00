"""What is to be judged: a release, a policy, an intruder and a table, checked together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cellbounds.data.domain import Domain
from cellbounds.data.table import Table
from cellbounds.disclosure.policies.attacker import asked_rows
from cellbounds.disclosure.policies.policy import Policy
from cellbounds.disclosure.policies.reading import policy_of
from cellbounds.disclosure.policies.rules import GroupDisclosure
from cellbounds.disclosure.policies.scenarios import (
    checked_knowledge,
    empty_rows,
    informed,
    margin_of,
    nobody,
)
from cellbounds.errors import InvalidInput
from cellbounds.results.cell_index import check_listable
from cellbounds.runtime.arrays import BoolArray
from cellbounds.statements import Prior, Release, Total
from cellbounds.statements.notation import names_text

__all__ = ["Case", "case_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One thing to judge.

    Attributes
    ----------
    over
        The variables whose cells are judged.
    known
        The release with what the intruder knows besides.
    whole
        The table. If it is judged without the true counts, one of nobody: all that is left of the
        table are the cells that nobody can be in.
    margin
        Its margin over those variables.
    empty
        Cells of it in rows that are published as empty.
    """

    release: Release
    policy: Policy
    over: tuple[str, ...]
    knows: tuple[Prior, ...]
    independent: bool
    known: Release
    whole: Table
    margin: Table
    empty: BoolArray
    notes: tuple[str, ...]


def case_of(
    release: Release,
    table: Table | None,
    policy: Policy | str | Path,
    over: Iterable[str] | None,
    knows: Iterable[Prior],
    independent: bool,
) -> Case:
    """Check what :func:`cellbounds.judge` is given, and put it together."""
    chosen, knowledge = policy_of(policy), checked_knowledge(knows)
    _check(release, table, independent)
    asked = _asked(release, over)
    check_listable(release, asked)
    _check_rows(release.domain, asked, chosen)
    known = informed(release, table, knowledge)
    if table is None or independent:
        table = nobody(release, table)
    return Case(
        release,
        chosen,
        asked,
        knowledge,
        independent,
        known,
        table,
        margin_of(release, table, asked),
        empty_rows(release, asked),
        () if over is not None else _unasked(release),
    )


def _check(release: Release, table: Table | None, independent: bool) -> None:
    if not isinstance(release, Release):
        raise InvalidInput(f"release={release!r}; give a Release, such as publish(table, ...)")
    if table is not None and not isinstance(table, Table):
        raise InvalidInput(f"table={table!r}; give the Table that the release was made from")
    if not isinstance(independent, bool):
        raise InvalidInput(f"independent={independent!r}; give True or False")
    if table is None and not independent:
        raise InvalidInput(
            "no table to judge by; give the one that the release was made from, or "
            "independent=True to ask whether every consistent table passes"
        )


def _asked(release: Release, over: Iterable[str] | None) -> tuple[str, ...]:
    """The variables whose cells are judged."""
    if over is None:
        return release.domain.names
    asked = release.domain.distinct(over)
    if not asked:
        raise InvalidInput("over=[] names no variable; leave it out to judge every cell")
    return asked


def _unasked(release: Release) -> tuple[str, ...]:
    """A note about the margin that the statements speak of, if it is not the whole table."""
    domain = release.domain
    said = {
        name
        for one in release.statements
        if not isinstance(one, Total | Prior)
        for name in one.variables
    }
    if not said or said.issuperset(domain.names):
        return ()
    named = [name for name in (*domain.names, *domain.groupings) if name in said]
    return (
        f"the cells of the margin [{names_text(named)}] that the release speaks of were not "
        f"judged: over={named} does",
    )


def _check_rows(domain: Domain, over: tuple[str, ...], policy: Policy) -> None:
    """Check that the rows of a rule are rows of the cells judged, and share everybody out."""
    for rule in policy.rules:
        if not isinstance(rule, GroupDisclosure):
            continue
        rows = asked_rows(rule, over)
        if not rows:
            raise InvalidInput(
                f"the rule {rule.name} takes every variable judged ({', '.join(over)}) as given, "
                "so that there is nothing to learn about a row and the rule could never fail; "
                "leave one of them out of its given variables"
            )
        for response, given in rows:
            for name in domain.distinct((response, *given)):
                if name not in over:
                    raise InvalidInput(
                        f"the rule {rule.name} names {name!r}, which is not among the variables "
                        f"judged ({', '.join(over)}); add it to over=, or take another policy"
                    )
            for name in over:
                if name not in given:
                    _check_shared_out(domain, name, rule.name)


def _check_shared_out(domain: Domain, name: str, rule: str) -> None:
    try:
        domain.check_partition(name)
    except InvalidInput:
        raise InvalidInput(
            f"the rule {rule} asks in which level of {name!r} the members of a row are, but these "
            "levels overlap or leave somebody out; judge over the variable behind it"
        ) from None
