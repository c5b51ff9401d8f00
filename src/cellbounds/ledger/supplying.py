"""The confidential tables: kept in the ledger, or supplied again and checked by their digests."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from cellbounds.data.domain import Domain
from cellbounds.data.table import Table
from cellbounds.errors import InvalidInput
from cellbounds.ledger.chain import body_of
from cellbounds.ledger.contents import kept_table
from cellbounds.ledger.errors import LedgerError
from cellbounds.ledger.recording import plain_table
from cellbounds.ledger.state import State

__all__ = [
    "Tables",
    "check_change",
    "check_refined",
    "check_version",
    "kept_text",
    "listed",
    "supplied",
]

Tables = Table | Sequence[Table] | None
"""One table, one for each version, or none."""


def listed(tables: Tables) -> list[Table]:
    """Tables as a list."""
    found = [] if tables is None else [tables] if isinstance(tables, Table) else list(tables)
    for one in found:
        if not isinstance(one, Table):
            raise InvalidInput(f"table={one!r}; give a Table, or a list with one for each version")
    return found


def kept_text(table: Table) -> str:
    """A table as the text that is kept."""
    return body_of(plain_table(table))


def supplied(state: State, tables: Tables, kept: Callable[[str], str | None]) -> list[Table] | None:
    """Every version of the table over the ledger's variables, in order.

    None if none is at hand and the ledger judges without the counts.

    Raises
    ------
    InvalidInput
        If a table is missing, or is not one of the ledger's.
    """
    given = {one.digest: one for one in (_laid_out(state, table) for table in listed(tables))}
    unknown = [digest for digest in given if digest not in state.digests]
    if unknown:
        raise InvalidInput(
            "the table that was supplied is not the ledger's: its digest differs; supply the same "
            "table (same variables, levels in the same order, structural zeros and counts), or "
            "refine, grow or revise the ledger if the table has changed"
        )
    found: list[Table] = []
    for number, digest in enumerate(state.digests, 1):
        table = given.get(digest) or _kept(digest, kept)
        if table is not None:
            found.append(table)
        elif state.independent and not given:
            return None
        else:
            which = "" if state.versions == 1 else f" (version {number} of {state.versions})"
            raise InvalidInput(
                f"the ledger keeps the digest of its table, not the table{which}; supply it again "
                "(table=, --table)"
            )
    return found


def _kept(digest: str, kept: Callable[[str], str | None]) -> Table | None:
    text = kept(digest)
    if text is None:
        return None
    table = kept_table(text)
    if table is None or table.digest != digest:
        raise LedgerError(
            "the table that is kept in the ledger was changed after it was written: its digest "
            "differs; restore the ledger from a copy, or supply the table (table=, --table)"
        )
    return table


def _laid_out(state: State, table: Table) -> Table:
    """A supplied table over the ledger's variables, its derived variables kept."""
    missing = [name for name in state.domain.names if name not in table.domain.names]
    if missing:
        raise InvalidInput(
            f"the table that was supplied has no variable {missing[0]!r}; supply the ledger's "
            f"table, over {', '.join(state.domain.names)}"
        )
    margin = table.margin(*state.domain.names)
    domain = margin.domain
    if domain != state.domain and _labels(domain) == _labels(state.domain):
        domain = state.domain  # labels that read the same: files have texts for numbers
    else:
        domain = domain.with_groupings(
            {k: one for k, one in table.domain.groupings.items() if one.of in domain.names}
        )
    return Table(domain, margin.counts, structural=margin.structural)


def check_refined(state: State, tables: Sequence[Table]) -> list[Table]:
    """Check that tables with more variables have the ledger's tables as margins; in order.

    Raises
    ------
    InvalidInput
        If one has no variable more, or another margin.
    """
    if len(tables) != state.versions:
        raise InvalidInput(
            f"{len(tables)} tables for a ledger with {state.versions} versions; supply one with "
            "the additional variables for each version"
        )
    found: dict[str, Table] = {}
    for table in tables:
        digest = _laid_out(state, table).digest
        if digest not in state.digests or digest in found:
            raise InvalidInput(
                "a table with additional variables does not match the ledger: its margin over "
                f"{', '.join(state.domain.names)} is not the ledger's table; correct the table"
            )
        found[digest] = table
    ordered = [found[digest] for digest in state.digests]
    if any(one.domain != ordered[0].domain for one in ordered):
        raise InvalidInput(
            "the versions of the table have different variables or levels; they need the same"
        )
    if any(not np.array_equal(one.structural, ordered[0].structural) for one in ordered):
        raise InvalidInput("the versions of the table have different structural zeros; correct one")
    if set(ordered[0].domain.names) == set(state.domain.names):
        raise InvalidInput(
            "the table has the ledger's variables and no other; refining brings more variables"
        )
    return ordered


def check_version(state: State, table: Table) -> Table:
    """Check that another version of the table has the ledger's variables and levels.

    Raises
    ------
    InvalidInput
        If they differ, or the structural zeros do.
    """
    if set(table.domain.names) != set(state.domain.names):
        raise InvalidInput(
            f"the later version is over {', '.join(table.domain.names)}, the ledger over "
            f"{', '.join(state.domain.names)}; they need the same variables (refine the ledger "
            "for more of them)"
        )
    later = _laid_out(state, table)
    if _labels(later.domain) != _labels(state.domain):
        raise InvalidInput(
            "the later version has other levels than the ledger's table; a ledger's levels are "
            "fixed, so open a new ledger with all of them, and commit there what is out"
        )
    if not np.array_equal(later.structural, state.structural):
        raise InvalidInput("the later version has other structural zeros; correct the table")
    return later


def check_change(newest: Table, later: Table, *, only_added: bool) -> None:
    """Check that a later version differs from the newest one, perhaps by added records only.

    Raises
    ------
    InvalidInput
        If it does not, or a cell holds fewer than before and may not.
    """
    fewer = np.argwhere(later.counts < newest.counts)
    if only_added and len(fewer):
        raise InvalidInput(
            f"the cell {later.domain.labels(fewer[0])} of the later version holds fewer than "
            "before, and growing only adds records; revise the ledger if records were removed or "
            "corrected (revise, `ledger revise`)"
        )
    if np.array_equal(later.counts, newest.counts):
        what = "nothing was added" if only_added else "nothing was changed"
        raise InvalidInput(f"the later version is the ledger's table; {what}")


def _labels(domain: Domain) -> list[tuple[str, ...]]:
    return [tuple(map(str, domain.levels(name))) for name in domain.names]
