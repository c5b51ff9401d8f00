"""Places for ledgers: a file, and a database on a real server; a clock that tests can read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from reliability.faults.servers import Server, binaries


@pytest.fixture(scope="session")
def server():
    folder = binaries()
    if folder is None:
        # The wheel is not made for every system; CI does not let this pass.
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
