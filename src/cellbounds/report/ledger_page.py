"""The history of a ledger as a page: what happened, and how the attainable counts narrowed."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from cellbounds.data.table import Table
from cellbounds.disclosure.auditing import CellRisk
from cellbounds.disclosure.policies.scenarios import empty_rows
from cellbounds.errors import InvalidInput, TooMuchWork, Unsettled, UnsupportedRelease
from cellbounds.ledger import Entry, Ledger, versions
from cellbounds.ledger.history import public_history
from cellbounds.ledger.journal import PASSING, LedgerState, state_of
from cellbounds.ledger.versions import ProtectedCells, PublishedRelease, Tables, targets_of
from cellbounds.report.filing import provenance
from cellbounds.report.pages.content import label_text, labels_text, plain_cell
from cellbounds.report.pages.page import OUTCOMES, rendered, shown_cell
from cellbounds.results import Attainable, Unbounded
from cellbounds.runtime.budget import UNLIMITED, Budget, running, stopped_late
from cellbounds.solvers.solve import attainable
from cellbounds.statements import Release
from cellbounds.version import __version__

MOST_ROWS = 60
"""Cells that the page follows one by one; of larger tables those that narrowed most."""

LEAST = 0.05
"""Seconds for the state after a release even if the budget is spent: cheap methods come first."""

BANDS = (
    (1, "one", "1"),
    (3, "few", "2 or 3"),
    (9, "some", "4 to 9"),
    (99, "many", "10 to 99"),
    (None, "most", "100 or more"),
)
"""How many attainable counts share a shade of the chart: the most of them, a class, words."""

LIMITS = tuple(most for most, _, _ in BANDS if most is not None)
"""Numbers of attainable counts at which the colours change."""


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
    budget: Budget,
    solve: Callable[..., Attainable],
) -> list[dict[str, Any]]:
    """For each kind of cells, what was attainable after each release."""
    shares = itertools.count(len(targets) * len(numbers), -1)
    views = []
    for place, target in enumerate(targets if numbers else (), 1):
        stages = []
        for count, (number, entry) in enumerate(numbers, 1):
            pieces = [PublishedRelease.recorded(released) for _, released in numbers[:count]]
            part = budget.share(1 / next(shares), least=LEAST)
            ask = partial(solve, over=target.over, budget=part)
            cells: tuple[CellRisk, ...] = ()
            try:
                if budget.overdue:
                    raise Unsettled("the budget is spent; give more seconds")
                with stopped_late(budget):
                    release = versions.joined(state, pieces)
                    cells, how = _attainable(release, target, state, whole, ask)
            except (TooMuchWork, Unsettled, UnsupportedRelease) as problem:
                how = f"not worked out: {problem}"
            stages.append(Stage(number, entry, cells, how))
        views.append({"key": f"v{place}", "said": target.said, **_view(state, target, stages)})
    return views


def _attainable(
    release: Release,
    target: ProtectedCells,
    state: LedgerState,
    whole: Table | None,
    ask: Callable[..., Attainable],
) -> tuple[tuple[CellRisk, ...], str]:
    """What anybody could work out about each cell, and how."""
    domain, names = release.domain, target.over or release.domain.names
    structural = np.broadcast_to(state.structural, domain.shape)
    counts = np.zeros(domain.shape, dtype=int) if whole is None else whole.counts
    table = Table(domain, counts, structural=structural)
    answer = ask(release, start=None if whole is None else table)
    sets = list(answer.items())
    margin = table.margin(names)
    known = margin.counts if whole is not None else np.full(margin.domain.shape, None)
    arrays = (known, margin.structural, empty_rows(release, names))
    flat = zip(sets, *(array.ravel().tolist() for array in arrays), strict=True)
    cells = tuple(CellRisk(labels, values, *facts) for (labels, values), *facts in flat)
    return cells, f"{answer.method}, {answer.evidence.value}"


def _view(state: LedgerState, target: ProtectedCells, stages: Sequence[Stage]) -> dict[str, Any]:
    """Everything that the page shows of one kind of cells."""
    worked = [stage for stage in stages if stage.cells]
    last = worked[-1].cells if worked else ()
    counted = [k for k, cell in enumerate(last) if not (cell.structural or cell.empty_row)]
    rows = list(range(len(last))) if len(last) <= MOST_ROWS else _narrowed(worked, counted)
    names = [name for name in target.over or state.domain.names if name in state.domain.names]
    lines = [_row(worked, place, len(names)) for place in rows]
    states = []
    for stage in stages:
        # How many cells have at most so many attainable counts, as far as that is proven.
        sets = [stage.cells[place].values for place in counted] if stage.cells else []
        sizes = [values.possible.size for values in sets]
        upto = [*(sum(size <= most for size in sizes) for most in LIMITS), len(sizes)]
        settled = sum(values.settled for values in sets)
        about = {"number": stage.number, "statements": stage.entry.statements, "said": stage.said}
        states.append({**about, "upto": upto, "settled": settled, "worked": bool(stage.cells)})
    after = [f"entry {stage.number}, {', '.join(stage.entry.statements)}" for stage in worked]
    levels = [[name, [*map(label_text, state.domain.levels(name))]] for name in names]
    return {
        "names": names,
        "cells": len(last),
        "empty": len(last) - len(counted),
        "states": states,
        "worked": [stage.number for stage in worked],
        "rows": lines,
        "left_out": len(last) - len(rows),
        "open": any(not cell.values.settled for stage in worked for cell in stage.cells),
        "marks": {cell["mark"] for line in lines for cell in line["cells"]},
        "data": json.dumps([*levels, ["after", after]]),
        "counts": any(cell.count is not None for cell in last),
    }


def _narrowed(worked: Sequence[Stage], counted: Sequence[int]) -> list[int]:
    """The places of the cells whose attainable counts became fewer by the largest factor."""

    def rank(place: int) -> tuple[bool, Fraction, int | Unbounded, int]:
        first, last = (stage.cells[place].values.possible.size for stage in (worked[0], worked[-1]))
        if isinstance(first, Unbounded) or isinstance(last, Unbounded):
            return isinstance(last, Unbounded), Fraction(-1), last, place
        return True, -Fraction(first, last), last, place

    return sorted(sorted(counted, key=rank)[:MOST_ROWS])


def _row(worked: Sequence[Stage], place: int, names: int) -> dict[str, Any]:
    cells = [stage.cells[place] for stage in worked]
    shown = [shown_cell(plain_cell(cell, judged=False)) for cell in cells]
    for number, cell in enumerate(shown):
        cell["place"] = place * len(worked) + number
    ends = [(cell.values.possible.smallest, cell.values.possible.largest) for cell in cells]
    finite = [high for _, high in ends if not isinstance(high, Unbounded)]
    top = max([1, *finite, *(2 * low for low, _ in ends)] if len(finite) < len(ends) else finite)
    return {
        # A part of the records stands before the variables of the table; the heading tells it.
        "labels": labels_text(cells[0].labels[-names:]),
        "count": cells[0].count,
        "cells": shown,
        "ends": [(low, min(high, top)) for low, high in ends],
        "top": top,
    }


SECONDS = 60.0
"""For working out what was attainable after all releases, if no other budget is given."""

KINDS = {
    "opened": ("○", "opened"),
    "asked": ("?", "asked"),
    "released": ("●", "released"),
    "refused": ("×", "refused"),
    "requested": ("…", "requested"),
    "closed": ("–", "request closed"),
    "person": ("☺", "people changed"),
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
    budget: Budget = UNLIMITED,
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
    >>> table = cb.datasets.read("delinquent")
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger.create(f"{folder.name}/delinquent.ledger", table, who="ann")
    >>> entry = ledger.commit("[education|county]@1", table=table, who="ann", why="yearbook")
    >>> page = ledger_page(ledger)
    >>> "yearbook" in page, "yearbook" in ledger_page(ledger, public=True)
    (True, False)
    >>> folder.cleanup()
    """
    if not isinstance(ledger, Ledger):
        raise InvalidInput(f"a page on {ledger!r}; give a Ledger (Ledger.open)")
    if not isinstance(public, bool):
        raise InvalidInput(f"public={public!r}; give True or False")
    if public and table is not None:
        raise InvalidInput("a public page shows no count; leave the table out (table=, --table)")
    entries = ledger.history()
    state = state_of(entries)
    shown = _shown_entries(entries, public)
    # The releases with the numbers they are shown under: gaps would tell of refusals.
    told = [entry for entry in entries if not public or entry.kind not in PASSING]
    numbers = [(place, entry) for place, entry in enumerate(told, 1) if entry.kind == "released"]
    names, targets, whole = state.domain.names, targets_of(state), None
    if public:
        names = _spoken(state)
        targets = _open_targets(state, names)
    else:
        tables = versions.supplied(replace(state, independent=True), table, ledger.book.kept)
        whole = None if tables is None else versions.stacked(state, tables)
    if budget is UNLIMITED and seconds is None:
        seconds = SECONDS
    with running(budget, seconds, stops=False) as budget:
        views = _views(state, targets, numbers, whole, budget, solve)
    return rendered(
        "ledger.html.j2",
        ["report.css", "ledger.css"],
        version=__version__,
        public=public,
        entries=shown,
        # Somebody may have added an entry meanwhile; the page is about those that were read.
        check=None if public else ledger.verify(head=entries[-1].hash, entries=len(entries)),
        outcomes=OUTCOMES,
        variables=[[name, [*map(label_text, state.domain.levels(name))]] for name in names],
        policy=state.policy.to_dict(),
        independent=state.independent,
        versions=state.versions,
        owner=None if public else state,
        views=views,
        head=shown[-1]["hash"],
        software=provenance(None, key=None, seed=None)["versions"],
        kinds=KINDS,
        bands=BANDS,
        limits=LIMITS,
    )


