"""The history of a ledger as a page: what happened, and how the attainable counts narrowed."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from cellbounds.data.table import Table
from cellbounds.disclosure.auditing import CellRisk
from cellbounds.disclosure.policies.scenarios import empty_rows, margin_of
from cellbounds.errors import InvalidInput, TooMuchWork, Unsettled, UnsupportedRelease
from cellbounds.ledger import Entry, Ledger
from cellbounds.ledger.history import public_history
from cellbounds.ledger.journal import PASSING, LedgerState, state_of
from cellbounds.ledger.versions import (
    ProtectedCells,
    PublishedRelease,
    Tables,
    joined,
    stacked,
    supplied,
    targets_of,
)
from cellbounds.report.filing import provenance
from cellbounds.report.pages.content import plain_cell
from cellbounds.report.pages.page import (
    BANDS,
    OUTCOMES,
    TEMPLATES,
    hash_of,
    shown_cell,
    surroundings,
)
from cellbounds.report.pages.wording import label_text, labels_text
from cellbounds.results import Attainable, Unbounded, ValueSet
from cellbounds.runtime.budget import Budget, running
from cellbounds.solvers.solve import attainable
from cellbounds.statements import Release
from cellbounds.version import __version__

__all__ = ["ledger_page"]

MOST_ROWS = 60
"""Cells that the page follows one by one; of larger tables those that narrowed most."""

LEAST = 0.05
"""Seconds for the state after a release even if the budget is spent: cheap methods come first."""

LIMITS = tuple(most for most, _, _ in BANDS if most is not None)
"""Numbers of attainable counts at which the colours change."""

CHART_WIDTH, CHART_HEIGHT = 300, 150
SPARK_HEIGHT = 30


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """What anybody could work out after a release; no cells if that was not worked out."""

    number: int
    entry: Entry
    cells: tuple[CellRisk, ...]
    said: str


def _views(
    state: LedgerState,
    targets: Sequence[ProtectedCells],
    numbers: Sequence[tuple[int, Entry]],
    whole: Table | None,
    effort: Budget,
    solve: Callable[..., Attainable],
) -> list[dict[str, Any]]:
    """For each kind of cells, what was attainable after each release."""
    if not numbers:
        return []
    shares = itertools.count(len(targets) * len(numbers), -1)
    views = []
    for place, target in enumerate(targets, 1):
        stages = []
        for count, (number, entry) in enumerate(numbers, 1):
            pieces = [PublishedRelease.recorded(released) for _, released in numbers[:count]]
            part = effort.share(1 / next(shares), least=LEAST)
            ask = partial(solve, over=target.over, budget=part)
            release = joined(state, pieces)
            stages.append(Stage(number, entry, *_attainable(release, target, state, whole, ask)))
        views.append({"key": f"v{place}", "said": target.said, **_view(state, target, stages)})
    return views


def _attainable(
    release: Release,
    target: ProtectedCells,
    state: LedgerState,
    whole: Table | None,
    ask: Callable[..., Attainable],
) -> tuple[tuple[CellRisk, ...], str]:
    """What anybody could work out about each cell, and how; or why that was not worked out."""
    domain, names = release.domain, target.over or release.domain.names
    structural = np.broadcast_to(state.structural, domain.shape)
    counts = np.zeros(domain.shape, dtype=int) if whole is None else whole.counts
    table = Table(domain, counts, structural=structural)
    margin = margin_of(release, table, names)
    try:
        answer = ask(release, start=None if whole is None else table)
        sets = [values for _, values in answer.items()]
    except (TooMuchWork, Unsettled, UnsupportedRelease) as problem:
        return (), f"not worked out: {problem}"
    known = margin.counts.ravel().tolist() if whole is not None else [None] * len(sets)
    cells = zip(
        margin.domain.cells(),
        sets,
        known,
        margin.structural.ravel().tolist(),
        empty_rows(release, names).ravel().tolist(),
        strict=True,
    )
    return tuple(CellRisk(*cell) for cell in cells), f"{answer.method}, {answer.evidence.value}"


def _view(state: LedgerState, target: ProtectedCells, stages: Sequence[Stage]) -> dict[str, Any]:
    """Everything that the page shows of one kind of cells."""
    worked = [stage for stage in stages if stage.cells]
    last = worked[-1].cells if worked else ()
    counted = [k for k, cell in enumerate(last) if not (cell.structural or cell.empty_row)]
    rows = list(range(len(last))) if len(last) <= MOST_ROWS else _narrowed(worked, counted)
    names = [name for name in target.over or state.domain.names if name in state.domain.names]
    lines = [_row(worked, place, len(names)) for place in rows]
    after = [f"entry {stage.number}, {', '.join(stage.entry.statements)}" for stage in worked]
    levels = [[name, [label_text(label) for label in state.domain.levels(name)]] for name in names]
    return {
        "names": names,
        "cells": len(last),
        "empty": len(last) - len(counted),
        "states": [_numbers_after(stage, counted) for stage in stages],
        "worked": [stage.number for stage in worked],
        "chart": _chart(worked, counted),
        "rows": lines,
        "left_out": len(last) - len(rows),
        "open": any(not cell.values.settled for stage in worked for cell in stage.cells),
        "marks": {cell["mark"] for line in lines for cell in line["cells"]},
        "data": json.dumps([*levels, ["after", after]]),
        "counts": any(cell.count is not None for cell in last),
    }


def _size(values: ValueSet) -> float | int:
    """How many counts are attainable at most, as far as that is proven."""
    size = values.possible.size
    return math.inf if isinstance(size, Unbounded) else size


def _band(size: float | int) -> int:
    return next(k for k, (most, _, _) in enumerate(BANDS) if most is None or size <= most)


def _numbers_after(stage: Stage, counted: Iterable[int]) -> dict[str, Any]:
    cells = [stage.cells[place] for place in counted] if stage.cells else []
    sizes = [_size(cell.values) for cell in cells]
    return {
        "number": stage.number,
        "statements": stage.entry.statements,
        "upto": [sum(size <= most for size in sizes) for most in LIMITS],
        "settled": sum(cell.values.settled for cell in cells),
        "worked": bool(stage.cells),
        "said": stage.said,
    }


def _narrowed(worked: Sequence[Stage], counted: Sequence[int]) -> list[int]:
    """The places of the cells whose attainable counts became fewer by the largest factor."""

    def rank(place: int) -> tuple[bool, Fraction, float | int, int]:
        first, last = (_size(stage.cells[place].values) for stage in (worked[0], worked[-1]))
        endless = math.isinf(first) and not math.isinf(last)
        factor = Fraction(1) if math.isinf(first) else Fraction(int(first), int(last))
        return not endless, -factor, last, place

    return sorted(sorted(counted, key=rank)[:MOST_ROWS])


def _row(worked: Sequence[Stage], place: int, names: int) -> dict[str, Any]:
    cells = [stage.cells[place] for stage in worked]
    shown = [shown_cell(plain_cell(cell, judged=False)) for cell in cells]
    for number, cell in enumerate(shown):
        cell["place"] = place * len(worked) + number
    # A part of the records stands before the variables of the table; the heading tells it.
    labels = labels_text(cells[0].labels[-names:])
    return {"labels": labels, "count": cells[0].count, "cells": shown, "spark": _spark(cells)}


# Drawings: coordinates; the template has the rest.


def _spark(cells: Sequence[CellRisk]) -> dict[str, Any]:
    """Bars from the smallest to the largest attainable count, one for each release."""
    ends = [(cell.values.possible.smallest, cell.values.possible.largest) for cell in cells]
    finite = [high for _, high in ends if not isinstance(high, Unbounded)]
    top = max([1, *finite, *(2 * low for low, _ in ends)] if len(finite) < len(ends) else finite)
    wide = max(2, min(16, 120 // len(cells)))

    def level(count: int | Unbounded) -> float:
        shown = top if isinstance(count, Unbounded) else count
        return round(float((SPARK_HEIGHT - 4) * (1 - Fraction(shown, max(top, 1)))) + 2, 2)

    bars = [
        {
            "x": wide * number + 0.5,
            "y": level(high) - 1,
            "height": round(level(low) - level(high) + 2, 2),
        }
        for number, (low, high) in enumerate(ends)
    ]
    return {
        "bars": bars,
        "wide": wide,
        "width": wide * len(cells),
        "truth": None if cells[0].count is None else level(cells[0].count),
    }


def _chart(worked: Sequence[Stage], counted: Sequence[int]) -> dict[str, Any]:
    """Columns of cells by how many counts are attainable, the fewest at the foot."""
    scale = CHART_HEIGHT / max(len(counted), 1)
    wide = round(min(90.0, CHART_WIDTH / max(len(worked), 1)), 2)
    bars: list[dict[str, Any]] = []
    lines: list[list[str]] = [[] for _ in LIMITS]
    for number, stage in enumerate(worked):
        held = [_band(_size(stage.cells[place].values)) for place in counted]
        left, below = round(wide * number, 2), 0
        for band, (_, name, words) in enumerate(BANDS):
            count = held.count(band)
            below += count
            top = round(CHART_HEIGHT - scale * below, 2)
            if band < len(LIMITS):
                lines[band] += [f"{left},{top}", f"{round(left + wide, 2)},{top}"]
            if count:
                said = f"after entry {stage.number}: {count:,} with {words} attainable"
                tall = round(scale * count, 2)
                bars.append({"x": left, "y": top, "height": tall, "band": name, "said": said})
    every = math.ceil(len(worked) / 12)
    ticks = [
        (round(wide * (number + 0.5), 2), stage.number)
        for number, stage in enumerate(worked)
        if number % every == 0
    ]
    width = round(wide * len(worked), 2)
    return {"bars": bars, "wide": wide, "width": width, "lines": lines, "ticks": ticks}


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
    budget: Budget | None = None,
    seconds: float | None = None,
    solve: Callable[..., Attainable] = attainable,
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
    budget, seconds
        What working out what is attainable may cost: a :class:`Budget`, or seconds alone; 60
        seconds unless given. What it cuts short is said, and may differ from run to run; otherwise
        the same ledger gives the same page.
    solve
        How attainable counts are worked out.

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
    entries = ledger.history()
    state = state_of(entries)
    shown = _public_entries(entries) if public else _owner_entries(entries)
    numbers = _numbers(entries, public)
    whole = None if public else _whole(ledger, state, table)
    targets = _open_targets(state) if public else targets_of(state)
    if budget is None and seconds is None:
        seconds = SECONDS
    with running(budget, seconds) as budget:
        views = _views(state, targets, numbers, whole, budget, solve)
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
    for entry in entries:
        version += entry.kind in ("grown", "revised")
        shown.append(_owner_entry(entry, entry.content.get("version", version)))
    return shown


def _owner_entry(entry: Entry, version: int) -> dict[str, Any]:
    content = entry.content
    shown: dict[str, Any] = {
        "number": entry.number,
        "kind": entry.kind,
        "at": entry.at,
        "who": entry.who,
        "why": entry.why,
        "statements": entry.statements,
        "table_version": version,
        "judged": content.get("judged"),
        "already_out": content.get("already_out", False),
        "knows": entry.knows,
        "hash": entry.hash,
    }
    if "policy" in content:
        shown |= {"policy": content["policy"]["name"], "independent": content["independent"]}
    if "domain" in content:
        shown["variables"] = [name for name, _ in content["domain"]["variables"]]
    return shown


def _public_entries(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """The public history, and nothing that is not in it."""
    shown = []
    for entry in public_history(entries)["entries"]:
        blank = {"statements": (), "judged": None, "already_out": False, "knows": ()}
        known: dict[str, Any] = {**blank, **entry}
        if isinstance(known.get("policy"), dict):
            known["policy"] = known["policy"]["name"]
        else:
            known.pop("policy", None)  # that of a release is the one of the entry before it
        shown.append(known)
    return shown


def _numbers(entries: Sequence[Entry], public: bool) -> list[tuple[int, Entry]]:
    """The releases with the numbers they are shown under: gaps would tell of refusals."""
    told = [entry for entry in entries if not public or entry.kind not in PASSING]
    return [(number, one) for number, one in enumerate(told, 1) if one.kind == "released"]


def _banner(ledger: Ledger, state: LedgerState, entries: Sequence[Entry]) -> dict[str, Any]:
    # Somebody may have added an entry meanwhile; the page is about those that were read.
    check = ledger.verify(head=entries[-1].hash, entries=len(entries))
    word, sign = OUTCOMES[state.standing.value]
    said, tone = "the last verdict on everything that is out", state.standing.value
    if not state.released:
        word, sign, tone, said = "NOTHING IS OUT", "i", "untold", "nothing was released yet"
    kinds = [entry.kind for entry in entries]
    tally = ", ".join(
        f"{kinds.count(kind)} {words}" for kind, (_, words) in KINDS.items() if kind in kinds
    )
    if not check.intact:
        tone, sign, word = "unsafe", "×", "THE LEDGER WAS CHANGED"
        said = check.problem
    chain = f"the chain of hashes was checked: every link of {len(entries)} entries holds"
    return {
        "word": word,
        "sign": sign,
        "tone": tone,
        "said": said,
        "notes": [f"Entries: {tally}.", *([f"{chain}."] if check.intact else [])],
    }


def _public_banner(state: LedgerState) -> dict[str, Any]:
    count = len(state.released)
    return {
        "word": f"{count} RELEASE{'' if count == 1 else 'S'}",
        "sign": "i",
        "tone": "untold",
        "said": "what was released about one confidential table, and what anybody can work out",
        "notes": ["Releases are judged by the owner of the table."] if count else [],
    }


def _owner_facts(state: LedgerState) -> dict[str, Any]:
    return {
        "kept": state.kept,
        "digests": state.digests,
        "protected": [names for names in state.protected if names != state.domain.names],
    }


# What could be worked out.


def _whole(ledger: Ledger, state: LedgerState, table: Tables) -> Table | None:
    """Every version of the table as one; None if it is not at hand."""
    tables = supplied(replace(state, independent=True), table, ledger.book.store.kept)
    return None if tables is None else stacked(state, tables)


def _spoken(state: LedgerState) -> tuple[str, ...]:
    """The variables that some release is about: the levels of others are not out."""
    spoken = {
        name
        for entry in state.released
        for name, _ in entry.content["release"]["domain"]["variables"]
    }
    return tuple(name for name in state.domain.names if name in spoken)


def _open_targets(state: LedgerState) -> list[ProtectedCells]:
    """The cells of the table for outsiders; which other margins are protected is not told."""
    spoken, names = _spoken(state), state.domain.names
    targets = []
    for target in targets_of(replace(state, protected=(names,))):
        part = () if target.over is None else target.over[: len(target.over) - len(names)]
        targets.append(replace(target, over=(*part, *spoken)))
    return targets
