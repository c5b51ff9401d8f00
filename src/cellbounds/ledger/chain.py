"""Entries, and the chain of hashes that ties each one to all before it.

The hash of an entry is SHA-256 of its body, a JSON text that holds the hash of the entry before it.
Changing, removing or inserting an entry breaks the chain from there on; removing the last ones is
noticed by the head, which is kept beside the entries, and by comparing with a copy of the head that
is kept elsewhere: whoever can write to the database can rewrite everything in it.

The chain shows that nobody changed an entry, not that it was written by this program: whoever can
write to the database can link anything. What cannot be read is refused here, by the entry's number.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from cellbounds.data.table import Table
from cellbounds.disclosure.policies import Outcome
from cellbounds.errors import InvalidInput
from cellbounds.ledger.errors import BrokenChain, LedgerError
from cellbounds.ledger.serialization import (
    read_layout,
    read_plain_policy,
    read_plain_release,
    read_plain_table,
)
from cellbounds.statements import Known, Release
from cellbounds.text import counted

FORMAT = "cellbounds-ledger/1"

FIRST = ""
"""What stands for the hash before the first entry."""

STORED = ("number", "kind", "at", "who", "why", "content", "previous")
"""What of an entry is stored in its body, beside the format and the ledger's name."""


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """An entry as it is stored: its number, its body as JSON text, and the hash of the body."""

    number: int
    body: str
    hash: str


@dataclass(frozen=True, slots=True)
class ChainHead:
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
        ``"refused"``, ``"requested"``, ``"closed"``, ``"person"``, ``"policy"``, ``"refined"``,
        ``"grown"`` or ``"revised"``.
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
        values = self.content.get("release")
        return None if values is None else read_plain_release(values)

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
        return {name: getattr(self, name) for name in (*STORED, "hash")}

    def __str__(self) -> str:
        text = ", ".join(self.statements)
        return f"{self.number} {self.at} {self.kind}" + (f" {text}" if text else "")


def body_of(values: dict[str, Any]) -> str:
    """Plain values as the one JSON text that they have here: sorted keys, ASCII, no spaces."""
    return json.dumps(
        values, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False
    )


def digest_of_text(text: str) -> str:
    """SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def sealed(
    head: ChainHead | None,
    *,
    ledger: str,
    kind: str,
    at: str,
    who: str,
    why: str,
    content: dict[str, Any],
) -> tuple[StoredEntry, Entry]:
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
    return StoredEntry(number, body, mark), entry


def checked(rows: Sequence[StoredEntry], head: ChainHead, ledger: str) -> tuple[Entry, ...]:
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
    >>> checked([row], ChainHead(1, entry.hash), "main") == (entry,)
    True
    >>> changed = StoredEntry(1, row.body.replace("ann", "bob"), row.hash)
    >>> try:
    ...     checked([changed], ChainHead(1, row.hash), "main")
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
        link = (values["previous"], values["number"], values["ledger"])
        if link != (previous, expected, ledger):
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


def _values(row: StoredEntry, number: int) -> dict[str, Any]:
    try:
        values = json.loads(row.body)
    except (ValueError, RecursionError):
        raise _broken(number, f"entry {number} is not an entry of a ledger") from None
    if isinstance(values, dict) and values.get("format", FORMAT) != FORMAT:
        raise LedgerError(
            f"entry {number} has the format {values['format']!r}; this version reads {FORMAT!r}: "
            "install a newer version of cellbounds"
        )
    if not isinstance(values, dict) or set(values) != {"format", "ledger", *STORED}:
        raise _broken(number, f"entry {number} is not an entry of a ledger")
    return values


def _broken(number: int, what: str) -> BrokenChain:
    return BrokenChain(
        f"{what}: the chain of hashes is broken there; nothing was written. Restore the ledger "
        "from a copy whose head is known to be right, and find out who can write to it",
        number,
    )


def _entry(values: dict[str, Any], mark: str) -> Entry:
    return Entry(**{name: values[name] for name in STORED}, hash=mark)


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
    "requested": ("statements", "total", "version", "with_figures", "origin", "batch"),
    "closed": ("request", "because"),
    "person": ("person", "action", "roles"),
    "released": (*_JUDGED, "release"),
    "policy": ("policy", "independent", "protected", "judged"),
    "refined": ("domain", "structural", "digests", "judged"),
    "grown": ("digest", "judged"),
    "revised": ("digest", "removed", "added", "judged"),
}
"""What an entry of each kind must hold; of other kinds, whatever is known is looked at."""


CLOSING = ("released", "refused", "closed")
"""Kinds of entries that end a request, if they name one."""


def understood(entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """The same entries, if each holds what an entry of its kind holds.

    Raises
    ------
    BrokenChain
        Naming the first that does not.

    Examples
    --------
    >>> content = {"digest": "ab", "judged": {"outcome": "fine"}}
    >>> try:
    ...     understood((Entry(3, "grown", "2026-01-01", "ann", "", content, "", ""),))
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
    content = entry.content
    if not isinstance(content, dict):
        return "content"
    absent = (name for name in NEEDED.get(entry.kind, ()) if name not in content)
    return next(absent, None) or next(
        (name for name in content if not _is_read(name, content)), None
    )


