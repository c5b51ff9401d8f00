"""Programs at a server: the client, and what it is told when something is wrong."""

from __future__ import annotations

import pytest
from servers import PASSWORD, waited

from cellbounds.errors import InvalidInput
from cellbounds.web.client import Client, ServerError


@pytest.fixture(scope="module")
def of(team):
    """Somebody of the team as a program."""
    return lambda name: Client.login(team.base, name, PASSWORD)


def test_a_program_asks_and_learns_what_was_decided(of):
    ben, cleo = of("ben"), of("cleo")
    asked = ben.submit(["[region]~5"], why="chapter 3", batch="thesis")
    assert (asked["status"], asked["who"], asked["batch"]) == ("waiting", "ben", "thesis")
    assert asked["number"] in [one["number"] for one in cleo.requests("waiting")]
    judged = waited(lambda: cleo.request(asked["number"])["outcome"])
    assert judged == "safe"
    assert ben.request(asked["number"])["outcome"] is None  # verdicts depend on the counts
    decided = cleo.decide(asked["number"], "approve", why="rounded enough")
    assert (decided["status"], decided["decided_by"]) == ("approved", "cleo")
    told = ben.wait(asked["number"], seconds=0)
    assert (told["status"], told["decision"]) == ("approved", "rounded enough")


def test_what_is_not_safe_goes_on_waiting(of):
    ben, dan = of("ben"), of("dan")
    number = ben.submit(["[region,ill]"], why="a newspaper")["number"]
    with pytest.raises(ServerError) as refused:
        dan.decide(number, "approve", why="quickly")
    assert refused.value.status == 409
    assert ben.wait(number, seconds=0.1, every=0.05)["status"] == "waiting"
    assert dan.decide(number, "refuse", why="with what is out")["status"] == "refused"


def test_a_server_says_what_is_wrong(team, of):
    with pytest.raises(ServerError, match="the server refused") as refused:
        Client.login(team.base, "ben", "wrong")
    assert refused.value.status == 401
    with pytest.raises(ServerError) as refused:
        Client(team.base, "no token").tables()
    assert refused.value.status == 401
    with pytest.raises(ServerError) as refused:
        of("ben").submit(["/etc/passwd"], why="x")
    assert refused.value.status == 400
    with pytest.raises(ServerError) as refused:
        of("ben").decide(1, "approve", why="x")
    assert refused.value.status in (403, 404)
    with pytest.raises(ServerError, match="does not answer") as refused:
        Client("http://127.0.0.1:9", "x", timeout=5).tables()
    assert refused.value.status == 0
    with pytest.raises(InvalidInput, match="the address 'nowhere'"):
        Client("nowhere", "x")
    assert "secret" not in repr(Client("http://127.0.0.1:9", "secret"))
