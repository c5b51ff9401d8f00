"""The history of a ledger: everything for its owner, and what outsiders may see.

Refusals, questions and verdicts depend on the confidential counts, names and reasons are nobody
else's business, and a plain digest singles a table out among few candidates. So the public history
has none of them, numbers its entries anew (gaps would tell of refusals), and has a chain of hashes
of its own: the ledger's hashes are made from what is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from cellbounds.data.spreadsheets import csv_text
from cellbounds.ledger.chain import Entry, body_of, digest_of_text
from cellbounds.ledger.journal import PASSING
from cellbounds.text import on_one_line
from cellbounds.version import __version__

FORMAT = "cellbounds-ledger-history/1"


def internal_history(entries: Sequence[Entry]) -> dict[str, Any]:
    """Every entry as it is, with its hashes."""
    return {
        "format": FORMAT,
        "version": __version__,
        "view": "owner",
        "entries": [entry.to_dict() for entry in entries],
    }


def public_history(entries: Sequence[Entry]) -> dict[str, Any]:
    """What was released, when, and under which policy."""
    shown: list[dict[str, Any]] = []
    previous = ""
    for number, values in enumerate(_public(entries), 1):
        content = {"number": number, **values, "previous": previous}
        previous = digest_of_text(body_of(content))
        shown.append({**content, "hash": previous})
    return {"format": FORMAT, "version": __version__, "view": "public", "entries": shown}


def _public(entries: Sequence[Entry]) -> Iterator[dict[str, Any]]:
    policy, version = "", 1
    for entry in entries:
        content = entry.content
        common: dict[str, Any] = {"kind": entry.kind, "at": entry.at}
        if entry.kind in ("opened", "policy"):
            policy = content["policy"]["name"]
            common |= {"policy": content["policy"], "independent": content["independent"]}
        if entry.kind in ("opened", "refined"):
            common["variables"] = [name for name, _ in content["domain"]["variables"]]
        if entry.kind in ("grown", "revised"):
            version += 1
            common["table_version"] = version
        if entry.kind == "released":
            common |= {
                "statements": list(entry.statements),
                "release_digest": content["digest"],
                "table_version": content["version"],
                "policy": policy,
            }
        if entry.kind not in PASSING:
            yield common


HEADER = ("entry", "when", "what", "verdict", "who", "why", "about")


def history_text(entries: Sequence[Entry]) -> str:
    """The history for the owner's terminal: what happened, when (UTC), and what it was about."""
    lines = []
    for number, at, kind, verdict, who, why, about in _lines(entries):
        happened = ", ".join(filter(None, [kind, verdict, f"by {who}"]))
        lines.append(f"entry {number}, {at[:16].replace('T', ' ')}: {happened}")
        lines += [f"  {text}" for text in (about, why and f"why: {why}") if text]
    return "\n".join(map(on_one_line, lines))  # a reason may not look like another entry


def history_csv(entries: Sequence[Entry]) -> str:
    """The history for the owner's spreadsheet, with the hashes."""
    lines = [[*line, entry.hash] for line, entry in zip(_lines(entries), entries, strict=True)]
    return csv_text([*HEADER, "hash"], lines)


def _lines(entries: Sequence[Entry]) -> list[list[str]]:
    repeated = _repetitions(entries)
    return [
        [
            str(entry.number),
            entry.at,
            entry.kind,
            (entry.outcome or "").upper(),
            entry.who,
            entry.why,
            _about(entry) + repeated.get(entry.number, ""),
        ]
        for entry in entries
    ]


def _repetitions(entries: Sequence[Entry]) -> dict[int, str]:
    """By entry, how often a margin had then been published with figures made by chance.

    Each time the chance is a fresh one, and what all of them tell together grows.
    """
    times: Counter[frozenset[str]] = Counter()
    texts = {}
    for entry in entries:
        release = entry.release if entry.kind == "released" else None
        made = (
            [statement for statement in release.statements if statement.by_chance]
            if release
            else []
        )
        again = []
        for statement in made:
            times[frozenset(statement.variables)] += 1
            often = times[frozenset(statement.variables)]
            if often > 1:
                again.append(f"{statement.notation} {often} times by chance")
        if again:
            texts[entry.number] = f" (so far {', '.join(again)})"
    return texts


def _about(entry: Entry) -> str:
    if entry.kind in ("opened", "policy"):
        return f"policy {entry.content['policy']['name']}"
    if entry.kind == "person":
        roles = ", ".join(entry.content["roles"])
        return f"{entry.content['person']} {entry.content['action']}: {roles}" + (
            "" if entry.content.get("active", True) else "; kept out"
        )
    if entry.kind == "closed":
        earlier = f" in entry {entry.content['entry']}" if "entry" in entry.content else ""
        return f"request {entry.content['request']}: {entry.content['because']}{earlier}"
    if entry.kind == "refined":
        names = [name for name, _ in entry.content["domain"]["variables"]]
        return f"variables {', '.join(names)}"
    if entry.kind == "revised":
        return ", ".join(_counted(what, *entry.content[what]) for what in ("removed", "added"))
    harmful = entry.content.get("judged", {}).get("harmful", [])
    text = ", ".join(entry.statements)
    if harmful:
        text += f" (with {', '.join(f'entry {number}' for number in harmful)})"
    if "request" in entry.content:
        text += f" (request {entry.content['request']})"
    if entry.knows:
        text += f" (he knows: {', '.join(entry.knows)})"
    return text


def _counted(what: str, low: int, high: int | None) -> str:
    """How many records he knows to have been removed or added."""
    if (low, high) == (0, None):
        return f"{what}: not known"
    if low == high:
        return f"{what}: {low}"
    return f"{what}: {low} or more" if high is None else f"{what}: {low} to {high}"
