"""A ledger as it is read: what happened, where it stands, what may follow, whether it is intact."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any

from cellbounds.data.table import Table
from cellbounds.errors import InvalidInput
from cellbounds.ledger.book import Book
from cellbounds.ledger.chain import Entry
from cellbounds.ledger.checking import Check, check
from cellbounds.ledger.cumulative import Effort
from cellbounds.ledger.frontier import Frontier, candidates_of, frontier_of, with_sets
from cellbounds.ledger.history import internal_history, public_history
from cellbounds.ledger.lifting import Piece, joined
from cellbounds.ledger.state import State, state_of
from cellbounds.ledger.supplying import Tables, supplied
from cellbounds.statements import Release

__all__ = ["LedgerReading", "Steps"]

Steps = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class LedgerReading:
    """What a ledger says; nothing here changes it."""

    book: Book

    def history(self) -> tuple[Entry, ...]:
        """Every entry, in order."""
        return self.book.entries()

    def state(self) -> State:
        """Where the ledger stands: variables, policy, what is out."""
        return state_of(self.book.entries())

    def table(self, table: Tables = None, *, version: int | None = None) -> Table | None:
        """The confidential table as the ledger has it, from those supplied or kept.

        None if it is not at hand and the ledger judges without the counts.
        """
        state = self.state()
        found = supplied(state, table, self.book.store.kept)
        about = state.about(version)
        return None if found is None else found[about - 1]

    def together(self, *, until: int | None = None) -> Release:
        """Everything that is out as one release, or that was out after the entry `until`."""
        entries = self.book.entries()
        if until is not None and not 1 <= until <= len(entries):
            raise InvalidInput(f"until={until}; the ledger has the entries 1 to {len(entries)}")
        state = state_of(entries[:until])
        return joined(state, map(Piece.recorded, state.released))

    def frontier(
        self,
        statements: Sequence[str] | None = None,
        *,
        table: Tables = None,
        way: int | None = None,
        digits: int = 2,
        total: bool = True,
        sets: bool = False,
        seconds: float | None = None,
        executor: Executor | None = None,
        progress: Steps | None = None,
    ) -> Frontier:
        """Which statements may still be released, each by itself, and which never again.

        Parameters
        ----------
        statements
            The candidates in the notation; unless given, every margin of up to `way` variables and
            the rates of each variable within it, to so many `digits`.
        sets
            Also search the largest sets of them that may be released together.
        table, total, seconds, executor, progress
            As for :meth:`ask`.
        """
        state = self.state()
        found = supplied(replace(state, independent=False), table, self.book.store.kept)
        assert found is not None  # without `independent` a missing table is an error
        listed = candidates_of(state.domain, way, digits) if statements is None else statements
        effort = Effort(seconds, executor, progress)
        alone = frontier_of(state, found, list(listed), total, effort)
        return with_sets(alone, state, found, total, effort) if sets else alone

    def verify(self, *, head: str | None = None, entries: int | None = None) -> Check:
        """Check every link of the chain, and the head against a copy that was kept elsewhere.

        Also the tables that are kept, and the triggers with which the database itself refuses to
        change entries.

        Parameters
        ----------
        head, entries
            The hash of the last entry and, if it was noted too, the number of entries, as they
            were then; the ledger may have grown since.
        """
        store = self.book.store
        rows, found = store.rows()
        return check(rows, found, self.book.place.name, head, entries, store.kept, store.guards)

    def export(self, *, public: bool = True) -> dict[str, Any]:
        """The history as plain values.

        The public one holds what was released and when, under which policy: no refusal or
        question, nobody's name or reason, no verdict, and no digest of the table.
        """
        entries = self.book.entries()
        return public_history(entries) if public else internal_history(entries)

    def __repr__(self) -> str:
        return f"Ledger({self.book.place.shown!r})"
