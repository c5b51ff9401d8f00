"""Ctrl-C, and owners that are killed: nobody is left behind, and what was found is kept."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import works

import cellbounds as cb

psutil = pytest.importorskip("psutil")

PATIENCE = 60
"""Seconds after which something has gone wrong, on any machine."""


@pytest.fixture
def study(tmp_path):
    """A table that takes a while to explore."""
    path = tmp_path / "table.csv"
    places = itertools.product(range(3), range(3), range(3), range(4), range(2))
    lines = [
        ",".join([*(f"{name}{at}" for name, at in zip("abcdf", place, strict=True)), str(count)])
        for place, count in zip(places, ((k * k * 7 + 3 * k) % 19 for k in range(216)), strict=True)
    ]
    path.write_text("\n".join(["a,b,c,d,f,count", *lines]) + "\n")
    return path


def started(*command, **options):
    """A process with a group of its own, as a shell starts it."""
    return subprocess.Popen(
        [sys.executable, *map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **options,
    )


def workers_of(process):
    """The processes that work for it (there is one more, which tracks what it shares)."""
    try:
        children = psutil.Process(process.pid).children()
        return [one for one in children if "--multiprocessing-fork" in one.cmdline()]
    except psutil.Error:
        return []


def wait_until(done):
    end = time.monotonic() + PATIENCE
    while not done() and time.monotonic() < end:
        time.sleep(0.02)
    assert done()


def lines_of(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


def explored(study, state):
    return [
        *("-m", "cellbounds.cli", "explore", study, "--response", "f", "--format", "json"),
        *("--merge-levels", "adjacent", "--digits", "1-3", "--state", state),
    ]


def interrupted(process, busy, state):
    """Interrupt a search, as a terminal does, when its helpers have found something."""
    try:
        wait_until(lambda: process.poll() is not None or busy())
        before = lines_of(state)
        wait_until(lambda: process.poll() is not None or lines_of(state) > before + 20)
        workers = workers_of(process)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert (process.returncode, out) == (130, "")
    said = [line for line in err.splitlines() if line and "judging designs" not in line]
    kept = f"interrupted: {state} keeps what was found; give the same command again to go on"
    assert said == [kept]
    return workers


def test_a_shared_search_that_is_interrupted_goes_on(study, tmp_path):
    state = tmp_path / "search.jsonl"
    command = [*explored(study, state), "--jobs", "3"]
    with started(*command) as process:
        workers = interrupted(process, lambda: len(workers_of(process)) == 2, state)
    assert len(workers) == 2
    _, alive = psutil.wait_procs(workers, timeout=PATIENCE)
    assert not alive
    found = lines_of(state)
    with started(*command) as process:
        out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert lines_of(state) > found
    resumed = works.without_seconds(json.loads(out))
    alone = cb.explore(cb.read_table(study), response="f", merges="adjacent", digits=(1, 2, 3))
    assert resumed == json.loads(json.dumps(works.without_seconds(alone.to_dict())))


def test_a_search_by_a_cluster_is_interrupted(study, tmp_path, client):
    state = tmp_path / "search.jsonl"
    address = client.scheduler.address
    with started(*explored(study, state), "--scheduler", address) as process:
        interrupted(process, lambda: lines_of(state) > 1, state)
    # What was on the way is let go, and the cluster is there for others.
    wait_until(lambda: client.run_on_scheduler(tasks) == 0)
    assert client.submit(pow, 2, 5).result(timeout=PATIENCE) == 32


def tasks(dask_scheduler):
    return len(dask_scheduler.tasks)


SCRIPT = """
import sys
sys.path.insert(0, {folder!r})
import works
from cellbounds.runtime.workers import Processes, shared

if __name__ == "__main__":
    with Processes(3, patience=0.0) as executor:
        for place, pid in shared(executor, works.forever, [(k, {marks!r}) for k in range(9)]):
            print(place, pid)
"""


@pytest.fixture
def owner(tmp_path):
    """An owner of processes that work forever, all of them busy."""
    marks = tmp_path / "marks"
    marks.mkdir()
    script = tmp_path / "owner.py"
    script.write_text(SCRIPT.format(folder=str(Path(__file__).parent), marks=str(marks)))
    with started(script) as process:
        try:
            wait_until(lambda: process.poll() is not None or len(list(marks.iterdir())) == 3)
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("to", ["everybody", "owner"])
def test_interrupted_processes_end_without_a_word(owner, to):
    workers = workers_of(owner)
    assert len(workers) == 2
    if to == "everybody":
        os.killpg(owner.pid, signal.SIGINT)
    else:
        owner.send_signal(signal.SIGINT)
    _, err = owner.communicate(timeout=PATIENCE)
    assert err.count("Traceback") == 1  # the owner's own, as a script has it
    assert err.strip().endswith("KeyboardInterrupt")
    _, alive = psutil.wait_procs(workers, timeout=PATIENCE)
    assert not alive


def test_processes_end_with_their_owner(owner):
    workers = workers_of(owner)
    assert len(workers) == 2
    owner.kill()
    _, alive = psutil.wait_procs(workers, timeout=PATIENCE)
    assert not alive
