"""What a worker does for a page. Plain values go in and come out; counts stay with their owner."""

from __future__ import annotations

import io
import json
import math
import time
import zipfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import escape

from cellbounds.data.domain import Domain
from cellbounds.data.reading import read_table
from cellbounds.data.table import Table
from cellbounds.disclosure.auditing import CellRisk, audit
from cellbounds.disclosure.exploring.design_search import guessing_risk
from cellbounds.disclosure.policies import Outcome, Verdict, policy_of
from cellbounds.disclosure.policies.judging import judged
from cellbounds.disclosure.policies.scenarios import cases_of, empty_rows
from cellbounds.disclosure.protecting import compare, protect
from cellbounds.disclosure.protecting.finished import Finished
from cellbounds.disclosure.protecting.protected import HiddenCell, Protected
from cellbounds.disclosure.published_cells import work_out
from cellbounds.disclosure.suggesting import suggest
from cellbounds.errors import InvalidInput, TooMuchWork, Unsettled, UnsupportedRelease
from cellbounds.ledger import Ledger, NotSafe
from cellbounds.papers.wright_smucker_2014 import known_rows
from cellbounds.report.ledger_page import ledger_page
from cellbounds.report.pages.content import columns_of, label_text, plain_cell, responses_of
from cellbounds.report.pages.page import laid_out, shown_cell
from cellbounds.report.published_report import render
from cellbounds.results import Attainable
from cellbounds.runtime.budget import Budget
from cellbounds.runtime.files import private_folder
from cellbounds.solvers.solve import attainable
from cellbounds.statements import Release, Statement
from cellbounds.statements.published import read_published
from cellbounds.utility.retained_utility import retained
from cellbounds.web.choices import Choice
from cellbounds.web.shelf import LEDGER, stamp_of
from cellbounds.web.work import without_folders

Steps = Callable[[int, int], None]
"""How a worker says how far it is."""

MAPPED = 1_500
"""Cells that a page shows as a map; of larger tables the cells at most risk are listed."""

LISTED = 60
"""Cells that are listed then."""

SMALL_TABLE = 500
"""Cells up to which every finding is looked for; of larger tables as many as the verdict needs."""

FINDINGS = 12
"""Findings that a page names."""

JUDGING = 0.7
"""The part of a budget for the verdict; the rest is for the map."""


@lru_cache(maxsize=8)
def table_at(source: str, stamp: str) -> Table:
    """A table in a file, or the one a ledger keeps; `stamp` tells a changed one from the other."""
    del stamp
    if source.startswith(LEDGER):
        table = Ledger.open(source.removeprefix(LEDGER)).table()
        assert table is not None  # it is kept there
        return table
    return read_table(source)


def described(path: str, stamp: str, _: Steps) -> dict[str, Any]:
    """What a page needs to know of a table: its variables, and how many people are in it."""
    table = table_at(path, stamp)
    domain = table.domain
    return {
        "domain": domain,
        "cells": domain.size,
        "total": table.total,
        "stamp": stamp,
    }


def look(path: str, stamp: str, choice: Choice, seconds: float, steps: Steps) -> Any:
    """The verdict on a choice, what anybody could work out, and what it is good for."""
    begun = time.perf_counter()
    table = table_at(path, stamp)
    release, whole = choice.release(table), choice.prepared(table)
    budget = Budget.of(seconds)
    policy = policy_of(choice.policy)
    cases = cases_of(release, whole, policy, effort=budget.share(0.2))
    steps(1, 4)
    verdict, found = judged(cases, budget.share(JUDGING), decisive=whole.domain.size > SMALL_TABLE)
    steps(2, 4)
    names = _names(release)
    margin = whole.margin(names)
    answer = found if found is not None and tuple(found.over) == names else None
    if answer is not None and cases[0].known is not release:
        answer = None  # it rests on more than the release says
    if answer is None:
        with suppress(TooMuchWork, Unsettled, UnsupportedRelease):
            answer = attainable(release, over=names, budget=budget.share(0.8, least=0.1))
    steps(3, 4)
    guessed = guessing_risk(
        release,
        margin,
        policy,
        independent=False,
        seconds=budget.share(least=0.05).left,
        answer=answer,
    )
    wanted = choice.wanted(table.domain)
    kept = retained(whole, release, use=[wanted])
    cells = [] if answer is None else _cells(answer, release, margin, verdict)
    return {
        "outcome": verdict.outcome.value,
        "reason": _reason(verdict),
        "policy": policy.name,
        "rules": list(policy.sentences),
        "warning": verdict.warning,
        "intruder": list(verdict.intruder),
        "notes": list(verdict.notes),
        "broken": len(verdict.broken),
        "open": len(verdict.open),
        "findings": [
            {
                "where": one.where,
                "over": ", ".join(one.variables),
                "rule": one.rule,
                "evidence": one.evidence,
                "outcome": one.outcome.value,
            }
            for one in (*verdict.broken, *verdict.open)[:FINDINGS]
        ],
        "exact": guessed.exact,
        "small": guessed.small,
        "tightest": guessed.tightest,
        "risk": guessed.risk,
        "settled": guessed.settled,
        "kept": kept.share,
        "wanted": wanted,
        "statements": [one.notation for one in choice.requests(table.domain)],
        "figures": margin.domain.size,
        "rows": _rows(choice, table.domain, answer, margin),
        **_map(cells, margin, release),
        "method": "" if answer is None else f"{answer.method}, {answer.evidence.value}",
        "seconds": time.perf_counter() - begun,
    }


