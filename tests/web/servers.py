"""Servers as they are started by a command, and what asks them for pages."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import httpx
import numpy as np

import cellbounds as cb

PASSWORD = "correct horse battery"

PEOPLE = {
    "ada": ["administers"],
    "ben": ["asks"],
    "cleo": ["asks", "decides"],
    "dan": ["decides"],
}


def cps_like():
    """A sparse table over the variables of the Current Population Survey's, without its counts."""
    levels = {
        "Age": ["<25", "25-54", ">=55"],
        "EmployerType": ["Govt", "Priv", "Self-Emp", "Other"],
        "Education": ["<HS", "HS", "Bach", "Bach+", "Coll"],
        "MaritalStatus": ["Married", "Other"],
        "Race": ["White", "Non-White"],
        "Sex": ["Male", "Female"],
        "HoursWorked": ["40", "<40", ">40"],
        "Salary": ["<50K", "50K+"],
    }
    domain = cb.Domain(levels)
    rng = np.random.default_rng(2014)
    chances = np.ones(domain.shape)
    for axis, size in enumerate(domain.shape):
        shape = [1] * len(domain.shape)
        shape[axis] = size
        chances = chances * rng.dirichlet(np.ones(size)).reshape(shape)
    return cb.Table(domain, rng.multinomial(8_000, chances.ravel()).reshape(domain.shape))


class Server:
    """`cellbounds serve` in a process of its own."""

    def __init__(self, *arguments):
        code = "from cellbounds.cli import main; main()"
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, "serve", "--no-open", *map(str, arguments)],
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        ready, _, _ = select.select([self.process.stderr], [], [], 90)
        self.said = self.process.stderr.readline().strip() if ready else ""
        assert self.said.startswith("http"), self.said
        self.base = re.match("(http://[^/]+)/", self.said)[1]
        self.port = int(self.base.rpartition(":")[2])

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

    def end(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        status = self.process.wait(60)
        self.process.stderr.close()
        return status


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
    table.write(folder / "survey.csv")
    place = folder / "survey.ledger"
    ledger = cb.Ledger.create(place, table, who="ada")
    for name, roles in PEOPLE.items():
        ledger.people.add(name, roles, password=PASSWORD, who="ada")
    for statement in ("[sex,region]", "[sex,ill]"):
        ledger.commit(statement, table=table, who="cleo", why="before")
    return place, folder / "survey.csv"
