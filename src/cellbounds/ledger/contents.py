"""What entries hold, looked at before anything is made of it.

The chain shows that nobody changed an entry, not that it was written by this program: whoever can
write to the database can link anything. What cannot be read is refused here, by the entry's number.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from cellbounds.data.table import Table
from cellbounds.disclosure.policies import Outcome
from cellbounds.ledger.chain import Entry
from cellbounds.ledger.errors import BrokenChain
from cellbounds.ledger.recording import (
    read_plain_domain,
    read_plain_policy,
    read_plain_release,
    read_plain_table,
    structural_zeros,
)

__all__ = ["kept_table", "understood"]

_UNREADABLE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What comes of reading plain values that are not as they should be."""

_JUDGED = ("statements", "digest", "version", "judged")

NEEDED: dict[str, tuple[str, ...]] = {
    "opened": ("domain", "structural", "digest", "kept", "policy", "independent", "protected"),
    "asked": _JUDGED,
    "refused": _JUDGED,
    "released": (*_JUDGED, "release"),
    "policy": ("policy", "independent", "protected", "judged"),
    "refined": ("domain", "structural", "digests", "judged"),
    "grown": ("digest", "judged"),
    "revised": ("digest", "removed", "added", "judged"),
}
"""What an entry of each kind must hold; of other kinds, whatever is known is looked at."""


def understood(entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """The same entries, if each holds what an entry of its kind holds.

    Raises
    ------
    BrokenChain
        Naming the first that does not.

    Examples
    --------
    >>> said = {"digest": "ab", "judged": {"outcome": "fine"}}
    >>> try:
    ...     understood((Entry(3, "grown", "2026-01-01", "ann", "", said, "", ""),))
    ... except BrokenChain as problem:
    ...     print(str(problem).partition(";")[0])
    entry 3 is linked, but its part 'judged' is not one that cellbounds writes
    """
    for entry in entries:
        wrong = _wrong_part(entry)
        if wrong is not None:
            raise BrokenChain(
                f"entry {entry.number} is linked, but its part {wrong!r} is not one that "
                "cellbounds writes; restore the ledger from a copy, and find out who can write to "
                "it",
                entry.number,
            )
    return entries


def _wrong_part(entry: Entry) -> str | None:
    """The first part of an entry that is missing or cannot be read; None if there is none."""
    for name in ("kind", "at", "who", "why"):
        if not isinstance(getattr(entry, name), str):
            return name
    said = entry.content
    if not isinstance(said, dict):
        return "content"
    absent = (name for name in NEEDED.get(entry.kind, ()) if name not in said)
    return next(absent, None) or next((name for name in said if not _is_read(name, said)), None)


def kept_table(text: str) -> Table | None:
    """A table that is kept in a ledger; None if it cannot be read."""
    try:
        return read_plain_table(json.loads(text))
    except _UNREADABLE:
        return None


def _is_read(name: str, said: dict[str, Any]) -> bool:
    try:
        return name not in _READERS or _READERS[name](said)
    except _UNREADABLE:
        return False


def _texts(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(one, str) for one in values)


def _layout(said: dict[str, Any]) -> bool:
    structural_zeros(said["structural"], read_plain_domain(said["domain"]))
    return True


def _judged(said: dict[str, Any]) -> bool:
    judged = said["judged"]
    numbers = [judged["broken"], judged["open"], *judged["harmful"]]
    known = bool(Outcome(judged["outcome"])) and all(type(number) is int for number in numbers)
    return known and _texts(judged["rules"])


def _between(ends: Any) -> bool:
    low, high = ends
    return type(low) is int and (high is None or (type(high) is int and low <= high))


_READERS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "added": lambda said: _between(said["added"]),
    "digest": lambda said: isinstance(said["digest"], str),
    "digests": lambda said: bool(said["digests"]) and _texts(said["digests"]),
    "domain": _layout,
    "independent": lambda said: isinstance(said["independent"], bool),
    "judged": _judged,
    "kept": lambda said: isinstance(said["kept"], bool),
    "knowledge": lambda said: read_plain_release(said["knowledge"]) is not None,
    "knows": lambda said: _texts(said["knows"]),
    "policy": lambda said: read_plain_policy(said["policy"]) is not None,
    "protected": lambda said: all(_texts(one) for one in said["protected"]),
    "release": lambda said: read_plain_release(said["release"]) is not None,
    "removed": lambda said: _between(said["removed"]),
    "statements": lambda said: _texts(said["statements"]),
    "version": lambda said: type(said["version"]) is int and said["version"] >= 1,
}
