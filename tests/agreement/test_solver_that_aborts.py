"""CP-SAT ends the process it works in: the caller lives, and claims nothing that is wrong."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import psutil
import pytest

import cellbounds as cb
from cellbounds.certificates.verifying import verify_certificate
from cellbounds.runtime import isolation
from cellbounds.runtime.isolation import Ended, Isolated
from listing import listed, sums

posix = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX systems")

PATIENCE = 120
"""Seconds after which something has gone wrong, on any machine."""

ABORTING = """
import os
from ortools.sat.python import cp_model

plain, asked = cp_model.CpSolver.solve, []

def solve(self, model, callback=None):
    asked.append(model)
    if len(asked) == NUMBER:
        os.abort()
    return plain(self, model, callback)

cp_model.CpSolver.solve = solve
from cellbounds.runtime.isolation import serve
serve()
"""

WATCHED = """
import faulthandler, fractions
faulthandler.dump_traceback_later(60, exit=True)
from cellbounds.runtime.isolation import Isolated
print(Isolated(fractions.Fraction, 1, 2).ask("__add__", 1))
faulthandler.cancel_dump_traceback_later()
"""


@pytest.fixture
def aborts(monkeypatch):
    """Have each child of the solver abort in its n-th search."""
    return lambda n: monkeypatch.setattr(isolation, "CODE", ABORTING.replace("NUMBER", str(n)))


def needs_the_solver() -> cb.Release:
    """Most bounds of this release are settled by integer programs only."""
    domain = cb.Domain({"c": ["0", "1", "2"], "d": ["0", "1", "2", "3"]})
    weights = [["1/4", 0, 1], [0, -2, "1/2"], [3, 3, -1], [-1, 2, 1]]
    linear = cb.Linear(["d", "c"], weights, lower=-3, upper=0)
    return cb.Release(domain, [linear, cb.Total(upper=6)])


@posix
@pytest.mark.parametrize("number", [1, 2, 5])
def test_an_abort_leaves_a_bound_unsettled(aborts, number):
    release = needs_the_solver()
    margins = sums(release, listed(release, 6), ("d", "c"))
    least, most = margins.min(axis=0), margins.max(axis=0)
    aborts(number)
    with pytest.warns(RuntimeWarning, match=r"it ended abruptly \(signal 6\)"):
        answer = cb.bounds(release, over=("d", "c"))
    assert (answer.lower.ravel() <= least).all()
    assert (answer.upper.ravel() >= most).all()
    exact = np.array_equal(answer.lower.ravel(), least) and np.array_equal(
        answer.upper.ravel(), most
    )
    assert exact or answer.evidence is not cb.Evidence.EXACT
    if number == 1:
        assert answer.evidence is not cb.Evidence.EXACT


@posix
def test_the_next_question_is_answered(aborts, monkeypatch):
    release = needs_the_solver()
    with pytest.warns(RuntimeWarning, match="CP-SAT failed"):
        aborts(1)
        cb.bounds(release, over=("d", "c"))
    monkeypatch.undo()
    answer = cb.bounds(release, over=("d", "c"))
    margins = sums(release, listed(release, 6), ("d", "c"))
    assert answer.evidence is cb.Evidence.EXACT
    assert np.array_equal(answer.lower.ravel(), margins.min(axis=0))
    assert np.array_equal(answer.upper.ravel(), margins.max(axis=0))


@posix
def test_an_abort_leaves_a_claim_unproven(aborts):
    domain = cb.Domain({name: [f"{name}{k}" for k in range(3)] for name in "xyz"})
    table = cb.Table(domain, np.random.default_rng(3).poisson(1.5, size=domain.shape))
    release = cb.publish(table, "[x|y]@1", "[y,z]", "[z|x]@2")
    claims = cb.bounds(release).certificate()
    assert verify_certificate(claims).reproved
    aborts(1)
    found = verify_certificate(claims)
    assert found.ok
    assert not found.settled
    assert all("CP-SAT failed: it ended abruptly (signal 6)" in why for why in found.unsettled)


# The child --------------------------------------------------------------------------------------


def sleeper() -> Isolated:
    """The module `time`, elsewhere."""
    return Isolated(importlib.import_module, "time")


def children() -> list[psutil.Process]:
    return psutil.Process().children(recursive=True)


@posix
def test_a_child_that_is_killed_in_mid_question():
    hosted = sleeper()
    hosted.ask("sleep", 0)
    timer = threading.Timer(0.2, lambda: [child.kill() for child in children()])
    timer.start()
    with pytest.raises(Ended, match=r"it ended abruptly \(signal 9\)"):
        hosted.ask("sleep", PATIENCE)
    timer.join()
    hosted.ask("sleep", 0)


@posix
def test_a_child_that_was_killed_between_two_questions():
    hosted = sleeper()
    hosted.ask("sleep", 0)
    for child in children():
        child.kill()
        child.wait(PATIENCE)
    hosted.ask("sleep", 0)


def test_a_child_that_is_late_is_ended():
    begun = time.monotonic()
    with pytest.raises(Ended, match="it took too long") as ended:
        sleeper().ask("sleep", PATIENCE, seconds=0.1)
    assert ended.value.late
    assert time.monotonic() - begun < PATIENCE


def test_an_owner_that_is_watched_is_answered():
    """The watch of whoever runs us, as test runners set one, is not the child's."""
    done = subprocess.run(
        [sys.executable, "-c", WATCHED],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "3/2\n"), done.stderr