def _names(release: Release) -> tuple[str, ...]:
    """The variables that are published, in the order of the table where they are its own."""
    named = [name for one in release.statements if one.published for name in one.variables]
    if not named:
        return release.domain.names
    order = {name: place for place, name in enumerate(release.domain.names)}
    base = release.domain.base
    return tuple(sorted(dict.fromkeys(named), key=lambda name: order[base(name)]))


def _cells(answer: Attainable, release: Release, margin: Table, verdict: Verdict) -> list[CellRisk]:
    names = margin.domain.names
    marked = {}
    for one in (*verdict.open, *verdict.broken):
        if set(one.variables) == set(names):
            by_name = dict(zip(one.variables, one.labels, strict=True))
            marked[tuple(by_name[name] for name in names)] = one.outcome
    arrays = margin.counts, margin.structural, empty_rows(release, names)
    flat = zip(answer.items(), *(array.ravel().tolist() for array in arrays), strict=True)
    return [
        CellRisk(labels, values, count, structural, empty, marked.get(labels, Outcome.SAFE))
        for (labels, values), count, structural, empty in flat
    ]


def _map(cells: Sequence[CellRisk], margin: Table, release: Release) -> dict[str, Any]:
    """The cells laid out, or of a large table those at most risk."""
    domain = margin.domain
    shown = []
    for cell in cells:
        plain = plain_cell(cell, judged=True)
        if cell.count is not None:
            plain["count"] = cell.count
        shown.append(plain)
    variables = [(name, [*map(label_text, domain.levels(name))]) for name in domain.names]
    content: dict[str, Any] = {"over": domain.names, "names": json.dumps(variables), "layout": None}
    if len(cells) > MAPPED:
        order = sorted(
            shown,
            key=lambda one: (
                one["mark"] != "broken",
                one["size"] or math.inf,
                one["count"] or math.inf,
            ),
        )
        # Zeros that are known are the usual thing of a sparse table: what is there comes first.
        shown = [one for one in order if one["count"]][:LISTED]
        return {**content, "cells": [shown_cell(one) for one in shown], "left_out": len(cells)}
    if cells:
        columns = columns_of(domain, responses_of(release))
        content["layout"] = laid_out(variables, columns)
    return {**content, "cells": [shown_cell(one) for one in shown], "left_out": 0}


def _reason(verdict: Verdict) -> str:
    worst = verdict.broken or verdict.open
    if not worst:
        return "no rule is broken"
    first = worst[0]
    more = f", and {len(worst) - 1} more" if len(worst) > 1 else ""
    return f"{first.rule} at {first.where}: {first.evidence}{more}"


def _rows(
    choice: Choice, domain: Domain, answer: Attainable | None, margin: Table
) -> dict[str, int]:
    """What rates alone give away, row by row; nothing of other releases."""
    request = choice.statements[0]
    if answer is None or len(choice.statements) > 1 or request.given is None or choice.hidden:
        return {}
    (lower, upper), _ = answer.ends()
    names = margin.domain.names
    published = choice.requests(domain)[0]
    order = [names.index(name) for name in published.names]
    height = math.prod(len(margin.domain.levels(name)) for name in published.given or ())
    arrays = (
        np.asarray(array).transpose(order).reshape(height, -1)
        for array in (margin.counts, lower, upper)
    )
    keys = ("rows", "columns", "empty", "single", "whole", "zeros", "small")
    return dict(zip(keys, known_rows(*arrays), strict=True))


