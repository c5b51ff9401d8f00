"""`cellbounds serve` killed outright while people ask, decide and send files: nothing is lost."""

from __future__ import annotations

import os
import signal
import stat
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil

from cellbounds.ledger import Ledger
from cellbounds.ledger.requests import Request
from cellbounds.web.client import Client, ServerError
from reliability.faults.ledgers import Storage
from reliability.faults.tally import Tally
from reliability.faults.workshop import SAFE, Workshop
from reliability.serving import PASSWORD, Server

__all__ = ["web_kills"]

PEOPLE = {"owner": ["administers"], "asks": ["asks"], "decides": ["decides"]}

ALIVE = 3.0
"""Seconds after which a server is killed at the latest, from when everybody is at work."""

MANY = 20
"""Requests that wait for a decision, before no more are made."""

PATIENCE = 120.0
"""Seconds for workers to notice that their server is gone, and to judge what waits."""


@dataclass(slots=True)
class Said:
    """What the server said that was done, as far as anybody heard it."""

    asked: dict[int, str] = field(default_factory=dict)
    decided: dict[int, str] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)


def web_kills(shop: Workshop, storage: Storage, count: int) -> Tally:
    """Start a server, let people work, kill it, and look; so many times with one ledger."""
    tally = Tally("server killed", storage.name)
    with shop.folder() as folder:
        place = storage.place(folder)
        ledger = Ledger.open(place)
        for name, roles in PEOPLE.items():
            ledger.people.add(name, roles, password=PASSWORD, who="owner")
        tokens: dict[str, str] = {}
        said = Said()
        for number in range(count):
            before = _uploads()
            server = Server(place, "--table", folder / "table.csv")
            for path in before & _uploads():
                tally.blame("leftovers", f"{path.name} is there after the next start")
            for name in () if tokens else ("asks", "decides"):
                tokens[name] = Client.login(server.base, name, PASSWORD).token
            family = server.family()
            _worked(shop, server, folder, tokens, said, number)
            tally.tried += 1
            tally.happened += server.end(signal.SIGKILL) == -signal.SIGKILL
            _look(ledger, family, said, tally)
        _judged_again(place, folder, ledger, tally)
    tally.acknowledged = len(said.asked) + len(said.decided)
    for words in said.wrong:
        tally.blame("wrong", words)
    return tally


def _worked(
    shop: Workshop,
    server: Server,
    folder: Path,
    tokens: dict[str, str],
    said: Said,
    number: int,
) -> None:
    """Let people work for a moment; at its end they are still at it."""
    asking, deciding = (Client(server.base, tokens[name], 20) for name in ("asks", "decides"))

    def ask(turn: int) -> None:
        if len(said.asked) > len(said.decided) + MANY:
            time.sleep(0.1)  # who decides comes to it
            return
        why = f"server {number}, turn {turn}"
        made = asking.submit([SAFE], why=why, batch=f"{number}")
        said.asked[made["number"]] = why

    def decide(turn: int) -> None:
        waiting = deciding.requests("waiting")
        if waiting:
            which = "refuse" if turn % 2 else "approve"
            done = deciding.decide(waiting[-1]["number"], which, why=f"server {number}")
            said.decided[done["number"]] = done["status"]

    def send(turn: int) -> None:
        with (folder / "table.csv").open("rb") as file:
            done = httpx.post(
                f"{server.base}/drop",
                files={"file": (f"{turn}.csv", file)},
                headers={"Authorization": f"Bearer {tokens['asks']}"},
                timeout=20,
                trust_env=False,
            )
        if done.status_code not in (303, 400):  # so many files, and no more
            said.wrong.append(f"a file was sent: {done.status_code} {done.text[:200]!r}")

    threads = [
        threading.Thread(target=_until_gone, args=(act, said), daemon=True)
        for act in (ask, decide, send)
    ]
    for thread in threads:
        thread.start()
    time.sleep(shop.chance.uniform(0, ALIVE))
    server.process.kill()
    for thread in threads:
        thread.join(PATIENCE)


def _until_gone(act: Callable[[int], None], said: Said) -> None:
    """Do it again and again, until nobody answers."""
    turn = 0
    while True:
        turn += 1
        try:
            act(turn)
        except ServerError as problem:
            if problem.status == 0:
                return
            said.wrong.append(str(problem))
            return
        except httpx.HTTPError:
            return


def _uploads() -> set[Path]:
    """What people sent, as it lies on the disk."""
    cache = Path(os.environ["XDG_CACHE_HOME"])
    return {path for path in cache.rglob("u*") if path.is_file()}


def _look(ledger: Ledger, family: list[psutil.Process], said: Said, tally: Tally) -> None:
    """Whether everything is there that was said, and nothing is half there."""
    _, alive = psutil.wait_procs(family, timeout=PATIENCE)
    for process in alive:
        tally.blame("leftovers", f"the worker {process.pid} goes on without its server")
    with ledger.book.writing():  # waits for a lock that a dead client may still hold
        found: dict[int, Request] = {one.number: one for one in ledger.requests.all()}
    if not ledger.verify().intact:
        tally.blame("half", "the chain is broken")
    for number, why in said.asked.items():
        if number not in found or found[number].why != why:
            tally.blame("lost", f"request {number}")
    for number, status in said.decided.items():
        if number not in found or found[number].status != status:
            tally.blame("lost", f"the decision on request {number}")
    tally.inside = sum(1 + (not one.waiting) for one in found.values())
    for path in _uploads():
        if stat.S_IMODE(path.stat().st_mode) != 0o600:
            tally.blame("leftovers", f"{path.name} can be read by others")


def _judged_again(place: str, folder: Path, ledger: Ledger, tally: Tally) -> None:
    """A server that starts judges what waits, whoever was killed before it came to that."""
    server = Server(place, "--table", folder / "table.csv")
    try:
        until = time.monotonic() + PATIENCE
        while any(one.judged is None for one in ledger.requests.all(status="waiting")):
            if time.monotonic() > until:
                tally.blame("lost", "requests wait, and nobody judges them")
                break
            time.sleep(0.2)
    finally:
        server.end()
    for path in _uploads():
        tally.blame("leftovers", f"{path.name} is there after the end")
