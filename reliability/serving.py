"""`cellbounds serve` in a process of its own, a team's ledger, and a sparse table to explore."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import psutil

import cellbounds as cb

__all__ = ["PASSWORD", "Server", "sparse_table", "team_ledger"]

PASSWORD = "correct horse battery"

STARTING = 120.0
"""Seconds until it has to say where it is."""

ADMINISTRATOR = "ada"


class Server:
    """A server that was started by the command, on a free port of 127.0.0.1.

    Attributes
    ----------
    said
        The link that it printed.
    base
        Its address, without a slash at the end.
    """

    def __init__(self, *arguments: object) -> None:
        code = "from cellbounds.cli import main; main()"
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, "serve", "--no-open", *map(str, arguments)],
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        assert self.process.stderr is not None  # a pipe was asked for
        self.told = self.process.stderr
        ready, _, _ = select.select([self.told], [], [], STARTING)
        self.said = self.told.readline().strip() if ready else ""
        match = re.match("(http://[^/]+)/", self.said)
        if match is None:
            self.end(signal.SIGKILL)
            raise RuntimeError(f"the server did not start: {self.said!r}")
        self.base = match[1]
        self.port = int(self.base.rpartition(":")[2])

    def family(self) -> list[psutil.Process]:
        """Its processes."""
        first = psutil.Process(self.process.pid)
        return [first, *first.children(recursive=True)]

    def end(self, how: int = signal.SIGTERM) -> int:
        """End it, and wait for that; its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        status = self.process.wait(60)
        self.told.close()
        return status


def team_ledger(
    folder: Path, table: cb.Table, people: Mapping[str, Iterable[str]], **how: Any
) -> tuple[Path, Path]:
    """A ledger about a table, and the file of the table; all people have one password."""
    file, place = folder / "table.csv", folder / "team.ledger"
    table.write(file)
    ledger = cb.Ledger.create(place, table, who=ADMINISTRATOR, **how)
    ledger.people.add(ADMINISTRATOR, ["administers"], password=PASSWORD, who=ADMINISTRATOR)
    for name, roles in people.items():
        ledger.people.add(name, roles, password=PASSWORD, who=ADMINISTRATOR)
    return place, file


def sparse_table() -> cb.Table:
    """A table over the variables of the Current Population Survey's, without its counts."""
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
