"""More small decisions of a ledger: what is written when, what is read, where a search ends."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

import cellbounds as cb
from cellbounds.disclosure.policies import Finding, Outcome, PosteriorChance, SmallCounts
from cellbounds.ledger import Ledger, LedgerBusy, LedgerError
from cellbounds.ledger.history import history_text
from cellbounds.ledger.locations import Place

DOMAIN = cb.Domain({"a": ["x", "y"], "b": ["u", "v"]})
TABLE = cb.Table(DOMAIN, [[12, 9], [14, 10]])
RISKY = cb.Table(DOMAIN, [[1, 9], [20, 30]])
RATES, ROWS = "[b|a]@1", "[a]"
"""Of the risky table each is safe alone, not both together."""


@pytest.fixture
def file(tmp_path):
    return tmp_path / "x.ledger"


def kept(file, table=TABLE, **given):
    return Ledger.create(file, table, keep_table=True, who="ann", **given)


# What is hashed.


def canonical(values):
    return json.dumps(values, sort_keys=True, ensure_ascii=True, separators=(",", ":"))


def test_hashes_can_be_worked_out_from_what_is_exported(file):
    """By a stranger, from the values alone: sorted keys, ASCII, no spaces."""
    ledger = kept(file, why="für alle")
    ledger.commit("[a]", why="spring")
    ledger.set_policy("strict", why="a new law")
    told = ledger.export(public=False)["entries"]
    assert len(told) == 3
    for entry in told:
        named = {name: value for name, value in entry.items() if name != "hash"}
        body = canonical({**named, "format": "cellbounds-ledger/1", "ledger": "main"})
        assert entry["hash"] == hashlib.sha256(body.encode()).hexdigest()
    for entry in ledger.export()["entries"]:
        body = canonical({name: value for name, value in entry.items() if name != "hash"})
        assert entry["hash"] == hashlib.sha256(body.encode()).hexdigest()


def test_the_public_history_tells_the_policies_and_what_went_out_under_them(file):
    ledger = kept(file)
    ledger.commit("[a]", why="spring")
    ledger.set_policy("strict", why="a new law", independent=False)
    opened, released, policy = ledger.export()["entries"]
    assert opened["variables"] == ["a", "b"]
    assert (opened["policy"]["name"], opened["independent"]) == ("small-counts", True)
    assert (policy["policy"]["name"], policy["independent"]) == ("strict", False)
    assert (released["policy"], released["table_version"]) == ("small-counts", 1)
    assert released["release_digest"] == cb.publish(TABLE, "[a]").digest


def test_the_history_says_why_where_a_reason_was_given(file):
    ledger = kept(file)
    ledger.commit("[a]", why="spring")
    lines = history_text(ledger.history()).splitlines()
    assert [line for line in lines if "spring" in line] == ["  why: spring"]
    assert not [line for line in lines if line.strip() in ("why:", "")]


def test_what_is_recorded_of_a_verdict(file):
    ledger = Ledger.create(file, RISKY, keep_table=True, who="ann")
    assert ledger.commit(RATES, why="x").content["judged"] == {
        "outcome": "safe",
        "policy": "small-counts",
        "broken": 0,
        "open": 0,
        "rules": [],
        "harmful": [],
        "smallest": None,
    }
    refused = ledger.refuse(ROWS, why="no").content["judged"]
    assert (refused["outcome"], refused["rules"]) == ("unsafe", ["small-counts"])
    assert (refused["open"], refused["harmful"], refused["smallest"]) == (0, [2], True)
    assert refused["broken"] > 0


# When it is written, and when not.

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_who_made_a_ledger_may_not_go_back_in_time_either(file):
    times = iter([NOON, NOON - timedelta(seconds=1), NOON])
    ledger = Ledger.create(file, TABLE, keep_table=True, who="ann", clock=lambda: next(times))
    with pytest.raises(cb.InvalidInput, match="the clock says"):
        ledger.commit("[a]", who="ann", why="x")
    assert ledger.commit("[a]", who="ann", why="x").number == 2


class Asked(tuple):
    """Statements that do something each time they are looked at."""

    def __iter__(self):
        self.act()
        return super().__iter__()


def test_others_wait_once_something_was_judged_three_times_in_vain(file):
    ledger = kept(file)
    other = Ledger.open(file, wait=0)
    said = []

    def act():
        try:
            other.commit(f"[a]~{3 + len(said)}", who="bob", why="meanwhile")
        except LedgerBusy:
            said.append("busy")
        else:
            said.append("done")

    what = Asked(["[b]"])
    what.act = act
    assert ledger.commit(what, why="x").number == 5
    assert said == ["done", "done", "done", "busy"]


WRITING = {
    "ask": lambda ledger: ledger.ask("[a]", record=True, why="x", seconds=0.3),
    "commit": lambda ledger: ledger.commit("[a]", why="x", seconds=0.3),
    "policy": lambda ledger: ledger.set_policy("strict", why="x", seconds=0.3),
}


@pytest.mark.parametrize("what", WRITING)
def test_writing_is_not_stopped_when_the_budget_is_spent(file, what):
    read = []

    def clock():
        read.append(1)
        if len(read) > 1:
            time.sleep(1.0)  # longer than late work is stopped after
        return NOON

    ledger = kept(file, clock=clock)
    ledger.ask("[a]")  # what is imported later is there
    try:
        WRITING[what](ledger)
    except cb.Unsettled:  # on a machine that slow, judging was stopped
        assert len(read) == 1
    else:
        assert len(ledger.history()) == 2


def test_the_database_is_not_left_while_it_is_read(file, monkeypatch):
    """Late work is stopped when the connection is closed again, not before: it would stay open."""
    ledger = kept(file)
    ledger.ask("[a]")
    begun, done, connect = [], [], sqlite3.connect

    def slowly(*given, **named):
        begun.append(1)
        time.sleep(0.8)
        done.append(1)
        return connect(*given, **named)

    monkeypatch.setattr(sqlite3, "connect", slowly)
    with contextlib.suppress(cb.Unsettled):  # where it is not done by the next ring
        ledger.ask("[a]", seconds=0.01)
    assert begun == done
    assert begun


def test_a_file_that_is_none_is_closed_again(file):
    file.write_bytes(b"no database at all" * 100)
    with pytest.raises(LedgerError, match="not a ledger") as problem:
        Ledger.open(file)
    assert problem.value.__context__ is not None  # who looks at it may look at all of it
    assert not [one for one in Path("/proc/self/fd").iterdir() if _leads_to(one, file)]


def _leads_to(descriptor, file):
    with contextlib.suppress(OSError):
        return descriptor.readlink() == file
    return False


def test_a_ledger_needs_a_folder(tmp_path):
    with pytest.raises(cb.InvalidInput, match="its folder is not there; create it first"):
        Ledger.create(tmp_path / "no" / "where.ledger", TABLE, who="ann")
    with pytest.raises(LedgerError, match="there is no ledger at"):
        Ledger.open(tmp_path / "none.ledger")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_was_exchanged_before_it_was_opened_is_left_alone(file, monkeypatch):
    file.touch()
    connect = sqlite3.connect

    def exchanged(*given, **named):
        if not (file.parent / "done").exists():
            (file.parent / "done").touch()
            (file.parent / "other").touch()
            (file.parent / "other").replace(file)
        return connect(*given, **named)

    monkeypatch.setattr(sqlite3, "connect", exchanged)
    with pytest.raises(LedgerError, match="was removed meanwhile"):
        Ledger.create(file, TABLE, who="ann")
    assert file.read_bytes() == b""


def test_a_file_that_was_exchanged_while_it_was_written_holds_no_ledger(file):
    def clock():
        (file.parent / "other").touch()
        (file.parent / "other").replace(file)
        return NOON

    with pytest.raises(LedgerError, match="was removed meanwhile"):
        Ledger.create(file, TABLE, who="ann", clock=clock)


def test_a_log_of_the_database_shows_no_values(place, caplog):
    """Whoever turns on the log of the library that connects sees statements, not counts."""
    caplog.set_level(logging.INFO, "sqlalchemy.engine")
    table = cb.Table(DOMAIN, [[918273645, 736451928], [463829105, 281910467]])
    ledger = kept(place, table, why="a private reason")
    ledger.ask("[a]~5")
    assert "INSERT INTO entries" in caplog.text
    for secret in ("918273645", "private reason"):
        assert secret not in caplog.text


# What a ledger looks at.


def rewritten(file, number, change):
    """One entry changed, and all linked anew."""
    with contextlib.closing(sqlite3.connect(file)) as database, database:
        names = database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        for (name,) in names.fetchall():
            database.execute(f"DROP TRIGGER {name}")
        bodies = database.execute("SELECT body FROM entries ORDER BY number").fetchall()
        entries = [json.loads(body) for (body,) in bodies]
        change(entries[number - 1]["content"])
        previous = ""
        for place, values in enumerate(entries, 1):
            body = canonical({**values, "previous": previous})
            previous = hashlib.sha256(body.encode()).hexdigest()
            row = (body, previous, place)
            database.execute("UPDATE entries SET body = ?, hash = ? WHERE number = ?", row)
        database.execute("UPDATE ledgers SET head = ?", (previous,))


FAULTS = {
    "a text among others is none": ("statements", lambda said: said["statements"].append(7)),
    "a number is a text": ("judged", lambda said: said["judged"].update(broken="0")),
    "an entry is a text": ("judged", lambda said: said["judged"].update(harmful=["2"])),
    "a number is a truth": ("judged", lambda said: said["judged"].update(open=False)),
    "a rule is a number": ("judged", lambda said: said["judged"].update(rules=["a", 1])),
    "there is no version 0": ("version", lambda said: said.update(version=0)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_parts_of_an_entry_are_what_they_should_be(file, fault):
    part, change = FAULTS[fault]
    kept(file).commit("[a]", why="x")
    rewritten(file, 2, change)
    found = Ledger.open(file).verify()
    assert (found.intact, found.broken) == (False, 2)
    assert f"its part {part!r} is not one" in found.problem


@pytest.mark.parametrize("ends", [["1", 2], [0.5, 2], [1, "2"], [True, 1], [2, 1], [1, True]])
def test_numbers_of_records_are_two_in_order(file, ends):
    ledger = kept(file)
    ledger.revise(cb.Table(DOMAIN, [[12, 9], [14, 9]]), removed=(1, None), added=0, why="x")
    assert ledger.verify().intact
    rewritten(file, 2, lambda said: said.update(removed=ends))
    assert ledger.verify().broken == 2


def test_a_later_version_is_compared_with_the_newest_not_the_first(file):
    more = TABLE.counts + 5
    ledger = kept(file)
    ledger.grow(cb.Table(DOMAIN, more), why="more")
    fewer = more - np.array([[1, 0], [0, 0]])
    with pytest.raises(cb.InvalidInput, match="holds fewer than before"):
        ledger.grow(cb.Table(DOMAIN, fewer), why="fewer")
    with pytest.raises(cb.InvalidInput, match="nothing was changed"):
        ledger.revise(cb.Table(DOMAIN, more), why="the same")
    # And back to the first, which is a change; one record less is stated of the newest.
    assert ledger.revise(cb.Table(DOMAIN, fewer), removed=1, added=0, why="x").entry.number == 3


def test_finer_tables_need_the_same_structural_zeros(file):
    tables = [TABLE, cb.Table(DOMAIN, TABLE.counts + 5)]
    ledger = kept(file)
    ledger.grow(tables[1], why="more")
    domain = cb.Domain({"a": ["x", "y"], "b": ["u", "v"], "c": ["1", "2"]})
    halves = [np.stack([one.counts, np.zeros_like(one.counts)], axis=-1) for one in tables]
    empty = np.zeros(domain.shape, dtype=bool)
    one_empty = empty.copy()
    one_empty[0, 0, 1] = True
    finer = [
        cb.Table(domain, counts, structural=structural)
        for counts, structural in zip(halves, (empty, one_empty), strict=True)
    ]
    with pytest.raises(cb.InvalidInput, match="different structural zeros"):
        ledger.refine(finer, why="c")


class OneMore(cb.Margin):
    """A statement whose plain values are those of another."""

    def to_plain(self, domain):
        plain = super().to_plain(domain)
        plain["margin"]["counts"][0] += 1
        return plain


def test_what_cannot_be_recorded_as_it_is_is_refused(file):
    ledger = kept(file)
    release = cb.Release(DOMAIN, [OneMore(["a"], [21, 24])])
    with pytest.raises(cb.InvalidInput, match="cannot be recorded without loss"):
        ledger.commit(release, why="x", already_out=True)
    assert len(ledger.history()) == 1


def test_a_ledger_is_made_for_a_table(file):
    with pytest.raises(cb.InvalidInput, match=r"table=\[\[12, 9\]\]; give the confidential Table"):
        Ledger.create(file, [[12, 9]], who="ann")
    assert not file.exists()


def test_places_that_are_paths_or_urls_are_the_same(file):
    assert Place.of(file).file == Place.of(str(file)).file == Place.of(f"sqlite:///{file}").file


def test_knowledge_of_a_variable_that_the_table_derives_and_the_release_does_not(file):
    whole = TABLE.grouped("all", of="b", levels={"both": ["u", "v"]})
    knows = [cb.Known(["all"], lower={"both": 40})]
    answer = kept(file).ask(cb.publish(TABLE, "[a]"), table=whole, knows=knows)
    assert "all" in answer.knowledge.domain.groupings
    assert answer.safe


# Who is to blame, and where the search for them ends.

STORY = ["[gender]", "[race]", "[race|gender,income]@2"]
"""The third does harm with both of the others, and not with one."""


@pytest.fixture
def census():
    return cb.datasets.read("census3")


@pytest.fixture
def told(tmp_path, census):
    ledger = Ledger.create(tmp_path / "census.ledger", census, keep_table=True, who="ann")
    for statement in STORY[:2]:
        ledger.commit(statement, why="x")
    return ledger


def blamed(ledger, most, monkeypatch):
    monkeypatch.setattr("cellbounds.ledger.judgement.MOST_TRIALS", most)
    answer = ledger.ask(STORY[2])
    return [entry.number for entry in answer.harmful], answer.smallest


def test_a_search_that_needs_no_further_trial_is_complete(told, monkeypatch):
    """Nothing, each one alone: three trials, and none is left."""
    assert blamed(told, 3, monkeypatch) == ([2, 3], True)


@pytest.mark.parametrize(("most", "found"), [(4, ([2, 3], False)), (5, ([4], True))])
def test_a_search_that_is_cut_short_says_so(told, monkeypatch, most, found):
    """Nothing, the first two, each of them: the fifth trial is the third release alone."""
    told.commit("[gender,income]", why="x")
    assert blamed(told, most, monkeypatch) == found


def test_what_does_harm_where_nothing_is_out_does_so_alone_in_no_time(file, monkeypatch):
    ledger = kept(file, RISKY)
    monkeypatch.setattr("cellbounds.ledger.judgement.LEAST", 600.0)  # the verdict itself has time
    monkeypatch.setattr("cellbounds.runtime.budget.LATE", 0.0)  # and nothing else has
    with ThreadPoolExecutor(1) as elsewhere:  # alarms ring in the main thread
        answer = elsewhere.submit(ledger.ask, "[a,b]", seconds=1e-9).result()
    assert (answer.outcome.value, answer.harmful, answer.smallest) == ("unsafe", (), True)


# The frontier.


def test_a_frontier_of_single_variables(file):
    ledger = kept(file)
    found = ledger.frontier(way=1)
    assert {*found.safe, *found.unsafe, *found.undecided} == {"[a]", "[b]"}
    for way in (0, 3):
        with pytest.raises(cb.InvalidInput, match=f"way={way}; margins have 1 to 2 variables"):
            ledger.frontier(way=way)


def test_one_rule_that_more_may_heal_is_enough_to_promise_nothing(file):
    rules = [SmallCounts(at_most=3, values=2), PosteriorChance(at_most=3, probability="0.9")]
    ledger = kept(file, RISKY)
    assert ledger.frontier(["[a,b]"]).never == ("[a,b]",)
    ledger.set_policy(cb.policies.Policy("both", rules=rules), why="x")
    found = ledger.frontier(["[a,b]"])
    assert (found.unsafe, found.final, found.never) == (("[a,b]",), False, ())


def test_statements_come_with_the_number_of_records_unless_it_is_left_out(file):
    table = cb.Table(DOMAIN, [[1, 2], [3, 4]])
    ledger = kept(file, table)
    rates = ["[a,b|]@1"]
    assert ledger.frontier(rates).unsafe == tuple(rates)
    assert ledger.frontier(rates, total=False).safe == tuple(rates)


def test_what_cannot_be_decided_is_not_called_safe(file, monkeypatch):
    ledger = kept(file)
    assert ledger.frontier(["[a]"]).safe == ("[a]",)

    def unsettled(*given, **named):
        verdict = cb.judge(*given, **named)
        opened = Finding("small-counts", Outcome.UNDECIDED, (), (), "the budget was spent")
        return replace(verdict, cells=(*verdict.cells, opened))

    monkeypatch.setattr("cellbounds.ledger.judgement.judge", unsettled)
    found = ledger.frontier(["[a]", "[a,b]"])
    assert (found.safe, found.undecided) == ((), ("[a]", "[a,b]"))