def test_an_object_that_ends_each_child_is_given_up():
    hosted = Isolated(importlib.import_module, "os")
    for _ in range(isolation.MOST_ENDS + 2):
        with pytest.raises(Ended, match="status 7"):
            hosted.ask("_exit", 7)
    assert hosted._ends == isolation.MOST_ENDS


def test_errors_are_raised_here_and_objects_forgotten_are_made_again():
    with pytest.raises(ModuleNotFoundError, match="nowhere"):
        Isolated(importlib.import_module, "nowhere").ask("anything")
    hosted = [Isolated(str, k) for k in range(2 * isolation.MOST_HELD)]
    for _ in range(2):
        assert [one.ask("strip") for one in hosted] == [str(k) for k in range(len(hosted))]
    with pytest.raises(AttributeError, match="nothing"):
        hosted[0].ask("nothing")
    assert hosted[0].ask("strip") == "0"


def test_threads_do_not_wait_for_each_other():
    hosted = [Isolated(importlib.import_module, "threading") for _ in range(2)]
    with ThreadPoolExecutor(2) as threads:
        long = threads.submit(sleeper().ask, "sleep", 1)
        found = threads.submit(hosted[0].ask, "active_count").result()
        assert found >= 2
        assert not long.done() or long.result() is None


def ran(tmp_path, code, *arguments):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(code))
    return subprocess.run(
        [sys.executable, str(script), *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    ).stdout


WAYS = """
import sys
import numpy as np
import cellbounds as cb
from cellbounds.runtime import isolation as isolated

def answers():
    for seed in range(6):
        rng = np.random.default_rng(seed)
        domain = cb.Domain({name: [f"{name}{k}" for k in range(3)] for name in "xyz"})
        table = cb.Table(domain, rng.poisson(2, size=domain.shape))
        published = ["[x,y]", "[y,z]", "[x,z]"] if seed % 2 else ["[x|y]@1", "[y,z]", "[z|x]@2"]
        release = cb.publish(table, *published)
        for found in (cb.bounds(release), cb.attainable(release)):
            yield {**found.to_dict(), "seconds": 0}

asked = []
plain = isolated.Isolated.ask
isolated.Isolated.ask = lambda *given, **more: asked.append(1) or plain(*given, **more)
forked = list(answers())
kinds = {type(child._process).__name__ for child in isolated._ALL}
isolated.CODE += " "
spawned = list(answers())
kinds |= {type(child._process).__name__ for child in isolated._ALL}
print(forked == spawned, len(asked) > 10, sorted(kinds), "ortools" in sys.modules)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="nothing is forked elsewhere")
def test_forked_and_spawned_children_give_the_same_answers(tmp_path):
    """In a script without a guard, which a child must not run again."""
    assert ran(tmp_path, WAYS) == "True True ['Popen', '_Forked'] False\n"


FORKS = """
import os, sys, warnings
from cellbounds.runtime.isolation import Isolated

hosted = Isolated(str, "a")
owners = Isolated(__import__, "os")
print(hosted.ask("upper"), owners.ask("getppid") == os.getpid(), flush=True)
number = os.fork()
if number == 0:
    print(hosted.ask("upper"), owners.ask("getppid") == os.getpid(), flush=True)
    os._exit(0)
os.waitpid(number, 0)
print(hosted.ask("upper"), owners.ask("getppid") == os.getpid(), flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a fork is needed")
def test_forked_owners_have_children_of_their_own(tmp_path):
    assert ran(tmp_path, FORKS) == "A True\n" * 3


# Hard models ------------------------------------------------------------------------------------


def market_split() -> cb.Release:
    """No solver settles this in a while."""
    rng = np.random.default_rng(0)
    domain = cb.Domain({"a": [f"a{k}" for k in range(50)]})
    rows = rng.integers(1, 10**6, size=(6, 50)).tolist()
    halves = [cb.Linear(["a"], row, lower=sum(row) // 2, upper=sum(row) // 2) for row in rows]
    return cb.Release(domain, [cb.Known(["a"], upper=1), *halves])


def left_of(session: int) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if os.getsid(process.pid) == session and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (OSError, psutil.Error):
            continue  # it has ended meanwhile
    return found


def waited_for(wanted) -> bool:
    end = time.monotonic() + PATIENCE
    while not wanted() and time.monotonic() < end:
        time.sleep(0.05)
    return bool(wanted())


@posix
@pytest.mark.parametrize("how", ["interrupted", "killed", "budget"])
def test_hard_models_end_with_nothing_left(tmp_path, how):
    path = tmp_path / "hard.toml"
    market_split().write(path)
    seconds = "3" if how == "budget" else "600"
    command = ["attack", str(path), "--seconds", seconds, "--jobs", "1"]
    process = subprocess.Popen(
        [sys.executable, "-m", "cellbounds.cli", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    if how != "budget":
        # The child works: it has loaded the solver, and more.
        assert waited_for(
            lambda: any(sum(one.cpu_times()[:2]) > 1.5 for one in left_of(process.pid)[1:])
        )
        process.send_signal(signal.SIGINT if how == "interrupted" else signal.SIGKILL)
    out, err = process.communicate(timeout=PATIENCE)
    expected = {"interrupted": 130, "killed": -signal.SIGKILL, "budget": 3}
    assert process.returncode == expected[how], err
    assert waited_for(lambda: not left_of(process.pid))
    assert ("50 cells are not settled" in out) == (how == "budget")