def made_safe(
    path: str,
    stamp: str,
    choice: Choice,
    place: str,
    sources: Sequence[str],
    seconds: float,
    _: Steps,
) -> dict[str, Any]:
    """Safe releases near a choice and, of exact counts, the ways to protect them.

    Of a ledger's table they are looked for together with what is out, and what the ledger says of
    each stands beside it.
    """
    table = table_at(path, stamp)
    whole, release = choice.prepared(table), choice.release(table)
    protects = not choice.hidden and all(
        one.given is None and one.exact for one in choice.statements
    )
    part = 0.5 if protects else 1.0
    ledger = Ledger.open(place) if place else None
    knows = () if ledger is None else _out(ledger, choice.policy)
    share = seconds if ledger is None else 0.7 * seconds
    found = suggest(whole, release, choice.policy, most=6, knows=knows, seconds=share * part)
    each = (seconds - share) / 10

    def together(one: Release) -> str:
        """The outcome with what is out; empty without a ledger."""
        if ledger is None:
            return ""
        return ledger.ask(one, table=_tables(sources), seconds=each).outcome.value

    ways, problem = [], ""
    if protects:
        try:
            ways = _ways(whole, choice, table, share * (1 - part), together)
        except (InvalidInput, UnsupportedRelease) as refused:
            problem = str(refused)
    return {
        "outcome": found.outcome.value,
        "summary": found.summary,
        "suggestions": [
            {
                "notation": one.notation,
                "sentence": one.sentence,
                "kept": one.kept.share,
                "query": _query_of(one.release, choice, table),
                "together": together(one.release),
            }
            for one in found
        ],
        "ways": ways,
        "problem": problem,
    }


def _out(ledger: Ledger, policy: str) -> tuple[Statement, ...]:
    """What anybody knows from what is out, where it is about one version and the same policy."""
    state = ledger.state()
    if state.versions > 1 or state.policy != policy_of(policy):
        return ()
    return ledger.together().statements


def _ways(
    whole: Table,
    choice: Choice,
    table: Table,
    seconds: float,
    together: Callable[[Release], str],
) -> list[dict[str, Any]]:
    """The methods of `protect` side by side; a result that an address can say has one."""
    statements = [one.notation for one in choice.requests(table.domain)]
    found = compare(whole, *statements, policy=choice.policy, total=choice.total, seconds=seconds)
    ways = []
    for way in found:
        if way.result is not None and not way.result.changed:
            continue  # it is the design itself
        query = ""
        if isinstance(way.result, Protected):
            query = _hiding(choice, way.result.hidden, table).query
        elif way.result is not None:
            query = _query_of(way.result.release, choice, table)
        ways.append(
            {
                "method": way.method,
                "outcome": way.outcome.value,
                "kept": way.share,
                "lost": way.lost,
                "made": way.result is not None,
                "changed": 0 if way.result is None else way.result.changed,
                "query": query,
                "together": "" if way.result is None else together(way.result.release),
            }
        )
    return ways


def _query_of(release: Release, choice: Choice, table: Table) -> str:
    """The address of a release, if a page can say what it says; else empty."""
    found = Choice.of_release(release, choice, table)
    return "" if found is None else found.query


def _hiding(choice: Choice, hidden: Sequence[HiddenCell], table: Table) -> Choice:
    """The same with the figures hidden that protecting found."""
    requests, cells = choice.requests(table.domain), []
    domain = choice.prepared(table).domain
    for place, request in enumerate(requests):
        for one in hidden:
            if set(one.variables) == set(request.names):
                labels = dict(zip(one.variables, one.labels, strict=True))
                cell = tuple(domain.position(name, labels[name]) for name in request.names)
                cells.append((place, cell))
    return replace(choice, hidden=tuple(cells))


def written(
    path: str, stamp: str, choice: Choice, style: str, method: str, seconds: float, _: Steps
) -> bytes:
    """A choice as a release file, or what it gives away as a report; or the protected table."""
    table = table_at(path, stamp)
    whole = choice.prepared(table)
    with private_folder() as folder:
        if method:
            finished = _protected(whole, choice, table, method, seconds)
            if style != "zip":
                finished.write(folder / f"table.{style}")
                return (folder / f"table.{style}").read_bytes()
        if style == "zip":
            release = finished.release if method else choice.release(table)
            release.write(folder / "release.toml")
            packed = io.BytesIO()
            with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
                for file in sorted(folder.iterdir()):
                    archive.write(file, file.name)
            return packed.getvalue()
        target = folder / f"report.{style}"
        found = audit(whole, choice.release(table), choice.policy, seconds=seconds * 0.6)
        found.report(source=Path(path).name, seconds=seconds * 0.4).write(target)
        return target.read_bytes()


def _protected(whole: Table, choice: Choice, table: Table, method: str, seconds: float) -> Finished:
    """The counts of a choice, protected by one of the methods."""
    return protect(
        whole,
        *(one.notation for one in choice.requests(table.domain)),
        policy=choice.policy,
        method=method,
        total=choice.total,
        seconds=seconds,
    )


