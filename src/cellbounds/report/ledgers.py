"""The history of a ledger as a page: what happened, and how the attainable counts narrowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from cellbounds.data.table import Table
from cellbounds.errors import InvalidInput
from cellbounds.ledger import Entry, Ledger
from cellbounds.ledger.history import public_history
from cellbounds.ledger.lifting import Target, stacked, targets_of
from cellbounds.ledger.state import PASSING, State, state_of
from cellbounds.ledger.supplying import Tables, supplied
from cellbounds.model.effort import Effort
from cellbounds.report.pages.narrowing import LIMITS, views_of
from cellbounds.report.pages.plain import label_text
from cellbounds.report.pages.provenance import provenance
from cellbounds.report.pages.rendering import OUTCOMES, TEMPLATES, hash_of, surroundings
from cellbounds.version import __version__

__all__ = ["ledger_page"]

SECONDS = 60.0
"""For working out what was attainable after all releases, if no other budget is given."""

KINDS = {
    "opened": ("○", "opened"),
    "asked": ("?", "asked"),
    "released": ("●", "released"),
    "refused": ("×", "refused"),
    "policy": ("§", "policy changed"),
    "refined": ("+", "variables added"),
    "grown": ("+", "records added"),
    "revised": ("±", "records removed or corrected"),
}
"""A sign and a word for each kind of entry."""


def ledger_page(
    ledger: Ledger,
    *,
    table: Tables = None,
    public: bool = False,
    seconds: float | None = SECONDS,
) -> str:
    """The history of a ledger as one HTML page that needs no network.

    It has the entries in order, and what anybody could work out about each cell after each
    release: how many counts were attainable, and how they became fewer. The cells are those of the
    table as it is now.

    Parameters
    ----------
    ledger
        The ledger; its chain of hashes is checked.
    table
        The confidential table, a list of all versions if it grew: the owner's page then shows the
        counts. A table that the ledger keeps need not be given.
    public
        Only what outsiders may see: what :meth:`~cellbounds.ledger.Ledger.export` has for them,
        and what follows from the released figures.
    seconds
        A budget for working out what is attainable; None for no limit. What it cuts short is
        said, and may differ from run to run; otherwise the same ledger gives the same page.

    Raises
    ------
    BrokenChain
        If an entry is not what it was.

    Examples
    --------
    >>> import tempfile, cellbounds as cb
    >>> from cellbounds.ledger import Ledger
    >>> table = cb.example_table("delinquent")
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger.create(f"{folder.name}/delinquent.ledger", table, who="ann")
    >>> entry = ledger.commit("[education|county]@1", table=table, who="ann", why="yearbook")
    >>> page = ledger_page(ledger)
    >>> "yearbook" in page, "yearbook" in ledger_page(ledger, public=True)
    (True, False)
    >>> folder.cleanup()
    """
    _check(ledger, table, public)
    effort = Effort.of(seconds)
    entries = ledger.history()
    state = state_of(entries)
    shown = _public_entries(entries) if public else _owner_entries(entries)
    numbers = _numbers(entries, public)
    whole = None if public else _whole(ledger, state, table)
    targets = _open_targets(state) if public else targets_of(state)
    views = views_of(state, targets, numbers, whole, effort)
    content = {
        "version": __version__,
        "public": public,
        "entries": shown,
        "banner": _public_banner(state) if public else _banner(ledger, state, entries),
        "variables": [
            [name, [label_text(label) for label in state.domain.levels(name)]]
            for name in (_spoken(state) if public else state.domain.names)
        ],
        "policy": state.policy.to_dict(),
        "independent": state.independent,
        "versions": state.versions,
        "owner": None if public else _owner_facts(state),
        "views": views,
        "head": shown[-1]["hash"],
        "software": provenance(None, key=None, seed=None)["versions"],
    }
    return _rendered(content)


def _check(ledger: object, table: object, public: object) -> None:
    if not isinstance(ledger, Ledger):
        raise InvalidInput(f"a page on {ledger!r}; give a Ledger (Ledger.open)")
    if not isinstance(public, bool):
        raise InvalidInput(f"public={public!r}; give True or False")
    if public and table is not None:
        raise InvalidInput("a public page shows no count; leave the table out (table=, --table)")


def _rendered(content: Mapping[str, Any]) -> str:
    from markupsafe import Markup

    around = surroundings()
    common = around.globals
    style = f"{common['style']}\n{(TEMPLATES / 'ledger.css').read_text('utf-8').strip()}"
    template = around.get_template("ledger.html.j2")
    return str(
        template.render(
            content,
            kinds=KINDS,
            limits=LIMITS,
            style=Markup(style),
            allowed=f"style-src '{hash_of(style)}'; script-src '{hash_of(str(common['script']))}'",
            marks_of={one["key"]: one["marks"] for one in content["views"]},
        )
    )


# What happened.


def _owner_entries(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    version, shown = 1, []
    for one in entries:
        version += one.kind in ("grown", "revised")
        shown.append(_owner_entry(one, one.content.get("version", version)))
    return shown


def _owner_entry(entry: Entry, version: int) -> dict[str, Any]:
    said = entry.content
    shown: dict[str, Any] = {
        "number": entry.number,
        "kind": entry.kind,
        "at": entry.at,
        "who": entry.who,
        "why": entry.why,
        "statements": entry.statements,
        "table_version": version,
        "judged": said.get("judged"),
        "already_out": said.get("already_out", False),
        "knows": entry.knows,
        "hash": entry.hash,
    }
    if "policy" in said:
        shown |= {"policy": said["policy"]["name"], "independent": said["independent"]}
    if "domain" in said:
        shown["variables"] = [name for name, _ in said["domain"]["variables"]]
    return shown


def _public_entries(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """The public history, and nothing that is not in it."""
    shown = []
    for one in public_history(entries)["entries"]:
        blank = {"statements": (), "judged": None, "already_out": False, "knows": ()}
        known: dict[str, Any] = {**blank, **one}
        if isinstance(known.get("policy"), dict):
            known["policy"] = known["policy"]["name"]
        else:
            known.pop("policy", None)  # that of a release is the one of the entry before it
        shown.append(known)
    return shown


def _numbers(entries: Sequence[Entry], public: bool) -> list[tuple[int, Entry]]:
    """The releases with the numbers they are shown under: gaps would tell of refusals."""
    told = [one for one in entries if not public or one.kind not in PASSING]
    return [(number, one) for number, one in enumerate(told, 1) if one.kind == "released"]


def _banner(ledger: Ledger, state: State, entries: Sequence[Entry]) -> dict[str, Any]:
    # Somebody may have added an entry meanwhile; the page is about those that were read.
    found = ledger.verify(head=entries[-1].hash, entries=len(entries))
    word, sign = OUTCOMES[state.standing.value]
    said, tone = "the last verdict on everything that is out", state.standing.value
    if not state.released:
        word, sign, tone, said = "NOTHING IS OUT", "i", "untold", "nothing was released yet"
    kinds = [one.kind for one in entries]
    tally = ", ".join(
        f"{kinds.count(kind)} {words}" for kind, (_, words) in KINDS.items() if kind in kinds
    )
    if not found.intact:
        tone, sign, word = "unsafe", "×", "THE LEDGER WAS CHANGED"
        said = found.problem
    chain = f"the chain of hashes was checked: every link of {len(entries)} entries holds"
    return {
        "word": word,
        "sign": sign,
        "tone": tone,
        "said": said,
        "notes": [f"Entries: {tally}.", *([f"{chain}."] if found.intact else [])],
    }


def _public_banner(state: State) -> dict[str, Any]:
    count = len(state.released)
    return {
        "word": f"{count} RELEASE{'' if count == 1 else 'S'}",
        "sign": "i",
        "tone": "untold",
        "said": "what was released about one confidential table, and what anybody can work out",
        "notes": ["Releases are judged by the owner of the table."] if count else [],
    }


def _owner_facts(state: State) -> dict[str, Any]:
    return {
        "kept": state.kept,
        "digests": state.digests,
        "protected": [one for one in state.protected if one != state.domain.names],
    }


# What could be worked out.


def _whole(ledger: Ledger, state: State, table: Tables) -> Table | None:
    """Every version of the table as one; None if it is not at hand."""
    found = supplied(replace(state, independent=True), table, ledger.book.store.kept)
    return None if found is None else stacked(state, found)


def _spoken(state: State) -> tuple[str, ...]:
    """The variables that some release is about: the levels of others are not out."""
    said = {
        name for one in state.released for name, _ in one.content["release"]["domain"]["variables"]
    }
    return tuple(name for name in state.domain.names if name in said)


def _open_targets(state: State) -> list[Target]:
    """The cells of the table for outsiders; which other margins are protected is not told."""
    spoken, names = _spoken(state), state.domain.names
    found = []
    for target in targets_of(replace(state, protected=(names,))):
        part = () if target.over is None else target.over[: len(target.over) - len(names)]
        found.append(replace(target, over=(*part, *spoken)))
    return found
