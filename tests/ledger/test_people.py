"""People, roles, passwords and sessions of a ledger."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from databases import raw

import cellbounds as cb
from cellbounds.errors import InvalidInput
from cellbounds.ledger import Ledger, NotAllowed

TABLE = cb.Table(cb.Domain({"A": ["x", "y"]}), [20, 30])
PASSWORD = "correct horse battery"


class Clock:
    """A clock that stands still unless it is moved."""

    def __init__(self):
        self.at = datetime(2026, 3, 1, tzinfo=UTC)

    def __call__(self):
        return self.at


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def ledger(place, clock):
    made = Ledger.create(place, TABLE, who="root", clock=clock)
    made.people.add("ann", ["administers"], password=PASSWORD, who="root")
    made.people.add("bob", ["asks", "decides"], password=PASSWORD, who="ann", why="new here")
    return made


def test_people_are_listed_and_changes_are_entries_without_secrets(ledger):
    ledger.people.change("bob", roles=["asks"], who="ann")
    ledger.people.change("bob", password="another horse staple", who="ann")
    assert [(one.name, sorted(one.roles)) for one in ledger.people.all()] == [
        ("ann", ["administers"]),
        ("bob", ["asks"]),
    ]
    entries = ledger.history()[1:]
    assert [(one.kind, one.who, one.content["person"]) for one in entries] == [
        ("person", "root", "ann"),
        ("person", "ann", "bob"),
        ("person", "ann", "bob"),
        ("person", "ann", "bob"),
    ]
    assert "argon2" not in str([one.to_dict() for one in entries])
    assert ledger.verify().intact
    assert len(ledger.export()["entries"]) == 1  # nobody outside learns who works here


def test_nobody_is_let_in_by_a_wrong_password_an_empty_one_or_none(ledger):
    ledger.people.add("eve", ["asks"], who="ann")  # single sign-on alone
    assert ledger.people.entitled("bob", PASSWORD).name == "bob"
    for name, password in [("bob", "wrong"), ("eve", ""), ("eve", PASSWORD), ("x", PASSWORD)]:
        assert ledger.people.entitled(name, password) is None
    ledger.people.change("bob", active=False, who="ann")
    assert ledger.people.entitled("bob", PASSWORD) is None


def test_after_wrong_passwords_the_right_one_has_to_wait(ledger, clock):
    for _ in range(4):
        assert ledger.people.entitled("bob", "wrong") is None
    assert ledger.people.entitled("bob", PASSWORD) is not None  # and counting begins anew
    for _ in range(5):
        assert ledger.people.entitled("bob", "wrong") is None
    assert ledger.people.entitled("bob", PASSWORD) is None
    clock.at += timedelta(seconds=61)
    assert ledger.people.entitled("bob", "wrong") is None  # the next wait is longer
    clock.at += timedelta(seconds=61)
    assert ledger.people.entitled("bob", PASSWORD) is None
    clock.at += timedelta(seconds=61)
    assert ledger.people.entitled("bob", PASSWORD) is not None


def test_sessions_end_by_time_by_hand_and_with_every_change(ledger, clock):
    token = ledger.people.begin("bob", hours=2)
    assert ledger.people.session(token).name == "bob"
    assert ledger.people.session(token + "x") is None
    clock.at += timedelta(hours=2)
    assert ledger.people.session(token) is None
    token, other = ledger.people.begin("bob"), ledger.people.begin("ann")
    ledger.people.end(token)
    assert ledger.people.session(token) is None
    token = ledger.people.begin("bob")
    ledger.people.change("bob", roles=["asks"], who="ann")
    assert ledger.people.session(token) is None
    assert ledger.people.session(other).name == "ann"
    with raw(ledger) as database:
        kept = str(list(database.execute("SELECT * FROM sessions")))
    assert other not in kept


def test_only_who_administers_changes_people_and_one_always_can(ledger):
    with pytest.raises(
        NotAllowed, match="'bob' may not do this; it needs somebody who administers"
    ):
        ledger.people.add("eve", ["asks"], who="bob")
    with pytest.raises(NotAllowed):
        ledger.people.change("bob", roles=["administers"], who="root")
    for change in ({"active": False}, {"roles": ["asks"]}):
        with pytest.raises(InvalidInput, match="the last one who administers"):
            ledger.people.change("ann", who="ann", **change)
    ledger.people.change("bob", roles=["administers"], who="ann")
    ledger.people.change("ann", active=False, who="bob")
    with pytest.raises(NotAllowed):
        ledger.people.add("eve", ["asks"], who="ann")


def test_what_makes_no_person_is_refused_and_nothing_is_written(place):
    ledger = Ledger.create(place, TABLE, who="root")
    with pytest.raises(InvalidInput, match="must be one who administers"):
        ledger.people.add("bob", ["asks"], password=PASSWORD, who="root")
    ledger.people.add("ann", "administers", password=PASSWORD, who="root")
    before = ledger.history()
    for name, roles, password in [
        ("", ["asks"], None),
        (" bob", ["asks"], None),
        ("bob\n", ["asks"], None),
        ("b" * 201, ["asks"], None),
        ("bob", [], None),
        ("bob", ["owns"], None),
        ("bob", ["asks"], "short"),
        ("bob", ["asks"], "x" * 1001),
        ("ann", ["asks"], PASSWORD),
    ]:
        with pytest.raises(InvalidInput) as problem:
            ledger.people.add(name, roles, password=password, who="ann")
        assert password is None or password not in str(problem.value)
    with pytest.raises(InvalidInput, match="nothing to change"):
        ledger.people.change("ann", who="ann")
    with pytest.raises(InvalidInput, match="no person named 'eve'"):
        ledger.people.change("eve", active=False, who="ann")
    assert ledger.history() == before
