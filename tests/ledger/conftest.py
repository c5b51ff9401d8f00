"""Places for ledgers: a file, and a database on a real server; a clock that tests can read."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta

import pytest
from servers import Server, binaries

from cellbounds import cli
from cellbounds.cli.ledger import ledger as ledger_command


@pytest.fixture(scope="session")
def server():
    folder = binaries()
    if folder is None:
        pytest.skip("no PostgreSQL here: neither the wheel of pgserver nor one of the system")
    made = Server(folder)
    yield made
    made.remove()


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    """Where a ledger can be made, on each kind of database."""
    if request.param == "sqlite":
        return str(tmp_path / "test.ledger")
    return request.getfixturevalue("server").shared()


@pytest.fixture(params=["sqlite", "postgres"])
def own_place(request, tmp_path):
    """The same, in a database that nobody else uses."""
    if request.param == "sqlite":
        return str(tmp_path / "own.ledger")
    return request.getfixturevalue("server").url()


@pytest.fixture
def clock():
    """A clock that moves by a minute each time it is read."""
    at = datetime(2026, 3, 1, tzinfo=UTC)

    def read():
        nonlocal at
        at += timedelta(minutes=1)
        return at

    return read


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command in this process; returns exit status, standard output, standard error."""
    if "ledger" not in cli.commands.commands:
        cli.commands.add_command(ledger_command)

    def runs(*arguments):
        monkeypatch.setattr(sys, "argv", ["cellbounds", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            cli.main()
        caught = capsys.readouterr()
        return left.value.code, caught.out, caught.err

    return runs
