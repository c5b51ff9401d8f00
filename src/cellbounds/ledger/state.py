"""What a ledger says now: its entries, read one after another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cellbounds.data.domain import Domain
from cellbounds.data.table import Table
from cellbounds.disclosure.policies import Outcome, Policy
from cellbounds.errors import InvalidInput
from cellbounds.ledger.chain import Entry
from cellbounds.ledger.errors import LedgerError
from cellbounds.ledger.recording import (
    plain_domain,
    read_plain_domain,
    read_plain_policy,
    structural_zeros,
)
from cellbounds.runtime.arrays import BoolArray

__all__ = ["PASSING", "Revision", "State", "plain_layout", "state_of"]


PASSING = ("asked", "refused")
"""Kinds of entries that change nothing about what may follow."""


@dataclass(frozen=True, slots=True)
class Revision:
    """A version for which records were removed, added, or moved to other cells.

    Attributes
    ----------
    version
        The version that came of it.
    removed, added
        Between which numbers an intruder knows the removed and the added records to be (None: no
        end); a record that moved is removed from one cell and added to another.
    """

    version: int
    removed: tuple[int, int | None] = (0, None)
    added: tuple[int, int | None] = (0, None)


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """Where a ledger stands.

    Attributes
    ----------
    domain, structural
        The variables of the confidential table, and the cells that cannot hold anybody.
    digests
        The digest of the table, for each version of it.
    kept
        Whether the tables are kept in the ledger.
    policy, independent
        What releases are judged by, and whether without the true counts.
    protected
        The margins whose cells must be safe: the whole table, and those that were asked for.
    released
        The entries of what is out, in order.
    standing
        The last verdict on everything that is out.
    revisions
        The versions, from 2, before which records may have been removed too, with what an intruder
        knows about how many were removed and added.
    mark
        The hash of the last entry that changed any of this: questions and refusals do not.
    source
        The entry that brought the newest table.
    """

    domain: Domain
    structural: BoolArray
    digests: tuple[str, ...]
    kept: bool
    policy: Policy
    independent: bool
    protected: tuple[tuple[str, ...], ...]
    released: tuple[Entry, ...] = ()
    standing: Outcome = Outcome.SAFE
    revisions: tuple[Revision, ...] = ()
    mark: str = ""
    source: Entry | None = None

    @property
    def versions(self) -> int:
        """How many versions of the table there are."""
        return len(self.digests)

    def about(self, version: int | None) -> int:
        """A version that there is; the newest unless given."""
        if version is None:
            return self.versions
        if isinstance(version, bool) or version not in range(1, self.versions + 1):
            raise InvalidInput(
                f"version={version!r}; the ledger has the versions 1 to {self.versions}"
            )
        return version


def state_of(entries: Iterable[Entry]) -> State:
    """Read entries in order."""
    state: State | None = None
    for entry in entries:
        state = _opened(entry) if state is None else _after(state, entry)
    if state is None:
        raise LedgerError("the ledger has no entry, not even the first; make a new one")
    return state


def _opened(entry: Entry) -> State:
    said = entry.content
    if entry.kind != "opened":
        raise LedgerError(f"the first entry is {entry.kind!r}, not 'opened'; restore a copy")
    domain, structural = _read_layout(said)
    return State(
        domain,
        structural,
        (said["digest"],),
        said["kept"],
        read_plain_policy(said["policy"]),
        said["independent"],
        tuple(tuple(one) for one in said["protected"]),
        mark=entry.hash,
        source=entry,
    )


def _after(state: State, entry: Entry) -> State:
    said = entry.content
    match entry.kind:
        case kind if kind in PASSING:
            return state
        case "released":
            state = replace(state, released=(*state.released, entry))
        case "policy":
            policy = read_plain_policy(said["policy"])
            state = replace(
                state,
                policy=policy,
                independent=said["independent"],
                protected=tuple(tuple(one) for one in said["protected"]),
            )
        case "refined":
            domain, structural = _read_layout(said)
            state = replace(
                state,
                domain=domain,
                structural=structural,
                digests=tuple(said["digests"]),
                protected=(domain.names, *state.protected),
            )
        case "grown":
            state = replace(state, digests=(*state.digests, said["digest"]))
        case "revised":
            lows_and_highs = tuple(said["removed"]), tuple(said["added"])
            state = replace(
                state,
                digests=(*state.digests, said["digest"]),
                revisions=(*state.revisions, Revision(state.versions + 1, *lows_and_highs)),
            )
        case _:
            raise LedgerError(
                f"entry {entry.number} is of the unknown kind {entry.kind!r}; install a newer "
                "version of cellbounds"
            )
    if entry.kind in ("refined", "grown", "revised"):
        state = replace(state, source=entry)
    return replace(state, standing=Outcome(said["judged"]["outcome"]), mark=entry.hash)


def plain_layout(table: Table) -> dict[str, Any]:
    """Variables and structural zeros of a table, which everybody is taken to know."""
    bare = Domain({name: table.domain.levels(name) for name in table.domain.names})
    places = [int(place) for place in np.flatnonzero(table.structural)]
    return {"domain": plain_domain(bare), "structural": places}


def _read_layout(said: dict[str, Any]) -> tuple[Domain, BoolArray]:
    domain = read_plain_domain(said["domain"])
    return domain, structural_zeros(said["structural"], domain)
