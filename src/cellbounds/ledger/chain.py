"""Entries and the chain of hashes that ties each one to all before it.

The hash of an entry is SHA-256 of its body, a JSON text that holds the hash of the entry before it.
Changing, removing or inserting an entry breaks the chain from there on; removing the last ones is
noticed by the head, which is kept beside the entries, and by comparing with a copy of the head that
is kept elsewhere: whoever can write to the database can rewrite everything in it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from cellbounds.ledger.errors import BrokenChain, LedgerError
from cellbounds.ledger.recording import read_plain_release
from cellbounds.statements import Release

__all__ = ["FORMAT", "Entry", "Head", "Row", "body_of", "checked", "digest_of_text", "sealed"]

FORMAT = "cellbounds-ledger/1"

FIRST = ""
"""What stands for the hash before the first entry."""

FIELDS = ("format", "ledger", "number", "kind", "at", "who", "why", "previous", "content")


@dataclass(frozen=True, slots=True)
class Row:
    """An entry as it is stored: its number, its body as JSON text, and the hash of the body."""

    number: int
    body: str
    hash: str


@dataclass(frozen=True, slots=True)
class Head:
    """How many entries there are, and the hash of the last one."""

    entries: int
    hash: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that happened, as it was recorded.

    Attributes
    ----------
    number, kind
        Its place, from 1, and what happened: ``"opened"``, ``"asked"``, ``"released"``,
        ``"refused"``, ``"policy"``, ``"refined"``, ``"grown"`` or ``"revised"``.
    at, who, why
        When (UTC, ISO 8601), by whom, and the reason that was given.
    content
        What was recorded, as plain values.
    previous, hash
        The hashes of the entry before it and of this one.
    repeated
        Whether a request was answered with this entry because it had been recorded before, and
        nothing was added.
    """

    number: int
    kind: str
    at: str
    who: str
    why: str
    content: dict[str, Any]
    previous: str
    hash: str
    repeated: bool = field(default=False, compare=False, repr=False)

    @property
    def statements(self) -> tuple[str, ...]:
        """What was to be published, in the notation; empty if the entry is about something else."""
        return tuple(self.content.get("statements", ()))

    @property
    def release(self) -> Release | None:
        """What was released, with its figures; None for other entries."""
        said = self.content.get("release")
        return None if said is None else read_plain_release(said)

    @property
    def knows(self) -> tuple[str, ...]:
        """What an intruder was taken to know besides, in the notation."""
        return tuple(self.content.get("knows", ()))

    @property
    def outcome(self) -> str | None:
        """The verdict on everything that was out then: safe, unsafe, undecided; None at first."""
        judged = self.content.get("judged")
        return None if judged is None else str(judged["outcome"])

    @property
    def said(self) -> str:
        """The entry by its number, and whether it was there before the request."""
        if self.repeated:
            return f"entry {self.number} ({self.at}) says this already: nothing was recorded"
        return f"recorded as entry {self.number}"

    def to_dict(self) -> dict[str, Any]:
        """Everything, as plain values; for the owner."""
        return {
            "number": self.number,
            "kind": self.kind,
            "at": self.at,
            "who": self.who,
            "why": self.why,
            "content": self.content,
            "previous": self.previous,
            "hash": self.hash,
        }

    def __str__(self) -> str:
        said = ", ".join(self.statements)
        return f"{self.number} {self.at} {self.kind}" + (f" {said}" if said else "")


def body_of(values: dict[str, Any]) -> str:
    """Plain values as the one JSON text that they have here: sorted keys, ASCII, no spaces."""
    return json.dumps(
        values, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False
    )


def digest_of_text(text: str) -> str:
    """SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def sealed(
    head: Head | None,
    *,
    ledger: str,
    kind: str,
    at: str,
    who: str,
    why: str,
    content: dict[str, Any],
) -> tuple[Row, Entry]:
    """The next entry, tied to the head of the chain.

    Examples
    --------
    >>> row, entry = sealed(
    ...     None, ledger="main", kind="opened", at="2026-01-01", who="ann", why="", content={}
    ... )
    >>> entry.number, entry.previous, entry.hash == digest_of_text(row.body)
    (1, '', True)
    """
    number = 1 if head is None else head.entries + 1
    previous = FIRST if head is None else head.hash
    values = {
        "format": FORMAT,
        "ledger": ledger,
        "number": number,
        "kind": kind,
        "at": at,
        "who": who,
        "why": why,
        "previous": previous,
        "content": content,
    }
    body = body_of(values)
    mark = digest_of_text(body)
    # What is read back is what was written: tuples are lists by now.
    entry = _entry(json.loads(body), mark)
    return Row(number, body, mark), entry


def checked(rows: Sequence[Row], head: Head, ledger: str) -> tuple[Entry, ...]:
    """Read the entries and check every link.

    Raises
    ------
    BrokenChain
        Naming the first entry that is not what it was.

    Examples
    --------
    >>> row, entry = sealed(
    ...     None, ledger="main", kind="opened", at="2026-01-01", who="ann", why="", content={}
    ... )
    >>> checked([row], Head(1, entry.hash), "main") == (entry,)
    True
    >>> changed = Row(1, row.body.replace("ann", "bob"), row.hash)
    >>> try:
    ...     checked([changed], Head(1, row.hash), "main")
    ... except BrokenChain as problem:
    ...     problem.number
    1
    """
    previous = FIRST
    entries: list[Entry] = []
    for expected, row in enumerate(rows, 1):
        if row.number != expected:
            raise _broken(expected, f"entry {expected} is missing")
        if not isinstance(row.body, str) or digest_of_text(row.body) != row.hash:
            raise _broken(expected, f"entry {expected} was changed after it was written")
        values = _values(row, expected)
        found = (values["previous"], values["number"], values["ledger"])
        if found != (previous, expected, ledger):
            raise _broken(expected, f"entry {expected} does not follow the entry before it")
        entries.append(_entry(values, row.hash))
        previous = row.hash
    if head.entries > len(entries):
        raise _broken(
            len(entries) + 1,
            f"{head.entries - len(entries)} of {head.entries} entries are missing at the end",
        )
    if (head.entries, head.hash) != (len(entries), previous):
        raise _broken(len(entries), "the head of the chain is not that of its last entry")
    return tuple(entries)


def _values(row: Row, number: int) -> dict[str, Any]:
    try:
        values = json.loads(row.body)
    except (ValueError, RecursionError):
        raise _broken(number, f"entry {number} is not an entry of a ledger") from None
    if isinstance(values, dict) and values.get("format", FORMAT) != FORMAT:
        raise LedgerError(
            f"entry {number} has the format {values['format']!r}; this version reads {FORMAT!r}: "
            "install a newer version of cellbounds"
        )
    if not isinstance(values, dict) or set(values) != set(FIELDS):
        raise _broken(number, f"entry {number} is not an entry of a ledger")
    return values


def _broken(number: int, what: str) -> BrokenChain:
    return BrokenChain(
        f"{what}: the chain of hashes is broken there; nothing was written. Restore the ledger "
        "from a copy whose head is known to be right, and find out who can write to it",
        number,
    )


def _entry(values: dict[str, Any], mark: str) -> Entry:
    return Entry(
        values["number"],
        values["kind"],
        values["at"],
        values["who"],
        values["why"],
        values["content"],
        values["previous"],
        mark,
    )
