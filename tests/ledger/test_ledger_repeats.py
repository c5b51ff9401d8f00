"""What was recorded stands, whatever becomes of the output; and is not recorded twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import cellbounds as cb
from cellbounds.disclosure.policies import Outcome, SmallCounts
from cellbounds.ledger import Ledger, NotSafe

DOMAIN = cb.Domain({"county": ["Alpha", "Beta"], "education": ["Low", "High"]})
TABLE = cb.Table(DOMAIN, [[1, 9], [20, 30]])
LATER = cb.Table(DOMAIN, [[1, 9], [20, 41]])
REVISED = cb.Table(DOMAIN, [[1, 9], [16, 36]])
FINER = cb.Table(
    cb.Domain({"county": ["Alpha", "Beta"], "education": ["Low", "High"], "sex": ["f", "m"]}),
    [[[1, 0], [4, 5]], [[9, 11], [14, 16]]],
)
RATES, ROWS = "[education|county]@1", "[county]"


@pytest.fixture
def ledger(place):
    return Ledger.create(place, TABLE, who="ann")


@pytest.fixture
def table(tmp_path):
    TABLE.write(tmp_path / "table.csv")
    return str(tmp_path / "table.csv")


def full(*arguments, stdout="/dev/full", stderr=None):
    """Run the command with a standard output that nothing can be written to."""
    with Path(stdout).open("w") as out, Path(stderr or os.devnull).open("w") as err:
        done = subprocess.run(
            [sys.executable, "-m", "cellbounds.cli", *map(str, arguments)],
            stdout=out,
            stderr=subprocess.PIPE if stderr is None else err,
            text=True,
            check=False,
            timeout=300,
        )
    return done.returncode, done.stderr


def without_progress(err):
    """The lines of standard error, less those that say how long it takes."""
    return [line for line in err.splitlines() if not line.startswith("cellbounds: ")]


def test_a_commit_whose_output_is_lost_is_told_of_and_not_repeated(ledger, table, place):
    said = ("ledger", "commit", place, RATES, "--table", table, "--who", "ann", "--why", "x")
    code, err = full(*said)
    assert code == 0
    (warning,) = without_progress(err)
    assert warning.startswith("warning: standard output cannot be written")
    assert "released in entry 2" in warning
    assert len(ledger.history()) == 2
    code, err = full(*said)
    assert code == 0
    assert "released in entry 2" in err
    assert len(ledger.history()) == 2


def test_a_lost_warning_changes_nothing_either(ledger, table, place):
    said = ("ledger", "commit", place, RATES, "--table", table, "--who", "ann", "--why", "x")
    code, _ = full(*said, stderr="/dev/full")
    assert code == 0
    assert len(ledger.history()) == 2


def test_a_file_that_cannot_be_written_after_all(run, ledger, table, place, tmp_path):
    said = ("ledger", "commit", place, RATES, "--table", table, "--why", "x")
    code, out, err = run(*said, "--write", "/dev/full")
    assert code == 0
    assert "entry 2 released:" in out
    assert "/dev/full cannot be written" in err
    assert "released in entry 2" in err
    code, out, err = run(*said, "--write", tmp_path / "out.toml")
    assert (code, without_progress(err)) == (0, [])
    assert "entry 2 released already" in out
    assert "nothing was recorded" in out
    assert len(ledger.history()) == 2
    released = ledger.history()[1].release
    assert cb.read_release(tmp_path / "out.toml").digest == released.digest


@pytest.mark.parametrize("written", ["no/where.toml", "/dev/tty", "{folder}"])
def test_what_cannot_be_opened_is_refused_before_anything_is_recorded(
    ledger, table, place, tmp_path, written
):
    target = written.format(folder=tmp_path)
    command = ["ledger", "commit", place, RATES, "--table", table, "--why", "x", "--write", target]
    done = subprocess.run(
        [sys.executable, "-m", "cellbounds.cli", *command],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        start_new_session=True,  # no terminal is there to write to
    )
    assert done.returncode == 2
    assert target in done.stderr
    assert len(ledger.history()) == 1


RECORDING = {
    "ask": ["ask", "{place}", RATES, "--record", "--table", "{table}"],
    "refuse": ["refuse", "{place}", RATES, "--why", "x", "--table", "{table}"],
    "policy": ["policy", "{place}", "--policy", "strict", "--why", "x", "--table", "{table}"],
    "refused": ["commit", "{place}", RATES, ROWS, "--record", "--why", "x", "--table", "{table}"],
    "grow": ["grow", "{place}", "{later}", "--why", "x", "--table", "{table}"],
    "revise": ["revise", "{place}", "{revised}", "--why", "x", "--table", "{table}"],
    "refine": ["refine", "{place}", "--why", "x", "--table", "{finer}"],
}


@pytest.mark.parametrize("what", RECORDING)
def test_whatever_is_recorded_is_recorded_once(what, table, tmp_path, run):
    place = tmp_path / "l.ledger"
    ledger = Ledger.create(place, TABLE, who="ann")
    names = {"later": LATER, "revised": REVISED, "finer": FINER}
    for name, one in names.items():
        one.write(tmp_path / f"{name}.csv")
    files = {name: tmp_path / f"{name}.csv" for name in names}
    given = [one.format(place=place, table=table, **files) for one in RECORDING[what]]
    code, err = full("ledger", *given)
    assert code == (1 if what == "refused" else 0)
    assert "in entry 2" in err
    assert len(ledger.history()) == 2
    again, out, err = run("ledger", *given)
    assert (again, without_progress(err)) == (code, [])
    assert "entry 2" in out
    assert "nothing was recorded" in out
    assert len(ledger.history()) == 2


def test_a_new_ledger_is_there_though_nobody_is_told(table, tmp_path):
    place = tmp_path / "l.ledger"
    code, err = full("ledger", "init", place, "--table", table, "--who", "ann")
    assert code == 0
    assert "entry 1" in err
    assert Ledger.open(place).verify().intact


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (("request", RATES, "--why", "y", "--who", "cat"), "It is requested in entry 3"),
        (("decide", "2", "--approve", "--why", "y", "--who", "bob"), "It is approved in entry 3"),
        (("decide", "2", "--refuse", "--why", "y", "--who", "bob"), "It is refused in entry 3"),
        (("withdraw", "2", "--why", "y", "--who", "cat"), "Request 2 is withdrawn"),
    ],
    ids=lambda one: " ".join(one[:3]) if isinstance(one, tuple) else "",
)
def test_what_becomes_of_requests_stands_though_nobody_is_told(command, told, tmp_path, run):
    place = tmp_path / "l.ledger"
    ledger = Ledger.create(place, TABLE, keep_table=True, who="ann")
    ledger.requests.submit("[county]~5", who="cat", why="x")
    act, *more = command
    code, err = full("ledger", act, place, *more)
    assert code == 0
    (warning,) = without_progress(err)
    assert warning.startswith("warning: standard output cannot be written")
    assert told in warning
    assert len(ledger.history()) == 3
    again, out, err = run("ledger", act, place, *more)
    assert (again, without_progress(err)) == (0, [])
    assert "request 2" in out or "request 3" in out
    assert len(ledger.history()) == 3


def test_what_is_decided_is_written_where_it_was_asked_for(tmp_path, run):
    place = tmp_path / "l.ledger"
    ledger = Ledger.create(place, TABLE, keep_table=True, who="ann")
    ledger.requests.submit("[county]~5", who="cat", why="x")
    decision = ("ledger", "decide", place, "2", "--approve", "--why", "y", "--who", "bob")
    code, out, _ = run(*decision, "--format", "json", "-o", tmp_path / "done.json")
    assert (code, out) == (0, "")
    written = json.loads((tmp_path / "done.json").read_text())
    assert (written["status"], written["entry"], written["decided_by"]) == ("approved", 3, "bob")
    assert (tmp_path / "done.json").stat().st_mode & 0o077 == 0
    code, out, err = run(*decision, "-o", "/dev/full")
    assert (code, out) == (0, "")
    assert "/dev/full cannot be written: No space left on device. It is approved in entry 3" in err


def test_a_person_is_recorded_though_nobody_is_told(tmp_path):
    place = tmp_path / "l.ledger"
    ledger = Ledger.create(place, TABLE, who="ann")
    code, err = full("ledger", "people", place, "ann", "--roles", "administers", "--who", "ann")
    assert code == 0
    assert "ann is recorded" in err
    assert [one.name for one in ledger.people.all()] == ["ann"]


def test_what_is_out_is_not_recorded_again_whoever_asks_for_whatever_reason(ledger):
    first = ledger.commit(RATES, table=TABLE, who="ann", why="yearbook")
    assert not first.repeated
    again = ledger.commit(RATES, table=TABLE, who="bob", why="web page")
    assert again.repeated
    assert again == first
    assert (again.who, again.why) == ("ann", "yearbook")
    assert ledger.commit(RATES, table=TABLE, why="x", already_out=True).repeated
    assert len(ledger.history()) == 2


def test_what_is_out_stays_out_whatever_the_policy_says_now(ledger):
    ledger.commit(RATES, table=TABLE, who="ann", why="yearbook")
    wide = cb.policies.Policy("wide", rules=[SmallCounts(at_most=3, values=90)])
    assert ledger.set_policy(wide, table=TABLE, why="new law").outcome is Outcome.UNSAFE
    assert ledger.commit(RATES, table=TABLE, why="a retry").repeated


def test_other_figures_versions_or_knowledge_are_another_request(place):
    ledger = Ledger.create(place, TABLE, keep_table=True, who="ann")
    ledger.commit("[county]~5", why="x")
    assert ledger.commit("[county]~5", total=False, why="x").number == 3
    known = cb.Known(["county"], lower={"Beta": 1})
    assert ledger.commit("[county]~5", knows=[known], why="x").number == 4
    assert ledger.commit("[county]~5", knows=[known], why="x").repeated
    assert ledger.commit("[county]~5", why="x").number == 2
    ledger.grow(LATER, why="late")
    assert ledger.commit("[county]~5", version=1, why="x").repeated
    assert ledger.commit("[county]~5", why="x").number == 6


def test_a_refusal_is_repeated_only_with_the_same_words_and_while_nothing_changed(ledger):
    said = {"table": TABLE, "who": "ann", "why": "no"}
    first = ledger.refuse(ROWS, **said)
    assert ledger.refuse(ROWS, **said).number == first.number
    assert ledger.refuse(ROWS, **{**said, "why": "still not"}).number == 3
    assert ledger.refuse(ROWS, **{**said, "who": "bob"}).number == 4
    assert ledger.refuse(ROWS, **said).number == 2
    ledger.commit("[education]", table=TABLE, why="x")
    assert ledger.refuse(ROWS, **said).number == 6


def test_a_recorded_refusal_says_which_entry_it_is(ledger):
    said = {"table": TABLE, "who": "ann", "why": "x", "record": True}
    numbers = []
    for _ in range(2):
        with pytest.raises(NotSafe) as refused:
            ledger.commit([RATES, ROWS], **said)
        numbers.append((refused.value.answer.entry.number, refused.value.answer.entry.repeated))
    assert numbers == [(2, False), (2, True)]


def test_changes_are_recognised_though_something_was_released_since(place):
    ledger = Ledger.create(place, TABLE, keep_table=True, who="ann")
    assert not ledger.grow(LATER, why="late").entry.repeated
    ledger.commit("[county]~5", why="x")
    again = ledger.grow(LATER, why="late")
    assert (again.entry.number, again.entry.repeated) == (2, True)
    assert again.outcome is Outcome.SAFE
    with pytest.raises(cb.InvalidInput, match="nothing was changed"):
        ledger.revise(LATER, why="another thing")
    assert len(ledger.history()) == 3
