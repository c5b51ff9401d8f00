"""Ctrl-C while a solver works, files that are none, and what is said where nobody listens."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import cellbounds as cb
from cellbounds import cli
from cellbounds.disclosure.exploring.design_search import DesignSearchState
from cellbounds.runtime import memory
from cellbounds.runtime.progress import Progress

posix = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX systems")

TABLE = cb.datasets.read("delinquent")


CAUGHT = """
import pathlib
import numpy as np
import cellbounds as cb
from cellbounds.runtime.isolation import Isolated

ran = []
plain = Isolated.ask
Isolated.ask = lambda *given, **options: ran.append(1) or plain(*given, **options)
domain = cb.Domain({name: [f"{name}{k}" for k in range(5)] for name in "xyz"})
table = cb.Table(domain, np.random.default_rng(1).poisson(2, size=domain.shape))
cb.attainable(cb.publish(table, "[x,y]", "[y,z]", "[x,z]"))
lines = pathlib.Path("/proc/self/status").read_text().splitlines()
caught = next(int(line.split()[1], 16) for line in lines if line.startswith("SigCgt"))
print(bool(ran), bool(caught >> 1 & 1))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc of Linux")
def test_solvers_leave_the_handling_of_interruptions_alone():
    """In a process of its own: the tests before this one may have changed it."""
    ran = subprocess.run([sys.executable, "-c", CAUGHT], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["True", "True"]


@posix
@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null", "pipe"])
def test_states_are_ordinary_files(tmp_path, path):
    if path == "pipe":
        path = str(tmp_path / path)
        os.mkfifo(path)
    release = cb.publish(TABLE, "[county]", "[education]")
    with pytest.raises(cb.InvalidInput, match="no ordinary file"):
        cb.bounds(release, budget=cb.Budget(checkpoint=path))
    with pytest.raises(cb.InvalidInput, match="no ordinary file"):
        cb.explore(TABLE, response="education", budget=cb.Budget(checkpoint=path))


@posix
@pytest.mark.parametrize("command", [("margins",), ("audit", "[county]")])
def test_packed_files_that_go_on_and_on_are_read_within_the_budget(tmp_path, command):
    """Padding after the packed part, which gzip skips byte by byte: nothing looks at it before."""
    path = tmp_path / "padded.csv.gz"
    path.write_bytes(gzip.compress(cb.datasets.path("delinquent").read_bytes()))
    os.truncate(path, 2**40)
    words = [sys.executable, "-m", "cellbounds.cli", command[0], path, *command[1:]]
    ended = subprocess.run(
        [*words, "--seconds", "0.5"], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stdout) == (3, "")
    assert "the budget of 0.5 seconds was spent" in ended.stderr


@posix
def test_states_are_not_mixed_with_the_output(run, tmp_path):
    folder = tmp_path / "records"
    folder.mkdir()
    path = cb.datasets.path("delinquent")
    for command in (("audit", path, "[county]"), ("explore", path, "--response", "education")):
        code, out, err = run(*command, "--state", "/dev/stdout")
        assert (code, out) == (2, "")
        assert "no ordinary file" in err
    code, _, err = run("explore", folder, "--response", "a", "--state", folder / "search.jsonl")
    assert code == 2
    assert "read as a part of" in err


@posix
def test_two_searches_do_not_share_a_file(tmp_path):
    path = tmp_path / "search.jsonl"
    header = {"format": "f", "version": "1", "table": "ab", "options": "cd"}
    code = (
        "import sys; from cellbounds.disclosure.exploring.design_search import DesignSearchState;"
        f"DesignSearchState(sys.argv[1], {header!r}, [])"
    )
    with DesignSearchState(path, header, []):
        ran = subprocess.run(
            [sys.executable, "-c", code, str(path)], capture_output=True, check=False
        )
    assert ran.returncode != 0
    assert b"is being written by another process" in ran.stderr


def test_progress_where_nobody_listens(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    shown = Progress("counting")
    with shown:
        shown.step(1, 2)
    shown._show()  # would go on as long as the work does


@posix
@pytest.mark.parametrize("ending", ["another error", "swallowed"])
def test_whatever_becomes_of_the_stop_the_limit_is_told(ending):
    """Imports turn it into errors of their own; destructors and callbacks swallow it."""
    heard = 0
    with (
        pytest.raises(cb.TooMuchWork, match="more than the 1 GiB"),
        memory.limited(2**30, patience=0.2, held=lambda: 2**30 + 1),
    ):
        end = time.monotonic() + 30
        while time.monotonic() < end:
            try:
                time.sleep(0.05)
            except memory._Exceeded:
                heard += 1
                if ending == "another error":
                    raise ImportError("numpy") from None
                if heard == 2:
                    raise
    assert heard == (1 if ending == "another error" else 2)


@posix
def test_interruptions_behind_errors_are_interruptions(monkeypatch, capsys):
    signal.signal(signal.SIGINT, signal.default_int_handler)

    def loading(**_):
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise ValueError("an error of a library's own") from None

    monkeypatch.setattr(cli.commands, "main", loading)
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == 130
    assert capsys.readouterr().err == "interrupted\n"


@posix
def test_interrupted_audits_say_what_is_kept(run, tmp_path, monkeypatch):
    import cellbounds.disclosure.auditing as auditing

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(auditing, "audit", interrupted)
    path = cb.datasets.path("delinquent")
    code, out, err = run("audit", path, "[county]", "--state", tmp_path / "x.state")
    assert (code, out) == (130, "")
    assert "x.state keeps what was found; give the same command again to go on" in err
    code, _, err = run("audit", path, "[county]")
    assert "nothing was kept; with --state FILE" in err


def test_answers_are_the_same_in_another_thread():
    """There a child is spawned, not forked."""
    table = cb.Table(
        cb.Domain({name: [f"{name}{k}" for k in range(3)] for name in "xyz"}),
        np.arange(27).reshape(3, 3, 3) % 5,
    )
    release = cb.publish(table, "[x,y]", "[y,z]", "[x,z]")
    here = cb.bounds(release)
    found = []
    thread = threading.Thread(target=lambda: found.append(cb.bounds(release)))
    thread.start()
    thread.join()
    assert {**found[0].to_dict(), "seconds": 0} == {**here.to_dict(), "seconds": 0}
