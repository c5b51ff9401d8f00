"""Eight writers at once, whose requests are safe in pairs and not all together."""

from __future__ import annotations

import itertools
import os
import shutil
import time
from pathlib import Path

import numpy as np

import cellbounds as cb
from cellbounds.ledger import Ledger
from reliability.faults.children import Child, Ending, start
from reliability.faults.ledgers import OnPostgres, Storage
from reliability.faults.tally import Tally
from reliability.faults.workshop import SMALL, Workshop, write_table

__all__ = ["POLICY", "REQUESTS", "TABLE", "races", "verdict"]

WRITERS = 8

REQUESTS = ("[a,b]", "[b,c]", "[a,c]", "[a|b]@1", "[b|c]@1", "[c|a]@1", "[a,b]~3", "[c]~5")
COUNTS = (0, 5, 6, 4, 7, 5, 8, 0)
"""The three margins fix every cell of this table: the only move between tables that agree on them
takes from one of its zeros, in either direction. Two of them fix none."""

TABLE = cb.Table(cb.Domain(SMALL), np.reshape(COUNTS, (2, 2, 2)))

POLICY = cb.policies.Policy("race", rules=(cb.policies.SmallCounts(at_most=3, values=2),))
"""Zeros are small too."""


def races(shop: Workshop, storage: Storage, count: int) -> Tally:
    """Let writers race; in every third race one of them is killed on the way."""
    tally = Tally(f"race of {WRITERS}", storage.name)
    _check_requests()
    table = shop.root / "race.csv"
    write_table(table, SMALL, COUNTS)
    for number in range(count):
        with shop.folder() as folder:
            shutil.copy(table, folder / "race.csv")
            place = str(folder / "race.ledger")
            if isinstance(storage, OnPostgres):
                place = storage.server.shared()
            _race(shop, folder, place, tally, killing=number % 3 == 2)
    return tally


def _check_requests() -> None:
    for size, expected in ((1, "safe"), (2, "safe"), (len(REQUESTS), "unsafe")):
        for chosen in itertools.combinations(REQUESTS, size):
            if verdict(*chosen) != expected:
                raise RuntimeError(f"{chosen} were to be {expected}")


def verdict(*statements: str) -> str:
    """The verdict on requests that are out together."""
    return cb.judge(TABLE, cb.publish(TABLE, *statements), POLICY).outcome.value


def _race(shop: Workshop, folder: Path, place: str, tally: Tally, *, killing: bool) -> None:
    ledger = Ledger.create(place, TABLE, policy=POLICY, who="owner")
    requests = [*REQUESTS]
    shop.chance.shuffle(requests)
    gate = os.pipe()
    children: list[Child] = []
    for number, request in enumerate(requests):
        why = f"writer {number}"
        asked = ("ledger", "commit", place, request, "--table", "race.csv", "--why", why)
        more = ("--who", why, "--jobs", "1")
        children.append(start((*asked, *more), folder, shop.control, gate=gate))
    os.close(gate[1])  # they go
    os.close(gate[0])
    if killing:
        time.sleep(shop.chance.uniform(0.0, 0.5))
        children[0].kill()
    endings = [child.wait() for child in children]
    tally.tried += 1
    tally.happened += any(one.killed for one in endings)
    _look(ledger, requests, endings, tally)


def _look(ledger: Ledger, requests: list[str], endings: list[Ending], tally: Tally) -> None:
    with ledger.book.writing():  # waits for a lock that a dead client may still hold
        history = ledger.history()
    if not ledger.verify().intact:
        tally.blame("half", "the chain is broken")
    released = [one for one in history if one.kind == "released"]
    out = [requests[int(one.who.split()[1])] for one in released]
    if len(released) + 1 != len(history) or len({one.who for one in released}) != len(released):
        tally.blame("half", f"{len(history)} entries, {len(released)} of them released")
    if verdict(*out) != "safe":
        tally.blame("wrong", f"{out} are out, which are not safe together")
    for number, (request, ending) in enumerate(zip(requests, endings, strict=True)):
        inside = f"writer {number}" in {one.who for one in released}
        acknowledged = ending.status == 0
        tally.acknowledged += acknowledged
        tally.inside += inside
        tally.outside += not inside
        if acknowledged and not inside:
            tally.blame("lost", f"{request}: said {ending.out!r}")
        if ending.killed:
            continue
        if ending.status not in (0, 1) or not ending.well_said:
            tally.blame("wrong", f"{request}: status {ending.status}, said {ending.err[-300:]!r}")
        if ending.status == 1 and (inside or verdict(*out, request) == "safe"):
            tally.blame("wrong", f"{request} was refused, beside {out}")
