"""Many people at one server of a team, on 127.0.0.1, while audits run; then approvals that race.

Exit status 1 if there was an error, answers came too late, or what is out is not safe together.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil

import cellbounds as cb
from cellbounds.web.client import Client, ServerError
from reliability.faults.races import POLICY, REQUESTS, TABLE, verdict
from reliability.load.people import Visits, live
from reliability.serving import PASSWORD, Server, sparse_table, team_ledger

__all__ = ["main"]

MEDIAN, LATEST = 0.2, 1.0
"""Seconds in which half of the pages, and 19 of 20, have to be there."""

BOTH = ["asks", "decides"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line; returns the exit code."""
    options = parsed(arguments)
    with tempfile.TemporaryDirectory(prefix="load-") as name:
        folder = Path(name)
        (folder / "race").mkdir()
        found = _load(options, folder)
        problems = [*_judged(found), *raced(folder / "race", options.races)]
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1), "utf-8")
    for words in problems:
        print(words)
    return 1 if problems else 0


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m reliability.load", description=__doc__)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--every", type=float, default=3.0, help="seconds between two questions")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--audits", type=int, default=1, help="people who ask for report on report")
    parser.add_argument("--races", type=int, default=5, help="of eight approvals each")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the figures here as well")
    return parser.parse_args(arguments)


def _load(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """People come and go on; how long they waited, and what the server took."""
    names = [f"person {k}" for k in range(options.clients + options.audits)]
    table = sparse_table()
    place, file = team_ledger(folder, table, dict.fromkeys(names, BOTH))
    server = Server(place, "--table", file)
    try:
        visits = Visits()
        begun, before = time.monotonic(), _spent(server)
        asyncio.run(_everybody(server.base, names, [*table.domain.names], visits, options))
        after, memory = _spent(server), _held(server)
        figures = _figures(visits, time.monotonic() - begun, after - before, memory)
        if not cb.Ledger.open(place).verify().intact:
            figures["errors"].append("the chain is broken")
    finally:
        server.end()
    _show(figures)
    return figures


async def _everybody(
    base: str, names: list[str], variables: list[str], visits: Visits, options: argparse.Namespace
) -> None:
    until = time.monotonic() + 60 * options.minutes
    await asyncio.gather(
        *(
            live(
                base,
                name,
                variables,
                visits,
                every=options.every,
                until=until,
                audits=place >= options.clients,
                seed=options.seed + place,
            )
            for place, name in enumerate(names)
        )
    )


def _spent(server: Server) -> float:
    """Seconds of a processor that the server and its workers took so far."""
    total = 0.0
    for process in server.family():
        times = process.cpu_times()
        total += times.user + times.system
    return total


def _held(server: Server) -> list[int]:
    """MiB of memory that each of its processes holds."""
    return [process.memory_info().rss // 2**20 for process in server.family()]


def _figures(visits: Visits, seconds: float, spent: float, memory: list[int]) -> dict[str, Any]:
    pages = [visit.seconds for visit in visits.all if visit.kind != "audit"]
    kinds = sorted({visit.kind for visit in visits.all})
    times = {kind: [visit.seconds for visit in visits.all if visit.kind == kind] for kind in kinds}
    return {
        "seconds": round(seconds, 1),
        "pages": len(pages),
        "median": round(statistics.median(pages), 4),
        "latest": round(statistics.quantiles(pages, n=20)[-1], 4),
        "kinds": {
            kind: {"number": len(found), "median": round(statistics.median(found), 4)}
            for kind, found in times.items()
        },
        "processor": round(spent, 1),
        "each": round(spent / len(visits.all), 4),
        "memory": memory,
        "errors": visits.errors,
    }


def _show(found: dict[str, Any]) -> None:
    print(
        f"{found['pages']} pages in {found['seconds']} s: median {found['median']} s, 19 of 20 "
        f"within {found['latest']} s, {len(found['errors'])} errors; {found['processor']} s of a "
        f"processor ({found['each']} s for each question), {sum(found['memory'])} MiB; "
        f"{psutil.cpu_count()} processors, load {psutil.getloadavg()[1]:.1f}"
    )
    for kind, about in found["kinds"].items():
        print(f"  {kind:9} {about['number']:6}  median {about['median']} s")


def _judged(found: dict[str, Any]) -> list[str]:
    problems = [str(words) for words in found["errors"][:20]]
    if found["median"] > MEDIAN:
        problems.append(f"half of the pages took longer than {MEDIAN} s")
    if found["latest"] > LATEST:
        problems.append(f"one of 20 pages took longer than {LATEST} s")
    return problems


def raced(folder: Path, races: int) -> list[str]:
    """Eight people approve at once what is safe in pairs and not all together."""
    people = {f"decides {k}": BOTH for k in range(len(REQUESTS))}
    problems = []
    for number in range(races):
        home = folder / str(number)
        home.mkdir()
        place, file = team_ledger(home, TABLE, {**people, "asks": ["asks"]}, policy=POLICY)
        server = Server(place, "--table", file)
        try:
            asking = Client.login(server.base, "asks", PASSWORD)
            clients = [Client.login(server.base, name, PASSWORD) for name in people]
            numbers = [
                asking.submit([text], why="a race", total=False)["number"] for text in REQUESTS
            ]
            with ThreadPoolExecutor(len(clients)) as threads:
                statuses = [*threads.map(_approved, clients, numbers)]
        finally:
            server.end()
        history = cb.Ledger.open(place).history()
        out = [text for entry in history if entry.kind == "released" for text in entry.statements]
        print(f"race {number + 1}: {statuses}, {len(out)} released")
        if verdict(*out) != "safe" or not out:
            problems.append(f"race {number + 1}: {out} are out, which are not safe together")
        if sum(status == 200 for status in statuses) != len(out):
            problems.append(f"race {number + 1}: {statuses} were said, {len(out)} are out")
    return problems


def _approved(client: Client, number: int) -> int:
    """The status of an approval: 200, or 409 where it is not safe."""
    try:
        client.decide(number, "approve", why="a race")
    except ServerError as refused:
        return refused.status
    return 200
