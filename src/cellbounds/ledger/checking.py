"""Checking a ledger: every link, the head, the tables that are kept, and the triggers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from cellbounds.errors import InvalidInput
from cellbounds.ledger.chain import Entry, Head, Row, checked
from cellbounds.ledger.contents import kept_table, understood
from cellbounds.ledger.errors import BrokenChain

__all__ = ["Check", "check"]


@dataclass(frozen=True, slots=True)
class Check:
    """What a check of a ledger found.

    Attributes
    ----------
    entries, head
        How many entries there are, and the hash of the last one: note both elsewhere, because who
        can write to the database can also cut off its end.
    problem
        What is wrong, in words; empty if nothing is.
    broken
        The first entry that is wrong, if one is.
    compared
        Whether the head was compared with a copy.
    """

    entries: int
    head: str
    problem: str = ""
    broken: int | None = None
    compared: bool = False

    @property
    def intact(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problem

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "intact": self.intact,
            "entries": self.entries,
            "head": self.head,
            "problem": self.problem,
            "broken": self.broken,
            "compared": self.compared,
        }

    def __str__(self) -> str:
        if not self.intact:
            return self.problem
        said = f"{self.entries} entries, every link holds; head {self.head}"
        if self.compared:
            return f"{said}; it continues the copy"
        return f"{said}. Note the head and the number elsewhere: a cut end shows only there"


def check(
    rows: Sequence[Row],
    head: Head,
    ledger: str,
    noted: str | None,
    count: int | None,
    kept: Callable[[str], str | None],
    guards: Callable[[], str],
) -> Check:
    """Check the chain, the kept tables, that it continues a noted head, and the triggers."""
    if noted is None and count is not None:
        raise InvalidInput("entries without the head; give the head too, as it was noted")
    if count is not None and count < 1:
        raise InvalidInput(f"entries={count}; a ledger has at least one entry")
    try:
        entries = understood(checked(rows, head, ledger))
    except BrokenChain as problem:
        return Check(len(rows), head.hash, str(problem), problem.number, noted is not None)
    for number, digest in _kept_digests(entries):
        text = kept(digest)
        table = None if text is None else kept_table(text)
        if table is None or table.digest != digest:
            said = f"the table kept with entry {number} is missing or was changed; restore a copy"
            return Check(len(rows), head.hash, said, number, noted is not None)
    if noted is not None:
        found = _cut_or_rewritten(entries, noted.strip().lower(), count)
        if found is not None:
            first, said = found
            return Check(len(rows), head.hash, f"{said}; restore a copy", first, True)
    fault = guards()
    if fault:
        said = (
            f"every link of {len(entries)} entries holds, but the database no longer keeps them as "
            f"they are: {fault}; compare the head with a copy, restore the trigger from a copy of "
            "the database, and find out who can alter it"
        )
        return Check(len(rows), head.hash, said, None, noted is not None)
    return Check(len(rows), head.hash, compared=noted is not None)


def _cut_or_rewritten(
    entries: Sequence[Entry], noted: str, count: int | None
) -> tuple[int | None, str] | None:
    """The first entry that is not as it was noted, and why; its number only if that is known."""
    if count is None:
        if noted in (one.hash for one in entries):
            return None
        return None, "no entry has the noted hash: the chain was rewritten or its end cut off"
    if len(entries) < count:
        said = f"the ledger has {len(entries)} entries, but had {count}: its end was cut off"
        return len(entries) + 1, said
    if entries[count - 1].hash != noted:
        said = f"entry {count} has another hash than was noted: the chain was rewritten"
        return count, said
    return None


def _kept_digests(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """The tables that entries say are kept."""
    if not entries or not entries[0].content.get("kept"):
        return
    for entry in entries:
        said = entry.content
        if entry.kind in ("opened", "grown", "revised"):
            yield entry.number, said["digest"]
        elif entry.kind == "refined":
            for digest in said["digests"]:
                yield entry.number, digest