def _shown_entries(entries: Sequence[Entry], public: bool) -> list[dict[str, Any]]:
    """Every entry for its owner; or the public history, and nothing that is not in it."""
    shown, version = [], 1
    for entry in () if public else entries:
        version += entry.kind in ("grown", "revised")
        about = {"table_version": entry.content.get("version", version)}
        if "domain" in entry.content:
            about["variables"] = [name for name, _ in entry.content["domain"]["variables"]]
        shown.append(about | entry.content | entry.to_dict())
    blank = {"statements": (), "judged": None, "already_out": False, "knows": ()}
    return [blank | entry for entry in (public_history(entries)["entries"] if public else shown)]


def _spoken(state: LedgerState) -> tuple[str, ...]:
    """The variables that some release is about: the levels of others are not out."""
    spoken = {
        name
        for entry in state.released
        for name, _ in entry.content["release"]["domain"]["variables"]
    }
    return tuple(name for name in state.domain.names if name in spoken)


def _open_targets(state: LedgerState, spoken: Sequence[str]) -> list[ProtectedCells]:
    """The cells of the table for outsiders; which other margins are protected is not told."""
    names = state.domain.names
    targets = []
    for target in targets_of(replace(state, protected=(names,))):
        part = () if target.over is None else target.over[: len(target.over) - len(names)]
        targets.append(replace(target, over=(*part, *spoken)))
    return targets
