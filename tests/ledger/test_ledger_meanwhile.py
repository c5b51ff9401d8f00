"""What happens while something is judged, clocks that go back, and ledgers that are not made."""

from __future__ import annotations

import resource
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import cellbounds as cb
from cellbounds.ledger import Ledger, LedgerBusy, LedgerError, NotSafe

TABLE = cb.Table(
    cb.Domain({"county": ["Alpha", "Beta"], "education": ["Low", "High"]}), [[1, 9], [20, 30]]
)
RATES = "[education|county]@1"
ROUNDED = ["[county]~5", "[education]~5"]
"""Safe alone, and judged in steps; not safe with the rates."""


def harmless(number):
    """A release that tells next to nothing, another for each number."""
    return cb.Release(TABLE.domain, [cb.Total(lower=0, upper=60 + number)])


class Meanwhile:
    """Does something once in each judgement, while it is under way."""

    def __init__(self, act):
        self.act, self.judgements, self.before = act, 0, None

    def __call__(self, done, _):
        if self.before is None or done <= self.before:  # the steps begin anew
            self.judgements += 1
            self.act(self.judgements)
        self.before = done


@pytest.fixture
def ledger(place):
    return Ledger.create(place, TABLE, keep_table=True, who="ann")


def test_nobody_waits_while_something_is_judged_and_the_second_is_judged_anew(ledger, place):
    other = Ledger.open(place, wait=0.2)
    during = Meanwhile(lambda number: number == 1 and other.commit(RATES, who="bob", why="first"))
    with pytest.raises(NotSafe) as refused:
        ledger.commit(ROUNDED, why="second", budget=cb.Budget(progress=during))
    assert during.judgements > 0
    assert [one.who for one in refused.value.answer.harmful] == ["bob"]
    assert [one.who for one in ledger.history()] == ["ann", "bob"]


def test_what_changes_nothing_is_no_reason_to_judge_anew(ledger, place):
    other = Ledger.open(place, wait=0.2)
    during = Meanwhile(lambda number: other.ask("N", record=True, who="bob", why=str(number)))
    entry = ledger.commit(ROUNDED, why="x", budget=cb.Budget(progress=during))
    assert entry.number == 2 + during.judgements
    alone = Meanwhile(str)
    ledger.ask(ROUNDED, budget=cb.Budget(progress=alone))
    assert during.judgements == alone.judgements


def test_others_wait_after_all_if_they_are_always_faster(ledger, place):
    other = Ledger.open(place, wait=0.2)
    said = []

    def act(number):
        try:
            other.commit(harmless(number), who="bob", why="x")
        except LedgerBusy:
            said.append("busy")
        else:
            said.append("done")

    entry = ledger.commit(ROUNDED, why="x", budget=cb.Budget(progress=Meanwhile(act)))
    assert said[-1] == "busy"
    assert said.count("done") >= 3
    assert entry.number == 2 + said.count("done")
    assert ledger.verify().intact


@pytest.mark.parametrize("change", ["policy", "refuse", "grow"])
def test_changes_are_judged_anew_too(ledger, place, change):
    ledger.commit(ROUNDED, why="x")
    other = Ledger.open(place, wait=0.2)
    during = Meanwhile(
        lambda number: number == 1 and other.commit(RATES, who="bob", why="y", already_out=True)
    )
    more = cb.Table(TABLE.domain, TABLE.counts + 9)
    if change == "policy":
        answer = ledger.set_policy("strict", why="z", budget=cb.Budget(progress=during))
    elif change == "grow":
        answer = ledger.grow(more, why="z", budget=cb.Budget(progress=during))
    else:
        ledger.refuse("[county]~10", why="z", budget=cb.Budget(progress=during))
    last = ledger.history()[-1]
    assert during.judgements > 0
    assert (last.number, last.outcome) == (4, "unsafe")
    if change != "refuse":
        assert len(answer.together.statements) > len(ROUNDED) + 1


# Clocks.

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_a_time_before_the_last_entry_is_refused_unless_it_is_confirmed(place):
    Ledger.create(place, TABLE, who="ann", clock=lambda: NOON)
    past = NOON - timedelta(seconds=1)
    behind = Ledger.open(place, clock=lambda: past)
    acts = {
        "commit": lambda one: one.commit(RATES, table=TABLE, who="ann", why="x"),
        "ask": lambda one: one.ask(RATES, table=TABLE, record=True, who="ann"),
        "refuse": lambda one: one.refuse("[county]", table=TABLE, who="ann", why="x"),
        "policy": lambda one: one.set_policy("strict", table=TABLE, who="ann", why="x"),
    }
    for act in acts.values():
        with pytest.raises(cb.InvalidInput, match=r"the clock says 2026-03-01T11:59:59.*entry 1"):
            act(behind)
    assert len(behind.history()) == 1
    assert behind.ask(RATES, table=TABLE).safe  # nothing is written
    confirmed = Ledger.open(place, clock=lambda: past, confirm_time=True)
    assert acts["commit"](confirmed).at == "2026-03-01T11:59:59+00:00"
    assert acts["refuse"](behind).number == 3  # not before the last entry any more
    assert behind.verify().intact


