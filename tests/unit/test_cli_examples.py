"""`cellbounds example`: files are put where they are wanted, and what it says to try next works."""

from __future__ import annotations

import shlex

import pytest

import cellbounds as cb


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def names(run):
    code, out, err = run("example")
    assert (code, err) == (0, "")
    return [line.split()[0] for line in out.split("\n\n")[0].splitlines()[1:]]


def test_without_a_name_it_lists_what_there_is(run, names, empty_folder):
    assert set(cb.datasets.NAMES) < set(names)
    assert not any(empty_folder.iterdir())


@pytest.mark.parametrize("folder", [None, "a folder"])
def test_every_example_can_be_tried_as_it_says(run, names, folder):
    code, out, _ = run("example", *names, *(["-o", folder] if folder else []))
    assert code == 0
    commands = [line.strip() for line in out.splitlines() if line.startswith("  cellbounds ")]
    assert len(commands) == len(names)
    for command in commands:
        code, out, err = run(*shlex.split(command)[1:], "--seconds", "60")
        assert code in (0, 1), err
        assert out


def test_a_table_is_as_shipped(run, empty_folder):
    assert run("example", "mp3", "-o", "below/deeper")[0] == 0
    assert cb.read_table("below/deeper/mp3.csv") == cb.datasets.read("mp3")


def test_the_same_records_every_time(run, empty_folder):
    run("example", "survey", "-o", "once")
    run("example", "survey", "-o", "again")
    for first in (empty_folder / "once" / "survey").iterdir():
        second = empty_folder / "again" / "survey" / first.name
        assert first.read_bytes() == second.read_bytes()
    assert cb.read_table("once/survey", count=None, variables=["age"]).total == 1200


def test_nothing_is_replaced_silently(run, empty_folder):
    mine = empty_folder / "mp3.csv"
    mine.write_text("mine")
    code, out, err = run("example", "koch4", "mp3")
    assert (code, out) == (2, "")
    assert "mp3.csv is there already" in err
    assert "--overwrite" in err
    assert mine.read_text() == "mine"
    assert not (empty_folder / "koch4.csv").exists()
    assert run("example", "mp3", "--overwrite")[0] == 0
    assert cb.read_table("mp3.csv") == cb.datasets.read("mp3")
    assert run("example", "mp3")[0] == 0  # the same file: nothing is lost


def test_an_unknown_name_is_refused_with_those_there_are(run):
    code, out, err = run("example", "nothing")
    assert (code, out) == (2, "")
    assert "no example 'nothing'" in err
    assert "koch4" in err


def test_no_command_is_told_that_a_terminal_would_not_show(run):
    code, out, _ = run("example", "mp3", "-o", "a\u202eb")
    assert (code, "\u202e" in out, "Try next" in out) == (0, False, False)
