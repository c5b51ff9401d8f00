"""One server for one user, and one for a team, for all tests of a worker."""

from __future__ import annotations

import pytest
from servers import Server, cps_like, team_ledger

import cellbounds as cb

SCRIPT = "<script>document.title='!'</script>"


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    cps_like().write(folder / "cps.csv")
    cb.datasets.read("delinquent").write(folder / "delinquent.csv")
    odd = cb.Domain({"<b>odd</b>": [SCRIPT, "é, è", 'a "b"'], "y": ["+", "-"]})
    cb.Table(odd, [[11, 19], [10, 24], [3, 13]]).write(folder / "odd.csv")
    return folder


@pytest.fixture(scope="session")
def alone(folder, tmp_path_factory):
    token = tmp_path_factory.mktemp("token") / "token"
    server = Server(folder, "--upload-mib", "1", "--token-file", token)
    server.token = token.read_text("utf-8").strip()
    yield server
    server.end()


@pytest.fixture(scope="session")
def user(alone):
    """The one who came by the link; it is good once."""
    with alone.entered() as client:
        yield client


@pytest.fixture(scope="session")
def team(tmp_path_factory):
    place, table = team_ledger(tmp_path_factory.mktemp("team"))
    server = Server(place, "--table", table, "--seconds", "6")
    server.place, server.table = place, table
    yield server
    server.end()