def test_the_same_second_is_no_step_back(place):
    Ledger.create(place, TABLE, who="ann", clock=lambda: NOON + timedelta(microseconds=900_000))
    again = Ledger.open(place, clock=lambda: NOON + timedelta(microseconds=100_000))
    assert again.commit(RATES, table=TABLE, who="ann", why="x").number == 2


def test_other_time_zones_are_no_step_back(place):
    from zoneinfo import ZoneInfo

    Ledger.create(place, TABLE, who="ann", clock=lambda: NOON.astimezone(ZoneInfo("Asia/Tokyo")))
    west = Ledger.open(place, clock=lambda: NOON.astimezone(ZoneInfo("America/New_York")))
    assert west.commit(RATES, table=TABLE, who="ann", why="x").number == 2


def test_the_command_asks_for_a_confirmation(run, tmp_path):
    place, table = tmp_path / "l.ledger", tmp_path / "t.csv"
    TABLE.write(table)
    ahead = datetime.now(UTC) + timedelta(days=400)
    Ledger.create(place, TABLE, who="ann", clock=lambda: ahead)
    said = ("ledger", "commit", place, RATES, "--table", table, "--why", "x")
    code, out, err = run(*said)
    assert (code, out) == (2, "")
    assert "--confirm-time" in err
    code, out, _ = run(*said, "--confirm-time")
    assert code == 0
    assert "entry 2 released" in out


# Ledgers that are not made.


def nobody_here():
    raise cb.InvalidInput("the user has no name")


FAILING = {
    "no user": {"user": nobody_here},
    "no reason": {"who": "ann", "why": 7},
    "no clock": {"who": "ann", "clock": lambda: 1 / 0},
}


@pytest.mark.parametrize("how", FAILING)
def test_a_ledger_that_cannot_be_made_leaves_nothing_behind(tmp_path, how):
    with pytest.raises((cb.InvalidInput, ZeroDivisionError)):
        Ledger.create(tmp_path / "l.ledger", TABLE, keep_table=True, **FAILING[how])
    assert list(tmp_path.iterdir()) == []
    Ledger.create(tmp_path / "l.ledger", TABLE, who="ann")


def test_a_file_that_was_there_is_left_there(tmp_path):
    (tmp_path / "l.ledger").touch()
    with pytest.raises(cb.InvalidInput):
        Ledger.create(tmp_path / "l.ledger", TABLE, why=7, who="ann")
    assert (tmp_path / "l.ledger").read_bytes() == b""


FILLING = """
import resource, sys
import cellbounds as cb
from cellbounds.ledger import Ledger, LedgerError
table = cb.Table(cb.Domain({"a": ["x", "y"]}), [3, 40])
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    Ledger.create(sys.argv[1], table, keep_table=True, who="ann", why="long " * 20_000)
except LedgerError as problem:
    print(problem)
"""


@pytest.mark.parametrize("size", [0, 512, 5_000, 40_000])
def test_a_full_disk_leaves_nothing_behind(tmp_path, size):
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
    done = subprocess.run(
        [sys.executable, "-c", FILLING, str(tmp_path / "l.ledger"), str(size)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "room" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_who_waits_for_one_who_fails_makes_the_ledger_or_is_told(tmp_path):
    place = tmp_path / "l.ledger"
    begun, go = threading.Event(), threading.Event()
    said = []

    def failing_clock():
        begun.set()
        go.wait(30)
        raise cb.InvalidInput("no time")

    def first():
        try:
            Ledger.create(place, TABLE, who="ann", clock=failing_clock)
        except cb.InvalidInput:
            said.append("failed")

    def second():
        try:
            said.append(Ledger.create(place, TABLE, who="bob"))
        except LedgerError as problem:
            said.append(str(problem))

    threads = [threading.Thread(target=first), threading.Thread(target=second)]
    threads[0].start()
    begun.wait(30)
    threads[1].start()
    while threads[1].is_alive() and not _is_open(place):
        pass
    go.set()
    for thread in threads:
        thread.join(60)
    said.remove("failed")
    (other,) = said
    if isinstance(other, Ledger):
        assert len(other.history()) == 1  # it is where it was said to be
    else:
        assert "try again" in other
        assert not place.exists()


def _is_open(file):
    """Whether this process has the file open more than once."""
    found = 0
    for one in Path("/proc/self/fd").iterdir():
        try:
            found += one.readlink() == file
        except OSError:
            continue
    return found > 1
