"""Servers as they are started by a command, and what asks them for pages."""

from __future__ import annotations

import re
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
from reliability import serving
from reliability.serving import PASSWORD
from reliability.serving import sparse_table as cps_like

import cellbounds as cb

__all__ = [
    "CPS8",
    "PASSWORD",
    "PEOPLE",
    "Server",
    "cps",
    "cps_like",
    "form_token",
    "team_ledger",
    "waited",
]

CPS8 = Path(__file__).parents[3] / "shared" / "data" / "cps8.csv"

PEOPLE = {
    "ben": ["asks"],
    "cleo": ["asks", "decides"],
    "dan": ["decides"],
}


class Server(serving.Server):
    """`cellbounds serve` in a process of its own, and who asks it for pages."""

    def client(self, **how):
        return httpx.Client(base_url=self.base, timeout=90, trust_env=False, **how)

    @contextmanager
    def entered(self):
        """Somebody who came by the link."""
        with self.client() as client:
            assert client.get(self.said).status_code == 200
            yield client

    @contextmanager
    def person(self, name):
        """Somebody of the team who logged in."""
        with self.client() as client:
            done = client.post("/login", data={"name": name, "password": PASSWORD})
            assert done.status_code == 303, done.text
            yield client


def cps():
    """The table of the Current Population Survey where it is at hand, and else its look-alike."""
    return cb.read_table(CPS8) if CPS8.exists() else cps_like()


def form_token(client):
    return re.search(r'name="form_token" value="([0-9a-f]+)"', client.get("/").text)[1]


def waited(ask, *, seconds=60):
    """What a question gives as soon as it gives something."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        answer = ask()
        if answer:
            return answer
        time.sleep(0.1)
    raise AssertionError("nothing came")


def team_ledger(folder):
    """A ledger of four people, with two releases that together forbid a third.

    All three margins of two variables leave one table, as two cells that would change in opposite
    ways are empty; any two of them leave the small count open.
    """
    domain = cb.Domain({"sex": ["f", "m"], "region": ["North", "South"], "ill": ["no", "yes"]})
    table = cb.Table(domain, [[[0, 0], [10, 10]], [[10, 10], [2, 10]]])
    place, file = serving.team_ledger(folder, table, PEOPLE)
    ledger = cb.Ledger.open(place)
    for statement in ("[sex,region]", "[sex,ill]"):
        ledger.commit(statement, table=table, who="cleo", why="before")
    return place, file