def attacked(path: str, seconds: float, _: Steps) -> str:
    """What anybody can work out from a table that was protected elsewhere: a page of its own."""
    published = read_published(path)
    risk = work_out(published, seconds=seconds)
    return without_folders(render(risk, "html"), [str(escape(path))])


def understood(path: str, _: Steps) -> dict[str, Any]:
    """What a file that somebody dropped holds: a table to explore, or one that hides counts."""
    problem: InvalidInput | None = None
    try:
        read_table(path)
        return {"kind": "table"}
    except InvalidInput as refused:
        problem = refused
    try:
        read_published(path)
    except InvalidInput:
        raise problem from None
    return {"kind": "published"}


def _tables(sources: Sequence[str]) -> list[Table] | None:
    """The versions of a ledger's table; None if the ledger keeps them itself."""
    if any(source.startswith(LEDGER) for source in sources):
        return None
    return [table_at(source, stamp_of(source)) for source in sources]


def together(
    place: str, sources: Sequence[str], choice: Choice, seconds: float, _: Steps
) -> dict[str, Any]:
    """What a choice gives away together with everything that is out."""
    ledger = Ledger.open(place)
    tables = _tables(sources)
    what = _what(ledger, tables, choice)
    answer = ledger.ask(what, table=tables, total=choice.total, seconds=seconds)
    return {
        "outcome": answer.outcome.value,
        "reason": answer.reason,
        "policy": answer.policy.name,
        "smallest": answer.smallest,
        "out": len(ledger.state().released),
        "blamed": [
            {"number": entry.number, "at": entry.at, "statements": ", ".join(entry.statements)}
            for entry in answer.harmful
        ],
    }


def _what(ledger: Ledger, tables: list[Table] | None, choice: Choice) -> Release | list[str]:
    """A choice in the notation, or with its figures where the notation cannot say them."""
    if choice.plain:
        return [one.notation for one in choice.statements]
    return choice.release(_at_hand(ledger, tables))


def _at_hand(ledger: Ledger, tables: list[Table] | None) -> Table:
    table = ledger.table(tables)
    if table is None:
        raise InvalidInput("the table is not at hand; supply it (--table)")
    return table


def submitted(
    place: str,
    sources: Sequence[str],
    choice: Choice,
    method: str,
    who: str,
    why: str,
    seconds: float,
    _: Steps,
) -> int:
    """Ask for a choice, or for its counts protected by a method."""
    ledger = Ledger.open(place)
    tables = _tables(sources)
    what = _what(ledger, tables, choice)
    if method:
        table = _at_hand(ledger, tables)
        what = _protected(choice.prepared(table), choice, table, method, seconds).release
    request = ledger.requests.submit(what, who=who, why=why, total=choice.total, origin="page")
    return request.number


def imported(
    place: str, paths: Sequence[str], name: str, who: str, why: str, _: Steps
) -> list[int]:
    """Ask for every table of files that another tool wrote, each by itself, as one batch."""
    requests = Ledger.open(place).requests
    tables = read_published(*paths).tables
    made = requests.submit_tables(tables, who=who, why=why, batch=name)
    return [request.number for request in made]


def request_judged(
    place: str, sources: Sequence[str], number: int, seconds: float, _: Steps
) -> int:
    """Judge a request with everything that is out, and note the answer beside it."""
    ledger = Ledger.open(place)
    ledger.requests.judge(number, table=_tables(sources), seconds=seconds)
    return number


def request_decided(
    place: str,
    sources: Sequence[str],
    number: int,
    decision: str,
    who: str,
    why: str,
    alone: bool,
    seconds: float,
    _: Steps,
) -> dict[str, Any]:
    """Approve or refuse a request; what is not safe by now stays waiting, judged anew."""
    ledger = Ledger.open(place)
    decide = ledger.requests.approve if decision == "approve" else ledger.requests.refuse
    tables = _tables(sources)
    try:
        done = decide(number, who=who, why=why, table=tables, alone=alone, seconds=seconds)
    except NotSafe as problem:
        ledger.requests.judge(number, table=tables, seconds=seconds)
        return {"status": "waiting", "said": str(problem)}
    return {"status": done.status, "said": ""}


def history(place: str, sources: Sequence[str], public: bool, seconds: float, _: Steps) -> str:
    """The history of a ledger, as it stands."""
    ledger = Ledger.open(place)
    table = None if public else _tables(sources)
    return ledger_page(ledger, table=table, public=public, seconds=seconds)