def kept_table(text: str) -> Table | None:
    """A table that is kept in a ledger; None if it cannot be read."""
    try:
        return read_plain_table(json.loads(text))
    except _UNREADABLE:
        return None


def _is_read(name: str, content: dict[str, Any]) -> bool:
    try:
        return name not in _READERS or _READERS[name](content)
    except _UNREADABLE:
        return False


def _texts(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


def _judged(content: dict[str, Any]) -> bool:
    judged = content["judged"]
    numbers = [judged["broken"], judged["open"], *judged["harmful"]]
    known = bool(Outcome(judged["outcome"])) and all(type(number) is int for number in numbers)
    return known and _texts(judged["rules"])


def _between(ends: Any) -> bool:
    low, high = ends
    return type(low) is int and low >= 0 and (high is None or (type(high) is int and low <= high))


def _knowledge(values: Any) -> bool:
    return all(isinstance(part, Known) for part in read_plain_release(values).statements)


_READERS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "added": lambda content: _between(content["added"]),
    "digest": lambda content: isinstance(content["digest"], str),
    "digests": lambda content: bool(content["digests"]) and _texts(content["digests"]),
    "domain": lambda content: read_layout(content) is not None,
    "batch": lambda content: isinstance(content["batch"], str),
    "because": lambda content: content["because"] in ("withdrawn", "released"),
    "independent": lambda content: isinstance(content["independent"], bool),
    "judged": _judged,
    "kept": lambda content: isinstance(content["kept"], bool),
    "knowledge": lambda content: _knowledge(content["knowledge"]),
    "knows": lambda content: _texts(content["knows"]),
    "origin": lambda content: isinstance(content["origin"], str),
    "person": lambda content: isinstance(content["person"], str),
    "policy": lambda content: read_plain_policy(content["policy"]) is not None,
    "protected": lambda content: all(_texts(names) for names in content["protected"]),
    "release": lambda content: read_plain_release(content["release"]) is not None,
    "removed": lambda content: _between(content["removed"]),
    "request": lambda content: type(content["request"]) is int and content["request"] >= 1,
    "roles": lambda content: _texts(content["roles"]),
    "statements": lambda content: _texts(content["statements"]),
    "total": lambda content: isinstance(content["total"], bool),
    "version": lambda content: type(content["version"]) is int and content["version"] >= 1,
    "with_figures": lambda content: isinstance(content["with_figures"], bool),
}


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
        return {"intact": self.intact, **asdict(self)}

    def __str__(self) -> str:
        if not self.intact:
            return self.problem
        text = f"{counted(self.entries, 'entry', 'entries')}, every link holds"
        if self.compared:
            return f"{text}; it continues the copy\nhead {self.head}"
        return (
            f"{text}\nhead {self.head}\nnote head and number elsewhere: a cut end shows only there"
        )


def check(
    rows: Sequence[StoredEntry],
    head: ChainHead,
    ledger: str,
    *,
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
    seen = partial(Check, len(rows), head.hash, compared=noted is not None)
    try:
        entries = understood(checked(rows, head, ledger))
    except BrokenChain as problem:
        return seen(str(problem), problem.number)
    for number, digest in _kept_digests(entries):
        text = kept(digest)
        table = None if text is None else kept_table(text)
        if table is None or table.digest != digest:
            return seen(
                f"the table kept with entry {number} is missing or was changed; restore a copy",
                number,
            )
    if noted is not None:
        first, difference = _cut_or_rewritten(entries, noted.strip().lower(), count)
        if difference:
            return seen(f"{difference}; restore a copy", first)
    fault = guards()
    if fault:
        return seen(
            f"every link of {counted(len(entries), 'entry', 'entries')} holds, but the database no "
            f"longer keeps them as they are: {fault}; compare the head with a copy, restore the "
            "trigger from a copy of the database, and find out who can alter it"
        )
    return seen()


def _cut_or_rewritten(
    entries: Sequence[Entry], noted: str, count: int | None
) -> tuple[int | None, str]:
    """The first entry that is not as it was noted, if that is known, and why; empty if all are."""
    if count is None:
        if noted in (entry.hash for entry in entries):
            return None, ""
        return None, "no entry has the noted hash: the chain was rewritten or its end cut off"
    if len(entries) < count:
        there = counted(len(entries), "entry", "entries")
        cut = f"the ledger has {there}, but had {count}: its end was cut off"
        return len(entries) + 1, cut
    if entries[count - 1].hash != noted:
        return count, f"entry {count} has another hash than was noted: the chain was rewritten"
    return None, ""


def _kept_digests(entries: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """The tables that entries say are kept."""
    if not entries or not entries[0].content.get("kept"):
        return
    for entry in entries:
        if entry.kind in ("opened", "grown", "revised"):
            yield entry.number, entry.content["digest"]
        elif entry.kind == "refined":
            yield from ((entry.number, digest) for digest in entry.content["digests"])
